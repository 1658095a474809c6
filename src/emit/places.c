/* places.c - where tiles lie on the host: one behind another, as columns of a matrix, or
 * apart, each at the place that the plan has drawn for it.
 *
 * A few places are a table. Many are drawn by the program itself, as host_layout.c does it: the
 * same numbers from the same key. */
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

/* --- the proof --- */

enum status emit_check_places(const struct emit_program *program, struct error *error)
{
    const struct plan *plan = program->plan;
    if (!emit_draws_places(program))
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

const struct emit_arrays *emit_arrays_of(const struct emit_program *program)
{
    enum { COLUMNS, PLACES, UNEVEN_PLACES, ROWS, EVEN, UNEVEN };
    /* Element, tile_element, extent, row, address, piece, bare. */
    static const struct emit_arrays all[] = {
        [COLUMNS] = {"[i % TILE / WIDTH][i / TILE][i % WIDTH]", "[i / WIDTH][tile][i % WIDTH]",
                     "[ROWS][TILES][WIDTH]", "[TILES][WIDTH]", "%s[0][%s]", "", "[0][0] + at"},
        [PLACES] = {"[place[i / TILE]][i % TILE]", "[place[tile]][i]", "[TILES][PITCH]",
                    "[PITCH]", "%s[place[%s]]", "%s[place[tile]] + from", "[0] + at"},
        [UNEVEN_PLACES] = {"[placed(i)]", "[placed(i)]", "[TILES * PITCH]", "",
                           "%s + placed(begin)", "%s + placed(from)", " + at"},
        [ROWS] = {"[i / TILE][i % TILE]", "[tile][i]", "[TILES][TILE]", "[TILE]", "%s[%s]",
                  "%s + tile * TILE + from", "[0] + at"},
        [EVEN] = {"[i]", "[tile * TILE + i]", "[N]", "", "%s + %s * TILE",
                  "%s + tile * TILE + from", " + at"},
        [UNEVEN] = {"[i]", "[i]", "[N]", "", "%s + begin", "%s + from", " + at"},
    };
    if (emit_in_columns(program))
        return &all[COLUMNS];
    if (emit_in_places(program))
        return &all[program->even ? PLACES : UNEVEN_PLACES];
    return &all[program->rows ? ROWS : program->even ? EVEN : UNEVEN];
}

const char *emit_host_count(const struct emit_program *program)
{
    return emit_in_places(program) ? "TILES * PITCH" : "N";
}

const char *emit_input_of(const struct emit_program *program, int link, int input)
{
    if (input >= program->plan->chain[link]->inputs)
        return "NULL";
    if (emit_is_apart(program))
        return input == 0 ? "gather(in, first, count, x)" : "gather(in2, first, count, y)";
    return input == 0 ? "in + first" : "in2 + first";
}

/* --- what programs/places.cu.in asks --- */

bool emit_draws_places(const struct emit_program *program)
{
    return emit_in_places(program) && program->plan->tiles > TABLE_MOST;
}

const char *emit_place_table(const struct emit_program *program, char text[EMIT_LINE])
{
    text[0] = '\0';
    for (uint32_t tile = 0; tile < program->plan->tiles; tile++)
        text_add(text, EMIT_LINE, ", ", "%" PRIu32, program->plan->places[tile]);
    return text;
}

const char *emit_places_key(const struct emit_program *program, char text[EMIT_LINE])
{
    snprintf(text, EMIT_LINE, "0x%016" PRIX64, host_layout_key(program->settings->seed));
    return text;
}
