/* view_ranks.c - the ranks of one job, a file each: one clock for all, and which of them the
 * others wait for.
 *
 * Kernels of NCCL and RCCL begin as their rank gets there, wait for those of the others, and
 * end together. The shortest is that of the rank that came last, whatever the clocks say. */
#include "core/units.h"
#include "trace/recording.h"
#include "trace/view_parts.h"

#include <inttypes.h>
#include <string.h>

static uint32_t job_rank(const struct view *view, int run)
{
    return view->items[run].trace.recording->rank;
}

/* Returns true if each run is a whole rank of one job. */
static bool are_ranks(const struct view *view)
{
    for (int i = 0; i < view->report.run_count; i++) {
        const struct recording *recording = view->items[i].trace.recording;
        if (recording == NULL || recording->ranks < 2 ||
            recording->ranks != view->items[0].trace.recording->ranks)
            return false;
        for (int k = 0; k < i; k++) {
            if (job_rank(view, k) == recording->rank)
                return false;
        }
    }
    return view->report.run_count > 1;
}

static int64_t begin_ns(const struct view *view, int run)
{
    return view->items[run].trace.origin_ns + view->items[run].trace.from_ns;
}

/* Has the runs' times count from where the first begins. Returns false where their clocks are
 * so far apart that they did not run at the same time. */
static bool set_clocks(struct view *view)
{
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, longest_ns = 0;
    for (int i = 0; i < view->report.run_count; i++) {
        first_ns = earlier(first_ns, begin_ns(view, i));
        last_ns = later(last_ns, begin_ns(view, i));
        longest_ns = later(longest_ns, view->report.runs[i].median_ns);
    }
    if (last_ns - first_ns >= longest_ns)
        return false;
    for (int i = 0; i < view->report.run_count; i++)
        view->report.runs[i].clock_ns = begin_ns(view, i) - first_ns;
    return true;
}

/* Returns the next collective kernel of a run from span *at on, and moves on behind it; NULL:
 * there is none. */
static const struct span *next_collective(const struct timeline *timeline, uint32_t *at)
{
    while (*at < timeline->span_count) {
        const struct span *span = &timeline->spans[(*at)++];
        if (span->kind == OP_KERNEL && span->link < timeline->name_count &&
            strncmp(timeline->names[span->link], "nccl", 4) == 0)
            return span;
    }
    return NULL;
}

/* Says which rank the others wait for, where nearly all that they wait is for one, and the same
 * kernels ended together. */
static void find_late(struct view *view)
{
    struct view_item *ranks = view->items;
    const struct run_report *runs = view->report.runs;
    const int count = view->report.run_count;
    int64_t all_ns = 0, apart_ns = 0;
    int ended = 0, late = 0;
    while (ended == 0) {
        int shortest = 0;
        const char *called = NULL;
        int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, sum_ns = 0, least_ns = INT64_MAX;
        for (int i = 0; i < count; i++) {
            const struct span *span = next_collective(&runs[i].timeline, &ranks[i].looked);
            ended += span == NULL;
            if (span == NULL)
                continue;
            const char *name = runs[i].timeline.names[span->link];
            if (called != NULL && strcmp(called, name) != 0)
                return; /* they are not in step */
            called = name;
            const int64_t length_ns = span->end_ns - span->start_ns;
            shortest = length_ns < least_ns ? i : shortest;
            least_ns = earlier(least_ns, length_ns);
            sum_ns += length_ns;
            first_ns = earlier(first_ns, span->end_ns + runs[i].clock_ns);
            last_ns = later(last_ns, span->end_ns + runs[i].clock_ns);
        }
        if (ended > 0)
            break;
        ranks[shortest].waited_ns += sum_ns - count * least_ns;
        all_ns += sum_ns - count * least_ns;
        apart_ns += (last_ns - first_ns) * (count - 1);
        late = ranks[shortest].waited_ns > ranks[late].waited_ns ? shortest : late;
    }
    static const double MOST = 0.8, LEAST = 0.04, APART = 0.25;
    const double each_ns = (double)ranks[late].waited_ns / (count - 1);
    char time[UNITS_TEXT], others[32] = "the others wait";
    if (ended < count || (double)ranks[late].waited_ns < MOST * (double)all_ns ||
        (double)apart_ns > APART * (double)all_ns ||
        each_ns < LEAST * (double)runs[late].median_ns)
        return;
    if (count == 2)
        snprintf(others, sizeof others, "rank %" PRIu32 " waits", job_rank(view, 1 - late));
    snprintf(view->late, sizeof view->late,
             "%s for rank %" PRIu32
             ", which begins their common kernels last: %s%s, %.0f%% of the time",
             others, job_rank(view, late), units_time((int64_t)each_ns, time),
             count > 2 ? " each" : "", 100 * each_ns / (double)runs[late].median_ns);
    view->report.late = view->late;
}

bool view_join_ranks(struct view *view)
{
    if (!are_ranks(view))
        return false;
    if (set_clocks(view))
        find_late(view);
    for (int i = 0; i < view->report.run_count; i++) {
        snprintf(view->items[i].settings.name, RUN_NAME_MAX, "rank %" PRIu32,
                 job_rank(view, i));
        view_name_part(&view->items[i].trace, view->items[i].settings.name);
    }
    return true;
}
