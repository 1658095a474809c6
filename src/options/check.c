/* check.c - the checks of what several settings together can get wrong. */
#include "options/check.h"
#include "options/table.h"
#include "plan/device.h"
#include "plan/mistake.h"

#include <inttypes.h>
#include <string.h>

enum { LAUNCHES_MAX = 1 << 24 };

/* --- tiles --- */

/* Refuses elements that are no whole rows or columns, or tiles that would not be. */
static enum status refuse_units(const struct judged *run, const struct kernel *kernel)
{
    const struct settings *settings = run->settings;
    char what[LABEL_MAX], unit_text[LABEL_MAX], nearest[64];
    const uint64_t unit = settings_unit(settings), units = settings->elements / unit;
    const bool rows = strcmp(kernel->unit_name, "rows") == 0;
    check_label(run, rows ? OPTION_COLUMNS : OPTION_ROWS, unit_text);
    if (settings->elements % unit != 0)
        return error_set(run->error, STATUS_USAGE,
                         "%s is no whole number of %s of %s, as %s needs: nearest are %" PRIu64
                         " and %" PRIu64,
                         check_label(run, OPTION_ELEMENTS, what), kernel->unit_name, unit_text,
                         kernel->name, (units > 0 ? units : 1) * unit,
                         (units > 0 ? units + 1 : 2) * unit);
    const uint32_t below = settings_tiles_below(settings, settings->tiles);
    const uint32_t above = settings_tiles_above(settings, settings->tiles);
    snprintf(nearest, sizeof nearest,
             above > 0 ? "nearest are %" PRIu32 " and %" PRIu32 : "the most are %" PRIu32,
             below, above);
    return error_set(run->error, STATUS_USAGE,
                     "%s does not cut the array's %" PRIu64 " %s of %s into tiles of as many "
                     "whole %s each, as %s needs: %s",
                     check_label(run, OPTION_TILES, what), units, kernel->unit_name, unit_text,
                     kernel->unit_name, kernel->name, nearest);
}

/* Each tile of a matrix is whole rows, or columns. */
static enum status check_tiles(const struct judged *run)
{
    const struct settings *settings = run->settings;
    if (settings->tiles > settings->elements)
        return check_refuse_pair(run, OPTION_TILES, "is more than", OPTION_ELEMENTS,
                                 ": allowed are at most as many tiles as elements");
    /* Where tiles are auto, their number is chosen later, to fit. What columns need is
     * check_copy()'s. */
    const bool whole = settings->elements % settings_unit(settings) == 0;
    if (check_elements_are_open(run) || settings->copy != COPY_WHOLE ||
        settings_tiles_fit(settings, settings->tiles) || (whole && settings->tiles == 0))
        return STATUS_OK;
    return refuse_units(run, chain_unit_kernel(settings->chain, settings->chain_length));
}

/* --- checks of what is settled --- */

/* A launch is an op of the plan. A kernel that is launched once per repeat may have as many
 * launches as there may be tiles. */
static enum status check_launches(const struct judged *run)
{
    const struct settings *settings = run->settings;
    const struct kernel_params params = settings_params(settings);
    const struct kernel *first = settings->chain[0]; /* no other can be such a one */
    const uint64_t launches = (uint64_t)settings->tiles * kernel_launches(first, &params);
    char rest[LABEL_MAX];
    if (!first->launch_per_repeat || launches <= LAUNCHES_MAX)
        return STATUS_OK;
    snprintf(rest, sizeof rest, " make %" PRIu64 " launches of %s: allowed are at most %u",
             launches, first->name, (unsigned)LAUNCHES_MAX);
    return check_refuse_pair(run, OPTION_INTENSITY, "and", OPTION_TILES, rest);
}

/* A run without data can't read or keep any, nor be made on a real device. */
static enum status check_no_data(const struct judged *run)
{
    const struct settings *settings = run->settings;
    if (!settings->no_data)
        return STATUS_OK;
    if (device_is_real(settings->device))
        return check_refuse_pair(run, OPTION_NO_DATA, "is for the simulator, but",
                                 OPTION_DEVICE,
                                 " was given: allowed are sim:NAME and sim:FILE.ini");
    if (settings->input != NULL || settings->output != NULL)
        return check_refuse_pair(run, OPTION_NO_DATA, "means no bytes at all, but",
                                 settings->input != NULL ? OPTION_INPUT : OPTION_OUTPUT,
                                 " was given: allowed is one of them");
    return STATUS_OK;
}

static bool has_scan(const struct settings *settings)
{
    return kernel_chain_scans(settings->chain, settings->chain_length);
}

/* The CPU's tiles are the last ones, and it works on them while the GPU has not yet come to
 * what a scan would carry over to them. */
static enum status check_ways(const struct judged *run)
{
    if (run->settings->ways != 4 || !has_scan(run->settings))
        return STATUS_OK;
    return check_refuse_pair(
        run, OPTION_WAYS, "gives the CPU tiles of its own, but", OPTION_KERNEL,
        " has a scan, and each of its tiles needs the sum of all before it: "
        "allowed are ways 1, 2 and 3");
}

/* Nothing but a scan carries anything from tile to tile. */
static enum status check_carry(const struct judged *run)
{
    if (run->settings->carry == CARRY_DEVICE || has_scan(run->settings))
        return STATUS_OK;
    return check_refuse_pair(
        run, OPTION_CARRY, "is about what a scan carries from tile to tile, but", OPTION_KERNEL,
        " has none: allowed is device, or a kernel such as scan");
}

/* Some kernels' number of blocks nobody can choose: it follows from the work, or the library
 * decides it. */
static enum status check_blocks(const struct judged *run)
{
    const struct settings *settings = run->settings;
    char blocks[LABEL_MAX];
    for (int i = 0; i < settings->chain_length && settings->blocks != 0; i++) {
        if (settings->chain[i]->whole_grid || settings->chain[i]->alone)
            return error_set(run->error, STATUS_USAGE,
                             "%s can't be: %s settles itself how many blocks it has: allowed "
                             "is auto, or kernels such as scale",
                             check_label(run, OPTION_BLOCKS, blocks), settings->chain[i]->name);
    }
    return STATUS_OK;
}

/* A graph is launched by one call, and the host can't stage pageable copies within it. */
static enum status check_issue(const struct judged *run)
{
    if (run->settings->issue == ISSUE_BATCH && run->settings->memory == MEMORY_PAGEABLE)
        return check_refuse_pair(
            run, OPTION_ISSUE, "hands many copies over at once, but with", OPTION_MEMORY,
            " the host has a part in every copy: allowed are pinned, registered "
            "and mapped");
    if (run->settings->issue == ISSUE_BATCH && run->settings->mistake != MISTAKE_NONE)
        return check_refuse_pair(run, OPTION_ISSUE, "has no tile that goes by itself, but",
                                 OPTION_MISTAKE, " is made tile by tile: allowed is streams");
    if (run->settings->issue != ISSUE_GRAPH || run->settings->memory != MEMORY_PAGEABLE)
        return STATUS_OK;
    return check_refuse_pair(
        run, OPTION_ISSUE, "is launched by one call, but with", OPTION_MEMORY,
        " the host has a part in every copy: allowed are pinned, registered and "
        "mapped");
}

/* Elsewhere each tile goes by itself. */
static enum status check_batch(const struct judged *run)
{
    const struct settings *settings = run->settings;
    if (settings->batch == 0 || settings->issue == ISSUE_BATCH ||
        settings->issue == ISSUE_AUTO || settings->pack)
        return STATUS_OK;
    return check_refuse_pair(
        run, OPTION_BATCH, "is about tiles that go as one, but with", OPTION_ISSUE,
        " each goes by itself: allowed is auto, or --issue=batch or --pack");
}

/* The thread that issues packs in between, with all cores. */
static enum status check_pack(const struct judged *run)
{
    const struct settings *settings = run->settings;
    if (!settings->pack)
        return STATUS_OK;
    if (settings->ways != 3)
        return check_refuse_pair(run, OPTION_PACK,
                                 "has the CPU pack tiles while others are under way, but",
                                 OPTION_WAYS, " was given: allowed is 3");
    if (settings->issue == ISSUE_AUTO)
        return check_refuse_pair(run, OPTION_PACK, "is one of the ways that", OPTION_ISSUE,
                                 " chooses from: allowed is one of them");
    if (settings->issue != ISSUE_STREAMS)
        return check_refuse_pair(run, OPTION_PACK, "has the host work between its calls, but",
                                 OPTION_ISSUE, " hands much over at once: allowed is streams");
    if (memory_is_reached(settings->memory))
        return check_refuse_pair(
            run, OPTION_PACK, "makes large copies out of small ones, but with", OPTION_MEMORY,
            " there are none: allowed are pinned, pageable and registered");
    if (settings->mistake != MISTAKE_NONE)
        return check_refuse_pair(run, OPTION_PACK, "has no tile that goes by itself, but",
                                 OPTION_MISTAKE,
                                 " is made tile by tile: allowed is one of them");
    return STATUS_OK;
}

/* --- what follows from other settings --- */

static enum status settle_devices(const struct judged *run, struct settings *settings)
{
    (void)run;
    settings->devices = device_count(settings->device);
    return STATUS_OK;
}

/* Returns true if both options were given in the same place, so that neither is meant to win
 * over the other. A sweep stands on the command line too, and beside a default of `one` it
 * would do nothing at all; but where `one` itself is swept, some of its values may leave
 * `other` without a meaning. */
static bool given_together(const struct judged *run, enum option_id one, enum option_id other)
{
    enum value_source source = run->origins[one].source, with = run->origins[other].source;
    if (with == SOURCE_SWEEP)
        return source == SOURCE_DEFAULT || source == SOURCE_COMMAND_LINE;
    return source != SOURCE_DEFAULT && source == with;
}

/* From here on reports say how heavy the kernel is. */
static enum status settle_intensity(const struct judged *run, struct settings *settings)
{
    (void)run;
    settings->intensity = settings_intensity(settings);
    return STATUS_OK;
}

static enum status settle_ways(const struct judged *run, struct settings *settings)
{
    if (settings->ways == 1 && settings->streams != 1 &&
        given_together(run, OPTION_WAYS, OPTION_STREAMS))
        return check_refuse_pair(run, OPTION_WAYS, "is serial and uses one stream, but",
                                 OPTION_STREAMS, " was given: allowed is 1");
    if (settings->ways != 4 && settings->cpu_share >= 0 &&
        given_together(run, OPTION_WAYS, OPTION_CPU_SHARE))
        return check_refuse_pair(run, OPTION_WAYS, "leaves the CPU idle, but", OPTION_CPU_SHARE,
                                 " was given: allowed is auto, or ways 4");
    if (settings->ways == 1)
        settings->streams = 1;
    return STATUS_OK;
}

/* A profiler is to see one run, so --profile makes one. */
static enum status settle_profile(const struct judged *run, struct settings *settings)
{
    if (!settings->profile)
        return STATUS_OK;
    if (settings->runs != 1 && given_together(run, OPTION_PROFILE, OPTION_RUNS))
        return check_refuse_pair(run, OPTION_PROFILE, "makes one run, but", OPTION_RUNS,
                                 " was given: allowed is 1");
    settings->runs = 1;
    return STATUS_OK;
}

/* A process loads a kernel's code once, so the run that shows it has no warm-up and no repeat.
 */
static enum status settle_mistake(const struct judged *run, struct settings *settings)
{
    static const char says[] = "makes one run, and none before it, but";
    if (!mistake_rows[settings->mistake].loads_lazily)
        return STATUS_OK;
    if (settings->runs != 1 && given_together(run, OPTION_MISTAKE, OPTION_RUNS))
        return check_refuse_pair(run, OPTION_MISTAKE, says, OPTION_RUNS,
                                 " was given: allowed is 1");
    if (settings->warmup != 0 && given_together(run, OPTION_MISTAKE, OPTION_WARMUP))
        return check_refuse_pair(run, OPTION_MISTAKE, says, OPTION_WARMUP,
                                 " was given: allowed is 0");
    settings->runs = 1;
    settings->warmup = 0;
    return STATUS_OK;
}

/* --- all of them --- */

/* The functions behind enum option_check; either may be NULL. */
static const struct {
    enum status (*settle)(const struct judged *run, struct settings *settings);
    enum status (*check)(const struct judged *run);
} checks[CHECK_COUNT] = {
    [CHECK_LAUNCHES] = {settle_intensity, check_launches},
    [CHECK_BLOCKS] = {NULL, check_blocks},
    [CHECK_TILES] = {NULL, check_tiles},
    [CHECK_WAYS] = {settle_ways, check_ways},
    [CHECK_MEMORY] = {NULL, check_memory},
    [CHECK_ALLOC] = {NULL, check_alloc},
    [CHECK_SCATTER] = {NULL, check_scatter},
    [CHECK_COPY] = {NULL, check_copy},
    [CHECK_CARRY] = {NULL, check_carry},
    [CHECK_MISTAKE] = {settle_mistake, NULL},
    [CHECK_DEVICES] = {settle_devices, check_devices},
    [CHECK_SHARE] = {NULL, check_share},
    [CHECK_EXCHANGE] = {NULL, check_exchange},
    [CHECK_HALO] = {settle_halo, check_halo},
    [CHECK_ISSUE] = {NULL, check_issue},
    [CHECK_BATCH] = {NULL, check_batch},
    [CHECK_PACK] = {NULL, check_pack},
    [CHECK_PROFILE] = {settle_profile, NULL},
    [CHECK_NO_DATA] = {NULL, check_no_data},
};

/* Makes the check of every row that has one. */
static enum status check_rows(const struct judged *run)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < OPTION_COUNT && status == STATUS_OK; i++) {
        if (checks[option_rows[i].check].check != NULL)
            status = checks[option_rows[i].check].check(run);
    }
    return status;
}

enum status settings_check(const struct settings *settings, struct error *error)
{
    return check_rows(&(struct judged){settings, NULL, error});
}

enum status draft_finish(struct draft *draft, struct error *error)
{
    const struct judged run = {&draft->settings, draft->origins, error};
    enum status status = STATUS_OK;
    draft->settings.elements_given = draft->origins[OPTION_ELEMENTS].source != SOURCE_DEFAULT;
    draft->settings.layout_given = draft->origins[OPTION_LAYOUT].source != SOURCE_DEFAULT &&
                                   draft->settings.layout != LAYOUT_AUTO;
    draft->settings.memory_given = draft->origins[OPTION_MEMORY].source != SOURCE_DEFAULT;
    for (int i = 0; i < OPTION_COUNT && status == STATUS_OK; i++) {
        if (checks[option_rows[i].check].settle != NULL)
            status = checks[option_rows[i].check].settle(&run, &draft->settings);
    }
    return status == STATUS_OK ? check_rows(&run) : status;
}

enum status settings_check_profile(const struct settings *settings,
                                   const struct options *options, struct error *error)
{
    if (!settings->profile)
        return STATUS_OK;
    bool compares = options->command == COMMAND_COMPARE;
    if (!compares && options->timeline_count == 0)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "--profile makes a run without instrumentation of our own, so there is no "
                     "timeline to %s",
                     compares ? "compare: leave it out"
                              : "write: allowed is one of --profile and --timeline, or both on "
                                "a device sim:NAME");
}
