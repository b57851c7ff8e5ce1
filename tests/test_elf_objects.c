/* test_elf_objects.c - loaded objects and symbols found without dlsym, against dlsym and dladdr; swaps in a RELRO region */
#include "elf_objects.h"
#include "relro.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned checks, failures;

static void check(bool ok, const char *what, const char *name)
{
	checks++;
	if (!ok) {
		failures++;
		fprintf(stderr, "failed: %s: %s\n", what, name);
	}
}

/* Every symbol of a library that dlsym finds must be found at the same place, and none that it does not find. */
static void check_library(const char *soname)
{
	struct object o;
	void *handle = dlopen(soname, RTLD_NOW);
	size_t symbols;

	if (!handle)
		return;
	check(object_by_soname(&o, soname), "loaded, but not found", soname);
	check(o.soname && strcmp(o.soname, soname) == 0, "its SONAME", soname);
	/* The dynamic string table follows the symbol table in all linkers' output. */
	symbols = ((uintptr_t)o.strtab - (uintptr_t)o.symtab) / sizeof *o.symtab;
	for (size_t i = 1; i < symbols; i++) {
		const ElfW(Sym) *s = &o.symtab[i];
		const char *name = o.strtab + s->st_name;
		int type = ELF64_ST_TYPE(s->st_info);
		void *ours = object_symbol(&o, name), *theirs = dlsym(handle, name);
		Dl_info info;

		if (type == STT_TLS || type == STT_GNU_IFUNC)
			continue;
		/* dlsym also finds what the library's own dependencies define, and resolves versions that are no default. */
		if (theirs && dladdr(theirs, &info) && (uintptr_t)info.dli_fbase != o.base)
			theirs = NULL;
if (ours || !(o.versym && o.versym[i] & 0x8000))
			check(ours == theirs || (type == STT_OBJECT && ours && theirs), "another address than dlsym's", name);
	}
	check(!object_symbol(&o, "no such symbol"), "found what does not exist", soname);
}

static void check_next(const char *name)
{
	struct object owner;
	void *ours = next_definition(name, &owner), *theirs = dlsym(RTLD_NEXT, name);
	Dl_info info;

	check(ours == theirs, "next_definition", name);
	if (ours && dladdr(ours, &info))
		check((uintptr_t)info.dli_fbase == owner.base, "its owner", name);
}

/* Two pointers in this program's RELRO: the linker puts constant data with relocations there. */
static int one(void)
{
	return 1;
}

static int two(void)
{
	return 2;
}

static int (*const table[])(void) = { one, one };

static int call(size_t i)
{
	int (*const volatile *p)(void) = table;

	return p[i]();
}

static bool writable(const void *p)
{
	int pipe_fds[2];
	bool ok;

	/* read(2) into the page fails with EFAULT where it is read-only. */
	if (pipe(pipe_fds) != 0 || write(pipe_fds[1], p, 1) != 1)
		exit(2);
	ok = read(pipe_fds[0], (void *)p, 1) == 1;
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return ok;
}

static void check_swaps(void)
{
	struct object o;
	void **words = (void **)&table;
	static void *elsewhere = (void *)one;
	struct relro_swap swaps[] = { { &words[0], (void *)one, (void *)two }, { &words[1], (void *)two, (void *)one } };

	object_main(&o);
	check((uintptr_t)words >= o.relro && (uintptr_t)words < o.relro_end, "the table is in RELRO", "main");
	if (!object_by_address(&o, (void *)table) || !o.relro)
		return;
	check(!writable(table), "RELRO is read-only before", "table");
	errno = 77;
	check(relro_swap(&o, swaps, 2) != NULL, "a word that holds something else", "table");
	check(call(0) == 1 && call(1) == 1, "nothing is changed", "table");
	swaps[1].old = (void *)one, swaps[1].new = (void *)two;
	check(relro_swap(&o, swaps, 2) == NULL, "swap", "table");
	check(errno == 77, "errno", "kept");
	check(call(0) == 2 && call(1) == 2, "both are changed", "table");
	check(!writable(table), "RELRO is read-only after", "table");
	swaps[0] = (struct relro_swap){ &elsewhere, (void *)one, (void *)two };
	check(relro_swap(&o, swaps, 1) != NULL && elsewhere == (void *)one, "a word outside RELRO", "data");
	swaps[0] = (struct relro_swap){ .word = (void **)((char *)words + 1) };
	memcpy(&swaps[0].old, swaps[0].word, sizeof swaps[0].old);
	check(relro_swap(&o, swaps, 1) != NULL, "a misaligned word", "table");
	swaps[0] = (struct relro_swap){ (void **)o.relro_end, NULL, NULL };
	check(relro_swap(&o, swaps, 1) != NULL, "a word behind RELRO", "table");
	check(relro_swap(&o, swaps, 0) == NULL, "no words", "table");

	/* A region that ends within a page of a segment that was never writable. */
	void **page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ElfW(Phdr) segment = { .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = (uintptr_t)page, .p_memsz = 4096 };
	struct object odd = { .phdr = &segment, .phnum = 1, .relro = (uintptr_t)page, .relro_end = (uintptr_t)page + 64 };

	mprotect(page, 4096, PROT_READ);
	swaps[0] = (struct relro_swap){ page, NULL, (void *)one };
	check(relro_swap(&odd, swaps, 1) != NULL && !*page, "a region outside of what can be written", "odd");
}

int main(void)
{
	static const char *libraries[] = { "libc.so.6", "libm.so.6", "libz.so.1", "libcrypto.so.3", "libpthread.so.0",
					   "libstdc++.so.6" };
	static const char *names[] = { "malloc", "memcmp", "strlen", "getenv", "qsort", "no_such_function", "_r_debug", "__tls_get_addr", "__x86_get_cpuid_feature_leaf" };
	struct object o;

	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		check_library(libraries[i]);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check_next(names[i]);
	check(!object_by_soname(&o, "libnone.so.1"), "an object that is not loaded", "libnone.so.1");
	object_main(&o);
	check(object_maps(&o, (void *)main, 1, PF_R | PF_X), "main is code of the main program", "main");
	check(!object_maps(&o, (void *)main, SIZE_MAX, PF_R), "an absurd size", "main");
	check(!object_maps(&o, (void *)1, 1, PF_R), "an address of nothing", "1");
	check_swaps();
	printf("%u checks, %u failures\n", checks, failures);
	return failures != 0;
}
