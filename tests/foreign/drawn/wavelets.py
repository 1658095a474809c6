"""Synthetic seismograms: NumPy makes the sources, JAX lets them travel through the ground."""
import fcntl
import os
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import numpy as np

SHOTS, WARM, DEPTH, RECEIVERS, SAMPLES = 120, 1, 4096, 2048, 1 << 17


def source(shot):
    """A noisy source, band-limited, as strong at each depth as geology has it."""
    noise = np.random.default_rng(shot).standard_normal(SAMPLES, dtype=np.float32)
    spectrum = np.fft.rfft(noise)
    frequency = np.linspace(0, 1, spectrum.size, dtype=np.float32)
    spectrum *= np.exp(-np.square((frequency - 0.2) / 0.1))
    wave = np.fft.irfft(spectrum, SAMPLES).astype(np.float32)
    loud = np.sort(np.abs(wave))
    return np.tanh(wave / loud[-SAMPLES // 100])[:DEPTH].copy()


def in_turn(total):
    for shot in range(total):
        yield source(shot)


def in_advance(total, workers=6):
    with ThreadPoolExecutor(workers) as pool:
        waiting = deque(pool.submit(source, shot) for shot in range(min(workers, total)))
        for shot in range(workers, total + workers):
            ready = waiting.popleft().result()
            if shot < total:
                waiting.append(pool.submit(source, shot))
            yield ready


@jax.jit
def travel(ground, wave, field):
    field = jnp.dot(ground, field * 0.5 + wave[:, None], precision=jax.lax.Precision.HIGHEST)
    return field, jnp.sqrt(jnp.mean(jnp.square(field)))


def main():
    depth = jnp.arange(DEPTH, dtype=jnp.float32)
    ground = jnp.exp(-jnp.abs(depth[:, None] - depth[None, :]) / 8) / 16
    field = jnp.zeros((DEPTH, RECEIVERS))
    jax.block_until_ready((ground, field))
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    loudness = []
    waves = (in_turn if sys.argv[1] == "wrong" else in_advance)(WARM + SHOTS)
    for shot, wave in enumerate(waves):
        if shot == WARM:
            jax.block_until_ready(field)
            begin = time.perf_counter()
        field, loud = travel(ground, jnp.asarray(wave), field)
        loudness.append(loud)
    jax.block_until_ready(field)
    took = time.perf_counter() - begin

    loudness = [float(loud) for loud in loudness]
    good = len(loudness) == WARM + SHOTS and all(0 < loud < 10 for loud in loudness)
    print(f"{SHOTS} shots, {'heard' if good else 'not heard'}")
    print(f"pass_ms={took * 1e3 / SHOTS:.4f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
