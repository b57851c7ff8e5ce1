/* plot.h - pictures, drawn by gnuplot through a pipe */
#ifndef PLOT_H
#define PLOT_H

#include <stdbool.h>
#include <stdio.h>

/* What the scripts that are written into the pipe may use: colours of the picture's own background, and two that stand out on both. */
struct plot_colours {
	const char *background, *text, *grid;
};
extern const struct plot_colours plot_light, plot_dark;
#define PLOT_WITHOUT "#4c78a8"
#define PLOT_WITH "#f58518"

/* Before anything is measured: can FILE be drawn? Ends the command, in OPTION's name, if not. */
void plot_check(const char *option, const char *file);

/* A gnuplot that draws to FILE (.svg or .png), with terminal, colours and fonts set. plot_close says whether it drew. */
FILE *plot_open(const char *file, bool dark, int width, int height);
bool plot_close(FILE *gnuplot, const char *file);

/* TEXT as a gnuplot string in single quotes, cut to LIMIT characters. */
void plot_string(FILE *gnuplot, const char *text, int limit);

/* Can FILE be written? Ends the command, in OPTION's name, if not; leaves nothing behind. */
void check_writable(const char *option, const char *file);

#endif
