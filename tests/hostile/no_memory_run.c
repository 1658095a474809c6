/* no_memory_run.c - every command of the program, with each of its allocations failing in turn.
 *
 *     no-memory [--runs=R] [--seconds=S] [--seed=N] [--jobs=J] [-v] PROGRAM LIBRARY FOLDER
 *               [COMMAND...]
 *
 * Each command runs once with memory, which counts its allocations; then with the n-th failing,
 * alone or with all after it. A run is right if it is whole, byte for byte; or if it fails with
 * exit code 1 and says in one line that memory ran out, and each of its files is the old one or
 * whole. Of R runs, or of those that S seconds are enough for, allocations that are reached in
 * a new way go first, and the rest is drawn by the seed. COMMANDs are names in the table below.
 * The exit code is 1 after a fault, and 2 where the test itself failed or has run nothing. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ARGUMENTS_MAX = 40,
    OUTPUTS_MAX = 4,
    PATH_TEXT = 512,
    WORKERS_MAX = 64,
    LIMIT_SECONDS = 120, /* a run that takes longer hangs */
    FAULTS_SHOWN = 40,
};

/* What is run, and the files that it writes. Inputs lie in ../../in. */
struct command {
    const char *name, *arguments;
    const char *outputs[OUTPUTS_MAX];
    bool measures; /* what it prints is different each time */
};

#define SMALL "-d sim:h200 -n 64k -t 4 -s 2 "
static const struct command commands[] = {
    {"text", SMALL "-v", {0}, false},
    {"json", SMALL "--format=json", {0}, false},
    {"csv", SMALL "--format=csv", {0}, false},
    {"config", "-d sim:h200 -n 64k -t 4 ways.ini --timeline=t.csv", {"t.csv"}, false},
    {"timeline-csv", SMALL "--timeline=t.csv", {"t.csv"}, false},
    {"timeline-json", SMALL "--timeline=t.json", {"t.json"}, false},
    {"timeline-html", SMALL "--timeline=t.html", {"t.html"}, false},
    {"timeline-svg", SMALL "--timeline=t.svg", {"t.svg"}, false},
    {"timeline-png", SMALL "--timeline=t.png", {"t.png"}, false},
    {"timeline-pdf", SMALL "--timeline=t.pdf", {"t.pdf"}, false},
    {"timelines", SMALL "--timeline=t.csv --timeline=t.html", {"t.csv", "t.html"}, false},
    {"html-many", "-d sim:h200 --no-data -n 64M -t 40k --timeline=t.html", {"t.html"}, false},
    {"gantt-streams", SMALL "--gantt=streams --priorities=0,-1 --callbacks", {0}, false},
    {"fix", SMALL "--fix --memory=pageable", {0}, false},
    {"fix-json", SMALL "--fix --mistake=sync-in-loop --format=json", {0}, false},
    {"mistake-race", SMALL "--layout=stage --mistake=missing-wait", {0}, false},
    {"mistake-svg",
     SMALL "--layout=stage --mistake=missing-wait --timeline=t.svg --timeline=t.html",
     {"t.svg", "t.html"},
     false},
    {"sweep", "-d sim:h200 -n 64k -s 2 --sweep=tiles=1,2,4", {0}, false},
    {"sweep-json",
     "-d sim:h200 -n 64k --sweep=tiles=1,2 --sweep=streams=1..2 --format=json",
     {0},
     false},
    {"sweep-svg", "-d sim:h200 -n 64k --sweep=tiles=1,2 --timeline=t.svg", {"t.svg"}, false},
    {"compare", "compare " SMALL, {0}, false},
    {"compare-json", "compare " SMALL "--format=json --timeline=t.csv", {"t.csv"}, false},
    {"compare-csv", "compare -d sim:h200 -n 64k --sweep=tiles=1,2 --format=csv", {0}, false},
    {"auto", "-d sim:h200 -n 64k --tiles=auto --streams=auto --model=sim", {0}, false},
    {"ways-4", SMALL "--ways=4 --cpu-share=0.5", {0}, false},
    {"graph", SMALL "--issue=graph", {0}, false},
    {"mapped", SMALL "--memory=mapped", {0}, false},
    {"old-gpu", "-d sim:c2050 -n 64k -t 4 --order=breadth", {0}, false},
    {"machine", "-d sim:../../in/machine.ini -n 64k -t 4", {0}, false},
    {"reduce", SMALL "-k sum", {0}, false},
    {"scan", SMALL "-k scan --carry=callback", {0}, false},
    {"transpose", SMALL "-k transpose-naive --columns=64", {0}, false},
    {"dgemm", "-d sim:h200 -k dgemm -n 16k --rows=128 --inner=64 -t 4 --ways=4", {0}, false},
    {"input-npy", "-d sim:h200 -i ../../in/f32.npy -t 4 -o o.npy", {"o.npy"}, false},
    {"output-raw", SMALL "-o o.raw", {"o.raw"}, false},
    {"dry-run", SMALL "--dry-run -v", {0}, false},
    {"dry-run-mistake", SMALL "--dry-run --mistake=missing-wait --layout=stage", {0}, false},
    {"fail-above", SMALL "--fail-above=any:99%", {0}, false},
    {"lesson", "lesson 20", {0}, false},
    {"view-csv", "view ../../in/saved.csv", {0}, false},
    {"view-saved", "view ../../in/saved.csv --timeline=t.csv", {"t.csv"}, false},
    {"view-nsys",
     "view ../../in/streams.csv --format=json --timeline=t.json",
     {"t.json"},
     false},
    {"view-devices",
     "view ../../in/devices.csv ../../in/serial.csv --timeline=t.html",
     {"t.html"},
     false},
    {"view-recording",
     "view ../../in/good.jsonl ../../in/devices.jsonl --timeline=t.json",
     {"t.json"},
     false},
    {"view-chrome", "view ../../in/pytorch.json.gz --timeline=t.csv", {"t.csv"}, false},
    {"view-sqlite", "view ../../in/trace.sqlite --format=json", {0}, false},
    {"view-sqlite-text", "view ../../in/trace.sqlite", {0}, false},
    {"list", "list", {0}, false},
    {"list-kernels", "list kernels", {0}, false},
    {"list-machines", "list machines", {0}, false},
    {"list-devices", "list devices", {0}, false},
    {"list-mistakes", "list mistakes", {0}, false},
    {"list-verdicts", "list verdicts", {0}, false},
    {"list-lessons", "list lessons", {0}, false},
    {"help", "--help", {0}, false},
    {"help-topic", "help tiles", {0}, false},
    {"version", "--version", {0}, false},
    {"bench", "bench --quick marks --format=json", {0}, true},
    {"bench-csv", "bench --quick transforms --format=csv", {0}, true},
    {"calibrate", "calibrate -d sim:h200 -q", {0}, true},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* --- what was asked for --- */

static double seconds;
static size_t wanted_runs; /* 0: all */
static uint64_t seed = 1;
static int jobs;
static bool verbose;
static const char *program, *library;
static char *const *names;   /* of the commands to run; none: all */
static char root[PATH_TEXT]; /* a folder of its own, with a folder for each worker */

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "no-memory: %s: %s\n", what, strerror(errno));
    exit(2);
}

static bool is_chosen(const struct command *command)
{
    bool chosen = names[0] == NULL;
    for (int i = 0; names[i] != NULL; i++)
        chosen |= strcmp(command->name, names[i]) == 0;
    return chosen;
}

static bool is_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return true;
    }
    fprintf(stderr, "no-memory: there is no command '%s'\n", name);
    return false;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A number from 0 to 1, by xorshift64*. */
static double draw(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (double)(seed * UINT64_C(2685821657736338717) >> 11) / (double)(UINT64_C(1) << 53);
}

/* --- files --- */

struct text {
    char *bytes;
    size_t length;
};

/* Reads a whole file; its bytes are NULL where there is none. A 0 follows the last byte. */
static struct text read_text(const char *folder, const char *name)
{
    char path[PATH_TEXT + 64];
    struct stat about;
    struct text text = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return text;
    if (fstat(fd, &about) != 0 || (text.bytes = malloc((size_t)about.st_size + 1)) == NULL)
        give_up(path);
    ssize_t got = read(fd, text.bytes, (size_t)about.st_size);
    text.length = got < 0 ? 0 : (size_t)got;
    text.bytes[text.length] = '\0';
    close(fd);
    return text;
}

static bool is_same(const struct text *one, const struct text *other)
{
    if (one->bytes == NULL || other->bytes == NULL)
        return one->bytes == other->bytes;
    return one->length == other->length && memcmp(one->bytes, other->bytes, one->length) == 0;
}

/* A PDF says when it was made, which is no part of the picture. */
static void forget_date(struct text *text)
{
    static const char key[] = "/CreationDate (";
    char *at = text->bytes == NULL ? NULL : memmem(text->bytes, text->length, key, strlen(key));
    for (; at != NULL && *at != ')' && *at != '\0'; at++)
        *at = 'D';
}

static const char old_text[] = "what was there before\n";

static void write_old(const char *folder, const char *name)
{
    char path[PATH_TEXT + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, old_text, strlen(old_text)) < 0)
        give_up(path);
    close(fd);
}

static bool is_output(const struct command *command, const char *name)
{
    for (int i = 0; i < OUTPUTS_MAX && command->outputs[i] != NULL; i++) {
        if (strcmp(command->outputs[i], name) == 0)
            return true;
    }
    return false;
}

/* Removes what is no output of `command` from `folder`, and names one such file. */
static bool sweep_folder(const char *folder, const struct command *command, char name[64])
{
    DIR *open_folder = opendir(folder);
    bool found = false;
    if (open_folder == NULL)
        give_up(folder);
    for (struct dirent *entry; (entry = readdir(open_folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            is_output(command, entry->d_name))
            continue;
        snprintf(name, 64, "%.63s", entry->d_name);
        unlinkat(dirfd(open_folder), entry->d_name, 0);
        found = true;
    }
    closedir(open_folder);
    return found;
}

/* --- a run --- */

struct result {
    int status; /* as waitpid() gives it */
    struct text out, err, outputs[OUTPUTS_MAX];
};

static void result_free(struct result *result)
{
    free(result->out.bytes);
    free(result->err.bytes);
    for (int i = 0; i < OUTPUTS_MAX; i++)
        free(result->outputs[i].bytes);
}

static void open_as(int descriptor, const char *path, int flags)
{
    int fd = open(path, flags, 0644);
    if (fd < 0 || dup2(fd, descriptor) < 0)
        _exit(126);
    close(fd);
}

/* In the child: becomes the program, in `folder`. */
__attribute__((noreturn)) static void become(const char *arguments, const char *folder,
                                             uint32_t at, const char *kind, bool shows)
{
    static char text[PATH_TEXT];
    char *parts[ARGUMENTS_MAX] = {(char *)program}, number[16];
    int count = 1;
    snprintf(text, sizeof text, "%s", arguments);
    for (char *part = strtok(text, " "); part != NULL; part = strtok(NULL, " "))
        parts[count++] = part;
    if (chdir(folder) != 0)
        _exit(126);
    open_as(STDIN_FILENO, "/dev/null", O_RDONLY);
    open_as(STDOUT_FILENO, "../out", O_WRONLY | O_CREAT | O_TRUNC);
    open_as(STDERR_FILENO, "../err", O_WRONLY | O_CREAT | O_TRUNC);
    snprintf(number, sizeof number, "%" PRIu32, at);
    if (library != NULL) {
        setenv("NO_MEMORY_AT", number, 1);
        setenv("NO_MEMORY_KIND", kind, 1);
        setenv("LD_PRELOAD", library, 1);
        if (at == 0)
            setenv("NO_MEMORY_LOG", "../log", 1);
        if (shows)
            setenv("NO_MEMORY_SHOW", "1", 1);
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    alarm(LIMIT_SECONDS);
    execv(program, parts);
    _exit(127);
}

/* Runs `command` in the folder `place`/run. */
static struct result run(const struct command *command, const char *place, uint32_t at,
                         const char *kind, bool shows)
{
    char folder[PATH_TEXT + 8];
    struct result result = {0};
    char name[64];
    snprintf(folder, sizeof folder, "%s/run", place);
    sweep_folder(folder, command, name); /* what another command wrote */
    for (int i = 0; i < OUTPUTS_MAX && command->outputs[i] != NULL; i++)
        write_old(folder, command->outputs[i]);
    pid_t child = fork();
    if (child < 0)
        give_up("fork");
    if (child == 0)
        become(command->arguments, folder, at, kind, shows);
    while (waitpid(child, &result.status, 0) < 0 && errno == EINTR)
        ;
    result.out = read_text(place, "out");
    result.err = read_text(place, "err");
    for (int i = 0; i < OUTPUTS_MAX && command->outputs[i] != NULL; i++) {
        result.outputs[i] = read_text(folder, command->outputs[i]);
        forget_date(&result.outputs[i]);
    }
    return result;
}

/* --- judging it --- */

/* Counts the lines of `text` that are not in `known`, but for notes, which may tell times, and
 * how far a long run is. */
static int count_new_lines(const struct text *text, const struct text *known)
{
    static const char note[] = "pipeline: note: ", left[] = " left\n", so_far[] = " so far\n";
    int count = 0;
    for (const char *line = text->bytes; *line != '\0';) {
        size_t length = strcspn(line, "\n") + 1;
        if (line[length - 1] == '\0')
            length--;
        const bool tells_progress = memmem(line, length, left, strlen(left)) != NULL ||
                                    memmem(line, length, so_far, strlen(so_far)) != NULL;
        bool plain = length > 1 && strncmp(line, note, strlen(note)) != 0 && !tells_progress;
        if (plain && memmem(known->bytes, known->length, line, length) == NULL)
            count++;
        line += length;
    }
    return count;
}

/* Says in `why` what is wrong with a run that ended by itself; returns false if nothing is. */
static bool is_wrong(const struct command *command, const struct result *result,
                     const struct result *whole, char why[128])
{
    const struct text old = {(char *)old_text, strlen(old_text)};
    const int code = WEXITSTATUS(result->status);
    const int lines = count_new_lines(&result->err, &whole->err);
    const bool says_same = lines == 0 && count_new_lines(&whole->err, &result->err) == 0;
    const bool passed = result->status == whole->status && (code == 0 || says_same);
    why[0] = '\0';
    for (int i = 0; i < OUTPUTS_MAX && command->outputs[i] != NULL; i++) {
        bool is_whole = is_same(&result->outputs[i], &whole->outputs[i]);
        if (!is_whole && (passed || !is_same(&result->outputs[i], &old)))
            snprintf(why, 128, "%s is not whole", command->outputs[i]);
    }
    if (passed && !command->measures && !is_same(&result->out, &whole->out))
        snprintf(why, 128, "exit %d, and standard output is not whole", code);
    else if (passed && command->measures &&
             count_new_lines(&result->out, &old) != count_new_lines(&whole->out, &old))
        snprintf(why, 128, "exit %d, and standard output has other lines", code);
    if (!passed && code != 1)
        snprintf(why, 128, "exit code %d", code);
    else if (!passed && strcasestr(result->err.bytes, "memory") == NULL &&
             strstr(result->err.bytes, "Thread creation failed") == NULL)
        snprintf(why, 128, "no word of memory on standard error");
    else if (!passed && lines != 1)
        snprintf(why, 128, "%d lines on standard error", lines);
    return why[0] != '\0';
}

static bool is_fault(const struct command *command, const struct result *result,
                     const struct result *whole, const char *folder, char why[128])
{
    char name[64];
    bool left = sweep_folder(folder, command, name) &&
                strstr(result->err.bytes, name) == NULL; /* data that is kept is said */
    if (WIFSIGNALED(result->status) && WTERMSIG(result->status) == SIGALRM)
        snprintf(why, 128, "hangs");
    else if (WIFSIGNALED(result->status))
        snprintf(why, 128, "SIG%s", sigabbrev_np(WTERMSIG(result->status)));
    else if (strstr(result->err.bytes, "Sanitizer: CHECK failed") != NULL)
        return false; /* it can't do without memory itself */
    else if (strstr(result->err.bytes, "Sanitizer") != NULL ||
             strstr(result->err.bytes, "runtime error") != NULL)
        snprintf(why, 128, "a sanitizer's report");
    else if (!is_wrong(command, result, whole, why)) {
        if (left)
            snprintf(why, 128, "%s is left behind", name);
        return left;
    }
    return true;
}

/* --- all runs --- */

/* A run to make; those that reach their allocation in a new way come first. */
struct job {
    uint16_t command;
    bool from;
    uint8_t rank; /* 0: new to all commands; 1: new to this one; 2: the rest */
    uint32_t at;
    double order; /* by chance */
};

static struct job *queue;
static size_t queued;
static struct result wholes[COMMANDS];

/* What the workers share. */
static struct shared {
    atomic_size_t next, runs, faults;
} * shared;

static int compare_jobs(const void *left, const void *right)
{
    const struct job *one = left, *other = right;
    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    return (one->order > other->order) - (one->order < other->order);
}

/* Returns true, and keeps `hash`, if it is not among the `count` kept. */
static bool keep_new(uint64_t *kept, size_t *count, uint64_t hash)
{
    for (size_t i = 0; i < *count; i++) {
        if (kept[i] == hash)
            return false;
    }
    kept[(*count)++] = hash;
    return true;
}

static void queue_command(size_t index, const struct text *log, uint64_t *all,
                          size_t *all_count)
{
    const size_t allocations = log->length / sizeof(uint64_t);
    uint64_t *own = malloc((allocations + 1) * sizeof *own), hash;
    size_t own_count = 0;
    queue = realloc(queue, (queued + 2 * allocations + 1) * sizeof *queue);
    if (queue == NULL || own == NULL)
        give_up("queue");
    for (size_t i = 0; i < allocations; i++) {
        memcpy(&hash, log->bytes + i * sizeof hash, sizeof hash);
        bool is_new = keep_new(own, &own_count, hash);
        uint8_t rank = !is_new ? 2 : keep_new(all, all_count, hash) ? 0 : 1;
        for (int from = 0; from < 2; from++)
            queue[queued++] =
                (struct job){(uint16_t)index, from != 0, rank, (uint32_t)i + 1, draw()};
    }
    free(own);
    if (verbose)
        printf("%-18s %6zu allocations in %zu ways\n", commands[index].name, allocations,
               own_count);
}

/* Runs every command with memory. */
static void measure(const char *place)
{
    enum { WAYS_MAX = 1 << 20 };
    uint64_t *all = malloc(WAYS_MAX * sizeof *all);
    size_t all_count = 0;
    if (all == NULL)
        give_up("ways");
    for (size_t i = 0; i < COMMANDS; i++) {
        if (!is_chosen(&commands[i]))
            continue;
        wholes[i] = run(&commands[i], place, 0, "once", false);
        struct text log = read_text(place, "log");
        if (!WIFEXITED(wholes[i].status) || WEXITSTATUS(wholes[i].status) > 1 ||
            log.bytes == NULL) {
            printf("%s fails with all memory: status %x: %s\n", commands[i].name,
                   (unsigned)wholes[i].status, wholes[i].err.bytes);
            shared->faults++;
        } else {
            queue_command(i, &log, all, &all_count);
        }
        free(log.bytes);
    }
    free(all);
    qsort(queue, queued, sizeof *queue, compare_jobs);
    if (wanted_runs > 0 && wanted_runs < queued)
        queued = wanted_runs;
}

/* Says what to run to see the fault, and through which calls it came there. */
static void show_fault(const struct command *command, const struct job *job, const char *place,
                       const char *why)
{
    char text[4096];
    const char *kind = job->from ? "from" : "once";
    struct result again = run(command, place, job->at, kind, true);
    size_t used = (size_t)snprintf(text, sizeof text, "FAULT %s n=%" PRIu32 " %s: %s\n",
                                   command->name, job->at, kind, why);
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "  NO_MEMORY_AT=%" PRIu32 " NO_MEMORY_KIND=%s NO_MEMORY_SHOW=1 "
                             "LD_PRELOAD=%s %s %s\n",
                             job->at, kind, library, program, command->arguments);
    if (verbose)
        snprintf(text + used, sizeof text - used, "%s\n", again.err.bytes);
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        give_up("standard output");
    result_free(&again);
}

static void work(const char *place, double end)
{
    char folder[PATH_TEXT + 8], why[128];
    snprintf(folder, sizeof folder, "%s/run", place);
    for (size_t at; (at = shared->next++) < queued && (end <= 0 || now() < end);) {
        const struct job *job = &queue[at];
        const struct command *command = &commands[job->command];
        struct result result = run(command, place, job->at, job->from ? "from" : "once", false);
        shared->runs++;
        bool fault = is_fault(command, &result, &wholes[job->command], folder, why);
        if (fault && shared->faults++ < FAULTS_SHOWN)
            show_fault(command, job, place, why);
        result_free(&result);
    }
}

/* --- the folders --- */

static const char *make_place(int worker, char place[PATH_TEXT])
{
    char folder[PATH_TEXT + 8];
    snprintf(place, PATH_TEXT, "%.400s/%d", root, worker);
    snprintf(folder, sizeof folder, "%s/run", place);
    if (mkdir(place, 0755) != 0 || mkdir(folder, 0755) != 0)
        give_up(folder);
    return place;
}

/* Makes the database of a trace from its SQL, where there is SQLite. */
static void make_database(void)
{
    char path[PATH_TEXT + 32];
    void *sqlite = dlopen("libsqlite3.so.0", RTLD_NOW), *handle = NULL;
    if (sqlite == NULL)
        return;
    int (*open_database)(const char *, void **);
    int (*execute)(void *, const char *, void *, void *, char **);
    int (*close_database)(void *);
    *(void **)&open_database = dlsym(sqlite, "sqlite3_open");
    *(void **)&execute = dlsym(sqlite, "sqlite3_exec");
    *(void **)&close_database = dlsym(sqlite, "sqlite3_close");
    snprintf(path, sizeof path, "%s/in", root);
    struct text sql = read_text(path, "trace.sql");
    snprintf(path, sizeof path, "%s/in/trace.sqlite", root);
    if (sql.bytes == NULL || open_database(path, &handle) != 0 ||
        execute(handle, sql.bytes, NULL, NULL, NULL) != 0)
        give_up(path);
    close_database(handle);
    free(sql.bytes);
}

/* Reads the options, and then PROGRAM, LIBRARY and FOLDER. */
static bool read_arguments(int argc, char *argv[])
{
    int i = 1;
    jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-v") == 0)
            verbose = true;
        else if (sscanf(argv[i], "--seconds=%lf", &seconds) != 1 &&
                 sscanf(argv[i], "--runs=%zu", &wanted_runs) != 1 &&
                 sscanf(argv[i], "--seed=%" SCNu64, &seed) != 1 &&
                 sscanf(argv[i], "--jobs=%d", &jobs) != 1)
            return false;
    }
    if (argc - i < 3 || seed == 0 || jobs < 1 || jobs > WORKERS_MAX)
        return false;
    program = argv[i];
    library = argv[i + 1];
    snprintf(root, sizeof root, "%.400s", argv[i + 2]);
    names = argv + i + 3;
    for (i = 0; names[i] != NULL; i++) {
        if (!is_command(names[i]))
            return false;
    }
    return true;
}

/* Lets the workers make the runs; returns true if all of them ended as they should. */
static bool work_all(void)
{
    pid_t workers[WORKERS_MAX];
    char place[PATH_TEXT];
    int status;
    bool whole = true;
    const double end = seconds > 0 ? now() + seconds : 0;
    for (int i = 0; i < jobs; i++) {
        make_place(i + 1, place);
        workers[i] = fork();
        if (workers[i] < 0)
            give_up("fork");
        if (workers[i] == 0) {
            work(place, end);
            _exit(0);
        }
    }
    for (int i = 0; i < jobs; i++) {
        if (waitpid(workers[i], &status, 0) == workers[i] && status == 0)
            continue;
        whole = false;
        printf("memory: a process of the test itself failed: status %x\n", (unsigned)status);
    }
    return whole;
}

int main(int argc, char *argv[])
{
    char place[PATH_TEXT];
    if (!read_arguments(argc, argv)) {
        fputs("usage: no-memory [--runs=R] [--seconds=S] [--seed=N] [--jobs=J] [-v] PROGRAM "
              "LIBRARY FOLDER [COMMAND...]\n",
              stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        give_up("mmap");
    printf("memory: seed %" PRIu64 "\n", seed);
    make_database();
    measure(make_place(0, place));
    const bool whole = work_all();
    if (shared->runs < queued)
        printf("memory: time for %zu of %zu runs\n", shared->runs, queued);
    printf("memory: %zu runs, %zu faults\n", shared->runs, shared->faults);
    if (!whole || shared->runs == 0)
        return 2;
    return shared->faults > 0;
}
