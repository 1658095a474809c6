/* bench.c - `pipeline bench`: measures kernels against their peers and limits, and what the
 * program promises against its goals. */
#include "bench/bench.h"
#include "app/backends.h"

#include "core/names.h"
#include "core/version.h"
#include "writers/writer.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

enum { QUICK_REPEATS = 3 };

/* Jansson's builders leave values out where memory runs out: an allocation has failed. */
static atomic_bool starved;

/* A group that can use a GPU measures without one what the CPU can do. */
enum needs { NEEDS_NOTHING, USES_GPU, NEEDS_GPU };

/* Memory comes first: what a child process used is known exactly only while this process is
 * small. */
static const struct group {
    const char *name;
    const char *summary;
    enum status (*measure)(struct bench *bench, struct error *error);
    enum needs needs;
} groups[] = {
    {"memory", "peak host memory", bench_memory, NEEDS_NOTHING},
    {"reductions", "the lectures' ladder; sums against CUB, the memory and the CPU",
     bench_reductions, USES_GPU},
    {"scans", "the lectures' scans; the fast one against CUB, a copy and the CPU", bench_scans,
     USES_GPU},
    {"transforms", "a launch per repeat against a loop in the kernel; branches",
     bench_transforms, USES_GPU},
    {"transposes", "the lectures' transposes against a plain copy and the CPU",
     bench_transposes, USES_GPU},
    {"strides", "bandwidth against stride", bench_strides, USES_GPU},
    {"simulator", "the simulator's speed", bench_simulator, NEEDS_NOTHING},
    {"writers", "the timeline writers' speed and memory", bench_writers, NEEDS_NOTHING},
    {"marks", "what NVTX's marks cost while no tool listens", bench_marks, NEEDS_NOTHING},
    {"tune", "choosing tiles and streams in the simulator", bench_tune, NEEDS_NOTHING},
    {"small-tiles-sim", "ways to issue tiles over their sizes, in the simulator",
     bench_small_tiles_sim, NEEDS_NOTHING},
    {"own-sim", "what is chosen for kernels of users' own, in the simulator", bench_own_sim,
     NEEDS_NOTHING},
    {"verdicts", "whether the first verdict names a simulated mistake", bench_verdicts,
     NEEDS_NOTHING},
    {"small-tiles", "the same on the device, over bare copies", bench_small_tiles, NEEDS_GPU},
    {"scattered-tiles", "the same of tiles that lie apart", bench_scattered_tiles, NEEDS_GPU},
    {"tune-device", "what was chosen, on the device", bench_tune_device, NEEDS_GPU},
    {"own", "kernels of users' own: issuing them, and what is chosen for them", bench_own,
     NEEDS_GPU},
    {"verdicts-device", "the same, of mistakes on the device", bench_verdicts_device,
     NEEDS_GPU},
    {"copies", "whole pipelines against bare copies", bench_cuda_copies, NEEDS_GPU},
    {"devices", "tiles dealt over several devices, against bare copies of all at once",
     bench_cuda_devices, NEEDS_GPU},
    {"exchange", "chains and halos over two devices, against bare copies and kernels",
     bench_cuda_exchange, NEEDS_GPU},
    {"dgemm", "the tiled DGEMM, four ways, against its limit and cuBLASXt", bench_cuda_dgemm,
     NEEDS_GPU},
    {"graphs", "graphs against calls, mapped memory against copies, over sizes of tiles",
     bench_cuda_graphs, NEEDS_GPU},
    {"alloc", "memory taken for each tile against slots taken once, over sizes of tiles",
     bench_cuda_allocs, NEEDS_GPU},
    {"issue", "the cost of issuing against bare CUDA calls", bench_cuda_issue, NEEDS_GPU},
    {"pinned", "page-locked memory against cudaMallocHost", bench_cuda_pinned, NEEDS_GPU},
    {"tracing", "what tracing adds", bench_cuda_tracing, NEEDS_GPU},
};
enum { GROUPS = sizeof groups / sizeof *groups };

/* Reads the first line of `path` that begins with `key`, from behind `skip`; "unknown" if there
 * is none. */
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
        if (strcmp(backends[i]->name, "cuda") == 0 && backends[i]->missing == NULL)
            return backends[i];
    }
    return NULL;
}

/* Names the first CUDA device; "" where there is none. It is asked only when no child has to be
 * measured any more. */
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

/* Describes the machine, the date and the versions, without which a result says nothing. */
static json_t *describe_host(const struct bench *bench)
{
    char cpu[128], driver[64], date[64];
    struct utsname system;
    time_t now = time(NULL);
    struct tm utc;
    read_line("/proc/cpuinfo", "model name", ": ", cpu, sizeof cpu);
    read_line("/sys/module/nvidia/version", "", "", driver, sizeof driver);
    uname(&system);
    char *kernel = system.release; /* the kernel's version: the distribution's follows it */
    kernel[strcspn(kernel, "-")] = '\0';
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    if (bench->out != NULL)
        fprintf(bench->out,
                "pipeline %s, %s%s; compiled by %s\n%s, %d cores; %s %s; NVIDIA driver %s\n",
                PIPELINE_VERSION, date, bench->quick ? ", quick" : "", COMPILER, cpu,
                omp_get_num_procs(), system.sysname, kernel, driver);
    return json_pack("{s:i, s:s, s:s, s:b, s:s, s:i, s:s, s:s, s:s}", "schema", 1, "version",
                     PIPELINE_VERSION, "date", date, "quick", bench->quick, "cpu", cpu, "cores",
                     omp_get_num_procs(), "kernel", kernel, "driver", driver, "compiler",
                     COMPILER);
}

/* Returns true if the group is among the names given, or none is given, which means all. */
static bool is_wanted(const struct group *group, const struct options *options)
{
    for (int i = 0; i < options->word_count; i++) {
        if (strcmp(options->words[i], group->name) == 0)
            return true;
    }
    return options->word_count == 0;
}

static enum status refuse_name(const char *name, struct error *error)
{
    char names[512] = "";
    size_t length = 0;
    struct nearest nearest = nearest_begin(name);
    for (int i = 0; i < GROUPS; i++) {
        nearest_offer(&nearest, groups[i].name);
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   i > 0 ? ", " : "", groups[i].name);
    }
    if (nearest.best != NULL)
        return error_set(error, STATUS_USAGE, "bench %.40s is unknown: did you mean %s?", name,
                         nearest.best);
    return error_set(error, STATUS_USAGE, "bench %.40s is unknown: allowed are %s", name,
                     names);
}

static enum status check_names(const struct options *options, struct error *error)
{
    for (int n = 0; n < options->word_count; n++) {
        bool found = false;
        for (int i = 0; i < GROUPS; i++)
            found = found || strcmp(options->words[n], groups[i].name) == 0;
        if (!found)
            return refuse_name(options->words[n], error);
    }
    return STATUS_OK;
}

/* Prints the GPU's name, when the first group comes that can use a GPU. */
static void show_gpu(const struct bench *bench, char gpu[128], json_t *root)
{
    if (json_object_get(root, "gpu") != NULL)
        return;
    read_gpu(gpu);
    json_object_set_new(root, "gpu", gpu[0] != '\0' ? json_string(gpu) : json_null());
    if (bench->out != NULL)
        fprintf(bench->out, "\nGPU: %s\n",
                gpu[0] != '\0' ? gpu : "none: its measurements are left out");
}

static void read_clocks(const struct bench *bench, char text[64])
{
    text[0] = '\0';
    if (bench->has_gpu)
        bench_cuda_clocks(text);
}

/* Measures a group, and prints the GPU's clocks before and after. */
static enum status measure_group(struct bench *bench, const struct group *group, json_t *clocks,
                                 struct error *error)
{
    char before[64], after[64];
    read_clocks(bench, before);
    enum status status = group->measure(bench, error);
    read_clocks(bench, after);
    if (group->needs == NEEDS_NOTHING || before[0] == '\0')
        return status;
    if (bench->out != NULL)
        fprintf(bench->out, "clocks before: %s; after: %s\n", before, after);
    json_array_append_new(clocks, json_pack("{s:s, s:s, s:s}", "group", group->name, "before",
                                            before, "after", after));
    return status;
}

static enum status measure_groups(struct bench *bench, const struct options *options,
                                  json_t *root, struct error *error)
{
    enum status status = STATUS_OK;
    char gpu[128] = "";
    int measured = 0;
    json_t *clocks = json_array();
    json_object_set_new(root, "clocks", clocks);
    for (int i = 0; i < GROUPS && status == STATUS_OK; i++) {
        const struct group *group = &groups[i];
        if (!is_wanted(group, options))
            continue;
        if (group->needs != NEEDS_NOTHING)
            show_gpu(bench, gpu, root);
        bench->group = group->name;
        bench->has_gpu = gpu[0] != '\0';
        if (group->needs == NEEDS_GPU && !bench->has_gpu)
            continue;
        status = measure_group(bench, group, clocks, error);
        measured++;
    }
    if (status == STATUS_OK && measured == 0)
        status = error_set(error, STATUS_NO_DEVICE, "bench %s: there is no CUDA device",
                           options->words[0]);
    return status;
}

/* Writes the provenance as lines that begin with #, like a timeline's CSV. */
static void write_provenance(FILE *out, const json_t *root)
{
    const json_t *gpu = json_object_get(root, "gpu");
    const char *const told[] = {"date", "cpu", "driver", "compiler"};
    fprintf(out, "# pipeline %s%s\n#   source: measured\n", PIPELINE_VERSION,
            json_is_true(json_object_get(root, "quick")) ? ", quick" : "");
    if (json_is_string(gpu))
        fprintf(out, "#   device: %s\n", json_string_value(gpu));
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        fprintf(out, "#   %s: %s\n", told[i],
                json_string_value(json_object_get(root, told[i])));
}

/* Writes a row per result; the single repeats are in JSON alone. */
static void write_rows(FILE *out, const json_t *root)
{
    const json_t *results = json_object_get(root, "results");
    size_t i;
    json_t *result;
    write_provenance(out, root);
    fputs("group,name,unit,median,least,most,repeats,at_least,at_most\n", out);
    json_array_foreach(results, i, result)
    {
        struct series series = {0};
        const json_t *values = json_object_get(result, "repeats");
        const char *const texts[] = {"group", "name", "unit"};
        const char *const goals[] = {"at_least", "at_most"};
        for (size_t n = 0; n < json_array_size(values); n++)
            series_add(&series, json_real_value(json_array_get(values, n)));
        for (int t = 0; t < 3; t++) {
            write_csv_field(out, json_string_value(json_object_get(result, texts[t])));
            fputc(',', out);
        }
        fprintf(out, "%.9g,%.9g,%.9g,%d", series_median(&series), series_least(&series),
                series_most(&series), series.count);
        for (int g = 0; g < 2; g++) {
            const json_t *goal = json_object_get(result, goals[g]);
            fprintf(out, goal != NULL ? ",%.9g" : ",", json_real_value(goal));
        }
        fputc('\n', out);
    }
}

static void *watched_malloc(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL)
        starved = true;
    return memory;
}

/* Writes what was measured, and is not yet written. */
static enum status write_results(const struct bench *bench, enum format format, FILE *out,
                                 const json_t *root, struct error *error)
{
    if (format == FORMAT_TEXT)
        fprintf(out, "\n%d goal%s missed\n", bench->missed, bench->missed == 1 ? "" : "s");
    else if (format == FORMAT_CSV && !starved)
        write_rows(out, root);
    else if (!starved) {
        json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        fputc('\n', out);
    }
    if (starved)
        return error_no_memory(error, "for the results");
    return STATUS_OK;
}

enum status bench_command(const struct options *options, FILE *out, struct error *error)
{
    enum status status = check_names(options, error);
    if (status != STATUS_OK)
        return status;
    const uint32_t runs = options->runs[0].runs;
    if (runs > REPEATS_MAX)
        return error_set(error, STATUS_USAGE, "--runs=%u: bench makes at most %d", runs,
                         REPEATS_MAX);
    struct bench bench = {
        .out = options->format == FORMAT_TEXT ? out : NULL,
        .quick = options->quick,
        .repeats = options->quick && runs > QUICK_REPEATS ? QUICK_REPEATS : (int)runs,
    };
    json_set_alloc_funcs(watched_malloc, free);
    bench.results = json_array();
    json_t *root = describe_host(&bench);
    json_object_set_new(root, "results", bench.results);
    status = measure_groups(&bench, options, root, error);
    if (status == STATUS_OK)
        status = write_results(&bench, options->format, out, root, error);
    json_decref(root);
    return status;
}
