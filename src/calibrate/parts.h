/* parts.h - the parts of a calibration, in the order in which they have to be done: each takes
 * the figures of those before it as given, and sets its own. */
#ifndef PIPELINE_CALIBRATE_PARTS_H
#define PIPELINE_CALIBRATE_PARTS_H

#include "calibrate/rig.h"

enum status calibrate_host(struct rig *rig);
enum status calibrate_copies(struct rig *rig);
enum status calibrate_kernels(struct rig *rig);
enum status calibrate_signals(struct rig *rig);
enum status calibrate_graphs(struct rig *rig);

#endif
