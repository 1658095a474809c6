/* answer.h - a text while it is written, in memory. Private to the lab. */
#ifndef PIPELINE_LAB_ANSWER_H
#define PIPELINE_LAB_ANSWER_H

#include "core/status.h"

#include <stdbool.h>
#include <stdio.h>

struct answer {
    FILE *out;
    char *text;
    size_t length;
};

/* Begins one, to be written into answer->out. Returns false where there is no memory. */
bool answer_begin(struct answer *answer);

/* Ends it. Returns the text, to be freed; NULL where `status` is no STATUS_OK, or memory ran
 * out for a part of it. */
char *answer_end(struct answer *answer, enum status status);

#endif
