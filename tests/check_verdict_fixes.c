/* check_verdict_fixes.c - what better settings gain, and the fixes that are offered. */
#include "causes/knobs.h"
#include "fixtures.h"
#include "options/options.h"
#include "plan/mistake.h"
#include "plan/together.h"
#include "verdict_cases.h"

#include <stdlib.h>
#include <string.h>

static int64_t time_with(const struct judged *judged, struct settings settings, enum knob knob,
                         const struct settings *better)
{
    int64_t time_ns = -1;
    settings.connections =
        settings.connections > 0 ? settings.connections : judged->machine.queues;
    const union choice from = {.settings = *better};
    union choice turned = {.settings = settings};
    knob_turn(&knobs_run, (int)knob, &from, &turned);
    (void)whatif_time(&turned.settings, &judged->machine, &time_ns, NULL);
    return time_ns;
}

/* The parts add up, none is negative, and each turn's time is that of the run so changed. */
START_TEST(test_whatif)
{
    static const char *const machines[] = {"h200", "a100", "k20c", "c2050", "c1060"};
    uint64_t random = 77;
    int turned = 0;
    for (int i = 0; i < test_cases(300); i++) {
        struct judged judged;
        struct found whatif;
        judged_load(&judged, machines[i % 5]);
        judged_draw_settings(&random, &judged.settings);
        const struct plan none = {0}; /* causes are not asked for */
        const struct verdict_case facts = {
            .plan = &none, .settings = &judged.settings, .model = &judged.machine};
        if (whatif_find(&facts, &whatif, NULL) != STATUS_OK)
            continue;
        int64_t sum_ns = 0, time_ns = -1;
        for (int t = 0; t < whatif.count; t++) {
            const struct knob_gain *turn = &whatif.knobs[t];
            ck_assert_int_ge(turn->cost_ns, 0);
            sum_ns += turn->cost_ns;
            int64_t alone_ns = time_with(&judged, judged.settings, (enum knob)turn->knob,
                                         &whatif.better.settings);
            ck_assert_int_eq(turn->fixed_ns, alone_ns >= 0 ? alone_ns : whatif.given_ns);
        }
        ck_assert_int_eq(sum_ns, whatif.given_ns - whatif.better_ns);
        ck_assert_int_eq(settings_check(&whatif.better.settings, NULL), STATUS_OK);
        ck_assert_int_eq(whatif_time(&whatif.better.settings, &judged.machine, &time_ns, NULL),
                         STATUS_OK);
        ck_assert_int_eq(time_ns, whatif.better_ns);
        turned += whatif.count;
    }
    ck_assert_int_gt(turned, test_cases(300));
}
END_TEST

/* A mistake is told from what the settings ask for themselves: here the host waits because of
 * the scan's carry, and the memory is pageable by mistake. */
START_TEST(test_mistake_beside_a_setting)
{
    struct settings settings = test_settings("scan");
    struct judged judged;
    judged_load(&judged, "h200");
    settings.elements = 4 << 20;
    settings.tiles = 16;
    settings.carry = CARRY_SYNC;
    ck_assert(mistake_find("pageable-memory", &settings.mistake));
    ck_assert(judged_make(&settings, &judged));
    const struct verdict *first = &judged.verdicts.items[0];
    ck_assert_int_eq(first->code, VERDICT_PAGEABLE_MEMORY);
    ck_assert_str_eq(first->command, "--mistake=none");
    settings.mistake = MISTAKE_NONE;
    settings.connections = judged.machine.queues;
    int64_t time_ns = -1;
    ck_assert_int_eq(whatif_time(&settings, &judged.machine, &time_ns, NULL), STATUS_OK);
    ck_assert_int_eq(first->predicted_ns, time_ns);
    judged_free(&judged);
}
END_TEST

/* The share that is advised is the one that was tried: of 18 tiles, 35/36 are half a tile more
 * or less, by its last digit. */
START_TEST(test_share_as_typed)
{
    static const char option[] = "--cpu-share=";
    int fixes = 0;
    for (uint32_t tiles = 4; tiles <= 40; tiles++) {
        struct settings settings = test_settings("reduce-sequential");
        struct judged judged;
        judged_load(&judged, "v100");
        settings.elements = 1275604;
        settings.tiles = tiles;
        settings.ways = 4;
        settings.cpu_share = 0.95;
        ck_assert(judged_make(&settings, &judged));
        for (int i = 0; i < judged.verdicts.named; i++) {
            const struct verdict *verdict = &judged.verdicts.items[i];
            int64_t time_ns = -1;
            if (strncmp(verdict->command, option, strlen(option)) != 0)
                continue;
            const char *share = verdict->command + strlen(option);
            settings.cpu_share = strcmp(share, "auto") == 0 ? -1 : strtod(share, NULL);
            ck_assert_int_eq(whatif_time(&settings, &judged.machine, &time_ns, NULL),
                             STATUS_OK);
            ck_assert_int_eq(verdict->predicted_ns, time_ns);
            ck_assert_int_lt(verdict->prospect.range.low_ns, time_ns);
            ck_assert_int_gt(verdict->prospect.range.high_ns, time_ns);
            fixes++;
        }
        judged_free(&judged);
    }
    ck_assert_int_gt(fixes, 10);
}
END_TEST

/* Serial goes with one stream alone: streams are advised with other ways, where both are
 * needed. */
START_TEST(test_serial_keeps_one_stream)
{
    struct settings settings = test_settings("scale");
    struct judged judged;
    judged_load(&judged, "rtx3050-laptop");
    settings.elements = 7 << 20;
    settings.tiles = 32;
    settings.streams = 1;
    settings.ways = 1;
    settings.callbacks = true;
    ck_assert(judged_make(&settings, &judged));
    ck_assert_msg(strstr(judged.verdicts.best, "--streams=") == NULL ||
                      strstr(judged.verdicts.best, "--ways=") != NULL,
                  "%s", judged.verdicts.best);
    for (int i = 0; i < judged.verdicts.named; i++)
        ck_assert_str_ne(judged.verdicts.items[i].command, "--streams=4");
    ck_assert_str_ne(judged.verdicts.best, "");
    judged_free(&judged);
}
END_TEST

/* --- ways for tiles that lie apart --- */

/* Reads what was given, with a fix behind it, as a command line. */
static struct settings typed(const char *given, const char *fix)
{
    char text[256], *line[16] = {"pipeline", "--no-data"};
    struct options options;
    struct error error = {0};
    int count = 2;
    snprintf(text, sizeof text, "-n 64M --intensity=1 %s %s", given, fix);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        line[count++] = word;
    ck_assert_msg(options_parse(count, line, &options, &error) == STATUS_OK, "%s %s: %s", given,
                  fix, error.text);
    struct settings settings = options.runs[0];
    options_free(&options);
    settings.device = NULL;
    return settings;
}

/* Returns the time of what was typed, on a machine. */
static int64_t typed_ns(const struct judged *judged, const char *given, const char *fix)
{
    struct settings settings = typed(given, fix);
    int64_t time_ns = -1;
    settings.connections = judged->machine.queues;
    ck_assert_int_eq(whatif_time(&settings, &judged->machine, &time_ns, NULL), STATUS_OK);
    return time_ns;
}

/* Their size is the data's: no other is advised. What is advised can be typed behind the
 * options of the run, and then takes the time that was told; and of all ways none is faster. */
static const struct {
    const char *machine, *given, *best;
    enum verdict_code code; /* of the fix that is the best one */
} apart_cases[] = {
    {"h200", "-t 4096 --scatter", "--issue=batch", VERDICT_SMALL_TILES},
    {"h200", "-t 4096 --scatter --issue=graph", "--issue=batch", VERDICT_SMALL_TILES},
    {"h200", "-t 16384 --scatter --issue=batch", "--memory=mapped", VERDICT_SMALL_TILES},
    {"h200", "-t 4096 --scatter --issue=batch --batch=1", "--batch=auto", VERDICT_SMALL_TILES},
    {"h200", "-t 4096 --scatter --memory=mapped", "--issue=batch", VERDICT_SMALL_TILES},
    {"h200", "-t 4096 --scatter --pack", "--pack=no --issue=batch", VERDICT_PACKING},
    {"h200", "-t 4096 --scatter --pack --batch=64 --memory=pageable",
     "--pack=no --issue=batch --batch=auto --memory=pinned", VERDICT_PACKING},
    /* No file says how an A100 or a K20c runs batches: other ways are left. */
    {"a100", "-t 4096 --scatter", "--pack", VERDICT_SMALL_TILES},
    {"k20c", "-t 16384 --scatter", "--pack", VERDICT_SMALL_TILES},
    /* What lies together can be large tiles, for which nothing has to be packed. */
    {"h200", "-t 4096 --pack", "--tiles=32 --pack=no", VERDICT_PACKING},
};

START_TEST(test_ways_for_tiles_apart)
{
    static const char *const ways[] = {
        "--pack=no --batch=auto --issue=streams --memory=pinned",
        "--pack=no --batch=auto --issue=graph --memory=pinned",
        "--pack=no --batch=auto --issue=batch --memory=pinned",
        "--pack --batch=auto --issue=streams --memory=pinned",
        "--pack=no --batch=auto --issue=streams --memory=mapped",
        "--pack=no --batch=auto --issue=graph --memory=mapped",
        "--pack=no --batch=auto --issue=batch --memory=mapped",
    };
    const char *given = apart_cases[_i].given, *best = apart_cases[_i].best;
    const bool scatter = strstr(given, "--scatter") != NULL;
    struct settings settings = typed(given, "");
    struct judged judged;
    int fixes = 0;
    judged_load(&judged, apart_cases[_i].machine);
    ck_assert(judged_make(&settings, &judged));
    for (int i = 0; i < judged.verdicts.named; i++) {
        const struct verdict *verdict = &judged.verdicts.items[i];
        if (verdict->predicted_ns == 0)
            continue;
        ck_assert(!scatter || strstr(verdict->command, "--tiles") == NULL);
        ck_assert_int_eq(typed_ns(&judged, given, verdict->command), verdict->predicted_ns);
        fixes++;
    }
    ck_assert_int_gt(fixes, 0);
    const struct verdict *first = &judged.verdicts.items[0];
    ck_assert_int_eq(first->code, apart_cases[_i].code);
    ck_assert_str_eq(first->command, best);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && scatter; i++) {
        struct settings other = typed(given, ways[i]);
        int64_t time_ns = INT64_MAX;
        other.connections = judged.machine.queues;
        (void)whatif_time(&other, &judged.machine, &time_ns, NULL); /* not on any machine */
        /* Where memory and issue are other verdicts' fixes, both together are the best. */
        int64_t best_ns =
            judged.verdicts.best[0] != '\0' ? judged.verdicts.best_ns : first->predicted_ns;
        ck_assert_msg((double)best_ns < 1.01 * (double)time_ns, "%s takes %ld ns", ways[i],
                      (long)time_ns);
    }
    judged_free(&judged);
}
END_TEST

/* What plans are tried with goes together by the options' own checks, and by no other rule. */
START_TEST(test_ways_that_fit)
{
    uint64_t random = 1945;
    int fit = 0, tried = test_cases(3000);
    for (int i = 0; i < tried; i++) {
        struct settings settings;
        judged_draw_settings(&random, &settings);
        ck_assert_ptr_null(settings_misfit(&settings));
        settings.issue = (enum issue)test_random_below(&random, 3);
        settings.pack = test_random_below(&random, 2) == 0;
        settings.memory = (enum memory)test_random_below(&random, 4);
        settings.batch = test_random_below(&random, 2);
        settings.mistake = (int)test_random_below(&random, 2);
        fit += (settings_misfit(&settings) == NULL);
        ck_assert_int_eq((settings_misfit(&settings) == NULL),
                         settings_check(&settings, NULL) == STATUS_OK);
    }
    ck_assert(fit > tried / 20 && fit < tried / 2);
}
END_TEST

/* What is set already, or would make it slower, is never advised. */
START_TEST(test_fixes_gain)
{
    static const char *const machines[] = {"h200", "a100", "k20c", "c2050", "c1060"};
    uint64_t random = 4711;
    int fixes = 0;
    for (int i = 0; i < test_cases(300); i++) {
        struct judged judged;
        struct settings settings;
        judged_load(&judged, machines[i % 5]);
        judged_draw_settings(&random, &settings);
        if (!judged_make(&settings, &judged))
            continue;
        for (int v = 0; v < judged.verdicts.named; v++) {
            const struct verdict *verdict = &judged.verdicts.items[v];
            ck_assert_int_eq(verdict->predicted_ns > 0, verdict->command[0] != '\0');
            if (verdict->predicted_ns == 0)
                continue;
            ck_assert_double_le((double)verdict->predicted_ns,
                                0.99 * (double)judged.verdicts.time_ns);
            bool graph = settings.issue == ISSUE_GRAPH;
            ck_assert(!graph || strstr(verdict->command, "--issue=graph") == NULL);
            ck_assert(!settings.scatter || strstr(verdict->command, "--tiles") == NULL);
            fixes++;
        }
        judged_free(&judged);
    }
    ck_assert_int_gt(fixes, test_cases(300) / 2);
}
END_TEST

TCase *verdict_fixes_case(void)
{
    TCase *fixes = tcase_create("fixes");
    tcase_set_timeout(fixes, 120);
    tcase_add_test(fixes, test_whatif);
    tcase_add_test(fixes, test_mistake_beside_a_setting);
    tcase_add_test(fixes, test_share_as_typed);
    tcase_add_test(fixes, test_serial_keeps_one_stream);
    tcase_add_test(fixes, test_fixes_gain);
    tcase_add_loop_test(fixes, test_ways_for_tiles_apart, 0,
                        sizeof apart_cases / sizeof apart_cases[0]);
    tcase_add_test(fixes, test_ways_that_fit);
    return fixes;
}
