/* managed.c - managed memory in a program: its pages go to the device with prefetches, or
 * when a kernel touches them, and home before each run. */
#include "emit/parts.h"

#include <string.h>

/* Returns true if that array is there. */
static bool has_array(const struct emit_program *program, enum buffer buffer)
{
    return buffer != BUFFER_HOST_IN1 || emit_inputs(program) == 2;
}

static const enum buffer arrays[] = {BUFFER_HOST_IN0, BUFFER_HOST_IN1, BUFFER_HOST_OUT};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

/* Returns the bytes of the batch's part of an array. */
static void part_bytes(const struct emit_program *program, enum buffer buffer,
                       char text[EMIT_TEXT])
{
    const struct kernel *reduction = emit_reduction(program);
    if (buffer == BUFFER_HOST_OUT && reduction != NULL)
        snprintf(text, EMIT_TEXT, "sizeof(%s)", emit_type(reduction->out));
    else if (program->even)
        snprintf(text, EMIT_TEXT, "%s", emit_bytes_name(program, buffer));
    else
        snprintf(text, EMIT_TEXT, "count * sizeof(%s)", emit_type(program->plan->chain[0]->in));
}

void emit_put_prefetches(FILE *out, int indent, const struct emit_program *program,
                         bool inwards, const char *stream)
{
    for (int i = 0; i < ARRAYS; i++) {
        char at[EMIT_TEXT], bytes[EMIT_TEXT];
        const bool result = arrays[i] == BUFFER_HOST_OUT;
        if (!has_array(program, arrays[i]) || (!inwards && !result))
            continue;
        emit_address(program, arrays[i], false, at);
        part_bytes(program, arrays[i], bytes);
        emit_put(out, indent, inwards && result ? "the kernel writes its pages there" : NULL,
                 "prefetch(%s, %s, %s, %s);", at, bytes, inwards ? "DEVICE" : "HOST", stream);
    }
}

void emit_managed_functions(FILE *out, const struct emit_program *program)
{
    if (!emit_is_managed(program))
        return;
    fputs(
        "// Has pages move to the device or the host in the order of a stream.\n"
        "static void prefetch(const void *at, size_t bytes, int where, cudaStream_t stream) {\n"
        "#if CUDART_VERSION >= 13000\n"
        "    const auto kind = where == HOST ? cudaMemLocationTypeHost : "
        "cudaMemLocationTypeDevice;\n"
        "    CHECK(cudaMemPrefetchAsync(at, bytes, cudaMemLocation{kind, 0}, 0, stream));\n"
        "#else\n"
        "    CHECK(cudaMemPrefetchAsync(at, bytes, where, stream));\n"
        "#endif\n"
        "}\n\n",
        out);
}

void emit_managed_variables(FILE *out, const struct emit_program *program)
{
    const char *in = emit_type(program->plan->chain[0]->in);
    const char *result = emit_type(plan_last_kernel(program->plan)->out);
    if (!emit_is_managed(program))
        return;
    if (strcmp(in, result) == 0)
        fprintf(out, "static %s *bare_in, *bare_out; // for the bare copies\n", in);
    else
        fprintf(out, "static %s *bare_in; // for the bare copies\nstatic %s *bare_out;\n", in,
                result);
    fprintf(out, "const int HOST = cudaCpuDeviceId%s; // where pages go\n",
            program->plan->prefetches ? ", DEVICE = 0" : "");
}

void emit_managed_home(FILE *out, const struct emit_program *program)
{
    const struct kernel *reduction = emit_reduction(program);
    if (!emit_is_managed(program))
        return;
    for (int i = 0; i < ARRAYS; i++) {
        static const char *const names[] = {"in", "in2", "out"};
        char stream[EMIT_NAME];
        const bool value = arrays[i] == BUFFER_HOST_OUT && reduction != NULL;
        if (has_array(program, arrays[i]))
            emit_put(out, 8, i == 0 ? "pages go home" : NULL,
                     "prefetch(%s, %s * sizeof(%s), HOST, %s);", names[i],
                     value ? "TILES" : "N",
                     emit_type(value ? reduction->out : program->plan->chain[0]->in),
                     emit_first_stream(program, stream));
    }
}
