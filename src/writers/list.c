/* list.c - the formats and the timeline writers by name, from the lists of options/options.h
 * and writers/writer.h; and how standard output wants to be written to. */
#include "writers/writer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FORMAT_ROW(value, name, write) [value] = write,
report_writer *const report_writers[FORMAT_COUNT] = {REPORT_FORMATS(FORMAT_ROW)};

#define TEXT_ROW(ending, summary, function)    {ending, summary, function, NULL},
#define PICTURE_ROW(ending, summary, function) {ending, summary, NULL, function},
const struct timeline_writer timeline_writers[] = {
    /* clang-format off */
    TIMELINE_TEXTS(TEXT_ROW)
    TIMELINE_PICTURES(PICTURE_ROW)
    /* clang-format on */
    {NULL, NULL, NULL, NULL},
};

enum status timeline_writer_find(const char *path, const struct timeline_writer **writer,
                                 struct error *error)
{
    char shown[256], endings[64] = "";
    const char *slash = strrchr(path, '/');
    const char *ending = strrchr(slash != NULL ? slash : path, '.');
    for (const struct timeline_writer *row = timeline_writers; row->ending != NULL; row++) {
        if (ending == NULL || strcasecmp(ending, row->ending) != 0)
            continue;
        *writer = row;
        return STATUS_OK;
    }
    for (const struct timeline_writer *row = timeline_writers; row->ending != NULL; row++)
        text_add(endings, sizeof endings, ", ", "%s", row->ending);
    writer_fit(shown, sizeof shown, path, 100);
    return error_set(error, STATUS_USAGE,
                     "--timeline: '%s': the ending names no form of a timeline: must be %s",
                     shown, endings);
}

/* --- standard output --- */

static int terminal_columns(void)
{
    struct winsize size;
    bool known = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return known && size.ws_col > 0 ? size.ws_col : 80;
}

static bool wants_color(const struct options *options)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool refused = options->no_color || (no_color != NULL && no_color[0] != '\0');
    return isatty(STDOUT_FILENO) && !refused && (term == NULL || strcmp(term, "dumb") != 0);
}

struct writer_style terminal_style(const struct options *options)
{
    return (struct writer_style){
        .color = wants_color(options),
        .width = terminal_columns(),
        .gantt = options->gantt,
        .verbose = options->verbose,
    };
}
