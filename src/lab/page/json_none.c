/* json_none.c - stands for trace/own_json.c on a page, which has no Jansson. */
#include "trace/build.h"
#include "trace/own.h"

enum status own_json_read(struct trace_input *input, const char *path, struct traces *traces,
                          struct error *error)
{
    char shown[TRACE_SHOWN];
    (void)input;
    (void)traces;
    return error_set(
        error, STATUS_USAGE,
        "%s:1: a Chrome trace, which this page can't read: `pipeline view` can, and "
        "this page reads what --timeline=FILE.csv writes",
        trace_shown(path, shown));
}
