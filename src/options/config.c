/* config.c - config files: INI, [global] first, then one section per run. */
#include "core/nearest.h"
#include "options/table.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A config file being read. inih (as it is packaged) tells its handler no line numbers, cuts
 * long lines in two and leaves out sections without keys; so it gets its lines from here, where
 * lines are counted and measured and section headers noted. */
struct config {
    FILE *file;
    const char *path;
    int line;
    enum source source;    /* of the keys that come now; SOURCE_DEFAULT before any section */
    char shown[SHOWN_MAX]; /* the line itself, for errors */
    bool owes_key;         /* inih has the line, and should find a key and a value in it */
    int global_line;       /* of [global]; 0: none yet */
    int first_run;         /* of this file, in `drafts` */
    struct draft global;   /* what each section starts from */
    struct drafts *drafts;
    struct kept_text **storage;
    struct error *error;
    enum status status; /* once it isn't STATUS_OK, no more lines are read */
};

static struct origin config_origin(const struct config *config)
{
    return (struct origin){config->source, config->path, config->line};
}

/* Refuses the line that is being read: "ways.ini:7: COMPLAINT". */
__attribute__((format(printf, 2, 3))) static void config_refuse(struct config *config,
                                                                const char *format, ...)
{
    char place[OPTION_PLACE_MAX], complaint[LABEL_MAX];
    struct origin here = {SOURCE_SECTION, config->path, config->line};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(complaint, sizeof complaint, format, arguments);
    va_end(arguments);
    config->status =
        error_set(config->error, STATUS_USAGE, "%s: %s", origin_place(&here, place), complaint);
}

static void config_fail_memory(struct config *config)
{
    config->status = error_set(config->error, STATUS_FAILED, "out of memory");
}

/* Keys of [global] hold for the whole file, so it must stand first. */
static void config_begin_global(struct config *config)
{
    if (config->global_line != 0) {
        config_refuse(config,
                      "[global] is already in line %d: allowed is one, at the beginning",
                      config->global_line);
    } else if (config->drafts->count > config->first_run) {
        config_refuse(config, "[global] stands behind a run: allowed is one, at the beginning");
    } else {
        config->global_line = config->line;
        config->source = SOURCE_GLOBAL;
    }
}

/* Takes "[name]", behind which blanks and a comment may stand. */
static void config_begin_section(struct config *config, const char *line)
{
    const char *end = strchr(line, ']');
    const char *behind = end == NULL ? NULL : end + 1 + strspn(end + 1, " \t\r");
    if (behind == NULL || (*behind != '\0' && *behind != ';' && *behind != '#')) {
        config_refuse(config, "'%s' is no section: allowed is [NAME]", config->shown);
        return;
    }
    const char *start = line + 1 + strspn(line + 1, " \t");
    while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    char *name = strndup(start, end > start ? (size_t)(end - start) : 0);
    if (name == NULL) {
        config_fail_memory(config);
        return;
    }
    if (strcmp(name, "global") == 0) {
        config_begin_global(config);
    } else {
        config->source = SOURCE_SECTION;
        struct origin here = config_origin(config);
        config->status =
            drafts_add(config->drafts, &config->global, name, &here, config->error);
    }
    free(name);
}

/* Reads one line into `line`, without its end. Returns false at the file's end and on an error.
 */
static bool config_get_line(struct config *config, char *line, int size)
{
    int length = 0, c;
    errno = 0;
    while ((c = getc(config->file)) != EOF && c != '\n' && c != '\0' && length < size - 1)
        line[length++] = (char)c;
    line[length] = '\0';
    if (c == EOF && ferror(config->file)) {
        char shown[SHOWN_MAX];
        config->status = error_set(config->error, STATUS_USAGE, "%s cannot be read: %s",
                                   text_shown(config->path, shown), strerror(errno));
        return false;
    }
    if (c == EOF && length == 0)
        return false;
    config->line++;
    if (c == EOF || c == '\n')
        return true;
    text_shown(line, config->shown);
    if (c == '\0')
        config_refuse(config, "NUL byte behind '%s': allowed is text", config->shown);
    else
        config_refuse(config, "line '%s' is too long: allowed are %d bytes", config->shown,
                      size - 1);
    return false;
}

/* Takes the blanks off the line's beginning, so that inih doesn't take it for a continuation of
 * the line before, and off the first line a byte order mark. */
static void line_unindent(char *line, bool first)
{
    static const char mark[] = "\xef\xbb\xbf";
    char *start = line;
    if (first && strncmp(start, mark, sizeof mark - 1) == 0)
        start += sizeof mark - 1;
    while (isspace((unsigned char)*start))
        start++;
    memmove(line, start, strlen(start) + 1);
}

/* Reads a line for inih, which calls it like fgets(). */
static char *config_next_line(char *line, int size, void *stream)
{
    struct config *config = stream;
    if (config->owes_key)
        config_refuse(config, "'%s' has no value: allowed are [NAME], KEY=VALUE and ; COMMENT",
                      config->shown);
    if (config->status != STATUS_OK || !config_get_line(config, line, size))
        return NULL;
    line_unindent(line, config->line == 1);
    text_shown(line, config->shown);
    if (line[0] == '[')
        config_begin_section(config, line);
    else
        config->owes_key = line[0] != '\0' && line[0] != ';' && line[0] != '#';
    return config->status == STATUS_OK ? line : NULL;
}

static const struct option_row *config_find_key(struct config *config, const char *key)
{
    const struct option_row *row = option_find(key);
    if (row != NULL && row->scope == SCOPE_RUN)
        return row;
    char shown[SHOWN_MAX];
    text_shown(key, shown);
    const char *nearest = option_nearest(key, true);
    if (row != NULL)
        config_refuse(config, "'%s': --%s is allowed on the command line only", config->shown,
                      row->name);
    else if (nearest != NULL)
        config_refuse(config, "unknown key '%s': did you mean %s?", shown, nearest);
    else
        config_refuse(config, "unknown key '%s': allowed are those of `pipeline --help`",
                      shown);
    return NULL;
}

static struct draft *config_draft(struct config *config)
{
    if (config->source == SOURCE_GLOBAL)
        return &config->global;
    return &config->drafts->items[config->drafts->count - 1];
}

/* Sets one key of the section that is being read. */
static void config_set(struct config *config, const char *key, const char *value)
{
    const struct option_row *row = config_find_key(config, key);
    if (row == NULL)
        return;
    struct draft *draft = config_draft(config);
    const struct origin *before = &draft->origins[row - option_rows];
    if (before->source == config->source) {
        config_refuse(config, "'%s': %s is already in line %d: allowed is once per section",
                      config->shown, row->name, before->line);
        return;
    }
    const char *kept = kept_texts_add(config->storage, value);
    if (kept == NULL) {
        config_fail_memory(config);
        return;
    }
    struct assignment given = {row, kept, config_origin(config)};
    config->status = draft_set(draft, &given, config->error);
}

/* Takes a key from inih, whose name for the section may be cut and is ignored. */
static int config_take_key(void *user, const char *section, const char *key, const char *value)
{
    (void)section;
    struct config *config = user;
    config->owes_key = false;
    if (config->source == SOURCE_DEFAULT)
        config_refuse(config,
                      "'%s' stands before any section: allowed is under [global] or [NAME]",
                      config->shown);
    else
        config_set(config, key, value);
    return config->status == STATUS_OK;
}

/* Makes one run, called as the file is, of a file that has nothing but [global]. */
static void config_add_only_run(struct config *config)
{
    if (config->global_line == 0) {
        char shown[SHOWN_MAX];
        config->status =
            error_set(config->error, STATUS_USAGE,
                      "%s holds no section: allowed are [global] and one [NAME] for each run",
                      text_shown(config->path, shown));
        return;
    }
    const char *slash = strrchr(config->path, '/');
    const char *base = slash == NULL ? config->path : slash + 1;
    size_t length = strlen(base);
    if (length > 4 && strcmp(base + length - 4, ".ini") == 0)
        length -= 4;
    char *name = strndup(base, length);
    if (name == NULL) {
        config_fail_memory(config);
        return;
    }
    struct origin here = {SOURCE_GLOBAL, config->path, config->global_line};
    config->status = drafts_add(config->drafts, &config->global, name, &here, config->error);
    free(name);
}

enum status config_read(const char *path, const char *text, const struct draft *defaults,
                        struct drafts *drafts, struct kept_text **storage, struct error *error)
{
    FILE *file = text != NULL ? fmemopen((char *)text, strlen(text), "r") : fopen(path, "r");
    if (file == NULL) {
        char shown[SHOWN_MAX];
        return error_set(error, STATUS_USAGE, "%s cannot be read: %s", text_shown(path, shown),
                         strerror(errno));
    }
    struct config config = {
        .file = file,
        .path = path,
        .global = *defaults,
        .first_run = drafts->count,
        .drafts = drafts,
        .storage = storage,
        .error = error,
    };
    int result = ini_parse_stream(config_next_line, &config, config_take_key, &config);
    fclose(file);
    if (config.status == STATUS_OK && result < 0)
        config.status = error_set(error, STATUS_FAILED, "out of memory");
    if (config.status == STATUS_OK && result > 0) {
        config.line = result;
        config_refuse(&config, "not understood: allowed are [NAME], KEY=VALUE and ; COMMENT");
    }
    if (config.status == STATUS_OK && drafts->count == config.first_run)
        config_add_only_run(&config);
    return config.status;
}

/* --- configs that are part of the program --- */

const struct embedded *config_find_embedded(const char *path)
{
    static const char *const folders[] = {"configs/lessons/", "configs/history/", "configs/"};
    static const struct embedded *const lists[] = {lesson_texts, config_texts};
    const char *name = path;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && name == path; i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            name = path + strlen(folders[i]);
    }
    const char *dot = strrchr(name, '.');
    if (dot == NULL || strcmp(dot, ".ini") != 0)
        return NULL;
    size_t length = (size_t)(dot - name);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const struct embedded *text = lists[i]; text->name != NULL; text++) {
            if (strncmp(text->name, name, length) == 0 && text->name[length] == '\0')
                return text;
        }
    }
    return NULL;
}

/* A lesson's name without its number: "serial" of "01-serial". */
static const char *lesson_word(const struct embedded *lesson)
{
    return lesson->name + strcspn(lesson->name, "-") + 1;
}

const struct embedded *lesson_find(const char *word)
{
    bool is_number = word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        if (strcmp(word, text->name) == 0 || strcmp(word, lesson_word(text)) == 0 ||
            (is_number && strtoul(word, NULL, 10) == strtoul(text->name, NULL, 10)))
            return text;
    }
    return NULL;
}

const char *lesson_nearest(const char *word)
{
    struct nearest nearest = nearest_begin(word);
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++)
        nearest_offer(&nearest, lesson_word(text));
    return nearest.best;
}
