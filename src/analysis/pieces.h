/* pieces.h - the critical path cut into pieces that cover the whole run, each with what it
 * waited for.
 *
 * The path is followed backwards from the last end: an op at work, before that the time from
 * when it was let go to its start, before that what let it go. Where that was the host's issue,
 * the host's calls come next, one by one, back to a call that had itself waited for the device.
 * So every nanosecond from 0 to the end belongs to one piece, while the path of ops alone ends
 * where the host was late. */
#ifndef PIPELINE_ANALYSIS_PIECES_H
#define PIPELINE_ANALYSIS_PIECES_H

#include "analysis/critical.h"

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
