/* init.c - the library's only constructor: settings, processor, doors */
#include "fastsha.h"
#include "report.h"
#include "settings.h"

#include <stdlib.h>
#include <sys/auxv.h>

/* The environment of a process with raised privileges (AT_SECURE) says nothing: the caller may not be trusted. */
static const char *setting(const char *name)
{
	return getauxval(AT_SECURE) ? NULL : getenv(name);
}

__attribute__((constructor)) static void init(void)
{
	const char *level = setting("FASTSHA_CPU"), *report = setting("FASTSHA_REPORT");

	settings_doors(setting("FASTSHA"));
	if (report && *report)
		report_start(report);
	if (!cpu_init(level))
		complain("FASTSHA_CPU: unknown level '%.60s' (known: generic, ssse3, avx2, avx512, each alone or with +sha); using all there is",
			 level);

	git_door_init();
	libcrypto_door_init();
	memcmp_door_init();
	zlib_doors_init();
}
