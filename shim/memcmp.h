/* memcmp.h - the memcmp kernels and the choice among them */
#ifndef MEMCMP_H
#define MEMCMP_H

#include <stddef.h>
#include <stdint.h>

/* Compares n bytes. n = 0 reads nothing. */
typedef int memcmp_fn(const void *a, const void *b, size_t n);

/* The difference of the first bytes (unsigned char) that differ, 0 where none does: the value that glibc's kernels return. */
memcmp_fn memcmp_sse2, memcmp_avx2, memcmp_avx512;

/* 0 where all bytes are equal, else something else. */
memcmp_fn memeq_sse2, memeq_avx2, memeq_avx512;

/*
 * What the exported entries look at: they answer n < avx512_below (65, or 0: none) with windows of AVX-512 and n = words_n (20, or
 * NO_WORDS) in words themselves, and leave the rest to the functions that lie order bytes behind memcmp_sse2 and equal bytes behind
 * memeq_sse2. Those must answer every n: threads that another library's constructor has started may be anywhere in an entry while ours sets the path.
 * memcmp_kernels.S knows the offsets.
 */
#define NO_WORDS (SIZE_MAX / 2 + 21) /* no object is that large, nor is this what comes of -1 or of another small difference */
struct memcmp_path {
	size_t words_n, avx512_below;
	ptrdiff_t order, equal;
};
extern struct memcmp_path memcmp_path;

#endif
