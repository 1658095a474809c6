/* check_arrays.c - host memory, generated data and input files. */
#include "run/arrays.h"

#include "suites.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static struct error error;

START_TEST(available_memory_is_known)
{
    const uint64_t physical =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    ck_assert_uint_gt(host_memory_available(), MIB);
    ck_assert_uint_le(host_memory_available(), physical);
}
END_TEST

static const uint64_t sizes[] = {1,       4095,        4096,        4097,   2 * MIB - 1,
                                 2 * MIB, 2 * MIB + 1, 4 * MIB + 5, 9 * MIB};

START_TEST(memory_is_mapped_zeroed_and_touched)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    for (int huge = 0; huge < 2; huge++) {
        const uint64_t bytes = sizes[_i];
        uint64_t mapped = 0;
        char *memory = host_map(bytes, huge, &mapped);
        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_ge(mapped, bytes);
        ck_assert_uint_eq(mapped % page, 0);
        ck_assert_uint_lt(mapped - bytes, huge && bytes >= 2 * MIB ? 2 * MIB : page);
        const uint64_t alignment = huge && bytes >= 2 * MIB ? 2 * MIB : page;
        ck_assert_uint_eq((uintptr_t)memory % alignment, 0);
        unsigned char *resident = malloc(mapped / page);
        ck_assert_ptr_nonnull(resident);
        ck_assert_int_eq(mincore(memory, mapped, resident), 0);
        uint64_t touched = 0, zero = 0;
        while (touched < mapped / page && resident[touched] & 1)
            touched++;
        ck_assert_uint_eq(touched, mapped / page);
        free(resident);
        while (zero < mapped && memory[zero] == 0)
            zero++;
        ck_assert_uint_eq(zero, mapped);
        memset(memory, 1, mapped);
        host_unmap(memory, mapped);
    }
}
END_TEST

static uint64_t address_pages(void)
{
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%" SCNu64, &pages), 1);
    fclose(file);
    return pages;
}

/* Returns by how many pages the process has grown over a hundred arrays. */
static uint64_t pages_of_arrays(void)
{
    uint64_t mapped, before = 0;
    for (int i = 0; i < 100; i++) {
        char *memory = host_map(2 * MIB + 1, true, &mapped);
        ck_assert_ptr_nonnull(memory);
        host_unmap(memory, mapped);
        if (i == 0) /* the other cores' stacks are there now */
            before = address_pages();
    }
    const uint64_t after = address_pages();
    return after > before ? after - before : 0;
}

/* A page that is left behind is left behind each time; what a checker of memory takes for
 * itself in between, some MiB at once, is not. */
START_TEST(unmapping_gives_everything_back)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 3 && least >= 99; i++) {
        uint64_t pages = pages_of_arrays();
        least = pages < least ? pages : least;
    }
    ck_assert_uint_lt(least, 99);
}
END_TEST

START_TEST(more_memory_than_addresses_is_refused)
{
    static const uint64_t too_much[] = {UINT64_MAX, UINT64_MAX - 4096, UINT64_MAX / 2,
                                        (uint64_t)1 << 62, (uint64_t)1 << 48};
    for (int huge = 0; huge < 2; huge++) {
        uint64_t mapped = 77;
        ck_assert_ptr_null(host_map(too_much[_i], huge, &mapped));
        ck_assert_uint_eq(mapped, 77);
    }
}
END_TEST

/* Computed by another implementation of the same formula, whose splitmix64 gives the sequence
 * 6457827717110365317, 3203168211198807973, ... for the seed 1234567, as its authors' does. */
static const struct {
    uint64_t seed;
    int which;
    uint64_t index;
    int32_t i32;
    float f32;
} known[] = {
    {0, 0, 0, 2065550767, -0x1.388cc0p-5f},
    {0, 0, 1, -501176263, 0x1.8882a0p-1f},
    {0, 1, 0, -574433422, 0x1.770b5cp-1f},
    {1, 0, 0, -76062353, 0x1.eddd84p-1f},
    {1, 0, 1, 1099018578, -0x1.f3f278p-2f},
    {42, 1, ((uint64_t)1 << 33) + 7, 276278622, -0x1.be214cp-1f},
    {UINT64_MAX, 0, 5, 639564346, -0x1.678418p-1f},
};

START_TEST(generated_elements_are_the_known_ones)
{
    int32_t i32;
    float f32;
    double f64;
    arrays_generate(DTYPE_F64, known[_i].seed, known[_i].which, known[_i].index, 1, &f64);
    arrays_generate(DTYPE_I32, known[_i].seed, known[_i].which, known[_i].index, 1, &i32);
    arrays_generate(DTYPE_F32, known[_i].seed, known[_i].which, known[_i].index, 1, &f32);
    ck_assert_int_eq(i32, known[_i].i32);
    ck_assert_float_eq(f32, known[_i].f32);
    ck_assert_double_eq(f64, (uint32_t)known[_i].i32 * 0x1p-31 - 1);
}
END_TEST

enum { MANY = 100000 };

static float *generated(uint64_t seed, int which, uint64_t first, uint64_t count)
{
    float *data = malloc(count * sizeof *data);
    ck_assert_ptr_nonnull(data);
    arrays_generate(DTYPE_F32, seed, which, first, count, data);
    return data;
}

START_TEST(generated_floats_are_uniform)
{
    float *data = generated(9, 0, 0, MANY);
    int buckets[16] = {0};
    int inside = 0;
    while (inside < MANY && data[inside] >= -1 && data[inside] < 1)
        buckets[(int)((data[inside++] + 1) * 8)]++;
    ck_assert_int_eq(inside, MANY);
    for (int i = 0; i < 16; i++) /* six times the deviation */
        ck_assert_int_lt(abs(buckets[i] - MANY / 16), 460);
    free(data);
}
END_TEST

START_TEST(any_part_is_the_same_as_in_the_whole)
{
    enum { WHOLE = 70 };
    const uint64_t start = 1001;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        unsigned char whole[WHOLE * sizeof(double)], part[sizeof whole + 1];
        const size_t size = dtype_bytes(dtype);
        arrays_generate(dtype, 5, 1, start, WHOLE, whole);
        for (uint64_t first = 0; first < WHOLE; first++) {
            for (uint64_t count = 0; first + count <= WHOLE; count++) {
                part[count * size] = 0xAB;
                arrays_generate(dtype, 5, 1, start + first, count, part);
                ck_assert_mem_eq(part, whole + first * size, count * size);
                ck_assert_uint_eq(part[count * size], 0xAB);
            }
        }
    }
}
END_TEST

START_TEST(the_number_of_cores_changes_nothing)
{
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    float *one = generated(3, 0, 1, MANY);
    omp_set_num_threads(3);
    float *three = generated(3, 0, 1, MANY);
    omp_set_num_threads(before);
    ck_assert_mem_eq(one, three, MANY * sizeof *one);
    free(one);
    free(three);
}
END_TEST

static int equal_elements(const float *a, const float *b, int count)
{
    int equal = 0;
    for (int i = 0; i < count; i++)
        equal += a[i] == b[i];
    return equal;
}

START_TEST(tiles_seeds_and_arrays_differ)
{
    float *data = generated(7, 0, 0, 2 * MANY);
    float *seed = generated(8, 0, 0, MANY);
    float *second = generated(7, 1, 0, MANY);
    ck_assert_int_lt(equal_elements(data, seed, MANY), 3);
    ck_assert_int_lt(equal_elements(data, second, MANY), 3);
    for (int shift = 1; shift < MANY; shift = shift * 3 + 1) {
        ck_assert_int_lt(equal_elements(data, data + shift, MANY), 3);
        ck_assert_int_lt(equal_elements(data + shift, seed, MANY), 3);
    }
    free(second);
    free(seed);
    free(data);
}
END_TEST

static int nans(const float *data, int count)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += isnan(data[i]) != 0;
    return found;
}

#define KERNEL(SHAPE, INPUTS, TYPE)                                                            \
    {                                                                                          \
        .name = "test", .shape = (SHAPE), .inputs = (INPUTS), .in = (TYPE), .out = (TYPE)      \
    }
static const struct kernel one_input = KERNEL(KERNEL_MAP, 1, DTYPE_F32);
static const struct kernel two_inputs = KERNEL(KERNEL_MAP, 2, DTYPE_F32);
static const struct kernel reduction = KERNEL(KERNEL_REDUCE, 1, DTYPE_F32);
static const struct kernel integers = KERNEL(KERNEL_MAP, 1, DTYPE_I32);

enum { ELEMENTS = 5000, TILES = 7 };

static struct plan plan_of(const struct kernel *first, const struct kernel *last)
{
    struct plan plan = {.tiles = TILES, .elements = ELEMENTS, .chain = {first, last}};
    plan.chain_length = last == NULL ? 1 : 2;
    if (last == NULL)
        last = first;
    plan.buffer_bytes[BUFFER_HOST_IN0] = ELEMENTS * 4;
    plan.buffer_bytes[BUFFER_HOST_IN1] = first->inputs > 1 ? ELEMENTS * 4 : 0;
    plan.buffer_bytes[BUFFER_HOST_OUT] = (last->shape == KERNEL_REDUCE ? TILES : ELEMENTS) * 4;
    return plan;
}

static void create(struct arrays *arrays, const struct plan *plan,
                   const struct settings *settings)
{
    error_clear(&error);
    ck_assert_msg(arrays_create(arrays, plan, settings, &error) == STATUS_OK, "%s", error.text);
    for (int i = 0; i < BUFFER_FIRST_DEVICE; i++) {
        ck_assert_uint_eq(arrays->bytes[i], plan->buffer_bytes[i]);
        ck_assert((arrays->host[i] == NULL) == (plan->buffer_bytes[i] == 0));
        ck_assert_uint_ge(arrays->mapped[i], arrays->bytes[i]);
    }
    arrays_poison(arrays);
}

static void assert_free(struct arrays *arrays)
{
    for (int round = 0; round < 2; round++) {
        arrays_free(arrays);
        for (int i = 0; i < BUFFER_FIRST_DEVICE; i++) {
            ck_assert_ptr_null(arrays->host[i]);
            ck_assert_uint_eq(arrays->bytes[i], 0);
            ck_assert_uint_eq(arrays->mapped[i], 0);
        }
    }
}

static const enum memory memories[] = {MEMORY_PINNED, MEMORY_PAGEABLE, MEMORY_REGISTERED,
                                       MEMORY_MAPPED};

START_TEST(a_map_has_an_input_and_a_poisoned_output)
{
    const struct plan plan = plan_of(&one_input, NULL);
    const struct settings settings = {.seed = 3, .memory = memories[_i]};
    struct arrays arrays;
    create(&arrays, &plan, &settings);
    float *expected = generated(3, 0, 0, ELEMENTS);
    ck_assert_mem_eq(arrays.host[BUFFER_HOST_IN0], expected, ELEMENTS * 4);
    ck_assert_int_eq(nans(arrays.host[BUFFER_HOST_OUT], ELEMENTS), ELEMENTS);
    memset(arrays.host[BUFFER_HOST_OUT], 0, ELEMENTS * 4); /* a former result */
    arrays_poison(&arrays);
    ck_assert_int_eq(nans(arrays.host[BUFFER_HOST_OUT], ELEMENTS), ELEMENTS);
    ck_assert_mem_eq(arrays.host[BUFFER_HOST_IN0], expected, ELEMENTS * 4);
    free(expected);
    assert_free(&arrays);
    arrays_poison(&arrays); /* no output: nothing to do */
}
END_TEST

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = -2; /* . and .. */
    ck_assert_ptr_nonnull(tasks);
    while (readdir(tasks) != NULL)
        count++;
    closedir(tasks);
    return count;
}

/* A team goes on to spin, which a run must not meet: so memory can be filled without one. */
START_TEST(poison_is_filled_with_a_team_or_without)
{
    const uint64_t bytes = 4 * MIB;
    uint64_t mapped;
    uint32_t *memory = host_map(bytes, false, &mapped);
    const struct arrays arrays = {.poison = 0x7FC00001};
    const int cores = omp_get_max_threads();
    ck_assert_ptr_nonnull(memory);
    omp_set_num_threads(2);
    for (int team = 0; team < 2; team++) {
        memset(memory, 0, bytes);
        omp_pause_resource_all(omp_pause_soft);
        const int before = count_threads();
        arrays_fill_poison(&arrays, memory, bytes, team);
        ck_assert_int_eq(count_threads(), before + team);
        for (uint64_t i = 0; i < bytes / 4; i++)
            ck_assert_uint_eq(memory[i], arrays.poison);
    }
    omp_set_num_threads(cores);
    host_unmap(memory, mapped);
}
END_TEST

START_TEST(two_inputs_are_both_generated)
{
    const struct plan plan = plan_of(&two_inputs, &one_input);
    const struct settings settings = {.seed = 4};
    struct arrays arrays;
    create(&arrays, &plan, &settings);
    for (int which = 0; which < 2; which++) {
        float *expected = generated(4, which, 0, ELEMENTS);
        ck_assert_mem_eq(arrays.host[BUFFER_HOST_IN0 + which], expected, ELEMENTS * 4);
        free(expected);
    }
    assert_free(&arrays);
}
END_TEST

START_TEST(a_reduction_has_an_output_per_tile)
{
    const struct plan plan = plan_of(&one_input, &reduction);
    const struct settings settings = {.seed = 4};
    struct arrays arrays;
    create(&arrays, &plan, &settings);
    ck_assert_uint_eq(arrays.bytes[BUFFER_HOST_OUT], TILES * 4);
    ck_assert_int_eq(nans(arrays.host[BUFFER_HOST_OUT], TILES), TILES);
    assert_free(&arrays);
}
END_TEST

START_TEST(integers_are_generated_and_poisoned)
{
    const struct plan plan = plan_of(&integers, NULL);
    const struct settings settings = {.seed = 4};
    struct arrays arrays;
    create(&arrays, &plan, &settings);
    int32_t expected[ELEMENTS];
    arrays_generate(DTYPE_I32, 4, 0, 0, ELEMENTS, expected);
    ck_assert_mem_eq(arrays.host[BUFFER_HOST_IN0], expected, sizeof expected);
    const int32_t *out = arrays.host[BUFFER_HOST_OUT];
    for (int i = 0; i < ELEMENTS; i++)
        ck_assert(out[i] == out[0] && abs(out[i]) > 1 << 30);
    assert_free(&arrays);
}
END_TEST

static char path[64];

/* Writes `count` elements 0, 1, 2, ... to a file of its own. */
static void write_input(int npy, enum dtype dtype, uint64_t count)
{
    snprintf(path, sizeof path, "/tmp/check_arrays.XXXXXX%s", npy ? ".npy" : "");
    const int fd = mkstemps(path, npy ? 4 : 0);
    FILE *stream = fdopen(fd, "wb");
    uint32_t *data = malloc(count * 4);
    ck_assert(stream != NULL && data != NULL);
    for (uint64_t i = 0; i < count; i++) {
        if (dtype == DTYPE_F32)
            ((float *)data)[i] = (float)i;
        else
            ((int32_t *)data)[i] = (int32_t)i;
    }
    ck_assert_int_eq(array_file_write(stream, path, npy, &(struct array_file){dtype, count, 0},
                                      0, count, data, &error),
                     STATUS_OK);
    ck_assert_int_eq(fclose(stream), 0);
    free(data);
}

START_TEST(an_input_file_fills_the_first_array)
{
    write_input(_i, DTYPE_F32, ELEMENTS);
    const struct plan plan = plan_of(&two_inputs, NULL);
    const struct settings settings = {.seed = 5, .input = path};
    struct arrays arrays;
    create(&arrays, &plan, &settings);
    unlink(path);
    for (int i = 0; i < ELEMENTS; i++)
        ck_assert_float_eq(((const float *)arrays.host[BUFFER_HOST_IN0])[i], (float)i);
    float *second = generated(5, 1, 0, ELEMENTS);
    ck_assert_mem_eq(arrays.host[BUFFER_HOST_IN1], second, ELEMENTS * 4);
    free(second);
    assert_free(&arrays);
}
END_TEST

START_TEST(a_large_input_file_is_read_whole)
{
    const uint64_t count = ((uint64_t)9 << 20) + 3; /* more than two of its reads */
    write_input(1, DTYPE_I32, count);
    struct plan plan = plan_of(&integers, NULL);
    plan.elements = count;
    plan.buffer_bytes[BUFFER_HOST_IN0] = plan.buffer_bytes[BUFFER_HOST_OUT] = count * 4;
    const struct settings settings = {.input = path};
    struct arrays arrays;
    create(&arrays, &plan, &settings);
    unlink(path);
    const int32_t *in = arrays.host[BUFFER_HOST_IN0];
    uint64_t right = 0;
    while (right < count && in[right] == (int32_t)right)
        right++;
    ck_assert_uint_eq(right, count);
    assert_free(&arrays);
}
END_TEST

static void assert_not_created(const struct plan *plan, const struct settings *settings,
                               enum status status, const char *text)
{
    struct arrays arrays;
    memset(&arrays, 0x5A, sizeof arrays);
    const struct arrays before = arrays;
    error_clear(&error);
    ck_assert_int_eq(arrays_create(&arrays, plan, settings, &error), status);
    ck_assert_int_eq(error.status, status);
    ck_assert_msg(strstr(error.text, text) != NULL, "'%s' does not say '%s'", error.text, text);
    ck_assert_mem_eq(&arrays, &before, sizeof arrays);
}

START_TEST(an_input_file_must_have_as_many_elements)
{
    static const uint64_t counts[] = {1, ELEMENTS - 1, ELEMENTS + 1};
    const struct plan plan = plan_of(&one_input, NULL);
    const struct settings settings = {.input = path};
    for (int npy = 0; npy < 2; npy++) {
        char text[96];
        write_input(npy, DTYPE_F32, counts[_i]);
        snprintf(text, sizeof text, "holds %" PRIu64 " elements; this run has 5000",
                 counts[_i]);
        assert_not_created(&plan, &settings, STATUS_USAGE, text);
        ck_assert_ptr_nonnull(strstr(error.text, path));
        unlink(path);
    }
}
END_TEST

START_TEST(an_input_file_must_have_the_type_of_the_first_kernel)
{
    const struct plan plan = plan_of(&one_input, NULL);
    const struct settings settings = {.input = path};
    write_input(1, DTYPE_I32, ELEMENTS);
    assert_not_created(&plan, &settings, STATUS_USAGE, "type '<i4'; allowed is '<f4'");
    unlink(path);
    assert_not_created(&plan, &settings, STATUS_USAGE, "No such file or directory");
}
END_TEST

START_TEST(arrays_that_do_not_fit_say_how_much_is_needed)
{
    static const struct {
        uint64_t in, out;
        const char *text;
    } cases[] = {
        {(uint64_t)1 << 50, 4096, "the arrays need 1 PiB of host memory and "},
        {(uint64_t)1 << 47, (uint64_t)1 << 47, "the arrays need 256 TiB of host memory and "},
        {(uint64_t)1 << 63, (uint64_t)1 << 63, "the arrays need 16 EiB of host memory and "},
    };
    struct plan plan = plan_of(&one_input, NULL);
    plan.buffer_bytes[BUFFER_HOST_IN0] = cases[_i].in;
    plan.buffer_bytes[BUFFER_HOST_OUT] = cases[_i].out;
    const struct settings settings = {.seed = 1};
    assert_not_created(&plan, &settings, STATUS_NO_MEMORY, cases[_i].text);
    ck_assert_ptr_nonnull(strstr(error.text, "B are available"));
}
END_TEST

START_TEST(a_failure_gives_back_what_was_taken)
{
    struct plan plan = plan_of(&one_input, NULL);
    plan.buffer_bytes[BUFFER_HOST_IN0] = 32 * MIB;
    plan.buffer_bytes[BUFFER_HOST_OUT] = 128 * MIB;
    const struct settings settings = {.seed = 1};
    const uint64_t pages = address_pages();
    struct rlimit before, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = pages * (uint64_t)sysconf(_SC_PAGESIZE) + 64 * MIB;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    assert_not_created(&plan, &settings, STATUS_NO_MEMORY,
                       "the arrays need 160 MiB of host memory, which can't be had: ");
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
    ck_assert_uint_lt(address_pages(), pages + 1000);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

Suite *arrays_suite(void)
{
    Suite *suite = suite_create("arrays");
    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, available_memory_is_known);
    tcase_add_loop_test(memory, memory_is_mapped_zeroed_and_touched, 0, ROWS(sizes));
    tcase_add_test(memory, unmapping_gives_everything_back);
    tcase_add_loop_test(memory, more_memory_than_addresses_is_refused, 0, 5);
    tcase_set_timeout(memory, 60);
    suite_add_tcase(suite, memory);

    TCase *data = tcase_create("data");
    tcase_add_loop_test(data, generated_elements_are_the_known_ones, 0, ROWS(known));
    tcase_add_test(data, generated_floats_are_uniform);
    tcase_add_test(data, any_part_is_the_same_as_in_the_whole);
    tcase_add_test(data, the_number_of_cores_changes_nothing);
    tcase_add_test(data, tiles_seeds_and_arrays_differ);
    tcase_set_timeout(data, 60);
    suite_add_tcase(suite, data);

    TCase *create_free = tcase_create("create and free");
    tcase_add_loop_test(create_free, a_map_has_an_input_and_a_poisoned_output, 0,
                        ROWS(memories));
    tcase_add_test(create_free, poison_is_filled_with_a_team_or_without);
    tcase_add_test(create_free, two_inputs_are_both_generated);
    tcase_add_test(create_free, a_reduction_has_an_output_per_tile);
    tcase_add_test(create_free, integers_are_generated_and_poisoned);
    tcase_add_loop_test(create_free, an_input_file_fills_the_first_array, 0, 2);
    tcase_add_test(create_free, a_large_input_file_is_read_whole);
    tcase_add_loop_test(create_free, an_input_file_must_have_as_many_elements, 0, 3);
    tcase_add_test(create_free, an_input_file_must_have_the_type_of_the_first_kernel);
    tcase_add_loop_test(create_free, arrays_that_do_not_fit_say_how_much_is_needed, 0, 3);
    tcase_add_test(create_free, a_failure_gives_back_what_was_taken);
    tcase_set_timeout(create_free, 60);
    suite_add_tcase(suite, create_free);
    return suite;
}
