/* copies.cu - copies one way out of several streams: in which order they come, what lies
 * between two short ones, and what copies the other way, records and waits do to that. All of
 * it is queued behind a gate. */
#include "bench/experiments/experiment.h"

enum { IN, OUT, LIMIT = 384 };
static const char *const way_names[] = {"h2d", "d2h"};
static const size_t MOST = 256 << 20; /* of copies one way */

static struct {
    char *host[2], *device[2];
    std::vector<cudaStream_t> streams; /* 32 for each way */
    std::vector<cudaEvent_t> plain, timed;
} data;

static uint32_t salt_now;

static void open_data()
{
    for (int way : {IN, OUT}) {
        CHECK(cudaMallocHost(&data.host[way], MOST));
        CHECK(cudaMalloc(&data.device[way], MOST));
    }
    data.streams = make_streams(64);
    data.plain.resize(2 * LIMIT);
    data.timed.resize(LIMIT + 1);
    for (cudaEvent_t &event : data.plain)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (cudaEvent_t &event : data.timed)
        CHECK(cudaEventCreate(&event));
}

static void prepare(int way, size_t bytes)
{
    if (bytes > MOST)
        fail("copies of %zu bytes do not fit into %zu", bytes, MOST);
    salt_now++;
    if (way == IN) {
        fill_on_host(data.host[way], bytes, salt_now);
        CHECK(cudaMemset(data.device[way], 0xa5, bytes));
    } else {
        fill_on_device(data.device[way], bytes, salt_now);
        poison_on_host(data.host[way], bytes);
    }
    CHECK(cudaDeviceSynchronize());
}

static void verify(int way, size_t bytes, uint32_t salt)
{
    if (way == IN)
        verify_on_device(data.device[way], bytes, salt, "copies in");
    else
        verify_on_host(data.host[way], bytes, salt, "copies out");
}

static void copy(int way, size_t at, size_t bytes, cudaStream_t stream)
{
    if (way == IN)
        CHECK(cudaMemcpyAsync(data.device[way] + at, data.host[way] + at, bytes,
                              cudaMemcpyHostToDevice, stream));
    else
        CHECK(cudaMemcpyAsync(data.host[way] + at, data.device[way] + at, bytes,
                              cudaMemcpyDeviceToHost, stream));
}

/* Copies out of several streams, issued stream by stream (depth) or in turn (breadth). With a
 * record behind each copy its end is known, by events; without, only each stream's end, by a
 * kernel: both must tell the same. The sizes differ in `uneven`: every other stream's copies
 * are four times as large. */
static void measure_order(struct gate &gate, int way, int streams, bool breadth, bool uneven,
                          bool records)
{
    enum { EACH = 8 };
    const size_t unit = 1 << 20;
    const int count = streams * EACH;
    struct mark_list marks(streams + 1);
    std::vector<size_t> place(count + 1, 0);
    for (int i = 0; i < count; i++) {
        const int stream = breadth ? i % streams : i / EACH;
        place[i + 1] = place[i] + (uneven && stream % 2 ? unit : unit / 4);
    }
    prepare(way, place[count]);
    const uint32_t salt = salt_now;
    const cudaStream_t *set = &data.streams[32 * way];
    gate.close(set, streams, marks.device + streams);
    CHECK(cudaEventRecord(data.timed[count], gate.stream));
    for (int i = 0; i < count; i++) {
        const int stream = breadth ? i % streams : i / EACH;
        copy(way, place[i], place[i + 1] - place[i], set[stream]);
        if (records)
            CHECK(cudaEventRecord(data.timed[i], set[stream]));
    }
    for (int s = 0; s < streams; s++)
        stamp<<<1, 1, 0, set[s]>>>(marks.device + s);
    CHECK(cudaGetLastError());
    gate.open();
    gate.finish();
    marks.read(streams + 1);
    verify(way, place[count], salt);
    const std::string name = std::string("order-") + way_names[way] + "-" +
                             std::to_string(streams) + "-streams-" +
                             (breadth ? "breadth" : "depth") + (uneven ? "-uneven" : "");
    for (int s = 0; s < streams && !records; s++)
        note(name + "-end-of-stream", s, marks.start_us(s) - marks.end_us(streams));
    for (int i = 0; i < count && records && streams <= 8; i++) {
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, data.timed[count], data.timed[i]));
        note(name + "-end-of-copy-in-issue-order", i, 1e3 * double(ms));
    }
}

/* Between two copies lies nothing, a record, or a wait for a record of another stream. */
enum between { NOTHING, RECORDS, WAITS };

struct row {
    int ways; /* 1: in, 2: out, 3: both */
    int streams;
    enum between between;
};

static void issue_row(int way, const struct row &row, int count, size_t bytes)
{
    const cudaStream_t *set = &data.streams[32 * way];
    for (int i = 0; i < count; i++) {
        const cudaStream_t stream = set[i % row.streams];
        if (row.between == WAITS && i > 0)
            CHECK(cudaStreamWaitEvent(stream, data.plain[way * LIMIT + i - 1], 0));
        copy(way, (size_t)i * bytes, bytes, stream);
        if (row.between != NOTHING)
            CHECK(cudaEventRecord(data.plain[way * LIMIT + i], stream));
    }
}

/* A row of copies of one size. Stamps behind each stream, none between: the time from the gate
 * to the last is that of all copies. Twice the copies less once, per copy more, leaves out what
 * begins and ends the row. */
static double run_row(struct gate &gate, const struct row &row, int count, size_t bytes)
{
    struct mark_list marks(65);
    uint32_t salts[2] = {0, 0};
    for (int way : {IN, OUT})
        if (row.ways & 1 << way) {
            prepare(way, count * bytes);
            salts[way] = salt_now;
        }
    gate.close(data.streams.data(), 64, marks.device + 64);
    for (int way : {IN, OUT})
        if (row.ways & 1 << way)
            issue_row(way, row, count, bytes);
    int stamps = 0;
    for (int way : {IN, OUT})
        for (int s = 0; s < row.streams && (row.ways & 1 << way); s++)
            stamp<<<1, 1, 0, data.streams[32 * way + s]>>>(marks.device + stamps++);
    CHECK(cudaGetLastError());
    gate.open();
    gate.finish();
    marks.read(stamps);
    double last = 0;
    for (int s = 0; s < stamps; s++)
        last = std::max(last, marks.start_us(s) - marks.end_us(64));
    for (int way : {IN, OUT})
        if (row.ways & 1 << way)
            verify(way, count * bytes, salts[way]);
    return last;
}

static std::string row_name(const struct row &row)
{
    static const char *const ways[] = {"", "h2d", "d2h", "both"};
    return std::string(ways[row.ways]) + "-" + std::to_string(row.streams) + "-streams" +
           (row.between == RECORDS ? "-records"
            : row.between == WAITS ? "-waits"
                                   : "");
}

static void measure_gaps(struct gate &gate, size_t bytes)
{
    const int few = bytes >= 1 << 20 ? 8 : 32, many = bytes >= 1 << 20 ? 32 : 96;
    for (rounds r(bytes >= 1 << 20 ? 3 : 7); r.next();)
        for (int ways = 1; ways <= 3; ways++)
            for (int streams : {1, 2, 4, 8, 32})
                for (enum between between : {NOTHING, RECORDS, WAITS}) {
                    const struct row row = {ways, streams, between};
                    if (between != NOTHING && streams > 4)
                        continue;
                    const double short_us = run_row(gate, row, few, bytes),
                                 long_us = run_row(gate, row, many, bytes);
                    note("copy-" + row_name(row), long(bytes),
                         (long_us - short_us) / (many - few));
                    note("row-" + row_name(row), long(bytes), long_us);
                }
}

/* One stream for both ways, in pairs or in blocks of `group`: how the copies of a tile and
 * another follow one another. */
static void measure_pairs(struct gate &gate, size_t bytes)
{
    const int count = bytes >= 1 << 20 ? 32 : 96;
    for (rounds r(7); r.next();)
        for (int group : {1, 4, 16}) {
            struct mark_list marks(3);
            uint32_t salts[2];
            for (int way : {IN, OUT}) {
                prepare(way, count * bytes);
                salts[way] = salt_now;
            }
            gate.close(data.streams.data(), 64, marks.device + 2);
            for (int i = 0; i < count; i += group)
                for (int way : {IN, OUT})
                    for (int k = i; k < i + group; k++)
                        copy(way, (size_t)k * bytes, bytes, data.streams[32 * way]);
            for (int way : {IN, OUT})
                stamp<<<1, 1, 0, data.streams[32 * way]>>>(marks.device + way);
            CHECK(cudaGetLastError());
            gate.open();
            gate.finish();
            marks.read(3);
            for (int way : {IN, OUT})
                verify(way, count * bytes, salts[way]);
            note("both-ways-in-groups-of-" + std::to_string(group) + "-per-pair", long(bytes),
                 (std::max(marks.start_us(0), marks.start_us(1)) - marks.end_us(2)) / count);
        }
}

int main(int argc, char **argv)
{
    experiment_begin(argc, argv, "copies",
                     "copies out of several streams: their ends in order of issue (parameter: "
                     "place in that order, or the "
                     "stream), the time per copy of a row and of the row, and pairs both ways "
                     "(parameter: bytes of a copy)",
                     {"order", "gaps", "pairs"});
    open_data();
    struct gate gate;
    if (part("order"))
        for (int streams : {1, 2, 4, 8, 32})
            for (rounds r(5); r.next();)
                for (int variant = 0; variant < 16; variant++)
                    if ((streams > 1 || variant < 4) && (streams < 32 || variant < 8))
                        measure_order(gate, variant & 1, streams, variant & 4, variant & 8,
                                      variant & 2);
    for (size_t bytes = 4096; bytes <= 4 << 20; bytes *= 4) {
        if (part("gaps"))
            measure_gaps(gate, bytes);
        if (part("pairs"))
            measure_pairs(gate, bytes);
    }
    return 0;
}
