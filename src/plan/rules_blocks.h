/* rules_blocks.h - rule 3: how the blocks of launches are placed and share memory, arithmetic
 * and the link. plan/rules.h names the sources. */
#ifndef PIPELINE_PLAN_RULES_BLOCKS_H
#define PIPELINE_PLAN_RULES_BLOCKS_H

#include "machine/machine.h"
#include "plan/plan.h"

#include <stdbool.h>

/* Rule 3. Return the blocks and the cost of a copy within the device or a memset, which is a
 * launch of blocks that do no arithmetic: at the memory's rate, each byte read and written, or
 * only written. It is assumed that a thread moves 16 bytes, and that the launch takes no more
 * blocks than the GPU holds. */
uint32_t rule_memory_blocks(const struct machine *machine, const struct op *op);
struct kernel_cost rule_memory_cost(const struct machine *machine, const struct op *op);

/* Rule 3. Returns how many blocks a launch on `count` elements is given at most in a plan of
 * which `memory`, `issue`, `chain_length`, `params` and `places` are set: as many as fit, but
 * for these on mapped memory:
 *   - Of a batch of scattered tiles one on every fourth SM. With more, so many places of the
 *     host's memory are in use at once that reading and writing them takes several times as
 *     long. [Measured: 1 GiB each way in tiles of 64 KiB on two H200s: 92 ms with all blocks
 *     that fit, 73 with 264, 26 and 31 with 132, 26 with 33; by a kernel of which the compiler
 *     had cut each store of 16 bytes in four]
 *   - Of a kernel that reads and writes there, in few sweeps and with little arithmetic, one on
 *     each SM: all blocks together would first read everything and then write it, so that the
 *     link's directions take turns. [Measured: 1 GiB each way on an H200, in launches of 4 MiB
 *     31 ms with all blocks that fit and 26.5 with 66 to 132; of 1 MiB 34 and 28.5; of 32 MiB
 *     25.6 and 26.1] */
uint32_t rule_blocks_most(const struct machine *machine, const struct plan *plan,
                          const struct kernel *kernel, uint64_t count);

/* Rule 3. Returns the cost of a launch on the device's memory, which meanwhile holds what
 * `held` such launches work on: of a batch in each stream. Where that is up to a quarter of the
 * cache, the few blocks of a small grid wait less: for what a copy has brought, of which a scan
 * has little, for its blocks wait for one another; and much less for what a launch has just
 * written, as where each repeat is one. From there to half of the cache that falls to nothing.
 * [Measured on H200s: eight kernels on 1 to 16 blocks took 0.55 to 0.66 of the time for each
 * element of 4 to 16 MiB that they took of 32 and more, scans 0.85; `reduce-shuffle` 0.55 of 16
 * MiB in one stream, 0.92 of as many in each of 5; `wave-launches` with 3 and 6 repeats 0.34 of
 * 12 MiB, 0.43 of 20, and 0.8 to 1 of 12 in each of 7 streams:
 * bench/results/h200-2026-11-30-rules.txt, -usual-1.csv.xz] */
struct kernel_cost rule_launch_cost(const struct machine *machine, const struct kernel *kernel,
                                    const struct kernel_params *params, uint64_t count,
                                    uint32_t held);

/* Rule 3. Returns how many of `wanted` blocks can be placed now. [RTSS17 R1-R3: resources of
 * the SMs] */
uint32_t rule_blocks_placed(uint32_t wanted, uint32_t resident_blocks, uint32_t blocks_in_use);

/* Rule 3. A launch's work is dealt to its blocks in sweeps. The grid strides over it, each
 * thread taking `per_thread` elements at once, so all blocks make `least` sweeps and the first
 * few one more. A grid that is larger than the work is taken to share it evenly. */
struct sweeps {
    uint32_t least, blocks_with_more;
    double share; /* of the launch's work that a block does in a sweep */
};
struct sweeps rule_sweeps(uint64_t count, uint32_t per_thread, uint32_t blocks);

/* Rule 3. A launch's blocks lie on the SMs in one of these ways. */
enum dealt {
    DEALT_EVENLY, /* the launch is alone: each SM has as many, or one more */
    DEALT_BESIDE, /* beside other launches' blocks, which end at other times: now on a fuller
                     SM, now on one that is less so */
    DEALT_FIRST,  /* the launch is alone, and only its first blocks are left, which make a sweep
                     more; the fullest SM has more of them than its even share */
};

/* Rule 3. Returns how long a block takes for one sweep, in ns. The sweep is `share` of a launch
 * of `cost`, and `in_use` blocks are resident in all. They share the device's memory evenly,
 * and an SM's arithmetic; the launch ends with the blocks on the fullest SM. Where they are
 * fewer than it takes to saturate memory or arithmetic, each gets what one can use; and the
 * fewer they are, the less does each wait for the memory, evenly from where it is saturated
 * down to idle_memory_share of that. [Measured on an H200: `scale` on 1 to 66 blocks,
 * one sweep of each, took 0.68 to 0.8 of what their rate among a quarter of the GPU's blocks
 * says; `finite` on 2 and `scan-exclusive` on 5, many sweeps of each, 0.45] The slower side
 * counts (roofline; Williams, Waterman & Patterson, CACM 2009), and of the other all where
 * there is one block on an SM, down to half where it is full. */
double rule_sweep_ns(const struct machine *machine, struct kernel_cost cost, double share,
                     uint32_t in_use, enum dealt dealt);

/* Rules 2 and 3. What a launch, a block, or all of them move over the link themselves, on
 * mapped memory: bytes in and out as the direction's rate counts them, and both as the joint
 * one does. */
struct link_bytes {
    double in, out, joint;
};

/* Returns what a launch counts as that moves `in` and `out` bytes. Kernels get a share of the
 * rates: machine_mapped_share(). That of one that both reads and writes is what is left of the
 * rate that bounds it; who moves bytes in one direction alone gets as much as the kernel that
 * gets most, but for reductions, whose own share was measured so. [Measured on an H200:
 * `transpose-conflict-free` reads and writes at 0.74 of the joint rate; as the first of a chain
 * it reads, and `uniform` behind it writes, at 0.91 of a direction's] A line of memory of which
 * a warp wants every stride-th element takes part of its own time: 80 bytes' for the first that
 * is wanted and 24 for each other, at most its 128. [Fitted to `stride-copy` on an H200 at
 * strides of 1 to 64, within 8 %, but for 17 % at 2: bench/results/h200-2026-11-30-rules.txt]
 */
struct link_bytes rule_link_bytes(const struct machine *machine, const struct kernel *kernel,
                                  const struct kernel_params *params, double in, double out);

/* Returns how long a block takes at least for a sweep in which it moves `own` itself, while all
 * resident blocks move `all` in one of theirs, in ns. [Guide: mapped memory is read and written
 * by the kernel, without copies] All share each direction's rate and the joint one, as copies
 * do; who moves nothing in a direction does not wait for it. A plan has such kernels or copies
 * beside kernels, never both, so copies have no part in it. */
double rule_link_sweep_ns(const struct machine *machine, struct link_bytes own,
                          struct link_bytes all);

/* Rules 2 and 3. Returns the part of a launch that reads `in` bytes whose reads and writes go
 * one after the other: `sweep`, what its blocks do in their first sweep, and more. Requests to
 * read stand behind what has been written, so that the directions mix only as blocks get out of
 * step. [Measured on H200s: launches on 0.5 to 8 MiB of mapped memory by `uniform`,
 * `divergent`, `wave`, `scan` and transposes took 1.9 to 2 times as long as their bytes at the
 * joint rate, in one stream and in two; on 16 to 80 MiB the time beyond their share of that
 * rate was that of some 10 MB one after the other, of scans that of 18; of `scale`, whose
 * threads move 16 bytes, that of one sweep, and of 1.7 MB where it has one block on each SM:
 * bench/results/h200-2026-12-01-rules.txt, h200-2026-11-30-rules-again.txt] */
double rule_link_apart(const struct kernel *kernel, double sweep, double in);

/* Rules 2 and 3. Returns true where that part takes the link, also from the launches of other
 * streams: of maps whose blocks fill the GPU or move words. [Measured: of `uniform` and
 * `divergent` in two streams, and of `scale` with all blocks; transposes, whose blocks begin
 * one by one, took 1.3 to 1.4 times as long in four] */
bool rule_link_is_taken(const struct machine *machine, const struct kernel *kernel,
                        uint32_t blocks);

/* Rules 2 and 3. Returns how much longer a launch takes for `in` and `out` bytes, which count
 * as `all`, of which nothing goes in while anything goes out. A launch whose blocks take the
 * places of others one by one has no such time. [Measured on an H200: `scale` on mapped memory
 * takes 153 us for 4 MiB each way where its blocks make one sweep, which is one direction after
 * the other; each further sweep takes 98 us, and in sweeps of 135 KiB all takes 105] */
double rule_link_lead_ns(const struct machine *machine, double in, double out,
                         struct link_bytes all);

/* Rules 2 and 3. Returns how long a sweep of several takes at least in which a block reads `in`
 * bytes over the link, however few: a thread goes on when they have come. */
double rule_link_round_ns(const struct machine *machine, double in);

/* Rule 3. Returns what a launch that moves bytes over the link takes longer than another,
 * beside those bytes' time: from its start to the first byte, and from the last one to its end.
 */
int64_t rule_link_latency_ns(const struct machine *machine, double in, double out);

/* Rule 3. Returns how long a launch of `count` elements takes with the GPU to itself, from its
 * first block's start to its last one's end, in ns. */
double rule_launch_alone_ns(const struct machine *machine, const struct kernel *kernel,
                            const struct kernel_params *params, uint64_t count,
                            uint32_t blocks);

/* Rule 3. Returns true if one more kernel may start beside `running` others. [Guide: the number
 * of resident grids per device] One that may not leaves its place to those that have. */
bool rule_kernel_may_start(const struct machine *machine, uint32_t running);

/* Rule 3. Returns how many blocks a recorded launch takes, of those that the GPU holds at once:
 * it takes the part `fill` of its room, but one block at least. */
uint32_t rule_measured_blocks(const struct machine *machine, double fill);

#endif
