"""Chunks of readings are scaled in four slots; each chunk's stream is a new one, or its slot's."""
import fcntl
import os
import sys
import time

import cupy as cp
import cupyx

WRONG = sys.argv[1] == "wrong"
CHUNK, HOP, CHUNKS, PASSES, SLOTS = 1 << 19, 2048, 12, 200, 4
scale = cp.ElementwiseKernel("float32 x", "float32 y", "y = x; for (int k = 0; k < 60; k++) y = y * 0.999f + 1.0f", "scale")


class Slot:
    def __init__(self):
        self.readings = cp.empty(CHUNK, dtype=cp.float32)
        self.scaled = cp.empty(CHUNK, dtype=cp.float32)
        self.home = cupyx.empty_pinned(CHUNK, dtype="float32")
        self.open()

    def open(self):
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.done = cp.cuda.Event(disable_timing=True)

    def process(self, chunk):
        before = self.done
        if WRONG:
            self.open()
        self.stream.wait_event(before)
        self.readings.set(chunk, stream=self.stream)
        with self.stream:
            scale(self.readings, self.scaled)
        self.scaled.get(stream=self.stream, out=self.home, blocking=False)
        self.done.record(self.stream)


def main():
    log = cupyx.empty_pinned(CHUNK + HOP * (PASSES + CHUNKS), dtype="float32")
    log[:] = range(len(log))
    slots = [Slot() for _ in range(SLOTS)]

    def run(passes):
        for p in range(passes):
            for c in range(CHUNKS):
                at = HOP * (p + c)
                slots[c % SLOTS].process(log[at:at + CHUNK])
        cp.cuda.Device().synchronize()

    run(2)
    with open(os.environ.get("FOREIGN_LOCK", os.devnull), "a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        begin = time.perf_counter()
        run(PASSES)
        took = time.perf_counter() - begin
        want = float(log[HOP * (PASSES - 1 + CHUNKS - 1) + 77])
        for _ in range(60):
            want = want * 0.999 + 1
        good = abs(float(slots[(CHUNKS - 1) % SLOTS].home[77]) - want) < 1e-3 * want
        print(f"{PASSES * CHUNKS} chunks, {'right' if good else 'wrong'}")
        print(f"pass_ms={took * 1000 / PASSES:.4f}")
        return 0 if good else 1


sys.exit(main())
