"""Speeds of sprinters, smoothed: positions from a meeting's file go through a filter on the GPU, race by race."""
import fcntl
import os
import sys
import tempfile
import time

import cupy as cp
import numpy as np

PASSES, WARM, LANES = 880, 6, 4
RACE = 256 * 1024  # samples of a race, at most
TILE = 12800 if sys.argv[1] == "wrong" else 128 * 1024  # samples sent at a time
ROUNDS = 22000

smooth = cp.RawKernel(
    r"""
extern "C" __global__ void smooth(const float *place, float *speed, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = i < n ? place[i] * 2e-3f : 0.0f;
    float v = 0;
#pragma unroll 16
    for (int r = 0; r < ROUNDS; ++r)
        v = fmaf(v, 0.998f, x);
    // A warp's mean is what is kept.
    for (int lag = 16; lag; lag /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, lag);
    if (i < n && threadIdx.x % 32 == 0)
        speed[i / 32] = v / 32;
}
""".replace("ROUNDS", str(ROUNDS)),
    "smooth",
)


def pinned(count):
    memory = cp.cuda.alloc_pinned_memory(count * 4)
    return memory, np.frombuffer(memory, np.float32, count)


class Lane:
    def __init__(self):
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.place = cp.empty(TILE, cp.float32)
        self.speed = cp.empty(TILE // 32, cp.float32)


def record(path):
    rng = np.random.default_rng(9)
    base = rng.random(RACE + 4096, dtype=np.float32)
    with open(path, "wb") as file:
        for p in range(WARM + PASSES):
            base[p : p + RACE].tofile(file)


def main():
    handle, path = tempfile.mkstemp()
    os.close(handle)
    record(path)
    hold, places = pinned((WARM + PASSES) * RACE)
    with open(path, "rb") as file:
        for p in range(WARM + PASSES):
            file.readinto(memoryview(places[p * RACE : (p + 1) * RACE]).cast("B"))
    os.unlink(path)
    hold_out, speeds = pinned((WARM + PASSES) * RACE // 32)
    speeds[:] = 0
    source, target = places.ctypes.data, speeds.ctypes.data
    lanes = [Lane() for _ in range(LANES)]
    cp.cuda.Device().synchronize()
    lock = None
    if os.environ.get("FOREIGN_LOCK"):
        lock = open(os.environ["FOREIGN_LOCK"], "a")
        fcntl.flock(lock, fcntl.LOCK_EX)

    turn = 0
    began = time.perf_counter()
    for p in range(WARM + PASSES):
        if p == WARM:
            cp.cuda.Device().synchronize()
            began = time.perf_counter()
        end = (p + 1) * RACE - p % 3 * 2048  # races last a little differently
        for at in range(p * RACE, end, TILE):
            n = min(TILE, end - at)
            lane = lanes[turn % LANES]
            turn += 1
            with lane.stream:
                lane.place.data.copy_from_host_async(source + at * 4, n * 4, lane.stream)
                smooth(((n + 255) // 256,), (256,), (lane.place, lane.speed, np.int32(n)))
                lane.speed.data.copy_to_host_async(target + at // 32 * 4, n // 32 * 4, lane.stream)
    cp.cuda.Device().synchronize()
    ms = (time.perf_counter() - began) * 1000 / PASSES

    ok = True
    for p in (0, WARM + PASSES // 2, WARM + PASSES - 1):
        n = RACE - p % 3 * 2048
        want = places[p * RACE : p * RACE + n].reshape(-1, 32).mean(1)
        got = speeds[p * RACE // 32 : (p * RACE + n) // 32]
        ok = ok and bool(np.allclose(got, want, atol=2e-3))
    print("mean speed:", float(speeds.mean()), "fine" if ok else "wrong")
    print(f"pass_ms={ms:.4f}")
    return 0 if ok else 1


sys.exit(main())
