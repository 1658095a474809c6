/* verdict.h - why a run took longer than its limit, in named causes with the time each cost.
 *
 * A run of our own is simulated once more with what could be better put right
 * (causes/knobs.h): a cause costs what its fix brings, which was tried. The
 * timeline and the plan say what was seen of it, and where. What a measured run took beyond its
 * simulation is charged by the critical path (causes/account_run.c): to what cost more on
 * the measured path than on the simulated one. What is left above the limit is the cost of
 * being short, or has a name of its own, or is unknown. Costs are whole nanoseconds, none is
 * negative, and they add up to the time less the limit. The path's method is after Yang and
 * Miller, "Critical Path Analysis for the Execution of Parallel and Distributed Programs"
 * (ICDCS 1988), and, for charging waits to their causes, Böhme, Geimer, Wolf and Arnold,
 * "Identifying the Root Causes of Wait States in Large-Scale Parallel Applications" (ICPP
 * 2010). */
#ifndef PIPELINE_CAUSES_VERDICT_H
#define PIPELINE_CAUSES_VERDICT_H

#include "analysis/critical.h"
#include "analysis/limit.h"
#include "plan/plan.h"
#include "plan/settings.h"
#include "rework/rework.h"
#include "sim/interval.h"

enum verdict_code {
#define ROW(code, ...) VERDICT_##code,
#include "causes/verdicts.def"
#undef ROW
    VERDICT_COUNT
};

enum cause_trait {
    KEEPS_HOST = 1,  /* a call of the host is the cause, and keeps it from its next one */
    KEEPS_ISSUE = 2, /* so long that all it hands over then comes late for that */
    IS_SHOWN = 4,    /* what a trace shows of it counts, though a fix gains nothing in the
                        simulator: a call took that long, or there is memory of that kind */
    IS_ORDER = 8,    /* its fix takes an order away, so it can't be tried where it is not known
                        what ops work on */
    MAY_EXCEED = 16, /* a timeline shows it for certain, so what a measured run took beyond its
                        simulation may be charged to it, even if that has nothing of it */
    PRESUMES = 64,   /* its fix presumes of the program what nothing shows: it stands behind one
                        that presumes nothing and gains nearly as much */
    NO_PLACE = 32, /* it lies at no place of the timeline, so no other's place stands for it */
};

enum verdict_mark {
    MARKED_CALL,
    MARKED_WORK,
    MARKED_HOLD,
    MARKED_HOST,
    MARKED_LIMIT,
    MARKED_COUNT
};

/* The evidence that a cause rests on. It is certain where a call, a stream's kind, a wait or a
 * memory kind was seen, and likely where there is a pattern that has this cause on this machine
 * in the simulator, too. */
enum evidence { EVIDENCE_UNKNOWN, EVIDENCE_LIKELY, EVIDENCE_CERTAIN, EVIDENCE_COUNT };

/* What is fixed of a cause: see causes/verdicts.def. */
struct verdict_row {
    const char *name;       /* "sync-in-loop", as in the JSON report */
    const char *text;       /* what happened, in one line */
    const char *fix;        /* what to do, in words; "" where nothing can be done */
    const char *cuda;       /* how, in CUDA's calls, and what to watch then; or "" */
    const char *torch;      /* how in PyTorch; NULL: as in CUDA */
    unsigned traits;        /* of enum cause_trait */
    const char *seen;       /* what was seen of it in a run of our own; NULL: a function says */
    enum evidence evidence; /* what that is worth */
    uint32_t marks[MARKED_COUNT]; /* by what it is known */
};
extern const struct verdict_row verdict_rows[VERDICT_COUNT];

/* Returns the cause that is marked with bit `bit`; VERDICT_REST where none is. */
enum verdict_code verdict_marked(enum verdict_mark mark, unsigned bit);

enum {
    VERDICT_SEEN = 512,
    VERDICT_COMMAND = 320, /* room for an option of every knob */
};

/* A cause of a smaller share of the run's time is not named. */
#define VERDICT_NAMED_SHARE 0.04

/* A stretch of the timeline in which something was lost: a span, or a part of it, that worked
 * for too long, or the time before it when its engine was idle or it waited in its queue. */
struct loss {
    int64_t start_ns, end_ns; /* no length: none is known */
    uint32_t span;            /* in whose row it lies */
};

/* All such stretches, with the cause that each is charged to, as pictures mark them. Those of
 * one cause and one engine that lie nearer to each other than can be seen are one. */
enum { LOSSES_MAX = 256 };
struct losses {
    struct charged {
        struct loss at;
        int64_t cost_ns; /* lost within `at`, which may cover the time between several, too */
        enum verdict_code code;
    } items[LOSSES_MAX];
    uint32_t count;
    int64_t near_ns; /* as far apart as that, two are one */
};

/* How sure the time with a fix is. */
struct prospect {
    struct time_range range; /* 0: not known */
    bool unsure;             /* it may gain nothing */
};

/* One cause, with what it cost. */
struct verdict {
    enum verdict_code code;
    enum evidence evidence;
    uint32_t times;          /* of another program: how often that was seen, */
    int64_t carries_ns;      /* and the most of a cost that it can be the cause of */
    int64_t cost_ns;         /* never negative */
    char seen[VERDICT_SEEN]; /* the evidence: "stream 7 is the legacy default stream: 8 kernels
                                ran there"; "" where the row's text says it all */
    char command[VERDICT_COMMAND]; /* a run of our own: the options that fix it; or "" */
    const char *no_time;  /* why a fix that was tried has no time: "it gains less than 1%" */
    int64_t predicted_ns; /* the run's time with the fix, as simulated; 0: see no_time */
    struct prospect prospect; /* of that time */
};

/* All that was found, in the order in which it is shown: first the causes that cost enough to
 * be named, the one whose fix gains most first (a race before all others); then what sets
 * the limit, of no cost; last the rest, with what each too little to be named had cost. The
 * costs of all add up to time_ns - limit_ns. */
struct verdicts {
    struct verdict items[VERDICT_COUNT];
    int count;
    int named;          /* how many of the first are named causes */
    struct losses lost; /* where they lost it: first all of the first one */
    int64_t time_ns, limit_ns;
    bool limit_known; /* false: a trace's, where the busiest engine's time stands for it */
    bool misfit;      /* so does it for a recorded run that its machine does not fit: it was
                         faster than that allows, or its simulation is too far off */
    bool page_locked; /* that time is what it would take if pageable memory were page-locked */
    enum limit_cause bound;
    int64_t data_ns;      /* of a recorded run's rest: each result is the next input; */
    int64_t stays_ns;     /* and what no fix that was tried gains */
    int64_t modelled_ns;  /* the run as simulated, where fixes were tried; else 0: no machine
                             file stands for the device */
    int64_t recording_ns; /* of time_ns, what recording took: no fix has it; 0: not known */
    bool
        too_far; /* a recorded run that modelled_ns is too far from for fixes to be predicted */
    /* The best settings that were found, where they gain a hundredth or more: the options of
     * one fix or of several, and the time with them; else "" and 0. Of a recorded program the
     * names of several causes, whose fixes together are better than any alone; or "". */
    char best[VERDICT_COMMAND];
    int64_t best_ns;
    struct prospect best_prospect;
    /* For a recorded program: whether all fixes together gain a hundredth or more in the
     * simulator, and what they change, to be applied to the whole plan. */
    bool has_change;
    struct rework change;
};

/* The facts that verdicts are found from. */
struct verdict_case {
    const struct timeline *timeline;
    const struct critical *critical;
    const struct plan
        *plan; /* NULL, as are the next four: a trace of another program. A recorded
                  program's needs `limit` and `model`, or it is judged as a trace */
    const struct machine *machine;
    const struct limit *limit;
    const struct settings *settings; /* as used, all numbers settled; NULL: no fix is tried */
    const struct settings *typed;    /* as they were typed, some to be chosen; NULL: none was */
    const struct machine *model;     /* that fixes are tried on; NULL: none */
    const struct machine *rates; /* of another program's run: the file of its device; or NULL */
    bool races;                  /* the plan has hazards */
    bool likely;                 /* only where its kernels touch what their pointers tell */
    const char *race;            /* of a recording, the first of them in words */
    int64_t untraced_ns;         /* the run's time without a profiler inside; 0: not known */
};

/* "unknown", "likely", "certain". */
const char *evidence_name(enum evidence evidence);

/* Finds all verdicts. O(n log n). STATUS_FAILED where timeline_check() is; STATUS_NO_MEMORY.
 * `verdicts` needs no freeing. */
enum status verdicts_find(const struct verdict_case *facts, struct verdicts *verdicts,
                          struct error *error);

#endif
