/* main.c - main() of a program: the host's arrays, data, repeats, times and the check. */
#include "emit/parts.h"
#include "plan/mistake.h"

#include <string.h>

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
    const char *type = emit_input_type(program), *count = emit_host_count(program);
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
    const char *type = emit_input_type(program);
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
    put_host_memory(out, program, "out", emit_output_type(program), results, "");
    if (!emit_is_managed(program))
        return;
    emit_put(out, 4, "page-locked, for bare copies",
             "CHECK(cudaMallocHost(&bare_in, N * sizeof(%s)));", type);
    emit_put(out, 4, NULL, "CHECK(cudaMallocHost(&bare_out, %s * sizeof(%s)));", results,
             emit_output_type(program));
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

/* Writes what is timed. Two calls that are all of it have a line together: the simplest program
 * fits a slide. */
static void put_issue(FILE *out, const struct emit_program *program)
{
    char stream[EMIT_NAME];
    const bool graph = program->plan->issue == ISSUE_GRAPH, cpu = emit_has_cpu(program);
    fprintf(out, "        begin = now_ms();%s", graph || cpu ? "\n" : " issue_tiles();\n");
    if (cpu)
        fprintf(out, "        std::thread cpu(run_cpu_tiles);\n");
    if (graph)
        fprintf(out, "        CHECK(cudaGraphLaunch(graph, %s));\n",
                emit_first_stream(program, stream));
    else if (cpu)
        fprintf(out, "        issue_tiles();\n");
    if (cpu)
        fprintf(out, "        cpu.join();\n");
}

static void put_runs(FILE *out, const struct emit_program *program)
{
    const bool whole = plan_last_kernel(program->plan)->out == DTYPE_I32;
    const bool values = emit_reduction(program) != NULL;
    fprintf(
        out,
        "    double best = INFINITY, bare = INFINITY; size_t wrong = 0;\n"
        "    for (int run = 0; run < RUNS; run++) { // the first warms up; the best counts\n"
        "        double begin = now_ms();\n");
    emit_bare_copies(out, program);
    fprintf(out, "        bare = fmin(bare, now_ms() - begin); // %s, both ways%s\n",
            emit_has_cpu(program)     ? "all bytes, the CPU's tiles' too"
            : emit_in_places(program) ? "as many bytes, together"
                                      : "the same bytes",
            program->settings->memory == MEMORY_PAGEABLE ? "" : " at once");
    emit_put(out, 8, "no old result can pass", "for (size_t i = 0; i < %s; i++) %s%s = %s;",
             values ? "TILES" : "N", emit_buffer_name(program, BUFFER_HOST_OUT),
             values ? "[i]" : emit_element(program), whole ? "0xA5A5A5A5u" : "NAN");
    if (emit_scan(program) != NULL)
        emit_scan_poison(out, program);
    emit_managed_home(out, program);
    emit_poison(out, program);
    put_issue(out, program);
    fprintf(out, "        best = fmin(best, now_ms() - begin);\n"
                 "    }\n");
}

/* Writes what CUDA reads of the environment when it begins: before its first call. */
static void put_environment(FILE *out, const struct emit_program *program)
{
    if (!mistake_rows[program->settings->mistake].launches_block)
        return;
    fprintf(out, "    // the mistake, as if left from debugging: each launch returns when its "
                 "kernel has ended, and\n"
                 "    // what comes behind it is issued late. CUDA reads this at its first "
                 "call.\n"
                 "    setenv(\"CUDA_LAUNCH_BLOCKING\", \"1\", 1);\n");
}

void emit_main(FILE *out, const struct emit_program *program)
{
    emit_clock(out, program);
    fprintf(out, "int main() {\n");
    put_environment(out, program);
    emit_first_device(out, program);
    if (emit_has_own(program))
        emit_own_opening(out, program);
    emit_places_drawn(out, program);
    put_host_arrays(out, program);
    emit_rows_host(out, program);
    if (emit_scan(program) != NULL)
        emit_scan_host_memory(out, program);
    emit_make_devices(out, program);
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
