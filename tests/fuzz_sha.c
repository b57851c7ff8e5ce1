/* fuzz_sha.c - libFuzzer target: sequences of update, clone and final over callers' contexts, every block function, against libcrypto */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "fastsha.h"
#include "sha.h"

#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct hash {
	sha_blocks *kernel;
	uint32_t state[8];
	unsigned char buffer[SHA_BLOCK];
	size_t used;
	uint64_t size;
};

/* Bytes: algorithm and kernel; then operations, each a byte and its length; their message is the input itself, read from the start. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const uint32_t initial1[] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	static const uint32_t initial256[] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	unsigned char message[1 << 14], expected[32], digest[32];
	struct hash h = { 0 }, copy;
	size_t n = 0, copy_n = 0, words;
	bool copied = false;

	cpu_init(NULL);
	if (size < 2)
		return 0;
	bool sha256 = bytes[0] & 1, ni = bytes[0] & 2 && cpu_features & CPU_SHA;

	words = sha256 ? 8 : 5;
	memcpy(h.state, sha256 ? initial256 : initial1, 4 * words);
	h.kernel = sha256 ? (ni ? sha256_blocks_ni : sha256_blocks_portable) : (ni ? sha1_best() : sha1_blocks_portable);
	for (size_t i = 1; i + 2 <= size; i += 2) {
		size_t piece = bytes[i + 1] * (bytes[i] & 0x40 ? 17 : 1);

		if ((bytes[i] & 3) == 3) {
			/* Changes places with a copy, as memory. */
			struct hash other = h;
			size_t other_n = n;

			if (copied)
				h = copy, n = copy_n;
			copy = other, copy_n = other_n, copied = true;
			continue;
		}
		if (piece > sizeof message - n)
			piece = sizeof message - n;
		/* What comes at a place depends on the place only, so that a copy has the same message so far. */
		for (size_t k = 0; k < piece; k++)
			message[n + k] = bytes[(n + k) % size];

		unsigned char *exact = malloc(piece); /* its end is watched */

		memcpy(exact, message + n, piece);
		h.used = sha_update(h.kernel, h.state, h.buffer, h.used, exact, piece);
		free(exact);
		n += piece;
	}
	for (size_t k = 0; k < n; k++)
		message[k] = bytes[k % size];
	sha_final(h.kernel, h.state, h.buffer, h.used, (uint64_t)n * 8);
	sha_digest(digest, h.state, words);
	sha256 ? SHA256(message, n, expected) : SHA1(message, n, expected);
	if (memcmp(digest, expected, 4 * words) != 0)
		abort();
	return 0;
}
