/* fixtures.c - see fixtures.h. */
#include "fixtures.h"
#include "plan/build.h"

#include <stdlib.h>
#include <string.h>

int test_cases(int all)
{
    const char *mode = getenv("PIPELINE_TESTS");
    if (mode != NULL && strcmp(mode, "deep") == 0)
        return 50 * all;
    const int share = mode == NULL                 ? 1
                      : strcmp(mode, "few") == 0   ? 4
                      : strcmp(mode, "quick") == 0 ? 20
                                                   : 1;
    return all > 20 ? all / share : all;
}

uint64_t test_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

uint32_t test_random_below(uint64_t *state, uint32_t below)
{
    return (uint32_t)((test_random(state) >> 32) * below >> 32);
}

void test_must(enum status status, const struct error *error)
{
    ck_assert_msg(status == STATUS_OK, "%s", error->text);
}

int test_mistake_count(void)
{
    int count = 0;
    while (mistake_rows[count].name != NULL)
        count++;
    return count;
}

int test_mistake(const char *name)
{
    int mistake;
    ck_assert_msg(mistake_find(name, &mistake), "no mistake is called %s", name);
    return mistake;
}

struct settings test_settings(const char *kernels)
{
    struct settings settings = {
        .name = "run",
        .elements = 1024,
        .intensity = 1,
        .columns = 1024,
        .tile_width = 1024,
        .stride = 1,
        .tiles = 4,
        .streams = 4,
        .ways = 3,
        .cpu_share = -1,
        .device = "sim:h200",
        .runs = 1,
        .seed = 1,
    };
    char names[128];
    ck_assert_uint_lt(strlen(kernels), sizeof names);
    strcpy(names, kernels);
    for (char *name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
        const struct kernel *kernel = kernel_find(name);
        ck_assert_msg(kernel != NULL, "no kernel %s", name);
        settings.chain[settings.chain_length++] = kernel;
    }
    return settings;
}

struct settings test_random_settings(uint64_t *random, const char *kernels, uint32_t tiles,
                                     int ways)
{
    struct settings settings = test_settings(kernels);
    settings.tiles = 1 + test_random_below(random, tiles);
    settings.elements = settings.tiles + test_random_below(random, 5000);
    settings.ways = 1 + (int)test_random_below(random, (uint32_t)ways);
    settings.streams = settings.ways == 1 ? 1 : 1 + test_random_below(random, 12);
    settings.order = test_random_below(random, 2) ? ORDER_BREADTH : ORDER_DEPTH;
    settings.layout = test_random_below(random, 2) ? LAYOUT_STAGE : LAYOUT_TILE;
    settings.callbacks = test_random_below(random, 2);
    settings.seed = test_random(random);
    return settings;
}

struct machine test_machine(void)
{
    struct machine machine = {
        .name = "toy",
        .summary = "a toy",
        .architecture = "sm_90",
        .copy_engines = 2,
        .h2d_bytes_per_s = 1e9,
        .d2h_bytes_per_s = 1e9,
        .joint_bytes_per_s = 2e9,
        .sms = 1,
        .threads_per_sm = 8 * KERNEL_THREADS,
        .blocks_per_sm = 8,
        .memory_bytes_per_s = 1e21, /* no time at all, so that kernels take whole ns */
        .flops_per_s = 1e9,
        .arithmetic_fill = 1,
        .memory_fill = 1,
        .idle_memory_share = 1,
        .leftover_excess = 1,
        .memory_bytes = 1 << 30,
        .concurrent_kernels = 128,
        .queues = 32,
        .queues_max = 32,
        .queue_depth = 1024,
        .priority_greatest = -5,
        .pinned_bytes_per_s = 1e9,
        .cpu_cores = 1,
        .cpu_bytes_per_s = 1e15,
        .cpu_flops_per_s = 1e9,
        .cpu_core_share = 1,
        .pack_bytes_per_s = 1e15,
    };
    for (int i = 0; i < MACHINE_ROW_SIZE_COUNT; i++)
        machine.row_h2d_share[i] = machine.row_d2h_share[i] = 1;
    return machine;
}

struct machine test_machine_named(const char *name)
{
    struct machine machine;
    struct error error = {0};
    test_must(machine_built_in(&machine, name, &error), &error);
    return machine;
}

struct plan test_built(const struct settings *settings)
{
    struct machine machine = test_machine();
    return test_built_on(settings, &machine);
}

struct plan test_built_on(const struct settings *settings, const struct machine *machine)
{
    struct plan plan;
    struct error error = {0};
    test_must(plan_build(settings, machine, &plan, &error), &error);
    return plan;
}

struct op *test_nth_op(struct plan *plan, enum op_kind kind, int nth)
{
    struct op *op = plan->ops;
    while (op->kind != kind || nth-- > 0)
        op++;
    return op;
}

struct op *test_op_of_tile(struct plan *plan, enum op_kind kind, int32_t tile)
{
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (plan->ops[i].kind == kind && plan->ops[i].tile == tile)
            return &plan->ops[i];
    }
    ck_abort_msg("no %s %d", op_kind_name(kind), tile);
}

bool test_ops_touch(const struct op *a, const struct op *b)
{
    struct access x[OP_ACCESS_MAX], y[OP_ACCESS_MAX];
    int count_x = op_accesses(a, x), count_y = op_accesses(b, y);
    for (int i = 0; i < count_x; i++) {
        for (int j = 0; j < count_y; j++) {
            const struct range *r = &x[i].range, *s = &y[j].range;
            if (r->buffer == s->buffer && (x[i].writes || y[j].writes) &&
                r->offset < s->offset + s->bytes && s->offset < r->offset + r->bytes)
                return true;
        }
    }
    return false;
}

void test_drop_wait(struct plan *plan, uint32_t op)
{
    ck_assert_int_eq(plan->ops[op].kind, OP_WAIT);
    plan->ops[op].kind = OP_RECORD;
    plan->ops[op].event.event = plan->events++;
}

size_t test_hazard_count(const struct plan *plan)
{
    struct hazard hazard;
    struct error error = {0};
    size_t count;
    test_must(plan_hazards(plan, &hazard, 1, &count, &error), &error);
    return count;
}

void test_plan_refused(const struct plan *plan, const char *words)
{
    struct error error = {0};
    ck_assert_int_eq(plan_validate(plan, &error), STATUS_FAILED);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
}

struct plan test_plan(uint32_t streams, uint32_t events, uint32_t tiles, uint64_t elements)
{
    struct plan plan = {0};
    plan.streams = streams;
    plan.events = events;
    plan.tiles = plan.slots = tiles;
    plan.elements = elements;
    plan.params.intensity = 1;
    plan.chain[0] = kernel_find("scale");
    plan.chain_length = 1;
    for (int b = 0; b < BUFFER_COUNT; b++)
        plan.buffer_bytes[b] = elements * sizeof(float);
    return plan;
}

static uint32_t append(struct plan *plan, const struct op *op)
{
    struct error error = {0};
    ck_assert_msg(plan_append(plan, op, &error) == STATUS_OK, "%s", error.text);
    return plan->op_count - 1;
}

uint32_t test_h2d(struct plan *plan, uint32_t stream, uint32_t tile, uint64_t offset,
                  uint64_t bytes)
{
    struct op op = {.kind = OP_H2D, .stream = stream, .tile = (int32_t)tile};
    op.copy.host = (struct range){BUFFER_HOST_IN0, offset, bytes};
    op.copy.device = (struct range){BUFFER_DEVICE_IN0, offset, bytes};
    return append(plan, &op);
}

uint32_t test_d2h(struct plan *plan, uint32_t stream, uint32_t tile, uint64_t offset,
                  uint64_t bytes)
{
    struct op op = {.kind = OP_D2H, .stream = stream, .tile = (int32_t)tile};
    op.copy.host = (struct range){BUFFER_HOST_OUT, offset, bytes};
    op.copy.device = (struct range){BUFFER_DEVICE_OUT, offset, bytes};
    return append(plan, &op);
}

struct op_ranges *test_ranges(struct plan *plan)
{
    struct error error = {0};
    struct op_ranges *ranges = plan_take_ranges(plan, &error);
    ck_assert_msg(ranges != NULL, "%s", error.text);
    return ranges;
}

uint32_t test_kernel(struct plan *plan, uint32_t stream, uint32_t tile, uint64_t first,
                     uint64_t count, uint32_t blocks)
{
    struct op op = {.kind = OP_KERNEL, .stream = stream, .tile = (int32_t)tile};
    op.kernel.count = count;
    op.kernel.blocks = blocks;
    op.kernel.ranges = test_ranges(plan);
    op.kernel.ranges->in[0] = (struct range){BUFFER_DEVICE_IN0, 4 * first, 4 * count};
    op.kernel.ranges->out = (struct range){BUFFER_DEVICE_OUT, 4 * first, 4 * count};
    return append(plan, &op);
}

uint32_t test_record(struct plan *plan, uint32_t stream, uint32_t event)
{
    struct op op = {.kind = OP_RECORD, .stream = stream, .tile = -1};
    op.event.event = event;
    return append(plan, &op);
}

uint32_t test_wait(struct plan *plan, uint32_t stream, uint32_t event)
{
    struct op op = {.kind = OP_WAIT, .stream = stream, .tile = -1};
    op.event.event = event;
    return append(plan, &op);
}

uint32_t test_d2d(struct plan *plan, uint32_t stream, uint64_t offset, uint64_t bytes)
{
    struct op op = {.kind = OP_D2D, .stream = stream, .tile = -1};
    op.move.from = (struct range){BUFFER_DEVICE_IN0, offset, bytes};
    op.move.to = (struct range){BUFFER_DEVICE_OUT, offset, bytes};
    return append(plan, &op);
}

uint32_t test_memset(struct plan *plan, uint32_t stream, uint64_t offset, uint64_t bytes,
                     uint8_t value)
{
    struct op op = {.kind = OP_MEMSET, .stream = stream, .tile = -1};
    op.set.range = (struct range){BUFFER_DEVICE_OUT, offset, bytes};
    op.set.value = value;
    return append(plan, &op);
}

uint32_t test_sync(struct plan *plan, uint32_t stream)
{
    struct op op = {.kind = OP_SYNC, .stream = stream, .tile = -1};
    return append(plan, &op);
}

uint32_t test_alloc(struct plan *plan, uint64_t bytes, bool pinned)
{
    struct op op = {.kind = OP_ALLOC, .stream = plan->streams, .tile = -1};
    op.alloc.bytes = bytes;
    op.alloc.pinned = pinned;
    return append(plan, &op);
}

void test_stream_kinds(struct plan *plan, const enum stream_kind *kinds)
{
    plan->stream_kinds = calloc(plan->streams, sizeof *plan->stream_kinds);
    ck_assert_ptr_nonnull(plan->stream_kinds);
    for (uint32_t i = 0; i < plan->streams; i++)
        plan->stream_kinds[i] = (uint8_t)kinds[i];
}
