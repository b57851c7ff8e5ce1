/*
 * sample.h - timing in true core cycles, on a core that is known to be quiet
 *
 * The time-stamp counter ticks at a constant rate, the core does not. So every sample is bracketed by a chain of dependent additions, which
 * takes one cycle each whatever else happens on the core, and by additions that do not depend on each other: a core shared with a busy
 * neighbour does fewer of those in a cycle. Samples where it did are not used.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdint.h>
#include <stdlib.h>
#include <x86intrin.h>

static inline uint64_t ticks(void)
{
	uint64_t t;

	_mm_lfence();
	t = __rdtsc();
	_mm_lfence();
	return t;
}

/* Ticks a cycle, from 6000 dependent additions. */
static inline double ticks_per_cycle(void)
{
	double best = 1e9;

	for (int k = 0; k < 2; k++) {
		uint64_t x = 1, n = 60, t = ticks();

		__asm__ volatile("1:\n.rept 100\nadd %0, %0\n.endr\ndec %1\njnz 1b" : "+r"(x), "+r"(n) : : "cc");
		t = ticks() - t;
		if (t < best * 6090)
			best = t / 6090.0;
	}
	return best;
}

/* Independent additions done in a cycle. */
static inline double additions_per_cycle(double per_cycle)
{
	uint64_t a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, g = 1, h = 1, n = 40, t = ticks();

	__asm__ volatile("1:\n.rept 20\nadd %0, %0\nadd %1, %1\nadd %2, %2\nadd %3, %3\nadd %4, %4\nadd %5, %5\nadd %6, %6\nadd %7, %7\n.endr\n"
			 "dec %8\njnz 1b"
			 : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h), "+r"(n) : : "cc");
	t = ticks() - t;
	return 40 * 160.0 / (t / per_cycle - 30);
}

struct sample {
	double cycles, quiet; /* quiet: additions a cycle, the lower of before and after */
};

/* One call of FUNCTION(ARGUMENT). */
static inline struct sample sample(void (*function)(void *), void *argument)
{
	double per_cycle = ticks_per_cycle(), quiet = additions_per_cycle(per_cycle), after, quiet_after;
	uint64_t t = ticks();

	function(argument);
	t = ticks() - t;
	after = ticks_per_cycle();
	quiet_after = additions_per_cycle(after);
	if (after < per_cycle)
		per_cycle = after;
	return (struct sample){ t / per_cycle, quiet < quiet_after ? quiet : quiet_after };
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of N values, which are sorted by it, with a 95 % confidence interval from order statistics. */
static inline double median(double *values, int n, double *low, double *high)
{
	int reach;

	if (!n)
		return *low = *high = 0;
	qsort(values, n, sizeof(*values), ascending);
	for (reach = 0; (double)reach * reach < 0.96 * n && reach < n / 2; reach++) /* 1.96 sqrt(n) / 2, rounded up */
		;
	*low = values[n / 2 - reach];
	*high = values[n / 2 + reach < n ? n / 2 + reach : n - 1];
	return values[n / 2];
}

#endif
