/* inflate.c - the engine behind the inflate door: DEFLATE (RFC 1951) from memory to memory, as strict as zlib */
#include <emmintrin.h>
#include <libdeflate.h>
#include <string.h>

#include "fastsha.h"
#include "inflate.h"

/*
 * Why not libdeflate's decoder: it answers streams that zlib refuses (distance symbols 30 and 31, length symbols 286 and 287, headers
 * that announce them, repeat counts past the last code length, the unused half of a one-codeword code), and a program that would have
 * stopped at such a stream must still stop. The method is the same: one table lookup per symbol, tables of 32-bit entries that hold all
 * that the inner loop needs, input taken 56 bits and more at a time from a 64-bit buffer.
 *
 * Being all or nothing makes it simple: every doubt ends in "false", and zlib, which then gets the untouched stream, finds the words.
 *
 * A table is indexed with the next ROOT bits of the input, first bit lowest. Its entries:
 *
 *	literal            bit 31 set    bits 16-23 the byte                 bits 0-7 bits to consume
 *	length, distance   bits 16-30 (distance: 16-31) base value, bits 8-11 codeword bits, bits 0-7 codeword and extra bits together
 *	exceptional        bit 15 set:
 *	  longer codeword  bit 14 set    bits 16-31 where its second table starts, bits 8-11 that table's index bits, bits 0-7 ROOT
 *	  end of block     bit 13 set    bits 0-7 bits to consume
 *	  no such symbol   bits 13, 14 clear
 *
 * In distance tables bit 31 belongs to the base value.
 */
#define INLINE static inline __attribute__((always_inline))

enum {
	LITERAL = 1u << 31,
	EXCEPTIONAL = 1 << 15,
	SECOND_TABLE = 1 << 14,
	END_OF_BLOCK = 1 << 13,

	MAX_BITS = 15, /* of a codeword */
	LITLEN_ROOT = 11,
	LITLEN_SIZE = 2342, /* all tables of a code of up to 288 symbols: "enough 288 11 15" of zlib's examples/enough.c */
	DISTANCE_ROOT = 8,
	DISTANCE_SIZE = 402, /* "enough 32 8 15" */
	PRECODE_ROOT = 7,

	LITLEN_SYMBOLS = 288,
	DISTANCE_SYMBOLS = 32,
	LENS_SIZE = 320 + 138, /* the longest repeat count may overshoot before it is seen to */

	TAIL_SIZE = 48,
};

/* What was in the output's place is kept for so many bytes at a time, twice: more than what one symbol writes. */
enum { KEPT = 2048 };

/* A stream's room: the tables of its own blocks; what was at START up to END, at its distance from the output's start modulo the size. */
struct tables {
	uint32_t litlen[LITLEN_SIZE];
	uint32_t distance[DISTANCE_SIZE];
	unsigned litlen_root, distance_root;
	uint8_t kept[2 * KEPT];
	struct {
		uint8_t *start, *end;
	} latest, before;
};

/*
 * The input: a bit buffer in front of a byte pointer. Loads of 8 bytes stay inside the input, or inside a copy of its end that zeros
 * follow. The reader lives in registers: only inlined functions get its address.
 */
struct reader {
	uint64_t bits;       /* the next bits, lowest first; what lies above COUNT is a preview of *NEXT */
	unsigned count;      /* valid bits, in the low 8 bits only */
	const uint8_t *next;
	const uint8_t *limit; /* past it: no two refills without reader_check */
};

struct source {
	const uint8_t *end;
	const uint8_t *copied; /* where in the input TAIL starts; NULL: TAIL is not in use */
	uint8_t tail[TAIL_SIZE];
};

#define B(base, extra) ((uint32_t)(base) << 16 | (extra))
#define NONE           EXCEPTIONAL
static const uint32_t length_entries[LITLEN_SYMBOLS - 256] = {
	EXCEPTIONAL | END_OF_BLOCK,
	B(3, 0), B(4, 0), B(5, 0), B(6, 0), B(7, 0), B(8, 0), B(9, 0), B(10, 0),
	B(11, 1), B(13, 1), B(15, 1), B(17, 1), B(19, 2), B(23, 2), B(27, 2), B(31, 2),
	B(35, 3), B(43, 3), B(51, 3), B(59, 3), B(67, 4), B(83, 4), B(99, 4), B(115, 4),
	B(131, 5), B(163, 5), B(195, 5), B(227, 5), B(258, 0), NONE, NONE,
};
static const uint32_t distance_entries[DISTANCE_SYMBOLS] = {
	B(1, 0), B(2, 0), B(3, 0), B(4, 0), B(5, 1), B(7, 1), B(9, 2), B(13, 2),
	B(17, 3), B(25, 3), B(33, 4), B(49, 4), B(65, 5), B(97, 5), B(129, 6), B(193, 6),
	B(257, 7), B(385, 7), B(513, 8), B(769, 8), B(1025, 9), B(1537, 9), B(2049, 10), B(3073, 10),
	B(4097, 11), B(6145, 11), B(8193, 12), B(12289, 12), B(16385, 13), B(24577, 13), NONE, NONE,
};
#undef B
#undef NONE

/* The entry of SYMBOL whose codeword has LEN bits left to look up. */
static inline uint32_t litlen_entry(unsigned symbol, unsigned len)
{
	return symbol < 256 ? LITERAL | symbol << 16 | len : length_entries[symbol - 256] + (len << 8 | len);
}

static inline uint32_t distance_entry(unsigned symbol, unsigned len)
{
	return distance_entries[symbol] + (len << 8 | len);
}

static inline unsigned reverse(unsigned code, unsigned len)
{
	code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
	code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
	code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
	code = (code & 0x00ff) << 8 | code >> 8;
	return code >> (16 - len);
}

/*
 * Builds the table of the canonical code with N codeword lengths LENS (readable up to the next multiple of 16, where they are 0) and
 * sets *ROOT, at most its value on entry, to the number of index bits. False: zlib would refuse the code.
 */
INLINE bool build(uint32_t *table, const uint8_t *lens, unsigned n, unsigned *root_bits,
							uint32_t (*entry)(unsigned symbol, unsigned len))
{
	uint16_t used[LITLEN_SYMBOLS], sorted[LITLEN_SYMBOLS], count[MAX_BITS + 2] = {0}, place[MAX_BITS + 2];
	unsigned used_n = 0;

	for (unsigned i = 0; i < n; i += 16) {
		__m128i zero = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(lens + i)), _mm_setzero_si128());
		for (unsigned mask = ~_mm_movemask_epi8(zero) & 0xffff; mask; mask &= mask - 1) {
			unsigned symbol = i + __builtin_ctz(mask);
			used[used_n++] = symbol;
			count[lens[symbol]]++;
		}
	}

	int left = 1; /* codewords of the current length that are still free */
	unsigned max = 0;
	place[1] = 0;
	for (unsigned len = 1; len <= MAX_BITS; len++) {
		place[len + 1] = place[len] + count[len];
		left = 2 * left - count[len];
		if (left < 0)
			return false;
		if (count[len])
			max = len;
	}
	if (left) {
		/* Incomplete: allowed with one codeword of one bit, or none, for data that never uses the others. */
		if (max > 1)
			return false;
		table[0] = max ? entry(used[0], 1) : EXCEPTIONAL | 1;
		table[1] = EXCEPTIONAL | 1;
		*root_bits = 1;
		return true;
	}
	for (unsigned i = 0; i < used_n; i++)
		sorted[place[lens[used[i]]]++] = used[i];

	/* Codewords up to ROOT bits: the table for LEN bits is twice the table for LEN - 1 bits, then the codewords of LEN bits. */
	unsigned root = max < *root_bits ? max : *root_bits, code = 0, next = 0, size = 1;
	*root_bits = root;
	for (unsigned len = 1; len <= root; len++) {
		memcpy(table + size, table, size * sizeof(*table));
		size *= 2;
		code *= 2;
		for (unsigned end = next + count[len]; next < end; next++)
			table[reverse(code++, len)] = entry(sorted[next], len);
	}

	/* Longer ones: a second table for each ROOT bits that they begin with, large enough for the codewords that follow. */
	unsigned start = 0, bits = 0, prefix = ~0u;
	for (unsigned len = root + 1; len <= max; len++) {
		code *= 2;
		for (unsigned end = next + count[len]; next < end; next++, code++) {
			if (code >> (len - root) != prefix) {
				prefix = code >> (len - root);
				start = size;
				bits = len - root;
				for (int room = (1 << bits) - (int)(end - next); room > 0; room = 2 * room - count[root + bits])
					bits++;
				size += 1 << bits;
				table[reverse(prefix, root)] = start << 16 | EXCEPTIONAL | SECOND_TABLE | bits << 8 | root;
			}
			uint32_t value = entry(sorted[next], len - root);
			for (unsigned i = reverse(code, len) >> root; i < 1u << bits; i += 1 << (len - root))
				table[start + i] = value;
		}
	}
	return true;
}

/* The fixed codes of RFC 1951, 3.2.6, built at compile time would be 6 KiB of numbers: built by the first stream that needs them. */
static const struct tables *fixed_tables(void)
{
	static COLD_BSS struct tables fixed;
	static _Atomic int state; /* 0: to build, 1: being built, 2: built */
	int found = atomic_load_explicit(&state, memory_order_acquire);

	if (found == 0 && atomic_compare_exchange_strong(&state, &found, 1)) {
		uint8_t lens[LITLEN_SYMBOLS];
		memset(lens, 8, 144);
		memset(lens + 144, 9, 112);
		memset(lens + 256, 7, 24);
		memset(lens + 280, 8, 8);
		fixed.litlen_root = LITLEN_ROOT;
		build(fixed.litlen, lens, LITLEN_SYMBOLS, &fixed.litlen_root, litlen_entry);
		memset(lens, 5, DISTANCE_SYMBOLS);
		fixed.distance_root = DISTANCE_ROOT;
		build(fixed.distance, lens, DISTANCE_SYMBOLS, &fixed.distance_root, distance_entry);
		atomic_store_explicit(&state, 2, memory_order_release);
		found = 2;
	}
	return found == 2 ? &fixed : NULL;
}

static inline uint64_t load64(const void *from)
{
	uint64_t value;
	memcpy(&value, from, sizeof(value));
	return value;
}

INLINE void copy16(void *to, const void *from)
{
	_mm_storeu_si128(to, _mm_loadu_si128(from));
}

/* At least 56 valid bits. */
INLINE void refill(struct reader *r)
{
	r->bits |= load64(r->next) << (r->count & 63);
	r->next += 7 - (r->count >> 3 & 7);
	r->count |= 56;
}

INLINE void consume(struct reader *r, uint32_t entry)
{
	r->bits >>= entry & 63;
	r->count -= entry; /* only the low 8 bits of the difference mean anything */
}

INLINE unsigned take(struct reader *r, unsigned n)
{
	unsigned value = r->bits & ((1u << n) - 1);
	consume(r, n);
	return value;
}

/*
 * The base value of ENTRY plus the extra bits behind its codeword. gcc does not come upon bzhi, which takes the low 8 bits of a register as
 * they are: 3 % of the time of large objects.
 */
INLINE unsigned value(uint32_t entry, uint64_t bits, bool bmi2)
{
	uint64_t low = 0;

	if (bmi2)
		__asm__("bzhi %2, %1, %0" : "=r"(low) : "r"(bits), "r"((uint64_t)entry) : "cc");
	else
		low = bits & ((1ull << (entry & 63)) - 1);
	return (entry >> 16) + (unsigned)(low >> (entry >> 8 & 63));
}

/* Starts, or restarts, reading at NEXT. */
INLINE struct reader reader_at(struct source *s, const uint8_t *next)
{
	s->copied = NULL;
	return (struct reader){ .next = next, .limit = s->end - next >= 16 ? s->end - 16 : NULL };
}

struct span {
	const uint8_t *next, *limit;
};

static __attribute__((noinline)) struct span copy_tail(struct source *s, const uint8_t *next)
{
	size_t left = s->end - next;

	s->copied = next;
	memset(s->tail, 0, sizeof(s->tail));
	memcpy(s->tail, next, left);
	/* NEXT is at most 7 bytes ahead of what was consumed. */
	return (struct span){ s->tail, s->tail + left };
}

/* The first input byte that no consumed bit belongs to. NULL: more was consumed than there is. */
INLINE const uint8_t *reader_position(const struct reader *r, const struct source *s)
{
	const uint8_t *next = r->next - (r->count >> 3 & 7);

	if (s->copied)
		next = s->copied + (next - s->tail);
	return next <= s->end ? next : NULL;
}

/* Before two refills. False: all input was consumed, and more. */
INLINE bool reader_check(struct reader *r, struct source *s)
{
	if (likely(r->next <= r->limit))
		return true;
	if (s->copied)
		return reader_position(r, s);
	struct span span = copy_tail(s, r->next);
	r->next = span.next;
	r->limit = span.limit;
	return true;
}

/* Reads the code lengths of a dynamic block, behind the 17 bits of block type and counts, and builds both tables. */
INLINE bool dynamic_tables(struct reader *r, struct source *s, struct tables *t)
{
	static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
	_Alignas(16) uint8_t lens[LENS_SIZE], precode_lens[19] = {0};
	uint8_t precode[1 << PRECODE_ROOT]; /* symbol << 3 | bits */
	unsigned count[8] = {0}, litlen_n = take(r, 5) + 257, distance_n = take(r, 5) + 1, precode_n = take(r, 4) + 4;

	if (litlen_n > 286 || distance_n > 30)
		return false;
	for (unsigned i = 0; i < precode_n; i++) {
		if (i == 13) /* 17 bits of the header and 39 of lengths */
			refill(r);
		unsigned len = take(r, 3);
		precode_lens[order[i]] = len;
		count[len]++;
	}
	unsigned code = 0, start[8];
	for (unsigned len = 1; len < 8; len++) {
		start[len] = code << (PRECODE_ROOT - len);
		code = (code + count[len]) << (len < 7);
	}
	if (code != 1 << PRECODE_ROOT)
		return false;
	for (unsigned symbol = 0; symbol < 19; symbol++) {
		unsigned len = precode_lens[symbol];
		if (!len)
			continue;
		for (unsigned i = reverse(start[len], PRECODE_ROOT); i < 1 << PRECODE_ROOT; i += 1 << len)
			precode[i] = symbol << 3 | len;
		start[len] += 1 << (PRECODE_ROOT - len);
	}

	unsigned n = 0, all = litlen_n + distance_n;
	while (n < all) {
		if (!reader_check(r, s))
			return false;
		refill(r);
		/* Four symbols of 14 bits at most. */
		for (int i = 0; i < 4 && n < all; i++) {
			unsigned entry = precode[r->bits & ((1 << PRECODE_ROOT) - 1)];
			consume(r, entry & 7);
			if (likely(entry < 16 << 3)) {
				lens[n++] = entry >> 3;
			} else if (entry < 17 << 3) {
				if (!n)
					return false;
				memset(lens + n, lens[n - 1], 6);
				n += 3 + take(r, 2);
			} else if (entry < 18 << 3) {
				memset(lens + n, 0, 10);
				n += 3 + take(r, 3);
			} else {
				unsigned repeat = 11 + take(r, 7);
				memset(lens + n, 0, repeat);
				n += repeat;
			}
		}
	}
	if (n != all || !lens[256])
		return false;

	/* build wants zeros behind the last length. */
	_Alignas(16) uint8_t distance_lens[DISTANCE_SYMBOLS] = {0};
	memcpy(distance_lens, lens + litlen_n, distance_n);
	memset(lens + litlen_n, 0, 16);
	t->litlen_root = LITLEN_ROOT;
	t->distance_root = DISTANCE_ROOT;
	return build(t->distance, distance_lens, distance_n, &t->distance_root, distance_entry) &&
	       build(t->litlen, lens, litlen_n, &t->litlen_root, litlen_entry);
}

enum { COPY_ROOM = 32 };

/* Copies LENGTH bytes from DISTANCE before OUT to OUT, and up to 31 bytes more: there must be room for COPY_ROOM. */
INLINE void copy_match(uint8_t *out, unsigned length, unsigned distance)
{
	const uint8_t *from = out - distance;
	uint8_t *end = out + length;

	if (likely(distance >= 16)) {
		/* Most matches are short: two copies without a question. */
		copy16(out, from);
		copy16(out + 16, from + 16);
		while (unlikely(out + 32 < end)) {
			out += 32;
			from += 32;
			copy16(out, from);
			copy16(out + 16, from + 16);
		}
	} else if (distance == 1) {
		__m128i same = _mm_set1_epi8(*from);
		do {
			_mm_storeu_si128((__m128i *)out, same);
			out += 16;
		} while (out < end);
	} else {
		/* Eight bytes at a time, of which the first DISTANCE are right. */
		unsigned step = distance < 8 ? distance : 8;
		do {
			uint64_t eight = load64(from);
			memcpy(out, &eight, 8);
			out += step;
			from += step;
		} while (out < end);
	}
}

/* N bytes of the output from FROM on to where they are kept; BACK: from there. */
static void copy_kept(struct tables *t, const uint8_t *out_start, uint8_t *from, size_t n, bool back)
{
	for (size_t at = (size_t)(from - out_start) % sizeof t->kept, piece; n; n -= piece, from += piece, at = 0) {
		piece = n < sizeof t->kept - at ? n : sizeof t->kept - at;
		if (back)
			memcpy(from, t->kept + at, piece);
		else
			memcpy(t->kept + at, from, piece);
	}
}

/*
 * zlib writes what it has decoded and not a byte behind it, and programs may count on that (Java's InflaterInputStream promised it). So
 * before anything is written at the limit or behind it, what is there is kept; the bytes before OUT, which is behind the limit where the
 * slow copies have written, are there to stay. Returns the new limit.
 */
static __attribute__((noinline)) uint8_t *keep(struct tables *t, const uint8_t *out_start, uint8_t *out, const uint8_t *out_end)
{
	uint8_t *from = out > t->latest.end ? out : t->latest.end;
	size_t n = out_end - from < KEPT ? (size_t)(out_end - from) : KEPT;

	/* A page that nobody has written to yet: mapped once, to be written to, and not before that to be read. */
	if (((uintptr_t)from ^ (uintptr_t)(from + n - 1)) / 4096)
		__asm__ volatile("lock orb $0, %0" : "+m"(from[n - 1]));
	copy_kept(t, out_start, from, n, false);
	t->before = t->latest;
	t->latest.start = from;
	return t->latest.end = from + n;
}

/* Puts all back, for zlib to begin anew: it gets as far as the decoder did, but for what the decoder made of missing input. */
static __attribute__((noinline, cold)) void put_back(struct tables *t, const uint8_t *out_start)
{
	copy_kept(t, out_start, t->before.start, (size_t)(t->before.end - t->before.start), true);
	copy_kept(t, out_start, t->latest.start, (size_t)(t->latest.end - t->latest.start), true);
}

/*
 * The body of a zlib stream: DEFLATE blocks up to the last one. DYNAMIC is the room for a block's own tables. Returns the first byte behind
 * the blocks; NULL: no success.
 */
INLINE const uint8_t *decode(const uint8_t *in, const uint8_t *in_end, uint8_t *const out_start, uint8_t *const out_end, size_t *made,
			     struct tables *dynamic, bool bmi2)
{
	struct source source = { .end = in_end };
	struct reader r = reader_at(&source, in);
	uint8_t *out = out_start, *limit = out_start; /* literals by fours and matches in one go stay before LIMIT */
	bool last;

	dynamic->latest.start = dynamic->latest.end = dynamic->before.start = dynamic->before.end = out_start;
	do {
		const struct tables *t = dynamic;

		if (!reader_check(&r, &source))
			return NULL;
		refill(&r);
		last = take(&r, 1);
		switch (take(&r, 2)) {
		case 0: {
			const uint8_t *block = reader_position(&r, &source);
			if (!block || in_end - block < 4)
				return NULL;
			unsigned len = block[0] | block[1] << 8, complement = block[2] | block[3] << 8;
			if (len != (complement ^ 0xffff) || len > (size_t)(in_end - block - 4) || len > (size_t)(out_end - out))
				return NULL;
			memcpy(out, block + 4, len);
			out += len;
			r = reader_at(&source, block + 4 + len);
			continue;
		}
		case 1:
			t = fixed_tables();
			if (!t)
				return NULL;
			break;
		case 2:
			if (!dynamic_tables(&r, &source, dynamic))
				return NULL;
			break;
		default:
			return NULL;
		}

		const uint32_t *const litlen = t->litlen, *const distances = t->distance;
		const unsigned litlen_mask = (1 << t->litlen_root) - 1, distance_mask = (1 << t->distance_root) - 1;
		/* The entry of the next symbol is always looked up before what the last one asks for is done, and before the refill. */
		uint32_t entry = litlen[r.bits & litlen_mask];
		for (;;) {
			if (!reader_check(&r, &source))
				return NULL;
			refill(&r);
			if (entry & LITERAL && likely(limit - out >= 4)) {
				/* Four literals take 44 bits at most and leave enough to look the next symbol up. */
				consume(&r, entry);
				*out++ = entry >> 16;
				entry = litlen[r.bits & litlen_mask];
				if (entry & LITERAL) {
					consume(&r, entry);
					*out++ = entry >> 16;
					entry = litlen[r.bits & litlen_mask];
					if (entry & LITERAL) {
						consume(&r, entry);
						*out++ = entry >> 16;
						entry = litlen[r.bits & litlen_mask];
						if (entry & LITERAL) {
							consume(&r, entry);
							*out++ = entry >> 16;
							entry = litlen[r.bits & litlen_mask];
						}
						continue;
					}
				}
			}
			if (unlikely(entry & (EXCEPTIONAL | LITERAL))) {
				if (entry & SECOND_TABLE) {
					consume(&r, entry & 63);
					entry = litlen[(entry >> 16) + (r.bits & ((1u << (entry >> 8 & 15)) - 1))];
				}
				if (entry & LITERAL) {
					if (out == out_end)
						return NULL;
					if (limit - out < 4 && limit < out_end)
						limit = keep(dynamic, out_start, out, out_end);
					consume(&r, entry);
					*out++ = entry >> 16;
					entry = litlen[r.bits & litlen_mask];
					continue;
				}
				if (entry & EXCEPTIONAL) {
					if (!(entry & END_OF_BLOCK))
						return NULL;
					consume(&r, entry & 63);
					break;
				}
			}
			/* After two literals and a length, 56 - 2 * 11 - 20 bits are left: enough to look a distance up before the refill. */
			unsigned length = value(entry, r.bits, bmi2);
			consume(&r, entry);
			entry = distances[r.bits & distance_mask];
			/* A distance takes 28 bits at most, looking the next symbol up after it 11. */
			if (unlikely((uint8_t)r.count < 39))
				refill(&r);
			if (unlikely(entry & EXCEPTIONAL)) {
				if (!(entry & SECOND_TABLE))
					return NULL;
				consume(&r, entry & 63);
				entry = distances[(entry >> 16) + (r.bits & ((1u << (entry >> 8 & 15)) - 1))];
				if (entry & EXCEPTIONAL)
					return NULL;
			}
			unsigned distance = value(entry, r.bits, bmi2);
			consume(&r, entry);
			if (unlikely(distance > (size_t)(out - out_start)))
				return NULL;
			entry = litlen[r.bits & litlen_mask];
			if (unlikely(limit - out < (ptrdiff_t)length + COPY_ROOM) && (size_t)(out_end - out) >= length + COPY_ROOM)
				limit = keep(dynamic, out_start, out, out_end);
			if (likely(limit - out >= (ptrdiff_t)length + COPY_ROOM)) {
				copy_match(out, length, distance);
				out += length;
			} else {
				if (length > (size_t)(out_end - out))
					return NULL;
				const uint8_t *from = out - distance;
				uint8_t *end = out + length;
				if (distance >= 8)
					for (; end - out >= 8; out += 8, from += 8)
						memcpy(out, from, 8);
				while (out < end)
					*out++ = *from++;
			}
		}
	} while (!last);
	*made = out - out_start;
	if (limit > out)
		copy_kept(dynamic, out_start, out, limit - out < COPY_ROOM ? (size_t)(limit - out) : COPY_ROOM, true);
	return reader_position(&r, &source);
}

static const uint8_t *decode_generic(const uint8_t *in, const uint8_t *in_end, uint8_t *out, uint8_t *out_end, size_t *made,
				     struct tables *dynamic)
{
	return decode(in, in_end, out, out_end, made, dynamic, false);
}

__attribute__((target("bmi,bmi2"))) static const uint8_t *decode_bmi2(const uint8_t *in, const uint8_t *in_end, uint8_t *out,
								       uint8_t *out_end, size_t *made, struct tables *dynamic)
{
	return decode(in, in_end, out, out_end, made, dynamic, true);
}

/*
 * Room for the tables of so many streams at once: too large for the smallest stacks of threads (PTHREAD_STACK_MIN, 16 KiB), and never
 * allocated. What a thread holds while another one forks is lost to the child; where nothing is left, zlib answers.
 */
enum { POOL = 32 };
static COLD_BSS struct tables pool[POOL];
static _Atomic uint32_t lent; /* a bit for each of them */

static struct tables *borrow(void)
{
	uint32_t now = atomic_load_explicit(&lent, memory_order_relaxed);

	while (~now)
		if (atomic_compare_exchange_weak_explicit(&lent, &now, now | (now + 1), memory_order_acquire, memory_order_relaxed))
			return &pool[__builtin_ctz(~now)];
	return NULL;
}

static void give_back(const struct tables *t)
{
	atomic_fetch_and_explicit(&lent, ~(UINT32_C(1) << (t - pool)), memory_order_release);
}

bool inflate_whole(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size, size_t *in_used, size_t *out_made, uint32_t *adler)
{
	const uint8_t *end = in + in_size;

	/* Compression method 8, a window of 32 KiB at most, no preset dictionary, and the header's own check. */
	if (in_size < 8 || (in[0] & 15) != 8 || in[0] >> 4 > 7 || in[1] & 32 || (in[0] << 8 | in[1]) % 31)
		return false;
	struct tables *dynamic = borrow();
	if (!dynamic)
		return false;
	in += 2;
	const uint8_t *next = cpu_features & CPU_AVX2 ? decode_bmi2(in, end, out, out + out_size, out_made, dynamic)
						      : decode_generic(in, end, out, out + out_size, out_made, dynamic);
	bool whole = next && end - next >= 4;
	if (whole) {
		*adler = (uint32_t)next[0] << 24 | next[1] << 16 | next[2] << 8 | next[3];
		*in_used = next + 4 - (end - in_size);
		whole = libdeflate_adler32(1, out, *out_made) == *adler;
	}
	if (!whole)
		put_back(dynamic, out);
	give_back(dynamic);
	return whole;
}

const char *inflate_kernel_name(void)
{
	return cpu_features & CPU_AVX2 ? "bmi2" : "generic";
}
