"""Finds the largest eigenvalue by iteration; whether it may stop is asked after each product, or after every 25th."""
import fcntl
import os
import sys
import time

import cupy as cp

SIZE, PASSES = 14336, 400
EVERY = 1 if sys.argv[1] == "wrong" else 25


def matrix():
    i = cp.arange(SIZE, dtype=cp.float32)
    a = cp.cos(i[:, None] * i[None, :] * cp.float32(1e-4))
    a += cp.float32(2)
    return a


class Iteration:
    def __init__(self, a):
        self.a = a
        self.v = cp.ones(SIZE, dtype=cp.float32) / cp.float32(SIZE**0.5)
        self.change = None

    def advance(self):
        w = self.a @ self.v
        self.value = cp.sqrt(cp.dot(w, w))
        w /= self.value
        self.change = cp.abs(w - self.v).max()
        self.v = w

    def has_converged(self):
        return float(self.change) < 0


def main():
    iteration = Iteration(matrix())
    for _ in range(3):
        iteration.advance()
        iteration.has_converged()
    lock = open(os.environ.get("FOREIGN_LOCK", os.devnull), "a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    cp.cuda.Device().synchronize()
    begin = time.perf_counter()
    for p in range(PASSES):
        iteration.advance()
        if p % EVERY == EVERY - 1 and iteration.has_converged():
            break
    cp.cuda.Device().synchronize()
    took = time.perf_counter() - begin
    good = float(iteration.change) < 1e-3 and float(iteration.value) > SIZE
    print(f"{p + 1} products: {'an eigenvalue' if good else 'no eigenvalue'}")
    print(f"pass_ms={took * 1000 / PASSES:.4f}")
    return 0 if good else 1


sys.exit(main())
