/* check_host_bound.c - programs whose device waits for the host: it issues slowly, or works for
 * itself; and others that look so. */
#include "analysis/analysis.h"
#include "causes/knobs.h"
#include "foreign_cases.h"
#include "plan/build.h"
#include "recorded_plan.h"
#include "rework_cases.h"
#include "sim/simulator.h"
#include "suites.h"
#include "trace/view.h"
#include "trace_cases.h"

#include <stdlib.h>
#include <string.h>

/* --- recordings of loops --- */

/* A call of a pass, in microseconds: how long the host was elsewhere before it, how long it
 * took, and how long its op; 0: it has none. */
struct step {
    const char *call;
    int elsewhere, takes, works;
    int thread;
    bool grows;        /* it is on more blocks in each pass */
    const char *range; /* what the program calls the time before it; NULL: nothing */
    int before;        /* where it is recorded the recorder takes so long before it */
};

struct host_loop {
    const char *device;
    int passes;
    const struct step *steps;
    int count;
    int startup_us; /* from allocations on to the first pass; 0: there are none */
    int cost_ns;    /* of the recorder's, of a launch; 0: it does not say */
    int added_ns;   /* a launch takes as much longer as it is recorded; the recorder says so */
};

enum { ALONE_NS = 20000 }; /* a launch of the recorder's own, not recorded */
enum { US = 1000, LATENCY = 2 * US, NEXT = 1 * US };

/* What has been written so far. */
struct writer {
    FILE *out;
    int64_t now_ns, free_ns;
    int id, pass, added_ns;
};

/* Writes what a call did. A call that waits returns 4 us behind the last op's end at the
 * earliest. */
static void write_step(struct writer *writer, const struct step *step)
{
    const bool waits = strstr(step->call, "Synchronize") != NULL;
    const bool copies = strstr(step->call, "Memcpy") != NULL;
    const int before_ns = writer->added_ns > 0 ? step->before * US : 0;
    const int64_t start_ns = writer->now_ns + step->elsewhere * US + before_ns;
    const bool launches = strstr(step->call, "Launch") != NULL;
    int64_t end_ns = start_ns + step->takes * US + (launches ? writer->added_ns : 0);
    if (waits && writer->free_ns + 4 * US > end_ns)
        end_ns = writer->free_ns + 4 * US;
    fprintf(writer->out, "[\"call\",%d,\"%s\",%d,%ld,%ld,0,%d]\n", ++writer->id, step->call,
            1 + step->thread, (long)start_ns, (long)end_ns, before_ns);
    if (step->range != NULL)
        fprintf(writer->out, "[\"range\",%d,%ld,%ld,\"%s\"]\n", 1 + step->thread,
                (long)writer->now_ns + US, (long)start_ns - US, step->range);
    writer->now_ns = end_ns;
    if (waits)
        fprintf(writer->out, "[\"sync\",%d,\"stream\",1,13]\n", writer->id);
    if (step->works == 0)
        return;
    int64_t begin_ns = end_ns + LATENCY;
    if (writer->free_ns + NEXT > begin_ns)
        begin_ns = writer->free_ns + NEXT;
    writer->free_ns = begin_ns + step->works * US;
    if (copies)
        fprintf(writer->out,
                "[\"copy\",%d,1,13,7000000,5000000,4096]\n"
                "[\"op\",%d,\"h2d\",1,13,%ld,%ld,4096,\"pinned\",\"device\",0]\n",
                writer->id, writer->id, (long)begin_ns, (long)writer->free_ns);
    else
        fprintf(writer->out,
                "[\"launch\",%d,1,13,[7000000]]\n"
                "[\"kernel\",%d,1,13,%ld,%ld,3,%d,1024,64,0,0]\n",
                writer->id, writer->id, (long)begin_ns, (long)writer->free_ns,
                step->grows ? 132 + writer->pass : 132);
}

/* Two allocations, and then nothing for a long time. */
static void write_startup(struct writer *writer, int startup_us)
{
    for (int i = 0; i < 2; i++) {
        const int64_t end_ns = writer->now_ns + 9 * US;
        fprintf(writer->out,
                "[\"call\",%d,\"cudaMalloc\",1,%ld,%ld,0]\n"
                "[\"memory\",\"device\",%ld,%d,4096,0]\n",
                ++writer->id, (long)writer->now_ns, (long)end_ns, (long)end_ns,
                8000000 + i * 4096);
        writer->now_ns = end_ns + US;
    }
    writer->now_ns += startup_us * (int64_t)US;
}

static void write_loop(const struct host_loop *loop)
{
    char *text = NULL;
    size_t size = 0;
    struct writer writer = {
        .out = open_memstream(&text, &size), .now_ns = 10000000000, .added_ns = loop->added_ns};
    ck_assert_ptr_nonnull(writer.out);
    fputs("{\"pipeline_recording\":1,\"version\":\"0.1.0\",\"program\":\"p\",\"pid\":1,"
          "\"parent\":0,\"begin_ns\":0,\"driver\":13000,\"launch_blocking\":false,"
          "\"connections\":null,\"lazy\":false}\n"
          "[\"context\",1,0]\n[\"stream\",1,13,77,\"non-blocking\",0]\n[\"name\",3,\"k\"]\n"
          "[\"memory\",\"device\",10,7000000,1048576,0]\n"
          "[\"memory\",\"pinned\",20,5000000,1048576,null]\n",
          writer.out);
    fprintf(writer.out, "[\"device\",0,\"%s\",9,0,132,2048,32,65536,233472,3]\n", loop->device);
    if (loop->startup_us > 0)
        write_startup(&writer, loop->startup_us);
    for (; writer.pass < loop->passes; writer.pass++) {
        for (int i = 0; i < loop->count; i++)
            write_step(&writer, &loop->steps[i]);
    }
    if (loop->cost_ns > 0)
        fprintf(writer.out, "[\"cost\",\"launch\",10,%d,%d]\n[\"cost\",\"no call\",1,1,1]\n",
                7 * loop->cost_ns, 3 * loop->cost_ns);
    if (loop->added_ns > 0)
        fprintf(writer.out, "[\"added\",\"launch\",192,%d,%d]\n[\"added\",\"no call\",1,2,1]\n",
                ALONE_NS + loop->added_ns, ALONE_NS);
    fprintf(writer.out, "[\"end\",%ld,\"exit\"]\n", (long)writer.now_ns);
    fclose(writer.out);
    test_file_write(test_trace_path, text, size);
    free(text);
}

#define LOOP(passes, ...)                                                                      \
    ((struct host_loop){"a GPU", (passes), (const struct step[]){__VA_ARGS__},                 \
                        sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step), 0,   \
                        0, 0})
#define LAUNCH(idle, busy)                                                                     \
    {                                                                                          \
        .call = "cudaLaunchKernel", .elsewhere = (idle), .takes = 6, .works = (busy)           \
    }
#define SYNC(idle)                                                                             \
    {                                                                                          \
        .call = "cudaStreamSynchronize", .elsewhere = (idle), .takes = 3                       \
    }

static struct verdicts judged(struct host_loop loop)
{
    struct verdicts verdicts;
    write_loop(&loop);
    foreign_judge(&verdicts);
    return verdicts;
}

static const struct verdict *found(const struct verdicts *verdicts, enum verdict_code code)
{
    for (int i = 0; i < verdicts->named; i++) {
        if (verdicts->items[i].code == code)
            return &verdicts->items[i];
    }
    return NULL;
}

static double share(const struct verdicts *verdicts, enum verdict_code code)
{
    const struct verdict *verdict = found(verdicts, code);
    return verdict != NULL ? (double)verdict->cost_ns / (double)verdicts->time_ns : 0;
}

/* --- who was late --- */

/* A framework takes as long before each op, some times longer, and the device has done the last
 * one long before the next one is there. */
START_TEST(host_issues_slowly)
{
    const struct verdicts verdicts =
        judged(LOOP(50, LAUNCH(9, 3), LAUNCH(12, 3), LAUNCH(26, 2), LAUNCH(60, 4)));
    ck_assert_int_eq(verdicts.items[0].code, VERDICT_LAUNCH_BOUND);
    ck_assert_int_eq(verdicts.items[0].evidence, EVIDENCE_CERTAIN);
    ck_assert_double_gt(share(&verdicts, VERDICT_LAUNCH_BOUND), 0.8);
    ck_assert_ptr_nonnull(strstr(verdicts.items[0].seen, "an op takes 3 us"));
    ck_assert_ptr_nonnull(strstr(verdicts.items[0].seen, "200 of 200 ops"));
    ck_assert_ptr_null(found(&verdicts, VERDICT_UNKNOWN));
}
END_TEST

/* What the host does between its calls is named as the program names it; a function of Python
 * has a line. */
START_TEST(own_work_has_the_name_of_its_range)
{
    static const char *const names[][2] = {
        {"decode, batch 3", "before cudaLaunchKernel; 100% of that in \"decode\""},
        {"/home/me/train.py(88): step", "; 100% of that in step at train.py:88"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct verdicts verdicts = judged(LOOP(50,
                                                     {.call = "cudaLaunchKernel",
                                                      .elsewhere = 900,
                                                      .takes = 6,
                                                      .works = 90,
                                                      .range = names[i][0]},
                                                     LAUNCH(9, 80), SYNC(9)));
        ck_assert_int_eq(verdicts.items[0].code, VERDICT_HOST_WORK);
        ck_assert_msg(strstr(verdicts.items[0].seen, names[i][1]) != NULL, "%s",
                      verdicts.items[0].seen);
    }
}
END_TEST

/* The same calls, with kernels that keep the device busy, and as short ones that were issued
 * ahead: what they cost the host is nobody's loss. */
START_TEST(a_busy_device_waits_for_no_host)
{
    const struct verdicts verdicts =
        judged(LOOP(50, LAUNCH(9, 40), LAUNCH(12, 40), LAUNCH(26, 40), LAUNCH(30, 2)));
    ck_assert_ptr_null(found(&verdicts, VERDICT_LAUNCH_BOUND));
    ck_assert_ptr_null(found(&verdicts, VERDICT_HOST_WORK));
}
END_TEST

/* The device takes a microsecond from each kernel to the next, all of which were issued long
 * before: no host is late there, and nothing is unknown. */
START_TEST(steps_of_the_device_are_its_own)
{
    const struct verdicts verdicts =
        judged(LOOP(50, LAUNCH(1, 8), LAUNCH(1, 8), LAUNCH(1, 8), LAUNCH(1, 8)));
    ck_assert_int_eq(verdicts.named, 0);
    ck_assert_ptr_nonnull(strstr(verdicts.items[verdicts.count - 1].seen, "from op to op"));
}
END_TEST

/* Few long times that are no framework's: what the host did then is known by the copy behind.
 */
START_TEST(host_works_for_itself)
{
    const struct verdicts verdicts =
        judged(LOOP(50, {"cudaMemcpyAsync", 900, 4, 20, 0, false, NULL, 0}, LAUNCH(2, 30),
                    LAUNCH(2, 30), LAUNCH(2, 30)));
    ck_assert_int_eq(verdicts.items[0].code, VERDICT_HOST_WORK);
    ck_assert_double_gt(share(&verdicts, VERDICT_HOST_WORK), 0.7);
    ck_assert_ptr_nonnull(strstr(verdicts.items[0].seen, "49 times for 44.1 ms"));
    ck_assert_ptr_nonnull(strstr(verdicts.items[0].seen, "cudaMemcpyAsync"));
    ck_assert_ptr_nonnull(strstr(verdicts.items[0].seen, "page-locked"));
}
END_TEST

/* A wait is charged no more than its calls took: the host would be as late without it. */
START_TEST(a_short_wait_is_not_to_blame)
{
    const struct verdicts verdicts =
        judged(LOOP(50, LAUNCH(12, 3), LAUNCH(12, 3), LAUNCH(26, 2), LAUNCH(12, 3), SYNC(2)));
    ck_assert_int_eq(verdicts.items[0].code, VERDICT_LAUNCH_BOUND);
    ck_assert_double_le(share(&verdicts, VERDICT_SYNC_IN_LOOP), 0.1);
}
END_TEST

/* What one thread does while another one waits for it is no work beside CUDA. */
START_TEST(threads_take_turns)
{
#define OF(thread, elsewhere, works)                                                           \
    {                                                                                          \
        "cudaLaunchKernel", (elsewhere), 6, (works), (thread), false, NULL, 0                  \
    }
    const struct verdicts verdicts =
        judged(LOOP(50, OF(0, 70, 3), OF(0, 10, 3), OF(0, 10, 3), OF(0, 10, 3), OF(0, 10, 3),
                    OF(1, 70, 3), OF(1, 10, 3), OF(1, 10, 3), OF(1, 10, 3), OF(1, 10, 3)));
    ck_assert_int_eq(verdicts.items[0].code, VERDICT_LAUNCH_BOUND);
    ck_assert_ptr_null(found(&verdicts, VERDICT_HOST_WORK));
}
END_TEST

/* Of two launches the first one loaded the code. */
START_TEST(one_launch_tells_of_the_other)
{
    const struct verdicts verdicts =
        judged(LOOP(1, {"cudaLaunchKernel", 1, 140, 10, 0, false, NULL, 0},
                    {"cudaLaunchKernel", 1, 6, 10, 0, false, NULL, 0}));
    ck_assert_ptr_null(found(&verdicts, VERDICT_UNKNOWN));
}
END_TEST

/* --- what less for the host would bring --- */

/* Judges a loop on an H200, whose machine file is known, with its fixes. */
static struct verdicts tried(struct host_loop loop)
{
    struct error error = {0};
    struct view view;
    const char *words[] = {test_trace_path};
    const struct options options = {.command = COMMAND_VIEW, .words = words, .word_count = 1};
    loop.device = "NVIDIA H200";
    write_loop(&loop);
    ck_assert_msg(view_read(&options, NULL, &view, &error) == STATUS_OK, "%s", error.text);
    const struct verdicts verdicts = view.report.runs[0].verdicts;
    ck_assert_msg(!verdicts.too_far, "%ld ns are simulated for %ld", (long)verdicts.modelled_ns,
                  (long)verdicts.time_ns);
    view_free(&view);
    return verdicts;
}

#define BURST(works)                                                                           \
    LAUNCH(20, works), LAUNCH(20, works), LAUNCH(20, works), LAUNCH(20, works),                \
        LAUNCH(20, works), LAUNCH(20, works), LAUNCH(20, works), LAUNCH(20, works),            \
        LAUNCH(20, works), LAUNCH(20, works)

/* A graph for each pass: the host goes on to the wait at once, the device has its gaps still,
 * and each pass pays a launch. The wait gains nothing by itself. */
START_TEST(a_graph_of_each_pass)
{
    const struct verdicts verdicts = tried(LOOP(40, BURST(4), SYNC(5)));
    const struct verdict *bound = &verdicts.items[0];
    ck_assert_int_eq(bound->code, VERDICT_LAUNCH_BOUND);
    ck_assert_int_gt(bound->predicted_ns, 40 * 10 * 4 * US);
    ck_assert_int_ge(bound->predicted_ns, 40 * (20 + 40 + 27) * US);
    ck_assert_int_le(bound->predicted_ns, 40 * (20 + 40 + 27 + 30) * US);
    const struct verdict *sync = found(&verdicts, VERDICT_SYNC_IN_LOOP);
    ck_assert(sync == NULL || sync->predicted_ns == 0 ||
              sync->predicted_ns > verdicts.time_ns * 9 / 10);
}
END_TEST

/* A time that came once, longer than all others of the host's own, is no work of a loop. */
START_TEST(the_host_was_elsewhere_once)
{
    const struct verdicts verdicts =
        judged(LOOP(1, BURST(4), BURST(4), BURST(4), BURST(4), LAUNCH(900, 4), BURST(4),
                    BURST(4), BURST(4), BURST(4)));
    ck_assert_int_eq(verdicts.items[0].code, VERDICT_LAUNCH_BOUND);
    ck_assert_ptr_null(found(&verdicts, VERDICT_HOST_WORK));
    ck_assert_ptr_nonnull(strstr(verdicts.items[verdicts.count - 1].seen, "did once took"));
}
END_TEST

/* No graph holds launches that grow with the data. */
START_TEST(no_graph_of_what_grows)
{
    const struct verdicts verdicts =
        tried(LOOP(40, BURST(4), {"cudaLaunchKernel", 20, 6, 4, 0, true, NULL, 0}, SYNC(5)));
    const struct verdict *bound = found(&verdicts, VERDICT_LAUNCH_BOUND);
    ck_assert_ptr_nonnull(bound);
    ck_assert_int_eq(bound->predicted_ns, 0);
}
END_TEST

/* Beside the loop, the host's own work takes as long as before, of four threads a quarter each,
 * and bounds it. */
START_TEST(work_that_is_done_beside)
{
    const struct verdicts verdicts = tried(
        LOOP(40, {"cudaMemcpyAsync", 400, 4, 20, 0, false, NULL, 0}, LAUNCH(1, 30), SYNC(1)));
    ck_assert_int_eq(verdicts.items[0].code, VERDICT_HOST_WORK);
    ck_assert_int_ge(verdicts.items[0].predicted_ns, 38 * 400 / 4 * US);
    ck_assert_int_le(verdicts.items[0].predicted_ns, 44 * 400 / 4 * US);
    ck_assert_ptr_nonnull(strstr(verdicts.items[0].seen, "4 threads"));
    ck_assert_ptr_null(found(&verdicts, VERDICT_LAUNCH_BOUND));
}
END_TEST

/* However long the host took before the first op of the device: that is no part of the loop,
 * and of its work it is neither the longest nor any. */
START_TEST(start_up_is_no_work)
{
    struct host_loop loop =
        LOOP(40, {"cudaMemcpyAsync", 400, 4, 20, 0, false, NULL, 0}, LAUNCH(1, 30), SYNC(1));
    const int64_t alone_ns = tried(loop).items[0].predicted_ns;
    loop.startup_us = 900000;
    const struct verdicts verdicts = tried(loop);
    ck_assert_int_eq(verdicts.items[0].code, VERDICT_HOST_WORK);
    ck_assert_int_ge(verdicts.items[0].predicted_ns, alone_ns * 95 / 100);
    ck_assert_int_le(verdicts.items[0].predicted_ns, alone_ns * 105 / 100);
}
END_TEST

/* --- bounds --- */

/* Returns a recorded plan whose host works for some time before most calls, or for long before
 * some. */
static struct plan random_plan(uint64_t *random, const struct machine *machine)
{
    static const char *const chains[] = {"scale", "wave", "scale,scale", "sum"};
    for (;;) {
        struct settings settings =
            test_random_settings(random, chains[test_random_below(random, 4)], 24, 3);
        struct error error = {0};
        struct plan built;
        settings.elements = settings.tiles * (uint64_t)(1024 + test_random_below(random, 9000));
        settings.mistake = (int)test_random_below(random, (uint32_t)test_mistake_count());
        if (plan_build(&settings, machine, &built, &error) != STATUS_OK)
            continue;
        struct plan plan = recorded_of(&built, machine);
        const uint32_t most_ns = 1000U << test_random_below(random, 8);
        for (uint32_t i = 0; i < plan.op_count; i++)
            plan.recorded->ops[i].host_ns = test_random_below(random, most_ns);
        plan_free(&built);
        return plan;
    }
}

/* Asserts that a plan takes no less than its ops on any engine and in any stream do. */
static void assert_bounded(const struct machine *machine, const struct plan *plan)
{
    struct error error = {0};
    int64_t time_ns;
    double engines_ns[OP_KIND_COUNT] = {0},
           *streams_ns = calloc(plan->streams + 1, sizeof(double));
    ck_assert_ptr_nonnull(streams_ns);
    ck_assert_msg(simulator_time(machine, 0, plan, &time_ns, &error) == STATUS_OK, "%s",
                  error.text);
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        const struct op_recorded *seen = &plan->recorded->ops[i];
        const bool launch = op_is_launch(op->kind);
        if (!launch && !op_is_copy(op->kind))
            continue;
        const double ns = launch ? (double)seen->work_ns
                                 : machine_copy_ns(machine, op->kind == OP_H2D, op_bytes(op));
        engines_ns[launch ? OP_KERNEL : op->kind] += launch ? ns * seen->fill : ns;
        streams_ns[op->stream] += ns;
    }
    const double most_ns = (double)time_ns + 2.0 * plan->op_count; /* each may be rounded */
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        ck_assert_double_le(engines_ns[kind], most_ns);
    for (uint32_t stream = 0; stream <= plan->streams; stream++)
        ck_assert_double_le(streams_ns[stream], most_ns);
    ck_assert_double_le((double)chain_least_ns(plan, machine), most_ns);
    free(streams_ns);
}

START_TEST(no_fix_goes_below_bounds)
{
    static const struct rework changes[] = {
        {.graphs = true},
        {.work_threads = 1},
        {.graphs = true, .work_threads = 1},
        {.pins = true},
        {.drops_syncs = true},
        {.unblocks = true},
        {.drops_allocs = true},
        {.drops_waits = true},
        {.streams = 3},
        {.cuts_copies = true},
        {.loads_early = true},
        {.streams = 2, .merged = 2},
        {.drops_memsets = true, .drops_syncs = true, .graphs = true, .streams = 4}};
    struct machine machine = test_machine_named("h200");
    uint64_t random = 20261129;
    uint32_t applied = 0, gained = 0;
    for (int round = 0; round < 40; round++) {
        struct plan plan = random_plan(&random, &machine), fixed;
        struct rework_base base;
        struct error error = {0};
        if (rework_begin(&base, &plan, &machine, &error) == STATUS_OK) {
            for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
                if (rework_apply(&base, &changes[i], &fixed, &error) != STATUS_OK)
                    continue;
                assert_bounded(&machine, &fixed);
                plan_free(&fixed);
                applied++;
            }
            const struct found found = rework_must_find(&plan, &machine);
            for (int i = 0; i < found.count; i++)
                ck_assert_int_le(found.knobs[i].least_ns,
                                 found.knobs[i].fixed_ns + 2 * (int64_t)plan.op_count);
            gained += found.count > 0;
        }
        rework_end(&base);
        plan_free(&plan);
    }
    ck_assert_uint_gt(applied, 200);
    ck_assert_uint_gt(gained, 20);
}
END_TEST

/* A run that would only be without its recorder has no best of what was tried. */
START_TEST(to_leave_recording_is_no_fix)
{
    struct host_loop loop = LOOP(3, LAUNCH(1, 18), LAUNCH(1, 18));
    loop.cost_ns = 4000;
    const struct verdicts verdicts = tried(loop);
    ck_assert_int_gt(100 * verdicts.recording_ns, verdicts.time_ns);
    ck_assert_int_eq(verdicts.best_ns, 0);
}
END_TEST

/* Holds that a program is judged as it would be if it had not been recorded, in which each of
 * `launches` launches of a pass then takes so much less: the same causes, first to last, that
 * cost the same, and the time without. */
static void is_judged_as_bare(struct host_loop loop, int added_ns, bool fixes)
{
    const struct verdicts bare = fixes ? tried(loop) : judged(loop);
    loop.added_ns = added_ns;
    const struct verdicts recorded = fixes ? tried(loop) : judged(loop);
    const double time_ns = (double)bare.time_ns, off_ns = 0.05 * time_ns;
    ck_assert_double_eq_tol((double)(recorded.time_ns - recorded.recording_ns), time_ns,
                            off_ns);
    ck_assert_int_eq(recorded.named, bare.named);
    for (int i = 0; i < bare.named; i++) {
        const struct verdict *cause = &bare.items[i], *same = &recorded.items[i];
        ck_assert_msg(same->code == cause->code, "+%d ns: %s is %s", added_ns,
                      verdict_rows[cause->code].name, verdict_rows[same->code].name);
        ck_assert_double_eq_tol((double)same->cost_ns, (double)cause->cost_ns, off_ns);
        ck_assert_double_eq_tol((double)same->predicted_ns, (double)cause->predicted_ns,
                                2 * off_ns);
    }
}

/* What the recorder says that it adds to each launch is no cause's: neither of a host that is
 * late with it alone, nor of one that is late in any case; with a machine, and without. */
START_TEST(what_recording_adds_is_no_cause)
{
#define LONG_LAUNCH(busy)                                                                      \
    {                                                                                          \
        .call = "cudaLaunchKernel", .takes = ALONE_NS / US, .works = (busy)                    \
    }
    for (int fixes = 0; fixes < 2; fixes++) {
        for (int added_ns = 5000; added_ns <= 20000; added_ns += 5000) {
            is_judged_as_bare(LOOP(40, LONG_LAUNCH(24), LONG_LAUNCH(24)), added_ns, fixes > 0);
            is_judged_as_bare(LOOP(40, LONG_LAUNCH(5), LONG_LAUNCH(5)), added_ns, fixes > 0);
            is_judged_as_bare(LOOP(40, LONG_LAUNCH(9), LONG_LAUNCH(9), SYNC(5)), added_ns,
                              fixes > 0);
            is_judged_as_bare(LOOP(40, LONG_LAUNCH(90), LONG_LAUNCH(90), SYNC(2)), added_ns,
                              fixes > 0);
            is_judged_as_bare(LOOP(40, {.call = "cudaGetLastError", .takes = 1, .before = 15},
                                   LONG_LAUNCH(5)),
                              added_ns, fixes > 0);
        }
    }
}
END_TEST

/* What recording takes of each launch, and CUPTI at least, no run without it has: no cause
 * costs that, and no fix has it. */
START_TEST(no_cause_and_no_fix_has_what_recording_took)
{
    enum { PASSES = 50, LAUNCHES = 10, CALL_NS = 6000 };
    struct host_loop loop =
        LOOP(PASSES, {"cudaMemcpyAsync", 900, 4, 20, 0, false, NULL, 0}, BURST(2), SYNC(2));
    const struct verdicts with = tried(loop);
    loop.cost_ns = 500;
    const struct verdicts without = tried(loop);
    const int64_t least_ns = (int64_t)PASSES * LAUNCHES * loop.cost_ns;
    ck_assert_int_eq(with.recording_ns, 0);
    ck_assert_int_gt(without.recording_ns, least_ns);
    ck_assert_int_lt(without.recording_ns, (int64_t)PASSES * LAUNCHES * CALL_NS / 2);
    ck_assert_int_eq(with.items[0].code, without.items[0].code);
    ck_assert_int_le(without.items[0].cost_ns, with.items[0].cost_ns);
    ck_assert_double_lt(share(&without, VERDICT_LAUNCH_BOUND),
                        share(&with, VERDICT_LAUNCH_BOUND));
    ck_assert_int_le(without.items[0].cost_ns + without.recording_ns,
                     without.time_ns - without.limit_ns);
    ck_assert_int_gt(without.items[0].predicted_ns, 0);
    ck_assert_int_le(without.items[0].predicted_ns, with.items[0].predicted_ns - least_ns);
}
END_TEST

Suite *host_bound_suite(void)
{
    Suite *suite = suite_create("host_bound");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, test_trace_begin, test_trace_end);
    tcase_add_test(all, host_issues_slowly);
    tcase_add_test(all, own_work_has_the_name_of_its_range);
    tcase_add_test(all, a_busy_device_waits_for_no_host);
    tcase_add_test(all, steps_of_the_device_are_its_own);
    tcase_add_test(all, host_works_for_itself);
    tcase_add_test(all, a_short_wait_is_not_to_blame);
    tcase_add_test(all, threads_take_turns);
    tcase_add_test(all, one_launch_tells_of_the_other);
    tcase_add_test(all, a_graph_of_each_pass);
    tcase_add_test(all, the_host_was_elsewhere_once);
    tcase_add_test(all, no_graph_of_what_grows);
    tcase_add_test(all, work_that_is_done_beside);
    tcase_add_test(all, start_up_is_no_work);
    tcase_add_test(all, no_fix_goes_below_bounds);
    tcase_add_test(all, to_leave_recording_is_no_fix);
    tcase_add_test(all, no_cause_and_no_fix_has_what_recording_took);
    tcase_add_test(all, what_recording_adds_is_no_cause);
    suite_add_tcase(suite, all);
    return suite;
}
