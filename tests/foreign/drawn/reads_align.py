"""Aligns batches of reads, whose lengths differ, against a reference: a banded score by shifted comparisons."""
import fcntl
import os
import sys
import time

import torch

BATCHES, WARM = 300, 6
LENGTHS = (96, 112, 128, 144)
READS = 96 * 1024


class Aligner:
    def __init__(self, bases, tidy):
        self.reference = bases
        self.tidy = tidy
        self.best = torch.zeros(WARM + BATCHES, dtype=torch.int64, device="cuda")

    def batch(self, number, length):
        """Reads are cut out of the reference, spoilt here and there, and compared at a few offsets."""
        starts = torch.arange(READS, device="cuda").mul_(37).add_(number * 1000).remainder_(len(self.reference) - 200)
        reads = self.reference[starts[:, None] + torch.arange(length, device="cuda")]
        score = torch.zeros(READS, device="cuda")
        for offset in range(3):
            window = self.reference[(starts + offset)[:, None] + torch.arange(length, device="cuda")]
            same = (window == reads).float()
            score = torch.maximum(score, same.mean(dim=1) * (1 - 0.1 * offset))
            del window, same
        self.best[number] = (score > 0.999).sum()
        if self.tidy:
            torch.cuda.empty_cache()  # lengths differ, so memory would be in pieces


def main(tidy):
    torch.manual_seed(5)
    aligner = Aligner(torch.randint(0, 4, (8 << 20,), dtype=torch.int32).cuda(), tidy)
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    for number in range(WARM):
        aligner.batch(number, max(LENGTHS))
        assert aligner.best[number].item() == READS, "the warm-up's reads are not found"
    torch.cuda.synchronize()

    begin = time.perf_counter()
    for number in range(WARM, WARM + BATCHES):
        aligner.batch(number, LENGTHS[number % len(LENGTHS)])
    torch.cuda.synchronize()
    took = time.perf_counter() - begin

    missed = (aligner.best != READS).sum().item()
    print(f"{BATCHES} batches, {missed} with reads that were not found")
    print(f"pass_ms={took * 1e3 / BATCHES:.4f}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] == "wrong"))
