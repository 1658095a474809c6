/* blocks.c - the memory that CUDA knows, by its addresses.
 *
 * What a call takes lies in whole pages of address space that is never used again, with a page
 * that nobody may touch before and behind it: what reaches past its end, or what is used after
 * it was given back, ends in a fault. Memory of a device is filled with words of which no two
 * are alike, and which are no numbers as float and as double. */
#include "cpu/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

struct block {
    struct cpu_block seen; /* the first, so that a pointer to it is one to the block */
    unsigned flags;
    int home;        /* the device that was current */
    uint64_t mapped; /* bytes of pages; 0: the memory is the program's own */
    bool leaves; /* it was given back in the order of a stream, which has not been waited for */
    const char *file; /* where it is given back */
    int line;
    uint32_t stream; /* that one */
};

/* Memory that was given back. */
struct gone {
    uintptr_t from;
    uint64_t bytes;
    const char *file;
    int line;
};
static struct gone *gone;
static size_t gone_count, gone_capacity;

static struct block **blocks; /* in the order of their addresses */
static size_t block_count, block_capacity;
static unsigned changes; /* of the table */
static uint64_t leaving_bytes;

/* Returns the place of the first block behind an address. */
static size_t place_behind(uintptr_t address)
{
    size_t from = 0, to = block_count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (blocks[middle]->seen.from <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

const struct cpu_block *cpu_block_at(uintptr_t address)
{
    static _Thread_local const struct cpu_block *latest;
    static _Thread_local unsigned latest_changes;
    if (latest == NULL || latest_changes != changes ||
        address - latest->from >= latest->bytes) {
        const size_t behind = place_behind(address);
        latest = behind > 0 ? &blocks[behind - 1]->seen : NULL;
        latest_changes = changes;
        if (latest != NULL && address - latest->from >= latest->bytes)
            latest = NULL;
    }
    return latest;
}

const struct cpu_block *block_begins(const void *at)
{
    const struct cpu_block *block = cpu_block_at((uintptr_t)at);
    const bool begins =
        block != NULL && block->from == (uintptr_t)at && !((const struct block *)block)->leaves;
    return begins ? block : NULL;
}

unsigned block_flags(const struct cpu_block *block)
{
    return ((const struct block *)block)->flags;
}

static struct block *add(enum cpu_memory kind, uintptr_t from, uint64_t bytes, int home,
                         unsigned flags)
{
    struct block *block =
        ITEMS_ROOM(blocks, block_count, block_capacity) ? calloc(1, sizeof *block) : NULL;
    if (block == NULL)
        return NULL;
    const size_t place = place_behind(from);
    memmove(blocks + place + 1, blocks + place, (block_count++ - place) * sizeof *blocks);
    const bool host = kind == CPU_PINNED || kind == CPU_REGISTERED;
    *block = (struct block){
        .seen = {from, bytes, kind, host ? -1 : home, true}, .flags = flags, .home = home};
    blocks[place] = block;
    changes++;
    return block;
}

cudaError_t block_add(enum cpu_memory kind, uintptr_t from, uint64_t bytes, int home,
                      unsigned flags)
{
    const bool added = add(kind, from, bytes, home, flags) != NULL;
    return added ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* --- pages --- */

/* Returns that many bytes of address space, which nobody may touch. */
static char *take_space(uint64_t bytes)
{
    static char *space;
    static uint64_t left;
    if (bytes > left) {
        const uint64_t chunk = (uint64_t)64 << 30, want = bytes > chunk ? bytes : chunk;
        char *more =
            mmap(NULL, want, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (more == MAP_FAILED)
            return NULL;
        space = more;
        left = want;
    }
    char *taken = space;
    space += bytes;
    left -= bytes;
    return taken;
}

/* Returns true if this computer has so much memory left. */
static bool is_room(uint64_t bytes)
{
    enum { SMALL = 16 << 20 };
    char line[128];
    unsigned long long kib = 0;
    FILE *file = bytes > SMALL ? fopen("/proc/meminfo", "r") : NULL;
    if (file == NULL)
        return true;
    while (fgets(line, sizeof line, file) != NULL &&
           sscanf(line, "MemAvailable: %llu", &kib) != 1)
        kib = 0;
    fclose(file);
    const bool room = kib == 0 || bytes / 1024 <= kib;
    if (!room)
        fprintf(
            stderr,
            "pipeline: the program asks for %llu MiB, and this computer has %llu MiB left\n",
            (unsigned long long)bytes >> 20, kib >> 10);
    return room;
}

static void spoil(char *from, uint64_t bytes)
{
    uint64_t *words = (uint64_t *)(void *)from;
    const uint64_t first = (uintptr_t)from / sizeof *words;
    for (uint64_t i = 0; i < bytes / sizeof *words; i++) {
        const uint64_t at = first + i;
        words[i] = (0xfff80000 | (at >> 22 & 0x7ffff)) << 32 | 0xffc00000 | (at & 0x3fffff);
    }
}

/* Returns memory that its stream has given back, which the same stream may use: where much of
 * it waits for the stream to be waited for. */
static struct block *use_again(uint64_t bytes, int device, uint32_t stream)
{
    enum { MUCH = 256 << 20 };
    for (size_t i = 0; i < block_count && leaving_bytes > MUCH; i++) {
        struct block *block = blocks[i];
        if (block->leaves && block->stream == stream && block->seen.bytes == bytes &&
            block->seen.device == device) {
            block->leaves = false;
            leaving_bytes -= bytes;
            return block;
        }
    }
    return NULL;
}

void *block_take(enum cpu_memory kind, uint64_t bytes, int home, unsigned flags)
{
    const struct block *again = kind == CPU_POOL ? use_again(bytes, home, flags) : NULL;
    if (again != NULL)
        return (void *)again->seen.from;
    const uint64_t mapped = (bytes + PAGE - 1) / PAGE * PAGE;
    char *space = mapped >= bytes && is_room(mapped) ? take_space(mapped + PAGE) : NULL;
    if (space == NULL || mprotect(space, mapped, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    struct block *block = add(kind, (uintptr_t)space, bytes, home, flags);
    if (block == NULL)
        return NULL;
    block->mapped = mapped;
    block->seen.own = false;
    if (kind == CPU_DEVICE || kind == CPU_POOL)
        spoil(space, mapped);
    return space;
}

static void remove_at(size_t place)
{
    struct block *block = blocks[place];
    if (block->mapped > 0) /* so that the pages go back, and nobody may touch the addresses */
        (void)mmap((void *)block->seen.from, block->mapped, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (block->mapped > 0 && ITEMS_ROOM(gone, gone_count, gone_capacity))
        gone[gone_count++] =
            (struct gone){block->seen.from, block->seen.bytes, block->file, block->line};
    memmove(blocks + place, blocks + place + 1, (--block_count - place) * sizeof *blocks);
    changes++;
    free(block);
}

bool cpu_block_gone(uintptr_t address, const char **file, int *line)
{
    for (size_t i = gone_count; i-- > 0;)
        if (address - gone[i].from < gone[i].bytes) {
            *file = gone[i].file;
            *line = gone[i].line;
            return true;
        }
    return false;
}

void block_give(const struct cpu_block *given, const char *file, int line)
{
    const size_t place = place_behind(given->from) - 1;
    blocks[place]->file = file;
    blocks[place]->line = line;
    remove_at(place);
}

void block_leaves(const struct cpu_block *given, uint32_t stream, const char *file, int line)
{
    struct block *block = blocks[place_behind(given->from) - 1];
    block->leaves = true;
    block->stream = stream;
    block->file = file;
    block->line = line;
    leaving_bytes += block->seen.bytes;
}

void blocks_left(enum cpu_op_kind waits, uint32_t subject)
{
    for (size_t i = block_count; leaving_bytes > 0 && i-- > 0;) {
        const uint32_t stream = blocks[i]->stream;
        const bool over = waits == CPU_SYNC_DEVICE
                              ? cpu_stream_device(stream) == (int)subject
                              : waits == CPU_SYNC_STREAM && stream == subject;
        if (blocks[i]->leaves && over) {
            leaving_bytes -= blocks[i]->seen.bytes;
            remove_at(i);
        }
    }
}

void block_give_all(int device)
{
    for (size_t i = block_count; i-- > 0;)
        if (blocks[i]->home == device) {
            leaving_bytes -= blocks[i]->leaves ? blocks[i]->seen.bytes : 0;
            remove_at(i);
        }
}

uint64_t block_bytes(int device)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i]->seen.device == device && blocks[i]->mapped > 0)
            bytes += blocks[i]->mapped;
    return bytes;
}
