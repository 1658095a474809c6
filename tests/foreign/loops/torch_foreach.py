"""Large products, then an optimiser of one's own over 150 small parameters: in a loop, or as lists."""
import fcntl
import os
import sys
import time

import torch

WRONG = sys.argv[1] == "wrong"
STEPS = 110


class Averaged:
    """Plain descent with an average of the parameters beside."""

    def __init__(self, parameters, rate=0.01, keep=0.99):
        self.parameters, self.rate, self.keep = parameters, rate, keep
        self.average = [p.clone() for p in parameters]

    def step(self, gradients):
        if WRONG:
            for p, a, g in zip(self.parameters, self.average, gradients):
                p.add_(g, alpha=-self.rate)
                a.mul_(self.keep)
                a.add_(p, alpha=1 - self.keep)
        else:
            torch._foreach_add_(self.parameters, gradients, alpha=-self.rate)
            torch._foreach_mul_(self.average, self.keep)
            torch._foreach_add_(self.average, self.parameters, alpha=1 - self.keep)


def main():
    torch.manual_seed(8)
    parameters = [torch.ones(64, 64, device="cuda") for _ in range(150)]
    optimizer = Averaged(parameters)
    large = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) / 64
    inputs = torch.randn(4096 + STEPS, 4096, device="cuda", dtype=torch.bfloat16)
    pool = torch.empty(4096, 4096, device="cuda", dtype=torch.bfloat16)

    def step(s):
        torch.mm(inputs[s:s + 4096], large, out=pool)
        for _ in range(4):
            torch.mm(pool.clamp_(-4, 4), large, out=pool.new_empty(pool.shape))
        shift = pool[0, 0].float() * 0  # a gradient that hangs on the products
        optimizer.step([gradient + shift for gradient in gradients[:1]] + gradients[1:])

    gradients = [torch.full((64, 64), 0.1, device="cuda") for _ in range(150)]
    for s in range(3):
        step(s)
    torch.cuda.synchronize()
    with open(os.environ.get("FOREIGN_LOCK", os.devnull), "a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        begin = time.perf_counter()
        for s in range(STEPS):
            step(s)
        torch.cuda.synchronize()
        took = time.perf_counter() - begin
        want = 1 - 0.001 * (STEPS + 3)
        good = all(abs(p[3, 5].item() - want) < 1e-3 for p in (parameters[0], parameters[149]))
        print(f"{STEPS} steps, {'right' if good else 'wrong'}")
        print(f"pass_ms={took * 1000 / STEPS:.4f}")
        return 0 if good else 1


sys.exit(main())
