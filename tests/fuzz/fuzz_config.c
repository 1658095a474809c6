/* fuzz_config.c - config files, as the command line `pipeline FILE.ini` reads them. */
#include "fuzz.h"
#include "options/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "fuzz.ini"

enum {
    VALUES_MAX = 64, /* options of a run */
    AGAIN_MAX = 3,   /* runs that are read once more */
    FILL = 0x5a,
};

/* A run's values as text, in the order of the table. */
struct values {
    char *items[VALUES_MAX];
    int count;
};

static void value_add(void *context, const char *name, const char *value, enum value_kind kind)
{
    struct values *values = context;
    FUZZ_REQUIRE(values->count < VALUES_MAX);
    FUZZ_REQUIRE_TEXT((value == NULL) == (kind == VALUE_NULL), name);
    char **item = &values->items[values->count++];
    int length;
    if (value == NULL)
        length = asprintf(item, "no-%s", name);
    else if (kind == VALUE_BOOL)
        length = asprintf(item, "%s--%s", strcmp(value, "true") == 0 ? "" : "no", name);
    else
        length = asprintf(item, "--%s=%s", name, value);
    FUZZ_REQUIRE(length > 0);
}

static void values_free(struct values *values)
{
    for (int i = 0; i < values->count; i++)
        free(values->items[i]);
}

/* The settings that a run reports make the same run when they are given on the command line, so
 * every value is one that its option allows. A CPU share is left out where it has no use, for
 * there the command line refuses it. */
static void require_again(const struct settings *settings)
{
    struct values values = {.count = 0}, again = {.count = 0};
    char *line[VALUES_MAX + 2] = {"pipeline"};
    int length = 1;
    settings_each(settings, value_add, &values);
    for (int i = 0; i < values.count; i++) {
        bool share = strncmp(values.items[i], "--cpu-share=", 12) == 0;
        if (strncmp(values.items[i], "--", 2) == 0 && (!share || settings->ways == 4))
            line[length++] = values.items[i];
    }
    struct options options;
    struct error error = {0};
    FUZZ_REQUIRE_TEXT(options_parse(length, line, &options, &error) == STATUS_OK, error.text);
    FUZZ_REQUIRE(options.command == COMMAND_RUN && options.run_count == 1);
    settings_each(&options.runs[0], value_add, &again);
    FUZZ_REQUIRE(again.count == values.count);
    for (int i = 0; i < values.count; i++) {
        bool unused = settings->ways != 4 && strstr(values.items[i], "cpu-share") != NULL;
        FUZZ_REQUIRE_TEXT(unused || strcmp(values.items[i], again.items[i]) == 0,
                          values.items[i]);
    }
    values_free(&values);
    values_free(&again);
    options_free(&options);
}

static void require_name(const struct options *options, int index)
{
    const char *name = options->runs[index].name;
    FUZZ_REQUIRE(name[0] != '\0' && memchr(name, '\0', RUN_NAME_MAX) != NULL);
    for (const char *byte = name; *byte != '\0'; byte++)
        FUZZ_REQUIRE(*byte >= ' ' && *byte <= '~');
    for (int i = 0; i < index; i++)
        FUZZ_REQUIRE_TEXT(strcmp(options->runs[i].name, name) != 0, name);
}

/* The limits of options/options.h and kernels.h, and what settings must be together. */
static void require_settings(const struct settings *settings)
{
    FUZZ_REQUIRE(settings->elements >= 1 && settings->elements <= UINT64_C(1) << 40);
    FUZZ_REQUIRE(settings->tiles <= 1u << 24 && settings->tiles <= settings->elements);
    FUZZ_REQUIRE(settings->streams <= STREAMS_MAX);
    FUZZ_REQUIRE(settings->ways >= 1 && settings->ways <= 4);
    FUZZ_REQUIRE(settings->ways != 1 || settings->streams == 1);
    FUZZ_REQUIRE(isfinite(settings->cpu_share) && settings->cpu_share <= 1);
    FUZZ_REQUIRE(settings->intensity >= 1 && settings->intensity <= 65536);
    FUZZ_REQUIRE(settings->columns >= 1 && settings->stride >= 1);
    FUZZ_REQUIRE(settings->runs >= 1 && settings->runs <= 10000);
    FUZZ_REQUIRE(settings->warmup <= 1000);
    FUZZ_REQUIRE(!settings->profile || settings->runs == 1);
    FUZZ_REQUIRE(settings->priority_count >= 0 && settings->priority_count <= PRIORITIES_MAX);
    FUZZ_REQUIRE(settings->chain_length >= 1 && settings->chain_length <= CHAIN_MAX);
    FUZZ_REQUIRE(kernel_chain_misfit(settings->chain, settings->chain_length) == -1);
    FUZZ_REQUIRE(settings->device != NULL && settings->device[0] != '\0');
    bool files = settings->input != NULL || settings->output != NULL;
    bool real = strncmp(settings->device, "cuda", 4) == 0;
    FUZZ_REQUIRE(!settings->no_data || (!files && !real));
    struct error error = {0};
    FUZZ_REQUIRE_TEXT(settings_check(settings, &error) == STATUS_OK, error.text);
}

/* An input says how many elements there are, and what they go with is checked only then. So the
 * settings get a number that an input could have: as many whole rows or columns for each tile.
 * Returns false where that would be more than any array may have. */
static bool count_elements(struct settings *settings)
{
    if (settings->input == NULL || settings->elements_given)
        return true;
    uint64_t tiles = settings->tiles > 0 ? settings->tiles : 1; /* 0: auto */
    uint64_t unit = settings_unit(settings), units = settings->elements / unit / tiles * tiles;
    if (units == 0)
        units = tiles;
    settings->elements = units * unit;
    return units <= (UINT64_C(1) << 40) / unit;
}

bool fuzz_config(const uint8_t *data, size_t size)
{
    struct options options;
    struct error error = {0};
    char *line[] = {"pipeline", (char *)fuzz_file(NAME, data, size), NULL};
    memset(&options, FILL, sizeof options);
    enum status status = options_parse(2, line, &options, &error);
    fuzz_require_closed();
    if (status != STATUS_OK) {
        fuzz_require_refusal(status, &error, NAME);
        FUZZ_REQUIRE(fuzz_is_filled(&options, sizeof options, FILL));
        return false;
    }
    FUZZ_REQUIRE(error.status == STATUS_OK && error.text[0] == '\0');
    FUZZ_REQUIRE(options.command == COMMAND_RUN && options.run_count >= 1);
    for (int i = 0; i < options.run_count; i++) {
        require_name(&options, i);
        if (!count_elements(&options.runs[i]))
            continue;
        require_settings(&options.runs[i]);
        if (i < AGAIN_MAX)
            require_again(&options.runs[i]);
    }
    options_free(&options);
    return true;
}
