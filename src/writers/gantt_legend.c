/* gantt_legend.c - the Gantt's colours, its time axis and its legend. */
#include "writers/gantt.h"

#include <stdio.h>
#include <string.h>

enum {
    TICK_COLUMNS = 10, /* from tick to tick, at least */
    LINE_MAX = GANTT_WIDTH_MAX + 1,
    NAME_COLUMNS = 24, /* of a kernel */
    NAME_TEXT = 4 * NAME_COLUMNS + 4,
};

const char gantt_letters[] = "HKLMNOPQRDCBEZSA-.|";

/* Okabe and Ito's colours by the nearest of a terminal's 256, and grey. */
static int color_of(int mark)
{
    switch (mark) {
    case MARK_H2D:
        return 25;
    case MARK_D2H:
        return 36;
    case MARK_CPU:
        return 175;
    case MARK_D2D:
        return 166;
    case MARK_MEMSET:
        return 227;
    case MARK_CALLBACK:
    case MARK_SYNC:
    case MARK_ALLOC:
    case MARK_WAIT:
    case MARK_IDLE:
        return 245;
    case MARK_LIMIT:
        return 160;
    default:
        return 178;
    }
}

void gantt_color(struct picture *picture, int mark, bool solid)
{
    int color = color_of(mark), wanted = solid ? -color : color;
    if (!picture->style->color || wanted == picture->color)
        return;
    picture->color = wanted;
    if (solid)
        fprintf(picture->out, "\033[0;48;5;%d;38;5;%dm", color, mark == MARK_H2D ? 231 : 16);
    else
        fprintf(picture->out, "\033[0;38;5;%dm", color);
}

void gantt_color_off(struct picture *picture)
{
    if (picture->color != 0)
        fputs("\033[0m", picture->out);
    picture->color = 0;
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

/* A kernel's name where all runs that have that link agree on it; cut where it is long. */
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

/* How a span of several columns looks. */
static void print_bar_entry(struct picture *picture, int *used)
{
    bool tile = picture->seen_tile;
    const char *words = tile ? "one span, of tile 7" : "one span";
    if (picture->style->color)
        print_entry(picture, used, MARK_H2D, tile ? "H7" : "H", words);
    else
        print_entry(picture, used, -1, tile ? "H7==" : "H==", words);
}

void gantt_put_legend(struct picture *picture)
{
    static const char *const words[] = {
        [MARK_H2D] = "h2d",           [MARK_D2H] = "d2h",     [MARK_CPU] = "cpu",
        [MARK_CALLBACK] = "callback", [MARK_D2D] = "d2d",     [MARK_MEMSET] = "memset",
        [MARK_SYNC] = "sync",         [MARK_ALLOC] = "alloc", [MARK_WAIT] = "wait",
        [MARK_IDLE] = "idle",         [MARK_LIMIT] = "limit",
    };
    int used = 0;
    for (int mark = 0; mark <= MARK_LIMIT; mark++) {
        char letter[2] = {gantt_letters[mark], '\0'}, text[NAME_TEXT];
        if (!picture->seen[mark])
            continue;
        bool kernel = mark >= MARK_KERNEL && mark < MARK_D2H;
        print_entry(picture, &used, mark, letter,
                    kernel ? kernel_name(picture, mark - MARK_KERNEL, text) : words[mark]);
    }
    if (picture->seen_bar)
        print_bar_entry(picture, &used);
    if (picture->seen_small)
        print_entry(picture, &used, -1, "small letter:", "busy under half");
    putc('\n', picture->out);
}
