/* facts.c - what the templates in programs/ may ask of a program: the conditions, values and
 * parts that they name. */
#include "emit/parts.h"
#include "kernels/own.h"
#include "plan/host_layout.h"
#include "plan/mistake.h"

#include <inttypes.h>
#include <string.h>

/* --- buffers, by the names that templates have for them --- */

static bool find_buffer(const struct emit_program *program, const char *name,
                        enum buffer *buffer)
{
    const struct named_buffer {
        const char *name;
        enum buffer buffer;
    } rows[] = {{"in", BUFFER_HOST_IN0},
                {"in2", BUFFER_HOST_IN1},
                {"out", BUFFER_HOST_OUT},
                {"d_in", BUFFER_DEVICE_IN0},
                {"d_in2", BUFFER_DEVICE_IN1},
                {"d_out", BUFFER_DEVICE_OUT},
                {"packed_in", BUFFER_HOST_PACK_IN0},
                {"packed_in2", BUFFER_HOST_PACK_IN1},
                {"packed_out", BUFFER_HOST_PACK_OUT},
                {"sent_in", emit_sent_input(program, 0)},
                {"sent_in2", emit_sent_input(program, 1)},
                {"sent_out", emit_sent_output(program)},
                {"d_result", emit_copied_out(program)},
                {"taken", program->item != NULL ? program->item->buffer : BUFFER_COUNT}};
    const struct named_buffer *row = EMIT_ROW(rows, name);
    if (row != NULL)
        *buffer = row->buffer;
    return row != NULL;
}

/* Returns what stands behind `word` and a blank in a name, or NULL. */
static const char *behind(const char *name, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(name, word, length) == 0 && name[length] == ' ' ? name + length + 1 : NULL;
}

/* --- conditions --- */

static int of_chain(const struct emit_program *program, const char *name)
{
    const struct plan *plan = program->plan;
    const struct kernel *first = plan->chain[0], *last = plan_last_kernel(plan);
    const bool values = emit_reduction(program) != NULL, scan = emit_scan(program) != NULL;
    const bool wide = strlen(emit_input_type(program)) + strlen(emit_host_count(program)) >
                      strlen("double") + strlen("N");
    const struct emit_fact rows[] = {
        {"two_inputs", emit_inputs(program) == 2},
        {"one_input", emit_inputs(program) == 1},
        {"ints", first->in == DTYPE_I32},
        {"int_result", last->out == DTYPE_I32},
        {"one_type", emit_input_type(program) == emit_output_type(program)},
        {"wide", wide},
        {"chained", plan->chain_length > 1},
        {"values", values},
        {"found", values && last->file == NULL},
        {"joins_tests", values && last->fold == KERNEL_FOLD_AND},
        {"floats_reduced", last->in == DTYPE_F32},
        {"has_maps", plan->chain_length > (values ? 1 : 0)},
        {"product", emit_is_product(program)},
        {"stencil", program->plan->has_halo},
        {"scan", scan},
        {"sums_stay", program->settings->carry == CARRY_DEVICE},
        {"exclusive", first->exclusive},
        {"moves_all", first->gathers},
        {"many_handles", emit_is_product(program) && emit_has_handles(program)},
        {"sure_of_upload", emit_is_sure_of_upload(program)},
        {"legacy_kernels", emit_is_product(program) && emit_kernels_are_legacy(program)},
        {"small_tiles", plan->elements / plan->tiles < UINT64_C(1) << 31},
        {"own", emit_count_own(program) > 0},
        {"ours", emit_count_own(program) < plan->chain_length},
        {"last_is_own", last->file != NULL},
    };
    return emit_find_fact(rows, sizeof rows / sizeof *rows, name);
}

static int of_issue(const struct emit_program *program, const char *name)
{
    const struct plan *plan = program->plan;
    int numbers[MACHINE_DEVICES_MAX];
    const struct emit_fact rows[] = {
        {"devices", emit_has_devices(program)},
        {"deals_devices", emit_deals_devices(program)},
        {"handed", emit_is_handed(program)},
        {"handed_by_host", emit_is_handed(program) && plan->by_host},
        {"reaches", (emit_is_handed(program) || emit_exchanges(program)) && !plan->by_host},
        {"begins_elsewhere", emit_named_numbers(program, numbers) && numbers[0] != 0},
        {"by_host", plan->by_host},
        {"hides", emit_hides(program)},
        {"exchanges", emit_exchanges(program)},
        {"repeats_steps", emit_repeats_steps(program)},
        {"dealt_evenly", plan->tiles % program->devices == 0},
        {"inner_devices", program->devices > 2},
        {"graph", plan->issue == ISSUE_GRAPH},
        {"batches", program->plan->batch > 1},
        {"full_batches", (plan->tiles - plan->cpu_tiles) % plan->batch == 0},
        {"batch_copies", plan->batch > 1 && emit_has(program, OP_H2D) && !plan->packs},
        {"callbacks", emit_has(program, OP_CALLBACK)},
        {"sleeps", program->loops->sleep_ns > 0},
        {"other", emit_has_other(program)},
        {"pins", strcmp(mistake_name(program->settings->mistake), "pinned-alloc-in-loop") == 0},
        {"launches_block", mistake_rows[program->settings->mistake].launches_block},
        {"deals_streams", emit_deals_streams(program)},
        {"streams_by_stage", emit_streams_by_stage(program)},
        {"many_streams", plan->streams > 1},
        {"single_stream", plan->streams == plan_devices(plan)},
        {"legacy", program->legacy != EMIT_NO_LEGACY},
        {"priorities", plan->priorities != NULL},
        {"cpu", program->plan->cpu_tiles > 0},
    };
    return emit_find_fact(rows, sizeof rows / sizeof *rows, name);
}

static int of_memory(const struct emit_program *program, const char *name)
{
    char text[EMIT_LINE];
    const struct plan *plan = program->plan;
    const bool columns = emit_in_columns(program);
    const struct emit_fact rows[] = {
        {"plain", plan->memory == MEMORY_PINNED && !program->rows && !plan->packs &&
                      plan->issue == ISSUE_STREAMS && plan->cpu_tiles == 0 &&
                      !emit_has(program, OP_CALLBACK) && emit_has_short_sizes(program) &&
                      emit_deals_streams(program) && emit_alike_bytes(program, text) != NULL &&
                      emit_input_type(program) == emit_output_type(program)},
        {"pinned", plan->memory == MEMORY_PINNED},
        {"mapped", plan->memory == MEMORY_MAPPED},
        {"registered", plan->memory == MEMORY_REGISTERED},
        {"managed", plan->memory == MEMORY_MANAGED},
        {"paged", program->settings->memory == MEMORY_PAGEABLE},
        {"on_host", emit_on_host(program)},
        {"prefetches", plan->prefetches},
        {"pool", plan->alloc == ALLOC_POOL},
        {"takes_in_loop", plan->alloc == ALLOC_LOOP},
        {"packs", plan->packs},
        {"unpacks", emit_unpacks(program)},
        {"in_pieces", columns || (emit_in_places(program) && program->plan->batch > 1)},
        {"by_2d", plan->copy == COPY_2D},
        {"in_rows", columns && !plan->packs && (plan->copy == COPY_2D || plan->tiles > 1)},
        {"shares_slots", emit_shares_slots(program)},
        {"fewer_slots", emit_all_slots(program) < program->batches},
        {"even", program->even},
        {"rows", program->rows},
        {"many_tiles", plan->tiles > 1},
        {"in_columns", columns},
        {"in_places", emit_in_places(program)},
        {"draws_places", emit_draws_places(program)},
        {"apart", emit_is_apart(program)},
        {"long_element", strlen(program->arrays->element) > strlen("[i / TILE][i % TILE]")},
        {"short_sizes", emit_has_short_sizes(program)},
        {"alike", emit_alike_bytes(program, text) != NULL},
    };
    return emit_find_fact(rows, sizeof rows / sizeof *rows, name);
}

static int holds(const struct emit_program *program, const char *name)
{
    int (*const kinds[])(const struct emit_program *, const char *) = {
        of_chain,       of_issue,         of_memory,    emit_item_fact,
        emit_bare_fact, emit_kernel_fact, emit_own_fact};
    enum buffer buffer;
    char text[EMIT_LINE];
    if (behind(name, "has") != NULL && find_buffer(program, behind(name, "has"), &buffer))
        return emit_uses(program, buffer);
    if (behind(name, "takes") != NULL && find_buffer(program, behind(name, "takes"), &buffer))
        return emit_device_bytes(program, buffer, text) != NULL;
    int result = -1;
    for (size_t i = 0; result < 0 && i < sizeof kinds / sizeof *kinds; i++)
        result = kinds[i](program, name);
    return result;
}

/* --- values --- */

/* Returns what a neighbour's weight is 1 of, as kernels/stencil.cu has it: a power of two of
 * which 4 * halo are a half at most. */
static uint64_t weight_of(uint32_t halo)
{
    uint64_t of = 8;
    for (uint32_t room = 1; room < halo; room *= 2)
        of *= 2;
    return of;
}

/* Returns the value that is a number, or NULL. */
static const char *number_of(const struct emit_program *program, const char *name,
                             char text[EMIT_LINE])
{
    enum {
        CHUNK_BYTES = 65536,               /* that a core packs at a time, about */
        PRODUCT_PIECE = 1 << 27,           /* elements of a bare copy, at most: a GiB */
        STENCIL_BLOCK = 4 * KERNEL_THREADS /* elements, as in kernels/stencil.cu */
    };
    const struct plan *plan = program->plan;
    const struct kernel_params *params = &plan->params;
    const uint64_t share = (plan->elements + program->devices - 1) / program->devices;
    const bool hides = emit_hides(program) && plan->priorities != NULL;
    int numbers[MACHINE_DEVICES_MAX] = {0};
    emit_named_numbers(program, numbers);
    const struct number {
        const char *name;
        int64_t value;
    } rows[] = {
        {"first_number", numbers[0]},
        {"inner_priority", hides ? plan->priorities[0] : 0},
        {"edge_priority", hides ? plan->priorities[1] : 0},
        {"priority_period", emit_priority_period(program)},
        {"elements", (int64_t)plan->elements},
        {"tiles", plan->tiles},
        {"cpu_tiles", plan->cpu_tiles},
        {"device_count", plan_devices(plan)},
        {"stream_count", program->streams},
        {"slot_count", program->slots},
        {"wave", program->loops->loop_count > 0
                     ? program->loops->loops[program->loops->loop_count - 1].wave
                     : 0},
        {"batch_tiles", plan->batch},
        {"twin_part", EMIT_PART},
        {"tile_width", plan->tile_width},
        {"cpu_piece", EMIT_CPU_PIECE},
        {"rows", params->rows},
        {"inner", params->inner},
        {"columns", params->columns},
        {"alignment", HOST_TILE_ALIGNMENT},
        {"before_alignment", HOST_TILE_ALIGNMENT - 1},
        {"gap_bytes", HOST_GAP_BYTES},
        {"halo", params->halo},
        {"steps", params->steps},
        {"weight_of", (int64_t)weight_of(params->halo)},
        {"neighbours", INT64_C(4) * params->halo},
        {"stencil_items", STENCIL_BLOCK / KERNEL_THREADS},
        {"product_piece", share < PRODUCT_PIECE ? (int64_t)share : PRODUCT_PIECE},
        {"runs", program->settings->runs + 1},
        {"threads", KERNEL_THREADS},
        {"blocks", emit_blocks(program)},
        {"map_blocks", program->loops->blocks[emit_map_link(program)]},
        {"intensity", params->intensity},
        {"stride", params->stride},
        {"stride_step", params->stride > 0 ? kernel_stride_step(params->stride) : 0},
        {"each_thread", (int64_t)plan->chain[0]->per_thread},
        {"scan_items",
         emit_scan(program) != NULL ? (int64_t)emit_kernel_find(plan->chain[0])->items : 0},
        {"sleep_ns", (int64_t)program->loops->sleep_ns},
        {"other_bytes", (int64_t)plan->buffer_bytes[BUFFER_DEVICE_OTHER]},
        {"pack_chunk", CHUNK_BYTES / (int64_t)dtype_bytes(plan->chain[0]->in)},
        {"own_roundings", OWN_ROUNDINGS},
        {"sum_roundings",
         plan_last_kernel(plan)->out == DTYPE_F64 ? OWN_SUM_ROUNDINGS : OWN_ROUNDINGS},
    };
    const struct number *row = EMIT_ROW(rows, name);
    if (row == NULL)
        return NULL;
    snprintf(text, EMIT_LINE, "%" PRId64, row->value);
    return text;
}

/* Returns the type of an element as a twin has it: the program's whole numbers have no sign. */
static const char *twin_type(enum dtype dtype)
{
    return dtype == DTYPE_I32 ? "int" : emit_type(dtype);
}

/* Returns the value that is a name or an expression which is the same for all programs like
 * this, or NULL. */
static const char *word_of(const struct emit_program *program, const char *name)
{
    const struct kernel *first = program->plan->chain[0];
    const struct kernel *last = plan_last_kernel(program->plan);
    const bool whole = last->out == DTYPE_I32;
    const struct word {
        const char *name, *value;
    } rows[] = {
        {"in_type", emit_input_type(program)},
        {"out_type", emit_output_type(program)},
        {"in_epsilon", first->in == DTYPE_F32 ? "FLT" : "DBL"},
        {"out_epsilon", last->out == DTYPE_F32 ? "FLT" : "DBL"},
        {"twin_type", twin_type(first->in)},
        {"twin_in", twin_type(last->in)},
        {"twin_out", twin_type(last->out)},
        {"signed", first->in == DTYPE_I32 ? "(int)" : ""},
        {"part_type", emit_part_type(program)},
        {"sum_type", whole ? emit_part_type(program) : "double"},
        {"cpu_result",
         last->file == NULL && last->fold == KERNEL_FOLD_AND ? "sum == 0" : "sum"},
        {"each", emit_each_device(program)},
        {"on", emit_of_device(program)},
        {"gpu_tiles", emit_tiles_name(program)},
        {"all_batches", emit_batches_name(program)},
        {"index", emit_index_name(program)},
        {"slots", emit_slots_name(program)},
        {"element", program->arrays->element},
        {"host_count", emit_host_count(program)},
        {"host_extent", program->arrays->extent},
        {"host_row", program->arrays->row},
        {"edge_stream", emit_hides(program) ? "edge_stream[device]" : "stream[device]"},
        {"old_result", whole ? "0xA5A5A5A5u" : "NAN"},
        {"stream_flag",
         program->legacy == EMIT_NO_LEGACY ? "cudaStreamNonBlocking" : "cudaStreamDefault"},
        {"twin_input", emit_input_of(program, 0, 0)},
        {"twin_second", emit_input_of(program, 0, 1)},
    };
    const struct word *row = EMIT_ROW(rows, name);
    return row != NULL ? row->value : NULL;
}

/* Returns the name of an event, a stream or a library's variable that a name asks for: that of
 * the item which is written, the one by which a batch is back, or the first or last link's; or
 * NULL. */
static const char *name_of(const struct emit_program *program, const char *name,
                           char text[EMIT_LINE])
{
    const struct loop_item *item = program->item;
    if (strcmp(name, "event") == 0)
        return emit_event_name(program, item->event_stage, item->relation, text);
    if (strcmp(name, "back_event") == 0)
        return emit_event_name(program, program->stage_count - 1, RELATION_OWN, text);
    if (strcmp(name, "stream") == 0 || strcmp(name, "kernel_stream") == 0)
        return emit_stream_name(program, name[0] == 's' ? program->stage : 1, text);
    if (strcmp(name, "first_own") == 0 || strcmp(name, "last_own") == 0)
        return emit_own_name(program, name[0] == 'f' ? 0 : program->plan->chain_length - 1,
                             text);
    return NULL;
}

/* Returns the value of a buffer that a name asks for: "bytes d_in", for example; or NULL. */
static const char *of_buffer(const struct emit_program *program, const char *name,
                             char text[EMIT_LINE])
{
    enum buffer buffer;
    const char *blank = strchr(name, ' ');
    if (blank == NULL || !find_buffer(program, blank + 1, &buffer))
        return NULL;
    if (behind(name, "buffer") != NULL)
        return emit_buffer_name(program, buffer);
    if (behind(name, "declare") != NULL)
        return emit_declarator(program, buffer, text);
    if (behind(name, "bytes") != NULL)
        return emit_device_bytes(program, buffer, text);
    if (behind(name, "at") != NULL)
        return emit_address(program, buffer, false, text);
    if (behind(name, "bytes_of") != NULL)
        return emit_batch_bytes(program, buffer, text);
    if (behind(name, "slot_bytes") != NULL)
        return emit_slot_bytes(program, buffer, text);
    if (behind(name, "poison_of") != NULL)
        return emit_poison_of(program, buffer);
    if (behind(name, "piece_of") != NULL)
        return emit_piece_of(program, blank + 1, text);
    return NULL;
}

static const char *value_of(const struct emit_program *program, const char *name,
                            char text[EMIT_LINE])
{
    static const struct writer {
        const char *name;
        const char *(*write)(const struct emit_program *program, char text[EMIT_LINE]);
    } rows[] = {{"first_stream", emit_first_stream},
                {"other_stream", emit_other_stream},
                {"when", emit_when},
                {"why", emit_why},
                {"all_slots", emit_all_slots_name},
                {"handle", emit_handle},
                {"arrays_bytes", emit_arrays_bytes},
                {"place_table", emit_place_table},
                {"places_key", emit_places_key},
                {"times_slots", emit_times_slots},
                {"packed_bytes", emit_packed_bytes},
                {"device_arrays", emit_device_arrays},
                {"alike_bytes", emit_alike_bytes},
                {"priorities", emit_priorities},
                {"right", emit_right},
                {"off", emit_off},
                {"fold_off", emit_fold_off}};
    if (behind(name, "number") != NULL)
        return emit_device_number(program, behind(name, "number"), text);
    const char *value = of_buffer(program, name, text);
    if (value == NULL)
        value = word_of(program, name);
    if (value == NULL)
        value = number_of(program, name, text);
    if (value == NULL)
        value = name_of(program, name, text);
    if (value == NULL)
        value = emit_bare_value(program, name, text);
    const struct writer *row = value == NULL ? EMIT_ROW(rows, name) : NULL;
    return row != NULL ? row->write(program, text) : value;
}

/* --- parts --- */

static bool put_part(FILE *out, int indent, const struct emit_program *program,
                     const char *name)
{
    static const struct part {
        const char *name;
        void (*write)(FILE *out, const struct emit_program *program);
        void (*write_indented)(FILE *out, int indent, const struct emit_program *program);
    } rows[] = {{"device_numbers", .write = emit_device_numbers},
                {"scratch", .write = emit_scratch},
                {"own_variables", .write = emit_own_variables},
                {"event_declarations", .write = emit_event_declarations},
                {"kernels", .write = emit_kernels},
                {"bounds", .write = emit_bounds},
                {"cpu_kernels", .write = emit_cpu_kernels},
                {"cpu_links", .write = emit_cpu_links},
                {"own_opening", .write = emit_own_opening},
                {"own_links", .write_indented = emit_own_links},
                {"stage_priorities", .write = emit_stage_priorities},
                {"event_creation", .write = emit_event_creation},
                {"carry", .write_indented = emit_put_carry},
                {"handing", .write_indented = emit_put_handing},
                {"launch", .write_indented = emit_put_launch},
                {"right_steps", .write_indented = emit_right_steps}};
    const struct part *row = EMIT_ROW(rows, name);
    if (row != NULL && row->write != NULL)
        row->write(out, program);
    else if (row != NULL)
        row->write_indented(out, indent, program);
    return row != NULL;
}

const struct emit_facts emit_facts = {holds, value_of, put_part};
