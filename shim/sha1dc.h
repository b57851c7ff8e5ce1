/* sha1dc.h - SHA-1 with collision detection, on the contexts of the reference implementation (sha1dc, libsha1detectcoll) */
#ifndef SHA1DC_H
#define SHA1DC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA1DC_PENDING 1088 /* bytes that wait in a context at most, and one */

/* The reference's context; init is the original's, which leaves everything after the callback as it was. */
struct sha1dc_ctx {
	uint64_t total; /* bytes so far; 0: fresh from init */
	uint32_t ihv[5];
	unsigned char buffer[64];
	int found_collision, safe_hash, detect_coll, ubc_check, reduced_round_coll;
	void (*callback)(uint64_t, const uint32_t *, const uint32_t *, const uint32_t *, const uint32_t *);
	union {
		struct {
			uint32_t ihv1[5], ihv2[5], m1[80], m2[80], states[80][5];
		} original;
		struct sha1dc_scratch {
			uint64_t owner;  /* a constant: the engine has this context, and the fields below mean something */
			uint64_t hashed; /* bytes that ihv covers; total - hashed bytes are pending */
			unsigned char pending[SHA1DC_PENDING + 72]; /* with room for the padding */
			uint32_t survivors; /* waiting columns of struct sha1dc_survivors */
			uint32_t survivor[8][32];
		} scratch;
	};
};

/*
 * The engine takes a context from init to final, or leaves it to the original at any point:
 *
 *     void update(ctx, data, n)                          void final(digest, ctx)
 *             if (sha1dc_update(ctx, data, n, scratch))          if (sha1dc_finish(ctx, digest, scratch))
 *                     return;                                            return;
 *             leave(ctx);                                        leave(ctx);
 *             original_update(ctx, data, n);                     original_final(digest, ctx);
 *
 *     void leave(ctx)
 *             unsigned char pending[SHA1DC_PENDING];
 *             size_t n = sha1dc_release(ctx, pending, scratch);
 *             if (n)
 *                     original_update(ctx, pending, n);
 *
 * SCRATCH, the same in every call for a context: the 2400 bytes are really the context's, so that about 1 KiB of input and some unfinished
 * checks can wait in it. Otherwise only the reference's fields up to buffer[] and found_collision are touched, as the reference would
 * touch them. Contexts may be copied as plain memory at any moment, and need 8-byte alignment. Nothing here fails or allocates.
 */

/*
 * Adds N bytes. False: not served, nothing added; the original must go on with this context. So with flags that the engine does not know
 * (no detection, no unavoidable conditions, reduced rounds, a callback), and where a collision was found and safe_hash asks for another
 * digest.
 */
bool sha1dc_update(struct sha1dc_ctx *, const void *data, size_t n, bool scratch) __attribute__((warn_unused_result));

/*
 * Writes the digest; the context is spent. False: the original must finish, and DIGEST is not written, because a collision was found (with
 * safe_hash 0 found_collision is set, the original will report it).
 */
bool sha1dc_finish(struct sha1dc_ctx *, unsigned char digest[20], bool scratch) __attribute__((warn_unused_result));

/*
 * Puts the context into the original's state, except for bytes (fewer than SHA1DC_PENDING) that it copies to PENDING, to be given to the
 * original's update first. Returns their number. From then on sha1dc_update and sha1dc_finish refuse the context, until init.
 */
size_t sha1dc_release(struct sha1dc_ctx *, unsigned char pending[SHA1DC_PENDING], bool scratch);

/* Whether the engine has a kernel for this processor that beats the reference; false while cpu_features is 0. */
bool sha1dc_available(void);
const char *sha1dc_kernel_name(void); /* NULL: none */

#endif
