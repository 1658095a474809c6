/* test_folder.h - a folder of a test's own, which is its working directory. */
#ifndef PIPELINE_TESTS_TEST_FOLDER_H
#define PIPELINE_TESTS_TEST_FOLDER_H

/* For tcase_add_checked_fixture(): makes the folder and goes there; leaves and removes it. */
void test_folder_enter(void);
void test_folder_leave(void);

/* Returns the text of a file, to be freed. */
char *test_file_text(const char *path);

#endif
