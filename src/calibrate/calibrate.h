/* calibrate.h - measures a device and writes the machine file that stands for it.
 *
 * What the host pays, and rows of copies, are timed without tracing, which would make every op
 * take longer; gaps, single launches and the CPU's work are traced. The difference between a
 * plan of many alike ops and one of fewer is the time of one op more; where several figures
 * have a part in it, equations tell them apart. A simulated machine gives its own figures back,
 * which is how the method is tested. */
#ifndef PIPELINE_CALIBRATE_H
#define PIPELINE_CALIBRATE_H

#include "calibrate/calibration.h"
#include "options/options.h"
#include "run/backend.h"

/* Measures the opened device; `settings` are those it was opened with; a kernel of the user's
 * own that begins their chain is measured with those of the table, and STATUS_USAGE is that it
 * has no twin and the device is simulated; with their no_data no host arrays are made, which a
 * real device needs. Keeps an H200 busy for some 22 s by its own machine file, two thirds more
 * where a figure does not hold, and takes 768 MiB of its memory and 512 MiB of the host's.
 * Where `settings` have several devices, the figures are of the first, which plans of one
 * device are on, but for what the host gives all of them at once: that takes 256 MiB of each
 * one's memory, and as much of the host's for each. STATUS_FAILED when a measurement fails, or
 * its figures are impossible, do not hold or contradict each other; nothing is guessed in their
 * place. *calibration is set only on STATUS_OK. */
enum status calibrate(const struct backend_ops *ops, struct backend *backend,
                      const struct settings *settings, struct calibration *calibration,
                      struct error *error);

/* Measures only what the host decides on the opened device, in the same way: the calls, what
 * callbacks cost, taking memory, packing, and a graph's launch if `machine` knows graphs; these
 * figures of `machine` are replaced. The others are its own, and what is found is held against
 * plain runs with both, but for how soon a callback is called. Progress is shown unless
 * `quiet`. Keeps an H200 busy for some 7 s by its own machine file. As calibrate() otherwise;
 * on a failure `machine` stays as it was. */
enum status calibrate_calls_of(const struct backend_ops *ops, struct backend *backend,
                               const struct settings *settings, struct machine *machine,
                               bool quiet, struct error *error);

/* Opens the device that `settings` name by its backend in the list, and calibrates it, with
 * progress and a note unless `quiet`. As calibrate() but for errors of the backend. */
enum status calibrate_device(const struct settings *settings, bool quiet,
                             const struct backend_ops *const list[],
                             struct calibration *calibration, struct error *error);

/* The command: opens the device of the first run in `options` by its backend in the list,
 * calibrates it, and prints the machine file, all of it or nothing. */
enum status calibrate_command(const struct options *options,
                              const struct backend_ops *const list[], FILE *out,
                              struct error *error);

#endif
