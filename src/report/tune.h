/* tune.h - --tiles, --streams, --order, --layout and --issue=auto: the simulator tries what
 * there is to choose from. */
#ifndef PIPELINE_REPORT_TUNE_H
#define PIPELINE_REPORT_TUNE_H

#include "core/status.h"
#include "machine/machine.h"
#include "options/options.h"
#include "plan/plan.h"
#include "plan/settings.h"

/* --- finalists.c --- */

/* The settings that the simulator finds nearly as good as the best, and which of
 * them a device finds the fastest. */

enum { FINALISTS_MAX = 12 };

/* The fastest of the settings that were added, the fastest first, no two alike. Begin with
 * zeroes. */
struct finalists {
    struct finalist {
        struct settings settings;
        int64_t time_ns;
    } all[FINALISTS_MAX];
    int count;
};

/* Returns true if two settings are alike in all that may be chosen. */
bool finalists_are_alike(const struct settings *one, const struct settings *other);

/* Adds settings, unless others like them are there or as many are faster. */
void finalists_add(struct finalists *finalists, const struct settings *settings,
                   int64_t time_ns);

/* Adds all of another list. */
void finalists_add_all(struct finalists *finalists, const struct finalists *others);

/* Runs settings on a device, with arrays of their own, `runs` times once they are warm, and
 * sets *median_ns. STATUS_USAGE where the device can't run them, for want of memory, too. */
typedef enum status finalists_measure(void *context, const struct settings *settings,
                                      uint32_t runs, int64_t *median_ns, struct error *error);

/* The result of running settings on the device. */
struct tried {
    struct settings settings; /* the fastest */
    int64_t time_ns;          /* its median */
    int64_t chosen_ns;        /* that of the simulator's choice; 0: the device can't run it */
    int count;                /* settings that were run; 0: the device can't run any */
};

/* Measures the finalists, `chosen`, the simulator's choice, and `usual`, what would be without
 * a choice: each with few runs, then the fastest, and the choice, with more. The choice stays
 * unless another is faster by a hundredth. The simulator
 * doesn't know all that a host does to copies; where it finds settings alike, the device may
 * tell them apart. Sets *tried on STATUS_OK. */
enum status finalists_try(const struct finalists *finalists, const struct settings *chosen,
                          const struct settings *usual, finalists_measure *measure,
                          void *context, struct tried *tried, struct error *error);

/* A way, as it was tried. */
struct tuned_trial {
    int64_t time_ns; /* of all tiles; where over 1024 were given, simulated for the first and
                        carried on. 0: the way can't be gone */
    bool simulated;  /* false: time_ns is the least that it could take, which is too much */
};

/* The choice, and how it was made. */
struct tuned {
    uint32_t tiles, streams;
    int64_t time_ns; /* simulated with the choice; where more than 1024 tiles were given, of the
                        first 1024, unless ways were tried */
    uint32_t candidates; /* number of settings that were simulated */
    int64_t took_ns;     /* time of the host to choose */
    enum issue_way way;  /* of --issue=auto; else 0, and so are the next ones */
    struct tuned_trial ways[WAY_COUNT];
    /* Settings that took at most a tenth longer than the choice, fastest first: of each order,
     * layout and way the fastest with each number of streams, no two alike. None where tiles
     * were too many to be all simulated. */
    struct finalists finalists;
};

/* Says whether a plan of the settings may be chosen: STATUS_OK, or STATUS_USAGE with why not.
 */
typedef enum status tune_accept(const struct plan *plan, const struct settings *settings,
                                struct error *error);

/* Chooses settings->tiles (up to 1024) and settings->streams (up to 32), each only where it is
 * 0 (auto), and order, layout and issue where these are auto, by simulating plans of `settings`
 * on `machine` without data. Among settings whose times are within a thousandth it takes depth
 * before breadth and tile before stage, the first of the ways above, then the one with the
 * fewest streams and then the fewest tiles; settings that do not fit the device's memory are
 * never taken.
 *
 * Of these only plans are taken that `accept` takes, which may be NULL: it takes any.
 *
 * With the issue it sets memory, layout and pack; memory only to mapped, layout only to stages,
 * and each only where it was not given. A way is left out that settings_check() refuses, of
 * which no plan can be built, or of which the machine has no figures. A batch that was given
 * counts for the ways that have batches, and is 0 where another is chosen.
 *
 * Sets all of it and *tuned on STATUS_OK. The choice is the same on every host. Where no plan
 * can be built or simulated, returns the status of the first. */
enum status tune_settings(struct settings *settings, const struct machine *machine,
                          tune_accept *accept, struct tuned *tuned, struct error *error);

/* --- tune_tiles.c --- */

/* Chooses tiles and streams, each where it is 0, as tune_settings() does, but for the time that
 * this takes. Of the ops that may be simulated where a kernel has many launches, it takes a
 * `part`th. */
enum status tune_tiles(struct settings *settings, const struct machine *machine,
                       tune_accept *accept, uint32_t part, struct tuned *tuned,
                       struct error *error);

/* Returns the least time of settings with tiles and streams on a machine, without simulating:
 * the limit, or the time to fill and drain, or the host's. */
int64_t tune_floor_ns(const struct settings *settings, const struct machine *machine);

/* Returns the most tiles that a trial of those settings may have. */
uint32_t tune_tiles_most(const struct settings *settings);

/* Returns the first `tiles` tiles of the settings: all of them, where they have no more. They
 * go in batches of the same size. */
struct settings tune_shorten(const struct settings *settings, uint32_t tiles);

/* Builds the plan of the settings and simulates it. Adds the copies and other ops of the plan
 * to *ops. STATUS_FAILED where the machine's memory is too small; STATUS_USAGE where `accept`
 * does not take the plan. */
enum status tune_simulate(const struct settings *settings, const struct machine *machine,
                          tune_accept *accept, int64_t *time_ns, uint64_t *ops,
                          struct error *error);

#endif
