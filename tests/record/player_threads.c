/* player_threads.c - scripts of several threads, of the host's functions, and of very many
 * calls. */
#include "play.h"
#include "player.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- sixty-four threads at once --- */

enum { THREADS = 64, ROUNDS = 40 };

/* All come to the same kernel and the default stream at once, and each has streams of its own,
 * whose handles come back: as other streams, once they were destroyed. */
static void *work(void *place)
{
    static struct fake_function kernel = {.count = 1, .sizes = {8}};
    const uint32_t thread = (uint32_t)(uintptr_t)place;
    struct fake_stream stream = {.flags = CU_STREAM_NON_BLOCKING};
    uint64_t memory = UINT64_C(0x100000) * (thread + 1), word = memory + 8;
    void *args[] = {&word};
    char words[32];
    snprintf(words, sizeof words, "[%llu]", (unsigned long long)word);
    expect("[\"stream\",1,%d,2,\"per-thread\",0]", gettid());
    for (uint32_t i = 0; i < ROUNDS; i++) {
        stream.number = 10000000 + 1000 * thread + i; /* no thread has such a number */
        CUstream handle = play_stream(&stream);
        play_malloc(memory, 4096);
        play_copy(handle, memory, 65536, 100 + i, false);
        play_copy(NULL, memory, 65536, 100 + i, true);
        play_copy(NULL, memory, 65536, 100 + i, false);
        uint32_t id = play_launch(handle, "busy", &kernel, args, words);
        expect("[\"kernel\",%u,1,%u,\"*\",\"*\",\"busy\",6,256,32,64,0]", id, stream.number);
        play_sync();
        play_free(memory);
        play_stream_gone(&stream);
    }
    expect_keep();
    return NULL;
}

static void *deliver(void *done)
{
    while (!atomic_load((atomic_bool *)done)) {
        play_deliver();
        usleep(1000);
    }
    return NULL;
}

static int threads(void)
{
    static atomic_bool done;
    pthread_t workers[THREADS], worker;
    play_expect_start();
    expect("[\"stream\",1,7,1,\"legacy\",0]");
    pthread_create(&worker, NULL, deliver, &done);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&workers[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i], NULL);
    atomic_store(&done, true);
    pthread_join(worker, NULL);
    return 0;
}

/* --- threads that come and go --- */

static void *visit(void *unused)
{
    (void)unused;
    play_sync();
    expect_keep();
    return NULL;
}

/* More threads than there are chunks of notes; their lines are all there. */
static int visitors(void)
{
    play_expect_start();
    for (int i = 0; i < 10000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, visit, NULL) != 0)
            return 94;
        pthread_join(thread, NULL);
    }
    return 0;
}

/* --- functions of the host --- */

/* What the driver would run: the place that it reads when the call has been made. */
struct handed {
    CUhostFn function;
    CUstreamCallback callback;
    void *data;
};

static atomic_int sum;

static void CUDA_CB add(void *data)
{
    atomic_fetch_add(&sum, (int)(uintptr_t)data);
}

static void CUDA_CB add_back(CUstream stream, CUresult result, void *data)
{
    (void)stream, (void)result;
    add(data);
}

static void hand_over(void *place)
{
    struct handed *handed = place;
    cuLaunchHostFunc_params params = {.fn = add, .userData = handed->data};
    cuStreamAddCallback_params with_stream = {.callback = add_back, .userData = handed->data};
    if (handed->callback == NULL) {
        play_call_alone(&(struct played){PLAY_DRIVER(cuLaunchHostFunc),
                                         .name = "cuLaunchHostFunc", .params = &params});
        handed->function = params.fn;
        handed->data = params.userData;
    } else {
        play_call_alone(&(struct played){PLAY_DRIVER(cuStreamAddCallback),
                                         .name = "cuStreamAddCallback",
                                         .params = &with_stream});
        handed->callback = with_stream.callback;
        handed->data = with_stream.userData;
    }
}

static uint32_t launch_function(struct handed *handed, uintptr_t number, bool callback)
{
    handed->callback = callback ? add_back : NULL;
    handed->data = (void *)number;
    hand_over(handed);
    expect("[\"call\",%u,\"%s\",%d,\"*\",\"*\",0]", play_last_number(),
           callback ? "cuStreamAddCallback" : "cuLaunchHostFunc", gettid());
    return play_last_number();
}

static void *run_later(void *place)
{
    struct handed *handed = place;
    for (int i = 0; i < 2; i++) {
        if (handed[i].callback != NULL)
            handed[i].callback(NULL, CUDA_SUCCESS, handed[i].data);
        else
            handed[i].function(handed[i].data);
    }
    return NULL;
}

static int functions(void)
{
    struct handed handed[4];
    pthread_t driver;
    play_expect_start();
    expect("[\"stream\",1,7,1,\"legacy\",0]");
    expect("[\"function\",%u,1,7,\"*\",\"*\"]", launch_function(&handed[0], 1, false));
    expect("[\"function\",%u,1,7,\"*\",\"*\"]", launch_function(&handed[1], 10, true));
    expect("[\"function\",%u,1,7,null,null]", launch_function(&handed[2], 100, false));
    /* The driver refuses this one, and never runs it. */
    cuLaunchHostFunc_params refused = {.fn = add, .userData = NULL};
    play_call(&(struct played){PLAY_DRIVER(cuLaunchHostFunc), .name = "cuLaunchHostFunc",
                               .params = &refused, .result = 1});
    pthread_create(&driver, NULL, run_later, handed);
    pthread_join(driver, NULL);
    printf("the functions' sum is %d\n", atomic_load(&sum));
    return 0;
}

/* --- a thread that is cancelled --- */

static void *take_on(void *asked)
{
    enum { CALLS = 300000 };
    /* Without a recorder, all calls may be over before the other thread runs at all. */
    while (!atomic_load((atomic_bool *)asked))
        sched_yield();
    for (uint64_t i = 1; i <= CALLS; i++) {
        void *place = (void *)(uintptr_t)(4096 * i);
        cudaMalloc_v3020_params params = {.devPtr = &place, .size = 1};
        play_call_alone(&(struct played){PLAY_RUNTIME(cudaMalloc_v3020), .name = "cudaMalloc",
                                         .params = &params});
    }
    pthread_testcancel();
    return NULL;
}

/* It is cancelled where it asks for that, not where the recorder writes a file for it. */
static int cancelled(void)
{
    pthread_t thread;
    atomic_bool asked = false;
    void *end = NULL;
    pthread_create(&thread, NULL, take_on, &asked);
    pthread_cancel(thread);
    atomic_store(&asked, true);
    pthread_join(thread, &end);
    play_malloc(4096, 1);
    printf("%u calls, then cancelled: %d\n", play_next_number() - 1, end == PTHREAD_CANCELED);
    return 0;
}

/* --- more than can be held --- */

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Calls while the writer is held back: the memory for them is bounded, and what did not get in
 * is counted. */
static int flood(void)
{
    enum { CALLS = 10000000, MOST_KIB = 400 << 10 };
    long before = peak_kib();
    play_sync();
    play_hold(true);
    for (int i = 0; i < CALLS; i++)
        play_call_alone(&(struct played){PLAY_RUNTIME(cudaDeviceSynchronize_v3020),
                                         .name = "cudaDeviceSynchronize"});
    long grown = peak_kib() - before;
    play_hold(false);
    if (grown > MOST_KIB)
        fprintf(stderr, "player: the recorder took %ld KiB\n", grown);
    printf("%u calls\n", play_last_number());
    return grown > MOST_KIB;
}

const struct script script_threads[] = {
    {"threads", threads},     {"cancelled", cancelled}, {"visitors", visitors},
    {"functions", functions}, {"flood", flood},         {NULL, NULL},
};
