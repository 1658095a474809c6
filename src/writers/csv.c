/* csv.c - the report as CSV, a row per run. Quoting is RFC 4180's; lines end in LF, as text
 * tools expect. */
#include "report/compare.h"
#include "writers/put.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* A line of the report: of titles, or of a run's values. One function puts both, so that each
 * value has its title. */
struct csv {
    FILE *out;
    bool titles;
    bool empty;         /* no values: another program's run has no settings */
    const char *prefix; /* of the titles, "h2d_": some options are called like a figure */
};

/* Begins a field. Returns true if a value is to follow. */
static bool begin(const struct csv *csv, const char *title)
{
    putc(',', csv->out);
    if (csv->titles)
        fprintf(csv->out, "%s%s", csv->prefix, title);
    return !csv->titles && !csv->empty;
}

/* Puts ns in ms without rounding; an empty field where the time is not known. */
static void put_ms(const struct csv *csv, const char *title, bool known, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    if (begin(csv, title) && known)
        fprintf(csv->out, "%s%" PRIu64 ".%06" PRIu64, ns < 0 ? "-" : "", size / 1000000,
                size % 1000000);
}

static void put_count(const struct csv *csv, const char *title, bool known, uint64_t count)
{
    if (begin(csv, title) && known)
        fprintf(csv->out, "%" PRIu64, count);
}

/* Puts an empty field where there is no number to give. */
static void put_digits(const struct csv *csv, const char *title, double value, int digits)
{
    if (begin(csv, title) && isfinite(value))
        fprintf(csv->out, "%.*g", digits, value);
}

static void put_real(const struct csv *csv, const char *title, double value)
{
    put_digits(csv, title, value, 9);
}

static void put_text(const struct csv *csv, const char *title, const char *text)
{
    if (begin(csv, title))
        write_csv_field(csv->out, text);
}

static void put_setting(void *csv, const char *name, const char *value, enum value_kind kind)
{
    put_text(csv, name, kind == VALUE_NULL ? "" : value);
}

/* What only reports of some runs have columns for. */
struct columns {
    bool rated; /* a kernel's arithmetic, in Gflop/s */
    bool peers; /* copies from device to device */
    bool halo;  /* the copies of a stencil's rows */
    bool files; /* predictions by the machine file alone */
    struct settings_shown shown;
};

static struct columns columns_of(const struct report *report)
{
    struct columns columns = {0};
    for (int i = 0; i < report->run_count; i++) {
        columns.rated |= !isnan(report_gflops(&report->runs[i]));
        columns.peers |= analysis_shows(&report->runs[i].analysis, ENGINE_PEER);
        columns.halo |= report_exchanges(&report->runs[i]);
        columns.files |=
            report->runs[i].compared != NULL && report->runs[i].compared->comparison.calibrated;
        columns.shown.several |= settings_devices(report->runs[i].settings) > 1;
        columns.shown.halo |= settings_has_halo(report->runs[i].settings);
    }
    return columns;
}

static struct csv with_prefix(const struct csv *csv, const char *prefix)
{
    return (struct csv){.out = csv->out, .titles = csv->titles, .prefix = prefix};
}

/* Puts an engine's figures; empty where --profile left the timeline to a profiler. */
static void put_engine(const struct csv *csv, const struct run_report *run, enum engine engine)
{
    const struct engine_use *use = &run->analysis.engines[engine];
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%s_", engine_name(engine));
    const struct csv own = with_prefix(csv, prefix);
    put_ms(&own, "busy_ms", !run->profiled, use->busy_ns);
    put_real(&own, "utilisation", run->profiled ? NAN : use->utilisation);
    put_count(&own, "bytes", !run->profiled, use->bytes);
}

static void put_run(const struct csv *csv, const struct run_report *run)
{
    const bool right = run->verified == VERIFIED_YES, wrong = run->verified == VERIFIED_NO;
    const bool limited = !run->foreign || run->verdicts.limit_known;
    if (csv->titles)
        fputs("run", csv->out);
    else
        write_csv_field(csv->out, run->settings->name);
    put_text(csv, "source", timeline_source(&run->timeline));
    put_text(csv, "timing", run->profiled ? "" : timeline_timing(&run->timeline));
    put_text(csv, "device", report_device(run));
    put_text(csv, "driver", run->timeline.driver);
    put_text(csv, "verified", right ? "true" : wrong ? "false" : "");
    put_ms(csv, "time_ms", true, run->median_ns);
    put_ms(csv, "time_min_ms", true, run->min_ns);
    put_ms(csv, "time_max_ms", true, run->max_ns);
    put_ms(csv, "limit_ms", limited, run->limit.ns);
    put_real(csv, "limit_ratio",
             limited ? (double)run->limit.ns / (double)run->median_ns : NAN);
    put_real(csv, "speedup", run->speedup);
    for (int i = 0; i < ENGINE_WORKING; i++)
        if (!engine_rows[i].rare)
            put_engine(csv, run, (enum engine)i);
    put_real(csv, "concurrency", run->profiled ? NAN : run->analysis.concurrency);
    put_count(csv, "repeats", !run->foreign, run->repeats);
    put_ms(csv, "timeline_ms", !run->profiled, run->analysis.time_ns);
    put_ms(csv, "issue_ms", !run->foreign, run->issue_ns);
    put_text(csv, "limit_cause", limited ? limit_cause_name(run->limit.cause) : "");
    put_digits(csv, "result", run->has_result ? run->result : NAN, 17);
    put_count(csv, "hazards", !run->foreign, run->hazard_count);
    put_count(csv, "streams", true, run->streams);
    put_count(csv, "slots", !run->foreign, run->slots);
    put_count(csv, "cpu_tiles", !run->foreign, run->cpu_tiles);
    put_count(csv, "host_bytes", !run->foreign, run->host_bytes);
    put_count(csv, "device_bytes", !run->foreign, run->device_bytes);
    put_ms(csv, "predicted_sim_ms", run->predicted_ns > 0, run->predicted_ns);
}

static void put_deviation(const struct csv *csv, const char *prefix,
                          const struct deviation *deviation)
{
    const struct csv own = with_prefix(csv, prefix);
    put_ms(&own, "median_ms", true, deviation->median_ns);
    put_ms(&own, "p95_ms", true, deviation->p95_ns);
    put_ms(&own, "largest_ms", true, deviation->largest_ns);
}

static void put_compared(const struct csv *csv, const struct compared *compared)
{
    const struct comparison *comparison = &compared->comparison;
    put_text(csv, "machine", compared->device);
    put_ms(csv, "simulated_ms", true, comparison->simulated_ns);
    put_real(csv, "error", comparison->error);
    put_real(csv, "noise", comparison->noise);
    put_real(csv, "traced_error", comparison->traced_error);
    put_count(csv, "spans", true, comparison->spans);
    put_deviation(csv, "start_", &comparison->start);
    put_deviation(csv, "end_", &comparison->end);
    put_real(csv, "same_order", comparison->same_order);
}

static void put_line(const struct csv *csv, const struct run_report *run,
                     const struct columns *columns)
{
    struct csv own = with_prefix(csv, "settings.");
    own.empty = run->foreign;
    put_run(csv, run);
    if (columns->rated)
        put_real(csv, "gflops", report_gflops(run));
    if (columns->peers)
        put_engine(csv, run, ENGINE_PEER);
    if (columns->halo)
        put_real(csv, "exchange_hidden",
                 report_exchanges(run) ? run->analysis.peers_hidden : NAN);
    if (run->compared != NULL)
        put_compared(csv, run->compared);
    if (columns->files) {
        put_ms(csv, "file_simulated_ms", true, run->compared->comparison.file_ns);
        put_real(csv, "file_error", run->compared->comparison.file_error);
    }
    if (run->settings != NULL)
        settings_each_of(run->settings, columns->shown, put_setting, &own);
    put_ms(csv, "time_low_ms", run->sure.high_ns > 0, run->sure.low_ns);
    put_ms(csv, "time_high_ms", run->sure.high_ns > 0, run->sure.high_ns);
    putc('\n', csv->out);
}

enum status write_csv_report(FILE *out, const struct report *report)
{
    const struct columns columns = columns_of(report);
    const struct run_report none = {.settings = NULL}; /* a report of no runs has titles, too */
    struct csv csv = {.out = out, .titles = true, .prefix = ""};
    put_line(&csv, report->run_count > 0 ? &report->runs[0] : &none, &columns);
    csv.titles = false;
    for (int i = 0; i < report->run_count; i++)
        put_line(&csv, &report->runs[i], &columns);
    return STATUS_OK;
}
