/* model_formulas.c - the closed formulas, as functions of a run's parts.
 *
 * In the comments: D and d are all copies of a direction and one tile's, H in and D out; E all
 * kernels; N chunks.
 *
 * Both papers cover runs in which copies and kernels overlap both ways (3-way). The sum for
 * 1-way is theirs too; what is said for 2-way is our reading of them: everything goes in, then
 * the same overlap without copies in. */
#include "report/model.h"

#include <math.h>

static double serial_ns(const struct model_parts *parts)
{
    return parts->in.all_ns + parts->kernels_ns + parts->out.all_ns;
}

/* Implicit synchronisation: no copy out begins before the last kernel has ended, so it makes no
 * difference how many copy engines there are. As we recall the paper; [GomezLuna] says the same
 * of such GPUs. */
static double werkhoven_synchronised_ns(const struct model_parts *parts)
{
    double kernel = parts->kernels_ns / parts->chunks;
    return fmax(parts->in.all_ns + kernel, parts->in.chunk_ns + parts->kernels_ns) +
           parts->out.all_ns;
}

/* What three stages that overlap take where one of them, in turn, is busy throughout:
 *   max(H + E/N + d, h + E + d, h + E/N + D)
 * The paper's case of two copy engines, as CoCoPeLia's code has it: the stage that is busy
 * throughout pays for the gaps between its copies, of the others one chunk is exposed. */
static double werkhoven_two_engines_ns(const struct model_parts *parts)
{
    double kernel = parts->kernels_ns / parts->chunks;
    double in_bound = parts->in.all_ns + kernel + parts->out.chunk_ns;
    double kernel_bound = parts->in.chunk_ns + parts->kernels_ns + parts->out.chunk_ns;
    double out_bound = parts->in.chunk_ns + kernel + parts->out.all_ns;
    return fmax(in_bound, fmax(kernel_bound, out_bound));
}

/* The same where both directions share an engine: it can't be done before H + D. Of the paper
 * we recall the idea only; that the other terms stay is derived: so it is for equal tiles that
 * are issued breadth-first. */
static double werkhoven_one_engine_ns(const struct model_parts *parts)
{
    return fmax(parts->in.all_ns + parts->out.all_ns, werkhoven_two_engines_ns(parts));
}

/* Our reading: H + max(E + d, E/N + D); where copies out wait for the last kernel, the sum. */
static double werkhoven_2_way_ns(const struct model_parts *parts)
{
    double kernel = parts->kernels_ns / parts->chunks;
    if (parts->synchronises)
        return serial_ns(parts);
    return parts->in.all_ns +
           fmax(parts->kernels_ns + parts->out.chunk_ns, kernel + parts->out.all_ns);
}

double model_werkhoven_ns(const struct model_parts *parts, int ways)
{
    if (parts->chunks == 0)
        return 0;
    if (ways == 1)
        return serial_ns(parts);
    if (ways == 2)
        return werkhoven_2_way_ns(parts);
    if (parts->synchronises)
        return werkhoven_synchronised_ns(parts);
    return parts->copy_engines == 1 ? werkhoven_one_engine_ns(parts)
                                    : werkhoven_two_engines_ns(parts);
}

/* Copies of T in all overlap kernels of E: the longer counts whole, and of the shorter one
 * chunk; plus the overhead of every chunk. [NVIDIA: CUDA C++ Best Practices Guide, on
 * overlapping; the overhead is the paper's, as we recall it] */
static double gomez_luna_overlap_ns(const struct model_parts *parts, double copies_ns)
{
    double longer = fmax(copies_ns, parts->kernels_ns);
    double shorter = fmin(copies_ns, parts->kernels_ns);
    return longer + shorter / parts->chunks + parts->overhead_ns * parts->chunks;
}

/* The copies are counted whole, as if undivided: the overhead holds what dividing them costs.
 * The paper measures it for a device; here it is what the machine file gives. It knows GPUs of
 * one copy engine alone: there is no better for two, where it counts both directions one after
 * another, and so up to twice what they take. Where copies out wait for the last kernel,
 * only those in overlap kernels. */
double model_gomez_luna_ns(const struct model_parts *parts, int ways)
{
    double in = parts->in.whole_ns, out = parts->out.whole_ns;
    if (parts->chunks == 0)
        return 0;
    if (ways == 1)
        return serial_ns(parts);
    if (ways == 2 && parts->synchronises)
        return serial_ns(parts);
    if (ways == 2) /* our reading */
        return in + gomez_luna_overlap_ns(parts, out);
    if (parts->synchronises)
        return gomez_luna_overlap_ns(parts, in) + out;
    return gomez_luna_overlap_ns(parts, in + out);
}
