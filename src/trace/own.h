/* own.h - makes timelines of the files that this program wrote itself: private to their
 * readers.
 *
 * A file tells of each run where it comes from, and of each op what was known when it ran: its
 * kind, tile, stream, the host's issue, and what a wait waited for. All of that is kept. */
#ifndef PIPELINE_TRACE_OWN_H
#define PIPELINE_TRACE_OWN_H

#include "plan/settings.h"
#include "trace/trace.h"

#define OWN_NONE UINT32_MAX /* no stream, no label */

/* The origin of a run, as its file says. */
struct own_facts {
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
struct own_row {
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
struct own_text {
    uint32_t id;
    char text[];
};
struct own_texts {
    void *tree; /* of tsearch() */
    struct own_text **items;
    size_t count, capacity;
};

/* A stream that is not non-blocking. */
struct own_kind {
    uint32_t stream;
    uint8_t kind;
};

struct own_run {
    struct own_facts facts;
    struct span *spans; /* until the end: `target` is a label, `stream` the file's number */
    size_t count, capacity;
    struct own_texts kernels, labels;
    struct own_kind *kinds;
    size_t kind_count, kind_capacity;
};

struct own_builder {
    struct own_run *runs;
    size_t count, capacity;
};

/* Returns the value of --share that `name` begins with; none where that is no such value. */
enum sharing own_sharing(const char *name);

/* Adds a run, whose facts the caller then fills. NULL: no memory. Moves those of other runs. */
struct own_facts *own_add_run(struct own_builder *builder);

/* Returns the facts of run `index`. */
struct own_facts *own_facts(const struct own_builder *builder, size_t index);

/* Adds a copy of `row` to run `index`; ops may come in any order, but none twice. STATUS_USAGE:
 * the row can't be, for the reason given without its place. */
enum status own_add_row(struct own_builder *builder, size_t index, const struct own_row *row,
                        struct error *error);

/* Notes that a stream is of a kind: "legacy", "blocking". STATUS_USAGE: there is no such kind.
 */
enum status own_set_stream_kind(struct own_builder *builder, size_t index, uint32_t stream,
                                const char *kind, struct error *error);

/* Returns the kind of op called `name` in files; OP_KIND_COUNT: there is none. */
enum op_kind own_kind(const char *name);

/* Reads "virtual", "cupti", "events" or "nsys". */
bool own_timing(const char *name, enum timing *timing);

/* Moves all runs into `traces`, one each. STATUS_USAGE without its place, *index set to the run
 * that is not whole. The builder is empty then. */
enum status own_finish(struct own_builder *builder, struct traces *traces, size_t *index,
                       struct error *error);
void own_free(struct own_builder *builder);

/* Numbers the streams of a run from 0, in `timeline` and in its spans, and keeps what the file
 * calls them where that is not the same. */
enum status own_set_streams(struct own_run *run, struct timeline *timeline,
                            struct error *error);

/* Finds the op that each wait and each sync waited for by its name, as it stands in the file:
 * an event stands for the latest op before it. The spans are in order of their ops. */
enum status own_set_targets(struct own_run *run, struct error *error);

/* Sets the timeline's calls of the host, its waits and the memory of its copies, as far as the
 * file tells them. */
enum status own_set_calls(const struct own_facts *facts, struct timeline *timeline,
                          struct error *error);

/* Reads a timeline as CSV, as a reader of traces (trace/trace.h). Errors call the file `path`.
 */
enum status own_csv_read(struct trace_input *input, const char *path, struct traces *traces,
                         struct error *error);

#endif
