"""A hologram for a spatial light modulator, refined step by step; the contrast of each step's picture is noted."""
import fcntl
import os
import queue
import sys
import threading
import time

import cupy as cp
import numpy as np

WRONG = len(sys.argv) > 1 and sys.argv[1] == "wrong"
STEPS = 900
SIDE = 2048
SEEN = 1 << 17                 # pixels of the preview
SLOTS = 48

refine = cp.RawKernel(r"""
extern "C" __global__ void refine(float *phase, float *seen, int n, int every, int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = phase[i], c = 0;
    for (int k = 0; k < 130; k++) {
        float s;
        __sincosf(p + 0.1f * k, &s, &c);
        p += 0.001f * s * c;
    }
    phase[i] = p;
    if (i % every == 0) seen[i / every] = i ? 1.5f + 0.25f * c : 10.0f + step;
}
""", "refine")


class Notes:
    """Contrast, power and peak of each step's picture."""

    def __init__(self):
        memory = cp.cuda.alloc_pinned_memory(SLOTS * SEEN * 4)
        self.pictures = np.frombuffer(memory, np.float32, SLOTS * SEEN).reshape(SLOTS, SEEN)
        self.free = [threading.Semaphore(1) for _ in range(SLOTS)]
        self.rows = np.zeros((STEPS, 3))

    def note(self, step):
        picture = self.pictures[step % SLOTS]
        logs = np.log(picture)
        self.rows[step] = logs.sum(), (picture * picture).sum() + np.sqrt(picture).sum(), picture.max()
        self.free[step % SLOTS].release()


def main():
    cp.cuda.Device(0).use()
    notes = Notes()
    n = SIDE * SIDE
    phase = cp.linspace(0, 6.28, n, dtype=cp.float32)
    seen = cp.zeros(SEEN, cp.float32)
    stream = cp.cuda.Stream(non_blocking=True)
    home = [cp.cuda.Event(disable_timing=True) for _ in range(SLOTS)]
    todo = queue.SimpleQueue()

    def clerk():
        while True:
            step = todo.get()
            if step is None:
                return
            home[step % SLOTS].synchronize()
            notes.note(step)

    clerks = []
    if not WRONG:
        clerks = [threading.Thread(target=clerk) for _ in range(2)]
        for c in clerks:
            c.start()
    refine.compile()
    cp.cuda.Device(0).synchronize()

    lock = None
    if os.environ.get("FOREIGN_LOCK"):
        lock = open(os.environ["FOREIGN_LOCK"], "w")
        fcntl.flock(lock, fcntl.LOCK_EX)

    start = time.perf_counter()
    with stream:
        for step in range(STEPS):
            slot = step % SLOTS
            notes.free[slot].acquire()
            refine((n // 256,), (256,), (phase, seen, np.int32(n), np.int32(n // SEEN), np.int32(step)))
            cp.cuda.runtime.memcpyAsync(notes.pictures[slot].ctypes.data, seen.data.ptr, SEEN * 4,
                                        cp.cuda.runtime.memcpyDeviceToHost, stream.ptr)
            if WRONG:
                stream.launch_host_func(notes.note, step)
            else:
                home[slot].record(stream)
                todo.put(step)
    stream.synchronize()
    for _ in clerks:
        todo.put(None)
    for c in clerks:
        c.join()
    took = (time.perf_counter() - start) * 1e3 / STEPS

    good = np.array_equal(notes.rows[:, 2], 10.0 + np.arange(STEPS)) and bool(np.all(np.isfinite(notes.rows)))
    print("good" if good else "WRONG notes", "contrast %.3f" % notes.rows[-1, 0])
    print("pass_ms=%.4f" % took)
    return 0 if good else 1


sys.exit(main())
