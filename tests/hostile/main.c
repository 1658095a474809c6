/* main.c - deals the inputs to processes, and adds up what came of them. */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct hostile_class *const classes[] = {&hostile_values, &hostile_combinations,
                                                      &hostile_files,  &hostile_names,
                                                      &hostile_faults, &hostile_libraries};

enum {
    CLASSES = sizeof classes / sizeof classes[0],
    JOBS_MAX = 256,
    TEXTS_BYTES = MEBI, /* of an input */
    SHOWN_MAX = 5,      /* faults of one kind in one class that are printed */
    KINDS_MAX = 64,
    DISK_KIBI = 160,
};

/* What the processes share. */
static struct shared {
    atomic_ullong next; /* the number of the next input, over all classes */
    struct tally {
        atomic_ullong inputs, accepted, refused, failed, skipped, ended, faults;
    } tallies[CLASSES];
    struct {
        _Atomic(const char *) format; /* what fault() was called with */
        atomic_int count;
    } kinds[CLASSES][KINDS_MAX];
    struct {
        int class;
        uint64_t index;
    } tried[JOBS_MAX]; /* by each process now */
} * shared;

static struct wanted {
    uint64_t inputs; /* 0: no limit but the time */
    int64_t seconds; /* 0: no limit but the number */
    int jobs;
    int class;     /* -1: all */
    int64_t index; /* -1: all */
} wanted = {.class = -1, .index = -1};

static char base[256]; /* the folder of all scratch folders */

/* --- an input --- */

static char texts[TEXTS_BYTES];
static size_t texts_used;

const char *text_of(struct input *input, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)input;
    char *text = texts + texts_used;
    const int length = vsnprintf(text, TEXTS_BYTES - texts_used, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= TEXTS_BYTES - texts_used) {
        fprintf(stderr, "hostile: the texts of an input are too long\n");
        exit(EXIT_FAILURE);
    }
    texts_used += (size_t)length + 1;
    return text;
}

void call_add(struct call *call, const char *argument)
{
    if (call->count < ARGUMENTS_MAX) {
        call->arguments[0] = call->program != NULL ? call->program : setting.program;
        call->arguments[++call->count] = argument;
    }
}

void input_set(struct input *input, const char *name, const char *value)
{
    call_add(&input->call, value == NULL ? text_of(input, "--%s", name)
                                         : text_of(input, "--%s=%s", name, value));
}

struct output *input_expect(struct input *input, const char *path)
{
    if (input->output_count == OUTPUTS_MAX)
        return NULL;
    struct output *output = &input->outputs[input->output_count++];
    output->path = path;
    return output;
}

static int class_number(const struct hostile_class *class)
{
    int number = 0;
    while (classes[number] != class)
        number++;
    return number;
}

/* Returns true the first few times that a class has a fault of the kind. */
static bool is_shown(int class, const char *format)
{
    for (int i = 0; i < KINDS_MAX; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&shared->kinds[class][i].format, &none, format) ||
            none == format)
            return atomic_fetch_add(&shared->kinds[class][i].count, 1) < SHOWN_MAX;
    }
    return false;
}

void fault(struct input *input, const char *format, ...)
{
    char *line = NULL, what[1024];
    size_t size;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    for (char *at = what; *at != '\0'; at++)
        *at = *at >= ' ' && *at < 127 ? *at : '?';
    input->faults++;
    const int class = class_number(input->class);
    atomic_fetch_add(&shared->tallies[class].faults, 1);
    if (!is_shown(class, format))
        return;
    FILE *out = open_memstream(&line, &size);
    fprintf(out, "FAULT --class=%s --index=%llu: %s: %s\n", input->class->name,
            (unsigned long long)input->index, what, shell_line(input, &input->call));
    fclose(out);
    if (write(STDOUT_FILENO, line, size) < 0)
        perror("hostile");
    free(line);
}

void run_also(struct input *input, const struct call *call, struct result *result)
{
    const bool two = call == &input->call && input->beside.count > 0;
    struct result other;
    pid_t pid, other_pid;
    child_start(call, &pid);
    if (two)
        child_start(&input->beside, &other_pid);
    child_finish(call, pid, result);
    judge_result(input, call, result);
    bool accepted = result->code == 0;
    if (two) {
        child_finish(&input->beside, other_pid, &other);
        judge_result(input, &input->beside, &other);
        accepted &= other.code == 0;
        result_free(&other);
    }
    judge_files(input, accepted);
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about;
    if (at->level > 0)
        (type == FTW_DP ? rmdir : unlink)(path);
    return 0;
}

static void empty_folder(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void count_result(const struct hostile_class *class, const struct result *result)
{
    struct tally *tally = &shared->tallies[class_number(class)];
    atomic_fetch_add(&tally->inputs, 1);
    atomic_fetch_add(result->code == 0    ? &tally->accepted
                     : result->code == 1  ? &tally->failed
                     : result->code == 2  ? &tally->refused
                     : result->code == 77 ? &tally->skipped
                                          : &tally->ended,
                     1);
}

static void try_input(const struct hostile_class *class, uint64_t index)
{
    struct input *input = calloc(1, sizeof *input);
    struct result result;
    if (input == NULL)
        exit(EXIT_FAILURE);
    input->class = class;
    input->index = index;
    input->chance.state =
        setting.seed * 0x9e3779b97f4a7c15u ^ index << 8 ^ (uint64_t)class_number(class);
    draw_below(&input->chance, 1);
    texts_used = 0;
    empty_folder("../disk");
    empty_folder("../tmp");
    empty_folder(".");
    class->make(input);
    judge_begin(input);
    run_also(input, &input->call, &result);
    count_result(class, &result);
    class->judge(input, &result);
    if (wanted.index >= 0)
        printf("%s\n%s%s%sexit %d, %d faults, in %s\n", shell_line(input, &input->call),
               result.out, result.err, result.signal != 0 ? "ended by a signal, " : "",
               result.code, input->faults, getcwd(texts, sizeof texts));
    result_free(&result);
    for (int i = 0; i < input->output_count; i++) {
        free(input->outputs[i].before);
        free(input->outputs[i].whole);
        free(input->outputs[i].other);
    }
    free(input->drawn);
    free(input);
}

/* --- a process that tries inputs --- */

/* Input `number` of all is of one class after the other, by their weights. */
static const struct hostile_class *deal(uint64_t number, uint64_t *index)
{
    unsigned total = 0;
    if (wanted.class >= 0) {
        *index = number;
        return classes[wanted.class];
    }
    for (int i = 0; i < CLASSES; i++)
        total += classes[i]->weight;
    uint64_t place = number % total;
    int class = 0;
    for (; place >= classes[class]->weight; class ++)
        place -= classes[class]->weight;
    *index = number / total * classes[class]->weight + place;
    return classes[class];
}

static bool write_text(const char *path, const char *text)
{
    return file_write(path, text, strlen(text));
}

/* Puts a disk that is soon full at "../disk", which only this process and its children see.
 * Returns false where the system does not let us. */
static bool mount_disk(void)
{
    char map[64], options[32];
    const uid_t user = getuid();
    const gid_t group = getgid();
    if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            return false;
        snprintf(map, sizeof map, "%u %u 1", (unsigned)user, (unsigned)user);
        bool mapped =
            write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", map);
        snprintf(map, sizeof map, "%u %u 1", (unsigned)group, (unsigned)group);
        if (!mapped || !write_text("/proc/self/gid_map", map))
            return false;
    }
    snprintf(options, sizeof options, "size=%dk", DISK_KIBI);
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "../disk", "tmpfs", 0, options) == 0;
}

/* Makes the scratch folder of a process, "BASE/JOB/here", and goes there. */
static bool enter_folder(int job)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%d", base, job);
    return mkdir(path, 0700) == 0 && chdir(path) == 0 && mkdir("disk", 0700) == 0 &&
           mkdir("tmp", 0700) == 0 && mkdir("here", 0700) == 0 && chdir("here") == 0;
}

_Noreturn static void work(int job, time_t end)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!enter_folder(job)) {
        perror("hostile: no scratch folder");
        exit(EXIT_FAILURE);
    }
    setting.has_disk = mount_disk();
    if (!setting.has_disk && job == 0)
        printf("hostile: no disk could be mounted, so limits of file sizes stand for full "
               "disks\n");
    uint64_t index;
    if (wanted.index >= 0) {
        try_input(classes[wanted.class], (uint64_t)wanted.index);
        exit(EXIT_SUCCESS);
    }
    for (;;) {
        uint64_t number = atomic_fetch_add(&shared->next, 1);
        if ((wanted.inputs > 0 && number >= wanted.inputs) || (end > 0 && time(NULL) >= end))
            exit(EXIT_SUCCESS);
        const struct hostile_class *class = deal(number, &index);
        shared->tried[job].class = class_number(class);
        shared->tried[job].index = index;
        try_input(class, index);
    }
}

/* --- the command line --- */

static uint64_t number_of(const char *text)
{
    char *end;
    errno = 0;
    const uint64_t number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text) {
        fprintf(stderr, "hostile: '%s' is no number\n", text);
        exit(2);
    }
    return number;
}

static int class_of(const char *name)
{
    for (int i = 0; i < CLASSES; i++) {
        if (strcmp(classes[i]->name, name) == 0)
            return i;
    }
    fprintf(stderr, "hostile: there is no class '%s'; there are:", name);
    for (int i = 0; i < CLASSES; i++)
        fprintf(stderr, " %s", classes[i]->name);
    fputc('\n', stderr);
    exit(2);
}

static void read_arguments(int argc, char *argv[])
{
    static const struct option rows[] = {
        {"seed", 1, NULL, 's'},    {"inputs", 1, NULL, 'n'}, {"seconds", 1, NULL, 't'},
        {"class", 1, NULL, 'c'},   {"index", 1, NULL, 'i'},  {"jobs", 1, NULL, 'j'},
        {"program", 1, NULL, 'p'}, {NULL, 0, NULL, 0},
    };
    setting.program = PIPELINE_PROGRAM;
    setting.tests = TESTS_FOLDER;
    for (int letter; (letter = getopt_long(argc, argv, "", rows, NULL)) >= 0;) {
        switch (letter) {
        case 's':
            setting.seed = number_of(optarg);
            break;
        case 'n':
            wanted.inputs = number_of(optarg);
            break;
        case 't':
            wanted.seconds = (int64_t)number_of(optarg);
            break;
        case 'c':
            wanted.class = class_of(optarg);
            break;
        case 'i':
            wanted.index = (int64_t)number_of(optarg);
            break;
        case 'j':
            wanted.jobs = (int)number_of(optarg);
            break;
        case 'p':
            setting.program = realpath(optarg, NULL);
            break;
        default:
            fprintf(stderr,
                    "usage: hostile [--seed=N] [--inputs=N | --seconds=S] [--class=NAME "
                    "[--index=I]] [--jobs=J] [--program=PATH]\n");
            exit(2);
        }
    }
    if (wanted.index >= 0 && wanted.class < 0) {
        fprintf(stderr, "hostile: --index needs --class\n");
        exit(2);
    }
}

/* Sets what was not given, and what the program tells. */
static void settle(void)
{
    size_t size;
    char *program = setting.program != NULL ? file_read(setting.program, &size) : NULL;
    if (program == NULL) {
        fprintf(stderr, "hostile: there is no such program\n");
        exit(2);
    }
    setting.sanitized = memmem(program, size, "__asan_init", 11) != NULL;
    free(program);
    if (setting.seed == 0 && getrandom(&setting.seed, 4, 0) != 4)
        setting.seed = 1;
    if (wanted.inputs == 0 && wanted.seconds == 0)
        wanted.inputs = 1000;
    if (wanted.jobs <= 0)
        wanted.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (wanted.jobs > JOBS_MAX || wanted.index >= 0)
        wanted.jobs = wanted.index >= 0 ? 1 : JOBS_MAX;
    const char *folder = getenv("TMPDIR");
    snprintf(base, sizeof base, "%s/pipeline-hostile-XXXXXX", folder != NULL ? folder : "/tmp");
    shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mkdtemp(base) == NULL || shared == MAP_FAILED) {
        perror("hostile");
        exit(EXIT_FAILURE);
    }
}

static void print_row(const char *name, const struct tally *tally)
{
    printf("%-14s %9llu %9llu %9llu %9llu %9llu %9llu %9llu\n", name, tally->inputs,
           tally->accepted, tally->refused, tally->failed, tally->skipped, tally->ended,
           tally->faults);
}

/* Returns true if there are no faults. */
static bool print_table(void)
{
    struct tally sum = {0};
    printf("%-14s %9s %9s %9s %9s %9s %9s %9s\n", "class", "inputs", "accepted", "refused",
           "failed", "77", "by signal", "faults");
    for (int i = 0; i < CLASSES; i++) {
        const struct tally *tally = &shared->tallies[i];
        print_row(classes[i]->name, tally);
        sum.inputs += tally->inputs;
        sum.accepted += tally->accepted;
        sum.refused += tally->refused;
        sum.failed += tally->failed;
        sum.skipped += tally->skipped;
        sum.ended += tally->ended;
        sum.faults += tally->faults;
    }
    print_row("all", &sum);
    return sum.faults == 0;
}

int main(int argc, char *argv[])
{
    bool broken = false;
    int status;
    read_arguments(argc, argv);
    settle();
    printf("hostile --seed=%llu\n", (unsigned long long)setting.seed);
    fflush(stdout);
    const time_t end = wanted.seconds > 0 ? time(NULL) + wanted.seconds : 0;
    pid_t workers[JOBS_MAX];
    for (int job = 0; job < wanted.jobs; job++) {
        workers[job] = fork();
        if (workers[job] == 0)
            work(job, end);
    }
    for (int job = 0; job < wanted.jobs; job++) {
        if (waitpid(workers[job], &status, 0) == workers[job] && status == 0)
            continue;
        broken = true;
        printf("hostile: a process of the test itself failed, at --class=%s --index=%llu\n",
               classes[shared->tried[job].class]->name,
               (unsigned long long)shared->tried[job].index);
    }
    const bool right = print_table();
    if (wanted.index < 0) {
        empty_folder(base);
        rmdir(base);
    }
    return right && !broken ? EXIT_SUCCESS : EXIT_FAILURE;
}
