/* stats.c - medians, and how far they can be trusted */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016. */
uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

double mean(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return n ? sum / (double)n : 0;
}

double standard_deviation(const double *v, size_t n)
{
	double m = mean(v, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - m) * (v[i] - m);
	/* Newton's method: not worth a library for the mathematical functions. */
	double x = n > 1 ? sum / (double)(n - 1) : 0, root = x;
	for (int i = 0; i < 200 && root > 0; i++)
		root = (root + x / root) / 2;
	return root;
}

double median_of(const double *v, size_t n)
{
	double *copy = malloc((n ? n : 1) * sizeof *copy), m = 0;

	if (copy) {
		memcpy(copy, v, n * sizeof *copy);
		m = median(copy, n);
		free(copy);
	}
	return m;
}

/*
 * A resample picks N of the N values with repetition. Over sorted values that need not be carried out: it is enough to count how often
 * each position is picked and to walk to the middle. Where N is even there are two middle values; the lower ones give the lower
 * end and the upper ones the upper end, since with their mean the interval would hold the median in only 93 % of series of 30.
 */
struct interval bootstrap_median(const double *v, size_t n, uint64_t seed)
{
	size_t resamples = n <= 2000 ? 10000 : 20000000 / n;
	double *sorted = calloc(n + 1, sizeof *sorted), *lower = calloc(resamples, sizeof *lower), *upper = calloc(resamples, sizeof *upper);
	unsigned *picked = calloc(n + 1, sizeof *picked);
	struct interval result = { 0 };
	uint64_t state = seed | 1;

	if (n && sorted && lower && upper && picked) {
		memcpy(sorted, v, n * sizeof *sorted);
		sort_doubles(sorted, n);
		for (size_t b = 0; b < resamples; b++) {
			size_t seen = 0, i = 0;

			memset(picked, 0, n * sizeof *picked);
			for (size_t k = 0; k < n; k++)
				picked[(random_next(&state) >> 32) * n >> 32]++;
			while (seen + picked[i] <= (n - 1) / 2)
				seen += picked[i++];
			lower[b] = sorted[i];
			while (seen + picked[i] <= n / 2)
				seen += picked[i++];
			upper[b] = sorted[i];
		}
		sort_doubles(lower, resamples);
		sort_doubles(upper, resamples);
		result.median = quantile(sorted, n, 0.5);
		result.low = quantile(lower, resamples, 0.025);
		result.high = quantile(upper, resamples, 0.975);
	}
	free(sorted);
	free(lower);
	free(upper);
	free(picked);
	return result;
}
