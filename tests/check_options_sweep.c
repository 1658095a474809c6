/* check_options_sweep.c - --sweep: which values a range means, which runs they make, and what
 * is refused; and the command line of `pipeline view`. */
#include "options_cases.h"

#include <stdlib.h>
#include <string.h>

/* The values of an axis, joined by blanks. */
static const char *joined(const struct sweep_axis *axis, char text[4096])
{
    size_t length = 0;
    for (int i = 0; i < axis->count; i++)
        length += (size_t)snprintf(text + length, 4096 - length, "%s%s", i > 0 ? " " : "",
                                   axis->values[i]);
    return text;
}

static const struct {
    char *sweep;
    const char *option, *values;
} ranges[] = {
    {"streams=4", "streams", "4"},
    {"streams=1..4", "streams", "1 2 3 4"},
    {"streams=4..4", "streams", "4"},
    {"streams=1, 2 ,4", "streams", "1 2 4"},
    {"streams=1..8+3", "streams", "1 4 7"},
    {"streams=1..1000*10", "streams", "1 10 100 1000"},
    {"streams=1..999*10", "streams", "1 10 100"},
    {"streams=1..3,8,16..32+8", "streams", "1 2 3 8 16 24 32"},
    {"tiles=1,2,4,...,16", "tiles", "1 2 4 8 16"},
    {"tiles=3,9,27,...,243,1000", "tiles", "3 9 27 81 243 1000"},
    {"tiles=1,2,...,5", "tiles", "1 2 3 4 5"},
    {"tiles=5,10,15,...,30", "tiles", "5 10 15 20 25 30"},
    {"tiles=1..4,8,16,...,64", "tiles", "1 2 3 4 8 16 32 64"},
    {"tiles=1k,2k,...,4k", "tiles", "1024 2048 3072 4096"},
    {"tiles=512..2k*2", "tiles", "512 1024 2048"},
    {"tiles=1k..2k+512", "tiles", "1024 1536 2048"},
    {"elements=1M,1G", "elements", "1048576 1073741824"},
    {"warmup=0..2", "warmup", "0 1 2"},
    {"seed=18446744073709551613..18446744073709551615", "seed",
     "18446744073709551613 18446744073709551614 18446744073709551615"},
    {"seed=9223372036854775808..18446744073709551615*2", "seed", "9223372036854775808"},
    {"connections=1,8,32", "connections", "1 8 32"},
    {"ways=1..4", "ways", "1 2 3 4"},
    {"order=depth,breadth", "order", "depth breadth"},
    {"layout=stage,tile", "layout", "stage tile"},
    {"memory=pinned,pageable", "memory", "pinned pageable"},
    {"callbacks=off,true", "callbacks", "no yes"},
    {"device=sim,sim:../toy.ini", "device", "sim:h200 sim:../toy.ini"},
    {"device=cuda:0,cuda:2,1, sim", "device", "cuda:0 cuda:2,1 sim:h200"},
    {"device=cuda,cuda:all,auto", "device", "cuda cuda:all auto"},
};

START_TEST(range_is_written_out)
{
    char text[4096];
    struct options options = parse_right(LINE("-q", "--sweep", ranges[_i].sweep));
    ck_assert_int_eq(options.sweep.axis_count, 1);
    const struct sweep_axis *axis = &options.sweep.axes[0];
    ck_assert_str_eq(axis->option, ranges[_i].option);
    ck_assert_str_eq(joined(axis, text), ranges[_i].values);
    ck_assert_int_eq(options.run_count, axis->count);
    options_free(&options);
    ck_assert_int_eq(options.sweep.axis_count, 0);
}
END_TEST

START_TEST(longest_range_is_taken)
{
    struct options options = parse_right(LINE("--sweep=tiles=1..1024", "--sweep=ways=1..4"));
    ck_assert_int_eq(options.run_count, SWEEP_RUNS_MAX);
    ck_assert_str_eq(options.runs[SWEEP_RUNS_MAX - 1].name, "run tiles=1k ways=4");
    ck_assert_uint_eq(options.runs[SWEEP_RUNS_MAX - 2].tiles, 1024);
    ck_assert_int_eq(options.runs[SWEEP_RUNS_MAX - 2].ways, 3);
    options_free(&options);
}
END_TEST

/* Run r is section r / points, and within that (r % points) / inner and r % inner. */
START_TEST(every_section_is_run_at_every_point)
{
    static const char config[] = "[global]\nstreams=7\n[depth]\n[breadth]\norder=breadth\n";
    test_file_write("two.ini", config, sizeof config - 1);
    struct options options =
        parse_right(LINE("two.ini", "--sweep=streams=1,2,3", "--sweep=tiles=8,16", "-n", "1k"));
    ck_assert_int_eq(options.run_count, 2 * 3 * 2);
    for (int run = 0; run < options.run_count; run++) {
        char name[RUN_NAME_MAX];
        const struct settings *settings = &options.runs[run];
        uint32_t streams = (uint32_t)(run % 6 / 2 + 1), tiles = run % 2 ? 16 : 8;
        ck_assert_int_eq(settings->order, run < 6 ? ORDER_DEPTH : ORDER_BREADTH);
        ck_assert_uint_eq(settings->streams, streams);
        ck_assert_uint_eq(settings->tiles, tiles);
        ck_assert_uint_eq(settings->elements, 1024);
        snprintf(name, sizeof name, "%s streams=%u tiles=%u", run < 6 ? "depth" : "breadth",
                 streams, tiles);
        ck_assert_str_eq(settings->name, name);
    }
    options_free(&options);
}
END_TEST

/* Long names stay names: printable, short enough, no two alike, and the point is in them. */
START_TEST(long_names_are_cut_and_numbered)
{
    char config[256], device[400] = "--sweep=device=sim:", other[300];
    memset(other, 'd', sizeof other - 1);
    other[sizeof other - 1] = '\0';
    snprintf(device + strlen(device), sizeof device - strlen(device), "%s,sim:\xc3\xa9", other);
    int length = snprintf(config, sizeof config, "[%063d]\n[%062d1]\n", 0, 0);
    test_file_write("long.ini", config, (size_t)length);
    struct options options = parse_right(LINE("long.ini", device, "--sweep=tiles=8,16"));
    ck_assert_int_eq(options.run_count, 8);
    for (int i = 0; i < 8; i++) {
        const char *name = options.runs[i].name;
        char mark[8];
        snprintf(mark, sizeof mark, "~%d", i + 1);
        ck_assert_uint_lt(strlen(name), RUN_NAME_MAX);
        ck_assert_ptr_nonnull(strstr(name, mark));
        ck_assert_ptr_nonnull(strstr(name, " device=sim:"));
        for (const char *byte = name; *byte != '\0'; byte++)
            ck_assert_msg(*byte >= ' ' && *byte <= '~', "%s", name);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(name, options.runs[j].name);
    }
    options_free(&options);
    options = parse_right(LINE("long.ini", "--sweep=tiles=8,16"));
    ck_assert_str_eq(options.runs[3].name,
                     "0000000000000000000000000000000000000000000000000000~4 tiles=16");
    options_free(&options);
}
END_TEST

/* A swept way leaves without a meaning what the others use. */
START_TEST(sweep_of_ways_settles_each)
{
    struct options options =
        parse_right(LINE("--sweep=ways=1,4", "-s8", "--cpu-share=0.25", "-t64"));
    ck_assert_uint_eq(options.runs[0].streams, 1);
    ck_assert_uint_eq(options.runs[1].streams, 8);
    options_free(&options);
    test_file_write("serial.ini", "[serial]\nways=1\n", 16);
    options = parse_right(LINE("serial.ini", "--sweep=streams=1,2"));
    ck_assert_uint_eq(options.runs[1].streams, 1);
    options_free(&options);
}
END_TEST

START_TEST(profile_makes_one_run)
{
    struct options options = parse_right(LINE("--profile", "--timeline=x.csv", "-dsim"));
    ck_assert(options.runs[0].profile);
    ck_assert_uint_eq(options.runs[0].runs, 1);
    struct error error = {0};
    ck_assert_int_eq(settings_check_profile(&options.runs[0], &options, &error), STATUS_USAGE);
    options.timeline_count = 0;
    ck_assert_int_eq(settings_check_profile(&options.runs[0], &options, NULL), STATUS_OK);
    options_free(&options);
    test_file_write("five.ini", "[five]\nruns=5\n", 14);
    options = parse_right(LINE("five.ini", "--profile"));
    ck_assert_uint_eq(options.runs[0].runs, 1);
    options_free(&options);
}
END_TEST

static const struct {
    char *words[4];
    const char *texts[4];
} bad_sweeps[] = {
    {{"--sweep"}, {"--sweep needs a value", "OPTION=RANGE", "streams=1..8"}},
    {{"--sweep="}, {"--sweep= must be OPTION=RANGE", "streams=1..8"}},
    {{"--sweep=none"}, {"--sweep=none must be OPTION=RANGE"}},
    {{"--sweep=streams"}, {"--sweep=streams must be OPTION=RANGE"}},
    {{"--sweep==4"}, {"--sweep==4 must be OPTION=RANGE"}},
    {{"--sweep=streams="}, {"--sweep=streams= must be OPTION=RANGE"}},
    {{"--sweep=strems=1..8"}, {"unknown option 'strems'", "did you mean streams?"}},
    {{"--sweep=quux=1..8"}, {"unknown option 'quux'", "must be one of elements, intensity"}},
    {{"--sweep=\x1b[=1"}, {"unknown option '\\x1b['"}},
    {{"--sweep=kernel=scale,sum"}, {"kernel can't be swept", "must be one of elements"}},
    {{"--sweep=priorities=0,1"}, {"priorities can't be swept", "must be one of elements"}},
    {{"--sweep=input=a,b"}, {"input can't be swept"}},
    {{"--sweep=output=a,b"}, {"output can't be swept"}},
    {{"--sweep=profile=yes"}, {"profile can't be swept"}},
    {{"--sweep=format=csv"}, {"format can't be swept"}},
    {{"--sweep=sweep=1"}, {"sweep can't be swept"}},
    {{"--sweep=tiles=0"}, {"--sweep: tiles=0 is too small", "1 to 16777216"}},
    {{"--sweep=streams=1..1025"}, {"--sweep: streams=1025 is too large", "1 to 1024"}},
    {{"--sweep=streams=1,x"}, {"--sweep: streams=x is not a number"}},
    {{"--sweep=streams=-2..2"}, {"--sweep: streams=-2 is negative"}},
    {{"--sweep=streams=1k"}, {"--sweep: streams=1k is not a number"}},
    {{"--sweep=tiles=auto"}, {"--sweep=tiles=auto: auto is no number to sweep over"}},
    {{"--sweep=streams=1,2,auto"}, {"auto is no number to sweep over: allowed are numbers"}},
    {{"--sweep=tiles=auto..8"}, {"auto is no number to sweep over"}},
    {{"--sweep=machine=h200"}, {"machine can't be swept"}},
    {{"--sweep=model=sim"}, {"model can't be swept"}},
    {{"--sweep=memory=pinned,maped"}, {"--sweep: memory=maped is unknown"}},
    {{"--sweep=mistake=x"}, {"--sweep: mistake=x is unknown: must be none, missing-wait"}},
    {{"--sweep=order=up"}, {"--sweep: order=up is unknown", "depth, breadth"}},
    {{"--sweep=callbacks=maybe"}, {"callbacks=maybe is neither yes nor no"}},
    {{"--sweep=device=gpu"}, {"--sweep: device=gpu is unknown"}},
    {{"--sweep=cpu-share=0..1", "-w4"}, {"cpu-share has no steps", "0,0.1"}},
    {{"--sweep=tiles=8,4"}, {"goes down, from 8 to 4", "must go up"}},
    {{"--sweep=tiles=8..4"}, {"8..4 goes down", "must go up"}},
    {{"--sweep=tiles=1,2,4,...,2"}, {"goes down, from 4 to 2"}},
    {{"--sweep=tiles=4,4"}, {"4 is in it twice", "once"}},
    {{"--sweep=tiles=1k,1024"}, {"1024 is in it twice"}},
    {{"--sweep=order=depth,depth"}, {"depth is in it twice"}},
    {{"--sweep=callbacks=yes,on"}, {"yes is in it twice"}},
    {{"--sweep=device=sim,sim:h200"}, {"sim:h200 is in it twice"}},
    {{"--sweep=tiles=1,,2"}, {"a value is empty", "1 to 16777216"}},
    {{"--sweep=tiles=,"}, {"a value is empty"}},
    {{"--sweep=order=depth,"}, {"a value is empty", "depth, breadth"}},
    {{"--sweep=tiles=1.."}, {"'..' stands between two numbers", "A..B*FACTOR"}},
    {{"--sweep=tiles=..4"}, {"'..' stands between two numbers"}},
    {{"--sweep=tiles=..+1"}, {"'..' stands between two numbers"}},
    {{"--sweep=tiles=1..+1"}, {"'..' stands between two numbers"}},
    {{"--sweep=tiles=1..8+0"}, {"'+0' leads nowhere", "1 or more"}},
    {{"--sweep=tiles=1..8*1"}, {"'*1' leads nowhere", "2 or more"}},
    {{"--sweep=tiles=1..8*x"}, {"'*x' is not a number"}},
    {{"--sweep=tiles=1..8+"}, {"'+' is not a number"}},
    {{"--sweep=warmup=0..8*2"}, {"0 times anything is 0"}},
    {{"--sweep=tiles=1...8"}, {"'1...8'", "A..B, of two dots"}},
    {{"--sweep=tiles=...,8"}, {"'...' needs two values before it"}},
    {{"--sweep=tiles=1,...,8"}, {"'...' needs two values before it"}},
    {{"--sweep=tiles=1,2,...,...,8"}, {"'...' needs two values before it"}},
    {{"--sweep=tiles=1,2,4,..."}, {"'...' has no end", "1,2,4,...,64"}},
    {{"--sweep=tiles=1,2,...,4..8"}, {"'...' needs one value behind it"}},
    {{"--sweep=tiles=1,2,4,...,100"}, {"'...' passes 100 by, after 64"}},
    {{"--sweep=tiles=2,4,...,7"}, {"'...' passes 7 by, after 6"}},
    {{"--sweep=tiles=1,2,5,...,100"}, {"no step and no factor in common"}},
    {{"--sweep=warmup=0,2,6,...,18"}, {"no step and no factor in common"}},
    {{"--sweep=tiles=1..1025"}, {"too many values", "at most 1024"}},
    {{"--sweep=tiles=1..16M"}, {"too many values", "at most 1024"}},
    {{"--sweep=tiles=1..65", "--sweep=streams=1..64"},
     {"65 values of tiles and 64 values of streams make 4160", "at most 4096"}},
    {{"--sweep=tiles=1", "--sweep=streams=1", "--sweep=ways=3"},
     {"--sweep=ways=3 is one too many", "at most 2"}},
    {{"--sweep=tiles=1", "--sweep=tiles=2"}, {"tiles is swept already", "once"}},
    {{"--sweep=tiles=1,2", "-t4"}, {"--tiles=4 is given", "--sweep=tiles=...", "one of them"}},
    {{"-t4", "--sweep=tiles=1,2"}, {"--tiles=4 is given", "--sweep=tiles=...", "one of them"}},
    {{"--sweep=tiles=8,16", "-n10"}, {"tiles=16 (--sweep) is more than --elements=10"}},
    {{"--sweep=elements=10,40"}, {"tiles=32 (the default)", "elements=10 (--sweep)"}},
    {{"--sweep=streams=1,2", "-w1"}, {"--ways=1 is serial", "streams=2 (--sweep)"}},
    {{"--sweep=cpu-share=0.1"}, {"ways=3 (the default)", "cpu-share=0.1 (--sweep)"}},
    {{"--sweep=no-data=yes,no", "-dcuda"}, {"no-data=true (--sweep)", "--device=cuda"}},
    {{"--sweep=tiles=1,2", "-ox.npy"}, {"would be written by two runs", "'run tiles=1'"}},
    {{"--profile", "--runs=2"}, {"--profile makes one run", "--runs=2", "use --runs=1"}},
    {{"--profile", "--sweep=runs=1,2"}, {"--profile makes one run", "runs=2 (--sweep)"}},
    {{"--profile", "--timeline=x.csv", "-dcuda:1"},
     {"--profile makes a run without", "one of"}},
    {{"view"}, {"view needs a TRACE", "cuda_gpu_trace"}},
    {{"view", "a.csv", "-t4"},
     {"--tiles=4 is not for `pipeline view`", "it is for `pipeline run`"}},
    {{"view", "a.csv", "--callbacks"}, {"--callbacks is not for"}},
    {{"view", "a.csv", "--sweep=tiles=1"}, {"--sweep=tiles=1 is not for"}},
    {{"bench", "--dry-run"}, {"--dry-run is not for"}},
    {{"view", "a.csv", "--timeline=./a.csv"},
     {"--timeline=./a.csv is the same file as a.csv, which is read"}},
};

START_TEST(bad_sweep_is_refused)
{
    char *const *words = bad_sweeps[_i].words;
    const char *const *texts = bad_sweeps[_i].texts;
    parse_wrong(LINE(words[0], words[1], words[2], words[3]), texts[0], texts[1], texts[2],
                texts[3], NULL);
}
END_TEST

START_TEST(view_takes_its_traces)
{
    struct options options = parse_right(LINE("view", "a.csv", "--timeline=x.html", "-v",
                                              "b.sqlite", "--gantt=streams", "a.csv"));
    ck_assert_int_eq(options.command, COMMAND_VIEW);
    ck_assert_int_eq(options.word_count, 3);
    ck_assert_str_eq(options.words[0], "a.csv");
    ck_assert_str_eq(options.words[1], "b.sqlite");
    ck_assert_int_eq(options.run_count, 0);
    ck_assert_ptr_null(options.runs);
    ck_assert_int_eq(options.timeline_count, 1);
    options_free(&options);
    ck_assert_ptr_null(options.words);
}
END_TEST

TCase *options_sweep_tcase(void)
{
    TCase *tcase = tcase_create("sweep");
    tcase_add_checked_fixture(tcase, options_enter_folder, options_leave_folder);
    ADD_EACH(tcase, range_is_written_out, ranges);
    tcase_add_test(tcase, longest_range_is_taken);
    tcase_add_test(tcase, every_section_is_run_at_every_point);
    tcase_add_test(tcase, long_names_are_cut_and_numbered);
    tcase_add_test(tcase, sweep_of_ways_settles_each);
    tcase_add_test(tcase, profile_makes_one_run);
    ADD_EACH(tcase, bad_sweep_is_refused, bad_sweeps);
    tcase_add_test(tcase, view_takes_its_traces);
    return tcase;
}
