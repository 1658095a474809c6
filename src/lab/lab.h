/* lab.h - what the lab page asks of the simulator: runs, files that were dropped on it, and
 * what there is to choose from.
 *
 * Each answer is JSON text, ended by a NUL, which the caller frees with free(); NULL: there is
 * no memory for it. Where the question can't be answered it is {"error": "the reason in one
 * line", "refused": true}, in the words of the command; refused is false where memory ran out.
 */
#ifndef PIPELINE_LAB_H
#define PIPELINE_LAB_H

#include "core/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Simulates all runs of `config`, the text of a config file: what `pipeline --no-data FILE`
 * does. The answer is the data of a timeline's page (writers/html.c). Notes of the command go
 * to standard error here, too. */
char *lab_run(const char *config);

/* Writes the plans of all runs of `config`, which are those of lab_run(), as CUDA programs. The
 * answer is {"programs": [{"name": of the run, "code": the program}, ...]}; in the
 * place of "code" stands "refusal" where a plan can't be written as one. */
char *lab_code(const char *config);

/* Reads `path` as `pipeline view` does: the same answer, of what another program did. */
char *lab_view(const char *path);

/* Lists options, machines, kernels, mistakes, causes, lessons and exercises, with their words.
 */
char *lab_catalogue(void);

/* --- a text while it is written, in memory, by the C library's streams --- */

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
