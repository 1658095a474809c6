/* check_calibrate_devices.c - several devices are calibrated: what the host gives them at once
 * is found, whether they share its memory or a switch, and held against other runs. */
#include "calibrate/calibrate.h"
#include "fixtures.h"
#include "machine/fields.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"
#include "virtual_backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum status calibrate_many(struct virtual_device *device, const struct backend_ops *ops,
                                  uint32_t devices, struct calibration *calibration,
                                  struct error *error)
{
    struct settings settings = test_settings("scale");
    settings.devices = devices;
    settings.no_data = true;
    *error = (struct error){0};
    return calibrate(ops, virtual_backend(device), &settings, CALIBRATE_ALL, calibration,
                     error);
}

static struct machine found_of(const struct machine *machine, uint32_t devices)
{
    struct virtual_device device = {.machine = machine};
    struct calibration *calibration = calloc(1, sizeof *calibration);
    struct machine found;
    struct error error;
    enum status status = calibrate_many(&device, &virtual_ops, devices, calibration, &error);
    ck_assert_msg(status == STATUS_OK, "%s: %s", machine->name, error.text);
    char *text = calibration_text(calibration);
    ck_assert_int_eq(machine_parse(&found, text, "written", &error), STATUS_OK);
    free(text);
    free(calibration);
    return found;
}

static void assert_host(const struct machine *machine, const struct machine *found, double part)
{
    static const char *const keys[] = {"host_h2d_bytes_per_s", "host_d2h_bytes_per_s",
                                       "host_joint_bytes_per_s"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct machine_field *field = machine_field_find(machine_fields, keys[i]);
        const double own = machine_field_get(field, machine);
        const double got = machine_field_get(field, found);
        ck_assert_msg(fabs(got / own - 1) <= part, "%s: %s is %.6g, and was found to be %.6g",
                      machine->name, keys[i], own, got);
    }
}

static void assert_peers(const struct machine *machine, const struct machine *found)
{
    if (machine->peer_bytes_per_s <= 0) {
        ck_assert_double_eq(found->peer_bytes_per_s, 0);
        return;
    }
    const double joint = fmin(machine->peer_joint_bytes_per_s, 2 * machine->peer_bytes_per_s);
    ck_assert_double_le(fabs(found->peer_bytes_per_s / machine->peer_bytes_per_s - 1), 0.005);
    ck_assert_double_le(fabs(found->peer_joint_bytes_per_s / joint - 1), 0.005);
    ck_assert_int_le(llabs(found->peer_latency_ns - machine->peer_latency_ns), 25);
}

/* --- devices that keep time --- */

static const struct {
    const char *name;
    uint32_t devices;
} hosts[] = {{"h200", 2}, {"h200", 3}, {"h200", 4}, {"k80", 2}, {"k20x", 2}};

START_TEST(figures_are_found)
{
    const struct machine machine = virtual_built_in(hosts[_i].name);
    const struct machine found = found_of(&machine, hosts[_i].devices);
    ck_assert_uint_eq(found.devices, hosts[_i].devices);
    ck_assert_int_eq(found.host_shared, machine.host_shared);
    assert_host(&machine, &found, 0.01);
    assert_peers(&machine, &found);
}
END_TEST

/* Hosts that no one has built. */
START_TEST(other_hosts_are_found)
{
    uint64_t state = 7;
    for (int i = 0; i < test_cases(40); i++) {
        struct machine machine = virtual_built_in("h200");
        const uint32_t devices = 2 + test_random_below(&state, MACHINE_DEVICES_MAX - 1);
        const double part = 0.3 + test_random_below(&state, 61) / 100.0;
        const double links = devices * part;
        machine.devices = devices;
        machine.host_h2d_bytes_per_s = links * machine.h2d_bytes_per_s;
        machine.host_d2h_bytes_per_s = links * machine.d2h_bytes_per_s;
        machine.host_joint_bytes_per_s = 0.8 * links * machine.joint_bytes_per_s;
        machine.peer_bytes_per_s = (10 + test_random_below(&state, 900)) * 1e9;
        machine.peer_joint_bytes_per_s =
            (1 + test_random_below(&state, 110) / 100.0) * machine.peer_bytes_per_s;
        machine.peer_latency_ns = 300 + test_random_below(&state, 5000);
        const struct machine found = found_of(&machine, devices);
        assert_host(&machine, &found, 0.01);
        assert_peers(&machine, &found);
    }
}
END_TEST

/* All else is what one device's calibration finds. */
START_TEST(one_devices_figures_stay)
{
    const struct machine machine = virtual_built_in("h200");
    const struct machine one = found_of(&machine, 1);
    struct machine four = found_of(&machine, 4);
    four.host_h2d_bytes_per_s = one.host_h2d_bytes_per_s;
    four.host_d2h_bytes_per_s = one.host_d2h_bytes_per_s;
    four.host_joint_bytes_per_s = one.host_joint_bytes_per_s;
    four.peer_bytes_per_s = one.peer_bytes_per_s;
    four.peer_joint_bytes_per_s = one.peer_joint_bytes_per_s;
    four.peer_latency_ns = one.peer_latency_ns;
    ck_assert_mem_eq(&four, &one, sizeof one);
}
END_TEST

/* --- devices that don't --- */

/* Two GPUs of today share a switch: old ones know no batches, which a device that measures has.
 */
static struct machine behind_a_switch(void)
{
    struct machine machine = virtual_built_in("h200");
    machine.devices = 2;
    machine.host_h2d_bytes_per_s = machine.h2d_bytes_per_s;
    machine.host_d2h_bytes_per_s = machine.d2h_bytes_per_s;
    machine.host_joint_bytes_per_s = machine.joint_bytes_per_s;
    machine.host_shared = MACHINE_SHARES_SWITCH;
    return machine;
}

START_TEST(figures_are_found_in_noise)
{
    int refused = 0;
    for (int seed = 1; seed <= test_cases(6); seed++) {
        const struct machine machine = _i == 0 ? virtual_built_in("h200") : behind_a_switch();
        struct virtual_device device = {.machine = &machine,
                                        .noise = {.jitter = 0.002, .slow = 0.1},
                                        .random =
                                            (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15)};
        struct calibration *calibration = calloc(1, sizeof *calibration);
        struct error error;
        enum status status =
            calibrate_many(&device, &virtual_noisy_ops, _i == 0 ? 4 : 2, calibration, &error);
        refused += status != STATUS_OK;
        if (status == STATUS_OK)
            assert_host(&machine, &calibration->machine, 0.05);
        else
            ck_assert_ptr_nonnull(strstr(error.text, "can't be calibrated"));
        free(calibration);
    }
    ck_assert_int_le(refused, test_cases(6) / 2);
}
END_TEST

/* A backend that says nothing of how many devices there are, and of what they share, is not
 * refused: its file says what one without these keys means. */
START_TEST(what_is_not_described_is_usual)
{
    struct machine machine = virtual_built_in("h200");
    machine.devices = 0;
    machine.host_h2d_bytes_per_s = machine.host_d2h_bytes_per_s = 0;
    machine.host_joint_bytes_per_s = 0;
    struct virtual_device device = {.machine = &machine};
    struct calibration *calibration = calloc(1, sizeof *calibration);
    struct error error;
    enum status status = calibrate_many(&device, &virtual_noisy_ops, 1, calibration, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    ck_assert_uint_eq(calibration->machine.devices, 1);
    ck_assert_double_eq(calibration->machine.host_joint_bytes_per_s, 1e15);
    free(calibration);
}
END_TEST

/* The backend of a real device says of peers what it can tell: nothing of one alone, nor of
 * several that can't reach each other's memory. Such a device is calibrated; one alone gets the
 * figures of its machine file, if there is one. */
static const struct {
    const char *name;
    uint32_t devices;
    bool from_file;
} strangers[] = {
    {"NVIDIA H200", 1, true}, {"NVIDIA A123", 1, false}, {"NVIDIA H200", 2, false}};

START_TEST(no_peers_are_no_fault)
{
    const struct machine file = virtual_built_in("h200");
    struct machine machine = file;
    snprintf(machine.name, sizeof machine.name, "%s", strangers[_i].name);
    machine.devices = strangers[_i].devices;
    machine.peer_bytes_per_s = machine.peer_joint_bytes_per_s = 0;
    machine.peer_latency_ns = 0;
    struct virtual_device device = {.machine = &machine};
    struct calibration *calibration = calloc(1, sizeof *calibration);
    struct error error;
    enum status status =
        calibrate_many(&device, &virtual_noisy_ops, strangers[_i].devices, calibration, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    const struct machine *found = &calibration->machine;
    const bool from_file = strangers[_i].from_file;
    ck_assert_double_eq(found->peer_bytes_per_s, from_file ? file.peer_bytes_per_s : 0);
    ck_assert_double_eq(found->peer_joint_bytes_per_s,
                        from_file ? file.peer_joint_bytes_per_s : 0);
    if (from_file)
        ck_assert_int_eq(found->peer_latency_ns, file.peer_latency_ns);
    /* What is not measured differs less within a start than from host to host. */
    if (from_file)
        ck_assert_double_eq(found->spread[SPREAD_MANAGED], file.spread[SPREAD_MANAGED] / 2);
    free(calibration);
}
END_TEST

/* Long copies on all devices get less than those that the figures are made of: one plain run of
 * nine is off by a third. */
static void slow_long_copies(struct machine *machine, const struct plan *plan)
{
    const bool is_long = plan->devices > 1 && plan->ops[0].copy.host.bytes > 64 << 20;
    machine->host_h2d_bytes_per_s *= is_long ? 0.6 : 1;
}

START_TEST(what_does_not_hold_spreads)
{
    const struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine, .twist = slow_long_copies};
    struct calibration *calibration = calloc(1, sizeof *calibration);
    struct error error;
    ck_assert_int_eq(calibrate_many(&device, &virtual_noisy_ops, 4, calibration, &error),
                     STATUS_OK);
    ck_assert_double_ge(calibration->machine.spread[SPREAD_COPIES], 0.1);
    free(calibration);
}
END_TEST

/* --- the command --- */

START_TEST(command_prints_the_devices)
{
    ck_assert_msg(program_run("-q calibrate -d sim:k80*2") == 0, "%s", program_err);
    assert_shown(program_out, "\ndevices = 2 |\nhost_h2d_bytes_per_s = 11.34e9 "
                              "|\nhost_shared = switch ");
    ck_assert_int_eq(program_run("calibrate -d sim:k80*3"), 2);
    assert_has(program_err, "has 2 devices");
}
END_TEST

Suite *calibrate_devices_suite(void)
{
    Suite *suite = suite_create("calibrate_devices");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, figures_are_found, 0, (int)(sizeof hosts / sizeof hosts[0]));
    tcase_add_test(all, other_hosts_are_found);
    tcase_add_test(all, one_devices_figures_stay);
    tcase_add_loop_test(all, figures_are_found_in_noise, 0, 2);
    tcase_add_test(all, what_is_not_described_is_usual);
    tcase_add_loop_test(all, no_peers_are_no_fault, 0,
                        (int)(sizeof strangers / sizeof strangers[0]));
    tcase_add_test(all, what_does_not_hold_spreads);
    tcase_add_test(all, command_prints_the_devices);
    suite_add_tcase(suite, all);
    return suite;
}
