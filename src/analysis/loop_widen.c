/* loop_widen.c - what belongs to a loop beside the passes of the thread that issues most. */
#include "analysis/loop_kinds.h"

#include <stdlib.h>

bool loop_is_beside(const struct loop_kinds *kinds, const struct span *span,
                    const struct loop_kind *kind, int64_t usual_ns, const uint64_t *names)
{
    const uint64_t name = loop_name_of(kinds, span);
    return op_on_device(span->kind) && span->end_ns - span->start_ns > usual_ns &&
           bsearch(&name, names, kind->ops, sizeof name, loop_compare_names) == NULL;
}

/* One entry says what a thread beside the loop's issued. */
struct helper {
    uint64_t thread;
    uint32_t ops, shared; /* how many, and how many of them are a pass's, too */
    uint32_t ahead;       /* how many began before the loop's first pass */
    int64_t first_ns, last_ns;
    int64_t inside_ns; /* when the first one began that was not ahead */
};

enum { HELPERS_MOST = 64 };

/* Returns the entry of a thread, which may be new; the last one is all others'. */
static struct helper *helper_of(struct helper helpers[HELPERS_MOST], uint64_t thread)
{
    struct helper *helper = helpers;
    while (helper->ops > 0 && helper->thread != thread && helper < helpers + HELPERS_MOST - 1)
        helper++;
    if (helper->ops == 0)
        *helper =
            (struct helper){.thread = thread, .first_ns = INT64_MAX, .inside_ns = INT64_MAX};
    return helper;
}

/* Returns when a thread began to do what the loop does: with its first op, unless it did much
 * less in the time ahead of the loop than in it. */
static int64_t helper_begin_ns(const struct helper *helper, const struct loop *loop)
{
    static const double HALF = 0.5; /* of as many ops in as much time */
    const double ahead_ns = (double)(loop->from_ns - helper->first_ns);
    const double loop_ns = (double)(loop->to_ns - loop->from_ns);
    const double inside = helper->ops - helper->ahead;
    return helper->ahead * loop_ns >= HALF * inside * ahead_ns ? helper->first_ns
                                                               : helper->inside_ns;
}

/* Widens the window to the work of threads that do the same as the loop's. `names` are those of
 * a pass's ops, in order. */
static void take_threads(const struct loop_kinds *kinds, const struct loop_kind *kind,
                         const uint64_t *names, struct loop *loop)
{
    static const double PEER = 0.9; /* of its ops are a pass's */
    const struct timeline *timeline = kinds->timeline;
    struct helper helpers[HELPERS_MOST] = {{.ops = 0}};
    int64_t from_ns = loop->from_ns, to_ns = loop->to_ns;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        const uint64_t thread = loop_thread_of(timeline, span),
                       name = loop_name_of(kinds, span);
        if (!op_on_device(span->kind) || thread == kinds->thread)
            continue;
        struct helper *helper = helper_of(helpers, thread);
        helper->ops++;
        helper->shared +=
            bsearch(&name, names, kind->ops, sizeof name, loop_compare_names) != NULL;
        helper->ahead += span->start_ns < loop->from_ns;
        helper->first_ns = earlier(helper->first_ns, span->start_ns);
        if (span->start_ns >= loop->from_ns)
            helper->inside_ns = earlier(helper->inside_ns, span->start_ns);
        helper->last_ns = later(helper->last_ns, span->end_ns);
    }
    for (int i = 0; i < HELPERS_MOST && helpers[i].ops > 0; i++) {
        const struct helper *helper = &helpers[i];
        if (helper->ops < kind->ops || (double)helper->shared < PEER * (double)helper->ops)
            continue;
        from_ns = earlier(from_ns, helper_begin_ns(helper, loop));
        to_ns = later(to_ns, helper->last_ns);
    }
    loop->from_ns = from_ns;
    loop->to_ns = to_ns;
}

/* Widens the window to ops beside the passes that run across its edges: they hold the passes
 * up, and so are no start-up. `names` are those of a pass's ops. */
static void take_beside(const struct loop_kinds *kinds, const struct loop_kind *kind,
                        const uint64_t *names, struct loop *loop)
{
    const struct timeline *timeline = kinds->timeline;
    const int64_t from_ns = loop->from_ns, to_ns = loop->to_ns;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (span->start_ns >= to_ns || span->end_ns <= from_ns ||
            !loop_is_beside(kinds, span, kind, loop->pass_ns, names))
            continue;
        loop->from_ns = earlier(loop->from_ns, span->start_ns);
        loop->to_ns = later(loop->to_ns, span->end_ns);
    }
}

void loop_widen(const struct loop_kinds *kinds, const struct loop_kind *kind,
                const uint64_t *names, struct loop *loop)
{
    take_threads(kinds, kind, names, loop);
    take_beside(kinds, kind, names, loop);
}
