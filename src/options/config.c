/* config.c - config files: INI, [global] first, then one section per run. */
#include "core/ini_text.h"
#include "core/names.h"
#include "options/input_file.h"
#include "options/lesson.h"
#include "options/table.h"

#include <stdlib.h>
#include <string.h>

/* A config file being read. */
struct config {
    const char *path;
    struct ini_text ini;
    enum value_source source; /* of the keys that come now; SOURCE_DEFAULT before any section */
    int global_line;          /* of [global]; 0: none yet */
    int first_run;            /* of this file, in `drafts` */
    struct draft global;      /* what each section starts from */
    struct drafts *drafts;
    struct arena *storage;
    struct error *error;
};

/* Refuses the line that was read last: "ways.ini:7: COMPLAINT". */
__attribute__((format(printf, 2, 3))) static enum status config_refuse(struct config *config,
                                                                       const char *format, ...)
{
    char place[OPTION_PLACE_MAX], complaint[LABEL_MAX];
    struct origin here = {SOURCE_SECTION, config->path, config->ini.line};
    PRINT_REST(complaint, sizeof complaint, format);
    return error_set(config->error, STATUS_USAGE, "%s: %s", origin_place(&here, place),
                     complaint);
}

/* Writes the line that was read last as errors show it. */
static const char *line_shown(const struct config *config, char shown[SHOWN_MAX])
{
    char line[INI_LINE_MAX + 1];
    const char *begin = config->ini.begin + strspn(config->ini.begin, " \t");
    snprintf(line, sizeof line, "%.*s", (int)strcspn(begin, "\r\n"), begin);
    return text_shown(line, shown);
}

/* Keys of [global] hold for the whole file, so it must stand first. */
static enum status begin_global(struct config *config)
{
    if (config->global_line != 0)
        return config_refuse(config,
                             "[global] is already in line %d: allowed is one, at the beginning",
                             config->global_line);
    if (config->drafts->count > config->first_run)
        return config_refuse(config,
                             "[global] stands behind a run: allowed is one, at the beginning");
    config->global_line = config->ini.line;
    config->source = SOURCE_GLOBAL;
    return STATUS_OK;
}

static enum status begin_section(struct config *config)
{
    char shown[SHOWN_MAX];
    if (config->ini.followed)
        return config_refuse(config, "'%s' is no section: must be [NAME]",
                             line_shown(config, shown));
    if (strcmp(config->ini.section, "global") == 0)
        return begin_global(config);
    config->source = SOURCE_SECTION;
    struct origin here = {SOURCE_SECTION, config->path, config->ini.line};
    return drafts_add(config->drafts, &config->global, config->ini.section, &here,
                      config->error);
}

static enum status refuse_key(struct config *config, const struct option_row *row)
{
    char shown[SHOWN_MAX];
    if (row != NULL)
        return config_refuse(config, "'%s': --%s is allowed on the command line only",
                             line_shown(config, shown), row->name);
    const char *nearest = option_nearest(config->ini.key, true);
    text_shown(config->ini.key, shown);
    if (nearest != NULL)
        return config_refuse(config, "unknown key '%s': did you mean %s?", shown, nearest);
    return config_refuse(config, "unknown key '%s': see `pipeline help all`", shown);
}

/* Sets one key of the section that is being read. */
static enum status set_key(struct config *config)
{
    char shown[SHOWN_MAX];
    const struct option_row *row = option_find(config->ini.key);
    if (config->source == SOURCE_DEFAULT)
        return config_refuse(
            config, "'%s' stands before any section: allowed is under [global] or [NAME]",
            line_shown(config, shown));
    if (row == NULL || row->scope != SCOPE_RUN)
        return refuse_key(config, row);
    struct draft *draft = config->source == SOURCE_GLOBAL
                              ? &config->global
                              : &config->drafts->items[config->drafts->count - 1];
    const struct origin *before = &draft->origins[row - option_rows];
    if (before->source == config->source)
        return config_refuse(config,
                             "'%s': %s is already in line %d: allowed is once per section",
                             line_shown(config, shown), row->name, before->line);
    const char *kept = arena_text(config->storage, config->ini.value);
    if (kept == NULL)
        return error_set(config->error, STATUS_NO_MEMORY, "out of memory");
    struct assignment given = {row, kept, {config->source, config->path, config->ini.line}};
    return draft_set(draft, &given, config->error);
}

/* Makes one run, called as the file is, of a file that has nothing but [global]. */
static enum status add_only_run(struct config *config)
{
    char name[256], shown[SHOWN_MAX];
    if (config->global_line == 0)
        return error_set(
            config->error, STATUS_USAGE,
            "%s holds no section: allowed are [global] and one [NAME] for each run",
            text_shown(config->path, shown));
    const char *slash = strrchr(config->path, '/');
    snprintf(name, sizeof name, "%s", slash == NULL ? config->path : slash + 1);
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".ini") == 0)
        name[length - 4] = '\0';
    struct origin here = {SOURCE_GLOBAL, config->path, config->global_line};
    return drafts_add(config->drafts, &config->global, name, &here, config->error);
}

static enum status read_lines(struct config *config)
{
    char shown[SHOWN_MAX];
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        switch (ini_text_next(&config->ini)) {
        case INI_END:
            return config->drafts->count > config->first_run ? STATUS_OK : add_only_run(config);
        case INI_SECTION:
            status = begin_section(config);
            break;
        case INI_KEY:
            status = set_key(config);
            break;
        case INI_TOO_LONG:
            return config_refuse(config, "line '%s' is too long: at most %d bytes",
                                 line_shown(config, shown), INI_LINE_MAX);
        case INI_NEITHER:
            line_shown(config, shown);
            return shown[0] == '['
                       ? config_refuse(config, "'%s' is no section: must be [NAME]", shown)
                       : config_refuse(config,
                                       "'%s' has no value: allowed are [NAME], KEY=VALUE and "
                                       "; COMMENT",
                                       shown);
        }
    }
    return status;
}

/* Refuses a text that ended in a NUL byte. */
static enum status refuse_nul(struct config *config, const char *text)
{
    char shown[SHOWN_MAX];
    config->ini.line = 1;
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
        config->ini.line++;
    return config_refuse(config, "NUL byte behind '%s': allowed is text",
                         text_shown(text, shown));
}

enum status config_read(const char *path, const char *text, const struct draft *defaults,
                        struct drafts *drafts, struct arena *storage, struct error *error)
{
    char *content = NULL, why[INPUT_WHY], shown[SHOWN_MAX];
    size_t length = 0;
    enum status status = STATUS_OK;
    if (text == NULL) {
        status = input_text(path, &content, &length, why);
        text = content;
    }
    if (status != STATUS_OK)
        error_set(error, status, "%s cannot be read: %s", text_shown(path, shown), why);
    if (status == STATUS_OK) {
        struct config config = {
            .path = path,
            .global = *defaults,
            .first_run = drafts->count,
            .drafts = drafts,
            .storage = storage,
            .error = error,
        };
        ini_text_begin(&config.ini, text);
        drafts->message = drafts->count == 0 ? lesson_message(text, storage) : NULL;
        status = content != NULL && strlen(text) < length ? refuse_nul(&config, text)
                                                          : read_lines(&config);
    }
    free(content);
    return status;
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
