/* bench_small_tiles.c - every way to bring tiles to the device and back, over sizes of tiles,
 * and what --issue=auto takes, against bare copies of the whole.
 *
 * All ways run in turn, and the bare copies with them; each round begins with another one, so
 * that all find the machine alike. The first round warms up and verifies every result. A way
 * that is far behind leaves after a few rounds: its ratio is plain by then, and it would take
 * most of the time. On a simulated machine, whose times don't vary, the least time that it
 * allows stands for the bare copies, and nothing has bytes. */
#include "bench/bench.h"

#include "analysis/limit.h"
#include "core/units.h"
#include "report/reference.h"
#include "report/tune.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    AUTO = WAY_COUNT, /* behind the ways that are taken by hand */
    RUNS,
    BARE = RUNS, /* behind the runs */
    TURNS,
    STREAMS = 4,
    SIZES_MAX = 16,
    FEW_ROUNDS = 3, /* what a way is measured at least */
};

static const double BEST_GOAL = 1.12, BEST_APART_GOAL = 1.2, BATCH_GOAL = 1.6, CALLS_GOAL = 5,
                    AUTO_GOAL = 1.05, FAR_BEHIND = 5; /* times the best's median */

static const char *const options[RUNS] = {
    [WAY_STAGED] = "--issue=streams --layout=stage --memory=pinned",
    [WAY_STREAMS] = "--issue=streams --memory=pinned",
    [WAY_GRAPH] = "--issue=graph --memory=pinned",
    [WAY_BATCH] = "--issue=batch --memory=pinned",
    [WAY_STAGED_BATCH] = "--issue=batch --layout=stage --memory=pinned",
    [WAY_MAPPED] = "--issue=streams --memory=mapped",
    [WAY_MAPPED_GRAPH] = "--issue=graph --memory=mapped",
    [WAY_MAPPED_BATCH] = "--issue=batch --memory=mapped",
    [WAY_PACK] = "--pack --memory=pinned",
    [AUTO] = "--issue=auto",
};

static const char *turn_name(int turn)
{
    return turn < WAY_COUNT ? issue_ways[turn].name : turn == AUTO ? "auto" : "bare copies";
}

/* All that is measured with one layout of the host's memory. */
struct small_tiles {
    struct bench *bench;
    const char *device;
    bool simulated, apart;
    uint64_t bytes;
};

/* The results of one size of tiles. */
struct size_results {
    uint64_t tile;
    struct bench_run runs[RUNS];
    bool can[RUNS]; /* false: the device can't run it */
    enum issue_way chosen;
    struct series times_ms[TURNS];
    struct bare_copies *bare; /* NULL before the first */
};

/* --- one size --- */

/* Chooses as the program does. */
static enum status choose(struct bench_run *run, enum issue_way *chosen, struct error *error)
{
    struct machine machine;
    struct tuned tuned;
    const bool simulated = !run->ops->measures;
    enum status status = reference_machine(
        NULL, &run->machine, simulated, simulated ? 0 : run->machine.queues, &machine, error);
    if (status != STATUS_OK)
        return status;
    reference_restrict(&machine, &run->machine, run->ops, run->backend);
    status = tune_settings(&run->settings, &machine, NULL, &tuned, error);
    if (status == STATUS_OK)
        *chosen = tuned.way;
    return status;
}

/* Prepares one way. One that the device can't run is left out, which is no error. */
static enum status open_run(const struct small_tiles *all, struct size_results *size, int way,
                            struct error *error)
{
    struct bench_run *run = &size->runs[way];
    struct error why = {0};
    char arguments[256];
    snprintf(arguments, sizeof arguments, "--device=%s %s -n %llu -t %llu -s %d %s%s",
             all->device, all->simulated ? "--no-data" : "",
             (unsigned long long)(all->bytes / sizeof(float)),
             (unsigned long long)(all->bytes / size->tile), STREAMS, options[way],
             all->apart ? " --scatter" : "");
    enum status status = bench_run_describe(run, arguments, error);
    if (status == STATUS_OK && way == AUTO)
        status = choose(run, &size->chosen, error);
    if (status != STATUS_OK)
        return status;
    status = bench_run_prepare(run, &why);
    size->can[way] = status == STATUS_OK;
    if (status != STATUS_OK && status != STATUS_USAGE)
        return error_pass(error, &why);
    return STATUS_OK;
}

static enum status run_turn(const struct small_tiles *all, struct size_results *size, int turn,
                            bool verify, double *time_ms, struct error *error)
{
    struct run_times times = {0};
    struct bench_run *run = &size->runs[turn == BARE ? WAY_STREAMS : turn];
    if (turn == BARE && all->simulated) {
        *time_ms = 1e-6 * (double)limit_of(&run->machine, &run->plan).ns;
        return STATUS_OK;
    }
    if (turn == BARE)
        return bench_cuda_bare(&size->bare, run, all->bytes, time_ms, error);
    enum status status = verify ? bench_run_once(run, NULL, &times, error)
                                : run->ops->run(run->backend, NULL, &times, error);
    *time_ms = 1e-6 * (double)times.time_ns;
    return status;
}

/* Returns the way with the least median. */
static int best_way(const struct size_results *size)
{
    int best = WAY_STREAMS;
    for (int way = 0; way < WAY_COUNT; way++) {
        if (size->can[way] &&
            series_median(&size->times_ms[way]) < series_median(&size->times_ms[best]))
            best = way;
    }
    return best;
}

/* Tells whether a way needs no further round. What --issue=auto takes and the bare copies stay,
 * for the others are held against them. */
static bool has_left(const struct size_results *size, int turn)
{
    const struct series *times = &size->times_ms[turn];
    return turn < WAY_COUNT && times->count >= FEW_ROUNDS &&
           series_median(times) > FAR_BEHIND * series_median(&size->times_ms[best_way(size)]);
}

static enum status measure_rounds(const struct small_tiles *all, struct size_results *size,
                                  struct error *error)
{
    const int repeats = all->simulated ? 1 : all->bench->repeats;
    enum status status = STATUS_OK;
    for (int round = -1; round < repeats && status == STATUS_OK; round++) {
        for (int i = 0; i < TURNS && status == STATUS_OK; i++) {
            const int turn = (round + 1 + i) % TURNS;
            double time_ms;
            if ((turn != BARE && !size->can[turn]) || has_left(size, turn))
                continue;
            status = run_turn(all, size, turn, round < 0, &time_ms, error);
            if (round >= 0 && status == STATUS_OK)
                series_add(&size->times_ms[turn], time_ms);
        }
    }
    return status;
}

static enum status measure_size(const struct small_tiles *all, struct size_results *size,
                                struct error *error)
{
    enum status status = STATUS_OK;
    for (int way = 0; way < RUNS && status == STATUS_OK; way++)
        status = open_run(all, size, way, error);
    if (status == STATUS_OK)
        status = measure_rounds(all, size, error);
    bench_cuda_bare_close(size->bare);
    for (int way = 0; way < RUNS; way++)
        bench_run_close(&size->runs[way]);
    return status;
}

/* --- what came of it --- */

static void name_layout(const struct small_tiles *all, char text[64])
{
    char bytes[UNITS_TEXT];
    snprintf(text, 64, "%s each way, %s", units_bytes(all->bytes, bytes),
             all->apart ? "scattered" : "contiguous");
}

/* Prints a row of the columns' names: of those of two words the first, or the last of each. */
static void print_names(FILE *out, const char *size, bool first)
{
    fprintf(out, "  %-7s", size);
    for (int i = 0; i < TURNS; i++) {
        const char *name = turn_name((BARE + i) % TURNS), *blank = strchr(name, ' ');
        const char *last = blank != NULL ? blank + 1 : name;
        const int length = blank != NULL ? (int)(blank - name) : 0;
        fprintf(out, " %8.*s", first ? length : 8, first ? name : last);
    }
    fputs(first ? "\n" : "  auto took\n", out);
}

static void print_heading(const struct small_tiles *all)
{
    FILE *out = all->bench->out;
    char layout[64];
    if (out == NULL)
        return;
    name_layout(all, layout);
    fprintf(out, "\n%s, %d streams, ms (medians)\n", layout, STREAMS);
    print_names(out, "", true);
    print_names(out, "tile", false);
}

/* Prints a size's times as a row, and keeps them. */
static void print_size(const struct small_tiles *all, const struct size_results *size)
{
    FILE *out = all->bench->out;
    char layout[64], tile[UNITS_TEXT], name[160];
    name_layout(all, layout);
    units_bytes(size->tile, tile);
    if (out != NULL)
        fprintf(out, "  %-7s", tile);
    for (int i = 0; i < TURNS; i++) {
        const int turn = (BARE + i) % TURNS; /* the bare copies first */
        const bool can = turn == BARE || size->can[turn];
        if (out != NULL && can)
            fprintf(out, " %8.4g", series_median(&size->times_ms[turn]));
        else if (out != NULL)
            fprintf(out, " %8s", "-");
        snprintf(name, sizeof name, "%s, tiles of %s: %s", layout, tile, turn_name(turn));
        if (can)
            bench_keep(all->bench, name, &size->times_ms[turn], "ms", GOAL_NONE, 0);
    }
    if (out != NULL) {
        fprintf(out, "  %s\n", issue_ways[size->chosen].name);
        fflush(out);
    }
}

/* Holds one turn's times against another's, repeat by repeat, as far as both were measured. */
static void print_ratio(const struct small_tiles *all, const struct size_results *size,
                        const char *what, int turn, int over, enum goal goal, double target)
{
    const struct series *times = &size->times_ms[turn], *others = &size->times_ms[over];
    struct series ratios = {0};
    char tile[UNITS_TEXT], name[192];
    for (int i = 0; i < times->count && i < others->count; i++)
        series_add(&ratios, times->values[i] / others->values[i]);
    snprintf(name, sizeof name, "%s, %s: %s", all->apart ? "scattered" : "contiguous",
             units_bytes(size->tile, tile), what);
    if (ratios.count > 0)
        bench_result(all->bench, name, &ratios, "", goal, target);
}

/* Prints the ratios of one size. A simulated machine has to keep to none but auto's, for bare
 * copies are a device's. */
static void print_ratios(const struct small_tiles *all, const struct size_results *size)
{
    const enum goal at_most = all->simulated ? GOAL_NONE : GOAL_AT_MOST;
    const int best = best_way(size);
    char what[64];
    snprintf(what, sizeof what, "%s, the best, over bare", turn_name(best));
    if (size->tile == 64 << 10)
        print_ratio(all, size, what, best, BARE, at_most,
                    all->apart ? BEST_APART_GOAL : BEST_GOAL);
    if (size->tile == 64 << 10 && size->can[WAY_BATCH])
        print_ratio(all, size, "batch over bare", WAY_BATCH, BARE, at_most, BATCH_GOAL);
    if (size->tile == 8 << 10 && size->can[WAY_BATCH])
        print_ratio(all, size, "streams over batch", WAY_STREAMS, WAY_BATCH,
                    all->simulated ? GOAL_NONE : GOAL_AT_LEAST, CALLS_GOAL);
    print_ratio(all, size, "auto over the best", AUTO, best, GOAL_AT_MOST, AUTO_GOAL);
}

/* Returns the bytes each way: less where all arrays together would take more than half of the
 * host's memory. */
static uint64_t bytes_each_way(const struct bench *bench, bool simulated)
{
    uint64_t bytes = bench->quick ? UINT64_C(64) << 20 : UINT64_C(1) << 30;
    const uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    while (!simulated && bytes > 64 << 20 && 2 * RUNS * bytes > host / 2)
        bytes /= 2;
    return bytes;
}

static enum status measure(struct bench *bench, const char *device, bool simulated, bool apart,
                           struct error *error)
{
    const struct small_tiles all = {bench, device, simulated, apart,
                                    bytes_each_way(bench, simulated)};
    struct size_results sizes[SIZES_MAX];
    enum status status = STATUS_OK;
    int count = 0;
    print_heading(&all);
    /* The smallest tiles take longest: a measurement that is ended early has the others. */
    const uint64_t least = bench->quick ? 8 << 10 : 4 << 10;
    for (uint64_t tile = 32 << 20; tile >= least; tile /= bench->quick ? 8 : 2) {
        struct size_results *size = &sizes[count++];
        *size = (struct size_results){.tile = tile};
        status = measure_size(&all, size, error);
        if (status != STATUS_OK)
            return status;
        print_size(&all, size);
    }
    bench_heading(bench, apart ? "ratios, tiles scattered" : "ratios, tiles contiguous");
    for (int i = 0; i < count; i++)
        print_ratios(&all, &sizes[i]);
    return STATUS_OK;
}

enum status bench_small_tiles(struct bench *bench, struct error *error)
{
    return measure(bench, "cuda", false, false, error);
}

enum status bench_scattered_tiles(struct bench *bench, struct error *error)
{
    return measure(bench, "cuda", false, true, error);
}

enum status bench_small_tiles_sim(struct bench *bench, struct error *error)
{
    enum status status = measure(bench, "sim:h200", true, false, error);
    return status == STATUS_OK ? measure(bench, "sim:h200", true, true, error) : status;
}
