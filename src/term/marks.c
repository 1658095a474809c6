/* marks.c - the ranges and names, by NVTX.
 *
 * NVTX is its headers: on the first call they look for a tool (the library that
 * NVTX_INJECTION64_PATH names, set by the profiler that starts us) and, without one, turn every
 * later call into a test of a null pointer. nvtxDomainCreateA() then gives NULL, and no mark
 * is made. */
#include "term/marks.h"

#include <inttypes.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NAME_TEXT = 128 };

/* Set once, by attach(), and then only read. */
static struct {
    nvtxDomainHandle_t domain; /* NULL: no tool listens */
    nvtxStringHandle_t stages[OP_KIND_COUNT];
    nvtxStringHandle_t *kernels; /* by row of kernel_table; the process's, never freed */
} tool;

/* Categories are numbered from 1: 0 is NVTX's "none". */
static uint32_t category(enum op_kind kind)
{
    return (uint32_t)kind + 1;
}

static nvtxStringHandle_t *register_kernels(nvtxDomainHandle_t domain)
{
    size_t count = 0;
    while (kernel_table[count].name != NULL)
        count++;
    nvtxStringHandle_t *handles = calloc(count, sizeof(nvtxStringHandle_t));
    for (size_t i = 0; handles != NULL && i < count; i++)
        handles[i] = nvtxDomainRegisterStringA(domain, kernel_table[i].name);
    return handles;
}

static void attach(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("pipeline");
    if (domain == NULL)
        return;
    tool.kernels = register_kernels(domain);
    if (tool.kernels == NULL)
        return;
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        const char *name = op_kind_name((enum op_kind)kind);
        tool.stages[kind] = nvtxDomainRegisterStringA(domain, name);
        nvtxDomainNameCategoryA(domain, category((enum op_kind)kind), name);
    }
    tool.domain = domain;
}

bool marks_on(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, attach);
    return tool.domain != NULL;
}

static nvtxEventAttributes_t event_begin(void)
{
    return (nvtxEventAttributes_t){
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
    };
}

void marks_begin(const char *name)
{
    if (!marks_on())
        return;
    nvtxEventAttributes_t event = event_begin();
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    nvtxDomainRangePushEx(tool.domain, &event);
}

void marks_begin_counted(const char *name, uint32_t number, uint32_t count)
{
    char text[NAME_TEXT];
    if (!marks_on())
        return;
    snprintf(text, sizeof text, "%s %" PRIu32 " of %" PRIu32, name, number, count);
    marks_begin(text);
}

void marks_end(void)
{
    if (marks_on())
        nvtxDomainRangePop(tool.domain);
}

void marks_issue_begin(const struct op *op, const struct kernel *kernel)
{
    if (!marks_on())
        return;
    nvtxEventAttributes_t event = event_begin();
    event.category = category(op->kind);
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xFF000000 | op_rows[op->kind].color;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = kernel != NULL && kernel->file == NULL
                                   ? tool.kernels[kernel - kernel_table]
                                   : tool.stages[op->kind];
    if (op->tile >= 0) {
        event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
        event.payload.iValue = op->tile;
    }
    nvtxDomainRangePushEx(tool.domain, &event);
}

void marks_name_thread(const char *name)
{
    if (marks_on())
        nvtxNameOsThreadA((uint32_t)gettid(), name);
}

void marks_name_stream(void *stream, const char *name)
{
    if (marks_on())
        nvtxNameCudaStreamA(stream, name);
}
