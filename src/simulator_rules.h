/* simulator_rules.h - what hardware does, as pure functions of the machine.
 *
 * Each rule stands apart from the machinery that applies it (simulator.c), so that it can be
 * read, tested and switched alone. Sources: [RTSS17] Amert, Otterness, Yang, Anderson, Smith:
 * "GPU Scheduling on the NVIDIA TX2: Hidden Details Revealed", RTSS 2017: the rules G, X, R and
 * A.
 *   [RTAS24] Bakita, Anderson: "Demystifying NVIDIA GPU Internals to Enable Reliable GPU
 *   Management", RTAS 2024: channels and their hardware queues.
 *   [Rennich] Rennich: "CUDA C/C++ Streams and Concurrency", 2011: queues, false dependencies.
 *   [Harris] Harris: "How to Overlap Data Transfers in CUDA C/C++", NVIDIA developer blog,
 * 2012. [Guide] NVIDIA: CUDA C++ Programming Guide, on asynchronous execution; on old GPUs the
 *   edition of CUDA 8.0, section 3.2.5.5.4, "Implicit Synchronization".
 *   [API] NVIDIA: CUDA Runtime API, "API synchronization behavior". */
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
 * resident grids per device] One that may not leaves its place to kernels that have started. */
bool rule_kernel_may_start(const struct machine *machine, uint32_t running);

/* Rule 4. The hardware queue of an op: streams are dealt over the queues; copies have queues of
 * their own per engine, so `queues` = 1 is a Fermi: one queue for kernels, one per copy
 * direction [Rennich], or one for both directions where one engine does both [Harris: on a
 * C1060 copies run in the order of issue]; from Kepler on there are 8 by default and 32 at most
 * [RTAS24]. Below rule_queue_count(). Ops that wait in no queue (events, callbacks, the CPU's)
 * have none: -1. */
int rule_queue(const struct machine *machine, uint32_t queues, enum op_kind kind,
               uint32_t stream);
uint32_t rule_queue_count(uint32_t queues);

/* Rule 5. Whether the machine can only find out that a kernel has ended by a check that holds
 * others up: GPUs that run kernels side by side, below compute capability 3.5. [Guide: 3.0 or
 * lower; Harris: gone on the K20, of 3.5] */
bool rule_checks_dependencies(const struct machine *machine);

/* Rule 5. Whether `op`, which follows a kernel in its stream and is no kernel itself, may go:
 * no kernel issued before it has blocks that have not started [Guide], that is, the first that
 * has, `first_unplaced`, was issued later; and no kernel runs of those that were issued back to
 * back with the one it follows, for they give their signal together, after the last. [Rennich:
 * "Concurrent Kernel Scheduling"; Harris, of the C2050] */
bool rule_dependent_may_go(uint32_t op, uint32_t first_unplaced, uint32_t run_left);

/* Rule 5. Whether a running kernel keeps `kernel` from starting: by a check that was issued
 * before it. `check` is the op behind the running kernel in its stream. [Guide] */
bool rule_check_holds_kernel(uint32_t check, uint32_t kernel);

/* Rule 6. What the host pays for the call that issues an op. */
int64_t rule_issue_ns(const struct machine *machine, enum op_kind kind);

/* Rule 8. Whether the call that issues an op of `kind` waits for the host's part in it: with
 * pageable memory the host copies piece by piece through a page-locked staging buffer. The call
 * for H2D returns when the last piece is in that buffer, the call for D2H when the last is out
 * of it. [API] */
bool rule_call_waits(enum op_kind kind, bool pageable);

/* Rule 8. Bytes per second of a staged copy, for which the link has `link_bytes_per_s`: the
 * host copies one piece while the engine moves another, and the slower sets the pace. */
double rule_staged_bytes_per_s(const struct machine *machine, enum op_kind kind,
                               double link_bytes_per_s);

/* Rule 8. How many of a staged copy's bytes the engine moves when the host is done with it. */
uint64_t rule_staged_last_bytes(const struct machine *machine, enum op_kind kind,
                                uint64_t bytes);

#endif
