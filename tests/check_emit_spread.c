/* check_emit_spread.c - programs of --emit for several devices whose tiles need more than their
 * own elements: the matrix product, of which each device has A and a handle. */
#include "fixtures.h"
#include "plan/build.h"
#include "suites.h"
#include "test_emit.h"
#include "test_folder.h"
#include "test_program.h"
#include "writers/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCT " -k dgemm --rows=20 --inner=12"
#define TWO     "--device=sim:h200*2 "
#define THREE   "--device=sim:h200*3 "

static bool is_there(void)
{
    return emit_is_there(PRODUCT);
}

/* Each number of ways, both orders and layouts, devices of which one has a tile less, as many
 * slots as tiles, and four devices. */
START_TEST(calls_are_the_plan)
{
    static const char *const some[] = {
        TWO "-t 16 -s 3" PRODUCT,
        THREE "-t 16 -s 3" PRODUCT " --layout=stage --order=breadth --callbacks",
        TWO "-t 8 -s 3" PRODUCT " --ways=2",
        TWO "-t 3 -s 8" PRODUCT,
        THREE "-t 8" PRODUCT " --ways=1",
        "--device=sim:h200*4 -t 12 -s 2" PRODUCT " --ways=2 --layout=stage"};
    if (is_there())
        emit_check_program(some[emit_nth(_i)]);
}
END_TEST

#define BY_TILE  TWO "-t 8 -s 3" PRODUCT
#define BY_STAGE BY_TILE " --layout=stage"

/* Mistakes in a program, as edits by sed: A goes to one device, or to each in one's stream; a
 * handle is made on another device, or is another's; a product gets another's A or panel, or is
 * called while another device is the current one; and A's event is recorded in another's
 * stream. */
static const struct {
    const char *options, *edit;
} edits[] = {
    {BY_TILE, "s/MemcpyAsync(d_a\\[device\\]/MemcpyAsync(d_a[0]/"},
    {BY_TILE, "/MemcpyAsync(d_a\\[device\\]/,/;/s/stream\\[device\\]/stream[0]/"},
    {BY_TILE, "/^static void prepare/,/^}/{/cudaSetDevice/d}"},
    {BY_TILE, "s/create_blas(&blas\\[device\\]/create_blas(\\&blas[0]/"},
    {BY_TILE, "s/blas\\[device\\]\\[slot\\], /blas[0][slot], /"},
    {BY_TILE, "/cublasDgemm/,/;/s/d_a\\[device\\]/d_a[0]/"},
    {BY_TILE, "/cublasDgemm/,/;/s/d_b\\[device\\]/d_b[0]/"},
    {BY_TILE, "/^static void issue_tiles/,/^}/{/cudaSetDevice/d}"},
    {BY_TILE, "s/EventRecord(a_copied_in\\[device\\]/EventRecord(a_copied_in[0]/"},
    {BY_STAGE, "s/blas\\[device\\], CUBLAS/blas[0], CUBLAS/"},
    {BY_STAGE, "s/blas\\[device\\], kernel_stream\\[device\\]/blas[device], kernel_stream[0]/"},
};
enum { EDITS = sizeof edits / sizeof *edits };

START_TEST(mistakes_are_seen)
{
    const int nth = emit_nth(_i);
    if (is_there())
        ck_assert_msg(emit_run_edited(edits[nth].options, edits[nth].edit) != 0,
                      "it is right: %s", edits[nth].edit);
}
END_TEST

/* The first run alone makes its calls: what it left is poisoned on each device. */
static const struct {
    const char *call;
    int calls;
} left_out[] = {{"CHECK(cudaMemcpyAsync(d_a\\[", 2},
                {"CHECK(cudaMemcpyAsync(d_b", 4},
                {"CUBLAS(cublasDgemm_64(", 4}};
enum { LEFT_OUT = sizeof left_out / sizeof *left_out };

START_TEST(each_run_does_its_own_work)
{
    char edit[OPTIONS_TEXT];
    const int nth = emit_nth(_i);
    if (!is_there())
        return;
    snprintf(edit, sizeof edit,
             "s/^#define CHECK/static int calls;\\n&/; s/^ *%s/if (calls++ < %d) &/",
             left_out[nth].call, left_out[nth].calls);
    ck_assert_int_eq(emit_run_edited(TWO "-t 4 -s 2" PRODUCT, edit), 1);
    char *said = test_file_text("said");
    assert_has(said, " wrong");
    free(said);
}
END_TEST

/* --- waits --- */

/* Runs tiles.cu with ops that are done late: first those of one end of the streams. */
static int run_late(const char *order)
{
    setenv("FAKE_ORDER", order, 1);
    const int code = emit_run_on_cpu("");
    unsetenv("FAKE_ORDER");
    return code;
}

static const char *const late[] = {BY_TILE, BY_STAGE, BY_TILE " --ways=2",
                                   BY_STAGE " --ways=2 --order=breadth"};
enum { LATE = sizeof late / sizeof *late };

START_TEST(waits_are_enough)
{
    const char *options = late[emit_nth(_i)];
    if (!emit_is_there(options))
        return;
    emit_write(options);
    ck_assert_int_eq(run_late("first"), 0);
    ck_assert_int_eq(run_late("last"), 0);
}
END_TEST

/* A wait that is left out, and which streams then go on too early. */
static const struct {
    const char *options, *wait, *order;
} waits[] = {
    {BY_TILE, "a_copied_in\\[device\\], 0", "last"},
    {BY_STAGE, "kernel_stream\\[device\\], copied_in", "last"},
    {BY_STAGE, "out_stream\\[device\\], computed", "last"},
    {BY_STAGE, "in_stream\\[device\\], copied_out", "first"},
    {BY_TILE " --ways=2", "all_copied_in\\[device\\], 0", "last"},
};
enum { WAITS = sizeof waits / sizeof *waits };

START_TEST(every_wait_is_needed)
{
    char edit[OPTIONS_TEXT];
    const int nth = emit_nth(_i);
    if (!emit_is_there(waits[nth].options))
        return;
    snprintf(edit, sizeof edit, "/WaitEvent(.*%s/s/CHECK.*/;/", waits[nth].wait);
    setenv("FAKE_ORDER", waits[nth].order, 1);
    const int code = emit_run_edited(waits[nth].options, edit);
    unsetenv("FAKE_ORDER");
    char *said = test_file_text("said");
    ck_assert_msg(code == 1 && strstr(said, " wrong") != NULL, "%s: %s", waits[nth].wait, said);
    free(said);
}
END_TEST

/* --- as a text --- */

START_TEST(each_device_has_its_own)
{
    if (!is_there())
        return;
    ck_assert_int_eq(program_run("-d 'sim:h200*2' -n 1600 -t 16 -s 3" PRODUCT " --emit=-"), 0);
    emit_check_lines(program_out);
    assert_shown(program_out, "*d_a[DEVICES], |static cublasHandle_t blas[DEVICES][STREAMS];|"
                              "for (size_t device = 0; device < DEVICES; device++) {|"
                              "CHECK(cudaEventRecord(a_copied_in[device], stream[device][0]));|"
                              "if (tile >= DEVICES && tile < DEVICES * STREAMS)|"
                              "cublasDgemm_64(blas[device][slot], |d_a[device], ROWS, |"
                              "create_blas(&blas[device][i], stream[device][i]);|"
                              "copy_bare(device, a, A, ");
    ck_assert_int_eq(program_run("-d 'sim:h200*2' -n 300 -t 3" PRODUCT " --emit=-"), 0);
    assert_shown(program_out, "if (device + DEVICES < TILES) // for the kernels in the other");
    ck_assert_int_eq(
        program_run("-d 'sim:h200*2' -n 1600 -t 16 -s 3" PRODUCT " --layout=stage --emit=-"),
        0);
    assert_shown(program_out, "static cublasHandle_t blas[DEVICES];|all the device's kernels|"
                              "create_blas(&blas[device], kernel_stream[device]);");
    ck_assert_ptr_null(strstr(program_out, "a_copied_in"));
}
END_TEST

/* --- plans --- */

static struct settings product_settings(uint32_t devices, uint32_t tiles, uint32_t streams)
{
    struct settings settings = test_settings("dgemm");
    settings.devices = devices;
    settings.tiles = tiles;
    settings.streams = streams;
    settings.rows = 20;
    settings.inner = 12;
    settings.elements = 100 * tiles;
    return settings;
}

/* Writes the program of settings whose order, ways and layout are drawn. */
static void check_drawn(struct settings *settings, uint64_t *random)
{
    settings->ways = 1 + (int)test_random_below(random, 3);
    settings->order = (enum order)test_random_below(random, 2);
    settings->layout = (enum layout)test_random_below(random, 2);
    settings->callbacks = test_random_below(random, 2) == 0;
    struct plan plan = test_built(settings);
    ck_assert_int_eq(emit_plan(&plan, settings, "/dev/null"), STATUS_OK);
    plan_free(&plan);
}

START_TEST(plans_are_programs)
{
    uint64_t random = 41;
    for (int i = 0; i < test_cases(300); i++) {
        const uint32_t devices = 2 + test_random_below(&random, 7);
        struct settings settings =
            product_settings(devices, devices + test_random_below(&random, 30),
                             1 + test_random_below(&random, 5));
        check_drawn(&settings, &random);
    }
}
END_TEST

/* As many devices as a host can have. */
START_TEST(eight_devices_run)
{
    struct settings settings = product_settings(8, 19, 2);
    struct plan plan = test_built(&settings);
    ck_assert_int_eq(emit_plan(&plan, &settings, "tiles.cu"), STATUS_OK);
    ck_assert_int_eq(emit_run_on_cpu(""), 0);
    plan_free(&plan);
}
END_TEST

enum { CHANGES = 7 };

/* Makes one change to a plan: A, its event, or what waits for that is another device's. */
static void change_plan(struct plan *plan, int change)
{
    struct op *first = test_nth_op(plan, OP_H2D, 0), *second = test_nth_op(plan, OP_H2D, 1);
    struct op *kernel = test_nth_op(plan, OP_KERNEL, 2);
    const struct op swapped = *first;
    switch (change) {
    case 0:
        second->copy.device = first->copy.device;
        break;
    case 1:
        second->stream = first->stream;
        break;
    case 2:
        second->copy.host.bytes /= 2;
        break;
    case 3: /* devices in another order */
        first->copy = second->copy;
        first->stream = second->stream;
        second->copy = swapped.copy;
        second->stream = swapped.stream;
        break;
    case 4:
        kernel->kernel.ranges = test_nth_op(plan, OP_KERNEL, 3)->kernel.ranges;
        break;
    case 5:
        test_nth_op(plan, OP_RECORD, 1)->stream = first->stream;
        break;
    default:
        test_nth_op(plan, OP_WAIT, 1)->event.event = test_nth_op(plan, OP_WAIT, 0)->event.event;
        break;
    }
}

START_TEST(other_plans_are_refused)
{
    struct settings settings = product_settings(2, 16, 3);
    struct plan plan = test_built(&settings);
    ck_assert_int_eq(emit_plan(&plan, &settings, "/dev/null"), STATUS_OK);
    change_plan(&plan, _i);
    ck_assert_int_eq(emit_plan(&plan, &settings, "/dev/null"), STATUS_USAGE);
    plan_free(&plan);
}
END_TEST

Suite *emit_spread_suite(void)
{
    enum { SECONDS = 600 };
    Suite *suite = suite_create("emit_spread");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, SECONDS);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(all, calls_are_the_plan, 0, emit_some(6));
    tcase_add_loop_test(all, mistakes_are_seen, 0, emit_some(EDITS));
    tcase_add_loop_test(all, each_run_does_its_own_work, 0, emit_some(LEFT_OUT));
    tcase_add_loop_test(all, waits_are_enough, 0, emit_some(LATE));
    tcase_add_loop_test(all, every_wait_is_needed, 0, emit_some(WAITS));
    tcase_add_test(all, each_device_has_its_own);
    tcase_add_test(all, plans_are_programs);
    if (is_there() && emit_some(1) > 0)
        tcase_add_test(all, eight_devices_run);
    tcase_add_loop_test(all, other_plans_are_refused, 0, CHANGES);
    suite_add_tcase(suite, all);
    return suite;
}
