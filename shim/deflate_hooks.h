/* deflate_hooks.h - the part of the zlib doors that compresses */
#ifndef DEFLATE_HOOKS_H
#define DEFLATE_HOOKS_H

/* Called by zlib_doors_init with the version of the zlib of the start; NULL: none. */
void deflate_door_init(const char *version);

#endif
