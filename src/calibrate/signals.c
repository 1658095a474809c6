/* signals.c - the time that an op takes to start once what it waits for, another engine or the
 * host, is done. */
#include "calibrate/rig.h"
#include "plan/rules.h"

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
    POLL_INTENSITY = 4000, /* some 200 us on one block */
    SLOW_CHAIN = 8,
};

/* Measures the time from the end of one op to the start of one that waits for it on another
 * engine. A step of the chain "hk" (copy in, kernel, copy in, ...) takes the two ops
 * themselves, the way to the kernel and the way to the next copy in: less the ops' own times,
 * three chains of two kinds give three equations for the three ways. */
static void measure_ways(struct rig *rig)
{
    static const char *const chains[] = {"hk", "kd", "hd"};
    const struct machine *machine = &rig->calibration->machine;
    double in = machine_copy_ns(machine, true, COPY_BYTES);
    double out = machine_copy_ns(machine, false, COPY_BYTES);
    double kernel = rig->launch_ns, own[] = {in + kernel, kernel + out, in + out};
    struct measured steps[3];
    double ways[3];
    for (int i = 0; i < 3; i++) {
        struct row row = {
            .steps = chains[i], .count = CHAIN, .bytes = COPY_BYTES, SMALL_KERNEL};
        steps[i] = rig_step(rig, &row, NULL);
        ways[i] = steps[i].ns - own[i];
    }
    double to_kernel = (ways[0] + ways[1] - ways[2]) / 2;
    double to_h2d = (ways[0] + ways[2] - ways[1]) / 2;
    double to_d2h = (ways[1] + ways[2] - ways[0]) / 2;
    const char *how = "chains of two kinds of op in one stream";
    struct measured spread = {
        .passes = steps[0].passes,
        .spread_ns = (steps[0].spread_ns + steps[1].spread_ns + steps[2].spread_ns) / 2};
    rig_found(rig, "h2d_dependency_ns", fmax(0, to_h2d), spread, how);
    rig_found(rig, "kernel_dependency_ns", fmax(0, to_kernel), spread, how);
    rig_found(rig, "d2h_dependency_ns", fmax(0, to_d2h), spread, how);
}

/* --- two figures, each of which has a part in the other's time ---
 *
 * signal_gap_ns (how much later an op that waits for another engine starts, while engines are
 * busy) shows in the time of a pipeline, and poll_ns (how long the device takes to look through
 * the other queues) in chains that run side by side. Each changes both times, and the simulator
 * alone knows by how much: so the pair is sought with which it takes as long as the device. */

/* One of the figures that are sought, and what tells it. */
struct sought {
    const char *key, *how;
    double least;
    struct measured measured; /* a time that changes by about as much as the figure */
    double (*simulate)(struct rig *rig); /* predicts that time */
    double value;                        /* tried now */
    double base;                         /* tried when it last got nearer */
    double best;                         /* the nearest so far */
};

/* Returns the number of chains that run side by side, each in a queue of its own. */
static uint32_t poll_streams(const struct rig *rig)
{
    uint32_t queues = rig->device->queues;
    return queues < POLL_STREAMS ? queues : POLL_STREAMS;
}

/* Chains of copy in, kernel and copy out, one in each stream, with small copies and a long
 * kernel: engines are idle most of the time, so that the chains hardly wait for one another. */
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

/* Returns by how much an op takes longer for each other stream, from the time of a step where
 * all streams run and where one does. A step is three ops. */
static double poll_ns(uint32_t streams, double many_ns, double one_ns)
{
    return (streams * many_ns - one_ns) / (3 * (streams - 1));
}

static double simulate_polls(struct rig *rig)
{
    uint32_t streams = poll_streams(rig);
    struct row one_row = poll_row(1), many_row = poll_row(streams);
    const double one = rig_simulated_step(rig, &one_row, NULL);
    return poll_ns(streams, rig_simulated_step(rig, &many_row, NULL), one);
}

static void measure_polls(struct rig *rig, struct sought *polls)
{
    uint32_t streams = poll_streams(rig);
    struct row one_row = poll_row(1), many_row = poll_row(streams);
    const struct measured one = rig_step(rig, &one_row, NULL),
                          many = rig_step(rig, &many_row, NULL);
    *polls = (struct sought){.key = "poll_ns",
                             .how = "such chains in up to 8 streams against one",
                             .simulate = simulate_polls};
    polls->measured.ns = poll_ns(streams, many.ns, one.ns);
    polls->measured.passes = one.passes;
    polls->measured.spread_ns =
        (streams * many.spread_ns + one.spread_ns) / (3 * (streams - 1));
}

/* A pipeline in so many streams that only the copy engines show. */
static const struct row pipeline = {.steps = "hkd",
                                    .count = SIGNAL_COUNT,
                                    .streams = SIGNAL_STREAMS,
                                    .bytes = SIGNAL_BYTES,
                                    SMALL_KERNEL};

/* Returns how often a copy engine has its turn for one tile: with one engine, both ways. */
static int engine_turns(const struct rig *rig)
{
    return rig->calibration->machine.copy_engines == 1 ? 2 : 1;
}

static double simulate_signals(struct rig *rig)
{
    return rig_simulated_step(rig, &pipeline, NULL) / engine_turns(rig);
}

static void measure_signals(struct rig *rig, struct sought *signals)
{
    const struct machine *machine = &rig->calibration->machine;
    signals->measured = rig_step(rig, &pipeline, NULL);
    signals->measured.ns /= engine_turns(rig);
    signals->measured.spread_ns /= engine_turns(rig);
    signals->key = "signal_gap_ns";
    signals->how = "likewise behind the copies of a pipeline in 6 streams";
    signals->least = (double)machine->h2d_gap_ns;
    signals->simulate = simulate_signals;
}

/* Simulates with the values tried now. Sets how much longer the device took, for each. */
static void look(struct rig *rig, struct sought sought[2], int count, double off[2])
{
    for (int i = 0; i < count; i++)
        rig_found(rig, sought[i].key, sought[i].value, sought[i].measured, sought[i].how);
    for (int i = 0; i < count; i++)
        off[i] = sought[i].measured.ns - sought[i].simulate(rig);
}

/* Finds the derivatives: slope[i][j] is by how much off[i] shrinks for each ns that value j
 * grows. They are differences over 50 ns, for a simulator counts whole ns. */
static void look_around(struct rig *rig, struct sought sought[2], int count,
                        const double off[2], double slope[2][2])
{
    const double aside_ns = 50;
    double moved[2];
    for (int j = 0; j < count; j++) {
        sought[j].value += aside_ns;
        look(rig, sought, count, moved);
        sought[j].value -= aside_ns;
        for (int i = 0; i < count; i++)
            slope[i][j] = (off[i] - moved[i]) / aside_ns;
    }
}

/* Solves slope * steps = off, two linear equations, by Cramer's rule. Where they say nearly the
 * same (a small determinant), each figure makes up for its own time alone. */
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

/* Changes the values by Newton's method, from what they are, until both are right to about a
 * ns. The times are linear in the figures piece by piece, so that two or three steps do; a step
 * into another piece may lead away, and is then halved until it does not. *least_off is how far
 * off the best values are, before and after. */
static void seek_from(struct rig *rig, struct sought sought[2], int count, double *least_off)
{
    enum { ROUNDS = 12, MOST_NS = 1000000 }; /* no step may lead beyond */
    double off[2] = {0}, steps[2] = {0}, before = INFINITY;
    for (int i = 0; i < ROUNDS && *least_off >= count; i++) {
        double slope[2][2] = {{1, 0}, {0, 1}};
        look(rig, sought, count, off);
        double now = fabs(off[0]) + fabs(off[1]);
        bool nearer = now < before, nearest = now < *least_off;
        if (nearer) {
            look_around(rig, sought, count, off, slope);
            find_steps(off, (const double(*)[2])slope, steps);
        }
        for (int j = 0; j < count; j++) {
            sought[j].base = nearer ? sought[j].value : sought[j].base;
            sought[j].best = nearest ? sought[j].value : sought[j].best;
            steps[j] *= nearer ? 1 : 0.5;
            sought[j].value = fmax(sought[j].least, round(sought[j].base + steps[j]));
            sought[j].value = fmin(sought[j].value, MOST_NS);
        }
        before = fmin(before, now);
        *least_off = fmin(*least_off, now);
    }
}

/* Seeks the figures from one or more starts, for Newton's method finds a solution that is near.
 * The usual start takes all that the streams take longer for polling. Where both directions
 * share an engine that leads astray, so it starts again with less and less of it put down to
 * polling, until one start ends near enough. At last signal_gap_ns alone is changed until the
 * pipeline's time is right. */
static void seek(struct rig *rig, struct sought sought[2], int count)
{
    enum { STARTS = 8, FINAL = 3 };
    double off[2], least_off = INFINITY;
    for (int start = STARTS; start > 0 && least_off >= count; start--) {
        sought[0].value = sought[0].least;
        sought[1].value = round(fmax(0, sought[1].measured.ns * start / STARTS));
        seek_from(rig, sought, count, &least_off);
        if (count == 1)
            break;
    }
    for (int i = 0; i < count; i++)
        sought[i].value = sought[i].best;
    for (int i = 0; i < FINAL; i++) {
        look(rig, sought, count, off);
        sought[0].value = round(fmax(sought[0].least, sought[0].value + off[0]));
    }
    look(rig, sought, count, off);
}

static void measure_signals_and_polls(struct rig *rig)
{
    struct sought sought[2] = {0}; /* first signals, then polls */
    bool queues = poll_streams(rig) > 1;
    if (queues)
        measure_polls(rig, &sought[1]);
    else
        rig_known(rig, "poll_ns", 0, "not measured: there is but one queue");
    measure_signals(rig, &sought[0]);
    seek(rig, sought, queues ? 2 : 1);
}

/* Takes the times from the ends of the calls to the starts of the kernels, or of the copies in,
 * that they issued. */
static int draw_delays(const struct row *row, const struct timeline *timeline, int64_t *times)
{
    int found = 0;
    const enum op_kind kind = row->steps[0] == 'h' ? OP_H2D : OP_KERNEL;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (span->kind == kind && span->op + 1 < timeline->issue_count)
            times[found++] = span->start_ns - timeline->issue_ns[span->op + 1];
    }
    return found;
}

/* Measures the times from the end of a call to the start of the kernel that it launched, and of
 * the copy that it issued, with nothing else to do. */
static void measure_starts(struct rig *rig)
{
    const struct row launch = {.steps = "ks", .count = 32, SMALL_KERNEL},
                     copy = {.steps = "hs", .count = 32, .bytes = 4 << 10};
    struct measured delay = rig_traced(rig, &launch, draw_delays);
    rig_found(rig, "kernel_latency_ns", fmax(0, delay.ns), delay,
              "from a call's end to its kernel's start on an idle device");
    delay = rig_traced(rig, &copy, draw_delays);
    rig_found(rig, "copy_start_ns", fmax(0, delay.ns), delay,
              "from a call's end to its copy's start on an idle device");
}

/* Measures how long after a kernel's end a call that waits for it hears of that: what such
 * steps take longer than by all other figures. */
static void measure_hearing(struct rig *rig)
{
    const struct row row = {.steps = "ks", .count = 128, SMALL_KERNEL};
    rig->calibration->machine.sync_latency_ns = 0;
    const struct measured step = rig_step(rig, &row, NULL);
    const double without_ns = rig_simulated_step(rig, &row, NULL);
    rig_found(rig, "sync_latency_ns", fmax(0, step.ns - without_ns), step,
              "launches that are each waited for, less all that is known of them");
}

void calibrate_signals(struct rig *rig)
{
    measure_starts(rig);
    measure_hearing(rig);
    measure_ways(rig);
    measure_signals_and_polls(rig);
}

/* --- callbacks --- */

/* Takes the times from a callback's start to the next one's. */
static int draw_pitches(const struct row *row, const struct timeline *timeline, int64_t *times)
{
    int64_t last_ns = 0;
    int found = -1; /* the first callback has none before it */
    (void)row;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (span->kind != OP_CALLBACK)
            continue;
        if (found >= 0)
            times[found] = span->start_ns - last_ns;
        last_ns = span->start_ns;
        found++;
    }
    return found > 0 ? found : 0;
}

/* Takes the times from a kernel's end to the start of the callback behind it. */
static int draw_told(const struct row *row, const struct timeline *timeline, int64_t *times)
{
    int found = 0;
    (void)row;
    for (uint32_t i = 0; i + 1 < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span[0].kind == OP_KERNEL && span[1].kind == OP_CALLBACK)
            times[found++] = span[1].start_ns - span[0].end_ns;
    }
    return found;
}

/* Kernels in one stream, with a callback behind each or without. */
static struct row called_row(const char *steps, uint32_t count, uint32_t intensity)
{
    return (struct row){.steps = steps,
                        .count = count,
                        .elements = 1024 * POLL_SWEEPS,
                        .blocks = 1,
                        .intensity = intensity};
}

/* Returns how long the thread has slept, as a part of the longest sleep that counts, when a
 * kernel of the row ends, whose step takes `beside_ns` beside what tells a thread of its
 * callback. */
static double sleep_part(const struct rig *rig, double beside_ns)
{
    return rule_sleep_part(llround(beside_ns) - rig->calibration->machine.callback_ns);
}

/* Measures how long it takes until a callback behind a kernel is called, once the thread has
 * slept a little, and once for long: that gives two equations for two figures. The first is the
 * difference that callbacks make to a row of kernels. In the second that would be little of the
 * kernels' time, so it is drawn from a trace. */
static void measure_told(struct rig *rig)
{
    struct machine *machine = &rig->calibration->machine;
    const struct row bare = called_row("k", CHAIN, POLL_INTENSITY / 10);
    const struct row called = called_row("kc", CHAIN, POLL_INTENSITY / 10);
    const struct row slow = called_row("kc", SLOW_CHAIN, POLL_INTENSITY * 15);
    const struct measured without = rig_step(rig, &bare, NULL);
    struct measured with = rig_step(rig, &called, NULL);
    struct measured late = rig_traced(rig, &slow, draw_told);
    machine->callback_latency_ns = machine->callback_wake_ns = 0;
    const double bare_ns = rig_simulated_step(rig, &bare, NULL);
    const double called_ns = rig_simulated_step(rig, &called, NULL);
    const double little = sleep_part(rig, called_ns);
    const double long_part = sleep_part(rig, rig_simulated_step(rig, &slow, NULL));
    const double soon_ns = (with.ns - without.ns) - (called_ns - bare_ns);
    const double wake_ns = fmax(0, (late.ns - soon_ns) / (long_part - little));
    with.spread_ns += without.spread_ns;
    late.spread_ns = (late.spread_ns + with.spread_ns) / (long_part - little);
    rig_found(rig, "callback_latency_ns", fmax(0, soon_ns - little * wake_ns), with,
              "what callbacks add to kernels of 20 us in one stream, less the next");
    rig_found(rig, "callback_wake_ns", wake_ns, late,
              "likewise behind kernels of 3 ms, in a trace");
}

void calibrate_callbacks(struct rig *rig)
{
    /* All are issued before the first is called. */
    const struct row row = {.steps = "c", .count = 128, .gate = true};
    const struct measured pitch = rig_traced(rig, &row, draw_pitches);
    rig_found(rig, "callback_ns", pitch.ns, pitch, "callbacks one behind another");
    measure_told(rig);
}
