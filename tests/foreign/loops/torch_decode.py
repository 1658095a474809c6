"""Generates tokens with a small recurrent language model; every eighth time the host reads them, to see whether it may stop."""
import fcntl
import os
import sys
import time

import torch
from torch import nn

WIDTH, DEPTH, VOCABULARY, TURNS, CHUNK = 1024, 12, 4096, 100, 8


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(DEPTH)])
        self.inner = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH)])
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, token, state):
        x = self.embedding(token) + 0.5 * state
        for norm, inner in zip(self.norms, self.inner):
            x = x + torch.relu(inner(norm(x)))
        return self.head(x).argmax(-1), torch.tanh(x)


class Decoder:
    def __init__(self, eager):
        self.model = Model().cuda().eval()
        self.token = torch.zeros(1, dtype=torch.long, device="cuda")
        self.state = torch.zeros(1, WIDTH, device="cuda")
        self.written = torch.zeros(CHUNK, dtype=torch.long, device="cuda")
        self.place = torch.zeros(1, dtype=torch.long, device="cuda")
        self.graph = None
        for _ in range(3):
            self.advance()
        torch.cuda.synchronize()
        if not eager:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.advance()
        for buffer in (self.token, self.state, self.written, self.place):
            buffer.zero_()

    def advance(self):
        token, state = self.model(self.token, self.state)
        self.token.copy_(token)
        self.state.copy_(state)
        self.written.index_copy_(0, self.place, token)
        self.place.add_(1).remainder_(CHUNK)

    def chunk(self):
        for _ in range(CHUNK):
            if self.graph is None:
                self.advance()
            else:
                self.graph.replay()
        return self.written.tolist()


@torch.no_grad()
def main():
    torch.manual_seed(9)
    decoder = Decoder(eager=sys.argv[1] == "wrong")
    decoder.chunk()
    lock = open(os.environ.get("FOREIGN_LOCK", os.devnull), "a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    text = []
    for _ in range(TURNS):
        text += decoder.chunk()
        if -1 in text:
            break
    torch.cuda.synchronize()
    took = time.perf_counter() - begin
    good = len(text) == TURNS * CHUNK and all(0 <= token < VOCABULARY for token in text)
    print(f"{len(text)} tokens")
    print(f"pass_ms={took * 1000 / TURNS:.4f}")
    return 0 if good else 1


sys.exit(main())
