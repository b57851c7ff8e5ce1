/* run.c - fastsha run: a command with the library in front of its LD_PRELOAD */
#include "cli.h"
#include "spawn.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char help[] =
	"Usage: fastsha run [--only DOORS] [--stats] [--] COMMAND [ARGUMENT...]\n"
	"\n"
	"Runs COMMAND with libfastsha.so in front of its LD_PRELOAD; processes that it starts\n"
	"inherit that.\n"
	"\n"
	"  --only DOORS  open only these (libcrypto, git, memcmp, inflate, checksum, deflate),\n"
	"                or change the default set (+deflate, -memcmp), or none\n"
	"  --stats       at the end, a table on standard error: which doors were open, in\n"
	"                which form, and what they served, over all processes\n"
	"  --help        this text\n"
	"\n"
	"The exit code is COMMAND's; 125 where fastsha itself fails, 126 where COMMAND cannot be\n"
	"run, 127 where it is not found. With --stats, 128 + N where signal N ended it.\n"
	"\n"
	"Examples:\n"
	"  fastsha run git fsck\n"
	"  fastsha run --stats git clone https://example.org/project.git\n"
	"  fastsha run --only git,inflate -- bash       # a shell whose git commands are fast\n";

static volatile sig_atomic_t child;

/* What the terminal sends goes to the command as well, and is its business; what was sent to us alone is passed on. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (child > 0 && info->si_code <= 0)
		kill(child, number);
}

/* Before the command starts, so that no signal leaves temporary files behind; exec undoes it in the command. */
static void outlive_command(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction pass = { .sa_sigaction = pass_on, .sa_flags = SA_RESTART | SA_SIGINFO }, old;

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &pass, NULL);
}

static void print_stats(const struct usage *u, const char *program)
{
	if (u->unreadable)
		warn("%u lines of the report were unreadable", u->unreadable);
	if (!u->processes) {
		warn("the library was not loaded, or no process lived to report; `fastsha doctor %s` says more", program);
		return;
	}
	fprintf(stderr, "\nfastsha: %s process%s on %s:", human_count(u->processes), u->processes == 1 ? "" : "es", u->cpu);
	for (size_t i = 0; i < u->programs; i++)
		fprintf(stderr, "%s %s %u", i ? "," : "", u->program[i].name, u->program[i].processes);
	fprintf(stderr, "%s\n", u->programs == USAGE_PROGRAMS ? ", ..." : "");
	usage_print(stderr, u, false);
}

static int run_with_stats(char *path, char **argv, const char *library, const char *only)
{
	static struct usage u;
	char *folder = make_temporary(EXIT_RUN_FAILED), *report = format_string("%s/report", folder);
	int error, status;
	pid_t pid;

	outlive_command();
	await_children();
	error = spawn_program(&pid, path, NULL, NULL, argv, make_environment(library, only, report, 0));
	if (error) {
		remove_temporary(folder);
		die(EXIT_RUN_CANNOT, "%s: %s", path, strerror(error));
	}
	child = pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	usage_read(report, &u);
	remove_temporary(folder);
	print_stats(&u, argv[0]);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_main(int argc, char **argv)
{
	enum { ONLY = 256, STATS, HELP };
	static const struct option options[] = {
		{ "only", required_argument, NULL, ONLY }, { "stats", no_argument, NULL, STATS }, { "help", no_argument, NULL, HELP }, { 0 }
	};
	const char *only = NULL, *library, *obstacle;
	bool stats = false;
	char *path;
	int c;

	while ((c = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
		switch (c) {
		case ONLY:
			check_doors(EXIT_RUN_FAILED, only = optarg);
			break;
		case STATS:
			stats = true;
			break;
		case HELP:
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			die_option(EXIT_RUN_FAILED, c, argv);
		}
	}
	argv += optind;
	if (!*argv)
		die(EXIT_RUN_FAILED, "no command given (see fastsha run --help)");
	library = need_library(EXIT_RUN_FAILED);
	path = find_program(argv[0]);
	if (!path)
		die(errno == ENOENT || errno == ENOTDIR ? EXIT_RUN_NOT_FOUND : EXIT_RUN_CANNOT, "%s: %s", argv[0],
		    errno == ENOENT ? "command not found" : strerror(errno));
	obstacle = preload_obstacle(path);
	if (obstacle)
		warn("warning: running without the library: %s", obstacle);
	if (stats)
		return run_with_stats(path, argv, library, only);
	char **environment = make_environment(library, only, NULL, 0), **script = NULL;
	execve(path, argv, environment);
	if (errno == ENOEXEC && (script = shell_script(path, argv)))
		execve(script[0], script, environment);
	die(EXIT_RUN_CANNOT, "%s: %s", path, strerror(errno));
}
