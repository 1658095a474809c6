/* tune.h - --tiles=auto and --streams=auto: the simulator tries what there is to choose from.
 */
#ifndef PIPELINE_REPORT_TUNE_H
#define PIPELINE_REPORT_TUNE_H

#include "core/status.h"
#include "machine/machine.h"
#include "options/options.h"

/* What was chosen, and how. */
struct tuned {
    uint32_t tiles, streams;
    int64_t time_ns;     /* as simulated, of the choice; of the first 1024 tiles where more were
                            given */
    uint32_t candidates; /* settings that were simulated */
    int64_t took_ns;     /* of the host's time, to choose */
};

/* Chooses settings->tiles (up to 1024) and settings->streams (up to 32), each only where it is
 * 0 (auto), by simulating plans of `settings` on `machine` without data; of simulated settings
 * that are as good within a thousandth, the one with the fewest streams and then the fewest
 * tiles. Both are set on STATUS_OK, and *tuned is. The same is chosen on every host. What does
 * not fit the device's memory is not chosen. STATUS_FAILED or STATUS_USAGE, as the first plan
 * that could not be built or simulated gave, when none can be. */
enum status tune_settings(struct settings *settings, const struct machine *machine,
                          struct tuned *tuned, struct error *error);

#endif
