/* init.c - the library's only constructor: settings, processor, doors */
#include "elf_objects.h"
#include "fastsha.h"
#include "report.h"
#include "settings.h"

#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { LEVEL, REPORT, DOORS, SETTINGS };
static const char names[SETTINGS][16] = { "FASTSHA_CPU=", "FASTSHA_REPORT=", "FASTSHA=" };

/*
 * The settings, NULL where unset. By a walk of our own: most processes have none, and the first use of a page of libc's code, getenv's, costs
 * each of them more than the walk. The environment of a process with raised privileges (AT_SECURE) says nothing: the caller may not be trusted.
 */
static void read_settings(const char *settings[SETTINGS])
{
	for (char **e = environ; e && *e; e++)
		for (int i = 0; (*e)[0] == 'F' && (*e)[1] == 'A' && i < SETTINGS; i++) {
			size_t n = strlen(names[i]);

			if (!settings[i] && strncmp(*e, names[i], n) == 0 && !getauxval(AT_SECURE))
				settings[i] = *e + n;
		}
}

__attribute__((constructor)) static void init(void)
{
	const char *settings[SETTINGS] = { NULL };
	struct object loaded[24]; /* as many as most programs have; more than 4 KiB of stack would be another page to touch */

	read_settings(settings);
	settings_doors(settings[DOORS]);
	if (settings[REPORT] && *settings[REPORT])
		report_start(settings[REPORT]);
	objects_remember(loaded, sizeof loaded / sizeof *loaded);
	if (!cpu_init(settings[LEVEL]))
		complain("FASTSHA_CPU: unknown level '%.60s' (known: generic, ssse3, avx2, avx512, each alone or with +sha); using all there is",
			 settings[LEVEL]);

	git_door_init();
	libcrypto_door_init();
	memcmp_door_init();
	zlib_doors_init();
	objects_forget();
}
