/* marks_log.h - reads the file that tests/nvtx/injection.c writes. */
#ifndef PIPELINE_TESTS_MARKS_LOG_H
#define PIPELINE_TESTS_MARKS_LOG_H

#include "plan/plan.h"

#include <check.h>
#include <stdbool.h>

/* A range, as the tool was told. */
struct mark {
    long thread;
    int level;
    bool registered;   /* named by a registered string: an issued op */
    uint32_t category; /* 0: none */
    char color[16];    /* "FF0072B2"; "-": none */
    char payload[16];  /* "12"; "-": none */
    char text[256];
};

struct marks_log {
    struct mark *marks; /* in the order in which they began */
    size_t count;
    char categories[OP_KIND_COUNT + 1][16]; /* the name of each number; "": it was given none */
    char *text;                             /* the file */
};

/* Reads `path`. Aborts the test unless a tool was attached exactly once, there is one domain
 * and it is "pipeline", every range lies in it and ends on its thread in the order of nesting,
 * and nothing was stray or bad. Free it with marks_log_free(). */
struct marks_log marks_log_read(const char *path);
void marks_log_free(struct marks_log *log);

/* The plan that the program makes of these arguments, separated by spaces (on an H200 as
 * simulated: what is issued when does not depend on that, but for an automatic CPU share). */
struct plan marks_log_plan(const char *arguments);

/* Counts the lines of the file that are `line`, or, with `rest` true, begin with it. */
int marks_log_lines(const struct marks_log *log, const char *line, bool rest);

/* Returns the thread that was named `name`; 0 if none was. */
long marks_log_thread(const struct marks_log *log, const char *name);

/* Counts the ranges without a registered name that are called `text`. */
int marks_log_ranges(const struct marks_log *log, const char *text);

/* Writes the ranges of `thread` that are no issued op, nested: "run{plan prepare verify}".
 * `outline` has room for `size`. */
void marks_log_outline(const struct marks_log *log, long thread, char *outline, size_t size);

/* Asserts that the issued ops of `thread` are those of `plan`, in its order, `passes` times
 * over, each with its name, colour, category and tile: all but the CPU's, or with `cpu` only
 * those. */
void marks_log_assert_plan(const struct marks_log *log, long thread, const struct plan *plan,
                           bool cpu, int passes);

#endif
