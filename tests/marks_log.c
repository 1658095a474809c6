/* marks_log.c - reads what a tool was told, and holds it against a plan. */
#include "marks_log.h"
#include "machine/machine.h"
#include "options/options.h"
#include "plan/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 9, THREADS = 64 };

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "no %s: no tool was attached", path);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    char *text = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(text);
    rewind(file);
    ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
    text[size] = '\0';
    fclose(file);
    return text;
}

static int split(char *line, char *fields[FIELDS])
{
    int count = 0;
    for (char *rest = line; rest != NULL && count < FIELDS;)
        fields[count++] = strsep(&rest, "\t");
    return count;
}

/* The depth of each thread in its ranges. */
struct depths {
    long threads[THREADS];
    int depth[THREADS];
    int count;
};

static int *depth_of(struct depths *depths, long thread)
{
    int at = 0;
    while (at < depths->count && depths->threads[at] != thread)
        at++;
    ck_assert_int_lt(at, THREADS);
    if (at == depths->count)
        depths->threads[depths->count++] = thread;
    return &depths->depth[at];
}

static void add_mark(struct marks_log *log, char *fields[FIELDS], struct depths *depths)
{
    if ((log->count & (log->count - 1)) == 0) { /* full: the room is a power of two */
        size_t room = log->count > 0 ? 2 * log->count : 1;
        log->marks = realloc(log->marks, room * sizeof *log->marks);
        ck_assert_ptr_nonnull(log->marks);
    }
    struct mark *mark = &log->marks[log->count++];
    *mark = (struct mark){.thread = atol(fields[1]),
                          .level = atoi(fields[3]),
                          .registered = strcmp(fields[4], "registered") == 0,
                          .category = (uint32_t)atol(fields[5])};
    snprintf(mark->color, sizeof mark->color, "%s", fields[6]);
    snprintf(mark->payload, sizeof mark->payload, "%s", fields[7]);
    snprintf(mark->text, sizeof mark->text, "%s", fields[8]);
    ck_assert_str_eq(fields[2], "pipeline");
    ck_assert_int_eq(mark->level, (*depth_of(depths, mark->thread))++);
}

static void read_line(struct marks_log *log, char *line, struct depths *depths)
{
    char *fields[FIELDS], shown[512];
    snprintf(shown, sizeof shown, "%s", line);
    int count = split(line, fields);
    ck_assert_msg(strcmp(fields[0], "stray") != 0 && strcmp(fields[0], "bad") != 0, "%s",
                  shown);
    if (strcmp(fields[0], "push") == 0) {
        ck_assert_msg(count == FIELDS, "%s", shown);
        add_mark(log, fields, depths);
    } else if (strcmp(fields[0], "category") == 0) {
        ck_assert_msg(count == 4 && atoi(fields[2]) > 0 && atoi(fields[2]) <= OP_KIND_COUNT,
                      "%s", shown);
        snprintf(log->categories[atoi(fields[2])], sizeof log->categories[0], "%s", fields[3]);
    } else if (strcmp(fields[0], "pop") == 0) {
        ck_assert_msg(count == 4, "%s", shown);
        ck_assert_str_eq(fields[2], "pipeline");
        int depth = --*depth_of(depths, atol(fields[1]));
        ck_assert_msg(depth == atoi(fields[3]) && depth >= 0, "%s", shown);
    }
}

struct marks_log marks_log_read(const char *path)
{
    struct marks_log log = {.text = read_whole(path)};
    struct depths depths = {0};
    char *copy = strdup(log.text);
    ck_assert_ptr_nonnull(copy);
    for (char *rest = copy, *line; (line = strsep(&rest, "\n")) != NULL;)
        read_line(&log, line, &depths);
    free(copy);
    for (int i = 0; i < depths.count; i++)
        ck_assert_msg(depths.depth[i] == 0, "thread %ld: %d ranges have no end",
                      depths.threads[i], depths.depth[i]);
    ck_assert_int_eq(marks_log_lines(&log, "attach", false), 1);
    ck_assert_int_eq(marks_log_lines(&log, "domain\t", true), 1);
    ck_assert_int_eq(marks_log_lines(&log, "domain\tpipeline", false), 1);
    return log;
}

void marks_log_free(struct marks_log *log)
{
    free(log->marks);
    free(log->text);
    *log = (struct marks_log){0};
}

struct plan marks_log_plan(const char *arguments)
{
    enum { WORDS = 32 };
    char text[512], *argv[WORDS] = {"pipeline"};
    int argc = 1;
    struct options options;
    struct machine machine;
    struct plan plan = {0};
    struct error error = {0};
    snprintf(text, sizeof text, "%s", arguments);
    for (char *rest = text, *word; argc + 1 < WORDS && (word = strsep(&rest, " ")) != NULL;)
        argv[argc++] = word;
    if (options_parse(argc, argv, &options, &error) != STATUS_OK)
        ck_abort_msg("%s: %s", arguments, error.text);
    if (machine_built_in(&machine, "h200", &error) != STATUS_OK ||
        plan_build(&options.runs[0], &machine, &plan, &error) != STATUS_OK)
        ck_abort_msg("%s: %s", arguments, error.text);
    options_free(&options);
    return plan;
}

int marks_log_lines(const struct marks_log *log, const char *line, bool rest)
{
    int count = 0;
    size_t length = strlen(line);
    for (const char *at = log->text; at != NULL && *at != '\0';) {
        count += strncmp(at, line, length) == 0 && (rest || at[length] == '\n');
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    return count;
}

long marks_log_thread(const struct marks_log *log, const char *name)
{
    long thread = 0;
    for (const char *at = log->text; (at = strstr(at, "thread\t")) != NULL;) {
        char *end;
        long number = strtol(at + strlen("thread\t"), &end, 10);
        size_t length = strcspn(end + 1, "\n");
        if (length == strlen(name) && strncmp(end + 1, name, length) == 0)
            thread = number;
        at = end;
    }
    return thread;
}

int marks_log_ranges(const struct marks_log *log, const char *text)
{
    int count = 0;
    for (size_t i = 0; i < log->count; i++)
        count += !log->marks[i].registered && strcmp(log->marks[i].text, text) == 0;
    return count;
}

void marks_log_outline(const struct marks_log *log, long thread, char *outline, size_t size)
{
    int level = -1;
    size_t used = 0;
    outline[0] = '\0';
    for (size_t i = 0; i <= log->count; i++) {
        const struct mark *mark = i < log->count ? &log->marks[i] : NULL;
        if (mark != NULL && (mark->thread != thread || mark->registered))
            continue;
        int next = mark != NULL ? mark->level : 0;
        const char *between = next > level && level >= 0 ? "{" : next == level ? " " : "";
        used += (size_t)snprintf(outline + used, size - used, "%s", between);
        for (; level > next; level--)
            used += (size_t)snprintf(outline + used, size - used, "%s",
                                     level == next + 1 && mark != NULL ? "} " : "}");
        level = next;
        used +=
            (size_t)snprintf(outline + used, size - used, "%s", mark != NULL ? mark->text : "");
        ck_assert_uint_lt(used, size);
    }
    if (used > 0 && outline[used - 1] == ' ')
        outline[used - 1] = '\0';
}

/* The colours of the pictures (Okabe and Ito), waits in grey. */
static const char *color_of(enum op_kind kind)
{
    switch (kind) {
    case OP_H2D:
        return "FF0072B2";
    case OP_KERNEL:
        return "FFE69F00";
    case OP_D2H:
        return "FF009E73";
    case OP_CPU:
        return "FFCC79A7";
    case OP_CALLBACK:
        return "FF56B4E9";
    case OP_D2D:
        return "FFD55E00";
    case OP_MEMSET:
        return "FFF0E442";
    case OP_ALLOC:
        return "FF707070";
    default:
        return "FF999999";
    }
}

static void assert_op(const struct marks_log *log, const struct mark *mark,
                      const struct plan *plan, const struct op *op)
{
    char label[OP_LABEL], payload[16] = "-";
    const char *name =
        op->kind == OP_KERNEL ? plan->chain[op->kernel.link]->name : op_kind_name(op->kind);
    if (op->tile >= 0)
        snprintf(payload, sizeof payload, "%" PRId32, op->tile);
    ck_assert_msg(strcmp(mark->text, name) == 0 && strcmp(mark->payload, payload) == 0 &&
                      strcmp(mark->color, color_of(op->kind)) == 0,
                  "op %" PRIu32 " (%s) came as %s, tile %s, colour %s", op->id,
                  plan_op_label(plan, op, label), mark->text, mark->payload, mark->color);
    ck_assert_uint_le(mark->category, OP_KIND_COUNT);
    ck_assert_str_eq(log->categories[mark->category], op_kind_name(op->kind));
}

void marks_log_assert_plan(const struct marks_log *log, long thread, const struct plan *plan,
                           bool cpu, int passes)
{
    size_t at = 0;
    for (int pass = 0; pass < passes; pass++) {
        for (uint32_t i = 0; i < plan->op_count; i++) {
            const struct op *op = &plan->ops[i];
            if ((op->kind == OP_CPU) != cpu)
                continue;
            while (at < log->count &&
                   (log->marks[at].thread != thread || !log->marks[at].registered))
                at++;
            ck_assert_msg(at < log->count, "op %" PRIu32 " of pass %d did not arrive", i, pass);
            assert_op(log, &log->marks[at++], plan, op);
        }
    }
    for (; at < log->count; at++)
        ck_assert_msg(log->marks[at].thread != thread || !log->marks[at].registered,
                      "%s, tile %s, is too many", log->marks[at].text, log->marks[at].payload);
}
