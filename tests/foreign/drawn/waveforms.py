"""Matched filters for radar waveforms of three lengths; the filter is captured as a graph for its length."""
import fcntl
import os
import sys
import time

import torch

DWELLS, REPEATS, LENGTHS = 20, 24, (1 << 21, 3 << 20, 1 << 22)


class Filter:
    def __init__(self, length, rows):
        self.echo = torch.zeros(length, device="cuda")
        self.rows = rows
        self.graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.filtered()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.result = self.filtered()

    def filtered(self):
        x = self.echo.view(self.rows, -1)
        for tap in range(12):
            x = torch.roll(x, 1, dims=1) * 0.5 + x * 0.5
        return x.mean()

    def dwell(self, level):
        self.echo.fill_(level)
        total = torch.zeros((), device="cuda")
        for _ in range(REPEATS):
            self.graph.replay()
            total += self.result
            self.echo.mul_(0.5)
        return total


def best_rows():
    """The shape that is fastest, by a try."""
    times = {}
    for rows in (256, 512, 1024):
        trial = Filter(LENGTHS[0], rows)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(5):
            trial.graph.replay()
        torch.cuda.synchronize()
        times[rows] = time.perf_counter() - begin
        del trial
    return min(times, key=times.get)


@torch.no_grad()
def main(again):
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    rows = best_rows()
    filters = {} if again else {length: Filter(length, rows) for length in LENGTHS}
    levels = torch.zeros(DWELLS, device="cuda")
    torch.cuda.synchronize()

    begin = time.perf_counter()
    for number in range(DWELLS):
        length = LENGTHS[number % len(LENGTHS)]
        use = Filter(length, rows) if again else filters[length]
        levels[number] = use.dwell(number + 1.0)
        torch.cuda.synchronize()
        del use
    took = time.perf_counter() - begin

    wanted = torch.arange(1, DWELLS + 1, device="cuda") * (2 - 0.5 ** (REPEATS - 1))
    good = torch.allclose(levels, wanted, rtol=1e-3)
    print(f"{DWELLS} dwells, {'right' if good else 'wrong'}")
    print(f"pass_ms={took * 1e3 / DWELLS:.4f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] == "wrong"))
