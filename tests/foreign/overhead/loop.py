"""loop.py HOW STEPS - trains a small network: what recording costs PyTorch is measured on this. HOW is
`host`: kernels of a few microseconds, which the host is hardly fast enough for; `device`: each takes
tens of them. It prints how long a step took."""
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(77)


def main():
    how, steps = sys.argv[1], int(sys.argv[2])
    width, batch = (256, 64) if how == "host" else (2048, 2048)
    layers = []
    for _ in range(8):
        layers += [torch.nn.Linear(width, width), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=False)
    data = torch.randn(batch, width).pin_memory()

    def run(count):
        for _ in range(count):
            optimizer.zero_grad()
            model(data.to("cuda", non_blocking=True)).square().mean().backward()
            optimizer.step()
        torch.cuda.synchronize()

    run(50)
    begin = time.monotonic()
    run(steps)
    print(f"time_us={(time.monotonic() - begin) / steps * 1e6:.4f}")


main()
