/* backend_sim.h - the simulated device. */
#ifndef PIPELINE_RUN_BACKEND_SIM_H
#define PIPELINE_RUN_BACKEND_SIM_H

#include "run/backend.h"

/* The machine that --device=auto and a bare `sim` mean. */
#define SIM_DEFAULT_MACHINE "h200"

extern const struct backend_ops backend_sim_ops;

#endif
