/* npy_cases.h - what the tests of array files share: their folder, fixtures, and reading. */
#ifndef PIPELINE_TESTS_NPY_CASES_H
#define PIPELINE_TESTS_NPY_CASES_H

#include "run/arrays.h"

#include <check.h>
#include <stddef.h>

enum { NPY_FILE_MAX = 8192 };

void npy_make_folder(void);
void npy_remove_folder(void);

/* `name` in the test's folder, and among the fixtures of tests/data. Each call takes the place
 * of what the one before it gave. */
const char *npy_place(const char *name);
const char *npy_fixture(const char *name);

/* The bytes of a file, at most NPY_FILE_MAX; returns how many there are. */
size_t npy_read_all(const char *path, unsigned char bytes[NPY_FILE_MAX]);
void npy_write_all(const char *path, const void *bytes, size_t count);

/* Fails the test unless `path` is an array of `dtype`. */
struct array_file npy_probe(const char *path, enum dtype dtype);

TCase *npy_write_case(void);

#endif
