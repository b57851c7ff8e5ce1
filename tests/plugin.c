/*
 * plugin.c - plugins that call SHA1_Update, crc32, deflate and inflate: their own (OWN=N), those of a library (NEEDS), or libcrypto's and
 * zlib's
 *
 * OWN: functions of these names, for other things. What they return tells which was called. AT: bytes of code before them, so that
 * plugins of the same size have them at different addresses.
 */
#include <stddef.h>

#ifdef OWN
__asm__(".text; .skip " AT ", 0x90");

int SHA1_Update(void *ctx, const void *data, size_t size);
long crc32(const void *data, size_t size);

__attribute__((visibility("default"))) int SHA1_Update(void *ctx, const void *data, size_t size)
{
	(void)data;
	*(long *)ctx += (long)size;
	return OWN;
}

__attribute__((visibility("default"))) long crc32(const void *data, size_t size)
{
	return data ? (long)size + OWN : 0;
}
#elif defined NEEDS
int SHA1_Update(void *ctx, const void *data, size_t size);
long crc32(const void *data, size_t size);
#else
#include <zlib.h>

int SHA1_Update(void *ctx, const void *data, size_t size);

static unsigned char numbers[30000], packed[sizeof numbers], unpacked[sizeof numbers];

/* zlib there and back, whole, in pieces and damaged; in one number. */
static unsigned long round_trips(unsigned long sum)
{
	for (size_t i = 0, x = 1; i < sizeof numbers; i++) {
		x = x * 6364136223846793005 + 1442695040888963407;
		numbers[i] = (unsigned char)(x >> 58); /* compresses by a quarter */
	}
	for (size_t size = 100; size <= sizeof numbers; size *= 3) {
		for (int way = 0; way < 3; way++) {
			uLongf packed_size = sizeof packed, unpacked_size = sizeof unpacked;
			z_stream z = { 0 };
			int result;

			sum = sum * 31 + (unsigned long)compress(packed, &packed_size, numbers, size) + packed_size;
			packed[packed_size / 2] ^= way == 2;
			sum = sum * 31 + (unsigned long)uncompress(unpacked, &unpacked_size, packed, packed_size) + unpacked_size;
			inflateInit(&z);
			z.next_in = packed;
			z.next_out = unpacked;
			z.avail_out = way ? (uInt)size : sizeof unpacked;
			do {
				z.avail_in = (uInt)(packed + packed_size - z.next_in < 5000 || way ? packed + packed_size - z.next_in : 5000);
				result = inflate(&z, Z_NO_FLUSH);
				sum = sum * 31 + (unsigned long)result + z.total_in * 7 + z.total_out + z.adler;
			} while (result == Z_OK && !way);
			sum = sum * 31 + (z.msg ? (unsigned char)z.msg[8] : 0);
			inflateEnd(&z);
			sum = sum * 31 + crc32_z(adler32_z(crc32(adler32(1, packed, (uInt)packed_size), unpacked, (uInt)size), packed, packed_size),
						 unpacked, size);
		}
	}
	return sum;
}
#endif

#ifndef LIBRARY
/* What came of both, in one number. */
long plugin(const char *data, size_t size);

long plugin(const char *data, size_t size)
{
	long ctx[32] = { 0 }, returned = SHA1_Update(ctx, data, size);

#if defined OWN || defined NEEDS
	return ctx[0] * 100000 + returned * 10000 + crc32(data, size);
#else
	return (long)round_trips(crc32(0, (const Bytef *)data, (uInt)size)) ^ ctx[2] ^ returned;
#endif
}
#endif
