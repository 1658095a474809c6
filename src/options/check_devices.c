/* check_devices.c - the checks of what goes with several devices, and with one. */
#include "options/check.h"

#include <inttypes.h>
#include <stdio.h>

static uint32_t process_count = 1;

void options_set_processes(uint32_t count)
{
    process_count = count;
}

uint32_t check_device_count(const struct settings *settings)
{
    return process_count > 1 ? process_count : settings_devices(settings);
}

static bool is_one(const struct settings *settings)
{
    return check_device_count(settings) == 1;
}

/* Returns the first kernel behind the first device's that needs a second array, which that one
 * alone is sent; NULL: there is none. */
static const struct kernel *late_reader(const struct settings *settings)
{
    const uint32_t links = (uint32_t)settings->chain_length;
    for (uint32_t link = 0; link < links; link++)
        if (settings->chain[link]->inputs > 1 &&
            link_device(link, links, settings_devices(settings)) > 0)
            return settings->chain[link];
    return NULL;
}

/* Refuses what does not go where each device has a part of the chain. */
static enum status check_chain(const struct judged *run)
{
    const struct settings *settings = run->settings;
    const struct kernel *late = late_reader(settings);
    char rest[LABEL_MAX];
    if (settings_has_halo(settings))
        return check_refuse_pair(run, OPTION_SPREAD,
                                 "gives each device kernels of its own, but", OPTION_KERNEL,
                                 " is one that all work on together: allowed is tiles");
    if (settings_devices(settings) > (uint32_t)settings->chain_length)
        return check_refuse_pair(
            run, OPTION_SPREAD, "gives each device kernels of its own, but", OPTION_KERNEL,
            " has fewer than there are devices: allowed are as many, or more");
    if (settings->ways < 3)
        return check_refuse_pair(run, OPTION_SPREAD, "has devices work side by side, but",
                                 OPTION_WAYS, " was given: allowed are 3 and 4");
    if (settings->issue != ISSUE_STREAMS)
        return check_refuse_pair(run, OPTION_SPREAD, "hands each tile on by itself, but",
                                 OPTION_ISSUE, " was given: allowed is streams");
    if (settings->pack)
        return check_refuse_pair(run, OPTION_SPREAD, "hands each tile on by itself, but",
                                 OPTION_PACK,
                                 " has tiles go in batches: allowed is one of them");
    if (late == NULL)
        return STATUS_OK;
    snprintf(rest, sizeof rest, " has %s behind: allowed are kernels there that read one array",
             late->name);
    return check_refuse_pair(run, OPTION_SPREAD, "sends arrays to the first device alone, but",
                             OPTION_KERNEL, rest);
}

enum status check_exchange(const struct judged *run)
{
    const struct settings *settings = run->settings;
    const bool hands_on = settings->spread == SPREAD_CHAIN || settings_has_halo(settings);
    if (settings->exchange == EXCHANGE_AUTO || (hands_on && !is_one(settings)))
        return STATUS_OK;
    if (is_one(settings))
        return check_refuse_pair(run, OPTION_EXCHANGE, "is about several devices, but",
                                 OPTION_DEVICE, " is one: allowed is auto, or sim:NAME*N");
    return check_refuse_pair(run, OPTION_EXCHANGE, "is about tiles that are handed on, but",
                             OPTION_SPREAD, " was given: allowed is auto, or --spread=chain");
}

enum status check_devices(const struct judged *run)
{
    const struct settings *settings = run->settings;
    const uint32_t devices = settings_devices(settings);
    char rest[LABEL_MAX], label[LABEL_MAX];
    if (is_one(settings) && settings->spread == SPREAD_CHAIN)
        return check_refuse_pair(run, OPTION_SPREAD,
                                 "gives each of several devices a part, but", OPTION_DEVICE,
                                 " is one: allowed are tiles, or sim:NAME*N");
    if (devices == 1)
        return STATUS_OK;
    if (devices > MACHINE_DEVICES_MAX)
        return error_set(run->error, STATUS_USAGE,
                         "%s has more devices than a host can: allowed are %d at most",
                         check_label(run, OPTION_DEVICE, label), MACHINE_DEVICES_MAX);
    if (settings->spread == SPREAD_TILES && settings->tiles > 0 && settings->tiles < devices)
        return check_refuse_pair(run, OPTION_DEVICE,
                                 "has more devices than there are tiles, for", OPTION_TILES,
                                 " was given: each needs one");
    snprintf(rest, sizeof rest, " was given: allowed are %" PRIu32 " on each",
             STREAMS_MAX / devices);
    if (settings->streams > STREAMS_MAX / devices)
        return check_refuse_pair(run, OPTION_DEVICE,
                                 "has that many streams on each device, and", OPTION_STREAMS,
                                 rest);
    if (memory_is_reached(settings->memory))
        return check_refuse_pair(run, OPTION_DEVICE, "has several devices, but", OPTION_MEMORY,
                                 " is for one: allowed are pinned, pageable and registered");
    if (settings->issue == ISSUE_GRAPH)
        return check_refuse_pair(run, OPTION_DEVICE, "has several devices, but", OPTION_ISSUE,
                                 " is for one: allowed are streams and batch");
    if (settings->mistake != MISTAKE_NONE)
        return check_refuse_pair(run, OPTION_DEVICE, "has several devices, but", OPTION_MISTAKE,
                                 " is made on one: allowed is one device");
    if (settings->spread == SPREAD_CHAIN)
        return check_chain(run);
    if (settings->carry == CARRY_DEVICE && settings_carries_apart(settings))
        return check_refuse_pair(
            run, OPTION_DEVICE, "has several devices, but", OPTION_CARRY,
            " leaves what a scan carries on one: allowed are callback and sync");
    return STATUS_OK;
}

const char *check_processes(const struct settings *settings, enum option_id *option)
{
    static const char neighbours[] =
        " hands on from tile to tile, which processes of one device don't: allowed are other "
        "kernels";
    const bool shared = settings->sharing != SHARING_NONE;
    const struct {
        bool given;
        enum option_id option;
        const char *rest;
    } alone[] = {
        {shared && settings_has_halo(settings), OPTION_KERNEL, neighbours},
        {shared && kernel_chain_scans(settings->chain, settings->chain_length), OPTION_KERNEL,
         neighbours},
        {shared && settings->spread == SPREAD_CHAIN, OPTION_SPREAD,
         " has devices hand tiles on, and there is one: allowed is tiles"},
        {!shared && settings->exchange == EXCHANGE_PEER, OPTION_EXCHANGE,
         " copies into memory of another process: allowed are auto and host"},
        {settings->ways == 4, OPTION_WAYS,
         " has each process take all of the CPU: allowed are 1, 2 and 3"},
        {settings->pack, OPTION_PACK,
         " has each process take all of the CPU: allowed is --issue=batch"},
        {settings->issue == ISSUE_AUTO, OPTION_ISSUE,
         " chooses among ways that processes don't all have: allowed are streams and batch"},
        {settings->mistake != MISTAKE_NONE, OPTION_MISTAKE,
         " is made by one process: allowed is none"},
    };
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++)
        if (alone[i].given) {
            *option = alone[i].option;
            return alone[i].rest;
        }
    return NULL;
}

enum status check_share(const struct judged *run)
{
    enum option_id option;
    const char *rest = check_processes(run->settings, &option);
    if (run->settings->sharing == SHARING_NONE || rest == NULL)
        return STATUS_OK;
    return check_refuse_pair(run, OPTION_SHARE, "has several processes, but", option, rest);
}
