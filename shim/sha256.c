/* sha256.c - SHA-256 (FIPS 180-4): the portable block function, and the choice among the block functions */
#include "fastsha.h"
#include "sha.h"

/* Section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
_Alignas(64) const uint32_t sha256_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* Under a mask of the first N bytes and one of byte N, read at 64 - N: what padding keeps of a block that has N bytes, and what it adds. */
_Alignas(64) const unsigned char sha_pad_keep[2 * SHA_BLOCK] = { [0 ... SHA_BLOCK - 1] = 0xff };
_Alignas(64) const unsigned char sha_pad_mark[2 * SHA_BLOCK] = { [SHA_BLOCK] = 0x80 };

static uint32_t rotr(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static uint32_t load_be32(const unsigned char *p)
{
	uint32_t word;

	__builtin_memcpy(&word, p, 4);
	return __builtin_bswap32(word);
}

/* Section 6.2.2, with the message schedule in 16 words. */
void sha256_blocks_portable(uint32_t *words, const void *data, size_t blocks)
{
	sha_word *state = words;

	for (const unsigned char *p = data; blocks; blocks--, p += SHA_BLOCK) {
		uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
		uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
		uint32_t w[16];

		for (unsigned t = 0; t < 64; t++) {
			if (t < 16) {
				w[t] = load_be32(p + 4 * t);
			} else {
				uint32_t w2 = w[(t - 2) % 16], w15 = w[(t - 15) % 16];
				uint32_t sigma0 = rotr(w15, 7) ^ rotr(w15, 18) ^ w15 >> 3;
				uint32_t sigma1 = rotr(w2, 17) ^ rotr(w2, 19) ^ w2 >> 10;

				w[t % 16] += sigma1 + w[(t - 7) % 16] + sigma0;
			}

			uint32_t sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
			uint32_t sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
			uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + sha256_k[t] + w[t % 16];
			uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));

			h = g;
			g = f;
			f = e;
			e = d + t1;
			d = c;
			c = b;
			b = a;
			a = t1 + t2;
		}
		state[0] += a;
		state[1] += b;
		state[2] += c;
		state[3] += d;
		state[4] += e;
		state[5] += f;
		state[6] += g;
		state[7] += h;
	}
}

sha_blocks *sha256_best(void)
{
	return cpu_features & CPU_SHA ? sha256_blocks_ni : sha256_blocks_portable;
}

const char *sha_kernel_name(sha_blocks *kernel)
{
	return kernel == sha1_blocks_ni ? "sha1_ni" : kernel == sha1_blocks_ni_early ? "sha1_ni_early" :
	       kernel == sha1_blocks_ni_nomsg ? "sha1_ni_nomsg" : kernel == sha256_blocks_ni ? "sha256_ni" :
	       kernel == sha1_blocks_portable ? "sha1_portable" : "sha256_portable";
}

bool sha_beats_c(sha_blocks *kernel)
{
	return kernel != sha1_blocks_portable && kernel != sha256_blocks_portable;
}
