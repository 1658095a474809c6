/* scan_kernel.c - the kernels of scans in a program: how a block scans its part of a tile,
 * and how it learns what comes before that. */
#include "emit/parts.h"

#include <string.h>

/* --- the ways to scan a part --- */

#define WARP_SCAN                                                                              \
    "// Returns the sum of x of all threads of the warp up to this one.\n"                     \
    "static __device__ unsigned warp_scan(unsigned x) {\n"                                     \
    "    for (unsigned offset = 1; offset < 32; offset *= 2) {\n"                              \
    "        const unsigned other = __shfl_up_sync(~0u, x, offset);\n"                         \
    "        x += threadIdx.x % 32 >= offset ? other : 0;\n"                                   \
    "    }\n"                                                                                  \
    "    return x;\n"                                                                          \
    "}\n\n"

/* `each` makes the result `own[i]` and adds the element to `before`. */
#define SCAN_PART(each)                                                                        \
    WARP_SCAN                                                                                  \
    "// Scans x[PART_ITEMS], of which each thread has ITEMS: an odd number, so that threads "  \
    "of a "                                                                                    \
    "warp\n"                                                                                   \
    "// reach different banks of the memory. Returns the sum of all.\n"                        \
    "static __device__ unsigned scan_part(unsigned *x) {\n"                                    \
    "    __shared__ unsigned sums[THREADS / 32];\n"                                            \
    "    unsigned *own = x + threadIdx.x * ITEMS, sum = 0, all = 0;\n"                         \
    "    for (int i = 0; i < ITEMS; i++) sum += own[i];\n"                                     \
    "    const unsigned with = warp_scan(sum);\n"                                              \
    "    if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = with;\n"                         \
    "    __syncthreads();\n"                                                                   \
    "    unsigned before = with - sum;\n"                                                      \
    "    for (unsigned warp = 0; warp < THREADS / 32; warp++) {\n"                             \
    "        before += warp < threadIdx.x / 32 ? sums[warp] : 0;\n"                            \
    "        all += sums[warp];\n"                                                             \
    "    }\n"                                                                                  \
    "    for (int i = 0; i < ITEMS; i++) {\n" each "    }\n"                                   \
    "    return all;\n"                                                                        \
    "}\n\n"

#define INCLUSIVE                                                                              \
    "        before += own[i];\n"                                                              \
    "        own[i] = before;\n"
#define EXCLUSIVE                                                                              \
    "        const unsigned element = own[i];\n"                                               \
    "        own[i] = before;\n"                                                               \
    "        before += element;\n"

/* Hillis and Steele's. The steps are even in number, so that the last one leaves x in x. */
#define NAIVE_PART                                                                             \
    "// Scans x[PART_ITEMS]: in each step each adds the one `offset` before it, from one "     \
    "array to the\n"                                                                           \
    "// other. Returns the sum of all.\n"                                                      \
    "static __device__ unsigned scan_part(unsigned *x) {\n"                                    \
    "    __shared__ unsigned other[PART_ITEMS];\n"                                             \
    "    unsigned *from = x, *to = other;\n"                                                   \
    "    for (unsigned offset = 1; offset < PART_ITEMS; offset *= 2) {\n"                      \
    "        to[threadIdx.x] = from[threadIdx.x];\n"                                           \
    "        if (threadIdx.x >= offset)\n"                                                     \
    "            to[threadIdx.x] += from[threadIdx.x - offset];\n"                             \
    "        unsigned *next = from; // after 8 steps, it is x again\n"                         \
    "        from = to;\n"                                                                     \
    "        to = next;\n"                                                                     \
    "        __syncthreads();\n"                                                               \
    "    }\n"                                                                                  \
    "    return x[PART_ITEMS - 1];\n"                                                          \
    "}\n\n"
_Static_assert(KERNEL_THREADS == 256, "NAIVE_PART has 8 steps");

/* Blelloch's. `at` is a leaf, and what comes before and behind the tree brings the leaves. */
#define TREE_PART(at, before, behind)                                                                                                             \
    "// Scans x[PART_ITEMS] up and down a tree: nodes get the sum of their leaves, then of "                                                      \
    "all leaves\n"                                                                                                                                \
    "// before them. Returns the sum of all.\n"                                                                                                   \
    "static __device__ unsigned scan_part(unsigned *x) {\n" before                                                                                \
    "    for (unsigned half = 1; half < PART_ITEMS; half *= 2) {\n"                                                                               \
    "        const unsigned right = (threadIdx.x + 1) * 2 * half - 1;\n"                                                                          \
    "        if (right < PART_ITEMS)\n"                                                                                                           \
    "            " at("right") " += " at(                                                                                                         \
        "right - half") ";\n"                                                                                                                     \
                        "        __syncthreads();\n"                                                                                              \
                        "    }\n"                                                                                                                 \
                        "    const unsigned all = " at(                                                                                           \
                            "PART_ITEMS - 1") ";\n"                                                                                               \
                                              "    __syncthreads();\n"                                                                            \
                                              "    if (threadIdx.x == 0) // nothing comes "                                                       \
                                              "before the whole\n"                                                                                \
                                              "        " at(                                                                                      \
                                                  "PART_ITEMS - 1") " = 0;\n"                                                                     \
                                                                    "    for (unsigned half "                                                     \
                                                                    "= PART_ITEMS / 2; half "                                                     \
                                                                    "> 0; half /= 2) {\n"                                                         \
                                                                    "        "                                                                    \
                                                                    "__syncthreads();\n"                                                          \
                                                                    "        const unsigned "                                                     \
                                                                    "right = (threadIdx.x + "                                                     \
                                                                    "1) * 2 * half - 1;\n"                                                        \
                                                                    "        if (right < "                                                        \
                                                                    "PART_ITEMS) {\n"                                                             \
                                                                    "            const "                                                          \
                                                                    "unsigned left = " at(                                                        \
                                                                        "right - half") ";\n"                                                     \
                                                                                        "    "                                                    \
                                                                                        "    "                                                    \
                                                                                        "   "                                                     \
                                                                                        " " at("right - half") " = " at(                          \
                                                                                            "right") ";\n"                                        \
                                                                                                     "            " at(                           \
                                                                                                         "right") " += left;\n"                   \
                                                                                                                  "        }\n"                   \
                                                                                                                  "    }\n"                       \
                                                                                                                  "    __syncthreads();\n" behind \
                                                                                                                  "    return all;\n"             \
                                                                                                                  "}\n\n"
#define PLAIN(i)  "x[" i "]"
#define PADDED(i) "tree[slot(" i ")]"
#define SLOT                                                                                   \
    "// An unused place behind every 32 moves threads that would meet in one bank apart.\n"    \
    "static __device__ unsigned slot(unsigned leaf) { return leaf + leaf / 32; }\n\n"
#define INTO_TREE                                                                              \
    "    __shared__ unsigned tree[PART_ITEMS + PART_ITEMS / 32];\n"                            \
    "    for (int i = threadIdx.x; i < PART_ITEMS; i += THREADS)\n"                            \
    "        tree[slot(i)] = x[i];\n"                                                          \
    "    __syncthreads();\n"
#define OUT_OF_TREE                                                                            \
    "    for (int i = threadIdx.x; i < PART_ITEMS; i += THREADS)\n"                            \
    "        x[i] = tree[slot(i)];\n"

/* How a block scans a part, as each kernel has it. */
struct way {
    const char *name;
    int items; /* of a thread */
    const char *source;
};
static const struct way ways[] = {
    {"scan", 33, SCAN_PART(INCLUSIVE)},
    {"scan-exclusive", 33, SCAN_PART(EXCLUSIVE)},
    {"scan-naive", 1, NAIVE_PART},
    {"scan-efficient", 2, TREE_PART(PLAIN, "", "")},
    {"scan-conflict-free", 2, SLOT TREE_PART(PADDED, INTO_TREE, OUT_OF_TREE)},
};

static const struct way *find_way(const struct emit_program *program)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(ways[i].name, program->plan->chain[0]->name) == 0)
            return &ways[i];
    }
    return NULL; /* kernels.c has a row for each of these alone */
}

int emit_scan_items(const struct emit_program *program)
{
    return find_way(program)->items;
}

/* --- the kernel --- */

#define LOOK_BACK                                                                              \
    "// A part tells those behind it its own sum and, once it knows that, the sum of all up "  \
    "to its\n"                                                                                 \
    "// end. The sum, which of the two it is, and the launch's number are one word, read as "  \
    "it was\n"                                                                                 \
    "// written. A word of another launch says nothing.\n"                                     \
    "static __device__ unsigned long long word_of(unsigned launch, bool whole, unsigned sum) " \
    "{\n"                                                                                      \
    "    return (launch + 1ull) << 33 | (unsigned long long)whole << 32 | sum;\n"              \
    "}\n\n"                                                                                    \
    "// Returns the sum of all parts before `part`. A warp looks back over 32 parts at a "     \
    "time, until\n"                                                                            \
    "// it meets one that knows all up to its end.\n"                                          \
    "static __device__ unsigned look_back(scratch *blocks, unsigned part) {\n"                 \
    "    const volatile unsigned long long *told = blocks->told;\n"                            \
    "    const unsigned launch = blocks->launch, lane = threadIdx.x % 32;\n"                   \
    "    unsigned sum = 0, whole = 0;\n"                                                       \
    "    for (size_t end = part; whole == 0; end -= 32) {\n"                                   \
    "        unsigned long long word = word_of(launch, true, 0); // nothing is before part "   \
    "0\n"                                                                                      \
    "        if (lane < end)\n"                                                                \
    "            do word = told[end - 1 - lane]; while (word >> 33 != launch + 1ull);\n"       \
    "        whole = __ballot_sync(~0u, word >> 32 & 1);\n"                                    \
    "        const bool counts = (whole & ((1u << lane) - 1)) == 0; // the nearest whole "     \
    "one, "                                                                                    \
    "and nearer\n"                                                                             \
    "        unsigned found = counts ? (unsigned)word : 0;\n"                                  \
    "        for (int offset = 16; offset > 0; offset /= 2)\n"                                 \
    "            found += __shfl_xor_sync(~0u, found, offset);\n"                              \
    "        sum += found;\n"                                                                  \
    "    }\n"                                                                                  \
    "    return sum;\n"                                                                        \
    "}\n\n"

#define TAKE_PART                                                                              \
    "    __shared__ unsigned x[PART_ITEMS], taken, before;\n"                                  \
    "    for (;;) {\n"                                                                         \
    "        if (threadIdx.x == 0) // in turn: the parts before it are under way or done\n"    \
    "            taken = atomicAdd(&blocks->taken, 1);\n"                                      \
    "        __syncthreads();\n"                                                               \
    "        const unsigned part = taken;\n"                                                   \
    "        const size_t first = (size_t)part * PART_ITEMS, own = first + threadIdx.x;\n"     \
    "        if (first >= count)\n"                                                            \
    "            break;\n"                                                                     \
    "#pragma unroll // so that several loads are under way at once\n"                          \
    "        for (int i = 0; i < PART_ITEMS; i += THREADS)\n"                                  \
    "            x[threadIdx.x + i] = own + i < count ? in[own + i] : 0;\n"                    \
    "        __syncthreads();\n"                                                               \
    "        const unsigned all = scan_part(x);\n"                                             \
    "        if (threadIdx.x < 32) {\n"                                                        \
    "            volatile unsigned long long *told = &blocks->told[part];\n"                   \
    "            if (threadIdx.x == 0 && part > 0)\n"                                          \
    "                *told = word_of(blocks->launch, false, all);\n"
#define LEAVE_PART                                                                             \
    "        }\n"                                                                              \
    "        __syncthreads();\n"                                                               \
    "#pragma unroll\n"                                                                         \
    "        for (int i = 0; i < PART_ITEMS; i += THREADS)\n"                                  \
    "            if (own + i < count)\n"                                                       \
    "                out[own + i] = before + x[threadIdx.x + i];\n"                            \
    "    }\n"                                                                                  \
    "    __threadfence(); // all that this block has read and told comes before its end\n"     \
    "    if (threadIdx.x == 0 && atomicInc(&blocks->ended, gridDim.x - 1) == gridDim.x - 1) "  \
    "{\n"                                                                                      \
    "        blocks->taken = 0; // the last one leaves all so for the next launch; `ended` "   \
    "is 0 again\n"                                                                             \
    "        blocks->launch++;\n"                                                              \
    "    }\n"                                                                                  \
    "}\n\n"

void emit_scan_kernel(FILE *out, const struct emit_program *program)
{
    const struct kernel *kernel = program->plan->chain[0];
    const bool by_host = program->settings->carry != CARRY_DEVICE;
    char name[EMIT_NAME];
    fputs(find_way(program)->source, out);
    fputs(LOOK_BACK "// Each block takes a part, scans it, learns what comes before it, and "
                    "adds that.\n",
          out);
    emit_put(out, 0, NULL,
             "static __global__ void %s(const unsigned *in, unsigned *out, %s *sums, scratch "
             "*blocks, size_t count) {",
             emit_function_name(kernel, name), by_host ? "tile_sums" : "unsigned");
    fprintf(out,
            TAKE_PART
            "            const unsigned sum = part > 0 ? look_back(blocks, part) : %s;\n"
            "            if (threadIdx.x == 0) {\n"
            "                *told = word_of(blocks->launch, true, sum + all);\n"
            "                before = sum;\n"
            "                if (first + PART_ITEMS >= count)\n"
            "                    %s // of the whole tile\n"
            "            }\n" LEAVE_PART,
            by_host ? "sums->before" : "sums[0]",
            by_host ? "sums->own = sum + all - sums->before;" : "sums[1] = sum + all;");
}
