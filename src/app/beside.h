/* beside.h - other settings on a job's device, before the job's own plan is prepared. */
#ifndef PIPELINE_APP_BESIDE_H
#define PIPELINE_APP_BESIDE_H

#include "app/job.h"

struct beside {
    /* The caller sets these. */
    struct settings settings;
    uint32_t runs;
    bool untold; /* what is right is not known: results are not judged, and nothing warms up */
    /* beside_run() sets these. */
    bool ran;             /* the device could do it: an error came after that */
    struct arrays arrays; /* the host arrays, with the last output. Owned by the caller, also
                             after an error; none with settings.no_data */
    int64_t median_ns;
};

/* Prepares the settings' plan on the job's open device, warms up where that measures, and runs
 * it `runs` times, each verified; then gives back all but the arrays. A simulated device runs
 * once. STATUS_USAGE where the device can't run it, STATUS_NO_MEMORY, STATUS_FAILED. */
enum status beside_run(struct job *job, struct beside *beside, struct error *error);

#endif
