/* sha1dc.c - the engine of SHA-1 with collision detection: streaming, choice of kernel, survivors of the conditions */
#include "sha1dc.h"
#include "fastsha.h"
#include "sha1dc_kernels.h"

#include <string.h>

_Static_assert(offsetof(struct sha1dc_ctx, callback) == 112, "the reference's layout");
_Static_assert(offsetof(struct sha1dc_ctx, original.m1) == 160, "the reference's layout");
_Static_assert(offsetof(struct sha1dc_ctx, original.states) == 800, "the reference's layout");
_Static_assert(sizeof(struct sha1dc_ctx) == 2400, "the reference's layout");

/* ---- Recompression --------------------------------------------------------------------------------------------- */

struct disturbance_vector {
	uint32_t late;  /* tested at step 65, not 58 */
	uint32_t dm[2]; /* its words 56 and 57, or 64 */
	uint32_t first[16];
};
#include "sha1dc_vectors.h"

#define CONCAT2(a, b) a##b
#define CONCAT(a, b) CONCAT2(a, b)
#define ROL(x, n) ((x) << (n) | (x) >> (32 - (n)))

/* The functions of FIPS 180-4 with their constants; PARITY has one for steps 20 to 39 and one for steps 60 to 79. */
#define CHOICE(b, c, d) (((d) ^ ((b) & ((c) ^ (d)))) + 0x5a827999u)
#define PARITY20(b, c, d) (((b) ^ (c) ^ (d)) + 0x6ed9eba1u)
#define MAJORITY(b, c, d) ((((b) & (c)) | ((d) & ((b) | (c)))) + 0x8f1bbcdcu)
#define PARITY60(b, c, d) (((b) ^ (c) ^ (d)) + 0xca62c1d6u)

/* One step from the state (a, b, c, d, e) to (e, a, b, c, d), and back again. */
#define FORWARD(a, b, c, d, e, function, word) ((e) += (word) + function(b, c, d) + ROL(a, 5), (b) = ROL(b, 30))
#define BACKWARD(a, b, c, d, e, function, word) ((b) = ROL(b, 2), (e) -= (word) + function(b, c, d) + ROL(a, 5))

/* Five steps, after which the names are in place again. */
#define FORWARD5(a, b, c, d, e, function, words) \
	(FORWARD(a, b, c, d, e, function, (words)[0]), FORWARD(e, a, b, c, d, function, (words)[1]), \
	 FORWARD(d, e, a, b, c, function, (words)[2]), FORWARD(c, d, e, a, b, function, (words)[3]), \
	 FORWARD(b, c, d, e, a, function, (words)[4]))
#define BACKWARD5(a, b, c, d, e, function, words) \
	(BACKWARD(b, c, d, e, a, function, (words)[0]), BACKWARD(c, d, e, a, b, function, (words)[-1]), \
	 BACKWARD(d, e, a, b, c, function, (words)[-2]), BACKWARD(e, a, b, c, d, function, (words)[-3]), \
	 BACKWARD(a, b, c, d, e, function, (words)[-4]))

static sha1dc_recompress_fn recompress_one, recompress_sse, recompress_avx2, recompress_avx512;

#define LANES 1
#define TARGET static
#define RECOMPRESS recompress_one
#include "sha1dc_recompress.h"

#define LANES 4
#define TARGET static
#define RECOMPRESS recompress_sse
#include "sha1dc_recompress.h"

#define LANES 8
#define TARGET static __attribute__((target("avx2")))
#define RECOMPRESS recompress_avx2
#include "sha1dc_recompress.h"

#define LANES 16
#define TARGET static __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq")))
#define RECOMPRESS recompress_avx512
#include "sha1dc_recompress.h"

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

static const struct kernel {
	const char *name;
	unsigned needs, not_with; /* CPU_*: all of these, none of those */
	sha1dc_kernel_fn *hash;
	sha1dc_recompress_fn *recompress;
	unsigned lanes; /* of recompress */
} kernels[] = { /* the best first */
	{ "sha1dc_avx512_ni", CPU_AVX512 | CPU_SHA, CPU_NO_ZMM, sha1dc_avx512_ni, recompress_avx512, 16 },
	{ "sha1dc_avx512vl_ni", CPU_AVX512 | CPU_SHA, 0, sha1dc_avx512vl_ni, recompress_avx2, 8 },
	{ "sha1dc_avx2_ni", CPU_AVX2 | CPU_SHA, 0, sha1dc_avx2_ni, recompress_avx2, 8 },
	{ "sha1dc_sse_ni", CPU_SSSE3 | CPU_SHA, 0, sha1dc_sse_ni, recompress_sse, 4 },
};

static const struct kernel *choose_kernel(void)
{
	for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++)
		if ((cpu_features & kernels[k].needs) == kernels[k].needs && !(cpu_features & kernels[k].not_with))
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

#define RUN 64 /* blocks a kernel takes at a time */

/* One call's work on a context: the chaining value and the survivors live here, and go to the context when all is done. */
struct work {
	const struct kernel *kernel;
	bool found; /* a collision */
	struct sha1dc_state ihv;
	struct sha1dc_survivors survivors;
};

static void start(struct work *work, const struct kernel *kernel, const uint32_t ihv[5])
{
	work->kernel = kernel;
	work->found = false;
	for (int k = 0; k < 4; k++) {
		work->ihv.dcba[k] = ihv[3 - k];
		work->ihv.e[k] = 0;
	}
	work->ihv.e[3] = ihv[4];
	work->survivors.n = 0;
}

static void store_ihv(const struct work *work, uint32_t ihv[5])
{
	for (int k = 0; k < 4; k++)
		ihv[k] = work->ihv.dcba[3 - k];
	ihv[4] = work->ihv.e[3];
}

/* Decides all survivors. */
static __attribute__((noinline)) void flush(struct work *work)
{
	const struct kernel *kernel = work->kernel;

	if (work->survivors.n <= 2) {
		for (unsigned k = 0; k < work->survivors.n; k++)
			work->found |= recompress_one(&work->survivors, k) != 0;
	} else {
		work->found |= kernel->recompress(&work->survivors, 0) != 0;
	}
	work->survivors.n = 0;
}

/* Queues the vectors that survived in the block of ROW. */
static __attribute__((noinline)) void queue(struct work *work, const struct sha1dc_row *row, const unsigned char *block)
{
	const struct sha1dc_state *out = &row[1].ihv;

	for (uint32_t mask = row->mask; mask; mask &= mask - 1) {
		const struct disturbance_vector *vector = &disturbance_vectors[__builtin_ctz(mask)];
		const struct sha1dc_state *state = vector->late ? &row->step64 : &row->step56;
		unsigned column = work->survivors.n++;
		uint32_t(*word)[SURVIVORS] = work->survivors.word;

		for (int t = 0; t < 16; t++) {
			uint32_t w;

			memcpy(&w, block + 4 * t, 4);
			word[SURVIVOR_M2 + t][column] = __builtin_bswap32(w) ^ vector->first[t];
		}
		for (int k = 0; k < 4; k++) {
			word[SURVIVOR_STATE + k][column] = state->dcba[3 - k];
			word[SURVIVOR_OUT + k][column] = out->dcba[3 - k];
		}
		word[SURVIVOR_STATE + 4][column] = ROL(state->e[3], 30);
		word[SURVIVOR_OUT + 4][column] = out->e[3];
		word[SURVIVOR_DM][column] = vector->dm[0];
		word[SURVIVOR_DM + 1][column] = vector->dm[1];
		word[SURVIVOR_LATE][column] = -vector->late;
		if (work->survivors.n == work->kernel->lanes)
			flush(work);
	}
}

static void hash_blocks(struct work *work, const unsigned char *block, size_t n)
{
	struct sha1dc_row rows[RUN + 1];

	while (n) {
		size_t run = n < RUN ? n : RUN;

		rows[0].ihv = work->ihv;
		for (uint64_t left = work->kernel->hash(rows, block, run); unlikely(left); left &= left - 1) {
			int k = __builtin_ctzll(left);

			queue(work, &rows[k], block + 64 * k);
		}
		work->ihv = rows[run].ihv;
		block += 64 * run;
		n -= run;
	}
}

/* ---- Survivors that wait in the context ---------------------------------------------------------------------------- */

#define WAITING (sizeof(((struct sha1dc_scratch *)0)->survivor) / sizeof(((struct sha1dc_scratch *)0)->survivor[0]))
_Static_assert(sizeof(((struct sha1dc_scratch *)0)->survivor[0]) == 4 * SURVIVOR_WORDS, "a column");

/* Takes columns out of the context until it has at most KEEP or there is no room. */
static void fetch_survivors(struct work *work, struct sha1dc_scratch *scratch, unsigned keep)
{
	while (scratch->survivors > keep && work->survivors.n < work->kernel->lanes) {
		const uint32_t *from = scratch->survivor[--scratch->survivors];
		unsigned column = work->survivors.n++;

		for (int k = 0; k < SURVIVOR_WORDS; k++)
			work->survivors.word[k][column] = from[k];
	}
}

/* Leaves the survivors in the context, after a recompression where there are too many. */
static void keep_survivors(struct work *work, struct sha1dc_scratch *scratch)
{
	while (work->survivors.n + scratch->survivors > WAITING) {
		fetch_survivors(work, scratch, 0);
		flush(work);
	}
	for (unsigned column = 0; column < work->survivors.n; column++) {
		uint32_t *to = scratch->survivor[scratch->survivors++];

		for (int k = 0; k < SURVIVOR_WORDS; k++)
			to[k] = work->survivors.word[k][column];
	}
}

/* Decides all survivors, here and in the context. */
static void flush_all(struct work *work, struct sha1dc_scratch *scratch)
{
	while (scratch->survivors) {
		fetch_survivors(work, scratch, 0);
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
	size_t room = scratch ? SHA1DC_PENDING - 1 : 63; /* without scratch as much as the original buffers */
	unsigned char *pending = scratch ? ctx->scratch.pending : ctx->buffer;
	size_t have = scratch ? ctx->total - ctx->scratch.hashed : ctx->total % 64;
	const unsigned char *input = data;
	uint64_t total = ctx->total + n;
	struct work work;

	if (unlikely(!kernel))
		return false;
	if (n <= room - have) {
		memcpy(pending + have, input, n);
		ctx->total = total;
		return true;
	}

	start(&work, kernel, ctx->ihv);
	if (have) {
		size_t fill = -have % 64;

		memcpy(pending + have, input, fill);
		hash_blocks(&work, pending, (have + fill) / 64);
		input += fill;
		n -= fill;
	}
	hash_blocks(&work, input, n / 64);
	input += n / 64 * 64;
	n %= 64;

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
	store_ihv(&work, ctx->ihv);
	ctx->total = total;
	if (scratch)
		ctx->scratch.hashed = total - n;
	return true;
}

bool sha1dc_finish(struct sha1dc_ctx *ctx, unsigned char digest[20], bool scratch)
{
	const struct kernel *kernel = take(ctx, scratch);
	size_t have = scratch ? ctx->total - ctx->scratch.hashed : ctx->total % 64;
	unsigned char *pending = scratch ? ctx->scratch.pending : ctx->buffer;
	uint64_t bits = __builtin_bswap64(ctx->total * 8);
	unsigned char last[128];
	size_t padded;
	struct work work;
	uint32_t ihv[5];

	if (unlikely(!kernel))
		return false;
	if (!scratch)
		pending = memcpy(last, pending, have);
	padded = (have + 9 + 63) / 64 * 64;
	pending[have] = 0x80;
	memset(pending + have + 1, 0, padded - have - 9);
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
	store_ihv(&work, ihv);
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
