/* preload_empty.c - a library with nothing in it: what preloading alone costs */
extern int preload_empty;
int preload_empty;
