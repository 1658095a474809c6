/* plot.c - pictures, drawn by gnuplot from CSV with the scripts of plots/.
 *
 * The scripts are part of the program; the folder that PIPELINE_PLOTS names is taken instead. A
 * sweep is drawn as curves, one run by engine and by stream, several runs above one another.
 * Where there is no gnuplot or it fails, the data stays as PATH.csv, and the error says so.
 *
 * No path and no name goes through a shell or a gnuplot string: gnuplot gets the data and the
 * scripts as open files, and draws on its standard output, which is the picture. Their names
 * are /proc/self/fd/N, which opens them anew; /dev/fd/N is something of its own to GNU awk. */
#include "core/embedded.h"
#include "writers/cause.h"
#include "writers/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
    SCRIPTS_MAX = 16, /* files of plots/ */
    FILE_NAME = 32,   /* "/proc/self/fd/12" */
    VARIABLES = 1024,
};

/* Everything that gnuplot is started with. */
struct plotter {
    const char *script;          /* "timeline.gp" */
    const char *folder;          /* where it lies; NULL: in the program */
    int open_files[SCRIPTS_MAX]; /* that gnuplot inherits: the scripts' texts */
    int file_count;
    char path[FILENAME_MAX];   /* of the script */
    char variables[VARIABLES]; /* gnuplot's: where the other scripts are */
    char data[FILE_NAME];
    const char *ending, *size, *rows;
    int data_file, picture, complaints; /* descriptors */
};

/* An open file that holds `text` and has no name. Returns its descriptor, or -1 with errno. */
static int text_file(const char *name, const char *text)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    size_t length = strlen(text), written = 0;
    while (fd >= 0 && written < length) {
        ssize_t count = write(fd, text + written, length - written);
        if (count > 0) {
            written += (size_t)count;
        } else if (count == 0 || errno != EINTR) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

static bool is_script(const char *name)
{
    const char *ending = strrchr(name, '.');
    return ending != NULL && (strcmp(ending, ".gp") == 0 || strcmp(ending, ".awk") == 0);
}

/* Tells gnuplot where the script `name` is: style_gp='/proc/self/fd/5'. */
static void add_variable(struct plotter *plotter, const char *name, int fd)
{
    size_t used = strlen(plotter->variables);
    char *start = plotter->variables + used;
    snprintf(start, sizeof plotter->variables - used, "%.40s='/proc/self/fd/%d';", name, fd);
    char *dot = strchr(start, '.');
    if (dot != NULL)
        *dot = '_';
}

/* Makes the embedded scripts files that gnuplot and awk can open. */
static enum status open_scripts(struct plotter *plotter, struct error *error)
{
    for (const struct embedded *text = plot_texts; text->name != NULL; text++) {
        if (!is_script(text->name) || plotter->file_count == SCRIPTS_MAX)
            continue;
        int fd = text_file(text->name, text->text);
        if (fd < 0)
            return error_set(error, STATUS_FAILED, "no memory file for %s: %s", text->name,
                             strerror(errno));
        plotter->open_files[plotter->file_count++] = fd;
        add_variable(plotter, text->name, fd);
        if (strcmp(text->name, plotter->script) == 0)
            snprintf(plotter->path, sizeof plotter->path, "/proc/self/fd/%d", fd);
    }
    return STATUS_OK;
}

static enum status find_scripts(struct plotter *plotter, struct error *error)
{
    plotter->folder = getenv("PIPELINE_PLOTS");
    if (plotter->folder == NULL || plotter->folder[0] == '\0')
        return open_scripts(plotter, error);
    int length = snprintf(plotter->path, sizeof plotter->path, "%s/%s", plotter->folder,
                          plotter->script);
    if (length < 0 || (size_t)length >= sizeof plotter->path)
        return error_set(error, STATUS_FAILED, "PIPELINE_PLOTS is too long");
    if (access(plotter->path, R_OK) != 0)
        return error_set(error, STATUS_FAILED, "PIPELINE_PLOTS: '%.200s': %s", plotter->path,
                         strerror(errno));
    return STATUS_OK;
}

/* Chooses the descriptors that gnuplot has. One that is copied onto itself stays open there. */
static int arrange_files(const struct plotter *plotter, posix_spawn_file_actions_t *actions)
{
    const int copies[][2] = {{plotter->picture, STDOUT_FILENO},
                             {plotter->complaints, STDERR_FILENO},
                             {plotter->data_file, plotter->data_file}};
    int failure =
        posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int i = 0; i < 3 && failure == 0; i++)
        failure = posix_spawn_file_actions_adddup2(actions, copies[i][0], copies[i][1]);
    for (int i = 0; i < plotter->file_count && failure == 0; i++)
        failure = posix_spawn_file_actions_adddup2(actions, plotter->open_files[i],
                                                   plotter->open_files[i]);
    return failure;
}

/* Starts gnuplot and waits for its end. Returns an errno, or 0 and its wait status. */
static int run_gnuplot(struct plotter *plotter, int *ended)
{
    char *arguments[] = {
        "gnuplot",
        "-d",
        "-e",
        plotter->variables[0] ? plotter->variables : ";",
        "-c",
        plotter->path,
        plotter->data,
        (char *)plotter->ending,
        (char *)plotter->size,
        (char *)plotter->rows,
        NULL,
    };
    posix_spawn_file_actions_t actions;
    pid_t child;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure != 0)
        return failure;
    failure = arrange_files(plotter, &actions);
    if (failure == 0)
        failure = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (failure == 0 && waitpid(child, ended, 0) < 0) {
        if (errno != EINTR)
            failure = errno;
    }
    return failure;
}

/* Returns the line of `text` that says most, and ends it there: a line of awk's, since
 * gnuplot's would only follow from it, else the last. */
static const char *telling_line(char *text)
{
    char *line = strstr(text, "awk: ");
    if (line == NULL)
        return strrchr(text, '\n') != NULL ? strrchr(text, '\n') + 1 : text;
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* Copies gnuplot's complaint into `line`, with the script's name instead of its path. */
static void last_complaint(const struct plotter *plotter, char *line, size_t room)
{
    char text[1024], clean[sizeof text * 3];
    off_t size = lseek(plotter->complaints, 0, SEEK_END);
    off_t from = size > (off_t)sizeof text - 1 ? size - (off_t)sizeof text + 1 : 0;
    ssize_t count = pread(plotter->complaints, text, sizeof text - 1, from);
    text[count > 0 ? count : 0] = '\0';
    for (size_t length = strlen(text); length > 0 && strchr("\n \t", text[length - 1]);)
        text[--length] = '\0';
    const char *last = telling_line(text);
    const char *path = strstr(last, plotter->path);
    if (last[0] == '\0') {
        snprintf(line, room, "it gives no reason");
    } else if (path == NULL) {
        snprintf(line, room, "%s", writer_clean(clean, sizeof clean, last, true));
    } else {
        char named[sizeof text + FILE_NAME];
        snprintf(named, sizeof named, "%.*s%s%s", (int)(path - last), last, plotter->script,
                 path + strlen(plotter->path));
        snprintf(line, room, "%s", writer_clean(clean, sizeof clean, named, true));
    }
}

static enum status judge(const struct plotter *plotter, int ended, struct error *error)
{
    char line[512];
    struct stat about;
    if (WIFSIGNALED(ended))
        return error_set(error, STATUS_FAILED, "gnuplot was ended by signal %d",
                         WTERMSIG(ended));
    if (WEXITSTATUS(ended) != 0) {
        last_complaint(plotter, line, sizeof line);
        return error_set(error, STATUS_FAILED, "gnuplot: %s", line);
    }
    if (fstat(plotter->picture, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 0)
        return error_set(error, STATUS_FAILED, "gnuplot: %s drew nothing", plotter->script);
    return STATUS_OK;
}

static enum status draw(struct plotter *plotter, struct error *error)
{
    int ended = 0;
    plotter->complaints = memfd_create("complaints", MFD_CLOEXEC);
    if (plotter->complaints < 0)
        return error_set(error, STATUS_FAILED, "no memory file: %s", strerror(errno));
    enum status status = find_scripts(plotter, error);
    int failure = status == STATUS_OK ? run_gnuplot(plotter, &ended) : 0;
    /* A child that can't tell its parent why it failed ends with 127, as a shell would. */
    if (failure == ENOENT ||
        (status == STATUS_OK && WIFEXITED(ended) && WEXITSTATUS(ended) == 127))
        status = error_set(error, STATUS_FAILED,
                           "there is no gnuplot (apt-get install gnuplot-nox)");
    else if (failure != 0)
        status =
            error_set(error, STATUS_FAILED, "gnuplot can't be started: %s", strerror(failure));
    else if (status == STATUS_OK)
        status = judge(plotter, ended, error);
    for (int i = 0; i < plotter->file_count; i++)
        close(plotter->open_files[i]);
    close(plotter->complaints);
    return status;
}

/* Writes all data that is drawn: the timelines or, for a sweep, a row per run. */
static void write_data(FILE *out, const struct report *report)
{
    char message[MESSAGE_TEXT], clean[3 * MESSAGE_TEXT];
    if (report->sweep == NULL) {
        write_csv_timeline(out, report);
        return;
    }
    fprintf(out, "# pipeline %s sweep\n# sweep:", report->version);
    for (int i = 0; i < report->sweep->axis_count; i++)
        fprintf(out, " %s", report->sweep->axes[i].option);
    putc('\n', out);
    writer_message(report, message);
    if (message[0] != '\0')
        fprintf(out, "# message: %s\n", writer_clean(clean, sizeof clean, message, true));
    write_csv_report(out, report);
}

static enum status draw_data(struct output_file *file, struct output_file *data,
                             const struct report *report, const struct picture_style *style,
                             struct error *error)
{
    const char *ending = strrchr(file->path, '.');
    struct plotter plotter = {
        .script = report->sweep != NULL ? "sweep.gp" : "timeline.gp",
        .ending = ending != NULL ? ending : "",
        .size = style->size == PICTURE_PAPER ? "paper" : "slide",
        .rows = report->run_count == 1         ? "both"
                : style->rows == GANTT_STREAMS ? "streams"
                                               : "engines",
        .data_file = fileno(data->stream),
        .picture = fileno(file->stream),
    };
    snprintf(plotter.data, sizeof plotter.data, "/proc/self/fd/%d", plotter.data_file);
    return draw(&plotter, error);
}

enum status plot_draw(struct output_file *file, const struct report *report,
                      const struct picture_style *style, struct error *error)
{
    char *path, shown[256];
    struct output_file data = {0};
    struct error why = {0};
    if (asprintf(&path, "%s.csv", file->path) < 0)
        return error_set(error, STATUS_FAILED, "no memory for a file's name");
    writer_fit(shown, sizeof shown, file->path, 80);
    enum status status = output_file_open(&data, path, &why);
    free(path);
    if (status != STATUS_OK) /* the run is done: this is no longer about its usage */
        return error_set(error, STATUS_FAILED, "%s", why.text);
    write_data(data.stream, report);
    if (fflush(data.stream) != 0 || ferror(data.stream)) {
        status = error_set(error, STATUS_FAILED, "cannot write the data of '%s': %s", shown,
                           strerror(errno));
    } else if (draw_data(file, &data, report, style, &why) != STATUS_OK) {
        /* The figures that were measured are kept even where their picture fails. */
        status = output_file_commit(&data, error);
        if (status == STATUS_OK)
            status =
                error_set(error, STATUS_FAILED, "cannot draw '%s': %s; its data is in '%s.csv'",
                          shown, why.text, shown);
    }
    output_file_discard(&data);
    return status;
}
