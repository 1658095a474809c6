/* foreign.h - another program's run that is being judged: private to the files of foreign
 * verdicts. */
#ifndef PIPELINE_CAUSES_FOREIGN_H
#define PIPELINE_CAUSES_FOREIGN_H

#include "analysis/traced.h"
#include "causes/judge.h"
#include "causes/knobs.h"

/* Finds the verdicts of a timeline that has no plan, or a recorded one. It must have passed
 * timeline_check().
 *
 * Without a machine no limit is known, and the time of the busiest engine stands for it. Every
 * time in which that engine had nothing to do is followed back: what the op that ended it had
 * waited for, and what that had waited for, through ops and the host's calls, as far as the
 * engine's idle time reaches. A cause needs evidence: a call of that name that the host was in,
 * a stream of that kind, memory of that kind. What has none is VERDICT_UNKNOWN, and says what
 * recording would tell. The costs add up to the run's time less the limit. O(n log n) where
 * idle times are followed back through few ops each. STATUS_NO_MEMORY or STATUS_OK.
 */
enum status foreign_verdicts_find(const struct verdict_case *facts, struct verdicts *verdicts,
                                  struct error *error);

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

struct foreign {
    struct judge judge; /* its `found` is set for a recorded program whose machine is known */
    const struct timeline *timeline;
    struct traced trace;
    int64_t rest_ns[REST_COUNT];
    /* By cause, the host's calls that are one, up to the last that issued an op, with what the
     * host did between them for the same; and how much of their time that is. */
    struct tally kept[VERDICT_COUNT];
    int64_t between_ns[VERDICT_COUNT];
    uint32_t stream_waits;     /* copies in that waited for room */
    enum verdict_code suspect; /* what time is charged to that nothing else explains */
    bool simulated; /* the judge's `found` is set; `tried` only where that is near the run */
    int64_t recording_ns;     /* what recording took of the run's time; 0: not known */
    bool seen[VERDICT_COUNT]; /* the trace itself shows the cause */
};

/* A piece of the time before an op, latest first. */
struct foreign_piece {
    int64_t start_ns, end_ns;
    enum verdict_code cause; /* its own; VERDICT_REST: an op at work, or nothing to say */
    enum verdict_code
        link; /* the reason why it began only when the next, earlier one was over */
    enum verdict_code near; /* what it is charged to */
    uint32_t span;          /* SPAN_NONE: the host's */
    bool step;              /* the device's way on from one op to the next */
};
struct foreign_pieces {
    struct foreign_piece *items;
    uint32_t count;
    size_t room;
};

/* Follows what let go of op `index` back to `from_ns`, from its start, or where `whole` from
 * its end. Pieces may begin before `from_ns`. Returns false when memory runs out. */
bool foreign_walk(struct foreign *foreign, uint32_t index, bool whole, int64_t from_ns,
                  struct foreign_pieces *pieces);

/* Charges a cause no more than its evidence carries. Returns how much that is. */
int64_t foreign_charge(struct foreign *foreign, enum verdict_code code, int64_t cost_ns);

/* Simulates a recorded program with fixes; its plan and its machine are known. Where the
 * simulation of the run as it is comes near it, `tried` is set, and what was charged is charged
 * anew, by what fixes gain: the charges then add up to time_ns - limit_ns. STATUS_NO_MEMORY
 * only. */
enum status foreign_try(struct foreign *foreign, struct error *error);

/* Sets the fixes of all causes: whether they were tried, and the time with them. */
void foreign_put_fixes(struct foreign *foreign);

/* Adds to a verdict's evidence what was tried, where its fix does not say it. */
void foreign_put_detail(const struct foreign *foreign, struct verdict *verdict);

/* Takes back times that nothing supports, then sets the best of all fixes, and what all of them
 * change. The first cause has the best one. */
void foreign_set_best(const struct foreign *foreign, struct verdicts *verdicts);

/* Writes "8 kernels", "1 copy in". */
enum { FOREIGN_COUNT = 48 };
const char *foreign_counted(uint32_t count, const char *one, const char *many,
                            char text[FOREIGN_COUNT]);

/* Returns the cause that a call is; VERDICT_SMALL_TILES for one that only hands an op over. */
enum verdict_code foreign_call_cause(const struct foreign *foreign, uint32_t index);

/* Returns the cause of the time between two calls of the host, in none of them; SPAN_NONE:
 * there is no call before. */
enum verdict_code foreign_outside_cause(const struct foreign *foreign, uint32_t before,
                                        uint32_t next, int64_t length_ns);

/* Returns how long a call that waits took behind the last op that ended within it, to give back
 * memory of pools: 0 where none is taken, or it took no longer than to wake up. */
int64_t foreign_giving_back_ns(const struct foreign *foreign, uint32_t index);

/* Returns true if the host was ever in no call for longer than it takes to issue. */
bool host_works(const struct foreign *foreign);

/* Notes how often evidence was seen, and for how long. It carries that time: all that comes
 * later is that much earlier without it; and of the device's, for each a way on to the next op.
 * What is not noted carries any cost. */
void foreign_note_seen(struct verdict *verdict, uint32_t times, int64_t sum_ns);

/* Returns the cause that an op of the host's is; VERDICT_REST: none, such as a copy that its
 * call waited for. */
enum verdict_code host_op_cause(const struct foreign *foreign, const struct span *span);

/* Say what was seen of calls: of any, with what was between them; and of those that asked
 * whether work was done, and it was not. */
void host_put_calls(const struct foreign *foreign, const struct tally *calls,
                    int64_t between_ns, struct verdict *verdict);
void host_put_polls(const struct foreign *foreign, struct verdict *verdict);

/* These say what was seen of a host that is late, and return what it is worth
 * (causes/host_foreign.c). */
enum evidence host_put_launches(const struct foreign *foreign, struct verdict *verdict);
enum evidence host_put_work(const struct foreign *foreign, struct verdict *verdict);

/* Adds " at fit.cu:88" behind `before`, where the line that makes call `index` is known. */
void foreign_put_line(const struct foreign *foreign, uint32_t index, const char *before,
                      char seen[VERDICT_SEEN]);

/* These say what was seen of causes that a recording's facts show, and return what it is worth
 * (causes/facts_foreign.c). */
enum evidence facts_pool(const struct foreign *foreign, struct verdict *verdict);
enum evidence facts_repeats(const struct foreign *foreign, struct verdict *verdict);
enum evidence facts_faults(const struct foreign *foreign, struct verdict *verdict);
enum evidence facts_timed(const struct foreign *foreign, struct verdict *verdict);
enum evidence facts_peers(const struct foreign *foreign, struct verdict *verdict);
enum evidence facts_null_free(const struct foreign *foreign, struct verdict *verdict);

/* Says that most waits are for a few bytes that were copied back, unless `verdict` is NULL.
 * Returns false, and says nothing, where they are not. */
bool facts_put_readback(const struct foreign *foreign, struct verdict *verdict);

/* Returns how long nothing but such copies was at work between two ops, which the second waited
 * for: 0 where most waits are for others. */
int64_t facts_readback_ns(const struct foreign *foreign);

/* Returns true if kernels work with managed memory, or pages of it moved. */
bool facts_moves_pages(const struct foreign *foreign);

/* Returns the cause that time which nothing else explains is charged to: one that the facts
 * show, and that holds things up where no call and no op says so; else VERDICT_UNKNOWN. */
enum verdict_code facts_suspect(const struct foreign *foreign);

/* Takes times with a fix back that nothing supports, and says why. Returns true if nothing
 * supports that of all fixes together. */
bool facts_withhold(const struct foreign *foreign, struct verdicts *verdicts);

/* Returns true if all that speaks for a cause is what its fix gains in the simulator. */
bool evidence_is_gain(enum verdict_code code);

/* Sets what was seen of causes, and what that is worth. */
void evidence_foreign(const struct foreign *foreign, struct verdict causes[], int count);

#endif
