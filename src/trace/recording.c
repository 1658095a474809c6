/* recording.c - reads what `pipeline record` wrote. */
#include "trace/recording.h"

#include "core/version.h"
#include "machine/machine.h"
#include "trace/input.h"
#include "trace/recording_draft.h"
#include "trace/recording_line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDING_VERSION = 1 };

/* --- the header --- */

/* Numbers and answers of the header: the largest value, and the one of those that are not there
 * or null. */
enum member { DRIVER, CONNECTIONS, BEGIN, LAUNCH_BLOCKING, LAZY, SIMULATED, MEMBERS };
static const struct {
    const char *key;
    enum line_kind kind;
    int64_t most, otherwise;
} members[MEMBERS] = {
    [DRIVER] = {"driver", LINE_NUMBER, UINT32_MAX, 0},
    [CONNECTIONS] = {"connections", LINE_NUMBER, UINT32_MAX, 0},
    [BEGIN] = {"begin_ns", LINE_NUMBER, MACHINE_NEVER_NS - 1, 0},
    [LAUNCH_BLOCKING] = {"launch_blocking", LINE_BOOL, 1, false},
    [LAZY] = {"lazy", LINE_BOOL, 1, true},
    [SIMULATED] = {"simulated", LINE_BOOL, 1, false},
};

static enum status read_member(const struct draft *draft, const struct line *header,
                               enum member member, int64_t *value)
{
    const char *key = members[member].key;
    const struct line_value *found = line_member(header, key);
    *value = found != NULL ? (int64_t)found->number : members[member].otherwise;
    if (found == NULL || (found->kind == members[member].kind && !found->negative &&
                          found->number <= (uint64_t)members[member].most))
        return STATUS_OK;
    if (members[member].kind == LINE_BOOL)
        return trace_refuse(&draft->text, "\"%s\" must be true or false", key);
    return trace_refuse(&draft->text, "\"%s\" must be a whole number of at most %" PRId64, key,
                        members[member].most);
}

/* Returns the text of `key`; NULL: there is none. */
static const char *read_text(const struct line *header, const char *key)
{
    const struct line_value *member = line_member(header, key);
    return member != NULL && member->kind == LINE_TEXT ? member->text : NULL;
}

static enum status check_version(const struct draft *draft, const struct line *header)
{
    const struct line_value *form = line_member(header, "pipeline_recording");
    const char *version = read_text(header, "version");
    char shown[TRACE_SHOWN];
    if (form == NULL || form->kind != LINE_NUMBER)
        return trace_refuse(&draft->text,
                            "no \"pipeline_recording\" with the number of its form");
    if (form->number == RECORDING_VERSION && !form->negative)
        return STATUS_OK;
    return trace_refuse(&draft->text,
                        "a recording of form %s%" PRIu64
                        " by pipeline %s, and pipeline %s reads form %d: view "
                        "it with a pipeline of the version that recorded it",
                        form->negative ? "-" : "", form->number,
                        version != NULL ? trace_shown(version, shown) : "of another version",
                        PIPELINE_VERSION, RECORDING_VERSION);
}

static enum status read_members(struct draft *draft, const struct line *header)
{
    struct recording *recording = draft->recording;
    const char *program = read_text(header, "program");
    int64_t values[MEMBERS];
    enum status status = check_version(draft, header);
    for (int i = 0; i < MEMBERS && status == STATUS_OK; i++)
        status = read_member(draft, header, (enum member)i, &values[i]);
    if (status != STATUS_OK)
        return status;
    recording->driver = (uint32_t)values[DRIVER];
    recording->connections = (uint32_t)values[CONNECTIONS];
    recording->begin_ns = values[BEGIN];
    recording->launch_blocking = values[LAUNCH_BLOCKING] != 0;
    recording->lazy = values[LAZY] != 0;
    recording->simulated = values[SIMULATED] != 0;
    recording->program = arena_text(&recording->arena, program != NULL ? program : "");
    return recording->program != NULL ? STATUS_OK : draft_no_memory(draft);
}

static enum status read_header(struct draft *draft)
{
    struct line header;
    if (line_scan_object(draft->text.line, draft->text.length, &header) != NULL)
        return trace_refuse(&draft->text, "the header is no JSON object: cut short?");
    return read_members(draft, &header);
}

/* --- lines --- */

/* Reads a line behind the header. One that is malformed is where the recording was cut, if it
 * is the last: then *cut is set. */
static enum status read_line(struct draft *draft, bool *cut)
{
    struct line line;
    struct trace_input *input = draft->text.input;
    if (draft->text.length == 0)
        return STATUS_OK;
    const char *malformed = line_scan(draft->text.line, draft->text.length, &line);
    if (malformed == NULL)
        return draft_take(draft, &line);
    if (!trace_input_fill(input, 1))
        return draft_no_memory(draft);
    *cut = input->at == input->end && !input->failed;
    return *cut ? STATUS_OK : trace_refuse(&draft->text, "%s", malformed);
}

static enum status read_all(struct draft *draft)
{
    bool more, cut = false;
    enum status status = trace_next_line(&draft->text, &more);
    if (status == STATUS_OK && !more) {
        draft->text.line_number = 1;
        status = trace_refuse(&draft->text, "the file is empty");
    }
    if (status == STATUS_OK)
        status = read_header(draft);
    while (status == STATUS_OK && more && !cut) {
        status = trace_next_line(&draft->text, &more);
        if (status == STATUS_OK && more)
            status = read_line(draft, &cut);
    }
    if (cut)
        draft->recording->end = RECORDING_CUT;
    return status;
}

enum status recording_read(struct trace_input *input, const char *path,
                           struct recording *recording, struct error *error)
{
    struct error why = {0};
    struct recording result = {.timing = TIMING_RECORDED, .end = RECORDING_CUT};
    struct draft draft = {.text = {.path = path, .input = input, .error = &why},
                          .recording = &result};
    if (draft_close(&draft, read_all(&draft)) != STATUS_OK)
        return error_pass(error, &why);
    *recording = result;
    return STATUS_OK;
}
