/* json.h - text as JSON has it, a character at a time */
#ifndef JSON_H
#define JSON_H

#include <stddef.h>
#include <string.h>

/* The length of the UTF-8 sequence at S, 0 where it is none. */
static inline size_t utf8_length(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* No overlong forms, no surrogates, nothing above U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/*
 * The first character of TEXT, which is not empty, as a JSON string holds it, to PIECE; returns its length in TEXT. Bytes that are no UTF-8
 * become U+FFFD.
 */
static inline size_t json_character(const char *text, char piece[8])
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char c = (unsigned char)*text;
	size_t n = utf8_length((const unsigned char *)text), to = 0;

	if (n == 0) {
		memcpy(piece, "\\ufffd", 7);
		return 1;
	}
	if (c < 0x20 || c == 0x7f) {
		memcpy(piece, (char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15], 0 }, 7);
		return 1;
	}
	if (c == '"' || c == '\\')
		piece[to++] = '\\';
	for (size_t i = 0; i < n; i++)
		piece[to++] = text[i];
	piece[to] = 0;
	return n;
}

#endif
