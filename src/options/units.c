/* units.c - tiles of kernels that work on matrices: they are whole rows, or columns. */
#include "options/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct kernel *unit_kernel(const struct settings *settings)
{
    return chain_unit_kernel(settings->chain, settings->chain_length);
}

/* The setting that says how long units are. */
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
enum status options_check_units(const struct settings *settings, const struct origin *origins,
                                struct error *error)
{
    /* How many elements there are an input file tells later, when this comes again. */
    const bool unknown =
        origins != NULL && settings->input != NULL && !settings->elements_given;
    if (unknown || settings_tiles_fit(settings, settings->tiles))
        return STATUS_OK;
    if (settings->elements % settings_unit(settings) != 0)
        return refuse_elements(settings, origins, error);
    if (settings->tiles == 0) /* auto: one that fits is chosen */
        return STATUS_OK;
    return refuse_tiles(settings, origins, error);
}
