"""`evalflow calibrate`: the driver's own error on this machine, against a seat whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalflow.command.options import CommandParser, Options

COLUMNS = ("concurrency", "requests", "TTFT p50, p95", "TPOT p50, p95", "CPU ms a request", "requests/s", "possible")


def calibrate(words: Sequence[str], options: Options) -> int:
    """Measure, keep it under the outputs for the reports of later runs, and print it; some ten seconds."""
    import json

    from evalflow.errors import ExitCode
    from evalflow.report.terminal import say
    from evalflow.runner.calibrate import CONCURRENCIES
    from evalflow.runner.calibrate import calibrate as measured
    from evalflow.runner.calibration import FOLDER, write_calibration
    from evalflow.runner.journal import check_writable

    parser = CommandParser("calibrate", "--concurrency N (may be repeated), --outputs DIR, --json", __doc__)
    parser.add_argument("--concurrency", type=int, action="append")
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    parser.add_argument("--json", action="store_true")
    asked = parser.read(words)
    concurrencies = asked.concurrency or CONCURRENCIES
    if min(concurrencies) < 1:
        parser.error(f"--concurrency is {min(concurrencies)}, less than 1")
    check_writable(asked.outputs, FOLDER)
    calibration = measured(concurrencies)
    path = write_calibration(asked.outputs, calibration)
    if asked.json:
        say(lambda: print(json.dumps(calibration, indent=1, ensure_ascii=True)))
    elif not options.quiet:
        say(lambda: print_calibration(calibration, path))
    return int(ExitCode.PASS)


def print_calibration(calibration: Mapping[str, Any], path: Path) -> None:
    """A line per concurrency, and where the calibration is kept."""
    from rich.table import Table

    from evalflow.report.terminal import console

    out = console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for level in calibration["levels"]:
        ttft, tpot = ([1000 * level[f"{name}_error_{p}_s"] for p in ("p50", "p95")] for name in ("ttft", "tpot"))
        table.add_row(
            str(level["concurrency"]),
            str(level["requests"]),
            "{:+.2f}, {:+.2f} ms".format(*ttft),
            "{:+.3f}, {:+.3f} ms".format(*tpot),
            f"{level['cpu_ms_per_request']:.2f}",
            f"{level['requests_per_s']:.1f}",
            f"{level['possible_per_s']:.1f}",
        )
    out.print("The driver's error: what it reported less what the seat did", soft_wrap=True)
    out.print(table)
    out.print(f"Kept: {path}", soft_wrap=True)
