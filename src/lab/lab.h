/* lab.h - what the lab page asks of the simulator: runs, files that were dropped on it, and
 * what there is to choose from.
 *
 * Each answer is JSON text, ended by a NUL, which the caller frees with free(); NULL: there is
 * no memory for it. Where the question can't be answered it is {"error": "the reason in one
 * line", "refused": true}, in the words of the command; refused is false where memory ran out.
 */
#ifndef PIPELINE_LAB_H
#define PIPELINE_LAB_H

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

/* Lists options, machines, kernels, mistakes, causes and lessons, with their words. */
char *lab_catalogue(void);

#endif
