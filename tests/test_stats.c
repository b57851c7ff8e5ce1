/* test_stats.c - the command's statistics: medians, deviations, and how often the 95 % interval holds the truth */
#include "../cli/stats.c"

#include <math.h>
#include <stdio.h>

static int failures;

static void check(const char *what, double is, double expected, double tolerance)
{
	if (!(fabs(is - expected) <= tolerance)) {
		printf("FAILED %s: %.9g, expected %.9g\n", what, is, expected);
		failures++;
	}
}

/* The sum of four uniform numbers, squared: skewed to the right, as times are. Its median is 4, that of the sum being 2. */
static double skewed(uint64_t *state)
{
	double sum = 0;

	for (int i = 0; i < 4; i++)
		sum += (double)(random_next(state) >> 11) / 0x1p53;
	return sum * sum;
}

/* In how many of SERIES series of N values does the interval contain the median? */
static double coverage(size_t n, int series)
{
	uint64_t state = 42 + n;
	double v[200];
	int hits = 0;

	for (int s = 0; s < series; s++) {
		for (size_t i = 0; i < n; i++)
			v[i] = skewed(&state);
		struct interval r = bootstrap_median(v, n, (uint64_t)s + 1);
		hits += r.low <= 4 && 4 <= r.high;
		if (!(r.low <= r.median && r.median <= r.high)) {
			printf("FAILED the median lies outside its own interval\n");
			failures++;
		}
	}
	return 100.0 * hits / series;
}

int main(void)
{
	double odd[] = { 5, 1, 3 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 }, equal[] = { 2, 2, 2, 2, 2 };

	check("median of 3", median_of(odd, 3), 3, 0);
	check("median of 4", median_of(even, 4), 2.5, 0);
	check("median of 1", median_of(one, 1), 7, 0);
	check("median of none", median_of(one, 0), 0, 0);
	check("median leaves its input alone", odd[0], 5, 0);
	check("mean", mean(even, 4), 2.5, 1e-12);
	check("standard deviation", standard_deviation(even, 4), sqrt(5.0 / 3), 1e-12);
	check("standard deviation of equals", standard_deviation(equal, 5), 0, 0);
	check("standard deviation of one", standard_deviation(one, 1), 0, 0);
	sort_doubles(even, 4);
	check("lower quartile", quantile(even, 4, 0.25), 1.75, 1e-12);
	check("maximum", quantile(even, 4, 1), 4, 0);

	struct interval r = bootstrap_median(one, 1, 1);
	check("interval of one value, low", r.low, 7, 0);
	check("interval of one value, high", r.high, 7, 0);
	r = bootstrap_median(equal, 5, 1);
	check("interval of equals", r.high - r.low, 0, 0);
	struct interval a = bootstrap_median(even, 4, 9), b = bootstrap_median(even, 4, 9);
	check("the same seed, the same interval", a.low - b.low + a.high - b.high, 0, 0);

	for (size_t n = 10; n <= 100; n += n == 10 ? 20 : 70) {
		double c = coverage(n, 500);

		printf("the interval of %zu values holds the median in %.1f %% of 500 series\n", n, c);
		if (c < 92 || c > 99.5) {
			printf("FAILED that is not 95 %%\n");
			failures++;
		}
	}
	if (!failures)
		printf("statistics: all right\n");
	return failures != 0;
}
