/* figures.c - sets the figures that were found, and keeps the reasons why some can't be. */
#include "calibrate/rig.h"
#include "machine/fields.h"
#include "report/reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns true if a reason that begins with the figure's name is there already. */
static bool is_refused(const struct refusal *refusal, const char *figure)
{
    const char *at = refusal->text;
    while ((at = strstr(at, figure)) != NULL) {
        const char *end = at + strlen(figure);
        bool begins = at == refusal->text || (at - refusal->text >= 2 && at[-2] == ';');
        if (begins && end[0] == ' ')
            return true;
        at = end;
    }
    return false;
}

void rig_refuse(struct rig *rig, const char *figure, const char *format, ...)
{
    struct refusal *refusal = &rig->refusal;
    char why[REFUSAL_TEXT];
    size_t used = strlen(refusal->text);
    if (is_refused(refusal, figure))
        return;
    PRINT_REST(why, sizeof why, format);
    int length = snprintf(refusal->text + used, sizeof refusal->text - used, "%s%s %s",
                          used > 0 ? "; " : "", figure, why);
    if ((size_t)length >= sizeof refusal->text - used) {
        refusal->text[used] = '\0';
        refusal->more++;
    }
}

/* Returns the figure of the kernel's section, or with NULL of the machine's own; a new one,
 * where there is none. */
static struct figure *find_or_add(struct calibration *calibration, const char *kernel,
                                  const char *key)
{
    struct figure *figure = (struct figure *)calibration_figure(calibration, kernel, key);
    if (figure != NULL)
        return figure;
    figure = &calibration->figures[calibration->figure_count++];
    figure->key = key;
    figure->kernel = kernel;
    return figure;
}

/* These may be nothing on a real device, too; any other time that was found to be nothing, or
 * less, was disturbed. */
static const char *const may_be_nothing[] = {"h2d_dependency_ns", "kernel_dependency_ns",
                                             "d2h_dependency_ns", "kernel_latency_ns",
                                             "poll_ns",           "graph_node_ns",
                                             "graph_gap_ns",      "lazy_load_ns",
                                             "alloc_mib_ns",      "pinned_ns",
                                             "pack_ns",           "callback_latency_ns",
                                             "callback_wake_ns",  "mapped_latency_ns",
                                             "cpu_team_ns",       "sync_latency_ns",
                                             "copy_start_ns",     "take_first_ns"};

static double least_of(const struct machine_field *field, bool timed)
{
    bool nothing = !timed || field->type != FIELD_NS;
    for (size_t i = 0; i < sizeof may_be_nothing / sizeof may_be_nothing[0]; i++)
        nothing = nothing || strcmp(may_be_nothing[i], field->key) == 0;
    return nothing ? field->least : fmax(1, field->least);
}

/* Returns the value, or where a machine file can't hold it, or no device can have it, the
 * nearest that can be. Something disturbed the measurements then, which is reported. */
static double possible(struct rig *rig, const struct machine_field *field, const char *kernel,
                       double value, bool timed)
{
    char name[FIGURE_NAME];
    double least = least_of(field, timed);
    if (value == 0 && field->zero_unknown)
        return value;
    if (field->type == FIELD_NS)
        value = round(value);
    if (value >= least && value <= field->most)
        return value;
    figure_name(kernel, field->key, name);
    rig_refuse(rig, name, "is %.4g by its times, and %.4g to %.4g are possible", value, least,
               field->most);
    return value > field->most ? field->most : least;
}

/* Returns the spread of a figure made of `timing`; below 0: it was not timed. */
static double spread_of(const struct machine_field *field, double value,
                        const struct measured *timing)
{
    if (timing == NULL)
        return -1;
    /* A rate or a share is off by as large a part as the times that it was made of. */
    return field->type == FIELD_NS || timing->ns <= 0 ? timing->spread_ns
                                                      : value * timing->spread_ns / timing->ns;
}

void rig_set(struct rig *rig, const struct kernel *kernel, const char *key, double value,
             const struct measured *timing, const char *how)
{
    struct machine *machine = &rig->calibration->machine;
    const char *name = kernel != NULL ? kernel->name : NULL;
    void *record = kernel != NULL ? (void *)reference_kernel(machine, name) : machine;
    const struct machine_field *field =
        machine_field_find(kernel != NULL ? machine_kernel_fields : machine_fields, key);
    struct figure *figure = find_or_add(rig->calibration, name, field->key);
    value = possible(rig, field, name, value, rig->ops->measures && timing != NULL);
    figure->value = value;
    figure->spread = spread_of(field, value, timing);
    snprintf(figure->how, sizeof figure->how, "%s", how);
    machine_field_put(field, record, value);
}

void rig_found(struct rig *rig, const char *key, double value, struct measured timing,
               const char *how)
{
    rig_set(rig, NULL, key, value, &timing, how);
}

void rig_known(struct rig *rig, const char *key, double value, const char *how)
{
    rig_set(rig, NULL, key, value, NULL, how);
}
