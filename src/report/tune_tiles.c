/* tune_tiles.c - tries tiles and streams in the simulator, coarsely and then around the best.
 *
 * The least time that a number of tiles can take is known without simulating: the limit, and
 * the host's time to issue them. Once a trial came near to that, no other with as many tiles is
 * made; most of the large numbers of tiles, which are dear to simulate, are saved that way. The
 * choice doesn't depend on how fast the host is, so it is the same everywhere. */
#include "report/tune.h"

#include "analysis/limit.h"
#include "core/units.h"
#include "plan/build.h"
#include "plan/rules.h"
#include "plan/timeline.h"
#include "sim/simulator.h"

#include <inttypes.h>
#include <math.h>

enum {
    TILES_MOST = 1024,       /* of a trial; where more are given, so many stand for all */
    STREAMS_MOST = 32,       /* of a trial, unless more are given */
    TILE_BYTES_LEAST = 4096, /* a smaller copy is all latency */
    LAUNCHES_MOST = 65536,   /* of a trial; but TILES_LEAST tiles may have more */
    TILES_LEAST = 16,        /* so many tiles or batches are tried, however dear each is */
    COPIES_MOST = 32768,     /* tiles of a trial whose batches have several, each a copy */
    TRIALS_MAX = 256,
    OPS_MOST = 60000,    /* of all trials, some 25 ms: beyond it no further trial begins */
    OPS_TRIALS = 8,      /* so many trials of TILES_LEAST tiles may take more ops, */
    OPS_LIMIT = 2000000, /* up to this number: about a second */
    WORTH = 200,         /* a trial is made only for a gain of a 200th or more */
    TIES = 1000,         /* times that differ by a thousandth are alike */
    FINEST = 16,         /* the search's last steps are a sixteenth */
};

/* The time of a trial that can't be run. */
static const int64_t TIME_NONE = INT64_MAX;

struct trial {
    uint32_t tiles, streams;
    int64_t time_ns;
};

struct tuner {
    const struct settings *whole; /* the run's */
    struct settings settings;     /* its first tiles, with the tiles and streams of the trial */
    const struct machine *machine;
    tune_accept *accept;
    uint32_t given_tiles, given_streams; /* 0: to be chosen */
    uint32_t tiles_least, tiles_most;
    uint64_t ops_most;
    struct trial trials[TRIALS_MAX];
    uint32_t count;
    uint64_t ops;       /* simulated so far */
    struct trial best;  /* time_ns is TIME_NONE before the first */
    struct error error; /* of the first trial that could not be simulated */
    bool starved;       /* memory ran out: no further trial begins */
};

/* --- the least time that a number of tiles can take --- */

/* Returns the least time of the host to pack and unpack the tiles. */
static double pack_floor_ns(const struct machine *machine, const struct plan *plan)
{
    const struct kernel *last = plan_last_kernel(plan);
    const size_t in = dtype_bytes(plan->chain[0]->in);
    const size_t out = last->shape == KERNEL_REDUCE ? 0 : dtype_bytes(last->out);
    return 2e9 * (double)plan->elements * (double)(in + out) / machine->pack_bytes_per_s;
}

/* Returns the least time in which a graph is launched and taken up. One without copies may
 * still be handed over node by node, for the sake of callbacks. */
static int64_t graph_floor_ns(const struct machine *machine, int64_t nodes, bool copies)
{
    int64_t floor_ns[2];
    for (int by_node = 0; by_node < 2; by_node++)
        floor_ns[by_node] = rule_graph_launch_ns(machine, (uint32_t)nodes, by_node) +
                            nodes * rule_graph_node_ns(machine, by_node);
    if (!rule_graph_by_node(machine, OP_H2D))
        return floor_ns[false];
    return copies ? floor_ns[true] : earlier(floor_ns[false], floor_ns[true]);
}

/* Returns the least time of the host: to issue each batch's copies and kernels, which are a
 * tile's where tiles go alone; to issue one graph, whose nodes the device then takes up one by
 * one; to pack tiles. */
static int64_t host_floor_ns(const struct machine *machine, const struct plan *plan)
{
    int64_t tiles = plan->tiles - plan->cpu_tiles, batches = plan_batches(plan);
    int64_t copies = plan_kernels_move_bytes(plan) ? 0 : 1;
    int64_t launches = /* a stencil's are not each tile's */
        plan->has_halo
            ? 0
            : (int64_t)kernel_chain_launches(plan->chain, plan->chain_length, &plan->params);
    int64_t nodes = batches * (2 * copies + launches);
    if (plan->issue == ISSUE_GRAPH)
        return graph_floor_ns(machine, nodes, copies > 0);
    int64_t copy_ns = rule_issue_ns(machine, OP_H2D) + rule_issue_ns(machine, OP_D2H);
    int64_t floor_ns =
        batches * (copies * copy_ns + launches * rule_issue_ns(machine, OP_KERNEL));
    if (plan->packs)
        floor_ns += (int64_t)pack_floor_ns(machine, plan);
    else if (batches < tiles)
        floor_ns += copies * tiles * machine->issue_batch_copy_ns;
    return floor_ns;
}

/* Returns the least time in which a pipeline with these batches fills, works and drains:
 * whatever takes longest, a batch goes through the other stages before its first and behind its
 * last. Of several devices that batches are dealt over one has an even part or more. */
static int64_t fill_floor_ns(const struct machine *machine, const struct plan *plan)
{
    const struct kernel *last = plan_last_kernel(plan);
    const uint32_t devices = plan_gpus(plan);
    const double batches = ceil((double)plan_batches(plan) / devices);
    const double elements = (double)plan->elements / devices;
    double kernels_ns = 0;
    if (plan_kernels_move_bytes(plan) || plan->cpu_helps || plan->by_link || plan->has_halo)
        return 0;
    for (int i = 0; i < plan->chain_length; i++)
        kernels_ns +=
            machine_kernel_ns(machine, plan->chain[i], &plan->params, plan->elements) / devices;
    double in_ns =
        1e9 * elements * (double)dtype_bytes(plan->chain[0]->in) / machine->h2d_bytes_per_s;
    double out_ns =
        last->shape == KERNEL_REDUCE
            ? 0
            : 1e9 * elements * (double)dtype_bytes(last->out) / machine->d2h_bytes_per_s;
    double longest_ns = fmax(fmax(in_ns, out_ns), kernels_ns);
    double sum_ns = in_ns + out_ns + kernels_ns;
    return machine_round_ns(longest_ns + (sum_ns - longest_ns) / (batches + 1));
}

int64_t tune_floor_ns(const struct settings *settings, const struct machine *machine)
{
    struct plan plan = plan_outline(settings, machine);
    int64_t limit_ns = limit_of(machine, &plan).ns;
    int64_t floor_ns = later(host_floor_ns(machine, &plan), fill_floor_ns(machine, &plan));
    return later(limit_ns, floor_ns);
}

/* --- trials --- */

static uint64_t count_ops(const struct plan *plan)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        count += rule_copies(plan, &plan->ops[i]);
    return count;
}

enum status tune_simulate(const struct settings *settings, const struct machine *machine,
                          tune_accept *accept, int64_t *time_ns, uint64_t *ops,
                          struct error *error)
{
    struct plan plan;
    char text[UNITS_TEXT];
    enum status status = plan_build(settings, machine, &plan, error);
    if (status != STATUS_OK)
        return status;
    *ops += count_ops(&plan);
    if (plan_device_bytes(&plan) / plan_gpus(&plan) > machine->memory_bytes)
        status = error_set(error, STATUS_FAILED,
                           "with %" PRIu32 " tiles in %" PRIu32 " streams the plan needs %s of "
                           "device memory, more than %s has",
                           settings->tiles, settings->streams,
                           units_bytes(plan_device_bytes(&plan) / plan_gpus(&plan), text),
                           machine->name);
    else if (accept != NULL)
        status = accept(&plan, settings, error);
    if (status == STATUS_OK)
        status = simulator_time(machine, 0, &plan, time_ns, error);
    plan_free(&plan);
    return status;
}

static bool is_tried(const struct tuner *tuner, uint32_t tiles, uint32_t streams)
{
    for (uint32_t i = 0; i < tuner->count; i++) {
        if (tuner->trials[i].tiles == tiles && tuner->trials[i].streams == streams)
            return true;
    }
    return false;
}

/* Returns the tiles of a batch of the settings in `streams` streams; 0, which stands for auto,
 * where tiles go alone. */
static uint32_t batch_of(const struct settings *settings, uint32_t streams)
{
    struct settings trial = *settings;
    trial.streams = streams;
    return settings->issue == ISSUE_BATCH || settings->pack ? settings_batch(&trial) : 0;
}

static void try_settings(struct tuner *tuner, uint32_t tiles, uint32_t streams);

/* Tries the nearest number of tiles of one size in the place of a trial that is not accepted:
 * that may be for the sake of tiles of two. */
static void try_even(struct tuner *tuner, struct trial trial)
{
    const uint64_t elements = tuner->settings.elements;
    if (elements % trial.tiles == 0)
        return;
    for (uint32_t by = 1; by < trial.tiles; by++) {
        const uint32_t near[] = {trial.tiles - by, trial.tiles + by};
        for (int i = 0; i < 2; i++) {
            if (elements % near[i] == 0 && settings_tiles_fit(&tuner->settings, near[i])) {
                try_settings(tuner, near[i], trial.streams);
                return;
            }
        }
    }
}

/* Simulates a trial; tiles or streams that were given replace those asked for. Nothing is
 * simulated twice, nor what is no setting, nor what can't be better than the best. More streams
 * than tiles would be as good as one for each tile. */
static void try_settings(struct tuner *tuner, uint32_t tiles, uint32_t streams)
{
    struct trial trial = {tiles, streams, TIME_NONE};
    if (tuner->given_tiles > 0)
        trial.tiles = tuner->given_tiles;
    else
        trial.tiles = settings_tiles_near(
            &tuner->settings, /* each of several devices needs one */
            trial.tiles < tuner->tiles_least ? tuner->tiles_least : trial.tiles);
    if (tuner->given_streams > 0)
        trial.streams = tuner->given_streams;
    else if (trial.streams > trial.tiles || trial.streams > STREAMS_MOST)
        return;
    if (trial.tiles < tuner->tiles_least || trial.tiles > tuner->tiles_most ||
        trial.tiles > tuner->settings.elements || trial.streams < 1 || tuner->starved ||
        tuner->count == TRIALS_MAX || tuner->ops > tuner->ops_most ||
        !settings_tiles_fit(&tuner->settings, trial.tiles) ||
        is_tried(tuner, trial.tiles, trial.streams))
        return;
    tuner->settings.tiles = trial.tiles;
    tuner->settings.streams = trial.streams;
    int64_t worth_ns = tuner->best.time_ns - tuner->best.time_ns / WORTH;
    if (tuner->settings.tiles < tuner->whole->tiles)
        tuner->settings.batch = batch_of(tuner->whole, trial.streams);
    if (tune_floor_ns(&tuner->settings, tuner->machine) >= worth_ns)
        return;
    struct error why = {0};
    enum status status = tune_simulate(&tuner->settings, tuner->machine, tuner->accept,
                                       &trial.time_ns, &tuner->ops, &why);
    if (tuner->error.status == STATUS_OK)
        tuner->error = why;
    tuner->starved |= status == STATUS_NO_MEMORY;
    if (status != STATUS_OK)
        trial.time_ns = TIME_NONE;
    tuner->trials[tuner->count++] = trial;
    if (trial.time_ns < tuner->best.time_ns)
        tuner->best = trial;
    if (status == STATUS_USAGE && tuner->accept != NULL && tuner->given_tiles == 0)
        try_even(tuner, trial);
}

/* --- the search --- */

/* Tries a coarse grid from its middle outwards, so that good settings are known early. The
 * climb that follows may go beyond its ends. */
static void try_coarsely(struct tuner *tuner)
{
    static const uint32_t tiles[] = {16, 64, 4, 256}, streams[] = {1, 2, 4, 8, 32};
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        for (size_t j = 0; j < sizeof streams / sizeof streams[0]; j++)
            try_settings(tuner, tiles[i], streams[j]);
    }
}

/* Tries, in 4-way, numbers of tiles of which the CPU's share is about a whole number: CPU and
 * GPU then end together, and numbers in between are worse. */
static void try_whole_shares(struct tuner *tuner)
{
    struct settings fine = tuner->settings;
    fine.tiles = 1 << 20;
    double share = (double)plan_cpu_tiles(&fine, tuner->machine) / fine.tiles;
    for (int cpu_tiles = 1; cpu_tiles <= 4 && cpu_tiles <= share * TILES_MOST; cpu_tiles++) {
        for (uint32_t streams = 2; streams <= 8; streams *= 2)
            try_settings(tuner, (uint32_t)lround(cpu_tiles / share), streams);
    }
}

/* Returns the number one step up or down: by one part of `parts`, and by one at least. */
static uint32_t step(uint32_t number, int direction, uint32_t parts)
{
    uint32_t up = number / parts, down = number / (parts + 1);
    if (direction == 0)
        return number;
    return direction > 0 ? number + (up > 0 ? up : 1) : number - (down > 0 ? down : 1);
}

static void try_around(struct tuner *tuner, struct trial centre, uint32_t parts)
{
    for (int tiles = -1; tiles <= 1; tiles++) {
        for (int streams = -1; streams <= 1; streams++)
            try_settings(tuner, step(centre.tiles, tiles, parts),
                         step(centre.streams, streams, parts));
    }
}

/* Climbs from the best of the grid in ever smaller steps. */
static void search(struct tuner *tuner)
{
    try_coarsely(tuner);
    try_whole_shares(tuner);
    for (uint32_t parts = 1; parts <= FINEST; parts *= 2) {
        int64_t before_ns;
        do {
            before_ns = tuner->best.time_ns;
            try_around(tuner, tuner->best, parts);
        } while (tuner->best.time_ns < before_ns);
    }
}

/* Chooses, among trials as good as the best, the one with the fewest streams and then tiles. */
static struct trial choose(const struct tuner *tuner)
{
    struct trial chosen = tuner->best;
    int64_t most_ns = tuner->best.time_ns + tuner->best.time_ns / TIES;
    for (uint32_t i = 0; i < tuner->count; i++) {
        struct trial trial = tuner->trials[i];
        bool fewer = trial.streams < chosen.streams ||
                     (trial.streams == chosen.streams && trial.tiles < chosen.tiles);
        if (trial.time_ns <= most_ns && fewer)
            chosen = trial;
    }
    return chosen;
}

static uint64_t launches_of_tile(const struct settings *settings)
{
    const struct kernel_params params = settings_params(settings);
    return kernel_chain_launches(settings->chain, settings->chain_length, &params);
}

uint32_t tune_tiles_most(const struct settings *settings)
{
    const uint32_t batch = settings->tiles > 0 ? batch_of(settings, settings->streams) : 1;
    const uint64_t launches = launches_of_tile(settings);
    uint64_t most = (batch > 1 ? COPIES_MOST / batch : LAUNCHES_MOST) / launches;
    most = most < TILES_LEAST ? TILES_LEAST : most > TILES_MOST ? TILES_MOST : most;
    return (uint32_t)(batch > 1 ? most * batch : most);
}

/* Returns the ops of all trials together: of the many launches that a tile may have, a
 * `part`th.
 */
static uint64_t ops_most(const struct settings *settings, uint32_t part)
{
    const uint64_t launches = TILES_LEAST * launches_of_tile(settings) / part;
    const uint64_t copies = settings->issue == ISSUE_BATCH ? 3 * settings->tiles : 0;
    const uint64_t most = OPS_TRIALS * (launches > copies ? launches : copies);
    return most < OPS_MOST ? OPS_MOST : most > OPS_LIMIT ? OPS_LIMIT : most;
}

struct settings tune_shorten(const struct settings *settings, uint32_t tiles)
{
    struct settings first = *settings;
    if (settings->tiles <= tiles)
        return first;
    first.batch = batch_of(settings, settings->streams);
    first.elements = settings->elements / settings->tiles * tiles;
    first.tiles = tiles;
    return first;
}

static uint32_t tiles_most(const struct settings *settings)
{
    uint64_t most = settings->elements * dtype_bytes(settings->chain[0]->in) / TILE_BYTES_LEAST;
    const uint32_t tried = tune_tiles_most(settings);
    if (settings->tiles > 0)
        return settings->tiles;
    if (most < settings_devices(settings))
        return settings_devices(settings);
    return most < 1 ? 1 : most > tried ? tried : (uint32_t)most;
}

/* Adds the fastest trial with each number of streams to the finalists. */
static void add_finalists(const struct tuner *tuner, const struct settings *settings,
                          struct finalists *finalists)
{
    for (uint32_t i = 0; i < tuner->count; i++) {
        const struct trial trial = tuner->trials[i];
        bool fastest = trial.time_ns != TIME_NONE;
        for (uint32_t j = 0; j < tuner->count && fastest; j++)
            fastest = tuner->trials[j].streams != trial.streams ||
                      tuner->trials[j].time_ns >= trial.time_ns;
        struct settings tried = *settings;
        tried.tiles = trial.tiles;
        tried.streams = trial.streams;
        if (fastest)
            finalists_add(finalists, &tried, trial.time_ns);
    }
}

enum status tune_tiles(struct settings *settings, const struct machine *machine,
                       tune_accept *accept, uint32_t part, struct tuned *tuned,
                       struct error *error)
{
    struct tuner tuner = {.whole = settings,
                          .settings = tune_shorten(settings, tune_tiles_most(settings)),
                          .machine = machine,
                          .accept = accept,
                          .best = {1, 1, TIME_NONE}};
    tuner.given_tiles = tuner.settings.tiles;
    tuner.given_streams = tuner.settings.streams;
    tuner.tiles_least = settings_by_link(settings) ? 1 : settings_devices(settings);
    tuner.tiles_most = tiles_most(&tuner.settings);
    tuner.ops_most = ops_most(&tuner.settings, part);
    search(&tuner);
    if (tuner.starved)
        return error_no_memory(error, "to choose tiles and streams");
    if (tuner.best.time_ns == TIME_NONE && tuner.error.status == STATUS_OK)
        return error_set(error, STATUS_USAGE,
                         "--tiles=auto: no number of tiles cuts the array so that each of the "
                         "%" PRIu32 " devices has one",
                         settings_devices(settings));
    if (tuner.best.time_ns == TIME_NONE)
        return error_pass(error, &tuner.error);
    struct trial chosen = choose(&tuner);
    if (settings->tiles == 0)
        settings->tiles = chosen.tiles;
    if (settings->streams == 0)
        settings->streams = chosen.streams;
    *tuned = (struct tuned){
        .tiles = settings->tiles,
        .streams = settings->streams,
        .time_ns = chosen.time_ns,
        .candidates = tuner.count,
    };
    if (tuner.settings.elements == settings->elements) /* all tiles were simulated */
        add_finalists(&tuner, settings, &tuned->finalists);
    return STATUS_OK;
}
