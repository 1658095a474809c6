"""A small language model speaks: sentences of sixteen tokens, for 64 speakers at once."""
import fcntl
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

SENTENCES, TOKENS, SPEAKERS, WIDTH, LAYERS, WORDS = 20, 16, 64, 512, 16, 2048


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.gate, self.up, self.down = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, token):
        return self.head(self.layers(self.words(token))).argmax(dim=-1)


@torch.inference_mode()
def main(eager):
    torch.manual_seed(11)
    model = Model().cuda().eval()
    token = torch.zeros(SPEAKERS, dtype=torch.int64, device="cuda")
    said = torch.zeros(SENTENCES, TOKENS, SPEAKERS, dtype=torch.int64, device="cuda")

    def speak():
        token.copy_(model(token))

    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3 * TOKENS):  # three sentences that nobody hears
            speak()
    torch.cuda.current_stream().wait_stream(side)
    if not eager:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            speak()

    torch.cuda.synchronize()
    begin = time.perf_counter()
    for sentence in range(SENTENCES):
        token.fill_(sentence)
        for place in range(TOKENS):
            if eager:
                speak()
            else:
                graph.replay()
            said[sentence, place] = token
    torch.cuda.synchronize()
    took = time.perf_counter() - begin

    # All speakers began with one word, so they say the same.
    good = bool((said == said[:, :, :1]).all()) and len(set(said[:, :, 0].flatten().tolist())) > 1
    print(f"{SENTENCES} sentences, {'in chorus' if good else 'in disorder'}")
    print(f"pass_ms={took * 1e3 / SENTENCES:.4f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] == "wrong"))
