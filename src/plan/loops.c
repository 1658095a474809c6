/* loops.c - the loops that a plan is unrolled from, and what their stages are seen to do. It
 * stands apart from the builder because mistakes note ops, too, and the builder makes mistakes.
 */
#include "plan/loops.h"

static void add_loop(struct plan_loops *loops, uint32_t first, uint32_t end, uint32_t wave)
{
    loops->loops[loops->loop_count++] = (struct loop){first, end, wave};
}

void loops_begin(struct plan_loops *loops, const struct steps *steps)
{
    const uint32_t end = steps->stages;
    loops->stage_count = end;
    loops->step = (struct step){end, 0};
    loops->place = 0;
    for (uint32_t stage = 0; stage < end; stage++)
        loops->stages[stage].what = steps->stage[stage];
    if (steps->ways == 1) {
        for (uint32_t stage = 0; stage < end; stage++)
            add_loop(loops, stage, stage + 1, 1);
        return;
    }
    if (steps->ways == 2)
        add_loop(loops, 0, 1, 1);
    add_loop(loops, steps->ways == 2 ? 1 : 0, end, steps->wave);
}

void loops_step(struct plan_loops *loops, struct step step)
{
    if (step.stage == loops->step.stage && step.batch == loops->step.batch)
        return;
    loops->step = step;
    loops->place = 0;
}

static bool is_same(const struct loop_item *a, const struct loop_item *b)
{
    return a->kind == b->kind && a->relation == b->relation &&
           a->event_stage == b->event_stage && a->carries == b->carries &&
           a->action == b->action && a->buffer == b->buffer;
}

/* Returns where a new item belongs whose step has come to `place`: right there, but behind the
 * waits of other batches. No batch has all waits: they stand by their relation. */
static int new_place(const struct loop_stage *stage, int place, const struct loop_item *item)
{
    while (place < stage->item_count && stage->items[place].kind == OP_WAIT &&
           (item->kind != OP_WAIT || stage->items[place].relation < item->relation))
        place++;
    return place;
}

void loops_note(struct plan_loops *loops, struct loop_item item)
{
    struct loop_stage *stage = &loops->stages[loops->step.stage];
    const uint32_t batch = loops->step.batch;
    int place = loops->place > 0 ? loops->place - 1 : 0; /* several ops may be one item */
    while (place < stage->item_count && !is_same(&stage->items[place], &item))
        place++;
    if (place < stage->item_count) {
        struct loop_item *known = &stage->items[place];
        loops->broken |= known->to != batch && known->to != batch + 1;
        known->to = batch + 1;
        loops->place = place + 1;
        return;
    }
    if (stage->item_count == LOOP_ITEMS_MOST) {
        loops->broken = true;
        return;
    }
    item.from = batch;
    item.to = batch + 1;
    place = new_place(stage, loops->place, &item);
    for (int i = stage->item_count++; i > place; i--)
        stage->items[i] = stage->items[i - 1];
    stage->items[place] = item;
    loops->place = place + 1;
}
