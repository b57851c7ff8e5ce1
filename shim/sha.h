/* sha.h - SHA-1 and SHA-256 (FIPS 180-4): block functions, and streaming over whatever context a caller has */
#ifndef SHA_H
#define SHA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A word of a caller's context, wherever that lies. */
typedef uint32_t sha_word __attribute__((aligned(1), may_alias));

enum { SHA_BLOCK = 64, SHA1_WORDS = 5, SHA256_WORDS = 8 };

/*
 * A block function: BLOCKS blocks of 64 bytes at DATA (any alignment, may be 0 blocks) into STATE, 5 words for SHA-1 and 8 for SHA-256 (any
 * alignment that x86 loads). Nothing outside [DATA, DATA + 64 BLOCKS) is read.
 */
typedef void sha_blocks(uint32_t *state, const void *data, size_t blocks);

sha_blocks sha1_blocks_portable, sha256_blocks_portable; /* any processor; the reference of the others */
sha_blocks sha1_blocks_ni, sha256_blocks_ni;             /* CPU_SHA and CPU_SSSE3 */
sha_blocks sha1_blocks_ni_early;                         /* the same, for CPU_SLOW_SHA1MSG */
sha_blocks sha1_blocks_ni_nomsg;                         /* CPU_AVX512, too */

/* The fastest that cpu_features allows; the portable one before cpu_init. */
sha_blocks *sha1_best(void), *sha256_best(void);

extern const uint32_t sha256_k[64]; /* the round constants, 64-byte aligned */
extern const unsigned char sha_pad_keep[2 * SHA_BLOCK], sha_pad_mark[2 * SHA_BLOCK]; /* for sha_final */

/* "sha1_ni" and so on, for reports. */
const char *sha_kernel_name(sha_blocks *kernel);

/* Whether KERNEL beats a compiled C implementation, as git carries them, from short messages on. */
bool sha_beats_c(sha_blocks *kernel);

/* Copies 0 to 63 bytes: for the buffer of a context, where a call of memcpy would cost more than the copy. */
static inline void sha_copy(unsigned char *to, const unsigned char *from, size_t size)
{
	typedef long long v2 __attribute__((vector_size(16), aligned(1), may_alias));
	typedef uint64_t u64 __attribute__((aligned(1), may_alias));
	typedef uint32_t u32 __attribute__((aligned(1), may_alias));

	if (size < 4) {
		if (size) {
			unsigned char a = from[0], b = from[size / 2], c = from[size - 1];
			to[0] = a, to[size / 2] = b, to[size - 1] = c;
		}
	} else if (size < 8) {
		u32 a = *(const u32 *)from, b = *(const u32 *)(from + size - 4);
		*(u32 *)to = a, *(u32 *)(to + size - 4) = b;
	} else if (size < 16) {
		u64 a = *(const u64 *)from, b = *(const u64 *)(from + size - 8);
		*(u64 *)to = a, *(u64 *)(to + size - 8) = b;
	} else if (size < 32) {
		v2 a = *(const v2 *)from, b = *(const v2 *)(from + size - 16);
		*(v2 *)to = a, *(v2 *)(to + size - 16) = b;
	} else {
		v2 a = *(const v2 *)from, b = *(const v2 *)(from + 16);
		v2 c = *(const v2 *)(from + size - 32), d = *(const v2 *)(from + size - 16);
		*(v2 *)to = a, *(v2 *)(to + 16) = b;
		*(v2 *)(to + size - 32) = c, *(v2 *)(to + size - 16) = d;
	}
}

/*
 * Takes SIZE bytes at DATA into a hash whose STATE and 64-byte BUFFER are the caller's; the buffer holds USED bytes, 0 to 63. Returns how
 * many it holds afterwards. A buffer that was full in between is zeroed, as libcrypto does. Counting the length is the caller's.
 */
static inline size_t sha_update(sha_blocks *kernel, uint32_t *state, unsigned char *buffer, size_t used, const void *data, size_t size)
{
	const unsigned char *p = data;

	if (used) {
		size_t room = SHA_BLOCK - used;

		if (size < room) {
			sha_copy(buffer + used, p, size);
			return used + size;
		}
		sha_copy(buffer + used, p, room);
		kernel(state, buffer, 1);
		__builtin_memset(buffer, 0, SHA_BLOCK);
		p += room;
		size -= room;
	}
	if (size >= SHA_BLOCK) {
		kernel(state, p, size / SHA_BLOCK);
		p += size & -(size_t)SHA_BLOCK;
		size %= SHA_BLOCK;
	}
	sha_copy(buffer, p, size);
	return size;
}

/* Sixteen bytes, wherever they lie. */
typedef uint64_t sha_v2 __attribute__((vector_size(16), aligned(1), may_alias));

/*
 * Pads the last block of a message of BITS bits, of which BUFFER holds USED bytes. False: the length did not fit, and sha_pad_length makes one
 * more block. In registers, and stored as a kernel loads it: a load that takes from several younger stores has to wait for all of them.
 */
static inline bool sha_pad(unsigned char *buffer, size_t used, uint64_t bits)
{
	const sha_v2 *keep = (const sha_v2 *)(sha_pad_keep + SHA_BLOCK - used), *mark = (const sha_v2 *)(sha_pad_mark + SHA_BLOCK - used);
	sha_v2 *b = (sha_v2 *)buffer, length = { 0, used < SHA_BLOCK - 8 ? __builtin_bswap64(bits) : 0 };

	b[0] = (b[0] & keep[0]) | mark[0];
	b[1] = (b[1] & keep[1]) | mark[1];
	b[2] = (b[2] & keep[2]) | mark[2];
	b[3] = (b[3] & keep[3]) | mark[3] | length;
	return used < SHA_BLOCK - 8;
}

static inline void sha_pad_length(unsigned char *buffer, uint64_t bits)
{
	sha_v2 *b = (sha_v2 *)buffer;

	b[0] = b[1] = b[2] = (sha_v2){ 0 };
	b[3] = (sha_v2){ 0, __builtin_bswap64(bits) };
}

/*
 * The last block of a message of BITS bits; SIZE bytes of it, 0 to 63, are at DATA. BLOCK is 64 bytes of any contents. As sha_copy to an empty
 * buffer and sha_pad, without a load that takes from several stores: one-shots of 1 to 55 bytes take 137 cycles instead of 197 (SHA-256,
 * Emerald Rapids), as much as the block function alone.
 */
static inline bool sha_tail(unsigned char *block, const unsigned char *data, size_t size, uint64_t bits)
{
	typedef uint64_t u64 __attribute__((aligned(1), may_alias));
	typedef uint32_t u32 __attribute__((aligned(1), may_alias));
	const unsigned char *p = data + (size & 48);
	size_t n = size % 16;
	uint64_t low = 0, high = 0;
	sha_v2 *b = (sha_v2 *)block;

	if (n >= 8) {
		low = *(const u64 *)p;
		high = *(const u64 *)(p + n - 8) >> 8 >> 8 * (15 - n) | 0x80ull << 8 * (n - 8);
	} else {
		if (n >= 4)
			low = *(const u32 *)p | (uint64_t)*(const u32 *)(p + n - 4) << 8 * (n - 4);
		else if (n)
			low = p[0] | (uint64_t)p[n / 2] << 8 * (n / 2) | (uint64_t)p[n - 1] << 8 * (n - 1);
		low |= 0x80ull << 8 * n;
	}
	sha_pad_length(block, size < SHA_BLOCK - 8 ? bits : 0);
	for (size_t i = 0; i < size / 16; i++)
		b[i] = ((const sha_v2 *)data)[i];
	b[size / 16] |= (sha_v2){ low, high };
	return size < SHA_BLOCK - 8;
}

/* Pads a hash of BITS message bits in all, as above, and takes the last one or two blocks: STATE holds the digest; BUFFER is zeroed. */
static inline void sha_final(sha_blocks *kernel, uint32_t *state, unsigned char *buffer, size_t used, uint64_t bits)
{
	bool complete = sha_pad(buffer, used, bits);

	kernel(state, buffer, 1);
	if (!complete) {
		sha_pad_length(buffer, bits);
		kernel(state, buffer, 1);
	}
	__builtin_memset(buffer, 0, SHA_BLOCK);
}

/* The first WORDS words of STATE, as the bytes of a digest. */
static inline void sha_digest(unsigned char *digest, const uint32_t *state, size_t words)
{
#pragma GCC unroll 8
	for (size_t i = 0; i < words; i++) {
		uint32_t word = __builtin_bswap32(((const sha_word *)state)[i]);

		__builtin_memcpy(digest + 4 * i, &word, 4);
	}
}

#endif
