/* doctor.c - fastsha doctor: is it worth it on this machine, and is it working? */
#include "cli.h"
#include "spawn.h"
#include "stats.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
	"Usage: fastsha doctor [--json] [PROGRAM]\n"
	"\n"
	"Says what this processor, git, openssl, libcrypto and zlib are, which doors the library\n"
	"opens in them and why, and measures for two seconds what each gains.\n"
	"\n"
	"PROGRAM: how it is with this one instead of git. It is run: git and openssl to hash\n"
	"nothing, any other with --version, for at most two seconds.\n"
	"\n"
	"  --json  the same for machines\n"
	"  --help  this text\n"
	"\n"
	"Exit codes: 0 every door that could be open is; 1 one is not, or the library does not\n"
	"load; 2 wrong usage.\n"
	"\n"
	"Examples:\n"
	"  fastsha doctor\n"
	"  fastsha doctor /opt/git/bin/git\n"
	"  fastsha doctor --json | jq '.problems'\n";

/* ---- What was found ------------------------------------------------------------------------------------------- */

struct program {
	const char *name, *path; /* PATH NULL: not found */
	char version[128], build_id[65];
	const char *obstacle;    /* why the library is not loaded into it; NULL: it is */
	struct usage usage;      /* of one process of it with the library */
};

struct library {
	char name[32], path[PATH_MAX], version[128], build_id[65];
};

struct gain {
	char what[32], door[16];
	unsigned long bytes;
	double original, ours; /* seconds */
};

enum { MAX_LIBRARIES = 4, MAX_GAINS = 24, MAX_PROBLEMS = 16 };

static struct {
	char processor[128];
	const char *library_path;
	char library_id[65];
	bool loads;
	struct program program[2];
	size_t programs;
	struct usage probe; /* of a process that has libcrypto and zlib */
	struct library library[MAX_LIBRARIES];
	size_t libraries;
	struct gain gain[MAX_GAINS];
	size_t gains;
	char *problem[MAX_PROBLEMS];
	size_t problems;
} found;

/* A thing that keeps a door closed that could be open, and what to do about it. */
static void problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void problem(const char *format, ...)
{
	va_list args;

	if (found.problems == MAX_PROBLEMS)
		return;
	va_start(args, format);
	if (vasprintf(&found.problem[found.problems], format, args) >= 0)
		found.problems++;
	va_end(args);
}

static char *temporary, *report;
static struct output output;

static void clean_up(void)
{
	if (temporary)
		remove_temporary(temporary);
	temporary = NULL;
}

/* Runs ARGV for at most two seconds; false where that did not end well. Its output is in `output`. */
static bool run(char **argv, char **environment)
{
	struct run r;

	if (interrupted || run_once(argv, environment, "/dev/null", output, 2, &r) != 0 || interrupted)
		return false;
	return WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0;
}

/* What the loader and the library said on standard error: a line that speaks of us. */
static void problems_on_stderr(const char *who)
{
	char text[4096];

	output_text(output, 1, text, sizeof text);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strstr(line, "fastsha"))
			problem("%s: %s", who, line);
}

/* ---- Finding ---------------------------------------------------------------------------------------------------- */

static void find_processor(void)
{
	char line[256];
	FILE *f = fopen("/proc/cpuinfo", "r");

	while (f && fgets(line, sizeof line, f)) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) == 0 && value) {
			value[strcspn(value, "\n")] = 0;
			snprintf(found.processor, sizeof found.processor, "%.*s", (int)sizeof found.processor - 1, value + 2);
			break;
		}
	}
	if (f)
		fclose(f);
	if (!found.processor[0])
		strcpy(found.processor, "unknown");
}

static bool find_fastsha(void)
{
	const char *why;

	found.library_path = find_library();
	if (!found.library_path) {
		problem("libfastsha.so is neither beside this command nor in %s: build it (make) or install it (make install)", LIBDIR);
		return false;
	}
	elf_build_id(found.library_path, found.library_id);
	why = library_problem(found.library_path);
	if (why)
		problem("%s cannot be loaded: %s", found.library_path, why);
	return !why;
}

/* The arguments with which a program does next to nothing but hash. */
static char **harmless_arguments(const char *path)
{
	static char *git[] = { NULL, "hash-object", "--stdin", NULL }, *openssl[] = { NULL, "dgst", "-sha256", "/dev/null", NULL },
		    *other[] = { NULL, "--version", NULL };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char **argv = strcmp(name, "git") == 0 ? git : strcmp(name, "openssl") == 0 ? openssl : other;

	argv[0] = (char *)path;
	return argv;
}

/* LIBRARY: NULL where it cannot be loaded anyway. */
static void find_program_facts(struct program *p, const char *library)
{
	static char version_option[] = "--version", version_word[] = "version";
	bool openssl;

	p->path = find_program(p->name);
	if (!p->path)
		return;
	elf_build_id(p->path, p->build_id);
	openssl = strlen(p->path) >= 7 && strcmp(p->path + strlen(p->path) - 7, "openssl") == 0;
	if (run((char *[]){ (char *)p->path, openssl ? version_word : version_option, NULL }, make_environment(NULL, NULL, "", 0))) {
		output_text(output, 0, p->version, sizeof p->version);
		p->version[strcspn(p->version, "\n")] = 0;
	}
	p->obstacle = preload_obstacle(p->path);
	if (p->obstacle) {
		problem("the library is not loaded: %s", p->obstacle);
		return;
	}
	if (!library)
		return;
	unlink(report);
	run(harmless_arguments(p->path), make_environment(library, NULL, report, 0));
	usage_read(report, &p->usage);
	problems_on_stderr(p->path);
	if (!p->usage.processes && !interrupted)
		problem("%s, run with the library, did not report: it was not loaded, or the program did not end by itself", p->path);
}

static void find_libraries(const char *probe)
{
	char text[4096], *rest = text, *line;

	if (!run((char *[]){ (char *)probe, "find", NULL }, make_environment(NULL, NULL, "", 0)))
		return;
	output_text(output, 0, text, sizeof text);
	while ((line = strsep(&rest, "\n")) && found.libraries < MAX_LIBRARIES) {
		struct library *l = &found.library[found.libraries];
		const char *name = strsep(&line, "\t"), *path = strsep(&line, "\t");

		if (!path || !line)
			continue;
		snprintf(l->name, sizeof l->name, "%s", name);
		snprintf(l->path, sizeof l->path, "%s", path);
		snprintf(l->version, sizeof l->version, "%s", line);
		elf_build_id(l->path, l->build_id);
		found.libraries++;
	}
}

/* ---- Measuring -------------------------------------------------------------------------------------------------- */

/* The probe, with the library and those it serves; fills in found.probe and found.gain. */
static void measure_doors(const char *probe, const char *library)
{
	char text[4096], *rest = text, *line, *preload = xstrdup(library), **environment;

	for (size_t i = 0; i < found.libraries; i++)
		preload = format_string("%s:%s", preload, found.library[i].path);
	unlink(report);
	environment = make_environment(preload, NULL, report, 0);
	/* Counting would slow what is measured: one process reports, another measures. */
	run((char *[]){ (char *)probe, "find", NULL }, environment);
	usage_read(report, &found.probe);
	problems_on_stderr("loader");
	found.loads = found.probe.processes > 0;
	if (!found.loads) {
		if (!interrupted)
			problem("%s was not loaded into a test program", library);
		return;
	}
	if (!run((char *[]){ (char *)probe, "measure", NULL }, make_environment(preload, NULL, "", 0)))
		return;
	output_text(output, 0, text, sizeof text);
	while ((line = strsep(&rest, "\n")) && found.gains < MAX_GAINS) {
		struct gain *g = &found.gain[found.gains];

		if (sscanf(line, "%31[^\t]\t%lu\t%15s\t%lf\t%lf", g->what, &g->bytes, g->door, &g->original, &g->ours) == 5)
			found.gains++;
	}
}

/*
 * git's own hash functions are static, and can only be had by running git: what a blob of 16 MiB takes beyond an empty one, without
 * and with the library, the best of what one second allows.
 */
static void measure_git(const char *git, const char *library)
{
	enum { SIZE = 16 << 20, ROUNDS = 9 };
	static char block[1 << 16];
	char *large = format_string("%s/large", temporary), *empty = "/dev/null", *file[2] = { empty, large };
	char **environment[2] = { make_environment(NULL, NULL, "", 0), make_environment(library, NULL, "", 0) };
	double best[2][2] = { { 1e9, 1e9 }, { 1e9, 1e9 } }, start = seconds_now();
	int fd = open(large, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool ok = fd >= 0;

	for (size_t i = 0; i < sizeof block; i++)
		block[i] = (char)(i * 167 >> 3);
	for (size_t at = 0; ok && at < SIZE; at += sizeof block)
		ok = write(fd, block, sizeof block) == sizeof block;
	if (fd >= 0)
		close(fd);
	for (int round = 0; ok && round < ROUNDS && seconds_now() - start < 1; round++) {
		for (int k = 0; ok && k < 4; k++) {
			char *argv[] = { (char *)git, "hash-object", "--no-filters", file[k / 2], NULL };
			struct run r;

			ok = run_once(argv, environment[k % 2], "/dev/null", output, 2, &r) == 0 && r.status == 0 && !interrupted;
			if (ok && r.user + r.system < best[k / 2][k % 2])
				best[k / 2][k % 2] = r.user + r.system;
		}
	}
	unlink(large);
	free(large);
	if (ok && found.gains < MAX_GAINS && best[1][0] > best[0][0] && best[1][1] > best[0][1]) {
		memmove(&found.gain[1], &found.gain[0], found.gains++ * sizeof *found.gain);
		found.gain[0] = (struct gain){ "blob in git", "git", SIZE, best[1][0] - best[0][0], best[1][1] - best[0][1] };
	}
}

/* ---- Which doors are open? ------------------------------------------------------------------------------------------- */

/* A door as the process knows it that says most about it: git's table only git has, libcrypto and zlib the probe surely. */
static const struct door_usage *door_of(const char *name, const char **where)
{
	const struct door_usage *in_program = NULL, *in_probe = usage_door(&found.probe, name);
	const struct program *p = &found.program[0];

	if (p->usage.processes)
		in_program = usage_door(&p->usage, name);
	*where = p->name;
	/* A program that was asked about speaks for itself. */
	if (in_program && (in_program->on || !in_probe || found.programs == 1 || strcmp(name, "git") == 0))
		return in_program;
	*where = "a test program";
	return in_probe;
}

static const char *const door_names[] = { "git", "libcrypto", "memcmp", "inflate", "checksum", "deflate" };
enum { DOORS = sizeof door_names / sizeof *door_names };

/* Settings of this environment that close what would be open: the library gives its reasons, and here is what to do. */
static void check_settings(void)
{
	const char *doors = getenv("FASTSHA"), *level = getenv("FASTSHA_CPU");

	for (size_t i = 0; doors && i < DOORS; i++) {
		const char *where;
		const struct door_usage *d = door_of(door_names[i], &where);

		if (d && !d->on && strstr(d->why, "closed by FASTSHA"))
			problem("%s is closed by FASTSHA=%s in the environment: unset it, or add %s", d->name, doors, d->name);
	}
	if (level && *level)
		problem("FASTSHA_CPU=%s in the environment lowers what kernels may use: unset it", level);
}

/* ---- The answer -------------------------------------------------------------------------------------------------------- */

static void print_file(const char *label, const char *version, const char *path, const char *build_id)
{
	printf("%-10s %s%s%s%s%s%s\n", label, version, *version ? ", " : "", path, *build_id ? " (build-id " : "", build_id, *build_id ? ")" : "");
}

static void print_text(void)
{
	struct colours c = colours_of(stdout);
	const char *level = found.probe.processes ? found.probe.cpu : found.program[0].usage.cpu;

	printf("%-10s %s%s%s%s\n", "processor", found.processor, *level ? "; kernels may use " : "", level, "");
	print_file("fastsha", found.loads ? "loads" : "", found.library_path ? found.library_path : "not found", found.library_id);
	for (size_t i = 0; i < found.programs; i++) {
		const struct program *p = &found.program[i];
		const struct door_usage *git = usage_door(&p->usage, "git");

		print_file(p->name, p->version, p->path ? p->path : "not found", p->build_id);
		if (p->obstacle)
			printf("%-10s %s%s%s\n", "", c.bad, p->obstacle, c.off);
		else if (git && git->on)
			printf("%-10s hashes through its %s\n", "", git->why);
	}
	for (size_t i = 0; i < found.libraries; i++)
		print_file(found.library[i].name, found.library[i].version, found.library[i].path, found.library[i].build_id);

	printf("\n%s%-10s %-5s %-22s %s%s\n", c.bold, "door", "state", "kernel", "why", c.off);
	for (size_t i = 0; i < DOORS; i++) {
		const char *where;
		const struct door_usage *d = door_of(door_names[i], &where);

		if (d)
			printf("%-10s %s%-5s%s %-22s %s\n", d->name, d->on ? c.good : c.note, d->on ? "on" : "off", c.off, d->on ? d->kernel : "", d->why);
	}
	if (found.gains) {
		printf("\n%s%-12s %10s %-10s %12s %12s %7s%s\n", c.bold, "function", "input", "door", "original", "with us", "gain", c.off);
		for (size_t i = 0; i < found.gains; i++) {
			const struct gain *g = &found.gain[i];

			printf("%-12s %10s %-10s %12s %12s %6.2fx\n", g->what, human_bytes((double)g->bytes), g->door, human_time(g->original),
			       human_time(g->ours), g->original / g->ours);
		}
		puts("(gain: the original's time divided by ours, above 1 is faster)");
	}
	putchar('\n');
	for (size_t i = 0; i < found.problems; i++)
		printf("%sproblem:%s %s\n", c.bad, c.off, found.problem[i]);
	if (!found.problems)
		printf("%sEvery door that could be open is.%s\n", c.good, c.off);
}

static void json_file(const char *name, const char *path, const char *version, const char *build_id)
{
	fputs("{\"name\": ", stdout);
	print_json_string(stdout, name);
	fputs(", \"path\": ", stdout);
	if (path)
		print_json_string(stdout, path);
	else
		fputs("null", stdout);
	fputs(", \"version\": ", stdout);
	print_json_string(stdout, version);
	printf(", \"build_id\": \"%s\"", build_id);
}

static void print_json(void)
{
	printf("{\n  \"ok\": %s,\n  \"processor\": {\"model\": ", found.problems ? "false" : "true");
	print_json_string(stdout, found.processor);
	fputs(", \"level\": ", stdout);
	print_json_string(stdout, found.probe.processes ? found.probe.cpu : found.program[0].usage.cpu);
	fputs("},\n  \"library\": ", stdout);
	json_file("libfastsha.so", found.library_path, VERSION, found.library_id);
	printf(", \"loads\": %s},\n  \"programs\": [", found.loads ? "true" : "false");
	for (size_t i = 0; i < found.programs; i++) {
		const struct program *p = &found.program[i];
		const struct door_usage *git = usage_door(&p->usage, "git");

		fputs(i ? ",\n    " : "\n    ", stdout);
		json_file(p->name, p->path, p->version, p->build_id);
		fputs(", \"obstacle\": ", stdout);
		if (p->obstacle)
			print_json_string(stdout, p->obstacle);
		else
			fputs("null", stdout);
		fputs(", \"hashes\": ", stdout);
		if (git && git->on)
			print_json_string(stdout, git->why);
		else
			fputs("null", stdout);
		fputs("}", stdout);
	}
	fputs("\n  ],\n  \"libraries\": [", stdout);
	for (size_t i = 0; i < found.libraries; i++) {
		fputs(i ? ",\n    " : "\n    ", stdout);
		json_file(found.library[i].name, found.library[i].path, found.library[i].version, found.library[i].build_id);
		fputs("}", stdout);
	}
	fputs("\n  ],\n  \"doors\": [", stdout);
	for (size_t i = 0, n = 0; i < DOORS; i++) {
		const char *where;
		const struct door_usage *d = door_of(door_names[i], &where);

		if (!d)
			continue;
		printf("%s{\"name\": \"%s\", \"state\": \"%s\", \"why\": ", n++ ? ",\n    " : "\n    ", d->name, d->on ? "on" : "off");
		print_json_string(stdout, d->why);
		fputs(", \"kernel\": ", stdout);
		if (d->on)
			print_json_string(stdout, d->kernel);
		else
			fputs("null", stdout);
		fputs(", \"in\": ", stdout);
		print_json_string(stdout, where);
		fputs("}", stdout);
	}
	fputs("\n  ],\n  \"gains\": [", stdout);
	for (size_t i = 0; i < found.gains; i++) {
		const struct gain *g = &found.gain[i];

		printf("%s{\"function\": \"%s\", \"bytes\": %lu, \"door\": \"%s\", \"original_seconds\": %.4g, \"fastsha_seconds\": %.4g, \"gain\": %.3f}",
		       i ? ",\n    " : "\n    ", g->what, g->bytes, g->door, g->original, g->ours, g->original / g->ours);
	}
	fputs("\n  ],\n  \"problems\": [", stdout);
	for (size_t i = 0; i < found.problems; i++) {
		fputs(i ? ",\n    " : "\n    ", stdout);
		print_json_string(stdout, found.problem[i]);
	}
	fputs(found.problems ? "\n  ]\n}\n" : "]\n}\n", stdout);
}

int doctor_main(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, { 0 } };
	const char *probe, *library;
	bool json = false;
	int c;

	while ((c = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			die_option(EXIT_USAGE, c, argv);
		}
	}
	if (argc - optind > 1)
		die(EXIT_USAGE, "one program at a time, without arguments: '%s' is too many", argv[optind + 1]);
	temporary = make_temporary(EXIT_TROUBLE);
	atexit(clean_up);
	catch_interrupts();
	report = format_string("%s/report", temporary);
	output = new_output();

	find_processor();
	library = find_fastsha() ? found.library_path : NULL;
	if (argv[optind]) {
		found.program[found.programs++].name = argv[optind];
	} else {
		found.program[found.programs++].name = "git";
		found.program[found.programs++].name = "openssl";
	}
	for (size_t i = 0; i < found.programs; i++)
		find_program_facts(&found.program[i], library);
	if (argv[optind] && !found.program[0].path)
		die(EXIT_TROUBLE, "%s: %s", argv[optind], errno == ENOENT ? "command not found" : strerror(errno));
	probe = find_helper("fastsha-probe");
	if (!probe)
		die(EXIT_TROUBLE, "cannot find fastsha-probe, neither beside this command nor in %s/fastsha", LIBDIR);
	find_libraries(probe);
	if (library) {
		measure_doors(probe, library);
		const struct door_usage *git = usage_door(&found.program[0].usage, "git");
		if (found.loads && git && git->on)
			measure_git(found.program[0].path, library);
		check_settings();
	}
	if (interrupted) {
		warn("interrupted");
		return 128 + interrupted;
	}
	if (json)
		print_json();
	else
		print_text();
	return found.problems ? EXIT_TROUBLE : 0;
}
