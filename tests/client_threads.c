/*
 * client_threads.c - a program linked with libcrypto and zlib hashes, decompresses and compares in threads and children
 *
 * client_threads stacks SIZE   in 1,000 threads at once, with stacks of SIZE bytes
 * client_threads fork          in 200 children of fork, while threads keep the loader's lock busy, and begin and end deflate's streams
 * client_threads vfork         in children of vfork, that then run another program, and by posix_spawn
 * client_threads signal        in signal handlers that interrupt the same
 * It prints digests: a program that was served otherwise prints others.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <link.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum { SIZE = 60000, THREADS = 1000, CHILDREN = 200 };

static unsigned char plain[SIZE], packed[2 * SIZE];
static uLongf packed_size = sizeof packed;

/* Everything once; the first bytes of a digest over all results. Allocates only where EVP or the output is asked for. */
static unsigned long work(unsigned char *out)
{
	SHA_CTX sha1;
	SHA256_CTX sha256;
	unsigned char digest[32] = { 0 };
	unsigned long result;
	uLong crc = crc32(0, plain, SIZE) ^ adler32(1, plain, SIZE);

	SHA1_Init(&sha1);
	SHA1_Update(&sha1, plain, SIZE);
	SHA1_Update(&sha1, &crc, sizeof crc);
	SHA1_Final(digest, &sha1);
	SHA256_Init(&sha256);
	SHA256_Update(&sha256, digest, sizeof digest);
	if (out) {
		z_stream z = { .next_in = packed, .avail_in = (uInt)packed_size, .next_out = out, .avail_out = SIZE };

		if (inflateInit(&z) != Z_OK || inflate(&z, Z_FINISH) != Z_STREAM_END || memcmp(out, plain, SIZE) != 0)
			return 0;
		inflateEnd(&z);
		SHA256_Update(&sha256, out, SIZE);
	}
	SHA256_Final(digest, &sha256);
	memcpy(&result, digest, sizeof result);
	return result;
}

/* Compressed and back: other compressors give other bytes. */
static int deflated(void)
{
	unsigned char *there = malloc(2 * SIZE), *back = malloc(SIZE);
	uLongf there_size = 2 * SIZE, back_size = SIZE;
	int good = compress(there, &there_size, plain, SIZE) == Z_OK && uncompress(back, &back_size, there, there_size) == Z_OK &&
		   !memcmp(back, plain, SIZE);

	free(there);
	free(back);
	return good;
}

static void *thread(void *unused)
{
	unsigned char *out = malloc(SIZE);
	unsigned long result = deflated() ? work(out) : 0;

	(void)unused;
	free(out);
	return (void *)result;
}

static int stacks(size_t size)
{
	pthread_t threads[THREADS];
	pthread_attr_t attr;
	void *result, *first = NULL;
	int odd = 0;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, size) != 0)
		return 2;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &attr, thread, NULL) != 0)
			return 2;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		first = first ? first : result;
		odd += result != first;
	}
	printf("%lx, %d odd\n", (unsigned long)first, odd);
	return odd != 0;
}

static int ignore(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info, (void)size, (void)data;
	return 0;
}

static void *lock_loader(void *unused)
{
	for (;;)
		dl_iterate_phdr(ignore, unused);
	return NULL;
}

static void *begin_streams(void *unused)
{
	for (z_stream z = { 0 }; deflateInit(&z, 1) == Z_OK;)
		deflateEnd(&z);
	return unused;
}

static int forks(void)
{
	pthread_t t;
	int hung = 0;

	for (int i = 0; i < 3; i++)
		if (pthread_create(&t, NULL, i ? lock_loader : begin_streams, NULL) != 0)
			return 2;
	for (int i = 0; i < CHILDREN && hung < 3; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			alarm(10);
			/* EVP initialises libcrypto, for the first time, here. */
			if (!EVP_Digest(plain, SIZE, packed, NULL, EVP_sha256(), NULL))
				_exit(1);
			_exit(work(NULL) == 0 || !deflated());
		}
		waitpid(pid, &status, 0);
		hung += status != 0;
	}
	printf("%d hung\n", hung);
	return hung != 0;
}

static int vforks(void)
{
	extern char **environ;
	char *const args[] = { "echo", "child", NULL };
	static unsigned char out[SIZE];

	for (int i = 0; i < 20; i++) {
		static volatile unsigned long result;
		int status;
		pid_t pid = vfork();

		if (pid == 0) {
			result = work(out);
			execv("/bin/echo", args);
			_exit(127);
		}
		waitpid(pid, &status, 0);
		printf("%lx %d\n", result, status);
		fflush(stdout);
		if (posix_spawn(&pid, "/bin/echo", NULL, NULL, args, environ) != 0)
			return 2;
		waitpid(pid, &status, 0);
	}
	return 0;
}

static volatile unsigned long in_handler;

static void handler(int signal)
{
	(void)signal;
	in_handler = work(NULL);
}

static int signals(void)
{
	struct itimerval often = { { 0, 300 }, { 0, 300 } };
	static char stack[1 << 16];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART };
	static unsigned char out[SIZE];
	unsigned long expected = work(out), odd = 0;

	sigaltstack(&alternate, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 2000; i++)
		odd += work(out) != expected;
	printf("%lx, %lu odd, %lx\n", expected, odd, in_handler);
	return odd != 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < SIZE; i++)
		plain[i] = (unsigned char)(i * i % 251 % 17);
	compress(packed, &packed_size, plain, SIZE);
	if (argc == 3 && !strcmp(argv[1], "stacks"))
		return stacks(strtoul(argv[2], NULL, 10));
	if (argc == 2 && !strcmp(argv[1], "fork"))
		return forks();
	if (argc == 2 && !strcmp(argv[1], "vfork"))
		return vforks();
	if (argc == 2 && !strcmp(argv[1], "signal"))
		return signals();
	return 2;
}
