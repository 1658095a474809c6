/* backends.h - the list of backends. */
#ifndef PIPELINE_APP_BACKENDS_H
#define PIPELINE_APP_BACKENDS_H

#include "run/backend.h"

/* All backends, ended by NULL. The first is the simulator, which every program has. */
extern const struct backend_ops *const backends[];

#endif
