/* ini_text.c - the lines of an INI text. */
#include "core/ini_text.h"

#include <stddef.h>
#include <string.h>

static const char blanks[] = " \t\r\v\f";

static bool is_blank(char byte)
{
    return byte != '\0' && strchr(blanks, byte) != NULL;
}

/* Cuts blanks off the end of `text` and returns where its first other character is. */
static char *trimmed(char *text)
{
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

/* Ends `text` where a comment begins in it. */
static void cut_comment(char *text)
{
    for (char *mark = strchr(text, ';'); mark != NULL; mark = strchr(mark + 1, ';')) {
        if (mark > text && is_blank(mark[-1])) {
            *mark = '\0';
            return;
        }
    }
}

/* Copies the next line into `words`. Returns false where it is too long for them. */
static bool take_line(struct ini_text *ini)
{
    size_t length = strcspn(ini->next, "\n");
    bool fits = length <= INI_LINE_MAX;
    size_t kept = fits ? length : 0;
    memcpy(ini->words, ini->next, kept);
    ini->words[kept] = '\0';
    ini->begin = ini->next;
    ini->next += length + (ini->next[length] == '\n');
    ini->line++;
    return fits;
}

static enum ini_part take_section(struct ini_text *ini, char *line)
{
    char *end = strchr(line, ']');
    if (end == NULL)
        return INI_NEITHER;
    const char *behind = trimmed(end + 1);
    ini->followed = *behind != '\0' && *behind != '#';
    *end = '\0';
    strcpy(ini->section, trimmed(line + 1));
    return INI_SECTION;
}

static enum ini_part take_key(struct ini_text *ini, char *line)
{
    char *sign = strpbrk(line, "=:");
    if (sign == NULL)
        return INI_NEITHER;
    *sign = '\0';
    ini->key = trimmed(line);
    ini->value = trimmed(sign + 1);
    return INI_KEY;
}

void ini_text_begin(struct ini_text *ini, const char *text)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors' byte order mark */
    if (strncmp(text, mark, sizeof mark - 1) == 0)
        text += sizeof mark - 1;
    *ini = (struct ini_text){.next = text};
}

enum ini_part ini_text_next(struct ini_text *ini)
{
    while (*ini->next != '\0') {
        if (!take_line(ini))
            return INI_TOO_LONG;
        cut_comment(ini->words);
        char *line = trimmed(ini->words);
        if (*line == '[')
            return take_section(ini, line);
        if (*line != '\0' && *line != ';' && *line != '#')
            return take_key(ini, line);
    }
    return INI_END;
}
