/*
 * startup.c - how long a command takes from its start to its end, with one library preloaded and with another, in turn
 *
 *     startup PAIRS LIBRARY_A LIBRARY_B COMMAND [ARGUMENT ...]
 *
 * Prints a line for each pair: A's and B's time in microseconds. The order within a pair is that of a coin. The command's output is thrown away.
 * It is started by vfork from this small process, so that the start of a shell's copy is not in the figures.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static posix_spawn_file_actions_t actions;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static double run(const char *library, char **command)
{
	double start;
	int status, error;
	pid_t pid;

	setenv("LD_PRELOAD", library, 1);
	start = now();
	error = posix_spawnp(&pid, command[0], &actions, NULL, command, environ);
	if (error) {
		fprintf(stderr, "startup: %s: %s\n", command[0], strerror(error));
		exit(2);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			exit(2);
	start = now() - start;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "startup: %s fails\n", command[0]);
		exit(1);
	}
	return start;
}

int main(int argc, char **argv)
{
	if (argc < 5) {
		fprintf(stderr, "usage: startup PAIRS LIBRARY_A LIBRARY_B COMMAND [ARGUMENT ...]\n");
		return 2;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	srandom((unsigned)time(NULL));
	run(argv[2], argv + 4);
	run(argv[3], argv + 4);
	for (long i = 0; i < atol(argv[1]); i++) {
		double a = 0, b;

		if (random() & 1 << 10)
			a = run(argv[2], argv + 4);
		b = run(argv[3], argv + 4);
		if (a == 0)
			a = run(argv[2], argv + 4);
		printf("%.0f %.0f\n", a, b);
	}
	return 0;
}
