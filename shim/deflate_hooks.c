/* deflate_hooks.c - the opt-in door to zlib's deflate: whole buffers compressed by libdeflate, to other bytes of the same content */
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "callers.h"
#include "deflate_hooks.h"
#include "elf_objects.h"
#include "fastsha.h"

/*
 * Served: a zlib-format stream with default settings but for the level, whose data comes in one call with Z_FINISH, after at most HEAD_MAX
 * bytes without (git's header of a loose object). Output may leave in any pieces. Everything else is zlib's.
 *
 * The first bytes go to zlib as well as into the job, so that zlib can take over at any time until the data has been compressed here. When
 * the last piece has left, zlib is made to end its stream too, into the void: later calls
 * then find an ended one.
 */
enum { HEAD_MAX = 128, SCRATCH = 1024, BUCKETS = 64, SLOTS = 8, LEVELS = 10 };

/* What libdeflate needs where data does not compress; and what zlib promises to do with, by compressBound and deflateBound. */
#define ROOM(size) ((size) + ((size) >> 10) + 32)
#define ZLIB_BOUND(size) ((size) + ((size) >> 12) + ((size) >> 14) + ((size) >> 25) + 13)

struct job {
	int level;
	bool lost;         /* zlib has it */
	size_t head_size;
	uint8_t *out;      /* compressed data on its way out, OUT_AT of OUT_SIZE gone; NULL: not compressed yet */
	size_t out_at, out_size;
	uLong total_in, check;
	uint8_t head[HEAD_MAX];
};

static bool deflate_open;

/*
 * Streams are known by the address of zlib's state for them. A row of states, a cache line, holds those with the same hash; where it is
 * full, zlib does the work. Rows need no lock, which a thread could hold while another one forks: a slot is taken in one step, and until it
 * is given back only the stream's owner finds it.
 */
static COLD_BSS _Alignas(64) _Atomic(void *) states[BUCKETS * SLOTS];
static COLD_BSS struct job jobs[BUCKETS * SLOTS]; /* in the same order */

/* One compressor (up to a megabyte) for each level is kept for whoever comes next. */
static struct libdeflate_compressor *_Atomic idle[LEVELS];

enum function { INIT, INIT2, DEFLATE, END, RESET, RESET_KEEP, PARAMS, COPY, SET_DICTIONARY, FUNCTIONS };
static const char *const names[FUNCTIONS] = {
	"deflateInit_", "deflateInit2_", "deflate", "deflateEnd", "deflateReset", "deflateResetKeep", "deflateParams", "deflateCopy",
	"deflateSetDictionary",
};
static void *originals[FUNCTIONS];

static void *not_ours(unsigned function, void *definition, const struct object *owner)
{
	(void)function;
	return object_maps(owner, (const void *)not_ours, 1, PF_X) ? NULL : definition;
}

/* The original, or what answers Z_STREAM_ERROR; zlibs that are loaded later are left alone. */
static int no_zlib(void)
{
	return Z_STREAM_ERROR;
}

/*
 * A zlib that came late calls its own functions through ours, and some end with a jump to the next one (deflateInit_, deflateInit2_,
 * deflateReset): then whoever called the first seems to call the second. Where that is this library, the stream's default allocator says
 * which zlib it is.
 */
static __attribute__((noinline, cold)) void *late_original(enum function f, z_streamp strm, const void *caller)
{
	struct object zlib;
	void *late = caller_target(CALLERS_DEFLATE + f, names[f], caller, not_ours);

	if (!late && strm && strm->zalloc && object_by_address(&zlib, (const void *)strm->zalloc))
		late = object_symbol(&zlib, names[f]);
	if (!late)
		late = next_definition(names[f], NULL);
	return late ? late : (void *)no_zlib;
}

static inline void *original(enum function f, z_streamp strm, const void *caller)
{
	return likely(originals[f]) ? originals[f] : late_original(f, strm, caller);
}

#define CALL(f, type, strm, ...) (((int (*) type)original(f, strm, __builtin_return_address(0)))(strm, ##__VA_ARGS__))

/* ---- Jobs --------------------------------------------------------------------------------------------- */

static unsigned row(const void *state)
{
	return (((uintptr_t)state >> 4) * 0x9e3779b97f4a7c15 >> 58) * SLOTS;
}

static struct job *job_of(const void *state)
{
	for (unsigned i = row(state), end = i + SLOTS; i < end; i++)
		if (atomic_load_explicit(&states[i], memory_order_relaxed) == state)
			return &jobs[i];
	return NULL;
}

static struct job *job_find(z_streamp strm)
{
	return deflate_open && strm && strm->state ? job_of(strm->state) : NULL;
}

static void job_drop_output(struct job *j)
{
	free(j->out);
	j->out = NULL;
}

static void job_end(const void *state)
{
	struct job *j = job_of(state);

	if (j) {
		job_drop_output(j);
		atomic_store_explicit(&states[j - jobs], NULL, memory_order_release);
	}
}

/* A job like COPY for the stream, in place of what it had. NULL: no room. */
static struct job *job_begin(z_streamp strm, const struct job *copy)
{
	job_end(strm->state);
	for (unsigned i = row(strm->state), end = i + SLOTS; i < end; i++) {
		void *nobody = NULL;
		if (atomic_compare_exchange_strong_explicit(&states[i], &nobody, strm->state, memory_order_acquire, memory_order_relaxed)) {
			jobs[i] = *copy;
			jobs[i].out = NULL;
			return &jobs[i];
		}
	}
	return NULL;
}

static void job_restart(z_streamp strm)
{
	struct job *j = job_find(strm);

	if (j) {
		job_drop_output(j);
		j->head_size = 0;
		j->lost = false;
	}
}

/* ---- Compressing -------------------------------------------------------------------------------------- */

static bool compress_whole(struct job *j, z_streamp strm)
{
	const size_t size = j->head_size + strm->avail_in, bound = ROOM(size);
	const uint8_t *in = strm->next_in;
	uint8_t *joined = NULL;
	int saved_errno = errno;
	struct libdeflate_compressor *c = atomic_exchange(&idle[j->level], NULL);

	if (!c)
		c = libdeflate_alloc_compressor(j->level);
	if (j->head_size) {
		in = joined = malloc(size);
		if (joined) {
			memcpy(joined, j->head, j->head_size);
			memcpy(joined + j->head_size, strm->next_in, strm->avail_in);
		}
	}
	j->out = malloc(bound);
	size_t made = c && in && j->out ? libdeflate_zlib_compress(c, in, size, j->out, bound) : 0;
	made = made <= ZLIB_BOUND(size) ? made : 0;
	if (made) {
		uint8_t *trailer = j->out + made - 4;
		j->check = (uLong)trailer[0] << 24 | trailer[1] << 16 | trailer[2] << 8 | trailer[3];
		j->out_size = made;
		j->out_at = j->head_size ? 2 : 0; /* zlib's two header bytes went with the head */
		j->total_in = strm->total_in + strm->avail_in;
	} else {
		job_drop_output(j);
	}
	free(joined);
	if (c)
		libdeflate_free_compressor(atomic_exchange(&idle[j->level], c));
	errno = saved_errno;
	return made;
}

/* Hands over what fits; with the last byte, ends zlib's stream. */
static int deliver(struct job *j, z_streamp strm, int (*zlib_deflate)(z_streamp, int), int flush)
{
	if (flush != Z_FINISH)
		return Z_STREAM_ERROR;
	if (strm->avail_in || !strm->avail_out)
		return Z_BUF_ERROR;

	size_t left = j->out_size - j->out_at, piece = left < strm->avail_out ? left : strm->avail_out;
	memcpy(strm->next_out, j->out + j->out_at, piece);
	j->out_at += piece;
	strm->next_out += piece;
	strm->avail_out -= piece;
	strm->total_out += piece;
	if (j->out_at < j->out_size)
		return Z_OK;

	uint8_t scratch[SCRATCH];
	z_stream saved = *strm;
	strm->next_out = scratch;
	strm->avail_out = sizeof(scratch);
	zlib_deflate(strm, Z_FINISH);
	strm->next_out = saved.next_out;
	strm->avail_out = saved.avail_out;
	strm->total_in = saved.total_in;
	strm->total_out = saved.total_out;
	strm->adler = j->check;
	job_drop_output(j);
	j->lost = true; /* until it is reset */
	return Z_STREAM_END;
}

EXPORT int deflate(z_streamp strm, int flush)
{
	int (*zlib_deflate)(z_streamp, int) = original(DEFLATE, strm, __builtin_return_address(0));
	struct job *j = job_find(strm);

	if (likely(!j) || j->lost || !strm->next_out || (!strm->next_in && strm->avail_in))
		return zlib_deflate(strm, flush);
	if (j->out)
		return deliver(j, strm, zlib_deflate, flush);

	if (flush == Z_FINISH && strm->avail_out) {
		if (strm->adler == libdeflate_adler32(1, j->head, j->head_size) && compress_whole(j, strm)) {
			count_served(DOOR_DEFLATE, strm->avail_in);
			strm->next_in += strm->avail_in;
			strm->total_in += strm->avail_in;
			strm->avail_in = 0;
			return deliver(j, strm, zlib_deflate, flush);
		}
	} else if (flush == Z_NO_FLUSH && strm->avail_in <= HEAD_MAX - j->head_size) {
		const Bytef *in = strm->next_in;
		uLong total_out = strm->total_out;
		int result = zlib_deflate(strm, flush);
		size_t taken = strm->next_in - in;
		if (taken)
			memcpy(j->head + j->head_size, in, taken);
		/* Two bytes out with the first call, none with the others. */
		j->lost = strm->avail_in || strm->total_out - total_out != (j->head_size ? 0 : taken ? 2 : strm->total_out - total_out);
		j->head_size += taken;
		return result;
	}
	j->lost = true;
	return zlib_deflate(strm, flush);
}

/* ---- The calls around it ------------------------------------------------------------------------------ */

/* Levels of libdeflate that compress as well as zlib's of the same number. */
static int job_level(int level)
{
	return level == Z_DEFAULT_COMPRESSION ? 6 : level;
}

/* By itself, lest compilers make a call of the jump: before this, no allocator tells one late zlib from another. */
static __attribute__((noinline, cold)) int late_init(z_streamp strm, int level, const char *version, int stream_size, const void *caller)
{
	int (*init)(z_streamp, int, const char *, int) = late_original(INIT, strm, caller);

	return init(strm, level, version, stream_size);
}

EXPORT int deflateInit_(z_streamp strm, int level, const char *version, int stream_size)
{
	if (unlikely(!originals[INIT]))
		return late_init(strm, level, version, stream_size, __builtin_return_address(0));

	int result = CALL(INIT, (z_streamp, int, const char *, int), strm, level, version, stream_size);

	if (deflate_open && result == Z_OK) {
		job_end(strm->state);
		if (level)
			job_begin(strm, &(struct job){ .level = job_level(level) });
	}
	return result;
}

EXPORT int deflateInit2_(z_streamp strm, int level, int method, int window_bits, int mem_level, int strategy, const char *version, int stream_size)
{
	int result = CALL(INIT2, (z_streamp, int, int, int, int, int, const char *, int), strm, level, method, window_bits, mem_level, strategy,
			  version, stream_size);

	if (deflate_open && result == Z_OK) {
		job_end(strm->state);
		if (level && window_bits == MAX_WBITS && strategy == Z_DEFAULT_STRATEGY)
			job_begin(strm, &(struct job){ .level = job_level(level) });
	}
	return result;
}

EXPORT int deflateEnd(z_streamp strm)
{
	if (deflate_open && strm && strm->state)
		job_end(strm->state);
	return CALL(END, (z_streamp), strm);
}

EXPORT int deflateReset(z_streamp strm)
{
	job_restart(strm);
	return CALL(RESET, (z_streamp), strm);
}

EXPORT int deflateResetKeep(z_streamp strm)
{
	job_restart(strm);
	return CALL(RESET_KEEP, (z_streamp), strm);
}

EXPORT int deflateParams(z_streamp strm, int level, int strategy)
{
	struct job *j = job_find(strm);

	if (j && j->out)
		return Z_STREAM_ERROR; /* the data is compressed already */
	if (j)
		job_end(strm->state);
	return CALL(PARAMS, (z_streamp, int, int), strm, level, strategy);
}

EXPORT int deflateSetDictionary(z_streamp strm, const Bytef *dictionary, uInt size)
{
	struct job *j = job_find(strm);

	if (j && !j->out)
		j->lost = true;
	return CALL(SET_DICTIONARY, (z_streamp, const Bytef *, uInt), strm, dictionary, size);
}

EXPORT int deflateCopy(z_streamp to, z_streamp from)
{
	int result = CALL(COPY, (z_streamp, z_streamp), to, from);
	struct job *j = result == Z_OK ? job_find(from) : NULL;

	if (deflate_open && result == Z_OK)
		job_end(to->state);
	if (j && j->out) {
		struct job *copy = job_begin(to, j);
		if (copy)
			copy->out = malloc(j->out_size);
		if (!copy || !copy->out) {
			deflateEnd(to);
			return Z_MEM_ERROR;
		}
		memcpy(copy->out, j->out, j->out_size);
	}
	return result;
}

void deflate_door_init(const char *version)
{
	struct object owner;

	for (enum function f = 0; f < FUNCTIONS; f++)
		originals[f] = start_definition(names[f], &owner);
	if (!doors[DOOR_DEFLATE].wanted)
		return;
	if (!originals[DEFLATE] || !version) {
		door_close(DOOR_DEFLATE, "the program was started without zlib");
		return;
	}
	deflate_open = true;
	door_open(DOOR_DEFLATE, "libdeflate", "zlib: %s; compressed data differs from zlib's, its content does not", version);
}
