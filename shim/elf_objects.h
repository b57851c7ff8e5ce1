/* elf_objects.h - the loaded ELF objects and their symbols, without dlsym: no allocation, a few microseconds */
#ifndef ELF_OBJECTS_H
#define ELF_OBJECTS_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loaded object, as its program headers and dynamic section describe it. Addresses are run-time ones. */
struct object {
	uintptr_t base;           /* load bias */
	const ElfW(Phdr) *phdr;   /* phnum program headers, in memory */
	size_t phnum;
	const char *path;         /* "" for the main program */
	const char *soname;       /* NULL: none */
	uintptr_t relro, relro_end; /* PT_GNU_RELRO; equal: none */
	const ElfW(Sym) *symtab;
	const char *strtab;
	size_t strsz;
	const uint32_t *gnu_hash; /* NULL: none */
	const uint16_t *versym;   /* NULL: no versions */
	const ElfW(Dyn) *dynamic; /* dynamics entries of the dynamic section */
	size_t dynamics;
	bool symbolic;            /* linked with -Bsymbolic: its own references cannot be interposed */
	bool nodelete;            /* never unloaded, nor what it needs */
};

/*
 * For the constructor, whose doors ask for dozens of symbols: describes all loaded objects once, into OBJECTS, for the functions below to use
 * until objects_forget. Where there are more than ROOM, nothing is remembered, and they walk the loader's list each time.
 */
void objects_remember(struct object *objects, size_t room);
void objects_forget(void);

/* The main program. */
void object_main(struct object *);

/* The first loaded object in search order whose SONAME is SONAME (the dynamic loader too). False: none. */
bool object_by_soname(struct object *, const char *soname);

/* The object that contains ADDRESS. False: none. */
bool object_by_address(struct object *, const void *address);

/* The address of the default-version definition of NAME in the object's dynamic symbol table; NULL: none, undefined or an IFUNC. */
void *object_symbol(const struct object *, const char *name);

/*
 * The definition of NAME after this library's own in search order, what dlsym(RTLD_NEXT, NAME) would find, and the object that has it
 * (OWNER may be NULL). NULL: none is loaded. An IFUNC gives what its resolver returns. Safe before the constructor has run.
 */
void *next_definition(const char *name, struct object *owner);

/*
 * The same for the constructor, where an object has it that the program was started with, and so stays loaded. Others may be there already:
 * constructors that ran before ours call dlopen, too.
 */
void *start_definition(const char *name, struct object *owner);

/*
 * The definition of NAME that a plugin finds by itself: in FROM or in the libraries that it needs, breadth first, and the object that has it.
 * NULL: none of them has one that is no IFUNC.
 */
void *scope_definition(const struct object *from, const char *name, struct object *owner);

/* Where [ADDRESS, ADDRESS + SIZE) lies: in a loaded segment of the object with at least FLAGS (PF_R, PF_X, PF_W)? */
bool object_maps(const struct object *, const void *address, size_t size, unsigned flags);

#endif
