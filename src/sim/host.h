/* host.h - the host: it issues op after op, each by a call, and some of its calls wait. */
#ifndef PIPELINE_SIM_HOST_H
#define PIPELINE_SIM_HOST_H

#include "sim/state.h"

/* Begins the call for the next op, if there is one. Where its queue is full, the caller is
 * blocked and this is called again when there may be room. A call of the host's own waits in
 * `own_call` until what it waits for is done. */
enum status host_begin_call(struct simulation *sim);

/* Goes on with the host's own call, if there is one and what it waits for is done. */
enum status host_continue_call(struct simulation *sim);

/* Returns from the call for `op`, if that still waits, and begins the next. */
enum status host_return_call(struct simulation *sim, uint32_t op);

/* Takes note that the call for `op` is over and the op issued. */
void host_end_call(struct simulation *sim, uint32_t op);

#endif
