/* npy_cases.c - the files that array files are tested with. */
#include "npy_cases.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TESTS_FOLDER
#define TESTS_FOLDER "tests" /* from the repository's root */
#endif

enum { PATH_TEXT = 256 };

static char folder[PATH_TEXT / 2];

void npy_make_folder(void)
{
    strcpy(folder, "/tmp/check_npy.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void npy_remove_folder(void)
{
    char command[PATH_TEXT];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* `name` in the test's folder. */
const char *npy_place(const char *name)
{
    static char path[PATH_TEXT];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

const char *npy_fixture(const char *name)
{
    static char path[PATH_TEXT];
    snprintf(path, sizeof path, "%s/data/%s", TESTS_FOLDER, name);
    return path;
}

size_t npy_read_all(const char *path, unsigned char bytes[NPY_FILE_MAX])
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s can't be opened", path);
    size_t count = fread(bytes, 1, NPY_FILE_MAX, file);
    fclose(file);
    return count;
}

void npy_write_all(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
}

struct array_file npy_probe(const char *path, enum dtype dtype)
{
    struct array_file file;
    struct error error = {0};
    ck_assert_msg(array_file_probe(path, dtype, &file, &error) == STATUS_OK, "%s", error.text);
    ck_assert_int_eq(file.dtype, dtype);
    return file;
}
