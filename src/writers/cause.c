/* cause.c - finds what is marked in every picture of a run. */
#include "writers/cause.h"

#include "core/bisect.h"

#include <stdlib.h>

/* A gap of less of the run's time can't be seen. */
enum { SEEN_PARTS = 1000 };
/* A pause of less than this part of an op is only a moment. */
enum { MOMENTS = 4 };
static const double ABOUT = 1.05;

/* When a call of the host began, and when it and all before it had returned. */
struct call_time {
    int64_t start_ns, until_ns;
};

/* The search for the idle stretch of an engine that a cause made. */
struct search {
    const struct run_report *run;
    const struct timeline *timeline;
    struct span **spans;      /* room for those of one engine */
    int64_t start_ns, end_ns; /* the stretch overlaps this time */
    bool trailing;            /* a stretch that nothing ended counts, too */
    bool only_own;            /* only the stretch before the span itself */
    uint32_t holders;         /* what ended the stretch was held in one of these ways; 0: any */
    uint32_t calls;           /* kinds of calls; 0: any. The stretch overlaps one of them */
    struct call_time *times;  /* room for all spans; of all such calls, in order of start */
    size_t time_count;
    int64_t overlap_ns; /* of the best that was found */
    struct gap *best;
    uint32_t found; /* the best's span */
};

static uint32_t index_of(const struct search *search, const struct span *span)
{
    return (uint32_t)(span - search->timeline->spans);
}

static int compare_calls(const void *a, const void *b)
{
    const struct call_time *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Sets the times of the host's calls of `kinds`. */
static void set_calls(struct search *search, uint32_t kinds)
{
    const struct timeline *timeline = search->timeline;
    search->calls = kinds;
    search->time_count = 0;
    struct call_time *times = search->times;
    if (kinds == 0)
        return;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (kinds >> span->kind & 1)
            times[search->time_count++] = (struct call_time){span->start_ns, span->end_ns};
    }
    qsort(times, search->time_count, sizeof *times, compare_calls);
    for (size_t i = 1; i < search->time_count; i++)
        times[i].until_ns = later(times[i].until_ns, times[i - 1].until_ns);
}

static bool overlaps_call(const struct search *search, int64_t start_ns, int64_t end_ns)
{
    struct bisect calls =
        bisect_in(0, search->time_count); /* those that begin before the end */
    while (bisect_asks(&calls))
        bisect_tell(&calls, search->times[calls.at].start_ns < end_ns);
    return search->calls == 0 ||
           (calls.at > 0 && search->times[calls.at - 1].until_ns > start_ns);
}

/* Returns true if a stretch may be what is looked for. `ended` says whether `span` ended it, or
 * went before it. A moment's pause beside a long op is not what kept engines idle. */
static bool is_candidate(const struct search *search, int64_t start_ns, int64_t end_ns,
                         const struct span *span, bool ended)
{
    uint32_t index = index_of(search, span);
    enum held_by by = search->run->critical.holds[index].by;
    int64_t length_ns = end_ns - start_ns, searched_ns = search->end_ns - search->start_ns;
    if (search->only_own)
        return ended && index == search->best->span;
    if (search->holders != 0)
        return ended && (search->holders >> by & 1) && overlaps_call(search, start_ns, end_ns);
    return length_ns >= searched_ns / MOMENTS || (ended && index == search->best->span);
}

/* Takes an idle stretch if it overlaps more of the time than the best so far, or as much and is
 * longer; of about equals the first. */
static void judge_stretch(struct search *search, int64_t start_ns, int64_t end_ns,
                          const struct span *span, bool ended)
{
    int64_t overlap_ns = earlier(end_ns, search->end_ns) - later(start_ns, search->start_ns);
    bool longer = overlap_ns == search->overlap_ns &&
                  (double)(end_ns - start_ns) >
                      ABOUT * (double)(search->best->end_ns - search->best->start_ns);
    bool closer = (double)overlap_ns > ABOUT * (double)search->overlap_ns;
    if (overlap_ns <= 0 || (!closer && !longer) ||
        !is_candidate(search, start_ns, end_ns, span, ended))
        return;
    search->overlap_ns = overlap_ns;
    search->best->start_ns = start_ns;
    search->best->end_ns = end_ns;
    search->found = index_of(search, span);
}

static void search_engine(struct search *search, struct resource engine)
{
    size_t count = timeline_engine_spans(search->timeline, engine, search->spans);
    int64_t until_ns = 0;
    const struct span *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct span *span = search->spans[i];
        if (span->start_ns > until_ns)
            judge_stretch(search, until_ns, span->start_ns, span, true);
        if (last == NULL || span->end_ns > until_ns)
            last = span;
        until_ns = later(until_ns, span->end_ns);
    }
    int64_t time_ns = timeline_time_ns(search->timeline);
    if (last != NULL && until_ns < time_ns && search->trailing)
        judge_stretch(search, until_ns, time_ns, last, false);
}

/* Searches that engine of every device. */
static void search_engines_of(struct search *search, enum engine kind)
{
    const uint32_t engines = timeline_engines(search->timeline, kind);
    for (uint32_t device = 0; device < engines; device++)
        search_engine(search, (struct resource){kind, device, 0});
}

/* Searches the engines that bound the run, also for stretches that nothing ended, and, where
 * these have no such stretch, the others. */
static bool search_engines(struct search *search)
{
    enum limit_cause bound = search->run->verdicts.bound;
    const bool copies = bound == LIMIT_COPIES || limit_is_shared(bound);
    bool bounds[ENGINE_WORKING] = {
        [ENGINE_H2D] = copies,
        [ENGINE_D2H] = copies,
        [ENGINE_PEER] = bound == LIMIT_PEER,
        [ENGINE_COMPUTE] = bound == LIMIT_COMPUTE,
        [ENGINE_CPU] = bound == LIMIT_CPU,
    };
    for (int pass = 0; pass < 3 && search->overlap_ns == 0; pass++) {
        search->trailing = pass > 0;
        for (enum engine kind = 0; kind < ENGINE_WORKING; kind++) {
            if (bounds[kind] == (pass < 2))
                search_engines_of(search, kind);
        }
    }
    if (search->overlap_ns > 0)
        search->best->span = search->found;
    return search->overlap_ns > 0;
}

/* Returns true if a cause is the op itself, which takes longer than it should. */
static bool is_slowness(const struct run_report *run, enum verdict_code code,
                        const struct span *span)
{
    const struct verdict_row *row = &verdict_rows[code];
    const bool batch = run->settings != NULL && run->settings->issue == ISSUE_BATCH;
    const uint32_t slow = row->marks[MARKED_SLOW] | (batch ? row->marks[MARKED_BATCH] : 0);
    return row->kind == CAUSE_WORK || (slow >> span->kind & 1);
}

/* The ways in which ops wait for a kind of cause, a bit each; 0: in none. */
static const uint32_t holders[] = {
    [CAUSE_HOST] = 1U << HELD_BY_ISSUE | 1U << HELD_BY_CALL,
    [CAUSE_ORDER] = 1U << HELD_BY_STREAM | 1U << HELD_BY_EVENT,
    [CAUSE_BARRIER] = 1U << HELD_BY_LEGACY | 1U << HELD_BY_BARRIER,
    [CAUSE_QUEUE] = 1U << HELD_BY_QUEUE,
    [CAUSE_SIGNAL] = 1U << HELD_BY_SIGNAL,
    [CAUSE_LIMIT] = 0,
};

/* Finds the longest of the host's calls of these kinds. */
static bool find_call(const struct search *search)
{
    struct gap *gap = search->best;
    for (uint32_t i = 0; i < search->timeline->span_count; i++) {
        const struct span *span = &search->timeline->spans[i];
        if (!(search->calls >> span->kind & 1) ||
            span->end_ns - span->start_ns <= gap->end_ns - gap->start_ns)
            continue;
        *gap = (struct gap){gap->code, span->start_ns, span->end_ns, i};
    }
    return gap->end_ns > gap->start_ns;
}

/* Finds the time for which an op that was ready kept its own idle engine waiting. */
static bool find_own(struct search *search, const struct span *span, const struct hold *hold)
{
    bool queued = hold->by == HELD_BY_SIGNAL || hold->by == HELD_BY_QUEUE;
    if (!queued || span->engine >= ENGINE_WORKING)
        return false;
    search->only_own = true;
    search->start_ns = earlier(hold->ready_ns, hold->free_ns);
    search_engine(search, span_resource(span));
    search->only_own = false;
    search->best->start_ns = later(search->best->start_ns, search->start_ns);
    return search->overlap_ns > 0;
}

/* Finds the gap of a cause that names no op: the longest stretch that ended as such a cause
 * ends one. With few tiles that is the beginning or the end of an engine that has nothing to
 * do. */
static bool find_nameless(struct search *search)
{
    enum verdict_code code = search->best->code;
    search->holders = holders[verdict_rows[code].kind];
    search->start_ns = 0;
    search->end_ns = timeline_time_ns(search->timeline);
    set_calls(search, verdict_rows[code].marks[MARKED_CALL]);
    if (verdict_rows[code].kind != CAUSE_ENDS)
        return search->holders != 0 && (search_engines(search) || find_call(search));
    search->trailing = true;
    search->end_ns = 1; /* any stretch is long against it */
    search_engines_of(search, ENGINE_D2H);
    search->best->span = search->found;
    return search->overlap_ns > 0;
}

static bool find_gap(struct search *search, const struct verdict *verdict)
{
    *search->best = (struct gap){.code = verdict->code, .span = verdict->span};
    search->holders = 0;
    if (verdict->span >= search->timeline->span_count ||
        verdict_rows[verdict->code].kind == CAUSE_ENDS)
        return find_nameless(search);
    const struct span *span = &search->timeline->spans[verdict->span];
    const struct hold *hold = &search->run->critical.holds[verdict->span];
    search->end_ns = span->end_ns;
    if (is_slowness(search->run, verdict->code, span)) {
        *search->best =
            (struct gap){verdict->code, span->start_ns, span->end_ns, verdict->span};
        return true;
    }
    if (find_own(search, span, hold))
        return true;
    search->start_ns = earlier(span->start_ns, hold->free_ns);
    search->overlap_ns = 0;
    *search->best = (struct gap){.code = verdict->code, .span = verdict->span};
    return search_engines(search);
}

enum status writer_find_gaps(const struct run_report *run, struct gap gaps[GAPS_MAX],
                             int *found)
{
    const struct timeline *timeline = &run->timeline;
    struct search search = {.run = run, .timeline = timeline};
    int count = *found = 0;
    if (run->critical.holds == NULL || timeline->span_count == 0 || run->verdicts.named == 0)
        return STATUS_OK;
    search.spans = malloc(timeline->span_count * sizeof(struct span *));
    search.times = malloc(timeline->span_count * sizeof *search.times);
    bool room = search.spans != NULL && search.times != NULL;
    for (int i = 0; i < run->verdicts.named && count < GAPS_MAX && room; i++) {
        const struct verdict *verdict = &run->verdicts.items[i];
        struct gap *gap = &gaps[count];
        search.best = gap;
        search.overlap_ns = 0;
        if ((verdict_rows[verdict->code].traits & NO_PLACE) || !find_gap(&search, verdict))
            continue;
        bool seen = gap->end_ns - gap->start_ns > timeline_time_ns(timeline) / SEEN_PARTS;
        bool again =
            count > 0 && gap->start_ns < gaps[0].end_ns && gap->end_ns > gaps[0].start_ns;
        count += seen && !again;
    }
    free(search.spans);
    free(search.times);
    *found = count;
    return room ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status writer_find_races(const struct run_report *run, bool **found, uint32_t *count)
{
    *count = 0;
    for (size_t i = 0; i < run->hazard_count && run->hazards != NULL; i++) {
        const struct hazard *hazard = &run->hazards[i];
        uint32_t last = hazard->first > hazard->second ? hazard->first : hazard->second;
        *count = last >= *count ? last + 1 : *count;
    }
    bool *races = *count > 0 ? calloc(*count, sizeof *races) : NULL;
    for (size_t i = 0; i < run->hazard_count && races != NULL; i++)
        races[run->hazards[i].first] = races[run->hazards[i].second] = true;
    enum status status = races != NULL || *count == 0 ? STATUS_OK : STATUS_NO_MEMORY;
    *count = races != NULL ? *count : 0;
    *found = races;
    return status;
}

enum status writer_find_marks(const struct run_report *run, struct marks *marks)
{
    enum status status = writer_find_gaps(run, marks->gaps, &marks->gap_count);
    enum status other = writer_find_races(run, &marks->races, &marks->ops);
    if (status == STATUS_OK && other == STATUS_OK)
        return STATUS_OK;
    free(marks->races);
    return STATUS_NO_MEMORY;
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
