"""A run as it goes, on the terminal; silent anywhere else."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evalflow.record import Row


class TerminalProgress:
    """A bar per arm with rate, errors and time left, from the first arm until `close`."""

    def __init__(self, console: Console, wanted: bool) -> None:
        self._errors = 0
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not (wanted and console.is_terminal),
            transient=True,
        )
        self._task = self._bars.add_task("starting", total=None, note="")

    def close(self) -> None:
        """Take the bar away."""
        self._bars.stop()

    def arm(self, name: str, total: int, done: int) -> None:
        """An arm begins, with the rows of earlier sessions."""
        self._bars.start()
        self._errors = 0
        self._bars.remove_task(self._task)
        self._task = self._bars.add_task(name, total=total, completed=done, note="")

    def row(self, row: Row) -> None:
        """A row is done."""
        self._errors += row.status == "error"
        if self._bars.disable:
            return  # rich works out a speed for every row, seen or not
        speed = self._bars.tasks[0].finished_speed or self._bars.tasks[0].speed
        rate = f"{speed:.0f}/s" if speed else ""
        note = f"{rate} {self._errors} errors" if self._errors else rate
        self._bars.update(self._task, advance=1, note=note)

    def stopping(self, finishing: bool) -> None:
        """The run was asked to stop: say so wherever standard error leads."""
        said = (
            "finishing what is in flight; Ctrl-C again stops at once" if finishing else "cancelling what is in flight"
        )
        self._bars.console.print(f"evalflow: stopping, {said}", markup=False, highlight=False)
