/* text_facts.c - what a report for people says of its runs in words, ahead of the table: the
 * work, the memory, where the times come from. What holds for all runs is said once. */
#include "core/units.h"
#include "plan/mistake.h"
#include "writers/table.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    FACT_TEXT = ORIGIN_TEXT,
    PATH_COLUMNS = 60,
    NAMES_LISTED = 8, /* of runs that have a fact in common */
};

/* Writes one fact about a run in words. */
typedef void fact(const struct run_report *run, char text[FACT_TEXT]);

/* Writes what each of several devices did; nothing of one. */
static void put_spread(const struct settings *settings, char *text, size_t room)
{
    text[0] = '\0';
    if (settings_by_link(settings))
        snprintf(text, room, "; chain over devices, %s",
                 settings->exchange == EXCHANGE_HOST ? "handed on by the host" : "peer copies");
    else if (settings_has_halo(settings) && settings_devices(settings) > 1)
        snprintf(text, room, "; rows over devices, exchange %s",
                 settings->hide == HIDE_YES ? "beside the inner rows" : "after each step");
    else if (settings_devices(settings) > 1)
        snprintf(text, room, "; tiles over %s",
                 settings->sharing == SHARING_SLICES ? "processes, in time slices"
                 : settings->sharing == SHARING_MPS  ? "processes, under MPS"
                                                     : "devices");
}

static void fact_conditions(const struct run_report *run, char text[FACT_TEXT])
{
    static const char *const words[] = {
        [TIMING_VIRTUAL] = "virtual time",
        [TIMING_CUPTI] = "CUPTI",
        [TIMING_NSYS] = "a trace of Nsight Systems",
        [TIMING_RECORDED] = "a recording",
        [TIMING_CHROME] = "a Chrome trace",
        [TIMING_EVENTS] = "ends from CUDA events, starts worked out from each engine's order",
    };
    const char *memory = memory_names[run->settings->memory];
    const char *apart = settings_apart_words(run->settings);
    const char *packed = run->settings->pack ? ", packed by the CPU" : "";
    const int mistake = run->settings->mistake;
    char made[64] = "", batches[64] = "", spread[64];
    put_spread(run->settings, spread, sizeof spread);
    if (settings_batch(run->settings) > 1)
        snprintf(batches, sizeof batches, ", in batches of %" PRIu32 " tiles",
                 settings_batch(run->settings));
    if (mistake != MISTAKE_NONE)
        snprintf(made, sizeof made, "; mistake: %s", mistake_name(mistake));
    if (run->profiled)
        snprintf(text, FACT_TEXT,
                 "%s memory%s%s%s%s%s; profiled: time by the host's clock, no timeline", memory,
                 apart, packed, batches, spread, made);
    else
        snprintf(text, FACT_TEXT, "%s memory%s%s%s%s%s; timeline: %s", memory, apart, packed,
                 batches, spread, made, words[run->timeline.timing]);
}

static uint64_t bytes_in(const struct settings *settings)
{
    const struct kernel_params params = settings_params(settings);
    uint64_t second = chain_second_count(settings->chain, settings->chain_length, &params,
                                         settings->elements);
    return (settings->elements + second) * dtype_bytes(settings->chain[0]->in) +
           chain_resident_bytes(settings->chain, settings->chain_length, &params);
}

static uint64_t bytes_out(const struct settings *settings)
{
    const struct kernel *last = settings->chain[settings->chain_length - 1];
    uint64_t count = last->shape == KERNEL_REDUCE ? settings->tiles : settings->elements;
    return count * dtype_bytes(last->out);
}

static void chain_text(const struct settings *settings, char *text, size_t room)
{
    text[0] = '\0';
    for (int i = 0; i < settings->chain_length; i++)
        text_add(text, room, ",", "%s", settings->chain[i]->name);
}

/* Writes the parameters that the kernels were given beyond their data. */
static void params_text(const struct settings *settings, char *text, size_t room)
{
    const struct kernel_params params = settings_params(settings);
    text[0] = '\0';
    if (params.intensity > 1)
        text_add(text, room, "", " at intensity %" PRIu32, params.intensity);
    if (params.stride > 1)
        text_add(text, room, "", " at stride %" PRIu32, params.stride);
    if (settings->blocks > 0)
        text_add(text, room, "", " with blocks=%" PRIu32, settings->blocks);
    if (settings->carry != CARRY_DEVICE)
        text_add(text, room, "", " with carry=%s", carry_names[settings->carry]);
    if (settings->alloc != ALLOC_ONCE)
        text_add(text, room, "", " with alloc=%s", alloc_names[settings->alloc]);
    const struct kernel *matrix = chain_unit_kernel(settings->chain, settings->chain_length);
    if (matrix != NULL && strcmp(matrix->unit_name, "rows") == 0)
        text_add(text, room, "", " in rows of %" PRIu64, params.columns);
    else if (matrix != NULL)
        text_add(text, room, "", " with A of %" PRIu64 " x %" PRIu64, params.rows,
                 params.inner);
    if (settings_has_halo(settings))
        text_add(text, room, "", ", halo of %" PRIu32 ", %" PRIu32 " step%s,", params.halo,
                 params.steps, params.steps > 1 ? "s" : "");
}

static void fact_work(const struct run_report *run, char text[FACT_TEXT])
{
    const struct settings *settings = run->settings;
    char chain[256], told[128], count[UNITS_TEXT], in[UNITS_TEXT], out[UNITS_TEXT];
    char path[4 * PATH_COLUMNS], from[sizeof path + 32], to[sizeof path + 32] = "";
    chain_text(settings, chain, sizeof chain);
    params_text(settings, told, sizeof told);
    snprintf(from, sizeof from, "seed %" PRIu64, settings->seed);
    if (settings->input != NULL)
        snprintf(from, sizeof from, "from %s",
                 writer_fit(path, sizeof path, settings->input, PATH_COLUMNS));
    if (settings->output != NULL)
        snprintf(to, sizeof to, ", to %s",
                 writer_fit(path, sizeof path, settings->output, PATH_COLUMNS));
    snprintf(text, FACT_TEXT, "%s%s on %s elements: %s in, %s out; %s%s", chain, told,
             units_count(settings->elements, count), units_bytes(bytes_in(settings), in),
             units_bytes(bytes_out(settings), out), from, to);
}

/* Writes what the choice of settings has brought; nothing where there was none. */
static void fact_choice(const struct run_report *run, char text[FACT_TEXT])
{
    const struct settings *usual = run->usual;
    char time[UNITS_TEXT];
    text[0] = '\0';
    if (usual == NULL)
        return;
    snprintf(text, FACT_TEXT,
             "without the choice (%" PRIu32 " tiles, %" PRIu32
             " streams, %s, %s, by %s): %s, %.2f "
             "times as long",
             usual->tiles, usual->streams, order_names[usual->order],
             layout_names[usual->layout], issue_names[usual->issue],
             units_time(run->usual_ns, time), (double)run->usual_ns / (double)run->median_ns);
}

/* Writes which devices are near another NUMA node than the buffers; nothing where none is known
 * to be. */
static void fact_numa(const struct run_report *run, char text[FACT_TEXT])
{
    const struct numa_seen *numa = &run->timeline.numa;
    text[0] = '\0';
    for (uint32_t i = 0; i < timeline_devices(&run->timeline); i++) {
        if (!numa_is_far(numa, i))
            continue;
        if (text[0] == '\0')
            snprintf(text, FACT_TEXT, "host buffers on NUMA node %d", numa->buffers.node);
        text_add(text, FACT_TEXT, ", ", "device %" PRIu32 " near node %d", i,
                 numa->devices[i].node);
    }
}

/* Writes "4 ranks on node7, node8: clocks within 400 ns"; nothing of one process. */
static void fact_ranks(const struct run_report *run, char text[FACT_TEXT])
{
    const struct ranks_seen *ranks = &run->timeline.ranks;
    int64_t error_ns = 0;
    char time[UNITS_TEXT];
    text[0] = '\0';
    for (uint32_t i = 0; i < ranks->count; i++) {
        const char *host = ranks->places[i].host;
        error_ns = later(error_ns, ranks->places[i].error_ns);
        if (i == 0)
            snprintf(text, FACT_TEXT, "%" PRIu32 " ranks on %s", ranks->count, host);
        else if (strcmp(host, ranks->places[i - 1].host) != 0)
            text_add(text, FACT_TEXT, ", ", "%s", host);
    }
    if (ranks->clocks)
        text_add(text, FACT_TEXT, ": ", "their clocks are known to within %s",
                 units_time(error_ns, time));
}

/* Returns the next run from `from` on of which `state` says `told`, or the number of runs. */
static int find_fact(const struct report *report, int from, fact *state,
                     const char told[FACT_TEXT])
{
    char text[FACT_TEXT] = "";
    for (; from < report->run_count; from++) {
        state(&report->runs[from], text);
        if (strcmp(told, text) == 0)
            break;
    }
    return from;
}

/* Prints each fact once, behind the names of its runs where it does not hold for all of them; a
 * fact of no words is none. */
static void print_fact(FILE *out, const struct report *report, int width, fact *state)
{
    char text[FACT_TEXT] = "", line[FACT_TEXT + (NAMES_LISTED + 1) * (TABLE_NAME + 2)];
    for (int i = 0; i < report->run_count; i++) {
        state(&report->runs[i], text);
        if (text[0] == '\0' || find_fact(report, 0, state, text) < i)
            continue; /* the run was listed */
        int count = 0, names = 0;
        line[0] = '\0';
        for (int k = i; k < report->run_count; k = find_fact(report, k + 1, state, text)) {
            char name[TABLE_NAME];
            table_name(&report->runs[k], name);
            if (count++ < NAMES_LISTED)
                text_add(line, sizeof line, ", ", "%s%s", names++ > 0 ? "" : "  ", name);
        }
        if (count == report->run_count)
            line[0] = '\0';
        else if (count > names)
            text_add(line, sizeof line, " ", "and %d more", count - names);
        const int indent = line[0] != '\0' ? 4 : 2;
        text_add(line, sizeof line, ": ", "%s", text);
        writer_put_words(out, width, indent, line);
    }
}

void write_facts(FILE *out, const struct report *report, const struct writer_style *style)
{
    static fact *const facts[] = {writer_origin, fact_work, fact_conditions,
                                  fact_choice,   fact_numa, fact_ranks};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        print_fact(out, report, style->width, facts[i]);
}
