/* verdicts.c - why each run took longer than its limit, in words: the answer in one line, and
 * the causes with their evidence and their fixes. */
#include "core/units.h"
#include "report/report.h"
#include "trace/trace.h"
#include "writers/cause.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 4, NAME_COLUMNS = 40, NAME_TEXT = 4 * NAME_COLUMNS + 4 };

static double percent_of(int64_t part_ns, int64_t all_ns)
{
    return all_ns > 0 ? 100 * (double)part_ns / (double)all_ns : 0;
}

/* --- the answer --- */

void write_answers(FILE *out, const struct report *report, const struct writer_style *style)
{
    char name[NAME_TEXT], text[MESSAGE_TEXT], order[ORDER_TEXT];
    bool any = false;
    for (int i = 0; i < report->run_count; i++) {
        writer_run_message(&report->runs[i], false, text);
        if (text[0] == '\0')
            continue;
        if (!any)
            putc('\n', out);
        any = true;
        writer_fit(name, sizeof name, report->runs[i].settings->name, NAME_COLUMNS);
        writer_print_words(out, style->width, INDENT, "%s: %s", name, text);
    }
    order_message(report, order);
    if (order[0] != '\0')
        writer_print_words(out, style->width, INDENT, "%s", order);
}

/* --- the causes --- */

/* Writes a cause; what to call only where that is not `told` yet. */
static void put_cause(FILE *out, const struct run_report *run, int index,
                      bool told[VERDICT_COUNT], const struct writer_style *style)
{
    const struct verdict *verdict = &run->verdicts.items[index];
    const struct verdict_row *row = &verdict_rows[verdict->code];
    char cost[UNITS_TEXT], fixed[WRITER_ABOUT];
    if (verdict->cost_ns == 0 && verdict->predicted_ns == 0)
        writer_print_words(out, style->width, INDENT, "  %s: %s", row->name, row->text);
    else
        writer_print_words(out, style->width, INDENT, "  %s, %.1f%%: %s: %s",
                           units_time(verdict->cost_ns, cost),
                           percent_of(verdict->cost_ns, run->verdicts.time_ns), row->name,
                           row->text);
    if (verdict->code == VERDICT_SHORT_RUN && style->verbose == 0)
        return; /* there is nothing to do about it with this array */
    if (verdict->seen[0] != '\0')
        writer_print_words(out, style->width, 2 * INDENT, "    seen: %s%s", verdict->seen,
                           verdict->evidence == EVIDENCE_LIKELY ? " (a likely cause)" : "");
    if (verdict->predicted_ns > 0)
        writer_print_words(out, style->width, 2 * INDENT, "    fix: %s%s%s; it would take %s",
                           row->fix, verdict->command[0] != '\0' ? ": " : "", verdict->command,
                           writer_about(verdict->predicted_ns, &verdict->prospect, fixed));
    else if (row->fix[0] != '\0')
        writer_print_words(out, style->width, 2 * INDENT, "    fix: %s%s%s", row->fix,
                           verdict->no_time != NULL ? "; " : "",
                           verdict->no_time != NULL ? verdict->no_time : "");
    /* An option that undoes a mistake is no fix of a program. */
    const bool wanted =
        run->foreign || style->verbose > 0 || run->settings->mistake != MISTAKE_NONE;
    const char *calls, *how = writer_how(run, verdict->code, &calls);
    if (how[0] != '\0' && wanted && !told[verdict->code]) {
        writer_print_words(out, style->width, 2 * INDENT, "    in %s: %s", calls, how);
        told[verdict->code] = true;
    }
}

static void put_rest(FILE *out, const struct verdicts *verdicts,
                     const struct writer_style *style)
{
    const struct verdict *rest = &verdicts->items[verdicts->count - 1];
    char cost[UNITS_TEXT];
    if (rest->cost_ns == 0)
        return;
    writer_print_words(
        out, style->width, INDENT, "  %s, %.1f%%: %s%s%s%s", units_time(rest->cost_ns, cost),
        percent_of(rest->cost_ns, verdicts->time_ns), writer_cause_text(verdicts, VERDICT_REST),
        rest->seen[0] != '\0' ? " (" : "", rest->seen, rest->seen[0] != '\0' ? ")" : "");
}

/* Returns true if a recorded run may have waited for ops that the recording lacks, or that are
 * not looked at: without them its replay is faster. */
static bool lacks_ops(const struct run_report *run)
{
    return run->timeline.more_ran && run->verdicts.modelled_ns > 0 &&
           run->verdicts.modelled_ns < run->verdicts.time_ns;
}

/* Returns what recording took of a call of that kind, in the mean; 0: there is none. */
static int64_t recording_each_ns(const struct timeline *timeline, enum host_call_kind kind)
{
    int64_t sum_ns = 0, count = 0;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const bool is_one = host_call_kind(timeline->calls[i].row) == kind;
        sum_ns += is_one ? timeline->calls[i].added_ns : 0;
        count += is_one;
    }
    return count > 0 ? sum_ns / count : 0;
}

/* Says what recording took, and what the program takes without it. */
static void put_recording(FILE *out, const struct run_report *run,
                          const struct writer_style *style)
{
    const struct verdicts *verdicts = &run->verdicts;
    const int64_t bare_ns = verdicts->time_ns - verdicts->recording_ns;
    const int64_t launch_ns = recording_each_ns(&run->timeline, CALL_LAUNCH);
    const int64_t each_ns =
        launch_ns > 0 ? launch_ns : recording_each_ns(&run->timeline, CALL_COPY);
    const uint32_t passes = run->trace != NULL ? run->trace->loop.passes : 0;
    char all[UNITS_TEXT], each[UNITS_TEXT], bare[UNITS_TEXT], of_each[96] = "";
    if (percent_of(verdicts->recording_ns, verdicts->time_ns) < 1)
        return;
    if (each_ns > 0)
        snprintf(of_each, sizeof of_each, ", %s of each %s", units_time(each_ns, each),
                 launch_ns > 0 ? "launch" : "copy's call");
    writer_print_words(out, style->width, INDENT,
                       "  Recording itself took about %s of that%s: without it %s takes about "
                       "%s.%s",
                       units_time(verdicts->recording_ns, all), of_each,
                       passes > 0 ? "a pass" : "it",
                       units_time(passes > 0 ? bare_ns / passes : bare_ns, bare),
                       verdicts->limit_known ? " Times with a fix are without it, too." : "");
}

static void put_limit(FILE *out, const struct run_report *run, const char *name,
                      const struct writer_style *style)
{
    const struct verdicts *verdicts = &run->verdicts;
    char time[UNITS_ABOUT], limit[UNITS_TEXT], claimed[UNITS_TEXT];
    char copies[UNITS_TEXT], steps[UNITS_TEXT];
    units_about(verdicts->time_ns, run->sure.low_ns, run->sure.high_ns, time);
    units_time(verdicts->limit_ns, limit);
    if (!verdicts->limit_known)
        writer_print_words(out, style->width, INDENT, "%s: %s; its busiest engine%s %s", name,
                           time, verdicts->page_locked ? ", with page-locked memory," : "",
                           limit);
    else if (!run->foreign && settings_has_halo(run->settings))
        writer_print_words(out, style->width, INDENT,
                           "%s: %s; limit %s, of which %s are copies in and out and %s all "
                           "steps: they can't overlap",
                           name, time, limit, units_time(run->limit.copies_ns, copies),
                           units_time(run->limit.compute_ns, steps));
    else
        writer_print_words(out, style->width, INDENT, "%s: %s; limit %s, set by %s", name, time,
                           limit, writer_bounds[verdicts->bound].name);
    if (verdicts->misfit && run->limit.claimed_ns > 0)
        writer_print_words(out, style->width, INDENT,
                           "  The machine file does not fit: by its %s, no run of these ops "
                           "takes less than %s. One of this very machine (pipeline calibrate, "
                           "--machine) does.",
                           run->limit.figure, units_time(run->limit.claimed_ns, claimed));
    else if (run->limit.claimed_ns > 0)
        writer_print_words(out, style->width, INDENT,
                           "  The machine's %s is too low: by it, the limit would be %s.",
                           run->limit.figure, units_time(run->limit.claimed_ns, claimed));
    const bool recorded = run->timeline.timing == TIMING_RECORDED;
    if (verdicts->too_far && (!recorded || lacks_ops(run)))
        writer_print_words(out, style->width, INDENT,
                           "  Replayed, this run takes %s, too far from %s for the time with a "
                           "fix to be predicted: %s.",
                           units_time(verdicts->modelled_ns, limit), time,
                           recorded
                               ? "ops may have waited for some that the recording lacks, or "
                                 "for another device's"
                               : "the trace lacks something that ops waited for");
    else if (verdicts->too_far)
        writer_print_words(out, style->width, INDENT,
                           "  The machine file does not fit: the simulator gives this run %s, "
                           "too far from %s for the time with "
                           "a fix to be predicted: a machine file of this very machine "
                           "(pipeline calibrate, --machine) may come nearer.",
                           units_time(verdicts->modelled_ns, limit), time);
    put_recording(out, run, style);
}

/* Returns true if the first cause that can be fixed is the one that cost most. */
static bool is_by_size(const struct verdicts *verdicts)
{
    const struct verdict *first = &verdicts->items[0];
    bool largest = true;
    for (int i = 1; i < verdicts->named && first->cost_ns > 0; i++)
        largest &= verdicts->items[i].cost_ns <= first->cost_ns ||
                   verdicts->items[i].code == VERDICT_SHORT_RUN;
    return largest;
}

/* Writes a line for the run, and those of its causes. */
static void put_run(FILE *out, const struct run_report *run, bool told[VERDICT_COUNT],
                    const struct writer_style *style)
{
    const struct verdicts *verdicts = &run->verdicts;
    char name[NAME_TEXT], best[WRITER_ABOUT];
    writer_fit(name, sizeof name, run->settings->name, NAME_COLUMNS);
    if (run->no_verdict[0] != '\0') {
        writer_print_words(out, style->width, INDENT, "%s: %s", name, run->no_verdict);
        return;
    }
    if (verdicts->count == 0)
        return;
    put_limit(out, run, name, style);
    if (!is_by_size(verdicts))
        writer_put_words(out, style->width, INDENT,
                         "  The first is what to fix first; it is not what cost most.");
    for (int i = 0; i < verdicts->named; i++)
        put_cause(out, run, i, told, style);
    bool shown = verdicts->named > 0 && strcmp(verdicts->items[0].command, verdicts->best) == 0;
    if (verdicts->best_ns > 0 && !shown)
        writer_print_words(out, style->width, INDENT,
                           "  best of all that was tried: %s%s; it would take %s",
                           run->foreign ? "without " : "", verdicts->best,
                           writer_about(verdicts->best_ns, &verdicts->best_prospect, best));
    put_rest(out, verdicts, style);
}

/* What verdicts of another program's runs rest on; of several the first is said. */
enum basis { TRACED, REPLAYED, RECORDED, PART, MISFIT, TRIED, OWN_FILE, BASES };
static const char *const basis_texts[BASES] = {
    [TRACED] = "A trace records when ops ran. It does not record which data and buffers they "
               "use, nor the machine's hardware queues, so the limit is not known.",
    [REPLAYED] =
        "Fixes are changes of the program's calls to CUDA, each tried by replaying the "
        "trace in the simulator, with the rates and latencies that it shows. It does "
        "not say which data ops use, so no change of their order is tried, and "
        "kernels are not taken to run side by side: a recording of `pipeline record` "
        "says it.",
    [RECORDED] = "A recording says when ops ran and what the program called. No machine file "
                 "stands for this device, so causes are measured against the busiest engine, "
                 "not against the limit, and no fix is tried: name one by --machine.",
    [PART] = "Only a part of the file is looked at, so its limit is not known, and no fix "
             "is tried.",
    [MISFIT] = "A recording says when ops ran and what the program called. The machine file "
               "does not fit it, so causes are measured against the busiest engine, not "
               "against the limit, and no fix is offered.",
    [TRIED] = "Fixes are changes of the program's calls to CUDA, each simulated on the machine "
              "file of this device. Orders that its data asks for are kept.",
    [OWN_FILE] = "The file says when ops ran, but not on which data and on which machine, so "
                 "causes are measured against the busiest engine, not against the limit.",
};

static void find_bases(const struct run_report *run, bool found[BASES])
{
    const enum timing timing = run->timeline.timing;
    const bool unlimited = run->foreign && timing == TIMING_RECORDED &&
                           !run->verdicts.limit_known && !run->verdicts.misfit;
    const bool traced = timing == TIMING_NSYS || timing == TIMING_CHROME;
    found[TRACED] |= run->foreign && traced && !run->verdicts.limit_known &&
                     !(run->timeline.partial && run->timeline.call_count > 0);
    found[REPLAYED] |= run->foreign && traced && run->verdicts.limit_known;
    found[RECORDED] |= unlimited && run->plan != NULL;
    found[PART] |= (unlimited || (traced && run->timeline.call_count > 0)) &&
                   run->timeline.partial && !run->verdicts.limit_known;
    found[MISFIT] |= run->verdicts.misfit && !traced && !lacks_ops(run);
    found[TRIED] |= run->foreign && run->verdicts.limit_known && !traced;
    found[OWN_FILE] |= run->foreign && !traced && timing != TIMING_RECORDED;
}

void write_verdicts(FILE *out, const struct report *report, const struct writer_style *style)
{
    bool any = false, found[BASES] = {false}, told[VERDICT_COUNT] = {false};
    for (int i = 0; i < report->run_count; i++) {
        any |= report->runs[i].verdicts.count > 0 || report->runs[i].no_verdict[0] != '\0';
        find_bases(&report->runs[i], found);
    }
    if (!any)
        return;
    fputs("\nwhy\n", out);
    found[MISFIT] &= !found[TRIED];
    int basis = 0;
    while (basis < BASES && !found[basis])
        basis++;
    if (basis < BASES)
        writer_put_words(out, style->width, 0, basis_texts[basis]);
    for (int i = 0; i < report->run_count; i++)
        put_run(out, &report->runs[i], told, style);
}
