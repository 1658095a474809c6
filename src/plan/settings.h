/* settings.h - the settings of one run: a plain struct, filled by the options or any caller. */
#ifndef PIPELINE_PLAN_SETTINGS_H
#define PIPELINE_PLAN_SETTINGS_H

#include "core/status.h"
#include "kernels/kernel.h"
#include "plan/op.h"

#include <stdbool.h>
#include <stdint.h>

/* The auto values stand until the simulator has chosen. */
enum order { ORDER_DEPTH, ORDER_BREADTH, ORDER_AUTO };
enum layout { LAYOUT_TILE, LAYOUT_STAGE, LAYOUT_AUTO };
/* What each of several devices does: its share of the tiles, which are dealt in turn, or of the
 * chain, of which each has some kernels and hands tiles on to the next. */
enum spread { SPREAD_TILES, SPREAD_CHAIN };
/* The way from device to device; auto until the machine is known: as peers where it can. */
enum exchange { EXCHANGE_AUTO, EXCHANGE_PEER, EXCHANGE_HOST };
enum hide { HIDE_YES, HIDE_NO }; /* a stencil's copies from device to device, behind kernels */
enum carry { CARRY_DEVICE, CARRY_CALLBACK, CARRY_SYNC };

enum {
    MISTAKE_NONE = 0,
    RUN_NAME_MAX = 64,
    PRIORITIES_MAX = 32,
    STREAMS_MAX = 1024,
    TILES_MAX = 1 << 24,
};

/* The ways to bring tiles to the device and back, of ways that are alike the preferred one
 * first: by calls, as a graph, in batches; the same with kernels that work on mapped memory; in
 * batches that the CPU packs. A stream for each stage comes before streams that each take whole
 * tiles, since there no copies take turns. [Measured on an H200: tiles of 4 to 16 MiB, alike
 * when simulated, took 5 to 9 % less so] */
enum issue_way {
    WAY_STAGED, /* by calls, with a stream for each stage */
    WAY_STREAMS,
    WAY_GRAPH,
    WAY_BATCH,
    WAY_STAGED_BATCH, /* likewise */
    WAY_MAPPED,
    WAY_MAPPED_GRAPH,
    WAY_MAPPED_BATCH,
    WAY_PACK,
    WAY_COUNT
};

/* The settings of one run. Strings are owned by whoever filled it in. */
struct settings {
    char name[RUN_NAME_MAX]; /* the section's name; "run" when there is none */
    uint64_t elements;
    bool elements_given;        /* false: an input, where there is one, says how many */
    const char *input, *output; /* NULL: the input is generated; the output is not kept */
    const struct kernel *chain[CHAIN_MAX];
    int chain_length;
    uint32_t intensity;   /* 0: auto, what is usual for the chain */
    uint64_t columns;     /* transposes: elements of a row */
    uint32_t stride;      /* stride-copy */
    uint64_t rows, inner; /* matrix products: rows of A and C, columns of A */
    uint32_t blocks;      /* a launch's, at most; 0: auto, as many as the GPU holds at once */
    uint32_t tiles;       /* 0: auto, until the device is known */
    uint32_t streams;     /* tiles in flight on each device: that many streams (tile), or slots
                             (stage); 0: auto */
    bool streams_given;   /* true: also where they follow from other settings */
    enum order order;
    bool order_given;
    enum layout layout;
    bool layout_given; /* true: no choice of `issue` may take another */
    int ways;
    double cpu_share; /* 0 to 1; negative: auto */
    enum memory memory;
    bool memory_given;   /* true: no choice of `issue` may take another */
    bool prefetch;       /* managed memory: its pages move ahead of the kernels, and back */
    bool scatter;        /* tiles lie apart and shuffled in host memory */
    enum copy copy;      /* a tile is one piece of host memory, or a block of columns */
    uint32_t tile_width; /* then: elements of a tile's row */
    enum alloc alloc;    /* where a tile's memory on the device comes from */
    int priorities[PRIORITIES_MAX];
    int priority_count; /* 0: none */
    bool callbacks;
    enum carry carry;     /* a scan's way from tile to tile */
    uint32_t connections; /* 0: the driver's, or the machine's */
    int mistake;          /* index in mistake_rows (plan/mistake.h) */
    const char *device;   /* "auto", "cuda", "cuda:1", "sim:h200", "sim:h200*4" */
    uint32_t devices;     /* how many that are; 0 stands for 1 */
    enum spread spread;   /* what each of several devices does */
    enum sharing sharing;
    enum exchange exchange;
    uint32_t halo;  /* stencil: rows that devices hand each other */
    uint32_t steps; /* stencil: as often; 0 stands for 1 */
    enum hide hide;
    uint32_t runs, warmup;
    enum issue issue; /* ISSUE_AUTO: until the device is known, memory and pack with it */
    bool pack;        /* the CPU packs batches of tiles, which then go by one copy */
    uint32_t batch;   /* with ISSUE_BATCH or pack: tiles of a batch; 0: auto */
    bool profile;
    bool no_data;
    uint64_t seed;
};

/* What a way is, by value. */
struct issue_way_row {
    const char *name; /* "streams", "mapped graph" and so on */
    enum issue issue;
    bool staged, mapped, packs; /* with --layout=stage, --memory=mapped, --pack */
};
extern const struct issue_way_row issue_ways[WAY_COUNT];

/* Has tiles go in that way. Memory and layout stay where any would do, and so does the size of
 * batches where there are some. */
void settings_set_way(struct settings *settings, enum issue_way way);

/* Returns true where several tiles go as one: in batches, or packed. */
static inline bool issue_way_batches(enum issue_way way)
{
    return issue_ways[way].issue == ISSUE_BATCH || issue_ways[way].packs;
}

/* Returns true where tiles, streams, order, layout or issue are auto: no plan can be built yet.
 */
bool settings_are_open(const struct settings *settings);

/* Returns how many devices the run has. */
static inline uint32_t settings_devices(const struct settings *settings)
{
    return settings->devices > 1 ? settings->devices : 1;
}

/* Returns true where the data says how large tiles are and where they lie: they are no pieces
 * of one array that could as well be cut otherwise. */
static inline bool settings_tiles_are_given(const struct settings *settings)
{
    return settings->scatter || settings->copy != COPY_WHOLE;
}

/* Returns how a report says that the tiles of an array don't lie one behind another: ", tiles
 * scattered" or the like; "" where they do. */
const char *settings_apart_words(const struct settings *settings);

/* Returns true where several devices have parts of the chain. */
static inline bool settings_by_link(const struct settings *settings)
{
    return settings_devices(settings) > 1 && settings->spread == SPREAD_CHAIN;
}

/* Returns true where a stencil's rows stay on the devices, which exchange halos. */
static inline bool settings_has_halo(const struct settings *settings)
{
    return settings->chain_length == 1 && settings->chain[0]->stencil;
}

/* Returns the streams that such a plan has on each device: the edges have one of their own
 * where their copies are hidden. */
static inline uint32_t settings_halo_streams(const struct settings *settings)
{
    return settings_devices(settings) > 1 && settings->hide == HIDE_YES ? 2 : 1;
}

/* Returns false where several devices would not have more rows each than both their edges. */
bool settings_halo_fits(const struct settings *settings);

/* Returns the intensity that counts: the one given, or what is usual for the chain. */
uint32_t settings_intensity(const struct settings *settings);

/* Returns the parameters that the settings give the kernels. */
struct kernel_params settings_params(const struct settings *settings);

/* Returns the elements that each tile must be a multiple of: those of a row or a column where a
 * kernel of the chain works on such, those of a tile's row where tiles are columns, else 1. */
uint64_t settings_unit(const struct settings *settings);

/* Returns true if the array can be cut into `tiles` tiles, each of whole rows or columns where
 * the kernels work on such. */
bool settings_tiles_fit(const struct settings *settings, uint32_t tiles);

/* Returns the number of tiles nearest to `tiles` that fits, the smaller of two; `tiles` where
 * none does. */
uint32_t settings_tiles_near(const struct settings *settings, uint32_t tiles);

/* Return the nearest number of tiles that fits, from `tiles` on downwards and upwards; 0 where
 * there is none. */
uint32_t settings_tiles_below(const struct settings *settings, uint32_t tiles);
uint32_t settings_tiles_above(const struct settings *settings, uint32_t tiles);

/* Returns true where a scan goes on from tile to tile that are on unlike devices: what it
 * carries then has to come by the host. */
bool settings_carries_apart(const struct settings *settings);

/* Returns the tiles of a batch: 1 unless tiles go in batches; those given; or as many as come
 * to 4 MiB of the first input, about the tiles with which an H200 comes closest to its limit,
 * where that leaves 8 batches in turn for each that is in flight. */
uint32_t settings_batch(const struct settings *settings);

/* The memory that a plan may take, with all that is done with it by the simulator and to
 * explain the run: that takes less than a minute, too. Where addresses have 32 bits, as in
 * WebAssembly, half as much finds room. */
#define PLAN_BYTES_MOST (UINT64_C(1) << (sizeof(void *) < 8 ? 31 : 32))

/* The most that an op takes of it. Plans of 8 million ops took 226 to 375 bytes an op where
 * kernels share their ranges (plan_keep_ranges()), and 353 to 585 where they don't; and 0.7 to
 * 1.9 us on one core of a server; twelve kinds as large as they may be took 2 to 3.9 GiB and 6
 * to 15 s. Of smaller plans, for which all fixes are tried, an op takes up to 692 bytes and 2.4
 * us, but these are less in all. */
enum { PLAN_OP_BYTES = 384, PLAN_OP_BYTES_ALONE = 592, PLAN_OP_NS = 3000 };

/* Returns how many ops a plan of these settings may have. */
uint32_t settings_ops_most(const struct settings *settings);

/* Refuses settings whose plan has too many ops: those that there may be are `part` of it.
 * STATUS_USAGE, with what all would take and the tiles that would do. */
enum status settings_refuse_size(const struct settings *settings, double part,
                                 struct error *error);

/* The names of each enum's values, by value, ended by NULL: "depth", "tile", "pinned",
 * "device", "streams" and so on. */
extern const char *const order_names[];
extern const char *const layout_names[];
extern const char *const memory_names[];
extern const char *const alloc_names[];
extern const char *const copy_names[];
extern const char *const carry_names[];
extern const char *const issue_names[];
extern const char *const hide_names[];
extern const char *const spread_names[];
extern const char *const exchange_names[];
extern const char *const sharing_names[];

#endif
