/* cuda_runtime.h - stands for CUDA's own where a program of --emit is compiled for the CPU.
 *
 * Each call does its work at once, whatever its stream, and is written down, a line each, into
 * calls.txt: its kind, its stream's number, and the bytes of a copy or, of a wait, the line of
 * the record that it is for. A capture keeps the calls, and a launch of the graph does them. A
 * kernel's blocks are threads of the host's, a few at a time, and its threads are fibers in those
 * (grid.h). Launches are calls of launch(), which the test writes in the place of <<<>>>. Launchers
 * of libraries are found by dlsym(), which gives the program launchers of its own here, around the
 * libraries'. Pieces of tiles that the CPU's threads take are calls of fake_cpu(), which the test
 * writes there, too: such tiles are written down when the host next synchronises. There are six such
 * threads at least. Pieces that the CPU packs are calls of fake_pack(), of which those that go to one
 * array are a line.
 *
 * There are several devices. Memory, streams and events belong to the one that was current when they
 * were made, and a call that mixes them up fails: a launch into a stream, or with memory, of another
 * device than the current one, a record of another device's event, a copy to or from memory of another
 * device than the stream's. A copy between devices names both, is in a stream of one of them,
 * and fails unless each has been let reach the other: CUDA would take a way by the host then.
 *
 * With FAKE_ORDER=first or last, copies, memsets, launches, host functions, records and waits are done
 * late: when the host waits for a device or, as far as it needs them, for a stream or an event. The
 * first (or the last) of all streams then goes on for as long as the waits in it let it, so that a
 * wait that is missing is one too few.
 *
 * cublas_v2.h stands for cuBLAS. tiles.jsonl is the program's recording, by tape.h. */
#ifndef PIPELINE_TESTS_EMIT_CUDA_RUNTIME_H
#define PIPELINE_TESTS_EMIT_CUDA_RUNTIME_H

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "../../kernels/own_kernel.h"
#include "grid.h"
#include "tape.h"
#include <dlfcn.h>

using std::isfinite;

#define CUDART_VERSION 13000
#define CUDART_CB
#define __global__
#define __device__

enum cudaError_t {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorInvalidDevice = 101,
    cudaErrorPeerAccessAlreadyEnabled = 704
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostAllocMapped = 2 };
enum { cudaHostRegisterDefault = 0, cudaStreamCaptureModeRelaxed = 2 };
enum { cudaMemcpySrcAccessOrderStream = 1 };
struct cudaMemcpyAttributes {
    int srcAccessOrder;
};

struct fake_stream {
    int number, device;
    std::deque<std::function<bool()>> late; /* what is to be done; false: it has to wait yet */
};
struct fake_event {
    int line, device;
    int records, done; /* how many there were, and of how many the stream has come as far */
};
struct fake_graph {
    std::vector<std::function<void()>> calls;
};
typedef fake_stream *cudaStream_t;
typedef fake_event *cudaEvent_t;
typedef fake_graph *cudaGraph_t, *cudaGraphExec_t;

static fake_graph *fake_capture;                  /* NULL: none is going on */
static std::map<const char *, size_t> fake_device; /* the allocations of all devices */
static std::map<const char *, int> fake_homes;     /* and the device of each */
static int fake_current;                           /* the device that calls go to */
static std::set<std::pair<int, int>> fake_reaches; /* devices, and whose memory they reach */
static cudaError_t fake_failed;                    /* what the latest launch has met */
static int fake_lines, fake_streams;
static int fake_taken = -1; /* the lines when memory was taken the last time */

static inline FILE *fake_file()
{
    static FILE *file = fopen("calls.txt", "w");
    return file;
}

/* Writes the call `name` into the recording; returns true where what it does belongs there, too. */
static bool fake_taped(const char *name)
{
    if (fake_capture == NULL)
        tape_call(name);
    return fake_capture == NULL;
}
static int fake_stream_number(cudaStream_t stream)
{
    return stream == NULL ? 0 : stream->number + 1;
}

/* ---- what the CPU packs ---- */

static std::map<const char *, size_t> fake_host; /* page-locked memory */
static const char *fake_packs_to;                /* the latest pack's, or NULL: other memory */
static size_t fake_packed;                       /* its bytes so far */

/* Writes the latest pack down: all that went to one array, between two calls. */
static inline void fake_pack_ends()
{
    if (fake_packed == 0)
        return;
    fprintf(fake_file(), "pack %zu\n", fake_packed);
    fake_lines++;
    fake_packed = 0;
}

/* Copies a piece. */
static inline void fake_pack(void *to, const void *from, size_t bytes)
{
    auto next = fake_host.upper_bound((const char *)to);
    const char *array = next == fake_host.begin() ? NULL : (--next)->first;
    if (array != NULL && (const char *)to >= array + next->second)
        array = NULL;
    if (array != fake_packs_to)
        fake_pack_ends();
    fake_packs_to = array;
    fake_packed += bytes;
    memcpy(to, from, bytes);
}

/* Writes a call down, and does it now or keeps it. */
template <typename... Values>
static void fake_call(std::function<void()> work, const char *format, Values... values)
{
    fake_pack_ends();
    fprintf(fake_file(), format, values...);
    fputc('\n', fake_file());
    fake_lines++;
    if (fake_capture != NULL)
        fake_capture->calls.push_back(work);
    else
        work();
}

/* ---- what is done late ---- */

static std::vector<fake_stream *> fake_made; /* all streams */

static inline const char *fake_order()
{
    static const char *const order = getenv("FAKE_ORDER"); /* NULL: nothing is late */
    return order;
}

/* Returns what does `work` at once, or has the stream do it late. */
static inline std::function<void()> fake_later(fake_stream *stream, std::function<bool()> work)
{
    return [=] {
        if (fake_order() == NULL)
            work();
        else
            stream->late.push_back(work);
    };
}

/* Does one thing in a stream; returns false where it has none, or has to wait. */
static inline bool fake_step(fake_stream *stream)
{
    if (stream->late.empty() || !stream->late.front()())
        return false;
    stream->late.pop_front();
    return true;
}

static inline bool fake_step_any()
{
    const size_t count = fake_made.size();
    for (size_t i = 0; i < count; i++)
        if (fake_step(fake_made[strcmp(fake_order(), "last") == 0 ? count - 1 - i : i]))
            return true;
    return false;
}

static inline void fake_do_all()
{
    while (fake_order() != NULL && fake_step_any())
        ;
}

/* Does what a stream has, and of the others only what that waits for. */
static inline void fake_do_stream(fake_stream *stream)
{
    while (!stream->late.empty() && (fake_step(stream) || fake_step_any()))
        ;
}

static inline const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "invalid value";
}
static inline cudaError_t cudaGetLastError()
{
    const cudaError_t failed = fake_failed;
    fake_failed = cudaSuccess;
    return failed;
}
static inline bool fake_is_device(int device)
{
    enum { DEVICES = 8 };
    return device >= 0 && device < DEVICES;
}
static inline cudaError_t cudaSetDevice(int device)
{
    fake_current = device;
    tape_enter(device);
    return fake_is_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
}
struct cudaDeviceProp {
    char name[256];
};
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    strcpy(properties->name, "no GPU");
    return fake_is_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
}
static inline cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int other)
{
    *can = device != other;
    return fake_is_device(device) && fake_is_device(other) ? cudaSuccess : cudaErrorInvalidDevice;
}
static inline cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned flags)
{
    if (!fake_is_device(other) || other == fake_current || flags != 0)
        return cudaErrorInvalidDevice;
    return fake_reaches.insert({fake_current, other}).second ? cudaSuccess
                                                             : cudaErrorPeerAccessAlreadyEnabled;
}

/* ---- memory ---- */

template <typename T> static cudaError_t fake_alloc(T **memory, size_t bytes, const char *name, const char *kind)
{
    fake_call([] {}, "alloc %zu", bytes);
    *memory = (T *)malloc(bytes);
    tape_memory(name, kind, (const void *)*memory, bytes);
    if (strcmp(kind, "pinned") == 0)
        fake_host[(const char *)*memory] = bytes;
    return *memory != NULL ? cudaSuccess : cudaErrorInvalidValue;
}
template <typename T> static cudaError_t cudaMallocHost(T **memory, size_t bytes)
{
    return fake_alloc(memory, bytes, "cudaMallocHost", "pinned");
}
template <typename T> static cudaError_t cudaHostAlloc(T **memory, size_t bytes, unsigned)
{
    return cudaMallocHost(memory, bytes);
}
static inline cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned)
{
    tape_memory("cudaHostRegister", "registered", memory, bytes);
    return cudaSuccess;
}

static inline cudaError_t cudaFreeHost(void *memory)
{
    tape_free("cudaFreeHost", memory);
    free(memory);
    return cudaSuccess;
}
/* That memory which was just taken is given back is no line of its own. */
static inline cudaError_t cudaFree(void *memory)
{
    if (fake_taken != fake_lines)
        fake_call([] {}, "free");
    fake_device.erase((const char *)memory);
    return cudaFreeHost(memory);
}

/* What was not copied in is no number. */
static inline void fake_keep(void *memory, size_t bytes)
{
    memset(memory, 0xff, bytes);
    fake_device[(const char *)memory] = bytes;
    fake_homes[(const char *)memory] = fake_current;
}

template <typename T> static cudaError_t cudaMalloc(T **memory, size_t bytes)
{
    cudaError_t error = fake_alloc(memory, bytes, "cudaMalloc", "device");
    fake_keep(*memory, bytes);
    fake_taken = fake_lines;
    return error;
}
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}
static inline cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    memset(memory, value, bytes);
    return cudaSuccess;
}

/* Returns true if all of it lies in one of the allocations. */
static inline bool fake_lies_in(const std::map<const char *, size_t> &taken, const void *memory, size_t bytes)
{
    auto next = taken.upper_bound((const char *)memory);
    if (next == taken.begin())
        return false;
    --next;
    return (const char *)memory + bytes <= next->first + next->second;
}
static inline bool fake_on_device(const void *memory, size_t bytes)
{
    return fake_lies_in(fake_device, memory, bytes);
}

/* Returns true if all of it lies in one allocation of that device's. */
static inline bool fake_is_at(const void *memory, size_t bytes, int device)
{
    return fake_on_device(memory, bytes) &&
           std::prev(fake_homes.upper_bound((const char *)memory))->second == device;
}

/* ---- streams and events ---- */

static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    *stream = new fake_stream{fake_streams++, fake_current, {}};
    fake_made.push_back(*stream);
    tape_stream(fake_stream_number(*stream), *stream, flags == cudaStreamDefault, priority);
    return cudaSuccess;
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
static inline cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t)
{
    return cudaSuccess;
}
static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = new fake_event{-1, fake_current, 0, 0};
    return cudaSuccess;
}
static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    fake_pack_ends();
    event->line = fake_lines;
    if (fake_taped("cudaEventRecord"))
        tape_line("[\"record\",%lld,%d,%d,%lld]", tape.call, tape_context(fake_stream_number(stream)),
                  fake_stream_number(stream), tape_address(event));
    const int nth = ++event->records;
    const auto come = [=] { return (event->done = nth) > 0; };
    fake_call(fake_later(stream, come), "record %d", stream->number);
    return event->device == stream->device ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    const int nth = event->records;
    fake_call(fake_later(stream, [=] { return event->done >= nth; }), "wait %d %d", stream->number, event->line);
    if (fake_taped("cudaStreamWaitEvent"))
        tape_line("[\"wait\",%lld,%d,%d,%lld]", tape.call, tape_context(fake_stream_number(stream)),
                  fake_stream_number(stream), tape_address(event));
    return event->line >= 0 ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    while (fake_order() != NULL && event->done < event->records && fake_step_any())
        ;
    fake_call([] {}, "event-sync %d", event->line);
    if (fake_taped("cudaEventSynchronize"))
        tape_line("[\"sync\",%lld,\"event\",1,%lld]", tape.call, tape_address(event));
    return event->line >= 0 ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    fake_do_stream(stream);
    fake_call([] {}, "sync %d", stream->number);
    if (fake_taped("cudaStreamSynchronize"))
        tape_line("[\"sync\",%lld,\"stream\",%d,%d]", tape.call, tape_context(fake_stream_number(stream)),
                  fake_stream_number(stream));
    return cudaSuccess;
}
/* ---- the CPU's tiles ---- */

#define hardware_concurrency() hardware_concurrency() * 0 + 8 /* on whatever machine */

static std::map<size_t, std::map<size_t, size_t>> fake_pieces; /* per tile: first, count */
static std::mutex fake_mutex;

/* Returns the elements of a thread's next piece, the first of the tile's `left`. */
static inline size_t fake_cpu(size_t tile, size_t first, size_t most, size_t left)
{
    const std::lock_guard<std::mutex> lock(fake_mutex);
    const size_t count = left < most ? left : most;
    size_t &all = fake_pieces[tile][first];
    all = all > 0 ? SIZE_MAX : count; /* nobody takes a piece twice */
    return count;
}

/* Writes each tile down, with its elements if its pieces follow one another. */
static inline void fake_cpu_ends()
{
    const std::lock_guard<std::mutex> lock(fake_mutex);
    for (auto &tile : fake_pieces) {
        const size_t first = tile.second.begin()->first;
        size_t end = first;
        for (auto &piece : tile.second)
            end = piece.first == end ? end + piece.second : SIZE_MAX;
        fake_call([] {}, "cpu %zu %zu", tile.first, end - first);
    }
    fake_pieces.clear();
}

static inline cudaError_t cudaDeviceSynchronize()
{
    fake_cpu_ends();
    fake_do_all();
    fake_call([] {}, "synchronize");
    if (fake_taped("cudaDeviceSynchronize"))
        tape_line("[\"sync\",%lld,\"device\",%d,null]", tape.call, fake_current + 1);
    return cudaSuccess;
}

/* ---- managed memory ---- */

enum cudaMemLocationType { cudaMemLocationTypeDevice = 1, cudaMemLocationTypeHost = 2 };
const int cudaCpuDeviceId = -1;
struct cudaMemLocation {
    cudaMemLocationType type;
    int id;
};

static std::map<const char *, size_t> fake_managed;

template <typename T> static cudaError_t cudaMallocManaged(T **memory, size_t bytes)
{
    const cudaError_t error = fake_alloc(memory, bytes, "cudaMallocManaged", "managed");
    fake_managed[(const char *)*memory] = bytes;
    return error;
}
static inline cudaError_t cudaMemPrefetchAsync(const void *at, size_t bytes, cudaMemLocation where, unsigned,
                                               cudaStream_t stream)
{
    fake_call([] {}, "%s %d %zu", where.type == cudaMemLocationTypeHost ? "d2h" : "h2d", stream->number, bytes);
    return fake_lies_in(fake_managed, at, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- memory in the order of streams ---- */

enum { cudaMemAllocationTypePinned = 1 };
enum { cudaMemPoolAttrReleaseThreshold = 4 };
struct cudaMemPoolProps {
    int allocType;
    struct {
        int type, id;
    } location;
};
struct fake_pool {
    unsigned long long keeps;
};
typedef fake_pool *cudaMemPool_t;

static inline cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties)
{
    *pool = new fake_pool{0};
    return properties->allocType == cudaMemAllocationTypePinned &&
                   properties->location.type == cudaMemLocationTypeDevice
               ? cudaSuccess
               : cudaErrorInvalidValue;
}
static inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, int, void *value)
{
    pool->keeps = *(unsigned long long *)value;
    return cudaSuccess;
}
template <typename T> static cudaError_t cudaMallocAsync(T **memory, size_t bytes, cudaStream_t stream)
{
    *memory = (T *)malloc(bytes);
    fake_keep(*memory, bytes);
    fake_call([] {}, "take %d %zu", stream->number, bytes);
    return cudaSuccess;
}
template <typename T>
static cudaError_t cudaMallocFromPoolAsync(T **memory, size_t bytes, cudaMemPool_t pool,
                                           cudaStream_t stream)
{
    cudaMallocAsync(memory, bytes, stream);
    return pool->keeps > bytes ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    fake_call([] {}, "give %d", stream->number);
    fake_device.erase((const char *)memory);
    return cudaFreeHost(memory);
}

/* ---- work ---- */

static inline std::function<void()> fake_copies(cudaStream_t stream, void *to, const void *from, size_t bytes)
{
    return fake_later(stream, [=] { return memcpy(to, from, bytes) != NULL; });
}

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                          cudaMemcpyKind kind, cudaStream_t stream)
{
    const bool in = kind == cudaMemcpyHostToDevice;
    fake_call(fake_copies(stream, to, from, bytes), "%s %d %zu", in ? "h2d" : "d2h", stream->number,
              bytes);
    if (fake_taped("cudaMemcpyAsync"))
        tape_copy(in ? "h2d" : "d2h", fake_stream_number(stream), to, from, bytes);
    return fake_is_at(in ? to : from, bytes, stream->device) ? cudaSuccess : cudaErrorInvalidValue;
}
/* The stream is of one of the two devices. */
static inline cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                              size_t bytes, cudaStream_t stream)
{
    fake_call(fake_copies(stream, to, from, bytes), "peer %d %zu", stream->number, bytes);
    if (fake_taped("cudaMemcpyPeerAsync"))
        tape_copy("peer", fake_stream_number(stream), to, from, bytes);
    return (stream->device == to_device || stream->device == from_device) && fake_is_at(from, bytes, from_device) &&
                   fake_is_at(to, bytes, to_device) && fake_reaches.count({from_device, to_device}) > 0 &&
                   fake_reaches.count({to_device, from_device}) > 0
               ? cudaSuccess
               : cudaErrorInvalidValue;
}
/* Rows follow one another on the device, and not on the host. */
static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                                            size_t from_pitch, size_t width, size_t rows,
                                            cudaMemcpyKind kind, cudaStream_t stream)
{
    const bool in = kind == cudaMemcpyHostToDevice;
    fake_call(
        [=] {
            for (size_t row = 0; row < rows; row++)
                memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
        },
        "%s %d %zu", in ? "h2d" : "d2h", stream->number, width * rows);
    return (in ? to_pitch : from_pitch) == width && (in ? from_pitch : to_pitch) >= width &&
                   fake_is_at(in ? to : from, width * rows, stream->device)
               ? cudaSuccess
               : cudaErrorInvalidValue;
}
static inline cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from,
                                               const size_t *bytes, size_t count,
                                               cudaMemcpyAttributes *, size_t *, size_t,
                                               cudaStream_t stream)
{
    const bool in = fake_on_device(to[0], bytes[0]);
    size_t all = 0;
    for (size_t i = 0; i < count; i++) {
        if (!fake_is_at(in ? to[i] : from[i], bytes[i], stream->device))
            return cudaErrorInvalidValue;
        memcpy(to[i], from[i], bytes[i]);
        all += bytes[i];
    }
    fake_call([] {}, "%s %d %zu", in ? "h2d" : "d2h", stream->number, all);
    return cudaSuccess;
}
static inline cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes,
                                          cudaStream_t stream = NULL)
{
    if (stream == NULL)
        fake_call([=] { memset(memory, value, bytes); }, "memset in the legacy default stream %zu", bytes);
    else
        fake_call(fake_later(stream, [=] { return memset(memory, value, bytes) != NULL; }), "memset %d %zu", stream->number,
                  bytes);
    if (fake_taped("cudaMemsetAsync"))
        tape_set(fake_stream_number(stream), memory, bytes);
    return fake_is_at(memory, bytes, stream == NULL ? fake_current : stream->device) ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void *),
                                             void *argument)
{
    const auto work = [=] {
        function(argument);
        return true;
    };
    fake_call(fake_later(stream, work), "callback %d", stream->number);
    if (fake_taped("cudaLaunchHostFunc"))
        tape_function(fake_stream_number(stream));
    return cudaSuccess;
}
/* A kernel goes to the current device: its stream and its memory there are that one's. */
static inline cudaError_t fake_launch_fits(const tape_words &words, cudaStream_t stream)
{
    bool fits = stream == NULL || stream->device == fake_current;
    for (const void *word : words)
        fits = fits && (!fake_on_device(word, 1) || fake_is_at(word, 1, fake_current));
    return fits ? cudaSuccess : cudaErrorInvalidValue;
}
static inline void launch(const char *name, const tape_words &words, dim3 grid, dim3 block, int,
                          cudaStream_t stream, std::function<void()> kernel)
{
    fake_failed = fake_launch_fits(words, stream);
    const auto work = [=] {
        fake_grid(grid, block, kernel);
        return true;
    };
    fake_call(fake_later(stream, work), "kernel %d", stream->number);
    if (fake_taped("cudaLaunchKernel"))
        tape_launch(fake_stream_number(stream), name, (int)(grid.x * grid.y), words);
}
static inline void launch(const char *name, const tape_words &words, dim3 grid, dim3 block,
                          std::function<void()> kernel)
{
    fake_call([=] { fake_grid(grid, block, kernel); }, "kernel in the legacy default stream");
    if (fake_taped("cudaLaunchKernel"))
        tape_launch(0, name, (int)(grid.x * grid.y), words);
}
static struct pipeline_kernel fake_own[8]; /* the kernels of libraries, as these have them */

/* Launches by the launcher of library `n`, or keeps that for the graph. */
template <int n> static int fake_own_launch(const pipeline_work *given, void *stream)
{
    const pipeline_work work = *given;
    static int code;
    code = 0;
    const auto launch = [=] { code = fake_own[n].launch(&work, stream); };
    if (stream != NULL)
        fake_call(launch, "kernel %d", ((cudaStream_t)stream)->number);
    else
        fake_call(launch, "kernel in the legacy default stream");
    const tape_words words = tape_arguments(work.in[0], work.in[1], work.out);
    if (fake_taped("cudaLaunchKernel"))
        tape_launch(fake_stream_number((cudaStream_t)stream), "map", (int)work.blocks, words);
    return code != 0 ? code : fake_launch_fits(words, (cudaStream_t)stream);
}
static inline void *fake_dlsym(void *library, const char *name)
{
    static struct pipeline_kernel found[8];
    static int (*const launchers[8])(const pipeline_work *, void *) = {
        fake_own_launch<0>, fake_own_launch<1>, fake_own_launch<2>, fake_own_launch<3>,
        fake_own_launch<4>, fake_own_launch<5>, fake_own_launch<6>, fake_own_launch<7>};
    static int count;
    void *symbol = dlsym(library, name);
    if (symbol == NULL)
        return NULL;
    fake_own[count] = found[count] = *(const struct pipeline_kernel *)symbol;
    if (found[count].launch != NULL)
        found[count].launch = launchers[count];
    return &found[count++];
}
#define dlsym fake_dlsym

/* ---- graphs ---- */

static inline cudaError_t cudaStreamBeginCapture(cudaStream_t, int)
{
    fake_call([] {}, "capture");
    fake_capture = new fake_graph;
    return cudaSuccess;
}
static inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph)
{
    *graph = fake_capture;
    fake_capture = NULL;
    fake_call([] {}, "captured");
    return cudaSuccess;
}
static inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                        unsigned long long)
{
    *exec = graph;
    return cudaSuccess;
}
static inline cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t)
{
    for (auto &call : graph->calls)
        call();
    return cudaSuccess;
}

#endif
