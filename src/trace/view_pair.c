/* view_pair.c - two files side by side: each run of the one with its partner of the other, and
 * how often each did what both do.
 *
 * A pass of the one may be several of the other: a loop that reads a result back only now and
 * then has longer passes. How many it is, is told by what both ran: kernels of one name by
 * their number, copies by their bytes; where both programs marked their steps, one is one. */
#include "trace/view_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void view_name_part(const struct trace *trace, char name[RUN_NAME_MAX])
{
    char part[RUN_NAME_MAX / 2];
    const char *whole = strstr(trace->part, " of ");
    if (trace->part[0] == '\0')
        return;
    int length = whole != NULL ? (int)(whole - trace->part) : (int)strlen(trace->part);
    int wanted = snprintf(part, sizeof part, " (%.*s)", length < 27 ? length : 27, trace->part);
    size_t used = strlen(name), most = (size_t)(RUN_NAME_MAX - 1 - wanted);
    strcpy(name + (used < most ? used : most), part);
}

/* Returns the run of the second file, which begins at `second`, that `run` is to be compared
 * with: the only one, or the one of the same name; -1: none. */
static int partner_of(const struct view *view, int run, int second)
{
    if (second == 1 && view->report.run_count == 2)
        return 1;
    for (int i = second; i < view->report.run_count; i++) {
        if (strcmp(view->items[i].trace.name, view->items[run].trace.name) == 0)
            return i;
    }
    return -1;
}

static void name_side(struct view_item *item, const char *side, bool several)
{
    char *name = item->settings.name;
    if (several)
        snprintf(name, RUN_NAME_MAX, "%s: %.48s", side, item->trace.name);
    else
        snprintf(name, RUN_NAME_MAX, "%s", side);
    view_name_part(&item->trace, name);
}

/* --- the same work --- */

enum {
    VOTES_MAX = 64,        /* by the kernels that took longest */
    DATA_BYTES = 64 << 10, /* passes that copy less bring results, no data */
};

static const double ALIKE = 0.1;       /* amounts that differ by a smaller part are the same */
static const double MOST = 0.5;        /* of the kernels' time: enough to go by */
static const double SAME_LENGTH = 1.5; /* kernels that differ by less do the same */
static const double FASTER = 4;        /* and the same kernels, by more streams or blocks */

/* How many passes of before are one of after, by the kernels of one name. */
struct vote {
    double passes;
    double weight; /* their share of the time of all kernels, on the side where it is less */
    double longer; /* one of them than on the other side, in the mean: by what factor */
};

static bool is_alike(double x, double y, double apart)
{
    return fabs(x - y) <= apart * fmax(x, y);
}

/* Returns the weight of the votes for about so many passes. */
static double weight_of(const struct vote *votes, int count, double passes, double longer)
{
    double weight = 0;
    for (int i = 0; i < count; i++) {
        if (is_alike(votes[i].passes, passes, ALIKE) && votes[i].longer < longer)
            weight += votes[i].weight;
    }
    return weight;
}

static int collect_votes(const double passes[2], const struct view_facts facts[2],
                         struct vote votes[VOTES_MAX])
{
    int count = 0;
    for (uint32_t i = 0; i < facts[0].name_count && i < VOTES_MAX; i++) {
        for (uint32_t k = 0; k < facts[1].name_count && k < VOTES_MAX; k++) {
            const struct view_name *x = &facts[0].names[i], *y = &facts[1].names[k];
            if (count == VOTES_MAX || x->engine != ENGINE_COMPUTE || y->engine != x->engine ||
                strcmp(x->name, y->name) != 0)
                continue;
            const double x_ns = 1 + (double)x->sum_ns, y_ns = 1 + (double)y->sum_ns,
                         longer = y_ns / y->ops / (x_ns / x->ops);
            votes[count++] =
                (struct vote){y->ops / passes[1] / (x->ops / passes[0]),
                              fmin(x_ns / (1 + (double)facts[0].sum_ns[ENGINE_COMPUTE]),
                                   y_ns / (1 + (double)facts[1].sum_ns[ENGINE_COMPUTE])),
                              fmax(longer, 1 / longer)};
        }
    }
    return count;
}

/* Returns how many passes of before are one of after, and the weight of the votes for that:
 * kernels of which a pass has as many as before may have become faster, up to `faster` times.
 * What a fix leaves is as much as before, so it is one pass unless much more says otherwise. */
static double elect(const struct vote *votes, int count, double faster, double *weight)
{
    const double one = weight_of(votes, count, 1, faster);
    double passes = 1;
    *weight = one;
    for (int i = 0; i < count; i++) {
        const double rival = weight_of(votes, count, votes[i].passes, SAME_LENGTH);
        if (rival > MOST && rival > 2 * one && rival > *weight) {
            *weight = rival;
            passes = votes[i].passes;
        }
    }
    const double whole = passes > 1 ? round(passes) : 1 / round(1 / passes);
    return is_alike(passes, whole, 0.03) ? whole : passes;
}

/* Finds how often a run and the next did the same work, as their traces' `rounds`, and what the
 * second gained. */
static enum status find_rounds(struct run_report runs[2], struct trace *const traces[2],
                               struct error *error)
{
    struct view_facts facts[2] = {{.name_count = 0}, {.name_count = 0}};
    struct vote votes[VOTES_MAX] = {{.weight = 0}};
    double passes[2], bytes[2], ns[2];
    enum status status = STATUS_OK;
    for (int side = 0; side < 2 && status == STATUS_OK; side++) {
        passes[side] = traces[side]->loop.passes > 0 ? traces[side]->loop.passes : 1;
        status =
            view_facts_find(&runs[side].timeline, &runs[side].critical, &facts[side], error);
    }
    const int count = status == STATUS_OK ? collect_votes(passes, facts, votes) : 0;
    for (int side = 0; side < 2; side++)
        view_facts_free(&facts[side]);
    if (status != STATUS_OK)
        return status;
    for (int side = 0; side < 2; side++) {
        const struct engine_use *engines = runs[side].analysis.engines;
        bytes[side] = (double)(engines[ENGINE_H2D].bytes + engines[ENGINE_D2H].bytes);
    }
    const bool data = fmax(bytes[0] / passes[0], bytes[1] / passes[1]) >= DATA_BYTES,
               as_much = is_alike(bytes[0] / passes[0], bytes[1] / passes[1], ALIKE);
    double weight = 1, times = 1;
    if (!(data && as_much) && !(traces[0]->loop.marked && traces[1]->loop.marked))
        times = elect(votes, count, data ? SAME_LENGTH : FASTER, &weight);
    const bool known = weight > MOST;
    traces[0]->rounds = passes[0] / fmax(times, 1);
    traces[1]->rounds = passes[1] * fmin(times, 1);
    for (int side = 0; side < 2; side++) {
        ns[side] = (double)runs[side].median_ns / traces[side]->rounds;
        bytes[side] /= traces[side]->rounds;
    }
    traces[1]->unlike = !known || (data && !is_alike(bytes[0], bytes[1], ALIKE));
    if (!known && fmin(bytes[0], bytes[1]) >= DATA_BYTES)
        traces[1]->by_byte = ns[0] / bytes[0] / (ns[1] / bytes[1]);
    runs[0].speedup = 1;
    runs[1].speedup = known ? ns[0] / ns[1] : NAN;
    return STATUS_OK;
}

enum status view_weigh_pairs(struct view *view, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i + 1 < view->report.run_count && status == STATUS_OK; i += 2) {
        struct trace *traces[] = {&view->items[i].trace, &view->items[i + 1].trace};
        status = find_rounds(&view->report.runs[i], traces, error);
    }
    return status;
}

/* --- pairs --- */

/* Puts each run of the first file before its partner of the second; those without one are left
 * out. */
static enum status pair_runs(struct view *view, int second, struct error *error)
{
    struct view pairs = *view;
    int count = 0, all = view->report.run_count;
    size_t room = 2 * (size_t)all + 1;
    pairs.report.runs = calloc(room, sizeof *pairs.report.runs);
    pairs.items = calloc(room, sizeof *pairs.items);
    bool *taken = calloc(room, sizeof *taken);
    bool there = pairs.report.runs && pairs.items && taken;
    for (int i = 0; i < second && there; i++) {
        int sides[] = {i, partner_of(view, i, second)};
        if (sides[1] < 0 || taken[sides[1]])
            continue;
        for (int side = 0; side < 2; side++, count++) {
            pairs.report.runs[count] = view->report.runs[sides[side]];
            pairs.items[count].trace = view->items[sides[side]].trace;
            name_side(&pairs.items[count], side == 0 ? "before" : "after", all > 2);
            taken[sides[side]] = true;
        }
    }
    for (int i = 0; i < all && there; i++) {
        struct report one = {.runs = &view->report.runs[i], .run_count = 1};
        if (!taken[i])
            report_free(&one);
    }
    free(taken);
    pairs.report.run_count = count;
    pairs.report.paired = true;
    struct view *unused = there ? view : &pairs;
    free(unused->report.runs);
    free(unused->items);
    if (there)
        *view = pairs;
    return there ? STATUS_OK : error_no_memory(error, "to compare");
}

/* Adds to the names of a pair how many passes each has, where that differs: totals and pictures
 * are of these. */
static void name_passes(struct view_item pair[2])
{
    const uint32_t passes[] = {pair[0].trace.loop.passes, pair[1].trace.loop.passes};
    for (int side = 0; side < 2 && !is_alike(passes[0], passes[1], ALIKE); side++) {
        char *name = pair[side].settings.name;
        if (passes[side] > 0)
            text_add(name, RUN_NAME_MAX, "", " (%" PRIu32 " passes)", passes[side]);
    }
}

enum status view_compare_files(struct view *view, const struct options *options, int second,
                               struct error *error)
{
    enum status status = pair_runs(view, second, error);
    if (status == STATUS_OK && view->report.run_count == 0)
        status =
            error_set(error, STATUS_USAGE,
                      "--before=%.96s and --after=%.96s have no run of one name to compare",
                      options->before, options->after);
    for (int i = 0; i < view->report.run_count && status == STATUS_OK; i++) {
        const bool before = i % 2 == 0;
        if (view->report.runs[i].median_ns == 0)
            status = error_set(
                error, STATUS_USAGE, "--%s=%.96s: nothing ran there that could be compared",
                before ? "before" : "after", before ? options->before : options->after);
    }
    if (status == STATUS_OK)
        status = view_weigh_pairs(view, error);
    for (int i = 0; i + 1 < view->report.run_count && status == STATUS_OK; i += 2)
        name_passes(&view->items[i]);
    return status;
}
