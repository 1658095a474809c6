/* judge.h - a run that is being judged: private to the files of causes. Each of these comes as
 * two files, one for runs of our own (_run.c) and one for other programs' (_foreign.c), in the
 * order of the line:
 *
 *   path      what held ops up, piece by piece, and the cause that this is
 *   account   charges what was lost there to those causes
 *   knobs     what can be turned, and the causes that stand for it; for foreign runs in
 *             try_foreign.c
 *   try       which knobs are better turned, by the steps of search.c
 *   charge    charges by what was tried
 *   evidence  what was seen of a cause, in words
 *
 * verdicts.def is the table of causes, account.c has what each is charged and lists them,
 * judge.c ranks them, and verdict.c takes a run along the line. */
#ifndef PIPELINE_CAUSES_JUDGE_H
#define PIPELINE_CAUSES_JUDGE_H

#include "analysis/traced.h"
#include "causes/knobs.h"

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

/* The parts of the rest are told in this order. */
enum rest_part {
    REST_FILLING, /* and draining; it is with few tiles where these are few */
    REST_DATA,    /* each result is the next input */
    REST_SEVERAL, /* only several fixes together gain it */
    REST_STEPS,   /* the device took it to go on from one op to the next */
    REST_ONCE,    /* the host was elsewhere, once, or made something that stays */
    REST_PAGES,   /* of managed memory, which move as they were asked to */
    REST_RECORDING,
    REST_KERNELS, /* those of the busiest engine took longer than the limit has it */
    REST_COPIES,
    REST_SAME,  /* the simulator has it as well, of what was recorded, and no fix gains it */
    REST_SMALL, /* all that is in none of the others */
    REST_COUNT
};

/* A run that is being judged. */
struct judge {
    const struct verdict_case *facts;
    const struct timeline *timeline;
    struct error why; /* why it can't be judged: memory ran out; the rest says nothing then */
    int64_t time_ns, limit_ns;
    struct account charges;
    bool foreign; /* what is too little to be named is with the rest already */
    bool tried;   /* `found` is set, and fixes can be predicted by it */
    struct found found;
    struct outlook given; /* how sure found.given_ns is; or 0 */
    /* Only runs of other programs have these. The last two count by cause: the host's calls
     * that are one, up to the last that issued an op, with what the host did between them for
     * the same; and how much of their time is between them. */
    struct traced trace;
    int64_t rest_ns[REST_COUNT];
    struct tally kept[VERDICT_COUNT];
    int64_t between_ns[VERDICT_COUNT];
    uint32_t stream_waits;     /* copies in that waited for room */
    enum verdict_code suspect; /* what time is charged to that nothing else explains */
    bool simulated;            /* `found` is set; `tried` only where that is near the run */
    int64_t recording_ns;      /* what recording took of the run's time; 0: not known */
    bool seen[VERDICT_COUNT];  /* the trace itself shows the cause */
};

/* Notes why something could not be tried, which is no reason not to go on but where memory ran
 * out. */
void judge_note(struct judge *judge, const struct error *why);

/* Returns the run's time with a fix with which it takes `fixed_ns` in the simulator. */
int64_t judge_predicted_ns(const struct judge *judge, int64_t fixed_ns);

/* Sets how sure the run's time is with a fix, which is `fixed` in the simulator; of looks that
 * are 0 nothing is known. */
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

/* Puts what is listed in order: those first whose fixes gain more, then dear ones. */
void judge_rank(const struct judge *judge, struct verdicts *verdicts);

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
 * run that was faster in parts than its machine's figures may be negative. O(n log n). */
void verdict_account_find(const struct verdict_case *facts, struct account *account,
                          struct error *why);

/* Places a cause that lacks places, as trials and not the path found it, where it held ops up.
 */
void verdict_place_holds(const struct verdict_case *facts, struct account *account,
                         struct error *why);

/* Charges what a run lost to its causes, by what the simulator gains with each fix or, where
 * nothing can be tried, by the critical path alone; and sets what is known of the whole. */
void run_charge(struct judge *judge, struct verdicts *verdicts);

/* Set the fixes of all causes, with the time that each alone would bring, and the best
 * settings, if they are worth it. */
void run_put_fixes(struct judge *judge);
void run_set_best(struct judge *judge, struct verdicts *verdicts);

/* Sets what was seen of causes, and what that is worth. */
void evidence_run(const struct judge *judge, struct verdict causes[], int count);

/* --- other programs' runs --- */

/* Charges what a timeline lost that has no plan, or a recorded one, and sets what is known of
 * the whole.
 *
 * Without a machine no limit is known, and the time of the busiest engine stands for it. Every
 * time in which that engine had nothing to do is followed back: what the op that ended it had
 * waited for, and what that had waited for, through ops and the host's calls, as far as the
 * engine's idle time reaches. A cause needs evidence: a call of that name that the host was in,
 * a stream of that kind, memory of that kind. What has none is VERDICT_UNKNOWN, and says what
 * recording would tell. O(n log n) where idle times are followed back through few ops each. */
void foreign_charge(struct judge *judge, struct verdicts *verdicts);

/* Puts pageable memory before all else where most of the run is copies of it, and no fix could
 * be tried: the trace tells what the host's waits for them cost, not by how much they are
 * slower than others would be. */
void foreign_put_pageable_first(const struct judge *judge, struct verdicts *verdicts);

/* A piece of the time before an op, latest first. */
struct foreign_piece {
    int64_t start_ns, end_ns;
    enum verdict_code cause; /* its own; VERDICT_REST: an op at work, or nothing to say */
    enum verdict_code
        link; /* the reason why it began only when the next, earlier one was over */
    enum verdict_code near; /* what it is charged to */
    uint32_t span;          /* SPAN_NONE: the host's */
    uint32_t added_ns;      /* of a call: what recording took of it */
    bool step;              /* the device's way on from one op to the next */
};
struct foreign_pieces {
    struct foreign_piece *items;
    uint32_t count;
    size_t room;
    bool full; /* memory ran out for one of them */
};

/* Follows what let go of op `index` back to `from_ns`, from its start, or where `whole` from
 * its end. Pieces may begin before `from_ns`. */
void foreign_walk(struct judge *judge, uint32_t index, bool whole, int64_t from_ns,
                  struct foreign_pieces *pieces);

/* Returns bits of the knobs whose causes the run shows nothing of: graphs where most ops are in
 * one, more streams than several where no copy waits for room, other threads where the host is
 * always in a call, and tiles of other sizes where nothing is copied from or to the host, or it
 * needs each tile's result to issue the next. */
uint32_t facts_unseen_knobs(const struct judge *judge);

/* Charges a cause no more than its evidence carries. Returns how much that is. */
int64_t foreign_charge_seen(struct judge *judge, enum verdict_code code, int64_t cost_ns);

/* Simulates a recorded program with fixes; its plan and its machine are known. Where the
 * simulation of the run as it is comes near it, `tried` is set, and what was charged is charged
 * anew, by what fixes gain: the charges then add up to time_ns - limit_ns. */
void foreign_try(struct judge *judge);

/* Sets the fixes of all causes: whether they were tried, and the time with them. */
void foreign_put_fixes(struct judge *judge);

/* Adds to the verdicts' evidence what was tried, where a fix does not say it. */
void foreign_put_details(const struct judge *judge, struct verdicts *verdicts);

/* Takes back times that nothing supports, then sets the best of all fixes, and what all of them
 * change. The first cause has the best one. */
void foreign_set_best(const struct judge *judge, struct verdicts *verdicts);

/* Returns the cause that a call is; VERDICT_SMALL_TILES for one that only hands an op over. */
enum verdict_code foreign_call_cause(const struct judge *judge, uint32_t index);

/* Returns the cause of the time between two calls of the host, in none of them; SPAN_NONE:
 * there is no call before. */
enum verdict_code foreign_outside_cause(const struct judge *judge, uint32_t before,
                                        uint32_t next, int64_t length_ns);

/* Returns how long a call that waits took behind the last op that ended within it, to give back
 * memory of pools: 0 where none is taken, or it took no longer than to wake up. */
int64_t foreign_giving_back_ns(const struct judge *judge, uint32_t index);

/* Returns true if the host was ever in no call for longer than it takes to issue. */
bool host_works(const struct judge *judge);

/* Returns the cause that an op of the host's is; VERDICT_REST: none, such as a copy that its
 * call waited for. */
enum verdict_code host_op_cause(const struct judge *judge, const struct span *span);

/* Returns true if most waits are for a few bytes that were copied back. */
bool facts_reads_back(const struct judge *judge);

/* Returns how long nothing but such copies was at work between two ops, which the second waited
 * for: 0 where most waits are for others. */
int64_t facts_readback_ns(const struct judge *judge);

/* Returns true if kernels work with managed memory, or pages of it moved. */
bool facts_moves_pages(const struct judge *judge);

/* Returns the cause that time which nothing else explains is charged to: one that the facts
 * show, and that holds things up where no call and no op says so; else VERDICT_UNKNOWN. */
enum verdict_code facts_suspect(const struct judge *judge);

/* Takes times with a fix back that nothing supports, and says why. Returns true if nothing
 * supports that of all fixes together. */
bool facts_withhold(const struct judge *judge, struct verdicts *verdicts);

/* Returns true if all that speaks for a cause is what its fix gains in the simulator. */
bool evidence_is_gain(enum verdict_code code);

/* Sets what was seen of causes, and what that is worth. */
void evidence_foreign(const struct judge *judge, struct verdict causes[], int count);

#endif
