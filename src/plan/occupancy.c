/* occupancy.c - see occupancy.h. */
#include "plan/occupancy.h"

#include <stdbool.h>

enum { WARP = 32, REGISTER_UNIT = 256, PARTS = 4 };

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct sm_room occupancy_room(const struct machine *machine)
{
    static const struct {
        int from; /* this compute capability, in tenths */
        uint32_t kib;
    } shared[] = {{120, 100}, {90, 228}, {86, 100}, {80, 164}, {75, 64},  {70, 96},
                  {61, 96},   {60, 64},  {52, 96},  {50, 64},  {37, 112}, {0, 48}};
    const int capability = machine_capability(machine);
    size_t row = 0;
    while (capability < shared[row].from)
        row++;
    return (struct sm_room){.major = (uint32_t)capability / 10,
                            .threads = machine->threads_per_sm,
                            .blocks = machine->blocks_per_sm,
                            .registers = capability >= 30 ? 65536 : 32768,
                            .shared = shared[row].kib << 10};
}

uint32_t occupancy_blocks_per_sm(const struct sm_room *room, const struct block_need *need)
{
    enum { RESERVED = 1024 };
    const bool newer = room->major >= 8;
    const uint64_t warps = need->threads > 0 ? (need->threads + (uint64_t)WARP - 1) / WARP : 1;
    uint64_t blocks = UINT32_MAX;
    if (room->threads > 0)
        blocks = least(blocks, room->threads / WARP / warps);
    if (room->blocks > 0)
        blocks = least(blocks, room->blocks);
    if (room->registers > 0 && need->registers > 0) {
        uint64_t of_warp = round_up((uint64_t)need->registers * WARP, REGISTER_UNIT);
        blocks = least(blocks, room->registers / PARTS / of_warp * PARTS / warps);
    }
    uint64_t shared =
        round_up((uint64_t)need->shared + (newer ? RESERVED : 0), newer ? 128 : 256);
    if (room->shared > 0 && shared > 0)
        blocks = least(blocks, room->shared / shared);
    return blocks > 0 ? (uint32_t)blocks : 1;
}

double occupancy_fill(const struct sm_room *room, uint32_t sms, uint32_t blocks,
                      const struct block_need *need)
{
    const double all = (double)(sms > 0 ? sms : 1) * occupancy_blocks_per_sm(room, need);
    const double wanted = blocks > 0 ? blocks : 1;
    return wanted < all ? wanted / all : 1;
}
