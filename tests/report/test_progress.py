"""Progress: bars on a terminal, nothing anywhere else."""

from __future__ import annotations

import contextlib
import io

import pytest
from rich.console import Console

from evalflow.record import Row
from evalflow.report.progress import TerminalProgress

OK = Row("r", "s", "a", 0, "i", "ok", "x", "x")
FAILED = Row("r", "s", "a", 0, "j", "error", None, None)


def shown(terminal: bool, wanted: bool = True, arm: str = "warm", total: int = 3, done: int = 0) -> str:
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=terminal, color_system=None, legacy_windows=False)
    with contextlib.closing(TerminalProgress(console, wanted)) as progress:
        progress.arm(arm, total, done)
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


def test_a_resumed_arm_begins_where_it_stopped():
    """Rows of earlier sessions are in the bar from its start."""
    assert "7/9" in shown(terminal=True, total=9, done=5)


@pytest.mark.parametrize(
    ("finishing", "said"),
    [(True, "finishing what is in flight; Ctrl-C again stops at once"), (False, "cancelling what is in flight")],
)
@pytest.mark.parametrize("begun", [False, True])
def test_that_a_run_stops_is_said_wherever_standard_error_leads(finishing: bool, said: str, begun: bool):
    """A pipe too gets the line, before the first arm and after it."""
    out = io.StringIO()
    with contextlib.closing(TerminalProgress(Console(file=out, width=120), True)) as progress:
        if begun:
            progress.arm("warm", 3, 0)
        progress.stopping(finishing)
    assert out.getvalue() == f"evalflow: stopping, {said}\n"


def test_closing_twice_is_closing_once():
    """The bar is taken away before the report is printed, and again when the run is left."""
    out = io.StringIO()
    progress = TerminalProgress(Console(file=out, width=120, force_terminal=True, legacy_windows=False), True)
    progress.arm("warm", 3, 0)
    progress.close()
    before = out.getvalue()
    progress.close()
    assert "warm" in before
    assert out.getvalue().strip() == before.strip()
