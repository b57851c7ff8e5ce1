/* fastsha.h - what the parts of libfastsha.so know of each other: processor, doors, counters */
#ifndef FASTSHA_H
#define FASTSHA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
/*
 * For large variables that a process which uses no door does not touch: behind all others, which then share a page with the initialised data.
 * Every page touched costs a start of a process a page fault.
 */
#define COLD_BSS __attribute__((section(".bss.cold")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* A function that searches other objects' memory, between their variables, too. */
#define SEARCHES_MEMORY __attribute__((no_sanitize_address))

/* ---- The processor (cpu.c) ---------------------------------------------------------------------------- */

/* What kernels may use. A level contains all lower ones; CPU_SHA is independent of them. */
enum {
	CPU_SSSE3 = 1 << 0,  /* SSE3, SSSE3, SSE4.1 */
	CPU_AVX2 = 1 << 1,   /* AVX2, BMI1, BMI2, LZCNT, MOVBE; the operating system saves YMM */
	CPU_AVX512 = 1 << 2, /* AVX-512 F, VL, BW, DQ; the operating system saves ZMM and masks */
	CPU_SHA = 1 << 3,    /* SHA-NI (needs CPU_SSSE3) */
	CPU_NO_ZMM = 1 << 4, /* AVX-512, but 512-bit registers lower the clock: prefer 256-bit forms */
	CPU_SLOW_SHA1MSG = 1 << 5, /* SHA-NI with a microcoded sha1msg2: prefer plain vector instructions to all but sha1rnds4 */
	CPU_SLOW_MIX = 1 << 6,     /* SHA-NI instructions cost hundreds of cycles while the upper half of a YMM register is in use */
	CPU_TRAITS = CPU_NO_ZMM | CPU_SLOW_SHA1MSG | CPU_SLOW_MIX, /* what no level lowers */
};
extern unsigned cpu_features; /* 0 until cpu_init has run */

/*
 * Sets cpu_features, lowered to LEVEL (FASTSHA_CPU; NULL: no limit) where that is a known name: generic, ssse3, avx2, avx512, each
 * alone or with "+sha". Returns false, with no limit applied, where it is not.
 */
bool cpu_init(const char *level);
const char *cpu_level_name(void); /* "avx512+sha" and so on: what is in use */

/* ---- Doors ------------------------------------------------------------------------------------------- */

enum door_id { DOOR_LIBCRYPTO, DOOR_GIT, DOOR_MEMCMP, DOOR_INFLATE, DOOR_CHECKSUM, DOOR_DEFLATE, DOOR_COUNT };

struct door {
	const char *name;
	bool wanted;        /* by the settings; fixed before the door's open function runs */
	bool open;          /* calls are answered by us */
	const char *kernel; /* the kernel in use; NULL where closed */
	char why[200];      /* in words a person can act on: why open or closed; empty: closed by the settings */
	_Atomic uint64_t calls, bytes; /* only counted with FASTSHA_REPORT */
};
extern struct door doors[DOOR_COUNT];

/* Opens or closes a door for the record. WHY and KERNEL as in struct door; a printf format keeps WHY short of sizeof why. */
void door_open(enum door_id id, const char *kernel, const char *why, ...) __attribute__((format(printf, 3, 4)));
void door_close(enum door_id id, const char *why, ...) __attribute__((format(printf, 2, 3)));

/*
 * Called once, by the constructor, after the settings and cpu_init. They open their doors where they are wanted and can be served, see to it
 * that the originals are reached where not, and record the outcome.
 */
void libcrypto_door_init(void); /* sha_hooks.c */
void git_door_init(void);       /* git_hooks.c */
void memcmp_door_init(void);    /* memcmp_hook.c */
void zlib_doors_init(void);     /* zlib_hooks.c: the doors inflate, checksum and deflate */

void git_door_describe(void); /* brings the git door's record up to date: its rows are only probed when first used */

/* ---- Counters (report.c) ------------------------------------------------------------------------------ */

extern bool counting; /* true only with FASTSHA_REPORT: hooks count nothing otherwise */

/* Counts a call that we answered, of BYTES input bytes. */
static inline void count_served(enum door_id id, size_t bytes)
{
	if (unlikely(counting)) {
		atomic_fetch_add_explicit(&doors[id].calls, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&doors[id].bytes, bytes, memory_order_relaxed);
	}
}

#endif
