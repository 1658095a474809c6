/* check_proof.c - what is said of another program is no more than what was seen of it: no cause
 * that nothing shows is named, none costs more than its evidence can carry, and the parts of
 * the rest add up to it. The recordings are damaged, or have ends that no program of tests has.
 */
#include "fixtures.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                   \
    "{\"pipeline_recording\":1,\"program\":\"p\"}\n"                                           \
    "[\"device\",0,\"%s\",9,0,132,2048,32,65536,233472,3]\n[\"context\",1,0]\n"                \
    "[\"name\",3,\"k\"]\n"
#define KERNEL(call, start, end)                                                               \
    "[\"launch\"," call ",1,13,[30064771072]]\n[\"kernel\"," call ",1,13," start "," end       \
    ",3,1024,128,16,0,0]\n"

static const struct proof {
    const char *device; /* whose machine file is there, or none */
    const char *text;
    const char *never; /* a cause of which nothing was seen; NULL: the property alone */
} proofs[] = {
    /* The host waits, but a copy's call is lost, so no call is taken for true. */
    {"NVIDIA H200",
     "[\"memory\",\"device\",1000,30064771072,4194304,0]\n"
     "[\"call\",50,\"cudaLaunchKernel\",7,291029,305700,0]\n" KERNEL(
         "50", "390900",
         "677907") "[\"op\",64,\"h2d\",1,13,4865894,4960230,4194304,\"pinned\",\"device\",0]\n"
                   "[\"call\",65,\"cudaLaunchKernel\",7,4867612,4881474,0]\n" KERNEL(
                       "65", "4960230",
                       "5247493") "[\"call\",66,\"cudaStreamSynchronize\",7,4883948,5256734,0]"
                                  "\n[\"sync\",66,\"stream\",1,13]\n"
                                  "[\"call\",68,\"cudaLaunchKernel\",7,5782436,5796979,0]"
                                  "\n" KERNEL(
                                      "68", "5881635",
                                      "6168450") "[\"call\",69,\"cudaStreamSynchronize\",7,"
                                                 "5799525,6171719,0]\n"
                                                 "[\"sync\",69,\"stream\",1,13]\n",
     "sync-in-loop"},
    /* Nothing is known of the time between one thread's call and another's first one. */
    {"another GPU",
     "[\"op\",480,\"d2h\",1,7,10196777621,10196873620,5242880,\"device\",\"pinned\",0]\n"
     "[\"kernel\",29,1,7,10155214740,10155275285,3,10240,128,16,0,0]\n"
     "[\"call\",480,\"cudaMemcpyAsync\",8,159166923,159314559,0]\n"
     "[\"call\",29,\"cudaLaunchKernel\",9,10154861537,10155218072,0]\n",
     "host-work"},
    /* Memory that is taken or given back once is in no loop. */
    {"NVIDIA H200",
     "[\"call\",21,\"cuLaunchHostFunc\",6,68975746,68981999,0]\n"
     "[\"function\",21,1,13,75604626,168997072]\n"
     "[\"memory\",\"pinned\",69176333,100000001425408,4096,0]\n"
     "[\"call\",348,\"cudaMallocHost\",6,69076334,69176333,0]\n"
     "[\"call\",311,\"cudaFree\",6,87912042,178220041,0]\n"
     "[\"memory\",\"device\",147237454,100000001454080,4096,0]\n"
     "[\"call\",209,\"cudaMemcpyAsync\",6,178498270,178500405,0]\n"
     "[\"op\",209,\"d2h\",1,13,275977244,276091676,6290064,\"device\",\"pinned\",0]\n",
     "alloc-in-loop"},
    /* One short move of a page is not what the device waits 5 ms for. */
    {"NVIDIA H200",
     "[\"memory\",\"managed\",100000,30064771072,4194304,0]\n"
     "[\"call\",1,\"cudaLaunchKernel\",1,200000,205000,0]\n" KERNEL(
         "1", "210000",
         "510000") "[\"migration\",\"h2d\",300000,315000,30064771072,65536,\"coherence\",0]\n"
                   "[\"call\",2,\"cudaLaunchKernel\",1,220000,225000,0]\n" KERNEL(
                       "2", "5510000", "5810000"),
     "page-faults"},
    /* What filling and draining takes is no more than is left. */
    {"NVIDIA H200",
     "[\"op\",96,\"h2d\",1,13,376091,529690,8388608,\"pinned\",\"device\",0]\n"
     "[\"op\",102,\"h2d\",1,14,1460663,1467831,262144,\"pinned\",\"device\",0]\n"
     "[\"op\",103,\"h2d\",1,13,841081,994584,8388608,\"pinned\",\"device\",0]\n"
     "[\"op\",104,\"h2d\",1,13,995896,1149464,8388608,\"pinned\",\"device\",0]\n"
     "[\"op\",262,\"h2d\",1,14,17831779,17838947,262144,\"pinned\",\"device\",0]\n"
     "[\"kernel\",267,1,14,17847779,18187042,3,512,128,16,0,0]\n"
     "[\"op\",268,\"d2h\",1,14,18189730,18195842,262144,\"device\",\"pinned\",0]\n"
     "[\"call\",102,\"cudaMemcpyAsync\",4,623489,629337,0]\n"
     "[\"call\",268,\"cudaMemcpyAsync\",4,17018147,17022680,0]\n",
     NULL},
};

/* Finds the next time of evidence, "3.2 us", and moves on behind it. Returns false where there
 * is none. */
static bool next_time(const char **at, double *ms)
{
    static const struct unit {
        const char *name;
        double ms;
    } units[] = {{" ns", 1e-6}, {" us", 1e-3}, {" ms", 1}, {" s", 1e3}};
    for (*at += strcspn(*at, "0123456789"); **at != '\0'; *at += strcspn(*at, "0123456789")) {
        char *end;
        const double number = strtod(*at, &end);
        *at = end;
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            const size_t length = strlen(units[i].name);
            if (strncmp(end, units[i].name, length) != 0 || isalnum((unsigned char)end[length]))
                continue;
            *ms = number * units[i].ms;
            *at = end + length;
            return true;
        }
    }
    return false;
}

/* Adds up the parts of the rest, each of which has one time. */
static double parts_ms(const char *seen)
{
    double sum_ms = 0, ms;
    while (next_time(&seen, &ms))
        sum_ms += ms;
    return sum_ms;
}

/* Returns what evidence says was seen "in all"; -1: it says no such time. */
static double in_all_ms(const char *seen)
{
    double ms;
    while (next_time(&seen, &ms)) {
        if (strncmp(seen, " in all", strlen(" in all")) == 0)
            return ms;
    }
    return -1;
}

static void check_verdict(const json_t *verdict, double time_ms)
{
    static const double WAYS_MS = 0.1; /* from an op to the next */
    const char *code = json_string_value(json_object_get(verdict, "code"));
    const char *seen = json_string_value(json_object_get(verdict, "seen"));
    const double ms = json_number_value(json_object_get(verdict, "ms"));
    if (seen != NULL && strcmp(code, "rest") == 0) {
        const double sum_ms = parts_ms(seen);
        ck_assert_msg(sum_ms == 0 ||
                          (sum_ms < ms + 0.01 * time_ms && sum_ms > ms - 0.01 * time_ms),
                      "%g ms: %s", ms, seen);
    }
    if (!json_is_true(json_object_get(verdict, "named")))
        return;
    ck_assert_msg(strncmp(seen, "0 ", 2) != 0 && strstr(seen, " 0 ") == NULL, "%s: %s", code,
                  seen);
    const double all_ms = in_all_ms(seen);
    ck_assert_msg(all_ms < 0 || ms <= 1.01 * all_ms + WAYS_MS, "%s: %g ms: %s", code, ms, seen);
}

START_TEST(nothing_is_said_that_was_not_seen)
{
    const struct proof *proof = &proofs[_i];
    char *text;
    ck_assert_int_gt(asprintf(&text, HEAD "%s", proof->device, proof->text), 0);
    test_file_put("rec.jsonl", text);
    free(text);
    ck_assert_msg(program_run("view -q --all --format=json rec.jsonl") == 0, "%s", program_err);
    json_error_t why;
    json_t *root = json_loads(program_out, 0, &why);
    ck_assert_msg(root != NULL, "%s", why.text);
    const json_t *run = json_array_get(json_object_get(root, "runs"), 0), *verdict;
    size_t i;
    json_array_foreach(json_object_get(run, "verdicts"), i, verdict)
    {
        const char *code = json_string_value(json_object_get(verdict, "code"));
        check_verdict(verdict, json_number_value(json_object_get(run, "time_ms")));
        const bool named = json_is_true(json_object_get(verdict, "named"));
        ck_assert_msg(!named || proof->never == NULL || strcmp(code, proof->never) != 0, "%s",
                      code);
    }
    json_decref(root);
}
END_TEST

Suite *proof_suite(void)
{
    Suite *suite = suite_create("proof");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(all, nothing_is_said_that_was_not_seen, 0,
                        (int)(sizeof proofs / sizeof proofs[0]));
    tcase_set_timeout(all, 60);
    suite_add_tcase(suite, all);
    return suite;
}
