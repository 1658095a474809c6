/* check_loop_causes.c - recordings of loops that make, copy or wait for what they need not:
 * each comes back under its cause's name, with what was seen of it and the time without it. */
#include "causes/verdict.h"
#include "fixtures.h"
#include "plan/host_call.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"
#include "trace/view.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Addresses: of page-locked memory of the host, of the device's, and of managed memory. */
static const uint64_t IN = 0x500000000, OUT = 0x600000000, BUF = 0x700000000;
static const uint64_t MANAGED = 0x710000000;

enum {
    PASSES = 12,
    MIB = 1 << 20,
    EVENT = 0x9000,
    STALL_NS = 60000,
    FUNCTION_NS = 1000000, /* what a host function takes */
    GIVES_UP_NS = 120000,  /* what the host does between making a graph and its launch */
    GOES_ON_NS = 300000,   /* what it does behind a copy of a few bytes in */
    MAKES_NS = 30000000,   /* a slow call that makes a stream */
    FILLS_NS = 3000000,    /* what a thread takes to copy 16 MiB */
    CALLED_NS = 60000,     /* what passes before a call, half of which is the recorder's */
};

/* A recording while it is written: what the host and each of two streams have come to. */
struct recorder {
    FILE *out;
    int64_t now_ns, free_ns[2], kernel_ns; /* the last kernel's end, where one needs it */
    int id, pass, names;
    int blocks; /* of kernels; 0: enough */
    int64_t calls_ns[CALL_KINDS],
        busy_ns[2]; /* what calls of a kind took, and each stream's ops */
    uint64_t random;
};

static const char head[] =
    "{\"pipeline_recording\":1,\"program\":\"p\"%s}\n"
    "[\"device\",0,\"NVIDIA H200\",9,0,132,2048,32,65536,233472,3]\n[\"context\",1,0]\n"
    "[\"stream\",1,13,113,\"non-blocking\",0]\n[\"stream\",1,14,114,\"non-blocking\",0]\n"
    "[\"memory\",\"pinned\",20,%" PRIu64 ",67108864,null]\n"
    "[\"memory\",\"pinned\",20,%" PRIu64 ",67108864,null]\n"
    "[\"memory\",\"device\",10,%" PRIu64 ",67108864,0]\n"
    "[\"memory\",\"managed\",10,%" PRIu64 ",67108864,0]\n[\"name\",3,\"k\"]\n";

/* A call that takes `length_ns`. */
static void call(struct recorder *loop, const char *name, int64_t length_ns)
{
    loop->now_ns += 300;
    fprintf(loop->out, "[\"call\",%d,\"%s\",1,%" PRId64 ",%" PRId64 ",0]\n", ++loop->id, name,
            loop->now_ns, loop->now_ns + length_ns);
    loop->now_ns += length_ns;
    loop->calls_ns[host_call_kind(host_call_row(name))] += length_ns;
}

/* Returns when an op that was issued by now begins in a stream, and has it end `length_ns`
 * later.
 */
static int64_t begins(struct recorder *loop, int stream, int64_t length_ns)
{
    const int64_t issued_ns = loop->now_ns + 3000, free_ns = loop->free_ns[stream] + 1000;
    const int64_t start_ns = issued_ns > free_ns ? issued_ns : free_ns;
    loop->free_ns[stream] = start_ns + length_ns;
    loop->busy_ns[stream] += length_ns;
    return start_ns;
}

static void copy(struct recorder *loop, int stream, bool in, uint64_t to, uint64_t from,
                 uint64_t bytes, int hash)
{
    call(loop, "cudaMemcpyAsync", 1500);
    const int64_t start_ns = begins(loop, stream, 1500 + (int64_t)(bytes / 55));
    fprintf(loop->out, "[\"copy\",%d,1,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64, loop->id,
            13 + stream, to, from, bytes);
    fprintf(loop->out, hash > 0 ? ",%d]\n" : "]\n", hash);
    fprintf(loop->out,
            "[\"op\",%d,\"%s\",1,%d,%" PRId64 ",%" PRId64 ",%" PRIu64
            ",\"pinned\",\"pinned\",0]\n",
            loop->id, in ? "h2d" : "d2h", 13 + stream, start_ns, loop->free_ns[stream], bytes);
}

/* A launch of kernel `name`, a number, whose call takes `call_ns`. */
static void launch_of(struct recorder *loop, int name, int64_t call_ns, int stream,
                      uint64_t word, int64_t length_ns)
{
    call(loop, "cudaLaunchKernel", call_ns);
    const int64_t start_ns = begins(loop, stream, length_ns);
    fprintf(loop->out, "[\"launch\",%d,1,%d,[%" PRIu64 "]]\n", loop->id, 13 + stream, word);
    fprintf(loop->out, "[\"kernel\",%d,1,%d,%" PRId64 ",%" PRId64 ",%d,%d,1024,32,0,0]\n",
            loop->id, 13 + stream, start_ns, loop->free_ns[stream], name,
            loop->blocks > 0 ? loop->blocks : 1056);
}

static void launch(struct recorder *loop, int stream, uint64_t word, int64_t length_ns)
{
    launch_of(loop, 3, 3000, stream, word, length_ns);
}

/* The host waits for all, and for `behind_ns` more. */
static void wait_for(struct recorder *loop, int64_t behind_ns)
{
    const int64_t latest_ns =
        loop->free_ns[0] > loop->free_ns[1] ? loop->free_ns[0] : loop->free_ns[1];
    const int64_t until_ns = latest_ns + behind_ns - loop->now_ns;
    call(loop, "cudaDeviceSynchronize", until_ns > 2000 ? until_ns : 2000);
    fprintf(loop->out, "[\"sync\",%d,\"device\",1,null]\n", loop->id);
}

static void wait(struct recorder *loop)
{
    wait_for(loop, 5000);
}

static void from(struct recorder *loop, const char *file)
{
    fprintf(loop->out, "[\"from\",%d,\"%s\"]\n", loop->id, file);
}

/* What is right of each pass: new bytes come in, are worked on, and go out. */
static void work(struct recorder *loop)
{
    copy(loop, 0, true, BUF, IN, MIB, 1000 + loop->pass);
    launch(loop, 0, BUF, 60000);
    copy(loop, 0, false, OUT, BUF, MIB, 0);
}

/* --- the causes --- */

static void makes_graphs(struct recorder *loop)
{
    call(loop, "cudaStreamBeginCapture", 5000);
    call(loop, "cudaLaunchKernel", 20000);
    call(loop, "cudaStreamEndCapture", 30000);
    call(loop, "cudaGraphInstantiateWithFlags", 200000);
    work(loop);
    call(loop, "cudaGraphExecDestroy", 20000);
}

static void makes_handles(struct recorder *loop)
{
    call(loop, "cudaMalloc", 150000);
    from(loop, "libcublas.so.13");
    loop->now_ns += 50000;
    call(loop, "cudaEventCreateWithFlags", 20000);
    from(loop, "libcublasLt.so.13");
    work(loop);
}

/* Handles that are made within one pass, and kept. */
static void keeps_handles(struct recorder *loop)
{
    for (int i = 0; i < 4 && loop->pass == 3; i++)
        makes_handles(loop);
    work(loop);
}

/* What the handle took is given back with it, and nobody says who does that. */
static void gives_handles_back(struct recorder *loop)
{
    const uint64_t workspace = MANAGED + 128 * (uint64_t)MIB;
    call(loop, "cudaMalloc", 20000);
    from(loop, "libcublas.so.13");
    fprintf(loop->out, "[\"memory\",\"device\",%" PRId64 ",%" PRIu64 ",1024,0]\n",
            loop->now_ns + 10, workspace);
    call(loop, "cudaEventCreateWithFlags", 5000);
    from(loop, "libcublas.so.13");
    work(loop);
    wait(loop);
    call(loop, "cudaEventDestroy", 60000);
    wait(loop);
    call(loop, "cudaFree", 60000);
    fprintf(loop->out, "[\"free\",%" PRId64 ",%" PRIu64 "]\n", loop->now_ns - 60000, workspace);
}

/* A plan's code is loaded, and a variable set by a copy to `to`, about which the host works. */
static void makes_plans_at(struct recorder *loop, uint64_t to)
{
    call(loop, "cuModuleLoadData", 200000);
    from(loop, "libcufft.so.12");
    copy(loop, 0, true, to, IN, 8, 0);
    loop->now_ns += GOES_ON_NS;
    work(loop);
}

static void makes_plans(struct recorder *loop)
{
    makes_plans_at(loop, BUF + 1024 * (uint64_t)MIB); /* where no call took memory */
}

static void copies_behind_plans(struct recorder *loop)
{
    makes_plans_at(loop, BUF + 32 * MIB);
}

/* Many short kernels follow each stream that is made: of two in a pass, a part stands for all.
 */
static void makes_few_streams(struct recorder *loop)
{
    call(loop, "cudaStreamCreateWithFlags", MAKES_NS);
    for (int i = 0; i < 1500; i++)
        launch(loop, 0, BUF, 4000);
    wait(loop);
}

static void makes_more_streams(struct recorder *loop)
{
    for (int i = 0; i < 4; i++)
        makes_few_streams(loop);
}

/* A pass of so many short kernels that a part of few of them has less than three. */
static void launches_thousands(struct recorder *loop)
{
    for (int i = 0; i < 6500; i++)
        launch(loop, 0, BUF, 1000);
    wait(loop);
}

/* The host makes a stream for each short kernel, and recording that takes half of what passes
 * before. */
static void makes_streams_recorded(struct recorder *loop)
{
    if (loop->pass == 0)
        fprintf(loop->out, "[\"cost\",\"call\",100,%d,0]\n", 100 * CALLED_NS / 2);
    loop->now_ns += CALLED_NS;
    call(loop, "cudaStreamCreateWithFlags", 3000);
    launch(loop, 0, BUF, 3000);
}

static void makes_streams(struct recorder *loop)
{
    call(loop, "cudaStreamCreateWithFlags", 150000);
    call(loop, "cudaEventCreate", 40000);
    from(loop, "a.out");
    work(loop);
    call(loop, "cudaStreamDestroy", 80000);
}

static void takes_from_pools(struct recorder *loop)
{
    call(loop, "cudaMallocAsync", 250000);
    work(loop);
    call(loop, "cudaFreeAsync", 1500);
}

/* The pool has the memory at once, and gives it back whenever the host waits. */
static void gives_back(struct recorder *loop)
{
    call(loop, "cudaMallocAsync", 1500);
    work(loop);
    call(loop, "cudaFreeAsync", 1500);
    wait_for(loop, 400000);
}

/* Each pass launches kernels of its own, which wait for their code, as all else does. */
static void loads_code(struct recorder *loop)
{
    work(loop);
    fprintf(loop->out, "[\"name\",%d,\"pass%d\"]\n", 10 + loop->names, loop->names);
    loop->free_ns[0] = loop->free_ns[1] = loop->free_ns[0] + 300000;
    launch_of(loop, 10 + loop->names++, 30000, 1, BUF + 32 * MIB, 20000);
    loop->free_ns[0] = loop->free_ns[1];
    wait(loop);
}

static void copies_again(struct recorder *loop)
{
    copy(loop, 0, true, BUF + 16 * MIB, IN + 16 * MIB, 16 * MIB, 77);
    work(loop);
}

/* Small kernels of which each waits for the one before, and the host for each. */
static void resides(struct recorder *loop)
{
    loop->blocks = 4;
    for (int i = 0; i < 8; i++) {
        launch(loop, 0, BUF + (uint64_t)(i % 4) * MIB, 1000000);
        wait(loop);
    }
}

/* A copy to another device at 20 GB/s, which kernels wait for. */
static void copies_to_peers(struct recorder *loop)
{
    call(loop, "cudaMemcpyPeerAsync", 3000);
    const int64_t start_ns = begins(loop, 0, 400000);
    fprintf(loop->out, "[\"copy\",%d,1,13,%" PRIu64 ",%" PRIu64 ",8388608]\n", loop->id,
            (uint64_t)BUF + 48 * MIB, (uint64_t)BUF);
    fprintf(loop->out,
            "[\"op\",%d,\"peer\",1,13,%" PRId64 ",%" PRId64
            ",8388608,\"device\",\"device\",0]\n",
            loop->id, start_ns, loop->free_ns[0]);
    work(loop);
}

/* Two streams keep in step by events that no data asks for, and the host is far ahead. */
static void waits_in_step(struct recorder *loop)
{
    const int stream = loop->pass % 2, other = 1 - stream;
    const uint64_t room = (uint64_t)stream * 32 * MIB;
    if (loop->pass == 0) {
        launch(loop, 1, BUF + 60 * MIB, 1000);
        launch(loop, 1, BUF + 60 * MIB, 3000);
    } else {
        call(loop, "cudaStreamWaitEvent", 200);
        fprintf(loop->out, "[\"wait\",%d,1,%d,%d]\n", loop->id, 13 + stream, EVENT + other);
        loop->free_ns[stream] = loop->free_ns[other] + 5000;
    }
    copy(loop, stream, true, BUF + room, IN + room, 4 * MIB, 1000 + loop->pass);
    launch(loop, stream, BUF + room, 40000);
    copy(loop, stream, false, OUT + room, BUF + room, 4 * MIB, 0);
    call(loop, "cudaEventRecord", 800);
    fprintf(loop->out, "[\"record\",%d,1,%d,%d]\n", loop->id, 13 + stream, EVENT + stream);
}

/* A kernel waits by an event for one of another device's that takes far longer. */
static void waits_elsewhere(struct recorder *loop)
{
    if (loop->pass == 0)
        fprintf(loop->out, "[\"device\",1,\"NVIDIA H200\",9,0,132,2048,32,65536,233472,3]\n"
                           "[\"context\",2,1]\n[\"stream\",2,13,213,\"non-blocking\",0]\n");
    call(loop, "cudaLaunchKernel", 3000);
    const int64_t start_ns = begins(loop, 1, 900000);
    fprintf(loop->out,
            "[\"launch\",%d,2,13,[]]\n[\"kernel\",%d,2,13,%" PRId64 ",%" PRId64
            ",3,1056,1024,32,0,0]\n",
            loop->id, loop->id, start_ns, loop->free_ns[1]);
    call(loop, "cudaEventRecord", 800);
    fprintf(loop->out, "[\"record\",%d,2,13,%d]\n", loop->id, EVENT);
    call(loop, "cudaStreamWaitEvent", 200);
    fprintf(loop->out, "[\"wait\",%d,1,13,%d]\n", loop->id, EVENT);
    loop->free_ns[0] = loop->free_ns[1];
    launch(loop, 0, BUF, 50000);
    wait(loop);
}

/* The host waits for a small kernel, which waits for a large one of another stream: of as few
 * blocks as fill the GPU some times over, as an SM holds two of these. */
static void launch_urgent(struct recorder *loop)
{
    loop->blocks = 132 * 2 * 8;
    launch(loop, 0, BUF, 100000);
    loop->blocks = 16;
    loop->free_ns[1] = loop->free_ns[0];
    launch(loop, 1, BUF + 32 * MIB, 20000);
}

static void is_urgent(struct recorder *loop)
{
    launch_urgent(loop);
    call(loop, "cudaStreamSynchronize", loop->free_ns[1] + 5000 - loop->now_ns);
    fprintf(loop->out, "[\"sync\",%d,\"stream\",1,14]\n", loop->id);
}

/* It waits for an event behind the small kernel. */
static void is_urgent_by_event(struct recorder *loop)
{
    launch_urgent(loop);
    call(loop, "cudaEventRecord", 800);
    fprintf(loop->out, "[\"record\",%d,1,14,%d]\n", loop->id, EVENT);
    call(loop, "cudaEventSynchronize", loop->free_ns[1] + 5000 - loop->now_ns);
    fprintf(loop->out, "[\"sync\",%d,\"event\",1,%d]\n", loop->id, EVENT);
}

/* The host fills what is then copied in: as fast as it copies, or far more slowly. */
static void fills_for(struct recorder *loop, int64_t host_ns)
{
    loop->now_ns += host_ns;
    copy(loop, 0, true, BUF, IN, 16 * MIB, 1000 + loop->pass);
    launch(loop, 0, BUF, 20000);
    wait(loop);
}

static void fills(struct recorder *loop)
{
    fills_for(loop, FILLS_NS);
}

static void computes(struct recorder *loop)
{
    fills_for(loop, 10 * (int64_t)FILLS_NS);
}

/* The same bytes, to where other ones were copied in between; and other bytes. */
static void copies_anew(struct recorder *loop)
{
    copy(loop, 0, true, BUF + 16 * MIB, IN + 16 * MIB, 8 * MIB, 77);
    copy(loop, 0, true, BUF + 20 * MIB, IN + 40 * MIB, 8 * MIB, 78);
    copy(loop, 0, true, BUF + 32 * MIB, IN + 16 * MIB, 16 * MIB, 100 + loop->pass);
    work(loop);
}

static void touches_managed(struct recorder *loop)
{
    launch(loop, 0, MANAGED, 60000);
    wait(loop);
    loop->now_ns += 200000; /* the host touches what the kernel left there */
}

static void prefetches(struct recorder *loop)
{
    call(loop, "cudaMemPrefetchAsync", 3000);
    touches_managed(loop);
}

/* The host issues slowly what no graph holds, on by a number that it reads back. */
static void reads_back(struct recorder *loop)
{
    for (int i = 0; i < 8; i++) {
        loop->blocks = 132 + loop->pass;
        launch_of(loop, 3, 25000, 0, BUF, 3000);
    }
    copy(loop, 0, false, OUT, BUF, 4, 0);
    wait(loop);
}

/* The same, but one op's call is lost. */
static void loses_a_call(struct recorder *loop)
{
    reads_back(loop);
    if (loop->pass == PASSES / 2)
        fprintf(loop->out,
                "[\"op\",%d,\"d2h\",1,14,%" PRId64 ",%" PRId64 ",4,\"pinned\",\"pinned\",0]\n",
                900000, loop->now_ns, loop->now_ns + 1000);
}

/* The same, but for the number, which it reads back in one pass alone. */
static void reads_back_once(struct recorder *loop)
{
    for (int i = 0; i < 8; i++) {
        loop->blocks = 132 + loop->pass;
        launch_of(loop, 3, 25000, 0, BUF, 3000);
    }
    if (loop->pass == PASSES / 2) {
        copy(loop, 0, false, OUT, BUF, 4, 0);
        wait(loop);
    }
}

/* The host goes on by a number that each step leaves: from one array to another, and back. */
static void checks_each_step(struct recorder *loop)
{
    for (uint64_t i = 0; i < 8; i++) {
        const uint64_t sum = BUF + 48 * MIB + 4 * (8 * (uint64_t)loop->pass + i);
        call(loop, "cudaLaunchKernel", 3000);
        const int64_t start_ns = begins(loop, 0, 35000);
        fprintf(loop->out, "[\"launch\",%d,1,13,[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]]\n",
                loop->id, BUF + i % 2 * 16 * MIB, BUF + (i + 1) % 2 * 16 * MIB, sum);
        fprintf(loop->out, "[\"kernel\",%d,1,13,%" PRId64 ",%" PRId64 ",3,1056,256,32,0,0]\n",
                loop->id, start_ns, loop->free_ns[0]);
        copy(loop, 0, false, OUT + sum - BUF, sum, 4, 0);
        wait(loop);
    }
}

/* Nothing is copied, so kernels are no tiles that copies fill and drain. */
static void copies_nothing(struct recorder *loop)
{
    loop->blocks = 4096;
    launch(loop, 0, MANAGED, 1000000);
    launch(loop, 1, MANAGED + 32 * MIB, 1000000);
    wait(loop);
    loop->now_ns += 1000000;
}

/* A graph of short kernels, which the host launches more slowly than it runs. */
static void launches_graphs(struct recorder *loop)
{
    enum { EXEC = 0x8000, NODES = 8 };
    for (int i = 0; i < NODES && loop->pass == 0; i++)
        fprintf(loop->out, "[\"node\",%d,%d,\"kernel\",[]]\n", EXEC, i + 1);
    call(loop, "cudaGraphLaunch", 60000);
    fprintf(loop->out, "[\"graph\",%d,1,13,%d]\n", loop->id, EXEC);
    for (int i = 0; i < NODES; i++) {
        const int64_t start_ns = begins(loop, 0, 3000);
        fprintf(loop->out, "[\"kernel\",%d,1,13,%" PRId64 ",%" PRId64 ",3,1056,256,32,0,%d]\n",
                loop->id, start_ns, loop->free_ns[0], i + 1);
    }
}

/* The recorder has the launch issue node by node, and says so. */
static void launches_graphs_recorded(struct recorder *loop)
{
    if (loop->pass == 0)
        fprintf(loop->out, "[\"cost\",\"graph\",1,100,100]\n");
    launches_graphs(loop);
}

/* A graph is made anew for each pass. What the host does up to its launch, such as to give up
 * what it was made from, is in no call that is told. */
static void makes_a_graph_each(struct recorder *loop)
{
    call(loop, "cudaStreamBeginCapture", 2000);
    call(loop, "cudaStreamEndCapture", 2000);
    call(loop, "cudaGraphInstantiate", 100000);
    loop->now_ns += GIVES_UP_NS;
    launches_graphs(loop);
}

/* Kernels of two streams that have nothing to do with each other, with an event behind each: in
 * the one queue a timed one holds up the other stream's kernel, though nobody waits for it. */
static void works_beside(struct recorder *loop, int flags, int blocks)
{
    if (loop->pass == 0)
        fprintf(loop->out, "[\"event\",900,%d,%d]\n", EVENT, flags);
    loop->blocks = blocks;
    for (int stream = 0; stream < 2; stream++) {
        launch(loop, stream, BUF + (uint64_t)stream * 4 * MIB, 60000);
        call(loop, "cudaEventRecord", 800);
        fprintf(loop->out, "[\"record\",%d,1,%d,%d]\n", loop->id, 13 + stream, EVENT);
        if (flags == 0)
            loop->free_ns[1 - stream] = loop->free_ns[stream];
    }
}

static void keeps_time(struct recorder *loop)
{
    works_beside(loop, 0, 33);
}

/* Of the kernels side by side some blocks would share multiprocessors. */
static void keeps_time_of_many(struct recorder *loop)
{
    works_beside(loop, 0, 100);
}

static void keeps_no_time(struct recorder *loop)
{
    works_beside(loop, 2, 33);
}

/* A host function sums up what each pass brings home. */
static void calls_functions(struct recorder *loop)
{
    work(loop);
    call(loop, "cudaLaunchHostFunc", 2000);
    const int64_t start_ns = begins(loop, 0, FUNCTION_NS);
    fprintf(loop->out, "[\"function\",%d,1,13,%" PRId64 ",%" PRId64 "]\n", loop->id, start_ns,
            loop->free_ns[0]);
}

/* Two streams wait for each other before each short kernel, which works on what both left. The
 * host is slow: only beside a graph of it all would the one queue hold any up. */
static void is_slow(struct recorder *loop)
{
    if (loop->pass == 0)
        fprintf(loop->out, "[\"event\",900,%d,2]\n[\"event\",900,%d,2]\n", EVENT, EVENT + 1);
    for (int step = 0; step < 50; step++) {
        const uint64_t from = step % 2 * 4 * MIB, to = 4 * MIB - from, far = 16 * MIB;
        for (int i = 0; i < 6; i++) {
            const int stream = i % 2;
            if (i / 2 == 1) {
                const uint64_t own = BUF + stream * far, other = BUF + far - stream * far;
                call(loop, "cudaLaunchKernel", 3000);
                const int64_t start_ns = begins(loop, stream, 2000);
                fprintf(loop->out,
                        "[\"launch\",%d,1,%d,[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]]\n"
                        "[\"kernel\",%d,1,%d,%" PRId64 ",%" PRId64 ",3,33,256,32,0,0]\n",
                        loop->id, 13 + stream, own + from, other + from, own + to, loop->id,
                        13 + stream, start_ns, loop->free_ns[stream]);
                continue;
            }
            call(loop, i < 2 ? "cudaStreamWaitEvent" : "cudaEventRecord", 600);
            fprintf(loop->out, "[\"%s\",%d,1,%d,%d]\n", i < 2 ? "wait" : "record", loop->id,
                    13 + stream, EVENT + (i < 2 ? 1 - stream : stream));
        }
    }
}

/* Copies of pageable memory, in which the host is until they are done; then it waits. */
static void copies_pageable(struct recorder *loop)
{
    for (uint64_t i = 0; i < 2; i++) {
        call(loop, "cudaMemcpy", 600000);
        loop->free_ns[0] = loop->now_ns - 1000;
        fprintf(loop->out,
                "[\"copy\",%d,1,13,%" PRIu64 ",%" PRIu64 ",4194304]\n"
                "[\"op\",%d,\"h2d\",1,13,%" PRId64 ",%" PRId64
                ",4194304,\"pageable\",\"device\",0]\n",
                loop->id, BUF + 16 * i * MIB, OUT + 16 * i * MIB, loop->id,
                loop->now_ns - 400000, loop->free_ns[0]);
    }
    launch(loop, 0, BUF, 100000);
    wait(loop);
}

/* Nothing waits behind the largest copy; a small one of another stream waits behind one that is
 * less large, and what then comes for it in its own stream waits for that alone. */
static void copies_less_large(struct recorder *loop)
{
    const uint64_t far = 1024 * (uint64_t)MIB, small = (uint64_t)loop->pass * MIB;
    if (loop->pass == 0) {
        fprintf(loop->out,
                "[\"memory\",\"device\",20,%" PRIu64 ",268435456,0]\n"
                "[\"memory\",\"pinned\",20,%" PRIu64 ",268435456,null]\n",
                BUF + far, IN + far);
        copy(loop, 0, true, BUF + far, IN + far, 192 * MIB, 1);
        wait(loop);
        copy(loop, 0, true, BUF + far, IN + far, 128 * MIB, 2);
        loop->free_ns[1] = loop->free_ns[0];
    }
    copy(loop, 1, true, BUF + small, OUT + small, MIB / 4, 3 + loop->pass);
    launch(loop, 1, BUF + small, 300000);
}

/* Two streams fill and drain, which is not little, of 18 tiles; pages of managed memory are
 * long where kernels want them. */
static void fills_and_drains(struct recorder *loop)
{
    if (loop->pass == 0)
        call(loop, "cudaMemPrefetchAsync", 3000);
    for (int i = 0; i < 2 && loop->pass < 9; i++) {
        const uint64_t tile = BUF + (1024 + 64 * (uint64_t)(2 * loop->pass + i)) * MIB;
        fprintf(loop->out,
                "[\"memory\",\"device\",20,%" PRIu64 ",33554432,0]\n"
                "[\"memory\",\"managed\",20,%" PRIu64 ",1048576,0]\n",
                tile, tile + 32 * MIB);
        copy(loop, i, true, tile, IN + i * 32 * MIB, 32 * MIB, 1 + 2 * loop->pass + i);
        const int64_t in_ns = loop->free_ns[i];
        call(loop, "cudaLaunchKernel", 3000);
        loop->free_ns[i] = in_ns > loop->kernel_ns ? in_ns : loop->kernel_ns;
        const int64_t start_ns = begins(loop, i, 930000);
        loop->kernel_ns = loop->free_ns[i];
        fprintf(loop->out,
                "[\"launch\",%d,1,%d,[%" PRIu64 ",%" PRIu64 "]]\n"
                "[\"kernel\",%d,1,%d,%" PRId64 ",%" PRId64 ",3,4096,256,16,0,0]\n",
                loop->id, 13 + i, tile, tile + 32 * MIB, loop->id, 13 + i, start_ns,
                loop->kernel_ns);
        copy(loop, i, false, OUT + i * 32 * MIB, tile, 32 * MIB, 0);
        if (loop->pass == 0 && i == 0)
            loop->free_ns[1] = in_ns;
    }
}

/* The device begins a kernel long after it could: it is at work for another process. */
static void is_stalled(struct recorder *loop)
{
    copy(loop, 0, true, BUF, IN, MIB, 1000 + loop->pass);
    loop->free_ns[0] += STALL_NS;
    launch(loop, 0, BUF, 60000);
    copy(loop, 0, false, OUT, BUF, MIB, 0);
    wait(loop);
}

/* The same, but the recording lacks what a call issued: the device may have been at that. */
static void is_lost(struct recorder *loop)
{
    is_stalled(loop);
    call(loop, "cudaLaunchKernel", 3000);
    fprintf(loop->out, "[\"launch\",%d,1,13,[]]\n", loop->id);
}

/* The same, but a call was under way that may have kept the device from it. */
static void is_held_up(struct recorder *loop)
{
    copy(loop, 0, true, BUF, IN, MIB, 1000 + loop->pass);
    loop->free_ns[0] += STALL_NS;
    launch(loop, 0, BUF, 60000);
    call(loop, "cudaMalloc", STALL_NS);
    copy(loop, 0, false, OUT, BUF, MIB, 0);
    wait(loop);
}

/* The same, where that call is another thread's and began long before. */
static void is_held_up_for_long(struct recorder *loop)
{
    enum { HOLDS_NS = 8000000 };
    const int64_t until_ns = loop->now_ns + HOLDS_NS;
    fprintf(loop->out, "[\"call\",%d,\"cudaMalloc\",2,%" PRId64 ",%" PRId64 ",0]\n", ++loop->id,
            loop->now_ns, until_ns);
    launch(loop, 0, BUF, HOLDS_NS - 400000);
    loop->free_ns[0] = until_ns;
    launch(loop, 0, BUF, 60000);
    wait(loop);
}

/* The same, but managed pages that move may have kept the device from it. */
static void waits_for_pages(struct recorder *loop)
{
    call(loop, "cudaMemPrefetchAsync", 3000);
    launch(loop, 0, MANAGED, 1000);
    is_stalled(loop);
}

static const struct cause {
    const char *code; /* the first verdict's; or, behind a '!', what is none of them */
    void (*pass)(struct recorder *loop);
    const char *seen; /* in its evidence */
    bool predicted;
    const char *header;
} causes[] = {
    {"graph-in-loop", makes_graphs, "such as cudaGraphInstantiateWithFlags", true, ""},
    {"handle-in-loop", makes_handles, "such as cuBLAS's own", true, ""},
    {"!handle-in-loop", keeps_handles, NULL, false, ""},
    {"handle-in-loop", gives_handles_back, "66 calls such as cuBLAS's own", true, ""},
    {"stream-in-loop", makes_streams, "such as cudaStreamCreateWithFlags", true, ""},
    {"alloc-in-stream", takes_from_pools, "no pool was told to keep its memory", true, ""},
    {"alloc-in-stream", gives_back, "no pool was told", true, ""},
    {"lazy-loading", loads_code, "the first launch of", false, ",\"lazy\":true"},
    {"repeated-copy", copies_again, "11 of 12 copies in from 0x501000000", true, ""},
    {"!repeated-copy", copies_anew, NULL, false, ""},
    /* The rows above are drawn from. */
    {"page-faults", touches_managed, "12 kernels work with managed memory", false, ""},
    {"!page-faults", prefetches, NULL, false, ""},
    {"peer-access", copies_to_peers, "12 copies between devices ran at 21 GB/s", true, ""},
    {"needless-wait", waits_in_step, "streams wait 11 times for events", true, ""},
    {"other-device", waits_elsewhere, "12 of 12 ops could begin only when", false, ""},
    {"priority-inversion", is_urgent, "the fix gains", true, ""},
    {"priority-inversion", is_urgent_by_event, "the fix gains", true, ""},
    {"timed-events", keeps_time,
     "1 of 1 events keep the time, and streams share 1 hardware queue", true,
     ",\"connections\":1"},
    {"timed-events", keeps_time_of_many, "how much they slow each other there is not known",
     false, ",\"connections\":1"},
    {"!timed-events", keeps_time, NULL, false, ""},
    {"!timed-events", keeps_no_time, NULL, false, ",\"connections\":1"},
    {"!one-queue", is_slow, NULL, false, ",\"connections\":1"},
    {"!host-work", prefetches, NULL, false, ""},
    {"slow-callback", calls_functions, "12 host functions took", true, ""},
    {"sync-in-loop", reads_back, "a copy back of 4 bytes or less", false, ""},
    {"sync-in-loop", loses_a_call, "a copy back of 4 bytes or less", false, ""},
    {"!sync-in-loop", reads_back_once, NULL, false, ""},
    {"!unknown", checks_each_step, NULL, false, ""},
    {"!few-tiles", copies_nothing, NULL, false, ""},
    {"launch-bound", launches_thousands, "came when the device had done all", true, ""},
    {"!launch-bound", launches_graphs, NULL, false, ""},
    {"!unknown", launches_graphs_recorded, NULL, false, ""},
    {"time-slices", is_stalled, "12 times the device had nothing else to do", false, ""},
    {"!time-slices", is_held_up, NULL, false, ""},
    {"!time-slices", is_lost, NULL, false, ""},
    {"!time-slices", is_held_up_for_long, NULL, false, ""},
    {"!time-slices", waits_for_pages, NULL, false, ""},
    {"graph-in-loop", makes_a_graph_each, "such as cudaGraphInstantiate", true, ""},
};

enum { DRAWN = 10 };

/* Records a cause's loop, which *loop was then. */
static void record(const struct cause *cause, struct recorder *loop)
{
    char *text;
    size_t length;
    FILE *out = loop->out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    loop->now_ns = 1000000;
    fprintf(out, head, cause->header, (uint64_t)IN, (uint64_t)OUT, (uint64_t)BUF,
            (uint64_t)MANAGED);
    for (; loop->pass < PASSES; loop->pass++)
        cause->pass(loop);
    wait(loop);
    fprintf(out, "[\"end\",%" PRId64 ",\"exit\"]\n", loop->now_ns);
    fclose(out);
    test_file_put("rec.jsonl", text);
    free(text);
}

static json_t *viewed_by(const struct cause *cause, const char *arguments)
{
    struct recorder loop = {.id = 0};
    json_error_t why;
    record(cause, &loop);
    ck_assert_msg(program_run(arguments) == 0, "%s", program_err);
    char *text = test_file_text("out");
    json_t *root = json_loads(text, 0, &why);
    ck_assert_msg(root != NULL, "%s", why.text);
    free(text);
    return root;
}

static json_t *viewed(const struct cause *cause)
{
    return viewed_by(cause, "view -q --format=json rec.jsonl");
}

START_TEST(causes_of_loops_are_named)
{
    const struct cause *cause = &causes[_i];
    json_t *root = viewed(cause);
    const json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    const json_t *verdicts = json_object_get(run, "verdicts"), *verdict;
    size_t i;
    json_array_foreach(verdicts, i, verdict)
    {
        const char *code = json_string_value(json_object_get(verdict, "code"));
        const json_t *fix = json_object_get(verdict, "fix");
        if (cause->code[0] == '!') {
            ck_assert_str_ne(code, cause->code + 1);
            continue;
        }
        const char *seen = json_string_value(json_object_get(verdict, "seen"));
        ck_assert_msg(strcmp(code, cause->code) == 0, "%s (%s), not %s", code, seen,
                      cause->code);
        const char *no_time = json_string_value(json_object_get(fix, "no_time"));
        ck_assert_msg(strstr(seen, cause->seen) != NULL ||
                          (no_time != NULL && strstr(no_time, cause->seen) != NULL),
                      "%s", seen);
        ck_assert_int_eq(json_is_number(json_object_get(fix, "predicted_ms")),
                         cause->predicted);
        break;
    }
    json_decref(root);
}
END_TEST

/* The ops of a loop are numbered anew, and waits for events name them. */
START_TEST(loops_keep_their_waits)
{
    const struct cause cause = {"", waits_in_step, "", true, ""};
    struct recorder loop = {.id = 0};
    record(&cause, &loop);
    ck_assert_int_eq(program_run("view -q rec.jsonl"), 0);
    assert_has(program_out, "the loop: ");
    assert_has(program_out, "waited by an event for");
}
END_TEST

/* Checks that the first verdict is `code`, and returns the time that its fix is predicted. */
static double first_predicted_ns(const json_t *root, const char *code)
{
    const json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    const json_t *first = json_array_get(json_object_get(run, "verdicts"), 0);
    const json_t *fix = json_object_get(first, "fix");
    ck_assert_str_eq(json_string_value(json_object_get(first, "code")), code);
    return 1e6 * json_number_value(json_object_get(fix, "predicted_ms"));
}

/* Returns a verdict of the first run; NULL: it is none. */
static const json_t *verdict_of(const json_t *root, const char *code)
{
    const json_t *run = json_array_get(json_object_get(root, "runs"), 0), *verdict;
    size_t i;
    json_array_foreach(json_object_get(run, "verdicts"), i, verdict)
    {
        if (strcmp(json_string_value(json_object_get(verdict, "code")), code) == 0)
            return verdict;
    }
    return NULL;
}

static int64_t charged_ns(const json_t *root, const char *code)
{
    return json_integer_value(json_object_get(verdict_of(root, code), "ns"));
}

/* These are not the first verdict. */
static const struct cause others[] = {
    {"sync-in-loop", copies_pageable, "11 calls such as cudaDeviceSynchronize", false, ""},
    {"large-copy", copies_less_large, "1 copy waited behind a larger one", true, ""},
    {"rest", fills_and_drains, "filling and draining: 1.0", false, ""},
};

START_TEST(other_causes_say_what_was_seen)
{
    const struct cause *cause = &others[_i];
    json_t *root = viewed_by(cause, "view -q --all --format=json rec.jsonl");
    const char *seen =
        json_string_value(json_object_get(verdict_of(root, cause->code), "seen"));
    ck_assert_msg(seen != NULL && strstr(seen, cause->seen) != NULL, "%s", seen);
    json_decref(root);
}
END_TEST

/* What the host does up to a graph's launch goes with what makes the graph. */
START_TEST(a_graph_is_in_the_making_up_to_its_launch)
{
    const struct cause each = {"", makes_a_graph_each, "", true, ""};
    json_t *root = viewed(&each);
    const double predicted_ns = first_predicted_ns(root, "graph-in-loop");
    ck_assert_double_lt(predicted_ns, PASSES * GIVES_UP_NS);
    json_decref(root);
}
END_TEST

/* What a library copies to where no call took memory goes with what it makes; what the program
 * copies right behind that does not. */
START_TEST(variables_of_code_are_set_in_the_making)
{
    const struct cause plans = {"", makes_plans, "", true, ""};
    const struct cause copies = {"", copies_behind_plans, "", true, ""};
    json_t *of_code = viewed(&plans), *of_program = viewed(&copies);
    const int64_t charged = charged_ns(of_code, "handle-in-loop");
    ck_assert_int_gt(charged, (PASSES - 1) * (int64_t)GOES_ON_NS);
    ck_assert_int_lt(charged_ns(of_program, "handle-in-loop"),
                     charged - (PASSES - 2) * (int64_t)GOES_ON_NS);
    ck_assert_double_lt(first_predicted_ns(of_code, "handle-in-loop"), PASSES * GOES_ON_NS);
    json_decref(of_code);
    json_decref(of_program);
}
END_TEST

/* Returns which part of the run's time the fix of streams that are made leaves. */
static double streams_leave(void (*pass)(struct recorder *loop))
{
    const struct cause makes = {"", pass, "", true, ""};
    json_t *root = viewed(&makes);
    const json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    const double time_ns = 1e6 * json_number_value(json_object_get(run, "time_ms"));
    const double left = first_predicted_ns(root, "stream-in-loop") / time_ns;
    json_decref(root);
    return left;
}

/* A fix whose time is withheld is not said to gain nothing. */
START_TEST(a_time_withheld_is_no_loss)
{
    const struct cause kept = {"", keeps_time_of_many, "", false, ",\"connections\":1"};
    struct recorder loop = {.id = 0};
    record(&kept, &loop);
    ck_assert_int_eq(program_run("view -q rec.jsonl"), 0);
    ck_assert_ptr_nonnull(strstr(program_out, "timed-events"));
    ck_assert_ptr_null(strstr(program_out, "alone"));
}
END_TEST

/* A part of many ops stands for all as well as they do: it has whole passes. Of few ones that
 * are all tried the first stream is made before the first op, with which their time begins. */
START_TEST(parts_have_whole_passes)
{
    const double few = streams_leave(makes_few_streams),
                 more = streams_leave(makes_more_streams);
    const double pass = few / (1 - few) * (PASSES - 1) / PASSES;
    ck_assert_double_eq_tol(more, pass / (1 + pass), 0.005 * more);
}
END_TEST

/* A host that only copies to page-locked memory need not; other work takes as long as the
 * threads take that share it. */
START_TEST(memory_that_is_only_filled_need_not_be)
{
    const struct cause copied = {"", fills, "", true, ""},
                       computed = {"", computes, "", true, ""};
    json_t *fast = viewed(&copied), *slow = viewed(&computed);
    ck_assert_double_lt(first_predicted_ns(fast, "host-work"), PASSES * FILLS_NS / 6.0);
    ck_assert_double_gt(first_predicted_ns(slow, "host-work"),
                        (PASSES - 2) * 10.0 * FILLS_NS / 4);
    json_decref(fast);
    json_decref(slow);
}
END_TEST

/* A fix is predicted without what recording took before calls that it makes unnecessary. */
START_TEST(recording_goes_with_the_calls_that_it_is_of)
{
    const struct cause recorded = {"", makes_streams_recorded, "", true, ""};
    json_t *told = viewed(&recorded);
    const json_t *run = json_array_get(json_object_get(told, "runs"), 0);
    const double took_ns = 1e6 * json_number_value(json_object_get(run, "recording_ms"));
    ck_assert_double_gt(took_ns, (PASSES - 2.0) * CALLED_NS / 2);
    json_decref(told);
}
END_TEST

/* A graph is handed over the more slowly the larger it is: nothing of that is unknown, but for
 * what came before the first one. */
START_TEST(launches_of_graphs_are_known)
{
    enum { LAUNCH_NS = 60000 };
    const struct cause graphs = {"", launches_graphs, "", false, ""};
    json_t *root = viewed(&graphs);
    ck_assert_int_lt(charged_ns(root, "unknown"), LAUNCH_NS);
    json_decref(root);
}
END_TEST

/* A copy that a window cuts has no call there, and is none that pages made. */
START_TEST(windows_cut_no_pages_off)
{
    struct recorder loop = {.id = 0};
    const struct cause idle = {"", is_stalled, "", false, ""};
    record(&idle, &loop);
    for (int from_us = 10; from_us < 400; from_us += 7) {
        char line[96];
        snprintf(line, sizeof line, "view -q --window=%dus..%dus rec.jsonl", from_us,
                 from_us + 900);
        ck_assert_msg(program_run(line) == 0, "%s", program_err);
        char *text = test_file_text("out");
        ck_assert_msg(strstr(text, "page-faults") == NULL, "%s", line);
        free(text);
    }
}
END_TEST

/* Threads that do the work of host functions take as long as the fix says there are. */
START_TEST(work_of_functions_stays)
{
    enum { THREADS = 4 };
    const struct cause functions = {"", calls_functions, "", true, ""};
    json_t *root = viewed(&functions);
    const double predicted_ns = first_predicted_ns(root, "slow-callback");
    ck_assert_double_ge(predicted_ns,
                        (PASSES - 1.0) * FUNCTION_NS / THREADS); /* one may be cut off */
    json_decref(root);
}
END_TEST

/* A wait is charged what would go without it, not the kernels that it waits for. */
START_TEST(waits_are_charged_what_they_cost)
{
    const struct cause resident = {"", resides, "", false, ""};
    json_t *root = viewed(&resident);
    ck_assert_int_lt(charged_ns(root, "sync-in-loop"), 3000000);
    json_decref(root);
}
END_TEST

/* A pass of several things, drawn for each loop alike. */
static void draws(struct recorder *loop)
{
    uint64_t random = loop->random;
    loop->blocks = test_random_below(&random, 3) == 0 ? 8 : 0;
    for (uint32_t i = 1 + test_random_below(&random, 3); i > 0; i--) {
        causes[test_random_below(&random, DRAWN)].pass(loop);
        loop->now_ns += test_random_below(&random, 60000);
        if (test_random_below(&random, 3) == 0)
            wait_for(loop, 3000 + test_random_below(&random, 30000));
    }
}

/* Checks that no cause that calls are is charged more than these took and the device was idle,
 * and that all that is charged adds up. */
static void assert_bounded(const struct verdicts *verdicts, const struct recorder *loop)
{
    const int64_t busiest_ns =
        loop->busy_ns[0] > loop->busy_ns[1] ? loop->busy_ns[0] : loop->busy_ns[1];
    int64_t sum_ns = 0;
    for (int i = 0; i < verdicts->count; i++) {
        const struct verdict *verdict = &verdicts->items[i];
        const uint32_t kinds = verdict_rows[verdict->code].marks[MARKED_HOST];
        int64_t bound_ns = loop->now_ns - busiest_ns;
        for (int kind = 0; kind < CALL_KINDS; kind++)
            bound_ns += kinds >> kind & 1 ? loop->calls_ns[kind] : 0;
        ck_assert_int_ge(verdict->cost_ns, 0);
        ck_assert_msg(kinds == 0 || verdict->cost_ns <= bound_ns, "%s",
                      verdict_rows[verdict->code].name);
        sum_ns += verdict->cost_ns;
    }
    ck_assert_int_eq(sum_ns, verdicts->time_ns - verdicts->limit_ns);
}

START_TEST(costs_are_bounded_and_add_up)
{
    const char *words[] = {"rec.jsonl"};
    const struct options options = {.command = COMMAND_VIEW, .words = words, .word_count = 1};
    for (uint64_t i = 0; i < (uint64_t)test_cases(40); i++) {
        const struct cause drawn = {"", draws, "", false, ""};
        struct recorder loop = {.random = 77 + i};
        struct error error = {0};
        struct view view;
        record(&drawn, &loop);
        ck_assert_msg(view_read(&options, NULL, &view, &error) == STATUS_OK, "%s", error.text);
        assert_bounded(&view.report.runs[0].verdicts, &loop);
        view_free(&view);
    }
}
END_TEST

Suite *loop_causes_suite(void)
{
    Suite *suite = suite_create("loop_causes");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, costs_are_bounded_and_add_up);
    tcase_add_test(all, launches_of_graphs_are_known);
    tcase_add_test(all, windows_cut_no_pages_off);
    tcase_add_test(all, work_of_functions_stays);
    tcase_add_test(all, waits_are_charged_what_they_cost);
    tcase_add_test(all, a_graph_is_in_the_making_up_to_its_launch);
    tcase_add_test(all, variables_of_code_are_set_in_the_making);
    tcase_add_test(all, a_time_withheld_is_no_loss);
    tcase_add_test(all, parts_have_whole_passes);
    tcase_add_test(all, memory_that_is_only_filled_need_not_be);
    tcase_add_test(all, recording_goes_with_the_calls_that_it_is_of);
    tcase_add_test(all, loops_keep_their_waits);
    tcase_add_loop_test(all, causes_of_loops_are_named, 0,
                        (int)(sizeof causes / sizeof causes[0]));
    tcase_add_loop_test(all, other_causes_say_what_was_seen, 0,
                        (int)(sizeof others / sizeof others[0]));
    suite_add_tcase(suite, all);
    return suite;
}
