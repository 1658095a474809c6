/* evidence_foreign.c - what the verdicts of another program's run rest on, in words: each
 * function says what was seen, with its count, and returns what that is worth. */
#include "causes/judge.h"
#include "core/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void append(char seen[VERDICT_SEEN],
                                                         const char *format, ...)
{
    size_t used = strlen(seen);
    PRINT_REST(seen + used, VERDICT_SEEN - used, format);
}

/* Adds "8 kernels" to a list that may have begun; nothing where there are none. */
static void append_count(char seen[VERDICT_SEEN], uint32_t count, const char *one,
                         const char *many)
{
    char text[FOREIGN_COUNT];
    size_t used = strlen(seen);
    if (count > 0)
        append(seen, "%s%s", used == 0 || (used >= 2 && seen[used - 2] == ':') ? "" : ", ",
               foreign_counted(count, one, many, text));
}

/* Adds the line that issued the longest of some ops. */
static void append_longest(const struct judge *judge, const struct tally *ops,
                           char seen[VERDICT_SEEN])
{
    if (ops->count > 0)
        foreign_put_line(judge, traced_call_of(&judge->trace, ops->longest),
                         ", the longest issued", seen);
}

/* --- the default stream --- */

static enum evidence default_stream(const struct judge *judge, struct verdict *verdict)
{
    const struct timeline *timeline = judge->timeline;
    uint32_t kernels = 0, copies = 0, others = 0, stream = 0, call = SPAN_NONE;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (timeline_stream_kind(timeline, span->stream) != STREAM_LEGACY)
            continue;
        stream = timeline_stream_id(timeline, span->stream);
        kernels += span->kind == OP_KERNEL;
        copies += op_is_copy(span->kind);
        others += span->kind != OP_KERNEL && !op_is_copy(span->kind);
        call = traced_call_of(&judge->trace, i);
    }
    if (kernels + copies + others == 0)
        return facts_null_free(judge, verdict);
    bool likely = timeline->legacy_likely;
    append(verdict->seen, "stream %" PRIu32 " is the legacy default stream%s: ", stream,
           likely ? ", by its number" : "");
    append_count(verdict->seen, kernels, "kernel", "kernels");
    append_count(verdict->seen, copies, "copy", "copies");
    append_count(verdict->seen, others, "memset", "memsets");
    append(verdict->seen, " ran there%s%s%s%s", call != SPAN_NONE ? ", by " : "",
           call != SPAN_NONE ? host_call_name(timeline->calls[call].row) : "",
           judge->trace.many_threads ? ", of several threads" : "",
           likely ? ", none beside work of other streams" : "");
    verdict->times = kernels + copies + others;
    return likely ? EVIDENCE_LIKELY : EVIDENCE_CERTAIN;
}

/* --- the host's calls --- */

/* Says it of the calls that are the cause. */
static enum evidence calls(const struct judge *judge, struct verdict *verdict)
{
    const int64_t between_ns = judge->between_ns[verdict->code];
    host_put_calls(judge, &judge->kept[verdict->code], between_ns, verdict);
    return EVIDENCE_CERTAIN;
}

static enum evidence sync(const struct judge *judge, struct verdict *verdict)
{
    const int64_t until_ns = judge->trace.last_issue_ns;
    if (traced_calls(&judge->trace, 1U << CALL_SYNC, until_ns).count == 0)
        host_put_polls(judge, verdict);
    return verdict->seen[0] != '\0' || facts_put_readback(judge, verdict)
               ? EVIDENCE_CERTAIN
               : calls(judge, verdict);
}

static enum evidence launches(const struct judge *judge, struct verdict *verdict)
{
    const struct plan *plan = judge->facts->plan;
    const bool told = judge->timeline->call_count == 0 && plan != NULL && plan->launches_block;
    verdict->times = told ? judge->trace.kernels : judge->trace.waited;
    if (told)
        snprintf(verdict->seen, VERDICT_SEEN,
                 "CUDA_LAUNCH_BLOCKING asks for it, and %" PRIu32 " kernels ran",
                 verdict->times);
    else
        snprintf(verdict->seen, VERDICT_SEEN,
                 "%" PRIu32 " of %" PRIu32
                 " launches returned only when their kernel had ended",
                 verdict->times, judge->trace.launches);
    return EVIDENCE_CERTAIN;
}

static enum evidence first_launch(const struct judge *judge, struct verdict *verdict)
{
    const struct timeline *timeline = judge->timeline;
    const struct tally launches = traced_calls(&judge->trace, 1U << CALL_LAUNCH, INT64_MAX);
    const uint32_t kernel =
        launches.longest_ns > 0 ? judge->trace.issued[launches.longest] : SPAN_NONE;
    char longest[UNITS_TEXT], median[UNITS_TEXT], name[SPAN_NAME];
    snprintf(verdict->seen, VERDICT_SEEN, "the first launch of %.64s",
             kernel != SPAN_NONE ? timeline_span_name(timeline, &timeline->spans[kernel], name)
                                 : "a kernel");
    foreign_put_line(judge, launches.longest, ",", verdict->seen);
    append(verdict->seen, " took %s, half of all at most %s",
           units_time(launches.longest_ns, longest),
           units_time(judge->trace.launch_ns, median));
    const struct tally first = traced_loads(&judge->trace);
    const struct tally loads =
        traced_calls(&judge->trace, 1U << CALL_LOAD, judge->trace.last_issue_ns);
    foreign_note_seen(verdict, first.count + loads.count, plus(first.sum_ns, loads.sum_ns));
    return EVIDENCE_LIKELY;
}

/* When functions ran, recordings say, and traces do not. */
static enum evidence callbacks(const struct judge *judge, struct verdict *verdict)
{
    const struct tally ran = traced_ops(&judge->trace, 1U << OP_CALLBACK, false);
    char text[FOREIGN_COUNT], sum[UNITS_TEXT];
    if (ran.count > 0)
        snprintf(verdict->seen, VERDICT_SEEN,
                 "%s took %s in all, and what is behind them in their streams waits for them",
                 foreign_counted(ran.count, "host function", "host functions", text),
                 units_time(ran.sum_ns, sum));
    else
        snprintf(verdict->seen, VERDICT_SEEN,
                 "%s put a host function into a stream; a trace does not say when they run",
                 foreign_counted(judge->trace.host_funcs, "call", "calls", text));
    if (ran.count > 0)
        foreign_note_seen(verdict, ran.count, ran.sum_ns);
    else
        verdict->times = judge->trace.host_funcs;
    return ran.count > 0 ? EVIDENCE_CERTAIN : EVIDENCE_LIKELY;
}

/* Nothing says what else is at work on the device, but that something is. */
static enum evidence stalls(const struct judge *judge, struct verdict *verdict)
{
    const struct tally *seen = &judge->trace.stalls;
    char sum[UNITS_TEXT], longest[UNITS_TEXT];
    snprintf(verdict->seen, VERDICT_SEEN,
             "%" PRIu32
             " times the device had nothing else to do for the program, and yet began "
             "what the host had handed over only up to %s later, %s in all: another process "
             "seems to be at work on it (nvidia-smi lists them)",
             seen->count, units_time(seen->longest_ns, longest), units_time(seen->sum_ns, sum));
    foreign_note_seen(verdict, seen->count, seen->sum_ns);
    return EVIDENCE_LIKELY;
}

/* --- ops --- */

static enum evidence memsets(const struct judge *judge, struct verdict *verdict)
{
    const struct tally memsets = traced_ops(&judge->trace, 1U << OP_MEMSET, false);
    char text[FOREIGN_COUNT];
    snprintf(verdict->seen, VERDICT_SEEN, "%s%s",
             foreign_counted(memsets.count, "memset", "memsets", text),
             judge->trace.memsets_bar ? ", none of which ran beside another op" : "");
    append_longest(judge, &memsets, verdict->seen);
    verdict->times = memsets.count;
    return judge->trace.memsets_bar ? EVIDENCE_LIKELY : EVIDENCE_CERTAIN;
}

static enum evidence few_streams(const struct judge *judge, struct verdict *verdict)
{
    char text[FOREIGN_COUNT];
    snprintf(verdict->seen, VERDICT_SEEN,
             "%s waited for room: for the op before in the stream, or for an event",
             foreign_counted(judge->stream_waits, "copy in", "copies in", text));
    verdict->times = judge->stream_waits;
    return EVIDENCE_LIKELY;
}

static enum evidence pageable(const struct judge *judge, struct verdict *verdict)
{
    const uint32_t kinds = 1U << OP_H2D | 1U << OP_D2H;
    const struct tally pageable = traced_ops(&judge->trace, kinds, true);
    snprintf(verdict->seen, VERDICT_SEEN,
             "%" PRIu32 " of %" PRIu32 " copies are from or to pageable memory", pageable.count,
             traced_ops(&judge->trace, kinds, false).count);
    append_longest(judge, &pageable, verdict->seen);
    if (pageable.count > 0 && judge->trace.slower_ns[pageable.longest] > 0) {
        const struct span *span = &judge->timeline->spans[pageable.longest];
        append(verdict->seen,
               "; the longest ran at %.3g GB/s, and page-locked memory is copied at %.3g",
               (double)span->bytes / (double)pageable.longest_ns,
               judge->trace.pinned_rate[span->kind == OP_D2H]);
    }
    verdict->times = pageable.count;
    return EVIDENCE_CERTAIN;
}

static enum evidence small_tiles(const struct judge *judge, struct verdict *verdict)
{
    const struct pace pace = pace_of(&judge->trace);
    char op[UNITS_TEXT], call[UNITS_TEXT];
    snprintf(verdict->seen, VERDICT_SEEN,
             "%" PRIu32 " ops of %s on average, calls of %s to issue them", pace.ops,
             units_time(pace.ops > 0 ? pace.work_ns / pace.ops : 0, op),
             units_time(pace.calls > 0 ? pace.calls_ns / pace.calls : 0, call));
    verdict->times = pace.ops;
    return EVIDENCE_CERTAIN;
}

static enum evidence few_tiles(const struct judge *judge, struct verdict *verdict)
{
    const struct traced *trace = &judge->trace;
    append_count(verdict->seen, traced_ops_of(trace, OP_H2D), "copy in", "copies in");
    append_count(verdict->seen, traced_ops_of(trace, OP_KERNEL), "kernel", "kernels");
    append_count(verdict->seen, traced_ops_of(trace, OP_D2H), "copy out", "copies out");
    append(verdict->seen, " in all");
    return EVIDENCE_CERTAIN;
}

static enum evidence one_stream(const struct judge *judge, struct verdict *verdict)
{
    snprintf(verdict->seen, VERDICT_SEEN, "all %" PRIu32 " ops are in stream %" PRIu32,
             judge->timeline->span_count, timeline_stream_id(judge->timeline, 0));
    return EVIDENCE_CERTAIN;
}

static enum evidence device_copies(const struct judge *judge, struct verdict *verdict)
{
    const struct tally copies = traced_ops(&judge->trace, 1U << OP_D2D, false);
    char text[FOREIGN_COUNT], time[UNITS_TEXT];
    snprintf(verdict->seen, VERDICT_SEEN, "%s within the device, %s in all",
             foreign_counted(copies.count, "copy", "copies", text),
             units_time(copies.sum_ns, time));
    append_longest(judge, &copies, verdict->seen);
    foreign_note_seen(verdict, copies.count, copies.sum_ns);
    return EVIDENCE_CERTAIN;
}

static enum evidence few_blocks(const struct judge *judge, struct verdict *verdict)
{
    const struct plan *plan = judge->facts->plan;
    const uint32_t sms = judge->facts->model->sms;
    uint32_t kernels = 0;
    uint64_t blocks = 0;
    double sum_ns = 0;
    char text[FOREIGN_COUNT], time[UNITS_TEXT];
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind != OP_KERNEL || op->kernel.blocks >= sms)
            continue;
        kernels++;
        blocks += op->kernel.blocks;
        sum_ns += (double)plan->recorded->ops[i].work_ns;
    }
    uint64_t mean = kernels > 0 ? (blocks + kernels / 2) / kernels : 0;
    snprintf(verdict->seen, VERDICT_SEEN,
             "%s of %" PRIu64 " blocks and %s on average; the GPU has %" PRIu32
             " SMs, each of which takes a block or more",
             foreign_counted(kernels, "kernel", "kernels", text), mean,
             units_time(kernels > 0 ? (int64_t)(sum_ns / kernels) : 0, time), sms);
    verdict->times = kernels;
    return EVIDENCE_LIKELY;
}

/* Returns the largest copy that the engine of the `place`th op to end did for another stream
 * while that op, a smaller copy, could have begun, and how long that held it; NULL: none. */
static const struct span *held_behind(const struct traced *trace, uint32_t place,
                                      int64_t *wait_ns)
{
    const struct span *span = trace->by_end[place], *spans = trace->timeline->spans;
    const struct span *large = span;
    const uint32_t before = trace->stream_before[span - spans];
    const int64_t free_ns = before != SPAN_NONE ? spans[before].end_ns : 0;
    const int64_t ready_ns = later(span->issue_ns, free_ns);
    for (uint32_t i = place; i-- > 0 && trace->by_end[i]->end_ns > ready_ns;) {
        const struct span *other = trace->by_end[i];
        if (op_is_copy(span->kind) && other->kind == span->kind &&
            other->stream != span->stream && other->bytes > large->bytes)
            large = other;
    }
    *wait_ns = large != span ? span->start_ns - later(ready_ns, large->start_ns) : 0;
    return *wait_ns > 0 ? large : NULL;
}

static enum evidence large_copy(const struct judge *judge, struct verdict *verdict)
{
    const struct span *longest = NULL;
    int64_t longest_ns = 0, wait_ns;
    char bytes[UNITS_TEXT], text[FOREIGN_COUNT], time[UNITS_TEXT], wait[UNITS_TEXT];
    verdict->times = 0;
    for (uint32_t place = 0; place < judge->trace.by_end_count; place++) {
        const struct span *large = held_behind(&judge->trace, place, &wait_ns);
        verdict->times += large != NULL;
        longest = wait_ns > longest_ns ? large : longest;
        longest_ns = later(longest_ns, wait_ns);
    }
    if (longest == NULL)
        return EVIDENCE_LIKELY;
    snprintf(verdict->seen, VERDICT_SEEN,
             "%s waited behind a larger one of another stream, up to %s: behind one of %s in "
             "stream %" PRIu32 " that took %s",
             foreign_counted(verdict->times, "copy", "copies", text),
             units_time(longest_ns, wait), units_bytes(longest->bytes, bytes),
             timeline_stream_id(judge->timeline, longest->stream),
             units_time(longest->end_ns - longest->start_ns, time));
    return EVIDENCE_CERTAIN;
}

static enum evidence waits(const struct judge *judge, struct verdict *verdict)
{
    char text[FOREIGN_COUNT];
    const struct plan *plan = judge->facts->plan;
    uint32_t waits = 0;
    for (uint32_t i = 0; plan != NULL && i < plan->op_count; i++)
        waits += plan->ops[i].kind == OP_WAIT;
    if (judge->trace.in_graphs)
        snprintf(
            verdict->seen, VERDICT_SEEN,
            "%s, most of them nodes of graphs, in %s: each runs only behind the one before",
            foreign_counted(judge->timeline->span_count, "op", "ops", text),
            judge->timeline->streams == 1 ? "one line" : "few lines");
    else if (!judge->tried || judge->seen[VERDICT_NEEDLESS_WAIT])
        snprintf(verdict->seen, VERDICT_SEEN,
                 "far more copies in had ended than kernels had begun when one was let go");
    else {
        snprintf(verdict->seen, VERDICT_SEEN,
                 "streams wait %s for events, more than their data asks for",
                 foreign_counted(waits, "time", "times", text));
        verdict->times = waits;
    }
    return EVIDENCE_LIKELY;
}

/* --- what nothing names --- */

/* Says what the rest is made of, but for mere traces: of each part the words before its time
 * and behind it. */
static enum evidence rest(const struct judge *judge, struct verdict *verdict)
{
    enum { TRACES = 1000 };
    static const char *const words[REST_COUNT][2] = {
        [REST_FILLING] = {"filling and draining: ", ""},
        [REST_DATA] = {"", " are needed by the data: each result is the next input"},
        [REST_SEVERAL] = {"", " go only with several fixes together"},
        [REST_STEPS] = {"the device takes ", " to go on from op to op"},
        [REST_ONCE] = {"what the host did once took ", ""},
        [REST_PAGES] = {"pages of managed memory move, as they were asked to, and ",
                        " are waited for"},
        [REST_RECORDING] = {"recording took ", ""},
        [REST_KERNELS] = {"kernels took ", " longer than the limit has it"},
        [REST_COPIES] = {"copies took ", " longer than the limit has it"},
        [REST_SAME] = {"", " remain with every fix that was tried"},
        [REST_SMALL] = {"", " are losses too small to name"},
    };
    int64_t small_ns = verdict->cost_ns;
    char time[UNITS_TEXT];
    if (judge->trace.engine == ENGINE_NONE)
        append(verdict->seen, "nothing ran on the device");
    if (verdict->seen[0] != '\0')
        return EVIDENCE_CERTAIN;
    for (int part = 0; part < REST_COUNT; part++) {
        const int64_t ns = part == REST_SMALL ? small_ns : judge->rest_ns[part];
        const bool all = part == REST_SMALL && verdict->seen[0] == '\0';
        small_ns -= ns;
        if (!all && ns > judge->time_ns / TRACES)
            append(verdict->seen, "%s%s%s%s", verdict->seen[0] != '\0' ? "; " : "",
                   words[part][0], units_time(ns, time), words[part][1]);
    }
    return EVIDENCE_CERTAIN;
}

/* Says what is known, and what recording would tell more. */
static enum evidence unknown(const struct judge *judge, struct verdict *verdict)
{
    const struct timeline *timeline = judge->timeline;
    const bool recorded = timeline->timing == TIMING_RECORDED;
    const uint32_t waits = 1U << CALL_SYNC | 1U << CALL_COPY_WAIT | 1U << CALL_COPY;
    const struct tally calls = traced_calls(&judge->trace, waits, INT64_MAX);
    char time[UNITS_TEXT];
    if (calls.longest_ns > verdict->cost_ns / 2)
        append(verdict->seen, "the host was in one call of %s for %s; ",
               host_call_name(timeline->calls[calls.longest].row),
               units_time(calls.longest_ns, time));
    append(
        verdict->seen, "%s",
        recorded && timeline->issue_unknown
            ? "the recording does not say of all ops when they were issued"
        : recorded && timeline->more_ran
            ? "what it waited for may be ops that are not looked at here: another device's or "
              "stream's, or such as the recording lost"
        : recorded ? "no call to CUDA, no op and no wait for an event explains it; a "
                     "recording does not show what else the program did"
        : timeline->timing == TIMING_CHROME && timeline->issue_unknown
            ? "the trace has no calls of the host; `pipeline record` shows them, and what "
              "streams waited for"
        : timeline->timing == TIMING_CHROME
            ? "no call and no op explains it; enable_cuda_sync_events of PyTorch's profiler "
              "would show what streams waited for, and `pipeline record` all calls to CUDA"
        : timeline->timing != TIMING_NSYS
            ? "no call and no op explains it; of a timeline alone neither the plan nor the "
              "machine is known"
        : timeline->issue_unknown
            ? "the trace has no calls of the host: record with nsys profile -t cuda, export "
              "with nsys export -t sqlite, and view that"
            : "no call and no op explains it: nsys profile -t cuda,osrt shows what the host "
              "did, --cuda-event-trace=true what streams waited for");
    return EVIDENCE_UNKNOWN;
}

static enum evidence simulated(const struct judge *judge, struct verdict *verdict)
{
    (void)judge;
    snprintf(verdict->seen, VERDICT_SEEN, "in the simulator, the fix gains");
    return EVIDENCE_LIKELY;
}

static enum evidence (*const functions[VERDICT_COUNT])(const struct judge *judge,
                                                       struct verdict *verdict) = {
#define ROW(code, name, run, foreign, ...) [VERDICT_##code] = foreign,
#include "causes/verdicts.def"
#undef ROW
};

bool evidence_is_gain(enum verdict_code code)
{
    return functions[code] == simulated;
}

void evidence_foreign(const struct judge *judge, struct verdict causes[], int count)
{
    for (int i = 0; i < count; i++) {
        causes[i].times = 1;
        causes[i].carries_ns = INT64_MAX;
        causes[i].evidence = functions[causes[i].code](judge, &causes[i]);
    }
}
