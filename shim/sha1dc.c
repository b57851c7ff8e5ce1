/* sha1dc.c - the engine of SHA-1 with collision detection: streaming, choice of kernel, survivors of the conditions */
#include "sha1dc.h"
#include "fastsha.h"
#include "sha1dc_kernels.h"

#include <immintrin.h>
#include <string.h>

_Static_assert(offsetof(struct sha1dc_ctx, callback) == 112, "the reference's layout");
_Static_assert(offsetof(struct sha1dc_ctx, original.m1) == 160, "the reference's layout");
_Static_assert(offsetof(struct sha1dc_ctx, original.states) == 800, "the reference's layout");
_Static_assert(sizeof(struct sha1dc_ctx) == 2400, "the reference's layout");

/* ---- Recompression --------------------------------------------------------------------------------------------- */

struct disturbance_vector {
	uint32_t late;      /* tested at step 65, not 58 */
	uint32_t dm[2];     /* its words 56 and 57, or 64 */
	uint32_t words[16]; /* 63 down to 48 */
};
#include "sha1dc_vectors.h"

#define CONCAT2(a, b) a##b
#define CONCAT(a, b) CONCAT2(a, b)
#define ROL(x, n) ((x) << (n) | (x) >> (32 - (n)))

/*
 * The functions of FIPS 180-4 with their constants, in parts that may be added. Going back, d is the word computed last and c the one
 * before: the less a part has to wait for, the earlier it is subtracted. PARITY has two constants, for steps 20 to 39 and 60 to 79.
 */
#define CHOICE_CONSTANT 0x5a827999u
#define CHOICE_EARLY(b, c) ((b) & (c))
#define CHOICE_LATE(b, c, d) (~(b) & (d))
#define MAJORITY_CONSTANT 0x8f1bbcdcu
#define MAJORITY_EARLY(b, c) ((b) & (c))
#define MAJORITY_LATE(b, c, d) (((b) ^ (c)) & (d))
#define PARITY20_CONSTANT 0x6ed9eba1u
#define PARITY20_EARLY(b, c) 0
#define PARITY20_LATE(b, c, d) (((b) ^ (c)) ^ (d))
#define PARITY60_CONSTANT 0xca62c1d6u
#define PARITY60_EARLY(b, c) 0
#define PARITY60_LATE(b, c, d) (((b) ^ (c)) ^ (d))

/* One step from the state (a, b, c, d, e) to (e, a, b, c, d), and back again; NOW keeps the compiler from moving sums across it. */
#define FORWARD(a, b, c, d, e, function, word) \
	do { \
		(e) += (word) + function##_CONSTANT + function##_EARLY(b, c) + function##_LATE(b, c, d); \
		(b) = ROL(b, 30); \
		NOW(e); \
		(e) += ROL(a, 5); \
	} while (0)
#define BACKWARD(a, b, c, d, e, function, word) \
	do { \
		(b) = ROL(b, 2); \
		(e) -= (word) + function##_CONSTANT + ROL(a, 5); \
		NOW(e); \
		(e) -= function##_EARLY(b, c); \
		NOW(e); \
		(e) -= function##_LATE(b, c, d); \
		NOW(e); \
	} while (0)

/* Five steps, after which the names are in place again. */
#define FORWARD5(a, b, c, d, e, function, words) \
	do { \
		FORWARD(a, b, c, d, e, function, (words)[0]); \
		FORWARD(e, a, b, c, d, function, (words)[-1]); \
		FORWARD(d, e, a, b, c, function, (words)[-2]); \
		FORWARD(c, d, e, a, b, function, (words)[-3]); \
		FORWARD(b, c, d, e, a, function, (words)[-4]); \
	} while (0)
#define BACKWARD5(a, b, c, d, e, function, words) \
	do { \
		BACKWARD(b, c, d, e, a, function, (words)[0]); \
		BACKWARD(c, d, e, a, b, function, (words)[1]); \
		BACKWARD(d, e, a, b, c, function, (words)[2]); \
		BACKWARD(e, a, b, c, d, function, (words)[3]); \
		BACKWARD(a, b, c, d, e, function, (words)[4]); \
	} while (0)

/*
 * W[0..79], falling: W[t] at 79 - t. From W[48..63], in place already, the message schedule leads both ways: the first steps back need not
 * wait for it, and further down it goes along with them. The words that the next ones need at once stay in registers, or each would wait
 * for a store; NOW keeps the order of the sums.
 */
#define EXPAND_UP(w) /* W[64] to W[79] */ \
	do { \
		__typeof__(w[0]) w3 = w[18], w2 = w[17], w1 = w[16], next; \
		for (int k = 15; k >= 0; k--) { \
			next = w[k + 8] ^ w[k + 14] ^ w[k + 16]; \
			NOW(next); \
			next = ROL(next ^ w3, 1); \
			NOW(next); \
			w3 = w2; \
			w2 = w1; \
			w1 = next; \
			w[k] = next; \
		} \
	} while (0)
/* Five words down, from TO[0] on; NEXT1 and NEXT2 are TO[-1] and TO[-2]. */
#define EXPAND_DOWN5(to, next1, next2) \
	do { \
		for (int i = 0; i < 5; i++) { \
			__typeof__(next1) next = ROL((to)[i - 16], 31) ^ (to)[i - 13] ^ (to)[i - 8]; \
			NOW(next); \
			next ^= next2; \
			NOW(next); \
			next2 = next1; \
			next1 = next; \
			(to)[i] = next; \
		} \
	} while (0)

/* The higher half of HIGH, the earlier words, and the lower half of LOW after it. */
static inline __attribute__((always_inline)) __m128i halves(__m128i high, __m128i low)
{
	return _mm_castpd_si128(_mm_shuffle_pd(_mm_castsi128_pd(high), _mm_castsi128_pd(low), 1));
}

static inline __attribute__((always_inline)) __m128i rotate(__m128i x, int left)
{
	return _mm_or_si128(_mm_slli_epi32(x, left), _mm_srli_epi32(x, 32 - left));
}

/*
 * The same for one survivor, four words at a time. Going up, the fourth word needs the first one; going down by
 * W[t] = W[t + 4] ^ W[t + 16] ^ W[t + 26] ^ W[t + 32] rotated by 30, none needs another (M. Locktyukhin's form).
 */
static inline __attribute__((always_inline)) void expand_one(uint32_t *w)
{
	__m128i *to = (__m128i *)w, m[20];

	for (int k = 4; k < 8; k++)
		m[k] = to[k];
#pragma GCC unroll 4
	for (int k = 3; k >= 0; k--) {
		__m128i x = _mm_xor_si128(_mm_xor_si128(m[k + 2], m[k + 4]), halves(m[k + 3], m[k + 4]));

		x = rotate(_mm_xor_si128(x, _mm_slli_si128(m[k + 1], 4)), 1);
		m[k] = _mm_xor_si128(x, rotate(_mm_srli_si128(x, 12), 1));
		to[k] = m[k];
	}
#pragma GCC unroll 12
	for (int k = 8; k < 20; k++) {
		__m128i x = _mm_xor_si128(rotate(m[k - 8], 30), halves(m[k - 7], m[k - 6]));

		to[k] = m[k] = _mm_xor_si128(_mm_xor_si128(x, m[k - 4]), m[k - 1]);
	}
}

/* ROWS words, a multiple of 4, of LANES columns, from FIRST_ROW on: rows of LANES words. */
static inline __attribute__((always_inline)) void transpose(uint32_t *to, const uint32_t column[][SURVIVOR_WORDS], int lanes,
							    int first_row, int rows)
{
	for (int row = 0; row < rows; row += 4)
		for (int lane = 0; lane < lanes; lane += 4) {
			const uint32_t *from = &column[lane][first_row + row];
			__m128i a = *(const __m128i *)from, b = *(const __m128i *)(from + SURVIVOR_WORDS);
			__m128i c = *(const __m128i *)(from + 2 * SURVIVOR_WORDS), d = *(const __m128i *)(from + 3 * SURVIVOR_WORDS);
			__m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);

			*(__m128i *)&to[row * lanes + lane] = _mm_unpacklo_epi64(ab, cd);
			*(__m128i *)&to[(row + 1) * lanes + lane] = _mm_unpackhi_epi64(ab, cd);
			ab = _mm_unpackhi_epi32(a, b);
			cd = _mm_unpackhi_epi32(c, d);
			*(__m128i *)&to[(row + 2) * lanes + lane] = _mm_unpacklo_epi64(ab, cd);
			*(__m128i *)&to[(row + 3) * lanes + lane] = _mm_unpackhi_epi64(ab, cd);
		}
}

typedef uint32_t words4 __attribute__((vector_size(16)));
typedef uint32_t words8 __attribute__((vector_size(32)));
typedef uint32_t words16 __attribute__((vector_size(64)));

#define LANES 1
#define TARGET
#define RECOMPRESS sha1dc_recompress_one
#include "sha1dc_recompress.h"

#define LANES 4
#define TARGET
#define RECOMPRESS sha1dc_recompress_sse
#include "sha1dc_recompress.h"

#define LANES 8
#define TARGET __attribute__((target("avx2")))
#define RECOMPRESS sha1dc_recompress_avx2
#include "sha1dc_recompress.h"

#define LANES 8
#define TARGET __attribute__((target("avx2,avx512f,avx512vl")))
#define RECOMPRESS sha1dc_recompress_avx512vl
#include "sha1dc_recompress.h"

#define LANES 16
#define TARGET __attribute__((target("avx2,avx512f,avx512vl")))
#define RECOMPRESS sha1dc_recompress_avx512
#include "sha1dc_recompress.h"

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

#define RUN 64 /* blocks a kernel takes at most */

static const struct kernel {
	const char *name;
	unsigned needs; /* CPU_*: all of these */
	sha1dc_kernel_fn *hash;
	sha1dc_many_fn *hash_many;
	unsigned many, unit; /* hash_many is faster from so many blocks on, and takes multiples of so many */
	unsigned lanes;      /* of recompress */
	sha1dc_recompress_fn *recompress, *recompress_all; /* all: with 512-bit vectors */
} kernels[] = {
	/*
	 * The best first. For Golden Cove and its successors pairs are best from two blocks on. Messages of one block wait for the stores of
	 * their bytes, longer where a vector takes up two (346 cycles, 307 by the kernel for one, all included); avx2_ni is as good as its like
	 * there, since it mixes nothing before the second block. Tried beside pairs for short messages, AVX2, cycles a block of 1, 2, 5 and 17,
	 * pairs 245, 152, 140, 123:
	 * - a block at a time, conditions across eight words, in parts: 229, 192, 168, 156. Twice the schedule, a third more tests.
	 * - eight blocks in lanes, few of them used: 627, 364, 199, 145. All words come before the first chain.
	 * - pairs with e rotated by vector shifts, as in the AVX-512 form, not by sha1nexte: 267, 164, 150, 132. Ports are what is short.
	 * - pairs without keeping what is not aligned, tests of either constant apart: 259, 160, 160, 138. The same reason.
	 */
	/* Emerald Rapids, 64 KiB: 96 cycles a block and steadily so; with 512-bit recompressions 96 to 109 */
	{ "sha1dc_avx512vl_ni_pairs", CPU_AVX512 | CPU_SHA | CPU_SLOW_SHA1MSG, sha1dc_avx512vl_ni_one, sha1dc_avx512vl_ni_pairs, 2, 1,
	  8, sha1dc_recompress_avx512vl, NULL },
	{ "sha1dc_avx512vl_ni", CPU_AVX512 | CPU_SHA, sha1dc_avx512vl_ni, NULL, 0, 0,
	  8, sha1dc_recompress_avx512vl, sha1dc_recompress_avx512 },
	{ "sha1dc_avx2_ni_pairs", CPU_AVX2 | CPU_SHA | CPU_SLOW_MIX, sha1dc_avx2_ni, sha1dc_avx2_ni_pairs, 2, 1,
	  8, sha1dc_recompress_avx2, NULL },
	{ "sha1dc_avx2_ni", CPU_AVX2 | CPU_SHA, sha1dc_avx2_ni, NULL, 0, 0,
	  8, sha1dc_recompress_avx2, NULL },
	{ "sha1dc_sse_ni", CPU_SSSE3 | CPU_SHA, sha1dc_sse_ni, NULL, 0, 0,
	  4, sha1dc_recompress_sse, NULL },
	{ "sha1dc_avx512vl", CPU_AVX512, sha1dc_avx512vl, sha1dc_avx512vl_many, 8, 8,
	  8, sha1dc_recompress_avx512vl, sha1dc_recompress_avx512 },
	{ "sha1dc_avx2", CPU_AVX2, sha1dc_avx2, sha1dc_avx2_many, 8, 8,
	  8, sha1dc_recompress_avx2, NULL },
};

static const struct kernel *choose_kernel(void)
{
	for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++)
		if ((cpu_features & kernels[k].needs) == kernels[k].needs)
			return &kernels[k];
	return NULL;
}

bool sha1dc_available(void)
{
	return choose_kernel();
}

const char *sha1dc_kernel_name(void)
{
	const struct kernel *kernel = choose_kernel();

	return kernel ? kernel->name : NULL;
}

/* ---- A run of blocks -------------------------------------------------------------------------------------------- */

/* One call's work on a context: the chaining value and the survivors live here, and go to the context when all is done. */
struct work {
	const struct kernel *kernel;
	bool found; /* a collision */
	struct sha1dc_state ihv;
	struct sha1dc_survivors survivors;
	struct sha1dc_ahead ahead;
};

static inline void start(struct work *work, const struct kernel *kernel, const uint32_t ihv[5])
{
	work->kernel = kernel;
	work->found = false;
	/* put together in registers: the kernel loads vectors, which would wait for stores of single words */
	work->ihv.dcba = _mm_set_epi32(ihv[0], ihv[1], ihv[2], ihv[3]);
	work->ihv.e = _mm_set_epi32(ihv[4], 0, 0, 0);
	work->survivors.n = 0;
	work->ahead.ready = NULL;
}

/* a to e of a state that is not within the steps */
static inline void unpack(uint32_t to[5], const struct sha1dc_state *state)
{
	_mm_storeu_si128((__m128i *)to, _mm_shuffle_epi32(state->dcba, 0x1b));
	to[4] = _mm_cvtsi128_si32(_mm_shuffle_epi32(state->e, 0xff));
}

/* Decides all survivors. */
static __attribute__((noinline)) void flush_survivors(struct work *work)
{
	const struct kernel *kernel = work->kernel;
	unsigned first = 0, left;

	if (work->survivors.n > kernel->lanes && kernel->recompress_all && !(cpu_features & CPU_NO_ZMM)) {
		work->found |= kernel->recompress_all(&work->survivors, 0) != 0;
		first = work->survivors.n;
	}
	for (; (left = work->survivors.n - first) > 2; first += left < kernel->lanes ? left : kernel->lanes)
		work->found |= kernel->recompress(&work->survivors, first) != 0;
	for (; first < work->survivors.n; first++)
		work->found |= sha1dc_recompress_one(&work->survivors, first) != 0;
	work->survivors.n = 0;
}

static inline void flush(struct work *work)
{
	if (unlikely(work->survivors.n))
		flush_survivors(work);
}

/* Queues the vectors that survived in the block of ROW. */
static __attribute__((noinline)) void queue(struct work *work, const struct sha1dc_row *row)
{
	for (uint32_t mask = row->mask; mask; mask &= mask - 1) {
		const struct disturbance_vector *vector = &disturbance_vectors[__builtin_ctz(mask)];
		const struct sha1dc_state *state = vector->late ? &row->step64 : &row->step56, *out = &row[1].ihv;
		__m128i *to = (__m128i *)work->survivors.column[work->survivors.n++];

		for (int k = 0; k < 4; k++)
			to[SURVIVOR_W63 / 4 + k] = _mm_xor_si128(row->words[k], _mm_loadu_si128((const __m128i *)vector->words + k));
		to[SURVIVOR_DCBA / 4] = state->dcba;
		to[SURVIVOR_OUT_DCBA / 4] = out->dcba;
		to[SURVIVOR_E / 4] = halves(_mm_unpackhi_epi32(state->e, out->e), _mm_loadl_epi64((const __m128i *)vector->dm));
		to[SURVIVOR_LATE / 4] = _mm_cvtsi32_si128(-vector->late);
		if (work->survivors.n == SURVIVORS)
			flush(work);
	}
}

static void queue_all(struct work *work, uint64_t survived, const struct sha1dc_row *rows)
{
	for (; survived; survived &= survived - 1)
		queue(work, &rows[__builtin_ctzll(survived)]);
}

/*
 * A run's survivors are looked at when the next run is on its way: what mispredicted branches and the queue cost then passes while the last
 * blocks' chains of instructions are still at work.
 */
static void hash_blocks(struct work *work, const unsigned char *block, size_t n)
{
	struct sha1dc_row rows[2][RUN + 1];
	uint64_t survived = 0;
	unsigned turn = 0;
	size_t run = 0;

	while (n) {
		const unsigned char *next = block + 64 * run;
		const struct kernel *kernel = work->kernel;
		uint64_t next_survived;

		run = n < RUN ? n : RUN;
		rows[turn][0].ihv = work->ihv;
		if (kernel->hash_many && (n >= kernel->many || work->ahead.ready)) {
			run -= run % kernel->unit;
			next_survived = kernel->hash_many(rows[turn], next, run, n - run, &work->ahead);
		} else {
			next_survived = kernel->hash(rows[turn], next, run);
		}
		work->ihv = rows[turn][run].ihv;
		n -= run;
		if (unlikely(survived))
			queue_all(work, survived, rows[!turn]);
		survived = next_survived;
		block = next;
		turn = !turn;
	}
	if (unlikely(survived))
		queue_all(work, survived, rows[!turn]);
}

/* ---- Survivors that wait in the context ---------------------------------------------------------------------------- */

#define WAITING (sizeof(((struct sha1dc_scratch *)0)->survivor) / sizeof(((struct sha1dc_scratch *)0)->survivor[0]))
_Static_assert(sizeof(((struct sha1dc_scratch *)0)->survivor[0]) == sizeof(((struct sha1dc_survivors *)0)->column[0]), "a column");

/* Takes columns out of the context, as many as there is room for. */
static void fetch_survivors(struct work *work, struct sha1dc_scratch *scratch)
{
	while (scratch->survivors && work->survivors.n < SURVIVORS)
		memcpy(work->survivors.column[work->survivors.n++], scratch->survivor[--scratch->survivors], sizeof(scratch->survivor[0]));
}

/* Leaves the survivors in the context, after a recompression where there are too many. */
static void keep_survivors(struct work *work, struct sha1dc_scratch *scratch)
{
	while (work->survivors.n + scratch->survivors > WAITING) {
		fetch_survivors(work, scratch);
		flush(work);
	}
	for (unsigned column = 0; column < work->survivors.n; column++)
		memcpy(scratch->survivor[scratch->survivors++], work->survivors.column[column], sizeof(scratch->survivor[0]));
}

/* Decides all survivors, here and in the context. */
static void flush_all(struct work *work, struct sha1dc_scratch *scratch)
{
	while (scratch->survivors) {
		fetch_survivors(work, scratch);
		if (scratch->survivors)
			flush(work);
	}
	flush(work);
}

/* ---- Streaming --------------------------------------------------------------------------------------------------- */

#define OWNER UINT64_C(0x7f3b5c0ad1e29648)

/* The kernel to use for a context, or NULL: leave it to the original. Claims a fresh one. */
static const struct kernel *take(struct sha1dc_ctx *ctx, bool scratch)
{
	const struct kernel *kernel = choose_kernel();

	if (unlikely(!kernel || ctx->found_collision || !ctx->detect_coll || !ctx->ubc_check || ctx->reduced_round_coll || ctx->callback))
		return NULL;
	if (scratch) {
		if (!ctx->total) {
			ctx->scratch.owner = OWNER;
			ctx->scratch.hashed = 0;
			ctx->scratch.survivors = 0;
		}
		if (unlikely(ctx->scratch.owner != OWNER))
			return NULL;
	}
	return kernel;
}

bool sha1dc_update(struct sha1dc_ctx *ctx, const void *data, size_t n, bool scratch)
{
	const struct kernel *kernel = take(ctx, scratch);
	unsigned char *pending = scratch ? ctx->scratch.pending : ctx->buffer;
	size_t have = scratch ? ctx->total - ctx->scratch.hashed : ctx->total % 64;
	const unsigned char *input = data;
	uint64_t total = ctx->total + n;
	size_t capacity;
	struct work work;

	if (unlikely(!kernel))
		return false;
	/* of short messages everything waits for final, so that a kernel is called once */
	capacity = scratch ? SHA1DC_PENDING : 64;
	if (n < capacity - have) {
		memcpy(pending + have, input, n);
		ctx->total = total;
		return true;
	}

	start(&work, kernel, ctx->ihv);
	if (have) {
		memcpy(pending + have, input, capacity - have);
		hash_blocks(&work, pending, capacity / 64);
		input += capacity - have;
		n -= capacity - have;
	}
	if (n >= capacity) {
		hash_blocks(&work, input, n / 64);
		input += n / 64 * 64;
		n %= 64;
	}

	if (scratch && !ctx->safe_hash)
		keep_survivors(&work, &ctx->scratch);
	else
		flush(&work);
	if (unlikely(work.found)) {
		if (ctx->safe_hash)
			return false; /* the original will do the same blocks again, and then what safe_hash asks for */
		ctx->found_collision = 1;
	}
	memcpy(pending, input, n);
	unpack(ctx->ihv, &work.ihv);
	ctx->total = total;
	if (scratch)
		ctx->scratch.hashed = total - n;
	return true;
}

#define PADDING 72 /* bytes at most */
_Static_assert(sizeof(((struct sha1dc_ctx *)0)->scratch.pending) >= SHA1DC_PENDING - 1 + PADDING, "room for the padding");

bool sha1dc_finish(struct sha1dc_ctx *ctx, unsigned char digest[20], bool scratch)
{
	const struct kernel *kernel = take(ctx, scratch);
	size_t have = scratch ? ctx->total - ctx->scratch.hashed : ctx->total % 64;
	unsigned char *pending = scratch ? ctx->scratch.pending : ctx->buffer;
	uint64_t bits = __builtin_bswap64(ctx->total * 8);
	unsigned char last[64 + PADDING];
	size_t padded;
	struct work work;
	uint32_t ihv[5];

	if (unlikely(!kernel))
		return false;
	if (!scratch)
		pending = memcpy(last, pending, have);
	padded = (have + 9 + 63) / 64 * 64;
	/* in stores as large as the kernel's loads, which would wait for two of them to reach the cache */
	_mm_storeu_si128((__m128i *)(pending + have), _mm_cvtsi32_si128(0x80));
	memset(pending + have + 16, 0, PADDING - 16);
	if (have % 64 < 48)
		_mm_storeu_si128((__m128i *)(pending + padded - 16), _mm_set_epi64x((long long)bits, 0));
	else
		memcpy(pending + padded - 8, &bits, 8);

	start(&work, kernel, ctx->ihv);
	hash_blocks(&work, pending, padded / 64);
	if (scratch)
		flush_all(&work, &ctx->scratch);
	else
		flush(&work);
	if (unlikely(work.found)) {
		if (!ctx->safe_hash)
			ctx->found_collision = 1;
		return false;
	}
	unpack(ihv, &work.ihv);
#pragma GCC unroll 5
	for (int k = 0; k < 5; k++) {
		uint32_t word = __builtin_bswap32(ihv[k]);

		memcpy(digest + 4 * k, &word, 4);
	}
	return true;
}

size_t sha1dc_release(struct sha1dc_ctx *ctx, unsigned char pending[SHA1DC_PENDING], bool scratch)
{
	size_t have;

	if (!scratch || ctx->scratch.owner != OWNER || !ctx->total) {
		if (scratch)
			ctx->scratch.owner = 0;
		return 0; /* it is in the original's state already */
	}
	have = ctx->total - ctx->scratch.hashed;
	memcpy(pending, ctx->scratch.pending, have);
	ctx->total = ctx->scratch.hashed;
	ctx->scratch.owner = 0;
	return have;
}
