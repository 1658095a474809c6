/* finalists.c - the settings that the simulator finds nearly as good as the best, and which of
 * them a device finds the fastest. */
#include "report/tune.h"

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

/* --- on the device --- */

/* The same settings may take a tenth longer where their arrays came to lie elsewhere in the
 * host's memory [two of the same took 1.87 and 2.05 ms side by side on an H100's host]: the
 * last ones are measured several times in turn, each time with other arrays. */
enum {
    FIRST_RUNS = 3,
    LAST_RUNS = 5,
    LAST_COUNT = 4,
    LAST_TIMES = 3,
    WORTH = 100, /* others than the choice are taken for a gain of a hundredth or more */
};

/* How and on what settings are measured. */
struct measuring {
    finalists_measure *measure;
    void *context;
};

/* Measures settings for the first time, unless others like them were, and adds them. That the
 * device can't run them is no error. */
static enum status try_first(const struct measuring *measuring, const struct settings *settings,
                             struct finalists *fastest, int *count, struct error *error)
{
    struct error why = {0};
    int64_t time_ns;
    if (has(fastest, settings))
        return STATUS_OK;
    const enum status status =
        measuring->measure(measuring->context, settings, FIRST_RUNS, &time_ns, &why);
    if (status == STATUS_OK) {
        finalists_add(fastest, settings, time_ns);
        ++*count;
    }
    return status == STATUS_OK || status == STATUS_USAGE ? STATUS_OK : error_pass(error, &why);
}

/* Measures the last ones in turn, and sets the time of each to the median of its medians. */
static enum status try_last(const struct measuring *measuring, struct finalist *last, int count,
                            struct error *error)
{
    int64_t medians_ns[LAST_COUNT + 1][LAST_TIMES];
    enum status status = STATUS_OK;
    for (int time = 0; time < LAST_TIMES; time++) {
        for (int i = 0; i < count && status == STATUS_OK; i++) {
            const int which = (i + time) % count;
            status = measuring->measure(measuring->context, &last[which].settings, LAST_RUNS,
                                        &medians_ns[which][time], error);
        }
    }
    for (int i = 0; i < count && status == STATUS_OK; i++)
        last[i].time_ns = median_ns(medians_ns[i], LAST_TIMES);
    return status;
}

enum status finalists_try(const struct finalists *finalists, const struct settings *chosen,
                          const struct settings *usual, finalists_measure *measure,
                          void *context, struct tried *tried, struct error *error)
{
    const struct measuring measuring = {measure, context};
    struct finalists fastest = {0};
    struct finalist last[LAST_COUNT + 1];
    int count = 0, measured = 0;
    enum status status = try_first(&measuring, usual, &fastest, &measured, error);
    for (int i = 0; i < finalists->count && status == STATUS_OK; i++)
        status = try_first(&measuring, &finalists->all[i].settings, &fastest, &measured, error);
    const int before = measured;
    if (status == STATUS_OK)
        status = try_first(&measuring, chosen, &fastest, &measured, error);
    const bool can = measured > before || has(&fastest, chosen);
    if (can) /* it comes first, for it stays unless another is clearly faster */
        last[count++].settings = *chosen;
    for (int i = 0; i < fastest.count && i < LAST_COUNT; i++) {
        if (!can || !finalists_are_alike(&fastest.all[i].settings, chosen))
            last[count++].settings = fastest.all[i].settings;
    }
    if (status == STATUS_OK)
        status = try_last(&measuring, last, count, error);
    *tried = (struct tried){.settings = *chosen, .count = measured};
    if (status != STATUS_OK || count == 0)
        return status;
    int best = 0;
    for (int i = 1; i < count; i++)
        best = last[i].time_ns < last[best].time_ns ? i : best;
    if (can && last[0].time_ns - last[best].time_ns <= last[0].time_ns / WORTH)
        best = 0;
    tried->settings = last[best].settings;
    tried->time_ns = last[best].time_ns;
    tried->chosen_ns = can ? last[0].time_ns : 0;
    return STATUS_OK;
}
