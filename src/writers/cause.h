/* cause.h - what is marked in every picture of a run: the gap that a cause made, the ops that
 * raced, the streams that are urgent; and the message that stands above a picture. */
#ifndef PIPELINE_WRITERS_CAUSE_H
#define PIPELINE_WRITERS_CAUSE_H

#include "writers/writer.h"

/* A stretch of time that a cause made: an engine stood idle, the host was in a call, or an op
 * took too long. */
struct gap {
    enum verdict_code code;
    int64_t start_ns, end_ns; /* start_ns < end_ns */
    uint32_t span; /* in whose row it lies: what ended the gap, or went before it, or is it */
};

enum { GAPS_MAX = 2 };

/* Finds the largest gap that each of a run's first named causes made, of two causes at most.
 * Causes that have no place in the timeline are passed over. O(n log n). Sets how many gaps
 * there are; STATUS_NO_MEMORY: none was looked for. */
enum status writer_find_gaps(const struct run_report *run, struct gap gaps[GAPS_MAX],
                             int *count);

/* Sets for each op up to the last that races, by its id, whether it does, and their number:
 * NULL and 0 where none does, or on STATUS_NO_MEMORY. To be freed. */
enum status writer_find_races(const struct run_report *run, bool **races, uint32_t *count);

/* Both of them; free(marks->races) on STATUS_OK. */
struct marks {
    struct gap gaps[GAPS_MAX];
    int gap_count;
    bool *races;
    uint32_t ops;
};
enum status writer_find_marks(const struct run_report *run, struct marks *marks);

/* Returns true if the streams of a run differ in priority and `stream` has the highest. */
bool writer_is_urgent(const struct run_report *run, uint32_t stream);

/* Writes a run's answer in one line: what it lost most to, or how near to its limit it came. */
enum { MESSAGE_TEXT = 512 };
void writer_run_message(const struct run_report *run, char text[MESSAGE_TEXT]);

/* Writes what a picture of all runs shows, in one line: a result that is wrong, else which run
 * is how much faster than which, and what the slower one lost most to. */
void writer_message(const struct report *report, char text[MESSAGE_TEXT]);

#endif
