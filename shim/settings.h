/* settings.h - the settings from the environment */
#ifndef SETTINGS_H
#define SETTINGS_H

/* Sets each door's wanted from VALUE (FASTSHA; NULL: unset). An unknown name: one line on stderr, and the default set. */
void settings_doors(const char *value);

/* One line on stderr, prefixed with the library's name: a printf format, cut at 500 bytes. errno is kept. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
