/* preload_second_libcrypto.c - a libcrypto.so.1.1, to a program that has another: its one-shot is its own */
#include <stddef.h>
#include <string.h>

unsigned char *SHA512(const unsigned char *data, size_t size, unsigned char *digest);
int second_reached(void);

__attribute__((visibility("default"))) unsigned char *SHA512(const unsigned char *data, size_t size, unsigned char *digest)
{
	(void)data;
	(void)size;
	return memset(digest, 'x', 64);
}

/* How many of four calls come to the function above. */
__attribute__((visibility("default"))) int second_reached(void)
{
	int reached = 0;

	for (int call = 0; call < 4; call++) {
		unsigned char digest[64] = { 0 };

		reached += SHA512(digest, 0, digest) == digest && digest[0] == 'x' && digest[63] == 'x';
	}
	return reached;
}
