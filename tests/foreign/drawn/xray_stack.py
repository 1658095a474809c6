"""Corrects a stack of X-ray pictures that stays in host memory; it passes through the GPU in chunks."""
import fcntl
import os
import sys
import time

import torch

CHUNKS = 2 if sys.argv[1] == "wrong" else 32
LANES = min(CHUNKS, 4)
PIXELS = 256 << 20
PASSES = 8


def correct(stack, lanes):
    for number, chunk in enumerate(stack.chunk(CHUNKS)):
        stream, buffer = lanes[number % LANES]
        with torch.cuda.stream(stream):
            buffer.copy_(chunk, non_blocking=True)
            buffer.mul_(0.97).add_(0.5)
            chunk.copy_(buffer, non_blocking=True)
    torch.cuda.synchronize()


def main():
    stack = torch.empty(PIXELS, pin_memory=True)
    stack.copy_(torch.arange(PIXELS, dtype=torch.float32).remainder_(4096))
    lanes = [(torch.cuda.Stream(), torch.empty(PIXELS // CHUNKS, device="cuda")) for _ in range(LANES)]
    torch.cuda.synchronize()
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    for _ in range(3):
        correct(stack, lanes)
    begin = time.perf_counter()
    for _ in range(PASSES):
        correct(stack, lanes)
    took = time.perf_counter() - begin

    wanted = torch.arange(0, PIXELS, 100003, dtype=torch.float32).remainder_(4096)
    for _ in range(PASSES + 3):
        wanted = wanted * 0.97 + 0.5
    good = torch.allclose(stack[::100003], wanted, rtol=1e-4, atol=1e-3)
    print(f"{PASSES} passes, {'good' if good else 'BAD'}")
    print(f"pass_ms={took * 1e3 / PASSES:.4f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
