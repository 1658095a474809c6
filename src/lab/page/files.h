/* files.h - the file that was dropped on the page. */
#ifndef PIPELINE_LAB_PAGE_FILES_H
#define PIPELINE_LAB_PAGE_FILES_H

#include <stddef.h>

/* From here on, every file that is opened is this one. `bytes` are not copied. */
void lab_drop(const void *bytes, size_t length);

#endif
