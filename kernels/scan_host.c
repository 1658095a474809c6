/* scan_host.c - the CPU twins of the scans. */
#include "kernels/kernel_rows.h"
#include "kernels/scan_rows.h"

#include <stdbool.h>

/* Parts whose sums are taken side by side, and which are then scanned side by side. */
enum { PARTS = 64 };

/* The first element of part `part` of `count` elements. */
static uint64_t part_first(uint64_t count, int part)
{
    return count / PARTS * (uint64_t)part + count % PARTS * (uint64_t)part / PARTS;
}

/* Sums in unsigned: modulo 2^32, where signed overflow would be undefined. */
static uint32_t part_sum(const uint32_t *x, uint64_t count)
{
    uint32_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

/* Scans one part behind `before`; returns the total. `out` may be `x`. */
static uint32_t part_scan(const uint32_t *x, uint32_t *out, uint64_t count, uint32_t before,
                          bool exclusive)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t with = before + x[i];
        out[i] = exclusive ? before : with;
        before = with;
    }
    return before;
}

/* What comes before each part, from `before` on; returns the total. */
static uint32_t parts_before(const uint32_t *x, uint64_t count, uint32_t before,
                             uint32_t parts[PARTS])
{
#pragma omp parallel for schedule(static)
    for (int part = 0; part < PARTS; part++) {
        const uint64_t first = part_first(count, part);
        parts[part] = part_sum(x + first, part_first(count, part + 1) - first);
    }
    for (int part = 0; part < PARTS; part++) {
        const uint32_t sum = parts[part];
        parts[part] = before;
        before += sum;
    }
    return before;
}

static void scan_host(const struct kernel_args *args, bool exclusive)
{
    const uint32_t *in = args->in[0];
    uint32_t *out = args->out;
    const uint32_t before = args->carry_in == NULL ? 0 : *(const uint32_t *)args->carry_in;
    uint32_t total, parts[PARTS];
    if (!host_is_parallel(args)) {
        total = part_scan(in, out, args->count, before, exclusive);
    } else {
        total = parts_before(in, args->count, before, parts);
#pragma omp parallel for schedule(static)
        for (int part = 0; part < PARTS; part++) {
            const uint64_t first = part_first(args->count, part);
            part_scan(in + first, out + first, part_first(args->count, part + 1) - first,
                      parts[part], exclusive);
        }
    }
    if (args->carry_out != NULL)
        *(uint32_t *)args->carry_out = args->carry_own ? total - before : total;
}

void scan_inclusive_host(const struct kernel_args *args)
{
    scan_host(args, false);
}

void scan_exclusive_host(const struct kernel_args *args)
{
    scan_host(args, true);
}
