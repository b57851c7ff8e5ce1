/* sha1dc_kernels.h - between the engine of collision-detecting SHA-1 and its kernels */
#ifndef SHA1DC_KERNELS_H
#define SHA1DC_KERNELS_H

#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

/* A state of SHA-1 as SHA-NI keeps it: d to a, a in the highest word; and e in the highest word, within the steps rotated left by 2. */
struct sha1dc_state {
	__m128i dcba, e;
};

/* What a kernel leaves of one block: the offsets are known to the generator. */
struct sha1dc_row {
	struct sha1dc_state ihv;            /* chaining value before the block */
	struct sha1dc_state step56, step64; /* before these steps */
	__m128i words[4];                   /* W[63] down to W[48]; without SHA-NI only where mask is not 0 */
	uint32_t mask;                      /* disturbance vectors that no condition rules out */
	uint32_t unused[3];
};

/*
 * Compresses N blocks, 1 to 64 (one: a single one), from rows[0].ihv on: fills rows[0] to rows[N - 1] and rows[N].ihv. Bit k of the result
 * is set where rows[k].mask is not 0.
 */
typedef uint64_t sha1dc_kernel_fn(struct sha1dc_row *rows, const void *blocks, size_t n);

sha1dc_kernel_fn sha1dc_avx512vl_ni, sha1dc_avx512vl_ni_one, sha1dc_avx2_ni, sha1dc_sse_ni, sha1dc_avx512vl, sha1dc_avx2;

/*
 * The same for several blocks. MORE blocks follow BLOCKS, to come with the next call; N is even then. Those with SHA-NI work ahead on them,
 * in AHEAD, of which READY is NULL before the first call. Those without take multiples of 8.
 */
struct sha1dc_ahead {
	unsigned char words[68 * 32] __attribute__((aligned(64)));
	void *ready;
};
typedef uint64_t sha1dc_many_fn(struct sha1dc_row *rows, const void *blocks, size_t n, size_t more, struct sha1dc_ahead *ahead);

sha1dc_many_fn sha1dc_avx512vl_ni_pairs, sha1dc_avx2_ni_pairs, sha1dc_avx512vl_many, sha1dc_avx2_many;

/*
 * Pairs of a block and a disturbance vector that its conditions did not rule out, to be decided by recompression: a column each.
 * Words, falling, W[63] to W[48] of the other message, m2: the block's xor the vector's; state, as struct sha1dc_state keeps it: before step
 * 56, or 64 where the vector is tested at step 65; out: the chaining value after the block; dm: what tells the block's words from m2's at
 * steps 56 and 57, or 64; late: ~0 where tested at step 65.
 */
enum {
	SURVIVOR_W63 = 0, SURVIVOR_DCBA = 16, SURVIVOR_OUT_DCBA = 20, SURVIVOR_E = 24, SURVIVOR_OUT_E = 25, SURVIVOR_DM = 26,
	SURVIVOR_LATE = 28, SURVIVOR_WORDS = 32, SURVIVORS = 16
};

struct sha1dc_survivors {
	uint32_t column[SURVIVORS][SURVIVOR_WORDS] __attribute__((aligned(64)));
	unsigned n;
};

/* Bit k of the result is set where column k, from FIRST up to as many as there are lanes and below n, is a collision. */
typedef unsigned sha1dc_recompress_fn(const struct sha1dc_survivors *, unsigned first);

sha1dc_recompress_fn sha1dc_recompress_one, sha1dc_recompress_sse, sha1dc_recompress_avx2, sha1dc_recompress_avx512vl,
	sha1dc_recompress_avx512;

#endif
