/* test_memcmp.c - every memcmp kernel, and the exported entries on every path, against a byte loop, beside guard pages */
#include "elf_objects.h"
#include "fastsha.h"
#include "memcmp.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MAX_N 4160
#define PAGE 4096
#define SPAN (2 * PAGE) /* accessible bytes of an arena: MAX_N at every alignment */

int __memcmpeq(const void *a, const void *b, size_t n);

/* The function under test, and what its result means. */
static const char *name;
static int (*f)(const void *, const void *, size_t);
static bool ordered;

static unsigned char *arena[2]; /* SPAN bytes each, between pages that may not be touched */
static unsigned long calls;

static int byte_loop(const unsigned char *a, const unsigned char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (a[i] != b[i])
			return a[i] - b[i];
		__asm__ volatile("");
	}
	return 0;
}

static void wrong(const void *a, const void *b, size_t n, int got, int want)
{
	printf("FAILED: %s(%p, %p, %zu) = %d, expected %s%d\n", name, a, b, n, got, ordered || !want ? "" : "not 0 as ", want);
	exit(1);
}

static inline void expect(const unsigned char *a, const unsigned char *b, size_t n, int want)
{
	int got = f(a, b, n);

	calls++;
	if (ordered ? got != want : !got != !want)
		wrong(a, b, n, got, want);
}

static inline void expect_both(const unsigned char *a, const unsigned char *b, size_t n, int want)
{
	expect(a, b, n, want);
	expect(b, a, n, -want);
}

static uint32_t random32(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

/* A byte that is not C; often one that only the sign bit tells apart. */
static unsigned char other_than(unsigned char c)
{
	static const unsigned char flips[4] = { 0x80, 0x01, 0xff, 0x7f };
	uint32_t r = random32();

	return c ^ (r & 4 ? flips[r & 3] : 1 + (r >> 8) % 255);
}

/* Makes n bytes at a and b alike, then checks: equality, and each of the first differences from + k * step. */
static void sweep_differences(unsigned char *a, unsigned char *b, size_t n, size_t from, size_t step)
{
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] = (unsigned char)(i * 7 + i / 251);
	expect_both(a, b, n, 0);
	for (size_t i = from; i < n; i += step) { /* alone */
		a[i] = other_than(b[i]);
		expect_both(a, b, n, a[i] - b[i]);
		a[i] = b[i];
	}
	for (size_t i = n; i-- > from;) { /* and with everything behind it different, too */
		a[i] = other_than(b[i]);
		if ((i - from) % step == 0)
			expect_both(a, b, n, a[i] - b[i]);
	}
}

/* Every n, every pair of alignments modulo 64; every first difference up to DENSE bytes, a sample of them from there on. */
static void test_alignments(size_t dense, size_t max, size_t n_step)
{
	for (size_t n = 0; n <= max; n += n < dense ? 1 : n_step)
		for (unsigned i = 0; i < 64; i++)
			for (unsigned j = 0; j < 64; j++) {
				unsigned char *a = arena[0] + PAGE / 2 - 64 + i, *b = arena[1] + PAGE / 2 - 64 + j;

				if (n <= dense) {
					sweep_differences(a, b, n, 0, 1);
				} else {
					size_t at = random32() % n;

					memset(a, 0x5a, n);
					memset(b, 0x5a, n);
					expect_both(a, b, n, 0);
					a[at] = other_than(0x5a);
					a[n - 1 - random32() % (n - at)] ^= 0x80;
					expect_both(a, b, n, byte_loop(a, b, n));
				}
			}
}

/* Every n and every first difference, with one or both buffers touching the forbidden page behind or before them. */
static void test_guard_pages(size_t dense, size_t step)
{
	for (size_t n = 0; n <= MAX_N; n++) {
		size_t room = SPAN - n, stride = n <= dense ? 1 : step, from = n <= dense ? 0 : random32() % step;

		sweep_differences(arena[0] + room, arena[1] + room, n, from, stride);
		sweep_differences(arena[0] + room, arena[1] + room - random32() % 64, n, from, stride);
		sweep_differences(arena[0], arena[1], n, from, stride);
		sweep_differences(arena[0] + room, arena[1], n, from, stride);
		if (n <= 130) /* some bytes away from the edge */
			for (size_t k = 1; k < 70; k++) {
				sweep_differences(arena[0] + room - k, arena[1] + room - random32() % 64, n, 0, 1);
				sweep_differences(arena[0] + k, arena[1] + random32() % 64, n, 0, 1);
			}
	}
}

/* n = 0 reads nothing, wherever the pointers point. */
static void test_nothing(void)
{
	const unsigned char *bad[] = { NULL, (void *)1, (void *)-1, arena[0] - 1, arena[0] + SPAN, arena[1] + SPAN };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		for (size_t j = 0; j < sizeof bad / sizeof *bad; j++)
			expect(bad[i], bad[j], 0, 0);
}

static _Atomic bool stop;

/* Changes bytes of both arenas right before and right behind those that test_neighbours compares. */
static void *disturb(void *arg)
{
	size_t n = *(size_t *)arg;

	for (unsigned char x = 1; !stop; x++)
		for (int k = 0; k < 2; k++)
			for (size_t d = 1; d <= 64; d++) {
				((volatile unsigned char *)arena[k])[PAGE / 2 - d] = x * (unsigned char)d;
				((volatile unsigned char *)arena[k])[PAGE / 2 + n + d - 1] = (unsigned char)(x + d * 3);
			}
	return NULL;
}

/* Another thread writes into the same cache lines. */
static void test_neighbours(void)
{
	static const size_t sizes[] = { 1, 7, 19, 20, 31, 32, 33, 63, 64, 65, 100, 129, 257, 511, 1030 };

	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		size_t n = sizes[k];
		unsigned char *a = arena[0] + PAGE / 2, *b = arena[1] + PAGE / 2;
		pthread_t thread;

		for (size_t i = 0; i < n; i++)
			a[i] = b[i] = (unsigned char)random32();
		stop = false;
		if (pthread_create(&thread, NULL, disturb, &n))
			exit(2);
		for (int i = 0; i < 20000; i++)
			expect_both(a, b, n, 0);
		a[n - 1] = other_than(b[n - 1]);
		for (int i = 0; i < 20000; i++)
			expect_both(a, b, n, a[n - 1] - b[n - 1]);
		stop = true;
		pthread_join(thread, NULL);
	}
}

/* Sizes that no object has, such as -1: what a program means that knows of a difference further on. */
static void test_huge(void)
{
	unsigned char *a = arena[0] + PAGE, *b = arena[1] + PAGE;

	if ((uintptr_t)memcmp_sse2 + (uintptr_t)memcmp_path.order == (uintptr_t)next_definition("memcmp", NULL))
		return; /* libc's own affair */
	memset(a, 1, 64);
	memset(b, 1, 64);
	for (size_t at = 0; at < 32; at++) {
		b[at] = 2;
		expect_both(a, b, SIZE_MAX, -1);
		expect_both(a, b, SIZE_MAX / 2, -1);
		b[at] = 1;
	}
}

static void select_function(const char *function_name, int (*function)(const void *, const void *, size_t), bool order)
{
	name = function_name;
	f = function;
	ordered = order;
	calls = 0;
}

/* As before the constructor, which has run here. */
static const struct memcmp_path static_path = { .words_n = NO_WORDS };

/* What on_trap does: after steps_left more instructions of f, store the fields of the path that are named by a bit of set_fields. */
#define EFLAGS_TF 0x100
static struct memcmp_path set_to;
static unsigned set_fields;
static volatile bool stepping, in_f;
static volatile long steps_left;

static void store_path(const struct memcmp_path *path, unsigned fields)
{
	if (fields & 1)
		memcmp_path.words_n = path->words_n;
	if (fields & 2)
		memcmp_path.avx512_below = path->avx512_below;
	if (fields & 4)
		memcmp_path.order = path->order;
	if (fields & 8)
		memcmp_path.equal = path->equal;
}

/* Arrives at int3, then before each instruction, as the trap flag is set in what it returns to, until the path is stored. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig, (void)info;
	in_f = in_f || (uintptr_t)reg[REG_RIP] == (uintptr_t)f;
	if (in_f && stepping && steps_left-- == 0) {
		store_path(&set_to, set_fields);
		stepping = false;
	}
	if (stepping)
		reg[REG_EFL] |= EFLAGS_TF;
	else
		reg[REG_EFL] &= ~EFLAGS_TF;
}

/*
 * The path becomes what it is now, whole or in part, before each instruction that a call of the function executes: as a thread sees it that
 * another library's constructor has started, while this library's constructor runs.
 */
static void test_path_stored(const char *function_name, int (*function)(const void *, const void *, size_t), bool order)
{
	static const size_t sizes[] = { 0, 1, 19, 20, 40, 64, 65, 129 };
	static const unsigned fields[] = { 1, 2, 4, 8, 15 };
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO }, before;

	select_function(function_name, function, order);
	set_to = memcmp_path;
	sigaction(SIGTRAP, &action, &before);
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		size_t n = sizes[k];
		unsigned char *a = arena[0] + PAGE - n, *b = arena[1] + PAGE - n;

		/* What lies around the bytes differs. */
		memset(arena[0], 0x11, SPAN);
		memset(arena[1], 0x44, SPAN);
		memset(a, 0x22, n);
		memset(b, 0x22, n);
		for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
			for (int differ = 0; differ < 2 && (!differ || n); differ++) {
				bool stored = true;

				if (n)
					b[n - 1] = differ ? 0x33 : 0x22;
				set_fields = fields[i];
				for (long step = 0; stored; step++) {
					memcmp_path = static_path;
					steps_left = step;
					in_f = false;
					stepping = true;
					__asm__ volatile("int3" ::: "memory");
					expect(a, b, n, differ ? -0x11 : 0);
					stored = !stepping;
					stepping = false;
				}
			}
	}
	sigaction(SIGTRAP, &before, NULL);
	memcmp_path = set_to;
	printf("%-32s %9lu calls\n", name, calls);
}

static void test_function(const char *function_name, int (*function)(const void *, const void *, size_t), bool order)
{
	bool more = getenv("CHECK_LONG") != NULL;

	select_function(function_name, function, order);
	test_nothing();
	test_alignments(more ? 140 : 70, MAX_N, more ? 1 : 61);
	test_guard_pages(more ? 1100 : 300, more ? 1 : 67);
	test_neighbours();
	test_huge();
	printf("%-32s %9lu calls\n", name, calls);
}

static unsigned char *new_arena(void)
{
	unsigned char *p = mmap(NULL, SPAN + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE, SPAN, PROT_READ | PROT_WRITE)) {
		perror("mmap");
		exit(2);
	}
	return p + PAGE;
}

/* The entries on the path that is set up now. */
static void test_entries(const char *path)
{
	char title[3][64];

	snprintf(title[0], sizeof title[0], "memcmp, %s", path);
	snprintf(title[1], sizeof title[1], "bcmp, %s", path);
	snprintf(title[2], sizeof title[2], "__memcmpeq, %s", path);
	test_function(title[0], memcmp, true);
	test_function(title[1], bcmp, false);
	test_function(title[2], __memcmpeq, false);

	/* A thread that has looked at the path before the constructor set it arrives there with any n. */
	select_function("behind memcmp", (memcmp_fn *)((uintptr_t)memcmp_sse2 + (uintptr_t)memcmp_path.order), true);
	test_guard_pages(300, 67);
	select_function("behind __memcmpeq", (memcmp_fn *)((uintptr_t)memeq_sse2 + (uintptr_t)memcmp_path.equal), false);
	test_guard_pages(300, 67);
}

/* The closed door: what answers is libc's. */
static void check_handed_over(const char *path)
{
	uintptr_t libc = (uintptr_t)next_definition("memcmp", NULL);

	if (doors[DOOR_MEMCMP].open || memcmp_path.avx512_below || memcmp_path.words_n != NO_WORDS || (uintptr_t)memcmp_sse2 + memcmp_path.order != libc) {
		printf("FAILED: %s: the closed door has not handed over\n", path);
		exit(1);
	}
}

int main(void)
{
	static const struct {
		const char *level, *kernel; /* NULL: the door closes itself */
		unsigned needs;
	} levels[] = { { "generic", NULL, 0 }, { "ssse3", NULL, 0 }, { "avx2", "avx2", CPU_AVX2 }, { "avx512", "avx512", CPU_AVX512 } };
	struct door *door = &doors[DOOR_MEMCMP];

	for (int i = 0; i < 2; i++)
		arena[i] = new_arena();
	setvbuf(stdout, NULL, _IOLBF, 0);

	memcmp_path = static_path;
	test_entries("static");

	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		cpu_init(NULL);
		if ((cpu_features & levels[i].needs) != levels[i].needs) {
			printf("%s: not on this processor\n", levels[i].level);
			continue;
		}
		cpu_init(levels[i].level);
		door->wanted = true;
		counting = false;
		memcmp_door_init();
		if (!levels[i].kernel) {
			check_handed_over(levels[i].level);
			continue;
		}
		if (!door->open || !door->kernel || strcmp(door->kernel, levels[i].kernel)) {
			printf("FAILED: level %s: kernel %s\n", levels[i].level, door->kernel ? door->kernel : "(none)");
			return 1;
		}
		test_path_stored("memcmp, path being stored", memcmp, true);
		test_path_stored("__memcmpeq, path being stored", __memcmpeq, false);
		test_entries(levels[i].level);
		counting = true;
		memcmp_door_init();
		uint64_t before = door->calls;
		char title[64];
		snprintf(title, sizeof title, "memcmp, %s, counted", levels[i].level);
		test_function(title, memcmp, true);
		uint64_t counted = door->calls - before;
		if (counted < calls) { /* the test's own calls come on top */
			printf("FAILED: %lu calls, %lu counted\n", calls, (unsigned long)counted);
			return 1;
		}
		counting = false;
	}

	test_function("memcmp_sse2", memcmp_sse2, true);
	test_function("memeq_sse2", memeq_sse2, false);
	cpu_init(NULL);
	if (cpu_features & CPU_AVX2) {
		test_function("memcmp_avx2", memcmp_avx2, true);
		test_function("memeq_avx2", memeq_avx2, false);
	}
	if (cpu_features & CPU_AVX512) {
		test_function("memcmp_avx512", memcmp_avx512, true);
		test_function("memeq_avx512", memeq_avx512, false);
	}

	door->wanted = false;
	door->open = false;
	memcmp_door_init();
	test_path_stored("memcmp, path being stored", memcmp, true);
	test_path_stored("__memcmpeq, path being stored", __memcmpeq, false);
	check_handed_over("closed");
	test_entries("closed");
	printf("levels run: generic%s%s\n", cpu_features & CPU_AVX2 ? " avx2" : "", cpu_features & CPU_AVX512 ? " avx512" : "");
	return 0;
}
