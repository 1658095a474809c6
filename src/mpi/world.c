/* world.c - who the ranks are, how they agree, and how far their clocks are apart. A failed
 * call of MPI ends all ranks, in the words of its library. */
#include "mpi/parts.h"

#include "plan/timeline.h"
#include "run/cpu_worker.h"

#include <inttypes.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct world world = {.count = 1};

/* Ranks of one host fill and check their arrays at once: those that may run on the same cores
 * have an even part of them each, unless the user says how many threads there are. */
static void share_cores(int beside)
{
    int alike = 0;
    cpu_set_t own, other;
    if (sched_getaffinity(0, sizeof own, &own) != 0)
        CPU_ZERO(&own);
    for (int i = 0; i < beside; i++) {
        other = own;
        MPI_Bcast(&other, sizeof other, MPI_BYTE, i, world.host);
        alike += CPU_EQUAL(&own, &other);
    }
    const int cores = omp_get_num_procs() / (alike > 0 ? alike : 1);
    if (getenv("OMP_NUM_THREADS") == NULL && alike > 1)
        omp_set_num_threads(cores > 1 ? cores : 1);
}

enum status world_join(int *argc, char ***argv, struct error *error)
{
    int threads, count, number, local, beside;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &threads);
    MPI_Comm_dup(MPI_COMM_WORLD, &world.ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &world.watch);
    MPI_Comm_dup(MPI_COMM_WORLD, &world.courier);
    MPI_Comm_size(world.ranks, &count);
    MPI_Comm_rank(world.ranks, &number);
    MPI_Comm_split_type(world.ranks, MPI_COMM_TYPE_SHARED, number, MPI_INFO_NULL, &world.host);
    MPI_Comm_rank(world.host, &local);
    MPI_Comm_size(world.host, &beside);
    share_cores(beside);
    world.count = (uint32_t)count;
    world.number = (uint32_t)number;
    world.local = (uint32_t)local;
    if (threads == MPI_THREAD_MULTIPLE || count == 1)
        return STATUS_OK;
    world.failed = true;
    return error_set(error, STATUS_FAILED,
                     "MPI's library lets one thread alone send: it needs MPI_THREAD_MULTIPLE");
}

/* Sets `error` to that of the first rank that failed, with its name unless all say the same. */
static enum status first_failure(const struct error *all, struct error *error)
{
    uint32_t first = 0, alike = 0;
    while (all[first].status == STATUS_OK)
        first++;
    for (uint32_t i = 0; i < world.count; i++)
        alike +=
            all[i].status == all[first].status && strcmp(all[i].text, all[first].text) == 0;
    error_clear(error);
    if (alike == world.count)
        return error_pass(error, &all[first]);
    return error_set(error, all[first].status, "rank %" PRIu32 ": %.900s", first,
                     all[first].text);
}

enum status world_agree(enum status status, struct error *error)
{
    if (world.count == 1 || world.failed)
        return status;
    int bad = status != STATUS_OK, any;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, world.ranks);
    if (!any)
        return STATUS_OK;
    struct error own = {0}, all[MACHINE_DEVICES_MAX];
    if (bad)
        own = *error;
    own.status = status;
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, world.ranks);
    world.failed = true;
    return first_failure(all, error);
}

uint32_t world_unlike(uint64_t own)
{
    uint64_t all[MACHINE_DEVICES_MAX];
    uint32_t rank = 1;
    MPI_Allgather(&own, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, world.ranks);
    while (rank < world.count && all[rank] == all[0])
        rank++;
    return rank < world.count ? rank : 0;
}

void world_host(char text[RANK_HOST])
{
    if (gethostname(text, RANK_HOST) != 0)
        snprintf(text, RANK_HOST, "unknown");
    text[RANK_HOST - 1] = '\0';
}

void world_send(const void *data, uint64_t bytes, uint32_t to)
{
    const char *at = data;
    for (; bytes > 0; bytes -= bytes < WORLD_PIECE ? bytes : WORLD_PIECE, at += WORLD_PIECE)
        MPI_Send(at, bytes < WORLD_PIECE ? (int)bytes : WORLD_PIECE, MPI_BYTE, (int)to, 0,
                 world.ranks);
}

void world_receive(void *data, uint64_t bytes, uint32_t from)
{
    char *at = data;
    for (; bytes > 0; bytes -= bytes < WORLD_PIECE ? bytes : WORLD_PIECE, at += WORLD_PIECE)
        MPI_Recv(at, bytes < WORLD_PIECE ? (int)bytes : WORLD_PIECE, MPI_BYTE, (int)from, 0,
                 world.ranks, MPI_STATUS_IGNORE);
}

/* --- clocks: the way of NTP's, Mills, RFC 5905, section 8 --- */

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
