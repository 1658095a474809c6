/* check_calibrate_own.c - a kernel of a user's own is measured with those of the table, and its
 * section of the machine file is read and obeyed. */
#include "calibrate/calibrate.h"
#include "fixtures.h"
#include "kernels/own.h"
#include "kernels/own_kernel.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"
#include "virtual_backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN BUILD_FOLDER "/tests/own/"

/* --- a simulated machine gives its own figures back --- */

/* Calibrations of simulated machines call no twin. */
static void nothing(const struct pipeline_work *work)
{
    (void)work;
}

static const struct pipeline_kernel kernels[] = {
    {.name = "widen", .inputs = 1, .out = PIPELINE_FLOAT64, .flops = 3},
    {.name = "free_of-flops",
     .inputs = 2,
     .in = PIPELINE_FLOAT64,
     .out = PIPELINE_FLOAT64,
     .bytes = 40},
    {.name = "total",
     .inputs = 1,
     .in = PIPELINE_INT32,
     .out = PIPELINE_INT32,
     .reduces = 1,
     .flops = 1},
    {.name = "heavy", .inputs = 1, .flops = 1e5},
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static const struct kernel *add_kernel(int index)
{
    char path[32];
    struct pipeline_kernel own = kernels[index];
    struct error error = {0};
    own.version = PIPELINE_KERNEL_VERSION;
    own.host = nothing;
    snprintf(path, sizeof path, "./own-%d.so", index);
    ck_assert_msg(kernel_own_add(path, &own, &error) == STATUS_OK, "%s", error.text);
    return kernel_own_open(path, &error);
}

static double random_real(uint64_t *state, double least, double most)
{
    return least + (most - least) * test_random_below(state, 1000001) / 1e6;
}

/* Gives the machine a row of the kernel, as a calibration may find it. */
static const struct machine_kernel *add_row(struct machine *machine,
                                            const struct kernel *kernel, uint64_t seed)
{
    const struct kernel_params once = {.intensity = 1};
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15);
    struct machine_kernel *row = &machine->kernels[machine->kernel_count++];
    double bytes, flops;
    kernel_work(kernel, &once, 1 << 20, &bytes, &flops);
    *row = (struct machine_kernel){
        .fixed_ns = 500 + test_random_below(&state, 4500),
        .bytes_per_s = fmin(machine->memory_bytes_per_s * random_real(&state, 0.2, 1),
                            machine->flops_per_s * bytes / fmax(1, flops)),
        .memory_fill = random_real(&state, 0.3, 1),
        .idle_memory_share = random_real(&state, 0.3, 1),
        .mapped_share = random_real(&state, 0.1, 0.8),
        .cpu_bytes_per_s = random_real(&state, 5e9, 50e9),
    };
    row->flops_per_s = row->bytes_per_s * flops / bytes;
    row->cpu_flops_per_s = row->cpu_bytes_per_s * flops / bytes;
    snprintf(row->name, sizeof row->name, "%s", kernel->name);
    return row;
}

static struct calibration *calibrated(const struct backend_ops *ops,
                                      struct virtual_device *device,
                                      const struct kernel *kernel)
{
    struct settings settings = test_settings("scale");
    struct calibration *calibration = calloc(1, sizeof *calibration);
    struct error error = {0};
    settings.no_data = true;
    settings.chain[0] = kernel;
    ck_assert_msg(calibrate(ops, virtual_backend(device), &settings, CALIBRATE_ALL, calibration,
                            &error) == STATUS_OK,
                  "%s", error.text);
    return calibration;
}

static void assert_near(const char *key, double found, double expected, double part,
                        double more)
{
    ck_assert_msg(fabs(found - expected) <= part * fabs(expected) + more,
                  "%s is %.6g and was found to be %.6g", key, expected, found);
}

/* The fills and the share are told by few blocks; a time is told in whole ns. `more` is what
 * noise adds. */
static void assert_row(const struct machine_kernel *found, const struct machine_kernel *row,
                       double more)
{
    ck_assert_ptr_nonnull(found);
    const bool heavy = row->bytes_per_s < 1e10;
    if (more == 0 || !heavy) /* else it is nothing beside the work */
        assert_near("fixed_ns", (double)found->fixed_ns, (double)row->fixed_ns,
                    0.005 + 14 * more, 5);
    assert_near("bytes_per_s", found->bytes_per_s, row->bytes_per_s, 0.005 + more, 0);
    assert_near("flops_per_s", found->flops_per_s, row->flops_per_s, 0.005 + more, 0);
    assert_near("memory_fill", found->memory_fill, row->memory_fill, 0.02, 0);
    assert_near("idle_memory_share", found->idle_memory_share, row->idle_memory_share,
                0.02 + more, 0);
    if (!heavy) /* which is slower than the link */
        assert_near("mapped_share", found->mapped_share, row->mapped_share, 0.01 + 10 * more,
                    0);
    assert_near("cpu_bytes_per_s", found->cpu_bytes_per_s, row->cpu_bytes_per_s,
                0.005 + 20 * more, 0);
    assert_near("cpu_flops_per_s", found->cpu_flops_per_s, row->cpu_flops_per_s,
                0.005 + 20 * more, 0);
    ck_assert(found->arithmetic_fill == 0);
}

START_TEST(test_simulated)
{
    static const char *const names[] = {"h200", "v100"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct kernel *kernel = add_kernel(_i);
        struct machine machine = virtual_built_in(names[i]), read;
        const struct machine_kernel *row = add_row(&machine, kernel, (uint64_t)_i + 1);
        struct virtual_device device = {.machine = &machine};
        struct calibration *calibration = calibrated(&virtual_ops, &device, kernel);
        struct error error = {0};
        char section[64], *text = calibration_text(calibration);
        assert_row(machine_kernel_find(&calibration->machine, kernel->name), row, 0);
        snprintf(section, sizeof section, "\n[own %s]\nfixed_ns = ", kernel->name);
        assert_has(text, section);
        ck_assert_msg(machine_parse(&read, text, "written", &error) == STATUS_OK, "%s",
                      error.text);
        assert_row(machine_kernel_find(&read, kernel->name), row, 0);
        ck_assert_int_eq(read.kernel_count, calibration->machine.kernel_count);
        free(text);
        free(calibration);
    }
}
END_TEST

/* The figures of the table's kernels are those that they are without it. */
START_TEST(test_others_stay)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine};
    struct calibration *without = calibrated(&virtual_ops, &device, kernel_find("scale"));
    struct calibration *with = calibrated(&virtual_ops, &device, add_kernel(0));
    ck_assert_int_eq(with->machine.kernel_count, without->machine.kernel_count + 1);
    for (int i = 0; i < without->machine.kernel_count; i++) {
        const struct machine_kernel *row = &without->machine.kernels[i];
        ck_assert_mem_eq(machine_kernel_find(&with->machine, row->name), row, sizeof *row);
    }
    free(with);
    free(without);
}
END_TEST

/* Noise moves the row no farther than those of the table. */
START_TEST(test_noise)
{
    const struct kernel *kernel = add_kernel(2 * _i); /* a map and a reduction */
    struct machine machine = virtual_built_in("h200");
    const struct machine_kernel *row = add_row(&machine, kernel, 7);
    struct virtual_device device = {
        .machine = &machine, .noise = {.jitter = 0.002, .slow = 0.15}, .random = 77};
    struct calibration *calibration = calibrated(&virtual_noisy_ops, &device, kernel);
    assert_row(machine_kernel_find(&calibration->machine, kernel->name), row, 0.01);
    free(calibration);
}
END_TEST

/* --- the command --- */

/* The file is simulated, and calibrated once more it has the same keys. */
START_TEST(test_made_and_used)
{
    ck_assert_int_eq(program_run("calibrate -d sim:v100 --kernel=" OWN "AXPY.so"), 0);
    ck_assert_int_eq(rename("out", "mine.ini"), 0);
    ck_assert_int_eq(system("sed -n '/^.own mine/,$p' mine.ini >own.ini"), 0);
    char *own = test_file_text("own.ini");
    assert_shown(own, "[own mine]\nfixed_ns = |\nflops_per_s = |\ncpu_flops_per_s = ");
    free(own);
    ck_assert_int_eq(system("sed 's/^bytes_per_s = .*/bytes_per_s = 1e9/' own.ini >slow.ini;"
                            "sed '/^.own mine/,$d' mine.ini | cat - slow.ini >other.ini"),
                     0);
    ck_assert_int_eq(program_run("-q -d sim:./mine.ini -n 1M --format=json -k " OWN "AXPY.so"),
                     0);
    assert_has(program_out, "\"verified\": true");
    ck_assert_int_eq(
        program_run("-q -d sim:./other.ini -n 1M --no-data --format=json -k " OWN "AXPY.so"),
        0);
    const char *time = strstr(program_out, "\"time_ms\": ");
    ck_assert_ptr_nonnull(time);
    ck_assert_double_gt(strtod(time + 11, NULL), 12.5); /* 12 bytes of an element take 12 ns */
    ck_assert_int_eq(program_run("calibrate -d sim:./mine.ini -k " OWN "AXPY.so"), 0);
    ck_assert_int_eq(rename("out", "again.ini"), 0);
    ck_assert_int_eq(system("for i in mine again; do grep -o '^[a-z_0-9]* =' $i.ini >$i; done;"
                            "cmp mine again"),
                     0);
}
END_TEST

static const struct {
    const char *kernels, *words;
} refused[] = {
    {OWN "NONE.so", "it defines no pipeline_kernel"},
    {"missing.so", "can't be opened as a library"},
    {"scale", "--kernel=scale: `pipeline calibrate` measures all kernels"},
    {"nonesuch", "nonesuch"},
    {OWN "SOFT.so," OWN "SOFT.so", "measures one kernel of your own"},
    {"scale," OWN "SOFT.so", "measures one kernel of your own"},
    {OWN "BLIND.so", "mine has no CPU twin, and simulated machines run that"},
};
START_TEST(test_refusals)
{
    char line[512];
    snprintf(line, sizeof line, "calibrate -d sim:h200 --kernel=%s", refused[_i].kernels);
    ck_assert_msg(program_run(line) == 2, "%s: %s", line, program_err);
    assert_has(program_err, refused[_i].words);
    ck_assert_str_eq(program_out, "");
    ck_assert_ptr_eq(strchr(program_err, '\n'), program_err + strlen(program_err) - 1);
}
END_TEST

Suite *calibrate_own_suite(void)
{
    Suite *suite = suite_create("calibrate_own");
    TCase *rows = tcase_create("rows");
    tcase_add_loop_test(rows, test_simulated, 0, KERNELS);
    tcase_add_loop_test(rows, test_noise, 0, 2);
    tcase_add_test(rows, test_others_stay);
    suite_add_tcase(suite, rows);
    TCase *command = tcase_create("command");
    tcase_add_checked_fixture(command, test_folder_enter, test_folder_leave);
    tcase_add_test(command, test_made_and_used);
    tcase_add_loop_test(command, test_refusals, 0, sizeof refused / sizeof refused[0]);
    suite_add_tcase(suite, command);
    return suite;
}
