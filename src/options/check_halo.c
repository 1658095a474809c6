/* check_halo.c - the checks of what goes with a stencil, whose rows stay on the devices. */
#include "options/check.h"

#include <stdio.h>

/* Its streams are the plan's affair: reports say how many a device has. */
enum status settle_halo(const struct judged *run, struct settings *settings)
{
    struct settings of_all = *settings;
    of_all.devices = check_device_count(settings);
    const uint32_t streams = settings_halo_streams(&of_all);
    char rest[LABEL_MAX];
    if (!settings_has_halo(settings))
        return STATUS_OK;
    snprintf(rest, sizeof rest, ", which has streams of its own: allowed is %u, or none given",
             (unsigned)streams);
    if (settings->streams != streams && run->origins[OPTION_STREAMS].source != SOURCE_DEFAULT)
        return check_refuse_pair(run, OPTION_STREAMS, "was given for", OPTION_KERNEL, rest);
    settings->streams = streams;
    return STATUS_OK;
}

/* What a plan of another kind has, and this one has not. */
static const struct {
    enum option_id option;
    const char *rest;
} others[] = {
    {OPTION_WAYS, " was given: allowed is 3"},
    {OPTION_ORDER, " was given: allowed is depth"},
    {OPTION_LAYOUT, " was given: allowed is tile"},
    {OPTION_MEMORY, " was given: allowed are pinned, pageable and registered"},
    {OPTION_ISSUE, " was given: allowed is streams"},
    {OPTION_PACK, " was given: allowed is one of them"},
    {OPTION_CALLBACKS, " was given: allowed is one of them"},
    {OPTION_PRIORITIES, " was given: allowed is none, for the plan has its own"},
    {OPTION_MISTAKE, " was given: allowed is none"},
};

static bool is_other(const struct settings *settings, enum option_id option)
{
    switch (option) {
    case OPTION_WAYS:
        return settings->ways != 3;
    case OPTION_ORDER:
        return settings->order != ORDER_DEPTH;
    case OPTION_LAYOUT:
        return settings->layout != LAYOUT_TILE;
    case OPTION_MEMORY:
        return memory_is_reached(settings->memory);
    case OPTION_ISSUE:
        return settings->issue != ISSUE_STREAMS;
    case OPTION_PACK:
        return settings->pack;
    case OPTION_CALLBACKS:
        return settings->callbacks;
    case OPTION_PRIORITIES:
        return settings->priority_count > 0;
    case OPTION_MISTAKE:
        return settings->mistake != 0;
    default:
        return false;
    }
}

enum status check_halo(const struct judged *run)
{
    if (!settings_has_halo(run->settings))
        return STATUS_OK;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (is_other(run->settings, others[i].option))
            return check_refuse_pair(run, OPTION_KERNEL,
                                     "keeps its rows on the devices for all steps, but",
                                     others[i].option, others[i].rest);
    if (settings_halo_fits(run->settings))
        return STATUS_OK;
    return check_refuse_pair(run, OPTION_HALO, "needs devices of more rows than two halos, but",
                             OPTION_TILES,
                             " leaves one without: allowed are fewer devices, a smaller "
                             "halo, or more elements");
}
