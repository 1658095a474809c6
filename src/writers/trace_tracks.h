/* trace_tracks.h - what the files of the Chrome trace's writer share. */
#ifndef PIPELINE_WRITERS_TRACE_TRACKS_H
#define PIPELINE_WRITERS_TRACE_TRACKS_H

#include "report/report.h"
#include "writers/put.h"

/* The tracks of one run, a `tid` each, one behind another: the lanes of its engines, its
 * streams, the host's calls. No tid is 0, nor a pid, nor used twice in a file: Perfetto takes a
 * thread whose tid is its pid for the main one and puts it first, and takes tids for the
 * system's, where they are unique. A run is a process; of one on several devices the host is
 * that, and each device is one more behind it. */
struct tracks {
    const struct run_report *run;
    uint32_t pid; /* from 1, in the order of the runs */
    uint32_t devices;
    uint32_t first_tid; /* it also stands for the run where an event needs some tid */
    uint32_t end_tid;   /* one behind the last; at least first_tid + 1 */
    uint32_t engine_tid[RESOURCES_MOST], lanes[RESOURCES_MOST]; /* by resource_number() */
    uint32_t stream_tid, streams;
    uint32_t calls_tid;            /* 0: nothing is known of the host's calls */
    uint32_t threads_tid, threads; /* of a recorded program: their calls; 0: it is none */
    uint32_t ranges_tid; /* their NVTX ranges, and those of all other threads; 0: none */
};

/* Return how many processes a run takes, and the one that is a device's. */
static inline uint32_t tracks_processes(const struct timeline *timeline)
{
    return timeline_devices(timeline) > 1 ? 1 + timeline->devices : 1;
}
static inline uint32_t tracks_device_pid(const struct tracks *tracks, uint32_t device)
{
    return tracks->devices > 1 ? tracks->pid + 1 + device : tracks->pid;
}

/* Lays out the tracks of `run` from `first_tid` on. */
struct tracks tracks_of(const struct run_report *run, uint32_t pid, uint32_t first_tid);

/* Each of these functions puts events, each behind a comma. */

/* Puts the names and the order of the tracks. */
void tracks_put_names(struct put *put, const struct tracks *tracks);

/* Puts every span as a slice on its engine's track and its stream's; waits on the latter only.
 */
void tracks_put_spans(struct put *put, const struct tracks *tracks);

/* Puts the host's calls. */
void tracks_put_calls(struct put *put, const struct tracks *tracks);

/* Gives the threads of a recorded program tracks behind the others, in the place of that of the
 * host's calls; puts their names; puts what the threads called and which ranges they were in.
 */
void threads_lay_out(struct tracks *tracks);
void threads_put_names(struct put *put, const struct tracks *tracks);
void threads_put(struct put *put, const struct tracks *tracks);

/* Puts the name of a process's track, with its number if there is one, and its place in the
 * order. */
void track_put_name(struct put *put, const struct tracks *tracks, uint32_t pid, uint32_t tid,
                    const char *name, const uint32_t *number);

/* Puts the name of a slice. A wait names the op that it waits for: "wait for scale 3". */
void track_put_span_name(struct put *put, const struct timeline *timeline,
                         const struct span *span);

/* Puts how many engines are busy whenever that changes. Takes a pointer a span. */
void tracks_put_busy(struct put *put, const struct tracks *tracks);

/* --- shared by them: each function returns the end of the text that it wrote --- */

enum { HEAD_ROOM = 128 };

/* Writes a comma and the beginning of an event up to its tid, at most HEAD_ROOM bytes: of the
 * run's process, or of any. */
static inline char *write_head_of(char *at, uint32_t pid, char phase, uint32_t tid)
{
    at = WRITE_LITERAL(at, ",\n{\"ph\":\"X\",\"pid\":");
    at[-9] = phase;
    at = write_count(at, pid);
    at = WRITE_LITERAL(at, ",\"tid\":");
    return write_count(at, tid);
}
static inline char *write_head(char *at, const struct tracks *tracks, char phase, uint32_t tid)
{
    return write_head_of(at, tracks->pid, phase, tid);
}

/* Writes a time in us, as `ts` and `dur` are: three decimals give every ns. */
static inline char *write_us(char *at, int64_t ns)
{
    uint64_t size = write_sign(&at, ns);
    return write_thousandths(at, size);
}

/* Writes when a slice begins, and how long it lasts. */
static inline char *write_times(char *at, int64_t start_ns, int64_t end_ns)
{
    at = WRITE_LITERAL(at, ",\"ts\":");
    at = write_us(at, start_ns);
    at = WRITE_LITERAL(at, ",\"dur\":");
    return write_thousandths(at, end_ns > start_ns ? (uint64_t)end_ns - (uint64_t)start_ns : 0);
}

#endif
