/* check_emit_chain.c - programs of --emit whose devices have parts of the chain: each hands its
 * tiles on to the next. */
#include "emit/emit.h"
#include "fixtures.h"
#include "plan/build.h"
#include "suites.h"
#include "test_emit.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdlib.h>
#include <string.h>

#define CHAIN "--spread=chain "
#define TWO   "--device=sim:h200*2 " CHAIN
#define THREE "--device=sim:h200*3 " CHAIN

/* --- the programs, run --- */

#define PEERS   TWO "-t 16 -s 3 -k wave,scale --layout=stage"
#define BY_HOST PEERS " --exchange=host"

/* Mistakes in a program, as edits by sed: kernels go to another device, or get another's memory
 * or stream; a tile goes to another device or slot, in another's stream, or stays where it is;
 * nobody lets a device reach another's memory; an event is recorded in another's stream. */
static const struct emit_trial edits[] = {
    {PEERS, "/cudaSetDevice(1)/d", NULL, NULL, EMIT_NOT_RIGHT},
    {PEERS, "s/kernel_stream\\[1\\]>>>/kernel_stream[0]>>>/", NULL, NULL, EMIT_NOT_RIGHT},
    {PEERS, "s/>>>(d_in\\[1\\]/>>>(d_in[0]/", NULL, NULL, EMIT_NOT_RIGHT},
    {PEERS, "s/PeerAsync(d_in\\[1\\]/PeerAsync(d_in[0]/", NULL, NULL, EMIT_NOT_RIGHT},
    {PEERS, "s/PeerAsync(d_in\\[1\\] + slot \\* TILE/PeerAsync(d_in[1]/", NULL, NULL,
     EMIT_NOT_RIGHT},
    {PEERS, "s/ TILE, 1, d_out/ TILE, 0, d_out/", NULL, NULL, EMIT_NOT_RIGHT},
    {PEERS, "/PeerAsync(/,/;/s/out_stream\\[0\\]/out_stream[1]/", "last", " wrong", 1},
    {PEERS, "/PeerAsync(/,/;/d", NULL, NULL, EMIT_NOT_RIGHT},
    {PEERS, "/ reach(device, device - 1)/d", NULL, NULL, EMIT_NOT_RIGHT},
    {PEERS, "/ reach(device, device + 1)/d", NULL, NULL, EMIT_NOT_RIGHT},
    {PEERS, "s/EventRecord(computed\\[1\\]/EventRecord(computed[0]/", NULL, NULL,
     EMIT_NOT_RIGHT},
    {BY_HOST, "s/MemcpyAsync(handed\\[0\\] + slot \\* TILE/MemcpyAsync(handed[0]/", NULL, NULL,
     EMIT_NOT_RIGHT},
    {BY_HOST, "s/handed\\[0\\] + slot \\* TILE, BYTES/handed[0], BYTES/", NULL, NULL,
     EMIT_NOT_RIGHT},
    {BY_HOST, "s/MemcpyAsync(d_in\\[1\\]/MemcpyAsync(d_in[0]/", NULL, NULL, EMIT_NOT_RIGHT},
};
enum { EDITS = sizeof edits / sizeof *edits };

START_TEST(mistakes_are_seen)
{
    emit_try(edits, EDITS);
}
END_TEST

#define FOUR TWO "-t 4 -s 4 -k scale,scale"

/* The first run alone makes its four calls: what it left is poisoned, on each device and on the
 * way by the host. */
static const struct emit_left_out left_out[] = {
    {FOUR, "CHECK(cudaMemcpyAsync(d_in", 4},
    {FOUR, "scale<<<BLOCKS, THREADS, 0, stream\\[1", 4},
    {FOUR, "CHECK(cudaMemcpyPeerAsync(", 4},
    {FOUR " --exchange=host", "CHECK(cudaMemcpyAsync(handed", 4},
    {FOUR " --exchange=host", "CHECK(cudaMemcpyAsync(d_in\\[1", 4},
    {FOUR ",sum", "CHECK(cudaMemcpyPeerAsync(", 4},
};
enum { LEFT_OUT = sizeof left_out / sizeof *left_out };

START_TEST(each_run_does_its_own_work)
{
    emit_try_left_out(left_out, LEFT_OUT);
}
END_TEST

/* --- as a text --- */

START_TEST(tiles_are_handed_on)
{
    ck_assert_int_eq(program_run("-d 'sim:h200*2' --spread=chain -k wave,scale --emit=-"), 0);
    emit_check_lines(program_out);
    assert_shown(
        program_out,
        "the chain in parts on 2 devices|stream[DEVICES][STREAMS];|"
        "const size_t slot = tile % STREAMS; // |CHECK(cudaSetDevice(0)); // |"
        "if (tile >= STREAMS) // device 1 may still read |"
        "cudaMemcpyPeerAsync(d_in[1] + slot * TILE, 1, d_out[0] + slot * TILE, 0, |"
        "(handed_on[0][slot], stream[0][slot])); // for the kernel on device 1|"
        "CHECK(cudaSetDevice(1)); // |// the kernel reads what device 0 hands on|"
        "(stream[1][slot], handed_on[0][slot], 0)|cudaDeviceEnablePeerAccess(other, 0)");
    ck_assert_ptr_null(strstr(program_out, "handed["));
    ck_assert_int_eq(program_run("-d 'sim:h200*3' --spread=chain -k scale,scale,scale,sum "
                                 "--exchange=host --order=breadth --layout=stage --emit=-"),
                     0);
    emit_check_lines(program_out);
    assert_shown(program_out,
                 "*handed[DEVICES - 1];|static void leave_for_1(size_t tile)|"
                 "// device 1 may still copy what was in this slot on the host|"
                 "static void take_on_1(size_t tile)|device 0 has left on the host|"
                 "static void take_on_2(size_t tile)|static void launch_sum_4(size_t tile)|"
                 "cudaSetDevice(2)|memset(handed[device], 0xFF, ");
    ck_assert_ptr_null(strstr(program_out, "Peer"));
}
END_TEST

/* --- plans --- */

static struct settings settings_of(const char *chain, uint32_t devices)
{
    struct settings settings = test_settings(chain);
    settings.spread = SPREAD_CHAIN;
    settings.devices = devices;
    return settings;
}

/* The devices are those that were named, whatever CUDA counts. */
START_TEST(numbers_are_kept)
{
    struct settings settings = settings_of("scale,scale", 2);
    settings.exchange = EXCHANGE_PEER;
    struct plan plan = test_built(&settings);
    settings.device = "cuda:3,1";
    ck_assert_int_eq(emit_plan(&plan, &settings, "tiles.cu"), STATUS_OK);
    char *text = test_file_text("tiles.cu");
    emit_check_lines(text);
    assert_shown(text,
                 "const int NUMBERS[DEVICES] = {3, 1}; // |CHECK(cudaSetDevice(NUMBERS[0]));|"
                 ", NUMBERS[1], d_out[0]| NUMBERS[0], |cudaSetDevice(NUMBERS[1])|"
                 "cudaDeviceCanAccessPeer(&can, NUMBERS[device], NUMBERS[other])|"
                 "cudaDeviceEnablePeerAccess(NUMBERS[other], 0)");
    free(text);
    plan_free(&plan);
}
END_TEST

Suite *emit_chain_suite(void)
{
    enum { SECONDS = 600 };
    Suite *suite = suite_create("emit_chain");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, SECONDS);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, mistakes_are_seen);
    tcase_add_test(all, each_run_does_its_own_work);
    tcase_add_test(all, tiles_are_handed_on);
    tcase_add_test(all, numbers_are_kept);
    suite_add_tcase(suite, all);
    return suite;
}
