/* cpu_worker.c - the thread behind the fourth way. */
#include "run/cpu_worker.h"

#include "plan/host_layout.h"
#include "run/chain_host.h"
#include "term/marks.h"

#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cpu_worker {
    const struct plan *plan;
    void *host[BUFFER_FIRST_DEVICE];
    const struct op **ops; /* the plan's CPU ops, in its order */
    size_t op_count;
    void *scratch; /* one tile; NULL where the chain needs none */
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

static void *range_pointer(const struct cpu_worker *worker, const struct range *range)
{
    if (range->bytes == 0)
        return NULL;
    return (char *)worker->host[range->buffer] + host_layout_offset(worker->plan, range);
}

static void run_tile(const struct cpu_worker *worker, const struct op *op)
{
    const struct plan *plan = worker->plan;
    const struct op_ranges *ranges = op->cpu.ranges;
    chain_host_run(plan->chain, plan->chain_length, &plan->params,
                   range_pointer(worker, &ranges->in[0]), range_pointer(worker, &ranges->in[1]),
                   range_pointer(worker, &ranges->resident),
                   range_pointer(worker, &ranges->out), op->cpu.count, worker->scratch);
}

static void run_tiles(struct cpu_worker *worker)
{
    bool marked = marks_on();
    for (size_t i = 0; i < worker->op_count && !atomic_load(&worker->cancelled); i++) {
        int64_t start = clock_now_ns();
        if (marked)
            marks_issue_begin(worker->ops[i], NULL);
        run_tile(worker, worker->ops[i]);
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
    const struct plan *plan = worker->plan;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind != OP_CPU)
            continue;
        worker->ops[worker->op_count++] = op;
        largest = op->cpu.count > largest ? op->cpu.count : largest;
    }
    if (!chain_host_needs_scratch(plan->chain, plan->chain_length))
        return STATUS_OK;
    size_t bytes = largest * dtype_bytes(plan_last_kernel(plan)->in);
    worker->scratch = malloc(bytes);
    if (worker->scratch == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for one tile of the CPU's share");
    memset(worker->scratch, 0, bytes); /* pages are taken now, not in the run */
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
    free(worker->scratch);
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
        return error_set(error, STATUS_NO_MEMORY, "no memory for the CPU's share of the work");
    }
    worker->plan = plan;
    worker->ops = ops;
    memcpy(worker->host, host, sizeof worker->host);
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
