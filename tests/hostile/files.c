/* files.c - damaged files for every reader: arrays, machine files, config files, and traces of
 * every form. They are read, or refused with a word, in little memory, and what is made of them
 * can be read again. */
#include "hostile.h"

#include "core/embedded.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { ARRAY, RAW, MACHINE, CONFIG, TRACE, KINDS };

/* A file that is whole, or was found to be awkward once. */
struct seed {
    enum kind kind;
    const char *ending;
    char *bytes;
    size_t size;
};

enum { SEEDS_MAX = 128, TIMES_OF_SIZE = 40, MOST_MEBI = 512 };
static struct seed seeds[SEEDS_MAX];
static size_t seed_count;

static void add_seed(enum kind kind, const char *ending, char *bytes, size_t size)
{
    if (bytes != NULL && seed_count < SEEDS_MAX)
        seeds[seed_count++] = (struct seed){kind, ending, bytes, size};
    else
        free(bytes);
}

static void add_texts(enum kind kind, const struct embedded *list)
{
    for (; list->name != NULL; list++)
        add_seed(kind, ".ini", strdup(list->text), strlen(list->text));
}

/* Files of the tests. */
static void add_kept(struct input *input)
{
    static const struct {
        enum kind kind;
        const char *path;
    } kept[] = {
        {ARRAY, "data/f32.npy"},
        {ARRAY, "data/f32_matrix.npy"},
        {ARRAY, "data/f32_v2.npy"},
        {ARRAY, "data/f32_v3.npy"},
        {ARRAY, "data/i32.npy"},
        {ARRAY, "data/f64.npy"},
        {ARRAY, "data/empty.npy"},
        {ARRAY, "fuzz/seeds/npy/matrix.npy"},
        {ARRAY, "fuzz/seeds/npy/python2.npy"},
        {RAW, "fuzz/seeds/npy/elements.raw"},
        {CONFIG, "fuzz/seeds/config/awkward.ini"},
        {CONFIG, "fuzz/seeds/config/every-key.ini"},
        {CONFIG, "fuzz/seeds/config/only-global.ini"},
        {TRACE, "data/traces/devices.csv"},
        {TRACE, "data/traces/serial.csv"},
        {TRACE, "data/traces/streams.csv"},
        {TRACE, "data/traces/pytorch.json"},
        {TRACE, "fuzz/seeds/trace/holds-in-a-circle.csv"},
        {TRACE, "fuzz/seeds/trace/long-op-and-gap.csv"},
        {TRACE, "fuzz/seeds/trace/units.csv"},
        {TRACE, "fuzz/seeds/trace/saved.csv"},
        {TRACE, "recordings/good.jsonl"},
        {TRACE, "fuzz/seeds/trace/small.sqlite"},
    };
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        size_t size;
        char *bytes = file_read(text_of(input, "%s/%s", setting.tests, kept[i].path), &size);
        if (bytes == NULL)
            fault(input, "the test lacks %s", kept[i].path);
        add_seed(kept[i].kind, strrchr(kept[i].path, '.'), bytes, size);
    }
}

/* Files that the program itself writes, of runs with all kinds of op. */
static void add_written(void)
{
    static const char *const runs[][5] = {
        {"--kernel=wave,sum", "--ways=4", "--callbacks", "--priorities=0,-5"},
        {"--kernel=scan", "--layout=stage", "--carry=callback"},
        {"--mistake=blocking-stream", "--device=sim:c2050", "--order=breadth"},
        {"--mistake=alloc-in-loop", "--memory=pageable"},
        {"--issue=graph", "--tiles=8"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct call call = {0};
        struct result result;
        pid_t pid;
        size_t size;
        call_add(&call, "--no-data");
        call_add(&call, "--device=sim:h200");
        call_add(&call, "--tiles=5");
        call_add(&call, "--timeline=t.csv");
        for (int k = 0; k < 5 && runs[i][k] != NULL; k++)
            call_add(&call, runs[i][k]);
        child_start(&call, &pid);
        child_finish(&call, pid, &result);
        char *bytes = file_read("t.csv", &size);
        add_seed(TRACE, ".csv", bytes, size);
        remove("t.csv");
        result_free(&result);
    }
}

/* --- damage --- */

struct text {
    char *bytes;
    size_t size, room;
};

/* Puts `size` bytes in the place of the `old` ones at `at`. */
static void put(struct text *text, size_t at, size_t old, const char *bytes, size_t size)
{
    char *copy = malloc(size + 1); /* `bytes` may be a part of the text */
    if (copy == NULL || text->size - old + size > text->room) {
        free(copy);
        return;
    }
    memcpy(copy, bytes, size);
    memmove(text->bytes + at + size, text->bytes + at + old, text->size - at - old);
    memcpy(text->bytes + at, copy, size);
    text->size += size - old;
    free(copy);
}

/* Another figure for one of the numbers. */
static void put_number(struct input *input, struct text *text, size_t at)
{
    static const char numbers[] =
        "0 -1 1 1e999 nan inf 1e308 1e-300 9223372036854775807 -9223372036854775808 "
        "18446744073709551616 4294967296 2147483648 999999999999999999999999 0x7f 1.5 "
        "1e18 65536";
    const char *number = draw_word(input, numbers);
    while (at < text->size && !isdigit((unsigned char)text->bytes[at]))
        at++;
    size_t end = at;
    while (end < text->size &&
           (isdigit((unsigned char)text->bytes[end]) || text->bytes[end] == '.'))
        end++;
    if (at < text->size)
        put(text, at, end - at, number, strlen(number));
}

/* Takes a line out, or puts it there twice. */
static void put_line(struct chance *chance, struct text *text, size_t at)
{
    while (at > 0 && text->bytes[at - 1] != '\n')
        at--;
    const char *line = text->bytes + at, *end = memchr(line, '\n', text->size - at);
    const size_t size = end != NULL ? (size_t)(end - line) + 1 : text->size - at;
    if (draw_percent(chance, 50))
        put(text, at, size, "", 0);
    else
        put(text, at, 0, line, size);
}

static void damage(struct input *input, struct text *text, const struct seed *other)
{
    struct chance *chance = &input->chance;
    const size_t at = draw_below(chance, text->size + 1), left = text->size - at;
    const size_t some = draw_between(chance, 0, left);
    const size_t from = draw_below(chance, other->size + 1);
    const char *name;
    switch (draw_below(chance, 11)) {
    case 0:
        text->size = draw_percent(chance, 30) ? at : text->size;
        break;
    case 1:
        put(text, at, some, "", 0);
        break;
    case 2:
        for (uint64_t times = draw_between(chance, 1, 64); times > 0; times--)
            put(text, at, 0, text->bytes + at, some);
        break;
    case 3:
        put(text, at, draw_percent(chance, 50) ? some : 0, other->bytes + from,
            draw_between(chance, 0, other->size - from));
        break;
    case 4:
    case 5:
        put_line(chance, text, at);
        break;
    case 6:
    case 7:
        put_number(input, text, at);
        break;
    case 8:
        name = draw_name(input);
        put(text, at, draw_percent(chance, 50) ? some % 16 : 0, name, strlen(name));
        break;
    default:
        if (left > 0 && draw_percent(chance, 50))
            text->bytes[at] ^= (char)(1 << draw_below(chance, 8));
        else if (left > 0)
            text->bytes[at] = (char)draw_below(chance, 256);
    }
}

/* --- commands --- */

static void make_run(struct input *input, const char *path)
{
    input_set(input, "input", path);
    input_set(input, "device", "sim:h200");
    input_set(
        input, "kernel",
        draw_word(input, "scale sum scan sum-double finite all transpose-fine wave,scale"));
    input_set(input, "tiles",
              text_of(input, "%u", 1 + (unsigned)draw_below(&input->chance, 8)));
    input_set(input, "output", "o.npy");
    input_expect(input, "o.npy");
}

/* With no data and no bytes a damaged file can't name a file to write. */
static void make_config(struct input *input, const char *path)
{
    call_add(&input->call, path);
    if (draw_percent(&input->chance, 30))
        input_set(input, "dry-run", NULL);
    else
        input_set(input, "no-data", NULL);
    input_set(input, "device", "sim:h200");
    input_set(input, "tiles", "6");
}

static void make_machine(struct input *input, const char *path)
{
    bool stands_for = draw_percent(&input->chance, 20);
    if (stands_for)
        call_add(&input->call, "compare");
    input_set(input, "device", stands_for ? "sim:h200" : text_of(input, "sim:./%s", path));
    if (stands_for)
        input_set(input, "machine", text_of(input, "./%s", path));
    input_set(input, "no-data", NULL);
    input_set(input, "tiles", "6");
    if (draw_percent(&input->chance, 50))
        input_set(input, "ways", "4");
    if (draw_percent(&input->chance, 20))
        input_set(input, "order", "breadth");
}

static void make_view(struct input *input, const char *path)
{
    struct chance *chance = &input->chance;
    call_add(&input->call, "view");
    if (draw_percent(chance, 10)) {
        input_set(input, "before", path);
        input_set(input, "after", path);
    } else {
        call_add(&input->call, path);
    }
    if (draw_percent(chance, 15))
        input_set(input, "window", draw_word(input, "25%..50% 0..1us 1us..1ms 10%..100%"));
    if (draw_percent(chance, 10))
        input_set(input, "stream", draw_percent(chance, 50) ? "0" : "1,2");
    if (draw_percent(chance, 10))
        input_set(input, "gantt", "streams");
}

static void add_forms(struct input *input)
{
    if (draw_percent(&input->chance, 60))
        input_set(input, "format", draw_percent(&input->chance, 70) ? "json" : "csv");
    if (draw_percent(&input->chance, 40)) {
        const char *path = draw_word(input, "t.csv t.json t.html");
        input_set(input, "timeline", path);
        input_expect(input, path);
    }
}

static void make(struct input *input)
{
    static void (*const makers[KINDS])(struct input *, const char *) = {
        make_run, make_run, make_machine, make_config, make_view};
    struct chance *chance = &input->chance;
    if (seed_count == 0) {
        add_kept(input);
        add_texts(MACHINE, machine_texts);
        add_texts(CONFIG, config_texts);
        add_texts(CONFIG, lesson_texts);
        add_written();
    }
    const enum kind kind = draw_percent(chance, 50) ? TRACE : draw_below(chance, KINDS);
    const struct seed *seed, *other;
    do
        seed = &seeds[draw_below(chance, seed_count)];
    while (seed->kind != kind);
    do
        other = &seeds[draw_below(chance, seed_count)];
    while (other->kind != kind);
    struct text text = {.size = seed->size, .room = TIMES_OF_SIZE * seed->size + 4096};
    text.bytes = malloc(text.room);
    memcpy(text.bytes, seed->bytes, seed->size);
    for (uint64_t times = draw_between(chance, 0, 12); times > 0; times--)
        damage(input, &text, other);
    const char *path = text_of(input, "in%s", seed->ending);
    if (!file_write(path, text.bytes, text.size))
        fault(input, "the test can't write %s", path);
    free(text.bytes);
    input->what = (int)kind;
    input->call.memory_bytes = 1024 * (uint64_t)MEBI;
    makers[kind](input, path);
    call_add(&input->call, "-q");
    add_forms(input);
}

static void judge(struct input *input, const struct result *result)
{
    struct result again;
    if (!setting.sanitized && input->what != CONFIG && input->what != MACHINE &&
        result->peak_bytes > MOST_MEBI * (size_t)MEBI)
        fault(input, "it takes %zu MiB of memory", result->peak_bytes / MEBI);
    if (result->code != 0 || access("t.csv", F_OK) != 0)
        return;
    struct call call = {0};
    call_add(&call, "view");
    call_add(&call, "t.csv");
    run_also(input, &call, &again);
    if (again.code != 0)
        fault(input, "what it writes can't be read: %.300s", again.err);
    result_free(&again);
}

const struct hostile_class hostile_files = {
    .name = "files", .weight = 6, .make = make, .judge = judge};
