/* injection.c - a tool for NVTX that writes down what it is told.
 *
 * NVTX loads the library that NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2(),
 * which puts its functions into the tables it is offered (nvtxDetail/nvtxTypes.h). Every call
 * becomes a line of the file that PIPELINE_NVTX_LOG names, its fields separated by tabs:
 *
 *     attach
 *     domain    NAME
 *     string    DOMAIN TEXT                          a registered string
 *     category  DOMAIN ID NAME
 *     push      THREAD DOMAIN LEVEL registered|ascii CATEGORY COLOR|- PAYLOAD|- TEXT
 *     pop       THREAD DOMAIN LEVEL
 *     thread    THREAD NAME
 *     stream    POINTER NAME
 *     stray     FUNCTION                             outside any domain
 *     bad       WHAT                                 what no tool could make sense of
 *
 * It trusts no handle: a domain or a string that it did not give out is bad. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HANDLES_MAX = 256, TEXT = 256 };

/* A domain, or a string registered in one: what a handle points to. */
struct handle {
    const struct handle *domain; /* NULL: it is a domain itself */
    char text[TEXT];
};

static struct handle handles[HANDLES_MAX];
static int handle_count;
static FILE *file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int level;

__attribute__((format(printf, 1, 2))) static void put_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    vfprintf(file, format, arguments);
    putc('\n', file);
    fflush(file); /* a crash of the program must not lose the line */
    pthread_mutex_unlock(&lock);
    va_end(arguments);
}

/* Copies a text so that it keeps to its field. */
static const char *clean(char field[TEXT], const char *text)
{
    size_t length = 0;
    for (; text[length] != '\0' && length + 1 < TEXT; length++)
        field[length] = (unsigned char)text[length] < ' ' ? '?' : text[length];
    field[length] = '\0';
    return field;
}

static struct handle *new_handle(const struct handle *domain, const char *text)
{
    pthread_mutex_lock(&lock);
    struct handle *handle = handle_count < HANDLES_MAX ? &handles[handle_count++] : NULL;
    pthread_mutex_unlock(&lock);
    if (handle == NULL)
        return NULL;
    handle->domain = domain;
    clean(handle->text, text);
    return handle;
}

/* Returns the handle behind `pointer`; NULL where it is none of this tool's, or of another
 * kind. */
static const struct handle *find_handle(const void *pointer, int is_domain)
{
    for (int i = 0; i < handle_count; i++) {
        if (&handles[i] == pointer && (handles[i].domain == NULL) == is_domain)
            return &handles[i];
    }
    return NULL;
}

static const char *domain_name(nvtxDomainHandle_t domain)
{
    const struct handle *handle = find_handle(domain, 1);
    if (handle == NULL)
        put_line("bad\ta domain that was not created");
    return handle != NULL ? handle->text : "?";
}

static nvtxDomainHandle_t NVTX_API domain_create(const char *name)
{
    struct handle *handle = new_handle(NULL, name);
    put_line("domain\t%s", handle != NULL ? handle->text : "?");
    return (nvtxDomainHandle_t)handle;
}

static nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t domain, const char *text)
{
    struct handle *handle = new_handle(find_handle(domain, 1), text);
    put_line("string\t%s\t%s", domain_name(domain), handle != NULL ? handle->text : "?");
    return (nvtxStringHandle_t)handle;
}

static void NVTX_API name_category(nvtxDomainHandle_t domain, uint32_t id, const char *name)
{
    char text[TEXT];
    put_line("category\t%s\t%" PRIu32 "\t%s", domain_name(domain), id, clean(text, name));
}

/* Returns the event's message as text, for which `field` has room. */
static const char *message(const struct handle *domain, const nvtxEventAttributes_t *event,
                           char field[TEXT])
{
    if (event->messageType == NVTX_MESSAGE_TYPE_ASCII && event->message.ascii != NULL)
        return clean(field, event->message.ascii);
    const struct handle *string = find_handle(event->message.registered, 0);
    if (event->messageType != NVTX_MESSAGE_TYPE_REGISTERED || string == NULL ||
        string->domain != domain) {
        put_line("bad\ta message of type %d", (int)event->messageType);
        return "?";
    }
    return string->text;
}

static int NVTX_API range_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    char text[TEXT], color[16] = "-", payload[16] = "-";
    if (event->version != NVTX_VERSION || event->size < NVTX_EVENT_ATTRIB_STRUCT_SIZE)
        put_line("bad\tan event of version %d, size %d", event->version, event->size);
    if (event->colorType == NVTX_COLOR_ARGB)
        snprintf(color, sizeof color, "%08" PRIX32, event->color);
    if (event->payloadType == NVTX_PAYLOAD_TYPE_INT32)
        snprintf(payload, sizeof payload, "%" PRId32, event->payload.iValue);
    else if (event->payloadType != NVTX_PAYLOAD_UNKNOWN)
        put_line("bad\ta payload of type %d", (int)event->payloadType);
    const char *name = domain_name(domain);
    const char *shown = message(find_handle(domain, 1), event, text);
    put_line("push\t%d\t%s\t%d\t%s\t%" PRIu32 "\t%s\t%s\t%s", (int)gettid(), name, level,
             event->messageType == NVTX_MESSAGE_TYPE_REGISTERED ? "registered" : "ascii",
             event->category, color, payload, shown);
    return level++;
}

static int NVTX_API range_pop(nvtxDomainHandle_t domain)
{
    if (level == 0)
        put_line("bad\ta range that ends before it began");
    else
        level--;
    put_line("pop\t%d\t%s\t%d", (int)gettid(), domain_name(domain), level);
    return level;
}

static void NVTX_API name_thread(uint32_t thread, const char *name)
{
    char text[TEXT];
    put_line("thread\t%" PRIu32 "\t%s", thread, clean(text, name));
}

static void NVTX_API name_stream(void *stream, const char *name)
{
    char text[TEXT];
    put_line("stream\t%p\t%s", stream, clean(text, name));
}

/* Takes ranges and marks of the domain that everybody shares, which the program should not use.
 */
static void NVTX_API stray_mark(const char *text)
{
    (void)text;
    put_line("stray\tnvtxMarkA");
}

static int NVTX_API stray_push(const char *text)
{
    (void)text;
    put_line("stray\tnvtxRangePushA");
    return 0;
}

static int NVTX_API stray_push_event(const nvtxEventAttributes_t *event)
{
    (void)event;
    put_line("stray\tnvtxRangePushEx");
    return 0;
}

static int NVTX_API stray_pop(void)
{
    put_line("stray\tnvtxRangePop");
    return 0;
}

/* A function and the entry of a table that it goes to. */
struct entry {
    NvtxCallbackModule module;
    unsigned id;
    NvtxFunctionPointer function;
};

static const struct entry entries[] = {
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateA, (NvtxFunctionPointer)domain_create},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringA,
     (NvtxFunctionPointer)register_string},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainNameCategoryA,
     (NvtxFunctionPointer)name_category},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx, (NvtxFunctionPointer)range_push},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop, (NvtxFunctionPointer)range_pop},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_NameOsThreadA, (NvtxFunctionPointer)name_thread},
    {NVTX_CB_MODULE_CUDART, NVTX_CBID_CUDART_NameCudaStreamA, (NvtxFunctionPointer)name_stream},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_MarkA, (NvtxFunctionPointer)stray_mark},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, (NvtxFunctionPointer)stray_push},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushEx, (NvtxFunctionPointer)stray_push_event},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, (NvtxFunctionPointer)stray_pop},
};

/* Returns 1 once all functions are in their places. */
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const char *path = getenv("PIPELINE_NVTX_LOG");
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    if (path == NULL || callbacks == NULL)
        return 0;
    file = fopen(path, "ae");
    if (file == NULL)
        return 0;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        NvtxFunctionTable table = NULL;
        unsigned size = 0;
        if (!callbacks->GetModuleFunctionTable(entries[i].module, &table, &size) ||
            entries[i].id >= size)
            return 0;
        *table[entries[i].id] = entries[i].function;
    }
    put_line("attach");
    return 1;
}
