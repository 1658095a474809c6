/* html.h - what the files of the page's writer share. */
#ifndef PIPELINE_WRITERS_HTML_H
#define PIPELINE_WRITERS_HTML_H

#include "report/report.h"
#include "writers/json.h"

enum { HTML_COLUMNS = 2000 }; /* of the time axis, where things are not drawn one by one */

/* Time that something takes of each column. It adds the part that it takes of the columns in
 * which it begins and ends to `part`; `whole` counts where the columns begin and end that it
 * takes wholly. Begins with zeroes. */
struct html_use {
    double part[HTML_COLUMNS + 1];
    int whole[HTML_COLUMNS + 1];
};
void html_use_add(struct html_use *use, int64_t start_ns, int64_t end_ns,
                  double columns_per_ns);

/* Writes how much of each column is taken, in percent. */
void html_put_use(struct json *json, const struct html_use *use);

/* Write a whole number. JavaScript's are whole up to 2^53: larger ones go as text. */
void html_put_exact(struct json *json, int64_t value);
void html_put_bytes(struct json *json, uint64_t bytes);

/* Returns true if the page shows threads of the run: it was recorded, with its calls. */
bool html_has_threads(const struct run_report *run);

/* Writes the table of calls, which threads' calls name by their row. */
void html_put_calls(struct json *json);

/* Writes members of a recorded run, which is open: what its threads called, its NVTX ranges,
 * the lines of its source and, where `spans`, what is known of each span beyond its times.
 * Calls and ranges beyond *room, which becomes less, are written as how much of each column
 * they take. Nothing of other runs. */
void html_put_threads(struct json *json, const struct run_report *run, bool spans,
                      double columns_per_ns, uint32_t *room);

#endif
