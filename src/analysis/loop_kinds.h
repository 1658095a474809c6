/* loop_kinds.h - the kinds of passes that a timeline may be made of: private to the files that
 * find the loop. */
#ifndef PIPELINE_ANALYSIS_LOOP_KINDS_H
#define PIPELINE_ANALYSIS_LOOP_KINDS_H

#include "analysis/loop.h"

enum { LOOP_KINDS_MOST = 32 }; /* that are compared in the end */

/* An op of the thread that issues most of them, in order of issue. */
struct loop_item {
    uint64_t name;     /* the same for ops that are the same */
    uint64_t sum;      /* of the names before it */
    int64_t border_ns; /* when a pass that begins with it does: when all before it has ended,
                          and at its start at the latest; of the first op, when it is issued */
    int64_t issue_ns;  /* the same for the ops of one launch of a graph; not of calls */
    int64_t start_ns;
    int64_t ended_ns; /* when it and all before it have ended */
};

/* A kind of pass: all that have the same ops. */
struct loop_kind {
    uint64_t sum; /* of its ops' names */
    uint32_t ops, passes;
    uint32_t place;   /* of its first pass's mark */
    uint64_t covered; /* ops, by its passes */
};

/* Passes, one behind the other, as places of items, with what lies between them. */
struct loop_stretch {
    uint32_t first, end;
    uint32_t passes;   /* how many */
    int64_t unlike_ns; /* what something else took that lies between */
};

struct loop_kinds {
    const struct timeline *timeline;
    uint32_t *templates; /* per name: that of its template; NULL: names are as they are */
    uint64_t thread;     /* that issues the ops */
    const struct host_call **loads; /* per kernel's name: the launch that loaded its code;
                                       NULL: none did */
    struct loop_item *items;
    uint32_t count;
    struct loop_kind kinds[LOOP_KINDS_MOST];
    uint32_t kind_count;
    struct arena arena; /* what has these tables */
};

/* Lists a timeline's ops, and the kinds of passes that cover most of them. With `by_template`
 * all kernels of one template are the same: a library takes this or that one of them for the
 * same work. O(n log n). Returns false when memory runs out; the arena is to be freed in
 * any case. */
bool loop_kinds_find(struct loop_kinds *kinds, const struct timeline *timeline,
                     bool by_template);

/* Returns a number that is the same for ops that are the same. */
uint64_t loop_name_of(const struct loop_kinds *kinds, const struct span *span);

/* Returns the thread that issued an op; 0 where that is not known. */
uint64_t loop_thread_of(const struct timeline *timeline, const struct span *span);

/* Returns when what lies before item `place` is over: when it begins or, at the end, when all
 * has ended. */
int64_t loop_border_ns(const struct loop_kinds *kinds, uint32_t place);

static inline int64_t loop_stretch_ns(const struct loop_kinds *kinds,
                                      const struct loop_stretch *stretch)
{
    return loop_border_ns(kinds, stretch->end) - loop_border_ns(kinds, stretch->first);
}

static inline int64_t loop_pass_ns(const struct loop_kinds *kinds, const struct loop_kind *kind,
                                   uint32_t place)
{
    return loop_border_ns(kinds, place + kind->ops) - loop_border_ns(kinds, place);
}

/* Returns true if a pass of that kind begins at item `place`. */
bool loop_is_pass(const struct loop_kinds *kinds, const struct loop_kind *kind, uint32_t place);

/* Returns true if the host makes a graph or a library's handle in a kind of pass. */
bool loop_makes_anew(const struct loop_kinds *kinds, const struct loop_kind *kind);

/* Compares names, for qsort(); puts those of a pass's ops in order: `names` has room for them.
 */
int loop_compare_names(const void *a, const void *b);
void loop_sort_names(const struct loop_kinds *kinds, const struct loop_kind *kind,
                     uint64_t *names);

/* Returns true if an op is none of a pass's, and takes longer than a pass does. `names` are
 * those of a pass's ops, in order. */
bool loop_is_beside(const struct loop_kinds *kinds, const struct span *span,
                    const struct loop_kind *kind, int64_t usual_ns, const uint64_t *names);

/* Leaves out the first passes of a stretch, up to half of all, up to the last in
 * which loading code takes long, and as long as they or the one behind took longer than the
 * median, usual_ns: what the host did before its first pass came before all of it. Those stay
 * that something else on the device may have held up. `names` are those of a pass's ops. */
void loop_leave_first(const struct loop_kinds *kinds, const struct loop_kind *kind,
                      int64_t usual_ns, const uint64_t *names, struct loop_stretch *stretch);

/* Widens the window of a loop to what other threads did that do the same, and to ops beside the
 * passes that take longer than loop->pass_ns and hold them up. */
void loop_widen(const struct loop_kinds *kinds, const struct loop_kind *kind,
                const uint64_t *names, struct loop *loop);

/* Finds the loop's window, and how many steps it has, where the program marked at least
 * LOOP_PASSES_MIN steps that have most ops; else *loop stays. Returns false when memory runs
 * out. */
bool loop_steps_find(const struct timeline *timeline, struct loop *loop);

#endif
