/* verdict_seen.c - what was seen of a cause in a run of our own, in words. */
#include "causes/verdict_parts.h"
#include "core/units.h"
#include "plan/host_layout.h"
#include "plan/rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Counts of what a plan has, and times of what its timeline shows. */
struct sight {
    uint32_t copies, kernels, memsets, syncs, allocs, callbacks, waits, peers;
    uint32_t legacy_stream, legacy_kernels, legacy_memsets;
    uint32_t most_blocks; /* of a launch */
    uint32_t most_copies; /* that one op is made of */
    uint32_t exchanges;   /* copies out by which devices hand tiles on, and their bytes */
    uint64_t exchanged_bytes;
    uint64_t alloc_bytes;
    uint64_t row_bytes;             /* of a copy in, where tiles are columns */
    int64_t callbacks_ns;           /* of all callbacks */
    int64_t packs_ns, syncs_ns;     /* of all the host's packing and waiting */
    int64_t gpu_end_ns, cpu_end_ns; /* the last ends */
    int64_t peers_ns;               /* of all copies from device to device */
    int64_t handed_ns;              /* from kernels by such a copy to kernels, so often: */
    uint32_t handed;
    double in_bytes, out_bytes; /* of all copies in and out, and how long these ran */
    int64_t in_ns, out_ns;
    int64_t first_in_ns, last_out_ns; /* lengths of the first copy in and the last copy out */
    int64_t first_kernel_ns;
    uint64_t most_elements; /* of a launch, and how long the first such kernel took */
    int64_t most_kernel_ns;
    int64_t first_call_ns; /* the longest call of a launch */
};

static void see_op(const struct plan *plan, const struct op *op, struct sight *sight)
{
    bool legacy = plan_stream_kind(plan, op->stream) == STREAM_LEGACY;
    sight->copies += op_is_copy(op->kind);
    sight->kernels += op->kind == OP_KERNEL;
    sight->memsets += op->kind == OP_MEMSET;
    sight->syncs += op_is_sync(op->kind);
    sight->callbacks += op->kind == OP_CALLBACK;
    sight->waits += op->kind == OP_WAIT;
    sight->peers += op->kind == OP_PEER;
    if (op->kind == OP_D2H && op->copy.host.buffer == BUFFER_HOST_EXCHANGE) {
        sight->exchanges++;
        sight->exchanged_bytes += op_bytes(op);
    }
    if (op->kind == OP_H2D)
        sight->row_bytes = host_layout_rows(plan, &op->copy.host).bytes;
    if (rule_copies(plan, op) > sight->most_copies)
        sight->most_copies = rule_copies(plan, op);
    if (op->kind == OP_ALLOC && op->alloc.deed != ALLOC_GIVE) {
        sight->allocs++;
        sight->alloc_bytes += op->alloc.bytes;
    }
    if (op->kind == OP_KERNEL && op->kernel.blocks > sight->most_blocks)
        sight->most_blocks = op->kernel.blocks;
    if (!legacy || !op_on_device(op->kind))
        return;
    sight->legacy_stream = op->stream;
    sight->legacy_kernels += op->kind == OP_KERNEL;
    sight->legacy_memsets += op->kind == OP_MEMSET;
}

static void see_kernel(const struct op *op, int64_t length_ns, struct sight *sight)
{
    if (sight->first_kernel_ns == 0)
        sight->first_kernel_ns = length_ns;
    if (op->kernel.count > sight->most_elements) {
        sight->most_elements = op->kernel.count;
        sight->most_kernel_ns = length_ns;
    }
}

static void see_span(const struct verdict_case *facts, const struct span *span,
                     struct sight *sight)
{
    const struct timeline *timeline = facts->timeline;
    int64_t length_ns = span->end_ns - span->start_ns;
    if (span->kind == OP_CALLBACK)
        sight->callbacks_ns += length_ns;
    if (span->kind == OP_PEER)
        sight->peers_ns += length_ns;
    if (span->kind == OP_PACK)
        sight->packs_ns += length_ns;
    if (op_is_sync(span->kind))
        sight->syncs_ns += length_ns;
    if (span->kind == OP_CPU)
        sight->cpu_end_ns = later(sight->cpu_end_ns, span->end_ns);
    else if (op_on_device(span->kind))
        sight->gpu_end_ns = later(sight->gpu_end_ns, span->end_ns);
    if (span->kind == OP_H2D && sight->first_in_ns == 0)
        sight->first_in_ns = length_ns;
    if (span->kind == OP_H2D) {
        sight->in_bytes += (double)span->bytes;
        sight->in_ns += length_ns;
    }
    if (span->kind == OP_D2H) {
        sight->last_out_ns = length_ns;
        sight->out_bytes += (double)span->bytes;
        sight->out_ns += length_ns;
    }
    if (span->kind == OP_KERNEL)
        see_kernel(&facts->plan->ops[span->op], length_ns, sight);
    if (span->kind == OP_KERNEL && span->op + 1 < timeline->issue_count)
        sight->first_call_ns = later(sight->first_call_ns, timeline->issue_ns[span->op + 1] -
                                                               timeline->issue_ns[span->op]);
}

/* Counts a kernel that waited for a copy from another device, and how long it was then since
 * the kernel had ended that the copy waited for. */
static void see_handing_over(const struct verdict_case *facts, uint32_t index,
                             struct sight *sight)
{
    const struct span *spans = facts->timeline->spans;
    const struct hold *holds = facts->critical->holds;
    const uint32_t peer = holds[index].span;
    if (spans[index].kind != OP_KERNEL || peer == SPAN_NONE || spans[peer].kind != OP_PEER)
        return;
    const uint32_t sender = holds[peer].span;
    if (sender == SPAN_NONE || spans[sender].kind != OP_KERNEL)
        return;
    sight->handed++;
    sight->handed_ns += spans[index].start_ns - spans[sender].end_ns;
}

static struct sight sight_of(const struct verdict_case *facts)
{
    struct sight sight = {0};
    for (uint32_t i = 0; i < facts->plan->op_count; i++)
        see_op(facts->plan, &facts->plan->ops[i], &sight);
    for (uint32_t i = 0; i < facts->timeline->span_count; i++) {
        see_span(facts, &facts->timeline->spans[i], &sight);
        see_handing_over(facts, i, &sight);
    }
    return sight;
}

/* Writes what was seen of tiles being small, which depends on the way that they go. */
static void see_small_tiles(const struct verdict_case *facts, const struct sight *sight,
                            int64_t work_ns, char text[VERDICT_SEEN])
{
    const struct plan *plan = facts->plan;
    const char *work = sight->copies > 0 ? "copy" : "kernel";
    const uint32_t steps = plan->params.steps > 0 ? plan->params.steps : 1;
    char time[UNITS_TEXT], gap[UNITS_TEXT];
    units_time(work_ns, time);
    if (plan->has_halo)
        snprintf(text, VERDICT_SEEN,
                 "%" PRIu32 " steps, for each of which the host issues %" PRIu32
                 " launches and copies, and their events; a step's largest kernel takes %s",
                 steps, (sight->kernels + sight->peers + steps - 1) / steps,
                 units_time(sight->most_kernel_ns, gap));
    else if (plan->batch <= 1)
        snprintf(text, VERDICT_SEEN,
                 "%" PRIu32 " tiles, each with ops of its own to issue, of which a "
                 "%s takes %s",
                 plan->tiles, work, time);
    else if (sight->most_copies > 1)
        snprintf(text, VERDICT_SEEN,
                 "%" PRIu32 " tiles, copied in batches of %" PRIu32 ", of which one takes %s; "
                 "from a tile to the next an engine takes %s",
                 plan->tiles, plan->batch, time, units_time(facts->machine->batch_gap_ns, gap));
    else
        snprintf(text, VERDICT_SEEN,
                 "%" PRIu32 " tiles%s in batches of %" PRIu32 ", of which a %s takes %s",
                 plan->tiles, plan->packs ? ", packed" : "", plan->batch, work, time);
}

static void see_far_memory(const struct timeline *timeline, char text[VERDICT_SEEN])
{
    const struct numa_seen *numa = &timeline->numa;
    const uint32_t device = numa_first_far(numa, timeline_devices(timeline));
    if (device < timeline_devices(timeline))
        snprintf(text, VERDICT_SEEN,
                 "the buffers are on node %d, and device %" PRIu32
                 " is near node %d: numactl --cpunodebind=%d --membind=%d",
                 numa->buffers.node, device, numa->devices[device].node,
                 numa->devices[device].node, numa->devices[device].node);
}

/* Writes what was seen, and returns what it is worth: certain where it is the cause itself,
 * likely where it is a pattern that has this cause in the simulator, too. */
static enum evidence see(const struct verdict_case *facts, const struct sight *sight,
                         struct verdict *verdict)
{
    const struct plan *plan = facts->plan;
    char *text = verdict->seen, a[UNITS_TEXT], b[UNITS_TEXT], of[32] = "";
    const size_t room = sizeof verdict->seen;
    int64_t apart_ns = sight->cpu_end_ns - sight->gpu_end_ns;
    int64_t work_ns = sight->copies > 0 ? later(sight->first_in_ns, sight->last_out_ns)
                                        : sight->first_kernel_ns;
    switch (verdict->code) {
    case VERDICT_MISSING_WAIT:
        snprintf(text, room, "the plan orders these ops by no stream, event or call");
        return EVIDENCE_CERTAIN;
    case VERDICT_PAGEABLE_MEMORY:
        snprintf(text, room, "all %" PRIu32 " copies are from or to pageable memory",
                 sight->copies);
        return EVIDENCE_CERTAIN;
    case VERDICT_MAPPED_MEMORY:
        snprintf(text, room, "%" PRIu32 " kernels read and write the host's arrays themselves",
                 sight->kernels);
        return EVIDENCE_CERTAIN;
    case VERDICT_MANAGED_MEMORY:
        if (sight->copies > 0)
            snprintf(text, room, "%" PRIu32 " prefetches move pages of managed memory",
                     sight->copies);
        else
            snprintf(text, room, "%" PRIu32 " kernels work on managed memory", sight->kernels);
        return EVIDENCE_CERTAIN;
    case VERDICT_PAGE_FAULTS:
        snprintf(text, room,
                 "%" PRIu32 " kernels work on managed memory that nobody prefetched",
                 sight->kernels);
        return EVIDENCE_CERTAIN;
    case VERDICT_LEGACY_STREAM:
        snprintf(text, room,
                 "stream %" PRIu32 " is the legacy default stream: %" PRIu32
                 " kernels ran there",
                 sight->legacy_stream, sight->legacy_kernels);
        return EVIDENCE_CERTAIN;
    case VERDICT_BLOCKING_STREAM:
        snprintf(text, room,
                 "stream %" PRIu32 " is the legacy default stream: %" PRIu32
                 " memsets ran there, and the other streams are blocking",
                 sight->legacy_stream, sight->legacy_memsets);
        return EVIDENCE_CERTAIN;
    case VERDICT_MEMSET_IN_LOOP:
        snprintf(text, room, "%" PRIu32 " memsets between the tiles' copies", sight->memsets);
        return EVIDENCE_CERTAIN;
    case VERDICT_SYNC_IN_LOOP:
        snprintf(text, room, "%" PRIu32 " calls that wait for the device", sight->syncs);
        return EVIDENCE_CERTAIN;
    case VERDICT_ALLOC_IN_LOOP:
    case VERDICT_ALLOC_IN_STREAM:
    case VERDICT_PINNED_ALLOC_IN_LOOP:
    case VERDICT_PIN_IN_RUN:
        snprintf(text, room, "%" PRIu32 " allocation%s of %s in all", sight->allocs,
                 sight->allocs == 1 ? "" : "s", units_bytes(sight->alloc_bytes, a));
        return EVIDENCE_CERTAIN;
    case VERDICT_TIME_SLICES:
        snprintf(text, room, "%" PRIu32 " kernels of %" PRIu32 " processes; a change takes %s",
                 sight->kernels, plan_devices(facts->plan),
                 units_time(facts->machine->context_switch_ns, a));
        return EVIDENCE_CERTAIN;
    case VERDICT_LAUNCH_BLOCKING:
        snprintf(text, room, "%" PRIu32 " launches returned only when their kernel had ended",
                 sight->kernels);
        return EVIDENCE_CERTAIN;
    case VERDICT_SLOW_CALLBACK:
        snprintf(text, room, "%" PRIu32 " callbacks that took %s in all", sight->callbacks,
                 units_time(sight->callbacks_ns, a));
        return EVIDENCE_CERTAIN;
    case VERDICT_LAZY_LOADING:
        snprintf(text, room, "one launch's call took %s", units_time(sight->first_call_ns, a));
        return plan->loads_lazily ? EVIDENCE_CERTAIN : EVIDENCE_LIKELY;
    case VERDICT_ONE_STREAM:
        snprintf(text, room, "the tiles' %" PRIu32 " copies and %" PRIu32 " kernels are in %s",
                 sight->copies, sight->kernels,
                 plan->streams == 1                    ? "one stream"
                 : plan->streams <= plan_devices(plan) ? "one stream of each device"
                                                       : "one order");
        return EVIDENCE_CERTAIN;
    case VERDICT_FEW_STREAMS:
        snprintf(text, room,
                 "%" PRIu32 " tiles share %" PRIu32 " streams and %" PRIu32 " buffers",
                 plan->tiles - plan->cpu_tiles, plan->streams, plan->slots);
        return EVIDENCE_LIKELY;
    case VERDICT_NEEDLESS_WAIT:
        snprintf(text, room, "kernels wait until all tiles have been copied in");
        return EVIDENCE_CERTAIN;
    case VERDICT_ONE_COPY_ENGINE:
        snprintf(text, room, "this GPU has one copy engine, for %" PRIu32 " copies in and out",
                 sight->copies);
        return EVIDENCE_LIKELY;
    case VERDICT_ONE_QUEUE:
    case VERDICT_FEW_QUEUES:
        snprintf(text, room, "%" PRIu32 " streams share %" PRIu32 " hardware queue%s",
                 plan->streams, facts->machine->queues, facts->machine->queues == 1 ? "" : "s");
        return EVIDENCE_LIKELY;
    case VERDICT_LATE_SIGNAL:
        snprintf(text, room, "%" PRIu32 " kernels back to back on compute capability %.1f",
                 sight->kernels, facts->machine->compute_capability);
        return EVIDENCE_LIKELY;
    case VERDICT_PRIORITY_INVERSION:
        snprintf(text, room, "the streams have unlike priorities");
        return EVIDENCE_LIKELY;
    case VERDICT_FEW_TILES:
        if (sight->copies == 0)
            return EVIDENCE_LIKELY;
        if (plan->batch > 1)
            snprintf(of, sizeof of, " in batches of %" PRIu32, plan->batch);
        snprintf(text, room,
                 "%" PRIu32 " tile%s%s: the first copy in takes %s, the last copy "
                 "out %s",
                 plan->tiles, plan->tiles == 1 ? "" : "s", of,
                 units_time(sight->first_in_ns, a), units_time(sight->last_out_ns, b));
        return EVIDENCE_LIKELY;
    case VERDICT_SMALL_TILES:
        see_small_tiles(facts, sight, work_ns, text);
        return EVIDENCE_LIKELY;
    case VERDICT_HOST_EXCHANGE:
        snprintf(text, room,
                 "%" PRIu32 " copies out into the host's memory and as many in from there hand "
                 "%s on",
                 sight->exchanges, units_bytes(sight->exchanged_bytes, a));
        return EVIDENCE_CERTAIN;
    case VERDICT_SLOW_PEERS:
        snprintf(text, room, "%" PRIu32 " copies from device to device took %s in all",
                 sight->peers, units_time(sight->peers_ns, a));
        return EVIDENCE_CERTAIN;
    case VERDICT_BARE_EXCHANGE:
        snprintf(text, room,
                 "%" PRIu32 " copies from device to device took %s in all, behind the steps "
                 "that they are from",
                 sight->peers, units_time(sight->peers_ns, a));
        return EVIDENCE_CERTAIN;
    case VERDICT_LONG_EXCHANGE:
        if (sight->handed == 0)
            return EVIDENCE_LIKELY;
        snprintf(text, room,
                 "from the end of a step's kernel to the next one's start there are %s, "
                 "with the copy between them, and a step's largest kernel takes %s",
                 units_time(sight->handed_ns / sight->handed, a),
                 units_time(sight->most_kernel_ns, b));
        return EVIDENCE_CERTAIN;
    case VERDICT_ROW_COPIES:
        snprintf(text, room,
                 "%" PRIu32 " copies, each of one row of %s, where %" PRIu32 " tiles have all",
                 sight->copies, units_bytes(sight->row_bytes, a), plan->tiles);
        return EVIDENCE_CERTAIN;
    case VERDICT_NARROW_ROWS:
        snprintf(text, room,
                 "rows of %s were copied in at %.3g GB/s and out at %.3g while copies ran, %s "
                 "apart",
                 units_bytes(sight->row_bytes, a),
                 sight->in_bytes / fmax(1, (double)sight->in_ns),
                 sight->out_bytes / fmax(1, (double)sight->out_ns),
                 units_bytes(plan->tiles * sight->row_bytes, b));
        return EVIDENCE_CERTAIN;
    case VERDICT_PACKING:
        snprintf(text, room,
                 "%" PRIu32 " tiles in batches of %" PRIu32
                 ": the CPU packed and unpacked for %s, and waited for copies for %s",
                 plan->tiles, plan->batch, units_time(sight->packs_ns, a),
                 units_time(sight->syncs_ns, b));
        return EVIDENCE_CERTAIN;
    case VERDICT_GRAPH_LAUNCH:
        snprintf(text, room, "one call launched %" PRIu32 " ops as a graph", plan->op_count);
        return EVIDENCE_LIKELY;
    case VERDICT_FULL_GPU:
    case VERDICT_FEW_BLOCKS:
        snprintf(text, room,
                 "launches have up to %" PRIu32 " blocks, and the GPU holds %" PRIu32
                 " at once",
                 sight->most_blocks, machine_resident_blocks(facts->machine));
        return verdict->code == VERDICT_FEW_BLOCKS ? EVIDENCE_CERTAIN : EVIDENCE_LIKELY;
    case VERDICT_CPU_SHARE:
        snprintf(text, room,
                 "the CPU, with %" PRIu32 " of %" PRIu32 " tiles, ended %s %s the "
                 "GPU",
                 plan->cpu_tiles, plan->tiles,
                 units_time(apart_ns < 0 ? -apart_ns : apart_ns, a),
                 apart_ns < 0 ? "before" : "after");
        return EVIDENCE_CERTAIN;
    case VERDICT_FAR_MEMORY:
        see_far_memory(facts->timeline, text);
        return EVIDENCE_CERTAIN;
    case VERDICT_SLOW_COPIES:
    case VERDICT_SLOW_KERNELS:
        snprintf(text, room, "they took longer than the work at the machine's full rate");
        return EVIDENCE_LIKELY;
    case VERDICT_SLOW_READS:
        snprintf(text, room, "copies in had %.3g GB/s each while they ran, copies out %.3g",
                 sight->in_bytes / fmax(1, (double)sight->in_ns),
                 sight->out_bytes / fmax(1, (double)sight->out_ns));
        return EVIDENCE_CERTAIN;
    case VERDICT_SHORT_RUN:
        snprintf(text, room,
                 "an array sixteen times as large takes less time for each element");
        return EVIDENCE_LIKELY;
    default:
        return EVIDENCE_UNKNOWN;
    }
}

void verdict_see(const struct verdict_case *facts, struct verdict *verdict)
{
    const struct sight sight = sight_of(facts);
    verdict->evidence = see(facts, &sight, verdict);
}
