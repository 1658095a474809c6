/* tiles.c - which ops belong together by their data.
 *
 * Bytes of the device have versions. A copy or a memset begins one; a kernel goes on with what
 * is there, unless it is the first user of a copy in and what it finds in another buffer was
 * copied out since: then that is taken to be an earlier tile's result, and a new version
 * begins. Ops that share a version make a tile, as far as a tile goes: a kernel that is the
 * first user of a copy in begins one, and is in no other, even where it uses more that others
 * use, too. */
#include "core/arena.h"
#include "core/items.h"
#include "plan/cells.h"
#include "rework/parts.h"

#include <stdlib.h>

struct version {
    uint32_t begin, last; /* items: the first and the latest that touched it */
    bool fresh;           /* a copy or memset wrote it, and nothing has used it yet */
    bool copied_in;       /* by a copy */
    bool out;             /* it was copied out since a kernel touched it */
    bool shared;          /* kernels of several tiles touch it */
};

struct bytes {
    struct cuts cuts;
    uint32_t *versions; /* per cell; 0: none */
};

struct grouper {
    struct rework_draft *draft;
    struct access *accesses; /* as they were */
    struct bytes *buffers;
    uint32_t buffer_count;
    struct version *versions; /* entry 0 is not used */
    size_t version_count, version_capacity;
    uint32_t *parents;  /* per item: of the same tile */
    uint32_t *latest;   /* per stream: the latest item with bytes */
    struct arena arena; /* what has these */
    uint32_t item;
    uint32_t begun; /* the version that the present access begins; 0: none yet */
};

static uint32_t root_of(const struct grouper *grouper, uint32_t item)
{
    while (grouper->parents[item] != item) {
        grouper->parents[item] = grouper->parents[grouper->parents[item]];
        item = grouper->parents[item];
    }
    return item;
}

static void join(struct grouper *grouper, uint32_t a, uint32_t b)
{
    uint32_t x = root_of(grouper, a), y = root_of(grouper, b);
    grouper->parents[x > y ? x : y] = x > y ? y : x;
}

/* --- versions --- */

/* Returns the version that this access begins. */
static uint32_t begin_version(struct grouper *grouper, bool fresh, bool copied_in)
{
    if (grouper->begun != 0)
        return grouper->begun;
    struct version *version =
        ITEMS_ADD(grouper->versions, grouper->version_count, grouper->version_capacity);
    if (!rework_draft_room(grouper->draft, version != NULL))
        return 0;
    *version = (struct version){
        .begin = grouper->item, .last = grouper->item, .fresh = fresh, .copied_in = copied_in};
    return grouper->begun = (uint32_t)grouper->version_count - 1;
}

/* A copy or a memset touches a cell. */
static void copy_touches(struct grouper *grouper, bool writes, uint32_t *cell)
{
    struct version *version = *cell != 0 ? &grouper->versions[*cell] : NULL;
    bool copied_in = grouper->draft->items[grouper->item].op.kind != OP_MEMSET;
    if (writes) {
        if (version != NULL && version->fresh)
            join(grouper, grouper->item, version->begin);
        *cell = begin_version(grouper, true, copied_in);
        return;
    }
    if (version == NULL) {
        *cell = begin_version(grouper, false, false);
        return;
    }
    join(grouper, grouper->item, version->last);
    version->out = true;
}

/* A kernel touches a cell. `begins` says that it is the first user of a copy in. */
static void kernel_touches(struct grouper *grouper, bool begins, bool writes, uint32_t *cell)
{
    struct version *version = *cell != 0 ? &grouper->versions[*cell] : NULL;
    if (version == NULL || (version->out && begins && writes)) {
        *cell = begin_version(grouper, false, false);
        return;
    }
    if (version->fresh)
        join(grouper, grouper->item, version->begin);
    version->fresh = false;
    version->out = false;
    version->shared |=
        root_of(grouper, version->last) != root_of(grouper, grouper->item) && begins;
    version->last = grouper->item;
}

/* --- accesses --- */

struct touched {
    struct bytes *bytes; /* NULL: the host's, which has no versions */
    size_t begin, end;   /* cells */
};

static struct touched touched_by(const struct grouper *grouper, const struct access *access)
{
    const struct range *range = &access->range;
    const struct plan_recorded *recorded = grouper->draft->base->plan->recorded;
    if (recorded->buffers[range->buffer].host)
        return (struct touched){0};
    struct bytes *bytes = &grouper->buffers[range->buffer];
    struct touched touched = {.bytes = bytes};
    touched.begin = cuts_find(&bytes->cuts, range, &touched.end);
    return touched;
}

/* Returns true if the item, a kernel, is the first user of a copy in; else joins it with the
 * kernel whose work it goes on with. */
static bool kernel_begins(struct grouper *grouper, const struct access *accesses,
                          uint32_t count)
{
    uint32_t partner = REWORK_NONE;
    bool partner_shared = true;
    for (uint32_t i = 0; i < count; i++) {
        struct touched touched = touched_by(grouper, &accesses[i]);
        for (size_t cell = touched.begin; cell < touched.end; cell++) {
            const struct version *version = &grouper->versions[touched.bytes->versions[cell]];
            if (touched.bytes->versions[cell] == 0)
                continue;
            if (version->fresh && version->copied_in)
                return true;
            bool better = partner == REWORK_NONE || (partner_shared && !version->shared) ||
                          (partner_shared == version->shared && version->last > partner);
            partner = better ? version->last : partner;
            partner_shared = better ? version->shared : partner_shared;
        }
    }
    if (partner != REWORK_NONE)
        join(grouper, grouper->item, partner);
    return false;
}

/* Keeps an access in pieces, one for each version that it touches. */
static void keep_access(struct grouper *grouper, struct rework_item *item,
                        const struct access *access, const struct touched *touched)
{
    if (touched->bytes == NULL)
        rework_draft_touch(grouper->draft, item, access, 0);
    for (size_t cell = touched->begin; cell < touched->end;) {
        uint32_t version = touched->bytes->versions[cell];
        size_t end = cell + 1;
        while (end < touched->end && touched->bytes->versions[end] == version)
            end++;
        struct access piece = *access;
        piece.range.offset = touched->bytes->cuts.offsets[cell];
        piece.range.bytes = touched->bytes->cuts.offsets[end] - piece.range.offset;
        rework_draft_touch(grouper->draft, item, &piece, version);
        cell = end;
    }
}

static void item_touches(struct grouper *grouper, struct rework_item *item)
{
    uint32_t count = item->seen.access_count;
    const struct access *accesses = /* a profiler's trace has none at all */
        count > 0 ? grouper->accesses + item->seen.first_access : NULL;
    bool kernel = item->op.kind == OP_KERNEL;
    bool begins = kernel && kernel_begins(grouper, accesses, count);
    item->seen.access_count = 0;
    for (int writes = 0; writes < 2; writes++) {
        for (uint32_t i = 0; i < count; i++) {
            if ((accesses[i].writes != 0) != (writes != 0))
                continue;
            struct touched touched = touched_by(grouper, &accesses[i]);
            grouper->begun = 0;
            for (size_t cell = touched.begin; cell < touched.end; cell++) {
                uint32_t *version = &touched.bytes->versions[cell];
                if (kernel)
                    kernel_touches(grouper, begins, writes != 0, version);
                else
                    copy_touches(grouper, writes != 0, version);
            }
            keep_access(grouper, item, &accesses[i], &touched);
        }
    }
}

/* --- tiles --- */

/* Numbers the tiles in the order of their first items, and says of each access's version whose
 * it is. */
static void number_tiles(struct grouper *grouper)
{
    struct rework_draft *draft = grouper->draft;
    uint32_t *stages = arena_zeros(&grouper->arena, draft->count, sizeof *stages);
    if (!rework_draft_room(draft, stages != NULL))
        return;
    draft->tiles = 0;
    for (uint32_t i = 0; i < draft->count; i++) {
        struct rework_item *item = &draft->items[i];
        uint32_t root = root_of(grouper, i);
        if (!op_is_node(item->op.kind))
            continue;
        item->tile = root == i ? draft->tiles++ : draft->items[root].tile;
        item->stage = stages[item->tile]++;
    }
    for (size_t i = 0; i < draft->access_count; i++) {
        uint32_t version = draft->sets[i];
        draft->sets[i] =
            version != 0 ? draft->items[grouper->versions[version].begin].tile : REWORK_NONE;
    }
}

static bool grouper_init(struct grouper *grouper)
{
    struct rework_draft *draft = grouper->draft;
    grouper->buffer_count = draft->base->plan->recorded->buffer_count;
    grouper->buffers = calloc(grouper->buffer_count + (size_t)1, sizeof *grouper->buffers);
    grouper->versions = calloc(1, sizeof *grouper->versions);
    grouper->version_count = grouper->version_capacity = 1;
    grouper->parents = arena_zeros(&grouper->arena, draft->count, sizeof *grouper->parents);
    grouper->latest = arena_ones(&grouper->arena, draft->streams, sizeof *grouper->latest);
    if (!grouper->buffers || !grouper->versions || grouper->arena.full)
        return false;
    for (uint32_t i = 0; i < draft->count; i++)
        grouper->parents[i] = i;
    for (size_t i = 0; i < draft->access_count; i++) {
        const struct range *range = &draft->accesses[i].range;
        if (!cuts_add(&grouper->buffers[range->buffer].cuts, range))
            return false;
    }
    bool room = true;
    for (uint32_t i = 0; i < grouper->buffer_count && room; i++) {
        struct bytes *bytes = &grouper->buffers[i];
        cuts_tidy(&bytes->cuts);
        bytes->versions = calloc(bytes->cuts.count + 1, sizeof *bytes->versions);
        room = bytes->versions != NULL;
    }
    grouper->accesses = draft->accesses;
    draft->accesses = NULL;
    draft->access_count = draft->access_capacity = 0;
    return room;
}

static void grouper_free(struct grouper *grouper)
{
    for (uint32_t i = 0; grouper->buffers != NULL && i < grouper->buffer_count; i++) {
        cuts_free(&grouper->buffers[i].cuts);
        free(grouper->buffers[i].versions);
    }
    free(grouper->buffers);
    free(grouper->versions);
    free(grouper->accesses);
    arena_free(&grouper->arena);
}

void rework_tiles_find(struct rework_draft *draft)
{
    struct grouper grouper = {.draft = draft};
    const bool room = rework_draft_room(draft, grouper_init(&grouper));
    for (uint32_t i = 0; i < draft->count && room; i++) {
        struct rework_item *item = &draft->items[i];
        bool in_stream = op_is_node(item->op.kind) && item->op.stream < draft->streams;
        uint32_t *latest = in_stream ? &grouper.latest[item->op.stream] : NULL;
        grouper.item = i;
        bool follows = item->op.kind == OP_CALLBACK || item->seen.access_count == 0;
        if (follows && latest != NULL && *latest != REWORK_NONE)
            join(&grouper, i, *latest);
        if (latest != NULL)
            *latest = i;
        item_touches(&grouper, item);
    }
    if (draft->why.status == STATUS_OK)
        number_tiles(&grouper);
    grouper_free(&grouper);
}
