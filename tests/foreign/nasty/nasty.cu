/* nasty HOW - a program that does some work on the GPU and, HOW says in which way, makes it hard to
 * record that. What it prints and how it ends must be the same with and without the recorder. */
#include "nasty.h"

#include <atomic>
#include <cstring>
#include <cuda_profiler_api.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

extern char **environ;

static std::string program; // its own path

static std::string beside(const char *name)
{
    return program.substr(0, program.rfind('/') + 1) + name;
}

static void again(const char *how)
{
    execl(program.c_str(), "nasty", how, static_cast<char *>(nullptr));
    perror("nasty: exec");
    _exit(90);
}

static int await(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void close_above_2(void)
{
    std::vector<int> open;
    DIR *folder = opendir("/proc/self/fd");
    while (dirent *entry = readdir(folder))
        if (int fd = atoi(entry->d_name); fd > 2 && fd != dirfd(folder))
            open.push_back(fd);
    closedir(folder);
    for (int fd : open)
        close(fd);
}

// --- the ways ---

static void plain(void)
{
    printf("sum %lld\n", work(20));
}

static void fork_after(void)
{
    work(5);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        printf("the child computes nothing\n");
        exit(4); // with all that is done at exit
    }
    printf("child: %d\n", await(child));
    plain();
}

static void fork_quietly(void)
{
    work(5);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(5);
    printf("child: %d\n", await(child));
    plain();
}

static void exec_itself(void)
{
    plain();
    fflush(stdout);
    again("plain");
}

static void system_and_spawn(void)
{
    work(5);
    pid_t child;
    char name[] = "true", *arguments[] = {name, nullptr};
    int shell = system("exit 3");
    printf("system: %d, spawn: %d\n", WEXITSTATUS(shell),
           posix_spawnp(&child, name, nullptr, nullptr, arguments, environ) ? -1 : await(child));
    plain();
}

static void unload(void)
{
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(beside("libnasty.so").c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "nasty: %s\n", dlerror());
            exit(91);
        }
        auto library_work = reinterpret_cast<long long (*)(int)>(dlsym(library, "library_work"));
        printf("library: %lld\n", library_work(10));
        printf("closed: %d\n", dlclose(library));
    }
}

static void exit_quietly(void)
{
    start(200);
    _exit(7);
}

static void abort_midway(void)
{
    start(200);
    abort();
}

static void segv(void)
{
    start(200);
    *const_cast<volatile int *>(static_cast<int *>(nullptr)) = 1;
}

static void sigkill(void)
{
    work(20);
    start(200);
    kill(getpid(), SIGKILL);
}

static void terminate(void)
{
    start(200);
    raise(SIGTERM);
}

static void own_injection(void)
{
    plain();
    fflush(stdout);
    setenv("CUDA_INJECTION64_PATH", beside("libnasty.so").c_str(), 1);
    again("plain");
}

static int subscribe(void)
{
    struct subscriber *mine = nullptr;
    void *cupti = nullptr;
    for (const char *name : {"libcupti.so.13", "/usr/local/cuda/lib64/libcupti.so.13",
                             "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"})
        if ((cupti = dlopen(name, RTLD_NOW)))
            break;
    if (!cupti)
        return -1;
    auto subscribe = reinterpret_cast<int (*)(subscriber **, void (*)(void *, int, unsigned, const void *), void *)>(
        dlsym(cupti, "cuptiSubscribe"));
    return subscribe ? subscribe(&mine, [](void *, int, unsigned, const void *) {}, nullptr) : -2;
}

static void cupti_first(void)
{
    printf("CUPTI: %d\n", subscribe());
    plain();
}

// The recorder came first, so this one may be refused; its own work must go on.
static void cupti_after(void)
{
    work(5);
    subscribe();
    plain();
}

static void exit_in_thread(void)
{
    std::atomic<bool> running{false};
    std::thread([&] {
        work_stream mine;
        for (;;) {
            const bool good = mine.issue(10);
            running = true;
            if (!good)
                pause(); // CUDA is being taken down
        }
    }).detach();
    while (!running)
        std::this_thread::yield();
    usleep(20000);
    exit(6);
}

static void threads_64(void)
{
    std::vector<std::thread> threads;
    std::vector<long long> sums(64);
    for (int i = 0; i < 64; i++)
        threads.emplace_back([&sums, i] { sums[i] = work(10); });
    long long sum = 0;
    for (int i = 0; i < 64; i++) {
        threads[i].join();
        sum += sums[i];
    }
    printf("sum %lld\n", sum);
}

static void *on_a_small_stack(void *sum)
{
    *static_cast<long long *>(sum) = work(10);
    return nullptr;
}

static void small_stack(void)
{
    work(1); // CUDA's own start needs more
    pthread_attr_t attributes;
    pthread_t thread;
    long long sum = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    pthread_create(&thread, &attributes, on_a_small_stack, &sum);
    pthread_join(thread, nullptr);
    printf("sum %lld\n", sum);
}

static void device_reset(void)
{
    plain();
    printf("reset: %d\n", cudaDeviceReset());
    plain();
    printf("reset: %d\n", cudaDeviceReset());
}

static void profiler(void)
{
    work(5);
    printf("start: %d\n", cudaProfilerStart());
    plain();
    printf("stop: %d\n", cudaProfilerStop());
    plain();
}

static void close_first(void)
{
    close_above_2();
    plain();
}

// A number that the recorder had may come to be another file's.
static void close_last(void)
{
    plain();
    fflush(stdout);
    char name[] = "/tmp/nasty-XXXXXX";
    close_above_2();
    std::vector<int> files{mkstemp(name)};
    for (int i = 0; i < 30; i++)
        files.push_back(dup(files[0]));
    fflush(stdout);
    if (write(files[7], "mine", 4) != 4)
        perror("nasty: write");
    const pid_t parent = getpid();
    if (fork() == 0) { // looks when this process is gone
        for (int i = 0; i < 500 && getppid() == parent; i++)
            usleep(10000);
        struct stat about;
        char words[8] = "";
        bool same = stat(name, &about) == 0 && about.st_size == 4 && pread(files[0], words, 4, 0) == 4 && !memcmp(words, "mine", 4);
        printf("the file is %s\n", same ? "as it was" : "NOT as it was");
        fflush(stdout);
        unlink(name);
        _exit(0);
    }
    exit(0);
}

static void change_folder(void)
{
    work(5);
    printf("chdir: %d\n", chdir("/"));
    plain();
}

static void small_files(void)
{
    work(5);
    rlimit limit = {4096, 4096};
    printf("limit: %d\n", setrlimit(RLIMIT_FSIZE, &limit));
    for (int i = 0; i < 30; i++)
        work(20);
    plain();
}

static void no_stdout(void)
{
    close(1);
    plain();
    printf("nobody reads this\n");
    exit(fflush(stdout) == 0 ? 0 : 8);
}

static void alarms(void)
{
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr); // without SA_RESTART
    itimerval timer = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
    for (int i = 0; i < 20; i++)
        work(20);
    plain();
}

static void at_exit(void)
{
    atexit([] {
        printf("at exit\n");
        work(3);
    });
    plain();
    exit(9);
}

static void quick(void)
{
    plain();
    fflush(stdout);
    quick_exit(10);
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"plain", plain}, {"fork_after", fork_after}, {"fork_quietly", fork_quietly}, {"exec_itself", exec_itself},
    {"system_and_spawn", system_and_spawn}, {"unload", unload}, {"exit_quietly", exit_quietly},
    {"abort_midway", abort_midway}, {"segv", segv}, {"sigkill", sigkill}, {"terminate", terminate},
    {"own_injection", own_injection}, {"cupti_first", cupti_first}, {"cupti_after", cupti_after},
    {"exit_in_thread", exit_in_thread}, {"threads_64", threads_64}, {"small_stack", small_stack},
    {"device_reset", device_reset}, {"profiler", profiler}, {"close_first", close_first}, {"close_last", close_last},
    {"change_folder", change_folder}, {"small_files", small_files}, {"no_stdout", no_stdout}, {"alarms", alarms},
    {"at_exit", at_exit}, {"quick", quick},
};

int main(int argc, char **argv)
{
    char path[4096] = "";
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        return 92;
    program = path;
    for (const auto &way : ways)
        if (argc == 2 && !strcmp(argv[1], way.name)) {
            way.run();
            return 0;
        }
    for (const auto &way : ways)
        printf("%s\n", way.name);
    return argc > 1 ? 2 : 0;
}
