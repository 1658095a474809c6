/* pieces.c - copies within the host's memory, by many cores. */
#include "run/pieces.h"

#include "plan/rules.h"
#include "run/cpu_worker.h"

#include <omp.h>
#include <stdint.h>
#include <string.h>

/* Copies bytes [begin, end) of all pieces, as if these lay one behind another. */
static void copy_part(const struct pieces *pieces, uint64_t begin, uint64_t end)
{
    uint64_t first = 0; /* of the present piece */
    for (size_t i = 0; i < pieces->count && first < end; i++) {
        const uint64_t last = first + pieces->bytes[i];
        const uint64_t from = begin > first ? begin : first, to = end < last ? end : last;
        if (from < to)
            memcpy((char *)pieces->to[i] + (from - first),
                   (const char *)pieces->from[i] + (from - first), to - from);
        first = last;
    }
}

/* Returns how many threads copy so many bytes. What one copies in the time that another takes
 * to hear of it is not shared; and the issuing thread and the driver's need cores, too. */
static int team_of(uint64_t bytes)
{
    const uint64_t worthwhile = 1 + bytes / RULE_PACK_SHARE_BYTES;
    const int most = cpu_worker_threads();
    return worthwhile < (uint64_t)most ? (int)worthwhile : most;
}

void pieces_open_team(void)
{
    volatile int opened = 0;
#pragma omp parallel num_threads(cpu_worker_threads())
#pragma omp atomic
    opened += 1;
    (void)opened; /* where there is no OpenMP, nobody else reads it */
}

void pieces_copy(const struct pieces *pieces)
{
    uint64_t all = 0;
    for (size_t i = 0; i < pieces->count; i++)
        all += pieces->bytes[i];
    const int team = team_of(all);
    if (team == 1) {
        copy_part(pieces, 0, all);
        return;
    }
#pragma omp parallel num_threads(team)
    {
        const uint64_t threads = (uint64_t)omp_get_num_threads();
        const uint64_t thread = (uint64_t)omp_get_thread_num();
        copy_part(pieces, all / threads * thread + all % threads * thread / threads,
                  all / threads * (thread + 1) + all % threads * (thread + 1) / threads);
    }
}
