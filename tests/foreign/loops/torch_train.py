"""Trains a small network; a step is issued op by op, or was captured once, forward, backward and optimiser."""
import fcntl
import os
import sys
import time

import torch
from torch import nn

WRONG = sys.argv[1] == "wrong"
BATCH, STEPS = 256, 300
LOCK = open(os.environ.get("FOREIGN_LOCK", os.devnull), "a")

torch.manual_seed(3)
device = torch.device("cuda")
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                      nn.Linear(256, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True)
inputs = torch.randn(STEPS + BATCH, 64, device=device)
targets = inputs[:, :8].sum(1, keepdim=True).sin()
x, y = torch.zeros(BATCH, 64, device=device), torch.zeros(BATCH, 1, device=device)


def step():
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def load(s):
    x.copy_(inputs[s:s + BATCH])
    y.copy_(targets[s:s + BATCH])


load(0)
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        first = step()
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
optimizer.zero_grad(set_to_none=True)
if not WRONG:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()

fcntl.flock(LOCK, fcntl.LOCK_EX)
for warm in (True, False):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for s in range(5 if warm else STEPS):
        load(s)
        if WRONG:
            optimizer.zero_grad(set_to_none=True)
            loss = step()
        else:
            graph.replay()
            loss = captured
    torch.cuda.synchronize()
took = time.perf_counter() - begin

better = loss.item() < first.item()
print(f"{STEPS} steps, the loss has {'fallen' if better else 'risen'}")
print(f"pass_ms={took * 1000 / STEPS:.4f}")
sys.exit(0 if better else 1)
