/* client_transcript.c - random programs over libcrypto's digest functions; prints what every call returned, to be compared */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * client_transcript LIBRARY FIRST COUNT: the programs of seeds FIRST to FIRST + COUNT - 1. LIBRARY, a libcrypto of any version from 1.1.1
 * on, is loaded into the global scope, and every function that it has is looked up there, where a preloaded library comes first. No header
 * of it is needed. Each program runs in a process of its own, since some leave libcrypto without providers.
 */

typedef void *fn;

/* The functions that are used, by name; those of later versions may be missing. */
#define FUNCTIONS(X)                                                                                                        \
	X(SHA1_Init) X(SHA1_Update) X(SHA1_Final) X(SHA1_Transform)                                                         \
	X(SHA224_Init) X(SHA224_Update) X(SHA224_Final)                                                                     \
	X(SHA256_Init) X(SHA256_Update) X(SHA256_Final) X(SHA256_Transform)                                                 \
	X(SHA384_Init) X(SHA384_Update) X(SHA384_Final) X(SHA512_Init) X(SHA512_Update) X(SHA512_Final) X(SHA512_Transform) \
	X(SHA1) X(SHA224) X(SHA256) X(SHA384) X(SHA512)                                                                     \
	X(EVP_sha1) X(EVP_sha224) X(EVP_sha256) X(EVP_sha384) X(EVP_sha512) X(EVP_sha512_256) X(EVP_md5)                    \
	X(EVP_MD_CTX_new) X(EVP_MD_CTX_free) X(EVP_MD_CTX_reset) X(EVP_MD_CTX_copy_ex) X(EVP_MD_CTX_set_flags)              \
	X(EVP_DigestInit_ex) X(EVP_DigestUpdate) X(EVP_DigestFinal_ex) X(EVP_Digest) X(EVP_MD_fetch) X(EVP_MD_free)         \
	X(EVP_Q_digest) X(EVP_set_default_properties) X(OSSL_PROVIDER_load) X(OSSL_PROVIDER_unload)                         \
	X(OSSL_LIB_CTX_new) X(OSSL_LIB_CTX_free) X(OSSL_LIB_CTX_set0_default)                                               \
	X(HMAC) X(HMAC_CTX_new) X(HMAC_CTX_free) X(HMAC_CTX_copy) X(HMAC_CTX_reset) X(HMAC_Init_ex) X(HMAC_Update) X(HMAC_Final) \
	X(EVP_PKEY_new_raw_private_key) X(EVP_PKEY_free) X(EVP_DigestSignInit) X(EVP_DigestSignFinal) X(ERR_get_error)      \
	X(PKCS5_PBKDF2_HMAC)

enum {
#define X(name) I_##name,
	FUNCTIONS(X)
#undef X
};

static struct {
	const char *name;
	fn function;
} functions[] = {
#define X(name) { #name, NULL },
	FUNCTIONS(X)
#undef X
};

#define HAVE(name) (functions[I_##name].function != NULL)
/* Calls by name, with arguments and result as they are: integers and pointers. */
#define INT(name, ...) (((int (*)())functions[I_##name].function)(__VA_ARGS__))
#define PTR(name, ...) (((void *(*)())functions[I_##name].function)(__VA_ARGS__))


static uint64_t state;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1d >> 16;
}

static unsigned char data[20000];

static size_t size(void)
{
	static const size_t edges[] = { 0, 1, 3, 55, 56, 57, 63, 64, 65, 111, 112, 119, 127, 128, 129 };

	switch (rnd() % 4) {
	case 0:
		return rnd() % 10000;
	case 1:
		return rnd() % 300;
	default:
		return edges[rnd() % (sizeof edges / sizeof *edges)];
	}
}

static void hex(const char *what, long result, const void *bytes, size_t n)
{
	printf("%s %ld ", what, result);
	for (size_t i = 0; i < n; i++)
		printf("%02x", ((const unsigned char *)bytes)[i]);
	putchar('\n');
}

/* What the library thinks went wrong. */
static void errors(void)
{
	unsigned long e;

	while ((e = ((unsigned long (*)())functions[I_ERR_get_error].function)()) != 0)
		printf("error %lx\n", e);
}

static const struct low_level {
	int init, update, final, transform, one_shot;
	size_t context, digest;
} low_level[] = {
	{ I_SHA1_Init, I_SHA1_Update, I_SHA1_Final, I_SHA1_Transform, I_SHA1, 96, 20 },
	{ I_SHA224_Init, I_SHA224_Update, I_SHA224_Final, I_SHA256_Transform, I_SHA224, 112, 28 },
	{ I_SHA256_Init, I_SHA256_Update, I_SHA256_Final, I_SHA256_Transform, I_SHA256, 112, 32 },
	{ I_SHA384_Init, I_SHA384_Update, I_SHA384_Final, I_SHA512_Transform, I_SHA384, 216, 48 },
	{ I_SHA512_Init, I_SHA512_Update, I_SHA512_Final, I_SHA512_Transform, I_SHA512, 216, 64 },
};

#define LOW(index, type) ((type (*)())functions[index].function)

static void low_level_program(void)
{
	const struct low_level *l = &low_level[rnd() % 5];
	uint64_t context[2][32] = { { 0 } };
	unsigned char md[80] = { 0 };
	size_t n;

	printf("%s %d\n", functions[l->init].name, LOW(l->init, int)(context[0]));
	for (int step = (int)(rnd() % 12); step >= 0; step--) {
		switch (step ? rnd() % 8 : 7) {
		case 4:
			memcpy(context[1], context[0], l->context);
			LOW(l->final, int)(md, context[1]);
			hex("copy", 0, md, sizeof md);
			break;
		case 5:
			LOW(l->transform, void)(context[0], data + rnd() % 100);
			break;
		case 6:
			if (rnd() % 3 == 0)
				LOW(l->init, int)(context[0]);
			break;
		case 7:
			n = rnd() % 4;
			memset(md, 0, sizeof md);
			hex("final", LOW(l->final, int)(md + n, context[0]), md, sizeof md);
			break;
		default:
			n = size();
			hex("update", LOW(l->update, int)(context[0], data + rnd() % 64, n), context[0], l->context);
		}
	}
}

static void one_shot_program(void)
{
	const struct low_level *l = &low_level[rnd() % 5];
	unsigned char md[80] = { 0 }, *result;
	size_t n = size();
	int into_static = rnd() % 4 == 0;

	result = LOW(l->one_shot, unsigned char *)(n || rnd() % 2 ? data + rnd() % 64 : NULL, n, into_static ? NULL : md);
	hex(functions[l->one_shot].name, result == md ? 1 : result ? 2 : 0, result ? result : md, l->digest);
	hex("beside", 0, md, sizeof md);
	errors();
}

static void *digest(void)
{
	static const int all[] = { I_EVP_sha1, I_EVP_sha224, I_EVP_sha256, I_EVP_sha384, I_EVP_sha512, I_EVP_sha512_256, I_EVP_md5 };

	return LOW(all[rnd() % (sizeof all / sizeof *all)], void *)();
}

static void evp_program(void)
{
	void *context[2] = { PTR(EVP_MD_CTX_new), PTR(EVP_MD_CTX_new) };
	static const char *const names[] = { "SHA1", "SHA2-224", "SHA256", "SHA512", "SHA2-512/256", "SHA3-256", "NONSENSE" };
	void *fetched = HAVE(EVP_MD_fetch) && rnd() % 2 ? PTR(EVP_MD_fetch, NULL, names[rnd() % 7], NULL) : NULL;
	void *md_type = fetched ? fetched : digest();
	unsigned char md[80];
	unsigned length;

	if (rnd() % 4 == 0)
		INT(EVP_MD_CTX_set_flags, context[0], 1); /* EVP_MD_CTX_FLAG_ONESHOT */
	/* 1.1.1 crashes on updates without an init. */
	if (!HAVE(EVP_MD_fetch))
		INT(EVP_DigestInit_ex, context[1], md_type, NULL);
	printf("EVP init %d\n", rnd() % 16 || !HAVE(EVP_MD_fetch) ? INT(EVP_DigestInit_ex, context[0], md_type, NULL) : -1);
	for (int step = (int)(rnd() % 12); step >= 0; step--) {
		int which = rnd() % 4 == 0;

		memset(md, 0, sizeof md);
		length = 0;
		switch (step ? rnd() % 9 : 7) {
		case 4:
			printf("EVP copy %d\n", INT(EVP_MD_CTX_copy_ex, context[!which], context[which]));
			break;
		case 5:
			printf("EVP reset %d\n", HAVE(EVP_MD_fetch) ? INT(EVP_MD_CTX_reset, context[which]) : -1);
			break;
		case 6:
			printf("EVP init again %d\n", INT(EVP_DigestInit_ex, context[which], rnd() % 2 ? md_type : digest(), NULL));
			break;
		case 7:
			hex("EVP final", INT(EVP_DigestFinal_ex, context[which], md, &length), md, length);
			break;
		case 8:
			hex("EVP_Digest", INT(EVP_Digest, data + rnd() % 64, size(), md, &length, digest(), NULL), md, length);
			break;
		default:
			printf("EVP update %d\n", INT(EVP_DigestUpdate, context[which], data + rnd() % 64, size()));
		}
		errors();
	}
	INT(EVP_MD_CTX_free, context[0]);
	INT(EVP_MD_CTX_free, context[1]);
	if (fetched)
		INT(EVP_MD_free, fetched);
}

static void mac_program(void)
{
	unsigned char md[80] = { 0 };
	unsigned length = 0;
	size_t key_length = size() % 300, signature = sizeof md;

	PTR(HMAC, digest(), data, (int)key_length, data + 5, size(), md, &length);
	hex("HMAC", 0, md, length);

	void *context[2] = { PTR(HMAC_CTX_new), PTR(HMAC_CTX_new) };
	printf("HMAC init %d\n", INT(HMAC_Init_ex, context[0], data, (int)key_length, digest(), NULL));
	for (int step = (int)(rnd() % 8); step >= 0; step--) {
		int which = rnd() % 4 == 0;

		length = 0;
		switch (step ? rnd() % 6 : 3) {
		case 3:
			hex("HMAC final", INT(HMAC_Final, context[which], md, &length), md, length);
			printf("HMAC init again %d\n", INT(HMAC_Init_ex, context[which], data + 9, 20, digest(), NULL));
			break;
		case 4:
			printf("HMAC copy %d\n", INT(HMAC_CTX_copy, context[!which], context[which]));
			break;
		default:
			printf("HMAC update %d\n", INT(HMAC_Update, context[which], data + rnd() % 64, size()));
		}
		errors();
	}
	INT(HMAC_CTX_free, context[0]);
	INT(HMAC_CTX_free, context[1]);

	void *key = PTR(EVP_PKEY_new_raw_private_key, 855 /* EVP_PKEY_HMAC */, NULL, data, key_length);
	void *sign = PTR(EVP_MD_CTX_new);
	printf("sign init %d\n", INT(EVP_DigestSignInit, sign, NULL, digest(), NULL, key));
	for (int step = (int)(rnd() % 4); step > 0; step--)
		printf("sign update %d\n", INT(EVP_DigestUpdate, sign, data + rnd() % 64, size()));
	int result = INT(EVP_DigestSignFinal, sign, md, &signature);
	hex("sign final", result, md, result == 1 ? signature : 0);
	INT(EVP_MD_CTX_free, sign);
	INT(EVP_PKEY_free, key);
	INT(PKCS5_PBKDF2_HMAC, "password", -1, data, 8, 1 + (int)(rnd() % 20), digest(), 40, md);
	hex("PBKDF2", 0, md, 40);
	errors();
}

/* Where the default library context has other properties, providers or a successor, algorithms may be missing: then one-shots fail. */
static void context_program(void)
{
	unsigned char md[80] = { 0 };
	void *provider, *context;
	int rounds = 1 + (int)(rnd() % 4);

	if (!HAVE(OSSL_PROVIDER_load))
		return;
	one_shot_program();
	switch (rnd() % 3) {
	case 0:
		printf("properties %d\n", INT(EVP_set_default_properties, NULL, rnd() % 2 ? "fips=yes" : "provider=nobody"));
		while (rounds--)
			one_shot_program();
		printf("properties %d\n", INT(EVP_set_default_properties, NULL, ""));
		break;
	case 1:
		/* A provider that was asked for by name keeps the default one from being loaded; one that is loaded already stays. */
		provider = PTR(OSSL_PROVIDER_load, NULL, rnd() % 2 ? "null" : "default");
		printf("provider %d\n", provider != NULL);
		while (rounds--)
			one_shot_program();
		printf("unload %d\n", INT(OSSL_PROVIDER_unload, provider));
		break;
	default:
		context = PTR(OSSL_LIB_CTX_new);
		provider = PTR(OSSL_PROVIDER_load, context, "null");
		PTR(OSSL_LIB_CTX_set0_default, context);
		while (rounds--)
			one_shot_program();
		PTR(OSSL_LIB_CTX_set0_default, NULL);
		if (rnd() % 2) {
			int result = INT(EVP_Q_digest, context, "SHA256", NULL, data, (size_t)100, md, NULL);

			hex("EVP_Q_digest", result, md, 32);
		}
		INT(OSSL_PROVIDER_unload, provider);
		INT(OSSL_LIB_CTX_free, context);
	}
	errors();
	one_shot_program();
}

static void program(uint64_t seed)
{
	state = (seed + 1) * 0x9e3779b97f4a7c15;
	for (int part = (int)(rnd() % 4); part >= 0; part--) {
		switch (rnd() % 8) {
		case 0:
		case 1:
			low_level_program();
			break;
		case 2:
		case 3:
			one_shot_program();
			break;
		case 4:
		case 5:
			evp_program();
			break;
		case 6:
			mac_program();
			break;
		default:
			context_program();
		}
	}
}

int main(int argc, char **argv)
{
	void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;

	if (!library) {
		fprintf(stderr, "%s\n", argc == 4 ? dlerror() : "usage: client_transcript LIBRARY FIRST COUNT");
		return 2;
	}
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		functions[i].function = dlsym(library, functions[i].name) ? dlsym(RTLD_DEFAULT, functions[i].name) : NULL;
	uint64_t first = strtoull(argv[2], NULL, 0), count = strtoull(argv[3], NULL, 0);

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i % 251 * 7 + i / 251);
	for (uint64_t seed = first; seed < first + count; seed++) {
		int status = 0;

		printf("program %llu\n", (unsigned long long)seed);
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			program(seed);
			exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
			printf("ended with status %#x\n", (unsigned)status);
	}
	return 0;
}
