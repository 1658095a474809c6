/* record_files.c - the recordings of a program and of the processes that it started: the folder
 * that they are written to, and the places that they get. */
#include "app/record.h"

#include "core/anonymous.h"
#include "core/compare.h"
#include "core/items.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    NAME_TRIES = 1000,
    SHOWN_MOST = 20,   /* recordings that are told of one by one */
    GRACE_LOOKS = 50,  /* at processes that are about to end, */
    GRACE_MS = 20,     /* so far apart */
    EMPTY_MOST = 4096, /* bytes of a recording in which there is nothing */
};

/* A recording in the folder: PROGRAM.PID.jsonl. */
struct record_file {
    char *name; /* in the folder */
    pid_t process;
    struct timespec written; /* last */
    off_t bytes;
    bool empty;
};

struct record_list {
    struct record_file *items;
    size_t count, capacity;
};

/* --- the folder --- */

/* Returns the folder of `path` as an absolute path, to be freed, or NULL with errno. */
static char *folder_of(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (slash == NULL)
        return realpath(".", NULL);
    char *folder = strndup(path, (size_t)(slash + 1 - path));
    char *absolute = folder != NULL ? realpath(folder, NULL) : NULL;
    free(folder);
    return absolute;
}

/* Makes the new folder. Returns false with errno. */
static bool make_folder(struct record_files *files)
{
    char *around = folder_of(files->output);
    const bool named = around != NULL && asprintf(&files->folder, "%s/.pipeline-record-XXXXXX",
                                                  strcmp(around, "/") == 0 ? "" : around) >= 0;
    free(around);
    if (!named) {
        files->folder = NULL;
        return false;
    }
    return mkdtemp(files->folder) != NULL;
}

enum status record_files_begin(struct record_files *files, const char *output,
                               struct error *error)
{
    enum status status = STATUS_OK;
    *files = (struct record_files){.folder = NULL};
    if (output != NULL)
        status = output_file_open(&files->opened, output, error);
    if (status != STATUS_OK)
        return status;
    if (files->opened.temporary !=
        NULL) { /* no pipe or device, which has no place of its own */
        struct stat about;
        const bool link = lstat(output, &about) == 0 && S_ISLNK(about.st_mode);
        files->output = link ? realpath(output, NULL) : strdup(output);
        if (files->output == NULL)
            status =
                error_set(error, status_of_errno(errno, STATUS_USAGE),
                          "%s: the place of the recording can't be found: %s: name another "
                          "place with --output=FILE",
                          output, strerror(errno));
    }
    if (status == STATUS_OK && make_folder(files))
        return STATUS_OK;
    if (status == STATUS_OK)
        status = error_set(error, status_of_errno(errno, STATUS_USAGE),
                           "recordings need a new folder beside their place, and it can't be "
                           "made: %s: name another place with --output=FILE",
                           strerror(errno));
    free(files->folder);
    files->folder = NULL;
    record_files_discard(files);
    return status;
}

void record_files_discard(struct record_files *files)
{
    if (files->folder != NULL)
        rmdir(files->folder);
    output_file_discard(&files->opened);
    free(files->folder);
    free(files->output);
    *files = (struct record_files){.folder = NULL};
}

/* --- what is in it --- */

/* Returns the process that the name PROGRAM.PID.jsonl has, or 0 where it is no such name. */
static pid_t process_of(const char *name)
{
    static const char ending[] = ".jsonl";
    const size_t length = strlen(name), short_of = strlen(ending);
    if (length <= short_of || strcmp(name + length - short_of, ending) != 0)
        return 0;
    const char *digits = name + length - short_of;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    const long number = digits > name && digits[-1] == '.' ? strtol(digits, NULL, 10) : 0;
    return number > 0 && number <= INT_MAX ? (pid_t)number : 0;
}

/* The latest first: a process that became another program by exec has one for each. */
static int compare_files(const void *one, const void *other)
{
    const struct record_file *a = one, *b = other;
    const int seconds = COMPARE(b->written.tv_sec, a->written.tv_sec); /* the latest first */
    const int rest = COMPARE(b->written.tv_nsec, a->written.tv_nsec);
    return COMPARE_ELSE(COMPARE_ELSE(seconds, rest), strcmp(a->name, b->name));
}

static bool list_add(struct record_list *list, int folder, const char *name)
{
    struct stat about;
    const pid_t process = process_of(name);
    if (process == 0 || fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(about.st_mode))
        return true;
    if (!ITEMS_ROOM(list->items, list->count, list->capacity))
        return false;
    struct record_file *file = &list->items[list->count];
    *file = (struct record_file){.name = strdup(name),
                                 .process = process,
                                 .written = about.st_mtim,
                                 .bytes = about.st_size};
    return file->name != NULL && ++list->count > 0;
}

/* Lists what is in the folder. Returns 0, or an errno. */
static int list_read(struct record_list *list, const char *path)
{
    DIR *folder = opendir(path);
    int failure = folder == NULL ? errno : 0;
    for (struct dirent *entry; failure == 0 && (entry = readdir(folder)) != NULL;) {
        if (!list_add(list, dirfd(folder), entry->d_name))
            failure = ENOMEM;
    }
    if (folder != NULL)
        closedir(folder);
    if (list->count > 0)
        qsort(list->items, list->count, sizeof list->items[0], compare_files);
    return failure;
}

static void list_free(struct record_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].name);
    free(list->items);
}

/* Returns true if there is such a process, and it has not ended. */
static bool is_running(pid_t process)
{
    char path[32], line[512] = "";
    if (kill(process, 0) != 0 && errno == ESRCH)
        return false;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return true;
    const char *behind = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    return behind == NULL || strspn(behind, ") ZX") < 3; /* a zombie, whose parent is slow */
}

static FILE *open_recording(const struct record_files *files, const char *name)
{
    char *path = NULL;
    FILE *file = NULL;
    if (asprintf(&path, "%s/%s", files->folder, name) >= 0)
        file = fopen(path, "re");
    free(path);
    return file;
}

static bool is_being_written(const struct record_files *files, const struct record_file *item,
                             pid_t process)
{
    if (item->process == process || !is_running(item->process))
        return false;
    FILE *file = open_recording(files, item->name);
    bool ended = true;
    if (file == NULL)
        return false;
    record_end(file, &ended);
    fclose(file);
    return !ended;
}

/* Processes end in any order: those that are about to are given a second. */
static void await_others(const struct record_files *files, const struct record_list *list,
                         pid_t process)
{
    const struct timespec pause = {.tv_nsec = GRACE_MS * 1000000L};
    size_t next = 0;
    for (int look = 0; look < GRACE_LOOKS && next < list->count;) {
        if (!is_being_written(files, &list->items[next], process)) {
            next++;
            continue;
        }
        nanosleep(&pause, NULL);
        look++;
    }
}

/* Returns true if the process used CUDA for nothing: it asked whether there is a GPU, as a
 * framework does when it is loaded. */
static bool is_empty(const struct record_files *files, const struct record_file *item)
{
    struct record_tally tally;
    FILE *file = item->bytes <= EMPTY_MOST ? open_recording(files, item->name) : NULL;
    if (file == NULL)
        return false;
    const bool empty = record_scan(file, &tally) && tally.headed && tally.lines == 0;
    fclose(file);
    return empty;
}

/* Takes away the recordings of other processes in which there is nothing, if there is one with
 * something. One that goes on as a process without work, such as a pool's, makes no new file.
 */
static void drop_empty(const struct record_files *files, struct record_list *list,
                       pid_t process)
{
    size_t kept = 0, empty = 0;
    EACH (struct record_file, item, list->items, list->count) {
        item->empty = is_empty(files, item);
        empty += item->empty;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct record_file item = list->items[i];
        char *path = NULL;
        if (item.empty && item.process != process && empty < list->count &&
            asprintf(&path, "%s/%s", files->folder, item.name) >= 0 && unlink(path) == 0)
            free(item.name);
        else
            list->items[kept++] = item;
        free(path);
    }
    list->count = kept;
}

/* --- the places --- */

/* Returns "out.4712.jsonl" for "out.jsonl" and process 4712, or the recording's own name where
 * there is no output, and "-2" and so on before the ending for another `number` than 1. To be
 * freed; NULL: out of memory. */
static char *place_of(const struct record_files *files, const struct record_file *item,
                      int number)
{
    char more[16] = "", *place = NULL;
    char unnamed[64];
    snprintf(unnamed, sizeof unnamed, ANONYMOUS_PROGRAM ".%d.jsonl", (int)item->process);
    const char *whole = files->output != NULL ? files->output
                        : files->anonymous    ? unnamed
                                              : item->name;
    const char *slash = strrchr(whole, '/'), *base = slash != NULL ? slash + 1 : whole;
    const char *dot = strrchr(base, '.');
    if (dot == NULL || dot == base)
        dot = base + strlen(base);
    if (number > 1)
        snprintf(more, sizeof more, "-%d", number);
    const int length = (int)(dot - whole);
    const int made =
        files->output != NULL
            ? asprintf(&place, "%.*s.%d%s%s", length, whole, (int)item->process, more, dot)
            : asprintf(&place, "%.*s%s%s", length, whole, more, dot);
    return made >= 0 ? place : NULL;
}

/* Moves a file to a name that is free. Returns false with errno. */
static bool move_to_free(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    struct stat about; /* not every file system has that */
    errno = EEXIST;
    return lstat(to, &about) != 0 && rename(from, to) == 0;
}

/* Gives a recording, at `from`, a place of its own. Returns that, to be freed, or NULL with
 * errno.
 */
static char *move_beside(const struct record_files *files, const struct record_file *item,
                         const char *from)
{
    for (int number = 1; number <= NAME_TRIES; number++) {
        char *place = place_of(files, item, number);
        if (place == NULL || move_to_free(from, place))
            return place;
        const int failure = errno;
        free(place);
        errno = failure;
        if (failure != EEXIST)
            return NULL;
    }
    return NULL;
}

/* Adds to a recording, at `from`, what it still lacks, and leaves out what it shall not have.
 * Returns false where that can't be: then it stays. */
static bool complete(const struct record_files *files, const struct record_file *item,
                     const char *from, bool quiet)
{
    struct error error = {0};
    if (files->lines && record_lines_add(from, &error) != STATUS_OK)
        record_say(quiet, "%s: %s", item->name, error.text);
    error_clear(&error);
    if (!files->anonymous || record_anonymise(from, &error) == STATUS_OK)
        return true;
    record_say(false, "%s; the recording is %s", error.text, from);
    return false;
}

/* Moves a recording to its place and says what it holds. Returns false where it stays. */
static bool deliver(struct record_files *files, const struct record_file *item, bool is_output,
                    bool quiet)
{
    char *from = NULL, *place = NULL;
    struct record_tally tally;
    struct error error = {0};
    if (asprintf(&from, "%s/%s", files->folder, item->name) < 0)
        from = NULL;
    if (from != NULL && !complete(files, item, from, quiet)) {
        free(from);
        return false;
    }
    FILE *file = open_recording(files, item->name);
    const bool scanned = file != NULL && !quiet && record_scan(file, &tally);
    const bool viewable = !is_output || files->opened.temporary != NULL;
    if (from != NULL && is_output) {
        place = strdup(files->opened.path);
        output_file_take(&files->opened, from, &error);
    } else if (from != NULL) {
        place = move_beside(files, item, from);
        if (place == NULL)
            error_set(&error, STATUS_FAILED, "%s can't get its place: %s", item->name,
                      strerror(errno));
    }
    if (from == NULL || (is_output && place == NULL))
        error_set(&error, STATUS_NO_MEMORY, "out of memory");
    if (error.status != STATUS_OK)
        record_say(false, "%s; the recording is %s/%s", error.text, files->folder, item->name);
    else if (scanned)
        record_say_tally(quiet, place, &tally, viewable);
    else
        record_say(quiet, "%s: it can't be read again, so its content is not known", place);
    if (file != NULL)
        fclose(file);
    free(place);
    free(from);
    return error.status == STATUS_OK;
}

void record_files_end(struct record_files *files, pid_t process, const char *program,
                      bool quiet)
{
    struct record_list list = {.items = NULL};
    size_t writing = 0, stuck = 0, own = 0;
    const char *output = files->opened.path;
    const int unknown = list_read(&list, files->folder);
    await_others(files, &list, process);
    drop_empty(files, &list, process);
    while (own < list.count && list.items[own].process != process)
        own++;
    if (own == list.count && list.count == 1)
        own = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (is_being_written(files, &list.items[i], process))
            writing++;
        else
            stuck += !deliver(files, &list.items[i], i == own && output != NULL,
                              quiet || i >= SHOWN_MOST);
    }
    if (list.count > SHOWN_MOST)
        record_say(quiet, "there are %zu more recordings beside these",
                   list.count - SHOWN_MOST);
    if (unknown != 0)
        record_say(false, "not all recordings can be listed: %s; the others stay in %s",
                   strerror(unknown), files->folder);
    if (writing > 0)
        record_say(quiet,
                   "%zu %s still being written, by processes that go on behind the "
                   "program's end: %s",
                   writing, writing == 1 ? "recording is" : "recordings are", files->folder);
    else if (unknown == 0 && stuck == 0 && rmdir(files->folder) != 0 && errno != ENOENT)
        record_say(false, "%s stays: %s", files->folder, strerror(errno));
    if (unknown == 0 && list.count == 0)
        record_say_nothing(quiet, program, output);
    list_free(&list);
    record_files_discard(files);
}
