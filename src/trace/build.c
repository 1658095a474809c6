/* build.c - what the readers of all forms make timelines with. */
#include "trace/build.h"

#include "core/items.h"
#include "trace/input.h"
#include "trace/recording.h"

#include <stdlib.h>
#include <string.h>

enum op_kind trace_kind(const char *name)
{
    static const struct {
        const char *word;
        enum op_kind kind;
    } words[] = {
        {"Host-to-Device", OP_H2D}, {"HtoD", OP_H2D},          {"Host-to-Array", OP_H2D},
        {"HtoA", OP_H2D},           {"DtoH", OP_D2H},          {"Device-to-Host", OP_D2H},
        {"AtoH", OP_D2H},           {"Array-to-Host", OP_D2H}, {"Device-to-Device", OP_D2D},
        {"DtoD", OP_D2D},           {"Peer-to-Peer", OP_PEER}, {"PtoP", OP_PEER},
    };
    if (strncmp(name, "[CUDA memset", 12) == 0)
        return OP_MEMSET;
    if (strncmp(name, "[CUDA ", 6) != 0 || strstr(name, "memcpy ") == NULL)
        return OP_KERNEL;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(name, words[i].word) != NULL)
            return words[i].kind;
    }
    return OP_KERNEL;
}

const char *trace_short_name(const char *name, size_t *length)
{
    static const char returns[] = "void ";
    if (strncmp(name, returns, sizeof returns - 1) == 0 && name[sizeof returns - 1] != '\0')
        name += sizeof returns - 1;
    size_t end = strlen(name), depth = 0;
    *length = end;
    if (end == 0 || name[end - 1] != ')')
        return name;
    while (end > 0) {
        char at = name[--end];
        depth += at == ')';
        depth -= at == '(';
        if (depth == 0)
            break;
    }
    if (end > 0 && depth == 0)
        *length = end;
    return name;
}

void trace_names_take(const struct names *names, struct timeline *timeline)
{
    timeline->names = arena_zeros(&timeline->arena, names->count, sizeof *timeline->names);
    for (size_t i = 0; i < names->count && !timeline->arena.full; i++)
        timeline->names[i] = arena_text(&timeline->arena, names->items[i]->text);
    timeline->name_count = (uint32_t)names->count;
}

void trace_count_copies(struct trace *trace)
{
    trace->in = trace->out = (struct trace_copies){0};
    EACH (const struct span, span, trace->timeline.spans, trace->timeline.span_count) {
        struct trace_copies *copies = span->kind == OP_H2D ? &trace->in : &trace->out;
        const bool pageable = span->host_memory == HOST_MEMORY_PAGEABLE;
        if (!op_is_copy(span->kind))
            continue;
        copies->count++;
        copies->pageable += pageable;
        copies->pageable_bytes += pageable ? span->bytes : 0;
    }
}

enum status traces_create(struct traces *traces, size_t count, struct error *error)
{
    *traces = (struct traces){.items = calloc(count + 1, sizeof *traces->items)};
    if (traces->items == NULL)
        return error_no_memory(error, "for the trace");
    traces->count = (int)count;
    return STATUS_OK;
}

void traces_add_unread(struct traces *traces, const char *path, bool add, const char *format,
                       ...)
{
    char said[TRACE_UNREAD], shown[TRACE_SHOWN];
    PRINT_REST(said, sizeof said, format);
    if (add && traces->unread[0] == '\0')
        text_add(traces->unread, TRACE_UNREAD, "", "%s", trace_shown(path, shown));
    if (add)
        text_add(traces->unread, TRACE_UNREAD, ": ", "%s", said);
}

void traces_free(struct traces *traces)
{
    for (int i = 0; i < traces->count; i++)
        timeline_free(&traces->items[i].timeline);
    free(traces->items);
    if (traces->recording != NULL) {
        recording_free(traces->recording);
        free(traces->recording);
    }
    *traces = (struct traces){0};
}
