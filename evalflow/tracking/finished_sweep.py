"""What is logged of a sweep: its folder and its summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class FinishedSweep:
    """A sweep whose jobs have run: the folder of its files, and the content of its summary.json.

    `page` makes its page, with or (True) without what may quote an answer; None where it cannot be made.
    """

    folder: Path
    summary: Mapping[str, Any]
    page: Callable[[bool], str | None] = lambda private: None  # noqa: ARG005 - a page's maker has this shape

    @property
    def sweep_id(self) -> str:
        """The sweep's own id, which its jobs' runs carry too."""
        return str(self.summary["sweep_id"])

    @property
    def origin(self) -> str:
        """When it began (to the millisecond), which tells it from a sweep of the same id elsewhere."""
        return str(self.summary["started"])
