/* op.c - the table of op kinds, and what each op reads and writes. */
#include "plan/op.h"

/* The colours are Okabe and Ito's, which people who see few colours can tell apart as well. The
 * grey #999999 is the one that is commonly added to them: on white paper and on a dark page it
 * stands back behind work, and can still be seen. Whatever only waits has it, a stream or the
 * host. Taking memory is not a wait, and has a darker grey. */
const struct op_row op_rows[OP_KIND_COUNT] = {
    [OP_H2D] = {"h2d", "H2D", "copy to the device", "cudaMemcpyAsync", ENGINE_H2D, 'H', 25,
                0x0072B2, .in_stream = true, .light_text = true},
    [OP_KERNEL] = {"kernel", "kernel", "kernel", "the kernel's launch", ENGINE_COMPUTE, 'K',
                   178, 0xE69F00, .in_stream = true},
    [OP_D2H] = {"d2h", "D2H", "copy back to the host", "cudaMemcpyAsync", ENGINE_D2H, 'D', 36,
                0x009E73, .in_stream = true},
    [OP_RECORD] = {"record", "record", "record an event", "cudaEventRecord", ENGINE_NONE, '-',
                   245, 0x999999, .in_stream = true},
    [OP_WAIT] = {"wait", "wait", "wait for an event", "cudaStreamWaitEvent", ENGINE_NONE, '-',
                 245, 0x999999, .in_stream = true, .waits = true},
    [OP_CALLBACK] = {"callback", "callback", "function on the host, in stream order",
                     "cudaLaunchHostFunc", ENGINE_HOST, 'B', 74, 0x56B4E9, .in_stream = true},
    [OP_CPU] = {"cpu", "CPU", "all of a tile's work on the CPU", "the CPU's work", ENGINE_CPU,
                'C', 175, 0xCC79A7, .in_stream = false},
    [OP_D2D] = {"d2d", "D2D", "copy within the device", "cudaMemcpyAsync", ENGINE_COMPUTE, 'E',
                166, 0xD55E00, .in_stream = true},
    [OP_MEMSET] = {"memset", "memset", "set memory of the device", "cudaMemsetAsync",
                   ENGINE_COMPUTE, 'Z', 227, 0xF0E442, .in_stream = true},
    [OP_SYNC] = {"sync", "sync", "the host waits for the device", "cudaStreamSynchronize",
                 ENGINE_HOST, 'S', 245, 0x999999, .on_host = true, .waits = true},
    [OP_ALLOC] = {"alloc", "alloc", "take memory or give it back", "cudaMalloc or cudaFree",
                  ENGINE_HOST, 'A', 243, 0x707070, .on_host = true, .light_text = true},
    [OP_SYNC_EVENT] = {"event-sync", "event-sync", "the host waits for an event",
                       "cudaEventSynchronize", ENGINE_HOST, 'S', 245, 0x999999, .on_host = true,
                       .waits = true},
    [OP_PACK] = {"pack", "pack", "the host packs or unpacks tiles", "the host's own copy",
                 ENGINE_HOST, 'P', 96, 0x8C6BB1, .on_host = true, .light_text = true},
    [OP_PEER] = {"peer", "peer", "copy to another device", "cudaMemcpyPeerAsync", ENGINE_PEER,
                 'X', 89, 0x882255, .in_stream = true, .light_text = true},
};

const struct engine_row engine_rows[ENGINE_COUNT] = {
    [ENGINE_H2D] = {"h2d", "H2D", false},     [ENGINE_COMPUTE] = {"compute", "kernel", false},
    [ENGINE_D2H] = {"d2h", "D2H", false},     [ENGINE_PEER] = {"peer", "peer", true},
    [ENGINE_CPU] = {"cpu", "CPU", false},     [ENGINE_HOST] = {"host", "host", false},
    [ENGINE_NONE] = {"none", "waits", false},
};

bool op_ranges_equal(const struct op_ranges *a, const struct op_ranges *b)
{
    bool equal = a->carry_own == b->carry_own;
    for (int i = 0; i < KERNEL_INPUTS_MAX; i++)
        equal = equal && range_equal(&a->in[i], &b->in[i]);
    return equal && range_equal(&a->resident, &b->resident) && range_equal(&a->out, &b->out) &&
           range_equal(&a->scratch, &b->scratch) && range_equal(&a->carry_in, &b->carry_in) &&
           range_equal(&a->carry_out, &b->carry_out);
}

static int access_add(struct access access[], int count, struct range range, int writes)
{
    if (range.bytes == 0)
        return count;
    access[count].range = range;
    access[count].writes = writes;
    return count + 1;
}

/* Adds all of `ranges`, which may be NULL; with `goes_on` the output is read, too. */
static int ranges_add(struct access access[], int count, const struct op_ranges *ranges,
                      bool goes_on)
{
    int n = count;
    if (ranges == NULL)
        return n;
    for (int i = 0; i < KERNEL_INPUTS_MAX; i++)
        n = access_add(access, n, ranges->in[i], 0);
    n = access_add(access, n, ranges->resident, 0);
    n = access_add(access, n, ranges->carry_in, 0);
    if (goes_on)
        n = access_add(access, n, ranges->out, 0);
    n = access_add(access, n, ranges->out, 1);
    n = access_add(access, n, ranges->scratch, 1);
    return access_add(access, n, ranges->carry_out, 1);
}

int op_accesses(const struct op *op, struct access access[OP_ACCESS_MAX])
{
    int n = 0;
    switch (op->kind) {
    case OP_H2D:
        n = access_add(access, n, op->copy.host, 0);
        n = access_add(access, n, op->copy.device, 1);
        break;
    case OP_D2H:
        n = access_add(access, n, op->copy.device, 0);
        n = access_add(access, n, op->copy.host, 1);
        break;
    case OP_KERNEL:
        /* A further launch reads what the one before it left. */
        n = ranges_add(access, n, op->kernel.ranges, op->kernel.repeat > 0);
        break;
    case OP_CPU:
        n = ranges_add(access, n, op->cpu.ranges, false);
        break;
    case OP_CALLBACK:
        n = access_add(access, n, op->callback.result, 0);
        n = ranges_add(access, n, op->callback.ranges, false);
        break;
    case OP_D2D:
    case OP_PACK:
    case OP_PEER:
        n = access_add(access, n, op->move.from, 0);
        n = access_add(access, n, op->move.to, 1);
        break;
    case OP_MEMSET:
        n = access_add(access, n, op->set.range, 1);
        break;
    case OP_ALLOC:
        n = access_add(access, n, op->alloc.range, 1);
        break;
    case OP_RECORD:
    case OP_WAIT:
    case OP_SYNC:
    case OP_SYNC_EVENT:
    case OP_KIND_COUNT:
        break;
    }
    return n;
}

static uint64_t host_bytes(const struct range *range)
{
    return range->buffer < BUFFER_FIRST_DEVICE ? range->bytes : 0;
}

/* Only inputs and outputs of a kernel can lie on the host; all else is the device's. */
void op_link_bytes(const struct op *op, uint64_t *in, uint64_t *out)
{
    *in = *out = 0;
    if (op->kind != OP_KERNEL || op->kernel.ranges == NULL)
        return;
    for (int i = 0; i < KERNEL_INPUTS_MAX; i++)
        *in += host_bytes(&op->kernel.ranges->in[i]);
    *out = host_bytes(&op->kernel.ranges->out);
    if (op->kernel.repeat > 0) /* see op_accesses() */
        *in += *out;
}

const char *buffer_name(enum buffer buffer)
{
    static const char *const names[BUFFER_COUNT] = {
        [BUFFER_HOST_IN0] = "host.in0",           [BUFFER_HOST_IN1] = "host.in1",
        [BUFFER_HOST_RESIDENT] = "host.resident", [BUFFER_HOST_OUT] = "host.out",
        [BUFFER_HOST_CARRY] = "host.carry",       [BUFFER_HOST_PACK_IN0] = "host.pack.in0",
        [BUFFER_HOST_PACK_IN1] = "host.pack.in1", [BUFFER_HOST_PACK_OUT] = "host.pack.out",
        [BUFFER_HOST_EXCHANGE] = "host.exchange", [BUFFER_DEVICE_IN0] = "device.in0",
        [BUFFER_DEVICE_IN1] = "device.in1",       [BUFFER_DEVICE_RESIDENT] = "device.resident",
        [BUFFER_DEVICE_OUT] = "device.out",       [BUFFER_DEVICE_SCRATCH] = "device.scratch",
        [BUFFER_DEVICE_CARRY] = "device.carry",   [BUFFER_DEVICE_OTHER] = "device.other",
    };
    return names[buffer];
}
