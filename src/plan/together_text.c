/* together_text.c - what a row of together.c says that has to be computed: which kernel it is,
 * and the numbers that would do. A number is given as the options take it: "tiles=3|5". */
#include "plan/device.h"
#include "plan/plan.h"
#include "plan/together.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- which kernel it is --- */

uint64_t together_launch_count(const struct settings *settings)
{
    const struct kernel_params params = settings_params(settings);
    return (uint64_t)settings->tiles * kernel_launches(settings->chain[0], &params);
}

void together_launches(const struct settings *settings, char text[TOGETHER_TEXT])
{
    snprintf(text, TOGETHER_TEXT, "%" PRIu64 " launches of %s, of which there may be %d",
             together_launch_count(settings), settings->chain[0]->name, TOGETHER_LAUNCHES);
}

void together_neighbours(const struct settings *settings, char text[TOGETHER_TEXT])
{
    for (int i = settings->chain_length - 1; i >= 0; i--) {
        const char *why = kernel_needs_neighbours(settings->chain[i]);
        if (why != NULL)
            snprintf(text, TOGETHER_TEXT, "%s, which %s", settings->chain[i]->name, why);
    }
}

const struct kernel *settings_late_reader(const struct settings *settings)
{
    const uint32_t links = (uint32_t)settings->chain_length;
    for (uint32_t link = 0; link < links; link++)
        if (settings->chain[link]->inputs > 1 &&
            link_device(link, links, settings_devices(settings)) > 0)
            return settings->chain[link];
    return NULL;
}

void together_late_reader(const struct settings *settings, char text[TOGETHER_TEXT])
{
    snprintf(text, TOGETHER_TEXT, "%s behind it, which reads two",
             settings_late_reader(settings)->name);
}

void together_unit(const struct settings *settings, char text[TOGETHER_TEXT])
{
    const struct kernel *kernel = chain_unit_kernel(settings->chain, settings->chain_length);
    const uint64_t unit = settings_unit(settings);
    const int length = snprintf(text, TOGETHER_TEXT, "%s needs", kernel->name);
    if (settings->elements % unit == 0)
        snprintf(text + length, TOGETHER_TEXT - (size_t)length, " (there are %" PRIu64 " %s)",
                 settings->elements / unit, kernel->unit_name);
}

void together_wide_rows(const struct settings *settings, char text[TOGETHER_TEXT])
{
    const uint32_t tiles = settings->tiles > 0 ? settings->tiles : 1;
    snprintf(text, TOGETHER_TEXT, "(%" PRIu32 " make a row of %" PRIu64 " elements)", tiles,
             (uint64_t)settings->tile_width * tiles);
}

/* --- the numbers that would do --- */

void together_fewer_launches(const struct settings *settings, char text[TOGETHER_TEXT])
{
    const uint64_t each = together_launch_count(settings) / settings->tiles;
    snprintf(text, TOGETHER_TEXT, "tiles=%" PRIu32 " intensity=%" PRIu32,
             settings_tiles_below(settings, (uint32_t)(TOGETHER_LAUNCHES / each)),
             TOGETHER_LAUNCHES / settings->tiles);
}

/* Each tile has whole units, and all have as many of them. */
void together_elements(const struct settings *settings, char text[TOGETHER_TEXT])
{
    const uint64_t step = settings_unit(settings) * (settings->tiles > 0 ? settings->tiles : 1);
    const uint64_t steps = settings->elements / step;
    snprintf(text, TOGETHER_TEXT, "elements=%" PRIu64 "|%" PRIu64,
             (steps > 0 ? steps : 1) * step, (steps > 0 ? steps + 1 : 2) * step);
}

/* Where no more tiles would do, more elements may have to. */
void together_tiles(const struct settings *settings, char text[TOGETHER_TEXT])
{
    const uint32_t above = settings_tiles_above(settings, settings->tiles);
    char elements[TOGETHER_TEXT] = "";
    if (above == 0)
        together_elements(settings, elements);
    snprintf(text, TOGETHER_TEXT, "tiles=%" PRIu32 "|%" PRIu32 " %.100s",
             settings_tiles_below(settings, settings->tiles), above, elements);
}

void together_tiles_and_elements(const struct settings *settings, char text[TOGETHER_TEXT])
{
    snprintf(text, TOGETHER_TEXT, "tiles=%" PRIu32 " elements=%" PRIu64,
             settings_tiles_below(settings, (uint32_t)settings->elements),
             settings_unit(settings) * settings->tiles);
}

void together_add_devices(const struct settings *settings, uint32_t count,
                          char text[TOGETHER_TEXT])
{
    const size_t used = strlen(text), room = TOGETHER_TEXT - used;
    const char *device = settings->device != NULL ? settings->device : "auto";
    const char *argument = device_argument(device);
    const int length = (int)device_argument_length(argument);
    int numbers[MACHINE_DEVICES_MAX] = {0};
    if (length > TOGETHER_TEXT / 2 || strcspn(argument, " |") < (size_t)length || count == 0)
        return;
    if (!device_is_real(device)) {
        snprintf(text + used, room, " device=sim:%.*s", length > 0 ? length : 4,
                 length > 0 ? argument : "h200");
        if (count > 1)
            snprintf(text + strlen(text), TOGETHER_TEXT - strlen(text), "*%" PRIu32, count);
        return;
    }
    (void)device_numbers(argument, numbers);
    snprintf(text + used, room, " device=cuda:%d", numbers[0]);
    for (uint32_t next = 1; next < count; next++)
        snprintf(text + strlen(text), TOGETHER_TEXT - strlen(text), ",%d",
                 numbers[0] + (int)next);
}

void together_tiles_and_devices(const struct settings *settings, char text[TOGETHER_TEXT])
{
    snprintf(text, TOGETHER_TEXT, "tiles=%" PRIu32,
             settings_tiles_above(settings, settings_devices(settings)));
    together_add_devices(settings, settings->tiles, text);
}

void together_streams_and_devices(const struct settings *settings, char text[TOGETHER_TEXT])
{
    snprintf(text, TOGETHER_TEXT, "streams=%" PRIu32, STREAMS_MAX / settings_devices(settings));
    together_add_devices(settings, STREAMS_MAX / settings->streams, text);
}

void together_a_device_each(const struct settings *settings, char text[TOGETHER_TEXT])
{
    snprintf(text, TOGETHER_TEXT, "kernel=scale");
    for (uint32_t device = 1; device < settings_devices(settings); device++)
        snprintf(text + strlen(text), TOGETHER_TEXT - strlen(text), ",scale");
    together_add_devices(settings, (uint32_t)settings->chain_length, text);
}

void together_smaller_halo(const struct settings *settings, char text[TOGETHER_TEXT])
{
    struct settings smaller = *settings;
    while (smaller.halo > 0 && !settings_halo_fits(&smaller))
        smaller.halo--;
    snprintf(text, TOGETHER_TEXT, "halo=%" PRIu32, smaller.halo);
}

void together_halo_streams(const struct settings *settings, char text[TOGETHER_TEXT])
{
    snprintf(text, TOGETHER_TEXT, "streams=%" PRIu32, settings_halo_streams(settings));
}
