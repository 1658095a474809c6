/* check_foreign_input.c - traces that are broken, cut, or say less than others: a clear line,
 * and never a cause that is made up. */
#include "foreign_cases.h"
#include "trace/view.h"
#include "trace_cases.h"
#include "writers/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char header[] = "Start (ns),Duration (ns),Bytes (MB),SrcMemKd,DstMemKd,Device,Ctx,"
                             "Strm,Name\n";

/* Views test_trace_path; the text of `pipeline view`. To be given back with free(). */
static char *viewed(void)
{
    struct error error = {0};
    struct view view;
    const char *words[] = {test_trace_path};
    const struct options options = {.command = COMMAND_VIEW, .words = words, .word_count = 1};
    ck_assert_msg(view_read(&options, NULL, &view, &error) == STATUS_OK, "%s", error.text);
    const struct writer_style style = {.width = 10000};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    write_view(out, &view.report, &style);
    write_verdicts(out, &view.report, &style);
    fclose(out);
    view_free(&view);
    return text;
}

static void assert_viewed(const char *words, bool there)
{
    char *text = viewed();
    ck_assert_msg((strstr(text, words) != NULL) == there, "\"%s\" is %sin: %s", words,
                  there ? "not " : "", text);
    free(text);
}

static void write_rows(const char *rows)
{
    char text[4096];
    snprintf(text, sizeof text, "%s%s", header, rows);
    test_file_put(test_trace_path, text);
}

START_TEST(test_overlapping_copies)
{
    write_rows("0,100000,8,Pinned,Device,G,1,13,[CUDA memcpy Host-to-Device]\n"
               "50000,100000,8,Pinned,Device,G,1,14,[CUDA memcpy Host-to-Device]\n"
               "500000,100000,,,,G,1,7,k\n");
    assert_viewed("no verdict: op 1 (h2d) ", true);
    assert_viewed("legacy-stream", false);
}
END_TEST

START_TEST(test_backward_clocks)
{
    write_rows("5000,-100,8,Pinned,Device,G,1,13,[CUDA memcpy Host-to-Device]\n");
    test_trace_refused(":2: |Duration '-100' ");
    struct ran ran;
    struct settings settings = test_settings("scale");
    struct verdicts verdicts;
    settings.elements = 16 << 20;
    settings.tiles = 16;
    settings.mistake = test_mistake("sync-in-loop");
    ck_assert(foreign_run("h200", &settings, &ran));
    /* The host's clock is 10 ms behind. */
    if (foreign_export(&ran, FORM_SQLITE, NSYS_ALL,
                       "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = start + 10000000, end = "
                       "end + 10000000;")) {
        foreign_judge(&verdicts);
        ck_assert_int_gt(verdicts.named, 0);
        ck_assert_int_eq(verdicts.items[0].code, VERDICT_UNKNOWN);
        assert_viewed("ops begin before the host's call that issued them", true);
        assert_viewed("sync-in-loop", false);
    }
    foreign_ran_free(&ran);
}
END_TEST

/* Pages that move are no calls' doing, hide none, and kernels wait for them. */
START_TEST(test_managed_pages)
{
    struct ran ran;
    struct verdicts verdicts;
    struct settings settings = test_settings("scale");
    settings.elements = 16 << 20;
    settings.tiles = 16;
    settings.streams = 1;
    ck_assert(foreign_run("h200", &settings, &ran));
    if (foreign_export(&ran, FORM_SQLITE, NSYS_ALL,
                       "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = copyKind + 10, "
                       "correlationId = 0;")) {
        foreign_judge(&verdicts);
        ck_assert_int_eq(verdicts.items[0].code, VERDICT_PAGE_FAULTS);
        assert_viewed("pages of managed memory moved 32 times", true);
    }
    foreign_ran_free(&ran);
}
END_TEST

/* Each device has causes of its own. */
START_TEST(test_two_devices)
{
    char rows[4096] = "";
    size_t used = 0;
    for (int i = 0; i < 8; i++)
        used += (size_t)snprintf(
            rows + used, sizeof rows - used,
            "%d,100000,8,Pinned,Device,A (0),1,13,[CUDA memcpy Host-to-Device]\n"
            "%d,100000,,,,A (0),1,13,k\n"
            "%d,100000,8,Pinned,Device,B (1),2,13,[CUDA memcpy Host-to-Device]\n",
            200000 * i, 100000 + 200000 * i, 100000 * i);
    write_rows(rows);
    struct traces traces = test_traces(test_trace_path);
    ck_assert_int_eq(traces.count, 2);
    traces_free(&traces);
    assert_viewed("all 16 ops are in stream 13", true);
    assert_viewed("all 8 ops", false);
}
END_TEST

/* A stream 7 that the trace says to be another is not the default stream. */
START_TEST(test_no_default_stream)
{
    struct ran ran;
    struct verdicts verdicts;
    struct settings settings = test_settings("scale");
    settings.elements = 64 << 20;
    settings.tiles = 32;
    settings.intensity = 2000;
    settings.mistake = test_mistake("legacy-stream");
    ck_assert(foreign_run("h200", &settings, &ran));
    if (foreign_export(&ran, FORM_SQLITE, NSYS_ALL,
                       "UPDATE TARGET_INFO_CUDA_STREAM SET flag = 2;"
                       "DELETE FROM TARGET_INFO_CUDA_CONTEXT_INFO;")) {
        foreign_judge(&verdicts);
        ck_assert_int_eq(verdicts.items[0].code, VERDICT_UNKNOWN);
    }
    if (foreign_export(&ran, FORM_SQLITE, NSYS_ALL,
                       "DELETE FROM TARGET_INFO_CUDA_STREAM;"
                       "UPDATE TARGET_INFO_CUDA_CONTEXT_INFO SET nullStreamId = 99;")) {
        foreign_judge(&verdicts);
        ck_assert_int_eq(verdicts.limit_known, false);
    }
    foreign_ran_free(&ran);
}
END_TEST

/* However much of a file is there, it is refused or nothing wrong is said. */
START_TEST(test_half_a_file)
{
    struct ran ran;
    struct settings settings = test_settings("scale");
    settings.elements = 64 << 20;
    settings.tiles = 16;
    settings.intensity = 2000;
    settings.mistake = test_mistake("legacy-stream");
    ck_assert(foreign_run("h200", &settings, &ran));
    ck_assert(foreign_export(&ran, FORM_CSV, 0, ""));
    char *text = test_file_text(test_trace_path);
    size_t length = strlen(text);
    int read = 0, refused = 0;
    for (size_t cut = length; cut > 300; cut -= 37) {
        struct error error = {0};
        struct traces traces;
        struct verdicts verdicts;
        test_file_write(test_trace_path, text, cut);
        if (traces_read(test_trace_path, &traces, &error) != STATUS_OK) {
            ck_assert_ptr_nonnull(strstr(error.text, test_trace_path));
            refused++;
            continue;
        }
        traces_free(&traces);
        foreign_judge(&verdicts);
        for (int i = 0; i < verdicts.named; i++)
            ck_assert_msg(verdicts.items[i].code == VERDICT_LEGACY_STREAM ||
                              verdicts.items[i].code == VERDICT_FEW_TILES ||
                              verdicts.items[i].code == VERDICT_UNKNOWN,
                          "%zu of %zu bytes: %s", cut, length,
                          verdict_rows[verdicts.items[i].code].name);
        read++;
    }
    ck_assert(read > 0 && refused > read);
    free(text);
    if (foreign_export(&ran, FORM_SQLITE, NSYS_ALL, "")) {
        ck_assert_int_eq(truncate(test_trace_path, 20000), 0);
        test_trace_refused("cut short");
    }
    foreign_ran_free(&ran);
    write_rows("0,10,8,Pinned,Device,G,1,13,[CUDA memcpy Host-to");
    test_trace_refused(":2: |cut short");
}
END_TEST

/* What a cause rests on is said, and how to mend it in CUDA's calls, with what may race then;
 * no option of this program is named. */
START_TEST(test_fixes)
{
    /* Copies of 5 ms in streams 13 to 16, kernels of 4 ms in stream 7, and 10 us between them.
     */
    char rows[4096] = "";
    size_t used = 0;
    for (int i = 0; i < 8; i++)
        used += (size_t)snprintf(
            rows + used, sizeof rows - used,
            "%d,5000000,270,Pinned,Device,G,1,%d,[CUDA memcpy Host-to-Device]\n"
            "%d,4000000,,,,G,1,7,k\n"
            "%d,5000000,270,Device,Pinned,G,1,%d,[CUDA memcpy Device-to-Host]\n",
            9020000 * i, 13 + i % 4, 9020000 * i + 5010000, 9020000 * (i + 1), 13 + i % 4);
    write_rows(rows);
    assert_viewed("%: legacy-stream: ", true);
    assert_viewed("seen: stream 7 is the legacy default stream, by its number: 8", true);
    assert_viewed("(a likely cause)", true);
    assert_viewed("kernel<<<blocks, threads, 0, stream>>>", true);
    assert_viewed("then races", true);
    assert_viewed("small-tiles", false);
    assert_viewed("--streams", false);
}
END_TEST

/* What a trace has nothing of is not spoken of. */
START_TEST(test_kernels_or_copies_alone)
{
    static const char *const absent[] = {"H2D", "D2H", "copies", "hidden", "copy"};
    write_rows("0,100000,,,,G,1,13,k\n100000,100000,,,,G,1,14,k\n210000,100000,,,,G,1,13,k\n");
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        assert_viewed(absent[i], false);
    write_rows("0,100000,8,Pinned,Device,G,1,13,[CUDA memcpy Host-to-Device]\n"
               "110000,100000,8,Device,Pinned,G,1,14,[CUDA memcpy Device-to-Host]\n");
    assert_viewed("kernel", false);
}
END_TEST

/* Copies within the device on the way to a kernel cost what they take. */
START_TEST(test_copies_within_the_device)
{
    char rows[4096] = "";
    size_t used = 0;
    for (int i = 0; i < 8; i++)
        used += (size_t)snprintf(rows + used, sizeof rows - used,
                                 "%d,5000000,270,Pinned,Device,G,1,13,[CUDA memcpy HtoD]\n"
                                 "%d,4000000,270,Device,Device,G,1,13,[CUDA memcpy DtoD]\n"
                                 "%d,5000000,270,Device,Pinned,G,1,13,[CUDA memcpy DtoH]\n",
                                 14000000 * i, 14000000 * i + 5000000, 14000000 * i + 9000000);
    write_rows(rows);
    assert_viewed(", 28.6%: device-copies: ", true);
    assert_viewed("seen: 8 copies within the device", true);
}
END_TEST

/* A window begins and ends in the middle of the work: that is no filling and no draining. */
/* Pageable memory costs what its copies take beyond those of page-locked memory, of which the
 * trace has one, but not where something else ran. */
START_TEST(test_pageable_rate)
{
    enum { COPIES = 10, SLOWER_NS = 1000000 - 200000 - 2000, ALONE_NS = 1000000 - 300000 };
    struct verdicts verdicts;
    char rows[2048];
    int used = snprintf(rows, sizeof rows,
                        "0,200000,8,Pinned,Device,G,1,13,[CUDA memcpy Host-to-Device]\n"
                        "400000,300000,,,,G,1,14,k\n");
    for (int i = 0; i < COPIES; i++)
        used += snprintf(rows + used, sizeof rows - (size_t)used,
                         "%d,1000000,8,Pageable,Device,G,1,13,[CUDA memcpy Host-to-Device]\n",
                         200000 + 1000000 * i);
    write_rows(rows);
    foreign_judge(&verdicts);
    ck_assert_int_eq(verdicts.items[0].code, VERDICT_PAGEABLE_MEMORY);
    ck_assert_int_eq(verdicts.items[0].cost_ns, (COPIES - 1) * SLOWER_NS + ALONE_NS);
    assert_viewed("its busiest engine, with page-locked memory, 2.32 ms", true);
}
END_TEST

/* One piece of work in a stream of its own has to be cut; in the default stream no pieces would
 * overlap. */
START_TEST(test_one_piece)
{
    struct ran ran;
    struct verdicts verdicts;
    struct settings settings = test_settings("scale");
    settings.elements = 64 << 20;
    settings.tiles = 1;
    ck_assert(foreign_run("h200", &settings, &ran));
    if (foreign_export(&ran, FORM_SQLITE, NSYS_ALL,
                       _i == 0 ? "" : "UPDATE TARGET_INFO_CUDA_STREAM SET flag = 3;")) {
        foreign_judge(&verdicts);
        ck_assert_int_eq(verdicts.items[0].code,
                         _i == 0 ? VERDICT_FEW_TILES : VERDICT_ONE_STREAM);
    }
    foreign_ran_free(&ran);
}
END_TEST

/* Calls that come again and again before the same kernel are in a loop; those of a start-up
 * come before one kernel after another. */
START_TEST(test_start_up)
{
    enum { ROUNDS = 12 };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    fputs("{\"traceEvents\":[", out);
    for (int i = 0; i < ROUNDS; i++) {
        const int at = 1000 * i, kernel = _i == 0 ? i : 0;
        fprintf(
            out,
            "%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMalloc\",\"pid\":1,"
            "\"tid\":1,\"ts\":%d,\"dur\":600,\"args\":{}},"
            "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
            "\"tid\":1,\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}},"
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"at::native::k%d\",\"pid\":0,\"tid\":7,"
            "\"ts\":%d,\"dur\":100,\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}",
            i > 0 ? "," : "", at, at + 610, i + 1, kernel, at + 620, i + 1);
    }
    fputs("]}", out);
    fclose(out);
    test_file_write(test_trace_path, text, size);
    free(text);
    assert_viewed("alloc-in-loop", _i != 0);
    assert_viewed("in PyTorch: no torch.cuda.empty_cache()", _i != 0);
}
END_TEST

/* A copy back of a few bytes, whose call waits for kernels that were issued before the trace
 * began, or takes as long as the copy. */
START_TEST(test_copy_that_waits)
{
    static const int kernels[] = {0, 30000, 60000, 90000};
    char text[2048];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\","
        "\"pid\":1,\"tid\":1,\"ts\":1000,\"dur\":98020,\"args\":{\"correlation\":99}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH (Device -> Pageable)\","
        "\"pid\":0,\"tid\":27,\"ts\":%d,\"dur\":%d,"
        "\"args\":{\"device\":0,\"stream\":27,\"bytes\":704,\"correlation\":99}}",
        _i == 0 ? 99000 : 1010, _i == 0 ? 10 : 98000);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"at::native::k%zu\",\"pid\":0,\"tid\":"
            "7,"
            "\"ts\":%d,\"dur\":900,\"args\":{\"device\":0,\"stream\":7,\"correlation\":%zu}}",
            i, kernels[i], i + 1);
    snprintf(text + used, sizeof text - used, "]}");
    test_file_write(test_trace_path, text, strlen(text));
    assert_viewed("sync-in-loop costs", _i == 0);
    assert_viewed("a copy of 704 B", _i == 0);
}
END_TEST

START_TEST(test_window)
{
    struct ran ran;
    struct settings settings = test_settings("scale");
    settings.elements = 64 << 20;
    settings.tiles = 8;
    settings.mistake = test_mistake("sync-in-loop");
    ck_assert(foreign_run("h200", &settings, &ran));
    if (foreign_export(&ran, FORM_SQLITE, NSYS_ALL, "")) {
        struct error error = {0};
        struct view view;
        const char *words[] = {test_trace_path};
        struct options options = {.command = COMMAND_VIEW, .words = words, .word_count = 1};
        options.part.from = (struct view_edge){.given = true, .share = true, .part = 0.3};
        options.part.to = (struct view_edge){.given = true, .share = true, .part = 0.8};
        ck_assert_msg(view_read(&options, NULL, &view, &error) == STATUS_OK, "%s", error.text);
        const struct verdicts *verdicts = &view.report.runs[0].verdicts;
        ck_assert_int_gt(verdicts->named, 0);
        ck_assert_int_eq(verdicts->items[0].code, VERDICT_SYNC_IN_LOOP);
        for (int i = 0; i < verdicts->named; i++)
            ck_assert_int_ne(verdicts->items[i].code, VERDICT_FEW_TILES);
        view_free(&view);
    }
    foreign_ran_free(&ran);
}
END_TEST

/* The replay of a trace that has the calls comes near it, whatever machine it is of. */
START_TEST(test_replay)
{
    static const enum form forms[] = {FORM_SQLITE, FORM_CHROME};
    static const struct {
        const char *machine;
        uint32_t tiles, streams;
        enum memory memory;
    } cases[] = {{"h200", 32, 4, MEMORY_PINNED},
                 {"a100", 64, 1, MEMORY_PINNED},
                 {"v100", 16, 3, MEMORY_PAGEABLE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ran ran;
        struct settings settings = test_settings("scale");
        settings.elements = 64 << 20;
        settings.tiles = cases[i].tiles;
        settings.streams = cases[i].streams;
        settings.memory = cases[i].memory;
        ck_assert(foreign_run(cases[i].machine, &settings, &ran));
        for (size_t form = 0; form < sizeof forms / sizeof forms[0]; form++) {
            if (!foreign_export(&ran, forms[form], NSYS_ALL, ""))
                continue;
            struct error error = {0};
            struct view view;
            const char *words[] = {test_trace_path};
            const struct options options = {
                .command = COMMAND_VIEW, .words = words, .word_count = 1, .all = true};
            ck_assert_int_eq(view_read(&options, NULL, &view, &error), STATUS_OK);
            const struct verdicts *verdicts = &view.report.runs[0].verdicts;
            const double off = (double)verdicts->modelled_ns / (double)verdicts->time_ns - 1;
            ck_assert_msg(off > -0.05 && off < 0.05, "case %zu, form %zu: off by %.3f", i, form,
                          off);
            ck_assert(verdicts->limit_known);
            view_free(&view);
        }
        foreign_ran_free(&ran);
    }
}
END_TEST

TCase *foreign_input_case(void)
{
    TCase *tests = tcase_create("input");
    tcase_add_checked_fixture(tests, test_trace_begin, test_trace_end);
    tcase_add_test(tests, test_overlapping_copies);
    tcase_add_test(tests, test_backward_clocks);
    tcase_add_test(tests, test_managed_pages);
    tcase_add_test(tests, test_two_devices);
    tcase_add_test(tests, test_no_default_stream);
    tcase_add_test(tests, test_half_a_file);
    tcase_add_test(tests, test_fixes);
    tcase_add_test(tests, test_kernels_or_copies_alone);
    tcase_add_test(tests, test_copies_within_the_device);
    tcase_add_test(tests, test_pageable_rate);
    tcase_add_loop_test(tests, test_one_piece, 0, 2);
    tcase_add_loop_test(tests, test_start_up, 0, 2);
    tcase_add_loop_test(tests, test_copy_that_waits, 0, 2);
    tcase_add_test(tests, test_window);
    tcase_add_test(tests, test_replay);
    return tests;
}
