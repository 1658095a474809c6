/* check_calibrate.c - a simulated machine that is calibrated gives its own figures back: each
 * built-in machine, and random ones that no one has built. */
#include "calibrate/calibrate.h"
#include "calibrate/rig.h"
#include "kernels/kernel_code.h"
#include "machine/fields.h"
#include "sim_cases.h"
#include "suites.h"
#include "virtual_backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void calibrate_machine(const struct machine *machine, struct calibration *calibration)
{
    struct virtual_device device = {.machine = machine};
    struct settings settings = test_settings("scale");
    struct error error = {0};
    enum status status = calibrate(&virtual_ops, virtual_backend(&device), &settings,
                                   CALIBRATE_ALL, calibration, &error);
    ck_assert_msg(status == STATUS_OK, "%s: %s", machine->name, error.text);
    ck_assert(!device.prepared);
}

/* --- the figures that can be told --- */

/* How far a figure may be off: by that part of it, and that much more. Times are whole ns, and
 * some are differences of sums of several; rates follow from times. */
struct tolerance {
    const char *key;
    double part, more;
};

static const struct tolerance tolerances[] = {
    /* An SM holds whole blocks: the excess shows only in a few steps. */
    {"leftover_excess", 0, 0.05},
    /* These are the rest of a pipeline's time when all else is taken off. */
    {"signal_gap_ns", 0.02, 20},
    {"poll_ns", 0.02, 5},
    /* An upper bound: small kernels in 32 branches take time themselves. */
    {"graph_node_ns", 0.02, 250},
    /* This is told by a launch on a small part of the GPU's blocks. */
    {"arithmetic_fill", 0.01, 0},
    {"memory_fill", 0.02, 0},
    {"idle_memory_share", 0.02, 0},
    {"mapped_latency_ns", 0.02, 20}, /* beside bytes that take as long, or longer */
    {NULL, 0.005, 5},                /* all other figures */
};

static void assert_near(const struct machine *machine, const char *section, const char *key,
                        double found, double expected)
{
    const struct tolerance *row = tolerances;
    while (row->key != NULL && strcmp(row->key, key) != 0)
        row++;
    ck_assert_msg(fabs(found - expected) <= row->part * fabs(expected) + row->more,
                  "%s: [%s] %s is %.6g and was found to be %.6g", machine->name, section, key,
                  expected, found);
}

/* Returns the value of `key` that calibration finds, where that is not the machine's own
 * figure. */
static double expected_of(const struct machine *machine, const struct machine_field *field)
{
    const struct kernel_params once = {.intensity = 1};
    const struct kernel *scale = kernel_find("scale");
    struct kernel_cost cost = machine_kernel_cost(machine, scale, &once, 1000000);
    const char *key = field->key;
    /* Both directions at once are never faster than each alone; and where they take turns on
     * one engine nobody can tell how fast both would be. */
    double in = machine->h2d_bytes_per_s, out = machine->d2h_bytes_per_s;
    if (strcmp(key, "joint_bytes_per_s") == 0)
        return machine->copy_engines == 1 ? fmax(in, out)
                                          : fmin(machine->joint_bytes_per_s, in + out);
    /* With one queue an engine has no other to look at. */
    if (strcmp(key, "poll_ns") == 0 && machine->queues == 1)
        return 0;
    /* In a graph the device takes up a kernel, too, before that one can start. */
    if (strcmp(key, "graph_gap_ns") == 0)
        return fmax((double)machine->graph_gap_ns, (double)machine->graph_node_ns);
    /* No plan can tell this figure: it comes from CUDA's documentation. */
    if (strcmp(key, "staging_bytes") == 0)
        return 65536;
    /* These figures are for kernels without a section: a written file has none, and `scale`
     * stands for new ones. */
    if (strcmp(key, "memory_bytes_per_s") == 0)
        return 1e9 * kernel_bytes_per_element(scale) * 1e6 / cost.memory_ns;
    if (strcmp(key, "flops_per_s") == 0)
        return 1e9 * kernel_flops_per_element(scale, &once) * 1e6 / cost.arithmetic_ns;
    if (strcmp(key, "kernel_fixed_ns") == 0)
        return (double)cost.fixed_ns;
    /* At least one block on each SM is needed for all the arithmetic, and fewer than a quarter
     * of the grid are not tried on the memory. */
    double resident = machine_resident_blocks(machine);
    if (strcmp(key, "arithmetic_fill") == 0)
        return fmax(cost.arithmetic_fill, machine->sms / resident);
    if (strcmp(key, "memory_fill") == 0)
        return fmax(cost.memory_fill, ceil(resident / 4) / resident);
    if (strcmp(key, "idle_memory_share") == 0)
        return cost.idle_memory_share;
    if (strcmp(key, "cpu_bytes_per_s") == 0)
        return 1e9 * kernel_bytes_per_element(scale) * 1e6 /
               (machine_cpu_ns(machine, scale, &once, 1000000) - (double)machine->cpu_team_ns);
    return machine_field_get(field, machine);
}

/* Returns true if a part of a sweep takes as long as a whole one whatever the excess is: it
 * then has no effect, or hardly any. */
static bool hides_leftover(const struct machine *machine)
{
    const struct kernel_params once = {.intensity = 1};
    return machine_kernel_cost(machine, kernel_find("scale"), &once, 1).arithmetic_fill > 0.55;
}

/* Returns true for a machine whose figures no hardware has together. Its pipeline may take as
 * long with another signal: a copy then ends while the other direction is busy, or does not. */
static bool is_random(const struct machine *machine)
{
    return strncmp(machine->name, "random machine", 14) == 0;
}

/* Returns true for figures that can't be told apart: where both directions share an engine a
 * pipeline shows the time between two copies, but hardly how much of that is the signal and how
 * much the four other queues looked at. */
static bool is_mixed(const struct machine *machine, const char *key)
{
    bool shared = machine->copy_engines == 1 && machine->queues > 1;
    return (shared || is_random(machine)) &&
           (strcmp(key, "signal_gap_ns") == 0 || strcmp(key, "poll_ns") == 0);
}

static double turning_ns(const struct machine *machine)
{
    return (double)(machine->signal_gap_ns + 4 * machine->poll_ns);
}

static void assert_figures(const struct machine *machine, const struct machine *found)
{
    if (is_mixed(machine, "poll_ns") && !is_random(machine))
        assert_near(machine, "copies", "signal_gap_ns", turning_ns(found), turning_ns(machine));
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        if (field->type == FIELD_TEXT || is_mixed(machine, field->key))
            continue;
        if (strcmp(field->key, "leftover_excess") == 0 && hides_leftover(machine))
            continue;
        /* Kernels may move both directions at once where the one engine can't, and how fast
         * they could without the latency nobody can tell. */
        if (strcmp(field->key, "mapped_latency_ns") == 0 && machine->copy_engines == 1)
            continue;
        assert_near(machine, field->section, field->key, machine_field_get(field, found),
                    expected_of(machine, field));
    }
}

/* Returns true if a kernel before it in the table has the same CPU twin. */
static bool shares_twin(const struct kernel *kernel)
{
    const struct kernel *first = kernel_table;
    while (kernel_code(first) != kernel_code(kernel))
        first++;
    return first != kernel;
}

/* Asserts a kernel's figures: those that its launches obey, wherever the file has them. */
static void assert_kernel(const struct machine *machine, const struct machine *found,
                          const struct kernel *kernel)
{
    const struct kernel_params once = {.intensity = 1}, often = {.intensity = 2000};
    const struct machine_kernel *row = machine_kernel_find(found, kernel->name);
    const uint32_t count = 1 << 20;
    ck_assert_msg(row != NULL, "%s: nothing is said of %s", machine->name, kernel->name);
    struct kernel_cost cost = machine_kernel_cost(machine, kernel, &once, count);
    double resident = machine_resident_blocks(machine);
    double bytes = kernel_bytes_per_element(kernel) * count;
    assert_near(machine, kernel->name, "fixed_ns", (double)row->fixed_ns,
                (double)cost.fixed_ns);
    assert_near(machine, kernel->name, "bytes_per_s", row->bytes_per_s,
                1e9 * bytes / cost.memory_ns);
    /* Where the device's memory or its arithmetic is slower than the link, the share is lower
     * and does not matter. */
    double link_ns = machine_link_ns(machine, bytes, 0) / machine_mapped_share(machine, kernel);
    if (machine->copy_engines == 2 && fmax(cost.memory_ns, cost.arithmetic_ns) < link_ns / 4)
        assert_near(machine, kernel->name, "mapped_share", row->mapped_share,
                    machine_mapped_share(machine, kernel));
    assert_near(machine, kernel->name, "memory_fill", row->memory_fill,
                fmax(cost.memory_fill, kernel->whole_grid ? 0 : ceil(resident / 4) / resident));
    if (!kernel->whole_grid)
        assert_near(machine, kernel->name, "idle_memory_share", row->idle_memory_share,
                    cost.idle_memory_share);
    if (kernel->repeats) {
        double flops = kernel_flops_per_element(kernel, &once) * count;
        assert_near(machine, kernel->name, "flops_per_s", row->flops_per_s,
                    1e9 * flops / cost.arithmetic_ns);
        assert_near(machine, kernel->name, "arithmetic_fill", row->arithmetic_fill,
                    fmax(cost.arithmetic_fill, machine->sms / resident));
    }
    if (machine_kernel_find(machine, kernel->name) == NULL && shares_twin(kernel))
        return; /* the twin's figures are those of another section */
    /* The CPU's rates matter only so far: that of memory where arithmetic takes no longer; and
     * that of a kernel that can't be made heavy is hidden behind its memory. */
    assert_near(machine, kernel->name, "the CPU's time for light work",
                machine_cpu_ns(found, kernel, &once, count),
                machine_cpu_ns(machine, kernel, &once, count));
    assert_near(machine, kernel->name, "the CPU's time for heavy work",
                machine_cpu_ns(found, kernel, &often, count),
                machine_cpu_ns(machine, kernel, &often, count));
}

static void assert_kernels(const struct machine *machine, const struct machine *found)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        if (rig_measures(kernel))
            assert_kernel(machine, found, kernel);
}

/* --- the runs that follow from them --- */

/* Plans of every shape. A figure that can't be told must make no difference in any. */
static const struct {
    const char *kernels;
    struct settings settings;
} works[] = {
    {"scale", {.elements = 16 << 20, .tiles = 32, .streams = 4, .ways = 3}},
    {"scale", {.elements = 64 << 20, .tiles = 7, .streams = 3, .ways = 3, .intensity = 1000}},
    {"wave", {.elements = 8 << 20, .tiles = 100, .streams = 8, .ways = 3}},
    {"scale,sum", {.elements = 32 << 20, .tiles = 16, .streams = 2, .ways = 3}},
    {"scale,wave,reduce-shuffle",
     {.elements = 8 << 20, .tiles = 24, .streams = 6, .ways = 3, .intensity = 20}},
    {"scale,scale",
     {.elements = 16 << 20,
      .tiles = 64,
      .streams = 4,
      .ways = 3,
      .intensity = 300,
      .order = ORDER_BREADTH}},
    {"scale", {.elements = 1 << 20, .tiles = 512, .streams = 16, .ways = 3}},
    {"scale",
     {.elements = 16 << 20, .tiles = 40, .streams = 3, .ways = 3, .layout = LAYOUT_STAGE}},
    {"scale",
     {.elements = 16 << 20, .tiles = 16, .streams = 4, .ways = 3, .memory = MEMORY_PAGEABLE}},
    {"scale", {.elements = 16 << 20, .tiles = 16, .streams = 4, .ways = 3, .callbacks = true}},
    {"scale", {.elements = 16 << 20, .tiles = 16, .streams = 4, .ways = 2, .intensity = 500}},
    {"wave", {.elements = 4 << 20, .tiles = 16, .streams = 1, .ways = 1}},
    {"scale", {.elements = 16 << 20, .tiles = 16, .streams = 4, .ways = 4, .cpu_share = 0.25}},
    {"scale",
     {.elements = 1 << 20, .tiles = 256, .streams = 4, .ways = 3, .issue = ISSUE_GRAPH}},
};
enum { WORKS = sizeof works / sizeof works[0] };

static struct settings settings_of(int work)
{
    struct settings settings = test_settings(works[work].kernels), given = works[work].settings;
    memcpy(given.chain, settings.chain, sizeof given.chain);
    given.chain_length = settings.chain_length;
    given.intensity += given.intensity == 0;
    given.device = settings.device;
    given.runs = 1;
    return given;
}

/* Asserts that both machines take as long for each plan, within `part`. */
static void assert_same_times(const struct machine *machine, const struct machine *found,
                              double part)
{
    for (int i = 0; i < WORKS; i++) {
        struct settings settings = settings_of(i);
        if (settings.issue == ISSUE_GRAPH && machine->graph_launch_ns == 0)
            continue;
        struct plan plan = test_built_on(&settings, machine);
        double wanted = (double)sim_span_ns(machine, &plan);
        double ns = (double)sim_span_ns(found, &plan);
        plan_free(&plan);
        ck_assert_msg(fabs(ns / wanted - 1) <= part,
                      "%s: work %d (%s) takes %.0f ns, and %.0f as calibrated (%+.2f %%)",
                      machine->name, i, works[i].kernels, wanted, ns, 100 * (ns / wanted - 1));
    }
}

/* Returns the machine that the written file describes. */
static struct machine read_back(const struct calibration *calibration)
{
    struct machine machine;
    struct error error = {0};
    char *text = calibration_text(calibration);
    ck_assert_ptr_nonnull(text);
    enum status status = machine_parse(&machine, text, "written", &error);
    ck_assert_msg(status == STATUS_OK, "%s in:\n%s", error.text, text);
    free(text);
    return machine;
}

static int count_machines(void)
{
    int count = 0;
    while (machine_texts[count].name != NULL)
        count++;
    return count;
}

static struct machine built_in(int which)
{
    return test_machine_named(machine_texts[which].name);
}

START_TEST(test_built_in_machines)
{
    struct calibration *calibration = calloc(1, sizeof *calibration);
    struct machine machine = built_in(_i);
    calibrate_machine(&machine, calibration);
    assert_figures(&machine, &calibration->machine);
    assert_kernels(&machine, &calibration->machine);
    struct machine read = read_back(calibration);
    assert_figures(&machine, &read);
    assert_same_times(&machine, &read, 0.01);
    free(calibration);
}
END_TEST

/* A calibration gives the same twice: no clock has a part in it. */
START_TEST(test_same_again)
{
    struct calibration *one = calloc(1, sizeof *one), *two = calloc(1, sizeof *two);
    struct machine machine = built_in(_i);
    calibrate_machine(&machine, one);
    calibrate_machine(&machine, two);
    ck_assert_mem_eq(&one->machine, &two->machine, sizeof one->machine);
    free(one);
    free(two);
}
END_TEST

/* --- machines that no one has built --- */

/* Returns a random number from `least` to `most`. */
static double random_real(uint64_t *state, double least, double most)
{
    return least + (most - least) * test_random_below(state, 1000001) / 1e6;
}

static int64_t random_ns(uint64_t *state, int64_t least, int64_t most)
{
    return least + test_random_below(state, (uint32_t)(most - least + 1));
}

/* Draws the copies' figures. Where the link is much slower than both directions together a gap
 * of the one speeds the other up, and a pipeline's time says little of signal_gap_ns: such a
 * machine is not drawn. */
static void change_copies(struct machine *machine, uint64_t *state)
{
    machine->h2d_bytes_per_s = random_real(state, 3e9, 60e9);
    machine->d2h_bytes_per_s = machine->h2d_bytes_per_s * random_real(state, 0.8, 1.2);
    double in = machine->h2d_bytes_per_s, out = machine->d2h_bytes_per_s;
    machine->joint_bytes_per_s = random_real(state, 0.98, 1) * (in + out);
    machine->pageable_h2d_bytes_per_s = in * random_real(state, 0.1, 0.5);
    machine->pageable_d2h_bytes_per_s = out * random_real(state, 0.1, 0.5);
    machine->h2d_latency_ns = random_ns(state, 500, 8000);
    machine->d2h_latency_ns = random_ns(state, 500, 8000);
    machine->h2d_gap_ns = random_ns(state, 200, 2000);
    machine->d2h_gap_ns = random_ns(state, 200, 2000);
}

/* Draws the signals' figures. An op that waits for a copy starts later than the engine's next
 * copy does: else the engine would be what it waits for. */
static void change_signals(struct machine *machine, uint64_t *state)
{
    machine->signal_gap_ns = machine->h2d_gap_ns + random_ns(state, 200, 3000);
    machine->h2d_dependency_ns = machine->signal_gap_ns + random_ns(state, 500, 5000);
    machine->kernel_dependency_ns = machine->signal_gap_ns + random_ns(state, 500, 5000);
    machine->d2h_dependency_ns = machine->signal_gap_ns + random_ns(state, 500, 5000);
    machine->poll_ns = random_ns(state, 0, 800);
    machine->queue_depth = (uint32_t)random_ns(state, 1024, 4000);
}

static void change_kernel(struct machine *machine, const struct kernel *kernel, uint64_t *state)
{
    struct machine_kernel *row = &machine->kernels[machine->kernel_count++];
    *row = (struct machine_kernel){
        .fixed_ns = random_ns(state, 500, 5000),
        .bytes_per_s = machine->memory_bytes_per_s * random_real(state, 0.2, 1),
        .memory_fill = random_real(state, 0.3, 1),
        .mapped_share = random_real(state, 0.1, 1),
    };
    snprintf(row->name, sizeof row->name, "%s", kernel->name);
}

static void change_kernels(struct machine *machine, uint64_t *state)
{
    double before = machine_resident_blocks(machine);
    machine->sms = 4 + test_random_below(state, 180);
    machine->threads_per_sm = KERNEL_THREADS * (4 + test_random_below(state, 5));
    double more = machine_resident_blocks(machine) / before;
    machine->memory_bytes_per_s *= more * random_real(state, 0.7, 1.5);
    machine->flops_per_s *= more * random_real(state, 0.7, 1.5);
    /* Four blocks or more fit on an SM, so one block per SM is at most a quarter of the grid: a
     * fill from there on can be told. */
    machine->arithmetic_fill = random_real(state, 0.25, 1);
    machine->memory_fill = random_real(state, 0.3, 1);
    machine->leftover_excess = random_real(state, 1, 1.55);
    machine->kernel_latency_ns = random_ns(state, 500, 5000);
    machine->kernel_gap_ns = random_ns(state, 300, 1500);
    machine->kernel_fixed_ns = random_ns(state, 500, 5000);
    machine->mapped_latency_ns = random_ns(state, 0, 5000);
    machine->kernel_count = 0;
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        if (rig_measures(kernel) && test_random_below(state, 2) == 0)
            change_kernel(machine, kernel, state);
}

static void change_host(struct machine *machine, uint64_t *state)
{
    machine->issue_copy_ns = random_ns(state, 300, 3000);
    machine->issue_kernel_ns =
        random_ns(state, 1500, 5000); /* never shorter than kernel_gap_ns */
    machine->issue_record_ns = random_ns(state, 0, 1000);
    machine->issue_wait_ns = random_ns(state, 0, 1000);
    machine->issue_callback_ns = random_ns(state, 0, 3000);
    machine->callback_ns = random_ns(state, 500, 9000);
    machine->callback_latency_ns = random_ns(state, 0, 50000);
    machine->callback_wake_ns = random_ns(state, 0, 400000);
    machine->sync_ns = random_ns(state, 0, 9000);
    machine->alloc_ns = random_ns(state, 1000, 900000);
    machine->alloc_small_ns = random_ns(state, 1000, 90000);
    machine->alloc_mib_ns = random_ns(state, 0, 9000);
    machine->pinned_ns = random_ns(state, 0, 3000000);
    machine->pinned_bytes_per_s = random_real(state, 1e9, 9e9);
    machine->cpu_bytes_per_s = random_real(state, 10e9, 200e9);
    machine->cpu_flops_per_s = machine->cpu_bytes_per_s * random_real(state, 10, 30);
    machine->cpu_team_ns = random_ns(state, 0, 30000);
    machine->cpu_core_share = random_real(state, 0.05, 0.5);
    machine->pack_ns = random_ns(state, 0, 20000);
    machine->pack_bytes_per_s = random_real(state, 10e9, 200e9);
    machine->lazy_load_ns = random_ns(state, 0, 900000);
}

/* Draws a graph's figures, where the machine knows graphs. Some hand them over node by node. */
static void change_graphs(struct machine *machine, uint64_t *state)
{
    machine->graph_gap_ns = machine->kernel_gap_ns;
    if (machine->graph_launch_ns == 0)
        return;
    machine->graph_launch_ns = random_ns(state, 1000, 40000);
    machine->graph_launch_node_ns = random_ns(state, 0, 400);
    machine->graph_node_ns = random_ns(state, 0, 800);
    machine->graph_copies_node_ns =
        test_random_below(state, 3) == 0 ? 0 : random_ns(state, 300, 3000);
    machine->graph_gap_ns = random_ns(state, 100, 1500);
}

/* No calibration can tell the share of a kernel whose grid grows with the work: that of `scale`
 * stands for it. */
static void change_idle(struct machine *machine, uint64_t *state)
{
    machine->idle_memory_share = random_real(state, 0.3, 1);
    for (int i = 0; i < machine->kernel_count; i++) {
        struct machine_kernel *row = &machine->kernels[i];
        const bool is_scale = strcmp(row->name, "scale") == 0;
        if (!kernel_find(row->name)->whole_grid)
            row->idle_memory_share =
                is_scale ? machine->idle_memory_share : random_real(state, 0.3, 1);
    }
}

/* Returns one of the built-in machines with all figures changed but those of its generation. */
static struct machine random_machine(uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15);
    struct machine machine =
        built_in((int)test_random_below(&state, (uint32_t)count_machines()));
    snprintf(machine.name, sizeof machine.name, "random machine %d", (int)seed);
    change_copies(&machine, &state);
    change_signals(&machine, &state);
    change_kernels(&machine, &state);
    change_host(&machine, &state);
    change_graphs(&machine, &state);
    change_idle(&machine, &state);
    machine.sync_latency_ns = random_ns(&state, 0, 9000);
    machine.copy_start_ns = random_ns(&state, 0, 5000);
    return machine;
}

START_TEST(test_random_machines)
{
    struct calibration *calibration = calloc(1, sizeof *calibration);
    for (int seed = 1; seed <= test_cases(40); seed++) {
        struct machine machine = random_machine((uint64_t)seed);
        calibrate_machine(&machine, calibration);
        assert_figures(&machine, &calibration->machine);
        assert_kernels(&machine, &calibration->machine);
        struct machine read = read_back(calibration);
        /* An SM's blocks are whole: of two values that are hardly apart one may give it a block
         * more. */
        read.leftover_excess = machine.leftover_excess;
        /* These can't be told here, as is_random() says. */
        read.signal_gap_ns = machine.signal_gap_ns;
        read.poll_ns = machine.poll_ns;
        assert_same_times(&machine, &read, 0.02);
    }
    free(calibration);
}
END_TEST

START_TEST(test_copy_line)
{
    const double bytes[] = {4096, 65536, 16 << 20}, rate = 50e9, latency = 1500;
    double ns[3];
    for (int i = 0; i < 3; i++)
        ns[i] = latency + 1e9 * bytes[i] / rate;
    for (int count = 2; count <= 3; count++) {
        struct copy_line line = copy_line_fit(bytes, ns, count);
        ck_assert_double_eq_tol(line.bytes_per_s, rate, 1e-9 * rate);
        ck_assert_double_eq_tol(line.latency_ns, latency, 1e-6);
        ck_assert_double_lt(line.worst, 1e-9);
    }
    ns[1] *= 1.1; /* the times are no line any more; a short copy's error weighs as much as a
                     long one's */
    ck_assert_double_gt(copy_line_fit(bytes, ns, 3).worst, 0.02);
    ck_assert_double_eq_tol(copy_line_fit(bytes, ns, 3).latency_ns, 1.05 * latency, 50);
}
END_TEST

Suite *calibrate_suite(void)
{
    Suite *suite = suite_create("calibrate");
    TCase *known = tcase_create("built-in machines");
    tcase_add_loop_test(known, test_built_in_machines, 0, count_machines());
    tcase_add_loop_test(known, test_same_again, 0, 2);
    suite_add_tcase(suite, known);
    TCase *unknown = tcase_create("random machines");
    tcase_add_test(unknown, test_random_machines);
    suite_add_tcase(suite, unknown);
    TCase *line = tcase_create("copy line");
    tcase_add_test(line, test_copy_line);
    suite_add_tcase(suite, line);
    return suite;
}
