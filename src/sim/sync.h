/* sync.h - rules 6, 7 and 10: ops that others wait for in all streams, and what the host's own
 * calls wait for.
 *
 * These functions are for a simulation with `domains` only. */
#ifndef PIPELINE_SIM_SYNC_H
#define PIPELINE_SIM_SYNC_H

#include "sim/state.h"

/* Takes memory for the domains and finds their barriers; simulation_free() gives it back. */
enum status sync_link(struct simulation *sim);

/* Returns true if `op`, the head of its stream, may go; if not, its stream is woken when it
 * may.
 */
bool sync_passes(struct simulation *sim, uint32_t op);

/* Takes note that an op of a stream has ended. */
void sync_op_ended(struct simulation *sim, uint32_t op);

/* Returns true if what the host's own call waits for is done. */
bool sync_call_is_over(const struct simulation *sim, uint32_t call);

#endif
