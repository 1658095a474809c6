/* csv_timeline.c - the timeline as CSV, a row per span: the form that every other one can be
 * made of. */
#include "trace/trace.h"
#include "writers/cause.h"
#include "writers/put.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_line(FILE *out, const char *text)
{
    char clean[4096 * 4];
    fputs(escape_text(clean, sizeof clean, text), out);
}

static void put_setting(void *context, const char *name, const char *value,
                        enum value_kind kind)
{
    FILE *out = context;
    bool quoted = kind != VALUE_NULL && strpbrk(value, " \t") != NULL;
    fprintf(out, " %s=%s", name, quoted ? "\"" : "");
    put_line(out, kind == VALUE_NULL ? "" : value);
    if (quoted)
        putc('"', out);
}

static void put_comment(FILE *out, const char *name, const char *text)
{
    if (text[0] == '\0')
        return;
    fputs(name, out);
    put_line(out, text);
    putc('\n', out);
}

/* Writes whose kernels pictures draw in one row, and what they mark: gaps with their causes,
 * ops that raced, urgent streams. */
static void put_marks(FILE *out, const struct run_report *run, const struct marks *marks)
{
    for (uint32_t i = 0; i < marks->gap_count; i++) {
        const struct charged *gap = marks->gaps[i];
        fprintf(out, "%s%s %" PRIu32 " %" PRId64 " %" PRId64,
                i > 0 ? "; " : "#   gaps: ", verdict_rows[gap->code].name,
                run->timeline.spans[gap->at.span].op, gap->at.start_ns, gap->at.end_ns);
        if (gap->cost_ns < gap->at.end_ns - gap->at.start_ns) /* several that lie near */
            fprintf(out, " %" PRId64, gap->cost_ns);
    }
    fputs(marks->gap_count > 0 ? "\n#   lost_ns:" : "", out);
    for (int i = 0; i < run->verdicts.named && marks->gap_count > 0; i++)
        fprintf(out, " %s=%" PRId64, verdict_rows[run->verdicts.items[i].code].name,
                run->verdicts.items[i].cost_ns);
    fputs(marks->gap_count > 0 ? "\n" : "", out);
    fputs(marks->issue ? "#   issue: drawn\n" : "", out);
    fputs(marks->ops > 0 ? "#   raced:" : "", out);
    for (uint32_t op = 0; op < marks->ops; op++) {
        if (marks->races[op])
            fprintf(out, " %" PRIu32, op);
    }
    fputs(marks->ops > 0 ? "\n" : "", out);
    const uint32_t devices = timeline_devices(&run->timeline);
    int count = 0;
    for (uint32_t i = 0; i < resource_count(devices); i++) {
        if (marks->one_row[i])
            fprintf(out, "%s %" PRIu32, count++ == 0 ? "#   one_row:" : "",
                    resource_at(i, devices).device);
    }
    fputs(count > 0 ? "\n" : "", out);
    count = 0;
    for (uint32_t stream = 0; stream < run->streams; stream++) {
        if (writer_is_urgent(run, stream))
            fprintf(out, "%s %" PRIu32, count++ == 0 ? "#   urgent:" : "", stream);
    }
    fputs(count > 0 ? "\n" : "", out);
}

/* Writes the figures that pictures show beside the spans: they are drawn from this alone. */
static void put_results(FILE *out, const struct run_report *run, const struct marks *marks)
{
    char message[MESSAGE_TEXT];
    writer_run_message(run, true, message);
    put_comment(out, "#   answer: ", message);
    if (run->verified == VERIFIED_NO)
        fputs("#   verified: no\n", out);
    put_marks(out, run, marks);
    fprintf(out, "#   time_ns: %" PRId64 "\n", run->median_ns);
    if (writer_limit_known(run))
        fprintf(out, "#   limit_ns: %" PRId64 "\n", run->limit.ns);
    if (!run->foreign || isfinite(run->speedup))
        fprintf(out, "#   speedup: %.9g\n", isfinite(run->speedup) ? run->speedup : 0);
    if (run->profiled)
        return;
    fputs("#   busy_ns:", out);
    for (int i = 0; i < ENGINE_WORKING; i++)
        if (analysis_shows(&run->analysis, (enum engine)i))
            fprintf(out, " %s=%" PRId64, engine_name((enum engine)i),
                    run->analysis.engines[i].busy_ns);
    for (uint32_t i = 0; run->analysis.devices > 1 && i < run->analysis.devices; i++) {
        for (int engine = 0; engine < DEVICE_ENGINES; engine++)
            if (analysis_shows(&run->analysis, (enum engine)engine))
                fprintf(out, " %" PRIu32 "-%s=%" PRId64, i, engine_name((enum engine)engine),
                        run->analysis.on[i][engine].busy_ns);
    }
    putc('\n', out);
}

/* Writes what a reader of the rows would not know: `pipeline view` reads it back. */
static void put_order(FILE *out, const struct timeline *timeline)
{
    const char *separator = "#   stream_kinds:";
    if (timeline->devices > 1)
        fprintf(out, "#   devices: %" PRIu32 "\n", timeline->devices);
    if (timeline->issue_unknown)
        fputs("#   issue_times: unknown\n", out);
    if (timeline->launched_ns > 0)
        fprintf(out, "#   launched_ns: %" PRId64 "\n", timeline->launched_ns);
    for (uint32_t i = 0; i < timeline->streams; i++) {
        enum stream_kind kind = timeline_stream_kind(timeline, i);
        if (kind == STREAM_NONBLOCKING)
            continue;
        fprintf(out, "%s %" PRIu32 "=%s", separator, timeline_stream_id(timeline, i),
                stream_kind_name(kind));
        separator = "";
    }
    fputs(separator[0] == '\0' ? "\n" : "", out);
}

static enum status put_provenance(FILE *out, const struct run_report *run)
{
    const struct timeline *timeline = &run->timeline;
    struct marks marks;
    char loop[WRITER_LOOP];
    if (writer_find_marks(run, &marks) != STATUS_OK)
        return STATUS_NO_MEMORY;
    fputs("# run: ", out);
    write_csv_line(out, run->settings->name);
    fprintf(out, "\n#   source: %s\n#   timing: %s\n#   device: ", timeline_source(timeline),
            timeline_timing(timeline));
    write_csv_line(out, report_device(run));
    if (timeline->driver[0] != '\0') {
        fputs("\n#   driver: ", out);
        write_csv_line(out, timeline->driver);
    }
    fprintf(out, "\n#   resolution_ns: %" PRId64 "\n", timeline->resolution_ns);
    if (run->trace != NULL && run->trace->part[0] != '\0')
        fprintf(out, "#   part: %s\n", run->trace->part);
    if (writer_loop(run, loop))
        fprintf(out, "#   loop: %s\n", loop);
    if (run->clock_ns > 0)
        fprintf(out, "#   clock_ns: %" PRId64 "\n", run->clock_ns);
    put_results(out, run, &marks);
    free(marks.races);
    put_order(out, timeline);
    if (run->foreign)
        return STATUS_OK;
    fputs("#   settings:", out);
    settings_each(run->settings, put_setting, out);
    fprintf(out, "\n#   streams: %" PRIu32 "\n", run->streams);
    return STATUS_OK;
}

/* --- spans: millions of them, by hand --- */

static char *write_comma_integer(char *at, int64_t value)
{
    *at = ',';
    return write_integer(at + 1, value);
}

enum { ROW_ROOM = 10 * (WRITE_NUMBER_ROOM + 1) };

/* Writes the tile and the stream. What is in no stream has the number behind them all, unless
 * streams have numbers of their own, of which that may be one. */
static char *write_place(char *at, const struct timeline *timeline, const struct span *span)
{
    if (span->tile >= 0)
        at = write_integer(at, span->tile);
    if (timeline->stream_ids == NULL || span->stream < timeline->streams)
        return write_comma_integer(at, timeline_stream_id(timeline, span->stream));
    *at = ',';
    return at + 1;
}

static char *write_times(char *at, const struct span *span, bool device)
{
    at = write_integer(at, span->lane);
    at = write_comma_integer(at, (int64_t)span->bytes);
    at = write_comma_integer(at, span->issue_ns);
    at = write_comma_integer(at, span->start_ns);
    at = write_comma_integer(at, span->end_ns);
    if (device)
        at = write_comma_integer(at, span->device);
    *at = '\n';
    return at + 1;
}

/* Returns the name of a span; of a copy to another device it says which. */
static const char *row_name(const struct timeline *timeline, const struct span *span,
                            char text[SPAN_NAME])
{
    if (span->kind != OP_PEER || span->to == span->device)
        return timeline_span_name(timeline, span, text);
    snprintf(text, SPAN_NAME, TIMELINE_PEER_NAME "%" PRIu16, span->to);
    return text;
}

static void put_span(struct put *put, const struct run_report *run, const struct span *span,
                     bool device)
{
    char name[SPAN_NAME];
    put_csv_field(put, run->settings->name);
    put->at = write_comma_integer(put_reserve(put, ROW_ROOM), span->op);
    PUT_LITERAL(put, ",");
    put_string(put, op_kind_name(span->kind));
    PUT_LITERAL(put, ",");
    put_csv_field(put, row_name(&run->timeline, span, name));
    PUT_LITERAL(put, ",");
    put->at = write_place(put_reserve(put, ROW_ROOM), &run->timeline, span);
    PUT_LITERAL(put, ",");
    put_string(put, engine_name((enum engine)span->engine));
    PUT_LITERAL(put, ",");
    put->at = write_times(put_reserve(put, ROW_ROOM), span, device);
}

enum status write_csv_timeline(FILE *out, const struct report *report)
{
    struct put put;
    char message[MESSAGE_TEXT];
    flockfile(out);
    fputs("# pipeline ", out);
    put_line(out, report->version);
    fputs(" timeline\n", out);
    writer_message(report, message);
    put_comment(out, "# message: ", message);
    enum status status = STATUS_OK;
    for (int i = 0; i < report->run_count && status == STATUS_OK; i++)
        status = put_provenance(out, &report->runs[i]);
    bool devices = false;
    for (int i = 0; i < report->run_count; i++)
        devices |= timeline_devices(&report->runs[i].timeline) > 1;
    fprintf(out, "run,op,kind,name,tile,stream,engine,lane,bytes,issue_ns,start_ns,end_ns%s\n",
            devices ? ",device" : "");
    put_begin_large(&put, out);
    for (int i = 0; i < report->run_count; i++) {
        const struct timeline *timeline = &report->runs[i].timeline;
        for (uint32_t k = 0; k < timeline->span_count; k++)
            put_span(&put, &report->runs[i], &timeline->spans[k], devices);
    }
    put_end(&put);
    funlockfile(out);
    return status;
}
