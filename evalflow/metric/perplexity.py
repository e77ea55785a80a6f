"""How well a model expects a text: nats per token, perplexity, bits per byte; every position weighs the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.document import DocumentMetric, Values, column, with_width
from evalflow.metric.protocol import Answer, Clusters, Stack
from evalflow.numeric.interval import Interval
from evalflow.numeric.ratio import ratio, ratio_interval
from evalflow.numeric.undefined import Undefined


@dataclass(frozen=True)
class Nll(DocumentMetric):
    """The mean negative log-likelihood of a text's tokens, each given those before it."""

    measured_in: ClassVar[str] = "nats/token"
    per_token: ClassVar[bool] = True

    def values(self, unit: Answer) -> Values | None:
        """The arm's own NLL of every position."""
        return column(unit, "nll")

    def badness(self, unit: Answer) -> Values | None:
        """The least expected tokens."""
        return column(unit, "nll")


@dataclass(frozen=True)
class Perplexity(Nll):
    """exp(mean NLL) over all tokens of all texts, never a mean of the texts' own perplexities."""

    measured_in: ClassVar[str] = ""

    def value(self, stack: Stack) -> float:
        """The exponential of the mean.

        Raises:
            Undefined: it is beyond a float; the mean NLL is not.
        """
        return exp(super().value(stack))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """The ends of the mean's interval, as perplexities."""
        return exponential(super().interval(stack, clusters, level))

    def point(self, stats: tuple[float, ...]) -> float:
        """The text's own mean NLL: what is of a heavy tail is compared by its logarithm."""
        return super().point(stats)


@dataclass(frozen=True)
class BitsPerByte(DocumentMetric):
    """The NLL of a text in bits over the UTF-8 bytes of what was scored of it: comparable over tokenisers.

    Source: sum NLL / (ln 2 * bytes), the bytes being those of the scored tokens: what no window scored counts in
    neither.
    """

    measured_in: ClassVar[str] = "bits/byte"

    def values(self, unit: Answer) -> Values | None:
        """The arm's own NLL of every position; None too where the model did not say where tokens lie."""
        starts = column(unit, "start")
        return None if starts is None or (starts < 0).any() else column(unit, "nll")

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """As every `DocumentMetric`, and the bytes that were scored; None too where those are none."""
        stats, starts, ends = super().stats(unit), column(unit, "start"), column(unit, "end")
        if stats is None or starts is None or ends is None:
            return None
        n_bytes = _bytes_of(unit.item.prompt, starts.astype(int).tolist(), ends.astype(int).tolist())
        return (*stats, float(n_bytes)) if n_bytes else None

    def value(self, stack: Stack) -> float:
        """Bits over bytes."""
        return ratio(stack[:, 2], stack[:, -1]) / math.log(2)

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `ratio_interval`."""
        found = with_width(ratio_interval(stack[:, 2], stack[:, -1], clusters, level))
        if found is None:
            return None
        return Interval(found.low / math.log(2), found.high / math.log(2), level, found.method)

    def point(self, stats: tuple[float, ...]) -> float:
        """The text's own bits per byte."""
        return stats[2] / math.log(2) / stats[-1]

    def badness(self, unit: Answer) -> Values | None:
        """The least expected tokens."""
        return column(unit, "nll")


def _bytes_of(text: str, starts: list[int], ends: list[int]) -> int:
    """UTF-8 bytes of the pieces of a text, in rising order; of several tokens of one character the last has them."""
    whole: list[list[int]] = []
    for start, end in zip(starts, ends, strict=True):
        if whole and whole[-1][1] == start:
            whole[-1][1] = end
        else:
            whole.append([start, end])
    return sum(len(text[start:end].encode("utf-8", "surrogatepass")) for start, end in whole)


def exponential(interval: Interval | None) -> Interval | None:
    """The interval of an exponential; None where an end is beyond a float."""
    if interval is None:
        return None
    try:
        return Interval(exp(interval.low), exp(interval.high), interval.level, interval.method)
    except Undefined:
        return None


def exp(number: float) -> float:
    """The exponential of a number.

    Raises:
        Undefined: it is beyond a float.
    """
    try:
        return math.exp(number)
    except OverflowError:
        raise Undefined("beyond a float (the mean NLL is not)") from None
