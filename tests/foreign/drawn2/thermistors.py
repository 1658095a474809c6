"""Calibrates the readings of an array of thermistors and keeps each scan's hottest value."""
import fcntl
import os
import sys
import tempfile
import time

import numpy as np
import torch

SCANS, CHANNELS, PASSES, WARM = 1024, 4096, 248, 4
ROWS = 32 if sys.argv[1] == "wrong" else 1024  # scans that are calibrated at a time
LANES = 4


def measure(path):
    rng = np.random.default_rng(3)
    base = rng.integers(-120, 120, size=SCANS * CHANNELS + WARM + PASSES, dtype=np.int8)
    with open(path, "wb") as file:
        for p in range(WARM + PASSES):
            base[p : p + SCANS * CHANNELS].tofile(file)


def load(path):
    raw = torch.empty((WARM + PASSES, SCANS, CHANNELS), dtype=torch.int8, pin_memory=True)
    with open(path, "rb") as file:
        file.readinto(memoryview(raw.numpy()).cast("B"))
    return raw


class Lane:
    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.raw = torch.empty((ROWS, CHANNELS), dtype=torch.int8, device="cuda")
        self.value = torch.empty((ROWS, CHANNELS), device="cuda")
        self.warm = torch.empty((ROWS, CHANNELS), device="cuda")
        self.top = torch.empty(ROWS, device="cuda")


def main():
    handle, path = tempfile.mkstemp()
    os.close(handle)
    measure(path)
    raw = load(path)
    os.unlink(path)
    mix = (torch.eye(CHANNELS) * 0.5 + torch.full((CHANNELS, CHANNELS), 1e-4)).cuda()
    hottest = torch.zeros((WARM + PASSES, SCANS), pin_memory=True)
    lanes = [Lane() for _ in range(LANES)]
    torch.cuda.synchronize()
    lock = None
    if os.environ.get("FOREIGN_LOCK"):
        lock = open(os.environ["FOREIGN_LOCK"], "a")
        fcntl.flock(lock, fcntl.LOCK_EX)

    turn = 0
    began = time.perf_counter()
    for p in range(WARM + PASSES):
        if p == WARM:
            torch.cuda.synchronize()
            began = time.perf_counter()
        scans, tops = raw[p], hottest[p]
        for row in range(0, SCANS, ROWS):
            lane = lanes[turn % LANES]
            turn += 1
            with torch.cuda.stream(lane.stream):
                lane.raw.copy_(scans[row : row + ROWS], non_blocking=True)
                lane.value.copy_(lane.raw)
                torch.mm(lane.value, mix, out=lane.warm)
                torch.amax(lane.warm, 1, out=lane.top)
                tops[row : row + ROWS].copy_(lane.top, non_blocking=True)
    torch.cuda.synchronize()
    ms = (time.perf_counter() - began) * 1000 / PASSES

    ok = True
    for p in (0, WARM + PASSES // 2, WARM + PASSES - 1):
        x = raw[p, :8].float()
        want = (x * 0.5 + x.sum(1, keepdim=True) * 1e-4).amax(1)
        ok = ok and bool(torch.allclose(hottest[p, :8], want, atol=2e-2))
    print("mean of the hottest:", float(hottest.mean()), "fine" if ok else "wrong")
    print(f"pass_ms={ms:.4f}")
    return 0 if ok else 1


sys.exit(main())
