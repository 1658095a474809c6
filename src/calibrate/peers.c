/* peers.c - copies from device to device. Each device and the one that follows it are measured,
 * and the machine gets what the slowest of these pairs has. */
#include "calibrate/rig.h"
#include "machine/fields.h"

#include <math.h>
#include <stdio.h>

enum { LONG_BYTES = 64 << 20, LONG_COPIES = 32, SHORT_BYTES = 2 << 20, SHORT_COPIES = 128 };

/* Of one pair: a long copy's time one way, a long one each way at once, and a short one's. */
struct pair {
    struct row rows[3];
    struct measured steps[3];
};
enum pair_row { ONE_WAY, BOTH_WAYS, SHORT };

static enum status time_pair(struct rig *rig, uint32_t sender, struct pair *pair)
{
    static const char step[] = {ROW_PEER, '\0'};
    const struct row alike = {.steps = step,
                              .count = LONG_COPIES,
                              .bytes = LONG_BYTES,
                              .devices = settings_devices(&rig->settings),
                              .sender = sender};
    enum status status = STATUS_OK;
    for (int i = 0; i < 3; i++)
        pair->rows[i] = alike;
    pair->rows[BOTH_WAYS].both_ways = true;
    pair->rows[SHORT].count = SHORT_COPIES;
    pair->rows[SHORT].bytes = SHORT_BYTES;
    for (int i = 0; i < 3 && status == STATUS_OK; i++)
        status = rig_step(rig, &pair->rows[i], &pair->steps[i], NULL);
    return status;
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

/* Sets the latency to what short copies take longer than simulated ones without one. */
static enum status find_latency(struct rig *rig, const struct pair *pair, int64_t *latency_ns)
{
    struct machine *machine = &rig->calibration->machine;
    double said_ns;
    machine->peer_latency_ns = 0;
    if (rig_simulated_step(rig, &pair->rows[SHORT], &said_ns, NULL) != STATUS_OK)
        return rig->error->status;
    *latency_ns = llround(fmax(0, pair->steps[SHORT].ns - said_ns));
    return STATUS_OK;
}

/* Corrects the rate of both ways by what the simulator takes too long or too short: the gap
 * between copies is another while the other direction is busy. */
static enum status correct_joint(struct rig *rig, const struct pair *pair)
{
    double *joint = &rig->calibration->machine.peer_joint_bytes_per_s, said_ns;
    if (rig_simulated_step(rig, &pair->rows[BOTH_WAYS], &said_ns, NULL) != STATUS_OK)
        return rig->error->status;
    const double bytes_ns = 1e9 * 2 * LONG_BYTES / *joint + pair->steps[BOTH_WAYS].ns - said_ns;
    if (bytes_ns > 0)
        *joint = 1e9 * 2 * LONG_BYTES / bytes_ns;
    return STATUS_OK;
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
static enum status set_none(struct rig *rig)
{
    rig_known(rig, "peer_bytes_per_s", 0, "the devices can't reach each other's memory");
    rig_known(rig, "peer_joint_bytes_per_s", 0, "likewise");
    rig_known(rig, "peer_latency_ns", 0, "likewise");
    return STATUS_OK;
}

enum status calibrate_peers(struct rig *rig)
{
    struct machine *machine = &rig->calibration->machine;
    const uint32_t devices = settings_devices(&rig->settings);
    struct pair pair, slowest = {.steps[ONE_WAY].ns = 0};
    uint32_t which = 0;
    char each[96] = "";
    enum status status = STATUS_OK;
    if (devices < 2)
        return STATUS_OK; /* one alone has the figures of the machine file that stands for it */
    if (!machine_has_peers(rig->device))
        return set_none(rig);
    for (uint32_t i = 0; i + 1 < devices && status == STATUS_OK; i++) {
        status = time_pair(rig, i, &pair);
        if (status != STATUS_OK || !rig->last)
            continue;
        tell(each, sizeof each, i, rate_one_way(&pair));
        if (pair.steps[ONE_WAY].ns <= slowest.steps[ONE_WAY].ns)
            continue;
        slowest = pair;
        which = i;
    }
    if (status != STATUS_OK || !rig->last)
        return status;
    if (!is_sound(&slowest)) {
        rig_refuse(rig, "peer_bytes_per_s",
                   "can't be told: copies of more bytes took no longer than of fewer");
        return STATUS_OK;
    }
    int64_t latency_ns = 0;
    machine->peer_bytes_per_s = rate_one_way(&slowest);
    machine->peer_joint_bytes_per_s = rate_both_ways(&slowest);
    status = find_latency(rig, &slowest, &latency_ns);
    machine->peer_latency_ns = latency_ns;
    if (status == STATUS_OK)
        status = correct_joint(rig, &slowest);
    if (status == STATUS_OK)
        set_figures(rig, &slowest, which, devices > 2 ? each : "", latency_ns);
    return status;
}
