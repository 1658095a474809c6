/* libprobe.so - CUDA loads it as it does the recorder (CUDA_INJECTION64_PATH), and it does one part of
 * what the recorder does, and nothing with what it is told: so that what CUPTI costs is told from what
 * the recorder does. PROBE names the parts, by commas:
 *
 *     subscribe   subscribes, and enables no call
 *     runtime     calls of the runtime: launches, copies, events, waits
 *     driver      those of the driver, which are within the runtime's, too
 *     launches    only launches of the two that are named
 *     clock       each call told of takes the time
 *     kernels     when kernels ran
 *     copies      when copies and memsets ran
 *     stamp       CUPTI takes times by our clock
 *     zeroed      CUPTI finds its buffers zeroed and need not do that
 *     pinned      CUPTI has its times in pinned memory instead of the device's */
#include <cupti.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFER_BYTES = 1 << 20, BUFFERS = 32 };

static bool has(const char *part)
{
    const char *at = getenv("PROBE");
    const size_t length = strlen(part);
    while (at != NULL && *at != '\0') {
        if (strncmp(at, part, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
        at = strchr(at, ',');
        at = at != NULL ? at + 1 : NULL;
    }
    return false;
}

static uint64_t CUPTIAPI now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool clocked;
static _Thread_local uint64_t latest;

static void CUPTIAPI called(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *about)
{
    (void)unused, (void)domain, (void)id, (void)about;
    if (clocked)
        latest = now();
}

/* Buffers are used in turns; CUPTI never has as many at a time. */
static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    static uint8_t *buffers[BUFFERS];
    static unsigned turn;
    const unsigned place = __atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % BUFFERS;
    if (buffers[place] == NULL)
        buffers[place] = calloc(1, BUFFER_BYTES);
    *buffer = buffers[place];
    *size = BUFFER_BYTES;
    *records = 0;
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                      size_t valid)
{
    (void)context, (void)stream, (void)size;
    memset(buffer, 0, valid);
}

/* CUPTI's functions, of the library that the recorder finds, too. */
static void *library;
#define CUPTI(name) ((__typeof__(&name))dlsym(library, #name))

static void refuse(const char *what, CUptiResult result)
{
    if (result != CUPTI_SUCCESS)
        fprintf(stderr, "probe: %s: CUPTI's error %d\n", what, (int)result);
}

static void enable_calls(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain, unsigned size)
{
    static const char *const all[] = {"LaunchKernel", "cudaMemcpy", "cuMemcpy", "cudaMemset", "cuMemset",
                                      "EventRecord", "WaitEvent", "Synchronize"};
    const size_t count = has("launches") ? 1 : sizeof all / sizeof all[0];
    for (unsigned id = 1; id < size; id++) {
        const char *name = NULL;
        if (CUPTI(cuptiGetCallbackName)(domain, id, &name) != CUPTI_SUCCESS || name == NULL)
            continue;
        for (size_t i = 0; i < count; i++) {
            if (strstr(name, all[i]) != NULL)
                CUPTI(cuptiEnableCallback)(1, subscriber, domain, id);
        }
    }
}

static void enable_ops(void)
{
    size_t size = sizeof(uint8_t);
    uint8_t yes = 1;
    if (has("stamp"))
        refuse("stamp", CUPTI(cuptiActivityRegisterTimestampCallback)(now));
    if (has("zeroed"))
        refuse("zeroed",
               CUPTI(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &yes));
    if (has("pinned"))
        refuse("pinned",
               CUPTI(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, &size, &yes));
    refuse("buffers", CUPTI(cuptiActivityRegisterCallbacks)(buffer_requested, buffer_completed));
    if (has("kernels"))
        refuse("kernels", CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    if (has("copies")) {
        refuse("copies", CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_MEMCPY));
        refuse("memsets", CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_MEMSET));
    }
    CUPTI(cuptiActivityFlushPeriod)(200);
}

int InitializeInjection(void);
int InitializeInjection(void)
{
    CUpti_SubscriberHandle subscriber;
    const char *path = getenv("PROBE_CUPTI");
    library = dlopen(path != NULL ? path : "libcupti.so.13", RTLD_NOW);
    if (library == NULL)
        library = dlopen("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "probe: there is no CUPTI; name it in PROBE_CUPTI\n");
        return 1;
    }
    clocked = has("clock");
    refuse("subscribe", CUPTI(cuptiSubscribe)(&subscriber, called, NULL));
    if (has("runtime"))
        enable_calls(subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE);
    if (has("driver"))
        enable_calls(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE);
    if (has("kernels") || has("copies"))
        enable_ops();
    return 1;
}
