/* test_deflate.c - the deflate door: the same content back, from streams fed and emptied in pieces, and sizes beside zlib's */
#include "fastsha.h"
#include "report.h"
#include "zlib_pair.h"

enum { MAX = 300000 };

void zlib_doors_init(void);

static unsigned char data[MAX], packed[2 * MAX], back[MAX + 1];
static uint64_t random_state = 88172645463325252ull;

static size_t below(size_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % n;
}

static void make_data(size_t size)
{
	static const char *const words[] = {"tree ", "parent ", "static int ", "return 0;\n", "\t", "the ", "#include <", "struct ", "0123456789abcdef"};
	int noise = below(4) == 0;

	for (size_t i = 0; i < size;)
		if (noise || below(6) == 0)
			data[i++] = below(256);
		else
			for (const char *w = words[below(9)]; *w && i < size;)
				data[i++] = *w++;
}

static void fail(const char *what, long a, long b)
{
	fprintf(stderr, "%s: %ld, expected %ld (%s)\n", what, a, b, pair_case);
	abort();
}

/* The stream that comes out has SIZE bytes of data in it, no more and no less. */
static void check(size_t packed_size, size_t size)
{
	z_stream s = {.next_in = packed, .avail_in = packed_size, .next_out = back, .avail_out = size + 1};

	if (inflateInit(&s) != Z_OK)
		abort();
	int result = zlib_inflate(&s, Z_FINISH);
	if (result != Z_STREAM_END || s.total_out != size || s.total_in != packed_size || memcmp(data, back, size))
		fail("what came back", result, Z_STREAM_END);
	inflateEnd(&s);
}

/* Data through an initialised stream: a head without flush, the rest with FLUSH or Z_FINISH, output in pieces. */
static void run(z_streamp s, size_t size, size_t head, size_t piece, int flush)
{
	s->next_in = data;
	s->avail_in = head;
	s->next_out = packed;
	s->avail_out = sizeof(packed);
	if (head && deflate(s, Z_NO_FLUSH) != Z_OK)
		fail("the head", 0, Z_OK);
	s->avail_in = size - head;
	int result = Z_OK, calls = 0;
	do {
		s->avail_out = packed + sizeof(packed) - s->next_out;
		if (s->avail_out > piece)
			s->avail_out = piece;
		if (!s->avail_in)
			flush = Z_FINISH;
		result = deflate(s, flush);
		if ((result != Z_OK && result != Z_STREAM_END) || s->total_out != (uLong)(s->next_out - packed) || calls++ > 2000000)
			fail("deflate", result, Z_STREAM_END);
	} while (result != Z_STREAM_END);
	if (s->total_in != size || s->avail_in || s->adler != zlib_adler32(1, data, size))
		fail("total_in", s->total_in, size);
	check(s->total_out, size);
	/* Ended: no more of anything. */
	unsigned char byte;
	s->next_out = &byte;
	s->avail_out = 1;
	result = deflate(s, Z_FINISH);
	if (result != Z_STREAM_END || s->avail_out != 1)
		fail("after the end", result, Z_STREAM_END);
}

/* What fits for zlib, fits: compress2 fails where one call of deflate is not enough. Noise of two kinds by turns makes libdeflate cut blocks. */
static void into_bound(void)
{
	unsigned long calls = atomic_load(&doors[DOOR_DEFLATE].calls), tries = 0;

	for (unsigned bias = 0; bias < 45; bias += 5)
		for (int level = 1; level < 10; level++)
			for (size_t size = bias ? MAX : 0; size <= MAX; size = size * 3 + 7) {
				uLongf room = compressBound(size);

				for (size_t i = 0; i < size; i++) {
					data[i] = below(256);
					if (below(100) < bias)
						data[i] = (data[i] & ~1) | (i / 5000 & 1);
				}
				snprintf(pair_case, sizeof(pair_case), "%zu bytes of noise, bias %u, level %d", size, bias, level);
				int result = compress2(packed, &room, data, size, level);
				if (result != Z_OK)
					fail("compress2 into compressBound", result, Z_OK);
				check(room, size);
				tries++;
			}
	calls = atomic_load(&doors[DOOR_DEFLATE].calls) - calls;
	printf("%lu times noise into compressBound, %lu compressed here\n", tries, calls);
	if (calls < tries / 2)
		exit(1);
}

int main(void)
{
	size_t ours[10] = {0}, theirs[10] = {0};
	int n = getenv("CHECK_LONG") ? 40000 : 2000;

	zlib_find();
	report_start("/dev/null");
	doors[DOOR_DEFLATE].wanted = true;
	zlib_doors_init();
	for (int i = 0; i < n; i++) {
		size_t size = below(3) ? below(3000) : below(MAX), head = below(2) ? below(size < 140 ? size + 1 : 140) : 0;
		size_t piece = below(2) ? sizeof(packed) : 1 + below(5000);
		int level = (int)below(11) - 1, flush = below(4) ? Z_FINISH : (int[]){Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH}[below(3)];
		z_stream s = {0}, copy;

		snprintf(pair_case, sizeof(pair_case), "%d: %zu bytes, head %zu, pieces of %zu, level %d, flush %d", i, size, head, piece, level, flush);
		make_data(size);
		if ((below(4) ? deflateInit(&s, level) : deflateInit2(&s, level, Z_DEFLATED, below(2) ? 15 : 12, 8, below(3) ? 0 : Z_FIXED)) != Z_OK)
			abort();
		run(&s, size, head, piece, flush);
		if (below(2)) {
			if (deflateReset(&s) != Z_OK)
				abort();
			run(&s, size, 0, piece, Z_FINISH);
		}
		/* A copy in the middle of the output, and a stream that nobody ends properly. */
		if (below(4) == 0 && size > 100) {
			if (deflateReset(&s) != Z_OK)
				abort();
			s.next_in = data;
			s.avail_in = size;
			s.next_out = packed;
			s.avail_out = 20;
			if (deflate(&s, Z_FINISH) == Z_OK && deflateCopy(&copy, &s) == Z_OK) {
				deflateEnd(&s);
				copy.avail_out = sizeof(packed) - 20;
				if (deflate(&copy, Z_FINISH) != Z_STREAM_END)
					fail("the copy", 0, Z_STREAM_END);
				check(copy.total_out, size);
				deflateEnd(&copy);
			}
		}
		deflateEnd(&s);
	}
	unsigned long calls = atomic_load(&doors[DOOR_DEFLATE].calls);
	printf("%d streams came back as they were, %lu compressed here\n", n, calls);
	if (calls < (unsigned long)n / 3)
		return 1;

	into_bound();

	/* Text, as sources are. */
	int rc = 0;
	for (int level = 1; level < 10; level++)
		for (size_t size = 100; size < MAX; size *= 3) {
			z_stream s = {0};
			for (size_t i = 0; i < size;)
				i += snprintf((char *)data + i, size - i, "\tif (%c%zu < %zu)\n\t\treturn f(%zu, \"%zx\");\n", (int)('a' + below(20)), below(100), below(9), i % 977, below(4000));
			deflateInit(&s, level);
			run(&s, size, 0, sizeof(packed), Z_FINISH);
			ours[level] += s.total_out;
			deflateReset(&s);
			s.next_in = data, s.avail_in = size, s.next_out = packed, s.avail_out = sizeof(packed);
			if (zlib_deflate(&s, Z_FINISH) != Z_STREAM_END)
				abort();
			theirs[level] += s.total_out;
			deflateEnd(&s);
		}
	for (int level = 1; level < 10; level++) {
		printf("level %d: %zu bytes, zlib %zu, %+.1f %%\n", level, ours[level], theirs[level], 100.0 * ours[level] / theirs[level] - 100);
		rc |= ours[level] > theirs[level] + theirs[level] / 50;
	}
	return rc;
}
