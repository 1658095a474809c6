"""Shades a canvas of 120 tiles with a Triton kernel."""
import fcntl
import os
import sys
import time

import torch
import triton
import triton.language as tl

TILES, TILE, BLOCK, PICTURES, LIGHTS = 120, 128 * 1024, 1024, 300, 700


@triton.jit
def shade(canvas, light, first, size, LIGHTS: tl.constexpr, BLOCK: tl.constexpr):
    tile = first + tl.program_id(1)
    place = tile * size + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    colour = tl.load(canvas + place)
    for _ in range(LIGHTS):
        colour = colour * 0.995 + light
    tl.store(canvas + place, colour)


def by_tile(canvas, light):
    for tile in range(TILES):
        shade[(TILE // BLOCK, 1)](canvas, light, tile, TILE, LIGHTS=LIGHTS, BLOCK=BLOCK)


def at_once(canvas, light):
    shade[(TILE // BLOCK, TILES)](canvas, light, 0, TILE, LIGHTS=LIGHTS, BLOCK=BLOCK)


def contrast(canvas):
    return (canvas.max() - canvas.min()).item()


def main():
    draw = by_tile if sys.argv[1] == "wrong" else at_once
    canvas = torch.arange(TILES * TILE, device="cuda", dtype=torch.float32).remainder_(255.0)
    torch.cuda.synchronize()
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    took, wrong = 0.0, 0
    for picture in range(PICTURES + 1):
        if picture == 1:  # the first one is compiled
            torch.cuda.synchronize()
            begin = time.perf_counter()
        light = 0.005 * (1 + picture % 7)
        draw(canvas, light)
        if picture % 20 == 19:
            torch.cuda.synchronize()
            took += time.perf_counter() - begin
            wrong += not contrast(canvas) < 20.0
            wrong += abs(canvas[12345].item() - light * 200) > light * 200 * 0.2 + 1
            begin = time.perf_counter()
    torch.cuda.synchronize()
    took += time.perf_counter() - begin

    print(f"{PICTURES} pictures, {wrong} looked wrong")
    print(f"pass_ms={took * 1e3 / PICTURES:.4f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
