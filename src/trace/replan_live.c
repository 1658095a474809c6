/* replan_live.c - the memory that a recorded program has at a moment.
 *
 * What a program has taken does not overlap, so it can be ordered: two ranges that overlap are
 * equal to tsearch(), and an address finds the range that it lies in. */
#include "trace/replan_parts.h"

#include "core/compare.h"

#include <search.h>
#include <stdlib.h>

static int compare_ranges(const void *a, const void *b)
{
    const struct recorded_memory *x = a, *y = b;
    if (x->address < y->address)
        return y->address - x->address < x->bytes ? 0 : -1;
    return x->address - y->address < y->bytes ? 0 : 1;
}

COMPARE_BY(compare_changes, struct change, time_ns, memory);

enum status live_init(struct live *live, const struct recording *recording, struct arena *arena,
                      struct error *error)
{
    const size_t count = recording->memory_count;
    *live = (struct live){.recording = recording};
    live->taken = arena_zeros(arena, count + 1, sizeof *live->taken);
    live->freed = arena_zeros(arena, count + 1, sizeof *live->freed);
    if (live->taken == NULL || live->freed == NULL)
        return error_no_memory(error, "for %zu allocations", count);
    for (uint32_t i = 0; i < count; i++) {
        live->taken[i] = (struct change){recording->memory[i].from_ns, i};
        live->freed[i] = (struct change){recording->memory[i].until_ns, i};
    }
    live->taken[count] = live->freed[count] = (struct change){INT64_MAX, RECORDING_NONE};
    qsort(live->taken, count, sizeof *live->taken, compare_changes);
    qsort(live->freed, count, sizeof *live->freed, compare_changes);
    return STATUS_OK;
}

static void leave_as_is(void *memory)
{
    (void)memory;
}

void live_free(struct live *live)
{
    tdestroy(live->tree, leave_as_is);
}

/* Memory that overlaps what is there shows that it was given back unseen. */
static bool live_take(struct live *live, struct recorded_memory *memory)
{
    struct recorded_memory **other;
    if (memory->bytes == 0)
        return true;
    while ((other = tfind(memory, &live->tree, compare_ranges)) != NULL)
        tdelete(*other, &live->tree, compare_ranges);
    return tsearch(memory, &live->tree, compare_ranges) != NULL;
}

static void live_drop(struct live *live, struct recorded_memory *memory)
{
    struct recorded_memory **found = tfind(memory, &live->tree, compare_ranges);
    if (memory->bytes > 0 && found != NULL && *found == memory)
        tdelete(memory, &live->tree, compare_ranges);
}

bool live_advance(struct live *live, int64_t time)
{
    struct recorded_memory *memory = live->recording->memory;
    for (;;) {
        const struct change *taken = &live->taken[live->next_taken];
        const struct change *freed = &live->freed[live->next_freed];
        const bool take = taken->time_ns <= time, drop = freed->time_ns <= time;
        if (!take && !drop)
            return true;
        if (drop &&
            (!take || (freed->memory != taken->memory && freed->time_ns <= taken->time_ns))) {
            live_drop(live, &memory[freed->memory]);
            live->next_freed++;
        } else {
            live->next_taken++;
            if (!live_take(live, &memory[taken->memory]))
                return false;
        }
    }
}

uint32_t live_find(const struct live *live, uint64_t address)
{
    const struct recorded_memory key = {.address = address, .bytes = 1};
    struct recorded_memory *const *found = tfind(&key, &live->tree, compare_ranges);
    return found != NULL ? (uint32_t)(*found - live->recording->memory) : RECORDING_NONE;
}

/* Returns the first of `count` changes that is not before `from`. */
static const struct change *first_from(const struct change *changes, size_t count, int64_t from)
{
    BISECT(at, i, 0, count, changes[i].time_ns < from);
    return &changes[at];
}

/* Returns the time up to which a change of memory may be that of a call: it is noted when the
 * call has returned, before its thread makes the next one. */
static int64_t noted_until(const struct recording *recording, const struct recorded_call *call)
{
    enum { LATE_NS = 1000000 };
    const int64_t most = call->end_ns + LATE_NS;
    const struct recorded_call *all = recording->calls, *end = all + recording->call_count;
    for (const struct recorded_call *next = call + 1; next < end && next->start_ns < most;
         next++) {
        if (next->thread == call->thread)
            return next->start_ns > call->end_ns ? next->start_ns - 1 : call->end_ns;
    }
    return most;
}

uint32_t live_change(const struct live *live, const struct recorded_call *call, bool pinned,
                     bool *given_back)
{
    const int64_t until = noted_until(live->recording, call);
    for (int freed = 0; freed <= 1; freed++) {
        const struct change *change = first_from(freed ? live->freed : live->taken,
                                                 live->recording->memory_count, call->start_ns);
        for (; change->time_ns <= until; change++) {
            const struct recorded_memory *memory = &live->recording->memory[change->memory];
            bool locked =
                memory->kind == RECORDED_PINNED || memory->kind == RECORDED_REGISTERED;
            if (memory->kind == RECORDED_POOL || locked != pinned || memory->bytes == 0)
                continue;
            *given_back = freed;
            return change->memory;
        }
    }
    return RECORDING_NONE;
}
