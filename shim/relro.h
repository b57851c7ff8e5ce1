/* relro.h - swap pointers that an object holds as constants */
#ifndef RELRO_H
#define RELRO_H

#include "elf_objects.h"

/* One word to replace: only where *WORD still holds OLD. */
struct relro_swap {
	void **word;
	void *old, *new;
};

/*
 * Replaces N words, all in OBJECT's RELRO or all in one segment of constants without code, all or none: makes the pages writable, swaps, makes
 * them read-only again. Returns NULL, or in words why nothing was changed. errno is kept.
 */
const char *relro_swap(const struct object *object, const struct relro_swap *swaps, size_t n);

#endif
