/* rules.h - what hardware does, as functions of the machine and of what a plan says; what the
 * blocks of a launch do is in plan/rules_blocks.h.
 *
 * Each rule stands apart from the machinery that applies it (src/sim), so that it can be read,
 * tested and switched alone. Sources: [RTSS17] Amert, Otterness, Yang, Anderson,
 * Smith: "GPU Scheduling on the NVIDIA TX2: Hidden Details Revealed", RTSS 2017: the rules G,
 * X, R and A. [RTAS24] Bakita, Anderson: "Demystifying NVIDIA GPU Internals to Enable Reliable
 * GPU Management", RTAS 2024: channels and their hardware queues. [Rennich] Rennich: "CUDA
 * C/C++ Streams and Concurrency", 2011: queues, false dependencies. [Harris] Harris: "How to
 * Overlap Data Transfers in CUDA C/C++", NVIDIA developer blog, 2012. [Guide] NVIDIA: CUDA C++
 * Programming Guide, on asynchronous execution; on old GPUs the edition of CUDA 8.0,
 * section 3.2.5.5.4, "Implicit Synchronization". [Guide 12.3] and [Guide 13] those of CUDA 12.3
 * and 13, now "CUDA Programming Guide". [API] NVIDIA: CUDA Runtime API, "API synchronization
 * behavior". [Streams] the same, "Stream synchronization behavior". */
#ifndef PIPELINE_PLAN_RULES_H
#define PIPELINE_PLAN_RULES_H

#include "machine/machine.h"
#include "plan/plan.h"

#include <stdbool.h>

/* Rule 1. The op at the head of its stream may start after a delay. [RTSS17 G1-G4] It is the
 * head because every earlier op of its stream has ended, a wait when its event has been
 * reached. The delays are from its issue in an idle stream (launch); from the end of the op
 * before it on the same engine (a copy engine has its gap instead; kernels have another delay
 * in a graph that is launched as a whole); and from the end of what it followed on another
 * engine (signal). An engine finds such an end by looking in turn at its queues in which
 * something waits, so this takes longer the more others there are, `waiting` of them. An end
 * long ago delays nothing. [Measured on an H200: copies start 2.5 us after the end of their
 * call in an idle stream, kernels 2.4 to 2.5. Only copies in were: copies out are assumed to
 * start as soon] */
int64_t rule_launch_ns(const struct machine *machine, enum op_kind kind);
int64_t rule_same_engine_ns(const struct machine *machine, enum op_kind kind, bool whole_graph);
int64_t rule_signal_ns(const struct machine *machine, enum op_kind kind, uint32_t waiting);

/* Rule 2. Returns the engine (0 to 2) of a copy. An engine does one copy at a time, in the
 * order in which they became ready. With one engine both directions take turns. [Guide;
 * Rennich] Copies to other devices have one of the sender's for themselves, which is assumed:
 * GPUs that are peers have more engines than two. */
int rule_copy_engine(const struct machine *machine, enum op_kind kind);

/* Rule 2. Returns the bytes per second of a copy while the other direction is busy or not. Both
 * share the link's joint rate evenly, unless one can't use its half. The place of the bytes in
 * host memory is assumed not to matter: tiles that lie apart are copied as fast as others. Many
 * rows by one call are another thing: rule_rows_bytes_per_s(). */
double rule_copy_bytes_per_s(const struct machine *machine, enum op_kind kind, bool other_busy);

/* Rule 2. Returns the part of its direction's rate, up to 1, at which one call copies rows of
 * `row_bytes` that lie apart; and the most bytes per second that this leaves to `op`, a copy to
 * or from the host: infinity where that is one piece. [Measured on an H200, both ways at once,
 * too: where the other direction is busy, a copy of rows has this bound or its half of the
 * joint rate, whichever is less, within 3 % for rows of 256 bytes to 64 KiB. The pitch and the
 * bytes of a tile weigh, too, and are left out. Between sizes the part is drawn along the
 * logarithm of the bytes, and beyond them it stays] */
double rule_rows_share(const struct machine *machine, enum op_kind kind, uint64_t row_bytes);
double rule_rows_bytes_per_s(const struct machine *machine, const struct plan *plan,
                             const struct op *op);

/* Rule 2. Returns the most that a copy of a slot has that the CPU packs or unpacks, in bytes a
 * second; of any other: INFINITY. The cores hold what they have just packed in their own
 * caches, where the copy has to look for it; in a part of it, the smaller the more all slots
 * hold. [Measured on H200s' hosts: 4 MiB that 30 cores have just packed, or only read, are
 * copied in in 182 us and out in 186, 87 where others were read since, and 98 packed by one
 * core: bench/experiments/packing.cu. In runs with one slot and with four of 1 to 64 MiB, with
 * 14 and with 30 cores, the part of the copies in that is slow is 1 / (1 + x^2), with x the MiB
 * of all slots for each core, which is up to 0.23 off where x is about 1:
 * bench/results/h200-2026-12-01-rules.txt. That it is 0.6 of that for copies out was chosen by
 * the times of the same runs] */
double rule_packed_bytes_per_s(const struct machine *machine, const struct plan *plan,
                               const struct op *op);

/* Rule 2. Returns what the host gives all devices' copies together whose links have
 * `asked` bytes per second for them: all of it up to `alone`, which one device has, and from
 * there on less and less more, up to `most`. [Measured on two and four H200s of one host, in
 * GB/s: in 105 and 173, out 110 and 143, both ways at once 150 and 177, where one
 * has 55.4, 55.3 and 101. That the fourth powers of the times add up was chosen because it is
 * within 5 % of each of these with the three figures of that machine's file; a bound that is
 * hard is 18 % off. Where `most` is `alone`, as behind a switch with one link, the bound is
 * hard]
 */
double rule_host_bytes_per_s(double asked, double alone, double most);

/* Rule 2, the other way round. Returns the `most` with which it gives `given`, as measured; a
 * rate that bounds nothing, that of machine files which say nothing, where `given` is all that
 * was asked for. */
double rule_host_most(double asked, double alone, double given);

/* Rule 2. Returns what it gives the copies of so many devices at most, in one direction and in
 * both, or in one of the two after the other. */
struct host_rates {
    double in, out, joint;
};
struct host_rates rule_host_rates(const struct machine *machine, uint32_t devices);

/* Rule 2. Returns the part of their links' rates that copies of a kind get where the links have
 * `in` and `out` for all that flow: each direction has such a bound, and where both flow both
 * together have one, too, of which copies out of the devices get more than copies in; behind a
 * switch both get alike. */
double rule_host_share(const struct machine *machine, enum op_kind kind, double in, double out);

/* Rule 2. Returns what copies into one device and out of another have together at most, side by
 * side or one after the other. */
double rule_apart_bytes_per_s(const struct machine *machine);

/* Returns true if copies from device to device are what hands tiles on: machines have them, and
 * they are not slower than a link to the host is in each direction while both are busy. Else a
 * way by the host would be faster, unless the links have more to do than that. */
bool rule_peers_pay(const struct machine *machine);

/* Rule 2. Returns the bytes per second of a copy from a device to another, of which `into`
 * flow into that one, this one among them. A device sends at that rate and receives at that
 * rate, by copies from however many; where something flows the other way at one of the two
 * ends (`both_ways`), each direction has half of the joint rate. The way goes by a switch or by
 * links of the devices' own, never by those to the host, and so it takes nothing from copies
 * there. [Measured on two H200s: 395 GB/s one way, 781 both ways; that all copies into a device
 * share what one has is assumed, and that they share it evenly] */
double rule_peer_bytes_per_s(const struct machine *machine, uint32_t into, bool both_ways);

/* Rule 2. Returns the time from a copy's start to its first byte, and that from its end to the
 * next one's start on the same engine. This gap is longer where something other than a copy of
 * its kind comes next in the stream (`waited_for`), for then the engine has to signal the
 * copy's end: more so where kernels wait in `waiting` other queues, up to 4, and about half as
 * much while the other direction is idle. On an H200: 1.3, 3 and 5 us. A copy to another device
 * is assumed to leave the gap of a copy out. */
int64_t rule_copy_latency_ns(const struct machine *machine, enum op_kind kind);
int64_t rule_copy_gap_ns(const struct machine *machine, enum op_kind kind, bool waited_for,
                         bool other_busy, uint32_t waiting);

/* Rule 2. Batches of copies. Returns the copies that an op is made of: one for each tile where
 * a batch goes by one call of cudaMemcpyBatchAsync(), and where the host packs tiles; else 1.
 * The values that a reduction leaves of a batch's tiles lie together, and go as one. The engine
 * does a batch's copies one behind another, with batch_gap_ns between. [API: the copies of a
 * batch may run in any order; it is assumed that they run in that of the call] */
uint32_t rule_copies(const struct plan *plan, const struct op *op);

/* Graphs. Returns true if a graph that has a node of this kind is handed over to the device
 * node by node while the launching call goes on: any but a kernel. One of kernels alone is
 * launched as a whole, of which nothing is assumed to start before the call is over. [Measured
 * on an H200, the experiment `graph`: a node more makes the call 0.003 us longer in a graph of
 * kernels, 1.0 to 2.2 us where there are copies, 0.5 where there are memsets; and 256 copies
 * in, in 4 branches and more, are done 5 us behind the end of the call] A machine without
 * graph_copies_node_ns launches every graph as a whole. */
bool rule_graph_by_node(const struct machine *machine, enum op_kind kind);

/* Returns true where the machine knows that way to issue, and its file says what it costs:
 * graphs and batches of copies came with CUDA's versions. */
bool rule_takes_issue(const struct machine *machine, enum issue issue);

/* Graphs. Returns how long after its beginning the call that launches a graph has handed over
 * `nodes` nodes: of all, its own time. That a graph's nodes are handed over in the order in
 * which they were captured is assumed, and that all cost as much. */
int64_t rule_graph_launch_ns(const struct machine *machine, uint32_t nodes, bool by_node);

/* Graphs. Returns what the device takes for a node of a graph that was launched as a whole, one
 * after another, in the order in which their dependencies are met. [Measured there: 256 kernels
 * in 8, 16 and 32 branches take the same 46 us] A graph's dependencies are the plan's edges
 * alone, streams' orders and events; the driver maps its branches to queues of its own, of
 * which it is assumed that there are enough: none blocks another. Nodes that were handed over
 * one by one leave these as ops of streams do. [Measured there: copies in, kernels and copies
 * out took within 6 % of the same ops in streams] */
int64_t rule_graph_node_ns(const struct machine *machine, bool by_node);

/* Rule 4. Returns the hardware queue of an op. Streams are dealt over the queues; copies have
 * queues of their own per engine, so `queues` = 1 is a Fermi: one queue for kernels, one per
 * copy direction [Rennich], or one for both directions where one engine does both [Harris: on a
 * C1060 copies run in the order of issue]; from Kepler on there are 8 by default and 32 at most
 * [RTAS24]. Each device has queues of its own, and `stream` is the number among its streams.
 * Below rule_queue_count(). Ops that wait in no queue (events, callbacks, the CPU's)
 * have none: -1. */
int rule_queue(const struct machine *machine, uint32_t queues, enum op_kind kind,
               uint32_t stream);
uint32_t rule_queue_count(uint32_t queues);

/* Rule 5. Returns true if the machine can only find out that a kernel has ended by a check that
 * holds others up. These are GPUs that run kernels side by side, below compute capability 3.5.
 * [Guide: 3.0 or lower; Harris: gone on the K20, of 3.5] */
bool rule_checks_dependencies(const struct machine *machine);

/* Rule 5. Returns true if `op`, which follows a kernel in its stream and is no kernel itself,
 * may go: no kernel issued before it has blocks that have not started [Guide], that is, the
 * first that has, `first_unplaced`, was issued later; and no kernel runs of those that were
 * issued back to back with the one it follows, for they give their signal together, after the
 * last. [Rennich: "Concurrent Kernel Scheduling"; Harris, of the C2050] */
bool rule_dependent_may_go(uint32_t op, uint32_t first_unplaced, uint32_t run_left);

/* Rule 5. Returns true if a running kernel keeps `kernel` from starting, which it does by a
 * check that was issued before `kernel`. `check` is the op behind the running kernel in its
 * stream. [Guide] */
bool rule_check_holds_kernel(uint32_t check, uint32_t kernel);

/* Rule 6. Returns what the host pays for the call that issues an op. A memset's is assumed to
 * be a launch's. The host's own calls are issued to nobody: see rule_call_ns(). */
int64_t rule_issue_ns(const struct machine *machine, enum op_kind kind);

/* Rule 6. Returns what that call takes beside, where it issues a batch of `copies` copies. */
static inline int64_t rule_issue_batch_ns(const struct machine *machine, uint32_t copies)
{
    return copies > 1 ? copies * machine->issue_batch_copy_ns : 0;
}

/* Rule 6. Returns what the host's own call takes once what it waits for is done: the way back
 * from a sync, or taking memory and giving it back. Memory takes a time by its
 * size beside a fixed one; a small piece of the device's comes out of one that the driver has.
 * [Measured on H200s: 66.7 us for 16 MiB of device memory and 126 for 32; on another 71 for 4
 * and 74.5 for 16; about 5 for 4 KiB. Page-locked memory: 1.2 ms for 128 KiB, 2.3 for 4 MiB,
 * 5.1 to 8.4 for 16, 16 to 21 for 32] */
int64_t rule_call_ns(const struct machine *machine, const struct op *op);

/* Rule 6. Returns what the host takes to pack or unpack so many bytes. Before the cores pack
 * they have to be woken, and all wait for the last one; less than RULE_PACK_SHARE_BYTES are
 * packed by the calling thread alone, and each more of them by one more. A machine's rate is
 * beside copies both ways; where nothing is copied out meanwhile they are 1.4 times as fast.
 * [Measured on an H200's host: 30 cores packed 8 MiB at 91 GB/s beside no copies, at 92 beside
 * copies in and at 64 beside both, 32 MiB at 62, 86 and 51:
 * bench/results/h200-2026-12-01-rules.txt] */
enum { RULE_PACK_SHARE_BYTES = 32 << 10 };
int64_t rule_pack_ns(const struct machine *machine, const struct plan *plan, uint64_t bytes);

/* Rule 6. Returns how long after the end of what a call had to wait for it hears of that: the
 * device writes to the host's memory, where the call looks. [Measured on an H200: calls that
 * copy 4 KiB or less out into pageable memory took 7.6 us, one behind another, 4 more than the
 * call for the copy and the copy itself] */
static inline int64_t rule_hears_ns(const struct machine *machine)
{
    return machine->sync_latency_ns;
}

/* Rule 6. Returns true if the host's own call waits until the device has done all that was
 * issued before it (one stream's, for the sync of a stream; what came before the event's latest
 * record, for that of an event). cudaStreamSynchronize() and
 * cudaDeviceSynchronize() do [Guide 13, 2.3.7]; what allocations do is rule 10's. */
bool rule_call_synchronises(const struct machine *machine, const struct op *op);

/* Rule 7. Returns true if ops of streams of these kinds take turns because of the legacy
 * default stream: each waits for those that were issued before it to the other stream.
 * [Streams: "the legacy stream first waits on all blocking streams, the action is queued in the
 * legacy stream, and then all blocking streams wait on the legacy stream"; "non-blocking
 * streams ... do not synchronize with the legacy stream"; events and waits are such actions,
 * too] */
static inline bool rule_legacy_orders(enum stream_kind one, enum stream_kind other)
{
    return (one == STREAM_LEGACY && other != STREAM_NONBLOCKING) ||
           (other == STREAM_LEGACY && one != STREAM_NONBLOCKING);
}

/* Rule 7. Returns true if a stream of this kind is the legacy default stream or takes turns
 * with it. */
static inline bool rule_minds_legacy(enum stream_kind kind)
{
    return rule_legacy_orders(kind, STREAM_LEGACY);
}

/* Rule 6. Returns true if the sync of a stream of kind `synced` waits for ops of another, of
 * kind `other`, too. [Guide 12.3, 3.2.8.7.3.2, of stream capture: the legacy stream's handle
 * always encompasses the blocking streams, and synchronising it would synchronise them] */
bool rule_sync_encompasses(enum stream_kind synced, enum stream_kind other);

/* Rule 10. Returns true if a copy within the device or a memset starts only when all that was
 * issued before it is done, in any stream, and keeps all that is issued later until it is done
 * itself. [Guide: "Two commands from different streams cannot run concurrently if any one of
 * the following operations is issued in-between them by the host thread: a page-locked host
 * memory allocation, a device memory allocation, a device memory set, a memory copy between two
 * addresses to the same device memory, any CUDA command to the NULL stream", and a change of
 * the L1 cache's size, which no plan has.] [Guide 12.3] still says so; of [Guide 13, 2.3.8]
 * nothing is left but the NULL stream. So it is held to be true of GPUs whose last CUDA had no
 * other edition: Kepler and all before it, below compute capability 5.0. */
bool rule_op_synchronises(const struct machine *machine, enum op_kind kind);

/* Rule 10. Returns true if an allocation synchronises in the same way. [Guide 13, 4.3.1] says
 * so of device memory on all GPUs: "Managing memory allocations using cudaMalloc and cudaFree
 * causes the GPU to synchronize across all executing CUDA streams." Of page-locked memory it is
 * silent. */
bool rule_alloc_synchronises(const struct machine *machine, bool pinned);

/* Rule 10. Returns what the first call that takes memory in stream order takes beside what any
 * does. [Measured: on an H200 the first of a run took 190 to 290 us, from the device's own
 * pool, which gives its memory back when the host synchronises (the runtime's reference, of
 * cudaMemPoolAttrReleaseThreshold), and just as long from one that keeps it: why is not known]
 */
static inline int64_t rule_first_take_ns(const struct machine *machine)
{
    return machine->take_first_ns;
}

/* Rule 8. Returns true if a copy goes through the host's staging buffer: its memory is
 * pageable. */
static inline bool rule_copy_staged(const struct plan *plan, const struct op *op)
{
    const struct op_recorded *seen = plan_seen(plan, op);
    bool pageable = seen != NULL ? seen->pageable : plan->memory == MEMORY_PAGEABLE;
    if (!pageable || !op_is_copy(op->kind))
        return false;
    return seen != NULL || !buffer_is_page_locked(op->copy.host.buffer);
}

/* Rule 8. Returns true if the call that issues `op` waits until that has ended, not only until
 * the host has done its part. */
static inline bool rule_call_waits_out(const struct plan *plan, const struct op *op)
{
    const struct op_recorded *seen = plan_seen(plan, op);
    if (seen != NULL && seen->waits)
        return op_on_device(op->kind) || op->kind == OP_CALLBACK;
    return op->kind == OP_KERNEL && plan->launches_block;
}

/* Rule 8. Returns true if the call that issues `op` waits for the host's part in it:
 * with pageable memory the host copies piece by piece through a page-locked staging buffer. The
 * call for H2D returns when the last piece is in that buffer, the call for D2H when the last is
 * out of it. [API] The call of a launch may wait for its kernel's end, as with
 * CUDA_LAUNCH_BLOCKING=1, which takes the asynchronicity from kernel launches; the [Guide] says
 * nothing of other calls. A recorded call may have waited for its op in any case, as
 * cudaMemcpy() does. */
static inline bool rule_call_waits(const struct plan *plan, const struct op *op)
{
    return rule_copy_staged(plan, op) || rule_call_waits_out(plan, op);
}

/* Rule 8. Returns true if a call that waits learns from the device that it may go on. A call
 * that copies in, and does not wait for the end of the copy, ends with the host's own work:
 * nothing has to tell it. */
static inline bool rule_call_hears(const struct plan *plan, const struct op *op)
{
    return op->kind != OP_H2D || rule_call_waits_out(plan, op);
}

/* Rule 8. Returns true if the host and the engine don't work on a staged copy at the same time,
 * since it is one piece: a copy in is in the staging buffer before the call that issues it
 * returns, whatever its stream waits for, and goes on as from page-locked memory (which is
 * assumed: an H200 moved such pieces at 13 GB/s, a quarter of the link's rate); a copy out is
 * there before the host takes it. [API: transfers of 64 KiB or less from pageable to device
 * memory may return before they are done. Measured on an H200: behind a kernel of 2 ms the
 * calls for copies in of 4 and 64 KiB took 3.0 and 8.7 us] */
static inline bool rule_copy_in_one_piece(const struct machine *machine,
                                          const struct plan *plan, const struct op *op)
{
    return rule_copy_staged(plan, op) && op->copy.host.bytes <= machine->staging_bytes &&
           !rule_call_waits_out(plan, op);
}

/* Rule 8. Returns true if the call that issues `op` hands all of it over and waits no longer,
 * though calls for larger copies do (rule_call_waits()). */
static inline bool rule_call_hands_over(const struct machine *machine, const struct plan *plan,
                                        const struct op *op)
{
    return op->kind == OP_H2D && rule_copy_in_one_piece(machine, plan, op);
}

/* Rule 8. Returns what the host takes to copy such a piece into its staging buffer or out of
 * it. */
int64_t rule_piece_ns(const struct machine *machine, enum op_kind kind, uint64_t bytes);

/* Rule 8. Returns false if calls wait for no op of a plan. */
static inline bool rule_calls_may_wait(const struct plan *plan)
{
    return plan->recorded != NULL || plan->memory == MEMORY_PAGEABLE || plan->launches_block;
}

/* Rule 9. Returns how long it takes from when its stream has come to a callback to when the
 * driver's thread can call it: the host is told, and a thread that has had nothing to do for
 * `slept_ns` wakes. That takes as long as the root of its sleep, up to RULE_SLEEP_MOST_NS. One
 * right behind another callback in its stream is not told of anew. [Measured on an H200, from
 * an op's end to the callback behind it: 21 us after a sleep of 3 us, 34 after 26, 49 after
 * 206, 60 after 305, 76 after 1 ms, 190 after 3, 295 after 10; functions one behind another,
 * 0.8] A run begins with a thread that has slept for RULE_SLEEP_BEFORE_NS. [Fitted to 145 runs
 * with callbacks on five starts of an H200: bench/results/h200-2026-11-30-usual-1.csv.xz and
 * others of that day; between 2 and 10 ms it matters little] */
enum { RULE_SLEEP_MOST_NS = 10000000, RULE_SLEEP_BEFORE_NS = 4000000 };
double rule_sleep_part(int64_t slept_ns); /* of callback_wake_ns: 0 to 1 */
int64_t rule_callback_told_ns(const struct machine *machine, int64_t slept_ns);

/* Rule 9. Returns how long, from when the driver's thread is woken for a callback, the calls of
 * the thread that issued it can't begin: both use the same driver, which is assumed to lock the
 * one out while it serves the other. [Fitted to the same runs: 128 tiles in 8 to 32 streams,
 * whose calls bound them, took 4 to 8 us for each callback beside its own call, and scans whose
 * host waits for each tile no more than their calls; a third to two thirds fit nearly as well]
 */
static inline int64_t rule_callback_holds_ns(const struct machine *machine)
{
    return machine->callback_latency_ns / 2;
}

/* Rule 6. Returns what the call of a launch takes beside rule_issue_ns(): it loads its kernel's
 * code where nothing has done so before. [Guide 13, 4.7: the default since CUDA 12.2] */
int64_t rule_load_ns(const struct machine *machine, bool loaded);

/* Rule 8. Returns the bytes per second of a staged copy, for which the link has
 * `link_bytes_per_s`: the host copies one piece while the engine moves another, and the slower
 * sets the pace. */
double rule_staged_bytes_per_s(const struct machine *machine, enum op_kind kind,
                               double link_bytes_per_s);

/* Rule 8. Returns how many of a staged copy's bytes the engine still moves when the host is
 * done with it: the last piece. [Measured on two H200s: copies in of up to 1 MiB take the
 * engine no longer than from page-locked memory, 22 us for 1 MiB, so that they are one piece;
 * of 2 MiB they take it 140 to 164 us, which is that and what the host takes for the other one.
 * Such pieces out are taken the engine as long, but what it has just put into the host's memory
 * the host copies as much faster: bench/results/h200-2026-11-30-rules-again.txt] */
uint64_t rule_staged_last_bytes(const struct machine *machine, enum op_kind kind,
                                uint64_t bytes);

/* Managed memory, whose pages move to the device and back by a prefetch or because somebody
 * touches them. [Measured on an H200: the experiment `memory`] Pages that are prefetched, in
 * or out, go one call's after another's, in the order in which the calls became ready: both
 * directions at once took about the sum. A prefetch in takes some time before that, in its own
 * stream alone, which other streams hide. Return what a call's pages flow at, what it takes
 * beside them, and that time before. */
double rule_prefetch_bytes_per_s(const struct machine *machine, enum op_kind kind);
int64_t rule_prefetch_ns(const struct machine *machine, enum op_kind kind);
int64_t rule_prefetch_begin_ns(const struct machine *machine, enum op_kind kind);

/* Returns how long pages of `bytes` take that kernels fault on, of all kernels together. */
double rule_fault_ns(const struct machine *machine, double bytes);

/* Returns how long tiles of managed memory take on the link, with `in` bytes of inputs and
 * `out` of outputs: prefetched, or by faults. */
double rule_managed_ns(const struct machine *machine, bool prefetches, double in, double out);

#endif
