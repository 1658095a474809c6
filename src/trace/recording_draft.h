/* recording_draft.h - a recording while it is read: private to its reader.
 *
 *   trace/recording_line.c    a line, taken apart
 *   trace/recording_draft.c   what is shared: items, what has which id
 *   trace/recording_lines.c   each kind of line, and what is kept of it, in
 *                             recording_effects.c of those about calls and ops
 *   trace/recording_order.c   calls, ops, streams, memory and names in order, and joined
 *   trace/recording_staged.c  copies from device to device by way of the host
 *   trace/recording_library.c which calls are a library's own, or a graph's
 *   trace/recording.c         the file, its header and its end
 *
 * Lines come in any order, so what they refer to is looked up when all are there. Items keep
 * the number of their line as long as they may be found to be wrong.
 *
 * Whatever goes wrong is said once, in the draft's error: a line that is refused, memory that
 * ran out. Reading ends when that is looked at, behind each line, and all of it is given up, so
 * that until then no function need say that it failed. */
#ifndef PIPELINE_TRACE_RECORDING_DRAFT_H
#define PIPELINE_TRACE_RECORDING_DRAFT_H

#include "core/compare.h"
#include "core/names.h"
#include "trace/input.h"
#include "trace/recording.h"
#include "trace/recording_line.h"

/* An array that grows, of items of at most so many bytes. */
enum { DRAFT_ITEM = 256 };
struct pile {
    void *items;
    size_t count, room;
};

struct draft_stream {
    struct recorded_stream stream; /* but for its device */
    uint64_t line;                 /* 0: no line is about it */
};
struct draft_line {
    uint64_t call;
    char *text;
};
struct draft_race {
    uint64_t calls[2]; /* or DRAFT_NO_CALL */
    struct recorded_race race;
};
/* The library whose code makes a call, as the row of its own calls; 0: another's code does. */
struct draft_maker {
    uint64_t call;
    uint16_t row;
};
struct draft_free {
    uint64_t address;
    int64_t time_ns;
};
/* An event that was made; handles come again. */
struct draft_event {
    uint64_t event;
    int64_t time_ns;
    bool timed;
};

#define DRAFT_NO_CALL UINT64_MAX
struct draft_op {
    uint64_t call; /* its id, or DRAFT_NO_CALL */
    uint64_t name; /* likewise, of kernels */
    struct recorded_op op;
};

enum { DRAFT_CALL_NAMES = 64, DRAFT_CALL_NAME = 64 };

struct draft {
    struct trace_text text;
    struct recording *recording;
    /* `effects` are calls, with what lines about them say of what they did. */
    struct pile devices, contexts, streams, memory, frees, names, calls, effects, words, ops,
        nodes, edges, ranges, notes, lines, races, makers, events;
    struct pile device_places, call_places, name_places; /* of items, by number */
    struct names stream_numbers, threads;                /* as they were met */
    uint32_t *moved;   /* streams: by number as they were met, their index */
    uint32_t *numbers; /* threads: likewise, as they first call; RECORDING_NONE: never */
    int64_t *ended_ns; /* by thread: its latest call */
    bool ended;        /* its end was read */
    bool lenient;      /* of what has one id the first counts: another program wrote it */
    bool libraries;    /* some calls are a library's */
    uint64_t nowhere[DRAFT_ITEM / sizeof(uint64_t)]; /* what there was no memory for */
    struct {
        char name[DRAFT_CALL_NAME];
        uint16_t row;
    } call_names[DRAFT_CALL_NAMES]; /* those that were looked up */
    int call_name_count;
};

/* Returns true once something went wrong. */
static inline bool draft_failed(const struct draft *draft)
{
    return draft->text.error->status != STATUS_OK;
}

enum status draft_no_memory(const struct draft *draft);

/* Returns a new item of `size` bytes, all 0; without memory one that goes nowhere. */
void *pile_add(struct draft *draft, struct pile *pile, size_t size);

/* Returns the number of a key, and a copy of a text; without memory 0 and NULL. */
uint32_t draft_number(struct draft *draft, struct names *names, const void *key, size_t length);
char *draft_text(struct draft *draft, const char *text);

/* Returns the row of a call: a program makes few kinds of them, each many times. */
uint16_t draft_call_row(struct draft *draft, const char *name);

/* A word that a line may have, and what it means. */
struct draft_word {
    const char *word;
    int meaning;
};

/* Returns what `word` means by `words`, whose last one is NULL: all others. */
int draft_meaning(const char *word, const struct draft_word *words);

/* Refuses the line that is read for such a word. */
void draft_refuse_word(const struct draft *draft, const char *what, const char *word);

/* Returns the index of the stream that context and number name; RECORDING_NONE where `number`
 * is that. draft_stream() is the stream itself. */
uint32_t draft_stream_of(struct draft *draft, uint64_t context, uint64_t number);
struct draft_stream *draft_stream(struct draft *draft, uint32_t index);

/* Keeps the arguments of a kernel, a list: words of the draft from *first on, whose number is
 * added to *count, which begins at 0. One that is not known leaves all of them unknown: *known
 * is set to false then, else to true. */
void draft_take_words(struct draft *draft, const char *list, bool *known, uint32_t *first,
                      uint32_t *count);

/* Keeps what a line behind the header says; one of a kind that is not known says nothing. */
void draft_take(struct draft *draft, const struct line *line);

/* Has calls of what was kept count as what they are made for: a library's handle, a graph. */
void draft_settle_rows(struct draft *draft);

/* Makes one copy to another device of the two ops that CUPTI has of one by way of the host,
 * before ops are placed by their calls, and says when it began, behind that. */
void draft_join_staged(struct draft *draft);
void draft_time_staged(struct draft *draft);

/* Ends the reading: puts all that was read in order, joins it and moves it into the recording.
 * Frees the draft in any case, and after a failure the recording. */
enum status draft_close(struct draft *draft);

void draft_free(struct draft *draft);

/* --- what has which id --- */

/* Something that lines refer to by its id. */
struct place {
    uint64_t id, line;
    uint32_t index;
};

/* Adds the place of what the line that is read is about. */
void place_add(struct draft *draft, struct pile *places, uint64_t id, uint32_t index);

/* Puts places in order of their ids, which no two of them may share: the later line is refused,
 * calling it a `what`. */
void places_order(const struct draft *draft, const struct pile *places, const char *what);

/* Returns the index of what has `id`; RECORDING_NONE: nothing has. Lines tend to come in the
 * order of what they refer to: *near, 0 at first, is where to look first. */
uint32_t place_find(const struct pile *pile, uint64_t id, size_t *near);

/* --- for the files that keep lines --- */

/* Returns a number that may be negative, of 32 bits. */
static inline int32_t signed_of(const struct line_value *value)
{
    return (int32_t)(value->negative ? -(int64_t)value->number : (int64_t)value->number);
}

/* In what follows, `v` are the values of a line from its kind on, each as its form asks
 * (trace/recording_lines.c). */

/* Keeps an effect of call v[1] in the stream that v[2] and v[3] name: the `count` values behind
 * them are what lies `into` bytes behind the beginning of a struct recorded_bytes, for copies
 * and memsets, or recorded_call. */
void take_effect(struct draft *draft, enum recorded_effect effect, const struct line_value *v,
                 const size_t *into, int count);

/* Gives a call bytes in one piece, still to be told, and returns them. */
struct recorded_bytes *draft_bytes(struct draft *draft, struct recorded_call *made);

/* Lines about the program's calls, what they did, and ops (trace/recording_effects.c). */
void take_call(struct draft *draft, const struct line_value *v);
void take_from(struct draft *draft, const struct line_value *v);
void take_launch(struct draft *draft, const struct line_value *v);
void take_sync(struct draft *draft, const struct line_value *v);
void take_function(struct draft *draft, const struct line_value *v);
void take_op(struct draft *draft, const struct line_value *v);
void take_kernel(struct draft *draft, const struct line_value *v);

#endif
