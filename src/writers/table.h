/* table.h - a table with a row per run, folded where it is wider than the terminal. */
#ifndef PIPELINE_WRITERS_TABLE_H
#define PIPELINE_WRITERS_TABLE_H

#include "writers/cells.h"
#include "writers/writer.h"

enum {
    TABLE_COLUMNS_MAX = 32,
    TABLE_NAME = CELL_TEXT * 4, /* room for a run's name in a table */
};

struct table_column {
    int group; /* a table is folded between groups, where a whole one finds room on a line */
    const char *title;
    cell_show *show;
    bool left; /* words stand left, figures right */
};

/* Writes the run's name as tables show it: cut where it is long. */
void table_name(const struct run_report *run, char text[TABLE_NAME]);

/* Writes a row for each run, under titles: the run's name, and `count` columns, at most
 * TABLE_COLUMNS_MAX. Each fold begins with an empty line and repeats the names. */
void table_write(FILE *out, const struct report *report, const struct writer_style *style,
                 const struct table_column *columns, int count);

#endif
