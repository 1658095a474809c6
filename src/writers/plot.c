/* plot.c - pictures, drawn by gnuplot from CSV with the scripts of plots/.
 *
 * The scripts are part of the program; one that lies in the folder that PIPELINE_PLOTS names is
 * taken instead. A sweep is drawn as curves, one run by engine and by stream, several runs
 * above one another. Where there is no gnuplot or it fails, the data stays as PATH.csv, and the
 * error says so.
 *
 * No path and no name goes through a shell or a gnuplot string: gnuplot gets the data and the
 * scripts as open files, and draws on its standard output. Their names are /proc/self/fd/N,
 * which opens them anew; /dev/fd/N is something of its own to GNU awk.
 *
 * gnuplot does not notice what it could not write. So the picture is taken in here, and goes
 * into its file only when it is whole. */
#include "writers/writer.h"

#include "core/embedded.h"
#include "term/child.h"
#include "writers/cause.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PLOT_SECONDS = 60, /* that a picture may take */
    PICTURE_MAX = 64 << 20,
    FILES_MAX = 17, /* the data, and the scripts of plots/ */
    FILE_NAME = 32, /* "/proc/self/fd/12" */
    VARIABLES = 1024,
};

/* Everything that gnuplot is started with. */
struct plotter {
    const char *script;   /* "timeline.gp" */
    int files[FILES_MAX]; /* that gnuplot inherits: the data, and the scripts' texts */
    int file_count;
    char variables[VARIABLES];             /* gnuplot's: where the other scripts are */
    char path[FILE_NAME], data[FILE_NAME]; /* of the script, and of the data */
    const char *ending, *size, *rows;
};

/* --- what gnuplot reads --- */

/* An open file without a name. Returns its descriptor, or -1 with errno. */
static int memory_file(const char *name)
{
    return child_file(memfd_create(name, MFD_CLOEXEC));
}

/* A memory file that holds `text`. Returns its descriptor, or -1 with errno. */
static int text_file(const char *name, const char *text)
{
    int fd = memory_file(name);
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

/* Opens the script `name` of the user's `folder`. Returns its descriptor, or -1 with errno. */
static int own_script(const char *folder, const char *name)
{
    char *path;
    struct stat about;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return -1;
    int fd = child_file(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    free(path);
    if (fd >= 0 && fstat(fd, &about) == 0 && !S_ISREG(about.st_mode)) {
        close(fd);
        errno = EINVAL;
        fd = -1;
    }
    return fd;
}

/* Opens one script: the user's, or the program's where the user has none. Of what is drawn the
 * user must have it: a folder without is not the one that was meant. */
static int open_script(const struct plotter *plotter, const struct embedded *text,
                       struct error *error)
{
    const char *folder = getenv("PIPELINE_PLOTS");
    int fd = -1;
    if (folder != NULL && folder[0] != '\0') {
        fd = own_script(folder, text->name);
        if (fd < 0 && (errno != ENOENT || strcmp(text->name, plotter->script) == 0)) {
            char shown[256];
            error_set(error, STATUS_FAILED, "PIPELINE_PLOTS: '%s/%s': %s",
                      writer_fit(shown, sizeof shown, folder, 80), text->name,
                      errno == EINVAL ? "it is no regular file" : strerror(errno));
            return -1;
        }
    }
    if (fd < 0)
        fd = text_file(text->name, text->text);
    if (fd < 0)
        error_set(error, STATUS_FAILED, "no memory file for %s: %s", text->name,
                  strerror(errno));
    return fd;
}

/* Makes all scripts files that gnuplot and awk can open. */
static enum status open_scripts(struct plotter *plotter, struct error *error)
{
    for (const struct embedded *text = plot_texts; text->name != NULL; text++) {
        if (!is_script(text->name))
            continue;
        if (plotter->file_count == FILES_MAX)
            return error_set(error, STATUS_FAILED, "over %d files of plots/", FILES_MAX - 1);
        int fd = open_script(plotter, text, error);
        if (fd < 0)
            return STATUS_FAILED;
        plotter->files[plotter->file_count++] = fd;
        add_variable(plotter, text->name, fd);
        if (strcmp(text->name, plotter->script) == 0)
            snprintf(plotter->path, sizeof plotter->path, "/proc/self/fd/%d", fd);
    }
    return STATUS_OK;
}

/* Writes all data that is drawn: the timelines or, for a sweep, a row per run. */
static enum status write_data(FILE *out, const struct report *report)
{
    char message[MESSAGE_TEXT], clean[3 * MESSAGE_TEXT];
    if (report->sweep == NULL)
        return write_csv_timeline(out, report);
    fprintf(out, "# pipeline %s sweep\n# sweep:", report->version);
    for (int i = 0; i < report->sweep->axis_count; i++)
        fprintf(out, " %s", report->sweep->axes[i].option);
    putc('\n', out);
    writer_message(report, message);
    if (message[0] != '\0')
        fprintf(out, "# message: %s\n", escape_text(clean, sizeof clean, message));
    return write_csv_report(out, report);
}

/* Makes the data a file that awk can open. */
static enum status open_data(struct plotter *plotter, const struct report *report,
                             struct error *error)
{
    int fd = memory_file("data"), copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
    int failure = errno;
    bool written = out != NULL;
    if (out != NULL) {
        const bool whole = write_data(out, report) == STATUS_OK;
        written = fflush(out) == 0 && !ferror(out) && whole;
        failure = whole ? errno : ENOMEM;
        fclose(out);
    } else if (copy >= 0) {
        close(copy);
    }
    if (fd >= 0)
        plotter->files[plotter->file_count++] = fd;
    snprintf(plotter->data, sizeof plotter->data, "/proc/self/fd/%d", fd);
    if (!written)
        return error_set(error, STATUS_FAILED, "no memory file for the data: %s",
                         strerror(failure));
    return STATUS_OK;
}

/* --- what gnuplot says --- */

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
static void last_complaint(const struct plotter *plotter, char text[CHILD_ERRORS], char *line,
                           size_t room)
{
    char clean[CHILD_ERRORS * 3];
    for (size_t length = strlen(text); length > 0 && strchr("\n \t", text[length - 1]);)
        text[--length] = '\0';
    const char *last = telling_line(text);
    const char *path = strstr(last, plotter->path);
    if (last[0] == '\0') {
        snprintf(line, room, "it gives no reason");
    } else if (path == NULL) {
        snprintf(line, room, "%s", escape_text(clean, sizeof clean, last));
    } else {
        char named[CHILD_ERRORS + FILE_NAME];
        snprintf(named, sizeof named, "%.*s%s%s", (int)(path - last), last, plotter->script,
                 path + strlen(plotter->path));
        snprintf(line, room, "%s", escape_text(clean, sizeof clean, named));
    }
}

/* How a whole picture begins and ends. */
static const struct form {
    const char *ending, *begins, *ends;
    size_t begins_bytes, ends_bytes;
} forms[] = {
    {.ending = ".svg", .begins = "<", .begins_bytes = 1, .ends = "</svg>", .ends_bytes = 6},
    {.ending = ".png",
     .begins = "\x89PNG\r\n\x1a\n",
     .begins_bytes = 8,
     .ends = "\0\0\0\0IEND\xae\x42\x60\x82",
     .ends_bytes = 12},
    {.ending = ".pdf", .begins = "%PDF-", .begins_bytes = 5, .ends = "%%EOF", .ends_bytes = 5},
};

static bool is_whole(const char *picture, size_t length, const char *ending)
{
    while (length > 0 && strchr("\r\n\t ", picture[length - 1]) != NULL && picture[length - 1])
        length--;
    EACH (const struct form, form, forms, sizeof forms / sizeof forms[0]) {
        if (strcasecmp(ending, form->ending) == 0)
            return length >= form->begins_bytes + form->ends_bytes &&
                   memcmp(picture, form->begins, form->begins_bytes) == 0 &&
                   memcmp(picture + length - form->ends_bytes, form->ends, form->ends_bytes) ==
                       0;
    }
    return false;
}

static enum status judge(const struct plotter *plotter, struct child *gnuplot,
                         enum child_end end, struct error *error)
{
    char line[512];
    switch (end) {
    case CHILD_NOT_FOUND:
        return error_set(error, STATUS_FAILED,
                         "there is no gnuplot (apt-get install gnuplot-nox)");
    case CHILD_NOT_STARTED:
        return error_set(error, STATUS_FAILED, "gnuplot can't be started: %s",
                         strerror(gnuplot->code));
    case CHILD_LATE:
        return error_set(error, STATUS_FAILED, "gnuplot took over %d s and was ended",
                         gnuplot->seconds);
    case CHILD_FLOODED:
        return error_set(error, STATUS_FAILED, "gnuplot printed over %zu MiB and was ended",
                         gnuplot->output_max >> 20);
    case CHILD_LOST:
        return error_set(error, STATUS_FAILED, "what gnuplot drew can't be read: %s",
                         strerror(gnuplot->code));
    case CHILD_SIGNALLED:
        return error_set(error, STATUS_FAILED, "gnuplot was ended by signal %d", gnuplot->code);
    case CHILD_EXITED:
        break;
    }
    if (gnuplot->code != 0) {
        last_complaint(plotter, gnuplot->errors, line, sizeof line);
        return error_set(error, STATUS_FAILED, "gnuplot: %s", line);
    }
    if (gnuplot->length == 0)
        return error_set(error, STATUS_FAILED, "gnuplot: %s drew nothing", plotter->script);
    if (!is_whole(gnuplot->output, gnuplot->length, plotter->ending))
        return error_set(error, STATUS_FAILED, "gnuplot: %s drew no whole %s picture",
                         plotter->script, plotter->ending);
    return STATUS_OK;
}

/* --- the picture --- */

/* Draws into the memory of `gnuplot`. */
static enum status draw(struct plotter *plotter, const struct report *report,
                        struct child *gnuplot, struct error *error)
{
    enum status status = open_data(plotter, report, error);
    if (status == STATUS_OK)
        status = open_scripts(plotter, error);
    if (status == STATUS_OK) {
        char *const arguments[] = {
            "gnuplot",
            "-d",
            "-e",
            plotter->variables,
            "-c",
            plotter->path,
            plotter->data,
            (char *)plotter->ending,
            (char *)plotter->size,
            (char *)plotter->rows,
            NULL,
        };
        gnuplot->arguments = arguments;
        gnuplot->files = plotter->files;
        gnuplot->file_count = plotter->file_count;
        unsetenv("GNUTERM"); /* it would begin with that terminal, and end where it has none */
        status = judge(plotter, gnuplot, child_run(gnuplot), error);
    }
    for (int i = 0; i < plotter->file_count; i++)
        close(plotter->files[i]);
    return status;
}

/* Returns the name of a file for the data of `path`, to be freed: PATH.csv or, where there is
 * one, which may be what is read or other data that was kept, PATH.2.csv and so on. NULL: no
 * memory. */
static char *data_name(const char *path)
{
    char *name = NULL;
    bool taken = true;
    for (int i = 1; taken; i++) {
        free(name);
        if ((i == 1 ? asprintf(&name, "%s.csv", path) : asprintf(&name, "%s.%d.csv", path, i)) <
            0)
            return NULL;
        taken = access(name, F_OK) == 0;
    }
    return name;
}

/* Keeps the figures that were measured where their picture could not be drawn. */
static enum status keep_data(const char *path, const struct report *report,
                             const struct error *why, struct error *error)
{
    char *name = data_name(path), shown[256], kept[256];
    struct output_file data = {0};
    struct error lost = {0};
    writer_fit(shown, sizeof shown, path, 80);
    if (name == NULL)
        return error_set(error, STATUS_FAILED, "cannot draw '%s': %s", shown, why->text);
    writer_fit(kept, sizeof kept, name, 80);
    enum status status = output_file_open(&data, name, &lost);
    free(name);
    if (status == STATUS_OK) {
        status = write_data(data.stream, report);
        if (status == STATUS_OK)
            status = output_file_commit(&data, &lost);
        else
            error_set(&lost, status, "no memory to write it");
        output_file_discard(&data);
    }
    if (status != STATUS_OK)
        return error_set(error, STATUS_FAILED, "cannot draw '%s': %s; nor is its data kept: %s",
                         shown, why->text, lost.text);
    return error_set(error, STATUS_FAILED, "cannot draw '%s': %s; its data is in '%s'", shown,
                     why->text, kept);
}

enum status plot_draw_within(int seconds, struct output_file *file, const struct report *report,
                             const struct picture_style *style, struct error *error)
{
    static const char *const sizes[] = {
        [PICTURE_SLIDE] = "slide", [PICTURE_PAPER] = "paper", [PICTURE_FIGURE] = "figure"};
    struct plotter plotter = {
        .script = report->sweep != NULL ? "sweep.gp" : "timeline.gp",
        .ending = style->ending,
        .size = sizes[style->size],
        .rows = report->run_count == 1         ? "both"
                : style->rows == GANTT_STREAMS ? "streams"
                                               : "engines",
    };
    struct child gnuplot = {.seconds = seconds, .output_max = PICTURE_MAX};
    struct error why = {0};
    enum status status = draw(&plotter, report, &gnuplot, &why);
    if (status != STATUS_OK)
        status = keep_data(file->path, report, &why, error);
    else if (fwrite(gnuplot.output, 1, gnuplot.length, file->stream) != gnuplot.length ||
             fflush(file->stream) != 0)
        status = error_set(error, STATUS_FAILED, "cannot write the output file '%s': %s",
                           file->path, strerror(errno));
    free(gnuplot.output);
    return status;
}

enum status plot_draw(struct output_file *file, const struct report *report,
                      const struct picture_style *style, struct error *error)
{
    return plot_draw_within(PLOT_SECONDS, file, report, style, error);
}
