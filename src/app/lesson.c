/* lesson.c - reads what a lesson's file says of itself, and finds the files. */
#include "app/lesson.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Copies the rest of the line at `from`. False where that is nothing, or too long. */
static bool line_copy(const char *from, char copy[LESSON_TEXT])
{
    size_t length = strcspn(from, "\n");
    if (length == 0 || length >= LESSON_TEXT)
        return false;
    memcpy(copy, from, length);
    copy[length] = '\0';
    return true;
}

/* What stands behind `key` where a comment of the head begins with it; NULL: none does. */
static const char *head_find(const char *text, const char *key)
{
    const char *line = text;
    while (line != NULL && line[0] == ';') {
        if (strncmp(line, "; ", 2) == 0 && strncmp(line + 2, key, strlen(key)) == 0)
            return line + 2 + strlen(key);
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return NULL;
}

enum status lesson_read(struct lesson *lesson, const char *name, const char *text,
                        struct error *error)
{
    char first[LESSON_TEXT];
    struct lesson read = {0};
    int length = snprintf(first, sizeof first, "%s.ini - ", name);
    const char *title = head_find(text, first), *question = head_find(text, "Question: ");
    const char *code = head_find(text, "Exit: ");
    if (length < 0 || (size_t)length >= sizeof first || title == NULL ||
        title != text + 2 + length || !line_copy(title, read.title))
        return error_set(error, STATUS_FAILED,
                         "lesson %s: its first line should be '; %s.ini - TITLE'", name, name);
    if (question == NULL || !line_copy(question, read.question))
        return error_set(error, STATUS_FAILED,
                         "lesson %s: its head has no line '; Question: ...'", name);
    if (code != NULL && strncmp(code, "1\n", 2) != 0)
        return error_set(error, STATUS_FAILED,
                         "lesson %s: '; Exit:' is of results that are wrong: allowed is 1",
                         name);
    read.exit_code = code != NULL;
    *lesson = read;
    return STATUS_OK;
}

static bool folder_has(const char *folder, const char *file)
{
    char path[LESSON_PATH + LESSON_TEXT];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0;
}

const char *lesson_folder(const char *file, char path[LESSON_PATH])
{
    static const char here[] = "configs/lessons";
    static const char installed[] = "/../share/pipeline/configs/lessons";
    strcpy(path, here);
    if (folder_has(path, file))
        return path;
    ssize_t length = readlink("/proc/self/exe", path, LESSON_PATH - sizeof installed);
    if (length <= 0)
        return NULL;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return NULL;
    /* PREFIX/bin/pipeline: without the detour where that is what it is. */
    *slash = '\0';
    slash = strrchr(path, '/');
    bool in_bin = slash != NULL && strcmp(slash, "/bin") == 0;
    strcpy(in_bin ? slash : strchr(path, '\0'), in_bin ? installed + 3 : installed);
    return folder_has(path, file) ? path : NULL;
}
