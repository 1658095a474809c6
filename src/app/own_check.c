/* own_check.c - `pipeline kernel check`: a kernel of the user's, tried on its own and in runs
 * of every kind.
 *
 * Each try is a process of its own, so that what crashes, hangs or spoils a device ends that
 * one alone. A part can be named; this process then makes it, where a debugger can look on. */
#include "app/commands.h"

#include "app/backends.h"
#include "kernels/kernel_code.h"
#include "kernels/own.h"
#include "term/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SECONDS = 60, /* that one try may take */
    WORDS_MAX = 24,
    LINE = 512,
    OUTPUT_MAX = 1 << 20,
};

/* The kernel that is tried, on which device, and how many tries went which way. */
struct tried {
    const struct kernel *kernel;
    const char *library, *device;
    bool real;
    int right, wrong;
};

/* --- tries that are processes --- */

/* Returns this process's standard output for words of its own: what a library prints goes to
 * the standard error, so that nobody takes it for a verdict. NULL: there is no such file. */
static FILE *open_own_output(void)
{
    const int own = dup(STDOUT_FILENO);
    FILE *out = own < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ? NULL : fdopen(own, "w");
    /* What a library prints stands before this program's errors, whose last line is sought. */
    setvbuf(stdout, NULL, _IONBF, 0);
    return out;
}

/* Returns the last line of what a child wrote to its standard error, cut up, without the
 * program's name. */
static const char *last_line(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    const char *line = strrchr(text, '\n');
    line = line != NULL ? line + 1 : text;
    return strncmp(line, "pipeline: ", 10) == 0 ? line + 10 : line;
}

/* Says why a child's end is none as it should be: NULL if it is. */
static const char *fault_of(enum child_end end, struct child *child, char text[LINE])
{
    /* A library may end the program so that it looks well, but not so that it says what it
     * would. */
    if (end == CHILD_EXITED && child->code == 0 && child->length > 0)
        return NULL;
    if (end == CHILD_EXITED && child->code == 0)
        return "the program was ended, and not by itself";
    const char *line = last_line(child->errors);
    if (end == CHILD_LATE)
        snprintf(text, LINE, "it had not ended after %d s", SECONDS);
    else if (end == CHILD_EXITED || (end == CHILD_SIGNALLED && line[0] != '\0'))
        snprintf(text, LINE, "%.*s", LINE - 1,
                 line[0] != '\0' ? line : "it failed, and said nothing");
    else if (end == CHILD_SIGNALLED)
        snprintf(text, LINE, "it was ended by signal %d (%s)", child->code,
                 strsignal(child->code));
    else if (end == CHILD_FLOODED)
        snprintf(text, LINE, "it printed more than a MiB");
    else
        snprintf(text, LINE, "it could not be run: %s", strerror(child->code));
    return text;
}

static void say_untried(const char *kind, const char *why)
{
    printf("not tried  %-9s %s\n", kind, why);
    fflush(stdout);
}

/* Runs this program with `words`, ended by NULL, and prints a line about it: "ok" with what it
 * printed, where that is one line, else with `what`; or what was wrong. */
static enum child_end try_words(struct tried *tried, const char *kind, const char *what,
                                char *words[])
{
    struct child child = {.arguments = words, .output_max = OUTPUT_MAX, .seconds = SECONDS};
    char text[LINE];
    const enum child_end end = child_run(&child);
    const char *fault = fault_of(end, &child, text);
    /* A device that lacks something, graphs perhaps, makes no kernel wrong. */
    const bool lacks =
        end == CHILD_EXITED && (child.code == status_exit_code(STATUS_NO_DEVICE) ||
                                (what != NULL && child.code == status_exit_code(STATUS_USAGE)));
    if (fault == NULL)
        printf("ok         %-9s %.*s\n", kind,
               what != NULL ? (int)strlen(what) : (int)strcspn(child.output, "\n"),
               what != NULL ? what : child.output);
    else
        printf("%-10s %-9s %s%s%s\n", lacks ? "not tried" : "WRONG", kind,
               what != NULL ? what : "", what != NULL ? ": " : "", fault);
    fflush(stdout);
    tried->right += fault == NULL;
    tried->wrong += fault != NULL && !lacks;
    free(child.output);
    return end;
}

/* Returns false where there is nothing to try it on. */
static bool try_named_part(struct tried *tried, char *part)
{
    char device[LINE];
    snprintf(device, sizeof device, "--device=%s", tried->device);
    char *words[] = {"/proc/self/exe",       "kernel", "check", device,
                     (char *)tried->library, part,     NULL};
    const int told = tried->right + tried->wrong;
    try_words(tried, part, NULL, words);
    return tried->right + tried->wrong > told;
}

/* Some runs ask that a kernel is this: others would be refused, and say nothing about it. */
enum {
    MAP = 1,
    TWIN = 2,
    FROM_FLOAT = 4,
    TO_FLOAT = 8,
    IN_PLACE = 16, /* its results can take the place of its input, which they do in chains */
};

/* The runs: every way, order, layout, memory and way to issue. @ is the library, in a chain; a
 * run that names none has it alone. */
static const struct sample {
    const char *options;
    unsigned asks; /* of what the kernel must be */
} samples[] = {
    {"-n 100003 -t 13", 0},
    {"-n 100003 -t 13 --streams=1", 0},
    {"-n 100003 -t 1", 0},
    {"-n 1 -t 1", 0},
    {"-n 1009 -t 1009 --streams=8", 0},
    {"-n 100003 -t 13 --ways=1", 0},
    {"-n 100003 -t 13 --ways=2", 0},
    {"-n 100003 -t 13 --ways=4 --cpu-share=0.3", TWIN},
    {"-n 100003 -t 13 --order=breadth", 0},
    {"-n 100003 -t 13 --layout=stage", 0},
    {"-n 100003 -t 13 --order=breadth --layout=stage --callbacks", 0},
    {"-n 100003 -t 13 --priorities=-1,0", 0},
    {"-n 100003 -t 13 --issue=graph", 0},
    {"-n 100003 -t 13 --issue=batch --batch=3", 0},
    {"-n 100003 -t 13 --pack", 0},
    {"-n 100003 -t 13 --memory=mapped", 0},
    {"-n 100003 -t 13 --memory=pageable", 0},
    {"-n 100003 -t 13 --memory=registered", 0},
    {"-n 100003 -t 13 --memory=managed", 0},
    {"-n 100003 -t 13 --alloc=async", 0},
    {"-n 100003 -t 13 --scatter", 0},
    {"-n 64k -t 128 --copy=2d --tile-width=16", 0},
    {"-n 100003 -t 13 --kernel=scale,@", FROM_FLOAT | IN_PLACE},
    {"-n 100003 -t 13 --kernel=@,sum --order=breadth", MAP | TWIN | TO_FLOAT | IN_PLACE},
    {"-n 100003 -t 13 --kernel=@,scale,@", MAP | FROM_FLOAT | TO_FLOAT | IN_PLACE},
};

/* Makes the words of a run, for which `text` has room. */
static void make_words(const struct tried *tried, const char *options, char *text, size_t size,
                       char *words[WORDS_MAX])
{
    const char *library = tried->library;
    int count = 0;
    FILE *out = fmemopen(text, size, "w");
    words[0] = NULL;
    if (out == NULL)
        return;
    fprintf(out, "--device=%s", tried->device);
    if (strchr(options, '@') == NULL)
        fprintf(out, "%c--kernel=%s", 0, library);
    fputc(0, out);
    for (; *options != '\0'; options++) {
        if (*options == '@')
            fputs(library, out);
        else
            fputc(*options == ' ' ? 0 : *options, out);
    }
    fputc(0, out);
    fputc(0, out);
    fclose(out);
    words[count++] = "/proc/self/exe";
    words[count++] = "--quiet";
    words[count++] = "--gantt=none";
    words[count++] = "--runs=1";
    for (char *word = text; *word != '\0' && count < WORDS_MAX - 1; word += strlen(word) + 1)
        words[count++] = word;
    words[count] = NULL;
}

static unsigned nature(const struct kernel *kernel)
{
    const bool reduces = kernel->shape == KERNEL_REDUCE;
    const bool in_place = reduces || dtype_bytes(kernel->in) == dtype_bytes(kernel->out);
    return (reduces ? 0 : MAP) | (kernel_lacks_twin(kernel) ? 0 : TWIN) |
           (kernel->in == DTYPE_F32 ? FROM_FLOAT : 0) |
           (kernel->out == DTYPE_F32 ? TO_FLOAT : 0) | (in_place ? IN_PLACE : 0);
}

static enum status try_runs(struct tried *tried, struct error *error)
{
    const size_t size = 3 * strlen(tried->library) + strlen(tried->device) + LINE;
    char *text = malloc(size);
    enum child_end end = CHILD_EXITED;
    if (text == NULL)
        return error_no_memory(error, "to try a kernel");
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char *words[WORDS_MAX];
        /* A kernel that does not end once would take its minute each time. */
        if ((samples[i].asks & ~nature(tried->kernel)) != 0 || end == CHILD_LATE)
            continue;
        make_words(tried, samples[i].options, text, size, words);
        if (words[0] == NULL) {
            free(text);
            return error_no_memory(error, "to try a kernel");
        }
        end = try_words(tried, "run", samples[i].options, words);
        if (end == CHILD_LATE)
            say_untried("run", "the others: what does not end once would not end there");
    }
    free(text);
    return STATUS_OK;
}

/* --- all of it --- */

static enum status try_all(struct tried *tried, struct error *error)
{
    const struct kernel *kernel = tried->kernel;
    const bool launches = kernel_launcher(kernel) != NULL;
    const char *untried = !launches ? "it has none" : "that takes a CUDA device";
    printf("%s: %s, %s -> %s%s, tried on %s\n", tried->library, kernel->name,
           dtype_name(kernel->in), dtype_name(kernel->out),
           kernel->shape == KERNEL_REDUCE ? ", one value per tile" : "", tried->device);
    fflush(stdout);
    if (kernel_lacks_twin(kernel))
        say_untried("twin", "it has none");
    else
        try_named_part(tried, "twin");
    if (!tried->real) {
        say_untried("launcher", untried);
        say_untried("cost", untried);
    }
    if (tried->real && tried->wrong == 0 && !try_named_part(tried, "launcher"))
        return error_set(error, STATUS_NO_DEVICE, "%s: there is no %s to try it on",
                         tried->library, tried->device);
    const bool sound = tried->wrong == 0; /* a wrong cost makes no run wrong */
    if (tried->real && sound)
        try_named_part(tried, "cost");
    if (sound && try_runs(tried, error) != STATUS_OK)
        return error->status;
    if (!sound)
        say_untried("run", "that builds on what is wrong");
    if (tried->wrong > 0)
        return error_set(error, STATUS_FAILED, "%s: %d of %d tries went wrong", tried->library,
                         tried->wrong, tried->wrong + tried->right);
    printf("All %d are right. A run is `pipeline --kernel=%s` with those options; @ is the "
           "library.\n",
           tried->right, tried->library);
    return STATUS_OK;
}

enum status own_check(const struct options *options, struct error *error)
{
    const char *library = options->words[1], *part = options->words[2];
    struct tried tried = {.device = options->runs[0].device};
    FILE *out = part != NULL ? open_own_output() : stdout;
    if (out == NULL)
        return error_set(error, STATUS_FAILED, "the standard output can't be used");
    tried.kernel = kernel_own_open(library, error);
    if (tried.kernel == NULL)
        return error->status;
    tried.library = tried.kernel->file;
    if (strchr(library, ',') != NULL)
        return error_set(error, STATUS_USAGE,
                         "%.300s: a path with a comma can't be named by --kernel", library);
    tried.real = backends_measure(tried.device) && kernel_launcher(tried.kernel) != NULL;
    if (part != NULL) {
        const enum status status = own_part_try(part, tried.device, tried.kernel, out, error);
        return fclose(out) == 0 || status != STATUS_OK
                   ? status
                   : error_set(error, STATUS_FAILED, "the standard output can't be written");
    }
    if (!tried.real && kernel_lacks_twin(tried.kernel))
        return error_set(
            error, STATUS_NO_DEVICE,
            "%s has no CPU twin, so that it takes a CUDA device to try it: name one "
            "by --device",
            tried.library);
    if (strcmp(tried.device, "auto") == 0)
        tried.device = tried.real ? "cuda:0" : "sim:h200";
    if (!tried.real && backends_measure(tried.device))
        return error_set(error, STATUS_USAGE,
                         "--device=%s: %s has no launcher, so that nothing of it runs on a "
                         "GPU: allowed are simulated machines",
                         tried.device, tried.library);
    if (!tried.real) { /* of a device that there is not, all tries would say so */
        if (own_part_open(tried.device, error) != STATUS_OK)
            return error->status;
    }
    return try_all(&tried, error);
}
