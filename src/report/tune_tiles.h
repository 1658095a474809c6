/* tune_tiles.h - the choice of tiles and streams for one way to issue, and its trials. Only
 * tune.c needs it: see report/tune.h. */
#ifndef PIPELINE_REPORT_TUNE_TILES_H
#define PIPELINE_REPORT_TUNE_TILES_H

#include "report/tune.h"

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
