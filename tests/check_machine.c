/* check_machine.c - machine files good and bad, and the cost of work on a machine. */
#include "fixtures.h"
#include "machine/fields.h"
#include "run/backend.h"
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 32768

static const char *h200_text(void)
{
    const char *text = embedded_find(machine_texts, "h200");
    ck_assert_ptr_nonnull(text);
    return text;
}

/* Writes the embedded h200 with its first `from` replaced by `to` into `text`. */
static void h200_with(const char *from, const char *to, char text[TEXT_MAX])
{
    const char *original = h200_text(), *place = strstr(original, from);
    ck_assert_msg(place != NULL, "h200 has no \"%s\"", from);
    int length = snprintf(text, TEXT_MAX, "%.*s%s%s", (int)(place - original), original, to,
                          place + strlen(from));
    ck_assert_int_lt(length, TEXT_MAX);
}

/* Asserts that such an h200, read as "mine.ini", is refused in these words. */
static void assert_refused(const char *from, const char *to, const char *words)
{
    char text[TEXT_MAX];
    h200_with(from, to, text);
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
    assert_refused("sms = 132", "sms = 0", "sms=0: must be whole numbers from 1");
    assert_refused("sms = 132", "sms = 13.5", "sms=13.5");
    assert_refused("sms = 132", "sms = many", "sms=many");
    assert_refused("sms = 132", "sms = 132x", "sms=132x");
    assert_refused("sms = 132", "sms = nan", "sms=nan");
    assert_refused("sms = 132", "smss = 132", "smss is no key of [kernels]");
    assert_refused("sms = 132", "sms = 132\nsms = 132", "given twice");
    assert_refused("sms = 132", "", "sms is missing from [kernels]");
    assert_refused("summary = NVIDIA H200", "", "summary is missing from [machine]");
    assert_refused("joint_bytes_per_s", "; ", "joint_bytes_per_s is missing from [copies]");
    assert_refused("[kernels]", "[kernel]", "[kernel]");
    assert_refused("sms = 132", "what", "neither [section] nor key = value");
    assert_refused("sms = 132", "[kernel nonesuch]\nbytes_per_s = 1", "no such kernel");
    assert_refused("sms = 132", "[kernel mine]\nbytes_per_s = 1", "has a section [own NAME]");
    assert_refused("sms = 132", "[kernel scale]\nspeed = 1", "speed is no key");
    assert_refused("sms = 132", "[own scale]\nbytes_per_s = 1e9",
                   "its section is [kernel scale]");
    assert_refused("sms = 132", "[own two words]\nbytes_per_s = 1e9",
                   "[own two words]: a name is");
    assert_refused("sms = 132", "[own a/b]\nbytes_per_s = 1e9", "letters, digits, - and _");
    assert_refused("sms = 132", "[own x123456789012345678901234567890123]\nbytes_per_s = 1e9",
                   "1 to 31 letters");
    assert_refused("sms = 132", "[own]\nbytes_per_s = 1e9", "bytes_per_s is no key of [own]");
    assert_refused("sms = 132", "[own mine]\nspeed = 1", "speed is no key of [own mine]");
    assert_refused("sms = 132", "[own mine]\nfixed_ns = -1", "fixed_ns=-1");
    assert_refused("sms = 132", "[kernel scale]\nflops_per_s = 1e-9", "flops_per_s=1e-9");
    assert_refused("sms = 132", "sm\033s = 132", "sm\\x1bs is no key of [kernels]");
    assert_refused("summary = ", "summary = \033[31m", "summary=\\x1b[31m");
    assert_refused("queues = 8", "queues = 33", "queues=33 is above queues_max=32");
    assert_refused("joint_bytes_per_s = ", "joint_bytes_per_s = 1e9 ;", "joint_bytes_per_s");
    assert_refused("priority_greatest = -5", "priority_greatest = 5", "priority_greatest");
    assert_refused("compute_capability = 9.0", "", "compute_capability is missing");
    assert_refused("compute_capability = 9.0", "compute_capability = 0.9", "must be 1 to 99");
    assert_refused("compute_capability = 9.0", "compute_capability = 2.0",
                   "compute_capability=2 does not go with architecture=sm_90");
    assert_refused("copy_engines = 2", "copy_engines = 0", "copy_engines=0");
    assert_refused("copy_engines = 2", "copy_engines = 3", "from 1 to 2");
    assert_refused("pageable_h2d_bytes_per_s = ", "pageable_h2d_bytes_per_s = 58e9 ;",
                   "is above h2d_bytes_per_s=5.549e+10");
    assert_refused("pageable_d2h_bytes_per_s = ", "pageable_d2h_bytes_per_s = 58e9 ;",
                   "is above d2h_bytes_per_s=5.628e+10");
    assert_refused("staging_bytes = 65536", "staging_bytes = 0", "staging_bytes=0");
    char line[400] = "sms = 132 ; ";
    memset(line + strlen(line), 'x', 300);
    assert_refused("sms = 132", line, "longer than");
}
END_TEST

/* Asserts that the text is a machine's, and reads it. */
static void read_text(const char *text, struct machine *machine)
{
    struct error error = {0};
    ck_assert_msg(machine_parse(machine, text, "mine.ini", &error) == STATUS_OK, "%s",
                  error.text);
}

/* Blanks, comments and marks that editors leave and people write change nothing. */
START_TEST(test_spellings)
{
    static const char *const spellings[][2] = {
        {"sms = 132", "sms=132"},
        {"sms = 132", "  sms\t:\t132\r"},
        {"sms = 132", "sms = 132 ;"},
        {"sms = 132", "sms = 132\r\n\r\n  # not ; a key\n;sms = 133"},
        {"[kernels]", "  [kernels] of the device"},
        {"; NVIDIA", "\xef\xbb\xbf; NVIDIA"},
        {"; NVIDIA", "# NVIDIA"},
    };
    struct machine original;
    read_text(h200_text(), &original);
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        char text[TEXT_MAX];
        struct machine machine;
        h200_with(spellings[i][0], spellings[i][1], text);
        read_text(text, &machine);
        ck_assert_msg(memcmp(&machine, &original, sizeof machine) == 0, "%s", spellings[i][1]);
    }
    char text[TEXT_MAX];
    struct machine machine;
    h200_with("summary = NVIDIA H200", "summary = a;b # c ; d", text);
    read_text(text, &machine);
    ck_assert_str_eq(machine.summary, "a;b # c");
}
END_TEST

/* --- formats, and files that lack keys --- */

START_TEST(test_formats)
{
    struct machine original, machine;
    char text[TEXT_MAX];
    read_text(h200_text(), &original);
    h200_with("format = 1\n", "", text);
    read_text(text, &machine);
    ck_assert_mem_eq(&machine, &original, sizeof machine);
    assert_refused("format = 1", "format = 0", "format=0: must be whole numbers from 1");
    assert_refused("format = 1", "format = one", "format=one");
    assert_refused("format = 1", "format = 2", "mine.ini:8: the file is of format 2");
    assert_refused("format = 1", "format = 2", "up to format 1");
    /* Nothing else that a newer file may hold is complained about. */
    assert_refused("host_shared = memory", "host_shared = cable", "must be memory, switch");
    assert_refused("summary = NVIDIA H200\n", "wheels = 4\nwhat\nformat = 12\n", "format 12");
    assert_refused("[copies]\n", "[copies]\nformat = 1\n", "format is no key of [copies]");
}
END_TEST

/* Returns the value that a field has in an h200 whose file lacks the key. */
static double h200_default(const struct machine_field *field, const struct machine *h200)
{
    double times = 1;
    if (field->like != NULL)
        times = machine_field_get(machine_field_find(machine_fields, field->like), h200);
    return times * field->otherwise;
}

/* A user's file from before a key was known keeps every other figure, and gets the key's
 * default. */
START_TEST(test_older_files)
{
    struct machine h200;
    read_text(h200_text(), &h200);
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        if (field->required || field->type == FIELD_TEXT)
            continue;
        char line[128], text[TEXT_MAX];
        struct machine machine, expected = h200;
        snprintf(line, sizeof line, "\n%s =", field->key);
        h200_with(line, "\n; ", text);
        read_text(text, &machine);
        machine_field_put(field, &expected, h200_default(field, &h200));
        ck_assert_msg(memcmp(&machine, &expected, sizeof machine) == 0, "%s", field->key);
    }
}
END_TEST

START_TEST(test_shortest_file)
{
    static const char shortest[] = "[machine]\nsummary = mine\ncompute_capability = 9.0\n"
                                   "[copies]\nh2d_bytes_per_s = 10e9\nd2h_bytes_per_s = 8e9\n"
                                   "joint_bytes_per_s = 15e9\n"
                                   "[kernels]\nsms = 10\nmemory_bytes_per_s = 1e12\n"
                                   "flops_per_s = 1e13\n";
    struct machine machine;
    read_text(shortest, &machine);
    ck_assert_double_eq(machine.pageable_h2d_bytes_per_s, 5e9);
    ck_assert_double_eq(machine.pageable_d2h_bytes_per_s, 4e9);
    ck_assert_int_eq(machine.signal_gap_ns, machine.h2d_gap_ns);
    ck_assert_int_eq(machine.copy_engines, 2);
    ck_assert_uint_eq(machine.queues, 8);
    ck_assert_int_eq(machine.graph_launch_ns, 0);
    ck_assert_int_eq(machine.graph_copies_node_ns, 0);
    ck_assert_int_eq(machine.graph_gap_ns, machine.kernel_gap_ns);
    ck_assert_uint_eq(machine_resident_blocks(&machine), 80);

    int required = 0;
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        required += field->required;
        double value = machine_field_get(field, &machine);
        ck_assert_msg(field->type == FIELD_TEXT ||
                          (value >= field->least && value <= field->most),
                      "%s", field->key);
        ck_assert_msg(field->like == NULL ||
                          machine_field_find(machine_fields, field->like) < field,
                      "%s is settled before %s", field->key, field->like);
    }
    ck_assert_int_eq(required, 8); /* so that all of them are in the file above */
}
END_TEST

/* A default may contradict what is in the file; then the line is that of the latter. */
START_TEST(test_default_against_figure)
{
    char text[TEXT_MAX];
    struct machine machine;
    struct error error = {0};
    h200_with("\nqueues = 8", "\n", text);
    char *most = strstr(text, "queues_max = 32");
    memcpy(most, "queues_max = 04", 15);
    int line = 1;
    for (const char *at = text; at < most; at++)
        line += *at == '\n';
    char words[64];
    snprintf(words, sizeof words, "mine.ini:%d: queues=8 is above queues_max=4", line);
    ck_assert_int_eq(machine_parse(&machine, text, "mine.ini", &error), STATUS_USAGE);
    ck_assert_str_eq(error.text, words);
}
END_TEST

/* Figures that don't go together are found at the end, and the line is that of one of them. */
START_TEST(test_contradictions_name_their_line)
{
    int line = 1;
    for (const char *at = h200_text(); strncmp(at, "queues = ", 9) != 0; line++)
        at = strchr(at, '\n') + 1;
    char words[64];
    snprintf(words, sizeof words, "mine.ini:%d: queues=33", line);
    assert_refused("queues = 8", "queues = 33", words);
}
END_TEST

/* Every machine of the program can be read. */
START_TEST(test_every_machine_loads)
{
    static const char *const shelf[] = {
        "c1060",          "c2050", "c2070",     "k20c",          "k20x",
        "p100",           "v100",  "a100",      "h100",          "h200",
        "rtx3050-laptop", "k40",   "gtx1080ti", "gtx1650-super", "k80"};
    for (size_t i = 0; i < sizeof shelf / sizeof shelf[0]; i++) {
        struct machine machine;
        struct error error = {0};
        ck_assert_msg(machine_load(&machine, shelf[i], &error) == STATUS_OK, "%s", error.text);
        ck_assert_str_eq(machine.name, shelf[i]);
        ck_assert_uint_ge(machine.queues_max, machine.queues);
        ck_assert_double_ge(machine.memory_bytes_per_s, machine.joint_bytes_per_s);
    }
    size_t count = 0;
    while (machine_texts[count].name != NULL)
        count++;
    ck_assert_uint_eq(count, sizeof shelf / sizeof shelf[0]);
}
END_TEST

START_TEST(test_every_figure_has_a_source)
{
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        for (const char *line = text->text; *line != '\0'; line += strcspn(line, "\n") + 1) {
            size_t length = strcspn(line, "\n");
            bool name = strncmp(line, "summary", 7) == 0 ||
                        strncmp(line, "architecture", 12) == 0 ||
                        strncmp(line, "format", 6) == 0;
            ck_assert_msg(name || memchr(line, '=', length) == NULL ||
                              memchr(line, ';', length) != NULL,
                          "%s: no source: %.*s", text->name, (int)length, line);
        }
    }
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
    ck_assert_ptr_null(machine_kernel_find(&machine, "waves"));
    unlink(path);
    rmdir(folder);
}
END_TEST

/* An element takes 2 flops at 1 flop per ns, and 8 bytes at 1 byte per ns. */
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

/* Work that is worth a team of threads pays for waking it; less is one core's. */
START_TEST(test_small_work_is_one_core_s)
{
    enum { FEWEST = 32768 };
    struct machine machine = test_machine();
    const struct kernel *scale = kernel_find("scale");
    struct kernel_params params = {.intensity = 1};
    machine.cpu_team_ns = 500;
    machine.cpu_core_share = 0.25;
    const double each = kernel_flops_per_element(scale, &params); /* ns, at 1e9 a second */
    ck_assert_double_eq_tol(machine_cpu_ns(&machine, scale, &params, FEWEST),
                            500 + FEWEST * each, 1e-6);
    ck_assert_double_eq_tol(machine_cpu_ns(&machine, scale, &params, FEWEST - 1),
                            4 * (FEWEST - 1) * each, 1e-6);
    params.intensity = 2;
    ck_assert_double_eq_tol(machine_cpu_ns(&machine, scale, &params, FEWEST / 2),
                            500 + FEWEST * each, 1e-6);
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

/* A kernel of a user's own has a section, too, in which its bytes tell all of its time. */
START_TEST(test_own_kernels)
{
    char text[TEXT_MAX];
    struct machine machine;
    struct error error = {0};
    const struct kernel_params once = {.intensity = 1};
    const struct kernel mine = {.name = "my-kernel_2",
                                .file = "./mine.so",
                                .inputs = 1,
                                .flops = 1e6, /* as many take longer at any rate */
                                .per_thread = 1,
                                .sweep = 1};
    h200_with("[host]", "[own my-kernel_2]\nfixed_ns = 4321\nflops_per_s = 2e9\n[host]", text);
    ck_assert_msg(machine_parse(&machine, text, "mine.ini", &error) == STATUS_OK, "%s",
                  error.text);
    struct machine_kernel *row =
        (struct machine_kernel *)machine_kernel_find(&machine, "my-kernel_2");
    ck_assert_ptr_nonnull(row);
    ck_assert_int_eq(machine_kernel_cost(&machine, &mine, &once, 100).fixed_ns, 4321);
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, &mine, &once, 100), 5e7, 1e-3);
    row->bytes_per_s = 1e9;
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, &mine, &once, 100), 800, 1e-6);
    ck_assert_double_eq(machine_kernel_cost(&machine, &mine, &once, 100).arithmetic_ns, 0);
    ck_assert_str_eq(machine_kernel_section("my-kernel_2"), "own");
    ck_assert_str_eq(machine_kernel_section("scale"), "kernel");
}
END_TEST

Suite *machine_suite(void)
{
    Suite *suite = suite_create("machine");
    TCase *tests = tcase_create("machine");
    tcase_add_test(tests, test_h200_loads);
    tcase_add_test(tests, test_bad_machine_files);
    tcase_add_test(tests, test_spellings);
    tcase_add_test(tests, test_own_kernels);
    tcase_add_test(tests, test_formats);
    tcase_add_test(tests, test_older_files);
    tcase_add_test(tests, test_shortest_file);
    tcase_add_test(tests, test_default_against_figure);
    tcase_add_test(tests, test_contradictions_name_their_line);
    tcase_add_test(tests, test_every_machine_loads);
    tcase_add_test(tests, test_every_figure_has_a_source);
    tcase_add_test(tests, test_names_and_paths);
    tcase_add_test(tests, test_kernel_costs);
    tcase_add_test(tests, test_measured_kernels_win);
    tcase_add_test(tests, test_small_work_is_one_core_s);
    suite_add_tcase(suite, tests);
    return suite;
}
