/* progress_line.c - the text of the progress line, cut to fit the terminal. */
#include "term/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BAR_MAX = 30, PIECE_MAX = 48, NAME_MAX_SHOWN = 40, SPARE_COLUMNS = 4, LINE_LEAST = 12 };

/* Estimates the run's seconds from its repeats that are done or, before there is one, from the
 * runs before. Tiles count by half: when all are done, the result is still to be verified. */
static double run_left_s(const struct progress_state *state)
{
    double left = -1;
    if (state->repeat > 0)
        left = state->repeats_s / (state->repeat + state->tiles / 2) *
               (state->repeats - state->repeat - state->tiles / 2);
    else if (state->rate_s > 0)
        left = state->rate_s * state->work - state->run_s;
    else
        return -1;
    return left > 0 ? left : 0;
}

double progress_left_s(const struct progress_state *state)
{
    double left = run_left_s(state);
    if (left < 0 || state->work_left <= 0)
        return left;
    if (state->rate_s > 0)
        return left + state->rate_s * state->work_left;
    return state->work > 0 ? left + (state->run_s + left) / state->work * state->work_left : -1;
}

/* Writes "12 s", "3 min 20 s" or "2 h 5 min". */
static void time_text(double seconds, char text[PIECE_MAX])
{
    enum { WORTH_MINUTES = 100, HOUR = 3600, MOST = 99 * HOUR };
    int whole = seconds < MOST ? (int)(seconds + 0.5) : MOST;
    whole = whole < 1 ? 1 : whole;
    if (whole < WORTH_MINUTES)
        snprintf(text, PIECE_MAX, "%d s", whole);
    else if (whole < HOUR)
        snprintf(text, PIECE_MAX, "%d min %d s", whole / 60, whole % 60);
    else
        snprintf(text, PIECE_MAX, "%d h %d min", whole / HOUR, whole % HOUR / 60);
}

static void head_text(const struct progress_state *state, char text[PIECE_MAX])
{
    if (state->runs > 1)
        snprintf(text, PIECE_MAX, "run %d of %d", state->run + 1, state->runs);
    else if (state->repeats > 1)
        snprintf(text, PIECE_MAX, "repeat %" PRIu32 " of %" PRIu32, state->repeat + 1,
                 state->repeats);
    else
        snprintf(text, PIECE_MAX, "%s", state->repeats > 0 ? "running" : "preparing");
}

/* Writes " [#####.....]", or nothing where `width` is 0. */
static void bar_text(double share, int width, char text[PIECE_MAX])
{
    int filled = (int)(share * width + 1e-9);
    text[0] = '\0';
    if (width == 0)
        return;
    memset(text, '.', PIECE_MAX);
    memcpy(text, " [", 2);
    memset(text + 2, '#', (size_t)(filled < width ? filled : width));
    strcpy(text + 2 + width, "]");
}

/* Cuts a long name in its middle: names of a sweep differ at their ends. */
static void name_text(const char *name, int room, char text[PIECE_MAX])
{
    int length = (int)strlen(name), end = (room - 2) * 2 / 3;
    if (room == 0)
        text[0] = '\0';
    else if (length <= room)
        snprintf(text, PIECE_MAX, "%s", name);
    else
        snprintf(text, PIECE_MAX, "%.*s..%s", room - 2 - end, name, name + length - end);
}

/* Returns the share of the whole that is done; negative: unknown. */
static double share_done(const struct progress_state *state, double left)
{
    if (left >= 0 && state->elapsed_s > 0)
        return state->elapsed_s / (state->elapsed_s + left);
    if (state->runs > 1)
        return (double)state->run / state->runs;
    return state->tiles > 0 ? state->tiles / state->repeats : -1;
}

const char *progress_line(const struct progress_state *state, int columns, double *least,
                          char text[PROGRESS_TEXT])
{
    static const struct {
        int bar, name; /* at most */
    } forms[] = {{BAR_MAX, NAME_MAX_SHOWN},
                 {20, NAME_MAX_SHOWN},
                 {10, NAME_MAX_SHOWN},
                 {10, 24},
                 {10, 16},
                 {10, 0},
                 {0, 0}};
    enum { FORMS = sizeof forms / sizeof forms[0] };
    char head[PIECE_MAX], bar[PIECE_MAX], name[PIECE_MAX], time[PIECE_MAX];
    int room = columns - SPARE_COLUMNS < LINE_LEAST ? LINE_LEAST : columns - SPARE_COLUMNS;
    double left = progress_left_s(state), share = share_done(state, left);
    *least = share > *least ? share : *least;
    head_text(state, head);
    time_text(left >= 0 ? left : state->elapsed_s, time);
    for (int i = 0; i < FORMS; i++) {
        bar_text(*least, share >= 0 ? forms[i].bar : 0, bar);
        name_text(state->runs > 1 ? state->name : "", forms[i].name, name);
        int length = snprintf(text, PROGRESS_TEXT, "%s%s%s%s%s %s %s", head, bar,
                              name[0] != '\0' ? " " : "", name,
                              name[0] != '\0' || left < 0 || bar[0] == '\0' ? "," : "", time,
                              left >= 0 ? "left" : "so far");
        if (length <= room)
            return text;
    }
    snprintf(text, PROGRESS_TEXT, "%.*s", room, time);
    return text;
}
