/* saved.h - makes timelines of the files that this program wrote itself: private to their
 * reader, trace/saved_csv.c.
 *
 * A file tells of each run where it comes from, and of each op what was known when it ran: its
 * kind, tile, stream, the host's issue, and what a wait waited for. All of that is kept. */
#ifndef PIPELINE_TRACE_SAVED_H
#define PIPELINE_TRACE_SAVED_H

#include "core/names.h"
#include "trace/trace.h"

#define SAVED_NONE UINT32_MAX /* no stream, no label */

/* A stream that is not non-blocking. */
struct saved_kind {
    uint32_t stream; /* as the file numbers it */
    uint8_t kind;    /* enum stream_kind */
};

/* A run of the file. Zero-initialise but for the timeline's resolution; free with
 * saved_run_free(). */
struct saved_run {
    struct trace trace; /* what the file says of the run. Until it is finished, the `target` of
                           spans is a label, and their `stream` the file's number */
    size_t span_capacity;
    uint64_t line; /* of the file, which announces the run */
    bool timing_known, busy_known;
    enum host_memory memory; /* that copies went from or to */
    bool settled;            /* a run of this program's: its streams are numbered from 0 */
    int64_t busy_ns[ENGINE_WORKING];
    struct names kernels, labels;
    struct saved_kind *kinds;
    size_t kind_count, kind_capacity;
};

/* Adds a row to a run: a span of what the file has columns for, and its name, which of a wait
 * or a sync says what it waited for: "scale 3". Ops count upwards. STATUS_USAGE: the row can't
 * be, for the reason given without its place. */
enum status saved_add_row(struct saved_run *run, struct span span, const char *name,
                          struct error *error);

/* Makes the run's trace whole, and moves it to *trace. STATUS_USAGE without its place: the run
 * can't be. */
enum status saved_finish(struct saved_run *run, struct trace *trace, struct error *error);
void saved_run_free(struct saved_run *run);

/* Numbers the streams of a run from 0, in its timeline and in its spans, and keeps what the
 * file calls them where that is not the same. */
enum status saved_set_streams(struct saved_run *run, struct error *error);

/* Finds the op that each wait and each sync waited for by its name, as it stands in the file:
 * an event stands for the latest op before it. */
enum status saved_set_targets(struct saved_run *run, struct error *error);

#endif
