/* cpu.c - how fast the CPU works and packs, while copies go both ways, as they do in runs. */
#include "calibrate/rig.h"
#include "kernels/kernel_code.h"
#include "machine/fields.h"
#include "plan/rules.h"

#include <math.h>

enum {
    LARGE_BYTES = 16 << 20, /* of a tile's input; that of a heavy one is a part of it */
    HEAVY_PART = 16,
    TEAM_BYTES = 256 << 10, /* not much more than is worth a team of threads */
    CORE_BYTES = 64 << 10,  /* and less than that */
    BESIDE_BYTES = 1 << 20, /* of the copies beside small tiles */
    TILES = 8, /* in each repeat: more than a host's last cache holds, as in runs. [Three of
                  them were found 1.3 to 1.5 times as fast on an H200's host as in runs] */
    SMALL_TILES = 384,  /* more than a core's caches hold, as they come in runs */
    HEAVY_FLOPS = 1000, /* for each element of a heavy tile */
    LARGE_PACK = 16 << 20,
    PACKS = ROW_PACK_BYTES / LARGE_PACK, /* so that each reads what no cache has */
    SMALL_PACK = 2 * RULE_PACK_SHARE_BYTES,
};

/* Arithmetic that takes this part of a tile's time may be all that its time tells. */
static const double MOSTLY = 0.9;

/* --- packing --- */

/* Returns what the calls of a step that packs so many bytes take, copies of as many each way
 * beside. It is told by rows that run as they are, since packs differ, and a run waits for all
 * of them: in traces of three H200s the median pack took 3 to 39 % less. */
static struct measured time_pack(struct rig *rig, uint64_t bytes)
{
    const struct row row = {.steps = "xhd", .count = PACKS, .bytes = bytes, .apart = true};
    struct measured issue = {0};
    rig_step(rig, &row, &issue);
    return issue;
}

void calibrate_packing(struct rig *rig)
{
    const double copies_ns = 2 * (double)rig->calibration->machine.issue_copy_ns;
    const struct measured large = time_pack(rig, LARGE_PACK),
                          small = time_pack(rig, SMALL_PACK);
    const double byte_ns = fmax(1e-6, large.ns - small.ns) / (LARGE_PACK - SMALL_PACK);
    rig_found(rig, "pack_ns", fmax(0, small.ns - copies_ns - byte_ns * SMALL_PACK), small,
              "packing 64 KiB beside copies both ways, less the bytes and the copies' calls");
    rig_found(rig, "pack_bytes_per_s", 2e9 / byte_ns, large,
              "packing 16 MiB, less 64 KiB, beside copies of as much both ways: each byte is "
              "read and written");
}

/* --- tiles --- */

/* Times `count` tiles of so many bytes on the CPU beside copies: large ones, but for many small
 * tiles, which are done long before so many large copies are. */
static struct measured time_tiles(struct rig *rig, const struct kernel *kernel,
                                  uint32_t intensity, uint64_t bytes, uint32_t count)
{
    const struct row row = {.steps = "uhd",
                            .count = count,
                            .bytes = count == TILES ? LARGE_BYTES : BESIDE_BYTES,
                            .kernel = kernel,
                            .elements = rig_elements(kernel, bytes),
                            .intensity = intensity,
                            .apart = true};
    struct measured timing = rig_traced(rig, &row, rig_draw_work);
    timing.elements = row.elements;
    return timing;
}

/* Measures the team of threads by tiles of `scale`: what it takes beside the work, and the part
 * of its rate that one core reaches. */
static void measure_team(struct rig *rig)
{
    const struct kernel *scale = kernel_find("scale");
    const struct measured large = time_tiles(rig, scale, 1, LARGE_BYTES, TILES),
                          team = time_tiles(rig, scale, 1, TEAM_BYTES, SMALL_TILES),
                          core = time_tiles(rig, scale, 1, CORE_BYTES, SMALL_TILES);
    double byte_ns = fmax(1e-9, large.ns - team.ns) / (LARGE_BYTES - TEAM_BYTES);
    rig_found(rig, "cpu_team_ns", fmax(0, team.ns - byte_ns * TEAM_BYTES), team,
              "tiles of 256 KiB of `scale` on the CPU beside copies both ways, less their "
              "bytes' time in tiles of 16 MiB");
    rig_found(rig, "cpu_core_share", fmin(1, byte_ns * CORE_BYTES / core.ns), core,
              "those bytes' time in tiles of 64 KiB, which one core works on, against it");
}

/* Sets the rates of the twin of a kernel of the user's own: one measurement tells both, and
 * work takes as long as either says. One that is too low for a machine file is left to the
 * other. */
static void take_own(struct rig *rig, const struct kernel *kernel, struct measured light)
{
    const struct kernel_params once = {.intensity = 1};
    const double least = machine_field_find(machine_kernel_fields, "cpu_bytes_per_s")->least;
    const double s = 1e-9 * fmax(1, light.ns - (double)rig->calibration->machine.cpu_team_ns);
    double bytes, flops;
    kernel_work(kernel, &once, light.elements, &bytes, &flops);
    if (bytes / s >= least || flops / s < least)
        rig_set(rig, kernel, "cpu_bytes_per_s", bytes / s, &light,
                "tiles of 16 MiB on the CPU beside copies both ways, of less if that "
                "were long");
    if (flops / s >= least)
        rig_set(rig, kernel, "cpu_flops_per_s", flops / s, &light, "of the same tiles");
}

static void measure_tiles(struct rig *rig, const struct kernel *kernel)
{
    struct measured heavy = {0};
    struct kernel_params once = {.intensity = 1},
                         often = {.intensity = (uint32_t)fmax(2, HEAVY_FLOPS / kernel->flops)};
    const double team_ns = (double)rig->calibration->machine.cpu_team_ns;
    char how[FIGURE_TEXT];
    double arithmetic_ns = 0; /* the part of the light tile's time that is arithmetic */
    const struct measured light = time_tiles(rig, kernel, once.intensity, LARGE_BYTES, TILES);
    if (kernel->repeats)
        heavy = time_tiles(rig, kernel, often.intensity, LARGE_BYTES / HEAVY_PART, TILES);
    double elements = (double)light.elements;
    if (kernel->file != NULL) {
        take_own(rig, kernel, light);
        return;
    }
    if (kernel->repeats) {
        const double many = (double)heavy.elements, work_ns = fmax(1, heavy.ns - team_ns);
        const double first = kernel_flops_per_element(kernel, &once) * many,
                     flops = kernel_flops_per_element(kernel, &often) * many;
        const double first_ns = fmax(1, light.ns - team_ns) * many / elements;
        double flops_per_s = 1e9 * flops / work_ns;
        if (1e9 * first / flops_per_s > first_ns) /* as machine_cpu_ns() has it */
            flops_per_s = 1e9 * (flops - first) / fmax(1, work_ns - first_ns);
        arithmetic_ns = 1e9 * first / flops_per_s * elements / many;
        snprintf(how, sizeof how, "likewise, of 1 MiB at an intensity of %u", often.intensity);
        rig_set(rig, kernel, "cpu_flops_per_s", flops_per_s, &heavy, how);
    }
    rig_set(rig, kernel, "cpu_bytes_per_s",
            1e9 * kernel_bytes_per_element(kernel) * elements / fmax(1, light.ns - team_ns),
            &light,
            arithmetic_ns < MOSTLY * light.ns
                ? "tiles of 16 MiB on the CPU beside copies both ways"
                : "at least, for arithmetic takes as long: tiles of 16 MiB on the CPU "
                  "beside copies both ways");
}

/* Returns the first kernel that has the same CPU twin, which may be the kernel itself, among
 * those that are measured. */
static const struct kernel *same_twin(const struct kernel *kernel)
{
    const struct kernel *first = kernel_table;
    while (!rig_measures(first) || kernel_code(first) != kernel_code(kernel))
        first++;
    return first;
}

/* Measures the CPU twin of a kernel, or takes its figures where it is another's, too. Scans
 * have none that the CPU could help with: each tile needs the sum of those before it. A kernel
 * of the user's own may have none at all. */
static void find_twin(struct rig *rig, const struct kernel *kernel)
{
    char how[FIGURE_TEXT];
    if (kernel->shape == KERNEL_SCAN || kernel_lacks_twin(kernel))
        return;
    const struct kernel *twin = kernel->file != NULL ? kernel : same_twin(kernel);
    if (twin == kernel) {
        measure_tiles(rig, kernel);
        return;
    }
    const struct machine_kernel *row =
        machine_kernel_find(&rig->calibration->machine, twin->name);
    snprintf(how, sizeof how, "as of [kernel %s]: the CPU does the same for both", twin->name);
    rig_set(rig, kernel, "cpu_bytes_per_s", row->cpu_bytes_per_s, NULL, how);
}

void calibrate_cpu(struct rig *rig)
{
    measure_team(rig);
    for (const struct kernel *kernel = rig_next_kernel(rig, NULL); kernel != NULL;
         kernel = rig_next_kernel(rig, kernel))
        find_twin(rig, kernel);
    const struct machine_kernel *scale =
        machine_kernel_find(&rig->calibration->machine, "scale");
    rig_known(rig, "cpu_bytes_per_s", scale->cpu_bytes_per_s, "as of [kernel scale]");
    rig_known(rig, "cpu_flops_per_s", scale->cpu_flops_per_s, "as of [kernel scale]");
}
