"""What a pair of logit rows costs: both NLL, KL, both argmax, gap, margin, beside one plain read, in the same run.

Rows of two arms that are 0.01 apart, 64 MiB in all, so that every contender reads them from memory. Each takes its turn
round by round on one thread; a figure is the best and a ratio the median over rounds, of thread CPU time. Errors are
the largest of NLL and of KL on four rows, against sums in extended precision. The plain loop goes row by row in blocks
too, without margin, largest difference or a look at what is finite; torch goes by its own log_softmax and kl_div.

Ends with 1 where, at 128,256 candidates, numpy's rows cost more than the plain loop, or the compiled ones more than 5.5
reads. Without the extra `fast` (numba) those are left out, and that is said.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console

from evalflow.numeric.logits import paired_rows

SAY = Console(highlight=False, soft_wrap=True).print
WIDTHS = (32_768, 128_256, 151_936)
JUDGED = 128_256
BYTES = 1 << 26
ROUNDS = 9
CHECKED = 4  # rows
BLOCK = 16_384
MOST_LOOPS, MOST_READS, STRETCH = 1.0, 5.5, 3.0
READ, LOOP, OURS, FAST = "one plain read of both rows", "plain numpy loop", "paired_rows, numpy", "paired_rows, numba"

Rows = NDArray[np.float32]
Ids = NDArray[np.int64]
Figures = NDArray[np.float64]
"""NLL of both arms and KL of each row (N, 3)."""


def ours(ref: Rows, cand: Rows, targets: Ids, kernel: Any) -> Figures:
    """The product's."""
    rows = paired_rows(ref, cand, targets, kernel=kernel)
    return np.stack([rows.nll_ref, rows.nll_cand, rows.kl], axis=1)


def plain_loop(ref: Rows, cand: Rows, targets: Ids) -> Figures:
    """Row by row and block by block in float64, nothing reused but two buffers."""
    p, q = np.empty(BLOCK), np.empty(BLOCK)
    found = np.empty((len(ref), 3))
    for row, (x, y, target) in enumerate(zip(ref, cand, targets, strict=True)):
        top_x, top_y = float(x[x.argmax()]), float(y[y.argmax()])
        total_x = total_y = product = 0.0
        for start in range(0, x.size, BLOCK):
            a, b = x[start : start + BLOCK], y[start : start + BLOCK]
            u, v = p[: a.size], q[: a.size]
            u[:] = a
            u -= top_x
            np.exp(u, out=u)
            total_x += u.sum()
            v[:] = a - b
            product += u @ v
            v[:] = b
            v -= top_y
            np.exp(v, out=v)
            total_y += v.sum()
        lse_x, lse_y = top_x + np.log(total_x), top_y + np.log(total_y)
        found[row] = lse_x - x[target], lse_y - y[target], lse_y - lse_x + product / total_x
    return found


def by_torch(ref: Rows, cand: Rows, targets: Ids, step: int) -> Figures:
    """log_softmax and kl_div in float32, `step` rows at a time."""
    parts = []
    for start in range(0, len(ref), step):
        x, y = (torch.from_numpy(arm[start : start + step]) for arm in (ref, cand))
        wanted = torch.from_numpy(targets[start : start + step])[:, None]
        log_p, log_q = torch.log_softmax(x, -1), torch.log_softmax(y, -1)
        kl = torch.nn.functional.kl_div(log_q, log_p, log_target=True, reduction="none").sum(-1)
        x.topk(2, -1), y.argmax(-1)
        parts.append(torch.stack([-log_p.gather(1, wanted)[:, 0], -log_q.gather(1, wanted)[:, 0], kl], 1))
    return torch.cat(parts).numpy().astype(np.float64)


def exact(ref: Rows, cand: Rows, targets: Ids) -> Figures:
    """In extended precision."""
    x, y = ref.astype(np.longdouble), cand.astype(np.longdouble)
    log_p, log_q = (arm - np.log(np.exp(arm).sum(axis=1, keepdims=True)) for arm in (x, y))
    each = np.arange(len(ref))
    kl = (np.exp(log_p) * (log_p - log_q)).sum(axis=1)
    return np.stack([-log_p[each, targets], -log_q[each, targets], kl], axis=1).astype(np.float64)


def reader() -> Callable[[NDArray[np.float32]], Any]:
    """What reads an array once and does next to nothing with it."""
    if find_spec("numba") is None:
        return np.maximum.reduce
    from numba import njit

    def total(values: NDArray[np.float32]) -> np.float32:
        sums = np.float32(0)
        for i in range(values.size):  # an iterator would not be read by vectors
            sums += values[i]
        return sums

    compiled: Callable[[NDArray[np.float32]], Any] = njit(total, fastmath=True)
    return compiled


def contenders(ref: Rows, cand: Rows, targets: Ids) -> dict[str, Callable[[], Any]]:
    """Each by its name, the read first."""
    read, given = reader(), (ref, cand, targets)
    found: dict[str, Callable[[], Any]] = {
        READ: lambda: (read(ref.reshape(-1)), read(cand.reshape(-1))),
        LOOP: partial(plain_loop, *given),
        OURS: partial(ours, *given, "numpy"),
    }
    if find_spec("numba") is not None:
        found[FAST] = partial(ours, *given, "numba")
    found["torch, 4 rows at a time"] = partial(by_torch, *given, 4)
    found["torch, all rows at once"] = partial(by_torch, *given, len(ref))
    return found


def raced(works: dict[str, Callable[[], Any]]) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Thread CPU seconds of each, round by round, and what each found; a first round warms up and is not counted."""
    found = {name: work() for name, work in works.items()}
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            began = time.thread_time()
            work()
            seconds[name].append(time.thread_time() - began)
    return seconds, found


def ratio(seconds: dict[str, list[float]], one: str, other: str) -> float:
    """How many times the other's cost, the median over rounds."""
    return statistics.median(mine / theirs for mine, theirs in zip(seconds[one], seconds[other], strict=True))


def table(width: int) -> dict[str, list[float]]:
    """Print one width's table; its seconds."""
    n_rows = BYTES // (8 * width)
    rng = np.random.default_rng(0)
    ref = rng.standard_normal((n_rows, width), dtype=np.float32) * 3
    cand = ref + rng.standard_normal((n_rows, width), dtype=np.float32) * np.float32(0.01)
    targets = rng.integers(0, width, n_rows)
    seconds, found = raced(contenders(ref, cand, targets))
    right = exact(ref[:CHECKED], cand[:CHECKED], targets[:CHECKED])
    SAY(f"{width:,} candidates, {n_rows} row pairs")
    for name, rounds in seconds.items():
        told = f"  {1e6 * min(rounds) / n_rows:8.1f} us a pair  {ratio(seconds, name, READ):6.2f} reads"
        if name != READ:
            off = np.abs(found[name][:CHECKED] - right)
            told += (
                f"  {ratio(seconds, name, LOOP):5.2f} loops  NLL {off[:, :2].max():.0e}, KL {off[:, 2].max():.0e} off"
            )
        SAY(f"{told}  {name}")
    return seconds


def main() -> int:
    """All tables; 1 where a target is missed."""
    torch.set_num_threads(1)
    seconds = {width: table(width) for width in WIDTHS}[JUDGED]
    loops = ratio(seconds, OURS, LOOP)
    kept = loops <= MOST_LOOPS
    SAY(f"numpy at {JUDGED:,}: {loops:.2f} plain loops, {MOST_LOOPS} at most: {kept}")
    if FAST not in seconds:
        SAY("numba is not installed (the extra `fast`): the compiled rows are left out")
        return 0 if kept else 1
    reads = ratio(seconds, FAST, READ)
    SAY(f"numba at {JUDGED:,}: {reads:.2f} reads, {MOST_READS} at most: {reads <= MOST_READS}")
    SAY(f"  and {STRETCH} hoped for: {reads <= STRETCH}")
    return 0 if kept and reads <= MOST_READS else 1


if __name__ == "__main__":
    sys.exit(main())
