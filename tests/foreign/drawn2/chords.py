"""Chords of a synthesiser, each at its own pitch: a bank of voices is driven through a row of saturating stages."""
import fcntl
import os
import shutil
import sys
import tempfile
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.10")

import jax
import jax.numpy as jnp
import numpy as np

WRONG = len(sys.argv) > 1 and sys.argv[1] == "wrong"
PASSES = 110
VOICES, SAMPLES = 512, 1 << 17
STAGES = 6


def render(voices, pitch):
    """One chord. Each stage is loud as the one before, so each has to know how loud that was."""
    t = jnp.arange(SAMPLES, dtype=jnp.float32)[None, :]
    x = voices[:, None] * jnp.sin(t * (pitch * 0.001) * (1.0 + voices[:, None]))
    for stage in range(STAGES):
        level = jnp.sqrt(jnp.mean(x * x, axis=1, keepdims=True) + 1e-6)
        x = jnp.tanh(x / level * (1.0 + 0.1 * stage))
        mix = jnp.mean(x, axis=0, keepdims=True)
        x = x - 0.5 * mix
    return jnp.mean(x * x)


def instrument():
    """The program that plays a chord; the compiler keeps what it has made in a folder."""
    def chord(voices, pitch):
        return render(voices, pitch)
    return jax.jit(chord)


def main(folder):
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    voices = jnp.asarray(np.linspace(0.5, 1.5, VOICES, dtype=np.float32))
    pitches = [1.0 + 0.01 * k for k in range(PASSES + 1)]
    chord = instrument()
    chord(voices, pitches[PASSES]).block_until_ready()

    lock = None
    if os.environ.get("FOREIGN_LOCK"):
        lock = open(os.environ["FOREIGN_LOCK"], "w")
        fcntl.flock(lock, fcntl.LOCK_EX)

    loud = []
    start = time.perf_counter()
    for k in range(PASSES):
        if WRONG:
            chord = instrument()
        loud.append(chord(voices, pitches[k]))
        if k % 10 == 9:
            print("chord %d: %.5f" % (k + 1, float(loud[-1])))
    loud[-1].block_until_ready()
    took = (time.perf_counter() - start) * 1e3 / PASSES

    found = np.array([float(v) for v in loud])
    good = bool(np.all(np.isfinite(found)) and np.all(found > 0.01) and np.all(found < 1.5))
    print("good" if good else "WRONG loudness")
    print("pass_ms=%.4f" % took)
    return 0 if good else 1


cache = tempfile.mkdtemp(prefix="chords-")
try:
    code = main(cache)
finally:
    shutil.rmtree(cache, ignore_errors=True)
sys.exit(code)
