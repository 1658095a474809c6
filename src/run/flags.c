/* flags.c - words of the host's memory by which streams and other processes tell each other how
 * far they are: a portion's record raises one, and its waits await one (plan/portion.h). It
 * stands apart from arrays.c because the lab page has flags and no arrays. */
#include "run/backend.h"

#include "run/arrays.h"

#include <sched.h>

enum status flags_take(struct flags *flags, uint32_t count, struct error *error)
{
    *flags = (struct flags){.count = count};
    flags->words = host_map(count * sizeof *flags->words, false, &flags->bytes);
    return flags->words != NULL ? STATUS_OK
                                : error_no_memory(error, "for the flags of streams");
}

void flags_free(struct flags *flags)
{
    host_unmap(flags->words, flags->bytes);
    *flags = (struct flags){0};
}

void flags_lower(struct flags *flags)
{
    for (uint32_t i = 0; i < flags->count; i++)
        atomic_store_explicit(&flags->words[i], 0, memory_order_relaxed);
}

void flags_await(const struct flags *flags, uint32_t flag)
{
    while (!flags_is_raised(flags, flag))
        sched_yield(); /* who raises it may have to share the core */
}
