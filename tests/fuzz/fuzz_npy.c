/* fuzz_npy.c - array files: .npy, and raw. */
#include "fuzz.h"
#include "run/arrays.h"

#include <stdlib.h>
#include <string.h>

#define NPY_NAME "fuzz.npy"
#define RAW_NAME "fuzz.raw"

enum { FILL = 0x5a };

/* Reads all elements, into memory of just their size, and the last one alone. */
static uint8_t *read_all(const char *path, const struct array_file *file)
{
    const size_t element_bytes = dtype_bytes(file->dtype);
    uint8_t *elements = malloc(file->count * element_bytes), last[8];
    struct error error = {0};
    FUZZ_REQUIRE(elements != NULL && element_bytes <= sizeof last);
    enum status status = array_file_read(path, file, 0, file->count, elements, &error);
    FUZZ_REQUIRE_TEXT(status == STATUS_OK, error.text);
    status = array_file_read(path, file, file->count - 1, 1, last, &error);
    FUZZ_REQUIRE_TEXT(status == STATUS_OK, error.text);
    FUZZ_REQUIRE(memcmp(last, elements + (file->count - 1) * element_bytes, element_bytes) ==
                 0);
    /* One more than there are: a file that has become shorter looks so. */
    uint8_t *more = malloc((file->count + 1) * element_bytes);
    FUZZ_REQUIRE(more != NULL);
    status = array_file_read(path, file, 0, file->count + 1, more, &error);
    FUZZ_REQUIRE(status == STATUS_FAILED && strstr(error.text, path) != NULL);
    free(more);
    return elements;
}

/* An array that was read, written and read again must be the same. */
static void require_again(const struct array_file *file, const uint8_t *elements)
{
    char *text = NULL;
    size_t size = 0;
    struct error error = {0};
    struct array_file again;
    FILE *stream = open_memstream(&text, &size);
    FUZZ_REQUIRE(stream != NULL);
    enum status status =
        array_file_write(stream, "memory", 1, file, 0, file->count, elements, &error);
    FUZZ_REQUIRE_TEXT(status == STATUS_OK, error.text);
    fclose(stream);
    const char *path = fuzz_file("again.npy", text, size);
    status = array_file_probe(path, file->dtype, &again, &error);
    FUZZ_REQUIRE_TEXT(status == STATUS_OK, error.text);
    FUZZ_REQUIRE(again.count == file->count);
    uint8_t *back = read_all(path, &again);
    FUZZ_REQUIRE(memcmp(back, elements, file->count * dtype_bytes(file->dtype)) == 0);
    free(back);
    free(text);
}

static bool try_file(const char *name, enum dtype dtype, const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(name, data, size);
    struct array_file file;
    struct error error = {0};
    memset(&file, FILL, sizeof file);
    enum status status = array_file_probe(path, dtype, &file, &error);
    fuzz_require_closed();
    if (status != STATUS_OK) {
        fuzz_require_refusal(status, &error, name);
        FUZZ_REQUIRE(fuzz_is_filled(&file, sizeof file, FILL));
        return false;
    }
    FUZZ_REQUIRE(error.status == STATUS_OK && error.text[0] == '\0');
    FUZZ_REQUIRE(file.dtype == dtype && file.count >= 1 && file.data_offset < size);
    FUZZ_REQUIRE((size - file.data_offset) % dtype_bytes(dtype) == 0);
    FUZZ_REQUIRE((size - file.data_offset) / dtype_bytes(dtype) == file.count);
    uint8_t *elements = read_all(path, &file);
    FUZZ_REQUIRE(memcmp(elements, data + file.data_offset, size - file.data_offset) == 0);
    require_again(&file, elements);
    free(elements);
    fuzz_require_closed();
    return true;
}

bool fuzz_npy(const uint8_t *data, size_t size)
{
    bool as_float = try_file(NPY_NAME, DTYPE_F32, data, size);
    bool as_integer = try_file(NPY_NAME, DTYPE_I32, data, size);
    FUZZ_REQUIRE(!(as_float && as_integer));
    FUZZ_REQUIRE(try_file(RAW_NAME, DTYPE_F32, data, size) == (size > 0 && size % 4 == 0));
    return as_float || as_integer;
}
