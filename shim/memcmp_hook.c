/* memcmp_hook.c - the memcmp door: which function answers the calls of memcmp, bcmp and __memcmpeq */
#include "memcmp.h"

#include "elf_objects.h"
#include "fastsha.h"

#include <stddef.h>

/*
 * The entries (memcmp_kernels.S) are ordinary functions, not IFUNCs: ld.so complains about an IFUNC in a preloaded library whenever an
 * object is relocated before it. They are called before the constructor, by constructors of other libraries, and even before this library
 * is relocated, by other libraries' IFUNC resolvers. So what they look at needs no relocation: windows of 0 bytes, and NULL for SSE2.
 */
struct memcmp_path memcmp_path = { .order = NULL };

static memcmp_fn *order_kernel = memcmp_sse2, *equal_kernel = memeq_sse2;

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

void memcmp_door_init(void)
{
	struct memcmp_path path = { .order = NULL };
	bool watched = under_valgrind();

	if (watched)
		door_close(DOOR_MEMCMP, "valgrind watches libc's memcmp for reads of what is not there");
	if (watched || !doors[DOOR_MEMCMP].wanted) {
		path.order = (memcmp_fn *)next_definition("memcmp", NULL);
		path.equal = (memcmp_fn *)next_definition("__memcmpeq", NULL);
		if (!path.equal) /* glibc has it since 2.35 */
			path.equal = path.order;
		memcmp_path = path;
		return;
	}
	if ((cpu_features & (CPU_AVX512 | CPU_NO_ZMM)) == CPU_AVX512) {
		path.avx512_window = 64;
		order_kernel = memcmp_avx512;
		equal_kernel = memeq_avx512;
		door_open(DOOR_MEMCMP, "avx512", "answers memcmp, bcmp and __memcmpeq");
	} else if (cpu_features & CPU_AVX2) {
		path.avx2_window = 64;
		order_kernel = memcmp_avx2;
		equal_kernel = memeq_avx2;
		door_open(DOOR_MEMCMP, "avx2", "answers memcmp, bcmp and __memcmpeq");
	} else {
		order_kernel = memcmp_sse2;
		equal_kernel = memeq_sse2;
		door_open(DOOR_MEMCMP, "sse2", "answers memcmp, bcmp and __memcmpeq");
	}
	if (counting)
		path = (struct memcmp_path){ .order = counted_order, .equal = counted_equal };
	memcmp_path = path;
}
