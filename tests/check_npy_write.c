/* check_npy_write.c - array files as they are written: what numpy writes, and what it reads. */
#include "npy_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Writes what the fixtures f32.npy, i32.npy and f64.npy hold: `count` elements of them. */
static void write_values(const char *path, int npy, enum dtype dtype, uint64_t count)
{
    float *f32 = malloc(count * sizeof *f32);
    int32_t *i32 = malloc(count * sizeof *i32);
    double *f64 = malloc(count * sizeof *f64);
    FILE *stream = fopen(path, "wb");
    ck_assert(f32 != NULL && i32 != NULL && f64 != NULL && stream != NULL);
    for (uint64_t i = 0; i < count; i++) {
        f64[i] = 0.5 * (double)i - 1;
        f32[i] = 0.5f * (float)i - 1;
        i32[i] = 7 * (int32_t)i - 3;
    }
    struct error error = {0};
    const void *const values[DTYPE_COUNT] = {
        [DTYPE_F32] = f32, [DTYPE_I32] = i32, [DTYPE_F64] = f64};
    const void *data = values[dtype];
    ck_assert_msg(array_file_write(stream, path, npy, &(struct array_file){dtype, count, 0}, 0,
                                   count, data, &error) == STATUS_OK,
                  "%s", error.text);
    ck_assert_int_eq(fclose(stream), 0);
    free(f64);
    free(i32);
    free(f32);
}

START_TEST(what_is_written_is_what_numpy_writes)
{
    static const char *const names[] = {
        [DTYPE_F32] = "f32.npy", [DTYPE_I32] = "i32.npy", [DTYPE_F64] = "f64.npy"};
    unsigned char expected[NPY_FILE_MAX], written[NPY_FILE_MAX];
    const size_t size = npy_read_all(npy_fixture(names[_i]), expected);
    const uint64_t count = (size - 128) / dtype_bytes((enum dtype)_i);
    write_values(npy_place("out.npy"), 1, (enum dtype)_i, count);
    ck_assert_uint_eq(npy_read_all(npy_place("out.npy"), written), size);
    ck_assert_mem_eq(written, expected, size);
    write_values(npy_place("out.bin"), 0, (enum dtype)_i, count);
    ck_assert_uint_eq(npy_read_all(npy_place("out.bin"), written), size - 128);
    ck_assert_mem_eq(written, expected + 128, size - 128);
}
END_TEST

START_TEST(written_data_is_aligned_and_reads_back)
{
    for (uint64_t count = 1; count <= 1000000; count *= 10) {
        write_values(npy_place("out.npy"), 1, DTYPE_F32, count);
        struct array_file file = npy_probe(npy_place("out.npy"), DTYPE_F32);
        ck_assert_uint_eq(file.count, count);
        ck_assert_uint_eq(file.data_offset % 64, 0);
        float last = 0;
        struct error error = {0};
        ck_assert_int_eq(
            array_file_read(npy_place("out.npy"), &file, count - 1, 1, &last, &error),
            STATUS_OK);
        ck_assert_float_eq(last, 0.5f * (float)(count - 1) - 1);
    }
}
END_TEST

START_TEST(numpy_loads_what_is_written)
{
    if (system("/usr/bin/python3 -c 'import numpy' >/dev/null 2>&1") != 0) {
        printf("skipped: numpy_loads_what_is_written (no numpy in /usr/bin/python3)\n");
        return;
    }
    static const char *const values[] = {
        [DTYPE_F32] = "0.5 * i - 1", [DTYPE_I32] = "7 * i - 3", [DTYPE_F64] = "0.5 * i - 1"};
    static const char *const codes[] = {
        [DTYPE_F32] = "<f4", [DTYPE_I32] = "<i4", [DTYPE_F64] = "<f8"};
    for (uint64_t count = 1; count <= 100000; count = count * 10 + 3) {
        write_values(npy_place("out.npy"), 1, (enum dtype)_i, count);
        char command[1024];
        snprintf(command, sizeof command,
                 "/usr/bin/python3 -c \"import numpy as n; a = n.load('%s'); "
                 "i = n.arange(%" PRIu64 "); e = (%s).astype('%s'); "
                 "assert a.dtype == e.dtype and a.shape == e.shape and (a == e).all()\"",
                 npy_place("out.npy"), count, values[_i], codes[_i]);
        ck_assert_int_eq(system(command), 0);
    }
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
    static const float data[100000];
    const uint64_t counts[] = {1, 100, 100000};
    for (int i = 0; i < 3; i++) {
        for (int npy = 0; npy < 2; npy++) {
            FILE *stream = fopen("/dev/full", "wb");
            ck_assert_ptr_nonnull(stream);
            struct error error = {0};
            ck_assert_int_eq(array_file_write(stream, "/out/x.npy", npy,
                                              &(struct array_file){DTYPE_F32, counts[i], 0}, 0,
                                              counts[i], data, &error),
                             STATUS_FAILED);
            ck_assert_str_eq(error.text, "cannot write '/out/x.npy': No space left on device");
            fclose(stream);
        }
    }
}
END_TEST

START_TEST(the_ending_says_what_a_path_holds)
{
    ck_assert(array_path_is_npy("x.npy"));
    ck_assert(array_path_is_npy("a/b.bin/x.npy"));
    ck_assert(array_path_is_npy(".npy"));
    ck_assert(!array_path_is_npy(""));
    ck_assert(!array_path_is_npy("npy"));
    ck_assert(!array_path_is_npy("x.npy.bin"));
    ck_assert(!array_path_is_npy("x.npz"));
    ck_assert(!array_path_is_npy("x.NPY"));
}
END_TEST

TCase *npy_write_case(void)
{
    TCase *writing = tcase_create("writing");
    tcase_add_checked_fixture(writing, npy_make_folder, npy_remove_folder);
    tcase_set_timeout(writing, 60); /* numpy is slow to load */
    tcase_add_loop_test(writing, what_is_written_is_what_numpy_writes, 0, DTYPE_COUNT);
    tcase_add_test(writing, written_data_is_aligned_and_reads_back);
    tcase_add_loop_test(writing, numpy_loads_what_is_written, 0, DTYPE_COUNT);
    tcase_add_test(writing, a_full_disk_is_an_error);
    tcase_add_test(writing, the_ending_says_what_a_path_holds);
    return writing;
}
