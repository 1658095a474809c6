/* bench_memory.c - the program's peak host memory beyond its arrays.
 *
 * The program runs as a child, and the system says how much it used at its peak. That counts
 * this process's own size too, at the moment of the fork: so this is measured first. */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NO_DEVICE = 77, EXIT_NO_PROGRAM = 127, MIB = 1 << 20 };

static enum status find_program(char path[PATH_MAX], struct error *error)
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length < 0)
        return error_set(error, STATUS_FAILED, "this program can't be found: %s",
                         strerror(errno));
    path[length] = '\0';
    return STATUS_OK;
}

/* Runs `body` in a child; *code is how it ended, *mib its peak. */
static enum status run_child(void (*body)(char *const argv[]), char *const argv[], int *code,
                             double *mib, struct error *error)
{
    fflush(stdout); /* or the child would write it as well */
    pid_t child = fork();
    if (child == 0) {
        body(argv);
        _exit(EXIT_NO_PROGRAM);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return error_set(error, STATUS_FAILED, "no child process: %s", strerror(errno));
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    *mib = (double)usage.ru_maxrss / 1024; /* in KiB */
    return STATUS_OK;
}

/* Becomes the program, without its output. */
static void be_program(char *const argv[])
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execv(argv[0], argv);
}

static void be_program_without_cupti(char *const argv[])
{
    setenv("PIPELINE_NO_CUPTI", "1", 1);
    be_program(argv);
}

static void be_context(char *const argv[])
{
    (void)argv;
    _exit(bench_cuda_context());
}

static uint64_t elements(const struct bench *bench)
{
    return bench->quick ? 16 * MIB : 64 * MIB;
}

/* Measures the peak of a run of floats, in and out, on `device`, less `other_mib`, which is not
 * the program's. */
static enum status measure_peak(struct bench *bench, void (*body)(char *const argv[]),
                                char *device, double other_mib, struct series *beyond,
                                struct error *error)
{
    char program[PATH_MAX], count[32];
    enum status status = find_program(program, error);
    snprintf(count, sizeof count, "-n%" PRIu64, elements(bench));
    char *argv[] = {program,    device,       count,           "--tiles=32", "--streams=2",
                    "--runs=1", "--warmup=0", "--intensity=1", "-q",         NULL};
    double arrays_mib = 2.0 * (double)elements(bench) * sizeof(float) / MIB;
    for (int i = 0; i < bench->repeats && status == STATUS_OK; i++) {
        int code;
        double mib;
        status = run_child(body, argv, &code, &mib, error);
        if (status == STATUS_OK && code != 0)
            return error_set(error, STATUS_FAILED, "%s %s ended with %d", program, device,
                             code);
        series_add(beyond, mib - arrays_mib - other_mib);
    }
    return status;
}

/* Measures a run on a GPU. The host memory that the driver takes for a context, whatever is
 * run, is not the program's. */
static enum status measure_cuda(struct bench *bench, double context_mib, struct error *error)
{
    struct series context = {0}, with = {0}, without = {0};
    series_add(&context, context_mib);
    bench_result(bench, "a bare CUDA context alone", &context, "MiB", GOAL_NONE, 0);
    enum status status =
        measure_peak(bench, be_program, "--device=cuda", context_mib, &with, error);
    if (status == STATUS_OK)
        status = measure_peak(bench, be_program_without_cupti, "--device=cuda", context_mib,
                              &without, error);
    if (status != STATUS_OK)
        return status;
    bench_result(bench, "cuda, beyond a bare context, without CUPTI", &without, "MiB",
                 GOAL_AT_MOST, 64);
    bench_result(bench, "cuda, beyond a bare context, CUPTI included", &with, "MiB", GOAL_NONE,
                 0);
    return STATUS_OK;
}

enum status bench_memory(struct bench *bench, struct error *error)
{
    struct series simulated = {0};
    bench_heading(bench, "peak host memory, beyond the arrays");
    /* The memory that stands for the simulated device's holds two slots, in and out, of tiles
     * of a 32nd. */
    double device_mib = 2.0 * 2 * (double)elements(bench) / 32 * sizeof(float) / MIB;
    enum status status =
        measure_peak(bench, be_program, "--device=sim:h200", device_mib, &simulated, error);
    if (status != STATUS_OK)
        return status;
    bench_result(bench, "sim, and beyond its device memory", &simulated, "MiB", GOAL_AT_MOST,
                 64);
    int code = EXIT_NO_DEVICE;
    double context_mib;
    status = run_child(be_context, NULL, &code, &context_mib, error);
    if (status != STATUS_OK || code != 0)
        return status;
    return measure_cuda(bench, context_mib, error);
}
