/* bench.c - measures what the program promises, and prints it against its goals.
 *
 *     bench-pipeline [--quick] [--json=FILE] [GROUP...]
 */
#include "bench.h"

#include "version.h"

#include <getopt.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* Memory comes first: what a child process used is known exactly only while this one is small.
 */
static const struct group {
    const char *name;
    const char *summary;
    enum status (*measure)(struct bench *bench, struct error *error);
    bool cuda;
} groups[] = {
    {"memory", "peak host memory", bench_memory, false},
    {"simulator", "the simulator's speed", bench_simulator, false},
    {"writers", "the timeline writers' speed and memory", bench_writers, false},
    {"marks", "what NVTX's marks cost while no tool listens", bench_marks, false},
    {"tune", "choosing tiles and streams in the simulator", bench_tune, false},
    {"tune-device", "what was chosen, on the device", bench_tune_device, true},
    {"copies", "whole pipelines against bare copies", bench_cuda_copies, true},
    {"issue", "the cost of issuing against bare CUDA calls", bench_cuda_issue, true},
    {"pinned", "page-locked memory against cudaMallocHost", bench_cuda_pinned, true},
    {"tracing", "what tracing adds", bench_cuda_tracing, true},
};
enum { GROUPS = sizeof groups / sizeof *groups };

/* The first line of `path` that begins with `key`, behind `skip`; "unknown" if there is none.
 */
static void read_line(const char *path, const char *key, const char *skip, char *text,
                      size_t size)
{
    FILE *file = fopen(path, "re");
    char line[256];
    snprintf(text, size, "unknown");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strstr(line, skip);
        if (strncmp(line, key, strlen(key)) != 0 || value == NULL)
            continue;
        value += strlen(skip);
        snprintf(text, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (file != NULL)
        fclose(file);
}

static void first_device(void *context, const char *device, const char *summary)
{
    char *text = context;
    (void)device;
    if (text[0] == '\0')
        snprintf(text, 128, "%s", summary);
}

static const struct backend_ops *cuda_backend(void)
{
    for (int i = 0; backends[i] != NULL; i++) {
        if (strcmp(backends[i]->name, "cuda") == 0)
            return backends[i];
    }
    return NULL;
}

/* The first CUDA device, or "". Asked only when no child has to be measured any more. */
static void read_gpu(char text[128])
{
    text[0] = '\0';
    if (cuda_backend() != NULL)
        cuda_backend()->list(first_device, text);
}

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif

/* Machine, date and versions: what a result is worth nothing without. */
static json_t *describe_host(const struct bench *bench)
{
    char cpu[128], driver[64], date[64];
    struct utsname system;
    time_t now = time(NULL);
    struct tm utc;
    read_line("/proc/cpuinfo", "model name", ": ", cpu, sizeof cpu);
    read_line("/sys/module/nvidia/version", "", "", driver, sizeof driver);
    uname(&system);
    char *kernel = system.release; /* its version: what follows is the distribution's */
    kernel[strcspn(kernel, "-")] = '\0';
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    printf("pipeline %s, %s%s; compiled by %s\n%s, %d cores; %s %s; NVIDIA driver %s\n",
           PIPELINE_VERSION, date, bench->quick ? ", quick" : "", COMPILER, cpu,
           omp_get_num_procs(), system.sysname, kernel, driver);
    return json_pack("{s:i, s:s, s:s, s:b, s:s, s:i, s:s, s:s, s:s}", "schema", 1, "version",
                     PIPELINE_VERSION, "date", date, "quick", bench->quick, "cpu", cpu, "cores",
                     omp_get_num_procs(), "kernel", kernel, "driver", driver, "compiler",
                     COMPILER);
}

static bool wanted(const struct group *group, char *const names[], int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], group->name) == 0)
            return true;
    }
    return count == 0;
}

static enum status measure_groups(struct bench *bench, char *const names[], int count,
                                  json_t *root, struct error *error)
{
    enum status status = STATUS_OK;
    char gpu[128] = "";
    bool asked = false;
    for (int i = 0; i < GROUPS && status == STATUS_OK; i++) {
        const struct group *group = &groups[i];
        if (!wanted(group, names, count))
            continue;
        if (group->cuda && !asked) {
            read_gpu(gpu);
            asked = true;
            printf("\nGPU: %s\n", gpu[0] != '\0' ? gpu : "none: its measurements are left out");
            json_object_set_new(root, "gpu", gpu[0] != '\0' ? json_string(gpu) : json_null());
        }
        if (!group->cuda || gpu[0] != '\0')
            status = group->measure(bench, error);
    }
    return status;
}

static int usage(FILE *out, int code)
{
    fputs("usage: bench-pipeline [--quick] [--json=FILE] [GROUP...]\n"
          "  --quick      smaller and fewer: to see that it works\n"
          "  --json=FILE  also write the results as JSON\n"
          "groups (all):\n",
          out);
    for (int i = 0; i < GROUPS; i++)
        fprintf(out, "  %-11s  %s\n", groups[i].name, groups[i].summary);
    return code;
}

static bool are_groups(char *const names[], int count)
{
    for (int n = 0; n < count; n++) {
        bool found = false;
        for (int i = 0; i < GROUPS; i++)
            found = found || strcmp(names[n], groups[i].name) == 0;
        if (!found) {
            fprintf(stderr, "bench-pipeline: there is no group '%s'\n", names[n]);
            return false;
        }
    }
    return true;
}

static int write_json(json_t *root, const char *path)
{
    if (path == NULL ||
        json_dump_file(root, path, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "bench-pipeline: %s can't be written\n", path);
    return EXIT_FAILURE;
}

int main(int argc, char *argv[])
{
    static const struct option options[] = {{"quick", no_argument, NULL, 'q'},
                                            {"json", required_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct bench bench = {.repeats = 5, .results = json_array()};
    const char *path = NULL;
    for (int letter; (letter = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (letter == 'q')
            bench.quick = true;
        else if (letter == 'j')
            path = optarg;
        else
            return letter == 'h' ? usage(stdout, 0) : usage(stderr, 2);
    }
    if (!are_groups(argv + optind, argc - optind))
        return usage(stderr, 2);
    struct error error = {0};
    bench.repeats = bench.quick ? 3 : 5;
    json_t *root = describe_host(&bench);
    json_object_set_new(root, "results", bench.results);
    enum status status = measure_groups(&bench, argv + optind, argc - optind, root, &error);
    int code = status == STATUS_OK ? write_json(root, path) : status_exit_code(status);
    if (status != STATUS_OK)
        fprintf(stderr, "bench-pipeline: %s\n", error.text);
    else
        printf("\n%d goal%s missed\n", bench.missed, bench.missed == 1 ? "" : "s");
    json_decref(root);
    return code;
}
