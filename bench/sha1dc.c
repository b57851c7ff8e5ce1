/* sha1dc.c - collision-detecting SHA-1, one message: every kernel beside libcrypto's plain SHA-1 and the reference implementation */

/*
 * What each kernel costs in text, with constants and without recompression, and what it brings: cycles a block at 64 KiB and at 64 bytes
 * beside what would run in its place. Emerald Rapids unless another processor is named; the reference takes 433 and 454.
 *
 *	kernel               bytes   runs on                                 64 KiB         64 bytes   instead of
 *	avx512vl_ni_pairs    10,500  Sapphire Rapids and later               97             155        avx2_ni_pairs: 122, 191
 *	avx512vl_ni_one       4,900  the same, messages of 1 block                      307        the pairs' kernel: 346
 *	avx512vl_ni           6,600  Ice Lake, Zen 4 and later               128 (Zen 5)               avx2_ni: 134 (Zen 5)
 *	avx2_ni_pairs        12,400  Alder Lake and later                    122            191        sse_ni: 178, 257
 *	avx2_ni               7,000  Zen 1 to 3                              134 (Zen 5)               sse_ni
 *	sse_ni                8,800  Goldmont, Tremont                       178            257        the reference
 *	avx512vl, _many      18,200  Skylake-X to Cascade Lake               268            277        avx2: 282, 299
 *	avx2, _many, steps   23,900  Haswell and later without SHA-NI        282            299        the reference
 *
 * Those for pairs of blocks took the place of four (65 KB) that did a block at a time, or eight by lanes: these were better for 64 KiB
 * with AVX-512 (93) and for nothing else. Of the last two rows, the forms for eight blocks lose here, by 9 and 13 % from 64 blocks
 * on, but no processor without SHA-NI is as wide as this one: by llvm-mca's model they win 25 % on Haswell and 2 % on Skylake.
 * Zen 5 takes neither pairs nor the kernel for one block: with AVX-512 they take 210 cycles at 64 bytes instead of 175, 163 instead of 155 at 256 and 131
 * instead of 129 at 64 KiB; with AVX2 234 instead of 179, 181 instead of 159, and 133 instead of 134.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "cycles.h"
#include "fastsha.h"
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

static unsigned real; /* the processor's own features */

static void hash_ours(void *features)
{
	struct sha1dc_ctx ctx;

	cpu_features = (real & CPU_TRAITS) | *(const unsigned *)features;
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

static unsigned levels[] = { AVX512 | CPU_SHA, AVX2 | CPU_SHA, SSE | CPU_SHA, AVX512, AVX2 };
static struct contender contenders[] = {
	{ .name = "reference", .run = hash_reference },
	{ .name = "libcrypto", .run = hash_libcrypto },
	{ .name = "avx512+sha", .run = hash_ours, .arg = &levels[0] },
	{ .name = "avx2+sha", .run = hash_ours, .arg = &levels[1] },
	{ .name = "ssse3+sha", .run = hash_ours, .arg = &levels[2] },
	{ .name = "avx512", .run = hash_ours, .arg = &levels[3] },
	{ .name = "avx2", .run = hash_ours, .arg = &levels[4] },
};

static void compare(struct contender *c, size_t n, size_t body_size, size_t header_size)
{
	size_t blocks = (body_size + header_size + 9 + 63) / 64;

	header = header_size;
	body = body_size;
	messages = body < 32768 ? 32768 / (body + 128) + 1 : 1; /* a sample's */
	measure(c, n, 401, 1, 8);
	printf("%zu bytes%s\n", body, header ? ", after a header of 10" : "");
	for (size_t k = 0; k < n; k++) {
		double all = messages * blocks;

		printf("  %-11s %7.1f cycles a block (%.1f to %.1f)  %5.3f of libcrypto  %5.2f x reference  %d of %d samples\n", c[k].name,
		       c[k].cycles / all, c[k].low / all, c[k].high / all, c[1].cycles / c[k].cycles, c[0].cycles / c[k].cycles, c[k].quiet,
		       c[k].samples);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const size_t plain[] = { 64, 256, 1024, 4096, 65536, 256 << 10 }, git[] = { 30, 60, 200, 700, 1500, 5000 };
	struct contender usable[sizeof(contenders) / sizeof(*contenders)];
	uint64_t x = 88172645463325252;
	size_t n = 0;

	cpu_init(NULL);
	real = cpu_features;
	for (size_t k = 0; k < sizeof(contenders) / sizeof(*contenders); k++)
		if (!contenders[k].arg || !(*(const unsigned *)contenders[k].arg & ~real))
			usable[n++] = contenders[k];
	for (size_t k = 0; k < POOL; k += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(pool + k, &x, 8);
	}
	printf("SHA-1 with collision detection on %s: random messages, init to final; medians of quiet samples, and their quartiles\n",
	       cpu_level_name());
	for (int k = 1; k < argc; k++) /* N: a message; +N: after a header */
		compare(usable, n, strtoul(argv[k], NULL, 0), argv[k][0] == '+' ? 10 : 0);
	for (size_t k = 0; argc < 2 && k < sizeof(plain) / sizeof(*plain); k++)
		compare(usable, n, plain[k], 0);
	for (size_t k = 0; argc < 2 && k < sizeof(git) / sizeof(*git); k++)
		compare(usable, n, git[k], 10);
	return 0;
}
