"""Scores photographic plates on the GPU, and sums each plate's scores up on the host as soon as they are there."""
import concurrent.futures
import fcntl
import os
import sys
import time

import cupy as cp
import cupyx
import numpy as np

NIGHTS, PLATES, LANES, PIXELS = 30, 32, 4, 2 << 20
score = cp.ElementwiseKernel(
    "float32 sky, float32 old", "float32 x", "x = old; for (int i = 0; i < 60; i++) x = fmaf(x, 0.9f, sky);", "score_plate")


class Lane:
    def __init__(self):
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.pixels = cp.empty(PIXELS, cp.float32)
        self.pixels.fill(0)


class Night:
    def __init__(self, plates, by_callback):
        self.plates = plates
        self.lanes = [Lane() for _ in range(LANES)]
        self.home = [cp.cuda.Event(disable_timing=True) for _ in range(PLATES)]
        self.sums = np.zeros(PLATES)
        self.pool = None if by_callback else concurrent.futures.ThreadPoolExecutor(6)

    def add_up(self, number):
        self.sums[number] = self.plates[number].sum()

    def wait_and_add_up(self, number):
        self.home[number].synchronize()
        self.add_up(number)

    def work(self, sky):
        pending = []
        for number, plate in enumerate(self.plates):
            lane = self.lanes[number % LANES]
            lane.pixels.data.copy_from_host_async(plate.ctypes.data, plate.nbytes, lane.stream)
            with lane.stream:
                score(np.float32(sky), lane.pixels, lane.pixels)
            lane.pixels.data.copy_to_host_async(plate.ctypes.data, plate.nbytes, lane.stream)
            self.home[number].record(lane.stream)
            if self.pool:
                pending.append(self.pool.submit(self.wait_and_add_up, number))
            else:
                lane.stream.launch_host_func(self.add_up, number)
        for lane in self.lanes:
            lane.stream.synchronize()
        for result in pending:
            result.result()


def main():
    plates = cupyx.empty_pinned((PLATES, PIXELS), np.float32)
    plates[:] = np.arange(PIXELS, dtype=np.float32) % 256  # the plates are read in first
    night = Night(plates, sys.argv[1] == "wrong")
    cp.cuda.Device().synchronize()
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    night.work(0.5)
    begin = time.perf_counter()
    for number in range(1, NIGHTS + 1):
        night.work(number * 0.1)
    took = time.perf_counter() - begin

    wanted = NIGHTS * 0.1 * 10 * PIXELS  # where scores come to rest, nearly
    good = bool(np.all(np.abs(night.sums / wanted - 1) < 0.01))
    print(f"{NIGHTS} nights, sums are {'right' if good else 'wrong'}")
    print(f"pass_ms={took * 1e3 / NIGHTS:.4f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
