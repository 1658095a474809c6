/* test_folder.c - made under /tmp, removed with all that is in it. */
#include "test_folder.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

void test_folder_enter(void)
{
    snprintf(folder, sizeof folder, "/tmp/pipeline-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    setenv("OMP_NUM_THREADS", "2", 1);
}

void test_folder_leave(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(system(command), 0);
}

char *test_file_text(const char *path)
{
    char *text = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "no %s", path);
    if (getdelim(&text, &room, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(file);
    return text;
}

void test_file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_msg(file != NULL, "no %s", path);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

void test_file_put(const char *path, const char *text)
{
    test_file_write(path, text, strlen(text));
}

void test_file_read(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "no %s", path);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}
