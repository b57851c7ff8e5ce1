/*
 * plugin.c - plugins that call SHA1_Update, crc32 and compress: their own (OWN=N), those of a library (NEEDS), or libcrypto's and zlib's
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
int SHA1_Update(void *ctx, const void *data, size_t size);
unsigned long crc32(unsigned long crc, const void *data, unsigned size);
int compress(void *to, unsigned long *to_size, const void *data, unsigned long size);
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
	unsigned char packed[1000];
	unsigned long packed_size = sizeof packed;

	returned ^= compress(packed, &packed_size, data, size);
	return (long)crc32((unsigned)packed_size, packed, (unsigned)packed_size) ^ (long)crc32(0, data, (unsigned)size) ^ ctx[2] ^ returned;
#endif
}
#endif
