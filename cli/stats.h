/* stats.h - medians, and how far they can be trusted */
#ifndef STATS_H
#define STATS_H

#include "../bench/cycles.h"

#include <stddef.h>
#include <stdint.h>

/* The next of a sequence of random numbers; STATE is any number but 0. */
uint64_t random_next(uint64_t *state);

double mean(const double *v, size_t n);
double standard_deviation(const double *v, size_t n); /* of a sample: divided by n - 1 */
double median_of(const double *v, size_t n);          /* leaves V alone */

/* The median of V with its 95 % interval: the percentile bootstrap (Efron, 1979), 10,000 resamples, fewer of more than 2,000 values. N >= 1. */
struct interval {
	double median, low, high;
};
struct interval bootstrap_median(const double *v, size_t n, uint64_t seed);

#endif
