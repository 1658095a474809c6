/* checks.c - plain runs that each figure is held against.
 *
 * They are measured in the same passes as the figures, but are other runs than those that the
 * figures were made of: the simulator has to take as long for them as the device. */
#include "calibrate/rig.h"
#include "machine/fields.h"

#include <math.h>
#include <string.h>

/* The times that are compared. */
enum compared_time {
    STEP,  /* of one step, to its end */
    ISSUE, /* of the calls of one step */
    CALLS, /* of all calls of the row */
};

/* The devices that a check's row is on. */
enum on_devices {
    ON_ONE, /* the first */
    ON_TWO, /* of more than two */
    ON_ALL, /* of several */
};

struct check {
    const char *key;  /* the figure that a difference is put down to */
    const char *says; /* the run */
    double apart; /* by so much is one of the times longer than the other, as a part, by what
                     the rules leave out */
    struct row row;
    enum compared_time time;
    bool kernels; /* of each kernel: launches of whole sweeps of a full grid, about as many as
                     the row's elements */
    enum on_devices on;
};

/* A copy as long as this takes its bytes' time and nothing else that matters. */
enum { LONG_BYTES = 128 << 20, SMALL_BYTES = 128 << 10, TILE_BYTES = 256 << 10 };
enum { TAKEN_BYTES = 32 << 20 };

/* Launches: a quarter more elements than those that the rates were made of, for what a full
 * grid takes beside its work counts less there than in shorter ones, and fewer of them with a
 * multiple of the arithmetic. */
enum { LIGHT_ELEMENTS = 40 << 20, HEAVY_ELEMENTS = 3 << 20, HEAVY_FLOPS = 16000 };

/* Times of long copies are those of their bytes alone. Others have a part that the rules leave
 * out, so that they tell what was disturbed, but not what is off by less. */
static const struct check checks[] = {
    {"sync_ns", "waits for an idle device", 0.25, .row = {.steps = "s", .count = 512}},
    {"sync_latency_ns", "copies in of 128 KiB that are each waited for", 0.25,
     .row = {.steps = "hs", .count = 128, .bytes = SMALL_BYTES}},
    {"alloc_ns", "pieces of 16 MiB of device memory, taken and given back,", 1,
     .row = {.steps = "a", .count = 48, .bytes = TAKEN_BYTES / 2}},
    {"pinned_bytes_per_s", "pieces of 32 MiB of page-locked memory, taken and given back,", 1.5,
     .row = {.steps = "p", .count = 4, .bytes = TAKEN_BYTES}},
    {"cpu_bytes_per_s", "tiles of 2M elements on the CPU beside copies", 0.3,
     .row = {.steps = "uhd", .count = 8, .bytes = 4 << 20, .elements = 2 << 20, .apart = true}},
    {"cpu_flops_per_s", "tiles of 512k elements on the CPU at an intensity of 250", 0.3,
     .row = {.steps = "u", .count = 8, .elements = 512 << 10, .intensity = 250}},
    {"pack_bytes_per_s", "packing 2 MiB beside copies", 0.5, .time = ISSUE,
     .row = {.steps = "xhd", .count = 64, .bytes = 2 << 20, .apart = true}},
    {"h2d_bytes_per_s", "copies in of 128 MiB", 0.01,
     .row = {.steps = "h", .count = 4, .bytes = LONG_BYTES}},
    {"d2h_bytes_per_s", "copies out of 128 MiB", 0.01,
     .row = {.steps = "d", .count = 4, .bytes = LONG_BYTES}},
    {"joint_bytes_per_s", "copies of 128 MiB in and out at once", 0.01,
     .row = {.steps = "hd", .count = 4, .bytes = LONG_BYTES, .apart = true}},
    /* One figure stands for any number of devices: a rule that was within 5 % on an H200's
     * host.
     */
    {"host_h2d_bytes_per_s", "copies in of 128 MiB on all devices at once", 0.1, .on = ON_ALL,
     .row = {.steps = "h", .count = 4, .bytes = LONG_BYTES}},
    {"host_h2d_bytes_per_s", "copies in of 128 MiB on two devices at once", 0.1, .on = ON_TWO,
     .row = {.steps = "h", .count = 4, .bytes = LONG_BYTES}},
    {"host_d2h_bytes_per_s", "copies out of 128 MiB on all devices at once", 0.1, .on = ON_ALL,
     .row = {.steps = "d", .count = 4, .bytes = LONG_BYTES}},
    {"host_d2h_bytes_per_s", "copies out of 128 MiB on two devices at once", 0.1, .on = ON_TWO,
     .row = {.steps = "d", .count = 4, .bytes = LONG_BYTES}},
    {"host_joint_bytes_per_s", "copies of 128 MiB in and out on all devices at once", 0.1,
     .on = ON_ALL, .row = {.steps = "hd", .count = 4, .bytes = LONG_BYTES, .apart = true}},
    {"host_joint_bytes_per_s", "copies of 128 MiB in and out on two devices at once", 0.1,
     .on = ON_TWO, .row = {.steps = "hd", .count = 4, .bytes = LONG_BYTES, .apart = true}},
    {"pageable_h2d_bytes_per_s", "copies in of 32 MiB of pageable memory", 0.1,
     .row = {.steps = "h", .count = 4, .bytes = LONG_BYTES / 4, .pageable = true}},
    {"pageable_d2h_bytes_per_s", "copies out of 32 MiB of pageable memory", 0.1,
     .row = {.steps = "d", .count = 4, .bytes = LONG_BYTES / 4, .pageable = true}},
    {"h2d_latency_ns", "copies in of 128 KiB", 0.15,
     .row = {.steps = "h", .count = 512, .bytes = SMALL_BYTES}},
    {"d2h_latency_ns", "copies out of 128 KiB", 0.15,
     .row = {.steps = "d", .count = 512, .bytes = SMALL_BYTES}},
    {"bytes_per_s", "launches on a full grid", 0.05, .kernels = true,
     .row = {.steps = "k", .count = 16, .elements = LIGHT_ELEMENTS, .intensity = 1}},
    {"flops_per_s", "heavier launches", 0.05, .kernels = true,
     .row = {.steps = "ks", .count = 8, .elements = HEAVY_ELEMENTS}},
    {"mapped_share", "launches on some 10 MiB of mapped memory", 0.15, .kernels = true,
     .row = {.steps = "k", .count = 16, .elements = 3 << 20, .intensity = 1, .mapped = true}},
    {"issue_record_ns", "tiles joined by events", 0.25, .time = ISSUE,
     .row = {.steps = "hrwkrwd", .count = 256, .streams = 4, .bytes = 4 << 10, SMALL_KERNEL}},
    {"h2d_dependency_ns", "tiles of 256 KiB in one stream", 0.2,
     .row = {.steps = "hkd", .count = 128, .bytes = TILE_BYTES, SMALL_KERNEL}},
    {"signal_gap_ns", "tiles of 1 MiB in 6 streams", 0.1,
     .row = {.steps = "hkd", .count = 160, .streams = 6, .bytes = 1 << 20, SMALL_KERNEL}},
    /* These were found in a trace. */
    {"callback_ns", "callbacks one behind another", 1,
     .row = {.steps = "c", .count = 512, .gate = true}},
    {"callback_latency_ns", "kernels of 50 us with callbacks in 4 streams", 0.25,
     .row = {.steps = "kc",
             .count = 256,
             .streams = 4,
             .elements = 10240,
             .blocks = 1,
             .intensity = 1000}},
    /* Launching the same graph took 2 us at some times and 10 at others. [On an H200's host] */
    {"graph_launch_node_ns", "launches of a graph of 6144 kernels", 4, .time = CALLS,
     .row = {.steps = "k", .count = 6144, .streams = 4, SMALL_KERNEL, .graph = true}},
    {"graph_copies_node_ns", "tiles of a graph of 80", 0.25, .time = ISSUE,
     .row = {.steps = "hkd",
             .count = 80,
             .streams = 8,
             .bytes = 4 << 10,
             SMALL_KERNEL,
             .graph = true}},
    {"graph_launch_ns", "launches of a graph of 64 kernels", 1, .time = CALLS,
     .row = {.steps = "k", .count = 64, .streams = 4, SMALL_KERNEL, .graph = true}},
    /* Kernels in two branches took 31 % longer than by the rule, three times. [On an H200] */
    {"graph_gap_ns", "kernels of a graph in 2 branches", 0.5,
     .row = {.steps = "k", .count = 320, .streams = 2, SMALL_KERNEL, .graph = true}},
    {"graph_node_ns", "kernels of a graph in 32 branches", 0.25,
     .row = {.steps = "k", .count = 384, .streams = 32, SMALL_KERNEL, .graph = true}},
};

/* A check on this device: of one kernel, or of none. */
struct held {
    const struct check *check;
    struct row row;
    const char *kernel; /* NULL: none */
    struct measured took;
};

/* --- one check --- */

static struct measured measure_run(struct rig *rig, const struct held *held)
{
    struct measured issue;
    if (held->check->time == CALLS)
        return rig_issue(rig, &held->row);
    const struct measured step = rig_step(rig, &held->row, &issue);
    return held->check->time == STEP ? step : issue;
}

/* Returns what the simulator says of the run. */
static double simulate_run(struct rig *rig, const struct held *held)
{
    double issue;
    if (held->check->time == CALLS)
        return rig_simulated_issue(rig, &held->row);
    const double step = rig_simulated_step(rig, &held->row, &issue);
    return held->check->time == STEP ? step : issue;
}

static void add_outcome(struct rig *rig, const struct held *held)
{
    struct calibration *calibration = rig->calibration;
    struct outcome *outcome = &calibration->outcomes[calibration->outcome_count++];
    const double said = simulate_run(rig, held), took = held->took.ns;
    *outcome = (struct outcome){.key = held->check->key,
                                .kernel = held->kernel,
                                .said_ns = said,
                                .took_ns = took,
                                .apart = INFINITY,
                                .usual = held->check->apart};
    if (said > 0 && took > 0)
        outcome->apart = fmax(said, took) / fmin(said, took) - 1;
}

/* Makes the row that of the kernel: whole sweeps of a full grid. */
static void choose_launch(const struct rig *rig, const struct kernel *kernel, struct held *held)
{
    struct row *row = &held->row;
    row->kernel = kernel;
    row->blocks = machine_resident_blocks(rig->device);
    uint64_t sweep = (uint64_t)row->blocks * KERNEL_THREADS * kernel->sweep;
    uint64_t sweeps = row->elements / sweep;
    row->elements = sweep * (sweeps > 0 ? sweeps : 1);
    if (row->intensity == 0)
        row->intensity = (uint32_t)(HEAVY_FLOPS / kernel->flops);
    held->kernel = kernel->name;
}

static void hold(struct rig *rig, const struct check *check, const struct kernel *kernel)
{
    struct held held = {.check = check, .row = check->row};
    if (check->kernels)
        choose_launch(rig, kernel, &held);
    if (check->on != ON_ONE)
        held.row.devices = check->on == ON_TWO ? 2 : settings_devices(&rig->settings);
    held.took = measure_run(rig, &held);
    add_outcome(rig, &held);
}

/* Returns true for the kernels whose rates are held against plain runs: those of a map, light
 * and heavy, and of two reductions. The others' are found in the same way. */
static bool is_held(const struct kernel *kernel)
{
    static const char *const held[] = {"scale", "wave", "sum", "reduce-shuffle"};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        if (strcmp(kernel->name, held[i]) == 0)
            return true;
    }
    return false;
}

/* Returns true if the check is made on this device, with this kernel. */
static bool applies(const struct rig *rig, const struct check *check,
                    const struct kernel *kernel)
{
    if (check->row.graph && !rig_knows_graphs(rig))
        return false;
    const uint32_t devices = settings_devices(&rig->settings);
    if ((check->on == ON_ALL && devices <= 1) || (check->on == ON_TWO && devices <= 2))
        return false;
    if (check->row.mapped && rig->calibration->machine.copy_engines < 2)
        return false; /* no copies tell what kernels may do both ways at once */
    if (!check->kernels)
        return kernel == kernel_table;
    return is_held(kernel) && (check->row.intensity > 0 || kernel->repeats);
}

void calibrate_checks(struct rig *rig)
{
    rig->calibration->outcome_count = 0;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
            if (applies(rig, &checks[i], kernel))
                hold(rig, &checks[i], kernel);
        }
    }
}
