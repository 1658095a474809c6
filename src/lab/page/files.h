/* files.h - the file that was dropped on the page. */
#ifndef PIPELINE_LAB_PAGE_FILES_H
#define PIPELINE_LAB_PAGE_FILES_H

#include <stddef.h>

/* From here on, every file that is opened is this one, until the next call. `bytes` are not
 * copied, and live as long; NULL: there is none. */
void lab_drop(const void *bytes, size_t length);

#endif
