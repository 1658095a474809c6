/* check_emit_halo.c - programs of --emit with the stencil on several devices: each has its
 * rows, and all exchange those that neighbours need. */
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

#define TWO   "--device=sim:h200*2 -k stencil "
#define THREE "--device=sim:h200*3 -k stencil "

/* Some of several blocks in each launch. */
#define HIDDEN  THREE "-t 7 --columns=100 --halo=3 --steps=4 -n 7000"
#define BY_HOST HIDDEN " --exchange=host"
#define BARE    HIDDEN " --hide=no"

/* Mistakes in a program, as edits by sed: rows that are not exchanged, or go to other places or
 * come from others; rows that nobody works on; rows outside that are not zero; and tiles that
 * lack their neighbours' rows. */
static const struct emit_trial edits[] = {
    {HIDDEN, "/^static void send_edges/,/^}/s/if (device > 0)/if (false)/", NULL, " wrong", 1},
    {HIDDEN, "/^static void send_edges/,/^}/s/if (device + 1 < DEVICES)/if (false)/", NULL,
     " wrong", 1},
    {HIDDEN, "s/step + 1 < STEPS; device/step + 2 < STEPS; device/", NULL, " wrong", 1},
    {HIDDEN, "s/next\\[device\\]\\[HALO\\], device/next[device][0], device/", NULL, " wrong",
     1},
    {HIDDEN, "s/next\\[device + 1\\]\\[0\\]/next[device + 1][1]/", NULL, " wrong", 1},
    {HIDDEN, "s/\\[end_row(device) - HALO\\], device/[end_row(device)], device/", NULL,
     " wrong", 1},
    {HIDDEN, "s/HALO_BYTES, edge_stream/HALO_BYTES - 4, edge_stream/", NULL, " wrong", 1},
    {HIDDEN, "s/, HALO, 2 \\* HALO, /, HALO, 2 * HALO - 1, /", NULL, " wrong", 1},
    {HIDDEN, "s/, end - HALO, end, /, end - HALO + 1, end, /", NULL, " wrong", 1},
    {HIDDEN, "s/> 0 ? 2 \\* HALO : HALO/> 0 ? 2 * HALO + 1 : HALO/", NULL, " wrong", 1},
    {HIDDEN, "s/0, HALO_BYTES, stream/0, device > 0 ? HALO_BYTES : 0, stream/", NULL, " wrong",
     1},
    {HIDDEN, "s/0, HALO_BYTES, stream/0, device == 0 ? HALO_BYTES : 0, stream/", NULL, " wrong",
     1},
    {HIDDEN, "s/: {d_in\\[device\\], d_out\\[device\\]})/: {d_in[device]})/", NULL, " wrong",
     1},
    {HIDDEN, "s/is_first && device > 0 ? HALO : 0/0/", NULL, " wrong", 1},
    {HIDDEN, "s/DEVICES ? HALO : 0;/DEVICES ? HALO - 1 : 0;/", NULL, " wrong", 1},
    {HIDDEN, "s/        std::swap(now, next);/        if (step > 0) &/", NULL, " wrong", 1},
    {BARE, "/^static void send_edges/,/^}/s/if (device > 0)/if (false)/", NULL, " wrong", 1},
    {BARE, "s/HALO, end_row(device), stream/HALO, end_row(device) - 1, stream/", NULL, " wrong",
     1},
    {BY_HOST, "s/\\[0\\]\\[step % 2\\]/[0][0]/", NULL, " wrong", 1},
    {BY_HOST, "s/\\[(step - 1) % 2\\]/[step % 2]/", NULL, " wrong", 1},
    {BY_HOST, "s/exchange\\[device - 1\\]\\[1\\]/exchange[device - 1][0]/", NULL, " wrong", 1},
    {BY_HOST, "/^static void receive/,/^}/s/if (device > 0)/if (false)/", NULL, " wrong", 1},
};
enum { EDITS = sizeof edits / sizeof *edits };

START_TEST(mistakes_are_seen)
{
    emit_try(edits, EDITS);
}
END_TEST

/* Calls that go to another device than they should: CUDA would refuse them. */
static const char *const others[] = {
    "/^static void make_edges/,/^}/{/cudaSetDevice/d}",
    "/^static void prepare/,/^}/{/cudaSetDevice/d}",
    "s/cudaMemcpyPeerAsync(next\\[device + 1\\]\\[0\\], device + 1/"
    "cudaMemcpyPeerAsync(next[device + 1][0], device/",
    "s/cudaMemcpyPeerAsync(next\\[device + 1\\]/cudaMemcpyPeerAsync(next[device]/",
    "s/HALO, end, edge_stream\\[device\\]/HALO, end, edge_stream[0]/",
    "s/cudaEventRecord(sent\\[device\\]/cudaEventRecord(sent[0]/",
};
enum { OTHERS = sizeof others / sizeof *others };

START_TEST(other_devices_are_seen)
{
    struct emit_trial trials[OTHERS];
    for (int i = 0; i < OTHERS; i++)
        trials[i] = (struct emit_trial){HIDDEN, others[i], NULL, "line ", 1};
    emit_try(trials, OTHERS);
}
END_TEST

/* --- waits --- */

START_TEST(waits_are_enough)
{
    static const char *const some[] = {HIDDEN, BY_HOST, BARE, BARE " --exchange=host"};
    emit_try_late(some, 4);
}
END_TEST

/* A wait that is left out, and which streams then go on too early. */
static const struct {
    const char *options, *wait, *order;
} waits[] = {
    {HIDDEN, "edge_stream\\[device\\], sent\\[device - 1\\]", "last"},
    {HIDDEN, "edge_stream\\[device\\], sent\\[device + 1\\]", "first"},
    {HIDDEN, "edge_stream\\[device\\], inside_done", "last"},
    {HIDDEN, "                CHECK(cudaStreamWaitEvent(stream\\[device\\], edges_done",
     "first"},
    {HIDDEN, "^        CHECK(cudaStreamWaitEvent(stream\\[device\\], edges_done", "first"},
    {BY_HOST, "edge_stream\\[device\\], sent\\[device - 1\\]", "last"},
    {BY_HOST, "edge_stream\\[device\\], sent\\[device + 1\\]", "first"},
    {BARE, "stream\\[device\\], sent\\[device - 1\\]", "last"},
    {BARE, "stream\\[device\\], sent\\[device + 1\\]", "first"},
    {BARE " --exchange=host", "stream\\[device\\], sent\\[device - 1\\]", "last"},
};
enum { WAITS = sizeof waits / sizeof *waits };

START_TEST(every_wait_is_needed)
{
    struct emit_trial trials[WAITS];
    char lines[WAITS][OPTIONS_TEXT];
    for (int i = 0; i < WAITS; i++) {
        snprintf(lines[i], OPTIONS_TEXT, "/%s/s/CHECK.*/;/", waits[i].wait);
        trials[i] =
            (struct emit_trial){waits[i].options, lines[i], waits[i].order, " wrong", 1};
    }
    emit_try(trials, WAITS);
}
END_TEST

/* --- plans --- */

static struct settings halo_settings(uint32_t devices, uint32_t tiles, uint64_t columns,
                                     uint64_t rows)
{
    struct settings settings = test_settings("stencil");
    settings.devices = devices;
    settings.tiles = tiles;
    settings.columns = columns;
    settings.elements = tiles * columns * rows;
    return settings;
}

/* --- the program as a text --- */

START_TEST(steps_begin_with_the_edges)
{
    ck_assert_int_eq(
        program_run("-d 'sim:h200*2' -k stencil --halo=3 --steps=64 -t 16 --emit=-"), 0);
    emit_check_lines(program_out);
    assert_shown(program_out,
                 "// 64 steps of stencil on 16 tiles, which stay on 2 devices |"
                 "// Neighbours exchange their outer rows, hidden behind the inner ones.|"
                 "HALO = 3;|DEVICES = 2, |static Row *d_in[DEVICES]|edge_stream[DEVICES]; // |"
                 "return device * SHARE;|receive(device);|make_edges(device, now, next);|"
                 "send_edges(device, next);|make_inside(device, now, next);|"
                 "cudaDeviceEnablePeerAccess(other, 0)");
    ck_assert_ptr_null(strstr(program_out, "exchange["));
    ck_assert_int_eq(program_run("-d 'sim:h200*3' -k stencil --steps=4 -t 16 --hide=no "
                                 "--exchange=host --emit=-"),
                     0);
    emit_check_lines(program_out);
    assert_shown(program_out, "by way of the host, after each step.|"
                              "*exchange)[2][2][HALO * COLUMNS];|exchange[device][0][step % 2]|"
                              "make_rows(device, now, next);|memset(exchange, 0xFF, ");
    ck_assert_ptr_null(strstr(program_out, "Peer"));
    ck_assert_ptr_null(strstr(program_out, "edge_stream"));
    ck_assert_int_eq(program_run("-d 'sim:h200*2' -k stencil --steps=1 -t 16 --emit=-"), 0);
    ck_assert_ptr_null(strstr(program_out, "receive("));
    ck_assert_ptr_null(strstr(program_out, "Peer"));
    ck_assert_ptr_null(strstr(program_out, "sent["));
}
END_TEST

/* The devices are those that were named, whatever CUDA counts. */
START_TEST(numbers_are_kept)
{
    struct settings settings = halo_settings(2, 8, 12, 6);
    settings.halo = 2;
    settings.steps = 2;
    settings.exchange = EXCHANGE_PEER;
    struct plan plan = test_built(&settings);
    settings.device = "cuda:3,1";
    ck_assert_int_eq(emit_plan(&plan, &settings, "tiles.cu"), STATUS_OK);
    char *text = test_file_text("tiles.cu");
    emit_check_lines(text);
    assert_shown(text, "NUMBERS[DEVICES] = {3, 1}; // |NUMBERS[device - 1]|"
                       "cudaDeviceEnablePeerAccess(NUMBERS[other], 0)");
    free(text);
    plan_free(&plan);
}
END_TEST

START_TEST(nvcc_takes_programs)
{
    static const char *const some[] = {
        HIDDEN, BARE " --exchange=host", TWO "-t 2 --columns=1 --steps=1 --halo=1 -n 8",
        TWO "-t 64 --columns=1G --halo=15 --steps=5 -n 64G", BY_HOST " --memory=pageable"};
    for (int i = 0; i < 5; i += emit_share())
        emit_check_nvcc(some[i]);
}
END_TEST

Suite *emit_halo_suite(void)
{
    enum { SECONDS = 600 };
    Suite *suite = suite_create("emit_halo");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, SECONDS);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, mistakes_are_seen);
    tcase_add_test(all, other_devices_are_seen);
    tcase_add_test(all, waits_are_enough);
    tcase_add_test(all, every_wait_is_needed);
    tcase_add_test(all, steps_begin_with_the_edges);
    tcase_add_test(all, numbers_are_kept);
    if (emit_share() > 0 && system("nvcc --version >/dev/null 2>&1") == 0)
        tcase_add_test(all, nvcc_takes_programs);
    suite_add_tcase(suite, all);
    return suite;
}
