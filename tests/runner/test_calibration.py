"""The driver's own error: what is subtracted from what, and what is kept of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import ModelError, OutputError
from evalflow.model.seat.stub import StubSettings
from evalflow.numeric.undefined import Undefined
from evalflow.record import Row, Times
from evalflow.runner.calibrate import calibrate
from evalflow.runner.calibration import level_of, read_calibration, write_calibration
from evalflow.runner.instrument import environment
from tests.metric.by_hand import row

DRIVER = {"cpu_ms_per_request": 0.5, "loop_lag_p99_s": 0.001}


def reported(n: int = 20) -> list[Row]:
    """Request i is sent at second i, first token after 0.05 s + i ms, two more 10 ms later, end after 1 s."""
    rows = []
    for i in range(n):
        first = i + 0.05 + i / 1000
        times = Times(sent=float(i), first_token=first, last_token=first + 0.01, end=i + 1.0)
        rows.append(row(item_id=f"q{i}", times=times, chunk_tokens=(1, 2)))
    return rows


def kept() -> dict[str, Any]:
    """A calibration of this machine, as it is stored."""
    level = vars(level_of(reported(), {"ttft_s": [0.05] * 20, "tpot_s": [0.005] * 20}, DRIVER, 1, 8.0))
    here = {name: environment()[name] for name in ("evalflow", "python", "machine")}
    return {**here, "taken": "2026-01-01T00:00:00.000+00:00", "seat": {"ttft_s": 0.05}, "levels": [level]}


def test_the_error_is_what_was_reported_less_what_was_done() -> None:
    """Reported TTFTs of 50 to 69 ms have a median of 59.5 and a p95 of 68.05 (type 7); TPOT was 10 ms over 2 tokens."""
    level = level_of(
        reported(), {"ttft_s": [0.05] * 20, "tpot_s": [0.004] * 20}, DRIVER, concurrency=3, possible_per_s=8.0
    )
    assert level.ttft_error_p50_s == pytest.approx(0.0095)
    assert level.ttft_error_p95_s == pytest.approx(0.01805)
    assert level.tpot_error_p50_s == pytest.approx(0.001)
    assert level.tpot_error_p95_s == pytest.approx(0.001)
    assert level.requests_per_s == pytest.approx(1.0)  # 20 of them from second 0 to second 20
    assert (level.concurrency, level.requests, level.possible_per_s) == (3, 20, 8.0)
    assert (level.cpu_ms_per_request, level.loop_lag_p99_s) == (0.5, 0.001)


def test_a_time_that_lacks_is_no_error_of_nothing() -> None:
    """A row without its first token leaves the error undefined, as do fewer rows than a p95 needs."""
    truth = {"ttft_s": [0.05] * 20, "tpot_s": [0.005] * 20}
    with pytest.raises(Undefined, match="non-finite"):
        level_of([*reported(19), row(times=Times(sent=0.0, end=1.0))], truth, DRIVER, 1, 8.0)
    with pytest.raises(Undefined, match="needs n >= 20, has 19"):
        level_of(reported(19), truth, DRIVER, 1, 8.0)


def test_a_failed_request_is_no_calibration() -> None:
    """Where the stub fails there is nothing to hold the driver against, and the failure is told."""
    with pytest.raises(ModelError, match=r"^calibration: .*as told"):
        calibrate((2,), rounds=10, seat=StubSettings(ttft_s=0.01, fail_share=0.3, fail_mode="sse_error"))


def test_a_seat_without_a_pace_is_refused() -> None:
    """There is no rate that it could be held against."""
    with pytest.raises(ValueError, match="give one above 0"):
        calibrate(seat=StubSettings())


def test_it_is_kept_for_this_machine_and_version(tmp_path: Path) -> None:
    """It is read back as it was written, by whoever has the same evalflow on such a machine, and by nobody else."""
    assert read_calibration(tmp_path) is None
    path = write_calibration(tmp_path, kept())
    assert path.parent == tmp_path / ".calibration"
    assert read_calibration(tmp_path) == kept()
    path.rename(path.with_name("another-machine.json"))
    assert read_calibration(tmp_path) is None


@pytest.mark.parametrize(
    "damaged",
    ["", "[]", json.dumps({**kept(), "levels": [{}]}), json.dumps({**kept(), "levels": None}), '{"evalflow": "0"}'],
)
def test_a_damaged_one_is_none(tmp_path: Path, damaged: str) -> None:
    """A file that does not hold a whole calibration has to be taken again."""
    write_calibration(tmp_path, kept()).write_text(damaged, encoding="utf-8")
    assert read_calibration(tmp_path) is None


def test_outputs_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    """A file where the folder should be is said so."""
    (tmp_path / ".calibration").write_text("in the way")
    with pytest.raises(OutputError, match=r"cannot be written .*; give another --outputs"):
        write_calibration(tmp_path, kept())
