/* main.c - the fastsha command: which subcommand is meant */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Usage: fastsha COMMAND [OPTION...]\n"
	"\n"
	"Makes git and openssl as they are installed hash faster, through a preloaded library.\n"
	"\n"
	"  run     run a command with the library\n"
	"  ab      time a command without and with it\n"
	"  doctor  is it worth it on this machine, and is it working?\n"
	"  bench   how fast this processor hashes: cycles per byte of many algorithms\n"
	"\n"
	"  --help, --version\n"
	"\n"
	"fastsha COMMAND --help has each one's options and examples; fastsha(1) has it all.\n"
	"\n"
	"Examples:\n"
	"  fastsha run git fsck\n"
	"  fastsha ab -n 20 git fsck\n"
	"  fastsha doctor\n";

/* bench needs the libraries that it compares with, which nothing else should wait for: a program of its own. */
static int bench_main(int argc, char **argv)
{
	const char *program = find_helper("fastsha-bench");

	(void)argc;
	if (!program)
		die(EXIT_TROUBLE, "cannot find fastsha-bench, neither beside this command nor in %s/fastsha", LIBDIR);
	execv(program, argv);
	die(EXIT_TROUBLE, "%s: %s", program, strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name, *full_name;
		int (*run)(int argc, char **argv);
	} commands[] = {
		{ "run", "fastsha run", run_main },
		{ "ab", "fastsha ab", ab_main },
		{ "doctor", "fastsha doctor", doctor_main },
		{ "bench", "fastsha bench", bench_main },
	};
	const char *name = argc > 1 ? argv[1] : NULL;

	atexit(check_output);
	if (!name) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		fputs(help, stdout);
		return 0;
	}
	if (strcmp(name, "--version") == 0) {
		puts("fastsha " VERSION);
		return 0;
	}
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		if (strcmp(name, commands[i].name) == 0) {
			command_name = commands[i].full_name;
			return commands[i].run(argc - 1, argv + 1);
		}
	}
	die(EXIT_USAGE, "unknown command '%s' (known: run, ab, doctor, bench; see fastsha --help)", name);
}
