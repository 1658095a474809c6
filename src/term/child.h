/* child.h - another program: started by its argument vector, never by a shell; what it prints;
 * and its end, which we bring about where it takes too long or prints too much. */
#ifndef PIPELINE_TERM_CHILD_H
#define PIPELINE_TERM_CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* How a child ended, and what `code` then is. */
enum child_end {
    CHILD_EXITED,      /* by itself: its exit code */
    CHILD_SIGNALLED,   /* by a signal: its number */
    CHILD_LATE,        /* by us, for it took longer than it may */
    CHILD_FLOODED,     /* by us, for it printed more than it may */
    CHILD_NOT_FOUND,   /* there is no such program */
    CHILD_NOT_STARTED, /* there is one, but it can't be run: an errno */
    CHILD_LOST,        /* what it printed could not be taken in: an errno */
};

enum { CHILD_ERRORS = 1024 };

struct child {
    /* The owner sets these before child_run(). */
    char *const *arguments; /* ended by NULL; the first is its path, or a name sought in PATH */
    const int *files; /* descriptors from child_file() that it has under the same numbers */
    int file_count;
    size_t output_max; /* bytes that it may print */
    int seconds;       /* that it may take; time in which we are stopped does not count */
    bool tells;        /* its standard error is ours, and not taken in */

    /* child_run() sets these. */
    char *output; /* all that it printed, `length` bytes; to be freed */
    size_t length;
    char errors[CHILD_ERRORS]; /* the end of what it wrote to its standard error, as text */
    int code;
};

/* Runs `child` with an empty standard input and waits for its end. It has a process group of
 * its own; whatever of that is left when it has ended is killed, and so is the child when the
 * calling thread ends. One child at a time. Frees nothing. */
enum child_end child_run(struct child *child);

/* Returns the path of the program `name`, which is sought in PATH unless it is a path itself,
 * to be freed; or NULL with errno: ENOENT where there is none, EACCES where there is one that
 * may not be run. */
char *child_find(const char *name);

/* Returns `fd`, or, where that is one of a child's standard descriptors, another one for the
 * same file, and closes `fd`. -1 with errno where there is none, or for -1. */
int child_file(int fd);

/* Kills the child that is running, with its process group. Async-signal-safe. */
void child_kill(void);

#endif
