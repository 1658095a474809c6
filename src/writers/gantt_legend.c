/* gantt_legend.c - the Gantt's colours, its headings, its time axis and its legend. */
#include "writers/gantt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    TICK_COLUMNS = 10, /* from tick to tick, at least */
    LINE_MAX = GANTT_WIDTH_MAX + 1,
    MARGIN = 12,         /* of the rows' labels: room for "stream 31" */
    MARGIN_VERBOSE = 14, /* and for "stream 1023" */
    NAME_COLUMNS = 24,   /* of a kernel */
    NAME_TEXT = 4 * NAME_COLUMNS + 4,
};

/* The colours of marks that stand for no op. */
enum { COLOR_IDLE = 245, COLOR_LIMIT = 160 };

/* Returns the kind of op that a mark stands for. The order of the marks is that of the legend.
 */
static enum op_kind kind_of(int mark)
{
    static const uint8_t kinds[MARK_COUNT] = {
        [MARK_H2D] = OP_H2D,           [MARK_D2H] = OP_D2H,     [MARK_CPU] = OP_CPU,
        [MARK_CALLBACK] = OP_CALLBACK, [MARK_D2D] = OP_D2D,     [MARK_MEMSET] = OP_MEMSET,
        [MARK_SYNC] = OP_SYNC,         [MARK_ALLOC] = OP_ALLOC, [MARK_PACK] = OP_PACK,
        [MARK_PEER] = OP_PEER,         [MARK_WAIT] = OP_WAIT,
    };
    return mark >= MARK_KERNEL && mark < MARK_D2H ? OP_KERNEL : (enum op_kind)kinds[mark];
}

int gantt_mark(enum op_kind kind)
{
    int mark = 0;
    if (op_is_sync(kind)) /* whatever the host waits for */
        kind = OP_SYNC;
    while (mark < MARK_WAIT && kind_of(mark) != kind)
        mark++;
    return mark;
}

char gantt_letter(int mark)
{
    if (mark >= MARK_COUNT)
        return mark == MARK_IDLE ? '.' : '|';
    enum op_kind kind = kind_of(mark);
    return (char)(op_rows[kind].letter + (kind == OP_KERNEL ? mark - MARK_KERNEL : 0));
}

static int color_of(int mark)
{
    if (mark >= MARK_COUNT)
        return mark == MARK_IDLE ? COLOR_IDLE : COLOR_LIMIT;
    return op_rows[kind_of(mark)].terminal;
}

void gantt_color(struct picture *picture, int mark, bool solid)
{
    int color = color_of(mark), wanted = solid ? -color : color;
    if (!picture->style->color || wanted == picture->color)
        return;
    picture->color = wanted;
    if (solid)
        fprintf(picture->out, "\033[0;48;5;%d;38;5;%dm", color,
                op_rows[kind_of(mark)].light_text ? 231 : 16);
    else
        fprintf(picture->out, "\033[0;38;5;%dm", color);
}

void gantt_color_off(struct picture *picture)
{
    if (picture->color != 0)
        fputs("\033[0m", picture->out);
    picture->color = 0;
}

/* Streams of another program may have any number. */
int gantt_margin(const struct picture *picture)
{
    bool verbose = picture->style->verbose > 0;
    uint32_t most = verbose ? LANES_MAX : LANES_SHOWN;
    int margin = verbose ? MARGIN_VERBOSE : MARGIN;
    for (int i = 0; i < picture->report->run_count; i++) {
        const struct timeline *timeline = &picture->report->runs[i].timeline;
        if (picture->style->gantt != GANTT_STREAMS || timeline->stream_ids == NULL)
            continue;
        for (uint32_t stream = 0; stream < timeline->streams && stream < most; stream++) {
            int label = snprintf(NULL, 0, "  stream %" PRIu32 " ",
                                 timeline_stream_id(timeline, stream));
            margin = label > margin ? label : margin;
        }
    }
    return margin;
}

void gantt_put_axis(const struct picture *picture)
{
    struct writer_ticks ticks =
        writer_ticks_choose(picture->length_ns, picture->columns, TICK_COLUMNS);
    char ruler[LINE_MAX + 1], numbers[LINE_MAX + 1], label[64];
    int end = 0;
    memset(ruler, '-', sizeof ruler);
    memset(numbers, ' ', sizeof numbers);
    ruler[picture->columns + 1] = '\0';
    for (int i = 0; i * ticks.step_ns <= (double)picture->length_ns; i++) {
        int at = (int)(i * ticks.step_ns * picture->scale + 0.5);
        int length = snprintf(label, sizeof label, "%.*f", ticks.decimals,
                              i * ticks.step_ns / ticks.unit_ns);
        ruler[at] = '+';
        if (at + length > picture->columns + 1)
            break;
        memcpy(numbers + at, label, (size_t)length);
        end = at + length;
    }
    numbers[end] = '\0';
    fprintf(picture->out, "%*s%s\n", picture->margin, "", ruler);
    fprintf(picture->out, "  %-*s%s\n", picture->margin - 2, ticks.unit, numbers);
}

/* Returns a kernel's name where all runs that have that link agree on it, cut where it is long.
 */
static const char *kernel_name(const struct picture *picture, int link, char text[NAME_TEXT])
{
    const char *name = NULL;
    for (int i = 0; i < picture->report->run_count; i++) {
        const struct timeline *timeline = &picture->report->runs[i].timeline;
        if ((uint32_t)link >= timeline->name_count || timeline->names[link] == NULL)
            continue;
        const char *other = timeline->names[link];
        if (name != NULL && strcmp(name, other) != 0) {
            snprintf(text, NAME_TEXT, "kernel %d", link + 1);
            return text;
        }
        name = other;
    }
    return name != NULL && !picture->one_kernel
               ? writer_fit(text, NAME_TEXT, name, NAME_COLUMNS)
               : "kernel";
}

/* Puts one entry on the legend's line, or on a new one: `sign` in the colour of `mark`, or,
 * with -1, in none. What is a ground in the picture is one here. */
static void print_entry(struct picture *picture, int *used, int mark, const char *sign,
                        const char *words)
{
    bool swatch = picture->style->color && mark >= 0 && mark < MARK_WAIT;
    int length = (int)strlen(sign) + 2 * swatch + 1 + writer_columns(words);
    if (*used > 0 && *used + 3 + length > picture->margin + picture->columns) {
        putc('\n', picture->out);
        *used = 0;
    }
    fputs(*used > 0 ? "   " : "  ", picture->out);
    if (mark >= 0)
        gantt_color(picture, mark, swatch);
    fprintf(picture->out, swatch ? " %s " : "%s", sign);
    gantt_color_off(picture);
    fprintf(picture->out, " %s", words);
    *used += length + (*used > 0 ? 3 : 2);
}

/* Adds an entry that shows how a span of several columns looks. */
static void print_bar_entry(struct picture *picture, int *used)
{
    bool tile = picture->seen_tile;
    const char *words = !tile ? "one span"
                        : report_batched(picture->report) > 0
                            ? "one span, of tile 7 or the batch from it"
                            : "one span, of tile 7";
    if (picture->style->color)
        print_entry(picture, used, MARK_H2D, tile ? "H7" : "H", words);
    else
        print_entry(picture, used, -1, tile ? "H7==" : "H==", words);
}

void gantt_put_legend(struct picture *picture)
{
    int used = 0;
    for (int mark = 0; mark <= MARK_LIMIT; mark++) {
        char letter[2] = {gantt_letter(mark), '\0'}, text[NAME_TEXT];
        if (!picture->seen[mark])
            continue;
        const char *words = mark == MARK_IDLE    ? "idle"
                            : mark == MARK_LIMIT ? "limit"
                            : kind_of(mark) == OP_KERNEL
                                ? kernel_name(picture, mark - MARK_KERNEL, text)
                                : op_rows[kind_of(mark)].name;
        print_entry(picture, &used, mark, letter, words);
    }
    if (picture->seen_bar)
        print_bar_entry(picture, &used);
    if (picture->seen_small)
        print_entry(picture, &used, -1, "small letter:", "busy under half");
    if (picture->seen_gap)
        print_entry(picture, &used, MARK_LIMIT, "^^", "lost to that cause");
    if (picture->seen_race)
        print_entry(picture, &used, MARK_LIMIT, "!!", "raced");
    if (picture->seen_issue)
        print_entry(picture, &used, -1, "issued:", "order of the calls, not time");
    enum { CROWDED = 4 }; /* ops per column of the picture: nobody sees what follows what */
    if (picture->shared > CROWDED * (uint32_t)picture->columns)
        print_entry(picture, &used, -1, "--timeline=FILE.html", "shows the ops one by one");
    putc('\n', picture->out);
}

enum { HEADING_NAME = 24, HEADING_LEAST = 8 };

void gantt_put_heading(const struct picture *picture, const struct run_report *run)
{
    char name[4 * HEADING_NAME + 4], figures[FIGURES_TEXT];
    writer_figures(run, picture->report->run_count == 1, figures);
    int room = picture->margin + picture->columns - (int)strlen(figures);
    room = room < HEADING_LEAST ? HEADING_LEAST : room > HEADING_NAME ? HEADING_NAME : room;
    writer_fit(name, sizeof name, run->settings->name, room);
    bool bold = picture->style->color;
    fprintf(picture->out, "%s%s%.*s%s\n", bold ? "\033[1m" : "", name,
            picture->margin + picture->columns - writer_columns(name), figures,
            bold ? "\033[0m" : "");
}
