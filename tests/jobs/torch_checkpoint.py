"""Training that stands still while it saves, and waits for the disk."""
import os
import tempfile
import time
import torch

torch.set_num_threads(1)
a = torch.randn(600, 600)
state = {"weights": torch.randn(48 << 20)}


def save(folder):
    with open(folder + "/checkpoint", "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        until = time.monotonic() + 0.4
        while time.monotonic() < until:
            a @ a
        save(folder)
