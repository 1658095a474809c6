/* check_mistakes_runs.c - mistakes together with everything else: the result is right, or the
 * settings are refused; and the program with them. */
#include "app/backends.h"
#include "app/job.h"
#include "check_contract_timeline.h"
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "mistake_cases.h"
#include "plan/build.h"
#include "run/backend.h"
#include "run/verify.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* --- together with everything else --- */

static void choose_chain(struct settings *settings, uint64_t *random)
{
    static const char *const chains[] = {"scale", "wave",      "sum",           "scale,sum",
                                         "scan",  "scan,scan", "wave-launches", "dgemm"};
    struct settings with =
        test_settings(chains[test_random_below(random, sizeof chains / sizeof chains[0])]);
    settings->chain_length = with.chain_length;
    memcpy(settings->chain, with.chain, sizeof with.chain);
    settings->intensity = 1 + test_random_below(random, 3);
    if (settings->chain[0]->resident_count == NULL)
        return;
    settings->intensity = 1;
    settings->rows = 1 + test_random_below(random, 20);
    settings->inner = 1 + test_random_below(random, 20);
    settings->elements = settings->rows * settings->tiles * (1 + test_random_below(random, 4));
}

static struct settings random_settings(uint64_t *random)
{
    struct settings settings = test_random_settings(random, "scale", 12, 4);
    settings.cpu_share = settings.ways == 4 ? test_random_below(random, 5) / 4.0 : -1;
    settings.priority_count = test_random_below(random, 3) == 0 ? 2 : 0;
    settings.priorities[0] = -1;
    settings.memory = test_random_below(random, 4) ? MEMORY_PINNED : MEMORY_REGISTERED;
    choose_chain(&settings, random);
    return settings;
}

static void on_tile(void *context, int32_t tile)
{
    ((uint8_t *)context)[tile]++;
}

/* Runs the plan with its bytes and verifies them; each tile with a callback was told of once.
 */
static void run_verified(const struct backend_ops *ops, struct backend *backend,
                         const struct settings *settings, struct plan *plan, int engines)
{
    struct error error = {0};
    struct arrays arrays;
    struct timeline timeline = {0};
    struct run_times times;
    uint8_t told[16] = {0};
    test_must(arrays_create(&arrays, plan, settings, &error), &error);
    arrays_poison(&arrays);
    struct workload workload = {.plan = plan,
                                .settings = settings,
                                .arrays = &arrays,
                                .on_tile = on_tile,
                                .context = told};
    test_must(ops->prepare(backend, &workload, &error), &error);
    test_must(ops->run(backend, &timeline, &times, &error), &error);
    test_must(verify_output(plan, &arrays, &error), &error);
    contract_check_timeline(plan, &timeline, engines, false, mistake_name(settings->mistake));
    bool called = settings->callbacks || settings->mistake == test_mistake("slow-callback");
    for (uint32_t tile = 0; tile < plan->tiles; tile++)
        ck_assert_int_eq(told[tile], called && tile < plan->tiles - plan->cpu_tiles);
    ops->release(backend);
    timeline_free(&timeline);
    arrays_free(&arrays);
}

/* Returns true if the plan has what the mistake is about. */
static bool is_made(const struct settings *settings, const struct plan *plan)
{
    const char *name = mistake_name(settings->mistake);
    uint32_t gpu_tiles = plan->tiles - plan->cpu_tiles;
    if (strcmp(name, "pageable-memory") == 0)
        return plan->memory == MEMORY_PAGEABLE;
    if (strcmp(name, "legacy-stream") == 0 || strcmp(name, "blocking-stream") == 0)
        return plan->stream_kinds != NULL;
    if (strcmp(name, "sync-in-loop") == 0)
        return mistake_count_kind(plan, OP_SYNC) == gpu_tiles;
    if (strcmp(name, "alloc-in-loop") == 0 || strcmp(name, "pinned-alloc-in-loop") == 0)
        return mistake_count_kind(plan, OP_ALLOC) == gpu_tiles;
    if (strcmp(name, "memset-in-loop") == 0)
        return mistake_count_kind(plan, OP_MEMSET) >= gpu_tiles;
    if (strcmp(name, "launch-blocking") == 0)
        return plan->launches_block;
    if (strcmp(name, "lazy-loading") == 0)
        return plan->loads_lazily;
    if (strcmp(name, "pin-in-run") == 0)
        return mistake_count_kind(plan, OP_ALLOC) == 1;
    ck_assert_str_eq(name, "slow-callback");
    return mistake_count_kind(plan, OP_CALLBACK) == gpu_tiles;
}

/* Makes the mistake under random settings, or asserts that they are refused in one line.
 * Returns true if it was made. */
static bool try_random(uint64_t *random, int mistake)
{
    const struct backend_ops *ops;
    const char *argument;
    struct backend *backend;
    struct machine machine;
    struct plan plan;
    struct error error = {0};
    struct settings settings = random_settings(random);
    settings.mistake = mistake;
    if (settings_check(&settings, &error) != STATUS_OK ||
        kernel_missing(settings.chain[0]) != NULL)
        return false;
    test_must(backend_select(backends, "sim", &ops, &argument, &error), &error);
    test_must(ops->open(mistake_machines[test_random_below(random, MISTAKE_MACHINES)],
                        &settings, &backend, &error),
              &error);
    test_must(ops->describe(backend, &settings, &machine, &error), &error);
    enum status status = plan_build(&settings, &machine, &plan, &error);
    if (status == STATUS_OK) {
        ck_assert(is_made(&settings, &plan));
        mistake_assert_no_hazards(&plan);
        run_verified(ops, backend, &settings, &plan, machine.copy_engines);
        plan_free(&plan);
    } else {
        ck_assert_int_eq(status, STATUS_USAGE);
        ck_assert_msg(strncmp(error.text, "--mistake=", 10) == 0, "%s", error.text);
        ck_assert(strstr(error.text, ": use ") != NULL && strchr(error.text, '\n') == NULL);
    }
    ops->close(backend);
    return status == STATUS_OK;
}

START_TEST(test_together)
{
    uint64_t random = 271828 + (uint64_t)_i;
    int made = 0;
    if (mistake_rows[_i].races || _i == MISTAKE_NONE)
        return;
    for (int i = 0; i < test_cases(120); i++)
        made += try_random(&random, _i);
    ck_assert_int_gt(made, test_cases(120) / 8);
}
END_TEST

/* --- the program --- */

START_TEST(test_refusals)
{
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"--mistake=legacy-stream -w 1", "nothing overlaps anyway: use --ways=2 or 3\n"},
        {"--mistake=legacy-stream -w 1 -t 1", "use --tiles=2 or more and --ways=2 or 3\n"},
        {"--mistake=legacy-stream -w 1 --layout=stage", "anyway: use --ways=2 or 3\n"},
        {"--mistake=blocking-stream -s 1", "use --streams=2 or more, or --layout=stage\n"},
        {"--mistake=blocking-stream --memory=mapped -s 1", "anyway: use --streams=2 or more\n"},
        {"--mistake=blocking-stream --memory=mapped --layout=stage",
         "anyway: use --layout=tile\n"},
        {"--mistake=sync-in-loop -t 1", "use --tiles=2 or more, or --layout=stage\n"},
        {"--mistake=sync-in-loop -w 4 --cpu-share=0.9",
         "use a smaller --cpu-share, or --layout=stage\n"},
        {"--mistake=memset-in-loop -w 4 --cpu-share=1", "no tiles: use --ways=2 or 3, or a "},
        {"--mistake=missing-wait -w 4 --cpu-share=1", "no tiles: use --ways=2 or 3, or a "},
        {"--mistake=pin-in-run -w 4 --cpu-share=1", "no tiles: use --ways=2 or 3, or a "},
        {"--mistake=lazy-loading --issue=graph", "--mistake=lazy-loading need --issue=streams"},
        {"--mistake=pageable-memory --issue=graph", "one call: use --issue=streams\n"},
        {"--mistake=lazy-loading --runs=3", "but --runs=3 was given: use --runs=1"},
        {"--mistake=lazy-loading --warmup=2", "but --warmup=2 was given: use --warmup=0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[160];
        snprintf(line, sizeof line, "-d sim -n 64k -t 8 %s", cases[i].line);
        ck_assert_msg(program_run(line) == 2, "%s: %s", line, program_err);
        assert_has(program_err, cases[i].words);
        ck_assert_ptr_eq(strchr(program_err, '\n'), program_err + strlen(program_err) - 1);
    }
}
END_TEST

/* Real devices allow only runs that agree on what CUDA takes once in a process. */
START_TEST(test_once_in_a_process)
{
    struct settings runs[2] = {test_settings("scale"), test_settings("scale")};
    const struct options options = {.runs = runs, .run_count = 2};
    struct error error = {0};
    ck_assert_int_eq(process_check(&options, 1, &error), STATUS_OK);
    runs[1].mistake = test_mistake("launch-blocking");
    ck_assert_int_eq(process_check(&options, 1, &error), STATUS_USAGE);
    assert_has(error.text, "runs with and without --mistake=launch-blocking are not possible");
    runs[0].mistake = test_mistake("launch-blocking");
    ck_assert_int_eq(process_check(&options, 1, NULL), STATUS_OK);
    runs[1].connections = 1;
    error_clear(&error);
    ck_assert_int_eq(process_check(&options, 1, &error), STATUS_USAGE);
    assert_has(error.text, "another run has other --connections");
    runs[0] = runs[1] = test_settings("scale"); /* a simulated run loads nothing */
    runs[1].mistake = test_mistake("lazy-loading");
    ck_assert_int_eq(process_check(&options, 1, NULL), STATUS_OK);
}
END_TEST

/* Runs without a race are verified as usual, and every format shows the mistake's ops. */
START_TEST(test_shown)
{
    ck_assert_int_eq(
        program_run("-q -d sim:k20c -n 64k -t 4 --mistake=pageable-memory --format=json"), 0);
    assert_has(program_out, "\"memory\": \"pageable\"");
    assert_has(program_out, "\"verified\": true");
    ck_assert_int_eq(program_run("-q -d sim -n 64k -t 4 -k scale,sum --mistake=slow-callback "
                                 "--timeline=x.csv --timeline=x.json"),
                     0);
    assert_has(program_out, "; mistake: slow-callback; ");
    assert_has(program_out, "B callback");
    ck_assert_int_eq(program_run("-d sim -n 64k -t 4 --mistake=slow-callback --dry-run"), 0);
    assert_has(program_out, "  mistake  slow-callback: ");
    assert_has(program_out, "sleeps 200 us");
    ck_assert_int_eq(program_run("-d sim -n 64k -t 4 --mistake=blocking-stream --dry-run"), 0);
    assert_has(program_out, "blocking,blocking,blocking,blocking,legacy\n");
    assert_has(program_out, "-> device.other+0");
    ck_assert_int_eq(program_run("-q -d sim -n 64k -t 4 --mistake=lazy-loading --format=json"),
                     0);
    assert_has(program_out, "\"runs\": 1,\n        \"warmup\": 0,");
}
END_TEST

/* A reduction's value is folded once, whoever has the callback made. */
START_TEST(test_folded_once)
{
    static const char *const lines[] = {"", "--callbacks", "--mistake=slow-callback",
                                        "--mistake=slow-callback --callbacks"};
    char line[160], value[32] = "";
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        json_error_t why;
        snprintf(line, sizeof line, "-q -d sim -n 64k -t 4 -k sum-int --format=json %s",
                 lines[i]);
        ck_assert_int_eq(program_run(line), 0);
        json_t *report = json_loads(program_out, 0, &why);
        ck_assert_msg(report != NULL, "%s", why.text);
        const json_t *run = json_array_get(json_object_get(report, "runs"), 0);
        char *result = json_dumps(json_object_get(run, "result"), JSON_ENCODE_ANY);
        ck_assert_ptr_nonnull(result);
        if (i == 0)
            snprintf(value, sizeof value, "%s", result);
        ck_assert_str_eq(result, value);
        free(result);
        json_decref(report);
    }
}
END_TEST

#ifndef SANITIZED /* which calls it a fault to ask for so much */
/* That memory runs out while hazards are told is no other failure: who tries a fix goes on
 * after any but that one. */
START_TEST(test_no_memory_to_tell_of_hazards)
{
    const struct options options = {0};
    const char *argument;
    struct error error = {0};
    struct run_report report = {.hazard_count = SIZE_MAX / HAZARD_TEXT};
    struct job job = {
        .options = &options, .settings = test_settings("scale"), .machine = test_machine()};
    job.settings.no_data = true;
    test_must(backend_select(backends, "sim", &job.ops, &argument, &error), &error);
    test_must(plan_build(&job.settings, &job.machine, &job.plan, &error), &error);
    ck_assert_int_eq(job_analyse(&job, &report, &error), STATUS_NO_MEMORY);
    plan_free(&job.plan);
}
END_TEST
#endif

TCase *mistake_runs_case(void)
{
    TCase *runs = tcase_create("together");
    tcase_set_timeout(runs, 120);
    tcase_add_loop_test(runs, test_together, 0, test_mistake_count());
#ifndef SANITIZED
    tcase_add_test(runs, test_no_memory_to_tell_of_hazards);
#endif
    return runs;
}

TCase *mistake_program_case(void)
{
    TCase *program = tcase_create("program");
    tcase_set_timeout(program, 120);
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_test(program, test_refusals);
    tcase_add_test(program, test_once_in_a_process);
    tcase_add_test(program, test_shown);
    tcase_add_test(program, test_folded_once);
    return program;
}
