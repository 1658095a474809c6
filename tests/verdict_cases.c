/* verdict_cases.c - runs of the simulator, judged. */
#include "verdict_cases.h"

#include "fixtures.h"
#include "options/options.h"
#include "plan/build.h"
#include "plan/mistake.h"
#include "sim/simulator.h"

#include <string.h>

const struct verdict *judged_find(const struct judged *judged, enum verdict_code code)
{
    for (int i = 0; i < judged->verdicts.named; i++) {
        if (judged->verdicts.items[i].code == code)
            return &judged->verdicts.items[i];
    }
    return NULL;
}

void judged_free(struct judged *judged)
{
    critical_free(&judged->critical);
    timeline_free(&judged->timeline);
    plan_free(&judged->plan);
}

struct verdict_case judged_facts(const struct judged *judged)
{
    return (struct verdict_case){.timeline = &judged->timeline,
                                 .critical = &judged->critical,
                                 .plan = &judged->plan,
                                 .machine = &judged->machine,
                                 .limit = &judged->limit,
                                 .settings = &judged->settings,
                                 .model = &judged->machine};
}

bool judged_simulate(const struct settings *settings, struct judged *judged)
{
    struct error error = {0};
    int64_t issued;
    judged->settings = *settings;
    judged->timeline = (struct timeline){0};
    enum status status = plan_build(settings, &judged->machine, &judged->plan, &error);
    if (status == STATUS_USAGE)
        return false;
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    struct simulator_hooks hooks = {0};
    status = simulator_run(&judged->machine, judged->machine.queues, &judged->plan, &hooks,
                           &judged->timeline, &issued, &error);
    if (status == STATUS_USAGE || strstr(error.text, "more than 36 years") != NULL) {
        judged_free(judged);
        return false;
    }
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    judged->timeline.timing = TIMING_VIRTUAL;
    judged->limit = limit_of(&judged->machine, &judged->plan);
    return true;
}

bool judged_make(const struct settings *settings, struct judged *judged)
{
    struct error error = {0};
    if (!judged_simulate(settings, judged))
        return false;
    ck_assert_int_eq(
        critical_find(&judged->timeline, &judged->machine, &judged->critical, &error),
        STATUS_OK);
    struct verdict_case facts = judged_facts(judged);
    ck_assert_msg(verdicts_find(&facts, &judged->verdicts, &error) == STATUS_OK, "%s",
                  error.text);
    return true;
}

void judged_load(struct judged *judged, const char *name)
{
    memset(judged, 0, sizeof *judged);
    judged->machine = test_machine_named(name);
}

/* Draws a way for tiles that one of their own for each does not go with. */
static void random_way(uint64_t *random, struct settings *settings)
{
    settings->mistake = MISTAKE_NONE;
    settings->scatter = test_random_below(random, 2) == 0;
    if (test_random_below(random, 4) == 0)
        return;
    settings->pack = test_random_below(random, 3) == 0;
    settings->issue = settings->pack ? ISSUE_STREAMS : ISSUE_BATCH;
    settings->ways = settings->pack ? 3 : settings->ways;
    if (test_random_below(random, 3) == 0)
        settings->batch = 1 + test_random_below(random, settings->tiles);
}

static void draw_settings(uint64_t *random, struct settings *settings)
{
    static const char *const chains[] = {"scale",     "wave", "scale,scale",  "sum",
                                         "scale,sum", "scan", "reduce-atomic"};
    *settings = test_settings(chains[test_random_below(random, 7)]);
    settings->tiles = 1 + test_random_below(random, 60);
    settings->elements =
        settings->tiles * ((uint64_t)1 << test_random_below(random, 22)) + settings->tiles;
    settings->layout = test_random_below(random, 2) ? LAYOUT_STAGE : LAYOUT_TILE;
    settings->order = test_random_below(random, 2) ? ORDER_BREADTH : ORDER_DEPTH;
    settings->ways = 1 + (int)test_random_below(random, 4);
    settings->streams = 1 + test_random_below(random, 8);
    settings->callbacks = test_random_below(random, 4) == 0;
    settings->intensity = 1 + test_random_below(random, 400);
    settings->memory = test_random_below(random, 5) == 0 ? MEMORY_PAGEABLE : MEMORY_PINNED;
    settings->mistake = (int)test_random_below(random, (uint32_t)test_mistake_count());
    if (test_random_below(random, 6) == 0)
        settings->memory = MEMORY_MAPPED;
    if (test_random_below(random, 4) == 0)
        settings->issue = ISSUE_GRAPH;
    if (test_random_below(random, 4) == 0)
        settings->blocks = 1 + test_random_below(random, 100);
    settings->carry = (enum carry)test_random_below(random, 3);
    if (test_random_below(random, 3) == 0)
        random_way(random, settings);
}

void judged_draw_settings(uint64_t *random, struct settings *settings)
{
    do
        draw_settings(random, settings);
    while (settings_check(settings, NULL) != STATUS_OK);
}
