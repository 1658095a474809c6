"""Pressure in a field of wells: an explicit scheme in many small steps; after each month the misfit is looked at."""
import fcntl
import os
import sys
import time

import torch

MONTHS, STEPS, SIDE = 60, 100, 768


def month(pressure, wells, rate):
    """A month, in place; all that it makes on the way is as large as the field."""
    for _ in range(STEPS):
        across = pressure[1:-1, 2:] + pressure[1:-1, :-2]
        along = pressure[2:, 1:-1] + pressure[:-2, 1:-1]
        flow = (across + along) * rate
        pressure[1:-1, 1:-1].mul_(1 - 4 * rate).add_(flow)
        pressure.add_(wells)
    return (pressure - 1).square().mean()


def recorded(pressure, wells, rate):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        misfit = month(pressure, wells, rate)

    def replay():
        graph.replay()
        return misfit

    return replay


@torch.no_grad()
def main():
    pressure = torch.ones(SIDE, SIDE, device="cuda")
    wells = torch.zeros(SIDE, SIDE, device="cuda")
    wells[::96, ::96] = -1e-3
    rate = 0.2
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):  # two months to begin with
            month(pressure, wells, rate)
    torch.cuda.current_stream().wait_stream(side)
    if sys.argv[1] == "wrong":
        step = lambda: month(pressure, wells, rate)
    else:
        step = recorded(pressure, wells, rate)
    pressure.fill_(1.0)

    torch.cuda.synchronize()
    begin = time.perf_counter()
    misfits = [step().item() for _ in range(MONTHS)]
    took = time.perf_counter() - begin

    lost = (1 - pressure.mean()).item()
    good = all(a < b for a, b in zip(misfits, misfits[1:])) and 0 < lost < MONTHS * STEPS * 1e-3
    print(f"{MONTHS} months, the field has lost {lost:.5f}")
    print(f"pass_ms={took * 1e3 / MONTHS:.4f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
