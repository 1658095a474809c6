/* test_emit_back.c - see test_emit_back.h. */
#include "test_emit_back.h"

#include "fixtures.h"
#include "plan/host_layout.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 4096, NUMBERS_MAX = 256, OPS_MAX = 16384 };

/* Bytes of a buffer: by its name in the plan, and as they are in the recording. */
struct place {
    const char *buffer;
    json_int_t offset, seen_buffer, seen_offset;
};

/* Where tiles lie on the host, where they lie apart. */
struct apart {
    struct plan plan; /* its places; NULL: tile lies behind tile */
    json_int_t elements, tiles, size;
    bool values; /* the output has a value for each tile, and these follow one another */
};

struct comparison {
    struct place places[PLACES_MAX]; /* that copies have named */
    int place_count;
    const json_t *streams[NUMBERS_MAX]; /* of the plan: their numbers in the recording */
    const json_t *kinds, *seen_kinds;   /* of both, with what kind each stream is of */
    bool own;     /* the chain has kernels of the user's, whose functions have any names */
    bool library; /* it is a library's, which chooses the blocks, too */
    bool in_one;  /* this run's streams are all the first, but for the legacy default stream */
    struct apart apart;
    char *text;
};

__attribute__((format(printf, 2, 3))) static bool differs(const struct comparison *comparison,
                                                          const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(comparison->text, DIFFERENCE_TEXT, format, arguments);
    va_end(arguments);
    return false;
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *word(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL ? value : "";
}

static bool is_kind(const json_t *op, const char *kind)
{
    return strcmp(word(op, "kind"), kind) == 0;
}

/* --- places --- */

/* Carries lie apart in the plan, and one after another in the program. */
static bool is_array(const char *buffer)
{
    return strncmp(buffer, "host.in", 7) == 0 || strcmp(buffer, "host.out") == 0;
}

/* Returns the elements of the tile that has an element. */
static json_int_t tile_count(const struct apart *apart, json_int_t element)
{
    const json_int_t tile = ((element + 1) * apart->tiles - 1) / apart->elements;
    return (tile + 1) * apart->elements / apart->tiles - tile * apart->elements / apart->tiles;
}

/* Draws the places of a plan whose tiles lie apart, and reads off its copies how large an
 * element is and whether the output has values. */
static void find_places(struct apart *apart, const json_t *plan)
{
    const json_t *settings = json_object_get(plan, "settings"), *op;
    struct error error;
    size_t i;
    *apart = (struct apart){.elements = number(settings, "elements"),
                            .tiles = number(settings, "tiles")};
    if (!json_is_true(json_object_get(settings, "scatter")))
        return;
    apart->plan.tiles = (uint32_t)apart->tiles;
    ck_assert_int_eq(host_layout_draw(&apart->plan, (uint64_t)number(settings, "seed"), &error),
                     STATUS_OK);
    json_array_foreach(json_object_get(plan, "ops"), i, op)
    {
        const json_int_t bytes = number(op, "bytes");
        if (is_kind(op, "h2d") && apart->size == 0)
            apart->size = bytes / tile_count(apart, 0);
        if (is_kind(op, "d2h") && number(op, "tile") == 0)
            apart->values = bytes != tile_count(apart, 0) * apart->size;
    }
}

/* Returns where a byte of a host array is in its memory, as host_layout.h describes it. */
static json_int_t in_memory(const struct apart *apart, const char *buffer, json_int_t offset)
{
    enum { ALIGNMENT = 64, GAP = 256 };
    if (apart->plan.places == NULL || (apart->values && strcmp(buffer, "host.out") == 0))
        return offset;
    const json_int_t most = (apart->elements + apart->tiles - 1) / apart->tiles * apart->size;
    const json_int_t pitch = (most + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + GAP;
    const json_int_t tile = ((offset / apart->size + 1) * apart->tiles - 1) / apart->elements;
    return apart->plan.places[tile] * pitch + offset -
           tile * apart->elements / apart->tiles * apart->size;
}

/* Returns the place of the plan's bytes, or NULL where no copy has named them. */
static const struct place *find_place(const struct comparison *comparison, const json_t *range)
{
    for (int i = 0; i < comparison->place_count; i++) {
        const struct place *place = &comparison->places[i];
        if (strcmp(place->buffer, word(range, "buffer")) == 0 &&
            place->offset == number(range, "offset"))
            return place;
    }
    return NULL;
}

/* Holds the bytes that a copy names against what earlier ones named: one place of the plan is
 * one of the recording, and the host's arrays are whole in both. */
static bool same_place(struct comparison *comparison, const json_t *range, const json_t *seen)
{
    const char *buffer = word(range, "buffer");
    const json_int_t offset = number(range, "offset"), seen_buffer = number(seen, "buffer"),
                     seen_offset = number(seen, "offset");
    bool known = false;
    if (number(range, "bytes") != number(seen, "bytes"))
        return differs(comparison, "%lld bytes of %s+%lld are %lld",
                       (long long)number(range, "bytes"), buffer, (long long)offset,
                       (long long)number(seen, "bytes"));
    for (int i = 0; i < comparison->place_count; i++) {
        const struct place *place = &comparison->places[i];
        const bool one = strcmp(place->buffer, buffer) == 0;
        const bool same = one && place->offset == offset;
        const bool seen_same =
            place->seen_buffer == seen_buffer && place->seen_offset == seen_offset;
        if (same != seen_same)
            return differs(comparison, "%s+%lld and %s+%lld are one place or apart", buffer,
                           (long long)offset, place->buffer, (long long)place->offset);
        if (one && is_array(buffer) &&
            (place->seen_buffer != seen_buffer ||
             place->seen_offset - seen_offset !=
                 in_memory(&comparison->apart, buffer, place->offset) -
                     in_memory(&comparison->apart, buffer, offset)))
            return differs(comparison, "%s+%lld lies elsewhere in its array", buffer,
                           (long long)offset);
        known |= same;
    }
    if (known)
        return true;
    if (comparison->place_count == PLACES_MAX)
        return differs(comparison, "there are more than %d places", PLACES_MAX);
    comparison->places[comparison->place_count++] =
        (struct place){buffer, offset, seen_buffer, seen_offset};
    return true;
}

static bool has_place(const json_t *ranges, const struct place *place)
{
    const json_t *range;
    size_t i;
    json_array_foreach(ranges, i, range)
    {
        if (number(range, "buffer") == place->seen_buffer &&
            number(range, "offset") == place->seen_offset)
            return true;
    }
    return false;
}

/* The kernel gets all places of the plan's that copies have named, but for a carry's, for which
 * it has one pointer. The recording does not tell what it reads from what it writes. */
static bool gets_places(const struct comparison *comparison, const json_t *op,
                        const json_t *seen)
{
    static const char *const ways[] = {"reads", "writes"};
    for (size_t w = 0; w < 2; w++) {
        const json_t *range;
        size_t i;
        json_array_foreach(json_object_get(op, ways[w]), i, range)
        {
            const struct place *place = find_place(comparison, range);
            if (place != NULL && strcmp(place->buffer, "device.carry") != 0 &&
                !has_place(json_object_get(seen, "reads"), place) &&
                !has_place(json_object_get(seen, "writes"), place))
                return differs(comparison, "%s is not at %s+%lld", word(op, "name"),
                               place->buffer, (long long)place->offset);
        }
    }
    return true;
}

/* --- ops --- */

static const char *kind_of(const json_t *streams, size_t number)
{
    return word(json_array_get(streams, number), "kind");
}

static bool same_stream(struct comparison *comparison, const json_t *op, const json_t *seen)
{
    const json_t *other = json_object_get(seen, "stream");
    size_t mine = (size_t)number(op, "stream");
    if (comparison->in_one && strcmp(kind_of(comparison->kinds, mine), "legacy") != 0)
        mine = strcmp(kind_of(comparison->kinds, 0), "legacy") == 0 ? 1 : 0;
    if (mine >= NUMBERS_MAX)
        return differs(comparison, "there are more than %d streams", NUMBERS_MAX);
    for (size_t i = 0; i < NUMBERS_MAX; i++) {
        const json_t *taken = comparison->streams[i];
        if (taken != NULL && (i == mine) != (json_equal(taken, other) != 0))
            return differs(comparison, "%s is in another stream", word(op, "name"));
    }
    comparison->streams[mine] = other;
    const char *kind = kind_of(comparison->kinds, mine);
    const char *seen_kind = kind_of(comparison->seen_kinds, (size_t)json_integer_value(other));
    return strcmp(kind, seen_kind) == 0 || differs(comparison, "the stream of %s is %s, not %s",
                                                   word(op, "name"), seen_kind, kind);
}

/* Returns the place in `ops`, before `at`, of the latest record of the event of a wait; -1:
 * none. */
static int recorded_by(const json_t *const *ops, int at)
{
    const json_int_t event = number(ops[at], "event");
    for (int i = at - 1; i >= 0; i--) {
        if (is_kind(ops[i], "record") && number(ops[i], "event") == event)
            return i;
    }
    return -1;
}

/* The plan's kernel "wave-launches 3" is the program's function wave_launches. */
static bool same_name(const char *name, const char *function)
{
    const size_t length = strcspn(name, " ");
    bool same = strlen(function) == length;
    for (size_t i = 0; i < length && same; i++)
        same = function[i] == (name[i] == '-' ? '_' : name[i]);
    return same;
}

static bool same_kernel(const struct comparison *comparison, const json_t *op,
                        const json_t *seen)
{
    if (!comparison->own && !comparison->library &&
        !same_name(word(op, "name"), word(seen, "name")))
        return differs(comparison, "%s is the kernel %s", word(op, "name"), word(seen, "name"));
    if (!comparison->library && number(op, "blocks") != number(seen, "blocks"))
        return differs(comparison, "%s has %lld blocks, not %lld", word(op, "name"),
                       (long long)number(seen, "blocks"), (long long)number(op, "blocks"));
    return gets_places(comparison, op, seen);
}

static bool same_copy(struct comparison *comparison, const json_t *op, const json_t *seen)
{
    return same_place(comparison, json_array_get(json_object_get(op, "reads"), 0),
                      json_array_get(json_object_get(seen, "reads"), 0)) &&
           same_place(comparison, json_array_get(json_object_get(op, "writes"), 0),
                      json_array_get(json_object_get(seen, "writes"), 0));
}

/* --- runs --- */

/* Ops between two calls that wait for the device. */
struct stretch {
    const json_t *ops[OPS_MAX];
    int count;
    bool works; /* a kernel is among them */
};

/* Reads the next ops, up to the next wait for the device. Returns where that ends. */
static size_t next_stretch(const json_t *ops, size_t at, struct stretch *stretch)
{
    stretch->count = 0;
    stretch->works = false;
    for (; at < json_array_size(ops); at++) {
        const json_t *op = json_array_get(ops, at);
        if (strcmp(word(op, "name"), "sync device") == 0)
            return at + 1;
        if (json_is_null(json_object_get(op, "stream")))
            continue;
        stretch->works |= is_kind(op, "kernel");
        ck_assert_int_lt(stretch->count, OPS_MAX);
        stretch->ops[stretch->count++] = op;
    }
    return at;
}

static bool same_op(struct comparison *comparison, const json_t *const *ops,
                    const json_t *const *seen, int at)
{
    const char *name = word(ops[at], "name");
    if (strcmp(word(ops[at], "kind"), word(seen[at], "kind")) != 0)
        return differs(comparison, "op %d, %s, is %s", at, name, word(seen[at], "kind"));
    if (!same_stream(comparison, ops[at], seen[at]))
        return false;
    if (is_kind(ops[at], "kernel"))
        return same_kernel(comparison, ops[at], seen[at]);
    if (is_kind(ops[at], "h2d") || is_kind(ops[at], "d2h"))
        return same_copy(comparison, ops[at], seen[at]);
    if (is_kind(ops[at], "wait") && recorded_by(ops, at) != recorded_by(seen, at))
        return differs(comparison, "op %d waits for op %d, not %d", at, recorded_by(seen, at),
                       recorded_by(ops, at));
    return true;
}

static bool same_run(struct comparison *comparison, const struct stretch *plan,
                     const struct stretch *seen)
{
    if (plan->count != seen->count)
        return differs(comparison, "a run has %d ops, not %d", seen->count, plan->count);
    for (int i = 0; i < plan->count; i++) {
        if (!same_op(comparison, plan->ops, seen->ops, i))
            return false;
    }
    return true;
}

static struct comparison comparison;

static bool gives_back(const json_t *plan, const json_t *seen, int runs, bool serial,
                       char why[DIFFERENCE_TEXT])
{
    static struct stretch wanted, stretch;
    const json_t *ops = json_object_get(seen, "ops");
    int found = 0;
    free(comparison.apart.plan.places);
    comparison = (struct comparison){
        .text = why,
        .kinds = json_object_get(plan, "streams"),
        .seen_kinds = json_object_get(seen, "streams"),
        .own = strchr(word(json_object_get(plan, "settings"), "kernel"), '/') != NULL,
        .library = strcmp(word(json_object_get(plan, "settings"), "kernel"), "dgemm") == 0};
    find_places(&comparison.apart, plan);
    next_stretch(json_object_get(plan, "ops"), 0, &wanted);
    for (size_t at = 0; at < json_array_size(ops);) {
        at = next_stretch(ops, at, &stretch);
        comparison.in_one = serial && found == 1;
        if (stretch.works && !same_run(&comparison, &wanted, &stretch))
            return false;
        found += stretch.works ? 1 : 0;
    }
    return found == runs || differs(&comparison, "there are %d runs, not %d", found, runs);
}

/* Returns what the latest run of the program printed. */
static json_t *printed(void)
{
    char *out = test_file_text("out");
    json_t *root = json_loads(out, 0, NULL);
    free(out);
    ck_assert_ptr_nonnull(root);
    return root;
}

bool emit_gives_back(const char *file, int runs, bool serial, char why[DIFFERENCE_TEXT])
{
    char line[DIFFERENCE_TEXT];
    json_t *plan = printed();
    snprintf(line, sizeof line, "view %s --dry-run --format=json", file);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
    json_t *seen = printed();
    const bool same =
        gives_back(json_array_get(json_object_get(plan, "plans"), 0),
                   json_array_get(json_object_get(seen, "plans"), 0), runs, serial, why);
    json_decref(plan);
    json_decref(seen);
    return same;
}
