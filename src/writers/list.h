/* list.h - the list of timeline writers: a row for each ending of --timeline=FILE, with what it
 * is for people, and the function that writes it. A new form is a row here and a file beside
 * it. */
#ifndef PIPELINE_WRITERS_LIST_H
#define PIPELINE_WRITERS_LIST_H

/* Forms that are written as text. */
#define TIMELINE_TEXTS(ROW)                                                                    \
    ROW(".csv", "every span of every run, under lines of provenance", write_csv_timeline)      \
    ROW(".json", "a Chrome trace, for Perfetto", write_trace)                                  \
    ROW(".html", "a page to look around in", write_html)

/* Forms that a program draws into the file. */
#define TIMELINE_PICTURES(ROW)                                                                 \
    ROW(".svg", "a picture, drawn by gnuplot", plot_draw)                                      \
    ROW(".png", "a picture, drawn by gnuplot", plot_draw)                                      \
    ROW(".pdf", "a picture, drawn by gnuplot", plot_draw)

#endif
