/* hostile.h - the hostile test: inputs that nobody means well with are tried on the program.
 *
 * An input is made from a seed, a class and an index alone, so that each can be tried again. It
 * is a command, with files in a scratch folder and with conditions such as a full disk. What
 * comes of it is held against what the program promises of every input (judge.c) and against
 * what its class adds. draw.c draws, child.c runs, main.c deals the inputs to processes. */
#ifndef PIPELINE_TESTS_HOSTILE_H
#define PIPELINE_TESTS_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* --- draw.c: chance --- */

struct chance {
    uint64_t state;
};

/* A number from 0 to n - 1. */
uint64_t draw_below(struct chance *chance, uint64_t n);

/* A number from `least` to `most`, in which small ones are as frequent as large ones. */
uint64_t draw_between(struct chance *chance, uint64_t least, uint64_t most);

bool draw_percent(struct chance *chance, unsigned percent);

#define DRAW_OF(chance, list) ((list)[draw_below(chance, sizeof(list) / sizeof((list)[0]))])

/* --- child.c: a command, and what came of it --- */

enum {
    ARGUMENTS_MAX = 64,
    OUTPUTS_MAX = 12,
    EXTRA_MAX = 3,
    MEBI = 1 << 20,
};

struct call {
    const char *program;                      /* NULL: the one that is tried */
    const char *arguments[ARGUMENTS_MAX + 2]; /* [0] is the program's path */
    int count;
    const char *extra[EXTRA_MAX + 1]; /* of the environment: "NAME=value" */
    int extra_count;
    unsigned closed;       /* a bit for each of the descriptors 0, 1 and 2 */
    const char *out_path;  /* standard output goes there; "|": to a pipe that nobody reads */
    uint64_t memory_bytes; /* RLIMIT_AS, unless the program has a sanitizer; 0: 4 GiB */
    uint64_t file_bytes;   /* RLIMIT_FSIZE; 0: none */
    uint64_t stack_bytes;  /* RLIMIT_STACK; 0: none */
    int ignored;           /* a signal that is ignored from the start; 0: none */
    int signal;            /* a signal that is sent; 0: none */
    int64_t delay_us;      /* when it is sent */
};

struct result {
    int code;   /* of the exit; -1: ended by a signal */
    int signal; /* that ended it; 0: none */
    bool timed_out;
    bool left_process; /* a process that it had started was still there */
    char *out, *err;   /* ended by 0 */
    size_t out_size, err_size;
    size_t peak_bytes;
    int64_t us; /* from its start to its end */
};

/* What all inputs share. */
extern struct setting {
    const char *program; /* absolute */
    const char *tests;   /* the folder of the tests' data */
    bool sanitized;      /* the program has a sanitizer, which takes memory and time */
    bool has_disk;       /* "../disk" is a disk of 160 KiB */
    uint64_t seed;
} setting;

void call_add(struct call *call, const char *argument);
void child_start(const struct call *call, pid_t *pid);
void child_finish(const struct call *call, pid_t pid, struct result *result);
void result_free(struct result *result);

/* --- main.c: an input --- */

struct output {
    const char *path;
    bool spare;          /* it is written only where another fails */
    bool raw;            /* it has elements, or a program, whatever its ending */
    char *before;        /* its bytes before the run; NULL: it is not there */
    char *whole, *other; /* as they should be, or might be as well; NULL: not known */
    size_t before_size, whole_size, other_size;
};

struct input {
    const struct hostile_class *class;
    uint64_t index;
    struct chance chance;
    struct call call, beside;           /* `beside` runs at the same time, unless it is empty */
    struct output outputs[OUTPUTS_MAX]; /* files that the command may write */
    int output_count;
    int what;    /* the class's own: which kind of input it is */
    void *drawn; /* the class's own: freed with the input */
    int faults;
};

struct hostile_class {
    const char *name;
    unsigned weight;                   /* its inputs among all */
    void (*make)(struct input *input); /* draws the command, and writes its files */
    void (*judge)(struct input *input, const struct result *result);
};
extern const struct hostile_class hostile_values, hostile_combinations, hostile_files,
    hostile_names, hostile_faults, hostile_libraries;

/* A text that lives as long as the input. */
__attribute__((format(printf, 2, 3))) const char *text_of(struct input *input,
                                                          const char *format, ...);

/* Adds "--NAME=VALUE", or "--NAME" where `value` is NULL. */
void input_set(struct input *input, const char *name, const char *value);

/* Says that the command may write the file. */
struct output *input_expect(struct input *input, const char *path);

/* Says what is wrong; prints it with the command as a line for a shell. */
__attribute__((format(printf, 2, 3))) void fault(struct input *input, const char *format, ...);

/* Runs another command for the same input, and judges it as every command is. */
void run_also(struct input *input, const struct call *call, struct result *result);

/* --- draw.c: files and hostile texts --- */

const char *draw_word(struct input *input, const char *words); /* one of those between blanks */
const char *draw_name(struct input *input);      /* a file's name or a text, without a slash */
const char *draw_machine(struct input *input);   /* "sim:h200" and so on */
char *file_read(const char *path, size_t *size); /* to be freed, ended by 0; NULL: not there,
                                                    or no regular file */
bool file_write(const char *path, const void *bytes, size_t size);
const char *shell_line(struct input *input, const struct call *call);

/* --- judge.c: what is promised of every input --- */

/* Holds what came of a command against that, and the files in the scratch folder. */
void judge_result(struct input *input, const struct call *call, const struct result *result);
void judge_files(struct input *input, bool accepted); /* exit 0 was all there was */

/* Remembers which files there are, so that those that a command leaves are found. */
void judge_begin(struct input *input);

/* Finds what is wrong with a file, by the ending of its name; NULL: nothing. */
const char *whole_why(const char *path, const char *bytes, size_t size);

/* Holds a JSON report against what it promises. */
void judge_report(struct input *input, const char *text, size_t size);

#endif
