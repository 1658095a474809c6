/* devices.cu - copies of several devices at once: what each has while certain others run. Rows
 * of copies begin together, and count until the first row is done; by then all have run side by
 * side. Each row's times are of its own device's events. */
#include "bench/experiments/experiment.h"

enum { IN, OUT, ROWS_MOST = 16, COPIES = 48 };
static const size_t BYTES = 16 << 20, PARTS = 8; /* of one copy; of a row's host memory */

/* A row of copies of one device. */
struct row {
    int device, way, peer; /* peer -1: from or to the host */
    char *host, *here, *there;
    cudaStream_t stream;
    cudaEvent_t begin, ends[COPIES];
    uint32_t salt;
};
static std::vector<struct row> rows;
static uint32_t salt_now;

static size_t row_bytes(const struct row &row)
{
    return row.peer < 0 ? PARTS * BYTES : BYTES;
}

static void open_row(int device, int way, int peer)
{
    struct row row = {device, way, peer, nullptr, nullptr, nullptr, nullptr, nullptr, {}, 0};
    CHECK(cudaSetDevice(device));
    CHECK(cudaMalloc(&row.here, row_bytes(row)));
    CHECK(cudaStreamCreateWithFlags(&row.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&row.begin));
    for (cudaEvent_t &event : row.ends)
        CHECK(cudaEventCreate(&event));
    if (peer < 0) {
        CHECK(cudaHostAlloc(&row.host, row_bytes(row), cudaHostAllocPortable));
    } else {
        CHECK(cudaSetDevice(peer));
        CHECK(cudaMalloc(&row.there, row_bytes(row)));
    }
    rows.push_back(row);
}

static std::string name_of(const struct row &row)
{
    const std::string device = std::to_string(row.device);
    if (row.peer >= 0)
        return "p" + device + std::to_string(row.peer);
    return (row.way == IN ? "h" : "d") + device;
}

/* Puts new data where the copies come from, and something else where they go. */
static void prepare(struct row &row)
{
    const size_t bytes = row_bytes(row);
    row.salt = ++salt_now;
    CHECK(cudaSetDevice(row.device));
    if (row.peer < 0 && row.way == IN) {
        fill_on_host(row.host, bytes, row.salt);
        CHECK(cudaMemset(row.here, 0xa5, bytes));
    } else {
        fill_on_device(row.here, bytes, row.salt);
        if (row.peer < 0)
            poison_on_host(row.host, bytes);
    }
    CHECK(cudaDeviceSynchronize());
    if (row.peer < 0)
        return;
    CHECK(cudaSetDevice(row.peer));
    CHECK(cudaMemset(row.there, 0xa5, bytes));
    CHECK(cudaDeviceSynchronize());
}

static void verify(const struct row &row)
{
    const size_t bytes = row_bytes(row);
    CHECK(cudaSetDevice(row.peer < 0 ? row.device : row.peer));
    if (row.peer < 0 && row.way == OUT)
        verify_on_host(row.host, bytes, row.salt, "copies out");
    else
        verify_on_device(row.peer < 0 ? row.here : row.there, bytes, row.salt, "copies in");
}

static void issue(const struct row &row, int copy)
{
    const size_t at = row.peer < 0 ? (size_t)copy % PARTS * BYTES : 0;
    CHECK(cudaSetDevice(row.device));
    if (copy == 0)
        CHECK(cudaEventRecord(row.begin, row.stream));
    if (row.peer >= 0)
        CHECK(
            cudaMemcpyPeerAsync(row.there, row.peer, row.here, row.device, BYTES, row.stream));
    else if (row.way == IN)
        CHECK(cudaMemcpyAsync(row.here + at, row.host + at, BYTES, cudaMemcpyHostToDevice,
                              row.stream));
    else
        CHECK(cudaMemcpyAsync(row.host + at, row.here + at, BYTES, cudaMemcpyDeviceToHost,
                              row.stream));
    CHECK(cudaEventRecord(row.ends[copy], row.stream));
}

/* Returns how long a copy of the row took in the first `window` us. */
static double copy_us(const struct row &row, double window)
{
    double before = 0, done = 0;
    for (int i = 0; i < COPIES; i++) {
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, row.begin, row.ends[i]));
        const double end = 1e3 * double(ms);
        if (end > window)
            return window / (done + (window - before) / (end - before));
        done++;
        before = end;
    }
    return window / done;
}

/* Runs the rows that are named, as "h0+d1", at once. */
static void measure(const std::vector<int> &chosen, int devices)
{
    std::string all;
    double window = 1e12;
    for (int i : chosen) {
        prepare(rows[i]);
        all += (all.empty() ? "" : "+") + name_of(rows[i]);
    }
    experiment.spoiled = false;
    for (int copy = 0; copy < COPIES; copy++)
        for (int i : chosen)
            issue(rows[i], copy);
    for (int i : chosen) {
        float ms = 0;
        CHECK(cudaSetDevice(rows[i].device));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaEventElapsedTime(&ms, rows[i].begin, rows[i].ends[COPIES - 1]));
        window = std::min(window, 1e3 * double(ms));
    }
    for (int i : chosen) {
        verify(rows[i]);
        note(name_of(rows[i]) + "-of-" + all, devices, copy_us(rows[i], window));
    }
    CHECK(cudaSetDevice(0));
}

/* Returns the rows whose bits are set. */
static std::vector<int> chosen_of(unsigned set)
{
    std::vector<int> chosen;
    for (int i = 0; i < (int)rows.size(); i++)
        if (set >> i & 1)
            chosen.push_back(i);
    return chosen;
}

int main(int argc, char **argv)
{
    int devices = 0, can = 0;
    experiment_begin(argc, argv, "devices",
                     "a copy of 16 MiB into (h), out of (d) a device, or from one to another "
                     "(p), while the rows named behind it run (parameter: devices)",
                     {"host", "peers"});
    CHECK(cudaGetDeviceCount(&devices));
    devices = std::min(devices, 2);
    for (int device = 0; device < devices; device++)
        for (int way : {IN, OUT})
            open_row(device, way, -1);
    if (part("host"))
        for (rounds r(9); r.next();)
            for (unsigned set = 1; set < 1u << rows.size(); set++)
                measure(chosen_of(set), devices);
    if (devices == 2)
        CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (!part("peers") || !can)
        return 0;
    for (int device : {0, 1}) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaDeviceEnablePeerAccess(!device, 0));
        open_row(device, OUT, !device);
    }
    /* The two rows of peers alone, both, and beside each row of the host's and all of them. */
    for (rounds r(9); r.next();)
        for (unsigned set : {0x10u, 0x20u, 0x30u, 0x11u, 0x12u, 0x14u, 0x18u, 0x19u, 0x3fu})
            measure(chosen_of(set), devices);
    return 0;
}
