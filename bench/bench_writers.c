/* bench_writers.c - how fast the timeline writers are, against fwrite() of the same bytes, and
 * what memory they take.
 *
 * The timeline is the simulator's, with the critical path found, as the program has it. What a
 * writer wrote is kept, and the same bytes are then written by fwrite() in blocks of 64 KiB,
 * which stdio hands to the system without a copy. Both go to a new regular file in the folder
 * for temporary files, up to fclose(); neither waits for the disk. What counts is the
 * processor's time, the system's part of it included: there is nothing else to wait for but
 * other programs. */
#include "bench/bench.h"

#include "analysis/critical.h"
#include "core/version.h"
#include "report/report.h"
#include "writers/writer.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SPANS_PER_TILE = 3, BLOCK = 1 << 16 };

/* A report of one simulated run. Zero-initialise. */
struct subject {
    struct bench_run run;
    struct run_report run_report;
    struct report report;
};

static enum status subject_open(struct subject *subject, uint32_t tiles, struct error *error)
{
    char arguments[160];
    struct run_times times;
    struct run_report *run = &subject->run_report;
    snprintf(arguments, sizeof arguments, "--device=sim:h200 --no-data -n 1G -s 4 -t %u",
             tiles);
    enum status status = bench_run_open(&subject->run, arguments, error);
    if (status == STATUS_OK)
        status = bench_run_once(&subject->run, &run->timeline, &times, error);
    if (status == STATUS_OK)
        status = critical_find(&run->timeline, NULL, &run->critical, error);
    if (status != STATUS_OK)
        return status;
    run->settings = &subject->run.settings;
    run->verified = VERIFIED_NOT_ASKED;
    run->median_ns = run->min_ns = run->max_ns = times.time_ns;
    run->speedup = 1;
    subject->report = (struct report){.version = PIPELINE_VERSION, .runs = run, .run_count = 1};
    return STATUS_OK;
}

static void subject_close(struct subject *subject)
{
    timeline_free(&subject->run_report.timeline);
    critical_free(&subject->run_report.critical);
    bench_run_close(&subject->run);
}

/* Opens a new file with no name, which goes when it is closed. */
static enum status open_file(FILE **file, struct error *error)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/bench-writers-XXXXXX", folder != NULL ? folder : "/tmp");
    int descriptor = mkstemp(path);
    *file = descriptor >= 0 ? fdopen(descriptor, "w+") : NULL;
    if (*file == NULL)
        return error_set(error, STATUS_FAILED, "%s: %s", path, strerror(errno));
    unlink(path);
    return STATUS_OK;
}

static enum status close_file(FILE *file, struct error *error)
{
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        return error_set(error, STATUS_FAILED, "a temporary file can't be written");
    return STATUS_OK;
}

/* Returns the seconds of the processor that this process has had. */
static double processor_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A timeline to be written, and the way to write it. */
struct writing {
    report_writer *write; /* NULL: the bytes, by fwrite() */
    const struct report *report;
    char *bytes;
    size_t length;
};

static enum status time_work(const struct writing *work, double *seconds, struct error *error)
{
    FILE *file;
    enum status status = open_file(&file, error);
    if (status != STATUS_OK)
        return status;
    double begin = processor_now();
    if (work->write != NULL)
        work->write(file, work->report);
    for (size_t at = 0; work->write == NULL && at < work->length; at += BLOCK) {
        size_t left = work->length - at;
        fwrite(work->bytes + at, 1, left < BLOCK ? left : BLOCK, file);
    }
    status = close_file(file, error);
    *seconds = processor_now() - begin;
    return status;
}

/* Writes once and keeps the bytes in `plain`. */
static enum status keep_bytes(const struct writing *work, struct writing *plain,
                              struct error *error)
{
    FILE *file;
    enum status status = open_file(&file, error);
    if (status != STATUS_OK)
        return status;
    work->write(file, work->report);
    long length = fflush(file) == 0 ? ftell(file) : -1;
    plain->bytes = length > 0 ? malloc((size_t)length) : NULL;
    if (plain->bytes != NULL) {
        rewind(file);
        plain->length = fread(plain->bytes, 1, (size_t)length, file);
    }
    if (plain->bytes == NULL || plain->length != (size_t)length)
        status = error_set(error, STATUS_FAILED, "what was written can't be read back");
    enum status closed = close_file(file, error);
    return status == STATUS_OK ? closed : status;
}

/* The speeds of one writer. */
struct speeds {
    struct series ratio, rate, size;
};

/* Times the writer and fwrite() in pairs; they take turns at being first. */
static enum status measure_pairs(struct bench *bench, const struct writing works[2],
                                 struct speeds *speeds, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < bench->repeats && status == STATUS_OK; i++) {
        double seconds[2] = {1, 1};
        for (int k = i; k < i + 2 && status == STATUS_OK; k++)
            status = time_work(&works[k % 2], &seconds[k % 2], error);
        series_add(&speeds->ratio, seconds[1] / seconds[0]);
        series_add(&speeds->rate, 1e-6 * (double)works[1].length / seconds[0]);
    }
    return status;
}

static void print_speeds(struct bench *bench, const char *name, const struct speeds *speeds,
                         enum goal goal)
{
    char label[96];
    snprintf(label, sizeof label, "%s: speed against fwrite of the same bytes", name);
    bench_result(bench, label, &speeds->ratio, "", goal, 0.5);
    snprintf(label, sizeof label, "%s: rate", name);
    bench_result(bench, label, &speeds->rate, "MB/s", GOAL_NONE, 0);
    snprintf(label, sizeof label, "%s: size of a span", name);
    bench_result(bench, label, &speeds->size, "bytes", GOAL_NONE, 0);
}

static enum status measure_speed(struct bench *bench, const struct report *report,
                                 const char *name, report_writer *write, enum goal goal,
                                 struct error *error)
{
    struct writing works[2] = {{.write = write, .report = report}};
    struct speeds speeds = {0};
    enum status status = keep_bytes(&works[0], &works[1], error);
    if (status == STATUS_OK)
        status = measure_pairs(bench, works, &speeds, error);
    free(works[1].bytes);
    if (status != STATUS_OK)
        return status;
    series_add(&speeds.size, (double)works[1].length / report->runs[0].timeline.span_count);
    print_speeds(bench, name, &speeds, goal);
    return STATUS_OK;
}

/* --- memory --- */

/* Returns the process's memory (VmRSS) or its peak (VmHWM), in KiB; negative where /proc
 * doesn't say. */
static double memory_kib(const char *key)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    double kib = -1;
    while (file != NULL && kib < 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtod(line + strlen(key) + 1, NULL);
    }
    if (file != NULL)
        fclose(file);
    return kib;
}

/* Sets the peak to what is used now (proc(5), clear_refs). */
static bool forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");
    if (file == NULL)
        return false;
    fputs("5", file);
    return fclose(file) == 0;
}

/* Sets by how much the process grew at most while it wrote. Free memory is given back to the
 * system before, so that it counts when it is taken again. */
static enum status measure_growth(const struct report *report, report_writer *write,
                                  double *kib, struct error *error)
{
    struct writing work = {.write = write, .report = report};
    double seconds;
    malloc_trim(0);
    if (!forget_peak())
        return error_set(error, STATUS_FAILED, "/proc/self/clear_refs can't be written");
    double before = memory_kib("VmRSS:");
    enum status status = time_work(&work, &seconds, error);
    *kib = memory_kib("VmHWM:") - before;
    return status;
}

static enum status measure_memory(struct bench *bench, const struct report *few,
                                  const struct report *many, const char *name,
                                  report_writer *write, size_t span_bytes, struct error *error)
{
    const struct report *reports[] = {few, many};
    struct series series[2] = {0};
    enum status status = STATUS_OK;
    char label[96];
    for (int i = 0; i < 2 * bench->repeats && status == STATUS_OK; i++) {
        double kib = 0;
        status = measure_growth(reports[i % 2], write, &kib, error);
        series_add(&series[i % 2], kib);
    }
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        snprintf(label, sizeof label, "%s: memory taken by %u spans", name,
                 reports[i]->runs[0].timeline.span_count);
        bench_result(bench, label, &series[i], "KiB", i == 0 ? GOAL_NONE : GOAL_AT_MOST,
                     series_median(&series[0]) + 64 +
                         (double)(span_bytes * reports[i]->runs[0].timeline.span_count) / 1024);
    }
    return status;
}

enum status bench_writers(struct bench *bench, struct error *error)
{
    static const struct {
        const char *name;
        report_writer *write;
        size_t span_bytes; /* of memory that it takes for each span */
    } writers[] = {{"csv", write_csv_timeline, 0},
                   {"chrome trace", write_trace, sizeof(struct span *)}};
    const uint32_t few = 99999, many = bench->quick ? 300000 : 1000002;
    struct subject *subjects = calloc(2, sizeof *subjects);
    enum status status = STATUS_OK;
    if (subjects == NULL)
        return error_no_memory(error, "for two timelines");
    status = subject_open(&subjects[0], few / SPANS_PER_TILE, error);
    if (status == STATUS_OK)
        status = subject_open(&subjects[1], many / SPANS_PER_TILE, error);
    char heading[64];
    snprintf(heading, sizeof heading, "timeline writers, %u spans", many);
    bench_heading(bench, heading);
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        status = measure_speed(bench, &subjects[1].report, writers[i].name, writers[i].write,
                               GOAL_AT_LEAST, error);
        if (status == STATUS_OK)
            status =
                measure_memory(bench, &subjects[0].report, &subjects[1].report, writers[i].name,
                               writers[i].write, writers[i].span_bytes, error);
    }
    /* Up to 100,000 spans a trace also says in words why each began when it did. */
    if (status == STATUS_OK)
        status = measure_speed(bench, &subjects[0].report, "trace with words", write_trace,
                               GOAL_NONE, error);
    for (int i = 0; i < 2; i++)
        subject_close(&subjects[i]);
    free(subjects);
    return status;
}
