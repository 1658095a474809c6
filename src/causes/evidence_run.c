/* evidence_run.c - what was seen of a cause in a run of our own, in words: those of its row,
 * with figures of the run, or of the function that its row names. */
#include "causes/evidence.h"
#include "core/units.h"
#include "plan/host_layout.h"
#include "plan/rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- looking --- */

static void see_op(const struct plan *plan, const struct op *op, struct sight *sight)
{
    bool legacy = plan_stream_kind(plan, op->stream) == STREAM_LEGACY;
    sight->copies += op_is_copy(op->kind);
    sight->kernels += op->kind == OP_KERNEL;
    sight->memsets += op->kind == OP_MEMSET;
    sight->syncs += op_is_sync(op->kind);
    sight->callbacks += op->kind == OP_CALLBACK;
    sight->peers += op->kind == OP_PEER;
    if (op->kind == OP_D2H && op->copy.host.buffer == BUFFER_HOST_EXCHANGE) {
        sight->exchanges++;
        sight->exchanged_bytes += (double)op_bytes(op);
    }
    if (op->kind == OP_H2D)
        sight->row_bytes = (double)host_layout_rows(plan, &op->copy.host).bytes;
    sight->most_copies = fmax(sight->most_copies, rule_copies(plan, op));
    if (op->kind == OP_ALLOC && op->alloc.action != ALLOC_GIVE) {
        sight->allocs++;
        sight->alloc_bytes += (double)op->alloc.bytes;
    }
    if (op->kind == OP_KERNEL)
        sight->most_blocks = fmax(sight->most_blocks, op->kernel.blocks);
    if (!legacy || !op_on_device(op->kind))
        return;
    sight->legacy_stream = op->stream;
    sight->legacy_kernels += op->kind == OP_KERNEL;
    sight->legacy_memsets += op->kind == OP_MEMSET;
}

static void see_kernel(const struct op *op, double length_ns, struct sight *sight)
{
    if (sight->first_kernel_ns == 0)
        sight->first_kernel_ns = length_ns;
    if ((double)op->kernel.count > sight->most_elements) {
        sight->most_elements = (double)op->kernel.count;
        sight->most_kernel_ns = length_ns;
    }
}

static void see_span(const struct verdict_case *facts, const struct span *span,
                     struct sight *sight)
{
    const struct timeline *timeline = facts->timeline;
    const double length_ns = (double)(span->end_ns - span->start_ns);
    if (span->kind == OP_CALLBACK)
        sight->callbacks_ns += length_ns;
    if (span->kind == OP_PEER)
        sight->peers_ns += length_ns;
    if (span->kind == OP_PACK)
        sight->packs_ns += length_ns;
    if (op_is_sync(span->kind))
        sight->syncs_ns += length_ns;
    if (span->kind == OP_CPU)
        sight->cpu_end_ns = fmax(sight->cpu_end_ns, (double)span->end_ns);
    else if (op_on_device(span->kind))
        sight->gpu_end_ns = fmax(sight->gpu_end_ns, (double)span->end_ns);
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
        sight->first_call_ns =
            fmax(sight->first_call_ns,
                 (double)(timeline->issue_ns[span->op + 1] - timeline->issue_ns[span->op]));
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
    sight->all_handed_ns += (double)(spans[index].start_ns - spans[sender].end_ns);
}

static struct sight sight_of(const struct judge *judge)
{
    const struct verdict_case *facts = judge->facts;
    const struct plan *plan = facts->plan;
    struct sight sight = {
        .judge = judge,
        .tiles = plan->tiles,
        .gpu_tiles = plan->tiles - plan->cpu_tiles,
        .cpu_tiles = plan->cpu_tiles,
        .batch = plan->batch,
        .streams = plan->streams,
        .slots = plan->slots,
        .queues = facts->machine->queues,
        .devices = plan_devices(plan),
        .ops = plan->op_count,
        .steps = plan->params.steps > 0 ? plan->params.steps : 1,
        .resident_blocks = machine_resident_blocks(facts->machine),
        .switch_ns = (double)facts->machine->context_switch_ns,
        .gap_ns = (double)facts->machine->batch_gap_ns,
    };
    for (uint32_t i = 0; i < plan->op_count; i++)
        see_op(plan, &plan->ops[i], &sight);
    for (uint32_t i = 0; i < facts->timeline->span_count; i++) {
        see_span(facts, &facts->timeline->spans[i], &sight);
        see_handing_over(facts, i, &sight);
    }
    sight.step_ops = ceil((sight.kernels + sight.peers) / sight.steps);
    sight.apart_bytes = plan->tiles * sight.row_bytes;
    sight.apart_ns = fabs(sight.cpu_end_ns - sight.gpu_end_ns);
    sight.handed_ns = floor(sight.all_handed_ns / fmax(1, sight.handed));
    sight.in_rate = sight.in_bytes / fmax(1, sight.in_ns);
    sight.out_rate = sight.out_bytes / fmax(1, sight.out_ns);
    sight.work_ns =
        sight.copies > 0 ? fmax(sight.first_in_ns, sight.last_out_ns) : sight.first_kernel_ns;
    return sight;
}

/* --- the functions that rows name --- */

/* Says what the row has. */
static enum evidence row(struct sight *sight)
{
    const struct verdict_row *row = &verdict_rows[sight->verdict->code];
    return sight_say(sight, row->evidence, row->seen != NULL ? row->seen : "");
}

static enum evidence managed(struct sight *sight)
{
    return sight_say(sight, EVIDENCE_CERTAIN,
                     sight->copies > 0 ? "{copies} prefetches move pages of managed memory"
                                       : "{kernels} kernels work on managed memory");
}

/* A call that took long is certain to have loaded code only where nothing was loaded before. */
static enum evidence loading(struct sight *sight)
{
    (void)row(sight);
    return sight->judge->facts->plan->loads_lazily ? EVIDENCE_CERTAIN : EVIDENCE_LIKELY;
}

static enum evidence one_stream(struct sight *sight)
{
    sight->also = sight->streams == 1                ? "one stream"
                  : sight->streams <= sight->devices ? "one stream of each device"
                                                     : "one order";
    return sight_say(sight, EVIDENCE_CERTAIN,
                     "the tiles' {copies} copies and {kernels:kernel|kernels} are in {also}");
}

static enum evidence few_tiles(struct sight *sight)
{
    if (sight->copies == 0)
        return EVIDENCE_LIKELY;
    return sight_say(
        sight, EVIDENCE_LIKELY,
        sight->batch > 1
            ? "{tiles:tile|tiles} in batches of {batch}: the first copy in takes "
              "{first_in_ns}, the last copy out {last_out_ns}"
            : "{tiles:tile|tiles}: the first copy in takes {first_in_ns}, the last copy "
              "out {last_out_ns}");
}

/* That tiles are small is seen in what depends on the way that they go. */
static enum evidence small_tiles(struct sight *sight)
{
    const struct plan *plan = sight->judge->facts->plan;
    const bool copies = sight->copies > 0;
    const char *words =
        plan->has_halo ? "{steps} steps, for each of which the host issues {step_ops} launches "
                         "and copies, and their events; a step's largest kernel takes "
                         "{most_kernel_ns}"
        : plan->batch <= 1 && copies ? "{tiles} tiles, each with ops of its own to issue, of "
                                       "which a copy takes {work_ns}"
        : plan->batch <= 1 ? "{tiles} tiles, each with ops of its own to issue, of which a "
                             "kernel takes {work_ns}"
        : sight->most_copies > 1 ? "{tiles} tiles, copied in batches of {batch}, of which one "
                                   "takes {work_ns}; from a "
                                   "tile to the next an engine takes {gap_ns}"
        : plan->packs && copies
            ? "{tiles} tiles, packed in batches of {batch}, of which a copy takes {work_ns}"
        : plan->packs
            ? "{tiles} tiles, packed in batches of {batch}, of which a kernel takes {work_ns}"
        : copies ? "{tiles} tiles in batches of {batch}, of which a copy takes {work_ns}"
                 : "{tiles} tiles in batches of {batch}, of which a kernel takes {work_ns}";
    return sight_say(sight, EVIDENCE_LIKELY, words);
}

static enum evidence late_signal(struct sight *sight)
{
    snprintf(sight->verdict->seen, sizeof sight->verdict->seen,
             "%.0f kernels back to back on compute capability %.1f", sight->kernels,
             sight->judge->facts->machine->compute_capability);
    return EVIDENCE_LIKELY;
}

static enum evidence long_exchange(struct sight *sight)
{
    return sight->handed > 0 ? row(sight) : EVIDENCE_LIKELY;
}

static enum evidence cpu_share(struct sight *sight)
{
    return sight_say(
        sight, EVIDENCE_CERTAIN,
        sight->cpu_end_ns < sight->gpu_end_ns
            ? "the CPU, with {cpu_tiles} of {tiles} tiles, ended {apart_ns} before the GPU"
            : "the CPU, with {cpu_tiles} of {tiles} tiles, ended {apart_ns} after the GPU");
}

static enum evidence far_memory(struct sight *sight)
{
    const struct timeline *timeline = sight->judge->facts->timeline;
    const struct numa_seen *numa = &timeline->numa;
    const uint32_t device = numa_first_far(numa, timeline_devices(timeline));
    if (device < timeline_devices(timeline))
        snprintf(sight->verdict->seen, sizeof sight->verdict->seen,
                 "the buffers are on node %d, and device %" PRIu32
                 " is near node %d: numactl --cpunodebind=%d --membind=%d",
                 numa->buffers.node, device, numa->devices[device].node,
                 numa->devices[device].node, numa->devices[device].node);
    return EVIDENCE_CERTAIN;
}

/* Says where a time comes from that nothing explains, and what would tell more. */
static enum evidence unexplained(struct sight *sight)
{
    const struct judge *judge = sight->judge;
    char time[UNITS_TEXT];
    int64_t least_ns = judge->found.better_ns;
    for (int i = 0; i < judge->found.count; i++)
        least_ns = earlier(least_ns, judge->found.knobs[i].fixed_ns);
    if (!judge->tried)
        snprintf(sight->verdict->seen, sizeof sight->verdict->seen,
                 judge->facts->model == NULL
                     ? "no machine file stands for this device, so no fix could be tried: name "
                       "one by --machine, or make one by pipeline calibrate"
                     : "there are too many ops to try fixes in a reasonable time");
    else if (judge->facts->timeline->timing == TIMING_VIRTUAL)
        snprintf(sight->verdict->seen, sizeof sight->verdict->seen,
                 "the best settings that were tried take %s", units_time(least_ns, time));
    else
        snprintf(sight->verdict->seen, sizeof sight->verdict->seen,
                 "the simulator gives this run %s: pipeline compare shows where they part",
                 units_time(judge->found.given_ns, time));
    return EVIDENCE_UNKNOWN;
}

static enum evidence (*const functions[VERDICT_COUNT])(struct sight *sight) = {
#define ROW(code, name, run, ...) [VERDICT_##code] = run,
#include "causes/verdicts.def"
#undef ROW
};

void evidence_run(const struct judge *judge, struct verdict items[], int count)
{
    struct sight sight = sight_of(judge);
    for (int i = 0; i < count; i++) {
        sight.verdict = &items[i];
        items[i].evidence = functions[items[i].code](&sight);
    }
}
