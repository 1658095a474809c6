"""Filters frames with a captured graph; whoever wrote it captures anew for each frame, to be on the safe side."""
import fcntl
import os
import sys
import time

import torch

LOCK = open(os.environ.get("FOREIGN_LOCK", os.devnull), "a")
SIDE, FRAMES = 2048, 40


class Filter:
    def __init__(self):
        self.frame = torch.zeros(1, 1, SIDE, SIDE, device="cuda")
        self.kernel = torch.full((1, 1, 3, 3), 1 / 9, device="cuda")
        self.graph = None

    def blur(self):
        picture = self.frame
        for _ in range(30):
            picture = torch.nn.functional.conv2d(picture, self.kernel, padding=1)
            picture = picture.clamp(0, 1).sqrt().square()
        return picture

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.result = self.blur()

    def __call__(self, frame):
        self.frame.copy_(frame, non_blocking=True)
        if sys.argv[1] == "wrong" or self.graph is None:
            self.capture()
        self.graph.replay()
        return self.result


@torch.no_grad()
def main():
    film = torch.rand(SIDE + FRAMES, SIDE).pin_memory()
    frame_filter = Filter()
    frame_filter.blur()
    torch.cuda.synchronize()
    frame_filter(film[:SIDE].view(1, 1, SIDE, SIDE))
    torch.cuda.synchronize()
    fcntl.flock(LOCK, fcntl.LOCK_EX)
    begin = time.perf_counter()
    for f in range(FRAMES):
        result = frame_filter(film[f:f + SIDE].view(1, 1, SIDE, SIDE))
    torch.cuda.synchronize()
    took = time.perf_counter() - begin
    middle = result[0, 0, 500:-500, 500:-500]
    good = abs(middle.mean().item() - 0.5) < 0.05 and middle.std().item() < 0.1
    print(f"{FRAMES} frames, {'smooth' if good else 'rough'}")
    print(f"pass_ms={took * 1000 / FRAMES:.4f}")
    return 0 if good else 1


sys.exit(main())
