/* check_emit.c - programs that --emit writes: their loops, their calls, and what is refused.
 *
 * A program is compiled for src/cpu and run there. So it checks its own result, and what its
 * recording has is held against the plan, call by call: that is what the reader of the program
 * gets, whatever the writer proved.
 */
#include "emit/parts.h"
#include "fixtures.h"
#include "plan/mistake.h"
#include "suites.h"
#include "test_emit.h"
#include "test_emit_back.h"
#include "test_folder.h"
#include "test_program.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scans whose tiles don't wait for each other, and are issued the last one first, are wrong,
 * though the run before has left the right sums: they are poisoned. */
START_TEST(scans_need_their_waits)
{
#define EARLY                                                                                  \
    "s/CHECK(cudaStreamWaitEvent([^;]*;/;/; "                                                  \
    "s/(size_t tile = 0; tile < TILES; tile++)/"                                               \
    "(size_t tile = TILES; tile-- > 0;)/"
    static const struct emit_trial trials[] = {
        {"-t 4 -s 4 -k scan", EARLY, NULL, " wrong", 1},
        {"-t 4 -s 4 -k scan --carry=callback", EARLY, NULL, " wrong", 1}};
    emit_try(trials, 2);
}
END_TEST

/* Work that is left out of all runs but the first is missed, though the slots are as many as
 * the tiles, and still hold what the first run left: the device's memory is poisoned, too. */
START_TEST(each_run_does_its_own_work)
{
    static const struct emit_left_out left_out[] = {
        {"-t 4 -s 4", "CHECK(cudaMemcpyAsync(d_in +", 4},
        {"-t 4 -s 4", "scale<<<", 4},
        {"-t 4 -s 4 -k wave,sum", "CHECK(cudaMemcpyAsync(d_in +", 4},
        {"-t 4 -s 4 -k wave,sum", "wave<<<", 4},
        {"-t 4 -s 4 -k wave,sum", "sum<<<", 4},
        {"-t 4 -s 4 -k wave", "CHECK(cudaMemcpyAsync(d_in2 +", 4},
        {"-t 4 -s 4 -k scan", "CHECK(cudaMemcpyAsync(d_in +", 4},
        {"--device=sim:h200*2 -t 4 -s 2", "scale<<<", 4},
        {"-t 1 -s 4 -k finite", "CHECK(cudaMemcpyAsync(d_in +", 1},
        {"-t 4 -s 4 -k dgemm --rows=20 --inner=12", "CHECK(cudaMemcpyAsync(d_a,", 1},
        {"-t 4 -s 4 -k dgemm --rows=20 --inner=12", "CHECK(cudaMemcpyAsync(d_c\\[", 4},
    };
    emit_try_left_out(left_out, sizeof left_out / sizeof *left_out);
}
END_TEST

/* A program whose tiles have other places than the plan's is right by itself: its recording
 * shows that. */
START_TEST(other_places_are_found)
{
    static const char *const options = "-t 8 -s 2 --scatter";
    char why[DIFFERENCE_TEXT] = "";
    emit_write(options);
    ck_assert_int_eq(
        system("sed -i 's/\\(TILES\\] = {\\)\\([0-9]*\\), \\([0-9]*\\)/\\1\\3, \\2/' "
               "tiles.cu"),
        0);
    ck_assert_int_eq(emit_run_on_cpu(options), 0);
    emit_print_plan(options);
    ck_assert(!emit_gives_back("tiles.jsonl", 2, false, why));
    assert_has(why, "lies elsewhere in its array");
}
END_TEST

/* What is not packed, or not unpacked, is not right, though the run before has left all of it.
 */
START_TEST(tiles_need_their_packs)
{
#define PACKED "-t 8 -s 8 --pack --batch=2 --scatter"
    static const struct emit_left_out left_out[] = {{PACKED, "pack(packed_in", 4},
                                                    {PACKED, "unpack(out", 4}};
    emit_try_left_out(left_out, 2);
}
END_TEST

START_TEST(kernels_need_their_barriers)
{
    emit_write("-t 4 -s 2 -k scan");
    ck_assert_int_eq(system("sed -i '/sums\\[threadIdx.x . 32\\] = with;/{n;d}' tiles.cu"), 0);
    ck_assert_int_eq(emit_run_on_cpu("-k scan"), 1);
}
END_TEST

enum { PARTS = 2 }; /* of the settings: each suite below compiles its part */

START_TEST(calls_are_the_plan)
{
    const char *part[SETTINGS_MAX];
    const int count = emit_read_settings();
    int few = 0;
    ck_assert_int_ge(count, 60);
    emit_libraries();
    for (int i = _i; i < count; i += PARTS)
        part[few++] = emit_settings[i];
    emit_check_programs(part, few);
}
END_TEST

/* --- the program as a text --- */

START_TEST(a_simple_program_fits_on_a_slide)
{
    ck_assert_int_eq(program_run("-d sim:h200 --emit=-"), 0);
    int lines = 0;
    emit_check_lines(program_out);
    for (const char *at = program_out; *at != '\0'; at++)
        lines += *at == '\n';
    ck_assert_int_le(lines, 78);
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
    ck_assert_int_eq(program_run("-d sim:h200 -k scan --carry=sync --emit=-"), 0);
    assert_shown(program_out, "if (tile > 0) // |computed[(tile - 1) % STREAMS], 0)|"
                              "if (tile + 1 < TILES) { // |feed_next, &sums[tile]));");
}
END_TEST

/* A few places are a table; many are drawn. Single copies and batches look a tile's place up.
 */
START_TEST(tiles_have_places)
{
    ck_assert_int_eq(program_run("-d sim:h200 --scatter -t 4 -s 2 --seed=2 --emit=-"), 0);
    assert_shown(program_out, " --scatter=yes |--seed=2|place[TILES] = {|"
                              "d_in[slot], in[place[tile]], BYTES, |"
                              "cudaMemcpyAsync(out[place[tile]], d_out[slot], BYTES, ");
    ck_assert_int_eq(program_run("-d sim:h200 --scatter -n 1M -t 128 --issue=batch --batch=4 "
                                 "--emit=-"),
                     0);
    assert_shown(program_out, "host[place[first + i]]|copy_batch(d_in[slot * BATCH], in, |"
                              "    draw_places();");
    ck_assert_ptr_null(strstr(program_out, "place[TILES] = {"));
}
END_TEST

/* The rows of a matrix of one tile are one piece: nothing is said of rows. */
START_TEST(columns_of_one_tile_are_a_piece)
{
    ck_assert_int_eq(program_run("-d sim:h200 --copy=rows -t 1 --emit=-"), 0);
    ck_assert_ptr_null(strstr(program_out, "ROW"));
    ck_assert_int_eq(program_run("-d sim:h200 --copy=rows -t 4 -s 2 --emit=-"), 0);
    assert_shown(program_out, "ROWS = TILE / WIDTH|ROW = WIDTH * sizeof(float)|row < ROWS");
}
END_TEST

#define PRODUCT "-d sim:h200 -k dgemm -n 64k --rows=256 --inner=64 -t 8 -s 4 "

/* A is copied in once, before the loop; a stream's first kernel waits for that. C is in place.
 */
START_TEST(the_product_has_panels)
{
    ck_assert_int_eq(program_run(PRODUCT "--emit=-"), 0);
    assert_shown(program_out, "THIS.cu -lcublas && |ROWS = 256, INNER = 64, |"
                              "CUBLAS(cublasSetWorkspace(*handle, workspace, bytes));|"
                              "    CHECK(cudaEventRecord(a_copied_in, stream[0])); // |"
                              "        if (tile > 0 && tile < STREAMS)|"
                              "b[tile], B_BYTES, |cublasDgemm_64(blas[slot], |"
                              "cudaMemcpyAsync(c[tile], d_c[slot], BYTES, ");
    ck_assert_int_eq(program_run(PRODUCT "--layout=stage --emit=-"), 0);
    assert_shown(program_out, "create_blas(&blas, kernel_stream);|"
                              "cudaStreamWaitEvent(in_stream, copied_out[slot], 0)");
    ck_assert_ptr_null(strstr(program_out, "a_copied_in"));
}
END_TEST

START_TEST(the_product_is_refused_by_name)
{
    ck_assert_int_eq(program_run(PRODUCT "--ways=4 --cpu-share=0.5 --emit=-"), 2);
    assert_has(program_err, "the CPU's part of the kernel dgemm");
    ck_assert_int_eq(program_run("-d sim:h200 -n 31 -t 7 -k dgemm --rows=1 --inner=3 --emit=-"),
                     2);
    assert_has(program_err, "tiles differ in their columns");
    ck_assert_int_eq(program_run(PRODUCT "--issue=batch --batch=2 --emit=-"), 2);
    assert_has(program_err, "the matrix product in batches");
    ck_assert_int_eq(program_run(PRODUCT "--pack --batch=1 --emit=-"), 2);
    assert_has(program_err, "the matrix product with --pack");
}
END_TEST

START_TEST(every_kernel_can_be_written)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        ck_assert_msg(emit_kernel_find(kernel) != NULL, "%s", kernel->name);
}
END_TEST

/* What a row of the kernels asks for is a section of programs/. */
START_TEST(every_section_is_there)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        const struct emit_kernel *row = emit_kernel_find(kernel);
        const char *const names[] = {row->before, row->sections, row->reference,
                                     row->on_cpu, row->scratch,  row->bound};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            char text[EMIT_LINE] = "", *rest = NULL;
            strncat(text, names[i] != NULL ? names[i] : "", sizeof text - 1);
            for (char *name = strtok_r(text, " ", &rest); name != NULL;
                 name = strtok_r(NULL, " ", &rest))
                ck_assert_msg(emit_has_section(name), "%s: %s", kernel->name, name);
        }
    }
    ck_assert(!emit_has_section("nobody"));
}
END_TEST

/* Each mistake is in its program, whose head alone would say so without it, or is refused. One
 * that is new in the table needs a line here: what its program shows. */
START_TEST(each_mistake_is_written_or_refused)
{
    static const struct {
        const char *mistake, *shown; /* NULL: refused */
    } programs[] = {
        {"missing-wait", "in_stream)); // the mistake: nothing waits for it"},
        {"pageable-memory", "in = new float[N]; // pageable"},
        {"legacy-stream", "scale<<<BLOCKS, THREADS>>>("},
        {"blocking-stream", "        call_other_code(); // nothing issued before it"},
        {"sync-in-loop", "cudaStreamSynchronize(out_stream)); // the mistake"},
        {"alloc-in-loop", "        CHECK(cudaMalloc(&memory, BYTES));"},
        {"pinned-alloc-in-loop", "        CHECK(cudaMallocHost(&memory, BYTES));"},
        {"memset-in-loop", "CHECK(cudaMemsetAsync(d_in + slot * TILE, 0, BYTES, in_stream));"},
        {"launch-blocking", "setenv(\"CUDA_LAUNCH_BLOCKING\", \"1\", 1);"},
        {"slow-callback", "sleep_for(std::chrono::nanoseconds("},
        {"lazy-loading", NULL},
        {"pin-in-run", "CHECK(cudaMallocHost(&memory, 2 * N * sizeof(float)));"},
    };
    const int count = sizeof programs / sizeof *programs;
    for (const struct mistake_row *row = mistake_rows + 1; row->name != NULL; row++) {
        char line[OPTIONS_TEXT];
        int i = 0;
        while (i < count && strcmp(programs[i].mistake, row->name) != 0)
            i++;
        ck_assert_msg(i < count, "what does a program with --mistake=%s show?", row->name);
        snprintf(line, sizeof line,
                 "-d sim:h200 -t 8 -s 3 --layout=stage --mistake=%s --emit=-", row->name);
        ck_assert_int_eq(program_run(line), programs[i].shown != NULL ? 0 : 2);
        if (programs[i].shown != NULL)
            assert_has(program_out, programs[i].shown);
        else
            assert_has(program_err, "only the first run of a process shows it");
    }
}
END_TEST

/* Nothing is printed or written, and the line names what is in the way. */
START_TEST(what_is_refused)
{
    static const char *const cases[][2] = {
        {"-k transpose-naive,scale", "in a chain"},
        {"-k scan,sum-int", "the kernel scan can't be written as a program in a chain"},
        {"-k scan --carry=callback --issue=batch --batch=4 -n 1M -t 64", "--carry"},
        {"-k stride-copy,scale --stride=8", "allowed is --kernel=stride-copy alone"},
        {"--ways=4 --cpu-share=1", "all the CPU's"},
        {"--mistake=lazy-loading", "--mistake=lazy-loading"},
        {"--scatter --memory=mapped --issue=batch --batch=4 -n 1M -t 64",
         "lie apart in mapped"},
        {"--pack -t 31 --batch=4", "a multiple of --tiles"},
        {"-k uniform -t 31", "a multiple of --tiles"},
        {"-t 31 --issue=batch --batch=4", "a multiple of --tiles"},
        {"--device='sim:h200*2' --share=mps", "--share can't be"},
        {"--device='sim:h200*2' -k transpose-naive,scale --spread=chain", "in a chain"},
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

/* They are compiled and run by the suites emit_calls and emit_needs. EMIT_PROGRAM stands for
 * the program where choose.py wants to know what of it each takes. */
START_TEST(all_settings_are_written)
{
    const int count = emit_read_settings();
    const char *other = getenv("EMIT_PROGRAM");
    if (other != NULL)
        program_path = other;
    emit_libraries();
    for (int i = 0; i < count; i++) {
        if (emit_is_there(emit_settings[i]))
            emit_write(emit_settings[i]);
    }
}
END_TEST

/* The simulator is asked for tiles of one size where no others can be written. */
START_TEST(what_is_chosen_can_be_written)
{
    ck_assert_int_eq(
        program_run("-d sim:h200 -k uniform -n 999999 --no-data --tiles=auto --emit=-"), 0);
    assert_has(program_err, "tiles=");
    ck_assert_ptr_null(strstr(program_err, "tiles=1,"));
    ck_assert_int_eq(
        program_run("-q -d 'sim:h200*2' -k uniform -n 99999 --tiles=auto --emit=-"), 0);
    ck_assert_int_eq(
        program_run("-d 'sim:h200*2' -k transpose-fine -n 63k --tiles=auto --emit=-"), 0);
    assert_has(program_err, "tiles=3,"); /* each device has one */
    ck_assert_int_eq(program_run("-d 'sim:h200*2' -n 1 --tiles=auto --emit=-"), 2);
    assert_has(program_err, "each of the 2 devices has one");
    ck_assert_int_eq(
        program_run("-d sim:h200 -k scan --carry=callback --issue=auto --tiles=999 --emit=-"),
        0);
    ck_assert_ptr_null(strstr(program_out, "BATCH"));
    ck_assert_ptr_null(strstr(program_err, "batch "));
}
END_TEST

START_TEST(several_go_to_standard_output)
{
    ck_assert_int_eq(program_run("-d sim:h200 -n 1M --sweep=order=depth,breadth --emit=-"), 0);
    assert_shown(program_out, "Depth-first|Breadth-first");
    /* Each head's command can be typed: a share of the CPU's is refused beside two ways. */
    ck_assert_int_eq(
        program_run("-d sim:h200 -n 1M --cpu-share=0.25 --sweep=ways=2,4 --emit=-"), 0);
    assert_shown(program_out, "--ways=2 --device|--ways=4 --cpu-share=0.25 --device");
    ck_assert_int_eq(program_run("lesson 4 -d sim:h200 --emit=-"), 0);
    assert_shown(program_out, "STREAMS = |int main() {");
    ck_assert_int_eq(program_run("lesson 10 -d sim:h200 --emit=-"), 0);
    assert_shown(program_out, "3-way|4-way"); /* its second run has 4 ways */
    ck_assert_int_eq(program_run("lesson 3 -d sim:h200 --emit=-"), 0);
    assert_shown(program_out, "    CHECK(cudaMallocHost(&memory, 2 * N * sizeof(float)));");
    ck_assert_int_eq(program_run("lesson 16 -d sim:h200 --emit=-"), 0);
    assert_shown(program_out, "no stream is named|call_other_code();|(cudaStreamCreate(&each)");
    ck_assert_int_eq(program_run("lesson 24 -d sim:h200 --emit=-"), 0);
    assert_shown(program_out, "int main() {\n    // the mistake|setenv(|int main() {");
    ck_assert_int_eq(program_run("lesson 29 -d sim:h200 --emit=-"), 0);
    assert_shown(
        program_out,
        "// ---- run gathered ----\n// --emit: a kernel on a batch of tiles|int main() {");
    ck_assert_int_eq(
        program_run("-d sim:h200 --mistake=lazy-loading --sweep=tiles=2,4 --emit=-"), 2);
    ck_assert_str_eq(program_out, "");
    assert_has(program_err, "--mistake=lazy-loading");
    ck_assert_int_eq(program_run("compare -d sim:h200 --emit=-"), 2);
    ck_assert_str_eq(program_out, "");
}
END_TEST

/* --- nvcc --- */

/* One of each kind, by itself, so that what it does not include is missed. */
START_TEST(nvcc_takes_programs)
{
    static const char *const some[] = {"-t 32 -s 4",
                                       "-t 31 -s 3 --layout=stage -k scale,sum",
                                       "-t 16 -s 4 -k wave --ways=2 --issue=graph",
                                       "-t 16 -s 4 -n 1G",
                                       "-t 31 -s 4 -n 1G -k wave",
                                       "-t 31 -s 4 -k scan --carry=callback",
                                       "-t 100 -s 4 --scatter --issue=batch --batch=8",
                                       "-t 100 -s 4 --scatter --pack --batch=8 -k scale,sum",
                                       "-t 32 -s 3 --pack --batch=4 --copy=2d --tile-width=20",
                                       "-t 7 -s 1 --pack --batch=1 -k sum-int",
                                       "-t 16 -s 4 -k dgemm --rows=20 --inner=12",
                                       "--device=sim:h200*2 -t 31 -s 1 --pack "
                                       "--batch=1 -k wave",
                                       "--device=sim:h200*3 --spread=chain -t 31 -s 3 "
                                       "-k scale,scale,sum --exchange=host",
                                       "--device=sim:h200*2 --spread=chain -t 32 -s 3 "
                                       "-k wave,scale -n 1G"};
    const int share = emit_share();
    for (int i = 0; share > 0 && i < (int)(sizeof some / sizeof *some); i += share)
        if (emit_is_there(some[i]))
            emit_check_nvcc(some[i]);
}
END_TEST

/* The kernels of programs/ as they stand, all sections beside one another, which nobody calls.
 */
START_TEST(nvcc_takes_the_texts)
{
    glob_t texts;
    ck_assert_int_eq(glob(TESTS_FOLDER "/../programs/*.cu", 0, NULL, &texts), 0);
    for (size_t i = 0; i < texts.gl_pathc; i++) {
        char file[OPTIONS_TEXT];
        snprintf(file, sizeof file,
                 "-diag-suppress 177 -Xcompiler -Wno-unused-function,-Wno-unused-variable %s",
                 texts.gl_pathv[i]);
        emit_nvcc_takes(file, "text");
    }
    globfree(&texts);
}
END_TEST

START_TEST(nvcc_takes_all_programs)
{
    enum { AT_ONCE = 16 };
    int count = 0;
    const int all = emit_read_settings();
    emit_libraries();
    for (int i = 0; i < all; i++) {
        if (emit_is_there(emit_settings[i]))
            memmove(emit_settings[count++], emit_settings[i], OPTIONS_TEXT);
    }
    for (int i = 0; i < count; i += AT_ONCE)
        emit_check_nvcc_joined(emit_settings + i, count - i < AT_ONCE ? count - i : AT_ONCE);
}
END_TEST

enum { MANY_SECONDS = 2400 }; /* for `make test-emit-all` */

Suite *emit_suite(void)
{
    Suite *suite = suite_create("emit");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, MANY_SECONDS);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, a_simple_program_fits_on_a_slide);
    tcase_add_test(all, loops_are_as_people_write_them);
    tcase_add_test(all, tiles_have_places);
    tcase_add_test(all, columns_of_one_tile_are_a_piece);
    if (emit_is_there(PRODUCT)) {
        tcase_add_test(all, the_product_has_panels);
        tcase_add_test(all, the_product_is_refused_by_name);
    }
    tcase_add_test(all, every_kernel_can_be_written);
    tcase_add_test(all, every_section_is_there);
    tcase_add_test(all, each_mistake_is_written_or_refused);
    tcase_add_loop_test(all, what_is_refused, 0, 14);
    tcase_add_test(all, what_is_chosen_can_be_written);
    tcase_add_test(all, several_go_to_standard_output);
    if (system("nvcc --version >/dev/null 2>&1") == 0) {
        tcase_add_test(all, nvcc_takes_programs);
        tcase_add_test(all, nvcc_takes_the_texts);
        if (emit_share() == 1)
            tcase_add_test(all, nvcc_takes_all_programs);
    }
    suite_add_tcase(suite, all);
    TCase *settings = tcase_create("settings");
    tcase_set_timeout(settings, MANY_SECONDS);
    tcase_add_checked_fixture(settings, test_folder_enter, test_folder_leave);
    tcase_add_test(settings, all_settings_are_written);
    suite_add_tcase(suite, settings);
    return suite;
}

/* Apart from the others, to be run beside them; of the settings each takes its part. */
Suite *emit_calls_suite(void)
{
    Suite *suite = suite_create("emit_calls");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, MANY_SECONDS);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, scans_need_their_waits);
    if (emit_share() > 0)
        tcase_add_loop_test(all, calls_are_the_plan, 0, 1);
    suite_add_tcase(suite, all);
    return suite;
}

Suite *emit_needs_suite(void)
{
    Suite *suite = suite_create("emit_needs");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, MANY_SECONDS);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, each_run_does_its_own_work);
    tcase_add_test(all, tiles_need_their_packs);
    if (emit_share() > 0) {
        tcase_add_test(all, kernels_need_their_barriers);
        tcase_add_test(all, other_places_are_found);
        tcase_add_loop_test(all, calls_are_the_plan, 1, PARTS);
    }
    suite_add_tcase(suite, all);
    return suite;
}
