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
 *   across blocks   A lane takes one of 8 or 16 blocks, and the schedule W[16..79] is computed in the lanes as well: without SHA-NI,
 *                   where the schedule is worth as much as the conditions; the 80 steps then run one block after another.
 *
 * Either way a test of a condition is the same few instructions, in four instruction sets: test() below.
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
		for (int t = 0; t < 16; t++)
			printf("%s0x%08x", t ? ", " : " ", dm[t]);
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

/* Prints CHAIN with FILL spread evenly over it. */
static void print_woven(const struct code *chain, const struct code *fill)
{
	int done = 0;

	for (int k = 0; k < chain->n; k++) {
		printf("\t%s\n", chain->line[k]);
		for (int want = (k + 1) * fill->n / chain->n; done < want; done++)
			printf("\t%s\n", fill->line[done]);
	}
}

/* ---- Instruction sets ------------------------------------------------------------------------------------------ */

enum isa { SSE, AVX2, AVX512VL, AVX512 };

struct target {
	const char *name;
	enum isa isa;
	int lanes;       /* 32-bit words in a vector */
	char vector;     /* x, y or z: the registers' prefix */
	int first;       /* vector registers from here on hold conditions: xmm0 to xmm6 belong to the SHA-NI chain */
	int accumulators;
};

static const struct target targets[] = {
	{ "sse", SSE, 4, 'x', 7, 1 },
	{ "avx2", AVX2, 8, 'y', 7, 2 },
	{ "avx512vl", AVX512VL, 8, 'y', 16, 4 }, /* for processors whose clock suffers from 512-bit vectors */
	{ "avx512", AVX512, 16, 'z', 16, 4 },
};

static bool evex(const struct target *target)
{
	return target->isa >= AVX512VL;
}

/* The name of the vector register NUMBER; a ring of these buffers is enough for one instruction. */
static const char *reg(const struct target *target, int number)
{
	static char names[8][8];
	static int next;
	char *name = names[next++ % 8];

	snprintf(name, sizeof(names[0]), "%%%cmm%d", target->vector, number);
	return name;
}

/* Constants: vectors of 32-bit words, each kept once, printed after the code. */
static uint32_t pool[1024][16];
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
	printf("\t.section .rodata\n\t.balign 64\n.Lconstants_%s:\n", target->name);
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
		uint32_t keep[16];
		int k = 1 + nth % 6;

		for (int lane = 0; lane < target->lanes; lane++)
			keep[lane] = ~vectors[lane];
		emit(code, "%s .Lconstants_%s+%d(%%rip), %s, %%k%d", differ ? "vptestnmd" : "vptestmd", target->name, bits_at,
		     reg(target, x), k);
		emit(code, "vpandd .Lconstants_%s+%d(%%rip), %s, %s{%%k%d}", target->name, constant(target, keep), reg(target, accumulator),
		     reg(target, accumulator), k);
		return;
	}

	/* vpsignd keeps a word whose controlling word is positive, clears it where that is zero */
	int violated = 13, ruled_out = 14 + nth % 2;
	int vectors_at = constant(target, vectors);

	if (target->isa == AVX2) {
		emit(code, "%s .Lconstants_%s+%d(%%rip), %s, %s", differ ? "vpandn" : "vpand", target->name, bits_at, reg(target, x),
		     reg(target, violated));
		emit(code, "vmovdqa .Lconstants_%s+%d(%%rip), %s", target->name, vectors_at, reg(target, ruled_out));
		emit(code, "vpsignd %s, %s, %s", reg(target, violated), reg(target, ruled_out), reg(target, ruled_out));
		emit(code, "vpor %s, %s, %s", reg(target, ruled_out), reg(target, accumulator), reg(target, accumulator));
	} else {
		emit(code, "movdqa %s, %s", reg(target, x), reg(target, violated));
		emit(code, "%s .Lconstants_%s+%d(%%rip), %s", differ ? "pandn" : "pand", target->name, bits_at, reg(target, violated));
		emit(code, "movdqa .Lconstants_%s+%d(%%rip), %s", target->name, vectors_at, reg(target, ruled_out));
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

/* x = W[t..] xor (W[t + distance..] with bit bit_j moved to bit_i), for as many t as there are lanes, from FIRST up. */
static void combine(struct code *code, const struct target *target, int x, int first, int distance, int shift)
{
	int last = first + target->lanes - 1;
	const char *r = reg(target, x);

	if (evex(target)) {
		if (shift)
			emit(code, "vprold $%d, %d(%%rcx), %s", shift & 31, word_at(last + distance), r);
		else
			emit(code, "vmovdqu32 %d(%%rcx), %s", word_at(last + distance), r);
		emit(code, "vpxord %d(%%rcx), %s, %s", word_at(last), r, r);
		return;
	}
	const char *v = target->isa == AVX2 ? "v" : "";
	emit(code, "%smovdqu %d(%%rcx), %s", v, word_at(last + distance), r);
	if (shift && target->isa == AVX2)
		emit(code, "%s $%d, %s, %s", shift > 0 ? "vpslld" : "vpsrld", abs(shift), r, r);
	else if (shift)
		emit(code, "%s $%d, %s", shift > 0 ? "pslld" : "psrld", abs(shift), r);
	if (target->isa == AVX2) {
		emit(code, "vpxor %d(%%rcx), %s, %s", word_at(last), r, r);
	} else {
		emit(code, "movdqu %d(%%rcx), %s", word_at(last), reg(target, 13));
		emit(code, "pxor %s, %s", reg(target, 13), r);
	}
}

/* r9d = the vectors that survive: all accumulators and all their lanes taken together. */
static void gather_accumulators(struct code *code, const struct target *target)
{
	int a = target->first, tmp = target->first + 1;
	const char *op = evex(target) ? "vpandd" : "vpor";

	if (target->isa == SSE) {
		emit(code, "pshufd $0x4e, %%xmm%d, %%xmm%d", a, tmp);
		emit(code, "por %%xmm%d, %%xmm%d", tmp, a);
		emit(code, "pshufd $0xb1, %%xmm%d, %%xmm%d", a, tmp);
		emit(code, "por %%xmm%d, %%xmm%d", tmp, a);
		emit(code, "movd %%xmm%d, %%r9d", a);
		emit(code, "not %%r9d");
		return;
	}
	for (int n = target->accumulators / 2; n; n /= 2)
		for (int k = 0; k < n; k++)
			emit(code, "%s %s, %s, %s", op, reg(target, a + k + n), reg(target, a + k), reg(target, a + k));
	if (target->lanes == 16) {
		emit(code, "vextracti64x4 $1, %%zmm%d, %%ymm%d", a, tmp);
		emit(code, "%s %%ymm%d, %%ymm%d, %%ymm%d", op, tmp, a, a);
	}
	emit(code, "%s $1, %%ymm%d, %%xmm%d", evex(target) ? "vextracti32x4" : "vextracti128", a, tmp);
	emit(code, "%s %%xmm%d, %%xmm%d, %%xmm%d", op, tmp, a, a);
	emit(code, "vpshufd $0x4e, %%xmm%d, %%xmm%d", a, tmp);
	emit(code, "%s %%xmm%d, %%xmm%d, %%xmm%d", op, tmp, a, a);
	emit(code, "vpshufd $0xb1, %%xmm%d, %%xmm%d", a, tmp);
	emit(code, "%s %%xmm%d, %%xmm%d, %%xmm%d", op, tmp, a, a);
	emit(code, "vmovd %%xmm%d, %%r9d", a);
	if (!evex(target))
		emit(code, "not %%r9d");
}

static void conditions_across_words(struct code *code, const struct target *target)
{
	bool done[MAX_CONDITIONS] = { false };
	int nth_window = 0, nth_test = 0;

	clear_accumulators(code, target);
	for (int c = 0; c < nconditions; c++) {
		if (done[c])
			continue;

		/* The rows are in order of i: a window of words that starts at this condition covers the most of its family. */
		int distance = conditions[c].j - conditions[c].i, shift = conditions[c].bit_i - conditions[c].bit_j;
		int first = conditions[c].i, highest = 79 - distance - (target->lanes - 1);
		int x = target->first + target->accumulators + nth_window++ % (evex(target) ? 10 : 4);
		bool more;

		if (first > highest)
			first = highest;
		combine(code, target, x, first, distance, shift);
		do { /* a test takes at most one condition a lane */
			uint32_t bits[16] = { 0 }, vectors[16] = { 0 };

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
	}
	gather_accumulators(code, target);
	fprintf(stderr, "%s: %d windows, %d tests, %d instructions\n", target->name, nth_window, nth_test, code->n);
}

/* ---- SHA-NI ----------------------------------------------------------------------------------------------------- */

/* struct sha1dc_row of sha1dc_kernels.h */
enum { ROW_IHV = 0, ROW_STEP56 = 32, ROW_STEP64 = 64, ROW_MASK = 96, ROW_SIZE = 112 };

static void move(struct code *code, bool vex, const char *from, const char *to)
{
	emit(code, "%s %s, %s", vex ? "vmovdqa" : "movdqa", from, to);
}

/*
 * The compression of the block at (%rsi) in the row at (%rdi), from xmm0 (a to d, a in the highest word) and xmm1 (e, highest word; during
 * the steps the a of four steps before, which sha1nexte rotates) to the same registers. Leaves W[32..79] at (%rcx).
 * xmm2 takes turns with xmm1; xmm3 to xmm6: four words of the schedule each.
 */
static void sha_ni_block(struct code *code, bool vex)
{
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
		int m0 = 3 + group % 4, m1 = 3 + (group + 1) % 4, m2 = 3 + (group + 2) % 4, m3 = 3 + (group + 3) % 4;

		if (group == 14 || group == 16) {
			int at = group == 14 ? ROW_STEP56 : ROW_STEP64;

			snprintf(to, sizeof(to), "%d(%%rdi)", at);
			move(code, vex, "%xmm0", to);
			snprintf(from, sizeof(from), "%%xmm%d", e);
			snprintf(to, sizeof(to), "%d(%%rdi)", at + 16);
			move(code, vex, from, to);
		}
		if (group >= 4) {
			emit(code, "sha1msg1 %%xmm%d, %%xmm%d", m1, m0);
			if (vex)
				emit(code, "vpxor %%xmm%d, %%xmm%d, %%xmm%d", m2, m0, m0);
			else
				emit(code, "pxor %%xmm%d, %%xmm%d", m2, m0);
			emit(code, "sha1msg2 %%xmm%d, %%xmm%d", m3, m0);
		}
		if (group >= 8) {
			snprintf(from, sizeof(from), "%%xmm%d", m0);
			snprintf(to, sizeof(to), "%d(%%rcx)", word_at(4 * group + 3));
			move(code, vex, from, to);
		}
		if (group)
			emit(code, "sha1nexte %%xmm%d, %%xmm%d", m0, e);
		else if (vex)
			emit(code, "vpaddd %%xmm%d, %%xmm%d, %%xmm%d", m0, e, e);
		else
			emit(code, "paddd %%xmm%d, %%xmm%d", m0, e);
		snprintf(to, sizeof(to), "%%xmm%d", other);
		move(code, vex, "%xmm0", to);
		emit(code, "sha1rnds4 $%d, %%xmm%d, %%xmm0", group / 5, e);
		int swap = e;
		e = other;
		other = swap;
	}
	emit(code, "sha1nexte %d(%%rdi), %%xmm1", ROW_IHV + 16);
	emit(code, vex ? "vpaddd %d(%%rdi), %%xmm0, %%xmm0" : "paddd %d(%%rdi), %%xmm0", ROW_IHV);
	emit(code, "add $64, %%rsi");
	emit(code, "add $%d, %%rdi", ROW_SIZE);
}

/*
 * uint64_t sha1dc_<isa>_ni(struct sha1dc_row *rows, const void *blocks, size_t n)
 * rdi: the row, rsi: the block, rdx: blocks left, rcx: the words of the block being compressed or filtered, one of two buffers on the stack,
 * rax: the result, filled from the top, r8: n, r9: survivors, r10: the frame.
 */
static void sha_ni_kernel(const struct target *target)
{
	struct code sha = { 0 }, filter = { 0 };
	bool vex = target->isa != SSE;
	const char *move_name = vex ? "vmovdqa" : "movdqa";
	/* the filter reads the previous block's words: in the loop the chain stores to the other buffer */
	int other = 256;

	sha_ni_block(&sha, vex);
	conditions_across_words(&filter, target);
	printf("\n\t.globl sha1dc_%s_ni\n\t.hidden sha1dc_%s_ni\n\t.type sha1dc_%s_ni, @function\n\t.balign 64\nsha1dc_%s_ni:\n",
	       target->name, target->name, target->name, target->name);
	printf("\t_CET_ENDBR\n\tmov %%rsp, %%r10\n\tsub $%d, %%rsp\n\tand $-%d, %%rsp\n", 2 * other, 2 * other);
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
	print(&filter);
	printf("\tmov %%r9d, %d(%%rdi)\n\tneg %%r9d\n\trcr $1, %%rax\n", ROW_MASK - ROW_SIZE);
	printf("\tmov $64, %%ecx\n\tsub %%r8d, %%ecx\n\tshr %%cl, %%rax\n\tmov %%r10, %%rsp\n");
	if (target->isa == AVX2)
		printf("\tvzeroupper\n");
	printf("\tret\n\t.size sha1dc_%s_ni, .-sha1dc_%s_ni\n", target->name, target->name);
	print_constants(target);
}

static void write_kernels(void)
{
	puts("/* The kernels of collision-detecting SHA-1: made by sha1dc_gen */\n#include <cet.h>\n\t.text");
	for (size_t k = 0; k < sizeof(targets) / sizeof(*targets); k++)
		sha_ni_kernel(&targets[k]);
	puts("\t.section .rodata\n\t.balign 16\n.Lreverse:\n\t.byte 15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0\n"
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
