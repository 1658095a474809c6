/* pieces.h - copies that go together: those of a batch of tiles. */
#ifndef PIPELINE_RUN_PIECES_H
#define PIPELINE_RUN_PIECES_H

#include <stddef.h>

/* Copies of bytes[i] bytes from from[i] to to[i]; none overlaps another. */
struct pieces {
    void **to;
    const void **from;
    size_t *bytes;
    size_t count;
};

/* Opens the calling thread's OpenMP team, so that no copy that is timed has to. */
void pieces_open_team(void);

/* Makes copies within the host's memory, with as many threads of that team as they are worth.
 * Each takes an equal part of all bytes, be they few large pieces or many small ones. */
void pieces_copy(const struct pieces *pieces);

#endif
