/* ab.c - fastsha ab: a command without and with the library, alternately, and what can be said about the difference */
#include "cli.h"
#include "plot.h"
#include "spawn.h"
#include "stats.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
	"Usage: fastsha ab [OPTION...] [--] COMMAND [ARGUMENT...]\n"
	"\n"
	"Runs COMMAND without and with the library alternately, in random order within each\n"
	"pair, after checking that both print the same, byte for byte, and end alike. A\n"
	"COMMAND that is one argument with spaces or other special characters goes to sh -c.\n"
	"Its standard input is /dev/null, unless --input names a file.\n"
	"\n"
	"  -n, --runs RUNS     so many pairs (30)\n"
	"      --time SECONDS  stop after so many seconds (but not before 5 pairs)\n"
	"      --warmup N      so many pairs first that do not count (0)\n"
	"      --prepare CMD   run this (sh -c) before each run, outside the measurement\n"
	"      --only DOORS    open only these, as `fastsha run`; none: what loading costs\n"
	"      --against LIB   the other side preloads this library instead of none: an empty\n"
	"                      one, to see the doors without the loading; another version\n"
	"      --input FILE    what COMMAND reads on standard input\n"
	"      --ignore-stderr compare standard output and the exit code only\n"
	"      --sweep 'NAME=VALUE,VALUE...'\n"
	"                      once for each value, put for {NAME} in COMMAND and --prepare\n"
	"      --brief         one line: both times, the ratio with its interval, doors, bytes\n"
	"      --json FILE     results in the form of hyperfine's --export-json\n"
	"      --plot FILE     a picture of both distributions and of the ratio: .svg, .png\n"
	"      --dark          ... for a dark background\n"
	"      --help          this text\n"
	"\n"
	"The ratio is the time without divided by the time with the library: above 1 is faster.\n"
	"\n"
	"Exit codes: 0 compared; 1 COMMAND or --prepare cannot be run, or was killed; 2 wrong\n"
	"usage; 3 the two sides differ; 130 interrupted.\n"
	"\n"
	"Examples:\n"
	"  fastsha ab git fsck\n"
	"  fastsha ab -n 50 --only git -- git hash-object big.iso\n"
	"  fastsha ab --prepare 'rm -rf copy' 'git clone -q --no-local . copy'\n"
	"  fastsha ab --sweep 'threads=1,2,8' --plot grep.svg 'git grep --threads={threads} foo HEAD'\n";

enum { WITHOUT, WITH, SIDES };
enum { LEAST_PAIRS = 5, FEW_PAIRS = 10 };

static const char *const side_name[SIDES] = { "without", "with" };

static struct {
	long runs, warmup;
	double seconds; /* 0: no limit */
	const char *prepare, *only, *against, *input, *json, *plot, *library;
	bool ignore_stderr, brief, dark, system_wide;
	char *sweep_name, **sweep_values;
	size_t sweep_count;
} opt = { .runs = 30, .input = "/dev/null" };

static char *temporary;

static void clean_up(void)
{
	if (temporary)
		remove_temporary(temporary);
	temporary = NULL;
}

/* ---- Are both sides' outputs the same? ------------------------------------------------------------------------ */

static off_t size_of(int fd)
{
	return lseek(fd, 0, SEEK_END);
}

/* Where the contents of two files differ first; -1: nowhere. LINE: the number of the line. LINE_START: where it starts. */
static off_t first_difference(int a, int b, unsigned long *line, off_t *line_start)
{
	enum { CHUNK = 65536 };
	static char x[CHUNK], y[CHUNK];
	off_t at = 0;

	*line = 1;
	*line_start = 0;
	for (;;) {
		ssize_t n = pread(a, x, CHUNK, at), m = pread(b, y, CHUNK, at), least = n < m ? n : m, i;

		if (n == m && (n <= 0 || memcmp(x, y, (size_t)n) == 0)) {
			if (n <= 0)
				return -1;
			for (const char *p = x; (p = memchr(p, '\n', (size_t)(x + n - p))); p++) {
				++*line;
				*line_start = at + (p - x) + 1;
			}
			at += n;
			continue;
		}
		for (i = 0; i < least && x[i] == y[i]; i++) {
			if (x[i] == '\n') {
				++*line;
				*line_start = at + i + 1;
			}
		}
		return at + i;
	}
}

/* The line that starts at FROM, as far as it fits, with what is not printable escaped. */
static void print_line(FILE *out, const char *label, int fd, off_t from)
{
	unsigned char text[72];
	ssize_t n = pread(fd, text, sizeof text, from);

	fprintf(out, "  %-8s ", label);
	if (n <= 0)
		fputs("(ends here)", out);
	for (ssize_t i = 0; i < n && text[i] != '\n'; i++) {
		if (isprint(text[i]))
			fputc(text[i], out);
		else
			fprintf(out, "\\x%02x", text[i]);
	}
	fputc('\n', out);
}

/* Whether two runs ended alike and printed the same; if not and OUT is not NULL, says there how they differ. */
static bool same(FILE *out, const struct run *a, struct output a_output, const char *a_label, const struct run *b, struct output b_output,
		 const char *b_label)
{
	static const char *const names[] = { "standard output", "standard error" };
	unsigned long line;
	off_t at, start;

	if (a->status != b->status) {
		if (out)
			fprintf(out, "They end differently:\n  %-8s %s\n  %-8s %s\n", a_label, describe_status(a->status), b_label,
				describe_status(b->status));
		return false;
	}
	for (int i = 0; i < (opt.ignore_stderr ? 1 : 2); i++) {
		at = first_difference(a_output.fd[i], b_output.fd[i], &line, &start);
		if (at < 0)
			continue;
		if (out) {
			fprintf(out, "Their %s differs first at byte %lld, in line %lu:\n", names[i], (long long)at, line);
			/* A long line: the part around the difference. */
			if (at - start > 60)
				start = at - 40;
			print_line(out, a_label, a_output.fd[i], start);
			print_line(out, b_label, b_output.fd[i], start);
		}
		return false;
	}
	return true;
}

/* ---- A series: pairs of runs of one command ------------------------------------------------------------------ */

struct series {
	const char *value;          /* of the sweep; NULL: none */
	char **argv, *text, *prepare;
	bool shell;
	char **environment[SIDES];
	struct output reference, output;
	struct usage usage;
	size_t pairs;
	struct run *runs[SIDES];
	double started, seconds, others; /* when; how long; processors that others kept busy meanwhile */
	double *probe;                   /* adds per cycle before each run */
	double shared;                   /* part of the runs that began on a shared core */
	double *wall[SIDES];
	struct interval ratio, user_ratio, difference; /* the last: seconds by which a run takes longer with the library */
};

/* TEXT with every {NAME} of the sweep replaced; allocated. FOUND is set where there was one. */
static char *substitute(const char *text, const char *value, bool *found)
{
	char *pattern, *result = xstrdup(""), *longer;
	const char *hit;

	if (!value)
		return free(result), xstrdup(text);
	pattern = format_string("{%s}", opt.sweep_name);
	while ((hit = strstr(text, pattern))) {
		longer = format_string("%s%.*s%s", result, (int)(hit - text), text, value);
		free(result);
		result = longer;
		text = hit + strlen(pattern);
		*found = true;
	}
	longer = format_string("%s%s", result, text);
	free(result);
	free(pattern);
	return longer;
}

/* Words joined as a shell would read them; allocated. */
static char *join(char **argv)
{
	char *text = xstrdup("");

	for (; *argv; argv++) {
		bool plain = **argv && strspn(*argv, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^") == strlen(*argv);
		char *quoted = xcalloc(4 * strlen(*argv) + 3, 1), *q = quoted, *longer;

		if (!plain)
			*q++ = '\'';
		for (const char *s = *argv; *s; s++) {
			if (*s == '\'') {
				memcpy(q, "'\\''", 4);
				q += 4;
			} else {
				*q++ = *s;
			}
		}
		if (!plain)
			*q++ = '\'';
		longer = format_string("%s%s%s", text, *text ? " " : "", quoted);
		free(text);
		free(quoted);
		text = longer;
	}
	return text;
}

static void series_init(struct series *s, char **argv, const char *value)
{
	size_t n = 0, pad;
	bool found = false;
	char *name;

	s->value = value;
	while (argv[n])
		n++;
	s->argv = xcalloc(n + 4, sizeof *s->argv);
	s->shell = n == 1 && strpbrk(argv[0], " \t\n|&;<>()$`\\\"'*?[#~=%!");
	if (s->shell) {
		s->argv[0] = xstrdup("/bin/sh");
		s->argv[1] = xstrdup("-c");
		s->argv[2] = s->text = substitute(argv[0], value, &found);
	} else {
		for (size_t i = 0; i < n; i++)
			s->argv[i] = substitute(argv[i], value, &found);
		s->text = join(s->argv);
		name = s->argv[0];
		s->argv[0] = find_program(name);
		if (!s->argv[0])
			die(EXIT_TROUBLE, "%s: %s", name, errno == ENOENT ? "command not found" : strerror(errno));
		const char *obstacle = preload_obstacle(s->argv[0]);
		if (obstacle)
			die(EXIT_TROUBLE, "nothing to compare: %s", obstacle);
	}
	s->prepare = opt.prepare ? substitute(opt.prepare, value, &found) : NULL;
	if (value && !found)
		die(EXIT_USAGE, "--sweep: {%s} occurs neither in the command nor in --prepare", opt.sweep_name);

	/* Both environments have the same size: where the stack starts can change a time by some percent. */
	s->environment[WITH] = make_environment(opt.library, opt.only, "", 0);
	s->environment[WITHOUT] = make_environment(opt.against, opt.system_wide ? "off" : NULL, "", 0);
	pad = environment_size(s->environment[WITH]) - environment_size(s->environment[WITHOUT]);
	if (pad > sizeof(char *) && pad < 1 << 20)
		s->environment[WITHOUT] = make_environment(opt.against, opt.system_wide ? "off" : NULL, "", pad - sizeof(char *) - 1);
	s->reference = new_output();
	s->output = new_output();
	for (int side = 0; side < SIDES; side++) {
		s->runs[side] = xcalloc((size_t)opt.runs, sizeof *s->runs[side]);
		s->wall[side] = xcalloc((size_t)opt.runs, sizeof *s->wall[side]);
	}
	s->probe = xcalloc(2 * (size_t)opt.runs, sizeof *s->probe);
}

static void run_prepare(struct series *s)
{
	char *argv[] = { "/bin/sh", "-c", s->prepare, NULL };
	struct output o = s->output;
	struct run run;
	int error;

	if (!s->prepare || interrupted)
		return;
	error = run_once(argv, s->environment[WITHOUT], "/dev/null", o, 0, &run);
	if (error)
		die(EXIT_TROUBLE, "--prepare: /bin/sh: %s", strerror(error));
	if (run.status != 0 && !interrupted) {
		char text[2048];
		ssize_t n = pread(o.fd[1], text, sizeof text, 0);

		if (n > 0)
			fwrite(text, 1, (size_t)n, stderr);
		die(EXIT_TROUBLE, "--prepare: '%s' failed: %s", s->prepare, describe_status(run.status));
	}
}

/* A run of one side, prepared; false where it was interrupted. */
static bool run_side(struct series *s, char **environment, struct output output, struct run *run)
{
	int error;

	run_prepare(s);
	if (interrupted)
		return false;
	error = run_once(s->argv, environment, opt.input, output, 0, run);
	if (error)
		die(EXIT_TROUBLE, "%s: %s", s->argv[0], strerror(error));
	return !interrupted;
}

_Noreturn static void refuse(struct series *s, const struct run *reference, const struct run *run, const char *label)
{
	struct output again = new_output();
	struct run run_again;
	bool repeatable = true;

	/* What differs from itself cannot be compared with anything: say so, lest it be taken for the library's fault. */
	if (run_side(s, s->environment[WITHOUT], again, &run_again))
		repeatable = same(NULL, reference, s->reference, "", &run_again, again, "");
	fflush(stdout);
	warn("refusing to compare: the runs differ: %s", s->text);
	same(stderr, reference, s->reference, side_name[WITHOUT], run, s->output, label);
	if (!repeatable)
		fputs("Two runs without the library differ, too: this command does not print the same each time.\n", stderr);
	if (!repeatable && s->prepare == NULL)
		fputs("If it changes what it works on, --prepare can restore that.\n", stderr);
	exit(EXIT_DIFFERS);
}

/* A run of each side that does not count: their outputs, and with the library its report. False where it was interrupted. */
static bool check(struct series *s, struct run *reference)
{
	char *report = format_string("%s/report", temporary), **reporting = make_environment(opt.library, opt.only, report, 0);
	struct run run;

	unlink(report);
	if (!run_side(s, s->environment[WITHOUT], s->reference, reference) || !run_side(s, reporting, s->output, &run))
		return false;
	usage_read(report, &s->usage);
	if (!same(NULL, reference, s->reference, "", &run, s->output, ""))
		refuse(s, reference, &run, side_name[WITH]);
	if (WIFSIGNALED(reference->status))
		die(EXIT_TROUBLE, "nothing to compare: %s: %s on both sides", s->text, describe_status(reference->status));
	if (s->shell && (WEXITSTATUS(reference->status) == 127 || WEXITSTATUS(reference->status) == 126))
		die(EXIT_TROUBLE, "%s: %s", s->text, WEXITSTATUS(reference->status) == 127 ? "command not found" : "the command cannot be run");
	if (!s->usage.processes)
		die(EXIT_TROUBLE, "nothing to compare: no process reported that it had loaded %s", opt.library);
	free(report);
	return true;
}

/* Processor time, in seconds, that anything used so far: of the machine and, as far as it was us and our commands, of us. */
static void processor_time(double *all, double *ours)
{
	unsigned long long user = 0, nice = 0, sys = 0, idle, wait, irq = 0, soft = 0, steal = 0;
	struct rusage self, children;
	FILE *f = fopen("/proc/stat", "r");

	if (f) {
		if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys, &idle, &wait, &irq, &soft, &steal) != 8)
			user = nice = sys = irq = soft = steal = 0;
		fclose(f);
	}
	*all = (double)(user + nice + sys + irq + soft + steal) / (double)sysconf(_SC_CLK_TCK);
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	*ours = (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec + children.ru_stime.tv_sec) +
		1e-6 * (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec + children.ru_utime.tv_usec + children.ru_stime.tv_usec);
}

/* ---- Progress ---------------------------------------------------------------------------------------------------- */

static void progress(const struct series *s)
{
	enum { WIDTH = 24 };
	struct colours c = colours_of(stderr);
	struct winsize window;
	double elapsed = seconds_now() - s->started, part = (double)s->pairs / (double)opt.runs, *ratios, ratio = 0;
	char bar[WIDTH + 1], line[256];
	int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col ? window.ws_col : 80;

	if (opt.seconds > 0 && s->pairs && elapsed / opt.seconds > part)
		part = elapsed / opt.seconds;
	if (part > 1)
		part = 1;
	memset(bar, '.', WIDTH);
	memset(bar, '#', (size_t)(part * WIDTH));
	bar[WIDTH] = 0;
	if (s->pairs) {
		ratios = xcalloc(s->pairs, sizeof *ratios);
		for (size_t i = 0; i < s->pairs; i++)
			ratios[i] = s->wall[WITHOUT][i] / s->wall[WITH][i];
		ratio = median(ratios, s->pairs);
		free(ratios);
		snprintf(line, sizeof line, "[%s] %zu of %ld pairs, ratio %.3f, %.0f s left  %s%s", bar, s->pairs, opt.runs, ratio,
			 part > 0 ? elapsed / part * (1 - part) : 0, s->value ? opt.sweep_name : "", s->value ? format_string("=%s", s->value) : "");
	} else {
		snprintf(line, sizeof line, "[%s] checking that both sides print the same  %s%s", bar, s->value ? opt.sweep_name : "",
			 s->value ? format_string("=%s", s->value) : "");
	}
	fprintf(stderr, "\r%s%.*s%s\033[K", c.note, columns - 1, line, c.off);
}

static void progress_end(void)
{
	fputs("\r\033[K", stderr);
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static void summarize(struct series *s)
{
	double *ratios = xcalloc(s->pairs, sizeof *ratios), *users = xcalloc(s->pairs, sizeof *users), *sorted;
	double *differences = xcalloc(s->pairs, sizeof *differences);
	size_t n = 2 * s->pairs, shared = 0;
	bool user = true;

	for (size_t i = 0; i < s->pairs; i++) {
		ratios[i] = s->wall[WITHOUT][i] / s->wall[WITH][i];
		differences[i] = s->wall[WITH][i] - s->wall[WITHOUT][i];
		user = user && s->runs[WITHOUT][i].user > 0 && s->runs[WITH][i].user > 0;
		users[i] = user ? s->runs[WITHOUT][i].user / s->runs[WITH][i].user : 0;
	}
	s->ratio = bootstrap_median(ratios, s->pairs, 20130617);
	s->difference = bootstrap_median(differences, s->pairs, 20130617);
	if (user)
		s->user_ratio = bootstrap_median(users, s->pairs, 20130617);
	sorted = xcalloc(n, sizeof *sorted);
	memcpy(sorted, s->probe, n * sizeof *sorted);
	sort_doubles(sorted, n);
	for (size_t i = 0; i < n; i++)
		shared += sorted[i] < 0.9 * quantile(sorted, n, 0.9);
	s->shared = (double)shared / (double)n;
	free(sorted);
	free(differences);
	free(ratios);
	free(users);
}

/* Fills in the series; false where it was interrupted before the first pair was done. */
static bool measure_series(struct series *s)
{
	uint64_t random;
	bool terminal = isatty(STDERR_FILENO);
	double all[2], ours[2];
	struct run reference;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		random = (uint64_t)ticks_now();
	random |= 1;
	s->started = seconds_now();
	if (terminal)
		progress(s);
	if (!check(s, &reference))
		return false;
	for (long i = 0; i < 2 * opt.warmup; i++) {
		struct run run;

		if (!run_side(s, s->environment[i % SIDES], s->output, &run))
			return false;
	}
	s->started = seconds_now();
	processor_time(&all[0], &ours[0]);
	for (long i = 0; i < opt.runs && !(opt.seconds > 0 && i >= LEAST_PAIRS && seconds_now() - s->started > opt.seconds); i++) {
		int first = random_next(&random) >> 63;

		for (int k = 0; k < SIDES; k++) {
			int side = k ^ first;
			struct run *run = &s->runs[side][i];
			double tpc = ticks_per_cycle();

			s->probe[2 * i + k] = adds_per_cycle(tpc);
			if (!run_side(s, s->environment[side], s->output, run))
				goto interrupted;
			if (!same(NULL, &reference, s->reference, "", run, s->output, "")) {
				if (terminal)
					progress_end();
				refuse(s, &reference, run, side == WITH ? side_name[WITH] : "again");
			}
			s->wall[side][i] = run->wall;
		}
		s->pairs++;
		if (terminal)
			progress(s);
	}
interrupted:
	s->seconds = seconds_now() - s->started;
	processor_time(&all[1], &ours[1]);
	if (s->seconds > 0.5 && all[1] > 0)
		s->others = (all[1] - all[0] - (ours[1] - ours[0])) / s->seconds;
	if (s->pairs)
		summarize(s);
	return s->pairs > 0;
}

/* ---- Results ------------------------------------------------------------------------------------------------------- */

enum field { WALL, USER, SYSTEM, MEMORY };

static double value_of(const struct run *r, enum field f)
{
	return f == WALL ? r->wall : f == USER ? r->user : f == SYSTEM ? r->system : r->memory;
}

static double *values(const struct series *s, int side, enum field f)
{
	double *v = xcalloc(s->pairs, sizeof *v);

	for (size_t i = 0; i < s->pairs; i++)
		v[i] = value_of(&s->runs[side][i], f);
	return v;
}

/* The Q quantile of a side's field. */
static double side_quantile(const struct series *s, int side, enum field f, double q)
{
	double *v = values(s, side, f), result;

	sort_doubles(v, s->pairs);
	result = quantile(v, s->pairs, q);
	free(v);
	return result;
}

static bool too_wide(struct interval r)
{
	return (r.low <= 1 && r.high >= 1 && r.high - r.low > 0.05) || r.high - r.low > 0.25 * r.median;
}

/* "is 1.89 times as fast with fastsha" and so on; allocated. */
static char *verdict(struct interval r)
{
	if (r.low > 1)
		return format_string("%.2f times as fast with fastsha (95 %% interval %.3f to %.3f)", r.median, r.low, r.high);
	if (r.high < 1)
		return format_string("slower with fastsha: %.2f times as fast (95 %% interval %.3f to %.3f)", r.median, r.low, r.high);
	return format_string("no difference to be seen: ratio %.3f (95 %% interval %.3f to %.3f)", r.median, r.low, r.high);
}

static void print_row(const struct series *s, const char *name, enum field f, const char *(*format)(double), const struct interval *r)
{
	printf("  %-12s %19s %19s", name, format(side_quantile(s, WITHOUT, f, 0.5)), format(side_quantile(s, WITH, f, 0.5)));
	if (r && r->median > 0)
		printf(" %9.3f   %.3f to %.3f", r->median, r->low, r->high);
	putchar('\n');
}

static void print_warnings(const struct series *s)
{
	bool served = false;
	char *where = s->value ? format_string(" (%s=%s)", opt.sweep_name, s->value) : xstrdup("");
	int status = s->runs[WITH][0].status;

	for (size_t i = 0; i < s->usage.doors; i++)
		served = served || s->usage.door[i].calls;
	if (status != 0)
		warn("warning%s: the command fails, on both sides: %s", where, describe_status(status));
	if (!served)
		warn("warning%s: no door served anything, so nothing can be faster", where);
	if (s->others > 0.1)
		warn("warning%s: the machine was not idle: others kept %.0f %% of a processor busy", where, 100 * s->others);
	if (s->shared > 0.2)
		warn("warning%s: the machine was not idle: %.0f %% of the runs began on a core that was shared", where, 100 * s->shared);
	if (s->pairs < FEW_PAIRS)
		warn("warning%s: %zu pairs are too few for a 95 %% interval to mean much", where, s->pairs);
	if (too_wide(s->ratio))
		warn("warning%s: the interval is too wide to say anything: take more runs, a longer command, an idle machine", where);
	free(where);
}

static void print_head(const struct series *s)
{
	struct colours c = colours_of(stdout);

	printf("%s%s%s\n", c.bold, s->text, c.off);
	if (opt.against)
		printf("without: with %s instead\n", opt.against);
	printf("%zu pairs in random order; both sides print the same, %s on standard output%s%s; %s\n\n", s->pairs,
	       human_bytes((double)size_of(s->reference.fd[0])), opt.ignore_stderr ? "" : ", ",
	       opt.ignore_stderr ? "" : format_string("%s on standard error", human_bytes((double)size_of(s->reference.fd[1]))),
	       describe_status(s->runs[WITH][0].status));
}

static void print_doors(const struct series *s)
{
	printf("Doors, from one run with a report (%s process%s, %s):\n", human_count(s->usage.processes), s->usage.processes == 1 ? "" : "es",
	       s->usage.cpu);
	usage_print(stdout, &s->usage, false);
}

/* Between which times half of a side's runs lie. */
static const char *middle_half(const struct series *s, int side)
{
	return format_string("%s to %s", human_time(side_quantile(s, side, WALL, 0.25)), human_time(side_quantile(s, side, WALL, 0.75)));
}

/* "+90 us": allocated. */
static const char *signed_time(double seconds)
{
	return format_string("%s%s", seconds < 0 ? "-" : "+", human_time(seconds < 0 ? -seconds : seconds));
}

/* A line for scripts that make a table of many commands. */
static void print_brief(const struct series *s)
{
	const char *separator = "";

	if (s->value)
		printf("%12s ", s->value);
	printf("%10s %10s %8.3f   %.3f to %.3f   ", human_time(side_quantile(s, WITHOUT, WALL, 0.5)),
	       human_time(side_quantile(s, WITH, WALL, 0.5)), s->ratio.median, s->ratio.low, s->ratio.high);
	for (size_t i = 0; i < s->usage.doors; i++) {
		const struct door_usage *d = &s->usage.door[i];

		if (!d->bytes)
			continue;
		printf("%s%s %s", separator, d->name, human_bytes((double)d->bytes));
		separator = ", ";
	}
	putchar('\n');
	fflush(stdout);
	print_warnings(s);
}

static void print_series(const struct series *s)
{
	struct colours c = colours_of(stdout);

	print_head(s);
	printf("%s  %-12s %19s %19s %9s   %s%s\n", c.bold, "median", side_name[WITHOUT], side_name[WITH], "ratio", "95 % interval", c.off);
	print_row(s, "wall", WALL, human_time, &s->ratio);
	printf("  %s%-12s %19s %19s%s\n", c.dim, "middle half", middle_half(s, WITHOUT), middle_half(s, WITH), c.off);
	printf("  %-12s %19s %19s %9s   %s to %s\n", "difference", "", signed_time(s->difference.median), "", signed_time(s->difference.low),
	       signed_time(s->difference.high));
	print_row(s, "user", USER, human_time, &s->user_ratio);
	print_row(s, "system", SYSTEM, human_time, NULL);
	print_row(s, "peak memory", MEMORY, human_bytes, NULL);
	printf("\n%s%s%s\n", s->ratio.low > 1 ? c.good : s->ratio.high < 1 ? c.bad : "", verdict(s->ratio), c.off);
	puts("(ratio: time without / time with, the median over the pairs)\n");
	print_doors(s);
	fflush(stdout);
	print_warnings(s);
}

static void print_sweep(const struct series *series, size_t n, const char *text)
{
	struct colours c = colours_of(stdout);

	printf("%s%s%s\n", c.bold, text, c.off);
	printf("up to %ld pairs each in random order; both sides print the same\n\n", opt.runs);
	printf("%s%12s %12s %12s %9s   %-16s %6s %10s%s\n", c.bold, opt.sweep_name, side_name[WITHOUT], side_name[WITH], "ratio", "95 % interval",
	       "pairs", "served", c.off);
	for (size_t i = 0; i < n; i++) {
		const struct series *s = &series[i];
		uint64_t bytes = 0;

		for (size_t d = 0; d < s->usage.doors; d++)
			bytes += s->usage.door[d].bytes;
		printf("%12s %12s %12s %9.3f   %.3f to %.3f   %6zu %10s\n", s->value, human_time(side_quantile(s, WITHOUT, WALL, 0.5)),
		       human_time(side_quantile(s, WITH, WALL, 0.5)), s->ratio.median, s->ratio.low, s->ratio.high, s->pairs,
		       human_bytes((double)bytes));
	}
	puts("\n(wall time, medians; ratio: time without / time with, above 1 is faster with fastsha)\n");
	print_doors(&series[n - 1]);
	fflush(stdout);
	for (size_t i = 0; i < n; i++)
		print_warnings(&series[i]);
}

/* ---- hyperfine's JSON ------------------------------------------------------------------------------------------------ */

/* With a fixed number of decimals: a time of 0 is a number with a fraction for hyperfine's readers as well. */
static void json_numbers(FILE *f, const char *name, const double *v, size_t n, int decimals)
{
	fprintf(f, "      \"%s\": [", name);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s%.*f", i ? ", " : "", decimals, v[i]);
	fputs("]", f);
}

static void json_result(FILE *f, const struct series *s, int side)
{
	double *wall = values(s, side, WALL), *user = values(s, side, USER), *sys = values(s, side, SYSTEM), *memory = values(s, side, MEMORY);
	char *command = side == WITHOUT ? xstrdup(s->text)
		       : s->shell	? format_string("fastsha run%s%s -- sh -c %s", opt.only ? " --only " : "", opt.only ? opt.only : "",
							join((char *[]){ s->text, NULL }))
					: format_string("fastsha run%s%s -- %s", opt.only ? " --only " : "", opt.only ? opt.only : "", s->text);

	fputs("    {\n      \"command\": ", f);
	print_json_string(f, command);
	fprintf(f, ",\n      \"mean\": %.9f,\n      \"stddev\": %.9f,\n      \"median\": %.9f,\n", mean(wall, s->pairs),
		standard_deviation(wall, s->pairs), median_of(wall, s->pairs));
	fprintf(f, "      \"user\": %.9f,\n      \"system\": %.9f,\n", mean(user, s->pairs), mean(sys, s->pairs));
	fprintf(f, "      \"min\": %.9f,\n      \"max\": %.9f,\n", side_quantile(s, side, WALL, 0), side_quantile(s, side, WALL, 1));
	json_numbers(f, "times", wall, s->pairs, 9);
	fputs(",\n", f);
	json_numbers(f, "memory_usage_byte", memory, s->pairs, 0);
	fputs(",\n      \"exit_codes\": [", f);
	for (size_t i = 0; i < s->pairs; i++)
		fprintf(f, "%s%d", i ? ", " : "", WEXITSTATUS(s->runs[side][i].status));
	fputs("]", f);
	if (s->value) {
		fputs(",\n      \"parameters\": {", f);
		print_json_string(f, opt.sweep_name);
		fputs(": ", f);
		print_json_string(f, s->value);
		fputs("}", f);
	}
	fputs("\n    }", f);
	free(command);
	free(wall);
	free(user);
	free(sys);
	free(memory);
}

static bool write_json(const struct series *series, size_t n)
{
	FILE *f = fopen(opt.json, "w");

	if (!f) {
		warn("--json: cannot write %s: %s", opt.json, strerror(errno));
		return false;
	}
	fputs("{\n  \"results\": [\n", f);
	for (size_t i = 0; i < 2 * n; i++) {
		fputs(i ? ",\n" : "", f);
		json_result(f, &series[i / 2], i % 2);
	}
	/* What hyperfine has no place for. */
	fputs("\n  ],\n  \"fastsha\": [\n", f);
	for (size_t i = 0; i < n; i++) {
		const struct series *s = &series[i];

		fprintf(f, "%s    {\"value\": ", i ? ",\n" : "");
		if (s->value)
			print_json_string(f, s->value);
		else
			fputs("null", f);
		fprintf(f, ", \"pairs\": %zu, \"ratio\": %.6g, \"low\": %.6g, \"high\": %.6g, ", s->pairs, s->ratio.median, s->ratio.low, s->ratio.high);
		fprintf(f, "\"difference\": %.6g, \"others_busy\": %.3g, \"shared_core\": %.3g, \"report\": ", s->difference.median,
			s->others > 0 ? s->others : 0, s->shared);
		usage_print_json(f, &s->usage);
		fputs("}", f);
	}
	fputs("\n  ]\n}\n", f);
	if (fclose(f) != 0) {
		warn("--json: cannot write %s: %s", opt.json, strerror(errno));
		return false;
	}
	return true;
}

/* ---- Pictures ------------------------------------------------------------------------------------------------------------ */

/* A unit in which times of about SECONDS are easy to read, and how many make a second. */
static const char *time_unit(double seconds, double *per_second)
{
	*per_second = seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6;
	return seconds >= 1 ? "s" : seconds >= 1e-3 ? "ms" : "us";
}

static void plot_data(FILE *g, const char *name, const double *v, size_t n, double scale)
{
	fprintf(g, "$%s << EOD\n", name);
	for (size_t i = 0; i < n; i++)
		fprintf(g, "%zu %.9g\n", i + 1, v[i] * scale);
	fputs("EOD\n", g);
}

/* Left both sides' times, box and points; right the ratio of each pair in the order they ran, which shows a drift. */
static bool plot_series(const struct series *s)
{
	const struct plot_colours *c = opt.dark ? &plot_dark : &plot_light;
	double scale, *ratios = xcalloc(s->pairs, sizeof *ratios);
	const char *unit = time_unit(side_quantile(s, WITHOUT, WALL, 0.5), &scale);
	FILE *g = plot_open(opt.plot, opt.dark, 1000, 480);

	for (size_t i = 0; i < s->pairs; i++)
		ratios[i] = s->wall[WITHOUT][i] / s->wall[WITH][i];
	plot_data(g, "without", s->wall[WITHOUT], s->pairs, scale);
	plot_data(g, "with", s->wall[WITH], s->pairs, scale);
	plot_data(g, "ratio", ratios, s->pairs, 1);
	free(ratios);

	fputs("set multiplot layout 1,2 title ", g);
	plot_string(g, s->text, 80);
	fprintf(g, " textcolor rgb '%s'\n", c->text);
	fprintf(g,
		"set title 'Wall time of a run: lower is better'\n"
		"set ylabel 'time (%s)'\n"
		"set xrange [0.4:2.6]\n"
		"set xtics ('without' 1, 'with fastsha' 2)\n"
		"set offsets 0, 0, graph 0.08, graph 0.08\n"
		"set style boxplot nooutliers\n"
		"set style fill transparent solid 0.25\n"
		"set boxwidth 0.45\n"
		"unset key\n"
		"jitter(i) = 0.3 * (i * 0.618034 - floor(i * 0.618034) - 0.5)\n"
		"plot $without using (1):2 with boxplot linecolor rgb '" PLOT_WITHOUT "' linewidth 2,"
		" $with using (2):2 with boxplot linecolor rgb '" PLOT_WITH "' linewidth 2,"
		" $without using (1 + jitter($1)):2 with points pointtype 7 pointsize 0.4 linecolor rgb '" PLOT_WITHOUT "',"
		" $with using (2 + jitter($1)):2 with points pointtype 7 pointsize 0.4 linecolor rgb '" PLOT_WITH "'\n",
		unit);
	fputs("set title ", g);
	plot_string(g, format_string("Ratio %.3f, 95 %% interval %.3f to %.3f: higher is better", s->ratio.median, s->ratio.low, s->ratio.high), 90);
	fprintf(g,
		"\nset ylabel 'time without / time with'\n"
		"set xlabel 'pair, in the order they ran'\n"
		"set xtics auto\n"
		"set xrange [0.5:%zu.5]\n"
		"set key below center horizontal maxrows 1 samplen 1.5 width -4 height 0.5\n"
		"set object 1 rectangle from graph 0, first %.6g to graph 1, first %.6g behind fillcolor rgb '" PLOT_WITH
		"' fillstyle transparent solid 0.25 noborder\n"
		"stats $ratio using 2 nooutput\n"
		"low = STATS_min < 1 ? STATS_min : 1\n"
		"high = STATS_max > 1 ? STATS_max : 1\n"
		"set yrange [low - 0.05 * (high - low):high + 0.05 * (high - low)]\n"
		"plot 1 with lines dashtype 2 linewidth 1.5 linecolor rgb '%s' title 'no difference',"
		" %.6g with lines linewidth 2 linecolor rgb '" PLOT_WITH "' title 'median, interval',"
		" $ratio using 1:2 with points pointtype 7 pointsize 0.5 linecolor rgb '" PLOT_WITHOUT "' title 'a pair'\n",
		s->pairs, s->ratio.low, s->ratio.high, c->text, s->ratio.median);
	return plot_close(g, opt.plot);
}

/* Over the sweep's values: left both sides' median times with their quartiles, right the ratios with their intervals. */
static bool plot_sweep(const struct series *series, size_t n, const char *text)
{
	const struct plot_colours *c = opt.dark ? &plot_dark : &plot_light;
	double scale, most = 0;
	FILE *g = plot_open(opt.plot, opt.dark, 1000, 480);

	for (size_t i = 0; i < n; i++)
		if (side_quantile(&series[i], WITHOUT, WALL, 0.5) > most)
			most = side_quantile(&series[i], WITHOUT, WALL, 0.5);
	const char *unit = time_unit(most, &scale);
	fputs("$data << EOD\n", g);
	for (size_t i = 0; i < n; i++) {
		const struct series *s = &series[i];

		fputc('"', g);
		for (const char *p = s->value; *p; p++)
			fputc(*p == '"' || (unsigned char)*p < ' ' ? '_' : *p, g);
		fputc('"', g);
		for (int side = 0; side < SIDES; side++)
			fprintf(g, " %.9g %.9g %.9g", scale * side_quantile(s, side, WALL, 0.5), scale * side_quantile(s, side, WALL, 0.25),
				scale * side_quantile(s, side, WALL, 0.75));
		fprintf(g, " %.6g %.6g %.6g\n", s->ratio.median, s->ratio.low, s->ratio.high);
	}
	fputs("EOD\nset multiplot layout 1,2 title ", g);
	plot_string(g, text, 80);
	fprintf(g, " textcolor rgb '%s'\nset xlabel ", c->text);
	plot_string(g, opt.sweep_name, 40);
	fprintf(g,
		"\nset title 'Wall time of a run: lower is better'\n"
		"set ylabel 'time (%s), median and middle half'\n"
		"set xrange [-0.5:%zu.5]\n"
		"set yrange [0:*]\n"
		"set offsets 0, 0, graph 0.15, 0\n"
		"set key top right\n"
		"set pointsize 0.9\n"
		"plot $data using 0:2:3:4:xtic(1) with yerrorlines pointtype 7 linewidth 2 linecolor rgb '" PLOT_WITHOUT "' title 'without',"
		" $data using 0:5:6:7 with yerrorlines pointtype 7 linewidth 2 linecolor rgb '" PLOT_WITH "' title 'with fastsha'\n"
		"set title 'Ratio with its 95 %% interval: higher is better'\n"
		"set ylabel 'time without / time with'\n"
		"set key below center horizontal maxrows 1 samplen 1.5 width -4 height 0.5\n"
		"set offsets 0, 0, 0, 0\n"
		"stats $data using 9 nooutput name 'low'\n"
		"stats $data using 10 nooutput name 'high'\n"
		"low = low_min < 1 ? low_min : 1\n"
		"high = high_max > 1 ? high_max : 1\n"
		"set yrange [low - 0.05 * (high - low):high + 0.05 * (high - low)]\n"
		"plot 1 with lines dashtype 2 linewidth 1.5 linecolor rgb '%s' title 'no difference',"
		" $data using 0:8:9:10:xtic(1) with yerrorlines pointtype 7 linewidth 2 linecolor rgb '" PLOT_WITH "' title 'ratio'\n",
		unit, n - 1, c->text);
	return plot_close(g, opt.plot);
}

/* ---- The command line --------------------------------------------------------------------------------------------------- */

static void parse_sweep(char *text)
{
	char *equals = strchr(text, '='), *next;

	if (opt.sweep_name)
		die(EXIT_USAGE, "--sweep: only one is possible");
	if (!equals || equals == text || (size_t)(equals - text) != strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"))
		die(EXIT_USAGE, "--sweep: '%s' is not of the form NAME=VALUE,VALUE...", text);
	*equals = 0;
	opt.sweep_name = text;
	opt.sweep_values = xcalloc(strlen(equals + 1) + 1, sizeof *opt.sweep_values);
	for (char *value = equals + 1; value; value = next) {
		next = strchr(value, ',');
		if (next)
			*next++ = 0;
		if (!*value)
			die(EXIT_USAGE, "--sweep: %s has an empty value", opt.sweep_name);
		opt.sweep_values[opt.sweep_count++] = value;
	}
}

static char **parse_options(int argc, char **argv)
{
	enum { TIME = 256, WARMUP, PREPARE, ONLY, AGAINST, INPUT, IGNORE_STDERR, SWEEP, BRIEF, JSON, PLOT, DARK };
	static const struct option options[] = {
		{ "runs", required_argument, NULL, 'n' },
		{ "time", required_argument, NULL, TIME },
		{ "warmup", required_argument, NULL, WARMUP },
		{ "prepare", required_argument, NULL, PREPARE },
		{ "only", required_argument, NULL, ONLY },
		{ "against", required_argument, NULL, AGAINST },
		{ "input", required_argument, NULL, INPUT },
		{ "ignore-stderr", no_argument, NULL, IGNORE_STDERR },
		{ "sweep", required_argument, NULL, SWEEP },
		{ "brief", no_argument, NULL, BRIEF },
		{ "json", required_argument, NULL, JSON },
		{ "plot", required_argument, NULL, PLOT },
		{ "dark", no_argument, NULL, DARK },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *problem;
	bool runs = false;
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "+:n:h", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			opt.runs = number_argument(EXIT_USAGE, "-n", optarg, 1);
			runs = true;
			break;
		case TIME:
			opt.seconds = strtod(optarg, &end);
			if (*end || end == optarg || !(opt.seconds > 0 && opt.seconds < 1e6))
				die(EXIT_USAGE, "--time: '%s' is not a number of seconds above 0", optarg);
			break;
		case WARMUP:
			opt.warmup = number_argument(EXIT_USAGE, "--warmup", optarg, 0);
			break;
		case PREPARE:
			opt.prepare = optarg;
			break;
		case ONLY:
			check_doors(EXIT_USAGE, opt.only = optarg);
			break;
		case AGAINST:
			opt.against = realpath(optarg, NULL);
			problem = opt.against ? library_problem(opt.against) : strerror(errno);
			if (problem)
				die(EXIT_USAGE, "--against: %s cannot be loaded: %s", optarg, problem);
			break;
		case INPUT:
			if (access(opt.input = optarg, R_OK) != 0)
				die(EXIT_USAGE, "--input: cannot read %s: %s", optarg, strerror(errno));
			break;
		case IGNORE_STDERR:
			opt.ignore_stderr = true;
			break;
		case SWEEP:
			parse_sweep(optarg);
			break;
		case BRIEF:
			opt.brief = true;
			break;
		case JSON:
			check_writable("--json", opt.json = optarg);
			break;
		case PLOT:
			plot_check("--plot", opt.plot = optarg);
			break;
		case DARK:
			opt.dark = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		default:
			die_option(EXIT_USAGE, c, argv);
		}
	}
	if (opt.runs > 1000000)
		die(EXIT_USAGE, "-n: %ld are too many", opt.runs);
	if (opt.seconds > 0 && !runs)
		opt.runs = 10000;
	if (opt.dark && !opt.plot)
		die(EXIT_USAGE, "--dark makes sense only with --plot");
	if (!argv[optind])
		die(EXIT_USAGE, "no command given (see fastsha ab --help)");
	return argv + optind;
}

/* Is the library loaded into everything on this machine? */
static bool preloaded_system_wide(void)
{
	char text[4096];
	FILE *f = fopen("/etc/ld.so.preload", "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = 0;
	return strstr(text, "libfastsha.so") != NULL;
}

int ab_main(int argc, char **argv)
{
	char **command = parse_options(argc, argv);
	size_t n = opt.sweep_count ? opt.sweep_count : 1, done = 0;
	struct series *series = xcalloc(n, sizeof *series);
	char *text = join(command);
	bool ok = true, terminal = isatty(STDERR_FILENO);

	opt.library = need_library(EXIT_TROUBLE);
	opt.system_wide = preloaded_system_wide();
	if (opt.system_wide)
		warn("warning: /etc/ld.so.preload loads the library everywhere: the side without it runs with FASTSHA=off");
	for (size_t i = 0; i < n; i++)
		series_init(&series[i], command, opt.sweep_count ? opt.sweep_values[i] : NULL);
	temporary = make_temporary(EXIT_TROUBLE);
	atexit(clean_up);
	catch_interrupts();

	while (done < n && !interrupted && measure_series(&series[done]))
		done++;
	if (terminal)
		progress_end();
	if (interrupted)
		warn("interrupted%s", done ? "; the results so far:" : " before the first pair was done");
	if (done) {
		if (opt.brief)
			for (size_t i = 0; i < done; i++)
				print_brief(&series[i]);
		else if (opt.sweep_count)
			print_sweep(series, done, command[1] ? text : command[0]);
		else
			print_series(&series[0]);
		if (opt.json)
			ok = write_json(series, done) && ok;
		if (opt.plot)
			ok = (opt.sweep_count ? plot_sweep(series, done, command[1] ? text : command[0]) : plot_series(&series[0])) && ok;
	}
	return interrupted ? 128 + interrupted : ok ? 0 : EXIT_TROUBLE;
}
