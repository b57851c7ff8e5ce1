/*
 * preload_collide.c - feeds bytes to the hash functions of the git process that it is preloaded into
 *
 * COLLIDE_FILE=FILE: the bytes. Just before git's main runs, the first row of git's hash table whose name is "sha1" is looked up by a scan of
 * this file's own, and its functions are called with the bytes. Where they find no collision, the digest is printed, and the process ends.
 *   COLLIDE_PIECE=N   update is called with N bytes at a time (default: all at once)
 *   COLLIDE_END=oid   ends with final_oid instead of final
 *   COLLIDE_CLONE=N   after N bytes the context is cloned, and the clone carries on
 *   COLLIDE_FLIP=all  hashes the bytes once for every bit, with that bit changed, and prints every digest
 *   COLLIDE_ROW=unsafe  takes the functions for files that git itself has just written (git 2.47 and later)
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void init_fn(void *ctx);
typedef void clone_fn(void *to, const void *from);
typedef void update_fn(void *ctx, const void *in, size_t size);
typedef void final_fn(unsigned char *hash, void *ctx);

/* What the row offers; clone and final_oid are NULL in old versions. */
static struct {
	init_fn *init;
	clone_fn *clone;
	update_fn *update;
	final_fn *final, *final_oid;
} sha1;

static void give_up(const char *why)
{
	fprintf(stderr, "preload_collide: %s\n", why);
	_exit(99);
}

/* The main program's segments. */
struct image {
	uintptr_t relro, relro_end;
	struct {
		uintptr_t start, end;
	} load[16];
	size_t loads;
};

static int describe_main(struct dl_phdr_info *info, size_t size, void *data)
{
	struct image *image = data;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_GNU_RELRO) {
			image->relro = start;
			image->relro_end = start + ph->p_memsz;
		} else if (ph->p_type == PT_LOAD && image->loads < 16) {
			image->load[image->loads].start = start;
			image->load[image->loads++].end = start + ph->p_memsz;
		}
	}
	return 1; /* the first object is the main program */
}

/* Does the address lie in the main program? */
static int in_image(const struct image *image, uintptr_t address)
{
	for (size_t i = 0; i < image->loads; i++)
		if (address >= image->load[i].start && address < image->load[i].end)
			return 1;
	return 0;
}

struct code_query {
	uintptr_t address;
	int found;
};

static int code_in(struct dl_phdr_info *info, size_t size, void *data)
{
	struct code_query *query = data;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X && query->address - info->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			query->found = 1;
	}
	return query->found;
}

/* Does a function lie there, in whatever object? */
static int is_code(uintptr_t address)
{
	struct code_query query = { address, 0 };

	return dl_iterate_phdr(code_in, &query);
}

static int is_sha1_row(const struct image *image, const uintptr_t *word)
{
	return in_image(image, (uintptr_t)word) && in_image(image, word[0]) && !strcmp((const char *)word[0], "sha1") &&
	       word[1] == 0x73686131 && word[2] == 20 && word[3] == 40 && word[4] == 64;
}

static const uintptr_t *row_between(const struct image *image, uintptr_t start, uintptr_t end)
{
	for (const uintptr_t *word = (const uintptr_t *)((start + 7) & -8ul); word + 20 < (const uintptr_t *)end; word++)
		if (is_sha1_row(image, word))
			return word;
	return NULL;
}

static void find_row(void)
{
	struct image image = { 0 };
	const uintptr_t *word, *f;
	size_t functions = 0, first_final = 3;

	dl_iterate_phdr(describe_main, &image);
	word = row_between(&image, image.relro, image.relro_end);
	/* Without RELRO the table is among the variables, in a program at a fixed address among the read-only data. */
	for (size_t i = 0; !word && i < image.loads; i++)
		word = row_between(&image, image.load[i].start, image.load[i].end);
	if (!word)
		give_up("no row \"sha1\" in the main program");

	f = word + 5;
	while (is_code(f[functions]))
		functions++;
	/* 3: init, update, final. 4: with clone. 5, 6: with final_oid (and discard). 10: followed by the unsafe five. */
	if (getenv("COLLIDE_ROW")) {
		const uintptr_t *unsafe = (const uintptr_t *)f[functions + 3];

		if (functions != 10 && !is_sha1_row(&image, unsafe))
			give_up("this git has no unsafe functions");
		f = functions == 10 ? f + 5 : unsafe + 5;
	}
	switch (functions) {
	case 3:
		first_final = 2;
		break;
	case 5:
	case 6:
	case 10:
		sha1.final_oid = (final_fn *)f[4];
		/* fallthrough */
	case 4:
		sha1.clone = (clone_fn *)f[1];
		break;
	default:
		give_up("a row of an unknown shape");
	}
	sha1.init = (init_fn *)f[0];
	sha1.update = (update_fn *)f[first_final - 1];
	sha1.final = (final_fn *)f[first_final];
}

static size_t number(const char *name, size_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 10) : otherwise;
}

static void hash(const unsigned char *bytes, size_t size)
{
	/* A row's context is 8-byte aligned in git, not more. */
	static uint64_t contexts[2][4096 / 8 + 1];
	void *ctx = &contexts[0][1], *copy = &contexts[1][1];
	unsigned char digest[64] = { 0 };
	size_t piece = number("COLLIDE_PIECE", size), clone_after = number("COLLIDE_CLONE", SIZE_MAX);
	const char *last = getenv("COLLIDE_END");

	sha1.init(ctx);
	for (size_t done = 0, n; done < size; done += n) {
		n = size - done < piece ? size - done : piece;
		if (done < clone_after && done + n > clone_after)
			n = clone_after - done;
		sha1.update(ctx, bytes + done, n);
		if (done + n == clone_after) {
			sha1.init(copy);
			sha1.clone(copy, ctx);
			memset(ctx, 0xa5, 4096);
			ctx = copy;
		}
	}
	(last ? sha1.final_oid : sha1.final)(digest, ctx);
	for (size_t i = 0; i < 20; i++)
		printf("%02x", digest[i]);
	putchar('\n');
}

static void collide(const char *path)
{
	static unsigned char bytes[1 << 20];
	FILE *in = fopen(path, "rb");
	size_t size;

	if (!in)
		give_up("cannot read COLLIDE_FILE");
	size = fread(bytes, 1, sizeof(bytes), in);
	fclose(in);
	find_row();
	if (getenv("COLLIDE_FLIP")) {
		for (size_t bit = 0; bit < 8 * size; bit++) {
			bytes[bit / 8] ^= 1 << bit % 8;
			hash(bytes, size);
			bytes[bit / 8] ^= 1 << bit % 8;
		}
	} else {
		hash(bytes, size);
	}
	exit(0);
}

static int (*git_main)(int, char **, char **);

static int main_in_between(int argc, char **argv, char **envp)
{
	const char *path = getenv("COLLIDE_FILE");

	if (path)
		collide(path);
	return git_main(argc, argv, envp);
}

typedef int start_fn(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

/* Every constructor has run when main does, the library's own too. */
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	start_fn *next = (start_fn *)dlsym(RTLD_NEXT, "__libc_start_main");

	git_main = main;
	return next(main_in_between, argc, argv, init, fini, rtld_fini, stack_end);
}
