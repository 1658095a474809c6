/* values.c - every option with every kind of value, on the command line and in a config file:
 * both take the same, and neither takes what it then can't bear. */
#include "hostile.h"

#include "kernels/kernel.h"
#include "options/table.h"
#include "plan/mistake.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Values that are no value of most options; all kinds of ranges, shares, devices and files. */
static const char values[] =
    " 0 -0 -1 +1 1 2 7 1.5 .5 5. nan -nan inf -inf infinity 1e3 1e999 -1e999 1e-999 0x10 "
    "0x1p10 010 1k 1K 1m 1M 1G 1T 1kk k 16M 1,000 1_000 2147483647 2147483648 "
    "-2147483649 4294967295 4294967296 9223372036854775807 9223372036854775808 "
    "18446744073709551615 18446744073709551616 18014398509481984k "
    "99999999999999999999999999999999 auto AUTO none yes no true false on 1,2 , 1, ,1 "
    "1,,2 1..8 8..1 .. 1.. ..1 1...8 1..8+0 1..8*1 1..8*0 1..1T+1 0..0 streams=1..8 "
    "streams= =1..8 tiles=1,2,4,...,1G order=depth,breadth seed=0..1023 "
    "seed=0..18446744073709551615 elements=1..1T*2 tiles=1..16M*16 "
    "device=sim:h200,sim:c2050 sweep=1..2 output=a,b any:20% any:-1% any:nan% any:1e999% "
    "any: :10% small-tiles:101% short-run:0% no-such:1% 2ms..5ms 25%..50% 50%..25% "
    "-1ms..1ms 1e999s..2 0..18446744073709551616 200%..300% sim sim: sim:h200 sim:nosuch "
    "sim:./m.ini sim:. sim:/dev/null sim:/dev/zero sim:./in.csv cuda cuda: cuda:0 "
    "cuda:-1 cuda:4294967296 CUDA /dev/null /dev/zero /dev/full / . nosuch/out.npy "
    "out.npy out.csv out.json out.html out.raw OUT.CSV .csv out.csv/ in.csv in.npy m.ini "
    "job.ini in.npy/x - -- %s%n $HOME ~/x";

/* One of the limits that the table has for the option, or one beside it. */
static const char *value_at_limit(struct input *input, const struct option_row *row)
{
    struct chance *chance = &input->chance;
    const uint64_t at = draw_percent(chance, 50) ? row->least : row->most;
    const uint64_t value = at + draw_below(chance, 3) - 1;
    static const char *const behind[] = {"", "", "", "", "k", "M", ".0", "e0", " "};
    return text_of(input, "%llu%s", (unsigned long long)value, DRAW_OF(chance, behind));
}

/* One of the words that the option takes, or one that is nearly such. */
static const char *value_of_choice(struct input *input, const struct option_row *row)
{
    struct chance *chance = &input->chance;
    size_t count = 0;
    while (row->choices[count] != NULL)
        count++;
    char *word = (char *)text_of(input, "%s", row->choices[draw_below(chance, count)]);
    switch (draw_below(chance, 6)) {
    case 0:
        word[0] = (char)toupper(word[0]);
        break;
    case 1:
        word[strlen(word) - 1] = '\0';
        break;
    case 2:
        return text_of(input, "%s,%s", word, row->choices[0]);
    default:
        break;
    }
    return word;
}

/* Names of kernels, one after another, of which not all may follow one another. */
static const char *value_of_chain(struct input *input)
{
    const char *chain = "";
    size_t kernels = 0;
    while (kernel_table[kernels].name != NULL)
        kernels++;
    for (size_t left = 1 + draw_below(&input->chance, CHAIN_MAX + 1); left > 0; left--)
        chain = text_of(input, "%s%s%s", chain, chain[0] != '\0' ? "," : "",
                        kernel_table[draw_below(&input->chance, kernels)].name);
    return chain;
}

static const char *value_of_mistake(struct input *input)
{
    size_t count = 0;
    while (mistake_rows[count].name != NULL)
        count++;
    return mistake_rows[draw_below(&input->chance, count)].name;
}

static const char *value_of_length(struct input *input)
{
    static const char *const pieces[] = {"1",   "x", "1,", "scale,", "-", " ", "\xe2\x82\xac",
                                         "../", "a:"};
    const char *piece = DRAW_OF(&input->chance, pieces);
    const size_t each = strlen(piece), size = draw_between(&input->chance, 60, 60000);
    char *value = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        value[i] = piece[i % each];
    value[size] = '\0';
    const char *text = text_of(input, "%s", value);
    free(value);
    return text;
}

static const char *value_of(struct input *input, const struct option_row *row)
{
    const unsigned which = (unsigned)draw_below(&input->chance, 10);
    if (which < 5 && row->type == TYPE_NUMBER)
        return value_at_limit(input, row);
    if (which < 5 && row->choices != NULL)
        return value_of_choice(input, row);
    if (which < 5 && row->type == TYPE_CHAIN)
        return value_of_chain(input);
    if (which < 5 && row->type == TYPE_MISTAKE)
        return value_of_mistake(input);
    if (which < 8)
        return draw_word(input, values);
    return which < 9 ? draw_name(input) : value_of_length(input);
}

/* Writes the files that values name. */
static void write_files(struct input *input)
{
    size_t size;
    const char *const from[] = {"data/traces/streams.csv", "data/f32.npy"};
    const char *const to[] = {"in.csv", "in.npy"};
    for (int i = 0; i < 2; i++) {
        char *bytes = file_read(text_of(input, "%s/%s", setting.tests, from[i]), &size);
        if (bytes == NULL || !file_write(to[i], bytes, size))
            fault(input, "the test lacks %s", from[i]);
        free(bytes);
    }
}

enum place { ON_COMMAND_LINE, IN_FILE, IN_FILE_TWICE, IN_GLOBAL, AS_WORD };

struct drawn {
    const struct option_row *row;
    const char *value;
    enum place place;
};

/* Adds a command that takes the option, with what it needs before that. `bench` would run for
 * minutes. */
static enum command add_command(struct input *input, const struct option_row *row)
{
    static const enum command all[] = {COMMAND_RUN,  COMMAND_RUN,       COMMAND_COMPARE,
                                       COMMAND_VIEW, COMMAND_LESSON,    COMMAND_LIST,
                                       COMMAND_HELP, COMMAND_CALIBRATE, COMMAND_RECORD,
                                       COMMAND_LAB,  COMMAND_TRY,       COMMAND_EXERCISE};
    enum command command = DRAW_OF(&input->chance, all);
    while (!option_is_taken(row, command) && row->commands != 1u << COMMAND_BENCH)
        command = DRAW_OF(&input->chance, all);
    for (const struct command_row *at = command_rows; at->name != NULL; at++) {
        if (at->command == command)
            call_add(&input->call, at->name);
    }
    if (command == COMMAND_VIEW)
        call_add(&input->call, "in.csv");
    if (command == COMMAND_LESSON)
        call_add(&input->call, "1");
    if (command == COMMAND_RUN || command == COMMAND_COMPARE)
        call_add(&input->call, "--device=sim:h200");
    return command;
}

static void add_value(struct input *input, struct call *call, const struct drawn *drawn)
{
    const char *name = drawn->row->name, *value = drawn->value;
    if (drawn->place == ON_COMMAND_LINE) {
        call_add(call, drawn->row->placeholder == NULL && value[0] == '\0'
                           ? text_of(input, "--%s", name)
                           : text_of(input, "--%s=%s", name, value));
        return;
    }
    const char *text = text_of(
        input, "%s%s = %s\n%s%s%s\n", drawn->place == IN_GLOBAL ? "[global]\n" : "[a]\n", name,
        value, drawn->place == IN_FILE_TWICE ? name : "",
        drawn->place == IN_FILE_TWICE ? "=" : "", drawn->place == IN_FILE_TWICE ? value : "");
    file_write("job.ini", text, strlen(text));
    call_add(call, "job.ini");
}

/* Hostile words where a command, a file or a topic should be. */
static void make_word(struct input *input)
{
    static const char *const commands[] = {"run",  "list",    "view", "lesson",
                                           "help", "compare", ""};
    const char *command = DRAW_OF(&input->chance, commands);
    if (command[0] != '\0')
        call_add(&input->call, command);
    const char *word =
        draw_percent(&input->chance, 50) ? draw_word(input, values) : draw_name(input);
    if (strchr("rcl", command[0]) != NULL && strcmp(command, "list") != 0)
        call_add(&input->call, "--elements=4096"); /* a run, where the word lets one be */
    call_add(&input->call, word);
}

/* A value as a config file has it: blanks around it are none of its own. */
static const char *trimmed(struct input *input, const char *value)
{
    static const char blanks[] = " \t\r\v\f";
    value += strspn(value, blanks);
    size_t length = strcspn(value, "\n");
    while (length > 0 && strchr(blanks, value[length - 1]) != NULL)
        length--;
    return text_of(input, "%.*s", (int)length, value);
}

static void make(struct input *input)
{
    struct chance *chance = &input->chance;
    struct drawn *drawn = input->drawn = calloc(1, sizeof *drawn);
    write_files(input);
    input->call.memory_bytes = 512 * (uint64_t)MEBI;
    if (draw_percent(chance, 8)) {
        drawn->place = AS_WORD;
        make_word(input);
        return;
    }
    do
        drawn->row = &option_rows[draw_below(chance, OPTION_COUNT)];
    while (drawn->row->commands == 1u << COMMAND_BENCH);
    drawn->value = value_of(input, drawn->row);
    drawn->place = drawn->row->scope == SCOPE_PROGRAM || draw_percent(chance, 50)
                       ? ON_COMMAND_LINE
                       : IN_FILE + draw_below(chance, 3);
    bool bytes = drawn->row->type == TYPE_FILE || draw_percent(chance, 10);
    if (setting.sanitized) /* which would take minutes for millions of tiles */
        bytes |= drawn->row == &option_rows[OPTION_TILES] || drawn->row->type == TYPE_SWEEP;
    const enum command command = add_command(input, drawn->row);
    const bool runs = command != COMMAND_RECORD && option_is_taken(drawn->row, COMMAND_RUN);
    if (command == COMMAND_RECORD) /* which reads no config file */
        drawn->place = ON_COMMAND_LINE;
    if (!runs)
        ;
    else if (bytes)
        input_set(input, "elements", "4096");
    else
        input_set(input, "no-data", NULL);
    if (runs && draw_percent(chance, 30))
        input_set(input, "format", draw_percent(chance, 50) ? "json" : "csv");
    add_value(input, &input->call, drawn);
    if (command == COMMAND_RECORD)
        call_add(&input->call, "true");
    const char *seen =
        drawn->place == ON_COMMAND_LINE ? drawn->value : trimmed(input, drawn->value);
    input_expect(input, seen)->raw =
        drawn->row == &option_rows[OPTION_OUTPUT] || drawn->row == &option_rows[OPTION_EMIT];
    input_expect(input, "job.ini");
}

/* Returns true if the value means the same in the other place: it has no character that config
 * files give a meaning, it names no file, and the command has no other for the option. */
static bool is_movable(const struct input *input, const struct drawn *drawn)
{
    static const char plain[] =
        "0123456789.,:+-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (drawn->place > IN_FILE || strcmp(input->call.arguments[1], "run") != 0)
        return false;
    const enum option_type type = drawn->row->type;
    const ptrdiff_t id = drawn->row - option_rows;
    return drawn->row->scope == SCOPE_RUN && type != TYPE_FILE && type != TYPE_DEVICE &&
           id != OPTION_ELEMENTS && id != OPTION_NO_DATA && drawn->value[0] != '\0' &&
           drawn->value[strspn(drawn->value, plain)] == '\0';
}

static void judge(struct input *input, const struct result *result)
{
    struct drawn *drawn = input->drawn;
    struct result other;
    if (!is_movable(input, drawn))
        return;
    struct call call = input->call;
    call.count--;
    drawn->place = drawn->place == ON_COMMAND_LINE ? IN_FILE : ON_COMMAND_LINE;
    add_value(input, &call, drawn);
    run_also(input, &call, &other);
    if (other.code != result->code)
        fault(input, "exit %d, but %d where it stands in the other place", result->code,
              other.code);
    result_free(&other);
}

const struct hostile_class hostile_values = {
    .name = "values", .weight = 6, .make = make, .judge = judge};
