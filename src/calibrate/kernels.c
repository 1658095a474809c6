/* kernels.c - what launches cost, and what the GPU's rates are for each kernel.
 *
 * Launches are timed in traces: a span is a launch's own time, without the gap before it
 * and without what the host takes, so that a few launches tell as much as a long row. Kernels
 * whose rates are another's (`rates_of`) are left to that one's section. So is the matrix
 * product: a library has its code, whose rate depends on the matrices' shapes.
 *
 * The launcher of a kernel of the user's own may do more than launch one kernel, such as clear
 * its output, so that a trace would not be this plan's. Its launches are timed in plain rows: a
 * step of these is a launch and the gap before it. */
#include "calibrate/rig.h"
#include "machine/fields.h"
#include "plan/rules_blocks.h"

#include <math.h>

enum {
    GAP_LAUNCHES = 64,
    TINY_LAUNCHES = 32,
    LIGHT_LAUNCHES = 8,
    FULL_LAUNCHES = 4,
    LIGHT_BYTES = ROW_ARRAY_BYTES, /* beyond the caches, for launches that tell the memory's
                                      rate; a little less where that makes whole sweeps */
    HEAVY_FLOPS = 4000,            /* for each element, where arithmetic is to decide */
    SWEEPS = 2,                    /* so much work that the start of a sweep counts little */
    OWN_LEAST = 64 << 10,          /* elements of a kernel of the user's own, however heavy */
    OWN_SWEEPS = 64,               /* of it on a few blocks: longer than the host's call */
};

bool rig_measures(const struct kernel *kernel)
{
    return kernel->rates_of == NULL && kernel->work == NULL;
}

const struct kernel *rig_next_kernel(const struct rig *rig, const struct kernel *kernel)
{
    if (kernel != NULL && kernel == rig->own)
        return NULL;
    if (rig->scope == CALIBRATE_QUICK)
        return kernel == NULL ? kernel_find("scale") : rig->own;
    kernel = kernel != NULL ? kernel + 1 : kernel_table;
    while (kernel->name != NULL && !rig_measures(kernel))
        kernel++;
    return kernel->name != NULL ? kernel : rig->own;
}

uint64_t rig_elements(const struct kernel *kernel, uint64_t bytes)
{
    const double flops_most = 5e10;
    const size_t in = dtype_bytes(kernel->in), out = dtype_bytes(kernel->out);
    const uint64_t elements = bytes / (kernel->shape == KERNEL_MAP && out > in ? out : in);
    if (kernel->file == NULL || kernel->flops * (double)elements <= flops_most)
        return elements;
    const double fewer = fmax(OWN_LEAST, flops_most / kernel->flops);
    return (uint64_t)fmin(fewer, (double)elements) & ~(uint64_t)1; /* some take half of them */
}

int rig_draw_work(const struct row *row, const struct timeline *timeline, int64_t *times)
{
    int count = 0;
    (void)row;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (span->kind == OP_KERNEL || span->kind == OP_CPU)
            times[count++] = span->end_ns - span->start_ns;
    }
    return count;
}

/* Returns the intensity that makes the kernel's arithmetic as much as it is in others. */
static uint32_t heavy(const struct kernel *kernel)
{
    return (uint32_t)fmax(2, HEAVY_FLOPS / kernel->flops);
}

/* Returns launches of whole sweeps of a grid, so that all its blocks have as much to do. A grid
 * that grows with the work has as many blocks for each sweep. */
static struct row sweeps_of(const struct kernel *kernel, uint32_t blocks, uint32_t sweeps,
                            uint32_t intensity)
{
    uint64_t sweep = (uint64_t)blocks * KERNEL_THREADS * kernel->sweep;
    return (struct row){.steps = "k",
                        .count = TINY_LAUNCHES,
                        .kernel = kernel,
                        .elements = sweep * sweeps,
                        .blocks = kernel->whole_grid ? blocks * sweeps : blocks,
                        .intensity = intensity};
}

/* Returns launches of as many whole sweeps as fill the arrays, for a kernel's memory. */
static struct row sweeps_over(const struct kernel *kernel, uint32_t blocks)
{
    uint64_t elements = rig_elements(kernel, LIGHT_BYTES);
    uint64_t sweeps = elements / ((uint64_t)blocks * KERNEL_THREADS * kernel->sweep);
    struct row row = sweeps_of(kernel, blocks, sweeps > 0 ? (uint32_t)sweeps : 1, 1);
    row.count = LIGHT_LAUNCHES;
    return row;
}

/* Returns the row with the GPU idle before each launch, as in a pipeline. Behind another launch
 * blocks come to SMs as those get free, and some would hold more than others. */
static struct row alone(struct row row)
{
    row.steps = "ks";
    row.count = FULL_LAUNCHES;
    return row;
}

/* Returns the blocks of a launch that hardly loads the GPU: whole squares of a matrix where
 * there are that many, for the kernels that work on these. */
static uint32_t few_blocks(uint32_t sms)
{
    enum { SQUARES = 16 };
    uint32_t blocks = sms / 4;
    return blocks >= SQUARES ? blocks - blocks % SQUARES : blocks > 0 ? blocks : 1;
}

/* The launches that are timed. Each tells one figure, if the others are known. */
enum launch {
    TINY,   /* a few blocks, one sweep: what a launch takes beside its work */
    LIGHT,  /* a full grid on large arrays: the memory's rate */
    THIN,   /* a quarter of a grid on the same: how few blocks take all of it. A grid that grows
               with the work can't be that: one sweep of as many blocks as the GPU holds */
    FEW,    /* a few blocks on the same, if the grid does not grow: how long each waits for a
               memory that is nearly idle */
    HEAVY,  /* a full grid with much arithmetic: the rate of that */
    SINGLE, /* one block on most SMs with as much: how few blocks of an SM do all of it */
    LAUNCHES
};

struct timed {
    struct row row;
    struct measured step; /* a launch */
};

static void choose_launches(const struct rig *rig, const struct kernel *kernel,
                            struct timed timed[LAUNCHES])
{
    uint32_t resident = machine_resident_blocks(rig->device), sms = rig->device->sms;
    timed[TINY].row = sweeps_of(kernel, few_blocks(sms), 1, 1);
    timed[LIGHT].row = sweeps_over(kernel, resident);
    timed[THIN].row = kernel->whole_grid ? sweeps_of(kernel, resident, 1, 1)
                                         : sweeps_over(kernel, (resident + 3) / 4);
    timed[FEW].row = sweeps_over(kernel, few_blocks(sms));
    timed[FEW].row.count = FULL_LAUNCHES;
    timed[HEAVY].row = alone(sweeps_of(kernel, resident, SWEEPS, heavy(kernel)));
    /* There are fewer blocks than SMs: else two might share one. */
    timed[SINGLE].row = alone(sweeps_of(kernel, sms - sms / 4, SWEEPS, heavy(kernel)));
    if (kernel->file == NULL)
        return;
    /* FEW has many more sweeps, and tells what these take. */
    const uint64_t eighth = timed[FEW].row.elements / timed[TINY].row.elements / 8;
    const uint32_t sweeps = eighth > OWN_SWEEPS ? OWN_SWEEPS
                            : eighth > 1        ? (uint32_t)eighth
                                                : 1;
    timed[TINY].row = sweeps_of(kernel, few_blocks(sms), sweeps, 1);
}

struct measured rig_launch(struct rig *rig, const struct row *row)
{
    if (row_kernel(row)->file == NULL)
        return rig_traced(rig, row, rig_draw_work);
    struct measured launch = rig_step(rig, row, NULL);
    launch.ns = fmax(1, launch.ns - (double)rig->calibration->machine.kernel_gap_ns);
    return launch;
}

/* Returns the time of a launch by the figures in `row`. */
static double predict(const struct rig *rig, const struct kernel *kernel,
                      const struct machine_kernel *row, const struct row *launch)
{
    struct machine machine = rig->calibration->machine;
    struct kernel_params params = {.intensity = launch->intensity};
    machine.sms = rig->device->sms;
    machine.threads_per_sm = rig->device->threads_per_sm;
    machine.blocks_per_sm = rig->device->blocks_per_sm;
    machine.l2_bytes = rig->device->l2_bytes;
    machine.kernels[0] = *row;
    machine.kernel_count = 1;
    return rule_launch_alone_ns(&machine, kernel, &params, launch->elements, launch->blocks);
}

/* Returns the launch's work as measured over that by the figures in `row`. */
static double more_work(const struct rig *rig, const struct kernel *kernel,
                        const struct machine_kernel *row, const struct timed *timed)
{
    double beside = (double)row->fixed_ns, ns = predict(rig, kernel, row, &timed->row);
    return fmax(1, timed->step.ns - beside) / fmax(1, ns - beside);
}

/* Returns by how much longer the launch takes than by the figures in `row`. */
static double longer_ns(const struct rig *rig, const struct kernel *kernel,
                        const struct machine_kernel *row, const struct timed *timed)
{
    return timed->step.ns - predict(rig, kernel, row, &timed->row);
}

static double between(double value, double least, double most)
{
    return fmin(most, fmax(least, value));
}

/* Brings memory_fill and fixed_ns nearer to what two launches say. Of a grid that grows with
 * the work, one that fills the GPU tells fixed_ns, and one of few blocks the fill. Else fewer
 * blocks than were measured are not guessed at: a quarter of the grid may be as fast as all of
 * it, or faster. */
static void fit_few_blocks(const struct rig *rig, const struct kernel *kernel,
                           const struct timed timed[LAUNCHES], struct machine_kernel *row)
{
    const double resident = machine_resident_blocks(rig->device);
    const bool grows = kernel->whole_grid;
    const double least = (grows ? timed[TINY].row.blocks : ceil(resident / 4)) / resident;
    double more = more_work(rig, kernel, row, &timed[grows ? TINY : THIN]);
    row->memory_fill = between(row->memory_fill * more, least, 1);
    double longer = longer_ns(rig, kernel, row, &timed[grows ? THIN : TINY]);
    row->fixed_ns = llround(between((double)row->fixed_ns + longer, 1, 1e9));
}

/* Brings idle_memory_share nearer to what few blocks say: it is what is left of a block's time
 * when the part that the others' number makes is taken off, as in rule_sweep_ns(). It can't be
 * told where few blocks saturate the memory. */
static void fit_idle(const struct rig *rig, const struct kernel *kernel,
                     const struct timed timed[LAUNCHES], struct machine_kernel *row)
{
    const double full = row->memory_fill * machine_resident_blocks(rig->device);
    const double few = timed[FEW].row.blocks, idle = row->idle_memory_share;
    const double waits = idle * full + (1 - idle) * few;
    if (full <= few)
        return;
    row->idle_memory_share = between(
        (waits * more_work(rig, kernel, row, &timed[FEW]) - few) / (full - few), 0.05, 1);
}

/* Finds the figures: each in turn is scaled by the error of the launch that tells it, with the
 * others as they are, and after some rounds all launches take as long as measured. */
static void fit(const struct rig *rig, const struct kernel *kernel,
                const struct timed timed[LAUNCHES], struct machine_kernel *row)
{
    enum { ROUNDS = 300 };
    double resident = machine_resident_blocks(rig->device);
    double least_arithmetic = rig->device->sms / resident;
    for (int round = 0; round < ROUNDS; round++) {
        row->bytes_per_s /= more_work(rig, kernel, row, &timed[LIGHT]);
        if (kernel->repeats) {
            row->flops_per_s /= more_work(rig, kernel, row, &timed[HEAVY]);
            row->arithmetic_fill =
                between(row->arithmetic_fill * more_work(rig, kernel, row, &timed[SINGLE]),
                        least_arithmetic, 1);
        }
        fit_few_blocks(rig, kernel, timed, row);
        if (!kernel->whole_grid)
            fit_idle(rig, kernel, timed, row);
    }
}

/* Sets the arithmetic's rate of a kernel of the user's own, of which one measurement tells
 * both. No machine file holds rates of next to nothing. */
static void take_arithmetic(struct rig *rig, const struct kernel *kernel,
                            const struct machine_kernel *row, struct measured light)
{
    const struct kernel_params once = {.intensity = 1};
    double bytes, flops;
    kernel_work(kernel, &once, 1 << 20, &bytes, &flops);
    const double rate = row->bytes_per_s * flops / bytes;
    if (rate >= machine_field_find(machine_kernel_fields, "flops_per_s")->least)
        rig_set(rig, kernel, "flops_per_s", rate, &light,
                "of the same launches as bytes_per_s");
}

static void take_figures(struct rig *rig, const struct kernel *kernel,
                         const struct timed timed[LAUNCHES], const struct machine_kernel *row)
{
    char how[FIGURE_TEXT];
    const bool grows = kernel->whole_grid;
    rig_set(rig, kernel, "fixed_ns", (double)row->fixed_ns, &timed[grows ? THIN : TINY].step,
            grows ? "launches that just fill the GPU, less their work"
                  : "launches of a few blocks, less their work");
    rig_set(rig, kernel, "bytes_per_s", row->bytes_per_s, &timed[LIGHT].step,
            grows ? "launches on 128 MiB" : "a full grid on 128 MiB");
    rig_set(rig, kernel, "memory_fill", row->memory_fill, &timed[grows ? TINY : THIN].step,
            grows ? "launches of a few blocks, less fixed_ns"
                  : "as bytes_per_s, with a quarter of the grid");
    if (!grows)
        rig_set(rig, kernel, "idle_memory_share", row->idle_memory_share, &timed[FEW].step,
                "as bytes_per_s, with a few blocks");
    if (kernel->file != NULL)
        take_arithmetic(rig, kernel, row, timed[LIGHT].step);
    if (!kernel->repeats)
        return;
    snprintf(how, sizeof how, "%d sweeps of a full grid at an intensity of %d", SWEEPS,
             (int)heavy(kernel));
    rig_set(rig, kernel, "flops_per_s", row->flops_per_s, &timed[HEAVY].step, how);
    rig_set(rig, kernel, "arithmetic_fill", row->arithmetic_fill, &timed[SINGLE].step,
            "as flops_per_s, with one block on three SMs of four");
}

/* The launches that tell leftover_excess are a heavy sweep of `scale` and a part of the next.
 * The fullest SM has three quarters of its blocks in that part if the excess is at most
 * 1 + LEAST, 1 + LEAST + STEP and so on, and else one more. */
enum { PARTS = 12 };
static const double LEAST = 0.025, STEP = 0.05;

static struct row sweep_and_part(const struct rig *rig, const struct kernel *kernel, int part)
{
    uint32_t resident = machine_resident_blocks(rig->device), sms = rig->device->sms;
    struct row row = sweeps_of(kernel, resident, 1, heavy(kernel));
    double on_fullest = fmax(1, floor(0.75 * resident / sms));
    double blocks = floor(sms * on_fullest / (1 + LEAST + STEP * part));
    row.elements += (uint64_t)blocks * KERNEL_THREADS * kernel->sweep;
    return alone(row);
}

/* Returns the mean square of the relative errors of those launches' times with `excess`. */
static double misfit(struct rig *rig, double excess, const struct measured steps[PARTS])
{
    const struct kernel *scale = kernel_find("scale");
    const struct machine *machine = &rig->calibration->machine;
    double sum = 0;
    rig->calibration->machine.leftover_excess = excess;
    for (int i = 0; i < PARTS; i++) {
        struct row row = sweep_and_part(rig, scale, i);
        double off =
            predict(rig, scale, machine_kernel_find(machine, "scale"), &row) / steps[i].ns - 1;
        sum += off * off / PARTS;
    }
    return sum;
}

/* Finds leftover_excess. An SM holds whole blocks, so a range of values does equally well: the
 * middle of the best is taken, or the least of them if they go on to the largest possible. */
static void fit_leftover(struct rig *rig, const struct measured steps[PARTS],
                         struct measured spread)
{
    enum { VALUES = 1000 };
    const double alike = 1e-9; /* squares that differ by less are the same */
    double resident = machine_resident_blocks(rig->device);
    double most = fmin(3, resident / rig->device->sms), best = INFINITY;
    double first = 1, last = 1;
    for (int i = 0; i <= VALUES; i++) {
        double excess = 1 + (most - 1) * i / VALUES, off = misfit(rig, excess, steps);
        if (off < best - alike) {
            best = off;
            first = excess;
        }
        if (off < best + alike)
            last = excess;
    }
    if (first == 1 && last == most)
        rig_known(rig, "leftover_excess", 1,
                  "not measured: a part of a sweep takes as long as a whole one");
    else
        rig_found(rig, "leftover_excess", last == most ? first : (first + last) / 2, spread,
                  "a heavy sweep of `scale` and 0.5 to 0.7 of another");
}

/* Measures leftover_excess: how much longer the part of a sweep that is left over takes than if
 * its blocks were dealt evenly. */
static void measure_leftover(struct rig *rig)
{
    struct measured steps[PARTS], spread = {0};
    for (int i = 0; i < PARTS; i++) {
        struct row row = sweep_and_part(rig, kernel_find("scale"), i);
        steps[i] = rig_traced(rig, &row, rig_draw_work);
        spread.ns += steps[i].ns / PARTS;
        spread.spread_ns += steps[i].spread_ns / PARTS;
        spread.passes = steps[i].passes;
    }
    fit_leftover(rig, steps, spread);
}

static void measure_kernel(struct rig *rig, const struct kernel *kernel)
{
    struct timed timed[LAUNCHES] = {0};
    choose_launches(rig, kernel, timed);
    for (int i = 0; i < (kernel->repeats ? LAUNCHES : HEAVY); i++) {
        if (i != FEW || !kernel->whole_grid)
            timed[i].step = rig_launch(rig, &timed[i].row);
    }
    if (rig_failed(rig)) /* nothing fits launches of no time */
        return;
    struct machine_kernel row = {.fixed_ns = 1000,
                                 .bytes_per_s = 1e12,
                                 .memory_fill = 0.3,
                                 .idle_memory_share = kernel->whole_grid ? 0 : 1,
                                 .flops_per_s = kernel->repeats ? 1e13 : 0,
                                 .arithmetic_fill = kernel->repeats ? 0.3 : 0};
    snprintf(row.name, sizeof row.name, "%s", kernel->name);
    fit(rig, kernel, timed, &row);
    take_figures(rig, kernel, timed, &row);
    if (kernel == kernel_find("scale")) {
        struct row one_block = sweeps_of(kernel, 1, 1, 1);
        rig->launch_ns = predict(rig, kernel, &row, &one_block);
    }
}

/* Sets the machine's own figures, which hold for kernels that have no section of their own or
 * can't be made heavy: they are those of `scale`. */
static void take_from_scale(struct rig *rig)
{
    const struct machine_kernel *scale =
        machine_kernel_find(&rig->calibration->machine, "scale");
    const char *how = "as of [kernel scale]";
    rig_known(rig, "kernel_fixed_ns", (double)scale->fixed_ns, how);
    rig_known(rig, "memory_bytes_per_s", scale->bytes_per_s, how);
    rig_known(rig, "flops_per_s", scale->flops_per_s, how);
    rig_known(rig, "arithmetic_fill", scale->arithmetic_fill, how);
    rig_known(rig, "memory_fill", scale->memory_fill, how);
    rig_known(rig, "idle_memory_share", scale->idle_memory_share, how);
}

void calibrate_kernels(struct rig *rig)
{
    const struct kernel *scale = kernel_find("scale");
    struct row small = sweeps_of(scale, 1, 1, 1);
    small.count = GAP_LAUNCHES;
    small.gate = true;
    const struct measured gap = rig_traced(rig, &small, rig_draw_gaps);
    rig_found(rig, "kernel_gap_ns", gap.ns, gap,
              "from a kernel's end to the next one's start in its stream");
    measure_kernel(rig, scale);
    if (rig_failed(rig))
        return;
    take_from_scale(rig);
    for (const struct kernel *kernel = rig_next_kernel(rig, NULL); kernel != NULL;
         kernel = rig_next_kernel(rig, kernel)) {
        if (kernel != scale)
            measure_kernel(rig, kernel);
    }
    measure_leftover(rig);
}
