/* evidence.h - what was seen of a cause, in words that name figures: private to the files of
 * causes. */
#ifndef PIPELINE_CAUSES_EVIDENCE_H
#define PIPELINE_CAUSES_EVIDENCE_H

#include "causes/judge.h"

/* Figures that words may name: counts, and by their names' ends times, bytes and rates in GB/s.
 * Of a run of our own they are those of its plan and its timeline; of another program's, of the
 * cause that is looked at. */
/* clang-format off */
#define FIGURES(X)                                                                             \
    X(copies) X(kernels) X(memsets) X(syncs) X(allocs) X(callbacks) X(peers)                   \
    X(tiles) X(gpu_tiles) X(cpu_tiles) X(batch) X(streams) X(slots) X(queues) X(devices) X(ops)\
    X(legacy_stream) X(legacy_kernels) X(legacy_memsets)                                       \
    X(steps) X(step_ops) /* and the launches and copies of each */                             \
    X(most_blocks) X(resident_blocks) /* of a launch, and of the GPU */                        \
    X(exchanges) X(exchanged_bytes) /* copies out by which devices hand tiles on */            \
    X(alloc_bytes)                                                                             \
    X(row_bytes) X(apart_bytes) /* of a copy in, where tiles are columns */                    \
    X(callbacks_ns) X(peers_ns) /* of all of them */                                           \
    X(packs_ns) X(syncs_ns) /* of all the host's packing and waiting */                        \
    X(apart_ns) /* between the last ends of the CPU and of the GPU */                          \
    X(handed_ns) /* from a kernel by a copy to another device's kernel, on average */          \
    X(in_rate) X(out_rate) /* of all copies in and out */                                      \
    X(first_in_ns) X(last_out_ns) /* lengths of the first copy in and the last copy out */     \
    X(work_ns) /* of a tile: its longer copy, or its kernel where none has any */              \
    X(most_kernel_ns) /* how long the first launch of the most elements took */                \
    X(first_call_ns) /* the longest call of a launch */                                        \
    X(switch_ns) X(gap_ns)                                                                     \
    X(times) X(all) /* how often it was seen, and of how many */                               \
    X(sum_ns) X(longest_ns) X(each_ns) X(every_ns) X(most_bytes) X(own_rate) X(link_rate)
/* clang-format on */

struct sight {
    const struct judge *judge;
    struct verdict *verdict; /* that it is said of */
    uint32_t call;           /* {call} and {line}; SPAN_NONE: none */
    const char *also;        /* {also} */
#define FIGURE(name) double name;
    FIGURES(FIGURE)
#undef FIGURE
    double most_copies;            /* that one op is made of */
    double gpu_end_ns, cpu_end_ns; /* the last ends */
    double handed, all_handed_ns;  /* from kernels by copies between devices to kernels */
    double in_bytes, in_ns, out_bytes, out_ns;
    double first_kernel_ns, most_elements;
};

/* Adds words to what was seen of the verdict. In braces are figures, {syncs_ns}, with words of
 * their own where they are counts, {queues:queue|queues}, which a list leaves out where there
 * are none, {queues,queue|queues}; the name of a call, {call}; behind other words its line, if
 * that is known, {line:, issued}: ", issued at fit.cu:88"; and {also}. Returns what it is
 * worth, `evidence`. */
enum evidence sight_say(struct sight *sight, enum evidence evidence, const char *words);

/* Notes how often a cause of another program's run was seen, and for how long, and sets those
 * figures and the call. The cause then carries that time, by which all that comes later would
 * be earlier, and for what the device did also the way on to the next op each time. A cause of
 * which nothing is noted carries any cost.
 */
void sight_note(struct sight *sight, const struct tally *seen);

/* Notes how often alone. */
void sight_times(struct sight *sight, uint32_t times);

/* Writes the line of the sight's call, behind the words up to a brace. */
void sight_put_line(const struct sight *sight, const char *before, char seen[VERDICT_SEEN]);

/* Returns how long the host was in no call before call `index`, if it worked for itself then
 * or, unless `work`, if it did not; else 0. */
int64_t host_pause_ns(const struct judge *judge, uint32_t index, bool work);

/* Says in which operator or range, and in which function of the program, the host was for most
 * of these times, which `of` names. */
void host_put_shares(const struct judge *judge, bool work, const char *of,
                     char seen[VERDICT_SEEN]);

/* These say what was seen of causes of other programs' runs, and return what it is worth: of
 * calls, and of a host that is late (causes/host_foreign.c); of what a recording's facts show
 * (causes/facts_foreign.c). */
enum evidence host_calls(struct sight *sight);
enum evidence host_launches(struct sight *sight);
enum evidence host_work(struct sight *sight);
enum evidence facts_pool(struct sight *sight);
enum evidence facts_repeats(struct sight *sight);
enum evidence facts_faults(struct sight *sight);
enum evidence facts_timed(struct sight *sight);
enum evidence facts_peers(struct sight *sight);
enum evidence facts_other_device(struct sight *sight);
enum evidence facts_null_free(struct sight *sight);

/* Says it of calls that asked whether work was done, and it was not. */
void host_put_polls(struct sight *sight);

/* Says that most waits are for a few bytes that were copied back; returns false, and says
 * nothing, where they are not. */
bool facts_put_readback(struct sight *sight);

#endif
