/* placement.h - the bytes of a plan's tiles, in the host's arrays and the device's slots. */
#ifndef PIPELINE_PLAN_PLACEMENT_H
#define PIPELINE_PLAN_PLACEMENT_H

#include "plan/plan.h"

/* A scan's carry has places of its own for each link and tile. On the device a tile's total is
 * that of all tiles so far, which is also the next tile's sum before; where the carry goes by
 * the host, a tile's total is its own alone. */
enum carry_place { CARRY_TOTAL, CARRY_BEFORE };

/* Plain data; it refers to its plan. */
struct placement {
    const struct plan *plan;
    int inputs;                                   /* arrays copied in, tile by tile */
    uint64_t reads[CHAIN_MAX], leaves[CHAIN_MAX]; /* bytes of an element, of each link */
    uint64_t in_bytes, out_bytes;                 /* of one that is copied in, and out */
    bool reduces;                                 /* a tile leaves one element */
    int last_input_link;   /* the last kernel that reads what was copied in */
    int first_output_link; /* the first kernel that writes what is copied out */
    bool in_place;         /* the kernel puts its result where its input was */
    uint32_t device_slots; /* of each device */
    bool mapped; /* the first kernel reads the host's arrays, the last one writes there */
    bool carry_by_host;            /* scans: the carry goes from tile to tile by the host */
    uint64_t stride[BUFFER_COUNT]; /* device buffers: bytes of a slot's part */
    uint64_t scratch[CHAIN_MAX];   /* offset of each kernel's scratch in the slot's part */
};

/* Returns the bytes of a part of a device's memory that holds `bytes` and ends where the next
 * one may begin. */
uint64_t placement_aligned(uint64_t bytes);

/* Lays out the plan's arrays by its chain, elements, tiles and slots, and sets its
 * buffer_bytes. */
void placement_begin(struct placement *placement, struct plan *plan, bool carry_by_host);

/* Returns the place of what link `link` carries into (CARRY_BEFORE, not for the first tile) or
 * out of tile `tile`: in BUFFER_DEVICE_CARRY, or, if carry_by_host, BUFFER_HOST_CARRY. */
struct range placement_carry(const struct placement *placement, enum buffer buffer,
                             uint32_t link, uint32_t tile, enum carry_place place);

/* The arrays that each tile has its part of. */
enum part { PART_IN0, PART_IN1, PART_OUT };

/* Where the part of some tiles is. They are of one batch, whose tiles a slot holds one behind
 * the other. */
struct part_places {
    struct range host; /* in the host's array */
    struct range sent; /* what copies move: the same, or where the host packs tiles in a slot of
                          its page-locked memory. A reduction's values are not packed: they lie
                          together already */
    struct range slot; /* in a slot of the device; without bytes where pages are prefetched */
};
struct part_places placement_part(const struct placement *placement, enum part part,
                                  struct tiles tiles);

/* Returns the bytes that all inputs of the tiles have together. */
uint64_t placement_input_bytes(const struct placement *placement, struct tiles tiles);

/* By links. What link `link`, a device's last, leaves of the tiles there; where the next device
 * takes it; and, where it goes by the host, the slot that it goes through. */
struct handing {
    struct range left, taken, host;
};
struct handing placement_handing(const struct placement *placement, uint32_t link,
                                 struct tiles tiles);

/* Sets what `op`, link `link` of the tiles, works on: its element count and, in what
 * op->kernel.ranges points to, all its ranges. Only a kernel whose launch may join tiles can
 * have more than one. */
void placement_kernel(const struct placement *placement, struct tiles tiles, uint32_t link,
                      struct op *op);

#endif
