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

/*
 * What the exported entries look at: which kernel takes 1 <= n <= its window (64, or 0: not used) and with it all n; where none does, the two
 * functions (NULL: memcmp_sse2, memeq_sse2). memcmp_kernels.S knows the offsets.
 */
struct memcmp_path {
	size_t avx512_window, avx2_window;
	memcmp_fn *order, *equal;
};
extern struct memcmp_path memcmp_path;

#endif
