/* writer.h - what shows a report: one function per form, chosen by --format or a file's ending.
 *
 * Writers only read the report. They write to a FILE and leave its errors to its owner, who
 * checks ferror() (output_file_commit() does). One that needs memory returns STATUS_NO_MEMORY
 * where that runs out: what it wrote then lacks a part, and must not pass for whole. */
#ifndef PIPELINE_WRITERS_WRITER_H
#define PIPELINE_WRITERS_WRITER_H

#include "core/escape.h"
#include "core/units.h"
#include "options/options.h"
#include "report/report.h"
#include "term/output_file.h"
#include "writers/json.h"

#include <stdio.h>

struct writer_style {
    bool color; /* terminal colours */
    int width;  /* columns */
    enum gantt gantt;
    int verbose;
};

/* The writer of each --format; NULL for FORMAT_TEXT, which each command puts together from the
 * functions below. */
typedef enum status report_writer(FILE *out, const struct report *report);
extern report_writer *const report_writers[FORMAT_COUNT];

#define DECLARE_FORMAT(value, name, write) report_writer write;
REPORT_FORMATS(DECLARE_FORMAT)
#undef DECLARE_FORMAT

/* The report as text: what was done, a table with a row per run, predictions, latencies,
 * hazards. */
void write_text(FILE *out, const struct report *report, const struct writer_style *style);

/* A sweep as text: a table with a row per value (or pair of values). */
void write_sweep(FILE *out, const struct report *report, const struct writer_style *style);

/* `pipeline compare`: a row for each run (of many the worst, unless verbose), and how all do.
 */
enum status write_compare(FILE *out, const struct report *report,
                          const struct writer_style *style);

/* --model: each run's time, the predicted one and how far that is off; else nothing. */
void write_predictions(FILE *out, const struct report *report,
                       const struct writer_style *style);

/* Writes how long tiles of each priority took: where a run has priorities, or --verbose. */
void write_latency(FILE *out, const struct report *report, const struct writer_style *style);

/* `pipeline view`: another program's ops by name and engine, what overlapped, and the gaps. */
enum status write_view(FILE *out, const struct report *report,
                       const struct writer_style *style);

/* The terminal Gantt: a row per engine lane or stream of every run, on one time axis. */
enum status write_gantt(FILE *out, const struct report *report,
                        const struct writer_style *style);

/* Writes what the runs did in words: each fact once, behind the names of its runs where it does
 * not hold for all of them. */
void write_facts(FILE *out, const struct report *report, const struct writer_style *style);

/* Writes one line for each run that was judged: the cause whose fix gains most, what it cost,
 * and the time with the fix. */
void write_answers(FILE *out, const struct report *report, const struct writer_style *style);

/* Writes why each run took longer than its limit: the causes, what was seen of them, and the
 * fixes that were tried. */
void write_verdicts(FILE *out, const struct report *report, const struct writer_style *style);

/* --dry-run: the plan, readably: a summary and one line per op. */
enum status write_plan(FILE *out, const struct plan *plan, const struct settings *settings);

/* The data that the page of a timeline draws, as JSON and nothing else: for the lab page, which
 * gets it anew with each change. */
enum status write_page_data(FILE *out, const struct report *report);

/* The lab page: plots/'s viewer with what src/lab/ adds to it, the simulator included. */
enum status write_lab(FILE *out);

/* The choices that a picture leaves to its reader. */
struct picture_style {
    enum picture_size size;
    enum gantt rows;    /* by engine or by stream; GANTT_NONE is taken as engines */
    const char *ending; /* of the file's name as it was given: ".svg" */
};

/* The list of timeline writers: a row for each ending of --timeline=FILE, with what it is for
 * people, and the function that writes it. A new form is a row here and a file beside this. */

/* Forms that are written as text. */
#define TIMELINE_TEXTS(ROW)                                                                    \
    ROW(".csv", "every span of every run, under lines of provenance", write_csv_timeline)      \
    ROW(".json", "a Chrome trace, for Perfetto", write_trace)                                  \
    ROW(".html", "a page to look around in", write_html)

/* Forms that a program draws into the file. That may fail: STATUS_FAILED. */
#define TIMELINE_PICTURES(ROW)                                                                 \
    ROW(".svg", "a picture, drawn by gnuplot", plot_draw)                                      \
    ROW(".png", "a picture, drawn by gnuplot", plot_draw)                                      \
    ROW(".pdf", "a picture, drawn by gnuplot", plot_draw)

/* A writer of timeline files has one of two functions. */
typedef enum status picture_writer(struct output_file *file, const struct report *report,
                                   const struct picture_style *style, struct error *error);
struct timeline_writer {
    const char *ending;  /* ".csv" */
    const char *summary; /* for people */
    report_writer *write;
    picture_writer *draw;
};
extern const struct timeline_writer timeline_writers[]; /* ended by a row with no ending */

#define DECLARE_TIMELINE(ending, summary, function) report_writer function;
TIMELINE_TEXTS(DECLARE_TIMELINE)
#undef DECLARE_TIMELINE
#define DECLARE_PICTURE(ending, summary, function) picture_writer function;
TIMELINE_PICTURES(DECLARE_PICTURE)
#undef DECLARE_PICTURE

/* Finds the writer for `path`'s ending. STATUS_USAGE names the endings that there are. */
enum status timeline_writer_find(const char *path, const struct timeline_writer **writer,
                                 struct error *error);

/* Writes a CSV field by RFC 4180: quoted, quotes doubled, where it holds a comma or a quote; or
 * '#', so that no row is taken for a comment. It is marked by a ' before it where a spreadsheet
 * would take it for a formula (it begins with =, +, - or @ and is no number), where it has what
 * a terminal would obey or is no UTF-8, and where it begins with a ' itself. In a marked field
 * core/escape.h's escapes stand for such characters, and \\ for a backslash: csv_unmark() of
 * trace/csv_line.c gives back what it was. */
void write_csv_field(FILE *out, const char *text);

/* Writes the same without quotes: for the end of a line of provenance. */
void write_csv_line(FILE *out, const char *text);

static inline int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Shared by the writers: text that came from the user, made fit to be shown. */

/* Copies `text` into `fitted`, escaped as core/escape.h has it, as a line of `columns`
 * characters at most; ".." at its end shows a cut. Returns `fitted`. */
const char *writer_fit(char *fitted, size_t room, const char *text, int columns);

/* Returns how many characters `text`, valid UTF-8, takes on a line. */
int writer_columns(const char *text);

/* Writes `text`, one line, escaped, and broken between words where it is wider than `width` or
 * than 100 columns; further lines begin `indent` columns in. Blanks at its beginning count. */
void writer_put_words(FILE *out, int width, int indent, const char *text);

/* Writes words made by `format` in the same way, at most 4 KiB of them. */
void writer_print_words(FILE *out, int width, int indent, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A time axis from 0: ticks 1, 2 or 5 times a power of ten apart, and how to label them. */
struct writer_ticks {
    const char *unit; /* "ms" */
    double unit_ns, step_ns;
    int decimals; /* of a label, in `unit` */
};

/* The closest ticks of an axis of `length_ns`, `columns` long, that are at least `apart`
 * columns from one another and leave two between their labels. */
struct writer_ticks writer_ticks_choose(int64_t length_ns, int columns, int apart);

/* Returns how to fix a cause in the calls of what the run's program is written with, and sets
 * `calls` to that: "CUDA", or "PyTorch". "": the cause says it. */
const char *writer_how(const struct run_report *run, enum verdict_code code,
                       const char **calls);

/* Returns what to call an engine: "H2D" or, of several devices, "1 H2D". */
enum { ENGINE_LABEL = 24 };
const char *writer_engine(struct resource engine, uint32_t devices, char text[ENGINE_LABEL]);

/* Writes what `run` ran on for a line: of several devices "2 x NVIDIA H200", or each where they
 * differ.
 */
enum { DEVICES_TEXT = 512 };
void writer_devices(const struct run_report *run, char text[DEVICES_TEXT]);

/* Writes which loop of another program is judged: "191 passes of 14 ops, 4.72 ms each". Returns
 * false, and writes nothing, where all is. */
enum { WRITER_LOOP = 96 };
bool writer_loop(const struct run_report *run, char text[WRITER_LOOP]);

/* Returns the part of a time that a run needed, on average, to do what it is compared by once:
 * a pass of a loop, say; all of it where it is compared whole. */
int64_t writer_of_round(const struct run_report *run, int64_t time_ns);

/* Returns true if a run has a limit: it is one of ours, now or in a file that tells it. */
bool writer_limit_known(const struct run_report *run);

/* What sets a limit, by enum limit_cause, and the verb that it takes: "the copies", "allow". */
extern const struct writer_bound {
    const char *name, *allows;
} writer_bounds[];

/* Writes a time with a fix, and how sure it is: "about 5.76 ms, 5.35 to 6.22, which may be no
 * gain". Returns `text`. */
enum { WRITER_ABOUT = UNITS_ABOUT + 32 };
const char *writer_about(int64_t ns, const struct prospect *prospect, char text[WRITER_ABOUT]);

/* Writes where a run comes from: "measured, NVIDIA H200, driver 13.0". */
enum { ORIGIN_TEXT = 1024 };
void writer_origin(const struct run_report *run, char text[ORIGIN_TEXT]);

/* Writes ": 22.4 ms, 1.90x, limit 21.2 ms": the median of the run's times, its speed-up unless
 * it is `alone`, or that its result is wrong, and the time of the run that is drawn where the
 * two differ to the eye. Of another program's run no more is known than its time. */
enum { FIGURES_TEXT = 256 };
void writer_figures(const struct run_report *run, bool alone, char text[FIGURES_TEXT]);

/* Writes "pipeline 0.1.0" on a line. */
void writer_put_title(FILE *out, const struct report *report);

/* Returns the style for standard output: its width (80 columns when it is no terminal), and
 * colours only on a terminal, unless --no-color, NO_COLOR (no-color.org) or TERM=dumb says
 * otherwise. */
struct writer_style terminal_style(const struct options *options);

/* --- plan_json.c: `--dry-run --format=json`: the plans of all runs, one after the other --- */

/* A document that is being written to `out`, which is not owned. Zero-initialise the rest. */
struct plan_list {
    FILE *out;
    struct put put;
    struct json json;
};

/* Writes a plan, its settings, the hazards of `run` and all ops; the first also begins the
 * document. */
void plan_list_add(struct plan_list *list, const struct plan *plan,
                   const struct settings *settings, const struct run_report *run);

/* Ends the document, also after a failure, so that it is JSON. Nothing is written where no plan
 * was. */
void plan_list_end(struct plan_list *list);

/* --- plot.c --- */

/* Does what plot_draw() does, with `seconds` for gnuplot instead of a minute. STATUS_FAILED:
 * `error` says why there is no picture, and where its data was kept. Nothing is written to
 * `file` before the picture is whole. */
enum status plot_draw_within(int seconds, struct output_file *file, const struct report *report,
                             const struct picture_style *style, struct error *error);

#endif
