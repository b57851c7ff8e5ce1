/* memcmp.c - the memcmp kernels against glibc's, a byte loop and rep cmpsb: sizes, distributions, git's own calls, caches, page ends */

/*
 *	memcmp [-s SECONDS_PER_ROW] [-t TSV_FILE] [ROW_PREFIX ...]
 *
 * Every function is called the way a program calls one in a library: through a PLT entry. The caller branches on "equal?", as most of git's do.
 * Figures are ratios to the time of the memcmp that glibc chose on this machine, lower is better; cycles are the core's own.
 * GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512VL,-RTM,-Prefer_No_VZEROUPPER makes glibc, and us, do with AVX2, and with -AVX2 besides with SSE2.
 * "closed" is the entry with the door closed, as where AVX2 is missing; "sse2" the kernel that answers before the constructor has run.
 */
/*
 * What was tried on an Intel Xeon (Emerald Rapids, Raptor Cove cores, glibc 2.36) for n <= 64 with AVX-512: ratios to glibc as above.
 *
 *	                           mixes    worst  n = 20  1..64  binary  cold   byte 40   just     13, 40 at a
 *	                           (mean)   mix    equal   half   search  probe  written   written  page's end
 *	a window of 64 bytes        0.79    1.03   0.74    0.75   1.04    1.17    3.3      1.00     1.0 70
 *	  with page ends avoided    0.88    1.09   1.03    0.82   1.04    1.18    3.3      1.00     0.0  1.0
 *	20 in words, else that      0.85    1.65   0.86    0.76   0.85    1.03    0.9      0.29     1.0 70
 *	one of 32 bytes; two loads
 *	  behind a branch on n      0.89    1.06   0.71    1.01   0.97    1.05    0.6      1.00     1.0  0.8
 *	two of 32 bytes, the second
 *	  masked, at max(n - 32, 0) 0.87    1.03   0.99    0.74   0.97    1.10    0.9      1.08     2.0  0.9
 *	  unmasked, at n - 32, in
 *	  zeros for n < 32: in use  0.81    1.01   0.87    0.75   0.97    1.07    0.9      1.04     1.0  0.7
 *	8 bytes first, then those   0.95    1.47   0.92    0.77   0.86    1.05    0.8      1.04     2.0  0.7
 *	in use, the bytes that
 *	  differ by vpcompressb     0.87    1.08   0.93    0.77   0.96    1.14    0.9      1.16     1.1  0.7
 *	  by vpcompressw, from
 *	  differences of 16 bits    0.88    1.10   1.03    0.84   0.96    0.96    0.9      1.28     1.0  0.8
 *	no look at the path (see
 *	  below), one of 32 bytes                  0.71           0.95    0.99
 *
 * Whatever branches on n loses where sizes are drawn at random: 1.65 is blame's n < 8 and n = 20. Whatever does not has a latency, from the
 * bytes to the order of the first that differ, of a mask's way to a general register and a second load: hence the search, where words are
 * best. In the cold probe (1.07 to 1.11 in several runs) most calls end at their first byte, and loads are what the core runs out of while
 * it waits for memory: one more than glibc makes, the entry's look at the path, costs 0.10, even where it is of the stack and nothing needs
 * it; one more nop costs nothing. An entry without that load would be AVX-512 on every processor, or an IFUNC. vpcompressw (VBMI2) saves
 * the two loads of the first bytes that differ, and takes more where all is in the cache. In whole git commands nothing of this can be
 * seen: with 20 in words, blame took 1.009 times what it takes with the windows in use, diff 0.999, log --oneline 1.001, log --stat 1.004
 * (300 interleaved runs, lower quartiles; intervals of 1 to 3 %).
 * Masks raise no fault, but cost hundreds of cycles beside a page that is not mapped, glibc's and ours up to n = 32: looking for page
 * ends costs each call two cycles, a quarter of n = 20. The closed door jumps twice, 0.37 of glibc's n = 20; a single jump through a pointer,
 * were it possible before relocation, takes 0.12 to 0.25: none keeps within 0.05.
 * With AVX2, against glibc's with AVX2: the mixes 0.92 in the mean, but blame's drawn at random 1.56, fsck's 1.11 (20 in words, a branch),
 * and of those in their order checkout's 1.16, status's 1.12, grep's 1.28. Without that branch none drawn is above 1.10, but those in their
 * order take 1.12 in the mean, with it 1.00 to 1.02 (two interleaved runs each).
 *
 * AMD Zen 5 (glibc 2.36, 2026-12-02; lower quartiles of six runs): mixes 0.92 in the mean, the worst 1.04 (repack's, drawn), n = 20 equal 1.00,
 * 33 to 64 bytes 0.88, 1 to 64 half equal 0.70, 65 to 128 bytes 0.98, 4 and 16 KiB 0.63, L2 0.89, search 0.95, cold probe 1.01. Tried there for
 * n <= 64, all four in the same runs: in use 0.95 in the mean of the mixes; a window of 64 bytes 0.93, but 100 at a page's end and 3.1 where
 * byte 40 has just been written; two windows and one branch on both 0.95, cold probe 1.35; a window of 32, or two behind a branch on n, 1.00.
 * Those were measured while more than 64 bytes still went to their kernel by an indirect jump (65 to 128 bytes: 1.10 and more). A jump past
 * that kernel's own look at n would be wrong in a thread that is in the entry while the path is chosen. glibc's takes 7 cycles for
 * n = 20 and 10 to 13 in most mixes in their order: there is little left. With AVX2 against glibc's AVX-512 the mixes are 1.15.
 */
#include "cycles.h"
#include "elf_objects.h"
#include "fastsha.h"
#include "memcmp.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- The functions ------------------------------------------------------------------------------------ */

memcmp_fn byte_loop, rep_cmpsb, plt_entry;
memcmp_fn *plt_slot; /* where plt_entry goes */

__asm__(".text\n"
	".balign 16\n"
	"plt_entry:\n\t" /* as ld -z ibtplt makes them */
	"endbr64\n\t"
	"jmp *plt_slot(%rip)\n"

	".balign 32\n"
	"byte_loop:\n\t"
	"xor %ecx, %ecx\n"
	"1:\tcmp %rcx, %rdx\n\t"
	"je 2f\n\t"
	"movzbl (%rdi,%rcx), %eax\n\t"
	"movzbl (%rsi,%rcx), %r8d\n\t"
	"inc %rcx\n\t"
	"sub %r8d, %eax\n\t"
	"je 1b\n\t"
	"ret\n"
	"2:\txor %eax, %eax\n\t"
	"ret\n"

	".balign 32\n"
	"rep_cmpsb:\n\t"
	"mov %rdx, %rcx\n\t"
	"xor %eax, %eax\n\t" /* n = 0: equal */
	"repe cmpsb\n\t"
	"je 1f\n\t"
	"movzbl -1(%rdi), %ecx\n\t"
	"movzbl -1(%rsi), %eax\n\t"
	"xchg %ecx, %eax\n\t"
	"sub %ecx, %eax\n"
	"1:\tret\n");

int __memcmpeq(const void *a, const void *b, size_t n);

/*
 * The library's entry answers on every level, and a branch that another level has taken costs a cycle even where it is not taken: a program
 * sees one level only. So two of them are measured in copies of the entries.
 */
memcmp_fn avx2_memcmp, avx2_memcmp_sse2, closed_memcmp, closed_memcmp_sse2;
struct memcmp_path avx2_memcmp_path, closed_memcmp_path;

struct function {
	const char *name;
	memcmp_fn *function;
	const char *level; /* an entry with this FASTSHA_CPU; NULL: none. "generic": the door closes itself */
	unsigned needs;
	double most;              /* bytes a call; beyond, it is only slow */
	struct memcmp_path *path; /* what the entry looks at */
	memcmp_fn *sse2;          /* from which its distances count */
};

static struct function functions[] = {
	{ .name = "glibc", .most = 1e12 },
	{ .name = "byte loop", .function = byte_loop, .most = 70000 },
	{ .name = "rep cmpsb", .function = rep_cmpsb, .most = 70000 },
	{ .name = "sse2", .function = memcmp_sse2, .most = 1e12 },
	{ .name = "avx2", .function = avx2_memcmp, .level = "avx2", .needs = CPU_AVX2, .most = 1e12, .path = &avx2_memcmp_path, .sse2 = avx2_memcmp_sse2 },
	{ .name = "closed", .function = closed_memcmp, .level = "generic", .most = 1e12, .path = &closed_memcmp_path, .sse2 = closed_memcmp_sse2 },
	{ .name = "avx512", .function = memcmp, .level = "avx512", .needs = CPU_AVX512, .most = 1e12 },
	{ .name = "equal only", .function = __memcmpeq, .level = "avx512", .most = 1e12 },
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

static void prepare_functions(void)
{
	/* The last leaves memcmp_path as it is to be. */
	for (struct function *f = functions; f < functions + FUNCTIONS; f++) {
		if (!f->level)
			continue;
		doors[DOOR_MEMCMP].wanted = true;
		counting = false;
		cpu_init(f->level);
		memcmp_door_init();
		if (f->path) {
			*f->path = memcmp_path;
			f->path->order += (ptrdiff_t)((uintptr_t)memcmp_sse2 - (uintptr_t)f->sse2);
		}
	}
	cpu_init(NULL);
	functions[0].function = (memcmp_fn *)next_definition("memcmp", NULL);
}

/* ---- Rows: what is called -------------------------------------------------------------------------------- */

struct call {
	const unsigned char *a, *b;
	size_t n;
};

struct row {
	char name[40];
	struct call *calls;
	size_t count;
	void (*custom)(const struct row *); /* instead of the calls */
	double bytes;                       /* of an average call */
};

static struct row rows[200];
static size_t row_count;

static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t random32(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

static unsigned char *pages(size_t size)
{
	unsigned char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

/*
 * Data for calls of any n, d (first difference) and alignment without a buffer for each: a lies in zeros, b in one of 64 regions of zeros
 * followed by ones; where a region's ones begin decides, together with d, where b points modulo 64.
 */
#define LONGEST 32768
static unsigned char *zeros, *regions[64];

static void prepare_data(void)
{
	zeros = pages(4 * LONGEST);
	memset(zeros, 0, 4 * LONGEST);
	for (size_t k = 0; k < 64; k++) {
		unsigned char *p = pages(2 * LONGEST + 3 * 4096);

		regions[k] = p + LONGEST + 4096 + k * 64 + k; /* modulo 4096 all different, modulo 64 k */
		memset(p, 0, regions[k] - p);
		memset(regions[k], 1, LONGEST);
	}
}

static struct call make_call(size_t n, size_t d, unsigned a, unsigned b)
{
	struct call c = { zeros + (a & 4095), zeros + 2 * LONGEST + (b & 4095), n < LONGEST ? n : LONGEST };

	if (d < c.n)
		c.b = regions[(b + d) & 63] - d;
	if (random32() & 1) {
		const unsigned char *t = c.a;
		c.a = c.b;
		c.b = t;
	}
	return c;
}

static struct row *new_row(size_t count, const char *format, ...) __attribute__((format(printf, 2, 3)));
#include <stdarg.h>

static struct row *new_row(size_t count, const char *format, ...)
{
	struct row *r = &rows[row_count++];
	va_list args;

	va_start(args, format);
	vsnprintf(r->name, sizeof r->name, format, args);
	va_end(args);
	r->calls = count ? calloc(count, sizeof *r->calls) : NULL;
	r->count = count;
	return r;
}

#define CALLS 8192

enum outcome { EQUAL, FIRST, ANYWHERE, EITHER };
static const char *const outcome_names[] = { "equal", "first byte", "anywhere", "half equal" };

static size_t difference(enum outcome o, size_t n)
{
	return o == EQUAL || (o == EITHER && random32() & 1) ? n : o == FIRST ? 0 : random32() % n;
}

static void add_fixed(size_t n, enum outcome o)
{
	struct row *r = new_row(n <= 4096 ? CALLS : 512, "%zu %s", n, outcome_names[o]);

	for (size_t i = 0; i < r->count; i++) {
		unsigned spread = n <= 1024 ? 4096 : 64; /* within what the first cache level holds */
		r->calls[i] = make_call(n, difference(o, n), random32() % spread, random32() % spread);
	}
}

static void add_uniform(size_t most, enum outcome o)
{
	struct row *r = new_row(CALLS, "1..%zu %s", most, outcome_names[o]);

	for (size_t i = 0; i < r->count; i++) {
		size_t n = 1 + random32() % most;
		r->calls[i] = make_call(n, difference(o, n), random32(), random32());
	}
}

/* Buffers of their own, one pair after the other through SIZE bytes of memory. */
static void add_memory(size_t n, size_t size, const char *where)
{
	struct row *r = new_row(size / n / 2, "%zu K equal, %s", n / 1024, where);
	unsigned char *p = pages(size);

	memset(p, 1, size);
	for (size_t i = 0; i < r->count; i++)
		r->calls[i] = (struct call){ p + n * i, p + size / 2 + n * i, n };
}

/* The last bytes of a page before one that may not be touched; the same calls elsewhere are the row "1..64 half equal" and its like. */
static void add_page_end(size_t n)
{
	struct row *r = new_row(CALLS, "%zu at a page's end", n);
	unsigned char *p = pages(3 * 4096), *q = pages(3 * 4096);

	memset(p, 1, 4096);
	memset(q, 1, 4096);
	mprotect(p + 4096, 8192, PROT_NONE);
	mprotect(q + 4096, 8192, PROT_NONE);
	for (size_t i = 0; i < r->count; i++)
		r->calls[i] = (struct call){ p + 4096 - n - random32() % 8, i & 1 ? q + 4096 - n : q + random32() % 1024, n };
}

/* ---- git's calls: see record-mixes.sh ------------------------------------------------------------------------ */

#define MAX_RUNS 64

struct mix {
	char name[32];
	struct { uint32_t n, d, count; } hist[1200];
	size_t hists;
	uint64_t counted;
	struct { uint32_t n, d, a, b; } run[MAX_RUNS][64];
	size_t run_length[MAX_RUNS], runs;
};

/* Two rows of each mix: calls drawn from the histogram, where nothing predicts the next; and the recorded runs in random order. */
static void add_mix(const struct mix *m)
{
	struct row *r;

	if (!m->hists || !m->runs)
		return;
	r = new_row(CALLS, "git %s, drawn", m->name);
	for (size_t i = 0; i < r->count; i++) {
		uint64_t at = (((uint64_t)random32() << 32) | random32()) % m->counted;
		size_t h = 0, run = random32() % m->runs, k = random32() % m->run_length[run];

		while (at >= m->hist[h].count)
			at -= m->hist[h++].count;
		r->calls[i] = make_call(m->hist[h].n, m->hist[h].d, m->run[run][k].a, m->run[run][k].b);
	}
	r = new_row(CALLS, "git %s, replayed", m->name);
	for (size_t i = 0; i < r->count;) {
		size_t run = random32() % m->runs;

		for (size_t k = 0; k < m->run_length[run] && i < r->count; k++)
			r->calls[i++] = make_call(m->run[run][k].n, m->run[run][k].d, m->run[run][k].a, m->run[run][k].b);
	}
}

static void add_mixes(const char *path)
{
	static struct mix m;
	char *line = NULL;
	size_t size = 0;
	FILE *in = fopen(path, "r");

	if (!in) {
		perror(path);
		exit(1);
	}
	while (getline(&line, &size, in) > 0) {
		unsigned n, d, a, b, used;

		if (strncmp(line, "mix ", 4) == 0) {
			add_mix(&m);
			memset(&m, 0, sizeof m);
			sscanf(line, "mix %31s", m.name);
		} else if (sscanf(line, "hist %u %u %u", &n, &d, &a) == 3 && n) {
			m.hist[m.hists].n = n;
			m.hist[m.hists].d = d;
			m.hist[m.hists++].count = a;
			m.counted += a;
		} else if (strncmp(line, "run", 3) == 0 && m.runs < MAX_RUNS) {
			size_t k = 0;

			for (const char *at = line + 3; k < 64 && sscanf(at, "%u %u %u %u%n", &n, &d, &a, &b, &used) == 4; at += used) {
				m.run[m.runs][k].n = n;
				m.run[m.runs][k].d = d;
				m.run[m.runs][k].a = a;
				m.run[m.runs][k++].b = b;
			}
			m.run_length[m.runs++] = k;
		}
	}
	add_mix(&m);
	fclose(in);
	free(line);
}

/* ---- Hash lookups in 80 MB ------------------------------------------------------------------------------------- */

#define HASHES (80000000 / 20)
#define PROBES 4096
static unsigned char (*hashes)[20]; /* sorted */
static unsigned char probe_keys[PROBES][20];
static uint32_t probe_slots[PROBES];
static volatile uint64_t sink;

static void prepare_hashes(void)
{
	hashes = (void *)pages(HASHES * 20ul);
	for (uint32_t i = 0; i < HASHES; i++) { /* ascending in the first four bytes */
		uint32_t top = __builtin_bswap32((uint32_t)((double)i * (4294967296.0 / HASHES)) + random32() % 1000);

		memcpy(hashes[i], &top, 4);
		for (int k = 4; k < 20; k += 4) {
			uint32_t x = random32();
			memcpy(hashes[i] + k, &x, 4);
		}
	}
	for (uint32_t i = 0; i < PROBES; i++) {
		probe_slots[i] = random32() % HASHES;
		memcpy(probe_keys[i], hashes[probe_slots[i]], 20);
		probe_keys[i][(random32() & 1) ? 19 : 0] ^= random32() & 1; /* half of them differ, late or early */
	}
}

/* As in a pack's index. Other keys in every turn: the caches hold the first steps only. */
static void binary_searches(const struct row *r)
{
	uint64_t found = 0;

	(void)r;
	for (unsigned i = 0; i < 256; i++) {
		unsigned char key[20]; /* cached, as the one that is looked up is */
		size_t low = 0, high = HASHES;

		for (int k = 0; k < 20; k += 4) {
			uint32_t x = random32();
			memcpy(key + k, &x, 4);
		}
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			int order = plt_entry(key, hashes[middle], 20);

			if (order < 0) {
				high = middle;
			} else if (order > 0) {
				low = middle + 1;
			} else {
				found++;
				break;
			}
		}
	}
	sink = found;
}

/* As in a hash table of objects: one comparison in a place that is not cached. */
static void cold_probes(const struct row *r)
{
	uint64_t found = 0;

	(void)r;
	uint32_t shift = random32() % HASHES;
	for (unsigned i = 0; i < PROBES; i++) {
		uint32_t slot = (probe_slots[i] + shift) % HASHES;

		if (plt_entry(probe_keys[i], hashes[slot], 20) == 0)
			found++;
	}
	sink = found;
}

/* ---- Memory that is still on its way to the cache ------------------------------------------------------------------ */

/* Object names that were copied right before, as compilers copy 20 bytes: a load that spans both stores waits until they are in the cache. */
static void just_written(const struct row *r)
{
	uint64_t found = 0;

	(void)r;
	for (unsigned i = 0; i < 256; i++) {
		unsigned char key[64] __attribute__((aligned(64)));

		__asm__ volatile("movdqu (%[from]), %%xmm0; movdqu %%xmm0, (%[to]); mov 16(%[from]), %%eax; mov %%eax, 16(%[to])"
				 :
				 : [from] "r"(probe_keys[i]), [to] "r"(key)
				 : "xmm0", "eax", "memory");
		found += plt_entry(key, probe_keys[i], 20) == 0;
	}
	sink = found;
}

/* The same where only bytes behind what is compared are new. */
static void written_behind(const struct row *r)
{
	static unsigned char key[64] __attribute__((aligned(64)));
	uint64_t found = 0;

	(void)r;
	memcpy(key, probe_keys[0], 20);
	for (unsigned i = 0; i < 256; i++) {
		((volatile unsigned char *)key)[40] = (unsigned char)i;
		found += plt_entry(key, probe_keys[0], 20) == 0;
	}
	sink = found;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

struct run {
	const struct row *row;
	size_t function;
};

static void run_calls(void *arg)
{
	const struct run *run = arg;
	const struct row *r = run->row;
	uint64_t sum = 0;

	plt_slot = functions[run->function].function;
	if (r->custom) {
		r->custom(r);
		return;
	}
	for (const struct call *c = r->calls, *end = c + r->count; c < end; c++) {
		int result = plt_entry(c->a, c->b, c->n);

		sum += (unsigned)result;
		if (result)
			__asm__ volatile("" : "+r"(sum));
		else
			__asm__ volatile("nop" : "+r"(sum));
	}
	sink = sum;
}

static void build_rows(const char *mixes)
{
	static const size_t sizes[] = { 1, 2, 4, 7, 8, 12, 16, 20, 24, 31, 32, 33, 40, 48, 63, 64, 65, 96, 128, 160, 200, 256, 257, 320, 400, 512, 768, 1024,
					2048, 4096, 8192, 16384 };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		add_fixed(sizes[i], EQUAL);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i] == 20 || sizes[i] == 40 || sizes[i] == 100 || sizes[i] == 512 || sizes[i] == 4096)
			for (int o = FIRST; o <= EITHER; o++)
				add_fixed(sizes[i], o);
	for (int o = EQUAL; o <= EITHER; o++)
		add_uniform(64, o);
	for (int o = EQUAL; o <= EITHER; o++)
		add_uniform(256, o);
	add_mixes(mixes);
	add_page_end(13);
	add_page_end(20);
	add_page_end(40);
	add_page_end(100);
	add_memory(4096, 32 << 10, "L1");
	add_memory(16384, 32 << 10, "L1");
	add_memory(128 << 10, 512 << 10, "L2");
	add_memory(1 << 20, 8 << 20, "L3");
	add_memory(1 << 20, 256 << 20, "DRAM");
	new_row(0, "20 just written")->custom = just_written;
	new_row(0, "20, byte 40 just written")->custom = written_behind;
	new_row(0, "binary search, 80 MB")->custom = binary_searches;
	new_row(0, "cold hash probe, 80 MB")->custom = cold_probes;
}

static bool selected(const struct row *r, char **prefixes, int n)
{
	for (int i = 0; i < n; i++)
		if (strncmp(r->name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return n == 0;
}

int main(int argc, char **argv)
{
	double seconds = 0.4;
	FILE *tsv = NULL;
	const char *mixes = "bench/memcmp_mixes.txt";
	int opt;

	while ((opt = getopt(argc, argv, "s:t:m:")) != -1) {
		if (opt == 's')
			seconds = atof(optarg);
		else if (opt == 't' && !(tsv = fopen(optarg, "w")))
			return perror(optarg), 1;
		else if (opt == 'm')
			mixes = optarg;
		else if (opt == '?')
			return 2;
	}
	prepare_functions();
	prepare_data();
	prepare_hashes();
	build_rows(mixes);
	printf("Processor level: %s. Time relative to glibc's memcmp; its cycles a call.\n%-28s %9s", cpu_level_name(), "", "cycles");
	for (size_t i = 1; i < FUNCTIONS; i++)
		printf(" %10s", functions[i].name);
	printf("\n");
	for (size_t k = 0; k < row_count; k++) {
		struct row *r = &rows[k];
		struct contender c[FUNCTIONS];
		struct run runs[FUNCTIONS];
		size_t of[FUNCTIONS], n = 0;
		double bytes = 20, calls = r->custom == cold_probes ? PROBES : 256;

		if (!selected(r, argv + optind, argc - optind))
			continue;
		if (!r->custom) {
			bytes = 0;
			for (size_t i = 0; i < r->count; i++)
				bytes += (double)r->calls[i].n;
			bytes /= (double)r->count;
			calls = (double)r->count;
		}
		for (size_t i = 0; i < FUNCTIONS; i++) {
			if ((cpu_features & functions[i].needs) != functions[i].needs || bytes > functions[i].most)
				continue;
			runs[n] = (struct run){ r, i };
			c[n] = (struct contender){ .name = functions[i].name, .run = run_calls, .arg = &runs[n] };
			of[n++] = i;
		}
		measure(c, n, 101, 100000, seconds);
		printf("%-28s %9.1f", r->name, c[0].cycles / calls);
		for (size_t i = 1, at = 1; i < FUNCTIONS; i++) {
			if (at < n && of[at] == i) {
				double ratio = c[at].cycles / c[0].cycles;
				printf(ratio < 10 ? " %10.3f" : " %10.1f", ratio);
				at++;
			} else {
				printf(" %10s", "-");
			}
		}
		printf("\n");
		fflush(stdout);
		if (tsv)
			for (size_t i = 0; i < n; i++)
				fprintf(tsv, "%s\t%s\t%.0f\t%.2f\t%.2f\t%.2f\n", r->name, c[i].name, bytes, c[i].cycles / calls, c[i].low / calls,
					c[i].high / calls);
	}
	return 0;
}
