/* bench_marks.c - the cost of marks (NVTX) while no tool listens: the loop that issues, as it
 * is in cuda/run.c, against the same loop without marks. In place of a CUDA call stands a
 * function that reads the op, for a tenth of the time that a call takes, so that the cost of
 * marks shows the more. */
#include "bench/bench.h"

#include "term/marks.h"

#include <stdio.h>

/* Reads all of `op` and hashes it (FNV-1a), so that no loop over it can be shortened. */
static __attribute__((noinline)) uint64_t stand_in(const struct op *op)
{
    const unsigned char *bytes = (const unsigned char *)op;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < sizeof *op; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

static const struct kernel *kernel_of(const struct plan *plan, const struct op *op)
{
    return op->kind == OP_KERNEL ? plan->chain[op->kernel.link] : NULL;
}

static __attribute__((noinline)) uint64_t loop_bare(const struct plan *plan)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        sum += stand_in(&plan->ops[i]);
    return sum;
}

static inline __attribute__((always_inline)) uint64_t loop(const struct plan *plan, bool marked)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (marked)
            marks_issue_begin(op, kernel_of(plan, op));
        sum += stand_in(op);
        if (marked)
            marks_end();
    }
    return sum;
}

/* Does as the program: asks once, and takes one loop or the other. */
static __attribute__((noinline)) uint64_t loop_asking(const struct plan *plan)
{
    return marks_on() ? loop(plan, true) : loop(plan, false);
}

/* Never asks: every op begins and ends a range that nobody wants. */
static __attribute__((noinline)) uint64_t loop_always(const struct plan *plan)
{
    return loop(plan, true);
}

/* The loops whose least times are compared. */
enum { BARE, ASKING, ALWAYS, LOOPS };
static uint64_t (*const loops[LOOPS])(const struct plan *plan) = {loop_bare, loop_asking,
                                                                  loop_always};

/* Makes one pass of each loop, from `first` on; `least` is in seconds per op. All must come to
 * the same sum. */
static enum status pass(const struct plan *plan, uint64_t sum, int first, double least[LOOPS],
                        struct error *error)
{
    for (int i = 0; i < LOOPS; i++) {
        int at = (first + i) % LOOPS;
        double begin = bench_now();
        uint64_t result = loops[at](plan);
        double seconds = (bench_now() - begin) / plan->op_count;
        if (result != sum)
            return error_set(error, STATUS_FAILED, "two loops over a plan do not agree");
        least[at] = seconds < least[at] ? seconds : least[at];
    }
    return STATUS_OK;
}

/* Runs the loops in turn, each as often first. The least of many short passes is the loop's own
 * time; more is other work on the machine. */
static enum status compare(const struct bench *bench, const struct plan *plan,
                           struct series *ratio, struct series *bare_ns, struct series *pair_ns,
                           struct error *error)
{
    enum { PASSES = 10 * LOOPS };
    const uint64_t sum = loop_bare(plan);
    for (int i = 0; i < bench->repeats; i++) {
        double least[LOOPS] = {1, 1, 1};
        for (int k = 0; k < PASSES; k++) {
            if (pass(plan, sum, k, least, error) != STATUS_OK)
                return error->status;
        }
        series_add(ratio, least[ASKING] / least[BARE]);
        series_add(bare_ns, 1e9 * least[BARE]);
        series_add(pair_ns, 1e9 * (least[ALWAYS] - least[BARE]));
    }
    return STATUS_OK;
}

enum status bench_marks(struct bench *bench, struct error *error)
{
    struct bench_run run;
    struct series ratio = {0}, bare_ns = {0}, pair_ns = {0};
    char arguments[128];
    snprintf(arguments, sizeof arguments, "--device=sim:h200 --no-data -n 1G -s 4 -t %d",
             bench->quick ? 1000 : 10000);
    enum status status = bench_run_open(&run, arguments, error);
    if (status == STATUS_OK)
        status = compare(bench, &run.plan, &ratio, &bare_ns, &pair_ns, error);
    bench_run_close(&run);
    if (status != STATUS_OK)
        return status;
    bool on = marks_on();
    bench_heading(bench, on ? "marks, and a tool listens" : "marks, while no tool listens");
    bench_result(bench, "a loop over ops, with marks over without", &ratio, "",
                 on ? GOAL_NONE : GOAL_AT_MOST, 1.02);
    bench_result(bench, "one op's stand-in for a CUDA call", &bare_ns, "ns", GOAL_NONE, 0);
    bench_result(bench, "a range around it, without asking first", &pair_ns, "ns", GOAL_NONE,
                 0);
    return STATUS_OK;
}
