/* test_emit_back.h - whether the recording of an emitted program gives back its plan. */
#ifndef PIPELINE_TESTS_TEST_EMIT_BACK_H
#define PIPELINE_TESTS_TEST_EMIT_BACK_H

#include <stdbool.h>

enum { DIFFERENCE_TEXT = 256 };

/* Compares the plan that `pipeline --dry-run --format=json`, run last by program_run(), printed
 * of a program's options with the one that `pipeline view` reads off its recording in `file`.
 *
 * The program does all of the plan once for each of `runs`, between calls that wait for the
 * device; what lies between others of these calls is bare copies. Each time the recording must
 * have the plan's ops, in its order and in its streams; the bytes and places of copies; kernels
 * of the same names and grids, which get the places that the plan's work on; and waits for the
 * same records. Streams, buffers and events have other numbers there, but each has one alone.
 * `serial`: the second run does so with all in the first of its streams.
 *
 * Returns true if so; else `why` says what is the first to differ. */
bool emit_gives_back(const char *file, int runs, bool serial, char why[DIFFERENCE_TEXT]);

#endif
