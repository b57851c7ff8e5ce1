/* preload_loads.c - loads a plugin before libfastsha.so's constructor runs, and unloads it, with its libraries, when asked to */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *handle;

/* Preloaded behind libfastsha.so, this library is initialised before it. */
__attribute__((constructor)) static void load(void)
{
	handle = dlopen(getenv("LOADS"), RTLD_NOW | RTLD_LOCAL);
}

/* Where zlib was, nothing is from then on. Returns 0 where that has come about. */
int unload_early(void);

int unload_early(void)
{
	uintptr_t page = handle ? (uintptr_t)dlsym(handle, "inflate") & -(uintptr_t)4096 : 0;

	if (!page || dlclose(handle) != 0)
		return 1;
	return mmap((void *)page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)page;
}
