/* arrays.c - the host's memory, and arrays in it: generated, kept in a file, given back. */
#include "run/arrays.h"

#include "core/mix.h"
#include "run/cpu_worker.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES ((uint64_t)2 << 20)

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

/* Huge pages need an aligned start: a page less than one huge page too much is taken, and the
 * memory around the aligned part is given back. */
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
#pragma omp parallel for schedule(static) if (count >= ARRAYS_PARALLEL)
    for (uint64_t i = 0; i < pairs; i++) {
        const uint64_t bits = mix_at(key, (first + head) / 2 + i);
        element_set(dtype, data, head + 2 * i, (uint32_t)bits);
        element_set(dtype, data, head + 2 * i + 1, (uint32_t)(bits >> 32));
    }
    if (head + 2 * pairs < count)
        element_set(dtype, data, count - 1, (uint32_t)mix_at(key, (first + count) / 2));
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

void arrays_unsettle(void)
{
    all_cores_worked = true;
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
