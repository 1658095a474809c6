/* verdict_cases.h - shared by the suites of verdicts. */
#ifndef PIPELINE_TESTS_VERDICT_CASES_H
#define PIPELINE_TESTS_VERDICT_CASES_H

#include "causes/verdict.h"

#include <check.h>

/* A run of the simulator, judged. */
struct judged {
    struct settings settings;
    struct machine machine;
    struct plan plan;
    struct timeline timeline;
    struct critical critical;
    struct limit limit;
    struct verdicts verdicts;
};

/* Empties it but for a machine that is built in. */
void judged_load(struct judged *judged, const char *name);

/* Draws settings that go together. */
void judged_draw_settings(uint64_t *random, struct settings *settings);

/* Simulates the plan of `settings` on judged->machine; false where they don't go together. */
bool judged_simulate(const struct settings *settings, struct judged *judged);

/* The same, and finds the verdicts. */
bool judged_make(const struct settings *settings, struct judged *judged);

/* Returns what verdicts are found from. */
struct verdict_case judged_facts(const struct judged *judged);

/* Returns the named verdict with that code, or NULL. */
const struct verdict *judged_find(const struct judged *judged, enum verdict_code code);

void judged_free(struct judged *judged);

TCase *verdict_fixes_case(void);

#endif
