/* tiles_cases.c - cases of one launch over several tiles: their memory, and how it is judged.
 */
#include "tiles_cases.h"

#include "check_kernels_util.h"
#include "fixtures.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0xAB, GUARD_WORDS = 8, POISON = 0xFF, RESIDENT_BLOCKS = 1056 };

/* An array in which tiles lie apart, and how it was before the launch. */
struct guarded {
    float *now, *before;
    uint64_t words;
    uint64_t *first; /* of each tile */
};

struct bench {
    const struct kernel *kernel;
    const struct tiles_case *which;
    const struct tiles_device *device;
    uint64_t *count, most, total; /* elements of each tile, of the largest, and of all */
    struct guarded in[KERNEL_INPUTS_MAX], own_out, *out;
    struct kernel_tile *table, *table_before;
    uint64_t random;
};

/* ---- the cases ---- */

static const struct {
    uint32_t tiles;
    uint64_t count;
} shapes[] = {{1, 1},  {1, 5000}, {2, 1023}, {40, 1},   {19, 3},   {13, 4}, {11, 5},
              {7, 33}, {5, 1021}, {5, 1022}, {5, 1024}, {3, 1025}, {9, 700}};
static const uint32_t grids[] = {1, 3, 0, 50};
enum { SHAPES = sizeof shapes / sizeof *shapes, GRIDS = sizeof grids / sizeof *grids };

uint32_t tiles_case_count(void)
{
    return SHAPES * GRIDS * TILES_PLACES_COUNT;
}

/* Every shape is tried with all grids and places; the other settings change from case to case.
 */
struct tiles_case tiles_case_at(uint32_t i)
{
    const uint32_t shape = i % SHAPES, rest = i / SHAPES;
    return (struct tiles_case){.tiles = shapes[shape].tiles,
                               .count = shapes[shape].count,
                               .places = (enum tiles_places)(rest % TILES_PLACES_COUNT),
                               .blocks = grids[rest / TILES_PLACES_COUNT],
                               .sizes = (enum tiles_sizes)((i + rest) % TILES_SIZES_COUNT),
                               .in_place = i % 11 % 2 == 1,
                               .intensity = i % 5 < 3 ? 1 : 3,
                               .told = i % 7 == 3   ? 1
                                       : i % 7 == 5 ? 100000
                                                    : 0};
}

/* ---- memory ---- */

static void *must_take(const struct bench *bench, uint64_t bytes)
{
    void *memory = bench->device->take(bytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static uint64_t drawn_count(struct bench *bench, uint32_t tile)
{
    const struct tiles_case *which = bench->which;
    if (which->sizes == TILES_ALIKE || tile == 0)
        return which->count;
    if (which->sizes == TILES_BY_ONE)
        return which->count + tile % 2;
    return tile == 1 ? 0 : test_random_below(&bench->random, (uint32_t)which->count + 1);
}

/* Gives each tile its place in the memory: in a drawn order, with guard words of a drawn
 * number between, and `array` being the number of the array. */
static void guarded_take(struct bench *bench, struct guarded *guarded, uint32_t array)
{
    const uint32_t tiles = bench->which->tiles;
    uint32_t *order = take_zeroed(tiles, sizeof *order);
    uint64_t at = 0;
    for (uint32_t i = 0; i < tiles; i++) {
        const uint32_t with = test_random_below(&bench->random, i + 1);
        order[i] = order[with];
        order[with] = i;
    }
    guarded->first = take_zeroed(tiles, sizeof *guarded->first);
    for (uint32_t i = 0; i < tiles; i++) {
        const uint32_t tile = order[i];
        const uint32_t skew = bench->which->places == TILES_ALIGNED ? 0
                              : bench->which->places == TILES_EVEN  ? 1 + tile
                                                                    : 1 + tile + array;
        at += GUARD_WORDS + test_random_below(&bench->random, 50);
        at += (4 + skew % 4 - at % 4) % 4;
        guarded->first[tile] = at;
        at += bench->count[tile];
    }
    guarded->words = at + GUARD_WORDS;
    guarded->now = must_take(bench, guarded->words * sizeof *guarded->now);
    guarded->before = take_zeroed(guarded->words, sizeof *guarded->before);
    memset(guarded->now, GUARD, guarded->words * sizeof *guarded->now);
    free(order);
}

static void guarded_fill(struct bench *bench, struct guarded *guarded)
{
    static const float specials[] = {INFINITY, -0.0F, NAN, 1e-40F, -INFINITY, 1e30F, 0};
    uint32_t next = 0;
    for (uint32_t tile = 0; tile < bench->which->tiles; tile++)
        for (uint64_t i = 0; i < bench->count[tile]; i++) {
            const float value =
                (float)test_random_below(&bench->random, 1 << 24) * 0x1p-23F - 1;
            const bool special = test_random_below(&bench->random, 50) == 0;
            guarded->now[guarded->first[tile] + i] = special ? specials[next++ % 7] : value;
        }
}

static void guarded_keep(const struct guarded *guarded)
{
    memcpy(guarded->before, guarded->now, guarded->words * sizeof *guarded->now);
}

static void bench_take(struct bench *bench)
{
    const uint32_t tiles = bench->which->tiles;
    ck_assert_msg(bench->kernel->in == DTYPE_F32 && bench->kernel->out == DTYPE_F32,
                  "%s: these cases have floats only", bench->kernel->name);
    bench->random = bench->which->count + 1000 * tiles + bench->which->blocks + 1;
    bench->count = take_zeroed(tiles, sizeof *bench->count);
    for (uint32_t tile = 0; tile < tiles; tile++) {
        const uint64_t count = bench->count[tile] = drawn_count(bench, tile);
        bench->most = count > bench->most ? count : bench->most;
        bench->total += count;
    }
    for (int input = 0; input < bench->kernel->inputs; input++) {
        guarded_take(bench, &bench->in[input], (uint32_t)input);
        guarded_fill(bench, &bench->in[input]);
        guarded_keep(&bench->in[input]);
    }
    bench->out = &bench->in[0];
    if (!bench->which->in_place || bench->kernel->launch_per_repeat) {
        bench->out = &bench->own_out;
        guarded_take(bench, bench->out, KERNEL_INPUTS_MAX);
        for (uint32_t tile = 0; tile < tiles; tile++)
            memset(bench->out->now + bench->out->first[tile], POISON,
                   bench->count[tile] * sizeof(float));
        guarded_keep(bench->out);
    }
    bench->table = must_take(bench, tiles * sizeof *bench->table);
    bench->table_before = take_zeroed(tiles, sizeof *bench->table_before);
    for (uint32_t tile = 0; tile < tiles; tile++) {
        bench->table[tile] = (struct kernel_tile){
            .out = bench->out->now + bench->out->first[tile], .count = bench->count[tile]};
        for (int input = 0; input < bench->kernel->inputs; input++)
            bench->table[tile].in[input] = bench->in[input].now + bench->in[input].first[tile];
        bench->table_before[tile] = bench->table[tile];
    }
}

static void guarded_free(const struct bench *bench, struct guarded *guarded)
{
    if (guarded->now != NULL)
        bench->device->give_back(guarded->now);
    free(guarded->before);
    free(guarded->first);
}

static void bench_free(struct bench *bench)
{
    for (int input = 0; input < KERNEL_INPUTS_MAX; input++)
        guarded_free(bench, &bench->in[input]);
    guarded_free(bench, &bench->own_out);
    bench->device->give_back(bench->table);
    free(bench->table_before);
    free(bench->count);
}

/* ---- the launch, and what came of it ---- */

static struct kernel_params params_of(const struct bench *bench)
{
    return (struct kernel_params){.intensity = bench->which->intensity};
}

static uint32_t blocks_of(const struct bench *bench)
{
    return bench->which->blocks > 0
               ? bench->which->blocks
               : kernel_blocks(bench->kernel, bench->total, RESIDENT_BLOCKS);
}

static bool bench_launch(const struct bench *bench, const struct kernel_launcher *launcher,
                         char what[TILES_TEXT])
{
    const struct tiles_case *which = bench->which;
    struct kernel_args args = {.count = which->told > 0 ? which->told : bench->most,
                               .blocks = blocks_of(bench),
                               .params = params_of(bench)};
    int result = 0;
    for (; result == 0 && args.repeat < kernel_launches(bench->kernel, &args.params);
         args.repeat++)
        result = launcher->launch_tiles(&args, bench->table, which->tiles, NULL);
    const char *fault = bench->device->wait();
    if (fault != NULL || result != 0)
        snprintf(what, TILES_TEXT, "%s", fault != NULL ? fault : "it was not launched");
    return fault == NULL && result == 0;
}

static bool tile_is_right(const struct bench *bench, uint32_t tile, char what[TILES_TEXT])
{
    const struct guarded *in = bench->in;
    const uint64_t count = bench->count[tile];
    const float *out = bench->out->now + bench->out->first[tile];
    const float *second = bench->kernel->inputs > 1 ? in[1].before + in[1].first[tile] : NULL;
    const struct kernel_params params = params_of(bench);
    struct oracle oracle = oracle_create(in[0].before + in[0].first[tile], count);
    kernel_code(bench->kernel)->oracle_map(&oracle, second, &params);
    uint64_t i = 0;
    while (i < count && is_right((double)out[i], oracle.value[i], oracle.bound[i]))
        i++;
    if (i < count)
        snprintf(what, TILES_TEXT,
                 "element %" PRIu64 " of %" PRIu64 " of tile %" PRIu32
                 " is %.9g, not %.9g +- %g",
                 i, count, tile, (double)out[i], oracle.value[i], oracle.bound[i]);
    oracle_free(&oracle);
    return i == count;
}

/* Looks at all elements of all tiles, then at all that is none of theirs. */
static bool bench_is_right(struct bench *bench, char what[TILES_TEXT])
{
    const struct guarded *out = bench->out;
    const uint32_t tiles = bench->which->tiles;
    for (uint32_t tile = 0; tile < tiles; tile++) {
        if (!tile_is_right(bench, tile, what))
            return false;
        memcpy(out->now + out->first[tile], out->before + out->first[tile],
               bench->count[tile] * sizeof(float));
    }
    bool whole = memcmp(bench->table, bench->table_before, tiles * sizeof *bench->table) == 0 &&
                 memcmp(out->now, out->before, out->words * sizeof(float)) == 0;
    for (int input = 0; input < bench->kernel->inputs; input++)
        whole = whole && memcmp(bench->in[input].now, bench->in[input].before,
                                bench->in[input].words * sizeof(float)) == 0;
    if (!whole)
        snprintf(what, TILES_TEXT, "it wrote outside its tiles' outputs");
    return whole;
}

bool tiles_are_right(const struct kernel *kernel, const struct kernel_launcher *launcher,
                     const struct tiles_case *which, const struct tiles_device *device,
                     char text[TILES_TEXT])
{
    static const char *const sizes[] = {"alike", "by one", "drawn"};
    static const char *const places[] = {"aligned", "even", "odd"};
    struct bench bench = {.kernel = kernel, .which = which, .device = device};
    char what[TILES_TEXT] = "";
    bench_take(&bench);
    const bool right = bench_launch(&bench, launcher, what) && bench_is_right(&bench, what);
    if (!right)
        snprintf(text, TILES_TEXT,
                 "%s, %" PRIu32 " tiles of %" PRIu64 " elements (%s, %s%s), intensity %" PRIu32
                 ", told %" PRIu64 ", %" PRIu32 " blocks: %.300s",
                 kernel->name, which->tiles, which->count, sizes[which->sizes],
                 places[which->places], bench.out == &bench.in[0] ? ", in place" : "",
                 which->intensity, which->told, blocks_of(&bench), what);
    bench_free(&bench);
    return right;
}
