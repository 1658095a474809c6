/* fuzz_trace.c - what profilers exported: CSV, SQLite databases, and SQL that makes such. */
#include "analysis/analysis.h"
#include "analysis/critical.h"
#include "causes/verdict.h"
#include "fuzz.h"
#include "plan/op.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

#define NAME "fuzz.csv"

enum { FILL = 0x5a };

static bool begins(const uint8_t *data, size_t size, const char *word)
{
    return size >= strlen(word) && memcmp(data, word, strlen(word)) == 0;
}

static bool is_sql(const uint8_t *data, size_t size)
{
    return begins(data, size, "CREATE") || begins(data, size, "--");
}

static bool is_database(const uint8_t *data, size_t size)
{
    return begins(data, size, "SQLite format 3");
}

/* A span of a trace: in the order and with the times that trace/trace.h promises. */
static void require_span(const struct timeline *timeline, uint32_t index)
{
    const struct span *span = &timeline->spans[index];
    bool copy = op_is_copy(span->kind) || span->kind == OP_PEER,
         kernel = span->kind == OP_KERNEL;
    FUZZ_REQUIRE(span->op == index && span->tile == -1);
    FUZZ_REQUIRE(span->issue_ns >= 0 && span->issue_ns <= span->start_ns);
    FUZZ_REQUIRE(span->start_ns <= span->end_ns);
    FUZZ_REQUIRE(index == 0 || span->start_ns >= timeline->spans[index - 1].start_ns);
    FUZZ_REQUIRE(!timeline->issue_unknown || span->issue_ns == span->start_ns);
    FUZZ_REQUIRE(span->stream < timeline->streams);
    FUZZ_REQUIRE(copy || kernel || span->kind == OP_D2D || span->kind == OP_MEMSET ||
                 (span->kind == OP_CALLBACK && timeline->timing == TIMING_RECORDED));
    FUZZ_REQUIRE(!kernel || span->link < timeline->name_count);
    FUZZ_REQUIRE(!kernel || timeline->names[span->link][0] != '\0');
    FUZZ_REQUIRE(copy || span->bytes == 0);
    FUZZ_REQUIRE(span->engine == op_rows[span->kind].engine);
}

/* Spans of one lane never overlap, and each span is counted once. */
static void require_lanes(const struct timeline *timeline, const struct trace *trace)
{
    struct span **spans = malloc((timeline->span_count + (size_t)1) * sizeof *spans);
    int64_t *free_at = calloc(timeline->span_count + (size_t)1, sizeof *free_at);
    size_t counts[ENGINE_COUNT] = {0};
    FUZZ_REQUIRE(spans != NULL && free_at != NULL);
    for (int engine = 0; engine < ENGINE_WORKING; engine++) {
        counts[engine] = timeline_engine_spans(
            timeline, (struct resource){(enum engine)engine, 0, 0}, spans);
        memset(free_at, 0, timeline->span_count * sizeof *free_at);
        for (size_t i = 0; i < counts[engine]; i++) {
            FUZZ_REQUIRE(spans[i]->lane < counts[engine]);
            FUZZ_REQUIRE(spans[i]->start_ns >= free_at[spans[i]->lane]);
            free_at[spans[i]->lane] = spans[i]->end_ns;
        }
    }
    FUZZ_REQUIRE(counts[ENGINE_H2D] == trace->in.count);
    FUZZ_REQUIRE(counts[ENGINE_D2H] == trace->out.count);
    size_t functions = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++)
        functions += timeline->spans[i].kind == OP_CALLBACK;
    FUZZ_REQUIRE(counts[ENGINE_H2D] + counts[ENGINE_D2H] + counts[ENGINE_COMPUTE] +
                     counts[ENGINE_PEER] + functions ==
                 timeline->span_count);
    free(spans);
    free(free_at);
}

/* A timeline that can be is judged, and what is charged adds up; one that can't is refused. */
static void require_verdicts(const struct timeline *timeline, const struct critical *critical)
{
    const struct verdict_case facts = {.timeline = timeline, .critical = critical};
    struct verdicts verdicts;
    struct error error = {0};
    int64_t sum_ns = 0;
    if (timeline_check(timeline, NULL, &error) != STATUS_OK)
        return;
    FUZZ_REQUIRE_TEXT(verdicts_find(&facts, &verdicts, &error) == STATUS_OK, error.text);
    for (int i = 0; i < verdicts.count; i++)
        sum_ns += verdicts.items[i].cost_ns;
    FUZZ_REQUIRE(verdicts.time_ns == timeline_time_ns(timeline));
    FUZZ_REQUIRE(sum_ns == verdicts.time_ns - verdicts.limit_ns);
}

/* Does what `pipeline view` does next, since a trace that was read must not break the analysis.
 */
static void require_analysis(const struct timeline *timeline)
{
    struct analysis analysis;
    struct critical critical;
    struct error error = {0};
    FUZZ_REQUIRE_TEXT(analyse(timeline, &analysis, &error) == STATUS_OK, error.text);
    FUZZ_REQUIRE(analysis.time_ns == timeline_time_ns(timeline));
    for (int engine = 0; engine < ENGINE_WORKING; engine++) {
        const struct engine_use *use = &analysis.engines[engine];
        FUZZ_REQUIRE(use->busy_ns >= 0 && use->busy_ns <= analysis.time_ns);
        FUZZ_REQUIRE(use->utilisation >= 0 && use->utilisation <= 1);
    }
    FUZZ_REQUIRE_TEXT(critical_find(timeline, NULL, &critical, &error) == STATUS_OK,
                      error.text);
    FUZZ_REQUIRE(critical.path_count <= timeline->span_count);
    for (uint32_t i = 0; i < critical.path_count; i++)
        FUZZ_REQUIRE(critical.path[i] < timeline->span_count);
    require_verdicts(timeline, &critical);
    critical_free(&critical);
}

/* A file of ours may hold an empty run, and ops of all kinds. */
static void require_own(const struct trace *trace)
{
    const struct timeline *timeline = &trace->timeline;
    FUZZ_REQUIRE(memchr(timeline->device, '\0', TIMELINE_TEXT) != NULL);
    FUZZ_REQUIRE(memchr(trace->name, '\0', sizeof trace->name) != NULL);
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        FUZZ_REQUIRE(span->kind < OP_KIND_COUNT && span->kind != OP_RECORD);
        FUZZ_REQUIRE(span->engine == op_rows[span->kind].engine);
        FUZZ_REQUIRE(span->issue_ns >= 0 && span->start_ns >= 0);
        FUZZ_REQUIRE(span->start_ns <= span->end_ns && span->tile >= -1);
        FUZZ_REQUIRE(i == 0 || span->op > timeline->spans[i - 1].op);
        FUZZ_REQUIRE(span->stream < timeline->streams ||
                     (span->stream == timeline->streams && !op_in_stream(span->kind)));
        FUZZ_REQUIRE(span->kind != OP_KERNEL || span->link < timeline->name_count);
    }
    require_analysis(timeline);
}

static void require_trace(const struct trace *trace)
{
    const struct timeline *timeline = &trace->timeline;
    int64_t first = INT64_MAX;
    if (trace->saved) {
        require_own(trace);
        return;
    }
    FUZZ_REQUIRE(timeline->span_count >= 1 && timeline->streams >= 1);
    FUZZ_REQUIRE(timeline->streams <= timeline->span_count);
    FUZZ_REQUIRE(timeline->stream_ids != NULL && timeline->resolution_ns >= 1);
    FUZZ_REQUIRE(timeline->device[0] != '\0' && trace->name[0] != '\0');
    FUZZ_REQUIRE(memchr(timeline->device, '\0', TIMELINE_TEXT) != NULL);
    FUZZ_REQUIRE(memchr(trace->name, '\0', sizeof trace->name) != NULL);
    FUZZ_REQUIRE(trace->bytes_unit >= 1);
    FUZZ_REQUIRE(trace->in.pageable <= trace->in.count);
    FUZZ_REQUIRE(trace->out.pageable <= trace->out.count);
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        require_span(timeline, i);
        first = timeline->spans[i].issue_ns < first ? timeline->spans[i].issue_ns : first;
    }
    FUZZ_REQUIRE(first == 0);
    require_lanes(timeline, trace);
    require_analysis(timeline);
}

static bool try_file(const uint8_t *data, size_t size)
{
    struct traces traces;
    struct error error = {0};
    memset(&traces, FILL, sizeof traces);
    enum status status = traces_read(fuzz_file(NAME, data, size), &traces, &error);
    fuzz_require_closed();
    if (status != STATUS_OK) {
        fuzz_require_refusal(status, &error, NAME);
        if (!is_database(data, size))
            fuzz_require_line(&error, NAME, data, size);
        FUZZ_REQUIRE(fuzz_is_filled(&traces, sizeof traces, FILL));
        return false;
    }
    FUZZ_REQUIRE(error.status == STATUS_OK && error.text[0] == '\0');
    FUZZ_REQUIRE(traces.count >= 0);
    for (int i = 0; i < traces.count; i++)
        require_trace(&traces.items[i]);
    traces_free(&traces);
    return true;
}

bool fuzz_trace(const uint8_t *data, size_t size)
{
    bool accepted = false;
    if (!is_sql(data, size)) {
        accepted = try_file(data, size);
    } else {
        size_t image_size = 0;
        uint8_t *image = fuzz_sqlite_image(data, size, &image_size);
        accepted = image != NULL && try_file(image, image_size);
        free(image);
    }
    fuzz_file_remove(NAME "-journal"); /* what a database of these bytes may have left */
    fuzz_file_remove(NAME "-wal");
    fuzz_file_remove(NAME "-shm");
    return accepted;
}
