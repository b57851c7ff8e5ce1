/* sha_hooks.c - the door to libcrypto's SHA-1 and SHA-256: its exported functions, and dispatch tables that do not refer to them by name */
#include "callers.h"
#include "elf_objects.h"
#include "fastsha.h"
#include "relro.h"
#include "sha.h"

#include <string.h>

/* The contexts of openssl/sha.h, in every libcrypto so far. The callers own them, copy them as plain memory, and look inside. */
struct sha1_ctx {
	uint32_t h[SHA1_WORDS];
	uint32_t bits[2]; /* message length, the lower half first */
	unsigned char data[SHA_BLOCK];
	unsigned num; /* bytes in data */
};

struct sha256_ctx {
	uint32_t h[SHA256_WORDS];
	uint32_t bits[2];
	unsigned char data[SHA_BLOCK];
	unsigned num;
	unsigned md_len; /* bytes in the digest: 32, or 28 for SHA-224 */
};

/*
 * Where the door is open the processor has SHA-NI: on others libcrypto's own AVX2 and SSSE3 code is as good as any. SHA-1 has several kernels for
 * it; set before the door opens.
 */
static sha_blocks *sha1_kernel;

/* For reports. */
static const char *kernel_names(void)
{
	return sha1_kernel == sha1_blocks_ni_nomsg ? "sha1_ni_nomsg+sha256_ni" : sha1_kernel == sha1_blocks_ni_early ? "sha1_ni_early+sha256_ni" :
														       "sha1_ni+sha256_ni";
}

static uint64_t bit_count(const uint32_t bits[2])
{
	return (uint64_t)bits[1] << 32 | bits[0];
}

static void add_bytes(uint32_t bits[2], size_t size)
{
	uint64_t sum = bit_count(bits) + ((uint64_t)size << 3);

	bits[0] = (uint32_t)sum;
	bits[1] = (uint32_t)(sum >> 32);
}

/* ---- What we answer with: as libcrypto's functions, down to the last byte of the context ---------------- */

/* Updates that only fill the buffer are kept free of what those with blocks need: saved registers cost them a tenth of their time. */

static __attribute__((noinline)) int sha1_update_blocks(struct sha1_ctx *c, const void *data, size_t size)
{
	c->num = (unsigned)sha_update(sha1_kernel, c->h, c->data, c->num, data, size);
	return 1;
}

static inline int sha1_update(struct sha1_ctx *c, const void *data, size_t size)
{
	if (unlikely(!size))
		return 1;
	count_served(DOOR_LIBCRYPTO, size);
	add_bytes(c->bits, size);
	if (size >= SHA_BLOCK - c->num)
		return sha1_update_blocks(c, data, size);
	sha_copy(c->data + c->num, data, size);
	c->num += (unsigned)size;
	return 1;
}

static int sha1_final(unsigned char *digest, struct sha1_ctx *c)
{
	count_served(DOOR_LIBCRYPTO, 0);
	sha_final(sha1_kernel, c->h, c->data, c->num, bit_count(c->bits));
	c->num = 0;
	sha_digest(digest, c->h, SHA1_WORDS);
	return 1;
}

static void sha1_transform(struct sha1_ctx *c, const unsigned char *block)
{
	count_served(DOOR_LIBCRYPTO, SHA_BLOCK);
	sha1_kernel(c->h, block, 1);
}

static __attribute__((noinline)) int sha256_update_blocks(struct sha256_ctx *c, const void *data, size_t size)
{
	c->num = (unsigned)sha_update(sha256_blocks_ni, c->h, c->data, c->num, data, size);
	return 1;
}

static inline int sha256_update(struct sha256_ctx *c, const void *data, size_t size)
{
	if (unlikely(!size))
		return 1;
	count_served(DOOR_LIBCRYPTO, size);
	add_bytes(c->bits, size);
	if (size >= SHA_BLOCK - c->num)
		return sha256_update_blocks(c, data, size);
	sha_copy(c->data + c->num, data, size);
	c->num += (unsigned)size;
	return 1;
}

static int sha256_final(unsigned char *digest, struct sha256_ctx *c)
{
	count_served(DOOR_LIBCRYPTO, 0);
	sha_final(sha256_blocks_ni, c->h, c->data, c->num, bit_count(c->bits));
	c->num = 0;
	if (c->md_len > 4 * SHA256_WORDS)
		return 0;
	sha_digest(digest, c->h, c->md_len / 4);
	return 1;
}

static void sha256_transform(struct sha256_ctx *c, const unsigned char *block)
{
	count_served(DOOR_LIBCRYPTO, SHA_BLOCK);
	sha256_blocks_ni(c->h, block, 1);
}

/* ---- One-shots: SHA256(data, size, digest) and its kin --------------------------------------------------- */

/*
 * OpenSSL 3 fetches the algorithm from a provider for every message, which takes longer than to hash a short one. What such a fetch brings
 * depends on the configuration, the providers loaded and the default properties. So the first call of each function is the original's; if
 * the default provider has the algorithm, the later ones are ours, until a function is called that may have changed that.
 */
enum one_shot { ONE_SHA1, ONE_SHA224, ONE_SHA256, ONE_SHA384, ONE_SHA512, ONE_SHOTS };

typedef unsigned char *one_shot_function(const unsigned char *data, size_t size, unsigned char *digest);

static const char *const one_shot_names[ONE_SHOTS] = { "SHA1", "SHA224", "SHA256", "SHA384", "SHA512" };

/* How often what a fetch brings may have changed, and how often it had when the default provider last answered. */
static _Atomic unsigned changes = 1, fetched[ONE_SHOTS];
/* Somebody has given a thread another default context: the one-shots are the originals' from then on. */
static atomic_bool other_contexts;

/*
 * Functions of the libcrypto that is loaded; fetch and the three after it are not there before OpenSSL 3, where nothing is fetched. Only of one
 * that stays: nothing tells us when another goes, and where it had been something else may be. Until they are known, the one-shots are the
 * originals'.
 */
static atomic_bool libcrypto_stays;
static struct {
	one_shot_function *one_shot[ONE_SHOTS];
	void *(*fetch)(void *context, const char *algorithm, const char *properties);
	void (*free)(void *digest);
	const void *(*get0_provider)(const void *digest);
	const char *(*get0_name)(const void *provider);
	int (*init[ONE_SHOTS])(void *ctx); /* of SHA-384 and SHA-512 */
	int (*update)(void *ctx, const void *data, size_t size);
	int (*final)(unsigned char *digest, void *ctx);
} libcrypto_has;

static void find_one_shots(const struct object *libcrypto)
{
	for (size_t i = 0; i < ONE_SHOTS; i++)
		libcrypto_has.one_shot[i] = object_symbol(libcrypto, one_shot_names[i]);
	libcrypto_has.fetch = object_symbol(libcrypto, "EVP_MD_fetch");
	libcrypto_has.free = object_symbol(libcrypto, "EVP_MD_free");
	libcrypto_has.get0_provider = object_symbol(libcrypto, "EVP_MD_get0_provider");
	libcrypto_has.get0_name = object_symbol(libcrypto, "OSSL_PROVIDER_get0_name");
	libcrypto_has.init[ONE_SHA384] = object_symbol(libcrypto, "SHA384_Init");
	libcrypto_has.init[ONE_SHA512] = object_symbol(libcrypto, "SHA512_Init");
	libcrypto_has.update = object_symbol(libcrypto, "SHA512_Update");
	libcrypto_has.final = object_symbol(libcrypto, "SHA512_Final");
	atomic_store_explicit(&libcrypto_stays, true, memory_order_release);
}

/* The original, and whether the next call may be ours. */
static __attribute__((noinline, cold)) unsigned char *first_one_shot(enum one_shot which, const unsigned char *data, size_t size,
								     unsigned char *digest)
{
	unsigned now = atomic_load(&changes);
	unsigned char *result = libcrypto_has.one_shot[which](data, size, digest);

	if (!result || atomic_load(&other_contexts))
		return result;
	if (libcrypto_has.fetch) {
		void *md = libcrypto_has.fetch(NULL, one_shot_names[which], NULL);
		bool ours = md && libcrypto_has.free && libcrypto_has.get0_provider && libcrypto_has.get0_name &&
			    strcmp(libcrypto_has.get0_name(libcrypto_has.get0_provider(md)), "default") == 0;

		if (md && libcrypto_has.free)
			libcrypto_has.free(md);
		if (!ours)
			return result;
	}
	/* What the fetch itself has set in motion, such as the configuration's first reading, counts as a change, too. */
	atomic_store(&fetched[which], now);
	return result;
}

static inline bool one_shot_is_ours(enum one_shot which)
{
	return likely(atomic_load_explicit(&fetched[which], memory_order_relaxed) == atomic_load_explicit(&changes, memory_order_acquire));
}

/* Zeroes what a message leaves on the stack; the compiler must not think that in vain. */
static inline void wipe(void *p, size_t size)
{
	__builtin_memset(p, 0, size);
	__asm__ volatile("" : : "r"(p) : "memory");
}

static inline unsigned char *one_shot(sha_blocks *kernel, const uint32_t *start, size_t state_words, const unsigned char *data, size_t size,
				      unsigned char *digest, size_t words)
{
	uint32_t state[SHA256_WORDS];
	_Alignas(16) unsigned char tail[SHA_BLOCK];
	size_t rest = size % SHA_BLOCK;
	uint64_t bits = (uint64_t)size << 3;

	count_served(DOOR_LIBCRYPTO, size);
	__builtin_memcpy(state, start, 4 * state_words);
	if (size >= SHA_BLOCK)
		kernel(state, data, size / SHA_BLOCK);
	/* Now, where it is done beside the kernel's chain of rounds, on which everything waits. */
	bool complete = sha_tail(tail, data + (size - rest), rest, bits);
	kernel(state, tail, 1);
	if (unlikely(!complete)) {
		sha_pad_length(tail, bits);
		kernel(state, tail, 1);
	}
	sha_digest(digest, state, words);
	wipe(tail, sizeof tail);
	wipe(state, sizeof state);
	return digest;
}

static unsigned char *sha1(const unsigned char *data, size_t size, unsigned char *digest)
{
	static const uint32_t start[SHA1_WORDS] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	static unsigned char own[4 * SHA1_WORDS];

	if (!one_shot_is_ours(ONE_SHA1))
		return first_one_shot(ONE_SHA1, data, size, digest);
	return one_shot(sha1_kernel, start, SHA1_WORDS, data, size, digest ? digest : own, SHA1_WORDS);
}

static unsigned char *sha224(const unsigned char *data, size_t size, unsigned char *digest)
{
	static const uint32_t start[SHA256_WORDS] = { 0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939,
						      0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4 };
	static unsigned char own[28];

	if (!one_shot_is_ours(ONE_SHA224))
		return first_one_shot(ONE_SHA224, data, size, digest);
	return one_shot(sha256_blocks_ni, start, SHA256_WORDS, data, size, digest ? digest : own, 7);
}

static unsigned char *sha256(const unsigned char *data, size_t size, unsigned char *digest)
{
	static const uint32_t start[SHA256_WORDS] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
						      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	static unsigned char own[4 * SHA256_WORDS];

	if (!one_shot_is_ours(ONE_SHA256))
		return first_one_shot(ONE_SHA256, data, size, digest);
	return one_shot(sha256_blocks_ni, start, SHA256_WORDS, data, size, digest ? digest : own, SHA256_WORDS);
}

/* SHA-384 and SHA-512 with libcrypto's own code for them: only the fetch is saved. */
static inline unsigned char *sha512_family(enum one_shot which, const unsigned char *data, size_t size, unsigned char *digest)
{
	uint64_t ctx[32]; /* SHA512_CTX has 216 bytes */

	if (!one_shot_is_ours(which) || !libcrypto_has.init[which] || !libcrypto_has.update || !libcrypto_has.final)
		return first_one_shot(which, data, size, digest);
	count_served(DOOR_LIBCRYPTO, size);
	libcrypto_has.init[which](ctx);
	libcrypto_has.update(ctx, data, size);
	libcrypto_has.final(digest, ctx);
	wipe(ctx, sizeof ctx);
	return digest;
}

static unsigned char *sha384(const unsigned char *data, size_t size, unsigned char *digest)
{
	static unsigned char own[48];

	return sha512_family(ONE_SHA384, data, size, digest ? digest : own);
}

static unsigned char *sha512(const unsigned char *data, size_t size, unsigned char *digest)
{
	static unsigned char own[64];

	return sha512_family(ONE_SHA512, data, size, digest ? digest : own);
}

/* ---- The functions that we may answer, and the door's state ----------------------------------------------- */

enum function { F_SHA1_UPDATE, F_SHA1_FINAL, F_SHA1_TRANSFORM, F_SHA224_UPDATE, F_SHA224_FINAL,
		F_SHA256_UPDATE, F_SHA256_FINAL, F_SHA256_TRANSFORM, F_ONE_SHOTS, FUNCTIONS = F_ONE_SHOTS + ONE_SHOTS };

typedef int update_function(void *ctx, const void *data, size_t size);
typedef int final_function(unsigned char *digest, void *ctx);
typedef void transform_function(void *ctx, const unsigned char *block);

/* The exported functions, see below; also under a name that no other preloaded library can have taken. */
#define EXPORTED(type, name) \
	EXPORT type name;    \
	extern type exported_##name __attribute__((alias(#name), visibility("hidden")))
EXPORTED(update_function, SHA1_Update);
EXPORTED(final_function, SHA1_Final);
EXPORTED(transform_function, SHA1_Transform);
EXPORTED(update_function, SHA224_Update);
EXPORTED(final_function, SHA224_Final);
EXPORTED(update_function, SHA256_Update);
EXPORTED(final_function, SHA256_Final);
EXPORTED(transform_function, SHA256_Transform);
EXPORTED(one_shot_function, SHA1);
EXPORTED(one_shot_function, SHA224);
EXPORTED(one_shot_function, SHA256);
EXPORTED(one_shot_function, SHA384);
EXPORTED(one_shot_function, SHA512);

static const struct {
	const char *name;
	void *exported, *ours;
} functions[FUNCTIONS] = {
#define FUNCTION(name, answer) { #name, exported_##name, answer }
	[F_SHA1_UPDATE] = FUNCTION(SHA1_Update, sha1_update),
	[F_SHA1_FINAL] = FUNCTION(SHA1_Final, sha1_final),
	[F_SHA1_TRANSFORM] = FUNCTION(SHA1_Transform, sha1_transform),
	[F_SHA224_UPDATE] = FUNCTION(SHA224_Update, sha256_update),
	[F_SHA224_FINAL] = FUNCTION(SHA224_Final, sha256_final),
	[F_SHA256_UPDATE] = FUNCTION(SHA256_Update, sha256_update),
	[F_SHA256_FINAL] = FUNCTION(SHA256_Final, sha256_final),
	[F_SHA256_TRANSFORM] = FUNCTION(SHA256_Transform, sha256_transform),
	[F_ONE_SHOTS + ONE_SHA1] = FUNCTION(SHA1, sha1),
	[F_ONE_SHOTS + ONE_SHA224] = FUNCTION(SHA224, sha224),
	[F_ONE_SHOTS + ONE_SHA256] = FUNCTION(SHA256, sha256),
	[F_ONE_SHOTS + ONE_SHA384] = FUNCTION(SHA384, sha384),
	[F_ONE_SHOTS + ONE_SHA512] = FUNCTION(SHA512, sha512),
#undef FUNCTION
};

/* No libcrypto was there when the constructor ran. */
static bool came_late;

/* What the constructor has decided: nothing yet, to leave all to the originals, to serve. */
static _Atomic enum { UNDECIDED, CLOSED, OPEN } door;

/*
 * What answers each function where an object that the program was started with has it: that is what everybody gets, and stays in memory.
 * NULL: none has; then it depends on who calls.
 */
static _Atomic(void *) targets[FUNCTIONS];

/* ---- libcrypto's own references ------------------------------------------------------------------------------ */

/* openssl/core_dispatch.h: a table of these describes a digest of a provider. */
struct dispatch {
	uint64_t id; /* an int and padding */
	void *function;
};

#define DIGEST_UPDATE 3

enum { SWAPS = 32 };

/*
 * A libcrypto linked -Bsymbolic does not call its exported functions by name. Its default provider's tables hold their addresses, in
 * RELRO: entries with the id of an update function and the address of one that is exported are swapped.
 */
SEARCHES_MEMORY static size_t find_updates(const struct object *libcrypto, struct relro_swap swaps[SWAPS])
{
	static const enum function updates[] = { F_SHA1_UPDATE, F_SHA224_UPDATE, F_SHA256_UPDATE };
	enum { UPDATES = sizeof updates / sizeof *updates };
	void *originals[UPDATES];
	size_t n = 0;

	for (size_t u = 0; u < UPDATES; u++)
		originals[u] = object_symbol(libcrypto, functions[updates[u]].name);
	for (uintptr_t at = (libcrypto->relro + 7) & -8ul; at + sizeof(struct dispatch) <= libcrypto->relro_end; at += 8) {
		struct dispatch *d = (struct dispatch *)at;

		for (size_t u = 0; u < UPDATES; u++)
			if (unlikely(d->function == originals[u]) && d->id == DIGEST_UPDATE && d->function && n < SWAPS)
				swaps[n++] = (struct relro_swap){ &d->function, d->function, functions[updates[u]].ours };
	}
	return n;
}

/* Can we answer for DEFINITION, a libcrypto's F? Of one-shots, only for those of the libcrypto that we know: another has its own settings. */
static bool is_ours(unsigned f, void *definition)
{
	return f < F_ONE_SHOTS ||
	       (atomic_load_explicit(&libcrypto_stays, memory_order_acquire) && libcrypto_has.one_shot[f - F_ONE_SHOTS] == definition);
}

/*
 * Another one that comes late has found our exported functions, which would ask for each call whom it comes from. What libcrypto refers to
 * by its own names are its own functions; so its references, in its tables and its GOT, are pointed at what answers for those.
 */
SEARCHES_MEMORY static size_t find_references(const struct object *libcrypto, struct relro_swap swaps[SWAPS])
{
	uintptr_t low = UINTPTR_MAX, high = 0;
	size_t n = 0;

	for (unsigned f = 0; f < FUNCTIONS; f++) {
		uintptr_t at = (uintptr_t)functions[f].exported;

		low = at < low ? at : low;
		high = at > high ? at : high;
	}
	for (void **word = (void **)((libcrypto->relro + 7) & -8ul); (uintptr_t)(word + 1) <= libcrypto->relro_end; word++)
		for (unsigned f = 0; unlikely((uintptr_t)*word - low <= high - low) && f < FUNCTIONS && n < SWAPS; f++)
			if (*word == functions[f].exported && is_ours(f, object_symbol(libcrypto, functions[f].name)))
				swaps[n++] = (struct relro_swap){ word, *word, functions[f].ours };
	return n;
}

/*
 * Opens what there is to be opened in a libcrypto that is loaded, the first time that there is one. False: none is. Called by the
 * constructor (FROM_START), and for a libcrypto that comes later by dlopen, by the first call that we serve and by secure_getenv.
 */
static bool open_libcrypto(bool from_start)
{
	static atomic_bool done;
	struct relro_swap swaps[SWAPS];
	struct object libcrypto;
	const char *problem, *what;
	size_t n = 0;

	if (atomic_load_explicit(&done, memory_order_relaxed))
		return true;
	if (!object_by_soname(&libcrypto, "libcrypto.so.3") && !object_by_soname(&libcrypto, "libcrypto.so.1.1"))
		return false;
	if (atomic_exchange(&done, true))
		return true;
	if (from_start || libcrypto.nodelete)
		find_one_shots(&libcrypto);
	if (libcrypto.symbolic)
		n = find_updates(&libcrypto, swaps);
	else if (came_late)
		n = find_references(&libcrypto, swaps);
	what = libcrypto.symbolic ? "entries of its dispatch tables" : "of its own references";
	problem = n ? relro_swap(&libcrypto, swaps, n) : "there are none";
	if (!libcrypto.symbolic && !came_late)
		door_open(DOOR_LIBCRYPTO, kernel_names(), "%s: its exported functions are ours", libcrypto.soname);
	else if (problem)
		door_open(DOOR_LIBCRYPTO, kernel_names(), "%s: its exported functions are ours; %s are not: %s", libcrypto.soname, what, problem);
	else
		door_open(DOOR_LIBCRYPTO, kernel_names(), "%s: its exported functions and %zu %s are ours", libcrypto.soname, n, what);
	return true;
}

/* ---- Who answers a call ---------------------------------------------------------------------------------- */

static bool is_libcrypto(const struct object *o)
{
	return o->soname && (strcmp(o->soname, "libcrypto.so.3") == 0 || strcmp(o->soname, "libcrypto.so.1.1") == 0);
}

/* Other libraries export the same names with other contexts: only for libcrypto's do we step in. */
static void *choose(unsigned f, void *definition, const struct object *owner)
{
	if (door != OPEN || !is_libcrypto(owner))
		return definition;
	open_libcrypto(false);
	return is_ours(f, definition) ? functions[f].ours : definition;
}

/* What a call finds that would have found nothing without us: a weak reference. Fails, in the way of libcrypto's functions. */
static int nobody(void)
{
	return 0;
}

static inline void *late_target(enum function f, const void *caller)
{
	void *target = caller_target_again(CALLERS_SHA + f, caller);

	if (!target && door == UNDECIDED)
		target = next_definition(functions[f].name, NULL);
	else if (!target)
		target = caller_target(CALLERS_SHA + f, functions[f].name, caller, choose);
	return target ? target : (void *)nobody;
}

#define CALLER __builtin_return_address(0)

static __attribute__((noinline, cold)) int first_update(void *ctx, const void *data, size_t size, enum function f, const void *caller)
{
	return ((update_function *)late_target(f, caller))(ctx, data, size);
}

/* Apart from the above, whose registers would have to be saved and restored for every call. */
static __attribute__((noinline)) int late_update(void *ctx, const void *data, size_t size, enum function f, const void *caller)
{
	update_function *t = caller_target_again(CALLERS_SHA + f, caller);

	return likely(t) ? t(ctx, data, size) : first_update(ctx, data, size, f, caller);
}

/* What is nearly always the answer is compiled in: an indirect jump for each call would cost more than a comparison. */
#define UPDATE(f, answer)                                                                         \
	update_function *t = atomic_load_explicit(&targets[f], memory_order_relaxed);             \
                                                                                                  \
	if (likely(t == (update_function *)functions[f].ours))                                    \
		return answer(ctx, data, size);                                                   \
	return t ? t(ctx, data, size) : late_update(ctx, data, size, f, CALLER)

static inline int final(unsigned char *digest, void *ctx, enum function f, const void *caller)
{
	final_function *t = atomic_load_explicit(&targets[f], memory_order_relaxed);

	return (t ? t : (final_function *)late_target(f, caller))(digest, ctx);
}

static inline void transform(void *ctx, const unsigned char *block, enum function f, const void *caller)
{
	transform_function *t = atomic_load_explicit(&targets[f], memory_order_relaxed);

	(t ? t : (transform_function *)late_target(f, caller))(ctx, block);
}

static inline unsigned char *one_shot_target(const unsigned char *data, size_t size, unsigned char *digest, enum one_shot which,
					     const void *caller)
{
	one_shot_function *t = atomic_load_explicit(&targets[F_ONE_SHOTS + which], memory_order_relaxed);

	return (t ? t : (one_shot_function *)late_target(F_ONE_SHOTS + which, caller))(data, size, digest);
}

EXPORT int SHA1_Update(void *ctx, const void *data, size_t size)
{
	UPDATE(F_SHA1_UPDATE, sha1_update);
}

EXPORT int SHA1_Final(unsigned char *digest, void *ctx)
{
	return final(digest, ctx, F_SHA1_FINAL, CALLER);
}

EXPORT void SHA1_Transform(void *ctx, const unsigned char *block)
{
	transform(ctx, block, F_SHA1_TRANSFORM, CALLER);
}

EXPORT int SHA224_Update(void *ctx, const void *data, size_t size)
{
	UPDATE(F_SHA224_UPDATE, sha256_update);
}

EXPORT int SHA224_Final(unsigned char *digest, void *ctx)
{
	return final(digest, ctx, F_SHA224_FINAL, CALLER);
}

EXPORT int SHA256_Update(void *ctx, const void *data, size_t size)
{
	UPDATE(F_SHA256_UPDATE, sha256_update);
}

EXPORT int SHA256_Final(unsigned char *digest, void *ctx)
{
	return final(digest, ctx, F_SHA256_FINAL, CALLER);
}

EXPORT void SHA256_Transform(void *ctx, const unsigned char *block)
{
	transform(ctx, block, F_SHA256_TRANSFORM, CALLER);
}

EXPORT unsigned char *SHA1(const unsigned char *data, size_t size, unsigned char *digest)
{
	return one_shot_target(data, size, digest, ONE_SHA1, CALLER);
}

EXPORT unsigned char *SHA224(const unsigned char *data, size_t size, unsigned char *digest)
{
	return one_shot_target(data, size, digest, ONE_SHA224, CALLER);
}

EXPORT unsigned char *SHA256(const unsigned char *data, size_t size, unsigned char *digest)
{
	return one_shot_target(data, size, digest, ONE_SHA256, CALLER);
}

EXPORT unsigned char *SHA384(const unsigned char *data, size_t size, unsigned char *digest)
{
	return one_shot_target(data, size, digest, ONE_SHA384, CALLER);
}

EXPORT unsigned char *SHA512(const unsigned char *data, size_t size, unsigned char *digest)
{
	return one_shot_target(data, size, digest, ONE_SHA512, CALLER);
}

/*
 * What may change what a fetch in the default context brings: passed on, and noted. All take at most four integers and pointers.
 * A name that this libcrypto does not have fails: some are younger than 1.1.1, and are there for who looks them up in the global scope.
 */
#define CHANGERS(X)                           \
	X(CONF_modules_load)                  \
	X(CONF_modules_load_file)             \
	X(CONF_modules_load_file_ex)          \
	X(EVP_default_properties_enable_fips) \
	X(EVP_set_default_properties)         \
	X(OSSL_LIB_CTX_load_config)           \
	X(OSSL_LIB_CTX_set0_default)          \
	X(OSSL_PROVIDER_load)                 \
	X(OSSL_PROVIDER_load_ex)              \
	X(OSSL_PROVIDER_try_load)             \
	X(OSSL_PROVIDER_try_load_ex)          \
	X(OSSL_PROVIDER_unload)

#define ENUMERATE(name) CHANGER_##name,
#define SPELL(name) #name,
enum changer { CHANGERS(ENUMERATE) CHANGER_COUNT };
static const char *const changers[CHANGER_COUNT] = { CHANGERS(SPELL) };

/* Their originals where libcrypto is there from the start; NULL: to be looked for at each call. */
static void *changer_originals[CHANGER_COUNT];

static long change(enum changer which, long a, long b, long c, long d)
{
	void *found = changer_originals[which] ? changer_originals[which] : next_definition(changers[which], NULL);
	long (*original)(long, long, long, long) = (long (*)(long, long, long, long))found;
	long result;

	if (which == CHANGER_OSSL_LIB_CTX_set0_default)
		atomic_store(&other_contexts, true);
	result = original ? original(a, b, c, d) : 0;
	atomic_fetch_add(&changes, 1);
	return result;
}

#define DEFINE(name)                                        \
	EXPORT long name(long a, long b, long c, long d);   \
	EXPORT long name(long a, long b, long c, long d)    \
	{                                                   \
		return change(CHANGER_##name, a, b, c, d);  \
	}
CHANGERS(DEFINE)

/*
 * libcrypto's initialisation asks for OPENSSL_CONF with secure_getenv before it fetches an algorithm from a provider and copies its table.
 * Hardly anybody else calls this function: the moment to open the tables of a libcrypto that was loaded after the constructor ran.
 */
static _Atomic(void *) original_secure_getenv;

EXPORT char *secure_getenv(const char *name)
{
	void *next = atomic_load_explicit(&original_secure_getenv, memory_order_relaxed);

	if (!next) {
		next = next_definition("secure_getenv", NULL);
		atomic_store_explicit(&original_secure_getenv, next, memory_order_relaxed);
	}
	if (door == OPEN && strncmp(name, "OPENSSL_", 8) == 0)
		open_libcrypto(false);
	return ((char *(*)(const char *))next)(name);
}

/* ---- The constructor's part ------------------------------------------------------------------------------- */

void libcrypto_door_init(void)
{
	struct object owner;
	bool from_start = start_definition(functions[F_SHA256_UPDATE].name, &owner) != NULL;

	came_late = !from_start;
	if (!doors[DOOR_LIBCRYPTO].wanted) {
		door = CLOSED;
	} else if (!(cpu_features & CPU_SHA)) {
		door_close(DOOR_LIBCRYPTO, "no SHA-NI here, and libcrypto's own code for other processors is good");
		door = CLOSED;
	} else {
		sha1_kernel = sha1_best();
		door = OPEN;
		if (!from_start || !open_libcrypto(true))
			door_close(DOOR_LIBCRYPTO, "libcrypto is not loaded");
	}
	if (!from_start)
		return;
	/* Now, not at the first call: that may be in a child of fork, where the loader's lock may be held by a thread that no longer exists. */
	original_secure_getenv = next_definition("secure_getenv", NULL);
	for (unsigned i = 0; i < CHANGER_COUNT; i++)
		changer_originals[i] = start_definition(changers[i], &owner);
	for (unsigned f = 0; f < FUNCTIONS; f++) {
		void *definition = start_definition(functions[f].name, &owner);

		if (definition)
			atomic_store_explicit(&targets[f], choose(f, definition, &owner), memory_order_relaxed);
	}
}
