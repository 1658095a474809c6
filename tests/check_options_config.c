/* check_options_config.c - config files: runs, precedence, and refusals with file and line. */
#include "options_cases.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TESTS_FOLDER
#define TESTS_FOLDER "tests" /* from the repository's root */
#endif

static char folder[64], before[4096];

void options_enter_folder(void)
{
    ck_assert_ptr_nonnull(getcwd(before, sizeof before));
    strcpy(folder, "/tmp/check_options.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

void options_leave_folder(void)
{
    char command[128];
    ck_assert_int_eq(chdir(before), 0);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(sections_are_runs)
{
    test_file_put("w.ini", "; a comment\n"
                           "# another\n"
                           "[global]\n"
                           "elements = 1M\n"
                           "streams: 8\n"
                           "callbacks=yes\n"
                           "\n"
                           "[first]\n"
                           "tiles=4 ; with a comment\n"
                           "[ second run ] ; spaces around a name don't count\n"
                           "  streams =  2  \r\n"
                           "callbacks=off\n"
                           "kernel = scale, sum\n"
                           "[third]");
    struct options options = parse_right(LINE("w.ini"));
    ck_assert_int_eq(options.run_count, 3);
    const struct settings *runs = options.runs;
    ck_assert_str_eq(runs[0].name, "first");
    ck_assert_str_eq(runs[1].name, "second run");
    ck_assert_str_eq(runs[2].name, "third");
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(runs[i].elements, 1 << 20);
        ck_assert(runs[i].elements_given);
        ck_assert_uint_eq(runs[i].tiles, i == 0 ? 4 : 32);
        ck_assert_uint_eq(runs[i].streams, i == 1 ? 2 : 8);
        ck_assert(runs[i].callbacks == (i != 1));
        ck_assert_int_eq(runs[i].chain_length, i == 1 ? 2 : 1);
    }
    options_free(&options);
}
END_TEST

START_TEST(default_global_section_line)
{
    test_file_put("w.ini",
                  "[global]\ntiles=2\nstreams=2\nwarmup=2\n[a]\ntiles=3\nstreams=3\n[b]\n");
    struct options options = parse_right(LINE("-s5", "w.ini"));
    ck_assert_uint_eq(options.runs[0].runs, 5);
    ck_assert_uint_eq(options.runs[0].warmup, 2);
    ck_assert_uint_eq(options.runs[0].tiles, 3);
    ck_assert_uint_eq(options.runs[1].tiles, 2);
    ck_assert_uint_eq(options.runs[0].streams, 5);
    ck_assert_uint_eq(options.runs[1].streams, 5);
    options_free(&options);
    options = parse_right(LINE("w.ini", "-s5")); /* wherever it stands */
    ck_assert_uint_eq(options.runs[0].streams, 5);
    options_free(&options);
}
END_TEST

START_TEST(each_global_is_for_its_file)
{
    test_file_put("a.ini", "[global]\ntiles=2\n[one]\n[two]\n");
    test_file_put("b.ini", "[three]\nstreams=3\n");
    struct options options = parse_right(LINE("run", "a.ini", "b.ini"));
    ck_assert_int_eq(options.run_count, 3);
    ck_assert_str_eq(options.runs[2].name, "three");
    ck_assert_uint_eq(options.runs[1].tiles, 2);
    ck_assert_uint_eq(options.runs[2].tiles, 32);
    ck_assert_uint_eq(options.runs[2].streams, 3);
    options_free(&options);
    parse_wrong(LINE("a.ini", "a.ini"), "a.ini:3: ", "'one'", "already at a.ini:3", NULL);
}
END_TEST

START_TEST(global_alone_is_one_run)
{
    ck_assert_int_eq(system("mkdir sub"), 0);
    test_file_put("sub/deep.ini", "[global]\ntiles=2\n");
    test_file_put("noend", "[global]\n");
    struct options options = parse_right(LINE("sub/deep.ini", "noend"));
    ck_assert_int_eq(options.run_count, 2);
    ck_assert_str_eq(options.runs[0].name, "deep");
    ck_assert_uint_eq(options.runs[0].tiles, 2);
    ck_assert_str_eq(options.runs[1].name, "noend");
    options_free(&options);
    parse_wrong(LINE("sub/deep.ini", "./sub/deep.ini"), "'deep'", "already at sub/deep.ini:1",
                NULL);
}
END_TEST

START_TEST(byte_order_mark_is_skipped)
{
    test_file_put("w.ini", "\xef\xbb\xbf[a]\r\ntiles=4\r\n");
    struct options options = parse_right(LINE("w.ini"));
    ck_assert_str_eq(options.runs[0].name, "a");
    ck_assert_uint_eq(options.runs[0].tiles, 4);
    options_free(&options);
}
END_TEST

START_TEST(booleans_have_eight_words)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1", "off", "on"};
    for (int i = 0; i < 8; i++) {
        char text[64];
        snprintf(text, sizeof text, "[a]\ncallbacks = %s\nprofile=no\n", words[i]);
        test_file_put("w.ini", text);
        struct options options = parse_right(LINE("w.ini"));
        ck_assert(options.runs[0].callbacks == (i % 2 == 1));
        ck_assert(!options.runs[0].profile);
        options_free(&options);
    }
}
END_TEST

/* One stream in one way, unless both are said in one place. */
START_TEST(one_way_from_several_places)
{
    test_file_put("w.ini", "[global]\nstreams=4\n[serial]\nways=1\n[3-way]\n");
    struct options options = parse_right(LINE("w.ini"));
    ck_assert_uint_eq(options.runs[0].streams, 1);
    ck_assert_uint_eq(options.runs[1].streams, 4);
    options_free(&options);
    options = parse_right(LINE("w.ini", "--streams=8"));
    ck_assert_uint_eq(options.runs[0].streams, 1);
    ck_assert_uint_eq(options.runs[1].streams, 8);
    options_free(&options);
    options = parse_right(LINE("w.ini", "--ways=1"));
    ck_assert_uint_eq(options.runs[0].streams, 1);
    ck_assert_uint_eq(options.runs[1].streams, 1);
    options_free(&options);
    test_file_put("g.ini",
                  "[global]\nways=1\ncpu-share=0.5\n[4-way]\nways=4\n[1-way]\nstreams=1\n");
    parse_wrong(LINE("g.ini"), "ways=1 (g.ini:2)", "cpu-share=0.5 (g.ini:3) was given", NULL);
}
END_TEST

START_TEST(outputs_are_one_for_each)
{
    test_file_put("w.ini", "[a]\noutput=a.npy\n[b]\noutput=b.npy\n");
    struct options options = parse_right(LINE("w.ini", "--timeline=c.csv"));
    ck_assert_str_eq(options.runs[0].output, "a.npy");
    ck_assert_str_eq(options.runs[1].output, "b.npy");
    options_free(&options);
    parse_wrong(LINE("w.ini", "-oc.npy"), "--output=c.npy", "'a' and 'b'", NULL);
    parse_wrong(LINE("w.ini", "--timeline=b.npy"), "--timeline=b.npy", "output=b.npy (w.ini:4)",
                NULL);
    ck_assert_int_eq(system("ln -s . here; touch b.npy"), 0);
    parse_wrong(LINE("w.ini", "--timeline=here/b.npy"), "--timeline=here/b.npy",
                "output=b.npy (w.ini:4)", NULL);
    parse_wrong(LINE("w.ini", "--timeline=here/a.npy"), "--timeline=here/a.npy",
                "output=a.npy (w.ini:2)", NULL);
    test_file_put("g.ini", "[global]\noutput=a.npy\n[a]\n[b]\n");
    parse_wrong(LINE("g.ini"), "output=a.npy (g.ini:2)", "'a' and 'b'", NULL);
}
END_TEST

START_TEST(relations_name_their_places)
{
    test_file_put("w.ini", "[global]\nelements=100\ntiles=10\n[a]\n[b]\ntiles=101\n");
    parse_wrong(LINE("w.ini"), "tiles=101 (w.ini:6) is more than elements=100 (w.ini:2)", NULL);
    parse_wrong(LINE("w.ini", "-t200"), "--tiles=200 is more than elements=100 (w.ini:2)",
                NULL);
    parse_wrong(LINE("w.ini", "-n9"), "tiles=10 (w.ini:3) is more than --elements=9", NULL);
    test_file_put("n.ini", "[a]\nno-data=yes\n");
    parse_wrong(LINE("n.ini", "-dcuda"), "no-data=true (n.ini:2)", "--device=cuda was given",
                NULL);
}
END_TEST

#define LONG_NAME "123456789012345678901234567890123456789012345678901234567890123"

/* A config file, and what the one line about it must hold. */
static const struct {
    const char *file;
    const char *texts[4];
} bad_files[] = {
    {"[a]\ntiles=0\n", {"w.ini:2: tiles=0 is too small: must be 1 to 16777216"}},
    {"[a]\n\n; x\ntiles=12abc\n", {"w.ini:4: tiles=12abc is not a number", "1 to 16777216"}},
    {"[a]\ntiles=\n", {"w.ini:2: tiles= is not a number"}},
    {"[a]\ntiles=4 # four\n", {"w.ini:2: tiles=4 # four is not a number"}},
    {"[a]\ntiles=aut\n", {"w.ini:2: tiles=aut is not a number", "1 to 16777216, or auto"}},
    {"[a]\nruns=auto\n", {"w.ini:2: runs=auto is not a number"}},
    {"[a]\nways=1\nstreams=auto\n", {"ways=1 (w.ini:2)", "streams=auto (w.ini:3) was given"}},
    {"[a]\nmachine=h200\n", {"w.ini:2: ", "--machine", "command line only"}},
    {"[a]\nmodel=sim\n", {"w.ini:2: ", "--model", "command line only"}},
    {"[a]\nprofile=on\nruns=2\n", {"profile=true (w.ini:2) makes one run", "runs=2 (w.ini:3)"}},
    {"[a]\nmistake=x\n", {"w.ini:2: mistake=x is unknown: must be none, missing-wait"}},
    {"[a]\ncallbacks=maybe\n", {"w.ini:2: callbacks=maybe ", "must be yes, no, true"}},
    {"[a]\ncallbacks=\n", {"w.ini:2: callbacks= ", "must be yes, no, true"}},
    {"[a]\ncallbacks\n", {"w.ini:2: 'callbacks' has no value", "KEY=VALUE"}},
    {"[a]\ncallbacks", {"w.ini:2: 'callbacks' has no value", "KEY=VALUE"}},
    {"[a]\ncallbacks\n[b]\ntiles=0\n", {"w.ini:2: 'callbacks' has no value"}},
    {"[a]\norder=up\n", {"w.ini:2: order=up is unknown: must be depth, breadth"}},
    {"[a]\nkernel=scael\n", {"w.ini:2: kernel=scael: ", "did you mean scale?"}},
    {"[global]\ninput=\n[a]\n", {"w.ini:2: input= is empty"}},
    {"[a]\ntilse=4\n", {"w.ini:2: unknown key 'tilse': did you mean tiles?"}},
    {"[a]\ncpu_share=0.5\n", {"w.ini:2: unknown key 'cpu_share': did you mean cpu-share?"}},
    {"[a]\nTiles=4\n", {"w.ini:2: unknown key 'Tiles': did you mean tiles?"}},
    {"[a]\nfrobnicate=4\n", {"w.ini:2: unknown key 'frobnicate'", "pipeline help all"}},
    {"[a]\n=4\n", {"w.ini:2: unknown key ''"}},
    {"[a]\nt=4\n", {"w.ini:2: unknown key 't'"}},
    {"[a]\nformat=json\n", {"w.ini:2: 'format=json'", "--format", "command line only"}},
    {"[a]\nhelp=1\n", {"w.ini:2: ", "--help", "command line only"}},
    {"[a]\nsweep=none\n", {"w.ini:2: ", "--sweep", "command line only"}},
    {"tiles=4\n[a]\n", {"w.ini:1: 'tiles=4' stands before any section"}},
    {"tiles\n[a]\n", {"w.ini:1: 'tiles' has no value"}},
    {"[a]\ntiles=4\nstreams=1\ntiles=8\n",
     {"w.ini:4: 'tiles=8'", "tiles is already in line 2", "once per section"}},
    {"[a]\ntiles=4\ntiles=4\n", {"w.ini:3: ", "tiles is already in line 2"}},
    {"[global]\ntiles=4\ntiles=8\n[a]\n", {"w.ini:3: ", "tiles is already in line 2"}},
    {"[a]\ntiles=4\n  5\n", {"w.ini:3: '5' has no value"}},
    {"[a]\ntiles=4\n  tiles=5\n", {"w.ini:3: ", "tiles is already in line 2"}},
    {"[a]\n[b]\n[a]\n", {"w.ini:3: ", "'a'", "already at w.ini:1"}},
    {"[a]\n[ a ]\n", {"w.ini:2: ", "'a'", "already at w.ini:1"}},
    {"[global]\n[a]\n[global]\n", {"w.ini:3: [global] is already in line 1"}},
    {"[a]\n[global]\n", {"w.ini:2: [global] stands behind a run", "at the beginning"}},
    {"[]\n", {"w.ini:1: '' can't name a run", "1 to 63 printable"}},
    {"[ ]\n", {"w.ini:1: '' can't name a run"}},
    {"[a\tb]\n", {"w.ini:1: 'a\\tb' can't name a run"}},
    {"[\xc3\xbc]\n", {"w.ini:1: ", "can't name a run", "ASCII"}},
    {"[" LONG_NAME "4]\n", {"w.ini:1: '1234567890", "1 to 63 printable"}},
    {"[a\n", {"w.ini:1: '[a' is no section: must be [NAME]"}},
    {"[a] tiles=4\n", {"w.ini:1: '[a] tiles=4' is no section"}},
    {"[a]]\n", {"w.ini:1: '[a]]' is no section"}},
    {"[a ;b]\n", {"w.ini:1: '[a ;b]' is no section: must be [NAME]"}},
    {"", {"w.ini holds no section", "[global]"}},
    {"; nothing\n\n", {"w.ini holds no section", "[global]"}},
    {"[a]\nways=1\nstreams=4\n",
     {"ways=1 (w.ini:2) is serial and uses one stream, but streams=4 (w.ini:3) was given"}},
    {"[a]\nways=2\ncpu-share=0.5\n", {"ways=2 (w.ini:2)", "cpu-share=0.5 (w.ini:3) was given"}},
    {"[a]\nelements=10\n", {"tiles=32 (the default) is more than elements=10 (w.ini:2)"}},
    {"[a]\nno-data=1\noutput=x\n", {"no-data=true (w.ini:2)", "output=x (w.ini:3) was given"}},
};

START_TEST(bad_file_is_refused)
{
    const char *const *texts = bad_files[_i].texts;
    test_file_put("w.ini", bad_files[_i].file);
    parse_wrong(LINE("w.ini"), texts[0], texts[1], texts[2], texts[3], NULL);
}
END_TEST

START_TEST(longest_name_is_kept_whole)
{
    test_file_put("w.ini", "[" LONG_NAME "]\ntiles=4\n");
    struct options options = parse_right(LINE("w.ini"));
    ck_assert_str_eq(options.runs[0].name, LONG_NAME);
    ck_assert_uint_eq(options.runs[0].tiles, 4);
    options_free(&options);
    test_file_put(LONG_NAME "4.ini", "[global]\n");
    parse_wrong(LINE(LONG_NAME "4.ini"), "can't name a run", NULL);
}
END_TEST

/* A line is taken whole or refused, never cut: 199 bytes are, 200 aren't, with or without an
 * end of the line. */
START_TEST(long_line_is_whole_or_refused)
{
    for (int length = 150; length <= 260; length++) {
        for (int ended = 0; ended <= 1; ended++) {
            char text[512] = "[a]\n[b]\ninput=";
            size_t start = strlen("[a]\n[b]\n");
            memset(text + strlen(text), 'x', (size_t)length - strlen("input="));
            text[start + (size_t)length] = '\0';
            if (ended)
                strcat(text, "\n");
            test_file_put("w.ini", text);
            if (length > 199) {
                parse_wrong(LINE("w.ini"), "w.ini:3: ", "too long", "199 bytes", NULL);
                continue;
            }
            struct options options = parse_right(LINE("w.ini"));
            ck_assert_int_eq((int)strlen(options.runs[1].input), length - 6);
            options_free(&options);
        }
    }
}
END_TEST

/* A comment that is too long is refused like any line: its end would be read as a line. */
START_TEST(endless_line_is_refused)
{
    char text[4096];
    memset(text, ';', sizeof text);
    test_file_write("w.ini", text, sizeof text);
    parse_wrong(LINE("w.ini"), "w.ini:1: ", "too long", NULL);
    parse_wrong(LINE("/dev/zero"), "/dev/zero cannot be read: it is a device", NULL);
}
END_TEST

START_TEST(nul_byte_is_refused)
{
    static const char bytes[] = "[a]\ntiles=4\0002\n";
    test_file_write("w.ini", bytes, sizeof bytes - 1);
    parse_wrong(LINE("w.ini"), "w.ini:2: NUL byte behind 'tiles=4'", NULL);
}
END_TEST

START_TEST(unreadable_file_is_refused)
{
    parse_wrong(LINE("none.ini"), "none.ini cannot be read: No such file or directory", NULL);
    ck_assert_int_eq(system("mkdir d.ini"), 0);
    parse_wrong(LINE("d.ini"), "d.ini cannot be read: it is a folder", NULL);
    test_file_put("lits", "[a]\n"); /* a file, however much its name is like a command's */
    struct options options = parse_right(LINE("lits"));
    options_free(&options);
}
END_TEST

/* The end of a path says more than its beginning. */
START_TEST(long_path_keeps_its_end)
{
    char path[400] = "";
    for (int i = 0; i < 60; i++)
        strcat(path, "././");
    strcat(path, "w.ini");
    test_file_put("w.ini", "[a]\ntiles=0\n");
    parse_wrong(LINE(path), "...", "./w.ini:2: tiles=0 is too small", NULL);
}
END_TEST

char *ways_config(void)
{
    static char path[4200];
    if (TESTS_FOLDER[0] == '/')
        snprintf(path, sizeof path, "%s/../configs/ways.ini", TESTS_FOLDER);
    else
        snprintf(path, sizeof path, "%s/%s/../configs/ways.ini", before, TESTS_FOLDER);
    return path;
}

START_TEST(headline_comparison_is_right)
{
    struct options options = parse_right(LINE(ways_config()));
    static const char *const names[] = {"serial", "2-way", "3-way", "4-way"};
    ck_assert_int_eq(options.run_count, 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(options.runs[i].name, names[i]);
        ck_assert_int_eq(options.runs[i].ways, i + 1);
        ck_assert_uint_eq(options.runs[i].streams, i == 0 ? 1 : 4);
        ck_assert_uint_eq(options.runs[i].elements, 64 << 20);
        ck_assert_uint_eq(options.runs[i].tiles, 32);
    }
    options_free(&options);
}
END_TEST

TCase *options_config_tcase(void)
{
    TCase *tcase = tcase_create("config");
    tcase_add_checked_fixture(tcase, options_enter_folder, options_leave_folder);
    tcase_add_test(tcase, sections_are_runs);
    tcase_add_test(tcase, default_global_section_line);
    tcase_add_test(tcase, each_global_is_for_its_file);
    tcase_add_test(tcase, global_alone_is_one_run);
    tcase_add_test(tcase, byte_order_mark_is_skipped);
    tcase_add_test(tcase, booleans_have_eight_words);
    tcase_add_test(tcase, one_way_from_several_places);
    tcase_add_test(tcase, outputs_are_one_for_each);
    tcase_add_test(tcase, relations_name_their_places);
    ADD_EACH(tcase, bad_file_is_refused, bad_files);
    tcase_add_test(tcase, longest_name_is_kept_whole);
    tcase_add_test(tcase, long_line_is_whole_or_refused);
    tcase_add_test(tcase, endless_line_is_refused);
    tcase_add_test(tcase, nul_byte_is_refused);
    tcase_add_test(tcase, unreadable_file_is_refused);
    tcase_add_test(tcase, long_path_keeps_its_end);
    tcase_add_test(tcase, headline_comparison_is_right);
    return tcase;
}
