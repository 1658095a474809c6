/* recording_draft.c - what the files of a recording's reader share. */
#include "trace/recording_draft.h"

#include "core/compare.h"
#include "core/items.h"
#include "options/input_file.h"
#include "trace/build.h"
#include "trace/input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum status draft_no_memory(const struct draft *draft)
{
    return error_no_memory(draft->text.error, "for the recording");
}

_Static_assert(sizeof(struct recorded_node) <= DRAFT_ITEM, "the largest item has room");
_Static_assert(sizeof(struct draft_op) <= DRAFT_ITEM, "the largest item has room");

void *pile_add(struct draft *draft, struct pile *pile, size_t size)
{
    const bool room = pile->count < pile->room || items_grow(&pile->items, &pile->room, size);
    if (!room)
        draft_no_memory(draft);
    return memset(room ? (char *)pile->items + size * pile->count++ : (char *)draft->nowhere, 0,
                  size);
}

uint32_t draft_number(struct draft *draft, struct names *names, const void *key, size_t length)
{
    uint32_t number = 0;
    if (!names_number(names, key, length, &number))
        draft_no_memory(draft);
    return number;
}

char *draft_text(struct draft *draft, const char *text)
{
    char *copy = arena_text(&draft->recording->arena, text);
    if (copy == NULL)
        draft_no_memory(draft);
    return copy;
}

int draft_meaning(const char *word, const struct draft_word *words)
{
    while (words->word != NULL && strcmp(word, words->word) != 0)
        words++;
    return words->meaning;
}

void draft_refuse_word(const struct draft *draft, const char *what, const char *word)
{
    char shown[TRACE_SHOWN];
    trace_refuse(&draft->text, "%s '%s' is not known", what, trace_shown(word, shown));
}

/* No line need be about a default stream that no call names. */
uint32_t draft_stream_of(struct draft *draft, uint64_t context, uint64_t number)
{
    const uint64_t key[] = {context, number};
    if (number == RECORDING_NONE)
        return RECORDING_NONE;
    const uint32_t index = draft_number(draft, &draft->stream_numbers, key, sizeof key);
    if (index < draft->streams.count)
        return index;
    struct draft_stream *stream = pile_add(draft, &draft->streams, sizeof *stream);
    stream->stream = (struct recorded_stream){
        .context = (uint32_t)context,
        .number = (uint32_t)number,
        .kind = number == TRACE_DEFAULT_STREAM ? STREAM_LEGACY : STREAM_KIND_COUNT};
    return index;
}

struct draft_stream *draft_stream(struct draft *draft, uint32_t index)
{
    return index < draft->streams.count ? (struct draft_stream *)draft->streams.items + index
                                        : (struct draft_stream *)draft->nowhere;
}

void draft_take_words(struct draft *draft, const char *list, bool *known, uint32_t *first,
                      uint32_t *count)
{
    struct line_value value;
    if (draft->words.count > UINT32_MAX - INPUT_TEXT_MAX)
        trace_refuse(&draft->text, "more arguments than can be kept");
    *first = (uint32_t)draft->words.count;
    *known = true;
    while (!draft_failed(draft) && line_next(&list, &value)) {
        if (value.kind == LINE_OTHER || value.negative)
            trace_refuse(&draft->text, "a word of the launch is no address");
        *known &= value.kind == LINE_NUMBER;
        *(uint64_t *)pile_add(draft, &draft->words, sizeof value.number) = value.number;
        ++*count;
    }
}

/* --- what has which id --- */

COMPARE_BY(compare_places, struct place, id, line);

void place_add(struct draft *draft, struct pile *places, uint64_t id, uint32_t index)
{
    struct place *place = pile_add(draft, places, sizeof *place);
    *place = (struct place){.id = id, .line = draft->text.line_number, .index = index};
}

void places_order(const struct draft *draft, const struct pile *pile, const char *what)
{
    const struct place *places = pile->items;
    if (pile->count > 1)
        qsort(pile->items, pile->count, sizeof *places, compare_places);
    for (size_t i = 1; i < pile->count && !draft->lenient; i++) {
        struct trace_text later = draft->text;
        later.line_number = places[i].line;
        if (places[i].id == places[i - 1].id)
            trace_refuse(&later, "%s %" PRIu64 " is there already, in line %" PRIu64, what,
                         places[i].id, places[i - 1].line);
    }
}

uint32_t place_find(const struct pile *pile, uint64_t id, size_t *near)
{
    const struct place *places = pile->items;
    const size_t count = pile->count;
    for (size_t i = *near; i < count && i < *near + 2; i++) {
        if (places[i].id == id) {
            *near = i;
            return places[i].index;
        }
    }
    BISECT(at, i, 0, count, places[i].id < id);
    if (at == count || places[at].id != id)
        return RECORDING_NONE;
    *near = at;
    return places[at].index;
}

/* --- the end --- */

void recording_shed(struct recording *recording)
{
    free(recording->calls);
    free(recording->ops);
    recording->calls = NULL;
    recording->ops = NULL;
    recording->call_count = recording->op_count = 0;
}

void recording_free(struct recording *recording)
{
    recording_shed(recording);
    free(recording->devices);
    free(recording->memory);
    free(recording->nodes);
    free(recording->edges);
    free(recording->ranges);
    free(recording->words);
    free(recording->notes);
    arena_free(&recording->arena);
    *recording = (struct recording){0};
}

/* Frees what was not moved into the recording. */
void draft_free(struct draft *draft)
{
    struct pile *piles[] = {&draft->devices,     &draft->contexts,    &draft->streams,
                            &draft->memory,      &draft->frees,       &draft->names,
                            &draft->calls,       &draft->effects,     &draft->words,
                            &draft->ops,         &draft->nodes,       &draft->edges,
                            &draft->ranges,      &draft->notes,       &draft->lines,
                            &draft->races,       &draft->makers,      &draft->events,
                            &draft->call_places, &draft->name_places, &draft->device_places};
    for (size_t i = 0; i < sizeof piles / sizeof piles[0]; i++)
        free(piles[i]->items);
    names_free(&draft->stream_numbers);
    names_free(&draft->threads);
}
