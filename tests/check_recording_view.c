/* check_recording_view.c - recordings as timelines, and what is said of them. */
#include "recording_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"
#include "trace/recording.h"
#include "trace/view.h"
#include "trace_cases.h"
#include "trace_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(one_device)
{
    struct traces traces = test_traces(RECORDINGS "good.jsonl");
    ck_assert_int_eq(traces.count, 1);
    const struct trace *trace = &traces.items[0];
    const struct timeline *timeline = &trace->timeline;
    ck_assert_ptr_nonnull(traces.recording);
    ck_assert_ptr_eq(trace->recording, traces.recording);
    ck_assert_str_eq(timeline->device, "NVIDIA H200 (0)");
    ck_assert_str_eq(timeline->driver, "driver 13.0");
    ck_assert_str_eq(timeline_timing(timeline), "recorded");
    ck_assert_str_eq(timeline_source(timeline), "measured");
    ck_assert(!timeline->issue_unknown && trace->early == 0);
    /* Times count from the first op's call, at 100 us. */
    ck_assert_uint_eq(timeline->span_count, 5);
    test_trace_span(timeline, 0, "h2d", 13, 6000, 106000);
    test_trace_span(timeline, 1, "scale<float>", 13, 108000, 158000);
    test_trace_span(timeline, 2, "d2h", 14, 159000, 259000);
    test_trace_span(timeline, 3, "memset", 14, 260000, 261000);
    test_trace_span(timeline, 4, "callback", 14, 265000, 270000);
    ck_assert(timeline->spans[4].engine == ENGINE_HOST && timeline->spans[4].issue_ns == 8100);
    ck_assert_int_eq(timeline->spans[2].issue_ns, 5800);
    ck_assert_uint_eq(timeline->spans[0].host_memory, HOST_MEMORY_PINNED);
    ck_assert_uint_eq(timeline->spans[2].host_memory, HOST_MEMORY_PAGEABLE);
    ck_assert(trace->in.count == 1 && trace->out.pageable == 1);
    ck_assert(!timeline->legacy_likely && timeline->streams == 2);
    ck_assert_int_eq(timeline_stream_kind(timeline, 0), STREAM_NONBLOCKING);
    ck_assert_int_eq(timeline_stream_kind(timeline, 1), STREAM_BLOCKING);
    /* Stream 14 waited for the kernel before the record. */
    ck_assert_uint_eq(timeline->wait_count, 1);
    ck_assert(timeline->spans[timeline->waits[0].op].stream == 1 &&
              timeline->waits[0].target == 1);
    /* Calls that were over before, and cudaFree() behind all, are no part of it. */
    ck_assert_uint_eq(timeline->call_count, 8);
    ck_assert_str_eq(host_call_name(timeline->calls[7].row), "cudaDeviceSynchronize");
    traces_free(&traces);
}
END_TEST

START_TEST(two_devices)
{
    struct traces traces = test_traces(RECORDINGS "devices.jsonl");
    ck_assert_int_eq(traces.count, 2);
    const struct timeline *first = &traces.items[0].timeline,
                          *second = &traces.items[1].timeline;
    ck_assert_str_eq(first->device, "NVIDIA H100 (0)");
    ck_assert_str_eq(second->device, "NVIDIA H200 (1)");
    ck_assert_ptr_eq(traces.items[1].recording, traces.recording);
    ck_assert_uint_eq(first->span_count, 5);
    test_trace_span(first, 0, "step", 7, 3000, 7000);
    test_trace_span(first, 1, "[CUDA memcpy Host-to-Host]", 13, 8000, 8200);
    test_trace_span(first, 4, "d2d", 13, 11500, 11900);
    ck_assert_int_eq(first->spans[2].issue_ns, first->spans[3].issue_ns); /* of one graph */
    test_trace_span(second, 1, "peer", 7, 7100, 7400);
    ck_assert_int_eq(timeline_stream_kind(second, 0), STREAM_LEGACY);
    traces_free(&traces);
}
END_TEST

/* A call that is not recorded leaves when its ops were issued unknown, and a stream's kind that
 * is not known may only be guessed. */
START_TEST(what_is_lost_is_not_made_up)
{
    static const char text[] = "{\"pipeline_recording\":1}\n"
                               "[\"op\",1,\"h2d\",1,7,100,200,8,\"pinned\",\"device\",0]\n"
                               "[\"call\",2,\"cudaMemcpyAsync\",1,50,60,0]\n"
                               "[\"op\",2,\"d2h\",1,8,300,400,8,\"device\",\"pinned\",0]\n";
    test_file_write(test_trace_path, text, sizeof text - 1);
    struct traces traces = test_traces(test_trace_path);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert(timeline->issue_unknown && timeline->calls == NULL);
    ck_assert(timeline->stream_kinds[0] == STREAM_NONBLOCKING && !timeline->legacy_likely);
    ck_assert_str_eq(timeline->device, "a GPU");
    traces_free(&traces);
}
END_TEST

/* A stream whose kind is lost does not make those that are recorded unknown. */
START_TEST(recorded_kinds_stay)
{
    static const char text[] =
        "{\"pipeline_recording\":1}\n"
        "[\"stream\",1,7,0,\"legacy\",0]\n[\"stream\",1,8,5,\"blocking\",0]\n"
        "[\"op\",1,\"h2d\",1,7,100,200,8,\"pinned\",\"device\",0]\n"
        "[\"op\",2,\"h2d\",1,8,300,400,8,\"pinned\",\"device\",0]\n"
        "[\"op\",3,\"h2d\",1,9,500,600,8,\"pinned\",\"device\",0]\n";
    test_file_write(test_trace_path, text, sizeof text - 1);
    struct traces traces = test_traces(test_trace_path);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_int_eq(timeline_stream_kind(timeline, 0), STREAM_LEGACY);
    ck_assert_int_eq(timeline_stream_kind(timeline, 1), STREAM_BLOCKING);
    ck_assert_int_eq(timeline_stream_kind(timeline, 2), STREAM_NONBLOCKING);
    ck_assert(!timeline->legacy_likely);
    traces_free(&traces);
}
END_TEST

/* One op of many that begins before its call has no call, and takes no other op's. */
START_TEST(one_early_op_voids_no_call)
{
    FILE *out = fopen(test_trace_path, "w");
    ck_assert_ptr_nonnull(out);
    fputs("{\"pipeline_recording\":1}\n[\"stream\",1,13,5,\"blocking\",0]\n", out);
    for (int i = 1, now = 10000; i <= 20; i++, now += 10000) {
        int start = i == 10 ? now - 1500 : now + 6000;
        fprintf(out, "[\"call\",%d,\"cudaMemcpyAsync\",1,%d,%d,0]\n", i, now, now + 2000);
        fprintf(out, "[\"op\",%d,\"h2d\",1,13,%d,%d,8,\"pinned\",\"device\",0]\n", i, start,
                start + 1000);
    }
    fclose(out);
    struct traces traces = test_traces(test_trace_path);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert(!timeline->issue_unknown && timeline->call_count == 20);
    ck_assert_uint_eq(traces.items[0].early, 1);
    ck_assert_int_eq(timeline->spans[9].issue_ns, timeline->spans[9].start_ns);
    ck_assert_int_eq(timeline->spans[10].issue_ns, 100000);
    traces_free(&traces);
}
END_TEST

/* What `pipeline view` says of them: all in the user's words, nothing of another profiler. */
START_TEST(the_report)
{
    ck_assert_int_eq(program_run("view " RECORDINGS "good.jsonl"), 0);
    assert_says(program_out, "recorded by pipeline, NVIDIA H200 (0), driver 13.0");
    assert_says(program_out, "4 ops and 1 wait or call in 2 streams (13, 14); 270 us");
    assert_says(program_out, "The machine file does not fit");
    ck_assert_ptr_null(strstr(program_out, "nsys"));
    ck_assert_ptr_null(strstr(program_out, "Nsight"));
    assert_says(program_err, "good.jsonl lacks 3 records");
    assert_says(program_err, "buffers of CUPTI were full");
    assert_says(program_err, "the program changed its \"device\"");
    ck_assert_int_eq(program_run("view " RECORDINGS "devices.jsonl"), 0);
    assert_says(program_err, "devices.jsonl has no end");
    assert_says(program_out, "devices: NVIDIA H100 (0)");
    assert_says(program_out, "devices: NVIDIA H200 (1)");
}
END_TEST

/* A recording in every form, and read back from the form that has all of it. */
START_TEST(every_form)
{
    static const char *const forms[] = {"csv", "json", "html"};
    char command[256];
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        snprintf(command, sizeof command, "view -q --timeline=x.%s " RECORDINGS "good.jsonl",
                 forms[i]);
        ck_assert_msg(program_run(command) == 0, "%s: %s", forms[i], program_err);
    }
    ck_assert_int_eq(program_run("view -q x.csv"), 0);
    assert_says(program_out, "recorded by pipeline");
    ck_assert_int_eq(
        program_run("view -q --window=100us.. --stream=14 " RECORDINGS "good.jsonl"), 0);
    assert_says(program_out, "Only a part of the file is looked at");
    ck_assert_ptr_null(strstr(program_out, "No machine file"));
    ck_assert_int_eq(program_run("view -q --before=" RECORDINGS "good.jsonl --after=x.csv"), 0);
}
END_TEST

/* Writes a recording of 16 tiles, after each of which thread 1 waits; the fifth wait, by
 * another line, is the longest. The lines come last, as they are added to recordings. */
void recording_write_loop(const char *path)
{
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fputs("{\"pipeline_recording\":1}\n[\"stream\",1,13,5,\"non-blocking\",0]\n"
          "[\"name\",1,\"step\"]\n[\"range\",1,1000,4000000,\"work\"]\n"
          "[\"device\",0,\"a GPU\",9,0,132,2048,32,65536,233472,3]\n[\"context\",1,0]\n",
          out);
    for (int tile = 0; tile < 16; tile++) {
        int at = 2000 + 200000 * tile, call = 10 * tile;
        int late = tile == 4 ? 20000 : 0;
        fprintf(out,
                "[\"call\",%d,\"cudaMemcpyAsync\",1,%d,%d,0]\n"
                "[\"op\",%d,\"h2d\",1,13,%d,%d,4096,\"pageable\",\"device\",0]\n"
                "[\"call\",%d,\"cudaLaunchKernel\",1,%d,%d,0]\n"
                "[\"kernel\",%d,1,13,%d,%d,1,64,256,32,48,0]\n"
                "[\"call\",%d,\"cudaStreamSynchronize\",1,%d,%d,0]\n[\"sync\",%d,\"stream\",1,"
                "13]\n",
                call, at, at + 2000, call, at + 5000, at + 60000, call + 1, at + 3000,
                at + 5000, call + 1, at + 62000, at + 130000, call + 2, at + 6000,
                at + 150000 + late, call + 2);
    }
    for (int tile = 0; tile < 16; tile++)
        fprintf(out, "[\"line\",%d,\"/home/me/fit.cu:%d\"]\n[\"line\",%d,\"fit.cu:31\"]\n",
                10 * tile + 2, tile == 4 ? 88 : 90, 10 * tile);
    fputs("[\"end\",4000000,\"exit\"]\n", out);
    ck_assert_int_eq(fclose(out), 0);
}

/* A verdict names the source line of the worst call. */
START_TEST(lines_of_the_source)
{
    char command[256];
    recording_write_loop(test_trace_path);
    struct traces traces = test_traces(test_trace_path);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->line_count, 3); /* each once */
    ck_assert_uint_eq(timeline->call_count, 48);
    ck_assert_str_eq(timeline_call_line(timeline, &timeline->calls[0]), "fit.cu:31");
    ck_assert_ptr_null(timeline_call_line(timeline, &timeline->calls[1]));
    ck_assert_str_eq(timeline_call_line(timeline, &timeline->calls[14]), "/home/me/fit.cu:88");
    ck_assert_str_eq(timeline_call_line(timeline, &timeline->calls[17]), "/home/me/fit.cu:90");
    traces_free(&traces);
    snprintf(command, sizeof command, "view -q %s", test_trace_path);
    ck_assert_int_eq(program_run(command), 0);
    assert_says(program_out, "such as cudaStreamSynchronize at fit.cu:88");
}
END_TEST

/* What a launch touched, where that is known, makes a race with a copy certain; what it only
 * reads, or two launches change by atomic operations alone, makes none. Both ops are told with
 * their lines. */
START_TEST(touched_memory_races)
{
    static const char text[] =
        "{\"pipeline_recording\":1}\n"
        "[\"memory\",\"device\",100,4096,4096,0]\n[\"memory\",\"pinned\",100,65536,4096,null]\n"
        "[\"stream\",1,7,1,\"non-blocking\",0]\n[\"stream\",1,8,2,\"non-blocking\",0]\n"
        "[\"call\",1,\"cudaMemcpyAsync\",40,1000,1500,0]\n[\"copy\",1,1,7,4096,65536,4096]\n"
        "[\"line\",1,\"/home/me/fit.cu:88\",null]\n"
        "[\"op\",1,\"h2d\",1,7,20000,90000,4096,\"pinned\",\"device\",0]\n"
        "[\"call\",2,\"cudaLaunchKernel\",40,2000,2500,0]\n"
        "[\"launch\",2,1,8,[4096],[4096,64,1,5120,64,7]]\n[\"line\",2,\"/home/me/"
        "fit.cu:89\",null]\n"
        "[\"kernel\",2,1,8,30000,40000,0,16,256,16,0,0]\n[\"name\",0,\"sum\"]\n"
        "[\"call\",4,\"cudaLaunchKernel\",40,2600,2700,0]\n"
        "[\"launch\",4,1,9,[4096],[5120,128,7]]\n"
        "[\"kernel\",4,1,9,30000,40000,0,16,256,16,0,0]\n"
        "[\"call\",3,\"cudaMemcpyAsync\",40,3000,3500,0]\n[\"copy\",3,1,7,65536,4096,64]\n"
        "[\"op\",3,\"d2h\",1,7,91000,92000,64,\"device\",\"pinned\",0]\n";
    char command[256];
    test_file_write(test_trace_path, text, sizeof text - 1);
    snprintf(command, sizeof command, "view -q --gantt=none %s", test_trace_path);
    ck_assert_int_eq(program_run(command), 0);
    assert_says(program_out,
                "h2d (fit.cu:88, stream 7, at 0.019 ms) and sum (fit.cu:89, stream 8, at\n"
                "    0.029 ms) both touch 64 bytes of the device's memory");
    assert_says(program_out,
                "missing-wait: ops touch the same bytes and nothing orders them: a race");
    ck_assert_ptr_null(strstr(program_out, "possible races"));
    ck_assert_ptr_null(strstr(program_out, "and d2h"));
    ck_assert_ptr_null(strstr(program_out, "0.029 ms) and"));
}
END_TEST

/* Threads have tracks of their own, on which no slices overlap in part: a range that ends
 * behind the one around it ends with that. */
START_TEST(threads_have_tracks)
{
    static const char text[] = "{\"pipeline_recording\":1}\n"
                               "[\"call\",1,\"cudaMemcpyAsync\",40,1000,1500,0]\n"
                               "[\"op\",1,\"h2d\",1,7,2000,9000,8,\"pinned\",\"device\",0]\n"
                               "[\"call\",2,\"cudaStreamSynchronize\",41,3000,9500,0]\n"
                               "[\"range\",40,500,8000,\"outer\"]\n"
                               "[\"range\",40,2000,8500,\"late\"]\n"
                               "[\"range\",40,8600,99000,\"last\"]\n"
                               "[\"range\",77,3000,4000,\"elsewhere\"]\n"
                               "[\"range\",40,10,20,\"before all\"]\n";
    static const struct {
        const char *name, *track;
        int64_t start_ns, end_ns;
    } drawn[] = {
        {"cudaMemcpyAsync", "calls of thread 0", 0, 500},
        {"cudaStreamSynchronize", "calls of thread 1", 2000, 8000},
        {"outer", "ranges of thread 0", 0, 7000},
        {"late", "ranges of thread 0", 1000, 7000},
        {"elsewhere", "ranges of other threads", 2000, 3000},
        {"last", "ranges of thread 0", 7600, 8000},
    };
    test_file_write(test_trace_path, text, sizeof text - 1);
    const char *words[] = {test_trace_path};
    const struct options options = {
        .command = COMMAND_VIEW, .words = words, .word_count = 1, .quiet = true};
    struct view view;
    struct error error = {0};
    ck_assert_msg(view_read(&options, NULL, &view, &error) == STATUS_OK, "%s", error.text);
    struct trace_file file = trace_file_read(&view.report);
    trace_file_check(&file, &view.report);
    size_t found = 0, count = sizeof drawn / sizeof drawn[0];
    for (size_t i = 0; i < file.slice_count; i++) {
        const struct trace_slice *slice = &file.slices[i];
        if (strstr(slice->track, "thread") == NULL)
            continue;
        ck_assert_uint_lt(found, count);
        ck_assert_str_eq(trace_text(slice->json, "name"), drawn[found].name);
        ck_assert_str_eq(slice->track, drawn[found].track);
        ck_assert_int_eq(slice->start_ns, drawn[found].start_ns);
        ck_assert_int_eq(slice->end_ns, drawn[found].end_ns);
        found++;
    }
    ck_assert_uint_eq(found, count);
    trace_file_free(&file);
    view_free(&view);
}
END_TEST

/* Work of which the recording has calls alone, or has no call, or which CUDA refused, is told.
 */
START_TEST(calls_and_ops_that_do_not_match)
{
    static const char head[] = "{\"pipeline_recording\":1}\n"
                               "[\"device\",0,\"NVIDIA H200\",9,0,132,2048,32,65536,233472,3]\n"
                               "[\"context\",1,0]\n"
                               "[\"stream\",1,13,5,\"non-blocking\",0]\n";
    static const char call[] = "[\"call\",%d,\"cudaMemsetAsync\",1,%d,%d,%d]\n"
                               "[\"set\",%d,1,13,4096,8192]\n";
    static const char op[] = "[\"op\",%d,\"memset\",1,13,%d,%d,8192,null,null,0]\n";
    static const char *const says[] = {"4 calls issued", "lacks what 2 of",
                                       "CUDA refused 4 calls",
                                       "lacks the calls that issued 1 of its ops"};
    static const int ops[] = {0, 2, 4, 4}, results[] = {0, 0, 1, 0}, first[] = {1, 1, 1, 2};
    for (int i = 0; i < 4; i++) {
        FILE *out = fopen("odd.jsonl", "w");
        ck_assert_ptr_nonnull(out);
        fputs(head, out);
        for (int k = 0; k < 4; k++) {
            fprintf(out, call, k + 1, 1000 * k, 1000 * k + 100, results[i], k + 1);
            if (k < ops[i])
                fprintf(out, op, k + first[i], 1000 * k + 200, 1000 * k + 700);
        }
        fputs("[\"end\",9000,\"exit\"]\n", out);
        ck_assert_int_eq(fclose(out), 0);
        ck_assert_int_eq(program_run("view -q odd.jsonl"), 0);
        assert_says(program_out, says[i]);
        ck_assert_ptr_null(strstr(program_out, "limit 0 ns"));
    }
    ck_assert_int_eq(program_run("view -q --before=odd.jsonl --after=" RECORDINGS "good.jsonl"),
                     0);
    assert_says(program_out, "Mind: before is 1 op and");
    test_file_put("none.jsonl", head);
    static const char *const sides[] = {"--before=none.jsonl --after=odd.jsonl",
                                        "--before=odd.jsonl --after=none.jsonl"};
    for (int i = 0; i < 2; i++) {
        char command[96];
        snprintf(command, sizeof command, "view -q %s", sides[i]);
        ck_assert_int_eq(program_run(command), 2);
        assert_says(program_err, "none.jsonl: nothing ran there that could be compared");
        ck_assert_str_eq(program_out, "");
    }
    ck_assert_int_eq(program_run("view -q --fail-above=any:0% none.jsonl"), 1);
    assert_says(program_err, "no copy and no kernel");
}
END_TEST

START_TEST(nothing_ran)
{
    static const char text[] = "{\"pipeline_recording\":1,\"program\":\"true\"}\n"
                               "[\"limit\"]\n[\"end\",5,\"limit\"]\n";
    test_file_write(test_trace_path, text, sizeof text - 1);
    char command[256];
    snprintf(command, sizeof command, "view %s", test_trace_path);
    ck_assert_int_eq(program_run(command), 0);
    assert_says(program_out, "recorded by pipeline");
    assert_says(program_out, "no copy and no kernel ran");
    assert_says(program_err, "--limit");
    test_file_write(test_trace_path, "{\"pipeline_recording\" : 7}\n", 27);
    ck_assert_int_eq(program_run(command), 2);
    assert_says(program_err, ":1: a recording of form 7");
}
END_TEST

/* Fixes are tried of whole recordings alone, and options that are about them say so elsewhere.
 */
START_TEST(fixes_are_of_recordings)
{
    static const char note[] = "does nothing here";
    ck_assert_int_eq(program_run("view --fix --machine=h200 " RECORDINGS "good.jsonl"), 0);
    ck_assert_ptr_null(strstr(program_err, note));
    ck_assert_int_eq(program_run("view -q --timeline=x.csv " RECORDINGS "good.jsonl"), 0);
    ck_assert_int_eq(program_run("view x.csv"), 0);
    ck_assert_ptr_null(strstr(program_err, note));
    ck_assert_int_eq(program_run("view --fix x.csv"), 0);
    assert_says(program_err, "--fix does nothing here");
    ck_assert_ptr_null(strstr(program_err, "--machine"));
    ck_assert_int_eq(program_run("view --machine=h200 x.csv"), 0);
    assert_says(program_err, "--machine does nothing here");
    ck_assert_int_eq(program_run("view --machine=h200 " RECORDINGS "good.jsonl x.csv"), 0);
    ck_assert_ptr_null(strstr(program_err, note));
}
END_TEST

/* --fix says of a recording why there is no fixed run beside it. */
START_TEST(no_fix_has_a_reason)
{
    ck_assert_int_eq(program_run("view --fix " RECORDINGS "good.jsonl"), 0);
    assert_says(program_err, "--fix: no fix can be predicted for good");
    char *text = test_file_text(RECORDINGS "good.jsonl");
    char *device = strstr(text, "NVIDIA H200");
    ck_assert_ptr_nonnull(device);
    device[strlen("NVIDIA ")] = 'X';
    test_file_put("other.jsonl", text);
    free(text);
    ck_assert_int_eq(program_run("view --fix other.jsonl"), 0);
    assert_says(program_err, "--fix: no machine file stands for the device of other");
}
END_TEST

TCase *recording_view_case(void)
{
    TCase *tests = tcase_create("recording_view");
    tcase_add_checked_fixture(tests, test_folder_enter, test_folder_leave);
    tcase_add_checked_fixture(tests, test_trace_begin, test_trace_end);
    tcase_add_test(tests, one_device);
    tcase_add_test(tests, two_devices);
    tcase_add_test(tests, what_is_lost_is_not_made_up);
    tcase_add_test(tests, recorded_kinds_stay);
    tcase_add_test(tests, one_early_op_voids_no_call);
    tcase_add_test(tests, the_report);
    tcase_add_test(tests, every_form);
    tcase_add_test(tests, lines_of_the_source);
    tcase_add_test(tests, touched_memory_races);
    tcase_add_test(tests, threads_have_tracks);
    tcase_add_test(tests, nothing_ran);
    tcase_add_test(tests, calls_and_ops_that_do_not_match);
    tcase_add_test(tests, fixes_are_of_recordings);
    tcase_add_test(tests, no_fix_has_a_reason);
    return tests;
}
