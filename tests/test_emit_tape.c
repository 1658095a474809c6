/* test_emit_tape.c - see test_emit_tape.h; docs/recording.md has the lines of a recording, and
 * tests/emit/pieces.h what the names of ranges say. */
#include "test_emit_tape.h"

#include "fixtures.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 1 << 10 };

char emit_calls[EMIT_CALLS_MAX][CALL_TEXT];
int emit_call_count, emit_node_count;
bool emit_before[EMIT_NODES_MAX][EMIT_NODES_MAX];

/* What a call did, or a node of the graph. */
struct did {
    json_int_t id;
    const char *kind; /* NULL: nothing of its own */
    json_int_t bytes, stream, event;
};

static struct {
    json_t *lines; /* an array of them all */
    struct did calls[EMIT_CALLS_MAX], nodes[EMIT_NODES_MAX];
    json_int_t handles[NUMBERS_MAX];
    int made[NUMBERS_MAX]; /* by number of a stream; -1: the legacy default stream */
    int made_count, stream_count;
    int events[EMIT_CALLS_MAX]; /* by number: the line of the latest record */
    size_t next_range;
    bool captures;
    int captured; /* nodes so far */
} tape;

static json_int_t number(const json_t *line, size_t i)
{
    return json_integer_value(json_array_get(line, i));
}

static const char *word(const json_t *line, size_t i)
{
    const char *text = json_string_value(json_array_get(line, i));
    return text != NULL ? text : "";
}

static bool is(const json_t *line, const char *kind)
{
    return strcmp(word(line, 0), kind) == 0;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* --- what the lines say --- */

static struct did *call_of(const json_t *line)
{
    const json_int_t id = number(line, 1);
    ck_assert_int_lt(id, EMIT_CALLS_MAX);
    return &tape.calls[id];
}

static int node_at(json_int_t id)
{
    int i = 0;
    while (i < emit_node_count && tape.nodes[i].id != id)
        i++;
    ck_assert_int_lt(i, emit_node_count);
    return i;
}

/* An op that ran is its call's, or a node's. */
static void take_op(const json_t *line, const char *kind, json_int_t bytes, json_int_t node)
{
    struct did *did = node != 0 ? &tape.nodes[node_at(node)] : call_of(line);
    did->kind = kind;
    did->bytes = node != 0 ? bytes : did->bytes + bytes; /* a batch has several */
    did->stream = number(line, is(line, "op") ? 4 : 3);
}

static void take_sync(const json_t *line)
{
    struct did *did = call_of(line);
    const char *what = word(line, 2);
    did->kind = strcmp(what, "device") == 0   ? "synchronize"
                : strcmp(what, "stream") == 0 ? "sync"
                                              : "event-sync";
    did->stream = did->event = number(line, 4);
}

static void take_stream(const json_t *line)
{
    const json_int_t at = number(line, 2);
    ck_assert_int_lt(at, NUMBERS_MAX);
    tape.handles[at] = number(line, 3);
    tape.made[at] = strcmp(word(line, 4), "legacy") == 0 ? -1 : tape.made_count++;
    tape.stream_count = (int)at >= tape.stream_count ? (int)at + 1 : tape.stream_count;
}

/* The call that took memory has returned when it was there. */
static void take_memory(const json_t *line)
{
    const json_t *call;
    size_t i;
    json_array_foreach(tape.lines, i, call)
    {
        if (!is(call, "call") || number(call, 5) != number(line, 2) ||
            strstr(word(call, 2), "lloc") == NULL || strstr(word(call, 2), "Async") != NULL)
            continue;
        call_of(call)->kind = "alloc";
        call_of(call)->bytes = number(line, 4);
    }
}

static void take_node(const json_t *line)
{
    ck_assert_int_lt(emit_node_count, EMIT_NODES_MAX);
    const bool function = strcmp(word(line, 3), "function") == 0;
    tape.nodes[emit_node_count++] =
        (struct did){.id = number(line, 2), .kind = function ? "callback" : "empty"};
}

/* Edges come in the order of the nodes that they lead to. */
static void take_edge(const json_t *line)
{
    const int from = node_at(number(line, 2)), to = node_at(number(line, 3));
    ck_assert_int_lt(from, to);
    for (int i = 0; i < from; i++)
        emit_before[to][i] |= emit_before[from][i];
    emit_before[to][from] = true;
}

static void take(const json_t *line)
{
    if (is(line, "op"))
        take_op(line, word(line, 2), number(line, 7), number(line, 10));
    else if (is(line, "kernel"))
        take_op(line, "kernel", 0, number(line, 11));
    else if (is(line, "function"))
        take_op(line, "callback", 0, 0);
    else if (is(line, "record") || is(line, "wait")) {
        take_op(line, word(line, 0), 0, 0);
        call_of(line)->event = number(line, 4);
    } else if (is(line, "sync"))
        take_sync(line);
    else if (is(line, "stream"))
        take_stream(line);
    else if (is(line, "memory"))
        take_memory(line);
    else if (is(line, "node"))
        take_node(line);
    else if (is(line, "edge"))
        take_edge(line);
}

/* --- the calls --- */

static const char *latest(void)
{
    return emit_call_count > 0 ? emit_calls[emit_call_count - 1] : "";
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    va_list values;
    ck_assert_int_lt(emit_call_count, EMIT_CALLS_MAX);
    va_start(values, format);
    vsnprintf(emit_calls[emit_call_count++], CALL_TEXT, format, values);
    va_end(values);
}

/* Returns the place of the page-locked memory that an address lies in; 0: of other memory. */
static size_t array_at(json_int_t address)
{
    const json_t *line;
    size_t i;
    json_array_foreach(tape.lines, i, line)
    {
        if (is(line, "memory") && strcmp(word(line, 1), "pinned") == 0 &&
            address >= number(line, 3) && address < number(line, 3) + number(line, 4))
            return i;
    }
    return 0;
}

/* Pieces that go to one array, between two calls, are a line. */
static void put_pack(json_int_t bytes, json_int_t address)
{
    static size_t array;
    const size_t to = array_at(address);
    const bool more = begins(latest(), "pack ") && array == to;
    if (more)
        bytes += atoll(latest() + strlen("pack "));
    emit_call_count -= more;
    array = to;
    put("pack %lld", (long long)bytes);
}

static void put_range(const char *name)
{
    char kind[8];
    long long first, second;
    ck_assert_int_eq(sscanf(name, "%7s %lld %lld", kind, &first, &second), 3);
    if (strcmp(kind, "pack") == 0)
        put_pack(first, second);
    else if (strcmp(kind, "cpu") == 0)
        put("%s", name);
    else {
        int stream = 0;
        while (stream < tape.stream_count && tape.handles[stream] != first)
            stream++;
        ck_assert_int_lt(stream, tape.stream_count);
        if (strcmp(kind, "give") == 0)
            put("give %d", tape.made[stream]);
        else
            put("%s %d %lld", kind, tape.made[stream], second);
    }
}

/* Puts the ranges that the calls' thread, and others, went through up to some time. */
static void put_ranges(json_int_t until)
{
    for (; tape.next_range < json_array_size(tape.lines); tape.next_range++) {
        const json_t *line = json_array_get(tape.lines, tape.next_range);
        if (!is(line, "range"))
            continue;
        if (number(line, 2) > until)
            break;
        put_range(word(line, 4));
    }
}

/* A call that the capture takes up makes a node, or orders those to come. */
static void put_captured(const char *name)
{
    if (strcmp(name, "cudaEventRecord") == 0)
        put("record");
    else if (strcmp(name, "cudaStreamWaitEvent") == 0)
        put("wait");
    else if (begins(name, "cudaMem") || begins(name, "cudaLaunch") || begins(name, "cublasD")) {
        ck_assert_int_lt(tape.captured, emit_node_count);
        const struct did *node = &tape.nodes[tape.captured++];
        if (node->bytes > 0)
            put("%s %lld", node->kind, (long long)node->bytes);
        else
            put("%s", node->kind);
    }
}

static void put_did(const struct did *did)
{
    const char *kind = did->kind;
    const int stream = tape.made[did->stream < NUMBERS_MAX ? did->stream : 0];
    int *recorded = &tape.events[did->event % EMIT_CALLS_MAX];
    if (strcmp(kind, "alloc") == 0)
        put("alloc %lld", (long long)did->bytes);
    else if (strcmp(kind, "synchronize") == 0)
        put("synchronize");
    else if (strcmp(kind, "event-sync") == 0)
        put("event-sync %d", *recorded);
    else if (strcmp(kind, "wait") == 0)
        put("wait %d %d", stream, *recorded);
    else if (stream < 0 && did->bytes > 0)
        put("%s in the legacy default stream %lld", kind, (long long)did->bytes);
    else if (stream < 0)
        put("%s in the legacy default stream", kind);
    else if (did->bytes > 0)
        put("%s %d %lld", kind, stream, (long long)did->bytes);
    else
        put("%s %d", kind, stream);
    if (strcmp(kind, "record") == 0)
        *recorded = emit_call_count - 1;
}

/* Copies and sets that wait, which prepare memory, are left out, and so is that memory which
 * was just taken is given back. */
static void put_call(const json_t *line)
{
    const char *name = word(line, 2);
    const struct did *did = call_of(line);
    if (strcmp(name, "cudaStreamEndCapture") == 0)
        tape.captures = false;
    if (begins(name, "cudaStreamBeginCapture") || begins(name, "cudaStreamEndCapture"))
        put("%s", begins(name, "cudaStreamB") ? "capture" : "captured");
    else if (tape.captures)
        put_captured(name);
    else if (strcmp(name, "cudaFree") == 0 && !begins(latest(), "alloc"))
        put("free");
    else if (did->kind != NULL && strcmp(name, "cudaMemcpy") != 0 &&
             strcmp(name, "cudaMemset") != 0)
        put_did(did);
    tape.captures |= strcmp(name, "cudaStreamBeginCapture") == 0;
}

static void read_lines(void)
{
    FILE *file = fopen("tiles.jsonl", "r");
    ck_assert_ptr_nonnull(file);
    json_decref(tape.lines);
    memset(&tape, 0, sizeof tape);
    memset(emit_before, 0, sizeof emit_before);
    emit_call_count = emit_node_count = 0;
    tape.lines = json_array();
    for (json_t *line; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL;)
        json_array_append_new(tape.lines, line);
    fclose(file);
}

void emit_read_calls(void)
{
    const json_t *line;
    size_t i;
    read_lines();
    json_array_foreach(tape.lines, i, line) take(line);
    json_array_foreach(tape.lines, i, line)
    {
        if (!is(line, "call"))
            continue;
        put_ranges(number(line, 4));
        put_call(line);
    }
    put_ranges(INT64_MAX);
}
