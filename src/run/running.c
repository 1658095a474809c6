/* running.c - ops that run at the same time on the same bytes. */
#include "run/running.h"

#include "core/items.h"

#include <stdlib.h>

/* Returns true if `writer` writes a byte that `op` reads or, with `writes`, writes too. */
static bool meets(const struct op *op, bool writes, const struct op *writer)
{
    struct access own[OP_ACCESS_MAX], others[OP_ACCESS_MAX];
    int own_count = op_accesses(op, own), other_count = op_accesses(writer, others);
    for (int i = 0; i < own_count; i++) {
        if (!own[i].writes != !writes)
            continue;
        for (int j = 0; j < other_count; j++) {
            if (others[j].writes && ranges_overlap(&own[i].range, &others[j].range))
                return true;
        }
    }
    return false;
}

void running_free(struct running *running)
{
    free(running->ops);
    *running = (struct running){0};
}

bool running_start(struct running *running, const struct op *op, int64_t start_ns)
{
    struct running_op *running_op = ITEMS_ADD(running->ops, running->count, running->capacity);
    if (running_op == NULL)
        return false;
    *running_op = (struct running_op){op, start_ns, false};
    return true;
}

/* Each pair of ops is looked at once, when the first of the two ends. */
bool running_end(struct running *running, const struct op *op, int64_t end_ns)
{
    size_t own = running->count;
    bool spoiled = false;
    for (size_t i = 0; i < running->count; i++) {
        struct running_op *other = &running->ops[i];
        if (other->op == op) {
            own = i;
            spoiled |= other->spoiled;
        } else if (other->start_ns < end_ns) {
            bool both_write = meets(op, true, other->op);
            spoiled |= both_write || meets(op, false, other->op);
            other->spoiled |= both_write || meets(other->op, false, op);
        }
    }
    if (own < running->count)
        running->ops[own] = running->ops[--running->count];
    return spoiled;
}
