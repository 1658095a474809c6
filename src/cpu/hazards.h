/* hazards.h - what hazards.c keeps of ops and of the host's code, and hazards_told.c tells. */
#ifndef PIPELINE_CPU_HAZARDS_H
#define PIPELINE_CPU_HAZARDS_H

#include "cpu/parts.h"

struct past {
    uint32_t *places; /* per lane: how many of its ops have ended */
    uint32_t count;
};

struct touch {
    uintptr_t from, end;
    const void *code; /* of the host's; NULL: of an op */
    bool reads, writes, atomic;
};

struct clock_doing {
    uint32_t lane, place;
    struct past past;
    struct touch *touches; /* of copies and kernels: in the order of addresses */
    size_t count, capacity;
    bool open; /* it has yet to run, or is doing so */
    bool is_host, is_function;
    uint64_t id, node; /* of the call, as recorded; 0: the host's code. Of a graph; 0: none */
    const char *call, *file, *kernel;
    int line;
};

/* --- past.c --- */

/* Adds all that another past has, or `place` of the ops of a lane. */
void past_join(struct past *past, const struct past *other);
void past_join_place(struct past *past, uint32_t lane, uint32_t place);

/* Returns true if an op has surely ended in a past. */
bool past_covers(const struct past *past, const struct clock_doing *doing);

/* Returns a touch of `doing` that races with another one; NULL: none does. */
const struct touch *touch_find(const struct clock_doing *doing, const struct touch *touch);

/* Returns true if the two may race at all: the host's own threads have other ways to wait for
 * each other. */
bool touch_may_race(const struct clock_doing *one, const struct clock_doing *other);

/* --- glances.c --- */

/* A glance covers touches of one place in the host's code that lie side by side: they need no
 * look of their own. */
struct glance {
    struct touch touch;
    uintptr_t from, end;                    /* nothing races with it there, */
    uint32_t changes;                       /* since then */
    void (*log)(const struct touch *touch); /* keeps the touch; NULL: it need not be kept */
};

/* Returns the calling thread's glance of a place in the code; NULL: it has none yet, and those
 * that it has begin by glance_add(). */
struct glance *glance_at(const void *where);
struct glance *glance_add(const void *where);

/* Returns true where nothing races with a touch, as was seen in its place's latest look, and
 * where what has to be kept is side by side. */
bool glance_knows(struct glance *glance, const struct touch *touch);

/* A place has been looked at: nothing races with its touch, nor with any `nearby`. */
void glance_begin(struct glance *glance, const struct touch *touch, const struct touch *nearby,
                  void (*log)(const struct touch *touch));

/* What could race is about to change: ends all glances, and has what they touched kept. */
void glances_end(void);

/* --- hazards_told.c --- */

/* Tells of two touches that nothing orders, on standard error and in the recording. Returns
 * false where it does not, since a race between the same places was told before. */
bool hazard_tell(const struct clock_doing *before, const struct touch *first,
                 const struct clock_doing *after, const struct touch *second);

#endif
