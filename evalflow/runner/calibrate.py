"""Calibrating the driver: a seat whose truth is known, asked by the path that every run takes.

A time of a real seat holds the seat's own and the driver's. Here the seat is the stub in a process of its own, which
stamps what it really did, so that what is left over is the driver's.
"""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalflow.errors import ModelError
from evalflow.model.seat.stub import StubSettings, served_apart
from evalflow.numeric.undefined import Undefined
from evalflow.record import Row
from evalflow.runner.calibration import Level, level_of, of_here
from evalflow.runner.journal import now_iso
from evalflow.runner.plan import build_plan
from evalflow.runner.session import carry_out

SEAT = StubSettings(ttft_s=0.05, itl_s=0.005, tokens=16)
CONCURRENCIES = (1, 6, 64)
ROUNDS = 20
"""Requests per stream: the least that gives a p95 with one stream."""


def calibrate(
    concurrencies: Sequence[int] = CONCURRENCIES, rounds: int = ROUNDS, seat: StubSettings = SEAT
) -> dict[str, Any]:
    """The calibration of this machine and this evalflow: see `FIELDS`, and `Level` for each concurrency.

    Raises:
        ValueError: a seat without a pace, which nothing can keep up with.
        ModelError: the stub did not start, or a request to it failed.
        KeyboardInterrupt: it was stopped.
    """
    if seat.ttft_s + seat.itl_s <= 0:
        raise ValueError("seat has ttft_s and itl_s of 0; give one above 0")
    levels = []
    for concurrency in concurrencies:
        with tempfile.TemporaryDirectory(prefix="evalflow-calibrate-") as folder, served_apart(seat) as url:
            levels.append(_measured(Path(folder), url, seat, concurrency, concurrency * rounds))
    pace = {"ttft_s": seat.ttft_s, "itl_s": seat.itl_s, "tokens": seat.tokens}
    return {**of_here(), "taken": now_iso(), "seat": pace, "levels": [vars(level) for level in levels]}


def _measured(folder: Path, url: str, seat: StubSettings, concurrency: int, n: int) -> Level:
    """A run of `n` requests against the stub at `url`, held against what the stub did."""
    plan = build_plan(_config(folder, url, seat.tokens, concurrency, n), ())
    held = carry_out(plan, _Unseen(), lambda _: None)
    try:
        if held.stopped:
            raise KeyboardInterrupt
        rows, traces = held.run.rows, held.run.traces["load"]
    finally:
        held.lock.release()
    if traces[-1].unavailable:
        raise ModelError(f"calibration: {traces[-1].unavailable}")
    failed = [row.error for row in rows if row.error is not None]
    if failed:
        raise ModelError(f"calibration: {len(failed)} of {n} requests to the stub failed ({failed[0].message})")
    possible_per_s = concurrency / (seat.ttft_s + (seat.tokens - 1) * seat.itl_s)
    try:
        return level_of(rows, _truth(url, n), traces[-1].driver, concurrency, possible_per_s)
    except Undefined as undefined:
        raise ModelError(f"calibration: the driver gave no times ({undefined.reason}); report this") from None


def _truth(url: str, n: int) -> dict[str, Any]:
    """What the stub did for the last `n` requests; those before them asked what it can do."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/stub/stats", timeout=10) as reply:
        told = json.load(reply)
    return {name: told[name][-n:] for name in ("ttft_s", "tpot_s")}


def _config(folder: Path, url: str, tokens: int, concurrency: int, n: int) -> dict[str, Any]:
    """A whole config of one arm against the stub."""
    asked = [json.dumps({"id": f"q{i}", "input": f"question {i} " + "word " * 30}) for i in range(n)]
    (folder / "items.jsonl").write_text("\n".join(asked), encoding="utf-8")
    return {
        "name": "calibration",
        "dataset": {"_target_": "evalflow.dataset.jsonl.Jsonl", "path": str(folder / "items.jsonl")},
        "model": {
            "_target_": "evalflow.model.seat.seat.Seat",
            "base_url": url,
            "note": "the stub, on this machine",
            "probe": "brief",
        },
        "decoding": {"_target_": "evalflow.record.Decoding", "max_tokens": tokens},
        "runner": {"_target_": "evalflow.runner.settings.Runner", "outputs": str(folder), "progress": False},
        "arms": {"load": {"concurrency": concurrency}},
    }


class _Unseen:
    """A progress that nobody watches."""

    def arm(self, name: str, total: int, done: int) -> None:
        """Nothing."""

    def row(self, row: Row) -> None:
        """Nothing."""

    def stopping(self, finishing: bool) -> None:
        """Nothing."""
