/* clock.c - see parts.h. */
#include "cpu/parts.h"

#include "run/backend.h"
#include "sim/simulator.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- forks: CUDA is the parent's alone, and so is the recording --- */

static bool forked;

static void before_fork(void)
{
    clock_lock();
    tape_flush();
}

static void in_child(void)
{
    clock_lock_anew();
    forked = true;
    cpu_host_touched = NULL; /* what the child writes is its own */
    tape_forget();
}

bool cpu_is_forked(void)
{
    return forked;
}

/* --- begin and end --- */

static void end(void);
static void run_all(void);

static void begin(void)
{
    struct clock *c = &clock_now;
    struct error error = {0};
    const char *name = clock_variable("PIPELINE_TRY_MACHINE");
    const char *devices = clock_variable("PIPELINE_TRY_DEVICES");
    const char *queues = clock_variable("CUDA_DEVICE_MAX_CONNECTIONS");
    const char *blocking = clock_variable("CUDA_LAUNCH_BLOCKING");
    if (machine_load(&c->machine, name != NULL ? name : "h200", &error) != STATUS_OK)
        clock_die("%s", error.text);
    c->room = occupancy_room(&c->machine);
    c->devices = devices != NULL ? atoi(devices) : 1;
    if (c->devices < 1 || c->devices > MACHINE_DEVICES_MAX)
        c->devices = 1;
    c->queues = queues != NULL ? (uint32_t)strtoul(queues, NULL, 10) : 0;
    c->plan.recorded =
        clock_copy(&(struct plan_recorded){.threads = 0}, sizeof *c->plan.recorded);
    c->plan.launches_block = blocking != NULL && strcmp(blocking, "0") != 0;
    c->next_call = 1;
    hazard_waits = run_all;
    tape_begin();
    atexit(end);
    pthread_atfork(before_fork, clock_unlock, in_child);
}

const struct machine *cpu_machine(void)
{
    pthread_once(&once, begin);
    return &clock_now.machine;
}

const struct sm_room *cpu_room(void)
{
    (void)cpu_machine();
    return &clock_now.room;
}

int cpu_devices(void)
{
    (void)cpu_machine();
    return clock_now.devices;
}

/* --- a simulation --- */

static struct {
    struct timeline timeline;
    uint32_t target;   /* the op whose end is asked for; CLOCK_NONE: of all */
    int64_t target_ns; /* that, once it is known; else -1 */
    bool stopped;
} run;

/* Looks whether the target has ended. */
static bool target_is_over(int64_t now_ns)
{
    if (run.target == CLOCK_NONE)
        return false;
    if (run.target_ns < 0) {
        const struct op_call *call = &run.timeline.op_calls[run.target];
        const struct span *span = timeline_span(&run.timeline, run.target);
        if (op_is_call((enum op_kind)span->kind) ? span->end_ns > 0
                                                 : call->returned_ns > call->issued_ns)
            run.target_ns = call->returned_ns;
    }
    return run.target_ns >= 0 && now_ns > run.target_ns;
}

static enum status stop(void)
{
    run.stopped = true;
    return STATUS_FAILED;
}

/* A copy to the device arrives at its end, and all else is done when it starts: what does not
 * wait for a copy does not find it. */
static enum status on_start(void *context, const struct op *op, struct error *error)
{
    (void)context;
    (void)error;
    if (target_is_over(timeline_span(&run.timeline, op->id)->start_ns))
        return stop();
    if (op->kind != OP_H2D)
        clock_do_work(&clock_now.ops[op->id]);
    return STATUS_OK;
}

static enum status on_end(void *context, const struct op *op, struct error *error)
{
    (void)context;
    (void)error;
    if (target_is_over(timeline_span(&run.timeline, op->id)->end_ns))
        return stop();
    if (op->kind == OP_H2D)
        clock_do_work(&clock_now.ops[op->id]);
    return STATUS_OK;
}

static void on_record(void *context, const struct op *op, int64_t passed_ns)
{
    (void)context;
    struct clock_event *event = &clock_now.events[op->event.event];
    if (event->record == op->id && !target_is_over(passed_ns))
        event->passed_ns = clock_now.base_ns + passed_ns;
}

/* Simulates the window as far as to the end of op `target`. */
static void simulate(uint32_t target)
{
    struct plan *plan = &clock_now.plan;
    const struct simulator_hooks hooks = {on_end, on_start, on_record, NULL};
    struct error error = {0};
    int64_t issued_ns;
    order_run();
    timeline_free(&run.timeline);
    run.target = target;
    run.target_ns = -1;
    run.stopped = false;
    plan->events = (uint32_t)clock_now.event_count;
    plan->recorded->threads = (uint32_t)clock_now.thread_count;
    const enum status status = simulator_run(&clock_now.machine, clock_now.queues, plan, &hooks,
                                             &run.timeline, &issued_ns, &error);
    if (status != STATUS_OK && !run.stopped)
        clock_die("the program never ends: %s", error.text);
    if (target != CLOCK_NONE)
        (void)target_is_over(0);
}

/* --- windows --- */

/* Sets when the window's calls and ops began and ended. */
static void set_times(void)
{
    struct clock *c = &clock_now;
    for (size_t i = 0; i < c->call_count; i++) {
        struct clock_call *call = &c->calls[i];
        struct clock_thread *thread = &c->threads[call->thread];
        call->start_ns = thread->ended_ns + call->host_ns;
        call->end_ns = call->start_ns;
        if (call->op_count > 0) {
            const uint32_t last = call->first_op + call->op_count - 1;
            call->start_ns =
                later(call->start_ns, c->base_ns + run.timeline.issue_ns[call->first_op]);
            call->end_ns =
                later(call->start_ns, c->base_ns + run.timeline.op_calls[last].returned_ns);
        }
        call->end_ns += call->own_ns;
        thread->ended_ns = call->end_ns;
    }
    for (uint32_t i = 0; i < c->plan.op_count; i++) {
        const struct span *span = timeline_span(&run.timeline, i);
        if (span == NULL)
            continue;
        c->ops[i].start_ns = c->base_ns + span->start_ns;
        c->ops[i].end_ns = c->base_ns + span->end_ns;
    }
}

/* Hands the window, of which all has ended, to the recording, and begins another. The call that
 * is being made is the last of this one. */
static void next_window(void)
{
    struct clock *c = &clock_now;
    set_times();
    tape_window();
    for (uint32_t i = 0; i < c->plan.op_count; i++) {
        free(c->ops[i].words);
        cpu_did_free(&c->ops[i].did);
    }
    for (size_t i = 0; i < c->call_count; i++)
        c->base_ns = later(c->base_ns, c->calls[i].end_ns);
    for (size_t i = 0; i < c->event_count; i++)
        c->events[i].record = CLOCK_NONE;
    for (size_t i = 0; i < c->stream_count; i++)
        c->streams[i].last = CLOCK_NONE;
    c->own_used = 0;
    for (size_t i = 0; i < c->thread_count; i++)
        c->threads[i].pending_ns = later(0, c->threads[i].ended_ns - c->base_ns);
    c->plan.op_count = 0;
    c->call_count = c->memory_count = 0;
    timeline_free(&run.timeline);
}

static void end(void)
{
    if (forked)
        return;
    clock_lock();
    if (clock_now.plan.op_count > 0)
        simulate(CLOCK_NONE);
    next_window();
    tape_end();
    clock_unlock();
}

static void run_all(void)
{
    if (clock_now.plan.op_count > 0)
        simulate(CLOCK_NONE);
}

/* --- a host that waits elsewhere --- */

/* Runs what was issued where the host makes no call for long: it may wait, without CUDA's
 * knowing, for what a function of its own does in a stream. */
static void *look_after(void *unused)
{
    const struct timespec pause = {0, 100000000};
    enum { LONG = 10 }; /* pauses */
    uint64_t seen = 0;
    for (unsigned quiet = 0;; quiet++) {
        nanosleep(&pause, NULL);
        clock_lock();
        quiet = seen == clock_now.next_call ? quiet : 0;
        seen = clock_now.next_call;
        if (quiet >= LONG)
            run_all();
        clock_unlock();
    }
    return unused;
}

static void want_look_after(void)
{
    static bool wanted;
    pthread_t thread;
    if (!wanted && pthread_create(&thread, NULL, look_after, NULL) == 0)
        pthread_detach(thread);
    wanted = true;
}

/* --- calls --- */

static void know_thread(void)
{
    struct clock *c = &clock_now;
    struct clock_thread *thread = CLOCK_ADD(c->threads, c->thread_count, c->thread_capacity);
    clock_own.known = true;
    clock_own.thread = (uint32_t)c->thread_count - 1;
    *thread = (struct clock_thread){.ended_ns = c->base_ns};
    clock_own.left_ns = clock_processor_ns();
    clock_own.host_ns = -1;
}

static struct clock_call *call_now(void)
{
    return &clock_now.calls[clock_own.call];
}

void cpu_come(void)
{
    if (clock_own.known && clock_own.host_ns < 0)
        clock_own.host_ns = clock_host_ns(clock_own.left_ns);
}

void cpu_enter(const char *name, const char *file, int line)
{
    struct clock *c = &clock_now;
    pthread_once(&once, begin);
    clock_lock();
    if (clock_own.depth++ > 0)
        return;
    if (!clock_own.known)
        know_thread();
    cpu_come();
    hazard_call();
    struct clock_call *call = CLOCK_ADD(c->calls, c->call_count, c->call_capacity);
    clock_own.call = c->call_count - 1;
    *call = (struct clock_call){.id = c->next_call++,
                                .name = name,
                                .file = file,
                                .line = line,
                                .thread = clock_own.thread,
                                .host_ns = clock_own.host_ns};
    c->threads[clock_own.thread].pending_ns += call->host_ns;
}

int cpu_leave(int result)
{
    enum { QUICK_NS = 200 }; /* a call that does nothing for the device */
    if (--clock_own.depth == 0) {
        struct clock_call *call = call_now();
        call->result = result;
        if (call->op_count == 0 && call->own_ns == 0 && call->name != NULL)
            call->own_ns = QUICK_NS;
        clock_now.threads[clock_own.thread].pending_ns += call->own_ns;
        if (run.target != CLOCK_NONE && !run.stopped &&
            run.timeline.issue_count == clock_now.plan.op_count)
            next_window();
        run.target = CLOCK_NONE;
        clock_own.left_ns = clock_processor_ns();
        clock_own.host_ns = -1;
    }
    clock_unlock();
    return result;
}

bool cpu_issue(const struct cpu_op *op)
{
    struct clock *c = &clock_now;
    struct clock_call *call = call_now();
    const bool first = !call->told;
    uint32_t place = CLOCK_NONE;
    bool asks = op->waits;
    if (first) {
        call->told = true;
        call->op = *op;
    }
    if (op->kind == CPU_RECORD) {
        place = clock_append_record(call, clock_stream_number(op->stream), op->event);
    } else if (op->kind == CPU_WAIT) {
        place = clock_append_wait(call, clock_stream_number(op->stream), op->event);
    } else if (op->kind >= CPU_SYNC_DEVICE) {
        place = clock_append_sync(call, op);
        asks = true;
    } else {
        if (op->kind == CPU_FUNCTION)
            want_look_after();
        place = clock_append_work(call, op, clock_stream_number(op->stream), 0);
        c->streams[op->stream].last = place;
    }
    if (asks)
        simulate(place);
    if (op->kind >= CPU_SYNC_DEVICE)
        hazard_host_waits(op->kind, op->kind == CPU_SYNC_EVENT ? op->event : op->stream);
    else if (op->settles)
        hazard_host_waits(CPU_SYNC_STREAM, op->stream);
    const bool good = !c->failed;
    c->failed = false;
    return good;
}

/* --- questions --- */

/* Simulates up to now, as the calling thread has it. */
static int64_t look(void)
{
    simulate(clock_append_look(call_now()));
    return clock_now.base_ns + run.target_ns;
}

bool cpu_stream_is_idle(uint32_t stream)
{
    const uint32_t last = clock_now.streams[stream].last;
    (void)look();
    const struct span *span = last != CLOCK_NONE ? timeline_span(&run.timeline, last) : NULL;
    const bool idle = span == NULL || (span->end_ns > 0 && span->end_ns <= run.target_ns);
    if (idle)
        hazard_host_waits(CPU_SYNC_STREAM, stream);
    return idle;
}

bool cpu_event_is_over(uint32_t event)
{
    (void)look();
    const struct clock_event *asked = &clock_now.events[event];
    const bool over = asked->record == CLOCK_NONE || asked->passed_ns >= 0;
    if (over)
        hazard_host_waits(CPU_SYNC_EVENT, event);
    return over;
}

int64_t cpu_event_ns(uint32_t event)
{
    return clock_now.events[event].passed_ns;
}

/* --- ranges --- */

/* A range begins and ends with a call of its thread's that takes no time. */
static void mark(const char *name)
{
    cpu_enter(NULL, NULL, 0);
    tape_mark(name);
    cpu_leave(0);
}

void cpu_range_push(const char *name)
{
    mark(name != NULL ? name : "");
}

void cpu_range_pop(void)
{
    mark(NULL);
}
