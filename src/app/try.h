/* try.h - `pipeline try`: a CUDA program compiled for the CPU, run in simulated time, and
 * reported on as `pipeline view` would. */
#ifndef PIPELINE_APP_TRY_H
#define PIPELINE_APP_TRY_H

#include "app/record.h"
#include "core/arena.h"

/* --- try_rewrite.c: what only CUDA's compiler knows, as C++ --- */

/* Rewrites `text`, a source that has been preprocessed, behind which stands a 0:
 *
 *     kernel<<<grid, block>>>(a, b)      ::pipeline::configured("kernel", "file", line,
 *                                        grid, block)([=](auto... c) { kernel(c...); })(a, b)
 *     extern __shared__ T name[];        T *name = (T *)pipeline_shared();
 *
 * What a compiler says of the rest points to the same lines and columns as before. Sets
 * *rewritten, of *bytes, to be freed. STATUS_USAGE names the user's file and line. */
enum status try_rewrite(const char *text, size_t length, char **rewritten, size_t *bytes,
                        struct error *error);

/* --- try_flags.c: command lines as nvcc has them --- */

struct try_words {
    const char **items;
    size_t count, capacity;
};

enum try_language { TRY_NONE, TRY_CUDA, TRY_CXX, TRY_C };

/* A program that is compiled. Begins as zeroes but for `folder`. */
struct try_build {
    const char *folder; /* for what is made on the way */
    const char
        *output;    /* the program; with `objects` the object, or NULL: named after a source */
    bool objects;   /* sources are compiled, and not linked */
    bool no_watch;  /* what kernels read and write is not looked at */
    bool optimised; /* -O was given */
    bool cuda;      /* sources are CUDA, whatever their names */
    const char *standard; /* "-std=c++20"; NULL: none was given */
    struct try_words compile, depend, link, flags_of_link;
    struct try_source {
        const char *path, *object;
        enum try_language language;
    } * sources;
    size_t source_count, source_room;
    struct arena storage; /* has all texts */
};

/* Takes sources, libraries and flags of nvcc's, ended by NULL. STATUS_USAGE names one that is
 * not known, or can't be had on the CPU. */
enum status try_take_words(struct try_build *build, const char *const *words,
                           struct error *error);

/* Returns true for a header of a library of CUDA's that there is not. */
bool try_lacks(const char *header);

/* Adds a copy of a word. False: memory ran out, which the build remembers. */
bool try_add(struct try_build *build, struct try_words *words, const char *word);

/* --- try_folder.c: a folder that goes when we go --- */

struct try_folder {
    char *path;
    int pipe; /* to the process that waits for our end */
    pid_t remover;
};

/* Makes a folder in TMPDIR. To be given back with try_folder_end(), also after a failure. */
enum status try_folder_begin(struct try_folder *folder, struct error *error);
void try_folder_end(struct try_folder *folder);

/* --- try_build.c: the compiler --- */

/* Compiles the sources, and links them unless only objects are asked for. STATUS_USAGE where
 * that can't be done; what the compiler says of it is on standard error. */
enum status try_build(struct try_build *build, struct error *error);
void try_build_free(struct try_build *build);

/* The command that `pipeline-nvcc` is: compiles as nvcc would, for the CPU. */
enum status try_nvcc(char *const *words, struct error *error);

/* --- try.c: the command --- */

/* Compiles and runs the program that options->words name, and reports on its recording. `end`
 * is set where the program itself failed. */
enum status try_command(const struct options *options, struct record_end *end,
                        struct error *error);

#endif
