/* test_emit_join.c - programs of --emit, compiled beside one another and run: see test_emit.h.
 */
#include "app/try.h"
#include "fixtures.h"
#include "test_emit.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define COMPILE                                                                                \
    EMIT_COMPILE " -I. -I" BUILD_FOLDER "/tests/emit -I" BUILD_FOLDER "/cuda -I" TESTS_FOLDER  \
                 "/emit -include pieces.h -c -o joined.o joined.cpp 2>err && " EMIT_LINK       \
                 " -rdynamic -Wl,--wrap=free,--wrap=realloc,--wrap=munmap,--wrap=_ZdlPv,"      \
                 "--wrap=_ZdaPv,--wrap=_ZdlPvm,--wrap=_ZdaPvm,--wrap=_ZdlPvSt11align_val_t,"   \
                 "--wrap=_ZdaPvSt11align_val_t,--wrap=_ZdlPvmSt11align_val_t,"                 \
                 "--wrap=_ZdaPvmSt11align_val_t -o joined joined.o " BUILD_FOLDER              \
                 "/libpipeline-cpu.a -ldl 2>err"

int emit_share(void)
{
#ifdef SANITIZED
    return 0;
#else
    const char *mode = getenv("PIPELINE_TESTS");
    if (mode != NULL && strcmp(mode, "quick") == 0)
        return 0;
    return mode != NULL && (strcmp(mode, "deep") == 0 || strcmp(mode, "full") == 0) ? 1 : 4;
#endif
}

/* --- programs beside one another --- */

static struct {
    FILE *includes, *body;
    char *first, *then; /* what was written to these */
    size_t first_size, then_size;
    char labels[EMIT_AT_ONCE][OPTIONS_TEXT];
    int count;
} joined;

/* Writes a line of a program that has a namespace of its own to itself: what it includes goes
 * before all of them, as kernel.h does for all, and what it defines ends with it. */
static void join_line(const char *line, FILE *includes, FILE *body, FILE *ends)
{
    static const char include[] = "#include <", define[] = "#define ";
    if (strncmp(line, include, strlen(include)) == 0) {
        fputs(line, includes);
        fputc('\n', body); /* so that lines keep their numbers */
        return;
    }
    if (strncmp(line, define, strlen(define)) == 0) {
        const char *name = line + strlen(define);
        fprintf(ends, "#undef %.*s\n", (int)strcspn(name, " (\n"), name);
    }
    fputs(line, body);
}

/* Adds a program's text, in a namespace of its own. */
static void join(const char *text, const char *label)
{
    char *line = NULL, *last;
    size_t room = 0, size;
    FILE *program = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    FILE *ends = open_memstream(&last, &size);
    if (joined.count == 0) {
        joined.includes = open_memstream(&joined.first, &joined.first_size);
        joined.body = open_memstream(&joined.then, &joined.then_size);
    }
    ck_assert_int_lt(joined.count, EMIT_AT_ONCE);
    snprintf(joined.labels[joined.count], OPTIONS_TEXT, "%s", label);
    fprintf(joined.body, "namespace program_%d {\n# 1 \"program_%d\"\n", joined.count,
            joined.count);
    while (getline(&line, &room, program) > 0)
        join_line(line, joined.includes, joined.body, ends);
    fclose(program);
    fclose(ends);
    fprintf(joined.body, "%s}\n", last);
    joined.count++;
    free(last);
    free(line);
}

/* Returns all that were added, to be freed, and is ready for others. */
static char *take_joined(const char *before, const char *behind)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fclose(joined.includes);
    fclose(joined.body);
    fprintf(out, "%s%s%s%s", before, joined.first, joined.then, behind);
    fclose(out);
    free(joined.first);
    free(joined.then);
    joined.count = 0;
    return text;
}

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    fputs(text, out);
    fclose(out);
}

void emit_check_nvcc_joined(char (*options)[OPTIONS_TEXT], int count)
{
    for (int i = 0; i < count; i++) {
        emit_write(options[i]);
        char *text = test_file_text("tiles.cu");
        join(text, options[i]);
        free(text);
    }
    char *all = take_joined("#include \"own_kernel.h\"\n", "");
    write_text("joined.cu", all);
    free(all);
    emit_nvcc_takes("joined.cu", options[0]);
}

/* --- programs on the CPU --- */

/* Writes `other` in the place of each `mark`. Returns a new text for the old one. */
static char *replace(char *text, const char *mark, const char *other)
{
    char *whole, *rest = text, *at;
    size_t length;
    FILE *out = open_memstream(&whole, &length);
    while ((at = strstr(rest, mark)) != NULL) {
        fprintf(out, "%.*s%s", (int)(at - rest), rest, other);
        rest = at + strlen(mark);
    }
    fputs(rest, out);
    fclose(out);
    free(text);
    return whole;
}

int emit_add(const char *options)
{
    char *text = test_file_text("tiles.cu");
    /* A tile of the CPU's has several pieces, and each is told: tests/emit/pieces.h. */
    text = replace(text, "CPU_PIECE = 16384", "CPU_PIECE = 64");
    text = replace(text, "std::min(CPU_PIECE, ", "piece_of(tile, from, CPU_PIECE, ");
    if (strstr(options, "--pack") != NULL)
        text = replace(text, " memcpy(", " pack_piece(");
    join(text, options);
    free(text);
    return joined.count - 1;
}

void emit_compile(void)
{
    struct error error = {0};
    char *mains, *rewritten;
    size_t size;
    FILE *out = open_memstream(&mains, &size);
    fputs("int main(int, char **words) {\n    switch (atoi(words[1])) {\n", out);
    for (int i = 0; i < joined.count; i++)
        fprintf(out, "    case %d: return program_%d::main();\n", i, i);
    fputs("    }\n    return -1;\n}\n", out);
    fclose(out);
    char *text = take_joined("", mains);
    test_must(try_rewrite(text, strlen(text), &rewritten, &size, &error), &error);
    out = fopen("joined.cpp", "w");
    fwrite(rewritten, 1, size, out);
    fclose(out);
    free(rewritten);
    free(text);
    free(mains);
    if (system(COMPILE) != 0) {
        char *why = test_file_text("err");
        const char *first = strstr(why, "program_");
        const int number = first != NULL ? atoi(first + strlen("program_")) : 0;
        ck_abort_msg("%s: %.2000s", joined.labels[number], why);
    }
}

/* Returns true if nothing races, and devices that copy to one another directly have been let
 * reach each other's memory, without which CUDA would take a way by the host. */
static bool is_clean(const char *options)
{
    const char *devices = strstr(options, "sim:h200*");
    char line[256];
    snprintf(line, sizeof line,
             "! grep -q '^pipeline: ' said && "
             "{ ! grep -q '^.\"op\",[0-9]*,\"peer\"' tiles.jsonl || "
             "[ \"$(grep -c '^.\"peer\"' tiles.jsonl)\" -eq %d ]; }",
             devices != NULL ? 2 * (atoi(devices + strlen("sim:h200*")) - 1) : 0);
    return system(line) == 0;
}

int emit_run(int number, const char *order)
{
    enum { NOT_CLEAN = 100 };
    char line[256];
    snprintf(
        line, sizeof line,
        "PIPELINE_TRY_TO=tiles.jsonl PIPELINE_TRY_DEVICES=8 PIPELINE_TRY_ORDER=%s ./joined %d "
        ">said 2>&1",
        order != NULL ? order : "simulated", number);
    const int status = system(line);
    if (status == 0 && !is_clean(joined.labels[number]))
        return NOT_CLEAN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int emit_run_on_cpu(const char *options)
{
    emit_add(options);
    emit_compile();
    return emit_run(0, NULL);
}

/* --- trials --- */

/* Emits a trial's program, edits it, and adds it to those that are compiled. */
static void add_trial(const struct emit_trial *trial)
{
    char line[3 * OPTIONS_TEXT];
    emit_write(trial->options);
    if (trial->edit != NULL) {
        snprintf(line, sizeof line,
                 "cp tiles.cu right.cu && sed -i '%s' tiles.cu && ! cmp -s tiles.cu right.cu",
                 trial->edit);
        ck_assert_msg(system(line) == 0, "%s: nothing is edited: %s", trial->options,
                      trial->edit);
    }
    emit_add(trial->options);
}

static void run_trial(const struct emit_trial *trial, int number)
{
    const int code = emit_run(number, trial->order);
    const char *edit = trial->edit != NULL ? trial->edit : "as it is";
    char *said = test_file_text("said");
    ck_assert_msg(trial->code == EMIT_NOT_RIGHT ? code != 0 : code == trial->code,
                  "%s: %s: exit code %d: %.1000s", trial->options, edit, code, said);
    ck_assert_msg(trial->says == NULL || strstr(said, trial->says) != NULL, "%s: %s: %.1000s",
                  trial->options, edit, said);
    free(said);
}

/* Compiles, runs and judges each `share`th trial. */
static void try_share(const struct emit_trial *trials, int count, int share)
{
    const struct emit_trial *now[EMIT_AT_ONCE];
    for (int i = 0, few = 0; share > 0 && i < count; i += share) {
        if (emit_is_there(trials[i].options)) {
            now[few++] = &trials[i];
            add_trial(&trials[i]);
        }
        if (few < EMIT_AT_ONCE && i + share < count)
            continue;
        emit_compile();
        for (int number = 0; number < few; number++)
            run_trial(now[number], number);
        few = 0;
    }
}

void emit_try(const struct emit_trial *trials, int count)
{
    try_share(trials, count, emit_share());
}

void emit_try_left_out(const struct emit_left_out *rows, int count)
{
    struct emit_trial *trials = calloc((size_t)count, sizeof *trials);
    char(*edits)[OPTIONS_TEXT] = calloc((size_t)count, sizeof *edits);
    for (int i = 0; i < count; i++) {
        snprintf(edits[i], OPTIONS_TEXT,
                 "s/^ *\\(%s\\)/if (static int calls = 0; calls++ < %d) \\1/", rows[i].call,
                 rows[i].calls);
        trials[i] = (struct emit_trial){rows[i].options, edits[i], NULL, " wrong", 1};
    }
    emit_try(trials, count);
    free(edits);
    free(trials);
}

void emit_try_late(const char *const *options, int count)
{
    struct emit_trial *trials = calloc((size_t)count, 2 * sizeof *trials);
    const int share = emit_share();
    int few = 0;
    for (int i = 0; share > 0 && i < count; i += share) {
        trials[few++] = (struct emit_trial){options[i], NULL, "first", NULL, 0};
        trials[few++] = (struct emit_trial){options[i], NULL, "last", NULL, 0};
    }
    try_share(trials, few, 1);
    free(trials);
}
