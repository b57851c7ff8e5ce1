/* preload_own_sha1.c - a plugin that has a SHA1_Update of its own, with another context, and calls it by name, as many old programs do */
#include <stddef.h>

struct own_context {
	unsigned long calls;
};

int SHA1_Update(struct own_context *c, const void *data, size_t size);

int SHA1_Update(struct own_context *c, const void *data, size_t size)
{
	(void)data;
	(void)size;
	c->calls++;
	return 42;
}

/* 1: our own function was called, twice, and nothing else. */
int own_sha1_reached(void);

int own_sha1_reached(void)
{
	struct {
		struct own_context context;
		unsigned char guard[256];
	} room = { { 0 }, { 0 } };
	int result = SHA1_Update(&room.context, "abc", 3) == 42;

	result &= SHA1_Update(&room.context, "abc", 3) == 42;
	for (size_t i = 0; i < sizeof room.guard; i++)
		result &= room.guard[i] == 0;
	return result && room.context.calls == 2;
}
