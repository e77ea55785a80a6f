"""`evalflow calibrate`: measured by a run like any other, kept, and told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalflow.command.calibrate import calibrate, print_calibration
from evalflow.command.options import Options
from evalflow.errors import OutputError, UsageError
from evalflow.runner.calibration import read_calibration
from tests.runner.test_calibration import kept


def test_it_measures_and_keeps_what_it_tells(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two streams of 20 requests each are carried no faster than the seat's pace allows, 2 in 125 ms; nothing of them
    is left but the calibration."""
    assert calibrate(["--concurrency", "2", "--json"], Options()) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == read_calibration(Path("outputs"))
    (level,) = told["levels"]
    assert (level["concurrency"], level["requests"]) == (2, 40)
    assert level["possible_per_s"] == pytest.approx(16.0)
    assert 0 < level["requests_per_s"] <= 16.0
    assert level["cpu_ms_per_request"] > 0
    # no token is seen before the seat wrote it, and the driver's clock starts before the seat's
    assert level["ttft_error_p50_s"] > -0.001
    assert [path.name for path in Path("outputs").iterdir()] == [".calibration"]


def test_it_prints_a_line_per_concurrency(capsys: pytest.CaptureFixture[str]) -> None:
    """Errors are in ms with their sign: 9.5 and 18.05 of the first token, none per token."""
    print_calibration(kept(), Path("outputs/.calibration/k.json"))
    said = capsys.readouterr().out
    assert "+9.50, +18.05 ms" in said and "0.000, " in said
    assert "Kept: outputs/.calibration/k.json" in said


def test_outputs_that_cannot_be_written_are_refused_first(home: Path) -> None:
    """A file where the folder should be is told before anything is measured."""
    Path("outputs").write_text("in the way")
    with pytest.raises(OutputError, match="cannot be written"):
        calibrate(["--concurrency", "1"], Options())


@pytest.mark.parametrize("words", [["--concurrency", "0"], ["--concurrency", "many"], ["--rate", "3"], ["now"]])
def test_words_that_are_none_are_refused(words: list[str]) -> None:
    """What it takes is said, before anything is started."""
    with pytest.raises(UsageError, match=r"^calibrate: .*; it takes --concurrency N"):
        calibrate(words, Options())
