/* process.h - what the process makes sure of before anything else: environment, descriptors and
 * signals. */
#ifndef PIPELINE_APP_PROCESS_H
#define PIPELINE_APP_PROCESS_H

#include <stdbool.h>

/* Forgets the environment where the program has rights that its caller lacks, gives this thread
 * a locale that nobody else changes, opens /dev/null in place of each standard descriptor that
 * is closed, and has signals that end the program, and whatever calls exit(), leave no
 * temporary file and no progress line behind. A signal that was ignored stays ignored. False:
 * there is a descriptor to open and no /dev/null; errno says why. */
bool process_begin(void);

/* Takes back what process_begin(), and OpenMP's library before it, changed: signals,
 * descriptors, processors, and the limit of open files. For a child that is about to become a
 * program which shall have all that we were given. Async-signal-safe. */
void process_give_back(void);

#endif
