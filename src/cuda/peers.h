/* peers.h - devices of one host that copy to each other. */
#ifndef PIPELINE_CUDA_PEERS_H
#define PIPELINE_CUDA_PEERS_H

#include "cuda/device.h"
#include "plan/plan.h"

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
