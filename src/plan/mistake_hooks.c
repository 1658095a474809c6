/* mistake_hooks.c - what each mistake does to a plan: a row of hooks. */
#include "plan/mistake_hooks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    OTHER_BYTES = 4 << 10,   /* of the device: what other code works on */
    SLEEP_LEAST_NS = 200000, /* of a slow callback */
    SLEEP_COPIES = 2,        /* and how many times as long as its tile's copies it takes */
    FIRST_TILE = 0,
    NO_TILE = -1,
};

/* Where a mistake is made. Every hook may be NULL. */
struct maker {
    enum status (*shape)(struct plan_mistake *mistake, const struct settings *settings,
                         const struct machine *machine);
    enum status (*at_start)(struct plan_mistake *mistake);
    enum status (*before_tile)(struct plan_mistake *mistake, uint32_t stream, uint32_t tile);
    enum status (*after_tile)(struct plan_mistake *mistake, uint32_t stream, uint32_t tile);
    bool drops_waits;   /* those for copies in */
    bool needs_streams; /* with one stream there is nothing that it could spoil */
    const char *remedy; /* what to say where no place was found; NULL: there are no tiles */
};

static enum status append(struct plan_mistake *mistake, const struct op *op)
{
    mistake->made++;
    return plan_append(mistake->plan, op, mistake->error);
}

static uint32_t gpu_tiles(const struct plan *plan)
{
    return plan->tiles - plan->cpu_tiles;
}

/* --- facts of the plan --- */

static enum status shape_pageable(struct plan_mistake *mistake, const struct settings *settings,
                                  const struct machine *machine)
{
    (void)machine;
    if (settings->memory == MEMORY_MAPPED)
        return error_set(mistake->error, STATUS_USAGE,
                         "--mistake=%s: mapped memory is page-locked by nature: use "
                         "--memory=pinned or --memory=registered",
                         mistake_name(mistake->which));
    mistake->plan->memory = MEMORY_PAGEABLE;
    mistake->made = gpu_tiles(mistake->plan);
    return STATUS_OK;
}

static enum status shape_blocking_launches(struct plan_mistake *mistake,
                                           const struct settings *settings,
                                           const struct machine *machine)
{
    (void)settings;
    (void)machine;
    mistake->plan->launches_block = true;
    mistake->made = gpu_tiles(mistake->plan);
    return STATUS_OK;
}

static enum status shape_lazy_loading(struct plan_mistake *mistake,
                                      const struct settings *settings,
                                      const struct machine *machine)
{
    (void)settings;
    (void)machine;
    mistake->plan->loads_lazily = true;
    mistake->made = gpu_tiles(mistake->plan);
    return STATUS_OK;
}

static enum status shape_slow_callback(struct plan_mistake *mistake,
                                       const struct settings *settings,
                                       const struct machine *machine)
{
    const struct plan *plan = mistake->plan;
    double copies_ns = machine_copy_ns(machine, 0, placement_output(plan, FIRST_TILE).bytes);
    (void)settings;
    for (int input = 0; input < mistake->placement->inputs; input++)
        copies_ns +=
            machine_copy_ns(machine, 1, placement_input(plan, input, FIRST_TILE).bytes);
    mistake->sleep_ns = machine_round_ns(SLEEP_COPIES * copies_ns);
    if (mistake->sleep_ns < SLEEP_LEAST_NS)
        mistake->sleep_ns = SLEEP_LEAST_NS;
    mistake->made = gpu_tiles(plan);
    return STATUS_OK;
}

/* --- streams --- */

/* Makes the legacy default stream one more, or `legacy` where that is one, and all others
 * blocking. */
static enum status take_legacy_stream(struct plan_mistake *mistake, int32_t *legacy)
{
    struct plan *plan = mistake->plan;
    if (*legacy == PLAN_MISTAKE_NO_STREAM)
        *legacy = (int32_t)plan->streams++;
    plan->stream_kinds = malloc(plan->streams);
    if (plan->stream_kinds == NULL)
        return error_set(mistake->error, STATUS_FAILED, "no memory for %" PRIu32 " streams",
                         plan->streams);
    memset(plan->stream_kinds, STREAM_BLOCKING, plan->streams);
    plan->stream_kinds[*legacy] = STREAM_LEGACY;
    return STATUS_OK;
}

/* With a stream per stage the kernels have one to themselves already. */
static enum status shape_legacy_stream(struct plan_mistake *mistake,
                                       const struct settings *settings,
                                       const struct machine *machine)
{
    enum { ONLY_STREAM, KERNEL_STAGE_STREAM };
    (void)machine;
    if (settings->layout == LAYOUT_STAGE)
        mistake->kernel_stream =
            mistake->plan->memory == MEMORY_MAPPED ? ONLY_STREAM : KERNEL_STAGE_STREAM;
    mistake->made = gpu_tiles(mistake->plan);
    return take_legacy_stream(mistake, &mistake->kernel_stream);
}

static enum status shape_blocking_stream(struct plan_mistake *mistake,
                                         const struct settings *settings,
                                         const struct machine *machine)
{
    (void)settings;
    (void)machine;
    mistake->plan->buffer_bytes[BUFFER_DEVICE_OTHER] = OTHER_BYTES;
    return take_legacy_stream(mistake, &mistake->other_stream);
}

/* Something small that is no part of the pipeline, as in a library that knows no streams. */
static enum status call_other_code(struct plan_mistake *mistake, uint32_t stream, uint32_t tile)
{
    struct op op = {
        .kind = OP_MEMSET, .stream = (uint32_t)mistake->other_stream, .tile = NO_TILE};
    (void)stream;
    (void)tile;
    op.set.range = (struct range){BUFFER_DEVICE_OTHER, 0, OTHER_BYTES};
    return append(mistake, &op);
}

/* --- calls in the loop --- */

static enum status synchronise(struct plan_mistake *mistake, uint32_t stream, uint32_t tile)
{
    return append(mistake,
                  &(struct op){.kind = OP_SYNC, .stream = stream, .tile = (int32_t)tile});
}

static enum status allocate(struct plan_mistake *mistake, uint64_t bytes, bool pinned,
                            int32_t tile)
{
    return append(mistake, &(struct op){.kind = OP_ALLOC,
                                        .stream = mistake->plan->streams,
                                        .tile = tile,
                                        .alloc = {bytes, pinned}});
}

static uint64_t input_bytes(const struct plan_mistake *mistake, uint32_t tile)
{
    uint64_t bytes = 0;
    for (int input = 0; input < mistake->placement->inputs; input++)
        bytes += placement_input(mistake->plan, input, tile).bytes;
    return bytes;
}

static enum status allocate_device(struct plan_mistake *mistake, uint32_t stream, uint32_t tile)
{
    (void)stream;
    return allocate(mistake, input_bytes(mistake, tile), false, (int32_t)tile);
}

static enum status allocate_pinned(struct plan_mistake *mistake, uint32_t stream, uint32_t tile)
{
    (void)stream;
    return allocate(mistake, input_bytes(mistake, tile), true, (int32_t)tile);
}

static enum status allocate_host_arrays(struct plan_mistake *mistake)
{
    if (gpu_tiles(mistake->plan) == 0)
        return STATUS_OK;
    return allocate(mistake, plan_host_bytes(mistake->plan), true, NO_TILE);
}

static enum status shape_memsets(struct plan_mistake *mistake, const struct settings *settings,
                                 const struct machine *machine)
{
    (void)settings;
    (void)machine;
    if (mistake->plan->memory == MEMORY_MAPPED)
        return error_set(mistake->error, STATUS_USAGE,
                         "--mistake=%s: with mapped memory no tile is copied to the device, so "
                         "there is nothing to set: use --memory=pinned",
                         mistake_name(mistake->which));
    return STATUS_OK;
}

/* Of what is about to be overwritten. */
static enum status set_inputs(struct plan_mistake *mistake, uint32_t stream, uint32_t tile)
{
    enum status status = STATUS_OK;
    for (int input = 0; input < mistake->placement->inputs && status == STATUS_OK; input++) {
        struct op op = {.kind = OP_MEMSET, .stream = stream, .tile = (int32_t)tile};
        op.set.range = placement_slot(mistake->placement,
                                      input == 0 ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_IN1, tile,
                                      placement_input(mistake->plan, input, tile).bytes);
        status = append(mistake, &op);
    }
    return status;
}

/* --- the table --- */

static const struct maker makers[MISTAKE_COUNT] = {
    [MISTAKE_MISSING_WAIT] =
        {
            .drops_waits = true,
            .remedy = "with these settings no kernel waits for a copy in another stream, so "
                      "there is no wait to leave out: use --layout=stage with ways 2, 3 or 4, "
                      "or --ways=2 with several streams and no scan",
        },
    [MISTAKE_PAGEABLE_MEMORY] = {.shape = shape_pageable},
    [MISTAKE_LEGACY_STREAM] = {.shape = shape_legacy_stream, .needs_streams = true},
    [MISTAKE_BLOCKING_STREAM] = {.shape = shape_blocking_stream,
                                 .after_tile = call_other_code,
                                 .needs_streams = true},
    [MISTAKE_SYNC_IN_LOOP] = {.after_tile = synchronise, .needs_streams = true},
    [MISTAKE_ALLOC_IN_LOOP] = {.before_tile = allocate_device},
    [MISTAKE_PINNED_ALLOC_IN_LOOP] = {.before_tile = allocate_pinned},
    [MISTAKE_MEMSET_IN_LOOP] = {.shape = shape_memsets, .before_tile = set_inputs},
    [MISTAKE_LAUNCH_BLOCKING] = {.shape = shape_blocking_launches},
    [MISTAKE_SLOW_CALLBACK] = {.shape = shape_slow_callback},
    [MISTAKE_LAZY_LOADING] = {.shape = shape_lazy_loading},
    [MISTAKE_PIN_IN_RUN] = {.at_start = allocate_host_arrays},
};

static enum status refuse(const struct plan_mistake *mistake, const char *remedy)
{
    return error_set(mistake->error, STATUS_USAGE, "--mistake=%s: %s",
                     mistake_name(mistake->which), remedy);
}

enum status plan_mistake_begin(struct plan_mistake *mistake, const struct settings *settings,
                               const struct machine *machine, struct plan *plan,
                               const struct placement *placement, struct error *error)
{
    const struct maker *maker = &makers[settings->mistake];
    *mistake = (struct plan_mistake){.which = settings->mistake,
                                     .plan = plan,
                                     .placement = placement,
                                     .kernel_stream = PLAN_MISTAKE_NO_STREAM,
                                     .other_stream = PLAN_MISTAKE_NO_STREAM,
                                     .error = error};
    if (maker->needs_streams && plan->streams < 2)
        return refuse(mistake, "with one stream nothing overlaps anyway: use ways 2, 3 or 4 "
                               "with several tiles and streams, or --layout=stage");
    return maker->shape != NULL ? maker->shape(mistake, settings, machine) : STATUS_OK;
}

enum status plan_mistake_at_start(struct plan_mistake *mistake)
{
    const struct maker *maker = &makers[mistake->which];
    return maker->at_start != NULL ? maker->at_start(mistake) : STATUS_OK;
}

enum status plan_mistake_before_tile(struct plan_mistake *mistake, uint32_t stream,
                                     uint32_t tile)
{
    const struct maker *maker = &makers[mistake->which];
    return maker->before_tile != NULL ? maker->before_tile(mistake, stream, tile) : STATUS_OK;
}

enum status plan_mistake_after_tile(struct plan_mistake *mistake, uint32_t stream,
                                    uint32_t tile)
{
    const struct maker *maker = &makers[mistake->which];
    return maker->after_tile != NULL ? maker->after_tile(mistake, stream, tile) : STATUS_OK;
}

bool plan_mistake_drops_wait(struct plan_mistake *mistake, bool for_copy_in)
{
    bool drops = makers[mistake->which].drops_waits && for_copy_in;
    mistake->made += drops;
    return drops;
}

enum status plan_mistake_check(const struct plan_mistake *mistake)
{
    const char *remedy = makers[mistake->which].remedy;
    if (mistake->which == MISTAKE_NONE || mistake->made > 0)
        return STATUS_OK;
    return refuse(mistake, remedy != NULL
                               ? remedy
                               : "with these settings the GPU has no tiles: use ways 1, 2 or "
                                 "3, or a smaller --cpu-share");
}
