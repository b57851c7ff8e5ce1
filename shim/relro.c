/* relro.c - swap pointers that an object holds as constants: the mechanism of the doors that have no symbol to interpose */
#include "relro.h"

#include <errno.h>
#include <sys/mman.h>

#define PAGE 4096u

/* Memory of one object with one protection, in whole pages; nothing to do where it is writable anyway. */
struct span {
	uintptr_t start, end;
	bool writable;
};

/*
 * The span of constants that AT lies in. RELRO: the dynamic loader protects the whole pages between the region's first and its last byte,
 * both rounded down; what lies on a page behind that has stayed writable, as its segment is, and stays so. Otherwise a segment that is only
 * readable (what is linked to run at a fixed address needs no relocation and so no RELRO), or, in an object without RELRO, what the file
 * holds of a writable segment.
 */
static bool constants_at(const struct object *o, uintptr_t at, struct span *span)
{
	if (at >= o->relro && at < o->relro_end && o->relro_end - at >= sizeof(void *) && object_maps(o, (const void *)at, 1, PF_W)) {
		*span = (struct span){ o->relro & -(uintptr_t)PAGE, o->relro_end & -(uintptr_t)PAGE, false };
		return true;
	}
	for (size_t i = 0; i < o->phnum; i++) {
		const ElfW(Phdr) *p = &o->phdr[i];
		uintptr_t start = o->base + p->p_vaddr, end = start + p->p_filesz;
		bool writable = p->p_flags & PF_W;

		if (p->p_type != PT_LOAD || at < start || at >= end || end - at < sizeof(void *))
			continue;
		*span = (struct span){ start & -(uintptr_t)PAGE, (end + PAGE - 1) & -(uintptr_t)PAGE, writable };
		return !(p->p_flags & PF_X) && (!writable || o->relro == o->relro_end);
	}
	return false;
}

const char *relro_swap(const struct object *object, const struct relro_swap *swaps, size_t n)
{
	uintptr_t low = UINTPTR_MAX, high = 0;
	int saved_errno = errno;
	const char *problem = NULL;
	struct span span, first = { 0 };

	for (size_t i = 0; i < n; i++) {
		uintptr_t at = (uintptr_t)swaps[i].word;

		if (at % sizeof(void *) != 0 || !constants_at(object, at, &span))
			return "a pointer to replace is not among constants";
		if (i == 0)
			first = span;
		if (span.start != first.start)
			return "the pointers to replace lie apart";
		if (*swaps[i].word != swaps[i].old)
			return "a pointer to replace has changed";
		low = at < low ? at : low;
		high = at > high ? at : high;
	}
	if (!n)
		return NULL;
	uintptr_t start = low & -(uintptr_t)PAGE, end = (high & -(uintptr_t)PAGE) + PAGE;
	if (first.writable)
		end = start;
	else if (end > first.end)
		end = first.end;
	if (start < end && mprotect((void *)start, end - start, PROT_READ | PROT_WRITE) != 0) {
		problem = errno == EACCES || errno == EPERM ? "the system forbids to make constants writable" : "constants cannot be made writable";
	} else {
		/* One aligned store each: a thread that reads the word meanwhile sees the old function or the new one. */
		for (size_t i = 0; i < n; i++)
			__atomic_store_n(swaps[i].word, swaps[i].new, __ATOMIC_RELEASE);
		if (start < end)
			mprotect((void *)start, end - start, PROT_READ);
	}
	errno = saved_errno;
	return problem;
}
