/* bench_cuda_tracing.c - the cost of tracing a run: by CUPTI, by events, and to later runs. */
#include "bench/bench_cuda.h"

#include <stdlib.h>
#include <string.h>

static enum status time_run(struct bench_run *run, struct timeline *timeline, double *ns,
                            struct error *error)
{
    struct run_times times;
    enum status status = bench_run_once(run, timeline, &times, error);
    if (status == STATUS_OK)
        *ns = (double)times.time_ns;
    return status;
}

/* Makes bare runs before the first traced one, then bare and traced ones in turn. Each ratio is
 * to the median of the runs before. */
static enum status measure(struct bench *bench, struct bench_run *run, const char *way,
                           struct error *error)
{
    struct series before = {0}, traced = {0}, after = {0};
    struct timeline timeline = {0};
    double ns;
    enum status status = time_run(run, NULL, &ns, error); /* warms up */
    for (int i = 0; i < bench->repeats && status == STATUS_OK; i++) {
        status = time_run(run, NULL, &ns, error);
        series_add(&before, ns);
    }
    for (int i = 0; i < bench->repeats && status == STATUS_OK; i++) {
        status = time_run(run, &timeline, &ns, error);
        series_add(&traced, ns / series_median(&before));
        if (status == STATUS_OK)
            status = time_run(run, NULL, &ns, error);
        series_add(&after, ns / series_median(&before));
    }
    if (status == STATUS_OK) {
        char name[96];
        snprintf(name, sizeof name, "traced, asked for %s, got %s", way,
                 timeline_timing(&timeline));
        bench_result(bench, name, &traced, "", GOAL_NONE, 0);
        snprintf(name, sizeof name, "bare, between runs traced by %s",
                 timeline_timing(&timeline));
        bench_result(bench, name, &after, "", GOAL_NONE, 0);
    }
    timeline_free(&timeline);
    return status;
}

enum status bench_cuda_tracing(struct bench *bench, struct error *error)
{
    static const char *const ways[] = {"events", "cupti"}; /* CUPTI last: it stays loaded */
    enum status status = STATUS_OK;
    bench_heading(bench, "64 tiles, with bare runs before any traced one = 1");
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        struct bench_run run;
        if (i == 0)
            setenv("PIPELINE_NO_CUPTI", "1", 1);
        else
            unsetenv("PIPELINE_NO_CUPTI");
        status = bench_run_open(
            &run, bench->quick ? "--device=cuda -n 64M -t 64" : "--device=cuda -n 256M -t 64",
            error);
        if (status == STATUS_OK)
            status = measure(bench, &run, ways[i], error);
        bench_run_close(&run);
    }
    return status;
}
