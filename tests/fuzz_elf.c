/*
 * fuzz_elf.c - libFuzzer target: malformed ELF images in memory, as loaded objects, for elf_objects.c, relro.c and the search for git's table
 *
 * What the loader guarantees is kept: PT_LOAD segments are mapped as they say. Everything else is the input's: other program headers, dynamic
 * section, symbol and hash tables, what RELRO holds.
 */
#include <elf.h>
#include <link.h>

/* The objects of this program are ours to tell. */
static int fuzz_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);
#define dl_iterate_phdr fuzz_iterate
#include "../shim/elf_objects.c"
#include "../shim/relro.c"
#include "../shim/git_hooks.c"

#include <stdarg.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct door doors[DOOR_COUNT];
bool counting;

void door_open(enum door_id id, const char *kernel, const char *why, ...)
{
	(void)why;
	doors[id].kernel = kernel;
	doors[id].open = true;
}

void door_close(enum door_id id, const char *why, ...)
{
	(void)why;
	doors[id].open = false;
}

enum { IMAGE = 5 * PAGE, HEADERS = 8 };

static struct {
	uintptr_t base;
	ElfW(Phdr) phdr[HEADERS];
	size_t phnum;
} objects[2];
static unsigned char *image;

static int fuzz_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	for (int i = 0; i < 2; i++) {
		struct dl_phdr_info info = { .dlpi_addr = objects[i].base, .dlpi_name = i ? "/lib/x" : "", .dlpi_phdr = objects[i].phdr,
					     .dlpi_phnum = (ElfW(Half))objects[i].phnum };
		int result = callback(&info, sizeof info, data);

		if (result)
			return result;
	}
	return 0;
}

static size_t number(const uint8_t **at, const uint8_t *end)
{
	size_t n = 0;

	for (int i = 0; i < 2 && *at < end; i++)
		n = n << 8 | *(*at)++;
	return n;
}

/*
 * Bytes: for each of the headers, a kind (dynamic, RELRO, both or other), and its start and size; then patches of the image: a place, a kind (address of
 * code, of data, of a string, the words of a hash table's row, or eight bytes as they are).
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = bytes + size;

	if (!image) {
		image = mmap(NULL, IMAGE + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		image += PAGE;
		cpu_init(NULL);
	}
	mprotect(image, IMAGE, PROT_READ | PROT_WRITE);
	memset(image, 0, IMAGE);
	memset(rows, 0, sizeof rows);
	shape_name = NULL;
	doors[DOOR_GIT].wanted = true;

	/* The last page is read-only data, the first code: there is nothing to run in it, and nothing may. */
	uintptr_t base = (uintptr_t)image;

	objects[0].base = base;
	objects[0].phdr[0] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0, .p_memsz = PAGE };
	objects[0].phdr[1] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = PAGE, .p_memsz = 3 * PAGE };
	objects[0].phdr[2] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 4 * PAGE, .p_memsz = PAGE - number(&at, end) % 100 };
	objects[0].phnum = HEADERS;
	for (int i = 3; i < HEADERS; i++) {
		size_t kind = number(&at, end);

		objects[0].phdr[i] = (ElfW(Phdr)){ .p_type = kind & 1 ? PT_DYNAMIC : kind & 2 ? PT_GNU_RELRO : (ElfW(Word))kind,
						   .p_flags = PF_R,
						   .p_vaddr = number(&at, end) * (kind & 4 ? 0x100000001 : 1),
						   .p_memsz = kind & 8 ? -number(&at, end) : number(&at, end) };
	}
	objects[1].base = (uintptr_t)visit;
	objects[1].phdr[0] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0, .p_memsz = 1 };
	objects[1].phnum = 1;

	while (end - at >= 4) {
		size_t place = number(&at, end) % (IMAGE - 8), value = number(&at, end);
		uintptr_t word = 0;
		static const char strings[][8] = { "sha1", "sha256", "inflate" };

		switch (value & 7) {
		case 0:
			word = base + value / 8 % PAGE;
			break;
		case 1:
			word = base + PAGE + value / 8 % (3 * PAGE);
			break;
		case 2:
			word = base + 4 * PAGE + value / 8 % PAGE;
			break;
		case 3:
			memcpy(image + place, strings[value / 8 % 3], 8);
			continue;
		case 4:
			if (place + 40 <= IMAGE) {
				uintptr_t row[5] = { base + 4 * PAGE + value / 16 % PAGE, value & 8 ? FORMAT_SHA256 : FORMAT_SHA1, value & 8 ? 32 : 20,
						     value & 8 ? 64 : 40, 64 };

				memcpy(image + place / 8 * 8, row, sizeof row);
			}
			continue;
		case 5:
			/* A dynamic entry's tag. */
			word = (uintptr_t[]){ DT_SYMTAB, DT_STRTAB, DT_STRSZ, DT_GNU_HASH, DT_VERSYM, DT_SONAME, DT_FLAGS, DT_NEEDED }[value / 8 % 8];
			break;
		case 6:
			word = value / 8;
			break;
		default:
			for (int i = 0; i < 8 && at < end; i++)
				word = word << 8 | *at++;
		}
		memcpy(image + (value & 0x8000 ? place : place / 8 * 8), &word, 8);
	}
	mprotect(image, PAGE, PROT_READ);
	mprotect(image + 4 * PAGE, PAGE, PROT_READ);

	struct object o, other;

	object_main(&o);
	object_by_soname(&other, "sha1");
	object_by_address(&other, image + 2 * PAGE);
	next_definition("inflate", &other);
	object_symbol(&o, "inflate");
	object_symbol(&o, "sha1");
	scope_definition(&o, "sha1", &other);

	static unsigned char before[IMAGE];

	memcpy(before, image, IMAGE);
	git_door_init();
	/* What has changed lies in RELRO, and is one of our functions now. */
	for (size_t i = 0; i < IMAGE; i++)
		if (image[i] != before[i]) {
			void *word;

			memcpy(&word, image + i / 8 * 8, 8);
			bool ours = false;
			for (int r = 0; r < ROW_COUNT; r++)
				ours |= word == (void *)replacements[r].update || word == (void *)replacements[r].final ||
					word == (void *)replacements[r].final_oid;
			if (!ours || base + i < o.relro || base + i >= o.relro_end || !doors[DOOR_GIT].open)
				abort();
		}
	doors[DOOR_GIT].open = false;
	return 0;
}
