"""Progress: bars on a terminal, nothing anywhere else."""

from __future__ import annotations

import io

from rich.console import Console

from evalflow.record import Row
from evalflow.report.progress import TerminalProgress

OK = Row("r", "s", "a", 0, "i", "ok", "x", "x")
FAILED = Row("r", "s", "a", 0, "j", "error", None, None)


def shown(terminal: bool, wanted: bool = True, arm: str = "warm") -> str:
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=terminal, color_system=None, legacy_windows=False)
    with TerminalProgress(console, wanted) as progress:
        progress.arm(arm, 3)
        progress.row(OK)
        progress.row(FAILED)
    return out.getvalue()


def test_a_pipe_gets_nothing():
    """Without a terminal, or where it is not wanted, not a byte is written."""
    assert shown(terminal=False) == ""
    assert shown(terminal=True, wanted=False) == ""


def test_a_terminal_gets_the_arm_its_count_and_its_errors():
    """The bar names the arm, how far it is and how many errors there were."""
    out = shown(terminal=True)
    assert "warm" in out
    assert "2/3" in out
    assert "1 errors" in out


def test_an_arm_named_like_markup_is_named():
    """An arm's name is text, even where it closes a tag that was never opened."""
    assert "[/red]warm" in shown(terminal=True, arm="[/red]warm")
