/* slots.h - memory of the device that is taken for each tile and given back (--alloc).
 *
 * Its addresses are known only while the plan runs. So each slot keeps the places of the
 * arguments that are addresses in it, found before the run; taking the memory fills them in,
 * and the calls of the tile cost no more than where the memory was there before. */
#ifndef PIPELINE_CUDA_SLOTS_H
#define PIPELINE_CUDA_SLOTS_H

#include "cuda/prepare.h"

/* STATUS_USAGE where memory is to be taken in stream order and a device has no memory pools. */
enum status cuda_slots_check(const struct plan *plan, const struct cuda_devices *devices,
                             struct error *error);

/* Makes the run's pool, if its memory comes from one of its own, and finds the places of all
 * addresses. The run's calls are looked up, with addresses as if the memory began at NULL.
 * cuda_slots_free() in any case. */
enum status cuda_slots_look_up(struct cuda_run *run, struct error *error);

/* Gives back what is still taken; the device has done all its work. */
void cuda_slots_give_all(struct cuda_run *run);

/* Frees all of that, the memory too. */
void cuda_slots_free(struct cuda_run *run);

/* Take a slot's memory and give it back, in the order of the op's stream or at once. */
cudaError_t cuda_slot_take(const struct cuda_issued *op);
cudaError_t cuda_slot_give(const struct cuda_issued *op);

#endif
