/* check_scatter.c - tiles that lie apart in host memory: where each lies, what the arrays hold
 * there, and that a write beside a tile is found. */
#include "fixtures.h"
#include "plan/host_layout.h"
#include "run/arrays.h"
#include "suites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct error error;

static const struct shape {
    uint64_t elements;
    uint32_t tiles;
} shapes[] = {
    {1, 1},    {4096, 1},  {7, 7},       {1000, 1000}, {7, 3},
    {1003, 7}, {4096, 64}, {100003, 64}, {65537, 6},   {12345, 12344},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static struct settings scattered_settings(const char *chain, const struct shape *shape)
{
    struct settings settings = test_settings(chain);
    settings.elements = shape->elements;
    settings.tiles = shape->tiles;
    settings.scatter = true;
    return settings;
}

/* --- places --- */

static uint32_t *places_of(uint32_t tiles, uint64_t seed)
{
    struct plan plan = {.tiles = tiles};
    ck_assert_int_eq(host_layout_draw(&plan, seed, &error), STATUS_OK);
    return plan.places;
}

START_TEST(places_are_a_permutation)
{
    static const uint32_t tiles[] = {1, 2, 3, 7, 64, 1000, 65537};
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            uint32_t *places = places_of(tiles[i], seed), *again = places_of(tiles[i], seed);
            bool *taken = calloc(tiles[i], sizeof *taken);
            ck_assert_ptr_nonnull(taken);
            uint32_t distinct = 0;
            for (uint32_t tile = 0; tile < tiles[i]; tile++) {
                const bool free_place = places[tile] < tiles[i] && !taken[places[tile]];
                distinct += free_place;
                if (free_place)
                    taken[places[tile]] = true;
            }
            ck_assert_uint_eq(distinct, tiles[i]);
            ck_assert_mem_eq(places, again, tiles[i] * sizeof *places);
            free(taken);
            free(again);
            free(places);
        }
    }
}
END_TEST

/* Every order of three tiles is as likely as any other, and so is every place of a tile. */
START_TEST(every_permutation_is_as_likely)
{
    enum { SEEDS = 12000, ORDERS = 27, PLACES = 50 };
    int drawn[ORDERS] = {0}, first[PLACES] = {0}, orders = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint32_t *three = places_of(3, seed), *many = places_of(PLACES, seed);
        drawn[three[0] * 9 + three[1] * 3 + three[2]]++;
        first[many[0]]++;
        free(three);
        free(many);
    }
    for (int i = 0; i < ORDERS; i++) {
        orders += drawn[i] > 0;
        ck_assert(drawn[i] == 0 || abs(drawn[i] - SEEDS / 6) < 200); /* five deviations */
    }
    ck_assert_int_eq(orders, 6);
    for (int i = 0; i < PLACES; i++)
        ck_assert_int_lt(abs(first[i] - SEEDS / PLACES), 80);
}
END_TEST

/* Two neighbours stay neighbours about twice in a permutation, however long it is. */
START_TEST(neighbours_are_rarely_neighbours)
{
    enum { TILES = 1000, SEEDS = 200 };
    int near = 0, alike = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint32_t *places = places_of(TILES, seed), *other = places_of(TILES, seed + 1);
        for (int tile = 0; tile < TILES; tile++) {
            alike += places[tile] == other[tile];
            near += tile > 0 && abs((int)places[tile] - (int)places[tile - 1]) == 1;
        }
        free(places);
        free(other);
    }
    ck_assert_int_gt(near, SEEDS);
    ck_assert_int_lt(near, 3 * SEEDS);
    ck_assert_int_lt(alike,
                     2 * SEEDS); /* another seed, other places: one is the same by chance */
}
END_TEST

/* --- memory --- */

static const enum buffer scattered[] = {BUFFER_HOST_IN0, BUFFER_HOST_IN1, BUFFER_HOST_OUT};
enum { SCATTERED = sizeof scattered / sizeof *scattered };

/* Every byte of the tiles has a place of its own, and around each tile there is a gap. */
static void check_places(const struct plan *plan, enum buffer buffer)
{
    const uint64_t bytes = host_layout_bytes(plan, buffer);
    uint8_t *owned = calloc(bytes, 1);
    uint64_t shared = 0,
             astray = 0; /* an assertion for each byte would take most of the time */
    ck_assert_ptr_nonnull(owned);
    for (uint32_t tile = 0; tile < plan->tiles; tile++) {
        const struct range range = host_layout_piece(plan, buffer, tile);
        const uint64_t at = host_layout_offset(plan, &range);
        ck_assert_uint_eq(at % HOST_TILE_ALIGNMENT, 0);
        ck_assert_uint_le(at + range.bytes + HOST_GAP_BYTES, bytes);
        for (uint64_t i = 0; i < range.bytes + HOST_GAP_BYTES; i++)
            shared += owned[at + i]++ != 0;
        for (uint64_t i = 0; i < range.bytes; i += 4) {
            const struct range element = {buffer, range.offset + i, 4};
            astray += host_layout_offset(plan, &element) != at + i;
        }
    }
    ck_assert_uint_eq(shared, 0);
    ck_assert_uint_eq(astray, 0);
    free(owned);
}

START_TEST(tiles_lie_apart)
{
    struct settings settings = scattered_settings("wave", &shapes[_i]);
    struct plan plan = test_built(&settings);
    uint64_t sum = 0;
    for (int i = 0; i < SCATTERED; i++) {
        const uint64_t largest = (plan.elements + plan.tiles - 1) / plan.tiles * 4;
        const uint64_t pitch = host_layout_pitch(&plan, scattered[i]);
        ck_assert(host_layout_is_scattered(&plan, scattered[i]));
        ck_assert_uint_eq(pitch % HOST_TILE_ALIGNMENT, 0);
        ck_assert_uint_ge(pitch, largest + HOST_GAP_BYTES);
        ck_assert_uint_lt(pitch, largest + HOST_GAP_BYTES + HOST_TILE_ALIGNMENT);
        ck_assert_uint_eq(host_layout_bytes(&plan, scattered[i]), plan.tiles * pitch);
        ck_assert_uint_eq(plan.buffer_bytes[scattered[i]], plan.elements * 4);
        check_places(&plan, scattered[i]);
        sum += plan.tiles * pitch;
    }
    ck_assert_uint_eq(plan_host_bytes(&plan), sum);
    plan_free(&plan);
    ck_assert_ptr_null(plan.places);
}
END_TEST

START_TEST(an_element_is_in_its_tile)
{
    struct settings settings = scattered_settings("scale", &shapes[_i]);
    struct plan plan = test_built(&settings);
    uint64_t astray = 0;
    for (uint32_t tile = 0; tile < plan.tiles; tile++) {
        uint64_t first, count;
        plan_tile(&plan, tile, &first, &count);
        for (uint64_t i = first; i < first + count; i++)
            astray += plan_tile_of(&plan, i) != tile;
    }
    ck_assert_uint_eq(astray, 0);
    plan.elements = UINT64_C(1) << 40;
    ck_assert_uint_eq(plan_tile_of(&plan, plan.elements - 1), plan.tiles - 1);
    plan_free(&plan);
}
END_TEST

/* A walk covers a range of any length, without gaps, in pieces that each lie in one tile. */
static void check_walk(const struct plan *plan, const struct range *whole)
{
    struct range rest = *whole, piece;
    uint64_t at = whole->offset;
    int pieces = 0, wrong = 0;
    while (host_layout_next(plan, &rest, &piece)) {
        const struct range last = {piece.buffer, piece.offset + piece.bytes - 1, 1};
        wrong += piece.offset != at || piece.bytes == 0 ||
                 host_layout_offset(plan, &last) !=
                     host_layout_offset(plan, &piece) + piece.bytes - 1;
        at += piece.bytes;
        pieces++;
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_uint_eq(at, whole->offset + whole->bytes);
    const uint32_t tiles = whole->bytes == 0 ? 0
                                             : plan_tile_of(plan, (at - 1) / 4) -
                                                   plan_tile_of(plan, whole->offset / 4) + 1;
    ck_assert_int_eq(pieces, plan->places != NULL ? (int)tiles : whole->bytes > 0);
}

START_TEST(a_walk_covers_a_range)
{
    uint64_t random = 12;
    struct settings settings = scattered_settings("scale", &shapes[_i]);
    for (int apart = 0; apart < 2; apart++) {
        settings.scatter = apart == 1;
        struct plan plan = test_built(&settings);
        ck_assert_int_eq(plan.places != NULL, apart);
        for (int i = 0; i < 100; i++) {
            const uint64_t all = plan.buffer_bytes[BUFFER_HOST_OUT];
            const uint64_t offset = test_random(&random) % (all + 1);
            check_walk(&plan, &(struct range){BUFFER_HOST_OUT, offset,
                                              test_random(&random) % (all - offset + 1)});
        }
        plan_free(&plan);
    }
}
END_TEST

/* The values of a reduction, and all that is on the device, stay where they were. */
START_TEST(the_rest_stays_in_one_piece)
{
    struct settings settings = scattered_settings("scale,sum", &shapes[5]);
    struct plan plan = test_built(&settings);
    for (enum buffer b = 0; b < BUFFER_COUNT; b++) {
        const struct range range = {b, 8, 4};
        const bool apart = b == BUFFER_HOST_IN0 || b == BUFFER_HOST_IN1;
        ck_assert_int_eq(host_layout_is_scattered(&plan, b), apart);
        if (!apart)
            ck_assert_uint_eq(host_layout_offset(&plan, &range), 8);
        if (b != BUFFER_HOST_IN0)
            ck_assert_uint_eq(host_layout_bytes(&plan, b), plan.buffer_bytes[b]);
    }
    plan_free(&plan);
    settings.scatter = false;
    plan = test_built(&settings);
    ck_assert_ptr_null(plan.places);
    for (enum buffer b = 0; b < BUFFER_COUNT; b++)
        ck_assert(!host_layout_is_scattered(&plan, b));
    plan_free(&plan);
}
END_TEST

/* --- arrays --- */

struct filled {
    struct settings settings;
    struct plan plan;
    struct arrays arrays;
};

static struct filled *fill(const char *chain, const struct shape *shape)
{
    struct filled *filled = calloc(1, sizeof *filled);
    ck_assert_ptr_nonnull(filled);
    filled->settings = scattered_settings(chain, shape);
    filled->plan = test_built(&filled->settings);
    ck_assert_msg(arrays_create(&filled->arrays, &filled->plan, &filled->settings, &error) ==
                      STATUS_OK,
                  "%s", error.text);
    arrays_poison(&filled->arrays);
    return filled;
}

static void drop(struct filled *filled)
{
    arrays_free(&filled->arrays);
    plan_free(&filled->plan);
    free(filled);
}

/* Writes something into every element of the output: the first input, which holds no poison. */
static void copy_tiles(const struct filled *filled)
{
    for (uint32_t tile = 0; tile < filled->plan.tiles; tile++) {
        const struct range in = host_layout_piece(&filled->plan, BUFFER_HOST_IN0, tile);
        const struct range out = host_layout_piece(&filled->plan, BUFFER_HOST_OUT, tile);
        memcpy(arrays_at(&filled->arrays, &out), arrays_at(&filled->arrays, &in), in.bytes);
    }
}

START_TEST(inputs_are_the_same_wherever_they_lie)
{
    struct filled *filled = fill("wave", &shapes[_i]);
    const uint64_t count = filled->plan.elements;
    float *expected = calloc(count, sizeof *expected);
    ck_assert_ptr_nonnull(expected);
    for (int which = 0; which < 2; which++) {
        const enum buffer buffer = which == 0 ? BUFFER_HOST_IN0 : BUFFER_HOST_IN1;
        ck_assert_uint_eq(filled->arrays.bytes[buffer],
                          host_layout_bytes(&filled->plan, buffer));
        ck_assert_uint_ge(filled->arrays.mapped[buffer], filled->arrays.bytes[buffer]);
        arrays_generate(DTYPE_F32, filled->settings.seed, which, 0, count, expected);
        for (uint64_t i = 0; i < count; i++)
            ck_assert_mem_eq(arrays_at(&filled->arrays, &(struct range){buffer, 4 * i, 4}),
                             &expected[i], 4);
    }
    free(expected);
    drop(filled);
}
END_TEST

/* The first element that is unwritten is the first in the array, not in memory. */
START_TEST(poison_is_found_in_the_order_of_tiles)
{
    struct filled *filled = fill("scale", &shapes[_i]);
    const struct plan *plan = &filled->plan;
    ck_assert_uint_eq(arrays_find_poison(&filled->arrays, 4, plan->elements), 0);
    copy_tiles(filled);
    ck_assert_uint_eq(arrays_find_poison(&filled->arrays, 4, plan->elements), plan->elements);
    for (uint64_t i = plan->elements; i > 0; i -= 1 + i / 5) {
        const struct range element = {BUFFER_HOST_OUT, 4 * (i - 1), 4};
        arrays_fill_poison(&filled->arrays, arrays_at(&filled->arrays, &element), 4, true);
        ck_assert_uint_eq(arrays_find_poison(&filled->arrays, 4, plan->elements), i - 1);
    }
    drop(filled);
}
END_TEST

/* One word of any gap that is written is found, with the tile that it lies behind; a new poison
 * makes gaps whole again. */
START_TEST(a_write_beside_a_tile_is_found)
{
    struct filled *filled = fill("wave", &shapes[_i]);
    const struct plan *plan = &filled->plan;
    const uint32_t step = 1 + plan->tiles / 15;
    char expected[64];
    ck_assert_int_eq(arrays_check_gaps(&filled->arrays, &error), STATUS_OK);
    for (uint32_t tile = 0; tile < plan->tiles; tile += step) {
        const enum buffer buffer = scattered[tile / step % SCATTERED];
        const struct range range = host_layout_piece(plan, buffer, tile);
        const uint64_t gap = (host_layout_pitch(plan, buffer) - range.bytes) / 4;
        const uint64_t words[] = {0, gap / 2, gap - 1};
        uint32_t *behind =
            (uint32_t *)((char *)arrays_at(&filled->arrays, &range) + range.bytes);
        for (int i = 0; i < 3; i++) {
            behind[words[i]] ^= 1u << (tile + (uint32_t)i) % 32;
            error_clear(&error);
            ck_assert_int_eq(arrays_check_gaps(&filled->arrays, &error), STATUS_FAILED);
            snprintf(expected, sizeof expected,
                     "tile %" PRIu32 ": bytes %" PRIu64 " to %" PRIu64 " behind", tile,
                     4 * words[i], 4 * words[i] + 4);
            ck_assert_msg(strstr(error.text, expected) != NULL, "%s: no %s", error.text,
                          expected);
            ck_assert_ptr_nonnull(strstr(error.text, buffer_name(buffer)));
            arrays_poison(&filled->arrays);
            ck_assert_int_eq(arrays_check_gaps(&filled->arrays, &error), STATUS_OK);
        }
    }
    drop(filled);
}
END_TEST

/* The whole gap behind a tile, copied over that behind another one, shows. */
START_TEST(gaps_are_not_alike)
{
    struct filled *filled = fill("scale", &shapes[6]);
    struct range one = host_layout_piece(&filled->plan, BUFFER_HOST_OUT, 3);
    struct range other = host_layout_piece(&filled->plan, BUFFER_HOST_OUT, 4);
    memcpy((char *)arrays_at(&filled->arrays, &one) + one.bytes,
           (char *)arrays_at(&filled->arrays, &other) + other.bytes, HOST_GAP_BYTES);
    error_clear(&error);
    ck_assert_int_eq(arrays_check_gaps(&filled->arrays, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "tile 3: bytes 0 to 256 behind its end in host."));
    drop(filled);
}
END_TEST

Suite *scatter_suite(void)
{
    Suite *suite = suite_create("scatter");
    TCase *places = tcase_create("places"), *memory = tcase_create("memory"),
          *arrays = tcase_create("arrays");
    tcase_add_test(places, places_are_a_permutation);
    tcase_add_test(places, every_permutation_is_as_likely);
    tcase_add_test(places, neighbours_are_rarely_neighbours);
    tcase_add_loop_test(memory, tiles_lie_apart, 0, SHAPES);
    tcase_add_loop_test(memory, an_element_is_in_its_tile, 0, SHAPES);
    tcase_add_loop_test(memory, a_walk_covers_a_range, 0, SHAPES);
    tcase_add_test(memory, the_rest_stays_in_one_piece);
    tcase_add_loop_test(arrays, inputs_are_the_same_wherever_they_lie, 0, SHAPES);
    tcase_add_loop_test(arrays, poison_is_found_in_the_order_of_tiles, 0, SHAPES);
    tcase_add_loop_test(arrays, a_write_beside_a_tile_is_found, 0, SHAPES);
    tcase_add_test(arrays, gaps_are_not_alike);
    suite_add_tcase(suite, places);
    suite_add_tcase(suite, memory);
    suite_add_tcase(suite, arrays);
    return suite;
}
