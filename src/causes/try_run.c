/* try_run.c - turns knobs in the simulator. */
#include "causes/knobs.h"

#include "plan/build.h"
#include "plan/rules.h"
#include "plan/together.h"
#include "sim/simulator.h"

#include <math.h>

enum {
    SEARCH_TILES = 1024, /* of more tiles, a search looks at about so many, in proportion */
    TILES_FINE = 128,    /* small enough to fit any GPU's memory */
    TILES_GOOD = 16,     /* enough to begin a search with */
    TILE_BYTES_LEAST = 4096,
    OPS_MOST = 4000000,       /* of a plan for which fixes are tried, some seconds in all */
    OPS_TRIED_WHOLE = 300000, /* the same where no part can stand for all */
    LARGER = 4, /* a larger array has that many times the tiles, as many times as large each */
};

/* A search for better settings. */
struct tuner {
    struct search search;
    struct settings *given, *best; /* the search's */
    const struct machine *machine;
    uint32_t ops_most; /* of a trial */
};

/* --- trials --- */

/* Simulates settings; a plan of more than `ops_most` ops is refused. */
static enum status simulate(const struct settings *settings, const struct machine *machine,
                            uint32_t ops_most, int64_t *time_ns, struct error *error)
{
    struct plan plan;
    enum status status = plan_build(settings, machine, &plan, error);
    if (status != STATUS_OK)
        return status;
    if (plan_device_bytes(&plan) / plan_gpus(&plan) > machine->memory_bytes)
        status = error_set(error, STATUS_FAILED, "the plan needs more memory than %s has",
                           machine->name);
    if (status == STATUS_OK && plan.op_count > ops_most)
        status = error_set(error, STATUS_FAILED, "the plan has too many ops to try fixes");
    if (status == STATUS_OK)
        status = simulator_time(machine, settings->connections, &plan, time_ns, error);
    plan_free(&plan);
    return status;
}

/* Sets the time of a trial: a search's `time` with a struct tuner. */
static enum status time_of(const void *context, const union choice *choice, int64_t *time_ns,
                           struct error *error)
{
    const struct tuner *tuner = context;
    if (settings_misfit(&choice->settings) != NULL)
        return error_set(error, STATUS_USAGE, "these settings don't go together");
    return simulate(&choice->settings, tuner->machine, tuner->ops_most, time_ns, error);
}

enum status whatif_time(const struct settings *settings, const struct machine *machine,
                        int64_t *time_ns, struct error *error)
{
    const struct tuner tuner = {.machine = machine, .ops_most = UINT32_MAX};
    const union choice choice = {.settings = *settings};
    return time_of(&tuner, &choice, time_ns, error);
}

enum status whatif_look(const struct settings *settings, const struct machine *machine,
                        int64_t time_ns, struct outlook *outlook, struct error *error)
{
    struct plan plan;
    enum status status = plan_build(settings, machine, &plan, error);
    if (status != STATUS_OK)
        return status;
    status = interval_look_plan(machine, settings->connections, &plan, time_ns, outlook, error);
    plan_free(&plan);
    return status;
}

static int64_t try_settings(struct tuner *tuner, const struct settings *settings)
{
    union choice choice = {.settings = *settings};
    settings_settle(&choice.settings);
    return search_try(&tuner->search, &choice);
}

/* Takes `settings` for the best if they gain `part` of the time. */
static bool take(struct tuner *tuner, const struct settings *settings, double part)
{
    const union choice choice = {.settings = *settings};
    return search_take(&tuner->search, &choice, part);
}

static bool differ(enum knob knob, const struct settings *a, const struct settings *b)
{
    const union choice x = {.settings = *a}, y = {.settings = *b};
    return knob_is_turned(&knobs_run, knob, &x, &y);
}

/* --- the search --- */

/* Puts right what is never better as it was, so that the rest is seen. */
static struct settings put_right(const struct tuner *tuner)
{
    struct settings settings = *tuner->given;
    settings.mistake = MISTAKE_NONE;
    settings.blocks = 0;
    settings.callbacks = false;
    settings.carry = settings_carries_apart(&settings) ? CARRY_CALLBACK : CARRY_DEVICE;
    settings.priority_count = 0;
    settings.alloc = ALLOC_ONCE;
    if (settings.sharing == SHARING_SLICES)
        settings.sharing = SHARING_MPS;
    if (settings.memory == MEMORY_PAGEABLE || memory_is_reached(settings.memory))
        settings.memory = MEMORY_PINNED;
    settings.prefetch |= tuner->given->memory == MEMORY_MANAGED;
    if (settings.copy == COPY_ROWS)
        settings.copy = COPY_2D;
    if (settings.exchange == EXCHANGE_HOST && rule_peers_pay(tuner->machine))
        settings.exchange = EXCHANGE_PEER;
    if (settings.exchange == EXCHANGE_PEER && settings_by_link(&settings) &&
        !rule_peers_pay(tuner->machine))
        settings.exchange = EXCHANGE_HOST;
    settings.hide = settings_has_halo(&settings) ? HIDE_YES : settings.hide;
    settings.ways = settings.ways < 3 ? 3 : settings.ways;
    settings.cpu_share = settings.ways == 4 ? -1 : settings.cpu_share;
    if (settings.pack &&
        !settings_tiles_are_given(&settings)) { /* what lies together is a large tile already */
        settings.pack = false;
        settings.batch = 0;
    }
    settings.streams = settings.streams < STREAMS_GOOD ? STREAMS_GOOD : settings.streams;
    uint32_t most =
        tuner->machine->queues_max < QUEUES_GOOD ? tuner->machine->queues_max : QUEUES_GOOD;
    settings.connections = settings.connections < most ? most : settings.connections;
    if (!settings_tiles_are_given(&settings) && settings.tiles < TILES_GOOD &&
        settings_tiles_near(&settings, TILES_GOOD) > 0)
        settings.tiles = settings_tiles_near(&settings, TILES_GOOD);
    return settings;
}

/* Tiles that lie apart, or are columns, are as large as the data has them. */
static bool try_tiles(struct tuner *tuner, uint32_t tiles)
{
    struct settings settings = *tuner->best;
    settings.tiles = settings_tiles_near(&settings, tiles);
    uint64_t bytes = settings.elements * dtype_bytes(settings.chain[0]->in);
    if (settings_tiles_are_given(&settings) || settings.tiles == tuner->best->tiles ||
        (settings.tiles > tuner->best->tiles && bytes / settings.tiles < TILE_BYTES_LEAST))
        return false;
    return take(tuner, &settings, SEARCH_KEEP);
}

/* Climbs to the best number of tiles by doubling and halving, then by parts of it. */
static void search_tiles(struct tuner *tuner)
{
    bool more = false;
    while (try_tiles(tuner, tuner->best->tiles / 2))
        more = true;
    while (!more && try_tiles(tuner, 2 * tuner->best->tiles))
        continue;
    (void)try_tiles(tuner, tuner->best->tiles / 4 * 3);
    (void)try_tiles(tuner, tuner->best->tiles / 2 * 3);
}

/* Tries the ways in which tiles can go. Where very many go in batches, to go one by one can
 * only cost more, and long simulations. */
static void search_ways(struct tuner *tuner)
{
    const bool batches = tuner->machine->batch_gap_ns > 0 &&
                         tuner->given->tiles > 2 * SEARCH_TILES &&
                         settings_batch(tuner->given) > 1;
    struct settings settings = *tuner->best;
    for (int way = 0; knobs_set_way(way, &settings); way++) {
        bool other = differ(KNOB_ISSUE, &settings, tuner->best) ||
                     differ(KNOB_MEMORY, &settings, tuner->best);
        /* With one engine mapped memory is the way for both directions at once. */
        if (other && !(batches && settings_batch(&settings) == 1) &&
            (settings_tiles_are_given(&settings) || settings.memory != MEMORY_MAPPED ||
             tuner->machine->copy_engines == 1))
            (void)take(tuner, &settings, SEARCH_GAIN);
        settings = *tuner->best;
    }
}

/* Tries the best settings so far with another value of a member. */
#define TAKE(member, value)                                                                    \
    (void)SEARCH_TAKE(&tuner->search, settings.member, value, SEARCH_GAIN)

static void search_flips(struct tuner *tuner)
{
    const struct settings *best = tuner->best;
    for (uint32_t streams = 2; streams <= 32; streams *= 2) {
        if (streams != best->streams)
            TAKE(streams, streams);
    }
    TAKE(order, best->order == ORDER_DEPTH ? ORDER_BREADTH : ORDER_DEPTH);
    TAKE(layout, best->layout == LAYOUT_TILE ? LAYOUT_STAGE : LAYOUT_TILE);
    search_ways(tuner);
    if (best->ways == 4)
        TAKE(cpu_share, 0);
    if (settings_has_halo(best) && settings_devices(best) > 1)
        TAKE(hide, HIDE_NO); /* a launch less for each device and step */
}

/* Tries a few tiles more or fewer for the CPU than the rates alone would give it, and finer
 * tiles, of which that is less. */
static void search_share(struct tuner *tuner)
{
    const struct settings base = *tuner->best;
    if (base.ways != 4 || base.cpu_share >= 0)
        return;
    const uint32_t most = settings_tiles_are_given(&base) ? base.tiles : 4 * base.tiles;
    for (uint32_t tiles = base.tiles; tiles <= most; tiles *= 2) {
        struct settings settings = base;
        settings.tiles = tiles;
        int64_t even = plan_cpu_tiles(&settings, tuner->machine), few = tiles / 48 + 1;
        for (int64_t cpu = even - few; cpu <= even + 2 * few; cpu += few) {
            if (cpu < 1 || cpu >= tiles)
                continue;
            /* A share is tried as precisely as a fix's text says it (%g). */
            settings.cpu_share = round(1e6 * (double)cpu / tiles) / 1e6;
            (void)take(tuner, &settings, SEARCH_GAIN);
        }
    }
}

/* Cuts very many tiles, or batches of them, down to a part that stands for all: fewer tiles,
 * each of as many elements. Returns how many times as many there are in truth. */
static uint32_t shorten(struct settings *settings)
{
    uint32_t parts = settings->tiles / settings_batch(settings) / SEARCH_TILES;
    if (parts < 2)
        return 1;
    struct settings shorter = *settings;
    shorter.tiles = settings->tiles / parts;
    shorter.elements = settings->elements / settings->tiles * shorter.tiles;
    if (!settings_tiles_fit(&shorter, shorter.tiles))
        return 1;
    *settings = shorter;
    return parts;
}

/* Goes on with all tiles where a part stood for them: it can't have less than one tile, and its
 * first and last ones weigh more, which decides between ways for tiles that lie apart. */
static void search_whole(struct tuner *tuner, struct settings *better)
{
    *tuner->best = *better;
    tuner->search.best_ns = try_settings(tuner, better);
    if (settings_tiles_are_given(tuner->given))
        search_ways(tuner);
    while (try_tiles(tuner, tuner->best->tiles / 2))
        continue;
    *better = *tuner->best;
}

/* Looks for the best settings, and lists the knobs that are turned then. */
static void search_better(struct tuner *tuner, struct found *found)
{
    struct search *search = &tuner->search;
    const struct settings whole = found->given.settings;
    uint32_t parts = shorten(tuner->given);
    struct settings right = put_right(tuner);
    struct settings *better = &found->better.settings;
    search->given_ns = parts > 1 ? try_settings(tuner, tuner->given) : found->given_ns;
    search->best = search->given;
    search->best_ns = search->given_ns;
    int64_t right_ns = try_settings(tuner, &right);
    if (right_ns == SEARCH_NO_TIME) { /* fewer and smaller buffers may fit */
        right.streams = STREAMS_GOOD;
        if (!settings_tiles_are_given(&right))
            right.tiles = settings_tiles_near(&right, TILES_FINE);
        right_ns = try_settings(tuner, &right);
    }
    if (right_ns != SEARCH_NO_TIME) {
        *tuner->best = right;
        search->best_ns = right_ns;
    }
    search_tiles(tuner);
    search_flips(tuner);
    search_tiles(tuner);
    search_share(tuner);
    search_settle(search);
    *better = *tuner->best;
    better->elements = whole.elements;
    better->tiles = differ(KNOB_TILES, tuner->best, tuner->given)
                        ? settings_tiles_near(&whole, tuner->best->tiles * parts)
                        : whole.tiles;
    *tuner->given = whole;
    if (parts > 1 && (settings_tiles_are_given(&whole) || better->tiles < whole.tiles))
        search_whole(tuner, better);
}

/* Finds what being short costs the better run. With tiles of any size, what filling and
 * draining costs falls with their number n, and what handing them over costs grows with it, so
 * at best both grow as the root of the array's size, and all else with the size. Of sixteen
 * times the elements in four times the tiles, a sixteenth of the time has a quarter of the
 * root's part. With the CPU, of which tiles are to be a whole number, finer ones may be better.
 * Where the tiles' size is the data's, there are sixteen times as many of them; all that then
 * weighs less is what the first and the last ones cost, in batches of four times the size. */
static void find_short(struct tuner *tuner, struct found *found)
{
    struct settings larger = found->better.settings;
    const uint32_t times = settings_tiles_are_given(&larger) ? LARGER * LARGER : LARGER;
    if (larger.tiles > LARGER * SEARCH_TILES / (times / LARGER))
        return;
    larger.elements *= LARGER * LARGER;
    larger.tiles *= times;
    if (settings_tiles_are_given(&larger))
        larger.batch *= LARGER;
    int64_t time_ns = try_settings(tuner, &larger);
    larger.tiles *= 2;
    if (larger.ways == 4 && !settings_tiles_are_given(&larger))
        time_ns = earlier(time_ns, try_settings(tuner, &larger));
    int64_t saved_ns = found->better_ns - time_ns / (LARGER * LARGER);
    if (time_ns != SEARCH_NO_TIME && saved_ns > 0)
        found->short_ns = saved_ns + saved_ns / (LARGER - 1);
}

enum status whatif_find(const struct verdict_case *facts, struct found *found,
                        struct error *error)
{
    const struct settings *settings = facts->settings;
    const struct machine *machine = facts->model;
    struct tuner tuner = {
        .search = {.knobs = &knobs_run, .time = time_of, .context = &tuner},
        .given = &tuner.search.given.settings,
        .best = &tuner.search.best.settings,
        .machine = machine,
        .ops_most = settings->tiles > 2 * SEARCH_TILES ? OPS_MOST : OPS_TRIED_WHOLE,
    };
    struct found result = {.given.settings = *settings};
    result.given.settings.device = NULL; /* the machine is given */
    if (settings->connections == 0)
        result.given.settings.connections = machine->queues;
    tuner.search.given = result.given;
    enum status status =
        simulate(tuner.given, machine, tuner.ops_most, &result.given_ns, error);
    if (status != STATUS_OK)
        return status;
    search_better(&tuner, &result);
    result.better_ns = search_try(&tuner.search, &result.better);
    search_deal(&tuner.search, &result);
    find_short(&tuner, &result);
    if (tuner.search.why.status != STATUS_OK)
        return error_pass(error, &tuner.search.why);
    knobs_name_causes(facts, &result);
    *found = result;
    return STATUS_OK;
}

/* --- fixes --- */

static void set_fix(const struct verdict_case *facts, const struct found *found,
                    const union choice *choice, int64_t time_ns, struct fix *fix)
{
    fix->settings = choice->settings;
    fix->time_ns = time_ns;
    knobs_command(found, facts->typed != NULL ? facts->typed : facts->settings,
                  &choice->settings, fix->command);
}

enum status whatif_fix(const struct verdict_case *facts, const struct found *found,
                       enum verdict_code code, struct fix *fix, struct error *error)
{
    union choice choice = found->given;
    struct error why = {0};
    int64_t time_ns = SEARCH_NO_TIME;
    int count = 0;
    EACH (const struct knob_gain, gain, found->knobs, found->count) {
        if (gain->code != code)
            continue;
        knob_turn(&knobs_run, gain->knob, &found->better, &choice);
        time_ns = gain->fixed_ns;
        count++;
    }
    if (count > 1)
        (void)whatif_time(&choice.settings, facts->model, &time_ns, &why);
    /* A fix that can't be is none. */
    set_fix(facts, found, &choice, why.status == STATUS_OK ? time_ns : SEARCH_NO_TIME, fix);
    return why.status == STATUS_NO_MEMORY ? error_pass(error, &why) : STATUS_OK;
}

enum status whatif_best(const struct verdict_case *facts, const struct found *found,
                        struct fix *best, struct error *error)
{
    const struct knob_gain *least = found->knobs;
    union choice choice = found->given;
    enum status status = STATUS_OK;
    best->time_ns = SEARCH_NO_TIME;
    if (found->count == 0)
        return STATUS_OK;
    EACH (const struct knob_gain, gain, found->knobs, found->count)
        least = gain->fixed_ns < least->fixed_ns ? gain : least;
    if (search_gains(found->better_ns, least->fixed_ns, SEARCH_GAIN)) {
        set_fix(facts, found, &found->better, found->better_ns, best);
    } else {
        knob_turn(&knobs_run, least->knob, &found->better, &choice);
        set_fix(facts, found, &choice, least->fixed_ns, best);
    }
    /* The fix of a cause that does as well is better: fewer knobs may end up a little ahead. */
    for (int i = found->count - 1; i >= 0 && status == STATUS_OK; i--) {
        struct fix fix;
        status = whatif_fix(facts, found, found->knobs[i].code, &fix, error);
        if (status == STATUS_OK && fix.time_ns <= best->time_ns)
            *best = fix;
    }
    if (!search_gains(best->time_ns, found->given_ns, SEARCH_GAIN))
        best->time_ns = SEARCH_NO_TIME;
    return status;
}
