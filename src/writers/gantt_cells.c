/* gantt_cells.c - the columns of a row of the terminal Gantt: which letter each shows, and
 * printing them.
 *
 * Ops that come once in two or three columns beat against the columns: some rows of letters
 * would look denser than others though the engine is as busy all along. So columns that ops
 * shorter than a column share are evened. */
#include "writers/gantt.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- even columns --- */

enum {
    REACH = 2,      /* columns to either side that a column is judged with */
    TOLD_LEAST = 4, /* columns that tell how busy an engine is about there */
};
static const float ALONE = 1.05F; /* two columns hold no more of ops with gaps of a column */
static const float LEAST = 0.1F;  /* an engine that is busy for less is shown as idle */

/* A bar counts as more than a column, so that no gap beside it is filled. */
static float busy_at(const float *busy, int columns, int c)
{
    return c < 0 || c >= columns ? 0 : busy[c] < 0 ? 2 : busy[c];
}

/* Fills gaps from `first` to `end` that short ops on both sides leave between them. */
static void fill_gap(const float *busy, int columns, int first, int end, bool *small)
{
    float left = busy_at(busy, columns, first - 1) + busy_at(busy, columns, first - 2);
    float right = busy_at(busy, columns, end) + busy_at(busy, columns, end + 1);
    bool between = first > 0 && end < columns && end - first <= REACH;
    bool enough = left + right >= LEAST * (float)(end - first + 2 * REACH);
    for (int c = first; c < end; c++)
        small[c] = between && enough && left <= ALONE && right <= ALONE;
}

/* Returns true if the engine is busy for less than half of the time about column `c`. */
static bool is_sparse(const float *busy, int columns, int c, const bool *small)
{
    float sum = busy[c];
    int told = 1;
    for (int step = -1; step <= 1; step += 2) {
        for (int i = 1; i <= REACH; i++) {
            int at = c + i * step;
            float share = busy_at(busy, columns, at);
            if (at < 0 || at >= columns || (share == 0 && !small[at]))
                break;
            sum += share;
            told++;
        }
    }
    return told >= TOLD_LEAST && sum < GANTT_HALF * (float)told;
}

void gantt_even(const float *busy, int columns, bool *small)
{
    for (int c = 0, end; c < columns; c = end) {
        end = c + 1;
        small[c] = false;
        while (busy[c] == 0 && end < columns && busy[end] == 0)
            end++;
        if (busy[c] == 0)
            fill_gap(busy, columns, c, end, small);
    }
    for (int c = 0; c < columns; c++)
        small[c] |= busy[c] >= GANTT_HALF && is_sparse(busy, columns, c, small);
}

/* --- letters --- */

/* One column as it is printed. */
struct glyph {
    char letter;
    int mark;
    bool solid; /* busy for half the time or more */
};

static struct glyph glyph_of(const struct cell *cell)
{
    if (cell->letter != '\0')
        return (struct glyph){cell->letter, cell->mark,
                              islower((unsigned char)cell->letter) == 0};
    int most = 0;
    float busy = 0;
    for (int mark = 0; mark < MARK_WAIT; mark++) {
        busy += cell->share[mark];
        if (cell->share[mark] > cell->share[most])
            most = mark;
    }
    if (busy >= GANTT_HALF)
        return (struct glyph){gantt_letter(most), most, true};
    if (busy > 0)
        return (struct glyph){(char)tolower(gantt_letter(most)), most, false};
    int mark = cell->share[MARK_WAIT] >= GANTT_HALF ? MARK_WAIT : MARK_IDLE;
    return (struct glyph){gantt_letter(mark), mark, false};
}

void gantt_even_cells(struct cell *cells, int columns)
{
    float busy[GANTT_WIDTH_MAX + 1] = {0};
    bool small[GANTT_WIDTH_MAX + 1];
    int last = MARK_IDLE;
    for (int c = 0; c < columns; c++) {
        busy[c] = cells[c].letter != '\0' ? -1 : 0;
        for (int mark = 0; mark < MARK_WAIT && busy[c] >= 0; mark++)
            busy[c] += cells[c].share[mark];
    }
    gantt_even(busy, columns, small);
    for (int c = 0; c < columns; c++) {
        last = busy[c] != 0 ? glyph_of(&cells[c]).mark : last;
        if (small[c])
            cells[c].letter = (char)tolower(gantt_letter(last));
        if (small[c])
            cells[c].mark = (uint8_t)last;
    }
}

static void print_glyph(struct picture *picture, struct glyph glyph)
{
    bool solid = glyph.solid && glyph.mark < MARK_WAIT;
    picture->seen[glyph.mark] = true;
    picture->seen_bar |= glyph.letter == '=';
    picture->seen_small |= islower((unsigned char)glyph.letter) != 0;
    gantt_color(picture, glyph.mark, solid);
    /* On a ground of its colour a bar needs no other filling. */
    putc(solid && picture->style->color && glyph.letter == '=' ? ' ' : glyph.letter,
         picture->out);
}

bool gantt_cell_is_free(const struct cell *cell)
{
    struct glyph glyph = glyph_of(cell);
    return strchr(".-=", glyph.letter) != NULL || (cell->letter == '\0' && glyph.solid);
}

void gantt_put_cells(struct picture *picture, const struct cell *cells, int limit, bool forced)
{
    static const struct glyph mark = {'|', MARK_LIMIT, false};
    for (int c = 0; c < picture->columns; c++) {
        bool marked = c == limit && (forced || gantt_cell_is_free(&cells[c]));
        print_glyph(picture, marked ? mark : glyph_of(&cells[c]));
    }
    if (limit == picture->columns)
        print_glyph(picture, mark);
    gantt_color_off(picture);
    putc('\n', picture->out);
}
