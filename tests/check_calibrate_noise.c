/* check_calibrate_noise.c - a device whose times are disturbed is calibrated: its figures are
 * found all the same, or it is refused, but no wrong figure is given. */
#include "calibrate/calibrate.h"
#include "calibrate/rig.h"
#include "fixtures.h"
#include "machine/fields.h"
#include "plan/rules.h"
#include "plan/rules_blocks.h"
#include "suites.h"
#include "virtual_backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shares by which a figure may be off at most. Rates are physical; the others are small times
 * beside large ones. */
static const struct {
    const char *key;
    double part, least; /* and how many of its units it may be off in any case */
} tolerances[] = {
    {"h2d_bytes_per_s", 0.01, 0},
    {"d2h_bytes_per_s", 0.01, 0},
    {"joint_bytes_per_s", 0.01, 0},
    {"memory_bytes_per_s", 0.01, 0},
    {"flops_per_s", 0.01, 0},
    {"pinned_bytes_per_s", 0.02, 0},
    {"pageable_h2d_bytes_per_s", 0.02, 0},
    {"pageable_d2h_bytes_per_s", 0.02, 0},
    {"memory_fill", 0.02, 0},
    {"arithmetic_fill", 0.03, 0},
    {"leftover_excess", 0.03, 0},
    {"idle_memory_share", 0.03, 0},
    {"cpu_bytes_per_s", 0.2, 0}, /* the median of a few tiles in a trace */
    {"cpu_flops_per_s", 0.2, 0},
    {"h2d_latency_ns", 0.25, 0}, /* what is left beside the bytes */
    {"d2h_latency_ns", 0.25, 0},
    {"batch_gap_ns", 0.2, 10},  /* an H200's is 8, and its clock ticks every 32 */
    {"graph_gap_ns", 0.1, 100}, /* what is left beside a kernel's own time */
    {"pack_ns", 0.2, 0},        /* what is left of 64 KiB beside the bytes */
    {"issue_wait_ns", 0.15, 0}, /* the difference of two rows' */
    {"kernel_fixed_ns", 0.15, 0},
    {"fixed_ns", 0.15, 0},
    {"bytes_per_s", 0.01, 0},
    {"signal_gap_ns", 0.4, 0}, /* these two are told apart by small differences */
    {"poll_ns", 0.5, 0},
    {"graph_node_ns", 1, 0}, /* an upper bound in any case */
    {NULL, 0.1, 0},          /* all other figures */
};

static double tolerance(const char *key, double own)
{
    int row = 0;
    while (tolerances[row].key != NULL && strcmp(tolerances[row].key, key) != 0)
        row++;
    return fmax(tolerances[row].part * fabs(own), tolerances[row].least);
}

static void assert_near(const char *noise, int seed, const char *section, const char *key,
                        double own, double got)
{
    ck_assert_msg(fabs(got - own) <= tolerance(key, own),
                  "%s, seed %d: [%s] %s is %.5g and was found to be %.5g", noise, seed, section,
                  key, own, got);
}

/* The CPU's rates matter only so far as they decide its times. */
static void assert_cpu_times(const struct machine *machine, const struct machine *found,
                             const struct kernel *kernel, const char *noise, int seed)
{
    static const uint32_t intensities[] = {1, 2000};
    for (int i = 0; i < 2; i++) {
        const struct kernel_params params = {.intensity = intensities[i]};
        assert_near(noise, seed, kernel->name, i == 0 ? "cpu_bytes_per_s" : "cpu_flops_per_s",
                    machine_cpu_ns(machine, kernel, &params, 1 << 20),
                    machine_cpu_ns(found, kernel, &params, 1 << 20));
    }
}

/* Returns true for a figure of memory where arithmetic takes longer at any intensity, or of how
 * few blocks take all of it where a grid grows with the work: it decides only little of what
 * launches take. */
static bool hides_memory(const struct machine *machine, const struct kernel *kernel,
                         const char *key)
{
    const struct kernel_params once = {.intensity = 1};
    struct kernel_cost cost = machine_kernel_cost(machine, kernel, &once, 1 << 20);
    bool few = strcmp(key, "memory_fill") == 0 || strcmp(key, "idle_memory_share") == 0;
    bool memory = few || strcmp(key, "bytes_per_s") == 0;
    return (memory && cost.arithmetic_ns > cost.memory_ns) || (few && kernel->whole_grid);
}

/* A kernel's figures together decide what launches take: light and heavy ones, on a full grid
 * and on a quarter of it. Where just that quarter takes all of the memory, noise of the one
 * launch that is measured there only ever makes it look longer. */
static void assert_launches(const struct machine *machine, const struct machine *found,
                            const struct kernel *kernel, const char *noise, int seed)
{
    static const uint32_t intensities[] = {1, 5, 50, 2000};
    enum { QUARTERS = 4 };
    uint32_t resident = machine_resident_blocks(machine);
    const struct machine_kernel *figures = machine_kernel_find(machine, kernel->name);
    const bool at_edge = figures != NULL && fabs(QUARTERS * figures->memory_fill - 1) < 0.05;
    const double few_part = at_edge ? 0.04 : 0.02;
    uint64_t count = (uint64_t)resident * KERNEL_THREADS * kernel->sweep * 3;
    for (int i = 0; i < (kernel->repeats ? 8 : 2); i++) {
        const struct kernel_params params = {.intensity = intensities[i / 2]};
        const uint32_t blocks = i % 2 == 0 ? resident : (resident + 3) / 4;
        double own = rule_launch_alone_ns(machine, kernel, &params, count, blocks);
        double got = rule_launch_alone_ns(found, kernel, &params, count, blocks);
        ck_assert_msg(fabs(got - own) <= (i % 2 == 0 ? 0.01 : few_part) * own + 100,
                      "%s, seed %d: %s at intensity %u on %u blocks takes %.0f ns, and %.0f as "
                      "found",
                      noise, seed, kernel->name, params.intensity, blocks, own, got);
    }
}

/* What one device alone can't tell is not measured. */
static bool is_measured(const struct machine_field *field)
{
    return field->type != FIELD_TEXT && strcmp(field->section, "rows") != 0 &&
           strcmp(field->key, "issue_take_ns") != 0 &&
           strcmp(field->key, "take_first_ns") != 0 && strncmp(field->key, "peer_", 5) != 0 &&
           strcmp(field->section, "spread") != 0;
}

/* The figures of the machine, and those of its kernels that its file has: others are of those
 * that no launch tells. */
static void assert_figures(const struct machine *machine, const struct machine *found,
                           const char *noise, int seed)
{
    int compared = 0;
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        if (is_measured(field))
            assert_near(noise, seed, field->section, field->key,
                        machine_field_get(field, machine), machine_field_get(field, found));
    }
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        const struct machine_kernel *own = machine_kernel_find(machine, kernel->name);
        const struct machine_kernel *got = machine_kernel_find(found, kernel->name);
        if (!rig_measures(kernel) || own == NULL)
            continue;
        ck_assert_msg(got != NULL, "%s: nothing was found of %s", noise, kernel->name);
        assert_cpu_times(machine, found, kernel, noise, seed);
        assert_launches(machine, found, kernel, noise, seed);
        for (const struct machine_field *field = machine_kernel_fields; field->key != NULL;
             field++) {
            if (machine_field_get(field, own) == 0 || strncmp(field->key, "cpu_", 4) == 0 ||
                hides_memory(machine, kernel, field->key))
                continue;
            assert_near(noise, seed, kernel->name, field->key, machine_field_get(field, own),
                        machine_field_get(field, got));
            compared++;
        }
    }
    ck_assert_int_gt(compared, 10);
}

/* A calibration keeps this device busy for some 22 s. */
static const struct {
    const char *name;
    struct virtual_noise noise;
} noises[] = {
    {"jitter", {.jitter = 0.002}},
    {"slow runs", {.jitter = 0.002, .slow = 0.15}},
    {"a slow start", {.jitter = 0.002, .cold_ns = 2000000, .ramp_ns = 100000000}},
    {"drift", {.jitter = 0.002, .drift = 0.03, .drift_ns = 16000000000}},
    {"ticks", {.tick_ns = 32}},
    {"all of it",
     {.jitter = 0.002,
      .slow = 0.1,
      .cold_ns = 2000000,
      .ramp_ns = 100000000,
      .drift = 0.02,
      .drift_ns = 16000000000,
      .tick_ns = 32}},
    {"a busy host", {.jitter = 0.002, .busy = 0.3}},
    {"all of it, and a busy host",
     {.jitter = 0.002,
      .slow = 0.1,
      .cold_ns = 2000000,
      .ramp_ns = 100000000,
      .drift = 0.02,
      .drift_ns = 16000000000,
      .tick_ns = 32,
      .busy = 0.1}},
};
enum { NOISES = sizeof noises / sizeof noises[0] };

/* Makes the machine that of one start: its GPU's clock and its host's are as they are then. */
static void start_over(struct machine *machine, uint64_t *state)
{
    double clock = 0.75 + test_random_below(state, 1001) / 4e3;
    double host = 0.8 + test_random_below(state, 1001) / 1e3;
    machine->flops_per_s *= clock;
    for (int i = 0; i < machine->kernel_count; i++)
        machine->kernels[i].flops_per_s *= clock;
    virtual_slow_host(machine, host);
}

/* A figure is right or refused, whatever the noise, and hardly ever refused. */
START_TEST(test_noise)
{
    bool quick = test_cases(40) < 40;
    int refused = 0, cases = quick ? 1 : test_cases(20);
    struct error last = {0}; /* why one was refused */
    for (int seed = 1; seed <= cases; seed++) {
        struct machine machine = virtual_built_in("h200");
        uint64_t state = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15);
        struct virtual_device device = {
            .machine = &machine, .noise = noises[_i].noise, .random = state};
        struct error error;
        machine.mapped_latency_ns = machine.sync_latency_ns = machine.copy_start_ns = 3000;
        for (int i = 0; i < machine.kernel_count; i++)
            machine.kernels[i].idle_memory_share = machine.idle_memory_share = 0.65;
        if (seed > 1) /* the first is as the file says */
            start_over(&machine, &state);
        struct calibration *calibration = virtual_calibrate(&device, &error);
        if (calibration != NULL)
            assert_figures(&machine, &calibration->machine, noises[_i].name, seed);
        else
            last = error;
        refused += calibration == NULL;
        free(calibration);
    }
    ck_assert_msg(refused <= cases / 20, "%s: %d of %d refused: %s", noises[_i].name, refused,
                  cases, last.text);
}
END_TEST

/* A host that takes 1.7 times as long at some times as at others is no reason to refuse the
 * device, whose own figures are found all the same. */
START_TEST(test_moods)
{
    static const char *const physical[] = {"h2d_bytes_per_s", "d2h_bytes_per_s",
                                           "joint_bytes_per_s", "memory_bytes_per_s",
                                           "flops_per_s"};
    int refused = 0, cases = test_cases(12);
    for (int seed = 1; seed <= cases; seed++) {
        struct machine machine = virtual_built_in("h200");
        struct virtual_noise noise = {.jitter = 0.002, .mood_ns = 100000000 + 7777777 * seed};
        struct virtual_device device = {
            .machine = &machine, .noise = noise, .random = (uint64_t)seed};
        struct error error;
        struct calibration *calibration = virtual_calibrate(&device, &error);
        refused += calibration == NULL;
        for (size_t i = 0; calibration != NULL && i < sizeof physical / sizeof physical[0];
             i++) {
            const struct machine_field *field = machine_field_find(machine_fields, physical[i]);
            assert_near("moods", seed, field->section, field->key,
                        machine_field_get(field, &machine),
                        machine_field_get(field, &calibration->machine));
        }
        free(calibration);
    }
    ck_assert_msg(refused <= cases / 10, "%d of %d refused", refused, cases);
}
END_TEST

/* --- the host's calls alone --- */

/* On a slower host the file gets that host's figures, within the noise, and no other changes.
 */
START_TEST(test_calls_alone)
{
    static const struct virtual_noise noise[] = {{.jitter = 0.002},
                                                 {.jitter = 0.002, .slow = 0.15},
                                                 {.jitter = 0.002, .busy = 0.2},
                                                 {.tick_ns = 32}};
    for (int seed = 1; seed <= test_cases(12); seed++) {
        struct machine own = virtual_built_in("h200"), file = virtual_built_in("h200"),
                       before = file;
        int changed = 0;
        virtual_slow_host(&own, 1.4);
        own.h2d_bytes_per_s *= 0.9; /* which is no call's */
        struct virtual_device device = {.machine = &own,
                                        .noise = noise[_i],
                                        .random =
                                            (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15)};
        struct error error;
        ck_assert_msg(virtual_calibrate_calls(&device, &file, &error) == STATUS_OK, "%s",
                      error.text);
        for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
            if (field->type == FIELD_TEXT)
                continue;
            double got = machine_field_get(field, &file);
            if (got == machine_field_get(field, &before))
                continue;
            if (strcmp(field->section, "spread") == 0)
                continue;
            ck_assert(strcmp(field->section, "host") == 0 ||
                      strncmp(field->key, "pageable_", 9) == 0);
            assert_near("calls", seed, field->section, field->key,
                        machine_field_get(field, &own), got);
            changed++;
        }
        ck_assert_int_ge(changed, 14);
        ck_assert_mem_eq(file.kernels, before.kernels, sizeof file.kernels);
    }
}
END_TEST

Suite *calibrate_noise_suite(void)
{
    Suite *suite = suite_create("calibrate_noise");
    TCase *noise = tcase_create("noise");
    tcase_add_loop_test(noise, test_noise, 0, NOISES);
    tcase_add_test(noise, test_moods);
    suite_add_tcase(suite, noise);
    TCase *calls = tcase_create("calls alone");
    tcase_add_loop_test(calls, test_calls_alone, 0, 4);
    suite_add_tcase(suite, calls);
    return suite;
}
