/* libraries.c - kernels of users' own whose libraries misbehave when they are opened, called or
 * closed, choose a locale or are no libraries, and stacks that are small. Whatever they do, the
 * program ends by itself, with 0 only where the result is right, and says why otherwise; files
 * that are to leave names out have no folder of the library's. */
#include "hostile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Libraries of tests/own/kernel.c, and the exit code with each. */
static const struct library {
    const char *name;
    int code;
} libraries[] = {{"SOFT", 0},   {"SOFT", 0},        {"AXPY", 0},       {"COMMAS", 0},
                 {"COMMAS", 0}, {"LEAVES", 2},      {"QUITS", 2},      {"FALLS", 2},
                 {"EXIT", 1},   {"LEAVES_LATE", 2}, {"QUITS_LATE", 2}, {"FALLS_LATE", 2},
                 {"QUIT", 1},   {"LEAVES_USED", 1}, {"PLACE", 1},      {"NONE", 2}};

#define FOLDER "secret"

/* What a command is to come to. */
struct expected {
    int code;
    bool small, anonymous; /* its stack, its files */
};

/* Puts a library, or what is none, where the command looks for one. Returns the exit code. */
static int put_library(struct input *input, const char *path)
{
    struct chance *chance = &input->chance;
    const struct library *library = &DRAW_OF(chance, libraries);
    size_t size;
    if (draw_percent(chance, 5)) {
        mkfifo(path, 0600);
        return 2;
    }
    if (draw_percent(chance, 5)) {
        mkdir(path, 0700);
        return 2;
    }
    char *bytes =
        file_read(text_of(input, BUILD_FOLDER "/tests/own/%s.so", library->name), &size);
    const bool cut = draw_percent(chance, 10); /* too short to be one */
    if (bytes == NULL || !file_write(path, bytes, cut ? draw_below(chance, size / 2) : size))
        fault(input, "the test lacks %s.so", library->name);
    free(bytes);
    return cut ? 2 : library->code;
}

/* Makes the locale that COMMAS.so chooses, where that can be. */
static void make_locale(struct input *input)
{
    static const char text[] = "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
                               "grouping 3;3\nEND LC_NUMERIC\n";
    file_write("commas.txt", text, strlen(text));
    if (system("localedef -c -i commas.txt -f ANSI_X3.4-1968 ./commas >made.txt 2>&1") == 0)
        remove("made.txt");
    input->call.extra[input->call.extra_count++] = "LOCPATH=.";
}

static void make(struct input *input)
{
    struct chance *chance = &input->chance;
    struct expected *expected = input->drawn = calloc(1, sizeof *expected);
    if (expected == NULL)
        return;
    mkdir(FOLDER, 0700);
    expected->code = put_library(input, FOLDER "/own.so");
    expected->anonymous = draw_percent(chance, 50);
    if (draw_percent(chance, 50))
        make_locale(input);
    if (draw_percent(chance, 20)) {
        expected->small = true;
        input->call.stack_bytes = draw_between(chance, 64, 320) << 10;
    }
    input_set(input, "device", draw_word(input, "sim:h200 sim:h200*2 sim:c2050"));
    input_set(input, "elements", text_of(input, "%u", 64 + (unsigned)draw_below(chance, 9000)));
    input_set(input, "tiles", draw_word(input, "2 5 8"));
    input_set(input, "kernel", FOLDER "/own.so");
    input_set(input, "format", draw_word(input, "json csv text"));
    const char *timeline = text_of(input, "t.%s", draw_word(input, "csv json html"));
    input_set(input, "timeline", timeline);
    input_expect(input, timeline);
    if (expected->anonymous)
        input_set(input, "anonymous", NULL);
    call_add(&input->call, "-q");
}

static void judge(struct input *input, const struct result *result)
{
    const struct expected *expected = input->drawn;
    if (expected == NULL)
        return;
    const bool refused = expected->small && result->code == 1 &&
                         strstr(result->err, "the stack may have") != NULL;
    if (result->code != expected->code && !refused)
        fault(input, "ends with %d, not %d: %.300s", result->code, expected->code, result->err);
    if (result->code != 0 || !expected->anonymous)
        return;
    size_t size;
    char *text = file_read(input->outputs[0].path, &size);
    if (text == NULL || strstr(text, FOLDER) != NULL || strstr(result->out, FOLDER) != NULL)
        fault(input, "has a folder's name, or no file");
    free(text);
}

const struct hostile_class hostile_libraries = {
    .name = "libraries", .weight = 3, .make = make, .judge = judge};
