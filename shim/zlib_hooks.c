/* zlib_hooks.c - the doors to zlib: inflate of whole streams, and the checksums */
#include <libdeflate.h>
#include <zlib.h>

#include "callers.h"
#include "deflate_hooks.h"
#include "elf_objects.h"
#include "fastsha.h"
#include "inflate.h"

typedef uLong checksum_function(uLong sum, const Bytef *buf, uInt len);
typedef uLong checksum_z_function(uLong sum, const Bytef *buf, z_size_t len);

/* A zlib. */
struct zlib {
	int (*inflate)(z_streamp strm, int flush);
	struct object object;
};

/*
 * The originals, where an object that the program was started with has them: then they are what every call that gets here would have
 * got, and stay in memory. NULL: none has, or the constructor has not run yet; then it depends on who calls.
 */
static struct zlib first_zlib;
static checksum_function *original_crc32, *original_adler32;
static checksum_z_function *original_crc32_z, *original_adler32_z;

enum late { LATE_INFLATE = CALLERS_ZLIB, LATE_CRC32, LATE_CRC32_Z, LATE_ADLER32, LATE_ADLER32_Z };

#define CALLER __builtin_return_address(0)

/* The names are short ones: other libraries have functions of theirs, for other things, with other parameters. */
static bool is_zlib(const struct object *o)
{
	return object_symbol(o, "zlibVersion") != NULL;
}

/* ---- inflate ------------------------------------------------------------------------------------------ */

/*
 * A stream is answered when zlib would, in this one call, begin it and finish it. inflate_whole decodes it beside the stream, which stays
 * as it is until that has succeeded; where it has not, zlib gets the call as if nothing had happened.
 *
 * What later calls (inflate, inflateReset, inflateCopy, inflateSync, inflateGetDictionary ...) find is zlib's own state, brought to
 * where it would be by zlib itself, without knowledge of how it looks:
 *
 * 1. It reads the stream's two header bytes. After that z_stream's public fields prove what we need to know: they say that no bit is
 *    pending and a block header is due (data_type), and that this very call started a zlib stream (adler, which only that sets to 1).
 *    From there the rest of the input has one meaning, and inflate_whole has found it. Where they say otherwise (raw or gzip format,
 *    bits put in with inflatePrime, a used stream with its totals set to zero), zlib gets the rest of the call: it has only been fed in
 *    two pieces.
 * 2. It reads a stored block of one byte in place of the real ones, and that block's check value. Like after the real ones it is done, has
 *    nothing pending, has left its window alone (output is kept there only for later calls), and has checked the data or not, as
 *    inflateValidate says.
 */
enum {
	MIN_OUT = 64,       /* room for less: zlib is as fast, or does not finish (headers of loose objects) */
	/* With Z_FINISH, on Intel's cores: 0.85 of zlib's time on Emerald Rapids, 1.0 on Zen 5. Of deltas git first looks at 20 bytes. */
	MIN_OUT_INTEL = 21,
	MIN_IN = 12,
	BLOCK_DUE = 128,    /* in data_type: the next bit starts a block; with nothing else set, it is at a byte boundary */
	MAX_RATIO = 8,      /* without Z_FINISH, room for more than this times the input: there is more input to come */
	LARGEST_MEANT = 1 << 30, /* git's largest piece */
	WASTE_MAX = 1 << 18,
	WASTE_REGAINED = 64,
};

/* A value that zlib, whose check values have 32 bits, never leaves in adler. */
#define NOT_SET ((uLong)1 << 32)

static bool inflate_open;
static unsigned min_out_finish = MIN_OUT;

/*
 * How many bytes may still be decoded in vain. Programs whose streams do not fit into their buffers would have the first piece of each
 * decoded twice: what that costs is bounded by what was gained, plus WASTE_MAX. Threads may lose each other's updates: it is an estimate.
 */
_Atomic int inflate_waste_left = WASTE_MAX;

static void waste_add(int n)
{
	int left = atomic_load_explicit(&inflate_waste_left, memory_order_relaxed);

	if (n < 0 || left < WASTE_MAX)
		atomic_store_explicit(&inflate_waste_left, left + n, memory_order_relaxed);
}

static int feed(const struct zlib *z, z_streamp strm, const void *in, uInt in_size, void *out, uInt out_size, int flush)
{
	strm->next_in = (z_const Bytef *)in;
	strm->avail_in = in_size;
	strm->next_out = out;
	strm->avail_out = out_size;
	return z->inflate(strm, flush);
}

/* A call that inflate_fits has let through. */
static int inflate_here(const struct zlib *z, z_streamp strm, int flush)
{
	z_const Bytef *in = strm->next_in;
	Bytef *out = strm->next_out;
	const uInt avail_in = strm->avail_in, avail_out = strm->avail_out;
	size_t used, made;
	uint32_t check;

	if (!inflate_whole(in, avail_in, out, avail_out, &used, &made, &check) || !made) {
		unsigned in_vain = avail_in < avail_out / 4 ? 4 * avail_in : avail_out;
		waste_add(in_vain < WASTE_MAX / 8 ? -(int)in_vain : -WASTE_MAX / 8);
		return z->inflate(strm, flush);
	}

	uLong adler = strm->adler;
	int data_type = strm->data_type;
	strm->adler = NOT_SET;
	strm->data_type = 0;
	int result = feed(z, strm, in, 2, out, avail_out, Z_NO_FLUSH);
	if (unlikely(result != Z_OK || strm->total_in != 2 || strm->total_out || strm->adler != 1 || strm->data_type != BLOCK_DUE)) {
		if (strm->adler == NOT_SET)
			strm->adler = adler;
		strm->avail_in += avail_in - 2;
		if (result != Z_OK) {
			if (result == Z_STREAM_ERROR)
				strm->data_type = data_type;
			return result;
		}
		result = z->inflate(strm, flush);
		/* Z_BUF_ERROR: no progress; but there was, two bytes. */
		return result == Z_BUF_ERROR && flush != Z_FINISH ? Z_OK : result;
	}

	static const uint8_t block[] = {1, 1, 0, 0xfe, 0xff, 'a', 0, 0x62, 0, 0x62};
	uint8_t scratch[1];
	strm->adler = NOT_SET;
	result = feed(z, strm, block, sizeof(block), scratch, sizeof(scratch), flush);
	strm->adler = strm->adler == NOT_SET ? 1 : check;
	strm->next_in = in + used;
	strm->avail_in = avail_in - used;
	strm->next_out = out + made;
	strm->avail_out = avail_out - made;
	strm->total_in = used;
	strm->total_out = made;
	waste_add(made < WASTE_MAX / 8 ? made : WASTE_MAX / 8);
	count_served(DOOR_INFLATE, used);
	return result;
}

/* Is the call worth trying? Nothing here must be right for the answer to be right. */
static inline bool inflate_fits(const z_stream *strm, int flush)
{
	if (!strm || !strm->state || strm->total_in || strm->total_out || strm->avail_out < (flush == Z_FINISH ? min_out_finish : MIN_OUT) ||
	    strm->avail_in < MIN_IN || !strm->next_in || !strm->next_out)
		return false;
	/* Not sizes but "as much as it takes": zlib touches no byte that it has no need of; the decoder loads and stores eight and more. */
	if (unlikely(strm->avail_in > LARGEST_MEANT || strm->avail_out > LARGEST_MEANT))
		return false;
	/* In place, which works with zlib: it writes what it has decoded and no further, and reads first. */
	if (unlikely((uintptr_t)strm->next_in - (uintptr_t)strm->next_out < strm->avail_out ||
		     (uintptr_t)strm->next_out - (uintptr_t)strm->next_in < strm->avail_in))
		return false;
	if (flush != Z_FINISH && ((flush != Z_NO_FLUSH && flush != Z_SYNC_FLUSH) || strm->avail_out / MAX_RATIO > strm->avail_in))
		return false;
	/*
	 * A zlib header with a window of 32 KiB (what every compressor writes unless told otherwise: a zlib that limits distances to a smaller
	 * window when built with INFLATE_STRICT then has nothing to limit), without a preset dictionary.
	 */
	if (strm->next_in[0] != 0x78 || strm->next_in[1] & 0x20)
		return false;
	if (unlikely(atomic_load_explicit(&inflate_waste_left, memory_order_relaxed) <= 0)) {
		waste_add(WASTE_REGAINED);
		return false;
	}
	return true;
}

/* Allocators other than zlib's own may watch. Zlib's own is in the object that has zlib. */
static inline bool default_allocator(const z_stream *strm)
{
	static _Atomic(alloc_func) known;

	if (likely(strm->zalloc == atomic_load_explicit(&known, memory_order_relaxed)))
		return true;
	if (!object_maps(&first_zlib.object, (const void *)strm->zalloc, 1, PF_X))
		return false;
	atomic_store_explicit(&known, strm->zalloc, memory_order_relaxed);
	return true;
}

/*
 * A zlib that came late may be unloaded at any time, so nothing is remembered of it, and looking at it takes 2 microseconds: worth it for
 * streams of so many bytes.
 */
enum { LATE_MIN_IN = 4096 };

static void *as_it_is(unsigned function, void *definition, const struct object *owner)
{
	(void)function, (void)owner;
	return definition;
}

static __attribute__((noinline, cold)) int late_inflate(z_streamp strm, int flush, const void *caller)
{
	struct zlib z = { .inflate = caller_target(LATE_INFLATE, "inflate", caller, as_it_is) };

	if (!z.inflate)
		return Z_STREAM_ERROR;
	if (inflate_open && strm && strm->avail_in >= LATE_MIN_IN && inflate_fits(strm, flush) &&
	    object_by_address(&z.object, (const void *)z.inflate) && is_zlib(&z.object) &&
	    object_maps(&z.object, (const void *)strm->zalloc, 1, PF_X))
		return inflate_here(&z, strm, flush);
	return z.inflate(strm, flush);
}

EXPORT int inflate(z_streamp strm, int flush)
{
	if (likely(first_zlib.inflate)) {
		if (inflate_open && inflate_fits(strm, flush) && default_allocator(strm))
			return inflate_here(&first_zlib, strm, flush);
		return first_zlib.inflate(strm, flush);
	}

	return late_inflate(strm, flush, CALLER);
}

/* ---- Checksums ---------------------------------------------------------------------------------------- */

/* Shorter input goes to the original: a call of ours costs as much. What is not zlib's gets all. */
enum { CHECKSUM_MIN = 64 };
static size_t crc32_min = SIZE_MAX, crc32_z_min = SIZE_MAX, adler32_min = SIZE_MAX, adler32_z_min = SIZE_MAX;
static bool checksum_open;

static uLong our_crc32(uLong crc, const Bytef *buf, z_size_t len)
{
	count_served(DOOR_CHECKSUM, len);
	return libdeflate_crc32(crc, buf, len);
}

static uLong our_adler32(uLong adler, const Bytef *buf, z_size_t len)
{
	count_served(DOOR_CHECKSUM, len);
	return libdeflate_adler32(adler, buf, len);
}

static uLong our_short_crc32(uLong crc, const Bytef *buf, uInt len)
{
	return our_crc32(crc, buf, len);
}

static uLong our_short_adler32(uLong adler, const Bytef *buf, uInt len)
{
	return our_adler32(adler, buf, len);
}

static void *choose_checksum(unsigned function, void *definition, const struct object *owner)
{
	static void *const ours[] = { our_short_crc32, our_crc32, our_short_adler32, our_adler32 };

	return checksum_open && is_zlib(owner) ? ours[function - LATE_CRC32] : definition;
}

/* Where nobody has a definition, there is no need to fail. */
static __attribute__((noinline, cold)) uLong late_checksum(enum late f, const char *name, uLong sum, const Bytef *buf, uInt len, const void *caller)
{
	checksum_function *late = caller_target(f, name, caller, choose_checksum);

	return late ? late(sum, buf, len) : f == LATE_CRC32 ? our_crc32(sum, buf, len) : our_adler32(sum, buf, len);
}

static __attribute__((noinline, cold)) uLong late_checksum_z(enum late f, const char *name, uLong sum, const Bytef *buf, z_size_t len, const void *caller)
{
	checksum_z_function *late = caller_target(f, name, caller, choose_checksum);

	return late ? late(sum, buf, len) : f == LATE_CRC32_Z ? our_crc32(sum, buf, len) : our_adler32(sum, buf, len);
}

EXPORT uLong crc32(uLong crc, const Bytef *buf, uInt len)
{
	if (unlikely(!original_crc32))
		return late_checksum(LATE_CRC32, "crc32", crc, buf, len, CALLER);
	return len < crc32_min ? original_crc32(crc, buf, len) : our_crc32(crc, buf, len);
}

EXPORT uLong crc32_z(uLong crc, const Bytef *buf, z_size_t len)
{
	if (unlikely(!original_crc32_z))
		return late_checksum_z(LATE_CRC32_Z, "crc32_z", crc, buf, len, CALLER);
	return len < crc32_z_min ? original_crc32_z(crc, buf, len) : our_crc32(crc, buf, len);
}

EXPORT uLong adler32(uLong adler, const Bytef *buf, uInt len)
{
	if (unlikely(!original_adler32))
		return late_checksum(LATE_ADLER32, "adler32", adler, buf, len, CALLER);
	return len < adler32_min ? original_adler32(adler, buf, len) : our_adler32(adler, buf, len);
}

EXPORT uLong adler32_z(uLong adler, const Bytef *buf, z_size_t len)
{
	if (unlikely(!original_adler32_z))
		return late_checksum_z(LATE_ADLER32_Z, "adler32_z", adler, buf, len, CALLER);
	return len < adler32_z_min ? original_adler32_z(adler, buf, len) : our_adler32(adler, buf, len);
}

/* ---- Opening ------------------------------------------------------------------------------------------ */

/* The first definition of NAME, if any. *MIN: what to leave to it: everything, unless it is a zlib's and the door is wanted. */
static void *checksum_original(const char *name, size_t *min)
{
	struct object owner;
	void *definition = start_definition(name, &owner);

	if (definition && checksum_open && is_zlib(&owner))
		*min = CHECKSUM_MIN;
	return definition;
}

void zlib_doors_init(void)
{
	struct object owner;
	const char *(*version)(void) = start_definition("zlibVersion", &owner);
	/* Only for the record: zlib's code is not touched by a start for that. */
	const char *which = version && counting ? version() : "whichever is loaded later";

	first_zlib.inflate = start_definition("inflate", &first_zlib.object);
	if (doors[DOOR_INFLATE].wanted && first_zlib.inflate && !is_zlib(&first_zlib.object)) {
		door_close(DOOR_INFLATE, "the first inflate here is not zlib's");
	} else if (doors[DOOR_INFLATE].wanted) {
		inflate_open = true;
		if (cpu_features & CPU_SLOW_MIX)
			min_out_finish = MIN_OUT_INTEL;
		door_open(DOOR_INFLATE, inflate_kernel_name(), "zlib: %s", which);
	}
	if (doors[DOOR_CHECKSUM].wanted) {
		checksum_open = true;
		door_open(DOOR_CHECKSUM, "libdeflate", "zlib: %s", which);
	}
	deflate_door_init(version && first_zlib.inflate && is_zlib(&first_zlib.object) ? which : NULL);
	original_crc32 = checksum_original("crc32", &crc32_min);
	original_crc32_z = checksum_original("crc32_z", &crc32_z_min);
	original_adler32 = checksum_original("adler32", &adler32_min);
	original_adler32_z = checksum_original("adler32_z", &adler32_z_min);
}
