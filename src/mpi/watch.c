/* watch.c - see parts.h.
 *
 * A rank that was killed is noticed by mpirun, which ends the others. One that was stopped, or
 * whose host is gone, is missed here. A rank that waits for its GPU gives its signs all the
 * same: how long that may take, nobody knows. */
#include "mpi/parts.h"

#include "run/cpu_worker.h"
#include "term/output_file.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define TICK_NS    INT64_C(100000000)
#define BEAT_NS    INT64_C(500000000)
#define SILENCE_NS INT64_C(3500000000)

static pthread_t thread;
static atomic_bool stops;
static bool runs;

/* Takes all signs that have come; last_ns[r] becomes `now_ns` for each rank r that sent one. */
static void hear(int64_t *last_ns, int64_t now_ns)
{
    int there;
    MPI_Status from;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, world.watch, &there, &from);
    while (there) {
        char sign;
        MPI_Recv(&sign, 1, MPI_BYTE, from.MPI_SOURCE, 0, world.watch, MPI_STATUS_IGNORE);
        last_ns[from.MPI_SOURCE] = now_ns;
        MPI_Iprobe(MPI_ANY_SOURCE, 0, world.watch, &there, &from);
    }
}

/* Sends a sign to each rank that watches this one. */
static void live(void)
{
    const char sign = 0;
    if (world.number != 0)
        MPI_Send(&sign, 1, MPI_BYTE, 0, 0, world.watch);
    else
        MPI_Send(&sign, 1, MPI_BYTE, 1, 0, world.watch);
}

/* Ends all ranks. Files that are not whole have no name; those of this rank that have one lose
 * it here. */
static void miss(uint32_t rank)
{
    fprintf(stderr,
            "pipeline: rank %" PRIu32 " of %" PRIu32 " does not answer: the run is ended\n",
            rank, world.count);
    output_files_unlink();
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void look(const int64_t *last_ns, int64_t now_ns)
{
    const uint32_t first = world.number == 0 ? 1 : 0,
                   end = world.number == 0 ? world.count : world.number == 1;
    for (uint32_t rank = first; rank < end; rank++) {
        if (now_ns - last_ns[rank] > SILENCE_NS)
            miss(rank);
    }
}

static void *watch(void *unused)
{
    int64_t last_ns[MACHINE_DEVICES_MAX], beat_ns = 0, before_ns = clock_now_ns();
    (void)unused;
    for (uint32_t i = 0; i < MACHINE_DEVICES_MAX; i++)
        last_ns[i] = before_ns;
    while (!atomic_load(&stops)) {
        const int64_t now_ns = clock_now_ns();
        /* Who was stopped and goes on, with all others, has heard nobody meanwhile. */
        for (uint32_t i = 0; now_ns - before_ns > 2 * BEAT_NS && i < MACHINE_DEVICES_MAX; i++)
            last_ns[i] = now_ns;
        before_ns = now_ns;
        if (now_ns - beat_ns > BEAT_NS) {
            live();
            beat_ns = now_ns;
        }
        hear(last_ns, now_ns);
        look(last_ns, now_ns);
        nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
    }
    return NULL;
}

enum status watch_begin(struct error *error)
{
    if (world.count == 1)
        return STATUS_OK;
    if (pthread_create(&thread, NULL, watch, NULL) != 0)
        return error_set(error, STATUS_FAILED, "no thread to watch the ranks with");
    runs = true;
    return STATUS_OK;
}

void watch_end(void)
{
    int64_t unused_ns[MACHINE_DEVICES_MAX];
    if (!runs)
        return;
    /* Whoever waits here still watches. */
    MPI_Barrier(world.ranks);
    atomic_store(&stops, true);
    pthread_join(thread, NULL);
    MPI_Barrier(world.ranks);
    hear(unused_ns, 0);
    runs = false;
}
