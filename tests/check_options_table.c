/* check_options_table.c - the table is whole, and the help says all that stands in it. */
#include "options/table.h"
#include "options_cases.h"

#include <string.h>

START_TEST(table_is_whole)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        ck_assert_ptr_nonnull(row->name);
        ck_assert_ptr_nonnull(row->help);
        ck_assert_ptr_eq(option_find(row->name), row);
        bool flag =
            row->type == TYPE_FLAG || row->type == TYPE_TALLY || row->type == TYPE_COMMAND;
        ck_assert_msg((row->placeholder == NULL) == flag, "%s", row->name);
        for (int j = 0; j < i; j++)
            ck_assert(row->letter == 0 || row->letter != option_rows[j].letter);
        if (row->fallback == NULL)
            continue;
        union {
            struct settings settings;
            struct options options;
        } target = {0};
        struct assignment given = {.row = row, .text = row->fallback};
        struct error error = {0};
        ck_assert_msg(options_set(&given, &target, &error) == STATUS_OK, "%s", error.text);
    }
    ck_assert_ptr_null(option_find("nothing"));
}
END_TEST

static void read_help(char help[], size_t size)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    options_print_help(file, true);
    rewind(file);
    size_t length = fread(help, 1, size - 1, file);
    ck_assert_uint_lt(length, size - 1);
    help[length] = '\0';
    fclose(file);
}

START_TEST(help_lists_everything)
{
    char help[20480], text[128];
    read_help(help, sizeof help);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        int length = row->letter != 0
                         ? snprintf(text, sizeof text, "\n  -%c, --%s", row->letter, row->name)
                         : snprintf(text, sizeof text, "\n      --%s", row->name);
        snprintf(text + length, sizeof text - (size_t)length, "%s%s",
                 row->placeholder != NULL ? "=" : "",
                 row->placeholder != NULL ? row->placeholder : "");
        const char *found = strstr(help, text);
        while (found != NULL && strchr(" \n", found[strlen(text)]) == NULL)
            found = strstr(found + 1, text);
        ck_assert_msg(found != NULL, "%s is not in the help", text);
    }
    for (const struct command_row *row = command_rows; row->name != NULL; row++) {
        snprintf(text, sizeof text, "\n  pipeline %s", row->usage);
        ck_assert_msg(strstr(help, text) != NULL, "%s is not in the help", text);
    }
}
END_TEST

START_TEST(help_fits_80_columns)
{
    char help[20480];
    read_help(help, sizeof help);
    for (char *line = strtok(help, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        size_t length = strlen(line);
        ck_assert_msg(length <= 80, "too wide: %s", line);
        ck_assert_msg(line[length - 1] != ' ', "blank at the end: %s", line);
    }
}
END_TEST

/* The words of the help in a row, whatever the lines. */
START_TEST(help_says_limits_and_defaults)
{
    char help[20480], words[20480] = "";
    read_help(help, sizeof help);
    size_t length = 0;
    for (char *word = strtok(help, " \n"); word != NULL; word = strtok(NULL, " \n"))
        length += (size_t)snprintf(words + length, sizeof words - length, "%s ", word);
    static const char *const wanted[] = {
        "(1 to 1T; default 64M)",
        "auto: the simulator chooses (1 to 16M; default 32) -s,",
        "auto: the simulator chooses (1 to 1024; default 4) --order",
        "(default the one of the device's name)",
        "by simulating the machine file (default none) --window",
        "who works on them (default pinned) --prefetch",
        "stage, and packing (default streams) --batch",
        "instrumentation of our own --no-data",
        "for every pair (default none) --machine",
        "which share its memory",
        "(default depth)",
        "(1 to 32; default the driver's)",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        ck_assert_msg(strstr(words, wanted[i]) != NULL, "not in the help: %s", wanted[i]);
}
END_TEST

START_TEST(enums_have_names)
{
    ck_assert_str_eq(order_names[ORDER_DEPTH], "depth");
    ck_assert_str_eq(order_names[ORDER_BREADTH], "breadth");
    ck_assert_str_eq(layout_names[LAYOUT_TILE], "tile");
    ck_assert_str_eq(layout_names[LAYOUT_STAGE], "stage");
    ck_assert_str_eq(memory_names[MEMORY_PINNED], "pinned");
    ck_assert_str_eq(memory_names[MEMORY_PAGEABLE], "pageable");
    ck_assert_str_eq(memory_names[MEMORY_REGISTERED], "registered");
    ck_assert_str_eq(memory_names[MEMORY_MAPPED], "mapped");
    ck_assert_str_eq(issue_names[ISSUE_STREAMS], "streams");
    ck_assert_str_eq(issue_names[ISSUE_GRAPH], "graph");
    ck_assert_str_eq(issue_names[ISSUE_BATCH], "batch");
}
END_TEST

/* A value that the option takes; NULL where it takes none. */
static const char *some_value(const struct option_row *row)
{
    switch (row->type) {
    case TYPE_FLAG:
    case TYPE_TALLY:
    case TYPE_COMMAND:
        return NULL;
    case TYPE_CHOICE:
        return row->choices[0];
    case TYPE_FILE:
    case TYPE_FILES:
        return "file.csv";
    case TYPE_SWEEP:
        return "tiles=1,2";
    case TYPE_WINDOW:
        return "1ms..2ms";
    case TYPE_FAIL_ABOVE:
        return "any:5%";
    case TYPE_NAME:
        return "name";
    default:
        return row->fallback != NULL ? row->fallback : "1";
    }
}

/* Every option is given to every command: a command that does not take it refuses it, and says
 * so in these words. An option that it takes is at least not refused for that reason. */
START_TEST(no_command_ignores_an_option)
{
    for (const struct command_row *command = command_rows; command->name != NULL; command++) {
        for (int i = 0; i < OPTION_COUNT; i++) {
            const struct option_row *row = &option_rows[i];
            char given[128], wanted[256];
            const char *value = some_value(row);
            if (row->type == TYPE_COMMAND)
                continue;
            snprintf(given, sizeof given, "--%s%s%s", row->name, value != NULL ? "=" : "",
                     value != NULL ? value : "");
            snprintf(wanted, sizeof wanted, "%s is not for `pipeline %s`", given,
                     command->name);
            struct options options;
            struct error error = {0};
            char *line[] = {"pipeline", given, (char *)command->name, NULL};
            enum status status = options_parse(3, line, &options, &error);
            if (status == STATUS_OK)
                options_free(&options);
            bool refused = strncmp(error.text, wanted, strlen(wanted)) == 0;
            ck_assert_msg(refused != option_is_taken(row, command->command), "%s %s: %s",
                          command->name, given, error.text);
        }
    }
}
END_TEST

TCase *options_table_tcase(void)
{
    TCase *tcase = tcase_create("table");
    tcase_add_test(tcase, table_is_whole);
    tcase_add_test(tcase, help_lists_everything);
    tcase_add_test(tcase, help_fits_80_columns);
    tcase_add_test(tcase, help_says_limits_and_defaults);
    tcase_add_test(tcase, no_command_ignores_an_option);
    tcase_add_test(tcase, enums_have_names);
    return tcase;
}
