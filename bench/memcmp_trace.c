/* memcmp_trace.c - a library to preload that writes down a program's memcmp calls: a histogram, and samples of successive calls */

/*
 *	LD_PRELOAD=build/bench/memcmp_trace.so MEMCMP_TRACE=FOLDER git log --stat
 *
 * At its end, each process writes FOLDER/PID: lines `hist N D COUNT` for COUNT calls of N bytes whose first difference is at D (D = N: none), the most
 * frequent first, and lines `call N D A B` for calls in their order, their pointers A and B modulo 4096; `gap` between samples. The
 * samples are runs of RUN calls, RUNS of them, evenly spread over the process' life.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN 64
#define RUNS 16
#define SLOTS 65536 /* of the histogram, a power of two */

struct call {
	uint32_t n, d;
	uint16_t a, b;
};

static struct {
	uint32_t n, d;
	uint64_t count;
} slots[SLOTS];

static struct call runs[2 * RUNS][RUN];
static uint64_t total, stride = 1; /* every stride-th run is kept */
static unsigned kept;
static _Atomic unsigned lock;

static void note(const unsigned char *a, const unsigned char *b, size_t n, size_t d)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();

	uint32_t n32 = n < 1 << 30 ? n : 1 << 30, d32 = d < n32 ? d : n32;
	uint64_t run = total / RUN, at = total % RUN;

	for (uint32_t i = (n32 * 2654435761u ^ d32 * 2246822519u) % SLOTS, tries = 0; tries < 64; i = (i + 1) % SLOTS, tries++)
		if (!slots[i].count || (slots[i].n == n32 && slots[i].d == d32)) {
			slots[i].n = n32;
			slots[i].d = d32;
			slots[i].count++;
			break;
		}
	if (run % stride == 0) {
		runs[kept][at] = (struct call){ n32, d32, (uintptr_t)a & 4095, (uintptr_t)b & 4095 };
		if (at == RUN - 1 && ++kept == 2 * RUNS) { /* full: keep every other one */
			for (unsigned i = 0; i < RUNS; i++)
				for (unsigned k = 0; k < RUN; k++)
					runs[i][k] = runs[2 * i][k];
			kept = RUNS;
			stride *= 2;
		}
	}
	total++;
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

int memcmp(const void *pa, const void *pb, size_t n)
{
	const unsigned char *a = pa, *b = pb;
	size_t d = 0;

	while (d < n && a[d] == b[d])
		d++;
	note(a, b, n, d);
	return d < n ? a[d] - b[d] : 0;
}

int bcmp(const void *a, const void *b, size_t n) __attribute__((alias("memcmp")));
int __memcmpeq(const void *a, const void *b, size_t n) __attribute__((alias("memcmp")));

static int by_count(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return (a[1] < b[1]) - (a[1] > b[1]);
}

__attribute__((destructor)) static void finish(void)
{
	const char *folder = getenv("MEMCMP_TRACE");
	char path[4096];
	FILE *out;

	lock = 0;
	snprintf(path, sizeof path, "%s/%ld", folder ? folder : "/tmp", (long)getpid());
	if (!folder || !total || !(out = fopen(path, "we")))
		return;
	qsort(slots, SLOTS, sizeof *slots, by_count);
	for (unsigned i = 0; i < SLOTS && slots[i].count; i++)
		fprintf(out, "hist %u %u %llu\n", slots[i].n, slots[i].d, (unsigned long long)slots[i].count);
	for (unsigned i = 0; i < kept; i += kept >= 2 * RUNS ? 2 : 1) {
		fprintf(out, "gap\n");
		for (unsigned k = 0; k < RUN; k++)
			fprintf(out, "call %u %u %u %u\n", runs[i][k].n, runs[i][k].d, runs[i][k].a, runs[i][k].b);
	}
	fclose(out);
}
