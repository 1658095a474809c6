"""Range gates of a radar are cleaned on the GPU and go back to where they came from."""
import fcntl
import os
import sys
import time

import torch

SWEEPS, GATES, CELLS, ROWS = 120, 8, 2 << 20, 64


class Ring:
    """As many lanes as there are gates in flight: a stream and two buffers each."""

    def __init__(self, lanes):
        self.lanes = [
            (torch.cuda.Stream(), torch.zeros(CELLS, device="cuda"), torch.zeros(ROWS, CELLS // ROWS, device="cuda"))
            for _ in range(lanes)
        ]

    def __getitem__(self, number):
        return self.lanes[number % len(self.lanes)]


def sweep(gates, clutter, ring):
    for number, gate in enumerate(gates):
        stream, buffer, scratch = ring[number]
        with torch.cuda.stream(stream):
            buffer.copy_(gate, non_blocking=True)
            buffer.sub_(clutter).mul_(0.9)
            rows = buffer.view(ROWS, -1)
            for _ in range(4):
                torch.cumsum(rows, dim=1, out=scratch)
                torch.mul(scratch, ROWS / CELLS, out=rows)
            gate.copy_(buffer, non_blocking=True)


def by_hand(gate, clutter, times):
    for _ in range(times):
        gate = ((gate - clutter) * 0.9).view(ROWS, -1)
        for _ in range(4):
            gate = gate.cumsum(dim=1) * (ROWS / CELLS)
        gate = gate.view(-1)
    return gate


def main():
    torch.manual_seed(2)
    ring = Ring(2 if sys.argv[1] == "wrong" else 8)
    gates = [torch.rand(CELLS).pin_memory() for _ in range(GATES)]
    clutter = torch.linspace(0, 0.5, CELLS, device="cuda")
    torch.cuda.synchronize()
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    begin = time.perf_counter()
    for number in range(SWEEPS):
        if number == 1:  # the first sweep finds its kernels
            torch.cuda.synchronize()
            begin = time.perf_counter()
        sweep(gates, clutter, ring)
    torch.cuda.synchronize()
    took = time.perf_counter() - begin

    wanted = by_hand(torch.zeros(CELLS), clutter.cpu(), 30)  # what was there at first does not matter any more
    bad = sum(not torch.allclose(gate, wanted, atol=1e-3) for gate in gates)
    print(f"{SWEEPS} sweeps, {bad} bad gates")
    print(f"pass_ms={took * 1e3 / (SWEEPS - 1):.4f}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
