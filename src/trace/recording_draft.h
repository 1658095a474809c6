/* recording_draft.h - a recording while it is read: private to its reader.
 *
 *   trace/recording_line.c    a line, taken apart
 *   trace/recording_draft.c   what is shared
 *   trace/recording_lines.c   each kind of line, and what is kept of it, in
 *                             recording_effects.c of those about calls and ops
 *   trace/recording_place.c   what has which id
 *   trace/recording_order.c   calls, ops, streams and names in order, and joined
 *   trace/recording_memory.c  for how long memory was taken, and what words point to
 *   trace/recording.c         the file, its header and its end
 *
 * Lines come in any order, so what they refer to is looked up when all are there. Items keep
 * the number of their line as long as they may be found to be wrong. */
#ifndef PIPELINE_TRACE_RECORDING_DRAFT_H
#define PIPELINE_TRACE_RECORDING_DRAFT_H

#include "trace/recording.h"
#include "trace/recording_line.h"

/* An array that grows. */
struct pile {
    void *items;
    size_t count, room;
};

struct draft_context {
    uint32_t id, device; /* the device's id */
    uint64_t line;
};
struct draft_stream {
    struct recorded_stream stream; /* but for its device */
    uint64_t line;                 /* 0: no line is about it */
};
struct draft_name {
    uint64_t id, line;
    char *text;
};
struct draft_line {
    uint64_t call;
    char *text;
};
struct draft_free {
    uint64_t address;
    int64_t time_ns;
};

/* The effect of a call: the part of a `struct recorded_call` that lines about it fill. */
struct draft_effect {
    uint64_t call;
    struct recorded_call
        made; /* but for the words of a launch: first_word counts draft.words */
};

#define DRAFT_NO_CALL UINT64_MAX
struct draft_op {
    uint64_t call; /* its id, or DRAFT_NO_CALL */
    uint64_t name; /* likewise, of kernels */
    struct recorded_op op;
};

/* Numbers what was met, as it was met: threads, streams. */
struct draft_numbers {
    void *tree;
    const struct draft_number *last;
    uint32_t count;
};
struct draft_number {
    uint64_t key;
    uint32_t number;
};

enum { DRAFT_CALL_NAMES = 64, DRAFT_CALL_NAME = 64 };

struct draft {
    const char *path;
    uint64_t line;       /* that is read */
    struct error *error; /* of the caller */
    struct recording *recording;
    struct pile devices, contexts, streams, memory, frees, names, calls, effects, words, ops,
        nodes, edges, ranges, notes, lines;
    struct pile device_lines, call_lines; /* by item: its line */
    struct draft_numbers stream_numbers, thread_numbers;
    bool ended; /* its end was read */
    struct {
        char name[DRAFT_CALL_NAME];
        uint16_t row;
    } call_names[DRAFT_CALL_NAMES]; /* those that were looked up */
    int call_name_count;
};

/* Returns a new item of `size` bytes, all 0; NULL: no memory. */
void *pile_add(struct pile *pile, size_t size);

/* Sets *number to that of `key`, a new one if need be. False: no memory. */
bool draft_number_of(struct draft_numbers *numbers, uint64_t key, uint32_t *number);

/* Refuses line `line`: STATUS_USAGE. */
__attribute__((format(printf, 3, 4))) enum status
draft_refuse(const struct draft *draft, uint64_t line, const char *format, ...);
enum status draft_no_memory(const struct draft *draft);

/* Returns the place of `word` among `words`, which end in NULL; -1: it is none of them. */
int draft_word_of(const char *word, const char *const *words);

/* Refuses the line that is read for such a word. */
enum status draft_refuse_word(const struct draft *draft, const char *what, const char *word);

/* Sets *index to the stream that context and number name; RECORDING_NONE where `number` is
 * that.
 */
enum status draft_stream_of(struct draft *draft, uint64_t context, uint64_t number,
                            uint32_t *index);

/* Keeps the arguments of a kernel, a list: words of the draft from *first on. One that is not
 * known leaves all of them unknown: then *known is not set. */
enum status draft_take_words(struct draft *draft, const char *list, bool *known,
                             uint32_t *first, uint32_t *count);

/* Keeps what a line behind the header says; one of a kind that is not known says nothing. */
enum status draft_take(struct draft *draft, const struct line *line);

/* Puts all that was read in order and joins it. */
enum status draft_order(struct draft *draft);

/* Moves what stays into the recording, which owns it then, also after a failure. */
void draft_keep(struct draft *draft);

/* Finds until when memory was taken, and leaves those words of launches that point to some. The
 * calls are in order. */
enum status draft_memory(struct draft *draft);

void draft_free(struct draft *draft);

#endif
