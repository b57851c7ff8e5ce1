/* relro.c - swap pointers in an object's RELRO region: the mechanism of the doors that have no symbol to interpose */
#include "relro.h"

#include <errno.h>
#include <sys/mman.h>

#define PAGE 4096u

const char *relro_swap(const struct object *object, const struct relro_swap *swaps, size_t n)
{
	uintptr_t low = UINTPTR_MAX, high = 0;
	int saved_errno = errno;
	const char *problem = NULL;

	for (size_t i = 0; i < n; i++) {
		uintptr_t at = (uintptr_t)swaps[i].word;

		if (at % sizeof(void *) != 0 || at < object->relro || at >= object->relro_end || object->relro_end - at < sizeof(void *))
			return "a pointer to replace is not in RELRO";
		if (*swaps[i].word != swaps[i].old)
			return "a pointer to replace has changed";
		low = at < low ? at : low;
		high = at > high ? at : high;
	}
	if (!n)
		return NULL;
	/*
	 * The dynamic loader protects the whole pages between the region's first and its last byte, both rounded down; what lies on a page
	 * behind that has stayed writable, and stays so.
	 */
	uintptr_t start = low & -(uintptr_t)PAGE, end = (high & -(uintptr_t)PAGE) + PAGE;
	uintptr_t protected_end = object->relro_end & -(uintptr_t)PAGE;
	if (end > protected_end)
		end = protected_end;
	if (start < end && mprotect((void *)start, end - start, PROT_READ | PROT_WRITE) != 0) {
		problem = errno == EACCES || errno == EPERM ? "the system forbids to make RELRO writable" : "RELRO cannot be made writable";
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
