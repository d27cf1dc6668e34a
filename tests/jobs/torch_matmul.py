"""Large products of matrices: every core computes."""
import time
import torch

a, b = torch.randn(1500, 1500), torch.randn(1500, 1500)


def multiply():
    return torch.mm(a, b)


end = time.monotonic() + 8
while time.monotonic() < end:
    multiply()
