/* answer.h - a text while it is written, in memory, by the C library's streams. Private to the
 * lab. */
#ifndef PIPELINE_LAB_ANSWER_H
#define PIPELINE_LAB_ANSWER_H

#include "core/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct answer {
    FILE *out;
    char *text;
    size_t length;
};

/* Begins one, to be written into answer->out. Returns false where there is no memory. */
static inline bool answer_begin(struct answer *answer)
{
    *answer = (struct answer){0};
    answer->out = open_memstream(&answer->text, &answer->length);
    return answer->out != NULL;
}

/* Ends it. Returns the text, to be freed; NULL where `status` is no STATUS_OK, or memory ran
 * out for a part of it. */
static inline char *answer_end(struct answer *answer, enum status status)
{
    bool failed = ferror(answer->out) != 0;
    if (fclose(answer->out) == 0 && !failed && status == STATUS_OK)
        return answer->text;
    free(answer->text);
    return NULL;
}

#endif
