/* test_folder.h - a folder of a test's own, which is its working directory, and files in it. */
#ifndef PIPELINE_TESTS_TEST_FOLDER_H
#define PIPELINE_TESTS_TEST_FOLDER_H

#include <stddef.h>

/* For tcase_add_checked_fixture(): makes the folder and goes there; leaves and removes it. */
void test_folder_enter(void);
void test_folder_leave(void);

/* Returns the text of a file, to be freed. */
char *test_file_text(const char *path);

/* Makes a file of `size` bytes, or of a text. */
void test_file_write(const char *path, const void *bytes, size_t size);
void test_file_put(const char *path, const char *text);

/* Sets `text`, which has room for `size` bytes, to the beginning of a file. */
void test_file_read(const char *path, char *text, size_t size);

#endif
