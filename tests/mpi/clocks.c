/* clocks.c - whether the clocks of ranks are known as well as they are said to be. All ranks
 * are on one host, whose clock is the same for all; each gets one that is far off and is to be
 * found. Run by tests/mpi/run.sh:
 *
 *     mpirun -n 4 clocks-check
 *
 * Prints one line by rank 0, and exits with 1 where a clock is further off than it is said to
 * be. */
#include "mpi/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 20 };

/* What the clock of a rank says more than the host's. */
static int64_t skew_ns(uint32_t rank)
{
    return rank % 2 ? -(int64_t)rank * 1000000007 : (int64_t)rank * 700000001;
}

/* The linker has all calls of clock_now_ns() come here (-Wl,--wrap). */
int64_t __real_clock_now_ns(void);
int64_t __wrap_clock_now_ns(void);
int64_t __wrap_clock_now_ns(void)
{
    return __real_clock_now_ns() + skew_ns(world.number);
}

int main(int argc, char **argv)
{
    struct error error = {0};
    int64_t most_error_ns = 0, most_off_ns = 0;
    int wrong = 0;
    if (world_join(&argc, &argv, &error) != STATUS_OK)
        return 2;
    for (int i = 0; i < TIMES; i++) {
        struct ranks_seen seen = {.count = world.count};
        clocks_compare(&seen);
        for (uint32_t rank = 1; world.number == 0 && rank < world.count; rank++) {
            const struct rank_place *place = &seen.places[rank];
            const int64_t off_ns = llabs(place->offset_ns - skew_ns(rank));
            wrong += off_ns > place->error_ns;
            most_off_ns = off_ns > most_off_ns ? off_ns : most_off_ns;
            most_error_ns = place->error_ns > most_error_ns ? place->error_ns : most_error_ns;
        }
    }
    if (world.number == 0)
        printf("clocks: %d of %" PRIu32 " further off than said; at most %" PRId64
               " ns off, said to be within %" PRId64 "\n",
               wrong, TIMES * (world.count - 1), most_off_ns, most_error_ns);
    MPI_Finalize();
    return wrong > 0;
}
