/* memory.h - the memory that a plan runs on: every device's part of each buffer, and the host's
 * arrays as page-locked memory. */
#ifndef PIPELINE_CUDA_MEMORY_H
#define PIPELINE_CUDA_MEMORY_H

#include "cuda/prepare.h"

/* Takes each device's memory, and clears what kernels expect to be zero. STATUS_FAILED with the
 * bytes, and the device where there are several, if one has too little. */
enum status cuda_memory_take(struct cuda_run *run, struct error *error);

/* Returns the host's or a device's own address of a range that lies in one piece; NULL for
 * none. A plan counts a buffer's bytes through all devices, each of which has its own part. */
void *cuda_memory_at(const struct cuda_run *run, const struct range *range);

/* Gives back a device's memory; it is the current one. */
void cuda_memory_free(struct cuda_run *run, uint32_t device);

/* Page-locks the host's arrays, for all devices, or takes managed memory in their place. */
enum status cuda_memory_register(struct cuda_run *run, struct error *error);

/* Undoes that. */
void cuda_memory_unregister(struct cuda_run *run);

/* Fills device memory, but for scratch, with the poison of the present run: what an earlier run
 * left could look right. Does nothing under PIPELINE_NO_POISON. */
enum status cuda_memory_poison(const struct cuda_run *run, struct error *error);

/* --- devices of one host that copy to each other --- */

/* Sets *can to whether two of the devices can reach each other's memory. */
enum status cuda_peers_can(const struct cuda_devices *devices, uint32_t from, uint32_t to,
                           bool *can, struct error *error);

/* Lets two devices that can reach each other's memory do so, both ways: without it copies from
 * one to the other would go by the host, and nobody would be told. Access that is on already is
 * no error, and stays on for the process. The first device is then current. */
enum status cuda_peers_join(const struct cuda_devices *devices, uint32_t from, uint32_t to,
                            struct error *error);

/* Joins all devices that a plan copies between in that way. STATUS_USAGE where two of them
 * can't be peers. */
enum status cuda_peers_enable(const struct plan *plan, const struct cuda_devices *devices,
                              struct error *error);

#endif
