/* whatif.c - turns knobs in the simulator. */
#include "causes/whatif.h"

#include "plan/build.h"
#include "plan/rules.h"
#include "sim/simulator.h"

#include <math.h>

enum {
    SEARCH_TILES = 1024, /* of more tiles, a search looks at about so many, in proportion */
    STREAMS_GOOD = 4,    /* enough for copies both ways, a kernel, and one to come */
    TILES_FINE = 128,    /* small enough to fit any GPU's memory */
    TILES_GOOD = 16,     /* enough to begin a search with */
    QUEUES_GOOD = 32,    /* more have never been of use */
    TILE_BYTES_LEAST = 4096,
    OPS_MOST = 4000000,       /* of a plan for which fixes are tried, some seconds in all */
    OPS_TRIED_WHOLE = 300000, /* the same where no part can stand for all */
    LARGER = 4, /* a larger array has that many times the tiles, as many times as large each */
};

/* A turn is kept where it gains that part of the time, and goes back where it costs less. */
static const double GAIN = 0.01, KEEP = 0.005, ALONE = 0.02;

static const int64_t TIME_NONE = INT64_MAX;

struct search {
    const struct machine *machine;
    struct settings given, best;
    int64_t best_ns;
    uint32_t ops_most; /* of a trial */
    struct error why;  /* why the search can't go on: memory ran out */
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

enum status whatif_time(const struct settings *settings, const struct machine *machine,
                        int64_t *time_ns, struct error *error)
{
    if (!settings_way_fits(settings))
        return error_set(error, STATUS_USAGE, "these settings don't go together");
    return simulate(settings, machine, UINT32_MAX, time_ns, error);
}

/* Returns the time of a trial, TIME_NONE where it can't be. That memory ran out says nothing of
 * the settings: it ends the search. */
static int64_t try_settings(struct search *search, const struct settings *settings)
{
    int64_t time_ns = TIME_NONE;
    struct error why = {0};
    if (search->why.status != STATUS_OK || !settings_way_fits(settings))
        return TIME_NONE;
    enum status status = simulate(settings, search->machine, search->ops_most, &time_ns, &why);
    if (status == STATUS_NO_MEMORY)
        search->why = why;
    return status == STATUS_OK ? time_ns : TIME_NONE;
}

static bool gains(int64_t time_ns, int64_t than_ns, double part)
{
    return time_ns != TIME_NONE &&
           (than_ns == TIME_NONE || (double)time_ns < (1 - part) * (double)than_ns);
}

/* Takes `settings` for the best if they gain `part` of the time. */
static bool take(struct search *search, const struct settings *settings, double part)
{
    int64_t time_ns = try_settings(search, settings);
    if (!gains(time_ns, search->best_ns, part))
        return false;
    search->best = *settings;
    search->best_ns = time_ns;
    return true;
}

/* --- the search --- */

/* Puts right what is never better as it was, so that the rest is seen. */
static struct settings put_right(const struct search *search)
{
    struct settings settings = search->given;
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
    settings.prefetch |= search->given.memory == MEMORY_MANAGED;
    if (settings.copy == COPY_ROWS)
        settings.copy = COPY_2D;
    if (settings.exchange == EXCHANGE_HOST && rule_peers_pay(search->machine))
        settings.exchange = EXCHANGE_PEER;
    if (settings.exchange == EXCHANGE_PEER && settings_by_link(&settings) &&
        !rule_peers_pay(search->machine))
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
        search->machine->queues_max < QUEUES_GOOD ? search->machine->queues_max : QUEUES_GOOD;
    settings.connections = settings.connections < most ? most : settings.connections;
    if (!settings_tiles_are_given(&settings) && settings.tiles < TILES_GOOD &&
        settings_tiles_near(&settings, TILES_GOOD) > 0)
        settings.tiles = settings_tiles_near(&settings, TILES_GOOD);
    return settings;
}

/* Tiles that lie apart, or are columns, are as large as the data has them. */
static bool try_tiles(struct search *search, uint32_t tiles)
{
    struct settings settings = search->best;
    settings.tiles = settings_tiles_near(&settings, tiles);
    uint64_t bytes = settings.elements * dtype_bytes(settings.chain[0]->in);
    if (settings_tiles_are_given(&settings) || settings.tiles == search->best.tiles ||
        !settings_tiles_fit(&settings, settings.tiles) ||
        (settings.tiles > search->best.tiles && bytes / settings.tiles < TILE_BYTES_LEAST))
        return false;
    return take(search, &settings, KEEP);
}

/* Climbs to the best number of tiles by doubling and halving, then by parts of it. */
static void search_tiles(struct search *search)
{
    bool more = false;
    while (try_tiles(search, search->best.tiles / 2))
        more = true;
    while (!more && try_tiles(search, 2 * search->best.tiles))
        continue;
    (void)try_tiles(search, search->best.tiles / 4 * 3);
    (void)try_tiles(search, search->best.tiles / 2 * 3);
}

/* Tries the ways in which tiles can go. Where very many go in batches, to go one by one can
 * only cost more, and long simulations. */
static void search_ways(struct search *search)
{
    const bool batches = search->machine->batch_gap_ns > 0 &&
                         search->given.tiles > 2 * SEARCH_TILES &&
                         settings_batch(&search->given) > 1;
    struct settings settings = search->best;
    for (int way = 0; whatif_set_way(way, &settings); way++) {
        bool other = whatif_is_turned(KNOB_ISSUE, &settings, &search->best) ||
                     whatif_is_turned(KNOB_MEMORY, &settings, &search->best);
        /* With one engine mapped memory is the way for both directions at once. */
        if (other && !(batches && settings_batch(&settings) == 1) &&
            (settings_tiles_are_given(&settings) || settings.memory != MEMORY_MAPPED ||
             search->machine->copy_engines == 1))
            (void)take(search, &settings, GAIN);
        settings = search->best;
    }
}

static void search_flips(struct search *search)
{
    for (uint32_t streams = 2; streams <= 32; streams *= 2) {
        struct settings settings = search->best;
        settings.streams = streams;
        if (streams != search->best.streams)
            (void)take(search, &settings, GAIN);
    }
    struct settings settings = search->best;
    settings.order = settings.order == ORDER_DEPTH ? ORDER_BREADTH : ORDER_DEPTH;
    (void)take(search, &settings, GAIN);
    settings = search->best;
    settings.layout = settings.layout == LAYOUT_TILE ? LAYOUT_STAGE : LAYOUT_TILE;
    (void)take(search, &settings, GAIN);
    search_ways(search);
    settings = search->best;
    settings.cpu_share = 0;
    if (settings.ways == 4)
        (void)take(search, &settings, GAIN);
    settings = search->best;
    settings.hide = HIDE_NO; /* a launch less for each device and step */
    if (settings_has_halo(&settings) && settings_devices(&settings) > 1)
        (void)take(search, &settings, GAIN);
}

/* Tries a few tiles more or fewer for the CPU than the rates alone would give it, and finer
 * tiles, of which that is less. */
static void search_share(struct search *search)
{
    const struct settings base = search->best;
    if (base.ways != 4 || base.cpu_share >= 0)
        return;
    const uint32_t most = settings_tiles_are_given(&base) ? base.tiles : 4 * base.tiles;
    for (uint32_t tiles = base.tiles; tiles <= most; tiles *= 2) {
        struct settings settings = base;
        settings.tiles = tiles;
        if (!settings_tiles_fit(&settings, tiles))
            continue;
        int64_t even = plan_cpu_tiles(&settings, search->machine), few = tiles / 48 + 1;
        for (int64_t cpu = even - few; cpu <= even + 2 * few; cpu += few) {
            if (cpu < 1 || cpu >= tiles)
                continue;
            /* A share is tried as precisely as a fix's text says it (%g). */
            settings.cpu_share = round(1e6 * (double)cpu / tiles) / 1e6;
            (void)take(search, &settings, GAIN);
        }
    }
}

/* Turns back, one after another, what need not have been turned; `costs` gets what turning back
 * each of the others alone would cost. */
static void turn_back(struct search *search, int64_t costs[KNOB_COUNT])
{
    for (int knob = 0; knob < KNOB_COUNT; knob++) {
        struct settings settings = search->best;
        costs[knob] = 0;
        if (!whatif_is_turned((enum knob)knob, &search->given, &search->best))
            continue;
        whatif_turn((enum knob)knob, &search->given, &settings);
        int64_t time_ns = try_settings(search, &settings);
        if (time_ns != TIME_NONE && !gains(search->best_ns, time_ns, KEEP)) {
            search->best = settings;
            search->best_ns = time_ns;
            continue;
        }
        costs[knob] = time_ns == TIME_NONE ? search->best_ns : time_ns - search->best_ns;
    }
}

/* Turns again what would have gained much alone: where either of two turns is enough, both are
 * causes. */
static void turn_alternatives(struct search *search, const struct settings *all)
{
    int64_t given_ns = try_settings(search, &search->given);
    for (int knob = 0; knob < KNOB_COUNT; knob++) {
        struct settings alone = search->given, both = search->best;
        if (!whatif_is_turned((enum knob)knob, &search->given, all) ||
            whatif_is_turned((enum knob)knob, &search->given, &search->best))
            continue;
        whatif_turn((enum knob)knob, all, &alone);
        whatif_turn((enum knob)knob, all, &both);
        if (!gains(try_settings(search, &alone), given_ns, ALONE))
            continue;
        int64_t both_ns = try_settings(search, &both);
        if (both_ns == TIME_NONE || gains(search->best_ns, both_ns, KEEP))
            continue;
        search->best = both;
        search->best_ns = both_ns;
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
static void search_whole(struct search *search, struct settings *better)
{
    search->best = *better;
    search->best_ns = try_settings(search, better);
    if (settings_tiles_are_given(&search->given))
        search_ways(search);
    while (try_tiles(search, search->best.tiles / 2))
        continue;
    *better = search->best;
}

/* Looks for the best settings, and returns the number of knobs that are turned then, in order
 * of weight. */
static int search_better(struct search *search, struct whatif *whatif)
{
    int64_t costs[KNOB_COUNT];
    struct settings whole = search->given;
    uint32_t parts = shorten(&search->given);
    struct settings right = put_right(search);
    search->best = search->given;
    search->best_ns = try_settings(search, &search->given);
    int64_t right_ns = try_settings(search, &right);
    if (right_ns == TIME_NONE) { /* fewer and smaller buffers may fit */
        right.streams = STREAMS_GOOD;
        if (!settings_tiles_are_given(&right))
            right.tiles = settings_tiles_near(&right, TILES_FINE);
        right_ns = try_settings(search, &right);
    }
    if (right_ns != TIME_NONE) {
        search->best = right;
        search->best_ns = right_ns;
    }
    search_tiles(search);
    search_flips(search);
    search_tiles(search);
    search_share(search);
    const struct settings all = search->best;
    turn_back(search, costs);
    turn_alternatives(search, &all);
    whatif->better = search->best;
    whatif->better.elements = whole.elements;
    whatif->better.tiles = whatif_is_turned(KNOB_TILES, &search->best, &search->given)
                               ? settings_tiles_near(&whole, search->best.tiles * parts)
                               : whole.tiles;
    search->given = whole;
    if (parts > 1 && (settings_tiles_are_given(&whole) || whatif->better.tiles < whole.tiles))
        search_whole(search, &whatif->better);
    int count = 0;
    for (int knob = 0; knob < KNOB_COUNT; knob++) {
        if (!whatif_is_turned((enum knob)knob, &whole, &whatif->better))
            continue;
        int place = count++;
        for (; place > 0 && costs[whatif->turns[place - 1].knob] < costs[knob]; place--)
            whatif->turns[place] = whatif->turns[place - 1];
        whatif->turns[place] = (struct whatif_turn){.knob = (enum knob)knob};
    }
    return count;
}

/* --- the causes' parts --- */

/* Adds what each turn gains, one after another in their order or in the reverse one. A turn
 * that gains nothing where it comes costs nothing there; what it takes away, the next one gives
 * back. */
static void add_gains(struct search *search, struct whatif *whatif, bool reverse,
                      int64_t sums[KNOB_COUNT])
{
    struct settings settings = whatif->given;
    int64_t least_ns = whatif->given_ns;
    for (int i = 0; i < whatif->count; i++) {
        int at = reverse ? whatif->count - 1 - i : i;
        struct whatif_turn *turn = &whatif->turns[at];
        whatif_turn(turn->knob, &whatif->better, &settings);
        int64_t time_ns = whatif->better_ns;
        if (i + 1 < whatif->count)
            time_ns = i == 0 ? turn->fixed_ns : try_settings(search, &settings);
        if (time_ns == TIME_NONE || time_ns >= least_ns)
            continue;
        if (time_ns < whatif->better_ns)
            time_ns = whatif->better_ns;
        sums[at] += least_ns - time_ns;
        least_ns = time_ns;
    }
}

static void share_out(struct search *search, struct whatif *whatif)
{
    int64_t sums[KNOB_COUNT] = {0}, left_ns = whatif->given_ns - whatif->better_ns;
    for (int i = 0; i < whatif->count; i++) {
        struct settings settings = whatif->given;
        whatif_turn(whatif->turns[i].knob, &whatif->better, &settings);
        whatif->turns[i].fixed_ns =
            whatif->count > 1 ? try_settings(search, &settings) : whatif->better_ns;
        if (whatif->turns[i].fixed_ns == TIME_NONE)
            whatif->turns[i].fixed_ns = whatif->given_ns;
    }
    add_gains(search, whatif, false, sums);
    add_gains(search, whatif, true, sums);
    for (int i = 0; i < whatif->count; i++) {
        whatif->turns[i].cost_ns = sums[i] / 2;
        left_ns -= sums[i] / 2;
    }
    if (whatif->count > 0) /* the halves of odd numbers */
        whatif->turns[0].cost_ns += left_ns;
}

/* Finds what being short costs the better run. With tiles of any size, what filling and
 * draining costs falls with their number n, and what handing them over costs grows with it, so
 * at best both grow as the root of the array's size, and all else with the size. Of sixteen
 * times the elements in four times the tiles, a sixteenth of the time has a quarter of the
 * root's part. With the CPU, of which tiles are to be a whole number, finer ones may be better.
 * Where the tiles' size is the data's, there are sixteen times as many of them; all that then
 * weighs less is what the first and the last ones cost, in batches of four times the size. */
static void find_short(struct search *search, struct whatif *whatif)
{
    struct settings larger = whatif->better;
    const uint32_t times = settings_tiles_are_given(&larger) ? LARGER * LARGER : LARGER;
    if (larger.tiles > LARGER * SEARCH_TILES / (times / LARGER))
        return;
    larger.elements *= LARGER * LARGER;
    larger.tiles *= times;
    if (settings_tiles_are_given(&larger))
        larger.batch *= LARGER;
    int64_t time_ns = try_settings(search, &larger);
    larger.tiles *= 2;
    if (larger.ways == 4 && !settings_tiles_are_given(&larger))
        time_ns = earlier(time_ns, try_settings(search, &larger));
    int64_t saved_ns = whatif->better_ns - time_ns / (LARGER * LARGER);
    if (time_ns != TIME_NONE && saved_ns > 0)
        whatif->short_ns = saved_ns + saved_ns / (LARGER - 1);
}

enum status whatif_find(const struct settings *settings, const struct machine *machine,
                        struct whatif *whatif, struct error *error)
{
    struct search search = {.machine = machine, .given = *settings};
    struct whatif result = {0};
    search.given.device = NULL; /* the machine is given */
    if (search.given.connections == 0)
        search.given.connections = machine->queues;
    result.given = search.given;
    search.ops_most = search.given.tiles > 2 * SEARCH_TILES ? OPS_MOST : OPS_TRIED_WHOLE;
    enum status status =
        simulate(&search.given, machine, search.ops_most, &result.given_ns, error);
    if (status != STATUS_OK)
        return status;
    result.count = search_better(&search, &result);
    result.better_ns =
        result.count > 0 ? try_settings(&search, &result.better) : result.given_ns;
    if (result.better_ns == TIME_NONE || result.better_ns >= result.given_ns) {
        result.count = 0;
        result.better = result.given;
        result.better_ns = result.given_ns;
    }
    share_out(&search, &result);
    find_short(&search, &result);
    if (search.why.status != STATUS_OK)
        return error_pass(error, &search.why);
    *whatif = result;
    return STATUS_OK;
}

int whatif_best(const struct whatif *whatif, enum knob turns[KNOB_COUNT])
{
    int best = 0;
    for (int i = 1; i < whatif->count; i++)
        best = whatif->turns[i].fixed_ns < whatif->turns[best].fixed_ns ? i : best;
    if (whatif->count == 0 || !gains(whatif->better_ns, whatif->given_ns, GAIN))
        return 0;
    bool alone = !gains(whatif->better_ns, whatif->turns[best].fixed_ns, GAIN);
    for (int i = 0; i < whatif->count && !alone; i++)
        turns[i] = whatif->turns[i].knob;
    if (alone)
        turns[0] = whatif->turns[best].knob;
    return alone ? 1 : whatif->count;
}
