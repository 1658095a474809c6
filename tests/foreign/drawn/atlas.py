"""Registers scans with a brain atlas: an operator that is made from the atlas is applied to each scan."""
import fcntl
import functools
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import numpy as np

SIDE, SCANS, EVERY = 4096, 80, 8
dot = functools.partial(jnp.dot, precision=jax.lax.Precision.HIGHEST)


@jax.jit
def register(atlas, base, turn):
    scan = base * turn
    moved = dot(atlas, scan)
    return jnp.mean(moved), jnp.max(jnp.abs(moved))


@jax.jit
def overlap(atlas, base):
    return jnp.sum(jnp.diagonal(atlas) * jnp.diagonal(base))


def load_atlas():
    """As a file format's reader would return it: a NumPy array."""
    rows = np.arange(SIDE, dtype=np.float32)
    atlas = np.outer(np.cos(rows * 0.01), np.sin(rows * 0.02)).astype(np.float32)
    atlas[np.arange(SIDE), np.arange(SIDE)] += 1.0
    return atlas


def main():
    atlas = load_atlas()
    if sys.argv[1] == "right":
        atlas = jax.device_put(atlas)
    base = jnp.ones((SIDE, SIDE), jnp.float32)
    jax.block_until_ready((atlas, base))
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    for turn in (1.0, 2.0):  # the second one has to be twice the first
        mean, _ = register(atlas, base, turn)
        before = float(mean) if turn == 1.0 else before
    assert abs(float(mean) - 2 * before) < 1e-3 * abs(before) + 1e-4, "registration is not linear"
    overlap(atlas, base).block_until_ready()

    means, took = [], 0.0
    begin = time.perf_counter()
    for scan in range(SCANS):
        mean, most = register(atlas, base, 1.0 + scan / SCANS)
        means.append(mean)
        if scan % EVERY == EVERY - 1:
            jax.block_until_ready(most)
            took += time.perf_counter() - begin
            print(f"scan {scan + 1}: overlap {float(overlap(atlas, base)):.0f}")
            begin = time.perf_counter()

    off = max(abs(float(mean) / before - (1.0 + scan / SCANS)) for scan, mean in enumerate(means))
    print("all scans registered" if off < 1e-2 else "registration failed")
    print(f"pass_ms={took * 1e3 / SCANS:.4f}")
    return 0 if off < 1e-2 else 1


if __name__ == "__main__":
    sys.exit(main())
