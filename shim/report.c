/* report.c - which door is open, and why; counters and one JSON line per process when FASTSHA_REPORT asks for it */
#include "report.h"

#include "fastsha.h"
#include "json.h"
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct door doors[DOOR_COUNT] = {
	[DOOR_LIBCRYPTO] = { .name = "libcrypto" }, [DOOR_GIT] = { .name = "git" },           [DOOR_MEMCMP] = { .name = "memcmp" },
	[DOOR_INFLATE] = { .name = "inflate" },     [DOOR_CHECKSUM] = { .name = "checksum" }, [DOOR_DEFLATE] = { .name = "deflate" },
};

bool counting;

static COLD_BSS char report_path[PATH_MAX];

/* Nobody reads the words without a report: then nothing is formatted, which would cost every start some page faults in libc. */
static void record(enum door_id id, bool open, const char *kernel, const char *why, va_list args)
{
	if (counting)
		vsnprintf(doors[id].why, sizeof doors[id].why, why, args);
	doors[id].kernel = kernel;
	doors[id].open = open;
}

void door_open(enum door_id id, const char *kernel, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	record(id, true, kernel, why, args);
	va_end(args);
}

void door_close(enum door_id id, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	record(id, false, NULL, why, args);
	va_end(args);
}

/* A text under construction: what does not fit is cut. */
struct text {
	char *at, *end;
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(t->at, t->end - t->at, format, args);
	va_end(args);
	if (n > 0)
		t->at += n < t->end - t->at ? n : t->end - t->at - 1;
}

static void put_json_string(struct text *t, const char *s)
{
	char piece[8];

	put(t, "\"");
	while (*s) {
		s += json_character(s, piece);
		put(t, "%s", piece);
	}
	put(t, "\"");
}

static void put_doors(struct text *t)
{
	for (unsigned id = 0; id < DOOR_COUNT; id++) {
		const struct door *d = &doors[id];

		put(t, "%s{\"name\":\"%s\",\"state\":\"%s\",\"why\":", id ? "," : "", d->name, d->open ? "on" : "off");
		put_json_string(t, d->why[0] ? d->why : d->wanted ? "not there" : id == DOOR_DEFLATE ? "opt-in: FASTSHA=+deflate" : "closed by FASTSHA");
		put(t, ",\"kernel\":");
		if (d->kernel)
			put_json_string(t, d->kernel);
		else
			put(t, "null");
		put(t, ",\"calls\":%llu,\"bytes\":%llu}", (unsigned long long)atomic_load(&d->calls), (unsigned long long)atomic_load(&d->bytes));
	}
}

/* write(2); a limit of the file's size (RLIMIT_FSIZE) or a pipe that nobody reads does not end the program by a signal. */
static ssize_t write_unharmed(int fd, const void *data, size_t size)
{
	sigset_t harm, before;
	int saved_errno;
	ssize_t n;

	sigemptyset(&harm);
	sigaddset(&harm, SIGPIPE);
	sigaddset(&harm, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &harm, &before);
	n = write(fd, data, size);
	saved_errno = errno;
	if (n < 0 && (errno == EPIPE || errno == EFBIG))
		sigtimedwait(&harm, NULL, &(struct timespec){ 0 });
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = saved_errno;
	return n;
}

static __attribute__((noinline, cold)) void report_write(void)
{
	static COLD_BSS char line[PATH_MAX * 6 + 8192]; /* a byte of the path takes six at most */
	char program[PATH_MAX];
	struct text t = { line, line + sizeof line - 1 };
	ssize_t n;
	int fd, saved_errno = errno;

	git_door_describe();
	n = readlink("/proc/self/exe", program, sizeof program - 1);
	program[n > 0 ? n : 0] = 0;
	put(&t, "{\"pid\":%ld,\"program\":", (long)getpid());
	put_json_string(&t, n > 0 ? program : program_invocation_name);
	put(&t, ",\"cpu\":\"%s\",\"doors\":[", cpu_level_name());
	put_doors(&t);
	put(&t, "]}");
	*t.at++ = '\n';

	/* Not to wait for the reader of a pipe. */
	fd = open(report_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	if (fd < 0) {
		complain("FASTSHA_REPORT: cannot open %s: %m", report_path);
	} else {
		n = write_unharmed(fd, line, t.at - line);
		if (n != t.at - line)
			complain(n < 0 ? "FASTSHA_REPORT: cannot write %s: %m" : "FASTSHA_REPORT: cannot write all of %s", report_path);
		close(fd);
	}
	errno = saved_errno;
}

/* At process exit. A forked child that exits writes a line of its own. */
__attribute__((destructor)) static void at_exit(void)
{
	if (counting)
		report_write();
}

/* What pthread_atfork calls, which is linked into every library. Weak, because other C libraries do not have it: they load this one, too. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso_handle) __attribute__((weak));

static void forget_parents_counts(void)
{
	for (unsigned id = 0; id < DOOR_COUNT; id++) {
		atomic_store(&doors[id].calls, 0);
		atomic_store(&doors[id].bytes, 0);
	}
}

void report_start(const char *path)
{
	size_t at = 0;

	/* The process may change its directory: keep the path absolute. */
	if (path[0] != '/' && getcwd(report_path, sizeof report_path - 1)) {
		at = strlen(report_path);
		report_path[at++] = '/';
	}
	if (at + strlen(path) >= sizeof report_path) {
		complain("FASTSHA_REPORT: the path is too long; no report");
		return;
	}
	strcpy(report_path + at, path);
	if (__register_atfork)
		__register_atfork(NULL, NULL, forget_parents_counts, report_path); /* the last: any address in this library */
	counting = true;
}
