/* progress.c - the thread that draws the progress line, and the calls that tell it of the run.
 */
#include "term/progress.h"

#include "core/c_locale.h"
#include "core/escape.h"
#include "core/status.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { NAME_MAX_KEPT = 128, COLUMNS_DEFAULT = 80 };
static const int64_t second_ns = 1000000000, redraw_ns = 250000000;
/* Where there is no terminal: the time to the first line and from line to line, and beyond ten
 * of these a tenth of the time so far, so that a long job's log stays short. */
static const int64_t report_ns = 5000000000;

/* There is one terminal, and one line. `lock` guards all but the atomics: those are told while
 * a run is timed, or are read by a signal handler. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    pthread_t thread;
    bool on, ending;
    bool plain; /* no terminal: lines of a log */
    struct progress_state state;
    char name[NAME_MAX_KEPT];
    int64_t begin_ns, run_begin_ns, repeats_begin_ns;
    double least;    /* of the bar */
    char said[1024]; /* the last note */
    char drawn[PROGRESS_TEXT];
    atomic_uint done, tiles;
    atomic_llong timed_ns; /* the start of the timed part; 0: nothing is timed */
    atomic_int shown;      /* columns of the line that is on the terminal */
    atomic_bool drawing, aborted;
} line = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * second_ns + now.tv_nsec;
}

static double seconds_since(int64_t begin_ns, int64_t ns)
{
    return (double)(ns - begin_ns) / (double)second_ns;
}

/* --- drawing --- */

static int terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : COLUMNS_DEFAULT;
}

/* Draws the line in one write, so that nothing flickers, and blanks the rest of a longer one.
 */
static void put_line(const char *text, int columns)
{
    char bytes[2 * PROGRESS_TEXT];
    int length = (int)strlen(text), before = atomic_load(&line.shown);
    int padding = (before < columns - 1 ? before : columns - 1) - length;
    int total = snprintf(bytes, sizeof bytes, "\r%s%*s%s", text, padding > 0 ? padding : 0, "",
                         length == 0 ? "\r" : "");
    atomic_store(&line.drawing, true);
    if (!atomic_load(&line.aborted)) {
        ssize_t written = write(STDERR_FILENO, bytes, (size_t)total);
        int end = length + (padding > 0 ? padding : 0);
        atomic_store(&line.shown, written < 0 ? before : length > 0 ? end : 0);
    }
    atomic_store(&line.drawing, false);
    strcpy(line.drawn, text);
}

static void wipe(void)
{
    if (atomic_load(&line.shown) > 0)
        put_line("", terminal_columns());
}

/* Returns false if a shell has put the program into the background: the terminal is then the
 * shell's. */
static bool in_foreground(void)
{
    pid_t group = tcgetpgrp(STDERR_FILENO);
    return group < 0 || group == getpgrp();
}

static bool is_due(int64_t ns)
{
    int64_t timed_ns = atomic_load(&line.timed_ns);
    return ns - line.begin_ns >= (line.plain ? report_ns : second_ns) &&
           (timed_ns == 0 || ns - timed_ns >= second_ns) && in_foreground();
}

static void draw(int64_t ns)
{
    struct progress_state *state = &line.state;
    char text[PROGRESS_TEXT];
    unsigned tiles = atomic_load(&line.tiles), done = atomic_load(&line.done);
    int columns = terminal_columns();
    state->tiles = tiles > 0 ? (double)done / tiles : 0;
    state->elapsed_s = seconds_since(line.begin_ns, ns);
    state->run_s = seconds_since(line.run_begin_ns, ns);
    state->repeats_s = seconds_since(line.repeats_begin_ns, ns);
    progress_line(state, columns, &line.least, text);
    if (line.plain)
        fprintf(stderr, "pipeline: %s\n", text);
    else if (strcmp(text, line.drawn) != 0 || atomic_load(&line.shown) > columns)
        put_line(text, columns);
}

/* Returns how long the line that was drawn stays. */
static int64_t wait_ns(int64_t ns)
{
    const int64_t tenth_ns = (ns - line.begin_ns) / 10;
    if (!line.plain)
        return redraw_ns;
    return tenth_ns > report_ns ? tenth_ns : report_ns;
}

static void *tick(void *unused)
{
    int64_t next_ns = line.begin_ns + (line.plain ? report_ns : second_ns);
    c_locale_enter();
    pthread_mutex_lock(&line.lock);
    while (!line.ending) {
        struct timespec until = {next_ns / second_ns, next_ns % second_ns};
        if (pthread_cond_timedwait(&line.ended, &line.lock, &until) != ETIMEDOUT)
            continue;
        int64_t ns = now_ns();
        if (is_due(ns))
            draw(ns);
        next_ns = ns + wait_ns(ns);
    }
    wipe();
    pthread_mutex_unlock(&line.lock);
    return unused;
}

/* --- being told --- */

/* Starts the thread with all signals blocked: the handler runs in another thread and waits for
 * this one to finish drawing. */
static bool start_thread(void)
{
    sigset_t all, before;
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool started = pthread_cond_init(&line.ended, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (!started)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&line.thread, NULL, tick, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started)
        pthread_cond_destroy(&line.ended);
    return started;
}

void progress_begin(int runs, double work, bool quiet)
{
    const char *term = getenv("TERM");
    if (quiet || line.on)
        return;
    line.plain = !isatty(STDERR_FILENO) || (term != NULL && strcmp(term, "dumb") == 0);
    line.state =
        (struct progress_state){.run = -1, .runs = runs, .work_left = work, .name = ""};
    line.begin_ns = line.run_begin_ns = line.repeats_begin_ns = now_ns();
    line.ending = false;
    line.least = 0;
    line.drawn[0] = '\0';
    line.on = start_thread(); /* where that fails there is no line, and the run goes on */
}

void progress_more(int runs, double work)
{
    if (!line.on)
        return;
    pthread_mutex_lock(&line.lock);
    line.state.runs += runs;
    line.state.work_left += work;
    pthread_mutex_unlock(&line.lock);
}

/* Learns from the run that ends how long one unit of work takes. */
static void learn_rate(int64_t ns)
{
    static const double newer = 0.4;
    struct progress_state *state = &line.state;
    if (state->work <= 0)
        return;
    double rate_s = seconds_since(line.run_begin_ns, ns) / state->work;
    state->rate_s = state->rate_s > 0 ? newer * rate_s + (1 - newer) * state->rate_s : rate_s;
}

void progress_next(const char *name, double work)
{
    if (!line.on)
        return;
    pthread_mutex_lock(&line.lock);
    int64_t ns = now_ns();
    struct progress_state *state = &line.state;
    if (state->run >= 0)
        learn_rate(ns);
    escape_text(line.name, sizeof line.name, name);
    state->run++;
    state->name = line.name;
    state->repeat = state->repeats = 0;
    state->work = work;
    state->work_left -= work;
    line.run_begin_ns = line.repeats_begin_ns = ns;
    atomic_store(&line.tiles, 0);
    pthread_mutex_unlock(&line.lock);
}

void progress_repeat(uint32_t repeat, uint32_t repeats)
{
    if (!line.on)
        return;
    pthread_mutex_lock(&line.lock);
    if (repeat == 0)
        line.repeats_begin_ns = now_ns();
    line.state.repeat = repeat;
    line.state.repeats = repeats;
    atomic_store(&line.tiles, 0);
    pthread_mutex_unlock(&line.lock);
}

void progress_timed(bool timed)
{
    if (line.on)
        atomic_store(&line.timed_ns, timed ? now_ns() : 0);
}

void progress_tile(uint32_t done, uint32_t tiles)
{
    atomic_store_explicit(&line.done, done, memory_order_relaxed);
    atomic_store_explicit(&line.tiles, tiles, memory_order_relaxed);
}

void note_print(bool quiet, const char *format, ...)
{
    char raw[sizeof line.said], text[sizeof line.said];
    if (quiet)
        return;
    PRINT_REST(raw, sizeof raw, format);
    escape_text(text, sizeof text, raw);
    pthread_mutex_lock(&line.lock);
    if (strcmp(text, line.said) != 0) {
        strcpy(line.said, text);
        wipe();
        line.drawn[0] = '\0';
        fprintf(stderr, "pipeline: note: %s\n", text);
    }
    pthread_mutex_unlock(&line.lock);
}

void progress_end(void)
{
    if (!line.on)
        return;
    pthread_mutex_lock(&line.lock);
    line.ending = true;
    pthread_cond_signal(&line.ended);
    pthread_mutex_unlock(&line.lock);
    pthread_join(line.thread, NULL);
    pthread_cond_destroy(&line.ended);
    line.on = false;
}

void progress_abort(void)
{
    enum { PATIENCE = 50 };
    char blanks[PROGRESS_TEXT + 4];
    atomic_store(&line.aborted, true);
    for (int i = 0; i < PATIENCE && atomic_load(&line.drawing); i++)
        poll(NULL, 0, 2);
    int shown = atomic_load(&line.shown);
    if (shown == 0)
        return;
    int length = shown + 2; /* the line, and the ^C that the terminal put behind it */
    blanks[0] = '\r';
    memset(blanks + 1, ' ', (size_t)length);
    blanks[length + 1] = '\r';
    ssize_t written = write(STDERR_FILENO, blanks, (size_t)length + 2);
    (void)written; /* an error could not be told any more */
}
