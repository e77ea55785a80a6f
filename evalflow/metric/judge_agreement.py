"""How far a judging model agrees with people who rated the same answers, and they among themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evalflow.metric.corpus import Corpus
from evalflow.metric.people import Ratings as Said
from evalflow.metric.people import check_there, rated, ratings_of, whose, why_none
from evalflow.metric.protocol import Answer, Clusters, Reading, Stack
from evalflow.metric.rate import Rate
from evalflow.metric.sums import SumShare, jackknife_of_ranks, jackknife_of_rows
from evalflow.numeric.alpha import alpha_of_ratings
from evalflow.numeric.cluster import cluster_codes, mean_interval
from evalflow.numeric.interval import Interval
from evalflow.numeric.kappa import Weights, disagreement_of_tables, heaviest, kappa_of_tables
from evalflow.numeric.labels import LabelSet
from evalflow.numeric.moments import mean
from evalflow.numeric.proportion import clopper_pearson, rate_interval
from evalflow.numeric.rank import spearman
from evalflow.numeric.ratings import Ratings, ratings_of_codes
from evalflow.numeric.undefined import Undefined
from evalflow.record import Item, Row

_ALONE = "no answer was rated by two"
LEAST = 20
"""Items (or clusters) that a kappa, alpha or rank correlation must be of to have an interval."""


@dataclass(frozen=True)
class JudgeAgreement(Corpus):
    """The judge of the grades `of` (a metric's key) beside people's `ratings`: a run whose `ratings.csv` holds them
    (folder, or id under `outputs`), or a file of its kind. A row's answer is that which its judge graded.

    - `kappa`: Cohen's with `weights` of the judge and each rater, taken together (`numeric.kappa.kappa_of_tables`).
    - `alpha`: Krippendorff's, ordinal, the judge being one more rater; `rank`: Spearman's of grade and mean rating.
    - `exact`, `within_one`: the share of its pairs with a rater that are the same grade, or at most one apart.
    - `bias`: by how much its grade is above the mean rating.
    - `human_kappa`, `human_alpha`, `human_exact`, `human_within_one`: the same of the raters among themselves, every
      two of them: what nobody can expect a judge to exceed by much.

    It is of the answers that were rated and of no others (`RatedShare` says how many that is); one that has no grade
    is excluded and counted, and so is one whose ratings are all of another text, or do not say of which. Intervals of
    `kappa`, `alpha` and `rank` are jackknives of Fisher's z over items, or over their clusters, of which there must be
    20; where at most one of them is not agreed on throughout, the exact bound of how many are not, each at its worst,
    gives kappa's. Those of shares are Wilson's, and of `bias` a t interval.
    Of another metric than `grade` the figures are called by its key: `agreement/tone/kappa`.
    """

    version: ClassVar[int] = 2
    figure: ClassVar[str | None] = "agreement/judge"
    proof: ClassVar[tuple[str, ...]] = ("kappa", "alpha", "rank")
    no_interval: ClassVar[str] = (
        f"an interval needs {LEAST} rated items, not all alike and, but for kappa, not all agreed on"
    )
    ratings: str
    of: str = "grade"
    scale: tuple[int, int] = (1, 5)
    weights: Weights = "quadratic"
    outputs: str = "outputs"

    def __post_init__(self) -> None:
        if self.scale[0] >= self.scale[1]:
            raise ValueError(f"scale is {list(self.scale)}; give the lowest grade, then the highest")
        if self.of != "grade":  # several criteria have an agreement each
            object.__setattr__(self, "figure", f"agreement/{self.of}")

    @property
    def empty(self) -> str:  # type: ignore[override]
        """Why it has no value where nothing counts."""
        return why_none(self.ratings, self.outputs) or "no answer of this arm was both rated and graded"

    def check(self) -> None:
        """Read the ratings, as far as they are there.

        Raises:
            StoredRunError: there is no such run or file, or a line of it is no rating on the scale.
        """
        check_there(self.ratings, self.outputs)
        _ = self._ratings

    def concerns(self, item: Item, row: Row | None) -> bool:
        """Whether people rated what has its names; of a row that is not there nobody can say that they did not."""
        return row is None or whose(row) in self._ratings

    def why_none(self, units: Sequence[Answer]) -> str:
        """As `empty`, or that what was rated are other answers than those that were graded."""
        found = [rated(unit, self._ratings) for unit in units]
        others, unsaid = sum(one.n_of_others for one in found), sum(one.n_unsaid for one in found)
        if any(one.given for one in found) or not others + unsaid:
            return self.empty
        said = [f"{others} ratings are of other answers than were graded"] if others else []
        said += [f"{unsaid} ratings do not say of which text they are (column answer, or text)"] if unsaid else []
        return ", ".join(said)

    def stack(self, units: Sequence[Answer]) -> Stack:
        """The grade, then each rater's rating, as places on the scale; NaN for rows without a grade, or ratings of it.

        Raises:
            StoredRunError: a rating that is not on the scale.
            ValueError: a grade that is not.
        """
        given = [rated(unit, self._ratings).given for unit in units]
        raters = sorted({rater for ratings in given for rater in ratings})
        stack = np.full((len(units), 1 + len(raters)), np.nan)
        for line, unit, ratings in zip(stack, units, given, strict=True):
            grade = unit.row.stats.get(self.of)
            if grade is not None and ratings:
                places = [ratings[rater] - self.scale[0] if rater in ratings else -1 for rater in raters]
                line[:] = [self._place(grade[0], unit), *places]
        return stack

    def readings(self) -> Mapping[str, Reading]:
        """The figures, by their names above."""
        size = self.scale[1] - self.scale[0] + 1
        found: dict[str, Reading] = {}
        for whom, people in (("", False), ("human_", True)):
            found |= {
                f"{whom}kappa": Kappa(people, size, self.weights),
                f"{whom}alpha": Alpha(people, size),
                f"{whom}exact": Within(people, 0),
                f"{whom}within_one": Within(people, 1),
            }
        return {**found, "rank": Rank(), "bias": Bias()}

    @property
    def _ratings(self) -> Said:
        return ratings_of(self.ratings, self.outputs, self.scale)

    def _place(self, number: float, unit: Answer) -> int:
        low, high = self.scale
        if number != int(number) or not low <= number <= high:
            item, arm, seed = whose(unit.row)
            where = f"item {item!r:.60}, arm {arm!r:.60}, seed {seed}"
            said = f"metric {self.of} gave {number:g} ({where})"
            raise ValueError(f"{said}, and the scale is of whole numbers from {low} to {high}")
        return int(number) - low


@dataclass(frozen=True)
class RatedShare(Rate):
    """The share of answers that people rated: what `JudgeAgreement` is of. See there for `ratings`.

    `of_other_texts` is the share under whose names there are ratings of another text only, or of nobody knows which.
    """

    version: ClassVar[int] = 2
    figure: ClassVar[str | None] = "agreement/rated"
    paired: ClassVar[bool] = False
    ratings: str
    outputs: str = "outputs"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        """Whether somebody rated the answer, and whether what was rated is another."""
        found = rated(unit, ratings_of(self.ratings, self.outputs))
        return float(bool(found.given)), float(not found.given and found.n_of_others + found.n_unsaid > 0)

    def detail(self, unit: Answer) -> Mapping[str, int]:
        """How many of the ratings under its names are of other texts, and how many do not say of which they are."""
        found = rated(unit, ratings_of(self.ratings, self.outputs))
        told = {"ratings_of_other_answers": found.n_of_others, "ratings_without_text": found.n_unsaid}
        return {what: n for what, n in told.items() if n}

    def readings(self) -> Mapping[str, Reading]:
        """The two shares."""
        return {"": self, "of_other_texts": OfOtherTexts()}

    def check(self) -> None:
        """See `JudgeAgreement.check`."""
        check_there(self.ratings, self.outputs)
        ratings_of(self.ratings, self.outputs)


@dataclass(frozen=True)
class OfOtherTexts:
    """The share of answers whose ratings are all of other texts."""

    def value(self, stack: Stack) -> float:
        """The share."""
        return mean(stack[:, 1])

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """Wilson's, clustered."""
        return rate_interval(stack[:, 1], clusters, level)


@dataclass(frozen=True)
class Kappa:
    """Kappa of the judge and each rater, or of every two `people`, taken together; over `size` grades."""

    people: bool
    size: int
    weights: Weights

    def value(self, stack: Stack) -> float:
        """See `kappa_of_tables`.

        Raises:
            Undefined: "no answer was rated by two", or "chance agreement is 1".
        """
        return kappa_of_tables(self._tables(stack), self.weights)

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `jackknife_of_rows`; where at most one cluster is not agreed on throughout, exact.

        Then no more clusters disagree than the bound of Clopper and Pearson says, each in all of its pairs, by the
        whole length of the scale, beside the disagreement that chance gives in what was seen.
        """
        if not _enough(clusters):
            return None
        names, codes = cluster_codes(clusters, len(stack))
        pairs = np.zeros((len(stack), 2))
        for one, other in _columns(stack, self.people):
            both = (one >= 0) & (other >= 0)
            pairs += np.column_stack([both, both & (one != other)])
        pairs_g, apart_g = (np.bincount(codes, weights=column, minlength=len(names)) for column in pairs.T)
        if (n_apart := int((apart_g > 0).sum())) > 1:
            return jackknife_of_rows(stack, clusters, self.value, level)
        _, by_chance = disagreement_of_tables(self._tables(stack), self.weights)
        paired_g = pairs_g[pairs_g > 0]
        share = clopper_pearson(n_apart, len(paired_g), level).high
        at_most = min(share * len(paired_g) * paired_g.max(), paired_g.sum()) * heaviest(self.size, self.weights)
        return Interval(max(-1.0, 1 - at_most / by_chance), 1.0, level, "exact bound of who disagree")

    def _tables(self, stack: Stack) -> NDArray[np.int64]:
        """The confusion matrix of each pair of columns (P, V, V)."""
        tables = [
            np.bincount(one * self.size + other, minlength=self.size**2).reshape(self.size, self.size)
            for one, other in _pairs(stack, self.people)
        ]
        if not sum(table.sum() for table in tables):
            raise Undefined(_ALONE)
        return np.array(tables)


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's ordinal alpha of the raters, the judge among them unless of `people` alone."""

    people: bool
    size: int

    def value(self, stack: Stack) -> float:
        """See `numeric.alpha`.

        Raises:
            Undefined: "no answer was rated by two", or "expected disagreement is 0".
        """
        return alpha_of_ratings(self._counted(stack), "ordinal").value

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `jackknife_of_rows`."""
        return jackknife_of_rows(stack, clusters, self.value, level) if _enough(clusters) else None

    def _counted(self, stack: Stack) -> Ratings:
        places = stack[:, int(self.people) :].astype(np.int64)
        if not ((places >= 0).sum(axis=1) > 1).any():
            raise Undefined(_ALONE)
        return ratings_of_codes(places, LabelSet(tuple(range(self.size)), ordered=True))


@dataclass(frozen=True)
class Within:
    """The share of pairs, of the judge with each rater or of every two `people`, at most so many `steps` apart."""

    measured_in: ClassVar[str] = "share"
    people: bool
    steps: int

    def value(self, stack: Stack) -> float:
        """The share.

        Raises:
            Undefined: "no answer was rated by two".
        """
        return SumShare().value(self._counted(stack))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `SumShare`, of those that have a pair."""
        counted = self._counted(stack)
        rated = counted[:, 1] > 0
        return SumShare().interval(counted[rated], clusters[rated], level)

    def _counted(self, stack: Stack) -> Stack:
        """Pairs within the steps and all pairs of each answer (N, 2)."""
        counted = np.zeros((len(stack), 2))
        for one, other in _columns(stack, self.people):
            both = (one >= 0) & (other >= 0)
            counted += np.column_stack([both & (abs(one - other) <= self.steps), both])
        if not counted.any():
            raise Undefined(_ALONE)
        return counted


@dataclass(frozen=True)
class Rank:
    """Spearman's correlation of the grade and the mean rating."""

    def value(self, stack: Stack) -> float:
        """See `spearman`."""
        return spearman(stack[:, 0], _mean_ratings(stack))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """See `jackknife_of_ranks`."""
        means = _mean_ratings(stack)
        return jackknife_of_ranks(stack[:, 0], means, clusters, level) if _enough(clusters) else None


@dataclass(frozen=True)
class Bias:
    """The mean of grade less mean rating: above 0 the judge is kinder than people."""

    measured_in: ClassVar[str] = ""

    def value(self, stack: Stack) -> float:
        """The mean."""
        return mean(stack[:, 0] - _mean_ratings(stack))

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """A t interval over clusters; None where nothing varies."""
        above = stack[:, 0] - _mean_ratings(stack)
        return mean_interval(above, clusters, level) if np.ptp(above) > 0 else None


def _enough(clusters: Clusters) -> bool:
    return len(set(clusters.tolist())) >= LEAST


def _mean_ratings(stack: Stack) -> NDArray[np.float64]:
    """The mean of each answer's ratings (N,); each has one at least."""
    given = stack[:, 1:] >= 0
    means: NDArray[np.float64] = np.where(given, stack[:, 1:], 0.0).sum(axis=1) / given.sum(axis=1)
    return means


def _columns(stack: Stack, people: bool) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Every two columns that are held against each other: the judge's and each rater's, or every two raters'."""
    places = stack.astype(np.int64)
    raters = range(1, places.shape[1])
    for one, other in combinations(raters, 2) if people else ((0, rater) for rater in raters):
        yield places[:, one], places[:, other]


def _pairs(stack: Stack, people: bool) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The same, of what both of the two have rated."""
    for one, other in _columns(stack, people):
        both = (one >= 0) & (other >= 0)
        yield one[both], other[both]
