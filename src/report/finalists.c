/* finalists.c - see finalists.h. */
#include "report/finalists.h"

#include "analysis/analysis.h"

bool finalists_are_alike(const struct settings *one, const struct settings *other)
{
    return one->tiles == other->tiles && one->streams == other->streams &&
           one->order == other->order && one->layout == other->layout &&
           one->issue == other->issue && one->memory == other->memory &&
           one->pack == other->pack && one->batch == other->batch;
}

static bool has(const struct finalists *finalists, const struct settings *settings)
{
    bool found = false;
    for (int i = 0; i < finalists->count && !found; i++)
        found = finalists_are_alike(&finalists->all[i].settings, settings);
    return found;
}

void finalists_add(struct finalists *finalists, const struct settings *settings,
                   int64_t time_ns)
{
    struct finalist *all = finalists->all;
    int place = finalists->count;
    if (has(finalists, settings) || (place == FINALISTS_MAX && all[--place].time_ns <= time_ns))
        return;
    for (; place > 0 && all[place - 1].time_ns > time_ns; place--)
        all[place] = all[place - 1];
    all[place] = (struct finalist){*settings, time_ns};
    if (finalists->count < FINALISTS_MAX)
        finalists->count++;
}

void finalists_add_all(struct finalists *finalists, const struct finalists *others)
{
    for (int i = 0; i < others->count; i++)
        finalists_add(finalists, &others->all[i].settings, others->all[i].time_ns);
}

void finalists_keep(struct finalists *finalists, int64_t most_ns)
{
    while (finalists->count > 0 && finalists->all[finalists->count - 1].time_ns > most_ns)
        finalists->count--;
}

/* --- on the device --- */

/* The same settings may take a tenth longer where their arrays came to lie elsewhere in the
 * host's memory [two of the same took 1.87 and 2.05 ms side by side on an H100's host]: the
 * last ones are measured several times, each with other arrays. */
enum { FIRST_RUNS = 3, LAST_RUNS = 5, LAST_COUNT = 4, LAST_TIMES = 3 };

/* A round of measuring. */
struct round {
    finalists_measure *measure;
    void *context;
    uint32_t runs;            /* of each, with the same arrays */
    int times;                /* that each is measured, with others: the middle one counts */
    struct finalists fastest; /* with measured times */
    int count;                /* settings that were measured */
};

/* Sets *time_ns to the median of several medians. */
static enum status measure_times(const struct round *round, const struct settings *settings,
                                 int64_t *time_ns, struct error *error)
{
    int64_t medians_ns[LAST_TIMES];
    enum status status = STATUS_OK;
    for (int i = 0; i < round->times && status == STATUS_OK; i++)
        status = round->measure(round->context, settings, round->runs, &medians_ns[i], error);
    if (status == STATUS_OK)
        *time_ns = median_ns(medians_ns, (size_t)round->times);
    return status;
}

/* Measures settings, unless others like them are in the list, and adds them. That the device
 * can't run them is no error. */
static enum status measure_one(struct round *round, const struct settings *settings,
                               struct error *error)
{
    struct error why = {0};
    int64_t time_ns;
    if (has(&round->fastest, settings))
        return STATUS_OK;
    const enum status status = measure_times(round, settings, &time_ns, &why);
    if (status == STATUS_OK) {
        finalists_add(&round->fastest, settings, time_ns);
        round->count++;
    }
    return status == STATUS_OK || status == STATUS_USAGE ? STATUS_OK : error_pass(error, &why);
}

enum status finalists_try(const struct finalists *finalists, const struct settings *chosen,
                          const struct settings *usual, finalists_measure *measure,
                          void *context, struct tried *tried, struct error *error)
{
    struct round first = {
        .measure = measure, .context = context, .runs = FIRST_RUNS, .times = 1};
    struct round last = {
        .measure = measure, .context = context, .runs = LAST_RUNS, .times = LAST_TIMES};
    enum status status = measure_one(&first, chosen, error);
    const bool can = first.count > 0;
    if (status == STATUS_OK)
        status = measure_one(&first, usual, error);
    for (int i = 0; i < finalists->count && status == STATUS_OK; i++)
        status = measure_one(&first, &finalists->all[i].settings, error);
    *tried = (struct tried){.settings = *chosen, .count = first.count};
    if (can && status == STATUS_OK)
        status = measure_one(&last, chosen, error);
    if (last.count > 0)
        tried->chosen_ns = last.fastest.all[0].time_ns;
    for (int i = 0; i < first.fastest.count && i < LAST_COUNT && status == STATUS_OK; i++)
        status = measure_one(&last, &first.fastest.all[i].settings, error);
    if (last.count > 0) {
        tried->settings = last.fastest.all[0].settings;
        tried->time_ns = last.fastest.all[0].time_ns;
    }
    return status;
}
