/* failing_driver.c - a libcuda.so.1 that passes every call on to the real one, but makes chosen
 * calls fail. It goes before the real driver in LD_LIBRARY_PATH, so that the program under test
 * is the one that users run.
 *
 * Every function that the real driver exports, and every one that its cuGetProcAddress() hands
 * out, is given to the caller as a thunk. A thunk keeps all registers and the stack as they
 * are, so it needs to know nothing of the function's arguments; it counts the call, and then
 * either jumps to the real function or returns the chosen result without calling it. The
 * private tables of cuGetExportTable() are passed on untouched. For x86-64 alone.
 *
 * Environment:
 *   FAILING_REAL=FILE     the real driver; it must be given
 *   FAILING_CALL=N        the call that fails, counted from 1; nothing fails without it
 *   FAILING_KIND=from     all later calls fail, too, as when a device is lost; else only one
 *   FAILING_RESULT=R      the CUresult that a failing call returns (999: CUDA_ERROR_UNKNOWN)
 *   FAILING_LIST=FILE     the first 5000 calls are added to this file
 *   FAILING_TOLD=FILE     the first call that failed is written to this file
 *
 * A call's line has its number, name, who called, and the site: a number for all return
 * addresses up to main(). Look-ups (cuGetProcAddress() in all versions) are listed with the
 * number 0, and never fail.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the thunks --- */

enum { THUNKS = 4096, THUNK_BYTES = 16, THUNK_NAME = 64 };

/* What a failing call returns. The thunks read it. */
__attribute__((visibility("hidden"))) uint32_t failing_result = 999;

extern __attribute__((visibility("hidden"))) char failing_thunks[];

/* A thunk pushes its number. All that may hold arguments is then saved around the call of
 * failing_enter(), which returns where to go on; 0: nowhere, the call fails. */
__asm__(".text\n"
        ".balign 16\n"
        ".hidden failing_thunks\n"
        "failing_thunks:\n"
        ".set failing_number, 0\n"
        ".rept 4096\n"
        ".balign 16\n"
        "    endbr64\n"
        "    pushq $failing_number\n"
        "    jmp failing_common\n"
        ".set failing_number, failing_number + 1\n"
        ".endr\n"
        ".balign 16\n"
        "failing_common:\n"
        ".cfi_startproc\n" /* so that backtrace() finds who called */
        ".cfi_def_cfa_offset 16\n"
        "    subq $192, %rsp\n"
        ".cfi_def_cfa_offset 208\n"
        "    movq %rdi, 0(%rsp)\n"
        "    movq %rsi, 8(%rsp)\n"
        "    movq %rdx, 16(%rsp)\n"
        "    movq %rcx, 24(%rsp)\n"
        "    movq %r8, 32(%rsp)\n"
        "    movq %r9, 40(%rsp)\n"
        "    movq %rax, 48(%rsp)\n"
        "    movq %r10, 56(%rsp)\n"
        "    movaps %xmm0, 64(%rsp)\n"
        "    movaps %xmm1, 80(%rsp)\n"
        "    movaps %xmm2, 96(%rsp)\n"
        "    movaps %xmm3, 112(%rsp)\n"
        "    movaps %xmm4, 128(%rsp)\n"
        "    movaps %xmm5, 144(%rsp)\n"
        "    movaps %xmm6, 160(%rsp)\n"
        "    movaps %xmm7, 176(%rsp)\n"
        "    movq 192(%rsp), %rdi\n"
        "    movq 200(%rsp), %rsi\n"
        "    call failing_enter\n"
        "    movq %rax, %r11\n"
        "    movq 0(%rsp), %rdi\n"
        "    movq 8(%rsp), %rsi\n"
        "    movq 16(%rsp), %rdx\n"
        "    movq 24(%rsp), %rcx\n"
        "    movq 32(%rsp), %r8\n"
        "    movq 40(%rsp), %r9\n"
        "    movq 48(%rsp), %rax\n"
        "    movq 56(%rsp), %r10\n"
        "    movaps 64(%rsp), %xmm0\n"
        "    movaps 80(%rsp), %xmm1\n"
        "    movaps 96(%rsp), %xmm2\n"
        "    movaps 112(%rsp), %xmm3\n"
        "    movaps 128(%rsp), %xmm4\n"
        "    movaps 144(%rsp), %xmm5\n"
        "    movaps 160(%rsp), %xmm6\n"
        "    movaps 176(%rsp), %xmm7\n"
        "    addq $200, %rsp\n"
        "    testq %r11, %r11\n"
        "    je failing_return\n"
        "    jmp *%r11\n"
        "failing_return:\n"
        "    movl failing_result(%rip), %eax\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".set failing_number, 0\n");

/* The names that the real driver exports; each is that of the next thunk. */
#define NAME(name)                                                                             \
    __asm__(".globl " #name "\n.type " #name ", @function\n.set " #name                        \
            ", failing_thunks + 16 * failing_number\n"                                         \
            ".set failing_number, failing_number + 1\n");
#include "failing_names.h"
#undef NAME

static const char *const exported[] = {
#define NAME(name) #name,
#include "failing_names.h"
#undef NAME
};
enum { EXPORTED = sizeof exported / sizeof *exported };
_Static_assert((int)EXPORTED < (int)THUNKS, "there are more names than thunks");

/* --- the functions behind them --- */

struct function {
    void *real; /* NULL: the real driver has none of this name */
    char name[THUNK_NAME];
    int look_up; /* it is cuGetProcAddress(): 1, with the symbol's status as last argument: 2 */
};

static struct function functions[THUNKS];
static atomic_int function_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long calls, fails_at;
static int fails_on; /* all later calls fail, too */
static int list = -1, told = -1;
enum { LISTED = 5000 }; /* calibrating makes millions of calls, and would be slowed down */

static void add_function(int at, const char *name, void *real)
{
    struct function *function = &functions[at];
    snprintf(function->name, sizeof function->name, "%s", name);
    function->real = real;
}

static int open_written(const char *variable)
{
    const char *path = getenv(variable);
    return path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
}

/* The driver can be looked up in while it is being loaded, so this comes first. */
__attribute__((constructor)) static void open_real(void)
{
    const char *path = getenv("FAILING_REAL"), *at = getenv("FAILING_CALL");
    const char *kind = getenv("FAILING_KIND"), *result = getenv("FAILING_RESULT");
    void *real = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (real == NULL) {
        fprintf(stderr, "failing_driver: FAILING_REAL: %s\n",
                path != NULL ? dlerror() : "it must name the real libcuda.so.1");
        _exit(99);
    }
    for (int i = 0; i < EXPORTED; i++) {
        add_function(i, exported[i], dlsym(real, exported[i]));
        if (strcmp(exported[i], "cuGetProcAddress") == 0)
            functions[i].look_up = 1;
        if (strcmp(exported[i], "cuGetProcAddress_v2") == 0)
            functions[i].look_up = 2;
    }
    function_count = EXPORTED;
    fails_at = at != NULL ? atol(at) : 0;
    fails_on = kind != NULL && strcmp(kind, "from") == 0;
    if (result != NULL)
        failing_result = (uint32_t)atol(result);
    list = open_written("FAILING_LIST");
    told = open_written("FAILING_TOLD");
}

/* Returns a number for where in the program, and in its libraries, this call comes from: the
 * same in each process and each turn of a loop. */
static __attribute__((noinline)) unsigned long call_site(void)
{
    enum { FRAMES = 64, OWN_FRAMES = 3 };        /* this one, write_call(), failing_enter() */
    const unsigned long prime = 1099511628211UL; /* FNV-1a, by addresses */
    void *frames[FRAMES];
    unsigned long site = 14695981039346656037UL;
    const int count = backtrace(frames, FRAMES);
    for (int i = OWN_FRAMES; i < count; i++) {
        Dl_info info;
        if (dladdr(frames[i], &info) != 0)
            site = (site ^ (unsigned long)((char *)frames[i] - (char *)info.dli_fbase)) * prime;
    }
    return site;
}

static __attribute__((noinline)) void write_call(int file, long number,
                                                 const struct function *function, void *caller)
{
    Dl_info info;
    const char *who = "?";
    if (dladdr(caller, &info) != 0 && info.dli_fname != NULL) {
        const char *slash = strrchr(info.dli_fname, '/');
        who = slash != NULL ? slash + 1 : info.dli_fname;
    }
    dprintf(file, "%ld %s %s %lx\n", number, function->name, who, call_site());
}

/* --- looking functions up --- */

/* Returns the thunk for a function that the real driver handed out under `name`. */
static void *thunk_of(const char *name, int version, void *real)
{
    int at = 0;
    pthread_mutex_lock(&lock);
    const int count = function_count;
    while (at < count && functions[at].real != real)
        at++;
    if (at == THUNKS) {
        fprintf(stderr, "failing_driver: the driver has more than %d functions\n", THUNKS);
        _exit(99);
    }
    if (at == count) {
        add_function(at, name, real);
        /* The one of CUDA 12 and later has the symbol's status as its last argument. */
        if (strcmp(name, "cuGetProcAddress") == 0)
            functions[at].look_up = version >= 12000 ? 2 : 1;
        function_count = count + 1;
    }
    pthread_mutex_unlock(&lock);
    return failing_thunks + (size_t)at * THUNK_BYTES;
}

static const struct function *look_up_function(int kind)
{
    int at = 0;
    while (functions[at].look_up != kind)
        at++;
    return &functions[at];
}

static int look_up_1(const char *name, void **address, int version, uint64_t flags)
{
    int (*real)(const char *, void **, int, uint64_t);
    memcpy(&real, &look_up_function(1)->real, sizeof real);
    const int result = real(name, address, version, flags);
    if (result == 0 && address != NULL && *address != NULL)
        *address = thunk_of(name, version, *address);
    return result;
}

static int look_up_2(const char *name, void **address, int version, uint64_t flags, int *status)
{
    int (*real)(const char *, void **, int, uint64_t, int *);
    memcpy(&real, &look_up_function(2)->real, sizeof real);
    const int result = real(name, address, version, flags, status);
    if (result == 0 && address != NULL && *address != NULL)
        *address = thunk_of(name, version, *address);
    return result;
}

/* --- a call --- */

/* Returns the address at which call goes on, or 0 where it fails. `caller` is the address to
 * which it will return. */
__attribute__((visibility("hidden"), used)) void *failing_enter(uint64_t number, void *caller)
{
    const struct function *function = &functions[number];
    if (function->look_up != 0) {
        if (list >= 0 && calls < LISTED)
            write_call(list, 0, function, caller);
        return (void *)(function->look_up == 1 ? (uintptr_t)look_up_1 : (uintptr_t)look_up_2);
    }
    const long call = ++calls;
    if (list >= 0 && call <= LISTED)
        write_call(list, call, function, caller);
    const long at = fails_at;
    if (at > 0 && (call == at || (fails_on && call > at))) {
        if (told >= 0 && call == at)
            write_call(told, call, function, caller);
        return NULL;
    }
    if (function->real != NULL)
        return function->real;
    fprintf(stderr, "failing_driver: the real driver has no %s()\n", function->name);
    _exit(99);
}
