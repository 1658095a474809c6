/* recording_place.h - what has which id: private to the reader of recordings. */
#ifndef PIPELINE_TRACE_RECORDING_PLACE_H
#define PIPELINE_TRACE_RECORDING_PLACE_H

#include "trace/recording_draft.h"

/* Something that lines refer to by its id. */
struct place {
    uint64_t id, line;
    uint32_t index;
};

/* Returns room for `count` of them, to be freed; NULL: no memory. */
struct place *places_create(size_t count);

/* Puts places in order of their ids, which no two of them may share: the later line is refused,
 * calling it a `what`. */
enum status places_order(const struct draft *draft, struct place *places, size_t count,
                         const char *what);

/* Returns the index of what has `id`; RECORDING_NONE: nothing has. Lines tend to come in the
 * order of what they refer to: *near, 0 at first, is where to look first. */
uint32_t place_find(const struct place *places, size_t count, uint64_t id, size_t *near);

#endif
