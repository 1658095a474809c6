/* check_calibrate_held.c - figures of a device that no machine file describes: they do not hold
 * for plain runs, and the spreads say by how much. */
#include "app/job.h"
#include "calibrate/calibrate.h"
#include "fixtures.h"
#include "machine/spread.h"
#include "plan/mistake.h"
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

/* Returns how many elements a tile has that the CPU computes; 0: there is none. */
static uint64_t cpu_elements(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].kind == OP_CPU)
            return plan->ops[i].cpu.count;
    return 0;
}

static void cpu_tiles_of_2m(struct machine *machine, const struct plan *plan)
{
    if (plan->cpu_tiles == 8 && cpu_elements(plan) == 2 << 20 && plan->params.intensity == 1)
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
        machine->graph_launch_node_ns *= 16;
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

static const struct {
    void (*twist)(struct machine *machine, const struct plan *plan);
    const char *key;
} twisted[] = {
    {long_copies_in, "h2d_bytes_per_s"},
    {long_copies_out, "d2h_bytes_per_s"},
    {long_copies_both_ways, "joint_bytes_per_s"},
    {small_copies_in, "h2d_latency_ns"},
    {small_copies_out, "d2h_latency_ns"},
    {many_light_launches, "[kernel scale] bytes_per_s"},
    {heavier_launches, "[kernel scale] flops_per_s"},
    {joined_tiles, "issue_record_ns"},
    {tiles_in_one_stream, "h2d_dependency_ns"},
    {tiles_in_six_streams, "signal_gap_ns"},
    {many_callbacks, "callback_ns"},
    {callbacks_side_by_side, "callback_latency_ns"},
    {slow_waits_for_idle, "sync_ns"},
    {slow_large_memory, "alloc_ns"},
    {slow_large_pinned, "pinned_bytes_per_s"},
    {pageable_in, "pageable_h2d_bytes_per_s"},
    {pageable_out, "pageable_d2h_bytes_per_s"},
    {cpu_tiles_of_2m, "cpu_bytes_per_s"},
    {heavy_cpu_tiles, "cpu_flops_per_s"},
    {other_nodes, "graph_launch_node_ns"},
    {other_nodes_with_copies, "graph_copies_node_ns"},
    {other_chains, "graph_gap_ns"},
    {other_launches, "graph_launch_ns"},
    {other_branches, "graph_node_ns"},
    {other_mapped, "[kernel scale] mapped_share"},
    {other_sums, "[kernel sum] bytes_per_s"},
};
enum { TWISTED = sizeof twisted / sizeof twisted[0] };

/* Returns how far a figure's plain run is apart, beyond what is usual. */
static double held_apart(const struct calibration *calibration, const char *key,
                         const char **kernel)
{
    for (int i = 0; i < calibration->outcome_count; i++) {
        const struct outcome *outcome = &calibration->outcomes[i];
        char name[FIGURE_NAME];
        figure_name(outcome->kernel, outcome->key, name);
        *kernel = outcome->kernel;
        if (strcmp(name, key) == 0)
            return outcome->apart - outcome->usual;
    }
    ck_abort_msg("%s was not held", key);
}

/* Returns how many plain runs the figures of a group are held against. */
static int held_of(const struct calibration *calibration, enum machine_spread which)
{
    int held = 0;
    for (int i = 0; i < calibration->outcome_count; i++) {
        const struct outcome *outcome = &calibration->outcomes[i];
        held += machine_spread_of(machine_field_find(
                    outcome->kernel != NULL ? machine_kernel_fields : machine_fields,
                    outcome->key)) == which;
    }
    return held;
}

/* A figure that does not hold for a plain run widens the spread of its group: by the root mean
 * square of what its group's runs are off. */
START_TEST(test_spread_by_name)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine, .twist = twisted[_i].twist};
    struct error error;
    const char *kernel;
    if (test_cases(40) < 40 && _i > 1)
        return; /* one of them takes long under valgrind */
    struct calibration *calibration = virtual_calibrate(&device, &error);
    ck_assert_msg(calibration != NULL, "%s", error.text);
    const double apart = held_apart(calibration, twisted[_i].key, &kernel);
    const char *space = strrchr(twisted[_i].key, ' ');
    const struct machine_field *field =
        machine_field_find(kernel != NULL ? machine_kernel_fields : machine_fields,
                           space != NULL ? space + 1 : twisted[_i].key);
    ck_assert_msg(apart > 0, "%s: %g", twisted[_i].key, apart);
    const enum machine_spread which = machine_spread_of(field);
    ck_assert_double_ge(calibration->machine.spread[which],
                        fmin(3, apart) / sqrt(held_of(calibration, which)) - 1e-9);
    free(calibration);
}
END_TEST

static void free_waits(struct machine *machine, const struct plan *plan)
{
    (void)plan;
    machine->issue_wait_ns = 0;
}

/* A figure that no device can have is that of a file that leaves it out, and the file says so.
 */
START_TEST(test_impossible_figure)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine, .twist = free_waits};
    struct error error;
    struct calibration *calibration = virtual_calibrate(&device, &error);
    ck_assert_msg(calibration != NULL, "%s", error.text);
    const struct figure *figure = calibration_figure(calibration, NULL, "issue_wait_ns");
    ck_assert_str_eq(figure->how,
                     "not measured: as in a file without it; by its times 0, which can't be");
    ck_assert_double_eq(figure->value,
                        machine_field_find(machine_fields, "issue_wait_ns")->otherwise);
    free(calibration);
}
END_TEST

/* --- the host's calls alone --- */

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

/* A job whose host is 1.4 times as slow as its machine file says, and its copies, too. */
struct measured_job {
    struct machine own;
    struct virtual_device device;
    struct options options;
    struct job job;
};

static void begin_job(struct measured_job *it, const char *device, struct settings settings)
{
    *it = (struct measured_job){.own = virtual_built_in("h200"),
                                .options = {.runs = &it->job.settings, .run_count = 1},
                                .job = {.ops = &virtual_noisy_ops, .model_known = true}};
    virtual_slow_host(&it->own, 1.4);
    it->device.machine = &it->own;
    it->options.quiet = true;
    it->job.options = &it->options;
    it->job.backend = virtual_backend(&it->device);
    it->job.settings = settings;
    it->job.settings.no_data = true;
    it->job.reference = it->job.machine = virtual_built_in("h200");
    snprintf(it->job.machine.name, sizeof it->job.machine.name, "NVIDIA H200");
    snprintf(it->job.device, sizeof it->job.device, "%s", device);
}

/* The host is measured where a prediction rests on it, each part once for a device, and what it
 * was stays known; nothing else is measured. */
START_TEST(test_host_at_the_moment)
{
    struct measured_job *it = malloc(sizeof *it);
    struct settings settings = test_settings("scale");
    struct error error = {0};
    const struct machine file = virtual_built_in("h200");
    begin_job(it, "cuda:0", settings);
    ck_assert_int_eq(measured_host(&it->job, &error), STATUS_OK);
    const struct machine pinned = it->job.reference;
    ck_assert_int_eq(it->job.file->issue_copy_ns, file.issue_copy_ns);
    ck_assert_double_eq_tol((double)pinned.issue_copy_ns / (double)it->own.issue_copy_ns, 1,
                            0.02);
    ck_assert_double_eq_tol((double)pinned.callback_ns / (double)it->own.callback_ns, 1, 0.02);
    ck_assert(pinned.spread[SPREAD_CALLS] != file.spread[SPREAD_CALLS]);
    ck_assert_double_eq(pinned.spread[SPREAD_COPIES], file.spread[SPREAD_COPIES]);
    ck_assert_double_eq(pinned.pageable_h2d_bytes_per_s, file.pageable_h2d_bytes_per_s);
    ck_assert_double_eq(pinned.pack_bytes_per_s, file.pack_bytes_per_s);
    ck_assert_int_eq(pinned.graph_launch_node_ns, file.graph_launch_node_ns);
    ck_assert_int_eq(it->job.model.issue_copy_ns, pinned.issue_copy_ns);
    settings.memory = MEMORY_PAGEABLE;
    begin_job(it, "cuda:0", settings);
    ck_assert_int_eq(measured_host(&it->job, &error), STATUS_OK);
    ck_assert_double_eq_tol(
        it->job.reference.pageable_h2d_bytes_per_s / it->own.pageable_h2d_bytes_per_s, 1, 0.02);
    ck_assert_int_eq(it->job.reference.issue_copy_ns, pinned.issue_copy_ns);
    begin_job(it, "cuda:0", settings);
    ck_assert_int_eq(measured_host(&it->job, &error), STATUS_OK);
    ck_assert_int_eq(it->device.calls[VIRTUAL_RUN], 0);
    free(it);
}
END_TEST

/* Nothing is measured where nothing real is predicted, a measurement would disturb, or it is
 * not wanted; a device that fails leaves the machine file's figures. */
START_TEST(test_host_is_left_alone)
{
    struct measured_job *it = malloc(sizeof *it);
    for (int i = 0; i < 8; i++) {
        struct error error = {0};
        begin_job(it, "cuda:1", test_settings("scale"));
        it->options.no_calibrate = i == 0;
        it->options.dry_run = i == 1;
        it->options.emit = i == 2 ? "-" : NULL;
        it->job.settings.profile = i == 3;
        if (i == 4)
            it->job.ops = &virtual_ops;
        if (i == 5)
            it->job.reference = virtual_built_in("h100");
        if (i == 6)
            ck_assert(mistake_find("lazy-loading", &it->job.settings.mistake));
        it->device.fails = VIRTUAL_RUN;
        it->device.fails_at = 1;
        ck_assert_int_eq(measured_host(&it->job, &error), STATUS_OK);
        ck_assert_int_eq(it->device.calls[VIRTUAL_RUN], i == 7);
        ck_assert_int_eq(it->job.reference.issue_copy_ns,
                         virtual_built_in(i == 5 ? "h100" : "h200").issue_copy_ns);
    }
    free(it);
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
    tcase_add_loop_test(twist, test_spread_by_name, 0, TWISTED);
    tcase_add_test(twist, test_impossible_figure);
    tcase_add_test(twist, test_odd_size);
    suite_add_tcase(suite, twist);
    TCase *calls = tcase_create("calls alone");
    tcase_add_test(calls, test_calls_of_a_file_without_graphs);
    tcase_add_test(calls, test_host_at_the_moment);
    tcase_add_test(calls, test_host_is_left_alone);
    suite_add_tcase(suite, calls);
    return suite;
}
