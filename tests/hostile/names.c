/* names.c - hostile names in every place that shows one: of sections, files, folders, machines,
 * devices and kernels. No shell, gnuplot, terminal or spreadsheet obeys one, and what is
 * written can be read again. */
#include "hostile.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char forms[] =
    "csv json html csv json html csv json html csv json html csv json html svg png pdf";

static void write_text(struct input *input, const char *path, const char *text)
{
    if (!file_write(path, text, strlen(text)))
        call_add(&input->call, path); /* no file can be called that: the program says so, too */
}

static void run_little(struct input *input)
{
    input_set(input, "device", "sim:h200");
    input_set(input, "elements", "1000");
    input_set(input, "tiles", "3");
}

static void name_section(struct input *input, const char *name)
{
    write_text(
        input, "job.ini",
        text_of(input, "[%s]\nno-data = yes\ntiles = 3\n[%s 2]\nno-data = 1\n", name, name));
    call_add(&input->call, "job.ini");
    input_set(input, "device", "sim:h200");
}

static void name_config(struct input *input, const char *name)
{
    const char *path = text_of(input, "%s.ini", name);
    write_text(input, path,
               draw_percent(&input->chance, 50) ? "[a]\ntiles = 3\nno-data = yes\n"
                                                : "[a]\ntiles = x\n");
    call_add(&input->call, path);
    input_set(input, "device", "sim:h200");
}

static void name_input(struct input *input, const char *name)
{
    const char *path = text_of(input, "%s.raw", name);
    write_text(input, path, "0123456789abcdef");
    input_set(input, "input", path);
    input_set(input, "device", "sim:h200");
    input_set(input, "tiles", "3");
}

static void name_output(struct input *input, const char *name)
{
    const char *path = text_of(input, "%s.npy", name);
    run_little(input);
    input_set(input, "output", path);
    input_expect(input, path);
}

static void name_timeline(struct input *input, const char *name)
{
    const char *path = text_of(input, "%s.%s", name, draw_word(input, forms));
    run_little(input);
    input_set(input, "timeline", path);
    input_expect(input, path);
}

static void name_machine(struct input *input, const char *name)
{
    size_t size;
    char *bytes =
        file_read(text_of(input, "%s/../configs/machines/h200.ini", setting.tests), &size);
    const char *path =
        text_of(input, "%s.ini", draw_percent(&input->chance, 50) ? name : "mine");
    const char *text = text_of(input, "%s", bytes != NULL ? bytes : "");
    const char *line = strstr(text, "summary = "),
               *rest = line != NULL ? strchr(line, '\n') : NULL;
    if (rest != NULL)
        text = text_of(input, "%.*ssummary = %s%s", (int)(line - text), text, name, rest);
    free(bytes);
    write_text(input, path, text);
    run_little(input);
    input_set(input, "device", text_of(input, "sim:./%s", path));
}

/* A text between quotes, as CSV has it. */
static const char *quoted(struct input *input, const char *text)
{
    char *to = malloc(2 * strlen(text) + 3), *at = to;
    *at++ = '"';
    for (; *text != '\0'; text++) {
        *at++ = *text;
        if (*text == '"')
            *at++ = '"';
    }
    strcpy(at, "\"");
    const char *kept = text_of(input, "%s", to);
    free(to);
    return kept;
}

static void name_kernel(struct input *input, const char *name)
{
    const char *cell = quoted(input, name), *device = quoted(input, draw_name(input));
    const char *path =
        draw_percent(&input->chance, 30) ? text_of(input, "%s.csv", name) : "in.csv";
    write_text(input, path,
               text_of(input,
                       "Start (ns),Duration (ns),Bytes (MB),Device,Strm,Name\n5,1000,,%s,7,%s\n"
                       "900,4000,1.0,%s,8,[CUDA memcpy Host-to-Device]\n7000,10,,%s,8,%s\n",
                       device, cell, device, device, cell));
    call_add(&input->call, "view");
    call_add(&input->call, path);
}

/* Folders that the program uses of its own accord. */
static void name_folder(struct input *input, const char *name)
{
    const char *variable = draw_word(input, "TMPDIR PIPELINE_PLOTS HOME PATH");
    mkdir(name, 0700);
    input->call.extra[input->call.extra_count++] = text_of(input, "%s=%s", variable, name);
    run_little(input);
    input_set(input, "timeline", "g.svg");
    input_expect(input, "g.svg");
    input_expect(input, "g.svg.csv"); /* which stays where gnuplot fails */
}

static void make(struct input *input)
{
    static void (*const places[])(struct input *, const char *) = {
        name_section,  name_section, name_config,  name_input,  name_output, name_timeline,
        name_timeline, name_machine, name_machine, name_kernel, name_kernel};
    struct chance *chance = &input->chance;
    const bool folder = draw_percent(chance, 2); /* which draws a picture, and takes long */
    void (*place)(struct input *, const char *) =
        folder ? name_folder : DRAW_OF(chance, places);
    place(input, draw_name(input));
    if (draw_percent(chance, 70))
        input_set(input, "format", draw_word(input, "json csv text"));
    if (input->output_count == 0 && draw_percent(chance, 70)) {
        const char *path = text_of(input, "t.%s", draw_word(input, forms));
        input_set(input, "timeline", path);
        input_expect(input, path);
        input_expect(input, text_of(input, "%s.csv", path));
    }
    if (draw_percent(chance, 30))
        input_set(input, "gantt", "streams");
}

static bool ends_so(const char *text, const char *end)
{
    return strlen(text) > strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void judge(struct input *input, const struct result *result)
{
    const char *path = input->output_count > 0 ? input->outputs[0].path : "";
    struct stat about;
    struct result again;
    if (result->code != 0 || stat(path, &about) != 0 || !ends_so(path, ".csv"))
        return;
    struct call call = {0};
    call_add(&call, "view");
    call_add(&call, text_of(input, "./%s", path));
    call_add(&call, "--format=json");
    run_also(input, &call, &again);
    if (again.code != 0)
        fault(input, "what it writes can't be read: %.300s", again.err);
    result_free(&again);
}

const struct hostile_class hostile_names = {
    .name = "names", .weight = 4, .make = make, .judge = judge};
