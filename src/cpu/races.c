/* races.c - accesses of a block's threads to shared memory with nothing that orders them: a
 * barrier of the block, what makes their warp wait, or atomics. Fences and locks are taken at
 * their word: who uses them orders its accesses as it likes until the next barrier. */
#include "cpu/watch.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last accesses of a word. Code is kept without its upper half, which all code shares. */
struct watch_cell {
    struct seen {
        uint32_t epoch, code;
        uint16_t thread, warp_epoch;
        uint8_t bytes; /* a bit each */
        uint8_t kind;
        uint8_t many; /* one of several threads: of the warp or, if 2, of the block */
    } read, write;
};

/* Sets where the thread's own variables of the program lie, shared ones among them. */
static int find_variables(struct dl_phdr_info *info, size_t size, void *context)
{
    struct watch_block *block = context;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS && info->dlpi_tls_data != NULL) {
            block->shared[0] = (uintptr_t)info->dlpi_tls_data;
            block->bytes[0] = info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the first is the program */
}

void watch_block_begin(struct watch_block *block, void *dynamic, size_t bytes)
{
    if (block->bytes[0] == 0)
        dl_iterate_phdr(find_variables, block);
    block->shared[1] = (uintptr_t)dynamic;
    block->bytes[1] = bytes;
    block->begun = ++block->epoch;
    block->warp_begun = block->warp_epochs[0];
}

/* Returns the cell of a word of a part, from where the others follow; NULL: no memory. */
static struct watch_cell *cells_of(struct watch_block *block, int part)
{
    const size_t need = (block->bytes[part] / 4 + 8) * sizeof(struct watch_cell);
    if (block->cells_bytes[part] < need) {
        free(block->cells[part]);
        block->cells[part] = calloc(1, need);
        block->cells_bytes[part] = block->cells[part] != NULL ? need : 0;
    }
    return block->cells[part];
}

static bool is_ordered(const struct watch_lane *lane, const struct seen *seen)
{
    const struct watch_block *block = lane->block;
    const uint32_t warp = lane->thread / WATCH_WARP;
    const bool in_warp = seen->many < 2 && seen->thread / WATCH_WARP == warp &&
                         seen->warp_epoch != block->warp_epochs[warp];
    return seen->epoch != block->epoch || in_warp ||
           (seen->thread == lane->thread && seen->many == 0);
}

/* This stands for several threads: only the last is known, and that may be who looks. */
#define UNKNOWN UINT32_MAX

static void fail(uintptr_t code, bool writes, uint32_t other, bool other_read,
                 uint32_t other_code)
{
    char what[512], source[256] = "", thread[32] = "another thread";
    if (other != UNKNOWN) {
        grid_source((code & ~(uintptr_t)UINT32_MAX) | other_code, source, sizeof source);
        snprintf(thread, sizeof thread, "thread %u", other);
    }
    snprintf(what, sizeof what,
             "a race: it %s shared memory that %s has %s%s%s, with no barrier in between",
             writes ? "writes" : "reads", thread, other_read ? "read" : "written",
             source[0] != '\0' ? " in " : "", source);
    grid_fail(what, code);
}

void watch_settle(struct watch_block *block)
{
    struct watch_write *write = &block->doubtful;
    const uint32_t bytes = write->bytes;
    write->bytes = 0;
    if (bytes > 0 && memcmp((const void *)write->at, write->was, bytes) != 0)
        fail(write->code, true, write->other, write->read, (uint32_t)write->other_code);
}

static void remember(const struct watch_lane *lane, struct seen *seen, unsigned bytes,
                     enum watch_kind kind, uintptr_t code)
{
    const uint32_t warp = lane->thread / WATCH_WARP;
    const bool ordered = is_ordered(lane, seen);
    const bool again = seen->epoch == lane->block->epoch && seen->thread == lane->thread;
    const bool together = !ordered && seen->thread / WATCH_WARP == warp && seen->many < 2;
    *seen = (struct seen){.epoch = lane->block->epoch,
                          .code = (uint32_t)code,
                          .thread = (uint16_t)lane->thread,
                          .warp_epoch = lane->block->warp_epochs[warp],
                          .bytes = (uint8_t)(ordered && !again ? bytes : bytes | seen->bytes),
                          .kind = (uint8_t)kind,
                          .many = ordered    ? 0
                                  : together ? 1
                                             : 2};
}

/* Looks at the access of a word's `bytes`; a write that races is doubtful. */
static void look(struct watch_lane *lane, struct watch_cell *cell, uintptr_t at, uint32_t size,
                 unsigned bytes, enum watch_kind kind, uintptr_t code)
{
    const bool writes = (kind & WATCH_WRITES) != 0, atomic = (kind & WATCH_ATOMIC) != 0;
    const bool trusts = lane->trusted == lane->block->epoch;
    const struct seen *others[] = {&cell->write, &cell->read};
    for (int i = 0; i < (writes ? 2 : 1); i++) {
        const struct seen *other = others[i];
        if (trusts || (other->bytes & bytes) == 0 || is_ordered(lane, other) ||
            (atomic && (other->kind & WATCH_ATOMIC) != 0))
            continue;
        const uint32_t thread = other->thread != lane->thread ? other->thread : UNKNOWN;
        if (!writes)
            fail(code, false, thread, false, other->code);
        lane->block->doubtful = (struct watch_write){.at = at,
                                                     .code = code,
                                                     .other_code = other->code,
                                                     .bytes = size,
                                                     .other = thread,
                                                     .read = i == 1};
        memcpy(lane->block->doubtful.was, (const void *)at, size);
    }
    if (writes)
        remember(lane, &cell->write, bytes, kind, code);
    else if (!atomic)
        remember(lane, &cell->read, bytes, kind, code);
}

bool watch_shared(struct watch_lane *lane, uintptr_t at, uint32_t size, enum watch_kind kind,
                  uintptr_t code)
{
    struct watch_block *block = lane->block;
    const int part = at - block->shared[0] < block->bytes[0] ? 0 : 1;
    const uintptr_t offset = at - block->shared[part];
    if (offset >= block->bytes[part])
        return false;
    if (part == 1 && block->bytes[1] - offset < size)
        grid_fail("an access behind the dynamic shared memory of the launch", code);
    watch_settle(block);
    struct watch_cell *cells = cells_of(block, part);
    for (uint32_t done = 0; done < size && cells != NULL;) {
        const uint32_t in_word = (uint32_t)((offset + done) % 4);
        const uint32_t bytes = size - done < 4 - in_word ? size - done : 4 - in_word;
        look(lane, &cells[(offset + done) / 4], at, size, (~(~0u << bytes)) << in_word, kind,
             code);
        done += bytes;
    }
    return true;
}
