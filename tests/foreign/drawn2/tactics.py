"""What a team does next: a recurrent network with two gates runs over 240 moments of a match, for 128 matches at once.

usage: tactics.py wrong|right
"""
import fcntl
import os
import sys
import time

import torch

WRONG = sys.argv[1:] == ["wrong"]
MATCHES, FEATURES, HIDDEN, MOMENTS = 128, 64, 192, 240
PASSES, WARMUP, REPORT = 24, 2, 10

torch.manual_seed(4)
device = torch.device("cuda")


class Coach(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = torch.nn.Parameter(torch.randn(FEATURES, HIDDEN) * 0.1)
        self.kept = torch.nn.Parameter(torch.randn(HIDDEN, HIDDEN) * 0.05)
        self.gate = torch.nn.Parameter(torch.randn(HIDDEN, HIDDEN) * 0.05)
        self.bias = torch.nn.Parameter(torch.zeros(HIDDEN))

    def forward(self, moments):
        plan = torch.zeros(MATCHES, HIDDEN, device=moments.device)
        for moment in moments:
            new = torch.addmm(self.bias, moment, self.seen)
            new = torch.tanh(new + torch.mm(plan, self.kept))
            keep = torch.sigmoid(torch.mm(plan, self.gate))
            plan = torch.lerp(new, plan, keep)
        return plan.square().mean()


coach = Coach().to(device).eval()
games = torch.randn(WARMUP + PASSES, MOMENTS, MATCHES, FEATURES).pin_memory()
moments = torch.zeros(MOMENTS, MATCHES, FEATURES, device=device)
scores = torch.zeros(WARMUP + PASSES, device=device)

with torch.no_grad():
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for k in range(WARMUP):
            moments.copy_(games[k], non_blocking=True)
            scores[k] = coach(moments)
    torch.cuda.synchronize()

    if WRONG:
        def play():
            return coach(moments)
    else:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            score = coach(moments)

        def play():
            graph.replay()
            return score
    torch.cuda.synchronize()

    if os.environ.get("FOREIGN_LOCK"):
        lock = open(os.environ["FOREIGN_LOCK"], "w")
        fcntl.flock(lock, fcntl.LOCK_EX)

    took, begin = 0.0, time.perf_counter()
    for k in range(PASSES):
        moments.copy_(games[WARMUP + k], non_blocking=True)
        scores[WARMUP + k].copy_(play())
        if k % REPORT == REPORT - 1:
            torch.cuda.synchronize()
            took += time.perf_counter() - begin
            print(f"match day {k + 1}: {scores[WARMUP + k].item():.5f}")
            begin = time.perf_counter()
    torch.cuda.synchronize()
    took += time.perf_counter() - begin

    for k in (WARMUP, WARMUP + PASSES - 1):
        moments.copy_(games[k])
        if abs(coach(moments).item() - scores[k].item()) > 1e-4:
            print("day", k, "is wrong")
            sys.exit(1)
print(f"pass_ms={took / PASSES * 1e3:.4f}")
