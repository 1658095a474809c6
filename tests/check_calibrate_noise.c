/* check_calibrate_noise.c - a device whose times are disturbed is calibrated: its figures are
 * found all the same, or it is refused, but no wrong figure is given. */
#include "calibrate/calibrate.h"
#include "fixtures.h"
#include "machine/fields.h"
#include "suites.h"
#include "virtual_backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct machine h200(void)
{
    struct machine machine;
    struct error error = {0};
    ck_assert_msg(machine_built_in(&machine, "h200", &error) == STATUS_OK, "%s", error.text);
    return machine;
}

/* Calibrates the device; the result is to be freed. NULL: it was refused. */
static struct calibration *calibrated(struct virtual_device *device, struct error *error)
{
    struct settings settings = test_settings("scale");
    struct calibration *calibration = calloc(1, sizeof *calibration);
    *error = (struct error){0};
    settings.no_data = true; /* its times are simulated: no bytes are needed */
    if (calibrate(&virtual_noisy_ops, virtual_backend(device), &settings, calibration, error) ==
        STATUS_OK)
        return calibration;
    ck_assert_int_eq(error->status, STATUS_FAILED);
    free(calibration);
    return NULL;
}

/* Shares by which a figure may be off at most. Rates are physical; the others are small times
 * beside large ones. */
static const struct {
    const char *key;
    double part;
} tolerances[] = {
    {"h2d_bytes_per_s", 0.01},
    {"d2h_bytes_per_s", 0.01},
    {"joint_bytes_per_s", 0.01},
    {"memory_bytes_per_s", 0.01},
    {"flops_per_s", 0.01},
    {"pinned_bytes_per_s", 0.02},
    {"pageable_h2d_bytes_per_s", 0.02},
    {"pageable_d2h_bytes_per_s", 0.02},
    {"memory_fill", 0.02},
    {"arithmetic_fill", 0.03},
    {"leftover_excess", 0.03},
    {"cpu_bytes_per_s", 0.2}, /* the median of a few tiles in a trace */
    {"cpu_flops_per_s", 0.2},
    {"issue_wait_ns", 0.15}, /* the difference of two rows' */
    {"kernel_fixed_ns", 0.15},
    {"signal_gap_ns", 0.2}, /* these two are told apart by small differences */
    {"poll_ns", 0.5},
    {"graph_node_ns", 1}, /* an upper bound in any case */
    {NULL, 0.1},          /* all other figures */
};

static double tolerance(const char *key)
{
    int row = 0;
    while (tolerances[row].key != NULL && strcmp(tolerances[row].key, key) != 0)
        row++;
    return tolerances[row].part;
}

static void assert_figures(const struct machine *machine, const struct machine *found,
                           const char *noise, int seed)
{
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        if (field->type == FIELD_TEXT)
            continue;
        double own = machine_field_get(field, machine), got = machine_field_get(field, found);
        ck_assert_msg(fabs(got - own) <= tolerance(field->key) * fabs(own),
                      "%s, seed %d: %s is %.5g and was found to be %.5g", noise, seed,
                      field->key, own, got);
    }
}

/* A calibration keeps this device busy for some 16 s. */
static const struct {
    const char *name;
    struct virtual_noise noise;
} noises[] = {
    {"jitter", {.jitter = 0.002}},
    {"slow runs", {.jitter = 0.002, .slow = 0.15}},
    {"a slow start", {.jitter = 0.002, .cold_ns = 6000000, .ramp_ns = 100000000}},
    {"drift", {.jitter = 0.002, .drift = 0.03, .drift_ns = 16000000000}},
    {"ticks", {.tick_ns = 32}},
    {"all of it",
     {.jitter = 0.002,
      .slow = 0.1,
      .cold_ns = 6000000,
      .ramp_ns = 100000000,
      .drift = 0.02,
      .drift_ns = 16000000000,
      .tick_ns = 32}},
    /* Two of three passes are at half the speed, which is found out; the next three are not. */
    {"a very slow start", {.jitter = 0.002, .ramp_ns = 20000000000}},
};
enum { NOISES = sizeof noises / sizeof noises[0] };

/* A figure is right or refused, whatever the noise, and hardly ever refused. */
START_TEST(test_noise)
{
    struct machine machine = h200();
    bool quick = test_cases(40) < 40;
    int refused = 0, cases = quick || _i == NOISES - 1 ? 1 : test_cases(3);
    for (int seed = 1; seed <= cases; seed++) {
        struct virtual_device device = {.machine = &machine,
                                        .noise = noises[_i].noise,
                                        .random =
                                            (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15)};
        struct error error;
        struct calibration *calibration = calibrated(&device, &error);
        if (calibration != NULL)
            assert_figures(&machine, &calibration->machine, noises[_i].name, seed);
        else
            refused++;
        free(calibration);
    }
    ck_assert_msg(refused <= cases / 20, "%s: %d of %d refused", noises[_i].name, refused,
                  cases);
}
END_TEST

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
    if (copy_bytes(plan, OP_H2D) == 64 << 10)
        machine->h2d_latency_ns += 1500;
}

static void small_copies_out(struct machine *machine, const struct plan *plan)
{
    if (copy_bytes(plan, OP_D2H) == 64 << 10)
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
    if (plan->tiles == 128 && plan->params.intensity == 1 && !plan_has(plan, OP_H2D))
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
    {small_copies_in, "h2d_latency_ns", "copies in of 64 KiB"},
    {small_copies_out, "d2h_latency_ns", "copies out of 64 KiB"},
    {many_light_launches, "memory_bytes_per_s", "launches of `scale`"},
    {heavier_launches, "flops_per_s", "launches of `scale`"},
    {joined_tiles, "issue_record_ns", "joined by events"},
    {tiles_in_one_stream, "h2d_dependency_ns", "in one stream"},
    {tiles_in_six_streams, "signal_gap_ns", "in 6 streams"},
    {many_callbacks, "callback_ns", "callbacks"},
    {free_waits, "issue_wait_ns", "are possible"},
};
enum { TWISTED = sizeof twisted / sizeof twisted[0] };

/* A figure that does not hold, or can't be, is refused by name, with what was found. */
START_TEST(test_refused_by_name)
{
    struct machine machine = h200();
    struct virtual_device device = {.machine = &machine, .twist = twisted[_i].twist};
    struct error error;
    if (test_cases(40) < 40 && _i > 1)
        return; /* one of them takes long under valgrind */
    ck_assert_ptr_null(calibrated(&device, &error));
    ck_assert_msg(strstr(error.text, twisted[_i].key) != NULL &&
                      strstr(error.text, twisted[_i].words) != NULL,
                  "%s: %s", twisted[_i].key, error.text);
}
END_TEST

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
    struct machine machine = h200();
    struct virtual_device device = {.machine = &machine, .twist = odd_copies};
    struct error error;
    struct calibration *calibration = calibrated(&device, &error);
    ck_assert_msg(calibration != NULL, "%s", error.text);
    const struct machine *found = &calibration->machine;
    ck_assert_double_eq_tol(found->h2d_bytes_per_s / machine.h2d_bytes_per_s, 1, 0.002);
    ck_assert_double_eq_tol(found->d2h_bytes_per_s / machine.d2h_bytes_per_s, 1, 0.002);
    ck_assert_int_le(llabs(found->h2d_latency_ns - machine.h2d_latency_ns), 50);
    ck_assert_int_le(llabs(found->d2h_latency_ns - machine.d2h_latency_ns), 50);
    free(calibration);
}
END_TEST

static void slow_between_kernels(struct machine *machine, const struct plan *plan)
{
    if (plan_has(plan, OP_CALLBACK) && plan->params.intensity > 1)
        machine->callback_ns += 20000;
}

/* A callback that takes longer between kernels than among callbacks is no figure, for no rule
 * knows of it; the comment says so. */
START_TEST(test_callbacks_between_kernels)
{
    struct machine machine = h200();
    struct virtual_device device = {.machine = &machine, .twist = slow_between_kernels};
    struct error error;
    struct calibration *calibration = calibrated(&device, &error);
    ck_assert_msg(calibration != NULL, "%s", error.text);
    ck_assert_int_eq(calibration->machine.callback_ns, machine.callback_ns);
    char *text = calibration_text(calibration);
    ck_assert_msg(strstr(text, "takes 20.0 us more in one stream") != NULL, "%s",
                  strstr(text, "callback_ns = "));
    free(text);
    free(calibration);
}
END_TEST

Suite *calibrate_noise_suite(void)
{
    Suite *suite = suite_create("calibrate_noise");
    TCase *noise = tcase_create("noise");
    tcase_add_loop_test(noise, test_noise, 0, NOISES);
    suite_add_tcase(suite, noise);
    TCase *twist = tcase_create("no machine's");
    tcase_add_loop_test(twist, test_refused_by_name, 0, TWISTED);
    tcase_add_test(twist, test_odd_size);
    tcase_add_test(twist, test_callbacks_between_kernels);
    suite_add_tcase(suite, twist);
    return suite;
}
