/* cycles.h - core cycles by way of the time-stamp counter, and whether the core was quiet while they were counted */
#ifndef CYCLES_H
#define CYCLES_H

/*
 * The time-stamp counter ticks at a fixed rate, the core at a changing one. So every sample is bracketed by a chain of dependent adds,
 * one cycle each on every x86-64 core, which says how many ticks a cycle takes just then; and by independent adds, whose throughput says
 * whether the core was ours: a sibling thread that is busy takes its share of the execution units, and scalar code is slowed by
 * up to 1.5 where a chain of SHA-NI instructions is not. Samples from a core that was shared are set aside, not averaged in.
 *
 *	static void sha1_4k(void *arg) { sha1_blocks(arg, 64); }
 *	struct contender c[] = { { .name = "ours", .run = sha1_4k, .arg = buffer }, { .name = "theirs", ... } };
 *	measure(c, 2, 201, 5000, 1.0);
 *	printf("%s: %.1f cycles a call\n", c[0].name, c[0].cycles);
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

/* The counter, with everything before it done and nothing after it begun. */
static inline uint64_t ticks_now(void)
{
	_mm_lfence();
	uint64_t t = __rdtsc();
	_mm_lfence();
	return t;
}

/* What two readings of the counter in a row differ by: to be subtracted from short times. */
static inline uint64_t ticks_overhead(void)
{
	static uint64_t overhead;

	if (!overhead) {
		uint64_t best = UINT64_MAX;

		for (int i = 0; i < 200; i++) {
			uint64_t t = ticks_now();
			t = ticks_now() - t;
			if (t < best)
				best = t;
		}
		overhead = best;
	}
	return overhead;
}

/* N times 500 dependent adds: 500 N cycles. Register to register: some cores fold immediate adds away. */
static inline void add_chain(uint64_t n)
{
	uint64_t x = 1;

	__asm__ volatile("1:\n\t"
			 ".rept 500\n\tadd %[x], %[x]\n\t.endr\n\t"
			 "dec %[n]\n\tjnz 1b"
			 : [x] "+r"(x), [n] "+r"(n)
			 :
			 : "cc");
}

/* N times 160 adds in eight independent chains. */
static inline void add_chains8(uint64_t n)
{
	uint64_t a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, g = 1, h = 1;

	__asm__ volatile("1:\n\t"
			 ".rept 20\n\t"
			 "add %[a], %[a]\n\tadd %[b], %[b]\n\tadd %[c], %[c]\n\tadd %[d], %[d]\n\t"
			 "add %[e], %[e]\n\tadd %[f], %[f]\n\tadd %[g], %[g]\n\tadd %[h], %[h]\n\t"
			 ".endr\n\t"
			 "dec %[n]\n\tjnz 1b"
			 : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [e] "+r"(e), [f] "+r"(f), [g] "+r"(g), [h] "+r"(h),
			   [n] "+r"(n)
			 :
			 : "cc");
}

/* Ticks per core cycle just now: the better of two runs of 6,000 cycles each, so that an interrupt does not count. */
static inline double ticks_per_cycle(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 2; i++) {
		uint64_t t = ticks_now();
		add_chain(12);
		t = ticks_now() - t;
		if (t < best)
			best = t;
	}
	return (double)(best - ticks_overhead()) / 6000;
}

/* Independent adds per cycle just now, about 1,500 cycles: the number of adders where the core is ours alone (Zen 5: 6, less overhead). */
static inline double adds_per_cycle(double tpc)
{
	uint64_t t = ticks_now();

	add_chains8(40);
	return 40 * 160 * tpc / (double)(ticks_now() - t - ticks_overhead());
}

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline void sort_doubles(double *v, size_t n)
{
	qsort(v, n, sizeof *v, compare_doubles);
}

/* The Q quantile (0 to 1) of N sorted values, interpolated; 0 for none. */
static inline double quantile(const double *sorted, size_t n, double q)
{
	if (!n)
		return 0;
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;

	return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

/* The median; sorts V. */
static inline double median(double *v, size_t n)
{
	sort_doubles(v, n);
	return quantile(v, n, 0.5);
}

static inline double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ticks per second, measured over SECONDS: to turn cycles into seconds. */
static inline double ticks_per_second(double seconds)
{
	double start = seconds_now(), now;
	uint64_t t = ticks_now();

	do
		now = seconds_now();
	while (now - start < seconds);
	return (double)(ticks_now() - t) / (now - start);
}

/* One of the functions that measure() runs in turn; it fills in what comes after ARG. */
struct contender {
	const char *name;
	void (*run)(void *arg);
	void *arg;

	unsigned inner;        /* calls in a sample */
	double cycles;         /* a call's: median of the quiet samples */
	double low, high;      /* their quartiles */
	double seconds;        /* a call's, at the clock rate that the core had */
	int quiet, samples;
	double *all, *probe;   /* internal */
};

/*
 * Runs N contenders in turn, SAMPLES rounds or SECONDS (0: no limit) long, whichever ends first; a sample repeats a call until it takes
 * SAMPLE_CYCLES. Interleaved, since a processor's clock and neighbours change over seconds. A sample is quiet when its probes
 * reached 0.93 of what the best tenth of all did; where no sample of a contender is, all count. Returns what that tenth reached, in
 * adds per cycle: about the number of adders, or somebody was busy all the time.
 */
static inline double measure(struct contender *c, size_t n, int samples, double sample_cycles, double seconds)
{
	double start = seconds_now(), rate = ticks_per_second(0.002), tpc_sum = 0;
	double *probes = calloc(n * (size_t)samples, sizeof *probes);
	size_t rounds = 0;

	for (size_t i = 0; i < n; i++) {
		double tpc = ticks_per_cycle();

		c[i].all = calloc(2 * (size_t)samples, sizeof *c[i].all);
		c[i].probe = c[i].all + samples;
		c[i].run(c[i].arg);
		uint64_t t = ticks_now();
		c[i].run(c[i].arg);
		double once = (double)(ticks_now() - t - ticks_overhead()) / tpc;
		c[i].inner = once >= sample_cycles ? 1 : (unsigned)(sample_cycles / (once < 10 ? 10 : once)) + 1;
	}
	while (rounds < (size_t)samples && !(seconds > 0 && rounds >= 3 && seconds_now() - start > seconds)) {
		for (size_t i = 0; i < n; i++) {
			double tpc = ticks_per_cycle(), probe = adds_per_cycle(tpc);

			c[i].run(c[i].arg);
			uint64_t t = ticks_now();
			for (unsigned k = 0; k < c[i].inner; k++)
				c[i].run(c[i].arg);
			t = ticks_now() - t - ticks_overhead();
			double tpc2 = ticks_per_cycle(), probe2 = adds_per_cycle(tpc2);
			if (tpc2 < tpc)
				tpc = tpc2;
			c[i].all[rounds] = (double)t / tpc / c[i].inner;
			c[i].probe[rounds] = probe < probe2 ? probe : probe2;
			probes[rounds * n + i] = c[i].probe[rounds];
			tpc_sum += tpc;
		}
		rounds++;
	}
	double tpc_mean = tpc_sum / (double)(rounds * n);
	sort_doubles(probes, rounds * n);
	double best = quantile(probes, rounds * n, 0.9);
	free(probes);
	for (size_t i = 0; i < n; i++) {
		size_t quiet = 0;

		for (size_t r = 0; r < rounds; r++)
			if (c[i].probe[r] >= 0.93 * best)
				c[i].probe[quiet++] = c[i].all[r];
		double *v = quiet ? c[i].probe : c[i].all;
		size_t used = quiet ? quiet : rounds;
		c[i].cycles = median(v, used);
		c[i].low = quantile(v, used, 0.25);
		c[i].high = quantile(v, used, 0.75);
		c[i].seconds = c[i].cycles * tpc_mean / rate;
		c[i].quiet = (int)quiet;
		c[i].samples = (int)rounds;
		free(c[i].all);
		c[i].all = c[i].probe = NULL;
	}
	return best;
}

#endif
