/* places.c - where tiles lie on the host: one behind another, as columns of a matrix, or
 * apart, each at the place that the plan has drawn for it.
 *
 * A few places are a table. Many are drawn by the program itself, as host_layout.c does it: the
 * same numbers from the same key. */
#include "core/mix.h"
#include "emit/parts.h"
#include "plan/host_layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_MOST = 64 /* places that a reader may still look at */ };

bool emit_in_columns(const struct emit_program *program)
{
    return program->plan->copy != COPY_WHOLE;
}

bool emit_in_places(const struct emit_program *program)
{
    return program->plan->places != NULL;
}

bool emit_is_apart(const struct emit_program *program)
{
    return emit_in_columns(program) || emit_in_places(program);
}

static bool draws(const struct emit_program *program)
{
    return program->plan->tiles > TABLE_MOST;
}

/* --- the proof --- */

enum status emit_check_places(const struct emit_program *program, struct error *error)
{
    const struct plan *plan = program->plan;
    if (!emit_in_places(program) || !draws(program))
        return STATUS_OK; /* a table has the plan's own numbers */
    struct plan drawn = {.tiles = plan->tiles};
    const enum status status = host_layout_draw(&drawn, program->settings->seed, error);
    if (status != STATUS_OK)
        return status;
    const bool same =
        memcmp(drawn.places, plan->places, plan->tiles * sizeof *drawn.places) == 0;
    free(drawn.places);
    return same ? STATUS_OK
                : error_set(error, STATUS_USAGE,
                            "--emit: places of tiles that are not drawn from --seed can't be "
                            "written as a program");
}

/* --- elements and tiles --- */

const char *emit_element(const struct emit_program *program)
{
    if (emit_in_columns(program))
        return "[i % TILE / WIDTH][i / TILE][i % WIDTH]";
    if (emit_in_places(program))
        return program->even ? "[place[i / TILE]][i % TILE]" : "[placed(i)]";
    return program->even ? "[i / TILE][i % TILE]" : "[i]";
}

const char *emit_tile_element(const struct emit_program *program)
{
    if (!program->even)
        return emit_element(program);
    if (emit_in_columns(program))
        return "[i / WIDTH][tile][i % WIDTH]";
    return emit_in_places(program) ? "[place[tile]][i]" : "[tile][i]";
}

const char *emit_host_count(const struct emit_program *program)
{
    return emit_in_places(program) ? "TILES * PITCH" : "N";
}

const char *emit_host_extent(const struct emit_program *program)
{
    if (emit_in_columns(program))
        return "[ROWS][TILES][WIDTH]";
    if (emit_in_places(program))
        return program->even ? "[TILES][PITCH]" : "[TILES * PITCH]";
    return program->even ? "[TILES][TILE]" : "[N]";
}

const char *emit_host_row(const struct emit_program *program)
{
    if (emit_in_columns(program))
        return "[TILES][WIDTH]";
    if (!program->even)
        return "";
    return emit_in_places(program) ? "[PITCH]" : "[TILE]";
}

const char *emit_input_of(const struct emit_program *program, int link, int input)
{
    if (input >= program->plan->chain[link]->inputs)
        return "NULL";
    if (emit_is_apart(program))
        return input == 0 ? "gather(in, first, count, x)" : "gather(in2, first, count, y)";
    if (input == 0)
        return program->even ? "in[0] + first" : "in + first";
    return program->even ? "in2[0] + first" : "in2 + first";
}

void emit_host_address(const struct emit_program *program, const char *array, const char *tile,
                       char text[EMIT_TEXT])
{
    const bool apart = emit_in_places(program);
    if (emit_in_columns(program))
        snprintf(text, EMIT_TEXT, "%s[0][%s]", array, tile);
    else if (program->even)
        snprintf(text, EMIT_TEXT, apart ? "%s[place[%s]]" : "%s[%s]", array, tile);
    else
        snprintf(text, EMIT_TEXT, apart ? "%s + placed(begin)" : "%s + begin", array);
}

/* --- the text --- */

void emit_places_constants(FILE *out, const struct emit_program *program)
{
    const char *type = emit_type(program->plan->chain[0]->in);
    char bytes[EMIT_NAME] = "BYTES";
    if (!emit_in_places(program))
        return;
    if (!program->even)
        snprintf(bytes, sizeof bytes, "TILE * sizeof(%s)", type);
    fprintf(out,
            "// Tiles lie apart on the host: each begins at a multiple of %d bytes, and has "
            "a gap behind it.\n",
            HOST_TILE_ALIGNMENT);
    emit_put(out, 0, NULL, "const size_t PITCH = ((%s + %d) / %d * %d + %d) / sizeof(%s);",
             bytes, HOST_TILE_ALIGNMENT - 1, HOST_TILE_ALIGNMENT, HOST_TILE_ALIGNMENT,
             HOST_GAP_BYTES, type);
}

static void put_table(FILE *out, const struct emit_program *program)
{
    enum { NUMBER = 12 };
    char text[EMIT_LINE] = "";
    const struct plan *plan = program->plan;
    for (uint32_t tile = 0, length = 0; tile < plan->tiles; tile++)
        length += (uint32_t)snprintf(text + length, NUMBER, "%s%" PRIu32, tile > 0 ? ", " : "",
                                     plan->places[tile]);
    emit_put(out, 0, NULL, "static const unsigned place[TILES] = {%s};", text);
    fprintf(out, "\n");
}

/* Fisher and Yates's shuffle with splitmix64's numbers: core/mix.h. */
#define DRAW                                                                                   \
    "static unsigned place[TILES];\n\n"                                                        \
    "// Shuffles them, the same on every machine: a tile takes the place of any before it, "   \
    "which moves\n"                                                                            \
    "// to the end, or the end itself. The numbers are splitmix64's.\n"                        \
    "static void draw_places() {\n"                                                            \
    "    for (size_t tile = 0; tile < TILES; tile++) {\n"                                      \
    "        unsigned long long z = 0x%016" PRIX64 " + (tile + 1) * 0x9E3779B97F4A7C15;\n"     \
    "        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;\n"                                        \
    "        z = (z ^ z >> 27) * 0x94D049BB133111EB;\n"                                        \
    "        const size_t other = ((z ^ z >> 31) >> 32) * (tile + 1) >> 32; // 0 to tile\n"    \
    "        place[tile] = place[other];\n"                                                    \
    "        place[other] = tile;\n"                                                           \
    "    }\n"                                                                                  \
    "}\n\n"

void emit_places(FILE *out, const struct emit_program *program)
{
    if (!emit_in_places(program))
        return;
    fprintf(out, "// Which place a tile has: drawn at random, with a gap behind each.\n");
    if (draws(program))
        fprintf(out, DRAW, host_layout_key(program->settings->seed));
    else
        put_table(out, program);
    if (!program->even)
        fprintf(out, "// Where element i is: in its tile's place.\n"
                     "static size_t placed(size_t i) {\n"
                     "    const size_t tile = ((i + 1) * TILES - 1) / N;\n"
                     "    return place[tile] * PITCH + i - tile * N / TILES;\n"
                     "}\n\n");
}

void emit_places_drawn(FILE *out, const struct emit_program *program)
{
    if (emit_in_places(program) && draws(program))
        fprintf(out, "    draw_places();\n");
}

void emit_gather(FILE *out, const struct emit_program *program)
{
    const char *type = emit_type(program->plan->chain[0]->in);
    char array[EMIT_TEXT];
    snprintf(array, sizeof array, program->even ? "(*array)%s" : "*array%s",
             emit_host_row(program));
    fprintf(out,
            "// Copies elements of tiles that lie apart into one piece, as twins ask for.\n");
    emit_put(out, 0, NULL,
             "static const void *gather(%s %s, size_t first, size_t count, %s *piece) {", type,
             array, type);
    emit_put(out, 4, NULL,
             "for (size_t i = first; i < first + count; i++) piece[i - first] = "
             "array%s;",
             emit_element(program));
    fprintf(out, "    return piece;\n"
                 "}\n\n");
}
