/* checks.c - plain runs that each figure is held against.
 *
 * They are measured in the same passes as the figures, but are other runs than those that the
 * figures were made of: the simulator has to take as long for them as the device. */
#include "calibrate/rig.h"
#include "machine/fields.h"

#include <math.h>

/* The times that are compared. */
enum compared_time {
    STEP,  /* of one step, to its end */
    ISSUE, /* of the calls of one step */
    CALLS, /* of all calls of the row */
};

struct check {
    const char *key;  /* the figure that a difference is put down to */
    const char *says; /* the run */
    double apart;     /* by so much may one of the times be longer than the other, as a part */
    struct row row;
    enum compared_time time;
    bool kernels; /* of each kernel: launches of whole sweeps of a full grid, about as many as
                     the row's elements */
    bool rate;    /* the figure is a rate, which has to be the same in all passes */
    bool calls;   /* it is also held where calls alone are measured */
};

/* A copy as long as this takes its bytes' time and nothing else that matters. */
enum { LONG_BYTES = 128 << 20, SMALL_BYTES = 64 << 10, TILE_BYTES = 256 << 10 };
enum { TAKEN_BYTES = 32 << 20 };

/* Launches: half as many elements, and fewer of them with a multiple of the arithmetic, than
 * those that the rates were made of. */
enum { LIGHT_ELEMENTS = 16 << 20, HEAVY_ELEMENTS = 4 << 20, HEAVY_FLOPS = 16000 };

#define SMALL_KERNEL .elements = 1024, .blocks = 1

/* Times of long copies are those of their bytes alone. Others have a part that the rules leave
 * out, so that they tell what was disturbed, but not what is off by less. */
static const struct check checks[] = {
    {"sync_ns", "waits for an idle device", 0.25, .calls = true,
     .row = {.steps = "s", .count = 512}},
    {"alloc_ns", "pieces of 32 MiB of device memory, taken and given back,", 0.5, .calls = true,
     .row = {.steps = "a", .count = 48, .bytes = TAKEN_BYTES}},
    {"pinned_bytes_per_s", "pieces of 32 MiB of page-locked memory, taken and given back,", 0.2,
     .calls = true, .row = {.steps = "p", .count = 4, .bytes = TAKEN_BYTES}},
    {"cpu_bytes_per_s", "tiles of 2M elements on the CPU beside copies", 0.3,
     .row = {.steps = "uhd", .count = 8, .bytes = 4 << 20, .elements = 2 << 20, .apart = true}},
    {"cpu_flops_per_s", "tiles of 512k elements on the CPU at an intensity of 250", 0.3,
     .row = {.steps = "u", .count = 8, .elements = 512 << 10, .intensity = 250}},
    {"h2d_bytes_per_s", "copies in of 128 MiB", 0.01, .rate = true,
     .row = {.steps = "h", .count = 4, .bytes = LONG_BYTES}},
    {"d2h_bytes_per_s", "copies out of 128 MiB", 0.01, .rate = true,
     .row = {.steps = "d", .count = 4, .bytes = LONG_BYTES}},
    {"joint_bytes_per_s", "copies of 128 MiB in and out at once", 0.01, .rate = true,
     .row = {.steps = "hd", .count = 4, .bytes = LONG_BYTES, .apart = true}},
    {"pageable_h2d_bytes_per_s", "copies in of 64 MiB of pageable memory", 0.1, .rate = true,
     .row = {.steps = "h", .count = 4, .bytes = LONG_BYTES / 2, .pageable = true}},
    {"pageable_d2h_bytes_per_s", "copies out of 64 MiB of pageable memory", 0.1, .rate = true,
     .row = {.steps = "d", .count = 4, .bytes = LONG_BYTES / 2, .pageable = true}},
    {"h2d_latency_ns", "copies in of 64 KiB", 0.2,
     .row = {.steps = "h", .count = 1024, .bytes = SMALL_BYTES}},
    {"d2h_latency_ns", "copies out of 64 KiB", 0.2,
     .row = {.steps = "d", .count = 1024, .bytes = SMALL_BYTES}},
    {"bytes_per_s", "launches on a full grid", 0.05, .rate = true, .kernels = true,
     .row = {.steps = "k", .count = 128, .elements = LIGHT_ELEMENTS, .intensity = 1}},
    {"flops_per_s", "heavier launches", 0.05, .rate = true, .kernels = true,
     .row = {.steps = "ks", .count = 8, .elements = HEAVY_ELEMENTS}},
    {"issue_record_ns", "tiles joined by events", 0.25, .time = ISSUE, .calls = true,
     .row = {.steps = "hrwkrwd", .count = 256, .streams = 4, .bytes = 4 << 10, SMALL_KERNEL}},
    {"h2d_dependency_ns", "tiles of 256 KiB in one stream", 0.2,
     .row = {.steps = "hkd", .count = 128, .bytes = TILE_BYTES, SMALL_KERNEL}},
    {"signal_gap_ns", "tiles of 1 MiB in 6 streams", 0.1,
     .row = {.steps = "hkd", .count = 160, .streams = 6, .bytes = 1 << 20, SMALL_KERNEL}},
    /* Repeats of these differ by half, and what was found was found in a trace. */
    {"callback_ns", "callbacks one behind another", 1, .calls = true,
     .row = {.steps = "c", .count = 512, .gate = true}},
    {"graph_launch_node_ns", "nodes of a graph of 256 kernels", 0.25, .time = ISSUE,
     .calls = true,
     .row = {.steps = "k", .count = 256, .streams = 16, SMALL_KERNEL, .graph = true}},
    {"graph_launch_ns", "launches of a graph of 64 kernels", 0.25, .time = CALLS, .calls = true,
     .row = {.steps = "k", .count = 64, .streams = 32, SMALL_KERNEL, .graph = true}},
    {"graph_node_ns", "kernels of a graph in 32 branches", 0.25,
     .row = {.steps = "k", .count = 384, .streams = 32, SMALL_KERNEL, .graph = true}},
};

/* A check on this device: of one kernel, or of none. */
struct held {
    const struct check *check;
    struct row row;
    const char *section, *name; /* "[kernel NAME] " in parts, or "" */
    double found;
};

/* Returns the figure as a machine file has it. */
static double found_of(const struct rig *rig, const struct check *check,
                       const struct kernel *kernel)
{
    const struct machine *machine = &rig->calibration->machine;
    if (!check->kernels)
        return machine_field_get(machine_field_find(machine_fields, check->key), machine);
    return machine_field_get(machine_field_find(machine_kernel_fields, check->key),
                             machine_kernel_find(machine, kernel->name));
}

/* Sets what one time was measured to be and, in the last pass, what the simulator says. */
static enum status look(struct rig *rig, const struct held *held, struct measured *measured,
                        double *said)
{
    const struct row *row = &held->row;
    double step = 0, issue = 0;
    enum status status;
    if (held->check->time == CALLS)
        status = rig_issue(rig, row, measured);
    else
        status = rig_step(rig, row, held->check->time == STEP ? measured : NULL,
                          held->check->time == ISSUE ? measured : NULL);
    if (status != STATUS_OK || !rig->last)
        return status;
    if (held->check->time == CALLS)
        status = rig_simulated_issue(rig, row, &issue);
    else
        status = rig_simulated_step(rig, row, &step, &issue);
    *said = held->check->time == STEP ? step : issue;
    return status;
}

/* Says what does not hold: "[kernel wave] flops_per_s was measured to be 1.2e13, by which ...".
 */
static void refuse(struct rig *rig, const struct held *held, const char *rest)
{
    rig_refuse(rig, "%s%s%s%s was measured to be %.4g, by which %s%s %s", held->section,
               held->name, held->section[0] != '\0' ? "] " : "", held->check->key, held->found,
               held->check->time == STEP ? "" : "the calls for ", held->check->says, rest);
}

static void judge(struct rig *rig, const struct held *held, struct measured measured,
                  double said)
{
    const double apart = held->check->apart, ns = measured.ns;
    const double faster = held->check->rate ? 0.03 : fmin(0.5, apart);
    char rest[256];
    if (!(fmax(said, ns) <= (1 + apart) * fmin(said, ns))) {
        snprintf(rest, sizeof rest,
                 "would take %.4g us each, but in plain runs they took %.4g: at most %.0f %% "
                 "apart is allowed",
                 1e-3 * said, 1e-3 * ns, 100 * apart);
        refuse(rig, held, rest);
    }
    /* Nothing makes work faster than it is: where it was that much faster in one pass than in
     * others, those were disturbed. */
    if (measured.least_ns < (1 - faster) * ns) {
        snprintf(rest, sizeof rest,
                 "would take %.4g us each, which does not hold: plain runs took %.4g, and at "
                 "another time %.4g",
                 1e-3 * said, 1e-3 * ns, 1e-3 * measured.least_ns);
        refuse(rig, held, rest);
    }
}

static enum status hold(struct rig *rig, const struct check *check, const struct kernel *kernel)
{
    struct held held = {.check = check, .row = check->row, .section = "", .name = ""};
    struct measured measured;
    double said = 0;
    if (check->kernels) {
        held.row.kernel = kernel;
        held.row.blocks = machine_resident_blocks(rig->device);
        uint64_t sweep = (uint64_t)held.row.blocks * KERNEL_THREADS * kernel->sweep;
        uint64_t sweeps = check->row.elements / sweep;
        held.row.elements = sweep * (sweeps > 0 ? sweeps : 1);
        if (check->row.intensity == 0)
            held.row.intensity = (uint32_t)(HEAVY_FLOPS / kernel->flops);
        held.section = "[kernel ";
        held.name = kernel->name;
    }
    enum status status = look(rig, &held, &measured, &said);
    if (status != STATUS_OK || !rig->last)
        return status;
    held.found = found_of(rig, check, kernel);
    judge(rig, &held, measured, said);
    return STATUS_OK;
}

/* Returns true if the check is made on this device, with this kernel. */
static bool applies(const struct rig *rig, const struct check *check,
                    const struct kernel *kernel)
{
    if ((rig->calls_only && !check->calls) || (check->row.graph && !rig_knows_graphs(rig)))
        return false;
    if (!check->kernels)
        return kernel == kernel_table;
    return kernel->calibrated && (check->row.intensity > 0 || kernel->repeats);
}

enum status calibrate_checks(struct rig *rig)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        for (const struct kernel *kernel = kernel_table;
             kernel->name != NULL && status == STATUS_OK; kernel++) {
            if (applies(rig, &checks[i], kernel))
                status = hold(rig, &checks[i], kernel);
        }
    }
    return status;
}
