/* cause.c - finds what is marked in every picture of a run. */
#include "writers/cause.h"

#include <stdlib.h>

/* A mark of less than this part of the run's time would be too narrow to be seen. */
enum { SEEN_PARTS = 1000 };

int writer_find_gaps(const struct run_report *run, const struct verdict *gaps[GAPS_MAX])
{
    const int64_t least_ns = timeline_time_ns(&run->timeline) / SEEN_PARTS;
    int count = 0;
    for (int i = 0; i < run->verdicts.named && count < GAPS_MAX; i++) {
        const struct verdict *verdict = &run->verdicts.items[i];
        const struct loss *lost = &verdict->lost;
        const bool again = count > 0 && lost->start_ns < gaps[0]->lost.end_ns &&
                           lost->end_ns > gaps[0]->lost.start_ns;
        if (lost->span < run->timeline.span_count && lost->end_ns - lost->start_ns > least_ns &&
            !again)
            gaps[count++] = verdict;
    }
    return count;
}

/* Sets for each op up to the last that races, by its id, whether it does. */
static enum status find_races(const struct run_report *run, struct marks *marks)
{
    for (size_t i = 0; i < run->hazard_count && run->hazards != NULL; i++) {
        const struct hazard *hazard = &run->hazards[i];
        const uint32_t last = hazard->first > hazard->second ? hazard->first : hazard->second;
        marks->ops = last >= marks->ops ? last + 1 : marks->ops;
    }
    if (marks->ops == 0)
        return STATUS_OK;
    marks->races = calloc(marks->ops, sizeof *marks->races);
    if (marks->races == NULL)
        return STATUS_NO_MEMORY;
    for (size_t i = 0; i < run->hazard_count; i++)
        marks->races[run->hazards[i].first] = marks->races[run->hazards[i].second] = true;
    return STATUS_OK;
}

enum status writer_find_marks(const struct run_report *run, struct marks *marks)
{
    *marks = (struct marks){0};
    marks->gap_count = writer_find_gaps(run, marks->gaps);
    return find_races(run, marks);
}

bool writer_is_urgent(const struct run_report *run, uint32_t stream)
{
    const struct settings *settings = run->settings;
    const int *priorities = settings->priorities;
    uint32_t count = (uint32_t)settings->priority_count;
    if (count == 0 || run->foreign)
        return false;
    int most = priorities[0], least = priorities[0];
    for (uint32_t i = 1; i < count && i < run->streams; i++) {
        most = priorities[i] < most ? priorities[i] : most; /* less is more urgent */
        least = priorities[i] > least ? priorities[i] : least;
    }
    return most < least && priorities[stream % count] == most;
}
