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

/* Returns those of both directions, whose copies have beside their bytes what one direction's
 * have. */
static double rate_both_ways(const struct pair *pair)
{
    const double beside_ns = pair->steps[ONE_WAY].ns - 1e9 * LONG_BYTES / rate_one_way(pair);
    return 1e9 * 2 * LONG_BYTES / (pair->steps[BOTH_WAYS].ns - beside_ns);
}

/* Returns false if the times are none that copies can have. */
static bool is_sound(const struct pair *pair)
{
    const double one_way = rate_one_way(pair), both = rate_both_ways(pair);
    return pair->steps[SHORT].ns > 0 && one_way > 0 && isfinite(one_way) && both > 0 &&
           isfinite(both);
}

/* Returns the latency: what short copies take longer than simulated ones without one. */
static int64_t find_latency(struct rig *rig, const struct pair *pair)
{
    rig->calibration->machine.peer_latency_ns = 0;
    return llround(
        fmax(0, pair->steps[SHORT].ns - rig_simulated_step(rig, &pair->rows[SHORT], NULL)));
}

/* Corrects the rate of both ways by what the simulator takes too long or too short: the gap
 * between copies is another while the other direction is busy. */
static void correct_joint(struct rig *rig, const struct pair *pair)
{
    double *joint = &rig->calibration->machine.peer_joint_bytes_per_s;
    const double said_ns = rig_simulated_step(rig, &pair->rows[BOTH_WAYS], NULL);
    const double bytes_ns = 1e9 * 2 * LONG_BYTES / *joint + pair->steps[BOTH_WAYS].ns - said_ns;
    if (bytes_ns > 0)
        *joint = 1e9 * 2 * LONG_BYTES / bytes_ns;
}

static void set_figures(struct rig *rig, const struct pair *pair, uint32_t sender,
                        const char *each, int64_t latency_ns)
{
    char how[FIGURE_TEXT];
    const struct machine *machine = &rig->calibration->machine;
    snprintf(how, sizeof how, "copies of 64 MiB from device %u to %u, against 2 MiB%s", sender,
             sender + 1, each);
    rig_found(rig, "peer_bytes_per_s", machine->peer_bytes_per_s, pair->steps[ONE_WAY], how);
    rig_found(rig, "peer_joint_bytes_per_s", machine->peer_joint_bytes_per_s,
              pair->steps[BOTH_WAYS], "the same both ways at once");
    rig_found(rig, "peer_latency_ns", (double)latency_ns, pair->steps[SHORT],
              "what copies of 2 MiB take longer than their bytes and the gap");
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
    struct machine *machine = &rig->calibration->machine;
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
    if (!is_sound(&slowest)) /* they stay what they are: what stands for them, or a pass's */
        return;
    machine->peer_bytes_per_s = rate_one_way(&slowest);
    machine->peer_joint_bytes_per_s = rate_both_ways(&slowest);
    const int64_t latency_ns = find_latency(rig, &slowest);
    machine->peer_latency_ns = latency_ns;
    correct_joint(rig, &slowest);
    set_figures(rig, &slowest, which, devices > 2 ? each : "", latency_ns);
}
