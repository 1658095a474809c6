/* player_ends.c - scripts of how a program ends, and of what happens to it meanwhile. */
#include "play.h"
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Some calls and ops, all of which are in the file when it returns. */
static void something(void)
{
    play_expect_start();
    expect("[\"stream\",1,7,1,\"legacy\",0]");
    play_copy(NULL, 4096, 65536, 10, false);
    play_deliver();
    play_await(play_sync());
    expect_keep();
}

static int end_return(void)
{
    something();
    return 0;
}

static int end_exit(void)
{
    something();
    printf("exits\n");
    exit(3);
}

static int end_at_once(void)
{
    something();
    _exit(4);
}

static int end_abort(void)
{
    something();
    abort();
    return 0;
}

static int end_kill(void)
{
    something();
    raise(SIGKILL);
    return 0;
}

static int end_segv(void)
{
    something();
    raise(SIGSEGV);
    return 0;
}

/* The child is no part of the recording: CUDA does not work in it. */
static int end_fork(void)
{
    something();
    pid_t child = fork();
    if (child == 0) {
        play_call_alone(&(struct played){PLAY_RUNTIME(cudaDeviceSynchronize_v3020),
                                         .name = "cudaDeviceSynchronize"});
        play_inject();
        exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    play_sync();
    printf("the child ended with %d\n", WEXITSTATUS(status));
    return 0;
}

/* A child that comes to the part does not begin it: it is no part of the recording. There are
 * more ranges than are held before they are written. */
static int end_child(void)
{
    enum { RANGES = 200000 };
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < RANGES; i++) {
            nvtxRangePushA("the part");
            nvtxRangePop();
            nvtxRangeEnd(nvtxRangeStartA("the part"));
        }
        exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("the child ended with %d\n", WEXITSTATUS(status));
    return 0;
}

/* The program goes on as another one with the same name and process. */
static int end_exec(void)
{
    something();
    fflush(stdout);
    execl("/proc/self/exe", program_invocation_short_name, "return", (char *)NULL);
    return 93;
}

/* --- files --- */

static int end_fsize(void)
{
    something();
    struct rlimit limit = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 1000; i++)
        play_call_alone(&(struct played){PLAY_RUNTIME(cudaDeviceSynchronize_v3020),
                                         .name = "cudaDeviceSynchronize"});
    usleep(300000);
    return 0;
}

/* A limit that is lifted again: nothing is lost. */
static int end_lifted(void)
{
    something();
    struct rlimit limit = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 1000; i++)
        play_sync();
    usleep(300000);
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    play_sync();
    return 0;
}

/* The disk is full, as far as run.sh could see to that. */
static int end_full(void)
{
    something();
    for (int i = 0; i < 1000; i++)
        play_call_alone(&(struct played){PLAY_RUNTIME(cudaDeviceSynchronize_v3020),
                                         .name = "cudaDeviceSynchronize"});
    usleep(300000);
    return 0;
}

static int end_gone(void)
{
    const char *folder = getenv("PIPELINE_RECORD_TO");
    something();
    if (folder != NULL) {
        char command[5000];
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        if (system(command) != 0)
            return 92;
    }
    play_call_alone(&(struct played){PLAY_RUNTIME(cudaDeviceSynchronize_v3020),
                                     .name = "cudaDeviceSynchronize"});
    usleep(300000);
    return 0;
}

static int end_chdir(void)
{
    something();
    if (chdir("/") != 0)
        return 92;
    play_sync();
    return 0;
}

/* A daemon's way: and the next descriptor is what it would be. */
static int end_closed(void)
{
    something();
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    play_sync();
    printf("the next descriptor is %d\n", open("/dev/null", O_RDONLY));
    return 0;
}

/* All descriptors are taken for a while. */
static int end_taken(void)
{
    int first = -1, last = -1;
    something();
    struct rlimit limit = {.rlim_cur = 64, .rlim_max = 64};
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0; last = fd)
        first = first < 0 ? fd : first;
    for (int i = 0; i < 1000; i++)
        play_sync();
    usleep(300000);
    for (int fd = first; fd <= last; fd++)
        close(fd);
    play_sync();
    return 0;
}

/* --- beginnings --- */

static int end_again(void)
{
    something();
    play_inject();
    play_sync();
    return 0;
}

static int end_without(void)
{
    play_sync();
    return 0;
}

/* --- the end in the middle of something --- */

static void *call_on(void *unused)
{
    static atomic_uint next = 50;
    struct fake_stream stream;
    for (;;) {
        stream = (struct fake_stream){.number = atomic_fetch_add(&next, 1)};
        CUstream handle = play_stream(&stream);
        play_copy(handle, 4096, 65536, 1, false);
        play_malloc(4096, 1);
        play_stream_gone(&stream);
        play_deliver();
    }
    return unused;
}

static int end_busy(void)
{
    enum { THREADS = 8 };
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, call_on, NULL);
    }
    usleep(200000);
    return 0;
}

static void leave(int signal_number)
{
    (void)signal_number;
    exit(6);
}

static void be_interrupted(void)
{
    raise(SIGUSR1);
}

/* A signal's handler ends the program while the recorder asks the driver something. */
static int end_asking(void)
{
    something();
    signal(SIGUSR1, leave);
    play_interrupt(be_interrupted);
    struct fake_stream stream = {.number = 50};
    play_copy((CUstream)&stream, 4096, 65536, 1, false);
    exit(6); /* so does the program by itself */
}

/* A signal's handler ends the program at any time, mostly while the recorder puts a line
 * together. */
static int end_handler(void)
{
    struct itimerval soon = {.it_value.tv_usec = 20000};
    signal(SIGALRM, leave);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (uint64_t i = 1; i < UINT64_C(1) << 32; i++) {
        void *place = (void *)(uintptr_t)(4096 * i);
        cudaMalloc_v3020_params params = {.devPtr = &place, .size = 1};
        play_call_alone(&(struct played){PLAY_RUNTIME(cudaMalloc_v3020), .name = "cudaMalloc",
                                         .params = &params});
    }
    return 90;
}

const struct script script_ends[] = {
    {"return", end_return},   {"exit", end_exit},
    {"_exit", end_at_once},   {"abort", end_abort},
    {"kill", end_kill},       {"segv", end_segv},
    {"fork", end_fork},       {"child", end_child},
    {"exec", end_exec},       {"fsize", end_fsize},
    {"lifted", end_lifted},   {"full", end_full},
    {"gone", end_gone},       {"chdir", end_chdir},
    {"closed", end_closed},   {"taken", end_taken},
    {"again", end_again},     {"busy", end_busy},
    {"handler", end_handler}, {"asking", end_asking},
    {"without", end_without}, {NULL, NULL},
};
