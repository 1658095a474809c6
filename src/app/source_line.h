/* source_line.h - the source lines of places in programs and libraries. */
#ifndef PIPELINE_APP_SOURCE_LINE_H
#define PIPELINE_APP_SOURCE_LINE_H

#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

/* A place in a program or library. */
struct source_place {
    const char *file; /* as the dynamic loader names it */
    uint64_t offset;  /* of the byte behind the call, from where the file begins in memory */
    char *line;       /* "/home/me/saxpy.cu:42", to be freed; NULL: not known */
};

/* Finds the lines of `places`, which all have NULL and are sorted by file. Files without debug
 * information have none. STATUS_FAILED says why it can't be asked for; lines may be set. */
enum status source_lines_find(struct source_place *places, size_t count, struct error *error);

#endif
