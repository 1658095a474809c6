/* check_trace_chrome.c - Chrome traces, as PyTorch's profiler writes them. */
#include "fixtures.h"
#include "trace/recording.h"
#include "trace_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT(category, name, ts, dur, more)                                                   \
    "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name                                  \
    "\",\"pid\":0,\"tid\":9,\"ts\":" ts ",\"dur\":" dur ",\"args\":{" more "}}"
#define OP(stream, correlation)                                                                \
    "\"device\":0,\"context\":1,\"stream\":" stream ",\"correlation\":" correlation
#define CALL(correlation) "\"cbid\":211,\"correlation\":" correlation
#define TRACE(events)     "{\"schemaVersion\":1,\"traceEvents\":[" events "]}"

/* A copy in, a kernel in another stream that waits for it, a memset and a copy out, in no
 * order; the device's name and the base of the times come last. */
/* clang-format off */
static const char whole[] =
    "\n{\"displayTimeUnit\":\"ms\", \"traceEvents\" : [\n"
    "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":9,\"args\":{\"name\":\"{[\\\\\"}},\n"
    EVENT("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", "40.5", "2.001",
          OP("21", "4") ",\"bytes\":16.0") ",\n"
    "{\"args\":{\"correlation\":2.0,\"stream\":20,\"context\":1,\"device\":0,\"grid\":[1,2,[3]]},\n"
    "\"dur\":10,\"ts\":20.25,\"tid\":20,\"pid\":0,\"cat\":\"kernel\",\"name\":"
    "\"void add<int>(\\u00b5, \\\"x\\\")\",\"ph\":\"X\"},\n"
    EVENT("gpu_memset", "Memset (Device)", "31", "1.5", OP("21", "3")) ",\n"
    EVENT("cpu_op", "aten::add", "1", "299", "\"stream\":20,\"grid\":\"(1,2)\"") ",\n"
    EVENT("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "10", "5",
          OP("7", "1") ",\"bytes\":64") ",\n"
    EVENT("cuda_sync", "Stream Wait Event", "7", "1",
          "\"stream\":20,\"correlation\":12,\"context\":1,\"wait_on_stream\":7,"
          "\"wait_on_cuda_event_record_corr_id\":11") ",\n"
    EVENT("cuda_sync", "Context Sync", "50", "9", "\"stream\":-1,\"correlation\":13") ",\n"
    EVENT("cuda_runtime", "cudaMemcpyAsync", "5", "1", CALL("1")) ",\n"
    EVENT("cuda_runtime", "cudaEventRecord", "6", "0.5", CALL("11")) ",\n"
    EVENT("cuda_runtime", "cudaStreamWaitEvent", "7", "1", CALL("12")) ",\n"
    EVENT("cuda_driver", "cuLaunchKernelEx", "8", "1.125", CALL("2")) ",\n"
    EVENT("cuda_runtime", "cudaMemsetAsync", "9.5", "1", CALL("3")) ",\n"
    EVENT("cuda_runtime", "cudaMemcpyAsync", "11", "1", CALL("4")) ",\n"
    EVENT("cuda_runtime", "cudaDeviceSynchronize", "12", "31", CALL("13")) "],\n"
    "\"deviceProperties\":[{\"id\":1,\"name\":\"B\"},{\"id\":0,\"name\":\"A\",\"x\":{}}],\n"
    "\"baseTimeNanoseconds\":1790857026000000000}\n";
/* clang-format on */

static struct traces read_text(const char *text)
{
    test_file_write(test_trace_path, text, strlen(text));
    return test_traces(test_trace_path);
}

static void check_whole(const struct traces *traces)
{
    ck_assert_int_eq(traces->count, 1);
    const struct timeline *timeline = &traces->items[0].timeline;
    ck_assert_str_eq(timeline->device, "A (0)");
    ck_assert_int_eq(traces->items[0].origin_ns, 1790857026000005000);
    ck_assert_uint_eq(timeline->span_count, 4);
    test_trace_span(timeline, 0, "h2d", 7, 5000, 10000);
    test_trace_span(timeline, 1, "add<int>", 20, 15250, 25250);
    test_trace_span(timeline, 2, "memset", 21, 26000, 27500);
    test_trace_span(timeline, 3, "d2h", 21, 35500, 37501);
    ck_assert_int_eq(timeline->spans[1].issue_ns, 3000);
    ck_assert_uint_eq(timeline->spans[0].bytes, 64);
    ck_assert_uint_eq(timeline->spans[3].bytes, 16);
    ck_assert_int_eq(timeline->spans[0].host_memory, HOST_MEMORY_PAGEABLE);
    ck_assert_int_eq(timeline->spans[3].host_memory, HOST_MEMORY_PINNED);
    ck_assert_uint_eq(timeline->call_count, 7);
    ck_assert_str_eq(host_call_name(timeline->calls[3].row), "cuLaunchKernelEx");
    ck_assert_int_eq(timeline->calls[3].end_ns - timeline->calls[3].start_ns, 1125);
    ck_assert_uint_eq(timeline->range_count, 1);
    ck_assert_str_eq(timeline->ranges[0].name, "aten::add");
    ck_assert_uint_eq(timeline->ranges[0].thread, timeline->calls[0].thread);
    ck_assert_int_eq(timeline->ranges[0].start_ns - timeline->ranges_from_ns, -4000);
    ck_assert_uint_eq(timeline->wait_count, 1);
    ck_assert_uint_eq(timeline->waits[0].target, 0);
    ck_assert_uint_eq(timeline->stream_ids[timeline->spans[timeline->waits[0].op].stream], 20);
}

START_TEST(test_whole)
{
    struct traces traces = read_text(whole);
    check_whole(&traces);
    ck_assert_str_eq(traces.unread, "");
    traces_free(&traces);
}
END_TEST

/* Of the host stay operators that are in no other, and functions that took long. */
START_TEST(test_doing)
{
    /* clang-format off */
    struct traces traces = read_text(TRACE(
        EVENT("kernel", "k", "10", "5", OP("7", "1")) ","
        EVENT("cuda_runtime", "cudaLaunchKernel", "5", "1", CALL("1")) ","
        EVENT("python_function", "train.py(8): step", "0", "150", "\"Python id\":1") ","
        EVENT("python_function", "torch/x.py(9): f", "1", "90", "\"Python id\":2") ","
        EVENT("cpu_op", "aten::linear", "2", "20", "\"Ev Idx\":0") ","
        EVENT("cpu_op", "aten::addmm", "3", "18", "\"Ev Idx\":1")));
    /* clang-format on */
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->range_count, 2);
    ck_assert_str_eq(timeline->ranges[0].name, "train.py(8): step");
    ck_assert_str_eq(timeline->ranges[1].name, "aten::linear");
    traces_free(&traces);
}
END_TEST

/* Of a trace of XLA's, ops are what lies in the rows of a GPU's streams; the host may have
 * events of the same names, and a GPU rows that are made of its ops. */
START_TEST(test_rows)
{
#define ROW(name, pid, tid, text)                                                              \
    "{\"ph\":\"M\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid                         \
    ",\"args\":{\"name\":\"" text "\"}},"
#define RAN(name, pid, tid, ts, args)                                                          \
    ",{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts          \
    ",\"dur\":5,\"args\":{" args "}}"
    struct traces traces = read_text(
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" ROW("process_name", "3", "0",
                                                            "/device:GPU:1")
            ROW("thread_name", "3", "24", "Stream #24(Compute)")
                ROW("process_name", "701", "0", "/host:CPU")
                    ROW("thread_name", "3", "25", "Stream #25(MemcpyH2D)")
                        ROW("thread_name", "3", "26", "XLA Modules")
                            ROW("thread_name", "701", "24", "Stream #24") "{}" RAN(
                                "MemcpyH2D", "3", "25", "10",
                                "\"memcpy_details\":\"kind_src:pinned kind_dst:device "
                                "size:4096 dest:0 async:1\"")
                                RAN("fusion_1", "3", "24", "20", "\"hlo_op\":\"fusion_1\"")
                                    RAN("jit_step", "3", "26", "10", "")
                                        RAN("MemcpyH2D", "701", "24", "9", "") "]}");
    ck_assert_int_eq(traces.count, 1);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_str_eq(timeline->device, "GPU (1)");
    ck_assert_uint_eq(timeline->span_count, 2);
    ck_assert(timeline->issue_unknown);
    test_trace_span(timeline, 0, "h2d", 25, 0, 5000);
    test_trace_span(timeline, 1, "fusion_1", 24, 10000, 15000);
    ck_assert_uint_eq(timeline->spans[0].bytes, 4096);
    ck_assert_int_eq(timeline->spans[0].host_memory, HOST_MEMORY_PINNED);
    traces_free(&traces);
}
END_TEST

/* Times are exact in all the forms that they had: whole microseconds, decimals of microseconds
 * since 1970, which no double has room for, and others that a program may make of them. */
START_TEST(test_times)
{
    static const struct {
        const char *ts, *dur;
        int64_t start_ns, lasts_ns;
    } cases[] = {
        {"1661203462700621", "10", 1661203462700621000, 10000},
        {"1712195495519689.047", "0.001", 1712195495519689047, 1},
        {"5005079798040.191", "111676.332", 5005079798040191, 111676332},
        {"68.0", "1.50", 68000, 1500},
        {"\"12.5\"", "\"3\"", 12500, 3000},
        {"1.25e3", "5E-1", 1250000, 500},
        {"2", "-3", 2000, 0},
        {"1.0000000000000000000000000009", "1.9999", 1000, 1999},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, TRACE(EVENT("kernel", "k", "%s", "%s", OP("7", "1"))),
                 cases[i].ts, cases[i].dur);
        struct traces traces = read_text(text);
        ck_assert_int_eq(traces.items[0].origin_ns, cases[i].start_ns);
        test_trace_span(&traces.items[0].timeline, 0, "k", 7, 0, cases[i].lasts_ns);
        traces_free(&traces);
    }
}
END_TEST

/* What has no time that can be, or stands for none, is no op. */
START_TEST(test_left_out)
{
    static const char *const times[][2] = {{"NaN", "1"},  {"-1", "1"}, {"1e30", "1"},
                                           {"1", "null"}, {"0", "0"},  {"1", "Infinity"}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 TRACE(EVENT("kernel", "k", "%s", "%s", "") ",7,null,[]," EVENT(
                     "kernel", "k", "3", "1", OP("-1", "1")) "," EVENT("kernel", "k", "3", "1",
                                                                       "\"device\":-1")),
                 times[i][0], times[i][1]);
        struct traces traces = read_text(text);
        ck_assert_uint_eq(traces.items[0].timeline.span_count, 1);
        ck_assert_ptr_nonnull(strstr(traces.unread, "2 events"));
        traces_free(&traces);
    }
}
END_TEST

/* What makes a trace doubtful is said: numbers that calls share, and what stands behind its
 * end. */
START_TEST(test_doubtful)
{
    /* clang-format off */
    struct traces traces = read_text(TRACE(
        EVENT("cuda_runtime", "cudaLaunchKernel", "5", "1", CALL("1")) ","
        EVENT("cuda_runtime", "cudaLaunchKernel", "7", "1", CALL("1")) ","
        EVENT("kernel", "k", "10", "5", OP("7", "1"))) "\n{}");
    /* clang-format on */
    ck_assert_ptr_nonnull(strstr(traces.unread, "of another: 1;"));
    ck_assert_ptr_nonnull(strstr(traces.unread, "behind its end"));
    traces_free(&traces);
}
END_TEST

/* ROCm's calls have the names of CUDA's, and tell the bytes that its copies don't. A list alone
 * is a trace, too, and old ones begin their categories with capitals. */
START_TEST(test_rocm)
{
    /* clang-format off */
    struct traces traces = read_text("["
        EVENT("cuda_runtime", "hipMemcpyWithStream", "1", "9",
              "\"cid\":1,\"correlation\":1,\"size\":\"512\"") ","
        EVENT("Memcpy", "Memcpy HtoD (Host -> Device)", "4", "2", OP("0", "1")) ","
        EVENT("Runtime", "hipLaunchKernel", "10", "1", CALL("2")) ","
        EVENT("Kernel", "Cijk", "12", "2", OP("0", "2")) "]");
    /* clang-format on */
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->span_count, 2);
    ck_assert_uint_eq(timeline->spans[0].bytes, 512);
    ck_assert_int_eq(timeline->spans[0].host_memory, HOST_MEMORY_UNKNOWN);
    ck_assert_str_eq(timeline->device, "GPU (0)");
    ck_assert_str_eq(host_call_name(timeline->calls[0].row), "cudaMemcpy");
    ck_assert_str_eq(host_call_name(timeline->calls[1].row), "cudaLaunchKernel");
    traces_free(&traces);
}
END_TEST

/* What was issued before the profiler began has no call: it counts as issued at the beginning,
 * and all else is known. */
START_TEST(test_window)
{
    /* clang-format off */
    struct traces traces = read_text(TRACE(
        EVENT("kernel", "old", "1", "2", OP("7", "1")) ","
        EVENT("kernel", "old", "4", "2", OP("7", "2")) ","
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"ts\":2,\"dur\":1},"
        EVENT("cuda_runtime", "cudaLaunchKernel", "5", "1", CALL("3")) ","
        EVENT("kernel", "new", "8", "2", OP("7", "3"))));
    /* clang-format on */
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->span_count, 3);
    ck_assert(!timeline->issue_unknown);
    ck_assert_int_eq(timeline->spans[1].issue_ns, 0);
    ck_assert_int_eq(timeline->spans[2].issue_ns, 4000);
    ck_assert_ptr_nonnull(strstr(traces.unread, "2 operations"));
    traces_free(&traces);
}
END_TEST

/* What a call waited for is told by what ended right before it returned, where the trace does
 * not say it; and an op that was held by the event that was recorded behind that. */
START_TEST(test_waits)
{
    /* clang-format off */
    struct traces traces = read_text(TRACE(
        EVENT("cuda_runtime", "cudaLaunchKernel", "1", "1", CALL("1")) ","
        EVENT("cuda_runtime", "cudaEventRecord", "3", "1", CALL("2")) ","
        EVENT("cuda_runtime", "cudaStreamWaitEvent", "5", "1", CALL("3")) ","
        EVENT("cuda_runtime", "cudaLaunchKernel", "7", "1", CALL("4")) ","
        EVENT("cuda_runtime", "cudaStreamSynchronize", "9", "392", CALL("5")) ","
        EVENT("cuda_runtime", "cudaDeviceSynchronize", "410", "1", CALL("6")) ","
        EVENT("kernel", "a", "5", "195", OP("20", "1") ",\"grid\":[4,2,1],\"block\":[32,1,1]") ","
        EVENT("kernel", "b", "202", "198", OP("21", "4"))));
    /* clang-format on */
    const struct recording *recording = traces.recording;
    const struct recorded_call *calls = recording->calls;
    ck_assert_uint_eq(recording->call_count, 6);
    ck_assert_uint_eq(recording->ops[0].blocks, 8);
    ck_assert_uint_eq(recording->ops[0].need.threads, 32);
    ck_assert_int_eq(calls[1].effect, EFFECT_RECORD);
    ck_assert_uint_eq(calls[1].stream, recording->ops[0].stream);
    ck_assert_int_eq(calls[2].effect, EFFECT_WAIT);
    ck_assert_uint_eq(calls[2].stream, recording->ops[1].stream);
    ck_assert_uint_eq(calls[2].event, calls[1].event);
    ck_assert_int_eq(calls[4].effect, EFFECT_SYNC_STREAM);
    ck_assert_uint_eq(calls[4].stream, recording->ops[1].stream);
    ck_assert_int_eq(calls[5].effect, EFFECT_NONE); /* nothing ended in it */
    traces_free(&traces);
}
END_TEST

/* Of a file that ends early there is what it has; without an op it is refused. */
START_TEST(test_cut)
{
    int read = 0;
    for (size_t size = 1; size < strlen(whole) - 2; size++) {
        struct traces traces = {0};
        struct error error = {0};
        test_file_write(test_trace_path, whole, size);
        const enum status status = traces_read(test_trace_path, &traces, &error);
        ck_assert(status == STATUS_OK || status == STATUS_USAGE);
        if (status == STATUS_OK) {
            ck_assert_ptr_nonnull(strstr(traces.unread, "it has no end"));
            ck_assert_ptr_null(strstr(traces.unread, "behind its end"));
        }
        read += status == STATUS_OK;
        traces_free(&traces);
    }
    ck_assert_int_gt(read, 100);
}
END_TEST

/* Packs test_trace_path by gzip; false where there is no gzip, or was no zlib to build with. */
static bool pack(void)
{
    char command[1024];
    struct traces traces = {0};
    struct error error = {0};
    snprintf(command, sizeof command, "gzip -c %s > %s.gz && mv %s.gz %s", test_trace_path,
             test_trace_path, test_trace_path, test_trace_path);
    if (system(command) != 0)
        return false;
    const enum status status = traces_read(test_trace_path, &traces, &error);
    traces_free(&traces);
    return status == STATUS_OK || strstr(error.text, "built without zlib") == NULL;
}

START_TEST(test_packed)
{
    struct traces traces = {0};
    struct error error = {0};
    char text[4096];
    test_file_write(test_trace_path, whole, strlen(whole));
    if (!pack())
        return;
    traces = test_traces(test_trace_path);
    check_whole(&traces);
    traces_free(&traces);
    /* In two parts, as `cat a.gz b.gz` makes them, and with zeroes behind, as tapes have. */
    char command[1024];
    snprintf(command, sizeof command,
             "cd \"$(dirname %s)\" && gunzip -c < trace > plain && { head -c 500 plain | gzip; "
             "tail -c +501 plain | gzip; head -c 700 /dev/zero; } > trace && rm plain",
             test_trace_path);
    ck_assert_int_eq(system(command), 0);
    traces = test_traces(test_trace_path);
    check_whole(&traces);
    traces_free(&traces);
    /* Cut, there is less of it; damaged, none. */
    test_file_write(test_trace_path, whole, strlen(whole));
    ck_assert(pack());
    FILE *file = fopen(test_trace_path, "rb");
    ck_assert_ptr_nonnull(file);
    const size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    test_file_write(test_trace_path, text, size - 20);
    ck_assert_int_eq(traces_read(test_trace_path, &traces, &error), STATUS_OK);
    ck_assert_ptr_nonnull(strstr(traces.unread, "it has no end"));
    traces_free(&traces);
    text[size - 6] = (char)~text[size - 6]; /* in the checksum */
    test_file_write(test_trace_path, text, size);
    test_trace_refused("damaged");
}
END_TEST

/* A byte order mark, and arguments that are none, are no damage. */
START_TEST(test_odd)
{
    struct traces traces = read_text("\xef\xbb\xbf" TRACE(
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2,\"args\":null}"
        "," EVENT("kernel", "k", "5", "1", OP("7", "1"))));
    ck_assert_int_eq(traces.count, 1);
    ck_assert_uint_eq(traces.items[0].timeline.span_count, 2);
    traces_free(&traces);
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{\"traceEvents\":[]}", ":1: |Chrome trace|ProfilerActivity.CUDA"},
        {"{\"traceEvents\":{}}", ":1: |no list"},
        {"{\"Type\":127,\"CudaEvent\":{\"startNs\":\"1\"}}\n{}", ":1: |nsys export -t sqlite"},
        {"[]", ":1: |not a recording"},
        {"[1,{\"file\":\"x\"}]", ":1: |not a recording"},
        {"{\"a\":[],\"b\":{\"c\":[1,{},[-2.5e3,true,null]]}}", ":1: |not a recording"},
        {"{\n\"a\"\n:\n\"\\n\" }\n[", ":1: |not a recording"},
        {"{\"version\":\"1.0\"}\n[\"call\",1]\n", ":1: |not a recording"},
        {"\xef\xbb\xbf{", ":1: |damaged"},
        {"{\"version\":\"1.0\",\"pipeli", ":1: |damaged|cut short"},
        {"{\"traceEvents\":[\n{\"ts\":1},\n{\"ts\":2", ":3: |damaged|cut short"},
        {"{\"pipeline_recorcudaMe[\"\n", ":1: |damaged|cut short"},
        {"{\"traceEvents\":[\n{\"ts\" 1}\n]}", ":2: |damaged"},
        {"{\"traceEvents\":[1 2]}", ":1: |damaged"},
        {TRACE(EVENT("kernel", "k", "3", "1", "") ",,\n" EVENT("kernel", "k", "5", "1", "")),
         ":1: |damaged"},
        {TRACE(EVENT("kernel", "k", "3", "1", "") "\n" EVENT("kernel", "k", "5", "1", "")),
         ":2: |damaged"},
        {"{\"a\"\n,\"b\"}", ":2: |damaged"},
        {"{1:2}", ":1: |damaged"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_file_write(test_trace_path, cases[i].text, strlen(cases[i].text));
        test_trace_refused(cases[i].words);
    }
}
END_TEST

/* Whatever bytes change, a trace is read or refused. */
START_TEST(test_broken)
{
    enum { ROUNDS = 3000 };
    uint64_t random = 47;
    int read = 0, refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char text[sizeof whole];
        struct traces traces = {0};
        struct error error = {0};
        memcpy(text, whole, sizeof whole);
        for (uint32_t n = 1 + test_random_below(&random, 4); n > 0; n--)
            text[test_random_below(&random, sizeof whole - 1)] =
                "{}[]\",:\\019e-.\xff"[test_random_below(&random, 15)];
        test_file_write(test_trace_path, text, strlen(text));
        const enum status status = traces_read(test_trace_path, &traces, &error);
        ck_assert(status == STATUS_OK || status == STATUS_USAGE);
        read += status == STATUS_OK;
        refused += status == STATUS_USAGE;
        traces_free(&traces);
    }
    ck_assert_int_gt(read, 0);
    ck_assert_int_gt(refused, 0);
}
END_TEST

TCase *trace_chrome_case(void)
{
    TCase *tests = tcase_create("chrome");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, test_trace_begin, test_trace_end);
    tcase_add_test(tests, test_whole);
    tcase_add_test(tests, test_doing);
    tcase_add_test(tests, test_rows);
    tcase_add_test(tests, test_times);
    tcase_add_test(tests, test_left_out);
    tcase_add_test(tests, test_doubtful);
    tcase_add_test(tests, test_rocm);
    tcase_add_test(tests, test_window);
    tcase_add_test(tests, test_waits);
    tcase_add_test(tests, test_cut);
    tcase_add_test(tests, test_packed);
    tcase_add_test(tests, test_odd);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_broken);
    return tests;
}
