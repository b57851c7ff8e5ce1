/* fuzz_sha1dc.c - libFuzzer target: messages, also steered towards conditions and near published collisions, against the plain evaluation */
#define main test_main
#include "test_sha1dc.c"
#undef main

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static unsigned char collision[4][1 << 12];
static size_t collision_size[4];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const names[] = { "shattered-1", "shattered-2", "shambles-1", "shambles-2" };

	(void)argc, (void)argv;
	cpu_init(NULL);
	real = cpu_features;
	read_tables("shim/gen");
	make_forms();
	for (int i = 0; i < 4; i++) {
		char path[100];

		snprintf(path, sizeof path, "tests/collisions/%s.hex", names[i]);
		collision_size[i] = read_hex(collision[i], path);
	}
	return 0;
}

/* Bytes: seed of the pieces (8), level, what to do, vectors to steer towards (4), then the message, or changes to a published one. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static unsigned char message[1 << 16];
	struct sha1dc_ctx ctx;
	unsigned char expect[20], digest[20];
	uint32_t wanted;

	if (size < 14)
		return 0;
	level = &levels[bytes[8] % LEVELS];
	if (!has(level->features))
		return 0;
	cpu_features = level->features;
	memcpy(&random_state, bytes, 8);
	random_state |= 1;
	memcpy(&wanted, bytes + 10, 4);

	bool steered = bytes[9] & 1, published = bytes[9] & 2, scratch = bytes[9] & 4, safe_hash = bytes[9] & 8;
	unsigned which = bytes[9] >> 4 & 3;

	bytes += 14, size -= 14;
	size_t n = size < sizeof message ? size : sizeof message;
	if (published) {
		/* The rest is pairs: a place, and what to change there; one more bit of the length for what follows. */
		memcpy(message, collision[which], collision_size[which]);
		n = collision_size[which];
		for (size_t i = 0; i + 3 <= size; i += 3)
			message[(bytes[i] | bytes[i + 1] << 8) % n] ^= bytes[i + 2];
	} else {
		memcpy(message, bytes, n);
	}
	for (size_t at = 0; steered && at + 64 <= n; at += 64)
		steer(message + at, wanted);

	bool found = oracle(expect, message, n);

	make_ctx(&ctx);
	ctx.safe_hash = safe_hash;
	switch (stream(&ctx, message, 0, n, scratch, digest, 1)) {
	case SERVED:
		CHECK(!found, "a collision that was not found");
		CHECK(memcmp(digest, expect, 20) == 0, "digest, length %zu", n);
		break;
	case COLLISION:
		CHECK(found || safe_hash, "found a collision where there is none");
		break;
	case REFUSED:
		/* Short messages and contexts without scratch space, where there is no SHA-NI. */
		CHECK(false, "length %zu refused", n);
		break;
	}
	if (failures) {
		fflush(stdout);
		abort();
	}
	return 0;
}
