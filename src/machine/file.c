/* file.c - reads machine files, and the cost functions that the simulator and the limit
 * share. */
#include "machine/fields.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(section, member, type, least, most, required)                                    \
    {                                                                                          \
        section, #member, type, offsetof(struct machine, member), least, most, required        \
    }

const struct field machine_fields[] = {
    FIELD("machine", summary, FIELD_TEXT, 0, 0, true),
    FIELD("machine", architecture, FIELD_TEXT, 0, 0, true),
    FIELD("machine", compute_capability, FIELD_REAL, 1, 99, true),
    FIELD("copies", copy_engines, FIELD_INT, 1, 2, true),
    FIELD("copies", h2d_bytes_per_s, FIELD_REAL, 1e6, 1e15, true),
    FIELD("copies", d2h_bytes_per_s, FIELD_REAL, 1e6, 1e15, true),
    FIELD("copies", joint_bytes_per_s, FIELD_REAL, 1e6, 1e15, true),
    FIELD("copies", h2d_latency_ns, FIELD_NS, 0, 1e9, true),
    FIELD("copies", d2h_latency_ns, FIELD_NS, 0, 1e9, true),
    FIELD("copies", h2d_gap_ns, FIELD_NS, 0, 1e9, true),
    FIELD("copies", d2h_gap_ns, FIELD_NS, 0, 1e9, true),
    FIELD("copies", signal_gap_ns, FIELD_NS, 0, 1e9, true),
    FIELD("copies", pageable_h2d_bytes_per_s, FIELD_REAL, 1e6, 1e15, true),
    FIELD("copies", pageable_d2h_bytes_per_s, FIELD_REAL, 1e6, 1e15, true),
    FIELD("copies", staging_bytes, FIELD_U64, 1, 1e12, true),
    FIELD("kernels", sms, FIELD_U32, 1, 65536, true),
    FIELD("kernels", threads_per_sm, FIELD_U32, KERNEL_THREADS, 65536, true),
    FIELD("kernels", blocks_per_sm, FIELD_U32, 1, 1024, true),
    FIELD("kernels", memory_bytes_per_s, FIELD_REAL, 1e6, 1e15, true),
    FIELD("kernels", flops_per_s, FIELD_REAL, 1e6, 1e18, true),
    FIELD("kernels", arithmetic_fill, FIELD_REAL, 0.001, 1, true),
    FIELD("kernels", memory_fill, FIELD_REAL, 0.001, 1, true),
    FIELD("kernels", leftover_excess, FIELD_REAL, 1, 32, true),
    FIELD("kernels", memory_bytes, FIELD_U64, 1, 1e15, true),
    FIELD("kernels", kernel_latency_ns, FIELD_NS, 0, 1e9, true),
    FIELD("kernels", kernel_gap_ns, FIELD_NS, 0, 1e9, true),
    FIELD("kernels", kernel_fixed_ns, FIELD_NS, 0, 1e9, true),
    FIELD("kernels", concurrent_kernels, FIELD_U32, 1, 65536, true),
    FIELD("streams", queues, FIELD_U32, 1, 1024, true),
    FIELD("streams", queues_max, FIELD_U32, 1, 1024, true),
    FIELD("streams", queue_depth, FIELD_U32, 1, 1e9, true),
    FIELD("streams", h2d_dependency_ns, FIELD_NS, 0, 1e9, true),
    FIELD("streams", kernel_dependency_ns, FIELD_NS, 0, 1e9, true),
    FIELD("streams", d2h_dependency_ns, FIELD_NS, 0, 1e9, true),
    FIELD("streams", poll_ns, FIELD_NS, 0, 1e9, true),
    FIELD("streams", priority_least, FIELD_INT, -1000, 1000, true),
    FIELD("streams", priority_greatest, FIELD_INT, -1000, 1000, true),
    FIELD("host", graph_launch_ns, FIELD_NS, 0, 1e9, false),
    FIELD("host", graph_launch_node_ns, FIELD_NS, 0, 1e9, false),
    FIELD("host", graph_node_ns, FIELD_NS, 0, 1e9, false),
    FIELD("host", issue_copy_ns, FIELD_NS, 0, 1e9, true),
    FIELD("host", issue_kernel_ns, FIELD_NS, 0, 1e9, true),
    FIELD("host", issue_record_ns, FIELD_NS, 0, 1e9, true),
    FIELD("host", issue_wait_ns, FIELD_NS, 0, 1e9, true),
    FIELD("host", issue_callback_ns, FIELD_NS, 0, 1e9, true),
    FIELD("host", callback_ns, FIELD_NS, 0, 1e9, true),
    FIELD("host", lazy_load_ns, FIELD_NS, 0, 1e9, true),
    FIELD("host", sync_ns, FIELD_NS, 0, 1e9, true),
    FIELD("host", alloc_ns, FIELD_NS, 0, 1e9, true),
    FIELD("host", pinned_bytes_per_s, FIELD_REAL, 1e6, 1e15, true),
    FIELD("host", cpu_cores, FIELD_U32, 1, 65536, true),
    FIELD("host", cpu_bytes_per_s, FIELD_REAL, 1e6, 1e15, true),
    FIELD("host", cpu_flops_per_s, FIELD_REAL, 1e6, 1e18, true),
    {.key = NULL},
};

/* 0 is allowed as well: not known. */
#define KERNEL_FIELD(member, type, least, most)                                                \
    {                                                                                          \
        "kernel", #member, type, offsetof(struct machine_kernel, member), least, most, false   \
    }

const struct field machine_kernel_fields[] = {
    KERNEL_FIELD(fixed_ns, FIELD_NS, 0, 1e9),
    KERNEL_FIELD(bytes_per_s, FIELD_REAL, 1e6, 1e18),
    KERNEL_FIELD(flops_per_s, FIELD_REAL, 1e6, 1e18),
    KERNEL_FIELD(memory_fill, FIELD_REAL, 0.001, 1),
    KERNEL_FIELD(arithmetic_fill, FIELD_REAL, 0.001, 1),
    KERNEL_FIELD(cpu_bytes_per_s, FIELD_REAL, 1e6, 1e18),
    KERNEL_FIELD(cpu_flops_per_s, FIELD_REAL, 1e6, 1e18),
    {.key = NULL},
};

enum { FIELDS_MAX = 64 };

_Static_assert(sizeof machine_fields / sizeof machine_fields[0] <= FIELDS_MAX,
               "every key has a place in struct reader");

/* The text being read, handed to inih line by line so that the line number is known. */
struct reader {
    const char *next, *where;
    int line;
    struct machine *machine;
    int seen_at[FIELDS_MAX]; /* of each key, the line; 0: not given */
    struct error *error;
};

static char *reader_next_line(char *line, int size, void *stream)
{
    struct reader *reader = stream;
    if (*reader->next == '\0')
        return NULL;
    size_t length = strcspn(reader->next, "\n");
    reader->line++;
    if (length + 2 > (size_t)size) {
        error_set(reader->error, STATUS_USAGE, "%s:%d: the line is longer than %d characters",
                  reader->where, reader->line, size - 2);
        return NULL;
    }
    memcpy(line, reader->next, length);
    line[length] = '\n';
    line[length + 1] = '\0';
    reader->next += length + (reader->next[length] == '\n');
    return line;
}

static int complain(struct reader *reader, const char *format, const char *a, const char *b)
{
    char text[512];
    snprintf(text, sizeof text, format, a, b);
    error_set(reader->error, STATUS_USAGE, "%s:%d: %s", reader->where, reader->line, text);
    return 0;
}

const struct field *machine_field_find(const struct field *fields, const char *key)
{
    for (; fields->key != NULL; fields++) {
        if (strcmp(fields->key, key) == 0)
            return fields;
    }
    return NULL;
}

void machine_field_put(const struct field *field, void *record, double number)
{
    void *place = (char *)record + field->offset;
    switch (field->type) {
    case FIELD_INT:
        *(int *)place = (int)lround(number);
        break;
    case FIELD_U32:
        *(uint32_t *)place = (uint32_t)llround(number);
        break;
    case FIELD_U64:
        *(uint64_t *)place = (uint64_t)llround(number);
        break;
    case FIELD_NS:
        *(int64_t *)place = llround(number);
        break;
    case FIELD_REAL:
        *(double *)place = number;
        break;
    case FIELD_TEXT:
        break;
    }
}

double machine_field_get(const struct field *field, const void *record)
{
    const void *place = (const char *)record + field->offset;
    switch (field->type) {
    case FIELD_INT:
        return *(const int *)place;
    case FIELD_U32:
        return *(const uint32_t *)place;
    case FIELD_U64:
        return (double)*(const uint64_t *)place;
    case FIELD_NS:
        return (double)*(const int64_t *)place;
    case FIELD_REAL:
        return *(const double *)place;
    case FIELD_TEXT:
        break;
    }
    return NAN;
}

static bool is_control(char byte)
{
    return (unsigned char)byte < ' ' || byte == 0x7f;
}

/* Reports show texts as they are. */
static int text_set(struct reader *reader, const struct field *field, void *record,
                    const char *value)
{
    if (strlen(value) >= MACHINE_TEXT)
        return complain(reader, "%s is longer than 95 characters%s", field->key, "");
    for (const char *byte = value; *byte != '\0'; byte++) {
        if (is_control(*byte))
            return complain(reader, "%s=%.60s holds a control character", field->key, value);
    }
    strcpy((char *)record + field->offset, value);
    return 1;
}

static int field_set(struct reader *reader, const struct field *field, void *record,
                     const char *value)
{
    if (field->type == FIELD_TEXT)
        return text_set(reader, field, record, value);
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    bool whole = field->type == FIELD_REAL || number == floor(number);
    bool unknown = number == 0 && !field->required;
    if (end == value || *end != '\0' || errno != 0 || !whole ||
        !(number >= field->least || unknown) || !(number <= field->most)) {
        char allowed[96];
        snprintf(allowed, sizeof allowed, "%s%.15g to %.15g",
                 field->type == FIELD_REAL ? "" : "whole numbers from ", field->least,
                 field->most);
        char given[128];
        snprintf(given, sizeof given, "%s=%.60s", field->key, value);
        return complain(reader, "%s: allowed are %s", given, allowed);
    }
    machine_field_put(field, record, number);
    return 1;
}

/* The row for a [kernel NAME] section, made at its first key. */
static struct machine_kernel *kernel_row(struct reader *reader, const char *name)
{
    struct machine *machine = reader->machine;
    for (int i = 0; i < machine->kernel_count; i++) {
        if (strcmp(machine->kernels[i].name, name) == 0)
            return &machine->kernels[i];
    }
    if (kernel_find(name) == NULL) {
        complain(reader, "[kernel %s]: there is no such kernel%s", name, "");
        return NULL;
    }
    if (machine->kernel_count == MACHINE_KERNELS_MAX) {
        complain(reader, "[kernel %s]: too many kernels%s", name, "");
        return NULL;
    }
    struct machine_kernel *row = &machine->kernels[machine->kernel_count++];
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

static int kernel_key(struct reader *reader, const char *name, const char *key,
                      const char *value)
{
    struct machine_kernel *row = kernel_row(reader, name);
    if (row == NULL)
        return 0;
    const struct field *field = machine_field_find(machine_kernel_fields, key);
    if (field != NULL)
        return field_set(reader, field, row, value);
    return complain(reader, "%s is no key of [kernel %s]", key, name);
}

static int machine_key(void *user, const char *section, const char *key, const char *value)
{
    struct reader *reader = user;
    if (reader->error->status != STATUS_OK)
        return 0;
    if (strncmp(section, "kernel ", 7) == 0)
        return kernel_key(reader, section + 7, key, value);
    for (int i = 0; machine_fields[i].key != NULL; i++) {
        const struct field *field = &machine_fields[i];
        if (strcmp(field->section, section) != 0 || strcmp(field->key, key) != 0)
            continue;
        if (reader->seen_at[i] != 0)
            return complain(reader, "%s is given twice in [%s]", key, section);
        reader->seen_at[i] = reader->line;
        return field_set(reader, field, reader->machine, value);
    }
    return complain(reader, "%s is no key of [%s]", key, section);
}

/* The line of a key whose value does not go with another's. */
static int line_of(const struct reader *reader, const char *key)
{
    for (int i = 0; machine_fields[i].key != NULL; i++) {
        if (strcmp(machine_fields[i].key, key) == 0)
            return reader->seen_at[i];
    }
    return 0;
}

/* "sm_90" is compute capability 9.0. What else an architecture is called says nothing of it. */
static bool architecture_fits(const struct machine *machine)
{
    char *end = NULL;
    if (strncmp(machine->architecture, "sm_", 3) != 0)
        return true;
    long number = strtol(machine->architecture + 3, &end, 10);
    return *end != '\0' || number == lround(10 * machine->compute_capability);
}

static enum status machine_check_rates(const struct reader *reader, struct error *error)
{
    const struct machine *machine = reader->machine;
    double fastest = fmax(machine->h2d_bytes_per_s, machine->d2h_bytes_per_s);
    if (machine->joint_bytes_per_s < fastest)
        return error_set(error, STATUS_USAGE,
                         "%s:%d: joint_bytes_per_s=%g is below one direction alone (%g)",
                         reader->where, line_of(reader, "joint_bytes_per_s"),
                         machine->joint_bytes_per_s, fastest);
    if (machine->pageable_h2d_bytes_per_s > machine->h2d_bytes_per_s)
        return error_set(error, STATUS_USAGE,
                         "%s:%d: pageable_h2d_bytes_per_s=%g is above h2d_bytes_per_s=%g",
                         reader->where, line_of(reader, "pageable_h2d_bytes_per_s"),
                         machine->pageable_h2d_bytes_per_s, machine->h2d_bytes_per_s);
    if (machine->pageable_d2h_bytes_per_s > machine->d2h_bytes_per_s)
        return error_set(error, STATUS_USAGE,
                         "%s:%d: pageable_d2h_bytes_per_s=%g is above d2h_bytes_per_s=%g",
                         reader->where, line_of(reader, "pageable_d2h_bytes_per_s"),
                         machine->pageable_d2h_bytes_per_s, machine->d2h_bytes_per_s);
    return STATUS_OK;
}

static enum status machine_check(const struct reader *reader, struct error *error)
{
    const struct machine *machine = reader->machine;
    for (int i = 0; machine_fields[i].key != NULL; i++) {
        if (machine_fields[i].required && reader->seen_at[i] == 0)
            return error_set(error, STATUS_USAGE, "%s:%d: %s is missing from [%s]",
                             reader->where, reader->line > 0 ? reader->line : 1,
                             machine_fields[i].key, machine_fields[i].section);
    }
    if (!architecture_fits(machine))
        return error_set(error, STATUS_USAGE,
                         "%s:%d: compute_capability=%g does not go with architecture=%s",
                         reader->where, line_of(reader, "compute_capability"),
                         machine->compute_capability, machine->architecture);
    if (machine->queues > machine->queues_max)
        return error_set(error, STATUS_USAGE, "%s:%d: queues=%u is above queues_max=%u",
                         reader->where, line_of(reader, "queues"), machine->queues,
                         machine->queues_max);
    if (machine->priority_greatest > machine->priority_least)
        return error_set(error, STATUS_USAGE,
                         "%s:%d: priority_greatest=%d is above priority_least=%d (lower is "
                         "more urgent)",
                         reader->where, line_of(reader, "priority_greatest"),
                         machine->priority_greatest, machine->priority_least);
    return machine_check_rates(reader, error);
}

/* Keys and values of a file may hold what a terminal obeys; a message may not. */
static enum status refuse_clean(struct error *error, const struct error *why)
{
    char text[sizeof why->text];
    strcpy(text, why->text);
    for (char *byte = text; *byte != '\0'; byte++)
        *byte = is_control(*byte) ? '?' : *byte;
    return error_set(error, why->status, "%s", text);
}

enum status machine_parse(struct machine *machine, const char *text, const char *where,
                          struct error *error)
{
    struct machine read = {0};
    struct error local = {0};
    struct reader reader = {.next = text, .where = where, .machine = &read, .error = &local};
    int bad_line = ini_parse_stream(reader_next_line, &reader, machine_key, &reader);
    if (bad_line != 0)
        error_set(&local, STATUS_USAGE, "%s:%d: is neither [section] nor key = value", where,
                  bad_line);
    if (local.status == STATUS_OK)
        machine_check(&reader, &local);
    if (local.status != STATUS_OK)
        return refuse_clean(error, &local);
    *machine = read;
    return STATUS_OK;
}

static const char *embedded_text(const char *name)
{
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        if (strcmp(text->name, name) == 0)
            return text->text;
    }
    return NULL;
}

static enum status no_such_machine(const char *name, struct error *error)
{
    char names[512] = "";
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", text->name);
    }
    return error_set(
        error, STATUS_USAGE,
        "there is no machine '%s': allowed are %s, or a path to a machine file (./mine.ini)",
        name, names);
}

enum { MACHINE_FILE_MAX = 1 << 20 };

static enum status file_text(const char *path, char **text, struct error *error)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return error_set(error, STATUS_USAGE, "%s: the machine file can't be read: %s", path,
                         strerror(errno));
    enum status status = STATUS_OK;
    char *content = malloc(MACHINE_FILE_MAX);
    size_t length = content != NULL ? fread(content, 1, MACHINE_FILE_MAX - 1, file) : 0;
    if (content == NULL)
        status = error_set(error, STATUS_FAILED, "no memory to read %s", path);
    else if (ferror(file))
        status = error_set(error, STATUS_USAGE, "%s: the machine file can't be read: %s", path,
                           strerror(errno));
    else if (length == MACHINE_FILE_MAX - 1 || memchr(content, '\0', length) != NULL)
        status = error_set(error, STATUS_USAGE, "%s: is no machine file", path);
    fclose(file);
    if (status != STATUS_OK) {
        free(content);
        return status;
    }
    content[length] = '\0';
    *text = content;
    return STATUS_OK;
}

static bool is_path(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 4 && strcmp(name + length - 4, ".ini") == 0);
}

/* "mine" for "dir/mine.ini". */
static void name_from_path(char name[MACHINE_TEXT], const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, MACHINE_TEXT, "%s", slash != NULL ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = '\0';
}

enum status machine_load(struct machine *machine, const char *name, struct error *error)
{
    struct machine read;
    enum status status;
    if (is_path(name)) {
        char *text = NULL;
        status = file_text(name, &text, error);
        if (status != STATUS_OK)
            return status;
        status = machine_parse(&read, text, name, error);
        free(text);
    } else {
        const char *text = embedded_text(name);
        if (text == NULL)
            return no_such_machine(name, error);
        status = machine_parse(&read, text, name, error);
    }
    if (status != STATUS_OK)
        return status;
    name_from_path(read.name, name);
    *machine = read;
    return STATUS_OK;
}
