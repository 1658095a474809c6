/* shared.c - what the host gives the copies of several devices at once.
 *
 * All devices copy at once, and where there are more than two also two of them. Each of the
 * three figures is such that the simulator takes as long for these rows as the devices, or as
 * nearly as one figure can for both rows. */
#include "calibrate/rig.h"
#include "machine/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COPIES = 8, BYTES = 64 << 20, NUMBERS = 2 };

/* Where the copies take no longer than on links of their own, but for this part, no bound is
 * felt: that much may the links' own figures be off. */
static const double FELT_MEASURED = 0.02, FELT_SIMULATED = 0.002;

/* Both directions are fitted first, while nothing bounds them alone, then each direction, whose
 * copies know nothing of the others' figure, and then both once more: copies out end sooner
 * than copies in, which for the rest have what their own direction gives. */
enum { BOTH, IN, OUT, KINDS };
static const struct {
    const char *steps, *key, *says;
} kinds[KINDS] = {
    [BOTH] = {"hd", "host_joint_bytes_per_s", "copies of 64 MiB in and out"},
    [IN] = {"h", "host_h2d_bytes_per_s", "copies of 64 MiB in"},
    [OUT] = {"d", "host_d2h_bytes_per_s", "copies of 64 MiB out"},
};

/* Rows of one kind: on all devices, and on two of them. */
struct shared {
    struct row rows[NUMBERS];
    struct measured steps[NUMBERS];
    int numbers;
};

static const struct machine_field *field_of(int kind)
{
    return machine_field_find(machine_fields, kinds[kind].key);
}

static void time_kind(struct rig *rig, int kind, struct shared *shared)
{
    const uint32_t devices = settings_devices(&rig->settings);
    shared->numbers = devices > 2 ? 2 : 1;
    for (int i = 0; i < shared->numbers; i++) {
        shared->rows[i] = (struct row){.steps = kinds[kind].steps,
                                       .count = COPIES,
                                       .bytes = BYTES,
                                       .apart = true,
                                       .devices = i == 0 ? devices : 2};
        shared->steps[i] = rig_step(rig, &shared->rows[i], NULL);
    }
}

/* Returns how far off the simulated times are with the figure at e^`log_rate`, as a sum of
 * squares; and sets by which part the rows took longer, of the one where that is most. */
static double misfit(struct rig *rig, int kind, const struct shared *shared, double log_rate,
                     double *longer)
{
    double squares = 0;
    machine_field_put(field_of(kind), &rig->calibration->machine, exp(log_rate));
    *longer = -INFINITY;
    for (int i = 0; i < shared->numbers; i++) {
        const double said = rig_simulated_step(rig, &shared->rows[i], NULL);
        const double off = log(shared->steps[i].ns / said);
        squares += off * off;
        *longer = fmax(*longer, off);
    }
    return squares;
}

/* Finds the figure by golden sections: the larger it is, the shorter a row. */
static double search(struct rig *rig, int kind, const struct shared *shared, double alone)
{
    enum { SECTIONS = 45 };
    const double golden = (sqrt(5) - 1) / 2;
    const double most = 32 * alone * shared->rows[0].devices;
    double low = log(alone / 8), high = log(most), longer, at[2], off[2];
    for (int i = 0; i < SECTIONS; i++) {
        at[0] = high - golden * (high - low);
        at[1] = low + golden * (high - low);
        for (int j = 0; j < 2; j++)
            off[j] = misfit(rig, kind, shared, at[j], &longer);
        if (off[0] <= off[1])
            high = at[1];
        else
            low = at[0];
    }
    return exp((low + high) / 2);
}

/* Returns what the devices of a row had together, in GB/s. */
static double together(const struct shared *shared, int which)
{
    const struct row *row = &shared->rows[which];
    return (double)row->bytes * (double)strlen(row->steps) * row->devices /
           shared->steps[which].ns;
}

static void set_figure(struct rig *rig, int kind, const struct shared *shared, double rate)
{
    char how[FIGURE_TEXT], two[48] = "";
    if (shared->numbers > 1)
        snprintf(two, sizeof two, ", two of them %.4g", together(shared, 1));
    snprintf(how, sizeof how, "%s on %u devices at once: %.4g GB/s in all%s%s",
             kinds[kind].says, shared->rows[0].devices, together(shared, 0), two,
             rate > 0 ? "" : "; no bound is felt");
    if (rate > 0)
        rig_found(rig, kinds[kind].key, rate, shared->steps[0], how);
    else
        rig_known(rig, kinds[kind].key, field_of(kind)->most, how);
}

/* Finds one figure, with the others as they are. Where no bound is felt beside theirs, the
 * figure is `before`, which it had; 0: none. */
static void find(struct rig *rig, int kind, const struct shared *shared, double before)
{
    const struct machine *machine = &rig->calibration->machine;
    const double felt = rig->ops->measures ? FELT_MEASURED : FELT_SIMULATED;
    const double alone[KINDS] = {[BOTH] = machine->joint_bytes_per_s,
                                 [IN] = machine->h2d_bytes_per_s,
                                 [OUT] = machine->d2h_bytes_per_s};
    double longer, rate = before;
    for (int i = 0; i < shared->numbers; i++) {
        if (shared->steps[i].ns > 0)
            continue;
        set_figure(rig, kind, shared, 0); /* more copies took no longer than fewer */
        return;
    }
    misfit(rig, kind, shared, log(field_of(kind)->most), &longer);
    if (longer > felt)
        rate = search(rig, kind, shared, alone[kind]);
    set_figure(rig, kind, shared, rate);
}

void calibrate_shared(struct rig *rig)
{
    struct shared shared[KINDS];
    if (settings_devices(&rig->settings) <= 1)
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        machine_field_put(field_of(kind), &rig->calibration->machine, field_of(kind)->most);
        time_kind(rig, kind, &shared[kind]);
    }
    for (int kind = 0; kind < KINDS; kind++)
        find(rig, kind, &shared[kind], 0);
    const double both = rig->calibration->machine.host_joint_bytes_per_s;
    if (both < field_of(BOTH)->most)
        find(rig, BOTH, &shared[BOTH], both);
}
