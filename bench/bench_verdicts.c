/* bench_verdicts.c - how often the first verdict names what was done wrong, and how fast.
 *
 * Every case is a run of the program itself, as its user would make it, and its JSON report is
 * read: so some may set what a process takes only once, and the device is asked by nobody else.
 * A case is right where the first verdict is its cause. A clean setting is right where no
 * mistake is named. */
#include "bench/bench.h"

#include "analysis/critical.h"
#include "analysis/limit.h"
#include "causes/verdict.h"
#include "sim/simulator.h"
#include "term/child.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double NAMED_PERCENT = 95, NAMED_ON_DEVICE_PERCENT = 90, JUDGE_MS = 2000;

enum {
    COMMAND_TEXT = 512,
    WORDS = 64,
    REPORT_MAX = 64 << 20, /* bytes of a run's report */
    RUN_SECONDS = 600,     /* that a run may take */
    CAUSE_TEXT = 32,
    CLEAN = 200,
    CLEAN_ON_DEVICE = 24,
    CLEAN_QUICK = 10,
    SIZES = 3,
    JUDGED_TILES = 20000, /* five spans each */
};

/* The setting by which a case is made larger. */
enum growth {
    BY_ELEMENTS,  /* 16, 64 and 256 million, in 32 tiles unless its arguments say otherwise */
    BY_TILES,     /* as many elements, in tiles of 64 KiB */
    BY_FEWER,     /* 1, 2 and 4 million elements, where a cause has its part once in a run */
    BY_INTENSITY, /* the arguments say all but how much the kernels do */
};

/* A mistake alone, and the machines that it shows on; `on_device`: it shows on a GPU of this
 * decade, too. */
static const struct mistaken {
    const char *cause, *arguments, *machines;
    enum growth growth;
    bool on_device;
} mistaken[] = {
    {"missing-wait", "--mistake=missing-wait --layout=stage", "h200 k20c", BY_ELEMENTS, true},
    {"pageable-memory", "--mistake=pageable-memory", "h200 a100 k20c c2050", BY_ELEMENTS, true},
    {"legacy-stream", "--mistake=legacy-stream --intensity=300", "h200 a100 k20c", BY_ELEMENTS,
     true},
    {"blocking-stream", "--mistake=blocking-stream", "h200 a100 k20c", BY_ELEMENTS, true},
    {"memset-in-loop", "--mistake=memset-in-loop", "k20c c2050", BY_ELEMENTS, false},
    {"sync-in-loop", "--mistake=sync-in-loop", "h200 a100 k20c c2050", BY_ELEMENTS, true},
    {"alloc-in-loop", "--mistake=alloc-in-loop", "h200 a100 k20c c2050", BY_ELEMENTS, true},
    {"pinned-alloc-in-loop", "--mistake=pinned-alloc-in-loop", "h200 k20c", BY_ELEMENTS, true},
    {"pin-in-run", "--mistake=pin-in-run", "h200 k20c", BY_ELEMENTS, true},
    {"launch-blocking", "--mistake=launch-blocking --intensity=300", "h200 a100 k20c",
     BY_ELEMENTS, true},
    {"slow-callback", "--mistake=slow-callback", "h200 a100 k20c", BY_ELEMENTS, true},
    {"lazy-loading", "--mistake=lazy-loading --tiles=8 --runs=1 --warmup=0", "h200 a100",
     BY_FEWER, true},
    {"one-stream", "--streams=1", "h200 a100 k20c c2050", BY_ELEMENTS, true},
    {"one-stream", "--ways=1", "h200 a100 k20c c2050", BY_ELEMENTS, true},
    {"needless-wait", "--ways=2", "h200 a100 k20c c2050", BY_ELEMENTS, true},
    {"small-tiles", "", "h200 a100 k20c", BY_TILES, true},
    {"one-copy-engine", "--tiles=4 --intensity=20", "c1060", BY_ELEMENTS, false},
    {"late-signal", "--tiles=8 --intensity=200 --order=breadth", "c2050 c2070", BY_ELEMENTS,
     false},
    /* As many blocks as let the streams' kernels fill the GPU side by side. */
    {"one-queue", "-n 4M -t 32 -s 32 -k scale,scale --blocks=8 --connections=1", "k20c",
     BY_INTENSITY, false},
    {"one-queue", "-n 4M -t 32 -s 32 -k scale,scale --blocks=66 --connections=1", "h200",
     BY_INTENSITY, true},
    {"few-queues", "-n 4M -t 32 -s 32 -k scale,scale --blocks=8 --connections=3", "k20c",
     BY_INTENSITY, false},
    {"few-queues", "-n 4M -t 32 -s 32 -k scale,scale --blocks=40 --connections=3", "h200",
     BY_INTENSITY, true},
};
enum { MISTAKEN = sizeof mistaken / sizeof mistaken[0] };

/* The cases that were tried, and those where the verdict was right. */
struct tally {
    int tried, right;
};

/* Runs the program with `arguments`, and reads the first verdict of its first run, and if that
 * is named. */
static enum status first_verdict(const char *arguments, char cause[CAUSE_TEXT], bool *named,
                                 struct error *error)
{
    char text[3 * COMMAND_TEXT], *words[WORDS];
    snprintf(text, sizeof text, "-q --format=json %s", arguments);
    bench_split(text, words, WORDS);
    words[0] = "/proc/self/exe";
    struct child child = {.arguments = words, .output_max = REPORT_MAX, .seconds = RUN_SECONDS};
    enum child_end end = child_run(&child);
    json_t *root = json_loadb(child.output, child.length, 0, NULL);
    free(child.output);
    const char *code = NULL;
    json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    json_t *verdict = json_array_get(json_object_get(run, "verdicts"), 0);
    json_unpack(verdict, "{s:s, s:b}", "code", &code, "named", named);
    enum status status = STATUS_OK;
    if (end == CHILD_NOT_FOUND || end == CHILD_NOT_STARTED)
        status = error_set(error, STATUS_FAILED, "the program can't run itself: %s",
                           strerror(child.code));
    else if (end == CHILD_LATE)
        status = error_set(error, STATUS_FAILED, "no end within %d s of: pipeline %s",
                           child.seconds, arguments);
    else if (code == NULL)
        status = error_set(error, STATUS_FAILED, "no verdict from: pipeline %s", arguments);
    else
        snprintf(cause, CAUSE_TEXT, "%s", code);
    json_decref(root);
    return status;
}

/* --- mistakes --- */

static void size_arguments(enum growth growth, int size, char text[COMMAND_TEXT])
{
    static const uint32_t millions[SIZES] = {16, 64, 256}, fewer[SIZES] = {1, 2, 4};
    switch (growth) {
    case BY_ELEMENTS:
        snprintf(text, COMMAND_TEXT, "-n %" PRIu32 "M", millions[size]);
        break;
    case BY_TILES: /* tiles of 16 K elements */
        snprintf(text, COMMAND_TEXT, "-n %" PRIu32 "M -t %" PRIu32, millions[size],
                 64 * millions[size]);
        break;
    case BY_FEWER:
        snprintf(text, COMMAND_TEXT, "-n %" PRIu32 "M", fewer[size]);
        break;
    case BY_INTENSITY:
        snprintf(text, COMMAND_TEXT, "--intensity=%" PRIu32, 2048U << size);
        break;
    }
}

/* Tries one cause on one device, and prints the first verdict at each size. */
static enum status try_cause(struct bench *bench, const struct mistaken *given,
                             const char *device, struct tally *tally, struct error *error)
{
    enum status status = STATUS_OK;
    bool simulated = strncmp(device, "sim:", 4) == 0;
    if (bench->out != NULL)
        fprintf(bench->out, "  %-22s%-12s", given->cause, device);
    for (int i = 0; i < SIZES && status == STATUS_OK; i++) {
        char arguments[2 * COMMAND_TEXT], cause[CAUSE_TEXT] = "", size[COMMAND_TEXT];
        bool named = false;
        size_arguments(given->growth, i, size);
        snprintf(arguments, sizeof arguments, "--device=%s %s %s %s", device,
                 simulated ? "--no-data" : "--runs=1", size, given->arguments);
        status = first_verdict(arguments, cause, &named, error);
        bool right = named && strcmp(cause, given->cause) == 0;
        tally->tried++;
        tally->right += right;
        if (bench->out != NULL)
            fprintf(bench->out, " %s", right ? "yes" : cause);
    }
    if (bench->out != NULL)
        fputc('\n', bench->out);
    return status;
}

static enum status try_machines(struct bench *bench, const struct mistaken *given,
                                struct tally *tally, struct error *error)
{
    char names[64], *rest = NULL;
    enum status status = STATUS_OK;
    snprintf(names, sizeof names, "%s", given->machines);
    for (char *name = strtok_r(names, " ", &rest); name != NULL && status == STATUS_OK;
         name = strtok_r(NULL, " ", &rest)) {
        char device[32];
        snprintf(device, sizeof device, "sim:%s", name);
        status = try_cause(bench, given, device, tally, error);
        if (bench->quick)
            break;
    }
    return status;
}

/* --- clean settings --- */

static uint32_t below(uint64_t *state, uint32_t limit)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U; /* Knuth's MMIX */
    return (uint32_t)((*state >> 33) % limit);
}

/* Draws settings in which nothing is wrong: enough streams, and tiles that are neither few nor
 * small, on GPUs with two copy engines. Layout `stage` goes with neither breadth-first order
 * nor callbacks: a wave's first copy out would be issued behind all its kernels, and each copy
 * out would wait for the callback before it. */
static void clean_arguments(uint64_t *random, const char *device, char text[COMMAND_TEXT])
{
    static const char *const machines[] = {"sim:h200", "sim:h100", "sim:a100", "sim:v100",
                                           "sim:p100", "sim:k20c", "sim:k20x"};
    static const char *const kernels[] = {"scale", "sum", "scale,scale",
                                          "transpose-conflict-free", "scale,sum"};
    bool simulated = device == NULL;
    const char *on = simulated ? machines[below(random, 7)] : device;
    const uint32_t millions = 128U << below(random, simulated ? 4 : 2);
    const uint32_t tiles = 32U << below(random, 2), streams = 4 + below(random, 5);
    const bool breadth = below(random, 2) == 1, stage = below(random, 2) == 1 && !breadth;
    const char *kernel = kernels[below(random, 5)];
    const uint32_t intensity = 1 + below(random, 60);
    const bool registered = below(random, 4) == 0;
    const bool callbacks = below(random, 4) == 0 && !stage;
    snprintf(text, COMMAND_TEXT,
             "--device=%s %s -n %" PRIu32 "M -t %" PRIu32 " -s %" PRIu32
             " --order=%s --layout=%s -k %s --intensity=%" PRIu32 " --memory=%s%s",
             on, simulated ? "--no-data" : "--runs=3", millions, tiles, streams,
             breadth ? "breadth" : "depth", stage ? "stage" : "tile", kernel, intensity,
             registered ? "registered" : "pinned", callbacks ? " --callbacks" : "");
}

static bool is_mistake(const char *cause)
{
    static const enum verdict_code others[] = {VERDICT_SLOW_COPIES, VERDICT_SLOW_KERNELS,
                                               VERDICT_SHORT_RUN};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(cause, verdict_rows[others[i]].name) == 0)
            return false;
    }
    return true;
}

static enum status try_clean(struct bench *bench, const char *device, int count,
                             struct error *error)
{
    uint64_t random = 2011;
    struct tally tally = {0, 0};
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        char arguments[COMMAND_TEXT], cause[CAUSE_TEXT] = "";
        bool named = false;
        clean_arguments(&random, device, arguments);
        status = first_verdict(arguments, cause, &named, error);
        bool wrong = named && is_mistake(cause);
        tally.tried++;
        tally.right += !wrong;
        if (wrong && bench->out != NULL)
            fprintf(bench->out, "  named %s: pipeline %s\n", cause, arguments);
    }
    char label[64];
    struct series wrong = {0};
    series_add(&wrong, tally.tried - tally.right);
    snprintf(label, sizeof label, "mistakes named in %d clean settings", tally.tried);
    if (status == STATUS_OK)
        bench_result(bench, label, &wrong, "", GOAL_AT_MOST, 0);
    return status;
}

static void print_tally(struct bench *bench, const struct tally *tally, double goal)
{
    char label[64];
    struct series share = {0};
    series_add(&share, 100.0 * tally->right / tally->tried);
    snprintf(label, sizeof label, "first verdict names it: %d of %d", tally->right,
             tally->tried);
    bench_result(bench, label, &share, "%", GOAL_AT_LEAST, goal);
}

/* --- speed --- */

static enum status judge(const struct bench_run *run, const struct timeline *timeline,
                         struct series *times, struct error *error)
{
    struct critical critical = {0};
    struct verdicts verdicts;
    double began = bench_now();
    struct limit limit = limit_of(&run->machine, &run->plan);
    enum status status = critical_find(timeline, &run->machine, &critical, error);
    const struct verdict_case facts = {.timeline = timeline,
                                       .critical = &critical,
                                       .plan = &run->plan,
                                       .machine = &run->machine,
                                       .limit = &limit,
                                       .settings = &run->settings,
                                       .model = &run->machine};
    if (status == STATUS_OK)
        status = verdicts_find(&facts, &verdicts, error);
    series_add(times, 1e3 * (bench_now() - began));
    critical_free(&critical);
    return status;
}

static enum status measure_speed(struct bench *bench, struct error *error)
{
    struct bench_run run = {0};
    struct timeline timeline = {0};
    struct run_times run_times;
    struct series times = {0};
    char text[COMMAND_TEXT];
    snprintf(text, sizeof text, "--device=sim:h200 --no-data --layout=stage -n 1G -t %d",
             JUDGED_TILES);
    enum status status = bench_run_open(&run, text, error);
    if (status == STATUS_OK)
        status = bench_run_once(&run, &timeline, &run_times, error);
    for (int i = 0; i < bench->repeats && status == STATUS_OK; i++)
        status = judge(&run, &timeline, &times, error);
    if (status == STATUS_OK) {
        snprintf(text, sizeof text, "verdicts for %" PRIu32 " spans, with the critical path",
                 timeline.span_count);
        bench_result(bench, text, &times, "ms", GOAL_AT_MOST, JUDGE_MS);
    }
    timeline_free(&timeline);
    bench_run_close(&run);
    return status;
}

enum status bench_verdicts(struct bench *bench, struct error *error)
{
    struct tally tally = {0, 0};
    enum status status = STATUS_OK;
    bench_heading(bench, "the first verdict of simulated runs with one mistake each, by size");
    for (int i = 0; i < MISTAKEN && status == STATUS_OK; i++)
        status = try_machines(bench, &mistaken[i], &tally, error);
    if (status == STATUS_OK)
        print_tally(bench, &tally, NAMED_PERCENT);
    if (status == STATUS_OK)
        status = try_clean(bench, NULL, bench->quick ? CLEAN_QUICK : CLEAN, error);
    return status == STATUS_OK ? measure_speed(bench, error) : status;
}

enum status bench_verdicts_device(struct bench *bench, struct error *error)
{
    struct tally tally = {0, 0};
    enum status status = STATUS_OK;
    bench_heading(bench,
                  "the first verdict of the device's runs with one mistake each, by size");
    for (int i = 0; i < MISTAKEN && status == STATUS_OK; i++) {
        if (mistaken[i].on_device)
            status = try_cause(bench, &mistaken[i], "cuda", &tally, error);
    }
    if (status == STATUS_OK)
        print_tally(bench, &tally, NAMED_ON_DEVICE_PERCENT);
    int clean = bench->quick ? CLEAN_QUICK : CLEAN_ON_DEVICE;
    return status == STATUS_OK ? try_clean(bench, "cuda", clean, error) : status;
}
