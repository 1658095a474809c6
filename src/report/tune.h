/* tune.h - --tiles, --streams, --order, --layout and --issue=auto: the simulator tries what
 * there is to choose from. */
#ifndef PIPELINE_REPORT_TUNE_H
#define PIPELINE_REPORT_TUNE_H

#include "core/status.h"
#include "machine/machine.h"
#include "options/options.h"
#include "plan/plan.h"
#include "report/finalists.h"

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

#endif
