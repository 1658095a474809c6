/* check_gpu_tiles.c - launches over several tiles on a real device: the emulator's cases and
 * larger ones, with the tiles and their table in mapped memory of the host, and in managed
 * memory, which comes to the device as it is used. */
#include "check_gpu_tiles.h"

#include "tiles_cases.h"

#include <cuda_runtime_api.h>

static void *take_mapped(uint64_t bytes)
{
    void *memory = NULL;
    return cudaHostAlloc(&memory, bytes, cudaHostAllocMapped) == cudaSuccess ? memory : NULL;
}

static void give_back_mapped(void *memory)
{
    cudaFreeHost(memory);
}

static void *take_managed(uint64_t bytes)
{
    void *memory = NULL;
    return cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal) == cudaSuccess ? memory
                                                                                 : NULL;
}

static void give_back_managed(void *memory)
{
    cudaFree(memory);
}

static const char *wait_for_device(void)
{
    const cudaError_t result = cudaDeviceSynchronize();
    return result == cudaSuccess ? NULL : cudaGetErrorString(result);
}

static const struct tiles_device memories[] = {
    {take_mapped, give_back_mapped, wait_for_device},
    {take_managed, give_back_managed, wait_for_device},
};
enum { MEMORIES = sizeof memories / sizeof *memories };

static void must_be_right(const struct kernel *kernel, const struct tiles_case *which)
{
    for (int i = 0; i < MEMORIES; i++) {
        char text[TILES_TEXT];
        ck_assert_msg(
            tiles_are_right(kernel, kernel_launcher(kernel), which, &memories[i], text),
            "%s memory: %s", i == 0 ? "mapped" : "managed", text);
    }
}

START_TEST(test_tiles)
{
    const struct kernel *kernel = &kernel_table[_i];
    if (!kernel_is_elementwise(kernel))
        return;
    for (uint32_t i = 0; i < tiles_case_count(); i++) {
        const struct tiles_case which = tiles_case_at(i);
        must_be_right(kernel, &which);
    }
}
END_TEST

START_TEST(test_large_tiles)
{
    static const struct tiles_case cases[] = {
        {.tiles = 1, .count = 1 << 22, .intensity = 1},
        {.tiles = 1, .count = (1 << 22) + 5, .places = TILES_EVEN, .intensity = 2},
        {.tiles = 4096, .count = 1024, .intensity = 1},
        {.tiles = 4096, .count = 700, .sizes = TILES_DRAWN, .intensity = 1, .in_place = true},
        {.tiles = 100,
         .count = 16384,
         .sizes = TILES_BY_ONE,
         .places = TILES_EVEN,
         .intensity = 3},
        {.tiles = 7,
         .count = 300007,
         .sizes = TILES_BY_ONE,
         .places = TILES_ODD,
         .intensity = 1,
         .blocks = 66},
        {.tiles = 5000,
         .count = 3,
         .places = TILES_ODD,
         .intensity = 1,
         .blocks = KERNEL_BLOCKS_MAX},
    };
    const struct kernel *kernel = &kernel_table[_i];
    for (size_t i = 0; kernel_is_elementwise(kernel) && i < sizeof cases / sizeof *cases; i++)
        must_be_right(kernel, &cases[i]);
}
END_TEST

Suite *gpu_tiles_suite(void)
{
    Suite *suite = suite_create("gpu, several tiles a launch");
    TCase *tiles = tcase_create("tiles");
    int rows = 0;
    while (kernel_table[rows].name != NULL)
        rows++;
    tcase_add_loop_test(tiles, test_tiles, 0, rows);
    tcase_add_loop_test(tiles, test_large_tiles, 0, rows);
    suite_add_tcase(suite, tiles);
    return suite;
}
