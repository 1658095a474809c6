/* replan_facts.c - what a recording shows of a plan beside its ops: copies that bring again
 * what is there, managed memory, events that keep the time, devices that reach each other. */
#include "trace/replan_parts.h"

#include "core/bisect.h"

#include <stdlib.h>
#include <string.h>

/* --- copies that bring the same --- */

/* What an op is certain to write. */
struct write {
    struct range range;
    uint32_t op;
    bool alone; /* it writes no other */
};

static int compare_writes(const void *a, const void *b)
{
    const struct write *x = a, *y = b;
    if (x->range.buffer != y->range.buffer)
        return x->range.buffer < y->range.buffer ? -1 : 1;
    if (x->range.offset != y->range.offset)
        return x->range.offset < y->range.offset ? -1 : 1;
    if (x->range.bytes != y->range.bytes)
        return x->range.bytes < y->range.bytes ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Lists all that ops are certain to write, in order. Returns NULL where memory runs out. */
static struct write *list_writes(const struct plan *plan, size_t *count)
{
    const struct plan_recorded *recorded = plan->recorded;
    struct write *writes = malloc((recorded->access_count + 1) * sizeof *writes);
    *count = 0;
    for (uint32_t i = 0; i < plan->op_count && writes != NULL; i++) {
        const struct op_recorded *seen = &recorded->ops[i];
        for (uint32_t k = 0; k < seen->access_count && seen->sure; k++) {
            const struct access *access = &recorded->accesses[seen->first_access + k];
            if (access->writes)
                writes[(*count)++] = (struct write){access->range, i, seen->access_count == 2};
        }
    }
    if (writes != NULL)
        qsort(writes, *count, sizeof *writes, compare_writes);
    return writes;
}

/* Returns true if the second of two copies to the same bytes brings what the first one did. */
static bool brings_same(const struct plan *plan, const struct write *before,
                        const struct write *write)
{
    const struct op *one = &plan->ops[before->op], *other = &plan->ops[write->op];
    const struct op_recorded *x = &plan->recorded->ops[before->op],
                             *y = &plan->recorded->ops[write->op];
    return one->kind == OP_H2D && other->kind == OP_H2D && before->alone && write->alone &&
           y->took != 0 && x->took == y->took &&
           range_equal(&one->copy.host, &other->copy.host);
}

enum status replan_mark_repeats(struct replan *replan)
{
    struct plan *plan = replan->plan;
    size_t count, next;
    struct write *writes = list_writes(plan, &count);
    uint64_t end = 0; /* of what was written in this buffer so far */
    if (writes == NULL)
        return replan_no_memory(replan);
    for (size_t i = 0; i < count; i = next) {
        const struct range *range = &writes[i].range;
        const bool first = i == 0 || writes[i - 1].range.buffer != range->buffer;
        const bool clear = first || end <= range->offset;
        for (next = i + 1; next < count && range_equal(&writes[next].range, range);)
            next++;
        /* Other bytes that overlap these may have been written in between. */
        const bool apart =
            clear && (next == count || !ranges_overlap(range, &writes[next].range));
        for (size_t k = i + 1; k < next && apart; k++)
            plan->recorded->ops[writes[k].op].repeats =
                brings_same(plan, &writes[k - 1], &writes[k]);
        end = first || range->offset + range->bytes > end ? range->offset + range->bytes : end;
    }
    free(writes);
    return STATUS_OK;
}

/* --- settings --- */

/* Returns true if the program records the event of that handle. */
static bool records(const struct replan *replan, uint64_t handle)
{
    struct bisect search = bisect_in(0, replan->handle_count);
    while (bisect_asks(&search))
        bisect_tell(&search, replan->handles[search.at] < handle);
    return search.at < replan->handle_count && replan->handles[search.at] == handle;
}

static bool has_setting(const struct recording *recording, enum recorded_setting_kind kind)
{
    size_t i = 0;
    while (i < recording->setting_count && recording->settings[i].kind != kind)
        i++;
    return i < recording->setting_count;
}

/* --- all of them --- */

void replan_note_facts(struct replan *replan)
{
    enum { NO_TIMING = 2 }; /* cudaEventDisableTiming */
    const struct recording *recording = replan->recording;
    struct recorded_facts *facts = &replan->recorded->facts;
    for (size_t i = 0; i < recording->setting_count; i++) {
        const struct recorded_setting *setting = &recording->settings[i];
        const bool event = setting->kind == SETTING_EVENT && records(replan, setting->of);
        facts->events += event;
        facts->timed_events += event && (setting->value & NO_TIMING) == 0;
    }
    facts->one_queue = recording->connections == 1;
    facts->reaches_peers = has_setting(recording, SETTING_PEER);
    facts->keeps_pools = has_setting(recording, SETTING_THRESHOLD);
    for (size_t i = 0; i < recording->migration_count; i++) {
        const struct recorded_migration *moved = &recording->migrations[i];
        if (moved->asked)
            continue;
        facts->faults++;
        facts->fault_bytes += moved->bytes;
        facts->faults_ns += moved->end_ns - moved->start_ns;
    }
    for (size_t i = 0; i < recording->call_count; i++)
        facts->prefetches +=
            strstr(host_call_name(recording->calls[i].row), "Prefetch") != NULL;
}
