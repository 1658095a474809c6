/* process.h - what the process makes sure of before anything else: environment, descriptors and
 * signals. */
#ifndef PIPELINE_APP_PROCESS_H
#define PIPELINE_APP_PROCESS_H

#include <stdbool.h>

/* Forgets the environment where the program has rights that its caller lacks, opens /dev/null
 * in place of each standard descriptor that is closed, and has signals that end the program,
 * and whatever calls exit(), leave no temporary file and no progress line behind. A signal that
 * was ignored stays ignored. False: there is a descriptor to open and no /dev/null; errno says
 * why. */
bool process_begin(void);

#endif
