/* bench/sha.c - what a call of libcrypto's digest functions costs, by size, as the process finds them and in a libcrypto of its own */
#include "cycles.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * LD_PRELOAD=build/libfastsha.so build/bench/sha LIBRARY [NAME...]: libcrypto comes late, by dlopen; with LIBRARY in LD_PRELOAD, too,
 * it is there from the start. The original is a copy of LIBRARY in a namespace of its own, into which nothing is preloaded. Rows: update (a call
 * on a context that goes on), digest (init, update, final), evp-update, evp-digest, one-shot; only those whose name begins with a NAME.
 * Not to be compared: evp-digest with libcrypto from the start. There the two copies differ without any library of ours, too (0.4 to 1.3 for
 * the same code).
 */
struct side {
	int (*init)(void *), (*update)(void *, const void *, size_t), (*final)(unsigned char *, void *);
	unsigned char *(*one_shot)(const void *, size_t, unsigned char *);
	int (*evp_init)(void *, const void *, void *), (*evp_update)(void *, const void *, size_t), (*evp_final)(void *, unsigned char *, unsigned *);
	const void *evp_type;
	void *evp;
	uint64_t context[32];
	size_t size;
};

static unsigned char data[16384 + 64], digest[64];

static void run_update(void *arg)
{
	struct side *s = arg;

	s->update(s->context, data, s->size);
}

static void run_digest(void *arg)
{
	struct side *s = arg;

	s->init(s->context);
	s->update(s->context, data, s->size);
	s->final(digest, s->context);
}

static void run_evp_update(void *arg)
{
	struct side *s = arg;

	s->evp_update(s->evp, data, s->size);
}

static void run_evp_digest(void *arg)
{
	struct side *s = arg;

	s->evp_init(s->evp, s->evp_type, NULL);
	s->evp_update(s->evp, data, s->size);
	s->evp_final(s->evp, digest, NULL);
}

static void run_one_shot(void *arg)
{
	struct side *s = arg;

	s->one_shot(data, s->size, digest);
}

static void *find(void *handle, const char *format, const char *name)
{
	char symbol[40];

	snprintf(symbol, sizeof symbol, format, name);
	void *found = dlsym(handle, symbol);

	if (!found)
		fprintf(stderr, "%s is missing\n", symbol);
	return found ? found : (exit(1), NULL);
}

/* LIBRARY gives what no preloaded library defines. */
static void fill(struct side *s, void *handle, void *library, const char *name, const char *evp_name)
{
	s->init = find(library, "%s_Init", name);
	s->update = find(handle, "%s_Update", name);
	s->final = find(handle, "%s_Final", name);
	s->one_shot = find(handle, "%s", name);
	s->evp_init = find(library, "EVP_DigestInit_ex%s", "");
	s->evp_update = find(library, "EVP_DigestUpdate%s", "");
	s->evp_final = find(library, "EVP_DigestFinal_ex%s", "");
	s->evp_type = ((void *(*)(void))find(library, "%s", evp_name))();
	s->evp = ((void *(*)(void))find(library, "EVP_MD_CTX_new%s", ""))();
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 0, 1, 3, 16, 55, 64, 65, 128, 256, 1024, 16384 };
	static const char *const algorithms[][2] = { { "SHA1", "EVP_sha1" }, { "SHA256", "EVP_sha256" } };
	static const struct {
		const char *name;
		void (*run)(void *);
	} rows[] = { { "update", run_update },
		     { "digest", run_digest },
		     { "evp-update", run_evp_update },
		     { "evp-digest", run_evp_digest },
		     { "one-shot", run_one_shot } };
	void *own = argc > 1 ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!own || !library) {
		fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: bench/sha LIBRARY [NAME...]");
		return 2;
	}
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 7);
	printf("%-24s %6s %9s %9s %6s\n", "cycles a call", "bytes", "original", "with us", "ratio");
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
		for (size_t a = 0; a < 2; a++) {
			static struct side original, ours;
			char label[40];
			bool wanted = argc == 2;

			snprintf(label, sizeof label, "%s-%s", rows[r].name, algorithms[a][0]);
			for (int i = 2; i < argc; i++)
				wanted |= strncmp(label, argv[i], strlen(argv[i])) == 0;
			if (!wanted)
				continue;
			fill(&original, own, own, algorithms[a][0], algorithms[a][1]);
			fill(&ours, RTLD_DEFAULT, library, algorithms[a][0], algorithms[a][1]);
			for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
				struct contender c[] = { { .name = "original", .run = rows[r].run, .arg = &original },
							 { .name = "ours", .run = rows[r].run, .arg = &ours } };

				original.size = ours.size = sizes[i];
				/* Ours first: the second one does not read its configuration, which is when the door opens. Apparently two libcs share the
				 * thread's memory for pthread_setspecific, and OpenSSL thinks that it is being initialised already. */
				for (struct side *s = &ours;; s = &original) {
					s->init(s->context);
					s->evp_init(s->evp, s->evp_type, NULL);
					if (s == &original)
						break;
				}
				measure(c, 2, 101, 10000, 1);
				printf("%-24s %6zu %9.1f %9.1f %6.3f\n", label, sizes[i], c[0].cycles, c[1].cycles, c[0].cycles / c[1].cycles);
			}
		}
	fflush(stdout);
	_exit(0); /* the destructors of libraries in two namespaces get into each other's way */
}
