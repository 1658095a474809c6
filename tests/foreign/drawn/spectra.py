"""Power spectra of eight antennas, whose records are of several lengths, with a filter in between."""
import fcntl
import os
import sys
import time

import cupy as cp
import numpy as np
from cupyx.scipy import fftpack

NIGHTS, WARM, SAMPLES = 250, 4, 4 << 20
LENGTHS = (4096, 4374, 5000, 5120, 6000, 6144, 7168, 7203)
add_power = cp.ElementwiseKernel("complex64 z", "float32 power", "power += real(z) * real(z) + imag(z) * imag(z)", "add_power")


class Antenna:
    def __init__(self, length, keep_plan):
        records = SAMPLES // length
        turns = cp.arange(records * length, dtype=cp.float32).reshape(records, length) % 1000
        self.record = cp.exp(1j * turns).astype(cp.complex64)
        self.work = cp.empty_like(self.record)
        self.power = cp.zeros(self.record.shape, cp.float32)
        self.filter = cp.full(length, 2.0, cp.complex64)
        self.plan = self.make_plan() if keep_plan else None

    def make_plan(self):
        return fftpack.get_fft_plan(self.work, axes=1)

    def observe(self, phase):
        plan = self.plan or self.make_plan()
        cp.multiply(self.record, phase, out=self.work)
        spectrum = fftpack.fft(self.work, axis=1, overwrite_x=True, plan=plan)
        spectrum *= self.filter
        add_power(fftpack.ifft(spectrum, axis=1, overwrite_x=True, plan=plan), self.power)


def main():
    antennas = [Antenna(length, sys.argv[1] != "wrong") for length in LENGTHS]
    cp.cuda.Device().synchronize()
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    for night in range(WARM + NIGHTS):
        if night == WARM:
            cp.cuda.Device().synchronize()
            begin = time.perf_counter()
        phase = np.complex64(np.exp(0.1j * night))
        for antenna in antennas:
            antenna.observe(phase)
    cp.cuda.Device().synchronize()
    took = time.perf_counter() - begin

    wanted = 4.0 * (WARM + NIGHTS)
    worst = max(float(cp.abs(antenna.power / wanted - 1).max()) for antenna in antennas)
    print(f"{NIGHTS} nights, {'as bright as they should be' if worst < 1e-2 else 'too dark or too bright'}")
    print(f"pass_ms={took * 1e3 / NIGHTS:.4f}")
    return 0 if worst < 1e-2 else 1


if __name__ == "__main__":
    sys.exit(main())
