/* graph.c - the function of a program that captures its calls as a graph. */
#include "emit/parts.h"

static void put_meeting(FILE *out, const struct emit_program *program, bool fork)
{
    char first[EMIT_NAME];
    emit_first_stream(program, first);
    const char *each = emit_deals_streams(program)
                           ? "    for (size_t i = 1; i < STREAMS; i++)"
                           : "    for (cudaStream_t each : {kernel_stream, out_stream})";
    const char *stream = emit_deals_streams(program) ? "stream[i]" : "each";
    if (program->plan->streams == 1)
        return;
    if (fork)
        fprintf(out,
                "    CHECK(cudaEventRecord(meeting, %s)); // takes the other streams into the "
                "capture\n"
                "%s\n"
                "        CHECK(cudaStreamWaitEvent(%s, meeting, 0));\n",
                first, each, stream);
    else
        fprintf(out,
                "%s { // and back to the first\n"
                "        CHECK(cudaEventRecord(meeting, %s));\n"
                "        CHECK(cudaStreamWaitEvent(%s, meeting, 0));\n"
                "    }\n",
                each, stream, first);
}

void emit_capture(FILE *out, const struct emit_program *program)
{
    char first[EMIT_NAME];
    emit_first_stream(program, first);
    if (program->plan->issue != ISSUE_GRAPH)
        return;
    fprintf(out,
            "// The same calls make the nodes of a graph: the streams' order and the events "
            "are its edges.\n"
            "static cudaGraphExec_t capture_tiles() {\n"
            "    cudaGraph_t graph;\n"
            "    cudaGraphExec_t launchable;\n");
    if (program->plan->streams > 1)
        fprintf(out,
                "    cudaEvent_t meeting;\n"
                "    CHECK(cudaEventCreateWithFlags(&meeting, cudaEventDisableTiming));\n");
    fprintf(out, "    CHECK(cudaStreamBeginCapture(%s, cudaStreamCaptureModeRelaxed));\n",
            first);
    put_meeting(out, program, true);
    fprintf(out, "    issue_tiles();\n");
    put_meeting(out, program, false);
    fprintf(out,
            "    CHECK(cudaStreamEndCapture(%s, &graph));\n"
            "    CHECK(cudaGraphInstantiateWithFlags(&launchable, graph, 0));\n"
            "    return launchable;\n"
            "}\n\n",
            first);
}
