/* bench_result.c - repeats and results. */
#include "bench/bench.h"

#include "core/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void series_add(struct series *series, double value)
{
    if (series->count < REPEATS_MAX)
        series->values[series->count++] = value;
}

COMPARE_NUMBERS(compare, double);

/* Returns the value at `share` of the way from the least to the most. */
static double series_at(const struct series *series, double share)
{
    double sorted[REPEATS_MAX];
    if (series->count == 0)
        return 0;
    memcpy(sorted, series->values, sizeof sorted);
    qsort(sorted, (size_t)series->count, sizeof *sorted, compare);
    double place = share * (series->count - 1);
    int below = (int)place;
    int above = below + 1 < series->count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

double series_median(const struct series *series)
{
    return series_at(series, 0.5);
}

double series_least(const struct series *series)
{
    return series_at(series, 0);
}

double series_most(const struct series *series)
{
    return series_at(series, 1);
}

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bench_heading(const struct bench *bench, const char *text)
{
    if (bench->out != NULL)
        fprintf(bench->out, "\n%-52s %9s %-9s  least to most\n", text, "median", "");
}

static const char *goal_text(enum goal goal, double target, char text[32])
{
    if (goal == GOAL_NONE)
        return "";
    snprintf(text, 32, "goal %s %.4g", goal == GOAL_AT_LEAST ? ">=" : "<=", target);
    return text;
}

static bool is_met(double median, enum goal goal, double target)
{
    return goal == GOAL_NONE || (goal == GOAL_AT_LEAST ? median >= target : median <= target);
}

void bench_keep(struct bench *bench, const char *name, const struct series *series,
                const char *unit, enum goal goal, double target)
{
    double median = series_median(series);
    bool met = is_met(median, goal, target);
    bench->missed += !met;
    json_t *values = json_array();
    for (int i = 0; i < series->count; i++)
        json_array_append_new(values, json_real(series->values[i]));
    json_t *result = json_pack("{s:s, s:s, s:s, s:f, s:o}", "group", bench->group, "name", name,
                               "unit", unit, "median", median, "repeats", values);
    if (goal != GOAL_NONE) {
        json_object_set_new(result, goal == GOAL_AT_LEAST ? "at_least" : "at_most",
                            json_real(target));
        json_object_set_new(result, "met", json_boolean(met));
    }
    json_array_append_new(bench->results, result);
}

void bench_result(struct bench *bench, const char *name, const struct series *series,
                  const char *unit, enum goal goal, double target)
{
    char spread[48], goal_shown[32];
    double median = series_median(series);
    bench_keep(bench, name, series, unit, goal, target);
    if (bench->out == NULL)
        return;
    snprintf(spread, sizeof spread, "%.4g to %.4g", series_least(series), series_most(series));
    fprintf(bench->out, "  %-50s %9.4g %-9s  %-20s %s%s\n", name, median, unit, spread,
            goal_text(goal, target, goal_shown),
            is_met(median, goal, target) ? "" : "  MISSED");
    fflush(bench->out);
}
