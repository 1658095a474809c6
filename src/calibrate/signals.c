/* signals.c - how long what waits for another engine, or for the host, takes to
 * start. */
#include "calibrate/rig.h"

#include <math.h>

enum {
    COPY_BYTES = 256 << 10, /* longer than a call that issues it */
    CHAIN = 128,
    SIGNAL_STREAMS = 6,
    SIGNAL_BYTES = 1 << 20,
    SIGNAL_COUNT = 192,
    POLL_STREAMS = 8,
    POLL_BYTES = 4 << 10,
    POLL_SWEEPS = 10,
    POLL_INTENSITY = 4000, /* some 200 us on one block: engines are idle most of the time */
};

static struct row chain_of(const char *steps)
{
    return (struct row){
        .steps = steps, .count = CHAIN, .bytes = COPY_BYTES, .elements = 1024, .blocks = 1};
}

/* Three chains of two kinds of op, each waiting for the one before: each time is those of its
 * ops and of the two ways between them. Three equations for the ways to each kind. */
static enum status measure_ways(struct rig *rig)
{
    static const char *const chains[] = {"hk", "kd", "hd"};
    double in = rig_copy_ns(rig, OP_H2D, COPY_BYTES),
           out = rig_copy_ns(rig, OP_D2H, COPY_BYTES);
    double kernel = rig->launch_ns, own[] = {in + kernel, kernel + out, in + out};
    struct measured steps[3];
    double ways[3];
    for (int i = 0; i < 3; i++) {
        struct row row = chain_of(chains[i]);
        if (rig_step(rig, &row, &steps[i], NULL) != STATUS_OK)
            return rig->error->status;
        ways[i] = steps[i].ns - own[i];
    }
    double to_kernel = (ways[0] + ways[1] - ways[2]) / 2;
    double to_h2d = (ways[0] + ways[2] - ways[1]) / 2;
    double to_d2h = (ways[1] + ways[2] - ways[0]) / 2;
    const char *how = "chains of two kinds of op in one stream";
    struct measured spread = {
        .spread_ns = (steps[0].spread_ns + steps[1].spread_ns + steps[2].spread_ns) / 2};
    rig_found(rig, "h2d_dependency_ns", fmax(0, to_h2d), spread, how);
    rig_found(rig, "kernel_dependency_ns", fmax(0, to_kernel), spread, how);
    rig_found(rig, "d2h_dependency_ns", fmax(0, to_d2h), spread, how);
    return STATUS_OK;
}

/* A figure that shows only in how long whole plans take, in which others have their part. */
struct turned {
    const char *key, *how;
    double least;
    struct measured measured; /* changes by about as much as the figure */
    enum status (*simulate)(struct rig *rig, double *ns); /* what the simulator makes of it */
    double value, base, best; /* the present one, the last that was nearer, the nearest */
};

/* Chains in several streams beside each other, which hardly meet. */
static uint32_t poll_streams(const struct rig *rig)
{
    uint32_t queues = rig->device->queues;
    return queues < POLL_STREAMS ? queues : POLL_STREAMS;
}

static struct row poll_row(uint32_t streams)
{
    return (struct row){.steps = "hkd",
                        .count = CHAIN * streams,
                        .streams = streams,
                        .bytes = POLL_BYTES,
                        .elements = 1024 * POLL_SWEEPS,
                        .blocks = 1,
                        .intensity = POLL_INTENSITY};
}

/* What each op takes longer for each of the other streams, by a step of all and of one. */
static double poll_ns(uint32_t streams, double many_ns, double one_ns)
{
    return (streams * many_ns - one_ns) / (3 * (streams - 1));
}

static enum status simulate_polls(struct rig *rig, double *ns)
{
    uint32_t streams = poll_streams(rig);
    struct row one_row = poll_row(1), many_row = poll_row(streams);
    double one, many;
    enum status status = rig_simulated_step(rig, &one_row, &one);
    if (status == STATUS_OK)
        status = rig_simulated_step(rig, &many_row, &many);
    if (status == STATUS_OK)
        *ns = poll_ns(streams, many, one);
    return status;
}

static enum status measure_polls(struct rig *rig, struct turned *polls)
{
    uint32_t streams = poll_streams(rig);
    struct row one_row = poll_row(1), many_row = poll_row(streams);
    struct measured one, many;
    enum status status = rig_step(rig, &one_row, &one, NULL);
    if (status == STATUS_OK)
        status = rig_step(rig, &many_row, &many, NULL);
    if (status != STATUS_OK)
        return status;
    *polls = (struct turned){.key = "poll_ns",
                             .how = "such chains in up to 8 streams against one",
                             .simulate = simulate_polls};
    polls->measured.ns = poll_ns(streams, many.ns, one.ns);
    polls->measured.spread_ns =
        (streams * many.spread_ns + one.spread_ns) / (3 * (streams - 1));
    return STATUS_OK;
}

/* A pipeline in streams enough to hide all but the copy engines. */
static const struct row pipeline = {.steps = "hkd",
                                    .count = SIGNAL_COUNT,
                                    .streams = SIGNAL_STREAMS,
                                    .bytes = SIGNAL_BYTES,
                                    .elements = 1024,
                                    .blocks = 1};

/* Of an engine, for one tile. */
static int engine_turns(const struct rig *rig)
{
    return rig->calibration->machine.copy_engines == 1 ? 2 : 1;
}

static enum status simulate_signals(struct rig *rig, double *ns)
{
    enum status status = rig_simulated_step(rig, &pipeline, ns);
    if (status == STATUS_OK)
        *ns /= engine_turns(rig);
    return status;
}

static enum status measure_signals(struct rig *rig, struct turned *signals)
{
    const struct machine *machine = &rig->calibration->machine;
    enum status status = rig_step(rig, &pipeline, &signals->measured, NULL);
    if (status != STATUS_OK)
        return status;
    signals->measured.ns /= engine_turns(rig);
    signals->measured.spread_ns /= engine_turns(rig);
    signals->key = "signal_gap_ns";
    signals->how = "likewise behind the copies of a pipeline in 6 streams";
    signals->least = (double)machine->h2d_gap_ns;
    signals->simulate = simulate_signals;
    return STATUS_OK;
}

/* --- two figures, each of which has a part in the other's time --- */

/* How much more was measured than the simulator makes of the present values. */
static enum status look(struct rig *rig, struct turned turned[2], int count, double off[2])
{
    enum status status = STATUS_OK;
    double ns = 0;
    for (int i = 0; i < count; i++)
        rig_found(rig, turned[i].key, turned[i].value, turned[i].measured, turned[i].how);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        status = turned[i].simulate(rig, &ns);
        off[i] = turned[i].measured.ns - ns;
    }
    return status;
}

/* By how much what is off goes back for each ns of each figure: slope[of what][for which]. */
static enum status look_around(struct rig *rig, struct turned turned[2], int count,
                               const double off[2], double slope[2][2])
{
    const double aside_ns = 50;
    double moved[2];
    for (int j = 0; j < count; j++) {
        turned[j].value += aside_ns;
        enum status status = look(rig, turned, count, moved);
        turned[j].value -= aside_ns;
        if (status != STATUS_OK)
            return status;
        for (int i = 0; i < count; i++)
            slope[i][j] = (off[i] - moved[i]) / aside_ns;
    }
    return STATUS_OK;
}

static void find_steps(const double off[2], const double slope[2][2], double steps[2])
{
    double determinant = slope[0][0] * slope[1][1] - slope[0][1] * slope[1][0];
    steps[0] = off[0];
    steps[1] = off[1];
    if (fabs(determinant) < 0.1)
        return;
    steps[0] = (off[0] * slope[1][1] - off[1] * slope[0][1]) / determinant;
    steps[1] = (off[1] * slope[0][0] - off[0] * slope[1][0]) / determinant;
}

/* Turns both, from their values on, until the simulator takes as long, or as nearly so as it
 * gets: Newton's method, with half the step where that leads away. *least_off is how far off
 * `best` is, and they are better afterwards, or the same. */
static enum status turn_from(struct rig *rig, struct turned turned[2], int count,
                             double *least_off)
{
    enum { ROUNDS = 12, MOST_NS = 1000000 }; /* no step may lead beyond */
    double off[2] = {0}, steps[2] = {0}, before = INFINITY;
    for (int i = 0; i < ROUNDS && *least_off >= count; i++) {
        double slope[2][2] = {{1, 0}, {0, 1}};
        enum status status = look(rig, turned, count, off);
        double now = fabs(off[0]) + fabs(off[1]);
        bool nearer = now < before, nearest = now < *least_off;
        if (status == STATUS_OK && nearer)
            status = look_around(rig, turned, count, off, slope);
        if (status != STATUS_OK)
            return status;
        if (nearer)
            find_steps(off, (const double(*)[2])slope, steps);
        for (int j = 0; j < count; j++) {
            turned[j].base = nearer ? turned[j].value : turned[j].base;
            turned[j].best = nearest ? turned[j].value : turned[j].best;
            steps[j] *= nearer ? 1 : 0.5;
            turned[j].value = fmax(turned[j].least, round(turned[j].base + steps[j]));
            turned[j].value = fmin(turned[j].value, MOST_NS);
        }
        before = fmin(before, now);
        *least_off = fmin(*least_off, now);
    }
    return STATUS_OK;
}

/* Where both directions share an engine, streams meet there, and steps lead astray: then it is
 * tried again with less and less of what the streams take longer put down to polling. */
static enum status turn(struct rig *rig, struct turned turned[2], int count)
{
    enum { STARTS = 8, FINAL = 3 };
    enum status status = STATUS_OK;
    double off[2], least_off = INFINITY;
    for (int start = STARTS; start > 0 && least_off >= count && status == STATUS_OK; start--) {
        turned[0].value = turned[0].least;
        turned[1].value = round(fmax(0, turned[1].measured.ns * start / STARTS));
        status = turn_from(rig, turned, count, &least_off);
        if (count == 1)
            break;
    }
    for (int i = 0; i < count; i++)
        turned[i].value = turned[i].best;
    for (int i = 0; i < FINAL && status == STATUS_OK; i++) { /* a pipeline's time comes first */
        status = look(rig, turned, count, off);
        turned[0].value = round(fmax(turned[0].least, turned[0].value + off[0]));
    }
    return status == STATUS_OK ? look(rig, turned, count, off) : status;
}

static enum status measure_signals_and_polls(struct rig *rig)
{
    struct turned turned[2] = {0}; /* signals, polls */
    bool queues = poll_streams(rig) > 1;
    enum status status = STATUS_OK;
    if (queues)
        status = measure_polls(rig, &turned[1]);
    else
        rig_known(rig, "poll_ns", 0, "not measured: there is but one queue");
    if (status == STATUS_OK)
        status = measure_signals(rig, &turned[0]);
    return status == STATUS_OK ? turn(rig, turned, queues ? 2 : 1) : status;
}

/* From the end of the call to the start of what it issued, with nothing else to do. */
static enum status measure_launch(struct rig *rig)
{
    enum { LAUNCHES = 32 };
    struct row row = {.steps = "ks", .count = LAUNCHES, .elements = 1024, .blocks = 1};
    int64_t delays[LAUNCHES];
    struct timeline timeline;
    timeline_init(&timeline);
    enum status status = rig_trace(rig, &row, &timeline);
    int found = 0;
    for (uint32_t i = 0; status == STATUS_OK && i < timeline.span_count; i++) {
        const struct span *span = &timeline.spans[i];
        if (span->kind == OP_KERNEL && span->op + 1 < timeline.issue_count)
            delays[found++] = span->start_ns - timeline.issue_ns[span->op + 1];
    }
    timeline_free(&timeline);
    if (status != STATUS_OK)
        return status;
    struct measured delay = measured_median(delays, found);
    rig_found(rig, "kernel_latency_ns", fmax(0, delay.ns), delay,
              "from a call's end to its kernel's start on an idle device");
    return STATUS_OK;
}

enum status calibrate_signals(struct rig *rig)
{
    enum status status = measure_launch(rig);
    if (status == STATUS_OK)
        status = measure_ways(rig);
    return status == STATUS_OK ? measure_signals_and_polls(rig) : status;
}
