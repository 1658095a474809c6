/* search.h - looks for the knobs that are better turned, by trials in the simulator.
 *
 * A knob is one thing that can be turned: a setting of a run of our own, or what a recorded
 * program's calls to CUDA do. All that is known to be bad is put right at once, the numbers
 * that are free are looked for, and what need not have been turned goes back; causes/try_run.c
 * and causes/try_foreign.c do that with the steps here. The knobs that stay turned are the
 * causes. What all of them gain is dealt out among them: each gets the mean of what it gains
 * when they are turned in order of weight, and in the reverse order. With two that is Shapley's
 * value ("A Value for n-Person Games", 1953), so causes that hide behind each other share what
 * they cost; the parts add up exactly. */
#ifndef PIPELINE_CAUSES_SEARCH_H
#define PIPELINE_CAUSES_SEARCH_H

#include "causes/verdict.h"
#include "core/status.h"
#include "plan/settings.h"
#include "rework/rework.h"

enum {
    KNOBS_MOST = 32,
    KNOB_NONE = -1,
    STREAMS_GOOD = 4, /* enough for copies both ways, a kernel, and one to come */
    QUEUES_GOOD = 32, /* more have never been of use */
    FEW_TILES = 16,   /* more tiles are not few */
};

/* A knob that gains less than the first part of the time is not turned, and no fix that gains
 * less is offered; one that costs less than the second goes back; one that gains the third
 * alone is turned again. */
static const double SEARCH_GAIN = 0.01, SEARCH_KEEP = 0.005, SEARCH_ALONE = 0.02;

static const int64_t SEARCH_NO_TIME = INT64_MAX; /* of a trial that can't be */

/* Where all knobs stand. */
union choice {
    struct settings settings; /* of a run of our own */
    struct rework change;     /* of a recorded program; zeroed: its calls as they were */
};

/* The knobs of one kind of run, numbered in the order in which they go back: the one that is
 * blamed last comes first. */
struct knob_set {
    int count;
    const struct knob_field {
        int knob;
        size_t offset, size; /* in union choice; a knob may have several fields */
        /* A setting is printed as the option up to its value, "--order=", and its value's name
         * by number, "depth"; values are NULL where numbers are printed, or "auto" for what is
         * no number. */
        const char *option, *const *values;
    } * fields;
    int field_count;
    /* Turns what has to be turned with a knob; NULL: nothing has to be. */
    void (*fit)(int knob, union choice *choice);
    void (*settle)(union choice *choice); /* settles a choice that is tried; or NULL */
    int shared; /* a knob that others turn as well, those that `shares` has; or KNOB_NONE */
    const bool *shares;
};

/* One knob that is better turned. */
struct knob_gain {
    int knob;
    enum verdict_code code; /* the cause that it stands for */
    int64_t cost_ns;        /* its part of what all knobs together gain; never negative */
    int64_t fixed_ns;       /* the run's time with this one turned alone */
    int64_t bare_ns;        /* of a recorded program: that, without what recording took */
    struct outlook look;    /* and how sure fixed_ns is; or 0 */
    int64_t least_ns;       /* and what its ops take then at least, */
    int64_t shared_ns;      /* also if blocks that share multiprocessors slow each other */
};

/* A search finds the knobs that are better turned, and what each of them gains. */
struct found {
    union choice given, better; /* as it is, and with all knobs turned */
    struct knob_gain knobs[KNOBS_MOST];
    int count;
    int64_t given_ns, better_ns; /* simulated times of both; better_ns <= given_ns */
    int64_t
        short_ns; /* of a run of our own: what of better_ns would vanish in an endless array */
    /* Of a recorded program, where a part of a plan with very many ops may stand for all: what
     * `better` takes beside, to be applied to the whole plan; the whole plan's time as it is;
     * and the ops that may use any memory, for which no order was taken away. */
    struct rework whole;
    int64_t bare_given_ns, bare_better_ns;  /* both times without what recording took */
    struct outlook given_look, better_look; /* how sure both are; or 0 */
    int64_t whole_ns, least_ns;             /* and what its ops take at least with `whole` */
    uint32_t blind;
    int64_t shared_ns; /* likewise, of what was tried, if blocks slow each other */
    bool fills;        /* most of the host's own work only copies to page-locked memory */
    uint32_t unseen;   /* before the search: bits of knobs that stay, as their causes were not
                          seen in the run */
};

struct search {
    const struct knob_set *knobs;
    const void *context;
    /* Sets *time_ns to the time of a trial; a status but STATUS_OK where it can't be. */
    enum status (*time)(const void *context, const union choice *choice, int64_t *time_ns,
                        struct error *error);
    union choice given, best, tried;
    int64_t given_ns, best_ns;
    int64_t costs_ns[KNOBS_MOST]; /* that turning each back alone would cost */
    struct error why;             /* why the search can't go on: memory ran out */
};

/* Gives `to` what `from` has for a knob; and returns whether both differ in it. */
void knob_turn(const struct knob_set *set, int knob, const union choice *from,
               union choice *to);
bool knob_is_turned(const struct knob_set *set, int knob, const union choice *a,
                    const union choice *b);

/* Returns the time of a trial; SEARCH_NO_TIME where it can't be, and once memory ran out. */
int64_t search_try(struct search *search, const union choice *choice);

/* Returns true if `time_ns` is less than `than_ns` by that part of it, or more. */
bool search_gains(int64_t time_ns, int64_t than_ns, double part);

/* Takes a choice for the best if it gains `part` of the time; returns whether it did. */
bool search_take(struct search *search, const union choice *choice, double part);

/* Does that with the best choice so far and another value of a member. */
#define SEARCH_TAKE(search, member, value, part)                                               \
    ((search)->tried = (search)->best, (search)->tried.member = (value),                       \
     search_take(search, &(search)->tried, part))

/* Turns back, one after another, what need not have been turned; then turns again what would
 * have gained much alone and costs nothing: where either of two is enough, both are causes. */
void search_settle(struct search *search);

/* Lists the knobs that are turned from found->given to found->better, those first that cost
 * most to turn back, and deals out what they gain; where that is nothing, none is turned. */
void search_deal(struct search *search, struct found *found);

#endif
