/* check_emit_devices.c - programs of --emit for several devices: tiles are dealt over them in
 * turn, and each has memory, streams and events of its own. */
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

/* Both orders and layouts, each number of ways, tiles of two sizes, values, batches, rows, and
 * more streams than a device has tiles. */
START_TEST(calls_are_the_plan)
{
    static const char *const some[] = {
        "--device=sim:h200*2 -t 32 -s 4",
        "--device=sim:h200*3 -t 31 -s 3 --layout=stage",
        "--device=sim:h200*3 -t 30 --ways=1",
        "--device=sim:h200*4 -t 31 -s 2 --ways=2 --layout=stage --order=breadth -k scale,sum",
        "--device=sim:h200*3 -t 31 -s 4 --ways=2 --order=breadth -k wave",
        "--device=sim:h200*3 -t 1000 -s 2 --issue=batch --batch=64 -k wave,sum --layout=stage",
        "--device=sim:h200*2 -t 16 -s 3 --copy=rows --tile-width=50 --layout=stage",
        "--device=sim:h200*2 -t 31 -s 4 --ways=4 --cpu-share=0.3 -k scale,sum",
        "--device=sim:h200*4 -t 10 -s 8 --order=breadth"};
    emit_check_program(some[emit_nth(_i)]);
}
END_TEST

/* Mistakes in a program, as edits by sed: calls go to one device, kernels get another's stream
 * or memory, copies get another's memory, and events are recorded in another's stream. */
static const char *const edits[] = {
    "/^static void issue_tiles/,/^}/{/cudaSetDevice/d}",
    "/^static void prepare/,/^}/{/cudaSetDevice/d}",
    "s/kernel_stream\\[device\\]>>>/kernel_stream[0]>>>/",
    "s/>>>(d_in\\[device\\]/>>>(d_in[0]/",
    "s/cudaEventRecord(computed\\[device\\]/cudaEventRecord(computed[0]/",
    "s/cudaMemcpyAsync(d_in\\[device\\]\\[slot\\]/cudaMemcpyAsync(d_in[1][slot]/",
};
enum { EDITS = sizeof edits / sizeof *edits };

#define EDITED "--device=sim:h200*2 -t 16 -s 3 --layout=stage"

START_TEST(mistakes_are_seen)
{
    ck_assert_msg(emit_run_edited(EDITED, edits[emit_nth(_i)]) != 0, "it is right: %s",
                  edits[emit_nth(_i)]);
}
END_TEST

/* --- as a text --- */

#define SEVERAL "-d 'sim:h200*2' "

START_TEST(each_device_has_its_own)
{
    ck_assert_int_eq(program_run(SEVERAL "--emit=-"), 0);
    emit_check_lines(program_out);
    assert_shown(program_out, "tiles dealt over 2 devices|DEVICES = 2, STREAMS = 4, |"
                              "stream[DEVICES][STREAMS];|const size_t device = tile % DEVICES;|"
                              "const size_t slot = tile / DEVICES % STREAMS;|"
                              "CHECK(cudaSetDevice(device)); // |stream[device][slot]>>>|"
                              "static void prepare(size_t device) {|prepare(device);");
    ck_assert_ptr_null(strstr(program_out, "cudaEvent"));
    ck_assert_ptr_null(strstr(program_out, "NUMBERS"));
    ck_assert_int_eq(program_run(SEVERAL "--layout=stage -s 3 --order=breadth --emit=-"), 0);
    emit_check_lines(program_out);
    assert_shown(program_out, "copied_in[DEVICES][SLOTS];|if (tile >= DEVICES * SLOTS) // |"
                              "cudaStreamWaitEvent(in_stream[device], computed[device][slot], |"
                              "if (tile + DEVICES * SLOTS < TILES) // |"
                              "first += DEVICES * SLOTS) {");
    ck_assert_int_eq(program_run(SEVERAL "--ways=2 --emit=-"), 0);
    emit_check_lines(program_out);
    assert_shown(program_out, "SHARE = (TILES + DEVICES - 1) / DEVICES|"
                              "if (tile + DEVICES >= TILES) // |all_copied_in[device], |"
                              "tile >= DEVICES && tile < DEVICES * STREAMS");
}
END_TEST

/* --- plans --- */

static struct settings settings_of(uint32_t devices, uint32_t tiles, uint32_t streams)
{
    struct settings settings = test_settings("scale");
    settings.devices = devices;
    settings.tiles = tiles;
    settings.streams = streams;
    settings.elements = 100 * tiles;
    return settings;
}

START_TEST(plans_are_programs)
{
    static const char *const chains[] = {"scale", "scale,wave", "sum", "scale,sum"};
    uint64_t random = 31;
    for (int i = 0; i < test_cases(300); i++) {
        struct settings settings = test_settings(chains[test_random_below(&random, 4)]);
        settings.devices = 2 + test_random_below(&random, 3);
        settings.tiles = settings.devices + test_random_below(&random, 40);
        settings.streams = 1 + test_random_below(&random, 6);
        settings.elements = 100 * settings.tiles + test_random_below(&random, 2) * 7;
        settings.ways = 1 + (int)test_random_below(&random, 3);
        settings.order = test_random_below(&random, 2) == 0 ? ORDER_DEPTH : ORDER_BREADTH;
        settings.layout = test_random_below(&random, 2) == 0 ? LAYOUT_TILE : LAYOUT_STAGE;
        struct plan plan = test_built(&settings);
        ck_assert_int_eq(emit_plan(&plan, &settings, "/dev/null"), STATUS_OK);
        plan_free(&plan);
    }
}
END_TEST

/* The devices are those that were named, whatever CUDA counts. */
START_TEST(numbers_are_kept)
{
    struct settings settings = settings_of(2, 8, 2);
    struct plan plan = test_built(&settings);
    settings.device = "cuda:3,1";
    ck_assert_int_eq(emit_plan(&plan, &settings, "tiles.cu"), STATUS_OK);
    char *text = test_file_text("tiles.cu");
    assert_shown(text,
                 "const int NUMBERS[DEVICES] = {3, 1}; // |cudaSetDevice(NUMBERS[device])");
    free(text);
    settings.device = "cuda:0,1";
    ck_assert_int_eq(emit_plan(&plan, &settings, "tiles.cu"), STATUS_OK);
    text = test_file_text("tiles.cu");
    ck_assert_ptr_null(strstr(text, "NUMBERS"));
    free(text);
    plan_free(&plan);
}
END_TEST

enum { CHANGES = 6 };

/* Makes one change to a plan: something is on another device. */
static void change_plan(struct plan *plan, int change)
{
    const uint32_t each = plan->streams / 2;
    struct op *in = test_nth_op(plan, OP_H2D, 2), *other = test_nth_op(plan, OP_H2D, 3),
              *kernel = test_nth_op(plan, OP_KERNEL, 2), *out = test_nth_op(plan, OP_D2H, 2);
    switch (change) {
    case 0:
        in->stream += each;
        break;
    case 1:
        in->copy.device = other->copy.device;
        break;
    case 2:
        kernel->stream += each;
        break;
    case 3:
        kernel->kernel.ranges = test_nth_op(plan, OP_KERNEL, 3)->kernel.ranges;
        break;
    case 4:
        out->stream += each;
        break;
    default: /* a wait for what the other device has recorded */
        test_nth_op(plan, OP_WAIT, 3)->event.event = test_nth_op(plan, OP_WAIT, 1)->event.event;
        break;
    }
}

START_TEST(other_devices_are_refused)
{
    struct settings settings = settings_of(2, 16, 3);
    settings.layout = LAYOUT_STAGE;
    struct plan plan = test_built(&settings);
    ck_assert_int_eq(emit_plan(&plan, &settings, "/dev/null"), STATUS_OK);
    change_plan(&plan, _i);
    ck_assert_int_eq(emit_plan(&plan, &settings, "/dev/null"), STATUS_USAGE);
    plan_free(&plan);
}
END_TEST

Suite *emit_devices_suite(void)
{
    enum { SECONDS = 600 };
    Suite *suite = suite_create("emit_devices");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, SECONDS);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(all, calls_are_the_plan, 0, emit_some(9));
    tcase_add_loop_test(all, mistakes_are_seen, 0, emit_some(EDITS));
    tcase_add_test(all, each_device_has_its_own);
    tcase_add_test(all, plans_are_programs);
    tcase_add_test(all, numbers_are_kept);
    tcase_add_loop_test(all, other_devices_are_refused, 0, CHANGES);
    suite_add_tcase(suite, all);
    return suite;
}
