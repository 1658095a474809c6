/* together.h - which settings don't go together. Each such pair is a row of one table, which
 * the options' check and help read, and whoever tries settings. */
#ifndef PIPELINE_PLAN_TOGETHER_H
#define PIPELINE_PLAN_TOGETHER_H

#include "plan/settings.h"

enum { TOGETHER_TEXT = 256 };

/* What settings may have. `words` is how the help names it, "--memory=mapped or managed"; NULL
 * where the row has a rule in its place. */
struct trait {
    const char *words;
    bool (*has)(const struct settings *settings);
};

/* When a row holds. */
enum together_when {
    TOGETHER_ALWAYS,
    TOGETHER_ONE_PROCESS, /* unless several processes have a device each */
    TOGETHER_ELEMENTS,    /* unless an input is yet to say how many elements there are */
    TOGETHER_BOTH_GIVEN,  /* where both were given in one place: else the first one wins, and
                             the other follows it */
    TOGETHER_OTHER_GIVEN, /* where the other was given: its default follows the first one */
};

/* Two options whose values don't go together: "OPTION SAYS OTHER REST DETAIL: use ALLOWED". */
struct together_row {
    const char *option; /* its name, as in "memory"; NULL ends the table */
    const struct trait *trait;
    const char *says;
    const char *other;               /* another's name; NULL: the row is about one option */
    const struct trait *other_trait; /* NULL: `trait` says it of both */
    const char *rest;
    const char *allowed; /* what to give instead: "memory=pinned|pageable issue=streams"; NULL:
                            `nearest` or `devices` alone say that */
    enum together_when when;
    bool of_ranks;    /* holds for processes with a device each, too, whatever `trait` says */
    uint32_t devices; /* so many would do, too; 0: that is no remedy */
    const char *rule; /* a sentence for the help, where traits have no words */
    /* Either may be NULL. Writes what follows `rest`; writes what is allowed and has to be
     * computed, as `allowed` has it. */
    void (*detail)(const struct settings *settings, char text[TOGETHER_TEXT]);
    void (*nearest)(const struct settings *settings, char text[TOGETHER_TEXT]);
};
extern const struct together_row together_rows[];

/* Returns true where the settings have both traits of the row. */
bool together_clash(const struct together_row *row, const struct settings *settings);

/* Settles what follows from other settings: what the run would else have of a default, or of
 * what was meant for another run. */
void settings_settle(struct settings *settings);

/* Returns the first row that the settings, which are settled, break; NULL: they go together,
 * and settings_check() takes them. */
const struct together_row *settings_misfit(const struct settings *settings);

/* --- together_text.c: the texts that are computed --- */

/* Appends a value of --device that names `count` of its devices, as `allowed` has it: none
 * where that is 0. The name of a machine file that could not stand in such a list is left out.
 */
void together_add_devices(const struct settings *settings, uint32_t count,
                          char text[TOGETHER_TEXT]);

void together_launches(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_fewer_launches(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_neighbours(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_late_reader(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_unit(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_wide_rows(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_elements(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_tiles(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_tiles_and_elements(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_tiles_and_devices(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_streams_and_devices(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_a_device_each(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_smaller_halo(const struct settings *settings, char text[TOGETHER_TEXT]);
void together_halo_streams(const struct settings *settings, char text[TOGETHER_TEXT]);

/* The launches that a run may have of a kernel that is launched once per repeat: a launch is an
 * op of the plan, and there may be as many as there may be tiles. */
enum { TOGETHER_LAUNCHES = 1 << 24 };

/* Returns how many it would have. */
uint64_t together_launch_count(const struct settings *settings);

/* Returns the first kernel behind the first device's that needs a second array, which that one
 * alone is sent; NULL: there is none. */
const struct kernel *settings_late_reader(const struct settings *settings);

#endif
