"""The items of a finished run, asked about again: what its answers are worth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalflow.record import Item
from evalflow.stored_answers import stored_answers


@dataclass(frozen=True)
class GradedRun:
    """The items of a finished `run` (folder, or id under `outputs`) as they were asked, with its fingerprints.

    What was a part of a dataset there is one here: a smoke run does not become whole by being graded.
    """

    run: str
    outputs: str = "outputs"
    name: str = "graded_run"

    def items(self) -> tuple[Item, ...]:
        """See `Dataset.items`.

        Raises:
            StoredRunError: there is no such run, or it is not finished or damaged.
        """
        return stored_answers(self.run, Path(self.outputs)).items

    def part(self) -> str | None:
        """Why they are a part of what the run's dataset has, None where they are all of it; raises as `items` does."""
        return stored_answers(self.run, Path(self.outputs)).part
