/* fuzz_memcmp.c - libFuzzer target: every memcmp kernel on buffers that end, or begin, at a page that must not be touched, against a loop */
#include "fastsha.h"
#include "memcmp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct memcmp_path memcmp_path; /* what the entries look at */

enum { PAGE = 4096, ROOM = 8 * PAGE };

static unsigned char *between_guards(void)
{
	unsigned char *p = mmap(NULL, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE, ROOM, PROT_READ | PROT_WRITE) != 0)
		abort();
	return p + PAGE;
}

/* Not the compiler's idea of a loop that compares: it would call memcmp. */
__attribute__((noinline)) static int expected(const unsigned char *a, const unsigned char *b, size_t n)
{
	for (volatile size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] - b[i];
	return 0;
}

/* Bytes: where a and b lie (2 and 2), how long (2), where they differ (2), by what, then what they hold. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static unsigned char *room_a, *room_b;

	if (!room_a) {
		room_a = between_guards();
		room_b = between_guards();
		cpu_init(NULL);
	}
	if (size < 10)
		return 0;

	size_t n = (bytes[4] | bytes[5] << 8) % (bytes[9] & 1 ? 200 : 3 * PAGE);
	size_t at_a = (bytes[0] | bytes[1] << 8) % (ROOM - n + 1), at_b = (bytes[2] | bytes[3] << 8) % (ROOM - n + 1);
	/* Half of them at the guard pages. */
	unsigned char *a = room_a + (bytes[9] & 2 ? ROOM - n : bytes[9] & 4 ? 0 : at_a);
	unsigned char *b = room_b + (bytes[9] & 8 ? ROOM - n : bytes[9] & 16 ? 0 : at_b);

	for (size_t i = 0; i < n; i++)
		a[i] = b[i] = bytes[i % size];
	if (n)
		b[(bytes[6] | bytes[7] << 8) % n] ^= bytes[8];
	if (n && bytes[9] & 32)
		b[n - 1] ^= bytes[8];

	int e = expected(a, b, n);

	for (int level = 0; level < 3; level++) {
		memcmp_fn *order = level == 0 ? memcmp_sse2 : level == 1 ? memcmp_avx2 : memcmp_avx512;
		memcmp_fn *equal = level == 0 ? memeq_sse2 : level == 1 ? memeq_avx2 : memeq_avx512;

		if ((level == 1 && !(cpu_features & CPU_AVX2)) || (level == 2 && !(cpu_features & CPU_AVX512)))
			continue;
		if (order(a, b, n) != e || order(b, a, n) != -e || !equal(a, b, n) != !e)
			abort();
	}
	return 0;
}
