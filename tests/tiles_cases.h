/* tiles_cases.h - cases of one launch over several tiles, for the emulator and for a device. */
#ifndef PIPELINE_TESTS_TILES_CASES_H
#define PIPELINE_TESTS_TILES_CASES_H

#include "kernels/kernel_code.h"

enum { TILES_TEXT = 512 };

/* Where a case's memory comes from, and how its launches are waited for. */
struct tiles_device {
    void *(*take)(uint64_t bytes); /* memory that the host and the device have at one address,
                                      at a multiple of 256 bytes; NULL where there is none */
    void (*give_back)(void *memory);
    const char *(*wait)(void); /* returns NULL, or what went wrong in the launches so far */
};

enum tiles_sizes {
    TILES_ALIKE,
    TILES_BY_ONE, /* every second tile has an element more */
    TILES_DRAWN,  /* any sizes from 0 on; the second is empty */
    TILES_SIZES_COUNT
};

enum tiles_places {
    TILES_ALIGNED, /* every tile begins at a multiple of 16 bytes */
    TILES_EVEN,    /* all arrays of a tile are equally far behind one */
    TILES_ODD,     /* no two are */
    TILES_PLACES_COUNT
};

struct tiles_case {
    uint32_t tiles;
    uint64_t count; /* elements of a tile, as `sizes` has it */
    enum tiles_sizes sizes;
    enum tiles_places places;
    bool in_place; /* where the kernel may work so */
    uint32_t intensity;
    uint32_t blocks; /* 0: as many as are planned for so many elements on an H200 */
    uint64_t told;   /* the launcher's kernel_args.count; 0: the elements of the largest tile */
};

/* Returns how many small cases there are, with at most 9000 elements each, and case `i`. */
uint32_t tiles_case_count(void);
struct tiles_case tiles_case_at(uint32_t i);

/* Launches the kernel by the launcher's `launch_tiles` on tiles that lie shuffled in each
 * array, with random and special values and with guard words around every tile. Returns true if
 * every element is right by the kernel's oracle, and no other byte has changed, neither of the
 * arrays nor of the table. If not, `text` says what is wrong. */
bool tiles_are_right(const struct kernel *kernel, const struct kernel_launcher *launcher,
                     const struct tiles_case *which, const struct tiles_device *device,
                     char text[TILES_TEXT]);

#endif
