/* record_scan.h - what a recording holds, counted line by line: it may be larger than the
 * memory that the reader of whole recordings, trace/recording.h, would take. */
#ifndef PIPELINE_APP_RECORD_SCAN_H
#define PIPELINE_APP_RECORD_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { RECORD_NOTES_MAX = 8, RECORD_NOTE_ROOM = 400 };

struct record_tally {
    bool headed; /* the first line is a recording's */
    uint64_t kernels, copies, memsets, calls;
    int64_t first_ns, last_ns; /* first start and last end of what ran; equal: nothing did */
    uint64_t lines;            /* behind the first, without one that says that it ended */
    bool ended, limited;       /* it says that it ended, and that its limit was reached */
    char notes[RECORD_NOTES_MAX][RECORD_NOTE_ROOM]; /* and what was lost, in the file's words */
    int note_count;
    uint64_t more_notes; /* that there was no room for */
};

/* Reads the recording from its beginning. False with errno where it can't be read. */
bool record_scan(FILE *file, struct record_tally *tally);

/* Returns where the recording ends: where its last line begins that says so, and sets *ended;
 * or behind its last whole line. */
off_t record_end(FILE *file, bool *ended);

#endif
