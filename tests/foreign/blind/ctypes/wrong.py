#!/usr/bin/env python3
"""Mixes a long row of words on the GPU, chunk by chunk, with nothing but ctypes and the driver's API."""
import ctypes as c
import sys
import time

CHUNK = 1 << 21  # words
CHUNKS = 20
PASSES = 8
LANES = 4
ROUNDS = 300
MULTIPLY, ADD = 1103515245, 12345

PTX = b"""
.version 6.4
.target sm_75
.address_size 64
.visible .entry mix(.param .u64 from, .param .u64 to, .param .u32 count, .param .u32 rounds)
{
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %a<6>;
    ld.param.u64 %a0, [from];
    ld.param.u64 %a1, [to];
    ld.param.u32 %r0, [count];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p0, %r5, %r0;
    @%p0 bra done;
    cvta.to.global.u64 %a2, %a0;
    cvta.to.global.u64 %a3, %a1;
    mul.wide.u32 %a4, %r5, 4;
    add.u64 %a2, %a2, %a4;
    add.u64 %a3, %a3, %a4;
    ld.global.u32 %r6, [%a2];
    mov.u32 %r7, 0;
again:
    mad.lo.u32 %r6, %r6, 1103515245, 12345;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p1, %r7, %r1;
    @%p1 bra again;
    st.global.u32 [%a3], %r6;
done:
    ret;
}
"""

cuda = c.CDLL("libcuda.so.1")


class CudaError(Exception):
    pass


def cu(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        raise CudaError(f"{name} returned {code}")


try:
    marks = c.CDLL("libnvtx3interop.so.1")
except OSError:
    marks = None


class Lane:
    def __init__(self):
        self.stream = c.c_void_p()
        cu("cuStreamCreate", c.byref(self.stream), 1)
        self.source, self.target = c.c_uint64(), c.c_uint64()
        cu("cuMemAlloc_v2", c.byref(self.source), c.c_size_t(CHUNK * 4))
        cu("cuMemAlloc_v2", c.byref(self.target), c.c_size_t(CHUNK * 4))
        self.values = (self.source, self.target, c.c_uint32(CHUNK), c.c_uint32(ROUNDS))
        self.arguments = (c.c_void_p * 4)(*(c.addressof(v) for v in self.values))

    def run(self, kernel, source, target):
        size = c.c_size_t(CHUNK * 4)
        cu("cuMemcpyHtoDAsync_v2", self.source, c.c_void_p(source), size, self.stream)
        cu("cuLaunchKernel", kernel, CHUNK // 256, 1, 1, 256, 1, 1, 0, self.stream, self.arguments, None)
        cu("cuMemcpyDtoHAsync_v2", c.c_void_p(target), self.target, size, self.stream)


def pinned(size):
    address = c.c_void_p()
    cu("cuMemHostAlloc", c.byref(address), c.c_size_t(size), 0)
    return address.value


def mixed(word):
    for _ in range(ROUNDS):
        word = (word * MULTIPLY + ADD) & 0xFFFFFFFF
    return word


def main():
    cu("cuInit", 0)
    context, module, kernel = c.c_void_p(), c.c_void_p(), c.c_void_p()
    cu("cuDevicePrimaryCtxRetain", c.byref(context), 0)
    cu("cuCtxSetCurrent", context)
    cu("cuModuleLoadData", c.byref(module), PTX)
    cu("cuModuleGetFunction", c.byref(kernel), module, b"mix")

    size = CHUNKS * CHUNK * 4
    source, target = pinned(size), pinned(size)
    row = b"".join((n * 2654435761 & 0xFFFFFFFF).to_bytes(4, "little") for n in range(4096))
    c.memmove(source, row * (size // len(row)), size)
    lanes = [Lane() for _ in range(LANES)]
    for lane in lanes:
        lane.run(kernel, source, target)
        cu("cuStreamSynchronize", lane.stream)

    if marks:
        marks.nvtxRangePushA(b"work")
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    for number in range(PASSES * CHUNKS):
        offset = number % CHUNKS * CHUNK * 4
        lanes[number % LANES].run(kernel, source + offset, target + offset)
        cu("cuCtxSynchronize")
    took = time.clock_gettime(time.CLOCK_MONOTONIC) - begin
    if marks:
        marks.nvtxRangePop()

    words = (c.c_uint32 * (CHUNKS * CHUNK)).from_address(target)
    for n in range(0, CHUNKS * CHUNK, 131101):
        if words[n] != mixed(n % 4096 * 2654435761 & 0xFFFFFFFF):
            print(f"word {n} is wrong")
            return 1
    print(f"{PASSES * CHUNKS} chunks mixed")
    print(f"time_ms={took * 1000:.3f}")
    return 0


sys.exit(main())
