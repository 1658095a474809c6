/* head.c - the head of a program: what it shows, the commands that make it and run it, and
 * what it includes. */
#include "core/version.h"
#include "emit/parts.h"
#include "options/options.h"
#include "plan/mistake.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 512, DEALING = 96, WORDS = 40 /* of the chain in a line, about */ };

/* Returns the kernels of the chain, in words. */
static const char *chain_words(const struct plan *plan, char text[TEXT])
{
    int length = 0, column = 0;
    for (int i = 0; i < plan->chain_length; i++) {
        const bool full = column + strlen(plan->chain[i]->name) > WORDS;
        const int more = snprintf(text + length, (size_t)(TEXT - length), "%s%s",
                                  i == 0 ? ""
                                  : full ? ", then\n// "
                                         : ", then ",
                                  plan->chain[i]->name);
        length += more;
        column = full ? (int)strlen(plan->chain[i]->name) : column + more;
    }
    return text;
}

static const char *ways_words(const struct emit_program *program)
{
    if (program->plan->cpu_tiles > 0)
        return "4-way: the CPU has a share";
    if (program->plan->memory == MEMORY_MAPPED)
        return "kernels work on the host's memory";
    if (program->plan->memory == MEMORY_MANAGED && !program->plan->prefetches)
        return "kernels have pages of managed memory move to them";
    if (program->plan->streams == 1 && program->settings->ways == 3)
        return "3-way in a single stream: nothing overlaps";
    switch (program->settings->ways) {
    case 1:
        return "serial: nothing overlaps";
    case 2:
        return "2-way: kernels overlap the copies out";
    case 4:
        return "4-way, of which the CPU got no tile";
    default:
        return "3-way: copies and kernels overlap";
    }
}

/* --- how it was made --- */

/* Writes a word for a shell, as a part of a comment: with a backslash before what means
 * something there, and as an octal number in $'...' what would end the line or is no plain
 * character. A trigraph begins with two question marks. */
static void put_word(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~')
            fprintf(out, "$'\\%03o'", (unsigned)(unsigned char)*text);
        else
            fprintf(out, "%s%c", strchr(" \"#$&'()*;<>?[\\]^`{|}~!", *text) != NULL ? "\\" : "",
                    *text);
    }
}

/* Which options of a run are as usual: lines of names and values, each behind a newline. */
struct usual {
    const struct settings *settings; /* those of the command */
    FILE *out, *command;
    char *text;
};

static void put_chain(FILE *out, const struct settings *settings)
{
    for (int i = 0; i < settings->chain_length; i++) {
        const struct kernel *kernel = settings->chain[i];
        fprintf(out, "%s", i > 0 ? "," : "");
        put_word(out, kernel->file != NULL ? kernel->file : kernel->name);
    }
}

static void put_usual(void *context, const char *name, const char *value, enum value_kind kind)
{
    struct usual *usual = context;
    (void)kind;
    fprintf(usual->out, "\n%s=%s\n", name, value == NULL ? "" : value);
}

static void put_option(void *context, const char *name, const char *value, enum value_kind kind)
{
    struct usual *usual = context;
    char line[TEXT];
    snprintf(line, sizeof line, "\n%s=%s\n", name, value == NULL ? "" : value);
    if (value == NULL || strstr(usual->text, line) != NULL)
        return;
    fprintf(usual->command, " --%s=", name);
    if (strcmp(name, "kernel") == 0) { /* a value is cut where paths make it too long */
        put_chain(usual->command, usual->settings);
        return;
    }
    put_word(usual->command, kind != VALUE_BOOL           ? value
                             : strcmp(value, "true") == 0 ? "yes"
                                                          : "no");
}

/* Writes the options that make the plan, of those that are not as usual: each has a blank
 * before it, and none in it that has no backslash. Returns false where memory ran out. */
static bool put_options(FILE *command, const struct settings *settings)
{
    struct settings defaults, shown = *settings;
    struct usual usual = {.settings = settings, .command = command};
    struct error error;
    size_t length;
    if (settings_set_defaults(&defaults, &error) != STATUS_OK ||
        (usual.out = open_memstream(&usual.text, &length)) == NULL)
        return false;
    defaults.intensity = chain_usual_intensity(settings->chain, settings->chain_length);
    settings_each_of(&defaults, (struct settings_shown){.several = true, .halo = true},
                     put_usual, &usual);
    const bool whole = fclose(usual.out) == 0;
    shown.no_data = defaults.no_data; /* how pipeline runs it is no part of the program */
    shown.profile = defaults.profile;
    if (settings->ways != 4) /* meant for another run, and refused beside these ways */
        shown.cpu_share = defaults.cpu_share;
    if (whole)
        settings_each(&shown, put_option, &usual);
    free(usual.text);
    return whole;
}

/* Writes a text as a comment, broken at blanks into lines that are indented from the second on;
 * a word that is longer than a line is broken, too. */
static void put_comment(FILE *out, const char *text)
{
    static const char next[] = "\n//    ";
    int column = fprintf(out, "//");
    while (*text != '\0') {
        const int room = EMIT_COLUMNS - (int)strlen(next);
        int length = 1;
        while (length < room && text[length] != '\0' &&
               (text[length] != ' ' || text[length - 1] == '\\'))
            length++;
        if (text[length] != '\0' && text[length - 1] == '\\')
            length--; /* no line may end so: the next would be a part of it */
        if (column + length > EMIT_COLUMNS)
            column = fprintf(out, "%s", next) - 1;
        column += fprintf(out, "%.*s", length, text);
        text += length;
    }
    fputc('\n', out);
}

/* Writes the commands that make the program and run it, in one line if that has room. */
static bool put_commands(FILE *out, const struct emit_program *program)
{
    char *text = NULL, run[TEXT];
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    if (memory == NULL)
        return false;
    snprintf(run, sizeof run, "nvcc -O3%s THIS.cu%s && ./a.out",
             program->plan->packs ? " -Xcompiler -fopenmp" : "",
             emit_count_own(program) > 0 ? " -ldl"
             : emit_is_product(program)  ? " -lcublas"
                                         : "");
    fprintf(memory, " By pipeline " PIPELINE_VERSION ": pipeline");
    bool whole = put_options(memory, program->settings);
    fprintf(memory, " --emit=THIS.cu");
    whole &= fclose(memory) == 0;
    if (whole && strlen("//") + length + strlen(" && ") + strlen(run) <= EMIT_COLUMNS) {
        fprintf(out, "//%s && %s\n", text, run);
    } else if (whole) {
        put_comment(out, text);
        fprintf(out, "// To compile and run: %s\n", run);
    }
    free(text);
    return whole;
}

/* Writes the headers that every program needs, and those of which `body` has a word. */
static void put_includes(FILE *out, const char *body)
{
    static const struct {
        const char *header, *words[2]; /* none: always */
    } headers[] = {
        {"algorithm", {"std::min", "std::max("}},
        {"atomic", {"std::atomic"}},
        {"cfloat", {"_EPSILON"}},
        {"chrono", {NULL}},
        {"cmath", {NULL}},
        {"cstdio", {NULL}},
        {"cstdlib", {NULL}},
        {"cstring", {"memcpy(", "memset("}},
        {"thread", {"std::thread", "std::this_thread"}},
        {"utility", {"std::swap("}},
        {"vector", {"std::vector"}},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        bool needed = headers[i].words[0] == NULL;
        for (int word = 0; word < 2 && headers[i].words[word] != NULL; word++)
            needed |= strstr(body, headers[i].words[word]) != NULL;
        if (needed)
            fprintf(out, "#include <%s>\n", headers[i].header);
    }
}

/* Returns how tiles come to devices and streams, in words. */
static const char *dealing_words(const struct emit_program *program, char text[DEALING])
{
    const bool by_stage = emit_streams_by_stage(program), deals = emit_deals_streams(program);
    const char *items = program->plan->batch > 1 ? "batches" : "tiles";
    if (emit_is_handed(program))
        snprintf(text, DEALING, "the chain in parts on %" PRIu32 " devices%s",
                 plan_devices(program->plan),
                 by_stage ? ", on each a stream for each stage"
                 : deals  ? ", tiles dealt to their streams"
                          : ", each with one stream");
    else if (emit_has_devices(program))
        snprintf(text, DEALING, "%s dealt over %" PRIu32 " devices%s", items, program->devices,
                 by_stage ? ", on each a stream for each stage"
                 : deals  ? " and their streams"
                          : ", each with one stream");
    else
        snprintf(text, DEALING, "%s%s", by_stage || !deals ? "" : items,
                 by_stage ? "a stream for each stage"
                 : deals  ? " dealt to streams"
                          : "in one stream");
    return text;
}

bool emit_head(FILE *out, const struct emit_program *program, const char *body)
{
    const struct plan *plan = program->plan;
    const struct settings *settings = program->settings;
    char chain[2 * TEXT], how[TEXT], words[TEXT], dealing[DEALING];
    snprintf(how, sizeof how, "%s-first, %s.",
             settings->order == ORDER_BREADTH ? "Breadth" : "Depth",
             dealing_words(program, dealing));
    const int length =
        snprintf(chain, sizeof chain, "// %" PRIu32 " tile%s of %s, %s.", plan->tiles,
                 plan->tiles == 1 ? "" : "s", chain_words(plan, words), ways_words(program));
    if (program->plan->has_halo)
        emit_fill(out, 0, program, "stencil_head", NULL, NULL);
    else
        fprintf(out, "%s%s%s\n", chain,
                (size_t)length + strlen(how) < EMIT_COLUMNS ? " " : "\n// ", how);
    if (settings->mistake != MISTAKE_NONE)
        fprintf(out, "// Mistake: %s.\n", mistake_rows[settings->mistake].summary);
    const bool whole = put_commands(out, program);
    put_includes(out, body);
    emit_fill(out, 0, program, "head", NULL, NULL);
    return whole;
}
