/* ranks.c - what the program calls; see ranks.h. */
#include "mpi/ranks.h"

#include "core/mix.h"
#include "core/version.h"
#include "mpi/parts.h"

#include <inttypes.h>
#include <string.h>

/* Refuses ranks of programs that are unlike each other: they would take each other's messages
 * for something else. */
static enum status compare_versions(struct error *error)
{
    struct {
        char version[56];
        uint64_t bytes; /* mixed from those of what ranks send each other as it is */
    } own = {PIPELINE_VERSION, mix_at(mix_at(sizeof(struct machine), sizeof(struct rank_run)),
                                      mix_at(sizeof(struct judgement), sizeof(struct error)))},
      all[MACHINE_DEVICES_MAX];
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, world.ranks);
    for (uint32_t rank = 1; rank < world.count; rank++) {
        if (memcmp(&all[rank], &all[0], sizeof own) == 0)
            continue;
        world.failed = true;
        return error_set(
            error, STATUS_USAGE,
            "rank %" PRIu32 " is version %.55s of this program, and rank 0 %.55s%s", rank,
            all[rank].version, all[0].version,
            strcmp(all[rank].version, all[0].version) == 0 ? ": another build" : "");
    }
    return STATUS_OK;
}

enum status ranks_begin(int *argc, char ***argv, struct error *error)
{
    if (world_join(argc, argv, error) != STATUS_OK)
        return error->status;
    if (world.count > MACHINE_DEVICES_MAX) {
        world.failed = true;
        return error_set(error, STATUS_USAGE,
                         "there are %" PRIu32
                         " ranks, each with a device: allowed are %d at most",
                         world.count, MACHINE_DEVICES_MAX);
    }
    if (world.count == 1)
        return STATUS_OK;
    enum status status = compare_versions(error);
    return status == STATUS_OK ? world_agree(watch_begin(error), error) : status;
}

enum status ranks_end(enum status status, struct error *error)
{
    status = world_agree(status, error);
    watch_end();
    ranks_free_names();
    MPI_Finalize();
    return ranks_speak() ? status : STATUS_OK;
}

uint32_t ranks_count(void)
{
    return world.count;
}

bool ranks_speak(void)
{
    return world.number == 0;
}

enum status ranks_agree(enum status status, struct error *error)
{
    return world_agree(status, error);
}

/* Refuses ranks with different commands, of which some would wait for what others never do. */
static enum status compare_commands(const struct options *options, struct error *error)
{
    const uint32_t unlike = world_unlike((uint64_t)options->command);
    if (unlike == 0)
        return STATUS_OK;
    world.failed = true;
    return error_set(error, STATUS_USAGE,
                     "rank %" PRIu32
                     " has another command than rank 0: all ranks take the same "
                     "command line",
                     unlike);
}

enum status ranks_take(struct options *options, bool (*measures)(const char *device),
                       struct error *error)
{
    if (world.count == 1)
        return STATUS_OK;
    if (compare_commands(options, error) != STATUS_OK)
        return error->status;
    if (options->command == COMMAND_HELP || options->command == COMMAND_VERSION ||
        options->command == COMMAND_LIST)
        return STATUS_OK;
    if (world.number > 0)
        options->quiet = true;
    options->no_color = true; /* mpirun gives rank 0 a terminal even where a file is written */
    enum status status = ranks_compare_settings(options, measures, error);
    if (status == STATUS_OK)
        status = world_agree(ranks_name_devices(options, measures, error), error);
    return status;
}

/* Mixes all that ranks must agree on: what is done, in which stream, with which bytes. */
static uint64_t plan_hash(const struct plan *plan)
{
    uint64_t hash = mix_bits(plan->elements ^ mix_bits(plan->tiles) ^ plan->streams);
    EACH (const struct op, op, plan->ops, plan->op_count) {
        struct access access[OP_ACCESS_MAX];
        const int count = op_accesses(op, access);
        hash = mix_at(hash ^ op->kind, op->stream + ((uint64_t)(uint32_t)op->tile << 32));
        if (op->kind == OP_RECORD || op->kind == OP_WAIT)
            hash = mix_at(hash, op->event.event);
        for (int k = 0; k < count; k++)
            hash =
                mix_at(hash ^ access[k].range.offset ^ ((uint64_t)access[k].range.buffer << 56),
                       access[k].range.bytes);
    }
    return hash;
}

enum status ranks_compare_plans(const struct plan *plan, struct error *error)
{
    if (world.count == 1)
        return STATUS_OK;
    const uint32_t unlike = world_unlike(plan_hash(plan));
    enum status status = STATUS_OK;
    if (unlike > 0)
        status = error_set(error, STATUS_FAILED,
                           "rank %" PRIu32 " has another plan than rank 0 for the same "
                           "settings: they read unlike files",
                           unlike);
    return world_agree(status, error);
}

static enum status judge(enum status status, struct judgement *judgement, struct error *error)
{
    const int last = (int)world.count - 1;
    struct {
        int grade; /* 0: right; 1: as if it was not written; 2: wrong */
        int rank;  /* from the last on: where rank 0 judges all tiles, their own rank counts
                    */
    } own = {judgement->wrong.status == STATUS_OK ? 0 : 2 - judgement->unwritten,
             last - (int)world.number},
      worst;
    status = world_agree(status, error);
    if (status != STATUS_OK)
        return status;
    MPI_Allreduce(&own, &worst, 1, MPI_2INT, MPI_MAXLOC, world.ranks);
    worst.rank = last - worst.rank;
    MPI_Bcast(judgement, sizeof *judgement, MPI_BYTE, worst.rank, world.ranks);
    if (worst.grade > 0) {
        const struct error why = judgement->wrong;
        error_clear(&judgement->wrong);
        error_set(&judgement->wrong, why.status, "rank %d: %.900s", worst.rank, why.text);
    }
    return STATUS_OK;
}

judgement_agree *ranks_judges(void)
{
    return world.count > 1 ? judge : NULL;
}
