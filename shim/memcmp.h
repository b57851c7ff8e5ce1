/* memcmp.h - the memcmp kernels and the choice among them */
#ifndef MEMCMP_H
#define MEMCMP_H

#include <stddef.h>

/* Compares n bytes. n = 0 reads nothing. */
typedef int memcmp_fn(const void *a, const void *b, size_t n);

/* The difference of the first bytes (unsigned char) that differ, 0 where none does: the value that glibc's kernels return. */
memcmp_fn memcmp_sse2, memcmp_avx2, memcmp_avx512;

/* 0 where all bytes are equal, else something else. */
memcmp_fn memeq_sse2, memeq_avx2, memeq_avx512;

/* The same for n > 64 and n = 0 only. */
memcmp_fn memcmp_avx512_long, memeq_avx512_long;

/*
 * What the exported entries look at: they answer 1 <= n <= avx512_window (64, or 0: not used) themselves, and leave the rest to the functions
 * that lie order bytes behind memcmp_sse2 and equal bytes behind memeq_sse2. memcmp_kernels.S knows the offsets.
 */
struct memcmp_path {
	size_t avx512_window;
	ptrdiff_t order, equal;
};
extern struct memcmp_path memcmp_path;

#endif
