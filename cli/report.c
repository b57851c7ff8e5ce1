/* report.c - reads what FASTSHA_REPORT makes the library write: one JSON object per process and line */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/*
 * The lines come from our own library (shim/report.c), so this reader need not judge JSON, only never trip over a line that was cut short:
 * a value that it does not know is stepped over, and any surprise makes the line unreadable. Functions return where they stopped, NULL on
 * a surprise. (A JSON library would be the only one that the command needs, and would make `fastsha run` start slower.)
 */
static const char *skip_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* A character above U+FFFF does not occur in a report: bytes from 0x80 on are written as they are. */
static char *put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* A string into TO, cut where it is longer than SIZE - 1 bytes. */
static const char *parse_string(const char *p, char *to, size_t size)
{
	char *end = to + size - 1;

	if (!p || *p++ != '"')
		return NULL;
	while (*p != '"') {
		char c[4], *stop = c;

		if (*p == 0)
			return NULL;
		if (*p == '\\' && p[1] == 'u') {
			char hex[5] = "", *hex_end;

			memcpy(hex, p + 2, strnlen(p + 2, 4));
			unsigned long code = strtoul(hex, &hex_end, 16);
			if (hex_end != hex + 4)
				return NULL;
			stop = put_utf8(c, (unsigned)code);
			p += 6;
		} else if (*p == '\\') {
			static const char escapes[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
			const char *e = p[1] ? strchr(escapes, p[1]) : NULL;

			if (!e)
				return NULL;
			*stop++ = meaning[e - escapes];
			p += 2;
		} else {
			*stop++ = *p++;
		}
		if (to + (stop - c) <= end) {
			memcpy(to, c, (size_t)(stop - c));
			to += stop - c;
		} else {
			end = to;
		}
	}
	*to = 0;
	return p + 1;
}

/* Members of an object, or elements of an array (with an empty key), go one by one to EACH, which returns where the value ends. */
typedef const char *each_value(const char *p, const char *key, void *arg);

static const char *parse_members(const char *p, each_value *each, void *arg)
{
	char key[32] = "", open = *p, close = open == '{' ? '}' : ']';

	if (open != '{' && open != '[')
		return NULL;
	p = skip_space(p + 1);
	if (*p == close)
		return p + 1;
	for (;;) {
		if (open == '{') {
			p = parse_string(p, key, sizeof key);
			if (!p || *(p = skip_space(p)) != ':')
				return NULL;
			p = skip_space(p + 1);
		}
		p = each(p, key, arg);
		if (!p)
			return NULL;
		p = skip_space(p);
		if (*p == close)
			return p + 1;
		if (*p != ',')
			return NULL;
		p = skip_space(p + 1);
	}
}

/* ARG: how deep the value is nested; lines of ours are three deep. */
static const char *skip_value(const char *p, const char *key, void *arg)
{
	unsigned depth = arg ? *(unsigned *)arg + 1 : 1;
	char ignored[2];
	size_t n;

	(void)key;
	if (*p == '"')
		return parse_string(p, ignored, sizeof ignored);
	if (*p == '{' || *p == '[')
		return depth < 16 ? parse_members(p, skip_value, &depth) : NULL;
	n = strspn(p, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
	return n ? p + n : NULL;
}

static const char *parse_count(const char *p, uint64_t *n)
{
	char *end;

	*n = strtoull(p, &end, 10);
	return end == p ? NULL : end;
}

struct door_line {
	char name[32], state[8], why[256], kernel[64];
	uint64_t calls, bytes;
};

static const char *door_member(const char *p, const char *key, void *arg)
{
	struct door_line *d = arg;

	if (strcmp(key, "name") == 0)
		return parse_string(p, d->name, sizeof d->name);
	if (strcmp(key, "state") == 0)
		return parse_string(p, d->state, sizeof d->state);
	if (strcmp(key, "why") == 0)
		return parse_string(p, d->why, sizeof d->why);
	if (strcmp(key, "kernel") == 0 && *p == '"')
		return parse_string(p, d->kernel, sizeof d->kernel);
	if (strcmp(key, "calls") == 0)
		return parse_count(p, &d->calls);
	if (strcmp(key, "bytes") == 0)
		return parse_count(p, &d->bytes);
	return skip_value(p, key, NULL);
}

struct process_line {
	char program[1024], cpu[32];
	size_t doors;
	struct door_line door[USAGE_DOORS];
};

static const char *door_element(const char *p, const char *key, void *arg)
{
	struct process_line *line = arg;

	if (*p != '{')
		return NULL;
	if (line->doors == USAGE_DOORS)
		return skip_value(p, key, NULL);
	return parse_members(p, door_member, &line->door[line->doors++]);
}

static const char *process_member(const char *p, const char *key, void *arg)
{
	struct process_line *line = arg;

	if (strcmp(key, "program") == 0)
		return parse_string(p, line->program, sizeof line->program);
	if (strcmp(key, "cpu") == 0)
		return parse_string(p, line->cpu, sizeof line->cpu);
	if (strcmp(key, "doors") == 0)
		return *p == '[' ? parse_members(p, door_element, line) : NULL;
	return skip_value(p, key, NULL);
}

static void add_door(struct usage *u, const struct door_line *d)
{
	struct door_usage *to = NULL;
	bool on = strcmp(d->state, "on") == 0;

	for (size_t i = 0; i < u->doors && !to; i++)
		if (strcmp(u->door[i].name, d->name) == 0)
			to = &u->door[i];
	if (!to && u->doors == USAGE_DOORS)
		return;
	if (!to) {
		to = &u->door[u->doors++];
		strcpy(to->name, d->name);
	}
	/* The process that says most: one where the door was open and served. */
	if ((to->on == 0 && to->off == 0) || (on && (to->on == 0 || d->calls > to->calls))) {
		strcpy(to->why, d->why);
		if (on)
			strcpy(to->kernel, d->kernel);
	}
	if (on)
		to->on++;
	else
		to->off++;
	to->calls += d->calls;
	to->bytes += d->bytes;
}

static void add_program(struct usage *u, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t i;

	for (i = 0; i < u->programs; i++)
		if (strncmp(u->program[i].name, name, sizeof u->program[i].name - 1) == 0)
			break;
	if (i == USAGE_PROGRAMS)
		return;
	if (i == u->programs)
		memcpy(u->program[u->programs++].name, name, strnlen(name, sizeof u->program[i].name - 1));
	u->program[i].processes++;
}

void usage_read(const char *path, struct usage *u)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	*u = (struct usage){ 0 };
	if (!f)
		return;
	while (getline(&text, &size, f) > 0) {
		struct process_line line = { 0 };
		const char *start = skip_space(text);
		const char *end = *start == '{' ? parse_members(start, process_member, &line) : NULL;

		if (!end || *skip_space(end)) {
			u->unreadable++;
			continue;
		}
		u->processes++;
		strcpy(u->cpu, line.cpu);
		add_program(u, line.program);
		for (size_t i = 0; i < line.doors; i++)
			add_door(u, &line.door[i]);
	}
	free(text);
	fclose(f);
}

const struct door_usage *usage_door(const struct usage *u, const char *name)
{
	for (size_t i = 0; i < u->doors; i++)
		if (strcmp(u->door[i].name, name) == 0)
			return &u->door[i];
	return NULL;
}

void usage_print(FILE *out, const struct usage *u, bool verbose)
{
	struct colours c = colours_of(out);

	fprintf(out, "%s%-10s %-12s %-20s %14s %10s%s\n", c.bold, "door", "state", "kernel", "calls", "bytes", c.off);
	for (size_t i = 0; i < u->doors; i++) {
		const struct door_usage *d = &u->door[i];
		char state[32] = "off";

		if (d->on && d->off)
			snprintf(state, sizeof state, "on in %u/%u", d->on, d->on + d->off);
		else if (d->on)
			strcpy(state, "on");
		fprintf(out, "%-10s %s%-12s%s ", d->name, d->on ? c.good : c.dim, state, c.off);
		if (d->on)
			fprintf(out, "%-20s %14s %10s\n", d->kernel, human_count(d->calls), human_bytes((double)d->bytes));
		else
			fprintf(out, "%s\n", d->why);
		if (verbose && d->on)
			fprintf(out, "%-23s %s%s%s\n", "", c.dim, d->why, c.off);
	}
}

void usage_print_json(FILE *out, const struct usage *u)
{
	fprintf(out, "{\"processes\":%u,\"cpu\":", u->processes);
	print_json_string(out, u->cpu);
	fputs(",\"doors\":[", out);
	for (size_t i = 0; i < u->doors; i++) {
		const struct door_usage *d = &u->door[i];

		fprintf(out, "%s{\"name\":", i ? "," : "");
		print_json_string(out, d->name);
		fprintf(out, ",\"on\":%u,\"off\":%u,\"why\":", d->on, d->off);
		print_json_string(out, d->why);
		fputs(",\"kernel\":", out);
		if (d->kernel[0])
			print_json_string(out, d->kernel);
		else
			fputs("null", out);
		fprintf(out, ",\"calls\":%llu,\"bytes\":%llu}", (unsigned long long)d->calls, (unsigned long long)d->bytes);
	}
	fputs("]}", out);
}
