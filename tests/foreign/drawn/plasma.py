"""A plasma in a periodic box, pushed by random forces that NumPy draws; the fields are torch's."""
import fcntl
import os
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch

wrong = sys.argv[1] == "wrong"
side, modes, steps, warm, slots = 4096, 448, 400, 3, 12


class Here:
    """An executor that works when it is asked."""

    def submit(self, function, *arguments):
        done = Future()
        done.set_result(function(*arguments))
        return done


class Forces:
    def __init__(self):
        self.host = [torch.empty(modes, modes, pin_memory=True) for _ in range(slots)]
        self.sent = [torch.cuda.Event() for _ in range(slots)]
        self.device = torch.empty(modes, modes, device="cuda")

    def draw(self, step):
        out = self.host[step % slots].numpy()
        np.random.default_rng(step).standard_normal(out=out, dtype=np.float32)
        np.tanh(out, out=out)
        return step

    def send(self, step):
        self.device.copy_(self.host[step % slots], non_blocking=True)
        self.sent[step % slots].record()
        return self.device


def main():
    frequency = torch.fft.fftfreq(side, device="cuda") * side
    damping = torch.exp(-1e-6 * (frequency[:, None] ** 2 + frequency[None, : side // 2 + 1] ** 2)) / 1.001
    charge = torch.zeros(side, side, device="cuda")
    forces = Forces()
    executor = Here() if wrong else ThreadPoolExecutor(6)
    ahead = 0 if wrong else 6
    torch.cuda.synchronize()
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    drawn, total = {}, warm + steps
    for step in range(min(ahead, total)):
        drawn[step] = executor.submit(forces.draw, step)
    for step in range(total):
        if step == warm:
            torch.cuda.synchronize()
            begin = time.perf_counter()
        if step + ahead < total:
            forces.sent[(step + ahead) % slots].synchronize()
            drawn[step + ahead] = executor.submit(forces.draw, step + ahead)
        drawn.pop(step).result()
        charge[:modes, :modes] += forces.send(step)
        spectrum = torch.fft.rfft2(charge)
        spectrum *= damping
        charge = torch.fft.irfft2(spectrum, s=(side, side))
        charge.clamp_(-50, 50)
    torch.cuda.synchronize()
    took = time.perf_counter() - begin

    energy = charge.square().mean().item()
    good = 0 < energy < 2500
    print(f"{steps} steps, {'stable' if good else 'UNSTABLE'}")
    print(f"pass_ms={took * 1e3 / steps:.4f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
