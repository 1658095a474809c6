/* emit.c - the program around a plan's loops. */
#include "emit/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 512 };

/* --- constants --- */

static bool repeats(const struct plan *plan)
{
    for (int i = 0; i < plan->chain_length; i++) {
        if (plan->chain[i]->repeats)
            return true;
    }
    return false;
}

/* Returns true if a kernel of the chain is a*x + b. */
static bool scales(const struct plan *plan)
{
    for (int i = 0; i < plan->chain_length; i++) {
        const char *name = plan->chain[i]->name;
        if (strcmp(name, "scale") == 0 || strcmp(name, "uniform") == 0 ||
            strcmp(name, "divergent") == 0)
            return true;
    }
    return false;
}

static void put_sizes(FILE *out, const struct emit_program *program, const char *body)
{
    const struct plan *plan = program->plan;
    char text[TEXT];
    int length = snprintf(text, sizeof text, "const size_t N = %" PRIu64 ", TILES = %" PRIu32,
                          plan->elements, plan->tiles);
    if (emit_has_cpu(program))
        length += snprintf(text + length, sizeof text - (size_t)length,
                           ", CPU_TILES = %" PRIu32 ", GPU_TILES = TILES - CPU_TILES",
                           plan->cpu_tiles);
    const struct loop *last = &program->loops->loops[program->loops->loop_count - 1];
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {{"DEVICES", plan_devices(plan)}, {"STREAMS", program->streams},
                   {"SLOTS", program->slots},       {"WAVE", last->wave},
                   {"BATCH", plan->batch},          {"PART", EMIT_PART}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (emit_has_word(body, numbers[i].name))
            length += snprintf(text + length, sizeof text - (size_t)length, ", %s = %" PRIu32,
                               numbers[i].name, numbers[i].value);
    }
    if (emit_has_word(body, "BATCHES"))
        length += snprintf(text + length, sizeof text - (size_t)length,
                           ", BATCHES = (%s + BATCH - 1) / BATCH", emit_tiles_name(program));
    if (emit_has_word(body, "SHARE"))
        length +=
            snprintf(text + length, sizeof text - (size_t)length,
                     ", SHARE = (%s + DEVICES - 1) / DEVICES", emit_batches_name(program));
    if (program->even)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           ", TILE = N / TILES, BYTES = TILE * sizeof(%s)",
                           emit_type(plan->chain[0]->in));
    else if (emit_has_word(body, "TILE") || emit_has_cpu(program) || emit_in_places(program))
        snprintf(text + length, sizeof text - (size_t)length,
                 ", TILE = (N + TILES - 1) / TILES");
    if (emit_in_columns(program))
        snprintf(text + length, sizeof text - (size_t)length,
                 ", WIDTH = %" PRIu32 ", ROWS = TILE / WIDTH, ROW = WIDTH * sizeof(%s)",
                 plan->tile_width, emit_type(plan->chain[0]->in));
    emit_put(out, 0, NULL, "%s;", text);
    emit_device_numbers(out, program);
    emit_bare_constants(out, program);
}

static void put_constants(FILE *out, const struct emit_program *program, const char *body)
{
    const struct plan *plan = program->plan;
    if (emit_is_stencil(program)) {
        emit_stencil_constants(out, program);
        return;
    }
    put_sizes(out, program, body);
    emit_places_constants(out, program);
    emit_cpu_constants(out, program);
    if (emit_is_product(program)) {
        emit_product_sizes(out, program);
        fprintf(out, "const int RUNS = %" PRIu32 ";\n", program->settings->runs + 1);
        return;
    }
    fprintf(out, "const int ");
    if (emit_has_ours(program))
        fprintf(out, "THREADS = %d, ", KERNEL_THREADS);
    fprintf(out, "BLOCKS = %" PRIu32, emit_blocks(program));
    if (emit_has_word(body, "MAP_BLOCKS"))
        fprintf(out, ", MAP_BLOCKS = %" PRIu32, program->loops->blocks[emit_map_link(program)]);
    if (repeats(plan))
        fprintf(out, ", INTENSITY = %" PRIu32, plan->params.intensity);
    fprintf(out, ", RUNS = %" PRIu32 ";\n", program->settings->runs + 1);
    if (scales(plan))
        fprintf(out, "constexpr float FACTOR = -1 + 1 / 65536.0f; // of a repeat: nothing ever "
                     "overflows\n");
}

/* --- variables --- */

/* Writes the arrays of elements and, of a reduction, of values. */
static void put_arrays(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const struct kernel *reduction = emit_reduction(program);
    const char *in = emit_type(plan->chain[0]->in);
    const char *result = emit_type(plan_last_kernel(plan)->out);
    const struct {
        const char *name;
        enum buffer buffer;
    } arrays[] = {{"in", BUFFER_HOST_IN0},      {"in2", BUFFER_HOST_IN1},
                  {"out", BUFFER_HOST_OUT},     {"d_in", BUFFER_DEVICE_IN0},
                  {"d_in2", BUFFER_DEVICE_IN1}, {"d_out", BUFFER_DEVICE_OUT}};
    char text[TEXT];
    int length = snprintf(text, sizeof text, "static %s", in);
    const char *before = " ";
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const bool values = reduction != NULL && (arrays[i].buffer == BUFFER_HOST_OUT ||
                                                  arrays[i].buffer == BUFFER_DEVICE_OUT);
        if (values || !emit_uses(program, arrays[i].buffer))
            continue;
        char pointers[EMIT_TEXT], name[EMIT_NAME];
        snprintf(name, sizeof name, "%s%s", arrays[i].name,
                 arrays[i].buffer < BUFFER_FIRST_DEVICE ? "" : emit_each_device(program));
        if (emit_takes(program, arrays[i].buffer))
            emit_pointers(program, arrays[i].name, pointers);
        else
            snprintf(pointers, sizeof pointers, program->even ? "(*%s)%s" : "*%s%s", name,
                     arrays[i].buffer < BUFFER_FIRST_DEVICE ? emit_host_row(program)
                     : program->even                        ? "[TILE]"
                                                            : "");
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "%s%s", before, pointers);
        before = ", ";
    }
    emit_put(out, 0,
             emit_in_columns(program) ? "a tile has WIDTH columns of the host's matrices"
             : program->even          ? "tiles are rows"
                                      : "",
             "%s%s*d_all%s;", text, before, emit_each_device(program));
    emit_pointers(program, "d_out", text);
    if (reduction != NULL)
        fprintf(out, "static %s *out%s%s%s; // a value for each tile\n", result,
                emit_uses(program, BUFFER_DEVICE_OUT) ? ", " : "",
                emit_takes(program, BUFFER_DEVICE_OUT)  ? text
                : emit_uses(program, BUFFER_DEVICE_OUT) ? "*d_out"
                                                        : "",
                emit_uses(program, BUFFER_DEVICE_OUT) ? emit_each_device(program) : "");
}

/* Writes what the blocks of a reduction tell one another by. */
static void put_scratch(FILE *out, const struct emit_program *program,
                        const struct kernel *reduction)
{
    if (emit_ladder_scratch(reduction) != NULL)
        fputs(emit_ladder_scratch(reduction), out);
    else
        fprintf(out,
                "static struct scratch { // of a slot: how many blocks have ended, and what "
                "each found\n"
                "    unsigned ended;\n"
                "    %s part[BLOCKS];\n",
                emit_kernel_find(reduction)->part);
    fprintf(out, "} *d_found%s;\n", emit_each_device(program));
}

static void put_streams(FILE *out, const struct emit_program *program)
{
    const char *each = emit_each_device(program);
    const bool devices = emit_has_devices(program);
    if (emit_hides(program))
        emit_rows_streams(out);
    else if (emit_deals_streams(program))
        emit_put(out, 0, "a stream's calls keep their order, and overlap others",
                 "static cudaStream_t stream%s[STREAMS];", each);
    else if (emit_streams_by_stage(program) && program->legacy != EMIT_NO_LEGACY &&
             !emit_has_other(program))
        emit_put(out, 0, "one for each stage; kernels have none",
                 "static cudaStream_t in_stream, out_stream;");
    else if (emit_streams_by_stage(program))
        emit_put(out, 0,
                 devices ? "on each device one for each stage: events join them"
                         : "one for each stage: events join them",
                 "static cudaStream_t in_stream%s, kernel_stream%s, out_stream%s;", each, each,
                 each);
    else
        fprintf(out,
                "static cudaStream_t stream%s; // %s: nothing overlaps in it\n"
                "static cudaStream_t other%s;  // for the bare copies' way back\n",
                each, devices ? "one on each" : "one", each);
}

static void put_variables(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const struct kernel *reduction = emit_reduction(program);
    if (emit_is_product(program))
        emit_product_arrays(out, program);
    else if (emit_is_stencil(program))
        emit_stencil_arrays(out, program);
    else
        put_arrays(out, program);
    emit_pack_variables(out, program);
    emit_handing_variables(out, program);
    emit_pool_declaration(out, program);
    emit_managed_variables(out, program);
    if (reduction != NULL && reduction->file == NULL)
        put_scratch(out, program, reduction);
    if (emit_scan(program) != NULL)
        emit_scan_variables(out, program);
    if (emit_has_own(program))
        emit_own_variables(out, program);
    put_streams(out, program);
    emit_rows_events(out, program);
    emit_event_declarations(out, program);
    if (emit_has(program, OP_CALLBACK))
        fprintf(out,
                "static std::atomic<size_t> back; // %ss, of all runs\n\n"
                "// The driver calls this on a thread of its own, and holds the stream up "
                "until it returns.\n"
                "static void CUDART_CB %s_is_back(void *) {\n"
                "    back++;\n",
                plan->batch > 1 ? "batche" : "tile", plan->batch > 1 ? "batch" : "tile");
    if (program->loops->sleep_ns > 0)
        fprintf(out,
                "    std::this_thread::sleep_for(std::chrono::nanoseconds(%" PRId64
                ")); // the mistake\n",
                program->loops->sleep_ns);
    if (emit_has(program, OP_CALLBACK))
        fprintf(out, "}\n");
    fprintf(out, "\n");
}

/* --- helpers --- */

/* Writes the sides of a batch's copies: each tile is at its own place on the host. */
static void put_scattered_sides(FILE *out, const struct emit_program *program)
{
    fprintf(
        out,
        "// One call copies the tiles of a batch, each to or from its own place on the host; "
        "CUDA 12.8 and\n"
        "// later have it.\n");
    emit_put(out, 0, NULL,
             "static void copy_batch(%s *device, %s (*host)[PITCH], size_t first, size_t "
             "tiles, cudaMemcpyKind way, cudaStream_t stream) {",
             emit_type(program->plan->chain[0]->in), emit_type(program->plan->chain[0]->in));
    fprintf(out, "    static void *tos[BATCH], *froms[BATCH];\n"
                 "    static size_t sizes[BATCH], start = 0;\n"
                 "    for (size_t i = 0; i < tiles; i++) {\n"
                 "        void *here = host[place[first + i]], *there = device + i * TILE;\n"
                 "        tos[i] = way == cudaMemcpyHostToDevice ? there : here;\n"
                 "        froms[i] = way == cudaMemcpyHostToDevice ? here : there;\n");
}

static void put_sides(FILE *out)
{
    fprintf(
        out,
        "// One call copies the tiles of a batch; CUDA 12.8 and later have it.\n"
        "static void copy_batch(void *to, void *from, size_t tiles, cudaStream_t stream) {\n"
        "    static void *tos[BATCH], *froms[BATCH];\n"
        "    static size_t sizes[BATCH], first = 0;\n"
        "    for (size_t i = 0; i < tiles; i++) {\n"
        "        tos[i] = (char *)to + i * BYTES;\n"
        "        froms[i] = (char *)from + i * BYTES;\n");
}

static void put_batch_copies(FILE *out, const struct emit_program *program)
{
    const char *first = emit_in_places(program) ? "start" : "first";
    if (program->plan->batch <= 1 || !emit_has(program, OP_H2D) || emit_packs(program))
        return;
    if (emit_in_places(program))
        put_scattered_sides(out, program);
    else
        put_sides(out);
    fprintf(out,
            "        sizes[i] = BYTES;\n"
            "    }\n"
            "    cudaMemcpyAttributes attributes = {}; // of all, from the first on\n"
            "    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;\n"
            "#if CUDART_VERSION >= 13000\n"
            "    CHECK(cudaMemcpyBatchAsync(tos, froms, sizes, tiles, &attributes, &%s, 1, "
            "stream));\n"
            "#else\n"
            "    CHECK(cudaMemcpyBatchAsync(tos, froms, sizes, tiles, &attributes, &%s, 1, "
            "NULL, "
            "stream));\n"
            "#endif\n"
            "}\n\n",
            first, first);
}

/* --- the whole --- */

/* Writes all but the head and the constants, which depend on what this uses. */
static bool put_body(FILE *out, const struct emit_program *program)
{
    put_variables(out, program);
    emit_places(out, program);
    emit_kernels(out, program);
    if (emit_scan(program) != NULL)
        emit_scan_kernel(out, program);
    if (emit_is_transpose(program))
        emit_transpose_kernel(out, program);
    if (emit_is_stride_copy(program))
        emit_stride_kernel(out, program);
    if (emit_is_product(program))
        emit_product_functions(out, program);
    if (emit_is_stencil(program))
        emit_stencil_functions(out);
    if (emit_has_own(program))
        emit_own_functions(out, program);
    emit_cpu(out, program);
    put_batch_copies(out, program);
    emit_pack_functions(out, program);
    emit_managed_functions(out, program);
    emit_other_code(out, program);
    const bool whole = emit_issue(out, program);
    emit_capture(out, program);
    emit_reach_function(out, program);
    emit_preparation(out, program);
    emit_main(out, program);
    return whole && !ferror(out);
}

/* Tells the streams that are made from the legacy default stream. */
static void count_streams(struct emit_program *program)
{
    const struct plan *plan = program->plan;
    program->legacy = EMIT_NO_LEGACY;
    program->streams = plan->streams / plan_devices(plan);
    for (uint32_t i = 0; i < plan->streams; i++) {
        if (plan_stream_kind(plan, i) == STREAM_LEGACY)
            program->legacy = i;
    }
    if (program->legacy != EMIT_NO_LEGACY)
        program->streams--;
}

/* Finds the program of a plan. STATUS_USAGE where it has none. */
static enum status find_program(struct emit_program *program, const struct plan *plan,
                                const struct settings *settings, struct error *error)
{
    *program = (struct emit_program){.plan = plan,
                                     .settings = settings,
                                     .batches = plan_batches(plan),
                                     .devices = plan->by_link ? 1 : plan_devices(plan),
                                     .slots = plan->slots / plan_devices(plan),
                                     .even = plan->elements % plan->tiles == 0};
    program->share = (program->batches + program->devices - 1) / program->devices;
    const enum status status = emit_check_plan(program, error);
    if (status != STATUS_OK)
        return status;
    if (plan->loops == NULL || plan->loops->broken)
        return error_set(error, STATUS_USAGE,
                         "--emit: this plan is not a loop that can be emitted");
    program->loops = plan->loops;
    program->stages = plan->loops->stages;
    program->stage_count = plan->loops->stage_count;
    count_streams(program);
    return emit_check_loops(program, error);
}

enum status check_program(const struct plan *plan, const struct settings *settings,
                          struct error *error)
{
    struct emit_program program;
    return find_program(&program, plan, settings, error);
}

enum status write_program(FILE *out, const struct plan *plan, const struct settings *settings,
                          struct error *error)
{
    struct emit_program program;
    const enum status status = find_program(&program, plan, settings, error);
    if (status != STATUS_OK)
        return status;
    char *body = NULL;
    size_t length;
    FILE *memory = open_memstream(&body, &length);
    bool whole = memory != NULL && put_body(memory, &program);
    if (memory != NULL)
        whole &= fclose(memory) == 0;
    if (whole) {
        whole = emit_head(out, &program, body);
        put_constants(out, &program, body);
        fputs(body, out);
    }
    free(body);
    return whole ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "no memory for the program");
}
