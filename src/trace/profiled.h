/* profiled.h - a recording made of what another profiler wrote: private to the readers of that.
 *
 * Such a trace has the calls, the ops and the waits of a recording in another form, and less of
 * each: no addresses, so nothing of what ops touch. What it has twice counts once. */
#ifndef PIPELINE_TRACE_PROFILED_H
#define PIPELINE_TRACE_PROFILED_H

#include "trace/recording_draft.h"
#include "trace/trace.h"

/* Shorter ranges of the host are left out: they are most of a trace, and tell of no pause. */
enum { PROFILED_LONG_NS = 100000 };

/* A reader adds what it finds to this, which profiled_begin() makes ready. */
struct profiled {
    struct draft draft;
    struct names names, contexts, devices, processes; /* that were met */
    uint32_t unnumbered;                              /* calls without a number of theirs */
};

/* Returns the id of the call that has a number in a process, which is any number. */
static inline uint64_t profiled_id(uint32_t process, uint64_t correlation)
{
    enum { BITS = 44 };
    return ((uint64_t)process << BITS) ^ correlation;
}

/* Begins with nothing in a struct of zeroes; errors go to *error, and what is added behind one
 * is given up (trace/recording_draft.h). profiled_finish() ends it. */
void profiled_begin(struct profiled *profiled, struct error *error);

/* These add what the trace has. Of what is added all not given is 0.
 *
 * A name, which has the same number each time. */
uint32_t profiled_name(struct profiled *profiled, const char *name);

/* A device; of what is known twice the latest holds. */
struct recorded_device *profiled_device(struct profiled *profiled, uint32_t id,
                                        const char *name);

/* A stream of a context of a process, of a device, which profiled_device() adds. Returns its
 * index. */
uint32_t profiled_stream(struct profiled *profiled, uint32_t process, uint64_t context,
                         uint32_t device, uint32_t number);

/* A call, its times still to be set, of the thread whose key has `length` bytes; and an op in a
 * stream, of call `id`, or DRAFT_NO_CALL. */
struct recorded_call *profiled_call(struct profiled *profiled, uint64_t id, const void *thread,
                                    size_t length, uint16_t row);
struct recorded_op *profiled_op(struct profiled *profiled, uint64_t id, const char *name,
                                uint32_t stream);

/* This adds the name that the program, or what it is built on, has for what a thread was at. */
void profiled_range(struct profiled *profiled, const char *name, const void *thread,
                    size_t length, int64_t start_ns, int64_t end_ns);

/* The effect of a call in a stream, or RECORDING_NONE. */
void profiled_effect(struct profiled *profiled, uint64_t id, enum recorded_effect effect,
                     uint32_t stream, uint64_t event);

/* Makes timelines of all that was added, unless something went wrong; frees it in any case. */
enum status profiled_finish(struct profiled *profiled, enum timing timing,
                            const char *traced_by, struct traces *traces);

/* --- profiled_waits.c --- */

/* Finds what calls waited for where the trace does not say it. False: no memory. O(n log n). */
bool profiled_find_waits(struct recording *recording);

#endif
