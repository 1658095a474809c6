/* checks.c - plain runs that each figure is held against.
 *
 * They are measured in the same passes as the figures, but are other runs than those that the
 * figures were made of: the simulator has to take as long for them as the device. */
#include "calibrate/rig.h"
#include "machine/fields.h"

#include <math.h>

struct check {
    const char *key;  /* the figure that a difference is put down to */
    const char *says; /* the run */
    double apart;     /* by so much may one of the times be longer than the other, as a part */
    struct row row;
    uint32_t sweeps; /* launches are of so many sweeps of a full grid; 0: as the row says */
    bool rate;       /* the figure is a rate, which has to be the same in all passes */
    bool issue;      /* the host's time to issue is compared, not the device's */
};

/* A copy as long as this takes its bytes' time and nothing else that matters. */
enum { LONG_BYTES = 128 << 20, SMALL_BYTES = 64 << 10, TILE_BYTES = 256 << 10 };

/* Times of long copies are those of their bytes alone. Others have a part that the rules leave
 * out, so that they tell what was disturbed, but not what is off by less. */
static const struct check checks[] = {
    {"h2d_bytes_per_s", "copies in of 128 MiB", 0.01, .rate = true,
     .row = {.steps = "h", .count = 4, .bytes = LONG_BYTES}},
    {"d2h_bytes_per_s", "copies out of 128 MiB", 0.01, .rate = true,
     .row = {.steps = "d", .count = 4, .bytes = LONG_BYTES}},
    {"joint_bytes_per_s", "copies of 128 MiB in and out at once", 0.01, .rate = true,
     .row = {.steps = "hd", .count = 4, .bytes = LONG_BYTES, .apart = true}},
    {"h2d_latency_ns", "copies in of 64 KiB", 0.2,
     .row = {.steps = "h", .count = 1024, .bytes = SMALL_BYTES}},
    {"d2h_latency_ns", "copies out of 64 KiB", 0.2,
     .row = {.steps = "d", .count = 1024, .bytes = SMALL_BYTES}},
    {"memory_bytes_per_s", "launches of `scale` on a full grid", 0.05, .rate = true,
     .row = {.steps = "k", .count = 128, .intensity = 1}, .sweeps = 16},
    {"flops_per_s", "launches of `scale` at an intensity of 8000", 0.05, .rate = true,
     .row = {.steps = "ks", .count = 16, .intensity = 8000}, .sweeps = 4},
    {"issue_record_ns", "calls for tiles joined by events", 0.25, .issue = true,
     .row = {.steps = "hrwkrwd",
             .count = 256,
             .streams = 4,
             .bytes = 4 << 10,
             .elements = 1024,
             .blocks = 1}},
    {"h2d_dependency_ns", "tiles of 256 KiB in one stream", 0.2,
     .row = {.steps = "hkd", .count = 128, .bytes = TILE_BYTES, .elements = 1024, .blocks = 1}},
    {"signal_gap_ns", "tiles of 1 MiB in 6 streams", 0.1,
     .row = {.steps = "hkd",
             .count = 160,
             .streams = 6,
             .bytes = 1 << 20,
             .elements = 1024,
             .blocks = 1}},
    /* Repeats of these differ by half, and what was found was found in a trace. */
    {"callback_ns", "callbacks one behind another", 1,
     .row = {.steps = "c", .count = 512, .gate = true}},
};

static double found_of(const struct rig *rig, const char *key)
{
    return machine_field_get(machine_field_find(machine_fields, key),
                             &rig->calibration->machine);
}

static void refuse(struct rig *rig, const struct check *check, double said, double measured)
{
    error_set(&rig->refusal, STATUS_FAILED,
              "this device can't be calibrated: %s was found to be %.4g, by which %s take %.4g "
              "us each, but they took %.4g; %.0f %% apart is the most that is allowed (is "
              "something else running on it?)",
              check->key, found_of(rig, check->key), check->says, 1e-3 * said, 1e-3 * measured,
              100 * check->apart);
}

/* Nothing makes copies or kernels faster than they are: where they were that much faster in one
 * pass than in others, those were disturbed. */
static void hold_rate(struct rig *rig, const struct check *check, struct measured step)
{
    const double faster = 0.03;
    if (step.least_ns >= (1 - faster) * step.ns)
        return;
    error_set(&rig->refusal, STATUS_FAILED,
              "this device can't be calibrated: %s was found to be %.4g, but does not hold: %s "
              "took %.4g us each, and at another time %.4g (is something else running on it?)",
              check->key, found_of(rig, check->key), check->says, 1e-3 * step.ns,
              1e-3 * step.least_ns);
}

static enum status hold(struct rig *rig, const struct check *check, const struct row *row)
{
    struct measured step, issue;
    double simulated, simulated_issue;
    enum status status = rig_step(rig, row, &step, &issue);
    if (status == STATUS_OK && rig->last)
        status = rig_simulated_step(rig, row, &simulated, &simulated_issue);
    if (status != STATUS_OK || !rig->last)
        return status;
    double measured = check->issue ? issue.ns : step.ns;
    double said = check->issue ? simulated_issue : simulated;
    if (fmax(said, measured) > (1 + check->apart) * fmin(said, measured))
        refuse(rig, check, said, measured);
    if (check->rate)
        hold_rate(rig, check, step);
    return STATUS_OK;
}

enum status calibrate_checks(struct rig *rig)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && status == STATUS_OK; i++) {
        struct row row = checks[i].row;
        if (checks[i].sweeps > 0) {
            row.blocks = machine_resident_blocks(rig->device);
            row.elements = (uint64_t)row.blocks * KERNEL_THREADS * row_kernel(&row)->sweep *
                           checks[i].sweeps;
        }
        status = hold(rig, &checks[i], &row);
    }
    return status;
}
