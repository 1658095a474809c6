/* cells.c - the figures of a run, as tables show them. */
#include "writers/cells.h"

#include "core/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void cell_count(uint64_t count, char text[CELL_TEXT])
{
    snprintf(text, CELL_TEXT, "%" PRIu64, count);
}

static void cell_percent(double share, int decimals, char text[CELL_TEXT])
{
    if (isfinite(share))
        snprintf(text, CELL_TEXT, "%.*f%%", decimals, 100 * share);
    else
        snprintf(text, CELL_TEXT, "-");
}

void cell_ways(const struct run_report *run, char text[CELL_TEXT])
{
    snprintf(text, CELL_TEXT, "%d", run->settings->ways);
}

void cell_order(const struct run_report *run, char text[CELL_TEXT])
{
    snprintf(text, CELL_TEXT, "%s", order_names[run->settings->order]);
}

void cell_layout(const struct run_report *run, char text[CELL_TEXT])
{
    snprintf(text, CELL_TEXT, "%s", layout_names[run->settings->layout]);
}

void cell_streams(const struct run_report *run, char text[CELL_TEXT])
{
    cell_count(run->streams, text);
}

void cell_tiles(const struct run_report *run, char text[CELL_TEXT])
{
    cell_count(run->settings->tiles, text);
}

void cell_cpu_tiles(const struct run_report *run, char text[CELL_TEXT])
{
    cell_count(run->cpu_tiles, text);
}

void cell_slots(const struct run_report *run, char text[CELL_TEXT])
{
    cell_count(run->slots, text);
}

void cell_time(const struct run_report *run, char text[CELL_TEXT])
{
    units_time(run->median_ns, text);
}

void cell_fastest(const struct run_report *run, char text[CELL_TEXT])
{
    units_time(run->min_ns, text);
}

void cell_slowest(const struct run_report *run, char text[CELL_TEXT])
{
    units_time(run->max_ns, text);
}

void cell_speedup(const struct run_report *run, char text[CELL_TEXT])
{
    if (isfinite(run->speedup))
        snprintf(text, CELL_TEXT, "%.2fx", fmin(run->speedup, 1e9));
    else
        snprintf(text, CELL_TEXT, "-");
}

void cell_limit(const struct run_report *run, char text[CELL_TEXT])
{
    units_time(run->limit.ns, text);
}

void cell_limit_share(const struct run_report *run, char text[CELL_TEXT])
{
    cell_percent((double)run->limit.ns / (double)run->median_ns, 1, text);
}

void cell_limit_cause(const struct run_report *run, char text[CELL_TEXT])
{
    snprintf(text, CELL_TEXT, "%s", limit_cause_name(run->limit.cause));
}

void cell_result(const struct run_report *run, char text[CELL_TEXT])
{
    if (run->has_result)
        snprintf(text, CELL_TEXT, "%.9g", run->result);
    else
        snprintf(text, CELL_TEXT, "-");
}

void cell_gflops(const struct run_report *run, char text[CELL_TEXT])
{
    const double rate = report_gflops(run);
    if (isnan(rate))
        snprintf(text, CELL_TEXT, "-");
    else if (rate < 100)
        snprintf(text, CELL_TEXT, "%.3g", rate);
    else
        snprintf(text, CELL_TEXT, "%.0f", rate);
}

void cell_verified(const struct run_report *run, char text[CELL_TEXT])
{
    static const char *const names[] = {
        [VERIFIED_NO] = "NO", [VERIFIED_YES] = "yes", [VERIFIED_NOT_ASKED] = "not asked"};
    snprintf(text, CELL_TEXT, "%s", names[run->verified]);
}

static void cell_busy(const struct run_report *run, enum engine engine, char text[CELL_TEXT])
{
    cell_percent(run->profiled ? NAN : run->analysis.engines[engine].utilisation, 0, text);
}

void cell_h2d(const struct run_report *run, char text[CELL_TEXT])
{
    cell_busy(run, ENGINE_H2D, text);
}

void cell_compute(const struct run_report *run, char text[CELL_TEXT])
{
    cell_busy(run, ENGINE_COMPUTE, text);
}

void cell_d2h(const struct run_report *run, char text[CELL_TEXT])
{
    cell_busy(run, ENGINE_D2H, text);
}

void cell_cpu(const struct run_report *run, char text[CELL_TEXT])
{
    cell_busy(run, ENGINE_CPU, text);
}

void cell_concurrency(const struct run_report *run, char text[CELL_TEXT])
{
    if (run->profiled)
        snprintf(text, CELL_TEXT, "-");
    else
        snprintf(text, CELL_TEXT, "%.2f", run->analysis.concurrency);
}

void cell_issued_by(const struct run_report *run, char text[CELL_TEXT])
{
    snprintf(text, CELL_TEXT, "%s", issue_names[run->settings->issue]);
}

void cell_issue(const struct run_report *run, char text[CELL_TEXT])
{
    units_time(run->issue_ns, text);
}

/* Writes both directions' bytes over the run's time, in which everything else ran as well. With
 * mapped memory it was the kernels that moved them. */
void cell_copied(const struct run_report *run, char text[CELL_TEXT])
{
    const struct engine_use *engines = run->analysis.engines;
    double bytes = (double)engines[ENGINE_H2D].bytes + (double)engines[ENGINE_D2H].bytes;
    if (run->settings->memory == MEMORY_MAPPED)
        bytes += (double)engines[ENGINE_COMPUTE].bytes;
    if (run->median_ns > 0 && !run->profiled)
        units_rate(bytes * 1e9 / (double)run->median_ns, text);
    else
        snprintf(text, CELL_TEXT, "-");
}

void cell_host_bytes(const struct run_report *run, char text[CELL_TEXT])
{
    units_bytes(run->host_bytes, text);
}

void cell_device_bytes(const struct run_report *run, char text[CELL_TEXT])
{
    units_bytes(run->device_bytes, text);
}
