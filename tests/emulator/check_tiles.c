/* check_tiles.c - launches over several tiles on the emulator. */
#include "check_launchers.h"

#include "cpu/grid.h"
#include "fixtures.h"
#include "tiles_cases.h"

#include <stdlib.h>
#include <string.h>

static void *take(uint64_t bytes)
{
    return aligned_alloc(256, (bytes / 256 + 1) * 256);
}

static const struct tiles_device device = {take, free, emulator_fault};

/* Each case is tried in two of these orders. */
static void set_order(uint32_t i)
{
    static const uint32_t live[] = {1, 2, 3, 8};
    grid_set_order((enum grid_next)(i % NEXT_COUNT), live[i % 4], i);
}

START_TEST(test_tiles)
{
    const struct kernel *kernel = &kernel_table[_i];
    const struct kernel_launcher *launcher = kernel_launcher(kernel);
    const uint32_t step = test_cases(100) < 100 ? 4 : 1;
    ck_assert_msg((launcher->launch_tiles != NULL) == kernel_is_elementwise(kernel),
                  "%s: a kernel has launch_tiles if it is elementwise, and only then",
                  kernel->name);
    for (uint32_t i = 0; launcher->launch_tiles != NULL && i < tiles_case_count(); i += step)
        for (uint32_t order = 0; order < 2; order++) {
            char text[TILES_TEXT];
            const struct tiles_case which = tiles_case_at(i);
            set_order(i + 1 + order);
            ck_assert_msg(tiles_are_right(kernel, launcher, &which, &device, text), "%s", text);
        }
}
END_TEST

/* ---- wrong launchers ---- */

static int right(const struct kernel_args *args, const struct kernel_tile *tiles,
                 uint32_t tile_count, void *stream)
{
    return kernel_launcher(kernel_find("scale"))->launch_tiles(args, tiles, tile_count, stream);
}

static int leaves_out_a_tile(const struct kernel_args *args, const struct kernel_tile *tiles,
                             uint32_t tile_count, void *stream)
{
    return right(args, tiles + 1, tile_count - 1, stream);
}

/* Launches with another table: the last tile has `more` elements more. */
static int with_more(const struct kernel_args *args, const struct kernel_tile *tiles,
                     uint32_t tile_count, void *stream, uint64_t more)
{
    struct kernel_tile *last = (struct kernel_tile *)tiles + tile_count - 1;
    last->count += more;
    const int result = right(args, tiles, tile_count, stream);
    last->count -= more;
    return result;
}

static int leaves_out_an_element(const struct kernel_args *args,
                                 const struct kernel_tile *tiles, uint32_t tile_count,
                                 void *stream)
{
    return with_more(args, tiles, tile_count, stream, UINT64_MAX);
}

static int writes_behind_a_tile(const struct kernel_args *args, const struct kernel_tile *tiles,
                                uint32_t tile_count, void *stream)
{
    return with_more(args, tiles, tile_count, stream, 1);
}

static int writes_the_table(const struct kernel_args *args, const struct kernel_tile *tiles,
                            uint32_t tile_count, void *stream)
{
    const int result = right(args, tiles, tile_count, stream);
    ((struct kernel_tile *)tiles)->out = NULL;
    return result;
}

static int refuses(const struct kernel_args *args, const struct kernel_tile *tiles,
                   uint32_t tile_count, void *stream)
{
    (void)args;
    (void)tiles;
    (void)tile_count;
    (void)stream;
    return 1;
}

START_TEST(test_wrong_tiles)
{
    static const struct {
        struct kernel_launcher launcher;
        const char *kernel, *word; /* what the launcher is taken for; "": it is right */
    } rows[] = {
        {{.launch_tiles = right}, "scale", ""},
        {{.launch_tiles = leaves_out_a_tile}, "scale", "of tile 0"},
        {{.launch_tiles = leaves_out_an_element}, "scale", "element 99 of 100"},
        {{.launch_tiles = writes_behind_a_tile}, "scale", "wrote outside"},
        {{.launch_tiles = writes_the_table}, "scale", "wrote outside"},
        {{.launch_tiles = refuses}, "scale", "not launched"},
        {{.launch_tiles = right}, "uniform", "element 32 of 100"},
        {{.launch_tiles = right}, "divergent", "element 1 of 100"},
    };
    const struct tiles_case which = {.tiles = 5, .count = 100, .intensity = 1, .blocks = 3};
    set_order(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[TILES_TEXT] = "";
        const bool passes = tiles_are_right(kernel_find(rows[i].kernel), &rows[i].launcher,
                                            &which, &device, text);
        ck_assert_msg(passes == (*rows[i].word == '\0') && strstr(text, rows[i].word) != NULL,
                      "no \"%s\" in: %s", rows[i].word, text);
    }
}
END_TEST

Suite *tiles_suite(void)
{
    Suite *suite = suite_create("tiles");
    TCase *tiles = tcase_create("tiles");
    int rows = 0;
    while (kernel_table[rows].name != NULL)
        rows++;
    tcase_add_loop_test(tiles, test_tiles, 0, rows);
    tcase_add_test(tiles, test_wrong_tiles);
    suite_add_tcase(suite, tiles);
    return suite;
}
