/* sha1dc_gen.c - writes the kernels of collision-detecting SHA-1 (assembly) and the table of disturbance vectors (C) */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * SHA-1 of a 64-byte block is a chain of 80 dependent steps; SHA-NI does it in about 122 cycles and leaves most of the processor idle.
 * Whether the block can be part of a collision attack is decided by 156 conditions on its expanded message W[0..79]: bit bit_i of W[i] xor
 * bit bit_j of W[j] must equal a constant, or some of 32 disturbance vectors are ruled out ("unavoidable conditions", see the data file).
 * A kernel computes both for a run of blocks and reports the vectors that are left. There are two ways to put conditions into vector lanes:
 *
 *   across words    One block at a time. Conditions come in families that only differ in i, so a lane takes one i: with SHA-NI,
 *                   where the conditions of a block are woven between the instructions of the next block's chain.
 *                   Without SHA-NI they are woven into the block's own 80 steps in scalar instructions, with the schedule.
 *   across blocks   A lane takes one of 8 blocks, and the schedule W[16..79] is computed in the lanes as well: without SHA-NI,
 *                   a fifth fewer instructions, for as many blocks; the 80 steps then run one block after another.
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
	bool rounds_only;   /* of SHA-NI sha1rnds4 only: what the other three do, in plain vector instructions */
	int apart;          /* tests in a part of the conditions that leaves the registers' upper halves clean; 0: undivided */
};

/* No 512-bit vectors: beside the chain they are no faster than 256-bit ones, and some processors lower their clock for them. */
static const struct target sha_ni_targets[] = {
	{ "sse_ni", SSE, 4, 'x', 7, 1, false, 0 },
	{ "avx2_ni", AVX2, 8, 'y', 7, 2, false, 0 },
	{ "avx2_ni_apart", AVX2, 8, 'y', 7, 2, false, 10 }, /* 5 to 19 tests are as fast; woven: 29,000 cycles on Emerald Rapids */
	{ "avx512vl_ni", AVX512VL, 8, 'y', 16, 4, false, 0 },
	{ "avx512vl_rnds", AVX512VL, 8, 'y', 16, 4, true, 0 },
};
static const struct target scalar_targets[] = {
	{ "avx2", AVX2, 8, 'y', 0, 2, false, 0 },
	{ "avx512vl", AVX512VL, 8, 'y', 0, 4, false, 0 },
};

static const struct target scalar_words_targets[] = {
	{ "avx2_words", AVX2, 8, 'y', 0, 2, true, 0 },
	{ "avx512vl_words", AVX512VL, 8, 'y', 16, 4, true, 0 },
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

/* Constants: vectors of 32-bit words, each kept once, printed after the code. */
static uint32_t pool[1024][8];
static int pool_lanes, npool;

static int constant(const struct target *target, const uint32_t *words)
{
	pool_lanes = target->lanes;
	for (int k = 0; k < npool; k++)
		if (!memcmp(pool[k], words, 4 * pool_lanes))
			return 4 * pool_lanes * k;
	memcpy(pool[npool], words, 4 * pool_lanes);
	return 4 * pool_lanes * npool++;
}

static void print_constants(const struct target *target)
{
	printf("\t.section .rodata\n\t.balign 64\n.Lconstants_%s:\n", target->kernel);
	for (int k = 0; k < npool; k++) {
		printf("\t.long ");
		for (int lane = 0; lane < pool_lanes; lane++)
			printf("0x%x%s", pool[k][lane], lane < pool_lanes - 1 ? "," : "\n");
	}
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
	int bits_at = constant(target, bits);

	if (evex(target)) {
		uint32_t keep[8];
		int k = 1 + nth % 6;

		for (int lane = 0; lane < target->lanes; lane++)
			keep[lane] = ~vectors[lane];
		emit(code, "%s .Lconstants_%s+%d(%%rip), %s, %%k%d", differ ? "vptestnmd" : "vptestmd", target->kernel, bits_at,
		     reg(target, x), k);
		emit(code, "vpandd .Lconstants_%s+%d(%%rip), %s, %s{%%k%d}", target->kernel, constant(target, keep),
		     reg(target, accumulator), reg(target, accumulator), k);
		return;
	}

	/* vpsignd keeps a word whose controlling word is positive, clears it where that is zero */
	int violated = 13, ruled_out = 14 + nth % 2;
	int vectors_at = constant(target, vectors);

	if (target->isa == AVX2) {
		emit(code, "%s .Lconstants_%s+%d(%%rip), %s, %s", differ ? "vpandn" : "vpand", target->kernel, bits_at, reg(target, x),
		     reg(target, violated));
		emit(code, "vmovdqa .Lconstants_%s+%d(%%rip), %s", target->kernel, vectors_at, reg(target, ruled_out));
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
 * W[32..79] of a block lie in memory at %rcx in falling order, as SHA-NI's schedule leaves them (W[t] at 4 * (79 - t)), so that a
 * vector of consecutive words can be loaded at any t. A family of conditions has the same j - i, the same distance between the
 * two bits and the same constant.
 */
#define WORDS_SIZE 192 /* W[32..79] */

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
		int x = target->first + target->accumulators + nth_window++ % (evex(target) ? 5 : 4);
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
 * The four words of GROUP, the first in the highest word of their register: xmm3 to xmm6 in turn, or xmm3 to xmm10.
 * Golden Cove and its successors run sha1msg2 from microcode, at one in 4 cycles and with nothing else decoded meanwhile: plain vectors do
 * the same in more instructions and less time. From W[32] on W[t] = W[t - 6] ^ W[t - 16] ^ W[t - 28] ^ W[t - 32], rotated by 2
 * (M. Locktyukhin's form), four words at a time; before, the fourth word needs the first one.
 */
static int words_register(const struct target *target, int group)
{
	return 3 + group % (target->rounds_only ? 8 : 4);
}

/* xmmX = xmmX rotated left, by way of xmm12 */
static void rotate_words(struct code *code, const struct target *target, int x, int left)
{
	if (evex(target)) {
		emit(code, "vprold $%d, %%xmm%d, %%xmm%d", left, x, x);
		return;
	}
	emit(code, "vpsrld $%d, %%xmm%d, %%xmm12", 32 - left, x);
	emit(code, "vpslld $%d, %%xmm%d, %%xmm%d", left, x, x);
	emit(code, "vpor %%xmm12, %%xmm%d, %%xmm%d", x, x);
}

/* xmmX ^= xmmA ^ xmmB */
static void xor_words(struct code *code, const struct target *target, int a, int b, int x)
{
	if (evex(target)) {
		emit(code, "vpternlogd $0x96, %%xmm%d, %%xmm%d, %%xmm%d", a, b, x);
		return;
	}
	emit(code, "vpxor %%xmm%d, %%xmm%d, %%xmm%d", a, x, x);
	emit(code, "vpxor %%xmm%d, %%xmm%d, %%xmm%d", b, x, x);
}

static void schedule_group(struct code *code, const struct target *target, int group)
{
	int w = words_register(target, group), w1 = words_register(target, group - 1), w2 = words_register(target, group - 2),
	    w3 = words_register(target, group - 3), w4 = words_register(target, group - 4);

	if (!target->rounds_only) {
		emit(code, "sha1msg1 %%xmm%d, %%xmm%d", w3, w);
		emit(code, target->isa == SSE ? "pxor %%xmm%d, %%xmm%d" : "vpxor %%xmm%d, %%xmm%d, %%xmm%d", w2, w, w);
		emit(code, "sha1msg2 %%xmm%d, %%xmm%d", w1, w);
	} else if (group < 8) {
		emit(code, "vpalignr $8, %%xmm%d, %%xmm%d, %%xmm%d", w3, w4, w);          /* W[t - 14] */
		emit(code, "vpslldq $4, %%xmm%d, %%xmm11", w1);                           /* W[t - 3] of the first three */
		xor_words(code, target, w2, w4, w);                                       /* W[t - 8], W[t - 16] */
		emit(code, "vpxor %%xmm11, %%xmm%d, %%xmm%d", w, w);
		rotate_words(code, target, w, 1);
		emit(code, "vpsrldq $12, %%xmm%d, %%xmm11", w);
		rotate_words(code, target, 11, 1);
		emit(code, "vpxor %%xmm11, %%xmm%d, %%xmm%d", w, w);
	} else { /* w is W[t - 32] */
		emit(code, "vpalignr $8, %%xmm%d, %%xmm%d, %%xmm11", w1, w2);             /* W[t - 6] */
		emit(code, "vpxor %%xmm%d, %%xmm%d, %%xmm%d", words_register(target, group - 7), w, w);
		xor_words(code, target, 11, w4, w);
		rotate_words(code, target, w, 2);
	}
}

/*
 * The compression of the block at (%rsi) in the row at (%rdi), from xmm0 (a to d, a in the highest word) and xmm1 (e, highest word; during
 * the steps the a of four steps before, which sha1nexte rotates) to the same registers. Leaves W[32..79] at (%rcx).
 * xmm2 takes turns with xmm1; from xmm3 on: four words of the schedule each; xmm11: help.
 * Golden Cove does four steps in 4 cycles, so that sha1nexte's 3 cycles are in the way of the next but one sha1rnds4 as soon as it has to
 * wait for a port: rotating the highest word alone (k7) ahead and adding takes 2.
 */
static void sha_ni_block(struct code *code, const struct target *target)
{
	bool vex = target->isa != SSE;
	int e = 1, other = 2;
	char from[32], to[32];

	snprintf(to, sizeof(to), "%d(%%rdi)", ROW_IHV);
	move(code, vex, "%xmm0", to);
	snprintf(to, sizeof(to), "%d(%%rdi)", ROW_IHV + 16);
	move(code, vex, "%xmm1", to);
	for (int k = 0; k < 4; k++) {
		if (vex) {
			emit(code, "vmovdqu %d(%%rsi), %%xmm%d", 16 * k, 3 + k);
			emit(code, "vpshufb .Lreverse(%%rip), %%xmm%d, %%xmm%d", 3 + k, 3 + k);
		} else {
			emit(code, "movdqu %d(%%rsi), %%xmm%d", 16 * k, 3 + k);
			emit(code, "pshufb .Lreverse(%%rip), %%xmm%d", 3 + k);
		}
	}
	for (int group = 0; group < 20; group++) { /* of four steps */
		int words = words_register(target, group);

		if (group == 14 || group == 16) {
			int at = group == 14 ? ROW_STEP56 : ROW_STEP64;

			snprintf(to, sizeof(to), "%d(%%rdi)", at);
			move(code, vex, "%xmm0", to);
			snprintf(from, sizeof(from), "%%xmm%d", e);
			snprintf(to, sizeof(to), "%d(%%rdi)", at + 16);
			if (!target->rounds_only)
				move(code, vex, from, to);
		}
		if (target->rounds_only && (group == 13 || group == 15)) {
			snprintf(to, sizeof(to), "%d(%%rdi)", (group == 13 ? ROW_STEP56 : ROW_STEP64) + 16);
			move(code, vex, "%xmm0", to);
		}
		if (group >= 4)
			schedule_group(code, target, group);
		if (group >= 8) {
			snprintf(from, sizeof(from), "%%xmm%d", words);
			snprintf(to, sizeof(to), "%d(%%rcx)", word_at(4 * group + 3));
			move(code, vex, from, to);
		}
		if (group >= 12 && group < 16) {
			snprintf(to, sizeof(to), "%d(%%rdi)", ROW_WORDS + 16 * (15 - group));
			move(code, vex, from, to);
		}
		if (group && !target->rounds_only)
			emit(code, "sha1nexte %%xmm%d, %%xmm%d", words, e);
		else if (vex)
			emit(code, "vpaddd %%xmm%d, %%xmm%d, %%xmm%d", words, e, e);
		else
			emit(code, "paddd %%xmm%d, %%xmm%d", words, e);
		snprintf(to, sizeof(to), "%%xmm%d", other);
		if (target->rounds_only)
			emit(code, "vprold $30, %%xmm0, %s{%%k7}{z}", to);
		else
			move(code, vex, "%xmm0", to);
		emit(code, "sha1rnds4 $%d, %%xmm%d, %%xmm0", group / 5, e);
		int swap = e;
		e = other;
		other = swap;
	}
	emit(code, target->rounds_only ? "vpaddd %d(%%rdi), %%xmm1, %%xmm1" : "sha1nexte %d(%%rdi), %%xmm1", ROW_IHV + 16);
	emit(code, vex ? "vpaddd %d(%%rdi), %%xmm0, %%xmm0" : "paddd %d(%%rdi), %%xmm0", ROW_IHV);
	emit(code, "prefetcht0 1024(%%rsi)"); /* a file just mapped comes from memory */
	emit(code, "add $64, %%rsi");
	emit(code, "add $%d, %%rdi", ROW_SIZE);
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
	const char *move_name = vex ? "vmovdqa" : "movdqa";
	/* the filter reads the previous block's words: in the loop the chain stores to the other buffer */
	int other = 256;

	sha_ni_block(&sha, target);
	conditions_across_words(&filter, target, false, "r9d");
	conditions_across_words(&last_filter, target, true, "r9d");
	print_head(target);
	if (vex) /* where the caller left the upper halves in use, SHA-NI instructions among those below cost Intel hundreds of cycles each */
		printf("\tvzeroupper\n");
	printf("\tmov %%rsp, %%r10\n\tsub $%d, %%rsp\n\tand $-%d, %%rsp\n", 2 * other, 2 * other);
	if (target->rounds_only)
		printf("\tmov $8, %%ecx\n\tkmovd %%ecx, %%k7\n");
	printf("\tmov %%rsp, %%rcx\n\txor %%eax, %%eax\n\tmov %%rdx, %%r8\n");
	printf("\t%s %d(%%rdi), %%xmm0\n\t%s %d(%%rdi), %%xmm1\n", move_name, ROW_IHV, move_name, ROW_IHV + 16);
	print(&sha);
	printf("\tdec %%rdx\n\tjz 2f\n\t.balign 32\n1:\n");
	/* rcx: what the filter reads; the chain writes to rcx ^ 256 = r11 */
	struct code chain = { 0 };
	for (int k = 0; k < sha.n; k++) {
		char line[128], *at;

		snprintf(line, sizeof(line), "%s", sha.line[k]);
		at = strstr(line, "(%rcx)");
		if (at)
			memcpy(at, "(%r11)", 6);
		emit(&chain, "%s", line);
	}
	printf("\tmov %%rcx, %%r11\n\txor $%d, %%r11\n", other);
	print_woven(&chain, &filter);
	/* the chain has advanced rdi: the filtered block's row is two back */
	printf("\tmov %%r9d, %d(%%rdi)\n\tneg %%r9d\n\trcr $1, %%rax\n\tmov %%r11, %%rcx\n\tdec %%rdx\n\tjnz 1b\n2:\n",
	       ROW_MASK - 2 * ROW_SIZE);
	printf("\t%s %%xmm0, %d(%%rdi)\n\t%s %%xmm1, %d(%%rdi)\n", move_name, ROW_IHV, move_name, ROW_IHV + 16);
	print(&last_filter);
	printf("\tmov %%r9d, %d(%%rdi)\n\tneg %%r9d\n\trcr $1, %%rax\n", ROW_MASK - ROW_SIZE);
	printf("\tmov $64, %%ecx\n\tsub %%r8d, %%ecx\n\tshr %%cl, %%rax\n\tmov %%r10, %%rsp\n");
	if (target->isa == AVX2)
		printf("\tvzeroupper\n");
	printf("\tret\n\t.size sha1dc_%s, .-sha1dc_%s\n", target->kernel, target->kernel);
	print_constants(target);
}

/* ---- Without SHA-NI ------------------------------------------------------------------------------------------------ */

/*
 * At %rcx, as rows of 8 words, block k's at 4 * k: W[t] and its step's constant added up, in row t; the vectors that survive; W[t] alone.
 */
#define STRIDE 32
#define MASK_AT (80 * STRIDE)

static int raw_at(int t)
{
	return (81 + t) * STRIDE;
}

/* Stores W[t], a register. Those with enough registers need it alone only for survivors. */
static void store_word(struct code *code, const struct target *target, int t, int w)
{
	int sum = evex(target) ? 6 : 7;

	if (!evex(target) || (t >= 48 && t < 64))
		emit(code, "%s %%ymm%d, %d(%%rcx)", evex(target) ? "vmovdqa32" : "vmovdqa", w, raw_at(t));
	emit(code, "vpaddd .Lk+%d(%%rip), %%ymm%d, %%ymm%d", 32 * (t / 20), w, sum);
	emit(code, "vmovdqa %%ymm%d, %d(%%rcx)", sum, STRIDE * t);
}

static void transpose(struct code *code, const struct target *target)
{
	for (int half = 0; half < 2; half++) {
		for (int block = 0; block < 8; block++) {
			emit(code, "vmovdqu %d(%%rsi), %%ymm%d", 64 * block + 32 * half, block);
			emit(code, "vpshufb .Lswap(%%rip), %%ymm%d, %%ymm%d", block, block);
		}
		for (int k = 0; k < 8; k += 2) { /* pairs of blocks, words 0 1 4 5 and 2 3 6 7 */
			emit(code, "vpunpckldq %%ymm%d, %%ymm%d, %%ymm%d", k + 1, k, 8 + k);
			emit(code, "vpunpckhdq %%ymm%d, %%ymm%d, %%ymm%d", k + 1, k, 9 + k);
		}
		for (int k = 0; k < 8; k += 4) { /* four blocks, words k and k + 4 */
			emit(code, "vpunpcklqdq %%ymm%d, %%ymm%d, %%ymm%d", 10 + k, 8 + k, k);
			emit(code, "vpunpckhqdq %%ymm%d, %%ymm%d, %%ymm%d", 10 + k, 8 + k, k + 1);
			emit(code, "vpunpcklqdq %%ymm%d, %%ymm%d, %%ymm%d", 11 + k, 9 + k, k + 2);
			emit(code, "vpunpckhqdq %%ymm%d, %%ymm%d, %%ymm%d", 11 + k, 9 + k, k + 3);
		}
		for (int k = 0; k < 4; k++) {
			emit(code, "vperm2i128 $0x20, %%ymm%d, %%ymm%d, %%ymm%d", k + 4, k, 8 + k);
			emit(code, "vperm2i128 $0x31, %%ymm%d, %%ymm%d, %%ymm%d", k + 4, k, 12 + k);
		}
		for (int k = 0; k < 8; k++) {
			store_word(code, target, 8 * half + k, 8 + k);
			if (evex(target)) /* the last 16 words stay in ymm16 to ymm31 */
				emit(code, "vmovdqa32 %%ymm%d, %%ymm%d", 8 + k, 16 + 8 * half + k);
		}
	}
}

/* W[t] of eight blocks. Without enough registers all of them are taken from memory. */
static void schedule_word(struct code *code, const struct target *target, int t)
{
	if (evex(target)) {
		int w = 16 + t % 16; /* W[t - 16] so far */

		emit(code, "vpxord %%ymm%d, %%ymm%d, %%ymm%d", 16 + (t - 14) % 16, w, w);
		emit(code, "vpternlogd $0x96, %%ymm%d, %%ymm%d, %%ymm%d", 16 + (t - 8) % 16, 16 + (t - 3) % 16, w);
		emit(code, "vprold $1, %%ymm%d, %%ymm%d", w, w);
		store_word(code, target, t, w);
		return;
	}
	emit(code, "vmovdqa %d(%%rcx), %%ymm6", raw_at(t - 16));
	emit(code, "vpxor %d(%%rcx), %%ymm6, %%ymm6", raw_at(t - 14));
	emit(code, "vpxor %d(%%rcx), %%ymm6, %%ymm6", raw_at(t - 8));
	emit(code, "vpxor %%ymm%d, %%ymm6, %%ymm6", 8 + t % 3); /* the last three words are in ymm8 to ymm10 */
	emit(code, "vpsrld $31, %%ymm6, %%ymm7");
	emit(code, "vpaddd %%ymm6, %%ymm6, %%ymm6");
	emit(code, "vpor %%ymm6, %%ymm7, %%ymm%d", 8 + t % 3);
	store_word(code, target, t, 8 + t % 3);
}

/* The conditions whose later word is W[t], each in all lanes. */
static void conditions_of_word(struct code *code, const struct target *target, int t, int *nth)
{
	bool done[MAX_CONDITIONS] = { false };

	for (int c = 0; c < nconditions; c++) {
		const struct condition *first = &conditions[c];
		int shift = first->bit_i - first->bit_j, x = 4 + *nth % 2;

		if (first->j != t || done[c])
			continue;
		if (evex(target)) {
			emit(code, "vprold $%d, %%ymm%d, %%ymm%d", shift & 31, 16 + t % 16, x);
			emit(code, "vpxord %%ymm%d, %%ymm%d, %%ymm%d", 16 + first->i % 16, x, x);
		} else if (shift) {
			emit(code, "%s $%d, %%ymm%d, %%ymm%d", shift > 0 ? "vpslld" : "vpsrld", abs(shift), 8 + t % 3, x);
			emit(code, "vpxor %d(%%rcx), %%ymm%d, %%ymm%d", raw_at(first->i), x, x);
		} else {
			emit(code, "vpxor %d(%%rcx), %%ymm%d, %%ymm%d", raw_at(first->i), 8 + t % 3, x);
		}
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

	transpose(code, target);
	clear_accumulators(code, target);
	if (!evex(target))
		for (int t = 13; t < 16; t++)
			emit(code, "vmovdqa %d(%%rcx), %%ymm%d", raw_at(t), 8 + t % 3);
	for (int t = 16; t < 80; t++) {
		schedule_word(code, target, t);
		conditions_of_word(code, target, t, &nth);
	}
	join_accumulators(code, target);
	if (!evex(target)) {
		emit(code, "vpcmpeqd %%ymm1, %%ymm1, %%ymm1");
		emit(code, "vpxor %%ymm1, %%ymm0, %%ymm0");
	}
	emit(code, "vmovdqa %%ymm0, %d(%%rcx)", MASK_AT);
	if (nth != nconditions)
		die("conditions left over");
}

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
 * uint64_t sha1dc_<isa>_words(struct sha1dc_row *rows, const void *blocks, size_t n)
 * For few blocks: one after another, each with its schedule and conditions across words woven into the steps.
 * rdi: the row, rsi: the block, rdx: blocks left, rcx: the words W[79] down to W[0], then their sums with the steps' constants,
 * r8 to r12: a to e, rax and rbx: help, rbp: the frame, r13: the result, filled from the top, r14: survivors.
 */
static void scalar_words_kernel(const struct target *target)
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
			if (group >= 8)
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
 * uint64_t sha1dc_<isa>(struct sha1dc_row *rows, const void *blocks, size_t n), n a multiple of 8
 * For many blocks: eight at a time, first the words and conditions of all of them, then their steps, shared by both kernels.
 * rdi: the row, rsi: the blocks, rdx: blocks left, rcx: the eight blocks' words, r8 to r12: a to e, rax and rbx: help, rbp: the frame,
 * r13: the result, filled from the top, r14: how many of the eight are left.
 */
static void scalar_kernel(const struct target *target)
{
	struct code words = { 0 };

	conditions_across_blocks(&words, target);
	print_head(target);
	scalar_enter((81 + 80) * STRIDE);
	printf("1:\n");
	print(&words);
	printf("\tvzeroupper\n\tcall .Lsteps\n\tadd $512, %%rsi\n\tsub $8, %%rdx\n\tjnz 1b\n");
	scalar_leave(target);
	print_constants(target);
}

static void scalar_steps(void)
{
	struct code steps = { 0 };

	for (int t = 0; t < 80; t++)
		scalar_step(&steps, t, STRIDE * t);
	scalar_add(&steps);
	emit(&steps, "mov %d(%%rcx), %%eax", MASK_AT);
	emit(&steps, "mov %%eax, %d(%%rdi)", ROW_MASK);
	emit(&steps, "neg %%eax");
	emit(&steps, "rcr $1, %%r13");
	emit(&steps, "test %%eax, %%eax");
	emit(&steps, "jz 2f");
	for (int t = 63; t >= 48; t--) {
		emit(&steps, "mov %d(%%rcx), %%eax", raw_at(t));
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
	for (size_t k = 0; k < sizeof(scalar_targets) / sizeof(*scalar_targets); k++)
		scalar_kernel(&scalar_targets[k]);
	scalar_steps();
	for (size_t k = 0; k < sizeof(scalar_words_targets) / sizeof(*scalar_words_targets); k++)
		scalar_words_kernel(&scalar_words_targets[k]);
	puts("\t.section .rodata\n\t.balign 32\n"
	     ".Lreverse:\n\t.byte 15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0\n\t.balign 32\n"
	     ".Lk:\n\t.fill 8, 4, 0x5a827999\n\t.fill 8, 4, 0x6ed9eba1\n\t.fill 8, 4, 0x8f1bbcdc\n\t.fill 8, 4, 0xca62c1d6\n"
	     ".Lswap:\n\t.byte 3,2,1,0,7,6,5,4,11,10,9,8,15,14,13,12\n\t.byte 3,2,1,0,7,6,5,4,11,10,9,8,15,14,13,12\n"
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
