/* try_build.c - a CUDA program becomes one of the CPU's: the host's C++ compiler preprocesses
 * it, try_rewrite.c makes C++ of what is left of CUDA, and the compiler compiles that. What
 * kernels do with memory is told by the calls of -fsanitize=thread, which the library that it
 * is linked with answers itself. */
#include "app/try.h"

#include "app/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* CUDA's compiler defines these, beside what cuda_runtime.h does. */
static const char *const cuda_flags[] = {"-D__CUDACC__=1",
                                         "-D__NVCC__=1",
                                         "-D__CUDACC_VER_MAJOR__=13",
                                         "-D__CUDACC_VER_MINOR__=0",
                                         "-D__CUDACC_VER_BUILD__=0",
                                         "-include",
                                         "cuda_runtime.h",
                                         NULL};

struct tools {
    char library[PATH_MAX], headers[PATH_MAX + 2]; /* the second behind "-I" */
    struct try_words compiler;                     /* its path, and flags that CXX has */
};

static void add_all(struct try_build *build, struct try_words *words, const char *const *items)
{
    for (; *items != NULL; items++)
        try_add(build, words, *items);
}

static void add_words(struct try_build *build, struct try_words *words,
                      const struct try_words *more)
{
    for (size_t i = 0; i < more->count; i++)
        try_add(build, words, more->items[i]);
}

/* Finds the compiler: CXX of the environment, which may have flags, g++ or clang++. */
static enum status find_compiler(struct try_build *build, struct tools *tools,
                                 struct error *error)
{
    const char *const candidates[] = {getenv("CXX"), "g++", "clang++"};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        char *rest = candidates[i] != NULL ? arena_text(&build->storage, candidates[i]) : NULL;
        for (char *word; rest != NULL && (word = strsep(&rest, " ")) != NULL;) {
            if (word[0] != '\0')
                try_add(build, &tools->compiler, word);
        }
        if (tools->compiler.count == 0)
            continue;
        char *path = child_find(tools->compiler.items[0]);
        const bool found = path != NULL && access(path, X_OK) == 0;
        free(path);
        if (found)
            return STATUS_OK;
        if (i == 0)
            return error_set(error, STATUS_USAGE, "CXX is %s, and there is no such compiler",
                             candidates[i]);
        tools->compiler.count = 0;
    }
    return error_set(error, STATUS_USAGE,
                     "a CUDA program is compiled for the CPU by a C++ compiler, and there is "
                     "neither g++ nor clang++: install one, or name yours in CXX");
}

static enum status find_tools(struct try_build *build, struct tools *tools, struct error *error)
{
    strcpy(tools->headers, "-I");
    if (!process_find("libpipeline-cpu.a", tools->library) ||
        !process_find("cuda/cuda_runtime.h", tools->headers + 2))
        return error_set(error, STATUS_USAGE,
                         "there is no libpipeline-cpu.a, which programs are linked with, or no "
                         "cuda/cuda_runtime.h, neither beside this program nor in "
                         "../lib/pipeline: they are built with pipeline where there is a C++ "
                         "compiler");
    *strrchr(tools->headers, '/') = '\0';
    return find_compiler(build, tools, error);
}

/* Runs the compiler, which says itself what is wrong. Sets what it printed, unless that is
 * NULL: to be freed. */
static enum status run(struct try_build *build, struct try_words *words, const char *what,
                       struct child *printed, struct error *error)
{
    enum { OUTPUT_MAX = 1 << 30, SECONDS = 3600 };
    struct child child = {.output_max = OUTPUT_MAX, .seconds = SECONDS, .tells = true};
    if (!try_add(build, words, "") || build->storage.full)
        return error_no_memory(error, "to compile");
    words->items[words->count - 1] = NULL;
    child.arguments = (char *const *)words->items;
    const enum child_end end = child_run(&child);
    free(words->items);
    if (end == CHILD_EXITED && child.code == 0) {
        *printed = child;
        return STATUS_OK;
    }
    free(child.output);
    if (end == CHILD_NOT_STARTED || end == CHILD_LOST)
        return error_set(error, STATUS_FAILED, "the compiler can't be run: %s",
                         strerror(child.code));
    return error_set(error, STATUS_USAGE, "%s", what);
}

/* Returns the compiler's words so far, for a source. */
static struct try_words begin(struct try_build *build, const struct tools *tools,
                              const char *language)
{
    struct try_words words = {.items = NULL};
    add_words(build, &words, &tools->compiler);
    try_add(build, &words, "-x");
    try_add(build, &words, language);
    if (strcmp(language, "c") != 0)
        try_add(build, &words, build->standard != NULL ? build->standard : "-std=c++17");
    return words;
}

/* Adds what has every access of a kernel told: volatiles as such, reads of what is written at
 * once, too, and each in code of its own, so that its line is known; and each basic block. */
static void add_watch(struct try_build *build, struct try_words *words,
                      const struct tools *tools)
{
    static const char *const clang[] = {"-mllvm",
                                        "-tsan-instrument-read-before-write",
                                        "-mllvm",
                                        "-tsan-distinguish-volatile",
                                        "-fsanitize-coverage=bb,no-prune,trace-pc",
                                        NULL};
    static const char *const gcc[] = {"--param=tsan-distinguish-volatile=1", "-fno-ipa-icf",
                                      "-fsanitize-coverage=trace-pc", NULL};
    bool is_clang = false;
    for (size_t i = 0; i < tools->compiler.count; i++)
        is_clang |= strstr(tools->compiler.items[i], "clang") != NULL;
    try_add(build, words, "-fsanitize=thread");
    add_all(build, words, is_clang ? clang : gcc);
}

/* Adds what a dependency file for make is to be called, unless that is said. */
static void add_dependencies(struct try_build *build, struct try_words *words,
                             const char *object)
{
    bool named = false, target = false;
    char path[PATH_MAX];
    if (build->depend.count == 0)
        return;
    for (size_t i = 0; i < build->depend.count; i++) {
        named |= strcmp(build->depend.items[i], "-MF") == 0;
        target |= strcmp(build->depend.items[i], "-MT") == 0;
    }
    add_words(build, words, &build->depend);
    if (!named) {
        const char *dot = strrchr(object, '.');
        snprintf(path, sizeof path, "%.*s.d",
                 dot != NULL ? (int)(dot - object) : (int)strlen(object), object);
        try_add(build, words, "-MF");
        try_add(build, words, path);
    }
    if (!target) {
        try_add(build, words, "-MT");
        try_add(build, words, object);
    }
}

static struct try_words preprocessing(struct try_build *build, const struct tools *tools,
                                      const struct try_source *source)
{
    struct try_words words = begin(build, tools, "c++");
    try_add(build, &words, "-E");
    try_add(build, &words, tools->headers);
    add_all(build, &words, source->language == TRY_CUDA ? cuda_flags : cuda_flags + 7);
    add_words(build, &words, &build->compile);
    try_add(build, &words, source->path);
    return words;
}

/* Says in *error if a source does not compile for want of a header of CUDA's: it is
 * preprocessed once more, for what the compiler says then. "a.cu:1:10: fatal error: cufft.h: No
 * such file" is g++'s, and clang++ has quotes around the name. */
static enum status explain(struct try_build *build, const struct tools *tools,
                           const struct try_source *source, struct error *error)
{
    static const char mark[] = " fatal error: ";
    struct try_words words = preprocessing(build, tools, source);
    struct child child = {.output_max = 1 << 30, .seconds = 60};
    if (!try_add(build, &words, "") || build->storage.full)
        return error_no_memory(error, "to compile");
    words.items[words.count - 1] = NULL;
    child.arguments = (char *const *)words.items;
    child_run(&child);
    free(child.output);
    free(words.items);
    const char *at = strstr(child.errors, mark);
    const char *name = at != NULL ? at + strlen(mark) + (at[strlen(mark)] == '\'') : "";
    if (!try_lacks(name))
        return error_set(error, STATUS_USAGE, "%s does not compile", source->path);
    const char *place = at, *column = at - 1;
    while (place > child.errors && place[-1] != '\n')
        place--;
    while (column > place && column[-1] != ':')
        column--;
    return error_set(error, STATUS_USAGE,
                     "%.*s there is no %.*s on the CPU: of CUDA's libraries there are the "
                     "runtime, cuBLAS and NVTX",
                     (int)(column - place), place, (int)strcspn(name, ":'"), name);
}

/* Preprocesses a source and rewrites it, into the file at `path`. */
static enum status preprocess(struct try_build *build, const struct tools *tools,
                              const struct try_source *source, const char *object,
                              const char *path, struct error *error)
{
    struct child printed;
    char *rewritten = NULL;
    size_t bytes = 0;
    struct try_words words = preprocessing(build, tools, source);
    add_dependencies(build, &words, object);
    struct error failed = {0};
    enum status status = run(build, &words, "", &printed, &failed);
    if (status != STATUS_OK)
        return status == STATUS_USAGE ? explain(build, tools, source, error)
                                      : error_pass(error, &failed);
    char *text = realloc(printed.output, printed.length + 1);
    if (text == NULL) {
        free(printed.output);
        return error_no_memory(error, "to compile");
    }
    text[printed.length] = '\0';
    status = try_rewrite(text, printed.length, &rewritten, &bytes, error);
    free(text);
    FILE *file = status == STATUS_OK ? fopen(path, "we") : NULL;
    if (status == STATUS_OK &&
        (file == NULL || fwrite(rewritten, 1, bytes, file) != bytes || fflush(file) != 0))
        status =
            error_set(error, STATUS_FAILED, "%s can't be written: %s", path, strerror(errno));
    if (file != NULL)
        fclose(file);
    free(rewritten);
    return status;
}

static enum status compile(struct try_build *build, const struct tools *tools,
                           const struct try_source *source, const char *object,
                           struct error *error)
{
    char path[PATH_MAX], what[PATH_MAX + 64];
    struct child printed = {.output = NULL};
    const bool is_c = source->language == TRY_C;
    enum status status = STATUS_OK;
    snprintf(path, sizeof path, "%s/source.ii", build->folder);
    if (!is_c)
        status = preprocess(build, tools, source, object, path, error);
    if (status != STATUS_OK)
        return status;
    struct try_words words = begin(build, tools, is_c ? "c" : "c++-cpp-output");
    add_all(build, &words, (const char *const[]){"-g", "-c", NULL});
    if (is_c)
        try_add(build, &words, tools->headers);
    if (!build->optimised)
        try_add(build, &words, "-O1");
    if (!build->no_watch && !is_c)
        add_watch(build, &words, tools);
    add_words(build, &words, &build->compile);
    add_all(build, &words,
            (const char *const[]){"-o", object, is_c ? source->path : path, NULL});
    snprintf(what, sizeof what, "%s does not compile", source->path);
    status = run(build, &words, what, &printed, error);
    free(printed.output);
    return status;
}

/* Has the program's objects call src/cpu/frees.c. */
#define WATCHED_FREES                                                                          \
    "-Wl,--wrap=free,--wrap=realloc,--wrap=munmap,--wrap=_ZdlPv,--wrap=_ZdaPv,"                \
    "--wrap=_ZdlPvm,--wrap=_ZdaPvm,--wrap=_ZdlPvSt11align_val_t,"                              \
    "--wrap=_ZdaPvSt11align_val_t,--wrap=_ZdlPvmSt11align_val_t,"                              \
    "--wrap=_ZdaPvmSt11align_val_t"

static enum status link_all(struct try_build *build, const struct tools *tools,
                            struct error *error)
{
    struct child printed = {.output = NULL};
    struct try_words words = {.items = NULL};
    add_words(build, &words, &tools->compiler);
    add_all(build, &words, (const char *const[]){"-o", build->output, NULL});
    add_words(build, &words, &build->flags_of_link);
    add_words(build, &words, &build->link);
    add_all(
        build, &words,
        (const char *const[]){WATCHED_FREES, tools->library, "-lm", "-lpthread", "-ldl", NULL});
    const enum status status =
        run(build, &words, "the program can't be linked", &printed, error);
    free(printed.output);
    return status;
}

/* Returns "saxpy.o" for "code/saxpy.cu". */
static const char *object_of(struct try_build *build, const struct try_source *source)
{
    char name[PATH_MAX];
    const char *slash = strrchr(source->path, '/');
    const char *base = slash != NULL ? slash + 1 : source->path, *dot = strrchr(base, '.');
    snprintf(name, sizeof name, "%.*s.o",
             (int)(dot != NULL ? (size_t)(dot - base) : strlen(base)), base);
    return arena_text(&build->storage, name);
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return one != NULL && stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

enum status try_build(struct try_build *build, struct error *error)
{
    struct tools tools = {.compiler = {.items = NULL}};
    if (build->source_count == 0 && (build->objects || build->link.count == 0))
        return error_set(error, STATUS_USAGE, "there is no source to compile: name a .cu file");
    if (build->objects && build->output != NULL && build->source_count > 1)
        return error_set(error, STATUS_USAGE,
                         "-o %s: it is one object, and there are %zu sources", build->output,
                         build->source_count);
    for (size_t i = 0; i < build->source_count; i++)
        if (is_same_file(build->output, build->sources[i].path))
            return error_set(error, STATUS_USAGE, "-o %s: it is a source", build->output);
    enum status status = find_tools(build, &tools, error);
    /* The folder also takes the temporary files of a compiler that is killed. */
    const char *place = getenv("TMPDIR");
    const char *before = place != NULL ? arena_text(&build->storage, place) : NULL;
    if (status == STATUS_OK && setenv("TMPDIR", build->folder, 1) != 0)
        status = error_no_memory(error, "to compile");
    for (size_t i = 0; i < build->source_count && status == STATUS_OK; i++) {
        const struct try_source *source = &build->sources[i];
        const char *object = !build->objects         ? source->object
                             : build->output != NULL ? build->output
                                                     : object_of(build, source);
        status = compile(build, &tools, source, object, error);
    }
    if (status == STATUS_OK && !build->objects)
        status = link_all(build, &tools, error);
    if (before != NULL)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(tools.compiler.items);
    return status;
}

/* Make files ask nvcc for its version, and look for a release. */
static const char version[] = "pipeline-nvcc: CUDA for the CPU, in simulated time\n"
                              "Cuda compilation tools, release 13.0, V13.0.0\n";

enum status try_nvcc(char *const *words, struct error *error)
{
    struct try_folder folder;
    struct try_build build = {.output = NULL};
    if (words[0] != NULL &&
        (strcmp(words[0], "--version") == 0 || strcmp(words[0], "-V") == 0)) {
        fputs(version, stdout);
        return STATUS_OK;
    }
    enum status status = try_folder_begin(&folder, error);
    build.folder = folder.path;
    if (status == STATUS_OK)
        status = try_take_words(&build, (const char *const *)words, error);
    if (status == STATUS_OK && build.output == NULL && !build.objects)
        build.output = "a.out";
    if (status == STATUS_OK)
        status = try_build(&build, error);
    try_build_free(&build);
    try_folder_end(&folder);
    return status;
}

void try_build_free(struct try_build *build)
{
    free(build->compile.items);
    free(build->depend.items);
    free(build->link.items);
    free(build->flags_of_link.items);
    free(build->sources);
    arena_free(&build->storage);
}
