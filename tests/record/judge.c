/* judge.c - judges a recording by docs/recording.md, and prints its lines behind the header in
 * a form that can be compared: "*" for each time, a kernel's name for its number.
 *
 *     judge FILE [cut]      cut: the last line may lack its end */
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kind of line, and what its elements are: i a whole number, I one or null, t a time, T one
 * or null, s a text, n a kernel's name, w words or null, f a file and a place in it, any number
 * of times; h a copy's hash, or nothing; of ? on, the rest is left as it is. */
static const struct {
    const char *kind, *elements;
} kinds[] = {
    {"device", "isIIIIIIII"},
    {"context", "ii"},
    {"stream", "iiisi"},
    {"memory", "stiiI"},
    {"free", "ti"},
    {"name", "is"},
    {"call", "isitti"},
    {"from", "is"},
    {"event", "tii"},
    {"peer", "tii"},
    {"threshold", "tii"},
    {"migration", "sttiisi"},
    {"copy", "iiiiiih"},
    {"copy2d", "iiiiiiiiih"},
    {"set", "iiiii"},
    {"launch", "iiiw"},
    {"record", "iiii"},
    {"wait", "iiii"},
    {"sync", "isiI"},
    {"function", "iiiTT"},
    {"graph", "iiii"},
    {"node", "iis?"},
    {"edge", "iii"},
    {"op", "isiittissi"},
    {"kernel", "iiittniiiii"},
    {"range", "itts"},
    {"frames", "if"},
    {"cost", "siii"},
    {"added", "siii"},
    {"lost", "is"},
    {"note", "s"},
    {"end", "ts"},
};

static long line_number;

__attribute__((noreturn, format(printf, 2, 3))) static void refuse(const json_t *line,
                                                                   const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "judge: line %ld: ", line_number);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    char *text = line != NULL ? json_dumps(line, JSON_COMPACT) : NULL;
    fprintf(stderr, ": %.300s\n", text != NULL ? text : "");
    exit(1);
}

static bool is_words(const json_t *words)
{
    size_t i;
    const json_t *word;
    if (json_is_null(words))
        return true;
    json_array_foreach(words, i, word)
    {
        if (!json_is_integer(word))
            return false;
    }
    return json_is_array(words);
}

static bool fits(char what, const json_t *element)
{
    switch (what) {
    case 'i':
    case 't':
    case 'n':
        return json_is_integer(element);
    case 'I':
    case 'T':
        return json_is_integer(element) || json_is_null(element);
    case 'w':
        return is_words(element);
    default:
        return json_is_string(element);
    }
}

/* Replaces the frames by one word; there must be some, each a file and a place. */
static void fold_frames(json_t *line)
{
    if (json_array_size(line) < 4 || json_array_size(line) % 2 != 0)
        refuse(line, "frames are pairs");
    for (size_t i = 2; i < json_array_size(line); i += 2) {
        if (!json_is_string(json_array_get(line, i)) ||
            !json_is_integer(json_array_get(line, i + 1)))
            refuse(line, "a frame is a file and a place");
    }
    while (json_array_size(line) > 2)
        json_array_remove(line, 2);
    json_array_append_new(line, json_string("*"));
}

/* Replaces a hash by how many others came before it: what it is is nobody's business. */
static void fold_hash(json_t *line, size_t place)
{
    static json_t *known;
    char key[32];
    const json_t *hash = json_array_get(line, place);
    if (hash == NULL)
        return;
    if (!json_is_integer(hash) || json_integer_value(hash) <= 0)
        refuse(line, "a hash is a number above 0");
    if (known == NULL)
        known = json_object();
    snprintf(key, sizeof key, "%lld", (long long)json_integer_value(hash));
    if (json_object_get(known, key) == NULL)
        json_object_set_new(known, key, json_integer((json_int_t)json_object_size(known)));
    json_array_set(line, place, json_object_get(known, key));
}

/* Checks the line, puts what is compared into its elements, and returns its kind. */
static const char *fold(json_t *line, json_t *names)
{
    const char *kind = json_string_value(json_array_get(line, 0)), *elements = NULL;
    json_int_t earlier = 0;
    for (size_t k = 0; kind != NULL && k < sizeof kinds / sizeof kinds[0]; k++) {
        if (strcmp(kind, kinds[k].kind) == 0)
            elements = kinds[k].elements;
    }
    if (elements == NULL)
        refuse(line, "there is no such kind of line");
    if (strchr(elements, 'f') != NULL) {
        fold_frames(line);
        return kind;
    }
    /* What the recorder took before a call that makes something is nobody's business. */
    if (strcmp(kind, "call") == 0 && json_is_integer(json_array_get(line, 7)))
        json_array_remove(line, 7);
    const size_t length = strcspn(elements, "h?");
    for (size_t i = 0; i < length; i++) {
        json_t *element = json_array_get(line, i + 1);
        if (element == NULL || !fits(elements[i], element))
            refuse(line, "element %zu is of another kind", i + 1);
        if (elements[i] == 't' || (elements[i] == 'T' && json_is_integer(element))) {
            if (json_integer_value(element) < earlier)
                refuse(line, "it ends before it starts");
            earlier = json_integer_value(element);
            json_array_set_new(line, i + 1, json_string("*"));
        }
        if (elements[i] == 'n') {
            char key[32];
            snprintf(key, sizeof key, "%lld", (long long)json_integer_value(element));
            json_t *name = json_object_get(names, key);
            if (name == NULL)
                refuse(line, "no such name");
            json_array_set(line, i + 1, name);
        }
    }
    if (elements[length] == 'h')
        fold_hash(line, length + 1);
    const bool hashed = elements[length] == 'h' && json_array_size(line) == length + 2;
    if (elements[length] != '?' && !hashed && json_array_size(line) != length + 1)
        refuse(line, "it has more elements than it should");
    return kind;
}

static void learn_name(const json_t *line, json_t *names)
{
    char key[32];
    snprintf(key, sizeof key, "%lld", (long long)json_integer_value(json_array_get(line, 1)));
    if (json_object_get(names, key) != NULL)
        refuse(line, "a name twice");
    json_object_set(names, key, json_array_get(line, 2));
}

static void check_header(const json_t *header)
{
    static const char *const keys[] = {"version",     "program", "pid",   "parent",
                                       "begin_ns",    "driver",  "cupti", "launch_blocking",
                                       "connections", "lazy"};
    if (json_integer_value(json_object_get(header, "pipeline_recording")) != 1)
        refuse(header, "this is no header");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (json_object_get(header, keys[i]) == NULL)
            refuse(header, "the header has no %s", keys[i]);
    }
}

/* Reads the lines into a list; `cut` allows the last one to be half. */
static json_t *read_lines(FILE *file, bool cut)
{
    json_t *lines = json_array();
    char *text = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&text, &room, file)) > 0;) {
        json_error_t error;
        line_number++;
        if (text[length - 1] != '\n' && cut)
            break;
        if (text[length - 1] != '\n')
            refuse(NULL, "the last line is cut");
        json_t *line = json_loadb(text, (size_t)length, 0, &error);
        if (line == NULL)
            refuse(NULL, "no JSON: %s: %.200s", error.text, text);
        json_array_append_new(lines, line);
    }
    free(text);
    return lines;
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (file == NULL)
        refuse(NULL, "cannot read the recording");
    json_t *lines = read_lines(file, argc > 2 && strcmp(argv[2], "cut") == 0);
    json_t *names = json_object(), *line;
    size_t i;
    line_number = 1;
    check_header(json_array_get(lines, 0));
    json_array_foreach(lines, i, line)
    {
        const char *kind = json_string_value(json_array_get(line, 0));
        line_number = (long)i + 1;
        if (kind != NULL && strcmp(kind, "name") == 0)
            learn_name(line, names);
        if (kind != NULL && strcmp(kind, "end") == 0 && i + 1 < json_array_size(lines))
            refuse(line, "the end is not at the end");
    }
    json_array_foreach(lines, i, line)
    {
        line_number = (long)i + 1;
        if (i == 0)
            continue;
        const char *kind = fold(line, names);
        if (strcmp(kind, "name") == 0 || strcmp(kind, "cost") == 0 ||
            strcmp(kind, "added") == 0)
            continue;
        json_dumpf(line, stdout, JSON_COMPACT);
        putchar('\n');
    }
    fclose(file);
    return 0;
}
