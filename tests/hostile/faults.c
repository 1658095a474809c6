/* faults.c - what goes wrong around the program: full disks, closed descriptors, signals,
 * memory that runs out, a gnuplot that fails, another writer of the same files, and things in
 * their way. Whatever happens, each file is as it was, whole, or not there; nothing else stays;
 * and exit 0 means that all is whole. */
#include "hostile.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum what {
    DISK,
    SIZE,
    FULL,
    CLOSED,
    SIGNAL,
    IGNORED,
    HARMLESS,
    MEMORY,
    GNUPLOT,
    TWO,
    IN_THE_WAY,
    INPUTS,
    WHATS
};

/* --- a command that writes files --- */

static void add_output(struct input *input, const char *option, const char *path)
{
    input_set(input, option, path);
    input_expect(input, path);
}

static void copy_file(struct input *input, const char *from, const char *to)
{
    size_t size;
    char *bytes = file_read(text_of(input, "%s/%s", setting.tests, from), &size);
    if (bytes == NULL || !file_write(to, bytes, size))
        fault(input, "the test lacks %s", from);
    free(bytes);
}

/* Writes timelines into `folder`, some as pictures. */
static void add_timelines(struct input *input, const char *folder, unsigned pictures)
{
    static const char *const texts[] = {"t.csv", "t.json", "t.html"};
    for (int i = 0; i < 3; i++) {
        if (draw_percent(&input->chance, i < 2 ? 50 : 20))
            add_output(input, "timeline", text_of(input, "%s%s", folder, texts[i]));
    }
    if (draw_percent(&input->chance, pictures) || input->output_count == 0) {
        const char *path = text_of(input, "%sg.%s", folder,
                                   pictures > 0 ? draw_word(input, "svg png pdf") : "csv");
        add_output(input, "timeline", path);
        if (pictures > 0) /* the data stays where gnuplot fails */
            input_expect(input, text_of(input, "%s.csv", path))->spare = true;
    }
}

static void make_command(struct input *input, const char *folder, unsigned pictures)
{
    struct chance *chance = &input->chance;
    if (draw_percent(chance, 25)) {
        call_add(&input->call, "view");
        copy_file(input, "data/traces/streams.csv", "in.csv");
        call_add(&input->call, "in.csv");
    } else {
        const uint64_t elements = draw_between(chance, 1000, 8000);
        const bool two = draw_percent(chance, 30);
        const char *text =
            text_of(input, "[a]\noutput = %so.npy\n[b]\nkernel = sum\noutput = %sp.npy\n",
                    folder, folder);
        input_set(input, "device", "sim:h200");
        input_set(input, "elements", text_of(input, "%u", (unsigned)elements));
        input_set(input, "tiles", "4");
        if (two && file_write("job.ini", text, strlen(text))) {
            call_add(&input->call, "job.ini");
            input_expect(input, text_of(input, "%so.npy", folder));
            input_expect(input, text_of(input, "%sp.npy", folder));
        } else if (draw_percent(chance, 70)) {
            add_output(input, "output", text_of(input, "%so.npy", folder));
        }
    }
    add_timelines(input, folder, pictures);
    input_set(input, "format", draw_word(input, "json csv text"));
    call_add(&input->call, "-q");
}

/* Runs the command while nothing is wrong, and keeps what it writes. Then puts files in the
 * place of some outputs. Returns how long it took, in us. */
static int64_t run_before(struct input *input)
{
    struct result result;
    pid_t pid;
    child_start(&input->call, &pid);
    child_finish(&input->call, pid, &result);
    for (int i = 0; i < input->output_count; i++) {
        struct output *output = &input->outputs[i];
        const char *ending = strrchr(output->path, '.');
        char *whole = file_read(output->path, &output->whole_size);
        if (strcmp(ending, ".pdf") != 0) /* which says when it was made */
            output->whole = whole;
        else
            free(whole);
        remove(output->path);
        if (whole != NULL && draw_percent(&input->chance, 50))
            file_write(output->path, "as it was\n", 10);
    }
    if (result.code != 0 && input->what != DISK) /* which may be too small for all */
        fault(input, "fails before anything is wrong: %.300s", result.err);
    const int64_t us = result.us;
    result_free(&result);
    return us;
}

/* --- what goes wrong --- */

/* Returns one of the outputs that are written where nothing is wrong, and removes it. */
static const char *take_output(struct input *input)
{
    const struct output *output;
    do
        output = &input->outputs[draw_below(&input->chance, (uint64_t)input->output_count)];
    while (output->spare);
    remove(output->path);
    return output->path;
}

static void make_disk(struct input *input)
{
    static const char zeros[160 * 1024];
    make_command(input, "../disk/", 15);
    run_before(input);
    file_write("../disk/filler", zeros, draw_below(&input->chance, sizeof zeros));
}

static void make_size(struct input *input)
{
    make_command(input, "", 15);
    run_before(input);
    input->call.file_bytes = 1 + draw_between(&input->chance, 0, 200000);
}

/* Some outputs, or standard output, are a disk that is always full. */
static void make_full(struct input *input)
{
    make_command(input, "", 15);
    run_before(input);
    if (draw_percent(&input->chance, 30))
        input->call.out_path = "/dev/full";
    else if (symlink("/dev/full", take_output(input)) != 0)
        fault(input, "the test can't link to /dev/full");
}

static void make_closed(struct input *input)
{
    make_command(input, "", 30);
    run_before(input);
    input->call.closed = 1 + (unsigned)draw_below(&input->chance, 7);
}

static void make_signal(struct input *input)
{
    static const int signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,    SIGTRAP,   SIGABRT,
                                  SIGBUS,  SIGFPE,  SIGUSR1, SIGSEGV,   SIGUSR2,   SIGPIPE,
                                  SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ,   SIGVTALRM, SIGPROF,
                                  SIGIO,   SIGPWR,  SIGSYS,  SIGSTKFLT, SIGKILL};
    make_command(input, "", 15);
    const int64_t us = run_before(input);
    if (draw_percent(&input->chance, 10)) {
        input->call.out_path = "|";
        return;
    }
    input->call.signal = DRAW_OF(&input->chance, signals);
    input->call.delay_us = (int64_t)draw_below(&input->chance, (uint64_t)(us + us / 4));
}

/* Signals that were ignored from the start change nothing, ... */
static void make_ignored(struct input *input)
{
    static const int signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                  SIGALRM, SIGPIPE, SIGCHLD, SIGXCPU};
    make_command(input, "", 25);
    const int64_t us = run_before(input);
    input->call.ignored = input->call.signal = DRAW_OF(&input->chance, signals);
    input->call.delay_us = (int64_t)draw_below(&input->chance, (uint64_t)us);
}

/* ... and neither do these. */
static void make_harmless(struct input *input)
{
    static const int signals[] = {SIGCONT, SIGWINCH, SIGURG, SIGCHLD};
    make_command(input, "", 25);
    const int64_t us = run_before(input);
    input->call.signal = DRAW_OF(&input->chance, signals);
    input->call.delay_us = (int64_t)draw_below(&input->chance, (uint64_t)us);
}

static void add_variable(struct input *input, const char *text)
{
    input->call.extra[input->call.extra_count++] = text;
}

/* An allocation fails, or all from one on: tests/hostile/no_memory.c. */
static void make_memory(struct input *input)
{
    make_command(input, "", 5);
    run_before(input);
    const uint64_t at = draw_between(&input->chance, 1, 4000);
    add_variable(input, "LD_PRELOAD=" BUILD_FOLDER "/tests/hostile/no_memory.so");
    add_variable(input, text_of(input, "NO_MEMORY_AT=%u", (unsigned)at));
    add_variable(input, draw_percent(&input->chance, 50) ? "NO_MEMORY_KIND=once"
                                                         : "NO_MEMORY_KIND=from");
}

/* A fake gnuplot: tests/hostile/gnuplot.sh. Those that hang take a minute. */
static void make_gnuplot(struct input *input)
{
    const char *kind =
        draw_word(input, "missing not-executable folder no-program no-interpreter fails "
                         "fails-silently escapes killed nothing half other grandchild");
    struct call make_it = {0};
    struct result made;
    pid_t pid;
    make_command(input, "", 100);
    if (strcmp(kind, "grandchild") != 0)
        run_before(input);
    make_it.program = "/bin/sh";
    call_add(&make_it, text_of(input, "%s/hostile/gnuplot.sh", setting.tests));
    call_add(&make_it, kind);
    call_add(&make_it, "fake");
    child_start(&make_it, &pid);
    child_finish(&make_it, pid, &made);
    if (made.code != 0)
        fault(input, "the test has no fake gnuplot: %.200s", made.err);
    result_free(&made);
    add_variable(input, "PATH=fake");
    input_expect(input, "fake/pid");
    input_expect(input, "fake/grandchild");
}

/* Another command with other data writes the same files at the same time. */
static void make_two(struct input *input)
{
    make_command(input, "", 10);
    run_before(input);
    input->beside = input->call;
    call_add(&input->beside,
             input->beside.count > 0 && strcmp(input->call.arguments[1], "view") == 0
                 ? "--window=10%..90%"
                 : "--seed=7");
    for (int i = 0; i < input->output_count; i++) {
        input->outputs[i].other = input->outputs[i].whole;
        input->outputs[i].other_size = input->outputs[i].whole_size;
        input->outputs[i].whole = NULL;
    }
    struct call call = input->call;
    input->call = input->beside;
    run_before(input);
    input->call = call;
}

/* Something that is no file has the name of an output. */
static void make_in_the_way(struct input *input)
{
    make_command(input, "", 10);
    run_before(input);
    const char *path = take_output(input);
    bool made = false;
    switch (draw_below(&input->chance, 6)) {
    case 0:
        made = mkfifo(path, 0600) == 0;
        break;
    case 1:
        made = mkdir(path, 0700) == 0;
        break;
    case 2:
        made = symlink(path, path) == 0;
        break;
    case 3:
        made = symlink("nowhere/at-all", path) == 0;
        break;
    case 4:
        made = file_write("kept.txt", "kept\n", 5) && link("kept.txt", path) == 0;
        break;
    default:
        made = file_write("kept.txt", "kept\n", 5) && symlink("kept.txt", path) == 0;
        input_expect(input, "kept.txt");
    }
    if (!made)
        fault(input, "the test can put nothing in the way of %s", path);
}

/* An output is a file that is read, by its own name, by another way to it, or by a link. */
static void make_inputs(struct input *input)
{
    struct chance *chance = &input->chance;
    static const struct {
        const char *from, *path;
    } reads[] = {{"data/f32.npy", "in.npy"},
                 {"data/traces/streams.csv", "in.csv"},
                 {"../configs/machines/h200.ini", "in.ini"},
                 {"fuzz/seeds/config/only-global.ini", "job.ini"}};
    const unsigned which = (unsigned)draw_below(chance, 4);
    const char *path = reads[which].path, *other = path;
    copy_file(input, reads[which].from, path);
    if (which == 3)
        file_write(path, "[a]\nelements = 1000\ntiles = 3\n", 30);
    const unsigned how = (unsigned)draw_below(chance, 5);
    if (how == 1)
        other = text_of(input, "./%s", path);
    else if (how == 2)
        other = text_of(input, "../here/%s", path);
    else if (how > 2)
        other = which == 1 ? "same.csv" : "same.npy";
    if (how > 2 && (how == 3 ? link(path, other) : symlink(path, other)) != 0)
        fault(input, "the test can't link to %s", path);
    input_set(input, "elements", "1000");
    if (which == 1)
        call_add(&input->call, "view"), call_add(&input->call, path);
    else
        input_set(input, "device", which == 2 ? text_of(input, "sim:./%s", path) : "sim:h200");
    if (which == 0)
        input_set(input, "input", path);
    else if (which == 3)
        call_add(&input->call, path);
    input_set(input, which == 1 ? "timeline" : "output", other);
    input_expect(input, path);
}

static void (*const makers[WHATS])(struct input *) = {
    [DISK] = make_disk,
    [SIZE] = make_size,
    [FULL] = make_full,
    [CLOSED] = make_closed,
    [SIGNAL] = make_signal,
    [IGNORED] = make_ignored,
    [HARMLESS] = make_harmless,
    [MEMORY] = make_memory,
    [GNUPLOT] = make_gnuplot,
    [TWO] = make_two,
    [IN_THE_WAY] = make_in_the_way,
    [INPUTS] = make_inputs,
};

static void make(struct input *input)
{
    const unsigned weights[WHATS] = {
        [DISK] = setting.has_disk ? 12 : 0,
        [SIZE] = 12,
        [FULL] = 8,
        [CLOSED] = 8,
        [SIGNAL] = 30,
        [IGNORED] = 8,
        [HARMLESS] = 3,
        [MEMORY] =
            !setting.sanitized && access(BUILD_FOLDER "/tests/hostile/no_memory.so", R_OK) == 0
                ? 10
                : 0,
        [GNUPLOT] = 3,
        [TWO] = 6,
        [IN_THE_WAY] = 6,
        [INPUTS] = 6};
    unsigned total = 0, what = 0;
    for (int i = 0; i < WHATS; i++)
        total += weights[i];
    uint64_t place = draw_below(&input->chance, total);
    for (; place >= weights[what]; what++)
        place -= weights[what];
    input->what = (int)what;
    makers[what](input);
}

static bool is_as_it_was(const struct output *output)
{
    size_t size;
    char *bytes = file_read(output->path, &size);
    bool same = bytes != NULL && output->before != NULL && size == output->before_size &&
                memcmp(bytes, output->before, size) == 0;
    free(bytes);
    return same;
}

static void judge(struct input *input, const struct result *result)
{
    struct stat about;
    bool full = input->call.out_path != NULL && strcmp(input->call.out_path, "/dev/full") == 0;
    switch (input->what) {
    case IGNORED:
    case HARMLESS:
        if (result->code != 0)
            fault(input, "a signal that changes nothing: exit %d: %.200s", result->code,
                  result->err);
        break;
    case FULL:
        for (int i = 0; i < input->output_count; i++)
            full |= stat(input->outputs[i].path, &about) == 0 && S_ISCHR(about.st_mode);
        if (full && result->code == 0)
            fault(input, "exit 0, but /dev/full took nothing");
        break;
    case INPUTS:
        if (!is_as_it_was(&input->outputs[0]))
            fault(input, "an input is overwritten");
        else if (result->code != 2)
            fault(input, "exit %d: an output that is an input is not refused", result->code);
        break;
    default:
        break;
    }
}

const struct hostile_class hostile_faults = {
    .name = "faults", .weight = 4, .make = make, .judge = judge};
