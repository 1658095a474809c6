/* check_options.c - the command line: every option's default and values, commands, and what
 * settings must be together. The other files of this suite are check_options_*.c. */
#include "options/table.h"
#include "options_cases.h"
#include "suites.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int line_length(char *const line[])
{
    int length = 0;
    while (line[length] != NULL)
        length++;
    return length;
}

static void check_is_one_line(const struct error *error)
{
    ck_assert_int_eq(error->status, STATUS_USAGE);
    ck_assert_uint_gt(strlen(error->text), 0);
    ck_assert_uint_lt(strlen(error->text), sizeof error->text - 1);
    for (const char *byte = error->text; *byte != '\0'; byte++)
        ck_assert_msg((unsigned char)*byte >= ' ' && *byte != 0x7f, "not one line: %s",
                      error->text);
}

struct options parse_right(char *const line[])
{
    struct options options;
    struct error error = {0};
    enum status status = options_parse(line_length(line), line, &options, &error);
    ck_assert_msg(status == STATUS_OK, "refused: %s", error.text);
    ck_assert_int_eq(error.status, STATUS_OK);
    return options;
}

void parse_wrong(char *const line[], ...)
{
    struct options options, untouched;
    struct error error = {0};
    memset(&options, 0x5a, sizeof options);
    memset(&untouched, 0x5a, sizeof untouched);
    enum status status = options_parse(line_length(line), line, &options, &error);
    ck_assert_msg(status == STATUS_USAGE, "not refused as it should be: %s", error.text);
    ck_assert_mem_eq(&options, &untouched, sizeof options);
    check_is_one_line(&error);
    va_list texts;
    va_start(texts, line);
    for (const char *text; (text = va_arg(texts, const char *)) != NULL;)
        ck_assert_msg(strstr(error.text, text) != NULL, "'%s' is not in: %s", text, error.text);
    va_end(texts);
}

bool parse_any(char *const line[])
{
    struct options options;
    struct error error = {0};
    enum status status = options_parse(line_length(line), line, &options, &error);
    if (status != STATUS_OK) {
        ck_assert_int_eq(status, STATUS_USAGE);
        check_is_one_line(&error);
        return false;
    }
    ck_assert_int_eq(error.status, STATUS_OK);
    for (int i = 0; i < options.run_count; i++) {
        ck_assert_int_eq(settings_check(&options.runs[i], NULL), STATUS_OK);
        ck_assert_int_gt(options.runs[i].chain_length, 0);
        ck_assert_uint_gt(options.runs[i].tiles, 0);
        ck_assert_uint_gt(strlen(options.runs[i].name), 0);
    }
    options_free(&options);
    return true;
}

/* --- defaults, and what each value is shown as --- */

START_TEST(defaults_are_those_of_the_design)
{
    struct options options = parse_right(LINE(NULL));
    ck_assert_int_eq(options.command, COMMAND_RUN);
    ck_assert_ptr_null(options.list_what);
    ck_assert_int_eq(options.format, FORMAT_TEXT);
    ck_assert_int_eq(options.timeline_count, 0);
    ck_assert_int_eq(options.gantt, GANTT_ENGINES);
    ck_assert(!options.dry_run && !options.quiet && !options.no_color);
    ck_assert_int_eq(options.verbose, 0);
    ck_assert_int_eq(options.run_count, 1);
    const struct settings *run = &options.runs[0];
    ck_assert_str_eq(run->name, "run");
    ck_assert_uint_eq(run->elements, 67108864);
    ck_assert(!run->elements_given);
    ck_assert_ptr_null(run->input);
    ck_assert_ptr_null(run->output);
    ck_assert_int_eq(run->chain_length, 1);
    ck_assert_ptr_eq(run->chain[0], kernel_find("scale"));
    ck_assert_uint_eq(run->intensity, 1800);
    ck_assert_uint_eq(run->columns, 1024);
    ck_assert_uint_eq(run->stride, 1);
    ck_assert_uint_eq(run->tiles, 32);
    ck_assert_uint_eq(run->streams, 4);
    ck_assert_int_eq(run->order, ORDER_DEPTH);
    ck_assert_int_eq(run->layout, LAYOUT_TILE);
    ck_assert_int_eq(run->ways, 3);
    ck_assert_double_lt(run->cpu_share, 0);
    ck_assert_int_eq(run->memory, MEMORY_PINNED);
    ck_assert_int_eq(run->priority_count, 0);
    ck_assert_uint_eq(run->connections, 0);
    ck_assert_int_eq(run->mistake, MISTAKE_NONE);
    ck_assert_str_eq(run->device, "auto");
    ck_assert_uint_eq(run->runs, 5);
    ck_assert_uint_eq(run->warmup, 1);
    ck_assert_int_eq(run->issue, ISSUE_STREAMS);
    ck_assert_uint_eq(run->batch, 0);
    ck_assert(!run->scatter && !run->callbacks && !run->profile && !run->no_data && !run->pack);
    ck_assert_uint_eq(run->seed, 1);
    options_free(&options);
    ck_assert_ptr_null(options.runs);
}
END_TEST

/* One value that settings_each() should give; a NULL is null. */
struct shown {
    const char *name, *value;
    enum value_kind kind;
};
struct shown_list {
    const struct shown *next;
    int left;
};

static void check_shown(void *context, const char *name, const char *value,
                        enum value_kind kind)
{
    struct shown_list *list = context;
    ck_assert_int_gt(list->left, 0);
    ck_assert_str_eq(name, list->next->name);
    ck_assert_pstr_eq(value, list->next->value);
    ck_assert_int_eq(kind, list->next->kind);
    list->next++;
    list->left--;
}

static const struct shown default_settings[] = {
    {"elements", "67108864", VALUE_INTEGER},
    {"input", NULL, VALUE_NULL},
    {"output", NULL, VALUE_NULL},
    {"kernel", "scale", VALUE_TEXT},
    {"intensity", "1800", VALUE_INTEGER},
    {"columns", "1024", VALUE_INTEGER},
    {"stride", "1", VALUE_INTEGER},
    {"rows", "16384", VALUE_INTEGER},
    {"inner", "1408", VALUE_INTEGER},
    {"blocks", "auto", VALUE_TEXT},
    {"tiles", "32", VALUE_INTEGER},
    {"streams", "4", VALUE_INTEGER},
    {"order", "depth", VALUE_TEXT},
    {"layout", "tile", VALUE_TEXT},
    {"ways", "3", VALUE_INTEGER},
    {"cpu-share", "auto", VALUE_TEXT},
    {"memory", "pinned", VALUE_TEXT},
    {"prefetch", "false", VALUE_BOOL},
    {"alloc", "once", VALUE_TEXT},
    {"scatter", "false", VALUE_BOOL},
    {"copy", "whole", VALUE_TEXT},
    {"tile-width", "1024", VALUE_INTEGER},
    {"priorities", NULL, VALUE_NULL},
    {"callbacks", "false", VALUE_BOOL},
    {"carry", "device", VALUE_TEXT},
    {"connections", NULL, VALUE_NULL},
    {"mistake", NULL, VALUE_NULL},
    {"device", "auto", VALUE_TEXT},
    {"runs", "5", VALUE_INTEGER},
    {"warmup", "1", VALUE_INTEGER},
    {"issue", "streams", VALUE_TEXT},
    {"batch", "auto", VALUE_TEXT},
    {"pack", "false", VALUE_BOOL},
    {"profile", "false", VALUE_BOOL},
    {"no-data", "false", VALUE_BOOL},
    {"seed", "1", VALUE_INTEGER},
};
enum { SETTINGS_SHOWN = sizeof default_settings / sizeof default_settings[0] };

/* What is usual depends on the chain: scale's arithmetic is dealt out over its links, and a
 * kernel that has no figure of its own does its arithmetic once. */
START_TEST(intensity_is_what_is_usual_for_the_chain)
{
    static const struct {
        char *kernel;
        uint32_t intensity;
    } chains[] = {{"-kscale", 1800}, {"-kscale,scale,scale", 600}, {"-kscale,sum", 1800},
                  {"-kwave", 1},     {"-kscale,wave", 1},          {"-ksum", 1},
                  {"-kdgemm", 1},    {"-kwave-launches", 1}};
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        struct options options = parse_right(LINE("--tiles=1", chains[i].kernel));
        ck_assert_msg(options.runs[0].intensity == chains[i].intensity, "%s: %u",
                      chains[i].kernel, options.runs[0].intensity);
        options_free(&options);
    }
}
END_TEST

START_TEST(defaults_are_shown)
{
    struct options options = parse_right(LINE(NULL));
    struct shown_list list = {default_settings, SETTINGS_SHOWN};
    settings_each(&options.runs[0], check_shown, &list);
    ck_assert_int_eq(list.left, 0);
    options_free(&options);
}
END_TEST

/* Two spellings of an option, and what settings_each() then says. */
static const struct {
    char *words[2];
    struct shown shown;
} given_settings[] = {
    {{"-n", "100"}, {"elements", "100", VALUE_INTEGER}},
    {{"-n1k"}, {"elements", "1024", VALUE_INTEGER}},
    {{"--elements=1.5M"}, {"elements", "1572864", VALUE_INTEGER}},
    {{"--elements", "1T"}, {"elements", "1099511627776", VALUE_INTEGER}},
    {{"--elem=64"}, {"elements", "64", VALUE_INTEGER}},
    {{"-i", "a.npy"}, {"input", "a.npy", VALUE_TEXT}},
    {{"--input=a b.raw"}, {"input", "a b.raw", VALUE_TEXT}},
    {{"-o", "b.npy"}, {"output", "b.npy", VALUE_TEXT}},
    {{"-k", "sum"}, {"kernel", "sum", VALUE_TEXT}},
    {{"--kernel=scale,wave,sum"}, {"kernel", "scale,wave,sum", VALUE_TEXT}},
    {{"--kernel=scale, sum"}, {"kernel", "scale,sum", VALUE_TEXT}},
    {{"--kernel=reduce-shuffle"}, {"kernel", "reduce-shuffle", VALUE_TEXT}},
    {{"--kernel=scale,scale,scale,scale,scale,scale,scale,scale"},
     {"kernel", "scale,scale,scale,scale,scale,scale,scale,scale", VALUE_TEXT}},
    {{"--intensity=65536"}, {"intensity", "65536", VALUE_INTEGER}},
    {{"--columns=1"}, {"columns", "1", VALUE_INTEGER}},
    {{"--columns=1G"}, {"columns", "1073741824", VALUE_INTEGER}},
    {{"--stride=65536"}, {"stride", "65536", VALUE_INTEGER}},
    {{"--rows=1M"}, {"rows", "1048576", VALUE_INTEGER}},
    {{"--inner=7"}, {"inner", "7", VALUE_INTEGER}},
    {{"--blocks=4k"}, {"blocks", "4096", VALUE_INTEGER}},
    {{"-t", "1"}, {"tiles", "1", VALUE_INTEGER}},
    {{"--tiles=16M"}, {"tiles", "16777216", VALUE_INTEGER}},
    {{"-s", "1024"}, {"streams", "1024", VALUE_INTEGER}},
    {{"--streams=auto"}, {"streams", "auto", VALUE_TEXT}},
    {{"--order=breadth"}, {"order", "breadth", VALUE_TEXT}},
    {{"--layout=stage"}, {"layout", "stage", VALUE_TEXT}},
    {{"-w4"}, {"ways", "4", VALUE_INTEGER}},
    {{"--cpu-share=0"}, {"cpu-share", "0", VALUE_REAL}},
    {{"--cpu-share=0.25"}, {"cpu-share", "0.25", VALUE_REAL}},
    {{"--cpu-share=1"}, {"cpu-share", "1", VALUE_REAL}},
    {{"--cpu-share=auto"}, {"cpu-share", "auto", VALUE_TEXT}},
    {{"--memory=pageable"}, {"memory", "pageable", VALUE_TEXT}},
    {{"--memory=registered"}, {"memory", "registered", VALUE_TEXT}},
    {{"--priorities=0,-5,100,-100"}, {"priorities", "0,-5,100,-100", VALUE_TEXT}},
    {{"--priorities", "-1"}, {"priorities", "-1", VALUE_TEXT}},
    {{"--priorities=none"}, {"priorities", NULL, VALUE_NULL}},
    {{"--memory=managed"}, {"memory", "managed", VALUE_TEXT}},
    {{"--prefetch=yes"}, {"prefetch", "true", VALUE_BOOL}},
    {{"--alloc=async"}, {"alloc", "async", VALUE_TEXT}},
    {{"--scatter"}, {"scatter", "true", VALUE_BOOL}},
    {{"--copy=2d"}, {"copy", "2d", VALUE_TEXT}},
    {{"--copy=rows"}, {"copy", "rows", VALUE_TEXT}},
    {{"--tile-width=4k"}, {"tile-width", "4096", VALUE_INTEGER}},
    {{"--callbacks"}, {"callbacks", "true", VALUE_BOOL}},
    {{"--carry=device"}, {"carry", "device", VALUE_TEXT}},
    {{"--connections=32"}, {"connections", "32", VALUE_INTEGER}},
    {{"--mistake=none"}, {"mistake", NULL, VALUE_NULL}},
    {{"--mistake=missing-wait"}, {"mistake", "missing-wait", VALUE_TEXT}},
    {{"-d", "cuda"}, {"device", "cuda", VALUE_TEXT}},
    {{"-dcuda:12"}, {"device", "cuda:12", VALUE_TEXT}},
    {{"--device=sim"}, {"device", "sim:h200", VALUE_TEXT}},
    {{"--device=sim:c2050"}, {"device", "sim:c2050", VALUE_TEXT}},
    {{"--device=sim:./mine.ini"}, {"device", "sim:./mine.ini", VALUE_TEXT}},
    {{"--runs=10000"}, {"runs", "10000", VALUE_INTEGER}},
    {{"--warmup=0"}, {"warmup", "0", VALUE_INTEGER}},
    {{"--issue=streams"}, {"issue", "streams", VALUE_TEXT}},
    {{"--issue=batch"}, {"issue", "batch", VALUE_TEXT}},
    {{"--pack"}, {"pack", "true", VALUE_BOOL}},
    {{"--no-data"}, {"no-data", "true", VALUE_BOOL}},
    {{"--seed=0"}, {"seed", "0", VALUE_INTEGER}},
    {{"--seed=18446744073709551615"}, {"seed", "18446744073709551615", VALUE_INTEGER}},
};

/* The option says what it was given, and all others still say their default. */
START_TEST(value_is_taken)
{
    struct options options =
        parse_right(LINE("--tiles=1", "--intensity=7", given_settings[_i].words[0],
                         given_settings[_i].words[1]));
    struct shown wanted[SETTINGS_SHOWN];
    memcpy(wanted, default_settings, sizeof wanted);
    int found = 0;
    for (int i = 0; i < SETTINGS_SHOWN; i++) {
        if (strcmp(wanted[i].name, "tiles") == 0) /* fits any number of elements */
            wanted[i].value = "1";
        if (strcmp(wanted[i].name, "intensity") == 0) /* else it would depend on the kernel */
            wanted[i].value = "7";
        if (strcmp(wanted[i].name, given_settings[_i].shown.name) == 0) {
            wanted[i] = given_settings[_i].shown;
            found++;
        }
    }
    ck_assert_int_eq(found, 1);
    struct shown_list list = {wanted, SETTINGS_SHOWN};
    settings_each(&options.runs[0], check_shown, &list);
    ck_assert_int_eq(list.left, 0);
    options_free(&options);
}
END_TEST

START_TEST(elements_are_known_to_be_given)
{
    struct options options = parse_right(LINE("-n", "64M"));
    ck_assert(options.runs[0].elements_given);
    options_free(&options);
}
END_TEST

START_TEST(options_of_the_whole_are_taken)
{
    struct options options =
        parse_right(LINE("--format=json", "--timeline=a.csv", "--timeline", "b.json",
                         "--gantt=none", "--dry-run", "-qvv", "--verbose", "--no-color"));
    ck_assert_int_eq(options.format, FORMAT_JSON);
    ck_assert_int_eq(options.timeline_count, 2);
    ck_assert_str_eq(options.timelines[0], "a.csv");
    ck_assert_str_eq(options.timelines[1], "b.json");
    ck_assert_int_eq(options.gantt, GANTT_NONE);
    ck_assert(options.dry_run && options.quiet && options.no_color);
    ck_assert_int_eq(options.verbose, 3);
    options_free(&options);
    options = parse_right(LINE("--format=csv", "--gantt=streams"));
    ck_assert_int_eq(options.format, FORMAT_CSV);
    ck_assert_int_eq(options.gantt, GANTT_STREAMS);
    options_free(&options);
}
END_TEST

START_TEST(strings_outlive_the_arguments)
{
    char device[] = "--device=sim:p100", output[] = "out.npy", timeline[] = "--timeline=x.csv";
    struct options options = parse_right(LINE(device, "-o", output, timeline));
    memset(device, 'z', sizeof device - 1);
    memset(output, 'z', sizeof output - 1);
    memset(timeline, 'z', sizeof timeline - 1);
    ck_assert_str_eq(options.runs[0].device, "sim:p100");
    ck_assert_str_eq(options.runs[0].output, "out.npy");
    ck_assert_str_eq(options.timelines[0], "x.csv");
    options_free(&options);
}
END_TEST

START_TEST(last_of_two_wins)
{
    struct options options =
        parse_right(LINE("-t4", "--tiles=8", "--kernel=scale,sum", "-kwave"));
    ck_assert_uint_eq(options.runs[0].tiles, 8);
    ck_assert_int_eq(options.runs[0].chain_length, 1);
    ck_assert_ptr_eq(options.runs[0].chain[0], kernel_find("wave"));
    options_free(&options);
}
END_TEST

/* --- commands --- */

START_TEST(commands_are_known)
{
    struct options options = parse_right(LINE("run", "-t4"));
    ck_assert_int_eq(options.command, COMMAND_RUN);
    ck_assert_int_eq(options.run_count, 1);
    ck_assert_uint_eq(options.runs[0].tiles, 4);
    options_free(&options);
    options = parse_right(LINE("list"));
    ck_assert_int_eq(options.command, COMMAND_LIST);
    ck_assert_ptr_null(options.list_what);
    options_free(&options);
    for (int i = 0; list_words[i] != NULL; i++) {
        options = parse_right(LINE("-q", "list", (char *)list_words[i]));
        ck_assert_int_eq(options.command, COMMAND_LIST);
        ck_assert_str_eq(options.list_what, list_words[i]);
        options_free(&options);
    }
}
END_TEST

START_TEST(help_and_version_win)
{
    static char *const lines[][4] = {
        {"--help"},      {"-h"},  {"-h", "--rubbish", "nowhere.ini"}, {"--hel"},
        {"bench", "-h"}, {"-qh"}, {"--tiles=4", "-h", "--version"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct options options = parse_right(LINE(lines[i][0], lines[i][1], lines[i][2]));
        ck_assert_int_eq(options.command, COMMAND_HELP);
        ck_assert_int_eq(options.run_count, 0);
        options_free(&options);
    }
    struct options options = parse_right(LINE("--version", "--help", "--rubbish"));
    ck_assert_int_eq(options.command, COMMAND_VERSION);
    options_free(&options);
    parse_wrong(LINE("--rubbish", "--help"), "unknown option --rubbish", NULL);
}
END_TEST

START_TEST(help_has_topics)
{
    static char *const lines[][2] = {
        {"tiles", "tiles"},   {"--tiles", "tiles"},     {"-t", "tiles"},
        {"t", "tiles"},       {"view", "view"},         {"runs", "runs"},
        {"help", "help"},     {"--no-data", "no-data"}, {"--all", "all"},
        {"breadth", "order"}, {"streams=4", "streams"}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct options options = parse_right(LINE("help", lines[i][0]));
        ck_assert_int_eq(options.command, COMMAND_HELP);
        ck_assert_str_eq(options.topic, lines[i][1]);
        options_free(&options);
    }
    struct options options = parse_right(LINE("help"));
    ck_assert_int_eq(options.command, COMMAND_HELP);
    ck_assert_ptr_null(options.topic);
    options_free(&options);
    options = parse_right(LINE("help", "all"));
    ck_assert_ptr_null(options.topic);
    ck_assert(options.all);
    options_free(&options);
    parse_wrong(LINE("help", "tilse"), "help tilse", "did you mean tiles?", NULL);
    parse_wrong(LINE("help", "auto"), "help auto: ", "several", "order, layout", NULL);
    parse_wrong(LINE("help", "lesson", "8"), "did you mean `pipeline lesson 8`?", NULL);
    parse_wrong(LINE("help", "8"), "that is a lesson: `pipeline lesson 8`", NULL);
    parse_wrong(LINE("help", "--"), "help --", "pipeline help", NULL);
    parse_wrong(LINE("help", "planetarium"), "help planetarium", "pipeline help", NULL);
    parse_wrong(LINE("help", "tiles", "streams"), "`help` takes one word",
                "'streams' is one too many", NULL);
    parse_wrong(LINE("-t4", "help"), "--tiles=4 is not for `pipeline help`", NULL);
}
END_TEST

START_TEST(lessons_are_known)
{
    static char *const words[] = {"1", "01", "serial", "01-serial"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct options options = parse_right(LINE("lesson", words[i], "-t8"));
        ck_assert_int_eq(options.command, COMMAND_LESSON);
        ck_assert_str_eq(options.lesson->name, "01-serial");
        ck_assert_int_gt(options.run_count, 1);
        ck_assert_uint_eq(options.runs[0].tiles, 8);
        options_free(&options);
    }
    parse_wrong(LINE("lesson"), "lesson needs a number or a name", "list lessons", NULL);
    parse_wrong(LINE("lesson", "0"), "there is no lesson 0", "list lessons", NULL);
    parse_wrong(LINE("lesson", ""), "there is no lesson", "list lessons", NULL);
    parse_wrong(LINE("lesson", "99999999999999999999999"), "there is no lesson 9999", NULL);
    parse_wrong(LINE("lesson", "serail"), "serail", "did you mean serial?", NULL);
    parse_wrong(LINE("lesson", "1", "2"), "`lesson` takes one word; '2' is one too many", NULL);
    parse_wrong(LINE("lessons"), "did you mean lesson?", NULL);
}
END_TEST

/* A config that is part of the program is found where there is no such file, and only then. */
START_TEST(configs_are_found_anywhere)
{
    static char *const names[] = {"configs/ways.ini", "ways.ini", "configs/history/hyperq.ini",
                                  "configs/lessons/01-serial.ini"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct options options = parse_right(LINE(names[i]));
        ck_assert_str_eq(options.embedded, names[i]);
        ck_assert_int_gt(options.run_count, 1);
        options_free(&options);
    }
    test_file_write("ways.ini", "[mine]\n", 7);
    struct options options = parse_right(LINE("ways.ini"));
    ck_assert_ptr_null(options.embedded);
    ck_assert_str_eq(options.runs[0].name, "mine");
    options_free(&options);
    parse_wrong(LINE("elsewhere/ways.ini"), "elsewhere/ways.ini cannot be read", NULL);
    parse_wrong(LINE("configs/nothing.ini"), "configs/nothing.ini cannot be read", NULL);
    parse_wrong(LINE("configs/.ini"), "configs/.ini cannot be read", NULL);
}
END_TEST

START_TEST(two_dashes_end_the_options)
{
    parse_wrong(LINE("--", "--tiles=4"), "'--tiles=4'", "neither a command nor a config", NULL);
    parse_wrong(LINE("--", "-h.ini"), "-h.ini cannot be read", NULL);
    struct options options = parse_right(LINE("-q", "--", "list"));
    ck_assert_int_eq(options.command, COMMAND_LIST);
    options_free(&options);
    options = parse_right(LINE("-t4", "--"));
    ck_assert_uint_eq(options.runs[0].tiles, 4);
    options_free(&options);
}
END_TEST

START_TEST(no_arguments_at_all_are_a_run)
{
    char *const nothing[] = {NULL};
    struct options options;
    ck_assert_int_eq(options_parse(0, nothing, &options, NULL), STATUS_OK);
    ck_assert_int_eq(options.command, COMMAND_RUN);
    ck_assert_int_eq(options.run_count, 1);
    options_free(&options);
}
END_TEST

START_TEST(parsing_changes_no_argument_and_prints_nothing)
{
    char *line[] = {"pipeline", "run", "-t4", "x.ini", "--rubbish", "y.ini", NULL};
    char *before[7];
    memcpy(before, line, sizeof line);
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
    struct options options;
    enum status status = options_parse(6, line, &options, NULL);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    ck_assert_int_eq(status, STATUS_USAGE);
    ck_assert_mem_eq(before, line, sizeof line);
    fseek(file, 0, SEEK_END);
    ck_assert_int_eq(ftell(file), 0);
    fclose(file);
}
END_TEST

/* --- settings together --- */

START_TEST(one_way_means_one_stream)
{
    struct options options = parse_right(LINE("--ways=1"));
    ck_assert_uint_eq(options.runs[0].streams, 1);
    options_free(&options);
    options = parse_right(LINE("--ways=1", "--streams=1"));
    ck_assert_uint_eq(options.runs[0].streams, 1);
    options_free(&options);
    options = parse_right(LINE("--ways=2", "--streams=7"));
    ck_assert_uint_eq(options.runs[0].streams, 7);
    options_free(&options);
}
END_TEST

START_TEST(share_is_for_four_ways)
{
    struct options options = parse_right(LINE("--ways=4", "--cpu-share=0.5"));
    ck_assert_double_eq(options.runs[0].cpu_share, 0.5);
    options_free(&options);
    options = parse_right(LINE("--ways=1", "--cpu-share=auto"));
    options_free(&options);
}
END_TEST

START_TEST(settings_are_checked_again)
{
    struct options options = parse_right(LINE("--input=x.npy", "--tiles=100"));
    struct settings settings = options.runs[0];
    struct error error = {0};
    ck_assert(!settings.elements_given);
    settings.elements = 100;
    ck_assert_int_eq(settings_check(&settings, &error), STATUS_OK);
    settings.elements = 99;
    ck_assert_int_eq(settings_check(&settings, &error), STATUS_USAGE);
    ck_assert_str_eq(error.text,
                     "tiles=100 is more than elements=99: use tiles=99, or elements=100");
    options_free(&options);
}
END_TEST

START_TEST(no_data_is_for_the_simulator)
{
    static char *const devices[] = {"auto", "sim", "sim:c2050"};
    for (int i = 0; i < 3; i++) {
        struct options options = parse_right(LINE("--no-data", "-d", devices[i]));
        ck_assert(options.runs[0].no_data);
        options_free(&options);
    }
}
END_TEST

static void add_line_cases(Suite *suite)
{
    TCase *values = tcase_create("values");
    tcase_add_test(values, defaults_are_those_of_the_design);
    tcase_add_test(values, defaults_are_shown);
    tcase_add_test(values, intensity_is_what_is_usual_for_the_chain);
    ADD_EACH(values, value_is_taken, given_settings);
    tcase_add_test(values, elements_are_known_to_be_given);
    tcase_add_test(values, options_of_the_whole_are_taken);
    tcase_add_test(values, strings_outlive_the_arguments);
    tcase_add_test(values, last_of_two_wins);
    suite_add_tcase(suite, values);
    TCase *commands = tcase_create("commands");
    tcase_add_checked_fixture(commands, options_enter_folder, options_leave_folder);
    tcase_add_test(commands, commands_are_known);
    tcase_add_test(commands, help_and_version_win);
    tcase_add_test(commands, help_has_topics);
    tcase_add_test(commands, lessons_are_known);
    tcase_add_test(commands, configs_are_found_anywhere);
    tcase_add_test(commands, two_dashes_end_the_options);
    tcase_add_test(commands, no_arguments_at_all_are_a_run);
    tcase_add_test(commands, parsing_changes_no_argument_and_prints_nothing);
    suite_add_tcase(suite, commands);
}

Suite *options_suite(void)
{
    Suite *suite = suite_create("options");
    add_line_cases(suite);
    TCase *settled = tcase_create("settled");
    tcase_add_test(settled, one_way_means_one_stream);
    tcase_add_test(settled, share_is_for_four_ways);
    tcase_add_test(settled, settings_are_checked_again);
    tcase_add_test(settled, no_data_is_for_the_simulator);
    suite_add_tcase(suite, settled);
    suite_add_tcase(suite, options_together_tcase());
    suite_add_tcase(suite, options_refusals_tcase());
    suite_add_tcase(suite, options_sweep_tcase());
    suite_add_tcase(suite, options_auto_tcase());
    suite_add_tcase(suite, options_config_tcase());
    suite_add_tcase(suite, options_table_tcase());
    suite_add_tcase(suite, options_random_tcase());
    return suite;
}
