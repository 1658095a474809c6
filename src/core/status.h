/* status.h - the way a call says what went wrong.
 *
 * Functions return an enum status and set their outputs only on STATUS_OK. The reason travels
 * in a struct error, written once, where the failure is decided: the first error wins. Only
 * app/main.c turns a status into an exit code. */
#ifndef PIPELINE_CORE_STATUS_H
#define PIPELINE_CORE_STATUS_H

#include <stdarg.h>
#include <stdio.h>

enum status {
    STATUS_OK = 0,
    STATUS_FAILED,    /* the run failed, or its result is wrong: exit 1 */
    STATUS_NO_MEMORY, /* memory ran out: exit 1. Code that carries on without an
                         optional part still fails on this */
    STATUS_USAGE,     /* an option, a config file or an input is not acceptable: exit 2 */
    STATUS_NO_DEVICE, /* a CUDA device was asked for and there is none: exit 77 */
};

/* The first thing that went wrong. Zero-initialise; `text` is one line without a newline, and
 * fit to be shown: error_set() escapes what a terminal would obey (core/escape.h). */
struct error {
    enum status status;
    char text[1024];
};

/* Records `status` and the formatted line unless `error` already holds one. `error` may be
 * NULL. Returns `status`, so that a failing function can `return error_set(...)`. */
enum status error_set(struct error *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Records that there is "no memory for what `format` names", or "to do" that. */
enum status error_no_memory(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes what came with `format`, the last argument of the function that has a name, into
 * `text` of `room` bytes. */
#define PRINT_REST(text, room, format)                                                         \
    do {                                                                                       \
        va_list rest_;                                                                         \
        va_start(rest_, format);                                                               \
        vsnprintf(text, room, format, rest_);                                                  \
        va_end(rest_);                                                                         \
    } while (0)

/* Adds what comes with `format` behind `text`, which has `room` bytes: behind `separator` where
 * it has begun. What there is no room for is cut. */
void text_add(char *text, size_t room, const char *separator, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Hands on the error `why` that another call set: to `error`, which may be NULL. Returns its
 * status. */
enum status error_pass(struct error *error, const struct error *why);

/* Returns the status of a call that failed for the reason `number`, an errno: STATUS_NO_MEMORY
 * for ENOMEM, else `usual`. */
enum status status_of_errno(int number, enum status usual);

/* Empties `error`. */
void error_clear(struct error *error);

/* Returns the exit code of the program for `status`: 0, 1, 2 or 77. */
int status_exit_code(enum status status);

#endif
