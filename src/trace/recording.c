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

static int64_t read_member(const struct draft *draft, const struct line *header,
                           enum member member)
{
    const char *key = members[member].key;
    const struct line_value *found = line_member(header, key);
    if (found == NULL)
        return members[member].otherwise;
    const bool fits = found->kind == members[member].kind && !found->negative &&
                      found->number <= (uint64_t)members[member].most;
    if (!fits && members[member].kind == LINE_BOOL)
        trace_refuse(&draft->text, "\"%s\" must be true or false", key);
    else if (!fits)
        trace_refuse(&draft->text, "\"%s\" must be a whole number of at most %" PRId64, key,
                     members[member].most);
    return (int64_t)found->number;
}

/* Returns the text of `key`; NULL: there is none. */
static const char *read_text(const struct line *header, const char *key)
{
    const struct line_value *member = line_member(header, key);
    return member != NULL && member->kind == LINE_TEXT ? member->text : NULL;
}

static void check_version(const struct draft *draft, const struct line *header)
{
    const struct line_value *form = line_member(header, "pipeline_recording");
    const char *version = read_text(header, "version");
    char shown[TRACE_SHOWN];
    if (form == NULL || form->kind != LINE_NUMBER)
        trace_refuse(&draft->text, "no \"pipeline_recording\" with the number of its form");
    else if (form->number != RECORDING_VERSION || form->negative)
        trace_refuse(&draft->text,
                     "a recording of form %s%" PRIu64
                     " by pipeline %s, and pipeline %s reads form %d: view "
                     "it with a pipeline of the version that recorded it",
                     form->negative ? "-" : "", form->number,
                     version != NULL ? trace_shown(version, shown) : "of another version",
                     PIPELINE_VERSION, RECORDING_VERSION);
}

static void read_header(struct draft *draft)
{
    struct recording *recording = draft->recording;
    struct line header;
    if (line_scan_object(draft->text.line, draft->text.length, &header) != NULL) {
        trace_refuse(&draft->text, "the header is no JSON object: cut short?");
        return;
    }
    check_version(draft, &header);
    const char *program = read_text(&header, "program");
    recording->driver = (uint32_t)read_member(draft, &header, DRIVER);
    recording->connections = (uint32_t)read_member(draft, &header, CONNECTIONS);
    recording->begin_ns = read_member(draft, &header, BEGIN);
    recording->launch_blocking = read_member(draft, &header, LAUNCH_BLOCKING) != 0;
    recording->lazy = read_member(draft, &header, LAZY) != 0;
    recording->simulated = read_member(draft, &header, SIMULATED) != 0;
    recording->program = draft_text(draft, program != NULL ? program : "");
}

/* --- lines --- */

/* Reads a line behind the header. One that is malformed is where the recording was cut, if it
 * is the last: returns true then. */
static bool read_line(struct draft *draft)
{
    struct line line;
    struct trace_input *input = draft->text.input;
    const char *malformed =
        draft->text.length > 0 ? line_scan(draft->text.line, draft->text.length, &line) : NULL;
    if (malformed == NULL) {
        if (draft->text.length > 0)
            draft_take(draft, &line);
        return false;
    }
    if (!trace_input_fill(input, 1))
        draft_no_memory(draft);
    if (input->at == input->end && !input->failed)
        return true;
    trace_refuse(&draft->text, "%s", malformed);
    return false;
}

static void read_all(struct draft *draft)
{
    bool more = trace_next_line(&draft->text), cut = false;
    if (!more && !draft_failed(draft)) {
        draft->text.line_number = 1;
        trace_refuse(&draft->text, "the file is empty");
    }
    if (more)
        read_header(draft);
    while (!cut && !draft_failed(draft) && trace_next_line(&draft->text))
        cut = read_line(draft);
    if (cut)
        draft->recording->end = RECORDING_CUT;
}

enum status recording_read(struct trace_input *input, const char *path,
                           struct recording *recording, struct error *error)
{
    struct error why = {0};
    struct recording result = {.timing = TIMING_RECORDED, .end = RECORDING_CUT};
    struct draft draft = {.text = {.path = path, .input = input, .error = &why},
                          .recording = &result};
    read_all(&draft);
    if (draft_close(&draft) != STATUS_OK)
        return error_pass(error, &why);
    *recording = result;
    return STATUS_OK;
}
