/* saved_csv.c - reads the timelines that this program writes as CSV: lines of provenance that
 * begin with '#', run by run, then a row per op. Columns are found by their names: more may
 * stand behind those known here. */
#include "core/items.h"
#include "core/units.h"
#include "trace/csv_line.h"
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

struct reader {
    struct csv_text csv;
    int at[COLUMNS]; /* field of each column */
    struct saved_builder builder;
    uint64_t *run_lines; /* where each run begins */
    size_t run_line_room;
    size_t run;     /* that the rows are of */
    int64_t latest; /* its latest op; -1: none yet */
    bool headed;
};

static enum status no_memory(const struct reader *reader)
{
    return error_set(reader->csv.text.error, STATUS_NO_MEMORY, "no memory for the timeline");
}

/* --- provenance --- */

static enum status add_run(struct reader *reader, const char *name)
{
    size_t count = reader->builder.count;
    const bool room = ITEMS_ROOM(reader->run_lines, count, reader->run_line_room);
    struct saved_facts *facts = room ? saved_add_run(&reader->builder) : NULL;
    if (facts == NULL)
        return no_memory(reader);
    reader->run_lines[count] = reader->csv.text.line_number;
    snprintf(facts->name, sizeof facts->name, "%s", name);
    return STATUS_OK;
}

static enum status read_ns(const struct reader *reader, const char *key, const char *text,
                           int64_t *ns)
{
    uint64_t value;
    char shown[TRACE_SHOWN];
    if (!trace_read_whole(text, INT64_MAX, &value))
        return trace_refuse(&reader->csv.text, "%s '%s' is no number of ns", key,
                            trace_shown(text, shown));
    *ns = (int64_t)value;
    return STATUS_OK;
}

/* h2d=62692 compute=4011 ... */
static enum status read_busy(const struct reader *reader, struct saved_facts *facts, char *text)
{
    enum status status = STATUS_OK;
    for (char *rest = NULL, *word = strtok_r(text, " ", &rest);
         word != NULL && status == STATUS_OK; word = strtok_r(NULL, " ", &rest)) {
        size_t length = strcspn(word, "=");
        for (int i = 0; i < ENGINE_WORKING && word[length] == '='; i++) {
            const char *name = engine_name((enum engine)i);
            if (strlen(name) == length && strncmp(name, word, length) == 0)
                status = read_ns(reader, "busy_ns", word + length + 1, &facts->busy_ns[i]);
        }
    }
    facts->busy_known = true;
    return status;
}

/* 4=legacy 5=blocking */
static enum status read_kinds(struct reader *reader, char *text)
{
    for (char *rest = NULL, *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        uint64_t stream;
        char *kind = strchr(word, '='), shown[TRACE_SHOWN];
        enum status status = STATUS_USAGE;
        struct error why = {0};
        if (kind != NULL)
            *kind++ = '\0';
        if (kind != NULL && trace_read_whole(word, SAVED_NONE - 1, &stream))
            status = saved_set_stream_kind(&reader->builder, reader->builder.count - 1,
                                           (uint32_t)stream, kind, &why);
        if (status == STATUS_USAGE)
            return trace_refuse(&reader->csv.text, "'%s' is no stream with its kind",
                                trace_shown(word, shown));
        if (status != STATUS_OK)
            return error_pass(reader->csv.text.error, &why);
    }
    return STATUS_OK;
}

static enum status read_timing(const struct reader *reader, struct saved_facts *facts,
                               const char *text)
{
    char shown[TRACE_SHOWN];
    facts->timing_known = saved_timing(text, &facts->timing);
    return facts->timing_known
               ? STATUS_OK
               : trace_refuse(&reader->csv.text, "timing '%s' is none that is known",
                              trace_shown(text, shown));
}

static enum status read_devices(const struct reader *reader, struct saved_facts *facts,
                                const char *text)
{
    uint64_t devices;
    char shown[TRACE_SHOWN];
    if (!trace_read_whole(text, MACHINE_DEVICES_MAX, &devices))
        return trace_refuse(&reader->csv.text, "devices '%s' is no number that it can be",
                            trace_shown(text, shown));
    facts->devices = (uint32_t)devices;
    return STATUS_OK;
}

static void read_settings(struct saved_facts *facts, const char *text)
{
    const char *memory = strstr(text, "memory="), *share = strstr(text, " share=");
    facts->settled = true;
    facts->memory_known = memory != NULL;
    facts->sharing = share != NULL ? saved_sharing(share + strlen(" share=")) : SHARING_NONE;
    facts->pageable = memory != NULL && strncmp(memory, "memory=pageable", 15) == 0;
}

/* Reads "#   key: value", which is about the latest run; a key that is not known is passed
 * over, since later versions may have more. */
static enum status read_fact(struct reader *reader, char *key, char *value)
{
    struct saved_facts *facts = saved_facts(&reader->builder, reader->builder.count - 1);
    if (strcmp(key, "timing") == 0)
        return read_timing(reader, facts, value);
    if (strcmp(key, "resolution_ns") == 0)
        return read_ns(reader, key, value, &facts->resolution_ns);
    if (strcmp(key, "limit_ns") == 0)
        return read_ns(reader, key, value, &facts->limit_ns);
    if (strcmp(key, "launched_ns") == 0)
        return read_ns(reader, key, value, &facts->launched_ns);
    if (strcmp(key, "busy_ns") == 0)
        return read_busy(reader, facts, value);
    if (strcmp(key, "stream_kinds") == 0)
        return read_kinds(reader, value);
    if (strcmp(key, "devices") == 0)
        return read_devices(reader, facts, value);
    if (strcmp(key, "speedup") == 0 && units_read_real(value, &facts->speedup) != UNITS_OK)
        facts->speedup = 0;
    if (strcmp(key, "device") == 0)
        snprintf(facts->device, sizeof facts->device, "%s", csv_unmark(value));
    else if (strcmp(key, "driver") == 0)
        snprintf(facts->driver, sizeof facts->driver, "%s", csv_unmark(value));
    else if (strcmp(key, "issue_times") == 0)
        facts->issue_unknown = strcmp(value, "unknown") == 0;
    else if (strcmp(key, "settings") == 0)
        read_settings(facts, value);
    return STATUS_OK;
}

static enum status read_comment(struct reader *reader)
{
    char *line = reader->csv.text.line, *colon = strchr(line, ':');
    if (strncmp(line, "# run: ", 7) == 0)
        return add_run(reader, csv_unmark(line + 7));
    if (strncmp(line, "#   ", 4) != 0 || colon == NULL || reader->builder.count == 0)
        return STATUS_OK;
    *colon = '\0';
    return read_fact(reader, line + 4, colon + 1 + strspn(colon + 1, " "));
}

/* --- rows --- */

/* Finds the columns; `names` are those of the header. */
static enum status read_header(struct reader *reader)
{
    for (int column = 0; column < COLUMNS; column++) {
        int i = 0;
        while (i < reader->csv.field_count &&
               strcmp(reader->csv.fields[i], columns[column]) != 0)
            i++;
        if (i == reader->csv.field_count && column < COLUMNS_NEEDED)
            return trace_refuse(&reader->csv.text,
                                "no column %s: not a timeline of this program",
                                columns[column]);
        reader->at[column] = i;
    }
    reader->csv.header_fields = reader->csv.field_count;
    reader->headed = true;
    return STATUS_OK;
}

static const char *field(const struct reader *reader, enum column column)
{
    return reader->csv.fields[reader->at[column]];
}

/* Finds the run of a row. Runs may be called alike: their rows stand together, and the ops of a
 * run count upwards. */
static enum status find_run(struct reader *reader, uint32_t op)
{
    char shown[TRACE_SHOWN];
    const char *name = field(reader, RUN);
    size_t run = reader->run;
    if (reader->latest >= 0 && op > reader->latest &&
        strcmp(saved_facts(&reader->builder, run)->name, name) == 0) {
        reader->latest = op;
        return STATUS_OK;
    }
    for (run += reader->latest >= 0; run < reader->builder.count; run++) {
        if (strcmp(saved_facts(&reader->builder, run)->name, name) != 0)
            continue;
        if (!saved_facts(&reader->builder, run)->timing_known)
            return trace_refuse(&reader->csv.text,
                                "no line '#   timing:' says where run '%s' comes from",
                                trace_shown(name, shown));
        reader->run = run;
        reader->latest = op;
        return STATUS_OK;
    }
    return trace_refuse(&reader->csv.text,
                        "op %" PRIu32 " of run '%s': no line '# run:' announces it here", op,
                        trace_shown(name, shown));
}

static enum status read_field(const struct reader *reader, enum column column, uint64_t most,
                              uint64_t *value)
{
    char shown[TRACE_SHOWN];
    if (trace_read_whole(field(reader, column), most, value))
        return STATUS_OK;
    return trace_refuse(&reader->csv.text, "%s '%s' is not a number that it can be",
                        columns[column], trace_shown(field(reader, column), shown));
}

/* Reads a number that need not be there: -1 then. */
static enum status read_optional(const struct reader *reader, enum column column, uint64_t most,
                                 int64_t *value)
{
    uint64_t whole;
    *value = -1;
    if (*field(reader, column) == '\0')
        return STATUS_OK;
    enum status status = read_field(reader, column, most, &whole);
    if (status == STATUS_OK)
        *value = (int64_t)whole;
    return status;
}

static enum status read_kind(const struct reader *reader, enum op_kind *kind)
{
    char shown[TRACE_SHOWN];
    *kind = saved_kind(field(reader, KIND));
    if (*kind == OP_KIND_COUNT)
        return trace_refuse(&reader->csv.text, "kind '%s' is unknown",
                            trace_shown(field(reader, KIND), shown));
    if (strcmp(engine_name(op_rows[*kind].engine), field(reader, ENGINE)) != 0)
        return trace_refuse(&reader->csv.text, "engine '%s' does no %s",
                            trace_shown(field(reader, ENGINE), shown), op_kind_name(*kind));
    return STATUS_OK;
}

static enum status read_numbers(const struct reader *reader, struct saved_row *row)
{
    static const enum column times[] = {ISSUE, START, END};
    int64_t *const into[] = {&row->issue_ns, &row->start_ns, &row->end_ns}, tile;
    uint64_t value;
    enum status status = read_field(reader, BYTES, UINT64_MAX, &row->bytes);
    for (int i = 0; i < 3 && status == STATUS_OK; i++) {
        status = read_field(reader, times[i], INT64_MAX / 2, &value);
        *into[i] = (int64_t)value;
    }
    if (status == STATUS_OK)
        status = read_optional(reader, STREAM, SAVED_NONE - 1, &row->stream);
    if (status == STATUS_OK)
        status = read_optional(reader, TILE, INT32_MAX, &tile);
    if (status == STATUS_OK)
        row->tile = (int32_t)tile;
    if (status == STATUS_OK && reader->at[DEVICE] < reader->csv.field_count)
        status = read_field(reader, DEVICE, MACHINE_DEVICES_MAX - 1, &value);
    else
        value = 0;
    row->device = (uint32_t)value;
    return status;
}

static enum status read_row(struct reader *reader)
{
    csv_unmark(reader->csv.fields[reader->at[RUN]]);
    struct saved_row row = {.name = csv_unmark(reader->csv.fields[reader->at[NAME]])};
    struct error why = {0};
    uint64_t op;
    enum status status = read_field(reader, OP, UINT32_MAX - 1, &op);
    if (status == STATUS_OK)
        status = find_run(reader, (uint32_t)op);
    if (status == STATUS_OK)
        status = read_kind(reader, &row.kind);
    if (status == STATUS_OK)
        status = read_numbers(reader, &row);
    if (status != STATUS_OK)
        return status;
    row.op = (uint32_t)op;
    saved_add_row(&reader->builder, reader->run, &row, &why);
    return trace_pass(&reader->csv.text, &why);
}

/* --- lines --- */

static enum status read_line(struct reader *reader)
{
    if (memchr(reader->csv.text.line, '\0', reader->csv.text.length) != NULL)
        return trace_refuse(&reader->csv.text, "not text");
    if (reader->csv.text.length == 0)
        return STATUS_OK;
    if (reader->csv.text.line[0] == '#')
        return read_comment(reader);
    if (!reader->csv.text.whole)
        return trace_refuse(&reader->csv.text, "the line has no end: cut short?");
    enum status status = csv_split(&reader->csv);
    if (status == STATUS_OK && !reader->headed)
        return read_header(reader);
    if (status == STATUS_OK)
        status = csv_check_count(&reader->csv);
    return status == STATUS_OK ? read_row(reader) : status;
}

static enum status read_all(struct reader *reader)
{
    bool more = true;
    enum status status = STATUS_OK;
    while (more && status == STATUS_OK) {
        status = trace_next_line(&reader->csv.text, &more);
        if (more && status == STATUS_OK)
            status = read_line(reader);
    }
    if (status == STATUS_OK && reader->csv.text.input->failed)
        status = trace_refuse(&reader->csv.text, "can't be read: %s",
                              strerror(reader->csv.text.input->why));
    if (status == STATUS_OK && !reader->headed)
        status = trace_refuse(&reader->csv.text, "no line names the columns: cut short?");
    return status;
}

static enum status finish(struct reader *reader, struct traces *traces)
{
    size_t run = 0;
    struct error why = {0};
    enum status status = saved_finish(&reader->builder, traces, &run, &why);
    if (status == STATUS_USAGE)
        reader->csv.text.line_number = reader->run_lines[run];
    return trace_pass(&reader->csv.text, &why);
}

enum status saved_csv_read(struct trace_input *input, const char *path, struct traces *traces,
                           struct error *error)
{
    struct error why = {0};
    struct reader reader = {.csv.text = {.path = path, .input = input, .error = &why},
                            .latest = -1};
    enum status status = read_all(&reader);
    if (status == STATUS_OK)
        status = finish(&reader, traces);
    if (status != STATUS_OK)
        error_pass(error, &why);
    saved_free(&reader.builder);
    free(reader.run_lines);
    return status;
}
