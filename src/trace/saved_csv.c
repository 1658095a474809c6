/* saved_csv.c - reads the timelines that this program writes as CSV: lines of provenance that
 * begin with '#', run by run, then a row per op. Columns are found by their names: more may
 * stand behind those known here. */
#include "core/items.h"
#include "core/units.h"
#include "plan/settings.h"
#include "trace/input.h"
#include "trace/saved.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum column {
    RUN,
    OP,
    KIND,
    NAME,
    TILE,
    STREAM,
    ENGINE,
    LANE,
    BYTES,
    ISSUE,
    START,
    END,
    COLUMNS_NEEDED,
    DEVICE = COLUMNS_NEEDED, /* where some run has several */
    COLUMNS
};
static const char *const columns[COLUMNS] = {
    [RUN] = "run",       [OP] = "op",          [KIND] = "kind",      [NAME] = "name",
    [TILE] = "tile",     [STREAM] = "stream",  [ENGINE] = "engine",  [LANE] = "lane",
    [BYTES] = "bytes",   [ISSUE] = "issue_ns", [START] = "start_ns", [END] = "end_ns",
    [DEVICE] = "device",
};

/* Numbers of streams leave room behind them: for one more on each of the run's devices. */
#define STREAM_MOST (SAVED_NONE - 1 - MACHINE_DEVICES_MAX)

struct reader {
    struct csv_text csv;
    int at[COLUMNS]; /* field of each column */
    struct saved_run *runs;
    size_t run_count, run_capacity;
    size_t run;     /* that the rows are of */
    int64_t latest; /* its latest op; -1: none yet */
    bool headed;
};

/* --- provenance --- */

/* Returns true once something was refused, or memory ran out: then all is given up. */
static bool failed(const struct reader *reader)
{
    return reader->csv.text.error->status != STATUS_OK;
}

static void add_run(struct reader *reader, const char *name)
{
    struct saved_run *run = ITEMS_ADD(reader->runs, reader->run_count, reader->run_capacity);
    if (run == NULL) {
        error_no_memory(reader->csv.text.error, "for the timeline");
        return;
    }
    *run = (struct saved_run){.line = reader->csv.text.line_number,
                              .trace.timeline.resolution_ns = 1};
    snprintf(run->trace.name, sizeof run->trace.name, "%s", name);
}

static void read_ns(const struct reader *reader, const char *key, const char *text, int64_t *ns)
{
    uint64_t value;
    if (!trace_read_whole(text, INT64_MAX, &value))
        csv_refuse(&reader->csv, key, text, "is no number of ns");
    else
        *ns = (int64_t)value;
}

/* h2d=62692 compute=4011 ... */
static void read_busy(const struct reader *reader, struct saved_run *run, char *text)
{
    for (char *rest = NULL, *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        size_t length = strcspn(word, "=");
        for (int i = 0; i < ENGINE_WORKING && word[length] == '='; i++) {
            const char *name = engine_name((enum engine)i);
            if (strlen(name) == length && strncmp(name, word, length) == 0)
                read_ns(reader, "busy_ns", word + length + 1, &run->busy_ns[i]);
        }
    }
    run->busy_known = true;
}

/* 4=legacy 5=blocking */
static void read_kinds(const struct reader *reader, struct saved_run *run, char *text)
{
    for (char *rest = NULL, *word = strtok_r(text, " ", &rest); word != NULL && !failed(reader);
         word = strtok_r(NULL, " ", &rest)) {
        uint64_t stream = 0;
        char *name = strchr(word, '='), shown[TRACE_SHOWN];
        int kind = name != NULL ? 0 : STREAM_KIND_COUNT;
        if (name != NULL)
            *name++ = '\0';
        while (kind < STREAM_KIND_COUNT &&
               strcmp(stream_kind_name((enum stream_kind)kind), name) != 0)
            kind++;
        if (kind == STREAM_KIND_COUNT || !trace_read_whole(word, STREAM_MOST, &stream))
            trace_refuse(&reader->csv.text, "'%s' is no stream with its kind",
                         trace_shown(word, shown));
        struct saved_kind *kept = ITEMS_ADD(run->kinds, run->kind_count, run->kind_capacity);
        if (kept == NULL)
            error_no_memory(reader->csv.text.error, "for the timeline");
        else
            *kept = (struct saved_kind){(uint32_t)stream, (uint8_t)kind};
    }
}

static void read_timing(const struct reader *reader, struct saved_run *run, const char *text)
{
    struct timeline *timeline = &run->trace.timeline;
    run->timing_known = false;
    for (int i = 0; i < TIMING_COUNT && !run->timing_known; i++) {
        timeline->timing = (enum timing)i;
        run->timing_known = strcmp(timeline_timing(timeline), text) == 0;
    }
    if (!run->timing_known)
        csv_refuse(&reader->csv, "timing", text, "is none that is known");
}

static void read_devices(const struct reader *reader, uint32_t *devices, const char *text)
{
    uint64_t value;
    if (!trace_read_whole(text, MACHINE_DEVICES_MAX, &value))
        csv_refuse(&reader->csv, "devices", text, "is no number that it can be");
    *devices = (uint32_t)value;
}

/* Returns the value of --share that `name` begins with; none where that is no such value. */
static enum sharing sharing_of(const char *name)
{
    for (int i = SHARING_SLICES; sharing_names[i] != NULL; i++)
        if (strncmp(name, sharing_names[i], strlen(sharing_names[i])) == 0)
            return (enum sharing)i;
    return SHARING_NONE;
}

static void read_settings(struct saved_run *run, const char *text)
{
    const char *memory = strstr(text, "memory="), *share = strstr(text, " share=");
    run->settled = true;
    run->trace.timeline.sharing =
        share != NULL ? sharing_of(share + strlen(" share=")) : SHARING_NONE;
    if (memory != NULL)
        run->memory = strncmp(memory, "memory=pageable", 15) == 0 ? HOST_MEMORY_PAGEABLE
                                                                  : HOST_MEMORY_PINNED;
}

/* Reads "#   key: value", which is about the latest run; a key that is not known is passed
 * over, since later versions may have more. */
static void read_fact(struct reader *reader, char *key, char *value)
{
    struct saved_run *run = &reader->runs[reader->run_count - 1];
    struct trace *trace = &run->trace;
    struct timeline *timeline = &trace->timeline;
    if (strcmp(key, "timing") == 0)
        read_timing(reader, run, value);
    else if (strcmp(key, "resolution_ns") == 0)
        read_ns(reader, key, value, &timeline->resolution_ns);
    else if (strcmp(key, "limit_ns") == 0)
        read_ns(reader, key, value, &trace->limit_ns);
    else if (strcmp(key, "launched_ns") == 0)
        read_ns(reader, key, value, &timeline->launched_ns);
    else if (strcmp(key, "busy_ns") == 0)
        read_busy(reader, run, value);
    else if (strcmp(key, "stream_kinds") == 0)
        read_kinds(reader, run, value);
    else if (strcmp(key, "devices") == 0)
        read_devices(reader, &timeline->devices, value);
    else if (strcmp(key, "speedup") == 0 && units_read_real(value, &trace->speedup) != UNITS_OK)
        trace->speedup = 0;
    else if (strcmp(key, "device") == 0)
        snprintf(timeline->device, sizeof timeline->device, "%s", csv_unmark(value));
    else if (strcmp(key, "driver") == 0)
        snprintf(timeline->driver, sizeof timeline->driver, "%s", csv_unmark(value));
    else if (strcmp(key, "issue_times") == 0)
        timeline->issue_unknown = strcmp(value, "unknown") == 0;
    else if (strcmp(key, "settings") == 0)
        read_settings(run, value);
}

static void read_comment(struct reader *reader)
{
    char *line = reader->csv.text.line, *colon = strchr(line, ':');
    if (strncmp(line, "# run: ", 7) == 0) {
        add_run(reader, csv_unmark(line + 7));
    } else if (strncmp(line, "#   ", 4) == 0 && colon != NULL && reader->run_count > 0) {
        *colon = '\0';
        read_fact(reader, line + 4, colon + 1 + strspn(colon + 1, " "));
    }
}

/* --- rows --- */

/* Finds the columns, by the fields of the header. */
static void read_header(struct reader *reader)
{
    for (int column = 0; column < COLUMNS; column++) {
        int i = 0;
        while (i < reader->csv.field_count &&
               strcmp(reader->csv.fields[i], columns[column]) != 0)
            i++;
        if (i == reader->csv.field_count && column < COLUMNS_NEEDED)
            trace_refuse(&reader->csv.text, "no column %s: not a timeline of this program",
                         columns[column]);
        reader->at[column] = i;
    }
    reader->csv.header_fields = reader->csv.field_count;
    reader->headed = true;
}

static const char *field(const struct reader *reader, enum column column)
{
    return reader->csv.fields[reader->at[column]];
}

/* Finds the run of a row. Runs may be called alike: their rows stand together, and the ops of a
 * run count upwards. */
static void find_run(struct reader *reader, uint32_t op)
{
    char shown[TRACE_SHOWN];
    const char *name = field(reader, RUN);
    const bool begun = reader->latest >= 0;
    size_t run = reader->run + (begun && op <= reader->latest);
    while (run < reader->run_count && strcmp(reader->runs[run].trace.name, name) != 0)
        run++;
    if (run == reader->run_count)
        trace_refuse(&reader->csv.text,
                     "op %" PRIu32 " of run '%s': no line '# run:' announces it here", op,
                     trace_shown(name, shown));
    else if (!reader->runs[run].timing_known)
        trace_refuse(&reader->csv.text, "no line '#   timing:' says where run '%s' comes from",
                     trace_shown(name, shown));
    reader->run = run;
    reader->latest = op;
}

/* Returns the number in a field; 0: it is none, or larger than `most`, and refused. */
static uint64_t read_field(const struct reader *reader, enum column column, uint64_t most)
{
    uint64_t value;
    if (trace_read_whole(field(reader, column), most, &value))
        return value;
    csv_refuse(&reader->csv, columns[column], field(reader, column),
               "is not a number that it can be");
    return 0;
}

/* Returns a number that need not be there: SAVED_NONE then. */
static uint32_t read_optional(const struct reader *reader, enum column column, uint64_t most)
{
    return *field(reader, column) != '\0' ? (uint32_t)read_field(reader, column, most)
                                          : SAVED_NONE;
}

static uint8_t read_kind(const struct reader *reader)
{
    char shown[TRACE_SHOWN];
    const char *name = field(reader, KIND);
    int at = 0;
    while (at < OP_KIND_COUNT && strcmp(op_kind_name((enum op_kind)at), name) != 0)
        at++;
    if (at == OP_KIND_COUNT)
        csv_refuse(&reader->csv, "kind", name, "is unknown");
    else if (strcmp(engine_name(op_rows[at].engine), field(reader, ENGINE)) != 0)
        trace_refuse(&reader->csv.text, "engine '%s' does no %s",
                     trace_shown(field(reader, ENGINE), shown), name);
    return (uint8_t)at;
}

static void read_row(struct reader *reader)
{
    csv_unmark(reader->csv.fields[reader->at[RUN]]);
    const char *name = csv_unmark(reader->csv.fields[reader->at[NAME]]);
    struct error why = {0};
    const uint32_t op = (uint32_t)read_field(reader, OP, UINT32_MAX - 1);
    if (!failed(reader))
        find_run(reader, op);
    struct span span = {.op = op};
    span.kind = read_kind(reader);
    span.bytes = read_field(reader, BYTES, UINT64_MAX);
    span.issue_ns = (int64_t)read_field(reader, ISSUE, INT64_MAX / 2);
    span.start_ns = (int64_t)read_field(reader, START, INT64_MAX / 2);
    span.end_ns = (int64_t)read_field(reader, END, INT64_MAX / 2);
    span.stream = read_optional(reader, STREAM, STREAM_MOST);
    span.tile = (int32_t)read_optional(reader, TILE, INT32_MAX);
    if (reader->at[DEVICE] < reader->csv.field_count)
        span.device = read_field(reader, DEVICE, MACHINE_DEVICES_MAX - 1) & SPAN_BITS;
    if (failed(reader))
        return;
    saved_add_row(&reader->runs[reader->run], span, name, &why);
    trace_pass(&reader->csv.text, &why);
}

/* --- lines --- */

static void read_line(struct reader *reader)
{
    struct csv_text *csv = &reader->csv;
    if (memchr(csv->text.line, '\0', csv->text.length) != NULL)
        trace_refuse(&csv->text, "not text");
    else if (csv->text.length > 0 && csv->text.line[0] == '#')
        read_comment(reader);
    else if (csv->text.length > 0 && !csv->text.whole)
        trace_refuse(&csv->text, "the line has no end: cut short?");
    else if (csv->text.length > 0 && csv_split(csv) && !reader->headed)
        read_header(reader);
    else if (csv->text.length > 0 && !failed(reader) && csv_check_count(csv))
        read_row(reader);
}

static void read_all(struct reader *reader)
{
    while (!failed(reader) && trace_next_line(&reader->csv.text))
        read_line(reader);
    if (!reader->headed)
        trace_refuse(&reader->csv.text, "no line names the columns: cut short?");
}

static void finish(struct reader *reader, struct traces *traces)
{
    struct traces result;
    struct error why = {0};
    enum status status = traces_create(&result, reader->run_count, &why);
    for (size_t i = 0; i < reader->run_count && status == STATUS_OK; i++) {
        reader->csv.text.line_number = reader->runs[i].line;
        status = saved_finish(&reader->runs[i], &result.items[i], &why);
    }
    if (status == STATUS_OK)
        *traces = result;
    else
        traces_free(&result);
    trace_pass(&reader->csv.text, &why);
}

enum status saved_csv_read(struct trace_input *input, const char *path, struct traces *traces,
                           struct error *error)
{
    struct error why = {0};
    struct reader reader = {.csv.separator = ',',
                            .csv.text = {.path = path, .input = input, .error = &why},
                            .latest = -1};
    read_all(&reader);
    if (!failed(&reader))
        finish(&reader, traces);
    for (size_t i = 0; i < reader.run_count; i++)
        saved_run_free(&reader.runs[i]);
    free(reader.runs);
    return why.status == STATUS_OK ? STATUS_OK : error_pass(error, &why);
}
