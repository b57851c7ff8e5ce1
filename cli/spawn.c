/* spawn.c - runs a program, measures it, and leaves nothing of it behind when interrupted */
#include "spawn.h"

#include "../bench/cycles.h"
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

volatile sig_atomic_t interrupted;

static volatile sig_atomic_t child_group;

static void interrupt(int number)
{
	if (number == SIGALRM) {
		if (child_group > 0)
			kill(-child_group, SIGKILL);
		return;
	}
	interrupted = number;
	if (child_group > 0)
		kill(-child_group, SIGTERM);
}

void catch_interrupts(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };
	struct sigaction action = { .sa_handler = interrupt }, old;

	await_children();
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaddset(&action.sa_mask, signals[i]);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

struct output new_output(void)
{
	struct output o;

	for (int i = 0; i < 2; i++) {
		o.fd[i] = memfd_create("fastsha", MFD_CLOEXEC);
		if (o.fd[i] < 0)
			die(EXIT_TROUBLE, "cannot make room for a command's output: %s", strerror(errno));
	}
	return o;
}

void output_text(struct output o, int which, char *to, size_t size)
{
	ssize_t n = pread(o.fd[which], to, size - 1, 0);

	to[n > 0 ? n : 0] = 0;
	n = (ssize_t)strlen(to);
	if (n > 0 && to[n - 1] == '\n')
		to[n - 1] = 0;
}

char *describe_status(int status)
{
	if (WIFSIGNALED(status))
		return format_string("killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	return format_string("exit code %d", WEXITSTATUS(status));
}

/* After an interrupt: the group has had SIGTERM; what is left of it after half a second gets SIGKILL. */
static void end_group(pid_t pid, int *status, struct rusage *usage)
{
	struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; i < 50; i++) {
		if (wait4(pid, status, WNOHANG, usage) == pid) {
			kill(-pid, SIGKILL);
			return;
		}
		nanosleep(&pause, NULL);
	}
	kill(-pid, SIGKILL);
	while (wait4(pid, status, 0, usage) < 0 && errno == EINTR)
		;
}

int spawn_program(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *attributes, char **argv,
		  char **environment)
{
	int error = posix_spawn(pid, path, files, attributes, argv, environment);
	char **script = error == ENOEXEC ? shell_script(path, argv) : NULL;

	return script ? posix_spawn(pid, script[0], files, attributes, script, environment) : error;
}

int run_once(char **argv, char **environment, const char *input, struct output output, unsigned seconds, struct run *result)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t block, old, defaults;
	struct rusage usage = { 0 };
	pid_t pid;
	int error, status = 0;

	for (int i = 0; i < 2; i++) {
		if (ftruncate(output.fd[i], 0) != 0)
			return errno;
		lseek(output.fd[i], 0, SEEK_SET);
	}
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, input, O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, output.fd[0], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, output.fd[1], STDERR_FILENO);
	/* No interrupt between the start of the child and our knowing it. */
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigprocmask(SIG_BLOCK, &block, &old);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &old);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

	double start = seconds_now();
	error = spawn_program(&pid, argv[0], &files, &attributes, argv, environment);
	if (!error)
		child_group = pid;
	alarm(error ? 0 : seconds);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (!error) {
		pid_t done;

		while ((done = wait4(pid, &status, 0, &usage)) < 0 && errno == EINTR && !interrupted)
			;
		result->wall = seconds_now() - start;
		if (done != pid)
			end_group(pid, &status, &usage);
		else if (interrupted)
			kill(-pid, SIGKILL);
		child_group = 0;
		alarm(0);
	}
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);

	result->user = (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
	result->system = (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec;
	result->memory = 1024.0 * (double)usage.ru_maxrss;
	result->status = status;
	return error;
}
