/* settings.c - how an array is cut into tiles, and the names of the settings' values. */
#include "plan/settings.h"

#include "core/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const char *const order_names[] = {"depth", "breadth", "auto", NULL};
const char *const layout_names[] = {"tile", "stage", "auto", NULL};
const char *const memory_names[] = {"pinned", "pageable", "registered",
                                    "mapped", "managed",  NULL};
const char *const alloc_names[] = {"once", "loop", "async", "pool", NULL};
const char *const copy_names[] = {"whole", "2d", "rows", NULL};
const char *const carry_names[] = {"device", "callback", "sync", NULL};
const char *const spread_names[] = {"tiles", "chain", NULL};
const char *const sharing_names[] = {"none", "slices", "mps", NULL};
const char *const exchange_names[] = {"auto", "peer", "host", NULL};
const char *const hide_names[] = {"yes", "no", NULL};
const char *const issue_names[] = {"streams", "graph", "batch", "auto", NULL};

const struct issue_way_row issue_ways[WAY_COUNT] = {
    [WAY_STAGED] = {"staged", .issue = ISSUE_STREAMS, .staged = true},
    [WAY_STREAMS] = {"streams", .issue = ISSUE_STREAMS},
    [WAY_GRAPH] = {"graph", .issue = ISSUE_GRAPH},
    [WAY_BATCH] = {"batch", .issue = ISSUE_BATCH},
    [WAY_STAGED_BATCH] = {"staged batch", .issue = ISSUE_BATCH, .staged = true},
    [WAY_MAPPED] = {"mapped", .issue = ISSUE_STREAMS, .mapped = true},
    [WAY_MAPPED_GRAPH] = {"mapped graph", .issue = ISSUE_GRAPH, .mapped = true},
    [WAY_MAPPED_BATCH] = {"mapped batch", .issue = ISSUE_BATCH, .mapped = true},
    [WAY_PACK] = {"pack", .issue = ISSUE_STREAMS, .packs = true},
};

void settings_set_way(struct settings *settings, enum issue_way way)
{
    const struct issue_way_row *row = &issue_ways[way];
    settings->issue = row->issue;
    settings->pack = row->packs;
    if (row->mapped)
        settings->memory = MEMORY_MAPPED;
    if (row->staged)
        settings->layout = LAYOUT_STAGE;
    if (!issue_way_batches(way))
        settings->batch = 0;
}

bool settings_are_open(const struct settings *settings)
{
    return settings->tiles == 0 || settings->streams == 0 || settings->order == ORDER_AUTO ||
           settings->layout == LAYOUT_AUTO || settings->issue == ISSUE_AUTO;
}

uint32_t settings_intensity(const struct settings *settings)
{
    return settings->intensity > 0
               ? settings->intensity
               : chain_usual_intensity(settings->chain, settings->chain_length);
}

struct kernel_params settings_params(const struct settings *settings)
{
    const bool halo = settings_has_halo(settings);
    return (struct kernel_params){.intensity = settings_intensity(settings),
                                  .columns = settings->columns,
                                  .stride = settings->stride,
                                  .rows = settings->rows,
                                  .inner = settings->inner,
                                  .halo = halo ? settings->halo : 0,
                                  .steps = halo && settings->steps > 1 ? settings->steps : 1};
}

uint64_t settings_unit(const struct settings *settings)
{
    const struct kernel_params params = settings_params(settings);
    if (settings->copy != COPY_WHOLE)
        return settings->tile_width;
    return chain_unit(settings->chain, settings->chain_length, &params);
}

const char *settings_apart_words(const struct settings *settings)
{
    static const char *const columns[] = {"", ", tiles are columns, by 2D copies",
                                          ", tiles are columns, copied row by row"};
    if (settings->scatter)
        return ", tiles scattered";
    return settings->pack && settings->copy != COPY_WHOLE ? ", tiles are columns"
                                                          : columns[settings->copy];
}

bool settings_halo_fits(const struct settings *settings)
{
    const uint64_t devices = settings_devices(settings);
    if (!settings_has_halo(settings) || devices == 1)
        return true;
    /* Where tiles are to be chosen, one for each device gives the devices the most rows. */
    const uint64_t tiles = settings->tiles == 0 ? devices : settings->tiles;
    const uint64_t least = tiles / devices; /* tiles */
    return least > 0 && settings->elements / tiles * least / settings->columns >
                            2 * (uint64_t)settings->halo;
}

bool settings_carries_apart(const struct settings *settings)
{
    return settings_devices(settings) > 1 && !settings_by_link(settings) &&
           kernel_chain_scans(settings->chain, settings->chain_length);
}

uint32_t settings_batch(const struct settings *settings)
{
    enum { BYTES = 4 << 20, FEWEST = 8 };
    if (settings->issue != ISSUE_BATCH && !settings->pack)
        return 1;
    if (settings->batch > 0)
        return settings->batch < settings->tiles ? settings->batch : settings->tiles;
    const double tile = (double)settings->elements / settings->tiles *
                        (double)dtype_bytes(settings->chain[0]->in);
    const double in_flight = (double)settings->streams * settings_devices(settings);
    const double most = settings->tiles / in_flight / FEWEST;
    const double batch = BYTES / tile < most ? BYTES / tile : most;
    return batch > 1 ? (uint32_t)batch : 1;
}

/* Rows and columns are dealt out evenly: each tile has the same number of them. Other tiles may
 * differ by one element. */
bool settings_tiles_fit(const struct settings *settings, uint32_t tiles)
{
    const uint64_t unit = settings_unit(settings);
    if (unit == 1)
        return true;
    return tiles > 0 && settings->elements % unit == 0 &&
           settings->elements / unit % tiles == 0;
}

/* Returns the next number of tiles that fits from `tiles` on, in steps of 1 or -1; 0: none. */
static uint32_t next_fit(const struct settings *settings, uint32_t tiles, int step)
{
    const uint64_t units = settings->elements / settings_unit(settings);
    uint64_t next = tiles;
    while (next > 0 && next <= units && next <= TILES_MAX) {
        if (settings_tiles_fit(settings, (uint32_t)next))
            return (uint32_t)next;
        next += (uint64_t)(int64_t)step;
    }
    return 0;
}

uint32_t settings_tiles_below(const struct settings *settings, uint32_t tiles)
{
    const uint64_t units = settings->elements / settings_unit(settings);
    return next_fit(settings, tiles > units ? (uint32_t)units : tiles, -1);
}

uint32_t settings_tiles_above(const struct settings *settings, uint32_t tiles)
{
    return next_fit(settings, tiles, 1);
}

uint32_t settings_tiles_near(const struct settings *settings, uint32_t tiles)
{
    if (settings_tiles_fit(settings, tiles))
        return tiles;
    const uint32_t below = settings_tiles_below(settings, tiles),
                   above = settings_tiles_above(settings, tiles);
    if (below == 0 && above == 0)
        return tiles;
    return above == 0 || (below > 0 && tiles - below <= above - tiles) ? below : above;
}

/* Kernels share their ranges where they work in slots that are used again: not in the host's
 * arrays, nor where each tile has a carry of its own, or a place of its own in its batch. */
static uint64_t op_bytes_most(const struct settings *settings)
{
    bool shares = settings->ways == 3 && !memory_is_reached(settings->memory) &&
                  !kernel_chain_scans(settings->chain, settings->chain_length);
    for (int i = 0; i < settings->chain_length && settings_batch(settings) > 1; i++)
        shares &= kernel_is_elementwise(settings->chain[i]);
    return shares ? PLAN_OP_BYTES : PLAN_OP_BYTES_ALONE;
}

uint32_t settings_ops_most(const struct settings *settings)
{
    return (uint32_t)(PLAN_BYTES_MOST / op_bytes_most(settings));
}

/* Returns how many launches each tile has for itself in a batch: of kernels that don't join its
 * tiles. There may be more ops of each tile, a scan's carry say. */
static uint32_t launches_alone(const struct settings *settings)
{
    uint32_t count = 0;
    for (int i = 0; i < settings->chain_length; i++)
        count += !kernel_is_elementwise(settings->chain[i]);
    return count;
}

/* Returns a number of tiles with which a plan of `ops` would have no more than `most`; 0: there
 * is none. Fewer tiles are larger, and may go in smaller batches, which have as many ops each.
 */
static uint32_t fewer_tiles(const struct settings *settings, double ops, double most)
{
    const double each = ops / settings->tiles, alone = fmin(each, launches_alone(settings));
    const double batched = (each - alone) * settings_batch(settings);
    struct settings fewer = *settings;
    double allowed = settings->tiles * most / ops;
    while ((fewer.tiles = settings_tiles_below(settings, (uint32_t)allowed)) > 0) {
        allowed = most / (alone + batched / settings_batch(&fewer));
        if (fewer.tiles <= allowed)
            break;
    }
    return fewer.tiles;
}

enum status settings_refuse_size(const struct settings *settings, double part,
                                 struct error *error)
{
    char bytes[UNITS_TEXT], time[UNITS_TEXT], remedy[64] = "";
    const uint32_t most = settings_ops_most(settings);
    const double ops = most / part, all_bytes = ops * (double)op_bytes_most(settings);
    /* A little less, for what does not grow with the tiles. */
    const uint32_t tiles = fewer_tiles(settings, ops, 0.99 * most);
    if (settings->copy == COPY_ROWS && !settings->pack)
        snprintf(remedy, sizeof remedy, ": --copy=2d has one for all rows of a tile");
    else if (tiles > 0)
        snprintf(remedy, sizeof remedy, ": --tiles=%" PRIu32 " would do", tiles);
    return error_set(error, STATUS_USAGE,
                     "--tiles=%" PRIu32 ": the plan would have %.3g million operations, which "
                     "would take about %s of memory and %s; %.3g million are allowed%s",
                     settings->tiles, ops / 1e6, units_bytes((uint64_t)all_bytes, bytes),
                     units_time((int64_t)(ops * PLAN_OP_NS), time), most / 1e6, remedy);
}
