/* judge.h - a run that is being judged: private to the files of causes. Each of these comes as
 * two files, one for runs of our own (_run.c) and one for other programs' (_foreign.c), in the
 * order of the line:
 *
 *   path      what held ops up, piece by piece, and the cause that this is
 *   account   charges what was lost there to those causes; for foreign runs in foreign.c
 *   knobs     what can be turned, and the causes that stand for it; for foreign runs in
 *             try_foreign.c
 *   try       which knobs are better turned, by the steps of search.c
 *   charge    charges by what was tried
 *   evidence  what was seen of a cause, in words
 *
 * verdicts.def is the table of causes, account.c has what each is charged and lists them,
 * judge.c ranks them, and run.c and foreign.c take a run along the line. */
#ifndef PIPELINE_CAUSES_JUDGE_H
#define PIPELINE_CAUSES_JUDGE_H

#include "analysis/critical.h"
#include "causes/search.h"

/* The charges: what each cause cost, by its code, and where that was lost. */
struct account {
    const struct timeline *timeline;
    struct verdict causes[VERDICT_COUNT];
    struct losses lost;
};

void account_begin(struct account *account, const struct timeline *timeline);

/* Charges a cause what was lost at the end of `lost`; without length or span, this is nowhere.
 */
void account_charge(struct account *account, enum verdict_code code, int64_t cost_ns,
                    struct loss lost);

/* Gives a cause a place without charging it. */
void account_place(struct account *account, enum verdict_code code, struct loss lost);

/* Returns true if the places of a cause, by its code, add up to less than half of its cost. */
bool account_lacks_places(const struct account *account, int code);

/* Moves what was charged to `from` to `to`. */
void account_move(struct account *account, enum verdict_code from, enum verdict_code to);

/* Makes the places of `from` places of `to`; those of the rest are never shown. */
void account_move_places(struct account *account, enum verdict_code from, enum verdict_code to);

/* Leaves `ns`, of *from_ns at most, to the rest; returns how much that is. */
int64_t account_leave(struct account *account, int64_t ns, int64_t *from_ns);

/* Gives the cause that cost most of those that lack places, such as a graph's launch, which
 * only trials tell, the places of the one that has most more than it cost; none to those whose
 * row says NO_PLACE. */
void account_place_others(struct account *account);

/* Lists where a named cause lost what it cost, and no more: of a cause that costs less than its
 * gaps the end of each, where nothing is marked yet. Several gaps that are one stay whole. */
void account_list_places(const struct account *account, const struct verdict *cause,
                         struct losses *listed);

/* A run that is being judged. */
struct judge {
    const struct verdict_case *facts;
    int64_t time_ns, limit_ns;
    struct account charges;
    bool foreign; /* what is too little to be named is with the rest already */
    bool tried;   /* `found` is set, and fixes can be predicted by it */
    struct found found;
    struct outlook given; /* of a run of our own: how sure found.given_ns is */
};

/* Returns the run's time with a fix with which it takes `fixed_ns` in the simulator. */
int64_t judge_predicted_ns(const struct judge *judge, int64_t fixed_ns);

/* Sets how sure the time of a run of our own is with a fix, which is `fixed` in the simulator.
 */
void judge_look(const struct judge *judge, const struct outlook *fixed, int64_t predicted_ns,
                struct prospect *prospect);

/* Why a fix that was tried has no time. */
extern const char judge_gains_little[];

/* Notes that a cause's fix was tried, and offers it if it gains enough: returns whether it
 * does. */
bool judge_offer(const struct judge *judge, int64_t fixed_ns, struct verdict *cause);

/* Returns true if a cause is not too little to be named: it cost that share of the run's time
 * or, where its fix `gains` enough, anything. */
bool judge_is_dear(const struct judge *judge, enum verdict_code code, double share, bool gains);

/* Lists the causes that are worth a name, by their codes; all others go to the rest. */
void judge_list(struct judge *judge, struct verdicts *verdicts);

/* Puts what is listed in order: dear causes first; or those first whose fixes gain more. */
void judge_rank(const struct judge *judge, bool fixes, struct verdicts *verdicts);

/* Puts a race before what is listed, and what sets the limit and the rest behind. */
void judge_complete(const struct judge *judge, struct verdicts *verdicts);

/* Returns the cause of an op and another, one of them in the legacy default stream, that waited
 * for each other. */
enum verdict_code verdict_legacy_cause(const struct timeline *timeline, const struct span *from,
                                       const struct span *span);

/* --- runs of our own --- */

/* Returns the cause of what a piece waited for; VERDICT_REST where the wait had to be: for
 * data, for engines at work, for the host's first call. */
enum verdict_code verdict_link_cause(const struct verdict_case *facts,
                                     const struct path_piece *piece);

/* Returns the cause that a piece is itself; VERDICT_REST for work that had to be done. */
enum verdict_code verdict_piece_cause(const struct verdict_case *facts,
                                      const struct path_piece *piece);

/* Returns how much longer work of the engine that bounds the run took than at the machine's
 * rate, in ns, and sets why; 0 and VERDICT_REST for other work. */
int64_t verdict_slowness_ns(const struct verdict_case *facts, const struct path_piece *piece,
                            enum verdict_code *cause);

/* Charges all that was lost. The costs add up to the timeline's time less the limit; those of a
 * run that was faster in parts than its machine's figures may be negative. O(n log n).
 * STATUS_NO_MEMORY or STATUS_OK. */
enum status verdict_account_find(const struct verdict_case *facts, struct account *account,
                                 struct error *error);

/* Places a cause that lacks places, as trials and not the path found it, where it held ops up.
 * STATUS_NO_MEMORY or STATUS_OK. */
enum status verdict_place_holds(const struct verdict_case *facts, struct account *account,
                                struct error *error);

/* Charges what was lost by what the simulator tried; STATUS_NO_MEMORY or STATUS_OK.
 * Or, where nothing can be tried, by the critical path alone. `path` has the path's charges. */
enum status verdict_charge_tried(struct judge *judge, const struct account *path,
                                 struct error *error);
void verdict_charge_path(struct judge *judge, const struct account *path);

/* Sets what was seen of causes, and what that is worth. */
void evidence_run(const struct verdict_case *facts, struct verdict causes[], int count);

#endif
