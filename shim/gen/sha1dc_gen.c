/* sha1dc_gen.c - writes the kernels of collision-detecting SHA-1 (assembly) and the table of disturbance vectors (C) */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * SHA-1 of a 64-byte block is a chain of 80 dependent steps; SHA-NI does it in 80 to 122 cycles and leaves most of the processor idle.
 * Whether the block can be part of a collision attack is decided by 156 conditions on its expanded message W[0..79]: bit bit_i of W[i] xor
 * bit bit_j of W[j] must equal a constant, or some of 32 disturbance vectors are ruled out ("unavoidable conditions", see the data file).
 * A kernel computes both for a run of blocks and reports the vectors that are left. There are two ways to put conditions into vector lanes:
 *
 *   across words    One block at a time. Conditions come in families that only differ in i, so a lane takes one i. With SHA-NI
 *                   the conditions of a block are woven between the instructions of the next block's chain, without into the
 *                   block's own 80 steps in scalar instructions, with the schedule.
 *   across blocks   A lane takes one of 8 blocks, and the schedule W[16..79] is computed in the lanes as well. Fewer instructions, for
 *                   as many blocks: where the chain leaves less room (Golden Cove), or where there is none (without SHA-NI).
 *
 * Either way a test of a condition is the same few instructions, in three instruction sets: test() below.
 */

/* ---- The two data files ---------------------------------------------------------------------------------------- */

struct condition {
	int i, bit_i, j, bit_j, xor;
	uint32_t vectors; /* ruled out where the condition does not hold */
};

#define MAX_CONDITIONS 256
static struct condition conditions[MAX_CONDITIONS];
static int nconditions;

static void die(const char *what)
{
	fprintf(stderr, "sha1dc_gen: %s\n", what);
	exit(1);
}

static FILE *open_table(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

/* Skips comments and the line of column names; false at the end. */
static bool table_row(FILE *file, char *line, int size)
{
	while (fgets(line, size, file))
		if (line[0] >= '0' && line[0] <= '9')
			return true;
	return false;
}

static void read_conditions(const char *path)
{
	FILE *file = open_table(path);
	char line[256];

	while (table_row(file, line, sizeof(line))) {
		struct condition *c = &conditions[nconditions];

		if (nconditions == MAX_CONDITIONS ||
		    sscanf(line, "%d %d %d %d %d %x", &c->i, &c->bit_i, &c->j, &c->bit_j, &c->xor, &c->vectors) != 6)
			die("bad row of conditions");
		nconditions++;
	}
	fclose(file);
}

/* The table that the engine needs of the disturbance vectors, as a C header. */
static void write_vectors(const char *path)
{
	FILE *file = open_table(path);
	char line[2048];

	puts("/* The disturbance vectors: made by sha1dc_gen from sha1-disturbance-vectors.tsv */\n"
	     "static const struct disturbance_vector disturbance_vectors[32] = {");
	while (table_row(file, line, sizeof(line))) {
		uint32_t dm[80];
		char *field = strtok(line, "\t");
		int test_step = 0;

		for (int column = 0; column < 4; column++)
			if ((field = strtok(NULL, "\t")) && column == 3)
				test_step = atoi(field);
		for (int t = 0; t < 80; t++) {
			field = strtok(NULL, ",\n");
			if (!field)
				die("bad row of disturbance vectors");
			dm[t] = strtoul(field, NULL, 16);
		}
		if (test_step != 58 && test_step != 65)
			die("unexpected test step");
		printf("\t{ %d, { 0x%08x, 0x%08x }, {", test_step == 65, test_step == 65 ? dm[64] : dm[56], test_step == 65 ? 0 : dm[57]);
		for (int t = 63; t >= 48; t--)
			printf("%s0x%08x", t < 63 ? ", " : " ", dm[t]);
		puts(" } },");
	}
	puts("};");
	fclose(file);
}

/* ---- Lists of instructions ------------------------------------------------------------------------------------- */

struct code {
	char **line;
	int n;
};

static void emit(struct code *code, const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		die("out of memory");
	va_end(args);
	code->line = realloc(code->line, (code->n + 1) * sizeof(*code->line));
	if (!code->line)
		die("out of memory");
	code->line[code->n++] = text;
}

static void print(const struct code *code)
{
	for (int k = 0; k < code->n; k++)
		printf("\t%s\n", code->line[k]);
}

/* Prints CHAIN with FILL spread evenly over it; where empty lines divide FILL, its parts each in one piece. */
static void print_woven(const struct code *chain, const struct code *fill)
{
	int done = 0, parts = 0, part = 0;

	for (int k = 0; k < fill->n; k++)
		parts += !*fill->line[k];
	for (int k = 0; k < chain->n; k++) {
		printf("\t%s\n", chain->line[k]);
		if (parts && part * chain->n <= k * parts) {
			for (; *fill->line[done]; done++)
				printf("\t%s\n", fill->line[done]);
			done++;
			part++;
		}
		for (int want = (k + 1) * fill->n / chain->n; !parts && done < want; done++)
			printf("\t%s\n", fill->line[done]);
	}
}

/* ---- Instruction sets ------------------------------------------------------------------------------------------ */

enum isa { SSE, AVX2, AVX512VL };

struct target {
	const char *kernel; /* after sha1dc_ */
	enum isa isa;
	int lanes;          /* 32-bit words in a vector */
	char vector;        /* x or y: the registers' prefix */
	int first;          /* vector registers from here on hold conditions: those below belong to the SHA-NI chain */
	int accumulators;
	bool sha_ni;        /* a chain of SHA-NI instructions, not of scalar ones */
	bool rounds_only;   /* of SHA-NI sha1rnds4 only, and without AVX-512 sha1nexte: the rest in plain vector instructions */
	int apart;          /* tests, or groups of words, in a part that leaves the registers' upper halves clean; 0: undivided */
};

/* No 512-bit vectors: beside the chain they are no faster than 256-bit ones, and some processors lower their clock for them. */
static const struct target sha_ni_targets[] = {
	{ "sse_ni", SSE, 4, 'x', .first = 7, .accumulators = 1, .sha_ni = true },
	{ "avx2_ni", AVX2, 8, 'y', .first = 7, .accumulators = 2, .sha_ni = true },
	/* Emerald Rapids: woven 29,000 cycles a block, in parts of 5 to 19 tests 155 to 165 */
	{ "avx2_ni_apart", AVX2, 8, 'y', .first = 7, .accumulators = 2, .sha_ni = true, .rounds_only = true, .apart = 10 },
	{ "avx512vl_ni", AVX512VL, 8, 'y', .first = 16, .accumulators = 4, .sha_ni = true },
	{ "avx512vl_rnds", AVX512VL, 8, 'y', .first = 16, .accumulators = 4, .sha_ni = true, .rounds_only = true },
};
static const struct target sha_ni_many_targets[] = {
	{ "avx2_ni_apart_many", AVX2, 8, 'y', .first = 3, .accumulators = 1, .sha_ni = true, .apart = 1 },
	{ "avx512vl_rnds_many", AVX512VL, 8, 'y', .first = 20, .accumulators = 4, .sha_ni = true, .rounds_only = true },
};
static const struct target scalar_targets[] = {
	{ "avx2", AVX2, 8, 'y', .first = 0, .accumulators = 2, .rounds_only = true },
	{ "avx512vl", AVX512VL, 8, 'y', .first = 16, .accumulators = 4, .rounds_only = true },
};
static const struct target scalar_many_targets[] = {
	{ "avx2_many", AVX2, 8, 'y', .first = 0, .accumulators = 2 },
	{ "avx512vl_many", AVX512VL, 8, 'y', .first = 20, .accumulators = 4 },
};

static bool evex(const struct target *target)
{
	return target->isa == AVX512VL;
}

/* The name of the vector register NUMBER; a ring of these buffers outlives every use. */
static const char *reg(const struct target *target, int number)
{
	static char names[32][8];
	static int next;
	char *name = names[next++ % 32];

	snprintf(name, sizeof(names[0]), "%%%cmm%d", target->vector, number);
	return name;
}

/* Constants: LANES 32-bit words, or one, each kept once, printed after the code. Returns the offset. */
#define MAX_POOL 4096
static uint32_t pool[MAX_POOL];
static int npool;

static int constant(const uint32_t *words, int lanes)
{
	int at = 0;

	while (at < npool && at + lanes <= MAX_POOL && memcmp(pool + at, words, 4 * lanes))
		at += lanes;
	if (at + lanes > MAX_POOL)
		die("too many constants");
	memcpy(pool + at, words, 4 * lanes);
	if (npool < at + lanes)
		npool = at + lanes;
	return 4 * at;
}

static bool all_equal(const uint32_t *words, int lanes)
{
	for (int k = 1; k < lanes; k++)
		if (words[k] != words[0])
			return false;
	return true;
}

static void print_constants(const struct target *target)
{
	printf("\t.section .rodata\n\t.balign 64\n.Lconstants_%s:\n", target->kernel);
	for (int k = 0; k < npool; k++)
		printf("%s0x%x%s", k % 8 ? "," : "\t.long ", pool[k], k % 8 == 7 || k == npool - 1 ? "\n" : "");
	printf("\t.text\n");
	npool = 0;
}

/*
 * One test in every lane: where bit BITS[lane] of register X violates a condition (is set where the bits must be equal, clear where they
 * must differ), rules out VECTORS[lane]. Accumulators start as vectors still possible (EVEX, all ones) or ruled out (zero).
 * A lane without a condition has BITS 0 and VECTORS 0.
 */
static void test(struct code *code, const struct target *target, int x, bool differ, const uint32_t *bits, const uint32_t *vectors, int nth)
{
	int accumulator = target->first + nth % target->accumulators;
	bool equal = target->isa != SSE && all_equal(bits, target->lanes) && all_equal(vectors, target->lanes); /* one word is enough */

	if (evex(target)) {
		uint32_t keep[8];
		int k = 1 + nth % 6, kept = equal ? 1 : target->lanes;
		const char *broadcast = equal ? "{1to8}" : "";

		for (int lane = 0; lane < target->lanes; lane++)
			keep[lane] = ~vectors[lane];
		emit(code, "%s .Lconstants_%s+%d(%%rip)%s, %s, %%k%d", differ ? "vptestnmd" : "vptestmd", target->kernel,
		     constant(bits, kept), broadcast, reg(target, x), k);
		emit(code, "vpandd .Lconstants_%s+%d(%%rip)%s, %s, %s{%%k%d}", target->kernel, constant(keep, kept), broadcast,
		     reg(target, accumulator), reg(target, accumulator), k);
		return;
	}

	/* vpsignd keeps a word whose controlling word is positive, clears it where that is zero */
	int violated = 13, ruled_out = 14;
	int bits_at = constant(bits, target->lanes), vectors_at = constant(vectors, equal ? 1 : target->lanes);

	if (target->isa == AVX2) {
		emit(code, "%s .Lconstants_%s+%d(%%rip), %s, %s", differ ? "vpandn" : "vpand", target->kernel, bits_at, reg(target, x),
		     reg(target, violated));
		emit(code, "%s .Lconstants_%s+%d(%%rip), %s", equal ? "vpbroadcastd" : "vmovdqa", target->kernel, vectors_at,
		     reg(target, ruled_out));
		emit(code, "vpsignd %s, %s, %s", reg(target, violated), reg(target, ruled_out), reg(target, ruled_out));
		emit(code, "vpor %s, %s, %s", reg(target, ruled_out), reg(target, accumulator), reg(target, accumulator));
	} else {
		emit(code, "movdqa %s, %s", reg(target, x), reg(target, violated));
		emit(code, "%s .Lconstants_%s+%d(%%rip), %s", differ ? "pandn" : "pand", target->kernel, bits_at, reg(target, violated));
		emit(code, "movdqa .Lconstants_%s+%d(%%rip), %s", target->kernel, vectors_at, reg(target, ruled_out));
		emit(code, "psignd %s, %s", reg(target, violated), reg(target, ruled_out));
		emit(code, "por %s, %s", reg(target, ruled_out), reg(target, accumulator));
	}
}

static void clear_accumulators(struct code *code, const struct target *target)
{
	for (int k = target->first; k < target->first + target->accumulators; k++) {
		const char *r = reg(target, k);

		if (evex(target))
			emit(code, "vpternlogd $0xff, %s, %s, %s", r, r, r);
		else if (target->isa == AVX2)
			emit(code, "vpxor %s, %s, %s", r, r, r);
		else
			emit(code, "pxor %s, %s", r, r);
	}
}

/* The first accumulator takes up the others. */
static void join_accumulators(struct code *code, const struct target *target)
{
	for (int n = target->accumulators / 2; n; n /= 2)
		for (int k = target->first; k < target->first + n; k++)
			emit(code, "%s %s, %s, %s", evex(target) ? "vpandd" : "vpor", reg(target, k + n), reg(target, k), reg(target, k));
}

/* ---- Conditions across words ------------------------------------------------------------------------------------ */

/*
 * The words of a block lie in memory at %rcx in falling order, as SHA-NI's schedule leaves them (W[t] at 4 * (79 - t)), so that a
 * vector of consecutive words can be loaded at any t. A family of conditions has the same j - i, the same distance between the
 * two bits and the same constant.
 */
#define WORDS_SIZE 320

static int word_at(int t)
{
	return 4 * (79 - t);
}

static bool same_family(const struct condition *a, const struct condition *b)
{
	return a->j - a->i == b->j - b->i && a->bit_i - a->bit_j == b->bit_i - b->bit_j && a->xor == b->xor;
}

/*
 * The vector of words of which W[LAST] is the latest, as a register's name; SCRATCH may be used for it.
 * RECENT: the words were stored a moment ago, 16 bytes at a time, and a load that needs more than one of these stores would wait until they
 * are in the cache, behind the chain. So aligned loads only: in vectors of 32 bytes, load_recent_words has put them into registers.
 */
#define RECENT_WORDS(target) (evex(target) ? 26 : 0) /* six registers from here on */

static const char *window(struct code *code, const struct target *target, int last, bool recent, int scratch)
{
	int at = word_at(last), vector = 4 * target->lanes, low = at / vector, rest = at % vector;
	const char *r = reg(target, scratch);

	if (!recent) {
		emit(code, "%s %d(%%rcx), %s", evex(target) ? "vmovdqu32" : target->isa == AVX2 ? "vmovdqu" : "movdqu", at, r);
		return r;
	}
	if (target->isa == SSE) {
		emit(code, "movdqa %d(%%rcx), %s", (at + 15) / 16 * 16, r);
		if (rest)
			emit(code, "palignr $%d, %d(%%rcx), %s", rest, at / 16 * 16, r);
		return r;
	}
	low += RECENT_WORDS(target);
	if (!rest)
		return reg(target, low);
	if (evex(target)) {
		emit(code, "valignd $%d, %s, %s, %s", rest / 4, reg(target, low), reg(target, low + 1), r);
		return r;
	}
	emit(code, "vperm2i128 $0x21, %s, %s, %s", reg(target, low + 1), reg(target, low), r);
	if (rest < 16)
		emit(code, "vpalignr $%d, %s, %s, %s", rest, reg(target, low), r, r);
	else if (rest > 16)
		emit(code, "vpalignr $%d, %s, %s, %s", rest - 16, r, reg(target, low + 1), r);
	return r;
}

static void load_recent_words(struct code *code, const struct target *target)
{
	for (int k = 0; target->isa != SSE && k < 6; k++) {
		int r = RECENT_WORDS(target) + k;

		emit(code, "%s %d(%%rcx), %%xmm%d", evex(target) ? "vmovdqa32" : "vmovdqa", 32 * k, r);
		emit(code, "%s $1, %d(%%rcx), %%ymm%d, %%ymm%d", evex(target) ? "vinserti32x4" : "vinserti128", 32 * k + 16, r, r);
	}
}

/* x = W[t..] xor (W[t + distance..] with bit bit_j moved to bit_i), for as many t as there are lanes, from FIRST up. */
static void combine(struct code *code, const struct target *target, int x, int first, int distance, int shift, bool recent)
{
	int last = first + target->lanes - 1;
	const char *r = reg(target, x), *later;

	if (evex(target) && shift && !recent) {
		emit(code, "vprold $%d, %d(%%rcx), %s", shift & 31, word_at(last + distance), r);
		later = r;
	} else {
		later = window(code, target, last + distance, recent, x);
	}
	if (evex(target)) {
		if (shift && recent)
			emit(code, "vprold $%d, %s, %s", shift & 31, later, r);
		if (shift)
			later = r;
		if (recent)
			emit(code, "vpxord %s, %s, %s", window(code, target, last, recent, 25), later, r);
		else
			emit(code, "vpxord %d(%%rcx), %s, %s", word_at(last), later, r);
	} else if (target->isa == AVX2) {
		if (shift) {
			emit(code, "%s $%d, %s, %s", shift > 0 ? "vpslld" : "vpsrld", abs(shift), later, r);
			later = r;
		}
		if (recent)
			emit(code, "vpxor %s, %s, %s", window(code, target, last, recent, 6), later, r);
		else
			emit(code, "vpxor %d(%%rcx), %s, %s", word_at(last), later, r);
	} else {
		if (shift)
			emit(code, "%s $%d, %s", shift > 0 ? "pslld" : "psrld", abs(shift), r);
		emit(code, "pxor %s, %s", window(code, target, last, recent, 13), r);
	}
}

/* MASK, a register, = the vectors that survive: all accumulators and all their lanes taken together. */
static void gather_accumulators(struct code *code, const struct target *target, const char *mask)
{
	int a = target->first, tmp = target->first + 1;
	const char *op = evex(target) ? "vpandd" : "vpor";

	if (target->isa == SSE) {
		emit(code, "pshufd $0x4e, %%xmm%d, %%xmm%d", a, tmp);
		emit(code, "por %%xmm%d, %%xmm%d", tmp, a);
		emit(code, "pshufd $0xb1, %%xmm%d, %%xmm%d", a, tmp);
		emit(code, "por %%xmm%d, %%xmm%d", tmp, a);
		emit(code, "movd %%xmm%d, %%%s", a, mask);
		emit(code, "not %%%s", mask);
		return;
	}
	join_accumulators(code, target);
	emit(code, "%s $1, %%ymm%d, %%xmm%d", evex(target) ? "vextracti32x4" : "vextracti128", a, tmp);
	emit(code, "%s %%xmm%d, %%xmm%d, %%xmm%d", op, tmp, a, a);
	emit(code, "vpshufd $0x4e, %%xmm%d, %%xmm%d", a, tmp);
	emit(code, "%s %%xmm%d, %%xmm%d, %%xmm%d", op, tmp, a, a);
	emit(code, "vpshufd $0xb1, %%xmm%d, %%xmm%d", a, tmp);
	emit(code, "%s %%xmm%d, %%xmm%d, %%xmm%d", op, tmp, a, a);
	emit(code, "vmovd %%xmm%d, %%%s", a, mask);
	if (!evex(target))
		emit(code, "not %%%s", mask);
}

static void conditions_across_words(struct code *code, const struct target *target, bool recent, const char *mask)
{
	bool done[MAX_CONDITIONS] = { false };
	int nth_window = 0, nth_test = 0, part_ends = recent ? 0 : target->apart;

	if (recent)
		load_recent_words(code, target);
	clear_accumulators(code, target);
	for (int c = 0; c < nconditions; c++) {
		if (done[c])
			continue;

		/* The rows are in order of i: a window of words that starts at this condition covers the most of its family. */
		int distance = conditions[c].j - conditions[c].i, shift = conditions[c].bit_i - conditions[c].bit_j;
		int first = conditions[c].i, highest = 79 - distance - (target->lanes - 1);
		int x = target->first + target->accumulators + nth_window++ % (evex(target) ? 5 : 3);
		bool more;

		if (first > highest)
			first = highest;
		combine(code, target, x, first, distance, shift, recent);
		do { /* a test takes at most one condition a lane */
			uint32_t bits[8] = { 0 }, vectors[8] = { 0 };

			more = false;
			for (int k = c; k < nconditions; k++) {
				int lane = first + target->lanes - 1 - conditions[k].i;

				if (done[k] || !same_family(&conditions[c], &conditions[k]) || lane < 0)
					continue;
				if (bits[lane]) {
					more = true;
					continue;
				}
				bits[lane] = 1u << conditions[k].bit_i;
				vectors[lane] = conditions[k].vectors;
				done[k] = true;
			}
			test(code, target, x, conditions[c].xor, bits, vectors, nth_test++);
		} while (more);
		if (part_ends && nth_test >= part_ends) {
			part_ends += target->apart;
			join_accumulators(code, target);
			emit(code, "vmovdqa %s, %d(%%rcx)", reg(target, target->first), WORDS_SIZE);
			emit(code, "vzeroupper");
			emit(code, "");
			clear_accumulators(code, target);
			emit(code, "vmovdqa %d(%%rcx), %s", WORDS_SIZE, reg(target, target->first));
		}
	}
	gather_accumulators(code, target, mask);
	if (part_ends) {
		emit(code, "vzeroupper");
		emit(code, "");
	}
}

/* ---- Conditions across blocks ----------------------------------------------------------------------------------- */

/*
 * Eight blocks from %rsi on: their words as rows, W[t] of block k in row t at 4 * k, in the kernel's frame at %rsp; the last four rows
 * are in registers, too. What the steps need goes to %rcx, see put_words, and after it the vectors that survive, block k's at 4 * k.
 * For SHA-NI the order within a row is 0, 2, 4, 6, 1, 3, 5, 7.
 */
#define ROW 32 /* bytes */
#define MASKS_AT (80 * ROW)
#define ROWS_AT (81 * ROW)     /* before them in the frame: one set of words and masks */
#define OTHER_AT (161 * ROW)   /* and after them another */
#define BLOCKS_AT (242 * ROW)  /* and behind, the last blocks, where they are fewer than eight */
#define FRAME_SIZE (258 * ROW)

static const char *move_name(const struct target *target)
{
	return evex(target) ? "vmovdqa32" : "vmovdqa";
}

/* The register of row T, and the Kth of six for help (the first two are conditions_of_word's). */
static int row(const struct target *target, int t)
{
	return (evex(target) ? 16 : 8) + t % 4;
}

static int help(const struct target *target, int k)
{
	static const int avx2[6] = { 4, 5, 6, 7, 12, 13 };

	return evex(target) ? 24 + k : avx2[k];
}

static int row_at(int t)
{
	return ROWS_AT + ROW * t;
}

/* to = the elements of A and B in turn, of each lane's lower or upper half. */
static void interleave(struct code *code, const char *how, int a, int b, int to)
{
	emit(code, "vpunpck%s %%ymm%d, %%ymm%d, %%ymm%d", how, b, a, to);
}

/*
 * Four words of eight blocks. For SHA-NI as it takes them, the first in the highest word, block after block. For scalar steps as rows
 * again, with the steps' constants added.
 */
static int words_of_block(int group, int block)
{
	return 128 * group + 16 * block;
}

static void put_words(struct code *code, const struct target *target, int group)
{
	int a = help(target, 4), b = help(target, 5), to = help(target, 3);

	if (!target->sha_ni) {
		for (int t = 4 * group; t < 4 * group + 4; t++) {
			emit(code, "vpaddd .Lk+%d(%%rip), %%ymm%d, %%ymm%d", 32 * (t / 20), row(target, t), to);
			emit(code, "%s %%ymm%d, %d(%%rcx)", move_name(target), to, ROW * t);
		}
		return;
	}
	for (int half = 0; half < 2; half++) {
		interleave(code, half ? "hdq" : "ldq", row(target, 3), row(target, 2), a);
		interleave(code, half ? "hdq" : "ldq", row(target, 1), row(target, 0), b);
		for (int k = 0; k < 2; k++) {
			interleave(code, k ? "hqdq" : "lqdq", a, b, to);
			emit(code, "%s %%ymm%d, %d(%%rcx)", move_name(target), to, words_of_block(group, 2 * (2 * half + k)));
		}
	}
}

static void load_words(struct code *code, const struct target *target, int group)
{
	int a = help(target, 4), b = help(target, 5);

	for (int k = 0; k < 4; k++) {
		int to = help(target, k), low = target->sha_ni ? 2 * k : k, high = target->sha_ni ? low + 1 : low + 4;

		emit(code, "%s %d(%%rsi), %%xmm%d", evex(target) ? "vmovdqu32" : "vmovdqu", 64 * low + 16 * group, to);
		emit(code, "%s $1, %d(%%rsi), %%ymm%d, %%ymm%d", evex(target) ? "vinserti32x4" : "vinserti128", 64 * high + 16 * group,
		     to, to);
		emit(code, "vpshufb .Lreverse(%%rip), %%ymm%d, %%ymm%d", to, to);
		if (target->sha_ni)
			emit(code, "%s %%ymm%d, %d(%%rcx)", move_name(target), to, words_of_block(group, low));
	}
	for (int k = 0; k < 4; k++) { /* the last word first */
		const char *half = k < 2 ? "ldq" : "hdq";
		int t = 4 * group + 3 - k;

		if (k % 2 == 0) {
			interleave(code, half, help(target, 0), help(target, 1), a);
			interleave(code, half, help(target, 2), help(target, 3), b);
		}
		interleave(code, k % 2 ? "hqdq" : "lqdq", a, b, row(target, t));
		emit(code, "%s %%ymm%d, %d(%%rsp)", move_name(target), row(target, t), row_at(t));
	}
	if (!target->sha_ni)
		put_words(code, target, group);
}

static void schedule_word(struct code *code, const struct target *target, int t)
{
	int w = row(target, t), last3 = row(target, t - 3), carry = help(target, 2);

	emit(code, "%s %d(%%rsp), %%ymm%d", move_name(target), row_at(t - 16), w);
	emit(code, "%s %d(%%rsp), %%ymm%d, %%ymm%d", evex(target) ? "vpxord" : "vpxor", row_at(t - 14), w, w);
	if (evex(target)) {
		emit(code, "vpternlogd $0x96, %d(%%rsp), %%ymm%d, %%ymm%d", row_at(t - 8), last3, w);
		emit(code, "vprold $1, %%ymm%d, %%ymm%d", w, w);
	} else {
		emit(code, "vpxor %d(%%rsp), %%ymm%d, %%ymm%d", row_at(t - 8), w, w);
		emit(code, "vpxor %%ymm%d, %%ymm%d, %%ymm%d", last3, w, w);
		emit(code, "vpsrld $31, %%ymm%d, %%ymm%d", w, carry);
		emit(code, "vpaddd %%ymm%d, %%ymm%d, %%ymm%d", w, w, w);
		emit(code, "vpor %%ymm%d, %%ymm%d, %%ymm%d", carry, w, w);
	}
	emit(code, "%s %%ymm%d, %d(%%rsp)", move_name(target), w, row_at(t));
}

/* The conditions whose later word is W[t], each in all lanes. */
static void conditions_of_word(struct code *code, const struct target *target, int t, int *nth)
{
	bool done[MAX_CONDITIONS] = { false };

	for (int c = 0; c < nconditions; c++) {
		const struct condition *first = &conditions[c];
		int shift = first->bit_i - first->bit_j, x = help(target, *nth % 2), later = row(target, t);

		if (first->j != t || done[c])
			continue;
		if (shift) {
			if (evex(target))
				emit(code, "vprold $%d, %%ymm%d, %%ymm%d", shift & 31, later, x);
			else
				emit(code, "%s $%d, %%ymm%d, %%ymm%d", shift > 0 ? "vpslld" : "vpsrld", abs(shift), later, x);
			later = x;
		}
		emit(code, "%s %d(%%rsp), %%ymm%d, %%ymm%d", evex(target) ? "vpxord" : "vpxor", row_at(first->i), later, x);
		for (int k = c; k < nconditions; k++) {
			const struct condition *other = &conditions[k];
			uint32_t bits[8], vectors[8];

			if (other->j != t || other->i != first->i || other->bit_i - other->bit_j != shift)
				continue;
			for (int lane = 0; lane < 8; lane++) {
				bits[lane] = 1u << other->bit_i;
				vectors[lane] = other->vectors;
			}
			test(code, target, x, other->xor, bits, vectors, (*nth)++);
			done[k] = true;
		}
	}
}

static void conditions_across_blocks(struct code *code, const struct target *target)
{
	int nth = 0;

	clear_accumulators(code, target);
	for (int group = 0; group < 20; group++) {
		if (group < 4) {
			load_words(code, target, group);
		} else {
			for (int t = 4 * group; t < 4 * group + 4; t++) {
				schedule_word(code, target, t);
				conditions_of_word(code, target, t, &nth);
			}
			put_words(code, target, group);
		}
		if (target->apart && group < 19) {
			join_accumulators(code, target);
			emit(code, "vmovdqa %s, %d(%%rcx)", reg(target, target->first), MASKS_AT);
			emit(code, "vzeroupper");
			emit(code, "");
			clear_accumulators(code, target);
			emit(code, "vmovdqa %d(%%rcx), %s", MASKS_AT, reg(target, target->first));
			for (int t = 4 * group + 1; t < 4 * group + 4; t++)
				emit(code, "vmovdqa %d(%%rsp), %%ymm%d", row_at(t), row(target, t));
		}
	}
	join_accumulators(code, target);
	if (!evex(target)) {
		int ones = help(target, 0);

		emit(code, "vpcmpeqd %%ymm%d, %%ymm%d, %%ymm%d", ones, ones, ones);
		emit(code, "vpxor %%ymm%d, %s, %s", ones, reg(target, target->first), reg(target, target->first));
	}
	if (target->sha_ni) {
		emit(code, "%s .Lorder(%%rip), %s", move_name(target), reg(target, help(target, 0)));
		emit(code, "vpermd %s, %s, %s", reg(target, target->first), reg(target, help(target, 0)), reg(target, target->first));
	}
	emit(code, "%s %s, %d(%%rcx)", move_name(target), reg(target, target->first), MASKS_AT);
	if (target->apart) {
		emit(code, "vzeroupper");
		emit(code, "");
	}
	if (nth != nconditions)
		die("conditions left over");
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

/* struct sha1dc_row of sha1dc_kernels.h */
enum { ROW_IHV = 0, ROW_STEP56 = 32, ROW_STEP64 = 64, ROW_WORDS = 96, ROW_MASK = 160, ROW_SIZE = 176 };

static void print_head(const struct target *target)
{
	const char *name = target->kernel;

	printf("\n\t.globl sha1dc_%s\n\t.hidden sha1dc_%s\n\t.type sha1dc_%s, @function\n\t.balign 64\nsha1dc_%s:\n\t_CET_ENDBR\n",
	       name, name, name, name);
}

/* ---- SHA-NI ----------------------------------------------------------------------------------------------------- */

static void move(struct code *code, bool vex, const char *from, const char *to)
{
	emit(code, "%s %s, %s", vex ? "vmovdqa" : "movdqa", from, to);
}

/*
 * The four words of GROUP, the first in the highest word of their register: from xmm3 on four registers in turn, or eight.
 * Golden Cove and its successors run sha1msg2 from microcode, at one in 4 cycles and with nothing else decoded meanwhile: plain vectors do
 * the same in more instructions and less time. From W[32] on W[t] = W[t - 6] ^ W[t - 16] ^ W[t - 28] ^ W[t - 32], rotated by 2
 * (M. Locktyukhin's form), four words at a time; before, the fourth word needs the first one. Without AVX-512's registers the earlier words
 * come from (%rcx).
 */
static int words_register(const struct target *target, int group)
{
	return 3 + group % (target->rounds_only && evex(target) ? 8 : 4);
}

/* xmmX = xmmX rotated left, by way of xmm15 */
static void rotate_words(struct code *code, const struct target *target, int x, int left)
{
	if (evex(target)) {
		emit(code, "vprold $%d, %%xmm%d, %%xmm%d", left, x, x);
		return;
	}
	emit(code, "vpsrld $%d, %%xmm%d, %%xmm15", 32 - left, x);
	emit(code, "vpslld $%d, %%xmm%d, %%xmm%d", left, x, x);
	emit(code, "vpor %%xmm15, %%xmm%d, %%xmm%d", x, x);
}

static void schedule_group(struct code *code, const struct target *target, int group)
{
	int w = words_register(target, group), w1 = words_register(target, group - 1), w2 = words_register(target, group - 2),
	    w3 = words_register(target, group - 3), w4 = words_register(target, group - 4);
	int w16 = word_at(4 * group - 13), w28 = word_at(4 * group - 25), w32 = word_at(4 * group - 29);

	if (!target->rounds_only) {
		emit(code, "sha1msg1 %%xmm%d, %%xmm%d", w3, w);
		emit(code, target->isa == SSE ? "pxor %%xmm%d, %%xmm%d" : "vpxor %%xmm%d, %%xmm%d, %%xmm%d", w2, w, w);
		emit(code, "sha1msg2 %%xmm%d, %%xmm%d", w1, w);
	} else if (group < 8) {
		emit(code, "vpalignr $8, %%xmm%d, %%xmm%d, %%xmm%d", w3, w4, w); /* W[t - 14] */
		emit(code, "vpslldq $4, %%xmm%d, %%xmm12", w1);                  /* W[t - 3] of the first three */
		if (evex(target)) {
			emit(code, "vpternlogd $0x96, %%xmm%d, %%xmm%d, %%xmm%d", w2, w4, w);
		} else {
			emit(code, "vpxor %d(%%rcx), %%xmm%d, %%xmm%d", w16, w, w);
			emit(code, "vpxor %%xmm%d, %%xmm%d, %%xmm%d", w2, w, w);
		}
		emit(code, "vpxor %%xmm12, %%xmm%d, %%xmm%d", w, w);
		rotate_words(code, target, w, 1);
		emit(code, "vpsrldq $12, %%xmm%d, %%xmm12", w);
		rotate_words(code, target, 12, 1);
		emit(code, "vpxor %%xmm12, %%xmm%d, %%xmm%d", w, w);
	} else {
		emit(code, "vpalignr $8, %%xmm%d, %%xmm%d, %%xmm12", w1, w2); /* W[t - 6] */
		if (evex(target)) { /* w is W[t - 32] */
			emit(code, "vpxor %%xmm%d, %%xmm%d, %%xmm%d", words_register(target, group - 7), w, w);
			emit(code, "vpternlogd $0x96, %%xmm12, %%xmm%d, %%xmm%d", w4, w);
		} else {
			emit(code, "vmovdqa %d(%%rcx), %%xmm%d", w32, w);
			emit(code, "vpxor %d(%%rcx), %%xmm%d, %%xmm%d", w28, w, w);
			emit(code, "vpxor %d(%%rcx), %%xmm%d, %%xmm%d", w16, w, w);
			emit(code, "vpxor %%xmm12, %%xmm%d, %%xmm%d", w, w);
		}
		rotate_words(code, target, w, 2);
	}
}

/* From this group on words go to (%rcx). */
static int first_stored(const struct target *target)
{
	return target->rounds_only && !evex(target) ? 0 : 8;
}

/*
 * The compression of the block at (%rsi) in the row at (%rdi), from xmm0 (a to d, a in the highest word) and xmm1 (e, highest word; during
 * the steps the a of four steps before, which sha1nexte rotates) to the same registers. Leaves the words, W[32..79] at least, at (%rcx).
 * xmm2 takes turns with xmm1; from xmm3 on: four words of the schedule each; xmm11: help.
 * Golden Cove does four steps in 4 cycles, so that sha1nexte's 3 cycles are in the way of the next but one sha1rnds4 as soon as it has to
 * wait for a port: rotating the highest word alone (k7) ahead and adding takes 2.
 * NTH, 0 to 7: that one of eight blocks whose words are at (%rcx) already; ALONE: none.
 */
#define ALONE -1

static void sha_ni_block(struct code *code, const struct target *target, int nth)
{
	bool vex = target->isa != SSE;
	int e = 1, other = 2;
	char from[32], to[32];

	snprintf(to, sizeof(to), "%d(%%rdi)", ROW_IHV);
	move(code, vex, "%xmm0", to);
	snprintf(to, sizeof(to), "%d(%%rdi)", ROW_IHV + 16);
	move(code, vex, "%xmm1", to);
	for (int k = 0; k < 4 && nth == ALONE; k++) {
		if (vex) {
			emit(code, "vmovdqu %d(%%rsi), %%xmm%d", 16 * k, 3 + k);
			emit(code, "vpshufb .Lreverse(%%rip), %%xmm%d, %%xmm%d", 3 + k, 3 + k);
		} else {
			emit(code, "movdqu %d(%%rsi), %%xmm%d", 16 * k, 3 + k);
			emit(code, "pshufb .Lreverse(%%rip), %%xmm%d", 3 + k);
		}
	}
	for (int group = 0; group < 20; group++) { /* of four steps */
		char words[32];

		if (nth == ALONE)
			snprintf(words, sizeof(words), "%%xmm%d", words_register(target, group));
		else
			snprintf(words, sizeof(words), "%d(%%rcx)", words_of_block(group, nth));
		if (group == 14 || group == 16) {
			int at = group == 14 ? ROW_STEP56 : ROW_STEP64;

			snprintf(to, sizeof(to), "%d(%%rdi)", at);
			move(code, vex, "%xmm0", to);
			snprintf(from, sizeof(from), "%%xmm%d", e);
			snprintf(to, sizeof(to), "%d(%%rdi)", at + 16);
			if (!(target->rounds_only && evex(target)))
				move(code, vex, from, to);
		}
		if (target->rounds_only && evex(target) && (group == 13 || group == 15)) {
			snprintf(to, sizeof(to), "%d(%%rdi)", (group == 13 ? ROW_STEP56 : ROW_STEP64) + 16);
			move(code, vex, "%xmm0", to);
		}
		if (group >= 4 && nth == ALONE)
			schedule_group(code, target, group);
		if (group >= first_stored(target) && nth == ALONE) {
			snprintf(to, sizeof(to), "%d(%%rcx)", word_at(4 * group + 3));
			move(code, vex, words, to);
		}
		if (group >= 12 && group < 16) {
			if (nth != ALONE) { /* they take the way through a register that is free just now */
				snprintf(to, sizeof(to), "%%xmm%d", other);
				move(code, vex, words, to);
				strcpy(words, to);
			}
			snprintf(to, sizeof(to), "%d(%%rdi)", ROW_WORDS + 16 * (15 - group));
			move(code, vex, words, to);
		}
		if (group && !(target->rounds_only && evex(target)))
			emit(code, "sha1nexte %s, %%xmm%d", words, e);
		else if (vex)
			emit(code, "vpaddd %s, %%xmm%d, %%xmm%d", words, e, e);
		else
			emit(code, "paddd %s, %%xmm%d", words, e);
		snprintf(to, sizeof(to), "%%xmm%d", other);
		if (target->rounds_only && evex(target))
			emit(code, "vprold $30, %%xmm0, %s{%%k7}{z}", to);
		else
			move(code, vex, "%xmm0", to);
		emit(code, "sha1rnds4 $%d, %%xmm%d, %%xmm0", group / 5, e);
		int swap = e;
		e = other;
		other = swap;
	}
	emit(code, target->rounds_only && evex(target) ? "vpaddd %d(%%rdi), %%xmm1, %%xmm1" : "sha1nexte %d(%%rdi), %%xmm1", ROW_IHV + 16);
	emit(code, vex ? "vpaddd %d(%%rdi), %%xmm0, %%xmm0" : "paddd %d(%%rdi), %%xmm0", ROW_IHV);
	emit(code, "prefetcht0 %d(%%rsi)", 1024 + 64 * (nth == ALONE ? 0 : nth)); /* a file just mapped comes from memory */
	if (nth == ALONE)
		emit(code, "add $64, %%rsi");
	emit(code, "add $%d, %%rdi", ROW_SIZE);
}

/* The same code with the base register TO instead of FROM, names of the same length. */
static struct code rebased(const struct code *code, const char *from, const char *to)
{
	struct code moved = { 0 };

	for (int k = 0; k < code->n; k++) {
		char line[128], *at;

		snprintf(line, sizeof(line), "%s", code->line[k]);
		at = strstr(line, from);
		if (at)
			memcpy(at, to, strlen(to));
		emit(&moved, "%s", line);
	}
	return moved;
}

/*
 * uint64_t sha1dc_<isa>_ni(struct sha1dc_row *rows, const void *blocks, size_t n)
 * rdi: the row, rsi: the block, rdx: blocks left, rcx: the words of the block compressed last, in one of two buffers on the stack,
 * rax: the result, filled from the top, r8: n, r9: survivors, r10: the frame.
 */
static void sha_ni_kernel(const struct target *target)
{
	struct code sha = { 0 }, filter = { 0 }, last_filter = { 0 };
	bool vex = target->isa != SSE;
	const char *name = vex ? "vmovdqa" : "movdqa";
	/* the filter reads the previous block's words: in the loop the chain stores to the other buffer */
	int other = 512;

	sha_ni_block(&sha, target, ALONE);
	conditions_across_words(&filter, target, false, "r9d");
	conditions_across_words(&last_filter, target, true, "r9d");
	print_head(target);
	if (vex) /* where the caller left the upper halves in use, SHA-NI instructions among those below cost Intel hundreds of cycles each */
		printf("\tvzeroupper\n");
	printf("\tmov %%rsp, %%r10\n\tsub $%d, %%rsp\n\tand $-%d, %%rsp\n", 2 * other, 2 * other);
	if (target->rounds_only && evex(target))
		printf("\tmov $8, %%ecx\n\tkmovd %%ecx, %%k7\n");
	printf("\tmov %%rsp, %%rcx\n\txor %%eax, %%eax\n\tmov %%rdx, %%r8\n");
	printf("\t%s %d(%%rdi), %%xmm0\n\t%s %d(%%rdi), %%xmm1\n", name, ROW_IHV, name, ROW_IHV + 16);
	print(&sha);
	printf("\tdec %%rdx\n\tjz 2f\n\t.balign 32\n1:\n");
	/* rcx: what the filter reads; the chain writes to rcx ^ 256 = r11 */
	struct code chain = rebased(&sha, "(%rcx)", "(%r11)");
	printf("\tmov %%rcx, %%r11\n\txor $%d, %%r11\n", other);
	print_woven(&chain, &filter);
	/* the chain has advanced rdi: the filtered block's row is two back */
	printf("\tmov %%r9d, %d(%%rdi)\n\tneg %%r9d\n\trcr $1, %%rax\n\tmov %%r11, %%rcx\n\tdec %%rdx\n\tjnz 1b\n2:\n",
	       ROW_MASK - 2 * ROW_SIZE);
	printf("\t%s %%xmm0, %d(%%rdi)\n\t%s %%xmm1, %d(%%rdi)\n", name, ROW_IHV, name, ROW_IHV + 16);
	print(&last_filter);
	printf("\tmov %%r9d, %d(%%rdi)\n\tneg %%r9d\n\trcr $1, %%rax\n", ROW_MASK - ROW_SIZE);
	printf("\tmov $64, %%ecx\n\tsub %%r8d, %%ecx\n\tshr %%cl, %%rax\n\tmov %%r10, %%rsp\n");
	if (target->isa == AVX2)
		printf("\tvzeroupper\n");
	printf("\tret\n\t.size sha1dc_%s, .-sha1dc_%s\n", target->kernel, target->kernel);
	print_constants(target);
}

/* Fewer than eight blocks from %rsi on, %r9 of them, come to where reading eight does no harm. */
static void spare_blocks(void)
{
	printf("\tcmp $8, %%r9\n\tjae 4f\n\tshl $6, %%r9d\n3:\n");
	for (int k = 16; k <= 64; k += 16)
		printf("\tvmovdqu -%d(%%rsi,%%r9), %%xmm2\n\tvmovdqa %%xmm2, %d(%%r10,%%r9)\n", k, BLOCKS_AT - k);
	printf("\tsub $64, %%r9\n\tjnz 3b\n\tlea %d(%%r10), %%rsi\n4:\n", BLOCKS_AT);
}

/* struct sha1dc_ahead of sha1dc_kernels.h: the frame, and then the words of the blocks to come, or NULL */
#define READY_AT FRAME_SIZE

/*
 * uint64_t sha1dc_<isa>_many(struct sha1dc_row *rows, const void *blocks, size_t n, size_t more, struct sha1dc_ahead *ahead)
 * Eight blocks at a time: while their chains run, woven into these, the words and conditions of the next eight; at the end up to eight
 * chains alone.
 * rdi: the row, rsi: these eight blocks, rdx: blocks left, r8: more, rcx: the words of these eight, r11: of the next, or the masks of the
 * last, r10: the frame, r9: help, rax: the result, filled from the top.
 */
static void sha_ni_many_kernel(const struct target *target)
{
	struct code chains = { 0 }, chain = { 0 }, code = { 0 }, words, next;

	for (int nth = 0; nth < 8; nth++) {
		sha_ni_block(&chains, target, nth);
		emit(&chains, "mov %d(%%rcx), %%r9d", MASKS_AT + 4 * nth);
		emit(&chains, "mov %%r9d, %d(%%rdi)", ROW_MASK - ROW_SIZE);
		emit(&chains, "neg %%r9d");
		emit(&chains, "rcr $1, %%rax");
	}
	sha_ni_block(&chain, target, 0);
	conditions_across_blocks(&code, target);
	words = rebased(&code, "(%rsp)", "(%r10)");
	next = rebased(&words, "(%rcx)", "(%r11)");
	print_head(target);
	printf("\tvzeroupper\n\tpush %%rdx\n\tmov %%r8, %%r10\n\tmov %%rcx, %%r8\n\txor %%eax, %%eax\n");
	if (target->rounds_only)
		printf("\tmov $8, %%ecx\n\tkmovd %%ecx, %%k7\n");
	printf("\tmov %d(%%r10), %%rcx\n\ttest %%rcx, %%rcx\n\tjnz 6f\n\tmov %%r10, %%rcx\n\tlea (%%rdx,%%r8), %%r9\n", READY_AT);
	spare_blocks();
	print(&words);
	printf("6:\n\tlea %d(%%r10,%%r10), %%r11\n\tsub %%rcx, %%r11\n", OTHER_AT);
	printf("\tvmovdqa %d(%%rdi), %%xmm0\n\tvmovdqa %d(%%rdi), %%xmm1\n\t.balign 32\n1:\n", ROW_IHV, ROW_IHV + 16);
	printf("\tlea -8(%%rdx,%%r8), %%r9\n\ttest %%r9, %%r9\n\tjle 2f\n\tadd $512, %%rsi\n");
	spare_blocks();
	print_woven(&chains, &next);
	printf("\txchg %%rcx, %%r11\n\tsub $8, %%rdx\n\tjnz 1b\n\tmov %%rcx, %d(%%r10)\n\tjmp 6f\n", READY_AT);
	printf("2:\n\tlea %d(%%rcx), %%r11\n5:\n", MASKS_AT);
	print(&chain);
	printf("\tmov (%%r11), %%r9d\n\tmov %%r9d, %d(%%rdi)\n\tneg %%r9d\n\trcr $1, %%rax\n", ROW_MASK - ROW_SIZE);
	printf("\tlea 4(%%r11), %%r11\n\tlea 16(%%rcx), %%rcx\n\tdec %%rdx\n\tjnz 5b\n\tmov %%rdx, %d(%%r10)\n6:\n", READY_AT);
	printf("\tvmovdqa %%xmm0, %d(%%rdi)\n\tvmovdqa %%xmm1, %d(%%rdi)\n", ROW_IHV, ROW_IHV + 16);
	printf("\tpop %%rdx\n\tmov $64, %%ecx\n\tsub %%edx, %%ecx\n\tshr %%cl, %%rax\n\tret\n");
	printf("\t.size sha1dc_%s, .-sha1dc_%s\n", target->kernel, target->kernel);
	print_constants(target);
}

/* ---- Without SHA-NI ------------------------------------------------------------------------------------------------ */

/*
 * Step t from (a, b, c, d, e) to (e, a, b, c, d), in registers NAMES[0] to NAMES[4]; the next step's names move by one.
 * SUM(%rcx): the word with the step's constant.
 */
static void scalar_step(struct code *code, int t, int sum)
{
	static const char *const names[5] = { "r8d", "r9d", "r10d", "r11d", "r12d" };
	const char *a = names[(80 - t) % 5], *b = names[(81 - t) % 5], *c = names[(82 - t) % 5], *d = names[(83 - t) % 5],
		   *e = names[(84 - t) % 5];

	if (t == 56 || t == 64) {
		int at = t == 56 ? ROW_STEP56 : ROW_STEP64;

		emit(code, "mov %%%s, %d(%%rdi)", d, at);
		emit(code, "mov %%%s, %d(%%rdi)", c, at + 4);
		emit(code, "mov %%%s, %d(%%rdi)", b, at + 8);
		emit(code, "mov %%%s, %d(%%rdi)", a, at + 12);
		emit(code, "rorx $30, %%%s, %%eax", e);
		emit(code, "mov %%eax, %d(%%rdi)", at + 28);
	}
	emit(code, "add %d(%%rcx), %%%s", sum, e);
	if (t < 20) {
		emit(code, "andn %%%s, %%%s, %%eax", d, b);
		emit(code, "mov %%%s, %%ebx", c);
		emit(code, "and %%%s, %%ebx", b);
		emit(code, "add %%eax, %%%s", e);
		emit(code, "add %%ebx, %%%s", e);
	} else if (t < 40 || t >= 60) {
		emit(code, "mov %%%s, %%eax", c);
		emit(code, "xor %%%s, %%eax", d);
		emit(code, "xor %%%s, %%eax", b);
		emit(code, "add %%eax, %%%s", e);
	} else {
		emit(code, "mov %%%s, %%eax", c);
		emit(code, "and %%%s, %%eax", d);
		emit(code, "mov %%%s, %%ebx", c);
		emit(code, "xor %%%s, %%ebx", d);
		emit(code, "and %%%s, %%ebx", b);
		emit(code, "add %%eax, %%%s", e);
		emit(code, "add %%ebx, %%%s", e);
	}
	emit(code, "rorx $27, %%%s, %%eax", a);
	emit(code, "rorx $2, %%%s, %%%s", b, b);
	emit(code, "add %%eax, %%%s", e);
}

static const char *const step_words[5] = { "r11d", "r10d", "r9d", "r8d", "r12d" }; /* d, c, b, a, e */
static const int state_at[5] = { 0, 4, 8, 12, 28 };

/* A kernel's beginning: saves registers, with n at -40(%rbp), makes a frame of SIZE bytes at rcx, loads the state, clears the result. */
static void scalar_enter(int size)
{
	printf("\tpush %%rbp\n\tmov %%rsp, %%rbp\n\tpush %%rbx\n\tpush %%r12\n\tpush %%r13\n\tpush %%r14\n\tpush %%rdx\n");
	printf("\tsub $%d, %%rsp\n\tand $-64, %%rsp\n\tmov %%rsp, %%rcx\n\txor %%r13d, %%r13d\n", size);
	for (int k = 0; k < 5; k++)
		printf("\tmov %d(%%rdi), %%%s\n", ROW_IHV + state_at[k], step_words[k]);
}

/* The chaining value after a block. */
static void scalar_add(struct code *code)
{
	for (int k = 0; k < 5; k++) {
		emit(code, "add %d(%%rdi), %%%s", ROW_IHV + state_at[k], step_words[k]);
		emit(code, "mov %%%s, %d(%%rdi)", step_words[k], ROW_SIZE + ROW_IHV + state_at[k]);
	}
}

/* Its end: returns the result, shifted down. */
static void scalar_leave(const struct target *target)
{
	printf("\tmov $64, %%ecx\n\tsub -40(%%rbp), %%ecx\n\tmov %%r13, %%rax\n\tshr %%cl, %%rax\n\tvzeroupper\n");
	printf("\tlea -32(%%rbp), %%rsp\n\tpop %%r14\n\tpop %%r13\n\tpop %%r12\n\tpop %%rbx\n\tpop %%rbp\n\tret\n");
	printf("\t.size sha1dc_%s, .-sha1dc_%s\n", target->kernel, target->kernel);
}

/*
 * uint64_t sha1dc_<isa>(struct sha1dc_row *rows, const void *blocks, size_t n)
 * For few blocks: one after another, each with its schedule and conditions across words woven into the steps.
 * rdi: the row, rsi: the block, rdx: blocks left, rcx: the words W[79] down to W[0], then their sums with the steps' constants,
 * r8 to r12: a to e, rax and rbx: help, rbp: the frame, r13: the result, filled from the top, r14: survivors.
 */
static void scalar_kernel(const struct target *target)
{
	struct code code = { 0 }, filter = { 0 };
	const int sums = 320;

	conditions_across_words(&filter, target, false, "r14d");
	print_head(target);
	scalar_enter(2 * sums);
	printf("\t.balign 32\n1:\n");
	for (int k = 0; k < 4; k++) {
		emit(&code, "vmovdqu %d(%%rsi), %%xmm%d", 16 * k, 3 + k);
		emit(&code, "vpshufb .Lreverse(%%rip), %%xmm%d, %%xmm%d", 3 + k, 3 + k);
	}
	int group = 0;
	for (int t = 0; t < 80; t++) {
		for (; group < 20 && group * 2 <= t; group++) { /* 4 words for every 2 steps: they are all there after step 40 */
			int w = words_register(target, group);

			if (group >= 4)
				schedule_group(&code, target, group);
			if (group >= first_stored(target))
				emit(&code, "vmovdqa %%xmm%d, %d(%%rcx)", w, word_at(4 * group + 3));
			if (group >= 12 && group < 16)
				emit(&code, "vmovdqa %%xmm%d, %d(%%rdi)", w, ROW_WORDS + 16 * (15 - group));
			emit(&code, "vpaddd .Lk+%d(%%rip), %%xmm%d, %%xmm13", 32 * (group / 5), w);
			emit(&code, "vmovdqa %%xmm13, %d(%%rcx)", sums + word_at(4 * group + 3));
		}
		if (t == 40) {
			print(&code);
			code.n = 0;
		}
		scalar_step(&code, t, sums + word_at(t));
	}
	print_woven(&code, &filter);
	code.n = 0;
	scalar_add(&code);
	print(&code);
	printf("\tmov %%r14d, %d(%%rdi)\n\tneg %%r14d\n\trcr $1, %%r13\n", ROW_MASK);
	printf("\tadd $64, %%rsi\n\tadd $%d, %%rdi\n\tdec %%rdx\n\tjnz 1b\n", ROW_SIZE);
	scalar_leave(target);
	print_constants(target);
}

/*
 * uint64_t sha1dc_<isa>_many(struct sha1dc_row *rows, const void *blocks, size_t n, ...), n a multiple of 8
 * For many blocks: eight at a time, first the words and conditions of all of them, then their steps, shared by both kernels.
 * rdi: the row, rsi: the blocks, rdx: blocks left, rcx: the eight blocks' words, r8 to r12: a to e, rax and rbx: help, rbp: the frame,
 * r13: the result, filled from the top, r14: how many of the eight are left.
 */
static void scalar_many_kernel(const struct target *target)
{
	struct code words = { 0 };

	conditions_across_blocks(&words, target);
	print_head(target);
	scalar_enter(FRAME_SIZE);
	printf("1:\n");
	print(&words);
	printf("\tvzeroupper\n\tcall .Lsteps\n\tadd $512, %%rsi\n\tsub $8, %%rdx\n\tjnz 1b\n");
	scalar_leave(target);
	print_constants(target);
}

static void scalar_many_steps(void)
{
	struct code steps = { 0 };

	for (int t = 0; t < 80; t++)
		scalar_step(&steps, t, ROW * t);
	scalar_add(&steps);
	emit(&steps, "mov %d(%%rcx), %%eax", MASKS_AT);
	emit(&steps, "mov %%eax, %d(%%rdi)", ROW_MASK);
	emit(&steps, "neg %%eax");
	emit(&steps, "rcr $1, %%r13");
	emit(&steps, "test %%eax, %%eax");
	emit(&steps, "jz 2f");
	for (int t = 63; t >= 48; t--) {
		emit(&steps, "mov %d(%%rcx), %%eax", row_at(t));
		emit(&steps, "mov %%eax, %d(%%rdi)", ROW_WORDS + 4 * (63 - t));
	}
	printf("\n\t.type sha1dc_steps, @function\n\t.balign 64\nsha1dc_steps:\n.Lsteps:\n\tmov $8, %%r14d\n\t.balign 32\n1:\n");
	print(&steps);
	printf("2:\n\tadd $4, %%rcx\n\tadd $%d, %%rdi\n\tdec %%r14d\n\tjnz 1b\n\tsub $32, %%rcx\n\tret\n", ROW_SIZE);
	printf("\t.size sha1dc_steps, .-sha1dc_steps\n");
}

static void write_kernels(void)
{
	puts("/* The kernels of collision-detecting SHA-1: made by sha1dc_gen */\n#include <cet.h>\n\t.text");
	for (size_t k = 0; k < sizeof(sha_ni_targets) / sizeof(*sha_ni_targets); k++)
		sha_ni_kernel(&sha_ni_targets[k]);
	for (size_t k = 0; k < sizeof(sha_ni_many_targets) / sizeof(*sha_ni_many_targets); k++)
		sha_ni_many_kernel(&sha_ni_many_targets[k]);
	for (size_t k = 0; k < sizeof(scalar_targets) / sizeof(*scalar_targets); k++)
		scalar_kernel(&scalar_targets[k]);
	for (size_t k = 0; k < sizeof(scalar_many_targets) / sizeof(*scalar_many_targets); k++)
		scalar_many_kernel(&scalar_many_targets[k]);
	scalar_many_steps();
	puts("\t.section .rodata\n\t.balign 32\n"
	     ".Lreverse:\n\t.byte 15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0\n\t.byte 15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0\n"
	     ".Lorder:\n\t.long 0,4,1,5,2,6,3,7\n"
	     ".Lk:\n\t.fill 8, 4, 0x5a827999\n\t.fill 8, 4, 0x6ed9eba1\n\t.fill 8, 4, 0x8f1bbcdc\n\t.fill 8, 4, 0xca62c1d6\n"
	     "\t.section .note.GNU-stack, \"\", @progbits");
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "vectors")) {
		write_vectors(argv[2]);
	} else if (argc == 3 && !strcmp(argv[1], "kernels")) {
		read_conditions(argv[2]);
		write_kernels();
	} else {
		fprintf(stderr, "usage: sha1dc_gen vectors DISTURBANCE-VECTORS | kernels CONDITIONS\n");
		return 2;
	}
	return fflush(stdout) || ferror(stdout);
}
