/* share.cu - what several processes do to each other that share one GPU, by time slices or
 * under MPS: rows of kernels, launched ahead or one by one, rows of copies, and copies of one
 * process beside kernels of the others. All processes begin at once; their kernels' times are
 * of one clock, the device's. */
#include "bench/experiments/experiment.h"

#include <cuda.h>

#include <atomic>
#include <csignal>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PROCESSES = 4, KERNELS = 400, COPY_BYTES = 1 << 20 };
enum work { AHEAD, PACED, COPIES, BESIDE, STOP };

/* What one process is to do at a time, and what it did. */
struct job {
    enum work work;
    int processes, kernels;
    bool full; /* kernels have all threads of the device, else one */
    double kernel_us;
};

static struct shared {
    std::atomic<int> arrived, left, failed;
    struct job job;
    int sms;
    double cycles_per_us, begin_us[PROCESSES], end_us[PROCESSES];
    struct marks marks[PROCESSES][KERNELS];
} * shared;

static int jobs; /* of jobs, as all processes count */

static struct {
    int number;
    cudaStream_t stream;
    struct mark_list *marks;
    void *host, *device;
} own;

/* Waits, awake, for all processes. One that does not come in 20 s has failed. */
static void meet(std::atomic<int> &count, int round)
{
    const double begin = now_us();
    count++;
    while (count.load() < PROCESSES * round) {
        if (shared->failed.load() || now_us() - begin > 20e6) {
            shared->failed = 1;
            fail("process %d: another one has failed", own.number);
        }
        sched_yield();
    }
}

/* Keeps the first warp of each block at work for that many steps, of four cycles each; the
 * others end, and their places are the block's until it does. busy() ends by the clock, which
 * goes on while another process has its turn. */
static __global__ void toil(struct marks *marks, int steps)
{
    const unsigned long long start = device_ns();
    if (threadIdx.x >= warpSize)
        return;
    float value = (float)threadIdx.x;
    for (int i = 0; i < steps; i++)
        value = fmaf(value, 0.999f, 1.0f);
    if (threadIdx.x != 0 || value < 0)
        return;
    atomicMin(&marks->first_start, start);
    atomicMax(&marks->last_start, start);
    const unsigned long long end = device_ns();
    atomicMin(&marks->first_end, end);
    atomicMax(&marks->last_end, end);
}

static void launch(int i, const struct job &job)
{
    const int blocks = job.full ? 2 * experiment.sms : 1, threads = job.full ? 1024 : 1;
    toil<<<blocks, threads, 0, own.stream>>>(own.marks->device + i,
                                             (int)(busy_cycles(job.kernel_us) / 4));
    CHECK(cudaGetLastError());
}

static void do_kernels(const struct job &job)
{
    for (int i = 0; i < job.kernels; i++) {
        launch(i, job);
        if (job.work == PACED)
            CHECK(cudaStreamSynchronize(own.stream));
    }
    CHECK(cudaStreamSynchronize(own.stream));
}

static void do_copies(const struct job &job)
{
    for (int i = 0; i < job.kernels; i++)
        CHECK(cudaMemcpyAsync((char *)own.device + (size_t)i % 64 * COPY_BYTES,
                              (char *)own.host + (size_t)i % 64 * COPY_BYTES, COPY_BYTES,
                              cudaMemcpyHostToDevice, own.stream));
    CHECK(cudaStreamSynchronize(own.stream));
}

/* Does a job, if this process has a part in it. */
static void work()
{
    const struct job job = shared->job;
    const bool copies = job.work == COPIES || (job.work == BESIDE && own.number == 0);
    own.marks->clear();
    meet(shared->arrived, 2 * jobs);
    shared->begin_us[own.number] = now_us();
    if (own.number < job.processes && copies)
        do_copies(job);
    else if (own.number < job.processes)
        do_kernels(job);
    shared->end_us[own.number] = now_us();
    if (own.number < job.processes && copies)
        verify_on_device(own.device, 64 * (size_t)COPY_BYTES, (uint32_t)own.number + 1,
                         "copies");
    else if (own.number < job.processes) {
        own.marks->read((size_t)job.kernels);
        std::copy(own.marks->host.begin(), own.marks->host.begin() + job.kernels,
                  shared->marks[own.number]);
    }
    meet(shared->left, jobs);
}

static void open_device(int number)
{
    own.number = number;
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&own.stream, cudaStreamNonBlocking));
    own.marks = new mark_list(KERNELS);
    CHECK(cudaMallocHost(&own.host, 64 * (size_t)COPY_BYTES));
    CHECK(cudaMalloc(&own.device, 64 * (size_t)COPY_BYTES));
    fill_on_host(own.host, 64 * (size_t)COPY_BYTES, (uint32_t)number + 1);
}

/* The kernels of all processes in order of their starts. */
struct turn {
    int process;
    unsigned long long start, end;
};

/* Notes how long a process has the GPU before another one's kernel starts, what lies between
 * two kernels of one process and of two, and how many started before another one's had ended.
 */
static void note_turns(const std::string &name, const struct job &job, int first)
{
    std::vector<struct turn> rows;
    for (int process = first; process < job.processes; process++)
        for (int i = 0; i < job.kernels; i++)
            rows.push_back({process, shared->marks[process][i].first_start,
                            shared->marks[process][i].last_end});
    std::sort(rows.begin(), rows.end(),
              [](const struct turn &a, const struct turn &b) { return a.start < b.start; });
    std::vector<double> turns, changes, same;
    size_t begin = 0;
    double overlaps = 0;
    unsigned long long latest = rows[0].end;
    for (size_t i = 1; i < rows.size(); i++) {
        const bool change = rows[i].process != rows[i - 1].process;
        const double gap_us = 1e-3 * double((long long)(rows[i].start - rows[i - 1].end));
        overlaps += change && rows[i].start < latest;
        latest = std::max(latest, rows[i].end);
        (change ? changes : same).push_back(gap_us);
        if (!change)
            continue;
        turns.push_back(1e-3 * double(rows[i - 1].end - rows[begin].start));
        begin = i;
    }
    const long us = (long)job.kernel_us;
    if (!turns.empty()) {
        note(name + "-turn", us, median(turns));
        note(name + "-longest-turn", us, *std::max_element(turns.begin(), turns.end()));
        note(name + "-change", us, median(changes));
    }
    if (!same.empty())
        note(name + "-gap", us, median(same));
    note(name + "-started-beside-other", us, overlaps);
}

static void measure(const std::string &mode, const char *what, const struct job &job)
{
    const std::string name = mode + "-" + what + "-" + std::to_string(job.processes);
    shared->job = job;
    meet(shared->arrived, 2 * ++jobs - 1);
    work();
    const double begin = *std::min_element(shared->begin_us, shared->begin_us + job.processes);
    note(name, (long)job.kernel_us,
         *std::max_element(shared->end_us, shared->end_us + job.processes) - begin);
    if (job.work == BESIDE)
        note(name + "-copies", (long)job.kernel_us, shared->end_us[0] - begin);
    if (job.work != COPIES && job.processes > (job.work == BESIDE))
        note_turns(name, job, job.work == BESIDE);
}

static void serve(int number)
{
    experiment.name = "share";
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (jobs = 1;; jobs++) {
        meet(shared->arrived, 2 * jobs - 1);
        if (shared->job.work == STOP)
            std::_Exit(0);
        if (own.marks == nullptr) {
            experiment.cycles_per_us = shared->cycles_per_us;
            experiment.sms = shared->sms;
            open_device(number);
        }
        work();
    }
}

/* Returns true if an MPS daemon serves this process. */
static bool is_served()
{
    typedef CUresult attribute(int *, CUdevice_attribute, CUdevice);
    void *call = nullptr;
    enum cudaDriverEntryPointQueryResult found;
    int served = 0;
    CHECK(cudaGetDriverEntryPointByVersion("cuDeviceGetAttribute", &call, 12000,
                                           cudaEnableDefault, &found));
    if (call == nullptr ||
        ((attribute *)call)(&served, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0) != CUDA_SUCCESS)
        fail("the driver does not say whether MPS serves");
    return served != 0;
}

int main(int argc, char **argv)
{
    shared = (struct shared *)mmap(nullptr, sizeof *shared, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        fail("no shared memory");
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    std::vector<pid_t> others;
    for (int i = 1; i < PROCESSES; i++) {
        const pid_t child = fork();
        if (child == 0) {
            own.number = i;
            serve(i);
        }
        others.push_back(child);
    }
    experiment_begin(argc, argv, "share",
                     "what processes do to each other that share a GPU (parameter: "
                     "microseconds of a kernel)",
                     {"ahead", "paced", "copies", "beside"});
    open_device(0);
    shared->sms = experiment.sms;
    shared->cycles_per_us = experiment.cycles_per_us;
    const std::string mode = is_served() ? "mps" : "slices";
    const int counts[] = {1, 2, 4};
    for (double us : {5., 20., 100., 1000.}) {
        const int kernels = us < 100 ? 400 : us < 1000 ? 200 : 30;
        for (rounds r(5); r.next();)
            for (int processes : counts)
                for (bool full : {false, true}) {
                    const std::string size = full ? "full" : "small";
                    if (part("ahead"))
                        measure(mode, ("ahead-" + size).c_str(),
                                {AHEAD, processes, kernels, full, us});
                    if (part("paced") && us < 1000)
                        measure(mode, ("paced-" + size).c_str(),
                                {PACED, processes, kernels, full, us});
                    if (part("beside"))
                        measure(mode, ("beside-" + size).c_str(),
                                {BESIDE, processes, kernels, full, us});
                }
    }
    if (part("copies"))
        for (rounds r(5); r.next();)
            for (int processes : counts)
                measure(mode, "copies", {COPIES, processes, 400, false, 0});
    shared->job.work = STOP;
    meet(shared->arrived, 2 * ++jobs - 1);
    return 0;
}
