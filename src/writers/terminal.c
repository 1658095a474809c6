/* terminal.c - looks at standard output and the environment. */
#include "writers/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
