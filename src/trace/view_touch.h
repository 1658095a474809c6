/* view_touch.h - what launches of a recorded program touch, as far as their pointers tell. */
#ifndef PIPELINE_TRACE_VIEW_TOUCH_H
#define PIPELINE_TRACE_VIEW_TOUCH_H

#include "plan/plan.h"

/* What is guessed of one access of a kernel. Pointers at the same place among a kernel's
 * arguments belong together. */
struct touch {
    uint64_t bytes;        /* from its pointer on that it touches: a step, if it */
    bool steps;            /* steps evenly through one buffer from launch to launch */
    bool brought, fetched; /* copies or memsets write just these bytes; copies read them */
    bool written;          /* what the kernel leaves there is what copies out fetch */
};

/* Fills `touches`, which are zeroed, one for each access of a recorded plan. O(n log n).
 * STATUS_NO_MEMORY. */
enum status view_find_touches(const struct plan *plan, struct touch *touches,
                              struct error *error);

#endif
