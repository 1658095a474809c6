/* probe_peers.h - how fast the devices of a run copy to each other. */
#ifndef PIPELINE_CUDA_PROBE_PEERS_H
#define PIPELINE_CUDA_PROBE_PEERS_H

#include "cuda/device.h"

/* Of one device's copies to another: bytes per second one way, and both ways together; and the
 * time from the one copy's end to the next one's first byte. */
struct peer_rates {
    double one_way, both_ways; /* 0: they can't reach each other's memory */
    int64_t latency_ns;
};

/* Measures each device and the one that follows it in their order, as tiles are handed on, and
 * sets the worst of these pairs' figures: all zero, if one of them can't be peers. Switches
 * peer access on. Takes some tenths of a second. */
enum status probe_peers(const struct cuda_devices *devices, struct peer_rates *rates,
                        struct error *error);

#endif
