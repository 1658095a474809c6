/* rework.h - a recorded plan as it would be if the program's CUDA calls were changed.
 *
 * A fix takes something away that held ops up: a wait of the host's, the default stream's rule,
 * one stream's order, memory that is not page-locked. The orders that the program's data asks
 * for (plan/hazard.h), and that it kept, are kept: where nothing else does, by an event. So a
 * fixed plan computes the same, as far as its ops' bytes tell. What a fix presumes beyond that
 * is said beside it. */
#ifndef PIPELINE_REWORK_REWORK_H
#define PIPELINE_REWORK_REWORK_H

#include "core/status.h"
#include "machine/machine.h"
#include "plan/clocks.h"
#include "plan/hazard.h"
#include "plan/plan.h"

enum rework_order { REWORK_AS_ISSUED, REWORK_DEPTH, REWORK_BREADTH };

/* Changes of a plan. All of them may be made together; a zeroed one changes nothing.
 *
 * A tile is what belongs together by its data: the copies in that a kernel is the first to use,
 * that kernel, those that go on with what it left, and the copies out of that. */
struct rework {
    bool unrecorded; /* what recording took of the ops' times is left out; no fix does that */
    /* Host memory is page-locked: copies run at the link's rate, and nothing is staged. */
    bool pins;
    /* All streams are non-blocking. Work of the legacy default stream moves to the stream that
     * its data came from, or else goes to; other work of it keeps a stream of its own. */
    bool unblocks;
    /* A memset goes that a copy overwrites before anything reads it; others move to the stream
     * of the op that uses what they set. */
    bool drops_memsets;
    /* A copy within the device goes where the next op that touches its target is a kernel that
     * names its source, too: that kernel is given the two the other way round. It is presumed
     * that it writes all that is read there later. And where that kernel alone works on what
     * was copied: it reads the source. */
    bool drops_device_copies;
    /* A copy in that brings what the one before brought to the same bytes goes. It is presumed
     * that no kernel writes there. */
    bool drops_repeats;
    bool reaches_peers; /* devices copy to each other by their own link */
    /* Kernels of fewer blocks than the GPU has SMs get a block for each SM. It is presumed that
     * their work can be spread so; what more blocks gain beyond that is not counted. */
    bool spreads_blocks;
    /* Copies that are large beside later ones of other streams are cut in pieces: one comes
     * behind each of the small ones, the rest before anything that could ask for all. */
    bool cuts_copies;
    /* The host waits no more, but at the end, and copies are asynchronous. A wait stays, for
     * one copy alone, where the host may have read what the copy brought, or filled its source
     * anew: where it works for long behind the wait, or where a later copy uses those bytes and
     * there was time enough, between two calls, to touch them all. */
    bool drops_syncs;
    /* Device memory, and page-locked memory, is taken before the first op. */
    bool drops_allocs, drops_pinned_allocs;
    /* What calls make, by their kind, is made before the first op: graphs, handles, streams and
     * events, memory of pools. Code is there with loads_early. */
    bool makes_early[CALL_MADE_KINDS];
    bool frees_launches; /* launches return at once */
    /* Host functions return at once: as many other threads do their work. 0: they stay. */
    uint32_t function_threads;
    bool loads_early;      /* kernels' code is there before their first launch */
    bool drops_waits;      /* streams wait only where data asks for it */
    bool unties_events;    /* events keep no time; it is presumed that nobody asks for it */
    bool evens_priorities; /* all streams have the same priority */
    bool
        raises_priorities; /* then: streams of little work that the host waits for a high one */
    /* Stretches that the host issues again and again are issued by one launch of a graph each.
     * It is presumed that they are the same each time, down to the addresses. */
    bool graphs;
    /* The host's own work between calls is done by as many other threads, ahead. It is presumed
     * that it needs nothing that the calls after which it came brought, and that several
     * threads can share it. 0: it stays. */
    uint32_t work_threads;
    uint32_t queues; /* hardware queues; 0: as many as there were */
    /* Tiles are dealt over as many streams, each with a set of buffers of its own, so that a
     * tile no longer waits for the one before to leave its buffer. It is presumed that a kernel
     * that begins a tile does not read what an earlier tile left in a buffer that is copied out
     * for each tile, and that a host function uses its own tile's bytes. 0: streams stay as
     * they are. */
    uint32_t streams;
    /* Each tile is cut in as many pieces, which are dealt like tiles, or as many tiles are made
     * one: copies by their bytes, kernels by their work. It is presumed that a kernel works
     * element by element. 0 or 1: tiles stay as they are. Both need `streams`. */
    uint32_t pieces, merged;
    /* Within a wave of as many tiles as there are streams: tile by tile, or each stage of all
     * tiles before the next stage. */
    enum rework_order order;
};

/* A recorded plan that is to be changed. */
struct rework_base {
    const struct plan *plan;
    const struct machine *machine;
    struct clocks_table clocks; /* the orders that it keeps */
    struct needed needed;       /* those that its data asks for */
    uint32_t tiles;             /* those that its data shows; 0: none */
    bool managed;               /* it has managed memory, which the host reaches as well */
    uint32_t blind;             /* copies, memsets and kernels whose bytes are not known */
    int64_t work_least_ns;      /* what passes between calls and takes as long is work, */
    int64_t work_ns;            /* of which there is so much in all, */
    int64_t
        filling_ns; /* and so much that only copies to page-locked memory, which need not be */
};

/* Takes up `plan`, which must have its `recorded` part, and which `base` refers to from then
 * on, as to `machine`. STATUS_FAILED where it has too many streams to be changed, or its data
 * asks for too many orders; STATUS_NO_MEMORY. Free with rework_end(). */
enum status rework_begin(struct rework_base *base, const struct plan *plan,
                         const struct machine *machine, struct error *error);
void rework_end(struct rework_base *base);

/* Makes the changed plan, a whole plan of its own: free it with plan_free(). Its hardware
 * queues are not in it: simulator_run() has change->queues. STATUS_USAGE says why a change
 * can't be made in this plan; STATUS_FAILED, STATUS_NO_MEMORY. O(n log n) for n ops in few
 * streams. */
enum status rework_apply(const struct rework_base *base, const struct rework *change,
                         struct plan *fixed, struct error *error);

/* Makes a plan of the `count` ops of a recorded plan from `first` on, which must be there;
 * plan_free() it. Kernels of a part that does not begin with the plan were loaded before. */
enum status rework_part(const struct plan *plan, uint32_t first, uint32_t count,
                        struct plan *part, struct error *error);

/* --- what a plan is like --- */

struct rework_looks {
    uint32_t streams;    /* that the plan's ops are in */
    bool legacy_works;   /* much of the work is in the legacy default stream */
    bool small, chained; /* ops are; tiles have several kernels, which mostly fill the GPU */
    bool tiled;          /* a third of the ops or more are copies from and to the host */
    bool loops;          /* tiles are copied again and again */
    bool slow_peers;     /* copies between devices are far slower than their own link */
    bool repeats;        /* copies bring again what is there */
    bool ties_events;    /* events keep the time, where streams share hardware queues */
    bool makes[CALL_MADE_KINDS]; /* calls of that kind come again and again */
    bool few_blocks;             /* kernels mostly leave SMs without a block while they run */
};

/* Looks at what a plan is like. The statuses of simulator_run() and analyse(). */
enum status rework_look(const struct rework_base *base, struct rework_looks *looks,
                        struct error *error);

#endif
