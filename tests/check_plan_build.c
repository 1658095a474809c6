/* check_plan_build.c - built plans judged by their properties over many generated settings. */
#include "fixtures.h"
#include "plan/build.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

static const char *const chains[] = {
    "scale",
    "wave",
    "sum",
    "reduce-shuffle",
    "scale,sum",
    "scale,wave,scale",
    "wave,wave,sum",
    "scan",
    "scan,scan-exclusive",
    "scan,scan-naive,reduce-shuffle",
    "wave-launches",
    "wave-launches,scale,wave",
};
enum { CHAINS = sizeof chains / sizeof chains[0] };

static struct settings random_settings(uint64_t *random)
{
    struct settings settings =
        test_random_settings(random, chains[test_random_below(random, CHAINS)], 40, 4);
    settings.intensity = 1 + test_random_below(random, 4);
    if (settings.ways == 4 && kernel_chain_scans(settings.chain, settings.chain_length))
        settings.ways = 3;
    settings.blocks = test_random_below(random, 3) ? 0 : 1 + test_random_below(random, 40);
    if (settings.ways == 4 && test_random_below(random, 2))
        settings.cpu_share = test_random_below(random, 11) / 10.0;
    if (test_random_below(random, 3) == 0) {
        settings.priority_count = 2;
        settings.priorities[0] = -100;
    }
    return settings;
}

static int inputs_of(const struct plan *plan)
{
    int inputs = 1;
    for (int i = 0; i < plan->chain_length; i++)
        inputs = plan->chain[i]->inputs > inputs ? plan->chain[i]->inputs : inputs;
    return inputs;
}

/* Asserts that every tile goes once through every stage, and is issued in that order. */
static void assert_every_tile_once(const struct plan *plan, bool callbacks)
{
    uint32_t gpu_tiles = plan->tiles - plan->cpu_tiles;
    for (uint32_t tile = 0; tile < plan->tiles; tile++) {
        uint32_t repeats = 0;
        int copies_in = 0, kernels = 0, copies_out = 0, cpu = 0, called = 0;
        for (uint32_t i = 0; i < plan->op_count; i++) {
            const struct op *op = &plan->ops[i];
            if (op->tile != (int32_t)tile)
                continue;
            if (op->kind == OP_H2D) {
                ck_assert_int_eq(kernels + copies_out, 0);
                copies_in++;
            } else if (op->kind == OP_KERNEL) {
                const struct kernel *kernel = plan->chain[kernels];
                ck_assert_int_eq((int)op->kernel.link, kernels);
                ck_assert_uint_eq(op->kernel.repeat, repeats);
                ck_assert_int_eq(copies_in, inputs_of(plan));
                repeats = (repeats + 1) % kernel_launches(kernel, &plan->params);
                kernels += repeats == 0;
            } else if (op->kind == OP_D2H) {
                ck_assert_int_eq(kernels, plan->chain_length);
                copies_out++;
            } else if (op->kind == OP_CPU) {
                cpu++;
            } else if (op->kind == OP_CALLBACK) {
                ck_assert_int_eq(copies_out, 1);
                called++;
            }
        }
        bool gpu = tile < gpu_tiles;
        ck_assert_int_eq(copies_in, gpu ? inputs_of(plan) : 0);
        ck_assert_int_eq(kernels, gpu ? plan->chain_length : 0);
        ck_assert_int_eq(copies_out, gpu ? 1 : 0);
        ck_assert_int_eq(cpu, gpu ? 0 : 1);
        ck_assert_int_eq(called, gpu && callbacks ? 1 : 0);
    }
}

START_TEST(test_generated_plans_are_whole_and_free_of_hazards)
{
    uint64_t random = 4711;
    for (int i = 0; i < test_cases(3000); i++) {
        struct settings settings = random_settings(&random);
        struct plan plan = test_built(&settings);
        ck_assert_uint_eq(test_hazard_count(&plan), 0);
        assert_every_tile_once(&plan, settings.callbacks);
        uint32_t gpu_tiles = plan.tiles - plan.cpu_tiles;
        if (settings.ways >= 3)
            ck_assert_uint_le(plan.slots, settings.streams);
        else
            ck_assert_uint_eq(plan.slots, gpu_tiles);
        plan_free(&plan);
    }
}
END_TEST

/* No wait is idle: leave any one out and two ops race. */
START_TEST(test_every_wait_is_needed)
{
    uint64_t random = 815;
    int waits = 0;
    for (int i = 0; i < test_cases(400); i++) {
        struct settings settings = random_settings(&random);
        settings.tiles = 1 + settings.tiles % 12;
        struct plan plan = test_built(&settings);
        for (uint32_t w = 0; w < plan.op_count; w++) {
            if (plan.ops[w].kind != OP_WAIT)
                continue;
            struct op kept = plan.ops[w];
            /* A record of an event that nobody waits for takes its place. */
            plan.ops[w].kind = OP_RECORD;
            plan.ops[w].event.event = plan.events++;
            ck_assert_msg(test_hazard_count(&plan) > 0, "%s %s ways %d: wait %u of %u is idle",
                          order_names[settings.order], layout_names[settings.layout],
                          settings.ways, w, plan.op_count);
            plan.ops[w] = kept;
            plan.events--;
            waits++;
        }
        plan_free(&plan);
    }
    ck_assert_int_gt(waits, 50);
}
END_TEST

START_TEST(test_depth_first_goes_tile_by_tile)
{
    struct settings settings = test_settings("scale,sum");
    settings.tiles = 6;
    struct plan plan = test_built(&settings);
    int32_t tile = 0;
    for (uint32_t i = 0; i < plan.op_count; i++) {
        ck_assert_int_ge(plan.ops[i].tile, tile);
        tile = plan.ops[i].tile;
    }
    ck_assert_int_eq(tile, 5);
    plan_free(&plan);
}
END_TEST

START_TEST(test_breadth_first_goes_stage_by_stage_in_waves)
{
    static const char expected[] = "h0 h1 h2 k0 k1 k2 d0 d1 d2 h3 h4 k3 k4 d3 d4 ";
    struct settings settings = test_settings("scale");
    settings.tiles = 5;
    settings.streams = 3;
    settings.order = ORDER_BREADTH;
    struct plan plan = test_built(&settings);
    char text[128] = "";
    for (uint32_t i = 0; i < plan.op_count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%c%d ", op_kind_name(plan.ops[i].kind)[0],
                 plan.ops[i].tile);
        ck_assert_uint_eq(plan.ops[i].stream, (uint32_t)plan.ops[i].tile % 3);
    }
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(plan.events, 0);
    plan_free(&plan);
}
END_TEST

START_TEST(test_serial_is_one_stream_in_three_phases)
{
    struct settings settings = test_settings("scale");
    settings.ways = 1;
    settings.streams = 1;
    settings.layout = LAYOUT_STAGE;
    struct plan plan = test_built(&settings);
    enum op_kind reached = OP_H2D;
    ck_assert_uint_eq(plan.streams, 1);
    ck_assert_uint_eq(plan.events, 0);
    for (uint32_t i = 0; i < plan.op_count; i++) {
        ck_assert_int_ge(plan.ops[i].kind, reached);
        reached = plan.ops[i].kind;
    }
    ck_assert_int_eq(reached, OP_D2H);
    plan_free(&plan);
}
END_TEST

/* In 2-way every kernel's stream has waited for the last copy in. */
START_TEST(test_two_way_copies_everything_in_first)
{
    for (int layout = LAYOUT_TILE; layout <= LAYOUT_STAGE; layout++) {
        struct settings settings = test_settings("scale");
        settings.ways = 2;
        settings.tiles = 7;
        settings.layout = (enum layout)layout;
        struct plan plan = test_built(&settings);
        uint32_t last_in = 0, waited = 0;
        for (uint32_t i = 0; i < plan.op_count; i++)
            last_in = plan.ops[i].kind == OP_H2D ? i : last_in;
        ck_assert_int_eq(plan.ops[last_in + 1].kind, OP_RECORD);
        uint32_t event = plan.ops[last_in + 1].event.event;
        bool stream_waited[8] = {false};
        for (uint32_t i = 0; i < plan.op_count; i++) {
            const struct op *op = &plan.ops[i];
            if (op->kind == OP_WAIT && op->event.event == event)
                stream_waited[op->stream] = true;
            if (op->kind != OP_KERNEL)
                continue;
            ck_assert_uint_gt(i, last_in);
            ck_assert(stream_waited[op->stream] || op->stream == plan.ops[last_in].stream);
            waited++;
        }
        ck_assert_uint_eq(waited, 7);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(test_stage_layout_has_a_stream_per_stage)
{
    struct settings settings = test_settings("scale,scale");
    settings.layout = LAYOUT_STAGE;
    settings.tiles = 9;
    struct plan plan = test_built(&settings);
    ck_assert_uint_eq(plan.streams, 3);
    ck_assert_uint_eq(plan.slots, 4);
    for (uint32_t i = 0; i < plan.op_count; i++) {
        if (plan.ops[i].kind == OP_H2D)
            ck_assert_uint_eq(plan.ops[i].stream, 0);
        if (plan.ops[i].kind == OP_KERNEL)
            ck_assert_uint_eq(plan.ops[i].stream, 1);
        if (plan.ops[i].kind == OP_D2H)
            ck_assert_uint_eq(plan.ops[i].stream, 2);
    }
    plan_free(&plan);
}
END_TEST

START_TEST(test_device_memory_does_not_grow_with_the_array)
{
    struct settings settings = test_settings("wave");
    settings.elements = UINT64_C(1) << 36;
    settings.tiles = 65536;
    struct plan plan = test_built(&settings);
    /* There are four slots of two inputs and an output, each with room for a tile of 4 MiB. */
    ck_assert_uint_eq(plan_device_bytes(&plan), UINT64_C(4) * 3 * 4 << 20);
    ck_assert_uint_eq(plan_host_bytes(&plan), UINT64_C(3) * 4 << 36);
    plan_free(&plan);
}
END_TEST

/* A tile of 1024 elements fills a block of `scale`, whose threads take four elements at a time:
 * so many blocks there are at most, and no more than asked for or, by auto, than the machine
 * holds. */
START_TEST(test_blocks)
{
    static const struct {
        uint32_t asked, blocks;
    } cases[] = {{0, 8}, {1, 1}, {3, 3}, {12, 12}, {100, 20}, {4096, 20}};
    struct machine machine = test_machine();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct settings settings = test_settings("scale,scale");
        settings.blocks = cases[i].asked;
        settings.tiles = 3;
        settings.elements = 3 * 20 * 1024;
        struct plan plan = test_built_on(&settings, &machine);
        for (uint32_t k = 0; k < plan.op_count; k++) {
            if (plan.ops[k].kind == OP_KERNEL)
                ck_assert_uint_eq(plan.ops[k].kernel.blocks, cases[i].blocks);
        }
        plan_free(&plan);
    }
}
END_TEST

/* Kernels that settle their blocks themselves take no number of them. */
START_TEST(test_blocks_are_refused)
{
    static const char *const names[] = {"transpose-naive", "stride-copy,scale",
                                        "reduce-divergent", "dgemm"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct settings settings = test_settings(names[i]);
        struct error error = {0};
        settings.columns = 1;
        settings.rows = 1;
        settings.blocks = 1;
        ck_assert_int_eq(settings_check(&settings, &error), STATUS_USAGE);
        ck_assert_ptr_nonnull(strstr(error.text, "blocks=1 can't be: "));
        ck_assert_ptr_nonnull(strstr(error.text, "use blocks=auto, or a kernel such as scale"));
    }
}
END_TEST

START_TEST(test_priorities_are_dealt_and_clamped)
{
    struct settings settings = test_settings("scale");
    settings.streams = 3;
    settings.priority_count = 2;
    settings.priorities[0] = 7;
    settings.priorities[1] = -9;
    struct plan plan = test_built(&settings);
    ck_assert_int_eq(plan.priorities[0], 0);
    ck_assert_int_eq(plan.priorities[1], -5);
    ck_assert_int_eq(plan.priorities[2], 0);
    plan_free(&plan);
}
END_TEST

START_TEST(test_cpu_share)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.tiles = 100;
    ck_assert_uint_eq(plan_cpu_tiles(&settings, &machine), 0);
    settings.ways = 4;
    settings.cpu_share = 0.25;
    ck_assert_uint_eq(plan_cpu_tiles(&settings, &machine), 25);
    settings.cpu_share = 0;
    ck_assert_uint_eq(plan_cpu_tiles(&settings, &machine), 0);
    settings.cpu_share = 1;
    ck_assert_uint_eq(plan_cpu_tiles(&settings, &machine), 100);
    /* Per element the GPU needs 4 ns for its copies and the CPU 2 for its flops, so that the
     * GPU gets a third of the tiles. */
    settings.cpu_share = -1;
    ck_assert_uint_eq(plan_cpu_tiles(&settings, &machine), 67);
    machine.cpu_flops_per_s = 1e6;
    ck_assert_uint_eq(plan_cpu_tiles(&settings, &machine), 0);
    machine.cpu_flops_per_s = 1e15;
    ck_assert_uint_eq(plan_cpu_tiles(&settings, &machine), 100);
    settings.tiles = 1;
    ck_assert_uint_eq(plan_cpu_tiles(&settings, &machine), 1);
}
END_TEST

/* Settings that no option can give, but a caller of the library can. */
START_TEST(test_settings_that_make_no_plan)
{
    const struct settings good = test_settings("scale");
    struct settings bad[] = {good, good, good, good, good, good, good};
    bad[0].chain_length = 0;
    bad[1].chain_length = CHAIN_MAX + 1;
    bad[2].elements = 0;
    bad[3].tiles = 0;
    bad[4].tiles = TILES_MAX + 1;
    bad[5].streams = 0;
    bad[6].streams = STREAMS_MAX + 1;
    struct machine machine = test_machine();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct plan plan;
        struct error error = {0};
        bad[i].order = ORDER_BREADTH;
        ck_assert_int_eq(plan_build(&bad[i], &machine, &plan, &error), STATUS_FAILED);
        ck_assert_ptr_nonnull(strstr(error.text, "a plan needs elements"));
        ck_assert_ptr_null(plan.ops);
    }
}
END_TEST

/* What would take more than 4 GiB is refused, with a number of tiles that is not. */
START_TEST(test_sizes_at_the_limit)
{
    struct settings cases[] = {test_settings("scale"), test_settings("scale"),
                               test_settings("scale,wave"), test_settings("scale")};
    struct machine machine = test_machine();
    cases[1].layout = LAYOUT_STAGE;
    cases[1].callbacks = true;
    cases[2].order = ORDER_BREADTH;
    cases[3].ways = 4;
    cases[3].cpu_share = 1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct settings *settings = &cases[i];
        struct plan plan;
        struct error error = {0};
        settings->elements = settings->tiles = TILES_MAX;
        ck_assert_int_eq(plan_build(settings, &machine, &plan, &error), STATUS_USAGE);
        ck_assert_ptr_null(plan.ops);
        const char *remedy = strstr(error.text, ": --tiles=");
        ck_assert_msg(remedy != NULL, "%s", error.text);
        ck_assert_int_eq(sscanf(remedy, ": --tiles=%u", &settings->tiles), 1);
        error_clear(&error);
        plan = test_built_on(settings, &machine);
        const uint32_t most = settings_ops_most(settings);
        ck_assert_uint_le(plan.op_count, most);
        ck_assert_uint_gt(plan.op_count, most - most / 20);
        plan_free(&plan);
    }
}
END_TEST

Suite *plan_build_suite(void)
{
    Suite *suite = suite_create("plan_build");
    TCase *tests = tcase_create("plan_build");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_generated_plans_are_whole_and_free_of_hazards);
    tcase_add_test(tests, test_every_wait_is_needed);
    tcase_add_test(tests, test_depth_first_goes_tile_by_tile);
    tcase_add_test(tests, test_breadth_first_goes_stage_by_stage_in_waves);
    tcase_add_test(tests, test_serial_is_one_stream_in_three_phases);
    tcase_add_test(tests, test_two_way_copies_everything_in_first);
    tcase_add_test(tests, test_stage_layout_has_a_stream_per_stage);
    tcase_add_test(tests, test_device_memory_does_not_grow_with_the_array);
    tcase_add_test(tests, test_blocks);
    tcase_add_test(tests, test_blocks_are_refused);
    tcase_add_test(tests, test_priorities_are_dealt_and_clamped);
    tcase_add_test(tests, test_cpu_share);
    tcase_add_test(tests, test_settings_that_make_no_plan);
    if (test_cases(100) == 100) /* not under slow tools */
        tcase_add_test(tests, test_sizes_at_the_limit);
    suite_add_tcase(suite, tests);
    return suite;
}
