/* tape.c - the recording of what a program did, as `pipeline record` writes it on a GPU
 * (docs/recording.md): nothing is written unless PIPELINE_TRY_TO names a file. */
#include "cpu/parts.h"

#include "core/escape.h"
#include "core/version.h"
#include "plan/host_call.h"
#include "plan/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* A beginning or an end of a range of NVTX's: `name` is NULL at an end. It is a call of its
 * thread's that takes no time. */
struct mark {
    size_t call;
    char *name;
};

/* A range that has begun. */
struct open_range {
    char *name;
    uint32_t thread;
    int64_t start_ns;
};

static struct {
    FILE *file;
    uint32_t names; /* that were written */
    struct mark *marks;
    size_t mark_count, mark_capacity;
    struct open_range *open;
    size_t open_count, open_capacity;
} tape;

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (tape.file != NULL)
        vfprintf(tape.file, format, values);
    va_end(values);
}

/* Writes a text as JSON has it; bytes that are no UTF-8 as '?'. */
static void put_text(const char *text)
{
    put("\"");
    while (*text != '\0') {
        uint32_t character;
        const size_t length = escape_utf8(text, &character);
        if (length == 0)
            put("?");
        else if (character < ' ' || character == '"' || character == '\\')
            put("\\u%04x", (unsigned)character);
        else
            put("%.*s", (int)length, text);
        text += length > 0 ? length : 1;
    }
    put("\"");
}

static int context_of(int device)
{
    return device + 1;
}

/* A program may give an object the place of an earlier one: only numbers are its own. */
static uint64_t handle_of(uint32_t event)
{
    return UINT64_C(0x1000) + event;
}

/* --- what is known at once --- */

void tape_begin(void)
{
    const struct clock *c = &clock_now;
    const char *path = clock_variable("PIPELINE_TRY_TO");
    if (path == NULL)
        return;
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0) {
        fprintf(stderr, "pipeline: process %d is not recorded: %s is another one's\n",
                (int)getpid(), path);
        close(file);
        return;
    }
    /* It is emptied only under the lock, since another process may be writing there; what is no
     * file can't be (EINVAL). */
    tape.file =
        file >= 0 && (ftruncate(file, 0) == 0 || errno == EINVAL) ? fdopen(file, "w") : NULL;
    if (tape.file == NULL)
        clock_die("%s: %s", path, strerror(errno));
    put("{\"pipeline_recording\":1,\"version\":\"" PIPELINE_VERSION "\",\"program\":");
    put_text(program_invocation_short_name);
    put(",\"pid\":%d,\"parent\":%d,\"begin_ns\":0,\"driver\":13000,\"cupti\":0,"
        "\"launch_blocking\":%s,\"connections\":%ld,\"lazy\":%s,\"simulated\":true}\n",
        (int)getpid(), (int)getppid(), c->plan.launches_block ? "true" : "false",
        (long)(c->queues > 0 ? c->queues : c->machine.queues),
        clock_loads_lazily() ? "true" : "false");
    for (int i = 0; i < c->devices; i++) {
        put("[\"device\",%d,", i);
        put_text(machine_title(&c->machine));
        put(",%u,%d,%u,%u,%u,%u,%u,%d]\n[\"context\",%d,%d]\n", c->room.major,
            machine_capability(&c->machine) % 10, c->machine.sms, c->room.threads,
            c->room.blocks, c->room.registers, c->room.shared, c->machine.copy_engines,
            context_of(i), i);
    }
}

void tape_stream(uint32_t number)
{
    static const char *const kinds[] = {[CPU_NONBLOCKING] = "non-blocking",
                                        [CPU_BLOCKING] = "blocking",
                                        [CPU_LEGACY] = "legacy",
                                        [CPU_PER_THREAD] = "per-thread"};
    const struct clock_stream *stream = &clock_now.streams[number];
    if (stream->handle ==
        &clock_now) /* a branch of a graph, which is no stream of the program's */
        return;
    put("[\"stream\",%d,%u,%" PRIuPTR ",\"%s\",%d]\n", context_of(stream->device), number,
        (uintptr_t)stream->handle, kinds[stream->kind], stream->priority);
}

void tape_event(uint32_t event, unsigned flags)
{
    put("[\"event\",%" PRId64 ",%" PRIu64 ",%u]\n", clock_now.base_ns, handle_of(event), flags);
}

void cpu_reaches(int device, int other)
{
    put("[\"peer\",%" PRId64 ",%d,%d]\n", clock_now.base_ns, device, other);
}

void cpu_pool_keeps(const void *pool, uint64_t bytes)
{
    const uint64_t most = INT64_MAX;
    put("[\"threshold\",%" PRId64 ",%" PRIuPTR ",%" PRIu64 "]\n", clock_now.base_ns,
        (uintptr_t)pool, bytes < most ? bytes : most);
}

void tape_race(const struct tape_side sides[2], uintptr_t from, uint64_t bytes)
{
    put("[\"race\",%" PRIuPTR ",%" PRIu64, from, bytes);
    for (int i = 0; i < 2; i++) {
        if (sides[i].call != 0)
            put(",%" PRIu64, sides[i].call);
        else
            put(",null");
        put(",%" PRIu64 ",%d,", sides[i].node, sides[i].writes ? 2 : 1);
        put_text(sides[i].source);
    }
    put("]\n");
}

/* --- ops --- */

static const char *memory_word(enum cpu_memory kind)
{
    static const char *const words[] = {
        [CPU_PAGEABLE] = "pageable", [CPU_PINNED] = "pinned", [CPU_REGISTERED] = "pinned",
        [CPU_DEVICE] = "device",     [CPU_POOL] = "device",   [CPU_MANAGED] = "managed"};
    return words[kind];
}

static const char *copy_word(const struct cpu_op *op)
{
    if (op->from_device < 0)
        return op->to_device < 0 ? "h2h" : "h2d";
    if (op->to_device < 0)
        return "d2h";
    return op->from_device == op->to_device ? "d2d" : "peer";
}

static void put_words(const uint64_t *words, uint32_t count)
{
    put("[");
    for (uint32_t i = 0; i < count; i++)
        put("%s%" PRIu64, i > 0 ? "," : "", words[i]);
    put("]");
}

/* Writes what a launch touched: addresses, bytes, and 1 for reads, 2 for writes, 4 for atomics
 * alone, or their sum. */
static void put_touched(const struct cpu_did *did)
{
    enum { RANGES_MOST = 4096 }; /* of more, the words of the arguments have to do */
    if (did->range_count == 0 || did->range_count > RANGES_MOST)
        return;
    put(",[");
    for (size_t i = 0; i < did->range_count; i++) {
        const struct cpu_range *range = &did->ranges[i];
        put("%s%" PRIuPTR ",%" PRIu64 ",%d", i > 0 ? "," : "", range->from, range->bytes,
            range->reads + 2 * range->writes + 4 * range->atomic);
    }
    put("]");
}

/* Writes an op as it ran. */
static void put_ran(const struct clock_op *op)
{
    const struct cpu_op *from = &op->op;
    const struct clock_call *call = &clock_now.calls[op->call];
    /* A node's stream is that of the launch. */
    const uint32_t stream = call->graph != NULL ? call->op.stream : from->stream;
    const int context = context_of(clock_now.streams[stream].device);
    if (!op->is_work || from->kind == CPU_FUNCTION)
        return;
    if (from->kind == CPU_KERNEL) {
        put("[\"kernel\",%" PRIu64 ",%d,%u,%" PRId64 ",%" PRId64 ",%u,%u,%u,%d,%u,%" PRIu64
            "]\n",
            call->id, context, stream, op->start_ns, op->end_ns, op->name, op->blocks,
            op->threads, CPU_REGISTERS, op->shared, op->node);
        return;
    }
    const bool set = from->kind == CPU_SET;
    put("[\"op\",%" PRIu64 ",\"%s\",%d,%u,%" PRId64 ",%" PRId64 ",%" PRIu64
        ",\"%s\",\"%s\",%" PRIu64 "]\n",
        call->id, set ? "memset" : copy_word(from), context, stream, op->start_ns, op->end_ns,
        from->bytes, set ? "unknown" : memory_word(from->from_kind), memory_word(from->to_kind),
        op->node);
}

/* --- calls --- */

/* Writes what a call did. */
static void put_effect(const struct clock_call *call)
{
    const struct cpu_op *op = &call->op;
    const int context =
        op->kind < CPU_SYNC_DEVICE ? context_of(clock_now.streams[op->stream].device) : 1;
    const struct clock_op *issued = call->op_count > 0 ? &clock_now.ops[call->first_op] : NULL;
    if (call->graph != NULL) {
        put("[\"graph\",%" PRIu64 ",%d,%u,%" PRIuPTR "]\n", call->id, context, op->stream,
            (uintptr_t)call->graph);
    } else if (op->kind == CPU_COPY && op->height > 0) {
        put("[\"copy2d\",%" PRIu64 ",%d,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
            ",%" PRIu64 ",%" PRIu64 "]\n",
            call->id, context, op->stream, op->to, op->to_pitch, op->from, op->from_pitch,
            op->width, op->height);
    } else if (op->kind == CPU_COPY) {
        put("[\"copy\",%" PRIu64 ",%d,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]\n", call->id,
            context, op->stream, op->to, op->from, op->bytes);
    } else if (op->kind == CPU_SET) {
        put("[\"set\",%" PRIu64 ",%d,%u,%" PRIu64 ",%" PRIu64 "]\n", call->id, context,
            op->stream, op->to, op->bytes);
    } else if (op->kind == CPU_KERNEL) {
        put("[\"launch\",%" PRIu64 ",%d,%u,", call->id, context, op->stream);
        put_words(issued->words, issued->word_count);
        put_touched(&issued->did);
        put("]\n");
    } else if (op->kind == CPU_FUNCTION) {
        put("[\"function\",%" PRIu64 ",%d,%u,%" PRId64 ",%" PRId64 "]\n", call->id, context,
            op->stream, issued->start_ns, issued->end_ns);
    } else if (op->kind == CPU_RECORD || op->kind == CPU_WAIT) {
        put("[\"%s\",%" PRIu64 ",%d,%u,%" PRIu64 "]\n",
            op->kind == CPU_RECORD ? "record" : "wait", call->id, context, op->stream,
            handle_of(op->event));
    } else if (host_call_kind(host_call_row(call->name)) != CALL_SYNC) {
        return; /* that memory is given back when all has ended goes without saying */
    } else if (op->kind == CPU_SYNC_DEVICE) {
        put("[\"sync\",%" PRIu64 ",\"device\",%d,null]\n", call->id,
            context_of((int)op->stream));
    } else if (op->kind == CPU_SYNC_STREAM) {
        put("[\"sync\",%" PRIu64 ",\"stream\",%d,%u]\n", call->id,
            context_of(clock_now.streams[op->stream].device), op->stream);
    } else {
        put("[\"sync\",%" PRIu64 ",\"event\",1,%" PRIu64 "]\n", call->id, handle_of(op->event));
    }
}

static void put_call(const struct clock_call *call)
{
    put("[\"call\",%" PRIu64 ",\"%s\",%u,%" PRId64 ",%" PRId64 ",%d]\n", call->id, call->name,
        call->thread + 1, call->start_ns, call->end_ns, call->result);
    if (call->told)
        put_effect(call);
    if (call->file == NULL)
        return;
    put("[\"line\",%" PRIu64 ",", call->id);
    char place[512];
    snprintf(place, sizeof place, "%.480s:%d", call->file, call->line);
    put_text(place);
    put(",null]\n");
}

/* --- ranges --- */

void tape_mark(const char *name)
{
    struct mark *mark = CLOCK_ADD(tape.marks, tape.mark_count, tape.mark_capacity);
    mark->call = clock_now.call_count - 1;
    mark->name = name != NULL ? strdup(name) : NULL;
}

/* Ends the latest range that a thread has begun. */
static void end_range(const struct clock_call *call)
{
    size_t i = tape.open_count;
    while (i > 0 && tape.open[i - 1].thread != call->thread)
        i--;
    if (i == 0)
        return;
    struct open_range range = tape.open[i - 1];
    memmove(&tape.open[i - 1], &tape.open[i], (tape.open_count - i) * sizeof range);
    tape.open_count--;
    put("[\"range\",%u,%" PRId64 ",%" PRId64 ",", range.thread + 1, range.start_ns,
        call->end_ns);
    put_text(range.name);
    put("]\n");
    free(range.name);
}

static void put_mark(const struct mark *mark)
{
    const struct clock_call *call = &clock_now.calls[mark->call];
    if (mark->name == NULL) {
        end_range(call);
        return;
    }
    struct open_range *range = CLOCK_ADD(tape.open, tape.open_count, tape.open_capacity);
    *range = (struct open_range){mark->name, call->thread, call->end_ns};
}

/* --- a window --- */

static void put_memory(const struct clock_memory *memory)
{
    static const char *const words[] = {[CPU_PINNED] = "pinned",
                                        [CPU_REGISTERED] = "registered",
                                        [CPU_DEVICE] = "device",
                                        [CPU_POOL] = "pool",
                                        [CPU_MANAGED] = "managed"};
    const struct clock_call *call = &clock_now.calls[memory->call];
    if (!memory->taken)
        put("[\"free\",%" PRId64 ",%" PRIu64 "]\n", call->start_ns, memory->address);
    else if (memory->device >= 0)
        put("[\"memory\",\"%s\",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%d]\n", words[memory->kind],
            call->end_ns, memory->address, memory->bytes, memory->device);
    else
        put("[\"memory\",\"%s\",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",null]\n",
            words[memory->kind], call->end_ns, memory->address, memory->bytes);
}

void tape_window(void)
{
    const struct clock *c = &clock_now;
    for (; tape.names < c->plan.recorded->name_count; tape.names++) {
        put("[\"name\",%u,", tape.names);
        put_text(c->plan.recorded->names[tape.names]);
        put("]\n");
    }
    EACH (const struct clock_memory, memory, c->memory, c->memory_count)
        put_memory(memory);
    EACH (const struct clock_call, call, c->calls, c->call_count) {
        if (call->name != NULL)
            put_call(call);
    }
    EACH (const struct mark, mark, tape.marks, tape.mark_count)
        put_mark(mark);
    EACH (const struct clock_op, op, c->ops, c->plan.op_count)
        put_ran(op);
    tape.mark_count = 0;
    if (tape.file != NULL)
        fflush(tape.file);
}

void tape_end(void)
{
    put("[\"end\",%" PRId64 ",\"exit\"]\n", clock_now.base_ns);
    if (tape.file != NULL && (ferror(tape.file) || fclose(tape.file) != 0))
        fprintf(stderr, "pipeline: the recording could not be written: %s\n", strerror(errno));
    tape.file = NULL;
}

void tape_flush(void)
{
    if (tape.file != NULL)
        fflush(tape.file);
}

void tape_forget(void)
{
    tape.file = NULL; /* not closed: an empty buffer is all that is lost */
}

/* --- graphs --- */

void tape_graph(const struct cpu_graph *graph)
{
    const uintptr_t exec = (uintptr_t)graph->handle;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct cpu_node *node = &graph->nodes[i];
        const struct cpu_op *op = &node->op;
        put("[\"node\",%" PRIuPTR ",%" PRIu64 ",", exec, node->id);
        if (node->empty) {
            put("\"empty\"");
        } else if (op->kind == CPU_KERNEL) {
            put("\"kernel\",");
            put_words(op->launch->words, op->launch->word_count);
        } else if (op->kind == CPU_SET) {
            put("\"memset\",%" PRIu64 ",%" PRIu64, op->to, op->bytes);
        } else if (op->kind == CPU_FUNCTION) {
            put("\"function\"");
        } else if (op->height > 0) {
            put("\"copy\"");
        } else {
            put("\"%s\",%" PRIu64 ",%" PRIu64 ",%" PRIu64, copy_word(op), op->to, op->from,
                op->bytes);
        }
        put("]\n");
    }
    for (uint32_t i = 0; i < graph->edge_count; i++)
        put("[\"edge\",%" PRIuPTR ",%" PRIu64 ",%" PRIu64 "]\n", exec,
            graph->nodes[graph->edges[i].from].id, graph->nodes[graph->edges[i].to].id);
}
