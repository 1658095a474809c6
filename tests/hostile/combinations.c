/* combinations.c - settings drawn at random over all options, kernels, machines and mistakes.
 * What is drawn mostly goes together, so that runs are made. They are held against what every
 * report promises, and against each other: the same work has the same result however it is
 * arranged, a dry run is refused where the run is, and a second run writes the same bytes. */
#include "hostile.h"

#include "kernels/kernel.h"
#include "options/table.h"
#include "plan/mistake.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values that are drawn, by option; NULL: not given. */
struct drawn {
    const char *values[OPTION_COUNT];
    const struct kernel *chain[CHAIN_MAX];
    int length;
    bool races, bytes;
};

/* Numbers are drawn up to these, so that a run takes milliseconds. 0: up to the table's. */
static const uint64_t most[OPTION_COUNT] = {
    [OPTION_ELEMENTS] = 1 << 16, [OPTION_INTENSITY] = 64, [OPTION_COLUMNS] = 256,
    [OPTION_STRIDE] = 64,        [OPTION_ROWS] = 48,      [OPTION_INNER] = 48,
    [OPTION_TILES] = 40,         [OPTION_STREAMS] = 20,   [OPTION_RUNS] = 3,
    [OPTION_WARMUP] = 3,
};

static const char *draw_number(struct input *input, enum option_id id)
{
    const struct option_row *row = &option_rows[id];
    const uint64_t top = most[id] > 0 ? most[id] : row->most;
    if (row->automatic && draw_percent(&input->chance, 8))
        return "auto";
    return text_of(input, "%llu",
                   (unsigned long long)draw_between(&input->chance, row->least, top));
}

static const char *draw_value(struct input *input, enum option_id id)
{
    struct chance *chance = &input->chance;
    const struct option_row *row = &option_rows[id];
    const char *list;
    size_t count = 0;
    switch (row->type) {
    case TYPE_NUMBER:
        return draw_number(input, id);
    case TYPE_SHARE:
        return draw_percent(chance, 30)
                   ? "auto"
                   : text_of(input, "0.%03u", (unsigned)draw_below(chance, 1000));
    case TYPE_CHOICE:
        while (row->choices[count] != NULL)
            count++;
        return row->choices[draw_below(chance, count)];
    case TYPE_PRIORITIES:
        list = "0";
        for (uint64_t left = draw_below(chance, 5); left > 0; left--)
            list = text_of(input, "%s,-%u", list, (unsigned)draw_below(chance, 6));
        return list;
    case TYPE_MISTAKE:
        while (mistake_rows[count].name != NULL)
            count++;
        return mistake_rows[draw_below(chance, count)].name;
    case TYPE_DEVICE:
        return draw_machine(input);
    case TYPE_FLAG:
        return "yes";
    default:
        return NULL;
    }
}

/* Draws a chain whose kernels can follow one another. */
static void draw_chain(struct input *input, struct drawn *drawn)
{
    size_t kernels = 0;
    const char *names = "";
    while (kernel_table[kernels].name != NULL)
        kernels++;
    const int wanted =
        draw_percent(&input->chance, 60) ? 1 : 2 + (int)draw_below(&input->chance, 3);
    for (int tries = 0; drawn->length < wanted && tries < 20; tries++) {
        drawn->chain[drawn->length] = &kernel_table[draw_below(&input->chance, kernels)];
        if (kernel_chain_misfit(drawn->chain, drawn->length + 1) < 0)
            drawn->length++;
    }
    for (int i = 0; i < drawn->length; i++)
        names = text_of(input, "%s%s%s", names, i > 0 ? "," : "", drawn->chain[i]->name);
    drawn->values[OPTION_KERNEL] = names;
}

static uint64_t number_of(const struct drawn *drawn, enum option_id id)
{
    const char *text = drawn->values[id] != NULL ? drawn->values[id] : option_rows[id].fallback;
    return strtoull(text, NULL, 10);
}

/* Makes the array as large as whole tiles of whole rows or columns need. */
static void fit_elements(struct input *input, struct drawn *drawn)
{
    static const enum option_id sizes[] = {OPTION_ROWS, OPTION_INNER, OPTION_COLUMNS};
    for (int i = 0; i < 3; i++) {
        if (drawn->values[sizes[i]] == NULL)
            drawn->values[sizes[i]] = draw_number(input, sizes[i]);
    }
    if (drawn->values[OPTION_TILES] == NULL)
        drawn->values[OPTION_TILES] = draw_number(input, OPTION_TILES);
    const struct kernel_params params = {.intensity = 1,
                                         .stride = 1,
                                         .columns = number_of(drawn, OPTION_COLUMNS),
                                         .rows = number_of(drawn, OPTION_ROWS),
                                         .inner = number_of(drawn, OPTION_INNER)};
    const uint64_t unit = chain_unit(drawn->chain, drawn->length, &params);
    uint64_t tiles = number_of(drawn, OPTION_TILES),
             elements = number_of(drawn, OPTION_ELEMENTS);
    tiles = tiles > 0 ? tiles : 1;
    if (unit > 1)
        elements = unit * tiles * (1 + draw_below(&input->chance, 3));
    drawn->values[OPTION_ELEMENTS] =
        text_of(input, "%llu", (unsigned long long)(elements < tiles ? tiles : elements));
}

/* Options that say how the work is done, not what it is. */
static const enum option_id arrangement[] = {
    OPTION_STREAMS, OPTION_ORDER,      OPTION_LAYOUT,    OPTION_WAYS,        OPTION_CPU_SHARE,
    OPTION_MEMORY,  OPTION_PRIORITIES, OPTION_CALLBACKS, OPTION_CONNECTIONS, OPTION_ISSUE,
    OPTION_DEVICE,  OPTION_BLOCKS,     OPTION_SCATTER,   OPTION_BATCH,
};
static const enum option_id work[] = {OPTION_INTENSITY, OPTION_STRIDE, OPTION_SEED,
                                      OPTION_RUNS,      OPTION_WARMUP, OPTION_PROFILE,
                                      OPTION_CARRY};

/* Has some runs pack tiles, which few other settings go with, and leaves batches out elsewhere.
 */
static void draw_batches(struct input *input, struct drawn *drawn)
{
    const char *issue = drawn->values[OPTION_ISSUE];
    if (draw_percent(&input->chance, 12)) {
        drawn->values[OPTION_PACK] = draw_value(input, OPTION_PACK);
        drawn->values[OPTION_WAYS] = drawn->values[OPTION_ISSUE] = NULL;
        if (draw_percent(&input->chance, 90))
            drawn->values[OPTION_MEMORY] = NULL;
    } else if ((issue == NULL || strcmp(issue, "batch") != 0) &&
               draw_percent(&input->chance, 95)) {
        drawn->values[OPTION_BATCH] = NULL;
    }
}

static void draw_arrangement(struct input *input, struct drawn *drawn)
{
    for (size_t i = 0; i < sizeof arrangement / sizeof arrangement[0]; i++) {
        const enum option_id id = arrangement[i];
        drawn->values[id] = draw_percent(&input->chance, 35) ? draw_value(input, id) : NULL;
    }
    drawn->values[OPTION_DEVICE] = draw_value(input, OPTION_DEVICE);
    for (int i = 0; i < drawn->length; i++) {
        if (kernel_needs_neighbours(drawn->chain[i]) != NULL)
            drawn->values[OPTION_SCATTER] = NULL;
    }
    draw_batches(input, drawn);
    bool rare = draw_percent(&input->chance, 95); /* blocks go with few kernels */
    drawn->values[OPTION_BLOCKS] = rare ? NULL : drawn->values[OPTION_BLOCKS];
    if (drawn->length > 0 && kernel_chain_scans(drawn->chain, drawn->length) &&
        drawn->values[OPTION_WAYS] != NULL && drawn->values[OPTION_WAYS][0] == '4')
        drawn->values[OPTION_WAYS] = "3";
}

static void draw_settings(struct input *input, struct drawn *drawn)
{
    struct chance *chance = &input->chance;
    draw_chain(input, drawn);
    draw_arrangement(input, drawn);
    for (size_t i = 0; i < sizeof work / sizeof work[0]; i++)
        drawn->values[work[i]] = draw_percent(chance, 20) ? draw_value(input, work[i]) : NULL;
    drawn->values[OPTION_ELEMENTS] = draw_number(input, OPTION_ELEMENTS);
    drawn->values[OPTION_TILES] = draw_number(input, OPTION_TILES);
    drawn->values[OPTION_MISTAKE] =
        draw_percent(chance, 30) ? draw_value(input, OPTION_MISTAKE) : NULL;
    if (!kernel_chain_scans(drawn->chain, drawn->length) && draw_percent(chance, 90))
        drawn->values[OPTION_CARRY] = NULL;
    fit_elements(input, drawn);
    if (!drawn->bytes && draw_percent(chance, 50) &&
        chain_unit(drawn->chain, drawn->length,
                   &(struct kernel_params){
                       .columns = 2, .rows = 2, .inner = 2, .intensity = 1, .stride = 1}) == 1)
        drawn->values[OPTION_ELEMENTS] = text_of(
            input, "%llu", (unsigned long long)draw_between(chance, 100, UINT64_C(1) << 33));
    int mistake = 0;
    drawn->races = drawn->values[OPTION_MISTAKE] != NULL &&
                   mistake_find(drawn->values[OPTION_MISTAKE], &mistake) &&
                   mistake_rows[mistake].races;
}

/* Adds what is drawn to the command line. */
static void add_settings(struct input *input, struct call *call, const struct drawn *drawn)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (drawn->values[i] != NULL)
            call_add(call,
                     option_rows[i].type == TYPE_FLAG
                         ? text_of(input, "--%s", option_rows[i].name)
                         : text_of(input, "--%s=%s", option_rows[i].name, drawn->values[i]));
    }
    call_add(call, drawn->bytes ? "--output=o.npy" : "--no-data");
}

/* Several runs in a config file, each drawn alone. */
static void write_config(struct input *input)
{
    const char *text = "";
    for (uint64_t left = 1 + draw_below(&input->chance, 3); left > 0; left--) {
        struct drawn drawn = {.bytes = false};
        draw_settings(input, &drawn);
        text = text_of(input, "%s[run %u]\nno-data = yes\n", text, (unsigned)left);
        for (int i = 0; i < OPTION_COUNT; i++) {
            if (drawn.values[i] != NULL)
                text =
                    text_of(input, "%s%s = %s\n", text, option_rows[i].name, drawn.values[i]);
        }
    }
    file_write("job.ini", text, strlen(text));
    call_add(&input->call, "job.ini");
}

enum { ONE_RUN, OF_FILE, COMPARED };

static void add_outputs(struct input *input)
{
    struct chance *chance = &input->chance;
    if (draw_percent(chance, 30)) {
        const char *path = draw_word(
            input,
            "t.csv t.json t.html t.csv t.json t.html t.csv t.json t.html t.svg t.png t.pdf");
        input_set(input, "timeline", path);
        input_expect(input, path);
    }
    static const enum option_id looks[] = {OPTION_GANTT, OPTION_SIZE, OPTION_MODEL};
    for (int i = 0; i < 3; i++) {
        if (draw_percent(chance, 15))
            input_set(input, option_rows[looks[i]].name, draw_value(input, looks[i]));
    }
    if (draw_percent(chance, 10))
        call_add(&input->call, draw_percent(chance, 50) ? "-v" : "-vv");
    if (draw_percent(chance, 8))
        input_set(input, "fix", NULL);
    if (draw_percent(chance, 8))
        input_set(input, "sweep",
                  draw_word(input, "streams=1..4 tiles=1,2,4 order=depth,breadth ways=1..4 "
                                   "layout=tile,stage device=sim:h200,sim:c2050 seed=1..5 "
                                   "memory=pinned,pageable,mapped callbacks=yes,no"));
    if (draw_percent(chance, 5))
        input_set(input, "fail-above", draw_percent(chance, 50) ? "any:20%" : "short-run:50%");
}

static void make(struct input *input)
{
    struct chance *chance = &input->chance;
    struct drawn *drawn = input->drawn = calloc(1, sizeof *drawn);
    input->what = draw_percent(chance, 75)   ? ONE_RUN
                  : draw_percent(chance, 60) ? OF_FILE
                                             : COMPARED;
    drawn->bytes = draw_percent(chance, 60) && input->what == ONE_RUN;
    call_add(&input->call, input->what == COMPARED ? "compare" : "run");
    if (input->what == OF_FILE) {
        write_config(input);
    } else {
        draw_settings(input, drawn);
        add_settings(input, &input->call, drawn);
    }
    if (drawn->bytes)
        input_expect(input, "o.npy");
    call_add(&input->call, draw_percent(chance, 70)   ? "--format=json"
                           : draw_percent(chance, 50) ? "--format=csv"
                                                      : "--format=text");
    call_add(&input->call, "-q");
    if (input->what == COMPARED)
        return;
    add_outputs(input);
}

/* --- what it is held against --- */

/* The bytes of the array that was written, and the value that a reduction has. */
struct work_done {
    char *bytes;
    size_t size;
    double value; /* NaN where the report does not say */
};

static struct work_done work_done(const struct result *result)
{
    struct work_done done = {0};
    json_t *report = json_loads(result->out, 0, NULL);
    json_t *run = json_array_get(json_object_get(report, "runs"), 0);
    done.value = report != NULL ? json_number_value(json_object_get(run, "result")) : NAN;
    json_decref(report);
    done.bytes = file_read("o.npy", &done.size);
    return done;
}

/* Returns true if a kernel works on each tile by itself: other tiles have another result. */
static bool minds_tiles(const struct kernel *kernel)
{
    return kernel->gathers || kernel->alone || strcmp(kernel->name, "uniform") == 0 ||
           strcmp(kernel->name, "divergent") == 0;
}

/* Draws another arrangement of the same work: its result is the same. */
static void judge_arrangement(struct input *input, const struct result *result)
{
    struct drawn other = *(struct drawn *)input->drawn;
    const struct kernel *last = other.chain[other.length - 1];
    const bool reduces = last->shape == KERNEL_REDUCE;
    bool tiles = !reduces;
    for (int i = 0; i < other.length; i++)
        tiles &= !minds_tiles(other.chain[i]);
    if (!tiles &&
        strcmp(other.values[OPTION_TILES], "auto") == 0) /* each machine has its own */
        return;
    struct work_done before = work_done(result);
    struct result again;
    struct call call = {0};
    other.values[OPTION_MISTAKE] = NULL;
    draw_arrangement(input, &other);
    if (tiles)
        other.values[OPTION_TILES] = draw_number(input, OPTION_TILES);
    call_add(&call, "run");
    add_settings(input, &call, &other);
    call_add(&call, "--format=json");
    run_also(input, &call, &again);
    struct work_done after = work_done(&again);
    if (again.code == 0 &&
        (before.size != after.size || before.bytes == NULL || after.bytes == NULL ||
         memcmp(before.bytes, after.bytes, before.size) != 0))
        fault(input, "another result in another arrangement: %s", shell_line(input, &call));
    if (again.code == 0 && reduces && last->out == DTYPE_I32 && !isnan(before.value) &&
        before.value != after.value)
        fault(input, "%g is %g in another arrangement: %s", before.value, after.value,
              shell_line(input, &call));
    free(before.bytes);
    free(after.bytes);
    result_free(&again);
}

/* A second run prints and writes the same. */
static void judge_again(struct input *input, const struct result *result)
{
    struct result again;
    for (int i = 0; i < input->output_count; i++) {
        struct output *output = &input->outputs[i];
        const char *ending = strrchr(output->path, '.');
        if (strcmp(ending, ".pdf") != 0) /* which says when it was made */
            output->whole = file_read(output->path, &output->whole_size);
        remove(output->path);
    }
    run_also(input, &input->call, &again);
    if (again.code != result->code)
        fault(input, "exit %d, and then %d", result->code, again.code);
    if (again.out_size != result->out_size ||
        memcmp(again.out, result->out, again.out_size) != 0)
        fault(input, "a second run prints something else");
    result_free(&again);
}

/* A dry run is refused where the run is, and not where the run is made: before a run is
 * refused, one before it may fail. */
static void judge_dry(struct input *input, const struct result *result)
{
    struct call call = input->call;
    struct result dry;
    call_add(&call, "--dry-run");
    call_add(&call, draw_percent(&input->chance, 50) ? "--format=json" : "--format=text");
    run_also(input, &call, &dry);
    if (result->code == 2 ? dry.code != 2 : result->code == 0 && dry.code == 2)
        fault(input, "exit %d, but %d with --dry-run", result->code, dry.code);
    result_free(&dry);
}

static void judge(struct input *input, const struct result *result)
{
    const struct drawn *drawn = input->drawn;
    /* A run may be told to fail, or have no room: with no data it may be as large as it likes.
     */
    bool may_fail = drawn->values[OPTION_MISTAKE] != NULL || !drawn->bytes;
    for (int i = 1; i <= input->call.count; i++)
        may_fail |= strncmp(input->call.arguments[i], "--fail-above", 12) == 0;
    if (result->code == 1 && !may_fail)
        fault(input, "fails: %.300s", result->err);
    if (draw_percent(&input->chance, 15))
        judge_dry(input, result);
    if (draw_percent(&input->chance, 15))
        judge_again(input, result);
    else if (drawn->bytes && result->code == 0 && !drawn->races &&
             draw_percent(&input->chance, 50))
        judge_arrangement(input, result);
}

const struct hostile_class hostile_combinations = {
    .name = "combinations", .weight = 6, .make = make, .judge = judge};
