/* check_calibrate_file.c - the machine file that a calibration writes, the keys of machine
 * files, and calibrations that fail. */
#include "calibrate/calibrate.h"
#include "calibrate/rig.h"
#include "fixtures.h"
#include "machine/fields.h"
#include "suites.h"
#include "virtual_backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Calibrates a built-in machine; the result is to be freed. */
static struct calibration *calibrated(const char *name)
{
    struct machine machine = virtual_built_in(name);
    struct virtual_device device = {.machine = &machine};
    struct settings settings = test_settings("scale");
    struct calibration *calibration = calloc(1, sizeof *calibration);
    struct error error = {0};
    enum status status = calibrate(&virtual_ops, virtual_backend(&device), &settings,
                                   CALIBRATE_ALL, calibration, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    return calibration;
}

/* --- the written file --- */

/* Copies the comment beside `key` in [section], all its lines, without the semicolons. */
static void comment_of(const char *text, const char *section, const char *key,
                       char comment[512])
{
    char heading[MACHINE_TEXT + 4], start[MACHINE_TEXT + 8];
    snprintf(heading, sizeof heading, "\n[%s]\n", section);
    snprintf(start, sizeof start, "\n%s = ", key);
    const char *at = strstr(text, heading);
    ck_assert_msg(at != NULL, "no %s", heading);
    const char *end = strstr(at + 1, "\n["), *line = strstr(at + 1, start);
    ck_assert_msg(line != NULL && (end == NULL || line < end), "no %s in %s", key, heading);
    comment[0] = '\0';
    line++;
    do {
        const char *semicolon = line + strcspn(line, ";\n");
        ck_assert_msg(semicolon[0] == ';' && semicolon[1] == ' ', "no comment: %.60s", line);
        int length = (int)strcspn(semicolon + 2, "\n");
        ck_assert_int_gt(length, 3);
        size_t used = strlen(comment);
        snprintf(comment + used, 512 - used, "%s%.*s", used > 0 ? " " : "", length,
                 semicolon + 2);
        line = semicolon + 2 + length + 1;
    } while (line[0] == ' ');
}

/* Returns true if the file has this key for this kernel: it has no flops where none can be
 * told, nothing of the CPU for scans, and nothing of few blocks that make many sweeps where
 * grids grow with the work. */
static bool has_key(const struct kernel *kernel, const struct machine_field *field)
{
    if (kernel->shape == KERNEL_SCAN && strncmp(field->key, "cpu_", 4) == 0)
        return false;
    if (kernel->whole_grid && strcmp(field->key, "idle_memory_share") == 0)
        return false;
    return kernel->repeats ||
           (strstr(field->key, "flops") == NULL && strcmp(field->key, "arithmetic_fill") != 0);
}

START_TEST(test_every_figure_has_its_source)
{
    static const char *const names[] = {"h200", "c1060", "rtx3050-laptop"};
    struct calibration *calibration = calibrated(names[_i]);
    char *text = calibration_text(calibration), comment[512], section[MACHINE_TEXT];
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        if (field->type != FIELD_TEXT)
            comment_of(text, field->section, field->key, comment);
    }
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        if (!rig_measures(kernel))
            continue;
        snprintf(section, sizeof section, "kernel %s", kernel->name);
        for (const struct machine_field *field = machine_kernel_fields; field->key != NULL;
             field++) {
            if (has_key(kernel, field))
                comment_of(text, section, field->key, comment);
        }
    }
    ck_assert_ptr_nonnull(strstr(text, "\n[machine]\nformat = 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "simulated"));
    ck_assert_ptr_nonnull(strstr(text, "Nothing here was measured"));
    ck_assert_ptr_null(strstr(text, "+-")); /* simulated times don't vary */
    ck_assert_ptr_null(strstr(text, "CUPTI"));
    free(text);
    free(calibration);
}
END_TEST

/* Every line is text, and short enough for a terminal and a page. */
START_TEST(test_lines_are_short)
{
    struct calibration *calibration = calibrated("rtx3050-laptop");
    calibration->simulated = _i == 0;
    snprintf(calibration->driver, sizeof calibration->driver,
             "driver 13.0, runtime 13.0, and some more that is as long as it may ever become");
    memset(calibration->figures[7].how, 'x',
           FIGURE_TEXT / 2); /* a word longer than a line, with more words behind it */
    char *text = calibration_text(calibration);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        ck_assert_msg(length <= 100 || strstr(line, "xxxx") != NULL, "%.*s", (int)length, line);
        ck_assert_msg(length == 0 || line[length - 1] != ' ', "%.*s", (int)length, line);
    }
    free(text);
    free(calibration);
}
END_TEST

/* Words in the comments of figures that were not measured, or not by time. */
static const struct {
    const char *machine, *section, *key, *words;
} unmeasured[] = {
    {"h200", "copies", "staging_bytes", "not measured: copies in of 64 KiB or less"},
    {"h200", "copies", "copy_engines", "found: copies in and out overlap"},
    {"c1060", "copies", "copy_engines", "found: copies in and out take turns"},
    {"c1060", "copies", "joint_bytes_per_s", "not measured: copies never go both ways at once"},
    {"c1060", "streams", "poll_ns", "not measured: there is but one queue"},
    {"h200", "streams", "queue_depth", "found: "},
    {"h200", "kernels", "memory_bytes_per_s", "as of [kernel scale]"},
    {"h200", "kernels", "flops_per_s", "as of [kernel scale]"},
    {"h200", "kernels", "kernel_fixed_ns", "as of [kernel scale]"},
    {"h200", "host", "cpu_flops_per_s", "as of [kernel scale]"},
    {"h200", "kernels", "sms", "as simulated"},
    {"h200", "streams", "queues", "as simulated"},
    /* The CPU of that machine has more arithmetic to do in `wave` than bytes to read. */
    {"c2050", "kernel wave", "cpu_bytes_per_s", "at least, for arithmetic takes as long"},
};

START_TEST(test_what_was_not_measured_says_so)
{
    struct calibration *calibration = calibrated(unmeasured[_i].machine);
    char *text = calibration_text(calibration), comment[512];
    comment_of(text, unmeasured[_i].section, unmeasured[_i].key, comment);
    ck_assert_msg(strstr(comment, unmeasured[_i].words) == comment, "%s: %s",
                  unmeasured[_i].key, comment);
    free(text);
    free(calibration);
}
END_TEST

/* The comments say so for a queue deeper than was tried, and for a part of a sweep that takes
 * as long as all of it. */
START_TEST(test_what_could_not_be_found_says_so)
{
    struct machine machine = virtual_built_in("v100");
    struct virtual_device device = {.machine = &machine};
    struct settings settings = test_settings("scale");
    struct calibration *calibration = calloc(1, sizeof *calibration);
    struct error error = {0};
    char comment[512];
    machine.queue_depth = 100000;
    machine.arithmetic_fill = 1;
    enum status status = calibrate(&virtual_ops, virtual_backend(&device), &settings,
                                   CALIBRATE_ALL, calibration, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    char *text = calibration_text(calibration);
    comment_of(text, "streams", "queue_depth", comment);
    ck_assert_msg(strstr(comment, "at least, not measured beyond") != NULL, "%s", comment);
    ck_assert_uint_eq(calibration->machine.queue_depth, 4096);
    comment_of(text, "kernels", "leftover_excess", comment);
    ck_assert_msg(strstr(comment, "not measured") != NULL, "%s", comment);
    ck_assert_double_eq(calibration->machine.leftover_excess, 1);
    free(text);
    free(calibration);
}
END_TEST

/* Each figure that was timed on a real device says how much its repeats differ, in its own
 * unit, and no other does. */
START_TEST(test_spreads)
{
    struct calibration *calibration = calibrated("h200");
    char comment[512];
    calibration->simulated = false;
    strcpy(calibration->driver, "driver 13.0, runtime 13.0");
    for (int i = 0; i < calibration->figure_count; i++) {
        struct figure *figure = &calibration->figures[i];
        bool rate = strcmp(figure->key, "h2d_bytes_per_s") == 0;
        if (figure->spread >= 0)
            figure->spread = rate ? 0.003 * calibration->machine.h2d_bytes_per_s : 12;
    }
    char *text = calibration_text(calibration);
    ck_assert_msg(strncmp(text, "; NVIDIA H200, measured by `pipeline calibrate`", 47) == 0,
                  "%.80s", text);
    ck_assert_ptr_nonnull(strstr(text, "driver 13.0,"));
    comment_of(text, "copies", "h2d_bytes_per_s", comment);
    ck_assert_msg(strncmp(comment, "+-0.3 %: copies of", 18) == 0, "%s", comment);
    comment_of(text, "copies", "h2d_latency_ns", comment);
    ck_assert_msg(strncmp(comment, "+-12 ns: what copies", 20) == 0, "%s", comment);
    comment_of(text, "kernel wave", "fixed_ns", comment);
    ck_assert_msg(strncmp(comment, "+-12 ns: launches", 17) == 0, "%s", comment);
    for (size_t i = 0; i < sizeof unmeasured / sizeof unmeasured[0]; i++) {
        if (strcmp(unmeasured[i].machine, "h200") != 0)
            continue;
        comment_of(text, unmeasured[i].section, unmeasured[i].key, comment);
        ck_assert_msg(strstr(comment, "+-") == NULL, "%s: %s", unmeasured[i].key, comment);
    }
    free(text);
    free(calibration);
}
END_TEST

/* The last lines say how the figures were held, and the comment of one that needed more than is
 * usual says so; a simulated device's file has neither. */
START_TEST(test_outcomes)
{
    struct calibration *calibration = calibrated("h200");
    char comment[512], *text = calibration_text(calibration);
    ck_assert_ptr_null(strstr(text, "; Held against plain runs"));
    free(text);
    ck_assert_int_gt(calibration->outcome_count, 20);
    calibration->simulated = false;
    for (int i = 0; i < calibration->outcome_count; i++) {
        struct outcome *outcome = &calibration->outcomes[i];
        if (strcmp(outcome->key, "sync_ns") == 0)
            *outcome = (struct outcome){.key = outcome->key,
                                        .said_ns = 412,
                                        .took_ns = 693,
                                        .apart = 0.682,
                                        .usual = 0.25};
    }
    text = calibration_text(calibration);
    comment_of(text, "host", "sync_ns", comment);
    ck_assert_msg(strstr(comment, "nothing to do; held within 69 %") != NULL, "%s", comment);
    comment_of(text, "copies", "h2d_bytes_per_s", comment);
    ck_assert_ptr_null(strstr(comment, "held within"));
    const char *held = strstr(text, "\n\n; Held against plain runs");
    ck_assert_ptr_nonnull(held);
    const char *line = strstr(held, "\n; sync_ns ");
    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_nonnull(strstr(line, " 0.412 us     0.693 us   68.2 % of 25 %\n"));
    ck_assert_ptr_nonnull(strstr(held, "\n; [kernel reduce-shuffle] bytes_per_s "));
    free(text);
    free(calibration);
}
END_TEST

/* Rates and shares are read back to four digits, all else in full. */
START_TEST(test_reads_back)
{
    struct calibration *calibration = calibrated("h200");
    struct error error = {0};
    struct machine read, *machine = &calibration->machine;
    machine->h2d_bytes_per_s = 55.43219e9;
    machine->joint_bytes_per_s = 999.99999e9;
    machine->arithmetic_fill = 0.123456;
    machine->memory_bytes = 150755016704;
    machine->poll_ns = 0;
    char *text = calibration_text(calibration);
    ck_assert_ptr_nonnull(strstr(text, "\nh2d_bytes_per_s = 55.43e9 "));
    ck_assert_msg(machine_parse(&read, text, "written", &error) == STATUS_OK, "%s", error.text);
    ck_assert_double_eq(read.joint_bytes_per_s, 1000e9);
    ck_assert_double_eq(read.arithmetic_fill, 0.1235);
    ck_assert_uint_eq(read.memory_bytes, 150755016704);
    ck_assert_int_eq(read.poll_ns, 0);
    ck_assert_int_eq(read.kernel_count, machine->kernel_count);
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        double wanted = machine_field_get(field, machine);
        double off = field->type == FIELD_REAL ? 5e-4 * wanted : 0;
        if (field->type != FIELD_TEXT)
            ck_assert_double_le(fabs(machine_field_get(field, &read) - wanted), off);
    }
    free(text);
    free(calibration);
}
END_TEST

/* --- keys of machine files --- */

static size_t bytes_of(enum field_type type)
{
    static const size_t bytes[] = {
        [FIELD_TEXT] = 0,
        [FIELD_WORD] = sizeof(int),
        [FIELD_INT] = sizeof(int),
        [FIELD_U32] = sizeof(uint32_t),
        [FIELD_U64] = sizeof(uint64_t),
        [FIELD_NS] = sizeof(int64_t),
        [FIELD_REAL] = sizeof(double),
    };
    return bytes[type];
}

/* Puts numbers from least to most and reads them back; nothing beside the field changes. */
static void assert_round_trips(const struct machine_field *field, size_t record_bytes,
                               uint64_t *state)
{
    unsigned char record[sizeof(struct machine)], before[sizeof record];
    size_t bytes = bytes_of(field->type), end = field->offset + bytes;
    ck_assert_uint_le(end, record_bytes);
    memset(record, 0xA5, sizeof record);
    memcpy(before, record, sizeof record);
    for (int i = 0; i <= 20; i++) {
        double part = i < 2 ? i : test_random_below(state, 1000001) / 1e6;
        double number = field->least + part * (field->most - field->least);
        double kept = field->type == FIELD_REAL ? number : round(number);
        machine_field_put(field, record, number);
        if (bytes > 0)
            ck_assert_msg(machine_field_get(field, record) == kept, "%s: %.17g", field->key,
                          number);
    }
    ck_assert_mem_eq(record, before, field->offset);
    ck_assert_mem_eq(record + end, before + end, sizeof record - end);
}

START_TEST(test_fields)
{
    uint64_t state = 21;
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        assert_round_trips(field, sizeof(struct machine), &state);
        ck_assert_ptr_eq(machine_field_find(machine_fields, field->key), field);
    }
    for (const struct machine_field *field = machine_kernel_fields; field->key != NULL;
         field++) {
        assert_round_trips(field, sizeof(struct machine_kernel), &state);
        ck_assert_ptr_eq(machine_field_find(machine_kernel_fields, field->key), field);
    }
    ck_assert_ptr_null(machine_field_find(machine_fields, "fixed_ns"));
    ck_assert_ptr_null(machine_field_find(machine_kernel_fields, "sms"));
    struct machine machine = test_machine();
    ck_assert(isnan(machine_field_get(machine_fields, &machine))); /* a text */
}
END_TEST

/* --- failures --- */

/* Calibrates `device`, which must fail: the caller's struct is left as it was, and the device
 * released. */
static void assert_fails(const struct backend_ops *ops, struct virtual_device *device,
                         struct error *error)
{
    struct settings settings = test_settings("scale");
    struct calibration *calibration = malloc(sizeof *calibration);
    struct calibration *before = malloc(sizeof *before);
    memset(calibration, 0x5A, sizeof *calibration);
    memcpy(before, calibration, sizeof *before);
    *error = (struct error){0};
    enum status status =
        calibrate(ops, virtual_backend(device), &settings, CALIBRATE_ALL, calibration, error);
    ck_assert_int_eq(status, STATUS_FAILED);
    ck_assert_int_eq(error->status, STATUS_FAILED);
    ck_assert(!device->prepared);
    ck_assert_mem_eq(calibration, before, sizeof *before);
    free(before);
    free(calibration);
}

/* Any hook may fail, at any call. */
START_TEST(test_hooks_that_fail)
{
    static const char *const names[] = {"describe", "prepare", "run"};
    struct machine machine = virtual_built_in("h200");
    struct virtual_device counted = {.machine = &machine};
    struct settings settings = test_settings("scale");
    struct calibration *calibration = calloc(1, sizeof *calibration);
    ck_assert_int_eq(calibrate(&virtual_ops, virtual_backend(&counted), &settings,
                               CALIBRATE_ALL, calibration, NULL),
                     STATUS_OK);
    free(calibration);
    ck_assert_int_eq(counted.calls[VIRTUAL_DESCRIBE], 1);
    ck_assert_int_gt(counted.calls[VIRTUAL_RUN], 50);
    int calls = counted.calls[_i], step = 1 + calls / 25;
    for (int at = 1; at <= calls; at += at + step <= calls || at == calls ? step : calls - at) {
        struct virtual_device device = {
            .machine = &machine, .fails = (enum virtual_hook)_i, .fails_at = at};
        struct error error;
        char words[64];
        assert_fails(&virtual_ops, &device, &error);
        ck_assert_int_eq(device.calls[_i], at);
        snprintf(words, sizeof words, "%s failed at call %d", names[_i], at);
        ck_assert_str_eq(error.text, words);
    }
}
END_TEST

/* Without a machine file for such a device nothing stands for times that no machine file could
 * hold, and there is no file. */
START_TEST(test_impossible_figures)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine};
    struct error error;
    machine.h2d_bytes_per_s = 1e18;
    machine.h2d_latency_ns = 1;
    assert_fails(&virtual_noisy_ops, &device, &error);
    ck_assert_msg(strstr(error.text, "h2d_bytes_per_s") != NULL &&
                      strstr(error.text, "something else running") != NULL,
                  "%s", error.text);
}
END_TEST

/* A device whose starts no one can see. */
static enum status run_by_events(struct backend *backend, struct timeline *timeline,
                                 struct run_times *times, struct error *error)
{
    enum status status = virtual_ops.run(backend, timeline, times, error);
    if (timeline != NULL) {
        timeline->timing = TIMING_EVENTS;
        strcpy(timeline->driver, "no CUPTI here");
    }
    return status;
}

START_TEST(test_events_do_not_suffice)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {.machine = &machine};
    struct backend_ops ops = virtual_ops;
    struct error error;
    ops.run = run_by_events;
    assert_fails(&ops, &device, &error);
    ck_assert_msg(strstr(error.text, "CUPTI") && strstr(error.text, "no CUPTI here"), "%s",
                  error.text);
}
END_TEST

/* A device that measures gets real arrays, as a real one does, which it gives back also when it
 * fails. */
START_TEST(test_failing_with_arrays)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {
        .machine = &machine, .fails = VIRTUAL_PREPARE, .fails_at = 4};
    struct error error;
    assert_fails(&virtual_noisy_ops, &device, &error);
    ck_assert_str_eq(error.text, "prepare failed at call 4");
}
END_TEST

/* Where times vary by 1 % a figure is the median of several, and says how much they differ. */
START_TEST(test_times_that_vary)
{
    struct machine machine = virtual_built_in("h200");
    struct virtual_device device = {
        .machine = &machine, .noise = {.jitter = 0.01}, .random = 5};
    struct settings settings = test_settings("scale");
    struct error error = {0};
    char comment[512];
    settings.no_data = true;
    struct calibration *calibration = calloc(1, sizeof *calibration);
    enum status status = calibrate(&virtual_noisy_ops, virtual_backend(&device), &settings,
                                   CALIBRATE_ALL, calibration, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    double part = calibration->machine.h2d_bytes_per_s / machine.h2d_bytes_per_s;
    ck_assert_double_eq_tol(part, 1, 0.01);
    ck_assert_uint_eq(calibration->machine.sms, machine.sms);
    char *text = calibration_text(calibration);
    ck_assert_ptr_nonnull(strstr(text, "measured by"));
    comment_of(text, "copies", "h2d_bytes_per_s", comment);
    ck_assert_msg(strncmp(comment, "+-", 2) == 0, "%s", comment);
    for (int i = 0; i < calibration->figure_count; i++) {
        const struct figure *figure = &calibration->figures[i];
        bool rate = strstr(figure->key, "_per_s") != NULL && figure->spread >= 0;
        ck_assert_msg(!rate || figure->spread > 0, "%s does not vary", figure->key);
    }
    comment_of(text, "kernels", "sms", comment);
    ck_assert_str_eq(comment, "the device's properties");
    free(text);
    free(calibration);
}
END_TEST

Suite *calibrate_file_suite(void)
{
    Suite *suite = suite_create("calibrate_file");
    TCase *file = tcase_create("the file");
    tcase_add_loop_test(file, test_every_figure_has_its_source, 0, 3);
    tcase_add_loop_test(file, test_lines_are_short, 0, 2);
    tcase_add_loop_test(file, test_what_was_not_measured_says_so, 0,
                        sizeof unmeasured / sizeof unmeasured[0]);
    tcase_add_test(file, test_what_could_not_be_found_says_so);
    tcase_add_test(file, test_spreads);
    tcase_add_test(file, test_outcomes);
    tcase_add_test(file, test_reads_back);
    suite_add_tcase(suite, file);
    TCase *fields = tcase_create("keys");
    tcase_add_test(fields, test_fields);
    suite_add_tcase(suite, fields);
    TCase *bad = tcase_create("failures");
    tcase_add_loop_test(bad, test_hooks_that_fail, 0, VIRTUAL_HOOKS);
    tcase_add_test(bad, test_impossible_figures);
    tcase_add_test(bad, test_events_do_not_suffice);
    tcase_add_test(bad, test_failing_with_arrays);
    tcase_add_test(bad, test_times_that_vary);
    suite_add_tcase(suite, bad);
    return suite;
}
