/* occupancy.c - CUDA's occupancy rules, for compute capability 5.0 and later.
 *
 * NVIDIA, "CUDA C++ Programming Guide", "Compute Capabilities", and the Occupancy Calculator of
 * Nsight Compute: registers are given to warps in units of 256, an SM has four parts with a
 * quarter of the registers each, shared memory is given in units of 128 bytes (256 before 8.0),
 * and from 8.0 on each block takes 1 KiB more of it. */
#include "trace/occupancy.h"

enum { WARP = 32, REGISTER_UNIT = 256, PARTS = 4 };

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint32_t occupancy_blocks_per_sm(const struct recorded_device *device,
                                 const struct recorded_op *launch)
{
    enum { RESERVED = 1024 };
    const bool newer = device->major >= 8;
    const uint64_t warps = launch->threads > 0 ? (launch->threads + WARP - 1) / WARP : 1;
    uint64_t blocks = UINT32_MAX;
    if (device->threads_per_sm > 0)
        blocks = least(blocks, device->threads_per_sm / WARP / warps);
    if (device->blocks_per_sm > 0)
        blocks = least(blocks, device->blocks_per_sm);
    if (device->registers_per_sm > 0 && launch->registers > 0) {
        uint64_t of_warp = round_up((uint64_t)launch->registers * WARP, REGISTER_UNIT);
        blocks = least(blocks, device->registers_per_sm / PARTS / of_warp * PARTS / warps);
    }
    uint64_t shared =
        round_up((uint64_t)launch->shared + (newer ? RESERVED : 0), newer ? 128 : 256);
    if (device->shared_per_sm > 0 && shared > 0)
        blocks = least(blocks, device->shared_per_sm / shared);
    return blocks > 0 ? (uint32_t)blocks : 1;
}

double occupancy_fill(const struct recorded_device *device, const struct recorded_op *launch)
{
    const double sms = device->sms > 0 ? device->sms : 1;
    const double room = sms * occupancy_blocks_per_sm(device, launch);
    const double wanted = launch->blocks > 0 ? launch->blocks : 1;
    return wanted < room ? wanted / room : 1;
}
