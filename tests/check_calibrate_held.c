/* check_calibrate_held.c - figures of a device that no machine file describes: they do not hold
 * for plain runs, and are refused by name. */
#include "calibrate/calibrate.h"
#include "fixtures.h"
#include "suites.h"
#include "virtual_backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- devices that no machine file describes --- */

/* Each is another machine for the run that a figure is held against, or for that by which it is
 * found: no value of the figure suits both. */
static bool plan_has(const struct plan *plan, enum op_kind kind)
{
    for (uint32_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].kind == kind)
            return true;
    return false;
}

static uint64_t copy_bytes(const struct plan *plan, enum op_kind kind)
{
    for (uint32_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].kind == kind)
            return plan->ops[i].copy.host.bytes;
    return 0;
}

static void long_copies_in(struct machine *machine, const struct plan *plan)
{
    if (copy_bytes(plan, OP_H2D) == 128 << 20)
        machine->h2d_bytes_per_s *= 0.98;
}

static void long_copies_out(struct machine *machine, const struct plan *plan)
{
    if (copy_bytes(plan, OP_D2H) == 128 << 20 && !plan_has(plan, OP_H2D))
        machine->d2h_bytes_per_s *= 1.02;
}

static void long_copies_both_ways(struct machine *machine, const struct plan *plan)
{
    if (copy_bytes(plan, OP_H2D) == 128 << 20 && plan_has(plan, OP_D2H))
        machine->joint_bytes_per_s *= 0.97;
}

static void small_copies_in(struct machine *machine, const struct plan *plan)
{
    if (copy_bytes(plan, OP_H2D) == 128 << 10)
        machine->h2d_latency_ns += 1500;
}

static void small_copies_out(struct machine *machine, const struct plan *plan)
{
    if (copy_bytes(plan, OP_D2H) == 128 << 10)
        machine->d2h_latency_ns -= 1000;
}

static void set_scale(struct machine *machine, double memory, double arithmetic)
{
    struct machine_kernel *scale =
        (struct machine_kernel *)machine_kernel_find(machine, "scale");
    scale->bytes_per_s *= memory;
    scale->flops_per_s *= arithmetic;
}

static void many_light_launches(struct machine *machine, const struct plan *plan)
{
    if (plan->tiles == 16 && plan->params.intensity == 1 && !plan_has(plan, OP_H2D))
        set_scale(machine, 0.9, 1);
}

static void heavier_launches(struct machine *machine, const struct plan *plan)
{
    if (plan->params.intensity == 8000)
        set_scale(machine, 1, 0.9);
}

static void joined_tiles(struct machine *machine, const struct plan *plan)
{
    if (plan_has(plan, OP_WAIT) && plan_has(plan, OP_H2D))
        machine->issue_record_ns *= 10;
}

static void tiles_in_one_stream(struct machine *machine, const struct plan *plan)
{
    if (plan->streams == 1 && plan_has(plan, OP_H2D) && plan_has(plan, OP_KERNEL) &&
        plan_has(plan, OP_D2H))
        machine->kernel_dependency_ns *= 4;
}

static void tiles_in_six_streams(struct machine *machine, const struct plan *plan)
{
    if (plan->streams == 6 && plan->tiles == 160)
        machine->signal_gap_ns *= 4;
}

static void many_callbacks(struct machine *machine, const struct plan *plan)
{
    if (plan_has(plan, OP_CALLBACK) && plan->tiles == 512)
        machine->callback_ns *= 3;
}

static void callbacks_side_by_side(struct machine *machine, const struct plan *plan)
{
    if (plan_has(plan, OP_CALLBACK) && plan->streams == 4 && plan->tiles == 256)
        machine->callback_latency_ns += 50000;
}

static void slow_waits_for_idle(struct machine *machine, const struct plan *plan)
{
    if (plan_has(plan, OP_SYNC) && plan->tiles == 512)
        machine->sync_ns *= 2;
}

static uint64_t alloc_bytes(const struct plan *plan, bool pinned)
{
    for (uint32_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].kind == OP_ALLOC && plan->ops[i].alloc.pinned == pinned)
            return plan->ops[i].alloc.bytes;
    return 0;
}

static void slow_large_memory(struct machine *machine, const struct plan *plan)
{
    if (alloc_bytes(plan, false) == 16 << 20)
        machine->alloc_ns *= 3;
}

static void slow_large_pinned(struct machine *machine, const struct plan *plan)
{
    if (alloc_bytes(plan, true) == 32 << 20)
        machine->pinned_bytes_per_s *= 0.2;
}

static void pageable_in(struct machine *machine, const struct plan *plan)
{
    if (plan->memory == MEMORY_PAGEABLE && copy_bytes(plan, OP_H2D) == 32 << 20)
        machine->pageable_h2d_bytes_per_s *= 0.8;
}

static void pageable_out(struct machine *machine, const struct plan *plan)
{
    if (plan->memory == MEMORY_PAGEABLE && copy_bytes(plan, OP_D2H) == 32 << 20)
        machine->pageable_d2h_bytes_per_s *= 0.8;
}

static void slow_cpu(struct machine *machine, double memory, double arithmetic)
{
    struct machine_kernel *scale =
        (struct machine_kernel *)machine_kernel_find(machine, "scale");
    scale->cpu_bytes_per_s *= memory;
    scale->cpu_flops_per_s *= arithmetic;
}

static void cpu_tiles_of_2m(struct machine *machine, const struct plan *plan)
{
    if (plan->cpu_tiles == 8 && plan->params.intensity == 1)
        slow_cpu(machine, 0.5, 1);
}

static void heavy_cpu_tiles(struct machine *machine, const struct plan *plan)
{
    if (plan->cpu_tiles == 8 && plan->params.intensity == 250)
        slow_cpu(machine, 1, 0.5);
}

static void other_nodes(struct machine *machine, const struct plan *plan)
{
    if (plan->issue == ISSUE_GRAPH && plan->tiles == 6144)
        machine->graph_launch_node_ns *= 4;
}

static void other_nodes_with_copies(struct machine *machine, const struct plan *plan)
{
    if (plan->issue == ISSUE_GRAPH && plan_has(plan, OP_H2D) && plan->streams == 8)
        machine->graph_copies_node_ns *= 2;
}

static void other_chains(struct machine *machine, const struct plan *plan)
{
    if (plan->issue == ISSUE_GRAPH && plan->streams == 2)
        machine->graph_gap_ns *= 5;
}

static void other_launches(struct machine *machine, const struct plan *plan)
{
    if (plan->issue == ISSUE_GRAPH && plan->tiles == 64)
        machine->graph_launch_ns *= 3;
}

static void other_branches(struct machine *machine, const struct plan *plan)
{
    if (plan->issue == ISSUE_GRAPH && plan->tiles == 384)
        machine->graph_node_ns *= 4;
}

static void other_mapped(struct machine *machine, const struct plan *plan)
{
    if (plan->memory == MEMORY_MAPPED && plan->tiles > 2)
        machine->joint_bytes_per_s *= 0.7;
}

static void other_sums(struct machine *machine, const struct plan *plan)
{
    struct machine_kernel *sum = (struct machine_kernel *)machine_kernel_find(machine, "sum");
    if (plan->tiles == 16 && plan->chain[0] == kernel_find("sum"))
        sum->bytes_per_s *= 0.9;
}

static void free_waits(struct machine *machine, const struct plan *plan)
{
    (void)plan;
    machine->issue_wait_ns = 0;
}

static const struct {
    void (*twist)(struct machine *machine, const struct plan *plan);
    const char *key, *words;
} twisted[] = {
    {long_copies_in, "h2d_bytes_per_s", "copies in of 128 MiB"},
    {long_copies_out, "d2h_bytes_per_s", "copies out of 128 MiB"},
    {long_copies_both_ways, "joint_bytes_per_s", "in and out at once"},
    {small_copies_in, "h2d_latency_ns", "copies in of 128 KiB"},
    {small_copies_out, "d2h_latency_ns", "copies out of 128 KiB"},
    {many_light_launches, "[kernel scale] bytes_per_s", "launches on a full grid"},
    {heavier_launches, "[kernel scale] flops_per_s", "heavier launches"},
    {joined_tiles, "issue_record_ns", "joined by events"},
    {tiles_in_one_stream, "h2d_dependency_ns", "in one stream"},
    {tiles_in_six_streams, "signal_gap_ns", "in 6 streams"},
    {many_callbacks, "callback_ns", "callbacks"},
    {callbacks_side_by_side, "callback_latency_ns", "callbacks in 4 streams"},
    {slow_waits_for_idle, "sync_ns", "waits for an idle device"},
    {slow_large_memory, "alloc_ns", "16 MiB of device memory"},
    {slow_large_pinned, "pinned_bytes_per_s", "32 MiB of page-locked memory"},
    {pageable_in, "pageable_h2d_bytes_per_s", "copies in of 32 MiB of pageable memory"},
    {pageable_out, "pageable_d2h_bytes_per_s", "copies out of 32 MiB of pageable memory"},
    {cpu_tiles_of_2m, "cpu_bytes_per_s", "tiles of 2M elements on the CPU"},
    {heavy_cpu_tiles, "cpu_flops_per_s", "tiles of 512k elements on the CPU"},
    {other_nodes, "graph_launch_node_ns", "the calls for launches of a graph of 6144"},
    {other_nodes_with_copies, "graph_copies_node_ns", "the calls for tiles of a graph of 80"},
    {other_chains, "graph_gap_ns", "kernels of a graph in 2 branches"},
    {other_launches, "graph_launch_ns", "the calls for launches of a graph"},
    {other_branches, "graph_node_ns", "kernels of a graph in 32 branches"},
    {other_mapped, "[kernel scale] mapped_share", "launches on some 10 MiB of mapped memory"},
    {other_sums, "[kernel sum] bytes_per_s", "launches on a full grid"},
    {free_waits, "issue_wait_ns", "are possible"},
};
enum { TWISTED = sizeof twisted / sizeof twisted[0] };

/* A figure that does not hold, or can't be, is refused by name, with what was found. */
START_TEST(test_refused_by_name)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine, .twist = twisted[_i].twist};
    struct error error;
    if (test_cases(40) < 40 && _i > 1)
        return; /* one of them takes long under valgrind */
    ck_assert_ptr_null(virtual_calibrate(&device, &error));
    ck_assert_msg(strstr(error.text, twisted[_i].key) != NULL &&
                      strstr(error.text, twisted[_i].words) != NULL,
                  "%s: %s", twisted[_i].key, error.text);
    bool held = strstr(error.text, "was measured to be") != NULL &&
                strstr(error.text, "in plain runs they took") != NULL;
    ck_assert_msg(strstr(error.text, "this device, NVIDIA H200, can't be calibrated") != NULL &&
                      (held || twisted[_i].twist == free_waits),
                  "%s", error.text);
}
END_TEST

/* --- more passes --- */

static int passes; /* that are done, by the row that each ends with */

static void count_passes(struct machine *machine, const struct plan *plan)
{
    (void)machine;
    passes += plan->issue == ISSUE_GRAPH && plan->tiles == 384;
}

/* The first two passes have another rate of copies, and long copies that it does not hold for.
 */
static void two_bad_passes(struct machine *machine, const struct plan *plan)
{
    if (passes < 2) {
        machine->h2d_bytes_per_s *= copy_bytes(plan, OP_H2D) == 128 << 20 ? 0.5 : 0.7;
        machine->lazy_load_ns *= 3;
    }
    count_passes(machine, plan);
}

/* A pass more takes the place of the oldest, until the figures hold. A kernel's loading alone
 * can't be timed again. */
START_TEST(test_one_pass_more)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine, .twist = two_bad_passes};
    struct error error;
    passes = 0;
    struct calibration *calibration = virtual_calibrate(&device, &error);
    ck_assert_msg(calibration != NULL, "%s", error.text);
    ck_assert_int_eq(passes, 4);
    const struct machine *found = &calibration->machine;
    ck_assert_double_eq_tol(found->h2d_bytes_per_s / machine.h2d_bytes_per_s, 1, 0.002);
    ck_assert_double_eq_tol(found->joint_bytes_per_s / machine.joint_bytes_per_s, 1, 0.002);
    ck_assert_int_eq(found->lazy_load_ns, 3 * machine.lazy_load_ns);
    for (int i = 0; i < calibration->figure_count; i++) {
        const struct figure *figure = &calibration->figures[i];
        for (int j = 0; j < i; j++)
            ck_assert(calibration->figures[j].key != figure->key ||
                      calibration->figures[j].kernel != figure->kernel);
    }
    free(calibration);
}
END_TEST

static void bad_in_all_passes(struct machine *machine, const struct plan *plan)
{
    long_copies_in(machine, plan);
    pageable_in(machine, plan);
    count_passes(machine, plan);
}

/* Where all passes agree, more of them are not made; and all that does not hold is named. */
START_TEST(test_no_pass_more)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine, .twist = bad_in_all_passes};
    struct error error;
    passes = 0;
    ck_assert_ptr_null(virtual_calibrate(&device, &error));
    ck_assert_int_eq(passes, 3);
    ck_assert_msg(strstr(error.text, ": h2d_bytes_per_s was measured to be") != NULL &&
                      strstr(error.text, "; pageable_h2d_bytes_per_s was measured") != NULL,
                  "%s", error.text);
}
END_TEST

static void all_wrong(struct machine *machine, const struct plan *plan)
{
    machine->h2d_bytes_per_s *= copy_bytes(plan, OP_H2D) == 128 << 20 ? 0.9 : 1;
    machine->d2h_bytes_per_s *= copy_bytes(plan, OP_D2H) == 128 << 20 ? 0.9 : 1;
    many_light_launches(machine, plan);
    heavier_launches(machine, plan);
    joined_tiles(machine, plan);
    many_callbacks(machine, plan);
    pageable_in(machine, plan);
    pageable_out(machine, plan);
    other_nodes(machine, plan);
    other_launches(machine, plan);
}

/* As many reasons are given as fit in an error. */
START_TEST(test_many_reasons)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine, .twist = all_wrong};
    struct error error;
    ck_assert_ptr_null(virtual_calibrate(&device, &error));
    const char *more = strstr(error.text, "; and ");
    ck_assert_msg(more != NULL &&
                      strcmp(strchr(more, '('), "(is something else running on it?)") == 0,
                  "%s", error.text);
}
END_TEST

/* --- the host's calls alone --- */

static void slow_record_calls(struct machine *machine, const struct plan *plan)
{
    if (plan_has(plan, OP_WAIT) && plan_has(plan, OP_H2D))
        machine->issue_record_ns *= 10;
}

/* Calls that do not hold are refused by name here, too, and the file stays as it was. */
START_TEST(test_calls_refused)
{
    struct machine own = virtual_built_in("h200"), file = virtual_built_in("h200"),
                   before = file;
    struct virtual_device device = {.machine = &own, .twist = slow_record_calls};
    struct error error;
    ck_assert_int_eq(virtual_calibrate_calls(&device, &file, &error), STATUS_FAILED);
    ck_assert_msg(strstr(error.text, "issue_record_ns was measured to be") != NULL, "%s",
                  error.text);
    ck_assert_mem_eq(&file, &before, sizeof file);
}
END_TEST

/* A machine file that knows no graphs stays one that knows none. */
START_TEST(test_calls_of_a_file_without_graphs)
{
    struct machine own = virtual_built_in("h200"), file = virtual_built_in("h200");
    struct virtual_device device = {.machine = &own};
    struct error error;
    file.graph_launch_ns = file.graph_launch_node_ns = file.graph_node_ns = 0;
    ck_assert_msg(virtual_calibrate_calls(&device, &file, &error) == STATUS_OK, "%s",
                  error.text);
    ck_assert_int_eq(file.graph_launch_ns, 0);
    ck_assert_int_eq(file.graph_launch_node_ns, 0);
}
END_TEST

/* --- what is no figure of a machine --- */

static void odd_copies(struct machine *machine, const struct plan *plan)
{
    bool odd = copy_bytes(plan, OP_H2D) == 256 << 10 || copy_bytes(plan, OP_D2H) == 256 << 10;
    machine->h2d_latency_ns += odd ? 700 : 0;
    machine->d2h_latency_ns += odd ? 700 : 0;
}

/* Copies of one size that take longer than the others' line says move neither a rate nor a
 * latency. */
START_TEST(test_odd_size)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine, .twist = odd_copies};
    struct error error;
    struct calibration *calibration = virtual_calibrate(&device, &error);
    ck_assert_msg(calibration != NULL, "%s", error.text);
    const struct machine *found = &calibration->machine;
    ck_assert_double_eq_tol(found->h2d_bytes_per_s / machine.h2d_bytes_per_s, 1, 0.002);
    ck_assert_double_eq_tol(found->d2h_bytes_per_s / machine.d2h_bytes_per_s, 1, 0.002);
    ck_assert_int_le(llabs(found->h2d_latency_ns - machine.h2d_latency_ns), 50);
    ck_assert_int_le(llabs(found->d2h_latency_ns - machine.d2h_latency_ns), 50);
    free(calibration);
}
END_TEST

Suite *calibrate_held_suite(void)
{
    Suite *suite = suite_create("calibrate_held");
    TCase *twist = tcase_create("no machine's");
    tcase_add_loop_test(twist, test_refused_by_name, 0, TWISTED);
    tcase_add_test(twist, test_odd_size);
    tcase_add_test(twist, test_one_pass_more);
    tcase_add_test(twist, test_no_pass_more);
    tcase_add_test(twist, test_many_reasons);
    suite_add_tcase(suite, twist);
    TCase *calls = tcase_create("calls alone");
    tcase_add_test(calls, test_calls_refused);
    tcase_add_test(calls, test_calls_of_a_file_without_graphs);
    suite_add_tcase(suite, calls);
    return suite;
}
