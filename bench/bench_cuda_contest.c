/* bench_cuda_contest.c - times contenders on a CUDA device, in turn, and checks their results.
 */
#include "bench/bench_contest.h"
#include "cuda/device.h"
#include "run/verify.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROTATIONS_MAX = 64,
    CACHES = 4,          /* inputs and outputs together are so many times the L2 cache */
    LAUNCHES_MAX = 2000, /* in a batch */
    BATCH_NS = 4000000,  /* a batch takes about so long, for events have a resolution of half a
                            microsecond */
    POISON = 0xFF,
};

/* The memory of a contest, on the device and on the host. */
struct contest_memory {
    const struct contest *contest;
    uint64_t in_bytes, out_bytes;
    int rotations;
    void *in[ROTATIONS_MAX], *out[ROTATIONS_MAX]; /* on the device */
    void *scratch[CONTENDERS_MAX];                /* one per contender: some keep state there */
    void *host_in, *host_out;                     /* page-locked */
    uint64_t right[CONTENDERS_MAX][ROTATIONS_MAX]; /* fingerprints of results found right; 0:
                                                      none yet */
    double launch_ns[CONTENDERS_MAX];              /* found by the warm-up */
    uint32_t resident_blocks;
    cudaStream_t stream;
    cudaEvent_t begin, end;
};

static enum status count_resident(struct contest_memory *rig, struct error *error)
{
    int sms, threads;
    enum status status =
        CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(
            cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0), error);
    if (status == STATUS_OK)
        rig->resident_blocks = (uint32_t)(sms * (threads / KERNEL_THREADS));
    return status;
}

/* Counts the inputs and outputs that together go beyond the cache, one at least. */
static enum status count_rotations(struct contest_memory *rig, struct error *error)
{
    int cache;
    enum status status =
        CUDA_CHECK(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, 0), error);
    if (status != STATUS_OK)
        return status;
    uint64_t wanted = CACHES * (uint64_t)cache / (rig->in_bytes + rig->out_bytes) + 1;
    rig->rotations = wanted < ROTATIONS_MAX ? (int)wanted : ROTATIONS_MAX;
    return STATUS_OK;
}

static enum status take_scratch(struct contest_memory *rig, int which, struct error *error)
{
    const struct contender *contender = &rig->contest->contenders[which];
    uint64_t bytes = contender->scratch_bytes;
    if (bytes == 0 && contender->kernel != NULL)
        bytes = kernel_scratch_bytes(contender->kernel, rig->contest->count);
    if (bytes == 0)
        return STATUS_OK;
    enum status status = CUDA_CHECK(cudaMalloc(&rig->scratch[which], bytes), error);
    return status == STATUS_OK ? CUDA_CHECK(cudaMemset(rig->scratch[which], 0, bytes), error)
                               : status;
}

/* Fills one input; each has data of its own. */
static enum status fill_input(struct contest_memory *rig, int rotation, struct error *error)
{
    const struct contest *contest = rig->contest;
    arrays_generate(contest->dtype, 1, 0, (uint64_t)rotation * contest->count, contest->count,
                    rig->host_in);
    return CUDA_CHECK(
        cudaMemcpy(rig->in[rotation], rig->host_in, rig->in_bytes, cudaMemcpyHostToDevice),
        error);
}

static enum status rig_open(struct contest_memory *rig, const struct contest *contest,
                            struct error *error)
{
    uint64_t size = dtype_bytes(contest->dtype);
    *rig = (struct contest_memory){.contest = contest,
                                   .in_bytes = contest->count * size,
                                   .out_bytes = contest->maps ? contest->count * size : size};
    enum status status = count_resident(rig, error);
    if (status == STATUS_OK)
        status = count_rotations(rig, error);
    if (status == STATUS_OK)
        status =
            CUDA_CHECK(cudaStreamCreateWithFlags(&rig->stream, cudaStreamNonBlocking), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventCreate(&rig->begin), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventCreate(&rig->end), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaMallocHost(&rig->host_in, rig->in_bytes), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaMallocHost(&rig->host_out, rig->out_bytes), error);
    for (int i = 0; i < rig->rotations && status == STATUS_OK; i++) {
        status = CUDA_CHECK(cudaMalloc(&rig->in[i], rig->in_bytes), error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaMalloc(&rig->out[i], rig->out_bytes), error);
        if (status == STATUS_OK)
            status = fill_input(rig, i, error);
    }
    for (int c = 0; c < contest->contender_count && status == STATUS_OK; c++)
        status = take_scratch(rig, c, error);
    return status;
}

static void rig_close(struct contest_memory *rig)
{
    for (int i = 0; i < ROTATIONS_MAX; i++) {
        CUDA_WARN(cudaFree(rig->in[i])); /* in[i] may be NULL */
        CUDA_WARN(cudaFree(rig->out[i]));
    }
    for (int c = 0; c < CONTENDERS_MAX; c++)
        CUDA_WARN(cudaFree(rig->scratch[c]));
    CUDA_WARN(cudaFreeHost(rig->host_in));
    CUDA_WARN(cudaFreeHost(rig->host_out));
    if (rig->begin != NULL)
        CUDA_WARN(cudaEventDestroy(rig->begin));
    if (rig->end != NULL)
        CUDA_WARN(cudaEventDestroy(rig->end));
    if (rig->stream != NULL)
        CUDA_WARN(cudaStreamDestroy(rig->stream));
}

static enum status launch(const struct contest_memory *rig, int which, int rotation,
                          struct error *error)
{
    const struct contender *contender = &rig->contest->contenders[which];
    struct kernel_args args = {
        .in = {rig->in[rotation]},
        .out = rig->out[rotation],
        .scratch = rig->scratch[which],
        .count = contender->kernel != NULL ? rig->contest->count : rig->in_bytes,
        .params = rig->contest->params,
    };
    if (contender->kernel != NULL)
        args.blocks = contender->blocks > 0
                          ? contender->blocks
                          : kernel_blocks(contender->kernel, args.count, rig->resident_blocks);
    const uint32_t launches =
        contender->kernel != NULL ? kernel_launches(contender->kernel, &args.params) : 1;
    cudaError_t result = cudaSuccess;
    for (; args.repeat < launches && result == cudaSuccess; args.repeat++)
        result = (cudaError_t)contender->launch(&args, rig->stream);
    return cuda_check(result, contender->name, error);
}

/* Overwrites the outputs, so that a result left by another contender can't pass. */
static enum status poison(struct contest_memory *rig, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < rig->rotations && status == STATUS_OK; i++)
        status = CUDA_CHECK(cudaMemsetAsync(rig->out[i], POISON, rig->out_bytes, rig->stream),
                            error);
    return status;
}

static enum status launch_all(const struct contest_memory *rig, int which, int launches,
                              struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < launches && status == STATUS_OK; i++)
        status = launch(rig, which, i % rig->rotations, error);
    return status;
}

static enum status capture(const struct contest_memory *rig, int which, int launches,
                           cudaGraphExec_t *batch, struct error *error)
{
    cudaGraph_t graph = NULL;
    struct error unheard;
    enum status status = CUDA_CHECK(
        cudaStreamBeginCapture(rig->stream, cudaStreamCaptureModeThreadLocal), error);
    if (status != STATUS_OK)
        return status;
    status = launch_all(rig, which, launches, error);
    enum status ended = CUDA_CHECK(cudaStreamEndCapture(rig->stream, &graph),
                                   status == STATUS_OK ? error : &unheard);
    if (status == STATUS_OK)
        status = ended;
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaGraphInstantiate(batch, graph, 0), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaGraphUpload(*batch, rig->stream), error);
    if (graph != NULL)
        CUDA_WARN(cudaGraphDestroy(graph));
    return status;
}

static enum status time_batch(struct contest_memory *rig, int which, int launches,
                              double *launch_ns, struct error *error)
{
    float ms = 0;
    cudaGraphExec_t batch = NULL;
    enum status status = STATUS_OK;
    if (!rig->contest->as_calls)
        status = capture(rig, which, launches, &batch, error);
    if (status == STATUS_OK)
        status = poison(rig, error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventRecord(rig->begin, rig->stream), error);
    if (status == STATUS_OK)
        status = batch != NULL ? CUDA_CHECK(cudaGraphLaunch(batch, rig->stream), error)
                               : launch_all(rig, which, launches, error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventRecord(rig->end, rig->stream), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaStreamSynchronize(rig->stream), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventElapsedTime(&ms, rig->begin, rig->end), error);
    if (batch != NULL)
        CUDA_WARN(cudaGraphExecDestroy(batch));
    *launch_ns = 1e6 * (double)ms / launches;
    return status;
}

/* Returns a number that hardly any other bytes have, and never 0. */
static uint64_t fingerprint(const void *data, uint64_t bytes)
{
    const uint32_t *words = data;
    uint64_t sum = 1;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (uint64_t i = 0; i < bytes / sizeof *words; i++) {
        uint64_t z = (words[i] + (i << 32)) * UINT64_C(0x9E3779B97F4A7C15);
        sum += (z ^ z >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    }
    return sum != 0 ? sum : 1;
}

/* Checks every element by the row's oracle, as the result of a pipeline of one tile. */
static enum status judge_by_oracle(struct contest_memory *rig,
                                   const struct contender *contender, int rotation,
                                   struct error *error)
{
    struct error why = {0};
    const struct plan plan = {.elements = rig->contest->count,
                              .tiles = 1,
                              .chain = {contender->kernel},
                              .chain_length = 1,
                              .params = rig->contest->params};
    const struct arrays arrays = {
        .host = {[BUFFER_HOST_IN0] = rig->host_in, [BUFFER_HOST_OUT] = rig->host_out}};
    arrays_generate(rig->contest->dtype, 1, 0, (uint64_t)rotation * rig->contest->count,
                    rig->contest->count, rig->host_in);
    if (verify_output(&plan, &arrays, &why) == STATUS_OK)
        return STATUS_OK;
    return error_set(error, STATUS_FAILED, "%s, of %llu elements: %s", contender->name,
                     (unsigned long long)rig->contest->count, why.text);
}

/* Checks a result. One found right leaves its fingerprint, and later ones with the same are
 * right, too. */
static enum status judge(struct contest_memory *rig, int which, int rotation,
                         struct error *error)
{
    const struct contender *contender = &rig->contest->contenders[which];
    uint64_t *right = &rig->right[which][rotation];
    enum status status = CUDA_CHECK(
        cudaMemcpy(rig->host_out, rig->out[rotation], rig->out_bytes, cudaMemcpyDeviceToHost),
        error);
    if (status != STATUS_OK)
        return status;
    uint64_t found = fingerprint(rig->host_out, rig->out_bytes);
    if (found == *right)
        return STATUS_OK;
    status = judge_by_oracle(rig, contender, rotation, error);
    *right = found;
    return status;
}

static enum status judge_all(struct contest_memory *rig, int which, int launches,
                             struct error *error)
{
    enum status status = STATUS_OK;
    if (rig->contest->contenders[which].kernel == NULL)
        return STATUS_OK;
    for (int i = 0; i < rig->rotations && i < launches && status == STATUS_OK; i++)
        status = judge(rig, which, i, error);
    return status;
}

/* Returns the launches of a batch: at least once through all inputs. */
static int launches_of(const struct contest_memory *rig, int which)
{
    double wanted = BATCH_NS / (rig->launch_ns[which] + 1);
    int launches = wanted < LAUNCHES_MAX ? (int)wanted : LAUNCHES_MAX;
    return launches > rig->rotations ? launches : rig->rotations;
}

/* Runs all rounds. The first warms up, and tells how many launches make a batch. */
static enum status run_rounds(struct bench *bench, struct contest_memory *rig,
                              struct contest *contest, struct error *error)
{
    enum status status = STATUS_OK;
    for (int round = -1; round < bench->repeats; round++) {
        for (int c = 0; c < contest->contender_count && status == STATUS_OK; c++) {
            int launches = round < 0 ? rig->rotations : launches_of(rig, c);
            double ns = 0;
            if (contest->contenders[c].launch == NULL)
                continue;
            status = time_batch(rig, c, launches, &ns, error);
            if (status == STATUS_OK)
                status = judge_all(rig, c, launches, error);
            if (round < 0)
                rig->launch_ns[c] = ns;
            else
                series_add(&contest->contenders[c].seconds, 1e-9 * ns);
        }
    }
    return status;
}

/* Times the copies of the input and of the result, each alone: the best of five. */
static enum status time_copies(struct contest_memory *rig, struct contest *contest,
                               struct error *error)
{
    enum status status = STATUS_OK;
    double *seconds[] = {&contest->copy_in_seconds, &contest->copy_out_seconds};
    for (int i = 0; i < 2 * 5 && status == STATUS_OK; i++) {
        double begin = bench_now();
        if (i % 2 == 0)
            status = CUDA_CHECK(
                cudaMemcpy(rig->in[0], rig->host_in, rig->in_bytes, cudaMemcpyHostToDevice),
                error);
        else
            status = CUDA_CHECK(
                cudaMemcpy(rig->host_out, rig->out[0], rig->out_bytes, cudaMemcpyDeviceToHost),
                error);
        double took = bench_now() - begin;
        if (i < 2 || took < *seconds[i % 2])
            *seconds[i % 2] = took;
    }
    return status;
}

enum status contest_run_cuda(struct bench *bench, struct contest *contest, struct error *error)
{
    struct contest_memory *rig = calloc(1, sizeof *rig);
    if (rig == NULL)
        return error_no_memory(error, "for a contest");
    enum status status = CUDA_CHECK(cudaSetDevice(0), error);
    if (status == STATUS_OK)
        status = rig_open(rig, contest, error);
    if (status == STATUS_OK)
        status = run_rounds(bench, rig, contest, error);
    if (status == STATUS_OK)
        status = time_copies(rig, contest, error);
    rig_close(rig);
    free(rig);
    return status;
}
