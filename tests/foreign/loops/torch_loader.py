"""Trains on pictures that are augmented with NumPy, in the training process or in workers of the loader."""
import fcntl
import os
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH, WARM, STEPS = 64, 6, 80


class Pictures(Dataset):
    def __init__(self):
        self.base = np.random.default_rng(5).integers(0, 256, (512, 36, 36, 3), dtype=np.uint8)

    def __len__(self):
        return BATCH * (WARM + STEPS)

    def __getitem__(self, index):
        chance = np.random.default_rng(index)
        top, left = chance.integers(0, 5, 2)
        picture = self.base[index % 512, top:top + 32, left:left + 32].astype(np.float32) / 255
        if chance.random() < 0.5:
            picture = picture[:, ::-1]
        picture = (picture + 0.05 * chance.standard_normal(picture.shape, dtype=np.float32)).clip(0, 1)
        return torch.from_numpy(np.ascontiguousarray(picture.transpose(2, 0, 1))), index % 10


def network():
    layers = [nn.Conv2d(3, 128, 3, padding=1), nn.ReLU()]
    for _ in range(6):
        layers += [nn.Conv2d(128, 128, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


def main():
    torch.manual_seed(5)
    net = network().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    workers = 0 if sys.argv[1] == "wrong" else 8
    batches = iter(DataLoader(Pictures(), BATCH, num_workers=workers, pin_memory=True))
    total = torch.zeros((), device="cuda")

    def train(steps):
        for _ in range(steps):
            pictures, labels = next(batches)
            loss = nn.functional.cross_entropy(net(pictures.cuda(non_blocking=True)), labels.cuda(non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total.add_(loss.detach())
        torch.cuda.synchronize()

    train(WARM)
    lock = open(os.environ.get("FOREIGN_LOCK", os.devnull), "a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    begin = time.perf_counter()
    train(STEPS)
    took = time.perf_counter() - begin
    mean = total.item() / (WARM + STEPS)
    print(f"trained {'well' if 0 < mean < 5 else 'badly'}")
    print(f"pass_ms={took * 1000 / STEPS:.4f}")
    return 0 if 0 < mean < 5 else 1


if __name__ == "__main__":
    sys.exit(main())
