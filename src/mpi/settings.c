/* settings.c - see parts.h. */
#include "mpi/parts.h"

#include "options/options.h"
#include "plan/device.h"
#include "term/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- in common --- */

static void put_setting(void *out, const char *name, const char *value, enum value_kind kind)
{
    (void)kind;
    if (value != NULL)
        fprintf(out, "--%s=%s\n", name, value);
    else
        fprintf(out, "no --%s\n", name);
}

/* Writes all that decides what a rank does, a line each. NULL: there is no memory. */
static char *common_text(const struct options *options, bool (*measures)(const char *device))
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL)
        return NULL;
    fprintf(out, "%d runs\n", options->run_count);
    fprintf(out, "%s\n", options->dry_run ? "--dry-run" : "no --dry-run");
    EACH (const struct settings, settings, options->runs, options->run_count) {
        fprintf(out, "a run %s\n", settings->name);
        settings_each_of(settings, (struct settings_shown){true, true}, put_setting, out);
        fprintf(out, "%s\n",
                measures(settings->device) ? "a real device" : "a simulated device");
    }
    const bool whole = !ferror(out);
    if (fclose(out) == 0 && whole)
        return text;
    free(text);
    return NULL;
}

/* Returns the length of a line, and 0 behind the last. */
static int line_length(const char *at)
{
    return (int)strcspn(at, "\n");
}

/* Names the first line that is not as rank 0 has it. */
static enum status compare_texts(const char *own, const char *first, struct error *error)
{
    while (*own != '\0' && *first != '\0' && line_length(own) == line_length(first) &&
           strncmp(own, first, (size_t)line_length(own)) == 0) {
        own += line_length(own) + 1;
        first += line_length(first) + 1;
    }
    if (*own == *first && *own == '\0')
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "it has %.*s, and rank 0 has %.*s: all ranks take the same settings",
                     line_length(own), own, line_length(first), first);
}

enum status ranks_compare_settings(const struct options *options,
                                   bool (*measures)(const char *device), struct error *error)
{
    char *own = common_text(options, measures), *first = NULL;
    uint64_t length = own != NULL ? strlen(own) + 1 : 0;
    enum status status = STATUS_OK;
    MPI_Bcast(&length, 1, MPI_UINT64_T, 0, world.ranks);
    if (length > 0)
        first = calloc(1, length);
    if (own == NULL || first == NULL)
        status = error_no_memory(error, "to compare the ranks' settings");
    status = world_agree(status, error);
    if (status == STATUS_OK) {
        if (world.number == 0)
            memcpy(first, own, length);
        MPI_Bcast(first, (int)length, MPI_BYTE, 0, world.ranks);
        status = world_agree(compare_texts(own, first, error), error);
    }
    free(own);
    free(first);
    return status;
}

/* --- devices --- */

enum { NAME_BYTES = 4096 };
static char (*names)[NAME_BYTES]; /* of each run's devices */

/* Refuses what ranks don't share. */
static enum status check_run(const struct settings *settings, struct error *error)
{
    if (settings->sharing == SHARING_NONE && settings->exchange == EXCHANGE_PEER)
        return error_set(
            error, STATUS_USAGE,
            "--exchange copies into memory of another process: use --exchange=auto "
            "or host");
    if (settings_check_ranks(settings, error) != STATUS_OK)
        return error->status;
    if (settings->profile)
        return error_set(error, STATUS_USAGE,
                         "--profile leaves the times to a profiler of one process: allowed is "
                         "mpirun -n 1");
    return STATUS_OK;
}

/* Writes "cuda:0,1,0,1": each rank's device has the rank's number among those of its host. */
static void name_local_devices(char name[NAME_BYTES])
{
    uint32_t local[MACHINE_DEVICES_MAX];
    MPI_Allgather(&world.local, 1, MPI_UINT32_T, local, 1, MPI_UINT32_T, world.ranks);
    size_t length = (size_t)snprintf(name, NAME_BYTES, "cuda:");
    for (uint32_t rank = 0; rank < world.count; rank++)
        length += (size_t)snprintf(name + length, NAME_BYTES - length, "%s%" PRIu32,
                                   rank > 0 ? "," : "", local[rank]);
}

/* Writes "cuda:1,1,1,1": all ranks share a device. */
static enum status name_one_device(const char *device, char name[NAME_BYTES],
                                   struct error *error)
{
    const char *argument = device_argument(device);
    if (device_is_all(device) || device_count(device) != 1)
        return error_set(error, STATUS_USAGE,
                         "--device=%.200s: with --share all ranks have one device: allowed is "
                         "cuda:N",
                         device);
    size_t length = (size_t)snprintf(name, NAME_BYTES, "cuda:");
    for (uint32_t rank = 0; rank < world.count; rank++)
        length += (size_t)snprintf(name + length, NAME_BYTES - length, "%s%.20s",
                                   rank > 0 ? "," : "", argument[0] != '\0' ? argument : "0");
    return STATUS_OK;
}

/* Writes the name of all ranks' devices. */
static enum status name_devices(const char *device, bool real, bool shared,
                                char name[NAME_BYTES], struct error *error)
{
    const char *argument = device_argument(device);
    const uint32_t count = device_count(device);
    if (real && shared)
        return name_one_device(device, name, error);
    if (real && (strcmp(device, "auto") == 0 || argument[0] == '\0' || device_is_all(device))) {
        name_local_devices(name);
        return STATUS_OK;
    }
    if (real && count != world.count)
        return error_set(error, STATUS_USAGE,
                         "--device=%.200s names %" PRIu32 " device%s, and there are %" PRIu32
                         " ranks: allowed are cuda, or one number for each rank",
                         device, count, count == 1 ? "" : "s", world.count);
    if (!real && count != 1)
        return error_set(error, STATUS_USAGE,
                         "--device=%.200s: each rank has one device, and mpirun says how many "
                         "ranks there are: allowed is sim:NAME",
                         device);
    if (real)
        snprintf(name, NAME_BYTES, "%s", device);
    else
        snprintf(name, NAME_BYTES, "sim:%s*%" PRIu32,
                 strcmp(device, "auto") == 0 || argument[0] == '\0'
                     ? device_find("sim")->fallback
                     : argument,
                 world.count);
    return strlen(name) + 1 < NAME_BYTES
               ? STATUS_OK
               : error_set(error, STATUS_USAGE, "--device: the name is too long for ranks");
}

static enum status share_run(struct settings *settings, bool real, char name[NAME_BYTES],
                             struct error *error)
{
    if (check_run(settings, error) != STATUS_OK)
        return error->status;
    if (!real && device_is_real(settings->device))
        return STATUS_OK; /* this program has no such device, as whoever opens it says */
    if (settings->spread == SPREAD_TILES && settings->tiles > 0 &&
        settings->tiles < world.count)
        return error_set(error, STATUS_USAGE,
                         "--tiles=%" PRIu32 ": there are %" PRIu32
                         " ranks, and each needs a tile",
                         settings->tiles, world.count);
    if (name_devices(settings->device, real, settings->sharing != SHARING_NONE, name, error) !=
        STATUS_OK)
        return error->status;
    settings->device = name;
    settings->devices = world.count;
    if (settings->spread == SPREAD_CHAIN || settings_has_halo(settings))
        settings->exchange = EXCHANGE_HOST; /* none reaches another's memory */
    return settings_check(settings, error);
}

/* Refuses commands and options of the whole line that belong to one process. */
static enum status check_line(const struct options *options, struct error *error)
{
    if (options->command != COMMAND_RUN)
        return error_set(error, STATUS_USAGE,
                         "ranks share a run, and this command is one process's: allowed is "
                         "mpirun -n 1, or the program without mpirun");
    if (options->fix || options->model != MODEL_NONE || options->emit != NULL)
        return error_set(
            error, STATUS_USAGE,
            "%s is for one process: allowed is mpirun -n 1, or the program without "
            "mpirun",
            options->fix                   ? "--fix"
            : options->model != MODEL_NONE ? "--model"
                                           : "--emit");
    return STATUS_OK;
}

enum status ranks_name_devices(struct options *options, bool (*measures)(const char *device),
                               struct error *error)
{
    enum status status = check_line(options, error);
    if (status != STATUS_OK)
        return status;
    names = calloc((size_t)options->run_count, sizeof *names);
    if (names == NULL)
        status = error_no_memory(error, "for the names of devices");
    status = world_agree(status, error);
    bool simulates = false; /* though "auto" was asked for */
    for (int i = 0; i < options->run_count && status == STATUS_OK; i++) {
        const bool real = measures(options->runs[i].device);
        simulates |= !real && strcmp(options->runs[i].device, "auto") == 0;
        status = share_run(&options->runs[i], real, names[i], error);
    }
    if (status == STATUS_OK && simulates)
        note_print(options->quiet, "no CUDA device: each rank simulates an NVIDIA H200 "
                                   "(--device=sim:h200)");
    return status;
}

void ranks_free_names(void)
{
    free(names);
    names = NULL;
}
