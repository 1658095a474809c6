/* list.h - `pipeline list`: what there is to choose from. */
#ifndef PIPELINE_LIST_H
#define PIPELINE_LIST_H

#include "status.h"

#include <stdbool.h>
#include <stdio.h>

/* Prints the table of kernels, machines or devices that `what` names; all of them for NULL.
 * STATUS_USAGE for what this version does not have. */
enum status list_print(FILE *out, const char *what, struct error *error);

/* Whether list_print() knows `what`, and this version has it. */
bool list_has(const char *what);

#endif
