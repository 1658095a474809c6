/* table.c - a table with a row per run: how wide, where folded, line by line. */
#include "writers/table.h"

#include <stdio.h>
#include <string.h>

enum {
    NAME_COLUMNS = 20, /* of a run's name */
    GAP = 2,           /* between columns */
};

/* A table being written, and how wide each column is. */
struct table {
    FILE *out;
    const struct report *report;
    const struct writer_style *style;
    const struct table_column *columns;
    int widths[TABLE_COLUMNS_MAX];
    int count;
    int name_width;
};

void table_name(const struct run_report *run, char text[TABLE_NAME])
{
    writer_fit(text, TABLE_NAME, run->settings->name, NAME_COLUMNS);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void measure(struct table *table)
{
    char text[TABLE_NAME];
    for (int i = 0; i < table->report->run_count; i++) {
        table_name(&table->report->runs[i], text);
        table->name_width = larger(table->name_width, writer_columns(text));
    }
    for (int c = 0; c < table->count; c++) {
        int width = (int)strlen(table->columns[c].title);
        for (int i = 0; i < table->report->run_count; i++) {
            table->columns[c].show(&table->report->runs[i], text);
            width = larger(width, (int)strlen(text));
        }
        table->widths[c] = width;
    }
}

/* Returns the end of the group that begins at column `first`. */
static int group_end(const struct table *table, int first)
{
    int end = first + 1;
    while (end < table->count && table->columns[end].group == table->columns[first].group)
        end++;
    return end;
}

static int columns_width(const struct table *table, int first, int end)
{
    int width = 0;
    for (int c = first; c < end; c++)
        width += GAP + table->widths[c];
    return width;
}

/* Returns the end of the fold that begins at column `first`: it has as many whole groups as
 * there is room for or, where not even one fits, as many columns, at least one. */
static int fold_end(const struct table *table, int first)
{
    int room = table->style->width - table->name_width, end = first;
    while (end < table->count && columns_width(table, first, group_end(table, end)) <= room)
        end = group_end(table, end);
    if (end > first)
        return end;
    end = first + 1;
    while (end < group_end(table, first) && columns_width(table, first, end + 1) <= room)
        end++;
    return end;
}

/* Prints one line. Blanks are kept back until something follows them: no line ends in blanks.
 */
static void print_line(const struct table *table, const char *name, int first, int end,
                       const struct run_report *run)
{
    int blanks = table->name_width - writer_columns(name);
    fputs(name, table->out);
    for (int c = first; c < end; c++) {
        const struct table_column *column = &table->columns[c];
        char text[CELL_TEXT];
        if (run != NULL)
            column->show(run, text);
        else
            snprintf(text, sizeof text, "%s", column->title);
        int padding = table->widths[c] - (int)strlen(text);
        blanks += GAP + (column->left ? 0 : padding);
        fprintf(table->out, "%*s%s", blanks, "", text);
        blanks = column->left ? padding : 0;
    }
}

static void print_folds(const struct table *table)
{
    const char *bold = table->style->color ? "\033[1m" : "";
    const char *plain = table->style->color ? "\033[0m" : "";
    for (int first = 0; first < table->count;) {
        int end = fold_end(table, first);
        fprintf(table->out, "\n%s", bold);
        print_line(table, "run", first, end, NULL);
        fprintf(table->out, "%s\n", plain);
        for (int i = 0; i < table->report->run_count; i++) {
            char name[TABLE_NAME];
            table_name(&table->report->runs[i], name);
            print_line(table, name, first, end, &table->report->runs[i]);
            putc('\n', table->out);
        }
        first = end;
    }
}

void table_write(FILE *out, const struct report *report, const struct writer_style *style,
                 const struct table_column *columns, int count)
{
    struct table table = {.out = out,
                          .report = report,
                          .style = style,
                          .columns = columns,
                          .count = count,
                          .name_width = sizeof "run" - 1};
    measure(&table);
    print_folds(&table);
}
