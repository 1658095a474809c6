/* npy.h - arrays in files: numpy's .npy format (versions 1.0 to 3.0) and raw little-endian. */
#ifndef PIPELINE_RUN_NPY_H
#define PIPELINE_RUN_NPY_H

#include "core/status.h"
#include "kernels/kernel.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* An array file: its elements, and where its data starts. */
struct array_file {
    enum dtype dtype;
    uint64_t count;       /* elements, all dimensions together */
    uint64_t data_offset; /* bytes before the first element: 0 for raw files */
};

/* Looks at `path` without reading its data. A name ending in ".npy" must be a .npy file of
 * `dtype`, C order, little-endian, of any shape; anything else is raw elements of `dtype`. The
 * file must be regular and hold exactly its elements. STATUS_USAGE names the file, what it
 * holds and what is allowed. */
enum status array_file_probe(const char *path, enum dtype dtype, struct array_file *file,
                             struct error *error);

/* Reads elements [first, first + count) of `path` into `data`. STATUS_FAILED if it is short. */
enum status array_file_read(const char *path, const struct array_file *file, uint64_t first,
                            uint64_t count, void *data, struct error *error);

/* Writes elements [first, first + count) of `file`, whose data_offset does not matter, to
 * `stream`, which has all before them: from the first on behind a .npy header (version 1.0,
 * shape (file->count,)) if `npy`, else raw. The stream is flushed behind the last.
 * STATUS_FAILED on a full disk or any other failed write; `path` is for the message. */
enum status array_file_write(FILE *stream, const char *path, int npy,
                             const struct array_file *file, uint64_t first, uint64_t count,
                             const void *data, struct error *error);

/* Returns true if `path` ends in ".npy". */
int array_path_is_npy(const char *path);

/* --- run/npy_header.c: the header of a .npy file, which says what the file holds --- */

/* Returns numpy's code for a type, without its byte order: "f4", "i4" or "f8". */
const char *npy_dtype_code(enum dtype dtype);

/* Reads a header of `length` bytes, which `data_bytes` bytes of data follow. STATUS_USAGE
 * unless these are exactly the little-endian elements of type `dtype`, in C order, that it
 * announces. */
enum status npy_header_read(const char *path, const char *text, size_t length, enum dtype dtype,
                            uint64_t data_bytes, struct error *error);

#endif
