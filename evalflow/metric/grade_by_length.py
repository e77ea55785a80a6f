"""Whether a judge's grades go with how long the answers are, as those of models that like many words do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalflow.metric.corpus import Corpus
from evalflow.metric.protocol import Answer, Clusters, Reading, Stack
from evalflow.metric.sums import bootstrap_of_ranks
from evalflow.numeric.interval import Interval
from evalflow.numeric.rank import spearman


@dataclass(frozen=True)
class GradeByLength(Corpus):
    """Spearman's correlation of the grade `of` (a metric's key) and the characters of the answer that it is of.

    Far from 0 it says that length and grade go together, and not why: longer answers may be better. Held against the
    same figure of people's ratings it would. Rows whose graded answer is not known, and those without a grade, are
    excluded. The interval is a bootstrap over items, or over their clusters.
    """

    figure: ClassVar[str | None] = "agreement/grade_by_length"
    higher_is_better: ClassVar[bool] = False
    empty: ClassVar[str] = "no answer that was graded is known"
    of: str = "grade"

    def __post_init__(self) -> None:
        object.__setattr__(self, "figure", f"agreement/{self.of}_by_length")  # several criteria have one each

    def stack(self, units: Sequence[Answer]) -> Stack:
        """`(grade, characters)`, NaN for rows that lack one of them."""
        stack = np.full((len(units), 2), np.nan)
        for line, unit in zip(stack, units, strict=True):
            grade, answer = unit.row.stats.get(self.of), unit.row.detail.get("about", {}).get("answer")
            if grade is not None and isinstance(answer, str):
                line[:] = [grade[0], len(answer)]
        return stack

    def value(self, stack: Stack) -> float:
        """See `spearman`."""
        return spearman(stack[:, 0], stack[:, 1])

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `bootstrap_of_ranks`."""
        return bootstrap_of_ranks(stack[:, 0], stack[:, 1], clusters, level)

    def readings(self) -> Mapping[str, Reading]:
        """The one figure."""
        return {"": self}
