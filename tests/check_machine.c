/* check_machine.c - machine files good and bad, and what work costs on a machine. */
#include "fixtures.h"
#include "machine.h"
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *h200_text(void)
{
    for (const struct machine_text *text = machine_texts; text->name != NULL; text++) {
        if (strcmp(text->name, "h200") == 0)
            return text->text;
    }
    ck_abort_msg("h200 is not embedded");
    return NULL;
}

/* The embedded h200 with its first `from` replaced by `to`, read as "mine.ini". */
static void assert_refused(const char *from, const char *to, const char *words)
{
    char text[16384];
    const char *original = h200_text(), *place = strstr(original, from);
    ck_assert_msg(place != NULL, "h200 has no \"%s\"", from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(place - original), original, to,
             place + strlen(from));
    struct machine machine = {.sms = 12345};
    struct error error = {0};
    ck_assert_int_eq(machine_parse(&machine, text, "mine.ini", &error), STATUS_USAGE);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
    ck_assert_ptr_eq(strstr(error.text, "mine.ini"), error.text);
    ck_assert_ptr_null(strchr(error.text, '\n'));
    ck_assert_uint_eq(machine.sms, 12345); /* set only on success */
}

START_TEST(test_h200_loads)
{
    struct machine machine;
    struct error error = {0};
    ck_assert_int_eq(machine_load(&machine, "h200", &error), STATUS_OK);
    ck_assert_str_eq(machine.name, "h200");
    ck_assert_uint_eq(machine.sms, 132);
    ck_assert_uint_eq(machine_resident_blocks(&machine), 132 * 8);
    ck_assert_int_eq(machine.priority_greatest, -5);
}
END_TEST

START_TEST(test_bad_machine_files)
{
    assert_refused("sms = 132", "sms = 0", "mine.ini:");
    assert_refused("sms = 132", "sms = 0", "sms=0: allowed are whole numbers from 1");
    assert_refused("sms = 132", "sms = 13.5", "sms=13.5");
    assert_refused("sms = 132", "sms = many", "sms=many");
    assert_refused("sms = 132", "sms = 132x", "sms=132x");
    assert_refused("sms = 132", "sms = nan", "sms=nan");
    assert_refused("sms = 132", "smss = 132", "smss is no key of [kernels]");
    assert_refused("sms = 132", "sms = 132\nsms = 132", "given twice");
    assert_refused("sms = 132", "", "sms is missing from [kernels]");
    assert_refused("[kernels]", "[kernel]", "[kernel]");
    assert_refused("sms = 132", "what", "neither [section] nor key = value");
    assert_refused("sms = 132", "[kernel nonesuch]\nbytes_per_s = 1", "no such kernel");
    assert_refused("sms = 132", "[kernel scale]\nspeed = 1", "speed is no key");
    assert_refused("queues = 8", "queues = 33", "queues=33 is above queues_max=32");
    assert_refused("joint_bytes_per_s = ", "joint_bytes_per_s = 1e9 ;", "joint_bytes_per_s");
    assert_refused("priority_greatest = -5", "priority_greatest = 5", "priority_greatest");
    char line[400] = "sms = 132 ; ";
    memset(line + strlen(line), 'x', 300);
    assert_refused("sms = 132", line, "longer than");
}
END_TEST

START_TEST(test_names_and_paths)
{
    struct machine machine;
    struct error error = {0};
    ck_assert_int_eq(machine_load(&machine, "h201", &error), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "h200"));
    error_clear(&error);
    ck_assert_int_eq(machine_load(&machine, "./nowhere.ini", &error), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "nowhere.ini"));
    error_clear(&error);
    ck_assert_int_eq(machine_load(&machine, "/", &error), STATUS_USAGE);

    char folder[] = "/tmp/pipeline-machine-XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/mine.ini", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(h200_text(), file);
    fputs("\n[kernel scale]\nbytes_per_s = 3e12\n", file);
    fclose(file);
    error_clear(&error);
    ck_assert_msg(machine_load(&machine, path, &error) == STATUS_OK, "%s", error.text);
    ck_assert_str_eq(machine.name, "mine");
    ck_assert_double_eq(machine_kernel_find(&machine, "scale")->bytes_per_s, 3e12);
    ck_assert_ptr_null(machine_kernel_find(&machine, "wave"));
    unlink(path);
    rmdir(folder);
}
END_TEST

/* 2 flops an element at 1 flop per ns; 8 bytes at 1 byte per ns. */
START_TEST(test_kernel_costs)
{
    struct machine machine = test_machine();
    const struct kernel *scale = kernel_find("scale");
    struct kernel_params params = {.intensity = 3};
    machine.memory_bytes_per_s = 1e9;
    struct kernel_cost cost = machine_kernel_cost(&machine, scale, &params, 100);
    ck_assert_double_eq_tol(cost.arithmetic_ns, 600, 1e-6);
    ck_assert_double_eq_tol(cost.memory_ns, 800, 1e-6);
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, scale, &params, 100), 800, 1e-6);
    params.intensity = 5;
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, scale, &params, 100), 1000, 1e-6);
}
END_TEST

START_TEST(test_measured_kernels_win)
{
    struct machine machine = test_machine();
    const struct kernel *scale = kernel_find("scale");
    struct kernel_params params = {.intensity = 1};
    machine.kernel_count = 1;
    strcpy(machine.kernels[0].name, "scale");
    machine.kernels[0].flops_per_s = 2e9;
    machine.kernels[0].cpu_flops_per_s = 4e9;
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, scale, &params, 100), 100, 1e-6);
    ck_assert_double_eq_tol(machine_cpu_ns(&machine, scale, &params, 100), 50, 1e-6);
    ck_assert_double_eq_tol(machine_cpu_ns(&machine, kernel_find("sum"), &params, 100), 100,
                            1e-6);
    machine.h2d_latency_ns = 5;
    ck_assert_double_eq_tol(machine_copy_ns(&machine, 1, 100), 105, 1e-6);
    ck_assert_double_eq_tol(machine_copy_ns(&machine, 0, 100), 100, 1e-6);
}
END_TEST

Suite *machine_suite(void)
{
    Suite *suite = suite_create("machine");
    TCase *tests = tcase_create("machine");
    tcase_add_test(tests, test_h200_loads);
    tcase_add_test(tests, test_bad_machine_files);
    tcase_add_test(tests, test_names_and_paths);
    tcase_add_test(tests, test_kernel_costs);
    tcase_add_test(tests, test_measured_kernels_win);
    suite_add_tcase(suite, tests);
    return suite;
}
