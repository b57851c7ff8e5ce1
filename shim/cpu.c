/* cpu.c - what this processor can do, from glibc's own record: the cpuid instruction traps in virtual machines */
#include "elf_objects.h"
#include "fastsha.h"

#include <cpuid.h>
#include <string.h>

unsigned cpu_features;

/* One cpuid leaf as glibc keeps it (sys/platform/x86.h, glibc 2.33 and later): what the processor says, and what may be used. */
struct glibc_leaf {
	struct {
		unsigned eax, ebx, ecx, edx;
	} cpuid, active;
};

/* Indices of the leaves in glibc's record. */
enum { GLIBC_LEAF_1 = 0, GLIBC_LEAF_7 = 1, GLIBC_LEAF_80000001 = 2, GLIBC_LEAF_7_1 = 6 };

/* The registers that hold the bits below; "usable" ones already say that the operating system saves the registers. */
struct leaves {
	unsigned usable_1_ecx, usable_7_ebx, usable_7_edx, usable_80000001_ecx, usable_7_1_eax;
	unsigned amd_80000001_ecx; /* as the processor says */
};

#define BIT(n) (1u << (n))
#define ALL(word, bits) (((word) & (bits)) == (bits))

#define SSE41_1_ECX (BIT(0) | BIT(9) | BIT(19)) /* SSE3, SSSE3, SSE4.1 */
#define MOVBE_1_ECX BIT(22)
#define AVX2_7_EBX (BIT(3) | BIT(5) | BIT(8))                  /* BMI1, AVX2, BMI2 */
#define AVX512_7_EBX (BIT(16) | BIT(17) | BIT(30) | BIT(31))   /* F, DQ, BW, VL */
#define SHA_7_EBX BIT(29)
#define FP16_7_EDX BIT(23)
#define LZCNT_80000001_ECX BIT(5)
#define MISALIGNSSE_80000001_ECX BIT(7) /* set by AMD and Hygon, never by Intel */
#define AVX_VNNI_7_1_EAX BIT(4)

/* glibc's record honours GLIBC_TUNABLES and XCR0. False where this glibc has none. */
static bool read_glibc(struct leaves *l)
{
	const struct glibc_leaf *(*leaf)(unsigned);
	void *symbol = next_definition("__x86_get_cpuid_feature_leaf", NULL);

	if (!symbol)
		return false;
	memcpy(&leaf, &symbol, sizeof leaf);
	const struct glibc_leaf *l1 = leaf(GLIBC_LEAF_1), *l7 = leaf(GLIBC_LEAF_7), *l8 = leaf(GLIBC_LEAF_80000001), *l71 = leaf(GLIBC_LEAF_7_1);
	*l = (struct leaves){
		.usable_1_ecx = l1->active.ecx,
		.usable_7_ebx = l7->active.ebx,
		.usable_7_edx = l7->active.edx,
		.usable_80000001_ecx = l8->active.ecx,
		.usable_7_1_eax = l71->active.eax,
		.amd_80000001_ecx = l8->cpuid.ecx,
	};
	return true;
}

static void read_cpuid(struct leaves *l)
{
	unsigned a, b, c, d, xcr0 = 0;

	*l = (struct leaves){ 0 };
	if (!__get_cpuid(1, &a, &b, &c, &d))
		return;
	l->usable_1_ecx = c;
	if (c & BIT(27)) /* OSXSAVE: xgetbv exists */
		__asm__("xgetbv" : "=a"(xcr0), "=d"(d) : "c"(0));
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
		l->usable_7_ebx = b;
		l->usable_7_edx = d;
		if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
			l->usable_7_1_eax = a;
	}
	if (__get_cpuid(0x80000001, &a, &b, &c, &d))
		l->usable_80000001_ecx = l->amd_80000001_ecx = c;
	if (!ALL(xcr0, 0x06)) { /* XMM and YMM state */
		l->usable_7_ebx &= ~BIT(5);
		l->usable_7_1_eax &= ~AVX_VNNI_7_1_EAX;
	}
	if (!ALL(xcr0, 0xe6)) { /* masks and ZMM state, too */
		l->usable_7_ebx &= ~AVX512_7_EBX;
		l->usable_7_edx &= ~FP16_7_EDX;
	}
}

static unsigned features_of(const struct leaves *l)
{
	unsigned f = 0;
	bool intel = !(l->amd_80000001_ecx & MISALIGNSSE_80000001_ECX);

	if (!ALL(l->usable_1_ecx, SSE41_1_ECX))
		return 0;
	f |= CPU_SSSE3;
	if (l->usable_7_ebx & SHA_7_EBX)
		f |= CPU_SHA;
	if (ALL(l->usable_7_ebx, AVX2_7_EBX) && (l->usable_1_ecx & MOVBE_1_ECX) && (l->usable_80000001_ecx & LZCNT_80000001_ECX)) {
		f |= CPU_AVX2;
		if (ALL(l->usable_7_ebx, AVX512_7_EBX))
			f |= CPU_AVX512;
	}
	/* Skylake-X to Ice Lake lower their clock for 512-bit registers; Sapphire Rapids, the first with FP16, no longer does. */
	if ((f & CPU_AVX512) && intel && !(l->usable_7_edx & FP16_7_EDX))
		f |= CPU_NO_ZMM;
	/* Golden Cove and its successors, the first big cores with AVX-VNNI, run sha1msg2 from microcode. */
	if ((f & CPU_SHA) && intel && (l->usable_7_1_eax & AVX_VNNI_7_1_EAX))
		f |= CPU_SLOW_SHA1MSG;
	/* On Intel's cores, that is: about 200 to change over, and as much to change back (measured on Emerald Rapids). */
	if ((f & CPU_SHA) && (f & CPU_AVX2) && intel)
		f |= CPU_SLOW_MIX;
	return f;
}

#define LEVELS (CPU_SSSE3 | CPU_AVX2 | CPU_AVX512)

static const struct {
	const char *name;
	unsigned levels;
} levels[] = {
	{ "avx512", CPU_SSSE3 | CPU_AVX2 | CPU_AVX512 },
	{ "avx2", CPU_SSSE3 | CPU_AVX2 },
	{ "ssse3", CPU_SSSE3 },
	{ "generic", 0 },
};

bool cpu_init(const char *level)
{
	struct leaves l;

	if (!read_glibc(&l))
		read_cpuid(&l);
	cpu_features = features_of(&l);
	if (!level || !*level)
		return true;
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		size_t n = strlen(levels[i].name);
		if (strncmp(level, levels[i].name, n) != 0)
			continue;
		if (level[n] == 0)
			cpu_features &= levels[i].levels | CPU_TRAITS;
		else if (strcmp(level + n, "+sha") == 0)
			cpu_features &= levels[i].levels | CPU_TRAITS | CPU_SHA;
		else
			return false;
		if (!(cpu_features & CPU_AVX512))
			cpu_features &= ~CPU_NO_ZMM;
		return true;
	}
	return false;
}

const char *cpu_level_name(void)
{
	static const char names[][2][12] = {
		{ "generic", "generic+sha" },
		{ "ssse3", "ssse3+sha" },
		{ "avx2", "avx2+sha" },
		{ "avx512", "avx512+sha" },
	};
	unsigned f = cpu_features & LEVELS;
	int level = f & CPU_AVX512 ? 3 : f & CPU_AVX2 ? 2 : f & CPU_SSSE3 ? 1 : 0;

	return names[level][!!(cpu_features & CPU_SHA)];
}
