/* input_file.h - opens what the program reads: a file or a pipe, and nothing that has no end.
 *
 * A folder, a device and a socket are refused, also where a name like /dev/stdin leads to one.
 * A named pipe is given two seconds for a program to write into it: it is not waited for
 * longer, unless a program has it open. */
#ifndef PIPELINE_OPTIONS_INPUT_FILE_H
#define PIPELINE_OPTIONS_INPUT_FILE_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A reader's limits: no line of text is longer, and no file that is read as one text larger. */
enum { INPUT_TEXT_MAX = 1 << 20, INPUT_WHY = 160 };

/* Opens `path` for reading. Sets *regular where it is a file, which can be opened once more. On
 * STATUS_USAGE or STATUS_NO_MEMORY `why` says what is wrong, without the name: "it is a
 * device". */
enum status input_open(const char *path, FILE **file, bool *regular, char why[INPUT_WHY]);

/* Reads all of `path`, at most INPUT_TEXT_MAX bytes, into *text, which is then to be freed and
 * ends in a NUL that *length does not count. STATUS_NO_MEMORY. */
enum status input_text(const char *path, char **text, size_t *length, char why[INPUT_WHY]);

#endif
