/* refused.c - the plans that are refused, by name. */
#include "emit/parts.h"
#include "plan/mistake.h"

static enum status refuse(struct error *error, const char *what)
{
    return error_set(error, STATUS_USAGE, "--emit: %s can't be written as a program", what);
}

static enum status check_kernels(const struct emit_program *program, struct error *error)
{
    const struct plan *plan = program->plan;
    if (emit_is_product(program) && plan->batch > 1)
        return refuse(error, "the matrix product in batches (--issue=batch)");
    if (emit_is_product(program) && plan->packs)
        return refuse(error, "the matrix product with --pack");
    if (emit_is_product(program) && !program->even)
        return refuse(error, "a matrix product whose tiles differ in their columns");
    for (int i = 0; i < plan->chain_length; i++) {
        const struct emit_kernel *kernel = emit_kernel_find(plan->chain[i]);
        if (plan->chain[i]->file != NULL)
            continue;
        if (kernel == NULL)
            return error_set(
                error, STATUS_USAGE,
                "--emit: the kernel %s can't be written as a program: it has no row "
                "in src/emit/kernels.c",
                plan->chain[i]->name);
        if (kernel->alone && plan->chain_length > 1)
            return error_set(error, STATUS_USAGE,
                             "--emit: the kernel %s can't be written as a program in a chain: "
                             "allowed is --kernel=%s alone",
                             plan->chain[i]->name, plan->chain[i]->name);
        if (plan->chain[i]->shape == KERNEL_SCAN && plan->batch > 1 &&
            program->settings->carry != CARRY_DEVICE)
            return refuse(error, "a scan in batches with a carry by way of the host (--carry)");
        if (kernel->by_place && !program->even)
            return error_set(error, STATUS_USAGE,
                             "--emit: the kernel %s asks for tiles of one size: allowed are "
                             "--elements that are a multiple of --tiles",
                             plan->chain[i]->name);
        if (plan->batch > 1 && !kernel_joins(plan->chain[i], plan->elements / plan->tiles) &&
            kernel->by_place)
            return error_set(error, STATUS_USAGE,
                             "--emit: the kernel %s can't take a batch of such tiles at once",
                             plan->chain[i]->name);
    }
    return emit_own_check_types(program, error);
}

/* Kernels that join a batch's tiles take them as one piece. */
static bool joins_on_host(const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    bool joins = false;
    for (int i = 0; i < plan->chain_length; i++) {
        const bool reaches =
            i == 0 || i + 1 == plan->chain_length || plan->chain[i]->inputs > 1;
        joins |= reaches && kernel_is_elementwise(plan->chain[i]);
    }
    return joins && emit_on_host(program) && program->plan->batch > 1;
}

/* Returns what can't be written for several devices; NULL: it can be. */
static const char *refused_on_devices(const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const bool scans = kernel_chain_scans(plan->chain, plan->chain_length);
    if (plan->sharing != SHARING_NONE)
        return "--share";
    if (scans && emit_deals_devices(program) && program->settings->carry == CARRY_DEVICE)
        return "a scan on several devices whose carry stays on one (--carry=device)";
    return NULL;
}

enum status emit_check_plan(const struct emit_program *program, struct error *error)
{
    const struct plan *plan = program->plan;
    const struct settings *settings = program->settings;
    if (mistake_rows[settings->mistake].loads_lazily)
        return error_set(error, STATUS_USAGE,
                         "--emit: --mistake=%s can't be written as a program: only the first "
                         "run of a process shows it, and a program shows the best of several. "
                         "Allowed is any other mistake",
                         mistake_name(settings->mistake));
    if (plan_devices(plan) > 1 && refused_on_devices(program) != NULL)
        return refuse(error, refused_on_devices(program));
    if (settings->input != NULL || settings->output != NULL)
        return refuse(error, "an array in a file (--input, --output)");
    if (plan->batch > 1 && !program->even)
        return error_set(error, STATUS_USAGE,
                         "--emit: batches of tiles that are not of one size can't be written "
                         "as a program: allowed are --elements that are a multiple of --tiles");
    if (emit_in_places(program) && joins_on_host(program))
        return error_set(
            error, STATUS_USAGE,
            "--emit: a kernel on a batch of tiles that lie apart in mapped memory "
            "(--scatter, --issue=batch) can't be written as a program: allowed are "
            "--issue=streams and graph, and memory that is copied");
    enum status status = emit_check_places(program, error);
    if (status == STATUS_OK)
        status = emit_check_cpu(program, error);
    return status == STATUS_OK ? check_kernels(program, error) : status;
}

/* Refuses chains whose maps have grids of several sizes. */
static enum status check_grids(const struct emit_program *program, struct error *error)
{
    const struct plan *plan = program->plan;
    const int maps = plan->chain_length - (emit_reduction(program) != NULL ? 1 : 0);
    for (int i = 1; i < maps; i++) {
        if (plan->chain[i]->file == NULL &&
            program->loops->blocks[i] != program->loops->blocks[emit_map_link(program)])
            return refuse(error, "a chain of maps with grids of several sizes");
    }
    return STATUS_OK;
}

enum status emit_check_loops(const struct emit_program *program, struct error *error)
{
    if (program->legacy != EMIT_NO_LEGACY && program->plan->issue == ISSUE_GRAPH)
        return refuse(error, "a graph with kernels in the legacy default stream");
    return check_grids(program, error);
}
