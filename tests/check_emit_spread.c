/* check_emit_spread.c - programs of --emit for several devices whose tiles need more than their
 * own elements: the matrix product, of which each device has A and a handle, and scans, whose
 * sums go from device to device by way of the host. */
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

#define PRODUCT " -k dgemm --rows=20 --inner=12"
#define TWO     "--device=sim:h200*2 "
#define THREE   "--device=sim:h200*3 "

static bool is_there(void)
{
    return emit_is_there(PRODUCT);
}

#define BY_TILE  TWO "-t 8 -s 3" PRODUCT
#define BY_STAGE BY_TILE " --layout=stage"
#define SCAN     TWO "-t 8 -s 3 -k scan --carry=callback"
#define SYNC     TWO "-t 8 -s 3 -k scan --carry=sync"
#define SERIAL   TWO "-t 8 -k scan --carry=callback --ways=1"

/* Mistakes in a program, as edits by sed: A goes to one device, or to each in one's stream; a
 * handle is made on another device, or is another's; a product gets another's A or panel, or is
 * called while another device is the current one; and A's event is recorded in another's
 * stream. A scan's kernel has another device's sums or scratch; a sum is copied to or from
 * another device or tile, or in another's stream; and nothing is added up for the next tile. */
static const struct emit_trial edits[] = {
    {BY_TILE, "s/MemcpyAsync(d_a\\[device\\]/MemcpyAsync(d_a[0]/", NULL, NULL, EMIT_NOT_RIGHT},
    {BY_TILE, "/MemcpyAsync(d_a\\[device\\]/,/;/s/stream\\[device\\]/stream[0]/", NULL, NULL,
     EMIT_NOT_RIGHT},
    {BY_TILE, "/^static void prepare/,/^}/{/cudaSetDevice/d}", NULL, NULL, EMIT_NOT_RIGHT},
    {BY_TILE, "s/create_blas(&blas\\[device\\]/create_blas(\\&blas[0]/", NULL, NULL,
     EMIT_NOT_RIGHT},
    {BY_TILE, "s/blas\\[device\\]\\[slot\\], /blas[0][slot], /", NULL, NULL, EMIT_NOT_RIGHT},
    {BY_TILE, "/cublasDgemm/,/;/s/d_a\\[device\\]/d_a[0]/", NULL, NULL, EMIT_NOT_RIGHT},
    {BY_TILE, "/cublasDgemm/,/;/s/d_b\\[device\\]/d_b[0]/", NULL, NULL, EMIT_NOT_RIGHT},
    {BY_TILE, "/^static void issue_tiles/,/^}/{/cudaSetDevice/d}", NULL, NULL, EMIT_NOT_RIGHT},
    {BY_TILE, "s/EventRecord(a_copied_in\\[device\\]/EventRecord(a_copied_in[0]/", NULL, NULL,
     EMIT_NOT_RIGHT},
    {BY_STAGE, "s/blas\\[device\\], CUBLAS/blas[0], CUBLAS/", NULL, NULL, EMIT_NOT_RIGHT},
    {BY_STAGE, "s/blas\\[device\\], kernel_stream\\[device\\]/blas[device], kernel_stream[0]/",
     NULL, NULL, EMIT_NOT_RIGHT},
    {SCAN, "s/ d_sums\\[device\\] + tile/ d_sums[0] + tile/", NULL, NULL, EMIT_NOT_RIGHT},
    {SCAN, "s/ d_scratch\\[device\\] + slot/ d_scratch[0] + slot/", NULL, NULL, EMIT_NOT_RIGHT},
    {SCAN, "s/Async(&d_sums\\[device\\]/Async(\\&d_sums[0]/", NULL, NULL, EMIT_NOT_RIGHT},
    {SCAN, "s/Async(&d_sums\\[device\\]\\[tile\\]/Async(\\&d_sums[device][0]/", NULL, NULL,
     EMIT_NOT_RIGHT},
    {SCAN, "s/&sums\\[tile\\].before/\\&sums[tile - 1].before/", NULL, NULL, EMIT_NOT_RIGHT},
    {SCAN, "s/.own, &d_sums\\[device\\]/.own, \\&d_sums[0]/", NULL, NULL, EMIT_NOT_RIGHT},
    {SCAN, "/Async(&sums\\[tile\\].own/,/;/s/stream\\[device\\]/stream[0]/", NULL, NULL,
     EMIT_NOT_RIGHT},
    {SCAN, "s/feed_next, &sums\\[tile\\]/feed_next, \\&sums[0]/", NULL, NULL, EMIT_NOT_RIGHT},
    {SCAN, "/cudaLaunchHostFunc/d", NULL, NULL, EMIT_NOT_RIGHT},
    {SCAN, "/^static void issue_tiles/,/^}/{/cudaSetDevice/d}", NULL, NULL, EMIT_NOT_RIGHT},
    {SCAN, "s/EventRecord(computed\\[device\\]/EventRecord(computed[0]/", NULL, NULL,
     EMIT_NOT_RIGHT},
};
enum { EDITS = sizeof edits / sizeof *edits };

START_TEST(mistakes_are_seen)
{
    emit_try(edits, EDITS);
}
END_TEST

#define FOUR      TWO "-t 4 -s 2" PRODUCT
#define FOUR_SUMS TWO "-t 4 -s 2 -k scan --carry=callback"

/* The first run alone makes its calls: what it left is poisoned on each device, and on the
 * host. */
static const struct emit_left_out left_out[] = {{FOUR, "CHECK(cudaMemcpyAsync(d_a\\[", 2},
                                                {FOUR, "CHECK(cudaMemcpyAsync(d_b", 4},
                                                {FOUR, "CUBLAS(cublasDgemm_64(", 4},
                                                {FOUR_SUMS, "CHECK(cudaMemcpyAsync(&d_sums", 3},
                                                {FOUR_SUMS, "CHECK(cudaMemcpyAsync(&sums", 3},
                                                {FOUR_SUMS, "CHECK(cudaLaunchHostFunc(", 3},
                                                {FOUR_SUMS, "scan<<<", 4}};
enum { LEFT_OUT = sizeof left_out / sizeof *left_out };

START_TEST(each_run_does_its_own_work)
{
    emit_try_left_out(left_out, LEFT_OUT);
}
END_TEST

/* --- waits --- */

static const char *const late[] = {BY_TILE,
                                   BY_STAGE,
                                   BY_TILE " --ways=2",
                                   BY_STAGE " --ways=2 --order=breadth",
                                   SCAN,
                                   SYNC,
                                   SCAN " --layout=stage --order=breadth",
                                   SCAN " --ways=2",
                                   SCAN " --ways=2 --layout=stage",
                                   SERIAL,
                                   SYNC " --layout=stage"};
enum { LATE = sizeof late / sizeof *late };

START_TEST(waits_are_enough)
{
    emit_try_late(late, LATE);
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
    {SCAN, "ahead % DEVICES", "last"},
    {SERIAL, "ahead % DEVICES", "last"},
    {SCAN " --layout=stage", "ahead % DEVICES", "last"},
    {SCAN " --layout=stage", "kernel_stream\\[device\\], copied_in", "last"},
    {SCAN " --layout=stage", "out_stream\\[device\\], computed", "last"},
    {SCAN " --layout=stage", "in_stream\\[device\\], computed", "first"},
    {SCAN " --layout=stage", "kernel_stream\\[device\\], copied_out", "first"},
    {SCAN " --ways=2 --layout=stage", "all_copied_in\\[device\\], 0", "last"},
};
enum { WAITS = sizeof waits / sizeof *waits };

START_TEST(every_wait_is_needed)
{
    struct emit_trial trials[WAITS];
    char edit[WAITS][OPTIONS_TEXT];
    for (int i = 0; i < WAITS; i++) {
        snprintf(edit[i], OPTIONS_TEXT, "/WaitEvent(/{/;$/!{N};/%s/s/CHECK.*/;/}",
                 waits[i].wait);
        trials[i] = (struct emit_trial){waits[i].options, edit[i], waits[i].order, " wrong", 1};
    }
    emit_try(trials, WAITS);
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

START_TEST(sums_go_from_device_to_device)
{
    static const char options[] =
        "-d 'sim:h200*2' -k scan -n 1M -t 16 -s 3 --layout=stage --emit=- --carry=";
    char line[OPTIONS_TEXT];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "%s%s", options, i == 0 ? "callback" : "sync");
        ck_assert_int_eq(program_run(line), 0);
        emit_check_lines(program_out);
        assert_shown(program_out, "} *sums, *d_sums[DEVICES];|if (tile > 0) { // |"
                                  "const size_t ahead = tile - 1; // on another device|"
                                  "computed[ahead % DEVICES][ahead / DEVICES % SLOTS], 0));|"
                                  "&d_sums[device][tile].before, &sums[tile].before,|"
                                  "d_scratch[device] + slot|feed_next, &sums[tile]|"
                                  "and for the next tile's kernel|for (auto each : d_sums)");
        ck_assert_int_eq(strstr(program_out, "cudaStreamSynchronize(kernel") != NULL, i);
    }
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

static struct settings scan_settings(const char *kernel, uint32_t devices)
{
    struct settings settings = test_settings(kernel);
    settings.devices = devices;
    settings.tiles = 19;
    settings.streams = 2;
    settings.elements = 20000 * settings.tiles;
    settings.carry = CARRY_CALLBACK;
    return settings;
}

/* As many devices as a host can have. */
START_TEST(eight_devices_run)
{
    struct settings both[] = {product_settings(8, 19, 2), scan_settings("scan", 8)};
    for (int i = is_there() ? 0 : 1; i < 2; i++) {
        struct plan plan = test_built(&both[i]);
        ck_assert_int_eq(emit_plan(&plan, &both[i], "tiles.cu"), STATUS_OK);
        ck_assert_int_eq(emit_run_on_cpu(""), 0);
        plan_free(&plan);
    }
}
END_TEST

/* The command line allows no such carry, and a plan that has it is no loop of this kind. */
START_TEST(a_carry_on_one_device_is_refused)
{
    struct error error = {0};
    struct settings settings = scan_settings("scan", 2);
    struct plan plan = test_built(&settings);
    settings.carry = CARRY_DEVICE;
    ck_assert_int_eq(check_program(&plan, &settings, &error), STATUS_USAGE);
    assert_has(error.text, "--carry=device");
    plan_free(&plan);
    ck_assert_int_eq(program_run("-d 'sim:h200*2' -k scan --carry=callback --issue=batch "
                                 "--batch=4 -n 1M -t 64 --emit=-"),
                     2);
    assert_has(program_err, "a scan in batches with a carry by way of the host");
}
END_TEST

Suite *emit_spread_suite(void)
{
    enum { SECONDS = 600 };
    Suite *suite = suite_create("emit_spread");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, SECONDS);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, mistakes_are_seen);
    tcase_add_test(all, each_run_does_its_own_work);
    tcase_add_test(all, waits_are_enough);
    tcase_add_test(all, every_wait_is_needed);
    tcase_add_test(all, each_device_has_its_own);
    tcase_add_test(all, sums_go_from_device_to_device);
    tcase_add_test(all, a_carry_on_one_device_is_refused);
    if (emit_share() > 0)
        tcase_add_test(all, eight_devices_run);
    suite_add_tcase(suite, all);
    return suite;
}
