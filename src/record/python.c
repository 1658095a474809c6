/* python.c - the line of a Python program that makes a call. Frameworks give the interpreter's
 * lock back before they call CUDA, and it must not be taken here, for who holds it may wait for
 * a lock that the call is made under. So frames are read as they lie in memory: those of a
 * thread that is within a call stay as they are. Where they lie is known for some versions of
 * CPython; the first reads fail rather than crash, and what is said to be code has to be of its
 * type. */
#include "core/escape.h"
#include "record/places.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DEPTH_MOST = 64, TEXT_ROOM = 1024, HEAD = 64, CODE_HEAD = 208, TYPE_AT = 8 };

/* Where a version keeps what, in bytes, in a thread's state, a frame and a piece of code. */
struct layout {
    unsigned version;             /* 0x030B is 3.11 */
    bool has_cframe;              /* the state has a pointer to a place that has the frame */
    uint16_t in_state, in_cframe; /* that pointer, or the frame; the frame */
    uint16_t code, previous, instruction;
    uint16_t file, name, instructions;
};
static const struct layout layouts[] = {
    {0x030B, true, 56, 8, 32, 48, 56, 112, 120, 184},
    {0x030C, true, 56, 0, 0, 8, 56, 112, 120, 192},
    {0x030D, false, 72, 0, 0, 8, 56, 112, 120, 200},
};
static const struct layout *layout; /* NULL: there is no Python, or one that is not known */

/* CPython's, none of which needs the lock for what it is used for here. */
static struct {
    void *(*thread_state)(void);
    int (*line_of)(void *code, int offset);
    ssize_t (*length)(void *text);
    uint32_t (*character)(void *text, ssize_t index);
    void *code_type, *text_type;
} python;

void python_begin(void)
{
    const struct wanted wanted[] = {
        {"PyGILState_GetThisThreadState", &python.thread_state, true},
        {"PyCode_Addr2Line", &python.line_of, true},
        {"PyUnicode_GetLength", &python.length, true},
        {"PyUnicode_ReadChar", &python.character, true},
        {"PyCode_Type", &python.code_type, true},
        {"PyUnicode_Type", &python.text_type, true},
    };
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    if (version == NULL ||
        !api_find(dlopen(NULL, RTLD_NOW), wanted, sizeof wanted / sizeof wanted[0]))
        return;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        if (*version >> 16 == layouts[i].version)
            layout = &layouts[i];
    }
}

/* --- memory --- */

/* How many calls have been found in frames so far: then the places are right, and no further
 * read can fail. */
static atomic_uint found_calls;

/* Reads memory that may not be there. */
static bool read_at(const void *place, void *into, size_t bytes)
{
    enum { ENOUGH = 16 };
    if (place == NULL)
        return false;
    if (atomic_load_explicit(&found_calls, memory_order_relaxed) >= ENOUGH) {
        memcpy(into, place, bytes);
        return true;
    }
    const struct iovec local = {into, bytes}, remote = {(void *)(uintptr_t)place, bytes};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* Returns the pointer in what was read. */
static void *pointer_in(const char *read, size_t at)
{
    void *pointer;
    memcpy(&pointer, read + at, sizeof pointer);
    return pointer;
}

/* Sets `text` to a text of Python's, or to as much of it as there is room for. */
static bool read_text(void *object, char text[TEXT_ROOM])
{
    char head[TYPE_AT + sizeof(void *)];
    char *text_end = text;
    if (!read_at(object, head, sizeof head) || pointer_in(head, TYPE_AT) != python.text_type)
        return false;
    const ssize_t length = python.length(object);
    for (ssize_t i = 0; i < length && text_end - text + 5 < TEXT_ROOM; i++)
        text_end = escape_put_utf8(text_end, python.character(object, i));
    *text_end = '\0';
    return true;
}

/* --- frames --- */

/* A frame of the program's own or of a library's. */
struct place {
    char file[TEXT_ROOM], name[TEXT_ROOM];
    int line;
};

/* Reads where a frame is. Returns false where it is none of a program's source. */
static bool read_place(const char *frame, struct place *place)
{
    char code[CODE_HEAD];
    char *at = pointer_in(frame, layout->code),
         *instruction = pointer_in(frame, layout->instruction);
    if (!read_at(at, code, sizeof code) || pointer_in(code, TYPE_AT) != python.code_type ||
        !read_text(pointer_in(code, layout->file), place->file) ||
        !read_text(pointer_in(code, layout->name), place->name))
        return false;
    place->line = python.line_of(at, (int)(instruction - (at + layout->instructions)));
    return place->line > 0 && (place->file[0] != '<' || strcmp(place->file, "<string>") == 0 ||
                               strcmp(place->file, "<stdin>") == 0);
}

/* Returns true for what was installed, and is not what somebody works on. */
static bool is_librarys(const char *file)
{
    return strstr(file, "/site-packages/") != NULL || strstr(file, "/dist-packages/") != NULL ||
           strstr(file, "/lib/python3") != NULL;
}

/* Finds the innermost frame of the program's own, or else the innermost. */
static bool find_place(struct place *place)
{
    char head[HEAD];
    struct place found;
    bool any = false, own = false;
    void *at = NULL, *state = python.thread_state();
    if (state == NULL || !read_at((char *)state + layout->in_state, &at, sizeof at) ||
        (layout->has_cframe && !read_at((char *)at + layout->in_cframe, &at, sizeof at)))
        return false;
    for (int depth = 0; depth < DEPTH_MOST && !own && at != NULL; depth++) {
        if (!read_at(at, head, sizeof head))
            break;
        if (read_place(head, &found)) {
            own = !is_librarys(found.file);
            if (own || !any)
                *place = found;
            any = true;
        }
        at = pointer_in(head, layout->previous);
    }
    return any;
}

bool python_note(uint32_t call)
{
    struct place place;
    char text[TEXT_ROOM + 16];
    if (layout == NULL || !find_place(&place))
        return false;
    atomic_fetch_add_explicit(&found_calls, 1, memory_order_relaxed);
    snprintf(text, sizeof text, "%s:%d", place.file, place.line);
    FILE_LINE("line", call, text, place.name);
    return true;
}
