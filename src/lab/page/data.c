/* data.c - stands for what a page has not: arrays, their files and the kernels' code, of which
 * no_data keeps a run from calling any; and a progress line. Notes go to standard error, which
 * the page shows. */
#include "kernels/kernel_code.h"
#include "run/arrays.h"
#include "run/cpu_worker.h"
#include "run/verify.h"
#include "term/output_file.h"
#include "term/progress.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* These functions stand in for others, so they have their parameters, and use none. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static enum status refuse(struct error *error)
{
    return error_set(error, STATUS_USAGE, "a page simulates times alone, without the bytes");
}

const struct kernel_code *kernel_code(const struct kernel *kernel)
{
    return NULL;
}

void *host_map(uint64_t bytes, bool huge, uint64_t *mapped)
{
    *mapped = 0;
    return NULL;
}

void host_unmap(void *memory, uint64_t mapped)
{
}

enum status arrays_create(struct arrays *arrays, const struct plan *plan,
                          const struct settings *settings, struct error *error)
{
    return refuse(error);
}

void arrays_free(struct arrays *arrays)
{
}

int64_t clock_now_ns(void)
{
    return 0;
}

void arrays_poison(struct arrays *arrays)
{
}

void arrays_fill_poison(const struct arrays *arrays, void *memory, uint64_t bytes, bool team)
{
}

enum status verify_run(const struct plan *plan, struct arrays *arrays,
                       enum status (*run)(void *context, struct error *error), void *context,
                       judgement_agree *agree, struct judgement *judgement, struct error *error)
{
    return refuse(error);
}

enum status array_file_probe(const char *path, enum dtype dtype, struct array_file *file,
                             struct error *error)
{
    return refuse(error);
}

enum status arrays_write_output(const struct arrays *arrays, const struct plan *plan,
                                FILE *stream, const char *path, int npy, struct error *error)
{
    return refuse(error);
}

int array_path_is_npy(const char *path)
{
    return 0;
}

enum status output_file_commit(struct output_file *file, struct error *error)
{
    return refuse(error);
}

void note_print(bool quiet, const char *format, ...)
{
    va_list list;
    if (quiet)
        return;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
}

void progress_repeat(uint32_t repeat, uint32_t repeats)
{
}

void progress_timed(bool timed)
{
}

void progress_tile(uint32_t done, uint32_t tiles)
{
}
