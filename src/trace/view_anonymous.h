/* view_anonymous.h - traces of other programs without their names: `pipeline view
 * --anonymous`. */
#ifndef PIPELINE_TRACE_VIEW_ANONYMOUS_H
#define PIPELINE_TRACE_VIEW_ANONYMOUS_H

#include "trace/trace.h"

enum { VIEW_ANONYMOUS_NAME = 32 };

/* Leaves template arguments of kernels and folders of source files out of traces that were
 * read. What is made of them, plans, causes and files, has no more than they have. Returns what
 * the file is called then: `name`, which gets its number unless that is 0. */
const char *view_anonymise(struct traces *traces, int number, char name[VIEW_ANONYMOUS_NAME]);

#endif
