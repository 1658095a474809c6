/* places.h - where the program makes its calls: its frames, its lines of Python, the files that
 * its code is from. */
#ifndef PIPELINE_RECORD_PLACES_H
#define PIPELINE_RECORD_PLACES_H

#include "record/record.h"

/* Is called once, before the others, and not within a call of CUDA's. */
void frames_begin(void);

/* Looks whether the program is in Python; writes the line of Python that makes the call, if
 * there is one. */
void python_begin(void);
bool python_note(uint32_t call);

/* Note all frames of the call that is about to be made; and the file that makes it. */
void frames_note(uint32_t call);
void frames_note_maker(uint32_t call);

/* Whose code is at a place: CUDA's and the recorder's is what a call passes on its way here. */
enum place_side { PLACE_UNKNOWN, PLACE_CUDAS, PLACE_PROGRAMS };
enum place_side place_side(uint64_t place);

/* Writes an entry of these two. */
void places_write(const struct entry *entry, const uint64_t *words);

#endif
