/* emit_main.c - main() of a program: memory, streams, data, repeats, times and the check. */
#include "writers/emit_parts.h"

#include <inttypes.h>
#include <string.h>

enum { EXPRESSION = 128 };

static const char *input_type(const struct emit_program *program)
{
    return emit_type(program->plan->chain[0]->in);
}

static const char *output_type(const struct emit_program *program)
{
    return emit_type(plan_last_kernel(program->plan)->out);
}

/* --- memory --- */

static void put_host_memory(FILE *out, const struct emit_program *program, const char *name,
                            const char *type, const char *count, const char *comment)
{
    const char *extent = strcmp(count, "TILES") == 0            ? "[TILES]"
                         : strcmp(count, "A") == 0              ? "[A]"
                         : strcmp(count, "TILES * B_TILE") == 0 ? "[TILES][B_TILE]"
                                                                : emit_host_extent(program);
    switch (program->plan->memory) {
    case MEMORY_PINNED:
        emit_put(out, 4, comment, "CHECK(cudaMallocHost(&%s, %s * sizeof(%s)));", name, count,
                 type);
        break;
    case MEMORY_MAPPED:
        emit_put(out, 4, comment,
                 "CHECK(cudaHostAlloc(&%s, %s * sizeof(%s), cudaHostAllocMapped));", name,
                 count, type);
        break;
    case MEMORY_REGISTERED:
        emit_put(out, 4, comment, "%s = new %s%s;", name, type, extent);
        emit_put(out, 4, NULL,
                 "CHECK(cudaHostRegister(%s, %s * sizeof(%s), cudaHostRegisterDefault));", name,
                 count, type);
        break;
    case MEMORY_PAGEABLE:
        emit_put(out, 4, comment, "%s = new %s%s;", name, type, extent);
        break;
    case MEMORY_MANAGED:
        emit_put(out, 4, comment, "CHECK(cudaMallocManaged(&%s, %s * sizeof(%s)));", name,
                 count, type);
        break;
    }
}

/* Writes two allocations of page-locked memory, on a line if that has room. */
static void put_two_arrays(FILE *out, const struct emit_program *program)
{
    const char *type = input_type(program), *count = emit_host_count(program);
    const bool wide = strlen(type) + strlen(count) > strlen("double") + strlen("N");
    fprintf(out,
            "    CHECK(cudaMallocHost(&in, %s * sizeof(%s)));%s"
            "CHECK(cudaMallocHost(&out, %s * sizeof(%s)));\n",
            count, type, wide ? "\n    " : " ", count, type);
}

static void put_host_arrays(FILE *out, const struct emit_program *program)
{
    static const char *const why[] = {
        [MEMORY_PAGEABLE] = "pageable: the host stages each copy, and waits for it",
        [MEMORY_REGISTERED] = "page-locked once it is there: copies go by themselves",
        [MEMORY_MAPPED] = "kernels read and write it over the link",
        [MEMORY_MANAGED] = "its pages move to who works on them",
        [MEMORY_PINNED] = "page-locked: copies go by themselves",
    };
    const enum memory memory = program->plan->memory;
    const char *type = input_type(program);
    if (memory == MEMORY_PINNED && emit_inputs(program) == 1 &&
        emit_reduction(program) == NULL) {
        put_two_arrays(out, program);
        return;
    }
    if (emit_is_product(program)) {
        put_host_memory(out, program, "a", type, "A", why[memory]);
        put_host_memory(out, program, "b", type, "TILES * B_TILE", "");
        put_host_memory(out, program, "c0", type, "N", "");
        put_host_memory(out, program, "c", type, "N", "");
        return;
    }
    const char *count = emit_host_count(program);
    const bool packed = memory == MEMORY_PAGEABLE && emit_packs(program);
    put_host_memory(out, program, "in", type, count,
                    packed ? "pageable: in the loop the CPU alone works on it" : why[memory]);
    if (emit_inputs(program) == 2)
        put_host_memory(out, program, "in2", type, count, "");
    const char *results = emit_reduction(program) != NULL ? "TILES" : count;
    put_host_memory(out, program, "out", output_type(program), results, "");
    if (!emit_is_managed(program))
        return;
    emit_put(out, 4, "page-locked, for bare copies",
             "CHECK(cudaMallocHost(&bare_in, N * sizeof(%s)));", type);
    emit_put(out, 4, NULL, "CHECK(cudaMallocHost(&bare_out, %s * sizeof(%s)));", results,
             output_type(program));
}

/* Returns the bytes of all slots of a buffer of elements or, of values, of one for each tile.
 */
static const char *slots_bytes(const struct emit_program *program, enum buffer buffer,
                               const char *type, char text[EXPRESSION])
{
    const struct plan *plan = program->plan;
    const bool values = emit_reduction(program) != NULL && buffer == BUFFER_DEVICE_OUT;
    const char *slots = emit_slots_name(program), *batch = plan->batch > 1 ? "BATCH * " : "";
    char times[32] = "";
    if (program->slots >= program->batches) {
        if (emit_has_cpu(program) && program->even && !values)
            return strcpy(text, "GPU_TILES * BYTES");
        if (emit_is_product(program)) {
            snprintf(text, EXPRESSION, "TILES * %s", emit_bytes_name(program, buffer));
            return text;
        }
        snprintf(text, EXPRESSION, "%s * sizeof(%s)", values ? emit_tiles_name(program) : "N",
                 type);
        return text;
    }
    if (program->slots > 1)
        snprintf(times, sizeof times, "%s * ", slots);
    const bool row = program->even && !values;
    if (row)
        snprintf(text, EXPRESSION, "%s%s%s", times, batch, emit_bytes_name(program, buffer));
    else if (values)
        snprintf(text, EXPRESSION, "%s%ssizeof(%s)", times, batch, type);
    else
        snprintf(text, EXPRESSION, "%s%sTILE * sizeof(%s)", times, batch, type);
    return text;
}

static const enum buffer device_arrays[] = {BUFFER_DEVICE_IN0, BUFFER_DEVICE_IN1,
                                            BUFFER_DEVICE_OUT};
enum { DEVICE_ARRAYS = sizeof device_arrays / sizeof *device_arrays };

/* Returns the bytes of a device array that is taken once, or NULL: it is none. */
static const char *device_bytes(const struct emit_program *program, enum buffer array,
                                char text[EXPRESSION])
{
    if (!emit_uses(program, array) || emit_takes(program, array))
        return NULL;
    const bool value = emit_reduction(program) != NULL && array == BUFFER_DEVICE_OUT;
    return slots_bytes(program, array, value ? output_type(program) : input_type(program),
                       text);
}

static bool has_device_arrays(const struct emit_program *program)
{
    char text[EXPRESSION];
    bool has = false;
    for (size_t i = 0; i < DEVICE_ARRAYS; i++)
        has |= device_bytes(program, device_arrays[i], text) != NULL;
    return has;
}

/* Returns the bytes of all slots of an array that the CPU packs tiles into. */
static const char *packed_bytes(const struct emit_program *program, char text[EXPRESSION])
{
    return slots_bytes(program, BUFFER_HOST_PACK_IN0, input_type(program), text);
}

static void put_device_memory(FILE *out, const struct emit_program *program)
{
    const bool values = emit_reduction(program) != NULL;
    const char *before = "    ";
    if (emit_is_stencil(program)) {
        emit_stencil_memory(out);
        return;
    }
    for (size_t i = 0; i < DEVICE_ARRAYS; i++) {
        char text[EXPRESSION];
        const char *bytes = device_bytes(program, device_arrays[i], text);
        if (bytes == NULL)
            continue;
        fprintf(out, "%sCHECK(cudaMalloc(&%s, %s));", before,
                emit_buffer_name(program, device_arrays[i]), bytes);
        before = strlen(bytes) < 20 && !values && emit_inputs(program) == 1 ? " " : "\n    ";
    }
    if (before[0] != ' ' || before[1] == '\0')
        fprintf(out, "\n");
    if (values && emit_reduction(program)->file == NULL) {
        const char *slots = emit_slot_count(program);
        const char *times = slots[0] != '\0' ? " * " : "";
        fprintf(out,
                "    CHECK(cudaMalloc(&d_found, %s%ssizeof(scratch)));\n"
                "    CHECK(cudaMemset(d_found, 0, %s%ssizeof(scratch)));\n",
                slots, times, slots, times);
    }
    char bytes[EXPRESSION];
    emit_pack_memory(out, program, packed_bytes(program, bytes));
    if (emit_scan(program) != NULL)
        emit_scan_memory(out, program);
    if (emit_is_product(program))
        fprintf(out, "    CHECK(cudaMalloc(&d_a, A * sizeof(double)));\n");
}

/* --- streams --- */

/* Returns after how many streams the priorities repeat. */
static uint32_t priority_period(const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    for (uint32_t period = 1; period < program->streams; period++) {
        uint32_t same = period;
        while (same < program->streams &&
               plan->priorities[same] == plan->priorities[same - period])
            same++;
        if (same == program->streams)
            return period;
    }
    return program->streams;
}

/* Returns how streams are made: blocking where the legacy default stream has a part. */
static const char *stream_flag(const struct emit_program *program)
{
    return program->legacy == EMIT_NO_LEGACY ? "cudaStreamNonBlocking" : "cudaStreamDefault";
}

static void put_priorities(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const uint32_t period = priority_period(program);
    if (!emit_deals_streams(program)) {
        const char *const names[] = {plan->streams > 1 ? "in_stream" : "stream",
                                     "kernel_stream", "out_stream"};
        for (uint32_t i = 0; i < plan->streams; i++) {
            if (i != program->legacy)
                emit_put(out, 4, NULL, "CHECK(cudaStreamCreateWithPriority(&%s, %s, %d));",
                         names[i], stream_flag(program), plan->priorities[i]);
        }
        return;
    }
    fprintf(out, "    const int priorities[] = {");
    for (uint32_t i = 0; i < period; i++)
        fprintf(out, "%s%d", i > 0 ? ", " : "", plan->priorities[i]);
    fprintf(out,
            "}; // blocks of the lowest number are placed first\n"
            "    for (size_t i = 0; i < STREAMS; i++)\n"
            "        CHECK(cudaStreamCreateWithPriority(&stream[i], %s,\n"
            "                                           priorities[i %% %" PRIu32 "]));\n",
            stream_flag(program), period);
}

static void put_streams(FILE *out, const struct emit_program *program)
{
    const bool single = program->plan->streams == 1;
    if (program->plan->priorities != NULL)
        put_priorities(out, program);
    else if (emit_deals_streams(program))
        fprintf(out,
                "    for (auto &each : stream) CHECK(cudaStreamCreateWithFlags(&each, %s));\n",
                stream_flag(program));
    else if (single)
        fprintf(out, "    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));\n");
    else
        fprintf(out,
                "    for (cudaStream_t *each : {&in_stream, %s&out_stream})\n"
                "        CHECK(cudaStreamCreateWithFlags(each, %s));\n",
                program->legacy == EMIT_NO_LEGACY ? "&kernel_stream, " : "",
                stream_flag(program));
    if (single)
        fprintf(out, "    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));\n");
    emit_event_creation(out, program);
    if (emit_is_product(program))
        emit_product_handles(out, program);
}

/* --- data --- */

static void put_data(FILE *out, const struct emit_program *program)
{
    const struct kernel *last = emit_reduction(program);
    if (emit_is_product(program)) {
        emit_product_data(out);
        return;
    }
    const bool test = last != NULL && last->fold == KERNEL_FOLD_AND;
    const bool whole = program->plan->chain[0]->in == DTYPE_I32;
    const char *value =
        whole  ? test ? "i % TILE != TILE / 2 || i / TILE % 7 % 3 == 1 ? i % 1000 + 1 : 0"
                      : "(unsigned)i * 2654435761u"
        : test ? "i % TILE != TILE / 2 || i / TILE % 7 % 3 == 1 ? i % 97 * .01f : INFINITY"
        /* Where elements move, no two of a tile are alike: 2^24 is what a float tells apart. */
        : emit_is_transpose(program) || emit_is_stride_copy(program)
            ? "i * 2654435761u % 16777216"
            : "i % 97 * .005f + i / TILE % 13 * .03f";
    if (test) { /* its value is long */
        emit_put(out, 4, "tiles differ", "for (size_t i = 0; i < N; i++)");
        emit_put(out, 8, NULL, "in%s =", emit_element(program));
        emit_put(out, 12, NULL, "%s;", value);
    } else {
        emit_put(out, 4, NULL, "for (size_t i = 0; i < N; i++) in%s = %s;",
                 emit_element(program), value);
    }
    if (emit_inputs(program) == 2)
        emit_put(out, 4, NULL, "for (size_t i = 0; i < N; i++) in2%s = i %% 89%s;",
                 emit_element(program), whole ? "" : " * 0.01f");
}

/* --- the repeats --- */

/* Writes that what a run before left on the device is no result of this one: in one line for
 * arrays of one size. */
static void put_device_poison(FILE *out, const struct emit_program *program)
{
    char texts[DEVICE_ARRAYS][EXPRESSION], names[EXPRESSION] = "";
    const char *bytes = NULL;
    bool alike = emit_reduction(program) == NULL;
    int count = 0;
    for (size_t i = 0; i < DEVICE_ARRAYS; i++) {
        const char *own = device_bytes(program, device_arrays[i], texts[i]);
        if (own == NULL)
            continue;
        alike &= bytes == NULL || strcmp(own, bytes) == 0;
        bytes = own;
        count++;
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                 count > 1 ? ", " : "", emit_buffer_name(program, device_arrays[i]));
    }
    if (alike && count > 1) {
        emit_put(out, 8, "", "for (auto each : {%s}) CHECK(cudaMemset(each, 0xFF, %s));", names,
                 bytes);
        return;
    }
    for (size_t i = 0; i < DEVICE_ARRAYS; i++) {
        const char *own = device_bytes(program, device_arrays[i], texts[i]);
        if (own == NULL)
            continue;
        emit_put(out, 8, "", "CHECK(cudaMemset(%s, 0xFF, %s));",
                 emit_buffer_name(program, device_arrays[i]), own);
    }
    if (emit_is_product(program))
        emit_put(out, 8, "", "CHECK(cudaMemset(d_a, 0xFF, A * sizeof(double)));");
}

/* Writes what is timed. Two calls that are all of it have a line together: the simplest program
 * fits a slide. */
static void put_issue(FILE *out, const struct emit_program *program)
{
    const bool graph = program->plan->issue == ISSUE_GRAPH, cpu = emit_has_cpu(program);
    fprintf(out, "        begin = now_ms();%s", graph || cpu ? "\n" : " issue_tiles();\n");
    if (cpu)
        fprintf(out, "        std::thread cpu(run_cpu_tiles);\n");
    if (graph)
        fprintf(out, "        CHECK(cudaGraphLaunch(graph, %s));\n",
                emit_first_stream(program));
    else if (cpu)
        fprintf(out, "        issue_tiles();\n");
    if (cpu)
        fprintf(out, "        cpu.join();\n");
}

static void put_runs(FILE *out, const struct emit_program *program)
{
    const bool whole = plan_last_kernel(program->plan)->out == DTYPE_I32;
    const bool values = emit_reduction(program) != NULL;
    const bool on_device = emit_is_stencil(program) || has_device_arrays(program);
    char bytes[EXPRESSION];
    fprintf(out, "    double best = INFINITY, bare = INFINITY; size_t wrong = 0;\n"
                 "    for (int run = 0; run < RUNS; run++) {\n"
                 "        double begin = now_ms();\n");
    emit_bare_copies(out, program);
    fprintf(out, "        bare = fmin(bare, now_ms() - begin); // %s, both ways at once\n",
            emit_has_cpu(program)     ? "all bytes, the CPU's tiles' too"
            : emit_in_places(program) ? "as many bytes, together"
                                      : "the same bytes");
    emit_put(out, 8, on_device ? "poison, as on the device" : "poison: no result",
             "for (size_t i = 0; i < %s; i++) %s%s = %s;", values ? "TILES" : "N",
             emit_buffer_name(program, BUFFER_HOST_OUT), values ? "[i]" : emit_element(program),
             whole ? "0xA5A5A5A5u" : "NAN");
    emit_pack_poison(out, program, packed_bytes(program, bytes));
    if (emit_scan(program) != NULL)
        emit_scan_poison(out, program);
    emit_managed_home(out, program);
    if (emit_is_stencil(program))
        emit_stencil_poison(out);
    else
        put_device_poison(out, program);
    put_issue(out, program);
    fprintf(out, "        best = fmin(best, now_ms() - begin);\n"
                 "    }\n");
}

void emit_main(FILE *out, const struct emit_program *program)
{
    fprintf(out, "static double now_ms() { // once the device has done all that was issued\n"
                 "    CHECK(cudaDeviceSynchronize());\n"
                 "    return std::chrono::steady_clock::now().time_since_epoch() / "
                 "std::chrono::nanoseconds(1) / 1e6;\n"
                 "}\n\n"
                 "int main() {\n");
    if (emit_has_own(program))
        emit_own_opening(out, program);
    emit_places_drawn(out, program);
    put_host_arrays(out, program);
    put_device_memory(out, program);
    emit_pool_creation(out, program);
    emit_bare_memory(out, program);
    put_streams(out, program);
    put_data(out, program);
    if (program->plan->issue == ISSUE_GRAPH)
        fprintf(out, "    const cudaGraphExec_t graph = capture_tiles();\n");
    put_runs(out, program);
    if (emit_has_own(program))
        emit_own_check(out, program);
    else if (emit_scan(program) != NULL)
        emit_scan_check(out, program);
    else if (emit_is_product(program))
        fprintf(out, "    wrong += wrong_columns();\n");
    else if (emit_is_stencil(program))
        emit_stencil_check(out);
    else
        emit_check(out, program);
    if (emit_has(program, OP_CALLBACK))
        fprintf(out, "    wrong += back != RUNS * %s;\n",
                program->plan->batch > 1 ? "BATCHES" : emit_tiles_name(program));
    fprintf(
        out,
        "    printf(\"%%.3f ms; bare copies %%.3f: %%.0f %%%%; %%zu wrong\\n\", best, bare, "
        "100 * bare / best, wrong);\n"
        "    return wrong > 0;\n"
        "}\n");
}
