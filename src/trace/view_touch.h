/* view_touch.h - what launches of a recorded program touch, as far as their pointers tell. */
#ifndef PIPELINE_TRACE_VIEW_TOUCH_H
#define PIPELINE_TRACE_VIEW_TOUCH_H

#include "plan/plan.h"

/* What is guessed of one access of a kernel. Pointers at the same place among a kernel's
 * arguments belong together. */
struct touch {
    uint64_t step; /* those of different launches step by it through one buffer, so this launch
                      touches that much from its own one on; 0: they do not */
    bool brought, fetched; /* copies or memsets write just these bytes; copies read them */
    bool written;          /* what the kernel leaves there is what copies out fetch */
};

/* Returns how many bytes of an access its kernel touches. */
static inline uint64_t touch_bytes(const struct touch *touch, const struct access *access)
{
    const uint64_t bytes = access->range.bytes;
    return touch->step > 0 && touch->step < bytes ? touch->step : bytes;
}

/* Makes *touches, with one item for each access of a recorded plan; free() it. O(n log n).
 * STATUS_NO_MEMORY. */
enum status view_find_touches(const struct plan *plan, struct touch **touches,
                              struct error *error);

#endif
