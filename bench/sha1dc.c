/* sha1dc.c - collision-detecting SHA-1, one message: every kernel beside libcrypto's plain SHA-1 and the reference implementation */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "fastsha.h"
#include "sample.h"
#include "sha1dc.h"

/* The reference: built from git's source package by fetch-sha1dc.sh. */
void reference_init(struct sha1dc_ctx *);
void reference_update(struct sha1dc_ctx *, const char *, size_t);
int reference_final(unsigned char[20], struct sha1dc_ctx *);

#define POOL (512 << 10) /* in the second-level cache */
static unsigned char pool[POOL];

/* What is hashed: a header of its own update (0: none), a body, so many messages a sample, each from another place of the pool. */
static size_t header, body, messages, place;
static unsigned char digest[20];

static const unsigned char *next_message(void)
{
	place += header + body + 61;
	if (place + header + body > POOL)
		place = 0;
	return pool + place;
}

static void hash_reference(void *unused)
{
	struct sha1dc_ctx ctx;

	(void)unused;
	for (size_t k = 0; k < messages; k++) {
		const unsigned char *message = next_message();

		reference_init(&ctx);
		ctx.safe_hash = 0;
		if (header)
			reference_update(&ctx, (const char *)message, header);
		reference_update(&ctx, (const char *)message + header, body);
		reference_final(digest, &ctx);
	}
}

static void hash_libcrypto(void *unused)
{
	SHA_CTX ctx;

	(void)unused;
	for (size_t k = 0; k < messages; k++) {
		const unsigned char *message = next_message();

		SHA1_Init(&ctx);
		if (header)
			SHA1_Update(&ctx, message, header);
		SHA1_Update(&ctx, message + header, body);
		SHA1_Final(digest, &ctx);
	}
}

static void leave(struct sha1dc_ctx *ctx)
{
	unsigned char pending[SHA1DC_PENDING];
	size_t n = sha1dc_release(ctx, pending, true);

	if (n)
		reference_update(ctx, (const char *)pending, n);
}

static void update(struct sha1dc_ctx *ctx, const unsigned char *data, size_t n)
{
	if (sha1dc_update(ctx, data, n, true))
		return;
	leave(ctx);
	reference_update(ctx, (const char *)data, n);
}

static void hash_ours(void *features)
{
	struct sha1dc_ctx ctx;

	cpu_features = *(const unsigned *)features;
	for (size_t k = 0; k < messages; k++) {
		const unsigned char *message = next_message();

		reference_init(&ctx);
		ctx.safe_hash = 0;
		if (header)
			update(&ctx, message, header);
		update(&ctx, message + header, body);
		if (!sha1dc_finish(&ctx, digest, true)) {
			leave(&ctx);
			reference_final(digest, &ctx);
		}
	}
}

#define SSE CPU_SSSE3
#define AVX2 (CPU_SSSE3 | CPU_AVX2)
#define AVX512 (CPU_SSSE3 | CPU_AVX2 | CPU_AVX512)

static struct entrant {
	const char *name;
	void (*hash)(void *);
	unsigned features; /* for hash_ours */
} entrants[] = {
	{ "reference", hash_reference, 0 },
	{ "libcrypto", hash_libcrypto, 0 },
	{ "avx512+sha", hash_ours, AVX512 | CPU_SHA },
	{ "avx2+sha", hash_ours, AVX2 | CPU_SHA },
	{ "ssse3+sha", hash_ours, SSE | CPU_SHA },
	{ "avx512", hash_ours, AVX512 },
	{ "avx2", hash_ours, AVX2 },
};
enum { ENTRANTS = sizeof(entrants) / sizeof(*entrants), ROUNDS = 401 };

static double quiet_enough;

static void compare(size_t body_size, size_t header_size, unsigned real)
{
	static struct sample samples[ENTRANTS][ROUNDS];
	size_t blocks = (body_size + header_size + 9 + 63) / 64;
	int rounds = body_size > 200000 ? ROUNDS / 4 : ROUNDS;

	header = header_size;
	body = body_size;
	messages = body < 65536 ? 65536 / 2 / (body + 128) + 1 : 1;
	for (int round = -1; round < rounds; round++) { /* one to warm up */
		for (int e = 0; e < ENTRANTS; e++) {
			struct sample s = { 0 };

			if (!(entrants[e].features & ~(real | CPU_NO_ZMM)))
				s = sample(entrants[e].hash, &entrants[e].features);
			if (round >= 0)
				samples[e][round] = s;
		}
	}

	printf("%zu bytes%s\n", body, header ? ", after a header of 10" : "");
	for (int e = 0; e < ENTRANTS; e++) {
		double cycles[ROUNDS], to_reference[ROUNDS], to_libcrypto[ROUNDS], low, high, ref, ref_low, ref_high, lib, lib_low, lib_high, c;
		int n = 0;

		for (int r = 0; r < rounds; r++) {
			const struct sample *s = &samples[e][r];

			if (!s->cycles || s->quiet < quiet_enough || samples[0][r].quiet < quiet_enough || samples[1][r].quiet < quiet_enough)
				continue;
			cycles[n] = s->cycles / messages / blocks;
			to_reference[n] = samples[0][r].cycles / s->cycles;
			to_libcrypto[n++] = samples[1][r].cycles / s->cycles;
		}
		if (!n)
			continue;
		c = median(cycles, n, &low, &high);
		ref = median(to_reference, n, &ref_low, &ref_high);
		lib = median(to_libcrypto, n, &lib_low, &lib_high);
		printf("  %-14s %7.1f cycles a block   %5.3f of libcrypto (%5.3f to %5.3f)   %5.2f x reference (%5.2f to %5.2f)   %d quiet samples\n",
		       entrants[e].name, c, lib, lib_low, lib_high, ref, ref_low, ref_high, n);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const size_t plain[] = { 64, 256, 1024, 4096, 65536, 256 << 10 }, git[] = { 30, 60, 200, 700, 1500, 5000 };
	uint64_t x = 88172645463325252;
	double best = 0;

	cpu_init(NULL);
	unsigned real = cpu_features;
	for (size_t k = 0; k < POOL; k += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(pool + k, &x, 8);
	}
	for (int k = 0; k < 1000; k++) {
		double quiet = additions_per_cycle(ticks_per_cycle());

		best = quiet > best ? quiet : best;
	}
	quiet_enough = 0.9 * best;
	printf("processor: %s; a sample counts as quiet from %.1f additions a cycle\n", cpu_level_name(), quiet_enough);
	if (argc > 1) { /* N: a message; +N: after a header */
		for (int k = 1; k < argc; k++)
			compare(strtoul(argv[k], NULL, 0), argv[k][0] == '+' ? 10 : 0, real);
		return 0;
	}
	for (size_t k = 0; k < sizeof(plain) / sizeof(*plain); k++)
		compare(plain[k], 0, real);
	for (size_t k = 0; k < sizeof(git) / sizeof(*git); k++)
		compare(git[k], 10, real);
	return 0;
}
