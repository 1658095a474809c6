/* answer.c - a text in memory, by the C library's streams. */
#include "lab/answer.h"

#include <stdlib.h>

bool answer_begin(struct answer *answer)
{
    *answer = (struct answer){0};
    answer->out = open_memstream(&answer->text, &answer->length);
    return answer->out != NULL;
}

char *answer_end(struct answer *answer, enum status status)
{
    bool failed = ferror(answer->out) != 0;
    if (fclose(answer->out) == 0 && !failed && status == STATUS_OK)
        return answer->text;
    free(answer->text);
    return NULL;
}
