/* mapped.c - launches on the host's memory: what they take longer than on the device's, and the
 * share of the link's rates that each kernel gets. */
#include "calibrate/rig.h"
#include "plan/rules.h"

#include <math.h>

enum { LARGE_LAUNCHES = 4, SMALL_LAUNCHES = 32, SMALL_ELEMENTS = 64 << 10 };

/* Returns launches on `elements`, with as many blocks as a run gives them. */
static struct row launches_on(const struct rig *rig, const struct kernel *kernel,
                              uint64_t elements, uint32_t count)
{
    return (struct row){
        .steps = "k",
        .count = count,
        .kernel = kernel,
        .elements = elements,
        .blocks = kernel_blocks(kernel, elements, machine_resident_blocks(rig->device)),
        .mapped = true};
}

static struct row large_launches(const struct rig *rig, const struct kernel *kernel)
{
    return launches_on(rig, kernel, ROW_SMALL_BYTES / dtype_bytes(kernel->in), LARGE_LAUNCHES);
}

/* Returns the time of the launch's bytes at the link's full rates. */
static double link_ns(const struct rig *rig, const struct row *row)
{
    const struct kernel *kernel = row->kernel;
    double in = (double)row->elements * kernel->inputs * (double)dtype_bytes(kernel->in);
    double each = kernel->shape == KERNEL_REDUCE ? 1 : (double)row->elements;
    return machine_link_ns(&rig->calibration->machine, in,
                           each * (double)dtype_bytes(kernel->out));
}

static double fixed_ns(const struct rig *rig, const struct kernel *kernel)
{
    return (double)machine_kernel_find(&rig->calibration->machine, kernel->name)->fixed_ns;
}

/* Returns the time of the launch's work on the device's memory. */
static double device_ns(const struct rig *rig, const struct row *row)
{
    const struct kernel_params once = {.intensity = 1};
    return rule_launch_alone_ns(&rig->calibration->machine, row->kernel, &once, row->elements,
                                row->blocks) -
           fixed_ns(rig, row->kernel);
}

/* Measures mapped_latency_ns: of `scale`'s launches, large and small, what goes by their number
 * and not by their bytes. Those may take `slower` times as long as at the link's full rates, or
 * as long as the device's own memory does. */
static enum status measure_latency(struct rig *rig)
{
    enum { ROUNDS = 60 };
    const struct kernel *scale = kernel_find("scale");
    const struct row large = large_launches(rig, scale),
                     small = launches_on(rig, scale, SMALL_ELEMENTS, SMALL_LAUNCHES);
    struct measured much, little;
    if (rig_traced(rig, &large, rig_draw_launches, &much) != STATUS_OK ||
        rig_traced(rig, &small, rig_draw_launches, &little) != STATUS_OK)
        return rig->error->status;
    double slower = 1, work_ns = 0;
    for (int i = 0; i < ROUNDS; i++) {
        work_ns = fmax(device_ns(rig, &small), slower * link_ns(rig, &small));
        slower = fmax(1, (much.ns - little.ns + work_ns) / link_ns(rig, &large));
    }
    rig_found(rig, "mapped_latency_ns", fmax(0, little.ns - work_ns - fixed_ns(rig, scale)),
              little,
              "launches of `scale` on 64k elements of mapped memory, less fixed_ns and their "
              "bytes' time by that of 1M");
    return STATUS_OK;
}

static enum status measure_share(struct rig *rig, const struct kernel *kernel)
{
    const struct row row = large_launches(rig, kernel);
    struct measured launch;
    if (rig_traced(rig, &row, rig_draw_launches, &launch) != STATUS_OK)
        return rig->error->status;
    double beside = fixed_ns(rig, kernel) + (double)rig->calibration->machine.mapped_latency_ns;
    rig_found_kernel(
        rig, kernel, "mapped_share", fmin(1, link_ns(rig, &row) / fmax(1, launch.ns - beside)),
        launch, "launches on 4 MiB of mapped memory, against its bytes at the link's rates");
    return STATUS_OK;
}

enum status calibrate_mapped(struct rig *rig)
{
    if (measure_latency(rig) != STATUS_OK)
        return rig->error->status;
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        if (rig_measures(kernel) && measure_share(rig, kernel) != STATUS_OK)
            return rig->error->status;
    }
    return STATUS_OK;
}
