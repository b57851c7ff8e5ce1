/* elf_objects.c - the loaded ELF objects and their symbols, without dlsym: no allocation, a few microseconds */
#include "elf_objects.h"

#include <string.h>

bool object_maps(const struct object *o, const void *address, size_t size, unsigned flags)
{
	uintptr_t at = (uintptr_t)address;

	for (size_t i = 0; i < o->phnum; i++) {
		const ElfW(Phdr) *p = &o->phdr[i];
		uintptr_t start = o->base + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags && at >= start && at - start < p->p_memsz &&
		    size <= p->p_memsz - (at - start))
			return true;
	}
	return false;
}

/* Whether a table may begin at P: all of them hold words of up to 8 bytes, or (versions) of 2. */
static bool aligned(const void *p, size_t to)
{
	return (uintptr_t)p % to == 0;
}

/* A zero-terminated string of the object: checked to end inside its readable segment. */
static const char *string_at(const struct object *o, size_t offset)
{
	const char *s = o->strtab && offset < o->strsz ? o->strtab + offset : NULL;

	return s && memchr(s, 0, o->strsz - offset) ? s : NULL;
}

/* glibc stores run-time addresses into the dynamic section, but leaves the kernel's vdso, and other loaders all objects, as linked. */
static const void *dynamic_pointer(const struct object *o, ElfW(Addr) value)
{
	const void *p = (const void *)value;

	return object_maps(o, p, 1, PF_R) ? p : (const void *)(o->base + value);
}

/* Fills in OBJECT. Headers that are not to be trusted give an object without symbols. */
static void describe(struct object *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dyn;
	ElfW(Addr) symtab = 0, strtab = 0, hash = 0, versym = 0;
	size_t soname = SIZE_MAX;

	*o = (struct object){ .base = info->dlpi_addr, .phdr = info->dlpi_phdr, .phnum = info->dlpi_phnum, .path = info->dlpi_name };
	for (size_t i = 0; i < o->phnum; i++) {
		const ElfW(Phdr) *p = &o->phdr[i];
		const void *start = (const void *)(o->base + p->p_vaddr);

		if (p->p_type == PT_DYNAMIC && aligned(start, 8) && object_maps(o, start, p->p_memsz, PF_R)) {
			o->dynamic = start;
			o->dynamics = p->p_memsz / sizeof *dyn;
		} else if (p->p_type == PT_GNU_RELRO && object_maps(o, start, p->p_memsz, PF_R)) {
			o->relro = (uintptr_t)start;
			o->relro_end = o->relro + p->p_memsz;
		}
	}
	dyn = o->dynamic;
	for (size_t i = 0; i < o->dynamics && dyn[i].d_tag != DT_NULL; i++) {
		switch (dyn[i].d_tag) {
		case DT_SYMTAB:
			symtab = dyn[i].d_un.d_ptr;
			break;
		case DT_STRTAB:
			strtab = dyn[i].d_un.d_ptr;
			break;
		case DT_STRSZ:
			o->strsz = dyn[i].d_un.d_val;
			break;
		case DT_GNU_HASH:
			hash = dyn[i].d_un.d_ptr;
			break;
		case DT_VERSYM:
			versym = dyn[i].d_un.d_ptr;
			break;
		case DT_SONAME:
			soname = dyn[i].d_un.d_val;
			break;
		case DT_SYMBOLIC:
			o->symbolic = true;
			break;
		case DT_FLAGS:
			o->symbolic |= !!(dyn[i].d_un.d_val & DF_SYMBOLIC);
			break;
		case DT_FLAGS_1:
			o->nodelete = dyn[i].d_un.d_val & DF_1_NODELETE;
			break;
		}
	}
	if (!symtab || !strtab)
		return;
	o->strtab = dynamic_pointer(o, strtab);
	o->symtab = dynamic_pointer(o, symtab);
	if (!object_maps(o, o->strtab, o->strsz, PF_R) || !aligned(o->symtab, 8) || !object_maps(o, o->symtab, sizeof *o->symtab, PF_R)) {
		o->strtab = NULL;
		return;
	}
	if (soname != SIZE_MAX)
		o->soname = string_at(o, soname);
	if (hash) {
		o->gnu_hash = dynamic_pointer(o, hash);
		if (!aligned(o->gnu_hash, 8) || !object_maps(o, o->gnu_hash, 4 * sizeof *o->gnu_hash, PF_R))
			o->gnu_hash = NULL;
	}
	if (versym)
		o->versym = dynamic_pointer(o, versym);
	if (!aligned(o->versym, 2))
		o->versym = NULL;
}

/* The hash function of DT_GNU_HASH (Bernstein's). */
static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		h = h * 33 + *c;
	return h;
}

/* The symbol table's entry of a default-version definition of NAME, or NULL. */
static const ElfW(Sym) *find_symbol(const struct object *o, const char *name, uint32_t hash)
{
	/* DT_GNU_HASH: nbuckets, first hashed symbol, words of the Bloom filter, its second shift; filter; buckets; chains. */
	const uint32_t *table = o->gnu_hash;

	if (!table || !table[0] || !table[2])
		return NULL;
	uint32_t buckets = table[0], first = table[1], filter_words = table[2], shift = table[3];
	const ElfW(Addr) *filter = (const void *)&table[4];
	const uint32_t *bucket = (const void *)&filter[filter_words];
	const uint32_t *chain = &bucket[buckets];

	if (!object_maps(o, filter, filter_words * sizeof *filter + (size_t)buckets * sizeof *bucket, PF_R))
		return NULL;
	ElfW(Addr) word = filter[hash / 64 % filter_words];
	if (!(word >> hash % 64 & word >> (hash >> shift % 32) % 64 & 1))
		return NULL;
	for (uint32_t i = bucket[hash % buckets]; i >= first && i; i++) {
		const ElfW(Sym) *s = &o->symtab[i];

		if (!object_maps(o, &chain[i - first], sizeof *chain, PF_R) || !object_maps(o, s, sizeof *s, PF_R))
			return NULL;
		if ((chain[i - first] | 1) == (hash | 1) && s->st_shndx != SHN_UNDEF && s->st_value) {
			const char *candidate = string_at(o, s->st_name);
			/* The highest bit of a version index marks a version that only an explicit reference gets. */
			bool hidden = o->versym && object_maps(o, &o->versym[i], 2, PF_R) && o->versym[i] & 0x8000;

			if (candidate && !hidden && strcmp(candidate, name) == 0)
				return s;
		}
		if (chain[i - first] & 1)
			return NULL;
	}
	return NULL;
}

void *object_symbol(const struct object *o, const char *name)
{
	const ElfW(Sym) *s = find_symbol(o, name, gnu_hash(name));
	void *p = s ? (void *)(o->base + s->st_value) : NULL;

	return p && ELF64_ST_TYPE(s->st_info) != STT_GNU_IFUNC && object_maps(o, p, 1, PF_R) ? p : NULL;
}

/* What to look for among the loaded objects; the first match ends the walk. */
struct search {
	const char *soname, *symbol;
	const void *address;
	uint32_t hash;
	bool main, passed_own;
	const ElfW(Sym) *entry;
};

static const char *file_name(const struct object *o)
{
	const char *slash = strrchr(o->path, '/');

	return slash ? slash + 1 : o->path;
}

/* What others that need it call it. */
static const char *library_name(const struct object *o)
{
	return o->soname ? o->soname : file_name(o);
}

/* The next library that O needs, by its dynamic section's entries from *AT on; NULL: no more. */
static const char *next_needed(const struct object *o, size_t *at)
{
	while (o->strtab && *at < o->dynamics && o->dynamic[*at].d_tag != DT_NULL) {
		const ElfW(Dyn) *d = &o->dynamic[(*at)++];
		const char *name = d->d_tag == DT_NEEDED ? string_at(o, d->d_un.d_val) : NULL;

		if (name)
			return name;
	}
	return NULL;
}

/* Is the search over with O? */
static bool matches(void *search, const struct object *o)
{
	struct search *s = search;

	if (s->main)
		return true;
	if (s->address)
		return object_maps(o, s->address, 1, PF_R);
	if (s->soname)
		return strcmp(library_name(o), s->soname) == 0;
	if (!s->passed_own) {
		s->passed_own = object_maps(o, (const void *)matches, 1, PF_R);
		return false;
	}
	s->entry = find_symbol(o, s->symbol, s->hash);
	return s->entry != NULL;
}

/* A walk over all objects, until OVER says so; then AT is the last one. */
struct walk {
	bool (*over)(void *data, const struct object *o);
	void *data;
	struct object at;
};

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	struct walk *w = data;

	(void)size;
	describe(&w->at, info);
	return w->over(w->data, &w->at);
}

/* While the constructor runs: what is loaded, described once for its many searches. */
static const struct object *remembered;
static size_t remembered_n;

struct list {
	struct object *objects;
	size_t n, room;
};

static int append(struct dl_phdr_info *info, size_t size, void *data)
{
	struct list *list = data;

	(void)size;
	if (list->n == list->room)
		return 1;
	describe(&list->objects[list->n++], info);
	return 0;
}

void objects_remember(struct object *objects, size_t room)
{
	struct list list = { objects, 0, room };

	if (dl_iterate_phdr(append, &list) != 0)
		return;
	remembered_n = list.n;
	remembered = objects;
}

void objects_forget(void)
{
	remembered = NULL;
}

static bool walk(struct walk *w)
{
	if (!remembered)
		return dl_iterate_phdr(visit, w) == 1;
	for (size_t i = 0; i < remembered_n; i++)
		if (w->over(w->data, &remembered[i])) {
			w->at = remembered[i];
			return true;
		}
	return false;
}

static bool search(struct search *s, struct object *o)
{
	struct walk w = { .over = matches, .data = s };

	if (!walk(&w))
		return false;
	*o = w.at;
	return true;
}

void object_main(struct object *o)
{
	struct search s = { .main = true };

	*o = (struct object){ 0 };
	search(&s, o);
}

bool object_by_soname(struct object *o, const char *soname)
{
	struct search s = { .soname = soname };

	return search(&s, o);
}

bool object_by_address(struct object *o, const void *address)
{
	struct search s = { .address = address };

	return search(&s, o);
}

void *next_definition(const char *name, struct object *owner)
{
	struct search s = { .symbol = name, .hash = gnu_hash(name) };
	struct object found;

	if (!search(&s, &found))
		return NULL;
	if (owner)
		*owner = found;
	void *definition = (void *)(found.base + s.entry->st_value);

	/* What dlsym would do, without its 50 microseconds: the resolver of an IFUNC takes no argument and returns the function. */
	return ELF64_ST_TYPE(s.entry->st_info) == STT_GNU_IFUNC ? ((void *(*)(void))definition)() : definition;
}

/* Why is an object there? Its first user in search order says so. */
struct origin {
	struct object object, program;
	bool program_needs; /* something so far: what was preloaded comes before that */
	bool used;
};

static bool needs(const struct object *o, const struct object *library)
{
	const char *name = library_name(library), *needed;
	size_t at = 0;

	while ((needed = next_needed(o, &at)))
		if (strcmp(needed, name) == 0 || strcmp(needed, library->path) == 0)
			return true;
	return false;
}

static bool find_origin(void *origin, const struct object *o)
{
	struct origin *found = origin;

	if (!found->program.phdr)
		found->program = *o;
	else if (needs(&found->program, o))
		found->program_needs = true;
	found->used = needs(o, &found->object);
	return found->used || o->phdr == found->object.phdr;
}

/* Was the program started with O? Objects that come by dlopen are behind all others in search order. */
static bool started_with(const struct object *o)
{
	static const ElfW(Phdr) *last; /* where the last question has found that it was: most are about the same object */
	struct origin origin = { .object = *o };

	for (int depth = 0; o->phdr != last && depth < 64; depth++) {
		struct walk w = { .over = find_origin, .data = &origin };

		if (!walk(&w) || (!origin.used && origin.program_needs))
			return false;
		if (!origin.used || w.at.phdr == origin.program.phdr)
			last = o->phdr;
		origin = (struct origin){ .object = w.at };
	}
	return o->phdr == last;
}

void *start_definition(const char *name, struct object *owner)
{
	void *definition = next_definition(name, owner);

	return definition && started_with(owner) ? definition : NULL;
}

void *scope_definition(const struct object *from, const char *name, struct object *owner)
{
	const char *needed[64], *library; /* the libraries in breadth-first order, as far as they are known */
	size_t n = 0;
	void *definition;

	*owner = *from;
	for (size_t next = 0; !(definition = object_symbol(owner, name)); next++) {
		for (size_t at = 0; (library = next_needed(owner, &at));) {
			bool known = false;

			for (size_t k = 0; k < n && !known; k++)
				known = strcmp(needed[k], library) == 0;
			if (!known && n < sizeof needed / sizeof *needed)
				needed[n++] = library;
		}
		while (next < n && !object_by_soname(owner, needed[next]))
			next++;
		if (next == n)
			return NULL;
	}
	return definition;
}
