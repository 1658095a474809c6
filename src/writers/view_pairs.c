/* view_pairs.c - two timelines side by side: what a change has brought. */
#include "core/units.h"
#include "trace/trace.h"
#include "writers/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_COLUMNS = 22, FIGURE_COLUMNS = 12, ROUND_TEXT = 48 };

/* A run before the change, and after it. */
struct sides {
    const struct run_report *runs[2];
    struct view_facts facts[2];
};

/* Returns how often a run did the work that is compared. */
static double rounds_of(const struct run_report *run)
{
    return run->trace != NULL && run->trace->rounds > 0 ? run->trace->rounds : 1;
}

/* --- rows --- */

/* Writes "-1.2 ms", "+300 us", or "0" where nothing changed. */
static void put_change(FILE *out, int64_t before_ns, int64_t after_ns)
{
    char text[UNITS_TEXT], shown[UNITS_TEXT + 2] = "0";
    int64_t change_ns = after_ns - before_ns;
    if (change_ns != 0)
        snprintf(shown, sizeof shown, "%s%s", change_ns < 0 ? "-" : "+",
                 units_time(change_ns < 0 ? -change_ns : change_ns, text));
    fprintf(out, "%*s\n", FIGURE_COLUMNS, shown);
}

static void put_times(FILE *out, const char *name, int64_t before_ns, int64_t after_ns)
{
    char before[UNITS_TEXT] = "-", after[UNITS_TEXT] = "-";
    if (before_ns != 0)
        units_time(before_ns, before);
    if (after_ns != 0)
        units_time(after_ns, after);
    fprintf(out, "%-*s%*s%*s", NAME_COLUMNS, name, FIGURE_COLUMNS, before, FIGURE_COLUMNS,
            after);
    put_change(out, before_ns, after_ns);
}

static void put_engines(FILE *out, const struct sides *sides)
{
    static const char *const words[] = {"busy", "idle in gaps"};
    for (int row = 0; row < 2; row++) {
        for (int i = 0; i < ENGINE_WORKING; i++) {
            char name[NAME_COLUMNS];
            int64_t ns[2];
            bool any = false;
            for (int side = 0; side < 2; side++) {
                const struct engine_use *use = &sides->runs[side]->analysis.engines[i];
                ns[side] = row == 0             ? use->busy_ns
                           : i < DEVICE_ENGINES ? sides->facts[side].gap_sums_ns[i]
                                                : 0;
                ns[side] = writer_of_round(sides->runs[side], ns[side]);
                any |= use->spans > 0 && (row == 0 || i < DEVICE_ENGINES);
            }
            snprintf(name, sizeof name, "%s %s", engine_rows[i].label, words[row]);
            if (any)
                put_times(out, name, ns[0], ns[1]);
        }
    }
}

static int64_t cost_of(const struct run_report *run, int code)
{
    for (int i = 0; i < run->verdicts.named; i++) {
        if ((int)run->verdicts.items[i].code == code)
            return writer_of_round(run, run->verdicts.items[i].cost_ns);
    }
    return 0;
}

/* Writes a row for each cause that was named on either side. */
static void put_causes(FILE *out, const struct sides *sides)
{
    bool any = false;
    for (int code = 0; code < VERDICT_COUNT; code++) {
        int64_t before_ns = cost_of(sides->runs[0], code),
                after_ns = cost_of(sides->runs[1], code);
        if (before_ns == 0 && after_ns == 0)
            continue;
        if (!any)
            fputs("lost to\n", out);
        any = true;
        char name[NAME_COLUMNS + 2];
        snprintf(name, sizeof name, "  %s", verdict_rows[code].name);
        put_times(out, name, before_ns, after_ns);
    }
    for (int side = 0; side < 2; side++) {
        if (sides->runs[side]->no_verdict[0] != '\0')
            fprintf(out, "%s: %s\n", side == 0 ? "before" : "after",
                    sides->runs[side]->no_verdict);
    }
}

/* --- a pair --- */

/* Writes what a run does in a round: " for a pass", " for 49 passes"; "" for all of it, unless
 * that must be told from what `other` does, which has a loop. */
static void put_round(const struct run_report *run, bool other, char text[ROUND_TEXT])
{
    const double passes = run->trace != NULL ? run->trace->loop.passes : 0,
                 each = fmax(passes, 1) / rounds_of(run);
    text[0] = '\0';
    if (passes > 0 && each == 1)
        strcpy(text, " for a pass");
    else if (passes > 0)
        snprintf(text, ROUND_TEXT, " for %.3g passes", each);
    else if (other)
        strcpy(text, " for all of it");
}

/* Writes the gain in one line, before everything else. */
static void put_gain(FILE *out, const struct sides *sides, const struct writer_style *style)
{
    char times[2][UNITS_TEXT], rounds[2][ROUND_TEXT], how[64];
    const double gain = sides->runs[1]->speedup;
    for (int side = 0; side < 2; side++) {
        const struct trace *other = sides->runs[1 - side]->trace;
        put_round(sides->runs[side], other != NULL && other->loop.passes > 0, rounds[side]);
        units_time(writer_of_round(sides->runs[side], sides->runs[side]->median_ns),
                   times[side]);
    }
    snprintf(how, sizeof how, ": %.2f times as fast", gain);
    if (isnan(gain))
        how[0] = '\0';
    else if (gain > 0.995 && gain < 1.005)
        strcpy(how, ": as fast as before");
    else if (gain < 1)
        snprintf(how, sizeof how, ": slower: %.2f times as fast", gain);
    const bool differ = strcmp(rounds[0], rounds[1]) != 0;
    writer_print_words(out, style->width, 2, "%s takes %s%s instead of %s%s%s%s",
                       sides->runs[1]->settings->name, times[1], rounds[1], times[0],
                       differ ? rounds[0] : "",
                       differ && !isnan(gain) ? ", with the same kernels" : "", how);
}

/* Says where both did different work, or may have. */
static void put_work(FILE *out, const struct sides *sides, const struct writer_style *style)
{
    char works[2][2 * UNITS_TEXT], by_byte[64] = "";
    const struct run_report *after = sides->runs[1];
    for (int side = 0; side < 2; side++) {
        const struct run_report *run = sides->runs[side];
        char copied[UNITS_TEXT];
        double ops = 0, bytes = 0;
        for (int i = 0; i < ENGINE_WORKING; i++) {
            ops += run->analysis.engines[i].spans / rounds_of(run);
            bytes += (double)run->analysis.engines[i].bytes / rounds_of(run);
        }
        snprintf(works[side], sizeof works[side], "%.0f op%s and %s of copies", ops,
                 ops < 1.5 ? "" : "s", units_bytes((uint64_t)(bytes + 0.5), copied));
    }
    if (after->trace == NULL || !after->trace->unlike)
        return;
    if (after->trace->by_byte > 0)
        snprintf(by_byte, sizeof by_byte, "; by the byte, after is %.2f times as fast",
                 after->trace->by_byte);
    writer_print_words(out, style->width, 2, "Mind: before is %s, after %s. %s%s.", works[0],
                       works[1],
                       isnan(after->speedup)
                           ? "They have too little in common to tell whether that is the same "
                             "work"
                           : "If that is not the change itself, these are times of different "
                             "work",
                       by_byte);
}

static void put_sources(FILE *out, const struct sides *sides, const struct writer_style *style)
{
    for (int side = 0; side < 2; side++) {
        char origin[ORIGIN_TEXT], ops[VIEW_OPS_TEXT + WRITER_LOOP];
        const struct run_report *run = sides->runs[side];
        writer_origin(run, origin);
        const bool loop = writer_loop(run, ops);
        if (!loop)
            view_count_ops(run, ops);
        const char *part = run->trace != NULL ? run->trace->part : "";
        writer_print_words(out, style->width, 2, "%s: %s%s%s; %s%s in %" PRIu32 " stream%s",
                           side == 0 ? "before" : "after", origin,
                           *part != '\0' ? "; only " : "", part, ops, loop ? "," : "",
                           run->timeline.streams, run->timeline.streams == 1 ? "" : "s");
    }
}

static void put_pair(FILE *out, struct sides *sides, const struct writer_style *style)
{
    fputc('\n', out);
    put_gain(out, sides, style);
    put_work(out, sides, style);
    put_sources(out, sides, style);
    fprintf(out, "\n%-*s%*s%*s%*s\n", NAME_COLUMNS, "", FIGURE_COLUMNS, "before",
            FIGURE_COLUMNS, "after", FIGURE_COLUMNS, "change");
    put_times(out, "time", writer_of_round(sides->runs[0], sides->runs[0]->median_ns),
              writer_of_round(sides->runs[1], sides->runs[1]->median_ns));
    put_engines(out, sides);
    fprintf(out, "%-*s%*.2f%*.2f%+*.2f\n", NAME_COLUMNS, "ops at once, mean", FIGURE_COLUMNS,
            sides->runs[0]->analysis.concurrency, FIGURE_COLUMNS,
            sides->runs[1]->analysis.concurrency, FIGURE_COLUMNS,
            sides->runs[1]->analysis.concurrency - sides->runs[0]->analysis.concurrency);
    put_causes(out, sides);
}

enum status view_put_pairs(FILE *out, const struct report *report,
                           const struct writer_style *style)
{
    for (int i = 0; i + 1 < report->run_count; i += 2) {
        struct sides sides = {.runs = {&report->runs[i], &report->runs[i + 1]}};
        bool found = true;
        for (int side = 0; side < 2; side++)
            found &= view_facts_find(&sides.runs[side]->timeline, &sides.runs[side]->critical,
                                     &sides.facts[side], NULL) == STATUS_OK;
        if (found)
            put_pair(out, &sides, style);
        for (int side = 0; side < 2; side++)
            view_facts_free(&sides.facts[side]);
        if (!found)
            return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}
