/* costs.c - what the recorder itself takes of the program's time: by kinds of calls, of some
 * that were looked at. */
#include "record/record.h"

static struct {
    _Atomic uint64_t calls, outside_ns, inside_ns;
} costs[ENTRY_FRAMES]; /* calls of further kinds are no calls */

static const char *const names[ENTRY_FRAMES] = {
    [ENTRY_CALL] = "call",       [ENTRY_COPY] = "copy",         [ENTRY_COPY2D] = "copy2d",
    [ENTRY_SET] = "set",         [ENTRY_LAUNCH] = "launch",     [ENTRY_RECORD] = "record",
    [ENTRY_WAIT] = "wait",       [ENTRY_SYNC_DEVICE] = "sync",  [ENTRY_SYNC_STREAM] = "sync",
    [ENTRY_SYNC_EVENT] = "sync", [ENTRY_FUNCTION] = "function", [ENTRY_GRAPH] = "graph",
};

void costs_add(enum entry_kind kind, int64_t outside_ns, int64_t inside_ns)
{
    if (kind == ENTRY_SYNC_STREAM || kind == ENTRY_SYNC_EVENT)
        kind = ENTRY_SYNC_DEVICE; /* they have one name */
    atomic_fetch_add_explicit(&costs[kind].calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&costs[kind].outside_ns, (uint64_t)outside_ns,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&costs[kind].inside_ns, (uint64_t)inside_ns,
                              memory_order_relaxed);
}

void costs_write(void)
{
    for (size_t kind = 0; kind < ENTRY_FRAMES; kind++) {
        const uint64_t calls = atomic_load(&costs[kind].calls);
        if (calls == 0)
            continue;
        file_begin("cost");
        file_text(names[kind]);
        file_address(calls);
        file_address(atomic_load(&costs[kind].outside_ns));
        file_address(atomic_load(&costs[kind].inside_ns));
        file_end();
    }
}
