/* fuzz.h - what is tried on each reader: any bytes are read right, or refused in one line.
 *
 * Each function below gives one reader one file's bytes and holds what comes of it against what
 * its header promises; where a promise is broken it says which and aborts, so that libFuzzer
 * keeps the bytes. target_*.c hand it libFuzzer's inputs, tests/check_fuzz_seeds.c the seeds
 * and all that was ever found. */
#ifndef PIPELINE_TESTS_FUZZ_H
#define PIPELINE_TESTS_FUZZ_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True where the bytes were accepted; for arrays, where they were as either type. */
bool fuzz_config(const uint8_t *data, size_t size);
bool fuzz_machine(const uint8_t *data, size_t size);
bool fuzz_npy(const uint8_t *data, size_t size);
bool fuzz_recording(const uint8_t *data, size_t size);
bool fuzz_rewrite(const uint8_t *data, size_t size);
bool fuzz_trace(const uint8_t *data, size_t size);

/* Puts another figure (number `which` of those that limits are made of, and round) in the place
 * of the first value of a machine file behind `from`. Returns the new size; 0 where there is no
 * value, or no room for it among `most` bytes. */
size_t fuzz_machine_figure(uint8_t *data, size_t size, size_t most, size_t from, size_t which);
enum { FUZZ_FIGURES = 24 };

/* Aborts, with the condition and its place, unless it holds. */
#define FUZZ_REQUIRE(condition)                                                                \
    ((condition) ? (void)0 : fuzz_abort(#condition, "", __FILE__, __LINE__))

/* The same, and says `text` as well. */
#define FUZZ_REQUIRE_TEXT(condition, text)                                                     \
    ((condition) ? (void)0 : fuzz_abort(#condition, text, __FILE__, __LINE__))

_Noreturn void fuzz_abort(const char *condition, const char *text, const char *file, int line);

/* Writes the bytes to the file `name` of a folder that is removed at exit, anew, and returns
 * its path, which the next call takes the place of. */
const char *fuzz_file(const char *name, const void *data, size_t size);

/* Removes that file again, where it is. */
void fuzz_file_remove(const char *name);

/* A refusal is a usage error of one line without control characters that names `file`. */
void fuzz_require_refusal(enum status status, const struct error *error, const char *file);

/* ... and in it a line that a file of these bytes has, counted from 1. */
void fuzz_require_line(const struct error *error, const char *file, const uint8_t *data,
                       size_t size);

/* No file was left open since fuzz_file(). */
void fuzz_require_closed(void);

/* Returns true if all of `size` bytes are `byte`, so that memory that was filled with it before
 * has not been written to. */
bool fuzz_is_filled(const void *bytes, size_t size, int byte);

/* Makes a database of SQL statements that begin with "CREATE" or "--": a malloc'd image of its
 * file. NULL where they make none, or where this was built without SQLite. */
uint8_t *fuzz_sqlite_image(const uint8_t *sql, size_t size, size_t *image_size);

#endif
