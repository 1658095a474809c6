/* bench_cuda_forms.c - one plan in several forms, over sizes of tiles: issued call by call or
 * as one graph, with copies or with kernels that work on the host's memory; and with its memory
 * taken once or for each tile. */
#include "bench/bench_cuda.h"

#include "core/units.h"

enum { FORMS_MOST = 4, SIZES_MOST = 8, STREAMS = 4 };

struct form {
    const char *name, *options;
};

/* Forms that are compared, and the sizes of tiles to do so with; both end with zeros. */
struct forms {
    struct form items[FORMS_MOST + 1];
    uint64_t tiles[SIZES_MOST + 1];
    bool over_first; /* every other form's time over the first one's counts, too */
    const char *goal_name;
    double at_most; /* for that form's ratio with the largest tiles */
};

static const struct forms graphs = {
    .items = {{"calls, copies", "--issue=streams --memory=pinned"},
              {"graph, copies", "--issue=graph --memory=pinned"},
              {"calls, mapped", "--issue=streams --memory=mapped"},
              {"graph, mapped", "--issue=graph --memory=mapped"}},
    .tiles = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20},
};

static const struct forms allocs = {
    .items = {{"once", "--alloc=once"},
              {"loop", "--alloc=loop"},
              {"async", "--alloc=async"},
              {"pool", "--alloc=pool"}},
    .tiles = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20},
    .over_first = true,
    .goal_name = "async",
    .at_most = 1.03,
};

/* The results of one size of tiles. */
struct sizes {
    const struct forms *forms;
    int count; /* of forms */
    struct bench_run runs[FORMS_MOST];
    struct series time[FORMS_MOST], issue[FORMS_MOST], ratio[FORMS_MOST];
};

static enum status open_all(struct sizes *sizes, uint64_t bytes, uint64_t tile,
                            struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < sizes->count && status == STATUS_OK; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "--device=cuda -n %llu -t %llu -s %d %s",
                 (unsigned long long)(bytes / sizeof(float)),
                 (unsigned long long)(bytes / tile), STREAMS, sizes->forms->items[i].options);
        status = bench_run_open(&sizes->runs[i], arguments, error);
    }
    return status;
}

/* Runs the forms in turn, beginning with another one each time, so that all find the machine
 * alike. The first round warms up. Every run is verified. */
static enum status measure_all(const struct bench *bench, struct sizes *sizes,
                               struct error *error)
{
    enum status status = STATUS_OK;
    for (int round = -1; round < bench->repeats && status == STATUS_OK; round++) {
        double ms[FORMS_MOST] = {0};
        for (int i = 0; i < sizes->count && status == STATUS_OK; i++) {
            int form = (round + 1 + i) % sizes->count;
            struct run_times times = {0};
            status = bench_run_once(&sizes->runs[form], NULL, &times, error);
            ms[form] = 1e-6 * (double)times.time_ns;
            if (round < 0 || status != STATUS_OK)
                continue;
            series_add(&sizes->time[form], ms[form]);
            series_add(&sizes->issue[form], 1e-6 * (double)times.issue_ns);
        }
        for (int i = 1; i < sizes->count && round >= 0 && status == STATUS_OK; i++)
            series_add(&sizes->ratio[i], ms[i] / ms[0]);
    }
    return status;
}

static void print_ratios(struct bench *bench, const struct sizes *sizes, uint64_t tile,
                         bool largest)
{
    const struct forms *forms = sizes->forms;
    char each[UNITS_TEXT], name[96];
    for (int i = 1; i < sizes->count && forms->over_first; i++) {
        const bool judged = largest && strcmp(forms->items[i].name, forms->goal_name) == 0;
        snprintf(name, sizeof name, "%s over %s, tiles of %s", forms->items[i].name,
                 forms->items[0].name, units_bytes(tile, each));
        bench_result(bench, name, &sizes->ratio[i], "", judged ? GOAL_AT_MOST : GOAL_NONE,
                     judged ? forms->at_most : 0);
    }
}

static void print_all(struct bench *bench, const struct sizes *sizes, uint64_t bytes,
                      uint64_t tile, bool largest)
{
    char text[160], all[UNITS_TEXT], each[UNITS_TEXT], name[96];
    snprintf(text, sizeof text, "%s each way in tiles of %s, %d streams",
             units_bytes(bytes, all), units_bytes(tile, each), STREAMS);
    bench_heading(bench, text);
    for (int i = 0; i < sizes->count; i++) {
        snprintf(name, sizeof name, "%s, tiles of %s: time", sizes->forms->items[i].name, each);
        bench_result(bench, name, &sizes->time[i], "ms", GOAL_NONE, 0);
        snprintf(name, sizeof name, "%s, tiles of %s: the host's calls",
                 sizes->forms->items[i].name, each);
        bench_result(bench, name, &sizes->issue[i], "ms", GOAL_NONE, 0);
    }
    print_ratios(bench, sizes, tile, largest);
}

static enum status run_forms(struct bench *bench, const struct forms *forms,
                             struct error *error)
{
    uint64_t bytes = bench->quick ? UINT64_C(64) << 20 : UINT64_C(1) << 30;
    enum status status = STATUS_OK;
    for (int i = 0; forms->tiles[i] > 0 && status == STATUS_OK; i++) {
        struct sizes sizes = {.forms = forms};
        while (forms->items[sizes.count].name != NULL)
            sizes.count++;
        status = open_all(&sizes, bytes, forms->tiles[i], error);
        if (status == STATUS_OK)
            status = measure_all(bench, &sizes, error);
        for (int form = 0; form < sizes.count; form++)
            bench_run_close(&sizes.runs[form]);
        if (status == STATUS_OK)
            print_all(bench, &sizes, bytes, forms->tiles[i], forms->tiles[i + 1] == 0);
    }
    return status;
}

enum status bench_cuda_graphs(struct bench *bench, struct error *error)
{
    return run_forms(bench, &graphs, error);
}

enum status bench_cuda_allocs(struct bench *bench, struct error *error)
{
    return run_forms(bench, &allocs, error);
}
