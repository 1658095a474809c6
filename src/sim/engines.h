/* engines.h - the copy engines, the driver's thread for callbacks, and the CPU. */
#ifndef PIPELINE_SIM_ENGINES_H
#define PIPELINE_SIM_ENGINES_H

#include "sim/state.h"

/* Hands over a copy that is ready, and at the front of its hardware queue. */
enum status copies_accept(struct simulation *sim, uint32_t op);

/* The copy on engine `index` begins to move bytes; it has moved the last (unless `stamp` has
 * been overtaken); the engine can take its next one. */
enum status copies_flow(struct simulation *sim, uint32_t index);
enum status copies_end(struct simulation *sim, uint32_t index, uint32_t stamp);
enum status copies_turn(struct simulation *sim, uint32_t index);

/* Hands over a callback, or an op of the CPU's, that is ready. */
enum status turns_accept(struct simulation *sim, struct turn_engine *engine, uint32_t op);

/* The op at work is done. */
enum status turns_end(struct simulation *sim, struct turn_engine *engine);

#endif
