"""What is logged: one finished run, and what the store answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalflow.record import Item, Row


@dataclass(frozen=True)
class FinishedRun:
    """A run whose results are on disk: its folder, the content of its report.json, its scored rows and items.

    `sweep_id` joins the runs of one sweep (None: the run stands alone), and `swept` says what the sweep gave
    this one (`{"arms.warm.concurrency": 6}`). `private_page` makes the run's page without anybody's texts.
    """

    folder: Path
    report: Mapping[str, Any]
    rows: Sequence[Row]
    items: Sequence[Item]
    sweep_id: str | None = None
    swept: Mapping[str, Any] = field(default_factory=dict)
    private_page: Callable[[], str | None] = lambda: None

    @property
    def run_id(self) -> str:
        """The run's own id, which the store's runs carry as a tag."""
        return str(self.report["run_id"])

    @property
    def origin(self) -> str:
        """The session that began it, which no other run has."""
        return str(self.report["sessions"][0]["session"])

    @property
    def interrupted(self) -> bool:
        """Whether its last session was stopped, or died, before its end."""
        return bool(self.report["sessions"][-1]["state"] != "finished")

    def rows_of(self, arm: str, seed: int) -> list[Row]:
        """The rows of one pass, in the order in which they are given."""
        return [row for row in self.rows if row.arm == arm and row.seed == seed]


@dataclass(frozen=True)
class Logged:
    """Where a run can be looked at, and the ids the store gave: one per arm and seed, the report's last.

    `shown_by` is the command that must run for the link to open; None for a store with a server of its own.
    """

    link: str
    run_ids: tuple[str, ...]
    shown_by: str | None = None
