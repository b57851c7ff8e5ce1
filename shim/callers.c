/* callers.c - what a call would have reached without us, where no object that the program was started with has the function */
#include "callers.h"

#include "fastsha.h"

/*
 * A library that comes later, by dlopen, may bring the function, and several may bring several: a plugin finds its own, or that of a library
 * which it needs. All their calls arrive at ours, which the program was started with. So the answer depends on who calls. It is kept for each
 * calling object, in a list that only grows, and holds until an object is unloaded: another may then lie at the same addresses. Only an object
 * that is never unloaded, nor what it needs, is free of that (libcrypto is one, the program another).
 */
#define NEVER_UNLOADED (~0ull)

struct caller *_Atomic lasting_caller;
static COLD_BSS struct caller callers[32 + 1]; /* the first one of size 0 ends the list */
static atomic_flag caller_lock = ATOMIC_FLAG_INIT;

static int first_object(struct dl_phdr_info *info, size_t size, void *unloaded)
{
	(void)size;
	*(unsigned long long *)unloaded = info->dlpi_subs;
	return 1;
}

/* How many objects have been unloaded so far. */
static unsigned long long unloaded_objects(void)
{
	unsigned long long unloaded = 0;

	dl_iterate_phdr(first_object, &unloaded);
	return unloaded;
}

static struct caller *find_caller(uintptr_t address, unsigned function)
{
	unsigned long long unloaded = NEVER_UNLOADED;

	for (struct caller *c = callers;; c++) {
		uintptr_t size = atomic_load_explicit(&c->size, memory_order_acquire);

		if (!size)
			return NULL;
		if (address - c->start >= size || !atomic_load_explicit(&c->target[function], memory_order_relaxed))
			continue;
		if (c->unloaded == NEVER_UNLOADED) {
			atomic_store_explicit(&lasting_caller, c, memory_order_release);
			return c;
		}
		if (unloaded == NEVER_UNLOADED)
			unloaded = unloaded_objects();
		if (c->unloaded == unloaded)
			return c;
	}
}

/* Takes note of TARGET. Not where another thread is just doing so, or the list is full: then the next call asks again. */
static void remember(const struct object *o, unsigned long long unloaded, unsigned function, void *target)
{
	uintptr_t start = UINTPTR_MAX, end = 0;
	struct caller *c = callers;

	for (size_t i = 0; i < o->phnum; i++) {
		uintptr_t at = o->base + o->phdr[i].p_vaddr;

		if (o->phdr[i].p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + o->phdr[i].p_memsz > end ? at + o->phdr[i].p_memsz : end;
	}
	if (atomic_flag_test_and_set_explicit(&caller_lock, memory_order_acquire))
		return;
	while (c->size && (c->start != start || c->size != end - start || c->unloaded != unloaded))
		c++;
	if (c < &callers[sizeof callers / sizeof *callers - 1]) {
		atomic_store_explicit(&c->target[function], target, memory_order_relaxed);
		c->start = start;
		c->unloaded = unloaded;
		atomic_store_explicit(&c->size, end - start, memory_order_release);
	}
	atomic_flag_clear_explicit(&caller_lock, memory_order_release);
}

void *caller_target(unsigned function, const char *name, const void *address, caller_choice *choose)
{
	struct caller *c = find_caller((uintptr_t)address, function);

	if (c)
		return atomic_load_explicit(&c->target[function], memory_order_relaxed);

	/* Asked for first: what is unloaded while we look makes the answer worthless at once. */
	unsigned long long unloaded = unloaded_objects();
	struct object caller, owner;
	bool known = object_by_address(&caller, address), stays = known && (caller.nodelete || !*caller.path);
	void *definition = known ? scope_definition(&caller, name, &owner) : NULL;

	/* Found among all objects: what is loaded after the owner comes after it in search order, too. */
	if (!definition && (definition = next_definition(name, &owner)))
		stays = stays && owner.nodelete;
	if (!definition)
		return NULL;
	definition = choose(function, definition, &owner);
	if (known)
		remember(&caller, stays ? NEVER_UNLOADED : unloaded, function, definition);
	return definition;
}
