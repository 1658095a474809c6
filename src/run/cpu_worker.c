/* cpu_worker.c - the thread behind the fourth way, and copies within the host's memory by many
 * cores. */
#include "run/cpu_worker.h"

#include "plan/rules.h"
#include "run/host_ops.h"
#include "term/marks.h"

#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cpu_worker {
    struct host_bytes memory; /* the host's arrays, and scratch for a tile that needs it */
    const struct op **ops;    /* the plan's CPU ops, in its order */
    size_t op_count;
    struct interval *times;
    pthread_t thread;
    sem_t start, done;
    atomic_bool cancelled;
    bool quit; /* read only after `start` was posted */
};

int64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int cpu_worker_threads(void)
{
    enum { OTHERS = 2 };
    int cores = omp_get_num_procs();
    return cores > OTHERS ? cores - OTHERS : 1;
}

static void semaphore_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        continue; /* it fails only when a signal comes */
}

static void run_tiles(struct cpu_worker *worker)
{
    bool marked = marks_on();
    for (size_t i = 0; i < worker->op_count && !atomic_load(&worker->cancelled); i++) {
        int64_t start = clock_now_ns();
        if (marked)
            marks_issue_begin(worker->ops[i], NULL);
        host_do_cpu(&worker->memory, worker->ops[i]);
        if (marked)
            marks_end();
        if (worker->times != NULL)
            worker->times[worker->ops[i]->id] = (struct interval){start, clock_now_ns()};
    }
}

/* Opens the OpenMP team: it belongs to the thread that opens it, which must be this one. */
static void warm_up(void)
{
    omp_set_num_threads(cpu_worker_threads());
    volatile int count = 0;
#pragma omp parallel
    {
#pragma omp atomic
        count += 1;
    }
}

static void *worker_main(void *argument)
{
    struct cpu_worker *worker = argument;
    marks_name_thread("pipeline CPU worker");
    warm_up();
    sem_post(&worker->done);
    for (;;) {
        semaphore_wait(&worker->start);
        if (worker->quit)
            return NULL;
        run_tiles(worker);
        sem_post(&worker->done);
    }
}

/* Lists the CPU's ops and takes the scratch that the largest of them needs. */
static enum status take_ops(struct cpu_worker *worker, struct error *error)
{
    const struct plan *plan = worker->memory.plan;
    uint64_t largest = 0;
    EACH (const struct op, op, plan->ops, plan->op_count) {
        if (op->kind != OP_CPU)
            continue;
        worker->ops[worker->op_count++] = op;
        largest = op->cpu.count > largest ? op->cpu.count : largest;
    }
    if (!chain_host_needs_scratch(plan->chain, plan->chain_length))
        return STATUS_OK;
    size_t bytes = largest * dtype_bytes(plan_last_kernel(plan)->in);
    worker->memory.scratch = malloc(bytes);
    if (worker->memory.scratch == NULL)
        return error_no_memory(error, "for one tile of the CPU's share");
    memset(worker->memory.scratch, 0, bytes); /* pages are taken now, not in the run */
    return STATUS_OK;
}

static enum status start_thread(struct cpu_worker *worker, struct error *error)
{
    sem_init(&worker->start, 0, 0);
    sem_init(&worker->done, 0, 0);
    int result = pthread_create(&worker->thread, NULL, worker_main, worker);
    if (result == 0) {
        semaphore_wait(&worker->done); /* the team is warm */
        return STATUS_OK;
    }
    sem_destroy(&worker->start);
    sem_destroy(&worker->done);
    return error_set(error, STATUS_FAILED, "no thread for the CPU's share of the work: %s",
                     strerror(result));
}

static void free_memory(struct cpu_worker *worker)
{
    free(worker->memory.scratch);
    free(worker->ops);
    free(worker);
}

enum status cpu_worker_create(struct cpu_worker **out, const struct plan *plan,
                              void *const host[BUFFER_FIRST_DEVICE], struct error *error)
{
    size_t count = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        count += plan->ops[i].kind == OP_CPU;
    if (count == 0) {
        *out = NULL;
        return STATUS_OK;
    }
    struct cpu_worker *worker = calloc(1, sizeof *worker);
    const struct op **ops = calloc(count, sizeof *ops);
    if (worker == NULL || ops == NULL) {
        free(worker);
        free(ops);
        return error_no_memory(error, "for the CPU's share of the work");
    }
    worker->memory.plan = plan;
    worker->ops = ops;
    memcpy(worker->memory.buffers, host, BUFFER_FIRST_DEVICE * sizeof host[0]);
    enum status status = take_ops(worker, error);
    if (status == STATUS_OK)
        status = start_thread(worker, error);
    if (status == STATUS_OK)
        *out = worker;
    else
        free_memory(worker);
    return status;
}

void cpu_worker_start(struct cpu_worker *worker, struct interval *times)
{
    if (worker == NULL)
        return;
    worker->times = times;
    atomic_store(&worker->cancelled, false);
    sem_post(&worker->start);
}

void cpu_worker_cancel(struct cpu_worker *worker)
{
    if (worker != NULL)
        atomic_store(&worker->cancelled, true);
}

void cpu_worker_wait(struct cpu_worker *worker)
{
    if (worker != NULL)
        semaphore_wait(&worker->done);
}

void cpu_worker_free(struct cpu_worker *worker)
{
    if (worker == NULL)
        return;
    worker->quit = true;
    sem_post(&worker->start);
    pthread_join(worker->thread, NULL);
    sem_destroy(&worker->start);
    sem_destroy(&worker->done);
    free_memory(worker);
}

/* --- copies within the host's memory --- */

/* Copies bytes [begin, end) of all pieces, as if these lay one behind another. */
static void copy_part(const struct pieces *pieces, uint64_t begin, uint64_t end)
{
    uint64_t first = 0; /* of the present piece */
    for (size_t i = 0; i < pieces->count && first < end; i++) {
        const uint64_t last = first + pieces->bytes[i];
        const uint64_t from = begin > first ? begin : first, to = end < last ? end : last;
        if (from < to)
            memcpy((char *)pieces->to[i] + (from - first),
                   (const char *)pieces->from[i] + (from - first), to - from);
        first = last;
    }
}

/* Returns how many threads copy so many bytes. What one copies in the time that another takes
 * to hear of it is not shared; and the issuing thread and the driver's need cores, too. */
static int team_of(uint64_t bytes)
{
    const uint64_t worthwhile = 1 + bytes / RULE_PACK_SHARE_BYTES;
    const int most = cpu_worker_threads();
    return worthwhile < (uint64_t)most ? (int)worthwhile : most;
}

void pieces_open_team(void)
{
    volatile int opened = 0;
#pragma omp parallel num_threads(cpu_worker_threads())
#pragma omp atomic
    opened += 1;
    (void)opened; /* where there is no OpenMP, nobody else reads it */
}

void pieces_copy(const struct pieces *pieces)
{
    uint64_t all = 0;
    for (size_t i = 0; i < pieces->count; i++)
        all += pieces->bytes[i];
    const int team = team_of(all);
    if (team == 1) {
        copy_part(pieces, 0, all);
        return;
    }
#pragma omp parallel num_threads(team)
    {
        const uint64_t threads = (uint64_t)omp_get_num_threads();
        const uint64_t thread = (uint64_t)omp_get_thread_num();
        copy_part(pieces, all / threads * thread + all % threads * thread / threads,
                  all / threads * (thread + 1) + all % threads * (thread + 1) / threads);
    }
}
