/* ladder.c - the sums of ints of kernels/ladder.cu in a program: each shows what costs,
 * and what the next one does about it. They have the grids, the shared memory and the barriers
 * of those kernels, so that they take the same time. */
#include "emit/parts.h"

#include <string.h>

/* The loops end at blockDim.x, and not at THREADS, up to the step that unrolls them. */
#define HEAD(name)                                                                             \
    "static __global__ void " name "(\n"                                                       \
    "        const unsigned *in, unsigned *out, scratch *found, size_t count) {\n"

#define SUMS "    __shared__ unsigned sums[THREADS];\n"
#define LOAD_ONE                                                                               \
    SUMS "    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n"               \
         "    sums[threadIdx.x] = i < count ? in[i] : 0;\n"                                    \
         "    __syncthreads();\n"
#define TWO                                                                                    \
    "    const size_t i = 2 * (size_t)blockIdx.x * blockDim.x + threadIdx.x, other = i + "     \
    "blockDim.x;\n"
#define TWO_SUMMED "(i < count ? in[i] : 0) + (other < count ? in[other] : 0)"
#define LOAD_TWO                                                                               \
    SUMS TWO "    sums[threadIdx.x] = " TWO_SUMMED ";\n"                                       \
             "    __syncthreads();\n"

/* The far half is added onto the near one, from `from` halves down to `least`. */
#define HALVES(from, least)                                                                    \
    "    for (unsigned half = " from " / 2; half >= " least "; half /= 2) {\n"                 \
    "        if (threadIdx.x < half)\n"                                                        \
    "            sums[threadIdx.x] += sums[threadIdx.x + half];\n"                             \
    "        __syncthreads();\n"                                                               \
    "    }\n"

#define END_BLOCK                                                                              \
    "// Counts a block, which has added to the total; the last one to end takes that, and "    \
    "leaves 0.\n"                                                                              \
    "static __device__ void end_block(unsigned *out, scratch *found) {\n"                      \
    "    __threadfence(); // what was added is seen before the count\n"                        \
    "    if (atomicInc(&found->ended, gridDim.x - 1) < gridDim.x - 1)\n"                       \
    "        return;\n"                                                                        \
    "    __threadfence(); // the count, which is 0 again, was seen before the total\n"         \
    "    *out = atomicExch(&found->total, 0);\n"                                               \
    "}\n\n"
#define ADD_BLOCK(sum)                                                                         \
    "    if (threadIdx.x == 0) {\n"                                                            \
    "        atomicAdd(&found->total, " sum ");\n"                                             \
    "        end_block(out, found);\n"                                                         \
    "    }\n"                                                                                  \
    "}\n"

#define DIVERGENT                                                                              \
    END_BLOCK                                                                                  \
    "// Step 1: neighbours are added first, then pairs, then fours.\n"                         \
    "// What costs: threads of one warp do different things, so that all warps are busy to "   \
    "the end,\n"                                                                               \
    "// most of their threads for nothing; and dividing is slow. (blockDim.x is "              \
    "THREADS, but the\n"                                                                       \
    "// compiler doesn't know that, and leaves the loop as it is.)\n" HEAD("reduce_divergent") \
        LOAD_ONE "    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {\n"         \
                 "        if (threadIdx.x % (2 * stride) == 0)\n"                              \
                 "            sums[threadIdx.x] += sums[threadIdx.x + stride];\n"              \
                 "        __syncthreads();\n"                                                  \
                 "    }\n" ADD_BLOCK("sums[0]")

#define CONFLICTS                                                                              \
    END_BLOCK                                                                                  \
    "// Step 2: the first threads do the additions of step 1: whole warps work, or rest.\n"    \
    "// What costs: the words that a warp adds lie 2, 4, 8 and more apart, in ever fewer of "  \
    "the 32\n"                                                                                 \
    "// banks of shared memory, and a bank gives one word at a time.\n" HEAD(                  \
        "reduce_conflicts") LOAD_ONE                                                           \
        "    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {\n"                  \
        "        const unsigned at = 2 * stride * threadIdx.x;\n"                              \
        "        if (at < blockDim.x)\n"                                                       \
        "            sums[at] += sums[at + stride];\n"                                         \
        "        __syncthreads();\n"                                                           \
        "    }\n" ADD_BLOCK("sums[0]")

#define SEQUENTIAL                                                                             \
    END_BLOCK                                                                                  \
    "// Step 3: the far half is added onto the near one: neighbours add neighbouring words, "  \
    "each in a\n"                                                                              \
    "// bank of its own.\n"                                                                    \
    "// What costs: half of the threads load an element, and never add "                       \
    "anything.\n" HEAD("reduce_sequential") LOAD_ONE HALVES("blockDim.x", "1")                 \
        ADD_BLOCK("sums[0]")

#define FIRST_ADD                                                                              \
    END_BLOCK                                                                                  \
    "// Step 4: a thread adds two elements as it loads them: half as many blocks, and all "    \
    "threads add.\n"                                                                           \
    "// What costs: the block waits at each barrier, even when one warp is all that has "      \
    "work.\n" HEAD("reduce_first_add") LOAD_TWO HALVES("blockDim.x", "1") ADD_BLOCK("sums[0]")

#define LAST_WARP_SUM                                                                          \
    "// Returns the sum of the first 64 words. Threads of a warp need no barrier of the "      \
    "block, but since\n"                                                                       \
    "// Volta they don't go in step by themselves: each step waits for the warp, twice.\n"     \
    "static __device__ unsigned last_warp(unsigned *sums) {\n"                                 \
    "    unsigned sum = sums[threadIdx.x] + sums[threadIdx.x + 32];\n"                         \
    "    __syncwarp();\n"                                                                      \
    "#pragma unroll\n"                                                                         \
    "    for (unsigned half = 16; half > 0; half /= 2) {\n"                                    \
    "        sums[threadIdx.x] = sum;\n"                                                       \
    "        __syncwarp(); // all have written\n"                                              \
    "        sum += sums[threadIdx.x ^ half];\n"                                               \
    "        __syncwarp(); // all have read\n"                                                 \
    "    }\n"                                                                                  \
    "    return sum;\n"                                                                        \
    "}\n\n"

#define LAST_WARP                                                                              \
    END_BLOCK LAST_WARP_SUM                                                                    \
        "// Step 5: the last 64 words are the first warp's alone, without loop and barriers; " \
        "the "                                                                                 \
        "others end.\n"                                                                        \
        "// What costs: the loop that is left, with its counter and its tests.\n" HEAD(        \
            "reduce_last_warp")                                                                \
            LOAD_TWO HALVES("blockDim.x",                                                      \
                            "64") "    if (threadIdx.x >= 32)\n"                               \
                                  "        return;\n"                                          \
                                  "    const unsigned sum = last_warp(sums);\n" ADD_BLOCK(     \
                                      "sum")

#define UNROLLED_SUM                                                                           \
    LAST_WARP_SUM                                                                              \
    "// Returns the sum of the block's x to its first warp. THREADS is a constant: no loop "   \
    "is left.\n"                                                                               \
    "static __device__ unsigned block_sum(unsigned x) {\n" SUMS "    sums[threadIdx.x] = x;\n" \
    "    __syncthreads();\n"                                                                   \
    "#pragma unroll\n" HALVES("THREADS",                                                       \
                              "64") "    return threadIdx.x < 32 ? last_warp(sums) : 0;\n"     \
                                    "}\n\n"

#define UNROLLED                                                                               \
    END_BLOCK UNROLLED_SUM "// Step 6: step 5, unrolled.\n"                                    \
                           "// What costs: each thread has two elements, and then the block "  \
                           "adds up: most of its "                                             \
                           "time goes\n"                                                       \
                           "// into that.\n" HEAD("reduce_unrolled") TWO                       \
        "    const unsigned sum = block_sum(" TWO_SUMMED ");\n" ADD_BLOCK("sum")

#define MANY                                                                                   \
    END_BLOCK UNROLLED_SUM                                                                     \
        "// Step 7: BLOCKS fill the GPU once, and go over all elements in strides: most "      \
        "additions need\n"                                                                     \
        "// no other thread.\n"                                                                \
        "// What costs: the memory, which gives the elements; all else is hidden behind "      \
        "that.\n" HEAD(                                                                        \
            "reduce_many") "    const size_t stride = 2 * (size_t)gridDim.x * THREADS;\n"      \
                           "    unsigned sum = 0;\n"                                           \
                           "    for (size_t i = 2 * (size_t)blockIdx.x * THREADS + "           \
                           "threadIdx.x; i < count; "                                          \
                           "i += stride)\n"                                                    \
                           "        sum += in[i] + (i + THREADS < count ? in[i + THREADS] : "  \
                           "0);\n"                                                             \
                           "    sum = block_sum(sum);\n" ADD_BLOCK("sum")

#define ATOMIC                                                                                 \
    END_BLOCK                                                                                  \
    "// No reduction at all: every element is added to the one total.\n"                       \
    "// What costs: additions to one word come one after another, and all threads wait for "   \
    "that.\n" HEAD("reduce_atomic") "    const size_t first = (size_t)blockIdx.x * "           \
                                    "blockDim.x + threadIdx.x;\n"                              \
                                    "    for (size_t i = first; i < count; i += "              \
                                    "(size_t)gridDim.x * blockDim.x)\n"                        \
                                    "        atomicAdd(&found->total, in[i]);\n"               \
                                    "    __threadfence(); // each thread's additions are "     \
                                    "done before its block is counted\n"                       \
                                    "    __syncthreads();\n"                                   \
                                    "    if (threadIdx.x == 0)\n"                              \
                                    "        end_block(out, found);\n"                         \
                                    "}\n"

#define SHUFFLE                                                                                \
    "// Returns the sum of the warp's x to its first thread. Registers are handed over: no "   \
    "memory,\n"                                                                                \
    "// and no barrier.\n"                                                                     \
    "static __device__ unsigned warp_sum(unsigned x) {\n"                                      \
    "    for (int offset = 16; offset > 0; offset /= 2)\n"                                     \
    "        x += __shfl_down_sync(~0u, x, offset);\n"                                         \
    "    return x;\n"                                                                          \
    "}\n\n"                                                                                    \
    "// Returns the sum of the block's x to its first thread, with one barrier: all warps' "   \
    "sums, and\n"                                                                              \
    "// then that of those.\n"                                                                 \
    "static __device__ unsigned block_sum(unsigned x) {\n"                                     \
    "    __shared__ unsigned sums[THREADS / 32];\n"                                            \
    "    x = warp_sum(x);\n"                                                                   \
    "    if (threadIdx.x % 32 == 0)\n"                                                         \
    "        sums[threadIdx.x / 32] = x;\n"                                                    \
    "    __syncthreads();\n"                                                                   \
    "    if (threadIdx.x < 32)\n"                                                              \
    "        x = warp_sum(threadIdx.x < THREADS / 32 ? sums[threadIdx.x] : 0);\n"              \
    "    return x;\n"                                                                          \
    "}\n\n"                                                                                    \
    "// A block tells its sum in one word with the launch's number, so that it is read as it " \
    "was told.\n"                                                                              \
    "// The block that began last adds up what all tell; it waits only for blocks that are "   \
    "under way.\n"                                                                             \
    "// What costs: the memory, as in reduce-many. After its last element a block makes one "  \
    "trip to the\n"                                                                            \
    "// L2 cache; adding to a total and counting would take three.\n" HEAD(                    \
        "reduce_shuffle") "    __shared__ bool last;\n"                                        \
                          "    volatile unsigned long long *told = found->told;\n"             \
                          "    const unsigned launch = found->launches + 1;\n"                 \
                          "    unsigned sum = 0, turn = 0;\n"                                  \
                          "    if (threadIdx.x == 0)\n"                                        \
                          "        turn = atomicInc(&found->begun, gridDim.x - 1); // behind " \
                          "the last one it is 0 "                                              \
                          "again\n"                                                            \
                          "    const size_t first = (size_t)blockIdx.x * blockDim.x + "        \
                          "threadIdx.x;\n"                                                     \
                          "#pragma unroll 4 // so that several loads are under way at once\n"  \
                          "    for (size_t i = first; i < count; i += (size_t)gridDim.x * "    \
                          "blockDim.x)\n"                                                      \
                          "        sum += in[i];\n"                                            \
                          "    sum = block_sum(sum);\n"                                        \
                          "    if (threadIdx.x == 0) {\n"                                      \
                          "        told[blockIdx.x] = (unsigned long long)launch << 32 | "     \
                          "sum;\n"                                                             \
                          "        last = turn == gridDim.x - 1;\n"                            \
                          "    }\n"                                                            \
                          "    __syncthreads();\n"                                             \
                          "    if (!last)\n"                                                   \
                          "        return;\n"                                                  \
                          "    sum = 0;\n"                                                     \
                          "    for (unsigned block = threadIdx.x; block < gridDim.x; block "   \
                          "+= blockDim.x) {\n"                                                 \
                          "        unsigned long long word;\n"                                 \
                          "        do word = told[block]; while (word >> 32 != launch); // "   \
                          "until "                                                             \
                          "that block tells\n"                                                 \
                          "        sum += (unsigned)word;\n"                                   \
                          "    }\n"                                                            \
                          "    sum = block_sum(sum);\n"                                        \
                          "    if (threadIdx.x == 0) {\n"                                      \
                          "        *out = sum;\n"                                              \
                          "        found->launches = launch; // all blocks have told, so all " \
                          "have read it\n"                                                     \
                          "    }\n"                                                            \
                          "}\n"

#define ROW(row_name, text)                                                                    \
    {                                                                                          \
        .name = "reduce-" row_name, .source = text, .part = "unsigned"                         \
    }
static const struct emit_kernel rows[] = {
    ROW("shuffle", SHUFFLE),       ROW("divergent", DIVERGENT), ROW("conflicts", CONFLICTS),
    ROW("sequential", SEQUENTIAL), ROW("first-add", FIRST_ADD), ROW("last-warp", LAST_WARP),
    ROW("unrolled", UNROLLED),     ROW("many", MANY),           ROW("atomic", ATOMIC),
};

const struct emit_kernel *emit_ladder_find(const struct kernel *kernel)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, kernel->name) == 0)
            return &rows[i];
    }
    return NULL;
}

const char *emit_ladder_scratch(const struct kernel *kernel)
{
    if (emit_ladder_find(kernel) == NULL)
        return NULL;
    if (strcmp(kernel->name, "reduce-shuffle") == 0)
        return "static struct scratch { // of a slot: blocks that have begun, launches before, "
               "and what each tells\n"
               "    unsigned begun, launches;\n"
               "    unsigned long long told[BLOCKS];\n";
    return "static struct scratch { // of a slot: how many blocks have ended, and their sum; 0 "
           "between launches\n"
           "    unsigned ended, total;\n";
}
