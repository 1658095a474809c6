"""Trains a small network on pictures that are drawn and distorted as they are asked for."""
import fcntl
import os
import sys
import time
import warnings

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore", category=DeprecationWarning)
BATCH, SIDE, WARM, STEPS = 32, 64, 8, 160
WORKERS = 0 if sys.argv[1] == "wrong" else 8


class Shapes(Dataset):
    """Stripes of four directions, each picture distorted by noise of its own."""

    def __init__(self):
        self.y, self.x = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32)

    def __len__(self):
        return BATCH * (WARM + STEPS)

    def __getitem__(self, number):
        rng = np.random.default_rng(number)
        label = number % 4
        angle = label * np.pi / 4 + rng.normal(scale=0.05)
        wave = np.sin((self.x * np.cos(angle) + self.y * np.sin(angle)) * rng.uniform(0.3, 0.5))
        picture = np.stack([wave, wave ** 2, np.abs(wave)]) + rng.standard_normal((3, SIDE, SIDE), dtype=np.float32)
        picture = (picture - picture.mean()) / picture.std()
        return torch.from_numpy(picture.astype(np.float32)), label


class Network(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        sizes = [3, width, width, width, width]
        self.convolutions = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in zip(sizes, sizes[1:]))
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        for layer in self.convolutions:
            x = torch.relu_(layer(x))
        return self.head(x.mean(dim=(2, 3)))


def main():
    torch.manual_seed(1)
    network = Network().cuda()
    optimiser = torch.optim.SGD(network.parameters(), lr=0.02, momentum=0.9)
    loader = iter(DataLoader(Shapes(), batch_size=BATCH, num_workers=WORKERS, pin_memory=True))
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    losses = []
    for step, (pictures, labels) in enumerate(loader):
        if step == WARM:
            torch.cuda.synchronize()
            begin = time.perf_counter()
        pictures, labels = pictures.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = nn.functional.cross_entropy(network(pictures), labels)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
        if step % 10 == 9:
            print(f"step {step + 1}: loss is finite: {bool(torch.isfinite(losses[-1]))}")
    torch.cuda.synchronize()
    took = time.perf_counter() - begin
    losses = torch.stack(losses).tolist()
    good = all(np.isfinite(losses)) and len(losses) == WARM + STEPS
    print(f"pass_ms={took * 1e3 / STEPS:.4f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
