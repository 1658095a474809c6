/* draft.c - a plan as a list of items that can be changed, and a plan of it again. */
#include "core/items.h"
#include "rework/parts.h"

#include <stdlib.h>
#include <string.h>

bool rework_draft_room(struct rework_draft *draft, bool room)
{
    if (!room)
        (void)error_no_memory(&draft->why, "to try fixes");
    return room;
}

void rework_draft_add(struct rework_draft *draft, const struct rework_item *item)
{
    struct rework_item *added = ITEMS_ADD(draft->items, draft->count, draft->capacity);
    if (rework_draft_room(draft, added != NULL))
        *added = *item;
}

void rework_draft_touch(struct rework_draft *draft, struct rework_item *item,
                        const struct access *access, uint32_t set)
{
    const bool room =
        ITEMS_ROOM(draft->accesses, draft->access_count, draft->access_capacity) &&
        ITEMS_ROOM(draft->sets, draft->access_count, draft->set_capacity);
    if (!rework_draft_room(draft, room))
        return;
    if (item->seen.access_count == 0)
        item->seen.first_access = draft->access_count;
    draft->accesses[draft->access_count] = *access;
    draft->sets[draft->access_count++] = set;
    item->seen.access_count++;
}

const struct access *rework_touch_of(const struct rework_draft *draft,
                                     const struct rework_item *item, const struct range *range)
{
    for (uint32_t i = 0; i < item->seen.access_count; i++) {
        const struct access *access = &draft->accesses[item->seen.first_access + i];
        if (ranges_overlap(&access->range, range))
            return access;
    }
    return NULL;
}

const struct rework_item *rework_user_of(const struct rework_draft *draft, size_t at,
                                         const struct range *range, const struct access **touch)
{
    enum { NEAR = 4096 };
    for (size_t i = at + 1; i < draft->count && i < at + NEAR; i++) {
        const struct rework_item *item = &draft->items[i];
        *touch = item->gone ? NULL : rework_touch_of(draft, item, range);
        if (*touch != NULL)
            return item;
    }
    return NULL;
}

bool rework_is_legacy(const struct rework_draft *draft, uint32_t stream)
{
    return stream < draft->streams && draft->kinds != NULL &&
           draft->kinds[stream] == STREAM_LEGACY;
}

static void take_items(struct rework_draft *draft, const struct plan *plan, uint32_t first,
                       uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        struct rework_item item = {.op = plan->ops[i],
                                   .seen = plan->recorded->ops[i],
                                   .origin = i,
                                   .tile = REWORK_NONE,
                                   .target = REWORK_NONE};
        const size_t from = item.seen.first_access, touched = item.seen.access_count;
        item.seen.access_count = 0;
        for (size_t k = from; k < from + touched; k++)
            rework_draft_touch(draft, &item, &plan->recorded->accesses[k], 0);
        rework_draft_add(draft, &item);
    }
}

/* Returns a copy of what is said of each stream; NULL where nothing is. */
static void *copy_of(struct rework_draft *draft, const void *said, size_t bytes)
{
    void *copy = said != NULL ? malloc(bytes + 1) : NULL;
    (void)rework_draft_room(draft, (said == NULL) == (copy == NULL));
    return copy != NULL ? memcpy(copy, said, bytes) : NULL;
}

void rework_draft_begin(struct rework_draft *draft, const struct rework_base *base,
                        uint32_t first, uint32_t count)
{
    const struct plan *plan = base->plan;
    *draft = (struct rework_draft){.base = base,
                                   .streams = plan->streams,
                                   .events = plan->events,
                                   .set_count = 1,
                                   .launches_block = plan->launches_block,
                                   .loads_lazily = plan->loads_lazily};
    draft->stands = malloc((plan->op_count + (size_t)1) * sizeof *draft->stands);
    (void)rework_draft_room(draft, draft->stands != NULL);
    for (uint32_t i = 0; draft->stands != NULL && i < plan->op_count; i++)
        draft->stands[i] = i;
    draft->kinds = copy_of(draft, plan->stream_kinds, plan->streams);
    draft->priorities =
        copy_of(draft, plan->priorities, plan->streams * sizeof *plan->priorities);
    take_items(draft, plan, first, count);
}

void rework_draft_free(struct rework_draft *draft)
{
    free(draft->items);
    free(draft->accesses);
    free(draft->sets);
    free(draft->stands);
    free(draft->kinds);
    free(draft->priorities);
    *draft = (struct rework_draft){0};
}

void rework_draft_drop(struct rework_draft *draft, size_t item)
{
    struct rework_item *gone = &draft->items[item];
    gone->gone = true;
    for (size_t i = item + 1; i < draft->count; i++) {
        struct rework_item *next = &draft->items[i];
        if (next->gone || next->seen.thread != gone->seen.thread)
            continue;
        next->seen.host_ns += gone->seen.host_ns;
        for (int k = 0; k < CALL_MADE_KINDS; k++)
            next->seen.made_ns[k] += gone->seen.made_ns[k];
        return;
    }
}

void rework_draft_tidy(struct rework_draft *draft)
{
    size_t kept = 0;
    for (size_t i = 0; i < draft->count; i++) {
        if (!draft->items[i].gone)
            draft->items[kept++] = draft->items[i];
    }
    draft->count = kept;
}

/* --- a plan of it --- */

static bool copy_names(const struct plan_recorded *from, struct plan_recorded *to)
{
    to->names = calloc(from->name_count + (size_t)1, sizeof *to->names);
    for (uint32_t i = 0; to->names != NULL && i < from->name_count; i++) {
        to->names[i] = strdup(from->names[i]);
        if (to->names[i] == NULL)
            return false;
        to->name_count++;
    }
    return to->names != NULL;
}

/* Which buffers of all sets are used: a bit for each, and how many are before those of a word.
 */
struct used {
    uint64_t *bits;
    uint32_t *before;
};

/* Numbers the buffers that are used as they come, and gives the plan those alone: a program may
 * have a million, and tiles may use them in many sets, each of them a few. */
static bool number_buffers(const struct used *used, size_t words,
                           const struct plan_recorded *from, struct plan_recorded *to)
{
    size_t count = 0;
    for (size_t i = 0; i < to->access_count; i++)
        used->bits[to->accesses[i].range.buffer / 64] |= UINT64_C(1)
                                                         << to->accesses[i].range.buffer % 64;
    for (size_t w = 0; w < words; w++) {
        used->before[w] = (uint32_t)count;
        count += (size_t)__builtin_popcountll(used->bits[w]);
    }
    to->buffers = malloc((count + 1) * sizeof *to->buffers);
    if (to->buffers == NULL)
        return false;
    to->buffer_count = (uint32_t)count;
    for (size_t i = 0; i < to->access_count; i++) {
        struct range *range = &to->accesses[i].range;
        const uint64_t below =
            used->bits[range->buffer / 64] & ((UINT64_C(1) << range->buffer % 64) - 1);
        const uint32_t number =
            used->before[range->buffer / 64] + (uint32_t)__builtin_popcountll(below);
        to->buffers[number] = from->buffers[range->buffer % from->buffer_count];
        range->buffer = number;
    }
    return true;
}

/* Gives the plan, which has its accesses, the buffers of the sets that they use. */
static bool take_buffers(const struct rework_draft *draft, const struct plan_recorded *from,
                         struct plan_recorded *to)
{
    const size_t words = (size_t)from->buffer_count * draft->set_count / 64 + 1;
    const struct used used = {calloc(words, sizeof *used.bits),
                              malloc(words * sizeof *used.before)};
    const bool taken =
        used.bits != NULL && used.before != NULL && number_buffers(&used, words, from, to);
    free(used.bits);
    free(used.before);
    return taken;
}

static bool copy_items(const struct rework_draft *draft, struct plan *plan)
{
    struct plan_recorded *recorded = plan->recorded;
    plan->ops = malloc((draft->count + 1) * sizeof *plan->ops);
    recorded->ops = malloc((draft->count + 1) * sizeof *recorded->ops);
    recorded->accesses = malloc((draft->access_count + 1) * sizeof *recorded->accesses);
    if (plan->ops == NULL || recorded->ops == NULL || recorded->accesses == NULL)
        return false;
    for (size_t i = 0; i < draft->count; i++) {
        const struct rework_item *item = &draft->items[i];
        plan->ops[i] = item->op;
        plan->ops[i].id = (uint32_t)i;
        recorded->ops[i] = item->seen;
        recorded->ops[i].first_access = recorded->access_count;
        for (uint32_t k = 0; k < item->seen.access_count; k++)
            recorded->accesses[recorded->access_count++] =
                draft->accesses[item->seen.first_access + k];
    }
    plan->op_count = (uint32_t)draft->count;
    plan->op_capacity = draft->count + 1;
    return true;
}

void rework_draft_plan(struct rework_draft *draft, struct plan *plan)
{
    const struct plan *from = draft->base->plan;
    *plan = (struct plan){0};
    if (draft->count >= UINT32_MAX / 4)
        (void)error_set(&draft->why, STATUS_FAILED, "the fixed plan has too many ops");
    if (draft->why.status != STATUS_OK)
        return;
    plan->recorded = calloc(1, sizeof *plan->recorded);
    if (!rework_draft_room(draft, plan->recorded != NULL))
        return;
    plan->streams = draft->streams;
    plan->events = draft->events;
    plan->memory = from->memory;
    plan->issue = from->issue;
    plan->launches_block = draft->launches_block;
    plan->loads_lazily = draft->loads_lazily;
    plan->recorded->threads = from->recorded->threads;
    plan->recorded->facts = from->recorded->facts;
    plan->stream_kinds = copy_of(draft, draft->kinds, draft->streams);
    plan->priorities =
        copy_of(draft, draft->priorities, draft->streams * sizeof *draft->priorities);
    (void)rework_draft_room(draft, copy_items(draft, plan) &&
                                       take_buffers(draft, from->recorded, plan->recorded) &&
                                       copy_names(from->recorded, plan->recorded));
    if (draft->why.status != STATUS_OK)
        plan_free(plan);
}
