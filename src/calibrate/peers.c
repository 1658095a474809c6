/* peers.c - copies from device to device. Each device and the one that follows it are measured,
 * and the machine gets what the slowest of these pairs has. */
#include "calibrate/rig.h"

#include <math.h>
#include <stdio.h>

enum { LONG_BYTES = 64 << 20, LONG_COPIES = 32, SHORT_BYTES = 2 << 20, SHORT_COPIES = 128 };

/* Of one pair: a long copy's time one way, a long one each way at once, and a short one's. */
struct pair {
    struct row rows[3];
    struct measured steps[3];
};
enum pair_row { ONE_WAY, BOTH_WAYS, SHORT };

static struct pair time_pair(struct rig *rig, uint32_t sender)
{
    static const char step[] = {ROW_PEER, '\0'};
    const struct row alike = {.steps = step,
                              .count = LONG_COPIES,
                              .bytes = LONG_BYTES,
                              .devices = settings_devices(&rig->settings),
                              .sender = sender};
    struct pair pair = {.rows = {alike, alike, alike}};
    pair.rows[BOTH_WAYS].both_ways = true;
    pair.rows[SHORT].count = SHORT_COPIES;
    pair.rows[SHORT].bytes = SHORT_BYTES;
    for (int i = 0; i < 3; i++)
        pair.steps[i] = rig_step(rig, &pair.rows[i], NULL);
    return pair;
}

/* Returns the bytes per second of one direction: what a long copy takes more than a short one
 * is all bytes. The short one takes longer than its call. */
static double rate_one_way(const struct pair *pair)
{
    return 1e9 * (double)(LONG_BYTES - SHORT_BYTES) /
           (pair->steps[ONE_WAY].ns - pair->steps[SHORT].ns);
}

/* The latency is what short copies take longer than simulated ones without one. */
static void set_figures(struct rig *rig, const struct pair *pair, uint32_t sender,
                        const char *each)
{
    char how[FIGURE_TEXT];
    struct machine *machine = &rig->calibration->machine;
    const double rate = rate_one_way(pair);
    if (!(pair->steps[SHORT].ns > 0 && rate > 0 && isfinite(rate)))
        return; /* the figures stay what they are: what stands for them, or a pass's */
    snprintf(how, sizeof how, "copies of 64 MiB from device %u to %u, against 2 MiB%s", sender,
             sender + 1, each);
    rig_found(rig, "peer_bytes_per_s", rate, pair->steps[ONE_WAY], how);
    const double one_way = machine->peer_bytes_per_s;
    const struct fitted_rate joint = {"peer_joint_bytes_per_s", "the same both ways at once",
                                      one_way / 2, 2 * one_way};
    machine->peer_joint_bytes_per_s = 2 * one_way;
    machine->peer_latency_ns = 0;
    rig_found(
        rig, "peer_latency_ns",
        fmax(0, pair->steps[SHORT].ns - rig_simulated_step(rig, &pair->rows[SHORT], NULL)),
        pair->steps[SHORT], "what copies of 2 MiB take longer than their bytes and the gap");
    rig_fit_rate(rig, &joint, &pair->rows[BOTH_WAYS], pair->steps[BOTH_WAYS]);
}

/* Adds a pair's rate to a text of all, "; by pair, GB/s: 395, 393". */
static void tell(char *text, size_t size, uint32_t sender, double rate)
{
    const size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%.4g", sender == 0 ? "; by pair, GB/s: " : ", ",
             1e-9 * rate);
}

/* Says that the devices can't reach each other's memory. */
static void set_none(struct rig *rig)
{
    rig_known(rig, "peer_bytes_per_s", 0, "the devices can't reach each other's memory");
    rig_known(rig, "peer_joint_bytes_per_s", 0, "likewise");
    rig_known(rig, "peer_latency_ns", 0, "likewise");
}

void calibrate_peers(struct rig *rig)
{
    const uint32_t devices = settings_devices(&rig->settings);
    struct pair slowest = {.steps[ONE_WAY].ns = 0};
    uint32_t which = 0;
    char each[96] = "";
    if (devices < 2)
        return; /* one alone has the figures of the machine file that stands for it */
    if (!machine_has_peers(rig->device)) {
        set_none(rig);
        return;
    }
    for (uint32_t i = 0; i + 1 < devices; i++) {
        const struct pair pair = time_pair(rig, i);
        tell(each, sizeof each, i, rate_one_way(&pair));
        if (pair.steps[ONE_WAY].ns <= slowest.steps[ONE_WAY].ns)
            continue;
        slowest = pair;
        which = i;
    }
    set_figures(rig, &slowest, which, devices > 2 ? each : "");
}
