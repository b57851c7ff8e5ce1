/* test_zlib.c - the inflate and checksum doors against the zlib behind them, every field and result compared after every call */
#include <libdeflate.h>
#include <limits.h>
#include <unistd.h>

#include "fastsha.h"
#include "inflate.h"
#include "report.h"
#include "zlib_pair.h"

enum { MAX_DATA = 200000, MAX_STREAM = 260000 };

static unsigned char *data, *in_end, *stream;
static size_t stream_size;
static struct pair pair;
static unsigned long calls;

static uint64_t random_state = 1;

static uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dull;
}

static size_t below(size_t n)
{
	return (random64() >> 11) % n;
}

/* The stream, laid so that it ends at the guard page. */
static const unsigned char *at_guard(size_t size)
{
	memcpy(in_end - size, stream, size);
	return in_end - size;
}

/* Data of every kind that compressors treat differently: text, noise, runs, few symbols, records. */
static void make_data(size_t size)
{
	static const char *const words[] = {"tree ", "parent ", "author ", "static int ", "return 0;\n", "\t", "the ", "#include <", "struct ", "0123456789abcdef"};
	int kind = below(7);

	for (size_t i = 0; i < size;) {
		if (kind == 0 || (kind == 5 && below(4) == 0)) {
			data[i++] = random64();
		} else if (kind == 1) {
			size_t n = 1 + below(700);
			int c = random64();
			while (n-- && i < size)
				data[i++] = c;
		} else if (kind == 2) {
			data[i++] = "ab\n"[below(3)];
		} else if (kind == 3 && i > 40) {
			size_t n = 1 + below(300), distance = 1 + below(i < 32768 ? i : 32768);
			for (; n-- && i < size; i++)
				data[i] = data[i - distance];
			if (i < size)
				data[i++] = random64();
		} else {
			for (const char *w = words[below(10)]; *w && i < size;)
				data[i++] = *w++;
		}
	}
}

static void compress_data(size_t size, int level, int window_bits, int mem_level, int strategy)
{
	z_stream s = {0};

	if (deflateInit2(&s, level, Z_DEFLATED, window_bits, mem_level, strategy) != Z_OK)
		abort();
	s.next_in = data;
	s.avail_in = size;
	s.next_out = stream;
	s.avail_out = MAX_STREAM;
	if (below(8) == 0) {
		s.avail_in = below(size + 1);
		zlib_deflate(&s, below(2) ? Z_FULL_FLUSH : Z_SYNC_FLUSH);
		s.avail_in = data + size - s.next_in;
	}
	if (zlib_deflate(&s, Z_FINISH) != Z_STREAM_END)
		abort();
	stream_size = s.total_out;
	deflateEnd(&s);
}

/* The calls that may follow on a stream, whatever its state. */
static void something_else(struct pair *p)
{
	static struct pair copy;
	int what = below(13), ours, theirs;

	switch (what) {
	case 0:
		ours = inflateReset(&p->ours), theirs = inflateReset(&p->theirs);
		break;
	case 1: {
		int bits = (int[]){15, -15, 31, 47, 0, 9, 12}[below(7)];
		ours = inflateReset2(&p->ours, bits), theirs = inflateReset2(&p->theirs, bits);
		break;
	}
	case 2:
		copy.out[0] = p->out[0];
		copy.out[1] = p->out[1];
		ours = inflateCopy(&copy.ours, &p->ours), theirs = inflateCopy(&copy.theirs, &p->theirs);
		if (theirs == Z_OK) {
			pair_compare(&copy, "inflateCopy", ours, theirs);
			pair_state(&copy);
			pair_inflate(&copy, in_end - 1, 1, 0, 1, Z_NO_FLUSH);
			pair_end(&copy);
		}
		break;
	case 3:
		ours = inflateSync(&p->ours), theirs = inflateSync(&p->theirs);
		break;
	case 4: {
		int bits = below(2) ? 16 : below(17), bit_value = bits == 16 ? 0x9c78 : random64() & 0xffff;
		ours = inflatePrime(&p->ours, bits, bit_value), theirs = inflatePrime(&p->theirs, bits, bit_value);
		break;
	}
	case 5: {
		int check = below(2);
		ours = inflateValidate(&p->ours, check), theirs = inflateValidate(&p->theirs, check);
		break;
	}
	case 6:
		ours = inflateSetDictionary(&p->ours, data, 1000), theirs = inflateSetDictionary(&p->theirs, data, 1000);
		break;
	case 7:
		ours = inflateUndermine(&p->ours, 0), theirs = inflateUndermine(&p->theirs, 0);
		break;
	case 8:
		/* As programs do that count for themselves. */
		p->ours.total_in = p->theirs.total_in = p->ours.total_out = p->theirs.total_out = 0;
		ours = theirs = 0;
		break;
	case 9:
		ours = inflateResetKeep(&p->ours), theirs = inflateResetKeep(&p->theirs);
		break;
	default:
		pair_state(p);
		return;
	}
	char call[32];
	snprintf(call, sizeof(call), "something_else %d", what);
	pair_compare(p, call, ours, theirs);
	pair_state(p);
}

/* The stream's first SIZE bytes through both, in pieces or at once, with other calls in between where MEDDLE. */
static void run(size_t size, size_t room, int window_bits, bool pieces, bool meddle)
{
	static const int flushes[] = {Z_NO_FLUSH, Z_FINISH, Z_SYNC_FLUSH, Z_FINISH, Z_NO_FLUSH, Z_PARTIAL_FLUSH, Z_FULL_FLUSH, Z_BLOCK, Z_TREES};
	const unsigned char *in = at_guard(size);
	int flush = flushes[below(pieces ? 9 : 5)], idle = 0;
	size_t in_at = 0, out_at = 0;

	pair_init(&pair, window_bits);
	for (int n = 0; n < 3000 && idle < 3; n++) {
		if (meddle && below(3) == 0)
			something_else(&pair);
		size_t in_piece = size - in_at, out_piece = room - out_at;
		if (pieces && in_piece)
			in_piece = below(2) ? in_piece : below(in_piece) % (1 + below(5000));
		if (pieces && out_piece)
			out_piece = below(2) ? out_piece : below(out_piece) % (1 + below(9000));
		if (pieces && below(8) == 0)
			flush = flushes[below(9)];
		/* The output ends at the guard page too. */
		size_t shift = pair.out_size - out_at - out_piece;
		inflate_waste_left = 1 << 30;
		int result = pair_inflate(&pair, in + in_at, in_piece, shift + out_at, out_piece, flush);
		calls++;
		size_t taken = in_piece - pair.theirs.avail_in, made = out_piece - pair.theirs.avail_out;
		in_at += taken;
		out_at += made;
		idle = taken || made ? 0 : idle + 1;
		if (result == Z_STREAM_END || result == Z_DATA_ERROR) {
			pair_state(&pair);
			idle++;
		}
		if (meddle && below(10) == 0)
			in_at = 0;
	}
	pair_end(&pair);
}

/* Gives the stream the check value that its data, as a decoder that forgives more sees it, would have. */
static void fix_check_value(void)
{
	static struct libdeflate_decompressor *d;
	static unsigned char *out;
	size_t used, made;

	if (!d) {
		d = libdeflate_alloc_decompressor();
		out = malloc(MAX_DATA * 2);
	}
	if (stream_size < 8 || libdeflate_deflate_decompress_ex(d, stream + 2, stream_size - 2, out, MAX_DATA * 2, &used, &made) != LIBDEFLATE_SUCCESS)
		return;
	if (used + 2 + 4 > MAX_STREAM)
		return;
	uLong check = zlib_adler32(1, out, made);
	for (int i = 0; i < 4; i++)
		stream[2 + used + i] = check >> (24 - 8 * i);
	if (stream_size < used + 6)
		stream_size = used + 6;
}

static void random_streams(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		size_t size = below(4) ? below(below(4) ? 600 : 6000) : below(MAX_DATA);
		int level = (int)below(11) - 1, strategy = below(4) ? 0 : below(5), mem_level = 1 + below(9);
		int bits = below(3) ? 15 : (int[]){15, 9, 12, -15, -9, 31, 25}[below(7)];
		make_data(size);
		compress_data(size, level, bits, mem_level, strategy);
		snprintf(pair_case, sizeof(pair_case), "random stream %lu: %zu bytes, level %d, windowBits %d, strategy %d", i, size, level, bits, strategy);

		int init_bits = below(3) ? 15 : (int[]){15, 0, -15, 31, 47, 9, 12, 14}[below(8)];
		size_t with_tail = stream_size + (below(2) ? 0 : below(300));
		for (size_t j = stream_size; j < with_tail; j++)
			stream[j] = random64();
		size_t room = below(3) ? size : size + below(400);
		if (below(6) == 0 && size)
			room = below(size);
		bool pieces = below(2);
		run(with_tail, room, init_bits, pieces, below(3) == 0);
		if (stream_size > 2 && below(3) == 0) {
			/* Broken somewhere, most often near the start, where codes are described; half of them with a check value that fits. */
			for (int flips = 1 + below(3); flips; flips--)
				stream[below(3) ? 2 + below(stream_size - 2) : 2 + below(stream_size - 2 < 60 ? stream_size - 2 : 60)] ^= 1 << below(8);
			if (below(2))
				fix_check_value();
			run(stream_size, size + below(300), init_bits, below(3) == 0, false);
		}
	}
}

/* Every length and every single bit of some small streams. */
static void every_cut_and_flip(void)
{
	for (int i = 0; i < 12; i++) {
		size_t size = 80 + below(400);
		make_data(size);
		compress_data(size, 1 + i % 9, 15, 8, i % 3 == 2 ? Z_FIXED : 0);
		for (size_t cut = 0; cut <= stream_size; cut++) {
			snprintf(pair_case, sizeof(pair_case), "stream %d of %zu bytes cut at %zu", i, stream_size, cut);
			run(cut, size + 1, 15, false, false);
		}
		size_t whole = stream_size;
		unsigned char *copy = malloc(whole);
		memcpy(copy, stream, whole);
		for (size_t bit = 0; bit < 16 * whole; bit++) {
			memcpy(stream, copy, whole);
			stream_size = whole;
			stream[bit / 16] ^= 1 << (bit / 2 % 8);
			if (bit % 2)
				fix_check_value();
			snprintf(pair_case, sizeof(pair_case), "stream %d, bit %zu flipped", i, bit / 2);
			run(stream_size, size + 300, 15, false, false);
		}
		free(copy);
	}
}

/* ---- Streams that a forgiving decoder takes and zlib does not -------------------------------------------- */

static uint64_t bit_buffer;
static unsigned bit_count;

static void put(unsigned value, unsigned n)
{
	bit_buffer |= (uint64_t)value << bit_count;
	for (bit_count += n; bit_count >= 8; bit_count -= 8, bit_buffer >>= 8)
		stream[stream_size++] = bit_buffer;
}

static void put_code(unsigned code, unsigned n)
{
	while (n--)
		put(code >> n & 1, 1);
}

static void put_fixed(unsigned symbol)
{
	if (symbol < 144)
		put_code(0x30 + symbol, 8);
	else if (symbol < 256)
		put_code(0x190 + symbol - 144, 9);
	else if (symbol < 280)
		put_code(symbol - 256, 7);
	else
		put_code(0xc0 + symbol - 280, 8);
}

static void begin(unsigned type)
{
	stream[0] = 0x78;
	stream[1] = 0x9c;
	stream_size = 2;
	bit_buffer = bit_count = 0;
	put(1, 1);
	put(type, 2);
}

/*
 * A dynamic block: the code lengths LENS for N literals and lengths, then for M distances, sent with a precode of sixteen 4-bit codewords
 * for lengths 0 to 15.
 */
static void begin_dynamic(const unsigned char *lens, unsigned n, unsigned m)
{
	static const unsigned char order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

	begin(2);
	put(n - 257, 5);
	put(m - 1, 5);
	put(15, 4);
	for (int i = 0; i < 19; i++)
		put(order[i] < 16 ? 4 : 0, 3);
	for (unsigned i = 0; i < n + m; i++)
		put_code(lens[i], 4);
}

static void end_and_run(const char *what)
{
	put(0, 7);
	memset(stream + stream_size, 0, 40);
	stream_size += 8;
	fix_check_value();
	snprintf(pair_case, sizeof(pair_case), "crafted: %s", what);
	for (int i = 0; i < 8; i++)
		run(stream_size, 35000 + below(2), 15, false, false);
}

static void crafted_streams(void)
{
	unsigned char lens[320];

	for (unsigned symbol = 284; symbol <= 287; symbol++)
		for (unsigned distance = 0; distance < 32; distance++) {
			begin(1);
			for (int i = 0; i < 100; i++)
				put_fixed('a' + i % 3);
			/* As far back as any distance can reach. */
			for (int i = 0; i < 130; i++) {
				put_fixed(285);
				put_code(1, 5);
			}
			put_fixed(symbol);
			if (symbol == 284)
				put(31, 5); /* 258 by its other name */
			put_code(distance, 5);
			put(0, distance < 4 ? 0 : distance / 2 - 1);
			put_fixed(256);
			end_and_run("length symbols 284 to 287, distance symbols 0 to 31, fixed codes");
		}

	/* 'a' 1, end 2, length 3 (257) 2 bits: 0, 10, 11; and N, M, and the distance code in all shapes. */
	for (unsigned n = 258; n <= 288; n++)
		for (unsigned m = 1; m <= 32; m++)
			for (int shape = 0; shape < 4; shape++)
				for (int one = 0; one < 2; one++) {
					memset(lens, 0, sizeof(lens));
					lens['a'] = 1;
					lens[256] = lens[257] = 2;
					lens[n] = shape > 0;         /* distance 1 */
					if (m > 1 && shape > 1)
						lens[n + 1] = shape == 2; /* a complete code of two, else a single one */
					begin_dynamic(lens, n, m);
					for (int i = 0; i < 100; i++)
						put_code(0, 1);
					put_code(3, 2);
					put_code(one && shape != 2, 1); /* the codeword that a code of one or none does not have */
					put_code(2, 2);
					end_and_run("announced code counts, distance codes of none, one and two codewords");
				}

	/* An incomplete precode, of which only the codewords that are there are used: 18 00, 0 01, 1 10. */
	begin(2);
	put(0, 5);
	put(0, 5);
	put(15, 4);
	for (int i = 0; i < 19; i++)
		put(i == 2 || i == 3 || i == 17 ? 2 : 0, 3);
	put_code(2, 2), put(97 - 11, 7);
	put_code(1, 2);
	put_code(2, 2), put(138 - 11, 7);
	put_code(2, 2), put(20 - 11, 7);
	put_code(1, 2);
	put_code(0, 2);
	for (int i = 0; i < 100; i++)
		put_code(0, 1);
	put_code(1, 1);
	put(0, 7);
	memset(data, 'a', 100);
	for (int i = 0; i < 4; i++)
		stream[stream_size++] = zlib_adler32(1, data, 100) >> (24 - 8 * i);
	end_and_run("an incomplete precode");

	/* A literal code of one codeword, end of block: 0 ends, 1 is nothing. */
	for (int one = 0; one < 2; one++) {
		memset(lens, 0, sizeof(lens));
		lens[256] = 1;
		begin_dynamic(lens, 257, 1);
		put_code(one, 1);
		end_and_run("one codeword");
	}

	/* A repeat count that goes past the last length: 18 (zeros) as the last precode symbol. */
	for (unsigned extra = 0; extra < 60; extra++) {
		static const unsigned char order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
		begin(2);
		put(0, 5);
		put(extra % 30, 5);
		put(15, 4);
		for (int i = 0; i < 19; i++)
			put(order[i] == 18 ? 1 : order[i] == 1 ? 2 : order[i] == 0 ? 2 : 0, 3);
		/* 18: 0; 0: 10; 1: 11. 97 zeros, 'a' 1, 158 zeros, end of block 1, zeros for the distances. */
		put_code(0, 1), put(97 - 11, 7);
		put_code(3, 2);
		put_code(0, 1), put(138 - 11, 7);
		put_code(0, 1), put(20 - 11, 7);
		put_code(3, 2);
		put_code(0, 1), put(extra / 2, 7);
		for (int i = 0; i < 100; i++)
			put_code(0, 1);
		put_code(1, 1);
		end_and_run("a repeat count past the end");
	}
}

/* States that random calls hardly get to. */
static void odd_states(void)
{
	size_t size = 3000, at = 0;

	data[0] = 'x';
	make_data(size);
	compress_data(size, 6, 15, 8, 0);
	const unsigned char *in = at_guard(stream_size);
	for (int i = 0; i < 2; i++) {
		/* A window from the stream before, which inflateResetKeep keeps. */
		snprintf(pair_case, sizeof(pair_case), "inflateResetKeep, flush %d", i ? Z_FINISH : Z_NO_FLUSH);
		inflate_waste_left = 1 << 30;
		pair_init(&pair, 15);
		for (at = 0; at < stream_size; at = pair.theirs.total_in)
			pair_inflate(&pair, in + at, stream_size / 2 + 1, pair.theirs.total_out, size + 100 - pair.theirs.total_out, Z_NO_FLUSH);
		pair_compare(&pair, "inflateResetKeep", inflateResetKeep(&pair.ours), inflateResetKeep(&pair.theirs));
		pair_inflate(&pair, in, stream_size, 0, size + 100, i ? Z_FINISH : Z_NO_FLUSH);
		pair_state(&pair);
		pair_end(&pair);
	}

	/* No stream at all. */
	snprintf(pair_case, sizeof(pair_case), "an ended stream");
	pair.ours.total_in = pair.theirs.total_in = pair.ours.total_out = pair.theirs.total_out = 0;
	pair.ours.adler = pair.theirs.adler = 77;
	pair.ours.data_type = pair.theirs.data_type = 5;
	if (pair_inflate(&pair, in, stream_size, 0, size, Z_FINISH) != Z_STREAM_ERROR)
		pair_fail("inflate", "a stream without state: not an error", 0, 0);
	if (inflate(NULL, Z_FINISH) != Z_STREAM_ERROR)
		pair_fail("inflate", "no stream: not an error", 0, 0);
}

static void checksums(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		size_t size = below(3) ? below(300) : below(MAX_DATA);
		const unsigned char *at = data + below(64);
		/* Also starting values that no checksum has. */
		uLong start = below(2) ? random64() : below(2) ? 1 : random64() & 0xffffffff;
		size = size > MAX_DATA - 64 ? MAX_DATA - 64 : size;
		if (crc32(start, at, size) != zlib_crc32(start, at, size) || crc32_z(start, at, size) != zlib_crc32(start, at, size) ||
		    adler32(start, at, size) != zlib_adler32(start, at, size) || adler32_z(start, at, size) != zlib_adler32(start, at, size)) {
			fprintf(stderr, "checksum of %zu bytes from %lx\n", size, start);
			abort();
		}
	}
	for (size_t size = 0; size < 300; size += 299)
		if (crc32(7, NULL, size) != zlib_crc32(7, NULL, size) || adler32(7, NULL, size) != zlib_adler32(7, NULL, size)) {
			fprintf(stderr, "checksum of nothing\n");
			abort();
		}
}

static void several_streams(void)
{
	/* Streams taken up and left in turn share nothing. */
	static struct pair many[8];
	static unsigned char *copies[8];
	static size_t sizes[8], at[8];

	for (int i = 0; i < 8; i++) {
		make_data(3000);
		compress_data(3000, 6, 15, 8, 0);
		copies[i] = malloc(stream_size);
		memcpy(copies[i], stream, sizes[i] = stream_size);
		many[i].out[0] = malloc(3000);
		many[i].out[1] = malloc(3000);
		pair_init(&many[i], 15);
	}
	snprintf(pair_case, sizeof(pair_case), "interleaved");
	for (int n = 0; n < 4000; n++) {
		int i = below(8);
		size_t piece = below(2) ? sizes[i] - at[i] : below(sizes[i] - at[i] + 1);
		int result = pair_inflate(&many[i], copies[i] + at[i], piece, many[i].theirs.total_out, 3000 - many[i].theirs.total_out, Z_NO_FLUSH);
		at[i] = many[i].theirs.total_in;
		if (result == Z_STREAM_END && below(2)) {
			inflateReset(&many[i].ours);
			inflateReset(&many[i].theirs);
			at[i] = 0;
		}
	}
	for (int i = 0; i < 8; i++) {
		pair_end(&many[i]); /* compares what both say */
		free(copies[i]);
		free(many[i].out[0]);
		free(many[i].out[1]);
	}
}

/* Decompression in place: the input lies at the end of the room for the output, and is gone when all is done. */
static void in_place(void)
{
	for (size_t size = 500; size < MAX_DATA - 100; size = size * 3 + 11)
		for (int flush = 0; flush < 2; flush++) {
			unsigned room = size + 64;

			make_data(size);
			compress_data(size, 6, 15, 8, 0);
			if (stream_size + 40 > size)
				continue;
			snprintf(pair_case, sizeof(pair_case), "in place, %zu bytes, flush %d", size, flush);
			inflate_waste_left = 1 << 30;
			pair_init(&pair, 15);
			for (int side = 0; side < 2; side++) {
				z_streamp s = side ? &pair.theirs : &pair.ours;

				s->next_in = memcpy(pair.out[side] + room - stream_size, stream, stream_size);
				s->avail_in = stream_size;
				s->next_out = pair.out[side];
				s->avail_out = room - 24; /* never beyond the input's check value */
			}
			int ours = inflate(&pair.ours, flush ? Z_FINISH : Z_NO_FLUSH), theirs = zlib_inflate(&pair.theirs, flush ? Z_FINISH : Z_NO_FLUSH);
			/* The inputs lie apart: compare how far they were read. */
			pair.theirs.next_in = pair.ours.next_in + (pair.theirs.next_in - pair.out[1]) - (pair.ours.next_in - pair.out[0]);
			pair_compare(&pair, "inflate in place", ours, theirs);
			if (theirs != Z_STREAM_END || memcmp(pair.out[0], data, size))
				pair_fail("inflate in place", "the output", 0, 0);
			pair_end(&pair);
		}
}

/* Sizes that say "as much as it takes", of memory that ends where the stream or its contents do: zlib touches only what it needs. */
static void no_limits(void)
{
	for (size_t size = 20; size < 9000; size += 1 + size / 5)
		for (int which = 1; which < 4; which++) {
			const unsigned large = below(2) ? UINT_MAX : INT_MAX;

			make_data(size);
			compress_data(size, 6, 15, 8, 0);
			snprintf(pair_case, sizeof(pair_case), "no limits, %zu bytes, which %d", size, which);
			inflate_waste_left = 1 << 30;
			pair_init(&pair, 15);
			for (int side = 0; side < 2; side++) {
				z_streamp s = side ? &pair.theirs : &pair.ours;

				s->next_in = (z_const Bytef *)at_guard(stream_size);
				s->avail_in = which & 1 ? large : stream_size;
				s->next_out = pair.out[side] + pair.out_size - size;
				s->avail_out = which & 2 ? large : size;
			}
			int ours = inflate(&pair.ours, Z_FINISH), theirs = zlib_inflate(&pair.theirs, Z_FINISH);
			pair_compare(&pair, "inflate without limits", ours, theirs);
			if (theirs != Z_STREAM_END || memcmp(pair.out[0] + pair.out_size - size, data, size))
				pair_fail("inflate without limits", "the output", 0, 0);
			pair_end(&pair);
		}
}

/* A stream that was never begun, or has been ended, is an error; nothing is written where its output once was. */
static void no_state(void)
{
	z_stream s;

	make_data(1000);
	compress_data(1000, 6, 15, 8, 0);
	for (int ended = 0; ended < 2; ended++) {
		memset(&s, 0, sizeof(s));
		if (ended && (inflateInit(&s) != Z_OK || inflateEnd(&s) != Z_OK))
			abort();
		s.next_in = stream;
		s.avail_in = stream_size;
		s.next_out = memset(pair.out[0], 0xee, 2000);
		s.avail_out = 2000;
		snprintf(pair_case, sizeof(pair_case), "no state, ended %d", ended);
		inflate_waste_left = 1 << 30;
		if (inflate(&s, Z_FINISH) != Z_STREAM_ERROR)
			pair_fail("inflate without a state", "the result", 0, Z_STREAM_ERROR);
		for (int i = 0; i < 2000; i++)
			if (pair.out[0][i] != 0xee)
				pair_fail("inflate without a state", "the output", pair.out[0][i], 0xee);
	}
}

/* zlib writes nothing behind what it has decoded: whole streams, damaged ones, and ones that end early. */
static void behind_the_output(unsigned n)
{
	unsigned long answered = atomic_load(&doors[DOOR_INFLATE].calls);

	for (unsigned i = 0; i < n; i++) {
		size_t size = 100 + below(i % 8 ? 6000 : MAX_DATA - 100), more = below(3) ? below(400) : below(20000), end;
		int what = below(4);

		make_data(size);
		compress_data(size, 1 + below(9), 15, 8, below(4) ? 0 : 2);
		end = stream_size;
		if (what == 1)
			stream[2 + below(stream_size - 2)] ^= 1 << below(8);
		if (what == 2)
			end -= below(end < 100 ? end : 100);
		snprintf(pair_case, sizeof(pair_case), "%zu bytes of %zu for %zu, room for %zu more, damage %d", end, stream_size, size, more, what);
		inflate_waste_left = 1 << 30;
		pair_init(&pair, 15);
		for (int side = 0; side < 2; side++)
			memset(pair.out[side], 0xa5, size + more);
		pair_inflate(&pair, stream, end, 0, size + more, below(2) ? Z_FINISH : Z_NO_FLUSH);
		for (size_t at = 0; at < size + more; at++)
			if (pair.out[0][at] != pair.out[1][at])
				pair_fail("inflate", "a byte behind the output", pair.out[0][at], (long)at - (long)pair.theirs.total_out);
		pair_end(&pair);
	}
	answered = atomic_load(&doors[DOOR_INFLATE].calls) - answered;
	printf("nothing written behind the output of %u streams, %lu of them answered here\n", n, answered);
	if (answered < n / 4)
		exit(1);
}

int main(int argc, char **argv)
{
	static const char *const levels[] = {"generic", "avx2", NULL};
	bool is_long = getenv("CHECK_LONG") != NULL;
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : is_long ? 400000 : 3000;

	zlib_find();
	report_start("/dev/null");
	data = guarded(MAX_DATA);
	stream = malloc(MAX_STREAM + 400);
	in_end = guarded(MAX_STREAM + 400) + MAX_STREAM + 400;
	pair.out_size = 2 * MAX_DATA;
	pair.out[0] = guarded(pair.out_size);
	pair.out[1] = guarded(pair.out_size);

	for (const char *const *level = levels; *level; level++) {
		cpu_init(*level);
		unsigned long before = atomic_load(&doors[DOOR_INFLATE].calls), calls_before = calls;
		random_state = 88172645463325252ull + (argc > 2 ? strtoul(argv[2], NULL, 0) : 0);
		crafted_streams();
		every_cut_and_flip();
		several_streams();
		odd_states();
		in_place();
		no_limits();
		no_state();
		behind_the_output(n / 3);
		random_streams(n);
		unsigned long served = atomic_load(&doors[DOOR_INFLATE].calls) - before;
		printf("zlib %s, kernels for %s: %lu calls of inflate alike, %lu of them answered here\n", zlibVersion(), cpu_level_name(),
		       calls - calls_before, served);
		if (served < n / 10) {
			fprintf(stderr, "the door answered too few calls to have been tested\n");
			return 1;
		}
	}
	unsigned long before = atomic_load(&doors[DOOR_CHECKSUM].calls);
	checksums(is_long ? 3000000 : 100000);
	printf("checksums alike, %lu answered here\n", atomic_load(&doors[DOOR_CHECKSUM].calls) - before);
	return atomic_load(&doors[DOOR_CHECKSUM].calls) == before;
}
