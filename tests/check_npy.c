/* check_npy.c - array files: what numpy wrote is read, and everything else is refused in words.
 * tests/data/README.md says how the fixtures were made. */
#include "npy_cases.h"

#include "suites.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes a .npy file of the given version with this header and `data_bytes` zero bytes. */
static const char *write_npy(unsigned major, unsigned minor, const char *header,
                             size_t header_bytes, size_t data_bytes)
{
    const char *path = npy_place("made.npy");
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    fputs("\x93NUMPY", file);
    fputc((int)major, file);
    fputc((int)minor, file);
    for (int i = 0; i < (major == 1 ? 2 : 4); i++)
        fputc((int)(header_bytes >> 8 * i & 0xff), file);
    fwrite(header, 1, header_bytes, file);
    for (size_t i = 0; i < data_bytes; i++)
        fputc(0, file);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

static const char *write_header(const char *header, size_t data_bytes)
{
    return write_npy(1, 0, header, strlen(header), data_bytes);
}

static void assert_refused(const char *path, enum dtype dtype, const char *text)
{
    struct array_file file = {.count = 77};
    struct error error = {0};
    ck_assert_msg(array_file_probe(path, dtype, &file, &error) == STATUS_USAGE,
                  "%s was not refused (%s)", path, text);
    ck_assert_int_eq(error.status, STATUS_USAGE);
    ck_assert_msg(strstr(error.text, text) != NULL, "'%s' does not say '%s'", error.text, text);
    ck_assert_msg(strstr(error.text, path) != NULL, "'%s' does not name the file", error.text);
    ck_assert_ptr_null(strchr(error.text, '\n'));
    ck_assert_uint_eq(file.count, 77);
}

static const struct {
    const char *name;
    enum dtype dtype;
    uint64_t count, data_offset;
} accepted[] = {
    {"f32.npy", DTYPE_F32, 1000, 128},     {"i32.npy", DTYPE_I32, 1000, 128},
    {"f32_scalar.npy", DTYPE_F32, 1, 128}, {"f32_matrix.npy", DTYPE_F32, 12, 128},
    {"f32_column.npy", DTYPE_F32, 6, 128}, {"f32_v2.npy", DTYPE_F32, 10, 128},
    {"f32_v3.npy", DTYPE_F32, 10, 128},    {"f32_fortran_1d.npy", DTYPE_F32, 10, 128},
};

START_TEST(fixtures_that_numpy_wrote_are_read)
{
    const char *path = npy_fixture(accepted[_i].name);
    struct array_file file = npy_probe(path, accepted[_i].dtype);
    ck_assert_uint_eq(file.count, accepted[_i].count);
    ck_assert_uint_eq(file.data_offset, accepted[_i].data_offset);
    union {
        float f32[1000];
        int32_t i32[1000];
    } data;
    struct error error = {0};
    ck_assert_int_eq(array_file_read(path, &file, 0, file.count, &data, &error), STATUS_OK);
    for (int i = 0; i < (int)file.count; i++) {
        if (file.dtype == DTYPE_F32)
            ck_assert_float_eq(data.f32[i], 0.5f * (float)i - 1);
        else
            ck_assert_int_eq(data.i32[i], 7 * i - 3);
    }
}
END_TEST

static const struct {
    const char *name;
    enum dtype dtype;
    const char *text;
} refused[] = {
    {"big_endian.npy", DTYPE_F32, "big-endian elements ('>f4'); allowed is little-endian"},
    {"f64.npy", DTYPE_F32, "type '<f8'; allowed is '<f4' (float32)"},
    {"bool.npy", DTYPE_I32, "type '|b1'; allowed is '<i4' (int32)"},
    {"f32.npy", DTYPE_I32, "type '<f4'; allowed is '<i4' (int32)"},
    {"i32.npy", DTYPE_F32, "type '<i4'; allowed is '<f4' (float32)"},
    {"fortran.npy", DTYPE_F32, "Fortran order; allowed is C order"},
    {"structured.npy", DTYPE_F32, "structured elements; allowed are plain numbers"},
    {"empty.npy", DTYPE_F32, "holds no elements"},
    {"empty_matrix.npy", DTYPE_F32, "holds no elements"},
};

START_TEST(fixtures_of_the_wrong_kind_are_refused)
{
    assert_refused(npy_fixture(refused[_i].name), refused[_i].dtype, refused[_i].text);
}
END_TEST

static const struct {
    const char *header;
    uint64_t count;
} good_headers[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 3},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}\n", 3},
    {"{'shape':(3,),'descr':'<f4','fortran_order':False}", 3},
    {"{\"fortran_order\": False, \"shape\": (3,), \"descr\": \"<f4\"}", 3},
    {" \n\t{ 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 3 , ) , } \r\n", 3},
    {"{'descr': '=f4', 'fortran_order': False, 'shape': (3,)}", 3},
    {"{'descr': 'f4', 'fortran_order': False, 'shape': (3,)}", 3},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 1},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ( )}", 1},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 6},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,)}", 6},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,1,2,1,2,1,2)}", 16},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3L,)}", 3},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': ()}", 1},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (3,)}", 3},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3, 1)}", 3},
};

START_TEST(headers_are_read_however_they_are_written)
{
    const char *header = good_headers[_i].header;
    const uint64_t count = good_headers[_i].count;
    for (unsigned version = 1; version <= 3; version++) {
        struct array_file file =
            npy_probe(write_npy(version, 0, header, strlen(header), count * 4), DTYPE_F32);
        ck_assert_uint_eq(file.count, count);
        ck_assert_uint_eq(file.data_offset, (version == 1 ? 10 : 12) + strlen(header));
    }
}
END_TEST

#define BEFORE "{'descr': '<f4', 'fortran_order': False, 'shape': "

static const struct {
    const char *header, *text;
} bad_headers[] = {
    {"", "'{' is expected at byte 0"},
    {"    \n", "'{' is expected"},
    {"['descr']", "'{' is expected"},
    {"{}", "does not give 'descr'"},
    {"{,}", "a quoted key is expected"},
    {"{", "a quoted key is expected"},
    {"{descr: '<f4'}", "a quoted key is expected"},
    {"{'descr' '<f4'}", "':' is expected"},
    {"{'descr': '<f4' 'shape': (3,)}", "',' or '}' is expected"},
    {"{'descr': '<f4', 'fortran_order': False}", "does not give 'shape'"},
    {"{'descr': '<f4', 'shape': (3,)}", "does not give 'fortran_order'"},
    {"{'shape': (3,), 'fortran_order': False}", "does not give 'descr'"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "twice"},
    {"{'descr': '<f4', 'order': 'C'}", "unknown key 'order'; allowed are descr"},
    {"{'descr': <f4}", "a quoted type is expected"},
    {"{'descr': ('<f4', (2,))}", "a quoted type is expected"},
    {"{'descr': '<f4}", "the end of a quoted text is expected"},
    {"{'descr': '<f4\", 'fortran_order': False, 'shape': (3,)}", "',' or '}' is expected"},
    {"{'descr': '<f4\n', 'fortran_order': False, 'shape': (3,)}", "the end of a quoted text"},
    {"{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (3,)}", "the end of a quoted"},
    {"{'descr': '', 'fortran_order': False, 'shape': (3,)}", "type ''"},
    {"{'descr': '<', 'fortran_order': False, 'shape': (3,)}", "type '<'"},
    {"{'descr': '<f', 'fortran_order': False, 'shape': (3,)}", "type '<f'"},
    {"{'descr': '<f44', 'fortran_order': False, 'shape': (3,)}", "type '<f44'"},
    {"{'descr': '<<f4', 'fortran_order': False, 'shape': (3,)}", "type '<<f4'"},
    {"{'descr': '|f4', 'fortran_order': False, 'shape': (3,)}", "type '|f4'"},
    {"{'descr': '>f8', 'fortran_order': False, 'shape': (3,)}", "type '>f8'"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", "type '|O'"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", "True or False is expected"},
    {"{'descr': '<f4', 'fortran_order': 'False', 'shape': (3,)}", "True or False is expected"},
    {"{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (3,)}", "',' or '}' is expected"},
    {BEFORE "3}", "a tuple is expected"},
    {BEFORE "[3]}", "a tuple is expected"},
    {BEFORE "(3)}", "',' is expected"},
    {BEFORE "(,)}", "a dimension is expected"},
    {BEFORE "(3,,)}", "a dimension is expected"},
    {BEFORE "(3 1)}", "',' is expected"},
    {BEFORE "(3, 1 1)}", "',' or ')' is expected"},
    {BEFORE "(-3,)}", "a dimension is expected"},
    {BEFORE "(3.0,)}", "',' is expected"},
    {BEFORE "(0x3,)}", "',' is expected"},
    {BEFORE "(3,)", "',' or '}' is expected"},
    {BEFORE "(3,", "a dimension is expected"},
    {BEFORE "(3", "',' is expected"},
    {BEFORE "(3,)} x", "nothing more is expected"},
    {BEFORE "(3,)}}", "nothing more is expected"},
    {BEFORE "(2,)}", "its header says 2 elements, the file holds 3 (12 bytes of data)"},
    {BEFORE "(4,)}", "its header says 4 elements, the file holds 3 (12 bytes of data)"},
    {BEFORE "()}", "its header says 1 elements, the file holds 3"},
    {BEFORE "(0,)}", "its header says 0 elements, the file holds 3"},
    {BEFORE "(4611686018427387907,)}", "says 4611686018427387907 elements, the file holds 3"},
    {BEFORE "(18446744073709551615,)}", "says 18446744073709551615 elements"},
    {BEFORE "(18446744073709551616,)}", "more elements than 64 bits can count"},
    {BEFORE "(99999999999999999999999999999,)}", "more elements than 64 bits can count"},
    {BEFORE "(4294967296, 4294967296)}", "more elements than 64 bits can count"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 3)}", "Fortran order"},
};

START_TEST(headers_that_are_not_valid_are_refused)
{
    assert_refused(write_header(bad_headers[_i].header, 12), DTYPE_F32, bad_headers[_i].text);
}
END_TEST

static bool is_printable(const char *text)
{
    while (*text >= ' ' && *text <= '~')
        text++;
    return *text == '\0';
}

START_TEST(a_header_may_hold_any_byte)
{
    char header[] = BEFORE "(3,)}  ";
    for (size_t at = 0; at < sizeof header - 1; at++) {
        for (int byte = 0; byte < 256; byte += 7) {
            char changed[sizeof header];
            memcpy(changed, header, sizeof header);
            changed[at] = (char)byte;
            struct array_file file;
            struct error error = {0};
            const char *path = write_npy(1, 0, changed, sizeof header - 1, 12);
            enum status status = array_file_probe(path, DTYPE_F32, &file, &error);
            ck_assert_int_eq(status, error.status);
            ck_assert(status == STATUS_OK ? file.count == 3 : status == STATUS_USAGE);
            ck_assert_msg(is_printable(error.text), "'%s' is not one line", error.text);
        }
    }
}
END_TEST

START_TEST(what_is_left_of_a_size_is_no_element)
{
    const char *header = BEFORE "(3,)}";
    assert_refused(write_header(header, 13), DTYPE_F32, "holds 3 (13 bytes of data)");
    assert_refused(write_header(header, 11), DTYPE_F32, "holds 2 (11 bytes of data)");
    assert_refused(write_header(header, 0), DTYPE_F32, "holds 0 (0 bytes of data)");
}
END_TEST

START_TEST(versions_that_do_not_exist_are_refused)
{
    static const unsigned versions[][2] = {{0, 0}, {1, 1}, {2, 1}, {4, 0}, {255, 255}};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        const char *header = BEFORE "(3,)}";
        char text[64];
        snprintf(text, sizeof text, "format %u.%u; allowed are 1.0, 2.0 and 3.0",
                 versions[i][0], versions[i][1]);
        assert_refused(write_npy(versions[i][0], versions[i][1], header, strlen(header), 12),
                       DTYPE_F32, text);
    }
}
END_TEST

START_TEST(a_file_cut_anywhere_is_refused)
{
    static const char *const names[] = {"f32_v2.npy", "f32_matrix.npy"};
    unsigned char bytes[NPY_FILE_MAX + 1];
    const size_t size = npy_read_all(npy_fixture(names[_i]), bytes);
    for (size_t cut = 0; cut < size; cut++) {
        npy_write_all(npy_place("cut.npy"), bytes, cut);
        const char *text = cut < 6     ? "is not a .npy file"
                           : cut < 128 ? "ends within its .npy header"
                                       : "its header says";
        assert_refused(npy_place("cut.npy"), DTYPE_F32, text);
    }
    bytes[size] = 0;
    npy_write_all(npy_place("cut.npy"), bytes, size + 1);
    assert_refused(npy_place("cut.npy"), DTYPE_F32, "its header says");
    for (int i = 0; i < 6; i++) {
        bytes[i]++;
        npy_write_all(npy_place("cut.npy"), bytes, size);
        assert_refused(npy_place("cut.npy"), DTYPE_F32, "is not a .npy file");
        bytes[i]--;
    }
}
END_TEST

START_TEST(a_header_of_any_length_is_safe)
{
    char *header = malloc(70000);
    ck_assert_ptr_nonnull(header);
    memset(header, ' ', 70000);
    memcpy(header, BEFORE "(3,)}", strlen(BEFORE "(3,)}"));
    ck_assert_uint_eq(npy_probe(write_npy(1, 0, header, 65535, 12), DTYPE_F32).count, 3);
    ck_assert_uint_eq(npy_probe(write_npy(2, 0, header, 65536, 12), DTYPE_F32).count, 3);
    assert_refused(write_npy(2, 0, header, 65537, 12), DTYPE_F32, "65537 bytes; at most 65536");
    free(header);
    unsigned char longest[] = "\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'";
    npy_write_all(npy_place("long.npy"), longest, sizeof longest - 1);
    assert_refused(npy_place("long.npy"), DTYPE_F32, "ends within its .npy header");
}
END_TEST

START_TEST(raw_files_hold_whole_elements)
{
    const float data[] = {1, 2, 3};
    npy_write_all(npy_place("raw.bin"), data, sizeof data);
    struct array_file file = npy_probe(npy_place("raw.bin"), DTYPE_F32);
    ck_assert_uint_eq(file.count, 3);
    ck_assert_uint_eq(file.data_offset, 0);
    ck_assert_uint_eq(npy_probe(npy_place("raw.bin"), DTYPE_I32).count, 3);
    npy_write_all(npy_place("raw.bin"), data, 11);
    assert_refused(npy_place("raw.bin"), DTYPE_F32,
                   "holds 11 bytes; a raw file must hold one or more whole float32 elements");
    npy_write_all(npy_place("raw.bin"), data, 0);
    assert_refused(npy_place("raw.bin"), DTYPE_F32, "holds 0 bytes; a raw file must hold one");
}
END_TEST

START_TEST(only_regular_files_are_read)
{
    static const char *const names[] = {"x.npy", "x.bin"};
    const char *path = npy_place(names[_i]);
    assert_refused(path, DTYPE_F32, "No such file or directory");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    assert_refused(path, DTYPE_F32, "is a directory; an array file must be a regular file");
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* nobody writes to it: it must not block */
    assert_refused(path, DTYPE_F32, "is a pipe, a device or a socket");
    assert_refused("/dev/null", DTYPE_F32, "is a pipe, a device or a socket");
    assert_refused("", DTYPE_F32, "No such file or directory");
}
END_TEST

START_TEST(a_file_that_may_not_be_read_is_refused)
{
    npy_write_all(npy_place("secret.bin"), "1234", 4);
    ck_assert_int_eq(chmod(npy_place("secret.bin"), 0), 0);
    ck_assert_int_eq(chmod(npy_place(""), 0755), 0);
    const uid_t before = geteuid();
    if (before == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    assert_refused(npy_place("secret.bin"), DTYPE_F32, "Permission denied");
    if (before == 0)
        ck_assert_int_eq(seteuid(before), 0);
}
END_TEST

START_TEST(parts_are_read_from_their_place)
{
    const char *path = npy_fixture("i32.npy");
    struct array_file file = npy_probe(path, DTYPE_I32);
    struct error error = {0};
    for (uint64_t first = 0; first < 1000; first += 97) {
        int32_t data[4] = {0, 0, 0, 42};
        ck_assert_int_eq(array_file_read(path, &file, first, 3, data, &error), STATUS_OK);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(data[i], 7 * ((int)first + i) - 3);
        ck_assert_int_eq(data[3], 42);
    }
}
END_TEST

START_TEST(offsets_have_64_bits)
{
    const uint64_t bytes = (uint64_t)5 << 30; /* mostly a hole */
    const char *path = npy_place("large.bin");
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    const int32_t last[2] = {123, 456};
    ck_assert_int_eq(pwrite(fd, last, sizeof last, (off_t)(bytes - 8)), 8);
    close(fd);
    struct array_file file = npy_probe(path, DTYPE_I32);
    ck_assert_uint_eq(file.count, bytes / 4);
    int32_t data[3];
    struct error error = {0};
    ck_assert_int_eq(array_file_read(path, &file, file.count - 3, 3, data, &error), STATUS_OK);
    ck_assert_int_eq(data[0], 0);
    ck_assert_int_eq(data[1], 123);
    ck_assert_int_eq(data[2], 456);
}
END_TEST

START_TEST(a_file_that_shrinks_is_an_error)
{
    unsigned char bytes[NPY_FILE_MAX];
    size_t size = npy_read_all(npy_fixture("f32.npy"), bytes);
    npy_write_all(npy_place("shrinks.npy"), bytes, size);
    struct array_file file = npy_probe(npy_place("shrinks.npy"), DTYPE_F32);
    ck_assert_int_eq(truncate(npy_place("shrinks.npy"), (off_t)size - 401), 0);
    float data[1000];
    struct error error = {0};
    ck_assert_int_eq(array_file_read(npy_place("shrinks.npy"), &file, 0, 899, data, &error),
                     STATUS_OK);
    ck_assert_int_eq(array_file_read(npy_place("shrinks.npy"), &file, 500, 500, data, &error),
                     STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "shrinks.npy"));
    ck_assert_ptr_nonnull(strstr(error.text, "element 899 of 1000"));
    error_clear(&error);
    unlink(npy_place("shrinks.npy"));
    ck_assert_int_ne(array_file_read(npy_place("shrinks.npy"), &file, 0, 1, data, &error),
                     STATUS_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "shrinks.npy"));
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

Suite *npy_suite(void)
{
    Suite *suite = suite_create("npy");
    TCase *reading = tcase_create("reading");
    tcase_add_checked_fixture(reading, npy_make_folder, npy_remove_folder);
    tcase_add_loop_test(reading, fixtures_that_numpy_wrote_are_read, 0, ROWS(accepted));
    tcase_add_loop_test(reading, fixtures_of_the_wrong_kind_are_refused, 0, ROWS(refused));
    tcase_add_loop_test(reading, headers_are_read_however_they_are_written, 0,
                        ROWS(good_headers));
    tcase_add_loop_test(reading, headers_that_are_not_valid_are_refused, 0, ROWS(bad_headers));
    tcase_add_test(reading, a_header_may_hold_any_byte);
    tcase_add_test(reading, what_is_left_of_a_size_is_no_element);
    tcase_add_test(reading, versions_that_do_not_exist_are_refused);
    tcase_add_loop_test(reading, a_file_cut_anywhere_is_refused, 0, 2);
    tcase_add_test(reading, a_header_of_any_length_is_safe);
    tcase_add_test(reading, raw_files_hold_whole_elements);
    tcase_add_loop_test(reading, only_regular_files_are_read, 0, 2);
    tcase_add_test(reading, a_file_that_may_not_be_read_is_refused);
    tcase_add_test(reading, parts_are_read_from_their_place);
    tcase_add_test(reading, offsets_have_64_bits);
    tcase_add_test(reading, a_file_that_shrinks_is_an_error);
    tcase_set_timeout(reading, 60); /* under valgrind */
    suite_add_tcase(suite, reading);

    suite_add_tcase(suite, npy_write_case());
    return suite;
}
