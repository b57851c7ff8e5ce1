/* fuzz_settings.c - libFuzzer target: any values of FASTSHA and FASTSHA_CPU, against a second reading of what they mean */
#include "fastsha.h"
#include "settings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct door doors[DOOR_COUNT] = { { .name = "libcrypto" }, { .name = "git" }, { .name = "memcmp" }, { .name = "inflate" }, { .name = "checksum" },
				  { .name = "deflate" } };

/* complain's line arrives here (the linker's --wrap). */
static unsigned complaints;
ssize_t __wrap_write(int fd, const void *line, size_t size);
ssize_t __real_write(int fd, const void *line, size_t size);

ssize_t __wrap_write(int fd, const void *line, size_t size)
{
	if (fd != STDERR_FILENO)
		return __real_write(fd, line, size);
	if (size < 10 || size > 512 || memcmp(line, "fastsha: ", 9) != 0 || ((const char *)line)[size - 1] != '\n')
		abort();
	complaints++;
	return (ssize_t)size;
}

static int index_of(const char *name)
{
	for (int i = 0; i < DOOR_COUNT; i++)
		if (!strcmp(doors[i].name, name))
			return i;
	return -1;
}

/* One item after the other; the later one counts. False: an unknown name. */
static bool reading(const char *value, bool wanted[DOOR_COUNT])
{
	enum { UNTOUCHED, ADDED, REMOVED } sign[DOOR_COUNT] = { UNTOUCHED };
	bool plain = false, named[DOOR_COUNT] = { false };
	char *list = strdup(value), *rest = list, *item;
	bool known = true;

	while (known && (item = strsep(&rest, ","))) {
		int door = index_of(item + (*item == '+' || *item == '-'));

		if (!*item)
			continue;
		if ((*item == '+' || *item == '-') && door >= 0) {
			sign[door] = *item == '+' ? ADDED : REMOVED;
		} else if (door >= 0) {
			named[door] = plain = true;
		} else if (!strcmp(item, "on")) {
			plain = true;
			for (int i = 0; i < DOOR_DEFLATE; i++)
				named[i] = true;
		} else if (!strcmp(item, "off") || !strcmp(item, "none")) {
			plain = true;
		} else {
			known = false;
		}
	}
	for (int i = 0; i < DOOR_COUNT; i++) {
		bool otherwise = i != DOOR_DEFLATE;

		wanted[i] = !known ? otherwise : sign[i] == ADDED ? true : sign[i] == REMOVED ? false : plain ? named[i] : otherwise;
	}
	free(list);
	return known;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	bool wanted[DOOR_COUNT];
	char *value = malloc(size + 1);

	memcpy(value, bytes, size);
	value[size] = 0;
	complaints = 0;
	settings_doors(value);

	bool known = reading(value, wanted);

	for (int i = 0; i < DOOR_COUNT; i++)
		if (doors[i].wanted != wanted[i])
			abort();
	if (complaints != !known)
		abort();
	if (cpu_init(value)) {
		/* What it accepts, it must name. */
		const char *name = cpu_level_name();

		if (!strlen(name))
			abort();
	}
	free(value);
	return 0;
}
