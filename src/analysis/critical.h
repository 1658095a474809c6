/* critical.h - why each op started when it did, and the chain of ops that the end waited for.
 *
 * The timeline alone tells: of all that could have held a span back (the host's issue, the op
 * before it in its stream, the op that its stream waited for by an event, the op before it on
 * its engine or in its hardware queue), it waited last for what came latest. Followed backwards
 * from the span that ended last, this gives the critical path, as in Yang and Miller, "Critical
 * Path Analysis for the Execution of Parallel and Distributed Programs" (ICDCS 1988). */
#ifndef PIPELINE_ANALYSIS_CRITICAL_H
#define PIPELINE_ANALYSIS_CRITICAL_H

#include "machine/machine.h"
#include "plan/timeline.h"

enum held_by {
    HELD_BY_NOTHING, /* it could have started at time 0 */
    HELD_BY_ISSUE,   /* the host had not issued it yet */
    HELD_BY_CALL,   /* the host could not issue it before a call of its own returned: a sync, an
                       allocation */
    HELD_BY_STREAM, /* the op before it in its stream was not done */
    HELD_BY_EVENT,  /* what its stream waited for was not done */
    HELD_BY_DEVICE, /* likewise, and that was another device's */
    HELD_BY_LEGACY, /* the legacy default stream, or what that had to wait for, was not done */
    HELD_BY_BARRIER, /* an op that synchronises all streams, or what that had to wait for */
    HELD_BY_QUEUE,   /* in its hardware queue, behind another stream's op that was not ready */
    HELD_BY_SIGNAL,  /* the GPU says that a kernel has ended only behind others' (rule 5) */
    HELD_BY_ENGINE,  /* its engine was at work on another op */
    HELD_BY_COUNT
};

#define SPAN_NONE UINT32_MAX

/* The thing that one span waited for last. Spans are named by their place in timeline.spans.
 * The holder ended at free_ns (within the clocks' noise, where measured), with three
 * exceptions. A kernel held by its engine may have begun beside another that was still at work,
 * as that one's last blocks left room: free_ns is then its start. Behind a call of the host's
 * own, free_ns is the op's issue. A sync begins when it is called: its hold says what it waited
 * for, and free_ns is its start. A wait's hold says what held its beginning. */
struct hold {
    enum held_by by;
    uint32_t span;    /* what held it; SPAN_NONE: no span (the host's issue, another device,
                         or nothing) */
    int64_t free_ns;  /* when the holder let it go; from then to its start it was on its way */
    int64_t ready_ns; /* when everything but queues and engines had let it go */
    uint32_t blocker; /* HELD_BY_QUEUE: the op before it in its queue, which `span` held */
};

struct critical {
    struct arena arena; /* has these tables */
    struct hold *holds; /* one per span, also of waits */
    uint32_t *before;   /* by span: the op before it in its stream; SPAN_NONE: none */
    uint32_t *path;     /* the critical path, first span first; no waits */
    uint32_t path_count;
    bool *on_path; /* by span */
};

/* Finds the holds and the path of `timeline`. The peculiarities of some machines - the order of
 * hardware queues, ops that synchronise, late signals - are looked for only where `machine`
 * says that they may be there; NULL: not known. O(n log n). STATUS_NO_MEMORY or STATUS_OK;
 * free with critical_free(), which is safe on a zeroed one. */
enum status critical_find(const struct timeline *timeline, const struct machine *machine,
                          struct critical *critical, struct error *error);
void critical_free(struct critical *critical);

/* "nothing", "issue", "call", "stream", "event", "device", "default stream", "barrier",
 * "queue", "signal", "engine". */
const char *held_by_name(enum held_by by);

/* Says in words what span `index` waited for, for a reader who sees the engine idle before it:
 * "scale 3 in stream 1 had to end first", "the host issued it only then". `text` has room
 * for CRITICAL_TEXT; the result may be `text` or a constant. */
enum { CRITICAL_TEXT = 224 };
const char *critical_explain(const struct timeline *timeline, const struct critical *critical,
                             uint32_t index, char text[CRITICAL_TEXT]);

/* --- pieces.c --- */

/* The critical path cut into pieces that cover the whole run, each with what it
 * waited for.
 *
 * The path is followed backwards from the last end: an op at work, before that the time from
 * when it was let go to its start, before that what let it go. Where that was the host's issue,
 * the host's calls come next, one by one, back to a call that had itself waited for the device.
 * So every nanosecond from 0 to the end belongs to one piece, while the path of ops alone ends
 * where the host was late. */

enum piece_kind {
    PIECE_WORK,  /* an op ran */
    PIECE_START, /* an op was free to go, and on its way */
    PIECE_CALL,  /* the host was in a call */
};

/* The reason why a piece began only then. */
enum link {
    LINK_NONE,   /* nothing had to: the beginning of the run */
    LINK_ISSUE,  /* the host's call that issued it */
    LINK_HELD,   /* another op: as the hold of the piece's op says */
    LINK_SYNC,   /* the host, which had waited for an op in a sync, went on */
    LINK_ALLOC,  /* the same in an allocation, which waited for all ops */
    LINK_LAUNCH, /* the same in the call that launched the kernel it waited for */
    LINK_FULL,   /* the same in a call that came to a full queue */
    LINK_KIND_COUNT
};

struct path_piece {
    int64_t start_ns, end_ns;
    enum piece_kind kind;
    enum link link;
    uint32_t span; /* WORK, START: the op's; CALL: SPAN_NONE */
    uint32_t op; /* CALL: the op that the call issued; UINT32_MAX: calls not known one by one */
    uint32_t from; /* LINK_HELD, LINK_SYNC to LINK_FULL: the span that was waited for */
};

struct path_pieces {
    struct path_piece
        *items; /* in order of time, without gaps, none of them empty or before 0 */
    uint32_t count;
};

/* Cuts the critical path of `timeline`, whose ops are those of `plan`. O(n log n).
 * STATUS_NO_MEMORY or STATUS_OK; free with pieces_free(), which is safe on a zeroed
 * one. */
enum status pieces_find(const struct timeline *timeline, const struct critical *critical,
                        const struct plan *plan, struct path_pieces *pieces,
                        struct error *error);
void pieces_free(struct path_pieces *pieces);

#endif
