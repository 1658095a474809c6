/* foreign_parts.h - a trace that is being judged: private to the files of foreign verdicts.
 *
 *   causes/foreign_facts.c  what is looked up: calls, ops by their ends, what all launches do
 *   causes/foreign_walk.c   what an op waited for, and that, back through a time
 *   causes/foreign_chain.c  ops that have to follow each other, by their data
 *   causes/foreign_tried.c  a recorded program's fixes, tried, and charges by what they gain
 *   causes/foreign_words.c  the evidence in words
 *   causes/foreign_work.c   that of copies and kernels themselves
 *   causes/foreign.c        idle times of the busiest engine, charges, verdicts */
#ifndef PIPELINE_ANALYSIS_FOREIGN_PARTS_H
#define PIPELINE_ANALYSIS_FOREIGN_PARTS_H

#include "analysis/analysis.h"
#include "causes/foreign.h"
#include "causes/rework_find.h"

enum {
    FOREIGN_LATE_NS = 20000, /* what takes longer is no mere hand-over from op to op */
    FOREIGN_JITTER_NS = 1000,
};

struct foreign {
    const struct verdict_case *facts;
    const struct timeline *timeline;
    struct analysis analysis;
    enum engine engine;         /* the busiest */
    const struct span **by_end; /* all ops of the device, in order of their ends */
    uint32_t by_end_count;
    uint32_t *copies_in;      /* of these, by place: the copies in up to it */
    uint32_t *kernels_before; /* by op: the kernels that began before it */
    uint32_t kernels;
    uint32_t *stream_before;  /* by op: the one before it in its stream; SPAN_NONE: none */
    uint32_t *issued;         /* by call: the op that it issued; SPAN_NONE: none */
    uint32_t *call_before;    /* by call: the one before it on its thread; SPAN_NONE: none */
    uint32_t *first_launches; /* by the kernel's name: the first that ran */
    int64_t launch_ns;        /* the median of the launches' calls */
    int64_t last_issue_ns;    /* of all ops */
    bool launches_block;      /* they return only when their kernels have ended */
    bool launches_may_block;  /* the same, of kernels too short to tell */
    bool pins_first;          /* memory is page-locked before the first op, and never later */
    bool memsets_bar;         /* no memset runs beside another op, though others do */
    bool in_graphs;           /* most ops were issued by the call that issued the one before */
    bool many_threads;        /* several threads issued ops */
    uint32_t host_funcs;      /* calls that put a function into a stream */
    bool short_ops;        /* those of the busiest engine last no longer than a hand-over may */
    bool few_ops;          /* so few that nothing could overlap much */
    int64_t filling_ns;    /* that filling and draining cost */
    uint32_t stream_waits; /* copies in that waited for room */
    int64_t cost_ns[VERDICT_COUNT];
    uint32_t span[VERDICT_COUNT]; /* of the dearest piece */
    int64_t dearest_ns[VERDICT_COUNT];
    /* Set for a recorded program whose machine is known. */
    struct found found;
    int64_t time_ns, limit_ns;
    bool simulated; /* `found` is set */
    bool tried;     /* and the simulation is near enough to the run for fixes to be predicted */
    int64_t slower_ns;        /* that the copies of the busiest engine took beyond the limit */
    int64_t data_ns;          /* of the loss: each result is the next input */
    bool seen[VERDICT_COUNT]; /* the trace itself shows the cause */
};

/* Looks all that up. Returns false when memory runs out; foreign_end() in any case. */
bool foreign_begin(struct foreign *foreign, const struct verdict_case *facts);
void foreign_end(struct foreign *foreign);

/* Returns the call that issued span `index`; SPAN_NONE where it is not known. */
uint32_t foreign_call_of(const struct foreign *foreign, uint32_t index);

/* Returns the op of the device that ended last by `time_ns`; SPAN_NONE: none had. */
uint32_t foreign_ended_by(const struct foreign *foreign, int64_t time_ns);

/* Returns how many copies in had ended by `time_ns`. */
uint32_t foreign_copies_by(const struct foreign *foreign, int64_t time_ns);

/* Returns true if the host put a function into a stream between two calls. */
bool foreign_host_func_between(const struct foreign *foreign, int64_t after_ns,
                               int64_t before_ns);

/* Returns the latest to end of the ops that the stream of op `index` waited for by events
 * before it; SPAN_NONE: none that is known. */
uint32_t foreign_event_target(const struct foreign *foreign, uint32_t index);

/* Returns true if a call that launched kernel `span` took so long, at its first launch, that it
 * must have loaded code. */
bool foreign_loads_code(const struct foreign *foreign, uint32_t call, uint32_t span);

/* A piece of the time before an op, latest first. */
struct foreign_piece {
    int64_t start_ns, end_ns;
    enum verdict_code cause; /* its own; VERDICT_REST: an op at work, or nothing to say */
    enum verdict_code
        link; /* the reason why it began only when the next, earlier one was over */
    enum verdict_code near; /* what it is charged to */
    uint32_t span;          /* SPAN_NONE: the host's */
};
struct foreign_pieces {
    struct foreign_piece *items;
    uint32_t count;
    size_t room;
};

/* Follows what let go of op `index` back to `from_ns`, from its start, or where `whole` from
 * its end. Pieces may begin before `from_ns`. Returns false when memory runs out. */
bool foreign_walk(struct foreign *foreign, uint32_t index, bool whole, int64_t from_ns,
                  struct foreign_pieces *pieces);

/* Simulates a recorded program with fixes; its plan and its machine are known. Where the
 * simulation of the run as it is comes near it, `tried` is set, and what was charged is charged
 * anew, by what fixes gain: the charges then add up to time_ns - limit_ns. STATUS_NO_MEMORY
 * only. */
enum status foreign_try(struct foreign *foreign, struct error *error);

/* Sets a verdict's fix: whether it was tried, and the time with it. */
void foreign_put_fix(const struct foreign *foreign, struct verdict *verdict);

/* Returns how long the ops took that have to follow each other, as each reads what the one
 * before it wrote; 0 where that is not known. O(n log n) of a recorded plan. */
int64_t foreign_chain_ns(const struct foreign *foreign);

/* Adds to a verdict's evidence what was tried, where its fix does not say it. */
void foreign_put_detail(const struct foreign *foreign, struct verdict *verdict);

/* Puts the verdicts whose fixes gain most first, and sets the best of all and what they mend.
 */
void foreign_rank(const struct foreign *foreign, struct verdicts *verdicts);

/* Writes "8 kernels", "1 copy in". */
enum { FOREIGN_COUNT = 48 };
const char *foreign_counted(uint32_t count, const char *one, const char *many,
                            char text[FOREIGN_COUNT]);

/* Returns how many ops are of a kind. */
uint32_t foreign_ops_of(const struct foreign *foreign, enum op_kind kind);

/* Say what is seen of copies within the device, of waits between streams, of kernels that are
 * not on all SMs, of a recorded program whose machine is known, and of its largest copy:
 * returns whether any copy of another stream waited for that. */
void foreign_put_device_copies(const struct foreign *foreign, char seen[VERDICT_SEEN]);
void foreign_put_waits(const struct foreign *foreign, char seen[VERDICT_SEEN]);
void foreign_put_blocks(const struct foreign *foreign, char seen[VERDICT_SEEN]);
bool foreign_put_large(const struct foreign *foreign, char seen[VERDICT_SEEN]);

/* Says what was at work for most of a recorded run: the busiest engine, or the host by itself.
 * Returns false, and says nothing, where neither was. */
bool foreign_put_work(const struct foreign *foreign, char seen[VERDICT_SEEN]);

/* Fills in what a verdict rests on. */
void foreign_put_evidence(const struct foreign *foreign, struct verdict *verdict);

#endif
