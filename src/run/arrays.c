/* arrays.c - the host arrays of a run: taken, filled, poisoned, kept in a file, given back. */
#include "run/arrays.h"

#include "core/mix.h"
#include "core/units.h"
#include "run/cpu_worker.h"
#include "run/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES ((uint64_t)2 << 20)

/* One read of an input file takes this many elements. */
#define READ_ELEMENTS ((uint64_t)4 << 20)

/* Fewer elements than these are not worth waking the other cores for. */
#define PARALLEL_ELEMENTS 16384

/* The bits of a quiet NaN, as float32 and, twice, as float64, and those of its payload. */
#define NAN_BITS     UINT32_C(0x7FC00000)
#define PAYLOAD_BITS UINT32_C(0x003FFFFF)

uint64_t host_memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL)
        return 0;
    char line[128];
    uint64_t kib = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1)
            break;
    }
    fclose(file);
    return kib * 1024;
}

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Does the same as host_map(), but does not touch the memory. Huge pages need an aligned start:
 * a page less than one huge page too much is taken, and the memory around the aligned part is
 * given back. */
static void *map_untouched(uint64_t bytes, bool huge, uint64_t *mapped)
{
    huge = huge && bytes >= HUGE_PAGE_BYTES;
    const uint64_t unit = huge ? HUGE_PAGE_BYTES : page_bytes();
    const uint64_t slack = unit - page_bytes();
    if (bytes > PTRDIFF_MAX - 2 * unit)
        return NULL;
    const uint64_t size = (bytes + unit - 1) / unit * unit;
    char *taken =
        mmap(NULL, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken == MAP_FAILED)
        return NULL;
    const uint64_t head = (unit - (uintptr_t)taken % unit) % unit;
    if (head > 0)
        munmap(taken, head);
    if (slack > head)
        munmap(taken + head + size, slack - head);
    if (huge)
        madvise(taken + head, size, MADV_HUGEPAGE); /* without huge pages plain ones do */
    *mapped = size;
    return taken + head;
}

/* True if arrays were touched since arrays_settle(). */
static bool all_cores_worked;

void *host_map(uint64_t bytes, bool huge, uint64_t *mapped)
{
    uint64_t size;
    volatile char *memory = map_untouched(bytes, huge, &size);
    if (memory == NULL)
        return NULL;
    const uint64_t page = page_bytes();
#pragma omp parallel for schedule(static)
    for (uint64_t at = 0; at < size; at += page)
        memory[at] = 0;
    *mapped = size;
    return (void *)memory;
}

void host_unmap(void *memory, uint64_t mapped)
{
    if (memory != NULL)
        munmap(memory, mapped);
}

/* Makes an element of 32 random bits. A float takes 24 of them and is a multiple of 2^-23; a
 * double takes all. */
static inline void element_set(enum dtype dtype, void *data, uint64_t index, uint32_t bits)
{
    if (dtype == DTYPE_F32)
        ((float *)data)[index] = (float)(int32_t)(bits >> 8) * 0x1p-23f - 1.0f;
    else if (dtype == DTYPE_F64)
        ((double *)data)[index] = bits * 0x1p-31 - 1;
    else
        ((int32_t *)data)[index] = (int32_t)bits;
}

void arrays_generate(enum dtype dtype, uint64_t seed, int which, uint64_t first, uint64_t count,
                     void *data)
{
    /* Number `pair` of the sequence has elements 2 * pair and 2 * pair + 1, in its low and its
     * high half. */
    const uint64_t key = mix_bits(mix_bits(seed) + (uint64_t)which);
    const uint64_t head =
        first % 2 < count ? first % 2 : count; /* half a pair, before whole ones */
    const uint64_t pairs = (count - head) / 2;
    if (head > 0)
        element_set(dtype, data, 0, (uint32_t)(mix_at(key, first / 2) >> 32));
#pragma omp parallel for schedule(static) if (count >= PARALLEL_ELEMENTS)
    for (uint64_t i = 0; i < pairs; i++) {
        const uint64_t bits = mix_at(key, (first + head) / 2 + i);
        element_set(dtype, data, head + 2 * i, (uint32_t)bits);
        element_set(dtype, data, head + 2 * i + 1, (uint32_t)(bits >> 32));
    }
    if (head + 2 * pairs < count)
        element_set(dtype, data, count - 1, (uint32_t)mix_at(key, (first + count) / 2));
}

void arrays_fill_poison(const struct arrays *arrays, void *memory, uint64_t bytes)
{
    uint32_t *words = memory;
    _Static_assert(sizeof *words == sizeof(float), "one pattern serves all element types");
    const uint64_t count = bytes / sizeof *words;
#pragma omp parallel for schedule(static) if (count >= PARALLEL_ELEMENTS)
    for (uint64_t i = 0; i < count; i++)
        words[i] = arrays->poison;
}

static bool output_holds(const struct arrays *arrays, uint32_t word)
{
    const uint32_t *out = arrays->host[BUFFER_HOST_OUT];
    const uint64_t count = arrays->bytes[BUFFER_HOST_OUT] / sizeof *out;
    bool found = false;
#pragma omp parallel for schedule(static) reduction(|| : found) if (count >= PARALLEL_ELEMENTS)
    for (uint64_t i = 0; i < count; i++)
        found = found || out[i] == word;
    return found;
}

/* Draws a poison that the output, as the last run left it, holds nowhere: no right result can
 * be it. The payloads 0 and all ones are left out, for they are what processors and GPUs make
 * themselves. Where so many payloads are in the output that none of DRAWS is free, the last one
 * drawn has to do, and a right result may be called unwritten. */
static void poison_draw(struct arrays *arrays)
{
    enum { DRAWS = 64 };
    for (int i = 0; i < DRAWS; i++) {
        uint32_t payload = 0;
        while (payload == 0 || payload == PAYLOAD_BITS)
            payload = (uint32_t)mix_bits(++arrays->drawn) & PAYLOAD_BITS;
        arrays->poison = NAN_BITS | payload;
        if (!output_holds(arrays, arrays->poison))
            return;
    }
}

/* Does the work of arrays_find_poison() in `count` elements at `out`. */
static uint64_t find_poison(const uint32_t *out, uint32_t poison, size_t element_bytes,
                            uint64_t count)
{
    const size_t words = element_bytes / sizeof *out, last = words - 1;
    uint64_t found = count;
#pragma omp parallel for schedule(static) reduction(min : found) if (count >= PARALLEL_ELEMENTS)
    for (uint64_t i = 0; i < count; i++) {
        if (out[i * words] == poison && out[i * words + last] == poison && i < found)
            found = i;
    }
    return found;
}

/* Does that in the elements [first, first + count). */
static uint64_t find_poison_from(const struct arrays *arrays, size_t element_bytes,
                                 uint64_t first, uint64_t count)
{
    struct range rest = {BUFFER_HOST_OUT, first * element_bytes, count * element_bytes}, piece;
    if (arrays->apart == NULL)
        return first +
               find_poison(arrays_at(arrays, &rest), arrays->poison, element_bytes, count);
    while (host_layout_next(arrays->apart, &rest, &piece)) {
        const uint64_t there = piece.bytes / element_bytes;
        const uint64_t found =
            find_poison(arrays_at(arrays, &piece), arrays->poison, element_bytes, there);
        if (found < there)
            return piece.offset / element_bytes + found;
    }
    return first + count;
}

uint64_t arrays_find_poison(const struct arrays *arrays, size_t element_bytes, uint64_t count)
{
    if (arrays->dealt == NULL)
        return find_poison_from(arrays, element_bytes, 0, count);
    const bool reduces = plan_last_kernel(arrays->dealt)->shape == KERNEL_REDUCE;
    for (uint32_t tile = 0; tile < arrays->dealt->tiles; tile++) {
        uint64_t first = tile, own = 1;
        if (!reduces)
            plan_tile(arrays->dealt, tile, &first, &own);
        if (!arrays_have_tile(arrays, tile))
            continue;
        const uint64_t found = find_poison_from(arrays, element_bytes, first, own);
        if (found < first + own)
            return found;
    }
    return count;
}

void arrays_poison(struct arrays *arrays)
{
    all_cores_worked = true;
    poison_draw(arrays);
    arrays_fill_poison(arrays, arrays->host[BUFFER_HOST_OUT], arrays->bytes[BUFFER_HOST_OUT]);
    arrays_fill_poison(arrays, arrays->host[BUFFER_HOST_CARRY],
                       arrays->bytes[BUFFER_HOST_CARRY]);
    for (int b = BUFFER_HOST_PACK_IN0; b <= BUFFER_HOST_EXCHANGE; b++)
        arrays_fill_poison(arrays, arrays->host[b], arrays->bytes[b]);
    arrays_guard_gaps(arrays);
}

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
        return error_set(error, STATUS_NO_MEMORY, "no memory to read '%s'", path);
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
        arrays->host[i] = map_untouched(bytes, huge, &arrays->mapped[i]);
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
#pragma omp parallel for schedule(static) if (plan->elements / pieces < PARALLEL_ELEMENTS)
    for (uint64_t i = 0; i < pieces; i++) {
        const struct range piece = host_layout_piece(plan, buffer, i);
        arrays_generate(dtype, seed, which, piece.offset / size, piece.bytes / size,
                        arrays_at(arrays, &piece));
    }
}

/* Fills the inputs and poisons the output, which also touches their memory. */
static enum status arrays_fill(struct arrays *arrays, const struct plan *plan,
                               const struct settings *settings, const struct array_file *file,
                               struct error *error)
{
    arrays_poison(arrays);
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
    all_cores_worked = true;
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

void arrays_free(struct arrays *arrays)
{
    for (int i = 0; i < BUFFER_FIRST_DEVICE; i++)
        host_unmap(arrays->host[i], arrays->mapped[i]);
    *arrays = (struct arrays){0};
}

enum status arrays_write_output(const struct arrays *arrays, const struct plan *plan,
                                FILE *stream, const char *path, int npy, struct error *error)
{
    const enum dtype dtype = plan_last_kernel(plan)->out;
    const uint64_t size = dtype_bytes(dtype);
    struct range rest = {BUFFER_HOST_OUT, 0, plan->buffer_bytes[BUFFER_HOST_OUT]}, piece;
    const struct array_file file = {.dtype = dtype, .count = rest.bytes / size};
    enum status status = STATUS_OK;
    while (status == STATUS_OK && host_layout_next(plan, &rest, &piece))
        status = array_file_write(stream, path, npy, &file, piece.offset / size,
                                  piece.bytes / size, arrays_at(arrays, &piece), error);
    return status;
}

void arrays_settle(void)
{
    enum { REST_NS = 20000000 };
    const int64_t begin_ns = clock_now_ns();
    if (all_cores_worked)
        omp_pause_resource_all(omp_pause_soft);
    while (all_cores_worked && clock_now_ns() - begin_ns < REST_NS)
        continue;
    all_cores_worked = false;
}
