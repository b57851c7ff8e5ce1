/* client_spin.c - a program of known length: spin MILLIONS [PERCENT] takes so many million cycles, PERCENT more where the library is loaded */
#include "../bench/cycles.h"

#include <string.h>

int main(int argc, char **argv)
{
	const char *preload = getenv("LD_PRELOAD");
	double cycles = argc > 1 ? 1e6 * atof(argv[1]) : 0;

	if (argc > 2 && preload && strstr(preload, "libfastsha.so"))
		cycles *= 1 + atof(argv[2]) / 100;
	if (cycles >= 500)
		add_chain((uint64_t)(cycles / 500));
	return 0;
}
