/* host.c - what calls, memory and graphs cost the host. */
#include "calibrate/rig.h"
#include "kernels/kernel_code.h"

#include <math.h>
#include <string.h>

enum {
    CALLS = 512, /* a queue holds more, so that no call waits */
    STREAMS = 4,
    TINY_BYTES = 4 << 10,
    DEEP = 4096,
};

/* Measures what each kind of call costs. In a pipeline a copy's or a launch's call takes longer
 * than in a row of alike ones, for it finds the caches as another kind left them. So these are
 * scaled to what they take together, in the order of a tile ("hkd"). An event's call costs so
 * little that the difference of two such rows would say nothing of it: it stands as measured by
 * itself, and calibrate_checks() holds it against a row of tiles joined by events. Callbacks
 * are held back, for a thread of the driver that wakes for one makes the next call longer. */
static void measure_calls(struct rig *rig)
{
    static const struct {
        const char *steps;
        uint32_t count;
    } rows[] = {{"h", CALLS},  {"k", CALLS},     {"r", CALLS},
                {"rw", CALLS}, {"c", CALLS / 4}, {"hkd", CALLS}};
    enum { COPY, KERNEL, RECORD, BOTH, CALLBACK, TILE, ROWS };
    struct measured of[ROWS];
    for (int i = 0; i < ROWS; i++) {
        struct row row = {.steps = rows[i].steps,
                          .count = rows[i].count,
                          .streams = STREAMS,
                          .bytes = TINY_BYTES,
                          .gate = i == CALLBACK,
                          SMALL_KERNEL};
        rig_step(rig, &row, &of[i]);
    }
    double alone = 2 * of[COPY].ns + of[KERNEL].ns;
    double scale = alone > 0 ? of[TILE].ns / alone : 1;
    char how[FIGURE_TEXT];
    snprintf(how, sizeof how, "512 calls in 4 streams, times %.2f: as among a tile's", scale);
    rig_found(rig, "issue_copy_ns", scale * of[COPY].ns, of[COPY], how);
    rig_found(rig, "issue_kernel_ns", scale * of[KERNEL].ns, of[KERNEL], how);
    rig_found(rig, "issue_record_ns", of[RECORD].ns, of[RECORD], "512 calls in 4 streams");
    rig_found(rig, "issue_wait_ns", of[BOTH].ns - of[RECORD].ns, of[BOTH],
              "512 records and waits in 4 streams, less the records");
    rig_found(rig, "issue_callback_ns", of[CALLBACK].ns, of[CALLBACK],
              "128 calls in 4 streams, of which none is called meanwhile");
}

/* A time that is linear in bytes. */
struct line {
    double fixed_ns, byte_ns;
    struct measured small, large;
};

/* Finds it by two sizes of the row's op. */
static struct line measure_line(struct rig *rig, struct row row, uint64_t small, uint64_t large)
{
    struct line line;
    row.bytes = small;
    line.small = rig_step(rig, &row, NULL);
    row.bytes = large;
    line.large = rig_step(rig, &row, NULL);
    line.byte_ns = fmax(0, line.large.ns - line.small.ns) / (double)(large - small);
    line.fixed_ns = line.small.ns - line.byte_ns * (double)small;
    return line;
}

/* Measures what memory costs. Small pieces of the device's are taken beside the scratch memory
 * of a reduction, lest each be the driver's first. */
static void measure_memory(struct rig *rig)
{
    enum { COUNT = 32, MIB = 1 << 20, LITTLE = 128 << 10 };
    const struct row smalls = {.steps = "a",
                               .count = 4 * COUNT,
                               .bytes = TINY_BYTES,
                               .kernel = kernel_find("sum")},
                     allocs = {.steps = "a", .count = COUNT},
                     pins = {.steps = "p", .count = COUNT / 4};
    const struct measured small = rig_step(rig, &smalls, NULL);
    const struct line alloc = measure_line(rig, allocs, 4 * MIB, 32 * MIB),
                      pinned = measure_line(rig, pins, LITTLE, 16 * MIB);
    rig_found(rig, "alloc_small_ns", small.ns, small, "cudaMalloc() of 4 KiB and cudaFree()");
    rig_found(rig, "alloc_ns", alloc.fixed_ns, alloc.small, "likewise of 4 MiB, less the size");
    rig_found(rig, "alloc_mib_ns", MIB * alloc.byte_ns, alloc.large,
              "likewise: 32 MiB less 4 MiB");
    rig_found(rig, "pinned_ns", fmax(0, pinned.fixed_ns - alloc.fixed_ns), pinned.small,
              "cudaMallocHost() of 128 KiB and cudaFreeHost(), less its bytes and alloc_ns");
    rig_found(rig, "pinned_bytes_per_s", 1e9 / fmax(1e-6, pinned.byte_ns), pinned.large,
              "likewise: 16 MiB less 128 KiB");
}

static void measure_sync(struct rig *rig)
{
    const struct row syncs = {.steps = "s", .count = 128};
    const struct measured sync = rig_step(rig, &syncs, NULL);
    rig_found(rig, "sync_ns", sync.ns, sync, "cudaDeviceSynchronize() with nothing to do");
}

/* Sets by how much longer the first call of three launches takes than the second. */
static enum status time_load(struct rig *rig, const struct kernel *kernel, int64_t *load_ns)
{
    enum { LAUNCHES = 3 };
    const struct row row = {
        .steps = "k", .count = LAUNCHES, .kernel = kernel, SMALL_KERNEL, .lazy = true};
    struct timeline timeline = {0};
    enum status status = rig_trace(rig, &row, &timeline);
    const int64_t *issue_ns = timeline.issue_ns;
    if (status == STATUS_OK)
        *load_ns = issue_ns[1] - issue_ns[0] - (issue_ns[2] - issue_ns[1]);
    timeline_free(&timeline);
    return status;
}

/* Times what loading kernels costs, those that nothing has loaded yet: the device refuses the
 * others. None can be repeated, and disturbances make them longer: a quarter of them took less
 * than what is taken. */
static void time_loads(struct rig *rig)
{
    enum { LOADS_MAX = 32 };
    int64_t loads[LOADS_MAX];
    int count = 0;
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        bool fits = kernel->shape == KERNEL_REDUCE && dtype_bytes(kernel->in) == sizeof(float);
        if (!fits || count == LOADS_MAX)
            continue;
        const enum status status = time_load(rig, kernel, &loads[count]);
        count += status == STATUS_OK;
        if (status == STATUS_USAGE)
            error_clear(rig->error);
    }
    rig->loads = (struct loads){measured_median(loads, count), count};
    rig->loads.time.passes = 1; /* other kernels' times are no other passes */
    if (count > 0)
        rig->loads.time.ns = (double)loads[(count - 1) / 4]; /* they are sorted now */
}

/* Sets what loading a kernel costs. A process loads each once, so the first pass alone measures
 * it, and all later ones take it from there. */
static void measure_loads(struct rig *rig)
{
    char how[FIGURE_TEXT];
    if (rig->loads.kernels == 0 && !rig_failed(rig))
        time_loads(rig);
    snprintf(how, sizeof how,
             "once: the lower quartile of the first launches of %d kernels, each less the next "
             "one's call; their range, no pass's",
             rig->loads.kernels);
    rig_found(rig, "lazy_load_ns", fmax(0, rig->loads.time.ns), rig->loads.time, how);
}

/* Counts the ops that a queue takes before the host's call waits: behind a long kernel, those
 * before the first call that takes as long as many. */
static void measure_depth(struct rig *rig)
{
    enum { MUCH_LONGER = 200 };
    struct row row = {
        .steps = "k", .count = DEEP, SMALL_KERNEL, .intensity = 1000, .gate = true};
    struct timeline timeline = {0};
    enum status status = rig_trace(rig, &row, &timeline);
    uint32_t depth = 0;
    double usual = (double)rig->calibration->machine.issue_kernel_ns;
    for (uint32_t i = ROW_GATE_OPS + 1;
         status == STATUS_OK && i + 1 < timeline.issue_count && depth == 0; i++) {
        if ((double)(timeline.issue_ns[i + 1] - timeline.issue_ns[i]) > MUCH_LONGER * usual)
            depth = i - ROW_GATE_OPS;
    }
    timeline_free(&timeline);
    const struct measured usually = rig_sample(rig, depth > 0 ? depth : DEEP, 1);
    depth = usually.ns < DEEP ? (uint32_t)usually.ns : 0;
    rig_known(rig, "queue_depth", usually.ns,
              depth > 0 ? "found: launches behind a long kernel until a call waits"
                        : "at least, not measured beyond: none of 4096 calls had to wait");
}

void calibrate_calls(struct rig *rig)
{
    measure_calls(rig);
    measure_sync(rig);
    if (rig->scope == CALIBRATE_ALL)
        measure_memory(rig);
}

void calibrate_host(struct rig *rig)
{
    measure_depth(rig);
    measure_loads(rig);
}

/* Measures what a node costs the call in a graph that has copies too. */
static void measure_copies_in_graphs(struct rig *rig)
{
    const struct row tiles = {.steps = "hkd",
                              .count = CALLS / 2,
                              .streams = STREAMS,
                              .bytes = TINY_BYTES,
                              SMALL_KERNEL,
                              .graph = true};
    const uint32_t nodes = (uint32_t)strlen(tiles.steps);
    struct measured issue;
    if (!rig->ops->measures && rig->device->graph_copies_node_ns == 0) {
        rig_known(rig, "graph_copies_node_ns", 0,
                  "not measured: this machine launches every graph as a whole");
        return;
    }
    rig_step(rig, &tiles, &issue);
    issue.ns /= nodes;
    issue.spread_ns /= nodes;
    rig_found(rig, "graph_copies_node_ns", issue.ns, issue,
              "graphs of 768 copies and kernels, and of 192: what a node more costs the host");
}

/* Measures what follows a kernel in a branch of a graph, beside the next one's own time. */
static void measure_graph_gap(struct rig *rig)
{
    const struct row chain = {.steps = "k", .count = CALLS, SMALL_KERNEL, .graph = true};
    struct measured issue;
    const struct measured step = rig_step(rig, &chain, &issue);
    rig_found(
        rig, "graph_gap_ns", fmax(0, step.ns - issue.ns - rig->launch_ns), step,
        "graphs of 512 small kernels in a row and of 128: a kernel more, less its own time");
}

static void know_no_graphs(struct rig *rig)
{
    rig_known(rig, "graph_launch_ns", 0, "not measured: this machine knows no graphs");
    rig_known(rig, "graph_launch_node_ns", 0, "likewise");
    rig_known(rig, "graph_node_ns", 0, "likewise");
    rig_known(rig, "graph_copies_node_ns", 0, "likewise");
    rig_known(rig, "graph_gap_ns", (double)rig->calibration->machine.kernel_gap_ns,
              "as kernel_gap_ns: this machine knows no graphs");
}

void calibrate_graphs(struct rig *rig)
{
    /* There are so many branches that the nodes' own times hide behind one another, and so many
     * nodes that what each costs the call can be told: 3 ns on an H200's host. The launch
     * itself is told by a graph of few nodes, whose part in its time is small, in as many
     * branches as runs have streams: with 16 it took an H200's host 15 to 43 us, with 4 and
     * fewer 2 to 10. */
    enum { NODES = 16384, BRANCHES = 32, FEW = 16 };
    struct row row = {
        .steps = "k", .count = NODES, .streams = BRANCHES, SMALL_KERNEL, .graph = true};
    struct row small = row;
    struct measured issue;
    small.count = FEW;
    small.streams = STREAMS;
    if (!rig_knows_graphs(rig)) {
        if (!rig_of_host(rig)) /* else it is as the machine file says */
            know_no_graphs(rig);
        return;
    }
    const struct measured step = rig_step(rig, &row, &issue), launch = rig_issue(rig, &small);
    rig_found(rig, "graph_launch_ns", launch.ns - FEW * issue.ns, launch,
              "a graph of 16 small kernels in 4 branches, less their parts");
    rig_found(rig, "graph_launch_node_ns", fmax(1, issue.ns), issue,
              "graphs of 16384 and of 4096: what a node more costs the host");
    if (!rig_of_host(rig)) {
        rig_found(rig, "graph_node_ns", fmax(0, step.ns - issue.ns), step,
                  "likewise in 32 branches: and the device, at most");
        measure_graph_gap(rig);
    }
    measure_copies_in_graphs(rig);
}
