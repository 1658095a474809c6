/* foreign_chain.c - the longest chain of a recorded program's ops of which each reads what the
 * one before it wrote. */
#include "causes/foreign_parts.h"

#include "plan/needed.h"

#include <stdlib.h>

/* Returns true if op `i` reads bytes that op `before` writes. A kernel may read all that it may
 * write. */
static bool flows(const struct plan_recorded *recorded, uint32_t before, uint32_t i)
{
    enum { PAIRS_MOST = 4096 };
    const struct op_recorded *x = &recorded->ops[before], *y = &recorded->ops[i];
    if ((uint64_t)x->access_count * y->access_count > PAIRS_MOST)
        return false;
    for (uint32_t a = 0; a < x->access_count; a++) {
        const struct access *from = &recorded->accesses[x->first_access + a];
        for (uint32_t b = 0; b < y->access_count && from->writes; b++) {
            const struct access *to = &recorded->accesses[y->first_access + b];
            if ((!to->writes || !y->sure) && from->range.buffer == to->range.buffer &&
                from->range.offset < to->range.offset + to->range.bytes &&
                to->range.offset < from->range.offset + from->range.bytes)
                return true;
        }
    }
    return false;
}

int64_t foreign_chain_ns(const struct foreign *foreign)
{
    const struct plan *plan = foreign->facts->plan;
    const struct timeline *timeline = foreign->timeline;
    struct needed needed = {0};
    int64_t longest_ns = 0;
    int64_t *chains_ns = calloc(plan->op_count + (size_t)1, sizeof *chains_ns);
    if (chains_ns == NULL || plan_needed(plan, &needed, NULL) != STATUS_OK) {
        free(chains_ns);
        return 0;
    }
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const uint32_t index = plan->recorded->ops[i].span;
        if (!op_on_device(plan->ops[i].kind) || index >= timeline->span_count)
            continue;
        for (size_t k = needed.first[i]; k < needed.first[i + 1]; k++) {
            if (flows(plan->recorded, needed.before[k], i))
                chains_ns[i] = later(chains_ns[i], chains_ns[needed.before[k]]);
        }
        chains_ns[i] += timeline->spans[index].end_ns - timeline->spans[index].start_ns;
        longest_ns = later(longest_ns, chains_ns[i]);
    }
    needed_free(&needed);
    free(chains_ns);
    return longest_ns;
}
