/* bench_cuda_graphs.c - one plan in four forms, over sizes of tiles: issued call by call or as
 * one graph, with copies or with kernels that work on the host's memory. */
#include "bench/bench_cuda.h"

#include "core/units.h"

enum { FORMS = 4, STREAMS = 4 };

static const struct form {
    const char *name, *options;
} forms[FORMS] = {
    {"calls, copies", "--issue=streams --memory=pinned"},
    {"graph, copies", "--issue=graph --memory=pinned"},
    {"calls, mapped", "--issue=streams --memory=mapped"},
    {"graph, mapped", "--issue=graph --memory=mapped"},
};

/* The results of one size of tiles. */
struct sizes {
    struct bench_run runs[FORMS];
    struct series time[FORMS], issue[FORMS];
};

static enum status open_all(struct sizes *sizes, uint64_t bytes, uint64_t tile,
                            struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < FORMS && status == STATUS_OK; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "--device=cuda -n %llu -t %llu -s %d %s",
                 (unsigned long long)(bytes / sizeof(float)),
                 (unsigned long long)(bytes / tile), STREAMS, forms[i].options);
        status = bench_run_open(&sizes->runs[i], arguments, error);
    }
    return status;
}

/* Runs the four forms in turn, beginning with another one each time, so that all find the
 * machine alike. The first round warms up. Every run is verified. */
static enum status measure_all(const struct bench *bench, struct sizes *sizes,
                               struct error *error)
{
    enum status status = STATUS_OK;
    for (int round = -1; round < bench->repeats && status == STATUS_OK; round++) {
        for (int i = 0; i < FORMS && status == STATUS_OK; i++) {
            int form = (round + 1 + i) % FORMS;
            struct run_times times = {0};
            status = bench_run_once(&sizes->runs[form], NULL, &times, error);
            if (round < 0 || status != STATUS_OK)
                continue;
            series_add(&sizes->time[form], 1e-6 * (double)times.time_ns);
            series_add(&sizes->issue[form], 1e-6 * (double)times.issue_ns);
        }
    }
    return status;
}

static void print_all(struct bench *bench, const struct sizes *sizes, uint64_t bytes,
                      uint64_t tile)
{
    char text[160], all[UNITS_TEXT], each[UNITS_TEXT], name[96];
    snprintf(text, sizeof text, "%s each way in tiles of %s, %d streams",
             units_bytes(bytes, all), units_bytes(tile, each), STREAMS);
    bench_heading(bench, text);
    for (int i = 0; i < FORMS; i++) {
        snprintf(name, sizeof name, "%s, tiles of %s: time", forms[i].name, each);
        bench_result(bench, name, &sizes->time[i], "ms", GOAL_NONE, 0);
        snprintf(name, sizeof name, "%s, tiles of %s: the host's calls", forms[i].name, each);
        bench_result(bench, name, &sizes->issue[i], "ms", GOAL_NONE, 0);
    }
}

enum status bench_cuda_graphs(struct bench *bench, struct error *error)
{
    static const uint64_t tiles[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20};
    uint64_t bytes = bench->quick ? UINT64_C(64) << 20 : UINT64_C(1) << 30;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles && status == STATUS_OK; i++) {
        struct sizes sizes = {0};
        status = open_all(&sizes, bytes, tiles[i], error);
        if (status == STATUS_OK)
            status = measure_all(bench, &sizes, error);
        for (int form = 0; form < FORMS; form++)
            bench_run_close(&sizes.runs[form]);
        if (status == STATUS_OK)
            print_all(bench, &sizes, bytes, tiles[i]);
    }
    return status;
}
