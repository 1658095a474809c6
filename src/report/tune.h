/* tune.h - --tiles=auto and --streams=auto: the simulator tries what there is to choose from.
 */
#ifndef PIPELINE_REPORT_TUNE_H
#define PIPELINE_REPORT_TUNE_H

#include "core/status.h"
#include "machine/machine.h"
#include "options/options.h"

/* The choice, and how it was made. */
struct tuned {
    uint32_t tiles, streams;
    int64_t time_ns; /* simulated with the choice; where more than 1024 tiles were given, of the
                        first 1024 */
    uint32_t candidates; /* number of settings that were simulated */
    int64_t took_ns;     /* time of the host to choose */
};

/* Chooses settings->tiles (up to 1024) and settings->streams (up to 32), each only where it is
 * 0 (auto), by simulating plans of `settings` on `machine` without data. Among settings whose
 * times are within a thousandth it takes the one with the fewest streams and then the fewest
 * tiles; settings that do not fit the device's memory are never taken. Sets both numbers and
 * *tuned on STATUS_OK. The choice is the same on every host. Where no plan can be built or
 * simulated, returns the status of the first. */
enum status tune_settings(struct settings *settings, const struct machine *machine,
                          struct tuned *tuned, struct error *error);

#endif
