/* watched.c - what becomes of the accesses that watch.c counts: blocks of memory, faults of
 * those outside, and at the end of a launch its ranges. */
#include "cpu/watch.h"

#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMORIES = 64,
    RANGES_MOST = 1 << 16, /* where there are more, gaps are taken in */
    NEAR = 1024,           /* bytes behind a block, to which an access may belong */
    NULL_BYTES = 65536,
};

static struct {
    const struct cpu_launch *launch;
    uint32_t site_count;
    struct watch_memory *memories[MEMORIES];
    uint32_t memory_count;
} now;

void watch_begin(const struct cpu_launch *launch)
{
    now.launch = launch;
    sectors_begin(launch);
}

/* --- memory --- */

/* Adds what a site did to its memory to that and to the site's sums. */
static void put_back(struct watch_site *site)
{
    struct watch_memory *memory = site->memory;
    if (memory == NULL || site->count == 0)
        return;
    memory->low = site->low < memory->low ? site->low : memory->low;
    memory->high = site->high > memory->high ? site->high : memory->high;
    if (memory->counts) {
        site->total += site->count;
        site->asked += site->count * site->size;
    }
    site->count = 0;
}

struct watch_site *watch_find(uintptr_t code, uint32_t size, enum watch_kind kind)
{
    uint32_t at = (uint32_t)((code ^ code >> 12) % WATCH_SITES);
    while (watch_sites[at].code != 0 && watch_sites[at].code != code)
        at = (at + 1) % WATCH_SITES;
    struct watch_site *site = &watch_sites[at];
    if (site->code == code)
        return site;
    if (++now.site_count == WATCH_SITES)
        grid_fail("too many places that read and write: use --no-watch", code);
    *site = (struct watch_site){.code = code, .kind = kind, .size = size};
    return site;
}

/* The parts of the program and its libraries that are in memory: variables of the program's own
 * count, all else is constant, or none of the kernels'. */
struct part {
    uintptr_t at, from;
    uint64_t bytes;
    bool counts, own;
    unsigned modules;
};

static struct watch_memory *memory_add(const struct part *part)
{
    const size_t words = (size_t)(part->bytes / 64 + 2);
    for (uint32_t i = 0; i < now.memory_count; i++)
        if (now.memories[i]->from == part->from && now.memories[i]->bytes == part->bytes)
            return now.memories[i];
    struct watch_memory *memory =
        now.memory_count < MEMORIES ? calloc(1, sizeof *memory) : NULL;
    uint64_t *maps = memory != NULL ? calloc(3 * words, sizeof *maps) : NULL;
    if (maps == NULL) {
        free(memory);
        return NULL;
    }
    *memory = (struct watch_memory){.from = part->from,
                                    .bytes = part->bytes,
                                    .reads = maps,
                                    .writes = maps + words,
                                    .atomics = maps + 2 * words,
                                    .low = UINT64_MAX,
                                    .counts = part->counts,
                                    .own = part->own};
    return now.memories[now.memory_count++] = memory;
}

static int find_part(struct dl_phdr_info *info, size_t size, void *context)
{
    struct part *part = context;
    const bool own = part->modules++ == 0;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD || part->at - from >= header->p_memsz)
            continue;
        part->from = from;
        part->bytes = header->p_memsz;
        part->own = part->counts = own && (header->p_flags & PF_W) != 0;
        return 1;
    }
    return 0;
}

/* Says what is at an address that no block of CUDA's has, or that this device may not reach. */
static void fail(const struct watch_site *site, uintptr_t at, uint32_t bytes,
                 const struct cpu_block *block)
{
    char what[256];
    const char *does = (site->kind & WATCH_WRITES) != 0 ? "writes" : "reads";
    const struct cpu_block *near = NULL;
    uint64_t past = 0;
    const char *file = NULL;
    int line = 0;
    const bool gone = block == NULL && cpu_block_gone(at, &file, &line);
    for (; block == NULL && !gone && near == NULL && past < NEAR; past++)
        near = cpu_block_at(at - past);
    if (block != NULL && at - block->from <= block->bytes - bytes)
        snprintf(what, sizeof what, "%s %u bytes of memory of device %d, on device %d", does,
                 bytes, block->device, now.launch->device);
    else if (gone)
        snprintf(what, sizeof what, "%s %u bytes of memory that was given back in %s:%d", does,
                 bytes, file != NULL ? file : "C", line);
    else if (block != NULL || near != NULL)
        snprintf(what, sizeof what, "%s %u bytes at byte %llu of memory that has %llu bytes",
                 does, bytes, (unsigned long long)(at - (block != NULL ? block : near)->from),
                 (unsigned long long)(block != NULL ? block : near)->bytes);
    else
        snprintf(what, sizeof what, "%s %u bytes at address 0x%llx, which is %s", does, bytes,
                 (unsigned long long)at,
                 at < NULL_BYTES
                     ? "no memory: a pointer is NULL"
                     : "no memory of CUDA's: pageable memory of the host's, or none");
    grid_fail(what, site->code);
}

void watch_other(struct watch_lane *lane, struct watch_site *site, uintptr_t at, uint32_t bytes)
{
    if (at - lane->stack < lane->stack_bytes)
        return;
    if (watch_shared(lane, at, bytes, site->kind, site->code)) {
        site->is_shared = true;
        site->total++;
        if (lane->log != NULL)
            watch_keep(lane, site, at, bytes);
        return;
    }
    const struct cpu_block *block = cpu_block_at(at);
    struct part part = {.at = at};
    if (block != NULL) {
        if (at - block->from > block->bytes - bytes ||
            !cpu_may_reach(block, now.launch->device))
            fail(site, at, bytes, block);
        part = (struct part){at, block->from, block->bytes, true, block->own, 0};
    } else if (at - (uintptr_t)now.launch->arguments <
               malloc_usable_size(now.launch->arguments)) {
        part.from = (uintptr_t)now.launch->arguments;
        part.bytes = malloc_usable_size(now.launch->arguments);
    } else if (dl_iterate_phdr(find_part, &part) == 0) {
        fail(site, at, bytes, NULL);
    }
    put_back(site);
    struct watch_memory *memory = memory_add(&part);
    if (memory == NULL)
        grid_fail("not enough memory to watch it", site->code);
    site->memory = memory;
    site->from = memory->from;
    site->bytes = memory->bytes;
    site->map = (site->kind & WATCH_WRITES) == 0   ? memory->reads
                : (site->kind & WATCH_ATOMIC) != 0 ? memory->atomics
                                                   : memory->writes;
    site->low = UINT64_MAX;
    site->high = 0;
    /* It lies inside now, and comes again the short way. */
    const uint64_t offset = at - site->from;
    for (uint64_t i = offset; i < offset + bytes; i++)
        site->map[i / 64] |= UINT64_C(1) << i % 64;
    site->count = 1;
    site->low = offset;
    site->high = offset + bytes;
    if (lane->log != NULL)
        watch_keep(lane, site, at, bytes);
}

/* --- ranges --- */

/* Appends the runs of bytes of one kind; with a gap, those that are no further apart are one.
 * Returns false where there are too many. */
static bool append_ranges(struct cpu_did *did, const struct watch_memory *memory, uint64_t gap)
{
    uint64_t end = memory->low;
    for (uint64_t at = memory->low; at < memory->high;) {
        const unsigned shift = (unsigned)(at % 64);
        const uint64_t atomics = memory->atomics[at / 64] >> shift;
        const uint64_t reads = memory->reads[at / 64] >> shift;
        const uint64_t writes = memory->writes[at / 64] >> shift;
        const bool by_atomics = (atomics & 1) != 0;
        const bool is_read = (reads & 1) != 0;
        const bool is_written = by_atomics || (writes & 1) != 0;
        const bool is_atomic = by_atomics && (writes & 1) == 0;
        /* As many bytes of the word as are like the first. */
        const uint64_t other =
            (reads ^ -(reads & 1)) | (writes ^ -(writes & 1)) | (atomics ^ -(atomics & 1));
        uint64_t same = other == 0 ? 64 : (uint64_t)__builtin_ctzll(other);
        same = same > 64 - shift ? 64 - shift : same;
        same = same > memory->high - at ? memory->high - at : same;
        struct cpu_range *last =
            did->range_count > 0 ? &did->ranges[did->range_count - 1] : NULL;
        if (last != NULL && last->from < memory->from)
            last = NULL;
        if (is_read || is_written) {
            const bool alike = last != NULL && last->reads == is_read &&
                               last->writes == is_written && last->atomic == is_atomic;
            if (last != NULL && at - end <= gap && (alike || gap > 0)) {
                last->bytes = memory->from + at + same - last->from;
                last->reads |= is_read;
                last->writes |= is_written;
                last->atomic &= is_atomic;
            } else {
                if (did->range_count == RANGES_MOST)
                    return false;
                did->ranges[did->range_count++] =
                    (struct cpu_range){memory->from + at, same, is_read, is_written, is_atomic};
            }
            end = at + same;
        }
        at += same;
    }
    return true;
}

static int compare_memories(const void *a, const void *b)
{
    const struct watch_memory *const *left = a, *const *right = b;
    return ((*left)->from > (*right)->from) - ((*left)->from < (*right)->from);
}

void watch_end(struct cpu_did *did)
{
    for (struct watch_site *site = watch_sites; site < watch_sites + WATCH_SITES; site++)
        put_back(site);
    sectors_sum(did);
    did->watched = watch_source != NULL;
    qsort(now.memories, now.memory_count, sizeof *now.memories, compare_memories);
    did->ranges = now.memory_count > 0 ? malloc(RANGES_MOST * sizeof *did->ranges) : NULL;
    for (uint64_t gap = 0; did->ranges != NULL; gap = 2 * gap + 16) {
        bool fits = true;
        did->range_count = 0;
        for (uint32_t i = 0; i < now.memory_count && fits; i++)
            fits = !now.memories[i]->counts || append_ranges(did, now.memories[i], gap);
        if (fits)
            break;
    }
    if (did->range_count > 0) {
        struct cpu_range *fitting =
            realloc(did->ranges, did->range_count * sizeof *did->ranges);
        did->ranges = fitting != NULL ? fitting : did->ranges;
    }
    for (uint32_t i = 0; i < now.memory_count; i++) {
        free(now.memories[i]->reads);
        free(now.memories[i]);
    }
    now.memory_count = now.site_count = 0;
}
