/* zlib_pair.h - one stream through the inflate door and one through the original, compared after every call */
#ifndef ZLIB_PAIR_H
#define ZLIB_PAIR_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

/* The original's own functions, past the hooks. */
static int (*zlib_inflate)(z_streamp, int);
static int (*zlib_deflate)(z_streamp, int);
static uLong (*zlib_crc32)(uLong, const Bytef *, uInt);
static uLong (*zlib_adler32)(uLong, const Bytef *, uInt);

static inline void *zlib_symbol(void *handle, const char *name)
{
	void *symbol = handle ? dlsym(handle, name) : NULL;
	if (!symbol) {
		fprintf(stderr, "no %s in libz.so.1\n", name);
		exit(1);
	}
	return symbol;
}

static inline void zlib_find(void)
{
	void *handle = dlopen("libz.so.1", RTLD_NOW);
	zlib_inflate = zlib_symbol(handle, "inflate");
	zlib_deflate = zlib_symbol(handle, "deflate");
	zlib_crc32 = zlib_symbol(handle, "crc32");
	zlib_adler32 = zlib_symbol(handle, "adler32");
	if (zlib_inflate == inflate) {
		fprintf(stderr, "the door is not there: inflate is the original\n");
		exit(1);
	}
}

/* What a failure prints: set by the caller. */
static char pair_case[256];

struct pair {
	z_stream ours, theirs;
	unsigned char *out[2]; /* ours, theirs: what the streams have written, from where they were started */
	size_t out_size;
};

static inline void pair_fail(const char *call, const char *what, long ours, long theirs)
{
	fprintf(stderr, "after %s: %s is %ld, zlib has %ld (%s)\n", call, what, ours, theirs, pair_case);
	abort();
}

static inline void pair_compare(const struct pair *p, const char *call, int ours, int theirs)
{
	const z_stream *a = &p->ours, *b = &p->theirs;

#define SAME(what, x, y) do { if ((long)(x) != (long)(y)) pair_fail(call, what, (long)(x), (long)(y)); } while (0)
	SAME("the result", ours, theirs);
	SAME("next_in", a->next_in, b->next_in);
	SAME("avail_in", a->avail_in, b->avail_in);
	SAME("total_in", a->total_in, b->total_in);
	SAME("next_out", a->next_out - p->out[0], b->next_out - p->out[1]);
	SAME("avail_out", a->avail_out, b->avail_out);
	SAME("total_out", a->total_out, b->total_out);
	SAME("adler", a->adler, b->adler);
	SAME("data_type", a->data_type, b->data_type);
	SAME("whether there is a msg", !!a->msg, !!b->msg);
	if (a->msg && strcmp(a->msg, b->msg)) {
		fprintf(stderr, "msg '%s', zlib has '%s'\n", a->msg, b->msg);
		pair_fail(call, "msg", 0, 0);
	}
#undef SAME
}

static inline int pair_inflate(struct pair *p, const unsigned char *in, size_t in_size, size_t out_at, size_t out_size, int flush)
{
	p->ours.next_in = p->theirs.next_in = (z_const Bytef *)in;
	p->ours.avail_in = p->theirs.avail_in = in_size;
	p->ours.next_out = p->out[0] + out_at;
	p->theirs.next_out = p->out[1] + out_at;
	p->ours.avail_out = p->theirs.avail_out = out_size;

	int ours = inflate(&p->ours, flush), theirs = zlib_inflate(&p->theirs, flush);
	char call[32];
	snprintf(call, sizeof(call), "inflate(%d)", flush);
	pair_compare(p, call, ours, theirs);
	if (memcmp(p->out[0] + out_at, p->out[1] + out_at, out_size - p->theirs.avail_out))
		pair_fail(call, "the output", 0, 0);
	return theirs;
}

/* What functions that look into a stream's state say. */
static inline void pair_state(struct pair *p)
{
	static unsigned char window[2][32768];
	uInt len[2] = {0, 0};
	int result[2] = {inflateGetDictionary(&p->ours, window[0], &len[0]), inflateGetDictionary(&p->theirs, window[1], &len[1])};

	pair_compare(p, "inflateGetDictionary", result[0], result[1]);
	if (len[0] != len[1] || memcmp(window[0], window[1], len[0]))
		pair_fail("inflateGetDictionary", "the window's length", len[0], len[1]);
	if (inflateMark(&p->ours) != inflateMark(&p->theirs))
		pair_fail("inflateMark", "the mark", inflateMark(&p->ours), inflateMark(&p->theirs));
	pair_compare(p, "inflateSyncPoint", inflateSyncPoint(&p->ours), inflateSyncPoint(&p->theirs));
}

static inline void pair_init(struct pair *p, int window_bits)
{
	memset(&p->ours, 0, sizeof(p->ours));
	memset(&p->theirs, 0, sizeof(p->theirs));
	p->ours.next_out = p->out[0];
	p->theirs.next_out = p->out[1];
	int ours = inflateInit2(&p->ours, window_bits), theirs = inflateInit2(&p->theirs, window_bits);
	pair_compare(p, "inflateInit2", ours, theirs);
}

static inline void pair_end(struct pair *p)
{
	int ours = inflateEnd(&p->ours), theirs = inflateEnd(&p->theirs);
	pair_compare(p, "inflateEnd", ours, theirs);
}

/* SIZE bytes that end at a page that may not be touched. Never freed. */
static inline unsigned char *guarded(size_t size)
{
	size_t whole = (size + 4095) & ~(size_t)4095;
	unsigned char *pages = mmap(NULL, whole + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + whole, 4096, PROT_NONE))
		abort();
	return pages + whole - size;
}

#endif
