/* check_fixes.c - what is advised can be done: every command that a report prints, typed behind
 * the options of the run, is taken by the options' check and takes the time that was told. */
#include "app/commands.h"
#include "app/job.h"
#include "fixtures.h"
#include "options/options.h"
#include "suites.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 64, LINE_MAX_BYTES = 1024 };

/* --- drawing a command line --- */

static const char *const machines[] = {
    "a100", "c1060", "c2050", "c2070", "gtx1080ti", "gtx1650-super",  "h100", "h200",
    "k20c", "k20x",  "k40",   "k80",   "p100",      "rtx3050-laptop", "v100"};

static const char *const kernels[] = {
    "scale",
    "scale,scale",
    "wave",
    "sum",
    "scale,sum",
    "scan",
    "scan,scale",
    "reduce-atomic",
    "transpose-tiled",
    "stencil",
    "dgemm",
    "stride-copy",
    "scale,wave,scale",
    "wave-launches",
    "scale,scale,scale,scale",
};

/* Options with values to choose from; one in `rarity` draws has the option. */
static const struct drawn_option {
    const char *option;
    uint32_t rarity;
    const char *values; /* each ended by a blank */
} drawn_options[] = {
    {"--memory=", 2, "pinned pageable registered mapped managed "},
    {"--issue=", 3, "streams graph batch auto "},
    {"--ways=", 2, "1 2 3 4 "},
    {"--order=", 3, "depth breadth auto "},
    {"--layout=", 3, "tile stage auto "},
    {"--streams=", 2, "1 2 3 4 6 8 17 auto "},
    {"--copy=", 6, "whole 2d rows "},
    {"--alloc=", 6, "once loop async pool "},
    {"--carry=", 3, "device callback sync "},
    {"--connections=", 6, "1 2 8 32 "},
    {"--blocks=", 6, "1 7 64 100000 auto "},
    {"--priorities=", 8, "0 -1,0 none 0,-2,-5 "},
    {"--mistake=", 4,
     "none missing-wait pageable-memory legacy-stream blocking-stream sync-in-loop "
     "alloc-in-loop pinned-alloc-in-loop memset-in-loop launch-blocking slow-callback "
     "lazy-loading pin-in-run "},
    {"--share=", 4, "none slices mps "},
    {"--spread=", 4, "tiles chain "},
    {"--exchange=", 4, "auto peer host "},
    {"--hide=", 4, "yes no "},
    {"--halo=", 6, "1 2 5 "},
    {"--steps=", 3, "1 3 10 "},
    {"--batch=", 5, "auto 1 2 7 64 "},
    {"--cpu-share=", 4, "auto 0 0.1 0.35 1 "},
    {"--intensity=", 2, "auto 1 40 1800 "},
    {"--stride=", 6, "1 2 9 "},
    {"--runs=", 8, "1 3 "},
    {"--warmup=", 8, "0 2 "},
    {"--scatter", 4, " "},
    {"--pack", 5, " "},
    {"--prefetch", 5, " "},
    {"--callbacks", 4, " "},
    {"--profile", 20, " "},
};

/* Appends a word of those that are each ended by a blank, drawn. */
static void draw_value(uint64_t *random, const char *option, const char *values, char *line)
{
    uint32_t count = 0;
    for (const char *at = values; *at != '\0'; at++)
        count += *at == ' ';
    for (uint32_t skip = test_random_below(random, count); skip > 0; skip--)
        values = strchr(values, ' ') + 1;
    snprintf(line + strlen(line), LINE_MAX_BYTES - strlen(line), " %s%.*s", option,
             (int)strcspn(values, " "), values);
}

/* Draws one device, several of a host that has them, or as many processes on one. */
static void draw_device(uint64_t *random, char line[LINE_MAX_BYTES])
{
    static const char *const hosts[] = {"h200*2", "h200*3", "h200*4", "k20x*2", "k80*2"};
    const uint32_t kind = test_random_below(random, 6);
    char *end = line + strlen(line);
    if (kind < 2)
        sprintf(end, " -d sim:%s",
                hosts[test_random_below(random, sizeof hosts / sizeof *hosts)]);
    else
        sprintf(end, " -d sim:%s%s",
                machines[test_random_below(random, sizeof machines / sizeof *machines)],
                kind > 2                            ? ""
                : test_random_below(random, 2) == 0 ? "*2"
                                                    : "*3");
    if (kind == 2)
        draw_value(random, "--share=", "slices mps ", line);
}

/* Draws words that may be refused. The array's size suits rows, columns and tiles of any
 * kernel, or is a little more. */
static void draw_words(uint64_t *random, char line[LINE_MAX_BYTES])
{
    enum { UNIT = 64 };
    const uint32_t kernel = test_random_below(random, sizeof kernels / sizeof *kernels);
    const bool many = test_random_below(random, 16) == 0;
    const uint32_t tiles = 1 + test_random_below(random, many ? 160 : 24);
    const uint32_t sizes = many || test_random_below(random, 2) == 0 ? 5 : 13;
    uint64_t elements = ((uint64_t)tiles * UNIT) << test_random_below(random, sizes);
    if (test_random_below(random, 4) == 0)
        elements += test_random_below(random, UNIT);
    snprintf(line, LINE_MAX_BYTES,
             "-k %s -n %" PRIu64 " --columns=64 --rows=64 --inner=32 --tile-width=64",
             kernels[kernel], elements);
    draw_device(random, line);
    if (test_random_below(random, 10) == 0)
        strcat(line, " -t auto");
    else
        snprintf(line + strlen(line), LINE_MAX_BYTES - strlen(line), " -t %u", tiles);
    for (size_t i = 0; i < sizeof drawn_options / sizeof *drawn_options; i++) {
        const struct drawn_option *option = &drawn_options[i];
        if (test_random_below(random, option->rarity) == 0)
            draw_value(random, option->option, option->values, line);
    }
}

/* --- typing it --- */

/* Reads a command line as the program does. */
static enum status typed(const char *line, const char *more, struct options *options,
                         struct error *error)
{
    char text[2 * LINE_MAX_BYTES], *words[WORDS_MAX] = {"pipeline", "--no-data", "--quiet"};
    int count = 3;
    snprintf(text, sizeof text, "%s %s", line, more);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = word;
    return options_parse(count, words, options, error);
}

/* A run of the program, from its options to its verdicts. */
struct ran {
    struct job job;
    struct run_report report;
};

static enum status run(const struct options *options, const struct settings *settings,
                       bool judged, struct ran *ran, struct error *error)
{
    *ran = (struct ran){.job = {.options = options, .settings = *settings}};
    ran->report.settings = &ran->job.settings;
    ran->report.timeline = (struct timeline){0};
    enum status status = job_open(&ran->job, error);
    if (status == STATUS_OK)
        status = job_plan(&ran->job, &ran->report, error);
    if (status == STATUS_OK)
        status = job_prepare(&ran->job, &ran->report, error);
    if (status == STATUS_OK)
        status = job_run(&ran->job, &ran->report, error);
    if (status == STATUS_OK && judged)
        status = job_analyse(&ran->job, &ran->report, error);
    return status;
}

static void ran_free(struct ran *ran)
{
    struct report report = {.runs = &ran->report, .run_count = 1};
    job_end(&ran->job);
    report_free(&report);
}

/* --- the property --- */

/* What is printed can be typed, and takes the time that it is said to. */
static void check_command(const char *line, const char *command, int64_t predicted_ns)
{
    struct options options;
    struct error error = {0};
    struct ran ran;
    ck_assert_msg(typed(line, command, &options, &error) == STATUS_OK, "%s, with %s: %s", line,
                  command, error.text);
    ck_assert_msg(run(&options, &options.runs[0], false, &ran, &error) == STATUS_OK,
                  "%s, with %s: %s", line, command, error.text);
    ck_assert_msg(ran.report.median_ns == predicted_ns, "%s, with %s: %" PRId64 " ns", line,
                  command, ran.report.median_ns);
    ran_free(&ran);
    options_free(&options);
}

/* The run that --fix adds can be made, and is the best one that is told. */
static void check_fixed(const char *line, const struct verdicts *verdicts)
{
    struct options options;
    struct error error = {0};
    struct ran ran;
    test_must(typed(line, "--fix", &options, &error), &error);
    ck_assert_msg(fix_add_runs(&options, &error) == STATUS_OK, "%s --fix: %s", line,
                  error.text);
    ck_assert_msg(options.run_count == 1 + (verdicts->best_ns > 0), "%s --fix: %d runs", line,
                  options.run_count);
    for (int i = 1; i < options.run_count; i++) {
        ck_assert_msg(settings_check(&options.runs[i], &error) == STATUS_OK &&
                          run(&options, &options.runs[i], false, &ran, &error) == STATUS_OK,
                      "%s --fix: %s", line, error.text);
        ck_assert_msg(ran.report.median_ns == verdicts->best_ns, "%s --fix, with %s", line,
                      verdicts->best);
        ran_free(&ran);
    }
    options_free(&options);
}

/* Checks all that a run advises; returns how many commands that were, -1 where the run itself
 * can't be. */
static int check_run(const char *line)
{
    struct options options;
    struct error error = {0};
    struct ran ran;
    int commands = -1;
    if (typed(line, "", &options, &error) != STATUS_OK)
        return -1;
    if (run(&options, &options.runs[0], true, &ran, &error) == STATUS_OK) {
        const struct verdicts *verdicts = &ran.report.verdicts;
        commands = verdicts->best_ns > 0;
        for (int i = 0; i < verdicts->named; i++) {
            const struct verdict *verdict = &verdicts->items[i];
            if (verdict->predicted_ns > 0)
                check_command(line, verdict->command, verdict->predicted_ns);
            commands += verdict->predicted_ns > 0;
        }
        if (verdicts->best_ns > 0)
            check_command(line, verdicts->best, verdicts->best_ns);
        check_fixed(line, verdicts);
    }
    ran_free(&ran);
    options_free(&options);
    return commands;
}

START_TEST(test_printed_commands)
{
    enum { SEED = 20261128, RUNS = 640, RUNS_DEEP = 2000 };
    uint64_t random = SEED;
    const int runs = test_cases(RUNS) > RUNS ? RUNS_DEEP : test_cases(RUNS);
    int commands = 0;
    for (int i = 0; i < runs;) {
        char line[LINE_MAX_BYTES];
        draw_words(&random, line);
        const int count = check_run(line);
        commands += count > 0 ? count : 0;
        i += count >= 0;
    }
    ck_assert_int_gt(commands, runs);
}
END_TEST

/* Runs whose reports advised what options refuse, or only a part of what it took. */
static const char *const known[] = {
    "-d sim:h200*2 -n 510 -t 510 -s 3 --scatter --share=slices",
    "-d sim:h200*2 -n 64k -t 16 --copy=rows --tile-width=64 --share=mps",
    "-d sim:h200 -n 1231 -t 16 -w 1 --memory=mapped",
    "-d sim:h200*2 -n 4M -t 16 -k stencil --hide=no -s 1 --columns=64",
    "-d sim:h200 -n 84003 -t 41 --issue=auto",
    "-d sim:h200 -n 64M --issue=auto -t auto -s auto --order=auto --memory=pageable",
    "-d sim:gtx1080ti -n 6663 -k scale,sum -t 13 --issue=auto --layout=auto --batch=3 "
    "--mistake=legacy-stream",
    /* Of so many ops no fix is tried, and the run is made all the same. */
    "-d sim:gtx1080ti -n 12582912 -t 48 --copy=rows --tile-width=64",
};

START_TEST(test_known_runs)
{
    ck_assert_int_ge(check_run(known[_i]), 0);
}
END_TEST

Suite *fixes_suite(void)
{
    Suite *suite = suite_create("fixes");
    TCase *commands = tcase_create("commands");
    tcase_set_timeout(commands, 300);
    tcase_add_test(commands, test_printed_commands);
    tcase_add_loop_test(commands, test_known_runs, 0, sizeof known / sizeof known[0]);
    suite_add_tcase(suite, commands);
    return suite;
}
