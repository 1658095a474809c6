"""How alike haplotypes are to those of a reference panel: batches of them are sent, compared and fetched on streams."""
import fcntl
import os
import sys
import time

import torch

WRONG = sys.argv[1] == "wrong"
COHORTS, WARM, BATCHES, PEOPLE, SITES, PANEL, LANES = 120, 4, 4, 512, 4096, 4096, 3


class Lane:
    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.alleles = torch.empty((PEOPLE, SITES), dtype=torch.int8, device="cuda")
        self.values = torch.empty((PEOPLE, SITES), device="cuda")
        self.alike = torch.empty((PEOPLE, PANEL), device="cuda")
        self.home = torch.empty((PEOPLE, PANEL), pin_memory=True)
        self.last = None

    def compare(self, alleles, panel):
        n = len(alleles)
        with torch.cuda.stream(self.stream):
            self.alleles[:n].copy_(alleles, non_blocking=True)
            self.values[:n].copy_(self.alleles[:n])
            torch.mm(self.values[:n], panel, out=self.alike[:n])
            self.home[:n].copy_(self.alike[:n], non_blocking=True)
        if WRONG:
            self.stream.synchronize()
        self.last = alleles


def main():
    torch.manual_seed(12)
    haplotypes = torch.empty((WARM + COHORTS, BATCHES, PEOPLE, SITES), dtype=torch.int8, pin_memory=True)
    haplotypes.random_(0, 2)
    panel = torch.randint(0, 2, (SITES, PANEL)).float().cuda()
    lanes = [Lane() for _ in range(LANES)]
    torch.cuda.synchronize()
    lock = None
    if os.environ.get("FOREIGN_LOCK"):
        lock = open(os.environ["FOREIGN_LOCK"], "a")
        fcntl.flock(lock, fcntl.LOCK_EX)

    turn = 0
    began = time.perf_counter()
    for cohort in range(WARM + COHORTS):
        if cohort == WARM:
            torch.cuda.synchronize()
            began = time.perf_counter()
        people = PEOPLE - cohort % 4 * 8
        for batch in haplotypes[cohort, :, :people]:
            lanes[turn % LANES].compare(batch, panel)
            turn += 1
    torch.cuda.synchronize()
    ms = (time.perf_counter() - began) * 1000 / COHORTS

    columns = panel[:, :32].cpu()
    ok = True
    for lane in lanes:
        want = lane.last[:16].float() @ columns
        ok = ok and bool(torch.equal(lane.home[:16, :32], want))
    print("mean:", float(lanes[0].home.mean()), "fine" if ok else "wrong")
    print(f"pass_ms={ms:.4f}")
    return 0 if ok else 1


sys.exit(main())
