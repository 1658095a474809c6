/* guest.c - a program to be recorded, in several moods: `record-guest MOOD [ARGUMENT...]`.
 * "Uses CUDA" means that it loads the library that CUDA would load. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void use_cuda(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (path == NULL)
        return;
    void *library = dlopen(path, RTLD_NOW);
    int (*initialize)(void) = NULL;
    if (library != NULL)
        *(void **)&initialize = dlsym(library, "InitializeInjection");
    if (initialize == NULL || initialize() != 1) {
        fprintf(stderr, "guest: no recorder: %s\n", dlerror());
        exit(99);
    }
}

/* Prints the lines of a file that begin with one of the words. */
static void print_lines(const char *path, const char *const *words)
{
    char line[4096];
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        for (const char *const *word = words; *word != NULL; word++) {
            if (strncmp(line, *word, strlen(*word)) == 0)
                fputs(line, stdout);
        }
    }
    if (file != NULL)
        fclose(file);
}

/* Prints all that a process is given, as far as it can be seen. */
static int print_state(int argc, char *argv[])
{
    static const char *const lines[] = {"SigBlk",        "SigIgn",     "SigCgt", "ShdPnd",
                                        "Cpus_allowed:", "NoNewPrivs", "Umask",  NULL};
    struct rlimit limit;
    char folder[4096];
    print_lines("/proc/self/status", lines);
    for (int fd = 0; fd < 64; fd++) {
        const int flags = fcntl(fd, F_GETFL);
        if (flags >= 0)
            printf("descriptor %d: %x\n", fd, (unsigned)flags);
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    printf("files %lu of %lu\n", (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
    printf("group %d session %d in %s\n", (int)getpgrp(), (int)getsid(0),
           getcwd(folder, sizeof folder));
    for (int i = 0; i < argc; i++)
        printf("argument %d: '%s'\n", i, argv[i]);
    return 0;
}

static int print_environment(void)
{
    for (char **variable = environ; *variable != NULL; variable++)
        puts(*variable);
    return 0;
}

static int copy_input(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL)
        printf("read %s", line);
    return 0;
}

/* Starts children that use CUDA, one after the other. */
static int start_children(int count)
{
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            use_cuda();
            exit(0);
        }
        wait(NULL);
    }
    return 0;
}

/* Starts a child that only asks for a GPU, and then uses CUDA, or has another child do that. */
static int ask_first(bool itself)
{
    if (fork() == 0) {
        setenv("FAKE_RECORD", "bare", 1);
        use_cuda();
        exit(0);
    }
    wait(NULL);
    if (itself)
        use_cuda();
    return itself ? 0 : start_children(1);
}

/* Leaves a child behind that uses CUDA until there is a file called `until`. */
static int leave_child(const char *until)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return 98;
    if (fork() == 0) {
        use_cuda();
        close(ends[0]);
        close(ends[1]);
        for (int i = 0; i < 3000 && access(until, F_OK) != 0; i++)
            usleep(10000);
        exit(0);
    }
    close(ends[1]);
    return read(ends[0], &byte, 1) == 0 ? 0 : 98; /* the child has begun */
}

/* Takes the name that the recording would get. */
static int take_name(void)
{
    char name[64];
    snprintf(name, sizeof name, "record-guest.%d.jsonl", (int)getpid());
    FILE *file = fopen(name, "w");
    if (file == NULL)
        return 92;
    fputs("mine\n", file);
    return fclose(file);
}

/* Ends its output and goes on until there is a file called `until`, which it then removes. */
static int close_output(const char *until)
{
    puts("all there is");
    fclose(stdout);
    for (int i = 0; i < 1000; i++) {
        if (unlink(until) == 0)
            return 0;
        usleep(10000);
    }
    return 95;
}

static volatile sig_atomic_t told;

static void on_signal(int number)
{
    told = number;
}

/* Says that it is ready, waits for a signal and exits with its number. */
static int await_signal(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGALRM, SIGWINCH};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t all, before;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    puts("ready");
    fflush(stdout);
    while (told == 0)
        sigsuspend(&before);
    return told;
}

static int run_mood(int argc, char *argv[])
{
    const char *mood = argv[1], *argument = argc > 2 ? argv[2] : "";
    if (strcmp(mood, "state") == 0)
        return print_state(argc, argv);
    if (strcmp(mood, "environment") == 0)
        return print_environment();
    if (strcmp(mood, "exit") == 0)
        return atoi(argument);
    if (strcmp(mood, "quit") == 0)
        _exit(atoi(argument));
    if (strcmp(mood, "die") == 0) {
        raise(atoi(argument));
        return 97;
    }
    if (strcmp(mood, "read") == 0)
        return copy_input();
    if (strcmp(mood, "children") == 0)
        return start_children(atoi(argument));
    if (strcmp(mood, "asker") == 0)
        return ask_first(strcmp(argument, "itself") == 0);
    if (strcmp(mood, "leave") == 0)
        return leave_child(argument);
    if (strcmp(mood, "exec") == 0) {
        execv(argument, argv + 2);
        return 96;
    }
    if (strcmp(mood, "await") == 0)
        return await_signal();
    if (strcmp(mood, "name") == 0)
        return take_name();
    if (strcmp(mood, "pause") == 0) {
        puts("ready");
        fflush(stdout);
        return pause();
    }
    if (strcmp(mood, "close") == 0)
        return close_output(argument);
    return 94;
}

/* A mood behind "no-" uses no CUDA; some use it when they want to, or in other processes alone.
 */
int main(int argc, char *argv[])
{
    if (argc < 2)
        return 93;
    const int plain = strncmp(argv[1], "no-", 3) == 0 ? 3 : 0;
    if (plain == 0 && strcmp(argv[1], "children") != 0 && strcmp(argv[1], "leave") != 0 &&
        strcmp(argv[1], "asker") != 0)
        use_cuda();
    argv[1] += plain;
    return run_mood(argc, argv);
}
