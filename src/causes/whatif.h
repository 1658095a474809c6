/* whatif.h - the same work simulated once more, with what could be better put right.
 *
 * A knob is one thing that a user can set. Better values are looked for knob by knob, in the
 * simulator alone, until nothing gains any more; knobs that need not have been turned go back.
 * The knobs that stay turned are the causes. What all of them gain is dealt out among them:
 * each gets the mean of what it gains when they are turned in order of weight, and in the
 * reverse order. With two that is Shapley's value ("A Value for n-Person Games", 1953), so
 * causes that hide behind each other share what they cost; the parts add up exactly. */
#ifndef PIPELINE_ANALYSIS_WHATIF_H
#define PIPELINE_ANALYSIS_WHATIF_H

#include "core/status.h"
#include "machine/machine.h"
#include "plan/settings.h"

/* Knobs, in the order in which they are turned back: the one that is blamed last comes first.
 */
enum knob {
    KNOB_LAYOUT,
    KNOB_ORDER,
    KNOB_ISSUE, /* how tiles go: one by one, as a graph, in batches, or packed by the CPU */
    KNOB_PRIORITIES,
    KNOB_CALLBACKS,
    KNOB_CARRY,
    KNOB_STREAMS,
    KNOB_BLOCKS,
    KNOB_QUEUES,
    KNOB_TILES,
    KNOB_SHARE,
    KNOB_WAYS,
    KNOB_SHARING, /* how processes share the device */
    KNOB_EXCHANGE,
    KNOB_HIDE,
    KNOB_MEMORY,
    KNOB_PREFETCH, /* behind the memory, beside which it gains the rest */
    KNOB_ALLOC,
    KNOB_COPY,
    KNOB_MISTAKE,
    KNOB_COUNT
};

/* One knob that is better turned. */
struct whatif_turn {
    enum knob knob;
    int64_t cost_ns;  /* its part of what all turns together gain; never negative */
    int64_t fixed_ns; /* the run's time with this turn alone */
};

struct whatif {
    struct settings given, better; /* the run's, and with all turns */
    struct whatif_turn turns[KNOB_COUNT];
    int count;
    int64_t given_ns, better_ns; /* simulated times of both; better_ns <= given_ns */
    int64_t short_ns;            /* of better_ns: what would vanish in an endless array */
};

/* Looks for better settings than `settings`, which are those of a run: tiles, streams and the
 * like are numbers. `machine` has the hardware queues that the run had. Settings that need more
 * than the machine's memory are never taken. Time grows with the plan's ops, some tens of
 * simulations of it, fewer where it has many tiles. Where the run itself can't be simulated, or
 * has too many ops for that, returns the status; where memory runs out, STATUS_NO_MEMORY. */
enum status whatif_find(const struct settings *settings, const struct machine *machine,
                        struct whatif *whatif, struct error *error);

/* Simulates `settings` on `machine` and sets *time_ns to the run's time. The statuses of
 * plan_build() and simulator_run(); STATUS_USAGE, too, where settings_way_fits() is false. */
enum status whatif_time(const struct settings *settings, const struct machine *machine,
                        int64_t *time_ns, struct error *error);

/* Sets the turns that make the best run: the best one alone, or all where these gain more by a
 * hundredth. Returns how many they are; 0 where not even those gain a hundredth. */
int whatif_best(const struct whatif *whatif, enum knob turns[KNOB_COUNT]);

/* Gives `to` the value that `from` has for `knob`. */
void whatif_turn(enum knob knob, const struct settings *from, struct settings *to);

/* Returns true if both have different values for it. */
bool whatif_is_turned(enum knob knob, const struct settings *a, const struct settings *b);

/* Has tiles go in way `number`, from 0: one by one, as a graph, fetched by kernels from mapped
 * memory in one of these ways or, where they lie apart, in batches, fetched in batches, and
 * packed by the CPU; of tiles that lie side by side larger ones do as well as these. Returns
 * false behind the last one. */
bool whatif_set_way(int number, struct settings *settings);

/* Writes into `text` what sets a knob as in `settings` ("--tiles=64") behind the options of
 * `given`: one option, or for the way in which tiles go up to three ("--pack=no
 * --issue=batch").
 */
void whatif_option(enum knob knob, const struct settings *given,
                   const struct settings *settings, char *text, size_t room);

#endif
