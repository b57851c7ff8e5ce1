/* callers.h - what a call would have reached without us, where no object that the program was started with has the function */
#ifndef CALLERS_H
#define CALLERS_H

#include "elf_objects.h"

#include <stdatomic.h>

/* The functions that are asked for: indices into what is remembered of each caller. */
enum { CALLERS_SHA = 0, CALLERS_ZLIB = 13, CALLERS_DEFLATE = 18, CALLERS_FUNCTIONS = 27 };

/* A calling object, and what its calls would have reached: see callers.c. */
struct caller {
	uintptr_t start;
	_Atomic uintptr_t size;      /* start and size: the object in memory */
	unsigned long long unloaded; /* how many objects had been unloaded, when this was true */
	_Atomic(void *) target[CALLERS_FUNCTIONS]; /* NULL: not asked for yet */
};

/* The last one of whom everything here stays true; NULL: none yet. */
extern struct caller *_Atomic lasting_caller;

/* The answer of caller_target, where it is that caller who asks again; otherwise NULL. */
static inline void *caller_target_again(unsigned function, const void *address)
{
	const struct caller *c = atomic_load_explicit(&lasting_caller, memory_order_acquire);

	if (!c || (uintptr_t)address - c->start >= atomic_load_explicit(&c->size, memory_order_relaxed))
		return NULL;
	return atomic_load_explicit(&c->target[function], memory_order_relaxed);
}

/* What answers a call of FUNCTION that would have reached DEFINITION in OWNER. */
typedef void *caller_choice(unsigned function, void *definition, const struct object *owner);

/*
 * What CHOOSE makes of the definition that a call of NAME from ADDRESS would have reached: that of the calling object or of what it needs,
 * otherwise any. NULL: there is none. Remembered (as FUNCTION) for as long as it stays true.
 */
void *caller_target(unsigned function, const char *name, const void *address, caller_choice *choose);

#endif
