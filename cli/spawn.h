/* spawn.h - runs a program, measures it, and leaves nothing of it behind when interrupted */
#ifndef SPAWN_H
#define SPAWN_H

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct run {
	double wall, user, system;
	double memory; /* bytes, at its peak */
	int status;    /* as from wait */
};

/* What a run printed: standard output and standard error, in memory. */
struct output {
	int fd[2];
};
struct output new_output(void);

/* The start of standard output (0) or error (1) as text, without the newline at its end, into TO. */
void output_text(struct output, int which, char *to, size_t size);

/* The signal that asked us to stop; 0: none yet. Set once catch_interrupts has been called. */
extern volatile sig_atomic_t interrupted;
void catch_interrupts(void);

/*
 * Runs ARGV (the program's file is ARGV[0]) in a process group of its own with the file INPUT as standard input, and waits for it. After
 * SECONDS (0: no limit) it is killed. When interrupted, its group is ended first. Returns 0, or the errno for which it could not be started.
 * OUTPUT is emptied first.
 */
int run_once(char **argv, char **environment, const char *input, struct output output, unsigned seconds, struct run *result);

/* posix_spawn, but a script without a first line that names an interpreter is run by the shell, as execvp does. */
int spawn_program(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *attributes, char **argv,
		  char **environment);

/* "exit code 1", "killed by signal 9 (Killed)"; allocated. */
char *describe_status(int status);

#endif
