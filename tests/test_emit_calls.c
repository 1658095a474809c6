/* test_emit_calls.c - what programs of --emit call, held against their plans: see test_emit.h.
 */
#include "fixtures.h"
#include "test_emit.h"
#include "test_emit_back.h"
#include "test_emit_tape.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the place behind the `nth` call `name`. */
static int behind(const char *name, int nth)
{
    for (int i = 0; i < emit_call_count; i++) {
        if (strcmp(emit_calls[i], name) == 0 && --nth == 0)
            return i + 1;
    }
    ck_abort_msg("no call %s", name);
    return 0;
}

/* Returns how many devices a plan is for. A look at the clock waits for each. */
static int devices_of(const json_t *plan)
{
    const json_t *streams = json_object_get(plan, "streams");
    const json_t *last = json_array_get(streams, json_array_size(streams) - 1);
    return (int)json_integer_value(json_object_get(last, "device")) + 1;
}

/* Returns the place behind the first wait of the fourth look at the clock. */
static int run_ends(const json_t *plan)
{
    return behind("synchronize", 3 * devices_of(plan) + 1);
}

/* Finds the calls of one run: those between the third and the fourth look at the clock; or
 * those of the capture, without what takes the other streams into it and back. */
static void find_run(const json_t *plan, bool graph, int *first, int *end)
{
    const size_t streams = json_array_size(json_object_get(plan, "streams"));
    const int others = (int)streams - 1;
    *first = graph ? behind("capture", 1) : behind("synchronize", 3 * devices_of(plan));
    *end = (graph ? behind("captured", 1) : run_ends(plan)) - 1;
    if (graph && others > 0) {
        *first += 1 + others;
        *end -= 2 * others;
    }
}

/* Returns the number of the plan's legacy default stream, or of none. */
static int legacy_stream(const json_t *plan)
{
    const json_t *streams = json_object_get(plan, "streams"), *stream;
    size_t i;
    json_array_foreach(streams, i, stream)
    {
        if (strcmp(json_string_value(json_object_get(stream, "kind")), "legacy") == 0)
            return (int)i;
    }
    return (int)json_array_size(streams);
}

/* Writes the call that an op of the kind "alloc" is. */
static void expected_alloc(const json_t *op, char text[CALL_TEXT])
{
    const json_t *order = json_object_get(op, "order_of_stream");
    const bool gives =
        strncmp(json_string_value(json_object_get(op, "name")), "give", strlen("give")) == 0;
    const int stream = (int)json_integer_value(order);
    const long long bytes = json_integer_value(json_object_get(op, "bytes"));
    if (order == NULL && gives)
        snprintf(text, CALL_TEXT, "free");
    else if (order == NULL)
        snprintf(text, CALL_TEXT, "alloc %lld", bytes);
    else if (gives)
        snprintf(text, CALL_TEXT, "give %d", stream);
    else
        snprintf(text, CALL_TEXT, "take %d %lld", stream, bytes);
}

/* Returns true if a call is what is expected. A plan rounds the bytes of a slot up. */
static bool call_fits(const char *call, const char *expected, const json_t *op)
{
    enum { ALIGNMENT = 256 };
    const char *name = json_string_value(json_object_get(op, "name"));
    const char *bytes = strrchr(call, ' '), *most = strrchr(expected, ' ');
    if (strncmp(name, "take", strlen("take")) != 0)
        return strcmp(call, expected) == 0;
    const long long less =
        bytes != NULL && most != NULL ? atoll(most) - atoll(bytes) : ALIGNMENT;
    return most - expected == bytes - call &&
           strncmp(call, expected, (size_t)(bytes - call)) == 0 && less >= 0 &&
           less < ALIGNMENT;
}

/* Returns the number of a plan's stream among those that the program makes. The legacy default
 * stream is not made; where each device has one stream, that is made with another for the bare
 * copies. */
static int made_as(const json_t *plan, int number)
{
    const int streams = (int)json_array_size(json_object_get(plan, "streams"));
    const int devices = devices_of(plan);
    if (devices > 1)
        return streams == devices ? 2 * number : number;
    return number > legacy_stream(plan) ? number - 1 : number;
}

/* A capture tells nothing of streams: only bytes stay of "h2d 3 400", and of "wait 3 17"
 * nothing. */
static void leave_out_stream(char *text)
{
    char *stream = strchr(text, ' '), *bytes = stream != NULL ? strchr(stream + 1, ' ') : NULL;
    if (bytes != NULL && strncmp(text, "wait", strlen("wait")) != 0)
        memmove(stream, bytes, strlen(bytes) + 1);
    else if (stream != NULL)
        *stream = '\0';
}

/* Writes the call that an op is. `recorded`: per event, the place of its record. */
static void expected_call(const json_t *op, const json_t *plan, int place, int first,
                          int *recorded, char text[CALL_TEXT])
{
    const char *kind = json_string_value(json_object_get(op, "kind"));
    const int number = (int)json_integer_value(json_object_get(op, "stream"));
    const int stream = made_as(plan, number);
    const int event = (int)json_integer_value(json_object_get(op, "event"));
    if (strcmp(kind, "cpu") == 0)
        snprintf(text, CALL_TEXT, "cpu %lld %lld",
                 (long long)json_integer_value(json_object_get(op, "tile")),
                 (long long)json_integer_value(json_object_get(op, "elements")));
    else if (strcmp(kind, "alloc") == 0)
        expected_alloc(op, text);
    else if (number == legacy_stream(plan) && strcmp(kind, "memset") == 0)
        snprintf(text, CALL_TEXT, "memset in the legacy default stream %lld",
                 (long long)json_integer_value(json_object_get(op, "bytes")));
    else if (number == legacy_stream(plan))
        snprintf(text, CALL_TEXT, "%s in the legacy default stream", kind);
    else if (strcmp(kind, "h2d") == 0 || strcmp(kind, "d2h") == 0 ||
             strcmp(kind, "peer") == 0 || strcmp(kind, "memset") == 0)
        snprintf(text, CALL_TEXT, "%s %d %lld", kind, stream,
                 (long long)json_integer_value(json_object_get(op, "bytes")));
    else if (strcmp(kind, "wait") == 0)
        snprintf(text, CALL_TEXT, "wait %d %d", stream, first + recorded[event]);
    else if (strcmp(kind, "event-sync") == 0)
        snprintf(text, CALL_TEXT, "event-sync %d", first + recorded[event]);
    else if (strcmp(kind, "pack") == 0)
        snprintf(text, CALL_TEXT, "pack %lld",
                 (long long)json_integer_value(json_object_get(op, "bytes")));
    else
        snprintf(text, CALL_TEXT, "%s %d", kind, stream);
    if (strcmp(kind, "record") == 0)
        recorded[event] = place;
}

/* Returns how many ops are the CPU's tiles, which come first. */
static int cpu_tiles(const json_t *ops)
{
    size_t count = 0;
    while (strcmp(json_string_value(json_object_get(json_array_get(ops, count), "kind")),
                  "cpu") == 0)
        count++;
    return (int)count;
}

/* What is done before each node of the graph has to be what the plan's streams and waits order
 * before its op. */
static void check_order(const char *options, const json_t *ops)
{
    static bool streams[EMIT_NODES_MAX][EMIT_NODES_MAX], events[EMIT_NODES_MAX][EMIT_NODES_MAX];
    const json_t *op;
    size_t i;
    int node = 0;
    memset(streams, 0, sizeof streams);
    json_array_foreach(ops, i, op)
    {
        const char *kind = json_string_value(json_object_get(op, "kind"));
        bool *stream = streams[json_integer_value(json_object_get(op, "stream"))];
        bool *event = events[json_integer_value(json_object_get(op, "event"))];
        if (strcmp(kind, "record") == 0)
            memcpy(event, stream, sizeof *events);
        for (int k = 0; k < emit_node_count && strcmp(kind, "wait") == 0; k++)
            stream[k] |= event[k];
        if (strcmp(kind, "record") == 0 || strcmp(kind, "wait") == 0 ||
            strcmp(kind, "cpu") == 0)
            continue;
        ck_assert_msg(node < emit_node_count &&
                          memcmp(stream, emit_before[node], sizeof *streams) == 0,
                      "%s: op %zu follows others in the graph", options, i);
        stream[node++] = true;
    }
    ck_assert_int_eq(node, emit_node_count);
}

/* Holds the calls against the plan that the latest run of the program printed. */
static void check_calls(const char *options, const char *plan_text)
{
    json_t *root = json_loads(plan_text, 0, NULL), *op;
    ck_assert_ptr_nonnull(root);
    const json_t *plan = json_array_get(json_object_get(root, "plans"), 0);
    const json_t *ops = json_object_get(plan, "ops");
    int *recorded = calloc(json_array_size(ops) + 1, sizeof *recorded), first, end;
    size_t i;
    bool graph = false;
    emit_read_calls();
    for (int k = 0; k < emit_call_count; k++)
        graph |= strcmp(emit_calls[k], "capture") == 0;
    find_run(plan, graph, &first, &end);
    const int cpu = cpu_tiles(ops), cpu_first = run_ends(plan) - 1 - cpu;
    end -= end > cpu_first ? cpu : 0; /* they stand at the end of the run, not of a capture */
    ck_assert_msg((size_t)(end - first + cpu) == json_array_size(ops),
                  "%s: %d calls for %zu ops", options, end - first + cpu, json_array_size(ops));
    json_array_foreach(ops, i, op)
    {
        char text[CALL_TEXT];
        const int place = (int)i - cpu;
        const char *call = emit_calls[place < 0 ? cpu_first + (int)i : first + place];
        expected_call(op, plan, place, first, recorded, text);
        if (graph && place >= 0)
            leave_out_stream(text);
        ck_assert_msg(call_fits(call, text, op), "%s: op %zu is %s, not %s", options, i, text,
                      call);
    }
    if (graph)
        check_order(options, ops);
    free(recorded);
    json_decref(root);
}

/* Returns false for what a recording shows otherwise. Graphs are ops without streams; nobody
 * records the bytes of batches, nor what is prefetched; memory that a run takes lies elsewhere
 * each time, tiles that lie apart in pageable memory are arrays of their own, and of several
 * devices one is looked at. */
static bool is_recorded(const char *options)
{
    const bool packed = strstr(options, "--pack") != NULL; /* in one piece */
    const bool apart = strstr(options, "--scatter") != NULL && !packed;
    return !(apart && strstr(options, "pageable") != NULL) &&
           strstr(options, "--issue=") == NULL && strstr(options, "--device=") == NULL &&
           strstr(options, "--prefetch") == NULL && strstr(options, "--alloc=") == NULL &&
           (packed || strstr(options, "--copy=") == NULL);
}

/* The command in the head makes the same program. */
static void check_command(const char *options)
{
    static const char open[] = "\n// By pipeline ", close[] = " --emit=THIS.cu";
    char *text = test_file_text("tiles.cu");
    const char *from = strstr(text, open), *to = strstr(text, close);
    ck_assert_msg(from != NULL && to != NULL, "%s: the head has no command", options);
    char *command = strndup(from + strlen(open), (size_t)(to - from) - strlen(open));
    for (char *at = command; (at = strstr(at, "\n//    ")) != NULL;)
        memset(at, ' ', strlen("\n//    ")); /* it goes on in the next line */
    const char *const arguments = strstr(command, ": pipeline");
    ck_assert_ptr_nonnull(arguments);
    char line[3 * OPTIONS_TEXT];
    snprintf(line, sizeof line, "-q %s --emit=again.cu", arguments + strlen(": pipeline"));
    ck_assert_msg(program_run(line) == 0, "%s: %s: %s", options, line, program_err);
    char *again = test_file_text("again.cu");
    ck_assert_msg(strcmp(again, text) == 0, "%s: '%s' makes another program", options, line);
    free(again);
    free(command);
    free(text);
}

/* CUDA reads whether launches block at its first call, of which the recording has what was set;
 * it has, too, that a pool is to keep its memory. */
static void check_environment(const char *options)
{
    const bool blocks = strstr(options, "--mistake=launch-blocking") != NULL;
    char *recording = test_file_text("tiles.jsonl");
    ck_assert_msg(strstr(options, "--alloc=pool") == NULL ||
                      strstr(recording, "[\"threshold\",") != NULL,
                  "%s: the pool keeps nothing", options);
    ck_assert_msg(strstr(recording, blocks ? "\"launch_blocking\":true"
                                           : "\"launch_blocking\":false") != NULL,
                  "%s: launches %s", options, blocks ? "don't block" : "block");
    free(recording);
}

/* Holds the program with a number among those that were compiled, and its plan, which lie
 * beside them, against each other. */
static void check_program(const char *options, int number)
{
    enum { RUNS = 2 }; /* beside one in one stream, in programs that have it */
    char why[DIFFERENCE_TEXT] = "", line[64];
    snprintf(line, sizeof line, "mv plan_%d out && mv tiles_%d.cu tiles.cu", number, number);
    ck_assert_int_eq(system(line), 0);
    char *plan = test_file_text("out"), *program = test_file_text("tiles.cu");
    const bool serial = strstr(program, "in one stream %") != NULL;
    ck_assert_msg(emit_run(number, NULL) == 0, "%s: the result is wrong", options);
    check_calls(options, plan);
    check_environment(options);
    if (is_recorded(options))
        ck_assert_msg(emit_gives_back("tiles.jsonl", RUNS + serial, serial, why), "%s: %s",
                      options, why);
    free(program);
    free(plan);
    check_command(options);
}

/* Emits a program, adds it to those that are compiled, and lays it and its plan beside them. */
static void add_program(const char *options)
{
    char line[64];
    emit_write(options);
    const int number = emit_add(options);
    emit_print_plan(options);
    snprintf(line, sizeof line, "mv out plan_%d && mv tiles.cu tiles_%d.cu", number, number);
    ck_assert_int_eq(system(line), 0);
}

void emit_check_programs(const char *const *options, int count)
{
    const char *now[EMIT_AT_ONCE];
    const int share = emit_share();
    for (int i = 0, few = 0; share > 0 && i < count; i += share) {
        if (emit_is_there(options[i])) {
            now[few++] = options[i];
            add_program(options[i]);
        }
        if (few < EMIT_AT_ONCE && i + share < count)
            continue;
        emit_compile();
        for (int number = 0; number < few; number++)
            check_program(now[number], number);
        few = 0;
    }
}
