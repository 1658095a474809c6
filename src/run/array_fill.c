/* array_fill.c - takes the arrays of a plan, and fills the inputs. */
#include "run/arrays.h"

#include "core/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One read of an input file takes this many elements. */
#define READ_ELEMENTS ((uint64_t)4 << 20)

static enum status input_probe(const struct plan *plan, const char *path,
                               struct array_file *file, struct error *error)
{
    enum status status = array_file_probe(path, plan->chain[0]->in, file, error);
    if (status != STATUS_OK)
        return status;
    if (file->count != plan->elements)
        return error_set(error, STATUS_USAGE,
                         "--input=%s: holds %" PRIu64 " elements; this run has %" PRIu64, path,
                         file->count, plan->elements);
    return STATUS_OK;
}

/* Reads a part of the file to where its elements lie: for tiles that lie apart by way of memory
 * of its own, since a read for each tile would take long where they are many. */
static enum status part_read(const struct arrays *arrays, const char *path,
                             const struct array_file *file, uint64_t first, uint64_t count,
                             struct error *error)
{
    const uint64_t size = dtype_bytes(file->dtype);
    struct range rest = {BUFFER_HOST_IN0, first * size, count * size}, piece;
    if (arrays->apart == NULL)
        return array_file_read(path, file, first, count, arrays_at(arrays, &rest), error);
    char *part = malloc(rest.bytes);
    if (part == NULL)
        return error_no_memory(error, "to read '%s'", path);
    const enum status status = array_file_read(path, file, first, count, part, error);
    while (status == STATUS_OK && host_layout_next(arrays->apart, &rest, &piece))
        memcpy(arrays_at(arrays, &piece), part + (piece.offset - first * size), piece.bytes);
    free(part);
    return status;
}

/* Reads the whole file with all cores, each a part of it: one core would read from the page
 * cache more slowly than the memory allows. */
static enum status input_read(const struct arrays *arrays, const char *path,
                              const struct array_file *file, struct error *error)
{
    const uint64_t parts = (file->count + READ_ELEMENTS - 1) / READ_ELEMENTS;
    enum status status = STATUS_OK;
#pragma omp parallel for schedule(dynamic)
    for (uint64_t part = 0; part < parts; part++) {
        const uint64_t first = part * READ_ELEMENTS, left = file->count - first;
        const uint64_t count = left < READ_ELEMENTS ? left : READ_ELEMENTS;
        struct error own = {0};
        if (part_read(arrays, path, file, first, count, &own) != STATUS_OK)
#pragma omp critical(arrays_input_read)
            status = error_pass(error, &own);
    }
    return status;
}

/* Takes the memory of every buffer that the plan uses. */
static enum status arrays_map(struct arrays *arrays, const struct plan *plan, bool huge,
                              struct error *error)
{
    char needed_text[UNITS_TEXT], available_text[UNITS_TEXT];
    uint64_t needed = 0;
    for (int i = 0; i < BUFFER_FIRST_DEVICE; i++) {
        if (__builtin_add_overflow(needed, host_layout_bytes(plan, (enum buffer)i), &needed))
            needed = UINT64_MAX;
    }
    const uint64_t available = host_memory_available();
    if (available > 0 && needed > available)
        return error_set(
            error, STATUS_NO_MEMORY, "the arrays need %s of host memory and %s are available",
            units_bytes(needed, needed_text), units_bytes(available, available_text));
    for (int i = 0; i < BUFFER_FIRST_DEVICE; i++) {
        const uint64_t bytes = host_layout_bytes(plan, (enum buffer)i);
        if (bytes == 0)
            continue;
        arrays->host[i] = host_map(bytes, huge, &arrays->mapped[i]);
        if (arrays->host[i] == NULL)
            return error_set(error, STATUS_NO_MEMORY,
                             "the arrays need %s of host memory, which can't be had: %s",
                             units_bytes(needed, needed_text), strerror(errno));
        arrays->bytes[i] = bytes;
    }
    return STATUS_OK;
}

/* Returns the type of the second or resident input: the first kernel that reads it decides. */
static enum dtype second_dtype(const struct plan *plan)
{
    for (int link = 0; link < plan->chain_length; link++) {
        if (plan->chain[link]->inputs > 1)
            return plan->chain[link]->in;
    }
    return plan->chain[0]->in;
}

/* Generates input array `which` in its buffer, with all cores: each takes a part of a large
 * tile, or a part of many small ones. */
static void input_generate(const struct arrays *arrays, const struct plan *plan,
                           enum buffer buffer, enum dtype dtype, uint64_t seed, int which)
{
    const uint64_t size = dtype_bytes(dtype);
    const uint64_t pieces = host_layout_pieces(plan, buffer);
#pragma omp parallel for schedule(static) if (plan->elements / pieces < ARRAYS_PARALLEL)
    for (uint64_t i = 0; i < pieces; i++) {
        const struct range piece = host_layout_piece(plan, buffer, i);
        arrays_generate(dtype, seed, which, piece.offset / size, piece.bytes / size,
                        arrays_at(arrays, &piece));
    }
}

/* Fills the inputs. */
static enum status arrays_fill(const struct arrays *arrays, const struct plan *plan,
                               const struct settings *settings, const struct array_file *file,
                               struct error *error)
{
    static const struct {
        enum buffer buffer;
        int which;
    } generated[] = {{BUFFER_HOST_IN1, 1}, {BUFFER_HOST_RESIDENT, 2}};
    for (size_t i = 0; i < sizeof generated / sizeof generated[0]; i++) {
        const enum buffer buffer = generated[i].buffer;
        if (arrays->host[buffer] != NULL)
            input_generate(arrays, plan, buffer, second_dtype(plan), settings->seed,
                           generated[i].which);
    }
    if (settings->input != NULL)
        return input_read(arrays, settings->input, file, error);
    input_generate(arrays, plan, BUFFER_HOST_IN0, plan->chain[0]->in, settings->seed, 0);
    return STATUS_OK;
}

enum status arrays_create(struct arrays *arrays, const struct plan *plan,
                          const struct settings *settings, struct error *error)
{
    arrays_unsettle();
    const bool huge = plan->memory == MEMORY_PINNED || plan_kernels_reach_host(plan);
    struct arrays taken = {.apart = host_layout_is_apart(plan) ? plan : NULL};
    struct array_file file = {0};
    enum status status = STATUS_OK;
    if (settings->input != NULL)
        status = input_probe(plan, settings->input, &file, error);
    if (status == STATUS_OK)
        status = arrays_map(&taken, plan, huge, error);
    if (status == STATUS_OK)
        status = arrays_fill(&taken, plan, settings, &file, error);
    if (status != STATUS_OK) {
        arrays_free(&taken);
        return status;
    }
    *arrays = taken;
    return STATUS_OK;
}
