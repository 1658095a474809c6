/* named_files.h - a process that can open no file without a name. */
#ifndef PIPELINE_TESTS_NAMED_FILES_H
#define PIPELINE_TESTS_NAMED_FILES_H

#include <stdbool.h>

/* From here on this process and its children can't open files with O_TMPFILE, as if the file
 * system had none. False: the system does not let it. */
bool named_files_only(void);

/* Returns true if files without a name can be opened in this folder. */
bool nameless_files(void);

#endif
