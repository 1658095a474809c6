/* check_tune_issue.c - what --issue=auto chooses, in the room and in the program. */
#include "report/tune.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"
#include "tune_cases.h"

#include <stdlib.h>
#include <string.h>

enum { KIB = 1024, MIB = 1024 * KIB };

/* Settings of 1 GiB each way, with a light kernel, that leave the way to be chosen. */
static struct settings auto_settings(uint64_t tile_bytes)
{
    struct settings settings = test_settings("scale");
    settings.elements = UINT64_C(1) << 28;
    settings.tiles = (uint32_t)((UINT64_C(1) << 30) / tile_bytes);
    settings.issue = ISSUE_AUTO;
    return settings;
}

static struct tuned choose(struct settings *settings, const struct machine *machine)
{
    struct tuned tuned;
    struct error error = {0};
    ck_assert_msg(tune_settings(settings, machine, NULL, &tuned, &error) == STATUS_OK, "%s",
                  error.text);
    ck_assert_int_lt(settings->issue, ISSUE_AUTO);
    ck_assert(tuned.ways[tuned.way].simulated);
    ck_assert_int_eq(tuned.time_ns, tuned.ways[tuned.way].time_ns);
    return tuned;
}

/* Returns the settings with a way, as one would give it by hand. */
static struct settings by_hand(struct settings settings, enum issue_way way)
{
    settings.issue = way == WAY_GRAPH || way == WAY_MAPPED_GRAPH ? ISSUE_GRAPH
                     : way == WAY_BATCH || way == WAY_STAGED_BATCH || way == WAY_MAPPED_BATCH
                         ? ISSUE_BATCH
                         : ISSUE_STREAMS;
    if (way == WAY_MAPPED || way == WAY_MAPPED_GRAPH || way == WAY_MAPPED_BATCH)
        settings.memory = MEMORY_MAPPED;
    if (way == WAY_STAGED || way == WAY_STAGED_BATCH)
        settings.layout = LAYOUT_STAGE;
    settings.pack = way == WAY_PACK;
    return settings;
}

/* --- the room --- */

static const struct {
    uint64_t tile_bytes;
    bool scatter;
} sizes[] = {{16 * KIB, false}, {64 * KIB, false}, {64 * KIB, true}, {512 * KIB, false},
             {4 * MIB, true},   {16 * MIB, false}, {64 * MIB, false}};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Each way is simulated whole: none is faster by a hundredth than the one chosen, and what the
 * choice says of each is right, although it simulated 1024 tiles at the most. */
START_TEST(test_no_way_is_faster)
{
    const struct machine machine = tune_h200();
    struct settings asked = auto_settings(sizes[_i].tile_bytes);
    asked.scatter = sizes[_i].scatter;
    struct settings settings = asked;
    const struct tuned tuned = choose(&settings, &machine);
    for (int way = 0; way < WAY_COUNT; way++) {
        const struct settings other = by_hand(asked, (enum issue_way)way);
        const double ns = (double)tune_simulated_ns(&other, &machine);
        const double said_ns = (double)tuned.ways[way].time_ns;
        ck_assert_msg(ns >= 0.99 * (double)tuned.time_ns, "%s: %.0f ns", issue_ways[way].name,
                      ns);
        ck_assert_msg(said_ns <= 1.01 * ns, "%s: %.0f for %.0f ns", issue_ways[way].name,
                      said_ns, ns);
        ck_assert_msg(!tuned.ways[way].simulated || said_ns >= 0.99 * ns,
                      "%s: %.0f for %.0f ns", issue_ways[way].name, said_ns, ns);
    }
    const struct settings same = by_hand(asked, tuned.way);
    ck_assert_mem_eq(&settings, &same, sizeof settings);
}
END_TEST

/* Small tiles go many at once; large ones go by calls, with a stream for each stage where the
 * layout is open. */
START_TEST(test_small_and_large_tiles)
{
    const struct machine machine = tune_h200();
    struct settings small = auto_settings(16 * KIB), large = auto_settings(16 * MIB);
    ck_assert_int_eq(choose(&small, &machine).way, WAY_MAPPED_BATCH);
    ck_assert_int_eq(small.memory, MEMORY_MAPPED);
    ck_assert_int_eq(choose(&large, &machine).way, WAY_STAGED);
    ck_assert_int_eq(large.layout, LAYOUT_STAGE);
    ck_assert_int_eq(large.issue, ISSUE_STREAMS);
    ck_assert_int_eq(large.memory, MEMORY_PINNED);
    ck_assert(!large.pack);
    small = auto_settings(64 * KIB); /* copies are faster than mapped memory again */
    struct settings laid_out = small;
    laid_out.layout_given = true;
    ck_assert_int_eq(choose(&small, &machine).way, WAY_STAGED_BATCH);
    ck_assert_int_eq(small.layout, LAYOUT_STAGE);
    const struct tuned kept = choose(&laid_out, &machine);
    ck_assert_int_eq(kept.way, WAY_BATCH);
    ck_assert_int_eq(laid_out.layout, LAYOUT_TILE);
    ck_assert_int_eq(kept.ways[WAY_STAGED].time_ns, 0);
    ck_assert_int_eq(kept.ways[WAY_STAGED_BATCH].time_ns, 0);
    large = auto_settings(16 * MIB);
    large.layout_given = true;
    ck_assert_int_eq(choose(&large, &machine).way, WAY_STREAMS);
    ck_assert_int_eq(large.layout, LAYOUT_TILE);
    large = auto_settings(16 * MIB);
    large.ways = 1;
    ck_assert_int_eq(choose(&large, &machine).ways[WAY_STAGED].time_ns, 0);
}
END_TEST

/* What was given stays: no way is even tried that would need another memory. */
START_TEST(test_given_memory_is_kept)
{
    static const enum memory given[] = {MEMORY_PINNED, MEMORY_PAGEABLE, MEMORY_REGISTERED,
                                        MEMORY_MAPPED};
    const struct machine machine = tune_h200();
    struct settings settings = auto_settings(64 * KIB);
    settings.memory_given = true;
    settings.memory = given[_i];
    const struct tuned tuned = choose(&settings, &machine);
    ck_assert_int_eq(settings.memory, given[_i]);
    const bool mapped = given[_i] == MEMORY_MAPPED, pageable = given[_i] == MEMORY_PAGEABLE;
    for (int way = WAY_MAPPED; way <= WAY_MAPPED_BATCH; way++)
        ck_assert_int_eq(tuned.ways[way].time_ns > 0, mapped);
    ck_assert_int_eq(tuned.ways[WAY_STREAMS].time_ns > 0, !mapped); /* it would be the same */
    ck_assert_int_eq(tuned.ways[WAY_STAGED].time_ns > 0, !mapped);
    ck_assert_int_eq(tuned.ways[WAY_BATCH].time_ns > 0, !pageable && !mapped);
    ck_assert_int_eq(tuned.ways[WAY_STAGED_BATCH].time_ns > 0, !pageable && !mapped);
    ck_assert_int_eq(tuned.ways[WAY_PACK].time_ns > 0, !mapped);
}
END_TEST

/* A machine that knows no batches, or no graphs, is asked for none. */
START_TEST(test_machines_without_figures)
{
    struct machine machine = tune_h200();
    struct settings settings = auto_settings(64 * KIB);
    machine.batch_gap_ns = 0;
    struct tuned tuned = choose(&settings, &machine);
    ck_assert_int_eq(tuned.ways[WAY_BATCH].time_ns, 0);
    ck_assert_int_eq(tuned.ways[WAY_MAPPED_BATCH].time_ns, 0);
    ck_assert_int_gt(tuned.ways[WAY_GRAPH].time_ns, 0);
    ck_assert_int_eq(tuned.way, WAY_MAPPED_GRAPH);
    machine.graph_launch_ns = 0;
    machine.pack_bytes_per_s = 50e9; /* cores that pack slowly */
    settings = auto_settings(64 * KIB);
    tuned = choose(&settings, &machine);
    ck_assert_int_eq(tuned.ways[WAY_GRAPH].time_ns, 0);
    ck_assert_int_eq(tuned.ways[WAY_MAPPED_GRAPH].time_ns, 0);
    ck_assert_int_eq(tuned.way, WAY_MAPPED);
    machine.pack_bytes_per_s = 1e13; /* cores that pack in no time */
    settings = auto_settings(16 * KIB);
    tuned = choose(&settings, &machine);
    ck_assert_int_eq(tuned.way, WAY_PACK);
    ck_assert(settings.pack);
    ck_assert_int_eq(settings.issue, ISSUE_STREAMS);
}
END_TEST

/* Ways that the checks of settings refuse are left out, and so are those that no plan has. */
START_TEST(test_what_is_refused_is_left_out)
{
    const struct machine machine = tune_h200();
    struct settings settings = auto_settings(1 * MIB);
    settings.ways = 2;
    ck_assert_int_eq(choose(&settings, &machine).ways[WAY_PACK].time_ns, 0);
    settings = auto_settings(1 * MIB);
    ck_assert(mistake_find("pageable-memory", &settings.mistake));
    struct tuned tuned = choose(&settings, &machine);
    for (int way = 0; way < WAY_COUNT; way++)
        ck_assert_int_eq(tuned.ways[way].time_ns > 0, way == WAY_STREAMS);
    settings = test_settings("dgemm"); /* it works in place, with an array on the device */
    settings.rows = settings.inner = 64;
    settings.elements = 64 * 64;
    settings.issue = ISSUE_AUTO;
    tuned = choose(&settings, &machine);
    ck_assert_int_gt(tuned.ways[WAY_STREAMS].time_ns, 0);
    for (int way = WAY_MAPPED; way <= WAY_MAPPED_BATCH; way++)
        ck_assert_int_eq(tuned.ways[way].time_ns, 0);
}
END_TEST

/* A batch that was given is for the ways that have batches; another way leaves none. */
START_TEST(test_a_given_batch)
{
    const struct machine machine = tune_h200();
    struct settings settings = auto_settings(64 * KIB);
    settings.batch = 16;
    choose(&settings, &machine);
    ck_assert_int_eq(settings.issue, ISSUE_BATCH);
    ck_assert_uint_eq(settings.batch, 16);
    settings = auto_settings(16 * MIB);
    settings.batch = 16;
    choose(&settings, &machine);
    ck_assert_int_eq(settings.issue, ISSUE_STREAMS);
    ck_assert_uint_eq(settings.batch, 0);
}
END_TEST

/* Tiles, streams and the way are chosen together: none that is chosen with them given is better
 * by half a per cent. */
START_TEST(test_all_three_together)
{
    const struct machine machine = tune_h200();
    struct settings settings = auto_settings(1 * MIB);
    settings.elements = 1 << 24;
    settings.tiles = settings.streams = 0;
    const struct tuned tuned = choose(&settings, &machine);
    ck_assert_uint_gt(settings.tiles, 1);
    ck_assert_uint_gt(settings.streams, 1);
    ck_assert_int_eq(tuned.time_ns, tune_simulated_ns(&settings, &machine));
    for (uint32_t tiles = 4; tiles <= 1024; tiles *= 4) {
        struct settings other = auto_settings(1 * MIB);
        other.elements = 1 << 24;
        other.tiles = tiles;
        ck_assert_int_ge(choose(&other, &machine).time_ns + tuned.time_ns / 200, tuned.time_ns);
    }
}
END_TEST

/* 16384 tiles are not simulated often, nor with other results on another day. */
START_TEST(test_trials_are_few_and_the_same)
{
    const struct machine machine = tune_h200();
    struct settings first = auto_settings(64 * KIB);
    first.streams = 0;
    struct settings second = first;
    const struct tuned one = choose(&first, &machine), two = choose(&second, &machine);
    ck_assert_mem_eq(&first, &second, sizeof first);
    ck_assert_mem_eq(one.ways, two.ways, sizeof one.ways);
    ck_assert_uint_eq(one.candidates, two.candidates);
    ck_assert_uint_le(one.candidates, 100);
    first = auto_settings(64 * KIB);
    ck_assert_uint_le(choose(&first, &machine).candidates, 2 * WAY_COUNT);
    /* A kernel with thousands of launches: fewer tiles are tried, and fewer times. */
    first = test_settings("wave-launches");
    first.intensity = 4096;
    first.elements = 1 << 20;
    first.tiles = first.streams = 0;
    first.issue = ISSUE_AUTO;
    ck_assert_uint_le(choose(&first, &machine).candidates, 64);
}
END_TEST

/* Nothing fits: the reason is the simplest way's. */
START_TEST(test_what_never_fits)
{
    struct machine machine = tune_h200();
    struct settings settings = auto_settings(1 * MIB);
    struct tuned tuned;
    struct error error = {0};
    machine.memory_bytes = 1 * MIB;
    settings.memory_given = true;
    ck_assert_int_eq(tune_settings(&settings, &machine, NULL, &tuned, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "device memory"));
    ck_assert_int_eq(settings.issue, ISSUE_AUTO);
}
END_TEST

/* --- the program --- */

static const char *text_setting(const json_t *one, const char *name)
{
    return json_string_value(json_object_get(json_object_get(one, "settings"), name));
}

/* The report has the settings as used, and the notes say them, and what else was tried. */
START_TEST(test_report_has_the_way)
{
    json_t *report = tune_report("-n 1M --intensity=1 -t 1k --issue=auto");
    json_t *one = tune_run_of(report, 0);
    ck_assert(json_is_true(json_object_get(one, "verified")));
    ck_assert_str_eq(text_setting(one, "issue"), "batch");
    ck_assert_str_eq(text_setting(one, "memory"), "mapped");
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(one, "settings"), "batch")), 32);
    json_decref(report);
    tune_assert_said("err", "issue=batch memory=mapped, chosen of ");
    tune_assert_said("err", " by simulating h200\n");
    tune_assert_said("err", "the ways to issue: staged ");
    tune_assert_said("err", " or more, ");
    tune_assert_said("err", ", mapped batch ");
    report = tune_report("-n 1M --intensity=1 -t 1k --issue=auto --memory=pinned -q");
    ck_assert_str_eq(text_setting(tune_run_of(report, 0), "memory"), "pinned");
    json_decref(report);
    report = tune_report("-n 64M --no-data --intensity=1 -t auto -s auto --issue=auto");
    json_t *settings = json_object_get(tune_run_of(report, 0), "settings");
    ck_assert(json_is_integer(json_object_get(settings, "tiles")));
    ck_assert(json_is_integer(json_object_get(settings, "streams")));
    tune_assert_said("err", " issue=");
    json_decref(report);
    /* What is noted can be typed behind the run's own options, which it then undoes. */
    json_decref(tune_report("-n 4M --no-data -t 16 --batch=2 --memory=pinned --issue=auto"));
    tune_assert_said("err", "issue=streams batch=auto layout=stage, chosen of ");
}
END_TEST

/* Every way that can be chosen gives a right result, tiles in one piece or apart. */
START_TEST(test_chosen_ways_are_verified)
{
    static const char *const arguments[] = {
        "-n 1M --intensity=1 -t 1k --issue=auto --scatter",
        "-n 1M --intensity=1 -t 4 --issue=auto --scatter",
        "-n 1M --intensity=1 -t 256 --issue=auto --memory=registered --callbacks",
        "-n 256k -k wave,sum -t 512 --issue=auto -w 4",
        "-n 256k -k scan -t 64 --issue=auto",
        "-n 64k --intensity=1 -t 64 --issue=auto --memory=pageable",
        "-n 64k --issue=auto --mistake=sync-in-loop",
    };
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        json_t *report = tune_report(arguments[i]);
        ck_assert_msg(json_is_true(json_object_get(tune_run_of(report, 0), "verified")), "%s",
                      arguments[i]);
        json_decref(report);
    }
}
END_TEST

/* Each run of a config file or of a sweep has a choice of its own, in which auto is a value. */
START_TEST(test_every_run_has_its_own)
{
    FILE *file = fopen("two.ini", "w");
    ck_assert_ptr_nonnull(file);
    fputs("[global]\nelements=64M\nintensity=1\nissue=auto\n[small]\ntiles=16k\n[large]\n"
          "tiles=16\n[kept]\ntiles=4k\nmemory=pinned\n",
          file);
    ck_assert_int_eq(fclose(file), 0);
    json_t *report = tune_report("--no-data two.ini");
    ck_assert_str_eq(text_setting(tune_run_of(report, 0), "memory"), "mapped");
    ck_assert_str_eq(text_setting(tune_run_of(report, 1), "issue"), "streams");
    ck_assert_str_eq(text_setting(tune_run_of(report, 2), "memory"), "pinned");
    ck_assert_str_eq(text_setting(tune_run_of(report, 2), "issue"), "batch");
    json_decref(report);
    report = tune_report("--no-data -n 16M -t 1k --intensity=1 "
                         "--sweep issue=streams,graph,auto");
    ck_assert_str_eq(text_setting(tune_run_of(report, 0), "issue"), "streams");
    ck_assert_str_eq(text_setting(tune_run_of(report, 1), "issue"), "graph");
    ck_assert_str_eq(text_setting(tune_run_of(report, 2), "issue"), "batch");
    json_decref(report);
}
END_TEST

/* The order and the layout that are chosen are those of the fastest of the four, and the report
 * has what the usual ones take. */
START_TEST(test_orders_and_layouts)
{
    static const char *const work[] = {"-n 16M -k sum", "-n 4M --intensity=1",
                                       "-n 16M -w 2 -s 3 -t 7", "-n 1M -t 200 -s 2"};
    static const char *const ways[] = {"--order=depth", "--order=breadth",
                                       "--order=depth --layout=stage",
                                       "--order=breadth --layout=stage"};
    char line[256];
    double least = 0, usual = 0;
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line, "-q -d sim:h200 --no-data --format=json %s %s", work[_i],
                 ways[i]);
        ck_assert_int_eq(program_run(line), 0);
        const double time = strtod(strstr(program_out, "\"time_ms\": ") + 11, NULL);
        least = i == 0 || time < least ? time : least;
        usual = i == 0 ? time : usual;
    }
    snprintf(line, sizeof line,
             "-q -d sim:h200 --no-data --format=json %s --order=auto --layout=auto", work[_i]);
    ck_assert_int_eq(program_run(line), 0);
    const double time = strtod(strstr(program_out, "\"time_ms\": ") + 11, NULL);
    ck_assert_double_le(time, least * 1.0011);
    const char *told = strstr(program_out, "\"usual_ms\": ");
    ck_assert_msg(told != NULL || time == usual, "%s", line);
    if (told != NULL)
        ck_assert_double_eq_tol(strtod(told + 12, NULL), usual, 1e-9);
}
END_TEST

START_TEST(test_other_commands_choose)
{
    ck_assert_int_eq(tune_program("compare --no-data --device=sim:h200 --machine=h100 -n 16M "
                                  "-t 1k --intensity=1 --issue=auto"),
                     0);
    tune_assert_said("err", "by simulating h100\n"); /* which knows no batches */
    ck_assert_int_eq(tune_program("lesson 1 --no-data --device=sim:h200 --issue=auto"), 0);
    tune_assert_said("err", "the ways to issue: ");
    ck_assert_int_eq(tune_program("--device=sim:h200 --dry-run -n 1M -t 1k --intensity=1 "
                                  "--issue=auto"),
                     0);
    tune_assert_said("out", "scale 0-31 ");
    /* The model knows batches, the device none: it is asked for none. */
    ck_assert_int_eq(tune_program("--no-data --device=sim:h100 --machine=h200 -n 16M -t 1k "
                                  "--intensity=1 --issue=auto --memory=pinned"),
                     0);
    tune_assert_said("err", "by simulating h200\n");
}
END_TEST

START_TEST(test_what_is_refused_by_name)
{
    ck_assert_int_eq(tune_program("--issue=auto --pack"), 2);
    tune_assert_said("err", "--pack is one of the ways that --issue=auto chooses from: "
                            "use --pack=no, or --issue=streams\n");
    ck_assert_int_eq(
        tune_program("--no-data --device=sim:h200 --machine=./no.ini --issue=auto"), 2);
    tune_assert_said("err", "./no.ini");
}
END_TEST

TCase *tune_issue_room_case(void)
{
    TCase *tcase = tcase_create("issue");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, test_no_way_is_faster, 0, test_cases(SIZES));
    tcase_add_test(tcase, test_small_and_large_tiles);
    tcase_add_loop_test(tcase, test_given_memory_is_kept, 0, 4);
    tcase_add_test(tcase, test_machines_without_figures);
    tcase_add_test(tcase, test_what_is_refused_is_left_out);
    tcase_add_test(tcase, test_a_given_batch);
    tcase_add_test(tcase, test_all_three_together);
    tcase_add_test(tcase, test_trials_are_few_and_the_same);
    tcase_add_test(tcase, test_what_never_fits);
    return tcase;
}

TCase *tune_issue_program_case(void)
{
    TCase *tcase = tcase_create("issue in the program");
    tcase_add_checked_fixture(tcase, test_folder_enter, test_folder_leave);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_report_has_the_way);
    tcase_add_test(tcase, test_chosen_ways_are_verified);
    tcase_add_test(tcase, test_every_run_has_its_own);
    tcase_add_loop_test(tcase, test_orders_and_layouts, 0, 4);
    tcase_add_test(tcase, test_other_commands_choose);
    tcase_add_test(tcase, test_what_is_refused_by_name);
    return tcase;
}
