/* parts.h - a plan that is being changed: private to the files of rework.
 *
 * Each file calls only files above it in this list:
 *
 *   rework/draft.c   a plan as a list of items, and back
 *   rework/tiles.c   ops that belong together by their data, and the buffers' versions
 *   rework/host.c    waits, allocations and the like, which are the host's
 *   rework/shape.c   tiles dealt over streams, cut, merged, put in another order
 *   rework/work.c    copies and kernels themselves: left out, spread, cut
 *   rework/events.c  events where data asks for an order that nothing else keeps
 *   rework/rework.c         one change after another
 *   rework/graphs.c  less for the host to do
 *   rework/look.c    what a plan is like */
#ifndef PIPELINE_REWORK_PARTS_H
#define PIPELINE_REWORK_PARTS_H

#include "rework/rework.h"

#define REWORK_NONE UINT32_MAX

/* --- drafts --- */

struct rework_item {
    struct op op;
    struct op_recorded seen; /* its accesses are the draft's */
    uint32_t origin;         /* the recorded plan's op; REWORK_NONE: an event of ours */
    uint32_t tile;           /* REWORK_NONE: none */
    uint32_t stage;          /* its place in the tile */
    uint32_t place;          /* its place among the items before they were put in order */
    uint32_t target;         /* OP_SYNC_EVENT: the recorded op that the host waits for;
                                REWORK_NONE: the plan's event says it */
    bool merged;             /* it stands for several ops */
    bool gone;
};

struct rework_draft {
    const struct rework_base *base;
    struct rework_item *items;
    size_t count, capacity;
    struct access *accesses;
    uint32_t *sets; /* per access: the tile that its bytes' version belongs to */
    size_t access_count, access_capacity;
    size_t set_capacity;
    uint32_t tiles;
    uint32_t *stands; /* per recorded op: the one whose item stands for it */
    /* The new plan's. */
    uint32_t streams, events;
    uint8_t *kinds;     /* owned; NULL: all non-blocking */
    int *priorities;    /* owned; NULL: all alike */
    uint32_t set_count; /* of buffers */
    bool launches_block, loads_lazily;
    struct error why; /* why it can't be changed so; it is of no use then */
};

/* Begins a draft of `count` ops of the base's plan, from op `first` on. */
void rework_draft_begin(struct rework_draft *draft, const struct rework_base *base,
                        uint32_t first, uint32_t count);
void rework_draft_free(struct rework_draft *draft);

/* Takes an item out. The time that its thread spent before it is spent before the next. */
void rework_draft_drop(struct rework_draft *draft, size_t item);

/* Forgets the items that are gone. */
void rework_draft_tidy(struct rework_draft *draft);

/* Notes that memory ran out, unless there is `room`; returns whether there is. */
bool rework_draft_room(struct rework_draft *draft, bool room);

/* Append. */
void rework_draft_add(struct rework_draft *draft, const struct rework_item *item);
void rework_draft_touch(struct rework_draft *draft, struct rework_item *item,
                        const struct access *access, uint32_t set);

/* Returns the first access of an item that touches `range`; NULL: none does. */
const struct access *rework_touch_of(const struct rework_draft *draft,
                                     const struct rework_item *item, const struct range *range);

/* Returns the next item, near behind item `at`, that touches `range`, and sets what it touches;
 * NULL: none does. */
const struct rework_item *rework_user_of(const struct rework_draft *draft, size_t at,
                                         const struct range *range,
                                         const struct access **touch);

/* Returns true if a stream of the draft is the legacy default one. */
bool rework_is_legacy(const struct rework_draft *draft, uint32_t stream);

/* Makes a plan of what is there; an empty one of a draft of no use. Free with plan_free(). */
void rework_draft_plan(struct rework_draft *draft, struct plan *plan);

/* Returns, per item, the next copy from or to any of the same bytes of the host's; REWORK_NONE:
 * none. The table is the arena's. NULL: that is full. O(n log n). */
struct arena;
uint32_t *rework_next_copies(const struct rework_draft *draft, struct arena *arena);

/* --- changes --- */

/* Finds the tiles of a draft, and the versions of the bytes that its ops touch: a buffer that
 * is written anew has another version. Accesses are split where versions change. */
void rework_tiles_find(struct rework_draft *draft);

/* Takes out of the ops' times what recording took of them. */
void rework_recording_leave(struct rework_draft *draft);

/* Does those of the changes that are about the host; those about streams' kinds; and memsets.
 */
void rework_host_change(struct rework_draft *draft, const struct rework *change);
void rework_streams_unblock(struct rework_draft *draft);
void rework_memsets_drop(struct rework_draft *draft);

/* Deals tiles over streams, cut or merged. Needs rework_tiles_find(). */
void rework_shape_deal(struct rework_draft *draft, const struct rework *change);

/* Returns piece `piece` of `pieces` of a range; and has an op move that piece alone. */
struct range rework_range_part(struct range range, uint32_t piece, uint32_t pieces);
void rework_op_cut(struct op *op, uint32_t piece, uint32_t pieces);

/* Does those of the changes that are about single ops' work; and copies within the device. */
void rework_work_change(struct rework_draft *draft, const struct rework *change);
void rework_device_copies_drop(struct rework_draft *draft);
void rework_copies_cut(struct rework_draft *draft);

/* Returns true if a kernel has fewer blocks than the GPU has SMs, and takes long enough that
 * more would matter. */
bool rework_has_few_blocks(const struct machine *machine, const struct op *op,
                           const struct op_recorded *seen);

/* Returns how long a copy between devices would take by their own link, where the machine has
 * one and the copy took more than twice as long; else 0. */
int64_t rework_peer_ns(const struct machine *machine, const struct op *op,
                       const struct op_recorded *seen);

/* Puts items in another order; each notes its place before. */
void rework_shape_order(struct rework_draft *draft, const struct rework *change);

/* Adds the events that data asks for. The ops of `needed` are the items by their places. With
 * `keeps_blind`, ops whose bytes are not known stay where streams and events of the recorded
 * plan had them. */
void rework_events_add(struct rework_draft *draft, const struct needed *needed,
                       bool keeps_blind);

/* --- less for the host to do, in a plan that is made --- */

/* Returns from which time on what passes between two calls of a recorded plan is the host's own
 * work, and sets *sum_ns to all of it; INT64_MAX and 0: no memory to tell. */
int64_t rework_work_least_ns(const struct plan *plan, int64_t *sum_ns);

/* Returns what of that work fills page-locked memory, which is then copied in, in no more time
 * than to copy it there takes: with the memory that it comes from page-locked there is none. */
int64_t rework_filling_ns(const struct plan *plan, const struct machine *machine,
                          int64_t least_ns);

/* Has another thread do that work. */
void rework_work_move(int64_t least_ns, struct plan *plan);

/* Returns what it takes the host to launch a graph again. */
int64_t rework_graph_launch_ns(const struct plan *plan, const struct machine *machine,
                               uint32_t nodes);

/* Has stretches that repeat issued by one launch of a graph each. STATUS_USAGE: there is none
 * for which that takes the host less. O(n log n). */
enum status rework_graphs_make(const struct machine *machine, int64_t least_ns,
                               struct plan *plan, struct error *error);

/* Returns true if all records and waits of the program's go: what data asks for comes back. */
static inline bool rework_drops_waits(const struct rework *change)
{
    return change->drops_waits || change->streams > 0 || change->order != REWORK_AS_ISSUED;
}

#endif
