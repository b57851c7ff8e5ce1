/* test_callers.c - who is remembered as a caller for good, and that the answer is nobody else's */
#include "callers.h"

#include <dlfcn.h>
#include <stdio.h>

static unsigned failures;

#define CHECK(condition)                                                             \
	do {                                                                         \
		if (!(condition) && ++failures)                                      \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
	} while (0)

static unsigned asked;

static void *itself(unsigned function, void *definition, const struct object *owner)
{
	(void)function;
	(void)owner;
	asked++;
	return definition;
}

int main(void)
{
	void *libcrypto = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL), *zlib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
	/* By its handle: sanitizers have a puts of their own in the program. */
	const void *program = (const void *)main, *other = dlsym(dlopen("libc.so.6", RTLD_NOW), "puts");

	if (!libcrypto)
		return printf("%s\n", dlerror()), 77;
	void *update = dlsym(libcrypto, "SHA256_Update"), *final = dlsym(libcrypto, "SHA256_Final");

	/* The program stays, and libcrypto, which is never unloaded: asked once. */
	CHECK(caller_target_again(0, program) == NULL);
	for (int i = 0; i < 3; i++)
		CHECK(caller_target(0, "SHA256_Update", program, itself) == update);
	CHECK(asked == 1);
	CHECK(caller_target_again(0, program) == update);
	CHECK(caller_target_again(1, program) == NULL);
	CHECK(caller_target(1, "SHA256_Final", program, itself) == final);
	CHECK(caller_target_again(1, program) == final);
	CHECK(caller_target_again(0, program) == update);

	/* Another caller, which is not marked as one that stays. */
	CHECK(caller_target_again(0, other) == NULL);
	for (int i = 0; i < 3; i++)
		CHECK(caller_target(0, "SHA256_Update", other, itself) == update);
	CHECK(caller_target_again(0, other) == NULL);
	CHECK(caller_target_again(0, program) == update);

	/* The program stays, but zlib may go. */
	if (zlib) {
		for (int i = 0; i < 3; i++)
			CHECK(caller_target(2, "zlibVersion", program, itself) == dlsym(zlib, "zlibVersion"));
		CHECK(caller_target_again(2, program) == NULL);
	}
	printf("%u failures\n", failures);
	return failures != 0;
}
