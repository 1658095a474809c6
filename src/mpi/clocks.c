/* clocks.c - see clocks.h. The way of NTP's: Mills, RFC 5905, section 8. */
#include "mpi/clocks.h"

#include "mpi/world.h"
#include "plan/timeline.h"
#include "run/cpu_worker.h"

#include <stdlib.h>

enum { ROUNDS = 200 };

/* Asks a rank for its clock. */
static void ask(uint32_t rank, struct rank_place *place)
{
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t theirs_ns;
        const int64_t before_ns = clock_now_ns();
        world_send(&before_ns, sizeof before_ns, rank);
        world_receive(&theirs_ns, sizeof theirs_ns, rank);
        const int64_t took_ns = clock_now_ns() - before_ns;
        if (took_ns >= least_ns)
            continue;
        least_ns = took_ns;
        place->offset_ns = theirs_ns - (before_ns + took_ns / 2);
        place->error_ns = (took_ns + 1) / 2;
    }
}

static void answer(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t asked_ns;
        world_receive(&asked_ns, sizeof asked_ns, 0);
        const int64_t now_ns = clock_now_ns();
        world_send(&now_ns, sizeof now_ns, 0);
    }
}

void clocks_compare(struct ranks_seen *seen)
{
    if (world.number > 0)
        answer();
    for (uint32_t rank = 1; world.number == 0 && rank < world.count; rank++)
        ask(rank, &seen->places[rank]);
    seen->clocks = true;
}

void clocks_compare_again(struct ranks_seen *seen)
{
    struct ranks_seen after = *seen;
    clocks_compare(&after);
    for (uint32_t rank = 1; world.number == 0 && rank < world.count; rank++) {
        struct rank_place *place = &seen->places[rank];
        const int64_t error_ns = later(place->error_ns, after.places[rank].error_ns);
        place->error_ns = error_ns + llabs(after.places[rank].offset_ns - place->offset_ns);
    }
}
