"""Migrates seismic sections that are too many for the GPU, in slabs."""
import fcntl
import itertools
import os
import sys
import time

import torch

PASSES, SLABS, SIZE = 200, 6, 2 << 20
streams = [torch.cuda.Stream() for _ in range(1 if sys.argv[1] == "wrong" else 4)]
slabs = torch.empty(SLABS, SIZE, pin_memory=True)
work = [torch.empty(SIZE, device="cuda") for _ in streams]

# The travel times come first: a table that is built on the GPU and used by every slab.
depth = torch.linspace(0, 1, SIZE, device="cuda")
travel = torch.sqrt(1 + depth.square()).mul_(0.25)
slabs.copy_(torch.arange(SLABS * SIZE, dtype=torch.float32).remainder_(1000).view(SLABS, SIZE))
for buffer in work:
    torch.addcmul(travel, buffer.zero_(), travel)
torch.cuda.synchronize()
lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
if lock:
    fcntl.flock(lock, fcntl.LOCK_EX)

begin = time.perf_counter()
for number in range(1, PASSES + 1):
    for slab, stream, buffer in zip(slabs, itertools.cycle(streams), itertools.cycle(work)):
        with torch.cuda.stream(stream):
            buffer.copy_(slab, non_blocking=True)
            buffer.mul_(0.75).add_(travel)
            slab.copy_(buffer, non_blocking=True)
    if number % 25 == 0:
        torch.cuda.synchronize()
        print(f"pass {number}: {slabs[0, 0].item():.6f}")
torch.cuda.synchronize()
took = time.perf_counter() - begin

# What was there at first has been forgotten: every sample has come to rest at four times its travel time.
good = torch.allclose(slabs, (4 * travel).cpu().expand(SLABS, SIZE), rtol=1e-4)
print("migrated" if good else "wrong")
print(f"pass_ms={took * 1e3 / PASSES:.4f}")
sys.exit(not good)
