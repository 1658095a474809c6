/* check_memory.c - the checks of where arrays and tiles lie: the host's memory, tiles apart or
 * as columns, and the device's memory of each tile. */
#include "options/check.h"

#include <inttypes.h>
#include <stdio.h>

/* Refuses for managed memory what nobody has made of it. */
static enum status check_managed(const struct judged *run)
{
    const struct settings *settings = run->settings;
    if (settings->issue != ISSUE_STREAMS)
        return check_refuse_pair(run, OPTION_MEMORY, "has pages that move by themselves, but",
                                 OPTION_ISSUE, " was given: allowed is streams");
    if (kernel_chain_scans(settings->chain, settings->chain_length))
        return check_refuse_pair(run, OPTION_MEMORY, "has no copies to carry sums by, but",
                                 OPTION_KERNEL,
                                 " is a scan: allowed are pinned, pageable, registered and "
                                 "mapped");
    const struct {
        bool given;
        enum option_id option;
        const char *rest;
    } others[] = {
        {settings->scatter, OPTION_SCATTER, " lays tiles apart: allowed is one of them"},
        {settings->pack, OPTION_PACK, " has copies go together: allowed is one of them"},
        {settings->mistake != MISTAKE_NONE, OPTION_MISTAKE,
         " was given: allowed is one of them"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].given)
            return check_refuse_pair(run, OPTION_MEMORY,
                                     "has whole pages move, tile by tile, but",
                                     others[i].option, others[i].rest);
    return STATUS_OK;
}

/* Mapped arrays stay on the host, and managed ones have one place for all. A kernel that works
 * in place would overwrite its first input there, and a resident input is read so often that it
 * has to be on the device. */
enum status check_memory(const struct judged *run)
{
    const struct kernel *first = run->settings->chain[0];
    if (!memory_is_reached(run->settings->memory))
        return STATUS_OK;
    if (!first->in_place && first->resident_count == NULL)
        return run->settings->memory == MEMORY_MANAGED ? check_managed(run) : STATUS_OK;
    return check_refuse_pair(run, OPTION_MEMORY, "has kernels work on the host's arrays, but",
                             OPTION_KERNEL,
                             " keeps one on the device and works in place: allowed are pinned, "
                             "pageable and registered");
}

/* Tiles that lie apart in host memory are each a whole of their own. */
enum status check_scatter(const struct judged *run)
{
    const struct settings *settings = run->settings;
    char rest[LABEL_MAX];
    for (int i = 0; i < settings->chain_length && settings->scatter; i++) {
        const char *why = kernel_needs_neighbours(settings->chain[i]);
        if (why == NULL)
            continue;
        snprintf(rest, sizeof rest, " has %s, which %s: allowed are kernels such as scale",
                 settings->chain[i]->name, why);
        return check_refuse_pair(run, OPTION_SCATTER, "lays tiles apart, but", OPTION_KERNEL,
                                 rest);
    }
    return STATUS_OK;
}

static bool is_scattered(const struct settings *settings)
{
    return settings->scatter;
}

static bool is_mapped(const struct settings *settings)
{
    return memory_is_reached(settings->memory);
}

static bool is_batched(const struct settings *settings)
{
    return settings->issue == ISSUE_BATCH || settings->issue == ISSUE_AUTO;
}

static bool helps_by_cpu(const struct settings *settings)
{
    return settings->ways == 4;
}

/* Each of these is refused for tiles that are columns. */
static const struct {
    bool (*has)(const struct settings *settings);
    enum option_id option;
    const char *between, *rest;
} columns_exclude[] = {
    {is_scattered, OPTION_SCATTER, "lays tiles side by side, as columns, but",
     " lays each apart, in one piece: allowed is one of them"},
    {is_mapped, OPTION_MEMORY, "is about how tiles are copied, but with",
     " there are no copies: allowed are pinned, pageable and registered"},
    {is_batched, OPTION_ISSUE, "has many rows for each tile, but",
     " hands over tiles that are each one piece: allowed are streams and graph, and --pack"},
    {helps_by_cpu, OPTION_WAYS, "lays tiles side by side, as columns, but",
     " has the CPU work on tiles that are one piece: allowed are ways 1, 2 and 3"},
};

/* The matrix has as many rows of each tile, all of them whole. */
static enum status refuse_columns(const struct judged *run)
{
    const struct settings *settings = run->settings;
    char what[LABEL_MAX], width[LABEL_MAX], tiles[LABEL_MAX];
    const uint64_t row =
        (uint64_t)settings->tile_width * (settings->tiles > 0 ? settings->tiles : 1);
    const uint64_t rows = settings->elements / row;
    return error_set(run->error, STATUS_USAGE,
                     "%s is no whole number of rows of %" PRIu64 " elements, which %s and %s "
                     "make: nearest are %" PRIu64 " and %" PRIu64,
                     check_label(run, OPTION_ELEMENTS, what), row,
                     check_label(run, OPTION_TILE_WIDTH, width),
                     check_label(run, OPTION_TILES, tiles), (rows > 0 ? rows : 1) * row,
                     (rows > 0 ? rows + 1 : 2) * row);
}

/* Tiles that are columns are copied in rows, and are each a whole of their own. */
enum status check_copy(const struct judged *run)
{
    const struct settings *settings = run->settings;
    char rest[LABEL_MAX];
    if (settings->copy == COPY_WHOLE)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof columns_exclude / sizeof columns_exclude[0]; i++) {
        if (columns_exclude[i].has(settings))
            return check_refuse_pair(run, OPTION_COPY, columns_exclude[i].between,
                                     columns_exclude[i].option, columns_exclude[i].rest);
    }
    for (int i = 0; i < settings->chain_length; i++) {
        const char *why = kernel_needs_neighbours(settings->chain[i]);
        if (why == NULL)
            continue;
        snprintf(rest, sizeof rest, " has %s, which %s: allowed are kernels such as scale",
                 settings->chain[i]->name, why);
        return check_refuse_pair(run, OPTION_COPY, "makes each tile a matrix of its own, but",
                                 OPTION_KERNEL, rest);
    }
    const bool fits = settings->tiles > 0 ? settings_tiles_fit(settings, settings->tiles)
                                          : settings->elements % settings->tile_width == 0;
    return fits || check_elements_are_open(run) ? STATUS_OK : refuse_columns(run);
}

/* Memory that is taken for each tile is taken by calls between its ops. */
enum status check_alloc(const struct judged *run)
{
    static const char says[] = "takes memory for each tile, but";
    const struct settings *settings = run->settings;
    if (settings->alloc == ALLOC_ONCE)
        return STATUS_OK;
    if (memory_is_reached(settings->memory))
        return check_refuse_pair(run, OPTION_ALLOC,
                                 "takes memory that tiles are copied to, but", OPTION_MEMORY,
                                 " copies none: allowed are pinned, pageable and registered");
    if (settings->issue != ISSUE_STREAMS)
        return check_refuse_pair(run, OPTION_ALLOC, says, OPTION_ISSUE,
                                 " does not go with that: allowed is streams");
    if (settings->pack)
        return check_refuse_pair(run, OPTION_ALLOC, says, OPTION_PACK,
                                 " copies several as one: allowed is no");
    if (settings_devices(settings) > 1)
        return check_refuse_pair(run, OPTION_ALLOC, "is about one device, but", OPTION_DEVICE,
                                 " has several");
    if (settings_has_halo(settings))
        return check_refuse_pair(run, OPTION_ALLOC, says, OPTION_HALO,
                                 " leaves them on the device for all steps");
    if (settings->mistake != MISTAKE_NONE)
        return check_refuse_pair(run, OPTION_ALLOC, "is one way to take memory, and",
                                 OPTION_MISTAKE,
                                 " would mix with what it shows: allowed is none");
    return STATUS_OK;
}
