/* calls.c - how calls begin and end, and the errors that they answer. */
#include "cpu/api.h"

_Thread_local struct calls_thread calls_thread;

static cudaError_t failed; /* what a kernel's failure leaves behind; cudaSuccess: none did */
enum pipeline_place pipeline_here(const char *file, int line)
{
    calls_thread.file = file;
    calls_thread.line = line;
    cpu_come();
    return PIPELINE_LEFT;
}

cudaError_t call_begin(const char *name)
{
    calls_thread.in_file = calls_thread.file;
    calls_thread.in_line = calls_thread.line;
    calls_thread.file = NULL;
    cpu_enter(name, calls_thread.in_file, calls_thread.in_line);
    if (cpu_is_forked())
        return cudaErrorInitializationError;
    return calls_thread.in_function ? cudaErrorNotPermitted : failed;
}

cudaError_t call_end(cudaError_t error)
{
    if (error != cudaSuccess)
        calls_thread.last = error;
    return (cudaError_t)cpu_leave(error);
}

cudaError_t calls_failed(void)
{
    return failed = cudaErrorLaunchFailure;
}

void calls_forgive(void)
{
    failed = cudaSuccess;
}

static cudaError_t last_error(bool clear)
{
    const cudaError_t last = failed != cudaSuccess ? failed : calls_thread.last;
    if (clear)
        calls_thread.last = cudaSuccess;
    return last;
}

cudaError_t cudaGetLastError(void)
{
    cpu_enter(__func__, NULL, 0);
    return (cudaError_t)cpu_leave(last_error(true));
}

cudaError_t cudaPeekAtLastError(void)
{
    cpu_enter(__func__, NULL, 0);
    return (cudaError_t)cpu_leave(last_error(false));
}

static const struct {
    int number;
    const char *name, *text;
} error_texts[] = {
#define ERROR(name, number, text) {number, #name, text},
#include "cpu/include/cuda_errors.def"
#undef ERROR
    {-1, "unrecognized error code", "unrecognized error code"},
};

/* Returns the row of an error; the last one where it has none. */
static size_t error_row(cudaError_t error)
{
    size_t row = 0;
    while (row < sizeof error_texts / sizeof *error_texts - 1 &&
           error_texts[row].number != (int)error)
        row++;
    return row;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error_texts[error_row(error)].name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error_texts[error_row(error)].text;
}
