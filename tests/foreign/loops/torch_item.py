"""A recurrent cell of many small ops before a large head; the loss of each step is wanted for a curve."""
import fcntl
import os
import sys
import time

import torch

TURNS, WIDTH, LARGE, STEPS = 80, 256, 4096, 100


class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(WIDTH, WIDTH) / WIDTH**0.5)
        self.bias = torch.nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        h = x
        for _ in range(TURNS):
            h = torch.tanh(torch.addmm(self.bias, h, self.weight)) * 0.5 + x
        return h


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.randn(LARGE, LARGE) / LARGE**0.5) for _ in range(8)])

    def forward(self, h):
        z = h.reshape(-1).repeat(LARGE * LARGE // h.numel()).view(LARGE, LARGE).bfloat16()
        for layer in self.layers:
            z = z @ layer
        return z


@torch.no_grad()
def main(kind):
    lock = open(os.environ.get("FOREIGN_LOCK", os.devnull), "a")
    torch.manual_seed(4)
    cell, head = Cell().cuda(), Head().cuda().bfloat16()
    data = torch.randn(STEPS + 64, WIDTH, device="cuda")

    def run(steps):
        losses = []
        for s in range(steps):
            loss = head(cell(data[s:s + 64])).float().square().mean()
            losses.append(loss.item() if kind == "wrong" else loss)
        torch.cuda.synchronize()
        return losses

    run(3)
    fcntl.flock(lock, fcntl.LOCK_EX)
    begin = time.perf_counter()
    losses = run(STEPS)
    took = time.perf_counter() - begin
    curve = torch.tensor([float(loss) for loss in losses])
    good = bool(curve.isfinite().all()) and len(curve) == STEPS
    print(f"a curve of {len(curve)} points, {'finite' if good else 'not finite'}")
    print(f"pass_ms={took * 1000 / STEPS:.4f}")
    return 0 if good else 1


sys.exit(main(sys.argv[1]))
