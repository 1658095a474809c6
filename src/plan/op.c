/* op.c - what each kind of op reads and writes, and what things are called. */
#include "plan/op.h"

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
        if (op->kernel.repeat > 0) /* it goes on with what the launch before left */
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

/* Of what a kernel touches, only its inputs and its output can be on the host. */
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

const char *op_kind_name(enum op_kind kind)
{
    static const char *const names[OP_KIND_COUNT] = {
        [OP_H2D] = "h2d",       [OP_KERNEL] = "kernel", [OP_D2H] = "d2h",
        [OP_RECORD] = "record", [OP_WAIT] = "wait",     [OP_CALLBACK] = "callback",
        [OP_CPU] = "cpu",       [OP_D2D] = "d2d",       [OP_MEMSET] = "memset",
        [OP_SYNC] = "sync",     [OP_ALLOC] = "alloc",
    };
    return names[kind];
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
