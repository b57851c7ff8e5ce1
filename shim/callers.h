/* callers.h - what a call would have reached without us, where no object that the program was started with has the function */
#ifndef CALLERS_H
#define CALLERS_H

#include "elf_objects.h"

/* The functions that are asked for: indices into what is remembered of each caller. */
enum { CALLERS_SHA = 0, CALLERS_ZLIB = 13, CALLERS_DEFLATE = 18, CALLERS_FUNCTIONS = 27 };

/* What answers a call of FUNCTION that would have reached DEFINITION in OWNER. */
typedef void *caller_choice(unsigned function, void *definition, const struct object *owner);

/*
 * What CHOOSE makes of the definition that a call of NAME from ADDRESS would have reached: that of the calling object or of what it needs,
 * otherwise any. NULL: there is none. Remembered (as FUNCTION) for as long as it stays true.
 */
void *caller_target(unsigned function, const char *name, const void *address, caller_choice *choose);

#endif
