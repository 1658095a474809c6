"""A chain of short Triton kernels, launched one by one or as a graph that was captured once."""
import fcntl
import os
import sys
import time

import torch
import triton
import triton.language as tl

SIZE, BLOCK, LINKS, PASSES = 1 << 18, 512, 100, 400


@triton.jit
def relax(source, target, weight, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(source + tl.maximum(at - 1, 0), mask=at < n)
    here = tl.load(source + at, mask=at < n)
    right = tl.load(source + tl.minimum(at + 1, n - 1), mask=at < n)
    tl.store(target + at, here + weight * (left - 2 * here + right), mask=at < n)


class Chain:
    def __init__(self, rod, one_by_one):
        self.buffers = [rod, torch.empty_like(rod)]
        self.issue()
        torch.cuda.synchronize()
        self.graph = None
        if not one_by_one:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.issue()

    def issue(self):
        for link in range(LINKS):
            source, target = self.buffers[link % 2], self.buffers[1 - link % 2]
            relax[(SIZE // BLOCK,)](source, target, 0.25, SIZE, BLOCK=BLOCK)

    def run(self):
        if self.graph is None:
            self.issue()
        else:
            self.graph.replay()


def main():
    rod = torch.arange(SIZE, device="cuda", dtype=torch.float32) % 64
    mean = rod.double().mean().item()
    chain = Chain(rod, sys.argv[1] == "wrong")
    turn = open(os.environ.get("FOREIGN_LOCK", os.devnull), "a")
    fcntl.flock(turn, fcntl.LOCK_EX)
    for _ in range(3):
        chain.run()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(PASSES):
        chain.run()
    torch.cuda.synchronize()
    took = time.perf_counter() - begin
    good = abs(rod.double().mean().item() - mean) < 0.1 and rod[1000:-1000].std().item() < 1
    print(f"{PASSES * LINKS} links, {'smooth' if good else 'not smooth'}")
    print(f"pass_ms={took * 1000 / PASSES:.4f}")
    return 0 if good else 1


sys.exit(main())
