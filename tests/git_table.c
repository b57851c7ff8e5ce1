/*
 * git_table.c - a program with a hash table like git's, for bats/shapes.bats: shapes that no git at hand has, and tables to be left alone
 *
 * Compiled once per SHAPE: OLD, A, B, C, D, E as in shim/git_hooks.c, and
 *   ODD       seven functions: an unknown shape
 *   POINTER   contexts that are a pointer to memory of their own, which init allocates and final frees
 *   WRONG     an update that miscounts: looks right at first, and must be found out
 *   SHORT     a collision-detecting context that ends after its callback: no scratch space behind it
 *   OID       a final_oid that writes another number than git's
 *   NORELRO   linked without RELRO
 *   NOPIE     linked for a fixed address
 *   TWICE     a second row for SHA-1, to which the first does not point
 *   NAME      SHA-1 by another name
 *
 *     git_table MESSAGE_FILE
 *
 * Prints, for each row, the message's digest made in several ways, and how often the program's own update and final were called.
 * The context of the collision-detecting row has git's layout and flags, but detects nothing itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLD 1
#define A 2
#define B 3
#define C 4
#define D 5
#define E 6
#define ODD 7
#define POINTER 8
#define WRONG 9
#define SHORT 10
#define OID 11
#define NORELRO 12
#define NOPIE 13
#define TWICE 14
#define NAME 15

#define HAS_CLONE (SHAPE >= A)
#define HAS_FINAL_OID (SHAPE >= B)
#define HAS_ALGOP (SHAPE == D || SHAPE == E)

/* ---- SHA-1 and SHA-256, FIPS 180-4 --------------------------------------------------------------------- */

static uint32_t rol(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

static uint32_t load(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

struct sha1 {
	uint64_t size;
	uint32_t h[5];
	unsigned char buffer[64];
#if SHAPE != A /* the row "sha1" of shape A is a plain one here */
	int found_collision, safe_hash, detect_coll, ubc_check, reduced_round_coll;
	void *callback;
#if SHAPE != SHORT
	uint32_t ihv1[5], ihv2[5], m1[80], m2[80], states[80][5];
#endif
#endif
};

struct plain_sha1 {
	uint64_t size;
	uint32_t h[5];
	unsigned char buffer[64];
};

struct sha256 {
	uint32_t h[8];
	uint64_t size;
	uint32_t offset;
	unsigned char buffer[64];
};

/* W and STATE65 (where not NULL) get what sha1dc keeps of a block: its expanded message and the working state before step 65. */
static void sha1_block(uint32_t h[5], const unsigned char *p, uint32_t *w_out, uint32_t *state65)
{
	static const uint32_t k[] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
	uint32_t w[80], s[5];

	memcpy(s, h, sizeof s);
	for (int t = 0; t < 80; t++) {
		w[t] = t < 16 ? load(p + 4 * t) : rol(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
		uint32_t f = t < 20 ? (s[1] & s[2]) | (~s[1] & s[3]) : t >= 40 && t < 60 ? (s[1] & s[2]) | (s[1] & s[3]) | (s[2] & s[3]) : s[1] ^ s[2] ^ s[3];
		uint32_t next = rol(s[0], 5) + f + s[4] + k[t / 20] + w[t];

		if (t == 65 && state65)
			memcpy(state65, s, sizeof s);
		s[4] = s[3], s[3] = s[2], s[2] = rol(s[1], 30), s[1] = s[0], s[0] = next;
	}
	for (int i = 0; i < 5; i++)
		h[i] += s[i];
	if (w_out)
		memcpy(w_out, w, sizeof w);
}

/* The first 64 primes give SHA-256 its constants: the fractional parts of their cube roots. */
static uint32_t k256(int t)
{
	static uint32_t k[64];

	if (!k[0]) {
		for (int n = 2, i = 0; i < 64; n++) {
			int prime = 1;

			for (int d = 2; d * d <= n; d++)
				prime &= n % d != 0;
			if (!prime)
				continue;
			__extension__ typedef unsigned __int128 u128;
			uint64_t root = 0; /* floor(cbrt(n) * 2^32): bit by bit, largest with root^3 <= n * 2^96 */
			for (int b = 35; b >= 0; b--) {
				uint64_t r = root | 1ull << b;
				/* r^3 <= n 2^96, compared as r * r / 2^32 * r / 2^32 would lose bits: r < 2^36, r^3 < 2^108 */
				if ((u128)r * r * r <= (u128)n << 96)
					root = r;
			}
			k[i++] = (uint32_t)root;
		}
	}
	return k[t];
}

static void sha256_block(uint32_t h[8], const unsigned char *p)
{
	uint32_t w[64], s[8];

	memcpy(s, h, sizeof s);
	for (int t = 0; t < 64; t++) {
		if (t < 16) {
			w[t] = load(p + 4 * t);
		} else {
			uint32_t x = w[t - 15], y = w[t - 2];
			w[t] = w[t - 16] + (rol(x, 25) ^ rol(x, 14) ^ x >> 3) + w[t - 7] + (rol(y, 15) ^ rol(y, 13) ^ y >> 10);
		}
		uint32_t t1 = s[7] + (rol(s[4], 26) ^ rol(s[4], 21) ^ rol(s[4], 7)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k256(t) + w[t];
		uint32_t t2 = (rol(s[0], 30) ^ rol(s[0], 19) ^ rol(s[0], 10)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		h[i] += s[i];
}

/* ---- The functions of the rows --------------------------------------------------------------------------- */

static unsigned own_calls;

struct algo;

struct ctx {
#if HAS_ALGOP
	const struct algo *algop;
#endif
	union {
		struct sha1 sha1;
		struct plain_sha1 plain;
		struct sha256 sha256;
		struct sha1 *elsewhere;
	} state;
#if SHAPE == E
	_Bool active;
#endif
};

static const uint32_t sha1_start[] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
static const uint32_t sha256_start[] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

typedef void block_fn(void *state, const unsigned char *block);

static void take(void *state, block_fn *block, uint64_t *size, unsigned char *buffer, const unsigned char *p, size_t n)
{
	while (n--) {
		buffer[*size % 64] = *p++;
		if (++*size % 64 == 0)
			block(state, buffer);
	}
}

static void finish(void *state, block_fn *block, uint64_t *size, unsigned char *buffer)
{
	uint64_t bits = *size * 8;
	unsigned char length[8], one = 0x80, zero = 0;

	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	take(state, block, size, buffer, &one, 1);
	while (*size % 64 != 56)
		take(state, block, size, buffer, &zero, 1);
	take(state, block, size, buffer, length, 8);
}

static void store(unsigned char *hash, const uint32_t *h, int words)
{
	for (int i = 0; i < 4 * words; i++)
		hash[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}

static void dc_block(void *state, const unsigned char *block)
{
	struct sha1 *c = state;
#if SHAPE == A || SHAPE == SHORT
	sha1_block(c->h, block, NULL, NULL);
#else
	sha1_block(c->h, block, c->m1, c->states[65]);
#endif
}

static void plain_block(void *state, const unsigned char *block)
{
	sha1_block(((struct plain_sha1 *)state)->h, block, NULL, NULL);
}

static void block256(void *state, const unsigned char *block)
{
	sha256_block(((struct sha256 *)state)->h, block);
}

#if SHAPE == POINTER
#define SHA1_OF(ctx) (ctx)->state.elsewhere
#else
#define SHA1_OF(ctx) (&(ctx)->state.sha1)
#endif

static const struct algo *sha1_row(void), *unsafe_row(void), *sha256_row(void);

static void set_row(struct ctx *ctx, const struct algo *row)
{
#if HAS_ALGOP
	ctx->algop = row;
#else
	(void)ctx, (void)row;
#endif
}

static void sha1_init(struct ctx *ctx)
{
	set_row(ctx, sha1_row());
#if SHAPE == POINTER
	ctx->state.elsewhere = malloc(sizeof(struct sha1));
#endif
	struct sha1 *c = SHA1_OF(ctx);

	c->size = 0;
	memcpy(c->h, sha1_start, sizeof c->h);
#if SHAPE != A
	c->found_collision = c->safe_hash = c->reduced_round_coll = 0;
	c->detect_coll = c->ubc_check = 1;
	c->callback = NULL;
#endif
}

static void sha1_clone(struct ctx *to, const struct ctx *from)
{
#if SHAPE == POINTER
	to->state.elsewhere = malloc(sizeof(struct sha1));
	memcpy(to->state.elsewhere, from->state.elsewhere, sizeof(struct sha1));
#else
	memcpy(to, from, sizeof *to);
#endif
}

static void sha1_update(struct ctx *ctx, const void *p, size_t n)
{
	struct sha1 *c = SHA1_OF(ctx);

	own_calls++;
	take(c, dc_block, &c->size, c->buffer, p, n);
#if SHAPE == WRONG
	c->h[0] ^= n > 3;
#endif
}

static void sha1_final(unsigned char *hash, struct ctx *ctx)
{
	struct sha1 *c = SHA1_OF(ctx);

	own_calls++;
	finish(c, dc_block, &c->size, c->buffer);
	store(hash, c->h, 5);
#if SHAPE == POINTER
	free(c);
#endif
}

static void sha1_final_oid(unsigned char *oid, struct ctx *ctx)
{
	uint32_t algo = SHAPE == OID ? 7 : 1;

	sha1_final(oid, ctx);
	memset(oid + 20, 0, 12);
	memcpy(oid + 32, &algo, 4);
}

static void unsafe_init(struct ctx *ctx)
{
	set_row(ctx, unsafe_row());
	ctx->state.plain.size = 0;
	memcpy(ctx->state.plain.h, sha1_start, sizeof sha1_start);
}

static void unsafe_clone(struct ctx *to, const struct ctx *from)
{
	memcpy(to, from, sizeof *to);
}

static void unsafe_update(struct ctx *ctx, const void *p, size_t n)
{
	own_calls++;
	take(&ctx->state.plain, plain_block, &ctx->state.plain.size, ctx->state.plain.buffer, p, n);
}

static void unsafe_final(unsigned char *hash, struct ctx *ctx)
{
	own_calls++;
	finish(&ctx->state.plain, plain_block, &ctx->state.plain.size, ctx->state.plain.buffer);
	store(hash, ctx->state.plain.h, 5);
}

static void unsafe_final_oid(unsigned char *oid, struct ctx *ctx)
{
	uint32_t algo = 1;

	unsafe_final(oid, ctx);
	memset(oid + 20, 0, 12);
	memcpy(oid + 32, &algo, 4);
}

static void sha256_init(struct ctx *ctx)
{
	set_row(ctx, sha256_row());
	ctx->state.sha256.size = ctx->state.sha256.offset = 0;
	memcpy(ctx->state.sha256.h, sha256_start, sizeof sha256_start);
}

static void sha256_update(struct ctx *ctx, const void *p, size_t n)
{
	own_calls++;
	take(&ctx->state.sha256, block256, &ctx->state.sha256.size, ctx->state.sha256.buffer, p, n);
}

static void sha256_final(unsigned char *hash, struct ctx *ctx)
{
	own_calls++;
	finish(&ctx->state.sha256, block256, &ctx->state.sha256.size, ctx->state.sha256.buffer);
	store(hash, ctx->state.sha256.h, 8);
}

static void sha256_final_oid(unsigned char *oid, struct ctx *ctx)
{
	uint32_t algo = 2;

	sha256_final(oid, ctx);
	memcpy(oid + 32, &algo, 4);
}

static void discard(struct ctx *ctx)
{
	(void)ctx;
}

/* ---- The table ------------------------------------------------------------------------------------------- */

struct functions {
	void (*init)(struct ctx *);
#if HAS_CLONE
	void (*clone)(struct ctx *, const struct ctx *);
#endif
	void (*update)(struct ctx *, const void *, size_t);
	void (*final)(unsigned char *, struct ctx *);
#if HAS_FINAL_OID
	void (*final_oid)(unsigned char *, struct ctx *);
#endif
};

struct algo {
	const char *name;
	uint32_t format_id;
	size_t rawsz, hexsz, blksz;
	struct functions f;
#if SHAPE == C
	struct functions unsafe_f;
#endif
#if SHAPE == E || SHAPE == ODD
	void (*discard)(struct ctx *);
#endif
#if SHAPE == ODD
	void (*another)(struct ctx *);
#endif
	const void *empty_tree, *empty_blob;
#if HAS_FINAL_OID
	const void *null_oid;
#endif
#if HAS_ALGOP
	const struct algo *unsafe;
#endif
};

static const unsigned char object_ids[3][36] = { { 1 }, { 2 }, { 3 } };

#if HAS_FINAL_OID
#define FUNCTIONS(p, clone_fn) { p##_init, clone_fn, p##_update, p##_final, p##_final_oid }
#define IDS .empty_tree = object_ids[0], .empty_blob = object_ids[1], .null_oid = object_ids[2]
#elif HAS_CLONE
#define FUNCTIONS(p, clone_fn) { p##_init, clone_fn, p##_update, p##_final }
#define IDS .empty_tree = object_ids[0], .empty_blob = object_ids[1]
#else
#define FUNCTIONS(p, clone_fn) { p##_init, p##_update, p##_final }
#define IDS .empty_tree = object_ids[0], .empty_blob = object_ids[1]
#endif
#if SHAPE == E || SHAPE == ODD
#define DISCARD .discard = discard,
#else
#define DISCARD
#endif
#if SHAPE == ODD
#define ANOTHER .another = discard,
#else
#define ANOTHER
#endif

#if HAS_ALGOP || SHAPE == TWICE
__attribute__((used)) static const struct algo unsafe_algo = {
	.name = "sha1", .format_id = 0x73686131, .rawsz = 20, .hexsz = 40, .blksz = 64, .f = FUNCTIONS(unsafe, unsafe_clone), DISCARD IDS,
};
#endif

#if SHAPE == NAME
#define SHA1_NAME "sha-1"
#else
#define SHA1_NAME "sha1"
#endif

static const struct algo algos[] = {
	{ .name = NULL },
	{
		.name = SHA1_NAME, .format_id = 0x73686131, .rawsz = 20, .hexsz = 40, .blksz = 64, .f = FUNCTIONS(sha1, sha1_clone),
#if SHAPE == C
		.unsafe_f = FUNCTIONS(unsafe, unsafe_clone),
#endif
		DISCARD ANOTHER IDS,
#if HAS_ALGOP
		.unsafe = &unsafe_algo,
#endif
	},
	{
		.name = "sha256", .format_id = 0x73323536, .rawsz = 32, .hexsz = 64, .blksz = 64, .f = FUNCTIONS(sha256, unsafe_clone),
#if SHAPE == C
		.unsafe_f = FUNCTIONS(sha256, unsafe_clone),
#endif
		DISCARD ANOTHER IDS,
	},
};

static const struct algo *sha1_row(void)
{
	return &algos[1];
}

static const struct algo *unsafe_row(void)
{
#if HAS_ALGOP
	return &unsafe_algo;
#else
	return &algos[1];
#endif
}

static const struct algo *sha256_row(void)
{
	return &algos[2];
}

/* ---- The program ----------------------------------------------------------------------------------------- */

static void print(const char *what, const unsigned char *hash, size_t size)
{
	printf("%s ", what);
	for (size_t i = 0; i < size; i++)
		printf("%02x", hash[i]);
	printf("\n");
}

/* The digest in one update, in pieces of odd sizes with a clone on the way that is continued, too, and as an object id. */
static void use(const char *name, const struct functions *f, size_t size, const unsigned char *message, size_t n)
{
	struct ctx ctx, other;
	unsigned char hash[40];
	size_t at = 0, piece = 1, clone_at = n / 3;
	int cloned = 0;

	f->init(&ctx);
	f->update(&ctx, message, n);
	f->final(hash, &ctx);
	print(name, hash, size);

	f->init(&ctx);
	while (at < n) {
		size_t m = piece < n - at ? piece : n - at;

		f->update(&ctx, message + at, m);
		at += m;
		piece = piece * 5 % 1999 + 1;
#if HAS_CLONE
		if (!cloned && at >= clone_at) {
			cloned = 1;
			f->init(&other);
			f->clone(&other, &ctx);
			f->update(&other, message + at, n - at);
		}
#endif
	}
	f->final(hash, &ctx);
	print(name, hash, size);
	if (cloned) {
		f->final(hash, &other);
		print(name, hash, size);
	}
	(void)clone_at;
#if HAS_FINAL_OID
	memset(hash, 0xa5, sizeof hash);
	f->init(&ctx);
	f->update(&ctx, message, n);
	f->final_oid(hash, &ctx);
	print("object id", hash, 40);
#endif
}

int main(int argc, char **argv)
{
	static unsigned char message[1 << 20];
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
	size_t n = f ? fread(message, 1, sizeof message, f) : 0;
	const volatile struct algo *table = algos; /* read at run time: the compiler knows the constants too well */

	use("sha1", (const struct functions *)&table[1].f, 20, message, n);
#if SHAPE == C
	use("unsafe", (const struct functions *)&table[1].unsafe_f, 20, message, n);
#elif HAS_ALGOP
	use("unsafe", (const struct functions *)&table[1].unsafe->f, 20, message, n);
#else
	(void)unsafe_init, (void)unsafe_update, (void)unsafe_final, (void)unsafe_final_oid;
#endif
	use("sha256", (const struct functions *)&table[2].f, 32, message, n);
	(void)discard, (void)sha1_clone, (void)unsafe_clone, (void)sha1_final_oid, (void)sha256_final_oid, (void)unsafe_final_oid;
	printf("own calls %u\n", own_calls);
	return 0;
}
