/* check_options_refusals.c - command lines that are refused, and in which words. */
#include "options_cases.h"

#include <string.h>

#define TILES_ALLOWED "must be 1 to 16777216"

/* Command lines, and what the one line about each must hold. */
static const struct {
    char *words[3];
    const char *texts[4];
} bad_lines[] = {
    {{"--tiles=0"}, {"--tiles=0 ", "too small", TILES_ALLOWED}},
    {{"--tiles=-4"}, {"--tiles=-4 ", "negative", TILES_ALLOWED}},
    {{"--tiles=16777217"}, {"--tiles=16777217 ", "too large", TILES_ALLOWED}},
    {{"--tiles=4294967297"}, {"--tiles=4294967297 ", "too large", TILES_ALLOWED}},
    {{"--tiles=99999999999999999999999"}, {"too large", TILES_ALLOWED}},
    {{"--tiles=four"}, {"--tiles=four is not a number", TILES_ALLOWED}},
    {{"--tiles=12abc"}, {"--tiles=12abc is not a number", TILES_ALLOWED}},
    {{"--tiles="}, {"--tiles= is not a number", TILES_ALLOWED}},
    {{"--tiles= 4"}, {"--tiles= 4 is not a number", TILES_ALLOWED}},
    {{"--tiles=1.5"}, {"--tiles=1.5 is not a whole number", TILES_ALLOWED}},
    {{"-t", "x"}, {"--tiles=x ", TILES_ALLOWED}},
    {{"--tiles"}, {"--tiles needs a value", TILES_ALLOWED}},
    {{"-t"}, {"--tiles needs a value", TILES_ALLOWED}},
    {{"--tiles=1\n2"}, {"--tiles=1\\n2 is not a number"}},
    {{"--elements=0"}, {"--elements=0 ", "must be 1 to 1099511627776"}},
    {{"--elements=2T"}, {"--elements=2T is too large", "must be 1 to 1099511627776"}},
    {{"--elements=17179869184G"}, {"too large", "must be 1 to 1099511627776"}},
    {{"--elements=64X"}, {"--elements=64X is not a number"}},
    {{"--streams=0"}, {"--streams=0 ", "must be 1 to 1024"}},
    {{"--streams=1025"}, {"--streams=1025 ", "must be 1 to 1024"}},
    {{"--streams=1k"}, {"--streams=1k is not a number"}},
    {{"-streams", "4"}, {"--streams=treams is not a number"}},
    {{"--rows=0"}, {"--rows=0 ", "must be 1 to 1048576"}},
    {{"--inner=1048577"}, {"--inner=1048577 ", "must be 1 to 1048576"}},
    {{"--intensity=0"}, {"--intensity=0 ", "must be 1 to 65536"}},
    {{"--intensity=65537"}, {"--intensity=65537 ", "must be 1 to 65536"}},
    {{"--columns=0"}, {"--columns=0 ", "must be 1 to 1073741824"}},
    {{"--columns=2G"}, {"--columns=2G ", "must be 1 to 1073741824"}},
    {{"--stride=0"}, {"--stride=0 ", "must be 1 to 65536"}},
    {{"--stride=65537"}, {"--stride=65537 ", "must be 1 to 65536"}},
    {{"--ways=0"}, {"--ways=0 ", "must be 1 to 4"}},
    {{"--ways=5"}, {"--ways=5 ", "must be 1 to 4"}},
    {{"-w4", "-kscan,scan"},
     {"--ways=4 ", "--kernel=scan,scan has a scan", "use --ways=1, 2 or 3"}},
    {{"--cpu-share=1.01"}, {"--cpu-share=1.01 ", "must be 0 to 1, or auto"}},
    {{"--cpu-share=-0.1"}, {"--cpu-share=-0.1 is negative", "must be 0 to 1"}},
    {{"--cpu-share=nan"}, {"--cpu-share=nan ", "must be 0 to 1"}},
    {{"--cpu-share=0.5x"}, {"--cpu-share=0.5x ", "must be 0 to 1"}},
    {{"--runs=0"}, {"--runs=0 ", "must be 1 to 10000"}},
    {{"--runs=10001"}, {"--runs=10001 ", "must be 1 to 10000"}},
    {{"--warmup=1001"}, {"--warmup=1001 ", "must be 0 to 1000"}},
    {{"--warmup=-1"}, {"--warmup=-1 is negative", "must be 0 to 1000"}},
    {{"--connections=0"}, {"--connections=0 ", "must be 1 to 32"}},
    {{"--connections=33"}, {"--connections=33 ", "must be 1 to 32"}},
    {{"--seed=18446744073709551616"}, {"--seed=18446744073709551616 is too large"}},
    {{"--seed=1k"}, {"--seed=1k is not a number"}},
    {{"--priorities=101"}, {"--priorities=101 ", "from -100 to 100"}},
    {{"--priorities=-101"}, {"--priorities=-101 ", "from -100 to 100"}},
    {{"--priorities=0,,1"}, {"--priorities=0,,1 ", "from -100 to 100"}},
    {{"--priorities=0,"}, {"--priorities=0, ", "from -100 to 100"}},
    {{"--priorities="}, {"--priorities= ", "from -100 to 100"}},
    {{"--priorities=1 2"}, {"--priorities=1 2 ", "from -100 to 100"}},
    {{"--priorities=+1"}, {"--priorities=+1 ", "from -100 to 100"}},
    {{"--priorities=99999999999999999999"}, {"from -100 to 100"}},
    {{"--priorities=0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"},
     {"too many", "1 to 32"}},
    {{"--order=sideways"}, {"--order=sideways is unknown", "must be depth, breadth"}},
    {{"--order=Depth"}, {"--order=Depth is unknown", "must be depth, breadth"}},
    {{"--layout="}, {"--layout= is unknown", "must be tile, stage"}},
    {{"--memory=unified"}, {"--memory=unified ", "must be pinned, pageable, registered"}},
    {{"--issue=batches"}, {"--issue=batches ", "must be streams, graph"}},
    {{"--format=xml"}, {"--format=xml ", "must be text, json, csv"}},
    {{"--gantt=no"}, {"--gantt=no ", "must be engines, streams, none"}},
    {{"--kernel=scael"}, {"--kernel=scael: ", "'scael'", "did you mean scale?"}},
    {{"--kernel=scale,smu"}, {"--kernel=scale,smu: ", "'smu'", "did you mean sum?"}},
    {{"--kernel="}, {"--kernel=: unknown kernel ''", "pipeline list kernels"}},
    {{"--kernel=scale,"}, {"--kernel=scale,: unknown kernel ''"}},
    {{"--kernel=quite-another-thing"}, {"'quite-another-thing'", "pipeline list kernels"}},
    {{"--kernel=scale,reduce-shuffle"}, {"scale leaves float32, reduce-shuffle takes int32"}},
    {{"--kernel=sum,scale"},
     {"--kernel=sum,scale: ", "scale", "sum leaves one value per tile, so nothing can follow"}},
    {{"--kernel=scale,wave-launches"},
     {"--kernel=scale,wave-launches: wave-launches can't follow scale", "copied in"}},
    {{"--kernel=wave-launches,wave-launches"}, {"wave-launches can't follow wave-launches"}},
    {{"--kernel=wave-launches,scale,sum"},
     {"sum can't follow wave-launches", "overwrites the tile"}},
    {{"--kernel=scale,transpose-naive"},
     {"transpose-naive can't follow scale: kernels behind the first work in place, and "
      "transpose-naive moves elements"}},
    {{"--kernel=stride-copy,scale,stride-copy"}, {"stride-copy can't follow scale"}},
    {{"--kernel=transpose-fine,scale,sum"},
     {"sum can't follow transpose-fine: maps before a reduction work in place, and "
      "transpose-fine moves elements"}},
    {{"--kernel=scale,scale,scale,scale,scale,scale,scale,scale,scale"},
     {"--kernel=scale,", "too many", "1 to 8"}},
    {{"--device=gpu"},
     {"--device=gpu ",
      "auto, sim:NAME, sim:FILE.ini, sim:NAME*N, cuda, cuda:I, cuda:I,J,..., cuda:all"}},
    {{"--device=cuda:0,0"}, {"--device=cuda:0,0 names a device twice", "must be auto"}},
    {{"--device=cuda:1,2,01"}, {"--device=cuda:1,2,01 names a device twice"}},
    {{"--device=cuda:0,,1"}, {"--device=cuda:0,,1 has an empty item", "must be auto"}},
    {{"--device=cuda:,"}, {"--device=cuda:, has an empty item"}},
    {{"--device=cuda:0,"}, {"--device=cuda:0, has an empty item"}},
    {{"--device=cuda:0,x"}, {"--device=cuda:0,x is unknown"}},
    {{"--device=cuda:0,all"}, {"--device=cuda:0,all is unknown"}},
    {{"--device=cuda:0,1,2,3,4,5,6,7,8"}, {"names more devices than a run can have"}},
    {{"--device=cuda:0,1,2", "-t2"}, {"--device=cuda:0,1,2 has more devices than"}},
    {{"--device=cuda:0,1", "--issue=graph"}, {"has several devices, but --issue=graph"}},
    {{"--sweep=device=cuda:0,1,1"}, {"device=cuda:0,1,1 names a device twice"}},
    {{"--sweep=device=sim,1"}, {"device=1 is unknown"}},
    {{"--sweep=device=cuda:0,1,,2"}, {"a value is empty"}},
    {{"--device="}, {"--device= ", "must be auto, sim:NAME"}},
    {{"--device=sim:"}, {"--device=sim: ", "must be auto, sim:NAME"}},
    {{"--device=cuda:"}, {"--device=cuda: ", "must be auto, sim:NAME"}},
    {{"--device=cuda:x"}, {"--device=cuda:x ", "must be auto, sim:NAME"}},
    {{"--device=cuda:-1"}, {"--device=cuda:-1 ", "must be auto, sim:NAME"}},
    {{"--device=cuda:1 "}, {"--device=cuda:1  ", "must be auto, sim:NAME"}},
    {{"--device=cuda:99999"}, {"--device=cuda:99999 ", "must be auto, sim:NAME"}},
    {{"--device=simulator"}, {"--device=simulator ", "must be auto, sim:NAME"}},
    {{"--input="}, {"--input= is empty", "name of a file"}},
    {{"--output="}, {"--output= is empty", "name of a file"}},
    {{"--timeline="}, {"--timeline= is empty", "name of a file"}},
    {{"--tilse=4"}, {"unknown option --tilse=4", "did you mean --tiles?"}},
    {{"--frobnicate"}, {"unknown option --frobnicate", "pipeline help all"}},
    {{"--=4"}, {"unknown option --=4", "pipeline help all"}},
    {{"-x"}, {"unknown option -x", "pipeline help all"}},
    {{"-qx"}, {"unknown option -x", "pipeline help all"}},
    {{"-q\xff"}, {"unknown option -"}},
    {{"--t=4"}, {"--t=4 is ambiguous", "--tiles", "--timeline"}},
    {{"--no"}, {"--no is ambiguous", "--no-data", "--no-color"}},
    {{"--callbacks=maybe"}, {"--callbacks is neither yes nor no"}},
    {{"--dry-run=1"}, {"--dry-run=1", "takes no value"}},
    {{"--help=me"}, {"--help=me", "takes no value"}},
    {{"--tiles=Auto"}, {"--tiles=Auto is not a number", "1 to 16777216, or auto"}},
    {{"-s", "aut"}, {"--streams=aut is not a number", "1 to 1024, or auto"}},
    {{"--seed=auto"}, {"--seed=auto is not a number"}},
    {{"--ways=1", "-s", "auto"}, {"--ways=1 is serial", "--streams=auto was given"}},
    {{"--machine="}, {"--machine= is empty", "name of a file"}},
    {{"--machine=h200"}, {"--machine=h200 stands for the device in", "--device=sim:NAME"}},
    {{"--machine=h200", "--model=none"}, {"--machine=h200 stands for the device in"}},
    {{"--model=foo"}, {"--model=foo is unknown: must be none, sim"}},
    {{"view", "x.csv", "--model=sim"},
     {"--model=sim is not for `pipeline view`", "it is for `pipeline run`"}},
    {{"--memory=mapped", "-kdgemm"},
     {"--memory=mapped has kernels work on the host's arrays, but --kernel=dgemm keeps one "
      "on"}},
    {{"--issue=graph", "--memory=pageable"},
     {"--issue=graph is launched by one call, but with --memory=pageable the host has a part"}},
    {{"--issue=graphs"}, {"--issue=graphs is unknown", "streams, graph, batch, auto"}},
    {{"--issue=auto", "--pack"},
     {"--pack is one of the ways that --issue=auto chooses from: use --pack=no, or "
      "--issue=streams"}},
    {{"--memory=maped"}, {"--memory=maped is unknown", "pinned, pageable, registered, mapped"}},
    {{"--mistake=mising-wait"},
     {"--mistake=mising-wait is unknown: did you mean missing-wait?"}},
    {{"--mistake=xyzzy"}, {"--mistake=xyzzy is unknown: must be none, missing-wait"}},
    {{"--mistake="}, {"--mistake= is unknown: must be none, missing-wait"}},
    {{"bench", "--tiles=4"}, {"--tiles=4", "bench", "it is for `pipeline run`"}},
    {{"bench", "--dry-run"}, {"--dry-run", "bench"}},
    {{"bench", "--sweep=tiles=1,2"}, {"--sweep", "bench"}},
    {{"--stream=4"}, {"it is for `pipeline view`, `pipeline try`; did you mean --streams?"}},
    {{"--device=H100"}, {"--device=H100 is unknown: did you mean sim:h100?"}},
    {{"-n", "64MiB"}, {"--elements=64MiB is a size in bytes; give a count"}},
    {{"-n", "64B"}, {"--elements=64B is a size in bytes"}},
    {{"--ways=1..4"}, {"--sweep=ways=1..4"}},
    {{"--order=depth,breadth"}, {"--sweep=order=depth,breadth"}},
    {{"lesson", "three"}, {"did you mean three-way?"}},
    {{"--quick"},
     {"--quick is not for `pipeline run`: it is for `pipeline calibrate`, `pipeline bench`"}},
    {{"view", "--quick", "x.csv"},
     {"--quick", "it is for `pipeline calibrate`, `pipeline bench`"}},
    {{"lsit"}, {"'lsit'", "did you mean list?"}},
    {{"xyzzy"}, {"'xyzzy'", "neither a command nor a config file"}},
    {{""}, {"''", "neither a command nor a config file"}},
    {{"run", "lst"}, {"'lst'", "did you mean list?"}},
    {{"/nowhere/x.ini"}, {"/nowhere/x.ini cannot be read: No such file"}},
    {{"/"}, {"/ cannot be read: it is a folder"}},
    {{"list", "kernel"}, {"list kernel ", "did you mean kernels?", "machines, devices"}},
    {{"list", "planets"},
     {"list planets ", "kernels, machines, devices, mistakes, verdicts, lessons"}},
    {{"list", "kernels", "machines"}, {"`list` takes one word", "'machines' is one too many"}},
    {{"-n", "10"},
     {"tiles=32 (the default)", "--elements=10", "use --tiles=10, or --elements=32"}},
    {{"-kwave-launches", "--intensity=65536", "-t257"},
     {"--intensity=65536 and --tiles=257 make 16842752 launches of wave-launches", "16777216"}},
    {{"-n10", "-t11"}, {"--tiles=11 is more than --elements=10"}},
    {{"--ways=1", "--streams=4"}, {"--ways=1 is serial", "--streams=4 was given"}},
    {{"-s2", "-w1"}, {"--ways=1 is serial", "--streams=2 was given"}},
    {{"--ways=3", "--cpu-share=0.5"}, {"--ways=3 ", "--cpu-share=0.5 was given", "--ways=4"}},
    {{"--ways=1", "--cpu-share=0"}, {"--ways=1 ", "--cpu-share=0 was given", "--ways=4"}},
    {{"--no-data", "-d", "cuda"}, {"--no-data", "--device=cuda was given", "sim:h200"}},
    {{"--no-data", "-dcuda:1"}, {"--no-data", "--device=cuda:1 was given", "sim:h200"}},
    {{"--no-data", "-ix.npy"}, {"--no-data", "--input=x.npy was given"}},
    {{"--no-data", "-ox.npy"}, {"--no-data", "--output=x.npy was given"}},
    {{"--timeline=a.csv", "--timeline=a.csv"}, {"--timeline=a.csv is given twice"}},
    {{"--timeline=a.csv", "--timeline=./a.csv"}, {"--timeline=./a.csv is given twice"}},
    {{"--timeline=no/dir.csv", "--timeline=no/dir.csv"}, {"--timeline=no/dir.csv is given"}},
    {{"-oa.csv", "--timeline=.//a.csv"}, {"--timeline=.//a.csv ", "--output=a.csv"}},
};

START_TEST(bad_line_is_refused)
{
    char *const *words = bad_lines[_i].words;
    const char *const *texts = bad_lines[_i].texts;
    parse_wrong(LINE(words[0], words[1], words[2]), texts[0], texts[1], texts[2], texts[3],
                NULL);
}
END_TEST

START_TEST(very_long_values_are_clipped)
{
    char value[5000] = "--tiles=";
    memset(value + 8, '1', sizeof value - 9);
    parse_wrong(LINE(value), "--tiles=1111", "1... is too large", TILES_ALLOWED, NULL);
    memcpy(value, "--1", 3);
    parse_wrong(LINE(value), "unknown option --1", "...", NULL);
}
END_TEST

START_TEST(ninth_timeline_is_refused)
{
    parse_wrong(LINE("--timeline=1", "--timeline=2", "--timeline=3", "--timeline=4",
                     "--timeline=5", "--timeline=6", "--timeline=7", "--timeline=8",
                     "--timeline=9"),
                "--timeline=9 ", "at most 8", NULL);
}
END_TEST

/* The first of two errors is the one that is told, as it is read from left to right. */
START_TEST(first_error_wins)
{
    parse_wrong(LINE("--tiles=x", "--streams=y"), "--tiles=x", NULL);
    parse_wrong(LINE("--streams=y", "--tiles=x"), "--streams=y", NULL);
    parse_wrong(LINE("nowhere.ini", "--tiles=x"), "--tiles=x", NULL);
}
END_TEST

TCase *options_refusals_tcase(void)
{
    TCase *tcase = tcase_create("refusals");
    ADD_EACH(tcase, bad_line_is_refused, bad_lines);
    tcase_add_test(tcase, very_long_values_are_clipped);
    tcase_add_test(tcase, ninth_timeline_is_refused);
    tcase_add_test(tcase, first_error_wins);
    return tcase;
}
