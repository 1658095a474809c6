/* emit_scan.c - scans in a program: their kernels, and what they carry from tile to tile.
 *
 * On the device a tile's kernel reads what comes before the tile where the kernel ahead has
 * left it. By way of the host the tile's own sum is copied out, a host function adds it up, and
 * what that leaves is copied in for the next tile. */
#include "writers/emit_parts.h"

#include <string.h>

/* --- what a plan has --- */

enum { PLACE_BYTES = 8 }; /* of a sum that is carried: plan/placement.c */

const struct kernel *emit_scan(const struct emit_program *program)
{
    const struct kernel *kernel = program->plan->chain[0];
    return kernel->shape == KERNEL_SCAN ? kernel : NULL;
}

static bool goes_by_host(const struct emit_program *program)
{
    return program->settings->carry != CARRY_DEVICE;
}

bool emit_op_carries(const struct op *op)
{
    return op_feeds(op) || (op_is_copy(op->kind) && op->copy.host.buffer == BUFFER_HOST_CARRY);
}

/* Returns true if a range is where a tile has its own sum or, `before`, that of the tiles
 * before it: there is none before the first tile. On the device alone a tile's sum is that of
 * all so far, which is the next tile's sum before. */
static bool sum_fits(const struct emit_program *program, const struct range *range,
                     enum buffer buffer, uint32_t tile, bool before)
{
    uint64_t place = tile;
    if (before && tile == 0)
        return range->bytes == 0;
    if (goes_by_host(program))
        place = 2 * place + (before ? 1 : 0);
    else if (before)
        place--;
    return range->buffer == buffer && range->offset == place * PLACE_BYTES &&
           range->bytes == dtype_bytes(emit_scan(program)->out);
}

bool emit_scan_fits(const struct emit_program *program, const struct op *op)
{
    const struct op_ranges *ranges = op->kernel.ranges;
    const uint32_t tile = (uint32_t)op->tile;
    const uint64_t stride = program->plan->buffer_bytes[BUFFER_DEVICE_SCRATCH] / program->slots;
    return ranges->scratch.buffer == BUFFER_DEVICE_SCRATCH &&
           ranges->scratch.offset ==
               plan_batch_of(program->plan, tile) % program->slots * stride &&
           ranges->carry_own == goes_by_host(program) &&
           sum_fits(program, &ranges->carry_in, BUFFER_DEVICE_CARRY, tile, true) &&
           sum_fits(program, &ranges->carry_out, BUFFER_DEVICE_CARRY, tile, false);
}

bool emit_carry_fits(const struct emit_program *program, const struct op *op)
{
    const uint32_t tile = (uint32_t)op->tile;
    const bool in = op->kind == OP_H2D;
    if (op->kind == OP_SYNC)
        return true;
    if (!emit_op_carries(op))
        return false;
    if (op->kind != OP_CALLBACK)
        return sum_fits(program, &op->copy.host, BUFFER_HOST_CARRY, tile, in) &&
               sum_fits(program, &op->copy.device, BUFFER_DEVICE_CARRY, tile, in);
    const struct op_ranges *ranges = op->callback.ranges;
    return op->callback.sleep_ns == 0 &&
           sum_fits(program, &ranges->in[0], BUFFER_HOST_CARRY, tile, true) &&
           sum_fits(program, &ranges->in[1], BUFFER_HOST_CARRY, tile, false) &&
           sum_fits(program, &ranges->out, BUFFER_HOST_CARRY, tile + 1, true);
}

/* --- calls --- */

/* Returns true if an item of a stage stands beside `item`, carries, too, and is for the same
 * batches: one condition is for both. */
static bool joins(const struct emit_stage *stage, const struct emit_item *item, int step)
{
    const ptrdiff_t other = item - stage->items + step;
    return other >= 0 && other < stage->item_count && stage->items[other].carries &&
           stage->items[other].from == item->from && stage->items[other].to == item->to;
}

static void put_call(FILE *out, int indent, const struct emit_item *item, const char *stream)
{
    switch (item->kind) {
    case OP_H2D:
        emit_put(out, indent, NULL,
                 "CHECK(cudaMemcpyAsync(&d_sums[tile].before, &sums[tile].before, "
                 "sizeof(unsigned), cudaMemcpyHostToDevice, %s));",
                 stream);
        break;
    case OP_D2H:
        emit_put(out, indent, NULL,
                 "CHECK(cudaMemcpyAsync(&sums[tile].own, &d_sums[tile].own, sizeof(unsigned), "
                 "cudaMemcpyDeviceToHost, %s));",
                 stream);
        break;
    case OP_CALLBACK:
        emit_put(out, indent, NULL, "CHECK(cudaLaunchHostFunc(%s, feed_next, &sums[tile]));",
                 stream);
        break;
    default:
        emit_put(out, indent, "--carry=sync: the host waits here; the event would do alone",
                 "CHECK(cudaStreamSynchronize(%s));", stream);
        break;
    }
}

void emit_put_carry(FILE *out, int indent, const struct emit_program *program, uint32_t stage,
                    const struct emit_item *item, const char *when)
{
    char stream[EMIT_TEXT];
    const struct emit_stage *all = &program->stages[stage];
    const bool first = !joins(all, item, -1), last = !joins(all, item, 1);
    if (first)
        emit_put(out, indent,
                 item->kind == OP_H2D
                     ? "the sum of all tiles before, as the host has added it up"
                     : "the host adds this tile's sum for the next tile",
                 "if (%s)%s", when, last ? "" : " {");
    put_call(out, indent + 4, item, emit_stream_name(program, stage, stream));
    if (last && !first)
        emit_put(out, indent, NULL, "}");
}

const char *emit_scan_arguments(const struct emit_program *program, char text[EMIT_NAME])
{
    snprintf(text, EMIT_NAME, ", d_sums + %s, d_scratch%s%s",
             emit_in_batches(program) ? "batch * BATCH + i" : "tile",
             program->slots == 1 ? "" : " + ",
             program->slots == 1 ? "" : emit_slot_name(program));
    return text;
}

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
        if (strcmp(ways[i].name, emit_scan(program)->name) == 0)
            return &ways[i];
    }
    return NULL; /* emit_kernels.c has a row for each of these alone */
}

/* --- variables and memory --- */

#define FEED                                                                                   \
    "\n// The driver calls this on a thread of its own, and holds the stream up until it "     \
    "returns.\n"                                                                               \
    "static void CUDART_CB feed_next(void *tile) {\n"                                          \
    "    tile_sums *of = (tile_sums *)tile;\n"                                                 \
    "    of[1].before = of->before + of->own;\n"                                               \
    "}\n"

void emit_scan_variables(FILE *out, const struct emit_program *program)
{
    fprintf(out,
            "const int ITEMS = %d, PART_ITEMS = ITEMS * THREADS; // of a thread; of a part, "
            "which a block scans\n"
            "static struct scratch { // of a slot: what a launch's blocks tell one another\n"
            "    unsigned taken, ended, launch; // parts taken, blocks that ended, launches "
            "before\n"
            "    unsigned long long told[(TILE + PART_ITEMS - 1) / PART_ITEMS]; // by each "
            "part: see below\n"
            "} *d_scratch;\n",
            find_way(program)->items);
    if (!goes_by_host(program)) {
        fprintf(out,
                "static unsigned *d_sums; // of each tile: the sum of all tiles before it\n");
        return;
    }
    fprintf(out, "static struct tile_sums { // of each tile: the sum of all tiles before it, "
                 "and its own\n"
                 "    unsigned before, own;\n"
                 "} *sums, *d_sums;\n");
    if (program->plan->tiles > 1) /* else there is none to feed */
        fputs(FEED, out);
}

void emit_scan_memory(FILE *out, const struct emit_program *program)
{
    const char *slots = emit_slot_count(program), *times = slots[0] != '\0' ? " * " : "";
    fprintf(out,
            "    CHECK(cudaMalloc(&d_scratch, %s%ssizeof(scratch)));\n"
            "    CHECK(cudaMemset(d_scratch, 0, %s%ssizeof(scratch)));\n",
            slots, times, slots, times);
    if (!goes_by_host(program)) {
        fprintf(out, "    CHECK(cudaMalloc(&d_sums, (TILES + 1) * sizeof(unsigned)));\n"
                     "    CHECK(cudaMemset(d_sums, 0, sizeof(unsigned))); // nothing comes "
                     "before the first tile\n");
        return;
    }
    emit_put(out, 4,
             "page-locked: a copy reads it when its stream comes there, not as it is issued",
             "CHECK(cudaMallocHost(&sums, TILES * sizeof(tile_sums)));");
    fprintf(out, "    CHECK(cudaMalloc(&d_sums, TILES * sizeof(tile_sums)));\n");
}

void emit_scan_poison(FILE *out, const struct emit_program *program)
{
    if (!goes_by_host(program)) {
        emit_put(out, 8, "what a tile hands on, too",
                 "CHECK(cudaMemset(d_sums + 1, 0xA5, TILES * sizeof(unsigned)));");
        return;
    }
    emit_put(out, 8, "what tiles hand on, too", "for (size_t i = 0; i < TILES; i++) {");
    emit_put(out, 12, NULL, "sums[i] = {i > 0 ? 0xA5A5A5A5u : 0, 0xA5A5A5A5u};");
    fprintf(out, "        }\n");
    emit_put(out, 8, NULL,
             "CHECK(cudaMemcpy(d_sums, sums, TILES * sizeof(tile_sums), "
             "cudaMemcpyHostToDevice));");
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
    const struct kernel *kernel = emit_scan(program);
    const bool by_host = goes_by_host(program);
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

/* --- the check --- */

void emit_scan_check(FILE *out, const struct emit_program *program)
{
    const char *element = emit_element(program);
    const bool exclusive = emit_scan(program)->exclusive;
    fprintf(out, "    unsigned sum = 0;\n"
                 "    for (size_t i = 0; i < N; i++) {\n");
    if (exclusive)
        fprintf(out, "        wrong += out%s != sum;\n", element);
    fprintf(out, "        sum += in%s;\n", element);
    if (!exclusive)
        fprintf(out, "        wrong += out%s != sum;\n", element);
    fprintf(out, "    }\n");
}
