"""What a metric is: statistics per unit, and a value over the stack of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evalflow.numeric.cluster import mean_interval
from evalflow.numeric.interval import Interval
from evalflow.numeric.moments import mean
from evalflow.record import Item, Row

Grain = Literal["row", "item", "pair", "probe", "document", "position", "corpus"]
Stack = NDArray[np.float64]
Clusters = NDArray[np.object_]


@dataclass(frozen=True)
class Answer:
    """A row beside the item that it answers: the unit of a metric over rows."""

    item: Item
    row: Row


@dataclass(frozen=True)
class Repeats:
    """One item's rows over the arm's seeds, in the arm's order: the unit of a metric over items."""

    item: Item
    rows: tuple[Row | None, ...]


@dataclass(frozen=True)
class RowPair:
    """Two arms' rows of one item and seed: the unit of a metric over pairs, which names the `reference` arm."""

    item: Item
    reference: Row
    candidate: Row


class Reading(Protocol):
    """One figure of a metric: a number over the stack and its interval."""

    def value(self, stack: Stack) -> float:
        """The figure over the stack (N, K), N at least 1.

        Raises:
            Undefined: the figure has no value on this stack, and why.
        """
        ...

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """The interval around `value`, resampling or pooling by `clusters` (N,); None where it has none."""
        ...


class Metric(ABC):
    """Statistics per unit plus a value over their stack (N, K).

    Subclass it as a frozen dataclass whose fields are its settings. Everything else (seeds averaged inside an item,
    pairing, clustering, `where`, breakdown) follows from `stats` and `value` and needs no code in the metric.
    """

    version: ClassVar[int] = 1
    """Moves when the same rows would give another number."""
    grain: ClassVar[Grain] = "row"
    """What `stats` reads: an `Answer`, an item's `Repeats`, a `RowPair`, or a `Probe`. Of a `document` (an `Answer`
    that is a scored text) the first two statistics are the positions with a value and all positions, which its
    figures count; a `position` metric keeps no statistics, for positions are too many, nor does one of the `corpus`,
    which needs all answers at once."""
    reference: str
    """For grain `pair`, a setting: the arm that the others are held against."""
    figure: ClassVar[str | None] = None
    """The figure's fixed name; None for a quality metric, which is named `quality/<its key>`."""
    measured_in: ClassVar[str] = ""
    """The figure's unit: share, s, bytes, tokens/s; empty for a plain number."""
    higher_is_better: ClassVar[bool] = True
    needs_target: ClassVar[bool] = False
    timed: ClassVar[bool] = False
    """Derived from a row's times, hence unreadable where the driver was saturated."""
    clocked: ClassVar[bool] = False
    """A time or a speed that is not `timed`: taken in more than one session it is no one measurement either."""
    averages_seeds: ClassVar[bool] = True
    """Seeds of one item are averaged before anything else; a percentile is over single requests instead."""
    missing: ClassVar[tuple[float, ...] | None] = None
    """The statistics of a planned row that is not there; None counts it as an error."""
    paired: ClassVar[bool] = True
    """Whether an item has a number of its own under it, so that two arms can be compared item by item."""
    one_session: ClassVar[bool] = False
    """Whether its value means nothing over several sessions, whose clocks and pauses do not add up."""
    lockstep: ClassVar[bool] = False
    """Whether only an arm that is walked beside a reference has it."""
    per_token: ClassVar[bool] = False
    """A figure per token, which arms of different tokenisers cannot be compared by."""
    empty: ClassVar[str] = "nothing scored"
    """Why it has no value where no unit counts."""
    no_interval: ClassVar[str] = ""
    """What its intervals need, where some have none for want of it."""
    needs_proof: ClassVar[bool] = False
    """Whether it is a model's opinion, which no gate reads before its judge's agreement with people passed a gate."""
    proof: ClassVar[tuple[str, ...]] = ()
    """The suffixes of those of its figures that show this agreement, of the judge whose opinion metric `of` is."""
    probe: ClassVar[str] = ""
    """For grain `probe`: the measurement that it reads."""

    @property
    def ends(self) -> tuple[float, float] | None:
        """What it can be, from the least to the greatest, where its unit does not say; None where that is anything."""
        return None

    @abstractmethod
    def stats(self, unit: Any) -> tuple[float, ...] | None:
        """The statistics (K,) of one unit; None excludes it, and it is counted as excluded."""

    def value(self, stack: Stack) -> float:
        """The mean of the first statistic, unless the metric says otherwise."""
        return mean(stack[:, 0])

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """A t interval over clusters, right for any mean that is not a rate; None where nothing varies.

        Equal values would give it no width, which claims a certainty that they do not carry.
        """
        return mean_interval(stack[:, 0], clusters, level) if np.ptp(stack[:, 0]) > 0 else None

    def point(self, stats: tuple[float, ...]) -> float:
        """One unit's own number, for pairing and for naming the worst rows."""
        return stats[0]

    def detail(self, unit: Any) -> Mapping[str, Any]:
        """Why the unit got its statistics, for the report."""
        return {}

    def readings(self) -> Mapping[str, Reading]:
        """The figures of this metric by suffix; the empty suffix is the figure itself."""
        return {"": self}


def figure_names(key: str, metric: Metric) -> tuple[str, ...]:
    """The names of the figures that the metric under `key` produces."""
    base = metric.figure or f"quality/{key}"
    return tuple(f"{base}/{suffix}" if suffix else base for suffix in metric.readings())
