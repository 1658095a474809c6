/* emit_head.c - the head of a program: what it shows, how to compile it, and what it includes.
 */
#include "core/version.h"
#include "plan/mistake.h"
#include "writers/emit_parts.h"

#include <inttypes.h>
#include <string.h>

enum { TEXT = 512, WORDS = 40 /* of the chain in a line, about */ };

/* Returns the kernels of the chain, in words. */
static const char *chain_words(const struct plan *plan, char text[TEXT])
{
    int length = 0, column = 0;
    for (int i = 0; i < plan->chain_length; i++) {
        const bool full = column + strlen(plan->chain[i]->name) > WORDS;
        const int more = snprintf(text + length, (size_t)(TEXT - length), "%s%s",
                                  i == 0 ? ""
                                  : full ? ", then\n// "
                                         : ", then ",
                                  plan->chain[i]->name);
        length += more;
        column = full ? (int)strlen(plan->chain[i]->name) : column + more;
    }
    return text;
}

static const char *ways_words(const struct emit_program *program)
{
    if (emit_has_cpu(program))
        return "4-way: the CPU has a share";
    if (program->plan->memory == MEMORY_MAPPED)
        return "kernels work on the host's memory";
    if (emit_is_managed(program) && !program->plan->prefetches)
        return "kernels have pages of managed memory move to them";
    switch (program->settings->ways) {
    case 1:
        return "serial: nothing overlaps";
    case 2:
        return "2-way: kernels overlap the copies out";
    case 4:
        return "4-way, of which the CPU got no tile";
    default:
        return "3-way: copies and kernels overlap";
    }
}

/* Writes which options made the plan, of those that the lines above don't tell and that are not
 * as usual. */
static void put_options(FILE *out, const struct emit_program *program)
{
    const struct settings *settings = program->settings;
    const struct {
        const char *name, *value;
        bool told;
    } options[] = {
        {"layout", layout_names[settings->layout], settings->layout != LAYOUT_TILE},
        {"memory", memory_names[settings->memory], settings->memory != MEMORY_PINNED},
        {"alloc", alloc_names[settings->alloc], settings->alloc != ALLOC_ONCE},
        {"copy", copy_names[settings->copy], settings->copy != COPY_WHOLE},
        {"carry", carry_names[settings->carry], emit_scan(program) != NULL},
        {"issue", issue_names[settings->issue], settings->issue != ISSUE_STREAMS},
    };
    const char *before = "// Made with";
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!options[i].told)
            continue;
        fprintf(out, "%s --%s=%s", before, options[i].name, options[i].value);
        before = "";
    }
    if (program->plan->prefetches) {
        fprintf(out, "%s --prefetch", before);
        before = "";
    }
    if (before[0] == '\0')
        fprintf(out, ".\n");
}

/* Writes the headers that every program needs, and those of which `body` has a word. */
static void put_includes(FILE *out, const char *body)
{
    static const struct {
        const char *header, *words[2]; /* none: always */
    } headers[] = {
        {"algorithm", {"std::min", "std::max("}},
        {"atomic", {"std::atomic"}},
        {"cfloat", {"_EPSILON"}},
        {"chrono", {NULL}},
        {"cmath", {NULL}},
        {"cstdio", {NULL}},
        {"cstdlib", {NULL}},
        {"cstring", {"memcpy(", "memset("}},
        {"thread", {"std::thread", "std::this_thread"}},
        {"utility", {"std::swap("}},
        {"vector", {"std::vector"}},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        bool needed = headers[i].words[0] == NULL;
        for (int word = 0; word < 2 && headers[i].words[word] != NULL; word++)
            needed |= strstr(body, headers[i].words[word]) != NULL;
        if (needed)
            fprintf(out, "#include <%s>\n", headers[i].header);
    }
}

void emit_head(FILE *out, const struct emit_program *program, const char *body)
{
    const struct plan *plan = program->plan;
    const struct settings *settings = program->settings;
    char chain[2 * TEXT], how[TEXT], words[TEXT];
    snprintf(how, sizeof how, "%s-first, %s.",
             settings->order == ORDER_BREADTH ? "Breadth" : "Depth",
             emit_streams_by_stage(program) ? "a stream for each stage"
             : emit_deals_streams(program)  ? "tiles dealt to streams"
                                            : "in one stream");
    const int length =
        snprintf(chain, sizeof chain, "// %" PRIu32 " tile%s of %s, %s.", plan->tiles,
                 plan->tiles == 1 ? "" : "s", chain_words(plan, words), ways_words(program));
    if (emit_is_stencil(program))
        emit_stencil_head(out, program);
    else
        fprintf(out, "%s%s%s\n", chain,
                (size_t)length + strlen(how) < EMIT_COLUMNS ? " " : "\n// ", how);
    put_options(out, program);
    if (settings->mistake != MISTAKE_NONE)
        fprintf(out, "// Mistake: %s.\n", mistake_rows[settings->mistake].summary);
    fprintf(out,
            "// By pipeline " PIPELINE_VERSION
            ". To compile and run: nvcc -O3 -o tiles THIS.cu%s && ./tiles\n",
            emit_has_own(program)      ? " -ldl"
            : emit_is_product(program) ? " -lcublas"
                                       : "");
    put_includes(out, body);
    if (emit_has_own(program))
        emit_own_includes(out);
    fprintf(out, "#define CHECK(call) do if (cudaError_t error = (call)) { \\\n"
                 "    fprintf(stderr, \"line %%d: %%s\\n\", __LINE__, "
                 "cudaGetErrorString(error)); exit(1); } "
                 "while (0)\n");
    if (emit_is_product(program))
        emit_product_head(out);
}
