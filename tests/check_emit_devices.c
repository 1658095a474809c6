/* check_emit_devices.c - programs of --emit for several devices: tiles are dealt over them in
 * turn, and each has memory, streams and events of its own. */
#include "emit/emit.h"
#include "fixtures.h"
#include "plan/build.h"
#include "suites.h"
#include "test_emit.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Mistakes in a program, as edits by sed: calls go to one device, kernels get another's stream
 * or memory, copies get another's memory, and events are recorded in another's stream. */
static const char *const edits[] = {
    "/^static void issue_tiles/,/^}/{/cudaSetDevice/d}",
    "/^static void prepare/,/^}/{/cudaSetDevice/d}",
    "s/kernel_stream\\[device\\]>>>/kernel_stream[0]>>>/",
    "s/>>>(d_in\\[device\\]/>>>(d_in[0]/",
    "s/cudaEventRecord(computed\\[device\\]/cudaEventRecord(computed[0]/",
    "s/cudaMemcpyAsync(d_in\\[device\\]/cudaMemcpyAsync(d_in[1]/",
};
enum { EDITS = sizeof edits / sizeof *edits };

#define EDITED "--device=sim:h200*2 -t 16 -s 3 --layout=stage"

START_TEST(mistakes_are_seen)
{
    struct emit_trial trials[EDITS];
    for (int i = 0; i < EDITS; i++)
        trials[i] = (struct emit_trial){EDITED, edits[i], NULL, NULL, EMIT_NOT_RIGHT};
    emit_try(trials, EDITS);
}
END_TEST

/* --- tiles that the CPU packs --- */

#define PACKED   "--device=sim:h200*2 -t 16 -s 2 --pack --batch=1"
#define BY_STAGE PACKED " --layout=stage"

/* In both layouts and orders, and where each device has a slot for all of its tiles. */
START_TEST(waits_are_enough)
{
    static const char *const some[] = {
        PACKED, BY_STAGE " --order=breadth",
        "--device=sim:h200*3 -t 16 -s 1 --pack --batch=2 --scatter -k sum",
        "--device=sim:h200*2 -t 16 -s 8 --pack --batch=1 --order=breadth -k scale,sum"};
    emit_try_late(some, sizeof some / sizeof *some);
}
END_TEST

/* Programs whose ops are done late, and in which a wait is left out or is for what is on
 * another device, a tile is packed or unpacked there, or is not taken back: as edits by sed,
 * and which streams then go on too early. */
static const struct emit_trial packing[] = {
    {PACKED, "s/CHECK(cudaEventSynchronize.*/;/", "first", " wrong", 1},
    {PACKED " -k sum", "s/CHECK(cudaEventSynchronize.*/;/", "last", " wrong", 1},
    {PACKED, "s/Synchronize(copied_out\\[device\\]/Synchronize(copied_out[0]/", NULL, "race",
     EMIT_NOT_RIGHT},
    {PACKED, "s/take_back(tile - DEVICES . STREAMS)/take_back(tile - DEVICES)/", "first",
     " wrong", 1},
    {PACKED, "s/tile = TILES - DEVICES . STREAMS/tile = TILES - STREAMS/", "first", " wrong",
     1},
    {PACKED, "s/^        if (tile >= DEVICES . STREAMS) take_back.*//", "last", " wrong", 1},
    {PACKED, "s/copy_on_host(packed_in\\[device\\]/copy_on_host(packed_in[0]/", "first",
     " wrong", 1},
    {PACKED, "s/\\(copy_on_host(out.*packed_out\\[\\)device/\\10/", "last", " wrong", 1},
    {PACKED, "s/, packed_in\\[device\\]/, packed_in[0]/", "last", " wrong", 1},
    {PACKED, "s/MemcpyAsync(packed_out\\[device\\]/MemcpyAsync(packed_out[0]/", "first",
     " wrong", 1},
    {BY_STAGE, "s/CHECK(cudaEventSynchronize.*/;/", "last", " wrong", 1},
    {BY_STAGE, "s/CHECK(cudaStreamWaitEvent(kernel_stream.device., copied_in.*/;/", "last",
     " wrong", 1},
    {BY_STAGE, "s/CHECK(cudaStreamWaitEvent(out_stream.device., computed.*/;/", "last",
     " wrong", 1},
};
enum { PACKING = sizeof packing / sizeof *packing };

START_TEST(every_wait_is_needed)
{
    emit_try(packing, PACKING);
}
END_TEST

/* What is packed or unpacked in the first run alone is missed in the others, though each device
 * has slots that would still hold it. */
START_TEST(each_run_packs_its_tiles)
{
#define HELD "--device=sim:h200*2 -t 8 -s 4 --pack --batch=1"
    static const struct emit_left_out left_out[] = {{HELD, "copy_on_host(packed_in", 8},
                                                    {HELD, "copy_on_host(out", 8}};
    emit_try_left_out(left_out, 2);
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
    ck_assert_int_eq(program_run(SEVERAL "--pack -t 64 --emit=-"), 0);
    emit_check_lines(program_out);
    assert_shown(program_out,
                 "*packed_in[DEVICES]|cudaEventSynchronize(copied_out[device][slot])|"
                 "if (tile >= DEVICES * STREAMS) take_back(tile - DEVICES * STREAMS);|"
                 "copy_on_host(packed_in[device] + slot * TILE, in + tile * TILE, TILE);|"
                 "tile = TILES - DEVICES * STREAMS; |&packed_in[device], STREAMS * BYTES|"
                 "memset(packed_in[device], 0xFF, ");
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

Suite *emit_devices_suite(void)
{
    enum { SECONDS = 600 };
    Suite *suite = suite_create("emit_devices");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, SECONDS);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, mistakes_are_seen);
    tcase_add_test(all, waits_are_enough);
    tcase_add_test(all, every_wait_is_needed);
    tcase_add_test(all, each_run_packs_its_tiles);
    tcase_add_test(all, each_device_has_its_own);
    tcase_add_test(all, numbers_are_kept);
    suite_add_tcase(suite, all);
    return suite;
}
