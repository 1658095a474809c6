/* together.c - which settings don't go together, a row each. */
#include "plan/together.h"

#include "plan/device.h"
#include "plan/mistake.h"
#include "plan/plan.h"

#include <string.h>

/* --- traits --- */

#define TRAIT(name, text, condition)                                                           \
    static bool name##_has(const struct settings *it)                                          \
    {                                                                                          \
        return condition;                                                                      \
    }                                                                                          \
    static const struct trait name = {text, name##_has}

static bool any_kernel(const struct settings *settings, bool (*has)(const struct kernel *))
{
    bool found = false;
    for (int i = 0; i < settings->chain_length; i++)
        found |= has(settings->chain[i]);
    return found;
}

static bool settles_grid(const struct kernel *kernel)
{
    return kernel->whole_grid || kernel->alone;
}

static bool needs_neighbours(const struct kernel *kernel)
{
    return kernel_needs_neighbours(kernel) != NULL;
}

/* Returns true where the kernels work on whole rows, or columns, of a matrix. */
static bool works_on(const struct settings *settings, const char *units)
{
    return settings->copy == COPY_WHOLE && settings_unit(settings) > 1 &&
           strcmp(chain_unit_kernel(settings->chain, settings->chain_length)->unit_name,
                  units) == 0;
}

static bool is_whole(const struct settings *settings)
{
    return settings->elements % settings_unit(settings) == 0;
}

static bool cuts_units(const struct settings *settings)
{
    return settings->tiles > 0 && is_whole(settings) &&
           !settings_tiles_fit(settings, settings->tiles);
}

static bool cuts_wide_rows(const struct settings *settings)
{
    return settings->copy != COPY_WHOLE &&
           !(settings->tiles > 0 ? settings_tiles_fit(settings, settings->tiles)
                                 : is_whole(settings));
}

TRAIT(blocks, "--blocks=N", it->blocks != 0);
TRAIT(own_grid, "kernels that settle their blocks themselves", any_kernel(it, settles_grid));
TRAIT(launches, NULL,
      it->chain[0]->launch_per_repeat &&together_launch_count(it) > TOGETHER_LAUNCHES);
TRAIT(more_tiles, NULL, it->tiles > it->elements);
TRAIT(part_rows, NULL, works_on(it, "rows") && !is_whole(it));
TRAIT(part_columns, NULL, works_on(it, "columns") && !is_whole(it));
TRAIT(cut_rows, NULL, works_on(it, "rows") && cuts_units(it));
TRAIT(cut_columns, NULL, works_on(it, "columns") && cuts_units(it));
TRAIT(cut_wide_rows, NULL, cuts_wide_rows(it));
TRAIT(scans, "scans", kernel_chain_scans(it->chain, it->chain_length));
TRAIT(no_scan, "kernels without a scan", !scans_has(it));
TRAIT(far, "scans, transposes, stencil, dgemm or stride-copy",
      any_kernel(it, needs_neighbours));
TRAIT(keeps, "kernels that work in place or keep an array on the device",
      it->chain[0]->in_place || it->chain[0]->resident_count != NULL);
TRAIT(stencil, "stencil", settings_has_halo(it));
TRAIT(few_kernels, "fewer kernels than devices",
      settings_devices(it) > (uint32_t)it->chain_length);
TRAIT(late_reader, "kernels of two arrays behind the first device's",
      settings_late_reader(it) != NULL);
TRAIT(serial, "--ways=1", it->ways == 1);
TRAIT(some_streams, "more than one of --streams", it->streams != 1);
TRAIT(four_ways, "--ways=4", it->ways == 4);
TRAIT(up_to_three, "--ways=1|2|3", it->ways != 4);
TRAIT(not_three, "--ways=1|2|4", it->ways != 3);
TRAIT(below_three, "--ways=1|2", it->ways < 3);
TRAIT(share_of_cpu, "--cpu-share=F", it->cpu_share >= 0);
TRAIT(pageable, "--memory=pageable", it->memory == MEMORY_PAGEABLE);
TRAIT(managed, "--memory=managed", it->memory == MEMORY_MANAGED);
TRAIT(reached, "--memory=mapped|managed", memory_is_reached(it->memory));
TRAIT(breadth, "--order=breadth|auto", it->order != ORDER_DEPTH);
TRAIT(stages, "--layout=stage|auto", it->layout != LAYOUT_TILE);
TRAIT(graph, "--issue=graph", it->issue == ISSUE_GRAPH);
TRAIT(batch, "--issue=batch", it->issue == ISSUE_BATCH);
TRAIT(chooses, "--issue=auto", it->issue == ISSUE_AUTO);
TRAIT(batch_or_auto, "--issue=batch|auto", it->issue == ISSUE_BATCH || it->issue == ISSUE_AUTO);
TRAIT(not_streams, "--issue=graph|batch|auto", it->issue != ISSUE_STREAMS);
TRAIT(one_by_one, "--issue=streams|graph without --pack",
      !it->pack && (it->issue == ISSUE_STREAMS || it->issue == ISSUE_GRAPH));
TRAIT(batch_size, "--batch=N", it->batch != 0);
TRAIT(packs, "--pack", it->pack);
TRAIT(scattered, "--scatter", it->scatter);
TRAIT(columns, "--copy=2d|rows", it->copy != COPY_WHOLE);
TRAIT(taken_often, "--alloc=loop|async|pool", it->alloc != ALLOC_ONCE);
TRAIT(calls_back, "--callbacks", it->callbacks);
TRAIT(priorities, "--priorities=P", it->priority_count > 0);
TRAIT(mistake, "--mistake=NAME", it->mistake != MISTAKE_NONE);
TRAIT(lazy, "--mistake=lazy-loading", mistake_rows[it->mistake].loads_lazily);
TRAIT(carried_by_host, "--carry=callback|sync", it->carry != CARRY_DEVICE);
TRAIT(carried_on_device, "--carry=device with scans",
      it->carry == CARRY_DEVICE && settings_carries_apart(it));
TRAIT(one_device, "one device", settings_devices(it) == 1);
TRAIT(several, "several devices", settings_devices(it) > 1);
TRAIT(too_many, NULL, settings_devices(it) > MACHINE_DEVICES_MAX);
TRAIT(few_tiles, NULL,
      several_has(it) && it->spread == SPREAD_TILES && it->tiles > 0 &&
          it->tiles < settings_devices(it));
TRAIT(many_streams, NULL, it->streams > STREAMS_MAX / settings_devices(it));
TRAIT(chain, "--spread=chain", it->spread == SPREAD_CHAIN);
TRAIT(linked, "--spread=chain", settings_by_link(it));
TRAIT(shared, "--share=slices|mps", it->sharing != SHARING_NONE);
TRAIT(exchange, "--exchange=peer|host", it->exchange != EXCHANGE_AUTO);
TRAIT(dealt, "--spread=tiles without stencil",
      several_has(it) && it->spread == SPREAD_TILES && !settings_has_halo(it));
TRAIT(thin, NULL, !settings_halo_fits(it));
TRAIT(other_streams, "--streams=N", it->streams != settings_halo_streams(it));
TRAIT(profile, "--profile", it->profile);
TRAIT(several_runs, "--runs=N", it->runs != 1);
TRAIT(warmup, "--warmup=N", it->warmup != 0);
TRAIT(no_data, "--no-data", it->no_data);
TRAIT(real, "real devices", it->device != NULL && device_is_real(it->device));
TRAIT(input, "--input", it->input != NULL);
TRAIT(output, "--output", it->output != NULL);

/* --- rows --- */

/* Of two options. What follows the last word that is named here are other members. */
#define PAIR(one, its_trait, between, two, trait_of_two, behind, ...)                          \
    {                                                                                          \
        .option = one, .trait = &its_trait, .says = between, .other = two,                     \
        .other_trait = &trait_of_two, .rest = behind, .allowed = __VA_ARGS__                   \
    }

/* Of one trait, which has a rule in place of words. */
#define RULE(one, its_trait, between, two, behind, sentence, ...)                              \
    {                                                                                          \
        .option = one, .trait = &its_trait, .says = between, .other = two, .rest = behind,     \
        .rule = sentence, .nearest = __VA_ARGS__                                               \
    }

#define COPIED "memory=pinned|pageable|registered"

/* Sentences name these. */
_Static_assert(TOGETHER_LAUNCHES == 16 << 20, "at most 16M launches");
_Static_assert(MACHINE_DEVICES_MAX == 8, "a host has at most 8 devices");
_Static_assert(STREAMS_MAX == 1024, "at most 1024 streams together");

/* In the order in which they are judged: that of the options' table, and of what would be true
 * of fewer settings first. */
const struct together_row together_rows[] = {
    RULE("intensity", launches, "and", "tiles", " make ",
         "A kernel that is launched once per repeat has at most 16M launches.",
         together_fewer_launches, .detail = together_launches),

    PAIR("blocks", blocks, "can't be:", "kernel", own_grid,
         " settles itself how many blocks it has", "blocks=auto kernel=scale"),

    RULE("tiles", more_tiles, "is more than", "elements", "",
         "There are at most as many --tiles as --elements.", together_tiles_and_elements),
    RULE("elements", part_rows, "is no whole number of rows of", "columns", ", as ",
         "Transposes and stencil need tiles of whole rows.", together_elements,
         .detail = together_unit, .when = TOGETHER_ELEMENTS),
    RULE("elements", part_columns, "is no whole number of columns of", "rows", ", as ",
         "dgemm needs tiles of whole columns.", together_elements, .detail = together_unit,
         .when = TOGETHER_ELEMENTS),
    RULE("tiles", cut_rows, "does not divide the array's rows of", "columns",
         " into tiles of as many each, as ", "Transposes and stencil need tiles of whole rows.",
         together_tiles, .detail = together_unit, .when = TOGETHER_ELEMENTS),
    RULE("tiles", cut_columns, "does not divide the array's columns of", "rows",
         " into tiles of as many each, as ", "dgemm needs tiles of whole columns.",
         together_tiles, .detail = together_unit, .when = TOGETHER_ELEMENTS),

    PAIR("ways", serial, "is serial and uses one stream, but", "streams", some_streams,
         " was given", "streams=1 ways=2|3|4", .when = TOGETHER_BOTH_GIVEN),
    PAIR("ways", up_to_three, "leaves the CPU idle, but", "cpu-share", share_of_cpu,
         " was given", "cpu-share=auto ways=4", .when = TOGETHER_BOTH_GIVEN),
    PAIR("ways", four_ways, "gives the CPU tiles of its own, but", "kernel", scans,
         " has a scan, and each of its tiles needs the sum of all before it",
         "ways=1|2|3 kernel=scale"),

    PAIR("memory", reached, "has kernels work on the host's arrays, but", "kernel", keeps,
         " keeps one on the device and works in place", COPIED),
    PAIR("memory", managed, "has pages that move by themselves, but", "issue", not_streams,
         " was given", "issue=streams memory=pinned"),
    PAIR("memory", managed, "has no copies to carry sums by, but", "kernel", scans,
         " is a scan", COPIED "|mapped"),
    PAIR("memory", managed, "has whole pages move, tile by tile, but", "scatter", scattered,
         " lays tiles apart", "scatter=no memory=pinned"),
    PAIR("memory", managed, "has whole pages move, tile by tile, but", "pack", packs,
         " has copies go together", "pack=no memory=pinned"),
    PAIR("memory", managed, "has whole pages move, tile by tile, but", "mistake", mistake,
         " was given", "mistake=none memory=pinned"),

    PAIR("alloc", taken_often, "takes memory that tiles are copied to, but", "memory", reached,
         " copies none", COPIED),
    PAIR("alloc", taken_often, "takes memory for each tile, but", "issue", not_streams,
         " does not go with that", "issue=streams alloc=once"),
    PAIR("alloc", taken_often, "takes memory for each tile, but", "pack", packs,
         " copies several as one", "pack=no alloc=once"),
    PAIR("alloc", taken_often, "is about one device, but", "device", several, " has several",
         "alloc=once", .devices = 1),
    PAIR("alloc", taken_often, "takes memory for each tile, but", "kernel", stencil,
         " leaves them on the device for all steps", "alloc=once"),
    PAIR("alloc", taken_often, "is one way to take memory, and", "mistake", mistake,
         " would mix with what it shows", "mistake=none alloc=once"),

    PAIR("scatter", scattered, "lays tiles apart, but", "kernel", far, " has ",
         "scatter=no kernel=scale", .detail = together_neighbours),

    PAIR("copy", columns, "lays tiles side by side, as columns, but", "scatter", scattered,
         " lays each apart, in one piece", "scatter=no copy=whole"),
    PAIR("copy", columns, "is about how tiles are copied, but with", "memory", reached,
         " there are no copies", COPIED),
    PAIR("copy", columns, "has many rows for each tile, but", "issue", batch_or_auto,
         " hands over tiles that are each one piece", "issue=streams|graph copy=whole"),
    PAIR("copy", columns, "lays tiles side by side, as columns, but", "ways", four_ways,
         " has the CPU work on tiles that are one piece", "ways=1|2|3 copy=whole"),
    PAIR("copy", columns, "makes each tile a matrix of its own, but", "kernel", far, " has ",
         "copy=whole kernel=scale", .detail = together_neighbours),
    RULE("elements", cut_wide_rows, "is no whole number of rows of tiles of", "tile-width",
         " side by side ",
         "Tiles that are columns are whole: --elements is a multiple of --tile-width for each "
         "tile.",
         together_elements, .detail = together_wide_rows, .when = TOGETHER_ELEMENTS),

    PAIR("carry", carried_by_host, "is about what a scan carries from tile to tile, but",
         "kernel", no_scan, " has none", "carry=device kernel=scan"),

    PAIR("mistake", lazy, "makes one run, and none before it, but", "runs", several_runs,
         " was given", "runs=1", .when = TOGETHER_BOTH_GIVEN),
    PAIR("mistake", lazy, "makes one run, and none before it, but", "warmup", warmup,
         " was given", "warmup=0", .when = TOGETHER_BOTH_GIVEN),

    PAIR("spread", chain, "gives each of several devices a part, but", "device", one_device,
         " is one", "spread=tiles", .devices = 2, .when = TOGETHER_ONE_PROCESS),
    RULE("device", too_many, "has more devices than a host can have", NULL, "",
         "A host has at most 8 devices.", NULL, .devices = MACHINE_DEVICES_MAX),
    RULE("device", few_tiles, "has more devices than there are tiles, for", "tiles",
         " was given", "Each of several devices has a tile at least.",
         together_tiles_and_devices),
    RULE("device", many_streams, "has that many streams on each device, and", "streams",
         " was given", "Several devices have at most 1024 streams together.",
         together_streams_and_devices),
    PAIR("device", several, "has several devices, but", "memory", reached, " is for one",
         COPIED),
    PAIR("device", several, "has several devices, but", "issue", graph, " is for one",
         "issue=streams|batch"),
    PAIR("device", several, "has several devices, but", "mistake", mistake, " is made on one",
         "mistake=none", .devices = 1),
    PAIR("spread", linked, "gives each device kernels of its own, but", "kernel", stencil,
         " is one that all work on together", "spread=tiles",
         .nearest = together_a_device_each),
    PAIR("spread", linked, "gives each device kernels of its own, but", "kernel", few_kernels,
         " has fewer than there are devices", "spread=tiles",
         .nearest = together_a_device_each),
    PAIR("spread", linked, "has devices work side by side, but", "ways", below_three,
         " was given", "ways=3|4 spread=tiles"),
    PAIR("spread", linked, "hands each tile on by itself, but", "issue", not_streams,
         " was given", "issue=streams spread=tiles"),
    PAIR("spread", linked, "hands each tile on by itself, but", "pack", packs,
         " has tiles go in batches", "pack=no spread=tiles"),
    PAIR("spread", linked, "sends arrays to the first device alone, but", "kernel", late_reader,
         " has ", "spread=tiles", .detail = together_late_reader),
    PAIR("device", several, "has several devices, but", "carry", carried_on_device,
         " leaves what a scan carries on one", "carry=callback|sync"),

    PAIR("share", shared, "has several processes, but", "kernel", stencil,
         " hands on from tile to tile, which processes of one device don't",
         "share=none kernel=scale"),
    PAIR("share", shared, "has several processes, but", "kernel", scans,
         " hands on from tile to tile, which processes of one device don't",
         "share=none kernel=scale"),
    PAIR("share", shared, "has several processes, but", "spread", chain,
         " has devices hand tiles on, and there is one", "spread=tiles share=none"),
    PAIR("share", shared, "has several processes, but", "ways", four_ways,
         " has each process take all of the CPU", "ways=1|2|3 share=none", .of_ranks = true),
    PAIR("share", shared, "has several processes, but", "pack", packs,
         " has each process take all of the CPU", "pack=no share=none", .of_ranks = true),
    PAIR("share", shared, "has several processes, but", "issue", chooses,
         " chooses among ways that processes don't all have", "issue=streams|batch share=none",
         .of_ranks = true),
    PAIR("share", shared, "has several processes, but", "mistake", mistake,
         " is made by one process", "mistake=none share=none", .of_ranks = true),

    PAIR("exchange", exchange, "is about several devices, but", "device", one_device, " is one",
         "exchange=auto", .devices = 2, .when = TOGETHER_ONE_PROCESS),
    PAIR("exchange", exchange, "is about tiles that are handed on, but", "spread", dealt,
         " was given", "exchange=auto spread=chain"),

#define HALO(two, trait_of_two, ...)                                                           \
    PAIR("kernel", stencil, "keeps its rows on the devices for all steps, but", two,           \
         trait_of_two, " was given", __VA_ARGS__ " kernel=scale")
    PAIR("kernel", stencil, "has streams of its own, but", "streams", other_streams,
         " was given", "kernel=scale", .nearest = together_halo_streams,
         .when = TOGETHER_OTHER_GIVEN),
    HALO("ways", not_three, "ways=3"),
    HALO("order", breadth, "order=depth"),
    HALO("layout", stages, "layout=tile"),
    HALO("memory", reached, COPIED),
    HALO("issue", not_streams, "issue=streams"),
    HALO("pack", packs, "pack=no"),
    HALO("callbacks", calls_back, "callbacks=no"),
    HALO("priorities", priorities, "priorities=none"),
    HALO("mistake", mistake, "mistake=none"),
#undef HALO
    RULE("halo", thin, "needs devices of more rows than two halos, but", "tiles",
         " leaves one without", "Each of several devices has more rows than two halos.",
         together_smaller_halo, .devices = 1),

    PAIR("issue", batch, "hands many copies over at once, but with", "memory", pageable,
         " the host has a part in every copy", "memory=pinned|registered|mapped issue=streams"),
    PAIR("issue", batch, "has no tile that goes by itself, but", "mistake", mistake,
         " is made tile by tile", "issue=streams mistake=none"),
    PAIR("issue", graph, "is launched by one call, but with", "memory", pageable,
         " the host has a part in every copy", "memory=pinned|registered|mapped issue=streams"),

    PAIR("batch", batch_size, "is about tiles that go as one, but with", "issue", one_by_one,
         " each goes by itself", "batch=auto issue=batch pack=yes"),

    PAIR("pack", packs, "has the CPU pack tiles while others are in flight, but", "ways",
         not_three, " was given", "ways=3 pack=no"),
    PAIR("pack", packs, "is one of the ways that", "issue", chooses, " chooses from",
         "pack=no issue=streams"),
    PAIR("pack", packs, "has the host work between its calls, but", "issue", not_streams,
         " hands much over at once", "issue=streams pack=no"),
    PAIR("pack", packs, "makes large copies out of small ones, but with", "memory", reached,
         " there are none", COPIED " pack=no"),
    PAIR("pack", packs, "has no tile that goes by itself, but", "mistake", mistake,
         " is made tile by tile", "mistake=none pack=no"),

    PAIR("profile", profile, "makes one run, but", "runs", several_runs, " was given", "runs=1",
         .when = TOGETHER_BOTH_GIVEN),

    PAIR("no-data", no_data, "is for the simulator, but", "device", real, " was given",
         "device=sim:h200 no-data=no"),
    PAIR("no-data", no_data, "means no bytes at all, but", "input", input, " was given",
         "no-data=no"),
    PAIR("no-data", no_data, "means no bytes at all, but", "output", output, " was given",
         "no-data=no"),
    {.option = NULL},
};

/* A profiler is to see one run. A process loads a kernel's code once, so the run that shows
 * that has no warm-up and no repeat. A stencil's streams are the plan's affair: reports say how
 * many a device has. */
void settings_settle(struct settings *settings)
{
    if (settings->ways == 1)
        settings->streams = 1;
    if (settings_has_halo(settings))
        settings->streams = settings_halo_streams(settings);
    if (lazy_has(settings))
        settings->warmup = 0;
    if (lazy_has(settings) || settings->profile)
        settings->runs = 1;
}

bool together_clash(const struct together_row *row, const struct settings *settings)
{
    return row->trait->has(settings) &&
           (row->other_trait == NULL || row->other_trait->has(settings));
}

const struct together_row *settings_misfit(const struct settings *settings)
{
    for (const struct together_row *row = together_rows; row->option != NULL; row++) {
        if (row->when < TOGETHER_BOTH_GIVEN && together_clash(row, settings))
            return row;
    }
    return NULL;
}
