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
    assert "1 error" in out


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


class Clock:
    """A clock that goes on by itself: so many seconds at each look."""

    def __init__(self, step: float) -> None:
        self.step, self.time = step, 0.0

    def __call__(self) -> float:
        self.time += self.step
        return self.time


def test_plain_lines_come_every_half_minute_where_they_are_asked_for():
    """In a pipe too: at eleven seconds a row every third one says how far it is; which arm of how many, and errors."""
    out = io.StringIO()
    console = Console(file=out, width=60)
    with contextlib.closing(
        TerminalProgress(console, "lines", {"cold": 9, "warm": 9}, "texts", Clock(11.0))
    ) as progress:
        progress.arm("cold", 9, 0)
        for _ in range(6):
            progress.row(FAILED)
    first, second = out.getvalue().splitlines()
    assert first == "evalflow: arm cold (1 of 2)  3/9 texts  3 errors  5.5/min  1:06 left  run about 2:45"
    assert second.startswith("evalflow: arm cold (1 of 2)  6/9 texts  6 errors")


def test_a_terminal_that_cannot_move_its_cursor_gets_nothing():
    """A dumb terminal would keep every state of the line."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, force_interactive=False)
    with contextlib.closing(TerminalProgress(console, True)) as progress:
        progress.arm("warm", 3, 0)
        progress.row(OK)
    assert out.getvalue() == ""


def test_the_line_is_gone_when_it_is_closed():
    """What is left on the screen is what was there: the line is erased, and the cursor shown again."""
    out = io.StringIO()
    console = Console(file=out, width=40, force_terminal=True, legacy_windows=False)
    with contextlib.closing(TerminalProgress(console, True)) as progress:
        progress.arm("a_name_that_is_longer_than_the_terminal_is_wide", 3, 0)
        progress.row(OK)
    text = out.getvalue()
    assert text.endswith("\x1b[2K") and text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert "\n\n" not in text
