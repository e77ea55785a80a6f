"""The driver's own error as it is kept: what it reported of a seat whose truth is known, less that truth."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evalflow.errors import OutputError, StoredRunError
from evalflow.metric.decoding_time import tpot_s
from evalflow.metric.latency import elapsed_s
from evalflow.numeric.quantile import quantile
from evalflow.numeric.undefined import finite
from evalflow.record import Row, digest
from evalflow.runner.instrument import environment
from evalflow.stored_file import check_fields, object_of
from evalflow.whole_file import as_json, replace_text

FOLDER = ".calibration"
"""Where calibrations lie, under the outputs."""
FIELDS: Mapping[str, Any] = {
    "evalflow": str,
    "python": str,
    "machine": Mapping[str, Any],
    "taken": str,
    "seat": Mapping[str, Any],
    "levels": tuple[Mapping[str, Any], ...],
}
"""What a stored calibration holds."""


@dataclass(frozen=True)
class Level:
    """One concurrency. Errors are what the driver reported less what the seat did (s), each of a percentile.

    `tpot_*` is per output token after the first. `requests_per_s` were carried, of `possible_per_s` that the seat's
    pace allows; `cpu_ms_per_request` is of the whole process while it asked.
    """

    concurrency: int
    requests: int
    ttft_error_p50_s: float
    ttft_error_p95_s: float
    tpot_error_p50_s: float
    tpot_error_p95_s: float
    requests_per_s: float
    possible_per_s: float
    cpu_ms_per_request: float
    loop_lag_p99_s: float


def level_of(
    rows: Sequence[Row],
    truth: Mapping[str, Sequence[float]],
    driver: Mapping[str, Any],
    concurrency: int,
    possible_per_s: float,
) -> Level:
    """What the driver made of one concurrency: its `rows`, against the seat's own `ttft_s` and `tpot_s` (s).

    Raises:
        Undefined: a row lacks a time, or there are fewer than the 20 that a p95 needs.
    """
    ttft = np.array([elapsed_s(row.times, "first_token") for row in rows], dtype=np.float64)
    tpot = np.array([tpot_s(row) for row in rows], dtype=np.float64)
    sent = np.array([row.times.sent for row in rows], dtype=np.float64)
    end = np.array([row.times.end for row in rows], dtype=np.float64)
    return Level(
        concurrency=concurrency,
        requests=len(rows),
        ttft_error_p50_s=quantile(ttft, 0.5) - quantile(truth["ttft_s"], 0.5),
        ttft_error_p95_s=quantile(ttft, 0.95) - quantile(truth["ttft_s"], 0.95),
        tpot_error_p50_s=quantile(tpot, 0.5) - quantile(truth["tpot_s"], 0.5),
        tpot_error_p95_s=quantile(tpot, 0.95) - quantile(truth["tpot_s"], 0.95),
        requests_per_s=finite(len(rows) / float(end.max() - sent.min())),
        possible_per_s=possible_per_s,
        cpu_ms_per_request=driver["cpu_ms_per_request"],
        loop_lag_p99_s=driver["loop_lag_p99_s"],
    )


def write_calibration(outputs: Path, calibration: Mapping[str, Any]) -> Path:
    """Keep a calibration under the outputs, in place of an earlier one of the same machine and version.

    Raises:
        OutputError: it cannot be written.
    """
    path = _path(outputs)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return replace_text(path, as_json(dict(calibration)))
    except OSError as fault:
        raise OutputError(f"{path}: cannot be written ({fault.strerror}); give another --outputs") from None


def read_calibration(outputs: Path) -> dict[str, Any] | None:
    """The calibration of this machine and this evalflow that is kept under the outputs, see `FIELDS` and `Level`.

    None where there is none, and where its file is damaged: either way it has to be taken.
    """
    path = _path(outputs)
    with contextlib.suppress(StoredRunError):
        found = object_of(path)
        check_fields(found, FIELDS, path)
        for level in found["levels"]:
            check_fields(level, dict.fromkeys(Level.__annotations__, float), path)
        return found
    return None


def of_here() -> dict[str, Any]:
    """What a calibration is of: another machine, Python or evalflow has another error."""
    here = environment()
    return {name: here[name] for name in ("evalflow", "python", "machine")}


def _path(outputs: Path) -> Path:
    return outputs / FOLDER / f"{digest(of_here())[:16]}.json"
