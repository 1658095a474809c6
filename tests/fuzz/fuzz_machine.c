/* fuzz_machine.c - machine files; those that are accepted must do for limit and simulator. */
#include "analysis/limit.h"
#include "fuzz.h"
#include "machine/machine.h"
#include "options/options.h"
#include "plan/build.h"
#include "run/backend.h"
#include "sim/simulator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME "fuzz.ini"

enum {
    FILL = 0x5a,
    KERNELS_OF_CASE = 2,
    ESCAPES = 16, /* bytes that the escapes of a character cut short take at most */
};

/* --- figures --- */

static bool is_rate(double rate)
{
    return isfinite(rate) && rate > 0;
}

static bool is_time(int64_t ns)
{
    return ns >= 0 && ns <= INT64_C(1000000000);
}

static bool is_text(const char text[MACHINE_TEXT])
{
    const char *end = memchr(text, '\0', MACHINE_TEXT);
    for (const char *byte = text; end != NULL && byte < end; byte++) {
        if ((unsigned char)*byte < ' ' || *byte == 0x7f)
            return false;
    }
    return end != NULL;
}

static void require_copies(const struct machine *machine)
{
    FUZZ_REQUIRE(machine->copy_engines == 1 || machine->copy_engines == 2);
    FUZZ_REQUIRE(is_rate(machine->h2d_bytes_per_s) && is_rate(machine->d2h_bytes_per_s));
    FUZZ_REQUIRE(machine->joint_bytes_per_s >= machine->h2d_bytes_per_s);
    FUZZ_REQUIRE(machine->joint_bytes_per_s >= machine->d2h_bytes_per_s);
    FUZZ_REQUIRE(is_time(machine->h2d_latency_ns) && is_time(machine->d2h_latency_ns));
    FUZZ_REQUIRE(is_time(machine->h2d_gap_ns) && is_time(machine->d2h_gap_ns));
    FUZZ_REQUIRE(is_rate(machine->pageable_h2d_bytes_per_s));
    FUZZ_REQUIRE(is_rate(machine->pageable_d2h_bytes_per_s));
    FUZZ_REQUIRE(machine->pageable_h2d_bytes_per_s <= machine->h2d_bytes_per_s);
    FUZZ_REQUIRE(machine->pageable_d2h_bytes_per_s <= machine->d2h_bytes_per_s);
    FUZZ_REQUIRE(machine->staging_bytes >= 1);
}

static void require_device(const struct machine *machine)
{
    FUZZ_REQUIRE(is_text(machine->summary) && is_text(machine->architecture));
    FUZZ_REQUIRE(is_rate(machine->compute_capability));
    FUZZ_REQUIRE(machine->sms >= 1 && machine->threads_per_sm >= KERNEL_THREADS);
    FUZZ_REQUIRE(machine->blocks_per_sm >= 1 && machine_resident_blocks(machine) >= 1);
    FUZZ_REQUIRE(is_rate(machine->memory_bytes_per_s) && is_rate(machine->flops_per_s));
    FUZZ_REQUIRE(machine->arithmetic_fill > 0 && machine->arithmetic_fill <= 1);
    FUZZ_REQUIRE(machine->leftover_excess >= 1);
    FUZZ_REQUIRE(machine->idle_memory_share > 0 && machine->idle_memory_share <= 1);
    FUZZ_REQUIRE(machine->memory_fill > 0 && machine->memory_fill <= 1);
    FUZZ_REQUIRE(machine->memory_bytes >= 1 && is_time(machine->kernel_latency_ns));
    FUZZ_REQUIRE(machine->concurrent_kernels >= 1 && machine->queue_depth >= 1);
    FUZZ_REQUIRE(machine->queues >= 1 && machine->queues <= machine->queues_max);
    FUZZ_REQUIRE(is_time(machine->h2d_dependency_ns) && is_time(machine->d2h_dependency_ns));
    FUZZ_REQUIRE(is_time(machine->kernel_dependency_ns) && is_time(machine->poll_ns));
    FUZZ_REQUIRE(is_time(machine->signal_gap_ns) && is_time(machine->kernel_gap_ns));
    FUZZ_REQUIRE(is_time(machine->kernel_fixed_ns));
    FUZZ_REQUIRE(machine->priority_greatest <= machine->priority_least);
}

static void require_host(const struct machine *machine)
{
    FUZZ_REQUIRE(is_time(machine->issue_copy_ns) && is_time(machine->issue_kernel_ns));
    FUZZ_REQUIRE(is_time(machine->issue_record_ns) && is_time(machine->issue_wait_ns));
    FUZZ_REQUIRE(is_time(machine->issue_callback_ns) && is_time(machine->callback_ns));
    FUZZ_REQUIRE(machine->cpu_cores >= 1);
    FUZZ_REQUIRE(is_rate(machine->cpu_bytes_per_s) && is_rate(machine->cpu_flops_per_s));
}

/* Requires each kernel's row at most once, and that even the largest work takes a finite time.
 */
static void require_kernels(const struct machine *machine)
{
    struct kernel_params params = {.intensity = 65536, .rows = 1 << 20, .inner = 1 << 20};
    const uint64_t count = UINT64_C(1) << 40;
    FUZZ_REQUIRE(machine->kernel_count >= 0 && machine->kernel_count <= MACHINE_KERNELS_MAX);
    for (int i = 0; i < machine->kernel_count; i++) {
        FUZZ_REQUIRE(kernel_is_name(machine->kernels[i].name)); /* of the table, or a user's */
        FUZZ_REQUIRE(machine_kernel_find(machine, machine->kernels[i].name) ==
                     &machine->kernels[i]);
    }
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        struct kernel_cost cost = machine_kernel_cost(machine, kernel, &params, count);
        double cpu_ns = machine_cpu_ns(machine, kernel, &params, count);
        FUZZ_REQUIRE_TEXT(isfinite(cost.memory_ns) && cost.memory_ns >= 0, kernel->name);
        FUZZ_REQUIRE_TEXT(isfinite(cost.arithmetic_ns) && cost.arithmetic_ns >= 0,
                          kernel->name);
        FUZZ_REQUIRE_TEXT(isfinite(cpu_ns) && cpu_ns >= 0, kernel->name);
        FUZZ_REQUIRE(machine_kernel_ns(machine, kernel, &params, count) >= cost.memory_ns);
    }
    FUZZ_REQUIRE(isfinite(machine_copy_ns(machine, 1, count)));
    FUZZ_REQUIRE(isfinite(machine_copy_ns(machine, 0, count)));
}

/* --- a small plan on it --- */

static const struct plan_case {
    const char *kernels[KERNELS_OF_CASE];
    struct settings settings;
    bool pageable;
} plan_cases[] = {
    {{"scale", NULL}, {.elements = 1000, .tiles = 4, .streams = 2, .ways = 3}, false},
    {{"wave", "sum"},
     {.elements = 777,
      .tiles = 7,
      .streams = 3,
      .ways = 3,
      .order = ORDER_BREADTH,
      .callbacks = true,
      .priorities = {-1000, 1000},
      .priority_count = 2},
     false},
    {{"scale", "scale"},
     {.elements = 99,
      .tiles = 5,
      .streams = 2,
      .ways = 4,
      .layout = LAYOUT_STAGE,
      .cpu_share = -1},
     true},
    {{"scale", NULL},
     {.elements = 6, .tiles = 6, .streams = 6, .ways = 2, .connections = 1},
     true},
    {{"wave", NULL}, {.elements = 5, .tiles = 1, .streams = 1, .ways = 1}, false},
};

/* Requires that each span is in order, and that the run is not shorter than the limit, but for
 * what rounding to whole nanoseconds may take off each op. */
static void require_timeline(const struct timeline *timeline, const struct plan *plan,
                             const struct machine *machine, int64_t issued_ns)
{
    const struct limit limit = limit_of(machine, plan);
    FUZZ_REQUIRE(issued_ns >= 0);
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        FUZZ_REQUIRE(span->issue_ns >= 0 && span->issue_ns <= span->start_ns);
        FUZZ_REQUIRE(span->start_ns <= span->end_ns);
    }
    FUZZ_REQUIRE(limit.copies_ns >= 0 && limit.compute_ns >= 0 && limit.cpu_ns >= 0);
    FUZZ_REQUIRE(timeline_time_ns(timeline) + 4 * (int64_t)plan->op_count >= limit.ns);
}

static void simulate(const struct machine *machine, const struct plan_case *given)
{
    struct settings settings = given->settings;
    struct plan plan;
    struct timeline timeline = {0};
    struct error error = {0};
    int64_t issued_ns = -1;
    settings.intensity = 1;
    settings.memory = given->pageable ? MEMORY_PAGEABLE : MEMORY_PINNED;
    settings.chain_length = 0;
    for (int i = 0; i < KERNELS_OF_CASE && given->kernels[i] != NULL; i++)
        settings.chain[settings.chain_length++] = kernel_find(given->kernels[i]);
    enum status status = plan_build(&settings, machine, &plan, &error);
    FUZZ_REQUIRE_TEXT(status == STATUS_OK, error.text);
    status = simulator_run(machine, settings.connections, &plan, NULL, &timeline, &issued_ns,
                           &error);
    FUZZ_REQUIRE_TEXT(status == STATUS_OK, error.text);
    require_timeline(&timeline, &plan, machine, issued_ns);
    timeline_free(&timeline);
    plan_free(&plan);
}

/* --- the reader --- */

/* Requires the same complaint of the file as of its text. The path in front of the file's name
 * takes room in the error, so that a long complaint is cut sooner there; what was cut in the
 * middle of a character ends in its escapes. */
static void require_same(const struct error *of_file, const struct error *of_text)
{
    const char *file = strstr(of_file->text, NAME), *text = strstr(of_text->text, NAME);
    size_t same = 0;
    FUZZ_REQUIRE(file != NULL && text != NULL);
    while (file[same] != '\0' && file[same] == text[same])
        same++;
    const bool cut = strlen(of_file->text) + ESCAPES >= sizeof of_file->text;
    FUZZ_REQUIRE_TEXT(file[same] == text[same] || (cut && same + ESCAPES >= strlen(file)),
                      of_file->text);
}

/* The file is read as the text is, but for NUL bytes, which only a file can have. */
static void require_file(const uint8_t *data, size_t size, const struct machine *parsed,
                         const struct error *parse_error)
{
    struct machine machine;
    struct error error = {0};
    const char *path = fuzz_file(NAME, data, size);
    enum status status = machine_load(&machine, path, &error);
    fuzz_require_closed();
    if (memchr(data, '\0', size) != NULL) {
        fuzz_require_refusal(status, &error, NAME);
        return;
    }
    FUZZ_REQUIRE(status == parse_error->status);
    if (status == STATUS_OK) {
        FUZZ_REQUIRE(strcmp(machine.name, "fuzz") == 0);
        FUZZ_REQUIRE(machine.h2d_bytes_per_s == parsed->h2d_bytes_per_s);
        FUZZ_REQUIRE(machine.kernel_count == parsed->kernel_count);
    } else {
        require_same(&error, parse_error);
    }
}

bool fuzz_machine(const uint8_t *data, size_t size)
{
    struct machine machine;
    struct error error = {0};
    memset(&machine, FILL, sizeof machine);
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    enum status status = machine_parse(&machine, text, NAME, &error);
    free(text);
    if (status != STATUS_OK) {
        fuzz_require_refusal(status, &error, NAME);
        fuzz_require_line(&error, NAME, data, size);
        FUZZ_REQUIRE(fuzz_is_filled(&machine, sizeof machine, FILL));
    }
    if (size > 0)
        require_file(data, size, &machine, &error);
    if (status != STATUS_OK)
        return false;
    require_copies(&machine);
    require_device(&machine);
    require_host(&machine);
    require_kernels(&machine);
    for (size_t i = 0; i < sizeof plan_cases / sizeof plan_cases[0]; i++)
        simulate(&machine, &plan_cases[i]);
    return true;
}
