/* client_libcrypto.c - libcrypto's hash functions as the process finds them, against libcrypto's own: the whole context after every call */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * client_libcrypto LIBRARY [ROUNDS [SEED]]: LIBRARY is a libcrypto, loaded here by dlopen. Without a preloaded library that defines
 * them, the functions are not to be found in the global scope: exit code 2. With one, exit code 0 if both always did the same.
 */

/* openssl/sha.h; the words behind the context show that nothing writes there. */
union context {
	struct {
		uint32_t h[5], bits[2];
		unsigned char data[64];
		uint32_t num;
	} sha1;
	struct {
		uint32_t h[8], bits[2];
		unsigned char data[64];
		uint32_t num, md_len;
	} sha256;
	unsigned char bytes[128];
};

typedef int init_function(void *);
typedef int update_function(void *, const void *, size_t);
typedef int final_function(unsigned char *, void *);
typedef void transform_function(void *, const unsigned char *);

struct functions {
	update_function *update;
	final_function *final;
	transform_function *transform;
};

static const struct {
	const char *init, *update, *final, *transform;
} names[] = {
	{ "SHA1_Init", "SHA1_Update", "SHA1_Final", "SHA1_Transform" },
	{ "SHA224_Init", "SHA224_Update", "SHA224_Final", "SHA256_Transform" },
	{ "SHA256_Init", "SHA256_Update", "SHA256_Final", "SHA256_Transform" },
};
enum { SHA1, SHA224, SHA256, ALGORITHMS };

static uint64_t random_state;

static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void *symbol(void *handle, const char *name)
{
	void *p = dlsym(handle, name);

	if (!p) {
		printf("%s: not found %s\n", name, handle == RTLD_DEFAULT ? "in the global scope" : "in the library");
		exit(2);
	}
	return p;
}

static struct functions functions_of(void *handle, int a)
{
	return (struct functions){ symbol(handle, names[a].update), symbol(handle, names[a].final), symbol(handle, names[a].transform) };
}

static size_t random_size(void)
{
	switch (rnd() % 8) {
	case 0:
		return 0;
	case 1:
		return rnd() % 5000;
	case 2:
		return 64 * (rnd() % 8);
	case 3:
		return 63 + rnd() % 3;
	default:
		return rnd() % 80;
	}
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 20000;
	enum { ROOM = 8192, PAGE = 4096 };
	unsigned char *data = mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long calls = 0;

	if (!library) {
		printf("%s\n", argc > 1 ? dlerror() : "usage: client_libcrypto LIBRARY [ROUNDS [SEED]]");
		return 2;
	}
	random_state = 88172645463325252ull ^ (argc > 3 ? strtoull(argv[3], NULL, 0) : 0);
	mprotect(data + ROOM, PAGE, PROT_NONE);
	for (size_t i = 0; i < ROOM; i++)
		data[i] = (unsigned char)rnd();

	for (unsigned long round = 0; round < rounds; round++) {
		int a = (int)(rnd() % ALGORITHMS);
		init_function *init = symbol(library, names[a].init);
		struct functions theirs = functions_of(library, a), ours = functions_of(RTLD_DEFAULT, a);
		union context room[2] = { 0 }; /* theirs, and ours at an odd multiple of 4 */
		void *x = &room[0], *y = room[1].bytes + 4;
		const size_t size = a == SHA1 ? sizeof room->sha1 : sizeof room->sha256;

		if ((void *)theirs.update == (void *)ours.update) {
			printf("nothing is preloaded: %s is the library's own\n", names[a].update);
			return 2;
		}
		memset(room, 0xa5, sizeof room);
		init(x);
		if (rnd() % 8 == 0) { /* near the places where the bit count carries */
			uint32_t *bits = a == SHA1 ? room[0].sha1.bits : room[0].sha256.bits;

			bits[0] = (uint32_t)-(rnd() % 40 * 8);
			bits[1] = rnd() % 2 ? UINT32_MAX : (uint32_t)rnd();
		}
		if (a != SHA1 && rnd() % 16 == 0) /* digests cut short, and one that cannot be */
			room[0].sha256.md_len = (uint32_t)(rnd() % 10 * 4);
		memcpy(y, x, size);

		for (int step = (int)(rnd() % 12); step >= 0; step--) {
			unsigned char md[2][40] = { { 0 } };
			int result[2] = { 0 };
			size_t n = random_size();
			const unsigned char *p = data + (rnd() % 2 ? ROOM - n : rnd() % (ROOM - 5000));
			const char *what = "update";

			switch (step ? rnd() % 10 : 9) {
			case 7:
				what = "transform";
				theirs.transform(x, data + n % 64);
				ours.transform(y, data + n % 64);
				break;
			case 8:
				what = "copy";
				memcpy(y, x, size);
				memset(md, 1, sizeof md);
				break;
			case 9:
				what = "final";
				result[0] = theirs.final(md[0] + step % 3, x);
				result[1] = ours.final(md[1] + step % 3, y);
				break;
			default:
				result[0] = theirs.update(x, n ? p : NULL, n);
				result[1] = ours.update(y, n ? p : NULL, n);
				calls++;
			}
			if (result[0] != result[1] || memcmp(md[0], md[1], sizeof md[0]) != 0 || memcmp(x, y, size) != 0 ||
			    memcmp((unsigned char *)y + size, (unsigned char *)x + size, 4) != 0) {
				printf("%s differs: round %lu, %s, %zu bytes\n", names[a].init, round, what, n);
				return 1;
			}
		}
	}
	printf("%lu programs, %lu updates: the same\n", rounds, calls);
	return 0;
}
