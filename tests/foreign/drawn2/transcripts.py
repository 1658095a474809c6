"""Transcripts are read from a file of letters, coded to numbers by NumPy, and scored by a Triton kernel.

usage: transcripts.py wrong|right
"""
import fcntl
import os
import sys
import tempfile
import time

import numpy as np
import torch
import triton
import triton.language as tl

WRONG = sys.argv[1:] == ["wrong"]
PASSES, CHUNK, BLOCK = 120, 4 << 20, 1024
WORD, ROUNDS = 24, 6000
BLOCKS = CHUNK // BLOCK


@triton.jit
def best_words(codes, best, n, WORD: tl.constexpr, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.zeros([BLOCK], dtype=tl.int32)
    for k in range(WORD):
        h = h * 7 + tl.load(codes + at + k, mask=at + k < n, other=0).to(tl.int32)
    for _ in range(ROUNDS):
        h = (h ^ (h >> 14)) * 1540483477
    tl.store(best + tl.program_id(0), tl.max(h & 1073741823, axis=0))


table = np.zeros(256, dtype=np.uint8)
for code, letters in enumerate(("Aa", "Cc", "Gg", "TtUu")):
    for letter in letters:
        table[ord(letter)] = code


def encode(letters, codes):
    np.take(table, letters, out=codes, mode="clip")


with tempfile.NamedTemporaryFile(suffix=".seq") as file:
    rng = np.random.default_rng(12)
    alphabet = np.frombuffer(b"ACGTacgtUuACGTGC", dtype=np.uint8)
    for _ in range(PASSES):
        file.write(alphabet[rng.integers(0, 16, CHUNK, dtype=np.uint8)].tobytes())
    file.flush()
    letters = np.fromfile(file.name, dtype=np.uint8).reshape(PASSES, CHUNK)

pinned = torch.zeros(PASSES, CHUNK, dtype=torch.uint8, pin_memory=True)
codes = pinned.numpy()
found = torch.zeros(PASSES, BLOCKS, dtype=torch.int32, pin_memory=True)
if not WRONG:
    for k in range(PASSES):
        encode(letters[k], codes[k])

streams = [torch.cuda.Stream() for _ in range(3)]
chunks = [torch.zeros(CHUNK, dtype=torch.uint8, device="cuda") for _ in streams]
bests = [torch.zeros(BLOCKS, dtype=torch.int32, device="cuda") for _ in streams]
torch.cuda.synchronize()
with torch.cuda.stream(streams[0]):
    best_words[(BLOCKS,)](chunks[0], bests[0], CHUNK, WORD, ROUNDS, BLOCK)
torch.cuda.synchronize()

if os.environ.get("FOREIGN_LOCK"):
    lock = open(os.environ["FOREIGN_LOCK"], "w")
    fcntl.flock(lock, fcntl.LOCK_EX)

begin = time.perf_counter()
for k in range(PASSES):
    if WRONG:
        encode(letters[k], codes[k])
    lane = k % len(streams)
    with torch.cuda.stream(streams[lane]):
        chunks[lane].copy_(pinned[k], non_blocking=True)
        best_words[(BLOCKS,)](chunks[lane], bests[lane], CHUNK, WORD, ROUNDS, BLOCK)
        found[k].copy_(bests[lane], non_blocking=True)
torch.cuda.synchronize()
took = time.perf_counter() - begin

for k in (0, PASSES // 2, PASSES - 1):
    coded = table[letters[k][:BLOCK + WORD]].astype(np.int32)
    h = np.zeros(BLOCK, dtype=np.int32)
    for j in range(WORD):
        h = h * np.int32(7) + coded[j:j + BLOCK]
    for _ in range(ROUNDS):
        h = (h ^ (h >> np.int32(14))) * np.int32(1540483477)
    if int((h & 1073741823).max()) != int(found[k][0]):
        print("chunk", k, "is wrong")
        sys.exit(1)
print(f"pass_ms={took / PASSES * 1e3:.4f}")
