/* op.c - the table of op kinds, and what each op reads and writes. */
#include "plan/op.h"

/* The colours are Okabe and Ito's, which people who see few colours can tell apart as well. The
 * grey #999999 is the one that is commonly added to them: on white paper and on a dark page it
 * stands back behind work, and can still be seen. Whatever only waits has it, a stream or the
 * host. Taking memory is not a wait, and has a darker grey. */
const struct op_row op_rows[OP_KIND_COUNT] = {
    [OP_H2D] = {.name = "h2d",
                .label = "H2D",
                .title = "copy to the device",
                .call = "cudaMemcpyAsync",
                .letter = 'H',
                .light_text = true,
                .terminal = 25,
                .color = 0x0072B2,
                .engine = ENGINE_H2D,
                .in_stream = true},
    [OP_KERNEL] = {.name = "kernel",
                   .label = "kernel",
                   .title = "kernel",
                   .call = "the kernel's launch",
                   .letter = 'K',
                   .terminal = 178,
                   .color = 0xE69F00,
                   .engine = ENGINE_COMPUTE,
                   .in_stream = true},
    [OP_D2H] = {.name = "d2h",
                .label = "D2H",
                .title = "copy back to the host",
                .call = "cudaMemcpyAsync",
                .letter = 'D',
                .terminal = 36,
                .color = 0x009E73,
                .engine = ENGINE_D2H,
                .in_stream = true},
    [OP_RECORD] = {.name = "record",
                   .label = "record",
                   .title = "record an event",
                   .call = "cudaEventRecord",
                   .letter = '-',
                   .terminal = 245,
                   .color = 0x999999,
                   .engine = ENGINE_NONE,
                   .in_stream = true},
    [OP_WAIT] = {.name = "wait",
                 .label = "wait",
                 .title = "wait for an event",
                 .call = "cudaStreamWaitEvent",
                 .letter = '-',
                 .terminal = 245,
                 .color = 0x999999,
                 .engine = ENGINE_NONE,
                 .in_stream = true,
                 .waits = true},
    [OP_CALLBACK] = {.name = "callback",
                     .label = "callback",
                     .title = "function on the host, in stream order",
                     .call = "cudaLaunchHostFunc",
                     .letter = 'B',
                     .terminal = 74,
                     .color = 0x56B4E9,
                     .engine = ENGINE_HOST,
                     .in_stream = true},
    [OP_CPU] = {.name = "cpu",
                .label = "CPU",
                .title = "all of a tile's work on the CPU",
                .call = "the CPU's work",
                .letter = 'C',
                .terminal = 175,
                .color = 0xCC79A7,
                .engine = ENGINE_CPU},
    [OP_D2D] = {.name = "d2d",
                .label = "D2D",
                .title = "copy within the device",
                .call = "cudaMemcpyAsync",
                .letter = 'E',
                .terminal = 166,
                .color = 0xD55E00,
                .engine = ENGINE_COMPUTE,
                .in_stream = true},
    [OP_MEMSET] = {.name = "memset",
                   .label = "memset",
                   .title = "set memory of the device",
                   .call = "cudaMemsetAsync",
                   .letter = 'Z',
                   .terminal = 227,
                   .color = 0xF0E442,
                   .engine = ENGINE_COMPUTE,
                   .in_stream = true},
    [OP_SYNC] = {.name = "sync",
                 .label = "sync",
                 .title = "the host waits for the device",
                 .call = "cudaStreamSynchronize",
                 .letter = 'S',
                 .terminal = 245,
                 .color = 0x999999,
                 .engine = ENGINE_HOST,
                 .on_host = true,
                 .waits = true},
    [OP_ALLOC] = {.name = "alloc",
                  .label = "alloc",
                  .title = "take memory and give it back",
                  .call = "cudaMalloc or cudaFree",
                  .letter = 'A',
                  .light_text = true,
                  .terminal = 243,
                  .color = 0x707070,
                  .engine = ENGINE_HOST,
                  .on_host = true},
};

const struct engine_row engine_rows[ENGINE_COUNT] = {
    [ENGINE_H2D] = {"h2d", "H2D"},    [ENGINE_COMPUTE] = {"compute", "kernel"},
    [ENGINE_D2H] = {"d2h", "D2H"},    [ENGINE_CPU] = {"cpu", "CPU"},
    [ENGINE_HOST] = {"host", "host"}, [ENGINE_NONE] = {"none", "waits"},
};

static int access_add(struct access access[], int count, struct range range, int writes)
{
    if (range.bytes == 0)
        return count;
    access[count].range = range;
    access[count].writes = writes;
    return count + 1;
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
        for (int i = 0; i < KERNEL_INPUTS_MAX; i++)
            n = access_add(access, n, op->kernel.in[i], 0);
        n = access_add(access, n, op->kernel.resident, 0);
        n = access_add(access, n, op->kernel.carry_in, 0);
        if (op->kernel.repeat > 0) /* reads what the launch before it left */
            n = access_add(access, n, op->kernel.out, 0);
        n = access_add(access, n, op->kernel.out, 1);
        n = access_add(access, n, op->kernel.scratch, 1);
        n = access_add(access, n, op->kernel.carry_out, 1);
        break;
    case OP_CPU:
        for (int i = 0; i < KERNEL_INPUTS_MAX; i++)
            n = access_add(access, n, op->cpu.in[i], 0);
        n = access_add(access, n, op->cpu.resident, 0);
        n = access_add(access, n, op->cpu.out, 1);
        break;
    case OP_CALLBACK:
        n = access_add(access, n, op->callback.result, 0);
        n = access_add(access, n, op->callback.before, 0);
        n = access_add(access, n, op->callback.total, 0);
        n = access_add(access, n, op->callback.next, 1);
        break;
    case OP_D2D:
        n = access_add(access, n, op->d2d.from, 0);
        n = access_add(access, n, op->d2d.to, 1);
        break;
    case OP_MEMSET:
        n = access_add(access, n, op->set.range, 1);
        break;
    case OP_RECORD:
    case OP_WAIT:
    case OP_SYNC:
    case OP_ALLOC:
    case OP_KIND_COUNT:
        break;
    }
    return n;
}

static uint64_t host_bytes(const struct range *range)
{
    return range->buffer < BUFFER_FIRST_DEVICE ? range->bytes : 0;
}

/* Only inputs and outputs of a kernel can lie on the host: its other buffers are the device's.
 */
void op_link_bytes(const struct op *op, uint64_t *in, uint64_t *out)
{
    *in = *out = 0;
    if (op->kind != OP_KERNEL)
        return;
    for (int i = 0; i < KERNEL_INPUTS_MAX; i++)
        *in += host_bytes(&op->kernel.in[i]);
    *out = host_bytes(&op->kernel.out);
    if (op->kernel.repeat > 0) /* see op_accesses() */
        *in += *out;
}

const char *buffer_name(enum buffer buffer)
{
    static const char *const names[BUFFER_COUNT] = {
        [BUFFER_HOST_IN0] = "host.in0",           [BUFFER_HOST_IN1] = "host.in1",
        [BUFFER_HOST_RESIDENT] = "host.resident", [BUFFER_HOST_OUT] = "host.out",
        [BUFFER_HOST_CARRY] = "host.carry",       [BUFFER_DEVICE_IN0] = "device.in0",
        [BUFFER_DEVICE_IN1] = "device.in1",       [BUFFER_DEVICE_RESIDENT] = "device.resident",
        [BUFFER_DEVICE_OUT] = "device.out",       [BUFFER_DEVICE_SCRATCH] = "device.scratch",
        [BUFFER_DEVICE_CARRY] = "device.carry",   [BUFFER_DEVICE_OTHER] = "device.other",
    };
    return names[buffer];
}
