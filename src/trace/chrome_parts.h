/* chrome_parts.h - a Chrome trace while it is read: private to its reader. */
#ifndef PIPELINE_TRACE_CHROME_PARTS_H
#define PIPELINE_TRACE_CHROME_PARTS_H

#include "trace/json_walk.h"
#include "trace/profiled.h"

#define CHROME_NONE UINT32_MAX /* a number that is not there */
enum { CHROME_NAME = 4096, CHROME_ROWS = 512 };

struct chrome_reader {
    const char *path;
    struct walk_text text;
    struct error *error;
    struct profiled profiled;
    const char *traced_by;
    int64_t base_ns;
    struct host_range operator; /* the last that is in no other */
    bool events;                /* there was a list of them */
    bool cut;                   /* the text ends within a value */
    bool own;                   /* this program wrote it: */
    enum timing timing;
    uint64_t drawn;            /* the process and op of the last slice, and 1 */
    bool more;                 /* something stands behind its end */
    size_t left;               /* operations and calls: nothing says when they were, or where */
    struct names rows;         /* processes that are a GPU, and threads that have ops */
    char gpus[CHROME_ROWS][9]; /* of processes: its number */
    char name[CHROME_NAME];
};

/* Keeps what an event says of the device or of the host; others are passed over. Errors name
 * the line. */
void chrome_add_event(struct chrome_reader *reader, struct walk_value value);

/* Refuses the text where it is read: STATUS_USAGE. */
void chrome_refuse(const struct chrome_reader *reader, const char *why);

/* Returns true once something went wrong. */
static inline bool chrome_failed(const struct chrome_reader *reader)
{
    return reader->error->status != STATUS_OK;
}

#endif
