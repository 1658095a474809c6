/* check_contract.c - what every backend must do: the same tests for each.
 *
 * Every case builds a plan from settings, runs it twice bare and once traced, each time on a
 * poisoned output, verifies every element, and holds the timeline against the plan. */
#include "app/backends.h"
#include "check_contract_timeline.h"
#include "core/units.h"
#include "fixtures.h"
#include "plan/build.h"
#include "plan/rules.h"
#include "run/backend.h"
#include "run/verify.h"
#include "suites.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 4, SHOWN = 256, WAYS = 4 };

/* The devices that suites were made for; a test's loop index says which. */
static const char *devices[DEVICES_MAX];
static int device_count;

/* The memory and the backend of a test are kept here, so that the teardown gives them back also
 * when the test failed. */
static struct {
    const struct backend_ops *ops;
    const char *argument;
    struct backend *backend;
    struct machine machine;
    struct settings settings;
    struct plan plan;
    struct arrays arrays;
    struct timeline timeline;
    struct workload workload;
    char shown[SHOWN]; /* the case, for messages */

    uint32_t *calls; /* of on_tile, per tile */
    atomic_int inside;
    bool overlapped; /* two were called at once */
    bool stale;      /* one came before its tile's result */
} at;

static void end_case(void)
{
    if (at.backend != NULL)
        at.ops->release(at.backend);
    timeline_free(&at.timeline);
    arrays_free(&at.arrays);
    plan_free(&at.plan);
    free(at.calls);
    at.calls = NULL;
}

static void teardown(void)
{
    end_case();
    if (at.backend != NULL)
        at.ops->close(at.backend);
    at.backend = NULL;
}

static void setup(void)
{
    memset(&at, 0, sizeof at);
    at.timeline = (struct timeline){0};
    at.plan = (struct plan){0};
}

static void must(enum status status, const struct error *error)
{
    if (status != STATUS_OK)
        ck_abort_msg("%s: %s", at.shown, error->text);
}

static void select_device(int device)
{
    struct error error = {0};
    must(backend_select(backends, devices[device], &at.ops, &at.argument, &error), &error);
}

static void open_device(int device, const struct settings *settings)
{
    struct error error = {0};
    select_device(device);
    must(at.ops->open(at.argument, settings, &at.backend, &error), &error);
}

static bool reduces(void)
{
    return plan_last_kernel(&at.plan)->shape == KERNEL_REDUCE;
}

/* Callbacks. */

static bool is_poison(const void *element)
{
    return memcmp(element, &at.arrays.poison, sizeof at.arrays.poison) == 0;
}

/* The result's first and last bytes must be there when the callback runs. A result that is
 * packed is still to be unpacked then. */
static bool has_result(int32_t tile)
{
    /* What the host unpacks, or brings home, is in the arrays later. */
    if ((at.plan.packs || at.plan.memory == MEMORY_MANAGED) && !reduces())
        return true;
    uint64_t first = (uint64_t)tile, count = 1;
    if (!reduces())
        plan_tile(&at.plan, (uint32_t)tile, &first, &count);
    const char *out =
        arrays_at(&at.arrays, &(struct range){BUFFER_HOST_OUT, 4 * first, 4 * count});
    return !is_poison(out) && !is_poison(out + 4 * (count - 1));
}

static void on_tile(void *context, int32_t tile)
{
    uint32_t *calls = context;
    if (atomic_fetch_add(&at.inside, 1) != 0)
        at.overlapped = true;
    calls[tile]++;
    if (!has_result(tile))
        at.stale = true;
    atomic_fetch_sub(&at.inside, 1);
}

static void check_calls(uint32_t expected)
{
    ck_assert_msg(!at.overlapped, "%s: two callbacks ran at once", at.shown);
    ck_assert_msg(!at.stale, "%s: a callback came before its tile's result", at.shown);
    for (uint32_t tile = 0; tile < at.plan.tiles; tile++) {
        bool gpu = tile < at.plan.tiles - at.plan.cpu_tiles;
        uint32_t wanted = at.settings.callbacks && gpu ? expected : 0;
        if (at.calls[tile] != wanted)
            ck_abort_msg("%s: tile %" PRIu32 " had %" PRIu32 " callbacks, not %" PRIu32,
                         at.shown, tile, at.calls[tile], wanted);
    }
}

static void check_times(const struct run_times *times, bool traced)
{
    ck_assert_msg(times->time_ns > 0, "%s: it took no time", at.shown);
    /* The last call may hear of the last end later. */
    ck_assert_msg(times->issue_ns >= 0 &&
                      times->issue_ns <= times->time_ns + rule_hears_ns(&at.machine),
                  "%s: issuing took %" PRId64 " of %" PRId64 " ns", at.shown, times->issue_ns,
                  times->time_ns);
    /* The device's clock and the host's agree to some tens of microseconds. */
    int64_t slack = at.ops->measures ? 100000 : 0;
    if (traced && times->time_ns + slack < timeline_time_ns(&at.timeline))
        ck_abort_msg("%s: the timeline ends at %" PRId64 ", the run at %" PRId64, at.shown,
                     timeline_time_ns(&at.timeline), times->time_ns);
}

/* Cases. */

static void show_case(const struct settings *settings)
{
    char chain[96] = "";
    for (int i = 0; i < settings->chain_length; i++)
        snprintf(chain + strlen(chain), sizeof chain - strlen(chain), "%s%s", i > 0 ? "," : "",
                 settings->chain[i]->name);
    snprintf(at.shown, sizeof at.shown,
             "-w %d --order=%s --layout=%s -n %" PRIu64 " -t %" PRIu32 " -s %" PRIu32
             " -k %s%s",
             settings->ways, order_names[settings->order], layout_names[settings->layout],
             settings->elements, settings->tiles, settings->streams, chain,
             settings->scatter ? " --scatter" : "");
}

/* Up to a prepared plan. The backend must be open. */
static void prepare_case(const struct settings *settings)
{
    struct error error = {0};
    at.settings = *settings;
    show_case(settings);
    must(at.ops->describe(at.backend, &at.settings, &at.machine, &error), &error);
    must(plan_build(&at.settings, &at.machine, &at.plan, &error), &error);
    struct hazard hazard;
    size_t hazards;
    must(plan_hazards(&at.plan, &hazard, 1, &hazards, &error), &error);
    ck_assert_uint_eq(hazards, 0);
    must(arrays_create(&at.arrays, &at.plan, &at.settings, &error), &error);
    at.calls = calloc(at.plan.tiles, sizeof *at.calls);
    ck_assert_ptr_nonnull(at.calls);
    at.workload = (struct workload){.plan = &at.plan,
                                    .settings = &at.settings,
                                    .arrays = &at.arrays,
                                    .on_tile = on_tile,
                                    .context = at.calls};
    must(at.ops->prepare(at.backend, &at.workload, &error), &error);
}

static void run_once(bool traced)
{
    struct error error = {0};
    struct run_times times = {0};
    arrays_poison(&at.arrays);
    must(at.ops->run(at.backend, traced ? &at.timeline : NULL, &times, &error), &error);
    must(verify_output(&at.plan, &at.arrays, &error), &error);
    check_times(&times, traced);
}

static void run_case(const struct settings *settings)
{
    prepare_case(settings);
    run_once(false);
    run_once(false);
    run_once(true);
    contract_check_timeline(&at.plan, &at.timeline, at.machine.copy_engines, at.ops->measures,
                            at.shown);
    check_calls(3);
    end_case();
}

static const struct shape {
    uint64_t elements;
    uint32_t tiles, streams;
} shapes[] = {
    {1, 1, 4},         /* one element */
    {7, 3, 4},         /* fewer tiles than streams */
    {7, 7, 2},         /* a tile per element */
    {65537, 64, 3},    /* many more tiles than streams */
    {100003, 6, 1},    /* one stream */
    {300007, 5, 4},    /* a tile count that does not divide it */
    {1 << 18, 16, 16}, /* as many streams as tiles */
};
static const char *const chains[] = {
    "scale",
    "sum",
    "wave",
    "reduce-shuffle",
    "scale,sum",
    "scale,scale,scale",
    "divergent",
    "uniform,scale",
    "transpose-naive",
    "transpose-coarse,wave,scale",
    "stride-copy",
    "scan,scan",
};
enum { SHAPES = sizeof shapes / sizeof *shapes, CHAINS = sizeof chains / sizeof *chains };
enum { CPU_CHAINS = CHAINS - 1 }; /* the CPU has no part in a scan */
enum { APART_CHAINS = 8 };        /* the first ones' tiles may lie apart */

static struct settings shaped_settings(const struct shape *shape, const char *chain)
{
    struct settings settings = test_settings(chain);
    settings.elements = shape->elements;
    settings.tiles = shape->tiles;
    settings.streams = shape->streams;
    settings.columns = settings.stride = 37;
    return settings;
}

/* Every way in both orders and both layouts, over all shapes; the chains take turns so that
 * each meets every way. */
START_TEST(test_every_way)
{
    int device = _i / WAYS, ways = _i % WAYS + 1, turn = ways;
    struct settings first = test_settings("scale");
    open_device(device, &first);
    int step = SHAPES * 4 / test_cases(SHAPES * 4);
    for (int i = 0; i < SHAPES * 4; i += step) {
        const char *chain = chains[turn++ % (ways == 4 ? CPU_CHAINS : CHAINS)];
        struct settings settings = shaped_settings(&shapes[i / 4], chain);
        settings.ways = ways;
        settings.streams = ways == 1 ? 1 : settings.streams;
        settings.order = i % 2 ? ORDER_BREADTH : ORDER_DEPTH;
        settings.layout = i / 2 % 2 ? LAYOUT_STAGE : LAYOUT_TILE;
        if (kernel_chain_scans(settings.chain, settings.chain_length)) {
            settings.carry = (enum carry)(i % 3);
            settings.memory = i % 2 ? MEMORY_PAGEABLE : MEMORY_PINNED;
        }
        settings.seed = (uint64_t)i;
        run_case(&settings);
    }
}
END_TEST

START_TEST(test_every_chain)
{
    struct settings first = test_settings("scale");
    open_device(_i, &first);
    for (int i = 0; i < CHAINS; i++) {
        struct settings settings = shaped_settings(&shapes[4], chains[i]);
        settings.ways = i < CPU_CHAINS ? 4 : 3;
        settings.streams = 3;
        settings.cpu_share = 0.5;
        settings.intensity = (uint32_t)i + 1;
        run_case(&settings);
    }
}
END_TEST

START_TEST(test_callbacks)
{
    struct settings first = test_settings("scale");
    open_device(_i, &first);
    for (int i = 0; i < 8; i++) {
        struct settings settings = shaped_settings(&shapes[3], i < 4 ? "scale,sum" : "scale");
        settings.callbacks = true;
        settings.ways = i % 4 + 1;
        settings.streams = settings.ways == 1 ? 1 : 3;
        settings.layout = i % 2 ? LAYOUT_STAGE : LAYOUT_TILE;
        run_case(&settings);
    }
}
END_TEST

START_TEST(test_priorities)
{
    struct settings settings = shaped_settings(&shapes[6], "scale");
    settings.priorities[0] = 0;
    settings.priorities[1] = -1;
    settings.priorities[2] = -1000; /* clamped */
    settings.priority_count = 3;
    settings.blocks = 3; /* not what the machine would say */
    open_device(_i, &settings);
    run_case(&settings);
}
END_TEST

/* The device holds only slots: twice as many of them as needed would be a waste, one less is
 * what a run must do with. */
START_TEST(test_slots)
{
    struct settings first = test_settings("wave");
    open_device(_i, &first);
    for (int i = 0; i < 4; i++) {
        struct settings settings = shaped_settings(&shapes[3], "wave");
        settings.streams = (uint32_t)i + 1;
        settings.layout = i % 2 ? LAYOUT_TILE : LAYOUT_STAGE;
        settings.order = i / 2 ? ORDER_BREADTH : ORDER_DEPTH;
        prepare_case(&settings);
        ck_assert_uint_eq(at.plan.slots, settings.streams);
        ck_assert_uint_lt(plan_device_bytes(&at.plan), plan_host_bytes(&at.plan) / 4);
        run_once(false);
        run_once(true);
        contract_check_timeline(&at.plan, &at.timeline, at.machine.copy_engines,
                                at.ops->measures, at.shown);
        end_case();
    }
}
END_TEST

static const enum memory memories[] = {MEMORY_PINNED, MEMORY_REGISTERED, MEMORY_PAGEABLE,
                                       MEMORY_MAPPED};
enum { MEMORIES = sizeof memories / sizeof *memories };

START_TEST(test_host_memory)
{
    struct settings first = test_settings("scale");
    open_device(_i, &first);
    for (int i = 0; i < MEMORIES; i++) {
        struct settings settings = shaped_settings(&shapes[4], "scale");
        settings.memory = memories[i];
        run_case(&settings);
    }
}
END_TEST

/* All shapes as one graph, with bytes and without a timeline and with one. */
START_TEST(test_graphs)
{
    struct settings first = test_settings("scale");
    open_device(_i, &first);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int memory = MEMORY_PINNED; memory <= MEMORY_MAPPED; memory++) {
            struct settings settings = shaped_settings(&shapes[i], "scale,sum");
            settings.issue = ISSUE_GRAPH;
            settings.callbacks = i % 2 == 0;
            settings.memory = (enum memory)memory;
            if (memory != MEMORY_PAGEABLE)
                run_case(&settings);
        }
    }
}
END_TEST

/* All chains in batches of several sizes, copied and mapped, the last batch often smaller. */
START_TEST(test_batches)
{
    struct settings first = test_settings("scale");
    open_device(_i, &first);
    for (int i = 0; i < 3 * CHAINS; i++) {
        const bool alone = i / 3 >= CPU_CHAINS; /* the CPU has no part in it */
        struct settings settings = shaped_settings(&shapes[i % 2 ? 3 : 4], chains[i / 3]);
        settings.issue = ISSUE_BATCH;
        settings.batch = (uint32_t)i % 3 * 2 + 2;
        settings.scatter = i / 3 < APART_CHAINS && i % 5 > 1;
        settings.memory = i % 4 == 3 ? MEMORY_MAPPED : MEMORY_PINNED;
        settings.ways = alone ? i % 3 + 1 : i % 4 + 1;
        settings.streams = settings.ways == 1 ? 1 : 3;
        settings.order = i % 3 ? ORDER_BREADTH : ORDER_DEPTH;
        settings.layout = i % 5 == 0 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.callbacks = i % 2 == 0;
        settings.cpu_share = settings.ways == 4 ? 0.5 : -1;
        settings.carry = alone ? (enum carry)(i % 3) : CARRY_DEVICE;
        struct error error = {0};
        must(at.ops->describe(at.backend, &settings, &at.machine, &error), &error);
        if (at.ops->measures || at.machine.batch_gap_ns > 0)
            run_case(&settings);
    }
}
END_TEST

/* All chains with memory that is taken for each tile, in each way, order and layout. */
START_TEST(test_allocs)
{
    struct settings first = test_settings("scale");
    open_device(_i, &first);
    for (int i = 0; i < 6 * CHAINS; i++) {
        const bool alone = i / 6 >= CPU_CHAINS; /* the CPU has no part in it */
        struct settings settings = shaped_settings(&shapes[i % 2 ? 3 : 4], chains[i / 6]);
        settings.alloc = (enum alloc)(ALLOC_LOOP + i % 3);
        settings.ways = alone ? i % 3 + 1 : i % 4 + 1;
        settings.streams = settings.ways == 1 ? 1 : 3;
        settings.order = i % 5 ? ORDER_BREADTH : ORDER_DEPTH;
        settings.layout = i / 3 % 2 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.scatter = i / 6 < APART_CHAINS && i % 5 > 1;
        settings.callbacks = i % 2 == 0;
        settings.cpu_share = settings.ways == 4 ? 0.5 : -1;
        settings.carry = alone ? (enum carry)(i % 3) : CARRY_DEVICE;
        run_case(&settings);
    }
}
END_TEST

/* All chains in batches that the host packs and unpacks. */
START_TEST(test_packing)
{
    static const enum memory kinds[] = {MEMORY_PINNED, MEMORY_REGISTERED, MEMORY_PAGEABLE};
    struct settings first = test_settings("scale");
    open_device(_i, &first);
    for (int i = 0; i < 2 * CHAINS; i++) {
        struct settings settings = shaped_settings(&shapes[i % 2 ? 3 : 4], chains[i / 2]);
        settings.pack = true;
        settings.batch = (uint32_t)i % 4 + 1;
        settings.scatter = i / 2 < APART_CHAINS && i % 4 > 1;
        settings.memory = kinds[i % 3];
        settings.streams = (uint32_t)i % 5 + 1;
        settings.order = i % 3 ? ORDER_BREADTH : ORDER_DEPTH;
        settings.layout = i % 5 == 0 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.callbacks = i % 2 == 0;
        run_case(&settings);
    }
}
END_TEST

/* Kernels on managed memory, whose pages are prefetched or not. Scans don't go with it. */
START_TEST(test_managed)
{
    struct settings first = test_settings("scale");
    open_device(_i, &first);
    for (int i = 0; i < 2 * CHAINS; i++) {
        struct settings settings = shaped_settings(&shapes[4], chains[i / 2]);
        struct error error = {0};
        settings.memory = MEMORY_MANAGED;
        settings.prefetch = i % 2;
        settings.ways = i % 4 + 1;
        settings.streams = settings.ways == 1 ? 1 : 3;
        settings.order = i % 3 ? ORDER_BREADTH : ORDER_DEPTH;
        settings.layout = i % 5 == 0 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.callbacks = i % 2 == 0;
        settings.cpu_share = settings.ways == 4 ? 0.5 : -1;
        must(at.ops->describe(at.backend, &settings, &at.machine, &error), &error);
        if (settings_check(&settings, &error) == STATUS_OK &&
            at.machine.compute_capability >= 6)
            run_case(&settings);
    }
}
END_TEST

/* Kernels that begin and end on the host's arrays, call by call and as one graph. */
START_TEST(test_mapped_chains)
{
    struct settings first = test_settings("scale");
    open_device(_i, &first);
    for (int i = 0; i < 2 * CHAINS; i++) {
        struct settings settings = shaped_settings(&shapes[4], chains[i / 2]);
        settings.memory = MEMORY_MAPPED;
        settings.issue = i % 2 ? ISSUE_GRAPH : ISSUE_STREAMS;
        settings.ways = i / 2 < CPU_CHAINS && i % 3 == 0 ? 4 : i % 4 + 1;
        settings.ways = i / 2 >= CPU_CHAINS && settings.ways == 4 ? 3 : settings.ways;
        settings.streams = settings.ways == 1 ? 1 : 3;
        settings.order = i % 3 ? ORDER_BREADTH : ORDER_DEPTH;
        settings.layout = i % 5 == 0 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.callbacks = i % 2 == 0;
        settings.cpu_share = settings.ways == 4 ? 0.5 : -1;
        settings.intensity = (uint32_t)i / 4 + 1;
        run_case(&settings);
    }
}
END_TEST

/* Tiles that lie apart in host memory: every shape, memory and way, call by call and as one
 * graph, with the CPU at work and with callbacks. */
START_TEST(test_scattered_tiles)
{
    struct settings first = test_settings("scale");
    int turn = 0;
    open_device(_i, &first);
    for (int i = 0; i < SHAPES * MEMORIES; i++) {
        struct settings settings = shaped_settings(&shapes[i / MEMORIES], chains[turn++ % 6]);
        settings.scatter = true;
        settings.memory = memories[i % MEMORIES];
        settings.ways = turn % 4 + 1;
        settings.streams = settings.ways == 1 ? 1 : settings.streams;
        settings.cpu_share = settings.ways == 4 ? 0.5 : -1;
        settings.order = turn % 3 ? ORDER_BREADTH : ORDER_DEPTH;
        settings.layout = turn % 5 == 0 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.callbacks = turn % 2 == 0;
        settings.issue =
            turn % 3 == 1 && settings.memory != MEMORY_PAGEABLE ? ISSUE_GRAPH : ISSUE_STREAMS;
        settings.seed = (uint64_t)turn;
        run_case(&settings);
    }
}
END_TEST

/* One hardware queue must change times only. A CUDA process can't change its number. */
START_TEST(test_connections)
{
    select_device(_i);
    if (at.ops->measures)
        return;
    struct settings settings = shaped_settings(&shapes[6], "scale,scale,scale");
    settings.connections = 1;
    open_device(_i, &settings);
    for (int order = 0; order < 2; order++) {
        settings.order = order ? ORDER_BREADTH : ORDER_DEPTH;
        run_case(&settings);
    }
}
END_TEST

START_TEST(test_description)
{
    struct settings settings = test_settings("scale,sum");
    struct error error = {0};
    settings.ways = 4;
    settings.elements = 1 << 16;
    open_device(_i, &settings);
    struct machine machine;
    must(at.ops->describe(at.backend, &settings, &machine, &error), &error);
    ck_assert(machine.name[0] != '\0');
    ck_assert(machine.architecture[0] != '\0');
    ck_assert(machine.copy_engines == 1 || machine.copy_engines == 2);
    ck_assert(machine.h2d_bytes_per_s > 1e8 && machine.d2h_bytes_per_s > 1e8);
    /* Together not slower than alone, nor faster than each alone; measured ones vary a little.
     */
    double alone = machine.h2d_bytes_per_s + machine.d2h_bytes_per_s;
    ck_assert(machine.joint_bytes_per_s > 0.4 * alone);
    ck_assert(machine.joint_bytes_per_s < 1.1 * alone);
    ck_assert(machine.sms > 0 && machine.threads_per_sm > 0 && machine.blocks_per_sm > 0);
    ck_assert(machine.memory_bytes_per_s > 1e9 && machine.memory_bytes > 0);
    ck_assert(machine.memory_fill > 0 && machine.memory_fill <= 1);
    ck_assert(machine.queues >= 1 && machine.queues_max >= machine.queues);
    ck_assert(machine.priority_greatest <= machine.priority_least);
    ck_assert_uint_ge(machine.cpu_cores, 1);
    struct kernel_params params = {.intensity = 1};
    for (int i = 0; i < settings.chain_length; i++) {
        double gpu = machine_kernel_ns(&machine, settings.chain[i], &params, 1 << 26);
        double cpu = machine_cpu_ns(&machine, settings.chain[i], &params, 1 << 26);
        ck_assert(gpu > 0 && gpu < 1e12);
        ck_assert(cpu > 0 && cpu < 1e12);
    }
}
END_TEST

/* A backend is used again after a release, and after a refusal. */
START_TEST(test_used_again)
{
    struct settings settings = shaped_settings(&shapes[4], "scale");
    open_device(_i, &settings);
    at.ops->release(at.backend); /* nothing is prepared */
    run_case(&settings);
    at.ops->release(at.backend);
    settings.seed = 99;
    run_case(&settings);
}
END_TEST

START_TEST(test_too_large)
{
    struct settings settings = shaped_settings(&shapes[4], "scale");
    struct error error = {0};
    open_device(_i, &settings);
    must(at.ops->describe(at.backend, &settings, &at.machine, &error), &error);
    must(plan_build(&settings, &at.machine, &at.plan, &error), &error);
    must(arrays_create(&at.arrays, &at.plan, &settings, &error), &error);
    at.plan.buffer_bytes[BUFFER_DEVICE_IN0] = 2 * at.machine.memory_bytes;
    at.workload =
        (struct workload){.plan = &at.plan, .settings = &settings, .arrays = &at.arrays};
    ck_assert_int_eq(at.ops->prepare(at.backend, &at.workload, &error), STATUS_FAILED);
    char needed[UNITS_TEXT];
    units_bytes(plan_device_bytes(&at.plan), needed);
    ck_assert_msg(strstr(error.text, needed) != NULL, "%s: no %s", error.text, needed);
    ck_assert_ptr_nonnull(strstr(error.text, "device memory"));
    const char *there = strstr(error.text, " and ");
    ck_assert_msg(there != NULL && strpbrk(there, "0123456789") != NULL, "%s", error.text);
    end_case();
    run_case(&settings);
}
END_TEST

START_TEST(test_wrong_device)
{
    static const char *const wrong[] = {"no-such-device", "0x", "-1", " 0", "99999999999999"};
    struct settings settings = test_settings("scale");
    select_device(_i);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct error error = {0};
        struct backend *backend = NULL;
        enum status status = at.ops->open(wrong[i], &settings, &backend, &error);
        ck_assert_msg(status == STATUS_USAGE, "'%s' gave %d", wrong[i], status);
        ck_assert_int_eq(error.status, status);
        ck_assert_ptr_nonnull(strstr(error.text, wrong[i]));
        ck_assert_ptr_null(backend);
    }
}
END_TEST

static void count_listed(void *context, const char *device, const char *summary)
{
    int *count = context;
    size_t length = strlen(at.ops->name);
    ck_assert_int_eq(strncmp(device, at.ops->name, length), 0);
    ck_assert_int_eq(device[length], ':');
    ck_assert(summary[0] != '\0');
    (*count)++;
}

START_TEST(test_list)
{
    int count = 0;
    select_device(_i);
    at.ops->list(count_listed, &count);
    ck_assert_int_ge(count, 1);
}
END_TEST

Suite *contract_suite(const char *device)
{
    static char names[DEVICES_MAX][64]; /* suites keep the pointer */
    int d = device_count++;
    if (d == DEVICES_MAX)
        abort(); /* make the array larger */
    devices[d] = device;
    snprintf(names[d], sizeof names[d], "contract %s", device);
    Suite *suite = suite_create(names[d]);
    TCase *tcase = tcase_create("contract");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, test_every_way, d * WAYS, (d + 1) * WAYS);
    tcase_add_loop_test(tcase, test_every_chain, d, d + 1);
    tcase_add_loop_test(tcase, test_callbacks, d, d + 1);
    tcase_add_loop_test(tcase, test_priorities, d, d + 1);
    tcase_add_loop_test(tcase, test_slots, d, d + 1);
    tcase_add_loop_test(tcase, test_host_memory, d, d + 1);
    tcase_add_loop_test(tcase, test_graphs, d, d + 1);
    tcase_add_loop_test(tcase, test_batches, d, d + 1);
    tcase_add_loop_test(tcase, test_allocs, d, d + 1);
    tcase_add_loop_test(tcase, test_packing, d, d + 1);
    tcase_add_loop_test(tcase, test_managed, d, d + 1);
    tcase_add_loop_test(tcase, test_mapped_chains, d, d + 1);
    tcase_add_loop_test(tcase, test_scattered_tiles, d, d + 1);
    tcase_add_loop_test(tcase, test_connections, d, d + 1);
    tcase_add_loop_test(tcase, test_description, d, d + 1);
    tcase_add_loop_test(tcase, test_used_again, d, d + 1);
    tcase_add_loop_test(tcase, test_too_large, d, d + 1);
    tcase_add_loop_test(tcase, test_wrong_device, d, d + 1);
    tcase_add_loop_test(tcase, test_list, d, d + 1);
    suite_add_tcase(suite, tcase);
    return suite;
}
