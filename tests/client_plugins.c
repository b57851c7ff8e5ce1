/*
 * client_plugins.c - a program without any library but libc loads plugins and calls them
 *
 * client_plugins reload PLUGIN...     40 rounds of: load one, call it, unload it
 * client_plugins together PLUGIN...   loads all, calls all
 * client_plugins apart PLUGIN...      each in a namespace of its own
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char data[300] = "data";

static void *load(const char *path, int apart)
{
	void *handle = apart ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL) : dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	return handle;
}

static void call(void *handle, const char *name)
{
	long (*plugin)(const char *, size_t) = (long (*)(const char *, size_t))dlsym(handle, "plugin");

	printf("%s %ld\n", strrchr(name, '/') + 1, plugin(data, sizeof data));
	fflush(stdout);
}

int unload_early(void) __attribute__((weak)); /* preload_loads.c's */

int main(int argc, char **argv)
{
	void *handles[16];

	if (argc < 3 || argc > 16)
		return 2;
	if (unload_early && unload_early() != 0)
		return 3;
	if (!strcmp(argv[1], "reload")) {
		for (int round = 0; round < 40; round++)
			for (int i = 2; i < argc; i++) {
				void *handle = load(argv[i], 0);

				if (!handle)
					return 1;
				call(handle, argv[i]);
				dlclose(handle);
			}
		return 0;
	}
	for (int i = 2; i < argc; i++)
		if (!(handles[i] = load(argv[i], !strcmp(argv[1], "apart"))))
			return 1;
	for (int round = 0; round < 3; round++)
		for (int i = 2; i < argc; i++)
			call(handles[i], argv[i]);
	return 0;
}
