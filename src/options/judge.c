/* judge.c - holds a run against the rows of what goes together, and settles what follows from
 * other settings. */
#include "options/judge.h"
#include "plan/device.h"
#include "plan/mistake.h"

static uint32_t process_count = 1;

void options_set_processes(uint32_t count)
{
    process_count = count;
}

/* Returns true if both options were given in the same place, so that neither is meant to win
 * over the other. A sweep stands on the command line too, and beside a default of `one` it
 * would do nothing at all; but where `one` itself is swept, some of its values may leave
 * `other` without a meaning. */
static bool given_together(const struct origin *one, const struct origin *other)
{
    if (other->source == SOURCE_SWEEP)
        return one->source == SOURCE_DEFAULT || one->source == SOURCE_COMMAND_LINE;
    return one->source != SOURCE_DEFAULT && one->source == other->source;
}

/* Returns true where a row is about settings that follow from others unless they are given. */
static bool is_of_given(const struct together_row *row)
{
    return row->when == TOGETHER_BOTH_GIVEN || row->when == TOGETHER_OTHER_GIVEN;
}

/* Returns true where the row can be broken by such a run. */
static bool row_holds(const struct together_row *row, const struct judged *judged)
{
    const struct draft *draft = &judged->draft;
    if (row->when == TOGETHER_ONE_PROCESS)
        return process_count == 1;
    if (row->when == TOGETHER_ELEMENTS)
        return !judged->asked || draft->settings.input == NULL ||
               draft->settings.elements_given;
    if (row->when == TOGETHER_ALWAYS)
        return true;
    const struct origin *one = &draft->origins[option_find(row->option) - option_rows];
    const struct origin *other = &draft->origins[option_find(row->other) - option_rows];
    if (row->when == TOGETHER_OTHER_GIVEN)
        return judged->asked && other->source != SOURCE_DEFAULT;
    return judged->asked && given_together(one, other);
}

bool judged_breaks(const struct judged *judged, const struct together_row *row)
{
    return together_clash(row, &judged->settings) && row_holds(row, judged);
}

static const struct together_row *first_broken(const struct judged *judged, bool of_given)
{
    for (const struct together_row *row = together_rows; row->option != NULL; row++) {
        if (is_of_given(row) == of_given && judged_breaks(judged, row))
            return row;
    }
    return NULL;
}

/* Settles what the run would else have of a default, or of what was meant for another run. A
 * profiler is to see one run. A process loads a kernel's code once, so the run that shows that
 * has no warm-up and no repeat. A stencil's streams are the plan's affair: reports say how many
 * a device has, be it one of several processes'. */
static void settle(struct settings *settings)
{
    struct settings of_all = *settings;
    if (process_count > 1)
        of_all.devices = process_count;
    if (settings->ways == 1)
        settings->streams = 1;
    if (settings_has_halo(settings))
        settings->streams = settings_halo_streams(&of_all);
    if (mistake_rows[settings->mistake].loads_lazily)
        settings->warmup = 0;
    if (settings->profile || mistake_rows[settings->mistake].loads_lazily)
        settings->runs = 1;
}

const struct together_row *judged_misfit(struct judged *judged)
{
    struct settings *settings = &judged->settings;
    *settings = judged->draft.settings;
    if (!judged->asked)
        return first_broken(judged, false);
    settings->intensity = settings_intensity(settings); /* reports say how heavy kernels are */
    settings->devices = process_count > 1 ? process_count : device_count(settings->device);
    const struct together_row *broken = first_broken(judged, true);
    settings->devices = device_count(settings->device);
    if (broken != NULL)
        return broken;
    settle(settings);
    return first_broken(judged, false);
}
