/* test_sha1dc.c - collision-detecting SHA-1 against the plain evaluation of both tables, for every kernel */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fastsha.h"
#include "sha1dc.h"
#include "sha1dc_kernels.h"

/* ---- The oracle: SHA-1 (FIPS 180-4) and the two tables, as their descriptions say ------------------------------- */

static struct condition {
	int i, bit_i, j, bit_j, xor;
	uint32_t vectors;
} conditions[256];
static int nconditions;

static struct {
	int test_step;
	uint32_t dm[80];
} vectors[32];

static void read_tables(const char *folder)
{
	char path[512], line[2048];
	FILE *file;
	int n = 0;

	snprintf(path, sizeof(path), "%s/sha1-unavoidable-conditions.tsv", folder);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		struct condition *c = &conditions[nconditions];

		nconditions += sscanf(line, "%d %d %d %d %d %x", &c->i, &c->bit_i, &c->j, &c->bit_j, &c->xor, &c->vectors) == 6;
	}
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "%s/sha1-disturbance-vectors.tsv", folder);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		int at, step;
		char *next;

		if (n == 32 || sscanf(line, "%*d %*s %*d %*d %d %n", &step, &at) != 1)
			continue;
		vectors[n].test_step = step;
		next = line + at;
		for (int t = 0; t < 80; t++)
			vectors[n].dm[t] = strtoul(next + (t > 0), &next, 16);
		n++;
	}
	if (file)
		fclose(file);
	if (nconditions != 156 || n != 32) {
		printf("tables in %s: %d conditions, %d vectors\n", folder, nconditions, n);
		exit(1);
	}
}

static uint32_t rol(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

static uint32_t step_sum(int t, const uint32_t s[5], uint32_t w) /* all but e */
{
	uint32_t b = s[1], c = s[2], d = s[3];
	uint32_t f = t < 20 ? (b & c) | (~b & d) : t < 40 || t >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
	static const uint32_t k[4] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };

	return rol(s[0], 5) + f + k[t / 20] + w;
}

static void step(int t, uint32_t s[5], uint32_t w)
{
	uint32_t a = step_sum(t, s, w) + s[4];

	s[4] = s[3];
	s[3] = s[2];
	s[2] = rol(s[1], 30);
	s[1] = s[0];
	s[0] = a;
}

static void step_back(int t, uint32_t s[5], uint32_t w)
{
	uint32_t a = s[0];

	s[0] = s[1];
	s[1] = rol(s[2], 2);
	s[2] = s[3];
	s[3] = s[4];
	s[4] = a - step_sum(t, s, w);
}

static void expand(uint32_t w[80], const unsigned char *block)
{
	for (int t = 0; t < 16; t++)
		w[t] = (uint32_t)block[4 * t] << 24 | block[4 * t + 1] << 16 | block[4 * t + 2] << 8 | block[4 * t + 3];
	for (int t = 16; t < 80; t++)
		w[t] = rol(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
}

static uint32_t survivors(const uint32_t w[80])
{
	uint32_t mask = ~0u;

	for (int c = 0; c < nconditions; c++) {
		int bit = w[conditions[c].i] >> conditions[c].bit_i & 1, other = w[conditions[c].j] >> conditions[c].bit_j & 1;

		if ((bit ^ other) != conditions[c].xor)
			mask &= ~conditions[c].vectors;
	}
	return mask;
}

/* The block's part of the oracle: true for a collision. */
static bool compress(uint32_t ihv[5], const unsigned char *block)
{
	uint32_t w[80], state[81][5], out[5];
	bool found = false;

	expand(w, block);
	memcpy(state[0], ihv, 20);
	for (int t = 0; t < 80; t++) {
		memcpy(state[t + 1], state[t], 20);
		step(t, state[t + 1], w[t]);
	}
	for (int k = 0; k < 5; k++)
		out[k] = ihv[k] + state[80][k];
	for (uint32_t mask = survivors(w); mask; mask &= mask - 1) {
		int v = __builtin_ctz(mask), from = vectors[v].test_step;
		uint32_t back[5], ahead[5];

		memcpy(back, state[from], 20);
		memcpy(ahead, state[from], 20);
		for (int t = from - 1; t >= 0; t--)
			step_back(t, back, w[t] ^ vectors[v].dm[t]);
		for (int t = from; t < 80; t++)
			step(t, ahead, w[t] ^ vectors[v].dm[t]);
		for (int k = 0; k < 5; k++)
			ahead[k] += back[k];
		found |= !memcmp(ahead, out, 20);
	}
	memcpy(ihv, out, 20);
	return found;
}

static const uint32_t initial[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };

static bool oracle(unsigned char digest[20], const unsigned char *message, size_t n)
{
	uint32_t ihv[5];
	unsigned char last[128] = { 0 };
	size_t rest = n % 64, padded = rest < 56 ? 64 : 128;
	bool found = false;

	memcpy(ihv, initial, 20);
	for (size_t k = 0; k + 64 <= n; k += 64)
		found |= compress(ihv, message + k);
	memcpy(last, message + n - rest, rest);
	last[rest] = 0x80;
	for (int k = 0; k < 8; k++)
		last[padded - 1 - k] = (uint64_t)n * 8 >> 8 * k;
	for (size_t k = 0; k < padded; k += 64)
		found |= compress(ihv, last + k);
	for (int k = 0; k < 20; k++)
		digest[k] = ihv[k / 4] >> (24 - k % 4 * 8);
	return found;
}

/* ---- Help ------------------------------------------------------------------------------------------------------- */

static uint64_t random_state = 0x2545f4914f6cdd1d;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1d;
}

static void random_bytes(unsigned char *p, size_t n)
{
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t x = random_word();

		memcpy(p, &x, 8);
	}
	while (n--)
		*p++ = random_word();
}

static int failures;

#define CHECK(condition, ...) \
	do { \
		if (!(condition) && failures++ < 10) { \
			printf("FAILED: "); \
			printf(__VA_ARGS__); \
			printf("\n"); \
		} \
	} while (0)

/* the processor's own features, and the levels to run */
static const struct level {
	const char *name;
	unsigned features;
} levels[] = {
	{ "avx512+sha", CPU_SSSE3 | CPU_AVX2 | CPU_AVX512 | CPU_SHA },
	{ "avx2+sha", CPU_SSSE3 | CPU_AVX2 | CPU_SHA },
	{ "ssse3+sha", CPU_SSSE3 | CPU_SHA },
	{ "avx512", CPU_SSSE3 | CPU_AVX2 | CPU_AVX512 },
	{ "avx2", CPU_SSSE3 | CPU_AVX2 },
};

static void init(struct sha1dc_ctx *ctx)
{
	ctx->total = 0;
	memcpy(ctx->ihv, initial, 20);
	ctx->found_collision = 0;
	ctx->safe_hash = 0;
	ctx->detect_coll = 1;
	ctx->ubc_check = 1;
	ctx->reduced_round_coll = 0;
	ctx->callback = NULL;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : "shim/gen";
	unsigned real;
	static unsigned char message[1 << 16];
	struct sha1dc_ctx ctx, copy;

	read_tables(folder);
	cpu_init(NULL);
	real = cpu_features;
	for (size_t l = 0; l < sizeof(levels) / sizeof(*levels); l++) {
		if (levels[l].features & ~(real | CPU_NO_ZMM)) {
			printf("%s: not on this processor\n", levels[l].name);
			continue;
		}
		cpu_features = levels[l].features;
		printf("%s: %s\n", levels[l].name, sha1dc_kernel_name());
		memset(&ctx, 0xa5, sizeof(ctx));
		for (size_t n = 0; n < 5000; n++) {
			unsigned char expect[20], digest[20] = { 0 }, digest2[20];
			bool scratch = random_word() & 1 || l > 2;

			random_bytes(message, n);
			bool found = oracle(expect, message, n);
			init(&ctx);
			for (size_t at = 0; at < n;) {
				size_t piece = random_word() % (n - at + 1);

				if (!(random_word() & 7))
					piece = n - at;
				CHECK(sha1dc_update(&ctx, message + at, piece, scratch), "length %zu: refused", n);
				at += piece;
				if (!(random_word() & 3)) {
					memcpy(&copy, &ctx, sizeof(ctx));
					CHECK(sha1dc_update(&copy, message + at, n - at, scratch), "length %zu: refused", n);
					CHECK(n < 1100 || (sha1dc_finish(&copy, digest2, scratch) && !memcmp(digest2, expect, 20)), "length %zu: copy", n);
				}
			}
			if (n < 1100 && l > 2)
				continue;
			CHECK(sha1dc_finish(&ctx, digest, scratch), "length %zu: refused", n);
			CHECK(!found && !memcmp(digest, expect, 20), "length %zu scratch %d", n, scratch);
		}
		/* masks */
		static struct sha1dc_row rows[65];
		memset(rows, 0, sizeof(rows));
		unsigned hit[32] = { 0 };
		for (int rep = 0; rep < 2000; rep++) {
			uint32_t ihv[5];
			size_t n = 1 + random_word() % (l < 3 ? 64 : 16);
			random_bytes(message, 64 * 64);
			for (int k = 0; k < 4; k++)
				ihv[3 - k] = ((uint32_t *)&rows[0].ihv.dcba)[k] = random_word();
			ihv[4] = ((uint32_t *)&rows[0].ihv.e)[3] = random_word();
			static sha1dc_kernel_fn *const fn[] = { sha1dc_avx512vl_ni, sha1dc_avx2_ni, sha1dc_sse_ni, sha1dc_avx512vl, sha1dc_avx2 };
			uint64_t map = fn[l](rows, message, n);
			for (size_t k = 0; k < n; k++) {
				uint32_t w[80];
				expand(w, message + 64 * k);
				uint32_t mask = survivors(w);
				CHECK(mask == rows[k].mask, "mask of block %zu/%zu: %08x, not %08x", k, n, rows[k].mask, mask);
				CHECK((map >> k & 1) == (mask != 0), "bit of block %zu/%zu", k, n);
				for (; mask; mask &= mask - 1)
					hit[__builtin_ctz(mask)]++;
				compress(ihv, message + 64 * k);
				CHECK(ihv[0] == ((uint32_t *)&rows[k + 1].ihv.dcba)[3] && ihv[4] == ((uint32_t *)&rows[k + 1].ihv.e)[3], "ihv");
			}
			CHECK(n == 64 || !(map >> n), "no more bits");
		}
		for (int k = 0; k < 32; k++)
			printf(" %u", hit[k]);
		puts("");
	}
	printf("%d failures\n", failures);
	return failures != 0;
}
