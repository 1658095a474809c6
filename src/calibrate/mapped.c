/* mapped.c - launches on the host's memory: what they take longer than on the device's, and the
 * share of the link's rates that each kernel gets. */
#include "calibrate/rig.h"
#include "plan/rules_blocks.h"

#include <math.h>

/* Launches whose blocks make several sweeps each, as nearly all in a run do, and that differ by
 * whole ones: what a launch takes beside them, its beginning above all, drops out. */
enum {
    LAUNCHES = 2,
    OWN_LAUNCHES = 4, /* of which one is to compare with */
    LARGE_BYTES = 32 << 20,
    SMALL_LAUNCHES = 32,
    SMALL_ELEMENTS = 1024,
};

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

/* Sets the bytes that the launch moves over the link. */
static void link_bytes(const struct row *row, double *in, double *out)
{
    const struct kernel *kernel = row->kernel;
    double each = kernel->shape == KERNEL_REDUCE ? 1 : (double)row->elements;
    *in = (double)row->elements * kernel->inputs * (double)dtype_bytes(kernel->in);
    *out = each * (double)dtype_bytes(kernel->out);
}

/* Returns the time of the launch's bytes at the link's full rates. */
static double link_ns(const struct rig *rig, const struct row *row)
{
    double in, out;
    link_bytes(row, &in, &out);
    return machine_link_ns(&rig->calibration->machine, in, out);
}

/* Measures the share of the link's rates that a kernel gets. */
static void measure_share(struct rig *rig, const struct kernel *kernel)
{
    const double least = 0.001; /* in a machine file: a kernel of the user's may be slower */
    const uint64_t elements = rig_elements(kernel, LARGE_BYTES);
    const uint32_t count = kernel->file == NULL ? LAUNCHES : OWN_LAUNCHES;
    const struct row large = launches_on(rig, kernel, elements, count),
                     half = launches_on(rig, kernel, elements / 2, count);
    const struct measured much = rig_launch(rig, &large), less = rig_launch(rig, &half);
    double link = link_ns(rig, &large) - link_ns(rig, &half);
    rig_set(rig, kernel, "mapped_share",
            fmax(least, fmin(1, link / fmax(1, much.ns - less.ns))), &much,
            "launches on 32 MiB of mapped memory less such on 16, against their bytes "
            "at the link's rates");
}

/* Measures mapped_latency_ns: what a launch of `scale` takes on so little that its bytes hardly
 * count, beside these, one way after the other. */
static void measure_latency(struct rig *rig)
{
    const struct machine *machine = &rig->calibration->machine;
    const struct kernel *scale = kernel_find("scale");
    const struct row small = launches_on(rig, scale, SMALL_ELEMENTS, SMALL_LAUNCHES);
    const struct measured little = rig_traced(rig, &small, rig_draw_work);
    double in, out;
    link_bytes(&small, &in, &out);
    const struct link_bytes all =
        rule_link_bytes(machine, scale, &(struct kernel_params){0}, in, out);
    double bytes_ns =
        rule_link_sweep_ns(machine, all, all) + rule_link_lead_ns(machine, in, out, all);
    double fixed_ns = (double)machine_kernel_find(machine, scale->name)->fixed_ns;
    rig_found(rig, "mapped_latency_ns", fmax(0, little.ns - fixed_ns - bytes_ns), little,
              "launches of `scale` on 4 KiB of mapped memory, less fixed_ns and their bytes' "
              "time");
}

void calibrate_mapped(struct rig *rig)
{
    for (const struct kernel *kernel = rig_next_kernel(rig, NULL); kernel != NULL;
         kernel = rig_next_kernel(rig, kernel))
        measure_share(rig, kernel);
    measure_latency(rig);
}
