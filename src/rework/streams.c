/* streams.c - the default stream, and memsets, which are often in it. */
#include "rework/parts.h"

#include <stdlib.h>
#include <string.h>

/* --- the default stream --- */

/* Moves the ops of the legacy default stream to their tiles' streams: that of the op before it
 * in the tile, or, in a second walk backwards, of the one behind it. Records go with the op
 * before them, waits with the one behind them. */
static void move_legacy(struct rework_draft *draft, uint32_t *streams, bool back)
{
    uint32_t followed = REWORK_NONE;
    enum op_kind with = back ? OP_WAIT : OP_RECORD;
    for (size_t k = 0; k < draft->count; k++) {
        struct rework_item *item = &draft->items[back ? draft->count - 1 - k : k];
        if (item->op.kind == with && rework_is_legacy(draft, item->op.stream) &&
            followed != REWORK_NONE)
            item->op.stream = followed;
        if (item->tile == REWORK_NONE)
            continue;
        if (!rework_is_legacy(draft, item->op.stream)) {
            streams[item->tile] = item->op.stream;
            continue;
        }
        if (streams[item->tile] != REWORK_NONE)
            item->op.stream = streams[item->tile];
        followed = item->op.stream;
    }
}

enum status rework_streams_unblock(struct rework_draft *draft, struct error *error)
{
    uint32_t *streams = malloc((draft->tiles + (size_t)1) * sizeof *streams);
    if (streams == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to try fixes");
    for (size_t i = 0; i < draft->count; i++) { /* all that its sync waited for */
        struct rework_item *item = &draft->items[i];
        if (item->op.kind == OP_SYNC && rework_is_legacy(draft, item->op.stream))
            item->op.stream = draft->streams;
    }
    for (int back = 0; back < 2; back++) {
        memset(streams, 0xff, (draft->tiles + (size_t)1) * sizeof *streams);
        move_legacy(draft, streams, back != 0);
    }
    free(streams);
    free(draft->kinds);
    draft->kinds = NULL;
    return STATUS_OK;
}

/* --- memsets --- */

static bool covers(const struct range *all, const struct range *part)
{
    return all->offset <= part->offset &&
           all->offset + all->bytes >= part->offset + part->bytes;
}

void rework_memsets_drop(struct rework_draft *draft)
{
    for (size_t i = 0; i < draft->count; i++) {
        struct rework_item *item = &draft->items[i];
        const struct access *touch = NULL;
        if (item->op.kind != OP_MEMSET || item->seen.access_count == 0)
            continue;
        const struct range *set = &draft->accesses[item->seen.first_access].range;
        const struct rework_item *user = rework_user_of(draft, i, set, &touch);
        if (user == NULL)
            continue;
        if (op_is_copy(user->op.kind) && touch->writes && covers(&touch->range, set))
            rework_draft_drop(draft, i);
        else if (user->op.stream < draft->streams)
            item->op.stream = user->op.stream;
    }
    rework_draft_tidy(draft);
}
