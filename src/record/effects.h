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

/* What a call is by its name: one that makes what is better made once, of which a line says who
 * calls; one whose effect is asked for later, whatever part is recorded; one in which the host
 * waits; and one that takes time, or changes what others do. */
enum { MAKES = 1, LASTS = 2, WAITS = 4, TELLS = 8 };

/* A call: its effect, whether that is read before the call is made, and whether a call that
 * names no stream goes to the thread's own one; what it is by its name. */
struct call_row {
    void (*read)(struct call *c, const void *arguments, bool own); /* NULL: it has no effect */
    bool before, own;
    uint8_t traits;
};

/* Returns the row of a call of the runtime's or the driver's. */
struct call_row *call_row_of(CUpti_CallbackDomain domain, CUpti_CallbackId id);

#endif
