/* saved.h - makes timelines of the files that this program wrote itself: private to their
 * readers.
 *
 * A file tells of each run where it comes from, and of each op what was known when it ran: its
 * kind, tile, stream, the host's issue, and what a wait waited for. All of that is kept. */
#ifndef PIPELINE_TRACE_SAVED_H
#define PIPELINE_TRACE_SAVED_H

#include "plan/settings.h"
#include "trace/trace.h"

#define SAVED_NONE UINT32_MAX /* no stream, no label */

/* The origin of a run, as its file says. */
struct saved_facts {
    char name[RUN_NAME_MAX];
    char device[TIMELINE_TEXT], driver[TIMELINE_TEXT];
    bool timing_known, issue_unknown, memory_known, pageable;
    bool settled; /* a run of this program's: its streams are numbered from 0 */
    bool busy_known;
    enum timing timing;
    int64_t resolution_ns, launched_ns, limit_ns, busy_ns[ENGINE_WORKING];
    double speedup;   /* 0: not known */
    uint32_t devices; /* 0 stands for 1 */
    enum sharing sharing;
};

/* One op as it stands in the file. */
struct saved_row {
    uint32_t op;
    enum op_kind kind;
    const char *name; /* of a wait or a sync what it waited for: "scale 3" */
    int32_t tile;
    int64_t stream; /* negative: none */
    uint32_t device;
    uint64_t bytes;
    int64_t issue_ns, start_ns, end_ns;
};

/* A text that stands in many rows, kept once. */
struct saved_text {
    uint32_t id;
    char text[];
};
struct saved_texts {
    void *tree; /* of tsearch() */
    struct saved_text **items;
    size_t count, capacity;
};

/* A stream that is not non-blocking. */
struct saved_kind {
    uint32_t stream;
    uint8_t kind;
};

struct saved_run {
    struct saved_facts facts;
    struct span *spans; /* until the end: `target` is a label, `stream` the file's number */
    size_t count, capacity;
    struct saved_texts kernels, labels;
    struct saved_kind *kinds;
    size_t kind_count, kind_capacity;
};

struct saved_builder {
    struct saved_run *runs;
    size_t count, capacity;
};

/* Returns the value of --share that `name` begins with; none where that is no such value. */
enum sharing saved_sharing(const char *name);

/* Adds a run, whose facts the caller then fills. NULL: no memory. Moves those of other runs. */
struct saved_facts *saved_add_run(struct saved_builder *builder);

/* Returns the facts of run `index`. */
struct saved_facts *saved_facts(const struct saved_builder *builder, size_t index);

/* Adds a copy of `row` to run `index`; ops may come in any order, but none twice. STATUS_USAGE:
 * the row can't be, for the reason given without its place. */
enum status saved_add_row(struct saved_builder *builder, size_t index,
                          const struct saved_row *row, struct error *error);

/* Notes that a stream is of a kind: "legacy", "blocking". STATUS_USAGE: there is no such kind.
 */
enum status saved_set_stream_kind(struct saved_builder *builder, size_t index, uint32_t stream,
                                  const char *kind, struct error *error);

/* Returns the kind of op called `name` in files; OP_KIND_COUNT: there is none. */
enum op_kind saved_kind(const char *name);

/* Reads "virtual", "cupti", "events" or "nsys". */
bool saved_timing(const char *name, enum timing *timing);

/* Moves all runs into `traces`, one each. STATUS_USAGE without its place, *index set to the run
 * that is not whole. The builder is empty then. */
enum status saved_finish(struct saved_builder *builder, struct traces *traces, size_t *index,
                         struct error *error);
void saved_free(struct saved_builder *builder);

/* Numbers the streams of a run from 0, in `timeline` and in its spans, and keeps what the file
 * calls them where that is not the same. */
enum status saved_set_streams(struct saved_run *run, struct timeline *timeline,
                              struct error *error);

/* Finds the op that each wait and each sync waited for by its name, as it stands in the file:
 * an event stands for the latest op before it. The spans are in order of their ops. */
enum status saved_set_targets(struct saved_run *run, struct error *error);

/* Sets the timeline's calls of the host, its waits and the memory of its copies, as far as the
 * file tells them. */
enum status saved_set_calls(const struct saved_facts *facts, struct timeline *timeline,
                            struct error *error);

#endif
