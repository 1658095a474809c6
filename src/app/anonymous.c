/* anonymous.c - see anonymous.h. */
#include "app/anonymous.h"

#include "core/anonymous.h"
#include "kernels/own.h"

#include <stdio.h>
#include <string.h>

/* A device may be a machine file: "sim:./mine.ini*2". Its text is the options' own, for no
 * default has a folder in it. */
static void cut_settings(struct settings *settings)
{
    static const char simulated[] = "sim:";
    const size_t length = strlen(simulated);
    if (settings->input != NULL)
        settings->input = anonymous_file(settings->input);
    if (settings->output != NULL)
        settings->output = anonymous_file(settings->output);
    if (settings->device != NULL && strncmp(settings->device, simulated, length) == 0)
        anonymous_cut_file((char *)settings->device + length);
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
