/* check_foreign.c - runs with a known cause, exported as Nsight Systems would have: they come
 * back under their own name, or as unknown, never under another's; clean ones as nothing. */
#include "foreign_cases.h"
#include "plan/build.h"
#include "sim/simulator.h"
#include "suites.h"
#include "trace_cases.h"
#include "writers/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a run, and its trace, judged --- */

void foreign_ran_free(struct ran *ran)
{
    timeline_free(&ran->timeline);
    plan_free(&ran->plan);
}

bool foreign_run(const char *machine, const struct settings *settings, struct ran *ran)
{
    struct error error = {0};
    struct simulator_hooks hooks = {0};
    int64_t issued;
    memset(ran, 0, sizeof *ran);
    ran->settings = *settings;
    snprintf(ran->settings.name, RUN_NAME_MAX, "run");
    ran->machine = test_machine_named(machine);
    enum status status = plan_build(settings, &ran->machine, &ran->plan, &error);
    if (status == STATUS_USAGE)
        return false;
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    ran->timeline = (struct timeline){0};
    status = simulator_run(&ran->machine, ran->machine.queues, &ran->plan, &hooks,
                           &ran->timeline, &issued, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    for (uint32_t i = 0; i < ran->timeline.span_count; i++) {
        const struct span *span = &ran->timeline.spans[i];
        if (op_on_device(span->kind) && span->end_ns > ran->time_ns)
            ran->time_ns = span->end_ns;
    }
    return true;
}

/* A form leaves that out. */
/* In no order is a database bound to give its rows. */
static const unsigned left_out[FORM_COUNT] = {[FORM_OLD] = NSYS_NO_STREAMS | NSYS_NO_EVENTS |
                                                           NSYS_BACKWARDS};
static const char *const form_names[FORM_COUNT] = {"csv", "sqlite", "older", "chrome", "own"};

/* Writes the run as `--timeline=x.csv` does. */
static void export_own(FILE *out, const struct ran *ran)
{
    struct settings settings = ran->settings;
    settings.memory = ran->plan.memory;
    struct run_report run = {.timeline = ran->timeline,
                             .settings = &settings,
                             .streams = ran->plan.streams,
                             .median_ns = timeline_time_ns(&ran->timeline)};
    const struct report report = {.version = "test", .runs = &run, .run_count = 1};
    ck_assert_int_eq(analyse(&run.timeline, &run.analysis, NULL), STATUS_OK);
    write_csv_timeline(out, &report);
}

static bool is_database(enum form form)
{
    return form == FORM_SQLITE || form == FORM_OLD;
}

bool foreign_export(const struct ran *ran, enum form form, unsigned leaves, const char *more)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    if (form == FORM_CSV)
        nsys_export_csv(out, &ran->plan, &ran->timeline, ran->machine.name);
    else if (form == FORM_OWN)
        export_own(out, ran);
    else if (form == FORM_CHROME)
        nsys_export_chrome(out, &ran->plan, &ran->timeline, ran->machine.name);
    else
        nsys_export_sql(out, &ran->plan, &ran->timeline, ran->machine.name, leaves);
    fputs(more, out);
    fclose(out);
    bool made = true;
    if (!is_database(form))
        test_file_write(test_trace_path, text, size);
    else
        made = test_sqlite_file(test_trace_path, text);
    free(text);
    return made;
}

void foreign_judge(struct verdicts *verdicts)
{
    struct error error = {0};
    struct critical critical;
    struct traces traces = test_traces(test_trace_path);
    ck_assert_int_eq(traces.count, 1);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_int_eq(critical_find(timeline, NULL, &critical, &error), STATUS_OK);
    const struct verdict_case facts = {.timeline = timeline, .critical = &critical};
    ck_assert_msg(verdicts_find(&facts, verdicts, &error) == STATUS_OK, "%s", error.text);
    int64_t sum_ns = 0;
    for (int i = 0; i < verdicts->count; i++) {
        ck_assert_int_ge(verdicts->items[i].cost_ns, 0);
        sum_ns += verdicts->items[i].cost_ns;
        ck_assert(i >= verdicts->named || verdicts->items[i].seen[0] != '\0');
        ck_assert(!traces.items[0].saved || strstr(verdicts->items[i].seen, "nsys") == NULL);
    }
    ck_assert_int_eq(sum_ns, verdicts->time_ns - verdicts->limit_ns);
    critical_free(&critical);
    traces_free(&traces);
}

/* --- causes --- */

static void make_mistake(struct settings *settings, const char *name)
{
    settings->mistake = test_mistake(name);
}
static void one_stream(struct settings *settings, const char *name)
{
    (void)name;
    settings->streams = 1;
}
static void serial(struct settings *settings, const char *name)
{
    (void)name;
    settings->ways = 1;
}
static void two_way(struct settings *settings, const char *name)
{
    (void)name;
    settings->ways = 2;
}
static void few_tiles(struct settings *settings, const char *name)
{
    settings->tiles = name[0] == '1' ? 1 : 2;
}
static void small_tiles(struct settings *settings, const char *name)
{
    (void)name;
    settings->elements /= 16;
    settings->tiles = (uint32_t)(settings->elements / 2048);
}

/* Which form carries the evidence of which cause, and why one does not. Without calls of the
 * host a late start has many causes; without waits for events so has one in another stream. */
static const struct cause {
    const char *name;
    void (*make)(struct settings *settings, const char *name);
    enum verdict_code code;
    bool carried[FORM_COUNT];
    const char *why;   /* a form does not carry it */
    bool old_gpu;      /* only GPUs below compute capability 5.0 show it */
    bool needs_events; /* with a stream per stage only waits for events tell it */
} causes[] = {
    {.name = "clean", .code = VERDICT_REST, .carried = {true, true, true}},
    {.name = "missing-wait",
     .make = make_mistake,
     .code = VERDICT_MISSING_WAIT,
     .why = "no trace has the data of kernels"},
    {.name = "pageable-memory",
     .make = make_mistake,
     .code = VERDICT_PAGEABLE_MEMORY,
     .carried = {true, true, true}},
    {.name = "legacy-stream",
     .make = make_mistake,
     .code = VERDICT_LEGACY_STREAM,
     .carried = {true, true, true}},
    {.name = "blocking-stream",
     .make = make_mistake,
     .code = VERDICT_BLOCKING_STREAM,
     .carried = {false, true, true},
     .why = "in depth-first order nothing overlaps, as if the host waited"},
    {.name = "sync-in-loop",
     .make = make_mistake,
     .code = VERDICT_SYNC_IN_LOOP,
     .carried = {false, true, true},
     .why = "no calls"},
    {.name = "alloc-in-loop",
     .make = make_mistake,
     .code = VERDICT_ALLOC_IN_LOOP,
     .carried = {false, true, true},
     .why = "no calls"},
    {.name = "pinned-alloc-in-loop",
     .make = make_mistake,
     .code = VERDICT_PINNED_ALLOC_IN_LOOP,
     .carried = {false, true, true},
     .why = "no calls"},
    {.name = "memset-in-loop",
     .make = make_mistake,
     .code = VERDICT_MEMSET_IN_LOOP,
     .carried = {false, true, true},
     .why = "in depth-first order nothing overlaps, as if the host waited",
     .old_gpu = true},
    {.name = "launch-blocking",
     .make = make_mistake,
     .code = VERDICT_LAUNCH_BLOCKING,
     .carried = {false, true, true},
     .why = "no calls"},
    {.name = "slow-callback",
     .make = make_mistake,
     .code = VERDICT_SLOW_CALLBACK,
     .carried = {false, true, true},
     .why = "no calls"},
    {.name = "lazy-loading",
     .make = make_mistake,
     .code = VERDICT_LAZY_LOADING,
     .carried = {false, true, true},
     .why = "no calls"},
    {.name = "pin-in-run",
     .make = make_mistake,
     .code = VERDICT_PIN_IN_RUN,
     .why = "every program takes its memory before its first op"},
    {.name = "one stream",
     .make = one_stream,
     .code = VERDICT_ONE_STREAM,
     .carried = {true, true, true},
     .needs_events = true},
    {.name = "ways 1",
     .make = serial,
     .code = VERDICT_ONE_STREAM,
     .carried = {true, true, true}},
    {.name = "ways 2",
     .make = two_way,
     .code = VERDICT_NEEDLESS_WAIT,
     .carried = {true, true, true},
     .needs_events = true},
    {.name = "1 tile",
     .make = few_tiles,
     .code = VERDICT_FEW_TILES,
     .carried = {true, true, true}},
    {.name = "2 tiles",
     .make = few_tiles,
     .code = VERDICT_FEW_TILES,
     .carried = {true, true, true}},
    {.name = "small tiles",
     .make = small_tiles,
     .code = VERDICT_SMALL_TILES,
     .carried = {false, true, true},
     .why = "no calls: the host may wait between short ops"},
};
enum { CAUSES = sizeof causes / sizeof causes[0] };

static const struct base {
    const char *machine, *kernels;
    uint64_t elements;
    uint32_t tiles, streams, intensity;
    enum order order;
    enum layout layout;
} bases[] = {
    {"h200", "scale", 64 << 20, 32, 4, 1, ORDER_DEPTH, LAYOUT_TILE},
    {"h200", "scale", 64 << 20, 32, 4, 4000, ORDER_DEPTH, LAYOUT_TILE},
    {"h200", "scale", 128 << 20, 64, 3, 2000, ORDER_BREADTH, LAYOUT_TILE},
    {"h200", "wave", 64 << 20, 64, 8, 1, ORDER_DEPTH, LAYOUT_TILE},
    {"h200", "sum", 64 << 20, 32, 4, 1, ORDER_DEPTH, LAYOUT_TILE},
    {"h200", "scale", 64 << 20, 32, 4, 2000, ORDER_DEPTH, LAYOUT_STAGE},
    {"a100", "scale", 64 << 20, 32, 4, 1, ORDER_DEPTH, LAYOUT_TILE},
    {"a100", "scale", 32 << 20, 32, 4, 2000, ORDER_DEPTH, LAYOUT_TILE},
    {"a100", "scale,scale", 32 << 20, 64, 4, 400, ORDER_BREADTH, LAYOUT_TILE},
    {"a100", "scale", 64 << 20, 32, 4, 800, ORDER_DEPTH, LAYOUT_STAGE},
    {"k20c", "scale", 32 << 20, 32, 4, 1, ORDER_DEPTH, LAYOUT_TILE},
    {"k20c", "scale", 32 << 20, 32, 4, 400, ORDER_DEPTH, LAYOUT_TILE},
    {"k20c", "scale", 16 << 20, 64, 4, 200, ORDER_BREADTH, LAYOUT_TILE},
    {"k20c", "wave", 16 << 20, 32, 4, 1, ORDER_DEPTH, LAYOUT_STAGE},
    /* Short enough for a kernel's first launch to matter. */
    {"h200", "scale", 8 << 20, 16, 4, 4000, ORDER_DEPTH, LAYOUT_TILE},
    {"a100", "scale", 8 << 20, 16, 4, 1, ORDER_DEPTH, LAYOUT_TILE},
    {"h200", "scale,sum", 8 << 20, 16, 4, 1, ORDER_BREADTH, LAYOUT_TILE},
};
enum { BASES = sizeof bases / sizeof bases[0], LONG_BASES = 14 };

static struct settings settings_of(const struct base *base)
{
    struct settings settings = test_settings(base->kernels);
    settings.elements = base->elements;
    settings.tiles = base->tiles;
    settings.streams = base->streams;
    settings.intensity = base->intensity;
    settings.order = base->order;
    settings.layout = base->layout;
    settings.ways = 3;
    return settings;
}

/* --- the table --- */

struct confusion {
    int shown, itself, unknown, wrong;
};

/* Returns the code of a cause in a run like `base`. */
static enum verdict_code code_of(const struct cause *cause, const struct base *base)
{
    bool one_slot = cause->make == one_stream && base->layout == LAYOUT_STAGE;
    return one_slot ? VERDICT_FEW_STREAMS : cause->code;
}

/* Prints how one run came back: what the table is made of. */
static void print_run(const struct cause *cause, const struct base *base, enum form form,
                      const struct verdicts *verdicts)
{
    printf("%-20s %-6s base %2d %-5s busy %4.1f%%:", cause->name, form_names[form],
           (int)(base - bases), base->machine,
           100 * (double)verdicts->limit_ns / (double)verdicts->time_ns);
    for (int i = 0; i < verdicts->count; i++)
        printf(" %s %.1f%%", verdict_rows[verdicts->items[i].code].name,
               100 * (double)verdicts->items[i].cost_ns / (double)verdicts->time_ns);
    putchar('\n');
}

/* Returns true if the form tells the cause. A file of ours has what a database has, and the
 * run's beginning, too, in which memory is page-locked; a Chrome trace has no kinds of streams,
 * as an older database. */
static bool is_carried(const struct cause *cause, enum form form)
{
    if (form == FORM_OWN)
        return cause->carried[FORM_SQLITE] || cause->code == VERDICT_PIN_IN_RUN;
    return cause->carried[form == FORM_CHROME ? FORM_OLD : form];
}

/* Returns false for a database where this program was built without SQLite. */
static bool can_read(enum form form)
{
    return !is_database(form) || test_sqlite_file(test_trace_path, "");
}

/* Counts how a run came back. It shows where the busiest engine was idle for a tenth of the
 * time, or where its cause is named all the same. */
static void count(struct confusion *cell, const struct cause *cause, enum verdict_code code,
                  const struct verdicts *verdicts)
{
    bool named = verdicts->named > 0;
    enum verdict_code first = named ? verdicts->items[0].code : VERDICT_UNKNOWN;
    bool clean = cause->make == NULL, itself = first == code || (clean && !named);
    bool idle = 10 * (verdicts->time_ns - verdicts->limit_ns) >= verdicts->time_ns;
    cell->shown += clean || idle || itself;
    cell->itself += itself;
    cell->unknown += !itself && first == VERDICT_UNKNOWN && idle;
    cell->wrong += !itself && first != VERDICT_UNKNOWN;
}

/* Makes a run with the cause and one without; where it costs a tenth more, exports, reads and
 * judges it. */
static void try_cause(const struct base *base, const struct cause *cause, enum form form,
                      struct confusion *cell)
{
    struct settings settings = settings_of(base);
    struct ran clean, ran;
    ck_assert(foreign_run(base->machine, &settings, &clean));
    if (cause->make != NULL)
        cause->make(&settings, cause->name);
    bool made = foreign_run(base->machine, &settings, &ran);
    bool shows = made && (cause->make == NULL || 10 * ran.time_ns >= 11 * clean.time_ns);
    if (shows && foreign_export(&ran, form, left_out[form], "")) {
        struct verdicts verdicts;
        foreign_judge(&verdicts);
        count(cell, cause, code_of(cause, base), &verdicts);
        if (getenv("PIPELINE_CONFUSION") != NULL)
            print_run(cause, base, form, &verdicts);
    }
    if (made)
        foreign_ran_free(&ran);
    foreign_ran_free(&clean);
}

static bool is_tried(const struct base *base, const struct cause *cause, enum form form)
{
    bool lazy = strcmp(cause->name, "lazy-loading") == 0;
    if (base - bases >= LONG_BASES && !lazy)
        return false;
    if (cause->old_gpu && strcmp(base->machine, "k20c") != 0)
        return false;
    /* Its three streams are few, too, and a file of ours tells that. */
    if (form == FORM_OWN && cause->make == small_tiles && base->streams == 3)
        return false;
    return !cause->needs_events || base->layout == LAYOUT_TILE || form == FORM_SQLITE ||
           form == FORM_CHROME || form == FORM_OWN;
}

/* PIPELINE_CONFUSION=1 prints the table and every run that it counts. */
START_TEST(test_confusion)
{
    const struct cause *cause = &causes[_i];
    for (int form = 0; form < FORM_COUNT; form++) {
        struct confusion cell = {0};
        for (int b = 0; b < BASES; b++) {
            if (is_tried(&bases[b], cause, (enum form)form))
                try_cause(&bases[b], cause, (enum form)form, &cell);
        }
        if (getenv("PIPELINE_CONFUSION") != NULL)
            printf("%-20s %-6s shown %2d, itself %2d, unknown %2d, another %2d%s%s\n",
                   cause->name, form_names[form], cell.shown, cell.itself, cell.unknown,
                   cell.wrong, is_carried(cause, (enum form)form) ? "" : "  not carried: ",
                   is_carried(cause, (enum form)form) ? "" : cause->why);
        ck_assert_msg(cell.wrong == 0, "%s as %s: %d of %d are called something else",
                      cause->name, form_names[form], cell.wrong, cell.shown);
        if (is_carried(cause, (enum form)form))
            ck_assert_msg(10 * cell.itself >= 9 * cell.shown &&
                              (cell.shown > 0 || !can_read((enum form)form)),
                          "%s as %s: only %d of %d", cause->name, form_names[form], cell.itself,
                          cell.shown);
    }
    fflush(stdout);
}
END_TEST

/* --- drawn --- */

static void draw(uint64_t *random, struct base *base)
{
    static const char *const machines[] = {"h200", "h100", "a100", "v100",
                                           "p100", "k20x", "k20c"};
    static const char *const kernels[] = {"scale",     "wave",          "sum", "scale,scale",
                                          "scale,sum", "reduce-atomic", "scan"};
    static const uint32_t tiles[] = {8, 12, 16, 24, 32, 64, 100, 200};
    *base = (struct base){.machine = machines[test_random_below(random, 7)],
                          .kernels = kernels[test_random_below(random, 7)],
                          .tiles = tiles[test_random_below(random, 8)],
                          .streams = 2 + test_random_below(random, 7),
                          .intensity = 1 + test_random_below(random, 3000)};
    base->elements = (uint64_t)base->tiles << (16 + test_random_below(random, 6));
    base->order = test_random_below(random, 2) ? ORDER_BREADTH : ORDER_DEPTH;
    base->layout = test_random_below(random, 3) ? LAYOUT_TILE : LAYOUT_STAGE;
}

static bool is_named(const struct verdicts *verdicts, enum verdict_code code)
{
    for (int i = 0; i < verdicts->named; i++) {
        if (verdicts->items[i].code == code)
            return true;
    }
    return false;
}

/* Asserts that the first cause of a run is its own, none, unknown, or one that the run without
 * the mistake has, too. Returns true where it is its own. */
static bool assert_true_cause(const struct base *base, const struct cause *cause,
                              enum form form, const struct verdicts *without,
                              const struct verdicts *with)
{
    enum verdict_code first = with->named > 0 ? with->items[0].code : VERDICT_UNKNOWN;
    ck_assert_msg(first == cause->code || first == VERDICT_UNKNOWN || is_named(without, first),
                  "%s as %s is called %s: %s, %s, %u tiles of %u elements, %u streams, "
                  "intensity %u, %s, layout %d",
                  cause->name, form_names[form], verdict_rows[first].name, base->machine,
                  base->kernels, base->tiles, (unsigned)(base->elements / base->tiles),
                  base->streams, base->intensity,
                  base->order == ORDER_BREADTH ? "breadth" : "depth", (int)base->layout);
    return first == cause->code;
}

/* Settings of all sorts, each with every mistake that costs a tenth or more. */
START_TEST(test_drawn)
{
    const enum form form = (enum form)_i;
    uint64_t random = 4711 + (uint64_t)_i;
    int named = 0, seen = 0;
    for (int i = 0; i < test_cases(20); i++) {
        struct base base;
        struct ran clean, ran;
        struct verdicts without, with;
        draw(&random, &base);
        struct settings settings = settings_of(&base);
        if (!foreign_run(base.machine, &settings, &clean))
            continue;
        bool made = foreign_export(&clean, form, left_out[form], "");
        if (made)
            foreign_judge(&without);
        for (int c = 0; c < CAUSES && made; c++) {
            settings = settings_of(&base);
            bool old_gpu = base.machine[0] == 'k';
            if (causes[c].make != make_mistake || (causes[c].old_gpu && !old_gpu))
                continue;
            make_mistake(&settings, causes[c].name);
            if (!foreign_run(base.machine, &settings, &ran))
                continue;
            if (10 * ran.time_ns >= 11 * clean.time_ns &&
                foreign_export(&ran, form, left_out[form], "")) {
                foreign_judge(&with);
                named += assert_true_cause(&base, &causes[c], form, &without, &with);
                seen += is_carried(&causes[c], form);
            }
            foreign_ran_free(&ran);
        }
        foreign_ran_free(&clean);
    }
    ck_assert(seen > 0 || !can_read(form));
    ck_assert_int_ge(4 * named, 3 * seen);
}
END_TEST

Suite *foreign_suite(void)
{
    Suite *suite = suite_create("foreign");
    TCase *tests = tcase_create("confusion");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, test_trace_begin, test_trace_end);
    tcase_add_loop_test(tests, test_confusion, 0, CAUSES);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, test_drawn, FORM_CSV, FORM_COUNT);
    suite_add_tcase(suite, foreign_input_case());
    return suite;
}
