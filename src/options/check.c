/* check.c - the checks of what several settings together can get wrong. */
#include "options/table.h"
#include "plan/device.h"

#include "plan/mistake.h"

#include <inttypes.h>
#include <string.h>

enum { LAUNCHES_MAX = 1 << 24 };

/* --- tiles --- */

/* The kernel of the chain that works on whole rows or columns of a matrix; NULL: none does. */
static const struct kernel *unit_kernel(const struct settings *settings)
{
    return chain_unit_kernel(settings->chain, settings->chain_length);
}

/* Names the setting that says how long a row or column is. */
static const char *unit_label(const struct settings *settings, const struct origin *origins,
                              char label[LABEL_MAX])
{
    const bool rows = strcmp(unit_kernel(settings)->unit_name, "rows") == 0;
    return setting_label(settings, origins, rows ? OPTION_COLUMNS : OPTION_ROWS, label);
}

static enum status refuse_elements(const struct settings *settings,
                                   const struct origin *origins, struct error *error)
{
    char elements[LABEL_MAX], unit_text[LABEL_MAX];
    const struct kernel *kernel = unit_kernel(settings);
    const uint64_t unit = settings_unit(settings), units = settings->elements / unit;
    return error_set(error, STATUS_USAGE,
                     "%s is no whole number of %s of %s, as %s needs: nearest are %" PRIu64
                     " and %" PRIu64,
                     setting_label(settings, origins, OPTION_ELEMENTS, elements),
                     kernel->unit_name, unit_label(settings, origins, unit_text), kernel->name,
                     (units > 0 ? units : 1) * unit, (units > 0 ? units + 1 : 2) * unit);
}

static enum status refuse_tiles(const struct settings *settings, const struct origin *origins,
                                struct error *error)
{
    char tiles[LABEL_MAX], unit_text[LABEL_MAX], nearest[64];
    const struct kernel *kernel = unit_kernel(settings);
    const uint32_t below = settings_tiles_below(settings, settings->tiles);
    const uint32_t above = settings_tiles_above(settings, settings->tiles);
    snprintf(nearest, sizeof nearest,
             above > 0 ? "nearest are %" PRIu32 " and %" PRIu32 : "the most are %" PRIu32,
             below, above);
    return error_set(error, STATUS_USAGE,
                     "%s does not cut the array's %" PRIu64 " %s of %s into tiles of as many "
                     "whole %s each, as %s needs: %s",
                     setting_label(settings, origins, OPTION_TILES, tiles),
                     settings->elements / settings_unit(settings), kernel->unit_name,
                     unit_label(settings, origins, unit_text), kernel->unit_name, kernel->name,
                     nearest);
}

/* Each tile of a matrix is whole rows, or columns. */
static enum status check_units(const struct settings *settings, const struct origin *origins,
                               struct error *error)
{
    /* An input file tells the number of elements later, and this check then comes again. */
    const bool unknown =
        origins != NULL && settings->input != NULL && !settings->elements_given;
    if (unknown || settings_tiles_fit(settings, settings->tiles))
        return STATUS_OK;
    if (settings->elements % settings_unit(settings) != 0)
        return refuse_elements(settings, origins, error);
    if (settings->tiles == 0) /* auto: the number is chosen later, to fit */
        return STATUS_OK;
    return refuse_tiles(settings, origins, error);
}

static enum status check_tiles(const struct settings *settings, const struct origin *origins,
                               struct error *error)
{
    char tiles[LABEL_MAX], elements[LABEL_MAX];
    if (settings->tiles <= settings->elements)
        return check_units(settings, origins, error);
    return error_set(error, STATUS_USAGE,
                     "%s is more than %s: allowed are at most as many tiles as elements",
                     setting_label(settings, origins, OPTION_TILES, tiles),
                     setting_label(settings, origins, OPTION_ELEMENTS, elements));
}

/* --- checks of what is settled --- */

/* A launch is an op of the plan. A kernel that is launched once per repeat may have as many
 * launches as there may be tiles. */
static enum status check_launches(const struct settings *settings, const struct origin *origins,
                                  struct error *error)
{
    const struct kernel_params params = {.intensity = settings->intensity};
    const struct kernel *first = settings->chain[0]; /* no other can be such a one */
    const uint64_t launches = (uint64_t)settings->tiles * kernel_launches(first, &params);
    char intensity[LABEL_MAX], tiles[LABEL_MAX];
    if (!first->launch_per_repeat || launches <= LAUNCHES_MAX)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s and %s make %" PRIu64 " launches of %s: allowed are at most %u",
                     setting_label(settings, origins, OPTION_INTENSITY, intensity),
                     setting_label(settings, origins, OPTION_TILES, tiles), launches,
                     first->name, (unsigned)LAUNCHES_MAX);
}

/* A run without data can't read or keep any, nor be made on a real device. */
static enum status check_no_data(const struct settings *settings, const struct origin *origins,
                                 struct error *error)
{
    char no_data[LABEL_MAX], other[LABEL_MAX];
    if (!settings->no_data)
        return STATUS_OK;
    setting_label(settings, origins, OPTION_NO_DATA, no_data);
    if (device_is_real(settings->device))
        return error_set(error, STATUS_USAGE,
                         "%s is for the simulator, but %s was given: allowed are sim:NAME and "
                         "sim:FILE.ini",
                         no_data, setting_label(settings, origins, OPTION_DEVICE, other));
    if (settings->input != NULL || settings->output != NULL) {
        enum option_id id = settings->input != NULL ? OPTION_INPUT : OPTION_OUTPUT;
        return error_set(error, STATUS_USAGE,
                         "%s means no bytes at all, but %s was given: allowed is one of them",
                         no_data, setting_label(settings, origins, id, other));
    }
    return STATUS_OK;
}

/* The CPU's tiles are the last ones, and it works on them while the GPU has not yet come to
 * what a scan would carry over to them. */
static enum status check_ways(const struct settings *settings, const struct origin *origins,
                              struct error *error)
{
    char ways[LABEL_MAX], kernel[LABEL_MAX];
    if (settings->ways != 4 || !kernel_chain_scans(settings->chain, settings->chain_length))
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s gives the CPU tiles of its own, but %s has a scan, and each of its "
                     "tiles needs the sum of all before it: allowed are ways 1, 2 and 3",
                     setting_label(settings, origins, OPTION_WAYS, ways),
                     setting_label(settings, origins, OPTION_KERNEL, kernel));
}

/* Nothing but a scan carries anything from tile to tile. */
static enum status check_carry(const struct settings *settings, const struct origin *origins,
                               struct error *error)
{
    char carry[LABEL_MAX], kernel[LABEL_MAX];
    if (settings->carry == CARRY_DEVICE ||
        kernel_chain_scans(settings->chain, settings->chain_length))
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s is about what a scan carries from tile to tile, but %s has none: "
                     "allowed is device, or a kernel such as scan",
                     setting_label(settings, origins, OPTION_CARRY, carry),
                     setting_label(settings, origins, OPTION_KERNEL, kernel));
}

/* The kernel of the chain whose number of blocks nobody can choose: it follows from the work,
 * or the library decides it. NULL: there is no such kernel. */
static const struct kernel *fixed_grid(const struct settings *settings)
{
    for (int i = 0; i < settings->chain_length; i++) {
        if (settings->chain[i]->whole_grid || settings->chain[i]->alone)
            return settings->chain[i];
    }
    return NULL;
}

static enum status check_blocks(const struct settings *settings, const struct origin *origins,
                                struct error *error)
{
    char blocks[LABEL_MAX];
    const struct kernel *fixed = fixed_grid(settings);
    if (settings->blocks == 0 || fixed == NULL)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s can't be: %s settles itself how many blocks it has: allowed is auto, "
                     "or kernels such as scale",
                     setting_label(settings, origins, OPTION_BLOCKS, blocks), fixed->name);
}

/* Mapped arrays stay on the host. A kernel that works in place would overwrite its first input
 * there, and a resident input is read so often that it has to be on the device. */
static enum status check_memory(const struct settings *settings, const struct origin *origins,
                                struct error *error)
{
    char memory[LABEL_MAX], kernel[LABEL_MAX];
    const struct kernel *first = settings->chain[0];
    if (settings->memory != MEMORY_MAPPED ||
        (!first->in_place && first->resident_count == NULL))
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s leaves the arrays on the host, but %s keeps one on the device and "
                     "works in place: allowed are pinned, pageable and registered",
                     setting_label(settings, origins, OPTION_MEMORY, memory),
                     setting_label(settings, origins, OPTION_KERNEL, kernel));
}

/* A graph is launched by one call, and the host can't stage pageable copies within it. */
static enum status check_issue(const struct settings *settings, const struct origin *origins,
                               struct error *error)
{
    char issue[LABEL_MAX], memory[LABEL_MAX];
    if (settings->issue != ISSUE_GRAPH || settings->memory != MEMORY_PAGEABLE)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s is launched by one call, but with %s the host has a part in every "
                     "copy: allowed are pinned, registered and mapped",
                     setting_label(settings, origins, OPTION_ISSUE, issue),
                     setting_label(settings, origins, OPTION_MEMORY, memory));
}

/* --- what follows from other settings --- */

/* Returns true if both options were given in the same place, so that neither is meant to win
 * over the other. A sweep stands on the command line too, and beside a default of `one` it
 * would do nothing at all; but where `one` itself is swept, some of its values may leave
 * `other` without a meaning. */
static bool given_together(const struct draft *draft, enum option_id one, enum option_id other)
{
    enum value_source source = draft->origins[one].source, with = draft->origins[other].source;
    if (with == SOURCE_SWEEP)
        return source == SOURCE_DEFAULT || source == SOURCE_COMMAND_LINE;
    return source != SOURCE_DEFAULT && source == with;
}

static enum status settle_ways(struct draft *draft, struct error *error)
{
    struct settings *settings = &draft->settings;
    char ways[LABEL_MAX], other[LABEL_MAX];
    setting_label(settings, draft->origins, OPTION_WAYS, ways);
    if (settings->ways == 1 && settings->streams != 1 &&
        given_together(draft, OPTION_WAYS, OPTION_STREAMS))
        return error_set(error, STATUS_USAGE,
                         "%s is serial and uses one stream, but %s was given: allowed is 1",
                         ways, setting_label(settings, draft->origins, OPTION_STREAMS, other));
    if (settings->ways != 4 && settings->cpu_share >= 0 &&
        given_together(draft, OPTION_WAYS, OPTION_CPU_SHARE))
        return error_set(error, STATUS_USAGE,
                         "%s leaves the CPU idle, but %s was given: allowed is auto, or ways 4",
                         ways,
                         setting_label(settings, draft->origins, OPTION_CPU_SHARE, other));
    if (settings->ways == 1)
        settings->streams = 1;
    return STATUS_OK;
}

/* A profiler is to see one run, so --profile makes one. */
static enum status settle_profile(struct draft *draft, struct error *error)
{
    struct settings *settings = &draft->settings;
    char profile[LABEL_MAX], runs[LABEL_MAX];
    if (!settings->profile)
        return STATUS_OK;
    if (settings->runs != 1 && given_together(draft, OPTION_PROFILE, OPTION_RUNS))
        return error_set(error, STATUS_USAGE,
                         "%s makes one run, but %s was given: allowed is 1",
                         setting_label(settings, draft->origins, OPTION_PROFILE, profile),
                         setting_label(settings, draft->origins, OPTION_RUNS, runs));
    settings->runs = 1;
    return STATUS_OK;
}

/* A process loads a kernel's code once, so the run that shows it has no warm-up and no repeat.
 */
static enum status settle_mistake(struct draft *draft, struct error *error)
{
    struct settings *settings = &draft->settings;
    char mistake[LABEL_MAX], other[LABEL_MAX];
    if (!mistake_rows[settings->mistake].loads_lazily)
        return STATUS_OK;
    bool repeats = settings->runs != 1 && given_together(draft, OPTION_MISTAKE, OPTION_RUNS);
    bool warms_up =
        settings->warmup != 0 && given_together(draft, OPTION_MISTAKE, OPTION_WARMUP);
    if (repeats || warms_up)
        return error_set(
            error, STATUS_USAGE,
            "%s makes one run, and none before it, but %s was given: allowed is %d",
            setting_label(settings, draft->origins, OPTION_MISTAKE, mistake),
            setting_label(settings, draft->origins, repeats ? OPTION_RUNS : OPTION_WARMUP,
                          other),
            repeats ? 1 : 0);
    settings->runs = 1;
    settings->warmup = 0;
    return STATUS_OK;
}

/* --- all of them --- */

/* The functions behind enum option_check; either may be NULL. */
static const struct {
    enum status (*settle)(struct draft *draft, struct error *error);
    enum status (*check)(const struct settings *settings, const struct origin *origins,
                         struct error *error);
} checks[CHECK_COUNT] = {
    [CHECK_LAUNCHES] = {NULL, check_launches}, [CHECK_BLOCKS] = {NULL, check_blocks},
    [CHECK_TILES] = {NULL, check_tiles},       [CHECK_WAYS] = {settle_ways, check_ways},
    [CHECK_MEMORY] = {NULL, check_memory},     [CHECK_CARRY] = {NULL, check_carry},
    [CHECK_MISTAKE] = {settle_mistake, NULL},  [CHECK_ISSUE] = {NULL, check_issue},
    [CHECK_PROFILE] = {settle_profile, NULL},  [CHECK_NO_DATA] = {NULL, check_no_data},
};

/* Makes the check of every row that has one. */
static enum status check_rows(const struct settings *settings, const struct origin *origins,
                              struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < OPTION_COUNT && status == STATUS_OK; i++) {
        if (checks[option_rows[i].check].check != NULL)
            status = checks[option_rows[i].check].check(settings, origins, error);
    }
    return status;
}

enum status settings_check(const struct settings *settings, struct error *error)
{
    return check_rows(settings, NULL, error);
}

enum status draft_finish(struct draft *draft, struct error *error)
{
    enum status status = STATUS_OK;
    draft->settings.elements_given = draft->origins[OPTION_ELEMENTS].source != SOURCE_DEFAULT;
    for (int i = 0; i < OPTION_COUNT && status == STATUS_OK; i++) {
        if (checks[option_rows[i].check].settle != NULL)
            status = checks[option_rows[i].check].settle(draft, error);
    }
    return status == STATUS_OK ? check_rows(&draft->settings, draft->origins, error) : status;
}

enum status settings_check_profile(const struct settings *settings,
                                   const struct options *options, struct error *error)
{
    if (!settings->profile)
        return STATUS_OK;
    if (options->command == COMMAND_COMPARE)
        return error_set(error, STATUS_USAGE,
                         "--profile makes a run without instrumentation of our own, so there "
                         "is no timeline to compare: leave it out");
    if (options->timeline_count == 0)
        return STATUS_OK;
    return error_set(
        error, STATUS_USAGE,
        "--profile makes a run without instrumentation of our own, so there is no "
        "timeline to write: allowed is one of --profile and --timeline, or both on "
        "a device sim:NAME");
}
