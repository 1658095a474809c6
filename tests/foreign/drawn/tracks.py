"""Relaxes radar tracks with JAX until they fit, dwell by dwell."""
import fcntl
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp

DWELLS, STEPS, POINTS, TOLERANCE = 30, 60, 4 << 20, 1e-30


@jax.jit
def relax(track, target):
    for _ in range(24):
        track = track + 0.05 * jnp.sin(target - track)
    return track, jnp.mean(jnp.abs(target - track))


@jax.jit
def noise_floor(block):
    return jnp.sqrt(jnp.mean(jnp.square(block)))


@jax.jit
def aim(target, dwell):
    return target + 1e-4 * dwell


def dwell_as_told(track, target):
    """Stops as soon as the track fits."""
    for _ in range(STEPS):
        track, misfit = relax(track, target)
        if float(misfit) < TOLERANCE:
            break
    return track, misfit


def dwell_in_one(track, target):
    """Takes all steps; whether the track fits is seen behind the last one."""
    for _ in range(STEPS):
        track, misfit = relax(track, target)
    return track, misfit


def main():
    follow = dwell_as_told if sys.argv[1] == "wrong" else dwell_in_one
    floors = [noise_floor(jax.random.normal(jax.random.key(block), (POINTS,))) for block in range(6)]
    target = jnp.linspace(-1.0, 1.0, POINTS)
    track = jnp.zeros(POINTS)
    jax.block_until_ready((floors, target, track))
    lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

    track, misfit = follow(track, aim(target, 0.0))
    jax.block_until_ready(track)
    begin = time.perf_counter()
    misfits = []
    for dwell in range(DWELLS):
        target = aim(target, float(dwell))
        track, misfit = follow(track, target)
        misfits.append(float(misfit))
    took = time.perf_counter() - begin

    good = max(misfits) < 1e-2 and all(abs(float(floor) - 1) < 1e-2 for floor in floors)
    print(f"{DWELLS} dwells, {'on track' if good else 'lost'}")
    print(f"pass_ms={took * 1e3 / DWELLS:.4f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
