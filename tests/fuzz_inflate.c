/* fuzz_inflate.c - libFuzzer target: any bytes as a stream, through the inflate door and through zlib, compared after every call */
#include <libdeflate.h>

#include "fastsha.h"
#include "inflate.h"
#include "zlib_pair.h"

/* Of the rest of the library, what the door needs. */
struct door doors[DOOR_COUNT];
bool counting = true;
unsigned cpu_features;

void door_open(enum door_id id, const char *kernel, const char *why, ...)
{
	(void)kernel, (void)why;
	doors[id].open = true;
}

void door_close(enum door_id id, const char *why, ...)
{
	(void)why;
	doors[id].open = false;
}

enum { MAX_IN = 1 << 16, MAX_OUT = 1 << 17 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct pair p;
static unsigned char *in_end;
static struct libdeflate_decompressor *forgiving;

/* At exit, so that a run that never reached the decoder shows. */
static void say_served(void)
{
	fprintf(stderr, "fuzz_inflate: the door answered %lu calls\n", (unsigned long)atomic_load(&doors[DOOR_INFLATE].calls));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	zlib_find();
	cpu_features = CPU_SLOW_MIX; /* small rooms, too */
	doors[DOOR_INFLATE].wanted = doors[DOOR_CHECKSUM].wanted = true;
	zlib_doors_init();
	in_end = guarded(MAX_IN) + MAX_IN;
	p.out_size = MAX_OUT;
	p.out[0] = guarded(MAX_OUT);
	p.out[1] = guarded(MAX_OUT);
	forgiving = libdeflate_alloc_decompressor();
	atexit(say_served);
	return 0;
}

/*
 * BYTES: how to call, in three bytes, and a DEFLATE body. The first says: bits 0-1 flush value, bits 2-3 windowBits, bit 4 in pieces, bit 5
 * the stream again after a reset, bit 6 leave the check value alone (else it is made to fit, or nothing would ever be answered), bit 7 no
 * zlib header in front. The second: room for output. The third: size of pieces, or bytes behind the stream.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const int flushes[] = {Z_FINISH, Z_NO_FLUSH, Z_SYNC_FLUSH, Z_BLOCK}, window_bits[] = {15, 47, 15, -15};
	if (size < 3 || size > MAX_IN - 512)
		return 0;
	const unsigned how = bytes[0], third = bytes[2];
	const int flush = flushes[how & 3];
	const size_t room = bytes[1] < 200 ? 20 + 16 * bytes[1] : MAX_OUT >> (255 - bytes[1]) / 8;
	unsigned char *in = in_end - MAX_IN;
	size_t in_size = 0, used, made;

	if (!(how & 128)) {
		in[in_size++] = 0x78;
		in[in_size++] = 0x9c;
	}
	memcpy(in + in_size, bytes + 3, size - 3);
	in_size += size - 3;
	if (!(how & 64) && in_size > 2 &&
	    libdeflate_deflate_decompress_ex(forgiving, in + 2, in_size - 2, p.out[1], MAX_OUT, &used, &made) == LIBDEFLATE_SUCCESS) {
		uLong check = zlib_adler32(1, p.out[1], made);
		for (int i = 0; i < 4; i++)
			in[2 + used + i] = check >> (24 - 8 * i);
		in_size = in_size > used + 6 ? in_size : used + 6;
	}
	if (!(how & 16) && third & 1) {
		memset(in + in_size, third, third);
		in_size += third;
	}
	in = memmove(in_end - in_size, in, in_size);

	inflate_waste_left = 1 << 30;
	cpu_features = third & 2 ? CPU_AVX2 | CPU_SSSE3 : 0;
	pair_init(&p, window_bits[how >> 2 & 3]);
	for (int round = 0; round < (how & 32 ? 2 : 1); round++) {
		size_t in_at = 0, out_at = 0;
		for (int calls = 0; calls < 40; calls++) {
			size_t in_piece = in_size - in_at, out_piece = room - out_at;
			if (how & 16 && in_piece > third * 4u + 1)
				in_piece = third * 4 + 1;
			int result = pair_inflate(&p, in + in_at, in_piece, MAX_OUT - room + out_at, out_piece, flush);
			in_at += in_piece - p.theirs.avail_in;
			out_at += out_piece - p.theirs.avail_out;
			pair_state(&p);
			if (result != Z_OK)
				break;
		}
		if (round == 0 && how & 32)
			pair_compare(&p, "inflateReset", inflateReset(&p.ours), inflateReset(&p.theirs));
	}
	pair_end(&p);
	return 0;
}
