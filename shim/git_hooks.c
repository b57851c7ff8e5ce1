/*
 * git_hooks.c - the door to git's hashing: pointers in the table hash_algos[], among the main program's constants
 *
 * git calls SHA-1 and SHA-256 through the rows of one constant table. The constructor finds the rows by their fixed first five words and swaps
 * the pointers of update, final and final_oid: init and clone stay the original's, and so does the layout of every context. What the original
 * functions really do is only found out when a row is first used, by asking them: they hash a few bytes in a scratch context, and the bytes
 * that they leave there must be those of a layout known here. Any other row keeps its originals for good.
 */
#include "elf_objects.h"
#include "fastsha.h"
#include "relro.h"
#include "sha.h"
#include "sha1dc.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

typedef void init_fn(void *ctx);
typedef void update_fn(void *ctx, const void *in, size_t size);
typedef void final_fn(unsigned char *hash, void *ctx);
typedef void final_oid_fn(void *oid, void *ctx);

/* The hash functions that git may have; "unsafe" is its word for SHA-1 without collision detection, for files that it has just written. */
enum row_id { ROW_SHA1, ROW_UNSAFE, ROW_SHA256, ROW_COUNT };

/* git's contexts, offset 0 being what init fills in first (git's own structure may begin with a pointer to the row). */
struct block_sha1_ctx {
	uint64_t size; /* bytes */
	uint32_t state[5];
	unsigned char buffer[64];
};

struct block_sha256_ctx {
	uint32_t state[8];
	uint64_t size; /* bytes */
	uint32_t offset; /* 0: git sets it and never uses it */
	unsigned char buffer[64];
};

enum { SCRATCH = 4096 }; /* larger than any context of git's: 2416 bytes is the largest known */

struct row;

/* What answers a row's calls. CTX: after the offset. */
struct engine {
	const char *name;
	void (*update)(const struct row *row, void *ctx, const void *in, size_t size);
	void (*final)(const struct row *row, unsigned char *hash, void *ctx);
};

struct row {
	const char *name;
	const char *names_itself;          /* in git's table: not checked before the probe */
	init_fn *init; /* the originals; init NULL: git has no such row */
	update_fn *update;
	final_fn *final;
	final_oid_fn *final_oid;           /* NULL before git 2.33 */
	uint32_t algo;                     /* what final_oid writes behind the hash */
	size_t hash_size;                  /* 20 or 32 */
	const struct engine *_Atomic engine; /* NULL: not probed yet */
	size_t offset;                     /* of the algorithm's context in git's: 0 or 8 */
	const char *_Atomic problem;       /* why the originals stay */
};

static struct row rows[ROW_COUNT] = {
	[ROW_SHA1] = { .name = "sha1", .algo = 1, .hash_size = 20 },
	[ROW_UNSAFE] = { .name = "unsafe sha1", .algo = 1, .hash_size = 20 },
	[ROW_SHA256] = { .name = "sha256", .algo = 2, .hash_size = 32 },
};

/* ---- Engines ------------------------------------------------------------------------------------------ */

static void original_update(const struct row *row, void *ctx, const void *in, size_t size)
{
	row->update((char *)ctx - row->offset, in, size);
}

static void original_final(const struct row *row, unsigned char *hash, void *ctx)
{
	row->final(hash, (char *)ctx - row->offset);
}

static const struct engine original_engine = { "the original", original_update, original_final };

static sha_blocks *sha1_kernel, *sha256_kernel;

static void block_sha1_update(const struct row *row, void *context, const void *in, size_t size)
{
	struct block_sha1_ctx *ctx = context;
	size_t used = ctx->size % SHA_BLOCK;

	(void)row;
	ctx->size += size;
	sha_update(sha1_kernel, ctx->state, ctx->buffer, used, in, size);
	count_served(DOOR_GIT, size);
}

static void block_sha1_final(const struct row *row, unsigned char *hash, void *context)
{
	struct block_sha1_ctx *ctx = context;

	(void)row;
	sha_final(sha1_kernel, ctx->state, ctx->buffer, ctx->size % SHA_BLOCK, ctx->size * 8);
	sha_digest(hash, ctx->state, SHA1_WORDS);
}

static const struct engine block_sha1_engine = { "block-sha1", block_sha1_update, block_sha1_final };

static void block_sha256_update(const struct row *row, void *context, const void *in, size_t size)
{
	struct block_sha256_ctx *ctx = context;
	size_t used = ctx->size % SHA_BLOCK;

	(void)row;
	ctx->size += size;
	sha_update(sha256_kernel, ctx->state, ctx->buffer, used, in, size);
	count_served(DOOR_GIT, size);
}

static void block_sha256_final(const struct row *row, unsigned char *hash, void *context)
{
	struct block_sha256_ctx *ctx = context;

	(void)row;
	sha_final(sha256_kernel, ctx->state, ctx->buffer, ctx->size % SHA_BLOCK, ctx->size * 8);
	sha_digest(hash, ctx->state, SHA256_WORDS);
}

static const struct engine block_sha256_engine = { "block-sha256", block_sha256_update, block_sha256_final };

/* Gives a context back to the original, which goes on as if it had had it from the start. */
static void sha1dc_leave(const struct row *row, void *ctx, bool scratch)
{
	unsigned char pending[SHA1DC_PENDING];
	size_t n = sha1dc_release(ctx, pending, scratch);

	if (n)
		original_update(row, ctx, pending, n);
}

static void sha1dc_row_update(const struct row *row, void *ctx, const void *in, size_t size, bool scratch)
{
	if (likely(sha1dc_update(ctx, in, size, scratch))) {
		count_served(DOOR_GIT, size);
		return;
	}
	sha1dc_leave(row, ctx, scratch);
	original_update(row, ctx, in, size);
}

/* On a collision the original's final runs, and git dies in its own words. */
static void sha1dc_row_final(const struct row *row, unsigned char *hash, void *ctx, bool scratch)
{
	if (likely(sha1dc_finish(ctx, hash, scratch)))
		return;
	sha1dc_leave(row, ctx, scratch);
	original_final(row, hash, ctx);
}

static void sha1dc_full_update(const struct row *row, void *ctx, const void *in, size_t size)
{
	sha1dc_row_update(row, ctx, in, size, true);
}

static void sha1dc_full_final(const struct row *row, unsigned char *hash, void *ctx)
{
	sha1dc_row_final(row, hash, ctx, true);
}

static void sha1dc_small_update(const struct row *row, void *ctx, const void *in, size_t size)
{
	sha1dc_row_update(row, ctx, in, size, false);
}

static void sha1dc_small_final(const struct row *row, unsigned char *hash, void *ctx)
{
	sha1dc_row_final(row, hash, ctx, false);
}

static const struct engine sha1dc_engine = { "sha1dc", sha1dc_full_update, sha1dc_full_final };
static const struct engine sha1dc_small_engine = { "sha1dc without scratch space", sha1dc_small_update, sha1dc_small_final };

/* ---- Probing a row: what do the original functions do? ------------------------------------------------ */

static const uint32_t sha1_initial[] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
static const uint32_t sha256_initial[] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

/* The probe's message: three bytes, then enough to fill a block and leave three in the next. */
enum { PROBE_FIRST = 3, PROBE_SIZE = PROBE_FIRST + SHA_BLOCK };

static uint32_t rotate_left(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

/* The expanded message W[0..79] of a block, and the working state (a, b, c, d, e) before step STEP; FIPS 180-4, 6.1.2. */
static void sha1_expand(const unsigned char *block, uint32_t w[80])
{
	for (int t = 0; t < 16; t++) {
		memcpy(&w[t], block + 4 * t, 4);
		w[t] = __builtin_bswap32(w[t]);
	}
	for (int t = 16; t < 80; t++)
		w[t] = rotate_left(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
}

static void sha1_state_before(const uint32_t w[80], int step, uint32_t state[5])
{
	static const uint32_t k[] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
	uint32_t a = sha1_initial[0], b = sha1_initial[1], c = sha1_initial[2], d = sha1_initial[3], e = sha1_initial[4];

	for (int t = 0; t < step; t++) {
		uint32_t f = t < 20 ? (b & c) | (~b & d) : t >= 40 && t < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
		uint32_t next = rotate_left(a, 5) + f + e + k[t / 20] + w[t];

		e = d, d = c, c = rotate_left(b, 30), b = a, a = next;
	}
	state[0] = a, state[1] = b, state[2] = c, state[3] = d, state[4] = e;
}

/*
 * Whether the scratch arrays behind sha1dc's first fields exist and are the context's: after the first block m1 must hold its expanded
 * message, and states the working state before step 65, all other evidence being the same for a context that ends earlier.
 */
static bool scratch_proved(const struct sha1dc_ctx *ctx, const unsigned char *message)
{
	uint32_t w[80], state[5];

	sha1_expand(message, w);
	sha1_state_before(w, 65, state);
	return memcmp(ctx->original.m1, w, sizeof w) == 0 && memcmp(ctx->original.states[65], state, sizeof state) == 0;
}

/* The context's bytes before any update, after 3 bytes and after 67, as the original functions left them. */
struct evidence {
	unsigned char fresh[SCRATCH], first[SCRATCH], second[SCRATCH];
	unsigned char message[PROBE_SIZE];
} __attribute__((aligned(16)));

/* Block SHA-1 and sha1dc begin alike. */
static bool looks_like_sha1(const struct evidence *e, size_t offset)
{
	const struct block_sha1_ctx *fresh = (const void *)(e->fresh + offset), *first = (const void *)(e->first + offset),
				    *second = (const void *)(e->second + offset);
	uint32_t state[5];

	memcpy(state, sha1_initial, sizeof state);
	sha1_blocks_portable(state, e->message, 1);
	return fresh->size == 0 && memcmp(fresh->state, sha1_initial, sizeof state) == 0 && first->size == PROBE_FIRST &&
	       memcmp(first->state, sha1_initial, sizeof state) == 0 && memcmp(first->buffer, e->message, PROBE_FIRST) == 0 &&
	       second->size == PROBE_SIZE && memcmp(second->state, state, sizeof state) == 0 &&
	       memcmp(second->buffer, e->message + SHA_BLOCK, PROBE_SIZE - SHA_BLOCK) == 0;
}

static bool looks_like_sha256(const struct evidence *e, size_t offset)
{
	const struct block_sha256_ctx *fresh = (const void *)(e->fresh + offset), *first = (const void *)(e->first + offset),
				      *second = (const void *)(e->second + offset);
	uint32_t state[8];

	memcpy(state, sha256_initial, sizeof state);
	sha256_blocks_portable(state, e->message, 1);
	return fresh->size == 0 && memcmp(fresh->state, sha256_initial, sizeof state) == 0 && first->size == PROBE_FIRST &&
	       memcmp(first->buffer, e->message, PROBE_FIRST) == 0 && memcmp(first->state, sha256_initial, sizeof state) == 0 &&
	       second->size == PROBE_SIZE && second->offset == 0 && memcmp(second->state, state, sizeof state) == 0 &&
	       memcmp(second->buffer, e->message + SHA_BLOCK, PROBE_SIZE - SHA_BLOCK) == 0;
}

static bool all_zero(const unsigned char *p, const unsigned char *end)
{
	while (p < end && !*p)
		p++;
	return p == end;
}

/* The engine for what the evidence shows; NULL, with the reason, where nothing known fits or nothing is won. */
static const struct engine *engine_for(const struct row *row, const struct evidence *e, size_t *offset, const char **problem)
{
	for (*offset = 0; *offset <= 8; *offset += 8) {
		const struct sha1dc_ctx *fresh = (const void *)(e->fresh + *offset), *second = (const void *)(e->second + *offset);

		if (row->hash_size == 32 && looks_like_sha256(e, *offset)) {
			*problem = "no kernel here beats git's own";
			return sha_beats_c(sha256_kernel) ? &block_sha256_engine : NULL;
		}
		if (row->hash_size != 20 || !looks_like_sha1(e, *offset))
			continue;
		if (all_zero((const unsigned char *)&fresh->found_collision, e->fresh + SCRATCH) &&
		    all_zero((const unsigned char *)&second->found_collision, e->second + SCRATCH)) {
			*problem = "no kernel here beats git's own";
			return sha_beats_c(sha1_kernel) ? &block_sha1_engine : NULL;
		}
		if (fresh->detect_coll) {
			*problem = "no kernel here beats sha1dc";
			return !sha1dc_available() ? NULL : scratch_proved(second, e->message) ? &sha1dc_engine : &sha1dc_small_engine;
		}
	}
	*offset = 0;
	*problem = "unknown context, left alone";
	return NULL;
}

/* Whether the original final and final_oid turn CTX, and a copy of it, into the right hash, and final_oid writes nothing unexpected. */
static bool finals_as_expected(const struct row *row, unsigned char *ctx, unsigned char *copy, const unsigned char *message)
{
	unsigned char hash[64], expected[32], buffer[SHA_BLOCK] = { 0 };
	struct {
		unsigned char hash[32];
		uint32_t algo;
		unsigned char behind[28];
	} oid;
	uint32_t state[8];
	size_t used;

	if (row->hash_size == 20) {
		memcpy(state, sha1_initial, sizeof sha1_initial);
		used = sha_update(sha1_blocks_portable, state, buffer, 0, message, PROBE_SIZE);
		sha_final(sha1_blocks_portable, state, buffer, used, PROBE_SIZE * 8);
	} else {
		memcpy(state, sha256_initial, sizeof sha256_initial);
		used = sha_update(sha256_blocks_portable, state, buffer, 0, message, PROBE_SIZE);
		sha_final(sha256_blocks_portable, state, buffer, used, PROBE_SIZE * 8);
	}
	sha_digest(expected, state, row->hash_size / 4);

	memset(hash, 0xa5, sizeof hash);
	row->final(hash, ctx);
	if (memcmp(hash, expected, row->hash_size) != 0 || hash[row->hash_size] != 0xa5)
		return false;
	if (!row->final_oid)
		return true;
	memset(&oid, 0xa5, sizeof oid);
	row->final_oid(&oid, copy);
	for (size_t i = 0; i < sizeof oid.behind; i++)
		if (oid.behind[i] != 0xa5)
			return false;
	return memcmp(oid.hash, expected, row->hash_size) == 0 && all_zero(oid.hash + row->hash_size, oid.hash + 32) && oid.algo == row->algo;
}

/*
 * Asks the row's original functions what they do, and decides for good which engine answers. Threads may come here at the same time: they ask
 * the same questions, get the same answers and decide alike.
 */
static __attribute__((noinline, cold)) const struct engine *probe(struct row *row)
{
	struct evidence e;
	unsigned char ctx[SCRATCH] __attribute__((aligned(16))), copy[SCRATCH] __attribute__((aligned(16)));
	const struct engine *engine;
	const char *problem;
	size_t offset;

	if (strcmp(row->names_itself, row->hash_size == 20 ? "sha1" : "sha256") != 0) {
		atomic_store_explicit(&row->problem, "another name in its row, left alone", memory_order_relaxed);
		atomic_store_explicit(&row->engine, &original_engine, memory_order_release);
		return &original_engine;
	}
	for (size_t i = 0; i < PROBE_SIZE; i++)
		e.message[i] = (unsigned char)(i * 7 + 1);
	memset(ctx, 0, sizeof ctx);
	row->init(ctx);
	memcpy(e.fresh, ctx, sizeof ctx);
	row->update(ctx, e.message, PROBE_FIRST);
	memcpy(e.first, ctx, sizeof ctx);
	row->update(ctx, e.message + PROBE_FIRST, PROBE_SIZE - PROBE_FIRST);
	memcpy(e.second, ctx, sizeof ctx);

	engine = engine_for(row, &e, &offset, &problem);
	if (!engine) {
		/* The context may own memory: let the original free it. A plain copy of it must not be finished, too. */
		unsigned char hash[64];

		row->final(hash, ctx);
	} else {
		memcpy(copy, ctx, sizeof copy);
		if (!finals_as_expected(row, ctx, copy, e.message)) {
			engine = NULL;
			problem = "final does not do what is expected";
		}
	}
	row->offset = engine ? offset : 0;
	atomic_store_explicit(&row->problem, engine ? NULL : problem, memory_order_relaxed);
	if (!engine)
		engine = &original_engine;
	atomic_store_explicit(&row->engine, engine, memory_order_release);
	return engine;
}

static inline const struct engine *engine_of(struct row *row)
{
	const struct engine *engine = atomic_load_explicit(&row->engine, memory_order_acquire);

	return likely(engine != NULL) ? engine : probe(row);
}

/* ---- What the table's pointers are replaced with: they know their row ---------------------------------- */

static inline void row_update(struct row *row, void *ctx, const void *in, size_t size)
{
	engine_of(row)->update(row, (char *)ctx + row->offset, in, size);
}

static inline void row_final(struct row *row, unsigned char *hash, void *ctx)
{
	engine_of(row)->final(row, hash, (char *)ctx + row->offset);
}

/* struct object_id: 32 bytes of hash, zero behind it, and the number of the algorithm. */
static inline void row_final_oid(struct row *row, unsigned char *oid, void *ctx)
{
	if (engine_of(row) == &original_engine) {
		row->final_oid(oid, ctx);
		return;
	}
	row_final(row, oid, ctx);
	memset(oid + row->hash_size, 0, 32 - row->hash_size);
	memcpy(oid + 32, &row->algo, sizeof row->algo);
}

#define ROW_FUNCTIONS(prefix, id)                                              \
	static void prefix##_update(void *ctx, const void *in, size_t size)    \
	{                                                                      \
		row_update(&rows[id], ctx, in, size);                          \
	}                                                                      \
	static void prefix##_final(unsigned char *hash, void *ctx)             \
	{                                                                      \
		row_final(&rows[id], hash, ctx);                               \
	}                                                                      \
	static void prefix##_final_oid(void *oid, void *ctx)                   \
	{                                                                      \
		row_final_oid(&rows[id], oid, ctx);                            \
	}

ROW_FUNCTIONS(sha1, ROW_SHA1)
ROW_FUNCTIONS(unsafe, ROW_UNSAFE)
ROW_FUNCTIONS(sha256, ROW_SHA256)

static const struct {
	update_fn *update;
	final_fn *final;
	final_oid_fn *final_oid;
} replacements[ROW_COUNT] = {
	[ROW_SHA1] = { sha1_update, sha1_final, sha1_final_oid },
	[ROW_UNSAFE] = { unsafe_update, unsafe_final, unsafe_final_oid },
	[ROW_SHA256] = { sha256_update, sha256_final, sha256_final_oid },
};

/* ---- Finding the table -------------------------------------------------------------------------------- */

/* A row's words: name, format_id, rawsz, hexsz, blksz, and its functions. */
enum { WORD_NAME, WORD_FORMAT, WORD_RAWSZ, WORD_HEXSZ, WORD_BLKSZ, WORD_FUNCTIONS, ROW_WORDS_MAX = 20 };

#define FORMAT_SHA1 0x73686131u   /* "sha1" */
#define FORMAT_SHA256 0x73323536u /* "s256" */

/*
 * The shapes, told apart by the number of functions: which of them init, update, final and final_oid are (-1: none), how many pointers to data
 * follow (the object ids of the empty tree, the empty blob and, later, null), and where a second set, "unsafe_", begins (0: none).
 */
static const struct shape {
	const char *name, *with_unsafe_name; /* the second where a pointer to a row of its own for unsafe SHA-1 may follow the data */
	int functions, init, update, final, final_oid, data, unsafe;
} shapes[] = {
	{ "of 2.21", NULL, 3, 0, 1, 2, -1, 2, 0 },
	{ "A", NULL, 4, 0, 2, 3, -1, 2, 0 },
	{ "B", "D", 5, 0, 2, 3, 4, 3, 0 },
	{ "E", "E", 6, 0, 2, 3, 4, 3, 0 },
	{ "C", NULL, 10, 0, 2, 3, 4, 3, 5 },
};

struct candidate {
	void **words;
	const struct shape *shape;
	bool sha256;
};

enum { CANDIDATES_MAX = 4 }; /* SHA-1, unsafe SHA-1, SHA-256; one more is one too many */

static bool is_code(const struct object *o, const void *p)
{
	return object_maps(o, p, 1, PF_R | PF_X);
}

static bool is_data(const struct object *o, const void *p)
{
	return object_maps(o, p, 32, PF_R) && !is_code(o, p);
}

/*
 * Read-only, and long enough for a row's name. What it says is only looked at when the row is first used: nothing else at the start of a
 * process touches that page.
 */
static bool is_name(const struct object *o, const void *p)
{
	return object_maps(o, p, sizeof "sha256", PF_R) && !object_maps(o, p, 1, PF_W);
}

/* The shape of the row at WORDS, COUNT words before the memory searched ends; NULL where it is none. */
SEARCHES_MEMORY static const struct shape *shape_of(const struct object *o, void *const *words, size_t count)
{
	size_t n = 0;

	while (WORD_FUNCTIONS + n < count && n <= 10 && is_code(o, words[WORD_FUNCTIONS + n]))
		n++;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const struct shape *s = &shapes[i];
		bool fits = (size_t)s->functions == n && WORD_FUNCTIONS + n + s->data <= count;

		for (int d = 0; fits && d < s->data; d++)
			fits = is_data(o, words[WORD_FUNCTIONS + n + d]);
		if (fits)
			return s;
	}
	return NULL;
}

SEARCHES_MEMORY static bool starts_row(const struct object *o, void *const *words, bool *sha256)
{
	uintptr_t format = (uintptr_t)words[WORD_FORMAT];

	*sha256 = format == FORMAT_SHA256;
	if (format != FORMAT_SHA1 && format != FORMAT_SHA256)
		return false;
	return (uintptr_t)words[WORD_RAWSZ] == (*sha256 ? 32 : 20) && (uintptr_t)words[WORD_HEXSZ] == (*sha256 ? 64 : 40) &&
	       (uintptr_t)words[WORD_BLKSZ] == 64 && is_name(o, words[WORD_NAME]);
}

/* Where rows may lie, from START to END, and those found there, N being CANDIDATES_MAX where there are too many. */
struct rows_found {
	uintptr_t start, end;
	struct candidate candidates[CANDIDATES_MAX];
	size_t n;
	bool unknown; /* something began like a row, but has no known shape */
};

SEARCHES_MEMORY static void find_rows(const struct object *o, struct rows_found *found)
{
	uintptr_t start = (found->start + 7) & -(uintptr_t)8, end = found->end & -(uintptr_t)8;
	size_t words = end > start ? (end - start) / sizeof(void *) : 0;

	for (size_t i = 0; i + WORD_FUNCTIONS < words && found->n < CANDIDATES_MAX; i++) {
		void **w = (void **)start + i;
		bool sha256;

		/* The comparison that nearly always ends it, first: a program may have a megabyte of constants. */
		if (((uintptr_t)w[WORD_FORMAT] & ~(uintptr_t)(FORMAT_SHA1 ^ FORMAT_SHA256)) != (FORMAT_SHA1 & FORMAT_SHA256) || !starts_row(o, w, &sha256))
			continue;
		const struct shape *shape = shape_of(o, w, words - i);
		if (shape)
			found->candidates[found->n++] = (struct candidate){ w, shape, sha256 };
		else
			found->unknown = true;
	}
}

static bool named_like_git(void)
{
	const char *path = (const char *)getauxval(AT_EXECFN), *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	return name && (strncmp(name, "git", 3) == 0 || strcmp(name, "scalar") == 0);
}

/*
 * The table is constant, but holds pointers: in a program that is relocated when it is loaded it lies in RELRO, or among the variables where
 * the linker was told to make no RELRO; in one linked to run at a fixed address among the read-only data. That is more to search, so only
 * programs with git's names are.
 */
static void find_table(const struct object *o, struct rows_found *found)
{
	*found = (struct rows_found){ .start = o->relro, .end = o->relro_end };
	find_rows(o, found);
	for (size_t i = 0; i < o->phnum && !found->n && !found->unknown; i++) {
		const ElfW(Phdr) *p = &o->phdr[i];
		bool searched = p->p_flags == PF_R ? o->base == 0 : p->p_flags == (PF_R | PF_W) && o->relro == o->relro_end;

		if (p->p_type != PT_LOAD || !searched || !named_like_git())
			continue;
		found->start = o->base + p->p_vaddr;
		found->end = found->start + p->p_filesz;
		find_rows(o, found);
	}
}

/* The word behind a row's data: where shapes D and E have a pointer to a row for unsafe SHA-1. */
static const void *unsafe_row_of(const struct rows_found *found, const struct candidate *c)
{
	void **word = c->words + WORD_FUNCTIONS + c->shape->functions + c->shape->data;

	return c->shape->with_unsafe_name && (uintptr_t)(word + 1) <= found->end ? *word : NULL;
}

/* ---- Connecting --------------------------------------------------------------------------------------- */

enum { SWAPS_MAX = 3 * ROW_COUNT };

static const char *shape_name;

/* Remembers the originals of the row at WORDS, which begin at FUNCTIONS, and adds the swaps. */
static size_t connect(enum row_id id, void *const *words, void **functions, const struct shape *s, struct relro_swap *swaps)
{
	struct row *row = &rows[id];
	void *new_final_oid;
	size_t n = 0;

	row->names_itself = words[WORD_NAME];
	memcpy(&row->init, &functions[s->init], sizeof row->init);
	memcpy(&row->update, &functions[s->update], sizeof row->update);
	memcpy(&row->final, &functions[s->final], sizeof row->final);
	swaps[n++] = (struct relro_swap){ &functions[s->update], functions[s->update], (void *)replacements[id].update };
	swaps[n++] = (struct relro_swap){ &functions[s->final], functions[s->final], (void *)replacements[id].final };
	if (s->final_oid >= 0) {
		memcpy(&row->final_oid, &functions[s->final_oid], sizeof row->final_oid);
		new_final_oid = (void *)replacements[id].final_oid;
		swaps[n++] = (struct relro_swap){ &functions[s->final_oid], functions[s->final_oid], new_final_oid };
	}
	return n;
}

void git_door_init(void)
{
	struct rows_found found;
	struct relro_swap swaps[SWAPS_MAX];
	struct object program;
	const char *problem;
	size_t swap_count = 0;

	if (!doors[DOOR_GIT].wanted)
		return;
	object_main(&program);
	find_table(&program, &found);
	if (found.unknown || found.n == CANDIDATES_MAX) {
		door_close(DOOR_GIT, "this git's hash table has an unknown shape: left alone");
		return;
	}
	if (!found.n) {
		door_close(DOOR_GIT, "no hash table of git's in this program");
		return;
	}
	sha1_kernel = sha1_best();
	sha256_kernel = sha256_best();
	for (size_t i = 0; i < found.n; i++) {
		const struct candidate *c = &found.candidates[i];
		enum row_id id = c->sha256 ? ROW_SHA256 : ROW_SHA1;

		for (size_t j = 0; j < found.n; j++)
			if (unsafe_row_of(&found, &found.candidates[j]) == c->words) {
				id = ROW_UNSAFE;
				shape_name = found.candidates[j].shape->with_unsafe_name;
			}
		if (rows[id].init) {
			door_close(DOOR_GIT, "more than one hash table in this program: left alone");
			return;
		}
		swap_count += connect(id, c->words, c->words + WORD_FUNCTIONS, c->shape, swaps + swap_count);
		if (!shape_name)
			shape_name = c->shape->name;
		if (c->shape->unsafe && id == ROW_SHA1)
			swap_count += connect(ROW_UNSAFE, c->words, c->words + WORD_FUNCTIONS + c->shape->unsafe, c->shape, swaps + swap_count);
	}
	problem = relro_swap(&program, swaps, swap_count);
	if (problem) {
		door_close(DOOR_GIT, "hash table shape %s, but %s", shape_name, problem);
		return;
	}
	door_open(DOOR_GIT, NULL, "hash table shape %s; not used", shape_name);
}

void git_door_describe(void)
{
	char why[sizeof doors->why];
	const char *kernel = NULL;
	int n = 0;

	if (!doors[DOOR_GIT].open)
		return;
	for (unsigned id = 0; id < ROW_COUNT; id++) {
		const struct engine *engine = atomic_load(&rows[id].engine);
		const char *problem = atomic_load(&rows[id].problem);

		if (!engine || n >= (int)sizeof why)
			continue;
		n += snprintf(why + n, sizeof why - n, "; %s%s%s", rows[id].name, problem ? ": " : " by ", problem ? problem : engine->name);
		if (engine == &sha1dc_engine || engine == &sha1dc_small_engine)
			kernel = sha1dc_kernel_name();
		else if (engine == &block_sha1_engine && !kernel)
			kernel = sha_kernel_name(sha1_kernel);
		else if (engine == &block_sha256_engine && !kernel)
			kernel = sha_kernel_name(sha256_kernel);
	}
	if (!n)
		return;
	if (kernel)
		door_open(DOOR_GIT, kernel, "hash table shape %s%s", shape_name, why);
	else
		door_close(DOOR_GIT, "hash table shape %s%s", shape_name, why);
}
