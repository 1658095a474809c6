/* repetition.h - the loop that a program was in, as its ops show it. */
#ifndef PIPELINE_PLAN_REPETITION_H
#define PIPELINE_PLAN_REPETITION_H

#include "plan/plan.h"

/* Ops [first, first + period * count) are the same `period` ops, `count` times. */
struct repetition {
    uint32_t first, period, count; /* count 0: no loop was found */
};

enum { REPETITIONS_MIN = 3 };

/* Finds the shortest piece that most of a plan repeats. Ops are the same where their kind is,
 * the kernel's name, about the bytes of a copy or a memset, and whether they are in the stream
 * of the op before: which stream that is, and which bytes it works on, may change from one
 * iteration to the next. What comes before and behind the loop is left out; a loop that is
 * interrupted is found as far as it is not. O(n). STATUS_NO_MEMORY; set only on STATUS_OK. */
enum status plan_find_repetition(const struct plan *plan, struct repetition *repetition,
                                 struct error *error);

#endif
