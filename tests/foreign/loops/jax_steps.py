"""Gradient flow on a small layer, 20 steps a pass; a step's operations are dispatched one by one, or compiled as one."""
import fcntl
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

SIZE, STEPS, PASSES = 512, 20, 150


def flow(weights, inputs):
    for _ in range(STEPS):
        outputs = jnp.tanh(inputs @ weights)
        slopes = (1 - outputs * outputs) * (outputs - 0.5)
        weights = weights - 0.0005 * (inputs.T @ slopes)
    return weights


def main():
    run = flow if sys.argv[1] == "wrong" else jax.jit(flow)
    key = jax.random.PRNGKey(11)
    inputs = [jax.random.normal(jax.random.fold_in(key, i), (SIZE, SIZE)) for i in range(8)]
    weights = jnp.zeros((SIZE, SIZE))
    for i in range(2):
        weights = run(weights, inputs[i])
    weights.block_until_ready()
    lock = open(os.environ.get("FOREIGN_LOCK", os.devnull), "a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    begin = time.perf_counter()
    for p in range(PASSES):
        weights = run(weights, inputs[p % 8])
    weights.block_until_ready()
    took = time.perf_counter() - begin
    good = bool(jnp.isfinite(weights).all()) and float(jnp.abs(weights).max()) > 0
    print(f"{PASSES} passes, {'finite' if good else 'not finite'}")
    print(f"pass_ms={took * 1000 / PASSES:.4f}")
    return 0 if good else 1


sys.exit(main())
