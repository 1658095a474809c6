/* check_recording.c - recordings read back: whole, cut, shuffled, and wrong. */
#include "fixtures.h"
#include "recording_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "trace/input.h"
#include "trace/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "{\"pipeline_recording\":1}\n"

static enum status read_bytes(const char *bytes, size_t size, struct recording *recording,
                              struct error *error)
{
    struct trace_input input = {.file = size > 0 ? fmemopen((char *)bytes, size, "r")
                                                 : fopen("/dev/null", "r")};
    ck_assert_ptr_nonnull(input.file);
    enum status status = recording_read(&input, "rec.jsonl", recording, error);
    trace_input_free(&input);
    fclose(input.file);
    return status;
}

static struct recording read_right(const char *text)
{
    struct recording recording;
    struct error error = {0};
    ck_assert_msg(read_bytes(text, strlen(text), &recording, &error) == STATUS_OK, "%s",
                  error.text);
    return recording;
}

static struct recording read_file(const char *name)
{
    char *text = test_file_text(name);
    struct recording recording = read_right(text);
    free(text);
    return recording;
}

START_TEST(all_that_a_program_did)
{
    struct recording r = read_file(RECORDINGS "good.jsonl");
    ck_assert_str_eq(r.program, "saxpy");
    ck_assert(r.driver == 13000 && r.connections == 8);
    ck_assert(!r.launch_blocking && !r.lazy && r.begin_ns == 1000);
    ck_assert(r.end == RECORDING_EXIT && r.lost == 3 && r.threads == 2);
    ck_assert_uint_eq(r.device_count, 1);
    ck_assert_str_eq(r.devices[0].name, "NVIDIA H200");
    ck_assert(r.devices[0].sms == 132 && r.devices[0].sm.shared == 233472);
    ck_assert_uint_eq(r.stream_count, 3);
    ck_assert(r.streams[0].kind == STREAM_LEGACY && r.streams[2].kind == STREAM_BLOCKING);
    ck_assert(r.streams[1].number == 13 && r.streams[1].kind == STREAM_NONBLOCKING &&
              r.streams[1].priority == -5 && r.streams[1].handle == 94000000000001);
    ck_assert_uint_eq(r.memory_count, 2);
    ck_assert(r.memory[0].kind == RECORDED_PINNED && r.memory[0].device == RECORDING_NONE &&
              r.memory[0].until_ns == INT64_MAX);
    ck_assert(r.memory[1].kind == RECORDED_DEVICE && r.memory[1].device == 0 &&
              r.memory[1].from_ns == 50000 && r.memory[1].until_ns == 391000);
    ck_assert_uint_eq(r.call_count, 11);
    ck_assert_str_eq(host_call_name(r.calls[0].row), "cudaMalloc");
    ck_assert(r.calls[0].effect == EFFECT_NONE && r.calls[0].stream == RECORDING_NONE);
    ck_assert(r.calls[2].effect == EFFECT_COPY && r.calls[2].copy->width == 4194304 &&
              r.calls[2].copy->height == 1 && r.calls[2].stream == 1);
    ck_assert(r.calls[3].effect == EFFECT_LAUNCH && r.calls[3].known &&
              r.calls[3].launch.word_count == 3 && r.word_count == 3);
    ck_assert(r.words[0] == 140000000000016 && r.words[2] == 139000000000000);
    ck_assert(r.calls[4].effect == EFFECT_RECORD && r.calls[4].event == 88000001);
    ck_assert(r.calls[5].effect == EFFECT_WAIT && r.calls[5].stream == 2);
    ck_assert(r.calls[7].effect == EFFECT_SET && r.calls[7].thread == 1);
    ck_assert(r.calls[8].effect == EFFECT_FUNCTION && r.calls[8].known &&
              r.calls[8].function->end_ns == 370000);
    ck_assert(r.calls[9].effect == EFFECT_SYNC_DEVICE && r.calls[10].result == 2);
    ck_assert_uint_eq(r.op_count, 4);
    ck_assert(r.ops[0].kind == OP_H2D && r.ops[0].call == 2 &&
              r.ops[0].from == HOST_MEMORY_PINNED && r.ops[0].bytes == 4194304);
    ck_assert(r.ops[1].kind == OP_KERNEL && r.ops[1].blocks == 1024 &&
              r.ops[1].need.shared == 48);
    ck_assert_str_eq(r.names[r.ops[1].name], "void scale<float>(float*, int)");
    ck_assert(r.ops[2].kind == OP_D2H && r.ops[2].to == HOST_MEMORY_PAGEABLE);
    ck_assert(r.ops[3].kind == OP_MEMSET && r.calls[7].first_op == 3 &&
              r.calls[7].op_count == 1 && r.calls[8].op_count == 0);
    ck_assert_uint_eq(r.range_count, 1);
    ck_assert_str_eq(r.ranges[0].name, "step \302\265 1");
    ck_assert_uint_eq(r.note_count, 2);
    ck_assert_str_eq(r.notes[1], "the program changed its \"device\"");
    recording_free(&r);
}
END_TEST

START_TEST(devices_contexts_graphs)
{
    struct recording r = read_file(RECORDINGS "devices.jsonl");
    ck_assert(r.end == RECORDING_CUT && r.launch_blocking && r.lazy && r.connections == 0);
    ck_assert(r.device_count == 2 && r.stream_count == 3);
    ck_assert_str_eq(r.devices[0].name, "NVIDIA H100");
    ck_assert(r.streams[0].device == 0 && r.streams[1].device == 1 && r.streams[2].device == 0);
    ck_assert(!r.calls[0].known && !r.calls[1].known && r.calls[0].effect == EFFECT_LAUNCH);
    ck_assert(r.ops[2].kind == OP_PEER && r.ops[2].name == RECORDING_NONE);
    ck_assert(r.ops[3].h2h && r.ops[3].kind == OP_KERNEL);
    ck_assert(r.calls[4].effect == EFFECT_GRAPH && r.calls[4].exec == 5555 &&
              r.calls[4].op_count == 2);
    ck_assert(r.ops[r.calls[4].first_op].node == 1);
    ck_assert(r.node_count == 6 && r.nodes[0].kind == OP_H2D && r.nodes[1].kind == OP_KERNEL &&
              r.nodes[2].kind == OP_KIND_COUNT);
    const struct recorded_call *copy = &r.nodes[0].made, *launch = &r.nodes[1].made;
    const struct recorded_call *set = &r.nodes[3].made;
    ck_assert(copy->effect == EFFECT_COPY && copy->copy->to == 4096 && copy->copy->width == 64);
    ck_assert(launch->effect == EFFECT_LAUNCH && launch->launch.word_count == 2 &&
              r.words[launch->launch.first_word] == 4097);
    ck_assert(set->effect == EFFECT_SET && r.nodes[3].kind == OP_MEMSET &&
              set->copy->width == 32);
    ck_assert(r.nodes[4].kind == OP_CALLBACK && r.nodes[5].made.effect == EFFECT_NONE);
    ck_assert(r.line_count == 1 && r.lines[0].call == 4);
    ck_assert_str_eq(r.lines[0].text, "halo.cu:17");
    ck_assert(r.edge_count == 1 && r.edges[0].from == 1 && r.edges[0].to == 2);
    ck_assert(r.calls[5].copy->width == 128 && r.calls[5].copy->height == 16 &&
              r.calls[5].copy->to_pitch == 512 && r.calls[5].copy->from_pitch == 256);
    ck_assert(r.calls[6].effect == EFFECT_SYNC_STREAM && r.calls[6].stream == 2);
    ck_assert(r.calls[7].effect == EFFECT_SYNC_EVENT && r.calls[7].event == 4242 &&
              r.calls[7].stream == RECORDING_NONE);
    recording_free(&r);
}
END_TEST

/* A copy to another device by way of the host is one op: it begins when the call was made and
 * its stream was free, here of what an event of another stream stands behind. */
START_TEST(staged_copies_are_one)
{
    static const char text[] =
        "{\"pipeline_recording\":1}\n"
        "[\"context\",1,0]\n[\"context\",2,1]\n"
        "[\"call\",1,\"cudaMemcpyAsync\",1,50,60,0]\n"
        "[\"op\",1,\"h2d\",1,13,100,700,64,\"pinned\",\"device\",0]\n"
        "[\"call\",2,\"cudaEventRecord\",1,70,80,0]\n[\"record\",2,1,13,77]\n"
        "[\"call\",3,\"cudaStreamWaitEvent\",1,90,95,0]\n[\"wait\",3,1,14,77]\n"
        "[\"call\",4,\"cudaMemcpyPeerAsync\",1,100,400,0]\n"
        "[\"op\",4,\"h2d\",2,9,1600,1700,64,\"device\",\"device\",0]\n"
        "[\"op\",4,\"d2h\",1,14,1500,1600,64,\"device\",\"device\",0]\n"
        "[\"call\",5,\"cudaMemcpyPeerAsync\",1,2000,2400,0]\n"
        "[\"op\",5,\"d2h\",1,14,2900,3000,64,\"device\",\"device\",0]\n"
        "[\"op\",5,\"h2d\",2,9,3000,3100,64,\"device\",\"device\",0]\n"
        "[\"call\",6,\"cudaLaunchHostFunc\",1,2500,2510,0]\n[\"function\",6,1,14,3200,4000]\n"
        "[\"call\",7,\"cudaMemcpyPeerAsync\",1,2600,2700,0]\n"
        "[\"op\",7,\"d2h\",1,14,4900,5000,64,\"device\",\"device\",0]\n"
        "[\"op\",7,\"h2d\",2,9,5000,5100,64,\"device\",\"device\",0]\n"
        "[\"call\",8,\"cudaGraphLaunch\",1,6000,6100,0]\n"
        "[\"op\",8,\"d2h\",1,14,6200,6300,64,\"device\",\"device\",5]\n"
        "[\"op\",8,\"h2d\",2,9,6300,6400,64,\"device\",\"device\",5]\n"
        "[\"op\",8,\"d2h\",1,14,6500,6600,64,\"device\",\"device\",6]\n"
        "[\"op\",8,\"h2d\",2,9,6600,6700,64,\"device\",\"device\",6]\n";
    struct recording r = read_right(text);
    ck_assert_uint_eq(r.op_count, 8);
    const struct recorded_op *first = &r.ops[r.calls[3].first_op],
                             *second = &r.ops[r.calls[4].first_op];
    ck_assert(r.calls[3].op_count == 1 && r.calls[4].op_count == 1);
    ck_assert(first->kind == OP_PEER && first->start_ns == 700 && first->end_ns == 1700);
    ck_assert(second->kind == OP_PEER && second->start_ns == 2000 && second->end_ns == 3100);
    const struct recorded_op *third = &r.ops[r.calls[6].first_op];
    ck_assert(third->kind == OP_PEER && third->start_ns == 4000); /* behind a function */
    ck_assert(r.calls[7].op_count == 4); /* which of them belong together is not known */
    recording_free(&r);
}
END_TEST

/* What lines refer to and is not there. */
START_TEST(what_is_not_known)
{
    struct recording r =
        read_right(HEADER "[\"op\",99,\"h2d\",4,5,100,200,64,\"unknown\",\"array\",0]\n"
                          "[\"op\",null,\"d2h\",null,null,null,null,64,null,null,null]\n"
                          "[\"kernel\",1,4,6,150,160,null,null,null,null,null,null]\n"
                          "[\"call\",1,\"cudaSomethingNew\",7,90,95,0]\n"
                          "[\"launch\",2,4,6,[1]]\n"
                          "[\"range\",8,10,20,\"of a thread that never calls\"]\n"
                          "[\"device\",2,null,null,null,null,null,null,null,null,null]\n"
                          "[\"device\",1,null,null,null,null,null,null,null,null,null]\n");
    ck_assert(r.op_count == 2 && r.call_count == 1 && r.stream_count == 2 && r.lost == 1);
    ck_assert(r.ops[0].call == 0 && r.ops[0].name == RECORDING_NONE);
    ck_assert(r.ops[1].call == RECORDING_NONE && r.ops[1].kind == OP_H2D);
    ck_assert(r.calls[0].row == 0 && r.calls[0].effect == EFFECT_NONE);
    ck_assert(r.ranges[0].thread == RECORDING_NONE && r.threads == 1);
    /* A device of its own, for neither is said to be that of the context. */
    ck_assert(r.device_count == 3 && r.devices[2].id == RECORDING_NONE);
    ck_assert(r.streams[0].device == 2 && r.streams[1].device == 2);
    ck_assert(r.streams[0].kind == STREAM_KIND_COUNT && r.streams[0].number == 5);
    recording_free(&r);
    r = read_right(HEADER "[\"kernel\",1,4,6,150,160,1,1,1,1,1,1]\n"
                          "[\"device\",2,\"one\",1,1,1,1,1,1,1,1]\n");
    ck_assert(r.device_count == 1 && r.streams[0].device == 0); /* there is no other */
    recording_free(&r);
}
END_TEST

/* Recorders wrote CUPTI's number for no stream, 4294967295, before they wrote null. */
START_TEST(a_stream_without_a_number_is_not_known)
{
    struct recording r =
        read_right(HEADER "[\"stream\",1,4294967295,0,\"blocking\",0]\n"
                          "[\"stream\",1,7,0,\"legacy\",0]\n"
                          "[\"call\",1,\"cudaEventRecord\",7,1,2,0]\n"
                          "[\"record\",1,1,4294967295,99]\n"
                          "[\"call\",2,\"cudaStreamSynchronize\",7,3,4,0]\n"
                          "[\"sync\",2,\"stream\",1,4294967295]\n"
                          "[\"kernel\",1,1,4294967295,150,160,null,1,1,1,1,null]\n"
                          "[\"kernel\",1,1,null,250,260,null,1,1,1,1,null]\n");
    ck_assert(r.call_count == 2 && r.calls[0].effect == EFFECT_RECORD &&
              r.calls[0].stream == RECORDING_NONE);
    ck_assert(r.calls[1].effect == EFFECT_SYNC_STREAM && r.calls[1].stream == RECORDING_NONE);
    ck_assert(r.op_count == 2 && r.ops[0].stream == r.ops[1].stream);
    for (size_t i = 0; i < r.stream_count; i++)
        ck_assert_uint_ne(r.streams[i].number, UINT32_MAX);
    recording_free(&r);
}
END_TEST

/* CUDA allows for a grid of 2^31-1 x 65535 x 65535 blocks. */
START_TEST(grids_of_more_blocks_than_can_be_counted)
{
    static const char *const blocks[] = {"4294967295", "4294967296", "9223090557583032319"};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, HEADER "[\"kernel\",1,1,7,150,160,null,%s,1,1,1,null]\n",
                 blocks[i]);
        struct recording r = read_right(text);
        ck_assert(r.op_count == 1 && r.ops[0].blocks == UINT32_MAX);
        recording_free(&r);
    }
}
END_TEST

/* Of a call that did two things, what it did is not known, whichever line comes first. */
START_TEST(two_effects_are_none)
{
    struct recording r = read_right(
        HEADER "[\"copy\",1,1,7,1,2,3]\n[\"call\",1,\"cudaMemcpyBatchAsync\",7,1,2,0]\n"
               "[\"copy\",1,1,7,4,5,6]\n[\"set\",1,1,7,4,5]\n");
    ck_assert(r.calls[0].effect == EFFECT_NONE && r.calls[0].stream == RECORDING_NONE);
    ck_assert_uint_eq(r.calls[0].bytes, 0);
    recording_free(&r);
}
END_TEST

/* The same address again and again, and a free that is lost. */
START_TEST(memory_lasts_until_it_is_given_back)
{
    struct recording r = read_right(
        HEADER "[\"memory\",\"device\",100,4096,100,0]\n[\"free\",200,4096]\n"
               "[\"memory\",\"device\",300,4096,50,0]\n[\"memory\",\"device\",500,4096,10,0]\n"
               "[\"free\",1,12345]\n[\"memory\",\"device\",1,64,0,0]\n");
    ck_assert(r.memory[1].until_ns == 200 && r.memory[2].until_ns == 500 &&
              r.memory[3].until_ns == INT64_MAX);
    recording_free(&r);
}
END_TEST

/* Of the calls behind each other, by number: a handle is made (1, 2), used (3), and destroyed
 * (5 to 8) with its memory, behind a wait of the program's (4). The library waits before it
 * gives back anything (5, 7). The program's own stream and memory (9 to 11) are none of that,
 * nor is what another thread does (12). */
START_TEST(what_a_library_gives_back_is_its_own)
{
    static const char *const names[] = {
        "cuBLAS's own", "cuBLAS's own", "cudaLaunchKernel",  "cudaDeviceSynchronize",
        "cuBLAS's own", "cuBLAS's own", "cuBLAS's own",      "cuBLAS's own",
        "cudaMalloc",   "cudaFree",     "cudaStreamDestroy", "cudaEventDestroy"};
    struct recording r = read_right(
        HEADER "[\"call\",1,\"cudaMalloc\",7,10,20,0]\n[\"from\",1,\"libcublas.so.13\"]\n"
               "[\"memory\",\"device\",21,4096,64,0]\n"
               "[\"call\",2,\"cudaEventCreate\",7,30,40,0]\n"
               "[\"from\",2,\"libcublasLt.so.13\"]\n"
               "[\"call\",3,\"cudaLaunchKernel\",7,50,60,0]\n"
               "[\"call\",4,\"cudaDeviceSynchronize\",7,70,80,0]\n"
               "[\"call\",5,\"cudaDeviceSynchronize\",7,82,84,0]\n"
               "[\"call\",6,\"cudaEventDestroy\",7,90,95,0]\n"
               "[\"call\",7,\"cudaDeviceSynchronize\",7,100,104,0]\n"
               "[\"call\",12,\"cudaEventDestroy\",8,105,106,0]\n"
               "[\"call\",8,\"cudaFree\",7,110,120,0]\n[\"free\",110,4096]\n"
               "[\"call\",9,\"cudaMalloc\",7,130,140,0]\n[\"from\",9,\"a.out\"]\n"
               "[\"memory\",\"device\",141,4096,64,0]\n"
               "[\"call\",10,\"cudaFree\",7,150,160,0]\n[\"free\",150,4096]\n"
               "[\"call\",11,\"cudaStreamDestroy\",7,170,180,0]\n");
    ck_assert_uint_eq(r.call_count, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < r.call_count; i++)
        ck_assert_str_eq(host_call_name(r.calls[i].row), names[r.calls[i].id - 1]);
    recording_free(&r);
}
END_TEST

/* Every beginning of a recording is one that was cut, or no recording. */
START_TEST(cut_anywhere)
{
    char *text = test_file_text(RECORDINGS "good.jsonl");
    size_t size = strlen(text), header = (size_t)(strchr(text, '\n') - text);
    size_t calls = 0;
    for (size_t cut = 0; cut <= size; cut++) {
        struct recording r;
        struct error error = {0};
        enum status status = read_bytes(text, cut, &r, &error);
        if (cut < header) {
            ck_assert_int_eq(status, STATUS_USAGE);
            ck_assert_ptr_nonnull(strstr(error.text, "rec.jsonl:1: "));
            continue;
        }
        ck_assert_msg(status == STATUS_OK, "%zu: %s", cut, error.text);
        ck_assert_int_eq(r.end, cut + 1 < size ? RECORDING_CUT : RECORDING_EXIT);
        ck_assert_uint_ge(r.call_count, calls);
        calls = r.call_count;
        recording_free(&r);
    }
    free(text);
}
END_TEST

/* --- in any order --- */

static void write_words(FILE *out, const struct recording *r, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "word %" PRIu64 "\n", r->words[first + i]);
}

static void write_call(FILE *out, const struct recording *r, const struct recorded_call *call)
{
    fprintf(out, "call %" PRIu64 " %" PRId64 " %" PRId64 " %u %d %u %u %d %u %u %u", call->id,
            call->start_ns, call->end_ns, call->thread, call->result, call->row, call->effect,
            call->known, call->stream, call->first_op, call->op_count);
    if (call->effect == EFFECT_LAUNCH)
        write_words(out, r, call->launch.first_word, call->launch.word_count);
    else if (call->effect == EFFECT_COPY || call->effect == EFFECT_SET)
        fprintf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", call->copy->to,
                call->copy->width, call->copy->height);
    else
        fprintf(out, " %" PRIu64 "\n",
                call->effect == EFFECT_FUNCTION ? (uint64_t)call->known : call->event);
}

/* Writes all of a recording but its notes, which stay in the order of their lines. */
static char *write_all(const struct recording *r)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < r->device_count; i++)
        fprintf(out, "device %u %s\n", r->devices[i].id, r->devices[i].name);
    for (size_t i = 0; i < r->stream_count; i++)
        fprintf(out, "stream %u %u %u %d %u\n", r->streams[i].context, r->streams[i].number,
                r->streams[i].device, r->streams[i].priority, r->streams[i].kind);
    for (size_t i = 0; i < r->memory_count; i++)
        fprintf(out, "memory %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %u\n",
                r->memory[i].address, r->memory[i].bytes, r->memory[i].from_ns,
                r->memory[i].until_ns, r->memory[i].device);
    for (size_t i = 0; i < r->call_count; i++)
        write_call(out, r, &r->calls[i]);
    for (size_t i = 0; i < r->op_count; i++)
        fprintf(out, "op %" PRId64 " %" PRId64 " %u %u %u %u %" PRIu64 "\n", r->ops[i].start_ns,
                r->ops[i].end_ns, r->ops[i].call, r->ops[i].stream, r->ops[i].name,
                r->ops[i].kind, r->ops[i].node);
    for (size_t i = 0; i < r->node_count; i++) {
        const struct recorded_node *node = &r->nodes[i];
        fprintf(out, "node %" PRIu64 " %u\n", node->node, node->kind);
        if (node->kind == OP_KERNEL)
            write_words(out, r, node->made.launch.first_word, node->made.launch.word_count);
    }
    for (size_t i = 0; i < r->edge_count; i++)
        fprintf(out, "edge %" PRIu64 " %" PRIu64 "\n", r->edges[i].from, r->edges[i].to);
    for (size_t i = 0; i < r->range_count; i++)
        fprintf(out, "range %u %s\n", r->ranges[i].thread, r->ranges[i].name);
    for (size_t i = 0; i < r->name_count; i++)
        fprintf(out, "name %s\n", r->names[i]);
    fprintf(out, "%d %" PRIu64 " %u %zu\n", r->end, r->lost, r->threads, r->note_count);
    fclose(out);
    return text;
}

/* Returns the text with the lines behind its first one in another order. */
static char *shuffled(const char *text, uint64_t *state)
{
    char *copy = strdup(text), *made = calloc(strlen(text) + 2, 1), *lines[64], *rest;
    int count = 0;
    ck_assert(copy != NULL && made != NULL);
    for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        ck_assert_int_lt(count, 64);
        lines[count++] = line;
    }
    for (int i = count - 1; i > 1; i--) {
        int other = 1 + (int)test_random_below(state, (uint32_t)i);
        char *line = lines[i];
        lines[i] = lines[other];
        lines[other] = line;
    }
    for (int i = 0; i < count; i++)
        strcat(strcat(made, lines[i]), "\n");
    free(copy);
    return made;
}

START_TEST(lines_in_any_order)
{
    static const char *const files[] = {RECORDINGS "good.jsonl", RECORDINGS "devices.jsonl"};
    uint64_t state = 16;
    char *text = test_file_text(files[_i]);
    struct recording recording = read_right(text);
    char *expected = write_all(&recording);
    recording_free(&recording);
    for (int i = 0; i < test_cases(200); i++) {
        char *other = shuffled(text, &state);
        recording = read_right(other);
        char *all = write_all(&recording);
        ck_assert_str_eq(all, expected);
        recording_free(&recording);
        free(all);
        free(other);
    }
    free(expected);
    free(text);
}
END_TEST

/* --- wrong --- */

/* A line behind the header that is refused with these words, though others follow. */
static const struct {
    const char *line, *words;
} wrong[] = {
    {"[\"call\",1,\"x\",1,5,6", "lacks a comma or its end"},
    {"[\"call\",1,\"x\",1,5,6,0]]", "behind its end"},
    {"{\"call\":1}", "no JSON array"},
    {"nothing", "no JSON array"},
    {"[]", "a value in it"},
    {"[1,2]", "of which kind"},
    {"[[[[[[1]]]]]]", "a value in it"},
    {"[\"x\",[[1]]]", "a value in it"},
    {"[\"x\",{\"a\":1}]", "a value in it"},
    {"[\"x\",01]", "a value in it"},
    {"[\"x\",+1]", "a value in it"},
    {"[\"x\",1.]", "a value in it"},
    {"[\"x\",1e]", "a value in it"},
    {"[\"x\",-]", "a value in it"},
    {"[\"x\",nul]", "a value in it"},
    {"[\"x\",1,]", "a value in it"},
    {"[\"x\\q\"]", "a value in it"},
    {"[\"x\\u12g4\"]", "a value in it"},
    {"[\"x\\u0000\"]", "a value in it"},
    {"[\"x\\ud800\"]", "a value in it"},
    {"[\"x\\udc00\"]", "a value in it"},
    {"[\"x\\ud800\\u0041\"]", "a value in it"},
    {"[\"x\xff\"]", "a value in it"},
    {"[\"x\xc0\x80\"]", "a value in it"},
    {"[\"x\xed\xa0\x80\"]", "a value in it"},
    {"[\"x\tx\"]", "a value in it"},
    {"[\"call\",1,\"x\",1,5,6]", "has 6 values behind its name, not 5"},
    {"[\"call\",\"1\",\"x\",1,5,6,0]", "value 1 of this \"call\" must be a whole number"},
    {"[\"call\",-1,\"x\",1,5,6,0]", "must be a whole number"},
    {"[\"call\",1.5,\"x\",1,5,6,0]", "must be a whole number"},
    {"[\"call\",1e3,\"x\",1,5,6,0]", "must be a whole number"},
    {"[\"call\",18446744073709551616,\"x\",1,5,6,0]", "must be a whole number"},
    {"[\"call\",18446744073709551615,\"x\",1,5,6,0]", "no call can have that id"},
    {"[\"call\",true,\"x\",1,5,6,0]", "must be a whole number"},
    {"[\"call\",1,2,1,5,6,0]", "value 2 of this \"call\" must be a text"},
    {"[\"call\",1,\"x\",1,6,5,0]", "ends before it starts"},
    {"[\"call\",1,\"x\",1,5,1152921504606846975,0]", "36 years"},
    {"[\"call\",1,\"x\",1,5,6,2147483648]", "32 bits"},
    {"[\"call\",7,\"x\",1,5,6,0]", "rec.jsonl:3: call 7 is there already, in line 2"},
    {"[\"kernel\",1,1,1,6,5,1,1,1,1,1,1]", "ends before it starts"},
    {"[\"kernel\",1,1,4294967296,5,6,1,1,1,1,1,1]", "below 4294967295"},
    {"[\"op\",1,\"sideways\",1,1,5,6,7,\"pinned\",\"device\",0]", "'sideways' is not known"},
    {"[\"op\",1,\"h2d\",1,1,5,6,7,\"wet\",\"device\",0]", "'wet' is not known"},
    {"[\"device\",3,\"x\",1,1,1,1,1,1,1,1]", "device 3 is there already, in line 2"},
    {"[\"context\",3,1]", "context 3 is there already"},
    {"[\"name\",3,\"y\"]", "name 3 is there already"},
    {"[\"stream\",3,3,0,\"blocking\",0]", "has a line already"},
    {"[\"stream\",3,4,0,\"round\",0]", "'round' is not known"},
    {"[\"memory\",\"device\",1,18446744073709551615,2,0]", "behind all addresses"},
    {"[\"memory\",\"ROM\",1,2,3,0]", "'ROM' is not known"},
    {"[\"launch\",1,1,1,7]", "a list of numbers"},
    {"[\"launch\",1,1,1,[-7]]", "no address"},
    {"[\"launch\",1,1,1,[1.5]]", "no address"},
    {"[\"sync\",1,\"life\",1,1]", "'life' is not known"},
    {"[\"sync\",1,\"stream\",1,4294967296]", "no number of a stream"},
    {"[\"function\",1,1,1,6,5]", "ends before it starts"},
    {"[\"range\",1,6,5,\"x\"]", "ends before it starts"},
    {"[\"lost\",18446744073709551615,null]", "more is lost"},
    {"[\"end\",1,\"tired\"]", "'tired' is not known"},
    {"[\"end\",1,\"exit\"]", "ended already"},
};
enum { WRONG = sizeof wrong / sizeof wrong[0] };

START_TEST(wrong_lines)
{
    static const char before[] = "[\"call\",7,\"x\",1,5,6,0]", other[] = "[\"end\",1,\"stop\"]",
                      *const firsts[] = {"[\"device\",3,\"x\",1,1,1,1,1,1,1,1]",
                                         "[\"context\",3,1]", "[\"name\",3,\"x\"]",
                                         "[\"stream\",3,3,0,\"legacy\",0]",
                                         "[\"lost\",1,\"x\"]"};
    char text[1024];
    const char *first = strstr(wrong[_i].line, "\"end\"") != NULL ? other : before;
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++)
        first = strncmp(firsts[i], wrong[_i].line, 6) == 0 ? firsts[i] : first;
    struct recording recording;
    struct error error = {0};
    snprintf(text, sizeof text, HEADER "%s\n%s\n[\"note\",\"x\"]\n", first, wrong[_i].line);
    ck_assert_int_eq(read_bytes(text, strlen(text), &recording, &error), STATUS_USAGE);
    ck_assert_msg(strstr(error.text, wrong[_i].words) != NULL &&
                      strncmp(error.text, "rec.jsonl:3: ", 13) == 0,
                  "%s: %s", wrong[_i].line, error.text);
}
END_TEST

static const struct {
    const char *header, *words;
} headers[] = {
    {"", "1: the file is empty"},
    {"[1]\n", "1: the header is no JSON object"},
    {"{\"pipeline_recording\":1", "1: the header is no JSON object: cut short?"},
    {"{\"pipeline\":1}\n", "1: no \"pipeline_recording\""},
    {"{\"pipeline_recording\":2,\"version\":\"9.1\"}\n", "form 2 by pipeline 9.1"},
    {"{\"pipeline_recording\":1,\"connections\":-1}\n", "\"connections\" must be"},
    {"{\"pipeline_recording\":1,\"driver\":4294967296}\n", "\"driver\" must be"},
    {"{\"pipeline_recording\":1,\"begin_ns\":1152921504606846975}\n", "\"begin_ns\" must be"},
    {"{\"pipeline_recording\":1,\"lazy\":1}\n", "\"lazy\" must be true or false"},
};

START_TEST(wrong_headers)
{
    struct recording recording;
    struct error error = {0};
    const char *text = headers[_i].header;
    ck_assert_int_eq(read_bytes(text, strlen(text), &recording, &error), STATUS_USAGE);
    ck_assert_msg(strstr(error.text, headers[_i].words) != NULL, "%s", error.text);
}
END_TEST

/* A NUL, which is no end of the text, and a line that is longer than any may be. */
START_TEST(bytes_that_are_no_text)
{
    static const char nul[] = HEADER "[\"note\",\"x\"]\0\n[\"note\",\"x\"]\n";
    struct recording recording;
    struct error error = {0};
    ck_assert_int_eq(read_bytes(nul, sizeof nul - 1, &recording, &error), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "rec.jsonl:2: "));
    for (size_t length = (1 << 20) - 1; length <= (1 << 20) + 1; length++) {
        char *text = malloc(length + 64);
        ck_assert_ptr_nonnull(text);
        size_t used = (size_t)sprintf(text, HEADER);
        memset(text + used, ' ', length);
        memcpy(text + used, "[\"launch\",1,1,7,[", 17);
        for (size_t i = 17; i + 4 < length; i += 2)
            memcpy(text + used + i, "1,", 2);
        memcpy(text + used + length - 4, " 1]]\n", 5);
        error = (struct error){0};
        bool fits = length <= 1 << 20;
        ck_assert_int_eq(read_bytes(text, used + length + 1, &recording, &error),
                         fits ? STATUS_OK : STATUS_USAGE);
        if (fits)
            recording_free(&recording);
        else
            ck_assert_ptr_nonnull(strstr(error.text, "longer than 1 MiB"));
        free(text);
    }
}
END_TEST

/* 100,000 streams, threads and names. */
START_TEST(very_many_streams)
{
    enum { MANY = 100000 };
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    fputs(HEADER, out);
    for (int i = 0; i < MANY; i++) {
        fprintf(out, "[\"call\",%d,\"c%d\",%d,%d,%d,0]\n", i, i, 1000 + i, 10 * i, 10 * i + 5);
        fprintf(out, "[\"kernel\",%d,%d,%d,%d,%d,%d,1,1,1,0,0]\n", i, i % 7, MANY - i,
                10 * i + 6, 10 * i + 9, i);
        fprintf(out, "[\"name\",%d,\"k%d\"]\n", i, i);
    }
    fclose(out);
    struct recording r = read_right(text);
    ck_assert(r.stream_count == MANY && r.threads == MANY && r.name_count == MANY);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert(r.ops[i].call == i && r.ops[i].name == i &&
                  r.streams[r.ops[i].stream].number == MANY - i && r.calls[i].thread == i);
    recording_free(&r);
    free(text);
}
END_TEST

Suite *recording_suite(void)
{
    Suite *suite = suite_create("recording");
    TCase *tests = tcase_create("recording");
    tcase_add_test(tests, all_that_a_program_did);
    tcase_add_test(tests, devices_contexts_graphs);
    tcase_add_test(tests, staged_copies_are_one);
    tcase_add_test(tests, what_is_not_known);
    tcase_add_test(tests, a_stream_without_a_number_is_not_known);
    tcase_add_test(tests, grids_of_more_blocks_than_can_be_counted);
    tcase_add_test(tests, two_effects_are_none);
    tcase_add_test(tests, memory_lasts_until_it_is_given_back);
    tcase_add_test(tests, what_a_library_gives_back_is_its_own);
    tcase_add_test(tests, cut_anywhere);
    tcase_add_loop_test(tests, lines_in_any_order, 0, 2);
    tcase_add_loop_test(tests, wrong_lines, 0, WRONG);
    tcase_add_loop_test(tests, wrong_headers, 0, sizeof headers / sizeof headers[0]);
    tcase_add_test(tests, bytes_that_are_no_text);
    tcase_add_test(tests, very_many_streams);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, recording_view_case());
    return suite;
}
