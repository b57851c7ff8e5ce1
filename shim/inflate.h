/* inflate.h - a whole zlib stream in one call, accepting exactly what zlib accepts */
#ifndef INFLATE_H
#define INFLATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the zlib stream (RFC 1950, without a preset dictionary) at the start of IN into OUT. True: the stream was whole and valid by
 * every rule that zlib applies, its Adler-32 included, and fitted into OUT; *IN_USED and *OUT_MADE are its sizes in bytes, *ADLER its
 * check value. False: anything else, also where more input or room would have helped; OUT then holds undefined bytes. Needs 5 KiB of
 * stack and no other memory. Bytes of OUT past the end of the data may be overwritten, but never OUT's last byte unless it is data.
 */
bool inflate_whole(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size, size_t *in_used, size_t *out_made, uint32_t *adler);

/* The name of the kernel that inflate_whole uses on this processor. */
const char *inflate_kernel_name(void);

/* How many bytes the door may still decode in vain (zlib_hooks.c). For tests. */
extern _Atomic int inflate_waste_left;

#endif
