"""A small model with one sample at a time, on eight threads."""
import time
import torch

torch.set_num_threads(8)
model = torch.nn.LSTM(128, 128, num_layers=2)
head = torch.nn.Linear(128, 40000)
x = torch.randn(20, 1, 128)
end = time.monotonic() + 8
with torch.no_grad():
    while time.monotonic() < end:
        out, _ = model(x)
        torch.softmax(head(out[-1]), -1)
