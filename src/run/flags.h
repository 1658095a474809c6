/* flags.h - words of the host's memory by which streams and other processes tell each other how
 * far they are: a portion's record raises one, and its waits await one (plan/portion.h). */
#ifndef PIPELINE_RUN_FLAGS_H
#define PIPELINE_RUN_FLAGS_H

#include "core/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct flags {
    _Atomic uint32_t *words; /* page-aligned; flag 1 is the first. 0: lowered, 1: raised */
    uint32_t count;
    uint64_t bytes; /* whole pages */
};

/* Takes `count` flags, all lowered. STATUS_NO_MEMORY. */
enum status flags_take(struct flags *flags, uint32_t count, struct error *error);

/* Gives them back, or does nothing where none were taken. */
void flags_free(struct flags *flags);

/* Lowers all of them. Nobody may look at them meanwhile. */
void flags_lower(struct flags *flags);

/* Whoever sees a flag raised also sees what was written before it was. */
static inline void flags_raise(struct flags *flags, uint32_t flag)
{
    atomic_store_explicit(&flags->words[flag - 1], 1, memory_order_release);
}

static inline bool flags_is_raised(const struct flags *flags, uint32_t flag)
{
    return atomic_load_explicit(&flags->words[flag - 1], memory_order_acquire) != 0;
}

/* Returns when the flag is raised. */
void flags_await(const struct flags *flags, uint32_t flag);

#endif
