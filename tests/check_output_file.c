/* check_output_file.c - output files appear whole or not at all, wherever they are asked for.
 */
#include "term/output_file.h"
#include "test_folder.h"

#include "named_files.h"
#include "suites.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_TEXT = 256, TEXT_MAX = 4096, NOBODY = 65534 };

static char folder[PATH_TEXT / 2];
static int folder_before = -1;
static mode_t mask_before;
static struct error error;
static struct output_file file;

/* File permissions do not hold root back, and a root that is mistaken about a device replaces
 * it for everyone. */
static void become_nobody(void)
{
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(NOBODY), 0);
}

static void become_oneself(void)
{
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
}

/* Tests work with relative names in a folder of their own, and leave everything as it was:
 * under valgrind they share one process. */
static void enter_folder(void)
{
    error_clear(&error);
    file = (struct output_file){0};
    folder_before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(folder_before, 0);
    strcpy(folder, "/tmp/check_output_file.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chmod(folder, 0777), 0);
    ck_assert_int_eq(chdir(folder), 0);
    mask_before = umask(022);
}

static void leave_folder(void)
{
    become_oneself();
    umask(mask_before);
    ck_assert_int_eq(fchdir(folder_before), 0);
    close(folder_before);
    char command[PATH_TEXT];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static int entries(const char *path)
{
    DIR *open = opendir(path);
    ck_assert_ptr_nonnull(open);
    int count = -2; /* . and .. */
    while (readdir(open) != NULL)
        count++;
    closedir(open);
    return count;
}

static void assert_holds(const char *path, const char *text)
{
    char actual[TEXT_MAX] = "";
    FILE *stream = fopen(path, "r");
    ck_assert_msg(stream != NULL, "%s is not there", path);
    actual[fread(actual, 1, sizeof actual - 1, stream)] = '\0';
    fclose(stream);
    ck_assert_str_eq(actual, text);
}

static mode_t mode_of(const char *path)
{
    struct stat about;
    ck_assert_int_eq(lstat(path, &about), 0);
    return about.st_mode & 07777;
}

static void open_and_write(const char *path, const char *text)
{
    ck_assert_msg(output_file_open(&file, path, &error) == STATUS_OK, "%s", error.text);
    fputs(text, file.stream);
}

static void commit(void)
{
    ck_assert_msg(output_file_commit(&file, &error) == STATUS_OK, "%s", error.text);
    ck_assert_ptr_null(file.stream);
    ck_assert_ptr_null(file.temporary);
}

static void assert_refused(const char *path, const char *text)
{
    struct output_file none = {.path = "untouched"};
    const int before = entries(".");
    error_clear(&error);
    ck_assert_msg(output_file_open(&none, path, &error) == STATUS_USAGE, "'%s' not refused",
                  path);
    ck_assert_int_eq(error.status, STATUS_USAGE);
    ck_assert_msg(strstr(error.text, text) != NULL, "'%s' does not say '%s'", error.text, text);
    ck_assert_msg(strstr(error.text, path) != NULL, "'%s' does not name it", error.text);
    ck_assert_str_eq(none.path, "untouched");
    ck_assert_ptr_null(none.stream);
    ck_assert_int_eq(entries("."), before);
}

START_TEST(a_file_appears_when_it_is_committed)
{
    open_and_write("new", "whole\n");
    fflush(file.stream);
    ck_assert_int_eq(entries("."), nameless_files() ? 0 : 1);
    ck_assert_int_ne(access("new", F_OK), 0);
    commit();
    assert_holds("new", "whole\n");
    output_file_discard(&file); /* too late: it is closed */
    assert_holds("new", "whole\n");
    ck_assert_int_eq(entries("."), 1);
}
END_TEST

START_TEST(a_file_that_is_discarded_never_was)
{
    open_and_write("new", "half");
    fflush(file.stream);
    output_file_discard(&file);
    ck_assert_ptr_null(file.stream);
    ck_assert_int_eq(entries("."), 0);
    output_file_discard(&file); /* again */
}
END_TEST

START_TEST(an_old_file_stays_until_the_new_one_is_whole)
{
    test_file_put("x", "old");
    open_and_write("x", "half");
    fflush(file.stream);
    assert_holds("x", "old");
    output_file_discard(&file);
    assert_holds("x", "old");
    open_and_write("x", "new");
    assert_holds("x", "old");
    commit();
    assert_holds("x", "new");
    ck_assert_int_eq(entries("."), 1);
}
END_TEST

START_TEST(a_new_file_has_the_usual_permissions)
{
    static const mode_t masks[] = {0, 022, 027, 077, 0777};
    const mode_t mask = masks[_i];
    umask(mask);
    open_and_write("x", "");
    commit();
    ck_assert_int_eq(mode_of("x"), 0666 & ~mask);
    ck_assert_int_eq(umask(022), mask);
}
END_TEST

START_TEST(a_replaced_file_keeps_its_permissions)
{
    test_file_put("x", "old");
    ck_assert_int_eq(chmod("x", 0604), 0);
    open_and_write("x", "new");
    commit();
    ck_assert_int_eq(mode_of("x"), 0604);
    assert_holds("x", "new");
}
END_TEST

START_TEST(what_can_not_be_written_is_refused)
{
    ck_assert_int_eq(mkdir("sub", 0700), 0);
    test_file_put("plain", "text");
    assert_refused("", "its name is empty");
    assert_refused(".", "it is a folder");
    assert_refused("sub", "it is a folder");
    assert_refused("sub/", "it is a folder");
    assert_refused("missing/x", "No such file or directory");
    assert_refused("missing/", "No such file or directory");
    assert_refused("plain/x", "Not a directory");
    char name[NAME_MAX + 2];
    memset(name, 'x', sizeof name);
    name[NAME_MAX + 1] = '\0';
    assert_refused(name, "File name too long");
    assert_holds("plain", "text");
}
END_TEST

/* Nothing is added to a name that is as long as any can be, nor to such a path. */
START_TEST(a_name_may_have_255_bytes)
{
    char name[NAME_MAX + 1];
    memset(name, 'x', sizeof name);
    name[NAME_MAX] = '\0';
    for (int i = 0; i < 2; i++) {
        open_and_write(name, i == 0 ? "old" : "new");
        commit();
        assert_holds(name, i == 0 ? "old" : "new");
    }
    ck_assert_int_eq(entries("."), 1);
}
END_TEST

START_TEST(a_path_longer_than_any_is_refused)
{
    char path[PATH_MAX + 2];
    for (size_t i = 0; i < sizeof path; i++)
        path[i] = "./"[i % 2];
    path[PATH_MAX + 1] = '\0';
    ck_assert_int_eq(output_file_open(&file, path, &error), STATUS_USAGE);
    ck_assert_int_eq(entries("."), 0);
    error_clear(&error);
    path[PATH_MAX - 1] = '\0'; /* the longest that there is */
    path[PATH_MAX - 2] = 'x';
    open_and_write(path, "text");
    commit();
    assert_holds("x", "text");
}
END_TEST

START_TEST(permissions_are_respected)
{
    test_file_put("read-only", "old");
    ck_assert_int_eq(chmod("read-only", 0444), 0);
    ck_assert_int_eq(mkdir("closed", 0777), 0);
    test_file_put("closed/x", "old");
    ck_assert_int_eq(chmod("closed/x", 0666), 0);
    ck_assert_int_eq(chmod("closed", 0555), 0);
    become_nobody();
    assert_refused("read-only", "Permission denied");
    assert_refused("closed/new", "its folder takes no new file: Permission denied");
    assert_refused("closed/x", "its folder takes no new file: Permission denied");
    become_oneself();
    ck_assert_int_eq(chmod("closed", 0755), 0);
    ck_assert_int_eq(entries("closed"), 1);
    assert_holds("closed/x", "old");
    assert_holds("read-only", "old");
}
END_TEST

/* As in /tmp, where a file of another user may be writable but not replaced. */
START_TEST(a_file_that_can_not_be_replaced_is_refused)
{
    if (getuid() != 0) {
        printf("skipped: a_file_that_can_not_be_replaced_is_refused (not root)\n");
        return;
    }
    ck_assert_int_eq(mkdir("sticky", 0700), 0);
    ck_assert_int_eq(chmod("sticky", 01777), 0);
    test_file_put("sticky/x", "old");
    ck_assert_int_eq(chmod("sticky/x", 0666), 0);
    become_nobody();
    assert_refused("sticky/x", "only its owner may replace it");
    open_and_write("sticky/y", "old");
    commit();
    open_and_write("sticky/y", "new");
    commit();
    become_oneself();
    assert_holds("sticky/x", "old");
    assert_holds("sticky/y", "new");
    open_and_write("sticky/y", "newer");
    commit();
    ck_assert_int_eq(entries("sticky"), 2);
}
END_TEST

START_TEST(a_symbolic_link_is_written_through)
{
    ck_assert_int_eq(mkdir("elsewhere", 0755), 0);
    test_file_put("elsewhere/target", "old");
    ck_assert_int_eq(symlink("elsewhere/target", "middle"), 0);
    ck_assert_int_eq(symlink("middle", "link"), 0);
    open_and_write("link", "new");
    commit();
    struct stat about;
    ck_assert(lstat("link", &about) == 0 && S_ISLNK(about.st_mode));
    ck_assert(lstat("middle", &about) == 0 && S_ISLNK(about.st_mode));
    ck_assert(lstat("elsewhere/target", &about) == 0 && S_ISREG(about.st_mode));
    assert_holds("elsewhere/target", "new");
    ck_assert_int_eq(entries("elsewhere"), 1);
}
END_TEST

START_TEST(a_link_to_nothing_is_refused)
{
    ck_assert_int_eq(symlink("missing", "dangling"), 0);
    ck_assert_int_eq(symlink("circle", "circle"), 0);
    assert_refused("dangling", "a symbolic link that leads nowhere");
    assert_refused("circle", "Too many levels of symbolic links");
    ck_assert_int_ne(access("missing", F_OK), 0);
}
END_TEST

START_TEST(pipes_and_devices_are_written_directly)
{
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    const int reader = open("pipe", O_RDWR);
    open_and_write("pipe", "through");
    ck_assert_ptr_null(file.temporary);
    commit();
    char text[16] = "";
    ck_assert_int_eq(read(reader, text, sizeof text - 1), 7);
    ck_assert_str_eq(text, "through");
    close(reader);
    become_nobody();
    open_and_write("/dev/null", "text");
    ck_assert_ptr_null(file.temporary);
    commit();
    ck_assert_int_eq(entries("."), 1);
}
END_TEST

/* The program does not wait for somebody who may never come. */
START_TEST(a_pipe_that_nobody_reads_is_refused)
{
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    assert_refused("pipe", "it is a pipe that nobody reads");
}
END_TEST

START_TEST(standard_output_is_written_where_it_is)
{
    static const char *const names[] = {"/dev/stdout", "redirected", "/dev/stderr"};
    const int fd = _i == 2 ? STDERR_FILENO : STDOUT_FILENO;
    const int redirected = open("redirected", O_CREAT | O_WRONLY, 0644);
    const int saved = dup(fd);
    ck_assert_int_eq(dup2(redirected, fd), fd);
    ck_assert_int_eq(write(fd, "before,", 7), 7);
    enum status opened = output_file_open(&file, names[_i], &error);
    bool direct = opened == STATUS_OK && file.temporary == NULL;
    if (opened == STATUS_OK)
        fputs("written,", file.stream);
    enum status committed = opened == STATUS_OK ? output_file_commit(&file, &error) : opened;
    ck_assert_int_eq(write(fd, "after", 5), 5);
    ck_assert_int_eq(dup2(saved, fd), fd);
    close(saved);
    close(redirected);
    ck_assert_msg(opened == STATUS_OK && committed == STATUS_OK, "%s", error.text);
    ck_assert(direct);
    assert_holds("redirected", "before,written,after");
    ck_assert_int_eq(entries("."), 1);
}
END_TEST

START_TEST(a_full_device_is_an_error)
{
    become_nobody();
    open_and_write("/dev/full", "text");
    ck_assert_int_eq(output_file_commit(&file, &error), STATUS_FAILED);
    ck_assert_str_eq(error.text,
                     "cannot write the output file '/dev/full': No space left on device");
    ck_assert_ptr_null(file.stream);
}
END_TEST

START_TEST(an_earlier_failed_write_is_an_error)
{
    become_nobody();
    open_and_write("/dev/full", "");
    for (int i = 0; i < 10000; i++)
        fputs("more than the stream buffers\n", file.stream);
    ck_assert(ferror(file.stream));
    ck_assert_int_eq(output_file_commit(&file, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "'/dev/full'"));
    error_clear(&error);
    open_and_write("/dev/full", "");
    setvbuf(file.stream, NULL, _IONBF, 0);
    fputs("text", file.stream); /* fails at once: nothing is left for the flush to fail on */
    ck_assert_int_eq(output_file_commit(&file, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "an earlier write failed; is the disk full?"));
}
END_TEST

START_TEST(a_file_that_does_not_fit_leaves_the_old_one)
{
    test_file_put("x", "old");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 1000;
    open_and_write("x", "");
    for (int i = 0; i < 1001; i++)
        fputc('x', file.stream);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const enum status status = output_file_commit(&file, &error);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    ck_assert_int_eq(status, STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "x': File too large"));
    assert_holds("x", "old");
    ck_assert_int_eq(entries("."), 1);
}
END_TEST

START_TEST(a_place_that_is_taken_meanwhile_is_an_error)
{
    open_and_write("x", "text");
    ck_assert_int_eq(mkdir("x", 0755), 0);
    ck_assert_int_eq(output_file_commit(&file, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "'x'"));
    ck_assert_int_eq(entries("."), 1);
}
END_TEST

START_TEST(opening_leaves_the_signal_mask_as_it_was)
{
    sigset_t before, blocked, after;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ck_assert_int_eq(sigprocmask(SIG_SETMASK, &blocked, &before), 0);
    open_and_write("x", "");
    ck_assert_int_eq(sigprocmask(SIG_SETMASK, &before, &after), 0);
    ck_assert_int_eq(sigismember(&after, SIGUSR1), 1);
    ck_assert_int_eq(sigismember(&after, SIGINT), 0);
    commit();
}
END_TEST

START_TEST(there_is_room_for_many_files_at_a_time)
{
    enum { MANY = 300 };
    struct output_file files[MANY];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            char name[16];
            snprintf(name, sizeof name, "%d", i);
            ck_assert_msg(output_file_open(&files[i], name, &error) == STATUS_OK, "%s",
                          error.text);
        }
        ck_assert_int_eq(entries("."), round > 0 ? MANY / 2 : 0);
        for (int i = 0; i < MANY; i++) {
            if (i % 2 == 0)
                ck_assert_int_eq(output_file_commit(&files[i], &error), STATUS_OK);
            else
                output_file_discard(&files[i]);
        }
        ck_assert_int_eq(entries("."), MANY / 2);
    }
}
END_TEST

/* Without /proc an open file can't be given a name. */
START_TEST(a_file_is_copied_where_it_can_not_be_named)
{
    test_file_put("x", "old");
    ck_assert_int_eq(chmod("x", 0604), 0);
    const int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (chroot(".") != 0) {
        printf("skipped: a_file_is_copied_where_it_can_not_be_named (not root)\n");
        close(root);
        return;
    }
    open_and_write("x", "new");
    commit();
    assert_holds("x", "new");
    ck_assert_int_eq(mode_of("x"), 0604);
    open_and_write("y", "another");
    commit();
    assert_holds("y", "another");
    ck_assert_int_eq(entries("."), 2);
    ck_assert(fchdir(root) == 0 && chroot(".") == 0);
    close(root);
}
END_TEST

/* --- where every file needs a name --- */

static void enter_named(void)
{
    enter_folder();
    if (!named_files_only())
        printf("not tested here: files that need a name (no filter of system calls)\n");
}

START_TEST(temporaries_can_be_removed_all_at_once)
{
    struct output_file files[3] = {{0}};
    static const char *const names[] = {"a", "b", "c"};
    open_and_write("kept", "whole");
    commit();
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(output_file_open(&files[i], names[i], &error), STATUS_OK);
    output_file_discard(&files[1]);
    ck_assert_int_eq(entries("."), nameless_files() ? 1 : 3);
    output_files_unlink();
    ck_assert_int_eq(entries("."), 1);
    assert_holds("kept", "whole");
    output_file_discard(&files[0]);
    ck_assert_int_eq(output_file_commit(&files[2], &error),
                     nameless_files() ? STATUS_OK : STATUS_FAILED);
    output_files_unlink();
    ck_assert_int_eq(entries("."), nameless_files() ? 2 : 1);
}
END_TEST

static void stop(int signal_number)
{
    (void)signal_number;
    output_files_unlink();
    kill(getpid(), SIGKILL); /* what the test had taken is not this process's to give back */
}

START_TEST(temporaries_can_be_removed_by_a_signal_handler)
{
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGINT, stop);
        static struct output_file files[3];
        for (int i = 0; i < 3; i++) {
            if (output_file_open(&files[i], "x", &error) != STATUS_OK)
                _exit(1);
        }
        raise(SIGINT);
        _exit(2);
    }
    int outcome = 0;
    ck_assert_int_eq(waitpid(child, &outcome, 0), child);
    ck_assert(WIFSIGNALED(outcome));
    ck_assert_int_eq(WTERMSIG(outcome), SIGKILL);
    ck_assert_int_eq(entries("."), 0);
}
END_TEST

static void add_both(TCase *cases)
{
    tcase_add_test(cases, a_file_that_is_discarded_never_was);
    tcase_add_test(cases, an_old_file_stays_until_the_new_one_is_whole);
    tcase_add_loop_test(cases, a_new_file_has_the_usual_permissions, 0, 5);
    tcase_add_test(cases, a_replaced_file_keeps_its_permissions);
    tcase_add_test(cases, what_can_not_be_written_is_refused);
    tcase_add_test(cases, a_path_longer_than_any_is_refused);
    tcase_add_test(cases, a_name_may_have_255_bytes);
    tcase_add_test(cases, permissions_are_respected);
    tcase_add_test(cases, a_file_that_can_not_be_replaced_is_refused);
    tcase_add_test(cases, a_symbolic_link_is_written_through);
    tcase_add_test(cases, a_file_that_does_not_fit_leaves_the_old_one);
    tcase_add_test(cases, a_place_that_is_taken_meanwhile_is_an_error);
    tcase_add_test(cases, opening_leaves_the_signal_mask_as_it_was);
}

Suite *output_file_suite(void)
{
    Suite *suite = suite_create("output_file");
    TCase *cases = tcase_create("output_file");
    tcase_add_checked_fixture(cases, enter_folder, leave_folder);
    add_both(cases);
    tcase_add_test(cases, a_file_appears_when_it_is_committed);
    tcase_add_test(cases, a_link_to_nothing_is_refused);
    tcase_add_test(cases, pipes_and_devices_are_written_directly);
    tcase_add_test(cases, a_pipe_that_nobody_reads_is_refused);
    tcase_add_loop_test(cases, standard_output_is_written_where_it_is, 0, 3);
    tcase_add_test(cases, a_full_device_is_an_error);
    tcase_add_test(cases, an_earlier_failed_write_is_an_error);
    tcase_add_test(cases, there_is_room_for_many_files_at_a_time);
    tcase_add_test(cases, a_file_is_copied_where_it_can_not_be_named);
    tcase_set_timeout(cases, 60); /* under valgrind */
    suite_add_tcase(suite, cases);
    TCase *named = tcase_create("named"); /* last: no later test can open nameless files */
    tcase_add_checked_fixture(named, enter_named, leave_folder);
    add_both(named);
    tcase_add_test(named, temporaries_can_be_removed_all_at_once);
    tcase_add_test(named, temporaries_can_be_removed_by_a_signal_handler);
    tcase_set_timeout(named, 60);
    suite_add_tcase(suite, named);
    return suite;
}
