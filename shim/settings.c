/* settings.c - FASTSHA, the list of doors, from the environment */
#include "settings.h"

#include "fastsha.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_DOORS (1u << DOOR_LIBCRYPTO | 1u << DOOR_GIT | 1u << DOOR_MEMCMP | 1u << DOOR_INFLATE | 1u << DOOR_CHECKSUM)

void complain(const char *format, ...)
{
	int saved_errno = errno;
	char line[512] = "fastsha: ";
	size_t at = strlen(line);
	va_list args;

	va_start(args, format);
	int n = vsnprintf(line + at, sizeof line - at - 1, format, args);
	va_end(args);
	at += n < 0 ? 0 : n < (int)(sizeof line - at - 1) ? (size_t)n : sizeof line - at - 2;
	line[at++] = '\n';
	if (write(STDERR_FILENO, line, at) < 0) {
		/* Nobody is left to tell. */
	}
	errno = saved_errno;
}

static bool is(const char *item, size_t length, const char *name)
{
	return strlen(name) == length && memcmp(item, name, length) == 0;
}

/* A door's bit; 0 where no door has the name. */
static unsigned door_bit(const char *item, size_t length)
{
	for (unsigned id = 0; id < DOOR_COUNT; id++)
		if (is(item, length, doors[id].name))
			return 1u << id;
	return 0;
}

/* The set of doors that VALUE names; on an unknown name, *UNKNOWN and *LENGTH are it. */
static unsigned parse(const char *value, const char **unknown, size_t *length)
{
	unsigned only = 0, added = 0, removed = 0;
	bool plain_names = false;

	*unknown = NULL;
	for (const char *item = value; *item;) {
		size_t n = strcspn(item, ",");
		char sign = *item == '+' || *item == '-' ? *item : 0;
		const char *name = item + !!sign;
		size_t name_length = n - !!sign;
		unsigned bit = door_bit(name, name_length);

		if (sign && bit) {
			added = sign == '+' ? added | bit : added & ~bit;
			removed = sign == '-' ? removed | bit : removed & ~bit;
		} else if (bit) {
			plain_names = true;
			only |= bit;
		} else if (!sign && is(item, n, "on")) {
			plain_names = true;
			only |= DEFAULT_DOORS;
		} else if (!sign && (is(item, n, "off") || is(item, n, "none"))) {
			plain_names = true;
		} else if (n) {
			*unknown = name;
			*length = name_length;
			return DEFAULT_DOORS;
		}
		item += n + (item[n] == ',');
	}
	return ((plain_names ? only : DEFAULT_DOORS) | added) & ~removed;
}

void settings_doors(const char *value)
{
	const char *unknown;
	size_t length;
	unsigned wanted = parse(value ? value : "", &unknown, &length);

	if (unknown)
		complain("FASTSHA: unknown door '%.*s' (known: libcrypto, git, memcmp, inflate, checksum, deflate, on, off, none); using the default set",
			 (int)(length > 60 ? 60 : length), unknown);
	for (unsigned id = 0; id < DOOR_COUNT; id++)
		doors[id].wanted = wanted >> id & 1;
}
