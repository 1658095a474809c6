/* common.c - see parts.h.
 *
 * The first rank of a host makes a file without a name (memfd_create()), and the others open
 * it among that process's open files. MPI's own shared memory, MPI_Win_allocate_shared(), can
 * only be given back by all ranks together, which one that failed could not do; and Open MPI
 * takes it from a file system that may be smaller than the memory. */
#include "mpi/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/* What the first rank of a host tells the others. */
struct offer {
    int64_t process;
    int64_t file;  /* -1: there is none */
    uint64_t sign; /* stands at the start of the file: a process of that number may be another
                      one where ranks are in containers of their own */
};

static bool lies_before[MACHINE_DEVICES_MAX];

/* Makes the file; its pages are taken at once, for later none may be left. */
static int make_file(uint64_t bytes, struct offer *offer)
{
    const int file = memfd_create("pipeline-ranks", MFD_CLOEXEC);
    int failed = EINTR;
    if (file < 0)
        return -1;
    while (failed == EINTR)
        failed = posix_fallocate(file, 0, (off_t)bytes);
    if (failed != 0 || getrandom(&offer->sign, sizeof offer->sign, 0) != sizeof offer->sign ||
        pwrite(file, &offer->sign, sizeof offer->sign, 0) != sizeof offer->sign) {
        close(file);
        return -1;
    }
    offer->process = getpid();
    offer->file = file;
    return file;
}

static int open_file(const struct offer *offer)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRId64, offer->process, offer->file);
    return offer->file < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Maps it; returns NULL unless it is the one that was offered. */
static void *map_file(int file, uint64_t bytes, uint64_t sign)
{
    uint64_t found = 0;
    if (pread(file, &found, sizeof found, 0) != sizeof found || found != sign)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* Returns memory that all ranks of this host have mapped, or NULL in each of them. */
static void *map_common(uint64_t bytes, bool wanted)
{
    struct offer offer = {.file = -1};
    int file = -1, all;
    void *memory = NULL;
    if (world.local == 0 && wanted)
        file = make_file(bytes, &offer);
    MPI_Bcast(&offer, sizeof offer, MPI_BYTE, 0, world.host);
    if (world.local > 0 && wanted)
        file = open_file(&offer);
    if (file >= 0)
        memory = map_file(file, bytes, offer.sign);
    const int own = memory != NULL;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, world.host); /* all have opened it */
    if (file >= 0)
        close(file);
    if (all)
        return memory;
    if (memory != NULL)
        munmap(memory, bytes);
    return NULL;
}

/* Learns which ranks' buffers this one can reach: those of its host, if all there took them. */
static void see_host(bool taken, struct ranks_seen *seen)
{
    uint32_t first = taken ? world.number : UINT32_MAX, all[MACHINE_DEVICES_MAX];
    MPI_Bcast(&first, 1, MPI_UINT32_T, 0, world.host);
    MPI_Allgather(&first, 1, MPI_UINT32_T, all, 1, MPI_UINT32_T, world.ranks);
    for (uint32_t rank = 0; rank < world.count; rank++) {
        seen->places[rank].common = all[rank] != UINT32_MAX;
        lies_before[rank] = seen->places[rank].common && all[rank] == first;
    }
}

void common_take(struct arrays *arrays, struct ranks_seen *seen)
{
    static const enum buffer handed[] = {BUFFER_HOST_CARRY, BUFFER_HOST_EXCHANGE};
    enum { COUNT = sizeof handed / sizeof handed[0] };
    const bool wanted = getenv("PIPELINE_NO_COMMON") == NULL;
    void *memory[COUNT] = {NULL};
    bool any = false, all = true;
    for (int i = 0; i < COUNT && all; i++) {
        const enum buffer b = handed[i];
        if (arrays->host[b] == NULL)
            continue;
        /* Its pages are given back first, so that no host needs room for both. */
        madvise(arrays->host[b], arrays->mapped[b], MADV_DONTNEED);
        memory[i] = map_common(arrays->mapped[b], wanted);
        any = true;
        all = memory[i] != NULL;
    }
    for (int i = 0; i < COUNT; i++) {
        const enum buffer b = handed[i];
        if (memory[i] == NULL)
            continue;
        host_unmap(all ? arrays->host[b] : memory[i], arrays->mapped[b]);
        if (all)
            arrays->host[b] = memory[i];
    }
    see_host(any && all, seen);
}

bool common_with(uint32_t rank)
{
    return lies_before[rank];
}

bool common_flags(struct flags *flags, uint32_t count)
{
    bool all = true;
    for (uint32_t rank = 0; rank < world.count; rank++)
        all &= common_with(rank);
    *flags = (struct flags){.count = count, .bytes = count * sizeof *flags->words};
    flags->words = all ? map_common(flags->bytes, true) : NULL;
    if (flags->words != NULL)
        flags_lower(flags); /* the file began with its sign */
    return flags->words != NULL;
}
