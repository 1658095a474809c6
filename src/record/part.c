/* part.c - what is recorded, and where to: whether the part has begun and ended, by the names
 * of kernels and NVTX ranges or by how often the program's loop has passed. */
#include "record/record.h"

#include <stdlib.h>
#include <string.h>

atomic_bool record_on, record_active;

static atomic_bool has_begun; /* CUDA is used */

/* Where the part begins or ends: NAME, NAME:N or N. All digits may also be a name. */
struct mark {
    char *text,
        *name;       /* as it was told; without the number, NULL where there is nothing else */
    uint64_t number; /* 0: there is none, and the first will do */
    atomic_uint begun; /* how often what has that name has begun */
};
static struct mark start, stop;
static bool passes_count; /* a mark is a number alone */

/* CUPTI numbers calls as they are made, so a part is known by its first and last number. */
static atomic_uint latest_call, first_call = UINT32_MAX, last_call = UINT32_MAX;

static char *to_folder;
static bool is_child;

/* --- what the recorder is told --- */

static void read_mark(struct mark *mark, const char *text)
{
    static const char digits[] = "0123456789";
    mark->text = text != NULL ? strdup(text) : NULL;
    mark->name = mark->text != NULL ? strdup(text) : NULL;
    if (mark->name == NULL)
        return;
    char *colon = strrchr(mark->name, ':');
    const char *number = colon != NULL ? colon + 1 : mark->name;
    if (*number == '\0' || number[strspn(number, digits)] != '\0' || colon == mark->name)
        return;
    mark->number = strtoull(number, NULL, 10);
    if (colon != NULL)
        *colon = '\0';
    else
        mark->name = NULL;
    passes_count |= mark->name == NULL;
}

/* The texts are copied: programs write over their environment. */
static void read_environment(void)
{
    const char *folder = record_variable("PIPELINE_RECORD_TO");
    to_folder = folder != NULL ? strdup(folder) : NULL;
    read_mark(&start, record_variable("PIPELINE_RECORD_START"));
    read_mark(&stop, record_variable("PIPELINE_RECORD_STOP"));
}

const char *record_folder(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return to_folder;
}

/* Returns true if a kernel or a range of that name is `wanted`: the whole name, or that of a
 * function within a mangled one, where its length stands before it. */
static bool is_named(const char *name, const char *wanted)
{
    char mangled[512];
    if (wanted == NULL || strcmp(name, wanted) == 0)
        return wanted != NULL;
    snprintf(mangled, sizeof mangled, "%zu%s", strlen(wanted), wanted);
    return name[0] == '_' && name[1] == 'Z' && strstr(name, mangled) != NULL;
}

/* --- how often the loop has passed --- */

enum { NAMES_MOST = 256 };

/* The first so many names of ranges, and how often each has begun. No lock is taken: a program
 * that has not used CUDA yet may fork at any time. */
static struct {
    _Atomic(char *) name;
    atomic_uint begun;
} ranges[NAMES_MOST];
static atomic_bool has_ranges;
static atomic_uint waits; /* of the host, which are the passes where there are no ranges */

/* Returns how often ranges of that name have begun, with the one that begins now. */
static unsigned count_range(const char *text, bool begins)
{
    for (size_t i = 0; i < NAMES_MOST; i++) {
        char *name = atomic_load(&ranges[i].name), *copy = NULL;
        if (name == NULL && (copy = strdup(text)) != NULL &&
            atomic_compare_exchange_strong(&ranges[i].name, &name, copy))
            name = copy;
        else
            free(copy);
        if (name != NULL && strcmp(name, text) == 0)
            return begins ? atomic_fetch_add(&ranges[i].begun, 1) + 1
                          : atomic_load(&ranges[i].begun);
    }
    return 0;
}

/* --- the part --- */

void record_call_begins(uint32_t id)
{
    unsigned latest = atomic_load_explicit(&latest_call, memory_order_relaxed);
    while ((start.text != NULL || stop.text != NULL) && id > latest &&
           !atomic_compare_exchange_weak(&latest_call, &latest, id))
        ;
}

bool record_has_call(uint32_t id)
{
    return id >= atomic_load(&first_call) && id <= atomic_load(&last_call);
}

static void begin_part(uint32_t call)
{
    atomic_store(&first_call, call);
    atomic_store(&record_active, true);
}

/* One that ends before CUDA is used is forgotten. */
static void end_part(uint32_t call)
{
    if (atomic_load(&has_begun))
        atomic_store(&last_call, call);
    atomic_store(&record_active, false);
}

/* Returns true if the mark is reached by what has that name, of which `passes` have begun where
 * it is a range. A part ends at the end of its last pass, so that one is among those. */
static bool is_reached(struct mark *mark, const char *name, bool ended, unsigned passes)
{
    if (is_named(name, mark->text))
        return true;
    if (mark->number == 0)
        return false;
    if (mark->name != NULL && is_named(name, mark->name))
        passes = ended ? atomic_load(&mark->begun) : atomic_fetch_add(&mark->begun, 1) + 1;
    else if (mark->name != NULL)
        return false;
    return ended ? passes >= mark->number : passes == mark->number;
}

void record_reached(const char *name, bool ended, uint32_t call)
{
    unsigned passes = 0;
    if ((start.text == NULL && stop.text == NULL) || is_child || record_part_is_over())
        return;
    if (passes_count && call == 0) {
        atomic_store(&has_ranges, true);
        passes = count_range(name, !ended);
    }
    const uint32_t latest = atomic_load(&latest_call);
    if (!ended) {
        const bool begins = is_reached(&start, name, false, passes);
        is_reached(&stop, name, false, passes); /* which counts */
        if (begins && !atomic_load(&record_active))
            begin_part(call > 0 ? call : latest + 1);
    } else if (atomic_load(&record_active) && is_reached(&stop, name, true, passes)) {
        end_part(call > 0 ? call : latest);
    }
}

void record_waited(uint32_t call)
{
    if (!passes_count || atomic_load(&has_ranges) || record_part_is_over())
        return;
    const unsigned passes = atomic_fetch_add(&waits, 1) + 1;
    if (atomic_load(&record_active) && stop.name == NULL && passes == stop.number)
        end_part(call);
    else if (!atomic_load(&record_active) && start.name == NULL && passes == start.number)
        begin_part(call + 1);
}

bool record_is_told_again(void)
{
    return atomic_exchange(&has_begun, true);
}

void record_begin(void)
{
    if (start.text == NULL)
        begin_part(0);
    atomic_store(&record_on, true);
}

void record_again(void)
{
    atomic_store(&last_call, UINT32_MAX);
    begin_part(0);
    atomic_store(&record_on, true);
}

void record_end(void)
{
    atomic_store(&record_active, false);
    atomic_store(&record_on, false);
}

bool record_part_is_over(void)
{
    return atomic_load(&last_call) != UINT32_MAX;
}

/* --- children --- */

void record_child_begins(void)
{
    record_end();
    is_child = true;
}

bool record_is_child(void)
{
    return is_child;
}
