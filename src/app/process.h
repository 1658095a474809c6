/* process.h - what the process makes sure of before anything else: environment, descriptors and
 * signals. */
#ifndef PIPELINE_APP_PROCESS_H
#define PIPELINE_APP_PROCESS_H

#include "core/status.h"

/* Forgets the environment where the program has rights that its caller lacks, gives this thread
 * a locale that nobody else changes, opens /dev/null in place of each standard descriptor that
 * is closed, and has signals that end the program, and whatever calls exit(), leave no
 * temporary file and no progress line behind. A signal that was ignored stays ignored. Raises
 * the limits of open files and of the stack as far as the system lets us. STATUS_FAILED where
 * the stack is too small, or a descriptor can't be opened. */
enum status process_begin(struct error *error);

/* Takes back what process_begin(), and OpenMP's library before it, changed: signals,
 * descriptors, processors and limits. For a child that is about to become a
 * program which shall have all that we were given. Async-signal-safe. */
void process_give_back(void);

#endif
