/* test_sha.c - SHA-1 and SHA-256: published digests, every kernel against the portable one, streaming in all pieces, guard pages */
#include "fastsha.h"
#include "sha.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

static unsigned failures;

#define CHECK(condition, ...)                                           \
	do {                                                            \
		if (!(condition) && failures++ < 20) {                  \
			printf("%s:%d: ", __FILE__, __LINE__);          \
			printf(__VA_ARGS__);                            \
			putchar('\n');                                  \
		}                                                       \
	} while (0)

static const uint32_t sha1_start[SHA1_WORDS] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
static const uint32_t sha256_start[SHA256_WORDS] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
						     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

static const struct algorithm {
	const char *name;
	const uint32_t *start;
	size_t words;
	sha_blocks *portable;
	struct {
		sha_blocks *blocks;
		unsigned needs; /* of cpu_features */
	} kernels[4];
	const char *published[5]; /* digests of the messages below */
} algorithms[] = {
	{ "SHA-1", sha1_start, SHA1_WORDS, sha1_blocks_portable,
	  { { sha1_blocks_portable, 0 }, { sha1_blocks_ni, CPU_SHA | CPU_SSSE3 }, { sha1_blocks_ni_early, CPU_SHA | CPU_SSSE3 },
	    { sha1_blocks_ni_nomsg, CPU_SHA | CPU_SSSE3 | CPU_AVX512 } },
	  { "da39a3ee5e6b4b0d3255bfef95601890afd80709", "a9993e364706816aba3e25717850c26c9cd0d89d",
	    "84983e441c3bd26ebaae4aa1f95129e5e54670f1", "a49b2446a02c645bf419f995b67091253a04a259",
	    "34aa973cd4c4daa4f61eeb2bdbad27316534016f" } },
	{ "SHA-256", sha256_start, SHA256_WORDS, sha256_blocks_portable,
	  { { sha256_blocks_portable, 0 }, { sha256_blocks_ni, CPU_SHA | CPU_SSSE3 } },
	  { "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
	    "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
	    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" } },
};

/* FIPS 180-2's examples and NIST's: 0, 24, 448, 896 bits, and a million times "a". */
static const char *const messages[5] = {
	"", "abc", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu", NULL
};

static uint64_t random_state = 0x9e3779b97f4a7c15;

static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* SIZE bytes, of which the first (AT_END: the last) touches a page that must not be read. Contents of period 251. */
static unsigned char *guarded(size_t size, bool at_end)
{
	size_t pages = (size + PAGE - 1) / PAGE * PAGE;
	unsigned char *map = mmap(NULL, pages + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || (pages && mprotect(map + PAGE, pages, PROT_READ | PROT_WRITE) != 0)) {
		perror("mmap");
		exit(1);
	}
	unsigned char *p = map + PAGE + (at_end ? pages - size : 0);
	for (size_t i = 0; i < size; i++)
		p[i] = (unsigned char)(i % 251 * 7 + i / 251);
	return p;
}

static void check_blocks(const struct algorithm *a, sha_blocks *kernel)
{
	enum { BLOCKS = 40 };
	unsigned char *data = guarded(BLOCKS * SHA_BLOCK, true), *front = guarded(BLOCKS * SHA_BLOCK, false);
	unsigned char room[SHA256_WORDS * 4 + 4];

	for (size_t blocks = 0; blocks <= BLOCKS; blocks++) {
		for (size_t shift = 0; shift < SHA_BLOCK; shift++) {
			uint32_t expected[SHA256_WORDS], *state = (uint32_t *)(void *)(room + shift % 4);
			size_t n = shift && blocks == BLOCKS ? blocks - 1 : blocks;
			const unsigned char *p = data + BLOCKS * SHA_BLOCK - n * SHA_BLOCK - shift;

			for (size_t i = 0; i < SHA256_WORDS; i++)
				expected[i] = (uint32_t)rnd();
			memcpy(state, expected, sizeof expected);
			a->portable(expected, p, n);
			kernel(state, p, n);
			CHECK(!memcmp(state, expected, sizeof expected), "%s, %s: %zu blocks, %zu before the page's end", a->name,
			      sha_kernel_name(kernel), n, shift);
		}
		uint32_t expected[SHA256_WORDS], state[SHA256_WORDS];

		memcpy(expected, a->start, 4 * a->words);
		memcpy(state, a->start, 4 * a->words);
		a->portable(expected, front, blocks);
		kernel(state, front, blocks);
		CHECK(!memcmp(state, expected, 4 * a->words), "%s, %s: %zu blocks at a page's start", a->name, sha_kernel_name(kernel), blocks);
	}
	for (int i = 0; i < 20000; i++) {
		uint32_t expected[SHA256_WORDS], state[SHA256_WORDS];
		uint64_t block[8];

		for (size_t k = 0; k < 8; k++)
			block[k] = rnd();
		for (size_t k = 0; k < a->words; k++)
			expected[k] = state[k] = (uint32_t)rnd();
		a->portable(expected, block, 1);
		kernel(state, block, 1);
		CHECK(!memcmp(state, expected, 4 * a->words), "%s, %s: a random block", a->name, sha_kernel_name(kernel));
	}
}

/*
 * Where a caller leaves upper halves of ymm registers in use, kernels that mix both encodings would take fifty times as long on Intel's cores:
 * they clear them first.
 */
static void check_upper_halves(const struct algorithm *a, sha_blocks *kernel)
{
	uint32_t state[SHA256_WORDS];
	uint64_t block[8] = { 0 }, ymm15[4];

	if (kernel != sha1_blocks_ni_nomsg)
		return;
	memcpy(state, a->start, 4 * a->words);
	__asm__ volatile("vpcmpeqd %%ymm15, %%ymm15, %%ymm15" : : : "xmm15", "memory");
	kernel(state, block, 1);
	__asm__ volatile("vmovdqu %%ymm15, %0\n\tvzeroupper" : "=m"(ymm15) : : "memory");
	CHECK(!(ymm15[2] | ymm15[3]), "%s, %s: upper halves in use", a->name, sha_kernel_name(kernel));
}

/* A context as a caller might have it. */
struct context {
	uint32_t state[SHA256_WORDS];
	unsigned char before[16], buffer[SHA_BLOCK], after[16];
	size_t used, size;
};

static void begin(struct context *c, const struct algorithm *a)
{
	memset(c, 0x5a, sizeof *c);
	memcpy(c->state, a->start, 4 * a->words);
	c->used = c->size = 0;
}

static void add(struct context *c, sha_blocks *kernel, const void *data, size_t size)
{
	c->used = sha_update(kernel, c->state, c->buffer, c->used, data, size);
	c->size += size;
	for (size_t i = 0; i < 16; i++)
		CHECK(c->before[i] == 0x5a && c->after[i] == 0x5a, "a byte beside the buffer was written");
}

static void end(struct context *c, const struct algorithm *a, sha_blocks *kernel, char hex[65])
{
	unsigned char digest[4 * SHA256_WORDS];

	sha_final(kernel, c->state, c->buffer, c->used, (uint64_t)c->size * 8);
	sha_digest(digest, c->state, a->words);
	for (size_t i = 0; i < 4 * a->words; i++)
		sprintf(hex + 2 * i, "%02x", digest[i]);
}

static void check_published(const struct algorithm *a, sha_blocks *kernel)
{
	static char million[1000000];

	memset(million, 'a', sizeof million);
	for (size_t m = 0; m < 5; m++) {
		struct context c;
		char hex[65];

		begin(&c, a);
		add(&c, kernel, messages[m] ? messages[m] : million, messages[m] ? strlen(messages[m]) : sizeof million);
		end(&c, a, kernel, hex);
		CHECK(strcmp(hex, a->published[m]) == 0, "%s, %s: message %zu: %s", a->name, sha_kernel_name(kernel), m, hex);
	}
}

/* Messages of all lengths, in pieces, against the portable kernel over the message padded in one buffer (FIPS 180-4, 5.1.1). */
static void check_pieces(const struct algorithm *a, sha_blocks *kernel)
{
	enum { LONGEST = 700 };
	unsigned char *data = guarded(LONGEST, true);

	for (size_t size = 0; size <= LONGEST; size++) {
		const unsigned char *p = data + LONGEST - size;
		unsigned char padded[LONGEST + 2 * SHA_BLOCK] = { 0 };
		size_t total = (size + 9 + SHA_BLOCK - 1) / SHA_BLOCK * SHA_BLOCK;
		uint32_t expected[SHA256_WORDS];

		memcpy(padded, p, size);
		padded[size] = 0x80;
		for (size_t i = 0; i < 8; i++)
			padded[total - 1 - i] = (unsigned char)((uint64_t)size * 8 >> 8 * i);
		memcpy(expected, a->start, 4 * a->words);
		a->portable(expected, padded, total / SHA_BLOCK);

		for (int way = 0; way < 12; way++) {
			static const size_t fixed[] = { 1, 3, 16, 37, 55, 63, 64, 65, 128, LONGEST };
			struct context c;
			char hex[65];

			begin(&c, a);
			for (size_t at = 0; at < size;) {
				size_t n = way < 10 ? fixed[way] : rnd() % (way == 10 ? 20 : 200);

				n = n < size - at ? n : size - at;
				add(&c, kernel, p + at, n);
				at += n;
			}
			CHECK(c.used == size % SHA_BLOCK, "bytes in the buffer");
			end(&c, a, kernel, hex);
			CHECK(!memcmp(c.state, expected, 4 * a->words), "%s, %s: %zu bytes, way %d", a->name, sha_kernel_name(kernel), size, way);
			for (size_t i = 0; i < SHA_BLOCK; i++)
				CHECK(c.buffer[i] == 0, "the buffer is not zeroed at the end");
		}
	}
}

/* A message's last block, of no more than 63 bytes, from the beginning and the end of what may be read. */
static void check_tails(void)
{
	for (size_t size = 0; size < SHA_BLOCK; size++)
		for (int at_end = 0; at_end < 2; at_end++) {
			static const unsigned char length[8] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
			const unsigned char *data = guarded(size, at_end);
			unsigned char expected[SHA_BLOCK] = { 0 };
			_Alignas(16) unsigned char block[SHA_BLOCK];
			bool complete = size < SHA_BLOCK - sizeof length;

			memcpy(expected, data, size);
			expected[size] = 0x80;
			if (complete)
				memcpy(expected + SHA_BLOCK - sizeof length, length, sizeof length);
			memset(block, 0xa5, sizeof block);
			CHECK(sha_tail(block, data, size, 0x0123456789abcdef) == complete, "tail of %zu bytes: complete", size);
			CHECK(!memcmp(block, expected, sizeof block), "tail of %zu bytes", size);
		}
}

int main(void)
{
	static const char *const levels[] = { "generic", "ssse3", "avx2", "avx512", "generic+sha", "ssse3+sha", "avx2+sha", "avx512+sha", NULL };
	unsigned kernels = 0, skipped = 0;

	cpu_init(NULL);
	check_tails();
	for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
		const struct algorithm *a = &algorithms[i];

		for (size_t k = 0; k < 4 && a->kernels[k].blocks; k++) {
			sha_blocks *kernel = a->kernels[k].blocks;

			if ((cpu_features & a->kernels[k].needs) != a->kernels[k].needs) {
				printf("skipped, not on this processor: %s\n", sha_kernel_name(kernel));
				skipped++;
				continue;
			}
			check_published(a, kernel);
			check_blocks(a, kernel);
			check_pieces(a, kernel);
			check_upper_halves(a, kernel);
			kernels++;
		}
	}
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		CHECK(cpu_init(levels[i]), "level %s", levels[i]);
		printf("%-12s runs as %-11s: %s, %s\n", levels[i] ? levels[i] : "(no limit)", cpu_level_name(), sha_kernel_name(sha1_best()),
		       sha_kernel_name(sha256_best()));
		CHECK(sha1_best() == (!(cpu_features & CPU_SHA)		   ? sha1_blocks_portable :
				      !(cpu_features & CPU_SLOW_SHA1MSG) ? sha1_blocks_ni :
				      !(cpu_features & CPU_AVX512)	   ? sha1_blocks_ni_early :
									     sha1_blocks_ni_nomsg),
		      "SHA-1 kernel");
		CHECK((sha256_best() == sha256_blocks_ni) == !!(cpu_features & CPU_SHA), "SHA-256 kernel");
	}
	printf("%u kernels checked, %u skipped, %u failures\n", kernels, skipped, failures);
	return failures != 0;
}
