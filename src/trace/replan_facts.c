/* replan_facts.c - what a recording shows of a plan beside its ops: copies that bring again
 * what is there, managed memory, events that keep the time, devices that reach each other. */
#include "core/compare.h"
#include "trace/replan_parts.h"

#include <stdlib.h>
#include <string.h>

/* --- copies that bring the same --- */

/* What an op is certain to write. */
struct write {
    struct range range;
    uint32_t op;
    bool alone; /* it writes no other */
};

COMPARE_BY(compare_writes, struct write, range.buffer, range.offset, range.bytes, op);

/* Lists all that ops are certain to write, in order. Returns NULL where memory runs out. */
static struct write *list_writes(const struct plan *plan, struct arena *arena, size_t *count)
{
    const struct plan_recorded *recorded = plan->recorded;
    struct write *writes = arena_zeros(arena, recorded->access_count, sizeof *writes);
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

void replan_mark_repeats(struct replan *replan)
{
    struct plan *plan = replan->plan;
    size_t count, next;
    struct write *writes = list_writes(plan, &replan->arena, &count);
    uint64_t end = 0; /* of what was written in this buffer so far */
    if (writes == NULL)
        replan_no_memory(replan);
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
}

/* --- what is no op's --- */

void replan_note_facts(struct replan *replan)
{
    const struct recording *recording = replan->recording;
    struct recorded_facts *facts = &replan->recorded->facts;
    *facts = recording->facts;
    for (size_t i = 0; i < recording->call_count; i++)
        facts->prefetches +=
            strstr(host_call_name(recording->calls[i].row), "Prefetch") != NULL;
}
