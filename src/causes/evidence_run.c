/* evidence_run.c - what was seen of a cause in a run of our own, in words: those of its row,
 * with figures of the run, or of the function that its row names. */
#include "causes/judge.h"
#include "core/units.h"
#include "plan/host_layout.h"
#include "plan/rules.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Figures of what a plan has and of what its timeline shows, by which a row's words may name
 * them: counts, and by their names' ends times, bytes and rates. */
/* clang-format off */
#define FIGURES(X)                                                                             \
    X(copies) X(kernels) X(memsets) X(syncs) X(allocs) X(callbacks) X(peers)                   \
    X(tiles) X(gpu_tiles) X(cpu_tiles) X(batch) X(streams) X(slots) X(queues) X(devices) X(ops)\
    X(legacy_stream) X(legacy_kernels) X(legacy_memsets)                                       \
    X(steps) X(step_ops) /* and the launches and copies of each */                             \
    X(most_blocks) X(resident_blocks) /* of a launch, and of the GPU */                        \
    X(exchanges) X(exchanged_bytes) /* copies out by which devices hand tiles on */            \
    X(alloc_bytes)                                                                             \
    X(row_bytes) X(apart_bytes) /* of a copy in, where tiles are columns */                    \
    X(callbacks_ns) X(peers_ns) /* of all of them */                                           \
    X(packs_ns) X(syncs_ns) /* of all the host's packing and waiting */                        \
    X(apart_ns) /* between the last ends of the CPU and of the GPU */                          \
    X(handed_ns) /* from a kernel by a copy to another device's kernel, on average */          \
    X(in_rate) X(out_rate) /* of all copies in and out, in GB/s */                             \
    X(first_in_ns) X(last_out_ns) /* lengths of the first copy in and the last copy out */     \
    X(work_ns) /* of a tile: its longer copy, or its kernel where none has any */              \
    X(most_kernel_ns) /* how long the first launch of the most elements took */                \
    X(first_call_ns) /* the longest call of a launch */                                        \
    X(switch_ns) X(gap_ns)
/* clang-format on */

struct sight {
    const struct judge *judge;
    const struct verdict_case *facts;
#define FIGURE(name) double name;
    FIGURES(FIGURE)
#undef FIGURE
    double most_copies;            /* that one op is made of */
    double gpu_end_ns, cpu_end_ns; /* the last ends */
    double handed, all_handed_ns;  /* from kernels by copies between devices to kernels */
    double in_bytes, in_ns, out_bytes, out_ns;
    double first_kernel_ns, most_elements;
};

static const struct figure {
    const char *name;
    size_t offset;
} figures[] = {
#define FIGURE(member) {#member, offsetof(struct sight, member)},
    FIGURES(FIGURE)
#undef FIGURE
};

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
        .facts = facts,
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

/* --- words --- */

/* Sets *value to a figure that words name; returns false where there is none of that name. */
static bool find_figure(const struct sight *sight, const char *name, size_t length,
                        double *value)
{
    EACH (const struct figure, figure, figures, sizeof figures / sizeof figures[0]) {
        if (strlen(figure->name) != length || memcmp(figure->name, name, length) != 0)
            continue;
        memcpy(value, (const char *)sight + figure->offset, sizeof *value);
        return true;
    }
    return false;
}

/* Writes a figure, and behind a count its words, if it has any: {queues:queue|queues}. A test
 * holds that no row names a figure that is not there. */
static void put_figure(const struct sight *sight, const char *name, char *text, size_t room)
{
    const size_t length = strcspn(name, ":}"), first = strcspn(name, "|}");
    double value;
    char unit[UNITS_TEXT];
    if (!find_figure(sight, name, length, &value))
        snprintf(text, room, "?");
    else if (name[length] == ':' && value == 1)
        snprintf(text, room, "1 %.*s", (int)(first - length - 1), name + length + 1);
    else if (name[length] == ':')
        snprintf(text, room, "%.0f %.*s", value, (int)strcspn(name + first + 1, "}"),
                 name + first + 1);
    else if (length > 3 && memcmp(name + length - 3, "_ns", 3) == 0)
        snprintf(text, room, "%s", units_time((int64_t)value, unit));
    else if (length > 6 && memcmp(name + length - 6, "_bytes", 6) == 0)
        snprintf(text, room, "%s", units_bytes((uint64_t)value, unit));
    else if (length > 5 && memcmp(name + length - 5, "_rate", 5) == 0)
        snprintf(text, room, "%.3g", value);
    else
        snprintf(text, room, "%.0f", value);
}

/* Writes words whose figures are in braces. */
static enum evidence say(const struct sight *sight, enum evidence evidence, const char *words,
                         struct verdict *verdict)
{
    size_t used = 0;
    while (*words != '\0' && used + 1 < sizeof verdict->seen) {
        const size_t length = strcspn(words + 1, "}");
        if (*words == '{')
            put_figure(sight, words + 1, verdict->seen + used, sizeof verdict->seen - used);
        else
            snprintf(verdict->seen + used, sizeof verdict->seen - used, "%c", *words);
        words += *words == '{' ? length + 2 : 1;
        used += strlen(verdict->seen + used);
    }
    return evidence;
}

/* --- the functions that rows name --- */

/* Says what the row has. */
static enum evidence row(const struct sight *sight, struct verdict *verdict)
{
    const struct verdict_row *row = &verdict_rows[verdict->code];
    return say(sight, row->evidence, row->seen != NULL ? row->seen : "", verdict);
}

static enum evidence managed(const struct sight *sight, struct verdict *verdict)
{
    return say(sight, EVIDENCE_CERTAIN,
               sight->copies > 0 ? "{copies} prefetches move pages of managed memory"
                                 : "{kernels} kernels work on managed memory",
               verdict);
}

/* A call that took long is certain to have loaded code only where nothing was loaded before. */
static enum evidence loading(const struct sight *sight, struct verdict *verdict)
{
    (void)row(sight, verdict);
    return sight->facts->plan->loads_lazily ? EVIDENCE_CERTAIN : EVIDENCE_LIKELY;
}

static enum evidence one_stream(const struct sight *sight, struct verdict *verdict)
{
    (void)say(sight, EVIDENCE_CERTAIN,
              "the tiles' {copies} copies and {kernels:kernel|kernels} are in ", verdict);
    text_add(verdict->seen, sizeof verdict->seen, "", "%s",
             sight->streams == 1                ? "one stream"
             : sight->streams <= sight->devices ? "one stream of each device"
                                                : "one order");
    return EVIDENCE_CERTAIN;
}

static enum evidence few_tiles(const struct sight *sight, struct verdict *verdict)
{
    if (sight->copies == 0)
        return EVIDENCE_LIKELY;
    return say(sight, EVIDENCE_LIKELY,
               sight->batch > 1
                   ? "{tiles:tile|tiles} in batches of {batch}: the first copy in takes "
                     "{first_in_ns}, the last copy out {last_out_ns}"
                   : "{tiles:tile|tiles}: the first copy in takes {first_in_ns}, the last copy "
                     "out {last_out_ns}",
               verdict);
}

/* That tiles are small is seen in what depends on the way that they go. */
static enum evidence small_tiles(const struct sight *sight, struct verdict *verdict)
{
    const struct plan *plan = sight->facts->plan;
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
    return say(sight, EVIDENCE_LIKELY, words, verdict);
}

static enum evidence late_signal(const struct sight *sight, struct verdict *verdict)
{
    snprintf(verdict->seen, sizeof verdict->seen,
             "%.0f kernels back to back on compute capability %.1f", sight->kernels,
             sight->facts->machine->compute_capability);
    return EVIDENCE_LIKELY;
}

static enum evidence long_exchange(const struct sight *sight, struct verdict *verdict)
{
    return sight->handed > 0 ? row(sight, verdict) : EVIDENCE_LIKELY;
}

static enum evidence cpu_share(const struct sight *sight, struct verdict *verdict)
{
    return say(
        sight, EVIDENCE_CERTAIN,
        sight->cpu_end_ns < sight->gpu_end_ns
            ? "the CPU, with {cpu_tiles} of {tiles} tiles, ended {apart_ns} before the GPU"
            : "the CPU, with {cpu_tiles} of {tiles} tiles, ended {apart_ns} after the GPU",
        verdict);
}

static enum evidence far_memory(const struct sight *sight, struct verdict *verdict)
{
    const struct timeline *timeline = sight->facts->timeline;
    const struct numa_seen *numa = &timeline->numa;
    const uint32_t device = numa_first_far(numa, timeline_devices(timeline));
    if (device < timeline_devices(timeline))
        snprintf(verdict->seen, sizeof verdict->seen,
                 "the buffers are on node %d, and device %" PRIu32
                 " is near node %d: numactl --cpunodebind=%d --membind=%d",
                 numa->buffers.node, device, numa->devices[device].node,
                 numa->devices[device].node, numa->devices[device].node);
    return EVIDENCE_CERTAIN;
}

/* Says where a time comes from that nothing explains, and what would tell more. */
static enum evidence unexplained(const struct sight *sight, struct verdict *verdict)
{
    const struct judge *judge = sight->judge;
    char time[UNITS_TEXT];
    int64_t least_ns = judge->found.better_ns;
    for (int i = 0; i < judge->found.count; i++)
        least_ns = earlier(least_ns, judge->found.knobs[i].fixed_ns);
    if (!judge->tried)
        snprintf(verdict->seen, sizeof verdict->seen,
                 judge->facts->model == NULL
                     ? "no machine file stands for this device, so no fix could be tried: name "
                       "one by --machine, or make one by pipeline calibrate"
                     : "there are too many ops to try fixes in a reasonable time");
    else if (judge->facts->timeline->timing == TIMING_VIRTUAL)
        snprintf(verdict->seen, sizeof verdict->seen,
                 "the best settings that were tried take %s", units_time(least_ns, time));
    else
        snprintf(verdict->seen, sizeof verdict->seen,
                 "the simulator gives this run %s: pipeline compare shows where they part",
                 units_time(judge->found.given_ns, time));
    return EVIDENCE_UNKNOWN;
}

static enum evidence (*const functions[VERDICT_COUNT])(const struct sight *sight,
                                                       struct verdict *verdict) = {
#define ROW(code, name, run, ...) [VERDICT_##code] = run,
#include "causes/verdicts.def"
#undef ROW
};

void evidence_run(const struct judge *judge, struct verdict items[], int count)
{
    const struct sight sight = sight_of(judge);
    for (int i = 0; i < count; i++)
        items[i].evidence = functions[items[i].code](&sight, &items[i]);
}
