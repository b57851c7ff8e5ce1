/* inflate.c - the inflate door beside zlib and libdeflate on the objects of git packs, by size: inflate PACK... */
#include "cycles.h"
#include "fastsha.h"
#include "inflate.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

enum { CLASSES = 10, BATCH = 1000 };
static const size_t class_end[CLASSES] = {64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536, SIZE_MAX};

struct object_stream {
	const unsigned char *in;
	size_t in_size, size; /* all of the pack from here on, as git hands it over; uncompressed */
};

static struct {
	struct object_stream *streams;
	size_t n, taken;
} classes[CLASSES];

static unsigned char *out;
static int (*zlib_inflate)(z_streamp, int);
static struct libdeflate_decompressor *decompressor;

/* One object as git reads it: a stream begun, one call with room for a byte more, the stream ended. */
static void read_object(const struct object_stream *s, int (*how)(z_streamp, int))
{
	z_stream strm = {.next_in = (unsigned char *)s->in, .avail_in = s->in_size, .next_out = out, .avail_out = s->size + 1};

	if (inflateInit(&strm) != Z_OK || how(&strm, Z_FINISH) != Z_STREAM_END || strm.total_out != s->size)
		abort();
	inflateEnd(&strm);
}

static void run_zlib(void *arg)
{
	for (size_t i = 0, *class = arg; i < classes[*class].taken; i++)
		read_object(&classes[*class].streams[i], zlib_inflate);
}

static void run_door(void *arg)
{
	for (size_t i = 0, *class = arg; i < classes[*class].taken; i++)
		read_object(&classes[*class].streams[i], inflate);
}

static void run_libdeflate(void *arg)
{
	for (size_t i = 0, *class = arg; i < classes[*class].taken; i++) {
		const struct object_stream *s = &classes[*class].streams[i];
		size_t used, made;
		if (libdeflate_zlib_decompress_ex(decompressor, s->in, s->in_size, out, s->size + 1, &used, &made) != LIBDEFLATE_SUCCESS)
			abort();
	}
}

/* Our decoder alone. */
static void run_whole(void *arg)
{
	for (size_t i = 0, *class = arg; i < classes[*class].taken; i++) {
		const struct object_stream *s = &classes[*class].streams[i];
		size_t used, made;
		uint32_t adler;
		if (!inflate_whole(s->in, s->in_size, out, s->size + 1, &used, &made, &adler))
			abort();
	}
}

/* Sorts the pack's objects into the classes (gitformat-pack(5)). False: not a pack. */
static bool read_pack(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		return false;
	const unsigned char *pack = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0), *at = pack + 12;
	if (pack == MAP_FAILED || memcmp(pack, "PACK", 4))
		return false;
	unsigned count = (unsigned)pack[8] << 24 | pack[9] << 16 | pack[10] << 8 | pack[11];
	while (count--) {
		unsigned type = *at >> 4 & 7, shift = 4;
		size_t size = *at & 15;
		while (*at++ & 128) {
			size |= (size_t)(*at & 127) << shift;
			shift += 7;
		}
		if (type == 6)
			while (*at++ & 128)
				;
		else if (type == 7)
			at += 20;
		size_t left = pack + st.st_size - at, class = 0;
		out = realloc(out, size + 1);
		z_stream strm = {.next_in = (unsigned char *)at, .avail_in = left, .next_out = out, .avail_out = size + 1};
		if (inflateInit(&strm) != Z_OK || zlib_inflate(&strm, Z_FINISH) != Z_STREAM_END)
			return false;
		while (size >= class_end[class])
			class++;
		if (!(classes[class].n & (classes[class].n - 1)))
			classes[class].streams = realloc(classes[class].streams, 2 * (classes[class].n + 1) * sizeof(struct object_stream));
		classes[class].streams[classes[class].n++] = (struct object_stream){at, left, size};
		at += strm.total_in;
		inflateEnd(&strm);
	}
	return true;
}

int main(int argc, char **argv)
{
	double total[3] = {0};
	size_t objects = 0;

	zlib_inflate = dlsym(dlopen("libz.so.1", RTLD_NOW), "inflate");
	decompressor = libdeflate_alloc_decompressor();
	for (int i = 1; i < argc; i++)
		if (!read_pack(argv[i])) {
			fprintf(stderr, "%s: cannot read it\n", argv[i]);
			return 1;
		}
	out = malloc(1 << 28);
	for (size_t class = 0; class < CLASSES; class++)
		objects += classes[class].n;
	if (!objects) {
		fprintf(stderr, "usage: %s PACK...\n", argv[0]);
		return 1;
	}
	printf("%zu objects, zlib %s; nanoseconds for one of them with inflateInit and inflateEnd (median, quartiles); time over zlib's\n",
	       objects, zlibVersion());
	printf("%-12s %7s  %22s %22s %6s | without the stream: %8s %6s %10s %6s\n", "bytes", "share", "zlib", "door", "ratio", "decoder", "ratio",
	       "libdeflate", "ratio");
	for (size_t class = 0; class < CLASSES; class++) {
		struct contender c[] = {
			{.name = "zlib", .run = run_zlib, .arg = &class},
			{.name = "door", .run = run_door, .arg = &class},
			{.name = "decoder", .run = run_whole, .arg = &class},
			{.name = "libdeflate", .run = run_libdeflate, .arg = &class},
		};
		size_t n = classes[class].n;
		if (!n)
			continue;
		/* Spread over the packs: a thousand are more than a branch predictor learns by heart. */
		classes[class].taken = n < BATCH ? n : BATCH;
		for (size_t i = 0; i < classes[class].taken; i++)
			classes[class].streams[i] = classes[class].streams[i * n / classes[class].taken];
		measure(c, 4, 41, 1, 4.0);
		double ns[4];
		for (int i = 0; i < 4; i++)
			ns[i] = c[i].seconds * 1e9 / classes[class].taken;
		char label[24], spread[2][40];
		for (int i = 0; i < 2; i++)
			snprintf(spread[i], sizeof(spread[i]), "%.0f (%.0f .. %.0f)", ns[i], ns[i] * c[i].low / c[i].cycles, ns[i] * c[i].high / c[i].cycles);
		if (class_end[class] == SIZE_MAX)
			snprintf(label, sizeof(label), "larger");
		else
			snprintf(label, sizeof(label), "< %zu", class_end[class]);
		printf("%-12s %6.1f%%  %22s %22s %6.2f | %28.0f %6.2f %10.0f %6.2f\n", label, 100.0 * n / objects, spread[0], spread[1],
		       ns[1] / ns[0], ns[2], ns[2] / ns[0], ns[3], ns[3] / ns[0]);
		for (int i = 0; i < 2; i++)
			total[i] += ns[i] * n;
		total[2] += ns[3] * n;
	}
	printf("every object once: zlib %.1f ms, door %.1f ms, ratio %.2f\n", total[0] * 1e-6, total[1] * 1e-6, total[1] / total[0]);
	return 0;
}
