/* gantt_even.c - columns of the terminal Gantt that ops shorter than a column share.
 *
 * Ops that come once in two or three columns beat against the columns: some rows of letters
 * would look denser than others though the engine is as busy all along. */
#include "writers/gantt.h"

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
