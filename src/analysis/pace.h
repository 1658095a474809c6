/* pace.h - how the device follows a host that issues what it does. */
#ifndef PIPELINE_ANALYSIS_PACE_H
#define PIPELINE_ANALYSIS_PACE_H

#include "analysis/traced.h"

/* For traced_begin(), in this order, when it knows which call issued which op.
 *
 * Finds whether threads take turns in one stream (host_call.h).
 *
 * Finds the call before each on its thread; threads that take turns are one.
 *
 * Finds from which time on what passes from call to call is work of the host's own, where else
 * it only issues. Returns false when memory runs out. */
void pace_find_turns(struct traced *traced);
bool pace_find_threads(struct traced *traced);
bool pace_find_work(struct traced *traced);

struct pace {
    uint32_t ops;
    uint32_t
        late; /* those that the host had not handed over when the device had nothing left */
    uint32_t calls;   /* that issued them, */
    int64_t calls_ns; /* and what these took */
    int64_t work_ns;  /* of all ops */
    int64_t span_ns;  /* from the first one's start to the last one's */
    bool tiles; /* ops are tiles, copied one by one and worked on, and the calls for that take
                   the host's time: fewer and larger ones would do */
};

/* O(n log n). */
struct pace pace_of(const struct traced *traced);

static inline bool pace_is_late(const struct pace *pace)
{
    return 2 * (uint64_t)pace->late >= pace->ops;
}

#endif
