/* sha1.c - SHA-1 (FIPS 180-4): the portable block function, and the choice among the block functions */
#include "fastsha.h"
#include "sha.h"

static uint32_t rotl(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

static uint32_t load_be32(const unsigned char *p)
{
	uint32_t word;

	__builtin_memcpy(&word, p, 4);
	return __builtin_bswap32(word);
}

/* Section 6.1.2, with the message schedule in 16 words (6.1.3). */
void sha1_blocks_portable(uint32_t *words, const void *data, size_t blocks)
{
	sha_word *state = words;

	for (const unsigned char *p = data; blocks; blocks--, p += SHA_BLOCK) {
		uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
		uint32_t w[16];

		for (unsigned t = 0; t < 80; t++) {
			uint32_t f, k;

			if (t < 16)
				w[t] = load_be32(p + 4 * t);
			else
				w[t % 16] = rotl(w[(t - 3) % 16] ^ w[(t - 8) % 16] ^ w[(t - 14) % 16] ^ w[t % 16], 1);
			if (t < 20) {
				f = (b & c) ^ (~b & d);
				k = 0x5a827999;
			} else if (t < 40) {
				f = b ^ c ^ d;
				k = 0x6ed9eba1;
			} else if (t < 60) {
				f = (b & c) ^ (b & d) ^ (c & d);
				k = 0x8f1bbcdc;
			} else {
				f = b ^ c ^ d;
				k = 0xca62c1d6;
			}

			uint32_t next = rotl(a, 5) + f + e + k + w[t % 16];

			e = d;
			d = c;
			c = rotl(b, 30);
			b = a;
			a = next;
		}
		state[0] += a;
		state[1] += b;
		state[2] += c;
		state[3] += d;
		state[4] += e;
	}
}

sha_blocks *sha1_best(void)
{
	if (!(cpu_features & CPU_SHA))
		return sha1_blocks_portable;
	if (!(cpu_features & CPU_SLOW_SHA1MSG))
		return sha1_blocks_ni;
	return cpu_features & CPU_AVX512 ? sha1_blocks_ni_nomsg : sha1_blocks_ni_early;
}
