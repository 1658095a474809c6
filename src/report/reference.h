/* reference.h - the machine file that stands for a device. */
#ifndef PIPELINE_REPORT_REFERENCE_H
#define PIPELINE_REPORT_REFERENCE_H

#include "core/status.h"
#include "machine/machine.h"
#include "run/backend.h"

#include <stdbool.h>

/* Finds the machine that stands for a device. `asked` is --machine's value: NAME or FILE.ini,
 * read as machine_load() does, or NULL: then it is `device` itself where that is simulated,
 * else the built-in machine file whose model is in the device's name (device->name, "NVIDIA
 * H200"). `queues`, unless it is 0, is how many hardware queues the device was opened with: the
 * machine gets them as its default, as far as it has so many. *machine is set on STATUS_OK.
 * STATUS_USAGE: there is none; says to name one by --machine, or to make one by `pipeline
 * calibrate`. */
enum status reference_machine(const char *asked, const struct machine *device, bool simulated,
                              uint32_t queues, struct machine *machine, struct error *error);

/* Returns true if the name of a device has the model that a machine's summary, "NVIDIA H100",
 * names, as a word: "NVIDIA H100 80GB HBM3". */
bool reference_is_model(const char *summary, const char *device);

/* Returns the row of a kernel; where there is none a new one, with the figures of the kernel
 * whose rates it has, if it has another's; NULL: there is no room. */
struct machine_kernel *reference_kernel(struct machine *machine, const char *name);

/* Gives `machine`, which stands for the device, the rates that were measured on the device
 * itself: those of the link, of the kernels that were measured, and those of its host. */
void reference_adapt(struct machine *machine, const struct machine *device);

/* The part of that which another host of such a device has otherwise: what its memory gives
 * several devices at once, and the arithmetic of those kernels on its CPU. The CPU's rate of
 * bytes stays: that of a file holds beside copies, which use a part of the memory's bandwidth.
 */
void reference_adapt_host(struct machine *machine, const struct machine *device);

/* Gives `machine`, which stands for the device, what choices go by: the rates that were
 * measured there of the link, where they are far from the machine's, for hosts of one kind of
 * device may differ; and those of users' own kernels, which are a guess otherwise. */
void reference_learn(struct machine *machine, const struct machine *device);

/* Takes from `machine`, which stands for the device, what the opened device has not got: the
 * memory beyond its own, and ways to issue that its backend refuses. Choices are made on what
 * is left. */
void reference_restrict(struct machine *machine, const struct machine *device,
                        const struct backend_ops *ops, struct backend *backend);

#endif
