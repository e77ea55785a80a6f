"""How much the same question's answers vary over repeated runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from evalflow.numeric.error_rate import Edits, count_edits, pooled
from evalflow.numeric.moments import mean, sample_sd
from evalflow.numeric.text_profile import NFC, TextProfile
from evalflow.numeric.undefined import Undefined, finite
from evalflow.numeric.units import Unit, cut


def jaccard_distance(a: str, b: str) -> float:
    """1 less the share that two texts' sets of words have in common, from 0 to 1; 0 between two without words.

    Order and counts of words do not matter to it, hence two different texts can be at 0.

    Source: 1 - |A and B| / |A or B| (Jaccard 1901).
    """
    words_a, words_b = set(cut(a, "word")), set(cut(b, "word"))
    either = len(words_a | words_b)
    return (either - len(words_a & words_b)) / either if either else 0.0


@dataclass(frozen=True)
class RunStability:
    """One item's texts over R runs, brought to a profile, and the edits of each against a reference, if there is one.

    A figure over pairs of runs raises Undefined, "fewer than 2 runs"; one of error rates "no reference", "no rows" of
    no runs, or "empty reference" where one of the runs has a text.
    """

    texts: tuple[str, ...]
    unit: Unit
    edits: tuple[Edits, ...] | None

    @property
    def n_runs(self) -> int:
        """R."""
        return len(self.texts)

    @property
    def n_distinct(self) -> int:
        """How many different texts there are."""
        return len(set(self.texts))

    @property
    def identical_pair_rate(self) -> float:
        """The share of pairs of runs whose texts are the same."""
        return mean([float(a == b) for a, b in self._pairs()])

    @property
    def disagreement_mean(self) -> float:
        """The mean of `jaccard_distance` over pairs of runs."""
        return mean([jaccard_distance(a, b) for a, b in self._pairs()])

    @property
    def disagreement_max(self) -> float:
        """The largest `jaccard_distance` between two runs."""
        return max(jaccard_distance(a, b) for a, b in self._pairs())

    @property
    def pairwise_error_rate(self) -> float:
        """The mean error rate between two runs, each taken once as the other's reference: it sees order and counts.

        Of one pair it is twice the edits over the sum of both lengths: 0 for the same text, at most 2.
        """
        units = [cut(text, self.unit) for text in self.texts]
        self._pairs()
        return mean([pooled([count_edits(a, b), count_edits(b, a)]).rate for a, b in combinations(units, 2)])

    @property
    def against_reference(self) -> tuple[Edits, ...]:
        """Each run's edits (R,) against the reference, with its error rate.

        Raises:
            Undefined: "no reference".
        """
        if self.edits is None:
            raise Undefined("no reference")
        return self.edits

    @property
    def error_rate_mean(self) -> float:
        """The mean of the runs' error rates."""
        return mean(self._error_rates())

    @property
    def error_rate_sd(self) -> float:
        """Their sample standard deviation (ddof 1).

        Raises:
            Undefined: "n < 2", of one run.
        """
        return sample_sd(self._error_rates())

    @property
    def error_rate_cv(self) -> float:
        """Their standard deviation over their mean.

        Raises:
            Undefined: "the mean is 0", or as `error_rate_sd`.
        """
        spread, centre = self.error_rate_sd, self.error_rate_mean
        if centre == 0:
            raise Undefined("the mean is 0")
        return finite(spread / centre)

    def _pairs(self) -> list[tuple[str, str]]:
        if len(self.texts) < 2:
            raise Undefined("fewer than 2 runs")
        return list(combinations(self.texts, 2))

    def _error_rates(self) -> list[float]:
        return [one.rate for one in self.against_reference]


def run_stability(
    texts: Sequence[str], reference: str | None = None, unit: Unit = "codepoint", profile: TextProfile = NFC
) -> RunStability:
    """The stability of R texts of one item, all brought to `profile` before anything is compared.

    The error rate is in `unit`. A reference that is None is missing; an empty one is a text.

    Raises:
        TypeError: a run or a reference that is no text; a run that failed is not an empty one. Or one text in place of
            the list of them.
        ValueError: no such unit.
    """
    if isinstance(texts, str):
        raise TypeError("the runs are one text; give a list of texts")
    even = tuple(profile.apply(text) for text in texts)
    if reference is None:
        cut("", unit)  # a unit that does not exist is a mistake in any case
        return RunStability(even, unit, None)
    aim = cut(profile.apply(reference), unit)
    return RunStability(even, unit, tuple(count_edits(aim, cut(text, unit)) for text in even))
