/* sqlite_none.c - stands for sqlite.c where there was no SQLite to build with. */
#include "trace/input.h"
#include "trace/trace.h"

enum status trace_sqlite_read(const char *path, struct traces *traces, struct error *error)
{
    char shown[TRACE_SHOWN];
    (void)traces;
    return error_set(error, STATUS_USAGE,
                     "%s:1: an SQLite database, and this pipeline was built without SQLite: "
                     "export it with nsys stats -r cuda_gpu_trace --format csv instead",
                     trace_shown(path, shown));
}
