/* arithmetic.c - the operations of a launch. The compiler has each basic block
 * of the user's code call __sanitizer_cov_trace_pc(), which counts how often kernels come
 * there; what a block computes is read from objdump's listing of it, when it first ran. So
 * nothing is counted where binutils' objdump is missing. */
#include "cpu/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 8192 };
enum { SINGLE, DOUBLED, INTEGER, KINDS };

/* A basic block, by the address behind its call. */
static struct step {
    uintptr_t code;
    uint64_t count;
    bool known;
    float ops[KINDS]; /* each time */
} steps[STEPS];
static uint32_t step_count;

static uint32_t place_of(uintptr_t code)
{
    return (uint32_t)((code ^ code >> 12) % STEPS);
}

/* Returns a block's place: its own, or an empty one. */
static struct step *step_at(uintptr_t code)
{
    uint32_t at = place_of(code);
    while (steps[at].code != 0 && steps[at].code != code)
        at = (at + 1) % STEPS;
    return &steps[at];
}

/* Counts a block that comes for the first time, or is not at the place where it would be. */
__attribute__((noinline)) static void count_other(uintptr_t code)
{
    struct step *step = step_at(code);
    if (step->code == 0 && step_count == STEPS - 1)
        return;
    step_count += step->code == 0;
    step->code = code;
    step->count++;
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    const uintptr_t code = (uintptr_t)__builtin_return_address(0);
    struct step *step = &steps[place_of(code)];
    if (watch_lane == NULL)
        cpu_watched.blocks++;
    else if (__builtin_expect(step->code == code, true))
        step->count++;
    else
        count_other(code);
}

/* A block as it is listed so far: in place of an FMA's time, of single and double precision. */
struct listed {
    struct step *step; /* NULL: not one that has run */
    double adds[KINDS], products[KINDS], others[KINDS];
    bool root; /* the latest of divisions and roots is a root */
};

/* A division or a root takes so many FMAs' time, and so does a function of the C library's.
 * [CUDA C++ programming guide, throughput of native arithmetic instructions: an SM that does
 * 128 FMAs does 16 of the like; that a function takes two of them is assumed] */
enum { SPECIAL = 8, FUNCTION = 16 };

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Returns true where the last operand, which x86 computes with, is a register of 64 bits. */
static bool is_wide(const char *operands)
{
    const char *last = strrchr(operands, ',') != NULL ? strrchr(operands, ',') + 1 : operands;
    return last[0] == '%' && last[1] == 'r' && strpbrk(last, "dwb") == NULL;
}

/* Adds an instruction on integers: what is computed with constants or in 64 bits mostly counts
 * loops and makes addresses, which a compiler for a GPU does once for many turns of a loop. */
static void add_integer(struct listed *listed, const char *name, const char *operands)
{
    static const char *const known[] = {"and", "or", "xor", "eor", "not", "neg", "sh", "sa",
                                        "ro",  "ls", "as",  "pop", "bs",  "lz",  "tz", "cmov"};
    char one[32] = "", other[32] = "";
    const bool shifts = begins(name, "sh") || begins(name, "sa") || begins(name, "ro");
    if (sscanf(operands, "%31[^,],%31s", one, other) < 1 || strstr(operands, "mm") != NULL ||
        is_wide(operands) || operands[0] == 'x' || operands[0] == 'd' || operands[0] == 's')
        return;
    const bool constant = one[0] == '$' || strstr(operands, "#0x") != NULL;
    if (begins(name, "imul") || begins(name, "mul") || begins(name, "madd"))
        listed->products[INTEGER]++;
    if ((begins(name, "add") || begins(name, "sub") || begins(name, "madd")) && !constant)
        listed->adds[INTEGER]++;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (begins(name, known[i]) && (shifts || strcmp(one, other) != 0)) {
            listed->others[INTEGER]++;
            return;
        }
    }
}

/* Adds an instruction: x86's "mulss" and "vfmadd213pd", or Arm's "fmul" of registers s or d. */
static void add_instruction(struct listed *listed, const char *name, const char *operands)
{
    static const struct {
        const char *name;
        double adds, products, others;
    } known[] = {{"add", 1, 0, 0},       {"sub", 1, 0, 0},       {"mul", 0, 1, 0},
                 {"madd", 1, 1, 0},      {"msub", 1, 1, 0},      {"nmadd", 1, 1, 0},
                 {"nmsub", 1, 1, 0},     {"min", 0, 0, 1},       {"max", 0, 0, 1},
                 {"comi", 0, 0, 1},      {"ucomi", 0, 0, 1},     {"cmp", 0, 0, 1},
                 {"div", 0, 0, SPECIAL}, {"sqrt", 0, 0, SPECIAL}};
    const char *end = name + strlen(name) - (strlen(name) > 2 ? 2 : 0);
    const bool is_x86 = (end[0] == 's' || end[0] == 'p') && (end[1] == 's' || end[1] == 'd');
    const bool is_arm = name[0] == 'f' && (operands[0] == 's' || operands[0] == 'd');
    const int twice = (is_x86 ? end[1] : operands[0]) == 'd';
    const int bytes = strstr(operands, "zmm") != NULL   ? 64
                      : strstr(operands, "ymm") != NULL ? 32
                                                        : 16;
    add_integer(listed, name, operands);
    const int lanes = is_x86 && end[0] == 'p' ? bytes / (twice ? 8 : 4) : 1;
    name += name[0] == 'v';
    name += name[0] == 'f';
    for (size_t i = 0; (is_x86 || is_arm) && i < sizeof known / sizeof *known; i++) {
        if (!begins(name, known[i].name))
            continue;
        listed->adds[twice] += lanes * known[i].adds;
        listed->products[twice] += lanes * known[i].products;
        if (known[i].others != SPECIAL || !listed->root || begins(name, "sqrt"))
            listed->others[twice] += lanes * known[i].others; /* 1 / sqrt(x) is one */
        if (known[i].others == SPECIAL)
            listed->root = begins(name, "sqrt");
        return;
    }
}

/* Adds a call of the C library's, in double precision unless its name ends with f. */
static void add_call(struct listed *listed, const char *function)
{
    static const char *const quick[] = {"fm",   "floor", "ceil", "trunc",
                                        "rint", "round", "fabs"};
    char name[64] = "";
    if (sscanf(function, "%*[^<]<%63[a-z0-9]@plt", name) != 1 ||
        strstr(function, "@plt") == NULL || begins(name, "mem"))
        return;
    double slots = FUNCTION;
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++)
        slots = begins(name, quick[i]) ? 1 : slots;
    listed->others[name[strlen(name) - 1] != 'f'] += begins(name, "sqrt") ? SPECIAL : slots;
}

/* A product and a sum are one FMA, wherever a block has both; an FMA is two operations. */
static void end_block(struct listed *listed)
{
    for (int i = 0; i < KINDS && listed->step != NULL; i++)
        listed->step->ops[i] =
            (float)(2 * (fmax(listed->adds[i], listed->products[i]) + listed->others[i]));
    *listed = (struct listed){.root = listed->root};
}

/* Reads where the program lies, and what objdump lists of it. A block ends at a jump that is
 * always taken, or where the next one begins. */
static void read_listing(FILE *lines)
{
    struct listed listed = {.step = NULL};
    char line[512], name[32], operands[256];
    bool first = true; /* of a block: the listing begins with one */
    unsigned long long at, base = 0;
    while (fgets(line, sizeof line, lines) != NULL) {
        operands[0] = '\0';
        if (base == 0)
            base = strtoull(line, NULL, 16);
        if (sscanf(line, " %llx:%*[\t]%31s %255[^\n]", &at, name, operands) < 2)
            continue;
        if (first) {
            struct step *step = step_at((uintptr_t)(base + at));
            listed.step = step->code != 0 ? step : NULL;
        }
        first = strstr(operands, "<__sanitizer_cov_trace_pc>") != NULL;
        if (first || begins(name, "jmp") || begins(name, "ret") || strcmp(name, "b") == 0)
            end_block(&listed);
        else if (begins(name, "call") || strcmp(name, "bl") == 0)
            add_call(&listed, operands);
        else
            add_instruction(&listed, name, operands);
    }
    end_block(&listed);
}

void watch_count(struct cpu_did *did)
{
    uintptr_t from = UINTPTR_MAX, to = 0;
    for (struct step *step = steps; step < steps + STEPS; step++) {
        if (step->count == 0 || step->known)
            continue;
        from = step->code < from ? step->code : from;
        to = step->code > to ? step->code : to;
        step->known = true;
    }
    FILE *lines =
        from <= to ? grid_ask(from, to,
                              "echo $base; objdump -d --no-show-raw-insn --start-address=$from "
                              "--stop-address=$((to + 4096)) \"$file\"")
                   : NULL;
    if (lines != NULL) {
        read_listing(lines);
        pclose(lines);
    }
    double ops[KINDS] = {0};
    for (struct step *step = steps; step < steps + STEPS; step++) {
        for (int i = 0; i < KINDS; i++)
            ops[i] += (double)step->count * step->ops[i];
        step->count = 0;
    }
    did->flops = (uint64_t)ops[SINGLE];
    did->flops_double = (uint64_t)ops[DOUBLED];
    did->integers = (uint64_t)ops[INTEGER];
}

/* --- what it costs the host's code to be watched --- */

void __tsan_init(void);
void __tsan_read4(void *at);

static void read_word(void)
{
    __tsan_read4(steps);
}

/* Code that is compiled to be watched calls this before all else, so that it is known what
 * watching costs before any of it counts. */
void __tsan_init(void)
{
    if (watch_source != NULL)
        return;
    watch_source = grid_source;
    cpu_access_ns = cpu_added_ns(read_word);
    cpu_block_ns = cpu_added_ns(__sanitizer_cov_trace_pc);
}
