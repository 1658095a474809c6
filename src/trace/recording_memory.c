/* recording_memory.c - for how long memory was taken, and which arguments of launches point to
 * some. */
#include "trace/recording_draft.h"

#include "core/bisect.h"

#include <stdlib.h>
#include <string.h>

/* --- from when until when --- */

static int compare_memory(const void *a, const void *b)
{
    const struct recorded_memory *x = a, *y = b;
    if (x->address != y->address)
        return COMPARE(x->address, y->address);
    if (x->from_ns != y->from_ns)
        return COMPARE(x->from_ns, y->from_ns);
    return x->bytes != y->bytes ? COMPARE(x->bytes, y->bytes) : COMPARE(x->kind, y->kind);
}

static int compare_frees(const void *a, const void *b)
{
    const struct draft_free *x = a, *y = b;
    return x->address != y->address ? COMPARE(x->address, y->address)
                                    : COMPARE(x->time_ns, y->time_ns);
}

/* Memory is taken until the first time that it is given back behind its own, or until memory is
 * taken that begins there, too: then the line that gave it back is lost. */
static void find_ends(struct draft *draft)
{
    struct recording *recording = draft->recording;
    struct draft_free *frees = draft->frees.items;
    size_t next = 0;
    if (recording->memory_count > 1)
        qsort(recording->memory, recording->memory_count, sizeof *recording->memory,
              compare_memory);
    if (draft->frees.count > 1)
        qsort(frees, draft->frees.count, sizeof *frees, compare_frees);
    for (size_t i = 0; i < recording->memory_count; i++) {
        struct recorded_memory *memory = &recording->memory[i], *behind = memory + 1;
        const struct draft_free began = {.address = memory->address,
                                         .time_ns = memory->from_ns};
        if (i + 1 < recording->memory_count && behind->address == memory->address)
            memory->until_ns = behind->from_ns;
        while (next < draft->frees.count && compare_frees(&frees[next], &began) < 0)
            next++;
        if (next < draft->frees.count && frees[next].address == memory->address &&
            frees[next].time_ns <= memory->until_ns)
            memory->until_ns = frees[next++].time_ns;
    }
}

/* --- what words point to --- */

/* Memory begins or ends at an address. */
struct edge {
    int64_t time_ns;
    size_t first, last; /* places of addresses: it lies from `first` on, and before `last` */
    bool ends;
};

/* All memory that is taken at a time, as sums over addresses (a Fenwick tree): how much of it
 * lies at an address is the sum of the steps up to there. */
struct taken {
    uint64_t *addresses; /* at which some begins or ends, in order, each once */
    int64_t *steps;      /* from 1 on */
    size_t count;
};

static int compare_addresses(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return COMPARE(*x, *y);
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->time_ns != y->time_ns ? COMPARE(x->time_ns, y->time_ns)
                                    : COMPARE(y->ends, x->ends);
}

/* Returns how many addresses are not above `address`. */
static size_t place_of(const struct taken *taken, uint64_t address)
{
    struct bisect search = bisect_in(0, taken->count);
    while (bisect_asks(&search))
        bisect_tell(&search, taken->addresses[search.at] <= address);
    return search.at;
}

static void step(struct taken *taken, size_t place, int64_t by)
{
    for (; place <= taken->count; place += place & -place)
        taken->steps[place] += by;
}

static bool is_taken(const struct taken *taken, uint64_t address)
{
    int64_t sum = 0;
    for (size_t place = place_of(taken, address); place > 0; place -= place & -place)
        sum += taken->steps[place];
    return sum > 0;
}

/* Fills `addresses` and `edges` from the memory of the recording. */
static void find_edges(const struct recording *recording, struct taken *taken,
                       struct edge *edges)
{
    size_t count = 2 * recording->memory_count;
    for (size_t i = 0; i < recording->memory_count; i++) {
        const struct recorded_memory *memory = &recording->memory[i];
        taken->addresses[2 * i] = memory->address;
        taken->addresses[2 * i + 1] = memory->address + memory->bytes;
    }
    qsort(taken->addresses, count, sizeof *taken->addresses, compare_addresses);
    for (size_t i = 0; i < count; i++) {
        if (taken->count == 0 || taken->addresses[taken->count - 1] != taken->addresses[i])
            taken->addresses[taken->count++] = taken->addresses[i];
    }
    for (size_t i = 0; i < recording->memory_count; i++) {
        const struct recorded_memory *memory = &recording->memory[i];
        edges[2 * i] = (struct edge){.time_ns = memory->from_ns,
                                     .first = place_of(taken, memory->address),
                                     .last = place_of(taken, memory->address + memory->bytes),
                                     .ends = false};
        edges[2 * i + 1] = edges[2 * i];
        edges[2 * i + 1].time_ns = memory->until_ns;
        edges[2 * i + 1].ends = true;
    }
    qsort(edges, count, sizeof *edges, compare_edges);
}

/* Keeps those of `count` words from *first on that point to what is taken; `kept` counts all.
 */
static void keep_words(const struct recording *recording, const struct taken *taken,
                       uint64_t *words, uint32_t *kept, uint32_t *first, uint32_t *count)
{
    uint32_t word = *first, end = *first + *count;
    *first = *kept;
    for (; word < end; word++) {
        if (is_taken(taken, recording->words[word]))
            words[(*kept)++] = recording->words[word];
    }
    *count = *kept - *first;
}

/* Takes or gives back the memory of an edge. */
static void pass(struct taken *taken, const struct edge *edge)
{
    int64_t by = edge->ends ? -1 : 1;
    step(taken, edge->first, by);
    step(taken, edge->last, -by);
}

/* Goes through the launches in the order of their calls, and through what is taken meanwhile;
 * then through all nodes, which may be launched at any time, with all that is ever taken. */
static void keep_all_words(struct recording *recording, struct taken *taken,
                           const struct edge *edges, uint64_t *words)
{
    size_t next = 0, edge_count = 2 * recording->memory_count;
    uint32_t kept = 0;
    for (size_t i = 0; i < recording->call_count; i++) {
        struct recorded_call *call = &recording->calls[i];
        if (call->effect != EFFECT_LAUNCH)
            continue;
        for (; next < edge_count && edges[next].time_ns <= call->start_ns; next++)
            pass(taken, &edges[next]);
        keep_words(recording, taken, words, &kept, &call->launch.first_word,
                   &call->launch.word_count);
    }
    memset(taken->steps, 0, (taken->count + 1) * sizeof *taken->steps);
    for (size_t i = 0; i < edge_count; i++) {
        if (!edges[i].ends)
            pass(taken, &edges[i]);
    }
    for (size_t i = 0; i < recording->node_count; i++) {
        struct recorded_node *node = &recording->nodes[i];
        if (node->kind == OP_KERNEL)
            keep_words(recording, taken, words, &kept, &node->launch.first_word,
                       &node->launch.word_count);
    }
    free(recording->words);
    recording->words = words;
    recording->word_count = kept;
}

enum status draft_memory(struct draft *draft)
{
    struct recording *recording = draft->recording;
    size_t count = 2 * recording->memory_count;
    find_ends(draft);
    struct taken taken = {.addresses = malloc((count + 1) * sizeof *taken.addresses),
                          .steps = calloc(count + 1, sizeof *taken.steps)};
    struct edge *edges = malloc((count + 1) * sizeof *edges);
    uint64_t *words = malloc((recording->word_count + 1) * sizeof *words);
    bool there =
        taken.addresses != NULL && taken.steps != NULL && edges != NULL && words != NULL;
    if (there) {
        find_edges(recording, &taken, edges);
        keep_all_words(recording, &taken, edges, words);
    } else {
        free(words);
    }
    free(taken.addresses);
    free(taken.steps);
    free(edges);
    return there ? STATUS_OK : draft_no_memory(draft);
}
