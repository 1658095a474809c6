/* test_emit.c - see test_emit.h. */
#include "test_emit.h"

#include "emit/emit.h"
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "test_emit_back.h"
#include "test_folder.h"
#include "test_program.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SETTINGS_FILE TESTS_FOLDER "/emit/settings.txt"
#define LIBRARIES     BUILD_FOLDER "/tests/emit/"
#define HEADER        TESTS_FOLDER "/../kernels/own_kernel.h"
#define COMPILE       EMIT_COMPILE " -I. -I " LIBRARIES " -I " TESTS_FOLDER "/emit "
#define RUNTIME       "cuda_runtime.h"

enum { LINES_MAX = 1 << 16, CALL_TEXT = 48 };

char emit_settings[SETTINGS_MAX][OPTIONS_TEXT];

int emit_read_settings(void)
{
    FILE *file = fopen(SETTINGS_FILE, "r");
    int count = 0;
    while (file != NULL && count < SETTINGS_MAX &&
           fgets(emit_settings[count], OPTIONS_TEXT, file) != NULL) {
        emit_settings[count][strcspn(emit_settings[count], "\n")] = '\0';
        count++;
    }
    if (file != NULL)
        fclose(file);
    return count;
}

/* Returns how many programs share one that is compiled; 0: none is. */
static int programs_share(void)
{
    const char *mode = getenv("PIPELINE_TESTS");
    if (mode != NULL && strcmp(mode, "quick") == 0)
        return 0;
    return mode != NULL && (strcmp(mode, "deep") == 0 || strcmp(mode, "programs") == 0) ? 1 : 4;
}

int emit_some(int all)
{
    const int share = programs_share();
    return share == 0 ? 0 : (all + share - 1) / share;
}

int emit_nth(int i)
{
    return i * programs_share();
}

bool emit_is_there(const char *options)
{
    return strstr(options, "-k dgemm") == NULL || kernel_missing(kernel_find("dgemm")) == NULL;
}

/* Returns how many elements to take for `options`: a multiple of the tiles, but of 30 and 31
 * tiles, which are to be of two sizes. A scan and the reductions of the ladder have several
 * blocks to each tile, so that they have to tell one another; matrices of 100 columns have
 * whole squares, and others that are cut off. */
static int elements_for(const char *options)
{
    enum {
        EACH = 100,
        UNEVEN = 4099,
        LARGE_PARTS = 250,
        SMALL_PARTS = 10,
        BLOCKS = 25,
        ROWS = 150
    };
    const int tiles = atoi(strstr(options, "-t ") + 3);
    const int elements = tiles == 30 || tiles == 31 ? UNEVEN : EACH * tiles;
    if (strstr(options, "--columns=100") != NULL)
        return ROWS * EACH * tiles;
    if (strstr(options, "reduce-") != NULL || strstr(options, "stride-copy") != NULL)
        return BLOCKS * elements;
    if (strstr(options, "-k scan") == NULL)
        return elements;
    return strstr(options, "-k scan ") != NULL || strstr(options, "-exclusive") != NULL ||
                   strcmp(strstr(options, "-k scan"), "-k scan") == 0
               ? LARGE_PARTS * elements
               : SMALL_PARTS * elements;
}

void emit_check_lines(const char *text)
{
    enum { COLUMNS = 100 };
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1) {
        const size_t length = strcspn(at, "\n");
        ck_assert_msg(length <= COLUMNS && (length == 0 || at[length - 1] != ' '), "%.*s",
                      (int)length, at);
    }
}

enum status emit_plan(const struct plan *plan, const struct settings *settings,
                      const char *file)
{
    struct error error = {0};
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    const enum status status = write_program(out, plan, settings, &error);
    fclose(out);
    return status;
}

void emit_write(const char *options)
{
    char common[2 * OPTIONS_TEXT], line[3 * OPTIONS_TEXT];
    const char *intensity = strstr(options, "--intensity") != NULL ? "" : " --intensity=5";
    const char *device = strstr(options, "--device=") != NULL ? "" : "-d sim:h200 ";
    snprintf(common, sizeof common, "-q %s--runs=1 -n %d %s%s", device, elements_for(options),
             options, intensity);
    snprintf(line, sizeof line, "%s --emit=tiles.cu", common);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
    ck_assert_str_eq(program_out, "");
    char *text = test_file_text("tiles.cu");
    emit_check_lines(text);
    free(text);
    snprintf(line, sizeof line, "%s --dry-run --format=json", common);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
}

/* --- the program on the CPU --- */

/* Returns the place of the parenthesis that closes the one at `open`. */
static const char *closing(const char *open)
{
    int depth = 0;
    for (; *open != '\0'; open++) {
        depth += *open == '(' ? 1 : *open == ')' ? -1 : 0;
        if (depth == 0)
            return open;
    }
    ck_abort_msg("a parenthesis is never closed");
    return NULL;
}

/* Writes "name<<<grid, threads, 0, stream>>>(arguments)" as a call of launch(), which gets the
 * addresses among the arguments, too. */
static void write_launches(const char *text, FILE *out)
{
    const char *mark;
    while ((mark = strstr(text, "<<<")) != NULL) {
        const char *name = mark, *grid = mark + 3, *end = strstr(grid, ">>>(");
        ck_assert_ptr_nonnull(end);
        while (isalnum((unsigned char)name[-1]) || name[-1] == '_')
            name--;
        const char *open = end + 3, *close = closing(open);
        fprintf(out, "%.*slaunch(\"%.*s\", tape_arguments%.*s, %.*s, [=] { %.*s%.*s; })",
                (int)(name - text), text, (int)(mark - name), name, (int)(close + 1 - open),
                open, (int)(end - grid), grid, (int)(mark - name), name,
                (int)(close + 1 - open), open);
        text = close + 1;
    }
    fputs(text, out);
}

/* Writes `other` in the place of each `mark`. Returns a new text for the old one. */
static char *replace(char *text, const char *mark, const char *other)
{
    char *whole, *rest = text, *at;
    size_t length;
    FILE *out = open_memstream(&whole, &length);
    while ((at = strstr(rest, mark)) != NULL) {
        fprintf(out, "%.*s%s", (int)(at - rest), rest, other);
        rest = at + strlen(mark);
    }
    fputs(rest, out);
    fclose(out);
    free(text);
    return whole;
}

static void nvcc_takes(const char *file, const char *options)
{
    char line[3 * OPTIONS_TEXT];
    snprintf(line, sizeof line,
             "nvcc -c -o tiles.o -Xcompiler -Wall,-Wextra,-fopenmp %s >err 2>&1", file);
    const int status = system(line);
    char *said = test_file_text("err");
    ck_assert_msg(status == 0 && said[0] == '\0', "%s: %.2000s", options, said);
    free(said);
}

void emit_check_nvcc(const char *options)
{
    emit_write(options);
    nvcc_takes("tiles.cu", options);
}

/* Writes a line of a program that has a namespace of its own to itself: what it includes goes
 * before all of them, as kernel.h does for all, and what it defines ends with it. */
static void join_line(const char *line, FILE *includes, FILE *body, FILE *ends)
{
    static const char include[] = "#include <", define[] = "#define ";
    if (strncmp(line, include, strlen(include)) == 0) {
        fputs(line, includes);
        fputc('\n', body); /* so that lines keep their numbers */
        return;
    }
    if (strncmp(line, define, strlen(define)) == 0) {
        const char *name = line + strlen(define);
        fprintf(ends, "#undef %.*s\n", (int)strcspn(name, " (\n"), name);
    }
    fputs(line, body);
}

void emit_check_nvcc_joined(char (*options)[OPTIONS_TEXT], int count)
{
    char *line = NULL, *first, *then, *last;
    size_t room = 0, lengths[3];
    FILE *includes = open_memstream(&first, &lengths[0]);
    FILE *body = open_memstream(&then, &lengths[1]), *ends;
    for (int i = 0; i < count; i++) {
        emit_write(options[i]);
        FILE *program = fopen("tiles.cu", "r");
        ends = open_memstream(&last, &lengths[2]);
        fprintf(body, "namespace program_%d {\n#line 1 \"%s\"\n", i, options[i]);
        while (getline(&line, &room, program) > 0)
            join_line(line, includes, body, ends);
        fclose(program);
        fclose(ends);
        fprintf(body, "%s}\n", last);
        free(last);
    }
    fclose(includes);
    fclose(body);
    FILE *joined = fopen("joined.cu", "w");
    fprintf(joined, "#include \"own_kernel.h\"\n%s%s", first, then);
    fclose(joined);
    nvcc_takes("joined.cu", "programs beside one another");
    free(line);
    free(first);
    free(then);
}

int emit_run_on_cpu(const char *options)
{
    char *text = test_file_text("tiles.cu");
    /* A tile of the CPU's has several pieces, and each is written down. */
    text = replace(text, "CPU_PIECE = 16384", "CPU_PIECE = 64");
    text = replace(text, "std::min(CPU_PIECE, ", "fake_cpu(tile, from, CPU_PIECE, ");
    if (strstr(options, "--pack") != NULL)
        text = replace(text, " memcpy(", " fake_pack(");
    FILE *out = fopen("tiles.cpp", "w");
    write_launches(text, out);
    fclose(out);
    if (system(COMPILE "-include " RUNTIME " -o tiles tiles.cpp 2>err") != 0) {
        char *why = test_file_text("err");
        ck_abort_msg("%s: %.2000s", options, why);
    }
    free(text);
    const int status = system("./tiles >said 2>&1");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int emit_run_late(const char *options, const char *order)
{
    setenv("FAKE_ORDER", order, 1);
    const int code = emit_run_on_cpu(options);
    unsetenv("FAKE_ORDER");
    return code;
}

int emit_run_edited(const char *options, const char *edit)
{
    char line[2 * OPTIONS_TEXT];
    emit_write(options);
    snprintf(line, sizeof line,
             "cp tiles.cu right.cu && sed -i '%s' tiles.cu && ! cmp -s tiles.cu right.cu",
             edit);
    ck_assert_msg(system(line) == 0, "nothing is edited: %s", edit);
    return emit_run_on_cpu(options);
}

/* --- its calls --- */

static char calls[LINES_MAX][CALL_TEXT];
static int call_count;

static void read_calls(void)
{
    FILE *file = fopen("calls.txt", "r");
    ck_assert_ptr_nonnull(file);
    for (call_count = 0;
         call_count < LINES_MAX && fgets(calls[call_count], CALL_TEXT, file) != NULL;
         call_count++)
        calls[call_count][strcspn(calls[call_count], "\n")] = '\0';
    fclose(file);
}

/* Returns the place behind the `nth` call `name`. */
static int behind(const char *name, int nth)
{
    for (int i = 0; i < call_count; i++) {
        if (strcmp(calls[i], name) == 0 && --nth == 0)
            return i + 1;
    }
    ck_abort_msg("no call %s", name);
    return 0;
}

/* Returns how many devices a plan is for. A look at the clock waits for each. */
static int devices_of(const json_t *plan)
{
    const json_t *streams = json_object_get(plan, "streams");
    const json_t *last = json_array_get(streams, json_array_size(streams) - 1);
    return (int)json_integer_value(json_object_get(last, "device")) + 1;
}

/* Returns the place behind the first wait of the fourth look at the clock. */
static int run_ends(const json_t *plan)
{
    return behind("synchronize", 3 * devices_of(plan) + 1);
}

/* Finds the calls of one run: those between the third and the fourth look at the clock; or
 * those of the capture, without what takes the other streams into it and back. */
static void find_run(const json_t *plan, int *first, int *end)
{
    const size_t streams = json_array_size(json_object_get(plan, "streams"));
    bool graph = false;
    for (int i = 0; i < call_count; i++)
        graph |= strcmp(calls[i], "capture") == 0;
    const int others = (int)streams - 1;
    *first = graph ? behind("capture", 1) : behind("synchronize", 3 * devices_of(plan));
    *end = (graph ? behind("captured", 1) : run_ends(plan)) - 1;
    if (graph && others > 0) {
        *first += 1 + others;
        *end -= 2 * others;
    }
}

/* Returns the number of the plan's legacy default stream, or of none. */
static int legacy_stream(const json_t *plan)
{
    const json_t *streams = json_object_get(plan, "streams"), *stream;
    size_t i;
    json_array_foreach(streams, i, stream)
    {
        if (strcmp(json_string_value(json_object_get(stream, "kind")), "legacy") == 0)
            return (int)i;
    }
    return (int)json_array_size(streams);
}

/* Writes the call that an op of the kind "alloc" is. */
static void expected_alloc(const json_t *op, char text[CALL_TEXT])
{
    const json_t *order = json_object_get(op, "order_of_stream");
    const bool gives =
        strncmp(json_string_value(json_object_get(op, "name")), "give", strlen("give")) == 0;
    const int stream = (int)json_integer_value(order);
    const long long bytes = json_integer_value(json_object_get(op, "bytes"));
    if (order == NULL && gives)
        snprintf(text, CALL_TEXT, "free");
    else if (order == NULL)
        snprintf(text, CALL_TEXT, "alloc %lld", bytes);
    else if (gives)
        snprintf(text, CALL_TEXT, "give %d", stream);
    else
        snprintf(text, CALL_TEXT, "take %d %lld", stream, bytes);
}

/* Returns true if a call is what is expected. A plan rounds the bytes of a slot up. */
static bool call_fits(const char *call, const char *expected, const json_t *op)
{
    enum { ALIGNMENT = 256 };
    const char *name = json_string_value(json_object_get(op, "name"));
    const char *bytes = strrchr(call, ' '), *most = strrchr(expected, ' ');
    if (strncmp(name, "take", strlen("take")) != 0)
        return strcmp(call, expected) == 0;
    const long long less =
        bytes != NULL && most != NULL ? atoll(most) - atoll(bytes) : ALIGNMENT;
    return most - expected == bytes - call &&
           strncmp(call, expected, (size_t)(bytes - call)) == 0 && less >= 0 &&
           less < ALIGNMENT;
}

/* Returns the number of a plan's stream among those that the program makes. The legacy default
 * stream is not made; where each device has one stream, that is made with another for the bare
 * copies. */
static int made_as(const json_t *plan, int number)
{
    const int streams = (int)json_array_size(json_object_get(plan, "streams"));
    const int devices = devices_of(plan);
    if (devices > 1)
        return streams == devices ? 2 * number : number;
    return number > legacy_stream(plan) ? number - 1 : number;
}

/* Writes the call that an op is. `recorded`: per event, the place of its record. */
static void expected_call(const json_t *op, const json_t *plan, int place, int first,
                          int *recorded, char text[CALL_TEXT])
{
    const char *kind = json_string_value(json_object_get(op, "kind"));
    const int number = (int)json_integer_value(json_object_get(op, "stream"));
    const int stream = made_as(plan, number);
    const int event = (int)json_integer_value(json_object_get(op, "event"));
    if (strcmp(kind, "cpu") == 0)
        snprintf(text, CALL_TEXT, "cpu %lld %lld",
                 (long long)json_integer_value(json_object_get(op, "tile")),
                 (long long)json_integer_value(json_object_get(op, "elements")));
    else if (strcmp(kind, "alloc") == 0)
        expected_alloc(op, text);
    else if (number == legacy_stream(plan) && strcmp(kind, "memset") == 0)
        snprintf(text, CALL_TEXT, "memset in the legacy default stream %lld",
                 (long long)json_integer_value(json_object_get(op, "bytes")));
    else if (number == legacy_stream(plan))
        snprintf(text, CALL_TEXT, "%s in the legacy default stream", kind);
    else if (strcmp(kind, "h2d") == 0 || strcmp(kind, "d2h") == 0 ||
             strcmp(kind, "peer") == 0 || strcmp(kind, "memset") == 0)
        snprintf(text, CALL_TEXT, "%s %d %lld", kind, stream,
                 (long long)json_integer_value(json_object_get(op, "bytes")));
    else if (strcmp(kind, "wait") == 0)
        snprintf(text, CALL_TEXT, "wait %d %d", stream, first + recorded[event]);
    else if (strcmp(kind, "event-sync") == 0)
        snprintf(text, CALL_TEXT, "event-sync %d", first + recorded[event]);
    else if (strcmp(kind, "pack") == 0)
        snprintf(text, CALL_TEXT, "pack %lld",
                 (long long)json_integer_value(json_object_get(op, "bytes")));
    else
        snprintf(text, CALL_TEXT, "%s %d", kind, stream);
    if (strcmp(kind, "record") == 0)
        recorded[event] = place;
}

/* Returns how many ops are the CPU's tiles, which come first. */
static int cpu_tiles(const json_t *ops)
{
    size_t count = 0;
    while (strcmp(json_string_value(json_object_get(json_array_get(ops, count), "kind")),
                  "cpu") == 0)
        count++;
    return (int)count;
}

/* Holds the calls against the plan that the latest run of the program printed. */
static void check_calls(const char *options, const char *plan_text)
{
    json_t *root = json_loads(plan_text, 0, NULL), *op;
    ck_assert_ptr_nonnull(root);
    const json_t *plan = json_array_get(json_object_get(root, "plans"), 0);
    const json_t *ops = json_object_get(plan, "ops");
    int *recorded = calloc(json_array_size(ops) + 1, sizeof *recorded), first, end;
    size_t i;
    read_calls();
    find_run(plan, &first, &end);
    const int cpu = cpu_tiles(ops), cpu_first = run_ends(plan) - 1 - cpu;
    end -= end > cpu_first ? cpu : 0; /* they stand at the end of the run, not of a capture */
    ck_assert_msg((size_t)(end - first + cpu) == json_array_size(ops),
                  "%s: %d calls for %zu ops", options, end - first + cpu, json_array_size(ops));
    json_array_foreach(ops, i, op)
    {
        char text[CALL_TEXT];
        const int place = (int)i - cpu;
        const char *call = calls[place < 0 ? cpu_first + (int)i : first + place];
        expected_call(op, plan, place, first, recorded, text);
        ck_assert_msg(call_fits(call, text, op), "%s: op %zu is %s, not %s", options, i, text,
                      call);
    }
    free(recorded);
    json_decref(root);
}

/* Returns false for what a recording shows otherwise: graphs are ops without streams, of
 * batches of copies nobody records the bytes, where there are no copies nothing names places,
 * tiles that lie apart in pageable memory are arrays of their own, and of several devices one
 * is looked at. */
static bool is_recorded(const char *options)
{
    const bool packed = strstr(options, "--pack") != NULL; /* in one piece */
    const bool apart = strstr(options, "--scatter") != NULL && !packed;
    return !(apart && strstr(options, "pageable") != NULL) &&
           strstr(options, "--issue=") == NULL && strstr(options, "--device=") == NULL &&
           strstr(options, "--memory=ma") == NULL /* mapped, managed */ &&
           strstr(options, "--alloc=") == NULL &&
           (packed || strstr(options, "--copy=") == NULL);
}

/* The command in the head makes the same program. */
static void check_command(const char *options)
{
    static const char open[] = "\n// By pipeline ", close[] = " --emit=THIS.cu";
    char *text = test_file_text("tiles.cu");
    const char *from = strstr(text, open), *to = strstr(text, close);
    ck_assert_msg(from != NULL && to != NULL, "%s: the head has no command", options);
    char *command = strndup(from + strlen(open), (size_t)(to - from) - strlen(open));
    for (char *at = command; (at = strstr(at, "\n//    ")) != NULL;)
        memset(at, ' ', strlen("\n//    ")); /* it goes on in the next line */
    const char *const arguments = strstr(command, ": pipeline");
    ck_assert_ptr_nonnull(arguments);
    char line[3 * OPTIONS_TEXT];
    snprintf(line, sizeof line, "-q %s --emit=again.cu", arguments + strlen(": pipeline"));
    ck_assert_msg(program_run(line) == 0, "%s: %s: %s", options, line, program_err);
    char *again = test_file_text("again.cu");
    ck_assert_msg(strcmp(again, text) == 0, "%s: '%s' makes another program", options, line);
    free(again);
    free(command);
    free(text);
}

/* CUDA reads whether launches block at its first call, of which the recording has what was set.
 */
static void check_environment(const char *options)
{
    const bool blocks = strstr(options, "--mistake=launch-blocking") != NULL;
    char *recording = test_file_text("tiles.jsonl");
    ck_assert_msg(strstr(recording, blocks ? "\"launch_blocking\":true"
                                           : "\"launch_blocking\":false") != NULL,
                  "%s: launches %s", options, blocks ? "don't block" : "block");
    free(recording);
}

void emit_check_program(const char *options)
{
    enum { RUNS = 2 };
    char why[DIFFERENCE_TEXT] = "";
    emit_write(options);
    char *plan = test_file_text("out");
    ck_assert_msg(emit_run_on_cpu(options) == 0, "%s: the result is wrong", options);
    check_calls(options, plan);
    check_environment(options);
    if (is_recorded(options))
        ck_assert_msg(emit_gives_back("tiles.jsonl", RUNS, why), "%s: %s", options, why);
    free(plan);
    check_command(options);
}

/* --- kernels of users' own --- */

void emit_libraries(void)
{
    ck_assert_int_eq(system("cp -- " LIBRARIES "*.so " HEADER " ."), 0);
}
