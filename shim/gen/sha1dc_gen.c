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
 * A kernel computes both for a run of blocks and reports the vectors that are left. Conditions come into vector lanes in three ways:
 *
 *   across words    One block at a time. Conditions come in families that only differ in i, so a lane takes one i. With SHA-NI
 *                   the conditions of a block are woven between the instructions of the next block's chain, without into the
 *                   block's own 80 steps in scalar instructions, with the schedule.
 *   in pairs        The same for two blocks at a time, four words of each in a vector, and the schedule W[16..79] in the same vectors: less
 *                   work for a block, where the chain leaves little room for it (Golden Cove) and the schedule is vectors' work anyway.
 *                   The conditions of two blocks and the schedule of the next two are woven into the chains of the first.
 *   across blocks   A lane takes one of 8 blocks, and the schedule is computed in the lanes as well: the fewest instructions for a block,
 *                   for as many blocks. Without SHA-NI.
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

static int count_parts(const struct code *code)
{
	int parts = 0;

	for (int k = 0; k < code->n; k++)
		parts += !*code->line[k];
	return parts;
}

/* Prints CHAIN with FILL spread evenly over it; where empty lines divide FILL, its parts each in one piece. */
static void print_woven(const struct code *chain, const struct code *fill)
{
	int done = 0, parts = count_parts(fill), part = 0;

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

/* The instructions of A and B, or where empty lines divide them their parts, mixed evenly. */
static struct code mixed(const struct code *a, const struct code *b)
{
	const struct code *from[2] = { a, b };
	bool parts = count_parts(a);
	int units[2] = { parts ? count_parts(a) : a->n, parts ? count_parts(b) : b->n }, done[2] = { 0 }, at[2] = { 0 };
	struct code all = { 0 };

	while (done[0] < units[0] || done[1] < units[1]) {
		int k = (2 * done[0] + 1) * units[1] > (2 * done[1] + 1) * units[0];

		do
			emit(&all, "%s", from[k]->line[at[k]]);
		while (*from[k]->line[at[k]++] && parts);
		done[k]++;
	}
	return all;
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
	bool sha1msg;       /* the schedule by SHA-NI's instructions, too */
	bool one;           /* a single block */
	bool pairs;         /* vectors of four words of one block and four of another */
	int apart;          /* tests in a part that leaves the registers' upper halves clean; 0: undivided */
};

/* No 512-bit vectors: beside the chain they are no faster than 256-bit ones, and some processors lower their clock for them. */
static const struct target sha_ni_targets[] = {
	{ "sse_ni", SSE, 4, 'x', .first = 7, .accumulators = 1, .sha1msg = true },
	{ "avx2_ni", AVX2, 8, 'y', .first = 7, .accumulators = 2, .sha1msg = true },
	{ "avx512vl_ni", AVX512VL, 8, 'y', .first = 16, .accumulators = 4, .sha1msg = true },
	{ "avx512vl_ni_one", AVX512VL, 8, 'y', .first = 16, .accumulators = 4, .one = true },
};
static const struct target pair_targets[] = {
	/* Emerald Rapids: undivided 29,000 cycles a block, in parts of 5 to 18 tests 116 to 119, of 27 tests 123 */
	{ "avx2_ni_pairs", AVX2, 8, 'y', .first = 7, .accumulators = 1, .pairs = true, .apart = 14 },
	{ "avx512vl_ni_pairs", AVX512VL, 8, 'y', .first = 26, .accumulators = 1, .pairs = true },
};
static const struct target scalar_targets[] = {
	{ "avx2", AVX2, 8, 'y', .first = 0, .accumulators = 2 },
	{ "avx512vl", AVX512VL, 8, 'y', .first = 16, .accumulators = 4 },
};
static const struct target scalar_many_targets[] = {
	{ "avx2_many", AVX2, 8, 'y', .first = 0, .accumulators = 2 },
	{ "avx512vl_many", AVX512VL, 8, 'y', .first = 20, .accumulators = 4 },
};

static bool evex(const struct target *target)
{
	return target->isa == AVX512VL;
}

static const char *move_name(const struct target *target)
{
	return evex(target) ? "vmovdqa32" : "vmovdqa";
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
 * vector of consecutive words can be loaded at any t. A family of conditions has the same j - i and the same distance between the two bits.
 */
#define WORDS_SIZE 320

static int word_at(int t)
{
	return 4 * (79 - t);
}

static bool same_family(const struct condition *a, const struct condition *b)
{
	return a->j - a->i == b->j - b->i && a->bit_i - a->bit_j == b->bit_i - b->bit_j;
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

/*
 * The words of two blocks in pairs, 4 * GROUP to 4 * GROUP + 3, the first in the highest word of either half.
 * Vectors that do not start with a group are put together once and kept behind.
 */
#define PAIR_MASKS (20 * 32) /* then the vectors that survive, in every word of either half */
#define PAIR_SIZE (22 * 32)
#define SHIFTED_AT (2 * PAIR_SIZE) /* from %r10 on, before them two sets of words and masks */

static int shifted_at[80], nshifted; /* by the latest word */

static int pair_at(int group)
{
	return 32 * group;
}

/* window(), but as an operand in memory where it is there. */
static const char *pair_window(struct code *code, const struct target *target, int last, int scratch)
{
	static char places[2][24];
	static int next;
	char *place = places[next++ % 2];
	int group = last / 4, rest = 3 - last % 4;
	const char *r = reg(target, scratch);

	if (shifted_at[last]) {
		snprintf(place, sizeof(places[0]), "%d(%%r10)", shifted_at[last]);
		return place;
	}
	snprintf(place, sizeof(places[0]), "%d(%%rcx)", pair_at(group));
	if (!rest)
		return place;
	emit(code, "%s %d(%%rcx), %s", move_name(target), pair_at(group - 1), r);
	emit(code, "vpalignr $%d, %s, %s, %s", 4 * rest, place, r, r);
	shifted_at[last] = SHIFTED_AT + 32 * nshifted++;
	emit(code, "%s %s, %d(%%r10)", move_name(target), r, shifted_at[last]);
	return r;
}

/* combine(), from FIRST up to three more. */
static void pair_combine(struct code *code, const struct target *target, int x, int first, int distance, int shift)
{
	const char *r = reg(target, x), *later = pair_window(code, target, first + 3 + distance, x);

	if (evex(target) && shift) {
		emit(code, "vprold $%d, %s, %s", shift & 31, later, r);
	} else {
		if (*later != '%')
			emit(code, "%s %s, %s", move_name(target), later, r);
		if (shift)
			emit(code, "%s $%d, %s, %s", shift > 0 ? "vpslld" : "vpsrld", abs(shift), r, r);
	}
	emit(code, "%s %s, %s, %s", evex(target) ? "vpxord" : "vpxor", pair_window(code, target, first + 3, evex(target) ? 31 : 6), r, r);
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

/* The same of two blocks, to memory. */
static void gather_pair(struct code *code, const struct target *target)
{
	int a = target->first, tmp = target->first + 1;
	const char *op = evex(target) ? "vpandd" : "vpor";

	join_accumulators(code, target);
	emit(code, "vpshufd $0x4e, %%ymm%d, %%ymm%d", a, tmp);
	emit(code, "%s %%ymm%d, %%ymm%d, %%ymm%d", op, tmp, a, a);
	emit(code, "vpshufd $0xb1, %%ymm%d, %%ymm%d", a, tmp);
	emit(code, "%s %%ymm%d, %%ymm%d, %%ymm%d", op, tmp, a, a);
	emit(code, "%s %%ymm%d, %d(%%rcx)", move_name(target), a, PAIR_MASKS);
}

/* Ends a part: only between parts may SHA-NI's instructions come, which have no VEX form. */
static void end_part(struct code *code, const struct target *target)
{
	if (target->apart) {
		emit(code, "vzeroupper");
		emit(code, "");
	}
}

/* With the words in pairs MASK is not used: the masks go to memory. */
static void conditions_across_words(struct code *code, const struct target *target, bool recent, const char *mask)
{
	bool done[MAX_CONDITIONS] = { false };
	int nth_window = 0, nth_test = 0, part_ends = target->apart, span = target->pairs ? 4 : target->lanes;

	if (recent)
		load_recent_words(code, target);
	memset(shifted_at, 0, sizeof(shifted_at));
	nshifted = 0;
	clear_accumulators(code, target);
	for (int c = 0; c < nconditions; c++) {
		if (done[c])
			continue;

		/* The rows are in order of i: a window of words that starts at this condition covers the most of its family. */
		int distance = conditions[c].j - conditions[c].i, shift = conditions[c].bit_i - conditions[c].bit_j;
		int first = conditions[c].i, highest = 79 - distance - (span - 1);
		int x = target->first + target->accumulators + nth_window++ % (evex(target) && !target->pairs ? 5 : 3);
		bool more;

		if (first > highest)
			first = highest;
		if (target->pairs)
			pair_combine(code, target, x, first, distance, shift);
		else
			combine(code, target, x, first, distance, shift, recent);
		do { /* a test takes at most one condition a lane, all with the same constant */
			uint32_t bits[8] = { 0 }, vectors[8] = { 0 };
			int differ = -1;

			more = false;
			for (int k = c; k < nconditions; k++) {
				int lane = first + span - 1 - conditions[k].i;

				if (done[k] || !same_family(&conditions[c], &conditions[k]) || lane < 0)
					continue;
				if (bits[lane] || differ == !conditions[k].xor) {
					more = true;
					continue;
				}
				differ = conditions[k].xor;
				for (; lane < target->lanes; lane += span) {
					bits[lane] = 1u << conditions[k].bit_i;
					vectors[lane] = conditions[k].vectors;
				}
				done[k] = true;
			}
			test(code, target, x, differ, bits, vectors, nth_test++);
		} while (more);
		if (target->apart && nth_test >= part_ends) {
			part_ends += target->apart;
			join_accumulators(code, target);
			emit(code, "vmovdqa %s, %d(%%rcx)", reg(target, target->first), PAIR_MASKS);
			end_part(code, target);
			clear_accumulators(code, target);
			emit(code, "vmovdqa %d(%%rcx), %s", PAIR_MASKS, reg(target, target->first));
		}
	}
	if (target->pairs)
		gather_pair(code, target);
	else
		gather_accumulators(code, target, mask);
	end_part(code, target);
}

/* ---- Conditions across blocks ----------------------------------------------------------------------------------- */

/*
 * Eight blocks from %rsi on: their words as rows, W[t] of block k in row t at 4 * k, in the kernel's frame at %rsp; the last four rows
 * are in registers, too. What the steps need, the words with the steps' constants added, goes to %rcx as rows again, and after it the
 * vectors that survive, block k's at 4 * k.
 */
#define ROW 32 /* bytes */
#define MASKS_AT (80 * ROW)
#define ROWS_AT (81 * ROW)
#define FRAME_SIZE (161 * ROW)

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

static void put_words(struct code *code, const struct target *target, int group)
{
	int to = help(target, 3);

	for (int t = 4 * group; t < 4 * group + 4; t++) {
		emit(code, "vpaddd .Lk+%d(%%rip), %%ymm%d, %%ymm%d", 32 * (t / 20), row(target, t), to);
		emit(code, "%s %%ymm%d, %d(%%rcx)", move_name(target), to, ROW * t);
	}
}

static void load_words(struct code *code, const struct target *target, int group)
{
	int a = help(target, 4), b = help(target, 5);

	for (int k = 0; k < 4; k++) {
		int to = help(target, k);

		emit(code, "%s %d(%%rsi), %%xmm%d", evex(target) ? "vmovdqu32" : "vmovdqu", 64 * k + 16 * group, to);
		emit(code, "%s $1, %d(%%rsi), %%ymm%d, %%ymm%d", evex(target) ? "vinserti32x4" : "vinserti128", 64 * (k + 4) + 16 * group,
		     to, to);
		emit(code, "vpshufb .Lreverse(%%rip), %%ymm%d, %%ymm%d", to, to);
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
	}
	join_accumulators(code, target);
	if (!evex(target)) {
		int ones = help(target, 0);

		emit(code, "vpcmpeqd %%ymm%d, %%ymm%d, %%ymm%d", ones, ones, ones);
		emit(code, "vpxor %%ymm%d, %s, %s", ones, reg(target, target->first), reg(target, target->first));
	}
	emit(code, "%s %s, %d(%%rcx)", move_name(target), reg(target, target->first), MASKS_AT);
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
 * The four words of GROUP, the first in the highest word of their register: four registers in turn, or with AVX-512 eight; or such words of
 * two blocks.
 * Golden Cove and its successors run sha1msg2 from microcode, at one in 4 cycles and with nothing else decoded meanwhile: plain vectors do
 * the same in more instructions and less time. From W[32] on W[t] = W[t - 6] ^ W[t - 16] ^ W[t - 28] ^ W[t - 32], rotated by 2
 * (M. Locktyukhin's form), four words at a time; before, the fourth word needs the first one. Without AVX-512's registers the earlier words
 * come from memory.
 */
static int words_register(const struct target *target, int group)
{
	int ring = evex(target) && !target->sha1msg ? 8 : 4;

	return (evex(target) && target->pairs ? 16 : 3) + group % ring;
}

static char words_vector(const struct target *target)
{
	return target->pairs ? 'y' : 'x';
}

/* Where the words of GROUP are stored, as an operand. */
static const char *group_place(const struct target *target, int group)
{
	static char places[4][24];
	static int next;
	char *place = places[next++ % 4];

	if (target->pairs)
		snprintf(place, sizeof(places[0]), "%d(%%r11)", pair_at(group));
	else
		snprintf(place, sizeof(places[0]), "%d(%%rcx)", word_at(4 * group + 3));
	return place;
}

/* X = X, a register of four or eight words, rotated left, by way of register 15. */
static void rotate_words(struct code *code, const struct target *target, int x, int left)
{
	char v = words_vector(target);

	if (evex(target)) {
		emit(code, "vprold $%d, %%%cmm%d, %%%cmm%d", left, v, x, v, x);
		return;
	}
	emit(code, "vpsrld $%d, %%%cmm%d, %%%cmm15", 32 - left, v, x, v);
	emit(code, "vpslld $%d, %%%cmm%d, %%%cmm%d", left, v, x, v, x);
	emit(code, "vpor %%%cmm15, %%%cmm%d, %%%cmm%d", v, v, x, v, x);
}

static void schedule_group(struct code *code, const struct target *target, int group)
{
	int w = words_register(target, group), w1 = words_register(target, group - 1), w2 = words_register(target, group - 2),
	    w3 = words_register(target, group - 3), w4 = words_register(target, group - 4), tmp = evex(target) && target->pairs ? 24 : 12;
	const char *xor = evex(target) ? "vpxord" : "vpxor";
	char v = words_vector(target);

	if (target->sha1msg) {
		emit(code, "sha1msg1 %%xmm%d, %%xmm%d", w3, w);
		emit(code, target->isa == SSE ? "pxor %%xmm%d, %%xmm%d" : "vpxor %%xmm%d, %%xmm%d, %%xmm%d", w2, w, w);
		emit(code, "sha1msg2 %%xmm%d, %%xmm%d", w1, w);
	} else if (group < 8) {
		emit(code, "vpalignr $8, %%%cmm%d, %%%cmm%d, %%%cmm%d", v, w3, v, w4, v, w); /* W[t - 14] */
		emit(code, "vpslldq $4, %%%cmm%d, %%%cmm%d", v, w1, v, tmp);                 /* W[t - 3] of the first three */
		if (evex(target)) {
			emit(code, "vpternlogd $0x96, %%%cmm%d, %%%cmm%d, %%%cmm%d", v, w2, v, w4, v, w);
		} else {
			emit(code, "vpxor %s, %%%cmm%d, %%%cmm%d", group_place(target, group - 4), v, w, v, w);
			emit(code, "vpxor %%%cmm%d, %%%cmm%d, %%%cmm%d", v, w2, v, w, v, w);
		}
		emit(code, "%s %%%cmm%d, %%%cmm%d, %%%cmm%d", xor, v, tmp, v, w, v, w);
		rotate_words(code, target, w, 1);
		emit(code, "vpsrldq $12, %%%cmm%d, %%%cmm%d", v, w, v, tmp);
		rotate_words(code, target, tmp, 1);
		emit(code, "%s %%%cmm%d, %%%cmm%d, %%%cmm%d", xor, v, tmp, v, w, v, w);
	} else {
		emit(code, "vpalignr $8, %%%cmm%d, %%%cmm%d, %%%cmm%d", v, w1, v, w2, v, tmp); /* W[t - 6] */
		if (evex(target)) { /* w is W[t - 32] */
			emit(code, "vpxord %%%cmm%d, %%%cmm%d, %%%cmm%d", v, words_register(target, group - 7), v, w, v, w);
			emit(code, "vpternlogd $0x96, %%%cmm%d, %%%cmm%d, %%%cmm%d", v, tmp, v, w4, v, w);
		} else {
			emit(code, "vmovdqa %s, %%%cmm%d", group_place(target, group - 8), v, w);
			emit(code, "vpxor %s, %%%cmm%d, %%%cmm%d", group_place(target, group - 7), v, w, v, w);
			emit(code, "vpxor %s, %%%cmm%d, %%%cmm%d", group_place(target, group - 4), v, w, v, w);
			emit(code, "vpxor %%%cmm%d, %%%cmm%d, %%%cmm%d", v, tmp, v, w, v, w);
		}
		rotate_words(code, target, w, 2);
	}
}

/* All words of the blocks at %rsi and %r9, to %r11. DIVIDED: in parts. */
static void schedule_pair(struct code *code, const struct target *target, bool divided)
{
	for (int group = 0; group < 20; group++) {
		int w = words_register(target, group);

		if (group < 4) {
			emit(code, "%s %d(%%rsi), %%xmm%d", evex(target) ? "vmovdqu32" : "vmovdqu", 16 * group, w);
			emit(code, "%s $1, %d(%%r9), %%ymm%d, %%ymm%d", evex(target) ? "vinserti32x4" : "vinserti128", 16 * group, w, w);
			emit(code, "vpshufb .Lreverse(%%rip), %%ymm%d, %%ymm%d", w, w);
		} else {
			schedule_group(code, target, group);
		}
		emit(code, "%s %%ymm%d, %s", move_name(target), w, group_place(target, group));
		if (divided && target->apart && group % 4 == 3 && group > 3 && group < 19) {
			end_part(code, target);
			for (int k = group - 3; k <= group; k++)
				emit(code, "vmovdqa %s, %%ymm%d", group_place(target, k), words_register(target, k));
		}
	}
	end_part(code, target);
}

/* From this group on words go to (%rcx). */
static int first_stored(const struct target *target)
{
	return target->sha1msg || evex(target) ? 8 : 0;
}

/*
 * The compression of the block at (%rsi) in the row at (%rdi), from xmm0 (a to d, a in the highest word) and xmm1 (e, highest word; during
 * the steps the a of four steps before, which sha1nexte rotates) to the same registers. Leaves the words, W[32..79] at least, at (%rcx).
 * xmm2 takes turns with xmm1; from xmm3 on: four words of the schedule each; xmm11: help.
 * Golden Cove does four steps in 4 cycles, so that sha1nexte's 3 cycles are in the way of the next but one sha1rnds4 as soon as it has to
 * wait for a port: rotating the highest word alone (k7) ahead and adding takes 2.
 * NTH, 0 or 1: that one of a pair whose words are at (%rcx) already; ALONE: none.
 */
#define ALONE -1

static void sha_ni_block(struct code *code, const struct target *target, int nth)
{
	bool vex = target->isa != SSE, own_e = evex(target) && !target->sha1msg; /* without sha1nexte */
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
			snprintf(words, sizeof(words), "%d(%%rcx)", pair_at(group) + 16 * nth);
		if (group == 14 || group == 16) {
			int at = group == 14 ? ROW_STEP56 : ROW_STEP64;

			snprintf(to, sizeof(to), "%d(%%rdi)", at);
			move(code, vex, "%xmm0", to);
			snprintf(from, sizeof(from), "%%xmm%d", e);
			snprintf(to, sizeof(to), "%d(%%rdi)", at + 16);
			if (!own_e)
				move(code, vex, from, to);
		}
		if (own_e && (group == 13 || group == 15)) {
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
		if (group && !own_e)
			emit(code, "sha1nexte %s, %%xmm%d", words, e);
		else if (vex)
			emit(code, "vpaddd %s, %%xmm%d, %%xmm%d", words, e, e);
		else
			emit(code, "paddd %s, %%xmm%d", words, e);
		snprintf(to, sizeof(to), "%%xmm%d", other);
		if (own_e)
			emit(code, "vprold $30, %%xmm0, %s{%%k7}{z}", to);
		else
			move(code, vex, "%xmm0", to);
		emit(code, "sha1rnds4 $%d, %%xmm%d, %%xmm0", group / 5, e);
		int swap = e;
		e = other;
		other = swap;
	}
	emit(code, own_e ? "vpaddd %d(%%rdi), %%xmm1, %%xmm1" : "sha1nexte %d(%%rdi), %%xmm1", ROW_IHV + 16);
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
	if (evex(target) && !target->sha1msg)
		printf("\tmov $8, %%ecx\n\tkmovd %%ecx, %%k7\n");
	printf("\tmov %%rsp, %%rcx\n\txor %%eax, %%eax\n\tmov %%rdx, %%r8\n");
	printf("\t%s %d(%%rdi), %%xmm0\n\t%s %d(%%rdi), %%xmm1\n", name, ROW_IHV, name, ROW_IHV + 16);
	print(&sha);
	if (!target->one) {
		/* rcx: what the filter reads; the chain writes to rcx ^ 512 = r11 */
		struct code chain = rebased(&sha, "(%rcx)", "(%r11)");

		printf("\tdec %%rdx\n\tjz 2f\n\t.balign 32\n1:\n\tmov %%rcx, %%r11\n\txor $%d, %%r11\n", other);
		print_woven(&chain, &filter);
		/* the chain has advanced rdi: the filtered block's row is two back */
		printf("\tmov %%r9d, %d(%%rdi)\n\tneg %%r9d\n\trcr $1, %%rax\n\tmov %%r11, %%rcx\n\tdec %%rdx\n\tjnz 1b\n2:\n",
		       ROW_MASK - 2 * ROW_SIZE);
	}
	printf("\t%s %%xmm0, %d(%%rdi)\n\t%s %%xmm1, %d(%%rdi)\n", name, ROW_IHV, name, ROW_IHV + 16);
	print(&last_filter);
	printf("\tmov %%r9d, %d(%%rdi)\n\tneg %%r9d\n\trcr $1, %%rax\n", ROW_MASK - ROW_SIZE);
	printf("\tmov $64, %%ecx\n\tsub %%r8d, %%ecx\n\tshr %%cl, %%rax\n\tmov %%r10, %%rsp\n");
	if (target->isa == AVX2)
		printf("\tvzeroupper\n");
	printf("\tret\n\t.size sha1dc_%s, .-sha1dc_%s\n", target->kernel, target->kernel);
	print_constants(target);
}

/* struct sha1dc_ahead of sha1dc_kernels.h: the frame, and then the words of the pair to come, or NULL */
#define READY_AT (SHIFTED_AT + 24 * 32)

/* Writes the mask of the NTH block of a pair to the row ROWS before (%rdi). */
static void take_mask(struct code *code, const struct target *target, int nth, int rows)
{
	emit(code, "mov %d(%%rcx), %%r9d", PAIR_MASKS + 16 * nth);
	if (!evex(target))
		emit(code, "not %%r9d");
	emit(code, "mov %%r9d, %d(%%rdi)", ROW_MASK - rows * ROW_SIZE);
	emit(code, "neg %%r9d");
	emit(code, "rcr $1, %%rax");
}

/*
 * uint64_t sha1dc_<isa>_pairs(struct sha1dc_row *rows, const void *blocks, size_t n, size_t more, struct sha1dc_ahead *ahead)
 * rdi: the row, rsi: the pair of which the words were made last, r9: its second block, or again the first where there is none; help; rdx:
 * blocks left, r8: more, rcx: the words of this pair, r11: of the next, r10: the frame, rax: the result, filled from the top.
 */
static void pair_kernel(const struct target *target)
{
	struct code chains = { 0 }, chain[2] = { { 0 } }, mask[2] = { { 0 } }, masks = { 0 };
	struct code filter = { 0 }, first_words = { 0 }, words = { 0 }, fill;

	for (int nth = 0; nth < 2; nth++) {
		sha_ni_block(&chain[nth], target, nth);
		take_mask(&mask[nth], target, nth, 1);
		sha_ni_block(&chains, target, nth);
		take_mask(&masks, target, nth, 2 - nth);
	}
	conditions_across_words(&filter, target, false, NULL);
	if (nshifted > 24)
		die("too many shifted vectors");
	schedule_pair(&first_words, target, false);
	schedule_pair(&words, target, true);
	fill = mixed(&filter, &words);
	print_head(target);
	printf("\tvzeroupper\n\tpush %%rdx\n\tmov %%r8, %%r10\n\tmov %%rcx, %%r8\n\txor %%eax, %%eax\n");
	if (evex(target))
		printf("\tmov $8, %%ecx\n\tkmovd %%ecx, %%k7\n");
	printf("\tvmovdqa %d(%%rdi), %%xmm0\n\tvmovdqa %d(%%rdi), %%xmm1\n", ROW_IHV, ROW_IHV + 16);
	printf("\tmov %d(%%r10), %%rcx\n\ttest %%rcx, %%rcx\n\tjnz 1f\n", READY_AT);
	printf("\tmov %%r10, %%rcx\n\tmov %%r10, %%r11\n\tlea (%%rdx,%%r8), %%r9\n");
	printf("\tcmp $1, %%r9\n\tlea 64(%%rsi), %%r9\n\tcmove %%rsi, %%r9\n");
	print(&first_words);
	printf("\t.balign 32\n1:\tlea %d(%%r10,%%r10), %%r11\n\tsub %%rcx, %%r11\n", PAIR_SIZE);
	printf("\tlea -2(%%rdx,%%r8), %%r9\n\ttest %%r9, %%r9\n\tjle 2f\n");
	printf("\tadd $128, %%rsi\n\tcmp $1, %%r9\n\tlea 64(%%rsi), %%r9\n\tcmove %%rsi, %%r9\n");
	print_woven(&chains, &fill);
	print(&masks);
	printf("\tmov %%r11, %%rcx\n\tsub $2, %%rdx\n\tjnz 1b\n\tmov %%rcx, %d(%%r10)\n\tjmp 4f\n2:\n", READY_AT);
	print_woven(&chain[0], &filter);
	print(&mask[0]);
	printf("\tdec %%rdx\n\tjz 3f\n");
	print(&chain[1]);
	print(&mask[1]);
	printf("3:\tmovq $0, %d(%%r10)\n4:\tvmovdqa %%xmm0, %d(%%rdi)\n\tvmovdqa %%xmm1, %d(%%rdi)\n", READY_AT, ROW_IHV, ROW_IHV + 16);
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
	for (size_t k = 0; k < sizeof(pair_targets) / sizeof(*pair_targets); k++)
		pair_kernel(&pair_targets[k]);
	for (size_t k = 0; k < sizeof(scalar_targets) / sizeof(*scalar_targets); k++)
		scalar_kernel(&scalar_targets[k]);
	for (size_t k = 0; k < sizeof(scalar_many_targets) / sizeof(*scalar_many_targets); k++)
		scalar_many_kernel(&scalar_many_targets[k]);
	scalar_many_steps();
	puts("\t.section .rodata\n\t.balign 32\n"
	     ".Lreverse:\n\t.byte 15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0\n\t.byte 15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0\n"
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
