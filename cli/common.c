/* common.c - messages, and what the subcommands need to know of the library and of the programs that it is loaded into */
#include "cli.h"
#include "../shim/json.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

extern char **environ;

const char *command_name = "fastsha";

static void message(const char *format, va_list args)
{
	struct colours c = colours_of(stderr);

	fprintf(stderr, "%s%s:%s ", c.bold, command_name, c.off);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message(format, args);
	va_end(args);
}

void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message(format, args);
	va_end(args);
	exit(status);
}

void check_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return;
	warn("cannot write all to standard output");
	_exit(EXIT_TROUBLE);
}

void die_option(int status, int result, char **argv)
{
	/* A long option is where getopt stopped; a short one may share its word with others. One without its argument may be the last word. */
	const char *word = argv[optind - 1] ? argv[optind - 1] : "";
	char name[] = { '-', (char)optopt, 0 };

	if (result == '?' && optopt == 0)
		die(status, "unknown option %s (see %s --help)", word, command_name);
	if (result == '?' && strncmp(word, "--", 2) == 0)
		die(status, "option %s takes no argument", word);
	if (result == ':')
		die(status, "option %s needs an argument", strncmp(word, "--", 2) == 0 ? word : name);
	die(status, "unknown option %s (see %s --help)", name, command_name);
}

long number_argument(int status, const char *option, const char *text, long least)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < least)
		die(status, "%s: '%s' is not a whole number of at least %ld", option, text, least);
	return n;
}

struct colours colours_of(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!isatty(fileno(stream)) || (no_color && *no_color) || (term && strcmp(term, "dumb") == 0))
		return (struct colours){ "", "", "", "", "", "" };
	return (struct colours){ "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[33m", "\033[0m" };
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die(EXIT_TROUBLE, "out of memory");
	return p;
}

char *xstrdup(const char *s)
{
	return strcpy(xcalloc(strlen(s) + 1, 1), s);
}

char *format_string(const char *format, ...)
{
	char *s;
	va_list args;

	va_start(args, format);
	int n = vasprintf(&s, format, args);
	va_end(args);
	if (n < 0)
		die(EXIT_TROUBLE, "out of memory");
	return s;
}

/* ---- Numbers for people ---------------------------------------------------------------------------------- */

enum { HUMAN_SIZE = 32 };

static char *human_buffer(void)
{
	static char ring[16][HUMAN_SIZE];
	static unsigned next;

	return ring[next++ % 16];
}

/* VALUE with three significant digits. */
static const char *three_digits(double value, const char *unit)
{
	char *s = human_buffer();

	snprintf(s, HUMAN_SIZE, "%.*f %s", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, unit);
	return s;
}

const char *human_time(double seconds)
{
	if (seconds >= 1)
		return three_digits(seconds, "s");
	if (seconds >= 1e-3)
		return three_digits(seconds * 1e3, "ms");
	if (seconds >= 1e-6)
		return three_digits(seconds * 1e6, "us");
	return three_digits(seconds * 1e9, "ns");
}

const char *human_bytes(double bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	size_t u = 0;

	if (bytes < 1024) {
		char *s = human_buffer();
		snprintf(s, HUMAN_SIZE, "%.0f B", bytes);
		return s;
	}
	for (bytes /= 1024; bytes >= 1023.5 && u + 1 < sizeof units / sizeof *units; u++)
		bytes /= 1024;
	return three_digits(bytes, units[u]);
}

const char *human_count(uint64_t n)
{
	char *s = human_buffer(), *p = s + HUMAN_SIZE - 1;

	*p = 0;
	for (int digits = 0; digits == 0 || n; n /= 10, digits++) {
		if (digits && digits % 3 == 0)
			*--p = ',';
		*--p = (char)('0' + n % 10);
	}
	return p;
}

void print_json_string(FILE *out, const char *s)
{
	char piece[8];

	fputc('"', out);
	while (*s) {
		s += json_character(s, piece);
		fputs(piece, out);
	}
	fputc('"', out);
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

/* The first of the files that exists, allocated. */
static const char *first_existing(char *candidates[], size_t n)
{
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!found && access(candidates[i], F_OK) == 0)
			found = candidates[i];
		else
			free(candidates[i]);
	}
	return found;
}

/* The folder of this command's own file. */
static const char *own_folder(void)
{
	static char folder[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
	char *slash;

	folder[n > 0 ? n : 0] = 0;
	/* Without /proc: what was given to exec. */
	if (n <= 0 && !realpath((const char *)getauxval(AT_EXECFN), folder))
		return LIBDIR;
	slash = strrchr(folder, '/');
	if (slash && slash != folder)
		*slash = 0;
	return folder;
}

const char *find_library(void)
{
	char *candidates[] = { format_string("%s/libfastsha.so", own_folder()), xstrdup(LIBDIR "/libfastsha.so") };

	return first_existing(candidates, 2);
}

const char *find_helper(const char *name)
{
	char *candidates[] = { format_string("%s/%s", own_folder(), name), format_string(LIBDIR "/fastsha/%s", name) };

	return first_existing(candidates, 2);
}

/* Reads SIZE bytes at OFFSET of the file; false where it is shorter. */
static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

enum { MAX_PHDRS = 64 };

struct elf {
	Elf64_Ehdr header;
	Elf64_Phdr phdr[MAX_PHDRS];
};

/* Reads the headers of an x86-64 ELF file; false where it is none (its first bytes are in e->header then, as far as there are any). */
static bool elf_read(int fd, struct elf *e)
{
	memset(&e->header, 0, sizeof e->header);
	if (pread(fd, &e->header, sizeof e->header, 0) != sizeof e->header)
		return false;
	return memcmp(e->header.e_ident, ELFMAG, SELFMAG) == 0 && e->header.e_ident[EI_CLASS] == ELFCLASS64 && e->header.e_machine == EM_X86_64 &&
	       e->header.e_phentsize == sizeof *e->phdr && e->header.e_phnum > 0 && e->header.e_phnum <= MAX_PHDRS &&
	       read_at(fd, e->phdr, e->header.e_phnum * sizeof *e->phdr, e->header.e_phoff);
}

static const char *machine_name(const Elf64_Ehdr *h)
{
	switch (h->e_machine) {
	case EM_X86_64:
		return h->e_ident[EI_CLASS] == ELFCLASS32 ? "x32" : "x86-64";
	case EM_386:
		return "32-bit x86";
	case EM_AARCH64:
		return "AArch64";
	case EM_ARM:
		return "32-bit Arm";
	case EM_RISCV:
		return "RISC-V";
	case EM_PPC64:
		return "POWER";
	case EM_S390:
		return "S/390";
	}
	return "another architecture";
}

const char *library_problem(const char *path)
{
	const char *problem = NULL;
	struct elf e;
	struct stat st;
	int fd;

	if (strpbrk(path, " :"))
		return "its path has a space or a colon in it, which LD_PRELOAD takes for a separator";
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return strerror(errno);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		problem = "not a regular file";
	} else if (!elf_read(fd, &e)) {
		problem = memcmp(e.header.e_ident, ELFMAG, SELFMAG) != 0 ? "not an ELF file"
			  : e.header.e_machine != EM_X86_64 || e.header.e_ident[EI_CLASS] != ELFCLASS64
				? format_string("it is for %s, this is x86-64", machine_name(&e.header))
				: "the file is damaged";
	} else if (e.header.e_type != ET_DYN) {
		problem = "not a shared library";
	} else {
		for (int i = 0; i < e.header.e_phnum; i++)
			if (e.phdr[i].p_type == PT_LOAD && e.phdr[i].p_offset + e.phdr[i].p_filesz > (uint64_t)st.st_size)
				problem = "the file is cut short";
		/* What the loader will do; a filesystem that is mounted noexec refuses it. */
		void *map = problem ? MAP_FAILED : mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED)
			munmap(map, 1);
		else if (!problem)
			problem = errno == EPERM ? "its filesystem is mounted noexec" : strerror(errno);
	}
	close(fd);
	return problem;
}

const char *need_library(int status)
{
	const char *library = find_library(), *problem;

	if (!library)
		die(status, "cannot find libfastsha.so, neither in %s nor in %s", own_folder(), LIBDIR);
	problem = library_problem(library);
	if (problem)
		die(status, "%s cannot be loaded: %s", library, problem);
	return library;
}

char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	int error = ENOENT;

	if (strchr(name, '/')) {
		struct stat st;

		if (stat(name, &st) != 0)
			return NULL;
		if (S_ISDIR(st.st_mode)) {
			errno = EISDIR;
			return NULL;
		}
		return access(name, X_OK) == 0 ? xstrdup(name) : NULL;
	}
	for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *name;) {
		size_t n = strcspn(p, ":");
		char *candidate = n ? format_string("%.*s/%s", (int)n, p, name) : xstrdup(name);
		struct stat st;

		if (stat(candidate, &st) == 0 && S_ISREG(st.st_mode)) {
			if (access(candidate, X_OK) == 0)
				return candidate;
			error = EACCES;
		}
		free(candidate);
		if (!p[n])
			break;
		p += n + 1;
	}
	errno = error;
	return NULL;
}

char **shell_script(const char *path, char **argv)
{
	char start[256], **script;
	size_t count = 0;
	int saved_errno = errno, fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, start, sizeof start);

	if (fd >= 0)
		close(fd);
	errno = saved_errno;
	if (n < 0 || memchr(start, 0, (size_t)n))
		return NULL;
	while (argv[count])
		count++;
	script = xcalloc(count + 2, sizeof *script);
	script[0] = xstrdup("/bin/sh");
	script[1] = xstrdup(path);
	for (size_t i = 1; i < count; i++)
		script[i + 1] = argv[i];
	return script;
}

void await_children(void)
{
	struct sigaction old;

	if (sigaction(SIGCHLD, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		signal(SIGCHLD, SIG_DFL);
}

/* The next word of S, ended by a null byte; S moves behind it. */
static char *next_word(char **s)
{
	char *word = *s + strspn(*s, " \t");

	*s = word + strcspn(word, " \t\n");
	if (**s)
		*(*s)++ = 0;
	return word;
}

/* The interpreter that runs the script whose first line is LINE ("#!/usr/bin/env -S python3 -u"), allocated; NULL: not to be found. */
static char *script_interpreter(char *line)
{
	char *rest = line + 2, *word = next_word(&rest), *slash = strrchr(word, '/');

	if (strcmp(slash ? slash + 1 : word, "env") != 0)
		return find_program(word);
	do
		word = next_word(&rest);
	while (*word == '-' || strchr(word, '='));
	return *word ? find_program(word) : NULL;
}

static const char *obstacle(const char *path, int depth)
{
	const char *found = NULL;
	char line[256] = "";
	struct elf e;
	struct stat st;
	bool interpreter = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) != 0) {
		/* Can be run, not read: nothing can be said. */
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (pread(fd, line, sizeof line - 1, 0) > 2 && line[0] == '#' && line[1] == '!') {
		char *script = depth < 4 ? script_interpreter(line) : NULL;

		close(fd);
		found = script ? obstacle(script, depth + 1) : NULL;
		free(script);
		return found;
	}
	if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) || ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())) {
		found = format_string("%s is set%s: the loader does not preload into programs with raised privileges", path,
				      st.st_mode & S_ISUID ? "uid" : "gid");
	} else if (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0) {
		found = format_string("%s has file capabilities: the loader does not preload into programs with raised privileges", path);
	} else if (elf_read(fd, &e)) {
		for (int i = 0; i < e.header.e_phnum; i++)
			interpreter = interpreter || e.phdr[i].p_type == PT_INTERP;
		if (!interpreter)
			found = format_string("%s is statically linked: it loads no libraries", path);
	} else if (memcmp(e.header.e_ident, ELFMAG, SELFMAG) == 0) {
		found = format_string("%s is for %s, the library for x86-64", path, machine_name(&e.header));
	}
	close(fd);
	return found;
}

const char *preload_obstacle(const char *path)
{
	return obstacle(path, 0);
}

void elf_build_id(const char *path, char id[65])
{
	struct elf e;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	id[0] = 0;
	if (fd < 0)
		return;
	for (int i = 0; elf_read(fd, &e) && i < e.header.e_phnum && !id[0]; i++) {
		unsigned char notes[4096];
		size_t size = e.phdr[i].p_filesz;

		if (e.phdr[i].p_type != PT_NOTE || size > sizeof notes || !read_at(fd, notes, size, e.phdr[i].p_offset))
			continue;
		for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
			Elf64_Nhdr note;
			memcpy(&note, notes + at, sizeof note);
			size_t desc = at + sizeof note + ((note.n_namesz + 3u) & ~3u);

			if (note.n_namesz > size || note.n_descsz > size || desc + note.n_descsz > size)
				break;
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= 32 && memcmp(notes + at + sizeof note, "GNU", 4) == 0)
				for (size_t k = 0; k < note.n_descsz; k++)
					sprintf(id + 2 * k, "%02x", notes[desc + k]);
			at = desc + ((note.n_descsz + 3u) & ~3u);
		}
	}
	close(fd);
}

/* ---- The environment -------------------------------------------------------------------------------------- */

void check_doors(int status, const char *list)
{
	static const char *const known[] = { "libcrypto", "git", "memcmp", "inflate", "checksum", "deflate", "on", "off", "none" };
	enum { SIGNED = 6, KNOWN = sizeof known / sizeof *known };

	for (const char *item = list; *item;) {
		size_t n = strcspn(item, ","), sign = *item == '+' || *item == '-', i;

		for (i = 0; i < (sign ? SIGNED : KNOWN); i++)
			if (strlen(known[i]) == n - sign && strncmp(item + sign, known[i], n - sign) == 0)
				break;
		if (n && i == (sign ? SIGNED : KNOWN))
			die(status, "--only: unknown door '%.*s' (known: libcrypto, git, memcmp, inflate, checksum, deflate; on, none)", (int)n, item);
		item += n + (item[n] == ',');
	}
}

/* LD_PRELOAD: LIBRARY (NULL: none), then what OLD lists but other copies of libfastsha.so. Allocated; NULL where nothing is left. */
static char *preload_list(const char *library, const char *old)
{
	char *list = format_string("LD_PRELOAD=%s", library ? library : "");

	for (const char *p = old ? old : ""; *p;) {
		size_t n = strcspn(p, ": ");
		const char *base = p + n;

		while (base > p && base[-1] != '/')
			base--;
		if (n && !((size_t)(p + n - base) == strlen("libfastsha.so") && strncmp(base, "libfastsha.so", strlen("libfastsha.so")) == 0)) {
			char *longer = format_string("%s%s%.*s", list, list[strlen(list) - 1] == '=' ? "" : ":", (int)n, p);
			free(list);
			list = longer;
		}
		p += n + !!p[n];
	}
	return list;
}

static bool is_variable(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

char **make_environment(const char *library, const char *only, const char *report, size_t pad)
{
	size_t n = 0, count = 0;
	char **e, *preload = preload_list(library, getenv("LD_PRELOAD"));

	while (environ[count])
		count++;
	e = xcalloc(count + 5, sizeof *e);
	for (size_t i = 0; i < count; i++) {
		const char *v = environ[i];

		if (is_variable(v, "LD_PRELOAD") || (only && is_variable(v, "FASTSHA")) || (report && is_variable(v, "FASTSHA_REPORT")))
			continue;
		e[n++] = environ[i];
	}
	if (!is_variable(preload, "LD_PRELOAD") || preload[strlen("LD_PRELOAD=")])
		e[n++] = preload;
	if (only)
		e[n++] = format_string("FASTSHA=%s", only);
	if (report && *report)
		e[n++] = format_string("FASTSHA_REPORT=%s", report);
	if (pad > strlen("FASTSHA_PAD=")) {
		char *v = xcalloc(pad + 1, 1);

		memset(v, '.', pad);
		memcpy(v, "FASTSHA_PAD=", strlen("FASTSHA_PAD="));
		e[n++] = v;
	}
	return e;
}

size_t environment_size(char **environment)
{
	size_t size = 0;

	for (; *environment; environment++)
		size += strlen(*environment) + 1 + sizeof *environment;
	return size;
}

/* ---- Temporary files ---------------------------------------------------------------------------------------- */

char *make_temporary(int status)
{
	const char *parent = getenv("TMPDIR");
	char *folder;

	if (!parent || !*parent)
		parent = "/tmp";
	folder = format_string("%s/fastsha.XXXXXX", parent);
	if (!mkdtemp(folder))
		die(status, "cannot make a folder in %s (TMPDIR): %s", parent, strerror(errno));
	/* A process may change its directory: the report's path has to be absolute. */
	char *absolute = realpath(folder, NULL);
	if (!absolute)
		die(status, "%s: %s", folder, strerror(errno));
	free(folder);
	return absolute;
}

void remove_temporary(char *folder)
{
	char *report = format_string("%s/report", folder);

	unlink(report);
	if (rmdir(folder) != 0)
		warn("cannot remove %s: %s", folder, strerror(errno));
	free(report);
	free(folder);
}
