#!/usr/bin/env python3
"""A real training on a real GPU, in kinds whose trouble is known beforehand.

    train.py KIND [--seconds=S] [--plain]

--plain: pmtop.torch is not used. Prints "trains" once it does, and at its end a JSON object with what it measured itself."""
import argparse
import json
import os
import pathlib
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

KINDS = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


class Tokens(Dataset):
    """Sequences that can be learnt: each token follows from the one before it."""

    def __init__(self, length, vocabulary=8192, work_s=0.0):
        self.length, self.vocabulary, self.work_s = length, vocabulary, work_s

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        if self.work_s:
            end = time.perf_counter() + self.work_s
            while time.perf_counter() < end:
                pass
        start = (index * 7919) % self.vocabulary
        return (torch.arange(self.length + 1) * 31 + start) % self.vocabulary


class Transformer(nn.Module):
    def __init__(self, width=2048, layers=8, vocabulary=8192):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, 16, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        return self.head(self.body(self.embed(x), mask=mask, is_causal=True))


class Turns:
    """Ends a loop in time and counts what it did."""

    def __init__(self, seconds):
        self.seconds, self.steps, self.losses, self.said = seconds, 0, [], {}

    def over(self, loader):
        begin = None
        while True:
            for batch in loader:
                yield batch
                self.steps += 1
                if begin is None:
                    torch.cuda.synchronize()
                    print("trains", flush=True)
                    begin = time.perf_counter()
                if time.perf_counter() - begin > self.seconds:
                    torch.cuda.synchronize()
                    self.said["step_s"] = (time.perf_counter() - begin) / (self.steps - 1)
                    return


def language_loss(model, tokens):
    return nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten())


def language_steps(turns, loader, model, optimizer, after=lambda step: None):
    for tokens in turns.over(loader):
        tokens = tokens.cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = language_loss(model, tokens)
        loss.backward()
        optimizer.step()
        after(turns.steps)
        if turns.steps % 10 == 0:
            turns.losses.append(loss.item())


@kind
def full(turns, batch=16):
    """A GPU that is full: large matrices in bf16, workers that keep up."""
    model = Transformer().cuda()
    language_steps(turns, DataLoader(Tokens(1024), batch_size=batch, num_workers=4, pin_memory=True), model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True))


@kind
def starved(turns):
    """The GPU waits: samples are made in the training process, 2 ms each."""
    model = Transformer(1024, 4).cuda()
    language_steps(turns, DataLoader(Tokens(512, work_s=2e-3), batch_size=32, num_workers=0), model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True))


@kind
def launches(turns):
    """The host is what takes the time: a recurrent net of kernels so small that launching one takes longer than running it. An H100 was busy for 17 %
    of the time, its multiprocessors for 2 %."""
    model, head = nn.LSTMCell(256, 256).cuda(), nn.Linear(256, 256).cuda()
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.01)
    loader = DataLoader(torch.randn(4096, 100, 256), batch_size=16, num_workers=2)
    for x in turns.over(loader):
        x = x.cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        state, loss = None, 0.0
        for t in range(x.shape[1] - 1):
            state = model(x[:, t], state)
            loss = loss + nn.functional.mse_loss(head(state[0]), x[:, t + 1])
        loss.backward()
        optimizer.step()


@kind
def leak(turns):
    """Keeps 64 MB of the GPU a step."""
    model, kept = Transformer(1024, 4).cuda(), []
    language_steps(turns, DataLoader(Tokens(512), batch_size=32, num_workers=4, pin_memory=True), model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True),
                   lambda step: kept.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda")))


@kind
def copies(turns):
    """Much goes over PCIe: 256 MB a step from pageable memory."""
    model = Transformer(1024, 4).cuda()
    much = torch.ones(64 << 20)
    language_steps(turns, DataLoader(Tokens(512), batch_size=32, num_workers=4, pin_memory=True), model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True),
                   lambda step: much.cuda())


@kind
def waits(turns):
    """Four waits for the GPU in each step, each of which empties its queue. On an H200 they took 3 % of a step, in which the host had launched kernels for
    longer than the GPU ran them: rule waits_for_gpu, which asks for 10 %, was quiet."""
    model = Transformer(512, 8).cuda()

    def read(step):
        for parameter in list(model.parameters())[:4]:
            turns.losses.append(parameter.grad.norm().item())

    language_steps(turns, DataLoader(Tokens(128), batch_size=8, num_workers=4, pin_memory=True), model,
                   torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True), read)


@kind
def bursts(turns):
    """As `full`, and every 40th batch three times the length."""
    model = Transformer().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    long, short = Tokens(1536), Tokens(512)
    stacked = [torch.stack([short[i] for i in range(16)]), torch.stack([long[i] for i in range(16)])]

    class Mixed(Dataset):
        def __len__(self):
            return 1 << 16

        def __getitem__(self, index):
            return stacked[index % 40 == 39]

    language_steps(turns, DataLoader(Mixed(), batch_size=None, num_workers=2, pin_memory=True), model, optimizer)


@kind
def compiled(turns):
    """torch.compile with CUDA graphs."""
    model = nn.Sequential(*[part for _ in range(6) for part in (nn.Linear(2048, 2048), nn.GELU())]).cuda()
    step = torch.compile(model, mode="reduce-overhead")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for x in turns.over(DataLoader(torch.randn(8192, 2048), batch_size=256, num_workers=2, pin_memory=True)):
        x = x.cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        torch.compiler.cudagraph_mark_step_begin()
        nn.functional.mse_loss(step(x), x).backward()
        optimizer.step()


@kind
def accumulate(turns):
    """Gradients of four batches for each step of the optimizer; and loss.item() in every batch, which waits for the GPU."""
    model = Transformer(1024, 4).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    loader = DataLoader(Tokens(512), batch_size=8, num_workers=4, pin_memory=True)
    for number, tokens in enumerate(turns.over(loader)):
        tokens = tokens.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = language_loss(model, tokens) / 4
        loss.backward()
        turns.losses.append(4 * loss.item())
        if number % 4 == 3:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


@kind
def checkpoints(turns):
    """The model is saved every 25 steps, and the loop waits until the disk has it: 0.3 GB."""
    model = Transformer(1024, 4).cuda()
    with tempfile.TemporaryDirectory(prefix="pmtop-gpu-") as folder:
        def save(step):
            if step % 25 == 24:
                with open(pathlib.Path(folder) / "model.pt", "wb") as file:
                    torch.save(model.state_dict(), file)
                    file.flush()
                    os.fsync(file.fileno())

        language_steps(turns, DataLoader(Tokens(512), batch_size=32, num_workers=4, pin_memory=True), model,
                       torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True), save)


@kind
def fragmented(turns):
    """The allocator holds far more than is in use: every 40th step wants a tensor, for a moment, that is larger than any block that was freed before."""
    model = Transformer(1024, 4).cuda()

    def fragment(step):
        if step % 40 == 39:
            torch.empty((1 << 30) + (step // 40) * (4 << 20), dtype=torch.uint8, device="cuda")

    language_steps(turns, DataLoader(Tokens(512), batch_size=32, num_workers=4, pin_memory=True), model,
                   torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True), fragment)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    if not options.plain:
        import pmtop.torch
        pmtop.torch.instrument()
    torch.manual_seed(1)
    turns = Turns(options.seconds)
    KINDS[options.kind](turns)
    print(json.dumps({"kind": options.kind, "pid": os.getpid(), "steps": turns.steps, "losses": turns.losses[:1] + turns.losses[-1:],
                      "peak_bytes": torch.cuda.max_memory_allocated(), **turns.said}))


if __name__ == "__main__":
    main()
