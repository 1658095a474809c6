/* host.c - what calls and graphs cost the host, and how fast the CPU is. */
#include "calibrate/rig.h"

#include <math.h>

enum {
    CALLS = 512, /* a queue holds more, so that no call waits */
    STREAMS = 4,
    TINY_BYTES = 4 << 10,
    CPU_ELEMENTS = 4 << 20,
    CPU_TILES = 3,    /* in each repeat */
    CPU_FLOPS = 1000, /* for each element of a heavy tile */
    DEEP = 4096,
};

/* Arithmetic that takes this part of a tile's time may be all that its time tells. */
static const double MOSTLY = 0.9;

/* Measures what each kind of call costs. In a pipeline a copy's or a launch's call takes longer
 * than in a row of alike ones, for it finds the caches as another kind left them. So these are
 * scaled to what they take together, in the order of a tile ("hkd"). An event's call costs so
 * little that the difference of two such rows would say nothing of it: it stands as measured by
 * itself, and calibrate_checks() holds it against a row of tiles joined by events. */
static enum status measure_calls(struct rig *rig)
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
                          .elements = 1024,
                          .blocks = 1};
        if (rig_step(rig, &row, NULL, &of[i]) != STATUS_OK)
            return rig->error->status;
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
              "128 calls in 4 streams");
    return STATUS_OK;
}

static enum status measure_waiting_calls(struct rig *rig)
{
    enum { COUNT = 32, BYTES = 16 << 20 };
    struct measured sync, alloc, pinned;
    const struct row syncs = {.steps = "s", .count = 4 * COUNT},
                     allocs = {.steps = "a", .count = COUNT, .bytes = BYTES},
                     pins = {.steps = "p", .count = COUNT / 4, .bytes = BYTES};
    if (rig_step(rig, &syncs, &sync, NULL) != STATUS_OK ||
        rig_step(rig, &allocs, &alloc, NULL) != STATUS_OK ||
        rig_step(rig, &pins, &pinned, NULL) != STATUS_OK)
        return rig->error->status;
    rig_found(rig, "sync_ns", sync.ns, sync, "cudaDeviceSynchronize() with nothing to do");
    rig_found(rig, "alloc_ns", alloc.ns, alloc, "cudaMalloc() of 16 MiB and cudaFree()");
    rig_found(rig, "pinned_bytes_per_s", 1e9 * BYTES / fmax(1, pinned.ns - alloc.ns), pinned,
              "cudaMallocHost() of 16 MiB and cudaFreeHost(), less the former");
    return STATUS_OK;
}

/* Sets by how much longer the first call of three launches takes than the second. */
static enum status time_load(struct rig *rig, const struct kernel *kernel, int64_t *load_ns)
{
    enum { LAUNCHES = 3 };
    const struct row row = {.steps = "k",
                            .count = LAUNCHES,
                            .kernel = kernel,
                            .elements = 1024,
                            .blocks = 1,
                            .lazy = true};
    struct timeline timeline;
    timeline_init(&timeline);
    enum status status = rig_trace(rig, &row, &timeline);
    const int64_t *issue_ns = timeline.issue_ns;
    if (status == STATUS_OK)
        *load_ns = issue_ns[1] - issue_ns[0] - (issue_ns[2] - issue_ns[1]);
    timeline_free(&timeline);
    return status;
}

/* Times what loading kernels costs, those that nothing else here launches. None can be
 * repeated, and disturbances make them longer: a quarter of them took less than what is taken.
 */
static enum status time_loads(struct rig *rig)
{
    enum { LOADS_MAX = 32 };
    int64_t loads[LOADS_MAX];
    int count = 0;
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        bool fits = !kernel->calibrated && kernel->shape == KERNEL_REDUCE &&
                    dtype_bytes(kernel->in) == sizeof(float);
        if (fits && count < LOADS_MAX && time_load(rig, kernel, &loads[count++]) != STATUS_OK)
            return rig->error->status;
    }
    rig->loads = (struct loads){measured_median(loads, count), count};
    rig->loads.time.ns = (double)loads[(count - 1) / 4]; /* they are sorted now */
    return STATUS_OK;
}

/* Sets what loading a kernel costs. A process loads each once, so the first pass alone measures
 * it, and all later ones, also of another attempt, take it from there. */
static enum status measure_loads(struct rig *rig)
{
    char how[FIGURE_TEXT];
    if (rig->loads.kernels == 0 && time_loads(rig) != STATUS_OK)
        return rig->error->status;
    snprintf(how, sizeof how,
             "once: the lower quartile of the first launches of %d kernels, each less the next "
             "one's call; their range, no pass's",
             rig->loads.kernels);
    rig_found(rig, "lazy_load_ns", fmax(0, rig->loads.time.ns), rig->loads.time, how);
    return STATUS_OK;
}

/* Counts the ops that a queue takes before the host's call waits: behind a long kernel, those
 * before the first call that takes as long as many. */
static enum status measure_depth(struct rig *rig)
{
    enum { MUCH_LONGER = 200 };
    struct row row = {.steps = "k",
                      .count = DEEP,
                      .elements = 1024,
                      .blocks = 1,
                      .intensity = 1000,
                      .gate = true};
    struct timeline timeline;
    timeline_init(&timeline);
    enum status status = rig_trace(rig, &row, &timeline);
    uint32_t depth = 0;
    struct measured usually;
    double usual = (double)rig->calibration->machine.issue_kernel_ns;
    for (uint32_t i = ROW_GATE_OPS + 1;
         status == STATUS_OK && i + 1 < timeline.issue_count && depth == 0; i++) {
        if ((double)(timeline.issue_ns[i + 1] - timeline.issue_ns[i]) > MUCH_LONGER * usual)
            depth = i - ROW_GATE_OPS;
    }
    timeline_free(&timeline);
    if (status == STATUS_OK)
        status = rig_sample(rig, depth > 0 ? depth : DEEP, 1, &usually);
    if (status != STATUS_OK)
        return status;
    depth = usually.ns < DEEP ? (uint32_t)usually.ns : 0;
    rig_known(rig, "queue_depth", usually.ns,
              depth > 0 ? "found: launches behind a long kernel until a call waits"
                        : "at least, not measured beyond: none of 4096 calls had to wait");
    return STATUS_OK;
}

static int draw_cpu_tiles(const struct row *row, const struct timeline *timeline,
                          int64_t *times)
{
    int count = 0;
    (void)row;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->kind == OP_CPU)
            times[count++] = span->end_ns - span->start_ns;
    }
    return count;
}

/* Times a tile on the CPU while copies go both ways, as they do in 4-way runs. */
static enum status time_cpu(struct rig *rig, const struct kernel *kernel, uint32_t intensity,
                            struct measured *timing)
{
    struct row row = {.steps = "uhd",
                      .count = CPU_TILES,
                      .bytes = CPU_ELEMENTS * sizeof(float),
                      .kernel = kernel,
                      .elements = intensity > 1 ? CPU_ELEMENTS / 16 : CPU_ELEMENTS,
                      .intensity = intensity,
                      .apart = true};
    enum status status = rig_traced(rig, &row, draw_cpu_tiles, timing);
    timing->elements = row.elements;
    return status;
}

static enum status measure_cpu(struct rig *rig, const struct kernel *kernel)
{
    struct measured light, heavy;
    struct kernel_params once = {.intensity = 1},
                         often = {.intensity = (uint32_t)fmax(2, CPU_FLOPS / kernel->flops)};
    char how[FIGURE_TEXT];
    double arithmetic_ns = 0; /* the part of the light tile's time that is arithmetic */
    enum status status = time_cpu(rig, kernel, once.intensity, &light);
    if (status == STATUS_OK && kernel->repeats)
        status = time_cpu(rig, kernel, often.intensity, &heavy);
    if (status != STATUS_OK)
        return status;
    double elements = (double)light.elements;
    if (kernel->repeats) {
        double flops = kernel_flops_per_element(kernel, &often) * (double)heavy.elements;
        double flops_per_s = 1e9 * flops / heavy.ns;
        arithmetic_ns = 1e9 * kernel_flops_per_element(kernel, &once) * elements / flops_per_s;
        snprintf(how, sizeof how, "likewise, of 256k elements at an intensity of %u",
                 often.intensity);
        rig_found_kernel(rig, kernel, "cpu_flops_per_s", flops_per_s, heavy, how);
    }
    rig_found_kernel(
        rig, kernel, "cpu_bytes_per_s",
        1e9 * kernel_bytes_per_element(kernel) * elements / light.ns, light,
        arithmetic_ns < MOSTLY * light.ns
            ? "tiles of 4M elements on the CPU beside copies both ways"
            : "at least, for arithmetic takes as long: tiles of 4M elements on the "
              "CPU beside copies both ways");
    return STATUS_OK;
}

enum status calibrate_calls(struct rig *rig)
{
    enum status status = measure_calls(rig);
    return status == STATUS_OK ? measure_waiting_calls(rig) : status;
}

enum status calibrate_host(struct rig *rig)
{
    if (measure_depth(rig) != STATUS_OK)
        return rig->error->status;
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        if (kernel->calibrated && measure_cpu(rig, kernel) != STATUS_OK)
            return rig->error->status;
    }
    if (measure_loads(rig) != STATUS_OK)
        return rig->error->status;
    const struct machine_kernel *scale =
        machine_kernel_find(&rig->calibration->machine, "scale");
    rig_known(rig, "cpu_bytes_per_s", scale->cpu_bytes_per_s, "as of [kernel scale]");
    rig_known(rig, "cpu_flops_per_s", scale->cpu_flops_per_s, "as of [kernel scale]");
    return STATUS_OK;
}

/* Measures the costs of a graph: its launch costs the host, its nodes host and device. */
enum status calibrate_graphs(struct rig *rig)
{
    /* There are so many branches that the nodes' own times hide behind one another. */
    enum { NODES = 512, BRANCHES = 32 };
    struct row row = {.steps = "k",
                      .count = NODES,
                      .streams = BRANCHES,
                      .elements = 1024,
                      .blocks = 1,
                      .graph = true};
    struct measured step, issue, launch;
    if (!rig_knows_graphs(rig) && rig->calls_only) /* as the machine file says */
        return STATUS_OK;
    if (!rig_knows_graphs(rig)) {
        rig_known(rig, "graph_launch_ns", 0, "not measured: this machine knows no graphs");
        rig_known(rig, "graph_launch_node_ns", 0, "likewise");
        rig_known(rig, "graph_node_ns", 0, "likewise");
        return STATUS_OK;
    }
    if (rig_step(rig, &row, &step, &issue) != STATUS_OK ||
        rig_issue(rig, &row, &launch) != STATUS_OK)
        return rig->error->status;
    rig_found(rig, "graph_launch_ns", launch.ns - NODES * issue.ns, launch,
              "a graph of 512 small kernels, less their parts");
    rig_found(rig, "graph_launch_node_ns", issue.ns, issue,
              "such graphs: what a node more costs the host");
    if (!rig->calls_only)
        rig_found(rig, "graph_node_ns", fmax(0, step.ns - issue.ns), step,
                  "likewise in 32 branches: and the device, at most");
    return STATUS_OK;
}
