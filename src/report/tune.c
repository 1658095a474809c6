/* tune.c - tries each way to bring tiles to the device and back, and takes the fastest.
 *
 * For each way tiles and streams are chosen first, from trials that may be of the first tiles
 * alone. Ways are then compared by the time of all tiles. Where these are too many to simulate,
 * the second half of the first ones tells how long each further tile takes: from there on a
 * pipeline goes on as it is. What a way takes at the least is known without simulating; the
 * ways begin with the lowest, and one that can't come near the best is not simulated. */
#include "report/tune.h"

#include "plan/rules.h"
#include "plan/together.h"

#include <math.h>
#include <time.h>

enum {
    TIES = 1000,           /* times that differ by a thousandth are alike */
    FINALISTS_WITHIN = 10, /* those that differ by a tenth may be the other way round */
};

/* A way while it is judged. */
struct way {
    struct settings settings; /* with the way, and once it was tried with tiles and streams */
    bool possible;
    bool reached; /* its turn has come */
    int64_t floor_ns;
    struct tuned_trial trial;
    struct error why; /* it could not be gone */
};

struct chooser {
    const struct machine *machine;
    tune_accept *accept;
    struct way ways[WAY_COUNT];
    int64_t best_ns; /* of the ways tried so far; INT64_MAX before the first */
    uint32_t candidates;
    struct finalists finalists; /* of the ways tried so far */
};

/* Returns false where memory or layout would have to be another than the one given, where
 * another way is the same, where the machine has no figures, or where the settings don't go
 * together. */
static bool is_possible(const struct chooser *chooser, const struct settings *asked,
                        enum issue_way way)
{
    const struct settings *settings = &chooser->ways[way].settings;
    const struct machine *machine = chooser->machine;
    if ((asked->memory_given && settings->memory != asked->memory) ||
        (asked->memory == MEMORY_MAPPED && !issue_ways[way].mapped))
        return false;
    if (issue_ways[way].staged && (asked->layout_given || asked->layout == LAYOUT_STAGE ||
                                   asked->ways == 1 || asked->mistake != MISTAKE_NONE))
        return false; /* stages in turn are the same, and a mistake is shown where it was asked
                       */
    if (way == WAY_STAGED_BATCH && settings->tiles > 0 && settings->streams > 0 &&
        settings_batch(settings) == 1)
        return false; /* batches of one tile are calls */
    return rule_takes_issue(machine, settings->issue) && settings_misfit(settings) == NULL;
}

/* Simulates settings with tiles and streams: all tiles, or as many as may be, and half of
 * these; a further tile takes what one of the second half did. */
static enum status time_all(struct chooser *chooser, const struct settings *settings,
                            int64_t *time_ns, struct error *error)
{
    const uint32_t batch = settings_batch(settings), most = tune_tiles_most(settings);
    const struct settings first = tune_shorten(settings, most);
    const struct settings half = tune_shorten(settings, most / batch / 2 * batch);
    uint64_t ops = 0;
    int64_t half_ns = 0;
    enum status status =
        tune_simulate(&first, chooser->machine, chooser->accept, time_ns, &ops, error);
    chooser->candidates++;
    if (status != STATUS_OK || first.tiles == settings->tiles)
        return status;
    status = tune_simulate(&half, chooser->machine, chooser->accept, &half_ns, &ops, error);
    double further = (double)(settings->tiles - first.tiles) / (first.tiles - half.tiles);
    *time_ns += llround(further * (double)(*time_ns - half_ns));
    return status;
}

/* Chooses tiles and streams of a way and simulates it, unless it can't come near the best. */
static enum status try_way(struct chooser *chooser, struct way *way, struct error *error)
{
    struct tuned tuned;
    const int64_t best_ns = chooser->best_ns;
    const uint32_t most = tune_tiles_most(&way->settings); /* those of the trials */
    way->trial.time_ns = way->floor_ns;
    if (way->floor_ns > best_ns && way->floor_ns - best_ns > best_ns / TIES)
        return STATUS_OK;
    enum status status = tune_tiles(&way->settings, chooser->machine, chooser->accept,
                                    WAY_COUNT, &tuned, &way->why);
    if (status == STATUS_OK) {
        chooser->candidates += tuned.candidates;
        finalists_add_all(&chooser->finalists, &tuned.finalists);
        way->trial.time_ns = tuned.time_ns;
        if (most < way->settings.tiles)
            status = time_all(chooser, &way->settings, &way->trial.time_ns, &way->why);
    }
    way->possible = way->trial.simulated = status == STATUS_OK;
    if (way->possible && way->trial.time_ns < best_ns)
        chooser->best_ns = way->trial.time_ns;
    return status == STATUS_NO_MEMORY ? error_pass(error, &way->why) : STATUS_OK;
}

/* Returns the possible way with the lowest floor, the simplest of several, whose turn has not
 * come yet; NULL: there is none. */
static struct way *next_way(struct chooser *chooser)
{
    struct way *next = NULL;
    EACH (struct way, way, chooser->ways, WAY_COUNT) {
        if (way->possible && !way->reached && (next == NULL || way->floor_ns < next->floor_ns))
            next = way;
    }
    return next;
}

static enum issue_way choose(const struct chooser *chooser)
{
    int way = 0;
    while (!chooser->ways[way].trial.simulated ||
           chooser->ways[way].trial.time_ns - chooser->best_ns > chooser->best_ns / TIES)
        way++;
    return (enum issue_way)way;
}

static void begin_way(struct chooser *chooser, const struct settings *asked,
                      enum issue_way which)
{
    struct way *way = &chooser->ways[which];
    way->settings = *asked;
    settings_set_way(&way->settings, which);
    way->possible = is_possible(chooser, asked, which);
    if (way->possible && asked->tiles > 0 && asked->streams > 0)
        way->floor_ns = tune_floor_ns(&way->settings, chooser->machine);
}

/* Passes on why the simplest of the ways that were tried could not be gone. */
static enum status refuse(const struct chooser *chooser, struct error *error)
{
    int way = 0;
    while (chooser->ways[way].why.status == STATUS_OK)
        way++;
    return error_pass(error, &chooser->ways[way].why);
}

/* Does all of tune_settings() where issue is auto, but for the time that it takes. */
static enum status choose_way(struct settings *settings, const struct machine *machine,
                              tune_accept *accept, struct tuned *tuned, struct error *error)
{
    struct chooser chooser = {.machine = machine, .accept = accept, .best_ns = INT64_MAX};
    enum status status = STATUS_OK;
    for (int i = 0; i < WAY_COUNT; i++)
        begin_way(&chooser, settings, (enum issue_way)i);
    for (struct way *way; status == STATUS_OK && (way = next_way(&chooser)) != NULL;) {
        way->reached = true;
        status = try_way(&chooser, way, error);
    }
    if (status != STATUS_OK)
        return status;
    if (chooser.best_ns == INT64_MAX)
        return refuse(&chooser, error);
    const enum issue_way chosen = choose(&chooser);
    *settings = chooser.ways[chosen].settings;
    *tuned = (struct tuned){.tiles = settings->tiles,
                            .streams = settings->streams,
                            .time_ns = chooser.ways[chosen].trial.time_ns,
                            .candidates = chooser.candidates,
                            .way = chosen};
    for (int i = 0; i < WAY_COUNT; i++) {
        if (chooser.ways[i].possible)
            tuned->ways[i] = chooser.ways[i].trial;
    }
    tuned->finalists = chooser.finalists;
    return STATUS_OK;
}

static int64_t host_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Chooses all but order and layout. A layout that is left open is one of the ways, where these
 * are open, too. */
static enum status choose_rest(struct settings *settings, const struct machine *machine,
                               tune_accept *accept, struct tuned *tuned, struct error *error)
{
    if (settings->issue == ISSUE_AUTO)
        return choose_way(settings, machine, accept, tuned, error);
    return tune_tiles(settings, machine, accept, 1, tuned, error);
}

enum status tune_settings(struct settings *settings, const struct machine *machine,
                          tune_accept *accept, struct tuned *tuned, struct error *error)
{
    const int64_t began_ns = host_now_ns();
    const struct settings asked = *settings;
    const bool orders = asked.order == ORDER_AUTO;
    const bool layouts = asked.layout == LAYOUT_AUTO && asked.issue != ISSUE_AUTO;
    struct finalists finalists = {0};
    struct error first = {0};
    uint32_t candidates = 0;
    bool found = false;
    for (int i = 0; i < (orders ? 2 : 1) * (layouts ? 2 : 1); i++) {
        struct settings tried = asked;
        struct tuned trial;
        struct error why = {0};
        if (orders)
            tried.order = i % 2 == 0 ? ORDER_DEPTH : ORDER_BREADTH;
        if (asked.layout == LAYOUT_AUTO)
            tried.layout = i / (orders ? 2 : 1) == 0 ? LAYOUT_TILE : LAYOUT_STAGE;
        enum status status = orders || layouts ? settings_check(&tried, &why) : STATUS_OK;
        if (status == STATUS_OK)
            status = choose_rest(&tried, machine, accept, &trial, &why);
        if (status == STATUS_NO_MEMORY)
            return error_pass(error, &why);
        if (status != STATUS_OK) {
            first = first.status == STATUS_OK ? why : first;
            continue;
        }
        candidates += trial.candidates;
        finalists_add_all(&finalists, &trial.finalists);
        if (found && trial.time_ns + tuned->time_ns / TIES >= tuned->time_ns)
            continue;
        found = true;
        *settings = tried;
        *tuned = trial;
    }
    if (!found)
        return error_pass(error, &first);
    tuned->candidates = candidates;
    tuned->finalists = finalists;
    const int64_t most_ns = tuned->time_ns + tuned->time_ns / FINALISTS_WITHIN;
    while (tuned->finalists.count > 0 &&
           finalists.all[tuned->finalists.count - 1].time_ns > most_ns)
        tuned->finalists.count--;
    tuned->took_ns = host_now_ns() - began_ns;
    return STATUS_OK;
}
