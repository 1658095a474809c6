/* mistake.c - the table of mistakes, and what each does to a plan. */
#include "plan/mistake.h"

#include "core/names.h"
#include "plan/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OTHER_BYTES = 4 << 10,   /* of the device, for code that is no part of the pipeline */
    SLEEP_LEAST_NS = 200000, /* of a slow callback */
    SLEEP_COPIES = 2,        /* as many times as long as its tile's copies it takes */
    FIRST_TILE = 0,
    NO_TILE = -1,
};

/* Appends an op of the step that is under way, and notes it in the plan's loops. */
static void append(struct plan_mistake *mistake, const struct op *op)
{
    struct loop_item item = {.kind = op->kind};
    if (op->kind == OP_MEMSET && op->set.range.buffer == BUFFER_DEVICE_OTHER)
        item.buffer = BUFFER_DEVICE_OTHER;
    loops_note(mistake->plan->loops, item);
    if (mistake->error->status == STATUS_OK)
        plan_append(mistake->plan, op, mistake->error);
}

static void refuse(const struct plan_mistake *mistake, const char *remedy)
{
    error_set(mistake->error, STATUS_USAGE, "--mistake=%s: %s", mistake->row->name, remedy);
}

/* A refusal says what to give where a setting stands in the way: `words`, if that is `wanted`.
 */
struct remedy {
    bool wanted;
    const char *words;
};

/* Refuses, and says what has to be given beside what was: all that is wanted, or `otherwise`,
 * which alone would do, too. */
static void refuse_wanting(const struct plan_mistake *mistake, const char *why,
                           const struct remedy remedies[], int count, struct remedy otherwise)
{
    char text[320];
    size_t length = (size_t)snprintf(text, sizeof text, "%s: use ", why);
    const char *between = "";
    for (int i = 0; i < count; i++) {
        if (!remedies[i].wanted)
            continue;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", between,
                                   remedies[i].words);
        between = " and ";
    }
    if (otherwise.wanted)
        snprintf(text + length, sizeof text - length, ", or %s", otherwise.words);
    refuse(mistake, text);
}

static const char SOME_WAYS[] = "--ways=2 or 3"; /* a scan has no more */

/* With a stream for each stage, of which copies have some, kernels wait for copies. */
static void refuse_no_wait(const struct plan_mistake *mistake)
{
    const struct settings *settings = mistake->settings;
    const struct remedy remedies[] = {
        {settings->memory == MEMORY_MAPPED, "--memory=pinned"},
        {settings->layout != LAYOUT_STAGE, "--layout=stage"},
        {settings->ways == 1, SOME_WAYS},
    };
    refuse_wanting(mistake,
                   "with these settings no kernel waits for a copy in another stream, so "
                   "there is no wait to leave out",
                   remedies, sizeof remedies / sizeof remedies[0],
                   (struct remedy){false, NULL});
}

/* A stream for each stage is several, unless there are no copies; else it takes several tiles,
 * and streams for them. Serial has one stream, whatever was given. */
static void refuse_one_stream(const struct plan_mistake *mistake)
{
    const struct settings *settings = mistake->settings;
    const struct plan *plan = mistake->plan;
    const bool serial = settings->ways == 1, mapped = settings->memory == MEMORY_MAPPED;
    const bool staged = settings->layout == LAYOUT_STAGE, by_stage = staged && !mapped;
    const struct remedy remedies[] = {
        {staged && mapped, "--layout=tile"},
        {!by_stage && plan->tiles == 1, "--tiles=2 or more"},
        {!by_stage && plan->tiles > 1 && plan_batches(plan) == 1, "a smaller --cpu-share"},
        {!by_stage && !serial && settings->streams == 1, "--streams=2 or more"},
        {serial, SOME_WAYS},
    };
    refuse_wanting(mistake, "with one stream nothing overlaps anyway", remedies,
                   sizeof remedies / sizeof remedies[0],
                   (struct remedy){!serial && !staged && !mapped, "--layout=stage"});
}

/* --- memory and callbacks --- */

static void shape_pageable(struct plan_mistake *mistake)
{
    if (mistake->plan->memory == MEMORY_MAPPED)
        refuse(mistake, "mapped memory is page-locked by nature: use --memory=pinned or "
                        "--memory=registered");
    mistake->plan->memory = MEMORY_PAGEABLE;
}

static void shape_slow_callback(struct plan_mistake *mistake)
{
    const struct machine *machine = mistake->machine;
    const struct placement *placement = mistake->placement;
    const struct tiles first = plan_batch(mistake->plan, 0);
    double copies_ns =
        machine_copy_ns(machine, 0, placement_part(placement, PART_OUT, first).host.bytes);
    for (int input = 0; input < placement->inputs; input++)
        copies_ns += machine_copy_ns(
            machine, 1, placement_part(placement, (enum part)input, first).host.bytes);
    mistake->sleep_ns = machine_round_ns(SLEEP_COPIES * copies_ns);
    if (mistake->sleep_ns < SLEEP_LEAST_NS)
        mistake->sleep_ns = SLEEP_LEAST_NS;
}

/* --- streams --- */

/* Makes the legacy default stream one more, or `legacy` where that is one, and all others
 * blocking. */
static void take_legacy_stream(struct plan_mistake *mistake, int32_t *legacy)
{
    struct plan *plan = mistake->plan;
    if (*legacy == MISTAKE_NO_STREAM)
        *legacy = (int32_t)plan->streams++;
    plan->stream_kinds = malloc(plan->streams);
    if (plan->stream_kinds == NULL) {
        error_no_memory(mistake->error, "for %" PRIu32 " streams", plan->streams);
        return;
    }
    memset(plan->stream_kinds, STREAM_BLOCKING, plan->streams);
    plan->stream_kinds[*legacy] = STREAM_LEGACY;
}

/* With a stream per stage the kernels have one to themselves already. */
static void shape_legacy_stream(struct plan_mistake *mistake)
{
    enum { ONLY_STREAM, KERNEL_STAGE_STREAM };
    if (mistake->settings->layout == LAYOUT_STAGE)
        mistake->kernel_stream =
            mistake->plan->memory == MEMORY_MAPPED ? ONLY_STREAM : KERNEL_STAGE_STREAM;
    take_legacy_stream(mistake, &mistake->kernel_stream);
}

static void shape_blocking_stream(struct plan_mistake *mistake)
{
    mistake->plan->buffer_bytes[BUFFER_DEVICE_OTHER] = OTHER_BYTES;
    take_legacy_stream(mistake, &mistake->other_stream);
}

/* Appends something small that is no part of the pipeline, as of a library that knows no
 * streams. */
static void call_other_code(struct plan_mistake *mistake, uint32_t stream, uint32_t tile)
{
    struct op op = {
        .kind = OP_MEMSET, .stream = (uint32_t)mistake->other_stream, .tile = NO_TILE};
    (void)stream;
    (void)tile;
    op.set.range = (struct range){BUFFER_DEVICE_OTHER, 0, OTHER_BYTES};
    append(mistake, &op);
}

/* --- calls in the loop --- */

static void synchronise(struct plan_mistake *mistake, uint32_t stream, uint32_t tile)
{
    const struct op op = {.kind = OP_SYNC, .stream = stream, .tile = (int32_t)tile};
    append(mistake, &op);
}

/* Appends that memory is taken and given back. */
static void allocate(struct plan_mistake *mistake, uint64_t bytes, int32_t tile)
{
    const struct op op = {.kind = OP_ALLOC,
                          .stream = mistake->plan->streams,
                          .tile = tile,
                          .alloc = {.bytes = bytes, .pinned = mistake->row->pins}};
    append(mistake, &op);
}

static void allocate_inputs(struct plan_mistake *mistake, uint32_t stream, uint32_t tile)
{
    (void)stream;
    allocate(mistake, placement_input_bytes(mistake->placement, (struct tiles){tile, 1}),
             (int32_t)tile);
}

static void allocate_host_arrays(struct plan_mistake *mistake)
{
    allocate(mistake, plan_host_bytes(mistake->plan), NO_TILE);
}

static void shape_memsets(struct plan_mistake *mistake)
{
    if (mistake->plan->memory == MEMORY_MAPPED)
        refuse(mistake, "with mapped memory no tile is copied to the device, so there is "
                        "nothing to set: use --memory=pinned");
}

/* Sets the device's memory that the tile's copies in are about to overwrite. */
static void set_inputs(struct plan_mistake *mistake, uint32_t stream, uint32_t tile)
{
    for (int input = 0; input < mistake->placement->inputs; input++) {
        struct op op = {.kind = OP_MEMSET, .stream = stream, .tile = (int32_t)tile};
        op.set.range =
            placement_part(mistake->placement, (enum part)input, (struct tiles){tile, 1}).slot;
        append(mistake, &op);
    }
}

/* --- the table --- */

const struct mistake_row mistake_rows[] = {
    {
        .name = "none",
        .summary = "nothing is broken",
        .effect = "what a run does unless it is told otherwise",
        .shows = "no GPU",
    },
    {
        .name = "missing-wait",
        .summary = "kernels do not wait for copies that come in through another stream",
        .effect = "a race: a kernel that comes too early reads what was there before",
        .shows = "every GPU",
        .needs = "--layout=stage with --ways=2, 3 or 4, or --ways=2 with several streams",
        .races = true,
        .drops_waits = true,
    },
    {
        .name = "pageable-memory",
        .summary = "the host arrays are not page-locked",
        .effect = "the host stages each copy, slowly, and its call returns only then",
        .shows = "every GPU",
        .needs = "memory that is not mapped",
        .shape = shape_pageable,
    },
    {
        .name = "legacy-stream",
        .summary = "kernels are launched without a stream, which puts them into the legacy "
                   "default stream",
        .effect = "each waits for all copies issued before it, and holds up all issued later",
        .shows = "every GPU, where copies and kernels would overlap",
        .needs_streams = true,
        .shape = shape_legacy_stream,
    },
    {
        .name = "blocking-stream",
        .summary =
            "streams are blocking, like cudaStreamCreate()'s, and other code uses the default "
            "stream",
        .effect = "after each tile all streams wait for that code, and it for them",
        .shows = "every GPU, where copies and kernels would overlap; most in depth-first order",
        .needs_streams = true,
        .shape = shape_blocking_stream,
        .after_tile = call_other_code,
    },
    {
        .name = "sync-in-loop",
        .summary = "the host synchronises after each tile",
        .effect = "the next tile is issued only when this one is done: nothing overlaps it",
        .shows = "every GPU, where copies and kernels would overlap; most in depth-first order",
        .needs_streams = true,
        .after_tile = synchronise,
    },
    {
        .name = "alloc-in-loop",
        .summary = "device memory is taken and given back for each tile",
        .effect = "every time the host waits until the whole GPU is idle",
        .shows = "every GPU",
        .before_tile = allocate_inputs,
    },
    {
        .name = "pinned-alloc-in-loop",
        .summary = "page-locked memory is taken and given back for each tile",
        .effect = "the host is slow to issue; on old GPUs it also waits until the GPU is idle",
        .shows = "every GPU; that wait on old GPUs, by the guide (not measured)",
        .pins = true,
        .before_tile = allocate_inputs,
    },
    {
        .name = "memset-in-loop",
        .summary = "each tile's device memory is set before it is copied over",
        .effect = "nothing issued before a memset overlaps what is issued after it",
        .shows = "old GPUs, by the guide (not measured); elsewhere only more work",
        .needs = "memory that is not mapped",
        .shape = shape_memsets,
        .before_tile = set_inputs,
    },
    {
        .name = "launch-blocking",
        .summary = "CUDA_LAUNCH_BLOCKING=1 is left set, as for debugging",
        .effect = "each launch returns when its kernel has ended: what comes later is "
                  "issued late",
        .shows = "every GPU, where copies and kernels would overlap",
        .launches_block = true,
    },
    {
        .name = "slow-callback",
        .summary = "a host callback after each tile takes longer than its copies",
        .effect = "one thread of the driver runs them in turn, and their streams wait",
        .shows = "every GPU",
        .shape = shape_slow_callback,
    },
    {
        .name = "lazy-loading",
        .summary = "the first launch of each kernel is in the timed run, without a warm-up",
        .effect = "that launch also loads the kernel's code",
        .shows = "compute capability 5.0 and later: CUDA 12.2 and later load on first use",
        .loads_lazily = true,
    },
    {
        .name = "pin-in-run",
        .summary = "memory for all host arrays is page-locked within the time that counts",
        .effect = "pinning costs more than faster copies save",
        .shows = "every GPU, unless the same memory is used for many runs",
        .pins = true,
        .at_start = allocate_host_arrays,
    },
    {.name = NULL},
};

bool mistake_find(const char *name, int *mistake)
{
    for (int i = 0; mistake_rows[i].name != NULL; i++) {
        if (strcmp(mistake_rows[i].name, name) == 0) {
            *mistake = i;
            return true;
        }
    }
    return false;
}

const char *mistake_nearest(const char *name)
{
    struct nearest nearest = nearest_begin(name);
    for (const struct mistake_row *row = mistake_rows; row->name != NULL; row++)
        nearest_offer(&nearest, row->name);
    return nearest.best;
}

const char *mistake_name(int mistake)
{
    return mistake_rows[mistake].name;
}

/* --- while a plan is built --- */

void mistake_begin(struct plan_mistake *mistake, const struct settings *settings,
                   const struct machine *machine, struct plan *plan,
                   const struct placement *placement, struct error *error)
{
    const struct mistake_row *row = &mistake_rows[settings->mistake];
    *mistake = (struct plan_mistake){.row = row,
                                     .settings = settings,
                                     .machine = machine,
                                     .plan = plan,
                                     .placement = placement,
                                     .kernel_stream = MISTAKE_NO_STREAM,
                                     .other_stream = MISTAKE_NO_STREAM,
                                     .error = error};
    plan->launches_block = row->launches_block;
    plan->loads_lazily = row->loads_lazily;
    if (row != &mistake_rows[MISTAKE_NONE] && plan->tiles == plan->cpu_tiles)
        refuse(mistake, "with these settings the GPU has no tiles: use --ways=2 or 3, or a "
                        "smaller --cpu-share");
    else if (row->needs_streams && plan->streams < 2)
        refuse_one_stream(mistake);
    else if (row->shape != NULL)
        row->shape(mistake);
}

bool mistake_drops_wait(struct plan_mistake *mistake, bool for_copy_in)
{
    bool drops = mistake->row->drops_waits && for_copy_in;
    mistake->dropped += drops;
    return drops;
}

void mistake_check(const struct plan_mistake *mistake)
{
    if (mistake->row->drops_waits && mistake->dropped == 0)
        refuse_no_wait(mistake);
}
