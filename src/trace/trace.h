/* trace.h - timelines that a profiler exported or the recorder wrote, read back.
 *
 * What the recorder (docs/recording.md) or another profiler wrote becomes a recording, of which
 * timelines are made and, where it has the host's calls, plans.
 *
 * Two forms of Nsight Systems' exports: what `nsys stats -r cuda_gpu_trace --format csv` prints
 * (headers differ between versions: columns are matched by the beginning of their names, units
 * stand in their names), and the SQLite database of `nsys export -t sqlite` (tables
 * CUPTI_ACTIVITY_KIND_MEMCPY, _KERNEL, _MEMSET, _RUNTIME, StringIds, TARGET_INFO_GPU), where
 * SQLite was there at build time. See "Nsight Systems, Post-Collection Analysis Guide" and
 * "SQLite Export Schema Reference". Chrome traces are those of libkineto (output_json.cpp).
 *
 * A trace says when copies and kernels ran, in which stream, and how many bytes; from SQLite
 * and a recording also what the host called, when it issued each op, and of which kind streams
 * are. It says nothing of tiles: spans have tile -1 and, from CSV, issue_ns equal to start_ns
 * (timeline.issue_unknown). Copies from and to the host, copies within the device and memsets
 * are ops of their own kind, on the engine of that kind; all else that ran is an op of kind
 * OP_KERNEL under its name: kernels (less "void " and what they take: overloads share a name),
 * "[CUDA memcpy Peer-to-Peer]". A recording also has functions of the host (OP_CALLBACK). Only
 * copies from and to the host have bytes. */
#ifndef PIPELINE_TRACE_H
#define PIPELINE_TRACE_H

#include "analysis/loop.h"
#include "core/status.h"
#include "options/options.h"
#include "plan/timeline.h"

#include <stdio.h>

/* Counts of the copies of one direction, by the kind of the host's memory. */
struct trace_copies {
    uint32_t count, pageable; /* how many, and how many of them from or to pageable memory */
    uint64_t pageable_bytes;
};

/* The part of a trace that is about one device. */
struct trace {
    char name[64]; /* "trace", or the device where there are several */
    struct timeline timeline;
    bool saved;         /* from a file that this program wrote: waits and tiles are known */
    int64_t limit_ns;   /* as that file says; 0: it does not */
    double speedup;     /* likewise */
    char part[160];     /* of the file, in words: "2 ms to 5 ms of 12.1 ms"; "": the whole */
    struct loop loop;   /* that the timeline shows, and nothing else; loop.passes is 0 where it
                           shows what ran before and behind, too */
    bool loop_sought;   /* and was not found, where loop.passes is 0 */
    int64_t startup_ns; /* that the program ran before its loop, as far as the file goes back */
    int64_t end_ns;     /* and behind it */
    int64_t from_ns;    /* where the part or the loop begins: times count from there */
    int64_t origin_ns;  /* the time in the file that the timeline's count from */
    uint32_t *origins;  /* what each span was made of, by span.op: an index of recording->ops
                           or, less op_count, of its calls, for functions of the host */
    uint32_t origin_count; /* 0: it is `saved` */
    uint64_t bytes_unit; /* step that its bytes are rounded to: 1000 where it prints 4.194 MB */
    double rounds;  /* beside another run: how often it did the work that both do; 0: alone */
    bool unlike;    /* than that other: it did not do the same work, or that is not known */
    double by_byte; /* how much faster it is by the bytes copied, where nothing else is known */
    struct trace_copies in, out;       /* from the host, to the host */
    const struct recording *recording; /* that it was made of, of all devices; NULL: it is
                                          `saved`. Owned by `struct traces`, then by the view */
    uint32_t device;                   /* an index of its devices */
    uint64_t unseen;   /* calls of the recording that issued an op of which it has nothing */
    uint64_t refused;  /* and those that CUDA refused, but of which it has ops */
    uint32_t uncalled; /* ops of which no call is known */
    uint32_t early;    /* ops that start before the call that issued them: those calls are not
                          taken for true */
};

/* Returns how long the thread of a loop was in no call to CUDA before that, where the calls are
 * known. */
int64_t trace_outside_ns(const struct trace *trace);

enum { TRACE_UNREAD = 512 };

struct traces {
    struct trace *items;
    int count;
    char unread[TRACE_UNREAD]; /* what belongs to the trace and was not read; empty: nothing */
    struct recording *recording; /* likewise; owned */
};

struct recording; /* trace/recording.h */

/* Reads the trace in `path`, a file or a pipe, of the form that its first bytes say, into one
 * timeline per device, each finished (lanes, in order of start). Times count from the first
 * span's start (or issue, where known) of its device. There is none where the trace has no
 * spans. STATUS_USAGE names file:line and what is wrong; set only on STATUS_OK; free with
 * traces_free(). */
enum status traces_read(const char *path, struct traces *traces, struct error *error);
void traces_free(struct traces *traces);

struct trace_input; /* trace/input.h */

/* For readers: makes room for `count` traces, all empty. */
enum status traces_create(struct traces *traces, size_t count, struct error *error);

/* The readers, one for each form: nsys's CSV, the timelines that this program saves as CSV, and
 * recordings, each device that did something being a timeline. `path` is what errors call the
 * file. That of databases is STATUS_USAGE without SQLite, saying what to export instead. */
typedef enum status trace_reader(struct trace_input *input, const char *path,
                                 struct traces *traces, struct error *error);
trace_reader trace_csv_read, saved_csv_read, trace_recording_read, trace_chrome_read;
enum status trace_sqlite_read(const char *path, struct traces *traces, struct error *error);

/* --- cut.c: a part of a trace: some of its time, some of its streams --- */

/* Leaves the devices, the streams and the time that `part` asks for. An op that crosses an edge
 * of the window is cut there, its bytes in proportion; times then count from the window's
 * beginning. Sets trace->part to what was kept, in words; what the file said of the whole, its
 * limit and speed-up, is then forgotten. STATUS_USAGE: the file `path` has no such device or
 * stream, and the error lists those that it has; or the window begins behind the end of all, or
 * ends before it begins. STATUS_NO_MEMORY: the traces can then only be freed. */
enum status traces_cut(struct traces *traces, const struct view_part *part, const char *path,
                       struct error *error);

/* Leaves the loop of a trace, trace->loop, which must have been found, and sets trace->end_ns.
 * STATUS_NO_MEMORY: the trace can then only be freed. */
enum status trace_keep_loop(struct trace *trace, struct error *error);

#endif
