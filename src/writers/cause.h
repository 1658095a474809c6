/* cause.h - what is marked in every picture of a run: the gaps that causes made, the ops that
 * raced, the streams that are urgent; and the message that stands above a picture. */
#ifndef PIPELINE_WRITERS_CAUSE_H
#define PIPELINE_WRITERS_CAUSE_H

#include "writers/writer.h"

struct marks {
    const struct charged *gaps[LOSSES_MAX]; /* of the first cause first */
    uint32_t gap_count;
    bool *races;  /* by the id of each op up to the last that races: whether it does; or NULL */
    uint32_t ops; /* how many these are */
    /* By resource_number(): kernels of the device lie in several lanes, and are drawn in one
     * row, for they ran side by side for too little of the run to be seen. */
    bool one_row[RESOURCES_MOST];
    bool issue; /* the order of issue was asked for, and its ops are few enough to be drawn */
};

/* Finds the gaps, the ops that raced, and rows. free(marks->races) on STATUS_OK;
 * STATUS_NO_MEMORY. */
enum status writer_find_marks(const struct run_report *run, struct marks *marks);

/* Returns true if the streams of a run differ in priority and `stream` has the highest. */
bool writer_is_urgent(const struct run_report *run, uint32_t stream);

/* Returns what a cause is, in words: of the rest of a run that its data asks for, that too. */
const char *writer_cause_text(const struct verdicts *verdicts, enum verdict_code code);

/* Writes a run's answer in one line: what it lost most to, or how near to its limit it came. A
 * `title` has a cause in words, not by its name. */
enum { MESSAGE_TEXT = 1024 };
void writer_run_message(const struct run_report *run, bool title, char text[MESSAGE_TEXT]);

/* Writes what a picture of all runs shows, in one line: the message of the runs' file, a result
 * that is wrong, else which run is how much faster than which, and what the slower one lost
 * most to. */
void writer_message(const struct report *report, char text[MESSAGE_TEXT]);

#endif
