/* cause.c - finds what is marked in every picture of a run, and says in one line what a run,
 * and a picture of runs, shows. */
#include "writers/cause.h"

#include "core/units.h"
#include "trace/trace.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- marks --- */

/* A run of a sweep keeps no spans. */
static void find_gaps(const struct run_report *run, struct marks *marks)
{
    const struct losses *lost = &run->verdicts.lost;
    for (uint32_t i = 0; i < lost->count; i++) {
        if (lost->items[i].at.span < run->timeline.span_count)
            marks->gaps[marks->gap_count++] = &lost->items[i];
    }
}

/* Sets for each op up to the last that races, by its id, whether it does. */
static enum status find_races(const struct run_report *run, struct marks *marks)
{
    for (size_t i = 0; i < run->hazard_count && run->hazards != NULL; i++) {
        const uint32_t sides[] = {run->hazards[i].first, run->hazards[i].second};
        for (int side = 0; side < 2; side++)
            if (sides[side] != SPAN_NONE && sides[side] >= marks->ops) /* it is drawn */
                marks->ops = sides[side] + 1;
    }
    if (marks->ops == 0)
        return STATUS_OK;
    marks->races = calloc(marks->ops, sizeof *marks->races);
    if (marks->races == NULL)
        return STATUS_NO_MEMORY;
    for (size_t i = 0; i < run->hazard_count; i++) {
        const uint32_t sides[] = {run->hazards[i].first, run->hazards[i].second};
        for (int side = 0; side < 2; side++)
            if (sides[side] != SPAN_NONE)
                marks->races[sides[side]] = true;
    }
    return STATUS_OK;
}

/* Returns for how long two or more ops of one engine, in order of start, ran at once. */
static int64_t side_by_side_ns(struct span **spans, size_t count)
{
    int64_t end_ns = 0, counted_ns = 0, sum_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t until_ns = earlier(end_ns, spans[i]->end_ns);
        sum_ns += later(0, until_ns - later(spans[i]->start_ns, counted_ns));
        counted_ns = later(counted_ns, until_ns);
        end_ns = later(end_ns, spans[i]->end_ns);
    }
    return sum_ns;
}

static enum status find_rows(const struct timeline *timeline, struct marks *marks)
{
    enum { SEEN_PARTS = 25 };
    const uint32_t devices = timeline_devices(timeline);
    struct span **spans = malloc((timeline->span_count + (size_t)1) * sizeof *spans);
    for (uint32_t device = 0; device < devices && spans != NULL; device++) {
        const struct resource engine = {ENGINE_COMPUTE, device, 0};
        bool *one_row = &marks->one_row[resource_number(engine, devices)];
        const size_t count = timeline_engine_spans(timeline, engine, spans);
        for (size_t k = 0; k < count; k++)
            *one_row |= spans[k]->lane > 0;
        *one_row &= side_by_side_ns(spans, count) <= timeline_time_ns(timeline) / SEEN_PARTS;
    }
    free(spans);
    return spans != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status writer_find_marks(const struct run_report *run, struct marks *marks)
{
    enum { ISSUE_MAX = 128 };
    *marks = (struct marks){.issue = run->other_order_ns > 0 && run->settings->order_given &&
                                     run->timeline.span_count <= ISSUE_MAX};
    find_gaps(run, marks);
    const enum status status = find_rows(&run->timeline, marks);
    return status == STATUS_OK ? find_races(run, marks) : status;
}

const char *writer_cause_text(const struct verdicts *verdicts, enum verdict_code code)
{
    enum { LARGE = 10 }; /* a part of the time that is not too small to be named */
    const bool rest = code == VERDICT_REST && verdicts->count > 0;
    const int64_t rest_ns = rest ? verdicts->items[verdicts->count - 1].cost_ns : 0;
    return rest && (verdicts->data_ns > 0 || verdicts->stays_ns > 0)
               ? "the rest: no loss that a change of calls would avoid"
           : rest_ns > verdicts->time_ns / LARGE ? "the rest: what no cause is named for"
                                                 : verdict_rows[code].text;
}

bool writer_is_urgent(const struct run_report *run, uint32_t stream)
{
    const struct settings *settings = run->settings;
    const int *priorities = settings->priorities;
    uint32_t count = (uint32_t)settings->priority_count;
    if (count == 0 || run->foreign)
        return false;
    int most = priorities[0], least = priorities[0];
    for (uint32_t i = 1; i < count && i < run->streams; i++) {
        most = priorities[i] < most ? priorities[i] : most; /* less is more urgent */
        least = priorities[i] > least ? priorities[i] : least;
    }
    return most < least && priorities[stream % count] == most;
}

/* --- messages --- */

enum { NAME_COLUMNS = 40, NAME_TEXT = 4 * NAME_COLUMNS + 4 };
static const double LITTLE = 0.96; /* a time above that part of another gains little on it */
static const double ALIKE = 1.02;  /* runs whose times differ by less take about the same */

const struct writer_bound writer_bounds[] = {
    [LIMIT_COPIES] = {"the copies", "allow"},
    [LIMIT_COMPUTE] = {"the kernels", "allow"},
    [LIMIT_CPU] = {"the CPU", "allows"},
    [LIMIT_HOST] = {"the host's memory", "allows"},
    [LIMIT_SWITCH] = {"the switch's link", "allows"},
    [LIMIT_PEER] = {"the links between devices", "allow"},
};

static const struct verdict *main_verdict(const struct run_report *run)
{
    return run->verdicts.named > 0 ? &run->verdicts.items[0] : NULL;
}

/* The best of several fixes is named by settings or, of another program's, by causes. */
static const char *with_best(const struct run_report *run)
{
    return run->foreign ? "without" : "with";
}

/* Returns true if a list of causes, "a, b and c", has this one. */
static bool has_cause(const char *causes, const char *name)
{
    const size_t length = strlen(name);
    while (*causes != '\0') {
        const size_t word = strcspn(causes, " ,");
        if (word == length && strncmp(causes, name, length) == 0)
            return true;
        causes += word;
        causes += strspn(causes, " ,");
    }
    return false;
}

/* Writes what the first cause cost, and what the fix would bring: a `title` says the cause in
 * words, for nothing beside it explains a name. */
static void put_cause(const struct run_report *run, const struct verdict *first, bool title,
                      char text[MESSAGE_TEXT])
{
    const struct verdict_row *row = &verdict_rows[first->code];
    const struct verdicts *verdicts = &run->verdicts;
    char cost[UNITS_TEXT], time[UNITS_TEXT], fixed[WRITER_ABOUT], best[WRITER_ABOUT];
    units_time(first->cost_ns, cost);
    units_time(verdicts->time_ns, time);
    writer_about(first->predicted_ns, &first->prospect, fixed);
    writer_about(verdicts->best_ns, &verdicts->best_prospect, best);
    /* That option means nothing to a program of the reader's own. */
    const bool mistake = strncmp(first->command, "--mistake=", 10) == 0;
    bool more = verdicts->best_ns > 0 &&
                (double)verdicts->best_ns < LITTLE * (double)first->predicted_ns;
    /* Fixes of other causes alone are no answer to this one. */
    const bool all =
        verdicts->best[0] != '\0' && (!run->foreign || has_cause(verdicts->best, row->name));
    if (first->cost_ns == 0 && first->predicted_ns == 0)
        snprintf(text, MESSAGE_TEXT, "%s%s%s", title ? "" : row->name, title ? "" : ": ",
                 row->text);
    else if (title)
        snprintf(text, MESSAGE_TEXT, "%s of %s lost: %s", cost, time, row->text);
    else if (first->predicted_ns > 0)
        snprintf(text, MESSAGE_TEXT,
                 "%s costs %s of %s; with %s%s%s%s it would take %s%s%s%s%s%s%s", row->name,
                 cost, time, first->command[0] != '\0' ? first->command : "the fix",
                 mistake ? " (" : "", mistake ? row->fix : "", mistake ? ")" : "", fixed,
                 more ? "; " : "", more ? with_best(run) : "", more ? " " : "",
                 more ? verdicts->best : "", more ? " " : "", more ? best : "");
    else
        snprintf(text, MESSAGE_TEXT, "%s costs %s of %s: %s%s%s%s%s%s%s", row->name, cost, time,
                 row->text, all ? "; " : "", all ? with_best(run) : "", all ? " " : "",
                 all ? verdicts->best : "", all ? " it would take " : "", all ? best : "");
}

/* Writes what little the best settings would bring, where no cause is worth a name: a `title`
 * has no room for how sure that is. */
static void put_best(const struct run_report *run, bool title, char text[MESSAGE_TEXT])
{
    const struct verdicts *verdicts = &run->verdicts;
    char time[UNITS_TEXT], best[WRITER_ABOUT];
    bool little = (double)verdicts->best_ns > LITTLE * (double)verdicts->time_ns;
    snprintf(text, MESSAGE_TEXT, "%s: it takes %s; %s %s it would take %s",
             little ? "little is to be gained" : "no cause stands out, but several add up",
             units_time(verdicts->time_ns, time), with_best(run), verdicts->best,
             title ? units_time(verdicts->best_ns, best)
                   : writer_about(verdicts->best_ns, &verdicts->best_prospect, best));
}

void writer_run_message(const struct run_report *run, bool title, char text[MESSAGE_TEXT])
{
    const struct verdicts *verdicts = &run->verdicts;
    const struct verdict *first = main_verdict(run);
    bool fixable = first != NULL && first->code != VERDICT_SHORT_RUN;
    text[0] = '\0';
    if (run->verified == VERIFIED_NO)
        snprintf(text, MESSAGE_TEXT, "WRONG RESULT%s%s", first != NULL ? ": " : "",
                 first != NULL ? verdict_rows[first->code].text : "");
    else if (first != NULL && first->code == VERDICT_MISSING_WAIT)
        snprintf(text, MESSAGE_TEXT, "%s%s%s; another run may give another result",
                 title ? "" : "missing-wait",
                 first->evidence != EVIDENCE_LIKELY ? title ? "" : ": "
                 : title                            ? "likely: "
                                                    : " (likely): ",
                 verdict_rows[first->code].text);
    else if (fixable)
        put_cause(run, first, title, text);
    else if (verdicts->best_ns > 0)
        put_best(run, title, text);
    else if (verdicts->count > 0 && verdicts->limit_known)
        snprintf(text, MESSAGE_TEXT, "%s: %.0f%% of what %s %s%s",
                 verdicts->modelled_ns == 0 ? "no single cause is worth naming"
                 : run->foreign             ? "no fix was found"
                                            : "no better setting was found",
                 100 * (double)verdicts->limit_ns / (double)verdicts->time_ns,
                 writer_bounds[verdicts->bound].name, writer_bounds[verdicts->bound].allows,
                 first != NULL           ? "; a larger array would come nearer"
                 : verdicts->data_ns > 0 ? "; the data asks for more: each result is the next "
                                           "input"
                                         : "");
    else if (verdicts->count > 0)
        snprintf(text, MESSAGE_TEXT, "nothing to fix was found");
    if (title)
        text[0] = (char)toupper((unsigned char)text[0]);
}

/* The runs of a report that are compared: the same work on the same device. */
struct group {
    const struct run_report *first, *last, *fastest, *slowest;
    int count;
};

static bool belongs(const struct run_report *run, const struct run_report *first)
{
    return run->verified != VERIFIED_NO && run->elements == first->elements &&
           report_is_comparable(run, first) && !run->foreign;
}

static int64_t time_of(const struct run_report *run)
{
    return writer_of_round(run, run->median_ns);
}

static double ratio_of(const struct group *group)
{
    if (group->count < 2 || time_of(group->fastest) <= 0)
        return 0;
    return (double)time_of(group->slowest) / (double)time_of(group->fastest);
}

/* Finds the group in which runs differ most. */
static struct group find_group(const struct report *report)
{
    struct group best = {0};
    for (int i = 0; i < report->run_count; i++) {
        const struct run_report *first = &report->runs[i];
        struct group group = {first, first, first, first, 0};
        for (int k = 0; k < report->run_count; k++) {
            const struct run_report *run = &report->runs[k];
            if (!belongs(run, first) || !belongs(first, first))
                continue;
            if (k < i)
                break; /* it was the first of this group */
            group.count++;
            group.last = run;
            group.fastest = run->median_ns < group.fastest->median_ns ? run : group.fastest;
            group.slowest = run->median_ns > group.slowest->median_ns ? run : group.slowest;
        }
        if (ratio_of(&group) > ratio_of(&best))
            best = group;
    }
    return best;
}

/* Finds the pair, of one run before a change and one after it, that differs most. */
static struct group find_pair(const struct report *report)
{
    struct group best = {0};
    for (int i = 0; i + 1 < report->run_count; i += 2) {
        const struct run_report *before = &report->runs[i], *after = before + 1;
        bool slower = time_of(after) > time_of(before);
        struct group pair = {before, after, slower ? before : after, slower ? after : before,
                             2};
        if (best.count == 0 || ratio_of(&pair) > ratio_of(&best))
            best = pair;
    }
    return best;
}

static const char *name_of(const struct run_report *run, char text[NAME_TEXT])
{
    /* A point of a sweep without config files, "run streams=4", is shown as "streams=4". */
    const char *name = run->settings->name;
    name += strncmp(name, "run ", 4) == 0 && strchr(name, '=') != NULL ? 4 : 0;
    return writer_fit(text, NAME_TEXT, name, NAME_COLUMNS);
}

static void put_comparison(const struct group *group, char text[MESSAGE_TEXT])
{
    const struct run_report *fast = group->fastest;
    const struct run_report *slow = fast == group->first ? group->slowest : group->first;
    char fast_name[NAME_TEXT], slow_name[NAME_TEXT], cost[UNITS_TEXT];
    const struct verdict *verdict = main_verdict(slow);
    snprintf(text, MESSAGE_TEXT, "%s is %.2fx as fast as %s", name_of(fast, fast_name),
             (double)time_of(slow) / (double)time_of(fast), name_of(slow, slow_name));
    if (verdict != NULL && verdict->cost_ns > 0)
        text_add(text, MESSAGE_TEXT, ", ", "which lost %s because %s",
                 units_time(verdict->cost_ns, cost), verdict_rows[verdict->code].text);
}

void writer_message(const struct report *report, char text[MESSAGE_TEXT])
{
    char name[NAME_TEXT], time[UNITS_TEXT], answer[MESSAGE_TEXT];
    snprintf(text, MESSAGE_TEXT, "%s",
             report->message != NULL ? report->message
             : report->late != NULL  ? report->late
                                     : "");
    if (text[0] != '\0')
        return;
    EACH (const struct run_report, run, report->runs, report->run_count) {
        if (run->verified != VERIFIED_NO)
            continue;
        writer_run_message(run, true, answer);
        snprintf(text, MESSAGE_TEXT, "%.200s: %.300s", name_of(run, name), answer);
        return;
    }
    if (report->run_count == 1) {
        writer_run_message(&report->runs[0], true, text);
        return;
    }
    const struct trace *second = report->run_count == 2 ? report->runs[1].trace : NULL;
    const bool pairs = report->paired || (second != NULL && second->rounds > 0);
    struct group group = pairs ? find_pair(report) : find_group(report);
    if (group.count > 0 && group.last->trace != NULL && group.last->trace->unlike) {
        char before[UNITS_TEXT];
        snprintf(text, MESSAGE_TEXT, "%s takes %s instead of %s, maybe for different work",
                 name_of(group.last, name), units_time(time_of(group.last), time),
                 units_time(time_of(group.first), before));
        return;
    }
    if (ratio_of(&group) >= ALIKE)
        put_comparison(&group, text);
    else if (group.count > 2 && group.count == report->run_count)
        snprintf(text, MESSAGE_TEXT, "All %d runs take about the same time, %s", group.count,
                 units_time(group.first->median_ns, time));
    else if (group.count > 1)
        snprintf(text, MESSAGE_TEXT, "%s takes about as long as %s, %s",
                 name_of(group.last, answer), name_of(group.first, name),
                 units_time(time_of(group.last), time));
}
