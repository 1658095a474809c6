/* sectors.c - what warps do at once, by a few blocks that are looked at: the sectors of memory
 * and the words of shared memory that their lanes ask for together, their waits, and their
 * atomics at one place. */
#include "cpu/watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLED = 32, /* warps that are looked at, in whole blocks */
    BLOCKS = 4,   /* of which there are so many at least */
    OF_SITE = 32, /* accesses of a lane that are kept of each site */
    BANKS = 32,   /* of shared memory, each of 4 bytes */
    COUNTERS = 1 << 19,
};

struct watch_site watch_sites[WATCH_SITES];

/* Of the launch, and of its blocks that are looked at. */
static struct {
    uint64_t stride; /* of those among all */
    uint64_t blocks, warps;
    uint32_t sampled_blocks, atomics;
    double clashes; /* atomics at one place */
    uint32_t barriers, together;
} now;

/* Counters by keys, all of them 0 from a new epoch on. */
static struct counters {
    uint32_t epoch;
    struct {
        uint64_t key;
        uint32_t epoch, count;
    } items[COUNTERS];
} of_warp, of_block, of_launch;

static uint32_t *counter(struct counters *counters, uint64_t key)
{
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    while (counters->items[at % COUNTERS].epoch == counters->epoch &&
           counters->items[at % COUNTERS].key != key)
        at++;
    if (counters->items[at % COUNTERS].epoch != counters->epoch) {
        counters->items[at % COUNTERS].key = key;
        counters->items[at % COUNTERS].epoch = counters->epoch;
        counters->items[at % COUNTERS].count = 0;
    }
    return &counters->items[at % COUNTERS].count;
}

void sectors_begin(const struct cpu_launch *launch)
{
    const uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    const uint32_t wanted = SAMPLED / ((threads + WATCH_WARP - 1) / WATCH_WARP);
    const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    now.blocks = blocks;
    now.warps = blocks * ((threads + WATCH_WARP - 1) / WATCH_WARP);
    now.sampled_blocks = now.atomics = now.barriers = now.together = 0;
    now.clashes = 0;
    of_launch.epoch++;
    now.stride = blocks / (wanted > BLOCKS ? wanted : BLOCKS) | 1; /* odd: not all in a row */
}

bool watch_samples(uint64_t block)
{
    return block % now.stride == now.stride / 2;
}

void watch_lane_begin(struct watch_lane *lane, struct watch_block *block, uint32_t thread,
                      bool sampled)
{
    lane->block = block;
    lane->thread = thread;
    lane->trusted = 0;
    if (!sampled && lane->log == NULL)
        return;
    free(lane->log);
    lane->log = sampled ? calloc(1, sizeof *lane->log) : NULL;
}

void watch_keep(struct watch_lane *lane, struct watch_site *site, uintptr_t at, uint32_t bytes)
{
    enum { WIDEST = 16 };
    struct watch_log *log = lane->log;
    struct watch_access *last = log->count > 0 ? &log->items[log->count - 1] : NULL;
    uint8_t *kept = &log->of_site[(site - watch_sites) % WATCH_KEPT];
    if ((!site->is_shared && !site->memory->counts) || log->count == WATCH_LOG ||
        *kept == OF_SITE)
        return;
    ++*kept;
    site->sampled++;
    if (last != NULL && last->at + last->bytes == at && &watch_sites[last->site] != site &&
        watch_sites[last->site].kind == site->kind &&
        last->at % WIDEST + last->bytes + bytes <= WIDEST)
        last->bytes += bytes; /* parts of a vector */
    else
        log->items[log->count++] =
            (struct watch_access){(uint32_t)(site - watch_sites), bytes, at};
}

/* Returns the counter of something that the lanes of a warp do together. */
enum counted { PIECE, BANK, MOST, WAITS };
static uint32_t *of_lanes(uint64_t together, enum counted counted, uint64_t value)
{
    return counter(&of_warp, (together * 4 + counted) << 43 | (value & UINT64_MAX >> 21));
}

/* Counts an atomic of a warp's at a sector that other blocks come to as well: all of them, if
 * two do that are looked at. */
static void count_clash(uint64_t piece)
{
    if (now.atomics == COUNTERS / 4) /* that is enough */
        return;
    now.atomics++;
    uint32_t *first = counter(&of_launch, 2 * piece);
    const bool shared = *first != 0 && *first != now.sampled_blocks;
    *first = *first == 0 ? now.sampled_blocks : *first;
    const double here = ++*counter(&of_launch, 2 * piece + 1);
    const double all = shared ? here * (double)now.blocks / now.sampled_blocks : here;
    now.clashes = all > now.clashes ? all : now.clashes;
}

/* Counts what an access adds to those of the warp's other lanes: sectors, of which a block
 * reads each once from beyond the L1; of shared memory words, of which each bank hands out one
 * at a time. Turns are the L1's, each as long as a sector takes: a warp's request takes some in
 * any case, and so do the words that all banks hand out at once. What all lanes read of the
 * program's own variables is taken to be of constant memory, whose cache hands it out beside
 * the L1. */
static void count_access(struct watch_site *site, const struct watch_access *access,
                         uint64_t together)
{
    enum { REQUEST_TURNS = 5, WORDS_TURNS = 3 };
    const uint64_t size = site->is_shared ? 4 : CPU_SECTOR;
    const uint64_t last = (access->at + access->bytes - 1) / size;
    for (uint64_t piece = access->at / size; piece <= last; piece++) {
        uint32_t *most = of_lanes(together, MOST, 0);
        if ((*of_lanes(together, PIECE, piece))++ > 0)
            continue;
        if (site->is_shared) {
            const bool more = ++*of_lanes(together, BANK, piece % BANKS) > *most;
            *most += more;
            site->turns += more ? WORDS_TURNS : 0;
        } else {
            const bool own = site->memory->own && (site->kind & WATCH_WRITES) == 0;
            const bool fresh = (*counter(&of_block, piece))++ == 0;
            ++*most;
            site->turns += *most == 1u + own ? REQUEST_TURNS : *most > REQUEST_TURNS;
            site->sectors++;
            site->fresh += fresh;
            if (fresh || (site->kind & WATCH_WRITES) != 0)
                site->waits += (*of_lanes(together, WAITS, 0))++ == 0;
            if (site->kind == (WATCH_WRITES | WATCH_ATOMIC))
                count_clash(piece);
        }
    }
}

/* The k-th accesses of a warp's lanes at a site are one of the warp's. */
void watch_block_end(struct watch_lane *lanes, size_t stride, uint32_t threads)
{
    static uint32_t nth[WATCH_SITES];
    of_block.epoch++;
    if (lanes->log != NULL) {
        const struct watch_block *block = lanes->block;
        now.sampled_blocks++;
        now.barriers += block->epoch - block->begun;
        now.together += (uint16_t)(block->warp_epochs[0] - block->warp_begun);
    }
    for (uint32_t thread = 0; thread < threads && lanes->log != NULL; thread++) {
        const struct watch_lane *lane =
            (const struct watch_lane *)((char *)lanes + thread * stride);
        const struct watch_log *log = lane->log;
        of_warp.epoch += thread % WATCH_WARP == 0;
        for (uint32_t i = 0; log != NULL && i < log->count; i++) {
            const uint32_t site = log->items[i].site;
            count_access(&watch_sites[site], &log->items[i],
                         (uint64_t)site * OF_SITE + nth[site]++);
        }
        for (uint32_t i = 0; log != NULL && i < log->count; i++)
            nth[log->items[i].site] = 0;
    }
}

/* Sums up what sites did, by what sampled blocks did there. */
void sectors_sum(struct cpu_did *did)
{
    double all = 0, seen = 0, sectors = 0, fresh = 0, written = 0, turns = 0, waits = 0;
    for (struct watch_site *site = watch_sites; site < watch_sites + WATCH_SITES; site++) {
        const double total = (double)site->total;
        const double each = site->sampled > 0 ? total / (double)site->sampled : 0;
        const bool writes = (site->kind & WATCH_WRITES) != 0;
        *(writes ? &did->written_bytes : &did->read_bytes) += site->asked;
        all += total;
        seen += site->sampled > 0 ? total : 0;
        turns += each * (double)site->turns;
        waits += (site->kind & ~WATCH_READS) != WATCH_ATOMIC ? each * (double)site->waits : 0;
        sectors += each * (double)site->sectors;
        if (writes)
            written += each * (double)site->sectors;
        else if ((site->kind & WATCH_ATOMIC) == 0) /* that is one with its write */
            fresh += each * (double)site->fresh;
        *site = (struct watch_site){.code = 0};
    }
    const double more = seen > 0 ? all / seen : 0;
    did->sectors = (uint64_t)(more * sectors + 0.5);
    did->fresh_sectors = (uint64_t)(more * fresh + 0.5);
    did->written_sectors = (uint64_t)(more * written + 0.5);
    did->turns = (uint64_t)(more * turns + 0.5);
    did->waits = more * waits / (double)now.warps;
    did->barriers = (double)now.barriers / fmax(1, now.sampled_blocks);
    did->together = (double)now.together / fmax(1, now.sampled_blocks);
    did->clashes = now.clashes;
}
