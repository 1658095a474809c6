/* view.h - shared by the files that write what a trace shows. */
#ifndef PIPELINE_WRITERS_VIEW_H
#define PIPELINE_WRITERS_VIEW_H

#include "trace/view.h"
#include "writers/writer.h"

/* Writes how many ops engines worked on, and how many waits and host's calls there are beside:
 * "96 ops and 3 waits or calls". */
enum { VIEW_OPS_TEXT = 64 };
void view_count_ops(const struct run_report *run, char text[VIEW_OPS_TEXT]);

/* Writes the facts about `run` that stand out, in plain words: why its ops did not overlap, as
 * far as a trace can tell, and what it can't. */
void view_put_findings(FILE *out, const struct run_report *run, const struct view_facts *facts,
                       const struct writer_style *style);

/* Writes the races of a recording, and those that it may have. */
void view_put_races(FILE *out, const struct run_report *run, const struct writer_style *style);

/* Writes two timelines side by side, run by run: what the second gained, and what changed. */
enum status view_put_pairs(FILE *out, const struct report *report,
                           const struct writer_style *style);

#endif
