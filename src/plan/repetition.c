/* repetition.c - finds a loop by the borders of a part of the plan.
 *
 * A border of a text is a beginning of it that is its end, too; a text that repeats itself has
 * one that lacks just one repetition. The prefix function finds it (Knuth, Morris and Pratt,
 * "Fast Pattern Matching in Strings", 1977). It looks at parts of the plan, which a loop has to
 * itself, and then goes on to both sides as far as ops are the same one period on. */
#include "plan/repetition.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Returns a number for about so many bytes: two to an octave. Tiles of an array that can't be
 * cut evenly differ by an element. */
static uint32_t size_class(uint64_t bytes)
{
    return bytes > 0 ? (uint32_t)(1 + lround(2 * log2((double)bytes))) : 0;
}

/* Returns a number that is the same for ops that are the same. */
static uint64_t describe(const struct plan *plan, uint32_t index)
{
    const struct op *op = &plan->ops[index];
    const struct op_recorded *seen = plan_seen(plan, op);
    const bool goes_on = index > 0 && plan->ops[index - 1].stream == op->stream;
    uint64_t detail = size_class(op->kind == OP_ALLOC ? op->alloc.bytes : 0);
    if (op->kind == OP_KERNEL)
        detail = seen != NULL ? seen->name : op->kernel.link;
    else if (op_on_device(op->kind))
        detail = size_class(op_bytes(op));
    return detail << 8 | (uint64_t)op->kind << 1 | goes_on;
}

/* Returns the period of `count` ops, which is `count` itself where they don't repeat. `border`
 * has room for all. */
static uint32_t find_period(const uint64_t *ops, uint32_t count, uint32_t *border)
{
    uint32_t length = 0;
    border[0] = 0;
    for (uint32_t i = 1; i < count; i++) {
        while (length > 0 && ops[i] != ops[length])
            length = border[length - 1];
        length += ops[i] == ops[length];
        border[i] = length;
    }
    return count - border[count - 1];
}

/* Returns the loop that has a part of the plan to itself, as long as it is. */
static struct repetition find_in(const uint64_t *ops, uint32_t all, uint32_t begin,
                                 uint32_t count, uint32_t *border)
{
    if (count < REPETITIONS_MIN)
        return (struct repetition){0};
    uint32_t period = find_period(ops + begin, count, border), end = begin + count;
    if (period > count / 2)
        return (struct repetition){0};
    while (begin > 0 && ops[begin - 1] == ops[begin - 1 + period])
        begin--;
    while (end < all && ops[end] == ops[end - period])
        end++;
    return (struct repetition){
        .first = begin, .period = period, .count = (end - begin) / period};
}

static uint64_t ops_of(const struct repetition *repetition)
{
    return (uint64_t)repetition->period * repetition->count;
}

enum status plan_find_repetition(const struct plan *plan, struct repetition *repetition,
                                 struct error *error)
{
    enum { PARTS = 4 };
    const uint32_t all = plan->op_count;
    uint64_t *ops = malloc((all + (size_t)1) * sizeof *ops);
    uint32_t *border = malloc((all + (size_t)1) * sizeof *border);
    struct repetition best = {0};
    for (uint32_t i = 0; ops != NULL && i < all; i++)
        ops[i] = describe(plan, i);
    /* The middle half; both other halves; and what is shorter. */
    for (uint32_t parts = 2; ops != NULL && border != NULL && parts <= PARTS; parts++) {
        const uint32_t length = all / parts;
        for (uint32_t at = 0; at + 1 < 2 * parts && 2 * ops_of(&best) < all; at++) {
            const uint32_t begin = (uint32_t)((uint64_t)at * length / 2);
            const struct repetition found = find_in(ops, all, begin, length, border);
            if (found.count >= REPETITIONS_MIN && ops_of(&found) > ops_of(&best))
                best = found;
        }
    }
    const bool room = ops != NULL && border != NULL;
    free(ops);
    free(border);
    if (!room)
        return error_set(error, STATUS_NO_MEMORY,
                         "no memory to look for a loop in %" PRIu32 " ops", all);
    *repetition = 2 * ops_of(&best) >= all ? best : (struct repetition){0};
    return STATUS_OK;
}
