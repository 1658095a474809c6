/* effects.h - what calls do: copies, launches, waits, memory that they take. Private to
 * src/record. */
#ifndef PIPELINE_RECORD_EFFECTS_H
#define PIPELINE_RECORD_EFFECTS_H

#include "record/record.h"

/* A call that has just returned, or is about to be made. The effect fills in what its entry
 * says, and what else there is: the words of a launch, which stay until the thread's next call,
 * and what was handed over of a function of the host's. */
struct call {
    struct entry entry;
    const CUpti_CallbackData *data;
    CUfunction function; /* that a call within this one launched */
    const uint64_t *words;
    struct handed *handed;
};

/* An effect, whether it is read before the call is made, and whether a call that names no
 * stream goes to the thread's own one. */
struct effect_row {
    void (*read)(struct call *c, const void *arguments, bool own);
    bool before, own;
};

/* Returns the effect of a call; NULL: it has none. */
const struct effect_row *effect_of(CUpti_CallbackDomain domain, CUpti_CallbackId id);

#endif
