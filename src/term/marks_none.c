/* marks_none.c - stands for marks.c where the headers of NVTX are missing. */
#include "term/marks.h"

bool marks_on(void)
{
    return false;
}

void marks_begin(const char *name)
{
    (void)name;
}

void marks_begin_counted(const char *name, uint32_t number, uint32_t count)
{
    (void)name, (void)number, (void)count;
}

void marks_end(void)
{
}

void marks_issue_begin(const struct op *op, const struct kernel *kernel)
{
    (void)op, (void)kernel;
}

void marks_name_thread(const char *name)
{
    (void)name;
}

void marks_name_stream(void *stream, const char *name)
{
    (void)stream, (void)name;
}
