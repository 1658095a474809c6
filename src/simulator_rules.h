/* simulator_rules.h - what hardware does, as pure functions of the machine.
 *
 * Each rule stands apart from the machinery that applies it (simulator.c), so that it can be
 * read, tested and switched alone. Sources: [RTSS17] Amert, Otterness, Yang, Anderson, Smith:
 * "GPU Scheduling on the NVIDIA TX2: Hidden Details Revealed", RTSS 2017: the rules G, X, R and
 * A. [RTAS24] Bakita, Anderson: "Demystifying NVIDIA GPU Internals to Enable Reliable GPU
 *            Management", RTAS 2024: channels and their hardware queues.
 *   [Rennich] Rennich: "CUDA C/C++ Streams and Concurrency", 2011: queues, false dependencies.
 *   [Guide] NVIDIA: CUDA C++ Programming Guide, on asynchronous execution. */
#ifndef PIPELINE_SIMULATOR_RULES_H
#define PIPELINE_SIMULATOR_RULES_H

#include "machine.h"
#include "op.h"

#include <stdbool.h>

/* Rule 1. When may the op at the head of its stream start? [RTSS17 G1-G4] Every earlier op of
 * its stream has ended: it is the head. A wait is over once its event has been reached; that is
 * for events as for any op. What remains is a kernel's
 * launch latency, and the time one engine takes to signal another. `woken`: the op was issued
 * already and waited for its turn; `same_engine`: what it waited for ran on its own engine. */
int64_t rule_ready_delay_ns(const struct machine *machine, enum op_kind kind, bool woken,
                            bool same_engine);

/* Rule 2. One copy at a time per engine, in the order they became ready: the engine (0 or 1) of
 * a copy. With one engine both directions take turns. [Guide; Rennich] */
int rule_copy_engine(const struct machine *machine, enum op_kind kind);

/* Rule 2. Bytes per second of a copy while the other direction is busy or not. Both share the
 * link's joint rate evenly, unless one can't use its half. */
double rule_copy_bytes_per_s(const struct machine *machine, enum op_kind kind, bool other_busy);

/* Rule 2. From a copy's start to its first byte, and from its end to the next one's start on
 * the same engine, which takes that long to turn round. */
int64_t rule_copy_latency_ns(const struct machine *machine, enum op_kind kind);
int64_t rule_copy_gap_ns(const struct machine *machine, enum op_kind kind);

/* Rule 3. How many of `wanted` blocks can be placed now. [RTSS17 R1-R3: resources of the SMs]
 */
uint32_t rule_blocks_placed(uint32_t wanted, uint32_t resident_blocks, uint32_t blocks_in_use);

/* Rule 3. How long a block runs, in ns, for a kernel of `cost` launched as `blocks` blocks,
 * while `in_use` blocks are resident in all. They share memory and arithmetic evenly; where
 * they are fewer than it takes to saturate those, a block gets what one can use. The slower
 * side counts (roofline; Williams, Waterman & Patterson, CACM 2009). */
double rule_block_ns(const struct machine *machine, struct kernel_cost cost, uint32_t blocks,
                     uint32_t in_use);

/* Rule 3. Whether one more kernel may start beside `running` others. [Guide: the number of
 * resident grids per device] */
bool rule_kernel_may_start(const struct machine *machine, uint32_t running);

/* Rule 4. The hardware queue of an op: streams are dealt over the queues; copies have queues of
 * their own per direction, so `queues` = 1 is a Fermi: one queue for kernels, one per copy
 * direction [Rennich]; from Kepler on there are 8 by default and 32 at most [RTAS24]. Below
 * rule_queue_count(). Ops that wait in no queue (events, callbacks, the CPU's) have none: -1.
 */
int rule_queue(uint32_t queues, enum op_kind kind, uint32_t stream);
uint32_t rule_queue_count(uint32_t queues);

/* Rule 6. What the host pays for the call that issues an op. */
int64_t rule_issue_ns(const struct machine *machine, enum op_kind kind);

#endif
