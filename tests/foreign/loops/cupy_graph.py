"""Predators and prey on many islands, in short array operations: each by a call, or all of them as a graph."""
import fcntl
import os
import sys
import time

import cupy as cp

WRONG = sys.argv[1] == "wrong"
ISLANDS, DAYS, PASSES = 1 << 17, 14, 400

stream = cp.cuda.Stream(non_blocking=True)
with stream:
    prey = cp.full(ISLANDS, 10, dtype=cp.float32)
    predators = cp.linspace(3, 7, ISLANDS, dtype=cp.float32)
    meetings, births, deaths = (cp.empty(ISLANDS, dtype=cp.float32) for _ in range(3))


def days():
    for _ in range(DAYS):
        cp.multiply(prey, predators, out=meetings)
        cp.multiply(prey, cp.float32(0.002), out=births)
        cp.multiply(meetings, cp.float32(0.0004), out=deaths)
        cp.add(prey, births, out=prey)
        cp.subtract(prey, deaths, out=prey)
        cp.multiply(meetings, cp.float32(0.0002), out=births)
        cp.multiply(predators, cp.float32(0.002), out=deaths)
        cp.add(predators, births, out=predators)
        cp.subtract(predators, deaths, out=predators)


with stream:
    days()
    stream.synchronize()
    if not WRONG:
        stream.begin_capture()
        days()
        graph = stream.end_capture()
    turn = open(os.environ.get("FOREIGN_LOCK", os.devnull), "a")
    fcntl.flock(turn, fcntl.LOCK_EX)
    for warm in (True, False):
        stream.synchronize()
        begin = time.perf_counter()
        for _ in range(3 if warm else PASSES):
            if WRONG:
                days()
            else:
                graph.launch(stream)
        stream.synchronize()
    took = time.perf_counter() - begin
    alive = bool((prey > 0).all()) and bool((predators > 0).all()) and bool(cp.isfinite(prey).all())

print(f"{PASSES * DAYS} days, {'all islands live' if alive else 'some islands are empty'}")
print(f"pass_ms={took * 1000 / PASSES:.4f}")
sys.exit(0 if alive else 1)
