/* check_trace.c - what nsys prints: its versions, and files that are no trace.
 */
#include "fixtures.h"
#include "suites.h"
#include "test_folder.h"
#include "trace/build.h"
#include "trace/trace.h"
#include "trace_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char test_trace_path[128];
static char folder[64];

void test_trace_begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/pipeline-trace-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(test_trace_path, sizeof test_trace_path, "%s/trace", folder);
}

void test_trace_end(void)
{
    unlink(test_trace_path);
    ck_assert_int_eq(rmdir(folder), 0);
}

struct traces test_traces(const char *file_path)
{
    struct traces traces = {0};
    struct error error = {0};
    ck_assert_msg(traces_read(file_path, &traces, &error) == STATUS_OK, "%s", error.text);
    return traces;
}

static struct traces read_text(const char *text)
{
    test_file_put(test_trace_path, text);
    return test_traces(test_trace_path);
}

void test_trace_span(const struct timeline *timeline, uint32_t index, const char *name,
                     uint32_t stream_id, int64_t start_ns, int64_t end_ns)
{
    char text[SPAN_NAME];
    const struct span *span = &timeline->spans[index];
    ck_assert_uint_lt(index, timeline->span_count);
    ck_assert_uint_eq(span->op, index);
    ck_assert_int_eq(span->tile, -1);
    ck_assert_str_eq(timeline_span_name(timeline, span, text), name);
    ck_assert_uint_eq(timeline_stream_id(timeline, span->stream), stream_id);
    ck_assert_msg(span->start_ns == start_ns && span->end_ns == end_ns,
                  "span %u: %ld to %ld, not %ld to %ld", index, (long)span->start_ns,
                  (long)span->end_ns, (long)start_ns, (long)end_ns);
}

START_TEST(test_streams)
{
    struct traces traces = test_traces(DATA "streams.csv");
    ck_assert_int_eq(traces.count, 1);
    const struct trace *trace = &traces.items[0];
    const struct timeline *timeline = &trace->timeline;
    ck_assert_str_eq(trace->name, "trace");
    ck_assert_str_eq(timeline->device, "NVIDIA H200 (0)");
    ck_assert_int_eq(timeline->timing, TIMING_NSYS);
    ck_assert_int_eq(timeline->resolution_ns, 1);
    ck_assert(timeline->issue_unknown);
    ck_assert_uint_eq(trace->bytes_unit, 1000);
    ck_assert_uint_eq(timeline->span_count, 12);
    ck_assert_uint_eq(timeline->streams, 4);
    ck_assert_uint_eq(timeline->name_count, 1);
    test_trace_span(timeline, 0, "h2d", 13, 0, 100000);
    test_trace_span(timeline, 1, "h2d", 14, 101000, 201000);
    test_trace_span(timeline, 2, "scale<float, (int)4>", 13, 102000, 152000);
    test_trace_span(timeline, 3, "d2h", 13, 154000, 254000);
    test_trace_span(timeline, 11, "d2h", 16, 457000, 557000);
    ck_assert_int_eq(timeline->spans[0].engine, ENGINE_H2D);
    ck_assert_int_eq(timeline->spans[2].engine, ENGINE_COMPUTE);
    ck_assert_int_eq(timeline->spans[3].engine, ENGINE_D2H);
    ck_assert_uint_eq(timeline->spans[0].bytes, 8389000);
    ck_assert_uint_eq(timeline->spans[2].bytes, 0);
    ck_assert_int_eq(timeline->spans[3].issue_ns, 154000);
    ck_assert_uint_eq(trace->in.count, 4);
    ck_assert_uint_eq(trace->in.pageable + trace->out.pageable, 0);
    traces_free(&traces);
    traces_free(&traces);
}
END_TEST

/* An older version: other names, the tool's own lines before it, another report behind it. */
START_TEST(test_older_version)
{
    struct traces traces = test_traces(DATA "serial.csv");
    ck_assert_int_eq(traces.count, 1);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->span_count, 5);
    ck_assert_uint_eq(timeline->streams, 1);
    test_trace_span(timeline, 0, "h2d", 7, 0, 20912712);
    test_trace_span(timeline, 1, "memset", 7, 20927712, 20928912);
    test_trace_span(timeline, 2, "vectorAdd", 7, 20931312, 21191728);
    test_trace_span(timeline, 3, "d2d", 7, 21200728, 21261728);
    test_trace_span(timeline, 4, "d2h", 7, 21292728, 63118152);
    ck_assert_uint_eq(timeline->spans[0].bytes, 200000000);
    ck_assert_uint_eq(timeline->spans[3].bytes, 0);
    ck_assert_int_eq(timeline->spans[3].engine, ENGINE_COMPUTE);
    ck_assert_uint_eq(traces.items[0].in.pageable, 1);
    ck_assert_uint_eq(traces.items[0].in.pageable_bytes, 200000000);
    ck_assert_uint_eq(traces.items[0].out.pageable, 1);
    traces_free(&traces);
}
END_TEST

/* Other units and order of columns, two devices, a byte order mark, CRLF, quotes. */
START_TEST(test_devices_and_units)
{
    struct traces traces = test_traces(DATA "devices.csv");
    ck_assert_int_eq(traces.count, 2);
    const struct timeline *first = &traces.items[0].timeline;
    const struct timeline *second = &traces.items[1].timeline;
    ck_assert_str_eq(traces.items[0].name, "NVIDIA A100 (0)");
    ck_assert_str_eq(traces.items[1].name, "NVIDIA A100 (1)");
    ck_assert_int_eq(first->resolution_ns, 1);
    ck_assert_uint_eq(first->span_count, 3);
    test_trace_span(first, 0, "h2d", 7, 0, 10250);
    test_trace_span(first, 1, "say \"hi\", <b>", 7, 4500, 6625);
    test_trace_span(first, 2, "d2h", 7, 10500, 10500);
    ck_assert_uint_eq(first->spans[0].bytes, 1024 * 1024);
    /* The same id in two contexts is two streams. */
    ck_assert_uint_eq(first->streams, 2);
    ck_assert_uint_ne(first->spans[0].stream, first->spans[1].stream);
    test_trace_span(second, 0, "h2d", 7, 0, 20000);
    ck_assert_uint_eq(second->spans[0].bytes, 2048 * 1024 + 512);
    traces_free(&traces);
}
END_TEST

static const char header[] = "Start (ns),Duration (ns),Bytes (MB),SrcMemKd,DstMemKd,Device,Ctx,"
                             "Strm,Name\n";

START_TEST(test_names_of_copies)
{
    static const struct {
        const char *name;
        enum op_kind kind;
    } cases[] = {
        {"[CUDA memcpy Host-to-Device]", OP_H2D},
        {"[CUDA memcpy HtoD]", OP_H2D},
        {"[CUDA memcpy Unified Host-to-Device]", OP_H2D},
        {"[CUDA memcpy HtoA]", OP_H2D},
        {"[CUDA memcpy Device-to-Host]", OP_D2H},
        {"[CUDA memcpy DtoH]", OP_D2H},
        {"[CUDA memcpy Device-to-Device]", OP_D2D},
        {"[CUDA memcpy Peer-to-Peer]", OP_PEER},
        {"[CUDA memcpy PtoP]", OP_PEER},
        {"[CUDA memset]", OP_MEMSET},
        {"copy_HtoD(float *)", OP_KERNEL},
        {"HtoD", OP_KERNEL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s5,10,1,Pinned,Device,G,1,7,%s\n", header, cases[i].name);
        struct traces traces = read_text(text);
        ck_assert_msg(traces.items[0].timeline.spans[0].kind == cases[i].kind, "%s",
                      cases[i].name);
        traces_free(&traces);
    }
}
END_TEST

START_TEST(test_names_of_kernels)
{
    static const char *const cases[][2] = {
        {"k", "k"},
        {"void k<int>(int, (anonymous namespace)::t)", "k<int>"},
        {"f()::operator()(int) const", "f()::operator()(int) const"},
        {"f::operator()(int (*)(long))", "f::operator()"},
        {"()", "()"},
        {"void ", "void "},
        {"k)", "k)"},
        {"(k))", "(k))"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512], name[SPAN_NAME];
        snprintf(text, sizeof text, "%s5,10,,,,G,1,7,\"%s\"\n", header, cases[i][0]);
        struct traces traces = read_text(text);
        const struct timeline *timeline = &traces.items[0].timeline;
        ck_assert_str_eq(timeline_span_name(timeline, &timeline->spans[0], name), cases[i][1]);
        traces_free(&traces);
    }
}
END_TEST

/* Every unit that a header may name, brackets of either kind, or none; digits in groups. */
START_TEST(test_units)
{
    static const struct {
        const char *start, *bytes, *value;
        int64_t ns, resolution_ns;
        uint64_t copied;
    } cases[] = {
        {"Start", "Bytes", "1500", 1500, 1, 1500},
        {"Start (ns)", "Bytes (B)", "\"1,500\"", 1500, 1, 1500},
        {"Start (nsec)", "Bytes (bytes)", "7", 7, 1, 7},
        {"Start (us)", "Bytes (kB)", "1.25", 1250, 10, 1250},
        {"Start [usec]", "Bytes [KB]", "0.0004", 0, 1, 0},
        {"Start (\xce\xbcs)", "Bytes (KiB)", "2", 2000, 1000, 2048},
        {"Start (ms)", "Bytes (MB)", "1.5", 1500000, 100000, 1500000},
        {"Start (msec)", "Bytes (MiB)", "3", 3000000, 1000000, 3145728},
        {"Start (s)", "Bytes (GB)", "0.000001", 1000, 1000, 1000},
        {"Start (sec)", "Bytes (GiB)", "1", 1000000000, 1000000000, 1073741824},
        {"Start(nsec)", "Bytes(byte)", "7", 7, 1, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        const char *unit = strpbrk(cases[i].start, "([");
        snprintf(text, sizeof text,
                 "Name,Strm,%s,Duration %s,%s\nk,7,0,0,\n[CUDA memcpy HtoD],7,%s,%s,%s\n",
                 cases[i].start, unit != NULL ? unit : "", cases[i].bytes, cases[i].value,
                 cases[i].value, cases[i].value);
        struct traces traces = read_text(text);
        const struct timeline *timeline = &traces.items[0].timeline;
        const struct span *span = &timeline->spans[1];
        ck_assert_msg(span->start_ns == cases[i].ns && span->end_ns == 2 * cases[i].ns,
                      "case %zu: %ld to %ld", i, (long)span->start_ns, (long)span->end_ns);
        ck_assert_uint_eq(span->bytes, cases[i].copied);
        ck_assert_int_eq(timeline->resolution_ns, cases[i].resolution_ns);
        traces_free(&traces);
    }
}
END_TEST

/* Numbers of other countries: fields behind any separator, groups of thousands, and decimals,
 * of which one number of the file may be sure. */
START_TEST(test_notations)
{
    static const struct {
        const char *unit, *separator, *first, *number;
        int64_t ns; /* 0: it is refused */
    } cases[] = {
        {"us", ";", "0,5", "1.234,5", 1234500},
        {"us", ";", "0,5", "1.234", 1234000},
        {"us", ";", "0.5", "1.234", 1234},
        {"us", "\t", "0,000,001", "1,234", 1234000},
        {"us", "\t", "0", "\"1 234,25\"", 1234250},
        {"us", ";", "0", "1'234.5", 1234500},
        {"us", ";", "0",
         "1\xc2\xa0"
         "234,5",
         1234500},
        {"us", ";", "0",
         "1\xe2\x80\xaf"
         "234",
         1234000},
        {"us", ";", "0",
         "1\xe2\x80\x99"
         "234",
         1234000},
        {"us", ",", "0", "\"1234,5\"", 1234500},
        {"us", ",", "0", "1.234", 1234},
        {"ns", ";", "0", "1.234", 1234},
        {"us", ";", "0", "0,123", 123},
        {"us", ";", "0", "1.234", 0},
        {"us", "\t", "0", "1,234", 0},
        {"us", ",", "0", "\"1,234\"", 0},
        {"us", ";", "0,5", "1,234.5", 0},
        {"us", ";", "0", "1'", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        const char *by = cases[i].separator;
        snprintf(text, sizeof text,
                 "x\nName%sStrm%sStart (%s)%sDuration (%s)\nk%s7%s0%s%s\nk%s7%s0%s%s\n", by, by,
                 cases[i].unit, by, cases[i].unit, by, by, by,
                 strcmp(by, ",") == 0 ? "0" : cases[i].first, by, by, by, cases[i].number);
        test_file_put(test_trace_path, text);
        if (cases[i].ns == 0) {
            test_trace_refused(i + 2 < sizeof cases / sizeof cases[0]
                                   ? "trace:2: |may have"
                                   : "trace:4: |is not a number");
            continue;
        }
        struct traces traces = test_traces(test_trace_path);
        const int64_t end_ns = timeline_time_ns(&traces.items[0].timeline);
        ck_assert_msg(end_ns == cases[i].ns, "case %zu: %ld", i, (long)end_ns);
        traces_free(&traces);
    }
}
END_TEST

/* Rows in any order; times near the end of time; copies that overlap on one engine. */
START_TEST(test_order_and_lanes)
{
    char text[1024];
    snprintf(text, sizeof text,
             "%s9223372036854775000,807,,,,G,1,7,b\n9223372036854774000,50,,,,G,1,7,a\n\n"
             "9223372036854774000,100,1,,,G,1,8,[CUDA memcpy HtoD]\n"
             "9223372036854774010,100,1,,,G,2,8,[CUDA memcpy HtoD]",
             header);
    struct traces traces = read_text(text);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->span_count, 4);
    test_trace_span(timeline, 0, "a", 7, 0, 50);
    test_trace_span(timeline, 1, "h2d", 8, 0, 100);
    test_trace_span(timeline, 2, "h2d", 8, 10, 110);
    test_trace_span(timeline, 3, "b", 7, 1000, 1807);
    ck_assert_uint_eq(timeline->spans[1].lane, 0);
    ck_assert_uint_eq(timeline->spans[2].lane, 1);
    traces_free(&traces);
}
END_TEST

/* A call that another one of its thread made is left out, also where both begin at once. */
START_TEST(test_calls_within_calls)
{
    struct span span = {.kind = OP_KERNEL, .end_ns = 100};
    struct timeline timeline = {.spans = &span, .span_count = 1};
    static const struct host_call calls[] = {{.thread = 1, .start_ns = 20, .end_ns = 30},
                                             {.thread = 1, .start_ns = 20, .end_ns = 60},
                                             {.thread = 1, .start_ns = 40, .end_ns = 60},
                                             {.thread = 1, .start_ns = 60, .end_ns = 70},
                                             {.thread = 2, .start_ns = 20, .end_ns = 50}};
    trace_calls_take(&timeline, calls, 5, 10);
    ck_assert(!timeline.arena.full);
    ck_assert_uint_eq(timeline.call_count, 3);
    ck_assert_int_eq(timeline.calls[0].start_ns, 10);
    ck_assert_int_eq(timeline.calls[0].end_ns, 50);
    ck_assert_uint_eq(timeline.calls[1].thread, 2);
    ck_assert_int_eq(timeline.calls[2].start_ns, 50);
    arena_free(&timeline.arena);
}
END_TEST

START_TEST(test_nothing_ran)
{
    struct traces traces = read_text(header);
    ck_assert_int_eq(traces.count, 0);
    traces_free(&traces);
}
END_TEST

/* More names than a span can tell apart: the last ones share one; the others keep theirs. */
START_TEST(test_many_names)
{
    enum { ROWS = 70000 };
    char name[SPAN_NAME];
    FILE *file = fopen(test_trace_path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(header, file);
    for (int i = 0; i < ROWS; i++)
        fprintf(file, "%d,1,,,,G,1,%d,k%d\n", i, i % 5000, i);
    fprintf(file, "%d,1,,,,G,1,7,k7\n", ROWS);
    ck_assert_int_eq(fclose(file), 0);
    struct traces traces = test_traces(test_trace_path);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->span_count, ROWS + 1);
    ck_assert_uint_eq(timeline->streams, 5000);
    test_trace_span(timeline, 65000, "k65000", 0, 65000, 65001);
    ck_assert_str_eq(timeline_span_name(timeline, &timeline->spans[ROWS - 1], name),
                     "(other kernels)");
    test_trace_span(timeline, ROWS, "k7", 7, ROWS, ROWS + 1);
    traces_free(&traces);
}
END_TEST

/* nvprof has its units in a line of their own, and a kilobyte of it has 1024 bytes. */
START_TEST(test_nvprof)
{
    static const char text[] =
        "==9== NVPROF is profiling process 9, command: ./a\n==9== Profiling result:\n"
        "\"Start\",\"Duration\",\"Grid "
        "X\",\"Size\",\"Throughput\",\"Device\",\"Context\",\"Stream\","
        "\"Name\"\nms,us,,KB,GB/s,,,,\n"
        "215.000001,8.256000,,39.062500,4.5,\"GeForce (0)\",\"1\",\"13\",\"[CUDA memcpy "
        "HtoD]\"\n"
        "215.010001,2.5,4,,,\"GeForce (0)\",\"1\",\"7\",\"add(int*) [12]\"\n";
    test_file_write(test_trace_path, text, strlen(text));
    struct traces traces = test_traces(test_trace_path);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->span_count, 2);
    ck_assert_uint_eq(timeline->spans[0].bytes, 40000);
    test_trace_span(timeline, 0, "h2d", 13, 0, 8256);
    test_trace_span(timeline, 1, "add(int*) [12]", 7, 10000, 12500);
    traces_free(&traces);
}
END_TEST

/* --- files that are no trace --- */

void test_trace_refused(const char *words)
{
    struct traces traces;
    struct error error = {0};
    char list[256];
    memset(&traces, 0x5a, sizeof traces);
    struct traces before = traces;
    enum status status = traces_read(test_trace_path, &traces, &error);
    ck_assert_msg(status == STATUS_USAGE, "%s: status %d", words, status);
    ck_assert_int_eq(memcmp(&traces, &before, sizeof traces), 0);
    ck_assert_ptr_nonnull(strstr(error.text, test_trace_path));
    ck_assert_ptr_null(strchr(error.text, '\n'));
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok(list, "|"); word != NULL; word = strtok(NULL, "|"))
        ck_assert_msg(strstr(error.text, word) != NULL, "\"%s\" is not in: %s", word,
                      error.text);
}

START_TEST(test_refused_rows)
{
    static const struct {
        const char *row, *words;
    } cases[] = {
        {"1,2,,,,G,1,7,k\n5,3,,", "trace:3: |4 fields|has 9"}, /* cut short */
        {"1,2,,,,G,1,7,k,9\n", "trace:2: |10 fields"},
        {"1,-2,,,,G,1,7,k\n", "trace:2: |Duration '-2' is negative"},
        {"-0.5,2,,,,G,1,7,k\n", "Start '-0.5' is negative"},
        {"1,abc,,,,G,1,7,k\n", "Duration 'abc' is not a number"},
        {",2,,,,G,1,7,k\n", "Start '' is not a number"},
        {"1e3,2,,,,G,1,7,k\n", "Start '1e3' is not a number"},
        {"1.2.3,2,,,,G,1,7,k\n", "'1.2.3' is not a number"},
        {"1,2,x,,,G,1,7,[CUDA memset]\n", "Bytes 'x' is not a number"},
        {"9223372036854775808,2,,,,G,1,7,k\n", "Start|is too large"},
        {"99999999999999999999999,2,,,,G,1,7,k\n", "Start|is too large"},
        {"9223372036854775807,1,,,,G,1,7,k\n", "Duration '1' is too large"},
        {"1,2,9999999999999999,,,G,1,7,k\n", "Bytes|is too large"},
        {"1,2,,,,G,1,4294967296,k\n", "Strm '4294967296' is no id"},
        {"1,2,,,,G,1,7.5,k\n", "Strm '7.5' is no id"},
        {"1,2,,,,G,x,7,k\n", "Ctx 'x' is not a number"},
        {"1,2,,,,G,1,7,\n", "trace:2: a row without a name"},
        {"1,2,,,,G,1,7,\"k\n", "trace:2: a quote is not closed"},
        {"1,2,,,,G,1,7,\"k\"x\n", "trace:2: something stands behind a closing quote"},
        {"1,2,,,,\033[2J,1,x,k\n", "Strm 'x' is not a number"},
        {"1,\033[2J\n,,,,G,1,7,k\n", "trace:2"},
        {"1,2000000000000000000,,,,G,1,7,k\n", ":2: |36 years"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s", header, cases[i].row);
        test_file_put(test_trace_path, text);
        test_trace_refused(cases[i].words);
    }
}
END_TEST

START_TEST(test_refused_headers)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "trace:1: |empty"},
        {"hello\nworld\n", "trace:1: not a trace|--format csv"},
        {"\n\n\n", "trace:1: not a trace"},
        {"Start (ns),Start (ns),Duration (ns),Strm,Name\n", "two columns are called Start"},
        {"Start (ns),Duration (ns),Strm,Name,Name\n", "two columns are called Name"},
        {"Start (moons),Duration (ns),Strm,Name\n", "'Start (moons)' has a unit"},
        {"Start (ns),Duration (ns),Bytes (furlongs),Strm,Name\n", "'Bytes (furlongs)'"},
        {"x\nStart (ns),Duration (ns),Name,PID\n", "trace:2: no column Strm|cuda_gpu_trace"},
        {"  Start (ns)   Duration (ns)  Strm  Name\n", "table for people"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_file_write(test_trace_path, cases[i].text, strlen(cases[i].text));
        test_trace_refused(cases[i].words);
    }
    static const char zeros[100];
    test_file_write(test_trace_path, zeros, sizeof zeros);
    test_trace_refused("trace:1: |not text");
}
END_TEST

START_TEST(test_too_many_devices)
{
    FILE *file = fopen(test_trace_path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(header, file);
    for (int i = 0; i < 300; i++)
        fprintf(file, "1,2,,,,G%d,1,7,k\n", i);
    ck_assert_int_eq(fclose(file), 0);
    test_trace_refused("trace:301: more than 256 devices");
}
END_TEST

START_TEST(test_not_a_file)
{
    test_trace_refused("No such file");
    ck_assert_int_eq(mkdir(test_trace_path, 0777), 0);
    test_trace_refused("a folder");
    ck_assert_int_eq(rmdir(test_trace_path), 0);
}
END_TEST

/* What another program reads is told by its first bytes, or by its name where it is no text. */
START_TEST(test_forms_of_others)
{
    static const struct {
        const char *name, *text, *words;
        size_t bytes;
    } cases[] = {
        {"x.nsys-rep", "QDREP\0", "x.nsys-rep:1: |export it", 6},
        {"x.nsys-rep", "text", "x.nsys-rep:1: not a trace", 4},
        {"x.qdstrm", "\0", "QdstrmImporter -i", 1},
        {"x.csv", "SQLite format 3\0 StringTable", "nvprof -i FILE --print-gpu-trace", 28},
        {"x.csv",
         "\xfd"
         "7zXZ\0",
         "unpack it by xz -dk", 6},
        {"x.csv", "\xff\xfeS\0", "UTF-16", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(test_trace_path, sizeof test_trace_path, "%s/%s", folder, cases[i].name);
        test_file_write(test_trace_path, cases[i].text, cases[i].bytes);
        test_trace_refused(cases[i].words);
        ck_assert_int_eq(remove(test_trace_path), 0);
    }
}
END_TEST

/* Bytes changed, taken out and put in at random: refused or read, never anything else. */
START_TEST(test_broken_at_random)
{
    static const char *const files[] = {DATA "streams.csv", DATA "serial.csv",
                                        DATA "devices.csv"};
    uint64_t random = 2024;
    int read = 0, refused = 0;
    for (int i = 0; i < test_cases(3000); i++) {
        char *text = test_file_text(files[i % 3]);
        size_t size = strlen(text);
        for (uint32_t n = test_random_below(&random, 4); n > 0; n--)
            text[test_random_below(&random, (uint32_t)size)] =
                ",\"\n-0 9.\xff"[test_random_below(&random, 9)];
        size -=
            test_random_below(&random, 8) == 0 ? test_random_below(&random, (uint32_t)size) : 0;
        test_file_write(test_trace_path, text, size);
        struct traces traces = {0};
        struct error error = {0};
        enum status status = traces_read(test_trace_path, &traces, &error);
        ck_assert(status == STATUS_OK || status == STATUS_USAGE);
        read += status == STATUS_OK;
        refused += status == STATUS_USAGE;
        for (int t = 0; t < traces.count; t++) {
            const struct timeline *timeline = &traces.items[t].timeline;
            for (uint32_t s = 0; s < timeline->span_count; s++) {
                ck_assert_int_ge(timeline->spans[s].start_ns, 0);
                ck_assert_int_ge(timeline->spans[s].end_ns, timeline->spans[s].start_ns);
                ck_assert_uint_lt(timeline->spans[s].stream, timeline->streams);
            }
        }
        traces_free(&traces);
        free(text);
    }
    ck_assert_int_gt(read, 0);
    ck_assert_int_gt(refused, 0);
}
END_TEST

static TCase *csv_case(void)
{
    TCase *tests = tcase_create("csv");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, test_trace_begin, test_trace_end);
    tcase_add_test(tests, test_streams);
    tcase_add_test(tests, test_older_version);
    tcase_add_test(tests, test_devices_and_units);
    tcase_add_test(tests, test_names_of_copies);
    tcase_add_test(tests, test_names_of_kernels);
    tcase_add_test(tests, test_units);
    tcase_add_test(tests, test_notations);
    tcase_add_test(tests, test_nvprof);
    tcase_add_test(tests, test_order_and_lanes);
    tcase_add_test(tests, test_nothing_ran);
    tcase_add_test(tests, test_calls_within_calls);
    tcase_add_test(tests, test_many_names);
    tcase_add_test(tests, test_refused_rows);
    tcase_add_test(tests, test_refused_headers);
    tcase_add_test(tests, test_too_many_devices);
    tcase_add_test(tests, test_not_a_file);
    tcase_add_test(tests, test_forms_of_others);
    tcase_add_test(tests, test_broken_at_random);
    return tests;
}

Suite *trace_suite(void)
{
    Suite *suite = suite_create("trace");
    suite_add_tcase(suite, csv_case());
    suite_add_tcase(suite, trace_saved_case());
    suite_add_tcase(suite, trace_sqlite_case());
    suite_add_tcase(suite, trace_chrome_case());
    return suite;
}
