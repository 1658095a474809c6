/* check_reference.c - which machine file stands for a device. */
#include "fixtures.h"
#include "report/reference.h"
#include "suites.h"
#include "test_folder.h"

#include <stdio.h>
#include <string.h>

/* A device as the CUDA backend describes one. */
static struct machine device_called(const char *name)
{
    struct machine device = test_machine();
    snprintf(device.name, sizeof device.name, "%s", name);
    snprintf(device.summary, sizeof device.summary, "132 SMs, sm_90");
    return device;
}

static struct machine found(const char *asked, const struct machine *device, bool simulated,
                            uint32_t queues)
{
    struct machine machine;
    struct error error = {0};
    ck_assert_msg(reference_machine(asked, device, simulated, queues, &machine, &error) ==
                      STATUS_OK,
                  "%s", error.text);
    return machine;
}

START_TEST(test_simulated_device_stands_for_itself)
{
    struct machine device = device_called("NVIDIA H200");
    struct machine machine = found(NULL, &device, true, 0);
    ck_assert_mem_eq(&machine, &device, sizeof machine);
}
END_TEST

START_TEST(test_real_device_is_found_by_its_name)
{
    struct machine device = device_called("NVIDIA H200");
    struct machine machine = found(NULL, &device, false, 0);
    ck_assert_str_eq(machine.name, "h200");
    ck_assert_uint_eq(machine.sms, 132);
    device = device_called("NVIDIA Tesla C2050");
    machine = found(NULL, &device, false, 0);
    ck_assert_str_eq(machine.name, "c2050");
}
END_TEST

START_TEST(test_what_is_asked_for_wins)
{
    struct machine device = device_called("NVIDIA H200");
    ck_assert_str_eq(found("c2050", &device, false, 0).name, "c2050");
    ck_assert_str_eq(found("c2050", &device, true, 0).name, "c2050");
}
END_TEST

START_TEST(test_file_is_read)
{
    struct machine device = device_called("Unheard of");
    FILE *file = fopen("mine.ini", "w");
    ck_assert_ptr_nonnull(file);
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        if (strcmp(text->name, "h200") == 0)
            fputs(text->text, file);
    }
    ck_assert_int_eq(fclose(file), 0);
    struct machine machine = found("./mine.ini", &device, false, 0);
    ck_assert_str_eq(machine.name, "mine");
    ck_assert_str_eq(machine.summary, "NVIDIA H200");
}
END_TEST

/* The reference has as many queues as the device was opened with, but no more than it can. */
START_TEST(test_queues_are_the_devices)
{
    struct machine device = device_called("NVIDIA H200");
    ck_assert_uint_eq(found("h200", &device, false, 0).queues, 8);
    ck_assert_uint_eq(found("h200", &device, false, 1).queues, 1);
    ck_assert_uint_eq(found("h200", &device, false, 32).queues, 32);
    ck_assert_uint_eq(found("c2050", &device, false, 8).queues, 1);
    ck_assert_uint_eq(found(NULL, &device, true, 2).queues, 2);
}
END_TEST

START_TEST(test_none_is_refused)
{
    struct machine device = device_called("Tesla M40"), machine = device_called("untouched");
    struct error error = {0};
    ck_assert_int_eq(reference_machine(NULL, &device, false, 0, &machine, &error),
                     STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "Tesla M40"));
    ck_assert_ptr_nonnull(strstr(error.text, "--machine="));
    ck_assert_ptr_nonnull(strstr(error.text, "pipeline calibrate"));
    error_clear(&error);
    ck_assert_int_eq(reference_machine("h201", &device, true, 0, &machine, &error),
                     STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "'h201'"));
    ck_assert_ptr_nonnull(strstr(error.text, "h200"));
    error_clear(&error);
    ck_assert_int_eq(reference_machine("./no.ini", &device, true, 0, &machine, &error),
                     STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "./no.ini"));
    ck_assert_str_eq(machine.name, "untouched");
}
END_TEST

/* The host at hand decides how fast its CPU does arithmetic, and what its memory gives several
 * devices; but a rate of bytes that was measured alone says nothing of tiles beside copies. */
START_TEST(test_what_is_the_hosts)
{
    struct machine device = device_called("NVIDIA H200");
    struct machine machine = found("h200", &device, false, 0), before = machine;
    device.kernel_count = 2;
    device.kernels[0] = (struct machine_kernel){
        .name = "scale", .cpu_bytes_per_s = 1e9, .cpu_flops_per_s = 2e9};
    device.kernels[1] = (struct machine_kernel){.name = "of-its-own", .cpu_flops_per_s = 3e9};
    reference_adapt_host(&machine, &device);
    const struct machine_kernel *scale = machine_kernel_find(&machine, "scale");
    const struct machine_kernel *own = machine_kernel_find(&machine, "of-its-own");
    ck_assert_double_eq(scale->cpu_flops_per_s, 2e9);
    ck_assert_double_eq(scale->cpu_bytes_per_s,
                        machine_kernel_find(&before, "scale")->cpu_bytes_per_s);
    ck_assert_ptr_nonnull(own);
    ck_assert_double_eq(own->cpu_flops_per_s, 3e9);
    ck_assert_double_eq(machine.h2d_bytes_per_s, before.h2d_bytes_per_s);
    ck_assert_double_eq(scale->bytes_per_s, machine_kernel_find(&before, "scale")->bytes_per_s);
    ck_assert_int_eq(machine.kernel_count, before.kernel_count + 1);
    ck_assert_double_eq(machine.host_joint_bytes_per_s, before.host_joint_bytes_per_s);
    device.devices = 2;
    device.host_joint_bytes_per_s = 150e9;
    reference_adapt_host(&machine, &device);
    ck_assert_double_eq(machine.host_joint_bytes_per_s, 150e9);
    ck_assert_uint_eq(machine.devices, 2);
    device.kernel_count = 1;
    device.kernels[0].cpu_flops_per_s = 0; /* not measured */
    reference_adapt_host(&machine, &device);
    ck_assert_double_eq(scale->cpu_flops_per_s, 2e9);
}
END_TEST

/* Choices go by the link that is there, unless the file says about the same, and by the rates
 * of users' own kernels. */
START_TEST(test_what_choices_learn)
{
    struct machine device = device_called("NVIDIA H200");
    struct machine machine = found("h200", &device, false, 0), before = machine;
    device.h2d_bytes_per_s = 0.96 * before.h2d_bytes_per_s;
    device.d2h_bytes_per_s = 0; /* not measured */
    device.joint_bytes_per_s = 0.85 * before.joint_bytes_per_s;
    device.kernel_count = 2;
    device.kernels[0] = (struct machine_kernel){.name = "scale", .bytes_per_s = 1e9};
    device.kernels[1] = (struct machine_kernel){.name = "of-its-own", .bytes_per_s = 3e9};
    reference_learn(&machine, &device);
    ck_assert_double_eq(machine.h2d_bytes_per_s, before.h2d_bytes_per_s);
    ck_assert_double_eq(machine.d2h_bytes_per_s, before.d2h_bytes_per_s);
    ck_assert_double_eq(machine.joint_bytes_per_s, device.joint_bytes_per_s);
    ck_assert_double_eq(machine_kernel_find(&machine, "scale")->bytes_per_s,
                        machine_kernel_find(&before, "scale")->bytes_per_s);
    ck_assert_double_eq(machine_kernel_find(&machine, "of-its-own")->bytes_per_s, 3e9);
}
END_TEST

/* A kernel that has another's rates keeps them when a figure of its own comes, and has no row
 * where none does. */
START_TEST(test_rates_of_another_kernel_stay)
{
    const struct kernel *kernel = kernel_table;
    struct machine device = device_called("NVIDIA H200");
    while (kernel->name != NULL && kernel->rates_of == NULL)
        kernel++;
    ck_assert_ptr_nonnull(kernel->name);
    struct machine machine = found("h200", &device, false, 0);
    ck_assert_ptr_null(machine_kernel_find(&machine, kernel->name));
    device.kernel_count = 1;
    device.kernels[0] = (struct machine_kernel){.bytes_per_s = 1e9};
    snprintf(device.kernels[0].name, sizeof device.kernels[0].name, "%s", kernel->name);
    reference_adapt_host(&machine, &device);
    ck_assert_ptr_null(machine_kernel_find(&machine, kernel->name));
    device.kernels[0].cpu_flops_per_s = 3e9;
    reference_adapt_host(&machine, &device);
    const struct machine_kernel *own = machine_kernel_find(&machine, kernel->name);
    const struct machine_kernel *rates = machine_kernel_find(&machine, kernel->rates_of);
    ck_assert_ptr_nonnull(own);
    ck_assert_double_eq(own->cpu_flops_per_s, 3e9);
    ck_assert_double_eq(own->bytes_per_s, rates->bytes_per_s);
    ck_assert_int_eq(own->fixed_ns, rates->fixed_ns);
}
END_TEST

Suite *reference_suite(void)
{
    Suite *suite = suite_create("reference");
    TCase *tests = tcase_create("reference"), *files = tcase_create("files");
    tcase_add_test(tests, test_simulated_device_stands_for_itself);
    tcase_add_test(tests, test_real_device_is_found_by_its_name);
    tcase_add_test(tests, test_what_is_asked_for_wins);
    tcase_add_checked_fixture(files, test_folder_enter, test_folder_leave);
    tcase_add_test(files, test_file_is_read);
    tcase_add_test(tests, test_queues_are_the_devices);
    tcase_add_test(tests, test_none_is_refused);
    tcase_add_test(tests, test_what_is_the_hosts);
    tcase_add_test(tests, test_what_choices_learn);
    tcase_add_test(tests, test_rates_of_another_kernel_stay);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, files);
    return suite;
}
