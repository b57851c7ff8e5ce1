/* preload_early.c - calls memcmp before libfastsha.so has been relocated (from an IFUNC resolver), and before its constructor */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Preloaded behind libfastsha.so, this library is relocated and initialised before it. */
static int (*volatile compare)(const void *, const void *, size_t);
static char text[2][200];
static int resolver_ran, resolver_wrong, constructor_wrong;

/* The number of wrong results over all n, with no, a negative and a positive difference. */
static int wrong_results(void)
{
	int wrong = 0;

	for (size_t n = 0; n <= sizeof text[0]; n++) {
		for (size_t i = 0; i < sizeof text[0]; i++)
			text[0][i] = text[1][i] = 'a';
		wrong += compare(text[0], text[1], n) != 0;
		if (!n)
			continue;
		text[0][n - 1] = 'z';
		wrong += compare(text[0], text[1], n) != 'z' - 'a';
		wrong += compare(text[1], text[0], n) != 'a' - 'z';
	}
	return wrong;
}

static int answer(void)
{
	return 42;
}

/* The linker puts the relocation that calls this last: those of memcmp are done, but not libfastsha.so's own. */
__attribute__((used)) static int (*resolve(void))(void)
{
	compare = memcmp;
	resolver_ran = 1;
	resolver_wrong = wrong_results();
	return answer;
}

int early_answer(void) __attribute__((ifunc("resolve")));

__attribute__((constructor)) static void early(void)
{
	char line[100];

	compare = memcmp;
	constructor_wrong = wrong_results();
	int n = snprintf(line, sizeof line, "resolver %s, %d wrong; constructor %d wrong; answer %d\n", resolver_ran ? "ran" : "did not run",
			 resolver_wrong, constructor_wrong, early_answer());
	if (write(STDOUT_FILENO, line, n) != n)
		_exit(1);
}
