/* measured.h - what is calibrated on the device that is here before anything else is done. */
#ifndef PIPELINE_APP_MEASURED_H
#define PIPELINE_APP_MEASURED_H

#include "app/job.h"
#include "calibrate/calibrate.h"

/* The machine file that stands for a device, and the same with what calls cost that device's
 * host as measured. */
struct calls_measured {
    struct machine file, machine;
};

/* Measures the CUDA device that is here, for `pipeline view --calibrate`. Sets *found on
 * STATUS_OK: to be freed. STATUS_USAGE: --machine was given as well; else as
 * calibrate_device(). */
enum status measured_device(const struct options *options, struct calibration **found,
                            struct error *error);

/* For `pipeline compare --calibrate`: measures what calls cost the host of each device that the
 * runs name, once for each, and sets the jobs' `file` and `calibrated` to it; for other runs it
 * does nothing. The jobs have their settings. *measured is to be freed when the jobs have
 * ended, also after a failure. STATUS_USAGE where there is nothing that a measured call could
 * stand in the place of; else as calibrate_calls_of(). */
enum status measured_calls(const struct options *options, struct job *jobs,
                           struct calls_measured **measured, struct error *error);

#endif
