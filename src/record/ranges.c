/* ranges.c - the program's NVTX ranges: NVTX loads the library that NVTX_INJECTION64_PATH
 * names, too, and asks it for functions of its own. */
#include "record/record.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MOST = 128, DEPTH_MOST = 64, OPEN_MOST = 1024 };

struct range {
    int64_t start_ns;
    char name[NAME_MOST];
};

/* Ranges that a thread has pushed, of all domains; those beyond the depth are only counted.
 * They go with their thread. */
struct stack {
    unsigned depth;
    struct range ranges[DEPTH_MOST];
};
static pthread_key_t stacks;

/* Ranges that may end on another thread. */
static struct range opened[OPEN_MOST];
static uint64_t ids[OPEN_MOST], last_id;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void begin(struct range *range, const char *name)
{
    snprintf(range->name, sizeof range->name, "%s", name);
    record_reached(name, false, 0);
    range->start_ns = record_now_ns();
}

static void end(const struct range *range)
{
    if (atomic_load(&record_on) && atomic_load(&record_active))
        FILE_LINE("range", gettid(), range->start_ns, record_now_ns(), range->name);
    record_reached(range->name, true, 0); /* what began before CUDA is used may end, too */
}

/* Registered strings are ours: handles are the texts themselves. */
static nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return (nvtxStringHandle_t)strdup(text != NULL ? text : "");
}

/* A program may look whether anybody gave it a domain, and leave its ranges out if not. Which
 * domain a range is of is not recorded, so any handle will do. */
static nvtxDomainHandle_t NVTX_API create_domain(const char *name)
{
    (void)name;
    return (nvtxDomainHandle_t)&lock;
}

static const char *message(const nvtxEventAttributes_t *event)
{
    if (event == NULL)
        return "";
    if (event->messageType == NVTX_MESSAGE_TYPE_ASCII && event->message.ascii != NULL)
        return event->message.ascii;
    if (event->messageType == NVTX_MESSAGE_TYPE_REGISTERED && event->message.registered != NULL)
        return (const char *)event->message.registered;
    return "";
}

static int NVTX_API push(const char *name)
{
    struct stack *stack = pthread_getspecific(stacks);
    if (stack == NULL) {
        stack = calloc(1, sizeof *stack);
        if (stack == NULL || pthread_setspecific(stacks, stack) != 0) {
            free(stack);
            return -1;
        }
    }
    if (stack->depth < DEPTH_MOST)
        begin(&stack->ranges[stack->depth], name != NULL ? name : "");
    return (int)stack->depth++;
}

static int NVTX_API push_event(const nvtxEventAttributes_t *event)
{
    return push(message(event));
}

static int NVTX_API push_domain(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    (void)domain;
    return push(message(event));
}

static int NVTX_API pop(void)
{
    struct stack *stack = pthread_getspecific(stacks);
    if (stack == NULL || stack->depth == 0)
        return -1;
    if (--stack->depth < DEPTH_MOST)
        end(&stack->ranges[stack->depth]);
    return (int)stack->depth;
}

static int NVTX_API pop_domain(nvtxDomainHandle_t domain)
{
    (void)domain;
    return pop();
}

static nvtxRangeId_t NVTX_API open_range(const char *name)
{
    if (record_is_child())
        return 0;
    record_lock(&lock);
    uint64_t id = ++last_id;
    size_t place = id % OPEN_MOST; /* a range that is open for very long gives its place up */
    ids[place] = id;
    begin(&opened[place], name != NULL ? name : "");
    record_unlock(&lock);
    return id;
}

static nvtxRangeId_t NVTX_API open_event(const nvtxEventAttributes_t *event)
{
    return open_range(message(event));
}

static nvtxRangeId_t NVTX_API open_domain(nvtxDomainHandle_t domain,
                                          const nvtxEventAttributes_t *event)
{
    (void)domain;
    return open_range(message(event));
}

static void NVTX_API shut_range(nvtxRangeId_t id)
{
    if (record_is_child())
        return;
    record_lock(&lock);
    struct range range = opened[id % OPEN_MOST];
    bool known = id != 0 && ids[id % OPEN_MOST] == id;
    if (known)
        ids[id % OPEN_MOST] = 0; /* a range ends once */
    record_unlock(&lock);
    if (known)
        end(&range);
}

static void NVTX_API shut_domain(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    (void)domain;
    shut_range(id);
}

/* Puts a function into one of the tables that NVTX offers. */
static void offer(NvtxGetExportTableFunc_t tables, NvtxCallbackModule module, unsigned place,
                  NvtxFunctionPointer function)
{
    const NvtxExportTableCallbacks *callbacks = tables(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (callbacks != NULL && callbacks->GetModuleFunctionTable(module, &table, &size) &&
        place < size && table != NULL)
        *table[place] = function;
}

/* A program may fork while another of its threads holds the lock. A child of one that has not
 * used CUDA yet is a program of its own, which may be recorded. */
static void before_fork(void)
{
    record_lock(&lock);
}

static void after_fork(void)
{
    record_unlock(&lock);
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables)
{
    const NvtxCallbackModule core = NVTX_CB_MODULE_CORE, domains = NVTX_CB_MODULE_CORE2;
    if (record_folder() == NULL || pthread_key_create(&stacks, free) != 0)
        return 0;
    pthread_atfork(before_fork, after_fork, after_fork);
    offer(tables, core, NVTX_CBID_CORE_RangePushA, (NvtxFunctionPointer)push);
    offer(tables, core, NVTX_CBID_CORE_RangePushEx, (NvtxFunctionPointer)push_event);
    offer(tables, core, NVTX_CBID_CORE_RangePop, (NvtxFunctionPointer)pop);
    offer(tables, core, NVTX_CBID_CORE_RangeStartA, (NvtxFunctionPointer)open_range);
    offer(tables, core, NVTX_CBID_CORE_RangeStartEx, (NvtxFunctionPointer)open_event);
    offer(tables, core, NVTX_CBID_CORE_RangeEnd, (NvtxFunctionPointer)shut_range);
    offer(tables, domains, NVTX_CBID_CORE2_DomainRangePushEx, (NvtxFunctionPointer)push_domain);
    offer(tables, domains, NVTX_CBID_CORE2_DomainRangePop, (NvtxFunctionPointer)pop_domain);
    offer(tables, domains, NVTX_CBID_CORE2_DomainRangeStartEx,
          (NvtxFunctionPointer)open_domain);
    offer(tables, domains, NVTX_CBID_CORE2_DomainRangeEnd, (NvtxFunctionPointer)shut_domain);
    offer(tables, domains, NVTX_CBID_CORE2_DomainCreateA, (NvtxFunctionPointer)create_domain);
    offer(tables, domains, NVTX_CBID_CORE2_DomainRegisterStringA,
          (NvtxFunctionPointer)register_string);
    return 1;
}
