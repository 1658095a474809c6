/* check_emit_stencil.c - programs of --emit with the stencil: its rows stay on the device for
 * all steps, and around the array there are rows of zeros. */
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

#define OPTIONS "-t 4 -k stencil --columns=25 --halo=2 --steps=3"

/* Mistakes in a program, as edits by sed, that its own check is to see: zeros that are missing
 * at one end or in one array, tiles that come too late, to the wrong rows or not at all, steps
 * and neighbours that are missing or others, and a result of the step before. */
#define OUTSIDE "s/(now\\[HALO\\], next/(now[HALO - 1], next/" /* a fault */
static const char *const edits[] = {
    "/array\\[0\\], 0, HALO_BYTES/d",
    "/HALO + ROWS\\], 0, HALO_BYTES/d",
    "s/: {now, next}/: {now}/",
    "s/: {now, next}/: {next}/",
    "s/0, HALO_BYTES, stream/0, HALO_BYTES - 4, stream/",
    "s/tile < TILES; tile++/tile + 1 < TILES; tile++/",
    "s/now\\[HALO + tile \\* TILE_ROWS\\], in/now[tile * TILE_ROWS], in/",
    "s/now\\[HALO + tile \\* TILE_ROWS\\], in/now[HALO + 1 + tile * TILE_ROWS], in/",
    "s/], in\\[tile\\]/], in[0]/",
    "0,/int step = 0/s//int step = 1/",
    "s/std::swap(now, next);/if (step + 1 < STEPS) std::swap(now, next);/",
    "s/next\\[HALO\\], N, COLUMNS, HALO)/next[HALO], N - 1, COLUMNS, HALO)/",
    "s/next\\[HALO\\], N, COLUMNS, HALO)/next[HALO], N, COLUMNS, HALO - 1)/",
    OUTSIDE,
    "s/+ x\\[rows\\] +/+ x[-rows] +/",
    "s/= column >= k ? \\*(x - k) : 0/= *(x - k)/",
    "s/= columns - column > k ? x\\[k\\] : 0/= x[k]/",
    "s/        column += THREADS;/        column += THREADS + 1;/",
};
enum { EDITS = sizeof edits / sizeof *edits };

START_TEST(mistakes_are_seen)
{
    struct emit_trial trials[EDITS];
    for (int i = 0; i < EDITS; i++) { /* of several blocks */
        trials[i] = (struct emit_trial){
            OPTIONS " -n 2000", edits[i], NULL,
            strcmp(edits[i], OUTSIDE) == 0 ? "which is no memory of CUDA" : " wrong", 1};
    }
    emit_try(trials, EDITS);
}
END_TEST

/* --- the program as a text --- */

START_TEST(steps_are_a_loop)
{
    ck_assert_int_eq(program_run("-d sim:h200 -k stencil --halo=3 --steps=64 -t 16 --emit=-"),
                     0);
    emit_check_lines(program_out);
    assert_shown(program_out,
                 "// 64 steps of stencil on 16 tiles|HALO = 3;|WEIGHT = 1 / 32.0f;|"
                 "    for (float (*array)[COLUMNS] : {now, next}) {|"
                 "    for (int step = 0; step < STEPS; step++) {|std::swap(now, next);|"
                 "cudaMemcpyAsync(out[tile], now[HALO + tile * TILE_ROWS], BYTES,");
    ck_assert_int_eq(program_run("-d sim:h200 -k stencil --steps=1 -n 1G -t 1 --emit=-"), 0);
    emit_check_lines(program_out);
    assert_shown(program_out, "// 1 step of stencil on 1 tile, |"
                              "    CHECK(cudaMemsetAsync(now[0], 0, HALO_BYTES, stream));");
}
END_TEST

START_TEST(nvcc_takes_programs)
{
    static const char *const some[] = {OPTIONS, "-t 1 -k stencil --columns=1 --steps=1 -n 1",
                                       "-t 64 -k stencil --columns=1G --halo=64 -n 64G"};
    for (int i = 0; i < 3; i += emit_share())
        emit_check_nvcc(some[i]);
}
END_TEST

Suite *emit_stencil_suite(void)
{
    enum { SECONDS = 300 };
    Suite *suite = suite_create("emit_stencil");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, SECONDS);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, mistakes_are_seen);
    tcase_add_test(all, steps_are_a_loop);
    if (emit_share() > 0 && system("nvcc --version >/dev/null 2>&1") == 0)
        tcase_add_test(all, nvcc_takes_programs);
    suite_add_tcase(suite, all);
    return suite;
}
