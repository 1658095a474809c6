/* check_rework_view.c - recordings of runs with one mistake, viewed: the mistake comes first,
 * with the time that the run takes without it. */
#include "recording_maker.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t simulate(const struct settings *settings, const struct machine *machine,
                        FILE *out)
{
    struct recording_maker maker = {.random = 5};
    struct plan plan = test_built_on(settings, machine);
    struct timeline timeline = sim_run(machine, &plan);
    int64_t time_ns = timeline_time_ns(&timeline);
    for (uint32_t i = 0; i < timeline.span_count; i++) { /* the maker takes ten times as long */
        timeline.spans[i].issue_ns /= 10;
        timeline.spans[i].start_ns /= 10;
        timeline.spans[i].end_ns /= 10;
    }
    for (uint32_t i = 0; i < timeline.issue_count; i++)
        timeline.issue_ns[i] /= 10;
    if (out != NULL)
        recording_make(out, &maker, &plan, &timeline);
    free(maker.node_ids);
    timeline_free(&timeline);
    plan_free(&plan);
    return time_ns;
}

static json_t *view(const char *arguments)
{
    json_error_t why;
    char command[128];
    snprintf(command, sizeof command, "view -q --format=json rec.jsonl %s", arguments);
    ck_assert_msg(program_run(command) == 0, "%s", program_err);
    char *printed = test_file_text("out");
    json_t *root = json_loads(printed, 0, &why);
    ck_assert_msg(root != NULL, "%s", why.text);
    free(printed);
    return root;
}

static const char *const mistakes[] = {
    "pageable-memory", "legacy-stream",        "blocking-stream", "sync-in-loop",
    "alloc-in-loop",   "pinned-alloc-in-loop", "launch-blocking", "slow-callback"};

/* Writes rec.jsonl: a run with a mistake, or without ("none"). Returns its simulated time. */
static int64_t record(const char *mistake, const struct machine *machine)
{
    struct settings settings = test_settings("scale");
    settings.elements = 64 << 20;
    settings.tiles = 32;
    settings.order = ORDER_BREADTH;
    settings.callbacks = strcmp(mistake, "slow-callback") == 0;
    settings.mistake = test_mistake(mistake);
    FILE *out = fopen("rec.jsonl", "w");
    ck_assert_ptr_nonnull(out);
    int64_t time_ns = simulate(&settings, machine, out);
    fclose(out);
    return time_ns;
}

/* Changes each line of rec.jsonl that begins so. */
static void edit(const char *begin, void (*change)(char *line))
{
    char line[4096];
    FILE *in = fopen("rec.jsonl", "r"), *out = fopen("edited.jsonl", "w");
    ck_assert(in != NULL && out != NULL);
    while (fgets(line, sizeof line, in) != NULL) {
        if (strncmp(line, begin, strlen(begin)) == 0)
            change(line);
        fputs(line, out);
    }
    fclose(in);
    fclose(out);
    ck_assert_int_eq(rename("edited.jsonl", "rec.jsonl"), 0);
}

/* Returns a text of the first verdict, which must be of that cause; the caller frees `root`. */
static json_t *first_verdict(json_t *root, const char *code)
{
    json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    json_t *verdict = json_array_get(json_object_get(run, "verdicts"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(verdict, "code")), code);
    return verdict;
}

/* A run that was faster than a machine allows keeps its cause, and no limit of that machine. */
START_TEST(a_machine_that_does_not_fit_hides_no_cause)
{
    struct machine machine = test_machine_named("h200");
    record("legacy-stream", &machine);
    json_t *root = view("--device=0 --machine=a100");
    json_t *verdict = first_verdict(root, "legacy-stream");
    ck_assert_str_eq(json_string_value(json_object_get(verdict, "evidence")), "certain");
    json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    ck_assert(json_is_null(json_object_get(run, "limit_ms")));
    json_decref(root);
    ck_assert_int_ne(
        program_run("view -q --device=0 rec.jsonl --machine=a100 --fail-above=any:10%"), 0);
    ck_assert_msg(strstr(program_err, "legacy-stream costs") != NULL, "%s", program_err);
    char *printed = test_file_text("out");
    ck_assert_ptr_nonnull(strstr(printed, "machine file does not fit"));
    free(printed);
}
END_TEST

static void forget_arguments(char *line)
{
    char *list = strrchr(line, '[');
    ck_assert_ptr_nonnull(list);
    strcpy(list, "[]]\n");
}

/* Of kernels that name no memory no fix of order is tried; what the trace shows counts. */
START_TEST(kernels_of_unknown_memory_hide_no_cause)
{
    struct machine machine = test_machine_named("h200");
    record("legacy-stream", &machine);
    edit("[\"launch\",", forget_arguments);
    json_t *root = view("--device=0");
    json_t *verdict = first_verdict(root, "legacy-stream");
    ck_assert(!json_is_object(json_object_get(verdict, "fix")) ||
              json_is_null(json_object_get(json_object_get(verdict, "fix"), "predicted_ms")));
    const char *seen = json_string_value(json_object_get(verdict, "seen"));
    ck_assert_ptr_nonnull(strstr(seen, "not known which memory"));
    json_decref(root);
}
END_TEST

/* Writes rec.jsonl: copy in, kernel and copy out, 16 times, each of what the last brought out.
 */
static void record_chain(bool polls)
{
    FILE *out = fopen("rec.jsonl", "w");
    ck_assert_ptr_nonnull(out);
    fputs("{\"pipeline_recording\":1,\"version\":\"0.1.0\",\"program\":\"p\",\"pid\":1,"
          "\"parent\":1,\"begin_ns\":0,\"driver\":13000,\"cupti\":130000,"
          "\"launch_blocking\":false,\"connections\":null,\"lazy\":false}\n"
          "[\"device\",0,\"NVIDIA H200\",9,0,132,2048,32,65536,233472,3]\n[\"context\",1,0]\n"
          "[\"stream\",1,13,9013,\"non-blocking\",0]\n[\"name\",7,\"work\"]\n"
          "[\"memory\",\"device\",0,1000000000,134217728,0]\n"
          "[\"memory\",\"pinned\",0,2000000000,134217728,null]\n",
          out);
    for (int i = 0, id = 1; i < 16; i++, id += 4) {
        int now = 100000 + 505000 * i, in = now + 7000, kernel = in + 167000,
            back = kernel + 162000, end = back + 165000,
            device = 1000000000 + (polls ? 8388608 * i : 0), host = device + 1000000000;
        fprintf(out, "[\"call\",%d,\"cudaMemcpyAsync\",1,%d,%d,0]\n", id, now, now + 2000);
        fprintf(out, "[\"copy\",%d,1,13,%d,%d,8388608]\n", id, device, host);
        fprintf(out, "[\"op\",%d,\"h2d\",1,13,%d,%d,8388608,\"pinned\",\"device\",0]\n", id, in,
                in + 165000);
        fprintf(out, "[\"call\",%d,\"cudaLaunchKernel\",1,%d,%d,0]\n", id + 1, now + 2000,
                now + 4000);
        fprintf(out, "[\"launch\",%d,1,13,[%d]]\n", id + 1, device);
        fprintf(out, "[\"kernel\",%d,1,13,%d,%d,7,12288,256,32,0,0]\n", id + 1, kernel,
                kernel + 160000);
        fprintf(out, "[\"call\",%d,\"cudaMemcpyAsync\",1,%d,%d,0]\n", id + 2, now + 4000,
                now + 6000);
        fprintf(out, "[\"copy\",%d,1,13,%d,%d,8388608]\n", id + 2, host, device);
        fprintf(out, "[\"op\",%d,\"d2h\",1,13,%d,%d,8388608,\"device\",\"pinned\",0]\n", id + 2,
                back, end);
        for (int at = now + 6000; polls && at < end; at += 3000)
            fprintf(out, "[\"call\",%d,\"cudaStreamQuery\",1,%d,%d,600]\n", 1000000 + at, at,
                    at + 2000);
        if (polls)
            continue;
        fprintf(out, "[\"call\",%d,\"cudaStreamSynchronize\",1,%d,%d,0]\n", id + 3, now + 6000,
                end - 3000);
        fprintf(out, "[\"sync\",%d,\"stream\",1,13]\n", id + 3);
    }
    fputs("[\"end\",9000000,\"exit\"]\n", out);
    fclose(out);
}

START_TEST(waits_that_data_asks_for_anyway_cost_nothing)
{
    record_chain(false);
    json_t *root = view("");
    json_t *run = json_array_get(json_object_get(root, "runs"), 0), *verdict;
    size_t i;
    json_array_foreach(json_object_get(run, "verdicts"), i, verdict)
        ck_assert_str_ne(json_string_value(json_object_get(verdict, "code")), "sync-in-loop");
    json_decref(root);
    ck_assert_int_eq(program_run("view -q rec.jsonl"), 0);
    char *printed = test_file_text("out");
    ck_assert_ptr_nonnull(strstr(printed, "each result is the next"));
    free(printed);
}
END_TEST

START_TEST(a_host_that_asks_again_and_again_waits)
{
    record_chain(true);
    json_t *root = view(""), *verdict = first_verdict(root, "sync-in-loop");
    const char *seen = json_string_value(json_object_get(verdict, "seen"));
    ck_assert_ptr_nonnull(strstr(seen, "calls of cudaStreamQuery that said not ready"));
    json_decref(root);
}
END_TEST

static void set_launch_blocking(char *line)
{
    char *no = strstr(line, "\"launch_blocking\":false");
    ck_assert_ptr_nonnull(no);
    no = strstr(no, "false");
    char rest[4096];
    snprintf(rest, sizeof rest, "true%s", no + strlen("false"));
    strcpy(no, rest);
}

START_TEST(the_environment_alone_is_no_cause)
{
    struct machine machine = test_machine_named("h200");
    record("legacy-stream", &machine);
    edit("{", set_launch_blocking);
    json_t *root = view("--device=0"), *verdict;
    first_verdict(root, "legacy-stream");
    json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    size_t i;
    json_array_foreach(json_object_get(run, "verdicts"), i, verdict) ck_assert_str_ne(
        json_string_value(json_object_get(verdict, "code")), "launch-blocking");
    json_decref(root);
}
END_TEST

START_TEST(mistakes_come_first_with_the_time_without_them)
{
    struct settings settings = test_settings("scale");
    struct machine machine = test_machine_named("h200");
    settings.elements = 64 << 20;
    settings.tiles = 32;
    settings.order = ORDER_BREADTH;
    settings.callbacks = strcmp(mistakes[_i], "slow-callback") == 0;
    double right_ms = (double)simulate(&settings, &machine, NULL) / 1e6;
    settings.mistake = test_mistake(mistakes[_i]);
    FILE *out = fopen("rec.jsonl", "w");
    ck_assert_ptr_nonnull(out);
    simulate(&settings, &machine, out);
    fclose(out);
    json_t *root = view("--device=0 --fix"), *runs = json_object_get(root, "runs");
    json_t *run = json_array_get(runs, 0);
    json_t *verdict = json_array_get(json_object_get(run, "verdicts"), 0);
    json_t *fix = json_object_get(verdict, "fix");
    double predicted_ms = json_real_value(json_object_get(fix, "predicted_ms"));
    const char *code = json_string_value(json_object_get(verdict, "code"));
    ck_assert_str_eq(code, mistakes[_i]);
    ck_assert_msg(fabs(predicted_ms - right_ms) <= 0.05 * right_ms, "%s: %g ms, not %g ms",
                  code, predicted_ms, right_ms);
    ck_assert_double_le(json_real_value(json_object_get(fix, "predicted_low_ms")), right_ms);
    ck_assert_double_ge(json_real_value(json_object_get(fix, "predicted_high_ms")), right_ms);
    ck_assert_uint_eq(json_array_size(runs), 2);
    json_t *fixed = json_array_get(runs, 1);
    ck_assert_str_eq(json_string_value(json_object_get(fixed, "source")), "simulated");
    double fixed_ms = json_real_value(json_object_get(fixed, "time_ms"));
    ck_assert_double_le(fixed_ms, 1.05 * right_ms);
    const double limit_ms = json_real_value(json_object_get(fixed, "limit_ms"));
    ck_assert(limit_ms > 0 && limit_ms <= fixed_ms);
    json_t *best = json_object_get(json_object_get(run, "best"), "predicted_ms");
    ck_assert_double_eq_tol(fixed_ms, best != NULL ? json_real_value(best) : predicted_ms,
                            1e-6);
    double time_ms = json_real_value(json_object_get(run, "time_ms"));
    double speedup = json_real_value(json_object_get(fixed, "speedup"));
    ck_assert_double_eq_tol(speedup, time_ms / fixed_ms, 1e-9);
    json_decref(root);
}
END_TEST

/* A graph of one branch is not in one stream for want of streams: its edges ask for it. */
START_TEST(a_graph_in_one_line_waits_needlessly)
{
    struct settings settings = test_settings("scale");
    struct machine machine = test_machine_named("h200");
    settings.elements = 64 << 20;
    settings.tiles = 32;
    settings.streams = 1;
    settings.issue = ISSUE_GRAPH;
    FILE *out = fopen("rec.jsonl", "w");
    ck_assert_ptr_nonnull(out);
    simulate(&settings, &machine, out);
    fclose(out);
    json_t *root = view("--device=0"), *runs = json_object_get(root, "runs");
    json_t *verdicts = json_object_get(json_array_get(runs, 0), "verdicts");
    json_t *first = json_array_get(verdicts, 0);
    ck_assert_str_eq(json_string_value(json_object_get(first, "code")), "needless-wait");
    ck_assert_ptr_nonnull(strstr(json_string_value(json_object_get(first, "seen")), "graphs"));
    json_decref(root);
}
END_TEST

Suite *rework_view_suite(void)
{
    Suite *suite = suite_create("rework_view");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(all, mistakes_come_first_with_the_time_without_them, 0,
                        (int)(sizeof mistakes / sizeof mistakes[0]));
    tcase_add_test(all, a_machine_that_does_not_fit_hides_no_cause);
    tcase_add_test(all, kernels_of_unknown_memory_hide_no_cause);
    tcase_add_test(all, waits_that_data_asks_for_anyway_cost_nothing);
    tcase_add_test(all, a_host_that_asks_again_and_again_waits);
    tcase_add_test(all, the_environment_alone_is_no_cause);
    tcase_add_test(all, a_graph_in_one_line_waits_needlessly);
    suite_add_tcase(suite, all);
    return suite;
}
