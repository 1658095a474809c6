/* callback.cu - what a host function in a stream costs, and how those of several streams queue.
 * The functions note the host's clock, the kernels around them the device's, and kernels that
 * answer the host at once hold the two clocks against each other. */
#include "bench/experiments/experiment.h"

#include <atomic>
#include <unistd.h>

/* --- the two clocks
 * ------------------------------------------------------------------------------ */
static __global__ void answer(const volatile unsigned *asked, volatile unsigned long long *when,
                              volatile unsigned *answered, unsigned times)
{
    const long long begin = clock64();
    for (unsigned i = 1; i <= times; i++) {
        while (*asked < i)
            if (clock64() - begin > 6000000000LL)
                return;
        *when = device_ns();
        __threadfence_system();
        *answered = i;
    }
}

struct instant {
    double host_us, device_us, doubt_us;
};

/* Reads both clocks at one instant: the host asks, a kernel answers, and the shortest of 50
 * ways there and back is taken. It is wrong by half of that at most. */
static struct instant both_clocks()
{
    enum { TIMES = 50 };
    static unsigned *words;
    if (words == nullptr)
        CHECK(cudaHostAlloc(&words, 256, cudaHostAllocMapped));
    volatile unsigned *asked = words, *answered = words + 16;
    volatile unsigned long long *when = (volatile unsigned long long *)(words + 32);
    *asked = *answered = 0;
    CHECK(cudaDeviceSynchronize());
    answer<<<1, 1>>>(asked, when, answered, TIMES);
    CHECK(cudaGetLastError());
    struct instant best = {0, 0, 1e9};
    for (unsigned i = 1; i <= TIMES; i++) {
        const double begin = now_us();
        *asked = i;
        while (*answered != i)
            if (now_us() - begin > 5e6)
                fail("no answer from the device to hold its clock against the host's");
        const double end = now_us();
        if ((end - begin) / 2 < best.doubt_us)
            best = {(begin + end) / 2, device_us(*when), (end - begin) / 2};
    }
    CHECK(cudaDeviceSynchronize());
    return best;
}

/* The host's time as the device's, on the line through two instants. */
static double as_device_us(double host_us, const struct instant &a, const struct instant &b)
{
    return a.device_us +
           (host_us - a.host_us) * (b.device_us - a.device_us) / (b.host_us - a.host_us);
}

/* --- host functions
 * ------------------------------------------------------------------------------ */
struct call {
    double begin_us, end_us, last_us;
    pid_t thread;
    int runs;
};

static std::atomic<int> running, most_running;

static void CUDART_CB called(void *data)
{
    struct call *call = (struct call *)data;
    const int now = ++running;
    if (now > most_running)
        most_running = now;
    call->begin_us = now_us();
    call->thread = gettid();
    call->runs++;
    while (now_us() - call->begin_us < call->last_us) {
    }
    call->end_us = now_us();
    running--;
}

/* Per stream: `length` times a kernel of `op_us` and a function of `last_us`, then a stamp. All
 * of it is queued behind a gate. `calls` false leaves the functions out. */
struct chains {
    int streams, length;
    double op_us, last_us;
    bool calls;
};

static const int LIMIT = 480; /* as many ops as wait behind a gate */

struct seen {
    std::vector<double> delay, resume, whole, starts;
    double total_us, doubt_us;
    size_t threads;
};

static struct seen run_chains(struct gate &gate, const struct chains &plan,
                              std::vector<struct call> &calls)
{
    const int per = plan.length + 1, count = plan.streams * per;
    struct mark_list marks(count + 1);
    std::vector<cudaStream_t> streams = make_streams(plan.streams);
    calls.assign(plan.streams * plan.length, {0, 0, plan.last_us, 0, 0});
    const struct instant before = both_clocks();
    gate.close(streams.data(), plan.streams, marks.device + count);
    for (int i = 0; i < per; i++)
        for (int s = 0; s < plan.streams; s++) {
            busy<<<1, 1, 0, streams[s]>>>(marks.device + s * per + i,
                                          i < plan.length ? busy_cycles(plan.op_us) : 0);
            CHECK(cudaGetLastError());
            if (plan.calls && i < plan.length)
                CHECK(cudaLaunchHostFunc(streams[s], called, &calls[s * plan.length + i]));
        }
    gate.open();
    gate.finish();
    const struct instant after = both_clocks();
    marks.read(count + 1);
    struct seen seen = {};
    seen.doubt_us = std::max(before.doubt_us, after.doubt_us);
    std::vector<pid_t> threads;
    for (const struct call &call : calls)
        if (std::find(threads.begin(), threads.end(), call.thread) == threads.end())
            threads.push_back(call.thread);
    seen.threads = threads.size();
    for (int s = 0; s < plan.streams; s++)
        for (int i = 0; i < plan.length; i++) {
            const struct call &call = calls[s * plan.length + i];
            const double end = marks.end_us(s * per + i),
                         next = marks.start_us(s * per + i + 1);
            seen.whole.push_back(next - end);
            seen.total_us = std::max(seen.total_us, next - marks.start_us(count));
            if (!plan.calls)
                continue;
            const double from = as_device_us(call.begin_us, before, after);
            const double to = as_device_us(call.end_us, before, after);
            if (call.runs != 1)
                fail("function %d of stream %d ran %d times", i, s, call.runs);
            if (from < end - 2 * seen.doubt_us - 1 || next < to - 2 * seen.doubt_us - 1)
                leave_out("the two clocks disagree on what came first");
            seen.delay.push_back(from - end);
            seen.resume.push_back(next - to);
            seen.starts.push_back(from);
        }
    drop_streams(streams);
    return seen;
}

static void note_chains(const std::string &name, long parameter, const struct seen &seen)
{
    note(name + "-op-to-function", parameter, median(seen.delay));
    note(name + "-function-to-op", parameter, median(seen.resume));
    note(name + "-op-to-op", parameter, median(seen.whole));
    note(name + "-total", parameter, seen.total_us);
    note(name + "-clocks-doubt", parameter, seen.doubt_us);
}

/* One stream; the ops are as long as the thread that runs functions has been idle. */
static void measure_idle(struct gate &gate)
{
    std::vector<struct call> calls;
    for (long us : {2, 5, 10, 20, 50, 100, 300, 1000, 3000, 10000}) {
        const int length = us <= 100 ? 64 : us <= 1000 ? 24 : 8;
        for (rounds r(us <= 1000 ? 7 : 3); r.next();) {
            note_chains("idle", us, run_chains(gate, {1, length, double(us), 0, true}, calls));
            const struct seen bare = run_chains(gate, {1, length, double(us), 0, false}, calls);
            note("idle-without-op-to-op", us, median(bare.whole));
        }
    }
}

/* By the number of streams, and by how long a function takes. */
static void measure_streams(struct gate &gate)
{
    std::vector<struct call> calls;
    for (double last : {0.0, 20.0, 100.0})
        for (int streams : {1, 2, 4, 8, 16, 32}) {
            const int length = std::min(16, LIMIT / 2 / streams);
            most_running = 0;
            for (rounds r(5); r.next();) {
                const std::string name =
                    "streams-of-20us-function-" + std::to_string(int(last)) + "us";
                const struct seen seen =
                    run_chains(gate, {streams, length, 20, last, true}, calls);
                note_chains(name, streams, seen);
                note(name + "-per-call", streams, seen.total_us / (streams * length));
                const struct seen bare =
                    run_chains(gate, {streams, length, 20, 0, false}, calls);
                note(name + "-without-total", streams, bare.total_us);
                if (r.done == 2)
                    std::printf(
                        "# %s, %d streams: functions ran in %zu threads, at most %d at once\n",
                        name.c_str(), streams, seen.threads, most_running.load());
            }
        }
}

/* All streams have a function first, and the gate opens: who comes when. */
static void measure_burst(struct gate &gate)
{
    std::vector<struct call> calls;
    for (int streams : {1, 2, 4, 8, 16, 32})
        for (rounds r(7); r.next();) {
            struct seen seen = run_chains(gate, {streams, 1, 1, 0, true}, calls);
            std::sort(seen.starts.begin(), seen.starts.end());
            note("burst-first-to-last", streams, seen.starts.back() - seen.starts.front());
            if (streams > 1)
                note("burst-step", streams,
                     (seen.starts.back() - seen.starts.front()) / (streams - 1));
            note("burst-op-to-function", streams, median(seen.delay));
            note("burst-function-to-op", streams, median(seen.resume));
        }
}

/* Kernels in one stream, alone and beside a stream full of functions; and a function in a slow
 * stream beside them, whose thread is then awake. */
static void measure_beside(struct gate &gate)
{
    enum { KERNELS = 100, SLOW = 8 };
    std::vector<cudaStream_t> streams = make_streams(3);
    struct mark_list marks(KERNELS + 2 * SLOW);
    std::vector<struct call> calls(KERNELS);
    for (rounds r(5); r.next();)
        for (int other = 0; other < 2; other++) {
            marks.clear();
            calls.assign(KERNELS, {0, 0, 0, 0, 0});
            gate.close(streams.data(), 3);
            for (int i = 0; i < KERNELS; i++) {
                busy<<<1, 1, 0, streams[0]>>>(marks.device + i, busy_cycles(10));
                if (other)
                    CHECK(cudaLaunchHostFunc(streams[1], called, &calls[i]));
            }
            struct call slow[SLOW] = {};
            for (int i = 0; i < SLOW; i++) {
                busy<<<1, 1, 0, streams[2]>>>(marks.device + KERNELS + 2 * i, busy_cycles(200));
                CHECK(cudaLaunchHostFunc(streams[2], called, &slow[i]));
                busy<<<1, 1, 0, streams[2]>>>(marks.device + KERNELS + 2 * i + 1, 0);
            }
            CHECK(cudaGetLastError());
            gate.open();
            gate.finish();
            marks.read(KERNELS + 2 * SLOW);
            std::vector<double> gaps, whole;
            for (int i = 1; i < KERNELS; i++)
                gaps.push_back(marks.start_us(i) - marks.end_us(i - 1));
            for (int i = 0; i < SLOW; i++)
                whole.push_back(marks.start_us(KERNELS + 2 * i + 1) -
                                marks.end_us(KERNELS + 2 * i));
            note(other ? "beside-functions-kernel-to-kernel" : "alone-kernel-to-kernel", 10,
                 median(gaps));
            note(other ? "thread-busy-op-to-op" : "thread-idle-op-to-op", 200, median(whole));
        }
    drop_streams(streams);
}

/* Measures the time that the call itself takes the host, in a stream that a gate holds. */
static void measure_call(struct gate &gate)
{
    enum { CALLS = 200 };
    std::vector<cudaStream_t> streams = make_streams(1);
    std::vector<struct call> calls(CALLS);
    for (rounds r(7); r.next();) {
        calls.assign(CALLS, {0, 0, 0, 0, 0});
        gate.close(streams.data(), 1);
        const double begin = now_us();
        for (struct call &call : calls)
            CHECK(cudaLaunchHostFunc(streams[0], called, &call));
        const double queued = now_us();
        gate.open();
        gate.finish();
        for (const struct call &call : calls)
            if (call.runs != 1)
                fail("a function ran %d times", call.runs);
        std::vector<double> steps;
        for (int i = 1; i < CALLS; i++)
            steps.push_back(calls[i].begin_us - calls[i - 1].end_us);
        note("call-on-the-host", CALLS, (queued - begin) / CALLS);
        note("functions-in-a-row-end-to-start", CALLS, median(steps));
    }
    drop_streams(streams);
}

int main(int argc, char **argv)
{
    experiment_begin(argc, argv, "callback",
                     "host functions: from the op before to the function's start and from its "
                     "end to the next op's start, "
                     "by idle time (parameter: us), by streams (parameter: streams), in a "
                     "burst, beside kernels",
                     {"idle", "streams", "burst", "beside", "call"});
    struct gate gate;
    if (part("idle"))
        measure_idle(gate);
    if (part("streams"))
        measure_streams(gate);
    if (part("burst"))
        measure_burst(gate);
    if (part("beside"))
        measure_beside(gate);
    if (part("call"))
        measure_call(gate);
    return 0;
}
