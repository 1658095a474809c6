/* ops.h - the start and the end of an op, for its span, its stream and whoever looks on. */
#ifndef PIPELINE_SIM_OPS_H
#define PIPELINE_SIM_OPS_H

#include "sim/state.h"

/* Begins an op: its span starts now. */
enum status simulation_start_op(struct simulation *sim, uint32_t op);

/* Ends an op that ran on an engine: its span ends now, and its stream is noted in `waiters`.
 */
enum status simulation_end_op(struct simulation *sim, uint32_t op);

/* Marks `op` as ended, as far as its stream goes: the next op is the stream's head. */
void simulation_pass_op(struct simulation *sim, uint32_t op);

#endif
