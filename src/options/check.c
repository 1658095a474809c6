/* check.c - a run's draft: how it gets its values, and what they must be together. */
#include "options/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES_MAX = 1 << 24 };

enum status draft_set(struct draft *draft, const struct assignment *given, struct error *error)
{
    enum status status = options_set(given, &draft->settings, error);
    if (status == STATUS_OK)
        draft->origins[given->row - option_rows] = given->origin;
    return status;
}

static bool is_run_name(const char *name)
{
    for (const char *byte = name; *byte != '\0'; byte++) {
        if (*byte < ' ' || *byte > '~')
            return false;
    }
    return name[0] != '\0' && strlen(name) < RUN_NAME_MAX;
}

static enum status drafts_check_name(const struct drafts *drafts, const char *name,
                                     const struct origin *named, struct error *error)
{
    char place[OPTION_PLACE_MAX], first[OPTION_PLACE_MAX], shown[SHOWN_MAX];
    origin_place(named, place);
    if (!is_run_name(name))
        return error_set(error, STATUS_USAGE,
                         "%s: '%s' can't name a run: allowed are 1 to %d printable ASCII "
                         "characters",
                         place, text_shown(name, shown), RUN_NAME_MAX - 1);
    for (int i = 0; i < drafts->count; i++) {
        if (strcmp(drafts->items[i].settings.name, name) == 0)
            return error_set(error, STATUS_USAGE,
                             "%s: a run called '%s' is already at %s: allowed is one of a name",
                             place, name, origin_place(&drafts->items[i].named, first));
    }
    return STATUS_OK;
}

enum status drafts_add(struct drafts *drafts, const struct draft *model, const char *name,
                       const struct origin *named, struct error *error)
{
    enum status status = drafts_check_name(drafts, name, named, error);
    if (status != STATUS_OK)
        return status;
    if (drafts->count == drafts->capacity) {
        int capacity = 2 * drafts->capacity + 4;
        struct draft *items = reallocarray(drafts->items, (size_t)capacity, sizeof *items);
        if (items == NULL)
            return error_set(error, STATUS_FAILED, "out of memory");
        drafts->items = items;
        drafts->capacity = capacity;
    }
    struct draft *draft = &drafts->items[drafts->count++];
    *draft = *model;
    draft->named = *named;
    strcpy(draft->settings.name, name);
    return STATUS_OK;
}

const char *setting_label(const struct settings *settings, const struct origin *origins,
                          enum option_id id, char text[LABEL_MAX])
{
    char place[OPTION_PLACE_MAX], full[OPTION_TEXT], value[SHOWN_MAX];
    enum value_kind kind;
    const char *raw = option_show(&option_rows[id], settings, full, &kind);
    const char *name = option_rows[id].name;
    text_shown(raw != NULL ? raw : "none", value);
    if (origins == NULL)
        snprintf(text, LABEL_MAX, "%s=%s", name, value);
    else if (origins[id].source != SOURCE_COMMAND_LINE)
        snprintf(text, LABEL_MAX, "%s=%s (%s)", name, value, origin_place(&origins[id], place));
    else if (kind == VALUE_BOOL)
        snprintf(text, LABEL_MAX, "--%s", name);
    else
        snprintf(text, LABEL_MAX, "--%s=%s", name, value);
    return text;
}

static enum status check_tiles(const struct settings *settings, const struct origin *origins,
                               struct error *error)
{
    char tiles[LABEL_MAX], elements[LABEL_MAX];
    if (settings->tiles <= settings->elements)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s is more than %s: allowed are at most as many tiles as elements",
                     setting_label(settings, origins, OPTION_TILES, tiles),
                     setting_label(settings, origins, OPTION_ELEMENTS, elements));
}

/* A launch is an op of the plan: of those that one per repeat makes there may be as many as
 * tiles may be. */
static enum status check_launches(const struct settings *settings, const struct origin *origins,
                                  struct error *error)
{
    const struct kernel_params params = {.intensity = settings->intensity};
    const struct kernel *first = settings->chain[0]; /* no other can be such a one */
    const uint64_t launches = (uint64_t)settings->tiles * kernel_launches(first, &params);
    char intensity[LABEL_MAX], tiles[LABEL_MAX];
    if (!first->launch_per_repeat || launches <= LAUNCHES_MAX)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s and %s make %" PRIu64 " launches of %s: allowed are at most %u",
                     setting_label(settings, origins, OPTION_INTENSITY, intensity),
                     setting_label(settings, origins, OPTION_TILES, tiles), launches,
                     first->name, (unsigned)LAUNCHES_MAX);
}

/* Without data there is nothing to read, to keep, or to give a real device. */
static enum status check_no_data(const struct settings *settings, const struct origin *origins,
                                 struct error *error)
{
    char no_data[LABEL_MAX], other[LABEL_MAX];
    if (!settings->no_data)
        return STATUS_OK;
    setting_label(settings, origins, OPTION_NO_DATA, no_data);
    if (strncmp(settings->device, "cuda", 4) == 0)
        return error_set(error, STATUS_USAGE,
                         "%s is for the simulator, but %s was given: allowed are sim:NAME and "
                         "sim:FILE.ini",
                         no_data, setting_label(settings, origins, OPTION_DEVICE, other));
    if (settings->input != NULL || settings->output != NULL) {
        enum option_id id = settings->input != NULL ? OPTION_INPUT : OPTION_OUTPUT;
        return error_set(error, STATUS_USAGE,
                         "%s means no bytes at all, but %s was given: allowed is one of them",
                         no_data, setting_label(settings, origins, id, other));
    }
    return STATUS_OK;
}

/* The CPU's tiles are the last ones, and it works on them while the GPU has not yet come to
 * what a scan would carry over to them. */
static enum status check_scan(const struct settings *settings, const struct origin *origins,
                              struct error *error)
{
    char ways[LABEL_MAX], kernel[LABEL_MAX];
    if (settings->ways != 4 || !kernel_chain_scans(settings->chain, settings->chain_length))
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s gives the CPU tiles of its own, but %s has a scan, and each of its "
                     "tiles needs the sum of all before it: allowed are ways 1, 2 and 3",
                     setting_label(settings, origins, OPTION_WAYS, ways),
                     setting_label(settings, origins, OPTION_KERNEL, kernel));
}

/* Only scans carry anything. */
static enum status check_carry(const struct settings *settings, const struct origin *origins,
                               struct error *error)
{
    char carry[LABEL_MAX], kernel[LABEL_MAX];
    if (settings->carry == CARRY_DEVICE ||
        kernel_chain_scans(settings->chain, settings->chain_length))
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s is about what a scan carries from tile to tile, but %s has none: "
                     "allowed is device, or a kernel such as scan",
                     setting_label(settings, origins, OPTION_CARRY, carry),
                     setting_label(settings, origins, OPTION_KERNEL, kernel));
}

/* The kernel of the chain whose blocks follow from its work alone, or are its library's affair;
 * NULL: none. */
static const struct kernel *fixed_grid(const struct settings *settings)
{
    for (int i = 0; i < settings->chain_length; i++) {
        if (settings->chain[i]->whole_grid || settings->chain[i]->alone)
            return settings->chain[i];
    }
    return NULL;
}

static enum status check_blocks(const struct settings *settings, const struct origin *origins,
                                struct error *error)
{
    char blocks[LABEL_MAX];
    const struct kernel *fixed = fixed_grid(settings);
    if (settings->blocks == 0 || fixed == NULL)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s can't be: %s settles itself how many blocks it has: allowed is auto, "
                     "or kernels such as scale",
                     setting_label(settings, origins, OPTION_BLOCKS, blocks), fixed->name);
}

/* Its result takes the first input's place, which on the host stays what it was; and the
 * resident input is read so often that it has to be on the device. */
static enum status check_mapped(const struct settings *settings, const struct origin *origins,
                                struct error *error)
{
    char memory[LABEL_MAX], kernel[LABEL_MAX];
    const struct kernel *first = settings->chain[0];
    if (settings->memory != MEMORY_MAPPED ||
        (!first->in_place && first->resident_count == NULL))
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s leaves the arrays on the host, but %s keeps one on the device and "
                     "works in place: allowed are pinned, pageable and registered",
                     setting_label(settings, origins, OPTION_MEMORY, memory),
                     setting_label(settings, origins, OPTION_KERNEL, kernel));
}

/* A graph is launched by one call, in which the host can't stage copies. */
static enum status check_graph(const struct settings *settings, const struct origin *origins,
                               struct error *error)
{
    char issue[LABEL_MAX], memory[LABEL_MAX];
    if (settings->issue != ISSUE_GRAPH || settings->memory != MEMORY_PAGEABLE)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s is launched by one call, but with %s the host has a part in every "
                     "copy: allowed are pinned, registered and mapped",
                     setting_label(settings, origins, OPTION_ISSUE, issue),
                     setting_label(settings, origins, OPTION_MEMORY, memory));
}

static enum status check_at(const struct settings *settings, const struct origin *origins,
                            struct error *error)
{
    enum status status = check_tiles(settings, origins, error);
    if (status == STATUS_OK)
        status = check_scan(settings, origins, error);
    if (status == STATUS_OK)
        status = check_carry(settings, origins, error);
    if (status == STATUS_OK)
        status = check_blocks(settings, origins, error);
    if (status == STATUS_OK)
        status = check_launches(settings, origins, error);
    if (status == STATUS_OK)
        status = options_check_units(settings, origins, error);
    if (status == STATUS_OK)
        status = check_mapped(settings, origins, error);
    if (status == STATUS_OK)
        status = check_graph(settings, origins, error);
    return status == STATUS_OK ? check_no_data(settings, origins, error) : status;
}

enum status settings_check(const struct settings *settings, struct error *error)
{
    return check_at(settings, NULL, error);
}

/* Both given, and in the same place: then the one is not meant to win over the other. A sweep
 * stands on the command line too, and over what stays the default it would do nothing at all;
 * but where `one` itself is swept, some of its values may leave `other` without a meaning. */
static bool given_together(const struct draft *draft, enum option_id one, enum option_id other)
{
    enum source source = draft->origins[one].source, with = draft->origins[other].source;
    if (with == SOURCE_SWEEP)
        return source == SOURCE_DEFAULT || source == SOURCE_COMMAND_LINE;
    return source != SOURCE_DEFAULT && source == with;
}

static enum status settle_ways(struct draft *draft, struct error *error)
{
    struct settings *settings = &draft->settings;
    char ways[LABEL_MAX], other[LABEL_MAX];
    setting_label(settings, draft->origins, OPTION_WAYS, ways);
    if (settings->ways == 1 && settings->streams != 1 &&
        given_together(draft, OPTION_WAYS, OPTION_STREAMS))
        return error_set(error, STATUS_USAGE,
                         "%s is serial and uses one stream, but %s was given: allowed is 1",
                         ways, setting_label(settings, draft->origins, OPTION_STREAMS, other));
    if (settings->ways != 4 && settings->cpu_share >= 0 &&
        given_together(draft, OPTION_WAYS, OPTION_CPU_SHARE))
        return error_set(error, STATUS_USAGE,
                         "%s leaves the CPU idle, but %s was given: allowed is auto, or ways 4",
                         ways,
                         setting_label(settings, draft->origins, OPTION_CPU_SHARE, other));
    if (settings->ways == 1)
        settings->streams = 1;
    return STATUS_OK;
}

/* A profiler is shown one run. */
static enum status settle_profile(struct draft *draft, struct error *error)
{
    struct settings *settings = &draft->settings;
    char profile[LABEL_MAX], runs[LABEL_MAX];
    if (!settings->profile)
        return STATUS_OK;
    if (settings->runs != 1 && given_together(draft, OPTION_PROFILE, OPTION_RUNS))
        return error_set(error, STATUS_USAGE,
                         "%s makes one run, but %s was given: allowed is 1",
                         setting_label(settings, draft->origins, OPTION_PROFILE, profile),
                         setting_label(settings, draft->origins, OPTION_RUNS, runs));
    settings->runs = 1;
    return STATUS_OK;
}

/* A process loads a kernel's code once: in the run that shows it there is nothing before. */
static enum status settle_lazy_loading(struct draft *draft, struct error *error)
{
    struct settings *settings = &draft->settings;
    char mistake[LABEL_MAX], other[LABEL_MAX];
    if (settings->mistake != MISTAKE_LAZY_LOADING)
        return STATUS_OK;
    bool repeats = settings->runs != 1 && given_together(draft, OPTION_MISTAKE, OPTION_RUNS);
    bool warms_up =
        settings->warmup != 0 && given_together(draft, OPTION_MISTAKE, OPTION_WARMUP);
    if (repeats || warms_up)
        return error_set(
            error, STATUS_USAGE,
            "%s makes one run, and none before it, but %s was given: allowed is %d",
            setting_label(settings, draft->origins, OPTION_MISTAKE, mistake),
            setting_label(settings, draft->origins, repeats ? OPTION_RUNS : OPTION_WARMUP,
                          other),
            repeats ? 1 : 0);
    settings->runs = 1;
    settings->warmup = 0;
    return STATUS_OK;
}

enum status settings_check_profile(const struct settings *settings,
                                   const struct options *options, struct error *error)
{
    if (!settings->profile)
        return STATUS_OK;
    if (options->command == COMMAND_COMPARE)
        return error_set(error, STATUS_USAGE,
                         "--profile makes a run without instrumentation of our own, so there "
                         "is no timeline to compare: leave it out");
    if (options->timeline_count == 0)
        return STATUS_OK;
    return error_set(
        error, STATUS_USAGE,
        "--profile makes a run without instrumentation of our own, so there is no "
        "timeline to write: allowed is one of --profile and --timeline, or both on "
        "a device sim:NAME");
}

enum status draft_finish(struct draft *draft, struct error *error)
{
    draft->settings.elements_given = draft->origins[OPTION_ELEMENTS].source != SOURCE_DEFAULT;
    enum status status = settle_ways(draft, error);
    if (status == STATUS_OK)
        status = settle_profile(draft, error);
    if (status == STATUS_OK)
        status = settle_lazy_loading(draft, error);
    return status == STATUS_OK ? check_at(&draft->settings, draft->origins, error) : status;
}

/* An option of the whole, of those about reports, files and many runs, that is not at its
 * default; NULL: none. What bench knows of them is let pass where `bench` is true. */
static const char *whole_given(const struct options *options, bool bench)
{
    const struct {
        bool given;
        const char *label;
    } rows[] = {
        {options->format != FORMAT_TEXT && !bench, "--format"},
        {options->timeline_count > 0, "--timeline"},
        {options->gantt != GANTT_ENGINES, "--gantt"},
        {options->size != PICTURE_SLIDE, "--size"},
        {options->sweep.axis_count > 0, "--sweep"},
        {options->machine != NULL, "--machine"},
        {options->model != MODEL_NONE, "--model"},
        {options->dry_run, "--dry-run"},
        {options->verbose > 0, "--verbose"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].given)
            return rows[i].label;
    }
    return NULL;
}

enum status calibrate_check(const struct assignment *given, int given_count, const char *word,
                            const struct options *options, struct error *error)
{
    char label[LABEL_MAX], shown[SHOWN_MAX];
    const char *refused = word != NULL ? text_shown(word, shown) : whole_given(options, false);
    for (int i = 0; i < given_count && refused == NULL; i++) {
        if (given[i].row != &option_rows[OPTION_DEVICE] &&
            given[i].row != &option_rows[OPTION_CONNECTIONS])
            refused = assignment_label(&given[i], label);
    }
    if (refused == NULL)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s: calibrate runs plans of its own and prints a machine file: allowed "
                     "with it are --device, --connections, --quiet and --no-color",
                     refused);
}

enum status bench_check(const struct assignment *given, int given_count,
                        const struct options *options, struct error *error)
{
    char label[LABEL_MAX];
    const char *refused = whole_given(options, true);
    for (int i = 0; i < given_count && refused == NULL; i++) {
        if (given[i].row != &option_rows[OPTION_RUNS])
            refused = assignment_label(&given[i], label);
    }
    if (refused == NULL)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "%s: bench measures settings of its own, on this host and the first "
                     "CUDA device (CUDA_VISIBLE_DEVICES names another): allowed with it are "
                     "--quick, --runs, --format, --quiet and --no-color",
                     refused);
}

/* A file to be written, by its true name. */
struct target {
    char *path;
    const struct draft *draft; /* whose output; NULL for a timeline or a trace */
    bool is_trace;
    const char *given;
};

/* The path without links and detours; the file itself need not exist. NULL if its directory
 * doesn't, or for lack of memory. */
static char *path_canonical(const char *path)
{
    char *whole = realpath(path, NULL);
    if (whole != NULL)
        return whole;
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    char *directory = slash == NULL ? strdup(".") : strndup(path, (size_t)(base - path));
    char *real = directory == NULL ? NULL : realpath(directory, NULL);
    if (real != NULL && asprintf(&whole, "%s/%s", real, base) < 0)
        whole = NULL;
    free(real);
    free(directory);
    return whole;
}

static bool is_same_target(const struct target *one, const struct target *other)
{
    if (strcmp(one->given, other->given) == 0)
        return true;
    return one->path != NULL && other->path != NULL && strcmp(one->path, other->path) == 0;
}

/* `first` comes before `second`, and outputs and traces before timelines. */
static enum status refuse_targets(const struct target *first, const struct target *second,
                                  struct error *error)
{
    char label[LABEL_MAX], shown[SHOWN_MAX];
    if (first->is_trace)
        return error_set(error, STATUS_USAGE,
                         "--timeline=%s is the trace that is read: allowed is another file",
                         text_shown(second->given, shown));
    if (first->draft == NULL)
        return error_set(error, STATUS_USAGE,
                         "--timeline=%s is given twice: allowed is each file once",
                         text_shown(second->given, shown));
    setting_label(&first->draft->settings, first->draft->origins, OPTION_OUTPUT, label);
    if (second->draft == NULL)
        return error_set(error, STATUS_USAGE,
                         "--timeline=%s is the same file as %s: allowed is each file once",
                         text_shown(second->given, shown), label);
    return error_set(error, STATUS_USAGE,
                     "%s would be written by two runs, '%s' and '%s': allowed is an output of "
                     "its own for each",
                     label, first->draft->settings.name, second->draft->settings.name);
}

static enum status compare_targets(const struct target *targets, size_t count,
                                   struct error *error)
{
    for (size_t second = 1; second < count; second++) {
        for (size_t first = 0; first < second; first++) {
            if (!targets[second].is_trace && is_same_target(&targets[first], &targets[second]))
                return refuse_targets(&targets[first], &targets[second], error);
        }
    }
    return STATUS_OK;
}

enum status outputs_check(const struct drafts *drafts, const struct options *options,
                          struct error *error)
{
    size_t count = 0, inputs = (size_t)drafts->count + (size_t)options->word_count;
    struct target *targets = calloc(inputs + TIMELINE_FILES_MAX, sizeof targets[0]);
    if (targets == NULL)
        return error_set(error, STATUS_FAILED, "out of memory");
    for (int i = 0; i < drafts->count; i++) {
        const struct draft *draft = &drafts->items[i];
        if (draft->settings.output != NULL)
            targets[count++] = (struct target){.draft = draft, .given = draft->settings.output};
    }
    for (int i = 0; i < options->word_count; i++)
        targets[count++] = (struct target){.is_trace = true, .given = options->words[i]};
    for (int i = 0; i < options->timeline_count; i++)
        targets[count++] = (struct target){.given = options->timelines[i]};
    for (size_t i = 0; i < count; i++)
        targets[i].path = path_canonical(targets[i].given);
    enum status status = compare_targets(targets, count, error);
    for (size_t i = 0; i < count; i++)
        free(targets[i].path);
    free(targets);
    return status;
}
