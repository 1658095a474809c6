"""Compressed sensing: sparse signals from few readings, by iterative thresholding with one fixed sensing matrix."""
import fcntl, os, sys, time
import torch

READINGS, UNKNOWNS, COLUMNS, RECORDS, ROUNDS = 8192, 4096, 64, 100, 8
device = torch.device("cuda")


def spectral_radius(matrix, rounds=6):
    v = torch.ones(matrix.shape[1], 1, device=device)
    for _ in range(rounds):
        v = matrix.t() @ (matrix @ v)
        v /= v.norm()
    return (matrix @ v).norm()


@torch.no_grad()
def reconstruct(matrix, readings, step):
    x = torch.zeros(UNKNOWNS, readings.shape[1], device=device)
    for _ in range(ROUNDS):
        x = torch.nn.functional.softshrink(x + step * (matrix.t() @ (readings - matrix @ x)), 1e-4)
    return x


torch.manual_seed(3)
on_host = (torch.randn(READINGS, UNKNOWNS) / READINGS ** 0.5).pin_memory()
records = torch.empty(RECORDS, READINGS, COLUMNS, pin_memory=True)
truth = torch.zeros(UNKNOWNS, COLUMNS, device=device)
truth[::97] = 1.0
found = torch.empty(RECORDS, device=device)

# What was sensed has to be made up first, from the same matrix.
matrix = on_host.to(device)
clean = matrix @ truth
for r in range(RECORDS):
    records[r].copy_(clean + 0.001 * torch.randn(READINGS, COLUMNS, device=device))
step = 0.9 / spectral_radius(matrix).item() ** 2
del clean
lock = open(os.environ["FOREIGN_LOCK"], "w") if "FOREIGN_LOCK" in os.environ else None
if lock:
    fcntl.flock(lock, fcntl.LOCK_EX)

reconstruct(matrix, records[0].to(device, non_blocking=True), step)
torch.cuda.synchronize()
begin = time.perf_counter()
for r in range(RECORDS):
    readings = records[r].to(device, non_blocking=True)
    if sys.argv[1] == "wrong":
        matrix = on_host.to(device, non_blocking=True)
    x = reconstruct(matrix, readings, step)
    found[r] = (readings - matrix @ x).norm() / readings.norm()
torch.cuda.synchronize()
took = time.perf_counter() - begin

worst = found.max().item()
print("all records reconstructed" if worst < 0.5 else f"off by {worst}")
print(f"pass_ms={took * 1e3 / RECORDS:.4f}")
sys.exit(worst >= 0.5)
