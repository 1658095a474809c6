/* backends.h - the list of backends. */
#ifndef PIPELINE_APP_BACKENDS_H
#define PIPELINE_APP_BACKENDS_H

#include "run/backend.h"

/* All backends, ended by NULL. The first is the simulator, which every program has. */
extern const struct backend_ops *const backends[];

/* Returns true if the backend of a value of --device measures: a real device. "auto" means one
 * where there is one. */
bool backends_measure(const char *device);

#endif
