/* own_json.c - reads the timelines that this program writes as Chrome traces (Trace Event
 * Format, JSON object form). Event by event, so that a large file takes little memory and an
 * error has its line; how the JSON is laid out does not matter. Nothing longer than one value
 * is held in memory. */
#include "trace/build.h"
#include "trace/input.h"
#include "trace/json_memory.h"
#include "trace/own.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 64 << 20 }; /* of one value: an event, or the metadata of all runs */

struct reader {
    const char *path;
    struct trace_input *input; /* its text, of which *at up to *end is not yet read */
    const char *text, *at, *end;
    uint64_t line;     /* of `text` */
    const char *event; /* that is being read */
    struct own_builder builder;
    bool described; /* the metadata came */
    struct error *error;
};

__attribute__((format(printf, 3, 4))) static enum status
refuse(const struct reader *reader, const char *place, const char *why, ...)
{
    char text[320], path[TRACE_SHOWN];
    uint64_t line = reader->line;
    va_list list;
    va_start(list, why);
    vsnprintf(text, sizeof text, why, list);
    va_end(list);
    for (const char *at = reader->text; at < place && at + 1 < reader->end; at++)
        line += *at == '\n';
    return error_set(reader->error, STATUS_USAGE, "%s:%" PRIu64 ": %s",
                     trace_shown(reader->path, path), line, text);
}

static enum status no_memory(const struct reader *reader)
{
    return error_set(reader->error, STATUS_NO_MEMORY, "no memory for the timeline");
}

/* Passes on why the builder took no row: with its place, unless memory ran out. */
static enum status refuse_row(const struct reader *reader, enum status status,
                              const struct error *why)
{
    return status == STATUS_USAGE ? refuse(reader, reader->event, "%s", why->text)
                                  : error_set(reader->error, status, "%s", why->text);
}

/* --- the text --- */

/* Reads on, so that the bytes from `at` on are more than before. Returns false at the end of
 * the file, or where that can't be. */
static bool read_on(struct reader *reader)
{
    struct trace_input *input = reader->input;
    size_t left = (size_t)(reader->end - reader->at);
    size_t kept = reader->at > reader->text; /* a line that ends the file has none behind it */
    for (const char *at = reader->text; at + kept < reader->at; at++)
        reader->line += *at == '\n';
    input->at = input->end - left - kept;
    if (left > VALUE_MAX) {
        refuse(reader, reader->at, "a value is longer than 64 MiB");
        return false;
    }
    if (!trace_input_fill(input, kept + 2 * left + 1))
        no_memory(reader);
    if (input->failed)
        refuse(reader, reader->at, "can't be read: %s", strerror(input->why));
    reader->text = input->text + input->at;
    reader->at = reader->text + kept;
    reader->end = input->text + input->end;
    return (size_t)(reader->end - reader->at) > left;
}

static void skip_blanks(struct reader *reader)
{
    do {
        while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) != NULL &&
               *reader->at != '\0')
            reader->at++;
    } while (reader->at == reader->end && read_on(reader));
}

static enum status expect(struct reader *reader, char wanted)
{
    skip_blanks(reader);
    if (reader->at < reader->end && *reader->at == wanted) {
        reader->at++;
        return STATUS_OK;
    }
    if (reader->at == reader->end)
        return refuse(reader, reader->at, "the file ends too early: cut short?");
    return refuse(reader, reader->at, "no JSON: '%c' should stand here", wanted);
}

static bool next_is(struct reader *reader, char wanted)
{
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

/* Returns the end of the value that begins at `at`; NULL: the file ends before. */
static const char *value_end(const char *at, const char *end)
{
    int depth = 0;
    while (at < end) {
        if (*at == '"') {
            at = string_end(at, end);
            if (at == end)
                return NULL;
        } else {
            depth += *at == '{' || *at == '[';
            depth -= *at == '}' || *at == ']';
            at++;
        }
        bool over = at < end && (strchr(",]} \t\r\n", *at) != NULL || *at == ':');
        if (depth <= 0 && (over || at == end))
            return depth == 0 ? at : NULL;
    }
    return NULL;
}

/* Reads the value that stands next; it is whole until the next one is read. */
static enum status read_value(struct reader *reader, json_t **value)
{
    json_error_t why;
    char shown[TRACE_SHOWN];
    skip_blanks(reader);
    const char *to = value_end(reader->at, reader->end);
    while ((to == NULL || to == reader->end) && read_on(reader))
        to = value_end(reader->at, reader->end);
    const char *from = reader->event = reader->at;
    if (to == NULL || to == from)
        return refuse(reader, to == NULL ? reader->end : from, "%s",
                      to == NULL ? "the file ends within a value: cut short?"
                                 : "no JSON: a value should stand here");
    bool starved;
    *value = json_memory_load(from, (size_t)(to - from),
                              JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why, &starved);
    reader->at = to;
    if (starved)
        return no_memory(reader);
    return *value != NULL ? STATUS_OK
                          : refuse(reader, from, "no JSON: %s", trace_shown(why.text, shown));
}

/* --- runs --- */

static void copy_text(char *to, size_t room, const json_t *from)
{
    if (json_is_string(from))
        snprintf(to, room, "%s", json_string_value(from));
}

static int64_t ns_of_ms(const json_t *value)
{
    double ms = json_number_value(value);
    return ms > 0 && ms < 1e12 ? (int64_t)(ms * 1e6 + 0.5) : 0;
}

static enum status read_kinds(struct reader *reader, size_t run, json_t *kinds)
{
    const char *stream;
    json_t *kind;
    struct error why = {0};
    json_object_foreach(kinds, stream, kind)
    {
        char *end;
        unsigned long number = strtoul(stream, &end, 10);
        if (*end != '\0' || end == stream || number >= OWN_NONE || !json_is_string(kind))
            return refuse(reader, reader->event, "a stream's kind is unknown");
        enum status status = own_set_stream_kind(&reader->builder, run, (uint32_t)number,
                                                 json_string_value(kind), &why);
        if (status != STATUS_OK)
            return refuse_row(reader, status, &why);
    }
    return STATUS_OK;
}

static enum status read_run(struct reader *reader, size_t index, json_t *run)
{
    struct own_facts *facts = own_add_run(&reader->builder);
    if (facts == NULL)
        return no_memory(reader);
    const json_t *settings = json_object_get(run, "settings");
    const char *memory = json_string_value(json_object_get(settings, "memory"));
    const char *timing = json_string_value(json_object_get(run, "timing"));
    json_int_t resolution = json_integer_value(json_object_get(run, "resolution_ns"));
    json_int_t launched = json_integer_value(json_object_get(run, "launched_ns"));
    const json_int_t devices = json_integer_value(json_object_get(run, "devices"));
    if (devices < 0 || devices > MACHINE_DEVICES_MAX)
        return refuse(reader, reader->event, "run %zu has too many devices", index + 1);
    facts->devices = (uint32_t)devices;
    facts->sharing = own_sharing(json_string_value(json_object_get(settings, "share")));
    facts->pid = json_integer_value(json_object_get(run, "pid"));
    copy_text(facts->name, sizeof facts->name, json_object_get(run, "name"));
    copy_text(facts->device, sizeof facts->device, json_object_get(run, "device"));
    copy_text(facts->driver, sizeof facts->driver, json_object_get(run, "driver"));
    facts->resolution_ns = resolution > 0 ? resolution : 1;
    facts->launched_ns = launched > 0 ? launched : 0;
    facts->limit_ns = ns_of_ms(json_object_get(run, "limit_ms"));
    facts->speedup = json_number_value(json_object_get(run, "speedup"));
    facts->settled = json_is_object(settings);
    facts->memory_known = memory != NULL;
    facts->pageable = memory != NULL && strcmp(memory, "pageable") == 0;
    facts->issue_unknown = json_is_false(json_object_get(run, "issue_known"));
    if (timing == NULL || !own_timing(timing, &facts->timing))
        return refuse(reader, reader->event,
                      "the metadata does not say where run %zu comes from", index + 1);
    return read_kinds(reader, index, json_object_get(run, "stream_kinds"));
}

static enum status read_metadata(struct reader *reader)
{
    json_t *metadata = NULL, *run;
    bool again = reader->builder.count > 0;
    enum status status = read_value(reader, &metadata);
    if (status != STATUS_OK)
        return status;
    if (again)
        return refuse(reader, reader->event, "metadata for the second time");
    const json_t *runs = json_object_get(metadata, "runs");
    const char *producer = json_string_value(json_object_get(metadata, "producer"));
    size_t i;
    reader->described = producer != NULL && strcmp(producer, "pipeline") == 0;
    json_array_foreach(runs, i, run) status =
        status == STATUS_OK ? read_run(reader, i, run) : status;
    return status;
}

/* --- events --- */

/* Reads a whole number that is not negative out of an event's arguments. */
static bool argument(const json_t *args, const char *key, json_int_t most, int64_t *value)
{
    const json_t *found = json_object_get(args, key);
    if (!json_is_integer(found) || json_integer_value(found) < 0 ||
        json_integer_value(found) > most)
        return false;
    *value = json_integer_value(found);
    return true;
}

/* Returns the name of a kernel, which is the slice's without its tile: "scale 3". */
static const char *kernel_name(const char *slice, int64_t tile, char *name, size_t room)
{
    char ending[32];
    snprintf(ending, sizeof ending, " %" PRId64, tile);
    size_t length = strlen(slice), end = strlen(ending);
    if (tile >= 0 && length > end && strcmp(slice + length - end, ending) == 0)
        length -= end;
    snprintf(name, room, "%.*s", (int)length, slice);
    return name;
}

/* Returns "d2h 3" of "D2H 3": slices have the titles of kinds where files have their names. */
static const char *file_label(const char *label, char *name, size_t room)
{
    size_t length = strcspn(label, " ");
    snprintf(name, room, "%s", label);
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (strlen(op_rows[kind].label) == length &&
            strncmp(op_rows[kind].label, label, length) == 0)
            snprintf(name, room, "%s%s", op_rows[kind].name, label + length);
    }
    return name;
}

static enum status read_op(struct reader *reader, size_t run, enum op_kind kind, json_t *event)
{
    enum { NAME_ROOM = 4096 };
    char name[NAME_ROOM];
    const json_t *args = json_object_get(event, "args");
    const char *slice = json_string_value(json_object_get(event, "name"));
    const char *target = json_string_value(json_object_get(args, "waited for"));
    int64_t op, bytes = 0, tile = -1, device = 0, to;
    struct own_row row = {.kind = kind, .stream = -1, .name = ""};
    struct error why = {0};
    bool whole = argument(args, "op", UINT32_MAX - 1, &op) &&
                 argument(args, "bytes", INT64_MAX, &bytes) &&
                 argument(args, "start_ns", INT64_MAX / 2, &row.start_ns) &&
                 argument(args, "end_ns", INT64_MAX / 2, &row.end_ns) && slice != NULL;
    if (!whole)
        return refuse(reader, reader->event, "an op without its number, name, bytes or times");
    row.issue_ns = row.start_ns;
    argument(args, "issue_ns", INT64_MAX / 2, &row.issue_ns);
    argument(args, "tile", INT32_MAX, &tile);
    argument(args, "stream", OWN_NONE - 1, &row.stream);
    if (json_object_get(args, "device") != NULL &&
        !argument(args, "device", MACHINE_DEVICES_MAX - 1, &device))
        return refuse(reader, reader->event, "an op's device is no number that it can be");
    row.device = (uint32_t)device;
    row.op = (uint32_t)op;
    row.tile = (int32_t)tile;
    row.bytes = (uint64_t)bytes;
    if (kind == OP_PEER && argument(args, "to", MACHINE_DEVICES_MAX - 1, &to)) {
        snprintf(name, sizeof name, TIMELINE_PEER_NAME "%" PRId64, to);
        row.name = name;
    } else if (kind == OP_ALLOC)
        row.name = slice;
    else if (kind == OP_KERNEL)
        row.name = kernel_name(slice, tile, name, sizeof name);
    else if (op_rows[kind].waits && target != NULL)
        row.name = file_label(target, name, sizeof name);
    enum status status = own_add_row(&reader->builder, run, &row, &why);
    return status == STATUS_OK ? status : refuse_row(reader, status, &why);
}

/* Reads an event that is an op; an op of an engine is drawn in its stream, too, and comes
 * twice.
 */
static enum status read_event(struct reader *reader, json_t *event)
{
    const char *phase = json_string_value(json_object_get(event, "ph"));
    const char *category = json_string_value(json_object_get(event, "cat"));
    if (!json_is_object(event))
        return refuse(reader, reader->event, "an event that is no object");
    enum op_kind kind = own_kind(category != NULL ? category : "");
    if (phase == NULL || strcmp(phase, "X") != 0 || kind == OP_KIND_COUNT)
        return STATUS_OK;
    json_int_t pid = json_integer_value(json_object_get(event, "pid"));
    for (size_t run = 0; run < reader->builder.count; run++) {
        const struct own_facts *facts = own_facts(&reader->builder, run);
        const json_int_t behind = facts->devices > 1 ? facts->devices : 0; /* a device each */
        if (facts->pid <= pid && pid <= facts->pid + behind)
            return read_op(reader, run, kind, event);
    }
    return refuse(reader, reader->event, "an op of no run that the metadata tells of");
}

static enum status read_events(struct reader *reader)
{
    enum status status = expect(reader, '[');
    if (!reader->described && status == STATUS_OK)
        return refuse(
            reader, reader->at,
            "a trace of another program: no metadata of `pipeline` before its events");
    if (status != STATUS_OK || next_is(reader, ']'))
        return status;
    do {
        json_t *event = NULL;
        status = read_value(reader, &event);
        if (status == STATUS_OK)
            status = read_event(reader, event);
    } while (status == STATUS_OK && next_is(reader, ','));
    return status == STATUS_OK ? expect(reader, ']') : status;
}

/* --- the file --- */

static enum status read_all(struct reader *reader)
{
    bool events = false;
    enum status status = expect(reader, '{');
    do {
        json_t *key = NULL, *other;
        if (status == STATUS_OK)
            status = read_value(reader, &key);
        if (status == STATUS_OK && !json_is_string(key))
            status = refuse(reader, reader->event, "no JSON: a name should stand here");
        if (status == STATUS_OK)
            status = expect(reader, ':');
        const char *name = status == STATUS_OK ? json_string_value(key) : "";
        if (strcmp(name, "metadata") == 0) {
            status = read_metadata(reader);
        } else if (strcmp(name, "traceEvents") == 0) {
            events = true;
            status = read_events(reader);
        } else if (status == STATUS_OK) {
            status = read_value(reader, &other);
        }
    } while (status == STATUS_OK && next_is(reader, ','));
    if (status == STATUS_OK)
        status = expect(reader, '}');
    if (status == STATUS_OK && !events)
        status = refuse(reader, reader->end, "no traceEvents: not a timeline of this program");
    return status;
}

enum status own_json_read(struct trace_input *input, const char *path, struct traces *traces,
                          struct error *error)
{
    struct error why = {0}, unfinished = {0};
    struct reader reader = {.path = path,
                            .input = input,
                            .text = input->text + input->at,
                            .at = input->text + input->at,
                            .end = input->text + input->end,
                            .line = 1,
                            .builder.drawn_twice = true,
                            .error = &why};
    size_t run = 0;
    if (reader.end - reader.at >= 3 && memcmp(reader.at, "\xef\xbb\xbf", 3) == 0)
        reader.at += 3;
    enum status status = read_all(&reader);
    if (status == STATUS_OK) {
        status = own_finish(&reader.builder, traces, &run, &unfinished);
        reader.line = 1;
        if (status == STATUS_USAGE)
            refuse(&reader, reader.text, "run %zu: %s", run + 1, unfinished.text);
        else if (status != STATUS_OK)
            error_pass(&why, &unfinished);
    }
    if (status != STATUS_OK)
        error_pass(error, &why);
    json_memory_free();
    own_free(&reader.builder);
    return status != STATUS_OK ? why.status : STATUS_OK;
}
