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
    const char *call, *file, *kernel;
    int line;
};

/* Tells of two touches that nothing orders, on standard error, unless a race between the same
 * places was told before. */
void hazard_tell(const struct clock_doing *before, const struct touch *first,
                 const struct clock_doing *after, const struct touch *second);

#endif
