/* npy_header.h - the header of a .npy file, which says what the file holds. */
#ifndef PIPELINE_RUN_NPY_HEADER_H
#define PIPELINE_RUN_NPY_HEADER_H

#include "core/status.h"
#include "kernels/kernel.h"

#include <stddef.h>
#include <stdint.h>

/* Returns numpy's code for a type, without its byte order: "f4", "i4" or "f8". */
const char *npy_dtype_code(enum dtype dtype);

/* Reads a header of `length` bytes, which `data_bytes` bytes of data follow. STATUS_USAGE
 * unless these are exactly the little-endian elements of type `dtype`, in C order, that it
 * announces. */
enum status npy_header_read(const char *path, const char *text, size_t length, enum dtype dtype,
                            uint64_t data_bytes, struct error *error);

#endif
