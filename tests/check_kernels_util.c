/* check_kernels_util.c - data, twins and oracles for the tests of the kernels. */
#include "check_kernels_util.h"

#include "run/host_ops.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

const uint64_t test_counts[TEST_COUNTS] = {1,   2,   3,   31,   32,    33,
                                           255, 256, 257, 1000, 65537, TEST_COUNT_MAX};

uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static float random_float(float scale)
{
    return scale * ((float)(random_bits() >> 40) * 0x1p-23f - 1);
}

void *take_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

float *random_floats(uint64_t count, float scale)
{
    float *x = take_zeroed(count, sizeof *x);
    for (uint64_t i = 0; i < count; i++)
        x[i] = random_float(scale);
    return x;
}

const struct kernel *table_row(const char *name)
{
    const struct kernel *kernel = kernel_find(name);
    ck_assert_msg(kernel != NULL, "no kernel %s", name);
    return kernel;
}

const struct kernel_code *table_code(const char *name)
{
    return kernel_code(table_row(name));
}

void run_host(const char *name, const void *x, const void *y, void *out, uint64_t count,
              uint32_t intensity)
{
    struct kernel_args args = {.in = {x, y},
                               .out = out,
                               .count = count,
                               .params = {.intensity = intensity, .columns = 100, .stride = 7}};
    const struct kernel *kernel = table_row(name);
    for (; args.repeat < kernel_launches(kernel, &args.params); args.repeat++)
        kernel_code(kernel)->host(&args);
}

struct oracle oracle_create(const float *x, uint64_t count)
{
    struct oracle oracle = {.value = take_zeroed(count, sizeof(double)),
                            .bound = take_zeroed(count, sizeof(double)),
                            .count = count};
    for (uint64_t i = 0; i < count; i++)
        oracle.value[i] = (double)x[i];
    return oracle;
}

void oracle_free(struct oracle *oracle)
{
    free(oracle->value);
    free(oracle->bound);
}

double oracle_of_reduction(const char *name, const struct oracle *oracle, double *bound)
{
    struct oracle_sum sum = {0};
    table_code(name)->oracle_fold(&sum, oracle);
    ck_assert_uint_eq(sum.count, oracle->count);
    return table_code(name)->oracle_result(&sum, bound);
}

bool is_right(double is, double should, double bound)
{
    if (isnan(should))
        return isnan(is);
    return is == should || isinf(bound) || fabs(is - should) <= bound;
}

void run_tiles(const struct plan *plan, const struct arrays *arrays)
{
    const struct kernel *last = plan_last_kernel(plan);
    const uint64_t in_size = dtype_bytes(plan->chain[0]->in), out_size = dtype_bytes(last->out);
    for (uint32_t tile = 0; tile < plan->tiles; tile++) {
        uint64_t first, count;
        plan_tile(plan, tile, &first, &count);
        const char *in0 = arrays->host[BUFFER_HOST_IN0], *in1 = arrays->host[BUFFER_HOST_IN1];
        char *out = arrays->host[BUFFER_HOST_OUT];
        chain_host_run(plan->chain, plan->chain_length, &plan->params, in0 + in_size * first,
                       in1 != NULL ? in1 + in_size * first : NULL, NULL,
                       out + out_size * (last->shape == KERNEL_REDUCE ? tile : first), count,
                       NULL);
    }
}
