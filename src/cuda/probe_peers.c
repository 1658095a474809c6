/* probe_peers.c - bare copies from device to device. One way they are timed by events of the
 * sender's; both ways by the host, for events know one device's clock alone. */
#include "cuda/probe.h"

#include "cuda/prepare.h"
#include "run/cpu_worker.h"

#include <math.h>

enum {
    REPEATS = 7,
    LARGE_BYTES = 32 << 20, /* a repeat moves 1 GiB each way, some 2.7 ms over NVLink */
    LARGE_COPIES = 32,
    SMALL_BYTES = 4 << 10, /* all latency */
    SMALL_COPIES = 64,
    DEVICE_BYTES = 2 * LARGE_BYTES, /* what is sent, and what is received */
};

/* Two devices, and what each measures with. */
struct pair {
    const struct cuda_devices *devices;
    uint32_t index[2];
    struct probe probes[2];
};

/* Copies in a row from one of the pair, which is current, to the other. */
struct peer_copies {
    const struct pair *pair;
    int from;
    uint64_t bytes;
    int count;
};

static enum status send(const struct pair *pair, int from, uint64_t bytes, struct error *error)
{
    const struct probe *sender = &pair->probes[from], *receiver = &pair->probes[!from];
    return CUDA_CHECK(cudaMemcpyPeerAsync(receiver->device + LARGE_BYTES,
                                          pair->devices->items[pair->index[!from]].number,
                                          sender->device,
                                          pair->devices->items[pair->index[from]].number, bytes,
                                          sender->streams[0]),
                      error);
}

static enum status issue_copies(struct probe *probe, const void *work, struct error *error)
{
    const struct peer_copies *copies = work;
    enum status status = STATUS_OK;
    (void)probe; /* it is the sender's */
    for (int i = 0; i < copies->count && status == STATUS_OK; i++)
        status = send(copies->pair, copies->from, copies->bytes, error);
    return status;
}

/* Makes the figures those of one direction where they are worse, or the first. */
static enum status measure_one_way(struct pair *pair, int from, struct peer_rates *rates,
                                   struct error *error)
{
    const struct peer_copies rows[] = {{pair, from, SMALL_BYTES, SMALL_COPIES},
                                       {pair, from, LARGE_BYTES, LARGE_COPIES}};
    const double bytes[] = {SMALL_BYTES, LARGE_BYTES};
    double ns[2];
    enum status status = cuda_devices_select(pair->devices, pair->index[from], error);
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        status =
            probe_time(&pair->probes[from], REPEATS, issue_copies, &rows[i], &ns[i], error);
        ns[i] = fmax(ns[i] / rows[i].count, i == 0 ? 1 : ns[0] + 1);
    }
    if (status != STATUS_OK)
        return status;
    const struct copy_line line = copy_line_fit(bytes, ns, 2);
    const int64_t latency_ns = llround(fmax(0, line.latency_ns));
    rates->one_way = fmin(rates->one_way, line.bytes_per_s);
    rates->latency_ns = latency_ns > rates->latency_ns ? latency_ns : rates->latency_ns;
    return STATUS_OK;
}

static enum status time_both_ways(const struct pair *pair, double *rate, struct error *error)
{
    enum status status = STATUS_OK;
    const int64_t begin = clock_now_ns();
    for (int i = 0; i < 2 * LARGE_COPIES && status == STATUS_OK; i++) {
        status = cuda_devices_select(pair->devices, pair->index[i % 2], error);
        if (status == STATUS_OK)
            status = send(pair, i % 2, LARGE_BYTES, error);
    }
    if (status == STATUS_OK)
        status = cuda_devices_settle(pair->devices, error);
    *rate = 1e9 * 2 * LARGE_COPIES * LARGE_BYTES / fmax(1, (double)(clock_now_ns() - begin));
    return status;
}

static enum status measure(struct pair *pair, struct peer_rates *rates, struct error *error)
{
    double fastest = 0, rate;
    enum status status = measure_one_way(pair, 0, rates, error);
    if (status == STATUS_OK)
        status = measure_one_way(pair, 1, rates, error);
    for (int i = 0; i < REPEATS && status == STATUS_OK; i++) {
        status = time_both_ways(pair, &rate, error);
        fastest = fmax(fastest, rate);
    }
    rates->both_ways = fmin(rates->both_ways, fastest);
    return status;
}

static enum status measure_pair(const struct cuda_devices *devices, uint32_t first,
                                struct peer_rates *rates, struct error *error)
{
    struct pair pair = {.devices = devices, .index = {first, first + 1}};
    enum status status = cuda_peers_join(devices, first, first + 1, error);
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        status = cuda_devices_select(devices, pair.index[i], error);
        if (status == STATUS_OK)
            status = probe_open(&pair.probes[i], PROBE_HOST_BYTES, DEVICE_BYTES, error);
    }
    if (status == STATUS_OK)
        status = measure(&pair, rates, error);
    for (int i = 1; i >= 0; i--) {
        const enum status selected = cuda_devices_select(devices, pair.index[i], error);
        status = probe_close(&pair.probes[i], status == STATUS_OK ? selected : status, error);
    }
    return status;
}

/* Sets *can to whether all that follow one another can be peers. */
static enum status can_all(const struct cuda_devices *devices, bool *can, struct error *error)
{
    enum status status = STATUS_OK;
    *can = true;
    for (uint32_t i = 0; i + 1 < devices->count && *can && status == STATUS_OK; i++)
        status = cuda_peers_can(devices, i, i + 1, can, error);
    return status;
}

enum status probe_peers(const struct cuda_devices *devices, struct peer_rates *rates,
                        struct error *error)
{
    bool can;
    *rates = (struct peer_rates){0};
    enum status status = can_all(devices, &can, error);
    if (status != STATUS_OK || !can || devices->count < 2)
        return status;
    struct peer_rates worst = {.one_way = INFINITY, .both_ways = INFINITY};
    for (uint32_t i = 0; i + 1 < devices->count && status == STATUS_OK; i++)
        status = measure_pair(devices, i, &worst, error);
    if (status == STATUS_OK)
        status = cuda_devices_select(devices, 0, error);
    if (status == STATUS_OK)
        *rates = worst;
    return status;
}
