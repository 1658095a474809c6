/* copies.c - rates, latencies and gaps of the copy engines. */
#include "calibrate/rig.h"

#include <math.h>

/* The sizes that are timed, and how many copies there are of each. Of the longest two the
 * faster tells the rate, for what disturbs them makes them slower; the short ones tell the
 * latency. All are longer than the calls that issue them, so that nothing has to hold them back
 * meanwhile. */
static const struct {
    uint64_t bytes;
    uint32_t count;
} sizes[] = {{256 << 10, 256}, {1 << 20, 128}, {4 << 20, 32}, {16 << 20, 8}, {64 << 20, 4}};
enum {
    SIZES = sizeof sizes / sizeof sizes[0],
    FAST = SIZES - 2,
    LONG = SIZES - 1,
    GAP_COPIES = 64,
    GAP_BYTES = 256 << 10,
};

struct direction {
    const char *step, *rate, *latency, *gap, *pageable;
};
static const struct direction directions[] = {
    {"h", "h2d_bytes_per_s", "h2d_latency_ns", "h2d_gap_ns", "pageable_h2d_bytes_per_s"},
    {"d", "d2h_bytes_per_s", "d2h_latency_ns", "d2h_gap_ns", "pageable_d2h_bytes_per_s"},
};

static double beside_ns(const struct measured steps[SIZES], int size, double bytes_per_s)
{
    return steps[size].ns - 1e9 * (double)sizes[size].bytes / bytes_per_s;
}

/* Returns the median of what the short copies take beside their bytes. */
static double median_beside_ns(const struct measured steps[SIZES], double bytes_per_s)
{
    double a = beside_ns(steps, 0, bytes_per_s), b = beside_ns(steps, 1, bytes_per_s),
           c = beside_ns(steps, 2, bytes_per_s);
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

static void measure_direction(struct rig *rig, const struct direction *direction)
{
    struct measured steps[SIZES];
    struct row row = {.steps = direction->step};
    for (int i = 0; i < SIZES; i++) {
        row.count = sizes[i].count;
        row.bytes = sizes[i].bytes;
        steps[i] = rig_step(rig, &row, NULL);
    }
    row.count = GAP_COPIES;
    row.bytes = GAP_BYTES;
    const struct measured gap = rig_traced(rig, &row, rig_draw_gaps);
    double rate = 0, worst = 0;
    for (int i = FAST; i < SIZES; i++)
        rate = fmax(rate, 1e9 * (double)(sizes[i].bytes - sizes[1].bytes) /
                              (steps[i].ns - steps[1].ns));
    double beside = median_beside_ns(steps, rate);
    for (int i = 0; i < SIZES; i++)
        worst = fmax(worst, fabs(beside_ns(steps, i, rate) - beside) / steps[i].ns);
    char how[FIGURE_TEXT];
    snprintf(
        how, sizeof how,
        "copies of 16 or 64 MiB in a row, the faster, less what one takes beside its bytes; "
        "all within %.1f %%",
        100 * worst);
    rig_found(rig, direction->rate, rate, steps[LONG], how);
    rig_found(rig, direction->latency, beside - gap.ns, steps[0],
              "what copies of 256 KiB to 4 MiB take beside their bytes, less the gap");
    rig_found(rig, direction->gap, gap.ns, gap,
              "from the end of a copy of 256 KiB to the next one's start");
}

/* The rows that tell the joint rate: as many copies each way, and twice as many in one. All are
 * timed in every pass, whichever of them turns out to tell it. */
enum { ALIKE, SHORTER, MORE_IN, MORE_OUT, BOTH_ROWS };
struct both {
    struct row row;
    struct measured step;
};

static void time_both(struct rig *rig, struct both both[BOTH_ROWS])
{
    static const char *const steps[BOTH_ROWS] = {"hd", "hd", "hhd", "ddh"};
    for (int i = 0; i < BOTH_ROWS; i++) {
        const int size = i == SHORTER ? LONG - 1 : LONG;
        both[i].row = (struct row){.steps = steps[i],
                                   .count = sizes[size].count,
                                   .bytes = sizes[size].bytes,
                                   .apart = true};
        both[i].step = rig_step(rig, &both[i].row, NULL);
    }
}

/* Finds both directions' joint rate. As many copies each way take as long as the slower
 * direction needs. If that direction has its full rate beside the other, the time says nothing
 * of what is left for the faster one; then twice as many copies in the faster direction do. */
static void find_joint(struct rig *rig, const struct both both[BOTH_ROWS])
{
    const struct machine *machine = &rig->calibration->machine;
    double in = machine->h2d_bytes_per_s, out = machine->d2h_bytes_per_s;
    double twice_slower = 2 * fmin(in, out);
    const struct fitted_rate joint = {"joint_bytes_per_s",
                                      "copies of 16 or 64 MiB in and out at once, the faster",
                                      fmax(in, out), in + out};
    rig_fit_rate(rig, &joint, &both[SHORTER].row, both[SHORTER].step);
    const double shorter = machine->joint_bytes_per_s;
    rig_fit_rate(rig, &joint, &both[ALIKE].row, both[ALIKE].step);
    if (shorter > machine->joint_bytes_per_s)
        rig_found(rig, joint.key, shorter, both[SHORTER].step, joint.how);
    if (machine->joint_bytes_per_s < 0.995 * twice_slower || in + out < 1.01 * twice_slower)
        return;
    const struct both *more = &both[in > out ? MORE_IN : MORE_OUT];
    rig_fit_rate(rig, &joint, &more->row, more->step);
}

/* Finds if both directions go at once; with one copy engine they take turns. */
static void measure_both(struct rig *rig)
{
    const struct machine *machine = &rig->calibration->machine;
    struct both both[BOTH_ROWS];
    time_both(rig, both);
    double in = machine_copy_ns(machine, true, both[ALIKE].row.bytes),
           out = machine_copy_ns(machine, false, both[ALIKE].row.bytes);
    bool turns = both[ALIKE].step.ns > 0.95 * (in + out);
    rig_known(rig, "copy_engines", turns ? 1 : 2,
              turns ? "found: copies in and out take turns"
                    : "found: copies in and out overlap");
    if (turns)
        rig_known(rig, "joint_bytes_per_s",
                  fmax(machine->h2d_bytes_per_s, machine->d2h_bytes_per_s),
                  "not measured: copies never go both ways at once");
    else
        find_joint(rig, both);
}

void calibrate_pageable(struct rig *rig)
{
    const struct machine *machine = &rig->calibration->machine;
    rig_known(rig, "staging_bytes", 65536,
              "not measured: copies in of 64 KiB or less return at once, says the CUDA C++ "
              "programming guide");
    rig_known(rig, "staging_piece_bytes", 1 << 20,
              "not measured: on an H200 such copies took the engine no longer than page-locked "
              "ones");
    for (int i = 0; i < 2; i++) {
        struct row row = {.steps = directions[i].step,
                          .count = rig_of_host(rig) ? 2 : 4,
                          .bytes = sizes[LONG].bytes,
                          .pageable = true};
        double pinned = i == 0 ? machine->h2d_bytes_per_s : machine->d2h_bytes_per_s;
        const struct fitted_rate rate = {directions[i].pageable,
                                         "copies of 64 MiB, staged by the host", 1e6, pinned};
        rig_fit_rate(rig, &rate, &row, rig_step(rig, &row, NULL));
    }
}

/* Sets what a copy more in a batch takes beside its bytes: so much that the simulator takes as
 * long for a batch as the device. */
static void find_batch_gap(struct rig *rig, const struct row *row, struct measured step)
{
    enum { ROUNDS = 3 };
    double gap = 1;
    struct measured copy = {.passes = step.passes,
                            .ns = step.ns / row->batch,
                            .spread_ns = step.spread_ns / row->batch};
    for (int round = 0; round <= ROUNDS; round++) {
        rig_found(rig, "batch_gap_ns", gap, copy,
                  "batches of 64 copies of 64 KiB in, in a row: a copy more, less its bytes");
        gap = fmax(1, gap + (step.ns - rig_simulated_step(rig, row, NULL)) / (row->batch - 1));
    }
}

/* Measures batches behind one another. Their calls take less time than their copies, so that
 * nothing has to hold these back, and fewer copies are under way than a queue holds. */
static void measure_batches(struct rig *rig)
{
    const struct machine *machine = &rig->calibration->machine;
    const struct row row = {.steps = "h", .count = 12, .bytes = 64 << 10, .batch = 64};
    struct measured step = {0}, issue = {0};
    const bool knows = rig->ops->measures || rig->device->batch_gap_ns > 0;
    if (rig_failed(rig))
        return;
    if (knows)
        step = rig_step(rig, &row, &issue);
    if (!knows || rig->error->status == STATUS_USAGE) { /* refused before it was run */
        char how[FIGURE_TEXT];
        snprintf(how, sizeof how, "not measured: %.140s",
                 knows ? rig->error->text : "this machine knows no batches");
        *rig->error = (struct error){0};
        rig_known(rig, "batch_gap_ns", 0, how);
        rig_known(rig, "issue_batch_copy_ns", 0, "likewise");
        return;
    }
    issue.ns = fmax(0, issue.ns - (double)machine->issue_copy_ns) / row.batch;
    issue.spread_ns /= row.batch;
    rig_found(rig, "issue_batch_copy_ns", issue.ns, issue,
              "such batches: what a copy more costs the host");
    find_batch_gap(rig, &row, step);
}

void calibrate_copies(struct rig *rig)
{
    measure_direction(rig, &directions[0]);
    measure_direction(rig, &directions[1]);
    measure_both(rig);
    measure_batches(rig);
}
