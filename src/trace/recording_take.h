/* recording_take.h - what is kept of lines: shared by the files that take them. Private to the
 * reader of recordings. */
#ifndef PIPELINE_TRACE_RECORDING_TAKE_H
#define PIPELINE_TRACE_RECORDING_TAKE_H

#include "trace/recording_draft.h"

/* The values of a line from its kind on, each as its form asks (trace/recording_lines.c). */
typedef const struct line_value *values;

/* Returns an item of a pile, or gives up. */
#define ADD(item, pile)                                                                        \
    do {                                                                                       \
        (item) = pile_add(&(pile), sizeof *(item));                                            \
        if ((item) == NULL)                                                                    \
            return draft_no_memory(draft);                                                     \
    } while (0)

/* Returns a number that may be negative, of 32 bits. */
static inline int32_t signed_of(const struct line_value *value)
{
    return (int32_t)(value->negative ? -(int64_t)value->number : (int64_t)value->number);
}

/* Lines about the program's calls, what they did, and ops (trace/recording_effects.c). */
enum status take_call(struct draft *draft, values v);
enum status take_copy(struct draft *draft, values v);
enum status take_copy2d(struct draft *draft, values v);
enum status take_set(struct draft *draft, values v);
enum status take_launch(struct draft *draft, values v);
enum status take_record(struct draft *draft, values v);
enum status take_wait(struct draft *draft, values v);
enum status take_sync(struct draft *draft, values v);
enum status take_function(struct draft *draft, values v);
enum status take_graph(struct draft *draft, values v);
enum status take_op(struct draft *draft, values v);
enum status take_kernel(struct draft *draft, values v);

#endif
