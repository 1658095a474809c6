/* view_findings.c - what stands out in a trace, in plain words.
 *
 * Each finding looks at one thing and says nothing where that is as it should be. */
#include "core/units.h"
#include "trace/recording.h"
#include "trace/trace.h"
#include "writers/view.h"

#include <inttypes.h>
#include <stdio.h>

void view_count_ops(const struct run_report *run, char text[VIEW_OPS_TEXT])
{
    uint32_t ops = 0;
    for (int i = 0; i < ENGINE_WORKING; i++)
        ops += run->analysis.engines[i].spans;
    uint32_t others = run->timeline.span_count - ops;
    snprintf(text, VIEW_OPS_TEXT, "%" PRIu32 " op%s", ops, ops == 1 ? "" : "s");
    if (others > 0)
        text_add(text, VIEW_OPS_TEXT, " and ", "%" PRIu32 " wait%s or call%s", others,
                 others == 1 ? "" : "s", others == 1 ? "" : "s");
}

enum {
    FINDING_TEXT = 512,
    SHORT_OP_NS = 10000, /* an op as short as what a launch and its start take */
    SHORT_OPS_MIN = 16,  /* fewer are not worth a word */
    DEFAULT_STREAM = 7,  /* as the default stream of the first context is numbered */
    IDLE_PERCENT = 10,   /* of the run's time */
    ISSUE_PERCENT = 5,
};

/* Writes what it found into `text` and returns true, or returns false. */
typedef bool finding(const struct run_report *run, const struct view_facts *facts,
                     char text[FINDING_TEXT]);

static uint32_t ops_of(const struct run_report *run, enum engine engine)
{
    return run->analysis.engines[engine].spans;
}

static bool one_stream(const struct run_report *run, const struct view_facts *facts,
                       char text[FINDING_TEXT])
{
    (void)facts;
    if (run->timeline.streams != 1 || run->timeline.span_count < 2)
        return false;
    uint32_t id = timeline_stream_id(&run->timeline, 0);
    snprintf(text, FINDING_TEXT,
             "All work is in one stream (%" PRIu32 "%s): its ops run one after the other, and "
             "nothing can overlap.",
             id, id == DEFAULT_STREAM ? ", as the default stream is called here" : "");
    return true;
}

static bool kernels_beside_copies(const struct run_report *run, const struct view_facts *facts,
                                  char text[FINDING_TEXT])
{
    const unsigned in = 1U << ENGINE_H2D | 1U << ENGINE_COMPUTE;
    const unsigned out = 1U << ENGINE_D2H | 1U << ENGINE_COMPUTE;
    uint32_t copies = ops_of(run, ENGINE_H2D) + ops_of(run, ENGINE_D2H);
    if (copies == 0 || ops_of(run, ENGINE_COMPUTE) == 0 ||
        view_facts_together_ns(facts, in) + view_facts_together_ns(facts, out) > 0)
        return false;
    snprintf(text, FINDING_TEXT, "No kernel ran while a copy did.");
    return true;
}

static bool copies_both_ways(const struct run_report *run, const struct view_facts *facts,
                             char text[FINDING_TEXT])
{
    if (ops_of(run, ENGINE_H2D) == 0 || ops_of(run, ENGINE_D2H) == 0 ||
        view_facts_together_ns(facts, 1U << ENGINE_H2D | 1U << ENGINE_D2H) > 0)
        return false;
    snprintf(text, FINDING_TEXT,
             "Copies in and copies out never overlapped: the link carries both directions at "
             "once, except on a GPU with one copy engine.");
    return true;
}

/* Puts how many copies of a direction, if any, are from or to pageable memory. */
static void put_pageable(const struct trace_copies *copies, const char *way,
                         char text[FINDING_TEXT])
{
    char bytes[UNITS_TEXT];
    if (copies->pageable > 0)
        text_add(text, FINDING_TEXT, " and", "%s %" PRIu32 " of %" PRIu32 " copies %s (%s)",
                 text[0] != '\0' ? "" : "Pageable memory:", copies->pageable, copies->count,
                 way, units_bytes(copies->pageable_bytes, bytes));
}

static bool pageable(const struct run_report *run, const struct view_facts *facts,
                     char text[FINDING_TEXT])
{
    (void)facts;
    const struct trace *trace = run->trace;
    if (trace == NULL || trace->in.pageable + trace->out.pageable == 0)
        return false;
    text[0] = '\0';
    put_pageable(&trace->in, "in", text);
    put_pageable(&trace->out, "out", text);
    text_add(text, FINDING_TEXT, ". ",
             "Such copies are staged through a pinned buffer, and the host waits for them: "
             "pinned memory (cudaMallocHost, cudaHostRegister) copies faster and lets them "
             "overlap.");
    return true;
}

static bool short_ops(const struct run_report *run, const struct view_facts *facts,
                      char text[FINDING_TEXT])
{
    static const char *const names[DEVICE_ENGINES] = {"copies in", "kernels", "copies out",
                                                      "copies between devices"};
    for (int i = 0; i < DEVICE_ENGINES; i++) {
        uint32_t ops = ops_of(run, (enum engine)i);
        char mean[UNITS_TEXT];
        if (ops < SHORT_OPS_MIN || facts->sum_ns[i] / ops >= SHORT_OP_NS)
            continue;
        snprintf(text, FINDING_TEXT,
                 "%" PRIu32 " %s take %s on average, about as long as it takes to launch one.",
                 ops, names[i], units_time(facts->sum_ns[i] / ops, mean));
        return true;
    }
    return false;
}

static bool idle(const struct run_report *run, const struct view_facts *facts,
                 char text[FINDING_TEXT])
{
    char time[UNITS_TEXT];
    double percent =
        run->median_ns > 0 ? 100 * (double)facts->together_ns[0] / (double)run->median_ns : 0;
    if (percent < IDLE_PERCENT)
        return false;
    snprintf(text, FINDING_TEXT, "For %s (%.0f%% of the time) no engine was at work.",
             units_time(facts->together_ns[0], time), percent);
    return true;
}

static bool late_issue(const struct run_report *run, const struct view_facts *facts,
                       char text[FINDING_TEXT])
{
    enum { LATE_OPS = 10 }; /* the host is late with one op in as many, or more */
    int64_t issue_ns = 0;
    uint32_t count = 0;
    char time[UNITS_TEXT];
    (void)facts;
    if (run->timeline.issue_unknown)
        return false;
    /* The path ends where the host had not issued: all before that is the host's time. */
    if (run->critical.path_count > 0) {
        const struct hold *first = &run->critical.holds[run->critical.path[0]];
        issue_ns = first->by == HELD_BY_ISSUE ? first->free_ns : 0;
    }
    for (uint32_t i = 0; i < run->timeline.span_count; i++)
        count += run->critical.holds[i].by == HELD_BY_ISSUE;
    if (100 * (double)issue_ns < ISSUE_PERCENT * (double)run->median_ns ||
        count < run->timeline.span_count / LATE_OPS)
        return false;
    snprintf(
        text, FINDING_TEXT,
        "The host is late: the critical path begins only at %s, when its first op was issued; "
        "%" PRIu32 " of %" PRIu32 " ops waited for nothing but their issue.",
        units_time(issue_ns, time), count, run->timeline.span_count);
    return true;
}

/* Sizes that the trace rounds are named only where copies are not far larger than the rounding.
 */
static bool coarse_bytes(const struct run_report *run, const struct view_facts *facts,
                         char text[FINDING_TEXT])
{
    static const enum engine copies[] = {ENGINE_H2D, ENGINE_D2H};
    char unit[UNITS_TEXT];
    bool rough = false;
    (void)facts;
    for (size_t i = 0; i < 2 && run->trace != NULL; i++) {
        const struct engine_use *use = &run->analysis.engines[copies[i]];
        rough |= use->spans > 0 && use->bytes / use->spans < 100 * run->trace->bytes_unit &&
                 run->trace->bytes_unit > 1;
    }
    if (!rough)
        return false;
    snprintf(text, FINDING_TEXT,
             "The trace rounds sizes to %s: bytes and rates of small copies are rough.",
             units_bytes(run->trace->bytes_unit, unit));
    return true;
}

static bool clocks(const struct run_report *run, const struct view_facts *facts,
                   char text[FINDING_TEXT])
{
    (void)facts;
    if (run->trace == NULL || run->trace->early == 0)
        return false;
    snprintf(text, FINDING_TEXT,
             "%" PRIu32 " ops begin before the host's call that issued them: the clocks of the "
             "host and of the GPU do not agree, so %s taken for true.",
             run->trace->early,
             run->timeline.issue_unknown ? "no call is" : "these calls are not");
    return true;
}

/* Says what a whole recording has only one side of: calls without their ops, ops without their
 * calls, and both where CUDA says that it refused the call. */
static bool one_sided(const struct run_report *run, const struct view_facts *facts,
                      char text[FINDING_TEXT])
{
    const struct trace *trace = run->trace;
    (void)facts;
    text[0] = '\0';
    if (trace == NULL || trace->part[0] != '\0')
        return false;
    if (trace->unseen > 0)
        text_add(text, FINDING_TEXT, "",
                 "The recording lacks what %" PRIu64 " of its calls issued: no copy, memset or "
                 "kernel of theirs is in it as it ran. All figures, causes and times with a "
                 "fix are of what is there.",
                 trace->unseen);
    if (trace->recording != NULL && trace->recording->threads > 0 && trace->uncalled > 0)
        text_add(text, FINDING_TEXT, " ",
                 "The recording lacks the calls that issued %" PRIu32
                 " of its ops: these count in no limit and in no fix.",
                 trace->uncalled);
    if (trace->refused > 0)
        text_add(text, FINDING_TEXT, " ",
                 "CUDA refused %" PRIu64 " calls whose ops ran all the same: these count in no "
                 "limit and in no fix.",
                 trace->refused);
    return text[0] != '\0';
}

/* Says what the trace does not, and what that hides. */
static bool lacks(const struct run_report *run, const struct view_facts *facts,
                  char text[FINDING_TEXT])
{
    const struct timeline *timeline = &run->timeline;
    (void)facts;
    text[0] = '\0';
    if (run->trace != NULL && run->trace->saved)
        return false;
    if (timeline->issue_unknown && timeline->timing == TIMING_RECORDED)
        snprintf(
            text, FINDING_TEXT,
            "The calls that issued these ops are not known: what was held by the host only "
            "shows as a late start.");
    else if (timeline->issue_unknown)
        snprintf(text, FINDING_TEXT,
                 "A trace has no events and no waits, and this one not the host's calls "
                 "either: what was held by those only shows as a late start.");
    else if (timeline->wait_count == 0 && timeline->timing == TIMING_NSYS)
        snprintf(text, FINDING_TEXT,
                 "This trace has no waits for events: what was held by those only shows as a "
                 "late start. nsys profile --cuda-event-trace=true records them.");
    else if (timeline->wait_count == 0 && timeline->timing == TIMING_CHROME &&
             timeline->streams > 1)
        snprintf(text, FINDING_TEXT,
                 "This trace has no waits for events: what was held by those only shows as a "
                 "late start. PyTorch's profiler records them with experimental_config="
                 "_ExperimentalConfig(enable_cuda_sync_events=True).");
    return text[0] != '\0';
}

static finding *const findings[] = {
    one_stream, kernels_beside_copies, copies_both_ways, pageable,  short_ops, idle,
    late_issue, coarse_bytes,          clocks,           one_sided, lacks};

static void put_texts(FILE *out, char (*texts)[HAZARD_TEXT], size_t count, size_t most,
                      const struct writer_style *style)
{
    char clean[3 * HAZARD_TEXT];
    for (size_t i = 0; i < count && i < most; i++)
        writer_print_words(out, style->width, 4, "  %s",
                           escape_text(clean, sizeof clean, texts[i]));
    if (count > most)
        fprintf(out, "  and %zu more (--verbose shows them)\n", count - most);
}

void view_put_races(FILE *out, const struct run_report *run, const struct writer_style *style)
{
    enum { SHOWN = 3 };
    const size_t most = style->verbose > 0 ? SIZE_MAX : SHOWN;
    if (run->hazard_count > 0)
        fputs("\nraces\n", out);
    put_texts(out, run->hazard_texts, run->hazard_count, most, style);
    if (run->possible_count > 0) {
        fputs("\npossible races\n", out);
        writer_put_words(out, style->width, 2,
                         "  possible: which of its arguments a kernel writes is not known. "
                         "Nothing was seen that orders these ops:");
        put_texts(out, run->possible_texts, run->possible_count, most, style);
    }
    if (run->races_left != NULL && run->hazard_count + run->possible_count == 0)
        fputs("\nraces\n", out);
    if (run->races_left != NULL)
        writer_print_words(out, style->width, 2, "  more races may be there: %s",
                           run->races_left);
}

void view_put_findings(FILE *out, const struct run_report *run, const struct view_facts *facts,
                       const struct writer_style *style)
{
    char text[FINDING_TEXT];
    bool any = false;
    for (size_t i = 0; i < sizeof findings / sizeof findings[0]; i++) {
        if (!findings[i](run, facts, text))
            continue;
        if (!any)
            fputs("\nwhat stands out\n", out);
        any = true;
        writer_print_words(out, style->width, 2, "- %s", text);
    }
}
