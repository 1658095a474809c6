/* anonymous.c - runs whose report leaves names out: --anonymous. */
#include "app/job.h"

#include "core/anonymous.h"
#include "kernels/own.h"

#include <stdio.h>
#include <string.h>

static void cut_files(struct settings *settings)
{
    if (settings->input != NULL)
        settings->input = anonymous_file(settings->input);
    if (settings->output != NULL)
        settings->output = anonymous_file(settings->output);
}

/* Returns where the path begins in a device that is a machine file, "sim:./mine.ini*2"; NULL:
 * it is none. */
static const char *path_of(const char *device)
{
    static const char simulated[] = "sim:";
    const bool is_one = device != NULL && strncmp(device, simulated, strlen(simulated)) == 0;
    return is_one ? device + strlen(simulated) : NULL;
}

/* A device's text is the options' own where it has a path, for no default has one. */
static void cut_settings(struct settings *settings)
{
    cut_files(settings);
    if (path_of(settings->device) != NULL)
        anonymous_cut_file((char *)path_of(settings->device));
}

void anonymous_settings(struct settings *settings, char device[TIMELINE_TEXT])
{
    const char *path = path_of(settings->device);
    cut_files(settings);
    kernel_own_forget_folders();
    if (path == NULL)
        return;
    snprintf(device, TIMELINE_TEXT, "sim:%s", anonymous_file(path));
    settings->device = device;
}

static void cut_hosts(struct ranks_seen *ranks)
{
    struct ranks_seen seen = *ranks;
    int hosts = 0;
    for (uint32_t i = 0; i < ranks->count; i++) {
        uint32_t first = 0;
        while (strcmp(seen.places[first].host, seen.places[i].host) != 0)
            first++;
        if (first == i)
            snprintf(ranks->places[i].host, RANK_HOST, "host %d", ++hosts);
        else
            memcpy(ranks->places[i].host, ranks->places[first].host, RANK_HOST);
    }
}

void anonymous_runs(struct job *jobs, struct report *report)
{
    for (int i = 0; i < report->run_count; i++) {
        struct run_report *run = &report->runs[i];
        cut_settings(&jobs[i].settings);
        cut_settings(&jobs[i].usual);
        cut_hosts(&run->timeline.ranks);
        if (run->compared != NULL)
            cut_settings(&run->compared->settings);
    }
    kernel_own_forget_folders();
}
