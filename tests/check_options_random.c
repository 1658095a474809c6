/* check_options_random.c - whatever the command line and the config files hold, they are right
 * or refused in one line. */
#include "fixtures.h"
#include "options_cases.h"

#include <string.h>

enum { FILE_BYTES_MAX = 4096 };

/* Any words in any order are a run, a list, or one line. */
START_TEST(random_command_lines_are_right_or_refused)
{
    static char *const words[] = {
        "--tiles=4",
        "--tiles",
        "-t",
        "4",
        "auto",
        "--streams=2",
        "-s",
        "-w1",
        "-w",
        "--ways=",
        "--kernel",
        "scale",
        "scale,sum",
        "sum,scale",
        "run",
        "list",
        "kernels",
        "bench",
        "--help",
        "-v",
        "-qv",
        "--",
        "-",
        "---",
        "--=",
        "-\x80",
        "\xff\xfe",
        "",
        "-n",
        "64k",
        "--no-data",
        "--no",
        "cuda",
        "-d",
        "sim:",
        "-o",
        "same.npy",
        "--output",
        "--input",
        "x.ini",
        "--timeline",
        "=",
        "-W",
        "foo",
        "-?",
        "-:",
        "-;",
        "--version",
        "\n",
        "--cpu-share",
        "0.5",
        "nan",
        "-1",
        "--seed",
        "--priorities",
        "0,-1",
        "--sweep",
        "view",
        "--profile",
        "tiles=1..4",
        "streams=1,2,4,...,64",
        "=1..",
        "1..4*2",
        "--sweep=ways=1..4",
        "--sweep=streams=1..,",
        "...",
        "--sweep=elements=1k..1T*1k",
    };
    uint64_t state = 2;
    int right = 0, rounds = test_cases(3000);
    for (int i = 0; i < rounds; i++) {
        char *line[9] = {"pipeline"};
        int length = 1 + (int)test_random_below(&state, 7);
        for (int j = 1; j <= length; j++)
            line[j] = words[test_random_below(&state, sizeof words / sizeof words[0])];
        right += parse_any(line);
    }
    ck_assert_int_gt(right, rounds / 60);
    ck_assert_int_lt(right, rounds - rounds / 60);
}
END_TEST

/* Any pieces behind "--sweep=" are a sweep, of as many runs as it has points, or one line. */
START_TEST(random_sweeps_are_right_or_refused)
{
    static const char *const pieces[] = {
        "tiles=",
        "streams=",
        "elements=",
        "cpu-share=",
        "order=",
        "callbacks=",
        "device=",
        "1",
        "2",
        "4",
        "8",
        "16",
        "1k",
        "0",
        "..",
        "...",
        ",",
        ",",
        ",",
        "+",
        "*",
        "depth",
        "breadth",
        "yes",
        "sim:x",
        " ",
        "=",
        "-",
        "0.5",
        "auto",
        "\xff",
        "\n",
        "1..4",
        "1,2,4,...,64",
        "18446744073709551615",
    };
    uint64_t state = 3;
    int right = 0, rounds = test_cases(6000);
    for (int i = 0; i < rounds; i++) {
        char text[256] = "--sweep=";
        strcat(text, pieces[test_random_below(&state, 7)]);
        for (uint32_t n = test_random_below(&state, 6); n > 0; n--)
            strcat(text, pieces[test_random_below(&state, sizeof pieces / sizeof pieces[0])]);
        right += parse_any(LINE(text, i % 2 ? "--sweep=intensity=1,2" : "-q"));
    }
    ck_assert_int_gt(right, rounds / 60);
    ck_assert_int_lt(right, rounds - rounds / 60);
}
END_TEST

/* Appends `count` bytes while there is room. */
static size_t append(char file[FILE_BYTES_MAX], size_t length, const char *bytes, size_t count)
{
    if (length + count > FILE_BYTES_MAX)
        return length;
    memcpy(file + length, bytes, count);
    return length + count;
}

/* Pieces of config files, some of them right. */
static size_t random_pieces(uint64_t *state, char file[FILE_BYTES_MAX])
{
    static const char *const pieces[] = {
        "[global]\n",
        "[a]\n",
        "[b]\n",
        "[",
        "]",
        "\n",
        "\r\n",
        "=",
        ":",
        ";",
        "#",
        " ",
        "\t",
        "tiles=4\n",
        "streams=2\n",
        "ways=1\n",
        "ways=4\n",
        "cpu-share=0.5\n",
        "kernel=",
        "scale",
        ",",
        "sum\n",
        "elements=",
        "64k\n",
        "no-data=1\n",
        "device=",
        "cuda\n",
        "sim\n",
        "tiles=",
        "99999999999999999\n",
        "-1\n",
        "\xef\xbb\xbf",
        "\xff",
        "callbacks=on\n",
        "output=x\n",
        "mistake=none\n",
        "mistake=missing-wait\n",
        "priorities=0,-1\n",
        "a-very-long-piece-of-a-line-that-makes-it-longer-than-allowed",
    };
    size_t length = 0;
    uint32_t count = 1 + test_random_below(state, 16);
    if (test_random_below(state, 2) == 0)
        length = append(file, length, "[a]\n", 4);
    for (uint32_t i = 0; i < count; i++) {
        const char *piece = pieces[test_random_below(state, sizeof pieces / sizeof pieces[0])];
        length = append(file, length, piece, strlen(piece));
    }
    return length;
}

static size_t random_bytes(uint64_t *state, char file[FILE_BYTES_MAX])
{
    size_t length = test_random_below(state, 300);
    uint32_t range = test_random_below(state, 2) == 0 ? 256 : 64;
    for (size_t i = 0; i < length; i++)
        file[i] =
            (char)(test_random_below(state, 12) == 0 ? '\n' : test_random_below(state, range));
    return length;
}

/* A good config file with a few bytes changed. */
static size_t random_changes(uint64_t *state, char file[FILE_BYTES_MAX])
{
    FILE *good = fopen(ways_config(), "rb");
    ck_assert_ptr_nonnull(good);
    size_t length = fread(file, 1, FILE_BYTES_MAX, good);
    fclose(good);
    ck_assert_uint_gt(length, 0);
    for (uint32_t i = test_random_below(state, 4); i > 0; i--)
        file[test_random_below(state, (uint32_t)length)] = (char)test_random_below(state, 256);
    return test_random_below(state, 4) == 0 ? test_random_below(state, (uint32_t)length)
                                            : length;
}

/* Whatever stands in a config file, it is right or refused in one line. */
START_TEST(random_files_are_right_or_refused)
{
    static size_t (*const makers[])(uint64_t *, char[FILE_BYTES_MAX]) = {
        random_bytes, random_pieces, random_changes};
    char file[FILE_BYTES_MAX];
    uint64_t state = 1;
    int right = 0, rounds = test_cases(3000);
    for (int i = 0; i < rounds; i++) {
        size_t length = makers[i % 3](&state, file);
        test_file_write("w.ini", file, length);
        right += parse_any(LINE("w.ini"));
    }
    ck_assert_int_gt(right, rounds / 30);
    ck_assert_int_lt(right, rounds - rounds / 30);
}
END_TEST

TCase *options_random_tcase(void)
{
    TCase *tcase = tcase_create("random");
    tcase_add_checked_fixture(tcase, options_enter_folder, options_leave_folder);
    tcase_set_timeout(tcase, 120); /* under valgrind */
    tcase_add_test(tcase, random_command_lines_are_right_or_refused);
    tcase_add_test(tcase, random_sweeps_are_right_or_refused);
    tcase_add_test(tcase, random_files_are_right_or_refused);
    return tcase;
}
