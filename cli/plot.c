/* plot.c - pictures, drawn by gnuplot through a pipe */
#include "plot.h"

#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const struct plot_colours plot_light = { "#ffffff", "#24292f", "#d0d7de" };
const struct plot_colours plot_dark = { "#0d1117", "#e6edf3", "#30363d" };

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && strcmp(s + n - m, end) == 0;
}

void check_writable(const char *option, const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd >= 0) {
		close(fd);
		unlink(file);
	} else if (errno != EEXIST || access(file, W_OK) != 0) {
		die(EXIT_USAGE, "%s: cannot write %s: %s", option, file, strerror(errno));
	}
}

void plot_check(const char *option, const char *file)
{
	char *gnuplot;

	if (!ends_with(file, ".svg") && !ends_with(file, ".png"))
		die(EXIT_USAGE, "%s: %s: the name has to end in .svg or .png", option, file);
	gnuplot = find_program("gnuplot");
	if (!gnuplot)
		die(EXIT_TROUBLE, "%s: gnuplot is not installed (Debian: apt-get install gnuplot-nox)", option);
	free(gnuplot);
	check_writable(option, file);
}

FILE *plot_open(const char *file, bool dark, int width, int height)
{
	const struct plot_colours *c = dark ? &plot_dark : &plot_light;
	FILE *g = popen("gnuplot", "w");

	if (!g)
		die(EXIT_TROUBLE, "gnuplot: %s", strerror(errno));
	if (ends_with(file, ".svg"))
		fprintf(g, "set terminal svg size %d,%d noenhanced font 'DejaVu Sans,Verdana,sans-serif,13' background rgb '%s'\n", width, height,
			c->background);
	else
		fprintf(g, "set terminal pngcairo size %d,%d noenhanced font 'DejaVu Sans,11' background rgb '%s'\n", width, height, c->background);
	fputs("set output ", g);
	plot_string(g, file, 4096);
	fprintf(g,
		"\nset encoding utf8\n"
		"set border 3 linecolor rgb '%s'\n"
		"set tics nomirror textcolor rgb '%s'\n"
		"set grid ytics linetype 1 linewidth 0.7 linecolor rgb '%s'\n"
		"set title textcolor rgb '%s'\n"
		"set xlabel textcolor rgb '%s'\n"
		"set ylabel textcolor rgb '%s'\n"
		"set key textcolor rgb '%s'\n",
		c->grid, c->text, c->grid, c->text, c->text, c->text, c->text);
	return g;
}

bool plot_close(FILE *gnuplot, const char *file)
{
	int status = pclose(gnuplot);

	if (status != 0)
		warn("gnuplot could not draw %s", file);
	return status == 0;
}

void plot_string(FILE *gnuplot, const char *text, int limit)
{
	fputc('\'', gnuplot);
	for (int n = 0; *text; text++) {
		/* Bytes that go on with a character do not count, and a character is not cut. */
		if (((unsigned char)*text & 0xc0) != 0x80 && n++ == limit) {
			fputs("...", gnuplot);
			break;
		}
		if (*text == '\'')
			fputc('\'', gnuplot);
		fputc((unsigned char)*text < ' ' ? ' ' : *text, gnuplot);
	}
	fputc('\'', gnuplot);
}
