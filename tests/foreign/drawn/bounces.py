"""Follows rays through a scene, bounce by bounce, as long as any of them has energy left."""
import fcntl
import os
import sys
import time

import torch

PICTURES, RAYS, BOUNCES = 60, 8 << 20, 48
ask = sys.argv[1] == "wrong"


class Rays:
    def __init__(self, device):
        self.place = torch.empty(RAYS, device=device)
        self.energy = torch.empty(RAYS, device=device)
        self.step = torch.linspace(-1, 1, RAYS, device=device)
        self.alive = torch.empty(RAYS, dtype=torch.bool, device=device)
        self.any = torch.zeros(BOUNCES, dtype=torch.bool, device=device)

    def begin(self, number):
        self.place.fill_(number)
        self.energy.fill_(1.0)

    def bounce(self):
        self.place.add_(self.step)
        self.energy.mul_(0.97)
        torch.gt(self.energy, 0.05, out=self.alive)

    def picture(self, number):
        """Returns how often the rays were reflected."""
        self.begin(number)
        for bounce in range(BOUNCES):
            self.bounce()
            if ask:
                if not self.alive.any():
                    return bounce
            else:
                torch.any(self.alive, out=self.any[bounce])
        return BOUNCES if ask else int(self.any.sum())


def main():
    rays = Rays(torch.device("cuda"))
    torch.cuda.synchronize()
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    rays.picture(0)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    reflected = [rays.picture(number) for number in range(PICTURES)]
    torch.cuda.synchronize()
    took = time.perf_counter() - begin

    right_edge = rays.place[-1].item()
    good = reflected == [BOUNCES] * PICTURES and abs(right_edge - (PICTURES - 1 + BOUNCES)) < 1e-2
    print(f"{PICTURES} pictures, {sum(reflected)} bounces, {right_edge:.3f}")
    print(f"pass_ms={took * 1e3 / PICTURES:.4f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
