/* record_lines.h - the program's source lines that calls were made from, found from the frames
 * that a recording has with --backtrace. */
#ifndef PIPELINE_APP_RECORD_LINES_H
#define PIPELINE_APP_RECORD_LINES_H

#include "core/status.h"

/* Adds a "line" to the recording at `path` for each of its "frames" of which one is in code
 * that has debug information; addr2line, of GNU's binutils, reads that. The recording's last
 * line stays the last. STATUS_FAILED says why lines are missing; the recording is whole all the
 * same. */
enum status record_lines_add(const char *path, struct error *error);

#endif
