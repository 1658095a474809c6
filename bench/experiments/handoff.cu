/* handoff.cu - what a chain over two devices takes, by what is added: copies in on the first
 * device and out of the second alone, with the events that order them, and with a light kernel
 * on each device, where copies and kernels have a stream for each slot, as others have whole
 * pipelines, or one for each kind of op; then with tiles handed on, by a copy that the sender
 * issues, by one that the receiver issues, by a kernel that writes into the other device's
 * memory, or by one that reads from there. */
#include "bench/experiments/experiment.h"

enum hand { NOTHING, PUSH, PULL, STORE, LOAD };
enum { SLOTS = 4 };

/* A variant adds ops, and has them share streams: copies from and to the host with those of
 * other slots, kernels likewise. */
static const struct variant {
    const char *name;
    bool events, kernels, reads_only, one_copies, one_kernels;
    enum hand hand;
} variants[] = {
    {"bare", false, false, false, true, true, NOTHING},
    {"events-slots", true, false, false, false, false, NOTHING},
    {"events-kinds", true, false, false, true, true, NOTHING},
    {"kernels-slots", true, true, false, false, false, NOTHING},
    {"kernels-slots-reading", true, true, true, false, false, NOTHING},
    {"kernels-one-copies-slots", true, true, false, false, true, NOTHING},
    {"kernels-slots-copies-one", true, true, false, true, false, NOTHING},
    {"kernels-kinds", true, true, false, true, true, NOTHING},
    {"push-slots", true, true, false, false, false, PUSH},
    {"push-kinds", true, true, false, true, true, PUSH},
    {"pull-kinds", true, true, false, true, true, PULL},
    {"store-kinds", true, true, false, true, true, STORE},
    {"load-kinds", true, true, false, true, true, LOAD},
};
static const size_t ARRAY = (size_t)1 << 30;

/* A light kernel: the first device's adds, the second one's takes away again. */
static __global__ void add(const uint4 *in, uint4 *out, size_t count, uint32_t more)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (size_t)blockDim.x) {
        const uint4 now = in[i];
        out[i] = make_uint4(now.x + more, now.y + more, now.z + more, now.w + more);
    }
}

/* A kernel that reads as much and writes next to nothing. */
static __global__ void look(const uint4 *in, uint4 *out, size_t count, uint32_t never)
{
    uint32_t sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (size_t)blockDim.x)
        sum ^= in[i].x + in[i].y * 3 + in[i].z * 5 + in[i].w * 7;
    if (sum == never)
        out[0].x = sum;
}

static char *host_in, *host_out, *whole;
/* Of each device by slot: what comes in and what its kernel makes. */
static char *came[2][SLOTS], *made[2][SLOTS];
static cudaStream_t streams[2][SLOTS], in_stream, out_stream, hand_streams[2];
static cudaEvent_t arrived[SLOTS], worked[SLOTS], handed[2][SLOTS], taken[SLOTS], home[SLOTS];

static void open_chain()
{
    CHECK(cudaHostAlloc(&host_in, ARRAY, cudaHostAllocPortable));
    CHECK(cudaHostAlloc(&host_out, ARRAY, cudaHostAllocPortable));
    CHECK(cudaMalloc(&whole, ARRAY));
    for (int device = 1; device >= 0; device--) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaDeviceEnablePeerAccess(1 - device, 0));
        for (int slot = 0; slot < SLOTS; slot++) {
            CHECK(cudaMalloc(&came[device][slot], (size_t)64 << 20));
            CHECK(cudaMalloc(&made[device][slot], (size_t)64 << 20));
            CHECK(cudaStreamCreateWithFlags(&streams[device][slot], cudaStreamNonBlocking));
            CHECK(cudaEventCreateWithFlags(&handed[device][slot], cudaEventDisableTiming));
            for (cudaEvent_t *event : {device == 0 ? &arrived[slot] : &taken[slot],
                                       device == 0 ? &worked[slot] : &home[slot]})
                CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
        }
        CHECK(cudaStreamCreateWithFlags(device == 0 ? &in_stream : &out_stream,
                                        cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&hand_streams[device], cudaStreamNonBlocking));
    }
}

static void copy_in(cudaStream_t stream, int tile, size_t bytes)
{
    CHECK(cudaMemcpyAsync(came[0][tile % SLOTS], host_in + tile * bytes, bytes,
                          cudaMemcpyHostToDevice, stream));
}

static void copy_out(cudaStream_t stream, int tile, size_t bytes)
{
    CHECK(cudaMemcpyAsync(host_out + tile * bytes, made[1][tile % SLOTS], bytes,
                          cudaMemcpyDeviceToHost, stream));
}

static void launch(const struct variant &variant, cudaStream_t stream, const char *in,
                   char *out, size_t bytes, uint32_t more)
{
    if (variant.kernels && variant.reads_only)
        look<<<1056, 256, 0, stream>>>((const uint4 *)in, (uint4 *)out, bytes / sizeof(uint4),
                                       more);
    else if (variant.kernels)
        add<<<1056, 256, 0, stream>>>((const uint4 *)in, (uint4 *)out, bytes / sizeof(uint4),
                                      more);
    CHECK(cudaGetLastError());
}

/* One tile from the host through both devices and back; each buffer is written again only when
 * what was in it has been read. */
static void issue(const struct variant &variant, int tile, size_t bytes)
{
    const int slot = tile % SLOTS;
    const bool again = tile >= SLOTS;
    const enum hand hand = variant.hand;
    cudaStream_t in = variant.one_copies ? in_stream : streams[0][slot],
                 out = variant.one_copies ? out_stream : streams[1][slot],
                 first = streams[0][variant.one_kernels ? 0 : slot],
                 second = streams[1][variant.one_kernels ? 0 : slot],
                 push = variant.one_kernels ? hand_streams[0] : first,
                 pull = variant.one_kernels ? hand_streams[1] : second;
    CHECK(cudaSetDevice(0));
    if (again) /* what was in the slot has been read: by the other device's kernel at the latest
                */
        CHECK(cudaStreamWaitEvent(in, hand == LOAD ? taken[slot] : worked[slot], 0));
    copy_in(in, tile, bytes);
    CHECK(cudaEventRecord(arrived[slot], in));
    CHECK(cudaStreamWaitEvent(first, arrived[slot], 0));
    if (again)
        CHECK(cudaStreamWaitEvent(
            first, hand == PUSH || hand == PULL ? handed[hand == PULL][slot] : taken[slot], 0));
    launch(variant, first, came[0][slot], hand == STORE ? came[1][slot] : made[0][slot], bytes,
           1);
    CHECK(cudaEventRecord(worked[slot], first));
    if (hand == PUSH) {
        CHECK(cudaStreamWaitEvent(push, worked[slot], 0));
        if (again)
            CHECK(cudaStreamWaitEvent(push, taken[slot], 0));
        CHECK(cudaMemcpyPeerAsync(came[1][slot], 1, made[0][slot], 0, bytes, push));
        CHECK(cudaEventRecord(handed[0][slot], push));
    }
    CHECK(cudaSetDevice(1));
    if (hand == PULL) {
        CHECK(cudaStreamWaitEvent(pull, worked[slot], 0));
        if (again)
            CHECK(cudaStreamWaitEvent(pull, taken[slot], 0));
        CHECK(cudaMemcpyPeerAsync(came[1][slot], 1, made[0][slot], 0, bytes, pull));
        CHECK(cudaEventRecord(handed[1][slot], pull));
    }
    CHECK(cudaStreamWaitEvent(
        second, hand == PUSH || hand == PULL ? handed[hand == PULL][slot] : worked[slot], 0));
    if (again)
        CHECK(cudaStreamWaitEvent(second, home[slot], 0));
    launch(variant, second, hand == LOAD ? made[0][slot] : came[1][slot], made[1][slot], bytes,
           ~0u);
    CHECK(cudaEventRecord(taken[slot], second));
    CHECK(cudaStreamWaitEvent(out, taken[slot], 0));
    copy_out(out, tile, bytes);
    CHECK(cudaEventRecord(home[slot], out));
}

static void issue_bare(int tile, size_t bytes)
{
    CHECK(cudaSetDevice(0));
    copy_in(in_stream, tile, bytes);
    CHECK(cudaSetDevice(1));
    copy_out(out_stream, tile, bytes);
}

/* Puts new words where the copies in come from, and something else where the copies out go: by
 * copies, for what the CPU wrote last is in its caches, and copies of that are slower. */
static void prepare(uint32_t salt)
{
    CHECK(cudaSetDevice(0));
    fill_on_device(whole, ARRAY, salt);
    CHECK(cudaMemcpy(host_in, whole, ARRAY, cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(whole, 0xa5, ARRAY));
    CHECK(cudaMemcpy(host_out, whole, ARRAY, cudaMemcpyDeviceToHost));
    CHECK(cudaDeviceSynchronize());
}

static void verify(const struct variant &variant, uint32_t salt)
{
    if (variant.hand == NOTHING) /* what came to the second device is of another run */
        return;
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpy(whole, host_out, ARRAY, cudaMemcpyHostToDevice));
    verify_on_device(whole, ARRAY, salt, variant.name);
}

int main(int argc, char **argv)
{
    experiment_begin(argc, argv, "handoff",
                     "a chain of 1 GiB over two devices; the parameter is a tile's MiB", {});
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        std::printf("# all of it is left out: there are no two devices\n");
        return 0;
    }
    open_chain();
    uint32_t salt = 0;
    for (long mib : {8L, 32L}) {
        const size_t bytes = (size_t)mib << 20;
        for (rounds r(5); r.next();) {
            for (const struct variant &variant : variants) {
                prepare(++salt);
                const double begin = now_us();
                for (size_t tile = 0; tile < ARRAY / bytes; tile++)
                    variant.events ? issue(variant, (int)tile, bytes)
                                   : issue_bare((int)tile, bytes);
                for (int device = 0; device < 2; device++) {
                    CHECK(cudaSetDevice(device));
                    CHECK(cudaDeviceSynchronize());
                }
                note(variant.name, mib, now_us() - begin);
                verify(variant, salt);
            }
        }
    }
    return 0;
}
