/* csv.c - reads what `nsys stats -r cuda_gpu_trace --format csv` and `nvprof --print-gpu-trace
 * --csv` print, line by line.
 *
 * Lines before the one with the columns' names are the tool's own ("Processing [x.sqlite] with
 * ..."). Columns are found by how their names begin, since versions differ in which there are
 * and in what order; a time's or a size's unit stands behind its name: "Start (ns)",
 * "Duration (us)", "Bytes (MB)". Quoting is RFC 4180's. */
#include "core/units.h"
#include "trace/build.h"
#include "trace/input.h"
#include "trace/profiled.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    PREFACE_MAX = 200, /* lines that the tool may print before the columns' names */
    AHEAD = 1 << 20,   /* bytes in which numbers must show how they are written */
};

enum column { START, DURATION, NAME, STREAM, DEVICE, CONTEXT, BYTES, SOURCE, TARGET, COLUMNS };

struct unit {
    const char *name;
    uint64_t size;
};

static const struct unit time_units[] = {
    {"ns", 1},           {"nsec", 1},         {"us", 1000},    {"usec", 1000},
    {"\xc2\xb5s", 1000}, {"\xce\xbcs", 1000}, {"ms", 1000000}, {"msec", 1000000},
    {"s", 1000000000},   {"sec", 1000000000}, {NULL, 0},
};
static const struct unit byte_units[] = {
    {"B", 1},           {"byte", 1},      {"bytes", 1},     {"kB", 1000},     {"MB", 1000000},
    {"GB", 1000000000}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0},
};

static const struct unit nvprof_byte_units[] = {
    {"B", 1}, {"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {NULL, 0},
};

static const struct {
    const char *begins, *called;
    bool required;
    const struct unit *units; /* NULL where it has none */
    const char *nvprof;       /* how nvprof's name begins, where that differs; or NULL */
} columns[COLUMNS] = {
    [START] = {"Start", "Start", true, time_units, NULL},
    [DURATION] = {"Dur", "Duration", true, time_units, NULL},
    [NAME] = {"Name", "Name", true, NULL, NULL},
    [STREAM] = {"Str", "Strm", true, NULL, NULL},
    [DEVICE] = {"Dev", "Device", false, NULL, NULL},
    [CONTEXT] = {"Ctx", "Ctx", false, NULL, "Context"},
    [BYTES] = {"Bytes", "Bytes", false, byte_units, "Size"},
    [SOURCE] = {"SrcMem", "SrcMemKd", false, NULL, NULL},
    [TARGET] = {"DstMem", "DstMemKd", false, NULL, NULL},
};

struct reader {
    struct csv_text csv;
    int at[COLUMNS];              /* field of each column; -1 where there is none */
    uint64_t unit[COLUMNS];       /* 1 where a column has none */
    int decimals[COLUMNS];        /* most decimals that a number of the column had */
    struct csv_notation notation; /* of its numbers */
    bool blank;                   /* the line before was blank */
    struct profiled profiled;
    struct names devices; /* by their words */
};

static bool failed(const struct reader *reader)
{
    return draft_failed(&reader->profiled.draft);
}

static void refuse_field(const struct reader *reader, enum column column, const char *why)
{
    csv_refuse(&reader->csv, columns[column].called, reader->csv.fields[reader->at[column]],
               why);
}

/* --- the header --- */

/* Returns true if the fields are columns' names. */
static bool is_header(const struct reader *reader)
{
    bool start = false, duration = false;
    for (int i = 0; i < reader->csv.field_count; i++) {
        start |= strncasecmp(reader->csv.fields[i], columns[START].begins, 5) == 0;
        duration |= strncasecmp(reader->csv.fields[i], columns[DURATION].begins, 3) == 0;
    }
    return start && duration;
}

/* Returns the unit of that name; NULL: there is none. */
static const struct unit *unit_named(const struct unit *units, const char *name, size_t length)
{
    for (; units->name != NULL; units++) {
        if (strlen(units->name) == length && strncasecmp(units->name, name, length) == 0)
            return units;
    }
    return NULL;
}

/* Reads the unit in the brackets behind a column's name; without brackets it is the first of
 * the column's units. */
static void read_unit(struct reader *reader, enum column column)
{
    const struct unit *unit = columns[column].units;
    const char *text = unit != NULL && reader->at[column] >= 0
                           ? strpbrk(reader->csv.fields[reader->at[column]], "([")
                           : NULL;
    if (text != NULL)
        unit = unit_named(unit, text + 1, strcspn(text + 1, ")]"));
    if (text != NULL && unit == NULL)
        refuse_field(reader, column, "has a unit that is not known");
    reader->unit[column] = unit != NULL ? unit->size : 1;
}

/* Reads units from the line below the columns' names, where nvprof has them; it counts bytes in
 * powers of two. False: the line is a row. */
static bool read_unit_line(struct reader *reader)
{
    const struct unit *found[COLUMNS] = {NULL};
    for (int i = 0; i < COLUMNS; i++) {
        const char *field = reader->at[i] >= 0 ? reader->csv.fields[reader->at[i]] : "";
        if (columns[i].units != NULL)
            found[i] =
                unit_named(i == BYTES ? nvprof_byte_units : time_units, field, strlen(field));
    }
    if (found[START] == NULL || found[DURATION] == NULL)
        return false;
    for (int i = 0; i < COLUMNS; i++)
        reader->unit[i] = found[i] != NULL ? found[i]->size : reader->unit[i];
    return true;
}

/* Finds the field of a column and the unit of its numbers. */
static void find_column(struct reader *reader, enum column column)
{
    reader->at[column] = -1;
    for (int i = 0; i < reader->csv.field_count; i++) {
        const char *field = reader->csv.fields[i];
        const char *begins = columns[column].begins, *nvprof = columns[column].nvprof;
        if (strncasecmp(field, begins, strlen(begins)) != 0 &&
            (nvprof == NULL || strncasecmp(field, nvprof, strlen(nvprof)) != 0))
            continue;
        if (reader->at[column] >= 0)
            trace_refuse(&reader->csv.text, "two columns are called %s",
                         columns[column].called);
        reader->at[column] = i;
    }
    if (reader->at[column] < 0 && columns[column].required)
        trace_refuse(
            &reader->csv.text,
            "no column %s: not the report cuda_gpu_trace (nsys stats -r cuda_gpu_trace "
            "--format csv REPORT)",
            columns[column].called);
    read_unit(reader, column);
}

static void read_header(struct reader *reader)
{
    reader->csv.header_fields = reader->csv.field_count;
    for (int column = 0; column < COLUMNS; column++)
        find_column(reader, (enum column)column);
}

static void refuse_file(struct reader *reader, const char *why)
{
    const bool empty = reader->csv.text.line_number == 0;
    reader->csv.text.line_number = 1;
    if (empty)
        trace_refuse(&reader->csv.text, "not a trace: the file is empty");
    trace_refuse(&reader->csv.text,
                 "not a trace%s: no line names the columns Start, Duration, ..., Name (nsys "
                 "stats -r cuda_gpu_trace --format csv REPORT prints one)",
                 why);
}

static void find_header(struct reader *reader)
{
    const char *why = "";
    for (int i = 0; i < PREFACE_MAX && trace_next_line(&reader->csv.text); i++) {
        if (memchr(reader->csv.text.line, '\0', reader->csv.text.length) != NULL) {
            refuse_file(reader, ", and not text");
            return;
        }
        const char *text = reader->csv.text.line + strspn(reader->csv.text.line, " \"");
        const char *separator = strpbrk(text, ",;\t"); /* no column's name has one */
        reader->csv.separator = separator != NULL ? *separator : '\0';
        bool table = strncmp(text, "Start (", 7) == 0 && reader->csv.separator == '\0';
        why = table ? ", but nsys's table for people" : why;
        if (!csv_split(&reader->csv)) {
            error_clear(reader->csv.text.error); /* the line was the tool's own words */
        } else if (is_header(reader)) {
            read_header(reader);
            return;
        }
    }
    refuse_file(reader, why);
}

/* --- how numbers are written --- */

/* Learns from the rows in `text`, a copy, of which the last may be cut off. */
static void learn_from(struct reader *reader, char *text)
{
    struct csv_text *csv = &reader->csv;
    const char *why;
    bool first = true;
    for (char *end; (end = strchr(text, '\n')) != NULL && reader->notation.decimal == '\0';
         text = end + 1) {
        *end = '\0';
        text[strcspn(text, "\r")] = '\0';
        if (csv_line_split(text, csv->separator, csv->fields, CSV_FIELDS_MAX, &why) !=
            csv->header_fields)
            continue;
        const bool units = first && read_unit_line(reader);
        first = false;
        for (int i = 0; i < COLUMNS && !units; i++) {
            if (columns[i].units != NULL && reader->at[i] >= 0)
                csv_notation_learn(&reader->notation, csv->fields[reader->at[i]],
                                   csv->separator == ',', reader->unit[i] == 1);
        }
    }
}

/* Finds out from the rows ahead whether their numbers have a decimal point or a comma. */
static void learn_notation(struct reader *reader)
{
    struct trace_input *input = reader->csv.text.input;
    struct csv_notation *notation = &reader->notation;
    const bool filled = trace_input_fill(input, AHEAD);
    const size_t ahead = filled ? input->end - input->at : 0;
    char *copy = filled ? malloc(ahead + 2) : NULL;
    if (copy == NULL) {
        error_no_memory(reader->csv.text.error, "for the trace");
        return;
    }
    memcpy(copy, input->text + input->at, ahead);
    strcpy(copy + ahead, input->over ? "\n" : "");
    learn_from(reader, copy);
    free(copy);
    if (notation->decimal != '\0')
        return;
    if (notation->likely == '\0' && notation->unclear[0] != '\0')
        trace_refuse(
            &reader->csv.text,
            "'%s' below may have decimals or be in thousands, and no other "
            "number tells: `nsys stats -r cuda_gpu_trace --format csv` prints whole ns",
            notation->unclear);
    notation->decimal = notation->likely != '\0' ? notation->likely : '.';
}

/* --- rows --- */

/* Returns the number in a field; 0: it is none, and refused. */
static int64_t read_number(struct reader *reader, enum column column)
{
    int64_t value = 0;
    const enum units_result result =
        csv_number(reader->csv.fields[reader->at[column]], reader->notation.decimal,
                   reader->unit[column], &value, &reader->decimals[column]);
    if (result != UNITS_OK)
        refuse_field(reader, column, units_complaint(result));
    return value;
}

/* Returns the number of a stream or a context. */
static uint32_t read_id(struct reader *reader, enum column column)
{
    const int64_t value = read_number(reader, column);
    if (value >= RECORDING_NONE || reader->decimals[column] > 0)
        refuse_field(reader, column, "is no id");
    return (uint32_t)value;
}

/* Returns the field of a column that need not be there; an empty text where it is not. */
static const char *field_or_empty(const struct reader *reader, enum column column)
{
    return reader->at[column] >= 0 ? reader->csv.fields[reader->at[column]] : "";
}

static enum host_memory memory_of(const char *field)
{
    if (strcasecmp(field, "Pageable") == 0)
        return HOST_MEMORY_PAGEABLE;
    return strcasecmp(field, "Pinned") == 0 ? HOST_MEMORY_PINNED : HOST_MEMORY_UNKNOWN;
}

/* Returns a stream of a device, of which this form has no more than the words. */
static uint32_t stream_of(struct reader *reader, uint32_t context, uint32_t number)
{
    struct profiled *profiled = &reader->profiled;
    const char *said = field_or_empty(reader, DEVICE), *words = *said != '\0' ? said : "a GPU";
    const uint32_t device =
        draft_number(&profiled->draft, &reader->devices, words, strlen(words));
    if (device == profiled->devices.count) {
        struct recorded_device *added = profiled_device(profiled, device, words);
        added->shown = added->name;
    }
    const uint32_t index = profiled_stream(profiled, 0, context, device, number);
    draft_stream(&profiled->draft, index)->stream.kind = STREAM_KIND_COUNT;
    return index;
}

static void read_row(struct reader *reader)
{
    const char *name = reader->csv.fields[reader->at[NAME]];
    const int64_t start_ns = read_number(reader, START),
                  duration_ns = read_number(reader, DURATION);
    int64_t end_ns;
    if (__builtin_add_overflow(start_ns, duration_ns, &end_ns))
        refuse_field(reader, DURATION, "is too large: it ends after all time");
    const uint32_t number = read_id(reader, STREAM);
    const uint32_t context =
        *field_or_empty(reader, CONTEXT) != '\0' ? read_id(reader, CONTEXT) : 0;
    const int64_t bytes =
        *field_or_empty(reader, BYTES) != '\0' ? read_number(reader, BYTES) : 0;
    if (*name == '\0')
        trace_refuse(&reader->csv.text, "a row without a name");
    else if (*name == '[' && name[strlen(name) - 1] != ']')
        refuse_field(reader, NAME, "has no end: cut short?");
    if (failed(reader))
        return;
    struct recorded_op *op =
        profiled_op(&reader->profiled, DRAFT_NO_CALL, name, stream_of(reader, context, number));
    op->start_ns = start_ns;
    op->end_ns = end_ns;
    op->bytes = (uint64_t)bytes;
    op->from = op->to =
        (uint8_t)memory_of(field_or_empty(reader, op->kind == OP_H2D ? SOURCE : TARGET));
}

/* Reads a line behind the header. The report ends where, behind a blank line, something else
 * begins: nsys prints several reports one after the other. Returns false there. */
static bool read_line(struct reader *reader)
{
    struct csv_text *csv = &reader->csv;
    if (memchr(csv->text.line, '\0', csv->text.length) != NULL)
        return trace_refuse(&csv->text, "not text") == STATUS_OK;
    if (csv->text.line[strspn(csv->text.line, " \t")] == '\0')
        return reader->blank = true;
    const bool split = csv_split(csv);
    if (reader->blank &&
        (!split || csv->field_count != csv->header_fields || is_header(reader))) {
        error_clear(csv->text.error);
        return false;
    }
    reader->blank = false;
    const bool first = reader->profiled.draft.ops.count == 0;
    if (split && csv_check_count(csv) && !(first && read_unit_line(reader)))
        read_row(reader);
    return !failed(reader);
}

/* Returns the finest step of a column's numbers: its unit over the decimals that they had. */
static uint64_t step_of(const struct reader *reader, enum column column)
{
    uint64_t step = reader->unit[column];
    for (int i = 0; i < reader->decimals[column] && step >= 10; i++)
        step /= 10;
    return step;
}

/* Makes timelines of all that was read, unless something went wrong; errors that lie in no line
 * are said of the last. */
static enum status finish(struct reader *reader, struct traces *traces)
{
    struct error why = {0};
    struct draft *draft = &reader->profiled.draft;
    const uint64_t start = step_of(reader, START), duration = step_of(reader, DURATION);
    if (!failed(reader)) {
        draft->recording->resolution_ns = (int64_t)(start > duration ? start : duration);
        draft->recording->bytes_unit = step_of(reader, BYTES);
        draft->text.error = &why;
    }
    const enum status status =
        profiled_finish(&reader->profiled, TIMING_NSYS, TRACE_NSYS_DRIVER, traces);
    return reader->csv.text.error->status == STATUS_OK ? trace_pass(&reader->csv.text, &why)
                                                       : status;
}

enum status trace_csv_read(struct trace_input *input, const char *path, struct traces *traces,
                           struct error *error)
{
    struct error why = {0};
    struct reader reader = {.csv.text = {.path = path, .input = input, .error = &why}};
    profiled_begin(&reader.profiled, &why);
    if (!failed(&reader))
        find_header(&reader);
    if (!failed(&reader))
        learn_notation(&reader);
    while (!failed(&reader) && trace_next_line(&reader.csv.text) && read_line(&reader))
        continue;
    const enum status status = finish(&reader, traces);
    names_free(&reader.devices);
    return status == STATUS_OK ? status : error_pass(error, &why);
}
