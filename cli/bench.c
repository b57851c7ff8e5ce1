/* bench.c - fastsha-bench, run by `fastsha bench`: hash functions in isolation, ours beside what people would use otherwise */
#include "../bench/cycles.h"
#include "cli.h"
#include "fastsha.h"
#include "plot.h"
#include "sha.h"
#include "sha1dc.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>

#ifdef HAVE_LIBCRYPTO
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#endif
#ifdef HAVE_BOTAN
#include <botan/ffi.h>
#endif
#ifdef HAVE_RHASH
#include <rhash.h>
#endif

static const char help[] =
	"Usage: fastsha bench [OPTION...]\n"
	"\n"
	"Measures hash functions on whole messages (init, update, final) in one process, in\n"
	"turn: the library's kernels, and what people would use otherwise. Cycles are core\n"
	"cycles: ticks of the time-stamp counter, scaled by a chain of dependent adds.\n"
	"\n"
	"  --list        the names, and what was not built in\n"
	"  --only NAMES  only these (sha256: all of that algorithm; sha256-fastsha,sha1)\n"
	"  --cpu LEVEL   the library's kernels may use no more than generic, ssse3, avx2,\n"
	"                avx512, each alone or with +sha\n"
	"  --csv         a line per function and message size\n"
	"  --json        the same as JSON\n"
	"  --plot FILE   a picture of cycles per byte over message sizes: .svg, .png\n"
	"  --dark        ... for a dark background\n"
	"  --help        this text\n"
	"\n"
	"Exit codes: 0; 1 two implementations disagree, or a picture cannot be drawn; 2 wrong\n"
	"usage; 130 interrupted.\n"
	"\n"
	"Examples:\n"
	"  fastsha bench\n"
	"  fastsha bench --only sha1,sha1dc --cpu avx2+sha\n"
	"  fastsha bench --csv > hashes.csv\n";

static const size_t sizes[] = { 64, 256, 1024, 4096, 16384, 131072 };
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 131072, DIGEST = 64 };

static unsigned char message[LARGEST + 64];

/* A hash function on the first SIZE bytes of the message; false where it leaves so short a message to another. */
typedef bool hash_function(unsigned char *digest, size_t size);

/* ---- Ours --------------------------------------------------------------------------------------------------------- */

static bool hash_sha1(sha_blocks *kernel, unsigned char *digest, size_t size)
{
	uint32_t state[SHA1_WORDS] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	unsigned char buffer[SHA_BLOCK];
	size_t used = sha_update(kernel, state, buffer, 0, message, size);

	sha_final(kernel, state, buffer, used, 8 * (uint64_t)size);
	sha_digest(digest, state, SHA1_WORDS);
	return true;
}

static bool hash_sha256(sha_blocks *kernel, unsigned char *digest, size_t size)
{
	uint32_t state[SHA256_WORDS] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	unsigned char buffer[SHA_BLOCK];
	size_t used = sha_update(kernel, state, buffer, 0, message, size);

	sha_final(kernel, state, buffer, used, 8 * (uint64_t)size);
	sha_digest(digest, state, SHA256_WORDS);
	return true;
}

static bool sha1_ours(unsigned char *digest, size_t size)
{
	return hash_sha1(sha1_best(), digest, size);
}

static bool sha1_portable(unsigned char *digest, size_t size)
{
	return hash_sha1(sha1_blocks_portable, digest, size);
}

static bool sha256_ours(unsigned char *digest, size_t size)
{
	return hash_sha256(sha256_best(), digest, size);
}

static bool sha256_portable(unsigned char *digest, size_t size)
{
	return hash_sha256(sha256_blocks_portable, digest, size);
}

/* With git's header-less use: all at once, detection on. The engine chooses by cpu_features, which the rows set. */
static bool sha1dc_ours(unsigned char *digest, size_t size)
{
	static struct sha1dc_ctx context;

	context.total = 0;
	memcpy(context.ihv, (const uint32_t[]){ 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 }, sizeof context.ihv);
	context.found_collision = context.safe_hash = context.reduced_round_coll = 0;
	context.detect_coll = context.ubc_check = 1;
	context.callback = NULL;
	return sha1dc_update(&context, message, size, true) && sha1dc_finish(&context, digest, true);
}

/* ---- Others -------------------------------------------------------------------------------------------------------- */

#ifdef HAVE_LIBCRYPTO
static bool sha1_libcrypto(unsigned char *digest, size_t size)
{
	SHA_CTX c;

	return SHA1_Init(&c) && SHA1_Update(&c, message, size) && SHA1_Final(digest, &c);
}

static bool sha256_libcrypto(unsigned char *digest, size_t size)
{
	SHA256_CTX c;

	return SHA256_Init(&c) && SHA256_Update(&c, message, size) && SHA256_Final(digest, &c);
}

static bool sha512_libcrypto(unsigned char *digest, size_t size)
{
	SHA512_CTX c;

	return SHA512_Init(&c) && SHA512_Update(&c, message, size) && SHA512_Final(digest, &c);
}

/* Only to be had through EVP; made once, since making it takes longer than hashing. */
static bool blake2b_libcrypto(unsigned char *digest, size_t size)
{
	static EVP_MD_CTX *c;

	if (!c) {
		c = EVP_MD_CTX_new();
		if (!c || !EVP_DigestInit_ex(c, EVP_blake2b512(), NULL))
			die(EXIT_TROUBLE, "libcrypto has no BLAKE2b");
	}
	return EVP_DigestInit_ex(c, NULL, NULL) && EVP_DigestUpdate(c, message, size) && EVP_DigestFinal_ex(c, digest, NULL);
}
#endif

#ifdef HAVE_BOTAN
static bool skein512_botan(unsigned char *digest, size_t size)
{
	static botan_hash_t hash;

	if (!hash && botan_hash_init(&hash, "Skein-512(512)", 0) != 0)
		die(EXIT_TROUBLE, "botan has no Skein-512");
	return botan_hash_update(hash, message, size) == 0 && botan_hash_final(hash, digest) == 0;
}
#endif

#ifdef HAVE_RHASH
static bool hash_rhash(rhash *context, unsigned id, unsigned char *digest, size_t size)
{
	if (!*context) {
		rhash_set_openssl_mask(0); /* its own C, not libcrypto's assembly; only the first initialization looks at it */
		rhash_library_init();
		*context = rhash_init(id);
		if (!*context)
			die(EXIT_TROUBLE, "librhash: no memory");
	}
	rhash_reset(*context);
	return rhash_update(*context, message, size) == 0 && rhash_final(*context, digest) == 0;
}

static bool sha512_rhash(unsigned char *digest, size_t size)
{
	static rhash context;

	return hash_rhash(&context, RHASH_SHA512, digest, size);
}

static bool edonr512_rhash(unsigned char *digest, size_t size)
{
	static rhash context;

	return hash_rhash(&context, RHASH_EDONR512, digest, size);
}
#endif

/* ---- The rows -------------------------------------------------------------------------------------------------------- */

static const struct row {
	const char *name; /* algorithm-implementation */
	const char *title;
	const char *group; /* whose digests are equal */
	hash_function *hash; /* NULL: not built in */
	unsigned needs;    /* CPU_*; rows that need some run with these only */
} rows[] = {
	{ "sha1-fastsha", "SHA-1", "sha1", sha1_ours, 0 },
#ifdef HAVE_LIBCRYPTO
	{ "sha1-libcrypto", "SHA-1 (libcrypto)", "sha1", sha1_libcrypto, 0 },
#else
	{ "sha1-libcrypto", "libssl-dev", "sha1", NULL, 0 },
#endif
	{ "sha1-portable", "SHA-1 (portable C)", "sha1", sha1_portable, 0 },
	{ "sha1dc-avx512", "SHA-1, detecting", "sha1", sha1dc_ours, CPU_SSSE3 | CPU_SHA | CPU_AVX2 | CPU_AVX512 },
	{ "sha1dc-avx2", "SHA-1, detecting", "sha1", sha1dc_ours, CPU_SSSE3 | CPU_SHA | CPU_AVX2 },
	{ "sha1dc-ssse3", "SHA-1, detecting", "sha1", sha1dc_ours, CPU_SSSE3 | CPU_SHA },
	{ "sha256-fastsha", "SHA-256", "sha256", sha256_ours, 0 },
#ifdef HAVE_LIBCRYPTO
	{ "sha256-libcrypto", "SHA-256 (libcrypto)", "sha256", sha256_libcrypto, 0 },
#else
	{ "sha256-libcrypto", "libssl-dev", "sha256", NULL, 0 },
#endif
	{ "sha256-portable", "SHA-256 (portable C)", "sha256", sha256_portable, 0 },
#ifdef HAVE_LIBCRYPTO
	{ "sha512-libcrypto", "SHA-512 (libcrypto)", "sha512", sha512_libcrypto, 0 },
#else
	{ "sha512-libcrypto", "libssl-dev", "sha512", NULL, 0 },
#endif
#ifdef HAVE_RHASH
	{ "sha512-librhash", "SHA-512 (librhash's C)", "sha512", sha512_rhash, 0 },
	{ "edonr512-librhash", "Edon-R-512 (librhash)", "edonr512", edonr512_rhash, 0 },
#else
	{ "sha512-librhash", "librhash-dev", "sha512", NULL, 0 },
	{ "edonr512-librhash", "librhash-dev", "edonr512", NULL, 0 },
#endif
#ifdef HAVE_BOTAN
	{ "skein512-botan", "Skein-512 (botan)", "skein512", skein512_botan, 0 },
#else
	{ "skein512-botan", "libbotan-2-dev", "skein512", NULL, 0 },
#endif
#ifdef HAVE_LIBCRYPTO
	{ "blake2b-libcrypto", "BLAKE2b-512 (libcrypto)", "blake2b", blake2b_libcrypto, 0 },
#else
	{ "blake2b-libcrypto", "libssl-dev", "blake2b", NULL, 0 },
#endif
};
enum { ROWS = sizeof rows / sizeof *rows };

/* One row's results. */
struct result {
	const struct row *row;
	char title[48];
	size_t size; /* being measured */
	unsigned features;
	unsigned char digest[DIGEST];
	bool refused;
	struct {
		double cycles_per_byte, low, high, gigabytes; /* per second; 0: refused */
		int quiet, samples;
	} at[SIZES];
};

static struct result results[ROWS];
static size_t used, done; /* rows; sizes */
static double best_adds, ghz;
static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	interrupted = number;
}

static void run_row(void *arg)
{
	struct result *r = arg;
	unsigned saved = cpu_features;

	cpu_features = r->features;
	r->refused = !r->row->hash(r->digest, r->size);
	cpu_features = saved;
}

/* NAMES: a list of rows or algorithms; NULL: all. */
static bool wanted(const struct row *row, const char *names)
{
	if (!names)
		return true;
	for (const char *item = names; *item;) {
		size_t n = strcspn(item, ",");

		if (n && strncmp(row->name, item, n) == 0 && (row->name[n] == 0 || row->name[n] == '-'))
			return true;
		item += n + (item[n] == ',');
	}
	return false;
}

static void check_names(const char *names)
{
	for (const char *item = names; *item;) {
		size_t n = strcspn(item, ",");
		char *one = format_string("%.*s", (int)n, item);
		bool known = false;

		for (size_t i = 0; i < ROWS && n; i++)
			known = known || wanted(&rows[i], one);
		if (n && !known)
			die(EXIT_USAGE, "--only: nothing is called '%s' (see fastsha bench --list)", one);
		free(one);
		item += n + (item[n] == ',');
	}
}

static void choose_rows(const char *names)
{
	for (size_t i = 0; i < ROWS; i++) {
		struct result *r = &results[used];
		const struct row *row = &rows[i];

		if (!row->hash || !wanted(row, names) || (cpu_features & row->needs) != row->needs)
			continue;
		*r = (struct result){ .row = row, .features = row->needs ? cpu_features & (row->needs | CPU_TRAITS) : cpu_features };
		if (row->needs) {
			unsigned saved = cpu_features;

			cpu_features = r->features;
			const char *kernel = sha1dc_kernel_name();
			cpu_features = saved;
			if (!kernel)
				continue;
			snprintf(r->title, sizeof r->title, "%s (fastsha, %s)", row->title, kernel + (strncmp(kernel, "sha1dc_", 7) == 0 ? 7 : 0));
		} else if (row->hash == sha1_ours || row->hash == sha256_ours) {
			const char *kernel = sha_kernel_name(row->hash == sha1_ours ? sha1_best() : sha256_best());
			snprintf(r->title, sizeof r->title, "%s (fastsha, %s)", row->title, strchr(kernel, '_') ? strchr(kernel, '_') + 1 : kernel);
		} else {
			snprintf(r->title, sizeof r->title, "%s", row->title);
		}
		used++;
	}
}

/* Before anything is timed: rows of a group agree on messages of all sizes. */
static void check_digests(void)
{
	for (size_t size = 0; size < 300; size++) {
		for (size_t i = 0; i < used; i++) {
			results[i].size = size;
			run_row(&results[i]);
			for (size_t k = 0; k < i; k++) {
				if (strcmp(results[k].row->group, results[i].row->group) != 0 || results[k].refused || results[i].refused)
					continue;
				if (memcmp(results[k].digest, results[i].digest, DIGEST) != 0)
					die(EXIT_TROUBLE, "%s and %s disagree on a message of %zu bytes", results[k].row->name, results[i].row->name, size);
			}
		}
	}
}

static void measure_size(size_t s)
{
	struct contender c[ROWS];
	size_t n = 0;

	for (size_t i = 0; i < used; i++) {
		results[i].size = sizes[s];
		run_row(&results[i]);
		if (!results[i].refused)
			c[n++] = (struct contender){ .name = results[i].row->name, .run = run_row, .arg = &results[i] };
	}
	if (!n)
		return;
	best_adds = measure(c, n, 401, 30000, 0.12 * (double)n);
	for (size_t i = 0; i < n; i++) {
		struct result *r = c[i].arg;

		r->at[s].cycles_per_byte = c[i].cycles / (double)sizes[s];
		r->at[s].low = c[i].low / (double)sizes[s];
		r->at[s].high = c[i].high / (double)sizes[s];
		r->at[s].gigabytes = (double)sizes[s] / c[i].seconds / 1e9;
		r->at[s].quiet = c[i].quiet;
		r->at[s].samples = c[i].samples;
		ghz = c[i].cycles / c[i].seconds / 1e9;
	}
}

/* ---- Results ------------------------------------------------------------------------------------------------------------ */

static const char *processor(void)
{
	static char name[128];
	char line[256];
	FILE *f = fopen("/proc/cpuinfo", "r");

	while (f && !name[0] && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
			snprintf(name, sizeof name, "%.100s", strchr(line, ':') + 2);
	}
	if (f)
		fclose(f);
	return name[0] ? name : "unknown processor";
}

static const char *const not_built_in[] = {
#ifndef HAVE_LIBCRYPTO
	"libcrypto (libssl-dev)",
#endif
#ifndef HAVE_RHASH
	"librhash (librhash-dev)",
#endif
#ifndef HAVE_BOTAN
	"botan (libbotan-2-dev)",
#endif
	NULL,
};

static void report_absent(FILE *out)
{
	for (size_t i = 0; not_built_in[i]; i++)
		fprintf(out, "not measured, since it was absent when this was built: %s\n", not_built_in[i]);
}

/* The rows in the order of their speed on the largest message measured. */
static int slower(const void *a, const void *b)
{
	const struct result *x = *(struct result *const *)a, *y = *(struct result *const *)b;

	return (x->at[done - 1].cycles_per_byte < y->at[done - 1].cycles_per_byte) - (x->at[done - 1].cycles_per_byte > y->at[done - 1].cycles_per_byte);
}

/* In the form of the table of 2013 that asked which hash ZFS should use. */
static void print_zfs_table(void)
{
	struct colours c = colours_of(stdout);
	struct result *order[ROWS], *base = NULL;

	for (size_t i = 0; i < used; i++) {
		order[i] = &results[i];
		if (strcmp(results[i].row->name, "sha256-libcrypto") == 0)
			base = &results[i];
	}
	if (!base || done == 0)
		return;
	qsort(order, used, sizeof *order, slower);
	printf("\n%s%-40s %12s   %s%s\n", c.bold, format_string("algorithm, %s messages", human_bytes((double)sizes[done - 1])), "cycles/byte",
	       "improvement over sha256 (ASM)", c.off);
	for (size_t i = 0; i < used; i++) {
		double cycles = order[i]->at[done - 1].cycles_per_byte;

		if (cycles > 0)
			printf("%-40s %12.2f   %.2fx%s\n", order[i]->title, cycles, base->at[done - 1].cycles_per_byte / cycles,
			       order[i] == base ? "  <- sha256 (ASM)" : "");
	}
}

static void print_table(void)
{
	struct colours c = colours_of(stdout);
	size_t quiet = 0, samples = 0;

	printf("%s; the library's kernels may use %s; %.2f GHz meanwhile\n", processor(), cpu_level_name(), ghz);
	puts("Cycles are core cycles: time-stamp counter ticks scaled by a calibrated chain of dependent adds. Medians; lower is better.\n");
	printf("%s%-40s", c.bold, "cycles/byte, by message size");
	for (size_t s = 0; s < done; s++)
		printf(" %8s", human_bytes((double)sizes[s]));
	printf(" %8s%s\n", "GB/s", c.off);
	for (size_t i = 0; i < used; i++) {
		printf("%-40s", results[i].title);
		for (size_t s = 0; s < done; s++) {
			if (results[i].at[s].cycles_per_byte > 0)
				printf(" %8.2f", results[i].at[s].cycles_per_byte);
			else
				printf(" %8s", "-");
			quiet += (size_t)results[i].at[s].quiet;
			samples += (size_t)results[i].at[s].samples;
		}
		printf(" %8.2f\n", done ? results[i].at[done - 1].gigabytes : 0);
	}
	puts("(GB/s: for the largest message; -: the library leaves so short a message to the original)");
	print_zfs_table();
	putchar('\n');
	if (samples)
		printf("%.0f %% of the samples were quiet (probe: %.1f adds a cycle); medians are over these\n", 100.0 * (double)quiet / (double)samples,
		       best_adds);
	fflush(stdout);
	if (samples && quiet < samples / 2)
		warn("warning: the machine was not idle");
	report_absent(stdout);
}

static void print_csv_row(const struct result *r, size_t s)
{
	const char *dash = strchr(r->row->name, '-');

	printf("%s,%.*s,%s,%zu,%.4f,%.4f,%.4f,%.4f,%d,%d\n", r->row->name, (int)(dash - r->row->name), r->row->name, dash + 1, sizes[s],
	       r->at[s].cycles_per_byte, r->at[s].low, r->at[s].high, r->at[s].gigabytes, r->at[s].quiet, r->at[s].samples);
}

static void print_json_results(void)
{
	bool first = true;

	fputs("{\n  \"processor\": ", stdout);
	print_json_string(stdout, processor());
	printf(",\n  \"level\": \"%s\",\n  \"ghz\": %.3f,\n", cpu_level_name(), ghz);
	fputs("  \"cycles\": \"time-stamp counter ticks scaled by a calibrated chain of dependent adds\",\n  \"absent\": [", stdout);
	for (size_t i = 0; not_built_in[i]; i++)
		printf("%s\"%s\"", i ? ", " : "", not_built_in[i]);
	fputs("],\n  \"results\": [", stdout);
	for (size_t s = 0; s < done; s++) {
		for (size_t i = 0; i < used; i++) {
			const struct result *r = &results[i];
			const char *dash = strchr(r->row->name, '-');

			if (!(r->at[s].cycles_per_byte > 0))
				continue;
			printf("%s{\"name\": \"%s\", \"algorithm\": \"%.*s\", \"implementation\": \"%s\", \"title\": ", first ? "\n    " : ",\n    ",
			       r->row->name, (int)(dash - r->row->name), r->row->name, dash + 1);
			print_json_string(stdout, r->title);
			printf(", \"bytes\": %zu, \"cycles_per_byte\": %.4f, \"low\": %.4f, \"high\": %.4f, \"gb_per_s\": %.4f, \"quiet\": %d, \"samples\": %d}",
			       sizes[s], r->at[s].cycles_per_byte, r->at[s].low, r->at[s].high, r->at[s].gigabytes, r->at[s].quiet, r->at[s].samples);
			first = false;
		}
	}
	puts("\n  ]\n}");
}

/* A colour for each algorithm, a point for each implementation of it. */
static bool plot_results(const char *file, bool dark)
{
	static const char *const colours[] = { "#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2", "#9d755d", "#ff9da6" };
	static const int points[] = { 7, 5, 9, 11 };
	const struct plot_colours *c = dark ? &plot_dark : &plot_light;
	FILE *g = plot_open(file, dark, 1000, 560);
	int colour = -1, point = 0;

	for (size_t i = 0; i < used; i++) {
		fprintf(g, "$row%zu << EOD\n", i);
		for (size_t s = 0; s < done; s++)
			if (results[i].at[s].cycles_per_byte > 0)
				fprintf(g, "%zu %.4f\n", sizes[s], results[i].at[s].cycles_per_byte);
		fputs("EOD\n", g);
	}
	fputs("set title ", g);
	plot_string(g, format_string("Hashing a message on %s, %.2f GHz: lower is better", processor(), ghz), 90);
	fprintf(g,
		"\nset logscale x 2\nset logscale y 2\n"
		"set xlabel 'message (bytes)'\nset ylabel 'core cycles per byte'\n"
		"set xrange [48:196608]\nset grid xtics ytics linetype 1 linewidth 0.7 linecolor rgb '%s'\n"
		"set xtics ('64' 64, '256' 256, '1 Ki' 1024, '4 Ki' 4096, '16 Ki' 16384, '128 Ki' 131072)\n"
		"set key outside right center Left reverse\nset pointsize 0.8\nplot ",
		c->grid);
	for (size_t i = 0; i < used; i++) {
		const char *dash = strchr(results[i].row->name, '-');
		size_t n = (size_t)(dash - results[i].row->name) + 1;

		if (i == 0 || strncmp(results[i].row->name, results[i - 1].row->name, n) != 0) {
			colour++;
			point = 0;
		} else {
			point++;
		}
		fprintf(g, "%s$row%zu using 1:2 with linespoints pointtype %d linewidth %.1f dashtype %d linecolor rgb '%s' title ", i ? ", " : "", i,
			points[point % 4], strstr(results[i].row->name, "-fastsha") || results[i].row->needs ? 2.5 : 1.5, point + 1, colours[colour % 7]);
		plot_string(g, results[i].title, 60);
	}
	fputc('\n', g);
	return plot_close(g, file);
}

static void list(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].hash)
			printf("%-20s%s\n", rows[i].name, (cpu_features & rows[i].needs) == rows[i].needs ? "" : " (not on this processor)");
		else
			printf("%-20s (absent when this was built: Debian's %s)\n", rows[i].name, rows[i].title);
	}
}

int main(int argc, char **argv)
{
	enum { LIST = 256, ONLY, CPU, CSV, JSON, PLOT, DARK };
	static const struct option options[] = {
		{ "list", no_argument, NULL, LIST }, { "only", required_argument, NULL, ONLY }, { "cpu", required_argument, NULL, CPU },
		{ "csv", no_argument, NULL, CSV },   { "json", no_argument, NULL, JSON },	{ "plot", required_argument, NULL, PLOT },
		{ "dark", no_argument, NULL, DARK }, { "help", no_argument, NULL, 'h' },	{ 0 },
	};
	const char *names = NULL, *level = NULL, *plot = NULL;
	bool just_list = false, csv = false, json = false, dark = false, ok = true;
	int c;

	command_name = "fastsha bench";
	atexit(check_output);
	while ((c = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
		switch (c) {
		case LIST:
			just_list = true;
			break;
		case ONLY:
			check_names(names = optarg);
			break;
		case CPU:
			level = optarg;
			break;
		case CSV:
			csv = true;
			break;
		case JSON:
			json = true;
			break;
		case PLOT:
			plot_check("--plot", plot = optarg);
			break;
		case DARK:
			dark = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			die_option(EXIT_USAGE, c, argv);
		}
	}
	if (argv[optind])
		die(EXIT_USAGE, "'%s': bench takes no arguments but options", argv[optind]);
	if (csv && json)
		die(EXIT_USAGE, "--csv and --json exclude each other");
	if (dark && !plot)
		die(EXIT_USAGE, "--dark makes sense only with --plot");
	if (!cpu_init(level))
		die(EXIT_USAGE, "--cpu: unknown level '%s' (known: generic, ssse3, avx2, avx512, each alone or with +sha)", level);
	if (just_list) {
		list();
		return 0;
	}
	for (size_t i = 0; i < sizeof message; i++)
		message[i] = (unsigned char)(i % 251);
	choose_rows(names);
	if (!used)
		die(EXIT_USAGE, "--only: nothing of this was built in, or can run at level %s", cpu_level_name());
	check_digests();
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	if (csv)
		puts("name,algorithm,implementation,bytes,cycles_per_byte,low,high,gb_per_s,quiet,samples");
	while (done < SIZES && !interrupted) {
		measure_size(done++);
		for (size_t i = 0; csv && i < used; i++)
			if (results[i].at[done - 1].cycles_per_byte > 0)
				print_csv_row(&results[i], done - 1);
		fflush(stdout);
	}
	if (interrupted)
		warn("interrupted; the results so far:");
	if (json)
		print_json_results();
	else if (!csv)
		print_table();
	if (csv)
		report_absent(stderr);
	if (plot)
		ok = plot_results(plot, dark);
	return interrupted ? 128 + interrupted : ok ? 0 : EXIT_TROUBLE;
}
