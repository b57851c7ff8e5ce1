/* memcmp_hook.c - the memcmp door: which function answers the calls of memcmp, bcmp and __memcmpeq */
#include "memcmp.h"

#include "elf_objects.h"
#include "fastsha.h"

#include <stddef.h>

/*
 * The entries (memcmp_kernels.S) are ordinary functions, not IFUNCs: ld.so complains about an IFUNC in a preloaded library whenever an
 * object is relocated before it. They are called before the constructor, by constructors of other libraries, and even before this library
 * is relocated, by other libraries' IFUNC resolvers. So what they look at needs no relocation: sizes, and distances from the SSE2 kernels, which
 * answer until the constructor has chosen.
 */
struct memcmp_path memcmp_path = { .words_n = NO_WORDS };

static memcmp_fn *order_kernel, *equal_kernel;

/* With FASTSHA_REPORT, all calls come this way. */
static int counted_order(const void *a, const void *b, size_t n)
{
	count_served(DOOR_MEMCMP, n);
	return order_kernel(a, b, n);
}

static int counted_equal(const void *a, const void *b, size_t n)
{
	count_served(DOOR_MEMCMP, n);
	return equal_kernel(a, b, n);
}

/* valgrind replaces instructions that do nothing; this is its own way of being asked (valgrind/valgrind.h, RUNNING_ON_VALGRIND). */
static bool under_valgrind(void)
{
	uint64_t request[6] = { 0x1001 }, answer = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(request)
			 : "cc", "memory");
	return answer;
}

static void set_path(size_t words_n, size_t avx512_below, memcmp_fn *order, memcmp_fn *equal)
{
	memcmp_path = (struct memcmp_path){ words_n, avx512_below, (ptrdiff_t)((uintptr_t)order - (uintptr_t)memcmp_sse2),
					    (ptrdiff_t)((uintptr_t)equal - (uintptr_t)memeq_sse2) };
}

/* libc's own answer from now on. */
static void hand_over(void)
{
	memcmp_fn *order = (memcmp_fn *)next_definition("memcmp", NULL), *equal = (memcmp_fn *)next_definition("__memcmpeq", NULL);

	set_path(NO_WORDS, 0, order, equal ? equal : order); /* glibc has __memcmpeq since 2.35 */
}

void memcmp_door_init(void)
{
	bool avx512 = (cpu_features & (CPU_AVX512 | CPU_NO_ZMM)) == CPU_AVX512;
	const char *objection = under_valgrind()             ? "valgrind watches libc's memcmp for reads of what is not there"
				: !(cpu_features & CPU_AVX2) ? "without AVX2, libc's own is at least as fast"
							     : NULL;

	if (objection)
		door_close(DOOR_MEMCMP, "%s", objection);
	if (objection || !doors[DOOR_MEMCMP].wanted) {
		hand_over();
		return;
	}
	order_kernel = avx512 ? memcmp_avx512 : memcmp_avx2;
	equal_kernel = avx512 ? memeq_avx512 : memeq_avx2;
	door_open(DOOR_MEMCMP, avx512 ? "avx512" : "avx2", "answers memcmp, bcmp and __memcmpeq");
	if (counting)
		set_path(NO_WORDS, 0, counted_order, counted_equal);
	else if (avx512)
		set_path(NO_WORDS, 65, memcmp_avx512, memeq_avx512);
	else
		set_path(20, 0, memcmp_avx2, memeq_avx2);
}
