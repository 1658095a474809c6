/* try_flags.c - the words of nvcc's command line, as g++ and clang++ have them. What has no
 * meaning on the CPU is left out, and what nothing here knows is refused. */
#include "app/try.h"

#include "core/items.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum use {
    LEFT_OUT,
    COMPILED,     /* a flag of the compiler's, as it is */
    LINKED,       /* likewise, when the program is linked */
    LIBRARY,      /* -l */
    DEPENDENCIES, /* a flag of the preprocessor's, for make */
    STANDARD,     /* -std */
    STREAM,       /* --default-stream */
    TO_COMPILER,  /* -Xcompiler: flags with commas between them, of both steps */
    TO_LINKER,    /* -Xlinker */
    LANGUAGE,     /* -x */
    OUTPUT,       /* -o */
    OBJECT,       /* -c */
};

/* How a flag has its value. */
enum form {
    ALONE,  /* none */
    VALUED, /* -x=VALUE, -x VALUE */
    JOINED, /* -xVALUE, -x VALUE */
    BEGUN,  /* -xVALUE */
};

static const struct flag {
    const char *name, *longer; /* the second may be NULL */
    enum form form;
    enum use use;
} flags[] = {
    {"-c", "--compile", ALONE, OBJECT},
    {"-dc", "--device-c", ALONE, OBJECT},
    {"-o", "--output-file", JOINED, OUTPUT},
    {"-x", NULL, VALUED, LANGUAGE},
    {"-std", "--std", VALUED, STANDARD},
    {"-default-stream", "--default-stream", VALUED, STREAM},
    {"-Xcompiler", "--compiler-options", VALUED, TO_COMPILER},
    {"-Xlinker", "--linker-options", VALUED, TO_LINKER},
    {"-MD", NULL, ALONE, DEPENDENCIES},
    {"-MMD", NULL, ALONE, DEPENDENCIES},
    {"-MP", NULL, ALONE, DEPENDENCIES},
    {"-MF", NULL, VALUED, DEPENDENCIES},
    {"-MT", NULL, VALUED, DEPENDENCIES},
    {"-arch", "--gpu-architecture", VALUED, LEFT_OUT},
    {"-gencode", "--generate-code", VALUED, LEFT_OUT},
    {"-code", "--gpu-code", VALUED, LEFT_OUT},
    {"-ccbin", "--compiler-bindir", VALUED, LEFT_OUT},
    {"-maxrregcount", "--maxrregcount", VALUED, LEFT_OUT},
    {"-Xptxas", "--ptxas-options", VALUED, LEFT_OUT},
    {"-Xcudafe", NULL, VALUED, LEFT_OUT},
    {"-diag-suppress", "--diag-suppress", VALUED, LEFT_OUT},
    {"-cudart", "--cudart", VALUED, LEFT_OUT},
    {"-rdc", "--relocatable-device-code", VALUED, LEFT_OUT},
    {"-ftz", NULL, VALUED, LEFT_OUT},
    {"-fmad", "--fmad", VALUED, LEFT_OUT},
    {"-prec-div", NULL, VALUED, LEFT_OUT},
    {"-prec-sqrt", NULL, VALUED, LEFT_OUT},
    {"-t", "--threads", VALUED, LEFT_OUT},
    {"-lineinfo", "--generate-line-info", ALONE, LEFT_OUT},
    {"-G", "--device-debug", ALONE, LEFT_OUT},
    {"--debug", NULL, ALONE, LEFT_OUT},
    {"-extended-lambda", "--extended-lambda", ALONE, LEFT_OUT},
    {"-expt-extended-lambda", "--expt-extended-lambda", ALONE, LEFT_OUT},
    {"-expt-relaxed-constexpr", "--expt-relaxed-constexpr", ALONE, LEFT_OUT},
    {"-use_fast_math", "--use_fast_math", ALONE, LEFT_OUT},
    {"-restrict", NULL, ALONE, LEFT_OUT},
    {"-Wno-deprecated-gpu-targets", NULL, ALONE, LEFT_OUT},
    {"-res-usage", "--resource-usage", ALONE, LEFT_OUT},
    {"-m64", NULL, ALONE, LEFT_OUT},
    {"-m", NULL, VALUED, LEFT_OUT},
    {"-isystem", NULL, JOINED, COMPILED},
    {"-include", NULL, JOINED, COMPILED},
    {"-I", NULL, JOINED, COMPILED},
    {"-D", NULL, JOINED, COMPILED},
    {"-U", NULL, JOINED, COMPILED},
    {"-O", NULL, BEGUN, COMPILED},
    {"-g", NULL, ALONE, COMPILED},
    {"-w", NULL, ALONE, COMPILED},
    {"-Wl,", NULL, BEGUN, LINKED},
    {"-W", NULL, BEGUN, COMPILED},
    {"-f", NULL, BEGUN, COMPILED},
    {"-pthread", NULL, ALONE, COMPILED},
    {"-L", NULL, JOINED, LINKED},
    {"-l", NULL, JOINED, LIBRARY},
};

/* Libraries of CUDA's: what the program is linked with has what the first ones have. */
static const char *const there[] = {"cudart", "cudart_static", "cuda",       "cudadevrt",
                                    "cublas", "cublasLt",      "nvToolsExt", NULL};
/* Beginnings of the names of those that are not there. */
static const char *const lacking[] = {
    "cufft",         "cusparse",  "cusolver", "curand", "nvrtc", "cudnn", "nccl",
    "cublas_static", "nvJitLink", "cutensor", "nvjpeg", "npp",   NULL};
static const char *const lacking_headers[] = {
    "thrust/", "cub/", "cuda/", "cuda_fp", "cuda_bf", "mma.", "cutlass/", "cublas", NULL};

bool try_add(struct try_build *build, struct try_words *words, const char *word)
{
    const char *kept = arena_text(&build->storage, word);
    if (kept == NULL || !ITEMS_ROOM(words->items, words->count, words->capacity)) {
        build->storage.full = true;
        return false;
    }
    words->items[words->count++] = kept;
    return true;
}

/* Adds each part of a list with commas. */
static void add_list(struct try_build *build, struct try_words *words, const char *list)
{
    char *rest = arena_text(&build->storage, list);
    for (char *part; rest != NULL && (part = strsep(&rest, ",")) != NULL;) {
        if (part[0] != '\0')
            try_add(build, words, part);
    }
}

static bool is_in(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Returns true if `word` is a flag of that name, and sets *value to what of it is the value;
 * NULL: in the next. */
static bool is_named(const char *word, const char *name, enum form form, const char **value)
{
    const size_t length = strlen(name);
    if (strncmp(word, name, length) != 0)
        return false;
    const char *rest = word + length;
    const bool valued = form == VALUED && *rest == '=';
    *value = *rest == '\0' ? NULL : rest + valued;
    return *rest == '\0' || form >= JOINED || valued;
}

static bool begins_one_of(const char *const *beginnings, const char *name)
{
    while (*beginnings != NULL && strncmp(name, *beginnings, strlen(*beginnings)) != 0)
        beginnings++;
    return *beginnings != NULL;
}

bool try_lacks(const char *header)
{
    return begins_one_of(lacking, header) || begins_one_of(lacking_headers, header);
}

static const struct flag *flag_of(const char *word, const char **value)
{
    EACH (const struct flag, flag, flags, sizeof flags / sizeof *flags) {
        const enum form longer = flag->form == ALONE ? ALONE : VALUED;
        if (is_named(word, flag->name, flag->form, value) ||
            (flag->longer != NULL && is_named(word, flag->longer, longer, value)))
            return flag;
    }
    return NULL;
}

/* The headers are C++17: what is older becomes that. */
static const char *standard_of(const char *value)
{
    const char *digits = strchr(value, '+');
    const char *year = digits != NULL ? digits + strspn(digits, "+") : "";
    const bool older = strcmp(year, "98") == 0 || year[0] == '0' || strcmp(year, "11") == 0 ||
                       strcmp(year, "1y") == 0 || strcmp(year, "14") == 0;
    return !older ? value : value[0] == 'g' ? "gnu++17" : "c++17";
}

static enum status take_library(struct try_build *build, const char *word, const char *name,
                                struct error *error)
{
    if (begins_one_of(lacking, name))
        return error_set(error, STATUS_USAGE,
                         "-l%s: there is no such library on the CPU: of CUDA's there are the "
                         "runtime, cuBLAS and NVTX",
                         name);
    if (!is_in(there, name))
        try_add(build, &build->link, word);
    return STATUS_OK;
}

static enum status take_flag(struct try_build *build, const struct flag *flag, const char *word,
                             const char *value, struct error *error)
{
    char text[4096];
    switch (flag->use) {
    case LEFT_OUT:
        break;
    case COMPILED:
        /* One word each: "-I" "folder" is "-Ifolder". */
        if (strncmp(word, "-i", 2) == 0) {
            try_add(build, &build->compile, flag->name);
            try_add(build, &build->compile, value);
            break;
        }
        snprintf(text, sizeof text, "%s%s", flag->name, value != NULL ? value : "");
        try_add(build, &build->compile, text);
        build->optimised |= strcmp(flag->name, "-O") == 0;
        break;
    case LINKED:
        snprintf(text, sizeof text, "%s%s", flag->name, value);
        try_add(build, &build->link, text);
        break;
    case LIBRARY:
        snprintf(text, sizeof text, "-l%s", value);
        return take_library(build, text, value, error);
    case DEPENDENCIES:
        try_add(build, &build->depend, flag->name);
        if (value != NULL)
            try_add(build, &build->depend, value);
        break;
    case STANDARD:
        snprintf(text, sizeof text, "-std=%s", standard_of(value));
        build->standard = arena_text(&build->storage, text);
        break;
    case STREAM:
        if (strcmp(value, "per-thread") == 0)
            try_add(build, &build->compile, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
        break;
    case TO_COMPILER:
        add_list(build, &build->compile, value);
        add_list(build, &build->flags_of_link, value);
        break;
    case TO_LINKER:
        snprintf(text, sizeof text, "-Wl,%s", value);
        try_add(build, &build->link, text);
        break;
    case LANGUAGE:
        build->cuda = strcmp(value, "cu") == 0;
        break;
    case OUTPUT:
        build->output = arena_text(&build->storage, value);
        break;
    case OBJECT:
        build->objects = true;
        break;
    }
    return STATUS_OK;
}

/* Takes a file by its ending. */
static enum status take_file(struct try_build *build, const char *word, struct error *error)
{
    static const char *const hosts[] = {".cpp", ".cc", ".cxx", ".C", ".c++", NULL};
    static const char *const linked[] = {".o", ".a", ".so", NULL};
    char object[4096];
    if (access(word, R_OK) != 0)
        return error_set(error, STATUS_USAGE, "%s can't be read: %s", word, strerror(errno));
    const char *slash = strrchr(word, '/'),
               *ending = strrchr(slash != NULL ? slash : word, '.');
    if (ending != NULL && (is_in(linked, ending) || strstr(word, ".so.") != NULL)) {
        try_add(build, &build->link, word);
        return STATUS_OK;
    }
    const enum try_language language =
        build->cuda || (ending != NULL && strcmp(ending, ".cu") == 0) ? TRY_CUDA
        : ending != NULL && is_in(hosts, ending)                      ? TRY_CXX
        : ending != NULL && strcmp(ending, ".c") == 0                 ? TRY_C
                                                                      : TRY_NONE;
    if (language == TRY_NONE)
        return error_set(error, STATUS_USAGE,
                         "%s: what is in it is not known by its name: allowed are .cu, .cpp, "
                         ".cc, .cxx, .c, .o, .a and .so",
                         word);
    struct try_source *source =
        ITEMS_ADD(build->sources, build->source_count, build->source_room);
    snprintf(object, sizeof object, "%s/%zu.o", build->folder, build->source_count);
    if (source == NULL || !try_add(build, &build->link, object)) {
        build->storage.full = true;
        return STATUS_OK;
    }
    *source = (struct try_source){.path = arena_text(&build->storage, word),
                                  .object = build->link.items[build->link.count - 1],
                                  .language = language};
    return STATUS_OK;
}

enum status try_take_words(struct try_build *build, const char *const *words,
                           struct error *error)
{
    enum status status = STATUS_OK;
    for (; *words != NULL && status == STATUS_OK; words++) {
        const char *value = NULL, *word = *words;
        if (word[0] != '-' || word[1] == '\0') {
            status = take_file(build, word, error);
            continue;
        }
        const struct flag *flag = flag_of(word, &value);
        if (flag == NULL)
            return error_set(error, STATUS_USAGE,
                             "%.200s is neither an option of `pipeline try` nor a flag of "
                             "nvcc's that is known here",
                             word);
        if (value == NULL && flag->form != ALONE && flag->form != BEGUN) {
            value = words[1];
            if (value == NULL)
                return error_set(error, STATUS_USAGE, "%s needs a value", word);
            words++;
        }
        status = take_flag(build, flag, word, value, error);
    }
    return status == STATUS_OK && build->storage.full ? error_no_memory(error, "to compile")
                                                      : status;
}
