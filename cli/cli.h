/* cli.h - what the parts of the fastsha command share */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef LIBDIR
#define LIBDIR "/usr/local/lib"
#endif
#ifndef VERSION
#define VERSION "unknown"
#endif

/* Exit codes. `run` keeps to those of env(1) and nice(1), so that they cannot be taken for the command's own. */
enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2, EXIT_DIFFERS = 3, EXIT_RUN_FAILED = 125, EXIT_RUN_CANNOT = 126, EXIT_RUN_NOT_FOUND = 127 };

/* ---- Subcommands: ARGV[0] is the subcommand's name; they return the exit code --------------------------- */

int run_main(int argc, char **argv);
int ab_main(int argc, char **argv);
int doctor_main(int argc, char **argv);

/* ---- Messages (common.c) -------------------------------------------------------------------------------- */

extern const char *command_name; /* "fastsha run": in front of every message */

void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For atexit, before all else: half a table on a full disk is no success. A closed standard output that nothing was printed to is well. */
void check_output(void);

/* What getopt_long found wrong with the options, in a message that names the option; ends with STATUS. RESULT is '?' or ':'. */
_Noreturn void die_option(int status, int result, char **argv);

/* A whole number of at least LEAST from OPTION's argument TEXT, or the end with STATUS. */
long number_argument(int status, const char *option, const char *text, long least);

/* Colours of the stream that is a terminal; empty strings where it is none or NO_COLOR is set. */
struct colours {
	const char *bold, *dim, *good, *bad, *note, *off;
};
struct colours colours_of(FILE *stream);

/* What is allocated lives as long as the command, unless a loop would make it grow. */
void *xcalloc(size_t n, size_t size);
char *xstrdup(const char *s);
char *format_string(const char *format, ...) __attribute__((format(printf, 1, 2))); /* allocated */

/* "1.23 ms", "12.3 MiB", "1,234,567": for people. A ring of buffers: up to 16 results at a time. */
const char *human_time(double seconds);
const char *human_bytes(double bytes);
const char *human_count(uint64_t n);

/* TEXT as a JSON string with its quotes; bytes that are no valid UTF-8 are replaced. */
void print_json_string(FILE *out, const char *text);

/* ---- The library and the programs that it is loaded into (common.c) -------------------------------------- */

/* Files that belong together: beside the command (build/), or where `make install` puts them. */
const char *find_library(void);          /* allocated; NULL: nowhere */
const char *find_helper(const char *name); /* a program that the command needs, allocated; NULL: nowhere */

/* Why the loader would not load the library at PATH, in words; NULL: nothing speaks against it. */
const char *library_problem(const char *path);

/* find_library, or the end with STATUS where there is none or it cannot be loaded. */
const char *need_library(int status);

/* The file that execvp would run for NAME, allocated; NULL with errno where there is none. */
char *find_program(const char *name);

/*
 * What the kernel does not recognise (ENOEXEC) may be a script without a first line that names an interpreter: the arguments to run the file
 * PATH by the shell, as execvp and shells do, allocated; NULL where it is no text.
 */
char **shell_script(const char *path, char **argv);

/* Whoever started us may have SIGCHLD ignored: then the kernel would throw away how our children end. */
void await_children(void);

/* Why the loader will not load the library into the program at PATH, in words; NULL: it will, as far as can be seen. */
const char *preload_obstacle(const char *path);

/* The build-id of the ELF file at PATH in hex, into ID; an empty string where it has none. */
void elf_build_id(const char *path, char id[65]);

/* Whether LIST is a FASTSHA value; if not, the end with STATUS. */
void check_doors(int status, const char *list);

/*
 * The environment for a run, allocated: LIBRARY (NULL: none) in front of LD_PRELOAD, other copies of it removed; FASTSHA=ONLY and
 * FASTSHA_REPORT=REPORT where not NULL (REPORT "": none, whatever the caller has). PAD: one more variable of so many bytes (0: none).
 */
char **make_environment(const char *library, const char *only, const char *report, size_t pad);
size_t environment_size(char **environment);

/* A folder of our own for temporary files, removed with them by remove_temporary; the end with STATUS where it cannot be made. */
char *make_temporary(int status);
void remove_temporary(char *folder);

/* ---- Reports of FASTSHA_REPORT (report.c) ----------------------------------------------------------------- */

enum { USAGE_DOORS = 12, USAGE_PROGRAMS = 8 };

/* What a report file says, over all its processes. */
struct usage {
	unsigned processes, unreadable; /* lines */
	char cpu[32];
	size_t doors, programs;
	struct door_usage {
		char name[32], kernel[64];
		char why[256]; /* of a process where it was on; where it never was, of the first */
		unsigned on, off;
		uint64_t calls, bytes;
	} door[USAGE_DOORS];
	struct {
		char name[64];
		unsigned processes;
	} program[USAGE_PROGRAMS];
};

/* Reads the report file at PATH; one that does not exist is empty. */
void usage_read(const char *path, struct usage *);

const struct door_usage *usage_door(const struct usage *, const char *name); /* NULL: not in the report */

/* The table: a row a door. VERBOSE: closed doors with their reason, too. */
void usage_print(FILE *out, const struct usage *, bool verbose);

/* The same as JSON: {"processes":N,"cpu":...,"doors":[...]}. */
void usage_print_json(FILE *out, const struct usage *);

#endif
