/* html.c - the timelines as one page: plots/page.html with its style, its script and the
 * data in it, so that it needs nothing else and asks no network.
 *
 * The data is JSON in which <, > and & are escaped, so that nothing in it can end the element
 * it stands in. Spans are arrays, one a line, in the order of put_span(). A browser holds a bar
 * per span: of runs that go beyond SPANS_DRAWN only how busy each engine was is written, by
 * columns. Nothing here grows with the number of spans. */
#include "core/embedded.h"
#include "core/units.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SPANS_DRAWN = 100000, /* on a page, all runs together */
    COLUMNS = 2000,       /* of the time axis, where spans are not drawn one by one */
    TEXT_ROOM = 3 * 4096, /* a longer text is cut */
};

static void put_text(FILE *out, const char *text)
{
    char clean[TEXT_ROOM];
    putc('"', out);
    for (const char *c = writer_clean(clean, sizeof clean, text, false); *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || strchr("\"\\<>&", *c) != NULL)
            fprintf(out, "\\u%04x", (unsigned)*c);
        else
            putc(*c, out);
    }
    putc('"', out);
}

/* JavaScript's numbers are whole up to 2^53; what is beyond goes as text. */
static void put_integer(FILE *out, int64_t value)
{
    static const int64_t exact = INT64_C(1) << 53;
    bool quoted = value > exact || value < -exact;
    fprintf(out, quoted ? "\"%" PRId64 "\"" : "%" PRId64, value);
}

static void put_count(FILE *out, uint64_t value)
{
    if (value <= INT64_MAX)
        put_integer(out, (int64_t)value);
    else
        fprintf(out, "\"%" PRIu64 "\"", value);
}

/* A member of an object, behind others. */
static void put_key(FILE *out, const char *key)
{
    fprintf(out, ",\n\"%s\":", key);
}

static void put_member(FILE *out, const char *key, const char *text)
{
    put_key(out, key);
    put_text(out, text);
}

static void put_bool(FILE *out, const char *key, bool value)
{
    put_key(out, key);
    fputs(value ? "true" : "false", out);
}

static void put_time(FILE *out, const char *key, int64_t ns)
{
    char text[UNITS_TEXT];
    put_member(out, key, units_time(ns, text));
}

/* "99.1%"; nothing where there is no such share. */
static void put_share(FILE *out, const char *key, double share)
{
    char text[32];
    if (!isfinite(share))
        return;
    snprintf(text, sizeof text, "%.1f%%", fmin(100 * share, 1e9));
    put_member(out, key, text);
}

/* A list of pairs that is being written. */
struct pairs {
    FILE *out;
    int count;
};

static void put_setting(void *context, const char *name, const char *value,
                        enum value_kind kind)
{
    struct pairs *pairs = context;
    fputs(pairs->count++ == 0 ? "[" : ",[", pairs->out);
    put_text(pairs->out, name);
    putc(',', pairs->out);
    put_text(pairs->out, kind == VALUE_NULL ? "-" : value);
    putc(']', pairs->out);
}

/* What only a run of our own has: settings, results, limit. */
static void put_results(FILE *out, const struct run_report *run)
{
    struct pairs settings = {out, 0};
    put_key(out, "settings");
    putc('[', out);
    settings_each(run->settings, put_setting, &settings);
    putc(']', out);
    put_member(out, "verified",
               run->verified == VERIFIED_YES  ? "yes"
               : run->verified == VERIFIED_NO ? "no"
                                              : "not asked for");
    put_key(out, "repeats");
    put_count(out, run->repeats);
    put_time(out, "min", run->min_ns);
    put_time(out, "max", run->max_ns);
    if (run->limit.ns > 0) {
        put_time(out, "limit", run->limit.ns);
        put_key(out, "limit_ns");
        put_integer(out, run->limit.ns);
        put_member(out, "bound", limit_cause_name(run->limit.cause));
        put_share(out, "ratio", (double)run->limit.ns / (double)run->median_ns);
    }
    if (isfinite(run->speedup)) {
        char text[32];
        snprintf(text, sizeof text, "%.2fx", fmin(run->speedup, 1e9));
        put_member(out, "speedup", text);
    }
}

static void put_provenance(FILE *out, const struct run_report *run)
{
    const struct timeline *timeline = &run->timeline;
    put_member(out, "source", timeline_source(timeline));
    put_member(out, "timing", timeline_timing(timeline));
    put_member(out, "device", writer_device(run));
    if (timeline->driver[0] != '\0')
        put_member(out, "driver", timeline->driver);
    put_key(out, "resolution_ns");
    put_integer(out, timeline->resolution_ns);
    put_bool(out, "foreign", run->foreign);
    put_bool(out, "profiled", run->profiled);
    put_time(out, "span", run->median_ns);
    put_time(out, "drawn", timeline_time_ns(timeline));
}

/* What each cause cost, in the words of the terminal's report. */
static void put_verdicts(FILE *out, const struct run_report *run)
{
    const struct verdicts *verdicts = &run->verdicts;
    put_key(out, "verdicts");
    putc('[', out);
    for (int i = 0; i < verdicts->count; i++) {
        const struct verdict_row *row = &verdict_rows[verdicts->items[i].code];
        char cost[UNITS_TEXT];
        fputs(i > 0 ? ",{\"code\":" : "{\"code\":", out);
        put_text(out, row->name);
        put_member(out, "cost", units_time(verdicts->items[i].cost_ns, cost));
        if (verdicts->time_ns > 0)
            put_share(out, "share",
                      (double)verdicts->items[i].cost_ns / (double)verdicts->time_ns);
        put_bool(out, "named", i < verdicts->named);
        put_member(out, "text", row->text);
        put_member(out, "fix", row->fix);
        putc('}', out);
    }
    putc(']', out);
    if (run->no_verdict[0] != '\0')
        put_member(out, "no_verdict", run->no_verdict);
}

/* What spans refer to by number. */
static void put_names(FILE *out, const struct run_report *run)
{
    const struct timeline *timeline = &run->timeline;
    put_key(out, "kernels");
    for (uint32_t i = 0; i < timeline->name_count; i++) {
        putc(i == 0 ? '[' : ',', out);
        put_text(out, timeline->names[i]);
    }
    fputs(timeline->name_count == 0 ? "[]" : "]", out);
    if (timeline->stream_ids != NULL) {
        put_key(out, "stream_ids");
        for (uint32_t i = 0; i < timeline->streams; i++)
            fprintf(out, "%c%" PRIu32, i == 0 ? '[' : ',', timeline->stream_ids[i]);
        fputs(timeline->streams == 0 ? "[]" : "]", out);
    }
    put_key(out, "use");
    for (int engine = 0; engine < ENGINE_WORKING; engine++) {
        double share = run->analysis.engines[engine].utilisation;
        fprintf(out, "%c\"%.0f%%\"", engine == 0 ? '[' : ',',
                isfinite(share) ? 100 * share : 0);
    }
    putc(']', out);
}

/* Why a span started when it did; of a wait, what it waited for. */
static const char *span_text(const struct run_report *run, uint32_t index,
                             char text[CRITICAL_TEXT])
{
    const struct span *span = &run->timeline.spans[index];
    if (span->kind == OP_WAIT) {
        char name[SPAN_NAME];
        snprintf(text, CRITICAL_TEXT, "%s", timeline_span_name(&run->timeline, span, name));
        return text;
    }
    if (run->critical.holds == NULL)
        return "";
    return critical_explain(&run->timeline, &run->critical, index, text);
}

static void put_span(FILE *out, const struct run_report *run, uint32_t index)
{
    const struct span *span = &run->timeline.spans[index];
    const struct critical *critical = &run->critical;
    uint32_t holder = critical->holds != NULL ? critical->holds[index].span : SPAN_NONE;
    bool on_path = critical->on_path != NULL && critical->on_path[index];
    char text[CRITICAL_TEXT];
    fprintf(out, "%s\n[%" PRIu32 ",%d,%d,%d,%" PRIu32 ",%" PRIu32 ",%" PRId32 ",",
            index == 0 ? "" : ",", span->op, span->kind, span->link, span->engine, span->lane,
            span->stream, span->tile);
    put_count(out, span->bytes);
    const int64_t times[] = {span->issue_ns, span->start_ns, span->end_ns};
    for (int i = 0; i < 3; i++) {
        putc(',', out);
        put_integer(out, times[i]);
    }
    fprintf(out, ",%" PRId64 ",%d,", holder == SPAN_NONE ? -1 : (int64_t)holder, on_path);
    put_text(out, span_text(run, index, text));
    putc(']', out);
}

/* Time that spans take of each column. What a span takes of the columns it begins and ends in
 * goes to `part`; `whole` says where those begin and end that it takes wholly. */
struct use {
    double part[COLUMNS + 1];
    int whole[COLUMNS + 1];
};

static double column_of(int64_t ns, double columns_per_ns)
{
    return fmin(fmax((double)ns * columns_per_ns, 0), COLUMNS);
}

static void use_add(struct use *use, double start, double end)
{
    int first = (int)start, last = (int)end;
    if (first >= last) {
        use->part[first] += fmax(end - start, 0);
        return;
    }
    use->part[first] += first + 1 - start;
    use->whole[first + 1]++;
    use->whole[last]--;
    use->part[last] += end - last;
}

/* How busy `engine` was in each column, in percent. */
static void put_columns(FILE *out, const struct timeline *timeline, int engine,
                        double columns_per_ns)
{
    struct use use = {0};
    int whole = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->engine == engine)
            use_add(&use, column_of(span->start_ns, columns_per_ns),
                    column_of(span->end_ns, columns_per_ns));
    }
    for (int i = 0; i < COLUMNS; i++) {
        whole += use.whole[i];
        fprintf(out, "%c%.0f", i == 0 ? '[' : ',',
                fmin(ceil(100 * (use.part[i] + whole)), 100));
    }
    putc(']', out);
}

static void put_run(FILE *out, const struct run_report *run, int64_t axis_ns, uint32_t *room)
{
    const struct timeline *timeline = &run->timeline;
    fputs("\n{\"name\":", out);
    put_text(out, run->settings->name);
    put_provenance(out, run);
    if (!run->foreign)
        put_results(out, run);
    put_verdicts(out, run);
    put_names(out, run);
    put_key(out, "span_count");
    put_count(out, timeline->span_count);
    bool drawn = timeline->span_count <= *room;
    put_key(out, drawn ? "spans" : "columns");
    putc('[', out);
    for (uint32_t i = 0; drawn && i < timeline->span_count; i++)
        put_span(out, run, i);
    for (int engine = 0; !drawn && engine < ENGINE_NONE; engine++) {
        fputs(engine == 0 ? "\n" : ",\n", out);
        put_columns(out, timeline, engine, (double)COLUMNS / (double)axis_ns);
    }
    fputs("]}", out);
    *room -= drawn ? timeline->span_count : 0;
}

static void put_data(FILE *out, const struct report *report)
{
    int64_t axis_ns = 1; /* all runs are drawn on one */
    for (int i = 0; i < report->run_count; i++) {
        int64_t span_ns = timeline_time_ns(&report->runs[i].timeline);
        axis_ns = span_ns > axis_ns ? span_ns : axis_ns;
    }
    fputs("{\"version\":", out);
    put_text(out, report->version);
    put_key(out, "kinds");
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        fprintf(out, "%c{\"name\":\"%s\",\"title\":\"%s\",\"in_stream\":%s}",
                kind == 0 ? '[' : ',', op_rows[kind].name, op_rows[kind].title,
                op_rows[kind].in_stream ? "true" : "false");
    putc(']', out);
    put_key(out, "engines");
    for (int engine = 0; engine < ENGINE_COUNT; engine++)
        fprintf(out, "%c{\"name\":\"%s\",\"label\":\"%s\"}", engine == 0 ? '[' : ',',
                engine_rows[engine].name, engine_rows[engine].label);
    putc(']', out);
    put_key(out, "spans_drawn");
    put_count(out, SPANS_DRAWN);
    put_key(out, "axis_ns");
    put_integer(out, axis_ns);
    put_key(out, "runs");
    putc('[', out);
    uint32_t room = SPANS_DRAWN;
    for (int i = 0; i < report->run_count; i++) {
        fputs(i == 0 ? "" : ",", out);
        put_run(out, &report->runs[i], axis_ns, &room);
    }
    fputs("]}", out);
}

/* The colours of the kinds of ops, and of the text on them, as rules of the page's style. */
static void put_colors(FILE *out)
{
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        const struct op_row *row = &op_rows[kind];
        fprintf(out, ".%s { fill: #%06x; stroke: #%06x; }\n", row->name, (unsigned)row->color,
                (unsigned)row->color);
        if (row->light_text)
            fprintf(out, ".on-%s { fill: #fff; }\n", row->name);
    }
}

/* Writes `page` as far as `mark`; returns what stands behind that. */
static const char *put_until(FILE *out, const char *page, const char *mark)
{
    const char *end = strstr(page, mark);
    if (end == NULL)
        return page;
    fwrite(page, 1, (size_t)(end - page), out);
    return end + strlen(mark);
}

void write_html(FILE *out, const struct report *report)
{
    const char *page = embedded_find(plot_texts, "page.html");
    page = put_until(out, page, "@page.css@\n");
    fputs(embedded_find(plot_texts, "page.css"), out);
    put_colors(out);
    page = put_until(out, page, "@data@");
    put_data(out, report);
    page = put_until(out, page, "@page.js@\n");
    fputs(embedded_find(plot_texts, "page.js"), out);
    fputs(page, out);
}
