"""A run as it goes: a line that moves on a terminal, a plain one now and then where that is asked for, else nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Literal

from rich.console import Console
from rich.live import Live
from rich.text import Text

from evalflow.record import Row
from evalflow.report.console import printable
from evalflow.report.pace import Pace, pace_line
from evalflow.runner.plan import Plan

EVERY_S = 30.0
"""Between two plain lines, at the least."""
LINE_WIDTH = 160
Shown = bool | Literal["lines"]


class TerminalProgress:
    """A line per arm with its count, rate, errors and time left, from the first arm until `close`.

    `arms` are the rows of each arm of the run, in order, and `unit` what a row is called. Without a terminal, or
    where it is not `wanted`, nothing is shown; `wanted="lines"` prints a plain line every half minute anywhere.
    """

    def __init__(
        self,
        console: Console,
        wanted: Shown,
        arms: Mapping[str, int] | None = None,
        unit: str = "answers",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console, self._arms, self._unit, self._now = console, dict(arms or {}), unit, now
        self._lines = wanted == "lines"
        self._pace: Pace | None = None
        self._said = self._since = 0.0
        self._before = 0
        shows = bool(wanted) and not self._lines and console.is_interactive
        self._live = Live(get_renderable=self._shown, console=console, transient=True) if shows else None

    @classmethod
    def of(cls, plan: Plan, console: Console, wanted: bool) -> TerminalProgress:
        """The progress of a plan, as its runner wants it shown."""
        arms = {name: len(planned.arm.seeds) * len(plan.items) for name, planned in plan.arms.items()}
        unit = "texts" if any(planned.scoring for planned in plan.arms.values()) else "answers"
        return cls(console, wanted and plan.runner.progress, arms, unit)

    def close(self) -> None:
        """Take the line away."""
        if self._live is not None:
            self._live.stop()

    def arm(self, name: str, total: int, done: int) -> None:
        """An arm begins, with the rows of earlier sessions."""
        now, names = self._now(), list(self._arms)
        if self._pace is None:
            self._since = now
        else:
            self._before += self._pace.seen
        place = names.index(name) if name in self._arms else None
        self._pace = Pace(
            printable(name),
            total,
            done,
            now,
            place=f"{place + 1} of {len(names)}" if place is not None and len(names) > 1 else "",
            later=sum(self._arms[other] for other in names[place + 1 :]) if place is not None else 0,
            others=self._before,
            since=self._since,
        )
        self._said = now
        if self._live is not None:
            self._live.start()

    def row(self, row: Row) -> None:
        """A row is done."""
        if self._pace is None or not (self._live or self._lines):
            return
        now = self._now()
        self._pace.row(now, row.status == "error")
        if self._lines and now - self._said >= EVERY_S:
            self._said = now
            line = pace_line(self._pace, now, self._unit, LINE_WIDTH, bar="")
            self._print(f"arm {line.plain}")

    def stopping(self, finishing: bool) -> None:
        """The run was asked to stop: say so wherever standard error leads."""
        self._print(
            "stopping, finishing what is in flight; Ctrl-C again stops at once"
            if finishing
            else "stopping, cancelling what is in flight"
        )

    def _print(self, said: str) -> None:
        self._console.print(f"evalflow: {said}", markup=False, highlight=False, soft_wrap=True)

    def _shown(self) -> Text:
        """The line as it is now: at each look, so that time passes where no row comes."""
        if self._pace is None:
            return Text()
        bar = "#-" if self._console.options.ascii_only else "━━"
        return pace_line(self._pace, self._now(), self._unit, self._console.width, bar)
