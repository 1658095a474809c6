/* check_emit.c - programs that --emit writes: their loops, their calls, and what is refused.
 *
 * A program is compiled for the CPU against tests/emit/cuda_runtime.h, which does each call at
 * once and writes it down. So it checks its own result, and what it called is held against the
 * plan, call by call: that is what the reader of the program gets, whatever the writer proved.
 */
#include "fixtures.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_FILE TESTS_FOLDER "/emit/settings.txt"
#define COMPILE                                                                                \
    "c++ -std=c++17 -O1 -w -ffp-contract=off -I " TESTS_FOLDER                                 \
    "/emit -include cuda_runtime.h -o tiles tiles.cpp 2>err"

enum { OPTIONS_TEXT = 256, LINES_MAX = 1 << 16, CALL_TEXT = 48, SETTINGS_MAX = 64 };

static char settings[SETTINGS_MAX][OPTIONS_TEXT];
static int settings_count;

static void read_settings(void)
{
    FILE *file = fopen(SETTINGS_FILE, "r");
    settings_count = 0;
    while (file != NULL && settings_count < SETTINGS_MAX &&
           fgets(settings[settings_count], OPTIONS_TEXT, file) != NULL) {
        settings[settings_count][strcspn(settings[settings_count], "\n")] = '\0';
        settings_count++;
    }
    if (file != NULL)
        fclose(file);
}

/* Returns how many elements to take for `options`: a multiple of the tiles, but of 30 and 31
 * tiles, which are to be of two sizes. */
static int elements_for(const char *options)
{
    enum { EACH = 100, UNEVEN = 4099 };
    const int tiles = atoi(strstr(options, "-t ") + 3);
    return tiles == 30 || tiles == 31 ? UNEVEN : EACH * tiles;
}

/* No line is too long for a slide, and none ends in a blank. */
static void check_lines(const char *text)
{
    enum { COLUMNS = 100 };
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1) {
        const size_t length = strcspn(at, "\n");
        ck_assert_msg(length <= COLUMNS && (length == 0 || at[length - 1] != ' '), "%.*s",
                      (int)length, at);
    }
}

/* Emits the plan of `options` into tiles.cu, and has the program print that plan. */
static void emit(const char *options)
{
    char common[2 * OPTIONS_TEXT], line[3 * OPTIONS_TEXT];
    const char *intensity = strstr(options, "--intensity") != NULL ? "" : " --intensity=5";
    snprintf(common, sizeof common, "-q -d sim:h200 --runs=1 -n %d %s%s", elements_for(options),
             options, intensity);
    snprintf(line, sizeof line, "%s --emit=tiles.cu", common);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
    ck_assert_str_eq(program_out, "");
    char *text = test_file_text("tiles.cu");
    check_lines(text);
    free(text);
    snprintf(line, sizeof line, "%s --dry-run --format=json", common);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
}

/* --- the program on the CPU --- */

/* Returns the place of the parenthesis that closes the one at `open`. */
static const char *closing(const char *open)
{
    int depth = 0;
    for (; *open != '\0'; open++) {
        depth += *open == '(' ? 1 : *open == ')' ? -1 : 0;
        if (depth == 0)
            return open;
    }
    ck_abort_msg("a parenthesis is never closed");
    return NULL;
}

/* Writes "name<<<grid, threads, 0, stream>>>(arguments)" as a call of launch(). */
static void write_launches(const char *text, FILE *out)
{
    const char *mark;
    while ((mark = strstr(text, "<<<")) != NULL) {
        const char *name = mark, *grid = mark + 3, *end = strstr(grid, ">>>(");
        ck_assert_ptr_nonnull(end);
        while (isalnum((unsigned char)name[-1]) || name[-1] == '_')
            name--;
        const char *open = end + 3, *close = closing(open);
        fprintf(out, "%.*slaunch(%.*s, [=] { %.*s%.*s; })", (int)(name - text), text,
                (int)(end - grid), grid, (int)(mark - name), name, (int)(close + 1 - open),
                open);
        text = close + 1;
    }
    fputs(text, out);
}

/* Compiles tiles.cu for the CPU and runs it, which has it check its own result. */
static void run_on_cpu(const char *options)
{
    char *text = test_file_text("tiles.cu");
    FILE *out = fopen("tiles.cpp", "w");
    write_launches(text, out);
    fclose(out);
    if (system(COMPILE) != 0) {
        char *why = test_file_text("err");
        ck_abort_msg("%s: %.2000s", options, why);
    }
    ck_assert_msg(system("./tiles >out") == 0, "%s: the result is wrong", options);
    free(text);
}

/* --- its calls --- */

static char calls[LINES_MAX][CALL_TEXT];
static int call_count;

static void read_calls(void)
{
    FILE *file = fopen("calls.txt", "r");
    ck_assert_ptr_nonnull(file);
    for (call_count = 0;
         call_count < LINES_MAX && fgets(calls[call_count], CALL_TEXT, file) != NULL;
         call_count++)
        calls[call_count][strcspn(calls[call_count], "\n")] = '\0';
    fclose(file);
}

/* Returns the place behind the `nth` call `name`. */
static int behind(const char *name, int nth)
{
    for (int i = 0; i < call_count; i++) {
        if (strcmp(calls[i], name) == 0 && --nth == 0)
            return i + 1;
    }
    ck_abort_msg("no call %s", name);
    return 0;
}

/* Finds the calls of one run: those between the third and the fourth look at the clock; or
 * those of the capture, without what takes the other streams into it and back. */
static void find_run(size_t streams, int *first, int *end)
{
    bool graph = false;
    for (int i = 0; i < call_count; i++)
        graph |= strcmp(calls[i], "capture") == 0;
    const int others = (int)streams - 1;
    *first = graph ? behind("capture", 1) : behind("synchronize", 3);
    *end = (graph ? behind("captured", 1) : behind("synchronize", 4)) - 1;
    if (graph && others > 0) {
        *first += 1 + others;
        *end -= 2 * others;
    }
}

/* Returns the number of the plan's legacy default stream, or of none. */
static int legacy_stream(const json_t *plan)
{
    const json_t *streams = json_object_get(plan, "streams"), *stream;
    size_t i;
    json_array_foreach(streams, i, stream)
    {
        if (strcmp(json_string_value(json_object_get(stream, "kind")), "legacy") == 0)
            return (int)i;
    }
    return (int)json_array_size(streams);
}

/* Writes the call that an op is. `recorded`: per event, the place of its record. Streams are
 * numbered as they are made, which the legacy default stream is not. */
static void expected_call(const json_t *op, int legacy, int place, int first, int *recorded,
                          char text[CALL_TEXT])
{
    const char *kind = json_string_value(json_object_get(op, "kind"));
    const int number = (int)json_integer_value(json_object_get(op, "stream"));
    const int stream = number > legacy ? number - 1 : number;
    const int event = (int)json_integer_value(json_object_get(op, "event"));
    if (strcmp(kind, "alloc") == 0)
        snprintf(text, CALL_TEXT, "alloc %lld",
                 (long long)json_integer_value(json_object_get(op, "bytes")));
    else if (number == legacy)
        snprintf(text, CALL_TEXT, "%s in the legacy default stream", kind);
    else if (strcmp(kind, "h2d") == 0 || strcmp(kind, "d2h") == 0 ||
             strcmp(kind, "memset") == 0)
        snprintf(text, CALL_TEXT, "%s %d %lld", kind, stream,
                 (long long)json_integer_value(json_object_get(op, "bytes")));
    else if (strcmp(kind, "wait") == 0)
        snprintf(text, CALL_TEXT, "wait %d %d", stream, first + recorded[event]);
    else
        snprintf(text, CALL_TEXT, "%s %d", kind, stream);
    if (strcmp(kind, "record") == 0)
        recorded[event] = place;
}

/* Holds the calls against the plan that the latest run of the program printed. */
static void check_calls(const char *options, const char *plan_text)
{
    json_t *root = json_loads(plan_text, 0, NULL), *op;
    ck_assert_ptr_nonnull(root);
    const json_t *plan = json_array_get(json_object_get(root, "plans"), 0);
    const json_t *ops = json_object_get(plan, "ops");
    int *recorded = calloc(json_array_size(ops) + 1, sizeof *recorded), first, end;
    size_t i;
    read_calls();
    find_run(json_array_size(json_object_get(plan, "streams")), &first, &end);
    ck_assert_msg((size_t)(end - first) == json_array_size(ops), "%s: %d calls for %zu ops",
                  options, end - first, json_array_size(ops));
    json_array_foreach(ops, i, op)
    {
        char text[CALL_TEXT];
        expected_call(op, legacy_stream(plan), (int)i, first, recorded, text);
        ck_assert_msg(strcmp(calls[first + (int)i], text) == 0, "%s: op %zu is %s, not %s",
                      options, i, text, calls[first + (int)i]);
    }
    free(recorded);
    json_decref(root);
}

static void check_program(const char *options)
{
    emit(options);
    char *plan = test_file_text("out");
    run_on_cpu(options);
    check_calls(options, plan);
    free(plan);
}

/* Depth- and breadth-first, both layouts, 2-way, a reduction, a graph, batches. */
START_TEST(calls_are_the_plan)
{
    static const char *const some[] = {"-t 31 -s 4",
                                       "-t 16 -s 3 --layout=stage --order=breadth --callbacks",
                                       "-t 16 -s 4 --ways=2",
                                       "-t 32 -s 4 --issue=graph -k scale,sum",
                                       "-t 20 -s 2 --issue=batch --batch=8 -k wave",
                                       "-t 31 -s 4 --mistake=sync-in-loop",
                                       "-t 16 -s 3 --layout=stage --mistake=legacy-stream"};
    check_program(some[_i]);
}
END_TEST

START_TEST(all_calls_are_their_plans)
{
    read_settings();
    ck_assert_int_ge(settings_count, 40);
    for (int i = 0; i < settings_count; i++)
        check_program(settings[i]);
}
END_TEST

/* --- the program as a text --- */

START_TEST(a_simple_program_fits_on_a_slide)
{
    ck_assert_int_eq(program_run("-d sim:h200 --emit=-"), 0);
    int lines = 0;
    check_lines(program_out);
    for (const char *at = program_out; *at != '\0'; at++)
        lines += *at == '\n';
    ck_assert_int_le(lines, 60);
    assert_shown(program_out, "for (size_t tile = 0; tile < TILES; tile++) {\n"
                              "        const size_t slot = tile % STREAMS;|stream[slot]");
    ck_assert_ptr_null(strstr(program_out, "cudaEvent"));
}
END_TEST

START_TEST(loops_are_as_people_write_them)
{
    ck_assert_int_eq(program_run("-d sim:h200 --order=breadth --emit=-"), 0);
    assert_shown(program_out, "first += STREAMS) {|std::min(first + STREAMS, TILES);|"
                              "            copy_in(tile);|            launch_scale(tile);");
    ck_assert_int_eq(program_run("-d sim:h200 --layout=stage -s 3 --emit=-"), 0);
    assert_shown(program_out, "SLOTS = 3|if (tile >= SLOTS) // |if (tile + SLOTS < TILES) // |"
                              "cudaStreamWaitEvent(kernel_stream, copied_in[slot], 0)|"
                              "cudaStreamWaitEvent(in_stream, computed[slot], 0)");
    ck_assert_int_eq(program_run("-d sim:h200 --ways=2 --emit=-"), 0);
    assert_shown(program_out, "CHECK(cudaEventRecord(all_copied_in, stream[0])); // |"
                              "tile < STREAMS");
    ck_assert_int_eq(program_run("-d sim:h200 --priorities=0,-1 --memory=registered "
                                 "--callbacks --emit=-"),
                     0);
    assert_shown(program_out, "{0, -1}|cudaHostRegister|cudaLaunchHostFunc(stream[slot]");
}
END_TEST

/* Nothing is printed or written, and the line names what is in the way. */
START_TEST(what_is_refused)
{
    static const char *const cases[][2] = {
        {"-k scan", "the kernel scan can't"},
        {"-k scan", "allowed are scale, wave,"},
        {"-k transpose-naive", "the kernel transpose-naive can't"},
        {"--ways=4 --cpu-share=0.5", "--ways=4"},
        {"--mistake=lazy-loading", "--mistake=lazy-loading"},
        {"--scatter", "--scatter"},
        {"--pack", "--pack"},
        {"-k uniform -t 31", "a multiple of --tiles"},
        {"-t 31 --issue=batch --batch=4", "a multiple of --tiles"},
        {"--device='sim:h200*2'", "several devices"},
        {"--sweep=tiles=2,4", "there are 2 runs"},
        {"lesson 1", "there are"},
    };
    char line[OPTIONS_TEXT];
    snprintf(line, sizeof line, "%s %s --emit=tiles.cu", cases[_i][0],
             strstr(cases[_i][0], "--device") != NULL ? "" : "-d sim:h200");
    ck_assert_int_eq(program_run(line), 2);
    ck_assert_str_eq(program_out, "");
    assert_has(program_err, cases[_i][1]);
    ck_assert_ptr_eq(strchr(program_err, '\n') + 1, strchr(program_err, '\0'));
    ck_assert_ptr_null(fopen("tiles.cu", "r"));
}
END_TEST

START_TEST(several_go_to_standard_output)
{
    ck_assert_int_eq(program_run("-d sim:h200 -n 1M --sweep=order=depth,breadth --emit=-"), 0);
    assert_shown(program_out, "Depth-first|Breadth-first");
    ck_assert_int_eq(program_run("lesson 4 -d sim:h200 --emit=-"), 0);
    assert_shown(program_out, "STREAMS = |int main() {");
    ck_assert_int_eq(program_run("compare -d sim:h200 --emit=-"), 2);
    ck_assert_int_eq(program_run("lesson 10 -d sim:h200 --emit=-"), 2);
    ck_assert_str_eq(program_out, ""); /* its second run has 4 ways */
}
END_TEST

/* --- nvcc --- */

/* Compiles the program of `options` without a warning. */
static void check_nvcc(const char *options)
{
    emit(options);
    int status = system("nvcc -c -o tiles.o -Xcompiler -Wall,-Wextra tiles.cu >err 2>&1");
    char *said = test_file_text("err");
    ck_assert_msg(status == 0 && said[0] == '\0', "%s: %.2000s", options, said);
    free(said);
}

START_TEST(nvcc_takes_programs)
{
    static const char *const some[] = {"-t 32 -s 4", "-t 31 -s 3 --layout=stage -k scale,sum",
                                       "-t 16 -s 4 -k wave --ways=2 --issue=graph",
                                       "-t 16 -s 4 -n 1G", "-t 31 -s 4 -n 1G -k wave"};
    check_nvcc(some[_i]);
}
END_TEST

START_TEST(nvcc_takes_all_programs)
{
    read_settings();
    for (int i = 0; i < settings_count; i++)
        check_nvcc(settings[i]);
}
END_TEST

Suite *emit_suite(void)
{
    Suite *suite = suite_create("emit");
    TCase *all = tcase_create("all");
    const bool deep = test_cases(1) > 1;
    tcase_set_timeout(all, 600);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, a_simple_program_fits_on_a_slide);
    tcase_add_test(all, loops_are_as_people_write_them);
    tcase_add_loop_test(all, what_is_refused, 0, 12);
    tcase_add_test(all, several_go_to_standard_output);
    tcase_add_loop_test(all, calls_are_the_plan, 0, 7);
    if (deep)
        tcase_add_test(all, all_calls_are_their_plans);
    if (system("nvcc --version >/dev/null 2>&1") == 0) {
        tcase_add_loop_test(all, nvcc_takes_programs, 0, 5);
        if (deep)
            tcase_add_test(all, nvcc_takes_all_programs);
    }
    suite_add_tcase(suite, all);
    return suite;
}
