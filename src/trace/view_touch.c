/* view_touch.c - what launches touch: steps of pointers, and which of them are results. */
#include "trace/view_parts.h"

#include "core/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEYS = 5,
    ROLE_KEYS = 4,     /* those that accesses of kernels at the same place have alike */
    PLACES_LEAST = 3,  /* that show a step: two steps that are the same */
    NUMBERED_PART = 4, /* of a kernel's launches that follow one with the same pointer */
};

/* An access of an op, and what it is sorted by. */
struct use {
    uint64_t keys[KEYS];
    const struct access *access;
    size_t index; /* of the access */
    uint32_t op;
    enum op_kind kind;
};

struct finder {
    struct use *uses;
    size_t count;
    size_t *roles;  /* per access of a kernel: a number for its place among the arguments */
    int32_t *wrote; /* per role: how often it alone can have written what a copy out fetched,
                       less how often others can, too */
    struct touch *touches;
};

static int compare_uses(const void *a, const void *b)
{
    const uint64_t *x = ((const struct use *)a)->keys, *y = ((const struct use *)b)->keys;
    int i = 0;
    while (i < KEYS - 1 && x[i] == y[i])
        i++;
    return (x[i] > y[i]) - (x[i] < y[i]);
}

/* Returns how many uses from the first on have its first `keys` keys. */
static size_t count_alike(const struct use *uses, size_t count, size_t keys)
{
    size_t alike = 1;
    while (alike < count &&
           memcmp(uses->keys, uses[alike].keys, keys * sizeof *uses->keys) == 0)
        alike++;
    return alike;
}

static void sort_by_place(struct use *uses, size_t count, bool and_bytes)
{
    for (size_t i = 0; i < count; i++) {
        const struct range *range = &uses[i].access->range;
        const uint64_t bytes = and_bytes ? range->bytes : 0;
        const uint64_t keys[KEYS] = {range->buffer, range->offset, bytes, uses[i].op};
        memcpy(uses[i].keys, keys, sizeof keys);
    }
    qsort(uses, count, sizeof *uses, compare_uses);
}

/* Finds the step of pointers of one role into the first buffer, in the order of their
 * addresses. Returns how many they are. */
static size_t find_step(struct finder *finder, const struct use *uses, size_t count)
{
    const size_t alike = count_alike(uses, count, 1);
    uint64_t step = 0;
    int places = 1;
    for (size_t i = 1; i < alike; i++) {
        const uint64_t gap = uses[i].access->range.offset - uses[i - 1].access->range.offset;
        if (gap != 0 && step != 0 && gap != step)
            return alike;
        step = gap != 0 ? gap : step; /* no gap: the place is used again */
        places += gap != 0 && places < PLACES_LEAST;
    }
    for (size_t i = 0; i < alike && places == PLACES_LEAST; i++) {
        struct touch *touch = &finder->touches[uses[i].index];
        touch->steps = true;
        touch->bytes = step < touch->bytes ? step : touch->bytes;
    }
    return alike;
}

/* Kernels come first, by role and issue. Where a launch often gets the same pointer as the one
 * before, a number may choose what each works on. */
static void find_steps(struct finder *finder)
{
    struct use *uses = finder->uses;
    qsort(uses, finder->count, sizeof *uses, compare_uses);
    for (size_t i = 0, role = 0, end; i < finder->count; i = end, role++) {
        size_t again = 0;
        end = i + count_alike(&uses[i], finder->count - i, ROLE_KEYS);
        for (size_t k = i; k < end; k++) {
            const struct range *range = &uses[k].access->range;
            again += k > i && range->buffer == uses[k - 1].access->range.buffer &&
                     range->offset == uses[k - 1].access->range.offset;
            finder->roles[uses[k].index] = role;
        }
        if (uses[i].kind != OP_KERNEL || again > (end - i) / NUMBERED_PART)
            continue;
        sort_by_place(&uses[i], end - i, false);
        for (size_t k = i; k < end;)
            k += find_step(finder, &uses[k], end - k);
    }
}

/* Tells which accesses are just those of copies and memsets. */
static void find_named(struct finder *finder)
{
    struct use *uses = finder->uses;
    sort_by_place(uses, finder->count, true);
    for (size_t i = 0, end; i < finder->count; i = end) {
        bool brought = false, fetched = false;
        end = i + count_alike(&uses[i], finder->count - i, 3);
        for (size_t k = i; k < end; k++)
            *(uses[k].access->writes ? &brought : &fetched) |= uses[k].kind != OP_KERNEL;
        for (size_t k = i; k < end; k++) {
            finder->touches[uses[k].index].brought = brought;
            finder->touches[uses[k].index].fetched = fetched;
        }
    }
}

/* Counts, of accesses that begin at one address, in issue order, the kernels between a transfer
 * and a copy out. One that is alone wrote what is fetched: nothing else can have. That is not
 * so where others reach there, too, or what came before came from within the device. */
static void count_writers(struct finder *finder, const struct use *uses, size_t count,
                          bool others)
{
    bool known = !others;
    for (size_t i = 0, from = 0; i < count; i++) {
        if (uses[i].kind == OP_KERNEL || (uses[i].kind == OP_D2D && !uses[i].access->writes))
            continue;
        for (size_t k = from; k < i && uses[i].kind == OP_D2H; k++)
            finder->wrote[finder->roles[uses[k].index]] += known && from + 1 == i ? 1 : -1;
        known = !others && op_is_copy(uses[i].kind);
        from = i + 1;
    }
}

/* Goes through the accesses by the addresses where they begin. */
static void find_writers(struct finder *finder)
{
    struct use *uses = finder->uses;
    uint64_t reach = 0;
    sort_by_place(uses, finder->count, false);
    for (size_t i = 0, alike; i < finder->count; i += alike) {
        reach = i > 0 && uses[i - 1].keys[0] == uses[i].keys[0] ? reach : 0;
        alike = count_alike(&uses[i], finder->count - i, 2);
        count_writers(finder, &uses[i], alike, reach > uses[i].keys[1]);
        for (size_t k = i; k < i + alike; k++) {
            const uint64_t past = uses[k].keys[1] + finder->touches[uses[k].index].bytes;
            reach = uses[k].kind == OP_KERNEL && past > reach ? past : reach;
        }
    }
    for (size_t i = 0; i < finder->count; i++)
        finder->touches[i].written = finder->wrote[finder->roles[i]] > 0;
}

static void collect(struct finder *finder, const struct plan *plan)
{
    for (uint32_t op = 0; op < plan->op_count; op++) {
        const struct op_recorded *seen = &plan->recorded->ops[op];
        const enum op_kind kind = plan->ops[op].kind;
        for (uint32_t k = 0; k < seen->access_count; k++) {
            struct use *use = &finder->uses[finder->count++];
            const uint64_t keys[KEYS] = {kind != OP_KERNEL, seen->name, seen->access_count, k,
                                         op};
            *use = (struct use){.index = seen->first_access + k, .op = op, .kind = kind};
            use->access = &plan->recorded->accesses[use->index];
            finder->touches[use->index].bytes = use->access->range.bytes;
            memcpy(use->keys, keys, sizeof keys);
        }
    }
}

enum status view_find_touches(const struct plan *plan, struct touch *touches,
                              struct error *error)
{
    const size_t room = plan->recorded->access_count + 1;
    struct arena arena = {0};
    struct finder finder = {.uses = arena_zeros(&arena, room, sizeof *finder.uses),
                            .roles = arena_zeros(&arena, room, sizeof *finder.roles),
                            .wrote = arena_zeros(&arena, room, sizeof *finder.wrote),
                            .touches = touches};
    const bool enough = !arena.full;
    if (enough) {
        collect(&finder, plan);
        find_steps(&finder);
        find_writers(&finder);
        find_named(&finder);
    }
    arena_free(&arena);
    return enough ? STATUS_OK
                  : error_no_memory(error, "for what %" PRIu32 " ops touch", plan->op_count);
}
