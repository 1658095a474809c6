/* list.h - `pipeline list`: what there is to choose from. */
#ifndef PIPELINE_APP_LIST_H
#define PIPELINE_APP_LIST_H

#include <stdio.h>

/* Prints the list that `what`, one of list_words, names; all of them for NULL. */
void list_print(FILE *out, const char *what);

#endif
