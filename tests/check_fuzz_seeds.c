/* check_fuzz_seeds.c - what fuzzing starts from, and whatever it found, through the same
 * checks.
 *
 * A promise that is broken aborts, and says which. */
#include "core/embedded.h"
#include "fixtures.h"
#include "fuzz/fuzz.h"
#include "suites.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TESTS_FOLDER
#define TESTS_FOLDER "tests" /* from the repository's root */
#endif

enum { SEED_MAX = 1 << 16, PATH_TEXT = 512 };

/* A reader and a folder of files that it is given, some of which it accepts and some not. */
static const struct {
    const char *folder;
    bool (*read)(const uint8_t *data, size_t size);
    int accepted, refused; /* at least so many */
} folders[] = {
    {"fuzz/seeds/config", fuzz_config, 3, 1},
    {"../configs", fuzz_config, 1, 0},
    {"../configs/history", fuzz_config, 4, 0},
    {"../configs/lessons", fuzz_config, 2, 0},
    {"../configs/machines", fuzz_config, 0, 11},
    {"fuzz/seeds/machine", fuzz_machine, 0, 2},
    {"../configs/machines", fuzz_machine, 11, 0},
    {"../configs/history", fuzz_machine, 0, 4},
    {"fuzz/seeds/npy", fuzz_npy, 4, 1},
    {"data", fuzz_npy, 8, 7},
    {"fuzz/seeds/recording", fuzz_recording, 4, 1},
    {"recordings", fuzz_recording, 2, 1},
    {"fuzz/seeds/rewrite", fuzz_rewrite, 1, 2},
    {"fuzz/seeds/trace", fuzz_trace, 2, 0},
    {"data/traces", fuzz_trace, 3, 1},
    {"expected", fuzz_trace, 0, 3},
};
enum { FOLDERS = sizeof folders / sizeof folders[0] };

/* In a malloc'd block of just its size, so that a byte read beyond it shows. */
static uint8_t *seed_read(const char *path, size_t *size)
{
    uint8_t *room = malloc(SEED_MAX);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL && room != NULL, "%s can't be read", path);
    *size = fread(room, 1, SEED_MAX, file);
    ck_assert_msg(*size < SEED_MAX, "%s is too large for a seed", path);
    fclose(file);
    uint8_t *seed = realloc(room, *size > 0 ? *size : 1);
    ck_assert_ptr_nonnull(seed);
    return seed;
}

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && entry->d_type != DT_DIR;
}

START_TEST(every_seed_is_right_or_refused)
{
    char folder[PATH_TEXT / 2], path[PATH_TEXT];
    struct dirent **entries;
    int accepted = 0, refused = 0;
    snprintf(folder, sizeof folder, "%s/%s", TESTS_FOLDER, folders[_i].folder);
    int count = scandir(folder, &entries, is_file, alphasort);
    ck_assert_msg(count >= 0, "%s can't be read", folder);
    for (int i = 0; i < count; i++) {
        size_t size;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        uint8_t *seed = seed_read(path, &size);
        *(folders[_i].read(seed, size) ? &accepted : &refused) += 1;
        free(seed);
        free(entries[i]);
    }
    free(entries);
    ck_assert_msg(accepted >= folders[_i].accepted, "%s: %d accepted", folder, accepted);
    ck_assert_msg(refused >= folders[_i].refused, "%s: %d refused", folder, refused);
}
END_TEST

/* Every figure of a machine replaced by each of those that are odd: a machine is refused, or
 * limit and simulator can work with it. */
START_TEST(odd_figures_are_refused_or_simulated)
{
    const struct embedded *machine = &machine_texts[0];
    while (machine->name != NULL && strcmp(machine->name, "h200") != 0)
        machine++;
    ck_assert_ptr_nonnull(machine->name);
    const size_t length = strlen(machine->text), room = length + 64;
    uint8_t *changed = malloc(room);
    ck_assert_ptr_nonnull(changed);
    int accepted = 0, refused = 0, each = FUZZ_FIGURES / test_cases(FUZZ_FIGURES);
    for (const char *at = machine->text; (at = strchr(at, '=')) != NULL; at++) {
        for (size_t which = 0; which < FUZZ_FIGURES; which += (size_t)each) {
            memcpy(changed, machine->text, length);
            size_t size =
                fuzz_machine_figure(changed, length, room, (size_t)(at - machine->text), which);
            ck_assert_uint_gt(size, 0);
            *(fuzz_machine(changed, size) ? &accepted : &refused) += 1;
        }
    }
    free(changed);
    ck_assert_int_gt(accepted, 100 / each);
    ck_assert_int_gt(refused, 100 / each);
}
END_TEST

Suite *fuzz_seeds_suite(void)
{
    Suite *suite = suite_create("fuzz_seeds");
    TCase *tests = tcase_create("fuzz_seeds");
    tcase_add_loop_test(tests, every_seed_is_right_or_refused, 0, FOLDERS);
    tcase_add_test(tests, odd_figures_are_refused_or_simulated);
    suite_add_tcase(suite, tests);
    return suite;
}
