/* fuzz_recording.c - what `pipeline record` wrote, read back: as a recording, then as a trace.
 */
#include "fuzz.h"
#include "machine/machine.h"
#include "trace/input.h"
#include "trace/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "fuzz.jsonl"

enum { FILL = 0x5a };

static void require_devices(const struct recording *r)
{
    for (size_t i = 0; i < r->device_count; i++) {
        FUZZ_REQUIRE(r->devices[i].name != NULL);
        FUZZ_REQUIRE(i == 0 || r->devices[i].id > r->devices[i - 1].id);
        FUZZ_REQUIRE(r->devices[i].id != RECORDING_NONE || i + 1 == r->device_count);
    }
    for (size_t i = 0; i < r->stream_count; i++) {
        const struct recorded_stream *stream = &r->streams[i], *before = stream - 1;
        FUZZ_REQUIRE(stream->device < r->device_count && stream->kind <= STREAM_KIND_COUNT);
        FUZZ_REQUIRE(i == 0 || stream->context > before->context ||
                     (stream->context == before->context && stream->number > before->number));
    }
}

static void require_memory(const struct recording *r)
{
    for (size_t i = 0; i < r->memory_count; i++) {
        const struct recorded_memory *memory = &r->memory[i], *before = memory - 1;
        FUZZ_REQUIRE(memory->from_ns >= 0 && memory->from_ns <= memory->until_ns);
        FUZZ_REQUIRE(memory->bytes <= UINT64_MAX - memory->address);
        FUZZ_REQUIRE(memory->device == RECORDING_NONE || memory->device < r->device_count);
        FUZZ_REQUIRE(memory->kind <= RECORDED_REGISTERED);
        FUZZ_REQUIRE(i == 0 || memory->address > before->address ||
                     (memory->address == before->address &&
                      memory->from_ns >= before->from_ns &&
                      before->until_ns <= memory->from_ns));
    }
}

static void require_words(const struct recording *r, uint32_t first, uint32_t count)
{
    FUZZ_REQUIRE(first <= r->word_count && count <= r->word_count - first);
}

static void require_calls(const struct recording *r)
{
    uint32_t ops = 0, threads = 0;
    for (size_t i = 0; i < r->call_count; i++) {
        const struct recorded_call *call = &r->calls[i], *before = call - 1;
        FUZZ_REQUIRE(call->start_ns >= 0 && call->start_ns <= call->end_ns);
        FUZZ_REQUIRE(call->end_ns < MACHINE_NEVER_NS);
        FUZZ_REQUIRE(i == 0 || call->start_ns > before->start_ns ||
                     (call->start_ns == before->start_ns && call->id > before->id));
        FUZZ_REQUIRE(call->thread <= threads);
        threads += call->thread == threads;
        FUZZ_REQUIRE(call->effect <= EFFECT_GRAPH && call->first_op == ops);
        FUZZ_REQUIRE(call->stream == RECORDING_NONE || call->stream < r->stream_count);
        ops += call->op_count;
        for (uint32_t op = call->first_op; op < ops; op++)
            FUZZ_REQUIRE(op < r->op_count && r->ops[op].call == i);
        if (call->effect == EFFECT_LAUNCH)
            require_words(r, call->launch.first_word, call->launch.word_count);
    }
    for (size_t i = 0; i < r->node_count; i++) {
        if (r->nodes[i].kind == OP_KERNEL)
            require_words(r, r->nodes[i].made.launch.first_word,
                          r->nodes[i].made.launch.word_count);
    }
    for (size_t i = 0; i < r->line_count; i++)
        FUZZ_REQUIRE(r->lines[i].call < r->call_count && r->lines[i].text != NULL &&
                     (i == 0 || r->lines[i].call >= r->lines[i - 1].call));
    for (size_t i = 0; i < 2 * r->race_count; i++) {
        const struct recorded_racer *racer = &r->races[i / 2].sides[i % 2];
        FUZZ_REQUIRE(racer->place != NULL &&
                     (racer->call == RECORDING_NONE || racer->call < r->call_count));
    }
    FUZZ_REQUIRE(ops <= r->op_count && threads == r->threads);
    for (size_t i = ops; i < r->op_count; i++)
        FUZZ_REQUIRE(r->ops[i].call == RECORDING_NONE);
}

static void require_ops(const struct recording *r)
{
    for (size_t i = 0; i < r->op_count; i++) {
        const struct recorded_op *op = &r->ops[i];
        FUZZ_REQUIRE(op->start_ns >= 0 && op->start_ns <= op->end_ns);
        FUZZ_REQUIRE(op->end_ns < MACHINE_NEVER_NS && op->stream < r->stream_count);
        FUZZ_REQUIRE(op->name == RECORDING_NONE ||
                     (op->name < r->name_count && op->kind == OP_KERNEL && !op->h2h));
        FUZZ_REQUIRE(!op->h2h || op->kind == OP_KERNEL);
        FUZZ_REQUIRE(op->kind == OP_H2D || op->kind == OP_D2H || op->kind == OP_D2D ||
                     op->kind == OP_MEMSET || op->kind == OP_KERNEL || op->kind == OP_PEER);
        FUZZ_REQUIRE(i == 0 || op->call != op[-1].call || op->start_ns >= op[-1].start_ns);
    }
    for (size_t i = 0; i < r->name_count; i++)
        FUZZ_REQUIRE(r->names[i] != NULL);
    for (size_t i = 0; i < r->note_count; i++)
        FUZZ_REQUIRE(r->notes[i] != NULL);
    for (size_t i = 0; i < r->range_count; i++)
        FUZZ_REQUIRE(
            r->ranges[i].name != NULL && r->ranges[i].start_ns <= r->ranges[i].end_ns &&
            (r->ranges[i].thread == RECORDING_NONE || r->ranges[i].thread < r->threads));
    for (size_t i = 0; i < r->node_count; i++)
        FUZZ_REQUIRE(r->nodes[i].kind <= OP_KIND_COUNT &&
                     (i == 0 || r->nodes[i].exec >= r->nodes[i - 1].exec));
    for (size_t i = 1; i < r->edge_count; i++)
        FUZZ_REQUIRE(r->edges[i].exec >= r->edges[i - 1].exec);
}

bool fuzz_recording(const uint8_t *data, size_t size)
{
    struct recording recording;
    struct error error = {0};
    struct trace_input input = {.file = fopen(fuzz_file(NAME, data, size), "r")};
    FUZZ_REQUIRE(input.file != NULL);
    memset(&recording, FILL, sizeof recording);
    enum status status = recording_read(&input, NAME, &recording, &error);
    trace_input_free(&input);
    fclose(input.file);
    if (status == STATUS_OK) {
        FUZZ_REQUIRE(recording.program != NULL && recording.end <= RECORDING_STOP);
        require_devices(&recording);
        require_memory(&recording);
        require_calls(&recording);
        require_ops(&recording);
        recording_free(&recording);
    } else {
        fuzz_require_refusal(status, &error, NAME);
        fuzz_require_line(&error, NAME, data, size);
        FUZZ_REQUIRE(fuzz_is_filled(&recording, sizeof recording, FILL));
    }
    fuzz_trace(data, size); /* whatever it is */
    return status == STATUS_OK;
}
