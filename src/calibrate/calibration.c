/* calibration.c - the machine file that a calibration writes, with a comment beside each
 * figure. */
#include "calibrate/calibrate.h"

#include "core/version.h"
#include "machine/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COMMENT_COLUMN = 36, COLUMNS = 100, DIGITS = 4, COMMENT_TEXT = FIGURE_TEXT + 64 };

static bool same_kernel(const char *one, const char *other)
{
    return strcmp(one != NULL ? one : "", other != NULL ? other : "") == 0;
}

const struct figure *calibration_figure(const struct calibration *calibration,
                                        const char *kernel, const char *key)
{
    EACH (const struct figure, figure, calibration->figures, calibration->figure_count) {
        if (same_kernel(figure->kernel, kernel) && strcmp(figure->key, key) == 0)
            return figure;
    }
    return NULL;
}

void figure_name(const char *kernel, const char *key, char name[FIGURE_NAME])
{
    if (kernel != NULL)
        snprintf(name, FIGURE_NAME, "[%s %s] %s", machine_kernel_section(kernel), kernel, key);
    else
        snprintf(name, FIGURE_NAME, "%s", key);
}

/* Writes rates as people do: 55.4e9, 101.3e9, 4.2e12. Whole numbers are written in full, and
 * words as what they are. */
static void number_text(const struct machine_field *field, double number,
                        char text[MACHINE_TEXT])
{
    int exponent = 0;
    if (field->type == FIELD_WORD) {
        snprintf(text, MACHINE_TEXT, "%s", field->words[(int)number]);
        return;
    }
    if (field->type != FIELD_REAL) {
        snprintf(text, MACHINE_TEXT, "%.15g", number);
        return;
    }
    while (number >= 1e6 || (exponent > 0 && number >= 1e3)) {
        number /= 1e3;
        exponent += 3;
    }
    snprintf(text, MACHINE_TEXT, exponent > 0 ? "%.*ge%d" : "%.*g", DIGITS, number, exponent);
}

static void comment_text(const struct calibration *calibration,
                         const struct machine_field *field, double number,
                         const struct figure *figure, char text[COMMENT_TEXT])
{
    if (figure->spread < 0 || calibration->simulated)
        snprintf(text, COMMENT_TEXT, "%s", figure->how);
    else if (field->type == FIELD_NS)
        snprintf(text, COMMENT_TEXT, "+-%.0f ns: %s", figure->spread, figure->how);
    else
        snprintf(text, COMMENT_TEXT, "+-%.1f %%: %s", 100 * figure->spread / number,
                 figure->how);
    EACH (const struct outcome, outcome, calibration->outcomes, calibration->outcome_count) {
        if (same_kernel(outcome->kernel, figure->kernel) &&
            strcmp(outcome->key, figure->key) == 0 && outcome->apart > outcome->usual)
            text_add(text, COMMENT_TEXT, "", "; held within %.0f %%",
                     ceil(100 * outcome->apart));
    }
}

/* Puts a comment at `column` of a line of which `used` columns are taken; a long comment goes
 * on in the lines below. */
static void put_comment(FILE *out, int used, int column, const char *text)
{
    const int room = COLUMNS - column - 2;
    while (*text != '\0') {
        int length = (int)strlen(text), padding = column - used;
        while (length > room && memrchr(text, ' ', (size_t)length) != NULL)
            length = (int)((const char *)memrchr(text, ' ', (size_t)length) - text);
        if (padding < 1 && used > 0)
            padding = 1;
        fprintf(out, "%*s; %.*s\n", padding, "", length, text);
        used = 0;
        text += length;
        text += strspn(text, " ");
    }
}

static void put_figure(FILE *out, const struct calibration *calibration,
                       const struct machine_field *field, const void *record,
                       const struct figure *figure)
{
    char number[MACHINE_TEXT], comment[COMMENT_TEXT];
    double value = machine_field_get(field, record);
    number_text(field, value, number);
    comment_text(calibration, field, value, figure, comment);
    put_comment(out, fprintf(out, "%s = %s", field->key, number), COMMENT_COLUMN, comment);
}

/* Puts the kernels' sections of that kind. */
static void put_kernels(FILE *out, const struct calibration *calibration, const char *kind)
{
    EACH (const struct machine_kernel, row, calibration->machine.kernels,
          calibration->machine.kernel_count) {
        if (strcmp(machine_kernel_section(row->name), kind) != 0)
            continue;
        fprintf(out, "\n[%s %s]\n", kind, row->name);
        for (const struct machine_field *field = machine_kernel_fields; field->key != NULL;
             field++) {
            const struct figure *figure =
                calibration_figure(calibration, row->name, field->key);
            if (figure != NULL)
                put_figure(out, calibration, field, row, figure);
        }
    }
}

/* Puts what each part took. */
static void put_parts(FILE *out, const struct calibration *calibration)
{
    char text[PARTS_MAX * 32] = "Of that:";
    if (calibration->simulated)
        return;
    for (int i = 0; i < calibration->part_count; i++) {
        const struct part_time *part = &calibration->parts[i];
        text_add(text, sizeof text, i > 0 ? "," : "", " %s %.1f s", part->name,
                 1e-9 * (double)part->took_ns);
    }
    put_comment(out, 0, 0, text);
}

/* Puts the first lines: the device, how and when it was measured or simulated. */
static void put_head(FILE *out, const struct calibration *calibration)
{
    const struct machine *machine = &calibration->machine;
    char text[4 * COLUMNS], date[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    snprintf(text, sizeof text, "%s, %s by `pipeline calibrate` %s on %s in %.0f s%s%s.",
             machine->summary, calibration->simulated ? "simulated: calibrated" : "measured",
             PIPELINE_VERSION, date, ceil(1e-9 * (double)calibration->took_ns),
             calibration->driver[0] != '\0' ? ", " : "", calibration->driver);
    put_comment(out, 0, 0, text);
    put_parts(out, calibration);
    put_comment(out, 0, 0,
                calibration->simulated
                    ? "Nothing here was measured on a real device."
                    : "+-: half the range of a figure's passes. What has none was not timed.");
    fprintf(out, "\n[machine]\nformat = %d\nsummary = %s\narchitecture = %s\n", MACHINE_FORMAT,
            machine->summary, machine->architecture);
}

/* Puts how the figures were held against plain runs. */
static void put_outcomes(FILE *out, const struct calibration *calibration)
{
    char name[FIGURE_NAME];
    if (calibration->simulated || calibration->outcome_count == 0)
        return;
    fputc('\n', out);
    put_comment(
        out, 0, 0,
        "Held against plain runs: what a step of them takes by this file, what it took, "
        "and how far these are apart, of what is usual.");
    EACH (const struct outcome, outcome, calibration->outcomes, calibration->outcome_count) {
        figure_name(outcome->kernel, outcome->key, name);
        fprintf(out, "; %-37s %9.4g us %9.4g us %6.1f %% of %.0f %%\n", name,
                1e-3 * outcome->said_ns, 1e-3 * outcome->took_ns, 100 * outcome->apart,
                100 * outcome->usual);
    }
}

void calibration_write(FILE *out, const struct calibration *calibration)
{
    const char *section = "machine";
    put_head(out, calibration);
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        const struct figure *figure = calibration_figure(calibration, NULL, field->key);
        if (figure == NULL)
            continue;
        if (strcmp(section, field->section) != 0)
            fprintf(out, "\n[%s]\n", field->section);
        section = field->section;
        put_figure(out, calibration, field, &calibration->machine, figure);
    }
    put_kernels(out, calibration, "kernel");
    put_kernels(out, calibration, "own");
    put_outcomes(out, calibration);
}

enum { TEXT_MAX = 1 << 20 }; /* as much as a reader takes */

char *calibration_text(const struct calibration *calibration)
{
    char *text = malloc(TEXT_MAX);
    FILE *out = text != NULL ? fmemopen(text, TEXT_MAX, "w") : NULL;
    if (out != NULL)
        calibration_write(out, calibration);
    bool whole = out != NULL && fflush(out) == 0 && !ferror(out);
    if (out != NULL)
        fclose(out);
    if (whole)
        return text;
    free(text);
    return NULL;
}
