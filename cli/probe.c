/* probe.c - fastsha-probe: what `fastsha doctor` learns from inside a process: the libraries found, and what each door gains */
#include "../bench/cycles.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/*
 *	fastsha-probe find       a line "library<TAB>path<TAB>version" for each library that a door serves
 *	fastsha-probe measure    run with libfastsha.so and those libraries in LD_PRELOAD: a line "what<TAB>bytes<TAB>door<TAB>seconds of
 *	                         the original<TAB>seconds with us" for each function
 *
 * Both functions of a pair are called in one process, in turn: the one that a program's symbol search finds, which is the library's where it
 * has taken it over; and the original, from copies of libcrypto, libz and libc in a namespace of their own, into which nothing is preloaded:
 * zlib's inflate calls crc32 by its name, and would call ours.
 */

/* As in zlib.h, which need not be installed. */
struct z_stream {
	const unsigned char *next_in;
	unsigned avail_in;
	unsigned long total_in;
	unsigned char *next_out;
	unsigned avail_out;
	unsigned long total_out;
	const char *msg;
	void *state;
	void *(*zalloc)(void *, unsigned, unsigned);
	void (*zfree)(void *, void *);
	void *opaque;
	int data_type;
	unsigned long adler, reserved;
};
enum { Z_FINISH = 4 };

static const char *const crypto_names[] = { "libcrypto.so.3", "libcrypto.so.1.1" };

static void print_library(const char *name, void *handle, const char *version)
{
	struct link_map *map;

	if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
		printf("%s\t%s\t%s\n", name, map->l_name, version ? version : "");
}

static int find(void)
{
	void *crypto = dlopen(crypto_names[0], RTLD_NOW), *zlib = dlopen("libz.so.1", RTLD_NOW);

	if (!crypto)
		crypto = dlopen(crypto_names[1], RTLD_NOW);
	const char *(*crypto_version)(int) = crypto ? dlsym(crypto, "OpenSSL_version") : NULL;
	const char *(*zlib_version)(void) = zlib ? dlsym(zlib, "zlibVersion") : NULL;

	print_library("libcrypto", crypto, crypto_version ? crypto_version(0) : NULL);
	print_library("zlib", zlib, zlib_version ? zlib_version() : NULL);
	return 0;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

enum { LARGE = 16384 };
static unsigned char data[LARGE], copy[LARGE], packed[2 * LARGE];

/* Text in which words repeat, as in files that people keep in git: compresses to about a third. */
static void fill_data(void)
{
	static const char *const words[] = { "the ",  "commit ", "tree ", "static ", "int ",    "return ", "if (",   "NULL",  ");\n\t",  "struct ",
					     "hash ", "object ", "\n}\n", "void ",   "const *", "#include ", "blob ", "value", "size_t ", "error: " };
	uint64_t x = 0x9e3779b97f4a7c15;
	size_t at = 0;

	while (at < LARGE) {
		x = x * 6364136223846793005 + 1442695040888963407;
		const char *word = words[(x >> 33) % (sizeof words / sizeof *words)];
		size_t n = strlen(word);

		if (n > LARGE - at)
			n = LARGE - at;
		memcpy(data + at, word, n);
		at += n;
		if ((x >> 50) % 3 == 0 && at < LARGE)
			data[at++] = (unsigned char)('a' + (x >> 40) % 26);
	}
	memcpy(copy, data, LARGE);
}

struct sha_job {
	int (*init)(void *), (*update)(void *, const void *, size_t), (*final)(unsigned char *, void *);
	size_t size;
};

static void run_sha(void *arg)
{
	struct sha_job *j = arg;
	uint64_t context[32];
	unsigned char digest[64];

	j->init(context);
	j->update(context, data, j->size);
	j->final(digest, context);
}

struct memcmp_job {
	int (*memcmp)(const void *, const void *, size_t);
	size_t size;
};

static void run_memcmp(void *arg)
{
	struct memcmp_job *j = arg;
	volatile int result = j->memcmp(data, copy, j->size);

	(void)result;
}

struct checksum_job {
	unsigned long (*checksum)(unsigned long, const unsigned char *, unsigned);
	size_t size;
};

static void run_checksum(void *arg)
{
	struct checksum_job *j = arg;
	volatile unsigned long result = j->checksum(1, data, (unsigned)j->size);

	(void)result;
}

struct inflate_job {
	int (*init)(struct z_stream *, const char *, int), (*inflate)(struct z_stream *, int), (*end)(struct z_stream *);
	const char *version;
	size_t size, packed_size;
};

/* As git does for an object in a pack: all input at once, room for one byte more than the object has. */
static void run_inflate(void *arg)
{
	struct inflate_job *j = arg;
	static unsigned char to[LARGE + 1];
	struct z_stream s = { .next_in = packed, .avail_in = (unsigned)j->packed_size, .next_out = to, .avail_out = (unsigned)j->size + 1 };

	j->init(&s, j->version, sizeof s);
	j->inflate(&s, Z_FINISH);
	j->end(&s);
}

/* One function, the original's and ours; jobs of whatever kind behind ORIGINAL and OURS. */
static void compare(const char *what, size_t size, const char *door, void (*run)(void *), void *original, void *ours)
{
	struct contender c[] = { { .run = run, .arg = original }, { .run = run, .arg = ours } };

	measure(c, 2, 2001, 20000, 0.14);
	printf("%s\t%zu\t%s\t%.4g\t%.4g\n", what, size, door, c[0].seconds, c[1].seconds);
}

static void *lookup(void *handle, const char *name, const char *suffix)
{
	char full[64];

	snprintf(full, sizeof full, "%s%s", name, suffix);
	return dlsym(handle, full);
}

static void measure_sha(void *crypto, const char *name, const char *label, size_t size)
{
	struct sha_job job[2];

	for (int i = 0; i < 2; i++) {
		void *where = i ? RTLD_DEFAULT : crypto;

		job[i] = (struct sha_job){ lookup(where, name, "_Init"), lookup(where, name, "_Update"), lookup(where, name, "_Final"), size };
		if (!job[i].init || !job[i].update || !job[i].final)
			return;
	}
	compare(label, size, "libcrypto", run_sha, &job[0], &job[1]);
}

static void measure_memcmp(void *libc, size_t size)
{
	struct memcmp_job job[2] = { { dlsym(libc, "memcmp"), size }, { dlsym(RTLD_DEFAULT, "memcmp"), size } };

	if (job[0].memcmp && job[1].memcmp)
		compare("memcmp", size, "memcmp", run_memcmp, &job[0], &job[1]);
}

static void measure_checksum(void *zlib, const char *name, size_t size)
{
	struct checksum_job job[2] = { { dlsym(zlib, name), size }, { dlsym(RTLD_DEFAULT, name), size } };

	if (job[0].checksum && job[1].checksum)
		compare(name, size, "checksum", run_checksum, &job[0], &job[1]);
}

static void measure_inflate(void *zlib, size_t size)
{
	int (*compress)(unsigned char *, unsigned long *, const unsigned char *, unsigned long) = dlsym(zlib, "compress");
	const char *(*version)(void) = dlsym(zlib, "zlibVersion");
	unsigned long packed_size = sizeof packed;
	struct inflate_job job[2];

	if (!compress || !version || compress(packed, &packed_size, data, size) != 0)
		return;
	for (int i = 0; i < 2; i++) {
		void *where = i ? RTLD_DEFAULT : zlib;

		job[i] = (struct inflate_job){ dlsym(where, "inflateInit_"), dlsym(where, "inflate"), dlsym(where, "inflateEnd"), version(), size,
					       packed_size };
		if (!job[i].init || !job[i].inflate || !job[i].end)
			return;
	}
	compare("inflate", size, "inflate", run_inflate, &job[0], &job[1]);
}

/* FILE in the namespace of originals, which the first call makes. */
static void *open_original(const char *file)
{
	static Lmid_t space = LM_ID_NEWLM;
	void *handle = dlmopen(space, file, RTLD_NOW);

	if (handle && space == LM_ID_NEWLM && dlinfo(handle, RTLD_DI_LMID, &space) != 0)
		space = LM_ID_NEWLM;
	return handle;
}

static int measure_all(void)
{
	void *libc = open_original("libc.so.6"), *zlib = open_original("libz.so.1"), *crypto = NULL;

	for (size_t i = 0; i < sizeof crypto_names / sizeof *crypto_names && !crypto; i++)
		if (dlopen(crypto_names[i], RTLD_NOW | RTLD_GLOBAL))
			crypto = open_original(crypto_names[i]);
	fill_data();
	if (crypto) {
		measure_sha(crypto, "SHA1", "SHA-1", 64);
		measure_sha(crypto, "SHA1", "SHA-1", LARGE);
		measure_sha(crypto, "SHA256", "SHA-256", 64);
		measure_sha(crypto, "SHA256", "SHA-256", LARGE);
	}
	if (libc) {
		measure_memcmp(libc, 20);
		measure_memcmp(libc, 4096);
	}
	if (zlib && dlopen("libz.so.1", RTLD_NOW | RTLD_GLOBAL)) {
		measure_inflate(zlib, 500);
		measure_inflate(zlib, LARGE);
		measure_checksum(zlib, "crc32", 4096);
		measure_checksum(zlib, "adler32", 4096);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "find") == 0)
		return find();
	if (argc == 2 && strcmp(argv[1], "measure") == 0)
		return measure_all();
	fputs("fastsha-probe is a part of `fastsha doctor`\n", stderr);
	return 2;
}
