/* gunzip.h - what gzip packed (RFC 1952), on its way to a trace's reader: zlib unpacks it as a
 * stream, so that memory stays as it is however much comes out of it. */
#ifndef PIPELINE_TRACE_GUNZIP_H
#define PIPELINE_TRACE_GUNZIP_H

#include <stdbool.h>
#include <stdio.h>

struct gunzip;

extern const char gunzip_no_memory[]; /* what *why is set to where there is none */

/* Returns what unpacks a file of which `count` bytes were read already, `first`; NULL: no
 * memory, or there was no zlib to build with, which *why says. Free with gunzip_free(), NULL
 * too. */
struct gunzip *gunzip_create(const char *first, size_t count, const char **why);
void gunzip_free(struct gunzip *gunzip);

/* Unpacks up to `room` bytes. Fewer come at the end, also where the file ends within what is
 * packed, or where it is damaged or can't be read, for which *why is set. */
size_t gunzip_read(struct gunzip *gunzip, FILE *file, char *to, size_t room, const char **why);

/* Returns true if what was packed has come to its end. */
bool gunzip_ended(const struct gunzip *gunzip);

#endif
