/* recording_free.c - gives back a recording: what uses one needs no reader. */
#include "trace/recording.h"

#include <stdlib.h>

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void recording_free(struct recording *recording)
{
    for (size_t i = 0; i < recording->device_count; i++)
        free(recording->devices[i].name);
    for (size_t i = 0; i < recording->range_count; i++)
        free(recording->ranges[i].name);
    free_texts(recording->names, recording->name_count);
    free_texts(recording->notes, recording->note_count);
    free(recording->program);
    free(recording->devices);
    free(recording->streams);
    free(recording->memory);
    free(recording->calls);
    free(recording->ops);
    free(recording->nodes);
    free(recording->edges);
    free(recording->ranges);
    for (size_t i = 0; i < recording->line_count; i++)
        free(recording->lines[i].text);
    free(recording->lines);
    free(recording->words);
    *recording = (struct recording){0};
}
