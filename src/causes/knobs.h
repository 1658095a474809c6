/* knobs.h - what can be turned, and which of that is better turned: the settings of a run of
 * our own, and what the calls of a recorded program do.
 *
 * What is better is looked for knob by knob, in the simulator alone, until nothing gains any
 * more: causes/search.h says how, and how what they gain is dealt out. */
#ifndef PIPELINE_CAUSES_KNOBS_H
#define PIPELINE_CAUSES_KNOBS_H

#include "causes/search.h"
#include "machine/machine.h"
#include "rework/rework.h"

/* --- runs of our own --- */

enum knob {
#define KNOB(name, ...) KNOB_##name,
#define KNOB_TOO(name, ...)
#include "causes/knobs.def"
    KNOB_COUNT
};

extern const struct knob_set knobs_run;

/* Looks for better settings than those of a run, facts->settings, in which tiles, streams and
 * the like are numbers; facts->model has the hardware queues that the run had. Settings that
 * need more than the machine's memory are never taken. Time grows with the plan's ops, some
 * tens of simulations of it, fewer where it has many tiles. Where the run itself can't be
 * simulated, or has too many ops for that, returns the status; where memory runs out,
 * STATUS_NO_MEMORY. */
enum status whatif_find(const struct verdict_case *facts, struct found *found,
                        struct error *error);

/* Simulates `settings` on `machine` and sets *time_ns to the run's time. The statuses of
 * plan_build() and simulator_run(); STATUS_USAGE, too, where settings_misfit() has a row. */
enum status whatif_time(const struct settings *settings, const struct machine *machine,
                        int64_t *time_ns, struct error *error);

/* Sets how sure the time of `settings` is, which is `time_ns` on `machine`. Their plan is that
 * of this machine. The statuses of plan_build() and simulator_run(). */
enum status whatif_look(const struct settings *settings, const struct machine *machine,
                        int64_t time_ns, struct outlook *outlook, struct error *error);

/* Some of the knobs that were found, turned. */
struct fix {
    struct settings settings;      /* with these */
    int64_t time_ns;               /* the run's, simulated with these; or SEARCH_NO_TIME */
    char command[VERDICT_COMMAND]; /* the options that turn them, behind those of the run: all
                                      that it takes, and with all that it had chosen */
};

/* Turns the knobs that stand for `code`. `facts` has the settings, and the model that `found`
 * is of. STATUS_NO_MEMORY or STATUS_OK. */
enum status whatif_fix(const struct verdict_case *facts, const struct found *found,
                       enum verdict_code code, struct fix *fix, struct error *error);

/* Turns the knobs that make the best run: the best one alone, those of a cause that do as well
 * or, where these gain more by a hundredth, all. No time where even that gains less than a
 * hundredth. The statuses of whatif_fix(). */
enum status whatif_best(const struct verdict_case *facts, const struct found *found,
                        struct fix *best, struct error *error);

/* Has tiles go in way `number`, from 0: one by one, as a graph, fetched by kernels from mapped
 * memory in one of these ways or, where they lie apart, in batches, fetched in batches, and
 * packed by the CPU; of tiles that lie side by side larger ones do as well as these. Returns
 * false behind the last one. */
bool knobs_set_way(int number, struct settings *settings);

/* Writes the options that make a run of `better` ("--tiles=64 --pack=no"), behind those that
 * were typed: of the knobs that were found first, in their order. `typed` has what was left to
 * be chosen. */
void knobs_command(const struct found *found, const struct settings *typed,
                   const struct settings *better, char text[VERDICT_COMMAND]);

/* Sets the causes that the knobs stand for, in a run of that plan. */
void knobs_name_causes(const struct verdict_case *facts, struct found *found);

/* --- recorded programs --- */

enum change_knob {
#define CHANGE(name, ...) CHANGE_##name,
#define CHANGE_TOO(name, ...)
#include "causes/knobs.def"
    CHANGE_COUNT
};

/* Looks for those that are better turned on `machine`, whose queues are those that the program
 * had. Of a plan with very many ops a part in the middle stands for all. Simulated times are
 * from the first op's issue to the last one's end. The statuses of rework_begin(), and those of
 * the simulator for the plan as it is; STATUS_NO_MEMORY. */
enum status rework_find(const struct plan *plan, const struct machine *machine,
                        struct found *found, struct error *error);

/* Writes what was tried for a knob, where its row does not say it ("4 streams"), or "". */
void change_detail(const struct rework *change, enum change_knob knob, char *text, size_t room);

#endif
