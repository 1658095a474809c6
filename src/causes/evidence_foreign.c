/* evidence_foreign.c - what the verdicts of another program's run rest on: each function says
 * what was seen, with its count, and returns what that is worth. */
#include "causes/evidence.h"
#include "core/units.h"

#include <stdio.h>

/* --- the default stream --- */

static enum evidence default_stream(struct sight *sight)
{
    const struct timeline *timeline = sight->judge->timeline;
    const bool likely = timeline->legacy_likely;
    uint32_t ran = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (timeline_stream_kind(timeline, span->stream) != STREAM_LEGACY)
            continue;
        sight->legacy_stream = timeline_stream_id(timeline, span->stream);
        sight->kernels += span->kind == OP_KERNEL;
        sight->copies += op_is_copy(span->kind);
        sight->memsets += span->kind != OP_KERNEL && !op_is_copy(span->kind);
        sight->call = traced_call_of(&sight->judge->trace, i);
        ran++;
    }
    if (ran == 0)
        return facts_null_free(sight);
    sight_times(sight, ran);
    sight->also = likely ? ", by its number" : "";
    sight_say(sight, EVIDENCE_LIKELY,
              "stream {legacy_stream} is the legacy default stream{also}: "
              "{kernels,kernel|kernels}{copies,copy|copies}{memsets,memset|memsets} ran there");
    if (sight->call != SPAN_NONE)
        sight_say(sight, EVIDENCE_LIKELY, ", by {call}");
    if (sight->judge->trace.many_threads)
        sight_say(sight, EVIDENCE_LIKELY, ", of several threads");
    return likely ? sight_say(sight, EVIDENCE_LIKELY, ", none beside work of other streams")
                  : EVIDENCE_CERTAIN;
}

/* --- the host's calls --- */

static enum evidence sync(struct sight *sight)
{
    const struct traced *trace = &sight->judge->trace;
    if (traced_calls(trace, 1U << CALL_SYNC, trace->last_issue_ns).count == 0)
        host_put_polls(sight);
    return sight->verdict->seen[0] != '\0' || facts_put_readback(sight) ? EVIDENCE_CERTAIN
                                                                        : host_calls(sight);
}

static enum evidence launches(struct sight *sight)
{
    const struct judge *judge = sight->judge;
    const struct plan *plan = judge->facts->plan;
    const bool told = judge->timeline->call_count == 0 && plan != NULL && plan->launches_block;
    sight_times(sight, told ? judge->trace.kernels : judge->trace.waited);
    sight->all = judge->trace.launches;
    return sight_say(
        sight, EVIDENCE_CERTAIN,
        told ? "CUDA_LAUNCH_BLOCKING asks for it, and {times} kernels ran"
             : "{times} of {all} launches returned only when their kernel had ended");
}

static enum evidence first_launch(struct sight *sight)
{
    const struct judge *judge = sight->judge;
    const struct traced *trace = &judge->trace;
    const struct tally launches = traced_calls(trace, 1U << CALL_LAUNCH, INT64_MAX);
    const uint32_t kernel =
        launches.longest_ns > 0 ? trace->issued[launches.longest] : SPAN_NONE;
    struct tally first = traced_loads(trace);
    const struct tally loads = traced_calls(trace, 1U << CALL_LOAD, trace->last_issue_ns);
    char name[SPAN_NAME], kernel_name[65];
    first.count += loads.count;
    first.sum_ns = plus(first.sum_ns, loads.sum_ns);
    sight_note(sight, &first);
    sight->longest_ns = (double)launches.longest_ns;
    sight->each_ns = (double)trace->launch_ns;
    sight->call = launches.longest;
    sight->also =
        kernel != SPAN_NONE
            ? timeline_span_name(judge->timeline, &judge->timeline->spans[kernel], name)
            : "a kernel";
    snprintf(kernel_name, sizeof kernel_name, "%s", sight->also);
    sight->also = kernel_name;
    return sight_say(
        sight, EVIDENCE_LIKELY,
        "the first launch of {also}{line:,} took {longest_ns}, half of all at most "
        "{each_ns}");
}

/* When functions ran, recordings say, and traces do not. */
static enum evidence callbacks(struct sight *sight)
{
    const struct traced *trace = &sight->judge->trace;
    const struct tally ran = traced_ops(trace, 1U << OP_CALLBACK, false);
    if (ran.count == 0) {
        sight_times(sight, trace->host_funcs);
        return sight_say(sight, EVIDENCE_LIKELY,
                         "{times:call|calls} put a host function into a stream; a trace "
                         "does not say when they run");
    }
    sight_note(sight, &ran);
    return sight_say(sight, EVIDENCE_CERTAIN,
                     "{times:host function|host functions} took {sum_ns} in all, and what "
                     "is behind them in their streams waits for them");
}

/* Nothing says what else is at work on the device, but that something is. */
static enum evidence stalls(struct sight *sight)
{
    sight_note(sight, &sight->judge->trace.stalls);
    return sight_say(sight, EVIDENCE_LIKELY,
                     "{times} times the device had nothing else to do for the program, and "
                     "yet began what the host had handed over only up to {longest_ns} "
                     "later, {sum_ns} in all: another process seems to be at work on it "
                     "(nvidia-smi lists them)");
}

/* --- ops --- */

/* Counts some ops, and notes the call that issued the longest. */
static struct tally see_ops(struct sight *sight, uint32_t kinds, bool pageable)
{
    const struct tally ops = traced_ops(&sight->judge->trace, kinds, pageable);
    sight_times(sight, ops.count);
    if (ops.count > 0)
        sight->call = traced_call_of(&sight->judge->trace, ops.longest);
    return ops;
}

static enum evidence memsets(struct sight *sight)
{
    const bool bars = sight->judge->trace.memsets_bar;
    (void)see_ops(sight, 1U << OP_MEMSET, false);
    sight->also = bars ? ", none of which ran beside another op" : "";
    return sight_say(sight, bars ? EVIDENCE_LIKELY : EVIDENCE_CERTAIN,
                     "{times:memset|memsets}{also}{line:, the longest issued}");
}

static enum evidence few_streams(struct sight *sight)
{
    sight_times(sight, sight->judge->stream_waits);
    return sight_say(sight, EVIDENCE_LIKELY,
                     "{times:copy in|copies in} waited for room: for the op before in the "
                     "stream, or for an event");
}

static enum evidence pageable(struct sight *sight)
{
    const uint32_t kinds = 1U << OP_H2D | 1U << OP_D2H;
    const struct traced *trace = &sight->judge->trace;
    const struct tally pageable = see_ops(sight, kinds, true);
    sight->all = traced_ops(trace, kinds, false).count;
    sight_say(sight, EVIDENCE_CERTAIN,
              "{times} of {all} copies are from or to pageable memory{line:, the longest "
              "issued}");
    if (pageable.count == 0 || trace->slower_ns[pageable.longest] == 0)
        return EVIDENCE_CERTAIN;
    const struct span *span = &trace->timeline->spans[pageable.longest];
    sight->own_rate = (double)span->bytes / (double)pageable.longest_ns;
    sight->link_rate = trace->pinned_rate[span->kind == OP_D2H];
    return sight_say(
        sight, EVIDENCE_CERTAIN,
        "; the longest ran at {own_rate} GB/s, and page-locked memory is copied at "
        "{link_rate}");
}

static enum evidence small_tiles(struct sight *sight)
{
    const struct pace pace = pace_of(&sight->judge->trace);
    sight_times(sight, pace.ops);
    sight->each_ns = (double)(pace.ops > 0 ? pace.work_ns / pace.ops : 0);
    sight->every_ns = (double)(pace.calls > 0 ? pace.calls_ns / pace.calls : 0);
    return sight_say(sight, EVIDENCE_CERTAIN,
                     "{times} ops of {each_ns} on average, calls of {every_ns} to issue them");
}

static enum evidence few_tiles(struct sight *sight)
{
    const struct traced *trace = &sight->judge->trace;
    sight->tiles = traced_ops_of(trace, OP_H2D);
    sight->kernels = traced_ops_of(trace, OP_KERNEL);
    sight->copies = traced_ops_of(trace, OP_D2H);
    return sight_say(sight, EVIDENCE_CERTAIN,
                     "{tiles,copy in|copies in}{kernels,kernel|kernels}"
                     "{copies,copy out|copies out} in all");
}

static enum evidence one_stream(struct sight *sight)
{
    sight->all = sight->judge->timeline->span_count;
    sight->streams = timeline_stream_id(sight->judge->timeline, 0);
    return sight_say(sight, EVIDENCE_CERTAIN, "all {all} ops are in stream {streams}");
}

static enum evidence device_copies(struct sight *sight)
{
    const struct tally copies = see_ops(sight, 1U << OP_D2D, false);
    const uint32_t call = sight->call;
    sight_note(sight, &copies);
    sight->call = call;
    return sight_say(
        sight, EVIDENCE_CERTAIN,
        "{times:copy|copies} within the device, {sum_ns} in all{line:, the longest "
        "issued}");
}

static enum evidence few_blocks(struct sight *sight)
{
    const struct plan *plan = sight->judge->facts->plan;
    const uint32_t sms = sight->judge->facts->model->sms;
    struct tally kernels = {.count = 0};
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind != OP_KERNEL || op->kernel.blocks >= sms)
            continue;
        tally_add(&kernels, i, plan->recorded->ops[i].work_ns);
        blocks += op->kernel.blocks;
    }
    const uint32_t count = kernels.count > 0 ? kernels.count : 1;
    sight_times(sight, kernels.count);
    sight->most_blocks = (double)((blocks + count / 2) / count);
    sight->each_ns = (double)(kernels.sum_ns / count);
    sight->all = sms;
    return sight_say(sight, EVIDENCE_LIKELY,
                     "{times:kernel|kernels} of {most_blocks} blocks and {each_ns} on "
                     "average; the GPU has {all} SMs, each of which takes a block or more");
}

/* Returns the largest copy that the engine of the `place`th op to end did for another stream
 * while that op, a smaller copy, could have begun, and how long that held it; NULL: none. */
static const struct span *held_behind(const struct judge *judge, uint32_t place,
                                      int64_t *wait_ns)
{
    const struct traced *trace = &judge->trace;
    const struct span *span = trace->by_end[place], *spans = trace->timeline->spans;
    const struct span *large = span;
    const uint32_t before = judge->facts->critical->before[span - spans];
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

static enum evidence large_copy(struct sight *sight)
{
    const struct traced *trace = &sight->judge->trace;
    const struct span *longest = NULL;
    struct tally held = {.count = 0};
    for (uint32_t place = 0; place < trace->by_end_count; place++) {
        int64_t wait_ns;
        const struct span *large = held_behind(sight->judge, place, &wait_ns);
        if (large == NULL)
            continue;
        longest = wait_ns > held.longest_ns ? large : longest;
        tally_add(&held, place, wait_ns);
    }
    sight_times(sight, held.count);
    if (longest == NULL)
        return EVIDENCE_LIKELY;
    sight->longest_ns = (double)held.longest_ns;
    sight->most_bytes = (double)longest->bytes;
    sight->streams = timeline_stream_id(sight->judge->timeline, longest->stream);
    sight->each_ns = (double)(longest->end_ns - longest->start_ns);
    return sight_say(sight, EVIDENCE_CERTAIN,
                     "{times:copy|copies} waited behind a larger one of another stream, up "
                     "to {longest_ns}: behind one of {most_bytes} in stream {streams} that "
                     "took {each_ns}");
}

static enum evidence waits(struct sight *sight)
{
    const struct judge *judge = sight->judge;
    const struct plan *plan = judge->facts->plan;
    sight->all = judge->timeline->span_count;
    sight->also = judge->timeline->streams == 1 ? "one line" : "few lines";
    if (judge->trace.in_graphs)
        return sight_say(sight, EVIDENCE_LIKELY,
                         judge->timeline->streams == 1
                             ? "{all:op|ops}, most of them nodes of graphs, in one line: "
                               "each runs only behind the one before"
                             : "{all:op|ops}, most of them nodes of graphs, in few lines: "
                               "each runs only behind the one before");
    if (!judge->tried || judge->seen[VERDICT_NEEDLESS_WAIT])
        return sight_say(
            sight, EVIDENCE_LIKELY,
            "far more copies in had ended than kernels had begun when one was let go");
    uint32_t waits = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        waits += plan->ops[i].kind == OP_WAIT;
    sight_times(sight, waits);
    return sight_say(
        sight, EVIDENCE_LIKELY,
        "streams wait {times:time|times} for events, more than their data asks for");
}

/* --- what nothing names --- */

/* Says what the rest is made of, but for mere traces: of each part the words before its time
 * and behind it. */
static enum evidence rest(struct sight *sight)
{
    const struct judge *judge = sight->judge;
    enum { TRACES = 1000 };
    const char *const words[REST_COUNT][2] = {
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
        [REST_SAME] = {"", judge->found.count > 0 ? " remain with every fix that was tried"
                                                  : " remain"},
        [REST_SMALL] = {"", " are losses too small to name"},
    };
    int64_t small_ns = sight->verdict->cost_ns;
    char time[UNITS_TEXT];
    if (judge->trace.engine == ENGINE_NONE)
        text_add(sight->verdict->seen, VERDICT_SEEN, "", "nothing ran on the device");
    if (sight->verdict->seen[0] != '\0')
        return EVIDENCE_CERTAIN;
    for (int part = 0; part < REST_COUNT; part++) {
        const int64_t ns = part == REST_SMALL ? small_ns : judge->rest_ns[part];
        const bool all = part == REST_SMALL && sight->verdict->seen[0] == '\0';
        small_ns -= ns;
        if (!all && ns > judge->time_ns / TRACES)
            text_add(sight->verdict->seen, VERDICT_SEEN, "; ", "%s%s%s", words[part][0],
                     units_time(ns, time), words[part][1]);
    }
    return EVIDENCE_CERTAIN;
}

/* Says what is known, and what recording would tell more. */
static enum evidence unknown(struct sight *sight)
{
    const struct judge *judge = sight->judge;
    const struct timeline *timeline = judge->timeline;
    const bool recorded = timeline->timing == TIMING_RECORDED;
    const uint32_t waits = 1U << CALL_SYNC | 1U << CALL_COPY_WAIT | 1U << CALL_COPY;
    const struct tally calls = traced_calls(&judge->trace, waits, INT64_MAX);
    char time[UNITS_TEXT];
    if (calls.longest_ns > sight->verdict->cost_ns / 2)
        text_add(sight->verdict->seen, VERDICT_SEEN, "",
                 "the host was in one call of %s for %s; ",
                 host_call_name(timeline->calls[calls.longest].row),
                 units_time(calls.longest_ns, time));
    text_add(
        sight->verdict->seen, VERDICT_SEEN, "", "%s",
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

static enum evidence simulated(struct sight *sight)
{
    return sight_say(sight, EVIDENCE_LIKELY, "in the simulator, the fix gains");
}

static enum evidence (*const functions[VERDICT_COUNT])(struct sight *sight) = {
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
        struct sight sight = {.judge = judge, .verdict = &causes[i], .call = SPAN_NONE};
        causes[i].times = 1;
        causes[i].carries_ns = INT64_MAX;
        causes[i].evidence = functions[causes[i].code](&sight);
    }
}
