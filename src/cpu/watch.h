/* watch.h - what the threads of kernels read and write, where the program is compiled with
 * -fsanitize=thread: its calls of __tsan_*() are answered by watch.c.
 *
 * A site is a place in the code that reads or writes. Most accesses of a site go to the block
 * of memory of its last one, and take a few instructions: they are counted, and their bytes
 * marked in that block's maps. The others are the business of watch_other(). */
#ifndef PIPELINE_CPU_WATCH_H
#define PIPELINE_CPU_WATCH_H

#include "cpu/cpu.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WATCH_WARP = 32,
    WATCH_SITES = 4096,
    WATCH_KEPT = 64,
    WATCH_LOG = 256,
    WATCH_TAG = 56 /* bit of a site's code from which on is what tells it from others there */
};

enum watch_kind { WATCH_READS = 1, WATCH_WRITES = 2, WATCH_ATOMIC = 4 };

/* A block of memory as the launch has touched it: maps with a bit for each byte. */
struct watch_memory {
    uintptr_t from;
    uint64_t bytes;
    uint64_t *reads, *writes, *atomics;
    uint64_t low, high; /* all that is set lies in [low, high) */
    bool counts;        /* false: parameters, constants of the program's */
    bool own;           /* variables of the program's */
};

struct watch_site {
    uintptr_t code; /* behind the access, with WATCH_TAG; 0: unused */
    enum watch_kind kind;
    uint32_t size; /* of an access; 0: differs */
    struct watch_memory *memory;
    uintptr_t from; /* of that memory */
    uint64_t bytes;
    uint64_t *map;
    uint64_t low, high;    /* what it marked there */
    uint64_t count;        /* accesses of that memory */
    uint64_t total, asked; /* of all memory before: accesses, and their bytes */
    bool is_shared;        /* it is shared memory */
    /* Accesses of lanes that are looked at; their warps' sectors, those of them that are their
     * block's first there, turns of the L1, and the warps' requests that it can't answer. */
    uint64_t sampled, sectors, fresh, turns, waits;
};

/* An access that is kept to be compared with those of the warp's other lanes. */
struct watch_access {
    uint32_t site, bytes;
    uint64_t at;
};

/* What is kept of a lane. */
struct watch_log {
    uint32_t count;
    uint8_t of_site[WATCH_KEPT];
    struct watch_access items[WATCH_LOG];
};

struct watch_cell;

/* A block of threads: its shared memory. */
struct watch_block {
    uintptr_t shared[2]; /* of variables, and dynamic */
    size_t bytes[2], cells_bytes[2];
    struct watch_cell *cells[2]; /* one for each word of 4 bytes */
    uint32_t epoch;              /* counts barriers */
    uint16_t warp_epochs[32];    /* count what makes a warp wait */
    uint32_t begun;              /* when the block began: these two counts, the first warp's */
    uint16_t warp_begun;
    struct watch_write { /* that races, unless it writes what was there */
        uintptr_t at, code, other_code;
        uint32_t bytes, other; /* bytes 0: none */
        unsigned char was[16];
        bool read; /* the other thread has read it, else written */
    } doubtful;
};

struct watch_lane {
    struct watch_block *block;
    uintptr_t stack; /* nobody else's */
    size_t stack_bytes;
    uint32_t thread;
    uint32_t trusted; /* epoch in which it has fenced or locked: its races are meant */
    uintptr_t last_volatile;
    struct watch_log *log; /* NULL: is not looked at */
};

/* The lane whose code runs on this thread of the operating system's, or NULL. */
extern __thread struct watch_lane *watch_lane;

extern struct watch_site watch_sites[WATCH_SITES]; /* found by code, from its hash on */

/* --- for grid.cpp --- */
void watch_begin(const struct cpu_launch *launch);
void watch_end(struct cpu_did *did);
void watch_count(struct cpu_did *did); /* what was computed */

/* Blocks begin, and have ended; `dynamic` is the dynamic shared memory. */
void watch_block_begin(struct watch_block *block, void *dynamic, size_t bytes);
void watch_lane_begin(struct watch_lane *lane, struct watch_block *block, uint32_t thread,
                      bool sampled);
bool watch_samples(uint64_t block); /* is a block to be sampled? */
void watch_block_end(struct watch_lane *lanes, size_t stride, uint32_t threads);

/* Judges a doubtful write before its thread waits or ends. */
void watch_settle(struct watch_block *block);

/* --- between watch.c, watched.c, sectors.c and races.c --- */
void sectors_begin(const struct cpu_launch *launch);
void sectors_sum(struct cpu_did *did); /* when each site's `total` and `asked` are all */
struct watch_site *watch_find(uintptr_t code, uint32_t size, enum watch_kind kind);
void watch_other(struct watch_lane *lane, struct watch_site *site, uintptr_t at,
                 uint32_t bytes);
void watch_keep(struct watch_lane *lane, struct watch_site *site, uintptr_t at, uint32_t bytes);
bool watch_shared(struct watch_lane *lane, uintptr_t at, uint32_t bytes, enum watch_kind kind,
                  uintptr_t code);

/* --- threads.cpp --- */

/* Makes a fault of an access of the thread that runs, which never goes on. */
__attribute__((noreturn)) void grid_fail(const char *what, uintptr_t code);

/* Runs a shell's command on the part of the program that has the code: $file, $from and $to of
 * that code in it, and $base, where that lies in memory. Returns what it prints, to be closed
 * with pclose(); NULL: the code is a library's, or nothing can be run. */
FILE *grid_ask(uintptr_t from, uintptr_t to, const char *command);

/* Writes where code is in the source: "file:line", or "". */
void grid_source(uintptr_t code, char *text, size_t size);

/* That, where something is watched. */
extern void (*watch_source)(uintptr_t code, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
