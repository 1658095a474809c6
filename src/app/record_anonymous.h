/* record_anonymous.h - a recording without the names that it is to leave out: `pipeline record
 * --anonymous`. */
#ifndef PIPELINE_APP_RECORD_ANONYMOUS_H
#define PIPELINE_APP_RECORD_ANONYMOUS_H

#include "core/status.h"

/* Rewrites the recording at `path` so that it has neither the program's name nor folders of
 * files nor template arguments of kernels. STATUS_FAILED or STATUS_NO_MEMORY where that can't
 * be done: it is as it was then. */
enum status record_anonymise(const char *path, struct error *error);

#endif
