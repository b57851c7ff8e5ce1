/* sha.c - SHA-1 and SHA-256 kernels, and updates of all sizes, in core cycles: ours beside libcrypto's */
#include "cycles.h"
#include "fastsha.h"
#include "sha.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { BLOCKS = 256, BUFFER = BLOCKS * SHA_BLOCK };

typedef int init_function(void *);
typedef int update_function(void *, const void *, size_t);

static unsigned char data[BUFFER + 64];

struct job {
	sha_blocks *kernel;
	update_function *update;
	size_t size; /* of an update */
	uint32_t context[32];
};

static void run_kernel(void *arg)
{
	struct job *j = arg;

	j->kernel(j->context, data + 1, BLOCKS);
}

/* BUFFER bytes in pieces. */
static void run_updates(void *arg)
{
	struct job *j = arg;

	for (size_t at = 0; at + j->size <= BUFFER; at += j->size)
		j->update(j->context, data + at, j->size);
}

static void *symbol(void *handle, const char *name)
{
	void *p = dlsym(handle, name);

	if (!p) {
		printf("%s is missing\n", name);
		exit(1);
	}
	return p;
}

static void print(const struct contender *c, double per)
{
	printf("  %-28s %8.1f cycles   (quartiles %.1f to %.1f, %d of %d samples quiet)\n", c->name, c->cycles / per, c->low / per, c->high / per,
	       c->quiet, c->samples);
}

/*
 * sha [LIBRARY [SECONDS]]: LIBRARY is the libcrypto beside which ours runs. With LD_PRELOAD="libfastsha.so LIBRARY" the door's updates are
 * measured, too (with libfastsha.so alone as for a libcrypto that comes late).
 */
int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "libcrypto.so.3";
	double seconds = argc > 2 ? atof(argv[2]) : 2;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	static const struct {
		const char *name, *init, *update;
		sha_blocks *portable, *ni;
	} algorithms[] = {
		{ "SHA-1", "SHA1_Init", "SHA1_Update", sha1_blocks_portable, sha1_blocks_ni },
		{ "SHA-256", "SHA256_Init", "SHA256_Update", sha256_blocks_portable, sha256_blocks_ni },
	};
	static const size_t sizes[] = { 1, 3, 8, 16, 55, 64, 65, 256, 1024, 16384 };

	if (!library) {
		printf("%s\n", dlerror());
		return 1;
	}
	cpu_init(NULL);
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i % 251);
	for (size_t i = 0; i < 2; i++) {
		struct job j[3] = { { .kernel = algorithms[i].portable }, { .kernel = algorithms[i].ni },
				    { .update = symbol(library, algorithms[i].update), .size = BUFFER } };
		struct contender c[3] = { { .name = "portable C", .run = run_kernel, .arg = &j[0] },
					  { .name = "libcrypto's update of 16 KiB", .run = run_updates, .arg = &j[2] },
					  { .name = "SHA-NI", .run = run_kernel, .arg = &j[1] } };
		size_t n = cpu_features & CPU_SHA ? 3 : 2;

		((init_function *)symbol(library, algorithms[i].init))(j[2].context);
		measure(c, n, 1001, 100000, seconds);
		printf("%s, a block of %d bytes\n", algorithms[i].name, SHA_BLOCK);
		for (size_t k = 0; k < n; k++)
			print(&c[k], BLOCKS);
	}
	void *preloaded = dlsym(RTLD_DEFAULT, "SHA256_Update");

	if (!preloaded || preloaded == dlsym(library, "SHA256_Update")) {
		printf("updates: run with LD_PRELOAD=libfastsha.so to compare them\n");
		return 0;
	}
	for (size_t i = 0; i < 2; i++) {
		printf("%s_Update, cycles a call: libcrypto's, ours, ratio\n", algorithms[i].name);
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			struct job j[2] = { { .update = symbol(library, algorithms[i].update), .size = sizes[s] },
					    { .update = symbol(RTLD_DEFAULT, algorithms[i].update), .size = sizes[s] } };
			struct contender c[2] = { { .name = "libcrypto's", .run = run_updates, .arg = &j[0] },
						  { .name = "ours", .run = run_updates, .arg = &j[1] } };
			double calls = BUFFER / sizes[s];

			for (size_t k = 0; k < 2; k++)
				((init_function *)symbol(library, algorithms[i].init))(j[k].context);
			measure(c, 2, 1001, 50000, seconds / 4);
			printf("  %5zu bytes %9.1f %9.1f   %.3f   (quartiles %.1f to %.1f, %.1f to %.1f)\n", sizes[s], c[0].cycles / calls,
			       c[1].cycles / calls, c[0].cycles / c[1].cycles, c[0].low / calls, c[0].high / calls, c[1].low / calls,
			       c[1].high / calls);
		}
	}
	return 0;
}
